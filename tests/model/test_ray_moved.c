/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of an object that moves: the reference vectors of tests/data/ray-motion, made in double by another program;
   one pose against the grid that moves; threads; and what is refused. */
#include "tests/test.h"

#include "model/ray/ray_sens_moved.h"

#define DATA TEST_DATA "/ray-motion/"

enum { VOXELS = 14 * 14 * 10, CRYSTALS = 288, MOST = 327 };

static const struct iso_grid grid = { { 14, 14, 10 }, { 8, 8, 6 }, { 0, 0, 0 } };
static const struct iso_grid grid_mu = { { 24, 20, 16 }, { 5, 6, 6 }, { 0, 0, 2 } };
static const struct iso_grid grid_fixed = { { 26, 4, 12 }, { 6, 5, 6 }, { 0, -62, 0 } };

/* n doubles behind the preamble of a .npy file. */
static double *doubles(const char *name, int64_t n)
{
	char path[512];
	uint8_t head[10];
	double *v = calloc((size_t)n, sizeof *v);

	snprintf(path, sizeof path, DATA "%s.npy", name);
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
	assert_int_equal(fseek(f, 10 + head[8] + 256 * head[9], SEEK_SET), 0);
	assert_int_equal(fread(v, sizeof *v, (size_t)n, f), n);
	assert_int_equal(fgetc(f), EOF);
	fclose(f);
	return v;
}

static iso_real *reals(const char *name, int64_t n)
{
	double *v = doubles(name, n);
	iso_real *r = calloc((size_t)n, sizeof *r);

	for (int64_t i = 0; i < n; i++) r[i] = (iso_real)v[i];
	free(v);
	return r;
}

static void pieces(struct iso_piece *p, const char *poses, const char *weights, int64_t n)
{
	double *z = doubles(poses, 12 * n), *w = doubles(weights, n);

	for (int64_t k = 0; k < n; k++) {
		p[k] = (struct iso_piece){ .weight = w[k] };
		memcpy(p[k].z.m, z + 12 * k, sizeof p[k].z.m);
	}
	free(z);
	free(w);
}

/* The parts of the vectors; mu, mu_fixed and efficiencies are left out by `full` false. */
struct scene {
	iso_ctx *ctx;
	iso_scanner *s;
	struct iso_array mu, fixed;
	iso_real *eff;
	struct iso_piece piece[MOST];
};

static struct scene *begin_on(iso_ctx *ctx)
{
	struct scene *t = calloc(1, sizeof *t);

	assert_non_null(t);
	t->ctx = ctx;
	OK(iso_scanner_read(&t->s, DATA "ring.yaml"));
	OK(iso_array_on_grid(&t->mu, &grid_mu));
	OK(iso_array_on_grid(&t->fixed, &grid_fixed));
	free(t->mu.v);
	free(t->fixed.v);
	t->mu.v = reals("mu", t->mu.n);
	t->fixed.v = reals("mu_fixed", t->fixed.n);
	t->eff = reals("eff", CRYSTALS);
	return t;
}

static struct scene *begin(int threads)
{
	return begin_on(cpu(threads));
}

static void end(struct scene *t)
{
	iso_array_free(&t->mu);
	iso_array_free(&t->fixed);
	free(t->eff);
	iso_scanner_free(t->s);
	iso_ctx_free(t->ctx);
	free(t);
}

static struct iso_ray_sens_moved parameters(const struct scene *t, int64_t n, bool full)
{
	struct iso_ray_sens_moved p = { .size = sizeof p,
		                        .sens = { .size = sizeof p.sens, .grid = grid, .scanner = t->s },
		                        .piece = t->piece,
		                        .n = n,
		                        .budget = -1 };

	if (!full) return p;
	p.sens.mu = &t->mu;
	p.sens.eff = t->eff;
	p.beside[0].mu = &t->fixed;
	return p;
}

static double apart(const iso_real *s, const char *name)
{
	double *want = doubles(name, VOXELS), most = 0, far = 0;

	for (int i = 0; i < VOXELS; i++) {
		most = larger(most, want[i]);
		far = larger(far, fabs(want[i] - (double)s[i]));
	}
	free(want);
	return far / most;
}

static void check_all_pairs(struct scene *t)
{
	static const struct {
		const char *poses, *weights, *want;
		int n;
		bool full;
	} of[] = {
		{ "step_poses", "step_weights", "sens_step", 9, false },
		{ "step_poses", "step_weights", "sens_step_full", 9, true },
		{ "cluster_poses", "cluster_weights", "sens_linear_clusters", 36, true },
	};
	iso_real s[VOXELS];

	for (int k = 0; k < N_OF(of); k++) {
		struct iso_ray_moved_info is = { .size = sizeof is };

		pieces(t->piece, of[k].poses, of[k].weights, of[k].n);
		struct iso_ray_sens_moved p = parameters(t, of[k].n, of[k].full);

		OK(iso_ray_sens_moved(s, &is, t->ctx, &p));
		assert_int_equal(is.way, ISO_RAY_MOVED_ALL);
		assert_int_equal(is.pieces, of[k].n);
		BELOW(apart(s, of[k].want), 2e-5);
	}
	end(t);
}

static void check_by_lines(struct scene *t)
{
	struct iso_ray_moved_info is = { .size = sizeof is };
	iso_real s[VOXELS];

	pieces(t->piece, "piece_poses", "piece_weights", MOST);
	struct iso_ray_sens_moved p = parameters(t, MOST, true);

	p.budget = 0;
	p.error = .06;
	OK(iso_ray_sens_moved(s, &is, t->ctx, &p));
	assert_int_equal(is.way, ISO_RAY_MOVED_LINES);
	assert_int_equal(is.pieces, 2);
	NEAR(is.lines, 227.3244423359269, 1e-3);
	BELOW(apart(s, "sens_lines"), 2e-5);
	p.error = 1;
	OK(iso_ray_sens_moved(s, &is, t->ctx, &p));
	assert_int_equal(is.pieces, 1);
	BELOW(apart(s, "sens_lines_m1"), 2e-5);
	end(t);
}

static void all_pairs(void **state)
{
	(void)state;
	check_all_pairs(begin(2));
}

static void by_lines(void **state)
{
	(void)state;
	check_by_lines(begin(2));
}

static void cuda_all_pairs(void **state)
{
	(void)state;
	check_all_pairs(begin_on(cuda_or_skip()));
}

static void cuda_by_lines(void **state)
{
	(void)state;
	check_by_lines(begin_on(cuda_or_skip()));
}

/* The same bits, whatever the threads. */
static void threads(void **state)
{
	struct iso_ray_moved_info is = { .size = sizeof is };
	iso_real s[3][VOXELS];

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct scene *t = begin(k + 1);

		pieces(t->piece, "piece_poses", "piece_weights", MOST);
		struct iso_ray_sens_moved p = parameters(t, MOST, true);

		p.budget = 0;
		p.error = .2;
		OK(iso_ray_sens_moved(s[k], &is, t->ctx, &p));
		end(t);
	}
	assert_memory_equal(s[0], s[1], sizeof s[0]);
	assert_memory_equal(s[0], s[2], sizeof s[0]);
}

/* The object moves by (8, -16, 6) mm: its grid lies there; at rest: today's sensitivity. */
static void translation(void **state)
{
	struct scene *t = begin(2);
	iso_real s[VOXELS], want[VOXELS];
	double error, most = 0, far = 0;

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct iso_ray_sens_moved p = parameters(t, 1, k == 0);
		struct iso_ray_sens at = p.sens;
		struct iso_array mu = t->mu;

		t->piece[0] = (struct iso_piece){ .weight = 1, .z = iso_pose_identity() };
		t->piece[0].z.m[3] = 8;
		t->piece[0].z.m[7] = -16;
		t->piece[0].z.m[11] = 6;
		p.beside[0].mu = NULL;
		for (int a = 0; a < 3; a++) {
			at.grid.centre[a] += t->piece[0].z.m[4 * a + 3];
			mu.grid.centre[a] += t->piece[0].z.m[4 * a + 3];
		}
		if (at.mu) at.mu = &mu;
		at.share = 1;
		OK(iso_ray_sens_moved(s, NULL, t->ctx, &p));
		OK(iso_ray_sens(want, &error, t->ctx, &at));
		for (int i = 0; i < VOXELS; i++) {
			most = larger(most, (double)want[i]);
			far = larger(far, fabs((double)want[i] - (double)s[i]));
		}
		BELOW(far / most, 2e-6);
	}
	end(t);
}

/* More lines than the budget, translations alone: by the rings. */
static void rings(void **state)
{
	struct scene *t = begin(2);
	struct iso_ray_moved_info is = { .size = sizeof is };
	iso_real s[VOXELS], want[VOXELS];
	double far = 0, sum = 0;

	(void)state;
	struct iso_ray_sens_moved p = parameters(t, 3, false);

	for (int k = 0; k < 3; k++) {
		t->piece[k] = (struct iso_piece){ .weight = .2 + .1 * k, .z = iso_pose_identity() };
		t->piece[k].z.m[11] = 7.3 * (k - 1);
	}
	OK(iso_ray_sens_moved(want, NULL, t->ctx, &p));
	p.budget = 1;
	OK(iso_ray_sens_moved(s, &is, t->ctx, &p));
	assert_int_equal(is.way, ISO_RAY_MOVED_RINGS);
	for (int i = 0; i < VOXELS; i++) {
		far += pow((double)s[i] - (double)want[i], 2);
		sum += pow((double)want[i], 2);
	}
	BELOW(sqrt(far / sum), 1e-3);
	end(t);
}

/* The same positions many times over, as a table of many rows has them: S is as many times as large, and takes no longer. */
static void along_z_again(struct scene *t, const struct iso_ray_sens_moved *of, const iso_real *want)
{
	enum { TIMES = 2500 };
	struct iso_ray_sens_moved p = *of;
	struct iso_ray_moved_info is = { .size = sizeof is };
	struct iso_piece *v = malloc((size_t)(p.n * TIMES) * sizeof *v);
	iso_real s[VOXELS];

	assert_non_null(v);
	for (int64_t k = 0; k < p.n * TIMES; k++) v[k] = of->piece[k % p.n];
	p.piece = v;
	p.n *= TIMES;
	OK(iso_ray_sens_moved(s, &is, t->ctx, &p));
	assert_int_equal(is.pieces, p.n);
	for (int i = 0; i < VOXELS; i++) NEAR((double)s[i] / TIMES, want[i], 1e-6 * (double)want[i]);
	free(v);
}

/* Many positions along z: by four images of the scanner and shifted planes, without and with a map. */
static void along_z(void **state)
{
	enum { POSITIONS = 41 };
	struct scene *t = begin(2);
	iso_real s[VOXELS], want[VOXELS];

	(void)state;
	for (int map = 0; map < 2; map++) {
		struct iso_ray_sens_moved p = parameters(t, POSITIONS, false);
		struct iso_ray_moved_info is = { .size = sizeof is };
		double far = 0, sum = 0;

		if (map) p.sens.mu = &t->mu;
		for (int k = 0; k < POSITIONS; k++) {
			t->piece[k] = (struct iso_piece){ .weight = 1 + .1 * k, .z = iso_pose_identity() };
			t->piece[k].z.m[3] = 4;
			t->piece[k].z.m[11] = 1.13 * ((k * 7) % POSITIONS - 15);
		}
		p.budget = 1000000000;
		OK(iso_ray_sens_moved(want, &is, t->ctx, &p));
		assert_int_equal(is.way, ISO_RAY_MOVED_ALL);
		p.budget = 1;
		OK(iso_ray_sens_moved(s, &is, t->ctx, &p));
		assert_int_equal(is.way, ISO_RAY_MOVED_RINGS);
		for (int i = 0; i < VOXELS; i++) {
			far += pow((double)s[i] - (double)want[i], 2);
			sum += pow((double)want[i], 2);
		}
		BELOW(sqrt(far / sum), map ? 8e-3 : 4e-3);
		along_z_again(t, &p, s);
	}
	t->piece[0].z.m[7] = 3; /* across, too: not by the rings */
	struct iso_ray_sens_moved p = parameters(t, POSITIONS, false);
	struct iso_ray_moved_info is = { .size = sizeof is };

	p.budget = 1;
	OK(iso_ray_sens_moved(s, &is, t->ctx, &p));
	assert_int_equal(is.way, ISO_RAY_MOVED_LINES);
	end(t);
}

static void refused(void **state)
{
	struct scene *t = begin(1);
	iso_real s[VOXELS];
	struct iso_ray_sens_moved p = parameters(t, 1, false);

	(void)state;
	t->piece[0] = (struct iso_piece){ .weight = 1, .z = iso_pose_identity() };
	p.n = 0;
	REFUSED(iso_ray_sens_moved(s, NULL, t->ctx, &p), ISO_EARG, "no pieces");
	p.n = 1;
	t->piece[0].weight = 0;
	REFUSED(iso_ray_sens_moved(s, NULL, t->ctx, &p), ISO_EARG, "weight 0");
	t->piece[0].weight = 1;
	t->piece[0].z.m[3] = NAN;
	REFUSED(iso_ray_sens_moved(s, NULL, t->ctx, &p), ISO_EARG, "not finite");
	t->piece[0].z.m[3] = 0;
	p.error = -1;
	REFUSED(iso_ray_sens_moved(s, NULL, t->ctx, &p), ISO_EARG, "error is -1");
	p.error = 0;
	p.sens.scanner = NULL;
	REFUSED(iso_ray_sens_moved(s, NULL, t->ctx, &p), ISO_EARG, "NULL");
	end(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pairs),     cmocka_unit_test(cuda_all_pairs),
		cmocka_unit_test(cuda_by_lines), cmocka_unit_test(by_lines),
		cmocka_unit_test(threads),       cmocka_unit_test(translation),
		cmocka_unit_test(rings),         cmocka_unit_test(refused),
		cmocka_unit_test(along_z),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
