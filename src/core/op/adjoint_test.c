/* SPDX-License-Identifier: BSD-3-Clause */
/* The adjoint test: zero-mean Gaussian vectors, error over |Ax| |y|. Vectors of one sign would
   let an adjoint that is wrong by one voxel pass. */
#include "core/op.h"
#include "core/philox.h"
#include "core/size.h"
#include "core/vec.h"

#include <math.h>

/* Box and Muller 1958, one of the pair. */
static void gauss(int64_t n, iso_real *x, uint64_t seed, uint64_t draw)
{
	for (int64_t i = 0; i < n; i++) {
		struct philox p = philox_draw(seed, (uint64_t)i, draw);
		double u = philox_unit_double(p.w[0], p.w[1]), v = philox_unit_double(p.w[2], p.w[3]);

		x[i] = (iso_real)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
	}
}

static int gauss_vector(iso_ctx *ctx, iso_real **x, int64_t n, uint64_t seed, uint64_t draw)
{
	iso_real *h = size_alloc(n, sizeof *h);
	int st;

	if (!h) return iso_fail_memory("adjoint test", n * (int64_t)sizeof *h);
	gauss(n, h, seed, draw);
	if (!(st = iso_vec_alloc(ctx, x, n))) st = ctx->vec->upload(ctx, *x, h, n * (int64_t)sizeof *h);
	free(h);
	return st;
}

int iso_test_adjoint(double *err, iso_op *op, int sub, uint64_t seed)
{
	if (!err || !op) return iso_fail_null(__func__);
	iso_ctx *ctx = op->ctx;
	const struct iso_vec *v = ctx->vec;
	struct iso_rows r = iso_op_rows(op, sub);
	iso_real *x = NULL, *y = NULL, *ax = NULL, *aty = NULL;
	double axy, xaty, axax, yy;
	int st;

	if ((st = gauss_vector(ctx, &x, op->n_in, seed, 0))) goto done;
	if ((st = gauss_vector(ctx, &y, op->n_out, seed, 1))) goto done;
	if ((st = iso_vec_alloc(ctx, &ax, op->n_out))) goto done;
	if ((st = iso_vec_alloc(ctx, &aty, op->n_in))) goto done;
	if ((st = iso_forward(op, sub, ax, x))) goto done;
	if ((st = iso_adjoint(op, sub, aty, y))) goto done;
	if ((st = v->dot(ctx, r.n, &axy, ax + r.first, y + r.first))) goto done;
	if ((st = v->dot(ctx, r.n, &axax, ax + r.first, ax + r.first))) goto done;
	if ((st = v->dot(ctx, r.n, &yy, y + r.first, y + r.first))) goto done;
	if ((st = v->dot(ctx, op->n_in, &xaty, x, aty))) goto done;
	if (!(axax > 0) || !(yy > 0)) {
		st = iso_fail(ISO_EARG, "adjoint test: A x is zero, nothing was tested");
		goto done;
	}
	*err = fabs(axy - xaty) / sqrt(axax * yy);
done:
	v->free(ctx, x);
	v->free(ctx, y);
	v->free(ctx, ax);
	v->free(ctx, aty);
	return st;
}
