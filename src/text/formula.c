/* SPDX-License-Identifier: BSD-3-Clause */
/* Chemical formulas, by descent: a formula is a row of parts, a part an element or a formula in
   brackets, with a count behind it. */
#include "formula.h"
#include "core/status.h"

#include <string.h>

enum { ELEMENTS = 94, DEPTH = 8 };

static const char symbols[][3] = {
	"H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si", "P",  "S",
	"Cl", "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge",
	"As", "Se", "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd",
	"In", "Sn", "Sb", "Te", "I",  "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd",
	"Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W",  "Re", "Os", "Ir", "Pt", "Au", "Hg",
	"Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U",  "Np", "Pu",
};

_Static_assert(sizeof symbols / sizeof symbols[0] == ELEMENTS, "one symbol an element");

const char *iso_element_symbol(int z)
{
	return z >= 1 && z <= ELEMENTS ? symbols[z - 1] : NULL;
}

struct text {
	const char *whole, *at;
	int depth;
};

static int wrong(const struct text *t, const char *what)
{
	return iso_fail(ISO_EINPUT, "formula '%.60s': %s at '%.20s'", t->whole, what, t->at);
}

/* Digits with at most one point; none stands for 1. */
static int read_count(double *count, struct text *t)
{
	double value = 0, unit = 1;
	size_t digits = strspn(t->at, "0123456789.");
	bool point = false;

	if (digits == 0) {
		*count = 1;
		return ISO_OK;
	}
	for (const char *c = t->at; c < t->at + digits; c++) {
		if (*c == '.' && point) return wrong(t, "a number with two points");
		unit *= point ? 10 : 1;
		if (*c == '.')
			point = true;
		else
			value = 10 * value + (*c - '0');
	}
	*count = value / unit;
	if (!(*count > 0) || *count > 1e6) return wrong(t, "a count that is not above 0 and at most 1e6");
	t->at += digits;
	return ISO_OK;
}

/* One capital, then at most one small letter. */
static int read_element(int *z, struct text *t)
{
	size_t length = *t->at && t->at[1] >= 'a' && t->at[1] <= 'z' ? 2 : 1;

	for (*z = 1; *z <= ELEMENTS; (*z)++)
		if (strlen(symbols[*z - 1]) == length && !strncmp(symbols[*z - 1], t->at, length)) {
			t->at += length;
			return ISO_OK;
		}
	return wrong(t, "no known element");
}

static int add_atoms(struct iso_formula *f, int z, double atoms, const struct text *t)
{
	int i = 0;

	while (i < f->n && f->z[i] != z) i++;
	if (i == FORMULA_ELEMENTS) return wrong(t, "more than 16 elements");
	if (i == f->n) {
		f->z[f->n++] = z;
		f->atoms[i] = 0;
	}
	f->atoms[i] += atoms;
	return ISO_OK;
}

static int read_row(struct iso_formula *f, struct text *t);

/* What brackets hold counts as often as the number behind them says. */
static int read_brackets(struct iso_formula *f, struct text *t)
{
	struct iso_formula inner = { 0 };
	double count;
	int st;

	if (++t->depth > DEPTH) return wrong(t, "brackets deeper than 8");
	t->at++;
	if ((st = read_row(&inner, t))) return st;
	if (*t->at != ')') return wrong(t, "a bracket that is not closed");
	t->at++;
	t->depth--;
	st = read_count(&count, t);
	for (int i = 0; i < inner.n && !st; i++) st = add_atoms(f, inner.z[i], count * inner.atoms[i], t);
	return st;
}

/* Parts up to the end of the text or of the brackets; at least one. */
static int read_row(struct iso_formula *f, struct text *t)
{
	double count;
	int z, st;

	do {
		if (*t->at == '(')
			st = read_brackets(f, t);
		else if (!(st = read_element(&z, t)) && !(st = read_count(&count, t)))
			st = add_atoms(f, z, count, t);
	} while (!st && *t->at && *t->at != ')');
	return st;
}

int iso_formula_parse(struct iso_formula *f, const char *text)
{
	struct text t = { .whole = text, .at = text };
	struct iso_formula made = { 0 };
	int st = read_row(&made, &t);

	if (!st && *t.at) st = wrong(&t, "a bracket that was not opened");
	if (!st) *f = made;
	return st;
}
