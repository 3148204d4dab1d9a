/* SPDX-License-Identifier: BSD-3-Clause */
/* The system matrix of two panels inside: counts by class, columns given whole, and the table.

   The way of the data: counts (srm_run.c), analytic columns (srm_analytic.c) or imported ones
   (srm_import.c) -> folded columns -> one bound (srm_fold.c) -> the table -> a file (srm_file.c),
   columns, rows or taps (srm_order.c). */
#ifndef ISO_SRM_H
#define ISO_SRM_H

#include "core/room.h"
#include "srm_kern.h"

ISO_BEGIN_C

/* ---- a sorted list of (key, count), packed: steps of the key and counts, 7 bits a byte ---- */

struct srm_list {
	uint8_t *v;
	int64_t bytes, room;
	int64_t n;     /* keys */
	uint64_t last; /* greatest key */
};

struct srm_cursor {
	const uint8_t *at, *end;
	uint64_t key, count;
};

void iso_srm_list_free(struct srm_list *l);

/* Keys must grow, counts be above 0. */
int iso_srm_list_push(struct srm_list *l, uint64_t key, uint64_t count);

struct srm_cursor iso_srm_list_begin(const struct srm_list *l);
bool iso_srm_list_next(struct srm_cursor *c); /* false: at the end */

/* ISO_EINPUT unless the bytes are n keys below `limit`, in order. */
int iso_srm_list_check(const struct srm_list *l, uint64_t limit, const char *who);

/* Appends n sorted keys; count NULL: they may repeat, and each counts 1. */
int iso_srm_list_from(struct srm_list *l, const uint64_t *key, const uint32_t *count, int64_t n);

/* *sum, empty before, = x + y. */
int iso_srm_list_add(struct srm_list *sum, const struct srm_list *x, const struct srm_list *y);

/* What was counted of a class. */
struct srm_counts {
	struct srm_list list;
	uint64_t recorded; /* coincidences in extended heads, usable or not */
};

int iso_srm_counts_add(struct srm_counts *to, const struct srm_counts *more);

/* Sorts by the lowest `bits` bits; `spare` has room for n. */
void iso_srm_sort(uint64_t *v, uint64_t *spare, int64_t n, int bits);

/* ---- elements of one folded column ---- */

struct srm_entry {
	uint32_t at; /* position */
	iso_real w;
	uint64_t count; /* that gave it; 0: not counted */
	int32_t shifts; /* voxels that it fits: set when the table is made */
	bool near;      /* its crystals lie no farther apart than asked for */
};

struct srm_entries {
	struct srm_entry *v;
	int64_t n, room;
};

int iso_srm_entries_push(struct srm_entries *e, struct srm_entry x);

/* By position, into memory of its size; equal ones keep their order. */
int iso_srm_entries_sort(struct srm_entries *e);

/* ---- the matrix ---- */

enum srm_source { SRM_TRANSPORT, SRM_ANALYTIC, SRM_IMPORT };

struct srm_range {
	uint64_t seed;
	int64_t first, n;
};

struct srm_class {
	struct srm_column column;
	int stays;
};

enum { SRM_RECORDED, SRM_USABLE, SRM_KEPT, SRM_LOST, SRM_SENS };

struct srm_noise {
	double core_counts, core_elements, once;
	int64_t usable_elements;
};

struct iso_srm {
	struct iso_panels panels;
	struct srm_shape shape;
	struct iso_srm_options options;
	enum srm_source source;

	int n_class;
	struct srm_class *class_of; /* n_class */
	bool has_counts;
	struct srm_counts *counts; /* n_class */
	int n_range;
	struct srm_range *range;
	int64_t pairs; /* sum over the ranges */

	struct srm_entries *given; /* folded columns of SRM_ANALYTIC and SRM_IMPORT, or NULL */

	int64_t n_column, n; /* folded columns, elements */
	int64_t *ptr;        /* n_column + 1; NULL: no table yet */
	uint32_t *at;
	iso_real *w;
	double (*sens)[SRM_SENS]; /* n_column */
	struct iso_room room,
		table; /* that have these arrays: table ptr, at and w, room the others but range */
	struct iso_srm_bound bound;
	double least_weight, kept;
	struct srm_noise noise;
	char *command;
};

/* Shape, classes and the checks of iso_srm_create; no counts yet. */
int iso_srm_make(iso_srm **m, const struct iso_panels *p, const struct iso_srm_options *o,
                 enum srm_source source);

/* Hands m out or, after failure `st`, frees it; returns st. */
int iso_srm_hand_out(iso_srm **out, iso_srm *m, int st);

/* Voxels simulated for a class: the symmetries g that give them, in out[8]. */
int iso_srm_voxels(int out[8], const iso_srm *m, int class_number);
int iso_srm_all_voxels(const iso_srm *m); /* how many, of all classes */

/* The folded columns, in order: y, px, pz with pz fastest. */
struct srm_column iso_srm_column(const struct srm_shape *s, int64_t number);
int64_t iso_srm_column_number(const struct srm_shape *s, struct srm_column c);
int iso_srm_class(const struct srm_shape *s, struct srm_column folded);
int iso_srm_multiplicity(const struct srm_shape *s, struct srm_column folded);

/* ISO_EARG if pairs of the range are in the matrix already. */
int iso_srm_check_range(const iso_srm *m, struct srm_range r);
int iso_srm_add_range(iso_srm *m, struct srm_range r);

/* Adds fresh counts of all classes or, on failure, of none. */
int iso_srm_take(iso_srm *m, const struct srm_counts *fresh, int threads);

/* Noise alone, for iso_srm_simulate. */
int iso_srm_measure(struct srm_noise *n, const iso_srm *m, iso_ctx *ctx);

/* ---- the text of a file: scanner, physics, pairs, bound ---- */

struct json_t;

/* NULL without memory; `command` may be NULL. */
struct json_t *iso_srm_header(const iso_srm *m, const char *command);

/* A matrix of this scanner and these ranges of pairs, without table and counts. ISO_EINPUT unless it
   has so many folded columns. */
int iso_srm_from_header(iso_srm **m, struct json_t *root, const char *path, int64_t columns);

/* In the order of their numbers, ended by NULL. */
extern const char *const iso_srm_symmetries[], *const iso_srm_sources[];

/* ---- factors ---- */

/* iso_panels_attenuation of lines that lie in the map's axes as `pose` has them; NULL: as they are. */
int iso_panels_attenuation_at(iso_real *alpha, iso_ctx *ctx, const struct iso_panels *p,
                              const struct iso_array *mu, const struct iso_pose *pose);

ISO_END_C
#endif
