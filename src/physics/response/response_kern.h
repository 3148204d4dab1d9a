/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends of a line as crystals record them: from the line between two nominal points to N = p^2 lines between places beside
   them, and the weight of the pair. Plain data and double arithmetic, for every device.

   Photons fly outwards along (sin phi cos theta, sin theta, cos phi cos theta) in (t, z, n), the axes of a module. The table has
   phi, theta >= 0. phi < 0 reads the crystal mirrored in t and turns the sign of u; theta < 0 the one mirrored in z, and v. */
#ifndef ISO_RESPONSE_KERN_H
#define ISO_RESPONSE_KERN_H

#include "core/hd.h"
#include "scanner/cylinder_kern.h"

enum {
	RESPONSE_PHIS = 27,   /* directions: steps of 2.5 degrees, */
	RESPONSE_THETAS = 10, /* and of 5 */
	RESPONSE_DIRECTIONS = RESPONSE_PHIS * RESPONSE_THETAS,
	RESPONSE_RINGS = 8,   /* of modules, at most */
	RESPONSE_SHORT = 100, /* pairs nearer than the greatest length over this weigh as at that distance */
};
#define RESPONSE_PHI_STEP (2.5 * M_PI / 180)
#define RESPONSE_THETA_STEP (5 * M_PI / 180)

/* A ring of flat modules. */
struct response_ring {
	double face, first,
		z; /* distance of the crystals' faces from the axis; angle of module 0, rad; middle along z */
	int64_t modules;
};

/* Where crystals are: of modules along t and z, of blocks of crystals. */
struct response_crystals {
	bool flat; /* modules; else blocks of a cylinder, each of which is a module of its own */
	int rings;
	struct response_ring ring[RESPONSE_RINGS];
	struct cylinder cylinder;
	int32_t block[2], blocks[2]; /* crystals of a block; blocks of a module */
	double pitch[2], gap[2];     /* of crystals; between blocks */
	int32_t layers;
	double depth;   /* of all layers */
	double two_rho; /* greatest length of a line: of scatter.md, mm */
};

/* Pointers are host or device memory, as the backend needs. */
struct response_view {
	struct response_crystals at;
	int32_t p;         /* nodes; 0: there is no response */
	const float *node; /* (phi, theta, place, 2, p): mm */
	const float *
		area; /* (phi, theta, crystal of the module): over that of the mean crystal along the normal */
};

/* Where a direction lies between those of the table. */
struct response_angles {
	int32_t phi, theta;      /* the lower ones */
	double up_phi, up_theta; /* share of the upper ones */
	bool turn_t, turn_z;     /* the mirror image is read */
};

/* One end of a line. */
struct response_end {
	double u[3], v[3]; /* unit vectors across the line */
	struct response_angles angles;
	int64_t place, crystal; /* in its block; in its module */
};

/* Place between the nodes of an axis, 0 .. n - 1 steps. */
ISO_HD int32_t response_between(double *up, double at, int32_t n)
{
	double v = at < n - 1 ? at : n - 1;
	int32_t i = (int32_t)v < n - 2 ? (int32_t)v : n - 2;

	*up = v - i;
	return i;
}

ISO_HD struct response_angles response_angles_of(double phi, double theta)
{
	struct response_angles a;

	a.turn_t = phi < 0;
	a.turn_z = theta < 0;
	a.phi = response_between(&a.up_phi, fabs(phi) / RESPONSE_PHI_STEP, RESPONSE_PHIS);
	a.theta = response_between(&a.up_theta, fabs(theta) / RESPONSE_THETA_STEP, RESPONSE_THETAS);
	return a;
}

/* Value `at` of tables of `each` values a direction, between the four directions around. */
ISO_HD double response_value(const float *v, int64_t each, int64_t at, const struct response_angles *a)
{
	const float *low = v + ((int64_t)a->phi * RESPONSE_THETAS + a->theta) * each + at;
	const float *high = low + RESPONSE_THETAS * each;

	return (1 - a->up_phi) * ((1 - a->up_theta) * low[0] + a->up_theta * low[each]) +
	       a->up_phi * ((1 - a->up_theta) * high[0] + a->up_theta * high[each]);
}

/* Crystal of a row of blocks, by the place from the row's middle, mm. */
ISO_HD int64_t response_column(const struct response_crystals *c, int axis, double place)
{
	double block = c->block[axis] * c->pitch[axis], step = block + c->gap[axis];
	double from = place + (c->blocks[axis] * step - c->gap[axis]) / 2;
	int64_t b = scanner_cell((from + c->gap[axis] / 2) / step, c->blocks[axis]);

	return b * c->block[axis] + scanner_cell((from - (double)b * step) / c->pitch[axis], c->block[axis]);
}

/* The module's normal round the axis, and columns i along t and z, of a place on a ring of modules; layer by depth. */
ISO_HD void response_find_flat(const struct response_crystals *c, const double p[3], double normal[2],
                               int64_t i[2], int64_t *layer)
{
	double best = INFINITY, turn = atan2(p[1], p[0]);

	for (int r = 0; r < c->rings; r++) {
		const struct response_ring *ring = c->ring + r;
		double step = 2 * M_PI / (double)ring->modules;
		double angle = ring->first + round((turn - ring->first) / step) * step;
		double n[2] = { cos(angle), sin(angle) };
		double depth = p[0] * n[0] + p[1] * n[1] - ring->face, z = p[2] - ring->z;
		double half = (c->blocks[1] * (c->block[1] * c->pitch[1] + c->gap[1]) - c->gap[1]) / 2;
		double off = fabs(depth - c->depth / 2) + fmax(0., fabs(z) - half);

		if (!(off < best)) continue;
		best = off;
		normal[0] = n[0];
		normal[1] = n[1];
		i[0] = response_column(c, 0, p[1] * n[0] - p[0] * n[1]);
		i[1] = response_column(c, 1, z);
		*layer = scanner_cell(depth / c->depth * c->layers, c->layers);
	}
}

/* Blocks of a cylinder stand for modules: lines end on an arc, at the crystals' angles. */
ISO_HD void response_find_round(const struct response_crystals *c, const double p[3], double normal[2],
                                int64_t i[2], int64_t *layer)
{
	bool inside;
	int64_t column = cylinder_column(&c->cylinder, p[0], p[1], &inside);
	double angle = ((double)(column / c->cylinder.block) + .5) * 2 * M_PI / c->cylinder.blocks;

	normal[0] = cos(angle);
	normal[1] = sin(angle);
	i[0] = column % c->cylinder.block;
	i[1] = cylinder_ring(&c->cylinder, p[2], &inside);
	*layer = 0;
}

/* The end at `p` of a line that flies outwards there along the unit vector d. */
ISO_HD struct response_end response_end_of(const struct response_view *v, const double p[3],
                                           const double d[3])
{
	const struct response_crystals *c = &v->at;
	double n[2] = { 1, 0 };
	int64_t i[2] = { 0, 0 }, in[2], layer = 0;
	struct response_end e;

	if (c->flat)
		response_find_flat(c, p, n, i, &layer);
	else
		response_find_round(c, p, n, i, &layer);
	double dn = d[0] * n[0] + d[1] * n[1], dt = d[1] * n[0] - d[0] * n[1],
	       across = sqrt(dn * dn + dt * dt);
	double s = across > 0 ? dt / across : 0, k = across > 0 ? dn / across : 1;

	/* u = (k, 0, -s), v = (-d_z s, across, -d_z k) in (t, z, n) */
	e.u[0] = -k * n[1] - s * n[0];
	e.u[1] = k * n[0] - s * n[1];
	e.u[2] = 0;
	e.v[0] = -d[2] * (k * n[0] - s * n[1]);
	e.v[1] = -d[2] * (k * n[1] + s * n[0]);
	e.v[2] = across;
	e.angles = response_angles_of(atan2(dt, dn), atan2(d[2], across));
	for (int a = 0; a < 2; a++) {
		if (a ? e.angles.turn_z : e.angles.turn_t)
			i[a] = (int64_t)c->block[a] * c->blocks[a] - 1 - i[a];
		in[a] = i[a] % c->block[a];
	}
	e.place = (in[1] * c->block[0] + in[0]) * c->layers + layer;
	e.crystal = (i[1] * c->block[0] * c->blocks[0] + i[0]) * c->layers + layer;
	return e;
}

/* Node `number` of an end along u (axis 0) or v (1), mm, in rising order. */
ISO_HD double response_node(const struct response_view *v, const struct response_end *e, int axis,
                            int32_t number)
{
	const struct response_crystals *c = &v->at;
	int64_t each = (int64_t)c->block[0] * c->block[1] * c->layers * 2 * v->p;
	bool turned = axis ? e->angles.turn_z : e->angles.turn_t;
	int64_t at = (e->place * 2 + axis) * v->p + (turned ? v->p - 1 - number : number);
	double node = response_value(v->node, each, at, &e->angles);

	return turned ? -node : node;
}

/* D over D_0 of the crystal at an end. */
ISO_HD double response_area(const struct response_view *v, const struct response_end *e)
{
	const struct response_crystals *c = &v->at;
	int64_t each = (int64_t)c->block[0] * c->blocks[0] * c->block[1] * c->blocks[1] * c->layers;

	return response_value(v->area, each, e->crystal, &e->angles);
}

/* Both ends of the line between two nominal points; 0: there is none between them. Else its length, mm. */
ISO_HD double response_ends_of(struct response_end e[2], const struct response_view *v, const double p1[3],
                               const double p2[3])
{
	double d[3] = { p2[0] - p1[0], p2[1] - p1[1], p2[2] - p1[2] }, back[3];
	double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);

	if (!(length > 0 && length < 1e9) || !(fabs(p1[0]) + fabs(p1[1]) + fabs(p1[2]) < 1e9)) return 0;
	for (int a = 0; a < 3; a++) {
		d[a] /= length;
		back[a] = -d[a];
	}
	e[0] = response_end_of(v, p1, back);
	e[1] = response_end_of(v, p2, d);
	return length;
}

/* Moves the two ends to line a p + b of p^2: node numbers a, b, (a + b) mod p, (a + 2 b) mod p of u and v of end 1 and of
   end 2, so that each two of the four meet in every way once (an orthogonal array). */
ISO_HD void response_move(double p1[3], double p2[3], const struct response_view *v,
                          const struct response_end e[2], int line)
{
	int32_t a = line / v->p, b = line % v->p;
	double u1 = response_node(v, e, 0, a), v1 = response_node(v, e, 1, b);
	double u2 = response_node(v, e + 1, 0, (a + b) % v->p),
	       v2 = response_node(v, e + 1, 1, (a + 2 * b) % v->p);

	for (int i = 0; i < 3; i++) {
		p1[i] += u1 * e[0].u[i] + v1 * e[0].v[i];
		p2[i] += u2 * e[1].u[i] + v2 * e[1].v[i];
	}
}

/* w = D_a D_b (2 rho)^2/(L^2 D_0^2); 0: there is no line. */
ISO_HD double response_pair_weight(const struct response_view *v, const double p1[3], const double p2[3])
{
	struct response_end e[2];
	double length = response_ends_of(e, v, p1, p2);

	if (!(length > 0)) return 0;
	double far = fmin(v->at.two_rho / length, RESPONSE_SHORT);

	return response_area(v, e) * response_area(v, e + 1) * far * far;
}

#endif
