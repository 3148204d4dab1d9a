/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as rows of a NumPy array, of any type of number and byte order:

	(n, 7)  x1 y1 z1 x2 y2 z2 in mm, t1 - t2 in ps      (n, 6)  without times of flight
	(n, 3)  crystal 1, crystal 2, t1 - t2 in ps         (n, 2)  without times of flight
	(n, 8), (n, 4)  the first two with the time since the start of the scan, in ms
	(n, 9)  that and a lifetime in ns, which `isotome lifetime` reads

   or as records, with the fields of the table below, each of any type of number. Written is (n, 7) float32. */
#include "events.h"
#include "format.h"
#include "file/npy.h"

#include <math.h>
#include <stdlib.h>

enum { ROW = 7, N_COLUMNS = 8, RECORD = ROW * sizeof(float) };

/* What an event has, in the order of plain rows of ends. */
enum { X1, Y1, Z1, X2, Y2, Z2, CRYSTAL_1, CRYSTAL_2, DT, TIME, FWHM, COLUMNS };

/* Fields of records, of one number or as many as the columns from the first on. */
static const struct {
	const char *name;
	int first, n;
	double unit; /* of a time, ms */
} fields[] = {
	{ "x1", X1, 1, 0 },
	{ "y1", Y1, 1, 0 },
	{ "z1", Z1, 1, 0 },
	{ "x2", X2, 1, 0 },
	{ "y2", Y2, 1, 0 },
	{ "z2", Z2, 1, 0 },
	{ "p1", X1, 3, 0 },
	{ "p2", X2, 3, 0 },
	{ "crystal1", CRYSTAL_1, 1, 0 },
	{ "crystal2", CRYSTAL_2, 1, 0 },
	{ "crystal", CRYSTAL_1, 2, 0 },
	{ "dt_ps", DT, 1, 0 },
	{ "time_ms", TIME, 1, 1 },
	{ "time_s", TIME, 1, 1000 },
	{ "fwhm_ps", FWHM, 1, 0 },
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* Where the columns of a record are, */
struct layout {
	struct column_at {
		int64_t at;
		struct iso_element element;
		bool there;
	} column[COLUMNS];
	double time_unit; /* ms */
	bool floats;      /* and whether it has the bytes of an event. */
};

/* ---- the head ---- */

static void put_column(struct layout *l, int c, int64_t at, struct iso_element e)
{
	l->column[c] = (struct column_at){ at, e, true };
}

static int take_rows(struct layout *l, const struct iso_npy *h, const char *path)
{
	static const int ends[] = { X1, Y1, Z1, X2, Y2, Z2, DT, TIME };
	static const int crystals[] = { CRYSTAL_1, CRYSTAL_2, DT, TIME };
	int64_t n = h->n_dim == 2 ? h->dim[1] : 0;

	if (!(n >= 2 && n <= 4) && !(n >= 6 && n <= 9))
		return iso_refuse(path,
		                  "events need an array (n, 7) of x1 y1 z1 x2 y2 z2 in mm and t1 - t2 "
		                  "in ps, (n, 6) without times of flight, (n, 8) with times in ms, (n, 9) "
		                  "with lifetimes too, or (n, 2), (n, 3), (n, 4) of crystal numbers");
	for (int i = 0; i < (int)n && i < N_COLUMNS; i++)
		put_column(l, n < 6 ? crystals[i] : ends[i], i * h->element.size, h->element);
	l->time_unit = 1;
	l->floats = n == ROW && h->element.kind == 'f' && h->element.size == 4 && !h->element.big_endian;
	return iso_npy_rows(h, path);
}

/* A field of a known name has numbers, and no other gave its columns. */
static int take_field(struct layout *l, bool *known, const struct iso_npy_field *f, const char *path)
{
	*known = false;
	for (int i = 0; i < FIELDS; i++) {
		if (strcmp(f->name, fields[i].name) != 0) continue;
		*known = true;
		if (!f->element.kind || f->n != fields[i].n)
			return iso_refuse(path, "field '%s' must have %d number%s", f->name, fields[i].n,
			                  fields[i].n == 1 ? "" : "s");
		for (int k = 0; k < f->n; k++) {
			if (l->column[fields[i].first + k].there)
				return iso_refuse(path, "field '%s' says what another field says", f->name);
			put_column(l, fields[i].first + k, f->at + k * f->element.size, f->element);
		}
		if (fields[i].first == TIME) l->time_unit = fields[i].unit;
	}
	return ISO_OK;
}

/* All of x1 ... z2, or both crystals, or all of them: then the ends are x1 ... z2. */
static int check_fields(const struct layout *l, const char *path)
{
	int ends = 0, crystals = l->column[CRYSTAL_1].there + l->column[CRYSTAL_2].there;

	for (int c = X1; c <= Z2; c++) ends += l->column[c].there;
	if (!((ends == 6 || (ends == 0 && crystals == 2)) && crystals != 1))
		return iso_refuse(
			path, "records of events need the fields x1 y1 z1 x2 y2 z2, or p1 p2 of three "
			      "numbers, in mm, or crystal1 crystal2; also dt_ps, fwhm_ps, time_ms or time_s");
	if (l->column[FWHM].there && !l->column[DT].there)
		return iso_refuse(path,
		                  "field 'fwhm_ps' is the resolution of a time of flight: it needs dt_ps");
	return ISO_OK;
}

static int take_records(struct layout *l, struct iso_events_info *info, const struct iso_npy *h,
                        const char *path)
{
	char list[sizeof info->ignored - 16] = "";
	int n = 0, st;

	if (h->n_dim != 1)
		return iso_refuse(path, "records of events need an array (n), it has %d axes", h->n_dim);
	for (int i = 0; i < h->n_fields; i++) {
		const char *name = h->field[i].name;
		bool known;

		if ((st = take_field(l, &known, &h->field[i], path))) return st;
		if (!known && n + (int)strlen(name) + 5 < (int)sizeof list)
			n += snprintf(list + n, sizeof list - (size_t)n, "%s'%s'", n ? ", " : "", name);
	}
	if (n) snprintf(info->ignored, sizeof info->ignored, "fields %s", list);
	return check_fields(l, path);
}

static int read_head(iso_event_file *f, const char *path)
{
	struct layout *l = f->layout;
	struct iso_npy h;
	struct iso_in in;
	int st = iso_npy_open_records(&h, &in, path);

	if (st) return st;
	f->first = in.at;
	iso_in_close(&in);
	f->info.n = h.dim[0];
	f->record = h.bytes / h.dim[0];
	if (!h.n_fields) return take_rows(l, &h, path);
	f->info.format = "NumPy records";
	return take_records(l, &f->info, &h, path);
}

static int open_npy(iso_event_file *f, const char *path, const struct iso_events_options *o)
{
	struct layout *l = f->layout = calloc(1, sizeof *l);
	int st = l ? read_head(f, path) : iso_fail_memory(path, sizeof *l);

	if (st || (st = iso_event_file_records(f, path))) return st;
	f->info.has_dt = l->column[DT].there;
	f->info.has_time = l->column[TIME].there;
	f->info.has_fwhm = l->column[FWHM].there;
	if (!l->column[CRYSTAL_1].there) return ISO_OK;
	if (!o->scanner && !l->column[X1].there)
		return iso_refuse(path, "holds crystal numbers; a scanner must say where the crystals are");
	f->scanner = o->scanner;
	f->info.has_crystal = f->scanner;
	return ISO_OK;
}

/* ---- events ---- */

static double get(const struct layout *l, const uint8_t *record, int c)
{
	return l->column[c].there ? iso_element_get(record + l->column[c].at, l->column[c].element) : 0;
}

/* Whole ms, the last before v; 1.001 s times 1000 may lie a little below 1001 ms, by up to 1 us here. */
static int get_time(const iso_event_file *f, uint32_t *ms, double v, int64_t i)
{
	if (!(v >= 0 && v < 4294967296.))
		return iso_refuse(f->path, "event %" PRId64 ": time is %g ms, must be from 0 to 4294967295",
		                  i, v);
	*ms = (uint32_t)fmin(v + 1e-3, 4294967295.);
	return ISO_OK;
}

static int get_fwhm(const iso_event_file *f, iso_real *fwhm, double v, int64_t i)
{
	*fwhm = (iso_real)v;
	if (*fwhm > 0 && isfinite(*fwhm)) return ISO_OK;
	return iso_refuse(f->path, "event %" PRId64 ": fwhm_ps is %g, must be above 0", i, v);
}

static int decode_row(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *record,
                      int64_t i)
{
	const struct layout *l = f->layout;
	struct iso_event *v = &e->v[k];
	int st = e->time_ms ? get_time(f, &e->time_ms[k], get(l, record, TIME) * l->time_unit, i) : ISO_OK;

	if (!st && e->fwhm_ps) st = get_fwhm(f, &e->fwhm_ps[k], get(l, record, FWHM), i);
	if (st) return st;
	v->dt_ps = (float)get(l, record, DT);
	if (f->info.has_crystal)
		st = iso_event_place(f, e, k, i, get(l, record, CRYSTAL_1), get(l, record, CRYSTAL_2));
	for (int a = 0; a < 3 && l->column[X1].there; a++) {
		v->p1[a] = (float)get(l, record, X1 + a);
		v->p2[a] = (float)get(l, record, X2 + a);
	}
	return st;
}

/* Rows of seven floats are events. */
static int decode(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *record, int64_t i,
                  int64_t n)
{
	const struct layout *l = f->layout;
	int st = ISO_OK;

	if (l->floats)
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
	int st = iso_npy_end_rows(&w->out, w->n, ROW);

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
