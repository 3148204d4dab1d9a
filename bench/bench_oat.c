/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark oat: the operators of optoacoustic tomography at the size of Wang 2013, one by one, and
   iterations of least squares with them. On CUDA with all transducers; on the CPU with a few of
   them, evenly spread, from which the time of all follows: work grows with their number. */
#include "bench.h"

#include "sound_work.h"
#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/status.h"
#include "core/vec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RINGS = 128, VIEWS = 90, SAMPLES = 1022 };

#define RADIUS 65. /* of the sphere, mm */
#define VOXELS (210. * 210 * 440)
#define VOXEL .14

static const char *const units[] = { "pairs", "points", "samples" }; /* as enum sound_unit */

enum kind { K_UBP, K_SRADON, K_TRACES, K_SVOXEL };
enum way { FORWARD, ADJOINT, BOTH, ITERATION };

/* A row. `first` is what limits it, `second` that of an iteration's way back. */
static const struct work {
	const char *name, *what;
	enum kind kind;
	enum way way;
	enum sound_part first, second;
} works[] = {
	{ "ubp", "ubp", K_UBP, ADJOINT, SOUND_UBP, SOUND_PARTS },
	{ "sradon", "G", K_SRADON, FORWARD, SOUND_G, SOUND_PARTS },
	{ "sradon", "G* scatter", K_SRADON, ADJOINT, SOUND_SCATTER, SOUND_PARTS },
	{ "sradon", "G* gather", K_SRADON, ADJOINT, SOUND_GATHER, SOUND_PARTS },
	{ "sradon", "D He both ways", K_TRACES, BOTH, SOUND_TRACES, SOUND_PARTS },
	{ "sradon", "PLS-Int iteration", K_SRADON, ITERATION, SOUND_G, SOUND_SCATTER },
	{ "point", "svoxel point", K_SVOXEL, FORWARD, SOUND_POINT, SOUND_PARTS },
	{ "point", "svoxel point adjoint", K_SVOXEL, ADJOINT, SOUND_POINT_BACK, SOUND_PARTS },
	{ "point", "PLS-Sph iteration", K_SVOXEL, ITERATION, SOUND_POINT, SOUND_POINT_BACK },
	{ "rect", "svoxel rect", K_SVOXEL, FORWARD, SOUND_RECT, SOUND_PARTS },
	{ "rect", "svoxel rect adjoint", K_SVOXEL, ADJOINT, SOUND_RECT_BACK, SOUND_PARTS },
	{ "rect", "PLS-Sph rect iteration", K_SVOXEL, ITERATION, SOUND_RECT, SOUND_RECT_BACK },
};

enum { N_WORKS = sizeof works / sizeof works[0] };

static const char *const operators[] = { "ubp", "sradon", "point", "rect", "all", NULL };

static struct settings {
	const char *operator;
	int64_t grid[3], rings, views, transducers, repeats;
	double voxel;
} set = { .operator= "all",
	  .grid = { 210, 210, 440 },
	  .rings = RINGS,
	  .views = VIEWS,
	  .repeats = 3,
	  .voxel = VOXEL };

static struct opt opts[] = {
	{ 0, "operator", .text = &set.operator, .words = operators, .value = "NAME",
	  .help = "ubp, sradon, svoxel with point or rect transducers, or all" },
	{ 0, "grid", .integer = set.grid, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
	  .max = 1e5, .help = "number of voxels" },
	{ 0, "voxel", .real = &set.voxel, .value = "MM", .min = 1e-3, .max = 100, .help = "edge of a voxel" },
	{ 0, "rings", .integer = &set.rings, .value = "N", .min = 1, .max = 1e5,
	  .help = "rings of transducers for ubp; the other operators have every second" },
	{ 0, "views", .integer = &set.views, .value = "N", .min = 1, .max = 1e5,
	  .help = "transducers of a ring" },
	{ 0, "transducers", .integer = &set.transducers, .value = "N", .min = 1, .max = 1e9,
	  .absent = "all on CUDA; on the CPU 2 a thread, at least 4, and 16 times as many for ubp",
	  .help = "take so many of them, spread over all" },
	{ 0, "repeats", .integer = &set.repeats, .value = "N", .min = 1, .max = BENCH_MOST_REPEATS,
	  .help = "repeats after the warm-up" },
	{ 0 },
};

struct run {
	struct cmd *c;
	bool cuda;
	struct sound_rates rates;
	/* of the row at hand */
	const struct work *w;
	struct iso_transducers t;
	struct iso_grid grid;
	struct iso_svoxel svoxel;
	double setup_s;
	iso_op *op, *more; /* more: He, beside D */
	iso_real *x, *y, *y2;
	/* of the warm-up, then of the repeats; and of the processor, which other programs on the
	   machine do not lengthen */
	double seconds[BENCH_MOST_REPEATS + 1], since_s;
	double processor[BENCH_MOST_REPEATS + 1], processor_since_s;
};

/* ---- the problem ---- */

static int64_t wanted(const struct run *r, int64_t all)
{
	int64_t n = set.transducers, few = 2 * r->c->ctx->threads;

	if (n == 0 && r->cuda) return all;
	if (n == 0) n = (few < 4 ? 4 : few) * (r->w->kind == K_UBP ? 16 : 1);
	return n < all ? n : all;
}

/* Number i of n transducers to keep: rings from equal shares, views by the golden section, or all
   would look from one side; never one before i, which is overwritten by then. */
static int64_t kept(int64_t i, int64_t n, int64_t all)
{
	double turn = .6180339887498949 * (double)i;
	int64_t ring = (2 * i + 1) * all / (2 * n) / set.views;
	int64_t q = ring * set.views + (int64_t)((turn - floor(turn)) * (double)set.views);

	return n == all || q < i ? i : q;
}

static void spread(struct iso_transducers *t, int64_t n)
{
	double *const part[] = { t->pos, t->normal, t->ex, t->ey };

	for (int64_t i = 0; i < n; i++) {
		int64_t q = kept(i, n, t->n);

		for (int k = 0; k < 4; k++) memmove(part[k] + 3 * i, part[k] + 3 * q, 3 * sizeof *part[k]);
		t->area[i] = t->area[q];
	}
	t->n = n;
}

static int add_apertures(struct iso_transducers *t)
{
	if (!(t->aperture = size_alloc(2 * t->n, sizeof *t->aperture)))
		return iso_fail_memory("transducers", 2 * t->n * (int64_t)sizeof *t->aperture);
	for (int64_t i = 0; i < 2 * t->n; i++) t->aperture[i] = 2;
	return ISO_OK;
}

/* Of the form of an impulse response; any has the same time. */
static int add_response(struct iso_transducers *t)
{
	if (!(t->eir = size_alloc(SOUND_EIR, sizeof *t->eir)))
		return iso_fail_memory("impulse response", SOUND_EIR * (int64_t)sizeof *t->eir);
	for (int k = 0; k < SOUND_EIR; k++) t->eir[k] = exp(-.1 * k) * cos(.7 * k);
	t->n_eir = SOUND_EIR;
	return ISO_OK;
}

static int make_transducers(struct run *r)
{
	int every = r->w->kind == K_UBP ? 1 : 2;
	double step = M_PI / (double)set.rings;
	struct iso_rings rings = { RADIUS, (set.rings + every - 1) / every, set.views, step / 2, every * step,
		                   0,      2 * M_PI / (double)set.views };
	int st;

	r->t = (struct iso_transducers){
		.speed = 1.54, .dt_us = .05, .first_us = 17.5, .samples = SAMPLES, .gamma = 2000
	};
	if ((st = iso_transducers_rings(&r->t, &rings))) return st;
	spread(&r->t, wanted(r, r->t.n));
	if (strcmp(r->w->name, "rect") == 0) st = add_apertures(&r->t);
	if (!st && r->w->kind == K_TRACES) st = add_response(&r->t);
	return st;
}

/* The paper's first node is half a voxel further out than a centred grid's. Gather on the CPU is
   for tests: the middle plane tells its rate. */
static void make_grid(struct run *r)
{
	for (int a = 0; a < 3; a++) {
		r->grid.n[a] = set.grid[a];
		r->grid.voxel[a] = set.voxel;
		r->grid.centre[a] = -set.voxel / 2;
	}
	if (r->w->first == SOUND_GATHER && !r->cuda) r->grid.n[2] = 1;
}

static struct iso_sradon sradon_of(const struct run *r)
{
	return (struct iso_sradon){ .size = sizeof(struct iso_sradon),
		                    .t = &r->t,
		                    .grid = r->grid,
		                    .adjoint = r->w->first == SOUND_GATHER    ? ISO_SRADON_GATHER
		                               : r->w->first == SOUND_SCATTER ? ISO_SRADON_SCATTER
		                                                              : ISO_SRADON_AUTO };
}

static int begin_problem(struct run *r)
{
	int st = make_transducers(r);

	if (st) return st;
	make_grid(r);
	r->svoxel =
		(struct iso_svoxel){ .size = sizeof(struct iso_svoxel),
		                     .t = &r->t,
		                     .grid = r->grid,
		                     .sir = strcmp(r->w->name, "rect") == 0 ? ISO_SIR_RECT : ISO_SIR_POINT };
	return r->w->kind == K_SVOXEL ? iso_svoxel_lines(&r->svoxel, 0) : ISO_OK;
}

static int64_t data_size(const struct run *r)
{
	return r->t.n * (r->w->kind == K_SVOXEL ? 2 * r->svoxel.lines : r->t.samples);
}

/* ---- memory ---- */

static int plan(const struct run *r)
{
	struct iso_plan lines = { 0 };
	struct iso_ubp ubp = { sizeof ubp, &r->t, r->grid, ISO_UBP_SPHERE };
	struct iso_sradon sradon = sradon_of(r);
	int64_t n = iso_grid_voxels(&r->grid);

	if (r->w->way == ITERATION)
		iso_cg_plan(&lines, r->c->ctx, n, data_size(r), false);
	else
		iso_plan_add(&lines, "image", n, sizeof(iso_real), r->cuda);
	iso_plan_add(&lines, "data", data_size(r), 2 * sizeof(iso_real), r->cuda);
	if (r->w->kind == K_UBP) iso_ubp_plan(&lines, r->c->ctx, &ubp);
	if (r->w->kind == K_SRADON) iso_sradon_plan(&lines, r->c->ctx, &sradon);
	if (r->w->kind == K_SVOXEL) iso_svoxel_plan(&lines, r->c->ctx, &r->svoxel);
	return cmd_plan(r->c, &lines);
}

/* ---- the operator ---- */

static int make_operator(struct run *r)
{
	struct iso_ubp ubp = { sizeof ubp, &r->t, r->grid, ISO_UBP_SPHERE };
	struct iso_sradon sradon = sradon_of(r);
	iso_ctx *ctx = r->c->ctx;
	int st;

	switch (r->w->kind) {
	case K_UBP:
		return iso_ubp_create(&r->op, ctx, &ubp);
	case K_SVOXEL:
		return iso_svoxel_create(&r->op, ctx, &r->svoxel);
	case K_TRACES:
		st = iso_sradon_derivative(&r->op, ctx, &r->t);
		return st ? st : iso_sradon_response(&r->more, ctx, &r->t);
	default:
		return r->w->way == ITERATION ? iso_sradon_create(&r->op, ctx, &sradon)
		                              : iso_sradon_integrals(&r->op, ctx, &sradon);
	}
}

/* An image of ones, or data that go up and down. */
static int begin_vectors(struct run *r)
{
	iso_ctx *ctx = r->c->ctx;
	const struct iso_vec *v = iso_ctx_vec(ctx);
	int64_t n = iso_op_n_in(r->op), rows = iso_op_n_out(r->op);
	iso_real *host = size_alloc(rows, sizeof *host);
	int st = host ? ISO_OK : iso_fail_memory("data", rows * (int64_t)sizeof *host);

	if (!st && !(st = iso_vec_alloc(ctx, &r->x, n)) && !(st = iso_vec_alloc(ctx, &r->y, rows)) &&
	    !(st = iso_vec_alloc(ctx, &r->y2, rows)) && !(st = v->fill(ctx, n, r->x, 1))) {
		for (int64_t i = 0; i < rows; i++) host[i] = (iso_real)sin(.05 * (double)i);
		st = v->upload(ctx, r->y, host, rows * (int64_t)sizeof *host);
	}
	free(host);
	return st;
}

static void end_operator(struct run *r)
{
	const struct iso_vec *v = iso_ctx_vec(r->c->ctx);

	v->free(r->c->ctx, r->x);
	v->free(r->c->ctx, r->y);
	v->free(r->c->ctx, r->y2);
	iso_op_free(r->op);
	iso_op_free(r->more);
	iso_transducers_free(&r->t);
	r->x = r->y = r->y2 = NULL;
	r->op = r->more = NULL;
}

/* ---- times ---- */

/* Waits for the device. */
static int finish(const struct run *r)
{
	iso_real one;

	return iso_ctx_vec(r->c->ctx)->download(r->c->ctx, &one, r->x, sizeof one);
}

static int do_once(struct run *r)
{
	int st = ISO_OK;

	if (r->w->way == FORWARD)
		st = iso_forward(r->op, ISO_ALL, r->y, r->x);
	else if (r->w->way == ADJOINT)
		st = iso_adjoint(r->op, ISO_ALL, r->x, r->y);
	else if ((st = iso_forward(r->op, ISO_ALL, r->y2, r->y)) ||
	         (st = iso_forward(r->more, ISO_ALL, r->y, r->y2)) ||
	         (st = iso_adjoint(r->more, ISO_ALL, r->y2, r->y)))
		return st;
	else
		st = iso_adjoint(r->op, ISO_ALL, r->y, r->y2);
	return st ? st : finish(r);
}

static double processor_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void start_clocks(struct run *r)
{
	r->processor_since_s = processor_s();
	r->since_s = iso_now_s();
}

static void read_clocks(struct run *r, int i)
{
	r->seconds[i] = iso_now_s() - r->since_s;
	r->processor[i] = processor_s() - r->processor_since_s;
	start_clocks(r);
}

static int time_applies(struct run *r)
{
	int st = ISO_OK;

	for (int i = 0; i <= set.repeats && !st; i++) {
		if ((st = finish(r))) return st;
		start_clocks(r);
		st = do_once(r);
		read_clocks(r, i);
	}
	return st;
}

/* After each iteration; nothing is asked for, so that no image is fetched. The first counts from
   the start, with the adjoint of the data. */
static bool note_time(void *arg, int iteration)
{
	read_clocks(arg, iteration - 1);
	return false;
}

static int never(void *arg, int iteration, const iso_real *x)
{
	(void)arg;
	(void)iteration;
	(void)x;
	return ISO_OK;
}

static int time_iterations(struct run *r)
{
	int64_t n = iso_op_n_in(r->op), rows = iso_op_n_out(r->op);
	iso_real *x = size_alloc(n, sizeof *x), *y = size_alloc(rows, sizeof *y);
	struct iso_cg cg = { .size = sizeof cg, .op = r->op, .y = y, .iterations = (int)set.repeats + 1 };
	const struct iso_run run = { .size = sizeof run, .each = never, .wants = note_time, .arg = r };
	struct iso_cg_result result = { .size = sizeof result };
	int st = x && y ? iso_forward(r->op, ISO_ALL, r->y, r->x)
	                : iso_fail_memory("image and data", (n + rows) * (int64_t)sizeof *x);

	if (!st) st = iso_ctx_vec(r->c->ctx)->download(r->c->ctx, y, r->y, rows * (int64_t)sizeof *y);
	start_clocks(r);
	if (!st) st = iso_cg_run(x, &result, &cg, &run);
	if (!st && result.n < cg.iterations)
		st = iso_fail(ISO_EARG,
		              "bench: the image is found after %d iterations; take a larger grid "
		              "or fewer --repeats",
		              result.n);
	iso_cg_result_free(&result);
	free(x);
	free(y);
	return st;
}

/* ---- one row ---- */

static double transducers_full(const struct run *r)
{
	return (double)VIEWS * (r->w->kind == K_UBP ? RINGS : RINGS / 2);
}

/* Of the problem at hand, or of the paper's size. A point stands for ds^2 c dt of the image. */
static double count(const struct run *r, enum sound_unit unit, bool full)
{
	double trans = full ? transducers_full(r) : (double)r->t.n;
	double voxel = full ? VOXEL : set.voxel;
	double pairs = trans * (full ? VOXELS : (double)iso_grid_voxels(&r->grid));

	return unit == SOUND_PAIRS     ? pairs
	       : unit == SOUND_SAMPLES ? trans * SAMPLES
	                               : pairs * voxel / (r->t.speed * r->t.dt_us);
}

static double least_s(const struct run *r, enum sound_part part, const char **limit)
{
	return iso_sound_least_s(limit, &r->rates, part, count(r, iso_sound_cost[part].unit, false));
}

static json_t *more_json(const struct run *r, const char *limit, double seconds, double processor,
                         double full_s)
{
	enum sound_unit unit = iso_sound_cost[r->w->first].unit;
	double pairs = count(r, SOUND_PAIRS, false);

	return record_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:s, s:f, s:f, s:f, s:s, s:f, s:f, s:f, s:f}",
	                   "operator", r->w->name, "what", r->w->what, "voxels",
	                   (json_int_t)iso_grid_voxels(&r->grid), "transducers", (json_int_t)r->t.n, "pairs",
	                   pairs, "pairs_per_s", pairs / seconds, "unit", units[unit], "units",
	                   count(r, unit, false), "units_per_s", count(r, unit, false) / seconds,
	                   "operations_per_unit", iso_sound_cost[r->w->first].operations, "limited_by", limit,
	                   "full_size_s", full_s, "processor_s", processor, "setup_s", r->setup_s, "first_s",
	                   r->seconds[0]);
}

/* A core: by the time that processors worked, all threads together. */
static void write_note(struct bench_row *row, const struct run *r, const char *limits, double processor,
                       double full_s)
{
	enum sound_unit unit = iso_sound_cost[r->w->first].unit;
	double n = count(r, unit, false);
	char core[64] = "";

	if (!r->cuda) snprintf(core, sizeof core, " (%.3g a core)", n / processor);
	snprintf(row->note, sizeof row->note,
	         "%" PRId64 "x%" PRId64 "x%" PRId64 " voxels, %" PRId64
	         " transducers: %.3g %s/s%s; limit: %s; set-up %.3g s, first %.3g s; full size %.3g s",
	         r->grid.n[0], r->grid.n[1], r->grid.n[2], r->t.n, n / row->time.median, units[unit], core,
	         limits, r->setup_s, r->seconds[0], full_s);
}

static double bytes_moved(const struct run *r)
{
	int64_t numbers = iso_op_n_in(r->op) + iso_op_n_out(r->op);

	if (r->w->kind == K_TRACES)
		return iso_sound_cost[SOUND_TRACES].memory * count(r, SOUND_SAMPLES, false);
	return (double)sizeof(iso_real) * (double)numbers * (r->w->way == ITERATION ? 2 : 1);
}

static int add_row(struct run *r)
{
	enum sound_unit unit = iso_sound_cost[r->w->first].unit;
	struct bench_row row = { .bench = "oat", .time = bench_time((int)set.repeats, r->seconds + 1) };
	double processor = bench_time((int)set.repeats, r->processor + 1).median, full_s;
	const char *limit = "", *back = "";
	char limits[64];

	row.limit_s = least_s(r, r->w->first, &limit);
	if (r->w->second != SOUND_PARTS) row.limit_s += least_s(r, r->w->second, &back);
	snprintf(limits, sizeof limits, "%s%s%s", limit, *back ? ", back " : "", back);
	row.events = (double)(r->t.n * r->t.samples);
	row.visits = r->w->kind == K_TRACES ? 0 : count(r, SOUND_PAIRS, false);
	row.bytes = bytes_moved(r);
	full_s = row.time.median * count(r, unit, true) / count(r, unit, false);
	row.more = more_json(r, limits, row.time.median, processor, full_s);
	snprintf(row.problem, sizeof row.problem, "%s", r->w->what);
	write_note(&row, r, limits, processor, full_s);
	return bench_add(r->c, &row);
}

static int time_row(struct run *r)
{
	double start_s = iso_now_s();
	int st = make_operator(r);

	r->setup_s = iso_now_s() - start_s;
	if (!st) st = begin_vectors(r);
	if (!st) st = r->w->way == ITERATION ? time_iterations(r) : time_applies(r);
	return st ? st : add_row(r);
}

/* ---- all of them ---- */

/* Each chosen row: its plan alone, or its work. CMD_DONE if a plan was all that was asked for. */
static int run_rows(struct run *r, bool plans)
{
	int st = ISO_OK, all = ISO_OK;

	for (int i = 0; i < N_WORKS && (st == ISO_OK || st == CMD_DONE); i++) {
		if (strcmp(set.operator, "all") != 0 && strcmp(set.operator, works[i].name) != 0) continue;
		r->w = &works[i];
		st = begin_problem(r);
		if (!st) st = plans ? plan(r) : time_row(r);
		end_operator(r);
		all = st == CMD_DONE ? st : all;
	}
	return st ? st : all;
}

static int tell_limits(const struct run *r)
{
	const struct sound_rates *m = &r->rates;

	if (!r->c->json) {
		term_clear(&r->c->term);
		printf("%s (%s): measured %.3g operations/s, first-level cache %.3g B/s, memory %.3g B/s, "
		       "%.3g additions/s to random places\n",
		       iso_ctx_device(r->c->ctx), iso_ctx_device_name(r->c->ctx), m->operations, m->cache,
		       m->limits.triad, m->limits.add_8);
		printf("voxel-transducer pairs count as visits, samples as events; full size is %g voxels "
		       "with %d x %d transducers, for ubp %d x %d\n",
		       VOXELS, RINGS / 2, VIEWS, RINGS, VIEWS);
	}
	return record_result(&r->c->record, "limits",
	                     record_pack("{s:f, s:f, s:f, s:f}", "operations_per_s", m->operations,
	                                 "cache_bytes_per_s", m->cache, "memory_bytes_per_s", m->limits.triad,
	                                 "additions_per_s", m->limits.add_8));
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run r = { .c = c, .cuda = iso_ctx_is_cuda(c->ctx) };
	int st;

	(void)sets; /* every option has a default */
	if ((st = run_rows(&r, true))) return st;
	if ((st = iso_sound_rates(&r.rates, c->ctx))) return st;
	if ((st = tell_limits(&r))) return st;
	return run_rows(&r, false);
}

const struct bench bench_oat = { "oat", "Benchmark oat", opts, run, &set, sizeof set };
