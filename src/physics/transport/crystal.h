/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting up photons in crystals: the scanner's boxes, cross sections, the object, where decays happen. */
#ifndef ISO_CRYSTAL_H
#define ISO_CRYSTAL_H

#include "core/room.h"
#include "source_kern.h"

/* A matter of the object by its label in an image. */
struct iso_label {
	int32_t label;
	char name[32];
	char formula[256];
	double density; /* g/cm^3 */
};

enum { ISO_LABELS_MOST = 256 };

struct crystal_setting {
	const struct iso_modules *modules;
	const struct iso_array *mu;     /* 1/mm at 511 keV, of water of any density; NULL: none */
	const struct iso_array *labels; /* or whole numbers, of which `label` tells the matter; NULL: none */
	const struct iso_label *label;
	int32_t n_labels;
	const struct iso_array *activity; /* NULL: the source is a point */
	bool rayleigh;                    /* in an object of mu; labels have it always */
	uint64_t seed;
};

/* The world in memory of the room, on its context's device. */
ISO_C int iso_crystal_make(struct crystal_world *w, struct iso_room *room, const struct crystal_setting *s);

/* Decays of an image. */
ISO_C int iso_crystal_source(struct crystal_source *source, struct iso_room *room,
                             const struct iso_array *activity);

/* Labels and their matter: a list of maps {label, name, formula, density}, or mass: {H: .1, O: .9} in place of formula. */
int iso_labels_read(struct iso_label label[ISO_LABELS_MOST], int32_t *n, const char *path);

/* Memory of both. */
ISO_C void iso_crystal_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct crystal_setting *s);

#endif
