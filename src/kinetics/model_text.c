/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a kinetic model: spectral:beta=1e-4/1e-2/8,blood */
#include "curve.h"

#include "core/status.h"
#include "file/suffix.h"
#include "text/nearest.h"

#include <string.h>

static const char *const names[] = {
	[ISO_KINETIC_PATLAK] = "patlak",   [ISO_KINETIC_SPECTRAL] = "spectral", [ISO_KINETIC_SRTM2] = "srtm2",
	[ISO_KINETIC_BSPLINE] = "bspline", [ISO_KINETIC_BASIS] = "basis",
};

enum { MODELS = sizeof names / sizeof *names };

/* Numbers between slashes; how many, 0: they are no numbers, or more than `most`. */
static int numbers(double *v, int most, const char *text, size_t size)
{
	int n = 0;

	for (const char *end = text + size;; text++) {
		const char *slash = memchr(text, '/', (size_t)(end - text));
		size_t length = (size_t)((slash ? slash : end) - text);

		if (n == most || !iso_number(v + n, text, length)) return 0;
		n++;
		text += length;
		if (!slash) return n;
	}
}

static bool is_word(const char *text, size_t size, const char *word)
{
	return size == strlen(word) && iso_same_letters(text, word, size);
}

static bool begins(const char *text, size_t size, const char *word)
{
	return size > strlen(word) && iso_same_letters(text, word, strlen(word));
}

/* One of the words behind the model; false: it is none. */
static bool take(struct iso_basis_spec *s, const char *text, size_t size)
{
	const bool spectral = s->model == ISO_KINETIC_SPECTRAL, srtm2 = s->model == ISO_KINETIC_SRTM2;
	double v[3];

	if (s->model == ISO_KINETIC_BSPLINE)
		return (s->knots = numbers(s->knot, ISO_BASES_MOST - 2, text, size)) >= 2;
	if (spectral && is_word(text, size, "blood")) return s->blood = true;
	if (spectral && is_word(text, size, "zero")) return s->zero = true;
	if (srtm2 && begins(text, size, "k2p=")) return numbers(&s->k2p, 1, text + 4, size - 4) == 1;
	if (!(spectral || srtm2) || !begins(text, size, "beta=") || numbers(v, 3, text + 5, size - 5) != 3)
		return false;
	if (!(v[2] >= 2 && v[2] <= ISO_BASES_MOST && v[2] == (int)v[2])) return false;
	s->from = v[0];
	s->to = v[1];
	s->rates = (int)v[2];
	return true;
}

static int misread(const char *text)
{
	return iso_fail(ISO_EARG,
	                "kinetic model '%.100s' is not understood: it is patlak, "
	                "spectral:beta=FROM/TO/N[,blood][,zero], srtm2:k2p=V,beta=FROM/TO/N, "
	                "bspline:T0/T1/... or basis",
	                text);
}

static int unknown(const char *text)
{
	const char *near = iso_nearest(text, MODELS, names);

	if (!near) return misread(text);
	return iso_fail(ISO_EARG, "'%.100s' is not a kinetic model; did you mean %s", text, near);
}

int iso_basis_parse(struct iso_basis_spec *to, const char *text)
{
	struct iso_basis_spec s = { .size = sizeof s };
	const char *const all = text;
	int model = 0;

	if (!to || !text) return iso_fail_null(__func__);
	size_t length = strcspn(text, ":");

	while (model < MODELS && !is_word(text, length, names[model])) model++;
	if (model == MODELS) return unknown(text);
	s.model = (enum iso_kinetic_model)model;
	for (text += length; *text; text += length) {
		text++;
		length = strcspn(text, ",");
		if (!take(&s, text, length)) return misread(all);
	}
	bool rates = s.model == ISO_KINETIC_SPECTRAL || s.model == ISO_KINETIC_SRTM2;

	if ((rates && s.rates == 0) || (s.model == ISO_KINETIC_SRTM2 && !(s.k2p > 0)) ||
	    (s.model == ISO_KINETIC_BSPLINE && s.knots == 0))
		return misread(all);
	*to = s;
	return ISO_OK;
}
