/* SPDX-License-Identifier: BSD-3-Clause */
/* What callers ask for, and the maps that they get. */
#include "maps.h"
#include "core/sized.h"
#include "mixture.h"

enum { EM_ITERATIONS = 10, BOOTSTRAPS = 20, PROBES = 32, MOST = 200 };

static int check_image(const char *what, const double *v, int64_t n, double least)
{
	for (int64_t i = 0; v && i < n; i++)
		if (!(v[i] >= least) || !isfinite(v[i]))
			return iso_fail(ISO_EINPUT,
			                "lifetime: %s of voxel %" PRId64 " is %g, must be %g or above", what,
			                i, v[i], least);
	return ISO_OK;
}

static int check_w(const struct iso_lifetime *p, const struct iso_triples *t)
{
	struct mixture x;

	mixture_of(&x, &t->model);
	const double most = x.single ? 1 : 1 / x.k;

	if (p->w_all != 0 && !(p->w_all > 0 && p->w_all < most))
		return iso_fail(ISO_EARG, "lifetime: w is %g, must be above 0 and below %g", p->w_all, most);
	for (int64_t v = 0; p->w && v < t->voxels; v++)
		if (!(p->w[v] > 0 && p->w[v] < most))
			return iso_fail(ISO_EINPUT,
			                "lifetime: w of voxel %" PRId64
			                " is %g, must be above 0 and below %g",
			                v, p->w[v], most);
	return ISO_OK;
}

static int check_numbers(const struct iso_lifetime *p, const struct iso_triples *t)
{
	if (p->iterations < 1 || p->subsets < 1 || p->subsets > t->n || p->repeats < 2 || p->most < 1)
		return iso_fail(ISO_EARG,
		                "lifetime: %d iterations, %d subsets of %" PRId64
		                " triples, %d repeats, at most %d iterations",
		                p->iterations, p->subsets, t->n, p->repeats, p->most);
	if (!(p->randoms.number >= 0) || !(p->randoms.number < (double)t->n))
		return iso_fail(ISO_EINPUT,
		                "lifetime: %.6g random triples of the %" PRId64
		                " inside of the window, must be fewer than those",
		                p->randoms.number, t->n);
	if (!(p->beta >= 0) || !(p->rel >= 0) || !(p->prior_a >= 0) || !(p->prior_b >= 0) ||
	    !(p->min_counts >= 0))
		return iso_fail(ISO_EARG, "lifetime: a strength, prior or number of counts is below 0");
	return ISO_OK;
}

static int check_regions(const struct iso_lifetime *p, const struct iso_triples *t)
{
	if (!p->region) return ISO_OK;
	if (p->regions < 1) return iso_fail(ISO_EARG, "lifetime: %d regions, must be at least 1", p->regions);
	for (int64_t v = 0; v < t->voxels; v++)
		if (p->region[v] < 0 || p->region[v] > p->regions)
			return iso_fail(ISO_EINPUT, "lifetime: voxel %" PRId64 " is of region %d of %d", v,
			                (int)p->region[v], p->regions);
	return ISO_OK;
}

int lifetime_take(struct iso_lifetime *full, const struct iso_triples *t, const struct iso_lifetime *p)
{
	int st = iso_sized_take(full, "iso_lifetime", sizeof *full, p);

	if (st) return st;
	if (!full->sens) return iso_fail(ISO_EARG, "lifetime: there is no sensitivity");
	if (full->iterations == 0) full->iterations = EM_ITERATIONS;
	if (full->subsets == 0) full->subsets = 1;
	if (full->repeats == 0) full->repeats = full->error == ISO_LIFETIME_BOOTSTRAP ? BOOTSTRAPS : PROBES;
	if (full->most == 0) full->most = MOST;
	for (int64_t v = 0; v < t->voxels; v++)
		if (!(full->sens[v] >= 0) || !isfinite(full->sens[v]))
			return iso_fail(ISO_EINPUT, "lifetime: sensitivity of voxel %" PRId64 " is %g", v,
			                (double)full->sens[v]);
	if ((st = check_w(full, t)) || (st = check_numbers(full, t)) || (st = check_regions(full, t)) ||
	    (st = check_image("activity", full->activity, t->voxels, 0)) ||
	    (st = check_image("image of random triples", full->randoms.image, t->voxels, 0)))
		return st;
	return check_image("start", full->start, t->voxels, 1e-6);
}

int lifetime_maps_take(struct iso_lifetime_maps *full, const struct iso_lifetime_maps *to)
{
	return iso_sized_take(full, "iso_lifetime_maps", sizeof *full, to);
}

static void put(double *to, int64_t v, double value)
{
	if (to) to[v] = value;
}

void lifetime_put(const struct iso_lifetime_maps *to, int64_t v, const struct voxel_found *found,
                  const struct iso_lifetime *p)
{
	const bool there = isfinite(found->tau) && found->counts >= p->min_counts && found->counts > 0;

	put(to->tau, v, there ? found->tau : NAN);
	put(to->error, v, there && isfinite(found->error) ? found->error : INFINITY);
	put(to->w, v, there ? found->w : NAN);
	put(to->w_error, v, there && isfinite(found->w_error) ? found->w_error : INFINITY);
	put(to->counts, v, found->counts);
	put(to->mean, v, there ? found->mean : NAN);
}

void lifetime_regions(double *mean, const double *tau, const double *counts, int64_t n,
                      const struct iso_lifetime *p)
{
	for (int r = 1; r <= p->regions; r++) {
		double sum = 0, of = 0;

		for (int64_t v = 0; v < n; v++) {
			if (p->region[v] != r || !isfinite(tau[v]) || !(counts[v] > 0)) continue;
			sum += counts[v] * tau[v];
			of += counts[v];
		}
		mean[r - 1] = of > 0 ? sum / of : NAN;
	}
}
