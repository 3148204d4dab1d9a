/* SPDX-License-Identifier: BSD-3-Clause */
/* Z = G^-1 B P R^-1: object, bed and gantry in one pose, by time and for events. */
#include "motion.h"
#include "core/ctx.h"
#include "core/sized.h"

#include <math.h>
#include <stdlib.h>

int iso_motion_create(iso_motion **m, const struct iso_motion_parts *parts)
{
	struct iso_motion_parts p;
	iso_motion *n;
	int st;

	if (!m || !parts) return iso_fail_null("motion");
	if ((st = iso_sized_take(&p, "iso_motion_parts", sizeof p, parts))) return st;
	if (p.reference && !(pose_skew(p.reference) <= 1e-3 && pose_determinant(p.reference) > 0))
		return iso_fail(
			ISO_EARG,
			"motion: the reference is no rotation: |R^t R - 1| is %.3g, the determinant %.3g",
			pose_skew(p.reference), pose_determinant(p.reference));
	n = calloc(1, sizeof *n);
	if (!n) return iso_fail_memory("motion", sizeof *n);
	n->table[MOVES_OBJECT] = p.poses;
	n->table[MOVES_BED] = p.bed;
	n->table[MOVES_GANTRY] = p.gantry;
	n->has_reference = p.reference;
	if (p.reference) n->back = iso_pose_inverse(*p.reference);
	*m = n;
	return ISO_OK;
}

void iso_motion_free(iso_motion *m)
{
	free(m);
}

void motion_rows_find(struct motion_rows *r, const iso_motion *m, double time_s)
{
	for (int i = 0; i < MOVES; i++)
		if (m->table[i]) r->k[i] = poses_row_at(m->table[i], time_s, r->k[i]);
}

double motion_rows_end(const iso_motion *m, const struct motion_rows *r, double time_s)
{
	double end = INFINITY;

	for (int i = 0; i < MOVES; i++)
		if (m->table[i]) end = fmin(end, poses_row_end(m->table[i], r->k[i], time_s));
	return end;
}

/* B P R^-1 by P; G, if any, comes to its left. */
static void chain(struct iso_pose *z, const iso_motion *m, const struct iso_pose *p, const struct iso_pose *b,
                  const struct iso_pose *g)
{
	*z = m->table[MOVES_OBJECT] ? *p : iso_pose_identity();
	if (m->has_reference) *z = iso_pose_multiply(*z, m->back);
	if (m->table[MOVES_BED]) *z = iso_pose_multiply(*b, *z);
	if (m->table[MOVES_GANTRY]) *z = iso_pose_multiply(iso_pose_inverse(*g), *z);
}

bool motion_within(struct iso_pose *z, const iso_motion *m, const struct motion_rows *r, double time_s)
{
	struct iso_pose part[MOVES];

	for (int i = 0; i < MOVES; i++)
		if (m->table[i] && !poses_within(&part[i], m->table[i], r->k[i], time_s)) return false;
	chain(z, m, &part[MOVES_OBJECT], &part[MOVES_BED], &part[MOVES_GANTRY]);
	return true;
}

bool motion_without_turn(struct iso_pose *z, double *degrees, const iso_motion *m,
                         const struct motion_rows *r, double time_s)
{
	struct iso_pose part[MOVES];

	*degrees = 0;
	for (int i = 0; i < MOVES; i++)
		if (m->table[i] && !poses_without_turn(&part[i], degrees, m->table[i], r->k[i], time_s))
			return false;
	chain(z, m, &part[MOVES_OBJECT], &part[MOVES_BED], &part[MOVES_GANTRY]);
	return true;
}

bool iso_motion_at(struct iso_pose *z, const iso_motion *m, double time_s)
{
	struct motion_rows r = { 0 };

	if (!z || !m || isnan(time_s)) return false;
	motion_rows_find(&r, m, time_s);
	return motion_within(z, m, &r, time_s);
}

/* ---- events ---- */

enum { CHUNK = 1 << 14 }; /* events that a thread takes at a time */

static void move_end(float p[3], const struct iso_pose *back)
{
	double x[3] = { p[0], p[1], p[2] };

	iso_pose_apply(x, back, x);
	for (int a = 0; a < 3; a++) p[a] = (float)x[a];
}

/* Events in the order of time ask for neighbouring rows, and often for one pose. Returns how many are of unknown pose. */
static int64_t move_events(const iso_motion *m, struct iso_event *v, const uint32_t *time_ms, int64_t n)
{
	struct motion_rows r = { 0 };
	struct iso_pose back = { { 0 } };
	int64_t unknown = 0;
	bool known = false;

	for (int64_t i = 0; i < n; i++) {
		if (i == 0 || time_ms[i] != time_ms[i - 1]) {
			double t = time_ms[i] / 1000.;

			motion_rows_find(&r, m, t);
			if ((known = motion_within(&back, m, &r, t))) back = iso_pose_inverse(back);
		}
		if (known) {
			move_end(v[i].p1, &back);
			move_end(v[i].p2, &back);
		} else {
			for (int a = 0; a < 3; a++) v[i].p1[a] = v[i].p2[a] = NAN;
			unknown++;
		}
	}
	return unknown;
}

int iso_motion_events(int64_t *unknown, iso_ctx *ctx, const iso_motion *m, struct iso_event *v,
                      const uint32_t *time_ms, int64_t n)
{
	int64_t lost = 0;

	if (!unknown || !ctx || !m || !v) return iso_fail_null("motion of events");
	if (!time_ms) return iso_fail(ISO_EARG, "motion: the events have no times (time_ms is NULL)");
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic) reduction(+ : lost)
	for (int64_t i = 0; i < n; i += CHUNK) {
		if (iso_stopped(ctx)) continue;
		lost += move_events(m, v + i, time_ms + i, n - i < CHUNK ? n - i : CHUNK);
	}
	*unknown = lost;
	return iso_ctx_poll(ctx);
}
