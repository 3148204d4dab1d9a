/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules of crystals of a scanner, from its description. */
#ifndef ISO_MODULES_H
#define ISO_MODULES_H

#include "modules_kern.h"
#include "text/conf.h"

/* Where the crystals are and what reads them; NULL: the description has no `detector`, as that of panels need not. */
ISO_C const struct iso_modules *iso_scanner_modules(const iso_scanner *s);

/* For the readers of the kinds: s->modules after all else of the scanner was read. `detector` may be NULL. */
int iso_modules_of_cylinder(iso_scanner *s, const struct conf_node *root, const struct conf_node *detector);
int iso_modules_of_panels(iso_scanner *s);

/* ISO_EINPUT if two boxes overlap, cover included; both modules are named. */
int iso_modules_check(const struct iso_modules *m, const struct conf_node *at);

/* Tangential, axial and radial extent that photons may meet: inner and outer radius and half the length, mm. */
void iso_modules_extent(double *inner, double *outer, double *half, const struct iso_modules *m);

#endif
