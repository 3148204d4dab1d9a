/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of an object that moves along z alone, on a cylinder: a plane of the object has at each pose what the scanner
   has there. So four images of the scanner, by its rings, as long as the travel and a quarter of a voxel apart, serve any
   number of positions. A pose between two quarters of a voxel has the line between them.

   A map that moves with the object takes from this by a factor, S with the map over S without, that is made for clusters of
   poses:  S = sum over clusters (sum over their pieces of w S_geo) S_mu / S_geo. */
#include "ray_sens_moved.h"

#include "core/comm.h"
#include "core/room.h"

#include <math.h>

enum { QUARTERS = 4 }; /* of a voxel */
#define CLUSTER_MM 6
#define SAME 1e-6 /* mm */

struct along {
	const struct iso_ray_sens_moved *p;
	iso_ctx *ctx;
	struct iso_room room;
	int64_t plane, planes, row; /* voxels; planes of the object; planes of an image of the scanner */
	double low, step;           /* mm: T of the first plane of image 0; a quarter of a voxel */
	iso_real *image[QUARTERS];
	double *quarter;  /* weights, of poses so many steps from the lowest */
	int64_t quarters; /* of them */
};

bool ray_sens_along_z(const struct iso_ray_sens_moved *p)
{
	for (int64_t k = 1; k < p->n; k++)
		for (int a = 0; a < 2; a++)
			if (fabs(p->piece[k].z.m[4 * a + 3] - p->piece[0].z.m[4 * a + 3]) > SAME)
				return false;
	return true;
}

static double z_of(const struct iso_ray_sens_moved *p, int64_t k)
{
	return p->piece[k].z.m[11];
}

/* ---- images of the scanner ---- */

static int make_images(struct along *s)
{
	const struct iso_ray_sens_moved *p = s->p;
	struct iso_ray_sens one = p->sens;
	double high = z_of(p, 0), error;
	int st = ISO_OK;

	s->low = z_of(p, 0);
	for (int64_t k = 1; k < p->n; k++) {
		s->low = fmin(s->low, z_of(p, k));
		high = fmax(high, z_of(p, k));
	}
	s->step = p->sens.grid.voxel[2] / QUARTERS;
	s->plane = p->sens.grid.n[0] * p->sens.grid.n[1];
	s->planes = p->sens.grid.n[2];
	s->row = s->planes + (int64_t)ceil((high - s->low) / p->sens.grid.voxel[2] - 1e-9) + 1;
	s->quarters = QUARTERS * (s->row - s->planes + 1);
	ISO_HOST(&s->room, s->quarter, s->quarters);
	for (int q = 0; q < QUARTERS; q++) ISO_HOST(&s->room, s->image[q], s->row * s->plane);
	st = iso_comm_agree(s->ctx, s->room.status);
	one.share = 0;
	one.mu = NULL;
	one.grid.n[2] = s->row;
	for (int a = 0; a < 2; a++) one.grid.centre[a] += p->piece[0].z.m[4 * a + 3];
	for (int q = 0; q < QUARTERS && !st; q++) {
		one.grid.centre[2] = p->sens.grid.centre[2] + s->low + q * s->step +
		                     .5 * (double)(s->row - s->planes) * p->sens.grid.voxel[2];
		st = iso_ray_sens(s->image[q], &error, s->ctx, &one);
	}
	return st;
}

/* Weights of the quarters of a voxel from the lowest pose on: a table of many rows costs no more than one of few. */
static void weigh(double *quarter, const struct along *s, double z, double w)
{
	double at = (z - s->low) / s->step, low = floor(at + 1e-9), up = fmax(0, at - low);
	bool between = up > 1e-9;

	quarter[(int64_t)low] += between ? w * (1 - up) : w;
	if (between) quarter[(int64_t)low + 1] += w * up;
}

/* sum = what the object has at quarters of these weights, which become 0. */
static void add_quarters(double *sum, double *quarter, const struct along *s)
{
	int64_t voxels = s->planes * s->plane;

	for (int64_t i = 0; i < voxels; i++) sum[i] = 0;
	for (int64_t q = 0; q < s->quarters; q++) {
		const double w = quarter[q];
		const iso_real *from = s->image[q % QUARTERS] + q / QUARTERS * s->plane;

		quarter[q] = 0;
		if (!(w > 0)) continue;
#pragma omp parallel for num_threads(s->ctx->threads)
		for (int64_t i = 0; i < voxels; i++) sum[i] += w * (double)from[i];
	}
}

/* ---- with a map ---- */

/* Of the cluster at z, a whole number of quarters from the lowest: of the voxels' values in sum, S with the map over S
   without. */
static int attenuate(double *sum, const struct along *s, double z, double *geo, iso_real *one)
{
	struct iso_ray_sens at = s->p->sens;
	struct iso_array mu = *at.mu;
	int64_t voxels = s->planes * s->plane;
	double error;

	at.share = 0;
	at.mu = &mu;
	for (int a = 0; a < 3; a++) {
		double t = a < 2 ? s->p->piece[0].z.m[4 * a + 3] : z;

		at.grid.centre[a] += t;
		mu.grid.centre[a] += t;
	}
	weigh(s->quarter, s, z, 1);
	add_quarters(geo, s->quarter, s);
	int st = iso_ray_sens(one, &error, s->ctx, &at);

	for (int64_t i = 0; i < voxels && !st; i++)
		if (geo[i] > 0) sum[i] *= (double)one[i] / geo[i];
	return st;
}

/* Clusters are bands of z of CLUSTER_MM, from the lowest pose on. */
static int sum_clusters(double *sum, struct along *s)
{
	const struct iso_ray_sens_moved *p = s->p;
	int64_t voxels = s->planes * s->plane, bands = 0;
	double *part, *geo;
	iso_real *one;

	ISO_HOST(&s->room, part, voxels);
	ISO_HOST(&s->room, geo, voxels);
	ISO_HOST(&s->room, one, voxels);
	int st = iso_comm_agree(s->ctx, s->room.status);

	for (int64_t k = 0; k < p->n; k++)
		bands = (int64_t)fmax((double)bands, floor((z_of(p, k) - s->low) / CLUSTER_MM) + 1);
	for (int64_t b = 0; b < bands && !st; b++) {
		double mean = 0, all = 0;

		for (int64_t k = 0; k < p->n; k++) {
			if ((int64_t)floor((z_of(p, k) - s->low) / CLUSTER_MM) != b) continue;
			weigh(s->quarter, s, z_of(p, k), p->piece[k].weight);
			mean += p->piece[k].weight * z_of(p, k);
			all += p->piece[k].weight;
		}
		if (!(all > 0)) continue;
		double quarter = round((mean / all - s->low) / s->step);

		add_quarters(part, s->quarter, s);
		st = attenuate(part, s, s->low + quarter * s->step, geo, one);
		for (int64_t i = 0; i < voxels && !st; i++) sum[i] += part[i];
	}
	return st;
}

int ray_sens_along(iso_real *to, iso_ctx *ctx, const struct iso_ray_sens_moved *p)
{
	struct along s = { .p = p, .ctx = ctx, .room = iso_room_of(ctx, "sensitivity") };
	int64_t voxels = iso_grid_voxels(&p->sens.grid);
	double *sum;
	int st;

	ISO_HOST(&s.room, sum, voxels);
	st = make_images(&s);
	for (int64_t i = 0; i < voxels && !st; i++) sum[i] = 0;
	for (int64_t k = 0; k < p->n && !st && !p->sens.mu; k++)
		weigh(s.quarter, &s, z_of(p, k), p->piece[k].weight);
	if (!st && p->sens.mu)
		st = sum_clusters(sum, &s);
	else if (!st)
		add_quarters(sum, s.quarter, &s);
	for (int64_t i = 0; i < voxels && !st; i++) to[i] = (iso_real)sum[i];
	iso_room_free(&s.room);
	return st;
}
