/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields: the operator of several W, their transposes, and where a field folds. Every rank warps the whole
   image. */
#include "warp.h"
#include "pose.h"
#include "core/comm.h"
#include "core/loop/fixed.h"
#include "core/size.h"
#include "core/sized.h"

#include <omp.h>

#define SKEW_MOST 1e-3 /* |R^t R - 1| of a rotation */

struct warp_work {
	struct iso_fixed sum; /* of the adjoint */
};

/* ---- what is refused ---- */

static const char *name_of(const struct iso_warp *p)
{
	return p->name ? p->name : "warp";
}

static struct iso_grid field_grid(const struct iso_warp *p)
{
	static const struct iso_grid none;

	return memcmp(&p->field_grid, &none, sizeof none) == 0 ? p->grid : p->field_grid;
}

static double diagonal(const struct iso_grid *g)
{
	double sum = 0;

	for (int a = 0; a < 3; a++) sum += (double)g->n[a] * g->voxel[a] * (double)g->n[a] * g->voxel[a];
	return sqrt(sum);
}

static int check_field(const struct iso_warp *p)
{
	const struct iso_grid g = field_grid(p);
	const double most = diagonal(&p->grid);

	for (int64_t i = 0; i < iso_grid_voxels(&g); i++) {
		const double x = (double)p->field[3 * i], y = (double)p->field[3 * i + 1],
			     z = (double)p->field[3 * i + 2], length = sqrt(x * x + y * y + z * z);
		int64_t at[3];

		if (length <= most) continue;
		warp_index(at, g.n, i);
		if (!isfinite(length))
			return iso_fail(ISO_EARG,
			                "%s: the displacement is (%g, %g, %g) mm at (iz, iy, ix) = (%" PRId64
			                ", %" PRId64 ", %" PRId64 "), must be finite",
			                name_of(p), x, y, z, at[2], at[1], at[0]);
		return iso_fail(ISO_EARG,
		                "%s: the displacement is %g mm at (iz, iy, ix) = (%" PRId64 ", %" PRId64
		                ", %" PRId64 "), longer than the diagonal of the image's box, %g mm",
		                name_of(p), length, at[2], at[1], at[0], most);
	}
	return ISO_OK;
}

static int check_pose(const struct iso_warp *p)
{
	for (int i = 0; i < 12; i++)
		if (!isfinite(p->pose->m[i]))
			return iso_fail(ISO_EARG, "%s: a pose with %g, must be finite", name_of(p),
			                p->pose->m[i]);
	if (pose_skew(p->pose) > SKEW_MOST || pose_determinant(p->pose) < 0)
		return iso_fail(ISO_EARG,
		                "%s: the pose is no rotation: |R^t R - 1| is %.3g, the determinant %.3g",
		                name_of(p), pose_skew(p->pose), pose_determinant(p->pose));
	return p->field ? iso_fail(ISO_EARG, "%s: a field and a pose exclude each other", name_of(p))
	                : ISO_OK;
}

static int check(const struct iso_warp *p)
{
	const struct iso_grid g = field_grid(p);
	int st = iso_grid_check(&p->grid);

	if (!st && p->pose) return check_pose(p);
	if (st || !p->field || (st = iso_grid_check(&g))) return st;
	return check_field(p);
}

/* ---- the field on the image's grid ---- */

/* Its components at the centres of the image's voxels. */
static void sample_field(iso_real *u, const iso_ctx *ctx, const struct iso_warp *p)
{
	const struct iso_grid *g = &p->grid, *from = &p->field_grid;
	double first[3], step[3];

	for (int a = 0; a < 3; a++) {
		step[a] = g->voxel[a] / from->voxel[a];
		first[a] = (g->centre[a] - .5 * (double)(g->n[a] - 1) * g->voxel[a] - from->centre[a]) /
		                   from->voxel[a] +
		           .5 * (double)(from->n[a] - 1);
	}
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t v = 0; v < iso_grid_voxels(g); v++) {
		int64_t i[3];
		double at[3];

		warp_index(i, g->n, v);
		for (int a = 0; a < 3; a++) at[a] = first[a] + (double)i[a] * step[a];
		for (int c = 0; c < 3; c++) u[3 * v + c] = (iso_real)warp_component(p->field, from->n, at, c);
	}
}

/* w->turn: from voxels to mm, R x + T, and back to voxels. */
static void take_pose(struct warp *w, const struct iso_pose *p)
{
	const struct iso_grid *g = &w->grid;
	double first[3], moved[3]; /* centre of the first voxel, mm, and where the pose has it */

	for (int a = 0; a < 3; a++) first[a] = g->centre[a] - .5 * (double)(g->n[a] - 1) * g->voxel[a];
	iso_pose_apply(moved, p, first);
	for (int a = 0; a < 3; a++) {
		for (int b = 0; b < 3; b++) w->turn[4 * a + b] = p->m[4 * a + b] * g->voxel[b] / g->voxel[a];
		w->turn[4 * a + 3] = (moved[a] - first[a]) / g->voxel[a];
	}
	w->rigid = true;
}

/* The pose, or a copy of the field, which belongs to the room. */
static void take_field(struct warp *w, struct iso_room *room, const iso_ctx *ctx, const struct iso_warp *p)
{
	const struct iso_grid g = field_grid(p);
	const int64_t n = iso_grid_voxels(&p->grid);
	iso_real *u;

	*w = (struct warp){ .grid = p->grid, .mass = p->mass };
	if (p->pose) take_pose(w, p->pose);
	if (!p->field || !ISO_HOST(room, u, 3 * n)) return;
	if (iso_grid_same(&g, &p->grid))
		memcpy(u, p->field, (size_t)(3 * n) * sizeof *u);
	else
		sample_field(u, ctx, p);
	w->u = u;
}

/* ---- the loops ---- */

const struct warp_model *iso_warps_choose(const iso_op *op, int sub)
{
	const struct warps *all = op->data;

	if (sub == ISO_ALL && all->n > 1) {
		(void)iso_fail(ISO_EARG, "warp: one of %d fields must be chosen", all->n);
		return NULL;
	}
	return all->model + (sub == ISO_ALL ? 0 : sub);
}

/* Rows of voxels along x: how many, and the index and number of the first voxel of one. */
static int64_t rows_of(const struct iso_grid *g)
{
	return g->n[1] * g->n[2];
}

static int64_t row_begin(int64_t i[3], const struct iso_grid *g, int64_t row)
{
	i[0] = 0;
	i[1] = row % g->n[1];
	i[2] = row / g->n[1];
	return row * g->n[0];
}

static int apply(const struct warp_model *m, iso_ctx *ctx, iso_real *y, const iso_real *x)
{
	const struct warp *w = &m->w;

	if (warp_is_one(w)) return ctx->vec->copy(ctx, iso_grid_voxels(&w->grid), y, x);
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t row = 0; row < rows_of(&w->grid); row++) {
		int64_t i[3], first = row_begin(i, &w->grid, row);

		for (; i[0] < w->grid.n[0] && !iso_stopped(ctx); i[0]++)
			y[first + i[0]] = (iso_real)warp_sample(w, i, first + i[0], x);
	}
	return iso_ctx_poll(ctx);
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct warp_model *m = iso_warps_choose(op, sub);

	if (!m) return ISO_EARG;
	iso_op_counts(op, "warp", "voxels", op->n_out);
	int st = apply(m, op->ctx, y, x);

	iso_op_count(op, op->n_out);
	return st;
}

/* The eight terms of a voxel. */
static void spread_voxel(struct iso_fixed *sum, const struct warp *w, const int64_t i[3], int64_t voxel,
                         const iso_real *y)
{
	double at[3];

	if (!warp_target(at, w, i, voxel)) return;
	const double factor = warp_factor(w, i, voxel),
		     value = (y ? (double)y[voxel] * factor : fabs(factor)) * sum->scale;
	const struct warp_cell c = warp_cell_of(at, w->grid.n);

	for (int k = 0; k < 8 && (value < 0 || value > 0); k++)
		if (c.weight[k] > 0)
			iso_fixed_add(sum, omp_get_thread_num(), c.voxel[k], c.weight[k] * value);
}

/* sum += W^t y, or |W|^t 1 where y is NULL. */
static void spread(struct iso_fixed *sum, const iso_ctx *ctx, const struct warp *w, const iso_real *y)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t row = 0; row < rows_of(&w->grid); row++) {
		int64_t i[3], first = row_begin(i, &w->grid, row);

		for (; i[0] < w->grid.n[0] && !iso_stopped(ctx); i[0]++)
			spread_voxel(sum, w, i, first + i[0], y);
	}
}

/* The largest magnitude; the same for any number of threads. NaN counts as infinite. */
static double largest(const iso_ctx *ctx, int64_t n, const iso_real *y)
{
	double most = 0;

#pragma omp parallel for num_threads(ctx->threads) reduction(max : most)
	for (int64_t i = 0; i < n; i++) {
		const double v = fabs((double)y[i]);

		most = v <= most ? most : isfinite(v) ? v : INFINITY;
	}
	return most;
}

int iso_warp_check_largest(double most)
{
	if (isfinite(most)) return ISO_OK;
	return iso_fail(ISO_EARG, "warp: the adjoint got a value that is not finite");
}

static int apply_back(const struct warp_model *m, struct iso_fixed *sum, iso_ctx *ctx, iso_real *x,
                      const iso_real *y)
{
	const int64_t n = iso_grid_voxels(&m->w.grid);

	if (warp_is_one(&m->w)) return ctx->vec->copy(ctx, n, x, y);
	const double most = largest(ctx, n, y);
	int st = iso_warp_check_largest(most);

	if (st) return st;
	iso_fixed_begin(sum, ctx, most * m->reach);
	spread(sum, ctx, &m->w, y);
	iso_fixed_end(x, sum, ctx);
	return iso_ctx_poll(ctx);
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct warp_model *m = iso_warps_choose(op, sub);

	if (!m) return ISO_EARG;
	iso_op_counts(op, "warp back", "voxels", op->n_out);
	int st = apply_back(m, &((struct warp_work *)op->work)->sum, op->ctx, x, y);

	iso_op_count(op, op->n_out);
	return st;
}

/* ---- making the operator ---- */

#define ADDITIONS(n) (8. * (double)(n)) /* of an adjoint */

double iso_warp_reach(int64_t most, double scale)
{
	return (double)most / scale * (1 + 1e-6);
}

/* The largest magnitude of a factor, rounded up to a float: CUDA has no atomic maximum of doubles. */
static double largest_factor(const iso_ctx *ctx, const struct warp *w)
{
	float most = 0;

#pragma omp parallel for num_threads(ctx->threads) reduction(max : most)
	for (int64_t row = 0; row < rows_of(&w->grid); row++) {
		int64_t i[3], first = row_begin(i, &w->grid, row);

		for (; i[0] < w->grid.n[0]; i[0]++) {
			const float f = warp_factor_bound(w, i, first + i[0]);

			most = f > most ? f : most;
		}
	}
	return (double)most;
}

/* The largest sum of |W| over a column, to a millionth. A column may have a term of every voxel. */
static int find_reach(struct warp_model *m, struct iso_fixed *sum, const iso_ctx *ctx)
{
	const int64_t n = iso_grid_voxels(&m->w.grid);
	int64_t most = 0;

	iso_fixed_begin(sum, ctx, largest_factor(ctx, &m->w) * (double)n);
	spread(sum, ctx, &m->w, NULL);
#pragma omp parallel for num_threads(ctx->threads) reduction(max : most)
	for (int64_t i = 0; i < n; i++) {
		int64_t all = 0;

		for (int c = 0; c < sum->copies; c++) all += sum->v[c * n + i];
		most = all > most ? all : most;
	}
	m->reach = iso_warp_reach(most, sum->scale);
	return iso_ctx_poll(ctx);
}

/* Of all fields; on a CUDA device iso_warps_to_cuda does it. */
static int find_reaches(struct warps *all, const iso_ctx *ctx)
{
	const int64_t n = iso_grid_voxels(&all->model->w.grid);
	struct iso_fixed sum;
	int st = iso_ctx_is_cuda(ctx) || !all->moves ? ISO_OK : iso_fixed_create(&sum, ctx, n, ADDITIONS(n));

	if (st || iso_ctx_is_cuda(ctx) || !all->moves) return st;
	for (int k = 0; k < all->n && !st; k++)
		if (!warp_is_one(&all->model[k].w)) st = find_reach(&all->model[k], &sum, ctx);
	iso_fixed_free(&sum);
	return st;
}

static int open_warps(iso_op *op)
{
	const struct warps *all = op->data;
	struct warp_work *work = op->work;

	return all->moves ? iso_fixed_create(&work->sum, op->ctx, op->n_in, ADDITIONS(op->n_in)) : ISO_OK;
}

static void close_warps(iso_op *op)
{
	iso_fixed_free(&((struct warp_work *)op->work)->sum);
}

static const struct iso_op_fn warps_fn = {
	.forward = forward,
	.adjoint = adjoint,
	.open = open_warps,
	.close = close_warps,
	.to_cuda = "iso_warps_to_cuda",
	.work = sizeof(struct warp_work),
};

static int take_one(struct warps *all, int k, struct iso_room *room, const struct iso_warp *theirs)
{
	struct warp_model *m = &all->model[k];
	struct iso_warp p;
	int st = iso_sized_take(&p, "iso_warp", sizeof p, theirs);

	if (st || (st = check(&p))) return st;
	take_field(&m->w, room, room->ctx, &p);
	if (!iso_grid_same(&m->w.grid, &all->model->w.grid))
		return iso_fail(ISO_EARG, "%s: the grid of warp %d is not that of warp 0", name_of(&p), k);
	all->moves |= !warp_is_one(&m->w);
	return room->status;
}

static int make_warps(iso_op **op, iso_ctx *ctx, int n, const struct iso_warp *warp)
{
	struct iso_room room = iso_room_of(ctx, "displacement field");
	struct warps *all;
	int st = ISO_OK;

	if (ISO_HOST(&room, all, 1)) ISO_HOST(&room, all->model, n);
	st = room.status;
	if (!st) all->n = n;
	for (int k = 0; k < n && !st; k++) st = take_one(all, k, &room, warp + k);
	if (!st) st = find_reaches(all, ctx);
	if (st) {
		iso_room_free(&room);
		return st;
	}
	const int64_t voxels = iso_grid_voxels(&all->model->w.grid);

	return iso_op_create_in(op, ctx, &warps_fn, voxels, voxels, n, &room, all);
}

int iso_warps_create(iso_op **op, iso_ctx *ctx, int n, const struct iso_warp *warp)
{
	iso_op *made = NULL;
	int st = make_warps(&made, ctx, n, warp);

	return iso_op_agree(op, made, ctx, st);
}

int iso_warp_create(iso_op **op, iso_ctx *ctx, const struct iso_warp *p)
{
	if (!op || !ctx || !p) return iso_fail_null(__func__);
	return iso_warps_create(op, ctx, 1, p);
}

#define FIELDS_SHARE 4 /* of the device's memory that is left: more than a quarter is not for fields */

bool iso_warps_are_sent(const iso_ctx *ctx, int64_t n, int64_t voxels)
{
	int64_t left;

	return iso_ctx_is_cuda(ctx) && n > 1 && iso_ctx_device_left(ctx, &left) == ISO_OK &&
	       3. * (double)n * (double)voxels * sizeof(iso_real) > (double)left / FIELDS_SHARE;
}

void iso_warps_plan(struct iso_plan *plan, const iso_ctx *ctx, int n, const struct iso_warp *warp)
{
	const bool cuda = iso_ctx_is_cuda(ctx);
	const int64_t voxels = iso_grid_voxels(&warp->grid), field = 3 * n * (int64_t)sizeof(iso_real);
	const int copies = cuda ? 1 : iso_fixed_copies(ctx, voxels, ADDITIONS(voxels));

	if (!warp->pose) iso_plan_add(plan, "displacement fields", voxels, field, false);
	if (!warp->pose && iso_warps_are_sent(ctx, n, voxels))
		iso_plan_add(plan, "a displacement field, sent when it is used", voxels, 3 * sizeof(iso_real),
		             true);
	else if (!warp->pose && cuda)
		iso_plan_add(plan, "displacement fields", voxels, field, true);
	iso_plan_add(plan, "sums of the transpose", voxels, copies * (int64_t)sizeof(int64_t), cuda);
}

void iso_warp_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_warp *theirs)
{
	struct iso_warp p;

	if (plan && ctx && theirs && !iso_sized_take(&p, "iso_warp", sizeof p, theirs))
		iso_warps_plan(plan, ctx, 1, &p);
}

/* ---- an image of the host ---- */

int iso_warp_image(iso_real *y, iso_ctx *ctx, const struct iso_warp *p, bool back, const iso_real *x)
{
	if (!y || !ctx || !p || !x) return iso_fail_null(__func__);
	struct iso_room room = iso_room_of(ctx, "warp");
	const struct iso_vec *v = ctx->vec;
	iso_op *op = NULL;
	iso_real *from, *to;
	int st = iso_warp_create(&op, ctx, p);

	if (st) return st;
	ISO_DEVICE(&room, from, op->n_in);
	ISO_DEVICE(&room, to, op->n_in);
	const int64_t bytes = op->n_in * (int64_t)sizeof *x;

	if (!(st = iso_comm_agree(ctx, room.status)) && !(st = v->upload(ctx, from, x, bytes)) &&
	    !(st = (back ? iso_adjoint : iso_forward)(to, op, ISO_ALL, from)))
		st = v->download(ctx, y, to, bytes);
	iso_op_free(op);
	iso_room_free(&room);
	return st;
}

/* ---- folds ---- */

int iso_warp_jacobian(iso_real *det, struct iso_warp_folds *folds, iso_ctx *ctx,
                      const struct iso_warp *theirs)
{
	if (!ctx || !theirs) return iso_fail_null(__func__);
	struct iso_room room = iso_room_of(ctx, "displacement field");
	struct iso_warp_folds found = { .size = sizeof found };
	struct iso_warp p;
	struct warp w;
	double least = INFINITY;
	int64_t voxels = 0;
	int st = iso_sized_take(&p, "iso_warp", sizeof p, theirs);

	if (st || (st = iso_sized_clear(folds, "iso_warp_folds", sizeof found)) || (st = check(&p)))
		return st;
	take_field(&w, &room, ctx, &p);
#pragma omp parallel for num_threads(ctx->threads) reduction(min : least) reduction(+ : voxels)
	for (int64_t i = 0; i < (room.status ? 0 : iso_grid_voxels(&p.grid)); i++) {
		int64_t at[3];

		warp_index(at, w.grid.n, i);
		const double d = w.u ? warp_jacobian(&w, at, i) : 1;

		if (det) det[i] = (iso_real)d;
		voxels += d <= 0;
		least = d < least ? d : least;
	}
	found.voxels = voxels;
	found.least = least;
	if (folds && !room.status) iso_sized_give(folds, sizeof found, &found);
	return iso_room_free(&room);
}
