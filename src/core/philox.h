/* SPDX-License-Identifier: BSD-3-Clause */
/* Philox-4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): a counter
   and a key give four 32-bit words, the same on every device and for every number of threads. */
#ifndef ISO_PHILOX_H
#define ISO_PHILOX_H

#include "hd.h"

struct philox {
	uint32_t w[4];
};

ISO_HD struct philox philox_round(struct philox c, uint32_t k0, uint32_t k1)
{
	uint64_t a = (uint64_t)0xD2511F53u * c.w[0], b = (uint64_t)0xCD9E8D57u * c.w[2];
	struct philox r = { {
		(uint32_t)(b >> 32) ^ c.w[1] ^ k0,
		(uint32_t)b,
		(uint32_t)(a >> 32) ^ c.w[3] ^ k1,
		(uint32_t)a,
	} };

	return r;
}

ISO_HD struct philox philox4x32(struct philox counter, uint64_t key)
{
	uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);

	for (int i = 0; i < 10; i++) {
		counter = philox_round(counter, k0, k1);
		k0 += 0x9E3779B9u; /* Weyl sequence of the golden ratio, and of sqrt(3) - 1 */
		k1 += 0xBB67AE85u;
	}
	return counter;
}

/* The four words of draw `draw` of history `history`. */
ISO_HD struct philox philox_draw(uint64_t seed, uint64_t history, uint64_t draw)
{
	struct philox c = { { (uint32_t)history, (uint32_t)(history >> 32), (uint32_t)draw,
		              (uint32_t)(draw >> 32) } };

	return philox4x32(c, seed);
}

/* Uniform in (0, 1), never an end point: 23 bits and a half step, exact in float. */
ISO_HD float philox_unit(uint32_t w)
{
	return ((float)(w >> 9) + .5f) * 0x1p-23f;
}

/* Uniform in (0, 1) from two words: 52 bits and a half step. */
ISO_HD double philox_unit_double(uint32_t hi, uint32_t lo)
{
	return ((double)((((uint64_t)hi << 32) | lo) >> 12) + .5) * 0x1p-52;
}

/* Gaussian of mean 0 and unit width from two words (Box and Muller); none beyond 5.8. */
ISO_HD double philox_gauss(uint32_t u, uint32_t v)
{
	return sqrt(-2 * log((double)philox_unit(u))) * cos(2 * M_PI * (double)philox_unit(v));
}

/* One Poisson number of the given mean, 0 to 1e15; draws 0, 1, ... of `history` are used. */
int64_t iso_poisson(double mean, uint64_t seed, uint64_t history);

#endif
