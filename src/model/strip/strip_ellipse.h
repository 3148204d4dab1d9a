/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip on the CPU: the ellipse of an event, cut into tiles, and the terms weight x pixel in them; for strip_cpu.c
   alone.

   Image columns are contiguous here, and an ellipse is cut into bands of LANES rows. A band is gone
   through column by column, the pixels of all its rows at once. Along a row the logarithm of the
   weight is a polynomial in the column, so from one column to the next it takes multiplications
   only, no exponential: w(i+1) = w(i) r(i), r(i+1) = r(i) s(i), and so on up to the degree.

   What comes before the rows is done for LANES events at once, an event in each lane. What comes after is
   a loop for each step over all bands of an event, so that the processor has other bands to go on with
   while it waits for a result. */
#ifndef ISO_STRIP_ELLIPSE_H
#define ISO_STRIP_ELLIPSE_H

#include "core/loop/fixed.h"
#include "strip.h"
#include "strip_lanes.h"

#include <omp.h>

#define RIM_WEIGHT ((iso_real)1.1108996538242306e-2) /* exp(-STRIP_REACH2 / 2) */
#define TILE 16 /* columns, before products are started anew: rounding adds up */

/* eq7 and tan: degree of the polynomial, and how small the quantity it is a series in must be at
   the border of the ellipse. What is left out is then 1e-4 of the exponent there, where weights are
   1 % of the highest, and 64 times less half way: an event's sum is good to some 1e-6, to 2e-4 where
   nothing but the border lies in the image. In double no row is near enough, and weights are those of
   strip_weight. */
#define DEGREE 5
#ifdef ISO_DOUBLE
#	define NEAR 0
#else
#	define NEAR ((iso_real).1)
#endif

/* LANES events, each in a lane of its own. In the row s rows above (y~, z~) an ellipse reaches from
   t s - sqrt(wide - narrow s^2) to t s + sqrt(wide - narrow s^2), in columns from z~. Its rightmost point is
   `top` rows above (y~, z~), its leftmost as far below. */
struct group {
	int low[LANES], rows[LANES], iz[LANES]; /* rows: none if not above 0 */
	iso_real below[LANES], above[LANES];    /* s of its lowest and highest row */
	iso_real fz[LANES], t[LANES], wide[LANES], narrow[LANES], top[LANES]; /* fz: z~ above column iz */
	iso_real factor[LANES];                                               /* of all weights */
	iso_real m0[LANES], m1[LANES], m2[LANES], s0[LANES], s1[LANES];     /* as strip_powers, but in rows */
	iso_real l0[LANES], l1[LANES], turn[LANES], rise[LANES], q2[LANES]; /* and columns, not mm */
};

/* LANES rows from `row`, and `n` columns: a part of a band, most often all of it. */
struct tile {
	int row, first, n;
};

/* A tile before its terms, a row in each lane. In the column u columns behind the row's middle the weight
   is, over the event's factor,

	root 2^(c[0] + c[1] u + c[2] u^2 + ...)

   and 0 where u^2 > half2. With N = root^-2 (1 - e u) and root ab = b0 + b1 u for eq7; for tan e is what
   tau* changes by from column to column. gauss has the root alone, 0 in rows that the ellipse does not
   reach. */
struct start {
	lanes_at u, half2, root; /* u: of the tile's first column */
	lanes_at b0, b1, e;
	lanes_at more[DEGREE - 2]; /* what set_terms wants beside the three powers */
};

/* An event's tiles, and their terms, weight x pixel; in a step of ratios the pixel is that of u. */
struct patch {
	int tiles;
	double sum;   /* of weight x pixel: that of the image */
	double terms; /* of all terms, in a step of ratios */
	struct tile *tile;
	iso_real *t; /* a column of a tile after another */
};

/* What events are worked out in, one for each thread. */
struct scratch {
	struct group g;
	int *first, *end; /* columns of a band, of each event of the group */
	struct start *start;
	iso_real *power; /* exponents of two, then their powers: POWERS lanes for each tile */
	struct patch p;
};

enum { POWERS = 3 };

struct strip_work {
	int bands, stride; /* of the largest ellipse; of an image column */
	int tiles;         /* of any ellipse, at most */
	struct iso_fixed acc;
	iso_real *x; /* columns, padded, over x_scale */
	double x_scale;
	iso_real *u; /* the same of u, in a step of ratios */
	double u_scale;
	int64_t cut;     /* terms, so far */
	iso_real *block; /* the same, one for each thread: what a chunk adds to */
	/* for each thread: */
	int *band;           /* 2 LANES `bands` */
	struct start *start; /* `tiles` */
	iso_real *power;     /* `powers` */
	struct tile *tile;   /* `tiles` */
	iso_real *t;         /* `terms` */
	int64_t powers, terms;
	int64_t *chunk;           /* number of the first chunk of each subset, n_sub + 1 */
	struct iso_em_stat *stat; /* one for each chunk */
};

static int round_up(int n)
{
	return (n + LANES - 1) / LANES * LANES;
}

static void take_scratch(struct scratch *v, const struct strip_work *w)
{
	int64_t thread = omp_get_thread_num();

	v->first = w->band + 2 * LANES * thread * w->bands;
	v->end = v->first + LANES * w->bands;
	v->start = w->start + thread * w->tiles;
	v->power = w->power + thread * w->powers + round_up(w->tiles); /* gauss: see set_rows */
	v->p.tile = w->tile + thread * w->tiles;
	v->p.t = w->t + thread * w->terms;
}

/* ---- events ---- */

/* Lane k. */
INLINE void set_lane(struct group *g, int k, const struct strip_params *p, const struct strip_line *l,
                     enum iso_strip_kernel kernel)
{
	const iso_real pixel = (iso_real)p->pixel, over = 1 / ((l->up + l->down) * pixel * pixel);
	const iso_real wide = STRIP_REACH2 * over, narrow = 4 * l->s * l->s * l->dl * pixel * pixel * over;
	const struct strip_powers w = strip_powers(p, l, kernel);

	g->low[k] = l->low;
	g->rows[k] = l->high - l->low + 1;
	g->iz[k] = l->iz;
	g->below[k] = (iso_real)(l->low - l->iy) - l->fy;
	g->above[k] = (iso_real)(l->high - l->iy) - l->fy;
	g->fz[k] = l->fz;
	g->t[k] = l->t;
	g->wide[k] = wide;
	g->narrow[k] = narrow;
	g->top[k] = l->t * iso_sqrt(wide / (narrow * (narrow + l->t * l->t)));
	g->factor[k] = l->factor;
	g->m0[k] = w.m0;
	g->m1[k] = w.m1 * pixel;
	g->m2[k] = w.m2 * pixel * pixel;
	g->s0[k] = w.s0 * pixel;
	g->s1[k] = w.s1 * pixel * pixel;
	g->l0[k] = w.l0 * pixel;
	g->l1[k] = w.l1 * pixel * pixel;
	g->turn[k] = kernel == ISO_STRIP_EQ7 ? -w.turn : (iso_real)(-1 / STRIP_UNIT_ROOT);
	g->rise[k] = w.rise * pixel * pixel;
	g->q2[k] = w.q1 * pixel * pixel;
}

/* The first n events of e; lanes from n on are as any other. */
INLINE void set_group(struct group *g, const struct strip_params *params, const struct iso_strip_event *e,
                      int n, enum iso_strip_kernel kernel)
{
	const struct strip_params p = *params;
	struct iso_strip_event v[LANES];

	for (int k = 0; k < LANES; k++) v[k] = e[k < n ? k : 0];
	if (p.strips.sigma_z_growth == 0) {
#pragma omp simd
		for (int k = 0; k < LANES; k++) {
			struct strip_line l = strip_line_with(&p, v + k, &p.middle);

			set_lane(g, k, &p, &l, kernel);
		}
	} else {
		for (int k = 0; k < LANES; k++) {
			struct strip_line l = strip_line(&p, v + k);

			set_lane(g, k, &p, &l, kernel);
		}
	}
}

/* Columns that any row of a band reaches, clipped to the image. The right rim is farthest out in the row
   `top`, or else in the row of the band next to it. */
static void set_bands(const struct scratch *v, int nz)
{
	const struct group *g = &v->g;
	const iso_real slack = (iso_real)1e-3; /* columns: more than these values are rounded by */
	int most = 0;

	for (int k = 0; k < LANES; k++) most = g->rows[k] > most ? g->rows[k] : most;
	for (int i = 0; i < most; i += LANES) {
		int *first = v->first + i, *end = v->end + i;

#pragma omp simd
		for (int k = 0; k < LANES; k++) {
			iso_real low = g->below[k] + (iso_real)i, high = low + (LANES - 1),
				 above = g->above[k];

			low = low < above ? low : above; /* in bands behind its last as well */
			high = high < above ? high : above;
			iso_real right = g->top[k] < high ? g->top[k] : high;
			iso_real left = -g->top[k] < high ? -g->top[k] : high;

			right = right > low ? right : low;
			left = left > low ? left : low;
			iso_real right2 = iso_fma(-g->narrow[k] * right, right, g->wide[k]);
			iso_real left2 = iso_fma(-g->narrow[k] * left, left, g->wide[k]);
			iso_real from = iso_fma(g->t[k], left, g->fz[k]) - iso_sqrt(left2 > 0 ? left2 : 0);
			iso_real to = iso_fma(g->t[k], right, g->fz[k]) + iso_sqrt(right2 > 0 ? right2 : 0);
			int f = (int)iso_ceil(from - slack) + g->iz[k];
			int e = (int)iso_floor(to + slack) + g->iz[k] + 1;

			first[k] = f > 0 ? f : 0;
			end[k] = e < nz ? e : nz;
		}
	}
}

/* ---- the rows of an event ---- */

/* An even number of columns: one may lie past the end of the image. */
INLINE struct tile tile_from(int row, int first, int left)
{
	return (struct tile){ row, first, left < TILE ? (left + 1) / 2 * 2 : TILE };
}

/* Tiles of event k, and all of their starts but `more`. Of the exponents eq7 and tan get c[0] alone;
   set_starts makes three of it. gauss has one for each tile, in front of them, backwards, that of the ratio
   of two columns in lane 0, and behind them, by how much that is larger in each lane. False if the series of
   a row is not near enough. */
INLINE bool set_rows(struct scratch *v, int k, enum iso_strip_kernel kernel)
{
	const bool gauss = kernel == ISO_STRIP_GAUSS;
	const struct group *g = &v->g;
	const lanes row = { 0, 1, 2, 3 }, fz = all(g->fz[k]), t = all(g->t[k]), rise = all(-g->rise[k]);
	const lanes wide = all(g->wide[k]), narrow = all(-g->narrow[k]), turn = all(g->turn[k]);
	const lanes m0 = all(g->m0[k]), m1 = all(g->m1[k]), m2 = all(g->m2[k]);
	const lanes s0 = all(g->s0[k]), s1 = all(g->s1[k]), l0 = all(g->l0[k]), l1 = all(g->l1[k]);
	const lanes most = all(NEAR / iso_sqrt(g->wide[k]));
	const iso_real below = g->below[k], q2 = g->q2[k];
	const int low = g->low[k], iz = g->iz[k], rows = g->rows[k];
	lane_mask near = (lane_mask){ 0 } - 1;
	int i = 0;

	for (int r = 0; r < rows; r += LANES)
		for (int first = v->first[r + k], left = v->end[r + k] - first; left > 0;
		     first += TILE, left -= TILE) {
			struct start *to = v->start + i;
			iso_real *power = v->power + i * (gauss ? LANES : POWERS * LANES);
			lanes s = row + ((iso_real)r + below), square = s * s, level = rise * square;
			lanes u = (iso_real)(first - iz) - fused(s, t, fz);
			lanes n = fused(fused(s, m2, m1), s, m0), root = 1 / root_of(n);
			lanes half2 = fused(narrow, square, wide);

			v->p.tile[i++] = tile_from(low + r, first, left);
			if (gauss) {
				to->root = only(half2 >= 0, root);
				store(power, fused(u * u, all(-q2), level));
				v->power[-i] = fused(u, all(-2 * q2), all(-q2))[0];
				continue;
			}
			lanes b0 = fused(s, l1, l0) * s * root, b1 = fused(s, s1, s0) * root,
			      e = b1 * root * turn;

			to->u = u;
			to->half2 = half2;
			to->root = root;
			to->b0 = b0;
			to->b1 = b1;
			to->e = e;
			store(power, fused(b0, b0, level));
			near &= magnitude(e) < most;
		}
	if (gauss) store(v->power + i * LANES, row * (2 * q2 * g->t[k]));
	v->p.tiles = i;
	return gauss || everywhere(near);
}

/* The exponent of eq7 is, in powers of two,

	b0^2 - q0 + b0 (b1 + k) u - q2 u^2 + k^2 u^2 / (1 - e u) - log2(1 - e u) / 2,  k = b1 + b0 e

   of which the last two are series in e u. */
INLINE void curve_eq7(lanes c[DEGREE + 1], const struct start *s, iso_real q2)
{
	const iso_real unit = (iso_real)(STRIP_LOG2E / 2);
	lanes b0 = s->b0, b1 = s->b1, e = s->e, e2 = e * e;
	lanes k = fused(b0, e, b1), k2 = k * k;

	c[1] = fused(b0, b1 + k, unit * e);
	c[2] = fused(e2, all(unit / 2), k2 - q2);
	c[3] = e * fused(e2, all(unit / 3), k2);
	c[4] = e2 * fused(e2, all(unit / 4), k2);
	c[5] = e2 * e * fused(e2, all(unit / 5), k2);
}

/* tan: with z = (tau0 + i) tau1 / (1 + tau0^2), 1 + tau*^2 = (1 + tau0^2) |1 + z u|^2; of the
   series of its logarithm the real parts of (-z)^n, c[n], are needed:
   c[n] = 2 c[1] c[n-1] - |z|^2 c[n-2]. */
INLINE void curve_tan(lanes c[DEGREE + 1], struct start *s, iso_real q2, iso_real t)
{
	const iso_real unit = (iso_real)(2 * STRIP_LOG2E);
	lanes tau0 = t - s->b0 * s->root * (iso_real)(1 / STRIP_UNIT_ROOT), tau1 = s->e;
	lanes over = 1 / fused(tau0, tau0, all(1));
	lanes c1 = -tau0 * tau1 * over, twice = 2 * c1, z2 = tau1 * tau1 * over;
	lanes c2 = twice * c1 - z2, c3 = twice * c2 - z2 * c1, c4 = twice * c3 - z2 * c2;
	lanes c5 = twice * c4 - z2 * c3;

	c[1] = fused(2 * s->b0, s->b1, unit * c1);
	c[2] = fused(s->b1, s->b1, unit / 2 * c2 - q2);
	c[3] = unit / 3 * c3;
	c[4] = unit / 4 * c4;
	c[5] = unit / 5 * c5;
	s->root *= over;
}

/* ---- terms, weight x pixel ---- */

/* eq7 and tan: the differences of the exponent at u, u + 1, ..., n! times the coefficients of its Newton form
   there (Horner's rule). Of the first three the powers of two are needed. The third, c, is small: e^c - 1 is
   needed, which is nearly a parabola, so its own two differences lead on. */
INLINE void set_starts(const struct scratch *v, iso_real q2, iso_real t, enum iso_strip_kernel kernel)
{
	const iso_real e = (iso_real)(1 / STRIP_LOG2E);
	const int tiles = v->p.tiles;

	for (int i = 0; i < tiles; i++) {
		struct start *s = v->start + i;
		iso_real *power = v->power + i * (POWERS * LANES);
		lanes c[DEGREE + 1], u = s->u;

		c[0] = load(power);
		if (kernel == ISO_STRIP_EQ7)
			curve_eq7(c, s, q2);
		else
			curve_tan(c, s, q2, t);
		for (int k = 0; k < DEGREE; k++, u += 1)
			for (int n = DEGREE - 1; n >= k; n--) c[n] = fused(c[n + 1], u, c[n]);
		store(power, c[0]);
		store(power + LANES, c[1]);
		store(power + 2 * LANES, c[2] * 2);
		lanes third = c[3] * (6 * e), fourth = c[4] * (24 * e), fifth = c[5] * (120 * e);
		lanes cubic = fused(third, all((iso_real)1 / 6), all((iso_real)1 / 2));
		lanes less1 = fused(third * third, cubic, third), exp = less1 + 1;

		s->more[0] = less1;
		s->more[1] = exp * fused(fourth * fourth, all((iso_real)1 / 2), fourth);
		s->more[2] = exp * fused(fourth, fused(fifth, all(2), fourth), fifth);
	}
}

INLINE double sum_of_lanes(lanes v)
{
	return (double)(v[0] + v[1]) + (v[2] + v[3]);
}

/* The sums of an event. */
struct sums {
	lanes sum, terms;
};

/* A term at a pixel of x; with `ratio` the pixel of u, `to_u` further, is in it. */
INLINE lanes term_of(struct sums *s, lanes weight, const iso_real *x, int64_t to_u, bool ratio)
{
	lanes of_x = weight * load(x);

	s->sum += of_x;
	if (!ratio) return of_x;
	lanes term = weight * load(x + to_u);

	s->terms += term;
	return term;
}

INLINE void leave_sums(struct patch *p, const struct sums *s)
{
	p->sum = sum_of_lanes(s->sum);
	p->terms = sum_of_lanes(s->terms);
}

/* eq7 and tan. */
INLINE void set_terms(struct scratch *v, const struct strip_work *w, bool ratio)
{
	const struct patch p = v->p;
	const int64_t stride = w->stride;
	const iso_real *image = w->x;
	const int64_t to_u = ratio ? w->u - w->x : 0;
	iso_real *t = p.t;
	struct sums sums = { 0 };

	for (int i = 0; i < p.tiles; i++) {
		const struct tile tile = p.tile[i];
		const struct start *s = v->start + i;
		const iso_real *x = image + tile.first * stride + tile.row;
		const iso_real *power = v->power + i * (POWERS * LANES);
		const lanes half2 = s->half2;
		lanes c[DEGREE + 1], u = s->u;

		c[0] = load(power) * s->root;
		c[1] = load(power + LANES);
		c[2] = load(power + 2 * LANES);
		for (int n = 3; n <= DEGREE; n++) c[n] = s->more[n - 3];
		for (int j = 0; j < tile.n; j += 2)
			for (int k = 0; k < 2; k++, u += 1, x += stride, t += LANES) {
				lanes weight = only(u * u <= half2, c[0]);

				store(t, term_of(&sums, weight, x, to_u, ratio));
				c[0] *= c[1];
				c[1] *= c[2];
				c[2] = fused(c[2], c[3], c[2]);
				c[3] += c[4];
				c[4] += c[5];
			}
	}
	leave_sums(&v->p, &sums);
}

/* The terms of two columns, which are added up before they join the sum. */
INLINE void store_two(iso_real *t, struct sums *s, lanes weight, lanes next, const iso_real *x,
                      int64_t stride, int64_t to_u, bool ratio)
{
	struct sums two = { 0 };

	store(t, term_of(&two, weight, x, to_u, ratio));
	store(t + LANES, term_of(&two, next, x + stride, to_u, ratio));
	s->sum += two.sum;
	s->terms += two.terms;
}

/* gauss: weights beyond the rim are those below that of the rim. Two products side by side, of the columns
   with even and with odd numbers, which need not wait for each other. `second` is the ratio of two
   neighbouring ratios, that of all tiles. */
INLINE void set_terms_gauss(struct scratch *v, const struct strip_work *w, iso_real second, bool ratio_step)
{
	const struct patch p = v->p;
	const int64_t stride = w->stride;
	const iso_real *image = w->x;
	const iso_real second2 = second * second, second4 = second2 * second2;
	const lanes tilt = load(v->power + p.tiles * LANES);
	const int64_t to_u = ratio_step ? w->u - w->x : 0;
	iso_real *t = p.t;
	struct sums sums = { 0 };

	for (int i = 0; i < p.tiles; i++) {
		const struct tile tile = p.tile[i];
		const iso_real *x = image + tile.first * stride + tile.row;
		const lanes root = v->start[i].root, rim = root * RIM_WEIGHT;
		const lanes ratio = tilt * v->power[-1 - i];
		lanes even = load(v->power + i * LANES) * root, odd = even * ratio;
		lanes even_ratio = ratio * ratio * second, odd_ratio = even_ratio * second2;

		for (int j = 0; j < tile.n; j += 2, x += 2 * stride, t += 2 * LANES) {
			lanes weight = only(even >= rim, even), next = only(odd >= rim, odd);

			store_two(t, &sums, weight, next, x, stride, to_u, ratio_step);
			even *= even_ratio;
			odd *= odd_ratio;
			even_ratio *= second4;
			odd_ratio *= second4;
		}
	}
	leave_sums(&v->p, &sums);
}

/* Products serve where a band's first column is not so far from the middle of any of its rows that
   the weight there leaves the range of float, and where the ratios of high order are near 1. */
INLINE bool set_terms_fast(struct scratch *v, int k, const struct strip_params *s, const struct strip_work *w,
                           enum iso_strip_kernel kernel, bool ratio)
{
	const bool gauss = kernel == ISO_STRIP_GAUSS;
	const iso_real wide = v->g.wide[k], q2 = v->g.q2[k], t = v->g.t[k];
	const iso_real slant = (LANES - 1) * ISO_MATH(fabs)(t) + 1;

	if (!(slant * slant < 4 * wide) || (!gauss && (wide < 4 || s->edge))) return false;
	if (!set_rows(v, k, kernel)) return false;
	if (!gauss) set_starts(v, q2, t, kernel);
	const int ahead = gauss ? round_up(v->p.tiles) : 0;
	const int n = gauss ? ahead + (v->p.tiles + 1) * LANES : v->p.tiles * (POWERS * LANES);
	iso_real *power = v->power - ahead;

#pragma omp simd
	for (int i = 0; i < n; i++) power[i] = strip_exp2(power[i]);
	if (gauss)
		set_terms_gauss(v, w, strip_exp2(-2 * q2), ratio);
	else
		set_terms(v, w, ratio);
	return true;
}

static void set_tiles(struct scratch *v, int k)
{
	v->p.tiles = 0;
	for (int r = 0; r < v->g.rows[k]; r += LANES)
		for (int first = v->first[r + k]; first < v->end[r + k]; first += TILE)
			v->p.tile[v->p.tiles++] = tile_from(v->g.low[k] + r, first, v->end[r + k] - first);
}

/* By the weight's definition; with the ends of the strips, if they count. */
static void set_terms_exact(struct patch *p, const struct strip_line *l, const struct strip_params *s,
                            const struct strip_work *w, bool ratio)
{
	iso_real *at = p->t, pixel = (iso_real)s->pixel;

	p->sum = p->terms = 0;
	for (int i = 0; i < p->tiles; at += LANES * p->tile[i++].n)
		for (int lane = 0; lane < LANES; lane++) {
			const struct tile tile = p->tile[i];
			const int iy = tile.row + lane;
			const double y = (iy - .5 * (s->ny - 1)) * s->pixel;
			struct strip_reach reach = strip_reach(l, pixel, iy);
			struct strip_row row =
				strip_row(s->kernel, (iso_real)s->strips.radius, l, (iso_real)y, reach.dy);
			double sum = 0, terms = 0;

			for (int iz = tile.first; iz < tile.first + tile.n; iz++) {
				iso_real *t = at + (iz - tile.first) * LANES + lane;
				iso_real u = (iso_real)(iz - l->iz) - reach.middle, v = u * pixel;

				*t = 0;
				if (!(u * u <= reach.half2)) continue;
				const int64_t place = (int64_t)iz * w->stride + iy;
				iso_real weight = strip_weight(s->kernel, &row, v),
					 of_x = weight * w->x[place];
				iso_real edge = 1;

				if (s->edge)
					edge = strip_edge(&s->strips, &row, v, y,
					                  (iz - .5 * (s->nz - 1)) * s->pixel);
				of_x *= edge;
				*t = ratio ? weight * w->u[place] * edge : of_x;
				sum += of_x;
				terms += *t;
			}
			p->sum += sum;
			p->terms += terms;
		}
}

/* The terms of event k of the group, which is e, and their sum. */
INLINE void project(struct scratch *v, int k, const struct iso_strip_event *e, const struct strip_params *s,
                    const struct strip_work *w, enum iso_strip_kernel kernel, bool ratio)
{
	if (set_terms_fast(v, k, s, w, kernel, ratio)) return;
	struct strip_line line = strip_line(s, e);

	set_tiles(v, k);
	set_terms_exact(&v->p, &line, s, w, ratio);
}

#endif
