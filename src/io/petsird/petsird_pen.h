/* SPDX-License-Identifier: BSD-3-Clause */
/* What a PETSIRD file is written of: numbers, texts and lists. */
#ifndef ISO_PETSIRD_PEN_H
#define ISO_PETSIRD_PEN_H

#include "petsird.h"

#include "file/out.h"
#include "isotome/scanner.h"

/* Writes to a file until something fails. */
struct pen {
	struct iso_out *out;
	int st;
};

/* 7 bits a byte, lowest first. Returns the bytes. */
int64_t pen_varint(uint8_t *to, uint64_t v);

void pen_bytes(struct pen *p, const void *v, int64_t n);
void pen_count(struct pen *p, uint64_t v);
void pen_zeros(struct pen *p, int n);
void pen_text(struct pen *p, const char *text);
void pen_floats(struct pen *p, const double *v, int n); /* as floats */
void pen_pair(struct pen *p); /* lists of lists by kinds of modules, of which there is one */

/* petsird_pairs.c: which crystals of a ring are in coincidence; with `f` the efficiencies of crystals, and of pairs its
   factors times the weight by solid angle. f->crystal NULL: none of this. */
void petsird_put_efficiencies(struct pen *p, const iso_scanner *s, const struct iso_pair_factors *f);

#endif
