/* SPDX-License-Identifier: BSD-3-Clause */
/* One history of a simulation without photon physics: a decay, or two strangers' photons; whether they cross the
   object, and whether a pair of crystals sees them.

   Random numbers: Philox keyed by the seed; the counter is (history, draw). Only sums, products, quotients, roots,
   tables and the series of transport_turn and photon_exponential are used, and the CUDA file that includes this is
   compiled without fusing: every device has the same histories, bit by bit. The one exception is the azimuth of
   cylinder_column, whose last bits may differ: devices part only where a photon meets the border of two crystals
   within rounding. */
#ifndef ISO_HISTORY_KERN_H
#define ISO_HISTORY_KERN_H

#include "base/constants.h"
#include "core/loop/box.h"
#include "physics/photon_kern.h"
#include "scanner/cylinder_kern.h"
#include "scanner/pairs_kern.h"

enum iso_history_kind { HISTORY_TRUE, HISTORY_BENT, HISTORY_RANDOM, HISTORY_DELAYED, HISTORY_KINDS };

/* Bits of a draw's number above these are free for other uses of the same history. */
#define HISTORY_SHIFT 32

/* Draws of a history by number; free paths take as many as they need. */
enum {
	HISTORY_PLACE,
	HISTORY_DIRECTION,
	HISTORY_BLUR,
	HISTORY_DEFLECTION,
	HISTORY_TIME, /* of a decay of the pilot */
	HISTORY_PATHS_1 = 1 << 16,
	HISTORY_PATHS_2 = 2 << 16,
	HISTORY_FIXED_1 = 3 << 16, /* in what stays with the scanner, beside an object that moves */
	HISTORY_FIXED_2 = 4 << 16,
};

#define HISTORY_BENT_RAD .5 /* mean angle of bent ones, exponential */

/* An attenuating object. Plain data; mu is of the device that runs the histories. */
struct iso_woodcock {
	const iso_real *mu; /* 1/mm; borrowed. NULL: nothing attenuates */
	int64_t n[3];
	double voxel[3], low[3]; /* size and low corner of the grid, mm */
	double per_mm[3];        /* voxels */
	double box[3][2];        /* mm: around the voxels that are not 0 */
	double path;             /* mean free path in the densest voxel, mm */
};

/* What histories draw from: plain data; pointers are of the device that runs them. */
struct iso_histories {
	struct cylinder ring;
	struct iso_pairs pairs;
	const double *pos;               /* (crystals, 3): mm */
	const iso_real *eff;             /* per crystal; NULL: 1 */
	double most_eff;                 /* the largest one */
	struct iso_emission emission[2]; /* of trues and bent ones, made if there are any */
	struct iso_woodcock mu;
	double radius, half; /* of the ring: radius, half of the axial length, mm */
	double sigma_ps;     /* 0: no times */
	double window_ps;    /* randoms: |dt| <= window */
	uint64_t seed;
};

struct iso_hit {
	uint32_t crystal[2];
	float dt_ps;
	uint8_t order; /* scatters; ISO_ORDER_RANDOM: a random */
};

/* Number of history i of a block. */
ISO_HD uint64_t history_number(int64_t block, int64_t i)
{
	return (uint64_t)block << 32 | (uint64_t)i;
}

/* Every kind has draws of its own: the first. */
ISO_HD uint64_t history_draw(enum iso_history_kind kind)
{
	return (uint64_t)kind << HISTORY_SHIFT;
}

ISO_HD bool history_is_decay(enum iso_history_kind kind)
{
	return kind == HISTORY_TRUE || kind == HISTORY_BENT;
}

/* ---- decays ---- */

/* Voxel by a.w[0..1], place in it by a.w[2..3], direction by b.w[0..1]. */
ISO_HD void history_decay(double place[3], double dir[3], const struct iso_emission *e, struct philox a,
                          struct philox b)
{
	float most, c, s;
	uint32_t i = emission_voxel(e->slot, e->n, (uint64_t)a.w[0] << 32 | a.w[1], &most);
	uint32_t nx = (uint32_t)e->grid.n[0], ny = (uint32_t)e->grid.n[1];
	uint32_t row = i / nx, plane = row / ny;
	uint32_t at[3] = { i - row * nx, row - plane * ny, plane };
	uint64_t bits = (uint64_t)a.w[2] << 32 | a.w[3];

	for (int k = 0; k < 3; k++, bits >>= 21) /* 21 bits an axis */
		place[k] = e->low[k] +
		           e->grid.voxel[k] * ((double)at[k] + ((double)(bits & 0x1fffff) + .5) * 0x1p-21);
	double sin_tilt = (double)((2 * philox_unit(b.w[0]) - 1) * most);
	double cos_tilt = sqrt(1 - sin_tilt * sin_tilt);

	transport_turn(&c, &s, b.w[1]);
	dir[0] = cos_tilt * (double)c;
	dir[1] = cos_tilt * (double)s;
	dir[2] = sin_tilt;
}

/* cos x, 0 <= x <= pi, as -sin(x - pi/2): Taylor's series to the 17th power, whose next term is below 5e-14. */
ISO_HD double history_cosine(double x)
{
	double y = x - M_PI / 2, q = y * y, sum = 1;

	for (int k = 16; k > 0; k -= 2) sum = 1 - sum * q / (double)(k * (k + 1));
	return -y * sum;
}

/* A decay: where, and the directions of its photons. */
struct history_photons {
	double from[3], dir[2][3];
	double box[2][2]; /* mm along each direction: where it is in the object's box */
	uint64_t history;
	uint32_t word; /* for thinning */
};

/* By the draws HISTORY_PLACE and HISTORY_DIRECTION. */
ISO_HD void history_emit_of(struct history_photons *p, const struct iso_emission *e, uint64_t seed,
                            enum iso_history_kind kind, uint64_t history, struct philox place,
                            struct philox b)
{
	p->history = history;
	p->word = b.w[2];
	history_decay(p->from, p->dir[0], e, place, b);
	for (int i = 0; i < 3; i++) p->dir[1][i] = -p->dir[0][i];
	if (kind == HISTORY_BENT) {
		struct philox c = philox_draw(seed, history, history_draw(kind) + HISTORY_DEFLECTION);
		double angle = HISTORY_BENT_RAD * (double)photon_exponential(c.w[0]);
		float d[3] = { (float)p->dir[1][0], (float)p->dir[1][1], (float)p->dir[1][2] };

		transport_deflect(d, (float)history_cosine(fmin(angle, M_PI)), c.w[1]);
		for (int i = 0; i < 3; i++) p->dir[1][i] = (double)d[i];
	}
}

ISO_HD void history_emit(struct history_photons *p, const struct iso_histories *h, enum iso_history_kind kind,
                         uint64_t history, struct philox place, struct philox b)
{
	history_emit_of(p, &h->emission[kind], h->seed, kind, history, place, b);
}

/* Whether photon `which`, from inside, leaves through the ring, not through an end.
   |from + t dir| = radius in x, y: a t^2 + 2 b t - c = 0. */
ISO_HD bool history_reaches(const struct iso_histories *h, const struct history_photons *p, int which)
{
	const double *from = p->from, *dir = p->dir[which];
	double a = dir[0] * dir[0] + dir[1] * dir[1], b = from[0] * dir[0] + from[1] * dir[1];
	double c = h->radius * h->radius - from[0] * from[0] - from[1] * from[1];

	return c >= 0 && a > 0 && fabs(from[2] + dir[2] * (sqrt(b * b + a * c) - b) / a) <= h->half;
}

/* ---- through a map of mu without tracing voxels (Woodcock et al. 1965) ----

   Free paths are drawn as if all were as dense as the densest voxel, and each collision is real with
   probability mu / densest: the photon passes with probability exp(-integral of mu), exactly. */

ISO_HD double woodcock_mu(const struct iso_woodcock *w, const double from[3], const double dir[3], double t)
{
	int64_t at[3];

	for (int a = 0; a < 3; a++) {
		at[a] = (int64_t)((from[a] + t * dir[a] - w->low[a]) * w->per_mm[a]);
		at[a] = at[a] < 0 ? 0 : at[a] < w->n[a] ? at[a] : w->n[a] - 1; /* rounding */
	}
	return (double)w->mu[(at[2] * w->n[1] + at[1]) * w->n[0] + at[0]];
}

/* Where the line from + t dir is inside the box; *end <= *begin: nowhere. */
ISO_HD void woodcock_clip(const struct iso_woodcock *w, const double from[3], const double dir[3],
                          double *begin, double *end)
{
	*begin = -INFINITY;
	*end = INFINITY;
	for (int a = 0; a < 3; a++)
		if (!box_narrow(begin, end, w->box[a][0] - from[a], w->box[a][1] - from[a], dir[a]))
			*end = -INFINITY;
}

/* Along dir, of which t to end is inside the box; p is draw `draw`. */
ISO_HD bool woodcock_passes(const struct iso_woodcock *w, const double from[3], const double dir[3], double t,
                            double end, uint64_t seed, uint64_t history, uint64_t draw, struct philox p)
{
	if (!(end > t)) return true;
	for (;; p = philox_draw(seed, history, ++draw))
		for (int k = 0; k < 4; k += 2) {
			t += w->path * (double)photon_exponential(p.w[k]);
			if (t >= end) return true;
			if (philox_unit(p.w[k + 1]) < woodcock_mu(w, from, dir, t) * w->path) return false;
		}
}

/* Where both photons are in the object's box. */
ISO_HD void history_enter(struct history_photons *p, const struct iso_woodcock *w, enum iso_history_kind kind)
{
	double begin, end;

	woodcock_clip(w, p->from, p->dir[0], &begin, &end);
	p->box[0][0] = fmax(begin, 0.);
	p->box[0][1] = end;
	if (kind == HISTORY_BENT) {
		woodcock_clip(w, p->from, p->dir[1], &begin, &end);
	} else { /* the other way along the same line */
		double swap = -begin;

		begin = -end;
		end = swap;
	}
	p->box[1][0] = fmax(begin, 0.);
	p->box[1][1] = end;
}

ISO_HD uint64_t history_paths(enum iso_history_kind kind, int which)
{
	return history_draw(kind) + (which ? HISTORY_PATHS_2 : HISTORY_PATHS_1);
}

/* Whether photon `which` passes the object; path: its draw history_paths(kind, which). */
ISO_HD bool history_passes(const struct iso_histories *h, const struct history_photons *p,
                           enum iso_history_kind kind, int which, struct philox path)
{
	return woodcock_passes(&h->mu, p->from, p->dir[which], p->box[which][0], p->box[which][1], h->seed,
	                       p->history, history_paths(kind, which), path);
}

/* ---- crystals ---- */

/* Thinning by the efficiencies of both crystals, over the largest product there could be. */
ISO_HD bool history_kept(const struct iso_histories *h, int64_t a, int64_t b, uint32_t word)
{
	return !h->eff ||
	       (double)philox_unit(word) * h->most_eff * h->most_eff < (double)h->eff[a] * (double)h->eff[b];
}

ISO_HD double history_distance(const double a[3], const double b[3])
{
	double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

	return sqrt(x * x + y * y + z * z);
}

/* Both photons at the crystals. */
ISO_HD bool history_detect(struct iso_hit *hit, const struct iso_histories *h,
                           const struct history_photons *p, enum iso_history_kind kind)
{
	int64_t c1 = cylinder_hit(&h->ring, h->radius, p->from, p->dir[0]);
	int64_t c2 = cylinder_hit(&h->ring, h->radius, p->from, p->dir[1]);

	if (c1 < 0 || c2 < 0 || !pairs_coincide(&h->pairs, c1, c2) || !history_kept(h, c1, c2, p->word))
		return false;
	hit->crystal[0] = (uint32_t)c1;
	hit->crystal[1] = (uint32_t)c2;
	hit->dt_ps = 0;
	hit->order = kind == HISTORY_BENT;
	if (h->sigma_ps > 0) {
		struct philox c = philox_draw(h->seed, p->history, history_draw(kind) + HISTORY_BLUR);
		double path = history_distance(p->from, h->pos + 3 * c1) -
		              history_distance(p->from, h->pos + 3 * c2);
		float g[2];

		photon_gauss(g, c.w[0], c.w[1]);
		hit->dt_ps = (float)(path / ISO_C_MM_PER_PS + h->sigma_ps * (double)g[0]);
	}
	return true;
}

/* A random: any pair at any time, by the draw HISTORY_PLACE. */
ISO_HD bool history_pair(struct iso_hit *hit, const struct iso_histories *h, struct philox a)
{
	int64_t n = h->pairs.n, c1, c2;
	int64_t i = (int64_t)(philox_unit_double(a.w[0], a.w[1]) * (double)n);

	pairs_get(&h->pairs, i < n ? i : n - 1, &c1, &c2);
	hit->crystal[0] = (uint32_t)c1;
	hit->crystal[1] = (uint32_t)c2;
	hit->dt_ps = h->sigma_ps > 0 ? (float)((2 * (double)philox_unit(a.w[2]) - 1) * h->window_ps) : 0;
	hit->order = ISO_ORDER_RANDOM;
	return history_kept(h, c1, c2, a.w[3]);
}

/* One history, from its first draw to its crystals. true: it has an event. */
ISO_HD bool history_run(struct iso_hit *hit, const struct iso_histories *h, enum iso_history_kind kind,
                        uint64_t history)
{
	uint64_t draw = history_draw(kind);
	struct philox place = philox_draw(h->seed, history, draw + HISTORY_PLACE);
	struct history_photons p;

	if (!history_is_decay(kind)) return history_pair(hit, h, place);
	history_emit(&p, h, kind, history, place, philox_draw(h->seed, history, draw + HISTORY_DIRECTION));
	if (!history_reaches(h, &p, 0) || !history_reaches(h, &p, 1)) return false;
	if (h->mu.mu) {
		history_enter(&p, &h->mu, kind);
		for (int i = 0; i < 2; i++)
			if (!history_passes(h, &p, kind, i,
			                    philox_draw(h->seed, history, history_paths(kind, i))))
				return false;
	}
	return history_detect(hit, h, &p, kind);
}

#endif
