/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators: handles, subsets, and the calls that check before they pass on. */
#include "op.h"
#include "comm.h"
#include "size.h"

#include <math.h>

#define PIECE ((int64_t)1 << 22) /* rows that are put in order between two words about it */

/* After `fn->open` failed the handle is as after `fn->close`. */
static int open_work(iso_op *op)
{
	int st = ISO_OK;

	op->room = (struct iso_room){ .ctx = op->ctx, .what = "work space of an operator" };
	if (op->fn->work) op->work = iso_room_host(&op->room, 1, op->fn->work);
	if (!(st = op->room.status) && op->fn->open) st = op->fn->open(op);
	if (st) iso_op_rest(op);
	return st;
}

static int move_to_device(iso_op *op)
{
	void *move = NULL;
	int st;

	if (!iso_ctx_is_cuda(op->ctx) || !op->fn->to_cuda) return ISO_OK;
	if ((st = iso_cuda_symbol(&move, op->fn->to_cuda))) return st;
	return ((int (*)(iso_op *))move)(op);
}

int iso_op_create_in(iso_op **out, iso_ctx *ctx, const struct iso_op_fn *fn, int64_t n_in, int64_t n_out,
                     int n_sub, struct iso_room *room, void *data)
{
	iso_op proto = {
		.fn = fn, .ctx = ctx, .n_in = n_in, .n_out = n_out, .n_sub = n_sub, .data = data, .refs = 1
	};
	iso_op *op = size_alloc(1, sizeof *op);
	struct iso_op_shared *shared = size_alloc(1, sizeof *shared);
	int st = room->status ? room->status : iso_ctx_ready(ctx);

	if (st || !op || !shared) {
		st = st ? st : iso_fail_memory("operator", sizeof *op);
		if (fn->free && data) fn->free(&proto);
		iso_room_free(room);
		free(op);
		free(shared);
		return st;
	}
	*op = proto;
	op->clock = &op->own;
	iso_ctx_keep(ctx);
	*shared = (struct iso_op_shared){ 1, *room };
	op->shared = shared;
	st = move_to_device(op);
	if (!st) st = open_work(op);
	if (st)
		iso_op_free(op);
	else
		*out = op;
	return st;
}

int iso_op_create(iso_op **op, iso_ctx *ctx, const struct iso_op_fn *fn, int64_t n_in, int64_t n_out,
                  int n_sub, void *data)
{
	struct iso_room room = iso_room_of(ctx, "operator");
	bool taken = iso_room_take(&room, data);
	int st = iso_op_create_in(op, ctx, fn, n_in, n_out, n_sub, &room, data);

	if (!taken) free(data);
	return st;
}

int iso_op_agree(iso_op **op, iso_op *made, iso_ctx *ctx, int st)
{
	if ((st = iso_comm_agree(ctx, st)))
		iso_op_free(made);
	else
		*op = made;
	return st;
}

int iso_op_refuse_split(const iso_op *op, const char *who)
{
	if (!op->rows_split) return ISO_OK;
	return iso_fail(ISO_EARG, "%s: each of %d ranks has rows of its own, over which it can't add up", who,
	                iso_ranks(op->ctx));
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
	int st;

	if (!c) return iso_fail_memory("operator", sizeof *c);
	*c = *op;
	c->refs = 1;
	c->busy = 0;
	c->work = NULL;
	c->order = NULL;
	c->clock = &c->own;
	iso_ctx_keep(c->ctx);
	__atomic_add_fetch(&c->shared->handles, 1, __ATOMIC_RELAXED);
	if ((st = open_work(c)))
		iso_op_free(c);
	else
		*clone = c;
	return st;
}

void iso_op_rest(iso_op *op)
{
	if (op->work && op->fn->close) op->fn->close(op);
	op->work = NULL;
	op->order = NULL;
	iso_room_free(&op->room);
}

int iso_op_wake(iso_op *op)
{
	return op->work ? ISO_OK : open_work(op);
}

void iso_op_free(iso_op *op)
{
	if (!op || __atomic_sub_fetch(&op->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
	iso_op_rest(op);
	if (__atomic_sub_fetch(&op->shared->handles, 1, __ATOMIC_ACQ_REL) == 0) {
		if (op->fn->free) op->fn->free(op);
		iso_room_free(&op->shared->room);
		free(op->shared);
	}
	iso_ctx_free(op->ctx);
	free(op);
}

iso_ctx *iso_op_ctx(const iso_op *op)
{
	return op ? op->ctx : NULL;
}

int64_t iso_op_n_in(const iso_op *op)
{
	return op ? op->n_in : 0;
}

int64_t iso_op_n_out(const iso_op *op)
{
	return op ? op->n_out : 0;
}

int iso_op_n_sub(const iso_op *op)
{
	return op ? op->n_sub : 0;
}

struct iso_rows iso_op_rows(const iso_op *op, int sub)
{
	if (!op) return (struct iso_rows){ 0 };

	struct iso_rows all = { 0, op->n_out };

	return sub == ISO_ALL || !op->fn->rows ? all : op->fn->rows(op, sub);
}

static int64_t file_row(const iso_op *op, int64_t row)
{
	return op->fn->file_row ? op->fn->file_row(op, row) : row;
}

void iso_op_sort_rows(const iso_op *op, iso_real *dst, const iso_real *src, struct iso_rows rows)
{
#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t i = 0; i < rows.n; i++) dst[i] = src[file_row(op, rows.first + i)];
}

void iso_op_sort(iso_real *dst, const iso_op *op, const iso_real *src)
{
	if (!dst || !op || !src) return;

	struct iso_clock clock = iso_clock_brief(op->ctx, "order", "rows", op->n_out, NULL);

	for (int64_t i = 0; i < op->n_out; i += PIECE) {
		struct iso_rows rows = { i, op->n_out - i < PIECE ? op->n_out - i : PIECE };

		iso_op_sort_rows(op, dst + i, src, rows);
		iso_clock_add(&clock, rows.n);
	}
	iso_clock_end(&clock);
}

void iso_op_unsort(iso_real *dst, const iso_op *op, const iso_real *src)
{
	if (!dst || !op || !src) return;

	struct iso_clock clock = iso_clock_brief(op->ctx, "order", "rows", op->n_out, NULL);

	for (int64_t at = 0; at < op->n_out; at += PIECE) {
		int64_t end = op->n_out - at < PIECE ? op->n_out : at + PIECE;

#pragma omp parallel for num_threads(op->ctx->threads)
		for (int64_t i = at; i < end; i++) dst[file_row(op, i)] = src[i];
		iso_clock_add(&clock, end - at);
	}
	iso_clock_end(&clock);
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
	if (!st) iso_clock_end(op->clock);
	op->own = (struct iso_clock){ 0 };
	__atomic_store_n(&op->busy, 0, __ATOMIC_RELEASE);
	return st;
}

void iso_op_counts(const iso_op *op, const char *stage, const char *unit, int64_t total)
{
	iso_clock_end(op->clock);
	*op->clock = iso_clock_brief(op->ctx, stage, unit, total, NULL);
}

void iso_op_count(const iso_op *op, int64_t parts)
{
	iso_clock_add(op->clock, parts);
}

static int apply(iso_op *op, int sub, int (*fn)(const iso_op *, int, iso_real *, const iso_real *),
                 iso_real *to, const iso_real *from)
{
	int st = enter(op, sub);

	if (st) return st;
	return leave(op, fn ? fn(op, sub, to, from) : iso_fail(ISO_EARG, "%s", op->fn->cannot));
}

/* ---- data vectors on the device: from the file's order and back ---- */

static int make_order(iso_op *op)
{
	struct iso_room own = iso_room_of(op->ctx, "order of rows");
	int64_t *host;

	if (op->order || !ISO_HOST(&own, host, op->n_out)) return own.status;
#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t i = 0; i < op->n_out; i++) host[i] = file_row(op, i);
	ISO_UPLOAD(&op->room, op->order, host, op->n_out);
	int st = op->room.status;

	op->room.status = ISO_OK; /* the operator works without */
	iso_room_free(&own);
	return st;
}

/* Each row of src to its place in dst; `sort`: from the file's order. */
static int reorder(iso_op *op, iso_real *dst, const iso_real *src, bool sort)
{
	const struct iso_cuda_fn *cuda = op->ctx->cuda;
	int st;

	if (!cuda) {
		(sort ? iso_op_sort : iso_op_unsort)(dst, op, src);
		return ISO_OK;
	}
	if (!op->fn->file_row) return op->ctx->vec->copy(op->ctx, op->n_out, dst, src);
	if ((st = make_order(op))) return st;
	return (sort ? cuda->gather : cuda->scatter)(op->ctx, op->n_out, dst, src, op->order);
}

int iso_op_sort_device(iso_real *dst, iso_op *op, const iso_real *src)
{
	if (!op || !dst || !src) return iso_fail_null(__func__);
	int st = enter(op, ISO_ALL);

	return st ? st : leave(op, reorder(op, dst, src, true));
}

int iso_op_unsort_device(iso_real *dst, iso_op *op, const iso_real *src)
{
	if (!op || !dst || !src) return iso_fail_null(__func__);
	int st = enter(op, ISO_ALL);

	return st ? st : leave(op, reorder(op, dst, src, false));
}

int iso_forward(iso_real *y, iso_op *op, int sub, const iso_real *x)
{
	return op && y && x ? apply(op, sub, op->fn->forward, y, x) : iso_fail_null(__func__);
}

int iso_adjoint(iso_real *x, iso_op *op, int sub, const iso_real *y)
{
	return op && x && y ? apply(op, sub, op->fn->adjoint, x, y) : iso_fail_null(__func__);
}

/* Of several images, `in` values from one to the next, to as many, `out` apart. */
static int apply_many(iso_op *op, int sub, int images,
                      int (*many)(const iso_op *, int, int, iso_real *, const iso_real *),
                      int (*one)(const iso_op *, int, iso_real *, const iso_real *), iso_real *to,
                      int64_t out, const iso_real *from, int64_t in)
{
	int st;

	if (images < 1) return iso_fail(ISO_EARG, "operator: given %d images, must be at least 1", images);
	if ((st = enter(op, sub))) return st;
	if (!one) return leave(op, iso_fail(ISO_EARG, "%s", op->fn->cannot));
	if (many) return leave(op, many(op, sub, images, to, from));
	for (int k = 0; k < images && !st; k++) st = one(op, sub, to + k * out, from + k * in);
	return leave(op, st);
}

int iso_forward_many(iso_real *y, iso_op *op, int sub, int images, const iso_real *x)
{
	if (!op || !y || !x) return iso_fail_null(__func__);
	return apply_many(op, sub, images, op->fn->forward_many, op->fn->forward, y, op->n_out, x, op->n_in);
}

int iso_adjoint_many(iso_real *x, iso_op *op, int sub, int images, const iso_real *y)
{
	if (!op || !x || !y) return iso_fail_null(__func__);
	return apply_many(op, sub, images, op->fn->adjoint_many, op->fn->adjoint, x, op->n_in, y, op->n_out);
}

int iso_op_em_step(iso_real *acc, struct iso_em_stat *stat, iso_op *op, int sub, const iso_real *x,
                   const struct iso_em_data *data)
{
	if (!op || !acc || !x || !data || !stat) return iso_fail_null(__func__);
	int st = enter(op, sub);

	if (st) return st;
	return leave(op,
	             (op->fn->em_step ? op->fn->em_step : iso_em_step_plain)(op, sub, acc, x, data, stat));
}

int iso_op_em_step_many(iso_real *acc, struct iso_em_stat *stat, iso_op *op, int sub, int images,
                        const iso_real *x, const iso_real *y, const struct iso_em_data *data)
{
	if (!op || !acc || !x || !y || !data || !stat) return iso_fail_null(__func__);
	if (images < 1)
		return iso_fail(ISO_EARG, "operator: a step of %d images, must be at least 1", images);
	if (data->y) return iso_fail(ISO_EARG, "operator: a step of several images has counts of its own");
	int st = enter(op, sub);

	if (st) return st;
	st = (op->fn->em_step_many ? op->fn->em_step_many : iso_em_step_each)(op, sub, images, acc, x, y,
	                                                                      data, stat);
	for (int e = 0; e < images && !st; e++) stat[e].loglik = NAN;
	return leave(op, st);
}

int iso_op_em_steps(iso_real *acc, struct iso_em_stat *stat, iso_op *op, int first, int n, const iso_real *x,
                    const struct iso_em_data *data)
{
	if (n < 1 || first < 0 || first > op->n_sub - n)
		return iso_fail(ISO_EARG, "operator: steps of %d subsets from %d on, of %d there are", n,
		                first, op->n_sub);
	int st = enter(op, first);

	return st ? st
	          : leave(op, (op->fn->em_steps ? op->fn->em_steps : iso_em_steps_each)(op, first, n, acc, x,
	                                                                                data, stat));
}

int iso_op_ratio_step(iso_real *z, iso_real *rho, struct iso_ratio_stat *stat, iso_op *op, int sub, bool keep,
                      const iso_real *x, const iso_real *u, const struct iso_em_data *data)
{
	if (!op || !z || !rho || !x || !u || !data || !stat) return iso_fail_null(__func__);
	int st = enter(op, sub);

	if (st) return st;
	return leave(op, (op->fn->ratio_step ? op->fn->ratio_step : iso_ratio_step_plain)(
				 op, sub, z, rho, keep, x, u, data, stat));
}
