/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a run: what was asked, from what, on what, how long, with what outcome. It is
   written as JSON beside each output, and --like repeats the run from it. */
#ifndef ISO_RECORD_H
#define ISO_RECORD_H

#include "file/names.h"
#include "cmd/term.h"

#include <jansson.h>

struct record {
	json_t *root;
	struct term *term;             /* for warnings */
	const struct iso_names *names; /* outputs, which no input may be; NULL: none */
	const char *stage;             /* running now, or NULL */
	double stage_began_s;
};

/* argv as main got it, with the command as argv[0]. */
int record_begin(struct record *r, struct term *term, int argc, char **argv);
void record_free(struct record *r);

/* Name, size and hash of a file that the run reads, and of those that belong to it: the other half
   of a raw array, the records of a CASToR or MSOT header. Above 4 GiB the hash is of a sample of the
   file: reading all of it once more would take as long as an iteration. ISO_EARG if it is an output. */
int record_input(struct record *r, const char *path);

/* What came through a pipe can't be read again: size and hash of what was made of it. */
int record_piped(struct record *r, const char *path, const void *v, int64_t bytes);

/* Ends the running stage and begins the next; `name` must stay. Stages of one name add up.
   NULL: only ends. */
void record_stage(struct record *r, const char *name);

/* Keeps a warning, and prints it unless --quiet. */
void record_warn(struct record *r, const char *fmt, ...) ISO_PRINTF(2, 3);

/* Both take over `value`, also when they fail; ISO_ENOMEM if it is NULL. The first sets a key of
   the record itself, the second one of its "results". */
int record_set(struct record *r, const char *key, json_t *value);
int record_result(struct record *r, const char *key, json_t *value);

/* A JSON string of any bytes, such as a file name: those that are no UTF-8 become '?'. */
json_t *record_string(const char *text);

/* Numbers, record_pack.c. JSON has none that is not finite, and jansson gives NULL for it; here null
   stands for it, so that no figure can make a record fail. */
json_t *record_real(double v);
json_t *record_reals(int n, const double *v); /* a list of them */

/* As json_pack, of { } [ ] and s i I b o, with such numbers for f. Objects of o are taken over, also
   when it fails. */
json_t *record_pack(const char *format, ...);

/* The most memory that the program has held so far. */
int64_t record_peak_bytes(void);

/* JSON text, to be freed. The running stage counts up to now, and goes on. */
int record_text(struct record *r, char **text);

/* Hash of the contents of all inputs and of the parameters, less those named in `without` (ends
   with NULL): two runs of one key compute the same. */
int record_key(const struct record *r, uint64_t *key, const char *const *without);

#endif
