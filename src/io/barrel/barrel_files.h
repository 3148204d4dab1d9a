/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of events of barrels: their readers, and what they share. */
#ifndef ISO_BARREL_FILES_H
#define ISO_BARREL_FILES_H

#include "isotome/barrel.h"
#include "base/constants.h"

/* A list that grows. */
struct barrel_list {
	struct iso_barrel_events *e;
	int64_t room;
};

int iso_barrel_list_add(struct barrel_list *l, const struct iso_barrel_event *v, const char *path);

int iso_barrel_read_npy(struct iso_barrel_events *e, const char *path, const struct iso_barrel *b,
                        const struct iso_barrel_options *o);
int iso_barrel_read_text(struct iso_barrel_events *e, const char *path, const struct iso_barrel *b,
                         const struct iso_barrel_options *o);

/* An event by numbers as files have them, in mm and ps; a strip that is no whole number of the barrel's becomes -1. */
static inline int32_t barrel_strip_of(double number, const struct iso_barrel *b)
{
	double i = number - (double)b->first;

	return i >= 0 && i < (double)b->n && i == (double)(int64_t)i ? (int32_t)i : -1;
}

/* dl of a time difference; swap: it is t_b - t_a. */
static inline double barrel_way(double dt_ps, const struct iso_barrel_options *o)
{
	return (o->swap_dt ? -1 : 1) * ISO_C_MM_PER_PS * dt_ps;
}

#endif
