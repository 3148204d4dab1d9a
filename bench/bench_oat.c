/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark oat: the operators of optoacoustic tomography at the size of Wang 2013, one by one, and
   iterations of least squares with them. On CUDA with all transducers; on the CPU with a few of
   them, evenly spread, from which the time of all follows: work grows with their number. */
#include "oat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RINGS = 128, VIEWS = 90, SAMPLES = 1022 };

#define RADIUS 65. /* of the sphere, mm */
#define VOXELS (210. * 210 * 440)
#define VOXEL .14
#define SET_BYTES (1 << 20) /* that the rates of memory are measured on */

enum { EIR = 64 }; /* samples of the impulse response */
enum { CASE_REPEATS = 7, CASE_REPEATS_CPU = 3 };
enum kind { K_UBP, K_SRADON, K_TRACES, K_SVOXEL };
enum way { FORWARD, ADJOINT, BOTH, ITERATION };

/* What is counted: pairs of voxel and transducer, points on spheres, samples of traces. */
enum unit { PAIRS, POINTS, TRACE_SAMPLES };

static const char *const units[] = { "pairs", "points", "samples" };

/* The least that a unit takes. A fused multiply-add, a root and a reciprocal are one operation each;
   one in double is two. `cache` are bytes in and out of the first level, `memory` those beyond all
   caches. */
struct cost {
	enum unit unit;
	double operations, cache, memory;
};

/* ubp: of the distance 3, the delay and its fraction 4, the term 3; a pair of samples.
   G: turning to the next point 4, its place 6, cells and fractions 8, seven mixtures 14, the sum 1;
   eight voxels. Scatter: place and cells as before, weights 10, additions 8, to words of 4 bytes.
   Gather: per point some 22 looks (40 a pair at Wang's ratio of voxel and sample, 1.82) at 12.
   D and He: both ways, in double, the response's terms each; traces come and go from memory.
   svoxel: distance, delay and amplitude 12, the place within a bin 4, powers 6, seven moments that are
   read, added to and written; back, a piece of seven coefficients 7. Rectangle: sides 10 more, and four
   times the delay 2, the place, powers and moments as before, of which moment 0 is in double; back, four
   times delay, place and piece, whose constants make three sums in double. */
static const struct cost ubp_cost = { PAIRS, 10, 8, 0 }, g = { POINTS, 33, 32, 0 },
			 scatter = { POINTS, 36, 64, 0 }, gather = { POINTS, 264, 0, 0 },
			 traces = { TRACE_SAMPLES, 4 * EIR + 8, 0, 32 }, point = { PAIRS, 29, 56, 0 },
			 point_back = { PAIRS, 23, 28, 0 }, rect = { PAIRS, 102, 256, 0 },
			 rect_back = { PAIRS, 76, 128, 0 };

/* A row. `first` is what limits it, `second` that of an iteration's way back. */
static const struct work {
	const char *name, *what;
	enum kind kind;
	enum way way;
	const struct cost *first, *second;
	double accuracy; /* of sradon; 0: its default */
} works[] = {
	{ "ubp", "ubp", K_UBP, ADJOINT, &ubp_cost, NULL, 0 },
	{ "sradon", "G", K_SRADON, FORWARD, &g, NULL, 0 },
	{ "sradon", "G* scatter", K_SRADON, ADJOINT, &scatter, NULL, 0 },
	{ "sradon", "G* gather", K_SRADON, ADJOINT, &gather, NULL, 0 },
	{ "sradon", "D He both ways", K_TRACES, BOTH, &traces, NULL, 0 },
	{ "sradon", "PLS-Int iteration", K_SRADON, ITERATION, &g, &scatter, 0 },
	{ "sradon", "PLS-Int iteration, 2e-2", K_SRADON, ITERATION, &g, &scatter, 2e-2 },
	{ "point", "svoxel point", K_SVOXEL, FORWARD, &point, NULL, 0 },
	{ "point", "svoxel point adjoint", K_SVOXEL, ADJOINT, &point_back, NULL, 0 },
	{ "point", "PLS-Sph iteration", K_SVOXEL, ITERATION, &point, &point_back, 0 },
	{ "rect", "svoxel rect", K_SVOXEL, FORWARD, &rect, NULL, 0 },
	{ "rect", "svoxel rect adjoint", K_SVOXEL, ADJOINT, &rect_back, NULL, 0 },
	{ "rect", "PLS-Sph rect iteration", K_SVOXEL, ITERATION, &rect, &rect_back, 0 },
};

enum { N_WORKS = sizeof works / sizeof works[0] };

static const char *const operators[] = { "ubp", "sradon", "point", "rect", "all", NULL };

static struct oat_settings set = { "all", NULL, "none", "2e-2,1e-3", { 210, 210, 440 }, RINGS, VIEWS,
	                           0,     3,    VOXEL,  40 };

static struct opt opts[] = {
	{ 0, "operator", .text = &set.operator, .words = operators, .value = "NAME",
	  .help = "ubp, sradon, svoxel with point or rect transducers, or all" },
	{ 0, "case", .text = &set.which, .words = oat_cases, .value = "NAME",
	  .help = "instead of all operators one problem: gpair-256 and gpair-512 (1024 transducers in a "
	          "plane; 256 x "
	          "256 x 128 and 512 x 512 x 256 voxels of 0.1 mm), wang and wang-rect (the paper's size by "
	          "svoxel, of "
	          "points and rectangles), slice (416 x 416 pixels, 256 transducers, 1 and 8 images at "
	          "once), sradon "
	          "(an iteration of PLS-Int)" },
	{ 0, "accuracy", .text = &set.accuracies, .value = "E,E,...",
	  .help = "accuracies of svoxel for 'case', each with rows of its own" },
	{ 0, "through", .text = &set.through, .words = oat_tissues, .value = "TISSUE",
	  .help = "tissue that is 5.4 % quicker, for 'case'. A ball has straight or bent rays; table is a "
	          "mask of the ball, which has tables of delays" },
	{ 0, "radius", .real = &set.radius, .value = "MM", .min = 1e-3, .max = 1e3,
	  .help = "radius of the tissue, which lies in the middle of the image" },
	{ 0, "grid", .integer = set.grid, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
	  .max = 1e5, .help = "number of voxels; with 'case' another than its own" },
	{ 0, "voxel", .real = &set.voxel, .value = "MM", .min = 1e-3, .max = 100,
	  .help = "edge of a voxel; with 'case' another than its own" },
	{ 0, "rings", .integer = &set.rings, .value = "N", .min = 1, .max = 1e5,
	  .help = "rings of transducers for ubp; the other operators use every second one" },
	{ 0, "views", .integer = &set.views, .value = "N", .min = 1, .max = 1e5,
	  .help = "transducers of a ring" },
	{ 0, "transducers", .integer = &set.transducers, .value = "N", .min = 1, .max = 1e9,
	  .absent = "all on CUDA; on the CPU 2 per thread, at least 4, and 16 times as many "
	            "for ubp",
	  .help = "use this many transducers, spread over all" },
	BENCH_REPEATS(&set.repeats),
	{ 0 },
};

struct run {
	struct cmd *c;
	bool cuda;
	struct oat_rates rates; /* measured */
	/* of the row at hand */
	const struct work *w;
	bool rect;
	struct iso_transducers t;
	struct iso_grid grid;
	struct iso_ubp ubp; /* the model of the row's kind is used */
	struct iso_sradon sradon;
	struct iso_svoxel svoxel;
	double setup_s;
	iso_op *op, *more;    /* more: He, beside D */
	struct iso_room room; /* has the vectors */
	iso_real *x, *y, *y2;
	iso_cg_state *cg; /* of iterations */
	/* of the warm-up, then of the repeats; and of the processor, which other programs on the
	   machine do not lengthen */
	double seconds[BENCH_MOST_REPEATS + 1], processor[BENCH_MOST_REPEATS + 1];
};

/* ---- the problem ---- */

/* Rings from equal shares, views by the golden section, or all would look from one side. */
static int64_t kept(int64_t i, int64_t n, int64_t all)
{
	double turn = .6180339887498949 * (double)i;
	int64_t ring = (2 * i + 1) * all / (2 * n) / set.views;
	int64_t q = ring * set.views + (int64_t)((turn - floor(turn)) * (double)set.views);

	return q < i ? i : q;
}

void bench_pick(struct iso_transducers *t, int64_t n, int64_t (*which)(int64_t i, int64_t n, int64_t all))
{
	double *const part[] = { t->pos, t->normal, t->ex, t->ey, t->aperture, t->area };
	static const size_t columns[] = { 3, 3, 3, 3, 2, 1 };

	for (int64_t i = 0; i < n && n < t->n; i++)
		for (int k = 0; k < 6; k++) {
			size_t row = columns[k] * sizeof *part[k], q = (size_t)which(i, n, t->n);

			if (part[k]) memmove(part[k] + (size_t)i * columns[k], part[k] + q * columns[k], row);
		}
	t->n = n < t->n ? n : t->n;
}

static int make_transducers(struct run *r)
{
	const int every = r->w->kind == K_UBP ? 1 : 2;
	const double step = M_PI / (double)set.rings;
	const struct iso_rings rings = {
		RADIUS, (set.rings + every - 1) / every, set.views, step / 2, every * step,
		0,      2 * M_PI / (double)set.views
	};
	struct iso_transducers *t = &r->t;
	int64_t few = 2 * iso_ctx_threads(r->c->ctx);
	int st;

	*t = (struct iso_transducers){
		.speed = 1.54, .dt_us = .05, .first_us = 17.5, .samples = SAMPLES, .gamma = 2000
	};
	if ((st = iso_transducers_rings(t, &rings))) return st;
	few = set.transducers ? set.transducers
	      : r->cuda       ? t->n
	                      : (few < 4 ? 4 : few) * (every == 1 ? 16 : 1);
	bench_pick(t, few, kept);
	if (r->rect) st = BENCH_NEW(t->aperture, 2 * t->n);
	for (int64_t i = 0; i < 2 * t->n && r->rect && !st; i++) t->aperture[i] = 2;
	if (st || r->w->kind != K_TRACES || (st = BENCH_NEW(t->eir, EIR))) return st;
	t->n_eir = EIR; /* of the form of an impulse response; any has the same time */
	for (int k = 0; k < EIR; k++) t->eir[k] = exp(-.1 * k) * cos(.7 * k);
	return ISO_OK;
}

/* The paper's first node is half a voxel further out than a centred grid's. Gather on the CPU is
   for tests: the middle plane tells its rate. */
static int begin_problem(struct run *r)
{
	const struct cost *first = r->w->first;
	int st;

	r->rect = strcmp(r->w->name, "rect") == 0;
	if ((st = make_transducers(r))) return st;
	for (int a = 0; a < 3; a++) {
		r->grid.n[a] = set.grid[a];
		r->grid.voxel[a] = set.voxel;
		r->grid.centre[a] = -set.voxel / 2;
	}
	if (first == &gather && !r->cuda) r->grid.n[2] = 1;
	r->ubp = (struct iso_ubp){
		.size = sizeof r->ubp, .transducers = &r->t, .grid = r->grid, .weights = ISO_UBP_SPHERE
	};
	r->sradon = (struct iso_sradon){ .size = sizeof r->sradon, .t = &r->t, .grid = r->grid };
	r->sradon.accuracy = r->w->accuracy;
	r->sradon.adjoint = first == &gather    ? ISO_SRADON_GATHER
	                    : first == &scatter ? ISO_SRADON_SCATTER
	                                        : ISO_SRADON_AUTO;
	r->svoxel = (struct iso_svoxel){ .size = sizeof r->svoxel, .t = &r->t, .grid = r->grid };
	r->svoxel.sir = r->rect ? ISO_SIR_RECT : ISO_SIR_POINT;
	return r->w->kind == K_SVOXEL ? iso_svoxel_lines(&r->svoxel, 0) : ISO_OK;
}

static int plan(const struct run *r)
{
	const int64_t n = iso_grid_voxels(&r->grid);
	const int64_t rows = r->t.n * (r->w->kind == K_SVOXEL ? 2 * r->svoxel.lines : r->t.samples);
	struct iso_plan lines = { 0 };

	if (r->w->way == ITERATION)
		iso_cg_plan(&lines, r->c->ctx, n, rows, false);
	else
		iso_plan_add(&lines, "image", n, sizeof(iso_real), r->cuda);
	iso_plan_add(&lines, "data", rows, 2 * sizeof(iso_real), r->cuda);
	if (r->w->kind == K_UBP) iso_ubp_plan(&lines, r->c->ctx, &r->ubp);
	if (r->w->kind == K_SRADON) iso_sradon_plan(&lines, r->c->ctx, &r->sradon);
	if (r->w->kind == K_SVOXEL) iso_svoxel_plan(&lines, r->c->ctx, &r->svoxel);
	return cmd_plan(r->c, &lines);
}

/* ---- the operator ---- */

static int make_operator(struct run *r)
{
	iso_ctx *ctx = r->c->ctx;
	int st;

	switch (r->w->kind) {
	case K_UBP:
		return iso_ubp_create(&r->op, ctx, &r->ubp);
	case K_SVOXEL:
		return iso_svoxel_create(&r->op, ctx, &r->svoxel);
	case K_TRACES:
		st = iso_sradon_derivative(&r->op, ctx, &r->t);
		return st ? st : iso_sradon_response(&r->more, ctx, &r->t);
	default:
		if (r->w->way == ITERATION) return iso_sradon_create(&r->op, ctx, &r->sradon);
		return iso_sradon_integrals(&r->op, ctx, &r->sradon);
	}
}

/* An image of ones and data that go up and down; for iterations the data of the ones, and a start of 0. */
static int begin_vectors(struct run *r)
{
	iso_ctx *ctx = r->c->ctx;
	const int64_t n = iso_op_n_in(r->op), rows = iso_op_n_out(r->op);
	iso_real *host;
	int st;

	r->room = iso_room_of(ctx, "bench");
	ISO_HOST(&r->room, host, rows);
	for (int64_t i = 0; i < rows && host; i++) host[i] = (iso_real)sin(.05 * (double)i);
	ISO_DEVICE(&r->room, r->x, n);
	ISO_UPLOAD(&r->room, r->y, host, rows);
	ISO_DEVICE(&r->room, r->y2, rows);
	iso_room_drop(&r->room, host);
	if ((st = r->room.status) || (st = iso_ctx_vec(ctx)->fill(ctx, n, r->x, 1))) return st;
	if (r->w->way != ITERATION || (st = iso_forward(r->y, r->op, ISO_ALL, r->x))) return st;
	return iso_ctx_vec(ctx)->fill(ctx, n, r->x, 0);
}

static void end_operator(struct run *r)
{
	iso_cg_free(r->cg);
	iso_room_free(&r->room);
	iso_op_free(r->op);
	iso_op_free(r->more);
	iso_transducers_free(&r->t);
	r->op = r->more = NULL;
	r->cg = NULL;
}

/* ---- times ---- */

/* The first counts from the start, with the adjoint of the data. */
static int iterate(struct run *r)
{
	const struct iso_cg p = { sizeof p, r->op, ISO_DEVICE, r->y, .iterations = (int)set.repeats + 1 };
	int st = r->cg ? ISO_OK : iso_cg_create(&r->cg, &p, r->x), n;

	if (st || !iso_cg_finished(r->cg)) return st ? st : iso_cg_step(r->cg);
	iso_cg_cost(&n, r->cg);
	return iso_fail(
		ISO_EARG,
		"bench: the image is found after %d iterations; take a larger grid or fewer --repeats",
		n - 1);
}

static int do_once(void *arg)
{
	struct run *r = arg;
	int st;

	if (r->w->way == ITERATION) return iterate(r);
	if (r->w->way == FORWARD) return iso_forward(r->y, r->op, ISO_ALL, r->x);
	if (r->w->way == ADJOINT) return iso_adjoint(r->x, r->op, ISO_ALL, r->y);
	if ((st = iso_forward(r->y2, r->op, ISO_ALL, r->y))) return st;
	if ((st = iso_forward(r->y, r->more, ISO_ALL, r->y2))) return st;
	if ((st = iso_adjoint(r->y2, r->more, ISO_ALL, r->y))) return st;
	return iso_adjoint(r->y, r->op, ISO_ALL, r->y2);
}

/* ---- one row ---- */

/* Of the problem at hand, or of the paper's size. A point stands for h^2 c dt of the image, h = step ds. */
static double count(const struct run *r, enum unit unit, bool full)
{
	double trans = full ? (double)VIEWS * RINGS / (r->w->kind == K_UBP ? 1 : 2) : (double)r->t.n;
	double voxel = full ? VOXEL : set.voxel;
	double pairs = trans * (full ? VOXELS : (double)iso_grid_voxels(&r->grid));
	double step = iso_sradon_step(&r->sradon);

	return unit == PAIRS           ? pairs
	       : unit == TRACE_SAMPLES ? trans * SAMPLES
	                               : pairs * voxel / (r->t.speed * r->t.dt_us * step * step);
}

/* Shortest time that the rates allow, and the name of what sets it. */
static double least_s(const struct run *r, const struct cost *c, const char **limit)
{
	static const char *const names[] = { "arithmetic", "first-level cache", "memory" };
	const double n = count(r, c->unit, false);
	const double seconds[] = { n * c->operations / r->rates.operations, n * c->cache / r->rates.cache,
		                   n * c->memory / r->rates.limits.triad };
	int most = 0;

	for (int i = 1; i < 3; i++) most = seconds[i] > seconds[most] ? i : most;
	*limit = names[most];
	return seconds[most];
}

/* A core: by the time that processors worked, all threads together. */
static int add_row(struct run *r)
{
	const struct work *w = r->w;
	const enum unit unit = w->first->unit;
	const int64_t numbers = iso_op_n_in(r->op) + iso_op_n_out(r->op);
	const double n = count(r, unit, false), pairs = count(r, PAIRS, false);
	struct bench_row row = { .bench = "oat", .time = bench_time((int)set.repeats, r->seconds + 1) };
	const double s = row.time.median, full_s = s * count(r, unit, true) / n;
	double processor = bench_time((int)set.repeats, r->processor + 1).median;
	const char *limit = "", *back = "";
	char limits[64], core[64] = "";

	row.limit_s = least_s(r, w->first, &limit);
	if (w->second) row.limit_s += least_s(r, w->second, &back);
	snprintf(limits, sizeof limits, "%s%s%s", limit, *back ? ", back " : "", back);
	row.events = (double)(r->t.n * r->t.samples);
	row.visits = w->kind == K_TRACES ? 0 : pairs;
	row.bytes = w->kind == K_TRACES
	                    ? traces.memory * n
	                    : (double)sizeof(iso_real) * (double)numbers * (w->way == ITERATION ? 2 : 1);
	row.more = record_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:s, s:f, s:f, s:f, s:s, s:f, s:f, s:f, s:f}",
	                       "operator", w->name, "what", w->what, "voxels",
	                       (json_int_t)iso_grid_voxels(&r->grid), "transducers", (json_int_t)r->t.n,
	                       "pairs", pairs, "pairs_per_s", pairs / s, "unit", units[unit], "units", n,
	                       "units_per_s", n / s, "operations_per_unit", w->first->operations,
	                       "limited_by", limits, "full_size_s", full_s, "processor_s", processor,
	                       "setup_s", r->setup_s, "first_s", r->seconds[0]);
	snprintf(row.problem, sizeof row.problem, "%s", w->what);
	if (!r->cuda) snprintf(core, sizeof core, " (%.3g a core)", n / processor);
	snprintf(row.note, sizeof row.note,
	         "%" PRId64 "x%" PRId64 "x%" PRId64 " voxels, %" PRId64
	         " transducers: %.3g %s/s%s; limit: %s; set-up %.3g s, first %.3g s; full size %.3g s",
	         r->grid.n[0], r->grid.n[1], r->grid.n[2], r->t.n, n / s, units[unit], core, limits,
	         r->setup_s, r->seconds[0], full_s);
	return bench_add(r->c, &row);
}

static int time_row(struct run *r)
{
	struct bench_work work = { r->c->ctx, NULL, do_once, r, r->processor };
	double start_s = iso_now_s();
	int st = make_operator(r);

	r->setup_s = iso_now_s() - start_s;
	if (!st) st = begin_vectors(r);
	work.made = r->x;
	if (!st) st = bench_repeat(1 + (int)set.repeats, r->seconds, &work);
	return st ? st : add_row(r);
}

/* ---- all of them ---- */

/* By 'operator', or the iteration of case sradon. */
static bool chosen(const struct work *w)
{
	if (set.which) return w->kind == K_SRADON && w->way == ITERATION;
	return bench_chosen(set.operator, w->name);
}

/* Each chosen row: its plan alone, or its work. CMD_DONE if a plan was all that was asked for. */
static int run_rows(struct run *r, bool plans)
{
	int st = ISO_OK, all = ISO_OK;

	for (int i = 0; i < N_WORKS && (st == ISO_OK || st == CMD_DONE); i++) {
		if (!chosen(&works[i])) continue;
		r->w = &works[i];
		st = begin_problem(r);
		if (!st) st = plans ? plan(r) : time_row(r);
		end_operator(r);
		all = st == CMD_DONE ? st : all;
	}
	return st ? st : all;
}

static int measure(struct oat_rates *r, struct cmd *c)
{
	int st;

	if ((st = iso_arithmetic_rate(&r->operations, c->ctx)) || (st = iso_cache_rate(&r->cache, c->ctx)) ||
	    (st = iso_limits_measure(&r->limits, c->ctx, SET_BYTES)))
		return st;
	if (bench_says(c))
		printf(": measured %.3g operations/s, first-level cache %.3g B/s, memory %.3g B/s, %.3g "
		       "additions/s to random places\n",
		       r->operations, r->cache, r->limits.triad, r->limits.add_8);
	return record_result(&c->record, "limits",
	                     record_pack("{s:f, s:f, s:f, s:f}", "operations_per_s", r->operations,
	                                 "cache_bytes_per_s", r->cache, "memory_bytes_per_s", r->limits.triad,
	                                 "additions_per_s", r->limits.add_8));
}

/* What was not given is the case's own. */
static int run_case(struct cmd *c)
{
	struct oat_settings s = set;
	struct oat_rates rates;
	int st;

	for (int a = 0; a < 3 && !cmd_given(c, "grid"); a++) s.grid[a] = 0;
	if (!cmd_given(c, "voxel")) s.voxel = 0;
	if (!cmd_given(c, "repeats")) s.repeats = iso_ctx_is_cuda(c->ctx) ? CASE_REPEATS : CASE_REPEATS_CPU;
	if ((st = oat_case(c, &s, NULL)) || (st = measure(&rates, c))) return st;
	return oat_case(c, &s, &rates);
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run r = { .c = c, .cuda = iso_ctx_is_cuda(c->ctx) };
	int st;

	(void)sets; /* every option has a default */
	if (set.which && strcmp(set.which, "sradon") != 0) return run_case(c);
	if ((st = run_rows(&r, true)) || (st = measure(&r.rates, c))) return st;
	if (!c->json)
		printf("voxel-transducer pairs count as visits, samples as events; full size is %g voxels "
		       "with %d x %d transducers, for ubp %d x %d\n",
		       VOXELS, RINGS / 2, VIEWS, RINGS, VIEWS);
	return run_rows(&r, false);
}

const struct bench bench_oat = { "oat", "Benchmark oat", opts, run, &set, sizeof set, false };
