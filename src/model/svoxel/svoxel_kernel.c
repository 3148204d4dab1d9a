/* SPDX-License-Identifier: BSD-3-Clause */
/* Which kernel carries a delay to the bins of a trace. Eight taps or few: a narrow kernel of w = 2, 3 or 4 taps on a
   finer trace costs a pair of voxel and transducer w numbers where the wide one costs seven.

   A narrow kernel is the best that least squares finds. Its taps t_j(s) are polynomials in the place within the bin,
   and A(f) multiplies the lines; together they make

	E^2 = sum over lines of weight |A(f) sum over j of t_j(s) exp(-j 2 pi f x_j) - exp(-j 2 pi f x)|^2

   smallest, as a mean over all places. Given A the taps are linear equations, and given the taps so is A: a few rounds
   find both. A line weighs what the model sends through it, so that E is the relative error of the data.

   The four impulses of a rectangle nearly cancel. A kernel that jumps where a delay passes from bin to bin would not
   let them, so rectangles have B-splines: w taps of degree w - 1, smooth but for the last derivative. */
#include "svoxel.h"

enum { LINES = 24, PLACES = 8, ROUNDS = 400, NARROW = SVOXEL_NARROW };

/* What a kernel is made for: lines as parts of the bin rate, places in the bin. */
struct band {
	double v[LINES], weight[LINES];
	double place[PLACES], measure[PLACES]; /* -1/2 to 1/2 */
};

struct narrow {
	int width;
	double c[SVOXEL_NARROW][NARROW]; /* of s^i in tap j, s from -1 to 1 */
	double error;
};

/* Kernels from the cheapest to the dearest, by the time of a pair on CUDA; behind them, what serves a width that is
   given. */
static const struct svoxel_kernel choices[] = {
	{ 2, 5 },  { 2, 6 },  { 2, 8 },  { 2, 10 }, { 2, 12 }, { 3, 6 },  { 3, 8 },  { 3, 10 },
	{ 4, 6 },  { 4, 8 },  { 4, 10 }, { 4, 12 }, { 4, 16 }, { 2, 16 }, { 2, 20 }, { 2, 24 },
	{ 2, 32 }, { 3, 16 }, { 3, 20 }, { 3, 24 }, { 3, 32 }, { 4, 20 }, { 4, 24 }, { 4, 32 },
};

/* The same for rectangles. */
static const struct svoxel_kernel rect_choices[] = { { 4, 5 },  { 4, 6 },  { 4, 8 },  { 4, 10 }, { 4, 12 },
	                                             { 4, 16 }, { 4, 20 }, { 4, 24 }, { 4, 32 } };

#define N_OF(table) ((int)(sizeof(table) / sizeof *(table)))

#define LEAST_NARROW 1e-5 /* below it the wide kernel is cheaper */

static int degree(int width)
{
	return width == 2 ? 2 : width - 1;
}

/* ---- small linear equations ---- */

/* a x = b for every column of b, by elimination; a is symmetric and positive. */
static void solve(int n, double a[NARROW][NARROW], int columns, double b[NARROW][PLACES])
{
	for (int k = 0; k < n; k++)
		for (int i = 0; i < n; i++) {
			double part = i == k ? 0 : a[i][k] / a[k][k];

			for (int j = k; j < n; j++) a[i][j] -= part * a[k][j];
			for (int j = 0; j < columns; j++) b[i][j] -= part * b[k][j];
		}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < columns; j++) b[i][j] /= a[i][i];
}

/* ---- the design ---- */

static double tap_place(int width, int j)
{
	return j - (width - 1) / 2.;
}

/* Tap j of the kernel where the delay lies `place` behind the middle of the taps: s = -2 place. */
static double tap_at(const struct narrow *k, int j, double place)
{
	double sum = 0;

	for (int i = degree(k->width); i >= 0; i--) sum = sum * -2 * place + k->c[i][j];
	return sum;
}

/* cos and sin of the phase between tap j and a delay, for each place. */
typedef double phases[NARROW][PLACES][2];

static void find_phases(phases z, int width, const struct band *b, double v)
{
	for (int j = 0; j < width; j++)
		for (int i = 0; i < PLACES; i++) {
			double turn = 2 * M_PI * v * (tap_place(width, j) - b->place[i]);

			z[j][i][0] = cos(turn);
			z[j][i][1] = sin(turn);
		}
}

/* A(f) of a line for taps with these values, and what is wrong with the line then: a mean square. */
static double correction(double *wrong, int width, const struct band *b, double tap[NARROW][PLACES], phases z)
{
	double real = 0, square = 0;

	for (int i = 0; i < PLACES; i++) {
		double re = 0, im = 0; /* the line as the taps make it, over the line itself */

		for (int j = 0; j < width; j++) {
			re += tap[j][i] * z[j][i][0];
			im += tap[j][i] * z[j][i][1];
		}
		real += b->measure[i] * re;
		square += b->measure[i] * (re * re + im * im);
	}
	*wrong = 1 - real * real / square;
	return real / square;
}

/* The best values of the taps at every place, for lines times a. */
static void best_taps(double tap[NARROW][PLACES], int width, const struct band *b, const double a[LINES],
                      phases z[LINES])
{
	double normal[NARROW][NARROW] = { { 0 } };

	memset(tap, 0, sizeof(double[NARROW][PLACES]));
	for (int l = 0; l < LINES; l++)
		for (int j = 0; j < width; j++) {
			double part = b->weight[l] * a[l];

			for (int k = 0; k < width; k++)
				normal[j][k] +=
					part * a[l] *
					(z[l][j][0][0] * z[l][k][0][0] + z[l][j][0][1] * z[l][k][0][1]);
			for (int i = 0; i < PLACES; i++) tap[j][i] += part * z[l][j][i][0];
		}
	solve(width, normal, PLACES, tap);
}

/* Polynomials through the values, as well as can be. */
static void fit(struct narrow *k, const struct band *b, double tap[NARROW][PLACES])
{
	int n = degree(k->width) + 1;
	double normal[NARROW][NARROW] = { { 0 } }, sums[NARROW][PLACES] = { { 0 } };

	for (int p = 0; p < PLACES; p++) {
		double s = -2 * b->place[p], power[NARROW] = { 1, s, s * s, s * s * s };

		for (int i = 0; i < n; i++) {
			for (int j = 0; j < n; j++) normal[i][j] += b->measure[p] * power[i] * power[j];
			for (int j = 0; j < k->width; j++) sums[i][j] += b->measure[p] * power[i] * tap[j][p];
		}
	}
	solve(n, normal, k->width, sums);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < k->width; j++) k->c[i][j] = sums[i][j];
}

/* The values of the polynomials instead. */
static void evaluate(double tap[NARROW][PLACES], const struct narrow *k, const struct band *b)
{
	for (int j = 0; j < k->width; j++)
		for (int i = 0; i < PLACES; i++) tap[j][i] = tap_at(k, j, b->place[i]);
}

static struct narrow design(int width, const struct band *b)
{
	struct narrow k = { .width = width };
	double a[LINES], tap[NARROW][PLACES], before = INFINITY;
	phases z[LINES];

	for (int l = 0; l < LINES; l++) {
		a[l] = 1;
		find_phases(z[l], width, b, b->v[l]);
	}
	for (int round = 0; round < ROUNDS; round++) {
		double all = 0, sum = 0, wrong;

		best_taps(tap, width, b, a, z);
		fit(&k, b, tap);
		evaluate(tap, &k, b);
		for (int l = 0; l < LINES; l++) {
			a[l] = correction(&wrong, width, b, tap, z[l]);
			sum += b->weight[l] * wrong;
			all += b->weight[l];
		}
		k.error = all > 0 && sum > 0 ? sqrt(sum / all) : 0;
		if (round % 16 == 15) {
			if (k.error > before * .999) break;
			before = k.error;
		}
	}
	return k;
}

/* ---- which ---- */

/* Lines of the model as parts of a bin rate that has per_wave bins in the shortest wave. */
static struct band band_of(const struct iso_svoxel *q, double per_wave)
{
	double last = iso_svoxel_highest(q), first = (double)q->first_line;
	struct band b;

	iso_aperture_gauss(PLACES, b.place, b.measure);
	for (int l = 0; l < LINES; l++) {
		double line = (last - first) * (l + .5) / LINES, z[2];

		b.v[l] = (first + line) / (per_wave * last);
		iso_svoxel_factor(z, q, line);
		b.weight[l] = z[0] * z[0] + z[1] * z[1];
	}
	return b;
}

/* ---- rectangles ---- */

enum { ALIASES = 1, PAIRS = 2048, EVERY = 4 }; /* EVERY: of the lines, one of so many */

static double sinc(double x)
{
	return x != 0 ? sin(M_PI * x) / (M_PI * x) : 1;
}

/* Tap j of the B-spline of order w at place s is sum over k of (-1)^k C(w, k) y^(w-1) / (w-1)!, the y = s/2 + j + 1/2 - k
   that are positive: k = 0 ... j. */
static struct narrow spline(int width)
{
	struct narrow k = { .width = width };
	int n = width - 1;

	for (int j = 0; j < width; j++) {
		double part = 1; /* (-1)^m C(w, m) / n! */

		for (int i = 2; i <= n; i++) part /= i;
		for (int m = 0; m <= j; part *= -(double)(width - m) / (m + 1), m++) {
			double term = part * pow(j + .5 - m, n); /* C(n, i) (s/2)^i (j + 1/2 - m)^(n-i) */

			for (int i = 0; i <= n; i++) {
				k.c[i][j] += term;
				term *= (double)(n - i) / (i + 1) / (2 * (j + .5 - m));
			}
		}
	}
	return k;
}

/* How long the delays across a rectangle are, in waves of the highest line, for pair i of many of voxels and
   transducers that lie anywhere (by multiples of the parts of a cubic number). */
static void across(double t[2], const struct iso_svoxel *q, double mhz, int i)
{
	static const double step[3] = { .8191725133961644, .6710436067037893, .5497004779019703 };
	const struct iso_transducers *a = q->t;
	int64_t n = (int64_t)((double)a->n * (i + .5) / PAIRS);
	double r[3], d = 0;

	for (int k = 0; k < 3; k++) {
		double part = fmod((i + .5) * step[k], 1) - .5;

		r[k] = q->grid.centre[k] + part * (double)q->grid.n[k] * q->grid.voxel[k] - a->pos[3 * n + k];
		d += r[k] * r[k];
	}
	for (int k = 0; k < 2; k++) {
		const double *e = (k ? a->ey : a->ex) + 3 * n;

		t[k] = a->aperture[2 * n + k] / a->speed * mhz *
		       fabs(r[0] * e[0] + r[1] * e[1] + r[2] * e[2]) / sqrt(d);
	}
}

/* A delay that lies anywhere in its bin comes with aliases: lines at v + k, in parts of the bin rate, of which the
   spline leaves (v / (v + k))^w of what it leaves of the line itself. Many pairs, since few lie near an axis, and
   those are heard loudest. */
static double rect_error(const struct iso_svoxel *q, int width, double per_wave)
{
	double last = iso_svoxel_highest(q), wrong = 0, all = 0, t[2];
	struct band b = band_of(q, per_wave);

	for (int i = 0; i < PAIRS; i++) {
		across(t, q, last * q->df_mhz, i);
		t[0] *= per_wave; /* bins */
		t[1] *= per_wave;
		for (int l = EVERY / 2; l < LINES; l += EVERY)
			for (int k = -ALIASES; k <= ALIASES; k++) {
				double v = b.v[l], a = v + k, by = pow(v / a, width - 2);
				double heard = by * sinc(a * t[0]) * sinc(a * t[1]);

				*(k ? &wrong : &all) += b.weight[l] * heard * heard;
			}
	}
	return all > 0 ? sqrt(wrong / all) : 0;
}

static double error_of(const struct iso_svoxel *q, int width, double per_wave)
{
	struct band b = band_of(q, per_wave);

	return q->sir == ISO_SIR_RECT && q->t->aperture ? rect_error(q, width, per_wave)
	                                                : design(width, &b).error;
}

/* By how much an image may be worse than the mean of all. Voxels are a lattice: from some directions the waves of all
   voxels of a smooth image meet in step at an alias, where those of noise do not. Splines let less of it through. */
static double margin(const struct iso_svoxel *q)
{
	return q->sir == ISO_SIR_RECT ? 1.1 : 2;
}

static struct svoxel_kernel wide(const struct iso_svoxel *q)
{
	return (struct svoxel_kernel){ q->width                 ? q->width
		                       : q->sir == ISO_SIR_RECT ? 8
		                                                : 7,
		                       q->bins_per_wave > 4 ? q->bins_per_wave : 4 };
}

/* What the user gave holds; the first choice that fits it and reaches the accuracy is taken. */
struct svoxel_kernel iso_svoxel_kernel(const struct iso_svoxel *q)
{
	double wanted = q->accuracy > 0 ? q->accuracy : 1e-6;
	int width = q->width, given = q->bins_per_wave;

	if (width > NARROW || (width == 0 && given == 0 && wanted < LEAST_NARROW)) return wide(q);
	if (width > 0 && given > 0) return (struct svoxel_kernel){ width, given };
	struct svoxel_kernel k = { 0 };
	bool rect = q->sir == ISO_SIR_RECT;
	const struct svoxel_kernel *c = rect ? rect_choices : choices,
				   *end = c + (rect ? N_OF(rect_choices) : N_OF(choices));

	for (int before = 0; c < end; before = c++->width) {
		if (width > 0 && c->width != width) continue;
		if (given > 0 && c->width == before) continue; /* once a width */
		k.width = c->width;
		k.per_wave = given > 0 ? given : c->per_wave;
		if (margin(q) * error_of(q, k.width, k.per_wave) <= wanted) return k;
	}
	return width == 0 ? wide(q) : k;
}

/* Of kernels of 5 to 8 taps with four bins a wave, as measured in float; of rectangles, near their axes. */
double iso_svoxel_error(const struct iso_svoxel *q)
{
	static const double point[] = { 1e-4, 1e-5, 1e-6, 1e-6 }, rect[] = { 3e-2, 1e-3, 2e-4, 3e-5 };
	struct svoxel_kernel k = iso_svoxel_kernel(q);

	if (k.width <= NARROW) return error_of(q, k.width, k.per_wave);
	return (q->sir == ISO_SIR_RECT ? rect : point)[k.width - NARROW - 1];
}

void iso_svoxel_narrow(struct svoxel *p, const struct iso_svoxel *q, double correct[])
{
	double per_wave = (double)p->bins / iso_svoxel_highest(q), tap[NARROW][PLACES], wrong;
	struct band b = band_of(q, per_wave);
	bool rect = q->sir == ISO_SIR_RECT;
	struct narrow k = rect ? spline(p->taps.width) : design(p->taps.width, &b);
	phases z;

	evaluate(tap, &k, &b);
	for (int i = 0; i <= degree(k.width); i++)
		for (int j = 0; j < k.width; j++) p->taps.c[i][j] = (iso_real)k.c[i][j];
	p->taps.bend = k.width == 2 && !rect ? (iso_real)(k.c[2][0] / k.c[0][0]) : 0;
	for (int64_t l = 0; l < p->lines; l++) {
		double v = ((double)(p->first_line + l) + p->offset_mhz / p->df_mhz) / (double)p->bins;

		find_phases(z, k.width, &b, v);
		correct[l] = rect ? pow(sinc(v), -k.width) : correction(&wrong, k.width, &b, tap, z);
	}
}
