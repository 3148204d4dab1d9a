/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark strip: one EM step of the two-strip model over events of the paper's phantom. */
#include "bench.h"

#include "limits.h"
#include "model/strip/strip_kern.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNTED 100000 /* events whose pixels are counted */

static const char *const kernels[] = { "eq7", "tan", "gauss", "all", NULL }; /* as the enums */
static const char *const strategies[] = { "fast", "warp", "thread", "all", NULL };

enum { N_KERNELS = 3, N_STRATEGIES = 3 };

/* Operations of a pixel, the least that each kernel needs once its row is known: for eq7 the
   exponent 11, the root 2, the exponential 11; for tan and gauss, whose exponent is quadratic
   along the row, two multiplications from pixel to pixel (tan: and its denominator, 5). The way
   there and back is 5 more for all: weight x image added up; weight x image x 1/sum added. A
   reciprocal and a root count as one. */
static const double operations[N_KERNELS] = { 30, 12, 7 };

static struct settings {
	double events, pixel;
	int64_t repeats, seed;
	const char *kernel, *strategy;
} set = { .repeats = 5, .seed = 1, .pixel = 4, .kernel = "all", .strategy = "all" };

static struct opt opts[] = {
	{ 0, "kernel", .text = &set.kernel, .words = kernels, .value = "NAME",
	  .help = "eq7, tan, gauss or all" },
	{ 0, "strategy", .text = &set.strategy, .words = strategies, .value = "NAME",
	  .help = "on CUDA: fast, the paper's warp or thread, or all; the CPU has one "
	          "strategy" },
	{ 0, "pixel", .real = &set.pixel, .value = "MM", .min = .1, .max = 100, .help = "edge of a pixel" },
	BENCH_EVENTS(&set.events),
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of the events" },
	{ 0 },
};

struct run {
	struct cmd *c;
	struct iso_strip p;
	struct iso_strip_events e;
	double generate_s, pixels; /* pixels: of an event, mean */
	double per_s;              /* operations, measured here */
};

/* ---- the problem ---- */

double bench_strip_pixels(const struct iso_strip *p, const struct iso_strip_events *e)
{
	const struct strip_inverse inverse = strip_inverse(&p->strips, 0, 0);
	const struct strip_params params = { p->strips, (int)p->ny, (int)p->nz, p->pixel,
		                             p->kernel, p->edge,    inverse };
	int64_t counted = e->n < COUNTED ? e->n : COUNTED, stride = e->n / counted, pixels = 0;

	for (int64_t j = 0; j < counted; j++) {
		struct strip_line l = strip_line(&params, &e->v[j * stride]);

		for (int iy = l.low; iy <= l.high; iy++)
			pixels += strip_span(&l, params.nz, (iso_real)params.pixel, iy).n;
	}
	return (double)pixels / (double)counted;
}

double bench_strip_operations(enum iso_strip_kernel kernel)
{
	return operations[kernel];
}

static int make_events(struct run *r)
{
	iso_phantom *phantom = NULL;
	double start_s = iso_now_s();
	int st;

	r->e.n = (int64_t)set.events;
	if ((st = BENCH_NEW(r->e.v, r->e.n)) || (st = iso_phantom_create(&phantom, "ellipses", NULL)))
		return st;
	st = iso_strip_simulate(r->e.v, r->c->ctx, &r->p.strips, phantom, (uint64_t)set.seed, 0, r->e.n);
	iso_phantom_free(phantom);
	r->generate_s = iso_now_s() - start_s;
	r->pixels = st ? 0 : bench_strip_pixels(&r->p, &r->e);
	return st;
}

/* ---- one row ---- */

static int run_row(const struct run *r)
{
	const char *strategy = iso_ctx_is_cuda(r->c->ctx) ? strategies[r->p.strategy] : "cpu";
	const double each = operations[r->p.kernel];
	struct bench_row row = { .bench = "strip", .events = (double)r->e.n };
	struct bench_steps t = { 0 };
	struct bench_time ratio = { 0 }; /* of a step of ratios */
	double start_s = iso_now_s(), setup_s;
	iso_op *op = NULL;
	int st = iso_strip_create(&op, r->c->ctx, &r->p, &r->e);

	setup_s = iso_now_s() - start_s;
	if (!st) st = bench_steps(&t, op, (int)set.repeats);
	if (!st) st = bench_ratios(&ratio, op, (int)set.repeats);
	iso_op_free(op);
	if (st) return st;
	row.time = t.step;
	row.visits = r->pixels * row.events;
	row.bytes = 8 * row.visits + (double)sizeof *r->e.v * row.events;
	row.limit_s = row.visits * each / r->per_s;
	row.more = record_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "kernel",
	                       kernels[r->p.kernel], "strategy", strategy, "events", (json_int_t)r->e.n,
	                       "events_used", (json_int_t)t.stat.used, "sum_of_image", t.sum, "loglik",
	                       t.stat.loglik, "pixels_per_event", r->pixels, "operations_per_pixel", each,
	                       "operations_per_s", r->per_s, "generate_s", r->generate_s, "setup_s", setup_s,
	                       "first_step_s", t.first_s, "ratio_step_s", ratio.median);
	snprintf(row.problem, sizeof row.problem, "%s %s %" PRId64 "x%" PRId64, kernels[r->p.kernel],
	         strategy, r->p.nz, r->p.ny);
	snprintf(row.note, sizeof row.note,
	         "set-up %.3g s; first step %.3g s; step of ratios %.3g s; %.1f pixels an event, %g "
	         "operations each; %" PRId64 " events used, sum of image %.7g, log L %.7g",
	         setup_s, t.first_s, ratio.median, r->pixels, each, t.stat.used, t.sum, t.stat.loglik);
	return bench_add(r->c, &row);
}

/* ---- all of them ---- */

static int plan(const struct run *r)
{
	struct iso_plan lines = { 0 };
	int64_t n = (int64_t)set.events;

	iso_plan_add(&lines, "events", n, sizeof(struct iso_strip_event), false);
	iso_plan_add(&lines, "image and its update", r->p.ny * r->p.nz, 2 * sizeof(iso_real),
	             iso_ctx_is_cuda(r->c->ctx));
	iso_strip_plan(&lines, r->c->ctx, &r->p, n);
	return cmd_plan(r->c, &lines);
}

static int run_rows(struct run *r)
{
	const bool cuda = iso_ctx_is_cuda(r->c->ctx);
	int st = ISO_OK;

	for (int i = 0; i < N_KERNELS * (cuda ? N_STRATEGIES : 1) && !st; i++) {
		int k = cuda ? i / N_STRATEGIES : i, s = cuda ? i % N_STRATEGIES : 0;

		r->p.kernel = (enum iso_strip_kernel)k;
		r->p.strategy = (enum iso_strip_strategy)s;
		if (bench_chosen(set.kernel, kernels[k]) &&
		    (!cuda || bench_chosen(set.strategy, strategies[s])))
			st = run_row(r);
	}
	return st;
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run r = { .c = c, .p = { .size = sizeof r.p, .strips = BENCH_STRIPS, .n_sub = 1 } };
	int st;

	r.p.pixel = set.pixel;
	r.p.nz = (int64_t)ceil(r.p.strips.length / set.pixel);
	r.p.ny = (int64_t)ceil(2 * r.p.strips.radius / set.pixel);
	if (!opt_find(sets, "events")->given) set.events = bench_events(c->ctx);
	if (opt_find(sets, "strategy")->given && !iso_ctx_is_cuda(c->ctx))
		return iso_fail(ISO_EARG, "--strategy is of CUDA; the CPU has one way");
	if ((st = plan(&r))) return st;
	if ((st = make_events(&r)) || (st = iso_arithmetic_rate(&r.per_s, c->ctx))) goto done;
	if (bench_says(c)) printf(": %.3g float operations a second measured\n", r.per_s);
	if ((st = record_result(&c->record, "operations_per_s", record_real(r.per_s)))) goto done;
	st = run_rows(&r);
done:
	free(r.e.v);
	return st;
}

const struct bench bench_strip = { "strip", "Benchmark strip", opts, run, &set, sizeof set, false };
