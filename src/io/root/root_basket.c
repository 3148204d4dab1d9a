/* SPDX-License-Identifier: BSD-3-Clause */
/* Baskets, each unpacked once by the first thread that needs it, kept while threads hold it and for a while after: parts
   of a file that threads read side by side meet in a basket, and so do blocks that are read one after the other. */
#include "root_file.h"
#include "core/size.h"
#include "core/status.h"
#include "file/in.h"

enum { HEAD_MOST = 1024 }; /* bytes of a basket's key, which has three short texts, and of its head */

int root_cache_begin(struct root_cache *c, const struct root_file *f, int64_t most)
{
	*c = (struct root_cache){ .f = f, .most = most };
	if (pthread_mutex_init(&c->lock, NULL) != 0)
		return iso_fail(ISO_ENOMEM, "%s: no memory for a lock", f->path);
	if (pthread_cond_init(&c->change, NULL) == 0) return ISO_OK;
	pthread_mutex_destroy(&c->lock);
	return iso_fail(ISO_ENOMEM, "%s: no memory for a lock", f->path);
}

/* ---- those that nobody holds, from the one that was used last to the one before all others ---- */

static void list(struct root_cache *c, struct root_basket *b)
{
	b->older = c->newest;
	b->newer = NULL;
	*(c->newest ? &c->newest->newer : &c->oldest) = b;
	c->newest = b;
	c->idle += b->bytes;
}

static void unlist(struct root_cache *c, struct root_basket *b)
{
	*(b->older ? &b->older->newer : &c->oldest) = b->newer;
	*(b->newer ? &b->newer->older : &c->newest) = b->older;
	c->idle -= b->bytes;
}

static void forget(struct root_basket *b)
{
	b->of->loaded[b->number] = NULL;
	free(b->data);
	free(b);
}

static void drop_oldest(struct root_cache *c)
{
	struct root_basket *b = c->oldest;

	unlist(c, b);
	forget(b);
}

void root_cache_end(struct root_cache *c)
{
	while (c->oldest) drop_oldest(c);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->change);
}

/* ---- unpacking ---- */

/* Key and head of basket i, which must have the numbers that the tree says, and little else. */
static int read_head(struct root_key *k, const struct root_file *f, const struct root_branch *b, int64_t i)
{
	uint8_t head[HEAD_MOST];
	int64_t at = b->place[i], n = b->first[i + 1] - b->first[i],
		got = iso_read_at(f->fd, head, sizeof head, at);
	struct root_bytes bytes = { .p = head, .n = got };
	int st;

	if (got < 0) return iso_fail_errno(f->path, "read");
	if ((st = root_key_parse(k, f, &bytes, at))) return st;
	root_skip(&bytes, 2 + 4 + 4); /* version, sizes of buffers */
	int64_t events = root_int32(&bytes), data = root_int32(&bytes) - k->head;

	if (bytes.bad || events != n || data != n * b->size || k->bytes < data ||
	    k->bytes > 3 * data + HEAD_MOST)
		return iso_refuse(f->path,
		                  "branch %s: basket %" PRId64 " has %" PRId64 " numbers in %" PRId64
		                  " bytes, expected %" PRId64 " of %d bytes each",
		                  b->name, i, events, data, n, b->size);
	return ISO_OK;
}

static int unpack(struct root_basket *b, const struct root_file *f, uint8_t *buffer, int64_t size)
{
	struct root_key k;
	int st = read_head(&k, f, b->of, b->number);

	b->bytes = k.bytes;
	return st ? st : root_object_read(&b->data, f, &k, b->of->name, buffer, size);
}

/* Basket i, which no thread has: unpacked while others may go on, and held by this one. */
static int load(struct root_basket **r, struct root_cache *c, const struct root_branch *of, int64_t i,
                uint8_t *buffer, int64_t size)
{
	struct root_basket *b = calloc(1, sizeof *b), made;
	int st;

	if (!b) return iso_fail_memory(c->f->path, sizeof *b);
	*b = made = (struct root_basket){ .of = of, .number = i, .holders = 1 };
	of->loaded[i] = b;
	pthread_mutex_unlock(&c->lock);
	st = unpack(&made, c->f, buffer, size);
	pthread_mutex_lock(&c->lock);
	if (st) {
		forget(b); /* those who wait for it try it themselves */
	} else {
		made.holders = b->holders;
		*b = made;
		*r = b;
	}
	pthread_cond_broadcast(&c->change);
	return st;
}

/* ---- for threads ---- */

/* The basket that holds an entry. */
static int64_t basket_of(const struct root_branch *b, int64_t entry)
{
	int64_t low = 0, high = b->baskets;

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (b->first[middle] <= entry)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int root_basket_get(struct root_basket **r, struct root_cache *c, const struct root_branch *of, int64_t entry,
                    bool wait, uint8_t *buffer, int64_t size)
{
	int64_t i = basket_of(of, entry);
	struct root_basket *b;
	int st = ISO_OK;

	*r = NULL;
	pthread_mutex_lock(&c->lock);
	while ((b = of->loaded[i]) && !b->data && wait) pthread_cond_wait(&c->change, &c->lock);
	if (!b) {
		st = load(r, c, of, i, buffer, size);
	} else if (b->data) {
		if (b->holders++ == 0) unlist(c, b);
		*r = b;
	}
	pthread_mutex_unlock(&c->lock);
	return st;
}

void root_basket_put(struct root_cache *c, struct root_basket *b)
{
	pthread_mutex_lock(&c->lock);
	if (--b->holders == 0) list(c, b);
	while (c->idle > c->most) drop_oldest(c);
	pthread_mutex_unlock(&c->lock);
}
