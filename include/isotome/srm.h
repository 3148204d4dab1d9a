/* SPDX-License-Identifier: BSD-3-Clause */
/* Model srm: the system matrix of two panels, made by transport or in closed form, its files, its table,
   and the operator that it gives. Lengths are mm; weights are probabilities.

   Threads: a matrix that a function changes belongs to one thread; any number of threads may read one,
   and use the operators made of it, each its own. */
#ifndef ISOTOME_SRM_H
#define ISOTOME_SRM_H

#include "isotome/memory.h"
#include "isotome/op.h"
#include "isotome/panels.h"
#include "isotome/ray.h"

ISO_BEGIN_C

/* h(u, l; v): the probability that a pair of photons from voxel v is recorded by the upper crystal
   u and the lower crystal l. Kept for the voxels of one pitch cell, folded by symmetry. */
typedef struct iso_srm iso_srm;

/* Which voxels are simulated. ALL: one voxel for all its images by head exchange, mirrors and axis swap.
   MIRROR: the same without the swap. NONE: every voxel of the cell. AUTO: with the swap if the scanner allows
   it. */
enum iso_srm_symmetry { ISO_SRM_AUTO, ISO_SRM_ALL, ISO_SRM_MIRROR, ISO_SRM_NONE };

struct iso_srm_options {
	size_t size; /* size of this struct */
	enum iso_srm_symmetry symmetry;
	uint64_t seed;
	int outcomes;                           /* outcomes of each photon, all combined; 0 or 1: one */
	struct iso_transport_options transport; /* `extended` and `seed` are set here */
};

/* Makes a matrix of no pairs yet. ISO_EARG for a swap that the scanner does not allow, for readout by block,
   which a shift by one crystal changes, and for more crystals than positions of 4 bytes can number. */
ISO_CHECKED int iso_srm_create(iso_srm **m, const struct iso_panels *p, const struct iso_srm_options *o);
void iso_srm_free(iso_srm *m);

/* Pairs first ... first + n - 1 of each simulated voxel, in rounds over all of them. With until_counts > 0 it
   continues by itself, up to n pairs, until the core has this many counts per element. After a failure or
   ISO_ECANCEL the matrix has the rounds that were whole. With several ranks each rank simulates its share of the
   pairs, and has the counts of all ranks after a round. */
ISO_CHECKED int iso_srm_simulate(iso_srm *m, iso_ctx *ctx, int64_t first, int64_t n, double until_counts);

/* What so many pairs a voxel will take; the size of the counts is an estimate. */
void iso_srm_plan(struct iso_plan *plan, const iso_ctx *ctx, const iso_srm *m, int64_t pairs);

/* Adds the counts of another run of the same scanner, physics and symmetry: other random numbers
   (another seed, or other pairs). The sum has the bits of one long run. */
ISO_CHECKED int iso_srm_add(iso_srm *m, const iso_srm *other);

/* Without noise: the solid angle that two crystals share, seen from the points of a voxel, times
   the probability that both layers stop a photon of 511 keV. */
ISO_CHECKED int iso_srm_analytic(iso_srm **m, iso_ctx *ctx, const struct iso_panels *p);

/* From rows (plane, phase x, phase z, ux, uz, lx, lz, weight), crystals counted from the voxel's
   own cell; with layers > 1 the layers of u and l stand before the weight. A folded column is the
   mean of its images that have rows. What fits no place in the scanner is dropped. */
ISO_CHECKED int iso_srm_import(iso_srm **m, const struct iso_panels *p, const struct iso_array *rows);

/* The folded table as such rows; free with iso_array_free. */
ISO_CHECKED int iso_srm_export(struct iso_array *rows, const iso_srm *m);

/* One bound on the weight for the whole table; exactly one of the first three is above 0. */
struct iso_srm_bound {
	double share; /* share of the scanner's sensitivity to keep, up to 1 */
	double min_weight;
	double per_column; /* elements, mean over the folded columns */
	int max_offset;    /* crystals |l - u| an axis; 0: any */
};

/* Makes the table again from all counts. ISO_EARG if there are no counts. */
ISO_CHECKED int iso_srm_threshold(iso_srm *m, iso_ctx *ctx, const struct iso_srm_bound *b);

/* A matrix as a file. Without its counts (`final`) it can't be continued, added to or thresholded
   again. `command`: one line for the header, or NULL; `sidecar` as in iso_write. */
ISO_CHECKED int iso_srm_write(const char *path, const iso_srm *m, bool final, const char *command,
                              const char *sidecar);
ISO_CHECKED int iso_srm_write_check(const char *path, bool force); /* as iso_write_check */

/* Checksums are verified. Without `counts` only the table is read. */
ISO_CHECKED int iso_srm_read(iso_srm **m, const char *path, bool counts);
/* The same, if it fits: as iso_read_within. */
ISO_CHECKED int iso_srm_read_within(iso_srm **m, const iso_ctx *ctx, const char *path, bool counts);

/* Its columns without their elements: for plans of memory and iso_srm_info (without bytes_full,
   bytes_row and bytes_tap), and for nothing else. */
ISO_CHECKED int iso_srm_peek(iso_srm **m, const char *path);

struct iso_srm_info {
	size_t size; /* size of this struct, set by the caller */
	struct iso_panels panels;
	const char *source; /* "transport", "analytic", "import" */
	struct iso_srm_options options;
	bool swap;
	int voxels, classes;       /* simulated voxels, and classes of columns they stand for */
	int64_t pairs;             /* of each simulated voxel */
	int runs;                  /* ranges of pairs: see iso_srm_run */
	int64_t columns, elements; /* of the folded table */
	struct iso_srm_bound bound;
	double least_weight; /* kept */
	double recorded,
		usable;    /* mean over columns of the probability of a coincidence in heads without end,
					   and of a coincidence that fits the scanner */
	double kept, lost; /* share of the scanner's sensitivity */
	double lost_least, lost_most; /* of a column */
	double core_counts;           /* mean counts of the elements that hold half of `usable` */
	double core_elements;         /* number of these elements per column */
	double once;                  /* share of the usable elements that were hit once */
	int64_t usable_elements;
	/* Storages of Table I of Meng 2019, bytes at 8 an element: every voxel; rows of unsigned
	   directions; columns of all phases and half the planes; and rows of half the planes, which
	   their central symmetry allows */
	double bytes_full, bytes_row, bytes_column, bytes_tap;
	bool has_counts, can_cut; /* can_cut: iso_srm_threshold has something to make the table from */
	const char *command;      /* "" if not known */
};

/* What the matrix was made of and holds; texts are valid as long as the matrix. */
ISO_CHECKED int iso_srm_info(struct iso_srm_info *info, const iso_srm *m);

/* The number after the last pair that a matrix has of its own seed. */
int64_t iso_srm_next(const iso_srm *m);

/* Range number i of pairs. */
void iso_srm_run(uint64_t *seed, int64_t *first, int64_t *n, const iso_srm *m, int i);

/* Per folded column (y, px, pz), the last fastest: recorded, usable and kept probability at the
   middle of large heads, and the share of the sensitivity of its voxels that was lost. */
const double *iso_srm_column_sens(const iso_srm *m);

/* ---- the table in the orders of the projectors: each element of each order once ---- */

struct iso_srm_pair {
	int16_t ux, uz, lx, lz; /* from the voxel's own cell */
};

/* Column (y Dx + px) Dz + pz holds places ptr[column] ... ptr[column + 1] - 1; all planes, or
   those up to the middle one. */
struct iso_srm_columns {
	int64_t n; /* columns */
	int64_t *ptr;
	struct iso_srm_pair *pair;
	iso_real *w;
};

struct iso_srm_voxel {
	int16_t y, i, k; /* i, k from the first voxel of the upper crystal's cell */
};

/* Rows of the upper crystal (0, 0) and the lower one d. Signed: direction number
   (dx + Ncx-1)(2 Ncz-1) + dz + Ncz-1; unsigned, the mirrors being left out: dx Ncz + dz. Rows:
   elements of direction number j are ptr[j] ..., by (y, phase, position). Taps: those of plane y
   and direction j are ptr[y n_directions + j] ..., by (phase, position). */
struct iso_srm_rows {
	int64_t n, directions; /* lists, and directions */
	int64_t *ptr;
	struct iso_srm_voxel *voxel;
	iso_real *w;
};

struct iso_srm_order {
	int a, b;         /* layers of the upper and the lower crystal */
	bool half;        /* planes 0 ... (Ny-1)/2 only */
	bool is_unsigned; /* directions dx, dz >= 0 only */
};

/* Each call makes a new result. Free it with the functions below. */
ISO_CHECKED int iso_srm_columns(struct iso_srm_columns *c, iso_ctx *ctx, const iso_srm *m,
                                const struct iso_srm_order *o);
ISO_CHECKED int iso_srm_rows(struct iso_srm_rows *r, iso_ctx *ctx, const iso_srm *m,
                             const struct iso_srm_order *o);
ISO_CHECKED int iso_srm_taps(struct iso_srm_rows *r, iso_ctx *ctx, const iso_srm *m,
                             const struct iso_srm_order *o);
void iso_srm_columns_free(struct iso_srm_columns *c);
void iso_srm_rows_free(struct iso_srm_rows *r);

struct iso_srm_model {
	size_t size;        /* size of this struct */
	const iso_srm *srm; /* has a table; need not outlive the call */
	int n_sub;
	enum iso_subset_rule rule; /* ISO_MOD, ISO_RANDOM or ISO_GROUPS: sets of unsigned
					   directions, with all their shifts and mirrors */
	uint64_t seed;             /* of ISO_RANDOM */
	const int *deal;           /* subset of each unsigned direction |dx| Ncz + |dz|, instead of a
				   rule; NULL: by the rule */
};

/* A x: expected counts of each LOR, in the order of iso_panels_lors, from an image on the grid of
   iso_panels_grid. On CUDA, weights that were counted are rounded to 11 bits, within their own error.
   ISO_EARG: more subsets than directions. */
ISO_CHECKED int iso_srm_op_create(iso_op **op, iso_ctx *ctx, const struct iso_srm_model *p);
void iso_srm_op_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_srm_model *p);

ISO_END_C
#endif
