/* SPDX-License-Identifier: BSD-3-Clause */
/* Chemical formulas: "Lu1.8Y0.2SiO5", "Bi4(GeO4)3". */
#ifndef ISO_FORMULA_H
#define ISO_FORMULA_H

enum { FORMULA_ELEMENTS = 16 };

struct iso_formula {
	int n;                          /* different elements */
	int z[FORMULA_ELEMENTS];        /* atomic numbers, in the order of the formula */
	double atoms[FORMULA_ELEMENTS]; /* of each, above 0 */
};

/* ISO_EINPUT, naming the place, unless the whole text is element symbols up to Pu and brackets,
   each with a count above 0 or none, which is 1. */
int iso_formula_parse(struct iso_formula *f, const char *text);

/* "H" of 1; NULL where there is none. */
const char *iso_element_symbol(int z);

#endif
