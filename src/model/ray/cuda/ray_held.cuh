/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of events that the host keeps for the device, ordered: what comes again needs no sort and no search. */
#ifndef ISO_RAY_HELD_CUH
#define ISO_RAY_HELD_CUH

#include "ray_ends.cuh"

/* Arrays of a block, one behind the other: as they were read, then as they were ordered. */
enum held_array {
	HELD_EVENTS,
	HELD_COUNT,
	HELD_MULT,
	HELD_ADD,
	HELD_SORTED,
	HELD_ENTRIES,
	HELD_BASE,
	HELD_OFF,
	HELD_UNITS,
	HELD_ARRAYS,
};

struct held_layout {
	int64_t at[HELD_ARRAYS + 1]; /* byte where each begins, and the end */
};

/* A block in memory of the host that the device reads by itself. */
struct ray_held {
	int64_t n; /* events */
	bool packed;
	struct held_layout layout;
	struct ray_pack pack; /* its sizes; its arrays are those of `layout` */
	char *memory;
};

/* Where a block's events and values are on the device; a value that it does not have is NULL. */
struct held_values {
	struct iso_event *e;
	struct ray_packed *packed; /* instead of e, where all ends have numbers; else NULL */
	iso_real *value[3];        /* counts, factors, additive terms */
};

struct held_layout ray_held_layout(const struct ray_pack *p, const struct held_values *v);

/* Copies a block that was ordered with the finder's lists from the device into `memory`. */
int ray_held_take(struct ray_held *h, iso_ctx *ctx, const struct ray_pack *p, const struct held_values *v);

/* The block where it arrived: its events, its values, and the pack as it was ordered, whose slots are those of `pack`
   and are still to be filled. */
void ray_held_open(struct held_values *v, struct ray_pack *pack, const struct ray_held *h, char *arrived);

/* Bytes a second from memory of the host that the device reads by itself. */
int ray_held_link(double *bytes_per_s, iso_ctx *ctx);

#endif
