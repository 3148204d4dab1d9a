/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark dynamic: what replicates and kinetics cost beside a plain reconstruction of the same events, by OSEM. Events of an
   ideal ring in random order, in bins of equal counts. */
#include "bench/bench.h"

#include "core/ctx.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOF_FWHM_PS 390.

static const struct problem {
	const char *name;
	struct iso_grid grid;
	double radius, length; /* of the ring, mm */
} problems[] = {
	{ "128", { { 128, 128, 128 }, { 4, 4, 4 }, { 0 } }, 330, 200 },
	{ "body", { { 133, 86, 580 }, { 4, 4, 4 }, { 0 } }, 400, 2000 },
};

static const char *const cases[] = { "128", "body", NULL };

static struct settings {
	double events;
	int64_t size[3], subsets, repeats, replicates, batch, inner, seed;
	double voxel[3], tof_fwhm_ps;
	const char *which;
} set = { 0, { 0 }, 20, 3, 8, 4, 4, 1, { 4, 4, 4 }, TOF_FWHM_PS, "128" };

static struct opt opts[] = {
	{ 0, "case", .text = &set.which, .words = cases, .value = "NAME",
	  .help = "128 (voxels of 4 mm) cubed in a clinical ring, body (133 x 86 x 580 of 4 mm) in a ring of "
	          "2 m" },
	{ 0, "grid", .integer = set.size, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
	  .max = 1e5, .absent = "the grid of --case", .help = "another image, in the clinical ring" },
	{ 0, "voxel", .real = set.voxel, .count = 3, .spread = true, .value = "DX,DY,DZ", .min = 1e-3,
	  .max = 1e4, .help = "size of the voxels of --grid, mm" },
	BENCH_EVENTS(&set.events),
	{ 0, "tof-fwhm-ps", .real = &set.tof_fwhm_ps, .value = "PS", .min = 0, .max = 1e5,
	  .help = "time-of-flight resolution, cut at 3 sigma; 0: none" },
	{ 0, "subsets", .integer = &set.subsets, .value = "Q", .min = 1, .max = 1000,
	  .help = "subsets of a pass" },
	{ 0, "replicates", .integer = &set.replicates, .value = "R", .min = 0, .max = 1000,
	  .help = "replicates; 0: no row of them" },
	{ 0, "batch", .integer = &set.batch, .value = "E", .min = 1, .max = 64,
	  .help = "replicates that share a pass over the rays" },
	{ 0, "inner", .integer = &set.inner, .value = "L", .min = 1, .max = 1000,
	  .help = "fits of the coefficients behind each subset" },
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of the events" },
	{ 0 },
};

struct run {
	struct cmd *c;
	struct problem p;
	struct iso_events e;
	iso_real *sens;  /* 1: it is not what is timed */
	double passes_s; /* of the plain run: set.repeats passes */
};

static struct iso_ray ray_of(const struct run *r)
{
	return (struct iso_ray){ .size = sizeof(struct iso_ray),
		                 .grid = r->p.grid,
		                 .n_sub = (int)set.subsets,
		                 .tof_fwhm_ps = set.tof_fwhm_ps,
		                 .tof_truncate = 3 };
}

static int add_row(const struct run *r, const char *what, double seconds, double passes, const char *note)
{
	struct bench_row row = { .bench = "dynamic", .events = (double)r->e.n * passes };

	snprintf(row.problem, sizeof row.problem, "%s", what);
	snprintf(row.note, sizeof row.note, "%s", note);
	row.time = bench_time(1, &seconds);
	row.more = record_pack("{s:f, s:f, s:f}", "passes", passes, "plain_s", r->passes_s, "over_plain",
	                       r->passes_s > 0 ? seconds / r->passes_s : NAN);
	return bench_add(r->c, &row);
}

/* ---- plain, and replicates ---- */

static int time_plain(struct run *r, struct iso_em *em, iso_real *x)
{
	double start_s = iso_now_s();
	char note[256];
	int st = iso_em_run(x, NULL, em, NULL); /* warms up */

	start_s = iso_now_s();
	if (!st) st = iso_em_run(x, NULL, em, NULL);
	r->passes_s = iso_now_s() - start_s;
	snprintf(note, sizeof note, "%" PRId64 " passes of %" PRId64 " subsets, %.4g s a pass", set.repeats,
	         set.subsets, r->passes_s / (double)set.repeats);
	return st ? st : add_row(r, "plain", r->passes_s, (double)set.repeats, note);
}

static int time_replicates(struct run *r, const struct iso_em *em, iso_real *x)
{
	const int batch = (int)(set.batch < set.replicates ? set.batch : set.replicates);
	const struct iso_replicates which = { .size = sizeof which, .seed = 1, .batch = batch };
	iso_replicator *by = NULL;
	iso_real *images = NULL;
	double start_s = iso_now_s(), made_s, first_s = 0;
	char note[256];
	int st = BENCH_NEW(images, batch * iso_grid_voxels(&r->p.grid));

	if (!st) st = iso_replicator_create(&by, em, x, &which);
	made_s = iso_now_s() - start_s;
	for (int64_t done = 0; done < set.replicates && !st; done += batch) {
		int n = (int)(set.replicates - done < batch ? set.replicates - done : batch);

		st = iso_replicator_run(images, by, done, n);
		if (done == 0) first_s = iso_now_s() - start_s - made_s;
	}
	double all_s = iso_now_s() - start_s;

	snprintf(note, sizeof note,
	         "%.2f of the plain run a replicate, all in; start %.3g s, first batch %.3g s, the others "
	         "%.3g s each",
	         all_s / (double)set.replicates / r->passes_s, made_s, first_s,
	         (all_s - made_s - first_s) / fmax(1, ceil((double)set.replicates / batch) - 1));
	iso_replicator_free(by);
	free(images);
	return st ? st : add_row(r, "replicates", all_s, (double)(set.repeats * set.replicates), note);
}

static int run_plain(struct run *r)
{
	const struct iso_ray ray = ray_of(r);
	const int64_t n = iso_grid_voxels(&r->p.grid);
	struct iso_em em = { .size = sizeof em, .iterations = (int)set.repeats };
	iso_real *x = NULL;
	int st = iso_ray_create(&em.op, r->c->ctx, &ray, &r->e);

	em.sens = (struct iso_sens){ .image = r->sens, .n_images = 1, .n_sub = (int)set.subsets };
	if (!st) st = BENCH_NEW(x, n);
	for (int64_t i = 0; i < n && !st; i++) x[i] = 1;
	if (!st) st = time_plain(r, &em, x);
	for (int64_t i = 0; i < n && !st; i++) x[i] = 1;
	if (!st && set.replicates > 0) st = time_replicates(r, &em, x);
	iso_op_free(em.op);
	free(x);
	return st;
}

/* ---- kinetics ---- */

static int time_run(double *seconds, struct iso_kinetic *k, iso_real *theta, int iterations)
{
	double start_s = iso_now_s();
	int st;

	k->iterations = iterations;
	if ((st = iso_kinetic_start(theta, k, 1e6))) return st;
	start_s = iso_now_s();
	st = iso_kinetic_run(theta, NULL, k, NULL);
	*seconds = iso_now_s() - start_s;
	return st;
}

/* Smooth curves that differ. */
static void make_basis(double *mean, double *weight, int bases, int bins)
{
	for (int m = 0; m < bins; m++) {
		weight[m] = 1;
		for (int k = 0; k < bases; k++) mean[k * bins + m] = exp(-(double)k * m / bins) + .1 * k;
	}
}

static int time_kinetics(struct run *r, struct iso_kinetic *k)
{
	char what[40], note[256];
	iso_real *theta = NULL;
	double one_s, all_s;
	int st = BENCH_NEW(theta, k->coefficients * iso_grid_voxels(&r->p.grid));

	/* what a run takes besides its passes is in both */
	if (!st) st = time_run(&one_s, k, theta, 1);
	if (!st) st = time_run(&one_s, k, theta, 1);
	if (!st) st = time_run(&all_s, k, theta, 1 + (int)set.repeats);
	free(theta);
	if (st) return st;
	snprintf(what, sizeof what, "%d curves, %d bins", k->coefficients, k->bins);
	snprintf(note, sizeof note, "%.2f of the plain passes; a run of one pass takes %.3g s",
	         (all_s - one_s) / r->passes_s, one_s);
	return add_row(r, what, all_s - one_s, (double)set.repeats, note);
}

static int run_kinetics(struct run *r, int bases, int bins)
{
	struct iso_ray ray = ray_of(r);
	struct iso_kinetic k = { .size = sizeof k,
		                 .bins = bins,
		                 .coefficients = bases,
		                 .inner = (int)set.inner,
		                 .sens = r->sens };
	double *mean = NULL, *weight = NULL;
	int32_t *part = NULL;
	int st = BENCH_NEW(part, r->e.n);

	if (!st) st = BENCH_NEW(mean, bases * bins);
	if (!st) st = BENCH_NEW(weight, bins);
	for (int64_t j = 0; j < r->e.n && !st; j++) part[j] = (int32_t)(j * bins / r->e.n);
	if (!st) {
		make_basis(mean, weight, bases, bins);
		k.mean = mean;
		k.weight = weight;
		ray.parts = bins;
		ray.part = part;
		st = iso_ray_create(&k.op, r->c->ctx, &ray, &r->e);
	}
	if (!st) st = time_kinetics(r, &k);
	iso_op_free(k.op);
	free(part);
	free(mean);
	free(weight);
	return st;
}

/* ---- all ---- */

static int plan(struct cmd *c, const struct run *r)
{
	const int64_t n = iso_grid_voxels(&r->p.grid), events = (int64_t)set.events;
	const bool cuda = iso_ctx_is_cuda(c->ctx);
	struct iso_ray ray = ray_of(r);
	struct iso_plan lines = { 0 };

	iso_plan_add(&lines, "events, and their bins", events, sizeof(struct iso_event) + sizeof(int32_t),
	             false);
	iso_plan_add(&lines, "images of replicates", n, set.batch * 3 * (int64_t)sizeof(iso_real), cuda);
	iso_plan_add(&lines, "weights of events", events, set.batch * (int64_t)sizeof(iso_real), cuda);
	iso_ray_plan(&lines, c->ctx, &ray, events);
	iso_kinetic_plan(&lines, c->ctx, n, events, 60, 10, false);
	return cmd_plan(c, &lines);
}

static int make(struct run *r)
{
	const struct iso_ring ring = { r->p.radius, r->p.length, TOF_FWHM_PS, (uint64_t)set.seed };
	const int64_t n = iso_grid_voxels(&r->p.grid);
	int st = BENCH_NEW(r->sens, n);

	for (int64_t i = 0; i < n && !st; i++) r->sens[i] = 1;
	r->e.n = (int64_t)set.events;
	if (!st) st = BENCH_NEW(r->e.v, r->e.n);
	return st ? st : iso_ring_events(r->e.v, r->c->ctx, &ring, 0, r->e.n);
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run r = { .c = c, .p = problems[strcmp(set.which, "body") == 0] };
	int st;

	(void)sets;
	if (set.events == 0) set.events = bench_events(c->ctx);
	if (set.size[0] > 0) {
		r.p.radius = problems[0].radius;
		r.p.length = problems[0].length;
		memcpy(r.p.grid.n, set.size, sizeof r.p.grid.n);
		memcpy(r.p.grid.voxel, set.voxel, sizeof r.p.grid.voxel);
	}
	if ((st = iso_grid_check(&r.p.grid)) || (st = plan(c, &r))) return st;
	if (!(st = make(&r)) && !(st = run_plain(&r)) && !(st = run_kinetics(&r, 2, 24)))
		st = run_kinetics(&r, 10, 60);
	free(r.sens);
	iso_events_free(&r.e);
	return st;
}

const struct bench bench_dynamic = { "dynamic", "Dynamic", opts, run, &set, sizeof set, false };
