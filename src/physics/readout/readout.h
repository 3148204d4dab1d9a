/* SPDX-License-Identifier: BSD-3-Clause */
/* Pulses of a whole scan to singles, and singles to coincidences, slice by slice: the same bytes whatever the slices. */
#ifndef ISO_READOUT_H
#define ISO_READOUT_H

#include "pulse_kern.h"

/* to[0..n-1] = p in the order of pulse_before. `count` has room for n. n below 2^32. */
void iso_pulse_sort(struct pulse *to, const struct pulse *p, int64_t n, uint32_t *count);

/* ---- pulses to singles ---- */

/* Times are ticks; 0 leaves a stage out. */
struct iso_readout_rule {
	uint32_t units, dead_units;
	const uint32_t *dead_unit; /* of each crystal; NULL: its unit */
	int64_t pileup, dead;
	bool paralysable;
	struct pulse_blur blur; /* resolution 0, sigma 0: none */
	double trigger_kev;     /* a pulse below does not exist */
	double window_kev[2];   /* low <= e < high are singles; high 0: all are */
	double line_kev[2]; /* low <= e < high are singles of the prompt line, never of pairs; high 0: none */
	const float *efficiency; /* of each crystal, at most 1; NULL: all are 1 */
};

struct iso_readout_counts {
	int64_t pulses, piled;                      /* piled: pulses that joined an earlier one */
	int64_t trigger, dead, inefficient, window; /* lost */
	int64_t singles, line;                      /* line: of them, in the window of the prompt line */
};

/* A list of pulses that grows. */
struct iso_pulses {
	struct pulse *p;
	int64_t n, room;
};

ISO_C int iso_pulses_more(struct iso_pulses *l, int64_t n); /* room for n more */

struct iso_readout_stream {
	struct iso_readout_rule rule;
	struct iso_readout_counts count;
	struct iso_pulses early, grouped, late,
		sorted;  /* waiting before pile-up; in groups; before the sort; sorted */
	int64_t *open;   /* of each unit: its group in `grouped`, -1: none */
	double *largest; /* of each group: the largest energy of its pulses */
	int64_t room_largest, room_buckets;
	int64_t *last; /* of each unit of dead time: when it was last busy */
	uint32_t *bucket;
	struct iso_pulses single; /* of the last push, in order */
	int64_t horizon;          /* no later single is earlier than this */
};

int iso_readout_open(struct iso_readout_stream *q, const struct iso_readout_rule *rule);
void iso_readout_close(struct iso_readout_stream *q);

/* Pulses in any order; all that come later have times of `horizon` or after. Fills `single` and `horizon` of q.
   INT64_MAX: none comes later. */
int iso_readout_push(struct iso_readout_stream *q, const struct pulse *p, int64_t n, int64_t horizon);

/* ---- singles to coincidences ---- */

struct iso_sorter {
	int64_t tau, delay; /* ticks */
	enum iso_sorter_windows window;
	enum iso_multiples multiples;
	bool delayed, triples; /* which are wanted besides pairs */
	/* whether the scanner takes these two crystals as a pair */
	bool (*good)(const void *scanner, uint32_t a, uint32_t b);
	const void *scanner;
};

struct iso_sorter_counts {
	int64_t groups[4]; /* by singles in them: 1, 2, 3, more */
	int64_t pairs, delayeds, triples;
};

/* Singles of a pair, places in `single` of the stream: `one` has the smaller crystal. */
struct iso_sorted_pair {
	int64_t one, two;
};

struct iso_sorted_pairs {
	struct iso_sorted_pair *v;
	int64_t n, room;
};

/* Places in `single`, in order of time; with a window of the prompt line the last is its single. */
struct iso_sorted_triple {
	int64_t at[3];
};

struct iso_sorter_stream {
	struct iso_sorter rule;
	struct iso_sorter_counts count;
	struct iso_pulses single; /* those that may have partners to come, and the last slice's */
	int64_t opener,
		delayer; /* in `single`: the first that may open a group; that delayeds were not sought for */
	int64_t busy;    /* no single up to this time opens a group */
	/* of the last push, in the order in which their groups open */
	struct iso_sorted_pairs prompt, late;
	struct iso_sorted_triple *triple;
	int64_t triples, room_triples;
};

void iso_sorter_open(struct iso_sorter_stream *q, const struct iso_sorter *rule);
void iso_sorter_close(struct iso_sorter_stream *q);

/* Singles in order; all that come later have times of `horizon` or after. Fills the lists of q. */
int iso_sorter_push(struct iso_sorter_stream *q, const struct pulse *single, int64_t n, int64_t horizon);

#endif
