/* SPDX-License-Identifier: BSD-3-Clause */
/* Model svoxel inside: spherical voxels (Wang 2013, 17 to 19), what both backends compute for a voxel and a
   point of a transducer. The spectrum of a voxel is a line-dependent factor times exp(-j 2 pi f d/c)/(2 pi d),
   d the distance; so a transducer hears an impulse of 1/(2 pi d) at the delay d/c, and the lines
   come from the impulses of all voxels by one transform.

   The delay is spread over `width` bins of a trace by phi(x) = exp(beta (sqrt(1 - (2x/w)^2) - 1)),
   whose w values a polynomial in the fraction of the bin gives: phi = sum over i of c_ij s^i for
   tap j. The sums over voxels and over i change places. Forward, a voxel adds a s^i to
   moment i of its first bin, and the taps follow from the moments of all; the adjoint makes a
   polynomial in s of the taps and the trace at each bin, and a voxel evaluates it. */
#ifndef ISO_SVOXEL_H
#define ISO_SVOXEL_H

#include "core/hd.h"
#include "core/op.h"
#include "scanner/aperture/aperture.h"
#include "tissue/tissue_delays.h"

#define SVOXEL_OVER_2_PI .15915494309189533577

enum { SVOXEL_TAPS = 8 };   /* greatest width: narrower kernels have zeros behind */
enum { SVOXEL_NARROW = 4 }; /* greatest width of a kernel that svoxel_kernel.c makes */
#ifdef ISO_DOUBLE
enum { SVOXEL_DEGREE = 12 };
#else
enum { SVOXEL_DEGREE = 6 }; /* to 1e-6 */
#endif

/* Tap j is sum over i of c[i][j] s^i, s in [-1, 1] the place within the bin. A narrow kernel has as many terms as
   taps: its powers below s^width, but with two taps 1 + bend s^2 and s. */
struct svoxel_taps {
	iso_real c[SVOXEL_DEGREE + 1][SVOXEL_TAPS];
	iso_real bend;
	int width;
};

/* A point of a transducer as seen from a reference point in the image: R from the first to the
   second. Made in double; the distances of voxels near the reference are then good in float,
   since only their difference to D is rounded. */
struct svoxel_view {
	iso_real r2[3]; /* 2 R, mm */
	iso_real d, dd; /* D = |R|, D^2 */
	int64_t bin;    /* D/c - w/2 in bins of the trace, rounded down; */
	iso_real fraction;
	iso_real ex[3], ey[3];   /* the transducer's axes */
	iso_real x, y;           /* R along them, mm */
	iso_real side_x, side_y; /* of a rectangle, over c: bins */
};

/* Delay in bins from v->bin; *d is the distance. d - D = excess / (d + D) has no cancellation. */
ISO_HD iso_real svoxel_delay(const struct svoxel_view *v, iso_real bins_per_mm, iso_real excess, iso_real *d)
{
	*d = iso_sqrt(v->dd + excess);
	return v->fraction + excess / (*d + v->d) * bins_per_mm;
}

/* First bin of the w that a delay u touches, and the place within it. */
ISO_HD int svoxel_first(iso_real u, iso_real *s)
{
	iso_real first = iso_ceil(u);

	*s = 2 * (first - u) - 1;
	return (int)first;
}

struct svoxel {
	int64_t n[3];        /* voxels along x, y, z */
	double ds, first[3]; /* edge, centre of the first voxel: mm */
	int64_t n_trans;
	double *pos, *ex, *ey, *side; /* (n_trans, 3) and (n_trans, 2): as in iso_transducers */
	double speed;
	enum iso_sir sir;
	int64_t first_line, lines;
	double df_mhz, offset_mhz;
	double *factor;              /* (lines, 2): from voxels to lines, for the direct sum */
	int points;                  /* of each transducer: 1, or all of its face */
	struct aperture_points face; /* those; no nodes: one in the middle */

	/* the fast transform; traces are not wrapped, only the transform's input and output are */
	int64_t bins; /* one period of the lines, 1/df */
	double bins_per_mm, bins_per_us;
	struct svoxel_taps taps;
	int64_t low, span; /* bins that impulses can touch: low ... low + span - 1 */
	double *shaped;    /* (lines, 2): factor over the kernel's own spectrum */
	double *turn;  /* (span + SVOXEL_TAPS, 2): cos and sin of 2 pi offset t at each bin of a trace, which
	                      makes lines of the transform from lines beside them; NULL: the offset is 0 */
	double error;  /* to be expected of the kernel */
	double least;  /* of a rectangle's delay across, bins: the guard */
	int64_t batch; /* images that go through together */

	iso_delays *delays; /* through tissue; NULL: none, and no sound */
	struct sound sound;
};

/* The bin of a period that bin i of all time is. */
ISO_HD int64_t svoxel_wrap(const struct svoxel *p, int64_t i)
{
	int64_t rest = i % p->bins;

	return rest < 0 ? rest + p->bins : rest;
}

ISO_HD bool svoxel_is_narrow(const struct svoxel *p)
{
	return p->taps.width <= SVOXEL_NARROW;
}

/* SVOXEL_PIECE_BYTES: of a bin's piece in the adjoint, and of its moments in each of a thread's
   SVOXEL_COPIES forward on the CPU. Neighbouring voxels of a row add to different copies, so that an
   addition need not wait for the one before. */
enum { SVOXEL_PIECE_BYTES = (SVOXEL_DEGREE + 2) * sizeof(iso_real), SVOXEL_COPIES = 2 };

/* On CUDA the bricks of the image are dealt into parts, each with traces of its own: enough parts for
   SVOXEL_WARPS warps of 32 transducers, in at most SVOXEL_PARTS_BYTES of device memory. */
enum { SVOXEL_WARPS = 4096 };
#define SVOXEL_PARTS_BYTES (1ll << 30)

ISO_HD int64_t svoxel_parts(int64_t n_trans, int64_t span)
{
	int64_t warps = n_trans / 32 + 1, parts = SVOXEL_WARPS / warps + 1;
	double most = (double)SVOXEL_PARTS_BYTES / ((double)n_trans * (double)span * sizeof(double));

	return (double)parts < most ? parts : most > 1 ? (int64_t)most : 1;
}

/* svoxel_face.c: how many points the faces have, and the points. */
int iso_svoxel_face_count(struct aperture_count *c, const struct iso_svoxel *q);
int iso_svoxel_faces(struct iso_room *room, struct svoxel *p, const struct iso_svoxel *q);
int iso_svoxel_check_faces(const struct iso_svoxel *q);

/* svoxel.c: the least distance between a point of a transducer and the centre of a voxel, mm. */
ISO_C double iso_svoxel_nearest(const struct svoxel *p);

/* svoxel_kernel.c: the kernel that the user chose, or the cheapest that is as right as wanted. */
struct svoxel_kernel {
	int width, per_wave; /* taps; bins in the shortest wave */
};

struct svoxel_kernel iso_svoxel_kernel(const struct iso_svoxel *q);
double iso_svoxel_error(const struct iso_svoxel *q); /* to be expected of it */

/* The taps of a narrow kernel, and what its lines are multiplied by. */
void iso_svoxel_narrow(struct svoxel *p, const struct iso_svoxel *q, double correct[]);

/* svoxel_table.c: all but the geometry. */
int iso_svoxel_tables(struct iso_room *room, struct svoxel *p, const struct iso_svoxel *q);
int64_t iso_svoxel_bins(const struct iso_svoxel *q);
double iso_svoxel_highest(const struct iso_svoxel *q);                        /* line, as a multiple of df */
void iso_svoxel_factor(double z[2], const struct iso_svoxel *q, double line); /* from a voxel to a line */
void iso_svoxel_span(int64_t *low, int64_t *span, double bins_per_mm, const struct iso_svoxel *q);

ISO_HD double svoxel_line_mhz(const struct svoxel *p, int64_t l)
{
	return (double)(p->first_line + l) * p->df_mhz + p->offset_mhz;
}

/* svoxel.c: `one` for each image of a batch, whose results and inputs have n_to and n_from values in all. */
ISO_C int iso_svoxel_each(const iso_op *op, int (*one)(const iso_op *op, iso_real *to, const iso_real *from),
                          iso_real *to, int64_t n_to, const iso_real *from, int64_t n_from);

ISO_C void iso_svoxel_free(iso_op *op); /* what is kept */

/* svoxel_fast.c, svoxel_narrow.c and svoxel_direct.c */
extern const struct iso_op_fn iso_svoxel_fast_fn, iso_svoxel_narrow_fn, iso_svoxel_direct_fn;
void iso_svoxel_narrow_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_svoxel *q,
                            int64_t span);

/* Place of point k of a transducer, mm; returns its weight. */
ISO_HD double svoxel_point(double at[3], const struct svoxel *p, int64_t q, int k)
{
	const double *pos = p->pos + 3 * q;

	if (p->face.node) return aperture_point(at, &p->face, pos, p->ex + 3 * q, p->ey + 3 * q, q, k);
	for (int a = 0; a < 3; a++) at[a] = pos[a];
	return 1;
}

/* The view from point `at` of transducer q to the reference point `from`. */
ISO_HD struct svoxel_view svoxel_view(const struct svoxel *p, int64_t q, const double at[3],
                                      const double from[3])
{
	double r[3] = { from[0] - at[0], from[1] - at[1], from[2] - at[2] };
	double dd = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], d = sqrt(dd);
	double first = d * p->bins_per_mm - .5 * p->taps.width, bin = floor(first);
	const double *ex = p->ex + 3 * q, *ey = p->ey + 3 * q;
	struct svoxel_view v = ISO_ZERO;

	v.d = (iso_real)d;
	v.dd = (iso_real)dd;
	v.bin = (int64_t)bin;
	v.fraction = (iso_real)(first - bin);
	v.x = (iso_real)(r[0] * ex[0] + r[1] * ex[1] + r[2] * ex[2]);
	v.y = (iso_real)(r[0] * ey[0] + r[1] * ey[1] + r[2] * ey[2]);
	v.side_x = (iso_real)(p->side[2 * q] * p->bins_per_mm);
	v.side_y = (iso_real)(p->side[2 * q + 1] * p->bins_per_mm);
	for (int a = 0; a < 3; a++) {
		v.r2[a] = (iso_real)(2 * r[a]);
		v.ex[a] = (iso_real)ex[a];
		v.ey[a] = (iso_real)ey[a];
	}
	return v;
}

/* The window of a trace in which one transducer hears a brick of voxels (svoxel_forward.cuh). It holds the
   first bin of the impulse of every voxel of the brick; for a rectangle, of one corner. Its bins are counted
   from the bin at which the brick's middle is heard, moved for a corner by whole bins. */
struct svoxel_window {
	int rows, before; /* bins of the window; of these, before the middle's */
};

/* svoxel.c: for any brick of up to nx x ny x nz voxels and any transducer. */
ISO_C struct svoxel_window iso_svoxel_window(const struct svoxel *p, int nx, int ny, int nz);

/* A window that holds all four corners, counted from the bin at which the brick's middle is heard. */
ISO_C struct svoxel_window iso_svoxel_window_all(const struct svoxel *p, int nx, int ny, int nz);

#endif
