/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of events, written whole or block by block. */
#include "core/size.h"
#include "core/sized.h"
#include "kinds.h"

enum { WRITTEN = 1 << 16 }; /* bytes of records that are written at a time */

static int find(const struct iso_event_format **m, const char *path)
{
	*m = iso_event_format_find(path);
	return *m && ((*m)->encode || (*m)->append) ? ISO_OK
	                                            : iso_kind_unknown(ISO_EARG, path, ISO_EVENTS_FILE, true);
}

int iso_event_writer_open(iso_event_writer **w, const char *path, const iso_scanner *s, int64_t n)
{
	if (!w || !path) return iso_fail_null(__func__);
	const struct iso_event_format *m;
	iso_event_writer *r;
	int64_t bytes;
	int st = find(&m, path);

	if (st) return st;
	if (!size_mul(&bytes, n, m->record))
		return iso_fail(ISO_EARG, "%s: %" PRId64 " events are more than a file holds", path, n);
	r = calloc(1, sizeof *r);
	if (!r) return iso_fail_memory(path, sizeof *r);
	*r = (iso_event_writer){ .format = m, .scanner = s, .record = m->record };
	st = m->create ? m->create(r, path, bytes) : iso_out_open(&r->out, path, bytes, ISO_OUT_PLAIN);
	if (st)
		iso_event_writer_free(r);
	else
		*w = r;
	return st;
}

int iso_event_writer_factors(iso_event_writer *w, const struct iso_pair_factors *factors)
{
	if (!w || !factors) return iso_fail_null(__func__);
	struct iso_pair_factors f;
	int st = iso_sized_take(&f, "iso_pair_factors", sizeof f, factors);

	if (st) return st;
	if (!w->format->factors)
		return iso_fail(ISO_EARG, "%s: %s has no place for a norm; PETSIRD has", w->out.path,
		                w->format->name);
	if (w->begun || !f.crystal)
		return iso_fail(ISO_EARG, "%s: %s", w->out.path,
		                f.crystal ? "the norm comes before the first events"
		                          : "a norm has an efficiency of each crystal");
	w->format->factors(w, &f);
	return ISO_OK;
}

static int write_block(iso_event_writer *w, const struct iso_events *e)
{
	uint8_t buffer[WRITTEN];
	int64_t per = WRITTEN / w->record;
	int st = ISO_OK;

	for (int64_t i = 0; i < e->n && !st; i += per) {
		int64_t m = e->n - i < per ? e->n - i : per;

		for (int64_t k = 0; k < m && !st; k++)
			st = w->format->encode(w, buffer + k * w->record, e, i + k);
		if (!st) st = iso_out_write(&w->out, buffer, m * w->record);
	}
	return st;
}

int iso_event_writer_append(iso_event_writer *w, const struct iso_events *block)
{
	if (!w || !block) return iso_fail_null(__func__);
	int st = ISO_OK;

	if (block->count)
		return iso_fail(ISO_EARG, "%s: a histogram, whose lines have counts, can't be written as %s",
		                w->out.path, w->format->name);
	if (!w->begun && w->format->begin) st = w->format->begin(w, block);
	w->begun = true;
	if (!st) st = w->format->append ? w->format->append(w, block) : write_block(w, block);
	w->n += block->n;
	return st;
}

int iso_event_writer_close(iso_event_writer *w, const char *sidecar)
{
	if (!w) return iso_fail_null(__func__);
	int st;

	if (w->n < 1)
		st = iso_fail(ISO_EARG, "%s: 0 events to write, must be at least 1", w->out.path);
	else
		st = w->format->finish ? w->format->finish(w, sidecar) : iso_target_finish(&w->out, sidecar);
	iso_event_writer_free(w);
	return st;
}

void iso_event_writer_free(iso_event_writer *w)
{
	if (!w) return;
	if (w->format->release) w->format->release(w);
	iso_out_free(&w->out);
	free(w->layout);
	free(w);
}

int iso_events_write_with(const char *path, const struct iso_events *e, const iso_scanner *s,
                          const char *sidecar)
{
	if (!path || !e) return iso_fail_null(__func__);
	iso_event_writer *w = NULL;
	int st = iso_event_writer_open(&w, path, s, e->n);

	if (!st && (st = iso_event_writer_append(w, e))) iso_event_writer_free(w);
	return st ? st : iso_event_writer_close(w, sidecar);
}

int iso_events_write(const char *path, const struct iso_events *e, const char *sidecar)
{
	if (!path || !e) return iso_fail_null(__func__);
	return iso_events_write_with(path, e, NULL, sidecar);
}

int iso_events_partner(char *out, int size, const char *path, const char *suffix)
{
	const char *dot = strrchr(path, '.');

	if (snprintf(out, (size_t)size, "%.*s%s", (int)(dot - path), path, suffix) >= size)
		return iso_fail(ISO_EARG, "%s: name is too long", path);
	return ISO_OK;
}

int iso_events_write_check(const char *path, bool force)
{
	if (!path) return iso_fail_null(__func__);
	const struct iso_event_format *m;
	char name[PATH_MAX];
	int st = find(&m, path);

	if (!st) st = iso_target_check(path, force);
	for (int i = 0; !st && m->beside && m->beside[i]; i++)
		if (!(st = iso_events_partner(name, sizeof name, path, m->beside[i])))
			st = iso_stands_check(name, path, force);
	return st;
}
