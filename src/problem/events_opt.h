/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that say how files of events are read, the same for every command that reads them. */
#ifndef ISO_EVENTS_OPT_H
#define ISO_EVENTS_OPT_H

#include "problem/param.h"
#include "problem/record.h"

/* Entries of a table of options; o is a struct iso_events_options of static or longer life. */
#define EVENTS_OPTS(o)                                                                                     \
	{ 0, "gate-mask", .text = &(o).gate_mask, .value = "SWITCHES",                                     \
	  .help = "GATE text: its 36 column switches, \"1 1 0 ...\", where some are off" },                \
		{ 0, "trues-only", .flag = &(o).trues_only,                                                \
		  .help = "GATE text: only pairs of one decay, neither photon scattered in the phantom" }, \
	{                                                                                                  \
		0, "swap-dt", .flag = &(o).swap_dt,                                                        \
			      .help = "the file's time differences have the other sign"                    \
	}

/* And the scanner, for commands that have it for this alone. */
#define EVENTS_SCANNER_OPT(path)                                                                  \
	{                                                                                         \
		0, "scanner", .text = &(path), .file = OPT_MAY_READ, .value = "FILE",             \
			      .help = "where the crystals are, for events of crystal numbers: a " \
				      "description (YAML or "                                     \
				      "JSON) or a CASToR .hscan"                                  \
	}

/* Warnings about what was read: bad events, lines that could not be used. */
void events_warn(struct record *record, const char *path, const struct iso_events *e);

#endif
