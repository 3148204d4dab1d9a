/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of an ideal ring on the CPU, for benchmarks: no scanner file, no image, any number. */
#include "ring.h"
#include "core/ctx.h"

#define PART 4096            /* events that a thread takes at a time */
#define LEAST_RADIUS_MM 160. /* a ring much closer to the cylinder would keep too few decays */

static int make_events(struct iso_event *e, iso_ctx *ctx, const struct ring *q, int64_t first, int64_t n)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t part = 0; part < (n + PART - 1) / PART; part++)
		for (int64_t i = part * PART; !iso_stopped(ctx) && i < n && i < (part + 1) * PART; i++)
			ring_event(e + i, q, (uint64_t)(first + i));
	return iso_ctx_poll(ctx);
}

static int check(const struct iso_ring *p, int64_t first, int64_t n)
{
	if (!(p->radius >= LEAST_RADIUS_MM) || !(p->radius <= 1e5))
		return iso_fail(ISO_EARG, "ring: radius is %g mm, not %g to 1e5", p->radius, LEAST_RADIUS_MM);
	if (!(p->length >= 1) || !(p->length <= 1e5))
		return iso_fail(ISO_EARG, "ring: length is %g mm, must be 1 to 1e5", p->length);
	if (!(p->tof_fwhm_ps >= 0) || !(p->tof_fwhm_ps <= 1e6))
		return iso_fail(ISO_EARG, "ring: TOF resolution is %g ps, must be 0 to 1e6", p->tof_fwhm_ps);
	if (first < 0 || n < 0 || first > INT64_MAX - n)
		return iso_fail(ISO_EARG,
		                "ring: %" PRId64 " events from number %" PRId64 ", must both be 0 or above",
		                n, first);
	return ISO_OK;
}

int iso_ring_events(struct iso_event *e, iso_ctx *ctx, const struct iso_ring *p, int64_t first, int64_t n)
{
	if (!e || !ctx || !p) return iso_fail_null(__func__);
	void *cuda = NULL;
	int st = check(p, first, n);

	if (!st && iso_ctx_is_cuda(ctx)) st = iso_cuda_symbol(&cuda, "iso_ring_events_cuda");
	if (st) return st;
	double across = p->radius - RING_CYLINDER_MM, half = .5 * p->length;
	struct ring q = {
		.radius = p->radius,
		.half = half,
		.seed = p->seed,
		.cos_b = across / hypot(across, half),
		.sin_b = half / hypot(across, half),
		.sigma_ps = p->tof_fwhm_ps / ISO_FWHM_PER_SIGMA,
	};

	return (cuda ? (__typeof__(&make_events))cuda : make_events)(e, ctx, &q, first, n);
}
