/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel against reference vectors of an independent float64 program (tests/data/oat/sph) and
   against its own direct sums; also built in double, for its float64 tolerances. */
#include "oat_vectors.h"

enum { NX = 14, NY = 12, NZ = 16, VOXELS = NX * NY * NZ, TRANS = 3, LINES = 64 };

/* The vectors are in alpha = (6/pi) A. */
static const double to_energy = M_PI / 6;

static struct iso_transducers transducers(void)
{
	struct iso_transducers t = {
		.n = TRANS, .speed = 1.54, .dt_us = .1, .samples = 200, .gamma = 2000, .radius = 1,
		.pos = vector("sph/transducers", 3 * TRANS), .normal = vector("sph/normals", 3 * TRANS),
		.ex = calloc(3 * TRANS, sizeof(double)), .ey = calloc(3 * TRANS, sizeof(double)),
		.aperture = calloc(2 * TRANS, sizeof(double)),
	};

	for (int q = 0; q < TRANS; q++) {
		iso_transducer_frame(t.ex + 3 * q, t.ey + 3 * q, t.normal + 3 * q);
		t.aperture[2 * q] = 2;
		t.aperture[2 * q + 1] = 1.5;
	}
	return t;
}

static struct iso_svoxel sph(const struct iso_transducers *t, enum iso_sir sir,
			     enum iso_svoxel_transform transform)
{
	return (struct iso_svoxel){ .t = t, .grid = cubes(NX, NY, NZ, .2, -1.4, -1.2, -1.5),
				    .first_line = 1, .lines = LINES, .df_mhz = .078125, .sir = sir,
				    .transform = transform };
}

/* Forward and adjoint of one way to do it; NULL: there is no reference. */
struct way {
	enum iso_sir sir;
	enum iso_svoxel_transform transform;
	int width;
	const char *forward, *adjoint;
	double tolerance;	/* of the vectors */
	double transpose;	/* of the adjoint test */
};

static void against_vectors(iso_ctx *ctx, const struct way *w)
{
	struct iso_transducers t = transducers();
	double *eir = vector("sph/he_f", 2 * LINES);
	struct iso_svoxel p = sph(&t, w->sir, w->transform);
	iso_real *x = scaled_vector("sph/alpha", VOXELS, to_energy);
	iso_real *u = scaled_vector(w->forward, 2 * TRANS * LINES, 1);
	iso_real *v = scaled_vector("sph/v_in", 2 * TRANS * LINES, 1);
	iso_op *op = NULL;
	double err;

	p.eir = eir;
	p.width = w->width;
	OK(iso_svoxel_create(&op, ctx, &p));
	BELOW(compare(op, false, x, u), w->tolerance);
	if (w->adjoint) {
		iso_real *back = scaled_vector(w->adjoint, VOXELS, 1 / to_energy);

		BELOW(compare(op, true, v, back), w->tolerance);
		free(back);
	}
	OK(iso_test_adjoint(&err, op, ISO_ALL, 1));
	BELOW(err, w->transpose);
	iso_op_free(op);
	iso_transducers_free(&t);
	free(eir);
	free(x);
	free(u);
	free(v);
}

static const struct way direct_ways[] = {
	{ ISO_SIR_POINT, ISO_SVOXEL_DIRECT, 0, "sph/u_point", "sph/adj_point",
	  TOLERANCE(5e-5, 1e-11), TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_RECT, ISO_SVOXEL_DIRECT, 0, "sph/u_far", "sph/adj_far",
	  TOLERANCE(5e-5, 1e-11), TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_NEAR, ISO_SVOXEL_DIRECT, 0, "sph/u_near", NULL,
	  TOLERANCE(5e-5, 1e-8), TOLERANCE(1e-6, 1e-12) },
};

static const struct way fast_ways[] = {
	{ ISO_SIR_POINT, ISO_SVOXEL_NUFFT, 0, "sph/u_point", "sph/adj_point",
	  TOLERANCE(5e-6, 3e-6), TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_POINT, ISO_SVOXEL_NUFFT, 4, "sph/u_point", "sph/adj_point",
	  2e-3, TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_POINT, ISO_SVOXEL_NUFFT, 8, "sph/u_point", "sph/adj_point",
	  TOLERANCE(5e-6, 3e-7), TOLERANCE(1e-6, 1e-12) },
	{ ISO_SIR_RECT, ISO_SVOXEL_NUFFT, 7, "sph/u_far", "sph/adj_far",
	  TOLERANCE(1e-4, 5e-5), TOLERANCE(1e-5, 1e-12) },
	{ ISO_SIR_RECT, ISO_SVOXEL_NUFFT, 8, "sph/u_far", "sph/adj_far",
	  TOLERANCE(5e-5, 5e-6), TOLERANCE(1e-5, 1e-12) },
	{ ISO_SIR_NEAR, ISO_SVOXEL_NUFFT, 0, "sph/u_near", NULL,
	  TOLERANCE(5e-6, 3e-6), TOLERANCE(1e-6, 1e-12) },
};

static void direct_sums(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	for (int i = 0; i < N_OF(direct_ways); i++)
		against_vectors(ctx, &direct_ways[i]);
	iso_ctx_free(ctx);
}

static void check_fast(iso_ctx *ctx)
{
	for (int i = 0; i < N_OF(fast_ways); i++)
		against_vectors(ctx, &fast_ways[i]);
}

static void fast(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_fast(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_fast, check_fast)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(direct_sums),
		cmocka_unit_test(fast),
		cmocka_unit_test(cuda_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
