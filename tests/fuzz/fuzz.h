/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets share: the input as a file that a reader can open, and what must hold
   whatever the file holds. */
#ifndef FUZZ_H
#define FUZZ_H

#include "isotome.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The entry point of libFuzzer; replay.c calls it too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert: a build without it would find nothing. */
#define MUST(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

#define FUZZ_PATH 1024

static char fuzz_folder[FUZZ_PATH];

static inline void fuzz_leave(void)
{
	DIR *folder = opendir(fuzz_folder);

	for (struct dirent *e; folder && (e = readdir(folder));) unlinkat(dirfd(folder), e->d_name, 0);
	if (folder) closedir(folder);
	rmdir(fuzz_folder);
}

/* Every process has its own, in TMPDIR, which should lie in memory. */
static inline void fuzz_enter(void)
{
	const char *folder = getenv("TMPDIR");

	if (fuzz_folder[0]) return;
	snprintf(fuzz_folder, sizeof fuzz_folder, "%s/isotome-fuzz-XXXXXX", folder ? folder : "/tmp");
	MUST(mkdtemp(fuzz_folder));
	atexit(fuzz_leave);
}

/* Writes a file of that name; the path is valid until the next call. */
static inline const char *fuzz_file(const char *name, const void *data, size_t size)
{
	static char path[FUZZ_PATH + 16];
	FILE *f;

	fuzz_enter();
	snprintf(path, sizeof path, "%s/%s", fuzz_folder, name);
	f = fopen(path, "wb");
	MUST(f);
	setvbuf(f, NULL, _IONBF, 0);
	MUST(fwrite(data, 1, size, f) == size);
	MUST(fclose(f) == 0);
	return path;
}

/* A bad file is the input's fault, and is told in one line. */
static inline void fuzz_status(int st)
{
	MUST(st == ISO_OK || st == ISO_EINPUT || st == ISO_ENOMEM);
	MUST(st == ISO_OK || (iso_message()[0] && !strpbrk(iso_message(), "\n\r\033")));
}

static inline void fuzz_array(const struct iso_array *a)
{
	int64_t n = 1;

	MUST(a->n_dim >= 1 && a->n_dim <= 8 && a->v);
	for (int i = 0; i < a->n_dim; i++) n *= a->dim[i];
	MUST(n == a->n && n > 0);
	for (int64_t i = 0; i < n; i++) MUST(isfinite(a->v[i]));
	MUST(!a->has_grid || iso_grid_check(&a->grid) == ISO_OK);
	MUST(memchr(a->unit, 0, sizeof a->unit));
}

/* An array by its suffix. */
static inline void fuzz_read(const char *path)
{
	struct iso_array a = { 0 };
	int st = iso_read(&a, path, ISO_FINITE);

	fuzz_status(st);
	if (!st) fuzz_array(&a);
	iso_array_free(&a);
}

#endif
