/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of `bench end-to-end` share: the folder and the inputs that runs read there (e2e_inputs.c),
   the limits of stages (e2e_limits.c), and what is drawn and written of the rows (e2e_tell.c). */
#ifndef ISO_E2E_H
#define ISO_E2E_H

#include "bench.h"
#include "child.h"

#include <limits.h>

enum e2e_kind { E2E_RAY, E2E_STRIP, E2E_SRM, E2E_KINDS };

/* The temporary folder, and the files of one kind of runs in it. */
struct e2e_inputs {
	struct cmd *c;
	char folder[PATH_MAX]; /* made here; "": there is none */
	bool cuda;             /* what runs are on */
	const char *device;    /* words for those that simulate on it: " --device cuda" */
	int64_t block;         /* events that are simulated, at most; more are the same again */
	enum e2e_kind kind;
	int64_t simulated, n; /* events in the file of those, and in that which runs read */
	int64_t bytes;        /* of all that a run reads */
	double made_s;        /* seconds that making all files took */
	/* the first events, and the work of a projection of SRM */
	struct iso_events rays;
	struct iso_strip_events strips;
	double multiply_adds;
};

/* Makes the folder inside `place`. */
int e2e_open(struct e2e_inputs *in, const char *place);

/* ISO_EIO unless its disk has room for so many events of each kind (0: none). */
int e2e_check_space(const struct e2e_inputs *in, const int64_t most[E2E_KINDS]);

/* Removes it with all that is in it. */
void e2e_close(struct e2e_inputs *in);

/* Scanner, phantom and up to `most` simulated events of a kind; those of the kind before are removed. */
int e2e_simulate(struct e2e_inputs *in, enum e2e_kind kind, int64_t most);

/* The file that runs read then has n events: it only grows. */
int e2e_grow(struct e2e_inputs *in, int64_t n);

/* The machine, by `bench limits` in a program of its own. */
struct e2e_machine {
	json_t *told;                     /* its results, and start_s; to be freed */
	const char *device, *device_name; /* texts of them */
	double rate[BENCH_RATES];
	double start_s; /* of the program, from its start to its end, with the device opened and nothing done */
};

/* `common`: words that every run has. Sets in->cuda. */
int e2e_measure(struct e2e_machine *m, struct e2e_inputs *in, const char *common);

/* The work of a stage of the run that left this record, and its limit. */
void e2e_limit(struct bench_row *row, const struct e2e_machine *m, const struct e2e_inputs *in,
               const json_t *record, const char *stage);

/* Into `more` of a wall: what reading the file once, bringing it to the device once (on the CPU: through memory) and the
   kernels of all iterations take at least; and the way that events took. */
void e2e_floors(json_t *more, const struct e2e_machine *m, const struct e2e_inputs *in, const json_t *record);

/* The walls of all runs beside those floors, on the terminal. */
void e2e_print(const struct cmd *c, double made_s);

/* The rows of the results as one line each, and as curves of seconds against events. NULL: not wanted. */
int e2e_check(const struct cmd *c, const char *table, const char *plot); /* before the work */
int e2e_write(struct cmd *c, const char *table, const char *plot);

#endif
