/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmark prior: penalties of penalised likelihood on a cube of voxels: gradient; value, gradient and curvature in one;
   the step of an update, with the gradient inside; and the same with kappa, and with weights from an anatomical image.
   An event of the table is a voxel, a visit a pair of neighbours, of tv a voxel. */
#include "bench.h"

#include "algo/prior.h"
#include "limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PAIRS 13 /* of a voxel with those in front of it */

static const char *const cases[] = { "gradient", "whole", "step", "all", NULL };
static const char *const withs[] = { "none", "kappa", "bowsher", "all", NULL };

enum { N_CASES = 3, N_WITHS = 3 };
enum { GRADIENT, WHOLE, STEP };
enum { NONE, KAPPA, BOWSHER };

/* The least operations of a pair, each computed once; a reciprocal, an exponential and a fused multiply-add are one each.
   Gradient: the difference 1, both sums 2; rdp: 1/D 4, both u and d r 3, both f_1 2; logcosh: s d and its exponential 4,
   tanh 5; huber: 2 for the cut. Whole: more for the value 2 (logcosh 9), for curvatures 2, of rdp 6, huber 1 more. tv, a voxel:
   differences 6, the root and its reciprocal 6, sums 10; whole: 12 more. A kind without a row is measured against memory
   alone. */
static const double operations[][2] = {
	[ISO_PRIOR_QUADRATIC] = { 3, 6 }, [ISO_PRIOR_RDP] = { 11, 19 }, [ISO_PRIOR_LOGCOSH] = { 12, 23 },
	[ISO_PRIOR_HUBER] = { 5, 10 },    [ISO_PRIOR_TV] = { 22, 34 },  [ISO_PRIOR_GGD] = { 10, 21 }
};

/* More: kappa of both voxels, and of the sums; of the bits of a pair, as a weight. */
static const double more_of[N_WITHS] = { 0, 2, 5 };

enum { UPDATE = 6 }; /* operations of the step, a voxel */

static struct settings {
	int64_t size, repeats, seed;
	const char *kind, *which, *with;
} set = { .repeats = 9, .seed = 1, .kind = "rdp", .which = "all", .with = "all" };

static struct opt opts[] = {
	{ 0, "size", .integer = &set.size, .value = "N", .min = 2, .max = 2048,
	  .absent = "128 on the CPU, 256 on CUDA", .help = "voxels along each axis" },
	{ 0, "penalty", .text = &set.kind, .value = "NAME",
	  .help = "a penalty of penalised likelihood, as in recon, or all" },
	{ 0, "case", .text = &set.which, .words = cases, .value = "NAME",
	  .help = "gradient, whole (value, gradient and curvature), step (of an update) or all" },
	{ 0, "with", .text = &set.with, .words = withs, .value = "NAME",
	  .help = "none, kappa, bowsher (weights from an anatomical image, and kappa) or all" },
	BENCH_REPEATS(&set.repeats),
	{ 0, "seed", .integer = &set.seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of the images" },
	{ 0 },
};

struct run {
	struct cmd *c;
	struct iso_room room;
	struct iso_grid grid;
	int64_t n;
	iso_real *x, *kappa, *anatomy, *to, *curvature, *z, *g, *p; /* on the device */
	double per_s, bytes_per_s;                                  /* operations and memory, measured here */
	iso_prior *prior;
	int what, times; /* times: evaluations of a repeat; on CUDA one is as short as the wait for it */
	double value;
};

static int open_images(struct run *r)
{
	iso_ctx *ctx = r->c->ctx;
	iso_real **const made[] = {
		&r->x, &r->kappa, &r->anatomy, &r->to, &r->curvature, &r->z, &r->g, &r->p
	};
	int st = ISO_OK;

	r->room = iso_room_of(ctx, "bench prior");
	for (int i = 0; i < 8; i++) {
		ISO_DEVICE(&r->room, *made[i], r->n);
		if (!r->room.status && !st)
			st = iso_ctx_vec(ctx)->uniform(ctx, r->n, *made[i], (uint64_t)(set.seed + i));
	}
	return r->room.status ? r->room.status : st;
}

/* The value comes to the host with the last of them. */
static int once(void *arg)
{
	const struct prior_length length = { .scale = 1, .beta = 1e-3, .step = 1, .grow = 2, .off = 1e-3 };
	struct run *r = arg;
	int st = ISO_OK;

	for (int i = 0; i < r->times && !st; i++) {
		double *value = i + 1 == r->times ? &r->value : NULL;

		if (r->what == STEP)
			st = iso_prior_step(r->prior, r->c->ctx, r->n, r->to, r->x, r->z, r->g, r->p,
			                    &length);
		else if (r->what == WHOLE)
			st = iso_prior_eval(value, r->to, r->curvature, NULL, r->prior, r->x);
		else
			st = iso_prior_eval(NULL, r->to, NULL, NULL, r->prior, r->x);
	}
	return st;
}

/* Bytes of a voxel, read and written once: the image and what is made; kappa; 4 of weights. */
static double bytes_of(int what, int with)
{
	const double images = what == GRADIENT ? 2 : what == WHOLE ? 3 : 6;

	return (images + (with > NONE)) * (double)sizeof(iso_real) + (with == BOWSHER ? sizeof(uint32_t) : 0);
}

/* Terms of a voxel: its pairs with those in front of it, or one. */
static int terms_of(enum iso_prior_kind kind)
{
	return iso_prior_about(kind)->pairs ? PAIRS : 1;
}

static double operations_of(enum iso_prior_kind kind, int what, int with)
{
	const bool known = (size_t)kind < sizeof operations / sizeof *operations;
	const double each = known ? operations[kind][what == WHOLE] : 0;
	const double more = iso_prior_about(kind)->pairs ? more_of[with] : 0;

	return (each + more) * terms_of(kind) + (what == STEP ? UPDATE : 0);
}

static int time_one(struct run *r, enum iso_prior_kind kind, int what, int with)
{
	const struct bench_work work = { r->c->ctx, r->to, once, r, NULL };
	const double n = (double)r->n, bytes = n * bytes_of(what, with),
		     least = n * operations_of(kind, what, with);
	struct bench_row row = {
		.bench = "prior", .events = n, .bytes = bytes, .visits = n * terms_of(kind)
	};
	const char *name = iso_prior_about(kind)->name;
	double seconds[1 + BENCH_MOST_REPEATS];
	int st;

	r->what = what;
	if ((st = bench_repeat(1 + (int)set.repeats, seconds, &work))) return st; /* the first warms up */
	for (int i = 1; i <= set.repeats; i++) seconds[i] /= r->times;
	row.time = bench_time((int)set.repeats, seconds + 1);
	row.limit_s = fmax(least / r->per_s, bytes / r->bytes_per_s);
	row.limit = least / r->per_s > bytes / r->bytes_per_s ? "arithmetic" : "memory";
	snprintf(row.problem, sizeof row.problem, "%s %s%s%s", name, cases[what], with ? " " : "",
	         with ? withs[with] : "");
	row.more = record_pack("{s:s, s:s, s:s, s:I, s:f, s:f}", "penalty", name, "case", cases[what], "with",
	                       withs[with], "size", (json_int_t)r->grid.n[0], "operations_per_voxel",
	                       least / n, "voxels_per_s", n / row.time.median);
	return bench_add(r->c, &row);
}

static int time_prior(struct run *r, enum iso_prior_kind kind, int with)
{
	struct iso_prior_spec spec = {
		.size = sizeof spec,
		.kind = kind,
		.grid = r->grid,
		.place = ISO_DEVICE,
		.kappa = with > NONE ? r->kappa : NULL,
		.anatomy = with == BOWSHER ? r->anatomy : NULL,
		.bowsher = 7,
	};
	int st;

	for (int i = 0; iso_prior_parameter(kind, i); i++) /* the images: numbers from 0 to 1 */
		spec.parameter[i] = iso_prior_default(kind, i, 1, .5);
	st = iso_prior_create(&r->prior, r->c->ctx, &spec);
	for (int what = 0; what < N_CASES && !st; what++)
		if (bench_chosen(set.which, cases[what])) st = time_one(r, kind, what, with);
	iso_prior_free(r->prior);
	r->prior = NULL;
	return st;
}

static int time_kind(struct run *r, enum iso_prior_kind kind)
{
	int st = ISO_OK;

	for (int with = 0; with < N_WITHS && !st; with++)
		if (bench_chosen(set.with, withs[with]) && (with != BOWSHER || iso_prior_about(kind)->pairs))
			st = time_prior(r, kind, with);
	return st;
}

static int plan(struct run *r)
{
	struct iso_plan lines = { 0 };

	iso_plan_add(&lines, "images", r->n, 8 * sizeof(iso_real), iso_ctx_is_cuda(r->c->ctx));
	iso_plan_add(&lines, "kappa and weights of a penalty", r->n, sizeof(iso_real) + sizeof(uint32_t),
	             iso_ctx_is_cuda(r->c->ctx));
	return cmd_plan(r->c, &lines);
}

static int measure(struct run *r)
{
	struct iso_limits l = { 0 };
	int st = iso_arithmetic_rate(&r->per_s, r->c->ctx);

	if (!st) st = iso_limits_measure(&l, r->c->ctx, r->n * (int64_t)sizeof(iso_real));
	r->bytes_per_s = l.triad;
	if (st) return st;
	if (bench_says(r->c))
		printf(": %.3g float operations and %.3g bytes a second measured\n", r->per_s,
		       r->bytes_per_s);
	if ((st = record_result(&r->c->record, "operations_per_s", record_real(r->per_s)))) return st;
	return record_result(&r->c->record, "memory_bytes_per_s", record_real(r->bytes_per_s));
}

static int run(struct cmd *c, const struct opt_set *sets)
{
	struct run r = { .c = c, .times = iso_ctx_is_cuda(c->ctx) ? 10 : 1 };
	enum iso_prior_kind kind;
	int st;

	if (strcmp(set.kind, "all") && (st = iso_prior_kind_of(&kind, set.kind))) return st;
	if (!opt_find(sets, "size")->given) set.size = iso_ctx_is_cuda(c->ctx) ? 256 : 128;
	r.grid = (struct iso_grid){ { set.size, set.size, set.size }, { 2, 2, 2 }, { 0 } };
	r.n = iso_grid_voxels(&r.grid);
	if ((st = plan(&r)) || (st = measure(&r)) || (st = open_images(&r))) goto done;
	for (int k = 0; iso_prior_about((enum iso_prior_kind)k) && !st; k++)
		if (bench_chosen(set.kind, iso_prior_about((enum iso_prior_kind)k)->name))
			st = time_kind(&r, (enum iso_prior_kind)k);
done:
	iso_room_free(&r.room);
	return st;
}

const struct bench bench_prior = { "prior", "Benchmark prior", opts, run, &set, sizeof set, false };
