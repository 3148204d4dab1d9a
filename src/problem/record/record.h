/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a run: what was asked, from what, on what, how long, with what outcome. It is
   written as JSON beside each output, and 'like' repeats the run from it. */
#ifndef ISO_RECORD_H
#define ISO_RECORD_H

#include "file/hash.h"
#include "file/names.h"
#include "core/status.h"
#include "io/series.h"

#include <jansson.h>
#include <limits.h>

/* An array, events or a matrix in place of a file. */
struct given {
	struct given *next;
	char path[64];
	struct iso_array array;
	struct iso_events events;
	struct iso_strip_events strips;
	const iso_srm *srm; /* borrowed */
};

/* How ranks share a run. */
struct record_split {
	int ranks;         /* 1, or 0: nothing is shared */
	bool by_rows;      /* each has rows of its own; else each makes a part of every result */
	int64_t rows;      /* of all ranks */
	int64_t exchanged; /* bytes that an update makes them exchange */
	double computing_s, exchanging_s; /* of an update, about; 0: not said */
};

/* Which way the rows take to where they are computed, before the work. */
struct record_way {
	const char *name; /* one word; NULL: the model has one way alone */
	double pass_s;    /* expected, of a pass over all rows; 0: not said */
	char text[1024];  /* the same in words, and why */
};

/* How a run reads its inputs. */
struct record_reader {
	const struct iso_names *names; /* outputs, which no input may be; NULL: none */
	iso_ctx *ctx;                  /* whose limit of memory holds; NULL: what is free */
	bool dry_run;                  /* heads of arrays alone */
	int64_t inputs;                /* bytes of the arrays that record_read gave, or would give */
	const json_t *like;            /* the record that 'like' names, borrowed; NULL: none */
	const char *like_path;         /* its file */
	struct given *given;           /* what stands for files, the last first; record_free forgets it */
	struct known_hash *known;      /* of files that were hashed as they were read */
};

/* Whom a run tells of itself; NULL: nobody. */
struct record_listener {
	iso_live *live;
	bool lively; /* whoever listens likes to hear of every update */
	bool deaf;   /* news and details are shown to nobody */
	iso_message_fn message;
	void (*staged)(void *arg, const char *stage); /* which begins */
	/* the work is part k of n, from 1; `kind` ("frame") stays */
	void (*part)(void *arg, const char *kind, int64_t k, int64_t n);
	/* asked once, before the work takes memory; anything but ISO_OK ends the run. NULL: what does not
	   fit is refused */
	int (*plan)(void *arg, struct iso_plan *plan);
	void *arg;
};

struct record {
	json_t *root;      /* what is written */
	const char *stage; /* running now, or NULL */
	double stage_began_s;
	int64_t failures;          /* allocations of JSON that had failed before, in this thread */
	struct record_split split; /* known when the plan is */
	struct record_way way;     /* the same */
	struct record_reader read;
	struct record_listener to;
};

/* `verb` is what is run, `command` the command line, or NULL where there is none; both are copied. */
int record_begin(struct record *r, const char *verb, const char *command);
void record_free(struct record *r);

/* The run that it tells of begins now. */
int record_started(struct record *r);

/* Name, size and hash of a file that the run reads, and of those that belong to it: the other half
   of a raw array, the records of a CASToR or MSOT header. There are two hashes: of all of the file and of a sample.
   Above 1 GiB, and where several ranks read, the first is left out: reading all of the file once more would take
   as long as an iteration. ISO_EARG if it is an output. */
int record_input(struct record *r, const char *path);
int record_input_file(struct record *r, const char *path); /* that file alone, not what belongs to it */

/* The size of the file that holds the values (iso_kind_data); of a folder, that of the DICOM series in it. */
int record_bytes_of(int64_t *bytes, const char *path);

/* The hash of a file that was just read, for the record_input that follows: the file is not read again for
   it. One that was not made is none. */
void record_hashed(struct record *r, const struct iso_hash *h);
/* Takes that of the file, or with NULL any; false: none is known. */
bool record_hash_known(struct record *r, struct iso_hash *h, const char *path);
void record_hash_forget(struct record *r); /* those that no record_input asked for */

/* What came through a pipe can't be read again: size and hash of what was made of it. The context's request
   to stop ends it. */
int record_piped(struct record *r, const char *path, const void *v, int64_t bytes);

/* The same of several arrays, n of them, as if they lay one behind the other. */
struct record_array {
	const void *v;
	int64_t bytes;
};

int record_arrays(struct record *r, const char *path, int n, const struct record_array *a);

/* Ends the running stage and begins the next; `name` must stay. Stages of one name add up.
   NULL: only ends. */
void record_stage(struct record *r, const char *name);

/* Tells whoever listens; the record keeps warnings. */
void record_tell(struct record *r, enum iso_message_kind kind, const char *fmt, ...) ISO_PRINTF(3, 4);
#define record_warn(r, ...) record_tell(r, ISO_WARNING, __VA_ARGS__)

/* A warning of `part` of `whole` (events, lines of a file). Whoever listens hears it as any other; below
   RECORD_SMALL of the whole, which the numbers of a result hardly show, the record has it among its "notes". */
#define RECORD_SMALL 1e-3
void record_warn_share(struct record *r, double part, double whole, const char *fmt, ...) ISO_PRINTF(4, 5);

/* One that does not touch the result at all. */
#define record_note(r, ...) record_warn_share(r, 0, 1, __VA_ARGS__)

void record_part(struct record *r, const char *kind, int64_t k, int64_t n);

/* JSON of another file; *root stays where there is none or it is no JSON: a failure is want of memory.
   The second: of the record beside an output. */
int record_json(json_t **root, const char *path);
int record_sidecar(json_t **root, const char *path);

/* Whether a run has written that file: its record stands beside it. And ISO_EARG where a record can't be put there: a file
   that is none stands in its place, which may be the description that the run reads; or one that only `force` replaces. */
int record_stands(bool *stands, const char *path);
int record_check_place(const char *path, bool force);

/* record_ranks.c: what this process had read, exchanged and waited for when a run began; and, where there are several
   ranks, what each took since then, as "ranks" of the record. All ranks call it. */
struct record_since {
	double began_s, waiting_s;
	int64_t bytes_read, exchanged;
};
struct record_since record_since(const iso_ctx *ctx);
int record_ranks(struct record *r, iso_ctx *ctx, const struct record_since *since);
int64_t record_bytes_read(void); /* by calls of read, so far; 0: not known */

/* record_files.c. Stands from now on for the file of this name, to be filled; NULL without memory. */
struct given *record_give(struct record *r, const char *path);
const struct given *record_given(const struct record *r, const char *path); /* of zeros: nothing does */

/* A copy of an array; `device`: whose memory v is, or NULL. */
int record_copy(struct iso_array *to, const struct iso_array *from, iso_ctx *device);

/* The head of an array that record_read would take: v is NULL. */
int record_peek(const struct record *r, struct iso_array *head, const char *path, enum iso_values allowed);

/* iso_read within the limit of memory; in a dry run of the head alone: v is NULL then. `r` may be NULL. Where
   the format has no place for the unit, the unit comes from "Units" of the sidecar. */
int record_read(struct record *r, struct iso_array *a, const char *path, enum iso_values allowed);
int record_read_shared(struct record *r, struct iso_array *a, const char *path,
                       enum iso_values allowed); /* iso_read_shared */
int record_read_image(struct record *r, struct iso_array *a, const char *path, enum iso_values allowed,
                      const struct iso_grid *want); /* the same as iso_read_image */

/* An image without negative values on its own grid; one without a grid must fit `g`. */
int record_read_map(struct record *r, struct iso_array *a, const char *path, const struct iso_grid *g);

/* The same for a map of attenuation in 1/mm; and a warning of values that look like 1/cm. */
int record_read_mu(struct record *r, struct iso_array *a, const char *path, const struct iso_grid *g);
void record_warn_mu(struct record *r, const struct iso_array *a, const char *path);

/* 1/mm: at 511 keV dense bone has 0.02, titanium 0.04; water in 1/cm would be 0.096. */
#define RECORD_MU_LIKELY 0.05

/* Writes the array with the record as its sidecar, where the array's unit is "Units". `stop`: whose request
   to stop ends it; NULL: nobody's, because what was made would be lost. */
int record_write(struct record *r, const char *path, const struct iso_array *a, const iso_ctx *stop);
int record_write_series(struct record *r, const char *path, iso_series *s, const struct iso_array *shape,
                        iso_real *x, const iso_ctx *stop); /* iso_series_write */

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

/* In the record of an array: the hash of its values as floats, in their order; and the keys of a reconstruction, to which
   that of frame k adds 2 k. */
#define RECORD_HASH "xxh64_of_values"
#define RECORD_KEYS "keys"

int record_hash_values(char hex[17], int64_t n, const iso_real *v);
int record_add_key(struct record *r, uint64_t key); /* unless it is there */

/* Hash of the contents of all inputs and of the parameters, less those named in `without` (ends
   with NULL): two runs of one key compute the same. */
int record_key(const struct record *r, uint64_t *key, const char *const *without);

#endif
