/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library's own code sees of a norm. */
#ifndef ISO_NORM_OWN_H
#define ISO_NORM_OWN_H

#include "norm_q.h"

#include "isotome/norm.h"

struct iso_norm {
	struct iso_room room;
	iso_real *values; /* eps as float, for whoever takes efficiencies as an array */
	int64_t n;
	double *eps, *sd; /* of each crystal */
	double *t, *z;    /* of each class; NULL: 1 */
	double *t_sd, *z_sd;
	bool *dead, *weak;
	struct norm_classes classes; /* of the scanner */
	float sample[64][3];         /* places of crystals floor(j n/64) */
	char scanner[64];
	bool relative;
	struct iso_norm_found found;
};

/* norm_make.c: arrays of a norm for the scanner and the components of p. */
int norm_prepare(iso_norm *n, const struct iso_norm_fit *p);

/* norm_counts.c: the counts of the pairs of a scan. astray: on no pair; room: of which the arrays are; lists: of the pairs that
   have any, else a byte of each pair. */
int norm_counts_make(struct norm_counts *c, double *all, double *astray, struct iso_room *room, iso_ctx *ctx,
                     const struct norm_rows *rows, const struct iso_norm_scan *s, bool lists);

/* norm_report.c: gains of harmonics, chi-square, and how far classes without a factor are off. */
int norm_report(struct iso_norm_found *found, const struct norm_fit *f);

/* Crystals that count less than 1/16 of the median of those near them; net: F_aa of each. */
int norm_weak(bool *weak, int64_t *n, const struct norm_fit *f, const double *net);

void norm_sample(float sample[64][3], const iso_scanner *s);

#endif
