/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as rows of a NumPy array, of any type of number and byte order:

	(n, 7)  x1 y1 z1 x2 y2 z2 in mm, t1 - t2 in ps      (n, 6)  without times
	(n, 3)  crystal 1, crystal 2, t1 - t2 in ps         (n, 2)  without times

   Written is (n, 7) float32. */
#include "core/size.h"
#include "core/status.h"
#include "events.h"
#include "format.h"
#include "file/npy.h"

#include <string.h>

enum { COLUMNS = 7, RECORD = COLUMNS * sizeof(float), LEAD = 128 };

struct layout {
	struct iso_element element;
	int columns;
};

static int check_shape(const struct iso_npy *h, const char *path)
{
	if (h->n_dim != 2 || (h->dim[1] != 2 && h->dim[1] != 3 && h->dim[1] != 6 && h->dim[1] != 7))
		return iso_fail(ISO_EINPUT,
		                "%s: events need an array (n, 7) of x1 y1 z1 x2 y2 z2 "
		                "in mm and t1 - t2 in ps, (n, 6) without times, or (n, 3) or (n, 2) of "
		                "crystal numbers",
		                path);
	if (h->fortran && h->dim[0] > 1)
		return iso_fail(ISO_EINPUT,
		                "%s: stored column by column (Fortran order), events "
		                "need rows: save numpy.ascontiguousarray of it",
		                path);
	return ISO_OK;
}

static int read_head(struct iso_npy *h, int64_t *first, const char *path)
{
	struct iso_in in;
	int st = iso_in_open(&in, path, false);

	if (st) return st;
	st = iso_npy_head(h, &in, false);
	*first = in.at;
	iso_in_close(&in);
	return st ? st : check_shape(h, path);
}

static int open_npy(iso_event_file *f, const char *path, const struct iso_events_options *o)
{
	struct iso_npy h;
	struct layout *l;
	int64_t size;
	int st = read_head(&h, &f->first, path);

	if (st || (st = iso_event_file_records(f, &size, path))) return st;
	f->layout = l = calloc(1, sizeof *l);
	if (!l) return iso_fail_memory(path, sizeof *l);
	l->element = h.element;
	l->columns = (int)h.dim[1];
	f->record = l->columns * l->element.size;
	f->info.n = h.dim[0];
	f->info.has_dt = l->columns == 3 || l->columns == 7;
	f->info.has_crystal = l->columns < 6;
	if (f->info.has_crystal) {
		f->scanner = o ? o->scanner : NULL;
		st = iso_events_need_scanner(path, o);
	}
	return st;
}

static int decode(const iso_event_file *f, struct iso_events *e, int64_t k, const unsigned char *record,
                  int64_t i)
{
	const struct layout *l = f->layout;
	struct iso_event *v = &e->v[k];
	double row[COLUMNS];

	for (int c = 0; c < l->columns; c++)
		row[c] = iso_element_get(record + c * l->element.size, l->element);
	v->dt_ps = f->info.has_dt ? (float)row[l->columns - 1] : 0;
	if (f->info.has_crystal) return iso_event_from_crystals(f, e, k, i, row[0], row[1]);
	for (int a = 0; a < 3; a++) {
		v->p1[a] = (float)row[a];
		v->p2[a] = (float)row[3 + a];
	}
	return ISO_OK;
}

/* The preamble holds the number of rows: its place is kept until that is known. */
static int create(iso_event_writer *w, const char *path, int64_t n)
{
	char lead[LEAD] = { 0 };
	int64_t bytes;
	int st;

	if (!size_mul(&bytes, n, RECORD))
		return iso_fail(ISO_EARG, "%s: %" PRId64 " events are more than a file holds", path, n);
	st = iso_out_open(&w->out, path, bytes, false);
	return st ? st : iso_out_write(&w->out, lead, LEAD);
}

static int begin(iso_event_writer *w, const struct iso_events *e)
{
	(void)e;
	w->record = RECORD;
	return ISO_OK;
}

static int encode(iso_event_writer *w, unsigned char *record, const struct iso_events *e, int64_t i)
{
	(void)w;
	memcpy(record, &e->v[i], RECORD); /* its fields are in this order */
	return ISO_OK;
}

static int finish(iso_event_writer *w, const char *sidecar)
{
	char lead[ISO_NPY_LEAD];
	int64_t dim[2] = { w->n, COLUMNS };
	int n = iso_npy_lead(lead, sizeof(float), 2, dim);
	int st = n == LEAD ? iso_out_write_at(&w->out, lead, n, 0)
	                   : iso_fail(ISO_EIO, "%s: preamble of %d bytes", w->out.path, n);

	return st ? st : iso_target_finish(&w->out, sidecar);
}

const struct iso_event_format iso_npy_events_format = {
	.name = "NumPy rows",
	.open = open_npy,
	.decode = decode,
	.create = create,
	.begin = begin,
	.encode = encode,
	.finish = finish,
};
