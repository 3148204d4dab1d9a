/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines between equal rings of crystals, many at a time.

   Crystals c1 and c2, seen along z, are joined by one line in the plane and by a line in space for
   every two rings. At the share t of the way from c1 to c2 the lines of rings i and k are at
   z = z_i + (z_k - z_i) t, whatever c1 and c2 are. So what all of them leave in the voxels above a pixel
   is found from a table over t, which ray_rings.c makes. With a distance L in the plane a line weighs

     w L shape,  shape = (1 + (dz/L)^2)^e,  w = 1, e = 1/2, or w the solid angle at dz = 0, e = -3/2

   per unit of t. Tables are linear from step to step: a voxel that no line meets, nearer to one than a step, has
   what that step has of it; farther ones have 0. Pairs as many crystals apart, an *offset*, have nearly the same L: a table each, found
   by the cubic through the tables of four of RINGS_NODES distances. */
#ifndef ISO_RAY_RINGS_H
#define ISO_RAY_RINGS_H

#include "core/room.h"
#include "ray_sens.h"

#define RINGS_STEPS 1024 /* of t in a table, linear in between */
#define RINGS_NODES 12

/* Pointers are host or device memory, as the backend needs. */
struct ray_rings {
	struct ray_grid plane; /* one slice of the grid, 1 mm thick from z = 0 */
	int nz;                /* slices */
	enum iso_projector projector;
	struct ray_spread spread;
	struct iso_pairs pairs;
	bool solid_angle;
	const double *pos; /* (crystals of a ring, 3) */
	int64_t offsets;
	/* of lines between two crystals in the plane: 1; of several lines 2 each, as end 1 belongs to the
	   crystal in the lower ring */
	int kinds;
	const double *apart;      /* (offsets): L, mm, the middle of an offset's distances */
	double node[RINGS_NODES]; /* L of the tables, mm */
	/* (kinds, RINGS_NODES, RINGS_STEPS + 1, nz) over w L. Exact chords: the integral from 0 to t of the
	   lines in slice j; Joseph: their share of slice j at t. */
	const float *table;
};

/* Pairs in the plane of an offset: first .. first + n. */
ISO_HD int64_t rings_first(const struct ray_rings *r, int64_t offset)
{
	return offset * r->pairs.per_ring;
}

ISO_HD int64_t rings_count(const struct ray_rings *r, int64_t offset)
{
	int64_t left = r->pairs.same - offset * r->pairs.per_ring;

	return left < r->pairs.per_ring ? left : r->pairs.per_ring;
}

/* The two crystals of pair k in the plane, and where they are, at z = 1/2 of the plane. */
ISO_HD void rings_crystals(const struct ray_rings *r, int64_t k, int64_t *a, int64_t *b, double p1[3],
                           double p2[3])
{
	pairs_rings(&r->pairs, k, a, b);
	for (int c = 0; c < 2; c++) {
		p1[c] = r->pos[3 * *a + c];
		p2[c] = r->pos[3 * *b + c];
	}
	p1[2] = p2[2] = .5;
}

ISO_HD double rings_distance(const double p1[3], const double p2[3])
{
	double x = p2[0] - p1[0], y = p2[1] - p1[1];

	return sqrt(x * x + y * y);
}

/* mm along z from the crystal at end 0 or 1 of a pair to where its lines of a kind end. */
ISO_HD double rings_up(const struct ray_spread *s, int kind, int end)
{
	return s->lines > 1 ? (double)s->off[kind / 2][kind % 2 == end ? 1 : 3] : 0;
}

/* Whether lines between ring i, of the first crystal, and ring k are of the kind. */
ISO_HD bool rings_join(const struct ray_spread *s, int kind, int64_t i, int64_t k)
{
	return s->lines <= 1 || (kind % 2 ? i > k : i <= k);
}

/* Line `kind` of a pair, seen along z. t = (x - from) per_x, x the coordinate along its main axis. */
struct rings_line {
	struct ray ray;
	double from, per_x;
	float scale; /* w L of a line */
};

ISO_HD struct rings_line rings_line(const struct ray_rings *r, int64_t k, int kind)
{
	struct rings_line l;
	double p1[3], p2[3];
	int64_t a, b;

	rings_crystals(r, k, &a, &b, p1, p2);
	double weight = (r->solid_angle ? pairs_solid_angle(p1, p2) : 1) / r->spread.lines;

	if (r->spread.lines > 1) {
		const float *off = r->spread.off[kind / 2];
		bool swap = kind % 2;

		ray_move_end(p1, off[swap ? 2 : 0], 0);
		ray_move_end(p2, off[swap ? 0 : 2], 0);
	}
	l.ray = ray_setup(&r->plane, p1, p2, NULL, 0);
	int axis = l.ray.axis;

	l.from = (p1[axis] - r->plane.low[axis]) / r->plane.voxel[axis];
	l.per_x = r->plane.voxel[axis] / (p2[axis] - p1[axis]);
	l.scale = (float)(weight * rings_distance(p1, p2));
	return l;
}

/* t, in [0, 1], at x. */
ISO_HD double rings_t(const struct rings_line *l, double x)
{
	return fmin(fmax((x - l->from) * l->per_x, 0.), 1.);
}

/* Step of the table below t, and how far beyond it t is, in steps. */
ISO_HD int rings_step(double t, float *beyond)
{
	double at = t * RINGS_STEPS;
	int m = (int)fmin(floor(at), RINGS_STEPS - 1.);

	*beyond = (float)(at - m);
	return m;
}

/* The first of four nodes around distance l, and their shares. */
ISO_HD int rings_between(const struct ray_rings *r, double l, double share[4])
{
	int first = 0;

	while (first < RINGS_NODES - 4 && l > r->node[first + 2]) first++;
	for (int i = 0; i < 4; i++) {
		share[i] = 1;
		for (int k = 0; k < 4; k++)
			if (k != i)
				share[i] *=
					(l - r->node[first + k]) / (r->node[first + i] - r->node[first + k]);
	}
	return first;
}

/* Offsets in the plane between two crystals of a pair; and kinds of lines that a pair has. */
ISO_HD int64_t rings_offsets(const struct ray_sens *q)
{
	return (q->pairs.same + q->pairs.per_ring - 1) / q->pairs.per_ring;
}

ISO_HD int rings_kinds(const struct ray_sens *q)
{
	return q->spread.lines > 1 ? 2 * q->spread.lines : 1;
}

/* Whether lines can go by rings: rings are equal, and main axes of Joseph's lines lie in the plane. */
bool iso_rings_serve(const struct ray_sens *q);

/* In arrays of the room, on the host. */
int iso_rings_create(struct ray_rings *r, struct iso_room *room, const struct ray_sens *q);
void iso_rings_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct ray_sens *q);

#endif
