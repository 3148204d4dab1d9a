/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files, by one thread at a time: the library's state is its process's. Every rank, size and
   type is checked before memory is taken, links lead nowhere else, and nothing is printed. */
#ifndef ISO_H5_H
#define ISO_H5_H

#include "file/apart.h"
#include "core/status.h"

#define H5_USE_110_API /* the oldest in use; later ones keep it */
#include <hdf5.h>

struct iso_h5 {
	const char *path; /* in messages */
	hid_t file;
	int64_t bytes;     /* of the file */
	const char *later; /* the file that iso_h5_close writes; NULL: `file` itself is written */
};

/* Keeps other threads out until iso_h5_close, which must follow also where this fails. */
int iso_h5_open(struct iso_h5 *h, const char *path);
int iso_h5_create(struct iso_h5 *h, const char *temp, const char *path);
/* The same of a small file: in memory until it is closed, so that `temp` may be one without a name. */
int iso_h5_create_in_memory(struct iso_h5 *h, const char *temp, const char *path);
int iso_h5_close(struct iso_h5 *h); /* ISO_EIO if what was written can't be kept */

/* "PATH: ..." with the code given, or ISO_ENOMEM where the library ran out of memory. */
int iso_h5_fail(const struct iso_h5 *h, int code, const char *fmt, ...) ISO_PRINTF(3, 4);

/* Around a fork, so that no thread is in the library meanwhile; the child calls the last. */
void iso_h5_lock(void);
void iso_h5_unlock(void);
void iso_h5_alone(void);

/* ---- reading; a field that is absent, empty or the text "None" is not there ---- */

enum { ISO_H5_RANK = 4 };

/* A dataset: id is negative where it is not there; close with iso_h5_release. */
struct iso_h5_set {
	hid_t id;
	bool text; /* one string; else numbers */
	int rank;
	int64_t dim[ISO_H5_RANK], n;
};

int iso_h5_find(struct iso_h5_set *s, const struct iso_h5 *h, const char *name);
int iso_h5_find_any(struct iso_h5_set *s, const struct iso_h5 *h, const char *name); /* of any type */
void iso_h5_release(struct iso_h5_set *s);

/* As many numbers as there are, at most `most`; *n = 0: not there. */
int iso_h5_reals(double *v, int64_t *n, int64_t most, const struct iso_h5 *h, const char *name);

/* Exactly n numbers, or *there = false. */
int iso_h5_some(double *v, bool *there, int64_t n, const struct iso_h5 *h, const char *name);

/* "" where it is not there; longer ones are cut. */
int iso_h5_text(char *text, size_t size, const struct iso_h5 *h, const char *name);

/* Calls `each` with the names of a group's members, until it returns something else than 0: in the
   order in which they were made, where the file tracks it (*made), else in that of their names. */
int iso_h5_members(const struct iso_h5 *h, bool *made, const char *group,
                   int (*each)(void *arg, const char *name), void *arg);

/* ISO_EINPUT if the dataset is stored in chunks, each of which is unpacked as a whole, that are larger
   than 32 MiB and than `most` bytes. Whatever is read below is checked so, with 0. */
int iso_h5_chunk(const struct iso_h5 *h, const struct iso_h5_set *s, const char *name, int64_t most);

/* ISO_EINPUT unless the file can hold the values of the dataset. */
int iso_h5_expect(const struct iso_h5 *h, const struct iso_h5_set *s, const char *name);

/* ---- writing ---- */

int iso_h5_group(const struct iso_h5 *h, const char *name);
hid_t iso_h5_set_list(void); /* how datasets are made, to be closed; negative: no memory */
/* n < 0: a single value, without axes. */
int iso_h5_put_reals(const struct iso_h5 *h, const char *name, int64_t n, const double *v);
/* A matrix, row by row. */
int iso_h5_put_rows(const struct iso_h5 *h, const char *name, int64_t rows, int64_t columns, const double *v);
int iso_h5_put_floats(const struct iso_h5 *h, const char *name, int64_t rows, int64_t columns,
                      const float *v);
int iso_h5_put_integers(const struct iso_h5 *h, const char *name, int64_t n, const int64_t *v);
int iso_h5_put_text(const struct iso_h5 *h, const char *name, const char *text);

/* ---- names of the IPASC format that its reader and its writer share; SI units ---- */

#define IPASC_DATA "/binary_time_series_data" /* (detectors, samples, wavelengths, measurements) */
#define IPASC_META "/meta_data/"
#define IPASC_DEVICE "/meta_data_device/"
#define IPASC_FIELD IPASC_DEVICE "general/field_of_view"
#define IPASC_DETECTORS IPASC_DEVICE "detectors"

#endif
