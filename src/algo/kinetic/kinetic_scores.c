/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the curves of the coefficients fit the events: scores of regions in bins, and how far a voxel's EM image of each bin
   is from its curve. */
#include "isotome/kinetics.h"

#include "algo/loop.h"
#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"
#include "core/sized.h"

#include <math.h>
#include <string.h>

/* Sums of ranks are of whole numbers. */
#define PARTS 0x1p20

struct scores {
	struct iso_loop l;
	struct iso_kinetic p;
	int64_t voxels;
	iso_real *f, *part;        /* images on the device */
	iso_real *q, *claimed;     /* rows on the device */
	iso_real *acc;             /* an image on the device */
	iso_real *curve, *image;   /* on the host: f_m; room */
	iso_real *rows_q, *rows_p; /* on the host */
	iso_real *add, *mult;      /* on the host, in the operator's order: the data vectors; NULL: none */
	double *off, *square;      /* of the misfit */
};

static const struct iso_loop_fn scores_fn = { .name = "scores", .unit = "bins", .figure = "score" };

/* f_m of the voxels that `inside` has; NULL: all. To the host array `to`. */
static void form(struct scores *e, iso_real *to, const iso_real *theta, int m, const unsigned char *inside)
{
	for (int64_t i = 0; i < e->voxels; i++) {
		double f = 0;

		for (int k = 0; k < e->p.coefficients && (!inside || inside[i]); k++)
			f += e->p.mean[k * e->p.bins + m] * (double)theta[k * e->voxels + i];
		to[i] = e->p.sens[i] > 0 ? (iso_real)f : 0;
	}
}

static int upload(struct scores *e, iso_real *to, const iso_real *from)
{
	return e->l.v->upload(e->l.ctx, to, from, e->voxels * (int64_t)sizeof *to);
}

static int project(struct scores *e, iso_real *host, iso_real *there, int sub, const iso_real *image)
{
	const struct iso_rows rows = iso_op_rows(e->l.op, sub);
	int st = iso_forward(there, e->l.op, sub, image);

	if (st || rows.n == 0) return st;
	return e->l.v->download(e->l.ctx, host, there + rows.first, rows.n * (int64_t)sizeof *host);
}

/* Sums over the rows of `sub` of y p and y p^2, p the share of the region in what the row expects. */
static void add_rows(const struct scores *e, int sub, const iso_real *y, double *sum, double *square)
{
	const struct iso_rows rows = iso_op_rows(e->l.op, sub);

	for (int64_t i = 0; i < rows.n; i++) {
		const int64_t at = rows.first + i;
		double q = e->rows_q[i] + (e->add ? e->add[at] : 0), p;

		if (!(q > 0) || (e->mult && !(e->mult[at] > 0))) continue;
		p = e->rows_p[i] / q;
		*sum += (y ? y[at] : 1) * p;
		*square += (y ? y[at] : 1) * p * p;
	}
}

static int score_region(struct scores *e, double *score, const iso_real *theta, int m,
                        const unsigned char *inside, const iso_real *y)
{
	double sum = 0, square = 0, expected = 0;
	int64_t all[2];
	int st;

	form(e, e->image, theta, m, inside);
	for (int64_t i = 0; i < e->voxels; i++) expected += (double)e->image[i] * e->p.sens[i];
	if ((st = upload(e, e->part, e->image))) return st;
	for (int sub = m; sub < iso_op_n_sub(e->l.op); sub += e->p.bins) {
		if ((st = project(e, e->rows_q, e->q, sub, e->f)) ||
		    (st = project(e, e->rows_p, e->claimed, sub, e->part)))
			return st;
		add_rows(e, sub, y, &sum, &square);
	}
	all[0] = llround(PARTS * sum);
	all[1] = llround(PARTS * square);
	if (e->l.op->rows_split) {
		if ((st = iso_comm_sum(e->l.ctx, ISO_OK, all, 2))) return st;
		sum = (double)all[0] / PARTS;
		square = (double)all[1] / PARTS;
	}
	*score = square > 0 ? (sum - e->p.weight[m] * expected) / sqrt(square) : 0;
	return ISO_OK;
}

/* sum over bins of G (fhat - f)^2 and of G f^2 */
static int misfit_bin(struct scores *e, int m)
{
	struct iso_em_stat s = { 0 };
	int st = ISO_OK;

	memset(e->image, 0, (size_t)e->voxels * sizeof *e->image);
	double *sum = size_alloc(e->voxels, sizeof *sum);

	if (!sum) return iso_fail_memory("misfit", e->voxels * (int64_t)sizeof *sum);
	for (int sub = m; sub < iso_op_n_sub(e->l.op) && !st; sub += e->p.bins) {
		st = iso_op_em_step(e->acc, &s, e->l.op, sub, e->f, &e->p.data);
		if (!st)
			st = e->l.v->download(e->l.ctx, e->image, e->acc,
			                      e->voxels * (int64_t)sizeof *e->image);
		for (int64_t i = 0; i < e->voxels && !st; i++) sum[i] += e->image[i];
	}
	for (int64_t i = 0; i < e->voxels && !st; i++) {
		if (!(e->p.sens[i] > 0)) continue;
		double f = e->curve[i], hat = sum[i] / (e->p.weight[m] * e->p.sens[i]);

		e->off[i] += e->p.weight[m] * (hat - f) * (hat - f);
		e->square[i] += e->p.weight[m] * f * f;
	}
	free(sum);
	return st;
}

static int load(struct scores *e, const iso_real **y)
{
	struct iso_loop *l = &e->l;
	const struct iso_em_data given = e->p.data;
	const int64_t rows = l->n_data;
	int st;

	*y = NULL;
	if (given.mult) {
		ISO_HOST(&l->room, e->mult, rows);
		if (e->mult) iso_op_sort(e->mult, l->op, given.mult);
	}
	if (given.add) {
		ISO_HOST(&l->room, e->add, rows);
		if (e->add) iso_op_sort(e->add, l->op, given.add);
		for (int64_t j = 0; e->add && given.mult && e->mult && j < rows; j++)
			e->add[j] = e->mult[j] > 0 ? e->add[j] / e->mult[j] : 0;
	}
	if (given.y) {
		iso_real *sorted;

		ISO_HOST(&l->room, sorted, rows);
		if (sorted) iso_op_sort(sorted, l->op, given.y);
		*y = sorted;
	}
	if (l->room.status || (st = iso_loop_em_data(l, &e->p.data, NULL)))
		return l->room.status ? l->room.status : st;
	ISO_DEVICE(&l->room, e->f, e->voxels);
	ISO_DEVICE(&l->room, e->part, e->voxels);
	ISO_DEVICE(&l->room, e->acc, e->voxels);
	ISO_DEVICE(&l->room, e->q, rows);
	ISO_DEVICE(&l->room, e->claimed, rows);
	ISO_HOST(&l->room, e->curve, e->voxels);
	ISO_HOST(&l->room, e->image, e->voxels);
	ISO_HOST(&l->room, e->rows_q, rows);
	ISO_HOST(&l->room, e->rows_p, rows);
	ISO_HOST(&l->room, e->off, e->voxels);
	ISO_HOST(&l->room, e->square, e->voxels);
	return l->room.status;
}

static int run(struct scores *e, double *score, iso_real *misfit, const iso_real *theta, int regions,
               const unsigned char *region, const iso_real *y)
{
	int st = ISO_OK;

	for (int m = 0; m < e->p.bins && !st; m++) {
		form(e, e->curve, theta, m, NULL);
		st = upload(e, e->f, e->curve);
		for (int r = 0; r < regions && !st; r++)
			st = score_region(e, score + r * e->p.bins + m, theta, m, region + r * e->voxels, y);
		if (!st && misfit) st = misfit_bin(e, m);
	}
	for (int64_t i = 0; misfit && i < e->voxels && !st; i++)
		misfit[i] = e->square[i] > 0 ? (iso_real)sqrt(e->off[i] / e->square[i]) : 0;
	return st;
}

int iso_kinetic_scores(double *score, iso_real *misfit, const struct iso_kinetic *given,
                       const iso_real *theta, int regions, const unsigned char *region)
{
	struct iso_kinetic p;
	const iso_real *y = NULL;
	struct scores *e;

	if (!theta || regions < 0 || (regions > 0 && (!score || !region))) return iso_fail_null(__func__);
	int st = iso_sized_take(&p, "iso_kinetic", sizeof p, given);

	if (st) return st;
	if (!p.op || !p.mean || !p.weight || !p.sens || p.bins < 1 || iso_op_n_sub(p.op) % p.bins ||
	    p.coefficients < 1 || p.coefficients > ISO_BASES_MOST)
		return iso_fail(ISO_EARG,
		                "scores: there is no operator, basis, weight or sensitivity for the bins");
	if (!(e = iso_loop_make(sizeof *e, &scores_fn, p.op, ISO_HOST, 0)))
		return iso_comm_agree(iso_op_ctx(p.op), ISO_ENOMEM);
	e->p = p;
	e->voxels = e->l.n;
	st = iso_comm_agree(e->l.ctx, load(e, &y));
	if (!st) st = run(e, score, misfit, theta, regions, region, y);
	iso_loop_free(&e->l);
	return st;
}
