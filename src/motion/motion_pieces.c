/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan as pieces: spans of time so short that nothing moves by more than a given way within one. */
#include "motion.h"
#include "core/sized.h"

#include <math.h>
#include <stdlib.h>

#define SAME 1e-12     /* elements of poses that are one and the same: rounding of the rows between */
#define PARTS_MOST 1e9 /* of one stretch: more is an error of units */

void motion_corners(double corner[8][3], const struct iso_grid *g)
{
	for (int k = 0; k < 8; k++)
		for (int a = 0; a < 3; a++)
			corner[k][a] = g->centre[a] + (k >> a & 1 ? .5 : -.5) * (double)g->n[a] * g->voxel[a];
}

/* The largest distance that a corner has between a and b, and its distance from the z axis times `turn`, rad, added. */
static double way(const struct iso_pose *a, const struct iso_pose *b, double turn, const double corner[8][3])
{
	double most = 0;

	for (int k = 0; k < 8; k++) {
		double p[3], q[3];

		iso_pose_apply(p, a, corner[k]);
		iso_pose_apply(q, b, corner[k]);
		for (int i = 0; i < 3; i++) q[i] -= p[i];
		most = fmax(most,
		            sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]) +
		                    turn * sqrt(corner[k][0] * corner[k][0] + corner[k][1] * corner[k][1]));
	}
	return most;
}

double iso_motion_way(const struct iso_pose *a, const struct iso_pose *b, const struct iso_grid *grid)
{
	double corner[8][3];

	if (!a || !b || !grid) return 0;
	motion_corners(corner, grid);
	return way(a, b, 0, corner);
}

/* Pieces as they come. */
struct pieces {
	const iso_motion *m;
	struct iso_motion_span span;
	double corner[8][3], way;
	struct iso_piece *v;
	int64_t n, room;
};

/* (Live / D) int exp(-kt) dt over the piece */
static double weight(const struct iso_motion_span *s, double from, double to)
{
	double k = s->half_life_s > 0 ? M_LN2 / s->half_life_s : 0, d = s->to_s - s->from_s;

	return s->live * (k > 0 ? exp(-k * from) * -expm1(-k * (to - from)) / (k * d) : (to - from) / d);
}

static bool same(const struct iso_pose *a, const struct iso_pose *b)
{
	for (int i = 0; i < 12; i++)
		if (!(fabs(a->m[i] - b->m[i]) <= SAME)) return false;
	return true;
}

/* A piece that goes on where the last one ends, at its pose, lengthens it. */
static int add_piece(struct pieces *p, double from, double to, const struct iso_pose *z)
{
	struct iso_piece *last = p->n > 0 ? &p->v[p->n - 1] : NULL;

	if (last && last->to_s == from && same(&last->z, z)) {
		last->to_s = to;
		last->weight = weight(&p->span, last->from_s, to);
		return ISO_OK;
	}
	if (p->n == p->room) {
		int64_t room = p->room < 64 ? 64 : p->room + p->room / 2;
		struct iso_piece *v = realloc(p->v, (size_t)room * sizeof *v);

		if (!v) return iso_fail_memory("pieces of the motion", room * (int64_t)sizeof *v);
		p->v = v;
		p->room = room;
	}
	p->v[p->n++] = (struct iso_piece){ from, to, weight(&p->span, from, to), *z };
	return ISO_OK;
}

/* From one cut to the next: rows r hold throughout. */
static int add_stretch(struct pieces *p, const struct motion_rows *r, double from, double to)
{
	struct iso_pose a, b, z;
	double angle[2], count;
	int st = ISO_OK;

	if (!motion_without_turn(&a, &angle[0], p->m, r, from) ||
	    !motion_without_turn(&b, &angle[1], p->m, r, to))
		return ISO_OK;
	count = ceil(way(&a, &b, fabs(angle[1] - angle[0]) * (M_PI / 180), p->corner) / p->way - 1e-9);
	if (!(count <= PARTS_MOST))
		return iso_fail(ISO_EINPUT,
		                "motion: from %.6g to %.6g s there are %.3g pieces of %.3g mm, at most %.0e",
		                from, to, count, p->way, PARTS_MOST);
	int64_t n = count > 1 ? (int64_t)count : 1;

	for (int64_t i = 0; i < n && !st; i++) {
		double begin = from + (to - from) * (double)i / (double)n;
		double end = i + 1 < n ? from + (to - from) * (double)(i + 1) / (double)n : to;

		if (motion_within(&z, p->m, r, (begin + end) / 2)) st = add_piece(p, begin, end, &z);
	}
	return st;
}

static int check(struct pieces *p, const struct iso_motion_span *span, const struct iso_grid *grid,
                 double way_mm)
{
	const struct iso_motion_span *s = &p->span;
	int st = iso_sized_take(&p->span, "iso_motion_span", sizeof p->span, span);

	if (st || (st = iso_grid_check(grid))) return st;
	if (!(isfinite(s->from_s) && isfinite(s->to_s) && s->to_s > s->from_s))
		return iso_fail(ISO_EARG, "motion: a span from %.6g to %.6g s, must end after it begins",
		                s->from_s, s->to_s);
	if (!(s->half_life_s >= 0 && isfinite(s->half_life_s) && s->live > 0 && s->live <= 1))
		return iso_fail(
			ISO_EARG,
			"motion: half life %.6g s and live share %.6g, must be at least 0 and in (0, 1]",
			s->half_life_s, s->live);
	if (!(way_mm > 0 && isfinite(way_mm)))
		return iso_fail(ISO_EARG, "motion: pieces of %g mm, must be above 0", way_mm);
	motion_corners(p->corner, grid);
	p->way = way_mm;
	return ISO_OK;
}

int iso_motion_pieces(struct iso_piece **piece, int64_t *n, const iso_motion *m,
                      const struct iso_motion_span *span, const struct iso_grid *grid, double way_mm)
{
	struct pieces p = { .m = m };
	struct motion_rows r = { 0 };
	int st;

	if (!piece || !n || !m || !span || !grid) return iso_fail_null("pieces of the motion");
	if ((st = check(&p, span, grid, way_mm))) return st;
	for (double from = p.span.from_s, to; from < p.span.to_s && !st; from = to) {
		motion_rows_find(&r, m, from);
		to = fmin(motion_rows_end(m, &r, from), p.span.to_s);
		st = add_stretch(&p, &r, from, to);
	}
	if (!st && p.n == 0) p.v = calloc(1, sizeof *p.v); /* free() takes NULL, but a result is no NULL */
	if (!st && !p.v) st = iso_fail_memory("pieces of the motion", sizeof *p.v);
	if (st) {
		free(p.v);
		return st;
	}
	*piece = p.v;
	*n = p.n;
	return ISO_OK;
}
