/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of model ray: which crystal pairs are drawn, and with what weight. */
#ifndef ISO_RAY_SENS_H
#define ISO_RAY_SENS_H

#include "core/ctx.h"
#include "core/philox.h"
#include "core/progress.h"
#include "ray.h"
#include "scanner/efficiency_kern.h"
#include "scanner/pairs_kern.h"

/* Pointers are host or device memory, as the backend needs. */
struct ray_sens {
	struct ray_grid grid, mu_grid;
	enum iso_projector projector;
	struct ray_spread spread; /* lines of a pair, */
	int lines;                /* of which a drawn one has all, or 1 at random */
	struct iso_pairs pairs;
	bool solid_angle;
	const double *pos;                   /* (crystals, 3) */
	const iso_real *eff, *mu;            /* NULL: 1; NULL: no attenuation */
	const struct iso_efficiencies *pair; /* of pairs; NULL: 1 */
	bool coincidence_alone;              /* of `pair` only whether a pair is in coincidence */
	int n_strata;                        /* ring differences; 1 for free detectors */
	const int64_t *first;                /* pair number where each stratum begins, n_strata + 1 */
	const int64_t *drawn;                /* sample number where each stratum begins, n_strata + 1 */
	uint64_t seed;
	double bound; /* no voxel's sum exceeds it */
	/* progress: passes over the lines, or as long, that were before this one, and its clock */
	struct iso_clock clock;
	int pass;
};

#define RAY_SENS_TICKS 1000 /* of the clock, a pass */

/* This share of the pass in hand is done. On the host. */
static inline void ray_sens_step(const struct ray_sens *q, double share)
{
	iso_clock_step(&q->clock, (int64_t)(RAY_SENS_TICKS * (q->pass + share)), NULL);
}

#define RAY_SENS_BLOCK (1 << 23) /* lines at a time, on CUDA */

#define RAY_SENS_WHOLE (-1) /* neither half, but both */

struct ray_sens_pair {
	double p1[3], p2[3];
	double weight;  /* pairs that it stands for, times solid angle and efficiencies */
	int64_t number; /* of iso_scanner_pair */
};

/* Stratum that sample s belongs to: bisection in `drawn`. */
ISO_HD int ray_sens_stratum(const struct ray_sens *q, int64_t s)
{
	int lo = 0, hi = q->n_strata;

	while (hi - lo > 1) {
		int mid = (lo + hi) / 2;

		*(q->drawn[mid] <= s ? &lo : &hi) = mid;
	}
	return lo;
}

ISO_HD double ray_sens_efficiency(const struct ray_sens *q, int64_t a, int64_t b)
{
	if (!q->coincidence_alone) return efficiency_of_crystals(q->pair, a, b);
	struct efficiency_end u = efficiency_find(q->pair, a), v = efficiency_find(q->pair, b);

	return efficiency_meet(q->pair, &u, &v) ? 1 : 0;
}

/* Line l = 0, 1, ... of pair s: of m drawn from a stratum of n pairs, number k lies at random in
   the k-th of m equal parts, and stands for n/m pairs. Its weight is 0 if it belongs to the other
   half. */
ISO_HD struct ray_sens_pair ray_sens_sample(const struct ray_sens *q, int64_t l, int half)
{
	struct ray_sens_pair r;
	int64_t s = l / q->lines;
	int d = ray_sens_stratum(q, s);
	int64_t k = s - q->drawn[d], m = q->drawn[d + 1] - q->drawn[d];
	int64_t n = q->first[d + 1] - q->first[d], i = k, a, b;
	struct philox u = philox_draw(q->seed, (uint64_t)s, 0);

	if (m < n) {
		i = (int64_t)(((double)k + philox_unit_double(u.w[0], u.w[1])) * (double)n / (double)m);
		i = i < n ? i : n - 1;
	}
	r.number = q->first[d] + i;
	pairs_get(&q->pairs, r.number, &a, &b);
	for (int c = 0; c < 3; c++) {
		r.p1[c] = q->pos[3 * a + c];
		r.p2[c] = q->pos[3 * b + c];
	}
	r.weight = (double)n / (double)m / q->lines;
	if (!pairs_counted(&q->pairs, r.p1, r.p2)) r.weight = 0;
	if (q->spread.response.p > 0)
		r.weight *= response_pair_weight(&q->spread.response, r.p1, r.p2);
	else if (q->solid_angle)
		r.weight *= pairs_solid_angle(r.p1, r.p2);
	if (q->eff) r.weight *= (double)q->eff[a] * q->eff[b];
	if (q->pair) r.weight *= ray_sens_efficiency(q, a, b);
	if (half != RAY_SENS_WHOLE && half != (int)(u.w[2] & 1)) r.weight = 0;
	ray_move_ends(r.p1, r.p2, &q->spread,
	              q->lines < q->spread.lines ? (int)((uint64_t)u.w[3] * (uint64_t)q->spread.lines >> 32)
	                                         : (int)(l % q->lines));
	return r;
}

/* How many lines there are; `drawn` on the host. */
static inline int64_t ray_sens_lines(const struct ray_sens *q)
{
	return q->drawn[q->n_strata] * q->lines;
}

/* Pairs are weighed by lengths. */
ISO_HD int ray_sens_pieces(struct ray_piece piece[RAY_PIECES], const struct ray_sens *q, const struct ray *r,
                           int k)
{
	const struct ray_tof none = ISO_ZERO;

	return ray_pieces(piece, q->projector, r, &none, k);
}

/* All of q, which borrows what p names, and `full`, p as this library has it. Free q with iso_ray_sens_unmake, also
   after a failure. */
int iso_ray_sens_make(struct ray_sens *q, struct iso_ray_sens *full, const struct iso_ray_sens *p);
void iso_ray_sens_unmake(struct ray_sens *q);

/* By equal rings, from all pairs (ray_sens_ring.c). */
int iso_ray_sens_rings(iso_real *s, iso_ctx *ctx, const struct ray_sens *q);
void iso_ray_sens_rings_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct ray_sens *q);

/* On the device: s[v] = sum of weight x attenuation x chord over all lines, or over one of the two halves
   that a random bit puts them in. `s` and `q` are on the host. */
#define ISO_RAY_SENS_CUDA "iso_ray_sens_cuda"

/* The same by rings; tables of r and m, NULL: no means, are on the host. */
struct ray_rings;
struct ray_means;
typedef int (*iso_ray_rings_fn)(iso_real *s, iso_ctx *ctx, const struct ray_sens *q,
                                const struct ray_rings *r, const struct ray_means *m);
#define ISO_RAY_RINGS_CUDA "iso_ray_rings_cuda"

/* Bytes of a sheet (ray_means.h) on the context's device. */
typedef int64_t (*iso_ray_sheet_fn)(const iso_ctx *ctx);
#define ISO_RAY_SHEET_CUDA "iso_ray_sheet_cuda"

#endif
