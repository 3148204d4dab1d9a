/* SPDX-License-Identifier: BSD-3-Clause */
/* The arcs of a ring in a box: along each axis low <= c + reach cos(phi - phase) <= high leaves two
   intervals of azimuth, alike on both sides of the phase; the arcs are what three axes leave. */
#include "sradon.h"

#define TURN (2 * M_PI)
#define MARGIN 1e-3 /* steps: a point on the bound is in, and acosf good to 1e-6 is enough */

/* Intervals of azimuth in [0, 2 pi], apart from one another. One axis makes three at most, since
   one of two may go across 0; each further axis adds two. */
struct intervals {
	int n;
	struct interval {
		double from, to;
	} at[SRADON_ARCS];
};

/* They stay in order. */
static void add(struct intervals *v, double from, double to)
{
	int i = v->n;

	if (from > to) return;
	for (; i > 0 && from < v->at[i - 1].from; i--) v->at[i] = v->at[i - 1];
	v->at[i] = (struct interval){ from, to };
	v->n++;
}

/* [from, to], at most a turn, begins in [-2 pi, 2 pi]. */
static void add_turned(struct intervals *v, double from, double to)
{
	double by = from < 0 ? TURN : from >= TURN ? -TURN : 0;

	from += by;
	to += by;
	add(v, from, fmin(to, TURN));
	if (to > TURN) add(v, 0, to - TURN);
}

/* acos of v, cut to [-1, 1]. */
static double angle(double v)
{
	return v >= 1 ? 0 : v <= -1 ? M_PI : (double)acosf((float)v);
}

/* Where one axis is inside. */
static void along(struct intervals *in, const struct sradon_hoop *h, int a)
{
	double over = 1 / h->reach[a], low = (h->low[a] - h->c[a]) * over;
	double high = (h->high[a] - h->c[a]) * over, u, v;

	in->n = 0;
	if (low > 1 || high < -1) return;
	u = angle(high);
	v = angle(low);
	if (high >= 1) {
		add_turned(in, h->phase[a] - v, h->phase[a] + v);
	} else if (low <= -1) {
		add_turned(in, h->phase[a] + u, h->phase[a] + TURN - u);
	} else {
		add_turned(in, h->phase[a] + u, h->phase[a] + v);
		add_turned(in, h->phase[a] - v, h->phase[a] - u);
	}
}

static void both(struct intervals *in, const struct intervals *x, const struct intervals *y)
{
	in->n = 0;
	for (int i = 0; i < x->n; i++)
		for (int j = 0; j < y->n; j++)
			add(in, fmax(x->at[i].from, y->at[j].from), fmin(x->at[i].to, y->at[j].to));
}

int iso_sradon_arcs(struct sradon_arc arc[SRADON_ARCS], const struct sradon_hoop *h, double step,
                    double shift, int n)
{
	struct intervals here, spare[2], *in = &spare[0];
	double over = 1 / step;
	int arcs = 0, next = 0;

	in->n = 1;
	in->at[0] = (struct interval){ 0, TURN };
	for (int a = 0; a < 3 && in->n; a++) {
		if (h->c[a] - h->reach[a] >= h->low[a] && h->c[a] + h->reach[a] <= h->high[a]) continue;
		struct intervals *cut = &spare[in == spare];

		along(&here, h, a);
		both(cut, in, &here);
		in = cut;
	}
	for (int i = 0; i < in->n; i++) {
		int first = (int)ceil(in->at[i].from * over - shift - MARGIN);
		int last = (int)floor(in->at[i].to * over - shift + MARGIN);

		first = first > next ? first
		                     : next; /* neighbours may share a point by the margin: the first's */
		last = last < n - 1 ? last : n - 1;
		if (first > last) continue;
		arc[arcs++] = (struct sradon_arc){ first, last - first + 1 };
		next = last + 1;
	}
	return arcs;
}
