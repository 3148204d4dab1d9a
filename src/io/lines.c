/* SPDX-License-Identifier: BSD-3-Clause */
/* Text files by lines: blocks, where their lines begin and end, and the order in which they are taken. */
#include "lines.h"
#include "core/size.h"
#include "core/status.h"
#include "core/turn.h"
#include "file/in.h"
#include "file/out.h"
#include "file/suffix.h"

#include <errno.h>
#include <omp.h>
#include <string.h>
#include <unistd.h>

enum {
	BLOCK = 1 << 18, /* bytes */
	STEP = 1 << 12,  /* bytes read at a time behind a block, up to the end of its last line */
};

/* A file that is read. */
struct source {
	const struct iso_lines *l;
	int fd;
	int64_t size, end; /* bytes: of the file, and of what is read of it */
	struct iso_clock clock;
};

/* Bytes of a file: from `at` on, `n` of them. */
struct text {
	char *v; /* room for text_room() bytes */
	int64_t at, n;
};

enum trouble { NONE, CUT_SHORT, CANT_READ, TOO_LONG };

/* What became of a block. */
struct outcome {
	int64_t lines;
	enum trouble trouble; /* in the line behind these */
	int error;            /* CANT_READ: errno */
};

/* The byte before a block, the block, and the rest of its last line. */
static int64_t text_room(const struct iso_lines *l)
{
	return 1 + BLOCK + l->longest + 1 + STEP + ISO_LINES_SLACK;
}

/* ---- one block ---- */

/* Up to `bytes` more, as far as the file goes. */
static enum trouble read_on(struct text *t, const struct source *s, int64_t bytes)
{
	int64_t left = s->end - t->at - t->n, want = left < bytes ? left : bytes;
	int64_t got = iso_read_at(s->fd, t->v + t->n, want, t->at + t->n);

	if (got > 0) t->n += got;
	return got < 0 ? CANT_READ : got < want ? CUT_SHORT : NONE;
}

/* The end of the line that begins at byte `from` of the text, of which more is read as needed. */
static enum trouble find_end(struct text *t, const struct source *s, int64_t from, int64_t *end)
{
	enum trouble trouble = NONE;
	int64_t looked = from;

	while (!trouble) {
		const char *stop = memchr(t->v + looked, '\n', (size_t)(t->n - looked));

		looked = *end = stop ? stop - t->v : t->n;
		if (*end - from > s->l->longest) trouble = TOO_LONG;
		if (trouble || stop || t->at + t->n == s->end) break;
		trouble = read_on(t, s, STEP);
	}
	return trouble;
}

/* Where the first line begins that does in block k: behind the first end of a line in the text, which begins
   with the byte before the block. */
static int64_t find_first(const struct text *t, int64_t k)
{
	const char *stop = k > 0 ? memchr(t->v, '\n', (size_t)t->n) : NULL;

	return k == 0 ? 0 : stop ? stop + 1 - t->v : t->n;
}

static struct outcome parse_block(void *part, const struct source *s, char *room, int64_t k)
{
	const struct iso_lines *l = s->l;
	struct text t = { .v = room, .at = k * BLOCK - (k > 0) };
	struct outcome o = { .trouble = read_on(&t, s, (k + 1) * BLOCK - t.at) };
	int64_t first = find_first(&t, k), last = t.n, end;

	for (int64_t p = first; p < last && !o.trouble; p = end + 1) {
		if ((o.trouble = find_end(&t, s, p, &end))) break;
		if (end == t.n && s->end < s->size) break; /* it goes on behind what is read */
		if (!l->line(part, l->arg, o.lines, t.v + p, t.v + end)) break;
		o.lines++;
	}
	o.error = o.trouble == CANT_READ ? errno : 0;
	return o;
}

/* ---- all blocks ---- */

/* The first failure, in the order of the file. */
struct failure {
	int code;
	char text[1024];
};

static int tell(const struct source *s, const struct outcome *o, int64_t before)
{
	const struct iso_lines *l = s->l;

	if (o->trouble == CUT_SHORT)
		return iso_fail(ISO_EINPUT,
		                "%s ends before byte %" PRId64 ", it was longer when it was opened", l->path,
		                s->end);
	if (o->trouble == TOO_LONG)
		return iso_fail(ISO_EINPUT, "%s:%" PRId64 ": a line longer than %d bytes, not %s", l->path,
		                before + o->lines + 1, l->longest, l->what);
	errno = o->error;
	return o->trouble ? iso_fail_errno(l->path, "read") : ISO_OK;
}

/* Messages belong to their thread: the one that is kept is told again by the caller's. */
static void take_block(struct failure *f, const struct source *s, void *part, const struct outcome *o,
                       int64_t *before)
{
	int st = s->l->take(s->l->arg, part, *before);

	if (!st) st = tell(s, o, *before);
	*before += o->lines;
	if (!st) return;
	snprintf(f->text, sizeof f->text, "%s", iso_message());
	f->code = st;
}

static int parse_blocks(struct source *s, char *room, char *parts, int threads, struct iso_hasher *hasher)
{
	const struct iso_lines *l = s->l;
	int64_t blocks = (s->end + BLOCK - 1) / BLOCK, before = 0;
	struct iso_turn turn = { 0 };
	struct failure f = { 0 };

#pragma omp parallel num_threads(threads)
	for (int64_t k; (k = iso_turn_take(&turn, blocks)) >= 0;) {
		char *text = room + omp_get_thread_num() * text_room(l);
		void *part = parts + omp_get_thread_num() * l->part;
		int64_t left = s->end - k * BLOCK;
		struct outcome o = parse_block(part, s, text, k);

		if (iso_stop_asked(l->ctx)) iso_turn_end(&turn);
		if (!iso_turn_wait(&turn, k)) break;
		iso_hasher_add(hasher, text + (k > 0), left < BLOCK ? left : BLOCK);
		take_block(&f, s, part, &o, &before);
		if (f.code) iso_turn_end(&turn);
		iso_turn_pass(&turn);
		iso_clock_add(&s->clock, left < BLOCK ? left : BLOCK);
	}
	iso_clock_end(&s->clock);
	if (f.code) return iso_fail(f.code, "%s", f.text);
	return iso_stop_check(l->ctx, l->path);
}

int iso_lines_read(const struct iso_lines *l, struct iso_hash *hash)
{
	int threads = l->threads ? l->threads : l->ctx ? iso_ctx_threads(l->ctx) : 1;
	struct source s = { .l = l };
	struct iso_hasher hasher = { 0 };
	char *room = NULL, *parts = NULL;
	int st = iso_regular_open(&s.fd, &s.size, l->path);

	if (st) return st;
	s.end = l->first && l->first < s.size ? l->first : s.size;
	if (s.end < threads * (int64_t)BLOCK) threads = (int)(s.end / BLOCK) + 1;
	if (s.size == 0)
		st = iso_fail(ISO_EINPUT, "%s is empty", l->path);
	else if (!(room = size_alloc(threads, text_room(l))) || !(parts = size_alloc(threads, l->part)))
		st = iso_fail_memory(l->path, threads * (text_room(l) + l->part));
	if (!st) {
		if (hash) iso_hasher_begin(&hasher, s.size);
		s.clock = iso_clock_brief(l->ctx, "read", "bytes", s.end, iso_base_name(l->path));
		st = parse_blocks(&s, room, parts, threads, &hasher);
	}
	for (int i = 0; parts && l->release && i < threads; i++) l->release(parts + i * l->part);
	if (hash) iso_hasher_end(hash, &hasher, l->path, s.size);
	free(room);
	free(parts);
	close(s.fd);
	return st;
}
