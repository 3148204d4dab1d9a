/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of a source rewritten once, subset by subset with their data, into a file that has no
   name: whatever ends the program, nothing of it is left. */
#define _GNU_SOURCE /* O_TMPFILE, mkostemp, fallocate */
#include "ray_reader.h"
#include "core/size.h"
#include "core/sized.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { PIECE = 1 << 18 }; /* events rewritten at a time */

struct iso_ray_scratch {
	int fd;
	char *folder;   /* for messages */
	int64_t record; /* bytes of each event: itself, then count, mult, add */
	struct iso_ray_source source;
};

/* ---- records ---- */

static void put(unsigned char **to, const iso_real *v, int64_t j)
{
	if (!v) return;
	memcpy(*to, v + j, sizeof *v);
	*to += sizeof *v;
}

static void get(iso_real *v, int64_t j, const unsigned char **from)
{
	if (!v) return;
	memcpy(v + j, *from, sizeof *v);
	*from += sizeof *v;
}

static void encode(unsigned char *to, const struct iso_events *b, int64_t j)
{
	memcpy(to, b->v + j, sizeof *b->v);
	to += sizeof *b->v;
	put(&to, b->count, j);
	put(&to, b->mult, j);
	put(&to, b->add, j);
}

static void decode(struct iso_events *b, int64_t j, const unsigned char *from)
{
	memcpy(b->v + j, from, sizeof *b->v);
	from += sizeof *b->v;
	get(b->count, j, &from);
	get(b->mult, j, &from);
	get(b->add, j, &from);
}

/* ---- the file ---- */

static int failed(const iso_ray_scratch *s, const char *what)
{
	return iso_fail(ISO_EIO, "%s: can't %s the scratch file: %s", s->folder, what, strerror(errno));
}

/* Writes the data, or with `reads` reads them. */
static int move(const iso_ray_scratch *s, unsigned char *data, int64_t bytes, int64_t at, bool reads)
{
	while (bytes > 0) {
		ssize_t n = reads ? pread(s->fd, data, (size_t)bytes, at)
		                  : pwrite(s->fd, data, (size_t)bytes, at);

		if (n == 0) errno = EIO;
		if (n <= 0 && errno != EINTR) return failed(s, reads ? "read" : "write");
		n = n < 0 ? 0 : n;
		data += n;
		bytes -= n;
		at += n;
	}
	return ISO_OK;
}

/* Where the file system knows no files without a name, it has one for a moment. */
static int open_nameless(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[PATH_MAX];

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
	if (snprintf(path, sizeof path, "%s/.isotome-XXXXXX", folder) >= (int)sizeof path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0) unlink(path);
	return fd;
}

static int open_file(iso_ray_scratch *s, int64_t bytes)
{
	s->fd = open_nameless(s->folder);
	if (s->fd < 0) return failed(s, "make");
	/* room for all of it now, rather than a full disk later; some file systems can't tell */
	if (fallocate(s->fd, 0, 0, bytes) != 0 && errno != EOPNOTSUPP && errno != ENOSYS)
		return iso_fail(ISO_EIO, "%s: no room for the scratch file, %s: %s", s->folder,
		                iso_bytes(bytes), strerror(errno));
	return ISO_OK;
}

static int read_scratch(void *arg, struct iso_events *b, int64_t first, int64_t n)
{
	const iso_ray_scratch *s = arg;
	unsigned char buffer[1 << 16];
	int64_t per = (int64_t)sizeof buffer / s->record;
	int st = ISO_OK;

	for (int64_t i = 0; i < n && !st; i += per) {
		int64_t m = n - i < per ? n - i : per;

		st = move(s, buffer, m * s->record, (first + i) * s->record, true);
		for (int64_t j = 0; j < m && !st; j++) decode(b, i + j, buffer + j * s->record);
	}
	return st;
}

/* ---- rewriting ---- */

struct rewriting {
	const iso_ray_scratch *s;
	const struct iso_ray_source *from;
	struct iso_order order;
	struct iso_events piece;
	int *sub;              /* of each event of the piece */
	unsigned char *sorted; /* its records, subset by subset */
	int64_t *at;           /* row that each subset's next event takes */
	int64_t *place;        /* first record of each subset in `sorted`; one more at the end */
	struct iso_room room;
};

static int allocate(struct rewriting *w)
{
	int n_sub = w->order.n_sub;

	ISO_HOST(&w->room, w->sub, PIECE);
	w->sorted = iso_room_host(&w->room, PIECE, w->s->record);
	ISO_HOST(&w->room, w->at, n_sub);
	ISO_HOST(&w->room, w->place, n_sub + 1);
	if (w->room.status) return w->room.status;
	for (int sub = 0; sub < n_sub; sub++) w->at[sub] = order_rows(&w->order, sub).first;
	return iso_ray_source_block(&w->piece, w->from, PIECE);
}

/* A counting sort by subset; in each, events stay in the order of the source. */
static void sort_piece(struct rewriting *w, int64_t first)
{
	int64_t n = w->piece.n;

	memset(w->place, 0, (size_t)(w->order.n_sub + 1) * sizeof *w->place);
	for (int64_t j = 0; j < n; j++) {
		w->sub[j] = order_subset(&w->order, order_row(&w->order, first + j));
		w->place[w->sub[j] + 1]++;
	}
	for (int sub = 0; sub < w->order.n_sub; sub++) w->place[sub + 1] += w->place[sub];
	for (int64_t j = 0; j < n; j++)
		encode(w->sorted + w->place[w->sub[j]]++ * w->s->record, &w->piece, j);
}

/* After the sort place[sub] is where the next subset begins. */
static int write_piece(struct rewriting *w)
{
	int64_t begin = 0, record = w->s->record;
	int st = ISO_OK;

	for (int sub = 0; sub < w->order.n_sub && !st; sub++) {
		int64_t n = w->place[sub] - begin;

		st = move(w->s, w->sorted + begin * record, n * record, w->at[sub] * record, false);
		w->at[sub] += n;
		begin = w->place[sub];
	}
	return st;
}

static int rewrite_piece(struct rewriting *w, int64_t first, int64_t n)
{
	const struct iso_ray_source *from = w->from;
	int st;

	w->piece.n = n;
	if ((st = from->read(from->arg, &w->piece, first, n))) return st;
	if (from->finish && (st = from->finish(from->arg, &w->piece))) return st;
	sort_piece(w, first);
	return write_piece(w);
}

static int rewrite(const iso_ray_scratch *s, iso_ctx *ctx, const struct iso_ray *p,
                   const struct iso_ray_source *from)
{
	struct rewriting w = { .s = s,
		               .from = from,
		               .order = { .n = from->n, .n_sub = p->n_sub, .rule = p->rule, .seed = p->seed },
		               .room = { .what = "scratch" } };
	struct iso_clock clock = iso_clock_start_of(ctx, "scratch", "events", 0, from->n);
	int st = allocate(&w);

	for (int64_t i = 0; i < from->n && !st; i += PIECE) {
		int64_t n = from->n - i < PIECE ? from->n - i : PIECE;

		if (!(st = iso_ctx_poll(ctx)) && !(st = rewrite_piece(&w, i, n)))
			iso_clock_step(&clock, i + n, NULL);
	}
	iso_events_free(&w.piece);
	iso_room_free(&w.room);
	return st;
}

int iso_ray_scratch_create(iso_ray_scratch **out, iso_ctx *ctx, const struct iso_ray *p,
                           const struct iso_ray_source *from, const char *folder)
{
	if (!out || !ctx || !p || !from || !folder) return iso_fail_null(__func__);
	struct iso_ray_source source;
	struct iso_ray ray;
	iso_ray_scratch *s;
	int64_t bytes;
	int st = iso_sized_take(&ray, "iso_ray", sizeof ray, p);

	if (st || (st = iso_sized_take(&source, "iso_ray_source", sizeof source, from))) return st;
	p = &ray;
	from = &source;
	if ((st = iso_ray_check(p, from->n))) return st;
	if (iso_ranks(ctx) > 1)
		return iso_fail(ISO_EARG, "scratch: it is for one process, there are %d ranks",
		                iso_ranks(ctx));
	if (!size_mul(&bytes, from->n, iso_ray_source_bytes(from)))
		return iso_fail(ISO_EARG, "scratch: %" PRId64 " events are more than a file holds", from->n);
	s = size_alloc(1, sizeof *s);
	if (!s) return iso_fail_memory("scratch", sizeof *s);
	s->fd = -1;
	s->record = iso_ray_source_bytes(from);
	s->source = *from;
	s->source.read = read_scratch;
	s->source.finish = NULL;
	s->source.arg = s;
	s->folder = strdup(folder);
	st = s->folder ? open_file(s, bytes) : iso_fail_memory("scratch", (int64_t)strlen(folder));
	if (!st) st = rewrite(s, ctx, p, from);
	if (st)
		iso_ray_scratch_free(s);
	else
		*out = s;
	return st;
}

const struct iso_ray_source *iso_ray_scratch_source(const iso_ray_scratch *s)
{
	return s ? &s->source : NULL;
}

void iso_ray_scratch_free(iso_ray_scratch *s)
{
	if (!s) return;
	if (s->fd >= 0) close(s->fd);
	free(s->folder);
	free(s);
}
