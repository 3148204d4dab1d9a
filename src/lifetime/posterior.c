/* SPDX-License-Identifier: BSD-3-Clause */
/* Mean times by voxel in one pass: each triple is dealt to the voxels that it sees. */
#include "maps.h"
#include "triples_cuda.h"

struct posterior {
	const struct iso_triples *t;
	const double *f;
	struct parts parts; /* share of triples, and of their times, of each voxel */
	double *sums;
};

static void pass(const struct posterior *p)
{
	const struct iso_triples *t = p->t;

#pragma omp parallel for num_threads(t->room.ctx->threads) schedule(dynamic)
	for (int part = 0; part < p->parts.n; part++) {
		const struct iso_rows rows = parts_rows(&p->parts, t->n, part);
		double *to = p->parts.v + part * p->parts.values;

		for (int64_t j = rows.first; j < rows.first + rows.n; j++) {
			const struct triple_row row = triple_row(t, j);
			double q = 0;

			for (int64_t i = 0; i < row.n; i++) q += (double)row.w[i] * p->f[row.voxel[i]];
			for (int64_t i = 0; i < row.n && q > 0; i++) {
				const double share = (double)row.w[i] * p->f[row.voxel[i]] / q;

				to[2 * (int64_t)row.voxel[i]] += share;
				to[2 * (int64_t)row.voxel[i] + 1] += share * t->t[j];
			}
		}
	}
	parts_sum(p->sums, &p->parts, t->room.ctx);
}

static struct voxel_found of_voxel(const double sum[2], const struct iso_lifetime *p)
{
	const double rate = (p->prior_a + sum[0]) / (p->prior_b + sum[1]);
	struct voxel_found v = { .tau = 1 / rate, .counts = sum[0], .w = 1 };

	if (!(rate > 0)) v.tau = NAN;
	v.error = v.tau / sqrt(p->prior_a + sum[0]);
	v.mean = v.tau;
	return v;
}

int iso_lifetime_posterior(struct iso_lifetime_maps *to, const iso_triples *t, const struct iso_lifetime *p)
{
	if (!to || !t || !p) return iso_fail_null(__func__);
	struct iso_room work = iso_room_of(t->room.ctx, "posterior of triples");
	struct iso_lifetime full = { 0 };
	struct iso_lifetime_maps maps = { 0 };
	struct posterior s = { .t = t };
	double *f;
	int st = lifetime_take(&full, t, p);

	if (!st) st = lifetime_maps_take(&maps, to);
	if (!st && full.error != ISO_LIFETIME_DIAGONAL)
		st = iso_fail(ISO_EARG,
		              "posterior tells the error of each voxel by itself: error must be diag");
	if (st) return st;
	ISO_HOST(&work, f, t->voxels);
	ISO_HOST(&work, s.sums, 2 * t->voxels);
	st = t->cuda ? work.status : parts_open(&s.parts, &work, t->n, 2 * t->voxels);
	s.f = f;
	if (!st) st = lifetime_activity(f, t, &full);
	if (!st && t->cuda)
		st = t->fn->deal(s.sums, t, f);
	else if (!st)
		pass(&s);
	for (int64_t v = 0; v < t->voxels && !st; v++) {
		const struct voxel_found found = of_voxel(s.sums + 2 * v, &full);

		lifetime_put(&maps, v, &found, &full);
	}
	iso_room_free(&work);
	return st;
}
