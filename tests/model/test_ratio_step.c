/* SPDX-License-Identifier: BSD-3-Clause */
/* iso_op_ratio_step: by hand, and that of every model against forward and adjoint; which terms are cut; the same bits for
   any number of threads; also built in double. */
#include "bench/srm/strategies.h" /* of srm_problem.h */
#include "srm_problem.h"
#include "test.h"

#include "core/op.h"
#include "core/philox.h"

enum { N = 14, VOXELS = N * N * N, EVENTS = 2000, SUBSETS = 3 };

static const struct iso_grid grid = { { N, N, N }, { 9, 10, 11 }, { 3, 0, -2 } };

/* What fixed point leaves of doubles: terms up to 256 times the largest count have room. */
#define FIXED 1e-7

/* Values in [low, low + 1), others for every seed. */
static iso_real *some_values(int64_t n, double low, uint64_t seed)
{
	iso_real *v = calloc((size_t)n, sizeof *v);

	assert_non_null(v);
	for (int64_t i = 0; i < n; i++)
		v[i] = (iso_real)(low + (double)philox_unit(philox_draw(seed, (uint64_t)i, 0).w[0]));
	return v;
}

/* ---- a step of any operator against the plain pair ---- */

/* What a step takes, on the device: data to choose from, ratios to begin with, images. */
struct inputs {
	iso_ctx *ctx;
	int64_t n, rows;
	iso_real *x, *u, *rho, *y, *add, *mult;
	iso_real *now, *z; /* ratios and image of a step */
};

static iso_real *put(iso_ctx *ctx, int64_t n, iso_real *host)
{
	iso_real *v = to_device(ctx, n, host);

	free(host);
	return v;
}

/* `size`: of the rows of A 1, about. A third of the voxels is 0, a tenth of u and far below the others. */
static struct inputs make_inputs(iso_op *op, double size)
{
	struct inputs in = { iso_op_ctx(op), iso_op_n_in(op), iso_op_n_out(op), .z = NULL };
	iso_real *x = some_values(in.n, .05, 1), *u = calloc((size_t)in.n, sizeof *u);
	iso_real *y = calloc((size_t)in.rows, sizeof *y), *add = some_values(in.rows, .1, 2);
	iso_real *mult = some_values(in.rows, .2, 3), *rho = some_values(in.rows, 0, 4);

	for (int64_t i = 0; i < in.n; i++) {
		x[i] = i % 3 ? x[i] * (i % 10 ? 1 : (iso_real)1e-3) : 0;
		u[i] = x[i] + (iso_real).001;
	}
	for (int64_t j = 0; j < in.rows; j++) {
		y[j] = (iso_real)(j % 5);
		add[j] *= (iso_real)(.2 * size);
		mult[j] = j % 11 ? mult[j] : 0;
		rho[j] *= (iso_real)(2 / size);
	}
	in.x = put(in.ctx, in.n, x);
	in.u = put(in.ctx, in.n, u);
	in.y = put(in.ctx, in.rows, y);
	in.add = put(in.ctx, in.rows, add);
	in.mult = put(in.ctx, in.rows, mult);
	in.rho = put(in.ctx, in.rows, rho);
	in.now = to_device(in.ctx, in.rows, NULL);
	in.z = to_device(in.ctx, in.n, NULL);
	return in;
}

static void free_inputs(struct inputs *in)
{
	iso_real *all[] = { in->x, in->u, in->rho, in->y, in->add, in->mult, in->now, in->z };

	for (int i = 0; i < N_OF(all); i++) device_free(in->ctx, all[i]);
}

/* Of a step: image and ratios on the host. */
struct outcome {
	iso_real *z, *rho;
	struct iso_ratio_stat s;
};

typedef int step_fn(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                    const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *s);

static int own_step(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                    const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *s)
{
	return iso_op_ratio_step(z, rho, s, (iso_op *)op, sub, keep, x, u, d);
}

static struct outcome step(step_fn *fn, const iso_op *op, int sub, bool keep, const struct inputs *in,
                           const struct iso_em_data *d)
{
	struct outcome r;

	memset(&r.s, 0xff, sizeof r.s);
	OK(iso_ctx_vec(in->ctx)->copy(in->ctx, in->rows, in->now, in->rho));
	OK(fn(op, sub, in->z, in->now, keep, in->x, in->u, d, &r.s));
	r.z = to_host(in->ctx, in->n, in->z);
	r.rho = to_host(in->ctx, in->rows, in->now);
	return r;
}

static void free_outcome(struct outcome *r)
{
	free(r->z);
	free(r->rho);
}

/* |a - b| over the largest |b|, at most, in rows or voxels. */
static double furthest(int64_t n, const iso_real *a, const iso_real *b)
{
	double most = 0, off = 0;

	for (int64_t i = 0; i < n; i++) {
		most = fmax(most, fabs((double)b[i]));
		off = fmax(off, fabs((double)a[i] - b[i]));
		if (!isfinite(a[i])) off = INFINITY;
	}
	return off / most;
}

static void same_outcome(const struct outcome *a, const struct outcome *b, const struct inputs *in)
{
	assert_memory_equal(a->z, b->z, (size_t)in->n * sizeof *a->z);
	assert_memory_equal(a->rho, b->rho, (size_t)in->rows * sizeof *a->rho);
	assert_memory_equal(&a->s, &b->s, sizeof a->s);
}

static void check_stat(const struct iso_ratio_stat *a, const struct iso_ratio_stat *b, double tolerance)
{
	assert_int_equal(a->em.used, b->em.used);
	assert_int_equal(a->em.skipped, b->em.skipped);
	NEAR(a->em.counts, b->em.counts, 1e-9 * (1 + b->em.counts));
	NEAR(a->em.lost, b->em.lost, 1e-9 * (1 + b->em.lost));
	NEAR(a->em.loglik, b->em.loglik, tolerance * (fabs(b->em.loglik) + 100));
	assert_int_equal(a->cut, 0);
}

/* One subset: rows of others keep their ratios, and with `keep` all do. */
static void check_rho(const struct outcome *r, const iso_op *op, int sub, bool keep, const struct inputs *in)
{
	iso_real *before = to_host(in->ctx, in->rows, in->rho);
	struct iso_rows rows = iso_op_rows(op, sub);
	int64_t changed = 0;

	for (int64_t j = 0; j < in->rows; j++) {
		bool inside = j >= rows.first && j < rows.first + rows.n;

		if (!inside || keep) assert_true(r->rho[j] == before[j]);
		changed += r->rho[j] != before[j];
	}
	assert_true(keep || changed > rows.n / 2);
	free(before);
}

/* A step from the ratios that a step left has nothing to send. */
static void check_no_change(iso_op *op, int sub, const struct inputs *in, const struct iso_em_data *d)
{
	struct iso_ratio_stat s;

	OK(iso_op_ratio_step(in->z, in->now, &s, op, sub, false, in->x, in->u, d));
	iso_real *z = to_host(in->ctx, in->n, in->z);

	for (int64_t i = 0; i < in->n; i++) assert_true(z[i] == 0);
	free(z);
}

/* The step of an operator with subsets 0 ... n_sub - 1 and all, with each of y and m there or not. */
static void check_against_pair(iso_op *op, double size, double tolerance)
{
	struct inputs in = make_inputs(op, size);

	for (int which = 0; which < 4; which++)
		for (int sub = ISO_ALL; sub < iso_op_n_sub(op); sub++) {
			struct iso_em_data d = { which & 1 ? in.y : NULL, in.add,
				                 which & 2 ? in.mult : NULL };
			bool keep = (which + sub) % 2 == 0;
			struct outcome a = step(own_step, op, sub, keep, &in, &d);
			struct outcome again = step(own_step, op, sub, keep, &in, &d);

			same_outcome(&a, &again, &in);
			if (!keep) check_no_change(op, sub, &in, &d);
			struct outcome b = step(iso_ratio_step_plain, op, sub, keep, &in, &d);
			double off = furthest(in.n, a.z, b.z);

			if (!(off < tolerance)) fail_msg("data %d, subset %d: %g", which, sub, off);
			BELOW(furthest(in.rows, a.rho, b.rho), tolerance);
			check_rho(&a, op, sub, keep, &in);
			check_stat(&a.s, &b.s, tolerance);
			free_outcome(&a);
			free_outcome(&again);
			free_outcome(&b);
		}
	free_inputs(&in);
}

/* ---- by hand ---- */

enum { COLUMNS = 2, ROWS = 5 };

/* Row 2 sees nothing, row 3 voxel 1 alone. */
static const double matrix[ROWS][COLUMNS] = { { 1, 2 }, { .5, 0 }, { 0, 0 }, { 0, 4 }, { 3, 1 } };

static int multiply(void *arg, int sub, iso_real *y, const iso_real *x)
{
	(void)arg;
	(void)sub;
	for (int j = 0; j < ROWS; j++) y[j] = (iso_real)(matrix[j][0] * x[0] + matrix[j][1] * x[1]);
	return ISO_OK;
}

static int multiply_back(void *arg, int sub, iso_real *x, const iso_real *y)
{
	(void)arg;
	(void)sub;
	for (int i = 0; i < COLUMNS; i++) {
		double sum = 0;

		for (int j = 0; j < ROWS; j++) sum += matrix[j][i] * y[j];
		x[i] = (iso_real)sum;
	}
	return ISO_OK;
}

/* x = (2, 0): A x = (2, 1, 0, 0, 6). Row 0 has m = 0, row 2 no expectation, row 3 an additive term alone: its ratio
   counts, as voxel 1 may grow again. */
static void by_hand(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct iso_custom p = {
		.size = sizeof p, COLUMNS, ROWS, 1, .forward = multiply, .adjoint = multiply_back
	};
	iso_real x[COLUMNS] = { 2, 0 }, u[COLUMNS] = { 1, 1 }, z[COLUMNS];
	iso_real y[ROWS] = { 5, 3, 2, 7, 4 }, add[ROWS] = { 1, .5, 0, 2, 2 }, mult[ROWS] = { 0, 1, 1, 2, 1 };
	iso_real rho[ROWS] = { .25, 1, 0, .5, 1 }, before[ROWS];
	struct iso_em_data d = { y, add, mult };
	struct iso_ratio_stat s;
	iso_op *op = NULL;

	(void)state;
	OK(iso_custom_create(&op, ctx, &p));
	memcpy(before, rho, sizeof rho);
	OK(iso_op_ratio_step(z, rho, &s, op, ISO_ALL, true, x, u, &d));
	/* new: 0, 3/1.5, 0, 7/2, 4/8; differences: -1/4, 1, 0, 3, -1/2 */
	NEAR(z[0], -.25 + .5 - 1.5, 1e-6);
	NEAR(z[1], -.5 + 12 - .5, 1e-5);
	assert_memory_equal(rho, before, sizeof rho);
	OK(iso_op_ratio_step(z, rho, &s, op, 0, false, x, u, &d));
	NEAR(z[1], 11, 1e-5);
	NEAR(rho[0], 0, 0);
	NEAR(rho[1], 2, 1e-6);
	NEAR(rho[3], 3.5, 1e-6);
	NEAR(rho[4], .5, 1e-6);
	assert_int_equal(s.em.used, 3);
	assert_int_equal(s.em.skipped, 2);
	NEAR(s.em.lost, 7, 1e-12);
	NEAR(s.em.counts, 7, 1e-12); /* rows that meet activity: 1 and 4 */
	NEAR(s.em.loglik, 3 * log(1.5) + 7 * log(4) + 4 * log(8), 1e-6);
	assert_int_equal(s.cut, 0);
	REFUSED(iso_op_ratio_step(z, rho, &s, op, 1, false, x, u, &d), ISO_EARG, "subset is 1");
	iso_op_free(op);
	iso_ctx_free(ctx);
}

/* ---- operators ---- */

static iso_op *ray(iso_ctx *ctx, const struct iso_ray *way, int64_t n)
{
	struct iso_ring ring = { .radius = 170, .length = 150, .seed = 3 };
	struct iso_events e = { .n = n, .v = calloc((size_t)n, sizeof *e.v) };
	iso_op *op = NULL;

	assert_non_null(e.v);
	OK(iso_ring_events(e.v, ctx, &ring, 0, n));
	e.v[n / 2].p1[0] = NAN;
	OK(iso_ray_create(&op, ctx, way, &e));
	free(e.v);
	return op;
}

#define WAY \
	.size = sizeof(struct iso_ray), .grid = { { N, N, N }, { 9, 10, 11 }, { 3, 0, -2 } }, .n_sub = SUBSETS

static const struct iso_ray ways[] = {
	{ WAY },
	{ WAY, .rule = ISO_RANDOM, .tof_fwhm_ps = 390, .tof_truncate = 3 },
	{ WAY, .tof_fwhm_ps = 100 },
	{ WAY, .tof_fwhm_ps = 390, .tof_truncate = 3, .tof_bin_ps = 70 },
	{ WAY, .projector = ISO_JOSEPH, .rule = ISO_BLOCKS },
	{ WAY, .projector = ISO_JOSEPH, .tof_fwhm_ps = 390, .tof_truncate = 2 },
	{ WAY, .rays = 5, .spread_mm = { 4, 6 } },
	{ WAY, .rays = 3, .spread_mm = { 4, 6 }, .tof_fwhm_ps = 390 },
};

/* TOF weights are shares below 1, others mm. */
static double size_of(const struct iso_ray *way)
{
	return way->tof_fwhm_ps > 0 && !(way->tof_bin_ps > 0) ? .5 : 60;
}

static void check_ray(iso_ctx *ctx)
{
	for (int k = 0; k < N_OF(ways); k++) {
		iso_op *op = ray(ctx, ways + k, EVENTS);

		check_against_pair(op, size_of(ways + k),
		                   iso_ctx_is_cuda(ctx) ? 1e-4 : TOLERANCE(1e-5, FIXED));
		iso_op_free(op);
	}
}

/* The scale of the sums goes through the chain as the image does. */
static void check_chain(iso_ctx *ctx)
{
	iso_op *model = ray(ctx, ways + 1, EVENTS), *psf = NULL, *chain = NULL;

	OK(iso_psf_create(&psf, ctx, &grid, (double[]){ 12, 15, 20 }));
	OK(iso_chain_create(&chain, model, psf));
	check_against_pair(chain, .5, iso_ctx_is_cuda(ctx) ? 1e-4 : TOLERANCE(1e-5, FIXED));
	iso_op_free(chain);
	iso_op_free(psf);
	iso_op_free(model);
}

#define STRIP(growth)                             \
	.size = sizeof(struct iso_strip),         \
	.strips = { .radius = 130,                \
		    .length = 300,                \
		    .sigma_z = 10,                \
		    .sigma_dl = 40,               \
		    .sigma_z_growth = (growth) }, \
	.ny = 40, .nz = 50, .pixel = 5, .n_sub = SUBSETS, .rule = ISO_RANDOM

static const struct iso_strip strip_ways[] = {
	{ STRIP(0), .kernel = ISO_STRIP_EQ7 },
	{ STRIP(0), .kernel = ISO_STRIP_TAN },
	{ STRIP(1e-3), .kernel = ISO_STRIP_TAN, .edge = true },
	{ STRIP(1e-3), .kernel = ISO_STRIP_GAUSS },
	{ STRIP(0), .kernel = ISO_STRIP_EQ7, .strategy = ISO_STRIP_WARP },
	{ STRIP(0), .kernel = ISO_STRIP_EQ7, .strategy = ISO_STRIP_THREAD },
};

static iso_op *strip(iso_ctx *ctx, const struct iso_strip *way, int64_t n)
{
	struct iso_strip_events e = { .n = n, .v = calloc((size_t)n, sizeof *e.v) };
	iso_real *v = some_values(3 * n, -.5, 9);
	iso_op *op = NULL;

	assert_non_null(e.v);
	for (int64_t j = 0; j < n; j++)
		e.v[j] = (struct iso_strip_event){ 240 * (float)v[3 * j], 240 * (float)v[3 * j + 1],
			                           160 * (float)v[3 * j + 2] };
	e.v[n / 2].dl = NAN;
	OK(iso_strip_create(&op, ctx, way, &e));
	free(v);
	free(e.v);
	return op;
}

/* A x of an image of ones, its largest over the rows of a subset, and the row that has it. */
static double largest_of(iso_op *op, int sub, int64_t *row)
{
	struct iso_rows rows = iso_op_rows(op, sub);
	iso_ctx *ctx = iso_op_ctx(op);
	iso_real *x = to_device(ctx, iso_op_n_in(op), NULL), *y = to_device(ctx, iso_op_n_out(op), NULL);
	double most = 0;

	OK(iso_ctx_vec(ctx)->fill(ctx, iso_op_n_in(op), x, 1));
	OK(iso_forward(y, op, ISO_ALL, x));
	iso_real *host = to_host(ctx, iso_op_n_out(op), y);

	for (int64_t j = rows.first; j < rows.first + rows.n; j++)
		if (host[j] > most) {
			most = host[j];
			*row = j;
		}
	device_free(ctx, x);
	device_free(ctx, y);
	free(host);
	return most;
}

static double largest_row(iso_op *op)
{
	int64_t row;

	return largest_of(op, ISO_ALL, &row);
}

/* On CUDA forward rounds in another order than the step, and the ratios cancel all but their difference. */
static void check_strip(iso_ctx *ctx)
{
	double tolerance = iso_ctx_is_cuda(ctx) ? 2e-4 : TOLERANCE(1e-5, FIXED);

	for (int k = 0; k < N_OF(strip_ways); k++) {
		iso_op *op = strip(ctx, strip_ways + k, EVENTS);

		check_against_pair(op, .5 * largest_row(op), tolerance);
		iso_op_free(op);
	}
}

static void check_srm(iso_ctx *ctx)
{
	static const enum srm_strategy strategies[] = { SRM_CORRELATION, SRM_ROW, SRM_COLUMN, SRM_COMBINED };
	const struct problem p = { { 5, 6 }, { 2, 2 }, 4, 1, SUBSETS, ISO_MOD, 1 };
	iso_srm *srm = NULL;
	iso_op *first = row_operator(&srm, ctx, &p);

	for (int k = 0; k < (iso_ctx_is_cuda(ctx) ? N_OF(strategies) : 2); k++) {
		struct iso_srm_model model = { .size = sizeof model, srm, SUBSETS, ISO_MOD };
		iso_op *op = NULL;

		OK(srm_strategy_create(&op, ctx, &model, strategies[k]));
		check_against_pair(op, .5 * largest_row(op), TOLERANCE(1e-5, FIXED));
		iso_op_free(op);
	}
	iso_op_free(first);
	iso_srm_free(srm);
}

/* ---- counts, and terms that are cut ---- */

/* Counts of hundreds in one row: by other kernels on CUDA. */
static void check_large_counts(iso_ctx *ctx)
{
	iso_op *op[] = { ray(ctx, ways, EVENTS), strip(ctx, strip_ways, EVENTS) };

	for (int k = 0; k < N_OF(op); k++) {
		struct inputs in = make_inputs(op[k], .5 * largest_row(op[k]));
		iso_real *y = to_host(ctx, in.rows, in.y);

		y[7] = 1000;
		OK(iso_ctx_vec(ctx)->upload(ctx, in.y, y, in.rows * (int64_t)sizeof *y));
		struct iso_em_data d = { in.y, in.add, NULL };
		struct outcome a = step(own_step, op[k], ISO_ALL, false, &in, &d);
		struct outcome b = step(iso_ratio_step_plain, op[k], ISO_ALL, false, &in, &d);

		assert_true(furthest(in.n, a.z, b.z) <
		            (iso_ctx_is_cuda(ctx) ? 1e-4 : TOLERANCE(1e-5, FIXED)));
		check_stat(&a.s, &b.s, 1e-5);
		free_outcome(&a);
		free_outcome(&b);
		free_inputs(&in);
		free(y);
		iso_op_free(op[k]);
	}
}

/* An event whose ratio is far beyond all others: |z u| of its voxels is then at most 256 y, with either sign, and those
   that reach it are counted. Slivers at the faces of voxels are terms of their own on CUDA. */
static void check_cut_of(iso_op *op, double count, bool down)
{
	struct inputs in = make_inputs(op, .5 * largest_row(op));
	iso_real *rho = calloc((size_t)in.rows, sizeof *rho), *u = to_host(in.ctx, in.n, in.u), *y;
	struct iso_em_data d = { count > 0 ? in.y : NULL, in.add, NULL };
	int64_t cut = 0, longest = 0, slivers = iso_ctx_is_cuda(in.ctx) ? 2 : 0;
	double most = 256 * (count > 0 ? count : 1);

	y = calloc((size_t)in.rows, sizeof *y);
	for (int64_t j = 0; j < in.rows; j++) y[j] = (iso_real)count;
	OK(iso_ctx_vec(in.ctx)->upload(in.ctx, in.y, y, in.rows * (int64_t)sizeof *y));
	OK(iso_ctx_vec(in.ctx)->upload(in.ctx, in.rho, rho, in.rows * (int64_t)sizeof *rho));
	struct outcome without = step(own_step, op, 1, true, &in, &d);

	assert_int_equal(without.s.cut, 0);
	double far = 1000 * most / largest_of(op, 1, &longest);

	rho[longest] = (iso_real)(down ? far : -far);
	OK(iso_ctx_vec(in.ctx)->upload(in.ctx, in.rho, rho, in.rows * (int64_t)sizeof *rho));
	struct outcome with = step(own_step, op, 1, true, &in, &d);

	for (int64_t i = 0; i < in.n; i++) {
		double change = ((double)with.z[i] - without.z[i]) * u[i];

		if (change == 0) continue;
		assert_true(down ? change < 0 : change > 0);
		assert_true(fabs(change) < most * 1.01); /* with what it sent before */
		cut += fabs(change) > most * .99;
	}
	assert_true(cut > 3);
	if (labs((long)(with.s.cut - cut)) > slivers)
		fail_msg("%d terms cut, %d counted", (int)cut, (int)with.s.cut);
	free_outcome(&with);
	free_outcome(&without);
	free_inputs(&in);
	free(rho);
	free(u);
	free(y);
	iso_op_free(op);
}

static void check_cut(iso_ctx *ctx)
{
	check_cut_of(ray(ctx, ways, 300), 0, false);
	check_cut_of(ray(ctx, ways, 300), 3, true);
	check_cut_of(ray(ctx, ways + 1, 300), 0, true);
	check_cut_of(strip(ctx, strip_ways, 300), 0, true);
	check_cut_of(strip(ctx, strip_ways, 300), 3, false);
}

/* ---- bits ---- */

static void same_bits_for_every_number_of_threads(void **state)
{
	struct outcome first[4];

	(void)state;
	for (int threads = 1; threads <= 5; threads += 2) {
		iso_ctx *ctx = cpu(threads);
		iso_op *op[] = { ray(ctx, ways, 5000), ray(ctx, ways + 7, 5000), strip(ctx, strip_ways, 5000),
			         strip(ctx, strip_ways + 3, 5000) };

		for (int k = 0; k < N_OF(op); k++) {
			struct inputs in = make_inputs(op[k], .5 * largest_row(op[k]));
			struct iso_em_data d = { in.y, in.add, in.mult };
			struct outcome r = step(own_step, op[k], k % 2, false, &in, &d);

			if (threads == 1) {
				first[k] = r;
			} else {
				same_outcome(first + k, &r, &in);
				free_outcome(&r);
			}
			free_inputs(&in);
			iso_op_free(op[k]);
		}
		iso_ctx_free(ctx);
	}
	for (int k = 0; k < N_OF(first); k++) free_outcome(first + k);
}

/* ---- streamed events ---- */

static int read_events(void *arg, struct iso_events *b, int64_t first, int64_t n)
{
	const struct iso_events *e = arg;

	memcpy(b->v, e->v + first, (size_t)n * sizeof *b->v);
	for (int64_t j = 0; j < n; j++) {
		b->count[j] = e->count[first + j];
		b->add[j] = e->add[first + j];
	}
	return ISO_OK;
}

/* Events in blocks against the same in memory: a step, and one that goes on from its ratios. Subsets dealt at random
   stand in another order there: from ratios of 0 that does not show in the image. */
static void check_stream(iso_ctx *ctx)
{
	enum { N_EVENTS = 1013, BLOCK = 100 };
	struct iso_ring ring = { .radius = 170, .length = 150, .seed = 3 };
	struct iso_events e = { .n = N_EVENTS, .v = calloc(N_EVENTS, sizeof *e.v) };
	struct iso_ray_source source = { sizeof source,       N_EVENTS, .has_count = true, .has_add = true,
		                         .read = read_events, .arg = &e };

	assert_non_null(e.v);
	OK(iso_ring_events(e.v, ctx, &ring, 0, N_EVENTS));
	e.count = some_values(N_EVENTS, 0, 5);
	e.add = some_values(N_EVENTS, 5, 6);
	for (int k = 0; k < 5; k++) {
		bool mixed = ways[k].rule == ISO_RANDOM;
		iso_op *memory = NULL, *stream = NULL;

		OK(iso_ray_create(&memory, ctx, ways + k, &e));
		OK(iso_ray_stream_create(&stream, ctx, ways + k, &source, BLOCK));
		struct inputs in = make_inputs(memory, size_of(ways + k));
		iso_real *y = calloc(N_EVENTS, sizeof *y), *add = calloc(N_EVENTS, sizeof *add);

		iso_op_sort(y, memory, e.count);
		iso_op_sort(add, memory, e.add);
		OK(iso_ctx_vec(ctx)->upload(ctx, in.y, y, N_EVENTS * (int64_t)sizeof *y));
		OK(iso_ctx_vec(ctx)->upload(ctx, in.add, add, N_EVENTS * (int64_t)sizeof *add));
		if (mixed) OK(iso_ctx_vec(ctx)->fill(ctx, N_EVENTS, in.rho, 0));
		struct iso_em_data d = { in.y, in.add, NULL }, none = { 0 };

		for (int sub = ISO_ALL; sub < SUBSETS; sub++) {
			struct outcome a = step(own_step, memory, sub, false, &in, &d);
			struct outcome b = step(own_step, stream, sub, false, &in, &none);

			if (mixed) memcpy(a.rho, b.rho, N_EVENTS * sizeof *a.rho);
			same_outcome(&a, &b, &in);
			check_no_change(stream, sub, &in, &none);
			free_outcome(&a);
			free_outcome(&b);
		}
		struct iso_ratio_stat s;

		REFUSED(iso_op_ratio_step(in.z, in.now, &s, stream, 0, false, in.x, in.u, &d), ISO_EARG,
		        "the source has them");
		free(y);
		free(add);
		free_inputs(&in);
		iso_op_free(memory);
		iso_op_free(stream);
	}
	free(e.v);
	free(e.count);
	free(e.add);
}

static void on_cpu(void (*check)(iso_ctx *))
{
	iso_ctx *ctx = cpu(3);

	check(ctx);
	iso_ctx_free(ctx);
}

#define CPU_TEST(name, check)          \
	static void name(void **state) \
	{                              \
		(void)state;           \
		on_cpu(check);         \
	}

CPU_TEST(ray_is_the_plain_pair, check_ray)
CPU_TEST(chain_is_the_plain_pair, check_chain)
CPU_TEST(strip_is_the_plain_pair, check_strip)
CPU_TEST(srm_is_the_plain_pair, check_srm)
CPU_TEST(large_counts, check_large_counts)
CPU_TEST(terms_are_cut, check_cut)
CPU_TEST(streamed_events, check_stream)
CUDA_TEST(cuda_ray_is_the_plain_pair, check_ray)
CUDA_TEST(cuda_chain_is_the_plain_pair, check_chain)
CUDA_TEST(cuda_strip_is_the_plain_pair, check_strip)
CUDA_TEST(cuda_srm_is_the_plain_pair, check_srm)
CUDA_TEST(cuda_large_counts, check_large_counts)
CUDA_TEST(cuda_terms_are_cut, check_cut)
CUDA_TEST(cuda_streamed_events, check_stream)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(ray_is_the_plain_pair),
		cmocka_unit_test(chain_is_the_plain_pair),
		cmocka_unit_test(strip_is_the_plain_pair),
		cmocka_unit_test(srm_is_the_plain_pair),
		cmocka_unit_test(large_counts),
		cmocka_unit_test(terms_are_cut),
		cmocka_unit_test(same_bits_for_every_number_of_threads),
		cmocka_unit_test(streamed_events),
		cmocka_unit_test(cuda_ray_is_the_plain_pair),
		cmocka_unit_test(cuda_chain_is_the_plain_pair),
		cmocka_unit_test(cuda_strip_is_the_plain_pair),
		cmocka_unit_test(cuda_srm_is_the_plain_pair),
		cmocka_unit_test(cuda_large_counts),
		cmocka_unit_test(cuda_terms_are_cut),
		cmocka_unit_test(cuda_streamed_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
