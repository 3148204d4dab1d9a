/* SPDX-License-Identifier: BSD-3-Clause */
/* How sharp an image is: its fourth moment over the square of its second, sum x^4 n / (sum x^2)^2.
   It does not depend on the scale; smearing an object over more voxels lowers it. */
#include "core/status.h"

int iso_measure_sharpness(double *sharpness, const struct iso_array *x)
{
	double two = 0, four = 0;

	for (int64_t i = 0; i < x->n; i++) {
		double square = (double)x->v[i] * (double)x->v[i];

		two += square;
		four += square * square;
	}
	if (!(two > 0))
		return iso_fail(ISO_EINPUT, "sharpness: the image is 0 everywhere");
	*sharpness = four * (double)x->n / (two * two);
	return ISO_OK;
}
