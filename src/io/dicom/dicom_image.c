/* SPDX-License-Identifier: BSD-3-Clause */
/* A CT or PET series in DICOM as an array: (nz, ny, nx), or (frames, nz, ny, nx), on the axes right, anterior, superior. */
#include "dicom.h"
#include "core/size.h"
#include "core/status.h"
#include "file/out.h"
#include "io/format.h"
#include "io/volume.h"

#include <string.h>

struct image {
	struct dicom_series s;
	struct iso_volume place; /* without values and files */
	int64_t frames;
	int axis[3], sign[3];
};

static void free_image(void *p)
{
	struct image *m = p;

	if (m) dicom_series_free(&m->s);
	free(m);
}

/* Units of PET (0054,1001) that have a word of their own here; others stay as they are. */
static void set_unit(char unit[32], const struct dicom_slice *s)
{
	static const char *const words[][2] = {
		{ "BQML", "Bq/mL" },      { "GML", "g/mL" }, { "CNTS", "counts" },
		{ "PROPCNTS", "counts" }, { "NONE", "" },
	};
	bool ct = strcmp(s->modality, "CT") == 0;

	snprintf(unit, 32, "%.31s", ct ? "HU" : s->units);
	for (size_t i = 0; i < sizeof words / sizeof *words && !ct; i++)
		if (strcmp(s->units, words[i][0]) == 0) snprintf(unit, 32, "%s", words[i][1]);
}

static int check_units(const struct dicom_series *s)
{
	for (int64_t k = 1; k < s->n; k++)
		if (strcmp(s->v[k].units, s->v[0].units) != 0)
			return iso_refuse(s->v[k].path,
			                  "values are in %s, those of %s of the same series in %s",
			                  s->v[k].units, s->v[0].path, s->v[0].units);
	return ISO_OK;
}

static int find_image(struct image *m, const char *path)
{
	int st = dicom_gather(&m->s, NULL, path, DICOM_CT | DICOM_PT);

	if (st || (st = dicom_order(&m->place, &m->frames, &m->s)) || (st = check_units(&m->s))) return st;
	return iso_axes_find(m->axis, m->sign, m->place.affine, path);
}

static int open_image(struct iso_array *a, struct iso_stored *s, const char *path, bool pairs)
{
	struct image *m = size_alloc(1, sizeof *m);
	struct iso_grid g = { 0 };
	int st = m ? find_image(m, path) : iso_fail_memory(path, sizeof *m);

	(void)pairs;
	s->own = m;
	s->release = free_image;
	if (st) return st;
	if (!s->oblique && iso_axes_tilt(NULL, m->place.affine, m->axis) > 0) return iso_axes_refuse(path);
	iso_axes_grid(&g, m->place.dim, m->place.affine, m->axis);
	int skip = m->frames == 1; /* a single frame is an image */

	if ((st = iso_array_make(a, path, 4 - skip, (int64_t[]){ m->frames, g.n[2], g.n[1], g.n[0] } + skip,
	                         false)))
		return st;
	a->has_grid = true;
	a->grid = g;
	set_unit(a->unit, &m->s.v[0]);
	return ISO_OK;
}

/* Slice k of the series, whose values are `from`, into its places of the array. */
static void put_slice(iso_real *x, const struct image *m, int64_t k, const iso_real *from)
{
	const int64_t *dim = m->place.dim, places = dim[2];
	int64_t along[3], first = 0, step = 1; /* of the file's axes in the array */

	for (int r = 0; r < 3; r++) {
		along[m->axis[r]] = m->sign[r] * step;
		if (m->sign[r] < 0) first += (dim[m->axis[r]] - 1) * step;
		step *= dim[m->axis[r]];
	}
	iso_real *to = x + k / places * step + first + k % places * along[2];

	for (int64_t j = 0; j < dim[1]; j++)
		for (int64_t i = 0; i < dim[0]; i++) to[j * along[1] + i * along[0]] = from[j * dim[0] + i];
}

static int fill_image(struct iso_array *a, struct iso_stored *s, const iso_ctx *ctx, const char *path)
{
	struct image *m = s->own;
	const int64_t n = m->place.dim[0] * m->place.dim[1];
	iso_real *slice = size_alloc(n, sizeof *slice);
	int st = slice ? ISO_OK : iso_fail_memory(path, n * (int64_t)sizeof *slice);

	for (int64_t k = 0; k < m->s.n && !st; k++)
		if (!(st = iso_stop_check(ctx, path)) && !(st = dicom_values(slice, &m->s.v[k])))
			put_slice(a->v, m, k, slice);
	free(slice);
	return st;
}

const struct iso_format iso_dicom_format = { .open = open_image, .fill = fill_image };

/* ---- for those who describe it ---- */

int iso_dicom_about(struct iso_dicom_about *about, const char *path)
{
	struct image m = { 0 };
	int st = find_image(&m, path);

	*about = (struct iso_dicom_about){ 0 };
	if (st) goto done;
	snprintf(about->modality, sizeof about->modality, "%.15s", m.s.v[0].modality);
	snprintf(about->description, sizeof about->description, "%.64s", m.s.v[0].description);
	about->frames = m.frames;
	about->n_files = m.s.n;
	about->file = size_alloc(m.s.n, sizeof *about->file);
	about->reference_s = size_alloc(m.frames, sizeof *about->reference_s);
	about->duration_s = size_alloc(m.frames, sizeof *about->duration_s);
	if (!about->file || !about->reference_s || !about->duration_s) {
		st = iso_fail_memory(path, m.s.n * (int64_t)sizeof *about->file);
		goto done;
	}
	for (int64_t k = 0; k < m.s.n; k++) {
		about->file[k] = m.s.v[k].path;
		m.s.v[k].path = NULL; /* now the caller's */
		about->reference_s[k * m.frames / m.s.n] = m.s.v[k].reference_ms / 1e3;
		about->duration_s[k * m.frames / m.s.n] = m.s.v[k].duration_ms / 1e3;
	}
done:
	dicom_series_free(&m.s);
	if (st) iso_dicom_about_free(about);
	return st;
}

void iso_dicom_about_free(struct iso_dicom_about *about)
{
	for (int64_t k = 0; about->file && k < about->n_files; k++) free(about->file[k]);
	free(about->file);
	free(about->reference_s);
	free(about->duration_s);
	*about = (struct iso_dicom_about){ 0 };
}
