/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of crystal pairs in the axes of an object that moves: which pieces of the scan a pair is at, and where its line lies
   then. What all devices share. */
#ifndef ISO_RAY_MOVED_KERN_H
#define ISO_RAY_MOVED_KERN_H

#include "ray_sens.h"

enum { MOVED_BESIDE = 2 }; /* maps that do not move with the object */

/* Pointers are host or device memory, as the backend needs. */
struct ray_moved {
	struct ray_sens q;
	int64_t n;                   /* pieces */
	const double *weight;        /* of each */
	const double *until;         /* n + 1: w_0 + ... + w_k-1 */
	const struct iso_pose *back; /* from crystals to the object */
	struct {
		struct ray_grid grid;
		const iso_real *mu;          /* NULL: there is no such map */
		const struct iso_pose *back; /* to the map; NULL: it lies where the crystals are */
	} beside[MOVED_BESIDE];
	int64_t each;   /* M: pieces of a pair; 0: all of them */
	bool counts;    /* every line weighs 1: n of a voxel is looked for */
	int64_t step;   /* of pairs those with number % step == 0, */
	int64_t stride; /* which are among every so manieth */
};

struct moved_line {
	double p1[3], p2[3];
	struct ray_sens_pair pair; /* as the crystals are */
	int64_t piece;
	double weight; /* 0: there is no line */
};

ISO_HD void moved_apply(double y[3], const struct iso_pose *p, const double x[3])
{
	for (int i = 0; i < 3; i++)
		y[i] = p->m[4 * i] * x[0] + p->m[4 * i + 1] * x[1] + p->m[4 * i + 2] * x[2] + p->m[4 * i + 3];
}

/* Of pair i, its j-th piece: the one in which W (j + frac(i phi)) / M falls. */
ISO_HD int64_t moved_piece(const struct ray_moved *m, int64_t i, int64_t j)
{
	double part = (double)((uint64_t)i * 11400714819323198485u) / 18446744073709551616.; /* 2^64 */
	double at = m->until[m->n] * ((double)j + part) / (double)m->each;
	int64_t low = 0, high = m->n;

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		*(m->until[middle] <= at ? &low : &high) = middle;
	}
	return low;
}

ISO_HD int64_t moved_lines_of_pair(const struct ray_moved *m)
{
	return m->each ? m->each : m->n;
}

/* How many lines there are; tables on the host. */
static inline int64_t moved_lines(const struct ray_moved *m)
{
	const int64_t pairs = m->q.drawn[m->q.n_strata];

	return (pairs + m->stride - 1) / m->stride * m->q.lines * moved_lines_of_pair(m);
}

/* Line l of all: j-th piece of line l / moved_lines_of_pair. */
ISO_HD void moved_get_line(struct moved_line *line, const struct ray_moved *m, int64_t l)
{
	int64_t of_pair = moved_lines_of_pair(m), j = l % of_pair, at = l / of_pair;
	int64_t sample = at / m->q.lines * m->stride;

	line->pair = ray_sens_sample(&m->q, sample * m->q.lines + at % m->q.lines, RAY_SENS_WHOLE);
	line->weight = 0;
	if (!(line->pair.weight > 0) || line->pair.number % m->step > 0) return;
	line->piece = m->each ? moved_piece(m, line->pair.number, j) : j;
	line->weight =
		line->pair.weight * (m->each ? m->until[m->n] / (double)m->each : m->weight[line->piece]);
	if (m->counts) line->weight = 1. / m->q.lines;
	moved_apply(line->p1, m->back + line->piece, line->pair.p1);
	moved_apply(line->p2, m->back + line->piece, line->pair.p2);
}

/* Ends of the line in the axes of a map beside. */
ISO_HD void moved_beside_ends(double p1[3], double p2[3], const struct ray_moved *m, int b,
                              const struct moved_line *line)
{
	memcpy(p1, line->pair.p1, 3 * sizeof *p1);
	memcpy(p2, line->pair.p2, 3 * sizeof *p2);
	if (!m->beside[b].back) return;
	moved_apply(p1, m->beside[b].back + line->piece, line->pair.p1);
	moved_apply(p2, m->beside[b].back + line->piece, line->pair.p2);
}

/* On the device: the sum over all lines of weight x attenuation x chord. `s` and `m` with its tables are on the host. */
#define ISO_RAY_MOVED_CUDA "iso_ray_moved_cuda"
typedef int iso_ray_moved_fn(iso_real *s, iso_ctx *ctx, const struct ray_moved *m);

#endif
