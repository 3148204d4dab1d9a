/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements from xraylib (Schoonjans et al. 2011), which returns 0 where it has no value, and with
   no place given for its errors says nothing about it. */
#include "physics/material.h"

#include <xraylib.h>

static double weight(int z)
{
	bool whole = CS_Photo(z, 10, NULL) > 0 && CS_Photo(z, 520, NULL) > 0 && FF_Rayl(z, 1, NULL) > 0;

	return whole ? AtomicWeight(z, NULL) : 0;
}

/* The spline behind F(q) overshoots to slightly below 0 for light elements at large q. */
static double at(int z, enum iso_element_curve curve, double x)
{
	static double (*const fn[])(int, double, xrl_error **) = { CS_Photo, CS_Compt, CS_Rayl, FF_Rayl };

	return curve == ISO_FORM && !(x > 0) ? z : fn[curve](z, x, NULL);
}

const struct iso_elements iso_elements_xraylib = { "xraylib", weight, at };
