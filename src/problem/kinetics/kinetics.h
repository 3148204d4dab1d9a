/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves and frames that kinetic models are made of, for reconstructions and for fits of frames. */
#ifndef ISO_PROBLEM_KINETICS_H
#define ISO_PROBLEM_KINETICS_H

#include "problem/problem.h"

#include "isotome/kinetics.h"

/* Frames of a series and their times. */
struct kinetic_frames {
	struct iso_array images; /* no values: only the head was read */
	int n;
	double *edge_s;     /* n + 1 */
	double half_life_s; /* they are corrected for its decay; 0: for none */
	bool density; /* in activity per volume; else counts/mm of each frame, which its duration divides */
	char unit[32];
};

/* The frames of a file, by the record beside it. `head`: without values. */
int kinetic_frames_read(struct kinetic_frames *f, struct record *record, const char *path, bool head);
void kinetic_frames_free(struct kinetic_frames *f);

/* What makes a basis: the words of the model, and files. */
struct kinetic_words {
	const char *input, *basis, *unit, *decay;
	double zero_s, delay_s, plasma_ratio;
	bool unitless;
};

/* Whether the input is FRAMES:MASK; *length: of FRAMES. */
bool kinetic_input_is_image(int *length, const char *input);

/* ISO_EARG where words and files do not go together; before anything is read. */
int kinetic_words_check(const struct kinetic_words *w, const struct iso_basis_spec *s);

/* The basis of the words. first_s: where the first bin begins. */
int kinetic_basis_make(iso_basis **b, struct record *record, const struct kinetic_words *w,
                       const struct iso_basis_spec *s, double half_life_s, double first_s);

/* The input alone. */
int kinetic_curve_make(iso_curve **c, struct record *record, const struct kinetic_words *w,
                       double half_life_s);

#endif
