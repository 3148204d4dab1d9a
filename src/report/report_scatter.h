/* SPDX-License-Identifier: BSD-3-Clause */
/* The scatter of a reconstruction as its record tells it: read in report_scatter_read.c, shown in report_scatter.c. */
#ifndef ISO_REPORT_SCATTER_H
#define ISO_REPORT_SCATTER_H

#include "page.h"

enum {
	SCATTER_PROMPTS,
	SCATTER_TRUES,
	SCATTER_SCATTER,
	SCATTER_RANDOMS,
	SCATTER_PARTS,
	SCATTER_MOST = 512, /* bins along an axis */
};

/* Counts over s and z, and panels (phi, s), of all frames that have them. */
struct scatter_seen {
	int frames, all_frames; /* 0: there is nothing to show */
	int ns, nz, w, h;
	double s_mm[2], z_mm[2];
	bool has[SCATTER_PARTS]; /* known in every frame, and of randoms not all 0 */
	bool no_randoms;         /* all 0 */
	double over_s[SCATTER_PARTS][SCATTER_MOST], over_z[SCATTER_PARTS][SCATTER_MOST];
	iso_real *panel[SCATTER_PARTS]; /* NULL: none */
};

/* What a record has of frame k, and of how many frames; NULL: none. */
const json_t *scatter_of_frame(const json_t *record, size_t k, size_t *n);

int scatter_read(struct scatter_seen *s, const json_t *record);
void scatter_free(struct scatter_seen *s);

#endif
