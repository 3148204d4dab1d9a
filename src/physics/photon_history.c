/* SPDX-License-Identifier: BSD-3-Clause */
/* Histories: a decay sends two photons back to back in an isotropic direction (of a scatter-like
   one, the second is deflected); both must reach the ring, pass the object, meet crystals in
   coincidence, and be kept by their efficiencies. A random is any pair at any time.

   The cheapest test comes first: most decays in an object of water end in it. */
#include "photon_history.h"
#include "base/constants.h"
#include "core/box.h"

/* ---- times of a decaying scan: shares S(t) = (1 - exp(-lambda t)) / (1 - exp(-lambda T)), inverted ---- */

double iso_scan_share(const struct scan_rate *r, double t)
{
	if (!(r->lambda > 0)) return t / r->duration;
	return expm1(-r->lambda * t) / expm1(-r->lambda * r->duration);
}

double iso_scan_when(const struct scan_rate *r, double u)
{
	if (!(r->lambda > 0)) return u * r->duration;
	return -log1p(u * expm1(-r->lambda * r->duration)) / r->lambda;
}

/* Uniform numbers in order, without sorting: sums of n + 1 exponential steps over the last sum. */
void iso_scan_times(double *t, int64_t n, const struct scan_rate *r, double from, double to, uint64_t seed,
                    uint64_t history, uint64_t draw)
{
	double first = iso_scan_share(r, from), width = iso_scan_share(r, to) - first, sum = 0;
	struct philox p = { { 0 } };

	for (int64_t i = 0; i <= n; i++) {
		if (i % 4 == 0) p = philox_draw(seed, history, draw + (uint64_t)i / 4);
		sum -= (double)logf(philox_unit(p.w[i % 4]));
		if (i < n) t[i] = sum;
	}
	for (int64_t i = 0; i < n; i++)
		t[i] = fmin(to, fmax(from, iso_scan_when(r, first + width * (t[i] / sum))));
}

/* With q = exp(-lambda T): (lambda T / 2) (1 + q) / (1 - q). */
double iso_scan_pile_up(const struct scan_rate *r)
{
	double x = r->lambda * r->duration;

	return x > 0 ? .5 * x * (1 + exp(-x)) / -expm1(-x) : 1;
}

/* ---- through a map of mu without tracing voxels (Woodcock et al. 1965) ----

   Free paths are drawn as if all were as dense as the densest voxel, and each collision is real with
   probability mu / densest: the photon passes with probability exp(-integral of mu), exactly. */

/* The box around what attenuates; returns the largest mu. */
static double survey(struct iso_woodcock *w)
{
	int64_t at[3], i = 0;
	double densest = 0;

	for (at[2] = 0; at[2] < w->n[2]; at[2]++)
		for (at[1] = 0; at[1] < w->n[1]; at[1]++)
			for (at[0] = 0; at[0] < w->n[0]; at[0]++, i++) {
				for (int a = 0; a < 3 && w->mu[i] > 0; a++) {
					double low = w->low[a] + (double)at[a] * w->voxel[a];
					double high = w->low[a] + (double)(at[a] + 1) * w->voxel[a];

					w->box[a][0] = fmin(w->box[a][0], low);
					w->box[a][1] = fmax(w->box[a][1], high);
				}
				densest = fmax(densest, (double)w->mu[i]);
			}
	return densest;
}

int iso_woodcock_create(struct iso_woodcock *w, const struct iso_array *mu)
{
	struct iso_woodcock made = { .mu = mu ? mu->v : NULL };
	int st = mu ? iso_check_values(mu->v, mu->n, "simulate: mu of voxel") : ISO_OK;

	if (st) return st;
	for (int a = 0; mu && a < 3; a++) {
		made.n[a] = mu->grid.n[a];
		made.voxel[a] = mu->grid.voxel[a];
		made.low[a] = mu->grid.centre[a] - .5 * (double)made.n[a] * made.voxel[a];
		made.box[a][0] = INFINITY;
		made.box[a][1] = -INFINITY;
	}
	made.path = mu ? 1 / survey(&made) : INFINITY;
	if (isinf(made.path)) made.mu = NULL;
	*w = made;
	return ISO_OK;
}

static double mu_at(const struct iso_woodcock *w, const double from[3], const double dir[3], double t)
{
	int64_t at[3];

	for (int a = 0; a < 3; a++) {
		at[a] = (int64_t)((from[a] + t * dir[a] - w->low[a]) / w->voxel[a]);
		at[a] = at[a] < 0 ? 0 : at[a] < w->n[a] ? at[a] : w->n[a] - 1; /* rounding */
	}
	return (double)w->mu[(at[2] * w->n[1] + at[1]) * w->n[0] + at[0]];
}

bool iso_woodcock_passes(const struct iso_woodcock *w, const double from[3], const double dir[3],
                         uint64_t seed, uint64_t history, uint64_t draw)
{
	double t = 0, end = INFINITY; /* where the ray is inside the box */

	if (!w->mu) return true;
	for (int a = 0; a < 3; a++)
		if (!box_narrow(&t, &end, w->box[a][0] - from[a], w->box[a][1] - from[a], dir[a]))
			return true;
	if (!(end > t)) return true;
	for (;; draw++) {
		struct philox p = philox_draw(seed, history, draw);

		for (int k = 0; k < 4; k += 2) {
			t -= w->path * (double)logf(philox_unit(p.w[k]));
			if (t >= end) return true;
			if (philox_unit(p.w[k + 1]) < mu_at(w, from, dir, t) * w->path) return false;
		}
	}
}

/* ---- histories ---- */

#define SCATTER_MEAN_RAD 0.5 /* deflection of the scatter-like background, exponential */

/* Draws of a history by number; free paths take as many as they need. */
enum { PLACE, DIRECTION, BLUR, DEFLECTION, PATHS_1 = 1 << 16, PATHS_2 = 2 << 16 };

/* d turned by `angle` towards a direction around it given by phi. */
static void deflect(double d[3], double angle, double phi)
{
	int least = fabs(d[0]) < fabs(d[1]) ? (fabs(d[0]) < fabs(d[2]) ? 0 : 2)
	                                    : (fabs(d[1]) < fabs(d[2]) ? 1 : 2);
	double e[3] = { 0 }, u[3], v[3], norm;

	e[least] = 1;
	for (int i = 0; i < 3; i++) /* u = d x e */
		u[i] = d[(i + 1) % 3] * e[(i + 2) % 3] - d[(i + 2) % 3] * e[(i + 1) % 3];
	norm = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
	for (int i = 0; i < 3; i++) u[i] /= norm;
	for (int i = 0; i < 3; i++) /* v = d x u */
		v[i] = d[(i + 1) % 3] * u[(i + 2) % 3] - d[(i + 2) % 3] * u[(i + 1) % 3];
	for (int i = 0; i < 3; i++)
		d[i] = cos(angle) * d[i] + sin(angle) * (cos(phi) * u[i] + sin(phi) * v[i]);
}

/* Whether a photon from inside leaves through the ring, not through an end. */
static bool reaches(const struct iso_histories *h, const double from[3], const double dir[3])
{
	/* |from + t dir| = radius in x, y: a t^2 + 2 b t - c = 0 */
	double a = dir[0] * dir[0] + dir[1] * dir[1], b = from[0] * dir[0] + from[1] * dir[1];
	double c = h->scanner->radius * h->scanner->radius - from[0] * from[0] - from[1] * from[1];

	return c >= 0 && a > 0 && fabs(from[2] + dir[2] * (sqrt(b * b + a * c) - b) / a) <= h->half;
}

static double distance(const double a[3], const double b[3])
{
	double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

	return sqrt(x * x + y * y + z * z);
}

/* Thinning by the efficiencies of both crystals, over the largest product there could be. */
static bool kept(const struct iso_histories *h, int64_t a, int64_t b, uint32_t word)
{
	return !h->eff ||
	       (double)philox_unit(word) * h->most_eff * h->most_eff < (double)h->eff[a] * (double)h->eff[b];
}

static bool decay(struct iso_hit *hit, const struct iso_histories *h, enum iso_history_kind kind,
                  uint64_t draw, uint64_t history, struct philox place)
{
	struct philox b = philox_draw(h->seed, history, draw + DIRECTION);
	double from[3], d1[3], d2[3];

	iso_emission_draw(from, d1, &h->emission[kind], place, b);
	for (int i = 0; i < 3; i++) d2[i] = -d1[i];
	if (kind == HISTORY_SCATTER) {
		struct philox c = philox_draw(h->seed, history, draw + DEFLECTION);
		double angle = -SCATTER_MEAN_RAD * (double)logf(philox_unit(c.w[0]));

		deflect(d2, fmin(angle, M_PI), 2 * M_PI * (double)philox_unit(c.w[1]));
	}
	if (!reaches(h, from, d1) || !reaches(h, from, d2) ||
	    !iso_woodcock_passes(&h->mu, from, d1, h->seed, history, draw + PATHS_1) ||
	    !iso_woodcock_passes(&h->mu, from, d2, h->seed, history, draw + PATHS_2))
		return false;
	int64_t c1 = iso_scanner_hit(h->scanner, from, d1), c2 = iso_scanner_hit(h->scanner, from, d2);

	if (!iso_scanner_in_coincidence(h->scanner, c1, c2) || !kept(h, c1, c2, b.w[2])) return false;
	*hit = (struct iso_hit){ { (uint32_t)c1, (uint32_t)c2 }, 0 };
	if (h->sigma_ps > 0) {
		const double *pos = h->scanner->pos;
		struct philox c = philox_draw(h->seed, history, draw + BLUR);
		double path = distance(from, pos + 3 * c1) - distance(from, pos + 3 * c2);

		hit->dt_ps = (float)(path / ISO_C_MM_PER_PS + h->sigma_ps * philox_gauss(c.w[0], c.w[1]));
	}
	return true;
}

static bool any_pair(struct iso_hit *hit, const struct iso_histories *h, struct philox a)
{
	int64_t n = h->scanner->pairs.n, c1, c2;
	int64_t i = (int64_t)(philox_unit_double(a.w[0], a.w[1]) * (double)n);

	pairs_get(&h->scanner->pairs, i < n ? i : n - 1, &c1, &c2);
	*hit = (struct iso_hit){ { (uint32_t)c1, (uint32_t)c2 }, 0 };
	if (h->sigma_ps > 0) hit->dt_ps = (float)((2 * (double)philox_unit(a.w[2]) - 1) * h->window_ps);
	return kept(h, c1, c2, a.w[3]);
}

static bool is_decay(enum iso_history_kind kind)
{
	return kind == HISTORY_TRUE || kind == HISTORY_SCATTER;
}

/* Every kind has draws of its own. */
static uint64_t first_draw(enum iso_history_kind kind)
{
	return (uint64_t)kind << HISTORY_SHIFT;
}

struct philox iso_history_begin(const struct iso_histories *h, enum iso_history_kind kind, uint64_t history)
{
	struct philox place = philox_draw(h->seed, history, first_draw(kind) + PLACE);

	if (is_decay(kind)) emission_ask(&h->emission[kind], place);
	return place;
}

bool iso_history_run(struct iso_hit *hit, const struct iso_histories *h, enum iso_history_kind kind,
                     uint64_t history, struct philox place)
{
	return is_decay(kind) ? decay(hit, h, kind, first_draw(kind), history, place)
	                      : any_pair(hit, h, place);
}
