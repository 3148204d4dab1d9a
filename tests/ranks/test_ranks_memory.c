/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators made by hand over several ranks, of which the last runs out of memory while it makes one, at one allocation
   after the other: no rank waits for it, all have the same error, and it names the rank. Run by mpirun with one to four
   ranks; whoever waits for ever is ended by SIGALRM. */
#define _GNU_SOURCE /* dladdr */
#include "core/comm.h"
#include "test.h"

#include <dlfcn.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#	define SANITIZED 1
#elif defined(__has_feature)
#	if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#		define SANITIZED 1
#	endif
#endif

enum { LIMIT_S = 300 };

/* ---- an allocation that fails ---- */

static long left; /* allocations of libisotome to the one that fails; 0: it has failed, or none shall */

#ifndef SANITIZED /* which have a malloc of their own */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

/* Those of MPI and of the test never fail. */
static bool fails(const void *caller)
{
	Dl_info info;

	if (left < 1 || !dladdr(caller, &info) || !info.dli_fname) return false;
	if (!strstr(info.dli_fname, "libisotome")) return false;
	return --left == 0;
}

void *malloc(size_t n)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}
#endif

/* ---- operators ---- */

static const struct iso_grid grid = { { 6, 5, 4 }, { 2, 2, 2 }, { 0, 0, 0 } };

static int make_diag(iso_op **op, iso_ctx *ctx)
{
	const iso_real d[4] = { 1, 2, 3, 4 };

	return iso_diag_create(op, ctx, 4, d);
}

static int make_chain(iso_op **op, iso_ctx *ctx)
{
	iso_op *a = NULL, *b = NULL;
	int st = make_diag(&a, ctx);

	if (!st) st = make_diag(&b, ctx);
	if (!st) st = iso_chain_create(op, a, b);
	iso_op_free(a);
	iso_op_free(b);
	return st;
}

static int make_weighed(iso_op **op, iso_ctx *ctx)
{
	const double w[2] = { 1, 3 };
	int st = make_diag(op, ctx);

	if (!st && (st = iso_weigh_rows(op, 2, w))) {
		iso_op_free(*op);
		*op = NULL;
	}
	return st;
}

static int make_psf(iso_op **op, iso_ctx *ctx)
{
	return iso_psf_create(op, ctx, &grid, (double[3]){ 3, 3, 3 });
}

static int make_penalty(iso_op **op, iso_ctx *ctx)
{
	return iso_smoothness_create(op, ctx, &grid);
}

static int make_kernel(iso_op **op, iso_ctx *ctx)
{
	iso_real guide[6 * 5 * 4] = { 0 };

	for (int i = 0; i < N_OF(guide); i++) guide[i] = (iso_real)(i % 7);
	return iso_kernel_create(op, ctx,
	                         &(struct iso_kernel){ .size = sizeof(struct iso_kernel),
	                                               .grid = grid,
	                                               .n_features = 1,
	                                               .feature = guide,
	                                               .neighbours = 5,
	                                               .radius = 1 });
}

static int nothing(void *arg, int sub, iso_real *to, const iso_real *from)
{
	(void)arg;
	(void)sub;
	*to = *from;
	return ISO_OK;
}

/* `free` is called for operators that were made, and for no other. */
static int given, freed;

static void give_back(void *arg)
{
	(void)arg;
	freed++;
}

static int make_custom(iso_op **op, iso_ctx *ctx)
{
	int st = iso_custom_create(op, ctx,
	                           &(struct iso_custom){ .size = sizeof(struct iso_custom),
	                                                 .n_in = 1,
	                                                 .n_out = 1,
	                                                 .n_sub = 1,
	                                                 .forward = nothing,
	                                                 .adjoint = nothing,
	                                                 .free = give_back });

	given += st == ISO_OK;
	return st;
}

static struct iso_event events[40];

static int make_ray(iso_op **op, iso_ctx *ctx)
{
	struct iso_events e = { .n = N_OF(events), .v = events };

	for (int i = 0; i < N_OF(events); i++)
		events[i] = (struct iso_event){ { -20, (float)(i % 5), 1 }, { 20, (float)(i % 3), -1 }, 0 };
	return iso_ray_create(
		op, ctx, &(struct iso_ray){ .size = sizeof(struct iso_ray), .grid = grid, .n_sub = 2 }, &e);
}

static int make_strip(iso_op **op, iso_ctx *ctx)
{
	struct iso_strip_event v[20] = { { 1, 2, 3 } };
	struct iso_strip_events e = { .n = N_OF(v), .v = v };

	return iso_strip_create(op, ctx,
	                        &(struct iso_strip){ .size = sizeof(struct iso_strip),
	                                             .strips = { 350, 500, 10, 40, 0, 0 },
	                                             .ny = 8,
	                                             .nz = 9,
	                                             .pixel = 20,
	                                             .n_sub = 2 },
	                        &e);
}

static struct iso_transducers transducers; /* made once */

static int make_sradon(iso_op **op, iso_ctx *ctx)
{
	return iso_sradon_create(
		op, ctx,
		&(struct iso_sradon){ .size = sizeof(struct iso_sradon), .grid = grid, .t = &transducers });
}

static int make_ubp(iso_op **op, iso_ctx *ctx)
{
	return iso_ubp_create(op, ctx,
	                      &(struct iso_ubp){ .size = sizeof(struct iso_ubp),
	                                         .grid = grid,
	                                         .transducers = &transducers });
}

static int make_svoxel(iso_op **op, iso_ctx *ctx)
{
	return iso_svoxel_create(op, ctx,
	                         &(struct iso_svoxel){ .size = sizeof(struct iso_svoxel),
	                                               .grid = grid,
	                                               .t = &transducers,
	                                               .lines = 4,
	                                               .df_mhz = .1 });
}

static const struct {
	const char *name;
	int (*make)(iso_op **op, iso_ctx *ctx);
} made_by_hand[] = {
	{ "diag", make_diag },     { "chain", make_chain },     { "weigh_rows", make_weighed },
	{ "psf", make_psf },       { "penalty", make_penalty }, { "kernel", make_kernel },
	{ "custom", make_custom }, { "ray", make_ray },         { "strip", make_strip },
	{ "sradon", make_sradon }, { "ubp", make_ubp },         { "svoxel", make_svoxel },
};

/* ---- the test ---- */

/* Makes one while allocation `at` of the last rank fails; whether there was such an allocation. */
static bool make_short(int which, long at)
{
	iso_ctx *ctx = NULL;
	iso_op *op = NULL;
	char words[64];
	double failed = 0;

	OK(iso_ctx_create_ranks(&ctx, "cpu", 1, NULL));
	int ranks = iso_ctx_ranks(ctx), last = ranks - 1, st;
	bool short_of_it = iso_ctx_rank(ctx) == last;

	left = short_of_it ? at : 0;
	st = made_by_hand[which].make(&op, ctx);
	failed = short_of_it && left == 0;
	left = 0;
	if (st) {
		assert_int_equal(st, ISO_ENOMEM);
		assert_null(op);
		snprintf(words, sizeof words, "rank %d of %d: ", last, ranks);
		if (ranks > 1 && strncmp(iso_message(), words, strlen(words)) != 0)
			fail_msg("%s: '%s' does not begin with '%s'", made_by_hand[which].name, iso_message(),
			         words);
		failed = 1;
	} else {
		OK(iso_comm_max(ctx, ISO_OK, &failed, 1)); /* operators may do without */
	}
	iso_op_free(op);
	iso_ctx_free(ctx);
	return failed > 0;
}

static void nobody_waits(void **state)
{
	(void)state;
#ifdef SANITIZED
	return; /* no allocation of theirs can be made to fail */
#endif
	const struct iso_rings on = { 20, 1, 5, M_PI / 2, 1, .1, 2 * M_PI / 5 };

	transducers = (struct iso_transducers){
		.speed = 1.5, .dt_us = .1, .first_us = 5, .samples = 120, .gamma = 1
	};
	OK(iso_transducers_rings(&transducers, &on));
	for (int i = 0; i < N_OF(made_by_hand); i++) {
		int failures = 0;

		for (long at = 1; make_short(i, at); at += 1 + at / 4) failures++;
		print_message("%s: %d failed\n", made_by_hand[i].name, failures);
		assert_true(failures > 1);
	}
	assert_true(given > 0);
	assert_int_equal(given, freed);
	iso_transducers_free(&transducers);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(nobody_waits) };

	alarm(LIMIT_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
