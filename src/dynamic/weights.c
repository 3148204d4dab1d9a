/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights of replicates, and which events are in a part of a list. */
#include "weights.h"

#include "core/sized.h"
#include "core/status.h"

#include <math.h>

#define WORDS 0x1p32

static int check_replicate(int64_t n, int64_t replicate)
{
	if (n < 0) return iso_fail(ISO_EARG, "replicates: %" PRId64 " events, must be at least 0", n);
	if (replicate >= 0 && replicate < ISO_REPLICATES_MOST) return ISO_OK;
	return iso_fail(ISO_EARG, "replicates: number %" PRId64 ", must be 0 to %d", replicate,
	                ISO_REPLICATES_MOST - 1);
}

static uint64_t number(const uint64_t *event, int64_t i)
{
	return event ? event[i] : (uint64_t)i;
}

int iso_replicate_weights(unsigned char *w, int64_t n, const uint64_t *event, uint64_t seed,
                          int64_t replicate, enum iso_draw_list list)
{
	uint64_t key = seed ^ (list == ISO_DRAW_DELAYED ? WEIGHTS_OF_DELAYED : WEIGHTS_OF_EVENTS);

	if (!w) return iso_fail_null(__func__);
	int st = check_replicate(n, replicate);

	for (int64_t i = 0; i < n && !st; i++)
		w[i] = (unsigned char)weight_of_event(key, number(event, i), replicate);
	return st;
}

int iso_replicate_counts(iso_real *y, int64_t n, const iso_real *count, const uint64_t *line, uint64_t seed,
                         int64_t replicate)
{
	uint64_t key = (seed ^ WEIGHTS_OF_EVENTS) + ((uint64_t)replicate << WEIGHT_BITS);

	if (!y || !count) return iso_fail_null(__func__);
	int st = check_replicate(n, replicate);

	for (int64_t i = 0; i < n && !st; i++) {
		if (!(count[i] >= 0) || !(count[i] <= 1e15) || count[i] != floor(count[i]))
			return iso_fail(ISO_EINPUT,
			                "replicates: the count of line %" PRIu64
			                " is %g, must be a whole number that is not negative",
			                number(line, i), (double)count[i]);
		y[i] = (iso_real)iso_poisson((double)count[i], key, number(line, i));
	}
	return st;
}

static int check_part(const struct iso_part *p)
{
	if (p->share != 0 && p->parts != 0)
		return iso_fail(ISO_EARG, "part of a list: give a share or a number of parts, not both");
	if (p->parts == 0 && !(p->share > 0 && p->share <= 1))
		return iso_fail(ISO_EARG, "part of a list: the share is %g, must be above 0 and at most 1",
		                p->share);
	if (p->parts != 0 && (p->parts < 1 || p->part < 1 || p->part > p->parts))
		return iso_fail(ISO_EARG, "part of a list: part %d of %d, must be 1 to the number of parts",
		                p->part, p->parts);
	return ISO_OK;
}

int iso_part_events(unsigned char *kept, int64_t n, const uint64_t *event, const struct iso_part *given)
{
	struct iso_part p;

	if (!kept) return iso_fail_null(__func__);
	int st = iso_sized_take(&p, "iso_part", sizeof p, given);

	if (st || (st = check_part(&p)) || (st = check_replicate(n, 0))) return st;
	const uint64_t key = p.seed ^ (p.list == ISO_DRAW_DELAYED ? PART_OF_DELAYED : PART_OF_EVENTS);
	const uint64_t below = (uint64_t)llround(p.share * WORDS);

	for (int64_t i = 0; i < n; i++) {
		uint64_t word = philox_draw(key, number(event, i), 0).w[0];

		kept[i] = p.parts ? (int)(word * (uint64_t)p.parts >> 32) == p.part - 1 : word < below;
	}
	return ISO_OK;
}
