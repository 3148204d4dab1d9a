/* SPDX-License-Identifier: BSD-3-Clause */
/* What multiplies and what adds to the LORs of two panels: attenuation, and randoms from delayed
   coincidences. */
#include "srm_matrix.h"
#include "core/ctx.h"
#include "core/size.h"

#define BLOCK 1000000 /* LORs whose lines are there at a time */

/* ---- attenuation ---- */

/* Between the middles of the crystals of either head, 1 and -1. */
static struct iso_event line_of(const struct iso_panels *p, int64_t lor)
{
	int64_t z = p->crystals[1], face = p->crystals[0] * z, pair = lor / (face * face);
	double depth = p->crystal[2] / p->layers;
	struct iso_event e = { .dt_ps = 0 };

	for (int head = 1; head >= -1; head -= 2) {
		int64_t crystal = head > 0 ? lor / face % face : lor % face;
		int64_t layer = head > 0 ? pair / p->layers : pair % p->layers;
		float *at = head > 0 ? e.p1 : e.p2;

		at[0] = (float)(((double)(crystal / z) - .5 * (p->crystals[0] - 1)) * p->pitch[0]);
		at[1] = (float)(head * (p->gap / 2 + ((double)layer + .5) * depth));
		at[2] = (float)(((double)(crystal % z) - .5 * (p->crystals[1] - 1)) * p->pitch[1]);
	}
	return e;
}

/* The line as the pose has it: moved in double, rounded once more to float. */
static struct iso_event moved(struct iso_event e, const struct iso_pose *pose)
{
	for (int end = 0; pose && end < 2; end++) {
		float *at = end ? e.p2 : e.p1;
		double p[3] = { (double)at[0], (double)at[1], (double)at[2] };

		iso_pose_apply(p, pose, p);
		for (int a = 0; a < 3; a++) at[a] = (float)p[a];
	}
	return e;
}

int iso_panels_attenuation_at(iso_real *alpha, iso_ctx *ctx, const struct iso_panels *p,
                              const struct iso_array *mu, const struct iso_pose *pose)
{
	int64_t n = iso_panels_lors(p), block = n < BLOCK ? n : BLOCK;
	struct iso_events e = { .v = size_alloc(block, sizeof *e.v) };
	int st = e.v ? ISO_OK : iso_fail_memory("lines of LORs", block * (int64_t)sizeof *e.v);

	for (int64_t first = 0; first < n && !st; first += block) {
		e.n = n - first < block ? n - first : block;
#pragma omp parallel for num_threads(ctx->threads)
		for (int64_t i = 0; i < e.n; i++) e.v[i] = moved(line_of(p, first + i), pose);
		st = iso_ray_attenuation(alpha + first, ctx, mu, &e);
	}
	free(e.v);
	return st;
}

int iso_panels_attenuation(iso_real *alpha, iso_ctx *ctx, const struct iso_panels *p,
                           const struct iso_array *mu)
{
	if (!alpha || !ctx || !p || !mu) return iso_fail_null(__func__);
	return iso_panels_attenuation_at(alpha, ctx, p, mu, NULL);
}

/* ---- randoms ---- */

int iso_panels_randoms(iso_real *r, const struct iso_panels *p, const iso_real *delayed)
{
	if (!r || !p || !delayed) return iso_fail_null(__func__);
	int64_t face = (int64_t)p->crystals[0] * p->crystals[1];
	double *u = size_alloc(2 * face, sizeof *u), *l = u + face;

	if (!u) return iso_fail_memory("sums of delayed coincidences", 2 * face * (int64_t)sizeof *u);
	for (int pair = 0; pair < p->layers * p->layers; pair++) {
		const iso_real *d = delayed + pair * face * face;
		double all = 0;

		for (int64_t i = 0; i < 2 * face; i++) u[i] = 0;
		for (int64_t i = 0; i < face * face; i++) {
			u[i / face] += (double)d[i];
			l[i % face] += (double)d[i];
			all += (double)d[i];
		}
		for (int64_t i = 0; i < face * face; i++)
			r[pair * face * face + i] = (iso_real)(all > 0 ? u[i / face] * l[i % face] / all : 0);
	}
	free(u);
	return ISO_OK;
}
