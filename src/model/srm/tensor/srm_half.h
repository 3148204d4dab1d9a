/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights as halves: a sign, 5 bits of a power of 2, 10 bits below the first. A weight is a half times a unit,
   and the greatest is below 2^15 units. */
#ifndef ISO_SRM_HALF_H
#define ISO_SRM_HALF_H

#include "model/srm/srm_op.h"

#include <math.h>
#include <string.h>

#define HALF_LEAST 0x1p-14 /* below it, halves are whole multiples of 2^-24 */

/* The half nearest to v, which is not negative, as a float: 11 of its 24 bits, rounded to even. */
static inline float half_round(float v)
{
	uint32_t word;

	if (v < (float)HALF_LEAST) return (float)(rint(v * 0x1p24) * 0x1p-24);
	memcpy(&word, &v, sizeof word);
	word = (word + 0xfff + (word >> 13 & 1)) & ~0x1fffu;
	memcpy(&v, &word, sizeof v);
	return v;
}

/* The bits of a half that half_round gave. */
static inline uint16_t half_bits(float v)
{
	uint32_t word;

	if (v < (float)HALF_LEAST) return (uint16_t)(v * 0x1p24f);
	memcpy(&word, &v, sizeof word);
	return (uint16_t)((word >> 13) - ((127 - 15) << 10));
}

/* The bits of the half nearest to any v between -2^15 and 2^15. */
static inline uint16_t half_of(double v)
{
	uint16_t sign = v < 0 ? 1 << 15 : 0;
	uint64_t word;

	v = fabs(v);
	if (v < HALF_LEAST) return (uint16_t)(sign | (uint16_t)rint(v * 0x1p24));
	memcpy(&word, &v, sizeof word);
	word += ((uint64_t)1 << 41) - 1 + (word >> 42 & 1);
	return (uint16_t)(sign | (uint16_t)((word >> 42) - ((1023 - 15) << 10)));
}

/* What a half holds of a weight, and its bits. */
struct half {
	float w;
	uint16_t bits;
};

static inline struct half half_split(float w, double unit)
{
	float v = half_round((float)(w / unit));

	return (struct half){ (float)(v * unit), half_bits(v) };
}

/* Whether the rest is no more than the rounding of a float. */
static inline bool half_holds(struct half h, float w)
{
	return fabsf(w - h.w) <= 0x1p-22f * fabsf(w);
}

#endif
