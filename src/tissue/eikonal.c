/* SPDX-License-Identifier: BSD-3-Clause */
/* First arrivals in any medium: |grad T| = 1/c by fast sweeping (Zhao 2005) of the factored form T = s0 d + u (Luo and
   Qian 2012), of second order where two neighbours are reached. d is exact, so that u is smooth round the source.

   Along an axis, towards the neighbour that is earlier, the slope of T is alpha u + beta. The squares of the slopes add
   up to 1/c^2. */
#include "tissue_delays.h"

#define STILL 1e-6 /* us: sweeps that change less are the last */

enum { PASSES = 40, NEAR_SOURCE = 2 };

struct field {
	const struct sound_nodes *g;
	const double *slow, *s;
	double s0;
	double *u, *t, *d;
	bool *fixed;
	int64_t step[3];
};

/* A neighbour that is earlier. */
struct slope {
	double t, reached; /* for the order of the axes; its own */
	double alpha, beta;
};

static double coordinate(const struct field *f, int a, int64_t i)
{
	return f->g->n[a] > 1 ? f->g->first[a] + (double)i * f->g->h : f->s[a];
}

/* Node i, at[a] along axis a. False: neither neighbour is reached. */
static bool find_slope(struct slope *p, const struct field *f, int64_t i, int64_t at, int a)
{
	double h = f->g->h, before = at > 0 ? f->t[i - f->step[a]] : INFINITY;
	double behind = at < f->g->n[a] - 1 ? f->t[i + f->step[a]] : INFINITY;
	int e = before <= behind ? -1 : 1;
	int64_t one = i + e * f->step[a], two = one + e * f->step[a], end = at + 2 * e;
	double r = coordinate(f, a, at) - f->s[a], d = f->d[i], s0 = f->s0, t1 = fmin(before, behind);
	double there = d > 0 ? e * s0 * r / d : 0;

	if (t1 == INFINITY) return false;
	p->reached = p->t = t1;
	if (fabs(r) < h) p->t = s0 * sqrt(fmax(d * d - r * r, 0)) + f->u[one] - 1e-3 * s0 * h;
	if (end >= 0 && end < f->g->n[a] && f->t[two] <= t1) {
		p->alpha = 1.5 / h;
		p->beta = (f->u[two] - 4 * f->u[one]) / (2 * h) - there;
	} else {
		p->alpha = 1 / h;
		p->beta = -f->u[one] / h - there;
	}
	return true;
}

/* The latest axis goes where there is no root, or the root is earlier than a neighbour that it was made of. */
static double solve(const struct field *f, int64_t i, struct slope *p, int n)
{
	double w = f->slow[i];

	for (int a = 1; a < n; a++) /* from the earliest to the latest */
		for (int b = a; b > 0 && p[b].t < p[b - 1].t; b--) {
			struct slope swap = p[b];

			p[b] = p[b - 1];
			p[b - 1] = swap;
		}
	for (; n > 1; n--) {
		double aa = 0, ab = 0, bb = -w * w, disc, u;

		for (int a = 0; a < n; a++) {
			aa += p[a].alpha * p[a].alpha;
			ab += p[a].alpha * p[a].beta;
			bb += p[a].beta * p[a].beta;
		}
		disc = ab * ab - aa * bb;
		if (disc < 0) continue;
		u = (-ab + sqrt(disc)) / aa;
		if (f->s0 * f->d[i] + u >= p[n - 1].t) return u;
	}
	return (w - p[0].beta) / p[0].alpha;
}

/* Returns how much the node changes. */
static double update(struct field *f, int64_t i, const int64_t at[3], bool earlier)
{
	struct slope p[3];
	int n = 0;

	if (f->fixed[i]) return 0;
	for (int a = 0; a < 3; a++)
		if (f->g->n[a] > 1 && find_slope(p + n, f, i, at[a], a)) n++;
	if (n == 0) return 0;
	double u = solve(f, i, p, n), t = f->s0 * f->d[i] + u, old = f->t[i];

	if (earlier && !(t < old)) return 0;
	f->u[i] = u;
	f->t[i] = t;
	return old == INFINITY ? INFINITY : fabs(t - old);
}

static double sweep(struct field *f, int direction, bool earlier)
{
	const int64_t *n = f->g->n;
	double most = 0;

	for (int64_t z = 0; z < n[2]; z++)
		for (int64_t y = 0; y < n[1]; y++)
			for (int64_t x = 0; x < n[0]; x++) {
				const int64_t at[3] = { direction & 1 ? n[0] - 1 - x : x,
					                direction & 2 ? n[1] - 1 - y : y,
					                direction & 4 ? n[2] - 1 - z : z };

				most = fmax(most,
				            update(f, (at[2] * n[1] + at[1]) * n[0] + at[0], at, earlier));
			}
	return most;
}

static void set(struct field *f, int64_t i, double u)
{
	f->u[i] = u;
	f->t[i] = f->s0 * f->d[i] + u;
	f->fixed[i] = true;
}

/* On the outer faces that the source sees. */
static bool on_lit_face(const struct field *f, const int64_t at[3])
{
	for (int a = 0; a < 3; a++) {
		double first = f->g->first[a], last = first + (double)(f->g->n[a] - 1) * f->g->h;

		if (f->g->n[a] < 2) continue;
		if (at[a] == 0 && f->s[a] < first) return true;
		if (at[a] == f->g->n[a] - 1 && f->s[a] > last) return true;
	}
	return false;
}

static bool is_outside(const struct sound_nodes *g, const double s[3])
{
	for (int a = 0; a < 3; a++)
		if (g->n[a] > 1 && (s[a] < g->first[a] || s[a] > g->first[a] + (double)(g->n[a] - 1) * g->h))
			return true;
	return false;
}

static void start(struct field *f, double water)
{
	const int64_t *n = f->g->n;
	bool outside = is_outside(f->g, f->s);
	int64_t i = 0;

	f->s0 = outside ? water : iso_sound_between(f->slow, f->g, water, f->s);
	for (int64_t z = 0; z < n[2]; z++)
		for (int64_t y = 0; y < n[1]; y++)
			for (int64_t x = 0; x < n[0]; x++, i++) {
				const int64_t at[3] = { x, y, z };
				double place[3];

				for (int a = 0; a < 3; a++) place[a] = coordinate(f, a, at[a]);
				f->d[i] = sound_length(place, f->s);
				f->u[i] = f->t[i] = INFINITY;
				f->fixed[i] = false;
				if (outside && on_lit_face(f, at)) set(f, i, 0);
				if (!outside && f->d[i] <= (NEAR_SOURCE + .01) * f->g->h)
					set(f, i, f->d[i] / 2 * (f->slow[i] - f->s0));
			}
}

int64_t iso_eikonal_work(const struct sound_nodes *g)
{
	int64_t n = sound_nodes_all(g);

	return 2 * n + (n + 7) / 8;
}

double iso_eikonal(double *u, double *work, const struct sound_nodes *g, const double *slow, double water,
                   const double s[3])
{
	int64_t n = sound_nodes_all(g);
	struct field f = { .g = g,
		           .slow = slow,
		           .s = s,
		           .u = u,
		           .t = work,
		           .d = work + n,
		           .fixed = (bool *)(work + 2 * n),
		           .step = { 1, g->n[0], g->n[0] * g->n[1] } };
	double most = INFINITY;

	start(&f, water);
	for (int pass = 0; pass < PASSES && most > STILL; pass++) {
		most = 0;
		for (int k = 0; k < 8; k++) {
			bool turns = false; /* along an axis that has one node */

			for (int a = 0; a < 3; a++) turns |= k >> a & 1 && g->n[a] < 2;
			if (!turns) most = fmax(most, sweep(&f, k, pass == 0));
		}
	}
	return f.s0;
}
