/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrels of strips, as their reader and those who draw them see them. */
#ifndef ISO_SCANNER_BARREL_H
#define ISO_SCANNER_BARREL_H

#include "scanner.h"

/* The corners of a strip across the axis, around it. */
void iso_barrel_corners(double corner[4][2], const struct iso_barrel_strip *s);

/* How far two strips are in each other, mm, along the direction in which that is least; not above 0: they are apart. */
double iso_barrel_overlap(const struct iso_barrel_strip *p, const struct iso_barrel_strip *q);

/* barrel_strips.c: the strips of all groups under `node`, and the number of the first. */
int iso_barrel_read_strips(struct iso_barrel *b, const struct conf_node *root, const struct conf_node *node);

#endif
