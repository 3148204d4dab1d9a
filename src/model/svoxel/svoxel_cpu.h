/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel on the CPU: what its two engines share. Both work on rows of voxels along x, whose delays come first and
   in vectors; both make lines of traces of delays, and traces of lines. */
#ifndef ISO_SVOXEL_CPU_H
#define ISO_SVOXEL_CPU_H

#include "svoxel.h"

#include "core/fft/fft.h"

/* Voxels of a row that share a reference point; rows of a block of the adjoint. */
enum { SVOXEL_ROW = 32, SVOXEL_ROWS_Y = 8, SVOXEL_ROWS_Z = 8 };

enum { SVOXEL_BEHIND = SVOXEL_TAPS - 1 }; /* bins behind the first that an impulse reaches */

/* ---- svoxel_row.c ---- */

/* The impulses that one point of a transducer hears of n voxels along x, one entry a voxel. */
struct svoxel_row {
	int n;                          /* 1 to SVOXEL_ROW */
	iso_real u[SVOXEL_ROW];         /* delay, bins of the trace */
	iso_real amplitude[SVOXEL_ROW]; /* 1/(2 pi d), d in mm, times the point's weight */
	iso_real half_x[SVOXEL_ROW],
		half_y[SVOXEL_ROW]; /* rectangle: half the delay across either side, bins */
	int first[SVOXEL_ROW];      /* the first bin of u, or of a rectangle's corner */
	iso_real s[SVOXEL_ROW];     /* where in that bin: -1 to 1 */
};

/* What is heard of a voxel: one impulse, or one of each corner of a rectangle. */
static inline int svoxel_impulses(const struct svoxel *p)
{
	return p->sir == ISO_SIR_RECT ? 4 : 1;
}

/* The impulses of a row that begins at voxel (ix, iy, iz), as point `at` of a transducer hears them; returns
   the bin of the trace that row->u counts from. */
int64_t iso_svoxel_find_row(struct svoxel_row *row, const struct svoxel *p, int64_t q, const double at[3],
                            double weight, int64_t ix, int64_t iy, int64_t iz);

/* Sets first[] and s[] for impulse k; returns its sign. */
iso_real iso_svoxel_find_bins(struct svoxel_row *row, const struct svoxel *p, int k);

/* Of plane z of a block, the rows from[z] to before to[z] are this rank's. */
struct svoxel_block {
	int64_t first[3];
	int n[3];
	int from[SVOXEL_ROWS_Z], to[SVOXEL_ROWS_Z];
};

/* Block b of the image, for a rank that has these rows. */
struct svoxel_block iso_svoxel_block(const struct svoxel *p, int64_t b, struct iso_rows own);

/* The blocks of those layers of blocks that have any of the rows. */
struct iso_rows iso_svoxel_blocks(const struct svoxel *p, struct iso_rows own);

/* ---- svoxel_period.c ---- */

/* Doubles of z for one period: `bins` values, then bins/2 + 1 complex lines. */
static inline int64_t svoxel_period_size(const struct svoxel *p)
{
	return 2 * p->bins + 2;
}

static inline int svoxel_periods(const struct svoxel *p)
{
	return p->turn ? 2 : 1;
}

/* Lines of one transducer from a period of its trace, which has SVOXEL_BEHIND bins more, still to be wrapped; with an
   offset from two, the real and the imaginary part. */
void iso_svoxel_to_lines(iso_real *y, const struct svoxel *p, struct iso_fft *fft, double *z);

/* The transpose: the periods of one transducer, and behind each its first SVOXEL_BEHIND bins again. */
void iso_svoxel_to_periods(double *z, const struct svoxel *p, struct iso_fft *fft, const iso_real *y);

#endif
