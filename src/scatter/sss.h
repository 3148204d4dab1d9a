/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the single-scatter estimate on the host: points, legs, pairs. */
#ifndef ISO_SSS_H
#define ISO_SSS_H

#include "core/ctx.h"
#include "core/room.h"
#include "sss_kern.h"
#include "table_kern.h"

/* Pieces of a profile are as long as a step of the table along u, cells that they are put into half of that. */
enum { SSS_CELLS_A_STEP = 2 };

/* Legs of several detectors: detector d has arrays d * points on. */
struct sss_set {
	int64_t detectors;
	const float *place; /* (detectors, 3), mm */
	struct sss_legs legs;
	int64_t pieces; /* in all profiles */
	float *profile;
};

/* Blocks of the points, mm, where none are asked for; these are cut at the surface. 20 mm; no more than a tenth of the object's least side, nor than 1.6
   sigma of the time of flight, but of that at least 8 mm. */
double sss_block_mm(const struct scene *s);
double sss_block_most(double sigma); /* whatever the object */

/* Points and tables of a scene, in the room. block_mm 0: as above; else so large everywhere. */
int sss_make(struct sss *s, struct iso_room *room, const struct scene *scene, double block_mm,
             enum sss_kernel kernel);
void sss_make_cosines(struct sss *s, struct iso_room *room, const struct scene *scene,
                      enum sss_kernel kernel);

/* Directions, lengths and places of profiles of all legs; then what lies on them. Both on the host. */
int sss_set_make(struct sss_set *set, struct iso_room *room, const iso_ctx *ctx, const struct sss *s,
                 int64_t detectors, const float *place);
void sss_set_trace(const struct sss_set *set, const iso_ctx *ctx, const struct sss *s);

/* One pair at a time: sums of the profiles, unblurred. Cells are counted from the middle one, u = 0, on: of phase 0 the
   even ones, of phase 1 the odd ones. Profiles to end B lie along +u, those to A along -u and are summed turned round,
   so that both are read forwards. */
struct sss_work {
	int64_t half;     /* cells on either side of u = 0; 0: no time of flight */
	int64_t phase;    /* floats of a phase */
	float *sum[2][2]; /* [to A, to B][phase] */
	double all;       /* without time of flight */
	float *cosine;    /* (points) */
	int32_t *index;
	float *cell; /* (2 half + 1): the sum of both, put together */
};

/* Cells on either side of u = 0 that hold all pieces up to |u| = reach, mm. */
ISO_HD int64_t sss_half(const struct sss *s, double reach)
{
	return (int64_t)ceil(reach / ((double)s->piece / SSS_CELLS_A_STEP)) + 2;
}

int sss_work_make(struct sss_work *w, struct iso_room *room, const struct sss *s, double reach);
void sss_pair(struct sss_work *w, const struct sss *s, const struct sss_set *set, int64_t a, int64_t b);

/* Largest |u|, mm, that a pair's pieces have. */
float sss_pair_reach(struct sss_work *w, const struct sss *s, const struct sss_set *set, int64_t a,
                     int64_t b);

/* Kernel of the blur from cells to a table, weights of cells -n ... n; n is returned. Pieces are put into cells as
   points: the variance that this takes, and that sharing between two cells adds, is made good here. */
int sss_kernel(float *weight, int most, double sigma);
double sss_blur_sigma(double sigma);

enum { SSS_KERNEL = 6 * TABLE_PER_SIGMA * SSS_CELLS_A_STEP }; /* cells in 6 sigma */

#endif
