/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators one below the other, each behind one of the image's side: y = (A_0 W_0 x, A_1 W_1 x, ...). Subset k has the
   rows of subset k of every part, which stand together in the order of the parts. Work space of the W lasts as long as a
   call of it: that of one at a time. */
#include "core/op.h"
#include "core/comm.h"
#include "core/loop/em_kern.h"

struct stack {
	int n, n_sub;
	iso_op **outer, **inner; /* the caller's handles; an inner NULL is 1 */
	int *same;               /* the first part with the outer handle of each */
	int64_t *start;          /* n_sub n + 1: the first row of part k in subset s, at s n + k */
	int64_t *file;           /* n + 1: the first row of each part in the file's order */
};

struct stack_work {
	iso_op **outer, **inner; /* clones; those of `outer` of parts that are alike are the same */
	iso_real *mid, *acc;     /* n_in values of a part */
	iso_real *back;          /* n_in values */
};

/* Subsets of a call. */
struct subsets {
	int first, end;
};

static struct subsets subsets_of(const struct stack *p, int sub)
{
	return (struct subsets){ sub == ISO_ALL ? 0 : sub, sub == ISO_ALL ? p->n_sub : sub + 1 };
}

/* What a data vector of the whole is moved by, to be one of part k where the rows of subset `sub` are meant. */
static int64_t shift(const struct stack *p, int sub, int k)
{
	return p->start[sub * p->n + k] - iso_op_rows(p->outer[k], sub).first;
}

/* ---- the image's side ---- */

/* to = W from, or its transpose; `to` may not be `from`. */
static int inner_apply(iso_op *inner, const iso_op *op, bool back, iso_real *to, const iso_real *from)
{
	if (!inner) return op->ctx->vec->copy(op->ctx, op->n_in, to, from);
	int st = iso_comm_agree(op->ctx, iso_op_wake(inner));

	if (!st) st = (back ? iso_adjoint : iso_forward)(to, inner, ISO_ALL, from);
	iso_op_rest(inner);
	return st;
}

/* sum += W_k* part, or = for the first part. */
static int add_back(const iso_op *op, int k, iso_real *sum, const iso_real *part)
{
	struct stack_work *w = op->work;
	int st = inner_apply(w->inner[k], op, true, k ? w->back : sum, part);

	return st || k == 0 ? st : op->ctx->vec->axpy(op->ctx, op->n_in, sum, 1, w->back);
}

/* ---- projections ---- */

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	const struct subsets all = subsets_of(p, sub);
	int st = ISO_OK;

	for (int k = 0; k < p->n && !st; k++) {
		st = inner_apply(w->inner[k], op, false, w->mid, x);
		for (int s = all.first; s < all.end && !st; s++)
			st = iso_forward(y + shift(p, s, k), w->outer[k], s, w->mid);
	}
	return st;
}

/* Adds up the subsets of one part, in w->acc; w->mid is lost. */
static int part_adjoint(const iso_op *op, int k, struct subsets all, const iso_real *y)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	int st = ISO_OK;

	for (int s = all.first; s < all.end && !st; s++) {
		st = iso_adjoint(s == all.first ? w->acc : w->mid, w->outer[k], s, y + shift(p, s, k));
		if (!st && s > all.first)
			st = op->ctx->vec->axpy(op->ctx, w->outer[k]->n_in, w->acc, 1, w->mid);
	}
	return st;
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	int st = ISO_OK;

	for (int k = 0; k < p->n && !st; k++)
		if (!(st = part_adjoint(op, k, subsets_of(p, sub), y))) st = add_back(op, k, x, w->acc);
	return st;
}

/* ---- EM ---- */

static struct iso_em_data moved(const struct iso_em_data *d, int64_t by)
{
	return (struct iso_em_data){ d->y ? d->y + by : NULL, d->add ? d->add + by : NULL,
		                     d->mult ? d->mult + by : NULL };
}

/* x' = W_k x, part = x' A_k*(y / (A_k x' + a)) over x', of one subset; its statistics are added. */
static int part_em_step(const iso_op *op, int sub, int k, const struct iso_em_data *d, struct iso_em_stat *s)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	const struct iso_em_data rows = moved(d, shift(p, sub, k));
	struct iso_em_stat of = { 0 };
	int st = iso_op_em_step(w->acc, &of, w->outer[k], sub, w->mid, &rows);

	em_stat_add(s, &of);
	return st ? st : op->ctx->vec->div(op->ctx, w->outer[k]->n_in, w->acc, w->acc, w->mid);
}

/* acc = x sum_k W_k*( acc_k / W_k x ). Where W_k x is 0, so are the x that it is made of. */
static int em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x, const struct iso_em_data *d,
                   struct iso_em_stat *stat)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	const struct subsets all = subsets_of(p, sub);
	int st = ISO_OK;

	*stat = (struct iso_em_stat){ 0 };
	if (all.end > all.first + 1) return iso_em_step_plain(op, sub, acc, x, d, stat);
	for (int k = 0; k < p->n && !st; k++) {
		if ((st = inner_apply(w->inner[k], op, false, w->mid, x)) ||
		    (st = part_em_step(op, all.first, k, d, stat)))
			break;
		st = add_back(op, k, acc, w->acc);
	}
	return st ? st : op->ctx->vec->mul(op->ctx, op->n_in, acc, acc, x);
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
	const int64_t at = place_of(p->start, (int64_t)p->n * p->n_sub, row);
	const int k = (int)(at % p->n);
	const iso_op *outer = p->outer[k];
	const int64_t own = row - shift(p, (int)(at / p->n), k);

	return p->file[k] + (outer->fn->file_row ? outer->fn->file_row(outer, own) : own);
}

/* ---- making the operator ---- */

static int open_stack(iso_op *op)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;
	int64_t most = op->n_in;
	int st = ISO_OK;

	ISO_HOST(&op->room, w->outer, p->n);
	ISO_HOST(&op->room, w->inner, p->n);
	for (int k = 0; k < p->n && !op->room.status && !st; k++) {
		most = p->outer[k]->n_in > most ? p->outer[k]->n_in : most;
		if (p->same[k] < k)
			w->outer[k] = w->outer[p->same[k]];
		else
			st = iso_op_clone(&w->outer[k], p->outer[k]);
		if (!st && p->inner[k]) st = iso_op_clone(&w->inner[k], p->inner[k]);
		if (w->inner[k]) iso_op_rest(w->inner[k]);
	}
	if (st) return st;
	ISO_DEVICE(&op->room, w->mid, most);
	ISO_DEVICE(&op->room, w->acc, most);
	ISO_DEVICE(&op->room, w->back, op->n_in);
	return op->room.status;
}

static void close_stack(iso_op *op)
{
	const struct stack *p = op->data;
	struct stack_work *w = op->work;

	for (int k = 0; w->outer && w->inner && k < p->n; k++) {
		if (p->same[k] == k) iso_op_free(w->outer[k]);
		iso_op_free(w->inner[k]);
	}
}

static void free_stack(iso_op *op)
{
	struct stack *p = op->data;

	for (int k = 0; k < p->n; k++) {
		iso_op_free(p->outer[k]);
		iso_op_free(p->inner[k]);
	}
}

static const struct iso_op_fn stack_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.em_step = em_step,
	.rows = rows,
	.file_row = file_row,
	.open = open_stack,
	.close = close_stack,
	.free = free_stack,
	.work = sizeof(struct stack_work),
};

static int64_t n_in_of(const iso_op *outer, const iso_op *inner)
{
	return inner ? inner->n_in : outer->n_in;
}

static int check(int n, iso_op *const *outer, iso_op *const *inner)
{
	if (n < 1) return iso_fail(ISO_EARG, "stack: %d parts, must be at least 1", n);
	for (int k = 0; k < n; k++) {
		const iso_op *a = outer[k], *w = inner ? inner[k] : NULL;

		if (!a) return iso_fail_null("stack");
		if (w && (w->n_out != a->n_in || w->n_sub != 1))
			return iso_fail(ISO_EARG,
			                "stack: before part %d stands an operator of %" PRId64
			                " values and %d subsets, expected %" PRId64 " and 1",
			                k, w->n_out, w->n_sub, a->n_in);
		if (a->n_sub != outer[0]->n_sub || a->ctx != outer[0]->ctx || (w && w->ctx != a->ctx) ||
		    a->rows_split != outer[0]->rows_split)
			return iso_fail(ISO_EARG,
			                "stack: part %d has another context, or another number of subsets "
			                "(%d), than part 0 (%d)",
			                k, a->n_sub, outer[0]->n_sub);
		if (n_in_of(a, w) != n_in_of(outer[0], inner ? inner[0] : NULL))
			return iso_fail(ISO_EARG, "stack: part %d takes another number of values than part 0",
			                k);
	}
	return ISO_OK;
}

/* Where the rows of all parts stand. */
static void place_rows(struct stack *p)
{
	int64_t at = 0;

	for (int s = 0; s < p->n_sub; s++)
		for (int k = 0; k < p->n; k++) {
			p->start[s * p->n + k] = at;
			at += iso_op_rows(p->outer[k], s).n;
		}
	p->start[(int64_t)p->n_sub * p->n] = at;
	for (int k = 0; k < p->n; k++) p->file[k + 1] = p->file[k] + p->outer[k]->n_out;
}

static int make_stack(iso_op **op, int n, iso_op *const *outer, iso_op *const *inner)
{
	int st = check(n, outer, inner);

	if (st) return st;
	struct iso_room room = iso_room_of(outer[0]->ctx, "stack");
	struct stack *p = NULL, made = { .n = n, .n_sub = outer[0]->n_sub };

	ISO_HOST(&room, made.outer, n);
	ISO_HOST(&room, made.inner, n);
	ISO_HOST(&room, made.same, n);
	ISO_HOST(&room, made.start, (int64_t)n * made.n_sub + 1);
	ISO_HOST(&room, made.file, n + 1);
	if (!ISO_HOST(&room, p, 1) || room.status) return iso_room_free(&room);
	*p = made;
	for (int k = 0; k < n; k++) {
		p->outer[k] = iso_op_keep(outer[k]);
		p->inner[k] = inner && inner[k] ? iso_op_keep(inner[k]) : NULL;
		while (p->outer[p->same[k]] != p->outer[k]) p->same[k]++;
	}
	place_rows(p);
	const int64_t n_in = n_in_of(p->outer[0], p->inner[0]), n_out = p->file[n];

	st = iso_op_create_in(op, outer[0]->ctx, &stack_fn, n_in, n_out, p->n_sub, &room, p);
	if (!st) (*op)->rows_split = outer[0]->rows_split;
	return st;
}

int iso_stack_create(iso_op **op, int n, iso_op *const *outer, iso_op *const *inner)
{
	if (!op || !outer || !outer[0]) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_stack(&made, n, outer, inner);

	return iso_op_agree(op, made, outer[0]->ctx, st);
}
