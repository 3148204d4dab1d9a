/* SPDX-License-Identifier: BSD-3-Clause */
/* The object that photons in crystals cross first. */
#ifndef ISO_CRYSTAL_OBJECT_H
#define ISO_CRYSTAL_OBJECT_H

#include "crystal.h"

/* Fills the object of a world, which has its boxes, and the paths of the table; without an object nothing. */
int iso_crystal_object(struct crystal_object *o, struct crystal_table *t, struct iso_room *room,
                       const struct crystal_setting *s);

/* Cross sections of a formula at all energies of the tables. */
int iso_crystal_matter(struct crystal_matter *m, const char *formula, double density);

#endif
