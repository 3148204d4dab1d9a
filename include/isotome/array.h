/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in host memory, and the files that hold them.

   Threads: any number of files at a time; an array that a function writes belongs to one thread. */
#ifndef ISOTOME_ARRAY_H
#define ISOTOME_ARRAY_H

#include "isotome/context.h"
#include "isotome/grid.h"

ISO_BEGIN_C

/* An array in host memory, with the grid it lives on if the file says so. */
struct iso_array {
	int n_dim;
	int64_t dim[8]; /* slowest first: (nz, ny, nx) */
	int64_t n;      /* product of dim */
	iso_real *v;
	bool has_grid;
	bool pairs;           /* values are complex: the last axis has size 2 */
	struct iso_grid grid; /* meaningful if has_grid */
	char unit[32];        /* "" if not known */
};

/* Memory for the values, and its end; free accepts an array of zeros, and leaves one. */
ISO_CHECKED int iso_array_create(struct iso_array *a, int n_dim, const int64_t *dim); /* zeroed */
ISO_CHECKED int iso_array_on_grid(struct iso_array *a, const struct iso_grid *g);     /* zeroed image */
void iso_array_free(struct iso_array *a);

/* Statistics of the finite values. Without finite values the mean is NaN, and min and max are infinite. */
struct iso_array_stats {
	size_t size; /* size of this struct, set by the caller */
	double min, max, mean, sum;
	int64_t nan, infinite, negative, zero; /* how many */
};

/* Of all values of the array. */
ISO_CHECKED int iso_array_stats(struct iso_array_stats *s, const struct iso_array *a);

/* Values that a reader refuses, each with the position of the first. */
enum iso_values {
	ISO_FINITE = 0,      /* NaN and infinity are refused */
	ISO_NONNEGATIVE = 1, /* and negative values: counts, sensitivity, mu, normalisation */
	ISO_ANY = 2,         /* nothing is refused */
	ISO_PAIRS = 4,       /* added to one of them: complex numbers are taken, as pairs */
	ISO_OBLIQUE = 8,     /* added: an oblique image is taken too, its own axes as the grid's */
};

/* By suffix: .npy, .nii, .nii.gz, .raw (described by FILE.raw.json) or that .json itself. */
ISO_CHECKED int iso_read(struct iso_array *a, const char *path, enum iso_values allowed);

/* The same of its head alone: sizes, grid and unit; v is NULL. Complex numbers are refused. */
ISO_CHECKED int iso_peek(struct iso_array *a, const char *path);

/* iso_read, if its values fit: ISO_ENOMEM of iso_memory_check before any memory is taken. The context's request
   to stop ends it. */
ISO_CHECKED int iso_read_within(struct iso_array *a, const iso_ctx *ctx, const char *path,
                                enum iso_values allowed);

/* An image that must fit `want` (NULL: any grid); another is refused by its head. A file without a
   grid, such as .npy, is taken to lie on `want` if the sizes agree. */
ISO_CHECKED int iso_read_image(struct iso_array *a, const char *path, enum iso_values allowed,
                               const struct iso_grid *want);

/* The file appears whole or not at all. An existing file is replaced. `sidecar` is the JSON text for the file
   beside it (iso_sidecar_path), or NULL. Both files change at once, or neither does. If the process is killed
   meanwhile, the next call that reads or writes a file of this folder finishes the work. */
ISO_CHECKED int iso_write(const char *path, const struct iso_array *a, const char *sidecar);

/* Where the sidecar of an output goes: x.nii(.gz) -> x.json, a folder x/ -> x.dcm.json, all others FILE.json. */
ISO_CHECKED int iso_sidecar_path(char *out, size_t size, const char *path);

/* Before hours of work: ISO_EARG if `path` exists (unless `force`) or has no known suffix for an
   array, ISO_EIO if its folder can't be written. */
ISO_CHECKED int iso_write_check(const char *path, bool force);

/* The same for what the format can hold: ISO_EARG if an axis of the grid is too long for it. */
ISO_CHECKED int iso_write_check_grid(const char *path, const struct iso_grid *g);
ISO_CHECKED int iso_write_check_series(const char *path, int64_t n); /* n images, as axis 0 */

ISO_END_C
#endif
