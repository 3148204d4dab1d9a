/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of file formats share: a folder of their own, files to order, refusals. */
#ifndef FILES_H
#define FILES_H

#include "isotome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static char folder[] = "/tmp/isotome-test-XXXXXX";

static inline void put(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}

static inline void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

static inline void put_gzip(const char *path, const char *mode, const void *data, size_t bytes)
{
	gzFile f = gzopen(path, mode);

	assert_non_null(f);
	assert_int_equal(gzwrite(f, data, (unsigned)bytes), bytes);
	assert_int_equal(gzclose(f), Z_OK);
}

static inline size_t get(const char *path, void *data, size_t most)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	assert_non_null(f);
	n = fread(data, 1, most, f);
	fclose(f);
	return n;
}

/* Visits the files of the working folder; removes them or counts them. */
static inline int files(bool clean)
{
	DIR *d = opendir(".");
	int n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
			n++;
			if (clean) remove(e->d_name);
		}
	closedir(d);
	return n;
}

static inline void assert_message(const char *part)
{
	if (!strstr(iso_message(), part)) fail_msg("message \"%s\" lacks \"%s\"", iso_message(), part);
}

static inline void assert_refused(const char *path, const char *message)
{
	struct iso_array a = { .n_dim = 77 };
	int st = iso_read(&a, path, ISO_FINITE);

	if (st != ISO_EINPUT) fail_msg("%s: status %d, wanted a message with \"%s\"", path, st, message);
	assert_message(message);
	assert_int_equal(a.n_dim, 77);
	assert_null(a.v);
}

static inline void read_ok(struct iso_array *a, const char *path)
{
	if (iso_read(a, path, ISO_FINITE) != ISO_OK) fail_msg("%s", iso_message());
}

static inline void assert_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance)) fail_msg("%.17g, expected %.17g", got, want);
}

static inline void assert_grid(const struct iso_array *a, const double voxel[3], const double centre[3])
{
	assert_true(a->has_grid);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(a->grid.n[i], a->dim[a->n_dim - 1 - i]);
		assert_near(a->grid.voxel[i], voxel[i], 1e-12);
		assert_near(a->grid.centre[i], centre[i], 1e-12);
	}
}

/* 2 x 3 x 4 voxels (x, y, z) with values 0.25, 1.25, ... */
static inline struct iso_array small_image(void)
{
	const struct iso_grid g = { { 2, 3, 4 }, { 1.6, 2.5, 3.3 }, { 0, -7.1, 12.5 } };
	struct iso_array a = { 0 };

	assert_int_equal(iso_array_on_grid(&a, &g), ISO_OK);
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)i + (iso_real).25;
	return a;
}

static const struct {
	const char *npy, *raw;
	int nifti, size;
	char kind;
} stored_types[] = {
	{ "u1", "uint8", 2, 1, 'u' },     { "i1", "int8", 256, 1, 'i' },   { "u2", "uint16", 512, 2, 'u' },
	{ "i2", "int16", 4, 2, 'i' },     { "u4", "uint32", 768, 4, 'u' }, { "i4", "int32", 8, 4, 'i' },
	{ "u8", "uint64", 1280, 8, 'u' }, { "i8", "int64", 1024, 8, 'i' }, { "f4", "float32", 16, 4, 'f' },
	{ "f8", "float64", 64, 8, 'f' },
};

/* Six values that every type holds; a negative one where it has a sign. */
static inline int stored_value(int t, int i)
{
	return (const int[]){ 0, 1, 2, 100, stored_types[t].kind == 'u' ? 7 : -7, 127 }[i];
}

/* Those values as type t; returns the bytes. */
static inline size_t store(unsigned char *dst, int t, bool big)
{
	int size = stored_types[t].size;

	for (int i = 0; i < 6; i++) {
		int64_t n = stored_value(t, i);
		float f = (float)n;
		double d = (double)n;
		const unsigned char *src = (void *)&n;

		if (stored_types[t].kind == 'f') src = size == 4 ? (void *)&f : (void *)&d;
		for (int b = 0; b < size; b++) dst[i * size + b] = src[big ? size - 1 - b : b];
	}
	return (size_t)(6 * size);
}

static inline void assert_stored(const char *path, int t)
{
	struct iso_array a = { 0 };

	read_ok(&a, path);
	assert_int_equal(a.n, 6);
	for (int i = 0; i < 6; i++) assert_true(a.v[i] == stored_value(t, i));
	iso_array_free(&a);
}

static inline int enter(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static inline int leave(void **state)
{
	(void)state;
	files(true);
	return chdir("/") == 0 ? rmdir(folder) : -1;
}

#endif
