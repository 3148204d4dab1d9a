/* SPDX-License-Identifier: BSD-3-Clause */
/* Attenuation that moves with the head: the sensitivity of frames, for each of a few poses of the map. */
#include "track.h"

#include "core/size.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>

#define LINES \
	5e5 /* that tell what attenuation does to the sensitivity; the same lines with the map and without */
#define COARSE 2   /* voxels of these lines, in voxels of the frames, along each axis */
#define BLUR_MM 10 /* of both sensitivities: that of attenuation alone is smooth, what is left is noise */
#define NEAR_MM \
	10. /* poses within this distance have one sensitivity; it grows if there are more than TRACK_POSES */
#define HEAD_MM 140 /* side of the box whose corners measure it */

/* ---- poses that stand for those of all frames ---- */

static int cluster(struct track_mu *m, const struct iso_piece *piece, int64_t n,
                   const struct iso_grid *frames)
{
	struct iso_grid head = { { 1, 1, 1 },
		                 { HEAD_MM, HEAD_MM, HEAD_MM },
		                 { frames->centre[0], frames->centre[1], frames->centre[2] } };
	struct iso_piece *found = NULL;
	double radius = NEAR_MM;
	int st;

	do {
		free(found);
		found = NULL;
		st = iso_motion_clusters(&found, &m->n, m->of, piece, n, &head, radius);
		radius *= 1.25;
	} while (!st && m->n > TRACK_POSES);
	if (!st && !(m->pose = size_alloc(m->n, sizeof *m->pose)))
		st = iso_fail_memory("motion", m->n * (int64_t)sizeof *m->pose);
	for (int64_t c = 0; c < m->n && !st; c++) m->pose[c] = found[c].z;
	free(found);
	return st;
}

/* Frames without a pose take that of the last one before them that has one. */
static int choose_poses(struct track_mu *m, const struct iso_tracked *found)
{
	struct iso_piece *piece = size_alloc(found->n, sizeof *piece);
	struct iso_pose last = iso_pose_identity();
	int st = ISO_OK;

	if (!(m->of = size_alloc(found->n, sizeof *m->of)) || !piece)
		st = iso_fail_memory("motion", found->n * (int64_t)(sizeof *piece + sizeof *m->of));
	for (int64_t k = 0; k < found->n && !st; k++) {
		if (found->frame[k].known) last = found->frame[k].pose;
		piece[k] = (struct iso_piece){ .weight = 1, .z = last };
	}
	if (!st) st = cluster(m, piece, found->n, &found->grid);
	free(piece);
	return st;
}

/* ---- their sensitivities ---- */

/* The map's box at a pose, in voxels of the frames: no larger than it must be, because every line is cut by it. */
static struct iso_grid box_at(const struct iso_grid *frames, const struct iso_grid *map,
                              const struct iso_pose *p)
{
	struct iso_grid g = *frames;

	iso_pose_apply(g.centre, p, map->centre);
	for (int r = 0; r < 3; r++) {
		double side = 0;

		for (int k = 0; k < 3; k++) side += fabs(p->m[4 * r + k]) * (double)map->n[k] * map->voxel[k];
		g.n[r] = (int64_t)ceil(side / g.voxel[r]);
	}
	return g;
}

/* A volume on a grid, seen by iso_volume_resample. */
static struct iso_volume volume_of(iso_real *v, const struct iso_grid *g)
{
	struct iso_volume r = { .v = v };

	for (int a = 0; a < 3; a++) {
		r.dim[a] = g->n[a];
		r.affine[a][a] = g->voxel[a];
		r.affine[a][3] = g->centre[a] - .5 * (double)(g->n[a] - 1) * g->voxel[a];
	}
	return r;
}

/* The map as it lies in the frames' axes when the head has a pose. */
static int move_map(struct iso_array *moved, iso_ctx *ctx, const struct iso_grid *frames,
                    const struct iso_array *map, const struct iso_pose *p)
{
	const struct iso_grid *g = &map->grid, box = box_at(frames, g, p);
	struct iso_volume v = volume_of(map->v, g);
	const double first[3] = { v.affine[0][3], v.affine[1][3], v.affine[2][3] };
	double at[3];
	int st;

	iso_pose_apply(at, p, first);
	for (int r = 0; r < 3; r++) {
		for (int k = 0; k < 3; k++) v.affine[r][k] = p->m[4 * r + k] * g->voxel[k];
		v.affine[r][3] = at[r];
	}
	st = iso_array_on_grid(moved, &box);
	return st ? st : iso_volume_resample(moved->v, NULL, ctx, &box, &v, 0);
}

static struct iso_grid coarse(const struct iso_grid *frames)
{
	struct iso_grid g = *frames;

	for (int a = 0; a < 3; a++) {
		g.n[a] = (g.n[a] + COARSE - 1) / COARSE;
		g.voxel[a] *= COARSE;
	}
	return g;
}

static int blurred_sens(iso_real *s, const struct track_images *t, const iso_scanner *scanner,
                        const struct iso_array *mu)
{
	const struct iso_filter blur = { .kind = ISO_GAUSSIAN, .fwhm = { BLUR_MM, BLUR_MM, BLUR_MM } };
	double pairs = (double)iso_scanner_pairs(scanner), error;
	struct iso_ray_sens p = { .size = sizeof p,
		                  .grid = coarse(&t->ray.grid),
		                  .scanner = scanner,
		                  .mu = mu,
		                  .rays = 1,
		                  .seed = 1,
		                  .share = pairs > LINES ? LINES / pairs : 1 };
	int st = iso_ray_sens(s, &error, t->ctx, &p);

	return st ? st : iso_filter_host(s, t->ctx, &blur, &p.grid);
}

/* S of all pairs, times what the map does to S of some of them. */
static int sens_at(iso_real *s, struct track_mu *m, const struct track_images *t, const iso_scanner *scanner,
                   const struct iso_array *map, const struct iso_pose *p)
{
	const struct iso_grid *frames = &t->ray.grid, few = coarse(frames);
	struct iso_volume share = volume_of(m->share, &few);
	int64_t n = iso_grid_voxels(frames), n_few = iso_grid_voxels(&few);
	struct iso_array moved = { 0 };
	int st = move_map(&moved, t->ctx, frames, map, p);

	if (!st) st = blurred_sens(m->share, t, scanner, &moved);
	for (int64_t i = 0; i < n_few && !st; i++)
		m->share[i] = m->bare[i] > 0 ? m->share[i] / m->bare[i] : 0;
	if (!st) st = iso_volume_resample(s, NULL, t->ctx, frames, &share, 0);
	for (int64_t i = 0; i < n && !st; i++) s[i] *= t->sens[i];
	iso_array_free(&moved);
	return st;
}

/* Without attenuation; the same in all rounds. */
static int make_bare(struct track_mu *m, const struct track_images *t, const iso_scanner *scanner)
{
	const struct iso_grid few = coarse(&t->ray.grid);
	int64_t n = iso_grid_voxels(&few);

	if (m->bare) return ISO_OK;
	if (!(m->bare = size_alloc(2 * n, sizeof *m->bare)))
		return iso_fail_memory("motion", 2 * n * (int64_t)sizeof *m->bare);
	m->share = m->bare + n;
	return blurred_sens(m->bare, t, scanner, NULL);
}

int track_mu_find(struct track_mu *m, const struct track_images *t, const struct iso_track *p,
                  const struct iso_tracked *found)
{
	int64_t n = iso_grid_voxels(&t->ray.grid);
	int st = make_bare(m, t, p->scanner);

	track_mu_forget(m);
	if (st || (st = choose_poses(m, found))) return st;
	if (!(m->sens = size_alloc(m->n * n, sizeof *m->sens)))
		return iso_fail_memory("motion", m->n * n * (int64_t)sizeof *m->sens);
	for (int64_t c = 0; c < m->n && !st; c++)
		st = sens_at(m->sens + c * n, m, t, p->scanner, p->mu, &m->pose[c]);
	return st;
}

const iso_real *track_mu_sens(const struct track_mu *m, const struct track_images *t, int64_t frame)
{
	return m->sens ? m->sens + m->of[frame] * iso_grid_voxels(&t->ray.grid) : t->sens;
}

void track_mu_forget(struct track_mu *m)
{
	free(m->of);
	free(m->pose);
	free(m->sens);
	m->of = NULL;
	m->pose = NULL;
	m->sens = NULL;
	m->n = 0;
}

void track_mu_free(struct track_mu *m)
{
	track_mu_forget(m);
	free(m->bare);
	m->bare = NULL;
}
