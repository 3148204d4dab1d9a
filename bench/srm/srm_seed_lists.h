/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the papers' strategies, and where their symmetric images lie.

   Seed rows (Chou 2012): one list of voxels for each unsigned direction. One LOR of it stands for
   up to four, by the mirrors of x and z; they coincide where dx = 0 or dz = 0, and are taken once.

   Seed columns (Meng 2019): one list of crystal pairs for each phase of the planes up to the
   middle one. A voxel stands for up to eight, by the mirrors and the exchange of the heads; one
   that is its own image is taken once.

   Both lists hold all places of unbounded heads: what a shift carries out of the scanner is
   skipped. A mirror carries the scanner onto itself, so one test serves all images. */
#ifndef ISO_SRM_SEED_LISTS_H
#define ISO_SRM_SEED_LISTS_H

#include "model/srm/srm_op.h"

/* ---- voxels of an image, x fastest: (z Ny + y) Nx + x ---- */

struct srm_image_size {
	int nx, ny, nz;
};

ISO_HD struct srm_image_size srm_image_size(const struct srm_shape *s)
{
	struct srm_image_size n = { s->nc[0] * s->d[0], s->planes, s->nc[1] * s->d[1] };

	return n;
}

/* Mirror image g: bit 0 mirrors x, bit 1 z, bit 2 y. */
ISO_HD int srm_mirror_voxel(struct srm_image_size n, int x, int y, int z, int g)
{
	x = g & 1 ? n.nx - 1 - x : x;
	z = g & 2 ? n.nz - 1 - z : z;
	y = g & 4 ? n.ny - 1 - y : y;
	return (z * n.ny + y) * n.nx + x;
}

/* Whether image g of the voxel is one of its images with a smaller number. */
ISO_HD bool srm_is_repeated(struct srm_image_size n, int x, int y, int z, int g)
{
	return ((g & 1) && 2 * x == n.nx - 1) || ((g & 2) && 2 * z == n.nz - 1) ||
	       ((g & 4) && 2 * y == n.ny - 1);
}

/* ---- seed rows ---- */

struct srm_seed {
	int64_t element; /* first of its list; the next seed's follow */
	int64_t lor;     /* LORs (ux, uz) of the seeds before it, mirrors not counted */
	int64_t row[4];  /* first row of mirror image g, bit 0 x, bit 1 z; -1: coincides with another */
	int dx, dz;
};

struct srm_place {
	int16_t y, i, k; /* as struct iso_srm_voxel */
	int16_t unused;  /* 8 bytes: one load */
};

/* The lists may be moved to a device. */
struct srm_seed_rows {
	struct srm_shape shape;
	struct srm_image_size size;
	int n_sub;
	int64_t n;               /* seeds, by subset, then layers, then direction */
	struct srm_seed *seed;   /* n + 1: the last one ends the lists */
	struct srm_place *place; /* by (k, y, i): neighbours are neighbours in the image */
	iso_real *w;
	int64_t *of_subset, *lor; /* n_sub + 1, on the host: its first seed, and its first LOR */
	struct iso_rows *mine;    /* n_sub, on the host: LORs of a subset that this rank has */
	double most;              /* greatest weight */
};

/* ---- seed columns ---- */

struct srm_seed_columns {
	struct srm_shape shape;
	struct srm_image_size size;
	int n_sub;
	int phases[2]; /* all Dx, Dz, or the folded ones: (Dx+1)/2, (Dz+1)/2 */
	int64_t n;     /* columns (y phases[0] + px) phases[1] + pz */
	int64_t *ptr;  /* list ((column L + a) L + b) n_sub + subset; one more ends the last */
	struct iso_srm_pair *pair;
	iso_real *w;
	int64_t *first; /* first row of each signed direction, by layers a, b, then number */
	double most;    /* greatest weight */
};

ISO_BEGIN_C

/* Of an operator that has its matrix, into arrays of the room. Seeds are dealt to ranks, into m->share. Folded: a quarter of the columns, the others
   being mirrored on the way. */
int iso_srm_seed_rows(struct srm_seed_rows *r, struct iso_room *room, const struct srm_op *m);
int iso_srm_seed_columns(struct srm_seed_columns *c, struct iso_room *room, const struct srm_op *m,
                         bool folded);

ISO_END_C

/* ---- LORs of a seed row ---- */

/* Seed of LOR number `lor`, among seeds low ... high - 1. */
ISO_HD int64_t srm_seed_of(const struct srm_seed *seed, int64_t low, int64_t high, int64_t lor)
{
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (seed[middle].lor <= lor)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Row of mirror image g of the LOR with the upper crystal (ux, uz); -1: it is another's. */
ISO_HD int64_t srm_mirror_row(const struct srm_shape *s, const struct srm_seed *seed, int ux, int uz, int g)
{
	int nx = s->nc[0] - seed->dx, nz = s->nc[1] - seed->dz;

	if (seed->row[g] < 0) return -1;
	return seed->row[g] + (int64_t)(g & 1 ? nx - 1 - ux : ux) * nz + (g & 2 ? nz - 1 - uz : uz);
}

/* ---- LORs in the natural order, within layers (a, b): ((ux Ncz + uz) Ncx + lx) Ncz + lz ---- */

/* The number is a sum of a part of x and one of z, and the mirror of a part is the greatest less
   the part. */
struct srm_parts {
	int x, z;
};

ISO_HD struct srm_parts srm_lor_parts(const struct srm_shape *s, int ux, int uz, int lx, int lz)
{
	int face = s->nc[0] * s->nc[1];
	struct srm_parts p = { ux * s->nc[1] * face + lx * s->nc[1], uz * face + lz };

	return p;
}

ISO_HD int srm_mirror_lor(struct srm_parts p, struct srm_parts greatest, int g)
{
	return (g & 1 ? greatest.x - p.x : p.x) + (g & 2 ? greatest.z - p.z : p.z);
}

/* The same LOR with the heads exchanged; number over all layers. */
ISO_HD int64_t srm_exchanged(const struct srm_shape *s, int64_t lor)
{
	int64_t face = (int64_t)s->nc[0] * s->nc[1], ab = lor / (face * face);
	int64_t u = lor / face % face, l = lor % face;

	return ((ab % s->layers * s->layers + ab / s->layers) * face + l) * face + u;
}

/* Its row in the operator. */
ISO_HD int64_t srm_row_of(const struct srm_shape *s, const int64_t *first, int64_t lor)
{
	int64_t face = (int64_t)s->nc[0] * s->nc[1], ab = lor / (face * face);
	int u = (int)(lor / face % face), l = (int)(lor % face);
	int ux = u / s->nc[1], uz = u % s->nc[1];
	int dx = l / s->nc[1] - ux, dz = l % s->nc[1] - uz;
	int64_t across = 2 * s->nc[1] - 1, directions = (2 * s->nc[0] - 1) * across;
	int64_t d = ab * directions + (dx + s->nc[0] - 1) * across + dz + s->nc[1] - 1;
	int nz = s->nc[1] - (dz < 0 ? -dz : dz);

	return first[d] + (int64_t)(dx < 0 ? ux + dx : ux) * nz + (dz < 0 ? uz + dz : uz);
}

/* ---- voxels of a seed column ---- */

/* One voxel of an eighth of the image: its column, its cell, and the mirrors, if the table is
   folded, from the column to it. */
struct srm_octant {
	int x, y, z;
	int64_t column;
	int cell[2], sign[2];
};

/* Cells an axis that have voxels in the lower half. */
ISO_HD int srm_half_cells(const struct srm_shape *s, int axis)
{
	return (s->nc[axis] + 1) / 2;
}

/* How many numbers srm_octant takes; voxels of one column follow one another. */
ISO_HD int64_t srm_octants(const struct srm_shape *s)
{
	return (int64_t)((s->planes + 1) / 2) * s->d[0] * s->d[1] * srm_half_cells(s, 0) *
	       srm_half_cells(s, 1);
}

/* False: beyond the middle of an odd number of cells. */
ISO_HD bool srm_octant(struct srm_octant *o, const struct srm_shape *s, const int phases[2], int64_t number)
{
	struct srm_image_size n = srm_image_size(s);
	int cells = srm_half_cells(s, 0) * srm_half_cells(s, 1);
	int cell = (int)(number % cells), phase = (int)(number / cells % (s->d[0] * s->d[1]));
	int px = phase / s->d[1], pz = phase % s->d[1];

	o->y = (int)(number / cells / (s->d[0] * s->d[1]));
	o->cell[0] = cell / srm_half_cells(s, 1);
	o->cell[1] = cell % srm_half_cells(s, 1);
	o->x = o->cell[0] * s->d[0] + px;
	o->z = o->cell[1] * s->d[1] + pz;
	o->sign[0] = px < phases[0] ? 1 : -1;
	o->sign[1] = pz < phases[1] ? 1 : -1;
	px = px < phases[0] ? px : s->d[0] - 1 - px;
	pz = pz < phases[1] ? pz : s->d[1] - 1 - pz;
	o->column = ((int64_t)o->y * phases[0] + px) * phases[1] + pz;
	return 2 * o->x <= n.nx - 1 && 2 * o->z <= n.nz - 1;
}

/* Natural number, in parts, of an element's LOR at this voxel; false: not in the scanner. */
ISO_HD bool srm_octant_lor(struct srm_parts *p, const struct srm_shape *s, const struct srm_octant *o, int ux,
                           int uz, int lx, int lz)
{
	ux = o->cell[0] + o->sign[0] * ux;
	lx = o->cell[0] + o->sign[0] * lx;
	uz = o->cell[1] + o->sign[1] * uz;
	lz = o->cell[1] + o->sign[1] * lz;
	*p = srm_lor_parts(s, ux, uz, lx, lz);
	return (unsigned)ux < (unsigned)s->nc[0] && (unsigned)lx < (unsigned)s->nc[0] &&
	       (unsigned)uz < (unsigned)s->nc[1] && (unsigned)lz < (unsigned)s->nc[1];
}

#endif
