/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of memory: what a call will take, before it takes it. */
#include "plan.h"
#include "comm.h"
#include "size.h"

#include <math.h>
#include <stdio.h>

struct line {
	char what[96];
	int64_t count; /* items */
	int64_t host, device;
};

struct iso_plan_lines {
	int n;
	int64_t voxels; /* of the image; 0: nobody said */
	struct line line[];
};

/* Stands for lines that no memory could be had for. */
static struct iso_plan_lines lost;

void iso_plan_add(struct iso_plan *plan, const char *what, int64_t count, int64_t item, bool on_device)
{
	if (!plan || !what) return;

	struct iso_plan_lines *old = plan->lines, *more = NULL;
	struct line line = { .count = count };
	int64_t bytes;
	int n = iso_plan_size(plan);

	if (!size_mul(&bytes, count, item)) bytes = INT64_MAX;
	snprintf(line.what, sizeof line.what, "%s", what);
	*(on_device ? &line.device : &line.host) = bytes;
	if (old != &lost && (more = realloc(old, sizeof *more + (size_t)(n + 1) * sizeof line))) {
		if (!old) more->voxels = 0;
		more->n = n + 1;
		more->line[n] = line;
	} else {
		iso_plan_free(plan);
	}
	plan->lines = more ? more : &lost;
}

void iso_plan_voxels(struct iso_plan *plan, int64_t voxels)
{
	if (plan->lines && plan->lines != &lost) plan->lines->voxels = voxels;
}

int iso_plan_size(const struct iso_plan *plan)
{
	return plan && plan->lines ? plan->lines->n : 0;
}

struct iso_plan_line iso_plan_line(const struct iso_plan *plan, int i)
{
	if (!plan) return (struct iso_plan_line){ 0 };

	const struct line *l = &plan->lines->line[i];

	return (struct iso_plan_line){ l->what, l->host, l->device };
}

void iso_plan_free(struct iso_plan *plan)
{
	if (!plan) return;
	if (plan->lines != &lost) free(plan->lines);
	plan->lines = NULL;
}

static void add_saturating(int64_t *sum, int64_t bytes)
{
	if (!size_add(sum, *sum, bytes)) *sum = INT64_MAX;
}

void iso_plan_total(int64_t *host, int64_t *device, const struct iso_plan *plan)
{
	if (!host || !device || !plan) return;
	*host = *device = 0;
	for (int i = 0; i < iso_plan_size(plan); i++) {
		add_saturating(host, plan->lines->line[i].host);
		add_saturating(device, plan->lines->line[i].device);
	}
}

/* Voxels of an image with which the plan would fit; 0: nothing that grows with it is in the way. */
static int64_t voxels_that_fit(const struct iso_plan *plan, int64_t need, int64_t have, bool device)
{
	const struct iso_plan_lines *l = plan->lines;
	double image = 0;

	for (int i = 0; i < l->n && l->voxels > 0; i++)
		if (l->line[i].count == l->voxels)
			image += (double)(device ? l->line[i].device : l->line[i].host);
	double left = (double)have - ((double)need - image);

	return image > 0 && left > 0 ? (int64_t)((double)l->voxels * left / image) : 0;
}

struct iso_plan_lack iso_plan_lack(const iso_ctx *ctx, const struct iso_plan *plan)
{
	struct iso_plan_lack l = { .have = iso_ctx_host_memory(ctx) };
	int64_t device;

	iso_plan_total(&l.need, &device, plan);
	if (l.need <= l.have && device > 0 && iso_ctx_is_cuda(ctx)) {
		l = (struct iso_plan_lack){ .need = device, .device = true };
		if (iso_ctx_device_left(ctx, &l.have) != ISO_OK) l.have = device;
		l.have /= iso_ranks_of_device(ctx);
	}
	if (l.need <= l.have || plan->lines == &lost) return (struct iso_plan_lack){ 0 };
	l.voxels = voxels_that_fit(plan, l.need, l.have, l.device);
	return l;
}

/* ISO_ENOMEM: need and have, in bytes, the line that takes most, and the image that would fit. */
static int too_large(const struct iso_plan *plan, const char *where, int64_t need, int64_t have, bool device)
{
	struct iso_plan_line top = iso_plan_line(plan, 0);
	int64_t fit = voxels_that_fit(plan, need, have, device);
	char image[64] = "";

	for (int i = 1; i < iso_plan_size(plan); i++) {
		struct iso_plan_line l = iso_plan_line(plan, i);

		if (device ? l.device > top.device : l.host > top.host) top = l;
	}
	if (fit > 0)
		iso_snprintf(image, sizeof image, "; images of up to %.3g voxels (%d^3) would fit",
		             (double)fit, (int)cbrt((double)fit));
	return iso_fail(ISO_ENOMEM, "needs %s of %s memory, %s may be used; most for %s, %s%s",
	                iso_bytes(need), where, iso_bytes(have), top.what,
	                iso_bytes(device ? top.device : top.host), image);
}

int iso_plan_check(const iso_ctx *ctx, const struct iso_plan *plan)
{
	if (!plan || !ctx) return iso_fail_null(__func__);
	int64_t host, device, have = iso_ctx_host_memory(ctx);
	int st;

	if (plan->lines == &lost)
		return iso_fail(ISO_ENOMEM, "out of memory: the plan of what a call will take");
	iso_plan_total(&host, &device, plan);
	if (host > have) return too_large(plan, "host", host, have, false);
	if (device == 0 || !iso_ctx_is_cuda(ctx)) return ISO_OK;
	if ((st = iso_ctx_device_left(ctx, &have))) return st;
	have /= iso_ranks_of_device(ctx);
	return device > have ? too_large(plan, "device", device, have, true) : ISO_OK;
}
