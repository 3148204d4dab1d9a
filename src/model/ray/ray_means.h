/* SPDX-License-Identifier: BSD-3-Clause */
/* What attenuation and efficiencies make of the lines between equal rings: their mean over the lines that
   are in a slice, on the way from crystal to crystal.

   Two crystals, seen along z, span a *sheet*: t, the share of the way between them, and z. It has a line
   for every two rings. mu is summed along t between *steps*, a column of slices each, and a line adds up
   what it meets at the steps. So the factor of every line, attenuation times efficiencies, is known. t is
   cut into *cells*; the mean of a cell and slice is over the lines that are there, by how long they stay.

   Several lines a pair end at other z than its crystals, each kind of them (ray_rings.h) elsewhere: each kind has means
   of its own, over its own lines. Where rings see nothing, efficiencies change from slice to slice, so that lines must
   count where they are. Attenuation changes little from line to line of a pair: that between the crystals serves all. */
#ifndef ISO_RAY_MEANS_H
#define ISO_RAY_MEANS_H

#include "ray_rings.h"

#include <stdlib.h>

/* Pointers are host or device memory, as the backend needs. */
struct ray_means {
	int kinds;           /* of lines: struct ray_rings */
	int rings;           /* of the scanner, or as many between its first and last as can be afforded */
	bool joined;         /* not all: a ring stands for several of the scanner's */
	double first, pitch; /* z of ring 0, and from ring to ring, mm */
	double reach;        /* rings in coincidence are at most so many apart */
	bool solid_angle;    /* how lines weigh: ray_rings.h */
	const float *eff;    /* (rings, crystals of a ring); NULL: 1 */
	/* the attenuation map */
	struct ray_grid plane; /* one slice of it, 1 mm thick from z = 0 */
	int skip, cut;         /* slices before those that are taken, and these */
	int by, per;           /* slices that are one, or parts of a slice */
	int nz;                /* what they become */
	double low, thick;     /* of them, mm */
	const float *column;   /* (pixels, nz), 1/mm; NULL: no attenuation */
	int steps;             /* from t = 0 to 1 */
	/* the image */
	int cells; /* from t = 0 to 1 */
	int slices;
	int sub;   /* parts of a slice: 1, or more where what a line leaves depends on where in it it is */
	int parts; /* slices * sub */
	double base, part; /* lower face of the first part, and thickness, mm */
	/* Lines count in slices whose middle is nearer than `width` slices, less so over the last `fall` of these: they are
	   shared by two slices (Joseph), or a ring stands for several. */
	float width, fall;
	int stride; /* from cell to cell of the means of a kind: slices, and some to fill up */
};

#define MEANS_NEXT .001f /* how much the lines of the cells before and after count */
#define MEANS_PAD 2      /* rows of a sheet beyond the slices of mu: one below, one above; all 0 */

ISO_HD double means_z(const struct ray_means *m, int ring)
{
	return m->first + m->pitch * ring;
}

/* (length of the line over its length in the plane, l mm)^2. */
ISO_HD float means_tilt(const struct ray_means *m, float l, int i, int k)
{
	float dz = (float)m->pitch * (float)(k - i) / l;

	return 1 + dz * dz;
}

/* The weight of a line, but for its scale; 0: rings that are in no coincidence. */
ISO_HD float means_shape(const struct ray_means *m, float tilt, int i, int k)
{
	float in = fminf(fmaxf((float)m->reach + 1 - (float)abs(i - k), 0), 1);

	return m->solid_angle ? in / (tilt * sqrtf(tilt)) : in * sqrtf(tilt);
}

/* Row of the sheet that a ring is in, rounded as the tracer rounds; it may be beyond the sheet, whose border has
   zeros. At t, the line of rings i and k is in row(i) + (row(k) - row(i)) t. It is looked up a quarter of a step
   before each step and a quarter behind. */
ISO_HD float means_row(const struct ray_means *m, int ring)
{
	return (float)((means_z(m, ring) - m->low) / m->thick) + 1;
}

/* z of a ring, or `up` mm above it, in parts of slices, rounded as the tracer rounds: rings may lie on faces. */
ISO_HD float means_part(const struct ray_means *m, int ring, double up)
{
	return (float)((means_z(m, ring) + up - m->base) / m->part);
}

/* rings_join; of a ring that stands for several, lines to itself are of either kind. */
ISO_HD bool means_join(const struct ray_means *m, const struct ray_spread *s, int kind, int i, int k)
{
	return rings_join(s, kind, i, k) || (m->joined && i == k);
}

/* A line from t = first / cells to (last + 1) / cells: in part `now` of the slices, and
   from there from part to part, up or down. Where is told in cells from `first` on. */
struct means_walk {
	int now, up, left; /* left: parts still to enter */
	float at, every;   /* where it enters the next, and from there to the one after */
	float beside;      /* share of a line that enters no other part, for the part `up` of it: slices are
	                      shared by where lines are, and this keeps its z (Joseph) */
};

/* z, z_k: means_part of the rings. */
ISO_HD struct means_walk means_walk(const struct ray_means *m, float z, float z_k, int first, int last)
{
	struct means_walk w;
	float each = (z_k - z) / (float)m->cells;
	float a = iso_fma(each, (float)first, z), b = iso_fma(each, (float)(last + 1), z);
	float from = floorf(a), to = floorf(b);

	w.now = (int)from;
	w.up = to > from ? 1 : -1;
	w.left = abs((int)to - w.now);
	w.every = w.left ? 1 / fabsf(each) : 0;
	w.at = (w.up > 0 ? from + 1 - a : a - from) * w.every;
	w.beside = 0;
	if (m->sub > 1 && w.left == 0) {
		float off = .5f * (a + b) - from - .5f; /* from the middle of the part */
		int other = w.now + (off < 0 ? -1 : 1);

		w.up = other - w.now;
		if (w.now >= 0 && w.now < m->parts && other >= 0 && other < m->parts) w.beside = fabsf(off);
	}
	return w;
}

/* Parts first .. last count in slice j, each so much. */
ISO_HD int means_first(const struct ray_means *m, int j)
{
	int first = (int)floorf(((float)j + .5f - m->width) * (float)m->sub - .5f) + 1;

	return first > 0 ? first : 0;
}

ISO_HD int means_last(const struct ray_means *m, int j)
{
	int last = (int)ceilf(((float)j + .5f + m->width) * (float)m->sub - .5f) - 1;

	return last < m->parts ? last : m->parts - 1;
}

ISO_HD float means_counts(const struct ray_means *m, int j, int part)
{
	float up = ((float)part + .5f) / (float)m->sub - ((float)j + .5f);

	if ((j == 0 && up < 0) || (j == m->slices - 1 && up > 0)) up = 0; /* nobody shares the outer halves */
	return fminf(fmaxf((m->width - fabsf(up)) / m->fall, 0), 1);
}

/* Sizes alone. `lines`: between rings, of all pairs in the plane together, at most; sheet_bytes: of a sheet and
   the factors of its lines, which on CUDA lie in shared memory. */
struct ray_means iso_means_shape(const struct ray_sens *q, double lines, int64_t sheet_bytes);

/* Arrays, of the room, on the host. */
int iso_means_create(struct ray_means *m, struct iso_room *room, const struct ray_sens *q);
void iso_means_plan(struct iso_plan *plan, const struct ray_means *m, const struct ray_sens *q);

/* What is found at a time: means of the pairs in the plane of offsets o0 .. o1, lines of kinds k0 .. k1. They lie as
   (pairs, kinds, cells, stride). */
struct means_round {
	int64_t o0, o1;
	int k0, k1;
};

/* Of a kind of lines of a pair: (cells, stride). */
ISO_HD int64_t means_size(const struct ray_means *m)
{
	return (int64_t)m->cells * m->stride;
}

/* Where those of a pair of round w are; k: number of the pair, `first`: of the first of the round. */
ISO_HD int64_t means_place(const struct ray_means *m, const struct means_round *w, int64_t k, int64_t first,
                           int kind)
{
	return ((k - first) * (w->k1 - w->k0) + kind - w->k0) * means_size(m);
}

/* Floats of an offset and kind: the means of its pairs, and 1 over the sum of shapes. */
static inline int64_t means_floats(const struct ray_means *m, const struct iso_pairs *p)
{
	return p->per_ring * means_size(m) + (int64_t)m->cells * m->slices;
}

/* The kinds of lines of a round: the two of one line, so that rounds of several offsets fit; without means all. */
static inline int means_kinds(const struct ray_means *m, int kinds)
{
	return m && kinds > 2 ? 2 : kinds;
}

/* The first round, as large as any: of as many offsets as fit so many bytes, beside `table` floats an offset, but at least
   one. m NULL: there are no means. */
static inline struct means_round means_at_once(const struct ray_means *m, const struct ray_sens *q,
                                               double bytes, int64_t table)
{
	int kinds = means_kinds(m, rings_kinds(q));
	int64_t floats = table + (m ? kinds * means_floats(m, &q->pairs) : 0);
	double offsets = bytes / (double)sizeof(float) / (double)floats;
	struct means_round w = { 0, (int64_t)fmax(1, fmin((double)rings_offsets(q), offsets)), 0, kinds };

	return w;
}

/* On CUDA: tables of an offset, of all kinds of lines; what is at work together takes so many bytes. */
#define MEANS_BATCH_BYTES 5e8

static inline int64_t means_table(const struct ray_sens *q)
{
	return (int64_t)rings_kinds(q) * (RINGS_STEPS + 1) * q->grid.n[2];
}

static inline struct means_round means_batch(const struct ray_sens *q, const struct ray_means *m)
{
	return means_at_once(m, q, MEANS_BATCH_BYTES, means_table(q));
}

/* The cell that t is in. */
ISO_HD int means_cell(const struct ray_means *m, double t)
{
	int cell = (int)(t * m->cells);

	return cell < m->cells ? cell : m->cells - 1;
}

/* The cells of a line of the image, and one on either side, as these count in them a little. */
ISO_HD void means_cells(const struct ray_means *m, const struct rings_line *l, int *low, int *high)
{
	int a = means_cell(m, rings_t(l, l->ray.x0)), b = means_cell(m, rings_t(l, l->ray.x1));

	*low = (a < b ? a : b) - 1;
	*high = (a < b ? b : a) + 1;
	if (*low < 0) *low = 0;
	if (*high >= m->cells) *high = m->cells - 1;
}

/* On the CPU: work space of the threads, and the means of a round, at most as large as `most`; of offsets o whose bit
   o % groups is set in `which`. Cells that no pixel of the image is in are left as they are. */
struct means_work;
int iso_means_open(struct means_work **w, struct iso_room *room, const struct ray_means *m,
                   const struct ray_rings *r, struct means_round most);
void iso_means_open_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct ray_means *m,
                         const struct ray_sens *q, struct means_round most);
void iso_means_fill(float *mean, struct means_work *w, struct means_round round, int groups, unsigned which);

#endif
