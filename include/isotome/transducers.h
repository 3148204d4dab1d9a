/* SPDX-License-Identifier: BSD-3-Clause */
/* Transducers: the geometry of optoacoustic tomography. Times are us, frequencies MHz, speeds mm/us,
   lengths mm. */
#ifndef ISOTOME_TRANSDUCERS_H
#define ISOTOME_TRANSDUCERS_H

#include "isotome/grid.h"
#include "isotome/scanner.h"

ISO_BEGIN_C

/* Times are us, frequencies MHz, speeds mm/us. Transducer q hears sample k at first_us + k dt_us
   after the laser pulse; traces are arrays (n, samples). Local axes ex, ey, normal are
   right-handed, the normal points at the object. */
struct iso_transducers {
	int64_t n;
	double *pos, *normal, *ex, *ey; /* (n, 3); mm, and unit vectors */
	double *aperture;               /* (n, 2), mm along ex and ey: flat rectangles; NULL: points */
	double *area;                   /* (n), mm^2 of the surface that each stands for; NULL: not said */
	double centre[3];               /* centre of the sphere that they lie on */
	double radius; /* radius of that sphere; if it was not given, the mean distance from the centre */
	double spread; /* (greatest - least distance from the centre) / radius */
	bool rings;    /* made from rings and views: q = ring * views + view */
	double speed;  /* speed of sound, mm/us; 0 if the file does not say it */
	double dt_us, first_us;
	int64_t samples;
	double gamma; /* Grueneisen parameter: initial pressure = gamma * absorbed energy */
	int64_t n_eir;
	double *eir; /* impulse response, dt h(k dt), from delay 0; NULL: none */
};

/* The transducers of a scanner of the kind ISO_TRANSDUCERS; NULL for another kind. */
const struct iso_transducers *iso_scanner_transducers(const iso_scanner *s);

/* How the faces of transducers are curved: along ex round the focus, a point on the normal (cylinders), or along both axes
   (bowls: caps, round, whose rim has the diameter aperture[2 q]). Nothing of it: faces are flat. */
struct iso_faces {
	size_t size;   /* size of this struct */
	int64_t n;     /* transducers */
	double *focus; /* (n), mm from the middle of the face, at least half its width; 0: flat */
	bool bowl;
};

/* The curved faces of a scanner of the kind ISO_TRANSDUCERS; NULL: all are flat, or points. */
const struct iso_faces *iso_scanner_faces(const iso_scanner *s);

/* What a transducer hears of a voxel: at its middle; over its flat rectangle in the far field; by the integral over the
   rectangle; by the integral over its face, which may be curved. */
enum iso_sir { ISO_SIR_POINT, ISO_SIR_RECT, ISO_SIR_NEAR, ISO_SIR_FOCUS };

/* Rings of equal views on a sphere about the origin: ring r at polar angle first + r step. */
struct iso_rings {
	double radius;
	int64_t rings, views;
	double polar_first, polar_step;     /* rad, from +z */
	double azimuth_first, azimuth_step; /* rad, from +x towards +y */
};

/* Fills n, pos, axes, area (radius^2 dtheta dphi sin theta), sphere; the rest stays as it is. */
ISO_CHECKED int iso_transducers_rings(struct iso_transducers *t, const struct iso_rings *r);
void iso_transducers_free(struct iso_transducers *t); /* its arrays, whoever filled them */

/* In-plane axes of a unit normal: ex is minus the global z made orthogonal to it (x where they
   are parallel), ey = normal x ex. */
void iso_transducer_frame(double ex[3], double ey[3], const double normal[3]);

/* ISO_EARG unless sizes, speed, sampling and gamma are positive and the geometry is finite. */
ISO_CHECKED int iso_transducers_check(const struct iso_transducers *t);

/* Delays between the voxel centres of a grid and the transducers, us. */
struct iso_hearing {
	size_t size; /* size of this struct, set by the caller */
	double nearest, farthest;
	double covered; /* share of [nearest, farthest] that the record holds */
	int64_t away;   /* transducers whose normals point away from the grid's centre */
};

/* ISO_EINPUT, with the reason, if a transducer lies inside the grid's box, or if the record holds
   nothing of it. */
ISO_CHECKED int iso_transducers_hear(struct iso_hearing *h, const struct iso_transducers *t,
                                     const struct iso_grid *g);

/* What an array is taken to see where no file says it: a cube of 5/8 of its radius round its
   centre; where all transducers lie in a plane across an axis, a square in it. From and to of each
   axis. */
void iso_transducers_field(double field[6], const struct iso_transducers *t);

/* The rest of a grid: g->n or voxel of 0 were not said. It covers a field of view (NULL: that of a
   planar array), with 256 voxels on the longest side of a plane; the plane of a planar array, or a
   field of no width, is one voxel thick. ISO_EARG, with what is missing, where that says too
   little. */
ISO_CHECKED int iso_transducers_grid(struct iso_grid *g, const struct iso_transducers *t,
                                     const double *field);

/* Speed of sound in water, mm/us, from 0 to 95 C at the pressure of air: Marczak 1997. */
double iso_water_speed(double celsius);

ISO_END_C
#endif
