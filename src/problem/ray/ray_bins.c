/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms that list all lines that could have been measured: their sensitivity is the back-projection of the factors
   of their own lines, with time of flight where they have it, not of the scanner's crystal pairs. */
#include "model_ray.h"

#include "core/op.h"
#include "core/loop/order.h"
#include "core/size.h"
#include "io/events.h"

#include <stdio.h>

enum { BLOCK = 1 << 20 }; /* lines that are read and traced at a time, of those that stay on disk */

int ray_lists_all(struct ray_problem *ray, bool *all)
{
	iso_event_file *f;
	int st = ray_file(ray, &f, false);

	if (f) *all = iso_event_file_info(f)->lists_all;
	return st;
}

/* Factors of lines, in place of those that `mult` has: without decay and live time, which scale the sensitivity of a
   frame later. */
static int settle(struct ray_problem *ray, const struct iso_events *lines, iso_real *mult)
{
	double scale = 1 / ray->frame.factor;
	int st = ray->precorrected ? ISO_OK : ray_attenuate(ray, lines, NULL, mult, NULL);

	for (int64_t i = 0; i < lines->n && !st; i++) mult[i] = (iso_real)((double)mult[i] * scale);
	return st;
}

/* x_k = A_k* m of each subset of the operator, m in the order of its rows. */
static int back_project(const iso_ctx *ctx, iso_real *parts, iso_op *op, const iso_real *mult)
{
	const struct iso_vec *v = iso_ctx_vec(ctx);
	int64_t voxels = iso_op_n_in(op), n = iso_op_n_out(op);
	struct iso_room room = iso_room_of(op->ctx, "factors of lines");
	iso_real *x, *y;

	ISO_DEVICE(&room, x, voxels);
	ISO_HOST(&room, y, n);
	if (y) iso_op_sort(y, op, mult);
	ISO_MOVE(&room, y, n);
	int st = room.status;

	for (int k = 0; k < iso_op_n_sub(op) && !st; k++)
		if (!(st = iso_adjoint(x, op, k, y)))
			st = v->download(op->ctx, parts + k * voxels, x, voxels * (int64_t)sizeof *x);
	iso_room_free(&room);
	return st;
}

static int tell(struct ray_problem *ray)
{
	record_tell(ray->p->record, ISO_DETAIL, "sensitivity from the %" PRId64 " lines of %s", ray->n,
	            ray->events);
	return record_result(ray->p->record, "sensitivity",
	                     record_pack("{s:I}", "lines", (json_int_t)ray->n));
}

static int of_rows(struct ray_problem *ray, iso_real *parts, iso_op *op)
{
	struct ray_part p = { &ray->now, ray->number, ray->factors.v, NULL };
	iso_real *mult = NULL;
	int st = model_vector(&mult, ray->now.n, "factors");

	if (!st) st = ray_fill(ray, &p, NULL, mult, NULL);
	if (!st) st = settle(ray, &ray->now, mult);
	if (!st) st = back_project(ray->p->ctx, parts, op, mult);
	free(mult);
	return st;
}

/* ---- lines that stay on disk ---- */

/* A pass over the file, block by block. */
struct pass {
	struct ray_problem *ray;
	struct iso_order order;        /* which subset a line is of */
	iso_real *parts;               /* an image of each */
	iso_real *x;                   /* an image */
	struct iso_events block, some; /* some: those of a subset */
};

/* parts[k] += the back-projection of the lines of subset k, from number `first` of the file on. */
static int add_subset(struct pass *s, int k, int64_t first)
{
	struct ray_problem *ray = s->ray;
	struct iso_ray p = ray_parameters(ray, &(const struct model_subsets){ .n = 1 });
	int64_t voxels = iso_grid_voxels(&ray->grid);
	struct iso_events *e = &s->some;
	iso_op *op = NULL;

	e->n = 0;
	for (int64_t j = 0; j < s->block.n; j++)
		if (order_subset(&s->order, order_row(&s->order, first + j)) == k) {
			e->v[e->n] = s->block.v[j];
			e->mult[e->n++] = s->block.mult[j];
		}
	int64_t here = e->n;
	int st = iso_comm_sum(ray->p->ctx, ISO_OK, &here, 1);

	if (st || here == 0) return st;
	if (!(st = iso_ray_create(&op, ray->p->ctx, &p, e)) &&
	    !(st = back_project(ray->p->ctx, s->x, op, e->mult)))
		for (int64_t i = 0; i < voxels; i++) s->parts[k * voxels + i] += s->x[i];
	iso_op_free(op);
	return st;
}

/* In each step every rank has a block, or an empty one. */
static int add_blocks(struct pass *s)
{
	struct ray_problem *ray = s->ray;
	iso_ctx *ctx = ray->p->ctx;
	int64_t each = ray->n < BLOCK ? ray->n : BLOCK, step = each * iso_ranks(ctx);
	struct iso_clock clock = iso_clock_start_of(ctx, "sensitivity", "bins", 0, ray->n);
	int st = ISO_OK;

	for (int64_t i = 0; i < ray->n && !st; i += step) {
		int64_t first = i + each * iso_rank(ctx), left = ray->n - first,
			m = left < each ? left : each;

		s->block.n = 0;
		if (m > 0 && !(st = ray_disk_factors(ray, &s->block, first, m)))
			st = settle(ray, &s->block, s->block.mult);
		st = iso_comm_agree(ctx, st ? st : iso_ctx_poll(ctx));
		for (int k = 0; k < s->order.n_sub && !st; k++) st = add_subset(s, k, first);
		if (!st) iso_clock_step(&clock, i + step < ray->n ? i + step : ray->n, NULL);
	}
	return st;
}

static int of_disk(struct ray_problem *ray, iso_real *parts, struct iso_order order)
{
	int64_t voxels = iso_grid_voxels(&ray->grid), n = ray->n < BLOCK ? ray->n : BLOCK;
	struct iso_room room = { .ctx = ray->p->ctx, .what = "sensitivity" };
	struct pass s = { .ray = ray, .order = order, .parts = parts };

	ISO_HOST(&room, s.x, voxels);
	ISO_HOST(&room, s.block.v, n);
	ISO_HOST(&room, s.block.mult, n);
	ISO_HOST(&room, s.block.count, n);
	ISO_HOST(&room, s.some.v, n);
	ISO_HOST(&room, s.some.mult, n);
	memset(parts, 0, (size_t)(order.n_sub * voxels) * sizeof *parts);
	int st = room.status ? room.status : add_blocks(&s);

	iso_room_free(&room);
	return st;
}

/* The operator of lines on disk has no adjoint; that of lines in memory holds the PSF. */
static int of_disk_blurred(struct ray_problem *ray, iso_real *parts, int subsets)
{
	const struct model_subsets *by = &ray->p->s.by;
	struct iso_order order = { .n = ray->n, .n_sub = subsets, .rule = by->rule, .seed = by->seed };
	struct iso_array a = {
		.n_dim = 3, .n = iso_grid_voxels(&ray->grid), .has_grid = true, .grid = ray->grid
	};
	int st = of_disk(ray, parts, order);

	for (int k = 0; k < subsets && !st; k++) {
		a.v = parts + k * a.n;
		st = problem_blur_sens(ray->p, &a);
	}
	return st;
}

int ray_bins_of_subsets(iso_problem *problem, iso_real *parts, iso_op *op)
{
	struct ray_problem *ray = problem->self;
	int st = ray->disk ? of_disk_blurred(ray, parts, iso_op_n_sub(op)) : of_rows(ray, parts, op);

	return st ? st : tell(ray);
}

/* ---- of all lines, without the PSF ---- */

static int of_memory(struct ray_problem *ray, iso_real *s)
{
	iso_op *op = NULL;
	int st = ray->p->m->op(ray->p, &op, &(const struct model_subsets){ .n = 1 });

	if (!st) st = of_rows(ray, s, op);
	iso_op_free(op);
	return st;
}

int ray_bins_sens(struct ray_problem *ray, struct iso_array *s)
{
	int st = iso_array_on_grid(s, &ray->grid);

	if (st) return st;
	snprintf(s->unit, sizeof s->unit, "mm");
	st = ray->disk ? of_disk(ray, s->v, (struct iso_order){ .n = ray->n, .n_sub = 1 })
	               : of_memory(ray, s->v);
	return st ? st : tell(ray);
}

void ray_bins_plan(struct ray_problem *ray, struct iso_plan *plan)
{
	struct iso_ray p = ray_parameters(ray, &(const struct model_subsets){ .n = 1 });
	int64_t n = ray->n < BLOCK ? ray->n : BLOCK;

	if (!ray->disk) return;
	iso_plan_add(plan, "sensitivity of a block", iso_grid_voxels(&ray->grid), sizeof(iso_real), false);
	iso_plan_add(plan, "lines of a block", n, 2 * sizeof(struct iso_event) + 3 * sizeof(iso_real), false);
	iso_ray_plan(plan, ray->p->ctx, &p, n);
}
