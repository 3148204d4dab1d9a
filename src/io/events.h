/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file format of events is: how its records are read and written. kinds.c holds the table. */
#ifndef ISO_IO_EVENTS_H
#define ISO_IO_EVENTS_H

#include "base/constants.h"
#include "data/arrays.h"
#include "file/hash.h"
#include "file/out.h"

#include "isotome/motion.h"

#include <limits.h>
#include <string.h>

#define ISO_MM_PER_PS (ISO_C_MM_PER_PS / 2) /* along the line, for a difference of times */

/* The bits of |v|, which are in the order of its values: those of what is not finite are EVENT_INFINITE or more.
   Counting events so takes no branches that depend on them. */
#define EVENT_INFINITE 0x7f800000u
#define EVENT_SIZE 0x7fffffffu

static inline uint32_t event_size(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof bits);
	return bits & EVENT_SIZE;
}

enum { ISO_EVENT_BUFFER = 1 << 18 }; /* bytes of records between two system calls */

struct iso_event_file {
	const struct iso_event_format *format;
	char *path; /* of the records, for messages */
	int fd;
	int64_t size;          /* bytes, when it was opened */
	int64_t first, record; /* bytes: before the first record, and of each */
	int64_t per_record;    /* events of a record: the TOF bins of a histogram, or 1 */
	struct iso_events_info info;
	bool swap_dt;
	const iso_ctx *ctx; /* whose threads read, and whose request to stop ends it; NULL: one thread */
	int64_t left_out;   /* coincidences, by trues_only */
	const iso_scanner *scanner; /* of crystal numbers: the caller's, or `own`; NULL: none */
	iso_scanner *own;           /* that the file brings; NULL: none */
	bool lent;                  /* `own` is another's to free, who keeps it while the file is open */
	int64_t crystals;           /* of the scanner, */
	float *place;               /* and x, y, z of each, mm */
	void *layout;               /* the format's own, one block of malloc */
};

struct iso_event_writer {
	const struct iso_event_format *format;
	const iso_scanner *scanner;
	struct iso_out out; /* of the records */
	int64_t n, record;  /* events so far, bytes of each */
	bool begun;
	void *layout;      /* as above */
	char warning[320]; /* what the file says otherwise than the events so far, in words; "": nothing */
};

struct iso_event_format {
	const char *name;

	/* Opens the records (iso_event_file_records) and fills info, first, record, per_record.
	   NULL: there are no records, `read_all` reads the whole. */
	int (*open)(iso_event_file *f, const char *path, const struct iso_events_options *o);
	/* n events of the file, from number i on, from their records, the first of which is r, to the places of
	   the block from k on. */
	int (*decode)(const iso_event_file *f, struct iso_events *e, int64_t k, const uint8_t *r, int64_t i,
	              int64_t n);
	int (*read_all)(struct iso_events *e, struct iso_hash *hash, const char *path,
	                const struct iso_events_options *o);
	/* Of records that differ in size: n events from number i on, to the places of the block from k on, read by
	   means of a buffer of 2^18 bytes or more. In place of decode; `record` is then nominal. */
	int (*read)(const iso_event_file *f, struct iso_events *e, int64_t k, int64_t i, int64_t n,
	            uint8_t *buffer, int64_t size);
	/* A table of what moves, by o->kind, times as those of events; NULL in *p: that does not. NULL: nothing moves. */
	int (*poses)(iso_poses **p, const iso_event_file *f, const struct iso_poses_options *o);
	void (*close)(iso_event_file *f); /* what `layout` points to; NULL: nothing */
	bool keeps_crystals; /* as written: their numbers, times and factors, not lines and t1 - t2 alone */
	bool has_ends;       /* records hold coordinates, which may be of another unit */
	bool masked;         /* GATE text: a mask says its columns, and trues can be told */
	bool simulated;      /* trees or tables of a simulation, by name, which can tell trues */

	int record; /* bytes of a record that is written, or the least if `begin` sets w->record */
	/* Event i of e as a record; NULL, and no append: the format is only read. */
	int (*encode)(iso_event_writer *w, uint8_t *record, const struct iso_events *e, int64_t i);
	/* In place of encode: all events of a block, where they differ in size. */
	int (*append)(iso_event_writer *w, const struct iso_events *e);
	/* For more than records in one file; each may be NULL. */
	int (*create)(iso_event_writer *w, const char *path, int64_t bytes);    /* opens w->out */
	void (*factors)(iso_event_writer *w, const struct iso_pair_factors *f); /* before the first block */
	int (*begin)(iso_event_writer *w, const struct iso_events *e);          /* with the first block */
	int (*finish)(iso_event_writer *w, const char *sidecar);                /* closes and renames */
	void (*release)(iso_event_writer *w);                                   /* what create took besides */
	const char *const *beside; /* suffixes of files that it writes besides; ends with NULL */
};

/* Whether the first 64 KiB of a text hold a line of GATE coincidences: so many columns, with
   numbers in those that are read. ISO_ENOMEM where that can't be told. */
int iso_is_gate(bool *found, const char *path, const struct iso_events_options *o);

/* The next word of a line that ends before `end`: *p to its start, and its length; 0: there is none. */
size_t iso_next_word(const char **p, const char *end);

/* By suffix, NULL if none has it. */
const struct iso_event_format *iso_event_format_find(const char *path);

/* The name of a format that can't be read piece by piece, as text can't; NULL: it can. */
const char *iso_events_only_whole(const char *path);

/* Whether such a file holds events: GATE's by its lines, as texts of other kinds have the same suffix; others by their suffix. */
int iso_events_in_text(bool *found, const char *path, const struct iso_events_options *o);

/* Opens the file of records, and sets fd, size and path, a copy. */
int iso_event_file_records(iso_event_file *f, const char *path);

/* Up to 65536 of its events, from its beginning to its end; to be freed, also on failure. */
/* What moves by the file itself, see struct iso_event_format; NULL in *p: nothing of that kind. Free the table. */
int iso_event_file_poses(iso_poses **p, const iso_event_file *f, const struct iso_poses_options *o);
int iso_event_file_sample(struct iso_events *e, const iso_event_file *f);

/* iso_events_scanner of a file that is open. The caller must not free the scanner before the file is closed. */
int iso_event_file_own(iso_scanner **s, iso_event_file *f, const char *path, bool assume);

enum { EVENTS_APART = 2 * PATH_MAX + 512 };

/* Whether `given`, of the file `name`, is the scanner that a file of events brings, or the file brings none. False:
   `apart` has one line with figures of both. */
bool iso_event_file_of_scanner(char apart[EVENTS_APART], const iso_event_file *f, const char *path,
                               const iso_scanner *given, const char *name);

/* All events of a file that is open; else as iso_events_read_hashed and iso_events_read_share. */
int iso_event_file_read_hashed(struct iso_events *e, struct iso_hash *hash, const iso_event_file *f,
                               const char *path);
struct iso_deal;
int iso_event_file_read_share(struct iso_events *e, struct iso_deal *d, const iso_event_file *f,
                              const char *path, iso_ctx *ctx);

/* iso_events_read, and the hash of the file of the records, from the bytes that were read for it; hash->path
   is "" where it was not made: the file is above the size that is hashed whole. NULL: none is wanted. */
int iso_events_read_hashed(struct iso_events *e, struct iso_hash *hash, const char *path,
                           const struct iso_events_options *o);

/* The events that a rank has of a list that is dealt to several (core/loop/deal.h), in the order of the list. n_bad, and
   what is said of a text's lines, is of the whole list, and so is the refusal of one without a usable event. */

/* From a file, of which only these are read; of text, which has no places, the whole. Collective, see core/comm.h. */
int iso_events_read_share(struct iso_events *e, struct iso_deal *d, const char *path,
                          const struct iso_events_options *o, iso_ctx *ctx);

/* Ends of event k from crystal numbers a and b, whole numbers that the scanner must have; i: for messages. */
int iso_event_place(const iso_event_file *f, struct iso_events *e, int64_t k, int64_t i, double a, double b);

/* Bytes of an event of such a file in memory, with all that the file says of it. */
int64_t iso_event_bytes(const struct iso_events_info *i);

/* x.Cdh -> x.lut */
int iso_events_partner(char *out, int size, const char *path, const char *suffix);

/* What a CASToR header brings: its records, and the .hscan of its scanner, "" if there is none beside it. */
int iso_castor_files(char data[PATH_MAX], char scanner[PATH_MAX], const char *path);

/* PETLINK list mode: whether a file is that, header or words, and the other one of the two. */
extern const struct iso_event_format iso_petlink_format;
bool iso_petlink_header(const uint8_t *head, int64_t n); /* by the first bytes of a file */
int iso_petlink_partner(char out[PATH_MAX], const char *path);
/* Interfile projection data beside others: whether a file is that; refused unless it has the bins of `like`, or, with
   `any_tof`, those of one of its TOF bins; and its values from number `first` of the bins of `like` on, which must be finite and not
   negative. */
bool iso_is_projection_data(const char *path);
int iso_interfile_fits(const char *path, const char *like, bool any_tof);
int iso_interfile_piece(iso_real *v, const char *path, int64_t first, int64_t n);

/* What `bins` and `negative` of struct iso_events_options may be; each ends with NULL. */
extern const char *const iso_bins_words[], *const iso_negative_words[];

/* The writer of CASToR files, see struct iso_event_format. */
int iso_castor_create(iso_event_writer *w, const char *path, int64_t bytes);
int iso_castor_begin(iso_event_writer *w, const struct iso_events *e);
int iso_castor_encode(iso_event_writer *w, uint8_t *record, const struct iso_events *e, int64_t i);
int iso_castor_finish(iso_event_writer *w, const char *sidecar);
void iso_castor_release(iso_event_writer *w);

#endif
