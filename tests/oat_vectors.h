/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the optoacoustic models share: the reference vectors of tests/data/oat. */
#ifndef OAT_VECTORS_H
#define OAT_VECTORS_H

#include "test.h"

/* The last n float64 of an .npy file: all of its values. */
static inline double *vector(const char *name, int64_t n)
{
	char path[512];
	double *v = calloc((size_t)n, sizeof *v);

	snprintf(path, sizeof path, "%s/oat/%s.npy", TEST_DATA, name);
	FILE *f = fopen(path, "rb");

	if (!f) print_error("can't open %s\n", path);
	assert_non_null(f);
	assert_non_null(v);
	assert_int_equal(fseek(f, -8 * n, SEEK_END), 0);
	assert_true(ftell(f) >= 64 && ftell(f) <= 128); /* behind the header */
	assert_int_equal(fread(v, sizeof *v, (size_t)n, f), n);
	fclose(f);
	return v;
}

/* The same times `scale`, in the storage type. */
static inline iso_real *scaled_vector(const char *name, int64_t n, double scale)
{
	double *v = vector(name, n);
	iso_real *x = calloc((size_t)n, sizeof *x);

	assert_non_null(x);
	for (int64_t i = 0; i < n; i++) x[i] = (iso_real)(scale * v[i]);
	free(v);
	return x;
}

/* Cubes whose first centre is at x0, y0, z0. */
static inline struct iso_grid cubes(int64_t nx, int64_t ny, int64_t nz, double ds, double x0, double y0,
                                    double z0)
{
	return (struct iso_grid){ { nx, ny, nz },
		                  { ds, ds, ds },
		                  { x0 + (double)(nx - 1) / 2 * ds, y0 + (double)(ny - 1) / 2 * ds,
		                    z0 + (double)(nz - 1) / 2 * ds } };
}

/* n transducers without a size, all of them at the origin. */
static inline void points(struct iso_transducers *t, int64_t n)
{
	double **const part[] = { &t->pos, &t->normal, &t->ex, &t->ey };

	t->n = n;
	for (int k = 0; k < 4; k++) assert_non_null((*part[k] = calloc(3 * (size_t)n, sizeof(double))));
}

/* Forward of x (or adjoint of y) against a reference: the relative difference. */
static inline double compare(iso_op *op, bool adjoint, const iso_real *in, const iso_real *want)
{
	iso_ctx *ctx = iso_op_ctx(op);
	int64_t n_in = adjoint ? iso_op_n_out(op) : iso_op_n_in(op);
	int64_t n_out = adjoint ? iso_op_n_in(op) : iso_op_n_out(op);
	iso_real *from = to_device(ctx, n_in, in), *to = to_device(ctx, n_out, NULL);

	OK((adjoint ? iso_adjoint : iso_forward)(to, op, ISO_ALL, from));
	iso_real *got = to_host(ctx, n_out, to);
	double difference = relative_difference(n_out, got, want);

	free(got);
	device_free(ctx, from);
	device_free(ctx, to);
	return difference;
}

#endif
