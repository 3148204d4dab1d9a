/* SPDX-License-Identifier: BSD-3-Clause */
/* A source of uniform activity whose shape is known: where lines of response meet it. Lengths are mm. */
#ifndef ISO_SOURCE_H
#define ISO_SOURCE_H

#include "isotome/status.h"

#include <stdbool.h>

enum source_kind {
	SOURCE_CYLINDER, /* of this radius and length, along one of the axes x, y, z */
	SOURCE_PLANE,    /* a box turned by an angle about z */
	SOURCE_ORBIT,    /* a rod along z that goes round the axis of the scanner evenly */
};

struct source {
	enum source_kind kind;
	double centre[3]; /* of an orbit: 0 */
	double radius;    /* cylinder; of an orbit: of the rod */
	double length;    /* cylinder, orbit */
	int axis;         /* cylinder: 0, 1, 2 for x, y, z */
	double half[3];   /* plane: half of width, height, thickness, along x', y', z of the turned box */
	double turn[2];   /* plane: cosine and sine of the angle from x to x' */
	double orbit;     /* orbit: radius of the circle of the rod's middle */
};

/* A stretch of a line, mm from its first end, and the density of the activity there: 1 inside a shape that stays, the share
   of time of an orbit. */
struct source_piece {
	double from, to, density;
};

enum { SOURCE_PIECES = 64 }; /* most pieces of a line */

/* Words of --source that name a shape, for help and messages. */
#define SOURCE_WORDS                                                                                       \
	"cylinder:X,Y,Z,R,LENGTH[,AXIS], plane:X,Y,Z,WIDTH,HEIGHT,THICK,ANGLE or orbit:RADIUS,ROD_RADIUS," \
	"LENGTH"

/* Whether a text is a shape, by the word before its colon; an image otherwise. */
bool source_is_shape(const char *text);

/* ISO_EARG if the text names no shape, or its numbers are none, too many or too few, or not positive. */
int source_parse(struct source *s, const char *text);

/* The pieces of the line from p1 to p2 inside the source, in order; returns how many, 0 if it misses. */
int source_pieces(struct source_piece piece[SOURCE_PIECES], const struct source *s, const double p1[3],
                  const double p2[3]);

/* The density at a place. */
double source_density(const struct source *s, const double p[3]);

/* Integral of the density along the line, mm. */
double source_integral(const struct source *s, const double p1[3], const double p2[3]);

#endif
