/* SPDX-License-Identifier: BSD-3-Clause */
/* A CT or PET series in DICOM as a volume: its slices put in the order of their places. The volume may be oblique, and
   sheared by a tilted gantry. PET may have several frames. */
#include "dicom.h"
#include "core/size.h"
#include "core/status.h"
#include "file/out.h"
#include "file/suffix.h"
#include "io/volume.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- where the slices lie ---- */

static void normal(double n[3], const struct dicom_slice *s)
{
	const double *r = s->orientation, *c = r + 3;

	for (int i = 0; i < 3; i++) n[i] = r[(i + 1) % 3] * c[(i + 2) % 3] - r[(i + 2) % 3] * c[(i + 1) % 3];
}

/* mm along the normal of the slice; slices of one series have one orientation. */
static double height(const struct dicom_slice *s)
{
	double n[3];

	normal(n, s);
	return n[0] * s->position[0] + n[1] * s->position[1] + n[2] * s->position[2];
}

static int by_height(const void *a, const void *b)
{
	double x = height(a), y = height(b);

	return (x > y) - (x < y);
}

/* ---- frames ---- */

/* When the frame of a slice was: by its reference time, else by date and time of its acquisition, else by its number. */
static int by_time(const void *a, const void *b)
{
	const struct dicom_slice *x = a, *y = b;
	int date = strcmp(x->date, y->date), time = strcmp(x->time, y->time);

	if (x->reference_ms != y->reference_ms) return x->reference_ms > y->reference_ms ? 1 : -1;
	if (date || time) return date ? date : time;
	return (x->instance > y->instance) - (x->instance < y->instance);
}

/* How many slices lie at the place of slice `first`, which comes first of them. */
static int64_t at_place(const struct dicom_series *s, int64_t first)
{
	int64_t n = 1;

	while (first + n < s->n && height(&s->v[first + n]) - height(&s->v[first]) < DICOM_CLOSEST) n++;
	return n;
}

/* Slices of PET in the order of their heights -> frame after frame. Each place has one slice of every frame. */
static int order_frames(int64_t *frames, struct dicom_series *s)
{
	const int64_t n = at_place(s, 0), places = s->n / n;
	struct dicom_slice *v;

	*frames = 1;
	if (n == 1 || strcmp(s->v[0].modality, "PT") != 0) return ISO_OK;
	for (int64_t k = 0; k < s->n; k += n) {
		if (at_place(s, k) != n)
			return iso_refuse(s->v[k].path,
			                  "%" PRId64 " slices lie at its place and %" PRId64
			                  " at that of %s: is a frame missing?",
			                  at_place(s, k), n, s->v[0].path);
		qsort(s->v + k, (size_t)n, sizeof *s->v, by_time);
		for (int64_t i = 1; i < n; i++)
			if (by_time(&s->v[k + i - 1], &s->v[k + i]) == 0)
				return iso_fail(ISO_EINPUT,
				                "%s and %s lie at the same place, at the same time",
				                s->v[k + i - 1].path, s->v[k + i].path);
	}
	if (!(v = size_alloc(s->n, sizeof *v))) return iso_fail_memory("series", s->n * (int64_t)sizeof *v);
	for (int64_t k = 0; k < s->n; k++) v[k % n * places + k / n] = s->v[k];
	free(s->v);
	s->v = v;
	s->room = s->n;
	*frames = n;
	return ISO_OK;
}

/* ---- places ---- */

static int check_same(const struct dicom_slice *a, const struct dicom_slice *b)
{
	if (a->rows != b->rows || a->columns != b->columns)
		return iso_refuse(b->path, "%d rows of %d columns, %s of the same series has %d of %d",
		                  b->rows, b->columns, a->path, a->rows, a->columns);
	for (int i = 0; i < 2; i++)
		if (fabs(a->spacing[i] - b->spacing[i]) > 1e-3 * a->spacing[i])
			return iso_refuse(b->path, "pixel spacing %g mm, %s of the same series has %g",
			                  b->spacing[i], a->path, a->spacing[i]);
	for (int i = 0; i < 6; i++)
		if (fabs(a->orientation[i] - b->orientation[i]) > 1e-3)
			return iso_refuse(b->path, "its orientation is not that of %s of the same series",
			                  a->path);
	return ISO_OK;
}

/* Steps between slices may differ by 1 % and by what is lost where positions are written with two digits, mm. */
#define EVEN .01
#define ROUNDED .02

/* Of slices in order, two or more: no two at one place, and none missing. */
static int check_steps(const struct dicom_series *s)
{
	double least = INFINITY;

	for (int64_t k = 1; k < s->n; k++) {
		double step = height(&s->v[k]) - height(&s->v[k - 1]);

		if (step < DICOM_CLOSEST)
			return iso_fail(ISO_EINPUT, "%s and %s lie at the same place", s->v[k - 1].path,
			                s->v[k].path);
		least = fmin(least, step);
	}
	for (int64_t k = 1; k < s->n; k++) {
		double step = height(&s->v[k]) - height(&s->v[k - 1]);

		if (step > least * (1 + EVEN) + ROUNDED)
			return iso_fail(ISO_EINPUT,
			                "from %s to %s there are %g mm, elsewhere %g: is a slice missing?",
			                s->v[k - 1].path, s->v[k].path, step, least);
	}
	return ISO_OK;
}

/* step = from slice to slice in mm: from the first to the last over their number, on which line all must lie. */
static int find_step(double step[3], const struct dicom_series *s)
{
	const struct dicom_slice *first = &s->v[0], *last = &s->v[s->n - 1];
	double n[3], length = 0;
	int st;

	normal(n, first);
	if (s->n == 1) {
		if (!(first->thickness > 0 && first->thickness < DICOM_WIDEST))
			return iso_refuse(first->path,
			                  "is the only slice, and says no thickness (0018,0050)");
		for (int i = 0; i < 3; i++) step[i] = first->thickness * n[i];
		return ISO_OK;
	}
	if ((st = check_steps(s))) return st;
	for (int i = 0; i < 3; i++) {
		step[i] = (last->position[i] - first->position[i]) / (double)(s->n - 1);
		length += step[i] * step[i];
	}
	for (int64_t k = 0; k < s->n; k++)
		for (int i = 0; i < 3; i++)
			if (fabs(s->v[k].position[i] - first->position[i] - (double)k * step[i]) >
			    .1 * sqrt(length) + ROUNDED)
				return iso_refuse(s->v[k].path, "does not lie in line with the other slices");
	return ISO_OK;
}

/* The file's axes are left, posterior, superior: the first two change their signs. (-0 + 0 is 0, which reads better.) */
static int place(struct iso_volume *v, const struct dicom_series *s)
{
	const struct dicom_slice *first = &s->v[0];
	double step[3];
	int st = find_step(step, s);

	if (st) return st;
	v->dim[0] = first->columns;
	v->dim[1] = first->rows;
	v->dim[2] = s->n;
	for (int i = 0; i < 3; i++) {
		double sign = i < 2 ? -1 : 1;

		v->affine[i][0] = sign * first->orientation[i] * first->spacing[1] + 0.;
		v->affine[i][1] = sign * first->orientation[3 + i] * first->spacing[0] + 0.;
		v->affine[i][2] = sign * step[i] + 0.;
		v->affine[i][3] = sign * first->position[i] + 0.;
	}
	return ISO_OK;
}

/* Of a series with several tube voltages, none holds for all. */
static double voltage(const struct dicom_series *s)
{
	for (int64_t k = 1; k < s->n; k++)
		if (s->v[k].kvp != s->v[0].kvp) return 0;
	return s->v[0].kvp > 0 ? s->v[0].kvp : 0;
}

int dicom_order(struct iso_volume *v, int64_t *frames, struct dicom_series *s)
{
	int st;

	for (int64_t k = 1; k < s->n; k++) {
		if ((st = check_same(&s->v[0], &s->v[k]))) return st;
		/* 1e-3 of an angle is a millimetre at the end of a bed: one normal orders all */
		memcpy(s->v[k].orientation, s->v[0].orientation, sizeof s->v[k].orientation);
	}
	qsort(s->v, (size_t)s->n, sizeof *s->v, by_height);
	if ((st = order_frames(frames, s))) return st;
	const struct dicom_series first = { .n = s->n / *frames, .v = s->v };

	v->kvp = voltage(s);
	return place(v, &first);
}

static int read_series(struct iso_volume *v, struct dicom_series *s, const iso_ctx *ctx, const char *path,
                       bool values)
{
	int64_t frames;
	int st;

	if ((st = dicom_order(v, &frames, s)) || (st = iso_volume_room(v, ctx, path, s->n, values)))
		return st;
	for (int64_t k = 0; k < s->n; k++) {
		if ((st = iso_stop_check(ctx, path)) ||
		    (values && (st = dicom_values(v->v + k * v->dim[0] * v->dim[1], &s->v[k]))))
			return st;
		v->file[k] = s->v[k].path; /* now the volume's */
		s->v[k].path = NULL;
	}
	return ISO_OK;
}

int iso_dicom_volume(struct iso_volume *v, const iso_ctx *ctx, const char *path, bool values)
{
	struct dicom_series s = { 0 };
	int st = dicom_gather(&s, ctx, path, DICOM_CT);

	if (!st) st = read_series(v, &s, ctx, path, values);
	dicom_series_free(&s);
	return st;
}

int iso_dicom_place(struct iso_volume *v, const char *path)
{
	struct dicom_series s = { 0 };
	int64_t frames;
	int st = dicom_gather(&s, NULL, path, DICOM_CT | DICOM_PT);

	if (!st) st = dicom_order(v, &frames, &s);
	dicom_series_free(&s);
	return st;
}

bool iso_is_dicom(const char *path)
{
	struct stat info;

	if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return true;
	return iso_has_suffix(path, ".dcm") || dicom_marked(path);
}

bool iso_dicom_begins(const uint8_t *head, int64_t n)
{
	return n >= 132 && memcmp(head + 128, "DICM", 4) == 0;
}
