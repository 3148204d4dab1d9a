/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan of a scanner of modules at a given activity: all decays of its time, all pulses of its crystals, in slices of
   memory that does not grow with the scan. The same bytes for any number of threads and any slices. */
#ifndef ISO_ACTIVITY_SCAN_H
#define ISO_ACTIVITY_SCAN_H

#include "physics/decay/isotope.h"
#include "physics/readout/readout.h"
#include "physics/transport/crystal.h"
#include "activity_scan_kern.h"

struct rates_setting {
	struct crystal_setting crystals; /* scanner, object, activity, seed */
	const struct isotope *isotope;   /* NULL: every decay sends out two photons back to back */
	struct decay_setting decay;
	double activity_bq; /* at the start of the scan, of the whole image: decays, not positrons */
	double duration_s;
	double half_life_s;              /* 0: it does not decay */
	struct iso_readout_rule readout; /* units, dead_unit and seed are filled in */
	struct iso_sorter sorter;        /* good and scanner are filled in */
	int64_t slice;                   /* decays of a slice, about; 0: as many as suit the device */
	bool truth;                      /* iso_rates_decay will be asked */
};

enum rates_kind { RATES_TRUE, RATES_SCATTERED, RATES_RANDOM, RATES_PROMPT, RATES_PILED, RATES_KINDS };

struct rates_result {
	struct rates_counts photons;
	struct iso_readout_counts readout;
	struct iso_sorter_counts sorter;
	int64_t kind[RATES_KINDS]; /* of the prompts */
	int64_t delayed_of_one;    /* delayeds of one decay */
	int64_t slices;
};

/* What a slice brought: its singles in q->single, pairs in s->prompt, s->late, s->triple as places in s->single. */
typedef int (*rates_sink)(void *arg, const struct iso_readout_stream *q, const struct iso_sorter_stream *s);

/* Deposits of a cell, in the order of its decays. */
typedef int (*rates_hits)(void *arg, const struct deposit *d, int64_t n);

struct rates {
	iso_ctx *ctx;
	struct iso_room room;
	struct rates_setting set;
	struct rates_world world;
	struct rates_world host; /* on CUDA, for truth: what makes decays, in memory of the host */
	rates_hits hits;         /* on the CPU alone; NULL: nobody asks */
	void *hits_arg;
	int64_t cells;
	double ticks; /* of the scan */
};

/* Checks the setting and makes the tables. r->set borrows what the setting points to. */
int iso_rates_open(struct rates *r, iso_ctx *ctx, const struct rates_setting *s);
void iso_rates_close(struct rates *r);

/* Decays expected in the whole scan. */
double iso_rates_expected(const struct rates_setting *s);

/* The whole scan; sink NULL: nobody asks. */
int iso_rates_run(struct rates_result *result, struct rates *r, rates_sink sink, void *arg);

/* What a pair is: the largest that applies. */
enum rates_kind iso_rates_kind(const struct pulse *one, const struct pulse *two);

/* The decay that made a pulse, from its number, on the host: of a setting with `truth`. */
void iso_rates_decay(struct decay *d, const struct rates *r, uint64_t number);

/* What a cell gave: pulses in any order, and deposits, if they are wanted. */
struct rates_list {
	struct iso_pulses pulses;
	struct deposit *d;
	int64_t n, room;
};

/* Pulses of cells, into the list of each or of the first. Looked up in the CUDA half by name. */
typedef int (*rates_cells_fn)(struct rates_list *list, struct rates_counts *count, const struct rates *r,
                              const struct rates_cell *cell, int64_t cells);
ISO_C int iso_rates_cells_cuda(struct rates_list *list, struct rates_counts *count, const struct rates *r,
                               const struct rates_cell *cell, int64_t cells);

/* Memory of a run. */
void iso_rates_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct rates_setting *s);

#endif
