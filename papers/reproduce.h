/* SPDX-License-Identifier: BSD-3-Clause */
/* Papers as `isotome reproduce` sees them. */
#ifndef ISO_REPRODUCE_H
#define ISO_REPRODUCE_H

#include "cmd/cmd.h"
#include "report/text.h"

enum reproduce_scale { REPRODUCE_TINY, REPRODUCE_SMALL, REPRODUCE_FULL };

/* What only some papers take. */
struct reproduce_extra {
	const char *only; /* part to run: study, experiment or times; NULL: all */
	const char *msot; /* file of a recording, whole path; NULL: none */
};

struct reproduce {
	const char *name;
	const char *const *outputs; /* images, checked before the work; ends with NULL */
	int (*run)(struct cmd *c, enum reproduce_scale scale); /* in the current folder */
	struct reproduce_extra *extra; /* filled before; NULL: the paper takes none of it */
};

extern const struct reproduce reproduce_bialas, reproduce_meng, reproduce_chou, reproduce_wang;

/* A CPU context and a CUDA one, where there is one, from that of the command; why not, else. */
struct reproduce_devices {
	iso_ctx *cpu, *cuda;
	char no_cuda[64];
};

int reproduce_open(struct reproduce_devices *d, const struct cmd *c);
void reproduce_close(struct reproduce_devices *d);

/* report.html, results.json */
int reproduce_write_page(const struct iso_text *page);
int reproduce_write_results(struct cmd *c);

#endif
