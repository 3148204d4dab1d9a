/* SPDX-License-Identifier: BSD-3-Clause */
/* What each kind of scanner does in its own way. */
#ifndef ISO_SCANNER_KINDS_H
#define ISO_SCANNER_KINDS_H

#include "text/conf.h"
#include "scanner.h"

/* Crystals: twenty times the largest scanner built, 240 MB of positions; every pair number fits
   64 bits. */
enum { SCANNER_MAX = 10000000 };

/* Keys of every kind, read in scanner.c; a kind's own table begins with them. */
#define SCANNER_KEYS                                                                  \
	{ .name = "kind", .kind = CONF_NODE }, { .name = "name", .kind = CONF_NODE }, \
		{ .name = "tof", .kind = CONF_NODE },                                 \
	{                                                                             \
		.name = "time", .kind = CONF_NODE                                     \
	}

struct iso_scanner_fn {
	/* Fills n, pos, pairs and the kind's own fields. */
	int (*read)(iso_scanner *s, const struct conf_node *root);
	/* Of a kind with crystals; NULL: n is 0. */
	int64_t (*nearest)(const iso_scanner *s, const double p[3]);        /* p is finite */
	bool (*in_coincidence)(const iso_scanner *s, int64_t a, int64_t b); /* both in range */
};

extern const struct iso_scanner_fn iso_cylinder_fn, iso_detectors_fn, iso_strips_fn, iso_panels_fn,
	iso_transducers_fn;

/* A CASToR table of crystals: fills a scanner of kind detectors. */
int iso_scanner_read_hscan(iso_scanner *s, const char *path);

/* After n and pos of free detectors are filled: the tree, and all pairs. */
int iso_detectors_finish(iso_scanner *s);

/* One line that may go to a terminal, cut to fit. */
void iso_scanner_set_name(iso_scanner *s, const char *text, size_t length);

#endif
