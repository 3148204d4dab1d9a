/* SPDX-License-Identifier: BSD-3-Clause */
/* Triples inside: rows of voxels and weights one behind the other, times, and sums over them that are the same for any
   number of threads. */
#ifndef ISO_TRIPLES_H
#define ISO_TRIPLES_H

#include "core/ctx.h"
#include "core/hd.h"
#include "core/room.h"
#include "isotome/lifetime.h"

#include <math.h>
#include <string.h>

struct triples_cuda;
struct triples_cuda_fn;

struct iso_triples {
	struct iso_room room;
	const struct triples_cuda_fn
		*fn; /* of the device that methods run on, and what it holds; NULL: the CPU */
	struct triples_cuda *cuda;
	struct iso_lifetime_model model; /* whose window chose them */
	int64_t n, given, voxels;        /* n: inside of the window */
	int64_t *start;                  /* (n + 1) */
	int32_t *voxel;
	iso_real *w;
	double *t;     /* against the offset */
	double *sigma; /* of each; NULL: the model's */
	int64_t *file; /* place among those given */
	double *time;  /* (given) as measured */
};

/* Rows of one triple. */
struct triple_row {
	int64_t n;
	const int32_t *voxel;
	const iso_real *w;
};

static inline struct triple_row triple_row(const struct iso_triples *t, int64_t j)
{
	return (struct triple_row){ t->start[j + 1] - t->start[j], t->voxel + t->start[j],
		                    t->w + t->start[j] };
}

static inline double triple_sigma(const struct iso_triples *t, int64_t j)
{
	return t->sigma ? t->sigma[j] : t->model.sigma;
}

/* The triples in parts, as many for any number of threads: each part adds up images of its own. */
struct parts {
	int n;
	int64_t values; /* of a part */
	double *v;
};

/* Of n triples, images of so many values together; into the room. */
int parts_open(struct parts *p, struct iso_room *room, int64_t n, int64_t values);
void parts_clear(const struct parts *p, const iso_ctx *ctx);

/* The first and the number of triples of a part, of n. */
static inline struct iso_rows parts_rows(const struct parts *p, int64_t n, int part)
{
	const int64_t first = n / p->n * part + (n % p->n < part ? n % p->n : part);

	return (struct iso_rows){ first, n / p->n + (part < n % p->n) };
}

/* to = the sum of all parts. */
void parts_sum(double *to, const struct parts *p, const iso_ctx *ctx);

/* ISO_EARG for times or errors out of range, a window that is none, ...; and its defaults. */
int lifetime_model_take(struct iso_lifetime_model *full, const struct iso_lifetime_model *m);

/* Of what a caller asks for, with its defaults; ISO_EARG for what does not go together. */
int lifetime_take(struct iso_lifetime *full, const struct iso_triples *t, const struct iso_lifetime *p);
int lifetime_maps_take(struct iso_lifetime_maps *full, const struct iso_lifetime_maps *to);

/* Images x of EM over the triples, `powers` of them side by side (x[powers v + k]): weights t'^k, k < powers. From 1.
   copies: how often each triple counts; NULL: once. */
int lifetime_em(double *x, const struct iso_triples *t, const struct iso_lifetime *p, int powers,
                const uint8_t *copies);

/* The activity in counts: its sum times the sensitivity is that of triples that are not random. */
int lifetime_activity(double *f, const struct iso_triples *t, const struct iso_lifetime *p);

/* t' of a triple is so much more than its t. */
static inline double triple_shift(const struct iso_triples *t)
{
	return t->model.offset - t->model.lo + .5;
}

#endif
