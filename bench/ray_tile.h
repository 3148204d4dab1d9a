/* SPDX-License-Identifier: BSD-3-Clause */
/* Tile-major order of an image (Van Gendt 2021, section 4): cubes of 4 x 4 x 4 voxels one after the
   other, so that a ray in any direction finds its next voxels near by. */
#ifndef ISO_RAY_TILE_H
#define ISO_RAY_TILE_H

#include "core/hd.h"

#define RAY_TILE_BITS 2
#define RAY_TILE (1 << RAY_TILE_BITS) /* edge, voxels */

/* Storage is padded to whole tiles; padding is never read or written by a tracer. */
struct ray_tiles {
	int64_t tx, ty, tz; /* tiles along each axis */
};

ISO_HD struct ray_tiles ray_tiles(const int64_t n[3])
{
	struct ray_tiles t = { (n[0] + RAY_TILE - 1) >> RAY_TILE_BITS, (n[1] + RAY_TILE - 1) >> RAY_TILE_BITS,
		               (n[2] + RAY_TILE - 1) >> RAY_TILE_BITS };

	return t;
}

ISO_HD int64_t ray_tile_voxels(const struct ray_tiles *t)
{
	return (t->tx * t->ty * t->tz) << (3 * RAY_TILE_BITS);
}

/* (((iz/T) Ty + iy/T) Tx + ix/T) T^3 + ((iz%T) T + iy%T) T + ix%T */
ISO_HD int64_t ray_tile_index(const struct ray_tiles *t, int ix, int iy, int iz)
{
	const int mask = RAY_TILE - 1, b = RAY_TILE_BITS;
	int64_t tile = ((iz >> b) * t->ty + (iy >> b)) * t->tx + (ix >> b);

	return tile << 3 * b | (iz & mask) << 2 * b | (iy & mask) << b | (ix & mask);
}

#endif
