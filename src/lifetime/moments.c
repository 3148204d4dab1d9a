/* SPDX-License-Identifier: BSD-3-Clause */
/* Lives from moments: images of counts, and of times and their squares as weights, by EM over the same rows (SIMPLE, Huang
   and Qi 2024), put right for the window. */
#include "core/philox.h"
#include "maps.h"
#include "mixture.h"

enum { POWERS = 3 };

struct moments {
	const struct iso_triples *t;
	const struct iso_lifetime *p;
	struct mixture x;
	bool w_free;
	int powers;    /* 3; 2 with w known */
	double *sums;  /* (voxels, powers) */
	double random; /* of an image of random triples: how many for each of its counts */
};

static double w_of(const struct moments *m, int64_t v)
{
	if (m->x.single) return 1;
	return m->p->w ? m->p->w[v] : m->p->w_all;
}

/* What random triples add to f0, as a share of f0 or by their own image. */
static double randoms_of(const struct moments *m, double f0, int64_t v)
{
	const struct iso_lifetime_randoms *r = &m->p->randoms;

	return r->image ? m->random * r->image[v] : f0 * r->number / (double)m->t->n;
}

/* Means of t and t^2 against the offset in a voxel, without random triples; false: there is nothing. */
static bool means_of(double mean[2], double *f0, const struct moments *m, int64_t v)
{
	const struct iso_lifetime_model *model = &m->t->model;
	const double width = model->hi - model->lo, a = .5, b = width + .5; /* t' of the window's ends */
	const double uniform[POWERS] = { 1, (a + b) / 2, (a * a + a * b + b * b) / 3 };
	const double *f = m->sums + v * m->powers, off = randoms_of(m, f[0], v);
	const double s = .5 + model->offset - model->lo;

	*f0 = f[0] - off;
	if (!(*f0 > 0)) return false;
	mean[0] = (f[1] - off * uniform[1]) / *f0 - s;
	mean[1] = m->powers > 2 ? (f[2] - off * uniform[2]) / *f0 - 2 * s * mean[0] - s * s : 0;
	return true;
}

static struct voxel_found solve(const struct moments *m, int64_t v)
{
	struct voxel_found found = { .tau = NAN, .w = m->w_free ? NAN : w_of(m, v) };
	double mean[2], f0 = 0;

	if (!means_of(mean, &f0, m, v)) return found;
	found.counts = f0 * (double)m->p->sens[v];
	if (m->w_free)
		mixture_solve(&found.tau, &found.w, &m->x, mean);
	else
		found.tau = mixture_solve_tau(&m->x, found.w, mean[0]);
	found.mean = mixture_life(&m->x, found.tau, found.w);
	return found;
}

/* ---- errors ---- */

/* Of one voxel by itself: the mean's error over its slope by tau. */
static double diagonal(const struct moments *m, const struct voxel_found *found)
{
	const double h = 1e-4;
	double at[2], up[2], down[2];

	if (!isfinite(found->tau)) return INFINITY;
	mixture_mean(at, &m->x, found->tau, found->w);
	mixture_mean(up, &m->x, found->tau + h, found->w);
	mixture_mean(down, &m->x, found->tau - h, found->w);
	return sqrt(at[1] - at[0] * at[0]) / (sqrt(found->counts) * fabs(up[0] - down[0]) / (2 * h));
}

/* Sums over repeats: tau, its square, w, its square, and how many had a tau. */
enum { TAU, TAU_2, W, W_2, FOUND, SPREADS };

/* Of regions: tau and counts of a repeat, means, and the same sums; no spread: nothing is wanted. */
struct regions {
	double *tau, *counts, *mean, *spread;
};

static double deviation(double sum, double squares, double n)
{
	return n > 1 ? sqrt(fmax(squares - sum * sum / n, 0) / (n - 1)) : INFINITY;
}

static void draw_copies(uint8_t *copies, const struct moments *m, int repeat)
{
	const struct iso_triples *t = m->t;

#pragma omp parallel for num_threads(t->room.ctx->threads)
	for (int64_t j = 0; j < t->n; j++) {
		/* as each repeat has a seed of its own, it does not matter how many numbers a triple takes */
		const struct philox key = philox_draw(m->p->seed, (uint64_t)repeat, 0);

		copies[j] =
			(uint8_t)iso_poisson(1, (uint64_t)key.w[0] << 32 | key.w[1], (uint64_t)t->file[j]);
	}
}

/* Means of regions of one repeat into the sums over repeats. */
static void add_regions(struct regions *r, const struct moments *m)
{
	if (!r->spread) return;
	lifetime_regions(r->mean, r->tau, r->counts, m->t->voxels, m->p);
	for (int k = 0; k < m->p->regions; k++) {
		double *s = r->spread + k * SPREADS;

		if (!isfinite(r->mean[k])) continue;
		s[TAU] += r->mean[k];
		s[TAU_2] += r->mean[k] * r->mean[k];
		s[FOUND]++;
	}
}

/* Each triple counts a Poisson number of times: the spread of what comes out. */
static int bootstrap(struct moments *m, double *spread, struct regions *r, struct iso_room *work)
{
	const struct iso_triples *t = m->t;
	double *own = m->sums, *sums;
	uint8_t *copies;
	int st;

	ISO_HOST(work, sums, t->voxels * m->powers);
	ISO_HOST(work, copies, t->n);
	st = work->status;
	m->sums = sums;
	for (int b = 0; b < m->p->repeats && !st; b++) {
		draw_copies(copies, m, b);
		if ((st = lifetime_em(sums, t, m->p, m->powers, copies))) break;
#pragma omp parallel for num_threads(t->room.ctx->threads) schedule(dynamic, 64)
		for (int64_t v = 0; v < t->voxels; v++) {
			const struct voxel_found found = solve(m, v);
			double *s = spread + v * SPREADS;

			if (r->spread) r->tau[v] = found.tau, r->counts[v] = found.counts;
			if (!isfinite(found.tau)) continue;
			s[TAU] += found.tau;
			s[TAU_2] += found.tau * found.tau;
			s[W] += found.w;
			s[W_2] += found.w * found.w;
			s[FOUND]++;
		}
		add_regions(r, m);
	}
	m->sums = own;
	return st;
}

/* Where most repeats have no tau, nothing is known of its error. */
static void take_spread(struct voxel_found *found, const double *s, const struct moments *m)
{
	const bool enough = s[FOUND] * 2 > m->p->repeats;

	found->error = enough ? deviation(s[TAU], s[TAU_2], s[FOUND]) : INFINITY;
	if (m->w_free) found->w_error = enough ? deviation(s[W], s[W_2], s[FOUND]) : INFINITY;
}

/* ---- all voxels ---- */

static void put_all(const struct iso_lifetime_maps *to, const struct moments *m, const double *spread,
                    const struct regions *r)
{
#pragma omp parallel for num_threads(m->t->room.ctx->threads) schedule(dynamic, 64)
	for (int64_t v = 0; v < m->t->voxels; v++) {
		struct voxel_found found = solve(m, v);

		if (spread)
			take_spread(&found, spread + v * SPREADS, m);
		else
			found.error = diagonal(m, &found), found.w_error = m->w_free ? NAN : 0;
		if (r->tau) r->tau[v] = found.tau, r->counts[v] = found.counts;
		lifetime_put(to, v, &found, m->p);
	}
	for (int k = 0; k < (r->tau ? m->p->regions : 0) && to->region_error; k++) {
		const double *s = r->spread ? r->spread + k * SPREADS : NULL;

		to->region_error[k] = s ? deviation(s[TAU], s[TAU_2], s[FOUND]) : INFINITY;
	}
	if (r->tau && to->region_tau) lifetime_regions(to->region_tau, r->tau, r->counts, m->t->voxels, m->p);
}

static void begin(struct moments *m, const struct iso_triples *t, const struct iso_lifetime *p, bool all)
{
	double counts = 0;

	*m = (struct moments){ .t = t, .p = p };
	mixture_of(&m->x, &t->model);
	m->w_free = !m->x.single && !p->w && !(p->w_all > 0);
	m->powers = m->w_free || all ? 3 : 2;
	for (int64_t v = 0; p->randoms.image && v < t->voxels; v++)
		counts += p->randoms.image[v] * (double)p->sens[v];
	m->random = counts > 0 ? p->randoms.number / counts : 0;
}

static int run(const struct iso_lifetime_maps *to, double *sums, struct moments *m, struct iso_room *work)
{
	const struct iso_triples *t = m->t;
	struct regions r = { 0 };
	double *spread = NULL;
	int st;

	ISO_HOST(work, m->sums, t->voxels * m->powers);
	if (m->p->error == ISO_LIFETIME_BOOTSTRAP) ISO_HOST(work, spread, t->voxels * SPREADS);
	if (m->p->region) {
		ISO_HOST(work, r.tau, t->voxels);
		ISO_HOST(work, r.counts, t->voxels);
		ISO_HOST(work, r.mean, m->p->regions);
		if (spread) ISO_HOST(work, r.spread, (int64_t)m->p->regions * SPREADS);
	}
	if (work->status) return work->status;
	if ((st = lifetime_em(m->sums, t, m->p, m->powers, NULL)) ||
	    (spread && (st = bootstrap(m, spread, &r, work))))
		return st;
	for (int64_t i = 0; sums && i < t->voxels * POWERS; i++)
		sums[i] = m->sums[i % t->voxels * POWERS + i / t->voxels];
	put_all(to, m, spread, &r);
	return ISO_OK;
}

int iso_lifetime_moments(struct iso_lifetime_maps *to, double *sums, const iso_triples *t,
                         const struct iso_lifetime *p)
{
	if (!to || !t || !p) return iso_fail_null(__func__);
	struct iso_room work = iso_room_of(t->room.ctx, "moments of triples");
	struct iso_lifetime full = { 0 };
	struct iso_lifetime_maps maps = { 0 };
	struct moments m;
	int st = lifetime_take(&full, t, p);

	if (!st) st = lifetime_maps_take(&maps, to);
	if (!st && full.error == ISO_LIFETIME_FULL)
		st = iso_fail(ISO_EARG, "moments: error must be diag or bootstrap");
	if (st) return st;
	begin(&m, t, &full, sums != NULL);
	st = run(&maps, sums, &m, &work);
	iso_room_free(&work);
	return st;
}
