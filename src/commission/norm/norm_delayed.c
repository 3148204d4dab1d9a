/* SPDX-License-Identifier: BSD-3-Clause */
/* Randoms from a file of delayed coincidences that is not read whole. */
#include "norm_delayed.h"

#include "core/ctx.h"
#include "core/size.h"
#include "physics/emission.h"
#include "physics/randoms.h"

enum { PIECE = 1 << 17 }; /* events at a time */

static int add_file(double *ends, int64_t *bad, iso_ctx *ctx, const iso_scanner *s, const iso_event_file *f)
{
	const int64_t n = iso_event_file_info(f)->n;
	struct iso_events block = { 0 };
	int st = iso_event_file_block(&block, f, n < PIECE ? n : PIECE);

	for (int64_t i = 0; i < n && !st; i += PIECE) {
		st = iso_event_file_read(&block, f, i, n - i < PIECE ? n - i : PIECE);
		if (!st) st = iso_check_values(block.count, block.n, "randoms: count of delayed line");
		if (!st) *bad += iso_randoms_ends(ends, ctx, s, &block);
		if (!st) st = iso_ctx_poll(ctx);
	}
	iso_events_free(&block);
	return st;
}

int iso_norm_delayed(double *rate, int64_t *bad, int64_t *n, iso_ctx *ctx, const iso_scanner *s,
                     const iso_event_file *f)
{
	double *ends = size_alloc(s->n, sizeof *ends);
	int st;

	if (!ends) return iso_fail_memory("randoms", s->n * (int64_t)sizeof *ends);
	*bad = 0;
	*n = iso_event_file_info(f)->n;
	if ((st = add_file(ends, bad, ctx, s, f))) goto done;
	if (*bad < *n)
		st = iso_randoms_of_ends(rate, ctx, s, ends);
	else
		st = iso_fail(ISO_EINPUT,
		              "randoms: none of %" PRId64 " delayed coincidences is of scanner %s", *n,
		              s->name);
done:
	free(ends);
	return st;
}
