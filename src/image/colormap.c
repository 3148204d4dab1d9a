/* SPDX-License-Identifier: BSD-3-Clause */
/* Colour maps, computed: most of them in OKLab (Ottosson 2020), where equal steps of L look
   equally bright, so that no edge is seen where the values have none. */
#include "colormap.h"

#include "text/nearest.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

const struct iso_colour iso_colour_not_finite = { 255, 0, 255 };

enum { KNOTS = 9 };

/* L runs linearly from the first to the middle to the last value; (a, b) at equal steps along the map.
   light: 0 is shown lighter than what is far from it. */
struct path {
	double L[3];
	double a[KNOTS], b[KNOTS];
	bool light;
};

static const struct path paths[] = {
	/* ember: black, violet, red, orange, pale yellow */
	{ { 0, .49, .98 },
	  { 0, .016, .056, .134, .174, .151, .082, .005, -.013 },
	  { 0, -.060, -.106, -.066, .036, .098, .131, .138, .048 },
	  false },
	/* tide: black, blue, teal, green, pale yellow */
	{ { 0, .49, .98 },
	  { 0, .003, -.009, -.036, -.066, -.100, -.122, -.085, -.019 },
	  { 0, -.052, -.092, -.078, -.040, .008, .072, .134, .057 },
	  false },
	{ { 0, .5, 1 }, { 0 }, { 0 }, false }, /* grey, and inverted */
	{ { 1, .5, 0 }, { 0 }, { 0 }, true },
	{ { 0 }, { 0 }, { 0 }, false }, /* cubehelix is none */
	/* blue-red, with white in the middle */
	{ { .36, .97, .36 },
	  { -.015, -.034, -.041, -.026, 0, .050, .110, .137, .116 },
	  { -.139, -.136, -.102, -.052, 0, .042, .086, .082, .059 },
	  true },
};

static unsigned char byte(double encoded)
{
	return (unsigned char)lrint(255 * fmin(fmax(encoded, 0), 1));
}

/* IEC 61966-2-1, from linear light. */
static unsigned char srgb(double linear)
{
	return byte(linear <= .0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - .055);
}

/* Ottosson, "A perceptual color space for image processing", 2020. */
static struct iso_colour from_lab(double L, double a, double b)
{
	double l = pow(L + .3963377774 * a + .2158037573 * b, 3);
	double m = pow(L - .1055613458 * a - .0638541728 * b, 3);
	double s = pow(L - .0894841775 * a - 1.2914855480 * b, 3);

	return (struct iso_colour){
		srgb(4.0767416621 * l - 3.3077115913 * m + .2309699292 * s),
		srgb(-1.2684380046 * l + 2.6097574011 * m - .3413193965 * s),
		srgb(-.0041960863 * l - .7034186147 * m + 1.7076147010 * s),
	};
}

/* Catmull-Rom through the knots; at the ends the last knot stands for the one beyond it. */
static double spline(const double knot[KNOTS], double t)
{
	double at = t * (KNOTS - 1);
	int k = at < KNOTS - 2 ? (int)at : KNOTS - 2;
	double f = at - k, b = knot[k], c = knot[k + 1];
	double a = knot[k > 0 ? k - 1 : 0], d = knot[k < KNOTS - 2 ? k + 2 : KNOTS - 1];

	return b + .5 * f * (c - a + f * (2 * a - 5 * b + 4 * c - d + f * (3 * (b - c) + d - a)));
}

static struct iso_colour along(const struct path *p, double t)
{
	double L =
		t < .5 ? p->L[0] + 2 * t * (p->L[1] - p->L[0]) : p->L[1] + (2 * t - 1) * (p->L[2] - p->L[1]);

	return from_lab(L, spline(p->a, t), spline(p->b, t));
}

/* Green, "A colour scheme for the display of astronomical intensity images", 2011: start 0.5,
   rotations -1.5, hue 1, gamma 1. */
static struct iso_colour cubehelix(double t)
{
	double angle = 2 * M_PI * (.5 / 3 + 1 - 1.5 * t), amplitude = t * (1 - t) / 2;
	double c = amplitude * cos(angle), s = amplitude * sin(angle);

	return (struct iso_colour){ byte(t - .14861 * c + 1.78277 * s), byte(t - .29227 * c - .90649 * s),
		                    byte(t + 1.97294 * c) };
}

static const char *const names[] = {
	"ember", "tide", "grey", "inverted-grey", "cubehelix", "blue-red", NULL,
};
enum { CUBEHELIX = 4, N_MAPS = sizeof paths / sizeof *paths };
_Static_assert(sizeof names / sizeof *names == N_MAPS + 1, "one name for each map");

const char *const *iso_picture_maps(void)
{
	return names;
}

static int unknown(const char *name)
{
	const char *near = iso_nearest(name, N_MAPS, names);
	char all[128] = "";

	if (near)
		return iso_fail(ISO_EARG, "picture: unknown colour map '%s'; did you mean '%s'?", name, near);
	for (int i = 0; i < N_MAPS; i++) strcat(strcat(all, i ? ", " : ""), names[i]);
	return iso_fail(ISO_EARG, "picture: unknown colour map '%s'; one of %s", name, all);
}

int iso_colormap_make(struct iso_colormap *m, const char *name)
{
	int k = 0;

	while (k < N_MAPS && strcmp(names[k], name) != 0) k++;
	if (k == N_MAPS) return unknown(name);
	m->light = paths[k].light;
	for (int i = 0; i < ISO_COLOURS; i++) {
		double t = i / (ISO_COLOURS - 1.);

		m->colour[i] = k == CUBEHELIX ? cubehelix(t) : along(&paths[k], t);
	}
	return ISO_OK;
}

struct iso_colour iso_colormap_at(const struct iso_colormap *m, double share)
{
	return m->colour[lrint((ISO_COLOURS - 1) * fmin(fmax(share, 0), 1))];
}
