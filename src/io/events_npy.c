/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as rows of a NumPy array, of any type of number and byte order:

	(n, 7)  x1 y1 z1 x2 y2 z2 in mm, t1 - t2 in ps      (n, 6)  without times
	(n, 3)  crystal 1, crystal 2, t1 - t2 in ps         (n, 2)  without times

   Written is (n, 7) float32. */
#include "core/status.h"
#include "events.h"
#include "format.h"
#include "file/npy.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 7, RECORD = COLUMNS * sizeof(float) };

static int read_head(struct iso_npy *h, int64_t *first, const char *path)
{
	struct iso_in in;
	int st = iso_npy_open(h, &in, path, false);

	if (st) return st;
	*first = in.at;
	iso_in_close(&in);
	if (h->n_dim != 2 || (h->dim[1] != 2 && h->dim[1] != 3 && h->dim[1] != 6 && h->dim[1] != 7))
		return iso_refuse(path,
		                  "events need an array (n, 7) of x1 y1 z1 x2 y2 z2 in mm and t1 - t2 in ps, "
		                  "(n, 6) without times, or (n, 3) or (n, 2) of crystal numbers");
	return iso_npy_rows(h, path);
}

static int open_npy(iso_event_file *f, const char *path, const struct iso_events_options *o)
{
	struct iso_npy *h = f->layout = calloc(1, sizeof *h);
	int st = h ? read_head(h, &f->first, path) : iso_fail_memory(path, sizeof *h);

	if (st || (st = iso_event_file_records(f, path))) return st;
	f->record = h->dim[1] * h->element.size;
	f->info.n = h->dim[0];
	f->info.has_dt = h->dim[1] == 3 || h->dim[1] == 7;
	f->info.has_crystal = h->dim[1] < 6;
	if (!f->info.has_crystal) return ISO_OK;
	f->scanner = o->scanner;
	return f->scanner ? ISO_OK
	                  : iso_refuse(path, "holds crystal numbers; a scanner must say where they are");
}

static int decode_row(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *record,
                      int64_t i)
{
	const struct iso_npy *h = f->layout;
	int columns = (int)h->dim[1];
	struct iso_event *v = &e->v[k];
	double row[COLUMNS];

	for (int c = 0; c < columns; c++) row[c] = iso_element_get(record + c * h->element.size, h->element);
	v->dt_ps = f->info.has_dt ? (float)row[columns - 1] : 0;
	if (f->info.has_crystal) return iso_event_place(f, e, k, i, row[0], row[1]);
	for (int a = 0; a < 3; a++) {
		v->p1[a] = (float)row[a];
		v->p2[a] = (float)row[3 + a];
	}
	return ISO_OK;
}

/* Rows of seven floats are events. */
static int decode(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *record, int64_t i,
                  int64_t n)
{
	const struct iso_npy *h = f->layout;
	int st = ISO_OK;

	if (h->dim[1] == COLUMNS && h->element.kind == 'f' && h->element.size == 4 && !h->element.big_endian)
		memcpy(e->v + k, record, (size_t)n * RECORD);
	else
		for (int64_t j = 0; j < n && !st; j++)
			st = decode_row(f, e, k + j, record + j * f->record, i + j);
	return st;
}

static int create(iso_event_writer *w, const char *path, int64_t bytes)
{
	int st = iso_out_open(&w->out, path, bytes, ISO_OUT_PLAIN);

	return st ? st : iso_npy_begin_rows(&w->out);
}

static int encode(iso_event_writer *w, uint8_t *record, const struct iso_events *e, int64_t i)
{
	(void)w;
	memcpy(record, &e->v[i], RECORD); /* its fields are in this order */
	return ISO_OK;
}

static int finish(iso_event_writer *w, const char *sidecar)
{
	int st = iso_npy_end_rows(&w->out, w->n, COLUMNS);

	return st ? st : iso_target_finish(&w->out, sidecar);
}

const struct iso_event_format iso_npy_events_format = {
	.name = "NumPy rows",
	.open = open_npy,
	.decode = decode,
	.record = RECORD,
	.encode = encode,
	.create = create,
	.finish = finish,
};
