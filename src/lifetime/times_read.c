/* SPDX-License-Identifier: BSD-3-Clause */
/* Lifetimes of events from NumPy: a field of records, or the last column of rows. */
#include "core/size.h"
#include "core/status.h"
#include "file/npy.h"

#include <string.h>

enum { PIECE = 1 << 14 };

/* Where they stand in a record; of sigma: kind 0, it has none. */
struct layout {
	struct iso_npy_field time, sigma;
	int64_t record;
};

static int take_fields(struct layout *l, const struct iso_npy *h, const char *path)
{
	for (int i = 0; i < h->n_fields; i++) {
		const struct iso_npy_field *f = h->field + i;

		if (!f->element.kind || f->n != 1) continue;
		if (strcmp(f->name, "lifetime_ns") == 0) l->time = *f;
		if (strcmp(f->name, "sigma_ns") == 0) l->sigma = *f;
	}
	if (l->time.element.kind) return ISO_OK;
	return iso_refuse(path, "its records have no field lifetime_ns of one number");
}

static int take_rows(struct layout *l, const struct iso_npy *h, const char *path, int columns)
{
	if (h->n_dim != 2 || h->dim[1] != columns)
		return iso_refuse(
			path,
			"has no lifetimes: they are the field lifetime_ns of records, or the last of %d "
			"columns",
			columns);
	l->time = (struct iso_npy_field){ .element = h->element,
		                          .n = 1,
		                          .at = (columns - 1) * h->element.size };
	return iso_npy_rows(h, path);
}

static int read_all(struct iso_lifetimes *l, struct iso_in *in, const struct layout *at)
{
	uint8_t *buffer = size_alloc(PIECE, at->record);
	int st = buffer ? ISO_OK : iso_fail_memory(in->path, PIECE * at->record);

	for (int64_t i = 0; i < l->n && !st; i += PIECE) {
		const int64_t n = l->n - i < PIECE ? l->n - i : PIECE;

		st = iso_in_read(in, buffer, n * at->record);
		for (int64_t k = 0; k < n && !st; k++) {
			const uint8_t *record = buffer + k * at->record;

			l->time[i + k] = iso_element_get(record + at->time.at, at->time.element);
			if (l->sigma)
				l->sigma[i + k] = iso_element_get(record + at->sigma.at, at->sigma.element);
		}
	}
	free(buffer);
	return st;
}

int iso_lifetimes_read(struct iso_lifetimes *l, const char *path, int columns)
{
	if (!l || !path) return iso_fail_null(__func__);
	struct iso_lifetimes r = { 0 };
	struct layout at = { 0 };
	struct iso_npy h;
	struct iso_in in;
	int st = iso_npy_open_records(&h, &in, path);

	if (st) return st;
	st = h.n_fields ? take_fields(&at, &h, path) : take_rows(&at, &h, path, columns);
	r.n = h.dim[0];
	if (!st && r.n < 1) st = iso_refuse(path, "holds no events");
	at.record = r.n > 0 ? h.bytes / r.n : 0;
	if (!st && (!(r.time = size_alloc(r.n, sizeof *r.time)) ||
	            (at.sigma.element.kind && !(r.sigma = size_alloc(r.n, sizeof *r.sigma)))))
		st = iso_fail_memory(path, r.n * (int64_t)sizeof *r.time);
	if (!st) st = read_all(&r, &in, &at);
	iso_in_close(&in);
	if (st)
		iso_lifetimes_free(&r);
	else
		*l = r;
	return st;
}

void iso_lifetimes_free(struct iso_lifetimes *l)
{
	if (!l) return;
	free(l->time);
	free(l->sigma);
	*l = (struct iso_lifetimes){ 0 };
}
