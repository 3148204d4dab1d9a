/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of a motion joined into clusters, and the mean of poses. */
#include "motion.h"
#include "core/size.h"

#include <math.h>
#include <stdlib.h>

struct iso_pose motion_mean(const struct iso_piece *piece, const int64_t *which, int64_t n)
{
	struct iso_pose sum = { { 0 } }, mean;
	double all = 0;

	if (n == 1) return piece[which ? which[0] : 0].z;
	for (int64_t i = 0; i < n; i++) all += piece[which ? which[i] : i].weight;
	for (int64_t i = 0; i < n; i++) {
		const struct iso_piece *p = &piece[which ? which[i] : i];
		double share = all > 0 ? p->weight / all : 1. / (double)n; /* decayed to nothing: as if not */

		for (int k = 0; k < 12; k++) sum.m[k] += share * p->z.m[k];
	}
	mean = pose_orthonormal(&sum);
	return mean;
}

/* The pieces of each cluster, one cluster after the other: first[c] .. first[c + 1] - 1 of `which`. */
static void gather(int64_t *first, int64_t *which, const int64_t *of, int64_t n, int64_t clusters)
{
	for (int64_t i = 0; i < n; i++) first[of[i] + 1]++;
	for (int64_t c = 0; c < clusters; c++) first[c + 1] += first[c];
	for (int64_t i = n; i-- > 0;) which[--first[of[i] + 1]] = i;
}

/* Number of the cluster of each piece; returns how many there are. founder[c]: a piece. */
static int64_t deal(int64_t *of, int64_t *founder, double (*middle)[3], const struct iso_piece *piece,
                    int64_t n, const struct iso_grid *grid, double radius_mm)
{
	int64_t clusters = 0;

	for (int64_t i = 0; i < n; i++) {
		double x[3];
		int64_t c = 0;

		iso_pose_apply(x, &piece[i].z, grid->centre);
		for (; c < clusters; c++) {
			/* the box's middle moves no farther than its farthest corner: a quick no */
			double d =
				hypot(hypot(x[0] - middle[c][0], x[1] - middle[c][1]), x[2] - middle[c][2]);

			if (d <= radius_mm * (1 + 1e-9) &&
			    iso_motion_way(&piece[i].z, &piece[founder[c]].z, grid) <= radius_mm)
				break;
		}
		if (c == clusters) {
			for (int a = 0; a < 3; a++) middle[c][a] = x[a];
			founder[clusters++] = i;
		}
		of[i] = c;
	}
	return clusters;
}

static void fill(struct iso_piece *cluster, const struct iso_piece *piece, const int64_t *which, int64_t n)
{
	*cluster = (struct iso_piece){ piece[which[0]].from_s, piece[which[n - 1]].to_s, 0,
		                       motion_mean(piece, which, n) };
	for (int64_t i = 0; i < n; i++) cluster->weight += piece[which[i]].weight;
}

int iso_motion_clusters(struct iso_piece **cluster, int64_t *n_clusters, int64_t *cluster_of,
                        const struct iso_piece *piece, int64_t n, const struct iso_grid *grid,
                        double radius_mm)
{
	int64_t *of, *which, *first, clusters;
	struct iso_piece *v = NULL;
	double(*middle)[3];
	int st = ISO_OK;

	if (!cluster || !n_clusters || !grid || !piece) return iso_fail_null("clusters of the motion");
	if (n < 0 || !(radius_mm >= 0))
		return iso_fail(ISO_EARG, "motion: %" PRId64 " pieces, radius %g mm, must be at least 0", n,
		                radius_mm);
	if ((st = iso_grid_check(grid))) return st;
	of = size_alloc(n, sizeof *of);
	which = size_alloc(n, sizeof *which);
	first = size_alloc(n + 2, sizeof *first);
	middle = size_alloc(n, sizeof *middle);
	if (of && which && first && middle) {
		clusters = deal(of, which, middle, piece, n, grid, radius_mm);
		v = size_alloc(clusters, sizeof *v);
	}
	if (v) {
		gather(first, which, of, n, clusters);
		for (int64_t c = 0; c < clusters; c++)
			fill(&v[c], piece, which + first[c + 1],
			     (c + 1 < clusters ? first[c + 2] : n) - first[c + 1]);
		for (int64_t i = 0; i < n && cluster_of; i++) cluster_of[i] = of[i];
		*cluster = v;
		*n_clusters = clusters;
	} else {
		st = iso_fail_memory("clusters of the motion", n * 48);
	}
	free(of);
	free(which);
	free(first);
	free(middle);
	return st;
}
