/* SPDX-License-Identifier: BSD-3-Clause */
/* Table 2 of Van Gendt 2021: the baseline MLEM without sensitivity, 20 iterations, on three image
   sizes, by programs from the plainest to Isotome's own. */
#include "reproduce_vangendt.h"

#include "core/progress.h"
#include "core/size.h"
#include "papers/ladder/ray_ladder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BOX_MM 512. /* edge of the image */

const int vangendt_edge[VANGENDT_SIZES] = { 32, 128, 512 };

static const struct iso_ring ring = { 330, 200, 0, 1 };

/* A program of the table: a step of the ladder, or (step < 0) the model ray. */
struct program {
	const char *name, *numbers;
	int step;
	bool wide, cuda, one_thread;
};

static const struct program programs[] = {
	{ "scalar loop", "float32", ISO_LADDER_SCALAR, false, false, true },
	{ "Isotome, one thread", "float32", -1, false, false, true },
	{ "Isotome, all threads", "float32", -1, false, false, false },
	{ "basic", "float64", ISO_LADDER_BASIC, true, true, false },
	{ "basic", "float32", ISO_LADDER_BASIC, false, true, false },
	{ "+ tile-major image", "float64", ISO_LADDER_TILES, true, true, false },
	{ "+ tile-major image", "float32", ISO_LADDER_TILES, false, true, false },
	{ "+ event in shared memory", "float64", ISO_LADDER_SHARED, true, true, false },
	{ "+ event in shared memory", "float32", ISO_LADDER_SHARED, false, true, false },
	{ "+ block reduction", "float64", ISO_LADDER_REDUCED, true, true, false },
	{ "+ block reduction", "float32", ISO_LADDER_REDUCED, false, true, false },
	{ "+ launch shape", "float64", ISO_LADDER_SHAPED, true, true, false },
	{ "+ launch shape", "float32", ISO_LADDER_SHAPED, false, true, false },
	{ "Isotome", "float32", -1, false, true, false },
};

#define N_PROGRAMS ((int)(sizeof programs / sizeof programs[0]))

static iso_ctx *context_of(const struct vangendt *v, const struct program *p)
{
	return p->cuda ? v->cuda : p->one_thread ? v->one : v->cpu;
}

/* ---- one run ---- */

/* image = image x corr is x = acc with a sensitivity of 1. */
static int iterate(iso_op *op, iso_real *x, iso_real *acc, int iterations)
{
	iso_ctx *ctx = iso_op_ctx(op);
	struct iso_em_stat stat;
	int st = ISO_OK;

	for (int it = 0; it < iterations && !st; it++)
		if (!(st = iso_em_step(op, 0, acc, x, &(struct iso_em_data){ 0 }, &stat)))
			st = iso_ctx_vec(ctx)->copy(ctx, iso_op_n_in(op), x, acc);
	return st;
}

static int run_model(iso_real *host, struct iso_ladder_time *time, iso_ctx *ctx, const struct iso_grid *grid,
                     int iterations, const struct iso_events *e)
{
	const struct iso_ray ray = { .size = sizeof ray, .grid = *grid, .n_sub = 1 };
	const struct iso_vec *v = iso_ctx_vec(ctx);
	int64_t bytes = iso_grid_voxels(grid) * (int64_t)sizeof *host;
	double began_s = iso_now_s(), start_s;
	void *x = NULL, *acc = NULL;
	iso_op *op = NULL;
	int st;

	if ((st = iso_ray_create(&op, ctx, &ray, e))) goto done;
	if ((st = v->alloc(ctx, &x, bytes))) goto done;
	if ((st = v->alloc(ctx, &acc, bytes))) goto done;
	if ((st = v->upload(ctx, x, host, bytes))) goto done;
	start_s = iso_now_s();
	if ((st = iterate(op, x, acc, iterations))) goto done;
	time->iterations_s = iso_now_s() - start_s;
	if ((st = v->download(ctx, host, x, bytes))) goto done;
	time->total_s = iso_now_s() - began_s;
	time->threads = iso_ctx_is_cuda(ctx) ? 0 : iso_ctx_threads(ctx);
done:
	iso_op_free(op);
	v->free(ctx, x);
	v->free(ctx, acc);
	return st;
}

/* What would not fit is not tried: the system might stop the program instead of refusing. */
static int check_memory(const iso_ctx *ctx, const struct program *p, const struct iso_grid *grid,
                        int64_t events)
{
	const struct iso_ray ray = { .size = sizeof ray, .grid = *grid, .n_sub = 1 };
	struct iso_plan plan = { 0 };

	iso_plan_add(&plan, "images", iso_grid_voxels(grid), 3 * sizeof(iso_real), false);
	if (p->step < 0) iso_ray_plan(&plan, ctx, &ray, events);
	int st = iso_plan_check(&plan, ctx);

	iso_plan_free(&plan);
	return st;
}

static int run_once(struct iso_ladder_time *time, const struct vangendt *v, const struct program *p,
                    const struct iso_grid *grid, int iterations, const struct iso_events *e)
{
	const struct iso_ladder ladder = { *grid, p->step < 0 ? 0 : (enum iso_ladder_step)p->step, p->wide,
		                           iterations };
	int64_t n = iso_grid_voxels(grid);
	iso_real *x = size_alloc(n, sizeof *x);
	int st;

	if (!x) return iso_fail_memory("reproduce", n * (int64_t)sizeof *x);
	for (int64_t i = 0; i < n; i++) x[i] = 1;
	st = p->step < 0 ? run_model(x, time, context_of(v, p), grid, iterations, e)
	                 : iso_ladder_run(x, time, context_of(v, p), &ladder, e);
	free(x);
	return st;
}

/* ---- one cell ---- */

/* How many iterations to run, if one takes so long. */
static int affordable(const struct vangendt *v, const struct program *p, double one_s)
{
	double n = floor(v->scale->budget_s / one_s);

	return p->cuda ? VANGENDT_LADDER_ITERATIONS : (int)fmin(fmax(n, 1), VANGENDT_LADDER_ITERATIONS);
}

/* One iteration of warm-up, then the run. What took part of the iterations is scaled up to all. */
static int measure(struct vangendt_cell *cell, int *threads, const struct vangendt *v,
                   const struct program *p, const struct iso_grid *grid, const struct iso_events *e)
{
	struct iso_ladder_time time;
	int st = run_once(&time, v, p, grid, 1, e);

	if (st) return st;
	cell->ran = affordable(v, p, time.iterations_s);
	if (cell->ran > 1 && (st = run_once(&time, v, p, grid, cell->ran, e))) return st;
	cell->seconds =
		time.total_s - time.iterations_s + time.iterations_s * VANGENDT_LADDER_ITERATIONS / cell->ran;
	*threads = time.threads;
	return ISO_OK;
}

/* Too little memory for one cell does not end the table. */
static int fill_cell(struct vangendt_rung *r, int size, const struct vangendt *v, const struct program *p,
                     const struct iso_events *e)
{
	struct vangendt_cell *cell = &r->cell[size];
	int edge = vangendt_edge[size], st;
	double voxel = BOX_MM / edge;
	const struct iso_grid grid = { { edge, edge, edge }, { voxel, voxel, voxel }, { 0 } };

	cell->seconds = NAN;
	if (p->cuda && !v->cuda) {
		snprintf(cell->why, sizeof cell->why, VANGENDT_NOT_CUDA);
		return ISO_OK;
	}
	if (size >= v->scale->sizes) {
		snprintf(cell->why, sizeof cell->why, "not at scale %s", v->scale->name);
		return ISO_OK;
	}
	if (!(st = check_memory(context_of(v, p), p, &grid, e->n)))
		st = measure(cell, &r->threads[size], v, p, &grid, e);
	if (st == ISO_ENOMEM) {
		snprintf(cell->why, sizeof cell->why, "%s", iso_message());
		cell->seconds = NAN;
		return ISO_OK;
	}
	return st;
}

static void name_device(struct vangendt_rung *r, const struct vangendt *v, const struct program *p)
{
	if (p->cuda)
		snprintf(r->device, sizeof r->device, "%.60s",
		         v->cuda ? iso_ctx_device_name(v->cuda) : "CUDA");
	else
		snprintf(r->device, sizeof r->device, "CPU, %s", iso_ctx_device_name(context_of(v, p)));
}

static int run_table(struct vangendt *v, const struct iso_events *e)
{
	struct iso_clock clock = iso_clock_start(v->c->ctx, "table 2", 0, N_PROGRAMS * VANGENDT_SIZES);
	int st = ISO_OK;

	for (int i = 0; i < N_PROGRAMS && !st; i++) {
		struct vangendt_rung *r = &v->rung[v->n_rungs++];

		r->program = programs[i].name;
		r->numbers = programs[i].numbers;
		r->cuda = programs[i].cuda;
		name_device(r, v, &programs[i]);
		for (int size = 0; size < VANGENDT_SIZES && !st; size++) {
			st = fill_cell(r, size, v, &programs[i], e);
			if (!st) st = vangendt_poll(v);
			iso_clock_step(&clock, i * VANGENDT_SIZES + size + 1, NULL);
		}
	}
	return st;
}

int vangendt_ladder(struct vangendt *v)
{
	struct iso_events e = { .n = (int64_t)v->scale->ladder_events };
	int st;

	if (!(e.v = size_alloc(e.n, sizeof *e.v)))
		return iso_fail_memory("reproduce", e.n * (int64_t)sizeof *e.v);
	st = iso_ring_events(e.v, v->cpu, &ring, 0, e.n);
	if (!st) st = run_table(v, &e);
	iso_events_free(&e);
	return st;
}
