/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file is, by its first bytes or the suffix of its name. kinds.c holds the one table,
   kinds_find.c looks in it. */
#ifndef ISO_KINDS_H
#define ISO_KINDS_H

#include "events.h"
#include "format.h"
#include "recording.h"

enum iso_content {
	ISO_ARRAY_FILE,
	ISO_EVENTS_FILE,
	ISO_STRIPS_FILE, /* strip events */
	ISO_RECORDING_FILE,
	ISO_MATRIX_FILE,
	ISO_DESCRIPTION_FILE, /* of a scanner or a phantom */
	ISO_JSON_FILE,        /* a description, a record, or what stands beside a .raw */
	ISO_SCANNER_FILE,
	ISO_CHECKPOINT_FILE,
	ISO_VOLUME_FILE, /* DICOM: an image, or what iso_volume_read takes */
	ISO_POSES_FILE,  /* a table of poses */
	ISO_OTHER_FILE,  /* not read: its row says what it is */
};

enum iso_strip_format { ISO_STRIP_UNKNOWN, ISO_STRIP_FLOATS, ISO_STRIP_TEXT, ISO_STRIP_NPY };

/* How files of a suffix are read and written, as each of the contents that they may have; NULL (and
   ISO_STRIP_UNKNOWN): not as that. */
struct iso_kind {
	const char *suffix;
	enum iso_content content; /* where nobody asks for another */
	const struct iso_format *array;
	const struct iso_event_format *events;
	enum iso_strip_format strips;
	const struct iso_recording_format *recording;
	/* Whether a file that begins with these n bytes, up to ISO_KIND_HEAD of them, is of this kind, whatever its
	   name; NULL: the suffix alone tells. */
	bool (*is)(const uint8_t *head, int64_t n);
	/* Files that belong to it, "" where there is none: `first` (its data, where the file is but a header), `second` (its
	   scanner or crystals). NULL: none belongs to it. */
	int (*partners)(char first[PATH_MAX], char second[PATH_MAX], const char *path);
	bool is_header;
	/* Of a file that is not read: what it is, in words, a key of its header that is told besides, and what to do. */
	const char *what, *key, *next;
};
enum { ISO_KIND_HEAD = 4096 };

bool iso_is_petsird(const uint8_t *head, int64_t n); /* yardl, which no other format here is in */

/* The table; a row without a suffix ends it. */
const struct iso_kind *iso_kinds(void);

/* By the suffix alone, of any case; NULL: not in the table. */
const struct iso_kind *iso_kind_of(const char *path);
bool iso_kind_is(const char *path, enum iso_content content);

/* The same of a file that is there: by its first bytes, then by its suffix. */
const struct iso_kind *iso_kind_found(const char *path);

/* The row of a file to be read or written as an array, events, strip events or a recording; NULL: none. */
const struct iso_kind *iso_kind_as(const char *path, enum iso_content as);

/* The row of a file that is there, to be read as that: by its first bytes, then by its suffix. */
const struct iso_kind *iso_kind_to_read(const char *path, enum iso_content as);

/* The row of a file to be written as that, by its suffix; NULL: none. */
const struct iso_kind *iso_kind_to_write(const char *path, enum iso_content as);

/* The files that belong to one that is there, see `partners`; and the one that holds its data, "": the file itself. */
int iso_kind_partners(char first[PATH_MAX], char second[PATH_MAX], const char *path);
int iso_kind_data(char data[PATH_MAX], const char *path);

/* Whether events that are written to a file of this name keep their crystals, times and factors; else their lines and
   t1 - t2 are all that it has place for. */
bool iso_kind_keeps_crystals(const char *path);

/* The failure that follows: "x.foo: unknown suffix for events; one of .lmdT ..." */
int iso_kind_unknown(int code, const char *path, enum iso_content as, bool to_write);

/* The same of a file that is in no row at all, with all suffixes. */
int iso_kind_none(const char *path);

/* Refuses a file that holds no measured data, with what it is and what to do with it; ISO_OK where its row says
   neither. */
int iso_kind_no_data(int code, const char *path);

/* The formats of events that are read: "lmdT .lmdT, CASToR .Cdh, ..." */
enum { ISO_KIND_LIST = 512 };
void iso_kind_events(char list[ISO_KIND_LIST]);

/* Of strip events, by suffix. */
enum iso_strip_format iso_strip_format(const char *path);

/* iso_strip_events_read, and the hash of the file, from the bytes that were read for it; hash->path is "" where it
   was not made: of a pipe, or a file above the size that is hashed whole. NULL: none is wanted. */
struct iso_deal; /* core/loop/deal.h */

/* The events that a rank has of a file that is dealt to several, of which only these are read; n_bad is of the whole
   file, and so are refusals. Of text, which has no places, the whole is read. *d comes with the least that a chunk is
   to be a multiple of. Collective, see core/comm.h. */
int iso_strip_events_read_share(struct iso_strip_events *e, struct iso_deal *d, const char *path,
                                const struct iso_strip_options *o, iso_ctx *ctx);

/* Those of a list in memory. */
int iso_strip_events_share(struct iso_strip_events *to, const struct iso_strip_events *from,
                           const struct iso_deal *d);

int iso_strip_events_read_hashed(struct iso_strip_events *e, struct iso_hash *hash, const char *path,
                                 const struct iso_strip_options *o);

#endif
