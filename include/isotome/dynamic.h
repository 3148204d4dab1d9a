/* SPDX-License-Identifier: BSD-3-Clause */
/* How sure an image is: replicates of a scan, their images, and what follows from them; independent parts of a list.

   A replicate weighs each event by a Poisson number of mean 1. The number follows from the seed, the number of the event
   in its file and the number of the replicate alone (Philox-4x32-10). So replicates are the same for any threads, ranks and
   blocks, and no draw depends on another event.

   Threads: functions may run at the same time. A handle serves one call at a time. */
#ifndef ISOTOME_DYNAMIC_H
#define ISOTOME_DYNAMIC_H

#include "isotome/algo.h"
#include "isotome/prior.h"
#include "isotome/problem.h"
#include "isotome/ray.h"

ISO_BEGIN_C

/* Lists of their own: their draws are independent of each other. */
enum iso_draw_list { ISO_DRAW_EVENTS, ISO_DRAW_DELAYED };

#define ISO_REPLICATES_MOST 10000

/* w[i] = weight of event event[i] in a replicate, 0 to 12. event: numbers in the whole file, from 0; NULL: 0, 1, ... */
ISO_CHECKED int iso_replicate_weights(unsigned char *w, int64_t n, const uint64_t *event, uint64_t seed,
                                      int64_t replicate, enum iso_draw_list list);

/* y[i] = counts of line line[i] of a histogram in a replicate, a Poisson number of mean count[i]: a whole number, not
   negative. line: NULL: 0, 1, ... */
ISO_CHECKED int iso_replicate_counts(iso_real *y, int64_t n, const iso_real *count, const uint64_t *line,
                                     uint64_t seed, int64_t replicate);

/* A part of a list: each event is in it or not, by its number alone. So a part of a Poisson list is a Poisson list. */
struct iso_part {
	size_t size;     /* sizeof(struct iso_part) */
	double share;    /* above 0, at most 1: that share of the events; 0: part `part` of `parts` */
	int part, parts; /* 1 to parts, whose parts have no event in common and together have all */
	uint64_t seed;
	enum iso_draw_list list;
};

/* kept[i] = 1 if event event[i] is in the part, else 0. Parts of greater share and the same seed hold those of smaller. */
ISO_CHECKED int iso_part_events(unsigned char *kept, int64_t n, const uint64_t *event,
                                const struct iso_part *p);

/* ---- several images through one traversal of the rays ---- */

/* iso_op_em_step of several images, each with counts of its own, in one pass over the rays where the operator can, else one
   after the other. Both give the same bits on the CPU. On CUDA they may differ in the last bits of a float, in model ray; but an
   image has the same bits among any others, and in whatever place. x and acc: `images` images, one behind the other. y: n_out counts of each
   image, one behind the other, in the operator's order; data->y must be NULL. stat: one an image, without log-likelihood
   (NaN). */
ISO_CHECKED int iso_op_em_step_many(iso_real *acc, struct iso_em_stat *stat, iso_op *op, int sub, int images,
                                    const iso_real *x, const iso_real *y, const struct iso_em_data *data);

/* Adds what such steps of n events take on CUDA besides iso_ray_plan, for any number of images; on the CPU nothing. */
void iso_ray_many_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_ray *p, int64_t n);

typedef struct iso_replicator iso_replicator;

/* Which replicates. */
struct iso_replicates {
	size_t size; /* sizeof(struct iso_replicates) */
	uint64_t seed;
	int batch;             /* images a pass over the rays, at most; 0: 4. It shows in no bit */
	const int64_t *number; /* event number of each row of the data; NULL: 0, 1, ... Borrowed */
};

/* EM as iso_em_run does it, of replicates of the data. With p->data.y the rows are lines of a histogram, whose counts must
   be whole numbers; else events. x: the start of every replicate, copied. The operator's data stay on the device. */
ISO_CHECKED int iso_replicator_create(iso_replicator **r, const struct iso_em *p, const iso_real *x,
                                      const struct iso_replicates *w);

/* The images of replicates first ... first + n - 1, one behind the other, on the host. n: at most the batch. */
ISO_CHECKED int iso_replicator_run(iso_real *x, iso_replicator *r, int64_t first, int n);

/* Images a pass over the rays, at most. */
int iso_replicator_batch(const iso_replicator *r);

/* Updates so far for which a replicate had no counts, and left its image as it was. */
int64_t iso_replicator_empty(const iso_replicator *r);
void iso_replicator_free(iso_replicator *r);

/* ---- statistics ---- */

/* Mean and standard deviation of images, voxel by voxel, in the order in which they come (Welford, in double). */
typedef struct iso_spread iso_spread;
ISO_CHECKED int iso_spread_create(iso_spread **s, int64_t n);
ISO_CHECKED int iso_spread_add(iso_spread *s, const iso_real *x);

/* sd divides by the number of images less 1. ISO_EARG with fewer than 2 images. Either may be NULL. */
ISO_CHECKED int iso_spread_get(iso_real *mean, iso_real *sd, const iso_spread *s);
int64_t iso_spread_count(const iso_spread *s);
void iso_spread_free(iso_spread *s);

/* A region over replicates. */
struct iso_interval {
	double value;     /* of the image itself */
	double mean, sd;  /* of the replicates */
	double low, high; /* value -+ t(0.975; replicates - 1) sd: 95 % */
	double shift;     /* (mean - value) / sd; 0 where both are 0 */
};

/* v[i] from the table of `replicates` rows of `regions` values, and value[i], those of the image itself. covariance:
   regions x regions values; NULL: not wanted. At least 2 replicates. */
ISO_CHECKED int iso_intervals(struct iso_interval *v, double *covariance, int64_t replicates, int regions,
                              const double *table, const double *value);

/* The 0.975 quantile of Student's t with so many degrees of freedom; NaN below 1. */
double iso_student_975(int64_t degrees);

/* ---- covariance of a penalised image, without replicates ---- */

/* At the image that maximises L(x) - beta R(x), or near to it. Arrays on the host, data in the file's order. */
struct iso_fisher {
	size_t size; /* sizeof(struct iso_fisher) */
	iso_op *op;
	struct iso_em_data data; /* as of struct iso_em */
	const iso_real *sens;    /* of all rows */
	iso_prior *prior;        /* any but tv, in the operator's context */
	double beta;
	const iso_real *image;
	double tolerance;     /* a solve ends at this residual over its right side; 0: 1e-4 */
	double most_residual; /* of the image: above it nothing is solved; 0: no such limit */
	int iterations;       /* most iterations of a solve; 0: 100 */
	int batch;            /* regions a pass over the rays; 0: 4 */
};

struct iso_fisher_result {
	size_t size; /* sizeof(struct iso_fisher_result) */
	double residual; /* how far the image is from the maximum: root of the mean of (gradient / sens)^2, weighted by
	                    sens times image. 0.02 and less is near enough */
	int iterations; /* of the longest solve */
	int64_t free;   /* voxels that are not held at 0 */
};

/* covariance: regions x regions values, of the means of the image over weight[i n ...], n weights of each region that sum
   to 1. u: solutions of all regions, regions x n values; NULL: not wanted. ISO_EARG if a solve does not end. */
ISO_CHECKED int iso_fisher_run(double *covariance, iso_real *u, struct iso_fisher_result *r,
                               const struct iso_fisher *p, int regions, const iso_real *weight);

/* ---- the last run ---- */

/* Mean and standard deviation of the replicates that the last run of the problem made (parameter 'replicates'); either may be
   NULL. Free them with iso_array_free. ISO_EARG without such a run. */
ISO_CHECKED int iso_problem_replicates(struct iso_array *mean, struct iso_array *sd, const iso_problem *p);

ISO_END_C
#endif
