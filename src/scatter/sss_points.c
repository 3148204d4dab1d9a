/* SPDX-License-Identifier: BSD-3-Clause */
/* Where photons scatter in the single-scatter estimate: blocks of the map's voxels, each at its centre of mass. A photon that
   comes from a point just below a surface has met activity on a way that grows with the root of the depth, steeper than the
   middle of a block can stand for: with blocks of a tenth of the object lines beside it got 1.5 % too much. So blocks at the
   surface are cut in two along the axes that meet it. */
#include "physics/water.h"
#include "sss.h"

#define BLOCK_MM 20.
#define BLOCK_SHARE .1   /* of the least side of the box around the body */
#define BLOCK_SIGMAS 1.6 /* of the time of flight: scatter of points farther apart shows as ripples along u */
#define LEAST_MM 8.      /* that the time of flight asks for */
#define GUIDE_BLOCKS 1.5 /* blocks of the guide, whose scale does not matter */
#define BODY .1f         /* density */

/* mm: around the voxels above `floor`. */
static void box_around(float box[2][3], const struct scene_volume *v, float above)
{
	int32_t low[3] = { v->n[0], v->n[1], v->n[2] }, high[3] = { -1, -1, -1 };

	for (int32_t z = 0; z < v->n[2]; z++)
		for (int32_t y = 0; y < v->n[1]; y++)
			for (int32_t x = 0; x < v->n[0]; x++) {
				int32_t at[3] = { x, y, z };

				if (!(v->v[((int64_t)z * v->n[1] + y) * v->n[0] + x] > above)) continue;
				for (int a = 0; a < 3; a++) {
					low[a] = at[a] < low[a] ? at[a] : low[a];
					high[a] = at[a] > high[a] ? at[a] : high[a];
				}
			}
	for (int a = 0; a < 3; a++) {
		box[0][a] = v->low[a] + (float)low[a] * v->voxel[a];
		box[1][a] = v->low[a] + (float)(high[a] + 1) * v->voxel[a];
	}
}

/* Voxels of a block, each way. */
static void block_voxels(int32_t k[3], const struct scene_volume *q, double block_mm)
{
	for (int a = 0; a < 3; a++) k[a] = (int32_t)fmax(1, round(block_mm / (double)q->voxel[a]));
}

double sss_block_most(double sigma)
{
	return sigma > 0 ? fmin(BLOCK_MM, fmax(BLOCK_SIGMAS * sigma, LEAST_MM)) : BLOCK_MM;
}

double sss_block_mm(const struct scene *s)
{
	double block = sss_block_most(s->sigma);
	float box[2][3];

	box_around(box, &s->fine, BODY);
	for (int a = 0; a < 3; a++)
		if (box[1][a] > box[0][a]) block = fmin(block, BLOCK_SHARE * (double)(box[1][a] - box[0][a]));
	return block;
}

/* Weight and centre of mass of the block that begins at voxel `from`; false: it is empty. */
static bool block_point(struct sss_point *p, const struct scene_volume *q, const int32_t from[3],
                        const int32_t k[3])
{
	double mass = 0, moment[3] = { 0, 0, 0 };
	int32_t to[3];

	for (int a = 0; a < 3; a++) to[a] = from[a] + k[a] < q->n[a] ? from[a] + k[a] : q->n[a];
	for (int32_t z = from[2]; z < to[2]; z++)
		for (int32_t y = from[1]; y < to[1]; y++)
			for (int32_t x = from[0]; x < to[0]; x++) {
				double v = (double)q->v[((int64_t)z * q->n[1] + y) * q->n[0] + x];

				mass += v;
				moment[0] += v * (x + .5);
				moment[1] += v * (y + .5);
				moment[2] += v * (z + .5);
			}
	if (!(mass > 0)) return false;
	for (int a = 0; a < 3; a++)
		p->at[a] = (float)((double)q->low[a] + moment[a] / mass * (double)q->voxel[a]);
	p->weight = (float)(mass * (double)q->voxel[0] * (double)q->voxel[1] * (double)q->voxel[2]);
	return true;
}

static bool is_body(const struct scene_volume *q, const int32_t at[3])
{
	for (int a = 0; a < 3; a++)
		if (at[a] < 0 || at[a] >= q->n[a]) return false;
	return q->v[((int64_t)at[2] * q->n[1] + at[1]) * q->n[0] + at[0]] > BODY;
}

/* Whether a way along an axis meets the surface in a block, or at its ends. */
static bool meets_surface(const struct scene_volume *q, const int32_t from[3], const int32_t k[3], int axis)
{
	int32_t voxels = k[0] * k[1] * k[2];

	for (int32_t i = 0; i < voxels; i++) {
		int32_t at[3] = { from[0] + i % k[0], from[1] + i / k[0] % k[1], from[2] + i / k[0] / k[1] };
		int32_t next[3] = { at[0], at[1], at[2] }, last[3] = { at[0], at[1], at[2] };

		next[axis]++;
		last[axis]--;
		if (is_body(q, at) != is_body(q, next) || is_body(q, at) != is_body(q, last)) return true;
	}
	return false;
}

/* The points of a block, in two parts along each axis that meets the surface: how many hold matter. */
static int64_t cut_block(struct sss_point *p, const struct scene_volume *q, const int32_t from[3],
                         const int32_t k[3])
{
	int32_t low[3]; /* voxels of the lower part */
	int64_t points = 0;

	for (int a = 0; a < 3; a++) low[a] = meets_surface(q, from, k, a) ? k[a] / 2 : 0;
	for (int part = 0; part < 8; part++) {
		int32_t at[3], size[3];

		for (int a = 0; a < 3; a++) {
			bool upper = part >> a & 1;

			at[a] = from[a] + (upper ? low[a] : 0);
			size[a] = upper ? k[a] - low[a] : low[a];
		}
		if (size[0] > 0 && size[1] > 0 && size[2] > 0) points += block_point(&p[points], q, at, size);
	}
	return points;
}

static void make_points(struct sss *s, struct iso_room *room, const struct scene_volume *q, double block_mm,
                        bool cut)
{
	int32_t k[3], at[3];
	int64_t most = cut ? 8 : 1;
	struct sss_point *point;

	block_voxels(k, q, block_mm);
	for (int a = 0; a < 3; a++) most *= (q->n[a] + k[a] - 1) / k[a];
	ISO_HOST(room, point, most);
	if (room->status) return;
	for (at[2] = 0; at[2] < q->n[2]; at[2] += k[2])
		for (at[1] = 0; at[1] < q->n[1]; at[1] += k[1])
			for (at[0] = 0; at[0] < q->n[0]; at[0] += k[0])
				s->points += cut ? cut_block(&point[s->points], q, at, k)
				                 : block_point(&point[s->points], q, at, k);
	s->point = point;
}

int sss_make(struct sss *s, struct iso_room *room, const struct scene *scene, double block_mm,
             enum sss_kernel kernel)
{
	*s = (struct sss){ .q = scene->q,
		           .f = scene->f,
		           .rho = (float)scene->rho,
		           .mu = (float)water_mu(WATER_E0),
		           .piece = (float)(scene->sigma / TABLE_PER_SIGMA),
		           .scene = scene };
	box_around(s->q_box, &s->q, 0);
	box_around(s->f_box, &s->f, 0);
	sss_make_cosines(s, room, scene, kernel);
	double block = block_mm > 0 ? block_mm : sss_block_mm(scene);

	make_points(s, room, &scene->fine, kernel == SSS_GUIDE ? GUIDE_BLOCKS * block : block,
	            kernel == SSS_ONCE && !(block_mm > 0));
	return room->status;
}
