/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of strip events inside: read as it comes (strip_events.c), or whole, by several threads
   (strip_whole.c). */
#ifndef ISO_STRIP_FILE_H
#define ISO_STRIP_FILE_H

#include "file/element.h"
#include "file/feed.h"
#include "io/kinds.h"

#define STRIP_FARTHEST_MM 1e5f /* no strip is 100 m long */
enum { STRIP_LINE = 4096 };    /* bytes of a line of text, at most */

/* What is known of the values of some events. */
struct iso_strip_tally {
	int64_t bad, far; /* not finite; beyond STRIP_FARTHEST_MM */
	uint32_t most;    /* largest finite value, mm: its event_size */
};

struct iso_strip_file {
	struct iso_feed in;
	enum iso_strip_format format;
	struct iso_element element; /* of .npy */
	int64_t first, record;      /* bytes: before the first event, and of each; but text */
	double mm, dl;              /* of the file's units of length, and of its third value */
	int64_t line, n;            /* so far */
	struct iso_strip_tally seen;
	int64_t total; /* events of a whole file; 0: not known */
	const iso_ctx
		*ctx; /* of a whole file: whose threads read, whose memory limit holds, whose request to stop
			       ends it; NULL: none */
};

/* The event of the file's three values. */
static inline struct iso_strip_event strip_event_of(const iso_strip_file *f, const double v[3])
{
	return (struct iso_strip_event){ (float)(f->mm * v[0]), (float)(f->mm * v[1]),
		                         (float)(f->dl * v[2]) };
}

static inline void strip_count(struct iso_strip_tally *t, const struct iso_strip_event *e)
{
	uint32_t a = event_size(e->z_up), b = event_size(e->z_down), c = event_size(e->dl);
	uint32_t ab = a > b ? a : b, size = ab > c ? ab : c;

	t->bad += size >= EVENT_INFINITE;
	size = size < EVENT_INFINITE ? size : 0;
	t->far += size > event_size(STRIP_FARTHEST_MM);
	t->most = size > t->most ? size : t->most;
}

/* The values of a record. */
static inline void strip_record(double v[3], const iso_strip_file *f, const uint8_t *p)
{
	struct iso_strip_event e;

	if (f->format == ISO_STRIP_FLOATS) {
		memcpy(&e, p, sizeof e);
		v[0] = (double)e.z_up;
		v[1] = (double)e.z_down;
		v[2] = (double)e.dl;
	} else {
		for (int i = 0; i < 3; i++) v[i] = iso_element_get(p + i * f->element.size, f->element);
	}
}

/* What is wrong with a line; "": nothing. */
struct iso_complaint {
	char text[64];
};

/* The numbers of a line, [p, end) up to its comment: 3, or 0 of a blank one or one that is wrong. */
int iso_strip_triple(double v[3], struct iso_complaint *wrong, const char *p, const char *end);
int iso_strip_complain(const char *path, int64_t line, const struct iso_complaint *wrong);

/* The failure of a file that has so many bytes of this event. */
int iso_strip_ends_within(const iso_strip_file *f, int64_t event, int64_t bytes);

/* Refuses what was seen so far if it is bytes in another order, another unit, or another format; a single stray
   value is let through. */
int iso_strip_check(const iso_strip_file *f);

#endif
