/* SPDX-License-Identifier: BSD-3-Clause */
/* Telling the caller how far a long call is, and how long it will still take. */
#ifndef ISO_PROGRESS_H
#define ISO_PROGRESS_H

#include "base/now.h"
#include "isotome.h"

ISO_BEGIN_C

struct iso_clock {
	iso_progress_fn fn; /* whom it tells; NULL: nobody */
	void *arg;
	const char *stage;
	int64_t first, total; /* steps done before the clock started, and in all */
	double start_s;
	const char *unit;   /* what a step counts, "events"; NULL: steps */
	double each;        /* of these, a step */
	const void *thread; /* that started it */
	/* of brief stages: */
	bool brief;
	const char *note;
	int64_t done;  /* steps so far, added by any thread */
	double told_s; /* when it last told something; 0: it has told nothing */
};

/* Tells that the stage begins. */
struct iso_clock iso_clock_start(const iso_ctx *ctx, const char *stage, int64_t first, int64_t total);

/* The same of a stage whose steps count one `unit` each, or what iso_clock_count then says. */
struct iso_clock iso_clock_start_of(const iso_ctx *ctx, const char *stage, const char *unit, int64_t first,
                                    int64_t total);

/* A step counts so many `unit`, which is a constant text: progress then has a rate. */
void iso_clock_count(struct iso_clock *c, const char *unit, double each);

/* `done` steps of the total are behind us; `note` may be NULL. */
void iso_clock_step(const struct iso_clock *c, int64_t done, const char *note);

/* A stage beside the work itself, which often ends at once: reading a file, putting events in order. It is told
   of only if it lasts longer than a moment, and then a few times a second, on the thread that started the clock.
   `total` steps of one `unit` each, 0: not known. `note` (NULL: none) must stay. ctx may be NULL: then the
   listener of this thread hears it. */
struct iso_clock iso_clock_brief(const iso_ctx *ctx, const char *stage, const char *unit, int64_t total,
                                 const char *note);

/* So many steps more; from any thread. */
void iso_clock_add(struct iso_clock *c, int64_t steps);

/* The stage is over: told, if its beginning was. */
void iso_clock_end(struct iso_clock *c);

/* For programs, about files that are read and written without a context: whom the calling thread tells. NULL, as at
   the start: nobody. */
void iso_progress_listen(iso_progress_fn fn, void *arg);

/* For threads of the library's own, which no caller is to hear from: brief stages of this one are told to nobody. */
void iso_progress_mute(void);

ISO_END_C
#endif
