/* SPDX-License-Identifier: BSD-3-Clause */
/* The adjoint test: zero-mean Gaussian vectors, error over |Ax| |y|. Vectors of one sign would
   let an adjoint that is wrong by one voxel pass. */
#include "core/op.h"
#include "core/philox.h"

/* n numbers on the device (Box and Muller 1958, one of the pair); NULL: see the room's status. */
static iso_real *gauss_vector(struct iso_room *room, int64_t n, uint64_t seed, uint64_t draw)
{
	iso_real *host, *x;

	if (!ISO_HOST(room, host, n)) return NULL;
	for (int64_t i = 0; i < n; i++) {
		struct philox p = philox_draw(seed, (uint64_t)i, draw);
		double u = philox_unit_double(p.w[0], p.w[1]), v = philox_unit_double(p.w[2], p.w[3]);

		host[i] = (iso_real)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
	}
	ISO_UPLOAD(room, x, host, n);
	iso_room_drop(room, host);
	return x;
}

int iso_test_adjoint(double *err, iso_op *op, int sub, uint64_t seed)
{
	if (!err || !op) return iso_fail_null(__func__);
	if (op->rows_split) return iso_op_refuse_split(op, "adjoint test");
	iso_ctx *ctx = op->ctx;
	const struct iso_vec *v = ctx->vec;
	struct iso_rows r = iso_op_rows(op, sub);
	struct iso_room room = iso_room_of(ctx, "adjoint test");
	iso_real *x = gauss_vector(&room, op->n_in, seed, 0), *y = gauss_vector(&room, op->n_out, seed, 1);
	iso_real *ax, *aty;
	double axy, xaty, axax, yy;
	int st;

	ISO_DEVICE(&room, ax, op->n_out);
	ISO_DEVICE(&room, aty, op->n_in);
	if ((st = room.status) || (st = iso_forward(ax, op, sub, x)) || (st = iso_adjoint(aty, op, sub, y)) ||
	    (st = v->dot(ctx, r.n, &axy, ax + r.first, y + r.first)) ||
	    (st = v->dot(ctx, r.n, &axax, ax + r.first, ax + r.first)) ||
	    (st = v->dot(ctx, r.n, &yy, y + r.first, y + r.first)) ||
	    (st = v->dot(ctx, op->n_in, &xaty, x, aty)))
		goto done;
	if (axax > 0 && yy > 0)
		*err = fabs(axy - xaty) / sqrt(axax * yy);
	else
		st = iso_fail(ISO_EARG, "adjoint test: A x is zero, nothing was tested");
done:
	iso_room_free(&room);
	return st;
}
