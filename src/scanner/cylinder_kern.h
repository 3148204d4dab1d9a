/* SPDX-License-Identifier: BSD-3-Clause */
/* Which crystal of a cylinder a point on it belongs to. Plain data and double arithmetic: every device finds the same
   crystal, but within rounding of a border. */
#ifndef ISO_CYLINDER_KERN_H
#define ISO_CYLINDER_KERN_H

#include "core/hd.h"

struct cylinder {
	double storey_mm, ring_pitch; /* along z: of a block with its gap, of a ring */
	double crystals_per_sector;   /* crystals that would fill a sector with its gap */
	int32_t rings, storeys;       /* of a block; blocks along z */
	int32_t block, blocks;        /* crystals of a block; blocks round the ring */
	bool gaps;                    /* between blocks round the ring */
};

/* Cell [i, i + 1) of n that a place lies in, or the one at that end. */
ISO_HD int64_t scanner_cell(double place, int64_t n)
{
	return place < 0 ? 0 : place >= (double)n ? n - 1 : (int64_t)place;
}

/* Ring by height, or the nearest one; *inside: the height is that of a ring, not past an end or in a gap. */
ISO_HD int64_t cylinder_ring(const struct cylinder *s, double z, bool *inside)
{
	int64_t storey = scanner_cell(z / s->storey_mm + (double)s->storeys / 2, s->storeys);
	double middle = ((double)storey - (double)(s->storeys - 1) / 2) * s->storey_mm;
	double place = (z - middle) / s->ring_pitch + (double)s->rings / 2;

	*inside = place >= 0 && place < (double)s->rings;
	return storey * s->rings + scanner_cell(place, s->rings);
}

/* Crystal of its ring by azimuth, or the nearest one: sectors mirror each other at their borders, so it is one of the
   point's own block; *inside: the point does not lie in a gap. */
ISO_HD int64_t cylinder_column(const struct cylinder *s, double x, double y, bool *inside)
{
	double turn = atan2(y, x) / (2 * M_PI);
	double sector = (turn < 0 ? turn + 1 : turn) * (double)s->blocks;
	int64_t b = scanner_cell(sector, s->blocks);
	double place = (sector - (double)b - .5) * s->crystals_per_sector + (double)s->block / 2;

	*inside = !s->gaps || (place >= 0 && place < (double)s->block);
	return b * s->block + scanner_cell(place, s->block);
}

/* Crystal of a point of the cylinder; -1: past the axial end, or in a gap between blocks. */
ISO_HD int64_t cylinder_crystal(const struct cylinder *s, double x, double y, double z)
{
	bool inside;
	int64_t ring = cylinder_ring(s, z, &inside), column;

	if (!inside) return -1;
	column = cylinder_column(s, x, y, &inside);
	return inside ? ring * s->block * s->blocks + column : -1;
}

/* Crystal that a photon from inside meets on a cylinder of this radius, mm; -1: as above, or there is none.
   |from + t dir| = radius in x, y: a t^2 + 2 b t + c = 0, with c <= 0 inside. */
ISO_HD int64_t cylinder_hit(const struct cylinder *s, double radius, const double from[3],
                            const double dir[3])
{
	double a = dir[0] * dir[0] + dir[1] * dir[1], b = from[0] * dir[0] + from[1] * dir[1];
	double c = from[0] * from[0] + from[1] * from[1] - radius * radius;

	if (!(a > 0 && c <= 0)) return -1;
	double t = (sqrt(b * b - a * c) - b) / a;

	return cylinder_crystal(s, from[0] + t * dir[0], from[1] + t * dir[1], from[2] + t * dir[2]);
}

#endif
