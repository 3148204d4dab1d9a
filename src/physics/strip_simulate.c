/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated events of two strips, from a phantom of ellipses: checks, and the loop of the CPU. */
#include "strip_simulate.h"
#include "core/ctx.h"
#include "core/size.h"
#include "scanner/scanner.h"

enum {
	PART = 4096,     /* events that a thread takes at a time */
	TRIES = 1000000, /* of a trial run, */
	ENOUGH = 100,    /* and the events that it must give */
};

static int make_events(struct iso_strip_event *e, int64_t *decays, iso_ctx *ctx, const struct strip_scan *s,
                       int64_t first, int64_t n)
{
	int64_t sum = 0;

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic) reduction(+ : sum)
	for (int64_t part = 0; part < (n + PART - 1) / PART; part++)
		for (int64_t i = part * PART; !iso_stopped(ctx) && i < n && i < (part + 1) * PART; i++)
			sum += strip_event(e + i, s, (uint64_t)(first + i));
	*decays = sum;
	return iso_ctx_poll(ctx);
}

/* ---- checks ---- */

static int check_range(int64_t first, int64_t n)
{
	if (first < 0 || n < 0 || first > INT64_MAX - n)
		return iso_fail(ISO_EARG,
		                "strip simulation: %" PRId64 " events from number %" PRId64
		                ", must both be 0 or above",
		                n, first);
	return ISO_OK;
}

/* A phantom beside the strips, or hidden by one without activity, would keep us for ever. */
static int check_seen(const struct strip_scan *s)
{
	struct iso_strip_event e;
	int kept = 0;

	for (uint64_t i = 0; i < TRIES && kept < ENOUGH; i++) kept += strip_try(&e, s, i, 0) == STRIP_KEPT;
	if (kept < ENOUGH)
		return iso_fail(ISO_EARG,
		                "strip simulation: %d of %d decays reach both strips, must be at least %d: "
		                "are the ellipses between the strips?",
		                kept, TRIES, ENOUGH);
	return ISO_OK;
}

/* ---- the phantom ---- */

static int add_row(struct strip_row *r, double *sum, const iso_phantom *p, int i)
{
	struct iso_ellipse e = { 0 };
	int st = iso_phantom_ellipse(&e, p, i);

	*sum += e.a * e.b * e.rho;
	*r = (struct strip_row){ e.x, e.y, e.a, e.b, e.cos_phi, e.sin_phi, *sum };
	return st;
}

/* Allocates *row. */
static int make_rows(struct strip_row **row, const iso_phantom *p)
{
	int n = iso_phantom_shapes(p), st = ISO_OK;
	double sum = 0;

	*row = size_alloc(n, sizeof **row);
	if (!*row) return iso_fail_memory("strip simulation", n * (int64_t)sizeof **row);
	for (int i = 0; i < n && !st; i++) st = add_row(&(*row)[i], &sum, p, i);
	if (!st && !(sum > 0)) st = iso_fail(ISO_EARG, "strip simulation: no ellipse has activity");
	for (int i = 0; i < n && !st; i++) (*row)[i].up_to /= sum;
	return st;
}

int iso_strip_simulate_counted(struct iso_strip_event *e, int64_t *decays, iso_ctx *ctx,
                               const struct iso_strips *strips, const iso_phantom *ellipses, uint64_t seed,
                               int64_t first, int64_t n)
{
	struct strip_row *row = NULL;
	void *cuda = NULL;
	int st;

	if ((st = iso_strips_check(strips)) || (st = check_range(first, n))) goto done;
	if (iso_ctx_is_cuda(ctx) && (st = iso_cuda_symbol(&cuda, ISO_STRIP_SIMULATE_CUDA))) goto done;
	if ((st = make_rows(&row, ellipses))) goto done;

	struct strip_scan s = { *strips, seed, iso_phantom_shapes(ellipses), row };

	if ((st = check_seen(&s))) goto done;
	st = (cuda ? (strip_simulate_fn)cuda : make_events)(e, decays, ctx, &s, first, n);
done:
	free(row);
	return st;
}

int iso_strip_simulate(struct iso_strip_event *e, iso_ctx *ctx, const struct iso_strips *strips,
                       const iso_phantom *ellipses, uint64_t seed, int64_t first, int64_t n)
{
	if (!e || !ctx || !strips || !ellipses) return iso_fail_null(__func__);
	int64_t decays;

	return iso_strip_simulate_counted(e, &decays, ctx, strips, ellipses, seed, first, n);
}
