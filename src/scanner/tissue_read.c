/* SPDX-License-Identifier: BSD-3-Clause */
/* The tissue of a description of transducers: one shape of the options, its speed, and how an ellipsoid is turned. */
#include "scanner.h"

#include "core/size.h"
#include "tissue_read.h"

#define FAR 1e5 /* mm */

enum { SHAPES = 5, NUMBERS = 6, AXES = 9 };

#define TURNED 1e-6 /* of rows that should be of length 1, at right angles */

/* Rows are the axes of an ellipsoid. */
static int check_rotation(const struct conf_node *at, const double *r)
{
	for (int i = 0; i < 3; i++)
		for (int j = 0; j <= i; j++) {
			double dot = 0;

			for (int k = 0; k < 3; k++) dot += r[3 * i + k] * r[3 * j + k];
			if (!(fabs(dot - (i == j)) < TURNED))
				return iso_conf_fail(
					at,
					"rotation: rows %d and %d have the product %g, must be axes "
					"of length 1 at right angles",
					j + 1, i + 1, dot);
		}
	return ISO_OK;
}

/* As the option says it: NAME:X,Y,... */
static void write_shape(struct scanner_tissue *t, const char *name, const double *v, int n)
{
	int at = iso_snprintf(t->shape, sizeof t->shape, "%s", name);

	for (int i = 0; i < n; i++)
		at += iso_snprintf(t->shape + at, sizeof t->shape - (size_t)at, "%c%.17g", i ? ',' : ':',
		                   v[i]);
}

int iso_tissue_read(struct scanner_tissue *t, const struct conf_node *root)
{
	static const int count[SHAPES] = { 4, 6, 3, 5, 4 };
	const struct conf_node *node = iso_conf_find(root, "tissue");
	double v[SHAPES][NUMBERS] = { { 0 } };
	const struct conf_key keys[] = {
		/* X, Y, Z, radius. */
		{ "sphere", CONF_REALS, v[0], 4, -FAR, FAR, false },
		/* X, Y, Z and three half axes. */
		{ "ellipsoid", CONF_REALS, v[1], 6, -FAR, FAR, false },
		/* X, Y, radius: a cylinder, as in `--tissue circle`. */
		{ "circle", CONF_REALS, v[2], 3, -FAR, FAR, false },
		/* X, Y, two half axes, degrees from x towards y. */
		{ "ellipse", CONF_REALS, v[3], 5, -FAR, FAR, false },
		/* NX, NY, NZ, H: tissue where NX x + NY y + NZ z < H. */
		{ "plane", CONF_REALS, v[4], 4, -FAR, FAR, false },
		/* Axes of the ellipsoid, three rows. Default: x, y, z. */
		{ "rotation", CONF_REALS, t->rotation, AXES, -1, 1, false },
		/* Speed of sound in the tissue. */
		{ "speed_mm_per_us", CONF_REAL, &t->speed, 1, .3, 10, true },
		{ .name = NULL },
	};
	int found = -1, st;

	if (!node) return ISO_OK;
	if ((st = iso_conf_keys(node, keys))) return st;
	for (int i = 0; i < SHAPES; i++) {
		if (!iso_conf_find(node, keys[i].name)) continue;
		if (found >= 0)
			return iso_conf_fail(node, "%s and %s: there is one tissue", keys[found].name,
			                     keys[i].name);
		found = i;
	}
	if (found < 0)
		return iso_conf_fail(node,
		                     "tissue needs one of sphere, ellipsoid, circle, ellipse and plane");
	const struct conf_node *turned = iso_conf_find(node, "rotation");

	if (turned && found != 1) return iso_conf_fail(turned, "rotation belongs to an ellipsoid");
	if (turned && (st = check_rotation(turned, t->rotation))) return st;
	write_shape(t, keys[found].name, v[found], count[found]);
	return ISO_OK;
}
