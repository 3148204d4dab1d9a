/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of memory: what a call will take, before it takes it. */
#include "plan.h"
#include "ctx.h"
#include "size.h"

#include <assert.h>

void iso_plan_add(struct iso_plan *plan, const char *what, int64_t count, int64_t item, bool on_device)
{
	struct iso_plan_line line = { .what = what };
	int64_t bytes;

	assert(plan->n < (int)(sizeof plan->line / sizeof plan->line[0]));
	if (!size_mul(&bytes, count, item)) bytes = INT64_MAX;
	*(on_device ? &line.device : &line.host) = bytes;
	plan->line[plan->n++] = line;
}

static void add_saturating(int64_t *sum, int64_t bytes)
{
	if (!size_add(sum, *sum, bytes)) *sum = INT64_MAX;
}

/* The line that takes most names the culprit. */
static int too_large(const struct iso_plan *plan, const char *where, int64_t need, int64_t have, bool device)
{
	const struct iso_plan_line *top = plan->line;

	for (int i = 1; i < plan->n; i++)
		if (device ? plan->line[i].device > top->device : plan->line[i].host > top->host)
			top = &plan->line[i];
	return iso_fail(ISO_ENOMEM, "needs %s of %s memory, %s may be used; most for %s, %s", iso_bytes(need),
	                where, iso_bytes(have), top->what, iso_bytes(device ? top->device : top->host));
}

void iso_plan_total(const struct iso_plan *plan, int64_t *host, int64_t *device)
{
	*host = *device = 0;
	for (int i = 0; i < plan->n; i++) {
		add_saturating(host, plan->line[i].host);
		add_saturating(device, plan->line[i].device);
	}
}

int iso_plan_check(const struct iso_plan *plan, const iso_ctx *ctx)
{
	int64_t host, device, have = iso_ctx_host_memory(ctx);
	int st;

	iso_plan_total(plan, &host, &device);
	if (host > have) return too_large(plan, "host", host, have, false);
	if (device == 0 || !ctx->cuda) return ISO_OK;
	if ((st = ctx->cuda->free_memory(ctx, &have))) return st;
	return device > have ? too_large(plan, "device", device, have, true) : ISO_OK;
}
