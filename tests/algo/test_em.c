/* SPDX-License-Identifier: BSD-3-Clause */
/* EM as a whole, on all pairs of a small ring: limits, counts, filters, PSF, checkpoints; and the
   decay that scales its model; also built in double. */
#include "test.h"

#include "algo/checkpoint.h"
#include "core/op.h"

#include <unistd.h>

enum { N = 8, NZ = 6, VOXELS = N * N * NZ };

static const struct iso_grid grid = { { N, N, NZ }, { 8, 8, 8 }, { 0, 0, 0 } };
static const char ring[] = "kind: cylinder\nradius_mm: 64\nrings: 6\ncrystals_per_ring: 32\n"
			   "ring_pitch_mm: 9\nmin_crystal_distance: 5\n";
static char checkpoint[64]; /* a name of this process alone */

/* ---- the scanner, all its pairs as events, its sensitivity ---- */

static iso_scanner *make_scanner(void)
{
	char path[64];
	iso_scanner *s = NULL;

	snprintf(path, sizeof path, "test_em_%d.yaml", (int)getpid());
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(ring, f);
	fclose(f);
	OK(iso_scanner_read(&s, path));
	remove(path);
	return s;
}

static struct iso_events all_pairs(const iso_scanner *s)
{
	struct iso_events e = { .n = iso_scanner_pairs(s) };
	const double *pos = iso_scanner_positions(s);

	e.v = calloc((size_t)e.n, sizeof *e.v);
	assert_non_null(e.v);
	for (int64_t i = 0; i < e.n; i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, s, i);
		for (int k = 0; k < 3; k++) {
			e.v[i].p1[k] = (float)pos[3 * a + k];
			e.v[i].p2[k] = (float)pos[3 * b + k];
		}
	}
	return e;
}

struct scan {
	iso_ctx *ctx;
	struct iso_events e;
	iso_real sens[VOXELS];
};

static struct scan scan_begin(iso_ctx *ctx)
{
	iso_scanner *s = make_scanner();
	struct iso_ray_sens p = { .size = sizeof p, .grid = grid, .scanner = s, .share = 1 };
	struct scan c = { .ctx = ctx, .e = all_pairs(s) };
	double error;

	OK(iso_ray_sens(c.sens, &error, ctx, &p));
	iso_scanner_free(s);
	return c;
}

static void scan_end(struct scan *c)
{
	iso_events_free(&c->e);
	iso_ctx_free(c->ctx);
}

static iso_op *model(const struct scan *c, const struct iso_events *e, int n_sub, enum iso_subset_rule rule)
{
	struct iso_ray p = { .size = sizeof p, .grid = grid, .n_sub = n_sub, .rule = rule, .seed = 5 };
	iso_op *op = NULL;

	OK(iso_ray_create(&op, c->ctx, &p, e));
	return op;
}

static iso_op *blurred(const struct scan *c, iso_op *op, double fwhm)
{
	iso_op *psf = NULL, *chain = NULL;

	OK(iso_psf_create(&psf, c->ctx, &grid, (double[]){ fwhm, fwhm, fwhm }));
	OK(iso_chain_create(&chain, op, psf));
	iso_op_free(psf);
	return chain;
}

/* y = A x in the file's order. */
static iso_real *project(const struct scan *c, iso_op *op, const iso_real *x)
{
	int64_t n = iso_op_n_out(op);
	iso_real *dx = to_device(c->ctx, VOXELS, x), *dy = to_device(c->ctx, n, NULL);

	OK(iso_forward(dy, op, ISO_ALL, dx));
	iso_real *sorted = to_host(c->ctx, n, dy), *y = calloc((size_t)n, sizeof *y);

	iso_op_unsort(y, op, sorted);
	free(sorted);
	device_free(c->ctx, dx);
	device_free(c->ctx, dy);
	return y;
}

static void ones(iso_real *x)
{
	for (int i = 0; i < VOXELS; i++) x[i] = 1;
}

/* A warm box with a hot and a cold spot; 0 where no pair sees it. */
static void phantom(iso_real *x, const iso_real *sens)
{
	for (int i = 0; i < VOXELS; i++) {
		int ix = i % N, iy = i / N % N, iz = i / N / N;
		bool inside = ix > 0 && ix < 7 && iy > 0 && iy < 7;

		x[i] = inside ? 1 : (iso_real).1;
		if (ix == 2 && iy == 3 && iz == 2) x[i] = 4;
		if (ix == 5 && iy == 4) x[i] = (iso_real).2;
		x[i] *= sens[i] > 0;
	}
}

static struct iso_em plain(const struct scan *c, iso_op *op, int iterations)
{
	struct iso_em em = { .size = sizeof em,
		             .op = op,
		             .iterations = iterations,
		             .grid = grid,
		             .sens = { 1, iso_op_n_sub(op), c->sens } };

	return em;
}

static void reconstruct(iso_real *x, const struct iso_em *em)
{
	ones(x);
	OK(iso_em_run(x, NULL, em, NULL));
}

static double nrmse(const iso_real *x, const iso_real *truth)
{
	struct iso_rmse r = { .size = sizeof r };

	OK(iso_measure_rmse(&r, VOXELS, x, truth, NULL, ISO_SCALE_NONE));
	return r.nrmse;
}

/* ---- limits and counts ---- */

static void noise_free_data_give_the_phantom(void **state)
{
	struct scan c = scan_begin(cpu(2));
	iso_op *op = model(&c, &c.e, 1, ISO_INTERLEAVED);
	iso_real truth[VOXELS], x[VOXELS];
	struct iso_em em = plain(&c, op, 50);

	(void)state;
	phantom(truth, c.sens);
	em.data.y = project(&c, op, truth);
	reconstruct(x, &em);
	double early = nrmse(x, truth);

	em.iterations = 400;
	reconstruct(x, &em);
	double late = nrmse(x, truth);

	if (!(late < 1e-3 && late < early)) print_error("NRMSE %g, then %g\n", early, late);
	assert_true(late < 1e-3 && late < early);
	free((void *)em.data.y);
	iso_op_free(op);
	scan_end(&c);
}

/* Event j of `e`, counts[j] times. */
static struct iso_events repeated(const struct iso_events *e, const iso_real *counts)
{
	struct iso_events r = { 0 };

	for (int64_t j = 0; j < e->n; j++) r.n += (int64_t)counts[j];
	r.v = calloc((size_t)r.n, sizeof *r.v);
	for (int64_t j = 0, k = 0; j < e->n; j++)
		for (int i = 0; i < counts[j]; i++) r.v[k++] = e->v[j];
	return r;
}

static void counts_are_repeated_events(void **state)
{
	struct scan c = scan_begin(cpu(2));
	iso_real *counts = calloc((size_t)c.e.n, sizeof *counts), x[VOXELS], y[VOXELS];

	(void)state;
	for (int64_t j = 0; j < c.e.n; j++) counts[j] = (iso_real)(j * 7 % 4);
	struct iso_events list = repeated(&c.e, counts);
	iso_op *histogram = model(&c, &c.e, 1, ISO_INTERLEAVED);
	iso_op *events = model(&c, &list, 1, ISO_INTERLEAVED);
	struct iso_em em = plain(&c, histogram, 5);

	em.data.y = counts;
	reconstruct(x, &em);
	em.data.y = NULL;
	em.op = events;
	reconstruct(y, &em);
	BELOW(relative_difference(VOXELS, x, y), TOLERANCE(1e-6, 1e-12));
	iso_op_free(histogram);
	iso_op_free(events);
	iso_events_free(&list);
	free(counts);
	scan_end(&c);
}

/* Pairs with a factor of 0 lose their counts, in whichever subset; those without counts lose none. */
static void lost_counts_are_summed(void **state)
{
	struct scan c = scan_begin(cpu(2));
	iso_real *counts = calloc((size_t)c.e.n, sizeof *counts), x[VOXELS];
	iso_real *mult = calloc((size_t)c.e.n, sizeof *mult);
	iso_op *op = model(&c, &c.e, 3, ISO_INTERLEAVED);
	struct iso_em em = plain(&c, op, 2);
	struct iso_em_result r = { .size = sizeof r };

	(void)state;
	for (int64_t j = 0; j < c.e.n; j++) {
		counts[j] = j % 2 ? 0 : 2;
		mult[j] = j >= 10;
	}
	iso_real *ax = project(&c, op, c.sens);
	double missed = 0; /* counts of pairs that miss the image */

	for (int64_t j = 10; j < c.e.n; j++) missed += ax[j] > 0 ? 0 : counts[j];
	em.data.y = counts;
	em.data.mult = mult;
	ones(x);
	OK(iso_em_run(x, &r, &em, NULL));
	NEAR(r.lost, 5 * 2 + missed, 0);
	assert_true(r.skipped >= 10);
	iso_em_result_free(&r);
	iso_op_free(op);
	free(ax);
	free(counts);
	free(mult);
	scan_end(&c);
}

/* After every update the sum of S_b f is the number of events used of its subset. */
static void updates_conserve_counts(void **state)
{
	static const enum iso_subset_rule rule[] = { ISO_INTERLEAVED, ISO_BLOCKS, ISO_RANDOM };
	struct scan c = scan_begin(cpu(2));

	(void)state;
	for (int i = 0; i < N_OF(rule); i++)
		for (int n_sub = 1; n_sub <= 7; n_sub += 3) {
			iso_op *op = model(&c, &c.e, n_sub, rule[i]);
			struct iso_em em = plain(&c, op, 2);
			struct iso_rows last = iso_op_rows(op, n_sub - 1);
			iso_real x[VOXELS], *ax;
			double sum = 0, used = 0;

			reconstruct(x, &em);
			ax = project(&c, op, x);
			iso_real *sorted = calloc((size_t)c.e.n, sizeof *sorted);

			iso_op_sort(sorted, op, ax);
			for (int64_t j = last.first; j < last.first + last.n; j++) used += sorted[j] > 0;
			for (int v = 0; v < VOXELS; v++) sum += (double)c.sens[v] * x[v] / n_sub;
			NEAR(sum, used, TOLERANCE(1e-5, 1e-10) * used);
			free(ax);
			free(sorted);
			iso_op_free(op);
		}
	scan_end(&c);
}

/* One image stands for as many as there are subsets, each its part: in the update and in the
   log-likelihood, whose first value is that of ones. */
static void subsets_share_a_sensitivity(void **state)
{
	struct scan c = scan_begin(cpu(2));
	iso_op *op = model(&c, &c.e, 3, ISO_INTERLEAVED);
	struct iso_em one = plain(&c, op, 2), three = one;
	iso_real x[VOXELS], y[VOXELS], *ax, *sorted = calloc((size_t)c.e.n, sizeof *sorted);
	iso_real *parts = calloc(3 * VOXELS, sizeof *parts);
	struct iso_em_result r = { .size = sizeof r }, s = { .size = sizeof s };
	double sum = 0;

	(void)state;
	ones(x);
	ones(y);
	ax = project(&c, op, x);
	iso_op_sort(sorted, op, ax);
	for (int i = 0; i < 3 * VOXELS; i++) parts[i] = c.sens[i % VOXELS] / 3;
	for (int i = 0; i < VOXELS; i++) sum -= (double)c.sens[i] / 3;
	for (int64_t j = 0; j < iso_op_rows(op, 0).n; j++) sum += sorted[j] > 0 ? log((double)sorted[j]) : 0;
	three.sens = (struct iso_sens){ 3, 3, parts };
	OK(iso_em_run(x, &r, &one, NULL));
	OK(iso_em_run(y, &s, &three, NULL));
	NEAR(r.loglik[0] / sum, 1, TOLERANCE(1e-5, 1e-12));
	for (int i = 0; i < 6; i++) NEAR(r.loglik[i] / s.loglik[i], 1, TOLERANCE(1e-5, 1e-12));
	for (int i = 0; i < VOXELS; i++) NEAR(x[i], y[i], TOLERANCE(1e-5, 1e-12) * (1 + x[i]));
	assert_int_equal(r.n, 6);
	assert_int_equal(r.used + r.skipped, c.e.n); /* of all subsets */
	iso_em_result_free(&r);
	iso_em_result_free(&s);
	iso_op_free(op);
	free(ax);
	free(sorted);
	free(parts);
	scan_end(&c);
}

/* The work goes on, and the result tells how often: after each update but the last. */
static void checkpoints_that_fail_are_counted(void **state)
{
	struct scan c = scan_begin(cpu(2));
	iso_op *op = model(&c, &c.e, 3, ISO_INTERLEAVED);
	struct iso_em em = plain(&c, op, 2);
	struct iso_em_result r = { .size = sizeof r };
	struct iso_run run = { .size = sizeof run, .checkpoint = "no/such/folder/em.ckpt" };
	iso_real x[VOXELS];

	(void)state;
	ones(x);
	OK(iso_em_run(x, &r, &em, &run));
	assert_int_equal(r.unsaved, 5);
	iso_em_result_free(&r);
	iso_op_free(op);
	scan_end(&c);
}

/* ---- point spread function ---- */

/* Blurred points: the model that knows the PSF gives them back sharper. */
static void psf_gives_points_back(void **state)
{
	struct scan c = scan_begin(cpu(2));
	iso_op *op = model(&c, &c.e, 4, ISO_INTERLEAVED), *chain = blurred(&c, op, 16);
	const int at = (3 * N + 4) * N + 3;
	iso_real truth[VOXELS] = { 0 }, with[VOXELS], without[VOXELS], sens[VOXELS];
	struct iso_em em = plain(&c, op, 40);
	iso_op *psf = NULL;

	(void)state;
	truth[at] = 100;
	em.data.y = project(&c, chain, truth);
	reconstruct(without, &em);
	OK(iso_psf_create(&psf, c.ctx, &grid, (double[]){ 16, 16, 16 }));
	OK(iso_adjoint(sens, psf, ISO_ALL, c.sens));
	em.op = chain;
	em.sens.image = sens;
	reconstruct(with, &em);
	if (!(with[at] > 2 * without[at] && nrmse(with, truth) < .5 * nrmse(without, truth)))
		print_error("peak %g with, %g without\n", (double)with[at], (double)without[at]);
	assert_true(with[at] > 2 * without[at]);
	assert_true(nrmse(with, truth) < .5 * nrmse(without, truth));
	free((void *)em.data.y);
	iso_op_free(psf);
	iso_op_free(chain);
	iso_op_free(op);
	scan_end(&c);
}

/* ---- filters ---- */

/* The filter by hand, with the voxels that nothing sees at 0. */
static void filter_image(const struct scan *c, iso_real *x, const struct iso_filter *f)
{
	iso_real y[VOXELS];

	OK(iso_filter_apply(y, c->ctx, f, &grid, x));
	for (int i = 0; i < VOXELS; i++) x[i] = c->sens[i] > 0 ? y[i] : 0;
}

static void filter_between_iterations(void **state)
{
	static const struct iso_filter filters[] = { { ISO_MEDIAN, { 0 }, 3 },
		                                     { ISO_GAUSSIAN, { 9, 9, 9 }, 0 } };
	struct scan c = scan_begin(cpu(2));
	iso_op *op = model(&c, &c.e, 3, ISO_INTERLEAVED);

	(void)state;
	for (int i = 0; i < VOXELS; i++) /* a corner that nothing sees */
		if (i % N < 2 && i / N % N < 2) c.sens[i] = 0;
	for (int k = 0; k < 2; k++)
		for (int every = 1; every <= 2; every++) {
			struct iso_em em = plain(&c, op, 4);
			iso_real x[VOXELS], y[VOXELS];

			em.filter = &filters[k];
			em.filter_every = every;
			reconstruct(x, &em);
			ones(y);
			em.filter = NULL;
			em.iterations = every;
			for (int it = 0; it < 4; it += every) {
				OK(iso_em_run(y, NULL, &em, NULL));
				filter_image(&c, y, &filters[k]);
			}
			assert_memory_equal(x, y, sizeof x);
			for (int i = 0; i < VOXELS; i++) assert_true(c.sens[i] > 0 || x[i] == 0);
		}
	iso_op_free(op);
	scan_end(&c);
}

/* What the caller is shown is filtered already. */
static int compare(void *arg, int iteration, const iso_real *x)
{
	iso_real *seen = arg;

	memcpy(seen, x, VOXELS * sizeof *x);
	return iteration == 3 ? ISO_OK : ISO_EARG;
}

static bool third(void *arg, int iteration)
{
	(void)arg;
	return iteration == 3;
}

static void shown_image_is_filtered(void **state)
{
	static const struct iso_filter median = { ISO_MEDIAN, { 0 }, 3 };
	struct scan c = scan_begin(cpu(2));
	iso_op *op = model(&c, &c.e, 2, ISO_INTERLEAVED);
	struct iso_em em = plain(&c, op, 3);
	iso_real seen[VOXELS], x[VOXELS];
	const struct iso_run run = { .size = sizeof run, .each = compare, .wants = third, .arg = seen };

	(void)state;
	em.filter = &median;
	em.filter_every = 3;
	ones(x);
	OK(iso_em_run(x, NULL, &em, &run));
	assert_memory_equal(seen, x, sizeof x);
	iso_op_free(op);
	scan_end(&c);
}

struct end {
	int seen;
	double objective;
};

static int first_is_enough(void *arg, int iteration, const iso_real *x)
{
	struct end *end = arg;

	(void)x;
	end->seen = iteration;
	return ISO_ENOUGH;
}

/* Then there are as many updates as an iteration has, whose log-likelihoods add up to the objective. */
static void enough_ends_a_run(void **state)
{
	struct scan c = scan_begin(cpu(2));
	iso_op *op = model(&c, &c.e, 2, ISO_INTERLEAVED);
	struct iso_em em = plain(&c, op, 1);
	struct end end = { 0 };
	const struct iso_run run = {
		.size = sizeof run, .each = first_is_enough, .arg = &end, .objective = &end.objective
	};
	struct iso_em_result r = { .size = sizeof r };
	iso_real x[VOXELS], once[VOXELS];

	(void)state;
	ones(once);
	OK(iso_em_run(once, &r, &em, NULL));
	assert_false(r.stopped);
	iso_em_result_free(&r);
	em.iterations = 7;
	ones(x);
	OK(iso_em_run(x, &r, &em, &run));
	assert_memory_equal(x, once, sizeof x);
	assert_true(r.stopped && r.n == 2 && end.seen == 1);
	NEAR(end.objective, r.loglik[0] + r.loglik[1], 0);
	iso_em_result_free(&r);
	em.iterations = 1; /* the last is no stop */
	ones(x);
	OK(iso_em_run(x, &r, &em, &run));
	assert_false(r.stopped);
	iso_em_result_free(&r);
	iso_op_free(op);
	scan_end(&c);
}

static int second_is_enough(void *arg, int iteration, const iso_real *x)
{
	memcpy(arg, x, VOXELS * sizeof *x);
	return iteration == 2 ? ISO_ENOUGH : ISO_OK;
}

/* The filter behind the last iteration follows the second, which is the last; one that was for every third follows
   none. */
static void enough_is_filtered(void **state)
{
	static const struct iso_filter median = { ISO_MEDIAN, { 0 }, 3 };
	struct scan c = scan_begin(cpu(2));
	iso_op *op = model(&c, &c.e, 2, ISO_INTERLEAVED);
	struct iso_em em = plain(&c, op, 2);
	iso_real x[VOXELS], two[VOXELS], plain_two[VOXELS], seen[VOXELS];
	const struct iso_run run = { .size = sizeof run, .each = second_is_enough, .arg = seen };
	struct iso_em_result r = { .size = sizeof r };

	(void)state;
	reconstruct(plain_two, &em);
	em.filter = &median;
	em.filter_every = 2;
	reconstruct(two, &em);
	assert_memory_not_equal(two, plain_two, sizeof two);
	em.iterations = em.filter_every = 6;
	ones(x);
	OK(iso_em_run(x, &r, &em, &run));
	assert_true(r.stopped && r.n == 4);
	iso_em_result_free(&r);
	assert_memory_equal(x, two, sizeof x);
	assert_memory_equal(seen, plain_two, sizeof x);
	em.filter_every = 3;
	ones(x);
	OK(iso_em_run(x, NULL, &em, &run));
	assert_memory_equal(x, plain_two, sizeof x);
	iso_op_free(op);
	scan_end(&c);
}

/* ---- checkpoints ---- */

/* Stopped between an update and its filter, the run goes on with the filter. */
static void resume_makes_up_for_a_filter(void **state)
{
	static const struct iso_filter median = { ISO_MEDIAN, { 0 }, 3 };
	struct scan c = scan_begin(cpu(1));
	iso_op *op = model(&c, &c.e, 1, ISO_INTERLEAVED);
	struct iso_em em = plain(&c, op, 2);
	iso_real whole[VOXELS], x[VOXELS];
	double loglik[2] = { 0 }, lost = 0;
	int64_t counter[4] = { 1, 0, 0, 1 };
	const struct iso_run run = { .size = sizeof run, .checkpoint = checkpoint, .resume = true };
	struct iso_item item[] = {
		{ "image", ISO_ITEM_REAL, VOXELS, x },
		{ "loglik", ISO_ITEM_DOUBLE, 2, loglik },
		{ "updates, used, skipped, filter due", ISO_ITEM_INT64, 4, counter },
		{ "counts lost", ISO_ITEM_DOUBLE, 1, &lost },
	};

	(void)state;
	em.filter = &median;
	em.filter_every = 1;
	reconstruct(whole, &em);
	em.filter = NULL;
	em.iterations = 1;
	reconstruct(x, &em);
	OK(iso_checkpoint_write(checkpoint, 0, N_OF(item), item));
	em.filter = &median;
	em.iterations = 2;
	ones(x);
	OK(iso_em_run(x, NULL, &em, &run));
	assert_memory_equal(x, whole, sizeof x);
	remove(checkpoint);
	iso_op_free(op);
	scan_end(&c);
}

static void bad_arguments_are_refused(void **state)
{
	static const struct iso_filter median = { ISO_MEDIAN, { 0 }, 3 };
	static const struct iso_filter even = { ISO_MEDIAN, { 0 }, 4 };
	struct scan c = scan_begin(cpu(1));
	iso_op *op = model(&c, &c.e, 1, ISO_INTERLEAVED);
	struct iso_em em = plain(&c, op, 2);
	iso_real x[VOXELS];

	(void)state;
	ones(x);
	em.size = 0;
	REFUSED(iso_em_run(x, NULL, &em, NULL), ISO_EARG, "struct iso_em: size is 0");
	em.size = sizeof em;
	REFUSED(iso_em_run(x, &(struct iso_em_result){ 0 }, &em, NULL), ISO_EARG, "iso_em_result: size is 0");
	REFUSED(iso_em_run(x, NULL, &em, &(struct iso_run){ 0 }), ISO_EARG, "struct iso_run: size is 0");
	REFUSED(iso_em_run(NULL, NULL, &em, NULL), ISO_EARG, "em: there is no start image");
	em.filter = &median;
	REFUSED(iso_em_run(x, NULL, &em, NULL), ISO_EARG, "every 0 iterations");
	em.filter_every = 1;
	em.grid.n[0]++;
	REFUSED(iso_em_run(x, NULL, &em, NULL), ISO_EARG, "the filter's grid has 432 voxels, the image 384");
	em.grid = grid;
	em.filter = &even;
	REFUSED(iso_em_run(x, NULL, &em, NULL), ISO_EARG, "size is 4");
	iso_op_free(op);
	scan_end(&c);
}

/* ---- decay ---- */

static void decay(void **state)
{
	double half = 100, sum = 0, fluorine = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) /* midpoints of 30 s to 330 s */
		sum += exp2(-(30 + .3 * (i + .5)) / half) / 1000;
	NEAR(iso_decay_mean(half, 30, 330), sum, 1e-6);
	NEAR(iso_decay_mean(half, 100, 100), .5, 1e-15);
	NEAR(iso_decay_mean(half, 0, 1e-9), 1, 1e-9);
	assert_true(iso_decay_mean(0, 0, INFINITY) == 1);
	OK(iso_half_life(&fluorine, "F-18"));
	NEAR(iso_decay_mean(fluorine, 0, 3600), .8324, 1e-4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_free_data_give_the_phantom),
		cmocka_unit_test(counts_are_repeated_events),
		cmocka_unit_test(lost_counts_are_summed),
		cmocka_unit_test(subsets_share_a_sensitivity),
		cmocka_unit_test(checkpoints_that_fail_are_counted),
		cmocka_unit_test(updates_conserve_counts),
		cmocka_unit_test(psf_gives_points_back),
		cmocka_unit_test(filter_between_iterations),
		cmocka_unit_test(shown_image_is_filtered),
		cmocka_unit_test(enough_ends_a_run),
		cmocka_unit_test(enough_is_filtered),
		cmocka_unit_test(resume_makes_up_for_a_filter),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(decay),
	};

	snprintf(checkpoint, sizeof checkpoint, "test_em_%d.ckpt", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
