/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of crystal pairs of a ring: those that share a transaxial factor t, and those that share an axial factor z.

   n crystals a ring, B of a block. Of places x, y round the ring, i = x mod B:
     key(x, y) = i n + ((y - (x - i)) mod n).
   The key of a class is the least of key(x, y), key(y, x), and with `mirror` of the same with n - 1 - x, n - 1 - y. The axial
   class of two rings has the key lesser * rings + greater. Classes are numbered by rising key among those that occur. */
#ifndef ISO_NORM_CLASSES_H
#define ISO_NORM_CLASSES_H

#include "norm_rows.h"

struct norm_classes {
	int64_t per_ring, rings, block;
	bool mirror;
	int64_t n_t, n_z;       /* 1 for a component that is left out */
	int64_t *t_key, *z_key; /* of each class */
	int32_t *t_of;          /* (B, 2 n) class by i and y - (x - i), which may reach 2 n - 1 */
	int32_t *z_of;          /* (rings, rings) */
	bool transaxial, axial; /* whether the components are in the model */
};

/* ISO_EARG where the scanner has no rings and a component asks for them. */
int norm_classes_create(struct norm_classes *c, const iso_scanner *s, bool transaxial, bool axial,
                        bool mirror);
void norm_classes_free(struct norm_classes *c);

/* Classes of the pairs of crystal a with those of a run: *t of the first crystal, the next ones behind it. */
static inline const int32_t *norm_classes_t(const struct norm_classes *c, int64_t a, int64_t b)
{
	if (!c->transaxial) return c->t_of;
	const int64_t n = c->per_ring, x = a % n, y = b % n, i = x % c->block;
	const int64_t off = y - (x - i);

	return c->t_of + i * 2 * n + (off < 0 ? off + n : off);
}

static inline int32_t norm_classes_z(const struct norm_classes *c, int64_t a, int64_t b)
{
	return c->axial ? c->z_of[a / c->per_ring * c->rings + b / c->per_ring] : 0;
}

#endif
