/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file format of arrays is: a suffix, a reader, a writer. array.c holds the table. */
#ifndef ISO_FORMAT_H
#define ISO_FORMAT_H

#include "core/names.h"
#include "core/out.h"
#include "core/suffix.h"

struct iso_format {
	const char *suffix;
	bool gzip;		/* the output is packed */
	int64_t axis_most;	/* longest axis it can hold; 0: any */
	int (*read)(struct iso_array *a, const char *path);
	int (*write)(struct iso_out *o, const struct iso_array *a);	/* NULL: only read */
	/* The sidecar that the format needs, made from the caller's (JSON, or NULL); free *text.
	   NULL: the caller's as it is. */
	int (*sidecar)(char **text, const char *path, const struct iso_array *a,
		       const char *sidecar);
};

int iso_npy_read(struct iso_array *a, const char *path);
int iso_npy_write(struct iso_out *o, const struct iso_array *a);

#define ISO_NII_AXIS_MOST 32767	/* NIfTI-1 sizes are int16 */

int iso_nii_read(struct iso_array *a, const char *path);
int iso_nii_gz_read(struct iso_array *a, const char *path);
int iso_nii_write(struct iso_out *o, const struct iso_array *a);

int iso_raw_read(struct iso_array *a, const char *path);
int iso_raw_json_read(struct iso_array *a, const char *path);
int iso_raw_write(struct iso_out *o, const struct iso_array *a);
int iso_raw_sidecar(char **text, const char *path, const struct iso_array *a,
		    const char *sidecar);

/* iso_array_create, with `who` in its messages. */
int iso_array_create_for(struct iso_array *a, const char *who, int n_dim, const int64_t *dim);

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

#endif
