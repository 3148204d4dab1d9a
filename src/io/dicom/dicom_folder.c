/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a DICOM series, found in a folder under whatever names. */
#include "dicom.h"
#include "core/status.h"
#include "file/out.h"
#include "file/suffix.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DIRECTORY "1.2.840.10008.1.3.10" /* class of the file that lists the others of a medium */

void dicom_series_free(struct dicom_series *s)
{
	for (int64_t i = 0; i < s->n; i++) free(s->v[i].path);
	free(s->v);
	*s = (struct dicom_series){ 0 };
}

/* Takes over nothing: the slice's path is copied. */
static int series_add(struct dicom_series *s, const struct dicom_slice *slice)
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

/* One that has not the mark of DICOM: a slice that was cut or never copied must not be missed in silence. Where a file of
   the series was named, only names that differ in their numbers tell of such a slice. */
static int check_odd(const struct dicom_series *s, const char *path, bool named)
{
	const char *name = iso_base_name(path);
	struct stat info;
	int64_t k = 0;

	while (k < s->n && !(named ? numbered_alike : named_alike)(name, iso_base_name(s->v[k].path))) k++;
	if (k == s->n) return ISO_OK;
	if (stat(path, &info) != 0) return iso_refuse(path, "%s", strerror(errno));
	if (info.st_size == 0)
		return iso_refuse(path, "empty, and named as the slices beside it are: copy it again, or "
		                        "move it out of the folder");
	return iso_refuse(
		path,
		"no DICOM file (%" PRId64
		" bytes), and named as the slices beside it are: copy it again, or move it out of the folder",
		(int64_t)info.st_size);
}

/* ---- which of them belong to it ---- */

/* What a folder is searched for, and what else was seen. */
struct search {
	enum dicom_want want;
	char series[DICOM_TEXT]; /* that of the file that was named; "": the one of the wanted modality */
	const char *name;        /* of that file, without its folder */
	char other[DICOM_TEXT];  /* a modality that is not wanted */
	struct names odd;        /* files that are no DICOM */
	struct dicom_series *found;
};

/* A DICOM file that can't be read up to its values. Where a file of the series was named, those of other series are
   passed over, and those that do not say their series unless their name is that of the named file but for numbers (st: why it can't). */
static int take_damaged(struct search *s, const struct dicom_slice *slice, int st)
{
	if (!s->series[0] || st == ISO_ENOMEM || st == ISO_ECANCEL) return st;
	if (slice->series[0]) return strcmp(slice->series, s->series) == 0 ? st : ISO_OK;
	return numbered_alike(iso_base_name(slice->path), s->name) ? st : ISO_OK;
}

static int take_file(struct search *s, const char *path)
{
	struct dicom_slice slice = { 0 };
	struct stat info;
	int st;

	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return ISO_OK;
	if (!dicom_marked(path)) return names_add(&s->odd, path);
	st = dicom_head(&slice, path);
	slice.path = (char *)path;
	if (st) return take_damaged(s, &slice, st);
	if (strcmp(slice.class, DIRECTORY) == 0) return ISO_OK;
	if (!slice.modality[0] || !slice.series[0])
		return take_damaged(s, &slice, dicom_complete(&slice, s->want));
	if (s->series[0] ? strcmp(slice.series, s->series) != 0 : !dicom_wanted(&slice, s->want)) {
		memcpy(s->other, slice.modality, DICOM_TEXT);
		return ISO_OK;
	}
	/* of a folder with several series, files of one that is not read may be damaged: which is for check_one to tell */
	return s->series[0] && (st = dicom_complete(&slice, s->want)) ? st : series_add(s->found, &slice);
}

/* ---- several series ---- */

/* Whether slice i is the first of its series. */
static bool begins(const struct dicom_series *s, int64_t i)
{
	for (int64_t k = 0; k < i; k++)
		if (strcmp(s->v[k].series, s->v[i].series) == 0) return false;
	return true;
}

/* "CT 'Thorax' (120 files, CT0001.dcm)" for each series, as far as there is room. */
static int refuse_several(const struct dicom_series *s, const char *folder)
{
	char list[640] = "";
	int n = 0;

	for (int64_t i = 0; i < s->n; i++) {
		const struct dicom_slice *v = &s->v[i];
		size_t used = strlen(list);
		int64_t files = 0;

		if (!begins(s, i)) continue;
		n++;
		for (int64_t k = i; k < s->n; k++) files += strcmp(s->v[k].series, v->series) == 0;
		iso_snprintf(list + used, sizeof list - used, "%s%s%s%s%s (%" PRId64 " files, %s)",
		             used ? ", " : "", v->modality, v->description[0] ? " '" : "", v->description,
		             v->description[0] ? "'" : "", files, iso_base_name(v->path));
	}
	return iso_refuse(folder, "%d series: %s; name one file of the series that is wanted", n, list);
}

static int check_one(const struct search *s, const char *folder)
{
	const struct dicom_series *f = s->found;
	int st = ISO_OK;

	for (int64_t i = 1; i < f->n; i++)
		if (strcmp(f->v[i].series, f->v[0].series) != 0) return refuse_several(f, folder);
	for (int64_t i = 0; i < f->n && !st; i++) st = dicom_complete(&f->v[i], s->want);
	return st;
}

/* ---- the folder ---- */

static int refuse_none(const struct search *s, const char *folder)
{
	static const char *const words[] = {
		[DICOM_CT] = "CT", [DICOM_PT] = "PET", [DICOM_CT | DICOM_PT] = "CT or PET"
	};

	return iso_refuse(folder, "no %s in this folder%s%s%s; a series of DICOM files was expected",
	                  words[s->want], s->other[0] ? ", modality " : "", s->other,
	                  s->other[0] ? " is there" : "");
}

static int search_folder(struct search *s, const iso_ctx *ctx, const char *folder)
{
	const char *slash = folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "";
	char path[PATH_MAX];
	struct names names = { 0 };
	int st = names_read(&names, folder[0] ? folder : ".");

	for (int64_t i = 0; i < names.n && !st && !(st = iso_stop_check(ctx, folder)); i++)
		st = snprintf(path, sizeof path, "%s%s%s", folder, slash, names.v[i]) < (int)sizeof path
		             ? take_file(s, path)
		             : iso_refuse(names.v[i], "its name is too long");
	for (int64_t i = 0; i < s->odd.n && !st; i++) st = check_odd(s->found, s->odd.v[i], s->series[0]);
	names_free(&names);
	names_free(&s->odd);
	if (!st && s->found->n == 0) st = refuse_none(s, folder);
	return st ? st : check_one(s, folder);
}

int dicom_gather(struct dicom_series *s, const iso_ctx *ctx, const char *path, enum dicom_want want)
{
	struct search search = { .want = want, .found = s };
	struct dicom_slice first = { 0 };
	char folder[PATH_MAX];
	struct stat info;
	int st;

	if (stat(path, &info) != 0) return iso_refuse(path, "%s", strerror(errno));
	if (S_ISDIR(info.st_mode)) return search_folder(&search, ctx, path);
	if ((st = dicom_head(&first, path))) return st;
	first.path = (char *)path;
	if ((st = dicom_complete(&first, want))) return st;
	size_t length = (size_t)(iso_base_name(path) - path);

	if (length >= sizeof folder) return iso_refuse(path, "its name is too long");
	memcpy(folder, path, length);
	folder[length] = '\0';
	memcpy(search.series, first.series, DICOM_TEXT);
	search.name = iso_base_name(path);
	return search_folder(&search, ctx, folder);
}
