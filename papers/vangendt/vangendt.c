/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Van Gendt 2021 in turn, and Table 2: the baseline MLEM without sensitivity, 20
   iterations, on three image sizes, by programs from the plainest to Isotome's own. */
#include "vangendt.h"

#include "bench/ladder.h"

#include <stdio.h>
#include <stdlib.h>

static const char template[] =
#include "embedded/vangendt.html.h"
	;

#define BOX_MM 512. /* edge of the image of Table 2 */

enum { SIZES = 3, ITERATIONS = 20 };

static const int edges[SIZES] = { 32, 128, 512 }; /* voxels */

static const struct iso_ring ring = { 330, 200, 0, 1 };

static const struct vangendt_scale scales[] = {
	/* in the order of enum study_scale */
	{ 2000, 20000, 2e5, 2, .05, 16 },
	{ 1e5, 3e6, 2e7, 3, 3, 4 },
	{ 1e6, 1e7, 5e8, 3, 15, 4 },
};

static const char outputs[] =
	"truth.nii mu.nii baseline.nii sensitivity.nii osem.nii attenuation.nii precorrected.nii "
	"tof.nii median.nii all.nii";

json_t *vangendt_cell_json(const struct vangendt_cell *c)
{
	json_t *cell = isnan(c->seconds)
	                       ? json_pack("{s:n, s:s}", "seconds", "not_measured", c->why)
	                       : record_pack("{s:f, s:i}", "seconds", c->seconds, "iterations_run", c->ran);

	if (c->threads) json_object_set_new(cell, "threads", json_integer(c->threads));
	return cell;
}

/* ---- Table 2 ---- */

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
	return p->cuda ? v->s.cuda : p->one_thread ? v->one : v->s.cpu;
}

/* image = image x corr is x = acc with a sensitivity of 1. */
static int run_model(iso_real *host, struct iso_ladder_time *time, iso_ctx *ctx, const struct iso_grid *grid,
                     int iterations, const struct iso_events *e)
{
	const struct iso_ray ray = { .size = sizeof ray, .grid = *grid, .n_sub = 1 };
	const int64_t n = iso_grid_voxels(grid);
	struct iso_room room = iso_room_of(ctx, "reproduce");
	double began_s = iso_now_s(), start_s;
	struct iso_em_stat stat;
	iso_real *x, *acc;
	iso_op *op = NULL;
	int st;

	if ((st = iso_ray_create(&op, ctx, &ray, e))) goto done;
	ISO_UPLOAD(&room, x, host, n);
	ISO_DEVICE(&room, acc, n);
	if ((st = room.status)) goto done;
	start_s = iso_now_s();
	for (int it = 0; it < iterations && !st; it++)
		if (!(st = iso_op_em_step(acc, &stat, op, 0, x, &(struct iso_em_data){ 0 })))
			st = iso_ctx_vec(ctx)->copy(ctx, n, x, acc);
	if (st) goto done;
	time->iterations_s = iso_now_s() - start_s;
	st = iso_ctx_vec(ctx)->download(ctx, host, x, n * (int64_t)sizeof *host);
	time->total_s = iso_now_s() - began_s;
	time->threads = iso_ctx_is_cuda(ctx) ? 0 : iso_ctx_threads(ctx);
done:
	iso_op_free(op);
	iso_room_free(&room);
	return st;
}

/* What would not fit is not tried: the system might stop the program instead of refusing. */
static int check_memory(const iso_ctx *ctx, const struct program *p, const struct iso_grid *grid, int64_t n)
{
	const struct iso_ray ray = { .size = sizeof ray, .grid = *grid, .n_sub = 1 };
	struct iso_plan plan = { 0 };

	iso_plan_add(&plan, "images", iso_grid_voxels(grid), 3 * sizeof(iso_real), false);
	if (p->step < 0) iso_ray_plan(&plan, ctx, &ray, n);
	int st = iso_plan_check(ctx, &plan);

	iso_plan_free(&plan);
	return st;
}

static int run_once(struct iso_ladder_time *time, const struct vangendt *v, const struct program *p,
                    const struct iso_grid *grid, int iterations, const struct iso_events *e)
{
	const struct iso_ladder ladder = { *grid, (enum iso_ladder_step)p->step, p->wide, iterations };
	int64_t n = iso_grid_voxels(grid);
	iso_real *x;
	int st = STUDY_NEW(x, n);

	for (int64_t i = 0; i < n && !st; i++) x[i] = 1;
	if (!st)
		st = p->step < 0 ? run_model(x, time, context_of(v, p), grid, iterations, e)
		                 : iso_ladder_run(x, time, context_of(v, p), &ladder, e);
	free(x);
	return st;
}

/* One iteration of warm-up, then the run; on the CPU as many iterations as can be afforded. What took
   part of the iterations is scaled up to all. */
static int measure(struct vangendt_cell *cell, const struct vangendt *v, const struct program *p,
                   const struct iso_grid *grid, const struct iso_events *e)
{
	struct iso_ladder_time time;
	int st = run_once(&time, v, p, grid, 1, e);

	if (st) return st;
	cell->ran = p->cuda ? ITERATIONS
	                    : (int)fmin(fmax(floor(v->scale->budget_s / time.iterations_s), 1), ITERATIONS);
	if (cell->ran > 1 && (st = run_once(&time, v, p, grid, cell->ran, e))) return st;
	cell->seconds = time.total_s - time.iterations_s + time.iterations_s * ITERATIONS / cell->ran;
	cell->threads = time.threads;
	return ISO_OK;
}

/* Too little memory for one cell does not end the table. */
static int fill_cell(struct vangendt_cell *cell, int size, const struct vangendt *v, const struct program *p,
                     const struct iso_events *e)
{
	const int64_t n = edges[size];
	const double voxel = BOX_MM / (double)n;
	const struct iso_grid grid = { { n, n, n }, { voxel, voxel, voxel }, { 0 } };
	const char *small = size < v->scale->sizes ? NULL : "not at scale tiny";
	const char *why = p->cuda && !v->s.cuda ? "no CUDA device" : small;
	int st = why ? ISO_OK : check_memory(context_of(v, p), p, &grid, e->n);

	if (!why && !st) st = measure(cell, v, p, &grid, e);
	if (!why && st != ISO_ENOMEM) return st;
	*cell = (struct vangendt_cell){ .seconds = NAN };
	snprintf(cell->why, sizeof cell->why, "%s", why ? why : iso_message());
	return ISO_OK;
}

/* A row of the results, and one of the page, with speed-ups over the first program. */
static int run_program(struct vangendt *v, json_t *rows, double first[SIZES], const struct program *p,
                       const struct iso_events *e, const struct iso_clock *clock)
{
	const char *device =
		p->cuda ? study_text("%.60s", v->s.cuda ? iso_ctx_device_name(v->s.cuda) : "CUDA")
			: study_text("CPU, %s", iso_ctx_device_name(context_of(v, p)));
	json_t *row = json_pack("{s:s, s:s, s:o}", "program", p->name, "numbers", p->numbers, "device",
	                        record_string(device));
	json_t *shown = json_array();
	int st = ISO_OK;

	for (int size = 0; size < SIZES && !st; size++) {
		const char *edge = study_text("%d", edges[size]);
		struct vangendt_cell cell = { 0 };

		if (!(st = fill_cell(&cell, size, v, p, e))) st = study_poll(&v->s);
		if (p == programs) first[size] = cell.seconds;
		json_object_set_new(row, edge, vangendt_cell_json(&cell));
		json_array_append_new(
			shown, record_pack("[o,o,f]", json_incref(json_object_get(row, edge)),
		                           cell.ran < ITERATIONS ? json_integer(cell.ran) : json_null(),
		                           first[size] / cell.seconds));
		iso_clock_step(clock, (p - programs) * SIZES + size + 1, NULL);
	}
	study_row(&v->s, "rungs", json_pack("[O,o]", row, shown));
	json_array_append_new(rows, row);
	return st;
}

static int ladder(struct vangendt *v)
{
	struct iso_clock clock = iso_clock_start(v->s.c->ctx, "table 2", 0, N_PROGRAMS * SIZES);
	struct iso_events e = { .n = (int64_t)v->scale->ladder_events };
	json_t *rows = json_array();
	double first[SIZES];
	int st = STUDY_NEW(e.v, e.n);

	if (!st) st = iso_ctx_create(&v->one, "cpu", 1);
	if (!st) st = iso_ring_events(e.v, v->s.cpu, &ring, 0, e.n);
	for (int i = 0; i < N_PROGRAMS && !st; i++)
		st = run_program(v, rows, first, &programs[i], &e, &clock);
	study_show(&v->s, "ladder_events", json_integer(e.n));
	study_result(&v->s, "table_2", rows);
	iso_events_free(&e);
	iso_ctx_free(v->one);
	return st;
}

/* ---- all of it ---- */

/* The memory of Table 3, whose image in the paper is 133 x 86 x 580 voxels of 4 mm: here so many, or as many
   larger ones as fill it. */
static int plan(void *state)
{
	struct vangendt *v = state;
	struct cmd *c = v->s.c;
	struct iso_plan lines = { 0 };
	struct iso_ray ray = {
		.size = sizeof ray, .n_sub = 1, .tof_truncate = 3, .tof_fwhm_ps = VANGENDT_TOF_FWHM_PS
	};
	const double extent[3] = { 133 * 4., 86 * 4., 580 * 4. };
	int64_t n, voxels;

	v->scale = &scales[v->s.scale];
	for (int a = 0; a < 3; a++) {
		v->grid.voxel[a] = v->scale->body_voxel;
		v->grid.n[a] = (int64_t)ceil(extent[a] / v->scale->body_voxel);
	}
	ray.grid = v->grid;
	n = (int64_t)v->scale->body_events;
	voxels = iso_grid_voxels(&v->grid);
	iso_plan_add(&lines, "images and sensitivities", voxels, 7 * sizeof(iso_real), false);
	iso_plan_add(&lines, "events and factors", n, 2 * sizeof(struct iso_event) + sizeof(iso_real), false);
	iso_ray_plan(&lines, c->ctx, &ray, n);
	iso_em_plan(&lines, c->ctx, voxels, n, 1, 1);
	return cmd_plan(c, &lines);
}

static int run(void *state)
{
	struct vangendt *v = state;
	int st;

	if ((st = study_stage(&v->s, "table 2")) || (st = ladder(v))) return st;
	return (st = study_stage(&v->s, "table 3")) ? st : vangendt_body(v);
}

const struct paper paper_vangendt = { template, outputs, sizeof(struct vangendt), plan, run, NULL, 0 };
