/* SPDX-License-Identifier: BSD-3-Clause */
/* Model barrel against reference vectors: projections, sensitivity, images of MLEM with ends of strips, attenuation and an
   additive term; the adjoint, threads, subsets, direct images, and every refusal; also built in double. */
#include "../barrel_vectors.h"

struct setup {
	struct iso_barrel_strip *strip;
	struct iso_barrel b;
	struct iso_barrel_event v[BARREL_EVENTS];
	struct iso_barrel_events e;
	struct iso_barrel_model m;
};

static void begin(struct setup *s, bool edge)
{
	double *v = barrel_values("events", BARREL_EVENTS * 5);

	*s = (struct setup){ .strip = barrel_strips() };
	s->b = (struct iso_barrel){ .n = BARREL_STRIPS,
		                    .strip = s->strip,
		                    .mu = .0096,
		                    .least_distance = 100,
		                    .end_sigma_ps = 60,
		                    .light_speed = .126,
		                    .light_attenuation = 300 };
	for (int j = 0; j < BARREL_EVENTS; j++) {
		const double *p = v + 5 * j;

		s->v[j] = (struct iso_barrel_event){ (int32_t)p[0], (int32_t)p[1], (iso_real)p[2],
			                             (iso_real)p[3], (iso_real)p[4] };
	}
	s->e = (struct iso_barrel_events){ .n = BARREL_EVENTS, .v = s->v };
	s->m = (struct iso_barrel_model){ .size = sizeof s->m,
		                          .barrel = &s->b,
		                          .grid = { { BARREL_NX, BARREL_NY, BARREL_NZ }, { 6, 6, 5 }, { 0 } },
		                          .no_edge = !edge,
		                          .n_sub = 1 };
	free(v);
}

static void end(struct setup *s)
{
	free(s->strip);
}

/* |got - want| over |want|. */
static double apart(const iso_real *got, const double *want, int n)
{
	double a = 0, b = 0;

	for (int i = 0; i < n; i++) {
		a += pow((double)got[i] - want[i], 2);
		b += want[i] * want[i];
	}
	return sqrt(a / b);
}

static void check(const iso_real *got, const char *name, int n, double tolerance)
{
	double *want = barrel_values(name, n), far = apart(got, want, n);

	print_message("%s: %.3g\n", name, far);
	BELOW(far, tolerance);
	free(want);
}

static iso_real *reals(const char *name, int n)
{
	double *v = barrel_values(name, n);
	iso_real *x = malloc((size_t)n * sizeof *x);

	for (int i = 0; i < n; i++) x[i] = (iso_real)v[i];
	free(v);
	return x;
}

static iso_real *ones(int n)
{
	iso_real *x = malloc((size_t)n * sizeof *x);

	for (int i = 0; i < n; i++) x[i] = 1;
	return x;
}

/* A and A* of ones. */
static void projections(iso_ctx *ctx)
{
	const double close = BARREL_TOLERANCE(1e-7, 1e-3);

	for (int edge = 0; edge < 2; edge++) {
		struct setup s;
		iso_op *op = NULL;
		iso_real *x = ones(BARREL_VOXELS), *y = ones(BARREL_EVENTS);
		double err;

		begin(&s, edge);
		OK(iso_barrel_create(&op, ctx, &s.m, &s.e));
		iso_real *dx = to_device(ctx, BARREL_VOXELS, x), *dy = to_device(ctx, BARREL_EVENTS, y);

		OK(iso_forward(dy, op, ISO_ALL, dx));
		iso_real *got = to_host(ctx, BARREL_EVENTS, dy);

		check(got, edge ? "fwd_ones_edge" : "fwd_ones", BARREL_EVENTS, close);
		free(got);
		OK(iso_ctx_vec(ctx)->upload(ctx, dy, y, BARREL_EVENTS * sizeof *y));
		OK(iso_adjoint(dx, op, ISO_ALL, dy));
		got = to_host(ctx, BARREL_VOXELS, dx);
		if (!edge) check(got, "back_ones", BARREL_VOXELS, close);
		free(got);
		OK(iso_test_adjoint(&err, op, ISO_ALL, 3));
		BELOW(err, 1e-6);
		device_free(ctx, dx);
		device_free(ctx, dy);
		iso_op_free(op);
		end(&s);
		free(x);
		free(y);
	}
}

static void images(iso_ctx *ctx, bool edge, const char *name, int iterations, bool mu, bool additive)
{
	struct setup s;
	struct iso_em em = { .size = sizeof em, .iterations = iterations };
	iso_real *x = ones(BARREL_VOXELS), *sens = reals(mu ? "sens_mu" : "sens", BARREL_VOXELS);
	iso_real *alpha = mu ? reals("alpha", BARREL_EVENTS) : NULL, *add = ones(BARREL_EVENTS);
	double total = 0;

	begin(&s, edge);
	for (int j = 0; j < BARREL_EVENTS; j++) add[j] = (iso_real)3.9e-7;
	OK(iso_barrel_create(&em.op, ctx, &s.m, &s.e));
	em.sens = (struct iso_sens){ 1, 1, sens };
	em.data.mult = alpha;
	em.data.add = additive ? add : NULL;
	OK(iso_em_run(x, NULL, &em, NULL));
	check(x, name, BARREL_VOXELS, BARREL_TOLERANCE(1e-7, 1e-3));
	for (int i = 0; i < BARREL_VOXELS; i++) total += (double)x[i] * (double)sens[i];
	if (!additive) NEAR(total, BARREL_EVENTS, BARREL_TOLERANCE(1e-9, 1e-4) * BARREL_EVENTS);
	iso_op_free(em.op);
	end(&s);
	free(x);
	free(sens);
	free(alpha);
	free(add);
}

static void all_images(iso_ctx *ctx)
{
	images(ctx, false, "mlem_it1", 1, false, false);
	images(ctx, false, "mlem_it5", 5, false, false);
	images(ctx, true, "mlem_edge_it5", 5, false, false);
	images(ctx, true, "mlem_mu_it5", 5, true, false);
	images(ctx, true, "mlem_mu_r_it5", 5, true, true);
}

static void everything(iso_ctx *ctx)
{
	projections(ctx);
	all_images(ctx);
}

static void cpu_everything(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	everything(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_everything, everything)

static struct iso_array attenuation(void)
{
	struct iso_array mu = { 0 };
	const struct iso_grid g = { { BARREL_NX, BARREL_NY, BARREL_NZ }, { 6, 6, 5 }, { 0 } };
	iso_real *v = reals("mu_box", BARREL_VOXELS);

	OK(iso_array_on_grid(&mu, &g));
	memcpy(mu.v, v, BARREL_VOXELS * sizeof *v);
	free(v);
	return mu;
}

static void sensitivity(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct setup s;
	struct iso_array mu = attenuation();
	iso_real *x = ones(BARREL_VOXELS), *again = ones(BARREL_VOXELS);

	(void)state;
	begin(&s, true);
	OK(iso_barrel_sens(x, ctx, &s.m, NULL));
	check(x, "sens", BARREL_VOXELS, BARREL_TOLERANCE(3e-8, 1e-4));
	s.m.grid.centre[0] = 1e-4; /* no turn, no mirror */
	OK(iso_barrel_sens(again, ctx, &s.m, NULL));
	check(again, "sens", BARREL_VOXELS, 1e-4);
	s.m.grid.centre[0] = 0;
	OK(iso_barrel_sens(x, ctx, &s.m, &mu));
	check(x, "sens_mu", BARREL_VOXELS, .015);
	OK(iso_barrel_attenuation(again, ctx, &s.b, &mu, &s.e));
	check(again, "alpha", BARREL_EVENTS, 1e-5);
	iso_array_free(&mu);
	iso_ctx_free(ctx);
	end(&s);
	free(x);
	free(again);
}

/* The device's chances are the CPU's: with turns and without, behind an object, in the shadow of strips that are alike or not. */
static void sens_as_on_cpu(iso_ctx *ctx)
{
	iso_ctx *host = cpu(2);
	struct setup s;
	struct iso_array mu = attenuation();

	begin(&s, true);
	for (int k = 0; k < 5; k++) {
		iso_real *want = ones(BARREL_VOXELS), *got = ones(BARREL_VOXELS);
		double off = 0, all = 0;

		s.m.grid.centre[0] = k == 1 ? 1e-4 : 0;
		s.b.shadow = k > 2;
		if (k == 4) s.strip[3].length += 10;
		OK(iso_barrel_sens(want, host, &s.m, k == 2 ? &mu : NULL));
		OK(iso_barrel_sens(got, ctx, &s.m, k == 2 ? &mu : NULL));
		for (int i = 0; i < BARREL_VOXELS; i++) {
			off += pow((double)got[i] - (double)want[i], 2);
			all += pow((double)want[i], 2);
		}
		print_message("case %d: %.3g\n", k, sqrt(off / all));
		BELOW(sqrt(off / all), 1e-5);
		free(want);
		free(got);
	}
	iso_array_free(&mu);
	iso_ctx_free(host);
	end(&s);
}

CUDA_TEST(cuda_sensitivity, sens_as_on_cpu)

/* One, two and five threads, and the first and the second half of OSEM's events. */
static void same_bits(void **state)
{
	iso_real *first = NULL;
	struct setup s;

	(void)state;
	begin(&s, true);
	s.b.shadow = true;
	s.m.n_sub = 3;
	for (int threads = 1; threads <= 5; threads += threads) {
		struct iso_em em = { .size = sizeof em, .iterations = 2 };
		iso_real *x = ones(BARREL_VOXELS), *sens = ones(3 * BARREL_VOXELS);
		iso_ctx *ctx = cpu(threads);

		OK(iso_barrel_sens(sens, ctx, &s.m, NULL));
		OK(iso_barrel_create(&em.op, ctx, &s.m, &s.e));
		for (int i = 0; i < 3 * BARREL_VOXELS; i++) sens[i] = sens[i % BARREL_VOXELS] / 3;
		em.sens = (struct iso_sens){ 3, 3, sens };
		OK(iso_em_run(x, NULL, &em, NULL));
		if (!first)
			first = x;
		else
			assert_memory_equal(first, x, BARREL_VOXELS * sizeof *x);
		if (first != x) free(x);
		free(sens);
		iso_op_free(em.op);
		iso_ctx_free(ctx);
	}
	free(first);
	end(&s);
}

/* What is wrong with events. */
static void counting(void **state)
{
	struct setup s;
	struct iso_barrel_event bad[] = { { 0, 24, 0, 0, 0 },   { 0, 48, 0, 0, 0 },   { -5, 3, 0, 0, 0 },
		                          { 7, 7, 0, 0, 0 },    { 0, 3, 0, 0, 0 },    { 0, 24, NAN, 0, 0 },
		                          { 0, 24, 0, 300, 0 }, { 0, 24, 0, -105, 0 } };
	struct iso_barrel_events e = { .n = 8, .v = bad };
	iso_real image[BARREL_VOXELS];
	int64_t outside;

	(void)state;
	begin(&s, true);
	iso_barrel_events_check(&e, &s.b);
	assert_int_equal(e.unknown, 2);
	assert_int_equal(e.no_pair, 2);
	assert_int_equal(e.not_finite, 1);
	assert_int_equal(e.far, 1);
	assert_int_equal(e.beyond, 1);
	assert_int_equal(bad[0].a, 0);
	for (int i = 1; i < 7; i++) assert_int_equal(bad[i].a, -1);
	assert_int_equal(bad[7].a, 0);
	OK(iso_barrel_direct(image, &outside, &s.m, &e));
	double sum = 0;

	for (int i = 0; i < BARREL_VOXELS; i++) sum += (double)image[i];
	assert_true(sum + (double)outside == 2);
	end(&s);
}

static void refusals(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_op *op = NULL;
	struct setup s;

	(void)state;
	begin(&s, true);
	s.m.grid.voxel[1] = 5;
	REFUSED(iso_barrel_create(&op, ctx, &s.m, &s.e), ISO_EARG, "must be square");
	s.m.grid.voxel[1] = 6;
	s.m.sigma_cut = 7;
	REFUSED(iso_barrel_create(&op, ctx, &s.m, &s.e), ISO_EARG, "sigma_cut is 7");
	s.m.sigma_cut = 0;
	s.m.kernel = (enum iso_barrel_kernel)3;
	REFUSED(iso_barrel_create(&op, ctx, &s.m, &s.e), ISO_EARG, "no kernel 3");
	s.m.kernel = ISO_BARREL_THIN;
	s.m.n_sub = 401;
	REFUSED(iso_barrel_create(&op, ctx, &s.m, &s.e), ISO_EARG, "401 subsets of 400 events");
	s.m.n_sub = 1;
	s.e.n = 0;
	REFUSED(iso_barrel_create(&op, ctx, &s.m, &s.e), ISO_EARG, "no events");
	s.m.barrel = NULL;
	REFUSED(iso_barrel_create(&op, ctx, &s.m, &s.e), ISO_EARG, "no strips");
	s.m.size = 0;
	REFUSED(iso_barrel_create(&op, ctx, &s.m, &s.e), ISO_EARG, "size");
	iso_ctx_free(ctx);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_everything), cmocka_unit_test(cuda_everything),
		cmocka_unit_test(sensitivity),    cmocka_unit_test(cuda_sensitivity),
		cmocka_unit_test(same_bits),      cmocka_unit_test(counting),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
