/* SPDX-License-Identifier: BSD-3-Clause */
/* Two operators, one after the other: y = outer(inner(x)). Subsets are the outer's: the inner one
   works on the image side. */
#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"

struct chain {
	iso_op *outer, *inner; /* the caller's handles; a chain applies its own clones */
};

struct chain_work {
	iso_op *outer, *inner;
	iso_real *mid, *acc; /* outer->n_in values each: between the two */
	iso_real *back;      /* inner->n_in values, for em_step */
	iso_real *scale;     /* outer->n_in values, of fixed-point sums; NULL: no step of ratios so far */
	iso_real *mids,
		*accs;        /* the same as mid and acc of several images; NULL: no step of so many so far */
	int many;             /* images that they hold */
	struct iso_room room; /* of `scale`, and of those */
};

static int chain_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	struct chain_work *w = op->work;
	int st = iso_forward(w->mid, w->inner, ISO_ALL, x);

	return st ? st : iso_forward(y, w->outer, sub, w->mid);
}

static int chain_adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	struct chain_work *w = op->work;
	int st = iso_adjoint(w->mid, w->outer, sub, y);

	return st ? st : iso_adjoint(x, w->inner, ISO_ALL, w->mid);
}

/* x' = P x, acc' = x' A*(y / (A x' + a)); then acc = x P*(acc' / x'). */
static int chain_em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                         const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct chain_work *w = op->work;
	const struct iso_vec *v = op->ctx->vec;
	int st;

	if ((st = iso_forward(w->mid, w->inner, ISO_ALL, x))) return st;
	if ((st = iso_op_em_step(w->acc, s, w->outer, sub, w->mid, d))) return st;
	if ((st = v->div(op->ctx, w->outer->n_in, w->acc, w->acc, w->mid))) return st;
	if ((st = iso_adjoint(w->back, w->inner, ISO_ALL, w->acc))) return st;
	return v->mul(op->ctx, op->n_in, acc, w->back, x);
}

static int room_for(const iso_op *op, struct chain_work *w, int images)
{
	if (w->many >= images) return ISO_OK;
	if (!w->room.ctx) w->room = iso_room_of(op->ctx, "chain");
	iso_room_drop(&w->room, w->mids);
	iso_room_drop(&w->room, w->accs);
	w->many = 0;
	ISO_DEVICE(&w->room, w->mids, images * w->outer->n_in);
	ISO_DEVICE(&w->room, w->accs, images * w->outer->n_in);
	int st = iso_comm_agree(op->ctx, w->room.status);

	if (!st) w->many = images;
	return st;
}

static int chain_forward_many(const iso_op *op, int sub, int images, iso_real *y, const iso_real *x)
{
	struct chain_work *w = op->work;
	int st = room_for(op, w, images);

	if (!st) st = iso_forward_many(w->mids, w->inner, ISO_ALL, images, x);
	return st ? st : iso_forward_many(y, w->outer, sub, images, w->mids);
}

static int chain_adjoint_many(const iso_op *op, int sub, int images, iso_real *x, const iso_real *y)
{
	struct chain_work *w = op->work;
	int st = room_for(op, w, images);

	if (!st) st = iso_adjoint_many(w->mids, w->outer, sub, images, y);
	return st ? st : iso_adjoint_many(x, w->inner, ISO_ALL, images, w->mids);
}

/* As chain_em_step of several images: first what comes before the outer step, */
static int many_before(const iso_op *op, int images, const iso_real *x)
{
	struct chain_work *w = op->work;
	int st = room_for(op, w, images);

	return st ? st : iso_forward_many(w->mids, w->inner, ISO_ALL, images, x);
}

/* then what comes after it, image by image. */
static int many_after(const iso_op *op, int images, iso_real *acc, const iso_real *x)
{
	struct chain_work *w = op->work;
	const struct iso_vec *v = op->ctx->vec;
	const int64_t in = op->n_in, n = w->outer->n_in;
	int st = ISO_OK;

	for (int e = 0; e < images && !st; e++) {
		iso_real *back = w->accs + e * n;

		if ((st = v->div(op->ctx, n, back, back, w->mids + e * n))) break;
		if ((st = iso_adjoint(w->back, w->inner, ISO_ALL, back))) break;
		st = v->mul(op->ctx, in, acc + e * in, w->back, x + e * in);
	}
	return st;
}

static int chain_em_step_many(const iso_op *op, int sub, int images, iso_real *acc, const iso_real *x,
                              const iso_real *y, const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct chain_work *w = op->work;
	int st = many_before(op, images, x);

	if (!st) st = iso_op_em_step_many(w->accs, s, w->outer, sub, images, w->mids, y, d);
	return st ? st : many_after(op, images, acc, x);
}

static int chain_em_steps(const iso_op *op, int first, int n, iso_real *acc, const iso_real *x,
                          const struct iso_em_data *d, struct iso_em_stat *s)
{
	struct chain_work *w = op->work;
	int st = many_before(op, n, x);

	if (!st) st = iso_op_em_steps(w->accs, s, w->outer, first, n, w->mids, d);
	return st ? st : many_after(op, n, acc, x);
}

/* w->scale = P u, and a little more everywhere: it must be above 0 where P leaves nothing. */
static int middle_scale(const iso_op *op, struct chain_work *w, const iso_real *u)
{
	const struct iso_vec *v = op->ctx->vec;
	int64_t n = w->outer->n_in;
	double sum;
	int st;

	if (!w->room.ctx) w->room = iso_room_of(op->ctx, "chain");
	if (!w->scale) ISO_DEVICE(&w->room, w->scale, n);
	if ((st = iso_comm_agree(op->ctx, w->room.status))) return st;
	if ((st = iso_forward(w->acc, w->inner, ISO_ALL, u)) || (st = v->asum(op->ctx, n, &sum, w->acc)))
		return st;
	st = v->fill(op->ctx, n, w->scale, 1e-3 * sum / (double)n);
	return st ? st : v->axpy(op->ctx, n, w->scale, 1, w->acc);
}

/* x' = P x, u' = P u, z' = A*(new - rho) with both; then z = P* z'. */
static int chain_ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep,
                            const iso_real *x, const iso_real *u, const struct iso_em_data *d,
                            struct iso_ratio_stat *s)
{
	struct chain_work *w = op->work;
	int st;

	if ((st = iso_forward(w->mid, w->inner, ISO_ALL, x))) return st;
	if ((st = middle_scale(op, w, u))) return st;
	if ((st = iso_op_ratio_step(w->acc, rho, s, w->outer, sub, keep, w->mid, w->scale, d))) return st;
	return iso_adjoint(z, w->inner, ISO_ALL, w->acc);
}

static struct iso_rows chain_rows(const iso_op *op, int sub)
{
	return iso_op_rows(((const struct chain *)op->data)->outer, sub);
}

static int64_t chain_file_row(const iso_op *op, int64_t row)
{
	const iso_op *outer = ((const struct chain *)op->data)->outer;

	return outer->fn->file_row ? outer->fn->file_row(outer, row) : row;
}

static void chain_close(iso_op *op)
{
	struct chain_work *w = op->work;

	iso_op_free(w->outer);
	iso_op_free(w->inner);
	iso_room_free(&w->room);
}

static int chain_open(iso_op *op)
{
	struct chain *p = op->data;
	struct chain_work *w = op->work;
	int st;

	if ((st = iso_op_clone(&w->outer, p->outer)) || (st = iso_op_clone(&w->inner, p->inner))) return st;
	ISO_DEVICE(&op->room, w->mid, w->outer->n_in);
	ISO_DEVICE(&op->room, w->acc, w->outer->n_in);
	ISO_DEVICE(&op->room, w->back, op->n_in);
	return op->room.status;
}

static void chain_free(iso_op *op)
{
	struct chain *p = op->data;

	iso_op_free(p->outer);
	iso_op_free(p->inner);
}

static const struct iso_op_fn chain_fn = {
	.forward = chain_forward,
	.adjoint = chain_adjoint,
	.em_step = chain_em_step,
	.em_step_many = chain_em_step_many,
	.em_steps = chain_em_steps,
	.forward_many = chain_forward_many,
	.adjoint_many = chain_adjoint_many,
	.ratio_step = chain_ratio_step,
	.rows = chain_rows,
	.file_row = chain_file_row,
	.open = chain_open,
	.close = chain_close,
	.free = chain_free,
	.work = sizeof(struct chain_work),
};

static int make_chain(iso_op **op, iso_op *outer, iso_op *inner)
{
	if (inner->n_out != outer->n_in)
		return iso_fail(ISO_EARG,
		                "chain: the inner one gives %" PRId64 " values, the outer one takes %" PRId64,
		                inner->n_out, outer->n_in);
	if (inner->ctx != outer->ctx)
		return iso_fail(ISO_EARG, "chain: the two operators have different contexts");
	if (inner->n_sub != 1)
		return iso_fail(ISO_EARG, "chain: the inner operator has %d subsets, must have 1",
		                inner->n_sub);
	struct chain *p = size_alloc(1, sizeof *p);

	if (!p) return iso_fail_memory("chain", sizeof *p);
	p->outer = iso_op_keep(outer);
	p->inner = iso_op_keep(inner);
	int st = iso_op_create(op, outer->ctx, &chain_fn, inner->n_in, outer->n_out, outer->n_sub, p);

	if (!st) (*op)->rows_split = outer->rows_split;
	return st;
}

int iso_chain_create(iso_op **op, iso_op *outer, iso_op *inner)
{
	if (!op || !outer || !inner) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_chain(&made, outer, inner);

	return iso_op_agree(op, made, iso_op_ctx(outer), st);
}
