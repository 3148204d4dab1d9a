/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Van Gendt et al. 2021, "Productively accelerating PET image reconstruction on
   GPUs with Julia", measured with Isotome: Table 2 (the ladder from a basic to an optimised kernel)
   and Table 3 (the extensions). */
#ifndef ISO_VANGENDT_H
#define ISO_VANGENDT_H

#include "cmd/cmd.h"
#include "report/text.h"

#define VANGENDT_SIZES 3  /* images of Table 2 */
#define VANGENDT_RUNGS 16 /* at most */
#define VANGENDT_ROWS 8   /* of Table 3: the paper's seven, and attenuation in two ways */
#define VANGENDT_NOT_CUDA "no CUDA device"

/* How much is run; the problems stay those of the paper, except where `tiny` says so. */
struct vangendt_scale {
	const char *name;
	double ladder_events, body_events, pairs; /* pairs: of crystals, for a sensitivity */
	int sizes;                                /* of Table 2: tiny leaves the largest out */
	double budget_s;                          /* of a cell on the CPU: past it fewer iterations are run */
	double body_voxel;                        /* mm; 4 is the paper's */
};

/* One measured time, or why there is none. */
struct vangendt_cell {
	double seconds; /* NAN: not measured */
	int ran;        /* iterations; less than asked for: seconds is in proportion */
	char why[128];  /* not measured: this is why */
};

struct vangendt_rung {
	const char *program, *numbers; /* "basic", "float32" */
	char device[96];
	bool cuda;
	int threads[VANGENDT_SIZES]; /* of a block, or of the CPU */
	struct vangendt_cell cell[VANGENDT_SIZES];
};

struct vangendt_row {
	const char *name, *file, *what; /* file: of its image, without suffix */
	double paper[3];                /* s: CPU, Tesla V100, RTX 2080 Ti; NAN: not in the paper */
	struct vangendt_cell cpu, cuda;
	double nrmse;      /* against the phantom */
	double difference; /* CUDA from CPU, relative L2; NAN: one of them is missing */
	struct iso_pixels picture;
	double *profile; /* along x, `samples` values */
};

struct vangendt {
	struct cmd *c;
	const struct vangendt_scale *scale;
	/* all threads, one thread; cuda: NULL if there is none. cpu or cuda is the command's own */
	iso_ctx *cpu, *one, *cuda;
	char no_cuda[256]; /* why */

	int n_rungs;
	struct vangendt_rung rung[VANGENDT_RUNGS];

	struct iso_grid grid; /* of Table 3 */
	int64_t events;       /* simulated */
	double sens_s[2];     /* time of the sensitivity, without and with attenuation */
	struct vangendt_row row[VANGENDT_ROWS];
	struct iso_pixels truth;
	double *truth_profile, *place; /* mm */
	int64_t samples;
};

extern const int vangendt_edge[VANGENDT_SIZES]; /* voxels */

#define VANGENDT_LADDER_ITERATIONS 20
#define VANGENDT_BODY_ITERATIONS 4
#define VANGENDT_SUBSETS 8
#define VANGENDT_TOF_FWHM_PS 390.

/* ISO_ECANCEL after a signal: not all contexts hear of it. */
int vangendt_poll(const struct vangendt *v);

int vangendt_plan(struct vangendt *v);   /* memory of Table 3; CMD_DONE with --dry-run */
int vangendt_ladder(struct vangendt *v); /* Table 2; cells that do not fit say so */
int vangendt_body(struct vangendt *v);   /* Table 3; writes images into the current folder */
int vangendt_page(struct iso_text *t, const struct vangendt *v);
int vangendt_record(const struct vangendt *v); /* all figures, as results of the record */
void vangendt_free(struct vangendt *v);

#endif
