/* SPDX-License-Identifier: BSD-3-Clause */
/* Radioactive decay: half lives and branching fractions of the positron emitters in use, and the mean activity over a
   time. */
#include "text/nearest.h"
#include "core/status.h"
#include "file/suffix.h"

#include <math.h>

/* Published half lives differ by up to 0.6 %. Branching: positrons a decay. */
static const struct isotope {
	const char *name;
	double half_life_s, branching;
} isotopes[] = {
	{ "O-15", 122.24, .999 },    { "N-13", 597.9, .998 },   { "C-11", 1221.8, .998 },
	{ "F-18", 6586.2, .967 },    { "Rb-82", 75.45, .955 },  { "Ga-68", 4062.6, .89 },
	{ "Cu-64", 45721, .175 },    { "Zr-89", 282276, .227 }, { "I-124", 360806, .227 },
	{ "Na-22", 8.2107e7, .903 },
};
enum { N_ISOTOPES = sizeof isotopes / sizeof isotopes[0] };

/* NULL: not known. */
static const struct isotope *find(const char *isotope)
{
	for (int i = 0; i < N_ISOTOPES; i++)
		if (iso_same_word(isotope, isotopes[i].name)) return &isotopes[i];
	return NULL;
}

static int unknown(const char *isotope)
{
	const char *names[N_ISOTOPES], *near;

	for (int i = 0; i < N_ISOTOPES; i++) names[i] = isotopes[i].name;
	near = iso_nearest(isotope, N_ISOTOPES, names);
	return iso_fail(ISO_EARG,
	                "isotope %s is not known%s%s; known are O-15, N-13, C-11, F-18, Rb-82, Ga-68, "
	                "Cu-64, Zr-89, I-124, Na-22",
	                isotope, near ? "; did you mean " : "", near ? near : "");
}

const char *iso_isotope(const char *isotope)
{
	if (!isotope) return NULL;

	const struct isotope *i = find(isotope);

	return i ? i->name : NULL;
}

int iso_half_life(double *half_life_s, const char *isotope)
{
	if (!half_life_s || !isotope) return iso_fail_null(__func__);
	const struct isotope *i = find(isotope);

	if (!i) return unknown(isotope);
	*half_life_s = i->half_life_s;
	return ISO_OK;
}

int iso_branching(double *branching, const char *isotope)
{
	if (!branching || !isotope) return iso_fail_null(__func__);
	const struct isotope *i = find(isotope);

	if (!i) return unknown(isotope);
	*branching = i->branching;
	return ISO_OK;
}

/* exp(-k from) (1 - exp(-k d)) / (k d), k = ln 2 / half-life, d = to - from. */
double iso_decay_mean(double half_life, double from_s, double to_s)
{
	if (half_life == 0) return 1;
	double k = log(2) / half_life, d = to_s - from_s;

	return exp(-k * from_s) * (k * d > 0 ? -expm1(-k * d) / (k * d) : 1);
}
