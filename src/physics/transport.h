/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting up the photon transport between two panels, and loops over decays. */
#ifndef ISO_TRANSPORT_H
#define ISO_TRANSPORT_H

#include "core/room.h"
#include "transport_kern.h"

/* The heads of the scanner, or larger ones about the same centre (o->extended); t->table is `table`. `o`
   may be NULL. ISO_EINPUT for a material not known, ISO_EARG for sizes or options that do not fit. */
ISO_C int iso_transport_make(struct transport *t, struct transport_table *table, const struct iso_panels *p,
                             const struct iso_transport_options *o);

/* *device = *t, with a copy of the table in the room on its context's device; on the CPU the same table. */
ISO_C int iso_transport_move(struct transport *device, struct iso_room *room, const struct transport *t);

/* Row i: cos(theta) of a photon of 8 i keV where Klein-Nishina's distribution is j / TRANSPORT_SHARES. */
ISO_C void iso_compton_rows(float rows[TRANSPORT_ENERGIES + 1][TRANSPORT_SHARES + 1]);

enum { TRANSPORT_READINGS = ISO_PANEL_READINGS };

/* A point source, and readings of it that differ in readout and window alone: they see the same photons. */
struct transport_source {
	const struct transport *reading;
	int readings;   /* at most TRANSPORT_READINGS */
	float point[3]; /* mm */
	uint32_t stream;
};

/* Coincidences: count[i] of those that reading[i] accepts, of the decays first to first + n - 1. */
ISO_C int iso_transport_count(int64_t *count, iso_ctx *ctx, const struct transport_source *s, int64_t first,
                              int64_t n);

#endif
