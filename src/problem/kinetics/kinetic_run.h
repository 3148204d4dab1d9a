/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of 'kinetics': what its parts share. */
#ifndef ISO_KINETIC_RUN_H
#define ISO_KINETIC_RUN_H

#include "kinetics.h"

#include "core/room.h"
#include "core/size.h"
#include "isotome/dynamic.h"
#include "kinetics/basis.h"

struct kinetic_run {
	struct recon *r;
	const struct kinetic_host *host;
	iso_basis *basis;
	int bins, k;
	double *edge, *mean, *weight; /* bins + 1; k x bins; bins: expected counts of a value of 1 */
	int32_t *part;                /* the bin of each row */
	int64_t rows;                 /* here */
	int64_t *number;              /* of each row in the whole file */
	int64_t *in_bin;              /* bins: rows, of all ranks */
	struct iso_array sens;        /* borrowed */
	iso_prior **prior;            /* k; NULL: no penalty */
	double *beta;
	struct iso_kinetic em;
	struct iso_room room;
};

struct kinetic_words kinetic_words_of(const struct kinetics *k);

/* kinetic_bins.c: events and data of all bins, and the operator; r->data, r->op. */
int kinetic_bins_make(struct kinetic_run *k);

/* kinetic_penalty.c */
int kinetic_penalty_make(struct kinetic_run *k, const iso_real *start);
void kinetic_penalty_free(struct kinetic_run *k);

/* kinetic_maps.c: the maps, whether the curves fit, and replicates, as files and in the record. */
int kinetic_maps_write(struct kinetic_run *k, const iso_real *start);

#endif
