/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of strip events in commands: told by suffix, described, converted. */
#include "strip_opt.h"

#include "core/status.h"
#include "io/kinds.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 1 << 18 }; /* events in memory at a time */

#define WAIT_S 1. /* for a pipe, between two looks */

bool strip_is_events(const char *path)
{
	return iso_kind_is(path, ISO_STRIPS_FILE);
}

void strip_events_warn(struct record *record, const char *path, int64_t n, int64_t n_bad)
{
	if (n_bad)
		record_warn(record,
		            "%s: %" PRId64 " of %" PRId64 " events are left out (not "
		            "finite)",
		            path, n_bad, n);
}

/* Each block in turn; `see` stops it by a failure. */
static int each_block(const char *path, const struct iso_strip_options *o,
                      int (*see)(void *arg, const struct iso_strip_events *block), void *arg)
{
	struct iso_strip_events block = { .v = malloc(BLOCK * sizeof *block.v) };
	iso_strip_file *f = NULL;
	bool end = false;
	int st = block.v ? iso_strip_file_open(&f, path, o, false)
	                 : iso_fail_memory(path, BLOCK * (int64_t)sizeof *block.v);

	while (!st && !end) {
		st = iso_strip_file_next(&block, &end, f, BLOCK, WAIT_S);
		if (!st && block.n > 0) st = see(arg, &block);
	}
	iso_strip_file_close(f);
	iso_strip_events_free(&block);
	return st;
}

static int check_usable(const char *path, int64_t n, int64_t n_bad)
{
	if (n_bad < n) return ISO_OK;
	return iso_fail(ISO_EINPUT, "%s: none of its %" PRId64 " events is usable", path, n);
}

/* ---- convert ---- */

struct copy {
	iso_strip_writer *w;
	int64_t n, n_bad;
};

static int append(void *arg, const struct iso_strip_events *block)
{
	struct copy *k = arg;

	k->n += block->n;
	k->n_bad += block->n_bad;
	return iso_strip_writer_append(k->w, block);
}

int strip_convert(struct record *record, const char *from, const char *to, const struct iso_strip_options *o)
{
	struct copy k = { 0 };
	char *text = NULL;
	int st;

	if ((st = iso_strip_writer_open(&k.w, to, 0))) goto done;
	if ((st = each_block(from, o, append, &k))) goto done;
	if ((st = check_usable(from, k.n, k.n_bad))) goto done;
	strip_events_warn(record, from, k.n, k.n_bad);
	if ((st = record_text(record, &text))) goto done;
	st = iso_strip_writer_close(k.w, text);
	k.w = NULL;
done:
	free(text);
	iso_strip_writer_free(k.w);
	return st;
}

/* ---- info ---- */

struct tally {
	int64_t n, bad;
	double low[3], high[3]; /* z_up, z_down, dl, mm */
};

static int add_block(void *arg, const struct iso_strip_events *block)
{
	struct tally *t = arg;

	for (int64_t i = 0; i < block->n; i++) {
		const struct iso_strip_event *e = &block->v[i];
		const double v[3] = { e->z_up, e->z_down, e->dl };

		if (iso_strip_event_bad(e)) continue;
		for (int k = 0; k < 3; k++) {
			t->low[k] = fmin(t->low[k], v[k]);
			t->high[k] = fmax(t->high[k], v[k]);
		}
	}
	t->n += block->n;
	t->bad += block->n_bad;
	return ISO_OK;
}

int strip_describe(json_t *o, const char *path)
{
	static const char *const name[] = { "z_up_mm", "z_down_mm", "dl_mm" };
	struct tally t = { .low = { INFINITY, INFINITY, INFINITY },
		           .high = { -INFINITY, -INFINITY, -INFINITY } };
	int st = each_block(path, NULL, add_block, &t);

	if (st || (st = check_usable(path, t.n, t.bad))) return st;
	json_object_set_new(o, "kind", json_string("strip events"));
	json_object_set_new(o, "events", json_integer(t.n));
	json_object_set_new(o, "bad", json_integer(t.bad));
	for (int k = 0; k < 3; k++)
		json_object_set_new(o, name[k], record_pack("[f,f]", t.low[k], t.high[k]));
	if (t.bad)
		json_array_append_new(json_object_get(o, "warnings"),
		                      json_sprintf("%" PRId64 " events are not finite", t.bad));
	return ISO_OK;
}
