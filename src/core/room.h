/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of one owner, on the host and on the context's device, given back in one call. All of it comes
   zeroed. Whoever needs several arrays takes them all and looks at `status` once: from the first failure
   on arrays are NULL. */
#ifndef ISO_ROOM_H
#define ISO_ROOM_H

#include "ctx.h"

ISO_BEGIN_C

struct iso_room {
	iso_ctx *ctx;     /* whose device has arrays of the room; NULL: none has */
	const char *what; /* whose memory it is, for the message of a failure */
	struct iso_room_array *last;
	int status; /* ISO_OK, or the first failure */
};

static inline struct iso_room iso_room_of(iso_ctx *ctx, const char *what)
{
	struct iso_room r = { ctx, what, NULL, ISO_OK };

	return r;
}

void *iso_room_host(struct iso_room *r, int64_t n, int64_t size);
void *iso_room_device(struct iso_room *r, int64_t n, int64_t size);
void *iso_room_upload(struct iso_room *r, const void *from, int64_t n, int64_t size);
void *iso_room_move(struct iso_room *r, void *host, int64_t n, int64_t size);

/* Takes over an array from malloc; NULL: a failure, after which it is still the caller's. */
void *iso_room_take(struct iso_room *r, void *host);

/* Gives one array back before the others; NULL: none. */
void iso_room_drop(struct iso_room *r, void *array);

/* All arrays; returns the status. */
int iso_room_free(struct iso_room *r);

ISO_END_C

/* p = n items of the room: HOST, on the host; DEVICE, on the device; UPLOAD, the device's copy of
   from[0..n-1], NULL where `from` is; MOVE, the device's copy of p, an array of the room on the host, which
   is given back. */
#define ISO_HOST(room, p, n) ((p) = (__typeof__(p))iso_room_host(room, n, sizeof *(p)))
#define ISO_DEVICE(room, p, n) ((p) = (__typeof__(p))iso_room_device(room, n, sizeof *(p)))
#define ISO_UPLOAD(room, p, from, n) ((p) = (__typeof__(p))iso_room_upload(room, from, n, sizeof *(from)))
#define ISO_MOVE(room, p, n) ((p) = (__typeof__(p))iso_room_move(room, p, n, sizeof *(p)))

#endif
