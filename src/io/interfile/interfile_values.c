/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of Interfile projection data beside others on the same bins: factors, additive terms. */
#include "interfile_lines.h"
#include "file/in.h"
#include "io/kinds.h"

#include <math.h>

extern const struct iso_event_format iso_interfile_format;

bool iso_is_projection_data(const char *path)
{
	const struct iso_kind *k = iso_kind_to_read(path, ISO_EVENTS_FILE);

	return k && k->events == &iso_interfile_format;
}

static int read_bins(struct interfile_bins *b, const char *path)
{
	struct iso_interfile h;
	int st = iso_interfile_read(&h, path);

	if (st) return st;
	st = iso_interfile_bins(b, &h);
	iso_interfile_free(&h);
	return st;
}

int iso_interfile_fits(const char *path, const char *like, bool any_tof)
{
	struct interfile_bins a, b;
	int st;

	if (!iso_is_projection_data(like))
		return iso_refuse(path, "projection data, one value a bin; %s is no projection data", like);
	if ((st = read_bins(&a, path)) || (st = read_bins(&b, like))) return st;
	if (iso_interfile_bins_same(&a, &b) && (any_tof || a.tof_bins == b.tof_bins)) return ISO_OK;
	return iso_refuse(path,
	                  "its bins are not those of %s: segments, ring differences, views, axial, "
	                  "tangential and TOF positions must be the same, in the same order",
	                  like);
}

/* n values from number `first` on of an open file. */
static int read_values(iso_real *v, struct iso_in *in, const struct iso_interfile_data *d, double slope,
                       int64_t first, int64_t n)
{
	int st = iso_in_seek(in, d->offset + first * d->element.size);

	if (!st) st = iso_elements_read(v, n, in, d->element);
	for (int64_t i = 0; i < n && !st; i++) {
		v[i] = (iso_real)(slope * (double)v[i]);
		if (!(v[i] >= 0) || !isfinite(v[i]))
			st = iso_refuse(d->path, "value %" PRId64 " is %g, must be finite and not negative",
			                first + i, (double)v[i]);
	}
	return st;
}

/* A file of one TOF bin serves each of those that `like` has: bins are counted round and round. */
static int read_round(iso_real *v, int64_t first, int64_t n, struct iso_interfile_data *d, double slope,
                      int64_t have)
{
	struct iso_in in;
	int st = iso_in_open(&in, d->path, false);

	for (int64_t i = 0, m; i < n && !st; i += m) {
		int64_t at = (first + i) % have;

		m = n - i < have - at ? n - i : have - at;
		st = read_values(v + i, &in, d, slope, at, m);
	}
	iso_in_close(&in);
	return st;
}

int iso_interfile_piece(iso_real *v, const char *path, int64_t first, int64_t n)
{
	struct iso_interfile_data d;
	struct interfile_bins b;
	struct iso_interfile h;
	double slope;
	int st = iso_interfile_read(&h, path);

	if (st) return st;
	if (!(st = iso_interfile_bins(&b, &h)) && !(st = iso_interfile_values_of(&d, &slope, &b, &h)))
		st = read_round(v, first, n, &d, slope, b.n);
	iso_interfile_free(&h);
	return st;
}
