/* SPDX-License-Identifier: BSD-3-Clause */
/* One image of all gates: y_g = A_g P W_g x. The rows of a gate are one range of each subset of the model, and one gate after
   the other goes through the same images. */
#include "warp.h"
#include "core/comm.h"
#include "core/loop/em_kern.h"
#include "core/size.h"
#include "core/sized.h"

struct gated {
	int gates;
	iso_op *model, *psf; /* the caller's handles; psf: NULL, none */
	struct warp_model *warp;
};

struct gated_work {
	iso_op *model, *psf;
	struct iso_fixed sum;
	iso_real *seen;        /* P W_g x: what the model sees */
	iso_real *warped;      /* W_g x, and on the way back P* of an image */
	iso_real *back, *part; /* of a gate: in the model's axes, and in the image's */
	iso_real *scale;       /* of fixed-point sums; NULL: no step of ratios so far */
	struct iso_room room;  /* of `scale` */
};

/* ---- one gate ---- */

static int into_gate(const iso_op *op, int gate, iso_real *to, const iso_real *x)
{
	const struct gated *m = op->data;
	struct gated_work *w = op->work;

	if (!m->psf) return warp_apply(&m->warp[gate], op->ctx, to, x);
	int st = warp_apply(&m->warp[gate], op->ctx, w->warped, x);

	return st ? st : iso_forward(to, w->psf, ISO_ALL, w->warped);
}

/* x += W_g* P* y, or x = that for the first gate. */
static int out_of_gate(const iso_op *op, int gate, iso_real *x, const iso_real *y)
{
	const struct gated *m = op->data;
	const struct iso_vec *v = op->ctx->vec;
	struct gated_work *w = op->work;
	int st = m->psf ? iso_adjoint(w->warped, w->psf, ISO_ALL, y) : ISO_OK;

	if (st) return st;
	st = warp_apply_back(&m->warp[gate], &w->sum, op->ctx, gate ? w->part : x, m->psf ? w->warped : y);
	return st || gate == 0 ? st : v->axpy(op->ctx, op->n_in, x, 1, w->part);
}

/* Subsets of the operator, those of ISO_ALL too. */
struct stretch {
	int first, end;
};

static struct stretch stretch_of(const iso_op *op, int sub)
{
	return sub == ISO_ALL ? (struct stretch){ 0, op->n_sub } : (struct stretch){ sub, sub + 1 };
}

/* The model's subset of a gate. */
static int part_of(const iso_op *op, int sub, int gate)
{
	return sub * ((const struct gated *)op->data)->gates + gate;
}

/* ---- the operator ---- */

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct stretch s = stretch_of(op, sub);
	struct gated_work *w = op->work;
	int st = ISO_OK;

	for (int g = 0; g < ((const struct gated *)op->data)->gates && !st; g++) {
		st = into_gate(op, g, w->seen, x);
		for (int k = s.first; k < s.end && !st; k++)
			st = iso_forward(y, w->model, part_of(op, k, g), w->seen);
	}
	return st;
}

/* back = A_g* y, of all subsets of the stretch. */
static int model_back(const iso_op *op, struct stretch s, int gate, const iso_real *y)
{
	struct gated_work *w = op->work;
	int st = iso_adjoint(w->back, w->model, part_of(op, s.first, gate), y);

	for (int k = s.first + 1; k < s.end && !st; k++)
		if (!(st = iso_adjoint(w->seen, w->model, part_of(op, k, gate), y)))
			st = op->ctx->vec->axpy(op->ctx, op->n_in, w->back, 1, w->seen);
	return st;
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct stretch s = stretch_of(op, sub);
	struct gated_work *w = op->work;
	int st = ISO_OK;

	for (int g = 0; g < ((const struct gated *)op->data)->gates && !st; g++)
		if (!(st = model_back(op, s, g, y))) st = out_of_gate(op, g, x, w->back);
	return st;
}

/* x' = P W_g x, back = A_g*(y / (A_g x' + a)), which the model gives times x'; acc = x sum W_g* P* back. */
static int em_gate(const iso_op *op, struct stretch s, int gate, const struct iso_em_data *d,
                   struct iso_em_stat *stat)
{
	const struct iso_vec *v = op->ctx->vec;
	struct gated_work *w = op->work;
	int st = ISO_OK;

	for (int k = s.first; k < s.end && !st; k++) {
		iso_real *to = k == s.first ? w->back : w->part;
		struct iso_em_stat one = { 0 };

		st = iso_op_em_step(to, &one, w->model, part_of(op, k, gate), w->seen, d);
		em_stat_add(stat, &one);
		if (!st && k > s.first) st = v->axpy(op->ctx, op->n_in, w->back, 1, w->part);
	}
	return st ? st : v->div(op->ctx, op->n_in, w->back, w->back, w->seen);
}

static int em_step(const iso_op *op, int sub, iso_real *acc, const iso_real *x, const struct iso_em_data *d,
                   struct iso_em_stat *stat)
{
	const struct stretch s = stretch_of(op, sub);
	struct iso_em_stat sum = { 0 };
	struct gated_work *w = op->work;
	int st = ISO_OK;

	for (int g = 0; g < ((const struct gated *)op->data)->gates && !st; g++)
		if (!(st = into_gate(op, g, w->seen, x)) && !(st = em_gate(op, s, g, d, &sum)))
			st = out_of_gate(op, g, acc, w->back);
	*stat = sum;
	return st ? st : op->ctx->vec->mul(op->ctx, op->n_in, acc, acc, x);
}

/* scale = P W_g u, and a little more everywhere: it must be above 0 where nothing is left. */
static int gate_scale(const iso_op *op, int gate, const iso_real *u)
{
	const struct iso_vec *v = op->ctx->vec;
	struct gated_work *w = op->work;
	double sum = 0;
	int st;

	if (!w->scale) {
		w->room = iso_room_of(op->ctx, "gates");
		ISO_DEVICE(&w->room, w->scale, op->n_in);
	}
	if ((st = iso_comm_agree(op->ctx, w->room.status)) || (st = into_gate(op, gate, w->back, u)) ||
	    (st = v->asum(op->ctx, op->n_in, &sum, w->back)))
		return st;
	st = v->fill(op->ctx, op->n_in, w->scale, 1e-3 * sum / (double)op->n_in);
	return st ? st : v->axpy(op->ctx, op->n_in, w->scale, 1, w->back);
}

static int ratio_gate(const iso_op *op, struct stretch s, int gate, iso_real *rho, bool keep,
                      const struct iso_em_data *d, struct iso_ratio_stat *stat)
{
	struct gated_work *w = op->work;
	int st = ISO_OK;

	for (int k = s.first; k < s.end && !st; k++) {
		struct iso_ratio_stat one = { 0 };

		st = iso_op_ratio_step(k == s.first ? w->back : w->part, rho, &one, w->model,
		                       part_of(op, k, gate), keep, w->seen, w->scale, d);
		em_stat_add(&stat->em, &one.em);
		stat->cut += one.cut;
		if (!st && k > s.first) st = op->ctx->vec->axpy(op->ctx, op->n_in, w->back, 1, w->part);
	}
	return st;
}

static int ratio_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                      const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *stat)
{
	const struct stretch s = stretch_of(op, sub);
	struct iso_ratio_stat sum = { 0 };
	struct gated_work *w = op->work;
	int st = ISO_OK;

	for (int g = 0; g < ((const struct gated *)op->data)->gates && !st; g++)
		if (!(st = gate_scale(op, g, u)) && !(st = into_gate(op, g, w->seen, x)) &&
		    !(st = ratio_gate(op, s, g, rho, keep, d, &sum)))
			st = out_of_gate(op, g, z, w->back);
	*stat = sum;
	return st;
}

static struct iso_rows rows(const iso_op *op, int sub)
{
	const struct gated *m = op->data;
	const struct iso_rows first = iso_op_rows(m->model, part_of(op, sub, 0)),
			      last = iso_op_rows(m->model, part_of(op, sub, m->gates - 1));

	return (struct iso_rows){ first.first, last.first + last.n - first.first };
}

static int64_t file_row(const iso_op *op, int64_t row)
{
	const iso_op *model = ((const struct gated *)op->data)->model;

	return model->fn->file_row ? model->fn->file_row(model, row) : row;
}

/* ---- making it ---- */

static int open_gated(iso_op *op)
{
	struct gated *m = op->data;
	struct gated_work *w = op->work;
	int st = iso_op_clone(&w->model, m->model);

	if (!st && m->psf) st = iso_op_clone(&w->psf, m->psf);
	if (!st) st = warp_sum_create(&w->sum, op->ctx, &m->warp[0].w.grid);
	if (st) return st;
	ISO_DEVICE(&op->room, w->seen, op->n_in);
	if (m->psf) ISO_DEVICE(&op->room, w->warped, op->n_in);
	ISO_DEVICE(&op->room, w->back, op->n_in);
	ISO_DEVICE(&op->room, w->part, op->n_in);
	return op->room.status;
}

static void close_gated(iso_op *op)
{
	struct gated_work *w = op->work;

	iso_op_free(w->model);
	iso_op_free(w->psf);
	iso_fixed_free(&w->sum);
	iso_room_free(&w->room);
}

static void free_gated(iso_op *op)
{
	struct gated *m = op->data;

	iso_op_free(m->model);
	iso_op_free(m->psf);
}

static const struct iso_op_fn gated_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.em_step = em_step,
	.ratio_step = ratio_step,
	.rows = rows,
	.file_row = file_row,
	.open = open_gated,
	.close = close_gated,
	.free = free_gated,
	.work = sizeof(struct gated_work),
};

static int check(const iso_op *model, const struct iso_gated *p)
{
	int64_t n = model->n_in;

	if (p->gates < 1 || !p->warp)
		return iso_fail(ISO_EARG, "gates: %d gates, must be at least 1, with a warp each", p->gates);
	if (model->n_sub % p->gates)
		return iso_fail(ISO_EARG, "gates: the model has %d subsets, must be a multiple of %d gates",
		                model->n_sub, p->gates);
	for (int g = 0; g < p->gates; g++)
		if (iso_grid_voxels(&p->warp[g].grid) != n)
			return iso_fail(ISO_EARG,
			                "gates: the warp of gate %d has %" PRId64
			                " voxels, the model's image %" PRId64,
			                g, iso_grid_voxels(&p->warp[g].grid), n);
	if (p->psf && (p->psf->n_in != n || p->psf->n_out != n || p->psf->ctx != model->ctx))
		return iso_fail(ISO_EARG, "gates: the point spread function is of another image or context");
	return ISO_OK;
}

static int make_gated(iso_op **op, iso_op *model, const struct iso_gated *theirs)
{
	struct iso_room room = iso_room_of(model->ctx, "gates");
	struct iso_gated p;
	struct gated *m;
	int st = iso_sized_take(&p, "iso_gated", sizeof p, theirs);

	if (st || (st = check(model, &p))) return st;
	if (ISO_HOST(&room, m, 1)) ISO_HOST(&room, m->warp, p.gates);
	for (int g = 0; g < p.gates && !room.status; g++)
		room.status = warp_model_make(&m->warp[g], &room, &p.warp[g]);
	if (!room.status) {
		m->gates = p.gates;
		m->model = iso_op_keep(model);
		m->psf = p.psf ? iso_op_keep(p.psf) : NULL;
	}
	st = iso_op_create_in(op, model->ctx, &gated_fn, model->n_in, model->n_out, model->n_sub / p.gates,
	                      &room, m);
	if (!st) (*op)->rows_split = model->rows_split;
	return st;
}

int iso_gated_create(iso_op **op, iso_op *model, const struct iso_gated *p)
{
	if (!op || !model || !p) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_gated(&made, model, p);

	return iso_op_agree(op, made, iso_op_ctx(model), st);
}

void iso_gated_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_gated *theirs)
{
	struct iso_gated p;

	if (!plan || !ctx || !theirs || iso_sized_take(&p, "iso_gated", sizeof p, theirs) || p.gates < 1 ||
	    !p.warp)
		return;
	const int64_t n = iso_grid_voxels(&p.warp[0].grid);

	iso_plan_add(plan, "displacement fields of the gates", n, p.gates * 3 * (int64_t)sizeof(iso_real),
	             false);
	iso_plan_add(plan, "image in a gate, and back", n, 5 * sizeof(iso_real), false);
	iso_plan_add(plan, "sums of the transpose", n, warp_sum_bytes(ctx, &p.warp[0].grid), false);
}
