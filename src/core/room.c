/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of one owner: a list of arrays, the last one first. */
#include "room.h"
#include "size.h"

struct iso_room_array {
	struct iso_room_array *next;
	void *v;
	bool device;
};

static void give_back(const struct iso_room *r, const struct iso_room_array *a)
{
	if (a->device)
		r->ctx->vec->free(r->ctx, a->v);
	else
		free(a->v);
}

static void *fail(struct iso_room *r, int status)
{
	r->status = status;
	return NULL;
}

/* Bytes of n items, or -1 after a failure. */
static int64_t bytes_of(struct iso_room *r, int64_t n, int64_t size)
{
	int64_t bytes;

	if (r->status) return -1;
	if (size_mul(&bytes, n, size)) return bytes;
	fail(r, iso_fail_memory(r->what, INT64_MAX));
	return -1;
}

static void *add(struct iso_room *r, void *v, bool device)
{
	struct iso_room_array *a = r->status ? NULL : size_alloc(1, sizeof *a);

	if (!a) return r->status ? NULL : fail(r, iso_fail_memory(r->what, sizeof *a));
	*a = (struct iso_room_array){ r->last, v, device };
	r->last = a;
	return v;
}

/* An array that is the room's or goes. */
static void *keep(struct iso_room *r, void *v, bool device)
{
	const struct iso_room_array lost = { NULL, v, device };

	if (!add(r, v, device)) {
		give_back(r, &lost);
		return NULL;
	}
	return v;
}

void *iso_room_host(struct iso_room *r, int64_t n, int64_t size)
{
	int64_t bytes = bytes_of(r, n, size);
	void *v = bytes < 0 ? NULL : size_alloc(bytes, 1);

	if (r->status) return NULL;
	return v ? keep(r, v, false) : fail(r, iso_fail_memory(r->what, bytes));
}

void *iso_room_device(struct iso_room *r, int64_t n, int64_t size)
{
	int64_t bytes = bytes_of(r, n, size);
	void *v = NULL;
	int st = bytes < 0 ? r->status : iso_ctx_ready(r->ctx);

	if (!st) st = r->ctx->vec->alloc(r->ctx, &v, bytes);
	if (!st) return keep(r, v, true);
	if (v) r->ctx->vec->free(r->ctx, v);
	return fail(r, st);
}

void *iso_room_upload(struct iso_room *r, const void *from, int64_t n, int64_t size)
{
	void *v = from ? iso_room_device(r, n, size) : NULL;
	int st = v && n > 0 ? r->ctx->vec->upload(r->ctx, v, from, n * size) : ISO_OK;

	if (!st) return v;
	iso_room_drop(r, v); /* the owner may go on without it */
	return fail(r, st);
}

void *iso_room_move(struct iso_room *r, void *host, int64_t n, int64_t size)
{
	void *v = iso_room_upload(r, host, n, size);

	iso_room_drop(r, host);
	return v;
}

void *iso_room_take(struct iso_room *r, void *host)
{
	return add(r, host, false);
}

void iso_room_drop(struct iso_room *r, void *array)
{
	for (struct iso_room_array **at = &r->last, *a; array && (a = *at); at = &a->next)
		if (a->v == array) {
			*at = a->next;
			give_back(r, a);
			free(a);
			return;
		}
}

int iso_room_free(struct iso_room *r)
{
	for (struct iso_room_array *a = r->last, *next; a; a = next) {
		next = a->next;
		give_back(r, a);
		free(a);
	}
	r->last = NULL;
	return r->status;
}
