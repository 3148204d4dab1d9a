/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting the work of the optoacoustic operators. A fused multiply-add, a root and a reciprocal
   are one operation each; one in double is two. */
#include "sound_work.h"

#define SET_BYTES (1 << 20) /* that the rates of memory are measured on */

/* ubp: of the distance 3, the delay and its fraction 4, the term 3; a pair of samples.
   G: turning to the next point 4, its place 6, cells and fractions 8, seven mixtures 14, the sum 1;
   eight voxels. Scatter: place and cells as before, weights 10, additions 8, to words of 4 bytes.
   Gather: per point some 22 looks (40 a pair at Wang's ratio of voxel and sample, 1.82) at 12.
   D and He: both ways, in double, the response's terms each; traces come and go from memory.
   svoxel: distance, delay and amplitude 12, the place within a bin 4, powers 6, seven moments that are
   read, added to and written; back, a piece of seven coefficients 7. Rectangle: sides 10 more, and four
   times the delay 2, the place, powers and moments as before, of which moment 0 is in double; back, four
   times delay, place and piece, whose constants make three sums in double. */
const struct sound_cost iso_sound_cost[SOUND_PARTS] = {
	[SOUND_UBP] = { SOUND_PAIRS, 10, 8, 0 },
	[SOUND_G] = { SOUND_POINTS, 33, 32, 0 },
	[SOUND_SCATTER] = { SOUND_POINTS, 36, 64, 0 },
	[SOUND_GATHER] = { SOUND_POINTS, 264, 0, 0 },
	[SOUND_TRACES] = { SOUND_SAMPLES, 4 * SOUND_EIR + 8, 0, 32 },
	[SOUND_POINT] = { SOUND_PAIRS, 29, 56, 0 },
	[SOUND_POINT_BACK] = { SOUND_PAIRS, 23, 28, 0 },
	[SOUND_RECT] = { SOUND_PAIRS, 102, 256, 0 },
	[SOUND_RECT_BACK] = { SOUND_PAIRS, 76, 128, 0 },
};

int iso_sound_rates(struct sound_rates *r, iso_ctx *ctx)
{
	int st;

	if ((st = iso_arithmetic_rate(&r->operations, ctx))) return st;
	if ((st = iso_cache_rate(&r->cache, ctx))) return st;
	return iso_limits_measure(&r->limits, ctx, SET_BYTES);
}

double iso_sound_least_s(const char **limit, const struct sound_rates *r, enum sound_part part, double n)
{
	static const char *const names[] = { "arithmetic", "first-level cache", "memory" };
	const struct sound_cost *c = &iso_sound_cost[part];
	const double seconds[] = { n * c->operations / r->operations, n * c->cache / r->cache,
		                   n * c->memory / r->limits.triad };
	int most = 0;

	for (int i = 1; i < 3; i++) most = seconds[i] > seconds[most] ? i : most;
	*limit = names[most];
	return seconds[most];
}
