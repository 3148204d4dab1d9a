/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated events of two strips, from a phantom of flat shapes: checks, and the loop of the CPU. */
#include "strip_simulate.h"
#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"
#include "scanner/scanner.h"

enum {
	BLOCK = 1 << 21, /* events in memory at a time: 24 MiB */
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

/* Activity in units of pi: of an ellipse a b rho. */
static double activity(const struct iso_ellipse *e)
{
	return e->kind == ISO_FLAT_ELLIPSE     ? e->a * e->b * e->rho
	       : e->kind == ISO_FLAT_RECTANGLE ? 4 / M_PI * e->a * e->b * e->rho
	                                       : e->rho / M_PI;
}

static int make_rows(struct strip_row *row, int n, const iso_phantom *p)
{
	struct iso_ellipse e;
	double sum = 0;
	int st;

	for (int i = 0; i < n; i++) {
		if ((st = iso_phantom_ellipse(&e, p, i))) return st;
		sum += activity(&e);
		row[i] = (struct strip_row){ e.x,       e.y,       e.a, e.b,
			                     e.cos_phi, e.sin_phi, sum, e.kind == ISO_FLAT_RECTANGLE };
	}
	if (!(sum > 0)) return iso_fail(ISO_EARG, "strip simulation: no shape has activity");
	for (int i = 0; i < n; i++) row[i].up_to /= sum;
	return ISO_OK;
}

int iso_strip_simulate_counted(struct iso_strip_event *e, int64_t *decays, iso_ctx *ctx,
                               const struct iso_strips *strips, const iso_phantom *ellipses, uint64_t seed,
                               int64_t first, int64_t n)
{
	void *cuda = NULL;
	struct iso_strip_event trial;
	int st = iso_strips_check(strips), rows = iso_phantom_shapes(ellipses), kept = 0;

	if (st) return st;
	if (first < 0 || n < 0 || first > INT64_MAX - n)
		return iso_fail(ISO_EARG,
		                "strip simulation: %" PRId64 " events from number %" PRId64
		                ", must both be 0 or above",
		                n, first);
	if (iso_ctx_is_cuda(ctx) && (st = iso_cuda_symbol(&cuda, "iso_strip_simulate_cuda"))) return st;
	struct strip_row *row = size_alloc(rows, sizeof *row);
	struct strip_scan s = { *strips, seed, rows, row, iso_phantom_adds(ellipses) };

	if (!row) return iso_fail_memory("strip simulation", rows * (int64_t)sizeof *row);
	if ((st = make_rows(row, rows, ellipses))) goto done;
	/* a phantom beside the strips, or hidden by one without activity, would keep us for ever */
	for (uint64_t i = 0; i < TRIES && kept < ENOUGH; i++)
		kept += strip_try(&trial, &s, i, 0) == STRIP_KEPT;
	if (kept < ENOUGH)
		st = iso_fail(ISO_EARG,
		              "strip simulation: %d of %d decays reach both strips, must be at least %d",
		              kept, TRIES, ENOUGH);
	else
		st = (cuda ? (__typeof__(&make_events))cuda : make_events)(e, decays, ctx, &s, first, n);
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

int iso_strip_simulate_blocks(int64_t *decays, iso_ctx *ctx, const struct iso_strips *strips,
                              const iso_phantom *ellipses, uint64_t seed, int64_t n, iso_strip_emit_fn emit,
                              void *arg)
{
	if (!decays || !ctx || !strips || !ellipses) return iso_fail_null(__func__);

	struct iso_clock clock = iso_clock_start_of(ctx, "simulate", "events", 0, n);
	struct iso_strip_events block = { .v = size_alloc(BLOCK, sizeof *block.v) };
	int st = block.v ? ISO_OK : iso_fail_memory("events", BLOCK * (int64_t)sizeof *block.v);

	*decays = 0;
	for (int64_t i = 0; i < n && !st; i += BLOCK) {
		int64_t some = 0;

		block.n = n - i < BLOCK ? n - i : BLOCK;
		st = iso_strip_simulate_counted(block.v, &some, ctx, strips, ellipses, seed, i, block.n);
		if (!st) st = emit(arg, &block);
		*decays += some;
		if (!st) iso_clock_step(&clock, i + block.n, NULL);
	}
	iso_strip_events_free(&block);
	return st;
}

void iso_strip_simulate_plan(struct iso_plan *plan, const iso_ctx *ctx)
{
	iso_plan_add(plan, "events", BLOCK, sizeof(struct iso_strip_event), false);
	if (iso_ctx_is_cuda(ctx))
		iso_plan_add(plan, "events on the device", BLOCK, sizeof(struct iso_strip_event), true);
}
