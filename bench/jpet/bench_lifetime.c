/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark lifetime: lives of positronium from triples of modular J-PET, by each method. */
#include "jpet.h"

#include "isotome/lifetime.h"
#include "bench/limits.h"

#include <math.h>
#include <stdio.h>

static const char *const methods[] = { "posterior", "image", "moment", "emg", NULL };

enum { POSTERIOR, IMAGE, MOMENT, EMG, METHODS };

/* Operations of an entry: both ways a multiplication and an addition an image, once or three times; of emg eight values by
   interpolation, the density, its slopes and what they add to six sums. */
static const double operations[METHODS] = { 8, 4, 12, 60 };

#define SHARE .3
#define LIFE 1.6 /* the climb begins at 2 */

static struct settings {
	double events, voxel;
	int64_t size[3], repeats, seed, iterations;
	const char *method;
} set = { .events = 1e5,
	  .voxel = 12,
	  .size = { 13, 13, 24 },
	  .repeats = 3,
	  .seed = 1,
	  .iterations = 10,
	  .method = "all" };

static const char *const chosen[] = { "posterior", "image", "moment", "emg", "all", NULL };

static struct opt opts[] = {
	{ 0, "life-method", .text = &set.method, .words = chosen, .value = "NAME",
	  .help = "posterior, moment or emg; image: EM of one image from the same rows; or all" },
	{ 0, "size", .integer = set.size, .count = 3, .value = "NX,NY,NZ", .min = 1, .max = 1000,
	  .help = "number of voxels" },
	{ 0, "voxel", .real = &set.voxel, .unit = "mm", .value = "MM", .min = .5, .max = 100,
	  .help = "edge of a voxel" },
	{ 0, "triples", .real = &set.events, .value = "N", .min = 100, .max = 1e9,
	  .help = "number of triples" },
	{ 0, "iterations", .integer = &set.iterations, .value = "N", .min = 1, .max = 1e4,
	  .help = "iterations of EM" },
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of the triples" },
	{ 0 },
};

struct run {
	struct cmd *c;
	struct jpet j;
	struct iso_barrel_model m;
	struct iso_lifetime_model times;
	double *time, *tau;
	iso_real *sens;
	iso_ctx *host;
	iso_triples *t;
	iso_prior *prior;
	double rows_s, per_s;
	struct iso_lifetime ask;
	struct iso_lifetime_maps to;
	int method;
};

/* ---- the problem ---- */

static int make_times(struct run *r)
{
	int st = BENCH_NEW(r->time, r->j.e.n);

	iso_lifetime_usual(&r->times);
	for (int64_t i = 0; i < r->j.e.n && !st; i++)
		st = iso_lifetime_draw(r->time + i, &r->times, LIFE, SHARE, (uint64_t)set.seed, (uint64_t)i);
	return st;
}

static int make_triples(struct run *r)
{
	iso_ctx *ctx = r->c->ctx;
	const int64_t n = iso_grid_voxels(&r->m.grid);
	double start_s = iso_now_s();
	iso_op *op = NULL;
	int st = iso_ctx_create(&r->host, "cpu", iso_ctx_threads(ctx));

	if (!st) st = iso_barrel_create(&op, r->host, &r->m, &r->j.e);
	if (!st) st = iso_triples_of_op(&r->t, op, &r->times, r->time, NULL);
	iso_op_free(op);
	if (!st && iso_ctx_is_cuda(ctx)) st = iso_triples_move(r->t, ctx);
	r->rows_s = iso_now_s() - start_s;
	if (st || (st = BENCH_NEW(r->sens, n)) || (st = BENCH_NEW(r->tau, n)) ||
	    (st = iso_barrel_sens(r->sens, ctx, &r->m, NULL)))
		return st;
	const struct iso_prior_spec p = { .size = sizeof p, .kind = ISO_PRIOR_QUADRATIC, .grid = r->m.grid };

	return iso_prior_create(&r->prior, r->host, &p);
}

/* ---- one row ---- */

static int once(struct run *r)
{
	struct iso_lifetime p = r->ask;

	r->to = (struct iso_lifetime_maps){ .size = sizeof r->to, .tau = r->tau };
	if (r->method == POSTERIOR) {
		for (int64_t v = 0; v < iso_grid_voxels(&r->m.grid); v++) r->tau[v] = 1;
		p.activity = r->tau;
		r->to.tau = NULL;
		return iso_lifetime_posterior(&r->to, r->t, &p);
	}
	if (r->method == EMG) {
		p.prior = r->prior;
		p.rel = .2;
		return iso_lifetime_emg(&r->to, r->t, &p);
	}
	p.w_all = r->method == MOMENT ? 0 : SHARE;
	return r->method == MOMENT ? iso_lifetime_moments(&r->to, NULL, r->t, &p)
	                           : iso_lifetime_posterior(&r->to, r->t, &p);
}

static int run_row(struct run *r)
{
	struct bench_row row = { .bench = "lifetime", .events = (double)iso_triples_count(r->t) };
	double seconds[BENCH_MOST_REPEATS + 1];
	int st = ISO_OK;

	for (int64_t i = 0; i <= set.repeats && !st; i++) {
		const double start_s = iso_now_s();

		st = once(r);
		seconds[i] = iso_now_s() - start_s;
	}
	if (st) return st;
	const double passes = r->method == EMG         ? r->to.iterations + 2
	                      : r->method == POSTERIOR ? 1
	                                               : (double)set.iterations;

	row.time = bench_time((int)set.repeats, seconds + 1);
	row.visits = passes * r->j.visited * row.events;
	row.bytes = (double)(sizeof(int32_t) + sizeof(iso_real)) * row.visits;
	row.limit_s = row.visits * operations[r->method] / r->per_s;
	row.more = record_pack("{s:s, s:I, s:f, s:f, s:i, s:f, s:f}", "method", methods[r->method], "triples",
	                       (json_int_t)iso_triples_count(r->t), "voxels_per_triple", r->j.visited,
	                       "rows_s", r->rows_s, "emg_iterations", r->to.iterations, "residual",
	                       r->to.residual, "passes", passes);
	snprintf(row.problem, sizeof row.problem, "%s %" PRId64 " voxels", methods[r->method],
	         iso_grid_voxels(&r->m.grid));
	snprintf(row.note, sizeof row.note,
	         "rows %.3g s, once; %.1f voxels a triple; %g passes, %g operations each%s", r->rows_s,
	         r->j.visited, passes, operations[r->method],
	         r->method == EMG && !r->to.converged ? "; not converged" : "");
	return bench_add(r->c, &row);
}

/* ---- all of them ---- */

static int plan(struct run *r)
{
	struct iso_plan lines = { 0 };
	const int64_t n = (int64_t)set.events;

	iso_plan_add(&lines, "events and times", n, sizeof(struct iso_barrel_event) + sizeof(double), false);
	iso_plan_add(&lines, "rows", n, (int64_t)(8 * r->j.visited), false);
	return cmd_plan(r->c, &lines);
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run r = { .c = c };
	int st = jpet_open(&r.j, 0);

	(void)sets;
	if (st) goto done;
	r.m = (struct iso_barrel_model){ .size = sizeof r.m, .barrel = r.j.b, .n_sub = 1 };
	for (int a = 0; a < 3; a++) {
		r.m.grid.n[a] = set.size[a];
		r.m.grid.voxel[a] = set.voxel;
		r.j.half[a] = .8 * (double)set.size[a] * set.voxel / 2;
	}
	r.ask = (struct iso_lifetime){ .size = sizeof r.ask,
		                       .w_all = SHARE,
		                       .iterations = (int)set.iterations,
		                       .error = ISO_LIFETIME_DIAGONAL,
		                       .seed = 1 };
	if ((st = jpet_events(&r.j, c->ctx, (int64_t)set.events, (uint64_t)set.seed)) ||
	    (st = jpet_visited(&r.j, &r.m)) || (st = plan(&r)) || (st = make_times(&r)) ||
	    (st = make_triples(&r)) || (st = iso_arithmetic_rate(&r.per_s, c->ctx)))
		goto done;
	r.ask.sens = r.sens;
	for (r.method = 0; r.method < METHODS && !st; r.method++)
		if (bench_chosen(set.method, methods[r.method])) st = run_row(&r);
done:
	iso_triples_free(r.t);
	iso_prior_free(r.prior);
	iso_ctx_free(r.host);
	free(r.time);
	free(r.tau);
	free(r.sens);
	jpet_free(&r.j);
	return st;
}

const struct bench bench_lifetime = { "lifetime", "Benchmark lifetime", opts, run, &set, sizeof set, false };
