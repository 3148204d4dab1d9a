/* SPDX-License-Identifier: BSD-3-Clause */
/* NIfTI files: the header byte by byte, orientations worked by hand, damage.
   This test is also built in double. */
#include "files.h"

struct nii {
	unsigned char byte[352];
	bool big;
};

static void set(struct nii *h, int at, const void *value, int size)
{
	for (int i = 0; i < size; i++)
		h->byte[at + i] = ((const unsigned char *)value)[h->big ? size - 1 - i : i];
}

static void set_short(struct nii *h, int at, int value)
{
	int16_t v = (int16_t)value;

	set(h, at, &v, 2);
}

static void set_float(struct nii *h, int at, double value)
{
	float v = (float)value;

	set(h, at, &v, 4);
}

/* 1 <= n <= 7 axes, a type of stored_types, no orientation; voxels 2 x 3 x 5 mm. */
static struct nii nii_head(int n, const int *dim, int type, bool big)
{
	struct nii h = { .big = big };
	int32_t size = 348;

	set(&h, 0, &size, 4);
	set_short(&h, 40, n);
	for (int i = 0; i < 7; i++) set_short(&h, 42 + 2 * i, i < n ? dim[i] : 0);
	set_short(&h, 70, stored_types[type].nifti);
	set_short(&h, 72, 8 * stored_types[type].size);
	set_float(&h, 80, 2);
	set_float(&h, 84, 3);
	set_float(&h, 88, 5);
	set_float(&h, 108, 352);
	h.byte[123] = 2;
	memcpy(h.byte + 344, "n+1", 4);
	return h;
}

static void set_rows(struct nii *h, const double row[3][4])
{
	set_short(h, 254, 1);
	for (int i = 0; i < 12; i++) set_float(h, 280 + 4 * i, row[i / 4][i % 4]);
}

static void put_nii(const char *path, const struct nii *h, const void *data, size_t bytes)
{
	unsigned char file[1024];

	memcpy(file, h->byte, 352);
	memcpy(file + 352, data, bytes);
	put(path, file, 352 + bytes);
}

static const int dims_6[3] = { 3, 2, 1 }, dims_24[3] = { 2, 3, 4 };

static void writes(void **state)
{
	struct iso_array a = small_image();
	struct nii h;
	float f[12];
	int16_t s[8];
	char text[32];

	(void)state;
	assert_int_equal(iso_write("a.nii", &a, NULL), ISO_OK);
	assert_int_equal(get("a.nii", h.byte, 352), 352);
	assert_memory_equal(h.byte, "\x5c\1\0\0", 4);
	assert_int_equal(h.byte[38], 'r');
	memcpy(s, h.byte + 40, 16);
	assert_memory_equal(s, ((int16_t[]){ 3, 2, 3, 4, 1, 1, 1, 1 }), 16);
	memcpy(s, h.byte + 70, 4);
	assert_int_equal(s[0], sizeof(iso_real) == 4 ? 16 : 64);
	assert_int_equal(s[1], 8 * sizeof(iso_real));
	memcpy(f, h.byte + 76, 32);
	assert_memory_equal(f, ((float[]){ 1, 1.6f, 2.5f, 3.3f, 1, 0, 0, 0 }), 32);
	memcpy(f, h.byte + 108, 12);
	assert_memory_equal(f, ((float[]){ 352, 1, 0 }), 12);
	assert_int_equal(h.byte[123], 10);
	memcpy(f, h.byte + 124, 8);
	assert_memory_equal(f, ((float[]){ 23.25f, .25f }), 8);
	snprintf(text, sizeof text, "isotome %s", iso_version());
	assert_string_equal((char *)h.byte + 148, text);
	memcpy(s, h.byte + 252, 4);
	assert_true(s[0] == 1 && s[1] == 1);
	/* the first voxel: 0 - .5 * 1.6, -7.1 - 2.5, 12.5 - 1.5 * 3.3 */
	memcpy(f, h.byte + 256, 24);
	assert_memory_equal(f, ((float[]){ 0, 0, 0, -.8f, -9.6f, 7.55f }), 24);
	memcpy(f, h.byte + 280, 48);
	assert_memory_equal(f, ((float[]){ 1.6f, 0, 0, -.8f, 0, 2.5f, 0, -9.6f, 0, 0, 3.3f, 7.55f }), 48);
	assert_memory_equal(h.byte + 344, "n+1\0\0\0\0\0", 8);
	iso_array_free(&a);
	files(true);
}

static void limits(void **state)
{
	struct iso_array a = { 0 };
	const int64_t dim[1] = { 32768 };

	(void)state;
	assert_int_equal(iso_array_create(&a, 1, dim), ISO_OK);
	assert_int_equal(iso_write("a.nii", &a, NULL), ISO_EARG);
	assert_message("a.nii: an axis of 32768, NIfTI-1 holds at most 32767; write .npy");
	iso_array_free(&a);
	a = small_image();
	a.grid.voxel[0] = 1e-60;
	assert_int_equal(iso_write("a.nii", &a, NULL), ISO_EARG);
	assert_message("beyond a float");
	iso_array_free(&a);
	assert_int_equal(files(true), 0);
}

static void types(void **state)
{
	unsigned char data[64];

	(void)state;
	for (int t = 0; t < COUNT(stored_types); t++)
		for (int big = 0; big < 2; big++) {
			struct nii h = nii_head(3, dims_6, t, big);

			put_nii("a.nii", &h, data, store(data, t, big));
			assert_stored("a.nii", t);
		}
	files(true);
}

static void no_grid(void **state)
{
	struct iso_array a = { 0 }, b = { 0 };
	const int64_t dim[4] = { 2, 3, 1, 4 };

	(void)state;
	assert_int_equal(iso_array_create(&a, 4, dim), ISO_OK);
	for (int i = 0; i < 24; i++) a.v[i] = (iso_real)i;
	assert_int_equal(iso_write("a.nii", &a, NULL), ISO_OK);
	read_ok(&b, "a.nii");
	assert_int_equal(b.n_dim, 4);
	assert_memory_equal(b.dim, dim, sizeof dim);
	assert_memory_equal(b.v, a.v, 24 * sizeof *a.v);
	assert_grid(&b, (double[]){ 1, 1, 1 }, (double[]){ 0, 0, 0 });
	iso_array_free(&a);
	iso_array_free(&b);
	files(true);
}

static void scale(void **state)
{
	unsigned char data[64];
	struct nii h = nii_head(3, dims_6, 3, false);
	size_t n = store(data, 3, false);
	struct iso_array a = { 0 };

	(void)state;
	set_float(&h, 112, .5);
	set_float(&h, 116, -3);
	put_nii("a.nii", &h, data, n);
	read_ok(&a, "a.nii");
	assert_true(a.v[0] == -3 && a.v[3] == 47 && a.v[4] == (iso_real)-6.5);
	iso_array_free(&a);
	set_float(&h, 112, 0); /* no scaling, whatever the intercept */
	put_nii("a.nii", &h, data, n);
	assert_stored("a.nii", 3);
	files(true);
}

static void units(void **state)
{
	static const struct {
		unsigned char unit;
		double mm;
	} units[] = { { 0, 1 }, { 1, 1000 }, { 2 + 8, 1 }, { 3 + 16, .001 } };
	const unsigned char data[6] = { 0 };
	struct nii h = nii_head(3, dims_6, 0, false);

	(void)state;
	for (int i = 0; i < COUNT(units); i++) {
		double mm = units[i].mm;
		struct iso_array a = { 0 };

		h.byte[123] = units[i].unit;
		put_nii("a.nii", &h, data, 6);
		read_ok(&a, "a.nii");
		assert_grid(&a, (double[]){ 2 * mm, 3 * mm, 5 * mm }, (double[]){ 0, 0, 0 });
		iso_array_free(&a);
	}
	files(true);
}

/* Voxel (i, j, k) of the file, i fastest, holds 100 k + 10 j + i. */
static void put_numbered(const char *path, const struct nii *h)
{
	int16_t v[24];

	for (int n = 0; n < 24; n++) v[n] = (int16_t)(100 * (n / 6) + 10 * (n / 2 % 3) + n % 2);
	put_nii(path, h, v, sizeof v);
}

/* File axes i, j, k run along -y (2 mm), +z (3 mm) and -x (5 mm). */
static void turned(void **state)
{
	const double row[3][4] = { { 0, 0, -5, 10 }, { -2, 0, 0, 1 }, { 0, 3, 1e-4, -7 } };
	struct nii h = nii_head(3, dims_24, 3, false);
	struct iso_array a = { 0 };

	(void)state;
	set_rows(&h, row);
	put_numbered("a.nii", &h);
	read_ok(&a, "a.nii");
	assert_true(a.dim[0] == 3 && a.dim[1] == 2 && a.dim[2] == 4);
	/* centre: 10 - 5 * 1.5, 1 - 2 * .5, -7 + 3 * 1 + .0001 * 1.5 */
	assert_grid(&a, (double[]){ 5, 2, 3 }, (double[]){ 2.5, 0, -3.99985 });
	for (int n = 0; n < 24; n++) assert_true(a.v[n] == 100 * (3 - n % 4) + 10 * (n / 8) + 1 - n / 4 % 2);
	assert_true(a.v[0] == 301 && a.v[23] == 20);
	iso_array_free(&a);
	files(true);
}

static void frames(void **state)
{
	const double row[3][4] = { { -2, 0, 0, 1 }, { 0, 3, 0, 0 }, { 0, 0, 5, 0 } };
	struct nii h = nii_head(5, (const int[]){ 2, 3, 1, 4, 1 }, 3, false);
	struct iso_array a = { 0 };

	(void)state;
	set_rows(&h, row);
	put_numbered("a.nii", &h);
	read_ok(&a, "a.nii");
	assert_int_equal(a.n_dim, 4);
	assert_memory_equal(a.dim, ((int64_t[]){ 4, 1, 3, 2 }), 4 * sizeof *a.dim);
	assert_grid(&a, (double[]){ 2, 3, 5 }, (double[]){ 0, 3, 0 });
	for (int n = 0; n < 24; n++) assert_true(a.v[n] == 100 * (n / 6) + 10 * (n / 2 % 3) + 1 - n % 2);
	iso_array_free(&a);
	files(true);
}

/* A quarter turn about x: file axes along +x, +z, -y. Then half a turn about z, mirrored in z. */
static void quaternion(void **state)
{
	struct nii h = nii_head(3, dims_24, 3, true);
	int16_t v[24];
	struct iso_array a = { 0 };

	(void)state;
	for (int n = 0; n < 24; n++) {
		int value = 100 * (n / 6) + 10 * (n / 2 % 3) + n % 2;

		v[n] = (int16_t)(value >> 8 | (value & 255) << 8);
	}
	set_short(&h, 252, 1);
	set_float(&h, 76, 1);
	set_float(&h, 256, .70710678);
	set_float(&h, 268, -1);
	set_float(&h, 272, 6);
	set_float(&h, 276, .5);
	put_nii("a.nii", &h, v, sizeof v);
	read_ok(&a, "a.nii");
	assert_true(a.dim[0] == 3 && a.dim[1] == 4 && a.dim[2] == 2);
	for (int i = 0; i < 3; i++) { /* (-1 + 2 * .5, 6 - 5 * 1.5, .5 + 3 * 1) */
		assert_near(a.grid.voxel[i], ((double[]){ 2, 5, 3 })[i], 1e-6);
		assert_near(a.grid.centre[i], ((double[]){ 0, -1.5, 3.5 })[i], 1e-6);
	}
	for (int n = 0; n < 24; n++) assert_true(a.v[n] == 100 * (3 - n / 2 % 4) + 10 * (n / 8) + n % 2);
	iso_array_free(&a);

	set_float(&h, 76, -1);
	set_float(&h, 256, 0);
	set_float(&h, 264, 1);
	put_nii("a.nii", &h, v, sizeof v);
	read_ok(&a, "a.nii");
	assert_grid(&a, (double[]){ 2, 3, 5 }, (double[]){ -2, 3, -7 });
	for (int n = 0; n < 24; n++)
		assert_true(a.v[n] == 100 * (3 - n / 6) + 10 * (2 - n / 2 % 3) + 1 - n % 2);
	iso_array_free(&a);
	files(true);
}

/* Half a turn about x = y, whose quaternion floats round: file axes along +y, +x, -z. */
static void half_turn(void **state)
{
	struct nii h = nii_head(3, dims_24, 3, false);
	struct iso_array a = { 0 };

	(void)state;
	set_short(&h, 252, 1);
	set_float(&h, 256, .70710678);
	set_float(&h, 260, .70710678);
	put_numbered("a.nii", &h);
	read_ok(&a, "a.nii");
	assert_true(a.dim[0] == 4 && a.dim[1] == 2 && a.dim[2] == 3);
	for (int n = 0; n < 24; n++) assert_true(a.v[n] == 100 * (3 - n / 6) + 10 * (n % 3) + n / 3 % 2);
	iso_array_free(&a);
	files(true);
}

static void flat(void **state)
{
	unsigned char data[64];
	struct nii h = nii_head(2, dims_6, 0, false);
	size_t n = store(data, 0, false);
	struct iso_array a = { 0 };

	(void)state;
	put_nii("a.nii", &h, data, n);
	read_ok(&a, "a.nii");
	assert_true(a.n_dim == 3 && a.dim[0] == 1 && a.dim[1] == 2 && a.dim[2] == 3);
	iso_array_free(&a);
	files(true);
}

/* ---- NIfTI-2 ---- */

struct nii2 {
	unsigned char byte[544 + 48];
	bool big;
};

static void set2(struct nii2 *h, int at, const void *value, int size)
{
	for (int i = 0; i < size; i++)
		h->byte[at + i] = ((const unsigned char *)value)[h->big ? size - 1 - i : i];
}

/* 2 x 3 x 4 voxels of int16, 100 z + 10 y + x times 2 plus 1, mirrored along x; offsets are those of nifti2.h. */
static struct nii2 nii2_head(bool big)
{
	const double row[12] = { -2, 0, 0, 1, 0, 3, 0, -3.1, 0, 0, 5, 7.123456789012 }, slope = 2, inter = 1;
	const int64_t dim[8] = { 3, 2, 3, 4, 1, 1, 1, 1 }, offset = 544;
	const int32_t header = 540, code = 1, units = 2;
	const int16_t type[2] = { 4, 16 };
	struct nii2 h = { .big = big };

	set2(&h, 0, &header, 4);
	memcpy(h.byte + 4, "n+2\0\r\n\032\n", 8);
	for (int i = 0; i < 2; i++) set2(&h, 12 + 2 * i, &type[i], 2);
	for (int i = 0; i < 8; i++) set2(&h, 16 + 8 * i, &dim[i], 8);
	set2(&h, 168, &offset, 8);
	set2(&h, 176, &slope, 8);
	set2(&h, 184, &inter, 8);
	set2(&h, 348, &code, 4);
	for (int i = 0; i < 12; i++) set2(&h, 400 + 8 * i, &row[i], 8);
	set2(&h, 500, &units, 4);
	for (int i = 0; i < 24; i++) {
		int16_t v = (int16_t)(100 * (i / 6) + 10 * (i / 2 % 3) + i % 2);

		set2(&h, 544 + 2 * i, &v, 2);
	}
	return h;
}

static void version_2(void **state)
{
	(void)state;
	for (int k = 0; k < 4; k++) { /* both byte orders, plain and packed */
		const char *path = k < 2 ? "a.nii" : "a.nii.gz";
		struct nii2 h = nii2_head(k % 2);
		struct iso_array a = { 0 };

		if (k < 2)
			put(path, h.byte, sizeof h.byte);
		else
			put_gzip(path, "wb", h.byte, sizeof h.byte);
		read_ok(&a, path);
		assert_true(a.n_dim == 3 && a.dim[0] == 4 && a.dim[1] == 3 && a.dim[2] == 2);
		for (int i = 0; i < 24; i++)
			assert_true(a.v[i] == 1 + 2 * (100 * (i / 6) + 10 * (i / 2 % 3) + 1 - i % 2));
		assert_near(a.grid.voxel[0], 2, 0);
		assert_near(a.grid.centre[0], 0, 0);
		assert_near(a.grid.centre[2], 7.123456789012 + 1.5 * 5, 1e-12); /* not cut to a float */
		iso_array_free(&a);
	}
	files(true);
}

static void version_2_damaged(void **state)
{
	static const struct {
		int at, size;
		int64_t value;
		const char *message;
	} bad[] = {
		{ 4, 1, 'm', "its magic is not n+2" },
		{ 5, 1, 'i', "header of a pair of files" },
		{ 16, 8, 9, "9 axes" },
		{ 24, 8, 0, "axis 1 has size 0" },
		{ 24, 8, INT64_MAX, "axis 1 has size 9.2" },
		{ 24, 8, INT64_C(1) << 39, "bytes expected, the file has 592" },
		{ 12, 2, 128, "data type 128" },
		{ 168, 8, 540, "data at byte 540, must be a whole number from 544" },
		{ 168, 8, INT64_MIN, "data at byte -9.2" },
		{ 500, 4, 7, "unit of length 7" },
	};

	(void)state;
	for (int i = 0; i < COUNT(bad); i++)
		for (int big = 0; big < 2; big++) {
			struct nii2 h = nii2_head(big);

			set2(&h, bad[i].at, &bad[i].value, bad[i].size);
			put("a.nii", h.byte, sizeof h.byte);
			assert_refused("a.nii", bad[i].message);
		}
	for (size_t n = 4; n < 592; n += 12) {
		struct nii2 h = nii2_head(false);

		put("a.nii", h.byte, n);
		assert_refused("a.nii", "a.nii");
	}
	files(true);
}

/* Turned by 0.2 about z: a grid only for those who take the image's own axes. */
static void own_axes(void **state)
{
	const double c = cos(.2), s = sin(.2);
	const double row[3][4] = { { 2 * c, -3 * s, 0, 1 }, { 2 * s, 3 * c, 0, 2 }, { 0, 0, 5, 3 } };
	struct nii h = nii_head(3, dims_24, 3, false);
	struct iso_array a = { 0 };

	(void)state;
	set_rows(&h, row);
	put_numbered("a.nii", &h);
	assert_refused("a.nii", "oblique");
	assert_int_equal(iso_read(&a, "a.nii", ISO_ANY | ISO_OBLIQUE), ISO_OK);
	for (int r = 0; r < 3; r++) {
		double middle = row[r][3] + .5 * row[r][0] + row[r][1] + 1.5 * row[r][2];

		assert_near(a.grid.voxel[r], (double[]){ 2, 3, 5 }[r], 1e-6);
		assert_near(a.grid.centre[r], middle, 1e-5);
	}
	iso_array_free(&a);
	files(true);
}

static void damaged(void **state)
{
	static const struct {
		int at;
		char type;
		double value;
		const char *message;
	} bad[] = {
		{ 0, 's', 349, "not a NIfTI file: the header size is neither 348" },
		{ 0, 's', 540, "ends after 400 bytes" },
		{ 344, 'b', 'm', "not a NIfTI file: its magic is not n+1" },
		{ 345, 'b', 'i', "header of a pair of files" },
		{ 40, 's', 0, "0 axes" },
		{ 40, 's', 8, "8 axes" },
		{ 40, 's', -3, "-3 axes" },
		{ 42, 's', -2, "axis 1 has size -2" },
		{ 44, 's', 0, "axis 2 has size 0" },
		{ 46, 's', 32767, "bytes expected, the file has" },
		{ 46, 's', 3, "bytes expected, the file has" },
		{ 70, 's', 32, "data type 32" },
		{ 70, 's', 128, "data type 128" },
		{ 72, 's', 8, "8 bits a voxel, data type 4 has 16" },
		{ 108, 'f', NAN, "data at byte nan" },
		{ 108, 'f', INFINITY, "data at byte inf" },
		{ 108, 'f', -352, "data at byte -352" },
		{ 108, 'f', 348, "data at byte 348" },
		{ 108, 'f', 352.5, "data at byte 352.5" },
		{ 108, 'f', 1e30, "data at byte 1e+30" },
		{ 108, 'f', 368, "416 bytes expected, the file has 400" },
		{ 112, 'f', NAN, "must be finite" },
		{ 116, 'f', INFINITY, "must be finite" },
		{ 123, 'b', 7, "unit of length 7" },
		{ 280, 'f', NAN, "not finite" },
		{ 280, 'f', 0, "voxel size 0 along axis 1" },
		{ 292, 'f', INFINITY, "not finite" },
		{ 284, 'f', .5, "oblique" },
		{ 296, 'f', .001, "oblique" },
		{ 312, 'f', .001, "oblique" },
	};
	const double row[3][4] = { { 2, 0, 0, 0 }, { 0, 3, 0, 0 }, { 0, 0, 5, 0 } };

	(void)state;
	for (int i = 0; i < COUNT(bad); i++) {
		struct nii h = nii_head(3, dims_24, 3, false);

		set_rows(&h, row);
		if (bad[i].type == 's')
			set_short(&h, bad[i].at, (int)bad[i].value);
		else if (bad[i].type == 'f')
			set_float(&h, bad[i].at, bad[i].value);
		else
			h.byte[bad[i].at] = (unsigned char)bad[i].value;
		put_numbered("a.nii", &h);
		assert_refused("a.nii", bad[i].message);
	}
	files(true);
}

static void absurd(void **state)
{
	static const struct {
		int at;
		double value;
		const char *message;
	} bad[] = {
		{ 80, NAN, "voxel size nan along axis 1" },
		{ 84, 0, "voxel size 0 along axis 2" },
		{ 88, -5, "voxel size -5 along axis 3" },
		{ 88, INFINITY, "not finite" },
		{ 256, 1.2, "is no rotation" },
		{ 260, NAN, "is no rotation" },
		{ 256, .3, "oblique" },
		{ 268, NAN, "not finite" },
	};
	const double both_along_x[3][4] = { { 2, 3, 0, 0 }, { 0, 0, 0, 0 }, { 0, 0, 5, 0 } };
	const int dims[7] = { 32767, 32767, 32767, 32767, 32767, 32767, 32767 };
	struct nii h = nii_head(7, dims, 4, false);

	(void)state;
	put_numbered("a.nii", &h);
	assert_refused("a.nii", "axis 5 has size 32767");
	set_short(&h, 40, 4);
	put_numbered("a.nii", &h);
	assert_refused("a.nii", "more voxels than 64 bits count");
	set_short(&h, 40, 3);
	put_numbered("a.nii", &h);
	assert_refused("a.nii", "140724603847004 bytes expected, the file has 400");
	put_gzip("a.nii.gz", "wb", h.byte, 352);
	assert_refused("a.nii.gz", "header asks for 140724603847004 bytes, more than its");
	h = nii_head(3, dims_24, 3, false);
	set_rows(&h, both_along_x);
	put_numbered("a.nii", &h);
	assert_refused("a.nii", "lie in a plane");
	for (int i = 0; i < COUNT(bad); i++) {
		h = nii_head(3, dims_24, 3, false);
		set_short(&h, 252, 1);
		set_float(&h, bad[i].at, bad[i].value);
		put_numbered("a.nii", &h);
		assert_refused("a.nii", bad[i].message);
	}
	files(true);
}

/* The data may start later, after extensions that are passed over. */
static void extension(void **state)
{
	unsigned char file[512] = { 0 };
	struct nii h = nii_head(3, dims_6, 0, false);

	(void)state;
	set_float(&h, 108, 368);
	memcpy(file, h.byte, 352);
	store(file + 368, 0, false);
	put("a.nii", file, 374);
	assert_stored("a.nii", 0);
	put_gzip("a.nii.gz", "wb", file, 374);
	assert_stored("a.nii.gz", 0);
	files(true);
}

static void gzip_damaged(void **state)
{
	unsigned char file[512];
	struct nii h = nii_head(3, dims_6, 0, false);
	size_t n;

	(void)state;
	memcpy(file, h.byte, 352);
	store(file + 352, 0, false);
	put_gzip("a.nii.gz", "wb", file, 100); /* in two members, as parallel packers write */
	put_gzip("a.nii.gz", "ab", file + 100, 258);
	assert_stored("a.nii.gz", 0);
	put_gzip("a.nii.gz", "wb", file, 357);
	assert_refused("a.nii.gz", "ends after 357 bytes, 358 expected");
	put_gzip("a.nii.gz", "wb", file, 359);
	assert_refused("a.nii.gz", "data goes on after the 358 bytes");
	put("a.nii.gz", file, 358);
	assert_refused("a.nii.gz", "not gzip: begins with other bytes than 1f 8b");
	put("a.nii.gz", "<!DOCTYPE html><html>", 21); /* a download that failed */
	assert_refused("a.nii.gz", "not gzip: begins with '<!DOCTYPE html>'");
	put_gzip("a.nii.gz", "wb", file, 358);
	n = get("a.nii.gz", file, sizeof file);
	put("a.nii.gz", file, n - 1);
	assert_refused("a.nii.gz", "cut short after 358 bytes");
	put("a.nii.gz", file, n / 2);
	assert_refused("a.nii.gz", "cut short");
	file[n - 8] ^= 1;
	put("a.nii.gz", file, n);
	assert_refused("a.nii.gz", "incorrect data check");
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes),
		cmocka_unit_test(limits),
		cmocka_unit_test(types),
		cmocka_unit_test(no_grid),
		cmocka_unit_test(scale),
		cmocka_unit_test(units),
		cmocka_unit_test(turned),
		cmocka_unit_test(frames),
		cmocka_unit_test(quaternion),
		cmocka_unit_test(half_turn),
		cmocka_unit_test(flat),
		cmocka_unit_test(version_2),
		cmocka_unit_test(version_2_damaged),
		cmocka_unit_test(own_axes),
		cmocka_unit_test(damaged),
		cmocka_unit_test(absurd),
		cmocka_unit_test(extension),
		cmocka_unit_test(gzip_damaged),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
