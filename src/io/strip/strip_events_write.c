/* SPDX-License-Identifier: BSD-3-Clause */
/* Strip events written as float32 triples, as text that gives the same floats back, or as rows of a
   NumPy array; whole or block by block. */
#include "core/size.h"
#include "file/npy.h"
#include "io/kinds.h"

enum { LINES = 1024, LINE = 64 };

struct iso_strip_writer {
	enum iso_strip_format format;
	struct iso_out out;
	int64_t n;
};

int iso_strip_events_write_check(const char *path, bool force)
{
	if (!path) return iso_fail_null(__func__);
	if (iso_strip_format(path) == ISO_STRIP_UNKNOWN)
		return iso_kind_unknown(ISO_EARG, path, ISO_STRIPS_FILE, true);
	return iso_target_check(path, force);
}

int iso_strip_writer_open(iso_strip_writer **w, const char *path, int64_t n)
{
	if (!w || !path) return iso_fail_null(__func__);
	enum iso_strip_format format = iso_strip_format(path);
	iso_strip_writer *r;
	int64_t bytes;
	int st;

	if (format == ISO_STRIP_UNKNOWN) return iso_kind_unknown(ISO_EARG, path, ISO_STRIPS_FILE, true);
	if (!size_mul(&bytes, n, sizeof(struct iso_strip_event)))
		return iso_fail(ISO_EARG, "%s: %" PRId64 " events, must be 0 to what a file holds", path, n);
	r = calloc(1, sizeof *r);
	if (!r) return iso_fail_memory(path, sizeof *r);
	r->format = format;
	st = iso_out_open(&r->out, path, bytes, ISO_OUT_PLAIN);
	if (!st && format == ISO_STRIP_NPY) st = iso_npy_begin_rows(&r->out);
	if (st)
		iso_strip_writer_free(r);
	else
		*w = r;
	return st;
}

/* Nine digits tell any float from its neighbours. */
static int write_text(struct iso_out *o, const struct iso_strip_events *e)
{
	char text[LINES * LINE];
	int st = ISO_OK;

	for (int64_t i = 0; i < e->n && !st;) {
		int64_t end = e->n - i < LINES ? e->n : i + LINES;
		int used = 0;

		for (; i < end; i++)
			used += iso_snprintf(text + used, LINE, "%.9g %.9g %.9g\n", (double)e->v[i].z_up,
			                     (double)e->v[i].z_down, (double)e->v[i].dl);
		st = iso_out_write(o, text, used);
	}
	return st;
}

int iso_strip_writer_append(iso_strip_writer *w, const struct iso_strip_events *block)
{
	if (!w || !block) return iso_fail_null(__func__);
	w->n += block->n;
	if (w->format == ISO_STRIP_TEXT) return write_text(&w->out, block);
	return iso_out_write(&w->out, block->v, block->n * (int64_t)sizeof *block->v);
}

int iso_strip_writer_close(iso_strip_writer *w, const char *sidecar)
{
	if (!w) return iso_fail_null(__func__);
	int st = ISO_OK;

	if (w->n < 1)
		st = iso_fail(ISO_EARG, "%s: 0 events to write, must be at least 1", w->out.path);
	else if (w->format == ISO_STRIP_NPY)
		st = iso_npy_end_rows(&w->out, w->n, 3);
	if (!st) st = iso_target_finish(&w->out, sidecar);
	iso_strip_writer_free(w);
	return st;
}

void iso_strip_writer_free(iso_strip_writer *w)
{
	if (!w) return;
	iso_out_free(&w->out);
	free(w);
}

int iso_strip_events_write(const char *path, const struct iso_strip_events *e, const char *sidecar)
{
	if (!path || !e) return iso_fail_null(__func__);
	iso_strip_writer *w = NULL;
	int st = iso_strip_writer_open(&w, path, e->n);

	if (!st && (st = iso_strip_writer_append(w, e))) iso_strip_writer_free(w);
	return st ? st : iso_strip_writer_close(w, sidecar);
}
