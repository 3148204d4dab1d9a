/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of barrels from NumPy: rows a, b, z_a, z_b (mm), t_a - t_b (ps), with the time of the event behind them or not; or
   records with places and a time difference, or with the four times at the ends of the strips. */
#include "barrel_files.h"
#include "core/size.h"
#include "core/status.h"
#include "file/npy.h"

#include <stdlib.h>
#include <string.h>

enum { A, B, Z_A, Z_B, DT, A_LOW, A_HIGH, B_LOW, B_HIGH, COLUMNS };

static const char *const names[COLUMNS] = { "strip1",   "strip2",  "z1",       "z2",     "dt_ps",
	                                    "t1_minus", "t1_plus", "t2_minus", "t2_plus" };

struct layout {
	int64_t at[COLUMNS];
	struct iso_element element[COLUMNS];
	bool there[COLUMNS];
	bool ends; /* times of the ends */
	int64_t record;
};

static int take_fields(struct layout *l, const struct iso_npy *h, const char *path)
{
	bool plain = true, ends = true;

	for (int i = 0; i < h->n_fields; i++)
		for (int c = 0; c < COLUMNS; c++)
			if (strcmp(h->field[i].name, names[c]) == 0 && h->field[i].element.kind &&
			    h->field[i].n == 1) {
				l->at[c] = h->field[i].at;
				l->element[c] = h->field[i].element;
				l->there[c] = true;
			}
	for (int c = 0; c < COLUMNS; c++) {
		plain = plain && (l->there[c] || c > DT);
		ends = ends && (l->there[c] || (c > B && c < A_LOW));
	}
	l->ends = ends && !plain;
	if (plain || ends) return ISO_OK;
	return iso_refuse(path,
	                  "records of a barrel's events need the fields strip1 strip2 z1 z2 dt_ps, or strip1 "
	                  "strip2 t1_minus t1_plus t2_minus t2_plus");
}

static int take_rows(struct layout *l, const struct iso_npy *h, const char *path)
{
	if (h->n_dim != 2 || h->dim[1] < 5 || h->dim[1] > 7)
		return iso_refuse(
			path,
			"events of a barrel are an array (n, 5) of strip a, strip b, z_a, z_b in mm, t_a "
			"- t_b in ps, (n, 6) with the time in ms, or (n, 7) with that and a lifetime in ns");
	for (int c = A; c <= DT; c++) {
		l->at[c] = c * h->element.size;
		l->element[c] = h->element;
		l->there[c] = true;
	}
	return iso_npy_rows(h, path);
}

/* A hit's place and time from those at the ends of its strip. */
static void hit_of(double *z, double *t, const struct iso_barrel *b, int32_t strip, double low, double high)
{
	const struct iso_barrel_strip *s = b->strip + strip;

	*z = s->z + b->light_speed * (low - high) / 2;
	*t = (low + high) / 2 - s->length / (2 * b->light_speed);
}

static struct iso_barrel_event decode(const uint8_t *record, const struct layout *l,
                                      const struct iso_barrel *b, const struct iso_barrel_options *o)
{
	double v[COLUMNS] = { 0 }, z[2] = { 0 }, t[2] = { 0 };

	for (int c = 0; c < COLUMNS; c++)
		if (l->there[c]) v[c] = iso_element_get(record + l->at[c], l->element[c]);
	struct iso_barrel_event e = { barrel_strip_of(v[A], b), barrel_strip_of(v[B], b), 0, 0, 0 };

	if (!l->ends) {
		e.z_a = (iso_real)(v[Z_A] * o->mm);
		e.z_b = (iso_real)(v[Z_B] * o->mm);
		e.dl = (iso_real)barrel_way(v[DT], o);
	} else if (e.a >= 0 && e.b >= 0) {
		hit_of(&z[0], &t[0], b, e.a, v[A_LOW], v[A_HIGH]);
		hit_of(&z[1], &t[1], b, e.b, v[B_LOW], v[B_HIGH]);
		e.z_a = (iso_real)z[0];
		e.z_b = (iso_real)z[1];
		e.dl = (iso_real)barrel_way(t[0] - t[1], o);
	}
	return e;
}

enum { PIECE = 1 << 14 };

static int read_records(struct iso_barrel_events *e, struct iso_in *in, const struct layout *l,
                        const struct iso_barrel *b, const struct iso_barrel_options *o)
{
	uint8_t *buffer = size_alloc(PIECE, l->record);
	int st = buffer ? ISO_OK : iso_fail_memory(in->path, PIECE * l->record);

	for (int64_t i = 0; i < e->n && !st; i += PIECE) {
		int64_t n = e->n - i < PIECE ? e->n - i : PIECE;

		st = iso_in_read(in, buffer, n * l->record);
		for (int64_t k = 0; k < n && !st; k++) e->v[i + k] = decode(buffer + k * l->record, l, b, o);
	}
	free(buffer);
	return st;
}

int iso_barrel_read_npy(struct iso_barrel_events *e, const char *path, const struct iso_barrel *b,
                        const struct iso_barrel_options *o)
{
	struct layout l = { 0 };
	struct iso_npy h;
	struct iso_in in;
	int st = iso_npy_open_records(&h, &in, path);

	if (st) return st;
	st = h.n_fields ? take_fields(&l, &h, path) : take_rows(&l, &h, path);
	if (!st && l.ends && !(b->light_speed > 0))
		st = iso_refuse(
			path,
			"holds times of the ends of strips; the scanner must have light_speed_mm_per_ps");
	e->n = h.dim[0];
	l.record = e->n > 0 ? h.bytes / e->n : 0;
	if (!st && !(e->v = size_alloc(e->n, sizeof *e->v)))
		st = iso_fail_memory(path, e->n * (int64_t)sizeof *e->v);
	if (!st) st = read_records(e, &in, &l, b, o);
	iso_in_close(&in);
	return st;
}
