/* SPDX-License-Identifier: BSD-3-Clause */
/* How sharp an image is: n sum x^2 / (sum |x|)^2, from 1 where all values are alike to n where one
   voxel has it all. It does not depend on the scale; what a wrong speed of sound smears over the
   background adds to the second sum more than to the first. */
#include "core/status.h"

#include <math.h>

int iso_measure_sharpness(double *sharpness, const struct iso_array *x)
{
	if (!sharpness || !x) return iso_fail_null(__func__);
	double one = 0, two = 0;

	for (int64_t i = 0; i < x->n; i++) {
		one += fabs((double)x->v[i]);
		two += (double)x->v[i] * (double)x->v[i];
	}
	if (!(one > 0) || !isfinite(one))
		return iso_fail(ISO_EINPUT, "sharpness: the image is %s",
		                one == 0 ? "0 everywhere" : "not finite");
	*sharpness = two * (double)x->n / (one * one);
	return ISO_OK;
}
