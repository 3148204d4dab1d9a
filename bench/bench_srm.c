/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark srm: projections and iterations of dual-head PET with a system matrix, strategy by
   strategy. A visit is a multiply-add that the matrix asks for: an element at a shift that
   fits. */
#include "bench.h"

#include "limits.h"
#include "ladder.h"
#include "srm/strategies.h"
#include "core/ctx.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The scanner of Meng 2019. */
#define MENG                                                                                                \
	{                                                                                                   \
		.crystals = { 26, 52 }, .pitch = { 2, 2 }, .crystal = { 2, 2, 13 }, .gap = 50, .layers = 1, \
		.block = 13, .formula = "Lu1.8Y0.2SiO5", .density = 7.1, .resolution = .2,                  \
		.window = { 250, 750 }, .time_fwhm = 1.5, .coincidence = 10, .per_pitch = { 4, 4 },         \
		.planes = 100, .plane = .5                                                                  \
	}

static const struct iso_panels meng = MENG;

#define ELEMENT 12 /* bytes of a place and its weight */
#define MOST_THREADS 128

static const char *const strategies[] = { "correlation", "row", "column", "combined", "all", NULL };
static const char *const rules[] = { "mod", "random", "groups", NULL };

/* Rows of a strategy. */
static const struct {
	const char *name;
	enum bench_task task;
} works[] = { { "forward", BENCH_FORWARD }, { "adjoint", BENCH_ADJOINT }, { "iteration", BENCH_UPDATE } };

static struct settings {
	const char *srm, *strategy, *rule;
	double pairs, per_column;
	int64_t subsets, repeats, seed;
	bool ladder;
} set = { .strategy = "all", .rule = "groups", .per_column = 35000, .subsets = 1, .repeats = 5, .seed = 1 };

static struct opt opts[] = {
	{ 0, "srm", .text = &set.srm, .file = OPT_MAY_READ, .value = "FILE",
	  .absent = "made here, for the scanner of Meng 2019", .help = "system matrix" },
	{ 0, "pairs", .real = &set.pairs, .value = "N", .min = 1, .max = 1e12,
	  .absent = "none: the analytic matrix, which has no scatter and so fewer elements",
	  .help = "make the matrix by photon transport, with this many pairs per voxel" },
	{ 0, "per-column", .real = &set.per_column, .value = "N", .min = 1, .max = 1e9,
	  .help = "largest number of elements per column of a matrix made here" },
	{ 0, "strategy", .text = &set.strategy, .words = strategies, .value = "NAME",
	  .help = "correlation, row, column, combined or all" },
	{ 0, "subsets", .integer = &set.subsets, .value = "N", .min = 1, .max = 1e6,
	  .help = "number of subsets; an iteration is one update with each" },
	{ 0, "subset-rule", .text = &set.rule, .words = rules, .value = "NAME",
	  .help = "mod, random or groups of directions" },
	{ 0, "ladder", .flag = &set.ladder,
	  .help = "also time the variants that the papers compare, once each; on CUDA only. "
	          "The variant with one thread per block takes minutes" },
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of transport and of random subsets" },
	{ 0 },
};

struct run {
	struct cmd *c;
	iso_srm *srm;
	struct iso_srm_info info;
	struct iso_srm_model model;
	double make_s;
	double per_s; /* multiply-adds, measured here */
	double work;  /* multiply-adds of a projection */
	/* of the operator at hand */
	struct bench_op b;
	const char *name;
	double setup_s, memory;
};

/* ---- the matrix ---- */

static int transport(struct run *r, const struct iso_panels *p)
{
	struct iso_srm_options o = { .size = sizeof o, .seed = (uint64_t)set.seed };
	int st = iso_srm_create(&r->srm, p, &o);

	return st ? st : iso_srm_simulate(r->srm, r->c->ctx, 0, (int64_t)set.pairs, 0);
}

static int make_matrix(struct run *r)
{
	const struct iso_srm_bound bound = { .per_column = set.per_column };
	double start_s = iso_now_s();
	int st = set.srm         ? iso_srm_read(&r->srm, set.srm, false)
	         : set.pairs > 0 ? transport(r, &meng)
	                         : iso_srm_analytic(&r->srm, r->c->ctx, &meng);

	if (!st && !set.srm) st = iso_srm_threshold(r->srm, r->c->ctx, &bound);
	if (st) return st;
	r->make_s = iso_now_s() - start_s;
	r->info.size = sizeof r->info;
	st = iso_srm_info(&r->info, r->srm);
	r->work = r->info.bytes_full / 8; /* elements of the whole matrix */
	return st;
}

/* ---- one operator ---- */

/* Bytes that the program holds on the context's device. */
static double memory_held(const iso_ctx *ctx)
{
	struct mallinfo2 heap = mallinfo2();
	int64_t left = 0;

	if (iso_ctx_is_cuda(ctx) && ctx->cuda->free_memory(ctx, &left) == ISO_OK) return -(double)left;
	return (double)heap.uordblks + (double)heap.hblkhd;
}

static int begin_operator(struct run *r, int strategy)
{
	double start_s = iso_now_s(), held = memory_held(r->c->ctx);
	iso_op *op = NULL;
	int st;

	r->b = (struct bench_op){ 0 };
	r->name = srm_strategy_name[strategy];
	if ((st = srm_strategy_create(&op, r->c->ctx, &r->model, (enum srm_strategy)strategy))) return st;
	r->setup_s = iso_now_s() - start_s;
	r->memory = memory_held(r->c->ctx) - held;
	st = bench_open(&r->b, op, true);
	return st ? st : iso_forward(r->b.y, op, ISO_ALL, r->b.ones); /* counts without noise */
}

/* ---- rows ---- */

/* Seconds of the first and, unless there are none, of n repeats; `projections`: 1, or the 2 of an
   iteration. */
static int add_row(struct run *r, const char *what, int projections, int n, double *seconds)
{
	const double first_s = seconds[0];
	const int64_t voxels = iso_op_n_in(r->b.op), lors = iso_op_n_out(r->b.op);
	struct bench_row row = { .bench = "srm", .events = (double)lors };

	row.time = n > 0 ? bench_time(n, seconds + 1) : bench_time(1, seconds);
	row.visits = projections * r->work;
	row.bytes = projections *
	            (8. * (double)r->info.elements + (double)sizeof(iso_real) * (double)(voxels + lors));
	row.limit_s = row.visits / r->per_s;
	row.more = record_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
	                       "strategy", r->name, "what", what, "subsets", (json_int_t)set.subsets,
	                       "subset_rule", set.rule, "lors", (json_int_t)lors, "voxels",
	                       (json_int_t)voxels, "elements", (json_int_t)r->info.elements, "multiply_adds",
	                       row.visits, "multiply_adds_per_s", row.visits / row.time.median,
	                       "limit_multiply_adds_per_s", r->per_s, "memory_bytes", r->memory, "make_s",
	                       r->make_s, "setup_s", r->setup_s, "first_s", first_s);
	snprintf(row.problem, sizeof row.problem, "%s %s", r->name, what);
	if (projections == 2)
		snprintf(row.note, sizeof row.note,
		         "set-up %.3g s; first %.3g s; %s of memory on the device for tables and work",
		         r->setup_s, first_s, iso_bytes((int64_t)r->memory));
	return bench_add(r->c, &row);
}

static int time_row(struct run *r, enum bench_task task, const char *what)
{
	double seconds[1 + BENCH_MOST_REPEATS];
	int st = bench_task(seconds, &r->b, task, true, 1 + (int)set.repeats);

	return st ? st : add_row(r, what, task == BENCH_UPDATE ? 2 : 1, (int)set.repeats, seconds);
}

/* Chou 2012, Table 1, and what one thread a block costs. */
static int time_steps(struct run *r)
{
	static const char *const names[ISO_SRM_STEPS] = { "LOR alone", "with mirrors", "shared memory" };
	int st = ISO_OK;

	for (int step = 0; step <= ISO_SRM_STEPS && !st; step++) {
		const bool last = step == ISO_SRM_STEPS;
		const struct iso_srm_ladder p = { last ? ISO_SRM_SHARED : (enum iso_srm_step)step,
			                          last ? 1 : MOST_THREADS };
		char what[64];
		double seconds;

		st = iso_srm_ladder_forward(&seconds, r->b.op, &p, r->b.q, r->b.ones);
		snprintf(what, sizeof what, "%s, %d", names[p.step], p.threads);
		if (!st) st = add_row(r, what, 1, 0, &seconds);
	}
	return st;
}

/* Meng 2019: seed columns of all phases. */
static int time_columns(struct run *r)
{
	int st = iso_srm_ladder_columns(r->b.op, r->srm, false);

	return st ? st : time_row(r, BENCH_ADJOINT, "adjoint, all phases");
}

/* ---- all of them ---- */

static int run_strategy(struct run *r, int strategy)
{
	int st = begin_operator(r, strategy);

	for (int w = 0; w < 3 && !st; w++) st = time_row(r, works[w].task, works[w].name);
	if (!st && set.ladder && strategy == SRM_ROW) st = time_steps(r);
	if (!st && set.ladder && strategy == SRM_COMBINED) st = time_columns(r);
	iso_room_free(&r->b.room);
	iso_op_free(r->b.op);
	return st;
}

/* The sizes of a matrix that is still to be made are those it is cut to. */
static int plan(const struct run *r)
{
	const struct iso_panels *p = set.srm ? &r->info.panels : &meng;
	struct iso_plan lines = { 0 };
	struct iso_grid g;
	bool cuda = iso_ctx_is_cuda(r->c->ctx);
	int64_t n, columns = (int64_t)((p->planes + 1) / 2) * ((p->per_pitch[0] + 1) / 2) *
	                     ((p->per_pitch[1] + 1) / 2);

	iso_panels_grid(&g, p);
	n = set.srm ? r->info.elements : (int64_t)(set.per_column * (double)columns);
	iso_plan_add(&lines, "system matrix", n, 8, false);
	iso_plan_add(&lines, "its elements by rows and columns", 3 * n, ELEMENT, cuda);
	iso_plan_add(&lines, "images", iso_grid_voxels(&g), 3 * sizeof(iso_real), cuda);
	iso_plan_add(&lines, "data", iso_panels_lors(p), 2 * sizeof(iso_real), cuda);
	return cmd_plan(r->c, &lines);
}

static int check(const struct cmd *c, const struct opt_set *sets)
{
	if (set.srm && opt_find(sets, "pairs")->given)
		return iso_fail(ISO_EARG, "--pairs makes a matrix, --srm gives one: give one of them");
	if (set.srm && opt_find(sets, "per-column")->given)
		return iso_fail(ISO_EARG, "--per-column cuts a matrix made here; --srm has its own cut");
	if (set.ladder && !iso_ctx_is_cuda(c->ctx))
		return iso_fail(ISO_EARG, "--ladder is of CUDA, not of %s", iso_ctx_device(c->ctx));
	return ISO_OK;
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run r = { .c = c };
	int st = check(c, sets);

	if (st) return st;
	if (set.srm && (st = make_matrix(&r))) goto done;
	if ((st = plan(&r))) goto done;
	if (!set.srm && (st = make_matrix(&r))) goto done;
	r.model = (struct iso_srm_model){
		.size = sizeof r.model, .srm = r.srm, .n_sub = (int)set.subsets, .seed = (uint64_t)set.seed
	};
	r.model.rule = strcmp(set.rule, "mod") == 0      ? ISO_MOD
	               : strcmp(set.rule, "random") == 0 ? ISO_RANDOM
	                                                 : ISO_GROUPS;
	if ((st = iso_multiply_add_rate(&r.per_s, c->ctx))) goto done;
	if (bench_says(c))
		printf(": %.3g multiply-adds a second measured\n"
		       "%" PRId64 " elements in %" PRId64 " columns (%s), %.4g multiply-adds a "
		       "projection, which count as visits; LORs as events\n",
		       r.per_s, r.info.elements, r.info.columns, r.info.source, r.work);
	if ((st = record_result(&c->record, "multiply_adds_per_s", record_real(r.per_s)))) goto done;
	for (int s = 0; s < SRM_STRATEGIES && !st; s++)
		if (bench_chosen(set.strategy, srm_strategy_name[s])) st = run_strategy(&r, s);
done:
	iso_srm_free(r.srm);
	return st;
}

const struct bench bench_srm = { "srm", "Benchmark srm", opts, run, &set, sizeof set, false };
