/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulses in the order of time: buckets of equal width, into which pulses that come nearly even in time fall by ones and
   twos, and inside each a sort of its own. */
#include "readout.h"
#include "core/size.h"

#include <stdlib.h>

enum { BY_HAND = 24 }; /* pulses of a bucket that insertion sorts; a fuller one is left to qsort */

static int compare(const void *a, const void *b)
{
	return (int)pulse_before(b, a) - (int)pulse_before(a, b);
}

static void sort_bucket(struct pulse *p, int64_t n)
{
	if (n > BY_HAND) {
		qsort(p, (size_t)n, sizeof *p, compare);
		return;
	}
	for (int64_t i = 1; i < n; i++) {
		struct pulse here = p[i];
		int64_t j = i;

		for (; j > 0 && pulse_before(&here, p + j - 1); j--) p[j] = p[j - 1];
		p[j] = here;
	}
}

/* Bucket of a time: its share of `span`, by a product of 64 bits and its high half. */
static int64_t bucket(int64_t time, int64_t low, int shift)
{
	return (int64_t)((uint64_t)(time - low) >> shift);
}

void iso_pulse_sort(struct pulse *to, const struct pulse *p, int64_t n, uint32_t *count)
{
	if (n == 0) return;
	int64_t low = p[0].time, high = low, buckets, sum = 0;
	int shift = 0;

	for (int64_t i = 1; i < n; i++) {
		low = p[i].time < low ? p[i].time : low;
		high = p[i].time > high ? p[i].time : high;
	}
	while (bucket(high, low, shift) >= n) shift++;
	buckets = bucket(high, low, shift) + 1;
	memset(count, 0, (size_t)buckets * sizeof *count);
	for (int64_t i = 0; i < n; i++) count[bucket(p[i].time, low, shift)]++;
	for (int64_t k = 0; k < buckets; k++) {
		uint32_t here = count[k];

		count[k] = (uint32_t)sum;
		sum += here;
	}
	for (int64_t i = 0; i < n; i++) to[count[bucket(p[i].time, low, shift)]++] = p[i];
	for (int64_t k = 0, from = 0; k < buckets; from = count[k++])
		if (count[k] - from > 1) sort_bucket(to + from, count[k] - from);
}
