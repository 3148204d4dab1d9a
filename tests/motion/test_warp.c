/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields: the operator against reference vectors, whole shifts and folds worked by hand, the transpose for
   fields that leave the box, fold, and lie on another grid, the same bits for any number of threads, and what is
   refused; also built in double. */
#include "test.h"

#include "motion/warp.h"

static const char dir[] = TEST_DATA "/warp";
static const struct iso_grid grid = { { 9, 8, 7 }, { 5, 6, 4 }, { 1, -2, 3 } };
enum { N = 9 * 8 * 7 };

static iso_real *vector(const char *name, int64_t n)
{
	struct iso_array a = { 0 };
	char path[512];

	snprintf(path, sizeof path, "%s/%s.npy", dir, name);
	OK(iso_read(&a, path, ISO_FINITE));
	assert_int_equal(a.n, n);
	return a.v;
}

static void compare(const iso_real *got, const char *name, double tolerance)
{
	iso_real *want = vector(name, N);
	double most = 0, worst = 0;

	for (int i = 0; i < N; i++) {
		most = larger(most, fabs((double)want[i]));
		worst = larger(worst, fabs((double)got[i] - (double)want[i]));
	}
	BELOW(worst / most, tolerance);
	free(want);
}

static iso_op *make(iso_ctx *ctx, const iso_real *field, bool mass)
{
	const struct iso_warp p = { .size = sizeof p, .grid = grid, .field = field, .mass = mass };
	iso_op *op = NULL;

	OK(iso_warp_create(&op, ctx, &p));
	assert_int_equal(iso_op_n_in(op), N);
	assert_int_equal(iso_op_n_out(op), N);
	return op;
}

static double dot(const iso_real *a, const iso_real *b)
{
	double sum = 0;

	for (int i = 0; i < N; i++) sum += (double)a[i] * (double)b[i];
	return sum;
}

/* W f, W^t y, their product, the Jacobian. */
static void vectors(void **state)
{
	iso_ctx *ctx = cpu(2);
	iso_real *u = vector("warp_field_ras", 3 * N), *f = vector("warp_image", N), *y = vector("warp_y", N);
	static iso_real wf[N], wty[N];

	(void)state;
	for (int mass = 0; mass < 2; mass++) {
		iso_op *op = make(ctx, u, mass);
		double err = 1;

		OK(iso_forward(wf, op, ISO_ALL, f));
		compare(wf, mass ? "warp_out_mass" : "warp_out", TOLERANCE(1e-6, 1e-14));
		OK(iso_adjoint(wty, op, ISO_ALL, y));
		compare(wty, mass ? "warp_adjoint_mass" : "warp_adjoint", TOLERANCE(1e-6, 1e-14));
		NEAR(dot(wf, y) / dot(f, wty), 1, TOLERANCE(1e-6, 1e-12));
		if (!mass) NEAR(dot(wf, y) / 97.65388857828111, 1, TOLERANCE(1e-6, 1e-12));
		OK(iso_test_adjoint(&err, op, ISO_ALL, 3));
		BELOW(err, TOLERANCE(1e-6, 1e-12));
		iso_op_free(op);
	}
	const struct iso_warp p = { .size = sizeof p, .grid = grid, .field = u };
	struct iso_warp_folds folds = { .size = sizeof folds };

	OK(iso_warp_jacobian(wf, &folds, ctx, &p));
	compare(wf, "warp_jacobian", TOLERANCE(1e-6, 1e-14));
	assert_int_equal(folds.voxels, 0);
	free(u);
	free(f);
	free(y);
	iso_ctx_free(ctx);
}

/* Without a field, and with one of zeros, W f is f to the bit. */
static void identity(void **state)
{
	iso_ctx *ctx = cpu(1);
	static const iso_real none[3 * N];
	iso_real *f = vector("warp_image", N);
	static iso_real to[N];

	(void)state;
	for (int i = 0; i < 2; i++) {
		iso_op *op = make(ctx, i ? none : NULL, true);

		OK(iso_forward(to, op, ISO_ALL, f));
		assert_memory_equal(to, f, sizeof to);
		OK(iso_adjoint(to, op, ISO_ALL, f));
		if (i)
			for (int k = 0; k < N; k++) NEAR((double)to[k], (double)f[k], TOLERANCE(0, 1e-15));
		else
			assert_memory_equal(to, f, sizeof to);
		iso_op_free(op);
	}
	free(f);
	iso_ctx_free(ctx);
}

/* u = (5, 0, -8) mm everywhere: one voxel along x and two along z, and nothing from beyond the box. */
static void whole_voxels(void **state)
{
	iso_ctx *ctx = cpu(1);
	iso_real *f = vector("warp_image", N);
	static iso_real u[3 * N], to[N];

	(void)state;
	for (int i = 0; i < N; i++) u[3 * i] = 5, u[3 * i + 2] = -8;
	iso_op *op = make(ctx, u, false);

	OK(iso_forward(to, op, ISO_ALL, f));
	for (int i = 0; i < N; i++) {
		const int x = i % 9, z = i / 72;

		assert_true(to[i] == (x + 1 < 9 && z >= 2 ? f[i + 1 - 2 * 72] : 0));
	}
	iso_op_free(op);
	free(f);
	iso_ctx_free(ctx);
}

/* The box is half open, and its outer half voxel repeats the border: a row of 4 voxels of 2 mm, f = 1 2 3 4. */
static void border(void **state)
{
	static const struct {
		iso_real u, want[4];
	} cases[] = {
		{ -1, { 1, (iso_real)1.5, (iso_real)2.5, (iso_real)3.5 } }, /* the lower face is in */
		{ 1, { (iso_real)1.5, (iso_real)2.5, (iso_real)3.5, 0 } },  /* the upper one is not */
		{ (iso_real).5, { (iso_real)1.25, (iso_real)2.25, (iso_real)3.25, 4 } },
		{ (iso_real)-1.5, { 0, (iso_real)1.25, (iso_real)2.25, (iso_real)3.25 } },
	};
	iso_ctx *ctx = cpu(1);
	const iso_real f[4] = { 1, 2, 3, 4 };

	(void)state;
	for (int k = 0; k < N_OF(cases); k++) {
		iso_real u[12] = { 0 }, to[4];
		const struct iso_warp p = { .size = sizeof p,
			                    .grid = { { 4, 1, 1 }, { 2, 9, 9 }, { 7, 0, 0 } },
			                    .field = u,
			                    .mass = true };
		iso_op *op = NULL;

		for (int i = 0; i < 4; i++) u[3 * i] = cases[k].u;
		OK(iso_warp_create(&op, ctx, &p));
		OK(iso_forward(to, op, ISO_ALL, f));
		for (int i = 0; i < 4; i++) NEAR((double)to[i], (double)cases[k].want[i], 0);
		iso_op_free(op);
	}
	iso_ctx_free(ctx);
}

/* A field that leaves the box, folds, and lies on another grid, which covers half of the image. */
static void rough(iso_real *u, struct iso_grid *g)
{
	*g = (struct iso_grid){ { 6, 5, 1 }, { 4, 9, 30 }, { -3, 4, 0 } };
	for (int i = 0; i < 30; i++)
		for (int c = 0; c < 3; c++) u[3 * i + c] = (iso_real)(14 * sin(2.3 * i + 1.7 * c * i + c));
}

static void transpose(void **state)
{
	iso_real u[90];
	static iso_real y[N], first[N], again[N];
	struct iso_warp p = { .size = sizeof p, .grid = grid, .field = u, .mass = true };
	struct iso_warp_folds folds = { .size = sizeof folds };

	(void)state;
	rough(u, &p.field_grid);
	for (int i = 0; i < N; i++) y[i] = (iso_real)sin(3.1 * i);
	for (int threads = 1; threads < 4; threads++) {
		iso_ctx *ctx = cpu(threads);
		iso_op *op = NULL, *clone = NULL;
		double err = 1;

		OK(iso_warp_create(&op, ctx, &p));
		OK(iso_op_clone(&clone, op));
		OK(iso_test_adjoint(&err, clone, ISO_ALL, 1));
		BELOW(err, TOLERANCE(1e-6, 1e-12));
		OK(iso_adjoint(threads == 1 ? first : again, clone, ISO_ALL, y));
		if (threads > 1) assert_memory_equal(first, again, sizeof first);
		OK(iso_warp_jacobian(NULL, &folds, ctx, &p));
		assert_true(folds.voxels > 0 && folds.least < 0);
		iso_op_free(op);
		iso_op_free(clone);
		iso_ctx_free(ctx);
	}
}

/* Beyond its box a field is that of its border: linear within, constant outside. */
static void other_grid(void **state)
{
	iso_ctx *ctx = cpu(1);
	const iso_real u[6] = { 10, 0, 0, 20, 0, 0 };
	const struct iso_warp p = { .size = sizeof p,
		                    .grid = { { 9, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 } },
		                    .field_grid = { { 2, 1, 1 }, { 4, 100, 100 }, { 0, 0, 0 } },
		                    .field = (const iso_real *)u };
	iso_real det[9];

	(void)state;
	REFUSED(iso_warp_jacobian(det, NULL, ctx, &p), ISO_EARG, "longer than the diagonal");
	iso_real small[6];
	struct iso_warp q = p;

	for (int i = 0; i < 6; i++) small[i] = u[i] / 10;
	q.field = small;
	OK(iso_warp_jacobian(det, NULL, ctx,
	                     &q)); /* u = 1 up to -2 mm, 2 from 2 mm on, a quarter a mm between */
	for (int i = 0; i < 9; i++)
		NEAR((double)det[i], 1 + (i < 2 || i > 6 ? 0 : i == 2 || i == 6 ? .125 : .25), 1e-6);
	iso_ctx_free(ctx);
}

/* ---- rigid warps ---- */

static iso_op *rigid(iso_ctx *ctx, const struct iso_grid *g, const struct iso_pose *pose)
{
	const struct iso_warp p = { .size = sizeof p, .grid = *g, .pose = pose, .mass = true };
	iso_op *op = NULL;

	OK(iso_warp_create(&op, ctx, &p));
	return op;
}

/* x + u = R x + T: the same as the field of those displacements, and its transpose. */
static void pose_as_field(void **state)
{
	const struct iso_pose pose = { { .8, -.6, 0, 3, .48, .64, -.6, -2, .36, .48, .8, 1.5 } };
	iso_ctx *ctx = cpu(2);
	iso_real *f = vector("warp_image", N);
	static iso_real u[3 * N], one[N], other[N];
	double err = 1, at[3], to[3];

	(void)state;
	for (int i = 0; i < N; i++) {
		const int64_t k[3] = { i % 9, i / 9 % 8, i / 72 };

		for (int a = 0; a < 3; a++)
			at[a] = grid.centre[a] +
			        ((double)k[a] - .5 * (double)(grid.n[a] - 1)) * grid.voxel[a];
		iso_pose_apply(to, &pose, at);
		for (int a = 0; a < 3; a++) u[3 * i + a] = (iso_real)(to[a] - at[a]);
	}
	iso_op *turn = rigid(ctx, &grid, &pose), *field = make(ctx, u, false);

	for (int back = 0; back < 2; back++) {
		OK((back ? iso_adjoint : iso_forward)(one, turn, ISO_ALL, f));
		OK((back ? iso_adjoint : iso_forward)(other, field, ISO_ALL, f));
		for (int i = 0; i < N; i++) NEAR((double)one[i], (double)other[i], TOLERANCE(1e-5, 1e-13));
	}
	OK(iso_test_adjoint(&err, turn, ISO_ALL, 3));
	BELOW(err, TOLERANCE(1e-6, 1e-12));
	iso_op_free(turn);
	iso_op_free(field);
	free(f);
	iso_ctx_free(ctx);
}

/* About z, on a grid as wide as it is deep: voxels move to voxels, (W f)(x) = f(G x) to the bit, and W^t is the turn back. */
static void quarter(void **state)
{
	const struct iso_grid square = { { 7, 7, 3 }, { .5, .5, 2 }, { 0, 0, 9 } };
	const struct iso_pose pose = { { 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0 } };
	iso_ctx *ctx = cpu(3);
	iso_op *op = rigid(ctx, &square, &pose);
	iso_real f[147], to[147], back[147];

	(void)state;
	for (int i = 0; i < 147; i++) f[i] = (iso_real)sin(1.7 * i);
	OK(iso_forward(to, op, ISO_ALL, f));
	for (int i = 0; i < 147; i++) {
		const int x = i % 7, y = i / 7 % 7, z = i / 49;

		assert_true(to[i] == f[49 * z + 7 * x + 6 - y]); /* (x, y) comes from (-y, x) */
	}
	OK(iso_adjoint(back, op, ISO_ALL, to));
	for (int i = 0; i < 147; i++) NEAR((double)back[i], (double)f[i], 1e-7);
	iso_op_free(op);
	iso_ctx_free(ctx);
}

static void pose_refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	static iso_real u[3 * N];
	struct iso_pose pose = { { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0 } };
	struct iso_warp p = { .size = sizeof p, .grid = grid, .pose = &pose, .name = "turns.csv" };
	iso_op *op = NULL;

	(void)state;
	REFUSED(iso_warp_create(&op, ctx, &p), ISO_EARG, "turns.csv: the pose is no rotation");
	pose.m[10] = (double)NAN;
	REFUSED(iso_warp_create(&op, ctx, &p), ISO_EARG, "turns.csv: a pose with nan, must be finite");
	pose.m[10] = 1;
	p.field = u;
	REFUSED(iso_warp_create(&op, ctx, &p), ISO_EARG, "a field and a pose exclude each other");
	assert_null(op);
	iso_ctx_free(ctx);
}

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	static iso_real u[3 * N];
	struct iso_warp p = { .grid = grid, .field = u, .name = "u.nii" };
	iso_op *op = NULL;

	(void)state;
	REFUSED(iso_warp_create(&op, ctx, &p), ISO_EARG, "size is 0");
	p.size = sizeof p;
	u[3 * (72 + 9) + 1] = (iso_real)NAN;
	REFUSED(iso_warp_create(&op, ctx, &p), ISO_EARG,
	        "u.nii: the displacement is (0, nan, 0) mm at (iz, iy, ix) = (1, 1, 0), must be finite");
	u[3 * (72 + 9) + 1] = 80;
	REFUSED(iso_warp_create(&op, ctx, &p), ISO_EARG,
	        "u.nii: the displacement is 80 mm at (iz, iy, ix) = (1, 1, 0), longer than the diagonal of "
	        "the "
	        "image's box, 71.5");
	p.grid.n[1] = 0;
	REFUSED(iso_warp_create(&op, ctx, &p), ISO_EARG, "size y is 0");
	assert_null(op);
	iso_ctx_free(ctx);
}

/* ---- several fields as one operator ---- */

/* Subset k is field k, as an operator of it alone has it. */
static void several(void **state)
{
	iso_ctx *ctx = cpu(2);
	iso_real *u = vector("warp_field_ras", 3 * N), *f = vector("warp_image", N);
	const struct iso_pose pose = { { 0, -1, 0, 2, 1, 0, 0, -1, 0, 0, 1, 3 } };
	struct iso_warp p[3] = { { .size = sizeof *p, .grid = grid, .field = u, .mass = true },
		                 { .size = sizeof *p, .grid = grid },
		                 { .size = sizeof *p, .grid = grid, .pose = &pose } };
	static iso_real got[N], want[N];
	iso_op *all = NULL;

	(void)state;
	OK(iso_warps_create(&all, ctx, 3, p));
	assert_int_equal(iso_op_n_sub(all), 3);
	for (int k = 0; k < 3; k++)
		for (int back = 0; back < 2; back++) {
			OK((back ? iso_adjoint : iso_forward)(got, all, k, f));
			OK(iso_warp_image(want, ctx, p + k, back, f));
			assert_memory_equal(got, want, sizeof got);
		}
	REFUSED(iso_forward(got, all, ISO_ALL, f), ISO_EARG, "one of 3 fields must be chosen");
	REFUSED(iso_adjoint(got, all, ISO_ALL, f), ISO_EARG, "one of 3 fields must be chosen");
	iso_op_free(all);
	all = NULL;
	p[1].grid.n[2]++;
	REFUSED(iso_warps_create(&all, ctx, 3, p), ISO_EARG, "the grid of warp 1");
	assert_null(all);
	free(u);
	free(f);
	iso_ctx_free(ctx);
}

/* ---- CUDA ---- */

/* The same bits as on the CPU, and the transpose of what it does. */
static void compare_devices(iso_ctx *gpu, const struct iso_warp *p)
{
	iso_ctx *host = cpu(2);
	static iso_real x[N], got[N], want[N];
	iso_op *op = NULL;
	double err = 1;

	for (int i = 0; i < N; i++) x[i] = (iso_real)sin(2.9 * i);
	for (int back = 0; back < 2; back++) {
		OK(iso_warp_image(got, gpu, p, back, x));
		OK(iso_warp_image(want, host, p, back, x));
		assert_memory_equal(got, want, sizeof got);
	}
	x[7] = (iso_real)NAN;
	if (p->field) REFUSED(iso_warp_image(got, gpu, p, true, x), ISO_EARG, "that is not finite");
	OK(iso_warp_create(&op, gpu, p));
	OK(iso_test_adjoint(&err, op, ISO_ALL, 3));
	BELOW(err, 1e-6);
	iso_op_free(op);
	iso_ctx_free(host);
}

static void cuda_bits(void **state)
{
	iso_ctx *ctx = cuda_or_skip();
	iso_real *u = vector("warp_field_ras", 3 * N), coarse[90];
	const struct iso_pose pose = { { .8, -.6, 0, 3, .48, .64, -.6, -2, .36, .48, .8, 1.5 } };
	struct iso_warp p = { .size = sizeof p, .grid = grid };

	(void)state;
	compare_devices(ctx, &p); /* W = 1 */
	p.field = u;
	for (int mass = 0; mass < 2; mass++) {
		p.mass = mass;
		compare_devices(ctx, &p);
	}
	p.field = coarse;
	rough(coarse, &p.field_grid);
	compare_devices(ctx, &p);
	p = (struct iso_warp){ .size = sizeof p, .grid = grid, .pose = &pose };
	compare_devices(ctx, &p);
	free(u);
	iso_ctx_free(ctx);
}

/* Twice the same on one device, and by a clone. */
static void cuda_repeats(void **state)
{
	iso_ctx *ctx = cuda_or_skip();
	iso_real *u = vector("warp_field_ras", 3 * N), *dx = NULL, *dy = NULL;
	const struct iso_warp p = { .size = sizeof p, .grid = grid, .field = u };
	static iso_real y[N], got[2][N];
	iso_op *op[2] = { NULL, NULL };

	(void)state;
	for (int i = 0; i < N; i++) y[i] = (iso_real)cos(1.3 * i);
	OK(iso_warp_create(&op[0], ctx, &p));
	OK(iso_op_clone(&op[1], op[0]));
	OK(iso_vec_alloc(ctx, &dx, N));
	OK(iso_vec_alloc(ctx, &dy, N));
	OK(ctx->vec->upload(ctx, dy, y, sizeof y));
	for (int k = 0; k < 2; k++) {
		OK(iso_adjoint(dx, op[k], ISO_ALL, dy));
		OK(ctx->vec->download(ctx, got[k], dx, sizeof got[k]));
		iso_op_free(op[k]);
	}
	assert_memory_equal(got[0], got[1], sizeof got[0]);
	ctx->vec->free(ctx, dx);
	ctx->vec->free(ctx, dy);
	free(u);
	iso_ctx_free(ctx);
}

/* What the plan says is what the operator has. */
static void plan(void **state)
{
	iso_ctx *ctx = cpu(1);
	const struct iso_warp p = { .size = sizeof p, .grid = grid };
	struct iso_plan plan = { 0 };
	int64_t host, device;

	(void)state;
	iso_warp_plan(&plan, ctx, &p);
	iso_plan_total(&host, &device, &plan);
	assert_int_equal(host, N * (3 * (int64_t)sizeof(iso_real) + 8));
	assert_int_equal(device, 0);
	iso_plan_free(&plan);
	const struct iso_pose still = iso_pose_identity();
	const struct iso_warp q = { .size = sizeof q, .grid = grid, .pose = &still };

	iso_warp_plan(&plan, ctx, &q); /* a pose takes no memory */
	iso_plan_total(&host, &device, &plan);
	assert_int_equal(host, N * 8);
	iso_plan_free(&plan);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),      cmocka_unit_test(identity),
		cmocka_unit_test(whole_voxels), cmocka_unit_test(border),
		cmocka_unit_test(transpose),    cmocka_unit_test(other_grid),
		cmocka_unit_test(refused),      cmocka_unit_test(plan),
		cmocka_unit_test(cuda_bits),    cmocka_unit_test(pose_as_field),
		cmocka_unit_test(quarter),      cmocka_unit_test(pose_refused),
		cmocka_unit_test(several),      cmocka_unit_test(cuda_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
