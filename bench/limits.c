/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring the CPU's rates: of memory accesses, of loads from the first-level cache, of float
   operations, of files read. */
#define _GNU_SOURCE /* O_TMPFILE */
#include "limits.h"

#include "base/constants.h"
#include "core/loop/box.h"
#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"
#include "file/in.h"
#include "file/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPEATS 3          /* the best of them counts */
#define ACCESSES (1 << 22) /* of each thread in one measurement */
#define LEAST_WORDS 1024   /* of a thread's set; beyond the most, all is beyond the caches */
#define MOST_WORDS (1 << 24)
#define TRIAD_WORDS (1ll << 24) /* of each of the three arrays: beyond any cache */
#define ARITHMETIC_ROUNDS 1000000
#define CACHE_ROUNDS 20000
#define FILE_PIECE (1ll << 20) /* bytes that a thread reads at a time */
#define FILE_BYTES (1ll << 30) /* beyond any cache of the processor */

/* One register. The chains, independent of one another, are more than a core has in flight, and few
   enough for the compiler to keep them all in registers. */
#if defined(__AVX512F__)
enum { LANES = 16, CACHE_CHAINS = 8 };
#elif defined(__AVX__)
enum { LANES = 8, CACHE_CHAINS = 8 };
#else
enum { LANES = 4, CACHE_CHAINS = 16 };
#endif

enum { CHAINS = 12, CACHE_WORDS = 4096 }; /* 16 KB: held by any first-level cache */

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

/* What threads work on; loads share one set, as tracers do, adds go to a set for each thread. */
struct set {
	float *v;
	int64_t words; /* of a thread */
	int threads, run;
};

/* Does the share of thread t in repeat r; a number that depends on all of it, and is not below 0. */
typedef float work_fn(const struct set *s, int t, int r);

/* Units a second over all threads, each of which does `units`. */
static double best_rate(const struct set *s, double units, work_fn *work)
{
	double best = 0, sum = 0;

	for (int r = 0; r < REPEATS; r++) {
		double start_s = iso_now_s();

#pragma omp parallel for num_threads(s->threads) schedule(static, 1) reduction(+ : sum)
		for (int t = 0; t < s->threads; t++) sum += work(s, t, r);
		best = fmax(best, units * s->threads / (iso_now_s() - start_s));
	}
	return sum < 0 ? 0 : best; /* never; but the work can't be left out */
}

/* ---- memory ---- */

/* A step of a 32-bit congruential sequence (Numerical Recipes' constants): as cheap as a random
   address can be. */
static inline uint32_t next(uint32_t s)
{
	return s * 1664525u + 1013904223u;
}

/* Pieces begin anywhere that leaves room for them. */
static float load_pieces(const struct set *s, int t, int r)
{
	const uint32_t room = (uint32_t)(s->words - s->run);
	uint32_t at = next((uint32_t)(t * REPEATS + r));
	const int run = s->run;
	float sum[4] = { 0 };

	for (int i = 0; i < ACCESSES / run; i++, at = next(at)) {
		const float *piece = s->v + (((uint64_t)at * room) >> 32);

		for (int k = 0; k < run; k += 4)
			for (int j = 0; j < 4; j++) sum[j] += piece[k + j];
	}
	return sum[0] + sum[1] + sum[2] + sum[3];
}

static float add_pieces(const struct set *s, int t, int r)
{
	const uint32_t room = (uint32_t)(s->words - s->run);
	uint32_t at = next((uint32_t)(t * REPEATS + r));
	float *mine = s->v + t * s->words;
	const int run = s->run;

	for (int i = 0; i < ACCESSES / run; i++, at = next(at)) {
		float *piece = mine + (((uint64_t)at * room) >> 32);

		for (int k = 0; k < run; k++) piece[k] += 1;
	}
	return 0;
}

/* a = b + s c, 12 bytes a word (as McCalpin's STREAM counts). */
static float triad(const struct set *s, int t, int r)
{
	const int64_t n = TRIAD_WORDS, end = n * (t + 1) / s->threads;
	float *a = s->v, *b = a + n, *c = b + n;

	(void)r;
	for (int64_t i = n * t / s->threads; i < end; i++) a[i] = b[i] + 3 * c[i];
	return 0;
}

/* Memory that is there: pages of zeros only would all be one. */
static int make_set(struct set *s, int64_t words)
{
	if (!(s->v = size_alloc(words, sizeof *s->v)))
		return iso_fail_memory("limits", words * (int64_t)sizeof *s->v);
#pragma omp parallel for num_threads(s->threads) schedule(static)
	for (int64_t i = 0; i < words; i++) s->v[i] = 1;
	return ISO_OK;
}

static double piece_rate(struct set *s, int run, work_fn *work)
{
	s->run = run;
	return best_rate(s, ACCESSES, work);
}

static int measure_cpu(struct iso_limits *l, iso_ctx *ctx, int64_t bytes)
{
	const int64_t words = bytes / (int64_t)sizeof(float);
	const int threads = iso_ctx_threads(ctx);
	struct set s = { .threads = threads };
	int st;

	s.words = words < LEAST_WORDS ? LEAST_WORDS : words > MOST_WORDS ? MOST_WORDS : words;
	if ((st = make_set(&s, s.words * threads))) return st;
	l->bytes = (double)s.words * sizeof *s.v;
	l->load_8 = piece_rate(&s, 8, load_pieces);
	l->load_32 = piece_rate(&s, 32, load_pieces);
	l->add_8 = piece_rate(&s, 8, add_pieces);
	l->add_32 = piece_rate(&s, 32, add_pieces);
	free(s.v);
	if ((st = make_set(&s, 3 * TRIAD_WORDS))) return st;
	l->triad = best_rate(&s, 3. * sizeof *s.v * TRIAD_WORDS / threads, triad);
	free(s.v);
	return ISO_OK;
}

/* ---- registers and the first-level cache ---- */

static float sum_of(const lanes *x, int n)
{
	float sum = 0;

	for (int k = 0; k < n; k++)
		for (int i = 0; i < LANES; i++) sum += x[k][i];
	return sum;
}

/* x = x m + c in every lane, which stays near c / (1 - m). */
static float spin(const struct set *s, int t, int r)
{
	const lanes m = (lanes){ 0 } + .5f, c = (lanes){ 0 } + 1;
	lanes x[CHAINS];

	(void)s;
	for (int k = 0; k < CHAINS; k++) x[k] = (lanes){ 0 } + (float)(1 + t + r + k);
	for (int i = 0; i < ARITHMETIC_ROUNDS; i++)
		for (int k = 0; k < CHAINS; k++) x[k] = x[k] * m + c;
	return sum_of(x, CHAINS);
}

/* The empty statement may have changed the words, for all that the compiler knows: it loads them
   in every round. */
static float load_all(const struct set *s, int t, int r)
{
	float set[CACHE_WORDS] __attribute__((aligned(64)));
	lanes sum[CACHE_CHAINS] = { { 0 } };

	(void)s;
	for (int i = 0; i < CACHE_WORDS; i++) set[i] = (float)(1 + t + r);
	for (int i = 0; i < CACHE_ROUNDS; i++) {
		__asm__ volatile("" : : "r"(set) : "memory");
		for (int j = 0; j < CACHE_WORDS; j += CACHE_CHAINS * LANES)
			for (int k = 0; k < CACHE_CHAINS; k++)
				sum[k] += *(const lanes *)(set + j + k * LANES);
	}
	return sum_of(sum, CACHE_CHAINS);
}

/* ---- either device ---- */

int iso_bench_cuda(void **address, const char *name)
{
	return iso_cuda_symbol_in(address, "libisotome_bench_cuda.so", name);
}

int iso_limits_measure(struct iso_limits *l, iso_ctx *ctx, int64_t bytes)
{
	void *cuda;
	int st;

	if (!iso_ctx_is_cuda(ctx)) return measure_cpu(l, ctx, bytes);
	if ((st = iso_bench_cuda(&cuda, "iso_limits_cuda"))) return st;
	return ((__typeof__(&measure_cpu))cuda)(l, ctx, bytes);
}

/* `name` is of the function that measures the same on CUDA. */
static int measure_rate(double *per_s, iso_ctx *ctx, work_fn *work, double units, const char *name)
{
	void *cuda;
	int st;

	if (iso_ctx_is_cuda(ctx))
		return (st = iso_bench_cuda(&cuda, name)) ? st
		                                          : ((__typeof__(&iso_cache_rate))cuda)(per_s, ctx);
	*per_s = best_rate(&(struct set){ .threads = iso_ctx_threads(ctx) }, units, work);
	return ISO_OK;
}

int iso_arithmetic_rate(double *per_s, iso_ctx *ctx)
{
	return measure_rate(per_s, ctx, spin, 2. * ARITHMETIC_ROUNDS * CHAINS * LANES, "iso_arithmetic_cuda");
}

/* Where multiply-adds can be fused, one takes the time of one operation. */
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__aarch64__)
#	define OPERATION 1.
#else
#	define OPERATION .5
#endif

int iso_multiply_add_rate(double *per_s, iso_ctx *ctx)
{
	int st = iso_arithmetic_rate(per_s, ctx);

	if (!st) *per_s *= iso_ctx_is_cuda(ctx) ? 1 : OPERATION;
	return st;
}

int iso_cache_rate(double *bytes_per_s, iso_ctx *ctx)
{
	return measure_rate(bytes_per_s, ctx, load_all, (double)sizeof(float) * CACHE_ROUNDS * CACHE_WORDS,
	                    "iso_cache_cuda");
}

int iso_link_rate(double *bytes_per_s, iso_ctx *ctx)
{
	void *cuda;
	int st = iso_bench_cuda(&cuda, "iso_link_cuda");

	return st ? st : ((__typeof__(&iso_link_rate))cuda)(bytes_per_s, ctx);
}

/* ---- files ---- */

/* A file of FILE_BYTES without a name: nobody else can open it, and it goes with its descriptor. Where the
   file system has no such files, one that loses its name at once. */
static int open_unnamed(int *fd, const char *folder)
{
	char path[PATH_MAX];

	*fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*fd >= 0) return ISO_OK;
	if (snprintf(path, sizeof path, "%s/.isotome-XXXXXX", folder) < (int)sizeof path) {
		if ((*fd = mkstemp(path)) >= 0) unlink(path);
	} else {
		errno = ENAMETOOLONG;
	}
	return *fd >= 0 ? ISO_OK : iso_fail(ISO_EIO, "%s: %s", folder, strerror(errno));
}

static int fill_file(int fd, const char *folder, const char *piece)
{
	int st = ISO_OK;

	for (int64_t at = 0; at < FILE_BYTES && !st; at += FILE_PIECE)
		st = iso_write_at(folder, fd, piece, FILE_PIECE, at);
	return st;
}

/* Thread t takes every threads-th piece. Whether all of them were whole. */
static bool read_file(int fd, char *room, int threads)
{
	int64_t missing = 0;

#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : missing)
	for (int t = 0; t < threads; t++)
		for (int64_t at = t * FILE_PIECE; at < FILE_BYTES; at += threads * FILE_PIECE)
			missing += FILE_PIECE - iso_read_at(fd, room + t * FILE_PIECE, FILE_PIECE, at);
	return missing == 0;
}

int iso_file_rate(double *bytes_per_s, iso_ctx *ctx, const char *folder)
{
	const int threads = iso_ctx_threads(ctx);
	char *room = size_alloc(threads, FILE_PIECE);
	int fd = -1, st = room ? open_unnamed(&fd, folder) : iso_fail_memory("limits", threads * FILE_PIECE);

	*bytes_per_s = 0;
	if (!st) st = fill_file(fd, folder, room);
	for (int r = 0; r <= REPEATS && !st; r++) { /* the first touches the memory */
		double start_s = iso_now_s();

		if (!read_file(fd, room, threads))
			st = iso_fail(ISO_EIO, "%s: a file there can't be read back", folder);
		else if (r > 0)
			*bytes_per_s = fmax(*bytes_per_s, (double)FILE_BYTES / (iso_now_s() - start_s));
		if (!st) st = iso_ctx_poll(ctx);
	}
	if (fd >= 0) close(fd);
	free(room);
	return st;
}

/* ---- the work of an event: counted without tracing. A segment meets one voxel, and one more at every face
   that it crosses. Independent of the tracers, whose work it measures ---- */

/* Faces crossed on the way; one that the way begins or ends on is not crossed. */
static double faces_between(double from, double to)
{
	double low = fmin(from, to), high = fmax(from, to);

	return fmax(0, ceil(high - 1e-9) - floor(low + 1e-9) - 1);
}

static double visits(const struct iso_ray *p, const struct iso_event *e)
{
	double at[3], d[3], faces[3], t[2] = { 0, 1 }, square = 0;

	for (int a = 0; a < 3; a++) {
		double low = p->grid.centre[a] - .5 * (double)p->grid.n[a] * p->grid.voxel[a];
		double along = (double)e->p2[a] - e->p1[a];

		at[a] = (e->p1[a] - low) / p->grid.voxel[a];
		d[a] = along / p->grid.voxel[a];
		square += along * along;
	}
	if (!(square > 0) || !isfinite(square)) return 0;
	if (p->tof_fwhm_ps > 0 && p->tof_truncate > 0) {
		double sigma = p->tof_fwhm_ps * ISO_C_MM_PER_PS / 2 / ISO_FWHM_PER_SIGMA;
		double half = p->tof_truncate * sigma + .25 * ISO_C_MM_PER_PS * p->tof_bin_ps;
		double centre = .5 * (sqrt(square) + ISO_C_MM_PER_PS * e->dt_ps);

		t[0] = fmax(0, (centre - half) / sqrt(square));
		t[1] = fmin(1, (centre + half) / sqrt(square));
	}
	for (int a = 0; a < 3; a++)
		if (!box_narrow(&t[0], &t[1], -at[a], (double)p->grid.n[a] - at[a], d[a])) return 0;
	if (!(t[1] > t[0])) return 0;
	for (int a = 0; a < 3; a++) faces[a] = faces_between(at[a] + t[0] * d[a], at[a] + t[1] * d[a]);
	if (p->projector == ISO_JOSEPH)
		return 4 * (1 + faces[fabs(d[0]) >= fmax(fabs(d[1]), fabs(d[2])) ? 0
		                      : fabs(d[1]) >= fabs(d[2])                 ? 1
		                                                                 : 2]);
	return 1 + faces[0] + faces[1] + faces[2];
}

double iso_bench_visits(const struct iso_ray *p, const struct iso_event *e, int64_t n)
{
	int rays = p->rays > 1 ? p->rays : 1;
	double sum = 0;

	for (int64_t j = 0; j < n; j++) sum += visits(p, &e[j]);
	return n > 0 ? sum * rays / (double)n : 0;
}
