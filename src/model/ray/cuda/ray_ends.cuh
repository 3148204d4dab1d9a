/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends of events by number: a scanner has few places that lines end at, and so an event is two numbers and a time. */
#ifndef ISO_RAY_ENDS_CUH
#define ISO_RAY_ENDS_CUH

#include "ray_brick.cuh"

/* An event whose ends are in the table, bit for bit. */
struct ray_packed {
	unsigned end[2];
	float dt_ps;
};

struct ray_end {
	float p[3];
};

/* Device memory. Ends are numbered as they are met; the numbers stay. */
struct ray_ends {
	struct ray_end *end; /* by number */
	unsigned *cell;      /* of a hash table: the number of an end + 1; 0: none */
	unsigned *met;       /* how many ends there are */
	bool full;           /* there are more than the table has room for */
};

int ray_ends_open(struct ray_ends *t, struct iso_room *room);

/* to[0 .. n) = the events; false in *packed, from then on, if they have too many ends. */
int ray_ends_pack(struct ray_packed *to, bool *packed, struct ray_ends *t, iso_ctx *ctx,
                  const struct iso_event *e, int64_t n);
int ray_ends_unpack(struct iso_event *e, const struct ray_ends *t, iso_ctx *ctx,
                    const struct ray_packed *from, int64_t n);

#endif
