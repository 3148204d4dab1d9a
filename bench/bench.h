/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmarks as `isotome bench` sees them. A new one is a file bench_X.c and an entry in
   bench.c. */
#ifndef ISO_BENCH_H
#define ISO_BENCH_H

#include "cmd/cmd.h"
#include "core/progress.h"
#include "core/room.h"
#include "core/size.h"

struct bench {
	const char *name, *title; /* title of its options in the help */
	struct opt *opts;
	int (*run)(struct cmd *c, const struct opt_set *sets);
	void *settings; /* where its options go; the defaults again after a run */
	size_t bytes;   /* of them */
	bool begins;    /* calls cmd_begin itself */
};

#define BENCH_MOST_SETTINGS 256 /* bytes */

extern const struct bench bench_ray, bench_strip, bench_srm, bench_oat, bench_scatter, bench_simulate,
	bench_prior, bench_poses, bench_norm, bench_dynamic, bench_barrel, bench_lifetime, bench_limits,
	bench_end_to_end;

/* Seconds of the repeats. */
struct bench_time {
	int n;
	double median, least, spread; /* spread: greatest less least, over the median */
};
struct bench_time bench_time(int n, double *seconds); /* sorts them */

#define BENCH_MOST_REPEATS 1000

/* Options that several have, and what they mean. */
#define BENCH_REPEATS(v)                                                                         \
	{                                                                                        \
		0, "repeats", .integer = (v), .value = "N", .min = 1, .max = BENCH_MOST_REPEATS, \
			      .help = "repeats after the warm-up"                                \
	}
#define BENCH_EVENTS(v)                                                                          \
	{                                                                                        \
		0, "events", .real = (v), .value = "N", .min = 1, .max = 1e12,                   \
			     .absent = "1e6 on the CPU, 1e7 on CUDA", .help = "number of events" \
	}

#define BENCH_FOLDER(v, what)                                                          \
	{                                                                              \
		0, "folder", .text = (v), .file = OPT_PLACE, .value = "FOLDER",        \
			     .absent = "the folder of TMPDIR, or /tmp", .help = (what) \
	}

const char *bench_folder(const char *given);           /* `given`, unless it is NULL */
int bench_scanner(iso_scanner **s, const char *text);  /* of a description; no file is left */
double bench_events(const iso_ctx *ctx);               /* where none are asked for */
bool bench_chosen(const char *word, const char *name); /* word: a name, or "all" */

/* p = zeroed memory for n items of its type. */
#define BENCH_ALLOC(who, p, n)                              \
	(((p) = size_alloc((n), sizeof *(p))) ? (int)ISO_OK \
	                                      : iso_fail_memory(who, (n) * (int64_t)sizeof *(p)))
#define BENCH_NEW(p, n) BENCH_ALLOC("bench", p, n)

/* Work that ends by writing to `made`, a vector of the device. */
struct bench_work {
	iso_ctx *ctx;
	const iso_real *made;
	int (*once)(void *arg);
	void *arg;
	double *processor; /* its seconds, each time, over all threads; NULL: not wanted */
};

/* Seconds of n times, from an idle device to an idle device. */
int bench_repeat(int n, double *seconds, const struct bench_work *w);

/* An operator with vectors of its device to time it on; iso_room_free(&b.room) frees them. */
struct bench_op {
	iso_op *op;
	struct iso_room room;
	iso_real *ones, *x, *acc; /* images: of ones; one that an update changes; what is projected back */
	iso_real *y, *q;          /* data: of ones; what is projected */
	iso_real *rho;            /* data: ratios, for RATIO */
	enum bench_task { BENCH_FORWARD, BENCH_ADJOINT, BENCH_STEP, BENCH_UPDATE, BENCH_RATIO } task;
	bool all; /* subsets, one after the other; else subset 0 */
	struct iso_em_stat stat;
};

/* Without `data` y is NULL, as for list-mode data, and STEP is all that can be timed, or RATIO with rho. */
int bench_open(struct bench_op *b, iso_op *op, bool data);

/* Seconds of n times, each from an image of ones: A x, A* y, a step of EM, an update, by a sensitivity
   of 1, or a step of ratios, from ratios of 0. */
int bench_task(double *seconds, struct bench_op *b, enum bench_task task, bool all, int n);

/* EM steps of subset 0 on an image of ones: the first, then `repeats`. */
struct bench_steps {
	double first_s;
	struct bench_time step;
	struct iso_em_stat stat;
	double sum; /* of the image after one update with S = 1 */
};

int bench_steps(struct bench_steps *t, iso_op *op, int repeats);

/* Steps of ratios of subset 0, after a first one. */
int bench_ratios(struct bench_time *t, iso_op *op, int repeats);

/* The strips of Bialas 2015, and how many pixels an event of theirs has, on average. */
#define BENCH_STRIPS                                                        \
	{                                                                   \
		.radius = 130, .length = 300, .sigma_z = 10, .sigma_dl = 40 \
	}

double bench_strip_pixels(const struct iso_strip *p, const struct iso_strip_events *e);

/* Operations of one of them, both ways. */
double bench_strip_operations(enum iso_strip_kernel kernel);

/* What `bench limits` tells of the machine: results of these keys, and what they are called. */
enum bench_rate {
	BENCH_FILE,      /* bytes/s, a file in the page cache */
	BENCH_MEMORY,    /* bytes/s, memory of the host */
	BENCH_LINK,      /* bytes/s, from pinned memory to the device; of CUDA alone */
	BENCH_LOAD,      /* words/s, in random pieces of 8, on the device */
	BENCH_ADD,       /* the same, added to */
	BENCH_OPERATION, /* operations/s */
	BENCH_FMA,       /* multiply-adds/s */
	BENCH_RATES,
};

extern const char *const bench_rate_keys[BENCH_RATES];

/* Of the transducers, those of number which(i, n, all) >= i stay, for i from 0 to n - 1; all, if there are
   not more than n. */
void bench_pick(struct iso_transducers *t, int64_t n, int64_t (*which)(int64_t i, int64_t n, int64_t all));

/* One line of the table. */
struct bench_row {
	const char *bench;
	char problem[96];
	struct bench_time time;
	double events, visits, bytes; /* the work of one repeat; visits: of voxels */
	double limit_s;               /* the least that the machine's own rates allow; 0: not known */
	const char *limit;            /* what sets it, where rows differ in that; NULL: not told */
	json_t *more;                 /* object, for --json; taken over */
	char note[256];               /* second line in the table; may be empty */
};

/* Unless the results go out as JSON: begins a line with the device and its name, to be gone on with. */
bool bench_says(struct cmd *c);

/* Adds the row to "rows" of the results, and prints it unless the results go out as JSON. */
int bench_add(struct cmd *c, struct bench_row *row);

#endif
