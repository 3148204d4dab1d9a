/* SPDX-License-Identifier: BSD-3-Clause */
/* Spheres and their sound (spheres_kern.h): checks, the loops of the CPU, impulse response and noise. */
#include "base/constants.h"
#include "core/comm.h"
#include "core/philox.h"
#include "core/progress.h"
#include "core/size.h"
#include "spheres_kern.h"

#include <omp.h>

#define GOLDEN 2.39996322972865332        /* rad */
#define PER_FWHM (1 / ISO_FWHM_PER_SIGMA) /* sigma */

enum {
	TOGETHER = 128,       /* transducers that hear a sphere one after the other */
	PHASES = 64,          /* of a sample, at which a wave is tabulated */
	ENOUGH = 256,         /* points for which a table pays, */
	MOST_SAMPLES = 10000, /* and half the samples that it may have */
	LOOKS = 400,          /* places on a sphere */
};

/* Errors of the mean over a face; and 2 pi sigma f/c = 2.65 where exp(-x^2/2) is 3 %. */
#define FLAT_ERROR 1e-2
#define FOCUS_ERROR 1e-3
#define HEARD .42

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static int threads(const iso_ctx *ctx)
{
	return ctx ? iso_ctx_threads(ctx) : omp_get_max_threads();
}

/* This rank's share of the transducers; their traces, on the host, are then all ranks'. */
static struct iso_rows share(const iso_ctx *ctx, const struct iso_transducers *t)
{
	return ctx ? iso_share(ctx, t->n) : (struct iso_rows){ 0, t->n };
}

static int gather(iso_ctx *ctx, int st, iso_real *y, const struct iso_transducers *t)
{
	return ctx ? iso_comm_gather_shares(ctx, st, y, t->n, t->samples * (int64_t)sizeof *y) : st;
}

static int check_spheres(const struct iso_spheres *s)
{
	if (s->n < 0 || !(s->fwhm >= 0) || !isfinite(s->fwhm))
		return iso_fail(ISO_EARG, "spheres: %d of them, smoothed by %g mm; must not be negative",
		                s->n, s->fwhm);
	for (int i = 0; i < s->n; i++) {
		const struct iso_sphere *v = s->v + i;

		if (!(v->radius > 0) ||
		    !isfinite(v->radius + v->value + v->centre[0] + v->centre[1] + v->centre[2]))
			return iso_fail(ISO_EARG,
			                "spheres: number %d has radius %g mm, must be above 0, and value %g",
			                i, v->radius, v->value);
	}
	return ISO_OK;
}

/* ---- the image ---- */

static bool on_cuda(const iso_ctx *ctx)
{
	return ctx && iso_ctx_is_cuda(ctx);
}

static int raster_cuda(iso_real *x, iso_ctx *ctx, const struct iso_spheres *s, const struct iso_grid *g)
{
	void *cuda = NULL;
	int st = iso_cuda_symbol(&cuda, "iso_spheres_raster_cuda");

	return st ? st : ((__typeof__(&iso_spheres_raster_cuda))cuda)(x, ctx, s, s->fwhm * PER_FWHM, g);
}

int iso_spheres_raster(iso_real *x, iso_ctx *ctx, const struct iso_spheres *s, const struct iso_grid *g)
{
	if (!x || !s || !g) return iso_fail_null(__func__);
	int st;

	if ((st = iso_grid_check(g)) || (st = check_spheres(s))) return st;
	if (on_cuda(ctx)) return raster_cuda(x, ctx, s, g);
#pragma omp parallel for num_threads(threads(ctx)) schedule(dynamic)
	for (int64_t row = 0; row < g->n[1] * g->n[2]; row++)
		for (int64_t i = row * g->n[0]; i < (row + 1) * g->n[0]; i++) {
			double p[3];

			spheres_place(p, g, i);
			x[i] = (iso_real)spheres_value(s->v, s->n, s->fwhm * PER_FWHM, p);
		}
	return ISO_OK;
}

/* ---- one sphere, one point ---- */

/* Adds what a point at distance d from sphere v hears, times `share`; it is as loud as at distance `away`. */
static void hear(double *row, const struct iso_transducers *t, const struct iso_sphere *v, double s, double d,
                 double away, double share)
{
	double scale = share * v->value * t->gamma / (2 * away);
	int64_t k, last;

	if (!spheres_samples(&k, &last, t, v, s, d)) return;
	for (; k <= last; k++) row[k] += scale * spheres_heard(t, v, s, d, k);
}

/* ---- one sphere, many points ---- */

/* q(-h (j + p/PHASES)), h the way of a sample, for samples |j| <= reach and p = -1 ... PHASES + 2. What lies
   between the phases follows from four of them by a cubic: with s >= h the error is below 2e-9 of the
   greatest value. */
struct wave {
	int reach, length; /* length = 2 reach + 1 */
	double *v;
};

static bool wave_make(struct wave *w, double h, double a, double s)
{
	int reach = (int)ceil((a + SPHERES_TAIL * s) / h) + 1;

	if (reach != w->reach) {
		free(w->v);
		w->reach = reach;
		w->length = 2 * reach + 1;
		w->v = size_alloc(PHASES + 4, w->length * (int64_t)sizeof *w->v);
	}
	for (int p = 0; p < PHASES + 4 && w->v; p++)
		for (int j = 0; j < w->length; j++)
			w->v[p * w->length + j] =
				spheres_smoothed(-h * (j - reach + (double)(p - 1) / PHASES), a, s);
	return w->v;
}

/* As `hear`, where the wave's other half, q(d + c t), is over before the record begins. */
static void wave_add(double *row, const struct wave *w, const struct iso_transducers *t, double d,
                     double scale)
{
	double arrival = (d / t->speed - t->first_us) / t->dt_us, sample = ceil(arrival);
	double at = (sample - arrival) * PHASES, p = floor(at), f = at - p;
	double first = sample - w->reach, weight[4] = {
		-scale * f * (f - 1) * (f - 2) / 6,
		scale * (f + 1) * (f - 1) * (f - 2) / 2,
		-scale * (f + 1) * f * (f - 2) / 2,
		scale * (f + 1) * f * (f - 1) / 6,
	};

	if (!(first < (double)t->samples && first + w->length > 0)) return;

	int64_t start = (int64_t)first, from = start < 0 ? -start : 0;
	int64_t to = t->samples - start < w->length ? t->samples - start : w->length;
	const double *v = w->v + (int64_t)p * w->length, *v1 = v + w->length, *v2 = v1 + w->length,
		     *v3 = v2 + w->length;

	for (int64_t j = from; j < to; j++)
		row[start + j] +=
			weight[0] * v[j] + weight[1] * v1[j] + weight[2] * v2[j] + weight[3] * v3[j];
}

/* ---- all of them ---- */

/* By the box of the spheres, and the frequency above which 3 % of the amplitude are left of a smoothed sphere's; without
   smoothing, all that samples hold. */
static int make_faces(struct aperture_points *face, struct iso_room *room, const struct iso_spheres *s,
                      const struct iso_transducers *t, const struct iso_faces *faces)
{
	const double sigma = s->fwhm * PER_FWHM, half = 1 / (2 * t->dt_us);
	struct aperture_rule r = {
		.error = faces ? FOCUS_ERROR : FLAT_ERROR,
		.mhz = sigma > 0 ? fmin(half, HEARD * t->speed / sigma) : half,
		.least = faces ? 1 : SPHERES_POINTS,
	};
	struct aperture_count c;
	int st;

	*face = (struct aperture_points){ .points = 1 };
	if (!t->aperture) return ISO_OK;
	for (int a = 0; a < 3; a++) {
		r.low[a] = INFINITY;
		r.high[a] = -INFINITY;
		for (int k = 0; k < s->n; k++) {
			r.low[a] = fmin(r.low[a], s->v[k].centre[a]);
			r.high[a] = fmax(r.high[a], s->v[k].centre[a]);
		}
	}
	if ((st = iso_aperture_check(t, faces))) return st;
	if (s->n == 0) return ISO_OK;
	if ((st = iso_aperture_count(&c, t, faces, &r, "spheres"))) return st;
	c.half[0] = c.half[1] = false;
	return iso_aperture_points(face, room, t, faces, &c);
}

/* Sphere number i as the transducers hear it: t is theirs, through tissue with the speed at the sphere. */
struct heard {
	const struct iso_transducers *t;
	const struct iso_sphere *v;
	const iso_delays *delays; /* NULL: one speed */
	struct iso_transducers local;
};

static struct heard heard_of(const struct iso_transducers *t, const struct iso_sphere *v,
                             const iso_delays *delays)
{
	struct heard h = { .t = t, .v = v, .delays = delays };

	if (!delays) return h;
	h.local = *t;
	if (iso_delays_speeds(&h.local.speed, delays, 1, v->centre)) h.local.speed = t->speed;
	return h;
}

/* The distance of point p of transducer q; through tissue the delay times the local speed. *away: of how loud it is; 0:
   nothing is heard. */
static double distance(double *away, const struct heard *h, int64_t q, const double p[3])
{
	double us = 0, loud = 0;

	if (!h->delays) return *away = spheres_distance(p, h->v->centre);
	if (iso_delays_ray(&us, &loud, h->delays, q, p, h->v->centre)) us = 0;
	*away = loud > 0 ? 1 / loud : 0;
	return us * h->local.speed;
}

/* What one thread works at: rows of TOGETHER transducers. */
struct listener {
	double *rows;
	struct wave wave;
	bool full; /* out of memory */
};

/* Transducers q0 ... q0 + n - 1 hear sphere v; `together`: those that do with them, on all ranks. */
static void hear_sphere(struct listener *l, const struct heard *heard, double s,
                        const struct aperture_points *face, int64_t q0, int64_t n, int64_t together)
{
	const struct iso_transducers *t = heard->delays ? &heard->local : heard->t;
	const struct iso_sphere *v = heard->v;
	int points = spheres_points(face);
	double reach = v->radius + SPHERES_TAIL * s, h = t->speed * t->dt_us;
	bool table = together * points >= ENOUGH && s >= h && reach < MOST_SAMPLES * h;

	l->full |= table && !wave_make(&l->wave, h, v->radius, s);
	for (int64_t k = 0; k < n * points && !l->full; k++) {
		double p[3], share = spheres_point(p, t, face, q0 + k / points, (int)(k % points));
		double away, d = distance(&away, heard, q0 + k / points, p),
			     *row = l->rows + k / points * t->samples;

		if (!(away > 0)) continue;
		if (table && d + t->speed * t->first_us >= reach)
			wave_add(row, &l->wave, t, d, share * v->value * t->gamma / (2 * away));
		else
			hear(row, t, v, s, d, away, share);
	}
}

/* No point of a face may lie in a sphere. */
static int check_outside(const struct iso_transducers *t, const struct iso_faces *faces,
                         const struct iso_spheres *s)
{
	const double bent = faces ? M_SQRT2 : 1; /* a half circle is as deep as it is half wide */

	for (int64_t q = 0; q < t->n; q++)
		for (int k = 0; k < s->n; k++) {
			double half = t->aperture
			                      ? bent * hypot(t->aperture[2 * q], t->aperture[2 * q + 1]) / 2
			                      : 0;

			if (spheres_distance(t->pos + 3 * q, s->v[k].centre) - half <= s->v[k].radius)
				return iso_fail(ISO_EINPUT,
				                "spheres: transducer %" PRId64 " reaches into sphere %d", q,
				                k);
		}
	return ISO_OK;
}

/* Through tissue the speed must be that of the centre all over a sphere, of which directions turned by the golden angle are
   looked at; a map has no borders. */
static int check_inside(const iso_delays *delays, const struct iso_spheres *s)
{
	struct iso_delays_info info = { .size = sizeof info };
	int st = delays ? iso_delays_look(&info, delays) : ISO_OK;

	for (int k = 0; k < s->n && delays && !st && !info.smooth; k++)
		for (int i = 0; i < LOOKS && !st; i++) {
			double z = 1 - (2 * i + 1.) / LOOKS, across = sqrt(1 - z * z), c[2], p[6];
			const double way[3] = { across * cos(GOLDEN * i), across * sin(GOLDEN * i), z };

			for (int a = 0; a < 3; a++) {
				p[a] = s->v[k].centre[a];
				p[3 + a] = p[a] + s->v[k].radius * way[a];
			}
			if (!(st = iso_delays_speeds(c, delays, 2, p)) && c[0] != c[1])
				st = iso_fail(ISO_EINPUT,
				              "spheres: number %d lies across the border of the tissue, must "
				              "lie on one side",
				              k);
		}
	return st;
}

static int hear_cuda(iso_real *y, iso_ctx *ctx, const struct iso_spheres *s, const struct iso_transducers *t,
                     const struct aperture_points *face, const iso_delays *delays, struct iso_rows own)
{
	void *cuda = NULL;
	int st = iso_cuda_symbol(&cuda, "iso_spheres_hear_cuda");

	if (st || own.n == 0) return st;
	return ((__typeof__(&iso_spheres_hear_cuda))cuda)(y, ctx, s, s->fwhm * PER_FWHM, t, face, delays,
	                                                  own.first, own.n);
}

/* What transducers `own` hear. They go by blocks of TOGETHER, counted from the first transducer of all: whether a
   block has tables of waves does not depend on which part of it is this rank's. */
static int hear_all(iso_real *y, iso_ctx *ctx, const struct iso_spheres *s, const struct iso_transducers *t,
                    const struct aperture_points *face, const iso_delays *delays, struct iso_rows own)
{
	const double sigma = s->fwhm * PER_FWHM;
	const int64_t end = own.first + own.n;
	struct iso_clock clock = iso_clock_brief(ctx, "spheres", "traces", own.n, NULL);
	bool full = false;

	if (on_cuda(ctx)) return hear_cuda(y, ctx, s, t, face, delays, own);
#pragma omp parallel num_threads(threads(ctx)) reduction(|| : full)
	{
		struct listener l = { .rows = size_alloc(TOGETHER, t->samples * (int64_t)sizeof *l.rows) };

		l.full = !l.rows;
#pragma omp for schedule(dynamic)
		for (int64_t b = own.first / TOGETHER * TOGETHER; b < end; b += TOGETHER) {
			int64_t together = MIN(t->n - b, TOGETHER), q0 = MAX(b, own.first);
			int64_t n = MIN(b + together, end) - q0;

			if (l.full) continue;
			memset(l.rows, 0, (size_t)(n * t->samples) * sizeof *l.rows);
			for (int k = 0; k < s->n && !(ctx && iso_ctx_cancelled(ctx)); k++) {
				struct heard heard = heard_of(t, s->v + k, delays);

				hear_sphere(&l, &heard, sigma, face, q0, n, together);
			}
			for (int64_t i = 0; i < n * t->samples; i++)
				y[q0 * t->samples + i] = (iso_real)l.rows[i];
			iso_clock_add(&clock, n);
		}
		full = full || l.full;
		free(l.rows);
		free(l.wave.v);
	}
	iso_clock_end(&clock);
	if (full) return iso_fail_memory("traces", TOGETHER * t->samples * (int64_t)sizeof(double));
	return ctx ? iso_ctx_poll(ctx) : ISO_OK;
}

static int pressure(iso_real *y, iso_ctx *ctx, const struct iso_spheres *s, const struct iso_transducers *t,
                    const struct iso_faces *faces, const iso_delays *delays)
{
	struct iso_room room = { .what = "faces of transducers" };
	struct aperture_points face;
	int st;

	if ((st = check_spheres(s)) || (st = iso_transducers_check(t)) || (st = check_outside(t, faces, s)) ||
	    (st = check_inside(delays, s)))
		return st;
	if (!(st = make_faces(&face, &room, s, t, faces)))
		st = gather(ctx, hear_all(y, ctx, s, t, &face, delays, share(ctx, t)), y, t);
	iso_room_free(&room);
	return st;
}

int iso_spheres_pressure(iso_real *y, iso_ctx *ctx, const struct iso_spheres *s,
                         const struct iso_transducers *t)
{
	if (!y || !s || !t) return iso_fail_null(__func__);
	return pressure(y, ctx, s, t, NULL, NULL);
}

/* ---- the record ---- */

/* u_k = sum over i of h_i p_(k-i), eq. (14) without its delay; from the end, in place. */
int iso_traces_eir(iso_real *y, iso_ctx *ctx, const struct iso_transducers *t)
{
	if (!y || !t) return iso_fail_null(__func__);
	if (!t->eir) return ISO_OK;
	const struct iso_rows own = share(ctx, t);

#pragma omp parallel for num_threads(threads(ctx))
	for (int64_t q = own.first; q < own.first + own.n; q++) {
		iso_real *p = y + q * t->samples;

		for (int64_t k = t->samples - 1; k >= 0; k--) {
			double sum = 0;

			for (int64_t i = 0; i < t->n_eir && i <= k; i++) sum += t->eir[i] * (double)p[k - i];
			p[k] = (iso_real)sum;
		}
	}
	return gather(ctx, ISO_OK, y, t);
}

void iso_traces_noise(iso_real *y, int64_t n, double sigma, uint64_t seed)
{
#pragma omp parallel for
	for (int64_t i = 0; i < n; i++) {
		struct philox w = philox_draw(seed, (uint64_t)i, 0);

		y[i] = (iso_real)((double)y[i] + sigma * philox_gauss(w.w[0], w.w[1]));
	}
}

int iso_spheres_traces(iso_real *y, double *greatest, iso_ctx *ctx, const struct iso_spheres *s,
                       const struct iso_transducers *t, double noise, uint64_t seed)
{
	return iso_spheres_traces_faces(y, greatest, ctx, s, t, NULL, noise, seed);
}

int iso_spheres_traces_faces(iso_real *y, double *greatest, iso_ctx *ctx, const struct iso_spheres *s,
                             const struct iso_transducers *t, const struct iso_faces *faces, double noise,
                             uint64_t seed)
{
	return iso_spheres_traces_through(y, greatest, ctx, s, t, faces, NULL, noise, seed);
}

void iso_spheres_box(struct iso_grid *g, const struct iso_spheres *s)
{
	if (!g || !s) return;
	for (int a = 0; a < 3; a++) {
		double low = INFINITY, high = -INFINITY;

		for (int k = 0; k < s->n; k++) {
			low = fmin(low, s->v[k].centre[a]);
			high = fmax(high, s->v[k].centre[a]);
		}
		g->voxel[a] = 1;
		g->n[a] = s->n > 0 ? (int64_t)ceil(high - low) + 1 : 1;
		g->centre[a] = s->n > 0 ? (low + high) / 2 : 0;
	}
}

int iso_spheres_traces_through(iso_real *y, double *greatest, iso_ctx *ctx, const struct iso_spheres *s,
                               const struct iso_transducers *t, const struct iso_faces *faces,
                               const iso_delays *delays, double noise, uint64_t seed)
{
	if (!y || !greatest || !s || !t) return iso_fail_null(__func__);

	int64_t n = t->n * t->samples;
	int st;

	*greatest = 0;
	if ((st = pressure(y, ctx, s, t, faces, delays)) || (st = iso_traces_eir(y, ctx, t))) return st;
	for (int64_t i = 0; i < n; i++)
		*greatest = isfinite(y[i]) ? fmax(*greatest, fabs((double)y[i])) : INFINITY;
	if (!isfinite(*greatest))
		return iso_fail(ISO_EINPUT, "the traces are not finite: spheres, Grueneisen parameter or "
		                            "impulse response are too large");
	if (noise > 0) iso_traces_noise(y, n, noise * *greatest, seed);
	return ISO_OK;
}
