/* SPDX-License-Identifier: BSD-3-Clause */
/* The band of frequencies in which traces hold sound of the object.

   Two transducers side by side hear nearly the same sound. With Y the spectra of the traces, and over pairs
   (i, j) of a transducer and its nearest neighbour,
	common     C(f) = |mean of Y_i|^2 / mean of |Y_i|^2
	agreement  Q(f) = Re cov(Y_i, Y_j) / [(var Y_i + var Y_j) / 2]
   each summed over the octave round f, with weights f^2, since back-projection differentiates the traces.
   Noise does not agree between neighbours; nor does sound whose half wave is shorter than the difference of
   its ways to two neighbours, which back-projection turns into streaks. What is common to all transducers at
   once is drift or pick-up of the electronics.

   Low edge: where C first falls below 1/2 and Q is above 1/10. Sound has no power at frequency 0, and its
   spectrum rises from there: the traces get that edge only if their spectrum falls across it instead.
   High edge: where Q then falls below 1/10, if more than half of the power of the derivative lies above.
   Clean traces of a dense array get no edge, and stay as they are. */
#include "band.h"

#include "core/fft/fft.h"
#include "core/room.h"
#include "core/size.h"

#include <math.h>

#define COMMON .5    /* of the power: drift */
#define AGREEMENT .1 /* between neighbours: sound */
#define BEYOND .5    /* of the power of the derivative: the image would be noise */

enum {
	PAIRS = 512,  /* that are looked at, at most */
	FEWEST = 16,  /* transducers, and */
	SHORTEST = 64 /* samples, that tell a spectrum */
};

/* Sums over pairs at each line of the spectrum: real and imaginary part of Y_i and Y_j, |Y_i|^2, |Y_j|^2 and
   Re Y_i conj Y_j. */
struct line {
	double i[2], j[2], ii, jj, ij;
};

/* What the rule looks at, at each line, times f^2, and summed over lines from 0. */
struct sums {
	double power, common, cross, own;
};

struct spectra {
	int64_t nfft, lines, pairs;
	double df; /* MHz between lines */
	struct line *line;
	struct sums *upto; /* upto[l]: of the lines below l */
	double *x, *spectrum[2];
};

static int64_t nearest(const struct iso_transducers *t, int64_t i)
{
	const double *p = t->pos + 3 * i;
	double least = INFINITY;
	int64_t best = i;

	for (int64_t q = 0; q < t->n; q++) {
		const double *r = t->pos + 3 * q;
		double x = r[0] - p[0], y = r[1] - p[1], z = r[2] - p[2], d = x * x + y * y + z * z;

		if (q == i || d >= least) continue;
		least = d;
		best = q;
	}
	return best;
}

/* The spectrum of a trace without its mean, under a Hann window. */
static int transform(const struct spectra *s, const struct iso_fft *fft, double *spectrum, const iso_real *y,
                     int64_t n)
{
	double mean = 0;

	for (int64_t k = 0; k < n; k++) mean += (double)y[k] / (double)n;
	for (int64_t k = 0; k < n; k++)
		s->x[k] = .5 * (1 - cos(2 * M_PI * ((double)k + .5) / (double)n)) * ((double)y[k] - mean);
	return iso_fft_forward(fft, spectrum, s->x);
}

static void add_pair(struct spectra *s)
{
	for (int64_t l = 0; l < s->lines; l++) {
		const double *a = s->spectrum[0] + 2 * l, *b = s->spectrum[1] + 2 * l;
		struct line *to = &s->line[l];

		for (int k = 0; k < 2; k++) {
			to->i[k] += a[k];
			to->j[k] += b[k];
			to->ii += a[k] * a[k];
			to->jj += b[k] * b[k];
			to->ij += a[k] * b[k];
		}
	}
}

static int add_pairs(struct spectra *s, const iso_real *y, const struct iso_transducers *t, int64_t first,
                     int64_t n)
{
	struct iso_fft *fft = NULL;
	int st = iso_fft_create_by(&fft, &iso_fft_own_double, NULL, s->nfft, 1, true);

	for (int64_t k = 0; k < s->pairs && !st; k++) {
		int64_t i = k * t->n / s->pairs, j = nearest(t, i);

		if (!(st = transform(s, fft, s->spectrum[0], y + i * t->samples + first, n)) &&
		    !(st = transform(s, fft, s->spectrum[1], y + j * t->samples + first, n)))
			add_pair(s);
	}
	iso_fft_free(fft);
	return st;
}

static void add_up(struct spectra *s)
{
	double n = (double)s->pairs;

	for (int64_t l = 0; l < s->lines; l++) {
		const struct line *a = &s->line[l];
		struct sums *to = &s->upto[l + 1];
		double f = (double)l * s->df, of_i = (a->i[0] * a->i[0] + a->i[1] * a->i[1]) / n,
		       of_j = (a->j[0] * a->j[0] + a->j[1] * a->j[1]) / n,
		       of_both = (a->i[0] * a->j[0] + a->i[1] * a->j[1]) / n;

		*to = s->upto[l];
		to->power += f * f * a->ii;
		to->common += f * f * of_i;
		to->cross += f * f * (a->ij - of_both);
		to->own += f * f * .5 * (a->ii - of_i + a->jj - of_j);
	}
}

/* Sums over the octave round a line. */
static struct sums octave(const struct spectra *s, int64_t l)
{
	int64_t from = (int64_t)ceil((double)l * M_SQRT1_2), to = (int64_t)((double)l * M_SQRT2) + 1;
	const struct sums *a = &s->upto[from], *b = &s->upto[to < s->lines ? to : s->lines];

	return (struct sums){ b->power - a->power, b->common - a->common, b->cross - a->cross,
		              b->own - a->own };
}

static bool agrees(const struct spectra *s, int64_t l)
{
	struct sums o = octave(s, l);

	return o.cross > AGREEMENT * o.own;
}

static bool drifts(const struct spectra *s, int64_t l)
{
	struct sums o = octave(s, l);

	return o.common > COMMON * o.power;
}

/* Mean power of the lines from a to b - 1, without the factor f^2. */
static double density(const struct spectra *s, int64_t a, int64_t b)
{
	double sum = 0;

	for (int64_t l = a; l < b && l < s->lines; l++) sum += s->line[l].ii;
	return sum / (double)(b - a);
}

/* To two digits: all devices and builds then find one number. */
static double rounded(double f)
{
	double step = pow(10, floor(log10(f)) - 1);

	return round(f / step) * step;
}

static void find(struct iso_band *b, const struct spectra *s)
{
	const struct sums *all = &s->upto[s->lines];
	int64_t low = 1, high;

	while (low < s->lines && (drifts(s, low) || !agrees(s, low))) low++;
	for (high = low; high < s->lines && agrees(s, high);) high++;
	if (low == s->lines) return;
	if (low > 1 && 10 * low < high && density(s, 1, low) > density(s, low, 2 * low))
		b->low_mhz = rounded((double)low * s->df);
	if (high == s->lines) return;
	b->beyond = 1 - s->upto[high].power / all->power;
	if (b->beyond > BEYOND) b->high_mhz = rounded((double)high * s->df);
}

int iso_band_of(struct iso_band *b, const iso_real *y, const struct iso_transducers *t, int64_t first,
                int64_t n)
{
	struct spectra s = { .nfft = 2, .pairs = t->n < PAIRS ? t->n : PAIRS };
	struct iso_room room = iso_room_of(NULL, "band of the traces");
	int st;

	*b = (struct iso_band){ 0 };
	if (t->n < FEWEST || n < SHORTEST) return ISO_OK;
	while (s.nfft < 2 * n) s.nfft *= 2;
	s.lines = s.nfft / 2 + 1;
	s.df = 1 / ((double)s.nfft * t->dt_us);
	ISO_HOST(&room, s.line, s.lines);
	ISO_HOST(&room, s.upto, s.lines + 1);
	ISO_HOST(&room, s.x, s.nfft);
	ISO_HOST(&room, s.spectrum[0], 2 * s.lines);
	ISO_HOST(&room, s.spectrum[1], 2 * s.lines);
	if (!(st = room.status) && !(st = add_pairs(&s, y, t, first, n))) {
		add_up(&s);
		find(b, &s);
	}
	iso_room_free(&room);
	return st;
}
