/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two kinds of CASToR scanners share: crystals in layers, each with a middle and a direction. */
#ifndef ISO_CASTOR_TABLE_H
#define ISO_CASTOR_TABLE_H

#include "text/keys.h"
#include "scanner.h"

enum { CASTOR_LAYERS = 16 };

/* Crystals are numbered layer by layer. Lengths are mm. */
struct castor_table {
	int64_t n; /* crystals of all layers: key `number of elements` */
	int layers;
	int64_t crystals[CASTOR_LAYERS]; /* of each layer */
	double size[CASTOR_LAYERS][3];   /* of a crystal: tangential, axial, depth; 0: not said */
	double depth[CASTOR_LAYERS];     /* of the ends of lines below the inner face; negative: the middle */
};

/* Keys that .hscan and .geom have alike: modality, name, `number of elements`, `min angle difference`. */
int iso_castor_table_head(iso_scanner *s, struct castor_table *t, const struct iso_keys *k);

/* Adds to what the scanner's note tells. */
ISO_PRINTF(2, 3) void iso_castor_note(iso_scanner *s, const char *fmt, ...);

/* Room for n crystals. The caller then fills pos with their middles, and face[i].outward, in CASToR's axes. */
int iso_castor_table_room(iso_scanner *s, const struct castor_table *t, const char *path);

/* From middles to ends of lines, from CASToR's axes to ours; then as iso_detectors_finish. */
int iso_castor_table_finish(iso_scanner *s, const struct castor_table *t, const char *path);

#endif
