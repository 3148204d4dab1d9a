/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter goes with the object: an estimate for each of a few poses of the scan, with image and map in the scanner's axes.
   Where nothing moves there is one, at the identity. */
#include "model_ray.h"

#include "core/size.h"
#include "motion/pose.h"
#include "scanner/scanner.h"

#include "isotome/volume.h"

#include <math.h>

#define GROW 1.25    /* of the clusters' radius, while there are too many */
#define ALL_NEAR 1e9 /* mm: one cluster */
#define STRAIGHT 1e-9
enum { MOST_POSES = 32 };

/* ---- the poses ---- */

/* The pose that is taken for those of a map in the pieces of cluster c: their mean. */
static int mean_pose(struct iso_pose *z, const struct ray_pieces *p, const struct iso_pose *at,
                     const int64_t *cluster_of, int64_t c, const struct iso_grid *g)
{
	struct iso_piece *own = size_alloc(p->n, sizeof *own), *mean = NULL;
	int64_t n = 0, clusters;

	if (!own) return iso_fail_memory("poses of scatter", p->n * (int64_t)sizeof *own);
	for (int64_t k = 0; k < p->n; k++)
		if (cluster_of[k] == c) {
			own[n] = p->v[k];
			own[n++].z = at[k];
		}
	int st = iso_motion_clusters(&mean, &clusters, NULL, own, n, g, ALL_NEAR);

	if (!st) *z = mean->z;
	free(mean);
	free(own);
	return st;
}

static int take_poses(struct ray_scatter *s, const struct ray_pieces *p, const struct iso_piece *cluster,
                      const int64_t *cluster_of, int64_t n, const struct iso_grid *g)
{
	int st = ISO_OK;

	if (!(s->pose = calloc((size_t)n, sizeof *s->pose)) ||
	    !(s->from_s = size_alloc(p->n, sizeof *s->from_s)) ||
	    !(s->pose_of = size_alloc(p->n, sizeof *s->pose_of)))
		return iso_fail_memory("poses of scatter", n * (int64_t)sizeof *s->pose);
	s->poses = n;
	s->pieces = p->n;
	s->beyond_mm = 0;
	for (int64_t k = 0; k < p->n; k++) {
		s->from_s[k] = p->v[k].from_s;
		s->pose_of[k] = cluster_of[k];
		s->beyond_mm = fmax(s->beyond_mm, iso_motion_way(&cluster[cluster_of[k]].z, &p->v[k].z, g));
	}
	for (int64_t c = 0; c < n && !st; c++) {
		struct ray_scatter_pose *to = &s->pose[c];

		*to = (struct ray_scatter_pose){ .weight = cluster[c].weight, .z = cluster[c].z };
		for (int b = 0; b < 2 && !st; b++) {
			to->beside[b] = iso_pose_identity();
			if (p->at[b]) st = mean_pose(&to->beside[b], p, p->at[b], cluster_of, c, g);
		}
	}
	return st;
}

/* Pieces as at most MOST_POSES clusters, of a radius that grows until they are. */
static int join(struct iso_piece **cluster, int64_t *of, int64_t *n, double *radius_mm,
                const struct ray_problem *ray, const struct ray_pieces *p)
{
	int st;

	*radius_mm = ray->scatter.poses_mm;
	while (!(st = iso_motion_clusters(cluster, n, of, p->v, p->n, &ray->grid, *radius_mm)) &&
	       *n > MOST_POSES) {
		free(*cluster);
		*cluster = NULL;
		*radius_mm *= GROW;
	}
	return st;
}

static int make_poses(struct ray_problem *ray, const struct ray_pieces *p)
{
	struct ray_scatter *s = &ray->scatter;
	struct iso_piece *cluster = NULL;
	int64_t *of = size_alloc(p->n, sizeof *of), n = 0;
	int st = of ? join(&cluster, of, &n, &s->radius_mm, ray, p)
	            : iso_fail_memory("poses of scatter", p->n * (int64_t)sizeof *of);

	if (!st && s->radius_mm > s->poses_mm)
		record_warn(ray->p->record,
		            "scatter is estimated at %" PRId64
		            " poses, %d at most: corners of the image are up to %.3g mm away from where "
		            "their estimate has them, and 'scatter-poses-mm' is %.3g",
		            n, MOST_POSES, s->radius_mm, s->poses_mm);
	if (!st) st = take_poses(s, p, cluster, of, n, &ray->grid);
	free(cluster);
	free(of);
	return st;
}

/* How many there will be; 1 where that can't be said. */
static int64_t count_poses(const struct ray_problem *ray)
{
	struct ray_pieces p = { 0 };
	struct iso_piece *cluster = NULL;
	int64_t n = 1, found;
	double radius_mm;

	if (!ray->motion.all) return 1;
	if (!ray_pieces_make(&p, ray) && !join(&cluster, NULL, &found, &radius_mm, ray, &p)) n = found;
	free(cluster);
	ray_pieces_free(&p);
	return n;
}

/* Besides what one estimate takes: the tables of the others, image and map in the scanner's axes. */
void ray_scatter_poses_plan(struct ray_problem *ray, struct iso_plan *plan, const struct iso_plan *one)
{
	int64_t more = count_poses(ray) - 1;

	if (!ray_scatter_moves(ray)) return;
	for (int i = 0; i < iso_plan_size(one); i++) {
		struct iso_plan_line line = iso_plan_line(one, i);

		if (strncmp(line.what, "scatter: table", 14)) continue;
		iso_plan_add(plan, "scatter: tables of other poses", more, line.host + line.device,
		             line.device > 0);
	}
	iso_plan_add(plan, "scatter: image and map, moved", iso_grid_voxels(&ray->grid) + 3 * ray->mu_map.n,
	             sizeof(iso_real), false);
}

bool ray_scatter_moves(const struct ray_problem *ray)
{
	return ray->motion.all || ray_motion_attenuates(ray);
}

int ray_scatter_poses_make(struct ray_problem *ray)
{
	struct ray_scatter *s = &ray->scatter;
	struct ray_pieces p = { 0 };
	int st;

	ray_scatter_poses_free(s);
	if (ray_scatter_moves(ray)) {
		if (!(st = ray_pieces_make(&p, ray))) st = make_poses(ray, &p);
		ray_pieces_free(&p);
		return st;
	}
	if (!(s->pose = calloc(1, sizeof *s->pose)))
		return iso_fail_memory("poses of scatter", sizeof *s->pose);
	s->pose[0] = (struct ray_scatter_pose){ .weight = 1, .z = iso_pose_identity() };
	s->poses = 1;
	return ISO_OK;
}

void ray_scatter_poses_free(struct ray_scatter *s)
{
	for (int64_t c = 0; c < s->poses; c++) iso_scatter_free(s->pose[c].table);
	free(s->pose);
	free(s->from_s);
	free(s->pose_of);
	s->pose = NULL;
	s->from_s = NULL;
	s->pose_of = NULL;
	s->poses = s->pieces = 0;
	s->table = NULL;
}

int64_t ray_scatter_pose_at(const struct ray_scatter *s, uint32_t time_ms)
{
	int64_t low = 0, high = s->pieces; /* the last piece that begins at this time or before */

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (s->from_s[middle] <= 1e-3 * time_ms)
			low = middle;
		else
			high = middle;
	}
	return s->pieces > 0 ? s->pose_of[low] : 0;
}

/* ---- image and map in the scanner's axes ---- */

/* An array on a grid of its own axes, and the pose of these. */
struct placed {
	const struct iso_array *a;
	struct iso_pose z;
};

static struct iso_volume volume_of(const struct placed *p)
{
	const struct iso_grid *g = &p->a->grid;
	struct iso_volume v = { .v = p->a->v };
	double corner[3], at[3];

	for (int k = 0; k < 3; k++) {
		v.dim[k] = g->n[k];
		corner[k] = g->centre[k] - .5 * (double)(g->n[k] - 1) * g->voxel[k];
		for (int r = 0; r < 3; r++) v.affine[r][k] = p->z.m[4 * r + k] * g->voxel[k];
	}
	iso_pose_apply(at, &p->z, corner);
	for (int r = 0; r < 3; r++) v.affine[r][3] = at[r];
	return v;
}

static bool straight(const struct iso_pose *z)
{
	for (int i = 0; i < 12; i++)
		if (i % 4 < 3 && fabs(z->m[i] - (i % 5 == 0)) > STRAIGHT) return false;
	return true;
}

/* What lies along z between the two can scatter into the ring: its own length, and its radius at either side. */
static void reach_of(double z[2], const iso_scanner *s)
{
	const double *at = iso_scanner_positions(s);
	double radius = 0;

	z[0] = INFINITY;
	z[1] = -INFINITY;
	for (int64_t i = 0; i < iso_scanner_crystals(s); i++) {
		radius = fmax(radius, hypot(at[3 * i], at[3 * i + 1]));
		z[0] = fmin(z[0], at[3 * i + 2]);
		z[1] = fmax(z[1], at[3 * i + 2]);
	}
	z[0] -= radius;
	z[1] += radius;
}

/* Planes of g that reach into [low, high]; at least one. */
static void clip(struct iso_grid *g, const double z[2])
{
	double bottom = g->centre[2] - .5 * (double)g->n[2] * g->voxel[2];
	int64_t first = (int64_t)fmax(0, floor((z[0] - bottom) / g->voxel[2]));
	int64_t end = (int64_t)fmin((double)g->n[2], ceil((z[1] - bottom) / g->voxel[2]));

	first = first < g->n[2] ? first : g->n[2] - 1;
	g->n[2] = end > first ? end - first : 1;
	g->centre[2] = bottom + ((double)first + .5 * (double)g->n[2]) * g->voxel[2];
}

/* A straight grid in the scanner's axes that covers all parts: that of the only one where it does not turn, which keeps its
   values as they are; else of the first one's least voxel side. */
static struct iso_grid cover(const struct placed *p, int n, const double z[2])
{
	double low[3] = { INFINITY, INFINITY, INFINITY }, high[3] = { -INFINITY, -INFINITY, -INFINITY };
	struct iso_grid g = p->a->grid;

	if (n == 1 && straight(&p->z)) {
		for (int k = 0; k < 3; k++) g.centre[k] += p->z.m[4 * k + 3];
		clip(&g, z);
		return g;
	}
	double side = fmin(g.voxel[0], fmin(g.voxel[1], g.voxel[2]));

	for (int i = 0; i < 8 * n; i++) {
		const struct iso_grid *own = &p[i / 8].a->grid;
		double at[3];

		for (int k = 0; k < 3; k++)
			at[k] = own->centre[k] + ((i >> k & 1) - .5) * (double)own->n[k] * own->voxel[k];
		iso_pose_apply(at, &p[i / 8].z, at);
		for (int k = 0; k < 3; k++) {
			low[k] = fmin(low[k], at[k]);
			high[k] = fmax(high[k], at[k]);
		}
	}
	for (int k = 0; k < 3; k++) {
		g.n[k] = (int64_t)fmax(1, ceil((high[k] - low[k]) / side - 1e-6));
		g.voxel[k] = side;
		g.centre[k] = .5 * (low[k] + high[k]);
	}
	clip(&g, z);
	return g;
}

/* to = the sum of all parts, in the scanner's axes. */
static int place_all(struct iso_array *to, struct ray_problem *ray, const struct placed *p, int n)
{
	double z[2];
	iso_real *one = NULL;

	reach_of(z, ray->s);
	struct iso_grid g = cover(p, n, z);
	int st = iso_array_on_grid(to, &g);

	if (!st && n > 1) st = model_vector(&one, to->n, "scatter");
	for (int k = 0; k < n && !st; k++) {
		struct iso_volume v = volume_of(&p[k]);

		st = iso_volume_resample(k > 0 ? one : to->v, NULL, ray->p->ctx, &g, &v, 0);
		for (int64_t i = 0; i < to->n && k > 0 && !st; i++) to->v[i] += one[i];
	}
	free(one);
	return st;
}

static int place_map(struct iso_array *to, struct ray_problem *ray, const struct ray_scatter_pose *pose)
{
	struct placed p[3] = { { &ray->mu_map, pose->z } };
	int n = 1;

	for (int b = 0; b < 2; b++)
		if (ray->motion.beside[b].mu.n > 0)
			p[n++] = (struct placed){ &ray->motion.beside[b].mu, pose->beside[b] };
	return place_all(to, ray, p, n);
}

static int estimate(iso_scatter_table **t, struct ray_problem *ray, const struct iso_array *image,
                    const struct ray_scatter_pose *pose)
{
	struct iso_array f = { 0 }, mu = { 0 };
	struct iso_scatter p = ray_scatter_parameters(ray, image);
	int st = ISO_OK;

	if (ray_scatter_moves(ray)) {
		st = place_all(&f, ray, &(struct placed){ image, pose->z }, 1);
		if (!st) st = place_map(&mu, ray, pose);
		p.image = &f;
		p.mu = &mu;
		p.beyond_mm = ray->motion.all ? ray->scatter.beyond_mm : 0;
	}
	if (!st) st = iso_scatter_create(t, ray->p->ctx, &p);
	iso_array_free(&f);
	iso_array_free(&mu);
	return st;
}

int ray_scatter_estimate(struct ray_problem *ray, const struct iso_array *image)
{
	struct ray_scatter *s = &ray->scatter;
	int st = ISO_OK;

	for (int64_t c = 0; c < s->poses && !st; c++) {
		iso_scatter_table *made = NULL;

		st = iso_comm_agree(ray->p->ctx, estimate(&made, ray, image, &s->pose[c]));
		if (st) {
			iso_scatter_free(made);
			return st;
		}
		iso_scatter_free(s->pose[c].table);
		s->pose[c].table = made;
	}
	s->table = s->pose[0].table;
	return st;
}
