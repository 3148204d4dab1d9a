/* SPDX-License-Identifier: BSD-3-Clause */
/* EM over triples that count by powers of their time: several images at once, from the same rows. */
#include "triples_cuda.h"
#include "core/progress.h"

enum { POWERS = 3 };

struct em {
	const struct iso_triples *t;
	const uint8_t *copies;
	int powers, subsets;
	double *x;
	struct parts parts;
};

static void add_triple(const struct em *e, double *to, int64_t j)
{
	const struct triple_row row = triple_row(e->t, j);
	const double times = e->copies ? e->copies[j] : 1;
	const double shift = triple_shift(e->t);
	double q[POWERS] = { 0 }, weight = times;

	if (!(times > 0)) return;
	for (int64_t i = 0; i < row.n; i++)
		for (int k = 0; k < e->powers; k++)
			q[k] += (double)row.w[i] * e->x[(int64_t)row.voxel[i] * e->powers + k];
	for (int k = 0; k < e->powers; k++) {
		q[k] = q[k] > 0 ? weight / q[k] : 0;
		weight *= e->t->t[j] + shift;
	}
	for (int64_t i = 0; i < row.n; i++)
		for (int k = 0; k < e->powers; k++)
			to[(int64_t)row.voxel[i] * e->powers + k] += (double)row.w[i] * q[k];
}

static void update(const struct em *e, double *back, const iso_real *sens, int subset)
{
	const struct iso_triples *t = e->t;
	const iso_ctx *ctx = t->room.ctx;

	parts_clear(&e->parts, ctx);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int part = 0; part < e->parts.n; part++) {
		const struct iso_rows rows = parts_rows(&e->parts, t->n, part);

		for (int64_t j = rows.first; j < rows.first + rows.n; j++)
			if (j % e->subsets == subset) add_triple(e, e->parts.v + part * e->parts.values, j);
	}
	parts_sum(back, &e->parts, ctx);
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t v = 0; v < t->voxels; v++)
		for (int k = 0; k < e->powers; k++)
			e->x[v * e->powers + k] *=
				sens[v] > 0 ? back[v * e->powers + k] * e->subsets / (double)sens[v] : 0;
}

int lifetime_em(double *x, const struct iso_triples *t, const struct iso_lifetime *p, int powers,
                const uint8_t *copies)
{
	if (t->cuda) return t->fn->em(x, t, p, powers, copies);
	struct iso_room work = iso_room_of(t->room.ctx, "images of triples");
	struct em e = { .t = t, .copies = copies, .powers = powers, .subsets = p->subsets, .x = x };
	int st = parts_open(&e.parts, &work, t->n, t->voxels * powers);
	double *back;

	ISO_HOST(&work, back, t->voxels * powers);
	st = work.status;
	for (int64_t i = 0; i < t->voxels * powers && !st; i++) x[i] = p->sens[i / powers] > 0 ? 1 : 0;
	for (int i = 0; i < p->iterations && !st; i++)
		for (int s = 0; s < p->subsets && !st; s++) {
			update(&e, back, p->sens, s);
			st = iso_ctx_poll(t->room.ctx);
		}
	iso_room_free(&work);
	return st;
}

/* ---- activity ---- */

static double counts_of(const double *f, const struct iso_triples *t, const struct iso_lifetime *p)
{
	double sum = 0;

	for (int64_t v = 0; v < t->voxels; v++) sum += f[v] * (double)p->sens[v];
	return sum;
}

/* Random triples of another place than the activity's were taken for emissions. */
static void take_off(double *f, const struct iso_triples *t, const struct iso_lifetime *p)
{
	const double *image = p->randoms.image;
	double counts = image ? counts_of(image, t, p) : 0;

	for (int64_t v = 0; v < t->voxels && counts > 0; v++)
		f[v] = fmax(f[v] - image[v] * p->randoms.number / counts, 0);
}

int lifetime_activity(double *f, const struct iso_triples *t, const struct iso_lifetime *p)
{
	int st = ISO_OK;

	if (p->activity)
		memcpy(f, p->activity, (size_t)t->voxels * sizeof *f);
	else if (!(st = lifetime_em(f, t, p, 1, NULL)))
		take_off(f, t, p);
	if (st) return st;
	const double counts = counts_of(f, t, p);

	if (!(counts > 0)) return iso_fail(ISO_EINPUT, "lifetime: no activity where the scanner sees it");
	for (int64_t v = 0; v < t->voxels; v++) f[v] *= ((double)t->n - p->randoms.number) / counts;
	return ISO_OK;
}
