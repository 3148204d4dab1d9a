/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of the system matrix of two panels, and the symmetries that carry one to another.

   An element belongs to a column: a plane y and a phase (px, pz), the voxel's place in its pitch
   cell. It is a pair of crystals counted from that cell: u = (ux, uz) of the upper head, l of the
   lower, in layers a and b. The table K[y,px,pz](u,l) of unbounded heads has these symmetries:

	mirror x    K[y,Dx-1-px,pz](-ux,uz,-lx,lz) = K[y,px,pz](ux,uz,lx,lz)
	mirror z    alike
	exchange    K[Ny-1-y,px,pz](l,u) = K[y,px,pz](u,l), layers a and b exchanged with them
	swap        K[y,pz,px](uz,ux,lz,lx) = K[y,px,pz](ux,uz,lx,lz), for square cells, Dx = Dz

   Columns are folded by the first three: y <= (Ny-1)/2, px <= (Dx-1)/2, pz <= (Dz-1)/2. With the
   swap the voxels to simulate, one for each class of columns, have px <= pz besides. */
#ifndef ISO_SRM_KERN_H
#define ISO_SRM_KERN_H

#include "core/hd.h"

enum { SRM_MIRROR_X = 1, SRM_MIRROR_Z = 2, SRM_EXCHANGE = 4, SRM_SWAP = 8, SRM_SYMMETRIES = 16 };

struct srm_shape {
	int nc[2]; /* crystals of a head: x, z */
	int d[2];  /* phases */
	int planes, layers;
	bool swap;    /* used to make the table */
	int reach[2]; /* largest offset of a key: Nc-1, with the swap that of the longer axis on both */
};

struct srm_column {
	int y, p[2];
};

struct srm_lor {
	int u[2], l[2]; /* x, z from the voxel's cell */
	int a, b;       /* layers of u and l */
};

/* Swap first, then the mirrors and the exchange, which commute. Mirrors and exchange undo themselves. */
ISO_HD struct srm_lor srm_image(struct srm_lor e, int symmetry)
{
	int x = symmetry & SRM_SWAP ? 1 : 0;
	int sx = symmetry & SRM_MIRROR_X ? -1 : 1, sz = symmetry & SRM_MIRROR_Z ? -1 : 1;
	struct srm_lor r = { { sx * e.u[x], sz * e.u[1 - x] }, { sx * e.l[x], sz * e.l[1 - x] }, e.a, e.b };
	struct srm_lor s = { { r.l[0], r.l[1] }, { r.u[0], r.u[1] }, e.b, e.a };

	return symmetry & SRM_EXCHANGE ? s : r;
}

/* The same for a column, mirrors and exchange only. */
ISO_HD struct srm_column srm_column_image(const struct srm_shape *s, struct srm_column c, int symmetry)
{
	if (symmetry & SRM_MIRROR_X) c.p[0] = s->d[0] - 1 - c.p[0];
	if (symmetry & SRM_MIRROR_Z) c.p[1] = s->d[1] - 1 - c.p[1];
	if (symmetry & SRM_EXCHANGE) c.y = s->planes - 1 - c.y;
	return c;
}

/* Mirrors and exchange that carry a column to its folded one. */
ISO_HD int srm_fold(const struct srm_shape *s, struct srm_column c)
{
	return (2 * c.p[0] > s->d[0] - 1 ? SRM_MIRROR_X : 0) | (2 * c.p[1] > s->d[1] - 1 ? SRM_MIRROR_Z : 0) |
	       (2 * c.y > s->planes - 1 ? SRM_EXCHANGE : 0);
}

/* Symmetries that leave a folded column where it is; products of them do too. */
ISO_HD int srm_stays(const struct srm_shape *s, struct srm_column c)
{
	return (2 * c.p[0] == s->d[0] - 1 ? SRM_MIRROR_X : 0) |
	       (2 * c.p[1] == s->d[1] - 1 ? SRM_MIRROR_Z : 0) |
	       (2 * c.y == s->planes - 1 ? SRM_EXCHANGE : 0) | (s->swap && c.p[0] == c.p[1] ? SRM_SWAP : 0);
}

/* Crystals that cell, upper and lower crystal span along an axis, less 1. */
ISO_HD int srm_spread(int u, int l)
{
	int low = u < l ? u : l, high = u < l ? l : u;

	return (high > 0 ? high : 0) - (low < 0 ? low : 0);
}

/* Voxels of the column for which both crystals lie in the scanner; 0: no shift fits. */
ISO_HD int64_t srm_shifts(const struct srm_shape *s, struct srm_lor e)
{
	int x = s->nc[0] - srm_spread(e.u[0], e.l[0]), z = s->nc[1] - srm_spread(e.u[1], e.l[1]);

	return x > 0 && z > 0 ? (int64_t)x * z : 0;
}

/* As it is, or as the swap makes it. */
ISO_HD bool srm_usable(const struct srm_shape *s, struct srm_lor e)
{
	return srm_shifts(s, e) > 0 || (s->swap && srm_shifts(s, srm_image(e, SRM_SWAP)) > 0);
}

/* ---- an element as a number, in the order of a, b, ux, uz, lx, lz ---- */

ISO_HD uint64_t srm_number(const int reach[2], int layers, struct srm_lor e)
{
	uint64_t nx = 2 * (uint64_t)reach[0] + 1, nz = 2 * (uint64_t)reach[1] + 1;
	uint64_t u = (uint64_t)(e.u[0] + reach[0]) * nz + (uint64_t)(e.u[1] + reach[1]);
	uint64_t l = (uint64_t)(e.l[0] + reach[0]) * nz + (uint64_t)(e.l[1] + reach[1]);

	return ((uint64_t)(e.a * layers + e.b) * nx * nz + u) * nx * nz + l;
}

ISO_HD uint64_t srm_numbers(const int reach[2], int layers)
{
	uint64_t n = (2 * (uint64_t)reach[0] + 1) * (2 * (uint64_t)reach[1] + 1);

	return (uint64_t)layers * (uint64_t)layers * n * n;
}

ISO_HD struct srm_lor srm_element(const int reach[2], int layers, uint64_t number)
{
	uint32_t nz = 2 * (uint32_t)reach[1] + 1, n = (2 * (uint32_t)reach[0] + 1) * nz;
	uint64_t upper = number / n;
	uint32_t l = (uint32_t)(number - upper * n), ab = (uint32_t)(upper / n);
	uint32_t u = (uint32_t)(upper - (uint64_t)ab * n);
	struct srm_lor e = { { (int)(u / nz) - reach[0], (int)(u % nz) - reach[1] },
		             { (int)(l / nz) - reach[0], (int)(l % nz) - reach[1] },
		             (int)ab / layers,
		             (int)ab % layers };

	return e;
}

/* Of a class: keys, srm_number of s->reach, are of the extended heads; positions of the stored table of the
   scanner. */
ISO_HD uint64_t srm_position(const struct srm_shape *s, struct srm_lor e)
{
	int reach[2] = { s->nc[0] - 1, s->nc[1] - 1 };

	return srm_number(reach, s->layers, e);
}

ISO_HD struct srm_lor srm_at(const struct srm_shape *s, uint64_t position)
{
	int reach[2] = { s->nc[0] - 1, s->nc[1] - 1 };

	return srm_element(reach, s->layers, position);
}

/* The smallest key of the images of an element under what leaves its column in place: they all
   have one weight, and are counted together. */
ISO_HD uint64_t srm_canonical(const struct srm_shape *s, int stays, struct srm_lor e)
{
	uint64_t least = srm_number(s->reach, s->layers, e);

	for (int g = 1; g < SRM_SYMMETRIES; g++) {
		if ((g & stays) != g) continue;
		uint64_t key = srm_number(s->reach, s->layers, srm_image(e, g));

		least = key < least ? key : least;
	}
	return least;
}

#endif
