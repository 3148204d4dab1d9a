/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole files of strip events: a pipe as it comes, text and records in parts, by several threads. */
#include "strip_file.h"
#include "io/lines.h"
#include "core/size.h"
#include "core/turn.h"
#include "file/in.h"
#include "file/suffix.h"

#include <errno.h>
#include <omp.h>

#define LOOK_S .1 /* between two looks at the request to stop, while nothing comes through a pipe */

enum {
	PART = 1 << 18,  /* bytes that a thread reads at a time */
	BLOCK = 1 << 16, /* events that a list grows by */
};

/* ---- memory ---- */

/* Room for `more` events in all. */
static int grow(struct iso_strip_events *e, int64_t *room, const iso_strip_file *f, int64_t more)
{
	struct iso_strip_event *v;
	int64_t bytes;
	int st;

	if (!size_mul(&bytes, more, sizeof *v)) return iso_fail_memory(f->in.path, INT64_MAX);
	if (f->ctx && (st = iso_memory_check(f->ctx, f->in.path, bytes - *room * (int64_t)sizeof *v)))
		return st;
	if (!(v = e->v ? realloc(e->v, (size_t)bytes) : size_alloc(bytes, 1)))
		return iso_fail_memory(f->in.path, bytes);
	e->v = v;
	*room = more;
	return ISO_OK;
}

/* ---- through a pipe ---- */

static int read_pipe(struct iso_strip_events *e, iso_strip_file *f, struct iso_hash *hash)
{
	int64_t room = 0;
	bool end = false;
	int st = ISO_OK;

	(void)hash;
	while (!st && !end && !(st = iso_stop_check(f->ctx, f->in.path))) {
		struct iso_strip_events block = { 0 };

		/* one more than are known: the last call finds the end */
		int64_t more = room == 0 && f->total > 0 ? f->total + 1 : 2 * room + BLOCK;

		if (e->n == room && (st = grow(e, &room, f, more))) break;
		block.v = e->v + e->n;
		st = iso_strip_file_next(&block, &end, f, room - e->n, LOOK_S);
		e->n += block.n;
		e->n_bad += block.n_bad;
	}
	return st;
}

/* ---- lines of text ---- */

/* What a thread makes of a block of lines. */
struct part {
	struct iso_strip_events e;
	int64_t room, line; /* line: that is wrong, in the block */
	struct iso_strip_tally seen;
	struct iso_complaint wrong;
	bool no_memory;
};

/* What was taken of them so far. */
struct whole {
	iso_strip_file *f;
	struct iso_strip_events *e;
	int64_t room;
};

static bool add_line(void *part, const void *arg, int64_t number, const char *p, const char *end)
{
	const iso_strip_file *f = ((const struct whole *)arg)->f;
	struct part *b = part;
	double v[3];

	b->line = number;
	if (!iso_strip_triple(v, &b->wrong, p, end)) return !b->wrong.text[0];
	if (b->e.n == b->room) {
		int64_t room = b->room ? 2 * b->room : 4096;
		struct iso_strip_event *more = realloc(b->e.v, (size_t)room * sizeof *more);

		b->no_memory = !more;
		if (!more) return false;
		b->e.v = more;
		b->room = room;
	}
	b->e.v[b->e.n] = strip_event_of(f, v);
	strip_count(&b->seen, &b->e.v[b->e.n++]);
	return true;
}

static void add_tally(struct iso_strip_tally *t, const struct iso_strip_tally *more)
{
	t->bad += more->bad;
	t->far += more->far;
	t->most = more->most > t->most ? more->most : t->most;
}

static int take_part(void *arg, void *part, int64_t before)
{
	struct whole *w = arg;
	struct part *b = part;
	int64_t n = w->e->n + b->e.n;
	int st = ISO_OK;

	if (b->no_memory) return iso_fail_memory(w->f->in.path, 2 * b->room * (int64_t)sizeof *b->e.v);
	if (b->wrong.text[0]) return iso_strip_complain(w->f->in.path, before + b->line + 1, &b->wrong);
	if (n > w->room) st = grow(w->e, &w->room, w->f, 2 * n);
	if (st) return st;
	if (b->e.n > 0) memcpy(w->e->v + w->e->n, b->e.v, (size_t)b->e.n * sizeof *b->e.v);
	w->e->n = n;
	add_tally(&w->f->seen, &b->seen);
	b->e.n = 0;
	b->seen = (struct iso_strip_tally){ 0 };
	return ISO_OK;
}

static void release_part(void *part)
{
	free(((struct part *)part)->e.v);
}

static int read_text(struct iso_strip_events *e, iso_strip_file *f, struct iso_hash *hash)
{
	struct whole w = { .f = f, .e = e };
	struct iso_lines l = { .path = f->in.path,
		               .what = "strip events",
		               .ctx = f->ctx,
		               .longest = STRIP_LINE,
		               .part = sizeof(struct part),
		               .line = add_line,
		               .take = take_part,
		               .release = release_part,
		               .arg = &w };
	int st = f->in.size > 0 ? iso_lines_read(&l, hash) : ISO_OK;

	f->n = e->n;
	e->n_bad = f->seen.bad;
	f->in.ended = true;
	return st ? st : iso_strip_check(f);
}

/* ---- records ---- */

/* Events from the records of a buffer. Floats in mm are events. */
static struct iso_strip_tally decode(struct iso_strip_event *e, const iso_strip_file *f,
                                     const uint8_t *buffer, int64_t n)
{
	struct iso_strip_tally t = { 0 };
	bool same = f->format == ISO_STRIP_FLOATS && f->mm == 1 && f->dl == 1;
	double v[3];

	if (same) memcpy(e, buffer, (size_t)(n * f->record));
	for (int64_t i = 0; i < n && !same; i++) {
		strip_record(v, f, buffer + i * f->record);
		e[i] = strip_event_of(f, v);
	}
	for (int64_t i = 0; i < n; i++) strip_count(&t, e + i);
	return t;
}

/* As many records as the file says, in parts. */
static int read_parts(struct iso_strip_events *e, iso_strip_file *f, struct iso_hasher *hasher,
                      uint8_t *buffer, int threads)
{
	int64_t per = PART / f->record, parts = (f->total + per - 1) / per, bad = 0, far = 0;
	int64_t last = f->total * f->record;
	struct iso_clock clock =
		iso_clock_brief(f->ctx, "read", "events", f->total, iso_base_name(f->in.path));
	struct iso_turn turn = { 0 };
	uint32_t most = 0;
	int error = 0;

#pragma omp parallel num_threads(threads) reduction(+ : bad, far) reduction(max : most, error) reduction(min : last)
	for (int64_t i; (i = iso_turn_take(&turn, parts)) >= 0;) {
		int64_t r0 = i * per, r1 = f->total - r0 < per ? f->total : r0 + per;
		uint8_t *own = buffer + (int64_t)omp_get_thread_num() * PART;
		int64_t got = iso_read_at(f->in.fd, own, (r1 - r0) * f->record, f->first + r0 * f->record);
		int64_t end = r0 * f->record + (got > 0 ? got : 0);

		if (got < 0) error = errno;
		struct iso_strip_tally t = decode(e->v + r0, f, own, got > 0 ? got / f->record : 0);

		bad += t.bad;
		far += t.far;
		most = t.most > most ? t.most : most;
		if (got < (r1 - r0) * f->record && end < last) last = end;
		if (iso_stop_asked(f->ctx)) iso_turn_end(&turn);
		iso_clock_add(&clock, r1 - r0);
		if (!hasher->state) continue;
		if (!iso_turn_wait(&turn, i)) break;
		iso_hasher_add(hasher, own, got > 0 ? got : 0);
		iso_turn_pass(&turn);
	}
	iso_clock_end(&clock);
	f->seen = (struct iso_strip_tally){ bad, far, most };
	if ((errno = error)) return iso_fail_errno(f->in.path, "read");
	if (last < f->total * f->record) return iso_strip_ends_within(f, last / f->record, last % f->record);
	return iso_stop_check(f->ctx, f->in.path);
}

static int read_records(struct iso_strip_events *e, iso_strip_file *f, struct iso_hash *hash)
{
	int threads = f->ctx ? iso_ctx_threads(f->ctx) : 1;
	uint8_t *buffer = size_alloc(threads, PART);
	struct iso_hasher hasher = { 0 };
	int64_t room = 0;
	int st = buffer ? grow(e, &room, f, f->total) : iso_fail_memory(f->in.path, threads * (int64_t)PART);

	if (hash) iso_hasher_begin(&hasher, f->in.size);
	if (!st) st = iso_hasher_head(&hasher, f->in.path, f->in.fd, f->first);
	if (!st) st = read_parts(e, f, &hasher, buffer, threads);
	if (hash) iso_hasher_end(hash, &hasher, f->in.path, f->in.size);
	e->n = f->n = f->total;
	e->n_bad = f->seen.bad;
	f->in.ended = true;
	free(buffer);
	return st ? st : iso_strip_check(f);
}

/* ---- by several ranks ---- */

int iso_strip_events_share(struct iso_strip_events *to, const struct iso_strip_events *from,
                           const struct iso_deal *d)
{
	int64_t n = iso_deal_count(d);
	struct iso_strip_event *v = size_alloc(n, sizeof *v);

	if (!v) return iso_fail_memory("events", n * (int64_t)sizeof *v);
	for (int64_t j = 0; j < n; j += d->chunk)
		memcpy(v + j, from->v + iso_deal_number(d, j),
		       (size_t)(n - j < d->chunk ? n - j : d->chunk) * sizeof *v);
	*to = (struct iso_strip_events){ n, v, from->n_bad };
	return ISO_OK;
}

/* n records from number `first` on, through a buffer of PART bytes. */
static int read_run(struct iso_strip_event *v, iso_strip_file *f, int64_t first, int64_t n, uint8_t *buffer)
{
	int64_t per = PART / f->record;
	int st = ISO_OK;

	for (int64_t i = 0; i < n && !st && !(st = iso_stop_check(f->ctx, f->in.path)); i += per) {
		int64_t some = n - i < per ? n - i : per;
		int64_t got =
			iso_read_at(f->in.fd, buffer, some * f->record, f->first + (first + i) * f->record);

		if (got < 0)
			st = iso_fail_errno(f->in.path, "read");
		else if (got < some * f->record)
			st = iso_strip_ends_within(f, first + i + got / f->record, got % f->record);
		struct iso_strip_tally t = decode(v + i, f, buffer, st ? 0 : some);

		add_tally(&f->seen, &t);
	}
	return st;
}

static int read_chunks(struct iso_strip_events *e, iso_strip_file *f, const struct iso_deal *d)
{
	uint8_t *buffer = size_alloc(PART, 1);
	int64_t room = 0;
	int st = buffer ? grow(e, &room, f, iso_deal_count(d) + 1) : iso_fail_memory(f->in.path, PART);
	struct iso_clock clock =
		iso_clock_brief(f->ctx, "read", "events", iso_deal_count(d), iso_base_name(f->in.path));

	for (int64_t c = d->rank; c < iso_deal_chunks(d) && !st; c += d->ranks) {
		struct iso_rows r = iso_deal_chunk(d, c);

		st = read_run(e->v + e->n, f, r.first, r.n, buffer);
		e->n += r.n;
		iso_clock_add(&clock, r.n);
	}
	if (!st) iso_clock_end(&clock);
	free(buffer);
	return st;
}

/* What was seen by all ranks is what was seen of the file. */
static int sum_tally(iso_strip_file *f, int64_t n, iso_ctx *ctx)
{
	int64_t counts[2] = { f->seen.bad, f->seen.far };
	double most = f->seen.most;
	int st = iso_comm_sum(ctx, ISO_OK, counts, 2);

	if (!st) st = iso_comm_max(ctx, ISO_OK, &most, 1);
	f->seen = (struct iso_strip_tally){ counts[0], counts[1], (uint32_t)most };
	f->n = n;
	f->in.ended = true;
	return st ? st : iso_strip_check(f);
}

static int read_share(struct iso_strip_events *e, struct iso_deal *d, iso_strip_file *f, iso_ctx *ctx)
{
	int st;

	*d = iso_deal_by(ctx, f->total, d->chunk);
	st = read_chunks(e, f, d);
	if ((st = iso_comm_agree(ctx, st)) || (st = sum_tally(f, d->n, ctx))) return st;
	e->n_bad = f->seen.bad;
	return ISO_OK;
}

static int read_and_share(struct iso_strip_events *e, struct iso_deal *d, iso_strip_file *f, iso_ctx *ctx)
{
	struct iso_strip_events all = { 0 };
	int st = read_text(&all, f, NULL);

	*d = iso_deal_by(ctx, all.n, d->chunk);
	if (!st) st = iso_strip_events_share(e, &all, d);
	iso_strip_events_free(&all);
	return iso_comm_agree(ctx, st);
}

static int none_usable(const char *path, int64_t n)
{
	return iso_refuse(path, "none of its %" PRId64 " events is usable: not finite", n);
}

int iso_strip_events_read_share(struct iso_strip_events *e, struct iso_deal *d, const char *path,
                                const struct iso_strip_options *o, iso_ctx *ctx)
{
	struct iso_strip_events r = { 0 };
	iso_strip_file *f = NULL;
	int st = iso_strip_file_open(&f, path, o, false);

	if (!st && (f->in.pipe || f->in.standard))
		st = iso_refuse(path, "a pipe has one reader: several ranks need a file");
	if (!(st = iso_comm_agree(ctx, st)))
		st = (f->format == ISO_STRIP_TEXT ? read_and_share : read_share)(&r, d, f, ctx);
	if (!st && d->n == 0) st = iso_refuse(path, "no events");
	if (!st && r.n_bad == d->n) st = none_usable(path, d->n);
	if (st)
		iso_strip_events_free(&r);
	else
		*e = r;
	iso_strip_file_close(f);
	return st;
}

/* ---- any ---- */

int iso_strip_events_read_hashed(struct iso_strip_events *e, struct iso_hash *hash, const char *path,
                                 const struct iso_strip_options *o)
{
	struct iso_strip_events r = { 0 };
	iso_strip_file *f = NULL;
	int st = iso_strip_file_open(&f, path, o, false);

	if (hash) hash->path[0] = '\0';
	if (!st)
		st = (f->in.pipe || f->in.standard  ? read_pipe
		      : f->format == ISO_STRIP_TEXT ? read_text
		                                    : read_records)(&r, f, hash);
	if (!st && r.n == 0) st = iso_refuse(path, "no events");
	if (!st && r.n_bad == r.n) st = none_usable(path, r.n);
	if (st)
		iso_strip_events_free(&r);
	else
		*e = r;
	iso_strip_file_close(f);
	return st;
}

int iso_strip_events_read(struct iso_strip_events *e, const char *path, const struct iso_strip_options *o)
{
	return e && path ? iso_strip_events_read_hashed(e, NULL, path, o) : iso_fail_null(__func__);
}
