/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms over (s, phi) and z. With the line's direction across the axis at right angles to (cos phi, sin phi),
   0 <= phi < pi,

     s = x cos phi + y sin phi,   z: the middle of its two ends.

   A line is shared between the two nearest bins of each axis. Crystals have places of their own in s and z; counted whole,
   they would beat with the bins. */
#include "model_ray.h"

#include "core/size.h"
#include "scanner/scanner.h"

#include <omp.h>

enum {
	LOOK = 1 << 16,   /* crystal pairs that tell how far out lines lie */
	COUNTS = 1 << 20, /* steps of a count or a line */
};

/* ---- where a line lies ---- */

/* Between bins i and i + 1 of n, with the share `up` of the second; at the ends all of it is in one. */
struct between {
	int64_t i;
	double up;
};

static struct between clamped(double at, int64_t n)
{
	at = at > 0 ? fmin(at, (double)(n - 1)) : 0;
	int64_t i = (int64_t)at < n - 1 ? (int64_t)at : n - 2;

	return (struct between){ i, at - (double)i };
}

/* s and phi of a line; false: it runs along the axis. */
static bool place_across(double *s, double *phi, const struct iso_event *e)
{
	double dx = (double)e->p2[0] - e->p1[0], dy = (double)e->p2[1] - e->p1[1], l = hypot(dx, dy);

	if (!(l > 0)) return false;
	*phi = atan2(-dx, dy);
	*s = (e->p1[0] * dy - e->p1[1] * dx) / l;
	if (*phi >= 0 && *phi < M_PI) return true;
	*phi += *phi < 0 ? M_PI : -M_PI;
	*s = -*s;
	return true;
}

/* phi goes on behind pi at 0, where s has the other sign. */
static void add_line(const struct ray_seen *t, int64_t *to, const struct iso_event *e, double steps)
{
	double s, phi, z = .5 * ((double)e->p1[2] + e->p2[2]);

	if (!place_across(&s, &phi, e)) return;
	struct between bs = clamped((s / t->s_mm + 1) / 2 * SEEN_S - .5, SEEN_S);
	struct between bz = clamped((z - t->z_mm[0]) / (t->z_mm[1] - t->z_mm[0]) * (double)t->nz - .5, t->nz);
	double at = phi / M_PI * SEEN_PHI - .5, low = floor(at);

	for (int k = 0; k < 2; k++) {
		int64_t row = (int64_t)low + k, turned = row < 0 || row >= SEEN_PHI;
		double part = steps * (k ? at - low : 1 - (at - low));
		int64_t *cell = to + (row + SEEN_PHI) % SEEN_PHI * SEEN_S;
		int64_t up = llrint(part * bs.up);

		cell[turned ? SEEN_S - 1 - bs.i : bs.i] += llrint(part) - up;
		cell[turned ? SEEN_S - 2 - bs.i : bs.i + 1] += up;
	}
	to[SEEN_PANEL + bz.i] += llrint(steps) - llrint(steps * bz.up);
	to[SEEN_PANEL + bz.i + 1] += llrint(steps * bz.up);
}

void ray_seen_add(struct ray_seen *t, const iso_ctx *ctx, enum seen_kind kind, const struct iso_events *e,
                  const iso_real *v)
{
#pragma omp parallel for num_threads(t->sum.atomic ? 1 : iso_ctx_threads(ctx))
	for (int64_t j = 0; j < e->n; j++) {
		int64_t *to = iso_fixed_of(&t->sum, omp_get_thread_num()) + (int64_t)kind * SEEN_BINS;
		double value = v ? (double)v[j] : 1;

		if (value > 0 && value < 1e30 && !iso_event_bad(e->v + j))
			add_line(t, to, e->v + j, value * t->unit[kind]);
	}
}

void ray_seen_prompts(struct ray_problem *ray, const struct ray_some *some)
{
	struct ray_seen *t = ray->scatter.seen;

	if (!t) return;
	ray_seen_add(t, ray->p->ctx, SEEN_PROMPTS, &some->e, some->count);
	if (ray->e.lists_all) ray_seen_add(t, ray->p->ctx, SEEN_LINES, &some->e, NULL);
}

/* ---- what the bins cover ---- */

/* Bins of z: of a ring a whole number of planes each, which are half a ring apart, so that all bins have as many. */
static void align_planes(struct ray_seen *t, const iso_scanner *s)
{
	int64_t rings = iso_scanner_kind(s) == ISO_CYLINDER ? s->pairs.rings : 0, planes = 2 * rings - 1;
	double middle = .5 * (t->z_mm[0] + t->z_mm[1]), half = .5 * (t->z_mm[1] - t->z_mm[0]);

	t->nz = SEEN_Z / 2;
	if (rings > 1) {
		int64_t together = (planes + SEEN_Z - 1) / SEEN_Z;
		double plane = half / (double)(rings - 1);

		t->nz = (planes + together - 1) / together;
		half = .5 * (double)(t->nz * together) * plane;
	}
	half = half > 0 ? half : .5; /* one ring */
	t->z_mm[0] = middle - half;
	t->z_mm[1] = middle + half;
}

/* s of all lines in coincidence but for few, from some pairs of crystals; z of all crystals. */
static int find_ranges(struct ray_seen *t, struct ray_problem *ray)
{
	const double *at = iso_scanner_positions(ray->s);
	struct ray_pairs p = { 0 };
	double s, phi;
	int st = ray_pairs_draw(&p, ray, LOOK, 1);

	for (int64_t i = 0; i < p.e.n && !st; i++)
		if (p.counted[i] && place_across(&s, &phi, p.e.v + i)) t->s_mm = fmax(t->s_mm, fabs(s));
	ray_pairs_free(&p);
	t->s_mm = t->s_mm > 0 ? t->s_mm : 1;
	t->z_mm[0] = t->z_mm[1] = at[2];
	for (int64_t a = 0; a < iso_scanner_crystals(ray->s); a++) {
		t->z_mm[0] = fmin(t->z_mm[0], at[3 * a + 2]);
		t->z_mm[1] = fmax(t->z_mm[1], at[3 * a + 2]);
	}
	align_planes(t, ray->s);
	return st;
}

int ray_seen_begin(struct ray_problem *ray, int64_t k)
{
	int64_t every = (ray->p->s.frames.n + SEEN_FRAMES - 1) / SEEN_FRAMES;
	struct ray_seen *t;
	int st;

	ray_seen_free(ray->scatter.seen);
	ray->scatter.seen = NULL;
	if (every > 1 && k % every > 0) return ISO_OK;
	if (ray_scatter_moves(ray)) return ISO_OK; /* lines of many poses lie nowhere in such histograms */
	if (!(t = size_alloc(1, sizeof *t))) return iso_fail_memory("profiles", sizeof *t);
	*t = (struct ray_seen){ .times = 1 };
	for (int i = 0; i < SEEN_KINDS; i++) t->unit[i] = COUNTS;
	if (!(st = iso_fixed_create(&t->sum, ray->p->ctx, SEEN_KINDS * SEEN_BINS, INFINITY)))
		st = find_ranges(t, ray);
	if (st) {
		ray_seen_free(t);
		return st;
	}
	iso_fixed_begin(&t->sum, ray->p->ctx, 1);
	t->sum.scale = 1; /* the units are ours */
	ray->scatter.seen = t;
	return ISO_OK;
}

void ray_seen_free(struct ray_seen *t)
{
	if (t) iso_fixed_free(&t->sum);
	free(t);
}
