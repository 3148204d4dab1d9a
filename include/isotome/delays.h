/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays of sound through tissue in water: one region of another speed, or a map of speeds. Lengths are mm, times
   us, speeds mm/us. The speed of the water is that of the transducers.

   Threads: any number may read one iso_delays. */
#ifndef ISOTOME_DELAYS_H
#define ISOTOME_DELAYS_H

#include "isotome/memory.h"
#include "isotome/transducers.h"

ISO_BEGIN_C

enum iso_tissue_shape {
	ISO_TISSUE_ELLIPSOID, /* also sphere, and cylinders of circles and ellipses */
	ISO_TISSUE_PLANE,     /* where normal . x < offset */
	ISO_TISSUE_MASK,      /* voxels of an image above 0.5 */
	ISO_TISSUE_MAP        /* an image of speeds */
};

/* The way of the sound: straight; bent at the border by Snell's law; the first arrival in any medium. */
enum iso_sound_path { ISO_SOUND_STRAIGHT, ISO_SOUND_SNELL, ISO_SOUND_EIKONAL };

/* How loud a point is at a transducer: 1/distance; or by the spread of the bent rays. */
enum iso_sound_amplitude { ISO_SOUND_DISTANCE, ISO_SOUND_SPREAD };

struct iso_tissue {
	size_t size; /* size of this struct */
	enum iso_tissue_shape shape;
	double centre[3];
	double axes[3];     /* half axes; INFINITY: a cylinder along it */
	double rotation[9]; /* rows are the axes; all 0: x, y, z */
	double normal[3], offset;
	double speed;          /* in the tissue; a map has its own */
	const iso_real *image; /* mask or map, on image_grid; copied */
	struct iso_grid image_grid;
	enum iso_sound_path path;
	enum iso_sound_amplitude amplitude;
	double table_mm; /* step of the tables of masks, maps and 'eikonal'; 0: by the sampling rate */
};

typedef struct iso_delays iso_delays;

/* The delays from every voxel of a grid to every transducer. Shapes are computed when they are asked for; the rest is
   tabulated now. An operator that is made with them keeps them. */
ISO_CHECKED int iso_delays_create(iso_delays **d, iso_ctx *ctx, const struct iso_transducers *t,
                                  const struct iso_tissue *tissue, const struct iso_grid *grid);
void iso_delays_free(iso_delays *d);
void iso_delays_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_transducers *t,
                     const struct iso_tissue *tissue, const struct iso_grid *grid);

/* For n points (n, 3), as transducer q hears them: the delay; and 1/mm, where NULL says that nobody asks. With `single`
   by the arithmetic of the models, else in double; straight ways through a map then without its tables. */
ISO_CHECKED int iso_delays_points(double *t_us, double *amplitude, const iso_delays *d, int64_t q, int64_t n,
                                  const double *points, bool single);

/* From one point of its face, `from`, to another place. */
ISO_CHECKED int iso_delays_ray(double *t_us, double *amplitude, const iso_delays *d, int64_t q,
                               const double from[3], const double to[3]);

/* The speed at n points (n, 3). */
ISO_CHECKED int iso_delays_speeds(double *speed, const iso_delays *d, int64_t n, const double *points);

struct iso_delays_info {
	size_t size;        /* size of this struct, set by the caller */
	double least, most; /* what tissue adds to the delays of water, us: bounds */
	double table_mm;    /* step of the tables; 0: none */
	int64_t table_bytes;
	double table_error_us; /* change of delays at half the step, root of mean square; NaN: not measured */
	int64_t voxels, voxels_in; /* the grid has, and tissue; for a map both are the grid's */
	int64_t transducers, transducers_in;
	bool smooth;       /* a map: speeds without borders */
	bool focuses;      /* slow tissue may be heard twice: path ISO_SOUND_SNELL has the first of them */
	double mean_speed; /* the tissue's, or the mean of a map's voxels */
};

/* What delays are made of, and how they are kept. */
ISO_CHECKED int iso_delays_look(struct iso_delays_info *info, const iso_delays *d);

ISO_END_C
#endif
