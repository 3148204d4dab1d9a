/* SPDX-License-Identifier: BSD-3-Clause */
/* The axes of a volume among those of the patient. */
#include "volume.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

static double length(const double affine[3][4], int axis)
{
	return sqrt(affine[0][axis] * affine[0][axis] + affine[1][axis] * affine[1][axis] +
	            affine[2][axis] * affine[2][axis]);
}

static bool in_plane(const double m[3][4])
{
	double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
	             m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
	             m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);

	return !(fabs(det) > 1e-6 * length(m, 0) * length(m, 1) * length(m, 2));
}

/* Of the six ways to name the axes, the one with the largest cosines in sum. */
int iso_axes_find(int axis[3], int sign[3], const double affine[3][4], const char *path)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		                          { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	double best = -1;

	for (int c = 0; c < 3; c++)
		if (!(length(affine, c) > 0)) return iso_refuse(path, "voxel size 0 along axis %d", c + 1);
	if (in_plane(affine)) return iso_refuse(path, "its three axes lie in a plane");
	for (int i = 0; i < 6; i++) {
		double sum = 0;

		for (int r = 0; r < 3; r++)
			sum += fabs(affine[r][orders[i][r]]) / length(affine, orders[i][r]);
		if (sum > best) memcpy(axis, orders[i], sizeof orders[i]);
		best = fmax(best, sum);
	}
	for (int r = 0; r < 3; r++) sign[r] = affine[r][axis[r]] < 0 ? -1 : 1;
	return ISO_OK;
}

double iso_axes_tilt(double each[3], const double affine[3][4], const int axis[3])
{
	double most = 0;

	for (int r = 0; r < 3; r++) {
		double along = fabs(affine[r][axis[r]]), x = affine[(r + 1) % 3][axis[r]],
		       y = affine[(r + 2) % 3][axis[r]];
		bool straight = fabs(x) <= 1e-4 * along && fabs(y) <= 1e-4 * along;
		double angle = straight ? 0 : atan2(hypot(x, y), along) * 180 / M_PI;

		if (each) each[r] = angle;
		most = fmax(most, angle);
	}
	return most;
}

void iso_axes_grid(struct iso_grid *g, const int64_t dim[3], const double affine[3][4], const int axis[3])
{
	bool straight = !(iso_axes_tilt(NULL, affine, axis) > 0);

	for (int r = 0; r < 3; r++) {
		g->n[r] = dim[axis[r]];
		g->voxel[r] = straight ? fabs(affine[r][axis[r]]) : length(affine, axis[r]);
		g->centre[r] = affine[r][3];
		for (int c = 0; c < 3; c++) g->centre[r] += affine[r][c] * .5 * (double)(dim[c] - 1);
	}
}

int iso_axes_refuse(const char *path)
{
	return iso_refuse(path, "its axes are oblique; command mu resamples a CT to straight ones");
}

int iso_image_tilt(double *degrees, const char *path)
{
	struct iso_volume v = { 0 };
	int axis[3], sign[3], st = iso_image_place(&v, path);

	*degrees = 0;
	if (st || v.dim[0] == 0) return st;
	if (!(st = iso_axes_find(axis, sign, v.affine, path))) *degrees = iso_axes_tilt(NULL, v.affine, axis);
	return st;
}

bool iso_axes_same(const struct iso_volume *a, const struct iso_volume *b)
{
	for (int r = 0; r < 3; r++)
		for (int c = 0; c < 3; c++)
			if (fabs(a->affine[r][c] / length(a->affine, c) -
			         b->affine[r][c] / length(b->affine, c)) > 1e-4)
				return false;
	return true;
}
