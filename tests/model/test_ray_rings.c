/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of a cylinder by its equal rings, against all crystal pairs one by one; also built in double. */
#include "test.h"

struct cylinder {
	const char *weight;
	int rings, reach; /* reach: how many rings apart pairs are, at most */
	int crystals;     /* of a ring */
	double pitch, radius;
};

static const struct cylinder twelve = { "solid-angle", 12, 9, 96, 5, 60 },
			     eight = { "solid-angle", 8, 7, 96, 5, 60 },
			     three = { "solid-angle", 3, 2, 96, 5, 60 },
			     nine_alike = { "uniform", 9, 8, 96, 5, 60 },
			     one = { "uniform", 1, 0, 96, 5, 60 }, apart = { "uniform", 7, 0, 96, 5, 60 },
			     near = { "solid-angle", 12, 2, 96, 5, 60 },
			     eight_alike = { "uniform", 8, 5, 96, 5, 60 },
			     tube = { "solid-angle", 220, 12, 40, 1, 40 };

/* Few voxels, not in the middle; rings lie on faces between slices of 2.5 mm. */
static const struct iso_grid half = { { 30, 26, 20 }, { 3, 3.3, 2.5 }, { 2.6, -1.4, 2.5 } },
			     off_rings = { { 30, 26, 14 }, { 3, 3.3, 2.5 }, { 2.6, -1.4, .5 } },
			     thin = { { 30, 26, 80 }, { 3, 3.3, .4 }, { 2.6, -1.4, 2.5 } },
			     thick = { { 30, 26, 8 }, { 3, 3.3, 11 }, { 2.6, -1.4, 2.5 } },
			     flat = { { 30, 26, 18 }, { 3, 3.3, 4 }, { 2.6, -1.4, .5 } },
			     low = { { 30, 26, 9 }, { 3, 3.3, 4 }, { 2.6, -1.4, 1.5 } },
			     single = { { 30, 26, 1 }, { 3, 3.3, 9 }, { 2.6, -1.4, .3 } },
			     beyond = { { 50, 50, 44 }, { 3, 3, 2.5 }, { 0, 0, .2 } },
			     beyond_thin = { { 50, 50, 100 }, { 3, 3, .7 }, { 0, 0, .2 } },
			     lengthy = { { 12, 11, 60 }, { 4, 4, 4 }, { .6, -.4, .5 } };

/* And how far the image may be off (relative L2), without and with mu and eff. */
struct setting {
	const char *name;
	const struct cylinder *scanner;
	const struct iso_grid *grid;
	enum iso_projector projector;
	int rays;
	double without, with;
};

static const struct setting settings[] = {
	{ "slices of half a pitch", &twelve, &half, ISO_SLICE, 1, 2e-4, 2.5e-3 },
	{ "all pairs alike", &nine_alike, &half, ISO_SLICE, 1, 2e-4, 2e-3 },
	{ "one ring", &one, &half, ISO_SLICE, 1, 2e-6, 2e-6 },
	{ "no ring sees another", &apart, &off_rings, ISO_SLICE, 1, 2e-6, 2e-6 },
	{ "thick slices, beyond the rings", &eight, &thick, ISO_SLICE, 1, 2e-4, 8e-4 },
	{ "three lines a pair", &eight, &half, ISO_SLICE, 3, 2e-4, 5e-3 },
	{ "Joseph", &twelve, &flat, ISO_JOSEPH, 1, 2e-4, 2.5e-3 },
	{ "Joseph, rings beyond the grid", &twelve, &low, ISO_JOSEPH, 1, 3e-3, 4e-3 },
	{ "one slice by Joseph", &three, &single, ISO_JOSEPH, 1, 5e-3, 6e-3 },
	/* grids that reach beyond the ends of the rings, and out to the crystals, of which some see nothing */
	{ "the corners", &twelve, &beyond, ISO_SLICE, 1, 3e-4, 6e-3 },
	{ "the corners by Joseph", &eight_alike, &beyond, ISO_JOSEPH, 1, 3e-4, 3e-3 },
	/* more rings than are taken one by one where there is mu or eff */
	{ "a long scanner", &tube, &lengthy, ISO_SLICE, 1, 2e-4, 9e-3 },
	/* with ISO_TEST_FULL=1 alone */
	{ "thin slices", &twelve, &thin, ISO_SLICE, 1, 4e-4, 7e-3 },
	{ "Joseph, two lines a pair", &eight_alike, &flat, ISO_JOSEPH, 2, 2e-4, 1.2e-2 },
	{ "the corners, thin slices", &near, &beyond_thin, ISO_SLICE, 1, 4e-4, 4e-3 },
};

/* Of a table of n rows, how many the CPU goes through. */
static int rows_of(int n)
{
	const char *full = getenv("ISO_TEST_FULL");

	return sized(full && strcmp(full, "1") == 0 ? n : n - 3, 3);
}

static iso_scanner *make_scanner(const struct cylinder *c)
{
	char path[] = "/tmp/isotome-ring-XXXXXX.yaml";
	FILE *f = fdopen(mkstemps(path, 5), "w");
	iso_scanner *s = NULL;

	fprintf(f,
	        "kind: cylinder\nradius_mm: %g\nrings: %d\nring_pitch_mm: %g\ncrystals_per_ring: %d\n"
	        "block: {crystals: %d, gap_mm: 0.5}\nmin_crystal_distance: %d\nmax_ring_difference: %d\n"
	        "pair_weight: %s\n",
	        c->radius, c->rings, c->pitch, c->crystals, c->crystals / 8, c->crystals / 6, c->reach,
	        c->weight);
	fclose(f);
	OK(iso_scanner_read(&s, path));
	remove(path);
	return s;
}

/* A body with an end in the grid, and something lighter in it. */
static struct iso_array make_mu(const struct iso_grid *g)
{
	struct iso_array mu = {
		.n_dim = 3, .dim = { g->n[2], g->n[1], g->n[0] }, .has_grid = true, .grid = *g
	};

	mu.n = iso_grid_voxels(g);
	mu.v = calloc((size_t)mu.n, sizeof *mu.v);
	for (int64_t i = 0; i < mu.n; i++) {
		int64_t x = i % g->n[0], y = i / g->n[0] % g->n[1], z = i / g->n[0] / g->n[1];
		bool light = x > g->n[0] / 2 && y > g->n[1] / 3 && y < g->n[1] / 2;

		mu.v[i] = (iso_real)(3 * z <= g->n[2] || x <= 5 ? .001 : light ? .003 : .0096);
	}
	return mu;
}

/* Some crystals see nothing. */
static iso_real *make_eff(int64_t n)
{
	iso_real *eff = calloc((size_t)n, sizeof *eff);

	for (int64_t i = 0; i < n; i++) eff[i] = (iso_real)(i % 41 == 5 ? 0 : .8 + .4 * (double)(i % 7) / 6);
	return eff;
}

static double off(int64_t n, const iso_real *x, const iso_real *want)
{
	double diff = 0, norm = 0;

	for (int64_t i = 0; i < n; i++) {
		diff += ((double)x[i] - want[i]) * ((double)x[i] - want[i]);
		norm += (double)want[i] * want[i];
	}
	return sqrt(diff / norm);
}

/* Whether no line meets voxel i or a neighbour of it in the plane; seen: S of all pairs, without mu and eff. */
static bool far_from_lines(const struct iso_grid *g, const iso_real *seen, int64_t i)
{
	int64_t x = i % g->n[0], y = i / g->n[0] % g->n[1];

	for (int64_t dy = y > 0 ? -1 : 0; dy <= (y < g->n[1] - 1 ? 1 : 0); dy++)
		for (int64_t dx = x > 0 ? -1 : 0; dx <= (x < g->n[0] - 1 ? 1 : 0); dx++)
			if (seen[i + dy * g->n[0] + dx] > 0) return false;
	return true;
}

/* S is nowhere below 0; where no line passes it is below 1e-3 of its mean, and 0 but next to voxels that are seen. */
static void check_unseen(const struct iso_grid *g, const iso_real *x, const iso_real *seen)
{
	int64_t n = iso_grid_voxels(g);
	double sum = 0;

	for (int64_t i = 0; i < n; i++) sum += (double)x[i];
	for (int64_t i = 0; i < n; i++) {
		assert_true(x[i] >= 0);
		if (seen[i] > 0) continue;
		assert_true((double)x[i] < 1e-3 * sum / (double)n);
		if (far_from_lines(g, seen, i)) assert_true(x[i] == 0);
	}
}

/* ctx[0]: what is tested; the image is the same, to the bit, on ctx[1]. */
static void check_setting(iso_ctx *ctx[2], const struct setting *t)
{
	iso_scanner *s = make_scanner(t->scanner);
	struct iso_ray_sens p = { .size = sizeof p,
		                  .grid = *t->grid,
		                  .scanner = s,
		                  .projector = t->projector,
		                  .rays = t->rays,
		                  .spread_mm = { 3, 4.5 } };
	struct iso_array mu = make_mu(t->grid);
	iso_real *eff = make_eff(iso_scanner_crystals(s)), *image[3], *seen;
	iso_ctx *pairs = cpu(2);
	double error = 1;

	for (int i = 0; i < 3; i++) image[i] = calloc((size_t)mu.n, sizeof **image);
	seen = calloc((size_t)mu.n, sizeof *seen);
	for (int full = 0; full < 2; full++) {
		p.mu = full ? &mu : NULL;
		p.eff = full ? eff : NULL;
		p.share = 1;
		OK(iso_ray_sens(image[2], &error, pairs, &p));
		if (!full) memcpy(seen, image[2], (size_t)mu.n * sizeof *seen);
		p.share = 0;
		assert_true(iso_ray_sens_by_rings(&p));
		for (int i = 0; i < 2; i++) OK(iso_ray_sens(image[i], &error, ctx[i], &p));
		assert_true(error == 0);
		assert_memory_equal(image[0], image[1], (size_t)mu.n * sizeof **image);
		print_message("%s%s: off by %.2g\n", t->name, full ? ", with mu and eff" : "",
		              off(mu.n, image[0], image[2]));
		check_unseen(t->grid, image[0], seen);
		BELOW(off(mu.n, image[0], image[2]), full ? t->with : t->without);
	}
	for (int i = 0; i < 3; i++) free(image[i]);
	free(seen);
	free(eff);
	iso_array_free(&mu);
	iso_scanner_free(s);
	iso_ctx_free(pairs);
}

static void as_all_pairs(void **state)
{
	iso_ctx *ctx[2] = { cpu(1), cpu(3) };

	(void)state;
	for (int i = 0; i < rows_of(N_OF(settings)); i++) check_setting(ctx, settings + i);
	for (int i = 0; i < 2; i++) iso_ctx_free(ctx[i]);
}

static void check_cuda(iso_ctx *cuda)
{
	for (int i = 0; i < N_OF(settings); i++) check_setting((iso_ctx *[2]){ cuda, cuda }, settings + i);
}

CUDA_TEST(cuda_as_all_pairs, check_cuda)

/* mu or eff alone; and mu of another grid than the image, coarser and shorter. */
static void check_alone(iso_ctx *ctx)
{
	const struct setting *t = settings;
	iso_scanner *s = make_scanner(t->scanner);
	struct iso_ray_sens p = { .size = sizeof p, .grid = *t->grid, .scanner = s };
	const struct iso_grid coarse = { { 16, 15, 7 }, { 5, 5, 6 }, { 1, 0, -2 } };
	struct iso_array mu = make_mu(&coarse);
	iso_real *eff = make_eff(iso_scanner_crystals(s));
	int64_t n = iso_grid_voxels(t->grid);
	iso_real *want = calloc((size_t)n, sizeof *want), *got = calloc((size_t)n, sizeof *got);
	double error;

	for (int i = 0; i < 2; i++) {
		p.mu = i ? &mu : NULL;
		p.eff = i ? NULL : eff;
		p.share = 1;
		OK(iso_ray_sens(want, &error, ctx, &p));
		p.share = 0;
		OK(iso_ray_sens(got, &error, ctx, &p));
		print_message("%s alone: off by %.2g\n", i ? "mu" : "eff", off(n, got, want));
		BELOW(off(n, got, want), 2e-3);
	}
	free(want);
	free(got);
	free(eff);
	iso_array_free(&mu);
	iso_scanner_free(s);
}

static void mu_or_eff_alone(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_alone(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_mu_or_eff_alone, check_alone)

/* Whole rings of efficiency 0, at an end and inside, and beside them crystals as ever: what a voxel is seen by changes
   from slice to slice, so that lines must count where they are. */
static iso_real *make_dead_rings(const struct cylinder *c)
{
	int64_t n = (int64_t)c->rings * c->crystals;
	iso_real *eff = make_eff(n);

	for (int64_t i = 0; i < n; i++) {
		int64_t ring = i / c->crystals;

		if (ring == 0 || ring == c->rings / 2 || ring == c->rings / 2 + 1) eff[i] = 0;
	}
	return eff;
}

/* Most that a slice is off by, of the mean of all slices. */
static double off_slices(const struct iso_grid *g, const iso_real *x, const iso_real *want)
{
	int64_t pixels = g->n[0] * g->n[1];
	double most = 0, all = 0;

	for (int64_t z = 0; z < g->n[2]; z++) {
		double diff = 0;

		for (int64_t i = z * pixels; i < (z + 1) * pixels; i++) {
			diff += (double)x[i] - want[i];
			all += (double)want[i];
		}
		most = fmax(most, fabs(diff));
	}
	return most / all * (double)g->n[2];
}

struct dead {
	const char *name;
	const struct cylinder *scanner;
	const struct iso_grid *grid;
	enum iso_projector projector;
	int rays;
	double off, slices; /* relative L2, and off_slices, at most */
};

static const struct dead dead[] = {
	{ "dead rings, one line a pair", &twelve, &half, ISO_SLICE, 1, 6e-3, 1e-3 },
	{ "dead rings, two lines a pair", &twelve, &half, ISO_SLICE, 2, 4e-3, 1e-3 },
	{ "dead rings, thick slices, three lines a pair", &eight, &thick, ISO_SLICE, 3, 2e-3, 1e-3 },
	{ "dead rings by Joseph", &twelve, &flat, ISO_JOSEPH, 1, 1e-2, 1.6e-2 },
	{ "dead rings of a short reach, four lines a pair", &near, &half, ISO_SLICE, 4, 2e-3, 1e-3 },
	/* a ring stands for several */
	{ "dead rings of a long scanner, two lines a pair", &tube, &lengthy, ISO_SLICE, 2, 1e-2, 5e-2 },
	/* with ISO_TEST_FULL=1 alone */
	{ "dead rings, five lines a pair", &twelve, &half, ISO_SLICE, 5, 3e-3, 1e-3 },
	{ "dead rings, thin slices, three lines a pair", &twelve, &thin, ISO_SLICE, 3, 1.2e-2, 2e-3 },
	{ "dead rings by Joseph, four lines a pair", &twelve, &flat, ISO_JOSEPH, 4, 6e-3, 8e-3 },
};

static void check_dead(iso_ctx *ctx, const struct dead *t)
{
	iso_scanner *s = make_scanner(t->scanner);
	iso_real *eff = make_dead_rings(t->scanner);
	int64_t n = iso_grid_voxels(t->grid);
	iso_real *want = calloc((size_t)n, sizeof *want), *got = calloc((size_t)n, sizeof *got);
	struct iso_ray_sens p = { .size = sizeof p,
		                  .grid = *t->grid,
		                  .scanner = s,
		                  .projector = t->projector,
		                  .eff = eff,
		                  .rays = t->rays,
		                  .spread_mm = { 3, 4.5 },
		                  .share = 1 };
	double error;

	OK(iso_ray_sens(want, &error, ctx, &p));
	p.share = 0;
	OK(iso_ray_sens(got, &error, ctx, &p));
	print_message("%s: off by %.2g, slices by %.2g\n", t->name, off(n, got, want),
	              off_slices(t->grid, got, want));
	BELOW(off(n, got, want), t->off);
	BELOW(off_slices(t->grid, got, want), t->slices);
	free(want);
	free(got);
	free(eff);
	iso_scanner_free(s);
}

static void check_all_dead(iso_ctx *ctx)
{
	for (int i = 0; i < N_OF(dead); i++) check_dead(ctx, dead + i);
}

static void dead_rings(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int i = 0; i < rows_of(N_OF(dead)); i++) check_dead(ctx, dead + i);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_dead_rings, check_all_dead)

/* What rings do not serve. */
static void refused(void **state)
{
	struct iso_grid steep = flat;
	iso_ctx *ctx = cpu(1);
	iso_scanner *s = make_scanner(&twelve), *panels = NULL;
	iso_real *x;
	double error;

	(void)state;
	steep.voxel[2] = 2;
	struct iso_ray_sens p = {
		.size = sizeof p, .grid = steep, .scanner = s, .projector = ISO_JOSEPH, .share = 0
	};

	x = calloc((size_t)iso_grid_voxels(&steep), sizeof *x);
	assert_false(iso_ray_sens_by_rings(&p));
	REFUSED(iso_ray_sens(x, &error, ctx, &p), ISO_EARG, "share of pairs is 0");
	p.projector = ISO_SLICE;
	assert_true(iso_ray_sens_by_rings(&p));
	OK(iso_scanner_read(&panels, TEST_EXAMPLES "/scanners/chou2012.yaml"));
	p.scanner = panels;
	assert_false(iso_ray_sens_by_rings(&p));
	REFUSED(iso_ray_sens(x, &error, ctx, &p), ISO_EARG, "share of pairs is 0");
	p.scanner = NULL;
	assert_false(iso_ray_sens_by_rings(&p));
	assert_false(iso_ray_sens_by_rings(NULL));
	iso_scanner_free(s);
	iso_scanner_free(panels);
	iso_ctx_free(ctx);
	free(x);
}

/* A plan has what is allocated; values of mu and eff need not be there. */
static void planned(void **state)
{
	const struct setting *t = settings;
	iso_scanner *s = make_scanner(t->scanner);
	struct iso_array mu = { .n = iso_grid_voxels(t->grid), .has_grid = true, .grid = *t->grid };
	const iso_real any = 0;
	struct iso_ray_sens p = { .size = sizeof p, .grid = *t->grid, .scanner = s };
	struct iso_plan plan = { 0 };
	iso_ctx *ctx = cpu(2);
	int64_t plain, all, pairs, device;

	(void)state;
	iso_ray_sens_plan(&plan, ctx, &p);
	iso_plan_total(&plain, &device, &plan);
	iso_plan_free(&plan);
	p.mu = &mu;
	p.eff = &any;
	iso_ray_sens_plan(&plan, ctx, &p);
	iso_plan_total(&all, &device, &plan);
	iso_plan_free(&plan);
	p.share = 1;
	iso_ray_sens_plan(&plan, ctx, &p);
	iso_plan_total(&pairs, &device, &plan);
	iso_plan_free(&plan);
	/* 8 groups of 16 slices, of which there are 20; tables of 12 distances */
	assert_true(plain >= 8 * 16 * 30 * 26 * 4 + 12 * 1025 * 20 * 4);
	/* means: of all 33 offsets of 96 pairs, 52 cells of 32 values each; with what is beside them */
	assert_true(all > plain + 30 * 26 * 20 * 4 && all < plain + 2 * 33 * 96 * 52 * 32 * 4);
	assert_true(pairs >= 8 * 30 * 26 * 20 && pairs < plain);
	assert_int_equal(device, 0);
	iso_scanner_free(s);
	iso_ctx_free(ctx);
}

/* It stops where it is asked to, and tells so. */
static void on_progress(void *arg, const struct iso_progress *p)
{
	(void)p;
	iso_ctx_cancel(arg);
}

static void check_stop(iso_ctx *ctx)
{
	const struct setting *t = settings;
	iso_scanner *s = make_scanner(t->scanner);
	struct iso_array mu = make_mu(t->grid);
	struct iso_ray_sens p = { .size = sizeof p, .grid = *t->grid, .scanner = s, .mu = &mu };
	iso_real *x = calloc((size_t)mu.n, sizeof *x);
	double error;

	iso_ctx_set_progress(ctx, on_progress, ctx);
	REFUSED(iso_ray_sens(x, &error, ctx, &p), ISO_ECANCEL, "stopped on request");
	iso_ctx_clear_cancel(ctx);
	iso_ctx_set_progress(ctx, NULL, NULL);
	iso_array_free(&mu);
	iso_scanner_free(s);
	free(x);
}

static void stops(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_stop(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_stops, check_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_all_pairs),      cmocka_unit_test(mu_or_eff_alone),
		cmocka_unit_test(dead_rings),        cmocka_unit_test(refused),
		cmocka_unit_test(planned),           cmocka_unit_test(stops),
		cmocka_unit_test(cuda_as_all_pairs), cmocka_unit_test(cuda_mu_or_eff_alone),
		cmocka_unit_test(cuda_dead_rings),   cmocka_unit_test(cuda_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
