/* SPDX-License-Identifier: BSD-3-Clause */
/* Radioactive decay: half-lives of the isotopes of PET, and their mean activity over a time. */
#include "isotome.h"

#include <math.h>
#include <string.h>

/* Half-lives as evaluated by the National Nuclear Data Center. */
static const char *const names[] = { "F-18", "C-11", "O-15", "N-13", "Ga-68", "Cu-64", "Zr-89",
				     "Rb-82", "I-124", NULL };
static const double half_life_s[] = { 6586.2, 1223.1, 122.24, 597.9, 4062.6, 45723.6, 282276,
				      75.45, 360806.4 };

_Static_assert(sizeof names / sizeof *names == sizeof half_life_s / sizeof *half_life_s + 1,
	       "in the same order");

const char *const *iso_isotope_names(void)
{
	return names;
}

double iso_isotope_half_life_s(const char *name)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(name, names[i]) == 0)
			return half_life_s[i];

	return 0;
}

/* exp(-k from) (1 - exp(-k d)) / (k d), k = ln 2 / half-life, d = to - from. */
double iso_decay_mean(double half_life, double from_s, double to_s)
{
	if (half_life == 0)
		return 1;
	double k = log(2) / half_life, d = to_s - from_s;

	return exp(-k * from_s) * (k * d > 0 ? -expm1(-k * d) / (k * d) : 1);
}
