/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of the triples of a region, and the curve that its maps make of them. */
#include "core/sized.h"
#include "density.h"

enum { POINTS = 4 }; /* of a bin */

struct curves {
	struct likelihood l;
	const struct iso_lifetime *p;
	int bins;
	double width; /* ns */
	double *counts, *fit;
};

static int bin_of(const struct curves *c, double t)
{
	const int b = (int)((t - c->l.x.lo) / c->width);

	return b < 0 ? 0 : b < c->bins ? b : c->bins - 1;
}

/* Each triple is dealt to the voxels by what explains its time too. Random triples are in no region. */
static void count(struct curves *c, const int32_t *region)
{
	const struct iso_triples *t = c->l.t;
	struct scratch *s = likelihood_scratch(&c->l);

	for (int64_t j = 0; j < t->n; j++) {
		const struct triple_row row = triple_row(t, j);
		const double q = likelihood_row(&c->l, s, j);

		for (int64_t i = 0; i < row.n && q > 0; i++) {
			const int r = region[row.voxel[i]];
			const double part = (double)row.w[i] * c->l.state[row.voxel[i]].f * s->d[i].h / q;

			if (r > 0) c->counts[(r - 1) * c->bins + bin_of(c, t->t[j])] += part;
		}
	}
}

static double mean_density(const struct curves *c, const struct voxel_state *v, int b)
{
	double sum = 0;

	for (int i = 0; i < POINTS; i++) {
		const double t = c->l.x.lo + (b + (i + .5) / POINTS) * c->width, sigma = c->l.x.m.sigma;
		const struct fixed_parts f = mixture_fixed(&c->l.x, t, sigma);
		const double o = emg(t, v->rate, sigma);

		sum += mixture_density(&c->l.x, &f, &v->in, v->w, o, 0).h / POINTS;
	}
	return sum;
}

static void fit(struct curves *c, const int32_t *region)
{
	for (int64_t v = 0; v < c->l.t->voxels; v++) {
		const double counts = c->l.sums[v * SUMS + SUM_COUNTS];

		if (!(region[v] > 0) || !(counts > 0)) continue;
		for (int b = 0; b < c->bins; b++)
			c->fit[(region[v] - 1) * c->bins + b] +=
				counts * c->width * mean_density(c, c->l.state + v, b);
	}
}

/* Voxels without a value take the mean of their region's others, as good as nothing: they have few counts. */
static void fill(double *rate, double *w, const struct iso_triples *t, const double *tau, const double *w_of)
{
	double sum[2] = { 0 }, n = 0;

	for (int64_t v = 0; v < t->voxels; v++)
		if (isfinite(tau[v]) && isfinite(w_of[v]) && tau[v] > 0) {
			sum[0] += tau[v];
			sum[1] += w_of[v];
			n++;
		}
	for (int64_t v = 0; v < t->voxels; v++) {
		const bool there = isfinite(tau[v]) && isfinite(w_of[v]) && tau[v] > 0;

		rate[v] = 1 / (there ? tau[v] : n > 0 ? sum[0] / n : 2);
		w[v] = there ? w_of[v] : n > 0 ? sum[1] / n : .3;
	}
}

int iso_lifetime_curves_of(struct iso_lifetime_curves *to, const iso_triples *t, const struct iso_lifetime *p,
                           const double *tau, const double *w)
{
	if (!to || !t || !p || !tau || !w) return iso_fail_null(__func__);
	struct iso_room work = iso_room_of(t->room.ctx, "curves of triples");
	struct iso_lifetime_curves full = { 0 };
	struct iso_lifetime given = { 0 };
	struct curves c = { .p = &given };
	double *f, *rate, *share, loglik;
	int st = iso_sized_take(&full, "iso_lifetime_curves", sizeof full, to);

	if (!st) st = lifetime_take(&given, t, p);
	if (!st && (full.bins < 1 || !full.counts || !full.fit || !given.region))
		st = iso_fail(ISO_EARG, "lifetime: curves of %d bins need regions", full.bins);
	if (!st) st = likelihood_open(&c.l, &work, t, true, true);
	if (st) goto done;
	ISO_HOST(&work, f, t->voxels);
	ISO_HOST(&work, rate, t->voxels);
	ISO_HOST(&work, share, t->voxels);
	if ((st = work.status) || (st = lifetime_activity(f, t, &given)) ||
	    (st = likelihood_background(&c.l, &work, &given, f)))
		goto done;
	c.bins = full.bins;
	c.width = (c.l.x.hi - c.l.x.lo) / full.bins;
	c.counts = full.counts;
	c.fit = full.fit;
	memset(full.counts, 0, (size_t)(given.regions * full.bins) * sizeof *full.counts);
	memset(full.fit, 0, (size_t)(given.regions * full.bins) * sizeof *full.fit);
	fill(rate, share, t, tau, w);
	if ((st = likelihood_at(&loglik, &c.l, f, rate, share))) goto done;
	count(&c, given.region);
	fit(&c, given.region);
done:
	iso_room_free(&work);
	return st;
}
