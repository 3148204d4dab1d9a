/* SPDX-License-Identifier: BSD-3-Clause */
/* Points over the faces of transducers: a mean over a face becomes a weighted sum over points. Lengths are mm.

   A face is flat, a along ex and b along ey; or a cylinder, curved along ex with radius F round the focus on its normal;
   or a bowl, a cap of radius F whose rim has diameter a. A place on it is u ex + v ey + w normal from the apex:

	cylinder  u = F sin t, v = y, w = F (1 - cos t), |t| <= asin(a/(2F)), |y| <= b/2;  equal t and y count alike
	bowl      u = F sin t cos p, v = F sin t sin p, w = F (1 - cos t), all p;          equal cos t and p count alike

   Nodes are those of Gauss and Legendre along t, y and cos t, and equal steps of p. How many there must be follows from
   how the delay of sound changes over the face: it grows by Phi waves of the highest frequency from apex to edge.
   Where all places lie in a plane of symmetry of every face, both halves hear the same, and one of them does. */
#ifndef ISO_APERTURE_H
#define ISO_APERTURE_H

#include "core/hd.h"
#include "core/room.h"

enum { APERTURE_MOST = 1024 }; /* nodes along one side of a face */

/* What nodes are for. */
struct aperture_rule {
	double error; /* relative, of what a point hears up to `mhz` */
	double mhz;
	double low[3], high[3]; /* the box of places that are heard */
	int least;              /* nodes along a side, at least */
};

/* Nodes of a face: along ex and ey; of a bowl, from apex to rim and round it. */
struct aperture_count {
	int n[2];
	bool half[2];    /* the second half hears as the first */
	bool bowl, flat; /* flat: all faces are */
};

/* Points of each transducer; what differs from face to face is a row of `node`. */
struct aperture_points {
	int points;
	int64_t faces;
	int64_t *face; /* (n_trans): the row of each */
	double *node;  /* (faces, points, 4): u, v, w, weight; weights have the sum 1 */
};

/* `faces` may be NULL: flat. ISO_EARG if a face would need more than APERTURE_MOST nodes along a side. `who` begins the message. */
ISO_C int iso_aperture_count(struct aperture_count *c, const struct iso_transducers *t,
                             const struct iso_faces *faces, const struct aperture_rule *r, const char *who);

/* The points, in the room. */
ISO_C int iso_aperture_points(struct aperture_points *p, struct iso_room *room,
                              const struct iso_transducers *t, const struct iso_faces *faces,
                              const struct aperture_count *c);

/* Points of a transducer. */
ISO_C int iso_aperture_size(const struct aperture_count *c);

/* Gauss and Legendre: n nodes on [-1/2, 1/2], weights of sum 1. */
ISO_C void iso_aperture_gauss(int n, double *node, double *weight);

/* ISO_EARG unless focuses and sizes make faces. */
ISO_C int iso_aperture_check(const struct iso_transducers *t, const struct iso_faces *faces);

/* Place of point k of transducer q; returns its weight. */
ISO_HD double aperture_point(double at[3], const struct aperture_points *p, const double pos[3],
                             const double ex[3], const double ey[3], int64_t q, int k)
{
	const double *v = p->node + 4 * (p->face[q] * p->points + k);
	const double normal[3] = { ex[1] * ey[2] - ex[2] * ey[1], ex[2] * ey[0] - ex[0] * ey[2],
		                   ex[0] * ey[1] - ex[1] * ey[0] };

	for (int a = 0; a < 3; a++) at[a] = pos[a] + v[0] * ex[a] + v[1] * ey[a] + v[2] * normal[a];
	return v[3];
}

#endif
