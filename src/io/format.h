/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file format of arrays is: a reader, a writer. kinds.c holds the table. */
#ifndef ISO_FORMAT_H
#define ISO_FORMAT_H

#include "data/arrays.h"
#include "file/element.h"
#include "file/names.h"
#include "file/out.h"
#include "file/suffix.h"

#include <limits.h>

/* The file of an array: where its values are. */
struct iso_stored {
	char data[PATH_MAX]; /* its name, where it is another than the one given */
	struct iso_in in;
	struct iso_layout layout;
	int64_t skip; /* bytes up to the first */
	bool scaled;  /* value = slope * stored + inter */
	double slope, inter;
	bool oblique; /* what the caller takes: an oblique image as well, on its own axes */
	void *own;    /* what a format with `fill` keeps of its files, freed by `release` */
	void (*release)(void *own);
};

struct iso_format {
	bool gzip;         /* the output is packed */
	bool ranged;       /* `lead` needs the range */
	int64_t axis_most; /* longest axis it can hold; 0: any */
	/* Suffix of the file beside it that holds the elements of its one image, the last element first: then `lead`
	   writes all of the file itself. NULL: elements follow the lead. */
	const char *values;
	bool mu_per_cm; /* a map of attenuation is in 1/cm, unless it says 1/mm */
	/* Opens s->in, which the caller closes, and makes an array with all but values. `pairs`: takes complex
	   numbers too, if it knows any. */
	int (*open)(struct iso_array *a, struct iso_stored *s, const char *path, bool pairs);
	/* All values into a->v, where they do not lie in one file by s->layout; NULL: they do. */
	int (*fill)(struct iso_array *a, struct iso_stored *s, const iso_ctx *ctx, const char *path);
	/* Writes what stands before the elements of an array of these sizes (it has none yet) whose
	   least and greatest are range[0], range[1]; NULL: the format is only read */
	int (*lead)(struct iso_out *o, const struct iso_array *a, const iso_real range[2]);
	/* The sidecar that the format needs, made from the caller's (JSON, or NULL); free *text.
	   NULL: the caller's as it is. */
	int (*sidecar)(char **text, const char *path, const struct iso_array *a, const char *sidecar);
};

/* An array written in pieces, from its first element to its last. All zero: nothing open. */
struct iso_writer {
	const struct iso_format *format;
	struct iso_out o;    /* of the elements */
	struct iso_out head; /* of a format with a file of values; else not open */
	struct iso_array a;  /* sizes, grid and unit, without elements */
	int64_t left;        /* elements to come */
};

/* `shape`: its elements are not looked at. `range`: the least and the greatest of all to come. */
int iso_writer_open(struct iso_writer *w, const char *path, const struct iso_array *shape,
                    const iso_real range[2]);
int iso_writer_put(struct iso_writer *w, int64_t n, const iso_real *v);

/* Once all elements are there: the file gets its name, beside its sidecar (JSON, or NULL). */
int iso_writer_finish(struct iso_writer *w, const char *sidecar);
void iso_writer_free(struct iso_writer *w); /* what is not finished leaves no file */

/* The file of values beside an output; "": its format has none. */
int iso_format_values(char out[PATH_MAX], const char *path);

/* range[0], range[1] = the least and the greatest of n >= 1 values; `more`: and of what they were. */
void iso_range(iso_real range[2], int64_t n, const iso_real *v, bool more);

/* iso_write, which the context's request to stop ends. */
int iso_write_on(const iso_ctx *ctx, const char *path, const struct iso_array *a, const char *sidecar);

/* ISO_EINPUT, with the first, if a value is none that is allowed. */
int iso_values_check(const struct iso_array *a, const char *path, enum iso_values allowed);

/* iso_read_within by all ranks at once (core/comm.h): where values lie in the array's order and unpacked (.npy, raw,
   .nii) each rank reads its share of the file alone; of others, every rank all. */
int iso_read_shared(struct iso_array *a, iso_ctx *ctx, const char *path, enum iso_values allowed);

/* iso_peek of what iso_read would take. */
int iso_peek_as(struct iso_array *a, const char *path, enum iso_values allowed);

/* What iso_read_image asks of an array, values or not: to lie on `want`, or on a grid of its own. */
int iso_image_fit(struct iso_array *a, const char *path, const struct iso_grid *want);

/* Whether a path is that of a folder: one is there, or it ends with a slash. */
bool iso_names_folder(const char *path);

/* The part of iso_write_check that is the same for every kind of file. */
int iso_target_check(const char *path, bool force);

/* The names of an output and of all files that are written with it: its record, and what stands beside
   a .Cdh. `what`: as iso_names_add has it. */
int iso_target_names(struct iso_names *s, const char *path, const char *what);

/* A failure if no file of that name can be made. */
int iso_target_try(const char *path);

/* Closes `o`, writes the sidecar (NULL: none) and puts both in their places, or none. */
int iso_target_finish(struct iso_out *o, const char *sidecar);

/* The same for several files of one output; the sidecar is that of the first. */
int iso_target_finish_all(int n, struct iso_out *const *out, const char *sidecar);

/* Pixels as a PNG file in memory; free(*bytes). */
int iso_png_encode(void **bytes, size_t *n, const struct iso_pixels *p);

#endif
