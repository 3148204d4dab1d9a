/* SPDX-License-Identifier: BSD-3-Clause */
/* lmdT list-mode files: no header; per event x1 y1 z1 x2 y2 z2 (mm) and t2 - t1 (ps), float32. */
#include "events.h"

enum { RECORD = 28 };

_Static_assert(sizeof(struct iso_event) == RECORD, "a record is an event, but for the sign");

static int open_lmdt(iso_event_file *f, const char *path, const struct iso_events_options *o)
{
	int st = iso_event_file_records(f, path);

	(void)o;
	if (st) return st;
	if (f->size % RECORD != 0)
		return iso_refuse(path,
		                  "%" PRId64 " bytes are not a whole number of %d-byte events: %d left over",
		                  f->size, RECORD, (int)(f->size % RECORD));
	f->record = RECORD;
	f->info.n = f->size / RECORD;
	f->info.has_dt = true;
	return ISO_OK;
}

/* The file's t2 - t1 to t1 - t2, or back; 0 stays +0. */
static int decode(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *record, int64_t i,
                  int64_t n)
{
	(void)f, (void)i;
	memcpy(e->v + k, record, (size_t)n * RECORD);
	for (struct iso_event *v = e->v + k; v < e->v + k + n; v++) v->dt_ps = 0 - v->dt_ps;
	return ISO_OK;
}

static int encode(iso_event_writer *w, uint8_t *record, const struct iso_events *e, int64_t i)
{
	struct iso_event v = e->v[i];

	(void)w;
	v.dt_ps = 0 - v.dt_ps;
	memcpy(record, &v, RECORD);
	return ISO_OK;
}

const struct iso_event_format iso_lmdt_format = {
	.name = "lmdT",
	.open = open_lmdt,
	.decode = decode,
	.has_ends = true,
	.record = RECORD,
	.encode = encode,
};
