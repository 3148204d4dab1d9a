/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark barrel: one EM step over events of modular or total-body J-PET, and the sensitivity. */
#include "jpet.h"

#include "bench/limits.h"

#include <math.h>
#include <stdio.h>

/* Operations that a voxel needs, both ways, once its column is known: a step of a recurrence, and the tilt's factor. */
#define OPERATIONS 12.

static const char *const kernels[] = { "moment", "depth", "thin", NULL };

static struct settings {
	double events, voxel;
	int64_t repeats, seed;
	const char *which, *kernel;
	bool sens;
} set = { .repeats = 3, .seed = 1, .voxel = 4, .which = "total-body", .kernel = "moment" };

static struct opt opts[] = {
	{ 0, "barrel", .text = &set.which, .words = jpet_cases, .value = "NAME",
	  .help = "modular: 24 modules of 13 strips, a body of 200 x 200 x 200 mm; total-body: 768 strips of "
	          "2 m "
	          "in two layers, a body of 360 x 240 x 1000 mm" },
	{ 0, "barrel-kernel", .text = &set.kernel, .words = kernels, .value = "NAME",
	  .help = "kernel of the model" },
	{ 0, "voxel", .real = &set.voxel, .unit = "mm", .value = "MM", .min = .5, .max = 100,
	  .help = "edge of a voxel" },
	{ 0, "sensitivity", .flag = &set.sens, .help = "also time the sensitivity" },
	{ 0, "events", .real = &set.events, .value = "N", .min = 1, .max = 1e12,
	  .absent = "1e4 on the CPU, 1e7 on CUDA", .help = "number of events" },
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of the events" },
	{ 0 },
};

static struct iso_barrel_model model_of(const struct jpet *j)
{
	struct iso_barrel_model m = { .size = sizeof m, .barrel = j->b, .n_sub = 1 };

	for (int a = 0; a < 3; a++) {
		m.grid.n[a] = (int64_t)ceil(2 * j->half[a] / set.voxel);
		m.grid.voxel[a] = set.voxel;
	}
	m.kernel = (enum iso_barrel_kernel)opt_place(kernels, set.kernel);
	return m;
}

static int time_sens(struct cmd *c, const struct iso_barrel_model *m)
{
	const int64_t n = iso_grid_voxels(&m->grid);
	const double start_s = iso_now_s();
	iso_real *s = NULL;
	int st = BENCH_NEW(s, n);

	if (!st) st = iso_barrel_sens(s, c->ctx, m, NULL);
	free(s);
	if (st) return st;
	const double s_ = iso_now_s() - start_s;

	if (bench_says(c)) printf(": sensitivity of %" PRId64 " voxels in %.3g s\n", n, s_);
	return record_result(&c->record, "sensitivity_s", record_real(s_));
}

static int time_steps(struct cmd *c, struct jpet *j, const struct iso_barrel_model *m)
{
	struct bench_row row = { .bench = "barrel", .events = (double)j->usable };
	struct bench_steps t = { 0 };
	double start_s = iso_now_s(), setup_s, per_s;
	iso_op *op = NULL;
	int st = iso_barrel_create(&op, c->ctx, m, &j->e);

	setup_s = iso_now_s() - start_s;
	if (!st) st = bench_steps(&t, op, (int)set.repeats);
	iso_op_free(op);
	if (st || (st = jpet_visited(j, m)) || (st = iso_arithmetic_rate(&per_s, c->ctx))) return st;
	row.time = t.step;
	row.visits = j->visited * row.events;
	row.bytes = 16 * row.visits;
	row.limit_s = row.visits * OPERATIONS / per_s;
	row.more =
		record_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "barrel", set.which, "kernel",
	                    set.kernel, "events", (json_int_t)j->e.n, "events_used", (json_int_t)t.stat.used,
	                    "voxels_per_event", j->visited, "generate_s", j->generate_s, "setup_s", setup_s,
	                    "first_step_s", t.first_s, "loglik", t.stat.loglik);
	snprintf(row.problem, sizeof row.problem, "%s %s %g mm", set.which, set.kernel, set.voxel);
	snprintf(row.note, sizeof row.note,
	         "set-up %.3g s; first step %.3g s; %.1f voxels an event, %g operations each; %" PRId64
	         " events used, log L %.7g",
	         setup_s, t.first_s, j->visited, OPERATIONS, t.stat.used, t.stat.loglik);
	return bench_add(c, &row);
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct jpet j = { 0 };
	struct iso_barrel_model m;
	struct iso_plan lines = { 0 };
	int st = jpet_open(&j, opt_place(jpet_cases, set.which));

	if (st) goto done;
	if (!opt_find(sets, "events")->given) set.events = iso_ctx_is_cuda(c->ctx) ? 1e7 : 1e4;
	m = model_of(&j);
	iso_plan_add(&lines, "events", (int64_t)set.events, sizeof(struct iso_barrel_event), false);
	iso_barrel_plan(&lines, c->ctx, &m, (int64_t)set.events);
	if ((st = cmd_plan(c, &lines)) ||
	    (st = jpet_events(&j, c->ctx, (int64_t)set.events, (uint64_t)set.seed)))
		goto done;
	if (set.sens) st = time_sens(c, &m);
	if (!st) st = time_steps(c, &j, &m);
done:
	jpet_free(&j);
	return st;
}

const struct bench bench_barrel = { "barrel", "Benchmark barrel", opts, run, &set, sizeof set, false };
