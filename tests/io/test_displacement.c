/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields from files: five forms of one field, made of reference vectors, headers changed by hand, and what is
   refused. */
#include "test.h"

#include <unistd.h>

static const struct iso_grid grid = { { 9, 8, 7 }, { 5, 6, 4 }, { 1, -2, 3 } };
enum { N = 9 * 8 * 7, HEAD = 352, BYTES = HEAD + 12 * N };
enum { DIM = 40, INTENT_P1 = 56, INTENT_CODE = 68, SROW = 280, INTENT_NAME = 328 };

static void check_field(const char *path, enum iso_field_axes axes)
{
	struct iso_field f = { 0 };
	struct iso_array want = { 0 };

	OK(iso_field_read(&f, path, axes, &grid));
	OK(iso_read(&want, TEST_DATA "/warp/warp_field_ras.npy", ISO_FINITE));
	assert_true(iso_grid_same(&f.grid, &grid));
	for (int i = 0; i < 3 * N; i++) NEAR((double)f.v[i], (double)want.v[i], 2e-6);
	iso_array_free(&want);
	iso_field_free(&f);
}

/* Each as its file says, and what it then does to an image. */
static void forms(void **state)
{
	static const char *const names[] = { "dispvect", "dispvect_flipped", "niftyreg_disp", "niftyreg_def",
		                             "ants" };
	struct iso_array image = { 0 }, want = { 0 };
	iso_ctx *ctx = cpu(1);

	(void)state;
	OK(iso_read(&image, TEST_DATA "/warp/warp_image.npy", ISO_FINITE));
	OK(iso_read(&want, TEST_DATA "/warp/warp_out.npy", ISO_FINITE));
	for (int k = 0; k < N_OF(names); k++) {
		struct iso_field f = { 0 };
		iso_op *op = NULL;
		iso_real out[N];
		double worst = 0;
		char path[512];

		snprintf(path, sizeof path, TEST_DATA "/warp/field_%s.nii", names[k]);
		check_field(path, ISO_FIELD_AUTO);
		OK(iso_field_read(&f, path, ISO_FIELD_AUTO, &grid));
		const struct iso_warp p = {
			.size = sizeof p, .grid = grid, .field_grid = f.grid, .field = f.v
		};

		OK(iso_warp_create(&op, ctx, &p));
		OK(iso_forward(out, op, ISO_ALL, image.v));
		for (int i = 0; i < N; i++) worst = larger(worst, fabs((double)out[i] - (double)want.v[i]));
		BELOW(worst / .9330625444277381, 2e-6);
		iso_op_free(op);
		iso_field_free(&f);
	}
	iso_array_free(&image);
	iso_array_free(&want);
	iso_ctx_free(ctx);
}

static void array_file(void **state)
{
	struct iso_field f = { 0 };
	struct iso_grid other = grid;

	(void)state;
	check_field(TEST_DATA "/warp/warp_field_ras.npy", ISO_FIELD_AUTO);
	other.n[0] = 10;
	REFUSED(iso_field_read(&f, TEST_DATA "/warp/warp_field_ras.npy", ISO_FIELD_AUTO, &other), ISO_EINPUT,
	        "9 x 8 x 7 voxels, the image has 10 x 8 x 7");
	REFUSED(iso_field_read(&f, TEST_DATA "/warp/warp_image.npy", ISO_FIELD_AUTO, &grid), ISO_EINPUT,
	        "3 axes, the last of 9; a displacement field has (nz, ny, nx, 3)");
	REFUSED(iso_field_read(&f, "u.mha", ISO_FIELD_AUTO, &grid), ISO_EINPUT, "is .nii, .nii.gz or .npy");
	assert_null(f.v);
}

/* ---- changed headers ---- */

static unsigned char *load(const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "field_%s.nii", name);
	return test_data(TEST_DATA "/warp", path, BYTES, 1);
}

static void save(const unsigned char *bytes)
{
	FILE *f = fopen("field_test.nii", "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, BYTES, f), BYTES);
	fclose(f);
}

static void put16(unsigned char *b, int at, int16_t v)
{
	memcpy(b + at, &v, sizeof v);
}

static void put_float(unsigned char *b, int at, float v)
{
	memcpy(b + at, &v, sizeof v);
}

static void refuse(unsigned char *bytes, const char *message)
{
	struct iso_field f = { 0 };

	save(bytes);
	REFUSED(iso_field_read(&f, "field_test.nii", ISO_FIELD_AUTO, &grid), ISO_EINPUT, message);
	assert_null(f.v);
	free(bytes);
}

/* Without an intent, or with four axes, only with a word on the axes. */
static void said(void **state)
{
	unsigned char *b = load("dispvect");

	(void)state;
	put16(b, INTENT_CODE, 0);
	save(b);
	check_field("field_test.nii", ISO_FIELD_RAS);
	put16(b, DIM, 4);
	put16(b, DIM + 8, 3);
	put16(b, DIM + 10, 1);
	save(b);
	check_field("field_test.nii", ISO_FIELD_RAS);
	refuse(b, "do not tell which way its vectors point; 'field-axes' does, ras or lps");
	b = load("ants");
	put16(b, INTENT_CODE, 0);
	save(b);
	check_field("field_test.nii", ISO_FIELD_LPS);
	refuse(b, "intent 0 do not tell");
	unlink("field_test.nii");
}

static void refused(void **state)
{
	unsigned char *b = load("niftyreg_disp");

	(void)state;
	put_float(b, INTENT_P1, 3);
	refuse(b, "a spline grid or velocities of NiftyReg (intent_p1 3)");
	b = load("niftyreg_disp");
	put_float(b, INTENT_P1, 9);
	refuse(b, "NREG_TRANS of intent_p1 9");
	b = load("dispvect");
	put_float(b, SROW + 4, 2);
	refuse(b, "its axes are oblique; a displacement field must lie on straight ones");
	b = load("dispvect");
	put_float(b, HEAD + 4 * (N + 72 + 9 + 2), NAN);
	refuse(b, "component y at (iz, iy, ix) = (1, 1, 2) is nan, must be finite");
	b = load("dispvect_flipped");
	put_float(b, HEAD + 4 * (2 * N + 2), INFINITY);
	refuse(b, "component z at (iz, iy, ix) = (0, 0, 6) is inf, must be finite");
	b = load("dispvect");
	put16(b, DIM + 6, 21);
	put16(b, DIM + 10, 1);
	refuse(b, "a displacement field has (nx, ny, nz, 1, 3)");
	unlink("field_test.nii");
}

/* An image reader refuses such a file as before. */
static void no_image(void **state)
{
	struct iso_array a = { 0 };

	(void)state;
	REFUSED(iso_read(&a, TEST_DATA "/warp/field_ants.nii", ISO_FINITE), ISO_EINPUT,
	        "axis 5 has size 3; only x, y, z, t may be longer than 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),   cmocka_unit_test(array_file), cmocka_unit_test(said),
		cmocka_unit_test(refused), cmocka_unit_test(no_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
