/* SPDX-License-Identifier: BSD-3-Clause */
/* Where photons scatter in the single-scatter estimate: blocks of the map's voxels, each at its centre of mass; and the
   tables over the cosine of the deflection. */
#include "physics/water.h"
#include "sss.h"

#define BLOCK_MM 20.
#define BLOCK_SHARE .1 /* of the least side of the box around the body */
#define BODY .1f       /* density */
#define UNSEEN 1e-6    /* e below which a term is left out */

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
static void block_size(int32_t k[3], const struct scene_volume *q, double block_mm)
{
	float box[2][3];

	if (!(block_mm > 0)) {
		block_mm = BLOCK_MM;
		box_around(box, q, BODY);
		for (int a = 0; a < 3; a++)
			if (box[1][a] > box[0][a])
				block_mm = fmin(block_mm, BLOCK_SHARE * (double)(box[1][a] - box[0][a]));
	}
	for (int a = 0; a < 3; a++) k[a] = (int32_t)fmax(1, round(block_mm / (double)q->voxel[a]));
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

static void make_points(struct sss *s, struct iso_room *room, const struct scene_volume *q, double block_mm)
{
	int32_t k[3], at[3];
	int64_t most = 1;
	struct sss_point *point;

	block_size(k, q, block_mm);
	for (int a = 0; a < 3; a++) most *= (q->n[a] + k[a] - 1) / k[a];
	ISO_HOST(room, point, most);
	if (room->status) return;
	for (at[2] = 0; at[2] < q->n[2]; at[2] += k[2])
		for (at[1] = 0; at[1] < q->n[1]; at[1] += k[1])
			for (at[0] = 0; at[0] < q->n[0]; at[0] += k[0])
				s->points += block_point(&point[s->points], q, at, k);
	s->point = point;
}

static void make_cosines(struct sss *s, struct iso_room *room, const struct scene *scene)
{
	struct sss_cosine *table;
	double least = 1;

	ISO_HOST(room, table, SSS_COSINES + 1);
	if (room->status) return;
	for (int i = 0; i <= 2 * SSS_COSINES; i++) {
		double c = 1 - (double)i / SSS_COSINES;

		if (scene_efficiency(scene, water_scattered(WATER_E0, c)) >= UNSEEN * scene->eps0) least = c;
	}
	least = fmin(least, 1 - 1e-3);
	s->least_cosine = (float)least;
	s->per_cosine = (float)(SSS_COSINES / (1 - (double)s->least_cosine));
	for (int i = 0; i <= SSS_COSINES; i++) {
		double c = (double)s->least_cosine + (1 - (double)s->least_cosine) * i / SSS_COSINES;
		double kev = water_scattered(WATER_E0, c), e = scene_efficiency(scene, kev) / scene->eps0;

		table[i].k = (float)(e < UNSEEN ? 0
		                                : 4 * scene->rho * scene->rho * WATER_ELECTRONS *
		                                          water_klein_nishina(WATER_E0, c) * e);
		table[i].d = (float)(water_mu(kev) - water_mu(WATER_E0));
	}
	s->cosine = table;
}

int sss_make(struct sss *s, struct iso_room *room, const struct scene *scene, double block_mm)
{
	*s = (struct sss){ .q = scene->q,
		           .f = scene->f,
		           .rho = (float)scene->rho,
		           .mu = (float)water_mu(WATER_E0),
		           .piece = (float)(scene->sigma / TABLE_PER_SIGMA) };
	box_around(s->q_box, &s->q, 0);
	box_around(s->f_box, &s->f, 0);
	make_cosines(s, room, scene);
	make_points(s, room, &scene->fine, block_mm);
	return room->status;
}
