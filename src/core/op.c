/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators: handles, subsets, and the calls that check before they pass on. */
#include "op.h"
#include "size.h"

typedef int (*move_fn)(iso_op *op);

static void free_data(iso_op *op)
{
	if (op->fn->free)
		op->fn->free(op);
	else
		free(op->data);
}

static int move_to_device(iso_op *op)
{
	void *move = NULL;
	int st;

	if (!iso_ctx_is_cuda(op->ctx) || !op->fn->to_cuda) return ISO_OK;
	if ((st = iso_cuda_symbol(&move, op->fn->to_cuda))) return st;
	return ((move_fn)move)(op);
}

int iso_op_create(iso_op **out, iso_ctx *ctx, const struct iso_op_fn *fn, int64_t n_in, int64_t n_out,
                  int n_sub, void *data)
{
	iso_op proto = {
		.fn = fn, .ctx = ctx, .n_in = n_in, .n_out = n_out, .n_sub = n_sub, .data = data, .refs = 1
	};
	iso_op *op = size_alloc(1, sizeof *op);
	int *shares = size_alloc(1, sizeof *shares), st;

	if (!op || !shares) {
		st = iso_fail_memory("operator", sizeof *op);
		free_data(&proto);
		free(op);
		free(shares);
		return st;
	}
	*op = proto;
	iso_ctx_keep(ctx);
	op->shares = shares;
	*shares = 1;
	st = move_to_device(op);
	if (!st && op->fn->open) st = op->fn->open(op);
	if (st)
		iso_op_free(op);
	else
		*out = op;
	return st;
}

iso_op *iso_op_keep(iso_op *op)
{
	__atomic_add_fetch(&op->refs, 1, __ATOMIC_RELAXED);
	return op;
}

int iso_op_clone(iso_op **clone, iso_op *op)
{
	if (!clone || !op) return iso_fail_null(__func__);
	iso_op *c = size_alloc(1, sizeof *c);
	int st = ISO_OK;

	if (!c) return iso_fail_memory("operator", sizeof *c);
	*c = *op;
	c->refs = 1;
	c->busy = 0;
	c->work = NULL;
	iso_ctx_keep(c->ctx);
	__atomic_add_fetch(c->shares, 1, __ATOMIC_RELAXED);
	if (c->fn->open) st = c->fn->open(c);
	if (st)
		iso_op_free(c);
	else
		*clone = c;
	return st;
}

void iso_op_rest(iso_op *op)
{
	if (op->work && op->fn->close) op->fn->close(op);
	op->work = NULL;
}

int iso_op_wake(iso_op *op)
{
	int st = op->work || !op->fn->open ? ISO_OK : op->fn->open(op);

	if (st) iso_op_rest(op);
	return st;
}

void iso_op_free(iso_op *op)
{
	if (!op || __atomic_sub_fetch(&op->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
	if (op->work && op->fn->close) op->fn->close(op);
	if (__atomic_sub_fetch(op->shares, 1, __ATOMIC_ACQ_REL) == 0) {
		free_data(op);
		free(op->shares);
	}
	iso_ctx_free(op->ctx);
	free(op);
}

iso_ctx *iso_op_ctx(const iso_op *op)
{
	return op->ctx;
}

int64_t iso_op_n_in(const iso_op *op)
{
	return op->n_in;
}

int64_t iso_op_n_out(const iso_op *op)
{
	return op->n_out;
}

int iso_op_n_sub(const iso_op *op)
{
	return op->n_sub;
}

struct iso_rows iso_op_rows(const iso_op *op, int sub)
{
	struct iso_rows all = { 0, op->n_out };

	return sub == ISO_ALL || !op->fn->rows ? all : op->fn->rows(op, sub);
}

static int64_t file_row(const iso_op *op, int64_t row)
{
	return op->fn->file_row ? op->fn->file_row(op, row) : row;
}

void iso_op_sort(const iso_op *op, iso_real *dst, const iso_real *src)
{
#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t i = 0; i < op->n_out; i++) dst[i] = src[file_row(op, i)];
}

void iso_op_unsort(const iso_op *op, iso_real *dst, const iso_real *src)
{
#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t i = 0; i < op->n_out; i++) dst[file_row(op, i)] = src[i];
}

static int enter(iso_op *op, int sub)
{
	if (sub != ISO_ALL && (sub < 0 || sub >= op->n_sub))
		return iso_fail(ISO_EARG, "operator: subset is %d, must be 0 to %d", sub, op->n_sub - 1);
	if (__atomic_exchange_n(&op->busy, 1, __ATOMIC_ACQUIRE))
		return iso_fail(ISO_EBUSY, "operator: called while another call runs; clone it");
	int st = iso_ctx_poll(op->ctx);

	if (!st && op->ctx->cuda) st = op->ctx->cuda->use(op->ctx);
	if (st) __atomic_store_n(&op->busy, 0, __ATOMIC_RELEASE);
	return st;
}

static int leave(iso_op *op, int st)
{
	__atomic_store_n(&op->busy, 0, __ATOMIC_RELEASE);
	return st;
}

int iso_forward(iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	if (!op || !y || !x) return iso_fail_null(__func__);
	int st = enter(op, sub);

	return st ? st : leave(op, op->fn->forward(op, sub, y, x));
}

int iso_adjoint(iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	if (!op || !x || !y) return iso_fail_null(__func__);
	int st = enter(op, sub);

	return st ? st : leave(op, op->fn->adjoint(op, sub, x, y));
}

int iso_em_step(iso_op *op, int sub, iso_real *acc, const iso_real *x, const struct iso_em_data *data,
                struct iso_em_stat *stat)
{
	if (!op || !acc || !x || !data || !stat) return iso_fail_null(__func__);
	int st = enter(op, sub);

	if (st) return st;
	return leave(op,
	             (op->fn->em_step ? op->fn->em_step : iso_em_step_plain)(op, sub, acc, x, data, stat));
}
