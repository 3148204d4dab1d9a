/* SPDX-License-Identifier: BSD-3-Clause */
/* The largest eigenvalue of A* A by powers of it, from a fixed image of random numbers. */
#include "core/op.h"

#include <math.h>

enum { POWERS = 20 };
#define SAFETY 1.02 /* over what they reach, which is too low */

/* One more power of the image x, of which the first n values count; the eigenvalue so far. */
static int power(double *lambda, iso_op *op, int64_t n, iso_real *x, iso_real *unit, iso_real *y)
{
	const struct iso_vec *v = op->ctx->vec;
	double size;
	int st = v->dot(op->ctx, n, &size, x, x);

	if (st) return st;
	if (!(size > 0)) return iso_fail(ISO_EINPUT, "the model is 0: no voxel is heard");
	if ((st = v->fill(op->ctx, n, unit, 0)) || (st = v->axpy(op->ctx, n, unit, 1 / sqrt(size), x)) ||
	    (st = iso_forward(y, op, ISO_ALL, unit)) || (st = iso_adjoint(x, op, ISO_ALL, y)) ||
	    (st = v->dot(op->ctx, n, &size, x, x)))
		return st;
	*lambda = sqrt(size);
	return ISO_OK;
}

int iso_op_eigenvalue(double *lambda, iso_op *op, int64_t n)
{
	struct iso_room room = iso_room_of(op->ctx, "the largest eigenvalue");
	iso_real *x, *unit, *y;
	int st;

	ISO_DEVICE(&room, x, op->n_in);
	ISO_DEVICE(&room, unit, op->n_in);
	ISO_DEVICE(&room, y, op->n_out);
	if (!(st = room.status)) st = op->ctx->vec->uniform(op->ctx, n, x, 1);
	for (int i = 0; i < POWERS && !st; i++) st = power(lambda, op, n, x, unit, y);
	iso_room_free(&room);
	*lambda *= SAFETY;
	return st ? st : *lambda > 0 ? ISO_OK : iso_fail(ISO_EINPUT, "the model is 0: no voxel is heard");
}
