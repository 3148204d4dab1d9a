/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures after NEMA from files: what runs of all kinds share. */
#ifndef ISO_NEMA_RUN_H
#define ISO_NEMA_RUN_H

#include "isotome/nema.h"
#include "nema_read.h"
#include "ssrb.h"

#include <jansson.h>

struct nema_job {
	iso_ctx *ctx;
	struct nema_standard standard;
	struct nema_series series;
	iso_scanner *scanner;
	struct ssrb g;
	struct iso_nema_options o;
	const char *path; /* of the description */
	json_t *json;     /* the result */
};

int iso_nema_counting(struct nema_job *j);
int iso_nema_sensitivity(struct nema_job *j);
int iso_nema_accuracy(struct nema_job *j);

/* The scanner, and the cells of its sinograms: slices of the middle length_mm; 0: all. */
int iso_nema_scanner(struct nema_job *j, double length_mm);

/* Prompts of a run into zeroed cells, and its delayeds into others; *has_late: there are delayeds. */
int iso_nema_prompts(int32_t *cells, struct ssrb_told *told, const struct nema_job *j,
                     const struct nema_run *r);
int iso_nema_late(int32_t *cells, bool *has_late, const struct nema_job *j, const struct nema_run *r);
struct ssrb_file iso_nema_file(const struct nema_job *j, const struct nema_run *r);

/* Numbers as JSON: null where they are not finite. `stride` bytes apart. */
json_t *iso_nema_real(double v);
json_t *iso_nema_list(const double *v, int64_t n, size_t stride);
void iso_nema_set(json_t *o, const char *key, double v);

#endif
