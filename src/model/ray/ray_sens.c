/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity image of a scanner: every crystal pair in coincidence, or a stratified random share
   of them, traced back with its weight. TOF does not change it. */
#include "ray_sens.h"
#include "core/loop/fixed.h"
#include "core/size.h"
#include "core/sized.h"
#include "physics/response/response.h"
#include "ray.h"
#include "ray_rings.h"
#include "scanner/scanner.h"

#include <omp.h>

#define CHUNK 1024 /* samples between two looks at the cancel flag */

typedef int (*sens_fn)(iso_real *s, iso_ctx *ctx, const struct ray_sens *q, int half);

/* exp(-sum of chord x mu) along the whole LOR. */
static double attenuation(const struct ray_sens *q, const struct ray_sens_pair *pair)
{
	struct ray r = ray_setup(&q->mu_grid, pair->p1, pair->p2, NULL, 0);

	return exp(-ray_integral(&r, q->mu));
}

static void add_pair(const struct iso_fixed *acc, const struct ray_sens *q, int64_t sample, int half)
{
	struct ray_sens_pair pair = ray_sens_sample(q, sample, half);
	int thread = omp_get_thread_num();

	if (!(pair.weight > 0)) return;
	struct ray r = ray_setup(&q->grid, pair.p1, pair.p2, NULL, 0);

	if (r.k0 >= r.k1) return;
	double factor = acc->scale * pair.weight * (q->mu ? attenuation(q, &pair) : 1);

	for (int k = r.k0; k < r.k1; k++) {
		struct ray_piece piece[RAY_PIECES];
		int n = ray_sens_pieces(piece, q, &r, k);

		for (int i = 0; i < n; i++) iso_fixed_add(acc, thread, piece[i].voxel, piece[i].w * factor);
	}
}

static int on_cpu(iso_real *s, iso_ctx *ctx, const struct ray_sens *q, int half)
{
	struct iso_fixed acc = { 0 };
	int64_t n = ray_sens_lines(q), done = 0;
	int st = iso_fixed_create(&acc, ctx, ray_voxels(&q->grid),
	                          iso_ray_visits(&q->grid, NULL, q->projector) * (double)n);

	if (!st) iso_fixed_begin(&acc, ctx, q->bound);

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t c = iso_rank(ctx); c < (st ? 0 : (n + CHUNK - 1) / CHUNK); c += iso_ranks(ctx)) {
		for (int64_t i = c * CHUNK; !iso_stopped(ctx) && i < n && i < (c + 1) * CHUNK; i++)
			add_pair(&acc, q, i, half);
		/* chunks end in any order: their number is told, by the caller's thread, the last one below */
		int64_t lines = CHUNK * iso_ranks(ctx) * __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);

		if (omp_get_thread_num() == 0 && lines < n) ray_sens_step(q, (double)lines / (double)n);
	}
	if (!(st = iso_fixed_sum(&acc, ctx, st ? st : iso_ctx_poll(ctx)))) {
		ray_sens_step(q, 1);
		iso_fixed_end(s, &acc, ctx);
	}
	iso_fixed_free(&acc);
	return st;
}

/* Strata of ring difference, and at least two samples of each. */
static int make_strata(struct ray_sens *q, double share)
{
	bool cylinder = q->pairs.rings > 0;

	q->n_strata = cylinder ? (int)q->pairs.max_ring_difference + 1 : 1;
	int64_t *first = size_alloc(2 * (q->n_strata + 1), sizeof *first);

	if (!first) return iso_fail_memory("sensitivity", 2 * (q->n_strata + 1) * (int64_t)sizeof *first);
	int64_t *drawn = first + q->n_strata + 1;

	for (int d = 0; d < q->n_strata; d++) {
		first[d] = cylinder ? pairs_first(&q->pairs, d) : 0;
		first[d + 1] = d + 1 < q->n_strata ? pairs_first(&q->pairs, d + 1) : q->pairs.n;
		int64_t n = first[d + 1] - first[d];
		int64_t m = share < 1 ? (int64_t)ceil(share * (double)n) : n;

		m = m < 2 ? 2 : m;
		drawn[d + 1] = drawn[d] + (m < n ? m : n);
	}
	q->first = first;
	q->drawn = drawn;
	return ISO_OK;
}

static double largest(int64_t n, const iso_real *v)
{
	double m = 0;

	for (int64_t i = 0; i < n; i++) m = v[i] > m ? (double)v[i] : m;
	return m;
}

static int check(const struct iso_ray_sens *p)
{
	if (!p->scanner) return iso_fail_null("struct iso_ray_sens");
	if (!(p->share >= 0) || !(p->share <= 1))
		return iso_fail(ISO_EARG, "sensitivity: share of pairs is %g, must be in [0, 1]", p->share);
	if (p->scanner->pairs.n < 1)
		return iso_fail(ISO_EINPUT, "sensitivity: scanner %s has no crystal pair in coincidence",
		                p->scanner->name);
	return ISO_OK;
}

/* All but what the values of mu and eff tell. */
static int prepare(struct ray_sens *q, struct iso_ray_sens *full, const struct iso_ray_sens *p)
{
	int st = iso_sized_take(full, "iso_ray_sens", sizeof *full, p);

	if (st || (st = check(full)) || (st = iso_ray_grid(&q->grid, &full->grid)) ||
	    (st = iso_ray_lines(&q->spread, full->rays, full->spread_mm, full->response, full->scanner)))
		return st;
	if (full->mu && (st = iso_ray_grid(&q->mu_grid, &full->mu->grid))) return st;
	q->pairs = full->scanner->pairs;
	q->projector = full->projector;
	q->lines = q->spread.lines;
	q->solid_angle = full->scanner->solid_angle;
	q->pos = full->scanner->pos;
	q->eff = full->eff;
	q->pair = full->scanner->efficiencies;
	q->coincidence_alone = full->coincidence_alone;
	q->mu = full->mu ? full->mu->v : NULL;
	q->seed = full->seed;
	if ((st = make_strata(q, full->share))) return st;
	if (full->response && q->drawn[q->n_strata] < q->pairs.n) q->lines = 1;
	return ISO_OK;
}

/* Of a pair of a response, at most: no line counts that is shorter than a hundredth of the greatest. */
static double largest_weight(const struct ray_sens *q)
{
	const struct response_view *v = &q->spread.response;
	int64_t n = response_view_areas(v);
	float most = 0;

	for (int64_t i = 0; i < n; i++) most = v->area[i] > most ? v->area[i] : most;
	return (double)most * (double)most * RESPONSE_SHORT * RESPONSE_SHORT;
}

static int take_values(struct ray_sens *q, const struct iso_ray_sens *p)
{
	for (int64_t i = 0; p->eff && i < p->scanner->n; i++)
		if (!(p->eff[i] >= 0) || !isfinite(p->eff[i]))
			return iso_fail(ISO_EINPUT,
			                "sensitivity: efficiency of crystal %" PRId64
			                " is %g, must be 0 or above",
			                i, (double)p->eff[i]);
	double eff = p->eff ? largest(p->scanner->n, p->eff) : 1;
	double of_pair = q->pair && !q->coincidence_alone ? q->pair->most : 1;

	q->bound = (double)q->pairs.n * iso_ray_largest_weight(&q->grid, NULL) * eff * eff * of_pair;
	if (p->response) q->bound *= largest_weight(q);
	return ISO_OK;
}

int iso_ray_sens_make(struct ray_sens *q, struct iso_ray_sens *full, const struct iso_ray_sens *p)
{
	int st = prepare(q, full, p);

	return st ? st : take_values(q, full);
}

void iso_ray_sens_unmake(struct ray_sens *q)
{
	free((void *)q->first);
	q->first = NULL;
}

/* Two halves a, b of the samples: their sum estimates the image, and the norm of their difference
   that sum's standard error. Leaves the sum in a. */
static double combine(int64_t n, iso_real *a, const iso_real *b)
{
	double diff = 0, sum = 0;

	for (int64_t i = 0; i < n; i++) {
		double d = (double)a[i] - b[i], s = (double)a[i] + b[i];

		diff += d * d;
		sum += s * s;
		a[i] = (iso_real)s;
	}
	return sum > 0 ? sqrt(diff / sum) : 0;
}

/* Progress counts the lines of so many pairs. */
static void count_lines(struct ray_sens *q, int64_t pairs, int passes)
{
	iso_clock_count(&q->clock, "lines", (double)pairs * q->lines / (RAY_SENS_TICKS * passes));
}

/* By the pairs that are drawn, or all of them: in one pass. */
static int by_pairs(iso_real *s, double *error, iso_ctx *ctx, struct ray_sens *q, sens_fn fn)
{
	int64_t voxels = ray_voxels(&q->grid);
	bool all = q->drawn[q->n_strata] == q->pairs.n;
	int st;

	q->clock = iso_clock_start_of(ctx, "sensitivity", "lines", 0, RAY_SENS_TICKS * (all ? 1 : 2));
	count_lines(q, q->drawn[q->n_strata], all ? 1 : 2);
	*error = 0;
	if ((st = fn(s, ctx, q, all ? RAY_SENS_WHOLE : 0)) || all) return st;
	iso_real *half = size_alloc(voxels, sizeof *half);

	if (!half) st = iso_fail_memory("sensitivity", voxels * (int64_t)sizeof *half);
	if ((st = iso_comm_agree(ctx, st))) {
		free(half);
		return st;
	}
	q->pass = 1;
	if (!(st = fn(half, ctx, q, 1))) /* no pair is drawn twice */
		*error = combine(voxels, s, half) *
		         sqrt(q->lines < q->spread.lines
		                      ? 1
		                      : 1 - (double)q->drawn[q->n_strata] / (double)q->pairs.n);
	free(half);
	return st;
}

/* From all pairs, by the equal rings of a cylinder. */
static int by_rings(iso_real *s, double *error, iso_ctx *ctx, struct ray_sens *q)
{
	if (!iso_rings_serve(q))
		return iso_fail(ISO_EARG, "sensitivity: share of pairs is 0, which needs a cylinder of equal "
		                          "rings, and for Joseph's projector lines that are not too steep");
	q->clock = iso_clock_start_of(ctx, "sensitivity", "lines", 0, RAY_SENS_TICKS);
	count_lines(q, q->pairs.n, 1);
	*error = 0;
	return iso_ray_sens_rings(s, ctx, q);
}

int iso_ray_sens(iso_real *s, double *error, iso_ctx *ctx, const struct iso_ray_sens *p)
{
	if (!s || !error || !ctx || !p) return iso_fail_null(__func__);
	struct ray_sens q = ISO_ZERO;
	void *cuda = NULL;
	struct iso_ray_sens full;
	int st = prepare(&q, &full, p);

	if (!st) st = take_values(&q, &full);
	if (!st && full.share > 0 && iso_ctx_is_cuda(ctx)) st = iso_cuda_symbol(&cuda, ISO_RAY_SENS_CUDA);
	if (!st)
		st = full.share > 0 ? by_pairs(s, error, ctx, &q, cuda ? (sens_fn)cuda : on_cpu)
		                    : by_rings(s, error, ctx, &q);
	free((void *)q.first);
	return st;
}

bool iso_ray_sens_by_rings(const struct iso_ray_sens *p)
{
	struct ray_sens q = ISO_ZERO;
	struct iso_ray_sens full;
	bool serve = p && !prepare(&q, &full, p) && iso_rings_serve(&q);

	free((void *)q.first);
	return serve;
}

static void plan_pairs(struct iso_plan *plan, const iso_ctx *ctx, const struct ray_sens *q)
{
	struct ray_model m = { .grid = q->grid, .projector = q->projector, .spread.lines = 1 };
	int64_t n = ray_sens_lines(q), voxels = ray_voxels(&q->grid);

	if (iso_ctx_is_cuda(ctx)) {
		m.n = n < RAY_SENS_BLOCK ? n : RAY_SENS_BLOCK;
		iso_plan_add(plan, "crystal pairs, some at a time", m.n,
		             sizeof(struct iso_event) + 2 * sizeof(iso_real), true);
		iso_ray_pack_plan(plan, ctx, &m, m.n, m.n);
		iso_plan_add(plan, "sensitivity, fixed point", voxels, 8 + 2 * sizeof(iso_real), true);
		if (q->pair)
			iso_plan_add(plan, "efficiencies of pairs",
			             q->pair->bins + q->pair->groups + q->pair->values, sizeof(float), true);
	} else {
		double additions = iso_ray_visits(&q->grid, NULL, q->projector) * (double)n;

		iso_plan_add(plan, "sensitivity, fixed point", voxels,
		             8L * iso_fixed_copies(ctx, voxels, additions), false);
	}
}

void iso_ray_sens_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray_sens *p)
{
	const iso_real any = 0; /* values need not be there */
	struct ray_sens q = ISO_ZERO;
	struct iso_ray_sens full;

	if (!prepare(&q, &full, p)) { /* else iso_ray_sens will say what is wrong */
		if (full.mu) q.mu = &any;
		if (full.share > 0)
			plan_pairs(plan, ctx, &q);
		else
			iso_ray_sens_rings_plan(plan, ctx, &q);
		if (q.mu && full.share > 0 && iso_ctx_is_cuda(ctx))
			iso_plan_add(plan, "attenuation map, for the sensitivity", ray_voxels(&q.mu_grid),
			             sizeof(iso_real), true);
	}
	free((void *)q.first);
}
