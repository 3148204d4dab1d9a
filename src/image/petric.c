/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures of the PET Rapid Image reconstruction Challenge (PETRIC, SyneRBI 2024): an image against a converged one. */
#include "isotome.h"

#include "core/sized.h"
#include "core/status.h"

#include <math.h>

/* Of the voxels of a mask. */
struct sums {
	int64_t n;
	double a, ref, square; /* of a, of ref, of (a - ref)^2 */
};

static int add_up(struct sums *s, int64_t n, const iso_real *a, const iso_real *ref, const iso_real *mask,
                  const char *name)
{
	*s = (struct sums){ 0 };
	for (int64_t i = 0; i < n; i++) {
		double d = (double)a[i] - ref[i];

		if (mask[i] == 0) continue;
		s->n++;
		s->a += a[i];
		s->ref += ref[i];
		s->square += d * d;
	}
	return s->n > 0 ? ISO_OK
	                : iso_fail(ISO_EINPUT, "petric: the mask of the %s is 0 in every voxel", name);
}

int iso_measure_petric(struct iso_petric *p, double *aem, int64_t n, const iso_real *a, const iso_real *ref,
                       const iso_real *whole, const iso_real *background, int n_voi,
                       const iso_real *const *voi)
{
	struct sums all, flat, s;
	int st;

	if (!p || !a || !ref || !whole || !background || (n_voi > 0 && (!aem || !voi)))
		return iso_fail_null(__func__);
	if ((st = add_up(&all, n, a, ref, whole, "whole object"))) return st;
	if ((st = add_up(&flat, n, a, ref, background, "background"))) return st;
	double norm = flat.ref / (double)flat.n;

	if (!(norm > 0))
		return iso_fail(ISO_EINPUT,
		                "petric: the reference's mean over the background is %g, must be above 0",
		                norm);
	struct iso_petric got = {
		.norm = norm,
		.rmse_whole = sqrt(all.square / (double)all.n) / norm,
		.rmse_background = sqrt(flat.square / (double)flat.n) / norm,
	};

	for (int k = 0; k < n_voi; k++) {
		if (!voi[k]) return iso_fail_null(__func__);
		if ((st = add_up(&s, n, a, ref, voi[k], "region"))) return st;
		aem[k] = fabs(s.a - s.ref) / (double)s.n / norm;
	}
	return iso_sized_put(p, "iso_petric", sizeof got, &got);
}
