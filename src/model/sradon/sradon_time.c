/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators on traces: the derivative D and the impulse response He. */
#include "sradon_time_kern.h"

#include "core/op.h"
#include "core/size.h"

#include <math.h>
#include <string.h>

static int every_sample(const iso_op *op, bool adjoint, iso_real *y, const iso_real *x)
{
	const struct sradon_time *p = op->data;

#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t j = 0; j < op->n_out; j++) {
		int64_t k = j % p->samples;

		y[j] = (iso_real)sradon_time(p, adjoint, x + (j - k), k);
	}
	return ISO_OK;
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	(void)sub; /* one subset only */
	return every_sample(op, false, y, x);
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	(void)sub;
	return every_sample(op, true, x, y);
}

static const struct iso_op_fn time_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.to_cuda = "iso_sradon_time_to_cuda",
};

static int create(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t, bool response)
{
	int64_t n;
	int st = iso_transducers_check(t);

	if (st) return st;
	if (!size_mul(&n, t->n, t->samples)) return iso_fail_memory("traces", INT64_MAX);
	struct iso_room room = { .ctx = ctx, .what = "impulse response" };
	double scale = t->gamma / (8 * M_PI * t->speed * t->speed * t->dt_us), *eir;
	struct sradon_time *p;

	ISO_HOST(&room, p, 1);
	if (ISO_HOST(&room, eir, t->n_eir)) {
		*p =
			(struct sradon_time){ t->samples, t->first_us, t->dt_us, scale,
			                      t->n_eir,   eir,         response };
		if (t->n_eir) memcpy(eir, t->eir, (size_t)t->n_eir * sizeof *eir);
	}
	return iso_op_create_in(op, ctx, &time_fn, n, n, 1, &room, p);
}

int iso_sradon_derivative(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t)
{
	if (!op || !ctx || !t) return iso_fail_null(__func__);
	return create(op, ctx, t, false);
}

int iso_sradon_response(iso_op **op, iso_ctx *ctx, const struct iso_transducers *t)
{
	if (!op || !ctx || !t) return iso_fail_null(__func__);
	if (!t->eir || t->n_eir < 1)
		return iso_fail(ISO_EARG, "sradon: the transducers have no impulse response");
	return create(op, ctx, t, true);
}
