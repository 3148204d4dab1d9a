/* SPDX-License-Identifier: BSD-3-Clause */
/* List-mode events of a ring scanner: decays in the image's voxels, two photons back to back in
   an isotropic direction, each binned into the crystal it meets, thinned by attenuation; beside
   them randoms (any pair, any time) and a scatter-like background (one photon deflected).

   Every random number is indexed by history and draw, and events keep the order of histories, so
   a seed gives the same events whatever the number of threads. */
#include "core/ctx.h"
#include "core/poisson.h"
#include "core/progress.h"
#include "core/size.h"
#include "emission.h"
#include "model/ray.h"
#include "scanner/scanner.h"

#include <string.h>

#define PART 1024		/* histories that one thread takes at a time */
#define PARTS 256		/* parts of a block: events are gathered after each block */
#define HOPELESS (1ll << 25)	/* histories without a single event */
#define SCATTER_MEAN_RAD 0.5	/* deflection of the scatter-like background, exponential */

enum kind { TRUE_PAIR, SCATTER, RANDOM, N_KINDS };

struct sim {
	const struct iso_simulate *p;
	const iso_scanner *scanner;
	iso_ctx *ctx;
	struct iso_emission emission;
	struct ray_grid mu_grid;
	double sigma_ps, window_ps;
};

/* Draws of a history are numbered; kinds have histories of their own. */
static struct philox draw(const struct sim *s, enum kind kind, int64_t history, int number)
{
	return philox_draw(s->p->seed, (uint64_t)history, (uint64_t)kind << 8 | (uint64_t)number);
}

static void isotropic(double d[3], double u, double v)
{
	double z = 2 * u - 1, r = sqrt(1 - z * z), phi = 2 * M_PI * v;

	d[0] = r * cos(phi);
	d[1] = r * sin(phi);
	d[2] = z;
}

/* d turned by `angle` towards a direction around it given by phi. */
static void deflect(double d[3], double angle, double phi)
{
	int least = fabs(d[0]) < fabs(d[1]) ? (fabs(d[0]) < fabs(d[2]) ? 0 : 2)
					    : (fabs(d[1]) < fabs(d[2]) ? 1 : 2);
	double e[3] = { 0 }, u[3], v[3], norm;

	e[least] = 1;
	for (int i = 0; i < 3; i++)	/* u = d x e */
		u[i] = d[(i + 1) % 3] * e[(i + 2) % 3] - d[(i + 2) % 3] * e[(i + 1) % 3];
	norm = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
	for (int i = 0; i < 3; i++)
		u[i] /= norm;
	for (int i = 0; i < 3; i++)	/* v = d x u */
		v[i] = d[(i + 1) % 3] * u[(i + 2) % 3] - d[(i + 2) % 3] * u[(i + 1) % 3];
	for (int i = 0; i < 3; i++)
		d[i] = cos(angle) * d[i] + sin(angle) * (cos(phi) * u[i] + sin(phi) * v[i]);
}

static double distance(const double a[3], const double b[3])
{
	double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

	return sqrt(x * x + y * y + z * z);
}

static double gauss(struct philox p)
{
	double u = philox_unit_double(p.w[0], p.w[1]), v = philox_unit_double(p.w[2], p.w[3]);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static bool survives(const struct sim *s, const double *p1, const double *p2, double u)
{
	if (!s->p->mu)
		return true;
	struct ray r = ray_setup(&s->mu_grid, p1, p2, NULL, 0);

	return u < exp(-ray_integral(&r, s->p->mu->v));
}

static void make_event(struct iso_event *e, const double *p1, const double *p2, double dt_ps)
{
	for (int a = 0; a < 3; a++) {
		e->p1[a] = (float)p1[a];
		e->p2[a] = (float)p2[a];
	}
	e->dt_ps = (float)dt_ps;
}

/* Two photons of one decay, or of a decay with one photon deflected. */
static bool decay(const struct sim *s, enum kind kind, int64_t history, struct iso_event *e)
{
	struct philox a = draw(s, kind, history, 0), b = draw(s, kind, history, 1);
	double place[3] = { philox_unit(a.w[2]), philox_unit(a.w[3]), philox_unit(b.w[0]) };
	double origin[3], d1[3], d2[3];

	iso_emission_point(origin, &s->emission, philox_unit_double(a.w[0], a.w[1]), place);
	isotropic(d1, philox_unit(b.w[1]), philox_unit(b.w[2]));
	for (int i = 0; i < 3; i++)
		d2[i] = -d1[i];
	if (kind == SCATTER) {
		struct philox c = draw(s, kind, history, 3);
		double angle = -SCATTER_MEAN_RAD * log(philox_unit(c.w[0]));

		deflect(d2, angle < M_PI ? angle : M_PI, 2 * M_PI * philox_unit(c.w[1]));
	}
	int64_t c1 = iso_scanner_hit(s->scanner, origin, d1);
	int64_t c2 = c1 < 0 ? -1 : iso_scanner_hit(s->scanner, origin, d2);

	if (c2 < 0 || !iso_scanner_in_coincidence(s->scanner, c1, c2))
		return false;
	const double *p1 = s->scanner->pos + 3 * c1, *p2 = s->scanner->pos + 3 * c2;

	if (!survives(s, p1, p2, philox_unit(b.w[3])))
		return false;
	double dt = (distance(origin, p1) - distance(origin, p2)) / RAY_C_MM_PER_PS;

	make_event(e, p1, p2, s->sigma_ps > 0 ? dt + s->sigma_ps * gauss(draw(s, kind, history, 2))
					      : 0);
	return true;
}

static bool random_pair(const struct sim *s, int64_t history, struct iso_event *e)
{
	struct philox a = draw(s, RANDOM, history, 0);
	int64_t n = s->scanner->pairs.n, c1, c2;
	int64_t i = (int64_t)(philox_unit_double(a.w[0], a.w[1]) * (double)n);

	pairs_get(&s->scanner->pairs, i < n ? i : n - 1, &c1, &c2);
	make_event(e, s->scanner->pos + 3 * c1, s->scanner->pos + 3 * c2,
		   s->sigma_ps > 0 ? (2 * philox_unit(a.w[2]) - 1) * s->window_ps : 0);
	return true;
}

/* The events of PART histories; how many. */
static int part_events(const struct sim *s, enum kind kind, int64_t first, struct iso_event *e)
{
	int n = 0;

	for (int64_t h = first; h < first + PART && !s->ctx->cancel; h++)
		n += kind == RANDOM ? random_pair(s, h, e + n) : decay(s, kind, h, e + n);
	return n;
}

/* The first n events of a kind, in the order of their histories. */
static int generate(struct iso_event *out, int64_t n, const struct sim *s, enum kind kind,
		    int64_t *histories)
{
	struct iso_event *buffer = size_alloc(PARTS * PART, sizeof *buffer);
	struct iso_clock clock = iso_clock_start(s->ctx, "simulate", 0, n);
	int count[PARTS], st = ISO_OK;
	int64_t have = 0, history = 0;

	if (!buffer)
		return iso_fail_memory("simulate", PARTS * PART * (int64_t)sizeof *buffer);
	while (have < n) {
#pragma omp parallel for num_threads(s->ctx->threads) schedule(dynamic)
		for (int i = 0; i < PARTS; i++)
			count[i] = part_events(s, kind, history + i * PART, buffer + i * PART);
		if ((st = iso_ctx_poll(s->ctx)))
			break;
		for (int i = 0; i < PARTS; i++) {
			int64_t m = count[i] < n - have ? count[i] : n - have;

			memcpy(out + have, buffer + i * PART, (size_t)m * sizeof *out);
			have += m;
		}
		history += PARTS * PART;
		iso_clock_step(&clock, have, NULL);
		if (have == 0 && history >= HOPELESS) {
			st = iso_fail(ISO_EINPUT, "simulate: none of %lld decays gave an event; does the "
				      "activity lie inside scanner %s?", HOPELESS, s->scanner->name);
			break;
		}
	}
	*histories += history;
	free(buffer);
	return st;
}

/* Kinds in random order: each place takes a kind in proportion to what is left of it. */
static void mix(struct iso_event *out, const int64_t n[N_KINDS], struct iso_event *const from[],
		uint64_t seed)
{
	int64_t left[N_KINDS], total = 0;

	for (int k = 0; k < N_KINDS; k++)
		total += left[k] = n[k];
	for (int64_t i = 0; total > 0; i++, total--) {
		struct philox p = philox_draw(seed, (uint64_t)i, (uint64_t)N_KINDS << 8);
		double u = philox_unit_double(p.w[0], p.w[1]) * (double)total;
		int k = 0;

		while (k + 1 < N_KINDS && (u >= (double)left[k] || left[k] == 0))
			u -= (double)left[k++];
		out[i] = from[k][n[k] - left[k]--];
	}
}

static int check(const struct iso_simulate *p)
{
	if (p->scanner->kind != ISO_CYLINDER)
		return iso_fail(ISO_EINPUT, "simulate: scanner %s is a table of points without faces; a "
				"cylinder is needed", p->scanner->name);
	if (!(p->counts >= 1) || !(p->counts <= 1e12))
		return iso_fail(ISO_EARG, "simulate: %g counts, must be 1 to 1e12", p->counts);
	if (!(p->randoms >= 0) || !(p->scatters >= 0) || !(p->randoms + p->scatters <= 1))
		return iso_fail(ISO_EARG, "simulate: shares of randoms (%g) and scatters (%g) must be 0 "
				"to 1 together", p->randoms, p->scatters);
	if (!(p->tof_fwhm_ps >= 0) || !isfinite(p->tof_fwhm_ps))
		return iso_fail(ISO_EARG, "simulate: TOF resolution is %g ps, must be 0 (none) or above",
				p->tof_fwhm_ps);
	if (!p->activity->has_grid || (p->mu && !p->mu->has_grid))
		return iso_fail(ISO_EINPUT, "simulate: an image without voxel sizes");
	return ISO_OK;
}

/* How many of each kind. */
static void split(int64_t n[N_KINDS], const struct iso_simulate *p)
{
	double mean[N_KINDS] = { [TRUE_PAIR] = p->counts * (1 - p->randoms - p->scatters),
				 [SCATTER] = p->counts * p->scatters,
				 [RANDOM] = p->counts * p->randoms };

	for (int k = 0; k < N_KINDS; k++)
		n[k] = iso_poisson(mean[k], p->seed, UINT64_MAX - (uint64_t)k);
	if (!p->exact_counts)
		return;
	n[SCATTER] = llround(mean[SCATTER]);
	n[RANDOM] = llround(mean[RANDOM]);
	n[TRUE_PAIR] = llround(p->counts) - n[SCATTER] - n[RANDOM];
}

static int prepare(struct sim *s, const struct iso_simulate *p)
{
	double axial = (double)s->scanner->pairs.rings * s->scanner->ring_pitch;
	int st;

	s->sigma_ps = p->tof_fwhm_ps / (2 * sqrt(2 * log(2)));
	/* the longest flight path there is */
	s->window_ps = sqrt(4 * s->scanner->radius * s->scanner->radius + axial * axial) /
		       RAY_C_MM_PER_PS;
	if (p->mu && (st = iso_ray_grid(&s->mu_grid, &p->mu->grid)))
		return st;
	return iso_emission_create(&s->emission, p->activity);
}

static int run(struct iso_events *e, struct iso_simulated *info, struct sim *s)
{
	int64_t n[N_KINDS], total;
	struct iso_event *from[N_KINDS] = { 0 }, *out = NULL;
	int st = ISO_OK;

	split(n, s->p);
	total = n[TRUE_PAIR] + n[SCATTER] + n[RANDOM];
	if (total < 1)
		return iso_fail(ISO_EARG, "simulate: the Poisson number for %g counts came out as 0",
				s->p->counts);
	for (int k = 0; k < N_KINDS && !st; k++) {
		from[k] = size_alloc(n[k], sizeof *from[k]);
		st = from[k] ? generate(from[k], n[k], s, (enum kind)k, &info->histories)
			     : iso_fail_memory("simulate", n[k] * (int64_t)sizeof *from[k]);
	}
	if (!st && !(out = size_alloc(total, sizeof *out)))
		st = iso_fail_memory("simulate", total * (int64_t)sizeof *out);
	if (!st) {
		mix(out, n, from, s->p->seed);
		*e = (struct iso_events){ .n = total, .v = out };
	}
	for (int k = 0; k < N_KINDS; k++)
		free(from[k]);
	info->trues = n[TRUE_PAIR];
	info->scatters = n[SCATTER];
	info->randoms = n[RANDOM];
	return st;
}

int iso_simulate(struct iso_events *e, struct iso_simulated *info, iso_ctx *ctx,
		 const struct iso_simulate *p)
{
	struct sim s = { .p = p, .scanner = p->scanner, .ctx = ctx };
	int st;

	*info = (struct iso_simulated){ 0 };
	if ((st = check(p))) goto done;
	if ((st = prepare(&s, p))) goto done;
	st = run(e, info, &s);
	info->window_ps = s.window_ps;
	info->randoms_per_pair = p->counts * p->randoms / (double)p->scanner->pairs.n;
	/* uniform over |dt| <= tau: R / (c tau) per mm of s_c */
	info->randoms_per_pair_mm = info->randoms_per_pair / (RAY_C_MM_PER_PS * s.window_ps);
done:
	iso_emission_free(&s.emission);
	return st;
}
