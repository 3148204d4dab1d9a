/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of barrels from files of any kind and from pipes, and written as .npy and .bin5. A record of .bin5 is little-endian:
   two uint32 (strips), three float32 (z_a, z_b in mm, t_a - t_b in ps). */
#include "barrel_files.h"
#include "base/now.h"
#include "core/sized.h"
#include "core/status.h"
#include "core/size.h"
#include "file/npy.h"
#include "file/suffix.h"
#include "file/feed.h"
#include "io/kinds.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#define LOOK_S .2 /* between two looks at a pipe that is read to its end */

enum { RECORD = 20, PIECE = 1 << 14, COLUMNS = 5, WITH_LIFETIME = 7 };

int iso_barrel_list_add(struct barrel_list *l, const struct iso_barrel_event *v, const char *path)
{
	if (l->e->n == l->room) {
		int64_t room = 2 * l->room + 4096;
		struct iso_barrel_event *more = realloc(l->e->v, (size_t)room * sizeof *more);

		if (!more) return iso_fail_memory(path, room * (int64_t)sizeof *more);
		l->e->v = more;
		l->room = room;
	}
	l->e->v[l->e->n++] = *v;
	return ISO_OK;
}

/* ---- .bin5 ---- */

static uint32_t word_of(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static float float_of(const uint8_t *p)
{
	uint32_t w = word_of(p);
	float v;

	memcpy(&v, &w, sizeof v);
	return v;
}

static struct iso_barrel_event decode(const uint8_t *p, const struct iso_barrel *b,
                                      const struct iso_barrel_options *o)
{
	return (struct iso_barrel_event){ barrel_strip_of(word_of(p), b), barrel_strip_of(word_of(p + 4), b),
		                          (iso_real)((double)float_of(p + 8) * o->mm),
		                          (iso_real)((double)float_of(p + 12) * o->mm),
		                          (iso_real)barrel_way((double)float_of(p + 16), o) };
}

struct iso_barrel_file {
	struct iso_feed in;
	const struct iso_barrel *barrel;
	struct iso_barrel_options options;
	int64_t n; /* events so far */
};

static bool is_stream(const char *path)
{
	struct stat file;

	return strcmp(path, "-") == 0 ||
	       (stat(path, &file) == 0 && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode));
}

static int take_options(struct iso_barrel_options *full, const struct iso_barrel_options *o)
{
	int st = o ? iso_sized_take(full, "iso_barrel_options", sizeof *full, o) : ISO_OK;

	if (!st && !(full->mm > 0)) full->mm = 1;
	return st;
}

int iso_barrel_file_open(iso_barrel_file **f, const char *path, const struct iso_barrel *b,
                         const struct iso_barrel_options *o, bool grows)
{
	if (!f || !path || !b) return iso_fail_null(__func__);
	struct iso_barrel_options full = { .size = sizeof full };
	int st = take_options(&full, o);

	if (st) return st;
	if (!is_stream(path) && !iso_has_suffix(path, ".bin5"))
		return iso_refuse(path, "events that are read as they come are .bin5, a pipe, or - for "
		                        "standard input");
	iso_barrel_file *r = calloc(1, sizeof *r);

	if (!r) return iso_fail_memory(path, sizeof *r);
	r->barrel = b;
	r->options = full;
	st = iso_feed_open(&r->in, path, grows);
	if (st)
		iso_barrel_file_close(r);
	else
		*f = r;
	return st;
}

void iso_barrel_file_close(iso_barrel_file *f)
{
	if (!f) return;
	iso_feed_close(&f->in);
	free(f);
}

static int take_records(struct iso_barrel_events *block, iso_barrel_file *f, int64_t most)
{
	struct iso_feed *in = &f->in;

	for (; block->n < most && in->have - in->at >= RECORD; in->at += RECORD)
		block->v[block->n++] = decode(in->buffer + in->at, f->barrel, &f->options);
	if (in->ended && block->n == 0 && in->have > in->at)
		return iso_refuse(in->path,
		                  "%" PRId64 " whole events of %d bytes, and %" PRId64 " bytes more", f->n,
		                  RECORD, in->have - in->at);
	return ISO_OK;
}

int iso_barrel_file_next(struct iso_barrel_events *block, bool *end, iso_barrel_file *f, int64_t most,
                         double wait_s)
{
	if (!block || !end || !f) return iso_fail_null(__func__);
	const double stop = iso_now_s() + wait_s;
	int64_t got = 1;
	int st = ISO_OK;

	if (most < 1 || !(wait_s >= 0))
		return iso_fail(ISO_EARG,
		                "%s: at most %" PRId64 " events within %g s, must be at least 1 and 0",
		                f->in.path, most, wait_s);
	*block = (struct iso_barrel_events){ .v = block->v };
	for (bool late = false; !st; late = iso_now_s() >= stop) {
		st = take_records(block, f, most);
		if (st || block->n == most || f->in.ended || (got == 0 && (block->n > 0 || late))) break;
		st = iso_feed_fill(&f->in, block->n > 0 ? 0 : fmax(0, stop - iso_now_s()), &got);
	}
	f->n += block->n;
	*end = f->in.ended && block->n == 0;
	if (!st) iso_barrel_events_check(block, f->barrel);
	return st;
}

/* To the end of a file, a pipe or standard input. */
static int read_bytes(struct iso_barrel_events *e, const char *path, const struct iso_barrel *b,
                      const struct iso_barrel_options *o)
{
	iso_barrel_file *f = NULL;
	int st = iso_barrel_file_open(&f, path, b, o, false);
	int64_t room = 0;
	bool end = false;

	while (!st && !end) {
		if (e->n == room) {
			struct iso_barrel_event *more;

			room = 2 * room + 4096;
			if (!(more = realloc(e->v, (size_t)room * sizeof *more))) {
				st = iso_fail_memory(path, room * (int64_t)sizeof *more);
				break;
			}
			e->v = more;
		}
		struct iso_barrel_events block = { .v = e->v + e->n };

		st = iso_barrel_file_next(&block, &end, f, room - e->n, LOOK_S);
		e->n += block.n;
	}
	iso_barrel_file_close(f);
	if (!st && e->n == 0) st = iso_refuse(path, "holds no events");
	return st;
}

/* ---- any file ---- */

/* More than half of no use: another scanner. */
static int check_all(const struct iso_barrel_events *e, const char *path, const struct iso_barrel *b)
{
	int64_t left_out = e->unknown + e->no_pair + e->not_finite + e->far;

	if (2 * e->unknown > e->n)
		return iso_refuse(path,
		                  "%" PRId64 " of %" PRId64
		                  " events are of strips that the scanner does not have: its "
		                  "numbers are %" PRId64 " to %" PRId64,
		                  e->unknown, e->n, b->first, b->first + b->n - 1);
	if (left_out == e->n)
		return iso_refuse(path,
		                  "none of its %" PRId64 " events is usable: %" PRId64 " of no pair, %" PRId64
		                  " not finite, %" PRId64 " beyond the ends of the strips",
		                  e->n, e->no_pair, e->not_finite, e->far);
	return ISO_OK;
}

int iso_barrel_events_read(struct iso_barrel_events *e, const char *path, const struct iso_barrel *b,
                           const struct iso_barrel_options *o)
{
	if (!e || !path || !b) return iso_fail_null(__func__);
	struct iso_barrel_options full = { .size = sizeof full };
	struct iso_barrel_events r = { 0 };
	int st = take_options(&full, o);

	if (st) return st;
	if (is_stream(path) || iso_has_suffix(path, ".bin5"))
		st = read_bytes(&r, path, b, &full);
	else if (iso_has_suffix(path, ".npy"))
		st = iso_barrel_read_npy(&r, path, b, &full);
	else
		st = iso_barrel_read_text(&r, path, b, &full);
	if (!st) {
		iso_barrel_events_check(&r, b);
		st = check_all(&r, path, b);
	}
	if (st)
		iso_barrel_events_free(&r);
	else
		*e = r;
	return st;
}

/* ---- writing ---- */

struct iso_barrel_writer {
	struct iso_out out;
	bool rows;              /* .npy */
	const double *lifetime; /* of the next block; NULL: none has one */
	int columns;
	int64_t first, n;
};

int iso_barrel_write_check(const char *path, bool force)
{
	if (!path) return iso_fail_null(__func__);
	if (!iso_has_suffix(path, ".npy") && !iso_has_suffix(path, ".bin5"))
		return iso_fail(ISO_EARG, "%s: events of a barrel are written as .npy or .bin5", path);
	return iso_target_check(path, force);
}

int iso_barrel_writer_open(iso_barrel_writer **w, const char *path, const struct iso_barrel *b)
{
	if (!w || !path || !b) return iso_fail_null(__func__);
	iso_barrel_writer *r = calloc(1, sizeof *r);
	int st;

	if (!r) return iso_fail_memory(path, sizeof *r);
	r->rows = iso_has_suffix(path, ".npy");
	r->first = b->first;
	r->columns = COLUMNS;
	st = iso_out_open(&r->out, path, 0, ISO_OUT_PLAIN);
	if (!st && r->rows) st = iso_npy_begin_rows(&r->out);
	if (st)
		iso_barrel_writer_free(r);
	else
		*w = r;
	return st;
}

static void put_word(uint8_t *p, uint32_t v)
{
	for (int k = 0; k < 4; k++) p[k] = (uint8_t)(v >> 8 * k);
}

static void put_float(uint8_t *p, double v)
{
	float f = (float)v;
	uint32_t w;

	memcpy(&w, &f, sizeof w);
	put_word(p, w);
}

int iso_barrel_writer_lifetimes(iso_barrel_writer *w, const double *time_ns)
{
	if (!w || !time_ns) return iso_fail_null(__func__);
	if (!w->rows) return iso_fail(ISO_EARG, "%s: lifetimes are written as .npy", w->out.path);
	if (w->n > 0 && w->columns == COLUMNS)
		return iso_fail(ISO_EARG, "%s: the first events had no lifetimes", w->out.path);
	w->columns = WITH_LIFETIME;
	w->lifetime = time_ns;
	return ISO_OK;
}

int iso_barrel_writer_append(iso_barrel_writer *w, const struct iso_barrel_events *block)
{
	if (!w || !block) return iso_fail_null(__func__);
	const int64_t record = 4 * (int64_t)w->columns;

	if (w->columns == WITH_LIFETIME && !w->lifetime)
		return iso_fail(ISO_EARG, "%s: events without lifetimes", w->out.path);
	uint8_t *buffer = size_alloc(PIECE, record);
	int st = buffer ? ISO_OK : iso_fail_memory(w->out.path, PIECE * record);

	for (int64_t i = 0; i < block->n && !st; i += PIECE) {
		int64_t n = block->n - i < PIECE ? block->n - i : PIECE;

		for (int64_t k = 0; k < n; k++) {
			const struct iso_barrel_event *e = block->v + i + k;
			const double v[WITH_LIFETIME] = { (double)(e->a + w->first),
				                          (double)(e->b + w->first),
				                          (double)e->z_a,
				                          (double)e->z_b,
				                          (double)e->dl / ISO_C_MM_PER_PS,
				                          0,
				                          w->lifetime ? w->lifetime[i + k] : 0 };

			for (int c = 0; c < w->columns; c++)
				if (c < 2 && !w->rows)
					put_word(buffer + k * record + 4 * c, (uint32_t)v[c]);
				else
					put_float(buffer + k * record + 4 * c, v[c]);
		}
		st = iso_out_write(&w->out, buffer, n * record);
		w->n += n;
	}
	w->lifetime = NULL;
	free(buffer);
	return st;
}

int iso_barrel_writer_close(iso_barrel_writer *w, const char *sidecar)
{
	if (!w) return iso_fail_null(__func__);
	int st = ISO_OK;

	if (w->n < 1)
		st = iso_fail(ISO_EARG, "%s: 0 events to write, must be at least 1", w->out.path);
	else if (w->rows)
		st = iso_npy_end_rows(&w->out, w->n, w->columns);
	if (!st) st = iso_target_finish(&w->out, sidecar);
	iso_barrel_writer_free(w);
	return st;
}

void iso_barrel_writer_free(iso_barrel_writer *w)
{
	if (!w) return;
	iso_out_free(&w->out);
	free(w);
}
