/* SPDX-License-Identifier: BSD-3-Clause */
/* One operator in several states of the image, one below the other: y = (A_0 W_0 x, A_1 W_1 x, ...). One state after the
   other goes through the same images. */
#include "core/op.h"
#include "core/comm.h"
#include "core/loop/em_kern.h"

struct stack {
	int n;                 /* states */
	bool split;            /* each has subsets of its own of the outer operator; else all have all */
	iso_op *outer, *inner; /* the caller's handles */
	int64_t *start;        /* n n_sub + 1: the first row of state k in subset s, at s n + k */
};

struct stack_work {
	iso_op *outer, *inner;
	iso_real *seen; /* W_k x */
	iso_real *back,
		*part;   /* of a state: what the outer operator gives, and what is added to that or to x */
	iso_real *scale; /* of fixed-point sums; NULL: no step of ratios so far */
	struct iso_room room; /* of `scale` */
};

/* Subsets of the stack, those of ISO_ALL too. */
struct subsets {
	int first, end;
};

static struct subsets subsets_of(const iso_op *op, int sub)
{
	return sub == ISO_ALL ? (struct subsets){ 0, op->n_sub } : (struct subsets){ sub, sub + 1 };
}

/* The outer operator's subset of a state. */
static int outer_sub(const struct stack *p, int sub, int k)
{
	return p->split ? sub * p->n + k : sub;
}

/* What a data vector of the stack is moved by, to be one of the outer operator where that subset of state k is meant. */
static int64_t shift(const struct stack *p, int sub, int k)
{
	return p->start[sub * p->n + k] - iso_op_rows(p->outer, outer_sub(p, sub, k)).first;
}

/* ---- projections ---- */

/* x += W_k* y, or x = that for the first state. */
static int add_back(const iso_op *op, int k, iso_real *x, const iso_real *y)
{
	struct stack_work *w = op->work;
	int st = iso_adjoint(k ? w->part : x, w->inner, k, y);

	return st || k == 0 ? st : op->ctx->vec->axpy(op->ctx, op->n_in, x, 1, w->part);
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct stack *p = op->data;
	const struct subsets all = subsets_of(op, sub);
	struct stack_work *w = op->work;
	int st = ISO_OK;

	for (int k = 0; k < p->n && !st; k++) {
		st = iso_forward(w->seen, w->inner, k, x);
		for (int s = all.first; s < all.end && !st; s++)
			st = iso_forward(y + shift(p, s, k), w->outer, outer_sub(p, s, k), w->seen);
	}
	return st;
}

/* w->back = sum of A_k* y over subsets. */
static int outer_back(const iso_op *op, struct subsets all, int k, const iso_real *y)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	int st = ISO_OK;

	for (int s = all.first; s < all.end && !st; s++) {
		st = iso_adjoint(s == all.first ? w->back : w->part, w->outer, outer_sub(p, s, k),
		                 y + shift(p, s, k));
		if (!st && s > all.first) st = op->ctx->vec->axpy(op->ctx, op->n_in, w->back, 1, w->part);
	}
	return st;
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	int st = ISO_OK;

	for (int k = 0; k < p->n && !st; k++)
		if (!(st = outer_back(op, subsets_of(op, sub), k, y))) st = add_back(op, k, x, w->back);
	return st;
}

/* ---- steps ---- */

static struct iso_em_data moved(const struct iso_em_data *d, int64_t by)
{
	return (struct iso_em_data){ d->y ? d->y + by : NULL, d->add ? d->add + by : NULL,
		                     d->mult ? d->mult + by : NULL };
}

/* x' = W_k x, w->back = A_k*(y / (A_k x' + a)), which the outer operator gives times x'. */
static int em_state(const iso_op *op, struct subsets all, int k, const struct iso_em_data *d,
                    struct iso_em_stat *stat)
{
	const struct stack *p = op->data;
	const struct iso_vec *v = op->ctx->vec;
	struct stack_work *w = op->work;
	int st = ISO_OK;

	for (int s = all.first; s < all.end && !st; s++) {
		const struct iso_em_data rows = moved(d, shift(p, s, k));
		struct iso_em_stat one = { 0 };

		st = iso_op_em_step(s == all.first ? w->back : w->part, &one, w->outer, outer_sub(p, s, k),
		                    w->seen, &rows);
		em_stat_add(stat, &one);
		if (!st && s > all.first) st = v->axpy(op->ctx, op->n_in, w->back, 1, w->part);
	}
	return st ? st : v->div(op->ctx, op->n_in, w->back, w->back, w->seen);
}

/* acc = x sum_k W_k* w->back. Where W_k x is 0, so are the x that it is made of. */
static int em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x, const struct iso_em_data *d,
                   struct iso_em_stat *stat)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	struct iso_em_stat sum = { 0 };
	int st = ISO_OK;

	for (int k = 0; k < p->n && !st; k++)
		if (!(st = iso_forward(w->seen, w->inner, k, x)) &&
		    !(st = em_state(op, subsets_of(op, sub), k, d, &sum)))
			st = add_back(op, k, acc, w->back);
	*stat = sum;
	return st ? st : op->ctx->vec->mul(op->ctx, op->n_in, acc, acc, x);
}

/* scale = W_k u, and a little more everywhere: it must be above 0 where nothing is left. */
static int find_scale(const iso_op *op, int k, const iso_real *u)
{
	const struct iso_vec *v = op->ctx->vec;
	struct stack_work *w = op->work;
	double sum = 0;
	int st;

	if (!w->scale) {
		w->room = iso_room_of(op->ctx, "stack");
		ISO_DEVICE(&w->room, w->scale, op->n_in);
	}
	if ((st = iso_comm_agree(op->ctx, w->room.status)) || (st = iso_forward(w->back, w->inner, k, u)) ||
	    (st = v->asum(op->ctx, op->n_in, &sum, w->back)))
		return st;
	st = v->fill(op->ctx, op->n_in, w->scale, 1e-3 * sum / (double)op->n_in);
	return st ? st : v->axpy(op->ctx, op->n_in, w->scale, 1, w->back);
}

static int ratio_state(const iso_op *op, struct subsets all, int k, iso_real *rho, bool keep,
                       const struct iso_em_data *d, struct iso_ratio_stat *stat)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	int st = ISO_OK;

	for (int s = all.first; s < all.end && !st; s++) {
		const int64_t by = shift(p, s, k);
		const struct iso_em_data rows = moved(d, by);
		struct iso_ratio_stat one = { 0 };

		st = iso_op_ratio_step(s == all.first ? w->back : w->part, rho + by, &one, w->outer,
		                       outer_sub(p, s, k), keep, w->seen, w->scale, &rows);
		em_stat_add(&stat->em, &one.em);
		stat->cut += one.cut;
		if (!st && s > all.first) st = op->ctx->vec->axpy(op->ctx, op->n_in, w->back, 1, w->part);
	}
	return st;
}

static int ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                      const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *stat)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	struct iso_ratio_stat sum = { 0 };
	int st = ISO_OK;

	for (int k = 0; k < p->n && !st; k++)
		if (!(st = find_scale(op, k, u)) && !(st = iso_forward(w->seen, w->inner, k, x)) &&
		    !(st = ratio_state(op, subsets_of(op, sub), k, rho, keep, d, &sum)))
			st = add_back(op, k, z, w->back);
	*stat = sum;
	return st;
}

/* ---- rows ---- */

static struct iso_rows rows(const iso_op *op, int sub)
{
	const struct stack *p = op->data;
	const int64_t first = p->start[sub * p->n];

	return (struct iso_rows){ first, p->start[(sub + 1) * p->n] - first };
}

/* The last of n + 1 rising numbers that is at most `row`. */
static int64_t place_of(const int64_t *start, int64_t n, int64_t row)
{
	int64_t low = 0, high = n;

	while (high - low > 1) {
		const int64_t middle = (low + high) / 2;

		if (start[middle] <= row)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int64_t file_row(const iso_op *op, int64_t row)
{
	const struct stack *p = op->data;
	const int64_t at = place_of(p->start, (int64_t)p->n * op->n_sub, row);
	const int k = (int)(at % p->n);
	const int64_t own = row - shift(p, (int)(at / p->n), k);

	return (p->split ? 0 : k * p->outer->n_out) +
	       (p->outer->fn->file_row ? p->outer->fn->file_row(p->outer, own) : own);
}

/* ---- making the operator ---- */

static int open_stack(iso_op *op)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	int st;

	if ((st = iso_op_clone(&w->outer, p->outer)) || (st = iso_op_clone(&w->inner, p->inner))) return st;
	ISO_DEVICE(&op->room, w->seen, op->n_in);
	ISO_DEVICE(&op->room, w->back, op->n_in);
	ISO_DEVICE(&op->room, w->part, op->n_in);
	return op->room.status;
}

static void close_stack(iso_op *op)
{
	struct stack_work *w = op->work;

	iso_op_free(w->outer);
	iso_op_free(w->inner);
	iso_room_free(&w->room);
}

static void free_stack(iso_op *op)
{
	struct stack *p = op->data;

	iso_op_free(p->outer);
	iso_op_free(p->inner);
}

static const struct iso_op_fn stack_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.em_step = em_step,
	.ratio_step = ratio_step,
	.rows = rows,
	.file_row = file_row,
	.open = open_stack,
	.close = close_stack,
	.free = free_stack,
	.work = sizeof(struct stack_work),
};

static int check(const iso_op *outer, const iso_op *inner, bool split)
{
	if (inner->n_in != outer->n_in || inner->n_out != outer->n_in)
		return iso_fail(ISO_EARG,
		                "stack: the inner operator has %" PRId64 " values before and %" PRId64
		                " after, expected %" PRId64 " as the outer one takes",
		                inner->n_in, inner->n_out, outer->n_in);
	if (inner->ctx != outer->ctx)
		return iso_fail(ISO_EARG, "stack: the two operators have different contexts");
	if (split && outer->n_sub % inner->n_sub)
		return iso_fail(ISO_EARG,
		                "stack: the outer operator has %d subsets, must be a multiple of %d states",
		                outer->n_sub, inner->n_sub);
	return ISO_OK;
}

/* Where the rows of all states stand. */
static void place_rows(struct stack *p, int n_sub)
{
	int64_t at = 0;

	for (int s = 0; s < n_sub; s++)
		for (int k = 0; k < p->n; k++) {
			p->start[s * p->n + k] = at;
			at += iso_op_rows(p->outer, outer_sub(p, s, k)).n;
		}
	p->start[(int64_t)n_sub * p->n] = at;
}

static int make_stack(iso_op **op, iso_op *outer, iso_op *inner, bool split)
{
	const int n = inner->n_sub, n_sub = split ? outer->n_sub / n : outer->n_sub;
	struct iso_room room = iso_room_of(outer->ctx, "stack");
	struct stack *p;
	int st = check(outer, inner, split);

	if (st) return st;
	if (ISO_HOST(&room, p, 1)) ISO_HOST(&room, p->start, (int64_t)n * n_sub + 1);
	if (room.status) return iso_room_free(&room);
	p->n = n;
	p->split = split;
	p->outer = iso_op_keep(outer);
	p->inner = iso_op_keep(inner);
	place_rows(p, n_sub);
	st = iso_op_create_in(op, outer->ctx, &stack_fn, outer->n_in, p->start[(int64_t)n * n_sub], n_sub,
	                      &room, p);
	if (!st) (*op)->rows_split = outer->rows_split;
	return st;
}

int iso_stack_create(iso_op **op, iso_op *outer, iso_op *inner, bool split)
{
	if (!op || !outer || !inner) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_stack(&made, outer, inner, split);

	return iso_op_agree(op, made, outer->ctx, st);
}

void iso_stack_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n)
{
	iso_plan_add(plan, "image in a state, and back", n, 3 * sizeof(iso_real), iso_ctx_is_cuda(ctx));
}
