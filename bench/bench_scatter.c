/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark scatter: the estimate of scattered coincidences, part by part. In the clinical ring a water cylinder of
   200 mm, filled evenly; in the total-body ring the phantom `body`. A visit is an evaluation of the single-scatter
   formula: a pair of sample detectors and a scatter point. */
#include "bench.h"

#include "base/constants.h"
#include "core/philox.h"
#include "limits.h"
#include "scanner/scanner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char clinical_ring[] =
#include "embedded/clinical-ring.yaml.h"
	;
static const char total_body[] =
#include "embedded/total-body.yaml.h"
	;

#define SAMPLED 20000     /* evaluations that are looked at, to know how many pass the energy window */
#define TAIL 4.75         /* sigma: from there on the window sees less than 1e-6 */
#define REST_KEV 510.999  /* of an electron */
#define DECAYS_MC 2.5e8   /* of method mc on CUDA: 1 % after smoothing, with time of flight */
#define DECAYS_SSS_MC 4e7 /* of sss+mc */
#define FEWER_ON_CPU 10.  /* times fewer of both, and of the pairs of the sum */

/* The least that each takes, in operations; a root, a reciprocal and a fused multiply-add are one each.
   LOOK: an evaluation that the window ends: the cosine between two stored legs 5, its place in the tables of energy
   4, a comparison. EVALUATE: what one that passes takes more: two distances and cosines 14, G 8, cross section,
   efficiency and mu from tables 12, the exponents 6 and their exponentials 22, weights 8. PIECE: a piece of the
   profile of either leg: its cell, two shares, two additions. DECAY: ten draws of Philox at 60, lines and voxels of
   two photons 100, three flights 120, an angle 30. PAIR: of the sum, four rings and the addition. VALUE: of an
   event, 4 places of u for each of 4 x 4 azimuths and 2 x 2 rings, then these. */
enum { LOOK = 10, EVALUATE = 70, PIECE = 6, DECAY = 850, PAIR = 9, VALUE = 336 };

static const char *const cases[] = { "sss", "no-tof",     "mc",  "sss+mc", "events",
	                             "sum", "total-body", "all", NULL };

static struct settings {
	double events, histories, share, voxel, block, ring_step;
	int64_t repeats, seed, detectors;
	const char *which;
} set = { .repeats = 3, .seed = 1, .voxel = 4, .which = "all" };

static struct opt opts[] = {
	{ 0, "case", .text = &set.which, .words = cases, .value = "NAME",
	  .help = "sss (single scatter by formula, with time of flight), no-tof (the same without), mc (all "
	          "orders "
	          "by Monte Carlo), sss+mc, events (values of single events), sum (over all pairs), "
	          "total-body "
	          "(sss+mc in a ring of 2 m), or all; on the CPU all leaves total-body out" },
	{ 0, "events", .real = &set.events, .value = "N", .min = 1, .max = 1e10,
	  .absent = "1e6 on the CPU, 1e7 on CUDA", .help = "number of events" },
	{ 0, "histories", .real = &set.histories, .value = "N", .min = 1, .max = 1e12,
	  .absent = "on CUDA 2.5e8 (mc) and 4e7 (sss+mc), on the CPU a tenth of that",
	  .help = "decays of the Monte Carlo" },
	{ 0, "share", .real = &set.share, .value = "F", .min = 1e-9, .max = 1,
	  .absent = "1 on CUDA, 0.1 on the CPU", .help = "share of the pairs, for the sum" },
	{ 0, "voxel", .real = &set.voxel, .value = "MM", .min = 1, .max = 100,
	  .help = "voxel size of image and map" },
	{ 0, "block", .real = &set.block, .value = "MM", .min = 0, .max = 200,
	  .absent = "20, or less in a small object", .help = "side of the blocks that are scatter points" },
	{ 0, "detectors", .integer = &set.detectors, .value = "N", .min = 0, .max = 1000,
	  .absent = "60; 30 for long scanners", .help = "sample detectors per ring" },
	{ 0, "ring-step", .real = &set.ring_step, .value = "MM", .min = 0, .max = 1000,
	  .absent = "20; 40 for long scanners", .help = "largest distance between sample rings" },
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of histories, events and pairs" },
	{ 0 },
};

/* One scanner with its object, and what the machine can do. */
struct run {
	struct cmd *c;
	iso_scanner *scanner;
	struct iso_array image, mu;
	double per_s;   /* operations, measured here */
	double passing; /* share of the evaluations that the energy window lets pass */
	double pieces;  /* of both legs, with time of flight: mean of those that pass */
};

/* ---- the object ---- */

static int open_object(struct run *r, const char *scanner_text, const char *name)
{
	iso_phantom *p = NULL;
	struct iso_grid g;
	int st;

	if ((st = bench_scanner(&r->scanner, scanner_text)) || (st = iso_phantom_create(&p, name, NULL)))
		goto done;
	iso_phantom_grid(&g, p);
	for (int a = 0; a < 3; a++) {
		g.n[a] = (int64_t)ceil((double)g.n[a] * g.voxel[a] / set.voxel);
		g.voxel[a] = set.voxel;
	}
	if ((st = iso_array_on_grid(&r->image, &g)) || (st = iso_array_on_grid(&r->mu, &g))) goto done;
	st = iso_phantom_raster(r->image.v, r->mu.v, NULL, p, &g, 2);
done:
	iso_phantom_free(p);
	return st;
}

static void close_object(struct run *r)
{
	iso_array_free(&r->image);
	iso_array_free(&r->mu);
	iso_scanner_free(r->scanner);
	r->scanner = NULL;
}

static struct iso_scatter params(const struct run *r, enum iso_scatter_method method, bool tof)
{
	const bool cuda = iso_ctx_is_cuda(r->c->ctx);
	const double usual = method == ISO_SCATTER_MC ? DECAYS_MC : DECAYS_SSS_MC;

	return (struct iso_scatter){
		.size = sizeof(struct iso_scatter),
		.method = method,
		.scanner = r->scanner,
		.image = &r->image,
		.mu = &r->mu,
		.tof_fwhm_ps = tof ? iso_scanner_tof_fwhm_ps(r->scanner) : 0,
		.block_mm = set.block,
		.detectors = set.detectors,
		.ring_step_mm = set.ring_step,
		.histories = (int64_t)(set.histories > 0 ? set.histories : usual / (cuda ? 1 : FEWER_ON_CPU)),
		.seed = (uint64_t)set.seed,
	};
}

/* ---- the least work ---- */

/* From the first ring to the last, mm. */
static double length_of(const iso_scanner *s)
{
	const double *at = iso_scanner_positions(s);

	return at[3 * iso_scanner_crystals(s) - 1] - at[2];
}

static double value_at(const struct iso_array *x, const double p[3])
{
	int64_t at[3];

	for (int a = 0; a < 3; a++) {
		at[a] = (int64_t)floor((p[a] - x->grid.centre[a]) / x->grid.voxel[a] +
		                       .5 * (double)x->grid.n[a]);
		if (at[a] < 0 || at[a] >= x->grid.n[a]) return 0;
	}
	return x->v[(at[2] * x->grid.n[1] + at[1]) * x->grid.n[0] + at[0]];
}

/* From s to an even point of the cylinder: the unit vector, and pieces of `step` mm with activity on the way. */
static double draw_leg(double d[3], const struct run *r, const double s[3], double step, const uint32_t w[2])
{
	const double phi = 2 * M_PI * philox_unit(w[0]), rho = r->scanner->radius;
	const double end[3] = { rho * cos(phi), rho * sin(phi),
		                length_of(r->scanner) * (philox_unit(w[1]) - .5) };
	double length = 0, pieces = 0;

	for (int a = 0; a < 3; a++) length += (end[a] - s[a]) * (end[a] - s[a]);
	length = sqrt(length);
	for (int a = 0; a < 3; a++) d[a] = (end[a] - s[a]) / length;
	for (double t = .5 * step; t < length; t += step)
		pieces += value_at(&r->image,
		                   (double[]){ s[0] + t * d[0], s[1] + t * d[1], s[2] + t * d[2] }) > 0;
	return pieces;
}

/* Least cosine of a deflection whose photon the window still sees. */
static double least_cosine(const iso_scanner *s)
{
	double e = s->energy_kev[0];

	for (int i = 0; i < 50; i++)
		e = s->energy_kev[0] - TAIL * s->energy_resolution / ISO_FWHM_PER_SIGMA * sqrt(REST_KEV * e);
	return 2 - REST_KEV / e;
}

/* Even points of the matter, even points of the cylinder. */
static void look_at_work(struct run *r)
{
	const double step =
		iso_scanner_tof_fwhm_ps(r->scanner) * ISO_C_MM_PER_PS / 2 / ISO_FWHM_PER_SIGMA / 3;
	const double least = least_cosine(r->scanner);
	int64_t passed = 0;
	double pieces = 0;

	for (int64_t i = 0, found = 0; found < SAMPLED; i++) {
		const struct philox u = philox_draw((uint64_t)set.seed, (uint64_t)i, 0),
				    v = philox_draw((uint64_t)set.seed, (uint64_t)i, 1);
		double s[3], a[3], b[3];

		for (int k = 0; k < 3; k++)
			s[k] = r->mu.grid.centre[k] +
			       (philox_unit(u.w[k]) - .5) * (double)r->mu.grid.n[k] * r->mu.grid.voxel[k];
		if (!(value_at(&r->mu, s) > 0)) continue;
		found++;
		double both = draw_leg(a, r, s, step, v.w) + draw_leg(b, r, s, step, v.w + 2);

		if (-(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) < least) continue;
		passed++;
		pieces += both;
	}
	r->passing = (double)passed / SAMPLED;
	r->pieces = passed ? pieces / (double)passed : 0;
}

static double least_s(const struct run *r, const struct iso_scatter_info *info, bool tof)
{
	const double evaluations = (double)info->pairs * (double)info->points;
	const double each = LOOK + r->passing * (EVALUATE + (tof ? PIECE * r->pieces : 0));

	return (evaluations * each + DECAY * (double)info->histories) / r->per_s;
}

/* ---- the table ---- */

static int run_table(const struct run *r, const char *name, enum iso_scatter_method method, bool tof)
{
	const struct iso_scatter p = params(r, method, tof);
	struct iso_scatter_info info = { .size = sizeof info };
	struct bench_row row = { .bench = "scatter" };
	double seconds[1 + BENCH_MOST_REPEATS], sss_s = 0, mc_s = 0;
	int st = ISO_OK;

	for (int i = 0; i <= set.repeats && !st; i++) { /* the first warms up */
		double start_s = iso_now_s();
		iso_scatter_table *t = NULL;

		if (!(st = iso_scatter_create(&t, r->c->ctx, &p))) st = iso_scatter_describe(&info, t);
		seconds[i] = iso_now_s() - start_s;
		sss_s = i > 1 ? fmin(sss_s, info.seconds_sss) : info.seconds_sss;
		mc_s = i > 1 ? fmin(mc_s, info.seconds_mc) : info.seconds_mc;
		iso_scatter_free(t);
	}
	if (st) return st;
	const double evaluations = (double)info.pairs * (double)info.points;

	row.time = bench_time((int)set.repeats, seconds + 1);
	row.events = (double)info.histories;
	row.visits = evaluations;
	row.limit_s = least_s(r, &info, tof);
	row.more = record_pack(
		"{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
		"case", name, "tof", tof, "points", (json_int_t)info.points, "pairs", (json_int_t)info.pairs,
		"detectors", (json_int_t)info.detectors, "rings", (json_int_t)info.rings, "cells",
		(json_int_t)info.cells, "evaluations", evaluations, "histories", (json_int_t)info.histories,
		"error", info.error, "multiple", info.multiple, "sss_s", sss_s, "mc_s", mc_s, "decays_per_s",
		mc_s > 0 ? (double)info.histories / mc_s : NAN, "first_s", seconds[0], "passing", r->passing,
		"operations_per_s", r->per_s);
	snprintf(row.problem, sizeof row.problem, "%s", name);
	snprintf(row.note, sizeof row.note,
	         "%" PRId64 " points, %" PRId64 " x %" PRId64 " sample detectors, %" PRId64 " pairs, %" PRId64
	         " cells of u; formula %.3g s, Monte Carlo %.3g s; first %.3g s; error %.2g %%, "
	         "multiple/single %.3f",
	         info.points, info.detectors, info.rings, info.pairs, info.cells, sss_s, mc_s, seconds[0],
	         100 * info.error, info.multiple);
	return bench_add(r->c, &row);
}

/* ---- what is read off it ---- */

struct reading {
	const struct run *r;
	const iso_scatter_table *t;
	struct iso_events e;
	iso_real *h;
	double share, sum;
};

static int read_events(struct reading *d)
{
	return iso_scatter_at(d->h, d->r->c->ctx, d->t, &d->e, 0);
}

static int read_sum(struct reading *d)
{
	return iso_scatter_sum(&d->sum, d->r->c->ctx, d->t, NULL, d->share, (uint64_t)set.seed);
}

static int time_reading(struct bench_time *time, struct reading *d, int (*once)(struct reading *d))
{
	double seconds[1 + BENCH_MOST_REPEATS];
	int st = ISO_OK;

	for (int i = 0; i <= set.repeats && !st; i++) {
		double start_s = iso_now_s();

		st = once(d);
		seconds[i] = iso_now_s() - start_s;
	}
	if (!st) *time = bench_time((int)set.repeats, seconds + 1);
	return st;
}

static int run_events(struct reading *d)
{
	iso_ctx *ctx = d->r->c->ctx;
	const struct iso_ring ring = { d->r->scanner->radius, length_of(d->r->scanner),
		                       iso_scanner_tof_fwhm_ps(d->r->scanner), (uint64_t)set.seed };
	struct bench_row row = { .bench = "scatter", .problem = "events", .events = (double)d->e.n };
	double link = INFINITY, sum = 0;
	int st;

	if ((st = BENCH_NEW(d->e.v, d->e.n)) || (st = BENCH_NEW(d->h, d->e.n))) return st;
	if ((st = iso_ring_events(d->e.v, ctx, &ring, 0, d->e.n))) return st;
	if (iso_ctx_is_cuda(ctx) && (st = iso_link_rate(&link, ctx))) return st;
	if ((st = time_reading(&row.time, d, read_events))) return st;
	for (int64_t i = 0; i < d->e.n; i++) sum += d->h[i];
	row.bytes = row.events * (double)(sizeof *d->e.v + sizeof *d->h);
	row.limit_s = fmax(VALUE * row.events / d->r->per_s, row.bytes / link);
	row.more = record_pack("{s:s, s:f, s:f}", "case", "events", "events", row.events, "mean_per_mm",
	                       sum / row.events);
	snprintf(row.note, sizeof row.note,
	         "%.3g events from host memory, values back there; mean %.4g per mm", row.events,
	         sum / row.events);
	return bench_add(d->r->c, &row);
}

static int run_sum(struct reading *d)
{
	const double pairs = d->share * (double)iso_scanner_pairs(d->r->scanner);
	struct bench_row row = { .bench = "scatter", .problem = "sum over pairs", .events = pairs };
	int st = time_reading(&row.time, d, read_sum);

	if (st) return st;
	row.limit_s = PAIR * pairs / d->r->per_s;
	row.more = record_pack("{s:s, s:f, s:f, s:f}", "case", "sum", "share", d->share, "pairs", pairs,
	                       "sum", d->sum);
	snprintf(row.note, sizeof row.note, "%.3g of the scanner's pairs; the sum is %.6g", d->share, d->sum);
	return bench_add(d->r->c, &row);
}

static int run_readings(const struct run *r)
{
	const struct iso_scatter p = params(r, ISO_SCATTER_SSS, true);
	struct reading d = { .r = r, .e.n = (int64_t)set.events, .share = set.share };
	iso_scatter_table *t = NULL;
	int st;

	if (d.share == 0) d.share = iso_ctx_is_cuda(r->c->ctx) ? 1 : 1 / FEWER_ON_CPU;
	if ((st = iso_scatter_create(&t, r->c->ctx, &p))) return st;
	d.t = t;
	if (bench_chosen(set.which, "events")) st = run_events(&d);
	if (!st && bench_chosen(set.which, "sum")) st = run_sum(&d);
	free(d.h);
	iso_events_free(&d.e);
	iso_scatter_free(t);
	return st;
}

/* ---- all of it ---- */

static int run_ring(struct run *r)
{
	static const struct {
		const char *name;
		enum iso_scatter_method method;
		bool tof;
	} tables[] = { { "sss", ISO_SCATTER_SSS, true },
		       { "no-tof", ISO_SCATTER_SSS, false },
		       { "mc", ISO_SCATTER_MC, true },
		       { "sss+mc", ISO_SCATTER_SSS_MC, true } };
	int st;

	if ((st = open_object(r, clinical_ring, "cylinder"))) return st;
	look_at_work(r);
	for (int i = 0; i < 4 && !st; i++)
		if (bench_chosen(set.which, tables[i].name))
			st = run_table(r, tables[i].name, tables[i].method, tables[i].tof);
	if (!st && (bench_chosen(set.which, "events") || bench_chosen(set.which, "sum")))
		st = run_readings(r);
	return st;
}

static int run_body(struct run *r)
{
	int st;

	close_object(r);
	if ((st = open_object(r, total_body, "body"))) return st;
	look_at_work(r);
	return run_table(r, "total-body", ISO_SCATTER_SSS_MC, true);
}

static int plan(struct run *r, bool body)
{
	const struct iso_scatter p = params(r, ISO_SCATTER_SSS_MC, true);
	struct iso_plan lines = { 0 };
	int st;

	iso_plan_add(&lines, "image and map", 2 * r->image.n, sizeof(iso_real), false);
	if (!body)
		iso_plan_add(&lines, "events and their values", (int64_t)set.events,
		             sizeof(struct iso_event) + sizeof(iso_real), false);
	if ((st = iso_scatter_plan(&lines, r->c->ctx, &p))) return st;
	return cmd_plan(r->c, &lines);
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	const bool alone = strcmp(set.which, "total-body") == 0;
	const bool body = alone || (strcmp(set.which, "all") == 0 && iso_ctx_is_cuda(c->ctx));
	struct run r = { .c = c };
	int st;

	if (!opt_find(sets, "events")->given) set.events = bench_events(c->ctx);
	if ((st = open_object(&r, body ? total_body : clinical_ring, body ? "body" : "cylinder"))) goto done;
	if ((st = plan(&r, body)) || (st = iso_arithmetic_rate(&r.per_s, c->ctx))) goto done;
	if (bench_says(c)) printf(": %.3g float operations a second measured\n", r.per_s);
	if ((st = record_result(&c->record, "operations_per_s", record_real(r.per_s)))) goto done;
	close_object(&r);
	if (!alone) st = run_ring(&r);
	if (!st && body) st = run_body(&r);
done:
	close_object(&r);
	return st;
}

const struct bench bench_scatter = { "scatter", "Benchmark scatter", opts, run, &set, sizeof set, false };
