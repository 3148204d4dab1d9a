/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of model svoxel: line factors (Wang 2013, 19), the kernel of the fast transform. */
#include "svoxel.h"

enum { KERNEL_NODES = 64 }; /* of the kernel's spectrum */

/* By which the guard of a rectangle may change its response: at least, with a narrow kernel at least, and the part of the
   accuracy that it may take there. */
#define GUARD_ERROR 1e-5
#define GUARD_NARROW 3e-5
#define GUARD_PART .2

static double kernel(double x, int width, double beta)
{
	double s = 1 - 4 * x * x / width / width;

	return s > 0 ? exp(beta * (sqrt(s) - 1)) : s > -1e-9 ? exp(-beta) : 0;
}

/* Tap j lies at s/2 + j - (w-1)/2 from the delay. The polynomial goes through its values at the Chebyshev
   nodes of [-1, 1]: its Chebyshev coefficients c, then powers of s. */
static void make_taps(struct svoxel_taps *t, double beta)
{
	enum { N = SVOXEL_DEGREE + 1 };

	for (int j = 0; j < t->width; j++) {
		double older[N] = { 0 }, old[N] = { 1 }; /* T_{k-2}, T_{k-1} as powers; then T_k */
		double power[N] = { 0 };

		for (int k = 0; k < N; k++) {
			double c = 0, next[N];

			for (int i = 0; i < N; i++)
				c += (k ? 2. : 1.) / N *
				     kernel(cos(M_PI * (i + .5) / N) / 2 + j - (t->width - 1) / 2., t->width,
				            beta) *
				     cos(M_PI * k * (i + .5) / N);
			for (int i = 0; i < N; i++) power[i] += c * old[i];
			for (int i = 0; i < N; i++)
				next[i] = (i ? (k ? 2 : 1) * old[i - 1] : 0) - (k ? older[i] : 0);
			memcpy(older, old, sizeof older);
			memcpy(old, next, sizeof old);
		}
		for (int i = 0; i < N; i++) t->c[i][j] = (iso_real)power[i];
	}
}

/* x cos x - sin x; by its series where the two cancel. */
static double bessel_part(double x)
{
	double xx = x * x;

	return fabs(x) < .05 ? x * xx * (-1. / 3 + xx * (1. / 30 + xx * (-1. / 840 + xx / 45360)))
	                     : x * cos(x) - sin(x);
}

/* (19) times 6/pi, since images hold absorbed energy, c the tissue's: -j gamma c/(2 pi f^2) (x cos x - sin x) h_e, with
   h_e(f) = sum of h_k exp(-j 2 pi f k dt) unless it is given. */
void iso_svoxel_factor(double z[2], const struct iso_svoxel *q, double line)
{
	const struct iso_transducers *t = q->t;
	double speed = q->delays ? q->delays->m.c1 : t->speed;
	double f = ((double)q->first_line + line) * q->df_mhz + q->offset_mhz, h[2] = { t->eir ? 0 : 1, 0 },
	       a = 0;

	for (int64_t k = 0; t->eir && k < t->n_eir; k++) {
		double cycles = f * t->dt_us * (double)k, turned = 2 * M_PI * (cycles - rint(cycles));

		h[0] += t->eir[k] * cos(turned);
		h[1] -= t->eir[k] * sin(turned);
	}
	if (q->eir) memcpy(h, q->eir + 2 * (int64_t)line, sizeof h);
	if (f > 0)
		a = 6 / M_PI * t->gamma * speed / (2 * M_PI * f * f) *
		    bessel_part(M_PI * f * q->grid.voxel[0] / speed);
	z[0] = a * h[1];
	z[1] = -a * h[0];
}

/* Four impulses stand for a rectangle (far field): sinc(f tx) sinc(f ty) is the transform of
   their sum over (j 2 pi f)^2 tx ty, with tx and ty in bins here. */
static double shape(const struct svoxel *p, int64_t l)
{
	double turns = 2 * M_PI * svoxel_line_mhz(p, l) / p->bins_per_us;

	if (p->sir != ISO_SIR_RECT) return 1;
	return turns > 0 ? -1 / (turns * turns) : 0;
}

/* An even number without prime factors above 7, that a transform is quick for. */
static bool is_smooth(int64_t n)
{
	if (n % 2) return false;
	for (int64_t p = 2; p <= 7; p++)
		while (n % p == 0) n /= p;
	return n == 1;
}

int64_t iso_svoxel_bins(const struct iso_svoxel *q)
{
	struct svoxel_kernel k = iso_svoxel_kernel(q);
	double least = k.per_wave * (double)(q->first_line + q->lines);
	int64_t bins = 32;

	if (k.width > SVOXEL_NARROW) {
		while ((double)bins < least) bins *= 2;
		return bins;
	}
	for (bins = (int64_t)ceil(k.per_wave * iso_svoxel_highest(q)); bins < 32 || !is_smooth(bins);) bins++;
	return bins;
}

double iso_svoxel_highest(const struct iso_svoxel *q)
{
	return (double)(q->first_line + q->lines - 1) + q->offset_mhz / q->df_mhz;
}

/* From the least to the greatest delay that any voxel can have, with the kernel and a rectangle's
   delays on both sides. */
void iso_svoxel_span(int64_t *low, int64_t *span, double bins_per_mm, const struct iso_svoxel *q)
{
	const struct iso_transducers *t = q->t;
	const struct iso_grid *g = &q->grid;
	double half = 0, near = INFINITY, far = 0;

	for (int a = 0; a < 3; a++) half += pow((double)g->n[a] * g->voxel[a] / 2, 2);
	half = sqrt(half);
	for (int64_t i = 0; i < t->n; i++) {
		const double *x = t->pos + 3 * i;
		double d = hypot(hypot(x[0] - g->centre[0], x[1] - g->centre[1]), x[2] - g->centre[2]);
		double side = t->aperture ? t->aperture[2 * i] + t->aperture[2 * i + 1] : 0;

		near = fmin(near, fmax(d - half, 0) - side);
		far = fmax(far, d + half + side);
	}
	if (q->delays) {
		near += q->delays->m.least * t->speed;
		far += q->delays->m.most * t->speed;
	}
	*low = (int64_t)floor(near * bins_per_mm) - 2 * SVOXEL_TAPS;
	*span = (int64_t)ceil(far * bins_per_mm) + 2 * SVOXEL_TAPS - *low;
}

/* Bin i of a trace is at (low + i)/bins of a period, of which the offset has offset/df turns. */
static void make_turn(struct iso_room *room, struct svoxel *p)
{
	int64_t n = p->span + SVOXEL_TAPS;

	if (!(p->offset_mhz > 0) || !ISO_HOST(room, p->turn, 2 * n)) return;
	for (int64_t i = 0; i < n; i++) {
		double turns = p->offset_mhz / p->df_mhz * ((double)(p->low + i) / (double)p->bins);
		double a = 2 * M_PI * (turns - rint(turns));

		p->turn[2 * i] = cos(a);
		p->turn[2 * i + 1] = sin(a);
	}
}

/* The taps of a wide kernel, and one over its spectrum, Int phi(x) cos(2 pi v x) dx, at every line. */
static void make_wide(struct svoxel *p, double correct[])
{
	double x[KERNEL_NODES], value[KERNEL_NODES];
	double sigma = (double)p->bins / (2. * (double)(p->first_line + p->lines));
	int width = p->taps.width;
	double beta = .98 * M_PI * width * (1 - 1 / (2 * sigma));

	make_taps(&p->taps, beta);
	iso_aperture_gauss(KERNEL_NODES, x, value);
	for (int i = 0; i < KERNEL_NODES; i++) {
		x[i] *= width;
		value[i] *= width * kernel(x[i], width, beta);
	}
	for (int64_t l = 0; l < p->lines; l++) {
		double v = ((double)(p->first_line + l) + p->offset_mhz / p->df_mhz) / (double)p->bins;
		double spectrum = 0;

		for (int i = 0; i < KERNEL_NODES; i++) spectrum += value[i] * cos(2 * M_PI * v * x[i]);
		correct[l] = 1 / spectrum;
	}
}

int iso_svoxel_tables(struct iso_room *room, struct svoxel *p, const struct iso_svoxel *q)
{
	double *correct;
	int st = iso_svoxel_faces(room, p, q);

	if (st) return st;
	p->bins = iso_svoxel_bins(q);
	p->bins_per_us = p->df_mhz * (double)p->bins;
	p->bins_per_mm = p->bins_per_us / p->speed;
	p->taps.width = iso_svoxel_kernel(q).width;
	p->error = iso_svoxel_error(q);
	double guard = svoxel_is_narrow(p) ? fmax(GUARD_PART * fmax(q->accuracy, p->error), GUARD_NARROW)
	                                   : GUARD_ERROR;

	p->least = sqrt(6 * guard) / (M_PI * svoxel_line_mhz(p, p->lines - 1)) * p->bins_per_us;
	iso_svoxel_span(&p->low, &p->span, p->bins_per_mm, q);
	make_turn(room, p);
	ISO_HOST(room, p->factor, 2 * p->lines);
	ISO_HOST(room, p->shaped, 2 * p->lines);
	ISO_HOST(room, correct, p->lines);
	if (room->status) return room->status;
	if (svoxel_is_narrow(p))
		iso_svoxel_narrow(p, q, correct);
	else
		make_wide(p, correct);
	for (int64_t l = 0; l < p->lines; l++) {
		double *z = p->factor + 2 * l, by = correct[l] * shape(p, l);

		iso_svoxel_factor(z, q, (double)l);
		p->shaped[2 * l] = z[0] * by;
		p->shaped[2 * l + 1] = z[1] * by;
	}
	return ISO_OK;
}
