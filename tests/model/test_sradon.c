/* SPDX-License-Identifier: BSD-3-Clause */
/* Model sradon against reference vectors of an independent float64 program (tests/data/oat/srt);
   also built in double, for its float64 tolerances. */
#include "oat_vectors.h"

#include <malloc.h>

enum {
	NX = 18,
	NY = 16,
	NZ = 20,
	VOXELS = NX * NY * NZ,
	TRANS = 12,
	SAMPLES = 110,
	DATA = TRANS * SAMPLES,
	EIR = 40
};

static struct iso_transducers transducers(void)
{
	const struct iso_rings r = { 20, 3, 4, .5, .9, .2, M_PI / 2 };
	struct iso_transducers t = { .speed = 1.54,
		                     .dt_us = .05,
		                     .first_us = 10.2,
		                     .samples = SAMPLES,
		                     .gamma = 2000,
		                     .n_eir = EIR,
		                     .eir = vector("srt/h_e", EIR) };

	OK(iso_transducers_rings(&t, &r));
	return t;
}

static struct iso_sradon srt(const struct iso_transducers *t, enum iso_sradon_sampling sampling,
                             enum iso_sradon_adjoint adjoint)
{
	return (struct iso_sradon){ .size = sizeof(struct iso_sradon),
		                    .t = t,
		                    .grid = cubes(NX, NY, NZ, .3, -2.7, -2.1, -3.0),
		                    .sampling = sampling,
		                    .adjoint = adjoint };
}

/* An operator against what it makes of one vector, and its adjoint of another. */
static void pair(iso_op *op, const char *x, const char *y, const char *u, const char *v, double tolerance)
{
	iso_real *in = scaled_vector(x, iso_op_n_in(op), 1);
	iso_real *out = scaled_vector(y, iso_op_n_out(op), 1);
	iso_real *from = scaled_vector(u, iso_op_n_out(op), 1);
	iso_real *to = scaled_vector(v, iso_op_n_in(op), 1);
	double err;

	BELOW(compare(op, false, in, out), tolerance);
	BELOW(compare(op, true, from, to), tolerance);
	OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
	BELOW(err, TOLERANCE(1e-6, 1e-12));
	iso_op_free(op);
	free(in);
	free(out);
	free(from);
	free(to);
}

static void check_integrals(iso_ctx *ctx)
{
	static const char *const forward[] = { "srt/g_midpoint", "srt/g_alg4" };
	static const char *const adjoint[] = { "srt/adj_midpoint", "srt/adj_alg4" };
	struct iso_transducers t = transducers();

	for (int way = 0; way < 4; way++) {
		enum iso_sradon_sampling sampling = way / 2 ? ISO_SRADON_ALG4 : ISO_SRADON_MIDPOINT;
		struct iso_sradon p = srt(&t, sampling, way % 2 ? ISO_SRADON_GATHER : ISO_SRADON_SCATTER);
		iso_op *op = NULL;

		OK(iso_sradon_integrals(&op, ctx, &p));
		pair(op, "srt/alpha", forward[sampling], "srt/g_in", adjoint[sampling],
		     TOLERANCE(2e-5, 1e-10));
	}
	iso_transducers_free(&t);
}

static void check_time(iso_ctx *ctx)
{
	struct iso_transducers t = transducers();
	iso_op *d = NULL, *he = NULL;

	OK(iso_sradon_derivative(&d, ctx, &t));
	pair(d, "srt/g_midpoint", "srt/p_int", "srt/g_in", "srt/D_adj_g_in", TOLERANCE(1e-5, 1e-12));
	OK(iso_sradon_response(&he, ctx, &t));
	pair(he, "srt/p_int", "srt/u_int", "srt/g_in", "srt/He_adj_g_in", TOLERANCE(1e-5, 1e-12));
	iso_transducers_free(&t);
}

static void check_chain(iso_ctx *ctx)
{
	struct iso_transducers t = transducers();
	struct iso_sradon p = srt(&t, ISO_SRADON_MIDPOINT, ISO_SRADON_AUTO);
	iso_op *op = NULL;

	OK(iso_sradon_create(&op, ctx, &p));
	pair(op, "srt/alpha", "srt/u_int", "srt/g_in", "srt/H_adj_g_in", TOLERANCE(2e-5, 1e-10));
	iso_transducers_free(&t);
}

static void integrals(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_integrals(ctx);
	iso_ctx_free(ctx);
}

static void in_time(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_time(ctx);
	iso_ctx_free(ctx);
}

static void chain(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_chain(ctx);
	iso_ctx_free(ctx);
}

static void refusals(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct iso_transducers t = transducers();
	struct iso_sradon p = srt(&t, ISO_SRADON_MIDPOINT, ISO_SRADON_AUTO);
	iso_op *op = NULL;

	(void)state;
	p.grid.voxel[1] = .4;
	REFUSED(iso_sradon_create(&op, ctx, &p), ISO_EARG, "must be cubes");
	p.grid = cubes(140, 140, 140, .3, -21, -21, -21);
	REFUSED(iso_sradon_create(&op, ctx, &p), ISO_EINPUT, "inside of the image");
	t.n_eir = 0;
	free(t.eir);
	t.eir = NULL;
	REFUSED(iso_sradon_response(&op, ctx, &t), ISO_EARG, "no impulse response");
	t.speed = 0;
	p.grid = cubes(NX, NY, NZ, .3, -2.7, -2.1, -3.0);
	assert_int_equal(iso_sradon_create(&op, ctx, &p), ISO_EARG);
	iso_transducers_free(&t);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_integrals, check_integrals)
CUDA_TEST(cuda_time, check_time)
CUDA_TEST(cuda_chain, check_chain)

/* The plan against what the operator takes from the heap; the sanitizers' heap tells nothing. */
static void memory(void **state)
{
	for (int eir = 0; eir < 2; eir++) {
		struct iso_transducers t = transducers();
		struct iso_sradon q = { .size = sizeof q,
			                .t = &t,
			                .grid = cubes(60, 50, 70, .1, -3, -2.5, -3.5) };
		struct iso_plan plan = { 0 };
		struct mallinfo2 before, after;
		iso_ctx *ctx = NULL;
		iso_op *op = NULL;
		int64_t host, device;

		(void)state;
		if (!eir) {
			free(t.eir);
			t.eir = NULL;
			t.n_eir = 0;
		}
		OK(iso_ctx_create(&ctx, "cpu", 2));
		iso_sradon_plan(&plan, ctx, &q);
		iso_plan_total(&host, &device, &plan);
		iso_plan_free(&plan);
		before = mallinfo2();
		OK(iso_sradon_create(&op, ctx, &q));
		after = mallinfo2();
		double held =
			(double)(after.uordblks + after.hblkhd) - (double)(before.uordblks + before.hblkhd);

		assert_true((double)host >= .95 * held);
		assert_true(held <= 0 || (double)host <= 1.3 * held);
		iso_op_free(op);
		iso_transducers_free(&t);
		iso_ctx_free(ctx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integrals), cmocka_unit_test(in_time),    cmocka_unit_test(chain),
		cmocka_unit_test(refusals),  cmocka_unit_test(memory),     cmocka_unit_test(cuda_integrals),
		cmocka_unit_test(cuda_time), cmocka_unit_test(cuda_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
