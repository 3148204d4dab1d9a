/* SPDX-License-Identifier: BSD-3-Clause */
/* Colour maps, computed: most of them in OKLab (Ottosson 2020), where equal steps of L look
   equally bright, so that no edge is seen where the values have none. */
#include "colormap.h"

#include "text/nearest.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

const struct iso_colour iso_colour_not_finite = { 255, 0, 255 };

struct lab {
	double L, a, b;
};

struct rgb {
	double r, g, b; /* linear light, 0 to 1 */
};

enum { KNOTS = 9 };

/* L runs linearly from `first` to `middle` to `last`; (a, b) at equal steps along the map. */
struct path {
	double first, middle, last;
	double ab[KNOTS][2];
};

static const struct path grey = { 0, .5, 1, { { 0 } } };
static const struct path inverted_grey = { 1, .5, 0, { { 0 } } };

/* black, violet, red, orange, pale yellow */
static const struct path ember = { 0,
	                           .49,
	                           .98,
	                           {
					   { 0, 0 },
					   { .016, -.060 },
					   { .056, -.106 },
					   { .134, -.066 },
					   { .174, .036 },
					   { .151, .098 },
					   { .082, .131 },
					   { .005, .138 },
					   { -.013, .048 },
				   } };

/* black, blue, teal, green, pale yellow */
static const struct path tide = { 0,
	                          .49,
	                          .98,
	                          {
					  { 0, 0 },
					  { .003, -.052 },
					  { -.009, -.092 },
					  { -.036, -.078 },
					  { -.066, -.040 },
					  { -.100, .008 },
					  { -.122, .072 },
					  { -.085, .134 },
					  { -.019, .057 },
				  } };

/* blue, white, red */
static const struct path blue_red = { .36,
	                              .97,
	                              .36,
	                              {
					      { -.015, -.139 },
					      { -.034, -.136 },
					      { -.041, -.102 },
					      { -.026, -.052 },
					      { 0, 0 },
					      { .050, .042 },
					      { .110, .086 },
					      { .137, .082 },
					      { .116, .059 },
				      } };

/* Ottosson, "A perceptual color space for image processing", 2020. */
static struct rgb lab_to_rgb(struct lab c)
{
	double l = pow(c.L + .3963377774 * c.a + .2158037573 * c.b, 3);
	double m = pow(c.L - .1055613458 * c.a - .0638541728 * c.b, 3);
	double s = pow(c.L - .0894841775 * c.a - 1.2914855480 * c.b, 3);

	return (struct rgb){
		4.0767416621 * l - 3.3077115913 * m + .2309699292 * s,
		-1.2684380046 * l + 2.6097574011 * m - .3413193965 * s,
		-.0041960863 * l - .7034186147 * m + 1.7076147010 * s,
	};
}

static unsigned char byte(double encoded)
{
	return (unsigned char)lrint(255 * fmin(fmax(encoded, 0), 1));
}

/* IEC 61966-2-1. */
static double srgb(double linear)
{
	return linear <= .0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - .055;
}

/* Catmull-Rom through the knots; at the ends the last knot stands for the one beyond it. */
static double spline(const struct path *p, int i, double t)
{
	double at = t * (KNOTS - 1);
	int k = at < KNOTS - 2 ? (int)at : KNOTS - 2;
	double f = at - k, b = p->ab[k][i], c = p->ab[k + 1][i];
	double a = p->ab[k > 0 ? k - 1 : 0][i], d = p->ab[k < KNOTS - 2 ? k + 2 : KNOTS - 1][i];

	return b + .5 * f * (c - a + f * (2 * a - 5 * b + 4 * c - d + f * (3 * (b - c) + d - a)));
}

static struct iso_colour along(const struct path *p, double t)
{
	double L = t < .5 ? p->first + 2 * t * (p->middle - p->first)
	                  : p->middle + (2 * t - 1) * (p->last - p->middle);
	struct rgb c = lab_to_rgb((struct lab){ L, spline(p, 0, t), spline(p, 1, t) });

	return (struct iso_colour){ byte(srgb(c.r)), byte(srgb(c.g)), byte(srgb(c.b)) };
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

/* ---- the table ---- */

static const char *const names[] = {
	"ember", "tide", "grey", "inverted-grey", "cubehelix", "blue-red", NULL,
};

static const struct {
	const struct path *path; /* NULL: cubehelix */
	bool light;
} maps[] = {
	{ &ember, false },        { &tide, false }, { &grey, false },
	{ &inverted_grey, true }, { NULL, false },  { &blue_red, true },
};
enum { N_MAPS = sizeof maps / sizeof *maps };
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
	for (int i = 0; i < N_MAPS; i++) {
		strcat(all, i ? ", " : "");
		strcat(all, names[i]);
	}
	return iso_fail(ISO_EARG, "picture: unknown colour map '%s'; one of %s", name, all);
}

int iso_colormap_make(struct iso_colormap *m, const char *name)
{
	int k = 0;

	while (k < N_MAPS && strcmp(names[k], name) != 0) k++;
	if (k == N_MAPS) return unknown(name);
	m->light = maps[k].light;
	for (int i = 0; i < ISO_COLOURS; i++) {
		double t = i / (ISO_COLOURS - 1.);

		m->colour[i] = maps[k].path ? along(maps[k].path, t) : cubehelix(t);
	}
	return ISO_OK;
}

struct iso_colour iso_colormap_at(const struct iso_colormap *m, double share)
{
	return m->colour[lrint((ISO_COLOURS - 1) * fmin(fmax(share, 0), 1))];
}
