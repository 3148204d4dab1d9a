/* SPDX-License-Identifier: BSD-3-Clause */
/* A CT series in DICOM as a volume: its files, found in a folder under whatever names, put in the order of their
   places. The volume may be oblique, and sheared by a tilted gantry. */
#include "dicom.h"
#include "core/size.h"
#include "core/status.h"
#include "file/out.h"
#include "file/suffix.h"
#include "io/volume.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DIRECTORY "1.2.840.10008.1.3.10" /* class of the file that lists the others of a medium */

struct series {
	int64_t n, room;
	struct dicom_slice *v;
};

static void series_free(struct series *s)
{
	for (int64_t i = 0; i < s->n; i++) free(s->v[i].path);
	free(s->v);
}

/* Takes over nothing: the slice's path is copied. */
static int series_add(struct series *s, const struct dicom_slice *slice)
{
	if (s->n == s->room) {
		int64_t room = 2 * s->room + 64, bytes = room * (int64_t)sizeof *s->v;
		struct dicom_slice *v = realloc(s->v, (size_t)bytes);

		if (!v) return iso_fail_memory(slice->path, bytes);
		s->v = v;
		s->room = room;
	}
	s->v[s->n] = *slice;
	if (!(s->v[s->n].path = strdup(slice->path))) return iso_fail_memory(slice->path, PATH_MAX);
	s->n++;
	return ISO_OK;
}

/* ---- the files of a folder ---- */

struct names {
	int64_t n, room;
	char **v;
};

static int by_letters(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int names_add(struct names *s, const char *name)
{
	if (s->n == s->room) {
		int64_t room = 2 * s->room + 64;
		char **v = realloc(s->v, (size_t)room * sizeof *v);

		if (!v) return iso_fail_memory("names of files", room * (int64_t)sizeof *v);
		s->v = v;
		s->room = room;
	}
	if (!(s->v[s->n] = strdup(name))) return iso_fail_memory("names of files", PATH_MAX);
	s->n++;
	return ISO_OK;
}

static void names_free(struct names *s)
{
	for (int64_t i = 0; i < s->n; i++) free(s->v[i]);
	free(s->v);
}

/* By letters, so that one folder always gives one message. */
static int names_read(struct names *s, const char *folder)
{
	DIR *d = opendir(folder);
	int st = ISO_OK;

	if (!d && errno == ENOMEM) return iso_fail_memory(folder, sizeof(struct dirent));
	if (!d) return iso_refuse(folder, "%s", strerror(errno));
	for (struct dirent *e; !st && (e = readdir(d));) st = names_add(s, e->d_name);
	closedir(d);
	if (s->n > 0) qsort(s->v, (size_t)s->n, sizeof *s->v, by_letters);
	return st;
}

/* ---- files that should belong to it ---- */

/* Whether two names differ in their numbers alone: IM-0001-0007 and IM-0001-0012. */
static bool numbered_alike(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	while (*a && *b) {
		size_t n = strspn(a, digits), m = strspn(b, digits);

		if ((n > 0) != (m > 0) || (n == 0 && *a != *b)) return false;
		a += n > 0 ? n : 1;
		b += m > 0 ? m : 1;
	}
	return *a == *b;
}

/* ".dcm" of a name; "" where there is none, or a number, as of a name that is an identifier. */
static const char *ending(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot[1] && strspn(dot + 1, "0123456789") < strlen(dot + 1) ? dot : "";
}

/* Names with a dot in front are the system's (._IM0001.dcm). */
static bool named_alike(const char *a, const char *b)
{
	if (a[0] == '.') return false;
	return numbered_alike(a, b) || (*ending(a) && iso_same_word(ending(a), ending(b)));
}

/* One that has not the mark of DICOM: a slice that was cut or never copied must not be missed in silence. */
static int check_odd(const struct series *s, const char *path)
{
	const char *name = iso_base_name(path);
	struct stat info;
	int64_t k = 0;

	while (k < s->n && !named_alike(name, iso_base_name(s->v[k].path))) k++;
	if (k == s->n) return ISO_OK;
	if (stat(path, &info) != 0) return iso_refuse(path, "%s", strerror(errno));
	if (info.st_size == 0)
		return iso_refuse(path,
		                  "empty, and named as the slices beside it are: copy it again, or move it "
		                  "out of the folder");
	return iso_refuse(path,
	                  "no DICOM file (%" PRId64
	                  " bytes), and named as the slices beside it are: copy it again, or move "
	                  "it out of the folder",
	                  (int64_t)info.st_size);
}

/* ---- which of them belong to it ---- */

static int several(const struct dicom_slice *a, const struct dicom_slice *b)
{
	return iso_fail(ISO_EINPUT, "%s and %s are of two CT series; name one file of the one that is wanted",
	                a->path, b->path);
}

/* A file of the folder: `series`, or with "" the one CT series that is there. *other: what else was seen. *odd: files
   that are no DICOM. */
static int take_file(struct series *s, const char *path, const char *series, char other[DICOM_TEXT],
                     struct names *odd)
{
	struct dicom_slice slice = { 0 };
	struct stat info;
	int st;

	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return ISO_OK;
	if (!dicom_marked(path)) return names_add(odd, path);
	if ((st = dicom_head(&slice, path))) return st;
	slice.path = (char *)path;
	if (strcmp(slice.class, DIRECTORY) == 0) return ISO_OK;
	if (!slice.modality[0] || !slice.series[0]) return dicom_complete(&slice);
	if (series[0] ? strcmp(slice.series, series) != 0 : strcmp(slice.modality, "CT") != 0) {
		memcpy(other, slice.modality, DICOM_TEXT);
		return ISO_OK;
	}
	if (s->n > 0 && strcmp(slice.series, s->v[0].series) != 0) return several(&s->v[0], &slice);
	return (st = dicom_complete(&slice)) ? st : series_add(s, &slice);
}

static int gather(struct series *s, const iso_ctx *ctx, const char *folder, const char *series)
{
	const char *slash = folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "";
	char path[PATH_MAX], other[DICOM_TEXT] = "";
	struct names names = { 0 }, odd = { 0 };
	int st = names_read(&names, folder[0] ? folder : ".");

	for (int64_t i = 0; i < names.n && !st && !(st = iso_stop_check(ctx, folder)); i++)
		st = snprintf(path, sizeof path, "%s%s%s", folder, slash, names.v[i]) < (int)sizeof path
		             ? take_file(s, path, series, other, &odd)
		             : iso_refuse(names.v[i], "its name is too long");
	for (int64_t i = 0; i < odd.n && !st; i++) st = check_odd(s, odd.v[i]);
	names_free(&names);
	names_free(&odd);
	if (!st && s->n == 0)
		st = iso_refuse(folder, "no CT in this folder%s%s%s; a series of DICOM files was expected",
		                other[0] ? ", modality " : "", other, other[0] ? " is there" : "");
	return st;
}

/* The series in a folder, or the one that a file is of, with those of its folder. */
static int find_series(struct series *s, const iso_ctx *ctx, const char *path)
{
	struct dicom_slice first = { 0 };
	char folder[PATH_MAX];
	struct stat info;
	int st;

	if (stat(path, &info) != 0) return iso_refuse(path, "%s", strerror(errno));
	if (S_ISDIR(info.st_mode)) return gather(s, ctx, path, "");
	if ((st = dicom_head(&first, path))) return st;
	first.path = (char *)path;
	if ((st = dicom_complete(&first))) return st;
	size_t length = (size_t)(iso_base_name(path) - path);

	if (length >= sizeof folder) return iso_refuse(path, "its name is too long");
	memcpy(folder, path, length);
	folder[length] = '\0';
	return gather(s, ctx, folder, first.series);
}

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
static int check_steps(const struct series *s)
{
	double least = INFINITY;

	for (int64_t k = 1; k < s->n; k++) {
		double step = height(&s->v[k]) - height(&s->v[k - 1]);

		if (step < 1e-3)
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
static int find_step(double step[3], const struct series *s)
{
	const struct dicom_slice *first = &s->v[0], *last = &s->v[s->n - 1];
	double n[3], length = 0;
	int st;

	normal(n, first);
	if (s->n == 1) {
		if (!(first->thickness > 0 && first->thickness < 1e3))
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
static int place(struct iso_volume *v, const struct series *s)
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
static double voltage(const struct series *s)
{
	for (int64_t k = 1; k < s->n; k++)
		if (s->v[k].kvp != s->v[0].kvp) return 0;
	return s->v[0].kvp > 0 ? s->v[0].kvp : 0;
}

static int read_series(struct iso_volume *v, struct series *s, const iso_ctx *ctx, const char *path,
                       bool values)
{
	int st;

	for (int64_t k = 1; k < s->n; k++) {
		if ((st = check_same(&s->v[0], &s->v[k]))) return st;
		/* 1e-3 of an angle is a millimetre at the end of a bed: one normal orders all */
		memcpy(s->v[k].orientation, s->v[0].orientation, sizeof s->v[k].orientation);
	}
	qsort(s->v, (size_t)s->n, sizeof *s->v, by_height);
	if ((st = place(v, s)) || (st = iso_volume_room(v, ctx, path, s->n, values))) return st;
	v->kvp = voltage(s);
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
	struct series s = { 0 };
	int st = find_series(&s, ctx, path);

	if (!st) st = read_series(v, &s, ctx, path, values);
	series_free(&s);
	return st;
}

int iso_dicom_place(struct iso_volume *v, const char *path)
{
	struct iso_volume r = { 0 };
	int st = iso_dicom_volume(&r, NULL, path, false);

	memcpy(v->dim, r.dim, sizeof v->dim);
	memcpy(v->affine, r.affine, sizeof v->affine);
	iso_volume_free(&r);
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
