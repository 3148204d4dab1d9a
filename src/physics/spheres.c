/* SPDX-License-Identifier: BSD-3-Clause */
/* Spheres and their sound in closed form (Wang 2013, eq. (28), corrected).

   A uniform sphere of radius a and energy A at distance d is heard as
	p(t) = A Gamma/2 (1 - c t/d),  |c t - d| <= a.
   Smoothing A by a Gaussian of width s convolves p with one of width s/c, because r A(r) obeys the
   one-dimensional heat equation. With the smoothed x on [-a, a],
	q(x) = x [Phi((a-x)/s) - Phi((-a-x)/s)] + s [phi((-a-x)/s) - phi((a-x)/s)],
   p(t) = A Gamma/(2 d) [q(d - c t) + q(d + c t)] and A(r) = A q(r)/r. */
#include "core/ctx.h"
#include "core/philox.h"
#include "core/size.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#define PER_FWHM (1 / 2.3548200450309493)	/* sigma over FWHM: 1 / (2 sqrt(2 ln 2)) */
#define TAIL 9		/* in s: nothing beyond this counts in double */

enum { POINTS = 8 };	/* of the aperture, along each axis */

/* phi(u) sqrt(2 pi) */
static double bell(double u)
{
	return exp(-u * u / 2);
}

static double smoothed(double x, double a, double s)
{
	double u = (a - x) / s, v = (-a - x) / s;

	if (s == 0)
		return fabs(x) <= a ? x : 0;
	if (fabs(x) > a + TAIL * s)
		return 0;
	return x * .5 * (erf(u * M_SQRT1_2) - erf(v * M_SQRT1_2)) +
	       s / sqrt(2 * M_PI) * (bell(v) - bell(u));
}

static int check(const struct iso_spheres *s)
{
	if (s->n < 0 || !(s->fwhm >= 0) || !isfinite(s->fwhm))
		return iso_fail(ISO_EARG, "spheres: %d of them, smoothed by %g mm; must not be negative",
				s->n, s->fwhm);
	for (int i = 0; i < s->n; i++) {
		const struct iso_sphere *v = s->v + i;

		if (!(v->radius > 0) ||
		    !isfinite(v->radius + v->value + v->centre[0] + v->centre[1] + v->centre[2]))
			return iso_fail(ISO_EARG, "spheres: number %d has radius %g mm and value %g; must be "
					"above 0, and finite", i, v->radius, v->value);
	}
	return ISO_OK;
}

static int threads_of(const iso_ctx *ctx)
{
	return ctx ? iso_ctx_threads(ctx) : omp_get_max_threads();
}

/* ---- the image ---- */

static double value_at(const struct iso_spheres *s, const double p[3])
{
	double sum = 0, sigma = s->fwhm * PER_FWHM;

	for (int i = 0; i < s->n; i++) {
		const struct iso_sphere *v = s->v + i;
		double d[3] = { p[0] - v->centre[0], p[1] - v->centre[1], p[2] - v->centre[2] };
		double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);

		if (r <= v->radius + TAIL * sigma) {
			r = fmax(r, sigma > 0 ? 1e-4 * sigma : 1e-9 * v->radius);
			sum += v->value * smoothed(r, v->radius, sigma) / r;
		}
	}
	return sum;
}

int iso_spheres_raster(iso_real *x, iso_ctx *ctx, const struct iso_spheres *s,
		       const struct iso_grid *g)
{
	int st;

	if ((st = iso_grid_check(g)) || (st = check(s)))
		return st;
#pragma omp parallel for num_threads(threads_of(ctx)) schedule(dynamic)
	for (int64_t row = 0; row < g->n[1] * g->n[2]; row++)
		for (int64_t i = 0; i < g->n[0]; i++) {
			int64_t at[3] = { i, row % g->n[1], row / g->n[1] };
			double p[3];

			for (int a = 0; a < 3; a++)
				p[a] = g->centre[a] +
				       ((double)at[a] - .5 * (double)(g->n[a] - 1)) * g->voxel[a];
			x[row * g->n[0] + i] = (iso_real)value_at(s, p);
		}
	return ISO_OK;
}

/* ---- the sound ---- */

/* Adds what a point at distance d from sphere v hears, times `share`. */
static void hear(double *row, const struct iso_transducers *t, const struct iso_sphere *v, double s,
		 double d, double share)
{
	double reach = v->radius + TAIL * s, scale = share * v->value * t->gamma / (2 * d);
	double from = ((d - reach) / t->speed - t->first_us) / t->dt_us;
	double to = ((d + reach) / t->speed - t->first_us) / t->dt_us;
	int64_t last;

	if (!(from <= (double)(t->samples - 1) && to >= 0))
		return;
	last = (int64_t)fmin(floor(to), (double)(t->samples - 1));
	for (int64_t k = (int64_t)fmax(ceil(from), 0); k <= last; k++) {
		double ct = t->speed * (t->first_us + (double)k * t->dt_us);

		row[k] += scale * (smoothed(d - ct, v->radius, s) +
				   (d + ct < reach ? smoothed(d + ct, v->radius, s) : 0));
	}
}

static double distance(const double p[3], const double q[3])
{
	double d[3] = { p[0] - q[0], p[1] - q[1], p[2] - q[2] };

	return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* Nodes and weights of Gauss and Legendre on [-1/2, 1/2], weights of sum 1: Newton from
   Tricomi's guesses. */
static void gauss_nodes(double x[POINTS], double w[POINTS])
{
	for (int i = 0; i < POINTS; i++) {
		double z = cos(M_PI * (i + .75) / (POINTS + .5)), slope = 1;

		for (int step = 0; step < 20; step++) {
			double p = 1, before = 0;

			for (int k = 1; k <= POINTS; k++) {
				double next = ((2 * k - 1) * z * p - (k - 1) * before) / k;

				before = p;
				p = next;
			}
			slope = POINTS * (z * p - before) / (z * z - 1);
			z -= p / slope;
		}
		x[i] = z / 2;
		w[i] = 1 / ((1 - z * z) * slope * slope);
	}
}

struct aperture {
	double x[POINTS], w[POINTS];
};

/* The mean over the face of transducer q; the face is a point where there is no aperture. */
static void hear_all(double *row, const struct iso_transducers *t, const struct iso_spheres *s,
		     const struct aperture *face, int64_t q)
{
	int points = t->aperture ? POINTS : 1;
	double sigma = s->fwhm * PER_FWHM, p[3];

	for (int i = 0; i < points * points; i++) {
		double x = 0, y = 0, w = 1;

		if (t->aperture) {
			x = face->x[i % POINTS] * t->aperture[2 * q];
			y = face->x[i / POINTS] * t->aperture[2 * q + 1];
			w = face->w[i % POINTS] * face->w[i / POINTS];
		}
		for (int a = 0; a < 3; a++)
			p[a] = t->pos[3 * q + a] + x * t->ex[3 * q + a] + y * t->ey[3 * q + a];
		for (int k = 0; k < s->n; k++)
			hear(row, t, s->v + k, sigma, distance(p, s->v[k].centre), w);
	}
}

/* No point of a face may lie in a sphere. */
static int check_outside(const struct iso_transducers *t, const struct iso_spheres *s)
{
	for (int64_t q = 0; q < t->n; q++)
		for (int k = 0; k < s->n; k++) {
			double half = t->aperture ? hypot(t->aperture[2 * q], t->aperture[2 * q + 1]) / 2 : 0;

			if (distance(t->pos + 3 * q, s->v[k].centre) - half <= s->v[k].radius)
				return iso_fail(ISO_EINPUT, "spheres: transducer %" PRId64 " reaches into sphere "
						"%d", q, k);
		}
	return ISO_OK;
}

int iso_spheres_pressure(iso_real *y, iso_ctx *ctx, const struct iso_spheres *s,
			 const struct iso_transducers *t)
{
	struct aperture face;
	int threads = threads_of(ctx), st;
	double *rows;

	if ((st = check(s)) || (st = iso_transducers_check(t)) || (st = check_outside(t, s)))
		return st;
	rows = size_alloc(threads, t->samples * (int64_t)sizeof *rows);
	if (!rows)
		return iso_fail_memory("traces", threads * t->samples * (int64_t)sizeof *rows);
	gauss_nodes(face.x, face.w);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
	for (int64_t q = 0; q < t->n; q++) {
		double *row = rows + omp_get_thread_num() * t->samples;

		memset(row, 0, (size_t)t->samples * sizeof *row);
		if (!ctx || !iso_ctx_cancelled(ctx))
			hear_all(row, t, s, &face, q);
		for (int64_t k = 0; k < t->samples; k++)
			y[q * t->samples + k] = (iso_real)row[k];
	}
	free(rows);
	return ctx ? iso_ctx_poll(ctx) : ISO_OK;
}

/* ---- the record ---- */

/* u_k = sum over i of h_i p_(k-i), eq. (14) without its delay; from the end, in place. */
int iso_traces_eir(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t)
{
	if (!t->eir)
		return ISO_OK;
#pragma omp parallel for num_threads(threads_of(ctx))
	for (int64_t q = 0; q < t->n; q++) {
		iso_real *p = y + q * t->samples;

		for (int64_t k = t->samples - 1; k >= 0; k--) {
			double sum = 0;

			for (int64_t i = 0; i < t->n_eir && i <= k; i++)
				sum += t->eir[i] * (double)p[k - i];
			p[k] = (iso_real)sum;
		}
	}
	return ISO_OK;
}

void iso_traces_noise(iso_real *y, int64_t n, double sigma, uint64_t seed)
{
#pragma omp parallel for
	for (int64_t i = 0; i < n; i++) {
		struct philox w = philox_draw(seed, (uint64_t)i, 0);

		y[i] = (iso_real)((double)y[i] + sigma * philox_gauss(w.w[0], w.w[1]));
	}
}
