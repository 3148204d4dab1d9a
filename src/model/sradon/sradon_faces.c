/* SPDX-License-Identifier: BSD-3-Clause */
/* Faces of transducers in model sradon (sradon_faces.h): the points of all faces as an array of their own, and the mean. */
#include "sradon_faces.h"

#include "core/size.h"
#include "scanner/aperture/aperture.h"

#define FOCUS_ERROR 1e-2

/* ---- the mean ---- */

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct sradon_mean *p = op->data;

	(void)sub; /* one subset only */
#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t i = 0; i < op->n_out; i++) y[i] = (iso_real)sradon_mean(p, x, i);
	return ISO_OK;
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct sradon_mean *p = op->data;

	(void)sub;
#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t i = 0; i < op->n_in; i++) x[i] = (iso_real)sradon_mean_back(p, y, i);
	return ISO_OK;
}

static const struct iso_op_fn mean_fn = { .forward = forward,
	                                  .adjoint = adjoint,
	                                  .to_cuda = "iso_sradon_mean_to_cuda" };

static int make_mean(iso_op **op, iso_ctx *ctx, const struct iso_sradon *q, const struct aperture_points *f)
{
	const int64_t rows = f->faces * f->points, n_out = q->t->n * q->t->samples;
	struct iso_room room = { .ctx = ctx, .what = "faces of sradon" };
	struct sradon_mean *p;
	int64_t *face;
	double *weight;

	ISO_HOST(&room, p, 1);
	ISO_HOST(&room, face, q->t->n);
	if (ISO_HOST(&room, weight, rows)) {
		*p = (struct sradon_mean){ q->t->n, q->t->samples, f->points, face, weight };
		memcpy(face, f->face, (size_t)q->t->n * sizeof *face);
		for (int64_t i = 0; i < rows; i++) weight[i] = f->node[4 * i + 3];
	}
	return iso_op_create_in(op, ctx, &mean_fn, n_out * f->points, n_out, 1, &room, p);
}

/* ---- the points ---- */

/* Up to the frequency whose wave is two voxels long, or that samples hold. */
static int count(struct aperture_count *c, const struct iso_sradon *q)
{
	const struct iso_grid *g = &q->grid;
	struct aperture_rule r = {
		.error = q->sir_error > 0 ? q->sir_error : FOCUS_ERROR,
		.mhz = fmin(1 / (2 * q->t->dt_us), q->t->speed / (2 * g->voxel[0])),
		.least = 1,
	};
	int st;

	if (!(q->sir_error >= 0 && q->sir_error < 1))
		return iso_fail(ISO_EARG, "sradon: an error of %g of the faces, must be 0 to below 1",
		                q->sir_error);
	if (!q->t->aperture)
		return iso_fail(ISO_EARG, "sradon: the transducers have no aperture_mm: no face");
	if ((st = iso_aperture_check(q->t, q->faces))) return st;
	for (int a = 0; a < 3; a++) {
		double half = (double)(g->n[a] - 1) / 2 * g->voxel[a];

		r.low[a] = g->centre[a] - half;
		r.high[a] = g->centre[a] + half;
	}
	return iso_aperture_count(c, q->t, q->faces, &r, "sradon");
}

int iso_sradon_face_points(int *points, const struct iso_sradon *q)
{
	struct aperture_count c;
	int st = q->focus ? count(&c, q) : ISO_OK;

	if (!st) *points = q->focus ? iso_aperture_size(&c) : 1;
	return st;
}

static int spread(struct iso_transducers *t, struct iso_room *room, const struct iso_sradon *q,
                  const struct aperture_points *f)
{
	const struct iso_transducers *from = q->t;
	const int64_t n = from->n * f->points;

	*t = *from;
	t->n = n;
	t->aperture = t->area = t->eir = NULL;
	t->n_eir = 0;
	ISO_HOST(room, t->pos, 3 * n);
	ISO_HOST(room, t->normal, 3 * n);
	ISO_HOST(room, t->ex, 3 * n);
	if (!ISO_HOST(room, t->ey, 3 * n)) return room->status;
	for (int64_t i = 0; i < n; i++) {
		const int64_t k = i / f->points;

		aperture_point(t->pos + 3 * i, f, from->pos + 3 * k, from->ex + 3 * k, from->ey + 3 * k, k,
		               (int)(i % f->points));
		memcpy(t->normal + 3 * i, from->normal + 3 * k, 3 * sizeof *t->normal);
		memcpy(t->ex + 3 * i, from->ex + 3 * k, 3 * sizeof *t->ex);
		memcpy(t->ey + 3 * i, from->ey + 3 * k, 3 * sizeof *t->ey);
	}
	return ISO_OK;
}

int iso_sradon_faces(iso_op **op, iso_ctx *ctx, const struct iso_sradon *q, sradon_integrals integrals)
{
	struct iso_room room = { .what = "faces of sradon" };
	struct iso_sradon points = *q;
	struct iso_transducers t;
	struct aperture_points f;
	struct aperture_count c;
	iso_op *g = NULL, *mean = NULL;
	int64_t n;
	int st = count(&c, q);

	if (!st && (!size_mul(&n, q->t->n * q->t->samples, iso_aperture_size(&c))))
		st = iso_fail_memory("traces of faces", INT64_MAX);
	if (st || (st = iso_aperture_points(&f, &room, q->t, q->faces, &c)) ||
	    (st = spread(&t, &room, q, &f)))
		goto done;
	points.t = &t;
	points.focus = false;
	if (!(st = integrals(&g, ctx, &points, q->t)) && !(st = make_mean(&mean, ctx, q, &f)))
		st = iso_chain_create(op, mean, g);
done:
	iso_op_free(g);
	iso_op_free(mean);
	iso_room_free(&room);
	return st;
}
