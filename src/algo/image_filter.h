/* SPDX-License-Identifier: BSD-3-Clause */
/* Image filters: what the loops of both devices share. */
#ifndef ISO_FILTER_H
#define ISO_FILTER_H

#include "core/hd.h"
#include "core/room.h"

#include <string.h>

/* What lies beyond the border of an image. */
enum filter_border {
	FILTER_EDGE, /* the edge voxel goes on: an image of ones stays one */
	FILTER_ZERO, /* nothing: the Gaussian is its own adjoint */
};

/* Weights of a Gaussian along one axis, at -radius to radius voxels: w[0] to w[2 radius]. */
struct filter_taps {
	int64_t radius; /* 0: the axis is left alone, and there are no weights */
	double *w;
	enum filter_border border;
};

/* Weights from the room; its status tells of failures. */
ISO_C struct filter_taps iso_filter_taps(struct iso_room *room, const struct iso_filter *f,
                                         const struct iso_grid *g, int axis, enum filter_border border);

/* ISO_EARG for a FWHM or size that is not allowed. */
ISO_C int iso_filter_check(const struct iso_filter *f);

/* Integers in the order of the values: a median of them is found bit by bit. */
#ifdef ISO_DOUBLE
typedef int64_t filter_key;
#	define FILTER_KEY_MIN INT64_MIN
#	define FILTER_KEY_MAX INT64_MAX
#else
typedef int32_t filter_key;
#	define FILTER_KEY_MIN INT32_MIN
#	define FILTER_KEY_MAX INT32_MAX
#endif

enum { FILTER_KEY_BITS = 8 * sizeof(filter_key) };

/* IEEE numbers are sign and magnitude: the bits of negative ones are turned. Its own inverse. */
ISO_HD filter_key filter_turn(filter_key k)
{
	return k < 0 ? k ^ FILTER_KEY_MAX : k;
}

ISO_HD filter_key filter_key_of(iso_real v)
{
	filter_key k;

	memcpy(&k, &v, sizeof k);
	return filter_turn(k);
}

ISO_HD iso_real filter_value_of(filter_key k)
{
	iso_real v;

	k = filter_turn(k);
	memcpy(&v, &k, sizeof v);
	return v;
}

/* The median of n keys is the largest t that at most n/2 of them lie below. From FILTER_KEY_MIN,
   each bit, highest first, is added if the sum is not too large: this is the sum to try. */
ISO_HD filter_key filter_trial(filter_key found, int bit)
{
	return (filter_key)((uint64_t)found + ((uint64_t)1 << bit));
}

ISO_HD int64_t filter_clamp(int64_t i, int64_t n)
{
	return i < 0 ? 0 : i < n ? i : n - 1;
}

/* Place i of a line of n voxels holds nothing. */
ISO_HD bool filter_beyond(const struct filter_taps *t, int64_t i, int64_t n)
{
	return t->border == FILTER_ZERO && (i < 0 || i >= n);
}

#endif
