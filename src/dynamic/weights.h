/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers of events by their number in the file: weights of replicates, and parts of lists. The constants keep their
   draws apart from each other and from those of simulations of the same seed. */
#ifndef ISO_WEIGHTS_H
#define ISO_WEIGHTS_H

#include "core/ctx.h"
#include "core/philox.h"

#define WEIGHTS_OF_EVENTS 0x626F6F7473747261u
#define WEIGHTS_OF_DELAYED 0x626F6F7464656C61u
#define PART_OF_EVENTS 0x7468696E6E696E67u
#define PART_OF_DELAYED 0x7468696E64656C61u
#define WEIGHT_BITS 40 /* replicates of histograms lie so many bits apart in the key */

/* The weight is how many of round(2^32 sum over i <= k of e^-1 / i!), k = 0, 1, ..., a uniform word reaches. */
ISO_HD int weight_of_word(uint32_t word)
{
	const uint32_t thresholds[] = { 1580030169u, 3160060337u, 3950075422u, 4213413783u,
		                        4279248374u, 4292415292u, 4294609778u, 4294923276u,
		                        4294962463u, 4294966817u, 4294967253u, 4294967292u };
	int k = 0;

	while (k < (int)(sizeof thresholds / sizeof *thresholds) && word >= thresholds[k]) k++;
	return k;
}

/* Of an event in a replicate; key: the seed XOR the list's constant. */
ISO_HD int weight_of_event(uint64_t key, uint64_t event, int64_t replicate)
{
	struct philox p = philox_draw(key, event, (uint64_t)(replicate / 4));

	return weight_of_word(p.w[replicate % 4]);
}

ISO_BEGIN_C

/* On CUDA (weights.cu): w[r n + i] = weight of event event[i] in replicate first + r, r = 0 ... count - 1; arrays on the device. */
typedef int iso_weights_fn(iso_ctx *ctx, iso_real *w, int64_t n, const int64_t *event, uint64_t key,
                           int64_t first, int count);
#define ISO_WEIGHTS_CUDA "iso_weights_cuda"

ISO_END_C
#endif
