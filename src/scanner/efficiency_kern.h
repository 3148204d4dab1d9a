/* SPDX-License-Identifier: BSD-3-Clause */
/* Efficiencies of crystal pairs that a file brings with its scanner.

   Crystals are elements of modules, and modules are of up to ISO_MODULE_KINDS kinds: crystal first + m * elements + e
   is element e of module m. A crystal has one *bin* for each of its energy windows. The efficiency of two bins is

     scale * bin[1] * bin[2] * value[place of bin 1 in its module][place of bin 2 in its module]

   with the table of values that the two modules name. That of two crystals is the sum over their windows: each two
   bins are counted by themselves. Tables are of the pair whose higher bin comes first.

   Rings may have a factor of the places of two crystals round the ring, and one of their rings, in place of all that. */
#ifndef ISO_EFFICIENCY_KERN_H
#define ISO_EFFICIENCY_KERN_H

#include "core/hd.h"

enum { ISO_MODULE_KINDS = 8 };

/* What `group` has in place of the number of a table. */
#define EFFICIENCY_APART (-1) /* the two modules are not in coincidence */
#define EFFICIENCY_ONES (-2)  /* all values are 1 */

struct iso_module_kind {
	int64_t first; /* crystal */
	int64_t modules, elements, windows;
	int64_t bin; /* number of its first bin, of all kinds */
};

/* Of two kinds, the higher first: where in `group` and `value` theirs begin; group < 0: all values are 1. */
struct iso_kind_pair {
	int64_t group, value;
};

/* Pointers are host or device memory, as the backend needs. */
struct iso_efficiencies {
	int kinds;
	struct iso_module_kind kind[ISO_MODULE_KINDS];
	struct iso_kind_pair pair[ISO_MODULE_KINDS][ISO_MODULE_KINDS];
	int64_t bins, groups, values; /* sizes of: */
	const float *bin;             /* NULL: 1 */
	const int32_t *group;         /* of modules m1, m2: m1 * modules of the lower kind + m2 */
	const float *value;
	double scale;
	double most; /* no efficiency of two crystals is above */
	/* Of rings; per_ring = 0: none. Crystals i and j of a ring, i in a block that begins at c: t[(i - c) per_ring +
	   (j - c) mod per_ring]. */
	int64_t per_ring, block, rings;
	const float *t; /* (block, per_ring) */
	const float *z; /* (rings, rings) */
};

/* A crystal, or a bin of it. */
struct efficiency_end {
	int kind;
	int64_t module, element;
};

ISO_HD struct efficiency_end efficiency_find(const struct iso_efficiencies *e, int64_t crystal)
{
	struct efficiency_end r = { e->kinds - 1, 0, 0 };

	while (r.kind > 0 && crystal < e->kind[r.kind].first) r.kind--;
	const struct iso_module_kind *k = &e->kind[r.kind];

	r.module = (crystal - k->first) / k->elements;
	r.element = (crystal - k->first) % k->elements;
	return r;
}

/* Of the kind that is higher, or the module of one kind. */
ISO_HD bool efficiency_ordered(const struct efficiency_end *a, const struct efficiency_end *b)
{
	return a->kind != b->kind ? a->kind > b->kind : a->module >= b->module;
}

/* Number of the table of two modules, of which a is the higher. */
ISO_HD int32_t efficiency_group(const struct iso_efficiencies *e, const struct efficiency_end *a,
                                const struct efficiency_end *b)
{
	int64_t first = e->pair[a->kind][b->kind].group;

	return first < 0 ? EFFICIENCY_ONES
	                 : e->group[first + a->module * e->kind[b->kind].modules + b->module];
}

/* Whether two modules are in coincidence, in any order. */
ISO_HD bool efficiency_meet(const struct iso_efficiencies *e, const struct efficiency_end *a,
                            const struct efficiency_end *b)
{
	return (efficiency_ordered(a, b) ? efficiency_group(e, a, b) : efficiency_group(e, b, a)) !=
	       EFFICIENCY_APART;
}

/* Windows i and j of ends a and b, the higher first; group is that of their modules, and names a pair in
   coincidence. */
ISO_HD double efficiency_of_bins(const struct iso_efficiencies *e, const struct efficiency_end *a,
                                 const struct efficiency_end *b, int32_t group, int64_t i, int64_t j)
{
	const struct iso_module_kind *k = &e->kind[a->kind], *l = &e->kind[b->kind];
	int64_t p = a->element * k->windows + i, q = b->element * l->windows + j;
	int64_t per1 = k->elements * k->windows, per2 = l->elements * l->windows;
	double f = e->scale;

	if (e->bin)
		f *= (double)e->bin[k->bin + a->module * per1 + p] * e->bin[l->bin + b->module * per2 + q];
	if (group >= 0) f *= e->value[e->pair[a->kind][b->kind].value + (group * per1 + p) * per2 + q];
	return f;
}

ISO_HD double efficiency_of_rings(const struct iso_efficiencies *e, int64_t a, int64_t b)
{
	int64_t i = a % e->per_ring % e->block, off = b % e->per_ring - (a % e->per_ring - i);

	return (double)e->t[i * e->per_ring + (off < 0 ? off + e->per_ring : off)] *
	       (double)e->z[a / e->per_ring * e->rings + b / e->per_ring];
}

/* Of crystals a and b, in any order; 0: not in coincidence. */
ISO_HD double efficiency_of_crystals(const struct iso_efficiencies *e, int64_t a, int64_t b)
{
	if (e->per_ring > 0) return efficiency_of_rings(e, a, b);
	struct efficiency_end u = efficiency_find(e, a > b ? a : b), v = efficiency_find(e, a > b ? b : a);
	int32_t group = efficiency_group(e, &u, &v);
	double sum = 0;

	if (group == EFFICIENCY_APART) return 0;
	for (int64_t i = 0; i < e->kind[u.kind].windows; i++)
		for (int64_t j = 0; j < e->kind[v.kind].windows; j++)
			sum += efficiency_of_bins(e, &u, &v, group, i, j);
	return sum;
}

#endif
