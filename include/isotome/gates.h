/* SPDX-License-Identifier: BSD-3-Clause */
/* Gates of a scan: at which times the object was in which state of its breathing or heartbeat. Times s since the start of
   the scan.

   Threads: a table and a trace are read by any number of threads. */
#ifndef ISOTOME_GATES_H
#define ISOTOME_GATES_H

#include "isotome/context.h"
#include "isotome/events.h"

ISO_BEGIN_C

/* ---- tables ---- */

typedef struct iso_gates iso_gates; /* which gate holds when */

/* Gate `gate`, from 0, holds for from_s <= t < to_s. */
struct iso_gate_row {
	double from_s, to_s;
	int64_t gate;
};

/* Rows rise and do not overlap; times of no row belong to no gate. `name` is for messages. */
ISO_CHECKED int iso_gates_create(iso_gates **g, const struct iso_gate_row *row, int64_t n, const char *name);
void iso_gates_free(iso_gates *g);

/* Text with the columns from_s, to_s, gate. Lines that begin with '#' are comments. */
ISO_CHECKED int iso_gates_read(iso_gates **g, const char *path);
ISO_CHECKED int iso_gates_write(const char *path, const iso_gates *g, bool force);

int64_t iso_gates_rows(const iso_gates *g);                         /* how many */
struct iso_gate_row iso_gates_row(const iso_gates *g, int64_t row); /* zeros if there is no such row */
int iso_gates_count(const iso_gates *g);                            /* the largest gate and 1 */
int iso_gates_at(const iso_gates *g, double time_s);                /* -1: no gate, or no table */
double iso_gates_time(const iso_gates *g, int gate);                /* s, of all rows of that gate */

/* ---- traces ---- */

/* A signal, such as that of a belt: its values at times that rise. Between samples it is a straight line. */
struct iso_trace {
	int64_t n;
	double *time_s, *value;
};

/* A text of two columns, times and values, or an .npy (n, 2). A file of one column has times alone: the triggers of an
   ECG, in time_s; value is NULL. */
ISO_CHECKED int iso_trace_read(struct iso_trace *t, const char *path);
ISO_CHECKED int iso_trace_write(const char *path, const struct iso_trace *t, bool force);
void iso_trace_free(struct iso_trace *t); /* leaves zeros, which it takes too */

/* When the signal first exceeds 50 % of its range (5 to 95 % of the samples) after it was below 25 %. Free the times
   with free(). */
ISO_CHECKED int iso_trace_triggers(double **trigger_s, int64_t *n, const struct iso_trace *t);

/* level[k] = quantile (k + 1)/gates of the samples, for k < gates - 1, so that gates have equal time. Between samples the
   quantile is linear, as NumPy has it. If the steps of the trace differ by more than 1 %, it is resampled at its median
   step first. */
ISO_CHECKED int iso_trace_levels(double *level, int gates, const struct iso_trace *t);

/* ---- gates of signals ---- */

#define ISO_GATES_MOST 1024 /* of a table made here */

/* Gate floor(gates (t - t_k)/(t_k+1 - t_k)) between triggers k and k + 1. No gate before the first trigger, after the
   last, and in cycles shorter than half the median cycle or longer than twice that. */
ISO_CHECKED int iso_gates_by_phase(iso_gates **g, const double *trigger_s, int64_t n, int gates);

/* Gate = the number of levels that are not above the signal. No gate before the first sample and behind the last. Levels
   rise. */
ISO_CHECKED int iso_gates_by_amplitude(iso_gates **g, const struct iso_trace *t, const double *level,
                                       int n_levels);

/* ---- a signal from the events themselves ---- */

enum iso_signal_kind {
	ISO_SIGNAL_CENTROID, /* the mean of the most likely points of a frame's events */
	ISO_SIGNAL_PCA,      /* square roots of the counts in cells of 20 mm of these points */
};

struct iso_signal {
	size_t size; /* size of this struct */
	enum iso_signal_kind kind;
	double frame_s; /* 0: 0.5 s */
	double band[2]; /* Hz, of what moves; both 0: 0.1 and 0.5, breathing */
};

/* The series of frames, less their mean over a sliding 20 s, within the band; then their first principal component, with
   the sign that goes with the centroid's z. Values are at the middles of the frames. ISO_EINPUT for events without times,
   and for a scan of less than 20 s. */
ISO_CHECKED int iso_trace_of_events(struct iso_trace *t, iso_ctx *ctx, const struct iso_events *e,
                                    const struct iso_signal *how);

ISO_END_C
#endif
