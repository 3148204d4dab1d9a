/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of scattered coincidences and how it is read between its samples, for CPU and CUDA alike.

   Sample detectors lie at azimuths 2 pi i / detectors on rings -reach + r step. Rows h[ring pair][i][k][u]: of ring a at
   most ring b, detector i of ring a and i + apart + k of ring b, u every `du` mm, middle value u = 0. Row of ring b
   before ring a: h_BA(u) = h_AB(-u). Catmull-Rom in both azimuths and in u, linear in both rings, never below 0. */
#ifndef ISO_SCATTER_TABLE_KERN_H
#define ISO_SCATTER_TABLE_KERN_H

#include "base/constants.h"
#include "core/hd.h"
#ifndef __CUDACC__
#	include "core/loop/four.h"
#endif

/* Values along u: read so many at a time; taken for a part of a bin that is at most TABLE_STEPS long. */
enum { TABLE_LANES = 4, TABLE_TAPS = 24, TABLE_STEPS = TABLE_TAPS - 6 };

/* Steps along u. With 3 of them the cubic makes tails that are 1 to 2 % too high, 2 sigma from a sharp edge. */
enum { TABLE_PER_SIGMA = 4 };

struct scatter_grid {
	int32_t detectors, rings; /* samples a ring; rings */
	int32_t apart,
		offsets; /* least distance of i and j round the ring, and how many there are from it on */
	int32_t cells;   /* along u, odd; 1: no time of flight */
	double rho, reach, step; /* mm */
	double middle;           /* z of the middle of the ring */
	double du, sigma;        /* mm */
};

ISO_HD int64_t table_ring_pairs(const struct scatter_grid *g)
{
	return (int64_t)g->rings * (g->rings + 1) / 2;
}

/* Rings a <= b. */
ISO_HD int64_t table_ring_pair(const struct scatter_grid *g, int32_t a, int32_t b)
{
	return (int64_t)a * g->rings - (int64_t)a * (a - 1) / 2 + (b - a);
}

ISO_HD int64_t table_rows(const struct scatter_grid *g)
{
	return table_ring_pairs(g) * g->detectors * g->offsets;
}

/* Number of a row in the part of a ring pair; -1: the detectors are too near each other. */
ISO_HD int32_t table_offset(const struct scatter_grid *g, int32_t i, int32_t j)
{
	int32_t k = j - i - g->apart;

	k = k < 0 ? k + g->detectors : k;
	k = k < 0 ? k + g->detectors : k;
	return k < g->offsets ? i * g->offsets + k : -1;
}

/* Of all rows; rings a <= b. */
ISO_HD int64_t table_row(const struct scatter_grid *g, int32_t a, int32_t i, int32_t b, int32_t j)
{
	int32_t k = table_offset(g, i, j);

	return k < 0 ? -1 : table_ring_pair(g, a, b) * g->detectors * g->offsets + k;
}

/* Weights of the four values around a place that is t of the way from the second to the third. */
ISO_HD void table_cubic(float w[4], float t)
{
	w[0] = ((2 - t) * t - 1) * t / 2;
	w[1] = ((3 * t - 5) * t * t + 2) / 2;
	w[2] = ((4 - 3 * t) * t + 1) * t / 2;
	w[3] = (t - 1) * t * t / 2;
}

/* One end among the samples. */
struct table_end {
	int32_t i[4], ring; /* detectors; the lower one of two rings */
	float w[4], up;     /* their weights; share of the upper ring */
};

ISO_HD struct table_end table_end(const struct scatter_grid *g, const double p[3])
{
	struct table_end e;
	double turn = atan2(p[1], p[0]) / (2 * M_PI), place = (turn < 0 ? turn + 1 : turn) * g->detectors;
	double z = (p[2] + g->reach) / g->step, low = floor(place);

	for (int k = 0; k < 4; k++) {
		int32_t i = (int32_t)low - 1 + k;

		e.i[k] = i < 0 ? i + g->detectors : i >= g->detectors ? i - g->detectors : i;
	}
	table_cubic(e.w, (float)(place - low));
	z = z < 0 ? 0 : z > g->rings - 1 ? g->rings - 1 : z;
	e.ring = (int32_t)z < g->rings - 1 ? (int32_t)z : g->rings > 1 ? g->rings - 2 : 0;
	e.up = (float)(z - e.ring);
	return e;
}

/* Where on the cylinder the line of an event ends, z from the middle of the ring, and u there. false: it misses it. */
ISO_HD bool table_line(double p1[3], double p2[3], double *u, const struct scatter_grid *g,
                       const struct iso_event *e)
{
	double d[3], a = 0, b = 0, c = -g->rho * g->rho, length = 0;

	for (int k = 0; k < 3; k++) {
		p1[k] = (double)e->p1[k] - (k == 2 ? g->middle : 0);
		p2[k] = (double)e->p2[k] - (k == 2 ? g->middle : 0);
		d[k] = p2[k] - p1[k];
		length += d[k] * d[k];
	}
	for (int k = 0; k < 2; k++) {
		a += d[k] * d[k];
		b += p1[k] * d[k];
		c += p1[k] * p1[k];
	}
	if (!(a > 0) || !(b * b - a * c > 0)) return false;
	double root = sqrt(b * b - a * c), t1 = (-b - root) / a, t2 = (-b + root) / a;

	for (int k = 0; k < 3; k++) {
		double from = p1[k];

		p1[k] = from + t1 * d[k];
		p2[k] = from + t2 * d[k];
	}
	length = sqrt(length);
	*u = ISO_C_MM_PER_PS * (double)e->dt_ps / 2 + (1 - t1 - t2) / 2 * length;
	return fabs(*u) < 1e9;
}

/* Values along u and their weights, a multiple of TABLE_LANES of them, all in the table; without time of flight one. */
struct table_taps {
	int32_t first, n; /* n = 0: none in the table */
	float w[TABLE_TAPS];
};

/* Adds the cubic at u, times `weight`; values that are not among the taps are 0. */
ISO_HD void table_tap(struct table_taps *t, const struct scatter_grid *g, double u, float weight)
{
	double place = u / g->du + (g->cells - 1) / 2, low = floor(place);
	int32_t at = (int32_t)low - 1 - t->first;
	float w[4];

	table_cubic(w, (float)(place - low));
	for (int k = 0; k < 4; k++)
		if (at + k >= 0 && at + k < t->n) t->w[at + k] += weight * w[k];
}

/* Of the integral over [u0, u1], at most TABLE_STEPS steps long, by Gauss's two places in each of equal parts of at most
   half a sigma; u0 = u1: of the value there. */
ISO_HD void table_taps(struct table_taps *t, const struct scatter_grid *g, double u0, double u1)
{
	double middle = (g->cells - 1) / 2, low = floor(u0 / g->du + middle) - 1,
	       high = floor(u1 / g->du + middle) + 3;

	t->first = 0;
	t->n = 0;
	if (high <= 0 || low >= g->cells) return;
	t->n = ((int32_t)(high - low) + TABLE_LANES - 1) / TABLE_LANES * TABLE_LANES;
	t->first = (int32_t)(low < 0 ? 0 : low);
	if (t->first + t->n > g->cells) t->first = g->cells - t->n;
	for (int k = 0; k < t->n; k++) t->w[k] = 0;
	if (!(u1 > u0)) {
		table_tap(t, g, u0, 1);
		return;
	}
	int n = (int)ceil((u1 - u0) / (g->sigma / 2) - .01);
	double width = (u1 - u0) / n;

	for (int i = 0; i < n; i++)
		for (int side = -1; side <= 1; side += 2)
			table_tap(t, g, u0 + (i + .5 + side * .28867513459481287) * width,
			          (float)(width / 2));
}

/* Two ends, the one of the lower ring first: where in the part of a ring pair the rows of their detectors are, and with
   what weights. */
struct table_around {
	int32_t at[16], turned[16]; /* turned: of ring b before ring a */
	float w[16];
};

ISO_HD void table_around(struct table_around *r, const struct scatter_grid *g, const struct table_end *a,
                         const struct table_end *b)
{
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			int32_t row = table_offset(g, a->i[i], b->i[j]),
				turned = table_offset(g, b->i[j], a->i[i]);
			bool there = row >= 0 && turned >= 0;

			r->at[4 * i + j] = there ? row * g->cells : 0;
			r->turned[4 * i + j] = there ? turned * g->cells : 0;
			r->w[4 * i + j] = there ? a->w[i] * b->w[j] : 0;
		}
}

/* sum += weight times TABLE_LANES values along u, summed over 16 rows. */
#ifdef __CUDACC__
ISO_HD void table_lanes(float sum[TABLE_LANES], const float *h, const int32_t at[16], const float w[16],
                        float weight)
{
	float s[TABLE_LANES] = { 0, 0, 0, 0 };

	for (int r = 0; r < 16; r++)
		for (int k = 0; k < TABLE_LANES; k++) s[k] += w[r] * h[at[r] + k];
	for (int k = 0; k < TABLE_LANES; k++) sum[k] += weight * s[k];
}
#else
static inline void table_lanes(float sum[TABLE_LANES], const float *h, const int32_t at[16],
                               const float w[16], float weight)
{
	float4 s = four_of(0);

	for (int r = 0; r < 16; r++) s += four_of(w[r]) * four_load(h + at[r]);
	four_store(sum, four_load(sum) + four_of(weight) * s);
}
#endif

/* The value between two ends, the one of the lower ring first. */
ISO_HD float table_value(const struct scatter_grid *g, const float *h, const struct table_end *a,
                         const struct table_end *b, const struct table_around *r, const struct table_taps *t)
{
	float sum = 0;

	for (int corner = 0; corner < 4; corner++) {
		int32_t ra = a->ring + (corner & 1), rb = b->ring + (corner >> 1);
		float w = (corner & 1 ? a->up : 1 - a->up) * (corner >> 1 ? b->up : 1 - b->up);
		bool turned = ra > rb;

		if (!(w > 0)) continue;
		const float *part = h + (turned ? table_ring_pair(g, rb, ra) : table_ring_pair(g, ra, rb)) *
		                                g->detectors * g->offsets * g->cells;
		const int32_t *at = turned ? r->turned : r->at;

		if (g->cells == 1) {
			for (int k = 0; k < 16; k++) sum += w * r->w[k] * part[at[k]];
			continue;
		}
		for (int32_t k = 0; k < t->n; k += TABLE_LANES) {
			float lane[TABLE_LANES] = { 0, 0, 0, 0 };

			if (turned) {
				table_lanes(lane, part + g->cells - t->first - k - TABLE_LANES, at, r->w, w);
				for (int q = 0; q < TABLE_LANES; q++)
					sum += t->w[k + q] * lane[TABLE_LANES - 1 - q];
			} else {
				table_lanes(lane, part + t->first + k, at, r->w, w);
				for (int q = 0; q < TABLE_LANES; q++) sum += t->w[k + q] * lane[q];
			}
		}
	}
	return sum;
}

/* h of an event: per mm at its u, or over a bin of this width, mm, around it; without time of flight in all. */
ISO_HD float table_event(const struct scatter_grid *g, const float *h, const struct iso_event *e, double bin)
{
	double p1[3], p2[3], u;

	if (!table_line(p1, p2, &u, g, e)) return 0;
	struct table_end a = table_end(g, p1), b = table_end(g, p2);
	struct table_around rows;
	struct table_taps t;
	float sum = 0;

	t.first = t.n = 0;
	if (a.ring > b.ring) {
		struct table_end c = a;

		a = b;
		b = c;
		u = -u;
	}
	table_around(&rows, g, &a, &b);
	if (g->cells == 1) {
		sum = table_value(g, h, &a, &b, &rows, &t);
	} else {
		double most = TABLE_STEPS * g->du, end = (g->cells + 1) / 2 * g->du,
		       high = u + bin / 2 < end ? u + bin / 2 : end;
		double low = u - bin / 2 > -end ? u - bin / 2 : -end;

		do {
			double next = low + most < high ? low + most : high;

			table_taps(&t, g, low, next);
			if (t.n > 0) sum += table_value(g, h, &a, &b, &rows, &t);
			low = next;
		} while (low < high);
	}
	return sum > 0 ? sum : 0;
}

#endif
