/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that say how strip events are read, the same for every command that reads them. */
#ifndef ISO_STRIP_OPT_H
#define ISO_STRIP_OPT_H

#include "problem/param.h"
#include "problem/record.h"

/* Entries of a table of options; o is a struct iso_strip_options. */
#define STRIP_EVENTS_OPTS(o)                                                                            \
	{                                                                                               \
		0,                                                                                      \
		"event-unit-mm",                                                                        \
		.real = &(o).mm,                                                                        \
		.value = "MM",                                                                          \
		.min = 1e-9,                                                                            \
		.max = 1e9,                                                                             \
		.absent = "1",                                                                          \
		.help = "strip events: the file's unit of length"                                       \
	},                                                                                              \
	{                                                                                               \
		0, "dl-is-time", .flag = &(o).dl_is_time,                                               \
				 .help = "strip events: the third value is t_up - t_down in ps, not mm" \
	}

/* A command tells them by the suffix .f32 alone; .txt and .npy may hold other things. */
bool strip_is_events(const char *path);

/* Warns about events that are left out. */
void strip_events_warn(struct record *record, const char *path, int64_t n, int64_t n_bad);

/* One file to another, block by block; the output was checked. */
int strip_convert(struct record *record, const char *from, const char *to, const struct iso_strip_options *o);

/* As describe_events. */
int strip_describe(json_t *out, const char *path);

#endif
