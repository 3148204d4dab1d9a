/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring the CPU's rates of memory accesses. */
#include "limits.h"

#include "core/status.h"
#include "core/progress.h"
#include "core/size.h"

#define WORDS (1 << 22)  /* accesses of each thread in one measurement */
#define REPEATS 3        /* the best of them counts */
#define LEAST_WORDS 1024 /* of a thread's set; beyond the most, all is beyond the caches */
#define MOST_WORDS (1 << 24)
#define TRIAD_WORDS (1ll << 24) /* of each of the three arrays: beyond any cache */

/* A step of a 32-bit congruential sequence (Numerical Recipes' constants): as cheap as a random
   address can be. */
static inline uint32_t next(uint32_t s)
{
	return s * 1664525u + 1013904223u;
}

/* Memory that is there: pages of zeros only would all be one. */
static float *make_set(int64_t words, int threads)
{
	float *v = size_alloc(words, sizeof *v);

#pragma omp parallel for num_threads(threads) schedule(static)
	for (int64_t i = 0; i < (v ? words : 0); i++) v[i] = 1;
	return v;
}

/* Pieces begin anywhere that leaves room for them. */
static float load_pieces(const float *set, uint32_t words, int run, uint32_t seed)
{
	float sum[4] = { 0 };
	uint32_t s = seed;

	for (int i = 0; i < WORDS / run; i++) {
		const float *piece = set + (((uint64_t)s * (words - (uint32_t)run)) >> 32);

		s = next(s);
		for (int k = 0; k < run; k += 4)
			for (int j = 0; j < 4; j++) sum[j] += piece[k + j];
	}
	return sum[0] + sum[1] + sum[2] + sum[3];
}

static void add_pieces(float *set, uint32_t words, int run, uint32_t seed)
{
	uint32_t s = seed;

	for (int i = 0; i < WORDS / run; i++) {
		float *piece = set + (((uint64_t)s * (words - (uint32_t)run)) >> 32);

		s = next(s);
		for (int k = 0; k < run; k++) piece[k] += 1;
	}
}

/* Words a second over all threads, the best of the repeats. Loads share one image, as tracers do;
   adds go to an image for each thread. */
static double rate(float *set, uint32_t words, int threads, int run, bool add)
{
	double best = 0, sum = 0;

	for (int r = 0; r < REPEATS; r++) {
		double start_s = iso_now_s();

#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : sum)
		for (int t = 0; t < threads; t++) {
			uint32_t seed = next((uint32_t)(t * REPEATS + r));

			if (add)
				add_pieces(set + (int64_t)t * words, words, run, seed);
			else
				sum += load_pieces(set, words, run, seed);
		}
		double now = (double)threads * WORDS / (iso_now_s() - start_s);

		best = now > best ? now : best;
	}
	return sum < 0 ? 0 : best; /* never; but the loads can't be left out */
}

/* a = b + s c, 12 bytes a word (as McCalpin's STREAM counts). */
static double triad(float *a, float *b, float *c, int64_t n, int threads)
{
	double best = 0;

	for (int r = 0; r < REPEATS; r++) {
		double start_s = iso_now_s();

#pragma omp parallel for num_threads(threads) schedule(static)
		for (int64_t i = 0; i < n; i++) a[i] = b[i] + 3 * c[i];
		double now = 3 * sizeof(float) * (double)n / (iso_now_s() - start_s);

		best = now > best ? now : best;
	}
	return best;
}

static int measure_triad(struct iso_limits *l, const iso_ctx *ctx)
{
	float *v = make_set(3 * TRIAD_WORDS, iso_ctx_threads(ctx));

	if (!v) return iso_fail_memory("limits", 3 * TRIAD_WORDS * (int64_t)sizeof *v);
	l->triad = triad(v, v + TRIAD_WORDS, v + 2 * TRIAD_WORDS, TRIAD_WORDS, iso_ctx_threads(ctx));
	free(v);
	return ISO_OK;
}

static int measure_cpu(struct iso_limits *l, const iso_ctx *ctx, int64_t bytes)
{
	int64_t words = bytes / (int64_t)sizeof(float), all;
	float *set;

	words = words < LEAST_WORDS ? LEAST_WORDS : words > MOST_WORDS ? MOST_WORDS : words;
	if (!size_mul(&all, words, iso_ctx_threads(ctx)) || !(set = make_set(all, iso_ctx_threads(ctx))))
		return iso_fail_memory("limits", words * iso_ctx_threads(ctx) * (int64_t)sizeof *set);
	*l = (struct iso_limits){
		.bytes = (double)words * sizeof *set,
		.load_8 = rate(set, (uint32_t)words, iso_ctx_threads(ctx), 8, false),
		.load_32 = rate(set, (uint32_t)words, iso_ctx_threads(ctx), 32, false),
		.add_8 = rate(set, (uint32_t)words, iso_ctx_threads(ctx), 8, true),
		.add_32 = rate(set, (uint32_t)words, iso_ctx_threads(ctx), 32, true),
	};
	free(set);
	return measure_triad(l, ctx);
}

int iso_limits_measure(struct iso_limits *l, iso_ctx *ctx, int64_t bytes)
{
	union {
		void *address;
		int (*measure)(struct iso_limits *l, iso_ctx *ctx);
	} cuda;
	int st;

	if (!iso_ctx_is_cuda(ctx)) return measure_cpu(l, ctx, bytes);
	if ((st = iso_bench_cuda(&cuda.address, "iso_limits_cuda"))) return st;
	return cuda.measure(l, ctx);
}

double iso_limits_visits_s(const struct iso_limits *l, double visits)
{
	return visits / l->load_8 + visits / l->add_8;
}
