/* SPDX-License-Identifier: BSD-3-Clause */
/* What the test programs share. A test of the CUDA half is named cuda_...: where there is no
   device it is skipped, and scripts/test.sh counts those; in double storage, which the CUDA half
   does not have, it is left out. */
#ifndef ISO_TEST_H
#define ISO_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "isotome.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_OF(a) ((int)(sizeof(a) / sizeof(a)[0]))

/* Float and double builds are held to different tolerances. */
#ifdef ISO_DOUBLE
#	define TOLERANCE(in_float, in_double) (in_double)
#else
#	define TOLERANCE(in_float, in_double) (in_float)
#endif

#ifdef ISO_DOUBLE
_Static_assert(sizeof(iso_real) == sizeof(double), "headers of the double build");

__attribute__((constructor)) static void leave_out_cuda(void)
{
	cmocka_set_skip_filter("cuda_*");
}
#endif

/* fmax where neither is NaN. gcc 12 on aarch64 ends in an internal error where it vectorises the fmax of floats. */
static inline double larger(double a, double b)
{
	return b > a ? b : a;
}

/* The n items of a file of vectors, which holds no more. */
static inline void *test_data(const char *where, const char *name, int64_t n, size_t item)
{
	char path[512];
	void *v = calloc((size_t)n, item);

	snprintf(path, sizeof path, "%s/%s", where, name);
	FILE *f = fopen(path, "rb");

	if (!f) print_error("can't open %s\n", path);
	assert_non_null(f);
	assert_non_null(v);
	assert_int_equal(fread(v, item, (size_t)n, f), n);
	assert_int_equal(fgetc(f), EOF);
	fclose(f);
	return v;
}

/* Skips the test, saying what is missing. With ISO_TEST_STRICT=1 that is a failure. */
static inline void skip_without(const char *what)
{
	const char *strict = getenv("ISO_TEST_STRICT");

	if (strict && strcmp(strict, "1") == 0) fail_msg("ISO_TEST_STRICT=1: %s", what);
	print_message("%s\n", what);
	skip();
}

/* Skips a test of samples that other projects made, which may not be in this one; the variable ISO_FOREIGN_SAMPLES names
   their folder. Never a failure. */
static inline void skip_without_samples(void)
{
	print_message("no foreign samples: ISO_FOREIGN_SAMPLES names their folder\n");
	skip();
}

/* Of what a test works on: less under the sanitizers, as in tests/cmd/lib.bash. */
static inline int sized(int full, int quick)
{
	const char *on = getenv("ISO_TEST_QUICK");

	return on && strcmp(on, "1") == 0 ? quick : full;
}

static inline void ok_at(int st, const char *file, int line)
{
	if (st != ISO_OK) {
		print_error("%s:%d: status %d: %s\n", file, line, st, iso_message());
		fail();
	}
}
#define OK(call) ok_at((call), __FILE__, __LINE__)

/* With ISO_TEST_RESULTS=1 every comparison says what it found, for scripts/validate.sh; cmocka's lines around it name
   the test. */
static inline void told(double found, double bound, const char *file, int line)
{
	const char *on = getenv("ISO_TEST_RESULTS");

	if (on && strcmp(on, "1") == 0) print_message("measured %s:%d %.3g %.3g\n", file, line, found, bound);
}

/* |a - b| <= tolerance, with both on failure. */
static inline void near_at(double a, double b, double tolerance, const char *file, int line)
{
	told(fabs(a - b), tolerance, file, line);
	if (!(fabs(a - b) <= tolerance)) {
		print_error("%s:%d: %.17g is not within %g of %.17g\n", file, line, a, tolerance, b);
		fail();
	}
}
#define NEAR(a, b, tolerance) near_at((a), (b), (tolerance), __FILE__, __LINE__)

/* value <= limit, with both on failure. */
static inline void below_at(double value, double limit, const char *what, const char *file, int line)
{
	told(value, limit, file, line);
	if (!(value <= limit)) {
		print_error("%s:%d: %s is %g, must be below %g\n", file, line, what, value, limit);
		fail();
	}
}
#define BELOW(value, limit) below_at((value), (limit), #value, __FILE__, __LINE__)

/* Fails with this status and a message that holds `text`. */
static inline void refused_at(int st, int want, const char *text, const char *file, int line)
{
	if (st != want || !strstr(iso_message(), text)) {
		print_error("%s:%d: status %d, wanted %d with '%s': %s\n", file, line, st, want, text,
		            iso_message());
		fail();
	}
}
#define REFUSED(call, want, text) refused_at((call), (want), (text), __FILE__, __LINE__)

static inline iso_ctx *cpu(int threads)
{
	iso_ctx *ctx = NULL;

	OK(iso_ctx_create(&ctx, "cpu", threads));
	return ctx;
}

/* Skips the test where there is no device, also with ISO_TEST_STRICT=1. */
static inline iso_ctx *cuda_or_skip(void)
{
	iso_ctx *ctx = NULL;

	if (iso_ctx_create(&ctx, "cuda", 0) != ISO_OK) {
		print_message("no CUDA device: %s\n", iso_message());
		skip();
	}
	return ctx;
}

static inline void on_cuda(void (*check)(iso_ctx *))
{
	iso_ctx *ctx = cuda_or_skip();

	check(ctx);
	iso_ctx_free(ctx);
}

/* A test of the name cuda_... that runs a check on the device. */
#define CUDA_TEST(name, check)         \
	static void name(void **state) \
	{                              \
		(void)state;           \
		on_cuda(check);        \
	}

/* The context's copy of n values. */
static inline iso_real *to_device(iso_ctx *ctx, int64_t n, const iso_real *host)
{
	void *p = NULL;

	OK(iso_ctx_vec(ctx)->alloc(ctx, &p, n * (int64_t)sizeof *host));
	if (host) OK(iso_ctx_vec(ctx)->upload(ctx, p, host, n * (int64_t)sizeof *host));
	return p;
}

static inline iso_real *to_host(iso_ctx *ctx, int64_t n, const iso_real *device)
{
	iso_real *h = calloc((size_t)n, sizeof *h);

	assert_non_null(h);
	OK(iso_ctx_vec(ctx)->download(ctx, h, device, n * (int64_t)sizeof *h));
	return h;
}

static inline void device_free(iso_ctx *ctx, void *p)
{
	iso_ctx_vec(ctx)->free(ctx, p);
}

/* |a - b| / |b| in the L2 norm. */
static inline double relative_difference(int64_t n, const iso_real *a, const iso_real *b)
{
	double d = 0, s = 0;

	for (int64_t i = 0; i < n; i++) {
		d += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		s += (double)b[i] * b[i];
	}
	return sqrt(d / s);
}

#endif
