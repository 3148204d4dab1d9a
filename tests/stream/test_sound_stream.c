/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames in real time: bits that depend on nothing but the frame, against the same iterations written out, and against
   the minimum that iso_fista finds. */
#include "test.h"

#include "algo/penalty_kern.h"
#include "algo/prox_kern.h"

enum { TRANS = 24, SAMPLES = 220, FRAMES = 5, ITERATIONS = 12 };

/* A ring about the origin, and traces of noise: nothing is known of them but their numbers. */
struct scan {
	struct iso_transducers t;
	struct iso_svoxel model;
	int16_t *frames; /* (FRAMES, TRANS, SAMPLES) */
	int64_t voxels;
};

static struct scan scan_of(int64_t nx, int64_t ny, int64_t nz)
{
	struct scan s = {
		.t = { .speed = 1.5, .dt_us = .05, .first_us = .3, .samples = SAMPLES, .gamma = 1 }
	};
	const struct iso_rings ring = { 6, 1, TRANS, M_PI / 2, .1, .1, 2 * M_PI / TRANS };
	uint32_t state = 1;

	OK(iso_transducers_rings(&s.t, &ring));
	s.frames = calloc((size_t)FRAMES * TRANS * SAMPLES, sizeof *s.frames);
	assert_non_null(s.frames);
	for (int i = 0; i < FRAMES * TRANS * SAMPLES; i++) {
		state = state * 1664525 + 1013904223;
		s.frames[i] = (int16_t)((int)(state >> 20) - 2048);
	}
	s.model = (struct iso_svoxel){ .size = sizeof s.model,
		                       .grid = { { nx, ny, nz }, { .25, .25, .25 }, { .1, 0, 0 } } };
	s.voxels = nx * ny * nz;
	return s;
}

static struct iso_svoxel model_of(struct scan *s, int batch)
{
	s->model.t = &s->t;
	OK(iso_svoxel_lines(&s->model, 3));
	struct iso_svoxel m = s->model;

	m.batch = batch;
	return m;
}

static void scan_free(struct scan *s)
{
	iso_transducers_free(&s->t);
	free(s->frames);
}

static struct iso_sound_stream_setup setup_of(const struct iso_svoxel *m, const char *penalty,
                                              double relative)
{
	return (struct iso_sound_stream_setup){ .size = sizeof(struct iso_sound_stream_setup),
		                                .model = m,
		                                .sample = ISO_SAMPLE_I16,
		                                .penalty = penalty,
		                                .relative = relative,
		                                .nonneg = true,
		                                .iterations = ITERATIONS };
}

/* Images of all frames, pushed `each` at a time; with `ahead` a push goes before the pull of the one before. */
static iso_real *images_of(iso_ctx *ctx, struct scan *s, const struct iso_sound_stream_setup *p, int each,
                           bool ahead, struct iso_sound_stream_info *info)
{
	iso_sound_stream *stream = NULL;
	iso_real *x = calloc((size_t)(FRAMES * s->voxels), sizeof *x), *to = x;
	int n = 0, pulled = 0;

	assert_non_null(x);
	OK(iso_sound_stream_create(&stream, ctx, p));
	for (int i = 0; i < FRAMES; i += each) {
		OK(iso_sound_stream_push(stream, s->frames + i * TRANS * SAMPLES,
		                         each < FRAMES - i ? each : FRAMES - i));
		if (ahead && i == 0) continue;
		OK(iso_sound_stream_pull(to, &n, stream));
		pulled += n;
		to += n * s->voxels;
	}
	if (ahead) {
		OK(iso_sound_stream_pull(to, &n, stream));
		pulled += n;
	}
	assert_int_equal(pulled, FRAMES);
	assert_int_not_equal(iso_sound_stream_pull(to, &n, stream), ISO_OK);
	if (info) OK(iso_sound_stream_look(info, stream));
	iso_sound_stream_free(stream);
	return x;
}

static const struct {
	const char *name;
	double relative, strength;
} kinds[] = { { NULL, 0, 0 }, { "tikhonov", .01, 0 }, { "quadratic", .02, 0 }, { "tv", 0, 3e3 } };

/* ---- bits ---- */

static const double accuracies[] = { 1e-6, 1e-3 }; /* of the wide kernels and of the narrow ones */

static void check_bits(iso_ctx *ctx)
{
	struct scan s = scan_of(18, 15, 1);

	for (int i = 0; i < N_OF(accuracies) * N_OF(kinds); i++) {
		int k = i / N_OF(accuracies);

		s.model.accuracy = accuracies[i % N_OF(accuracies)];
		struct iso_svoxel one = model_of(&s, 0);
		struct iso_sound_stream_setup p = setup_of(&one, kinds[k].name, kinds[k].relative);

		p.strength = kinds[k].strength;
		iso_real *want = images_of(ctx, &s, &p, 1, false, NULL);

		for (int batch = 1; batch <= 4; batch++) {
			struct iso_svoxel m = model_of(&s, batch);

			p.model = &m;
			iso_real *got = images_of(ctx, &s, &p, batch, true, NULL);

			assert_memory_equal(got, want, (size_t)(FRAMES * s.voxels) * sizeof *got);
			free(got);
		}
		free(want);
	}
	scan_free(&s);
}

static void bits(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_bits(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_bits, check_bits)

/* ---- the same iterations written out ---- */

struct reference {
	struct penalty penalty;
	struct prox prox;
	double slope, mu;
	int iterations;
};

static void add_penalty(const struct reference *r, iso_real *g, const iso_real *z)
{
	const int64_t *n = r->prox.n;

	for (int64_t v = 0; r->mu > 0 && v < prox_voxels(&r->prox); v++)
		g[v] -= (iso_real)r->mu *
		        penalty_at(&r->penalty, z, v % n[0], v / n[0] % n[1], v / n[0] / n[1]);
}

static void iterate(iso_ctx *ctx, const struct reference *r, iso_op *op, iso_real *x, const iso_real *u)
{
	int64_t n = iso_op_n_in(op), rows = iso_op_n_out(op);
	iso_real *z = calloc((size_t)n, sizeof *z), *g = calloc((size_t)n, sizeof *g);
	iso_real *next = calloc((size_t)n, sizeof *next), *dual = calloc(3 * (size_t)n, sizeof *dual);
	iso_real *e = calloc((size_t)rows, sizeof *e);
	double theta = 1;

	memcpy(z, x, (size_t)n * sizeof *z);
	for (int k = 0; k < r->iterations; k++) {
		double after = (1 + sqrt(1 + 4 * theta * theta)) / 2, beta = (theta - 1) / after;

		OK(iso_forward(e, op, ISO_ALL, z));
		for (int64_t i = 0; i < rows; i++) e[i] = u[i] - e[i];
		OK(iso_adjoint(g, op, ISO_ALL, e));
		add_penalty(r, g, z);
		for (int64_t v = 0; v < n; v++) g[v] = (iso_real)(z[v] + g[v] / r->slope);
		OK(iso_prox_apply(next, ctx, &r->prox, 10, dual, g));
		for (int64_t v = 0; v < n; v++) z[v] = (iso_real)(next[v] + beta * (next[v] - x[v]));
		memcpy(x, next, (size_t)n * sizeof *x);
		theta = after;
	}
	free(z);
	free(g);
	free(next);
	free(dual);
	free(e);
}

static iso_real *spectra_of(iso_ctx *ctx, const struct iso_svoxel *m, const int16_t *frame)
{
	iso_real *u = calloc((size_t)(2 * m->lines * TRANS), sizeof *u);
	iso_real *traces = calloc(TRANS * SAMPLES, sizeof *traces);

	for (int i = 0; i < TRANS * SAMPLES; i++) traces[i] = frame[i];
	OK(iso_svoxel_spectra(u, ctx, m, traces));
	free(traces);
	return u;
}

/* Frame i by the iterations above, on the CPU. */
static iso_real *written_out(struct scan *s, const struct iso_sound_stream_setup *p, double eigenvalue, int i)
{
	iso_ctx *ctx = cpu(2);
	struct iso_svoxel m = model_of(s, 0);
	const int64_t *n = m.grid.n;
	bool size = p->penalty && strcmp(p->penalty, "tikhonov") == 0;
	struct reference r = { .penalty = { size ? PENALTY_SIZE : PENALTY_SMOOTHNESS, { n[0], n[1], n[2] } },
		               .prox = { { n[0], n[1], n[2] }, 0, p->nonneg },
		               .mu = p->relative * eigenvalue,
		               .iterations = p->iterations };
	iso_real *x = calloc((size_t)s->voxels, sizeof *x);
	iso_real *u = spectra_of(ctx, &m, s->frames + i * TRANS * SAMPLES);
	iso_op *op = NULL;

	r.slope = eigenvalue + r.mu * (size ? 1 : 4 * (n[0] > 1) + 4 * (n[1] > 1) + 4 * (n[2] > 1));
	r.prox.lambda = p->strength / (2 * r.slope);
	OK(iso_svoxel_create(&op, ctx, &m));
	iterate(ctx, &r, op, x, u);
	iso_op_free(op);
	iso_ctx_free(ctx);
	free(u);
	return x;
}

static void check_written_out(iso_ctx *ctx)
{
	const int64_t sizes[][3] = { { 18, 15, 1 }, { 7, 6, 5 } };

	for (int i = 0; i < N_OF(sizes) * N_OF(kinds); i++) {
		struct scan s = scan_of(sizes[i % 2][0], sizes[i % 2][1], sizes[i % 2][2]);

		s.model.accuracy = accuracies[i / 2 % N_OF(accuracies)];
		struct iso_svoxel m = model_of(&s, 2);
		struct iso_sound_stream_setup p = setup_of(&m, kinds[i / 2].name, kinds[i / 2].relative);
		struct iso_sound_stream_info info = { .size = sizeof info };

		p.strength = kinds[i / 2].strength;
		p.nonneg = i % 3 != 0;
		iso_real *got = images_of(ctx, &s, &p, 2, false, &info);
		iso_real *want = written_out(&s, &p, info.eigenvalue, 2);

		BELOW(relative_difference(s.voxels, got + 2 * s.voxels, want), TOLERANCE(3e-4, 1e-9));
		assert_int_equal(info.frames, FRAMES);
		assert_int_equal(info.voxels, s.voxels);
		if (iso_ctx_is_cuda(ctx)) assert_true(info.graph);
		for (int64_t v = 0; p.nonneg && v < FRAMES * s.voxels; v++) assert_true(got[v] >= 0);
		free(got);
		free(want);
		scan_free(&s);
	}
}

static void written(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_written_out(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_written, check_written_out)

/* ---- the minimum ---- */

/* Many iterations of both end at the same image: that of the least penalised squares. */
static void minimum(void **state)
{
	iso_ctx *ctx = cpu(2);
	struct scan s = scan_of(14, 12, 1);
	struct iso_svoxel m = model_of(&s, 0);
	struct iso_sound_stream_setup p = setup_of(&m, "tikhonov", .05);
	struct iso_sound_stream_info info = { .size = sizeof info };
	struct iso_fista f = {
		.size = sizeof f, .grid = m.grid, .nonneg = true, .iterations = 300, .tv_steps = 1
	};
	iso_real *x = calloc((size_t)s.voxels, sizeof *x);

	(void)state;
	p.iterations = 300;
	iso_real *got = images_of(ctx, &s, &p, 1, false, &info);
	iso_real *u = spectra_of(ctx, &m, s.frames);

	OK(iso_svoxel_create(&f.op, ctx, &m));
	OK(iso_penalty_create(&f.penalty, ctx, "tikhonov", &m.grid));
	f.mu = info.mu;
	f.y = u;
	OK(iso_fista_run(x, NULL, &f, NULL));
	BELOW(relative_difference(s.voxels, got, x), 1e-3);
	NEAR(info.mu, .05 * info.eigenvalue, 1e-6 * info.mu);
	iso_op_free(f.op);
	iso_op_free(f.penalty);
	free(got);
	free(u);
	free(x);
	scan_free(&s);
	iso_ctx_free(ctx);
}

/* ---- warm starts, kinds of samples, refusals ---- */

/* Of one wavelength: frame 1 begins at the image of frame 0. Of two in turn: frame 2 does. */
static void check_warm(iso_ctx *ctx)
{
	for (int wavelengths = 1; wavelengths <= 2; wavelengths++) {
		struct scan s = scan_of(14, 12, 1);
		struct iso_svoxel m = model_of(&s, 0);
		struct iso_sound_stream_setup p = setup_of(&m, "tikhonov", .05);
		size_t bytes = (size_t)s.voxels * sizeof(iso_real),
		       frame = TRANS * SAMPLES * sizeof *s.frames;
		size_t first = 0, again = (size_t)wavelengths;

		/* the same data twice, cold: the same image; warm: one more step towards the minimum */
		memcpy(s.frames + again * TRANS * SAMPLES, s.frames, frame);
		p.wavelengths = wavelengths;
		iso_real *cold = images_of(ctx, &s, &p, 1, false, NULL);

		p.warm = true;
		iso_real *warm = images_of(ctx, &s, &p, 1, false, NULL);

		assert_memory_equal(cold + first, warm + first, bytes);
		assert_memory_equal(cold, cold + again * (size_t)s.voxels, bytes);
		assert_memory_not_equal(warm, warm + again * (size_t)s.voxels, bytes);
		p.iterations = 300;
		p.warm = false;
		iso_real *end = images_of(ctx, &s, &p, 1, false, NULL);

		BELOW(relative_difference(s.voxels, warm + again * (size_t)s.voxels, end),
		      .8 * relative_difference(s.voxels, warm, end));
		free(cold);
		free(warm);
		free(end);
		scan_free(&s);
	}
}

static void warm(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_warm(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_warm, check_warm)

/* The same numbers as float, int16 and, shifted above 0, uint16 against float. */
static void check_samples(iso_ctx *ctx)
{
	struct scan s = scan_of(14, 12, 1);
	struct iso_svoxel m = model_of(&s, 0);
	struct iso_sound_stream_setup p = setup_of(&m, NULL, 0);
	float *v = calloc(TRANS * SAMPLES, sizeof *v);
	uint16_t *w = calloc(TRANS * SAMPLES, sizeof *w);
	iso_real *x[4];

	for (int i = 0; i < 4; i++) {
		iso_sound_stream *stream = NULL;
		const void *frames[] = { s.frames, v, w, v };
		const enum iso_sample sample[] = { ISO_SAMPLE_I16, ISO_SAMPLE_F32, ISO_SAMPLE_U16,
			                           ISO_SAMPLE_F32 };
		int n = 0;

		for (int k = 0; k < TRANS * SAMPLES; k++) {
			w[k] = (uint16_t)(s.frames[k] + 40000);
			v[k] = i < 2 ? s.frames[k] : w[k];
		}
		p.sample = sample[i];
		x[i] = calloc((size_t)s.voxels, sizeof *x[i]);
		OK(iso_sound_stream_create(&stream, ctx, &p));
		OK(iso_sound_stream_push(stream, frames[i], 1));
		OK(iso_sound_stream_pull(x[i], &n, stream));
		if (sample[i] == ISO_SAMPLE_F32) {
			v[77] = NAN;
			assert_int_equal(iso_sound_stream_push(stream, v, 1), ISO_EINPUT);
		}
		iso_sound_stream_free(stream);
	}
	assert_memory_equal(x[0], x[1], (size_t)s.voxels * sizeof(iso_real));
	assert_memory_equal(x[2], x[3], (size_t)s.voxels * sizeof(iso_real));
	assert_memory_not_equal(x[0], x[2], (size_t)s.voxels * sizeof(iso_real));
	for (int i = 0; i < 4; i++) free(x[i]);
	free(v);
	free(w);
	scan_free(&s);
}

static void samples(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_samples(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_samples, check_samples)

static void refused(void **state)
{
	iso_ctx *ctx = cpu(1);
	struct scan s = scan_of(5, 4, 1);
	struct iso_svoxel m = model_of(&s, 0);
	const struct iso_sound_stream_setup good = setup_of(&m, "tikhonov", .05);
	struct iso_sound_stream_setup bad[7] = { good, good, good, good, good, good, good };
	iso_sound_stream *stream = NULL;
	iso_real x[20];
	int n = 0;

	(void)state;
	bad[0].penalty = "nothing";
	bad[1].strength = 1; /* two strengths */
	bad[2].relative = -1;
	bad[3].iterations = -1;
	bad[4].sample = 7;
	bad[5].penalty = "tv"; /* has no relative strength */
	bad[6].relative = NAN;
	for (int i = 0; i < N_OF(bad); i++) {
		assert_int_equal(iso_sound_stream_create(&stream, ctx, &bad[i]), ISO_EARG);
		assert_null(stream);
	}
	OK(iso_sound_stream_create(&stream, ctx, &good));
	assert_int_equal(iso_sound_stream_pull(x, &n, stream), ISO_EARG);
	assert_int_equal(iso_sound_stream_push(stream, s.frames, 2), ISO_EARG);
	assert_int_equal(iso_sound_stream_push(stream, s.frames, 0), ISO_EARG);
	OK(iso_sound_stream_push(stream, s.frames, 1));
	OK(iso_sound_stream_push(stream, s.frames, 1));
	assert_int_equal(iso_sound_stream_push(stream, s.frames, 1), ISO_EBUSY);
	OK(iso_sound_stream_pull(x, &n, stream));
	OK(iso_sound_stream_push(stream, s.frames, 1));
	iso_ctx_cancel(ctx);
	OK(iso_sound_stream_pull(x, &n, stream));
	assert_int_equal(iso_sound_stream_push(stream, s.frames, 1), ISO_ECANCEL);
	iso_sound_stream_free(stream); /* with a push that was not pulled */
	scan_free(&s);
	iso_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bits),         cmocka_unit_test(cuda_bits), cmocka_unit_test(written),
		cmocka_unit_test(cuda_written), cmocka_unit_test(minimum),   cmocka_unit_test(warm),
		cmocka_unit_test(cuda_warm),    cmocka_unit_test(samples),   cmocka_unit_test(cuda_samples),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
