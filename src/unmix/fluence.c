/* SPDX-License-Identifier: BSD-3-Clause */
/* Light in tissue by its depth: the model `depth` of isotome/unmix.h. */
#include "isotome/unmix.h"
#include "core/size.h"
#include "core/sized.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCATTERING 1.89 /* 1/mm at 500 nm, and its power: soft tissue, Jacques 2013, table 2 */
#define POWER (-1.286)

/* ---- how deep ---- */

/* Least of f[q] + (h (p - q))^2 for every p: the lower envelope of parabolas (Felzenszwalb and Huttenlocher 2012). `v` and
   `z` have room for n and n + 1. */
static void envelope(double *d, const double *f, int64_t n, double h, int64_t *v, double *z)
{
	int64_t k = -1;

	for (int64_t q = 0; q < n; q++) {
		double s = -INFINITY;

		if (!isfinite(f[q])) continue;
		while (k >= 0) {
			const double hq = h * (double)q, hv = h * (double)v[k];

			s = ((f[q] + hq * hq) - (f[v[k]] + hv * hv)) / (2 * (hq - hv));
			if (s > z[k]) break;
			k--;
		}
		v[++k] = q;
		z[k] = k > 0 ? s : -INFINITY;
		z[k + 1] = INFINITY;
	}
	for (int64_t q = 0, j = 0; q < n; q++) {
		if (k < 0) {
			d[q] = INFINITY;
			continue;
		}
		while (z[j + 1] < h * (double)q) j++;
		d[q] = f[v[j]] + h * h * (double)((q - v[j]) * (q - v[j]));
	}
}

struct line {
	double *from, *to, *z;
	int64_t *v;
};

/* Squares of distances, which begin with 0 outside and infinity inside, along one axis. */
static void along(double *square, const struct iso_grid *g, int axis, struct line *l)
{
	const int64_t n = g->n[axis], all = iso_grid_voxels(g);
	const int64_t step = axis == 0 ? 1 : axis == 1 ? g->n[0] : g->n[0] * g->n[1];

	for (int64_t i = 0; i < all; i++) {
		if (i / step % n != 0) continue;
		for (int64_t k = 0; k < n; k++) l->from[k] = square[i + k * step];
		envelope(l->to, l->from, n, g->voxel[axis], l->v, l->z);
		for (int64_t k = 0; k < n; k++) square[i + k * step] = l->to[k];
	}
}

/* From the middle of each voxel to the surface, half a voxel before the nearest voxel outside; mm. */
static int find_depths(double *depth, const struct iso_grid *g, const iso_real *mask)
{
	const int64_t all = iso_grid_voxels(g);
	int64_t longest = 1, outside = 0;
	double half = INFINITY;
	struct line l;

	for (int a = 0; a < 3; a++) {
		longest = g->n[a] > longest ? g->n[a] : longest;
		half = g->n[a] > 1 ? fmin(half, g->voxel[a] / 2) : half;
	}
	for (int64_t i = 0; i < all; i++) {
		depth[i] = mask[i] != 0 ? INFINITY : 0;
		outside += mask[i] == 0;
	}
	if (outside == 0) return iso_fail(ISO_EINPUT, "fluence: the mask of the tissue has no 0: no surface");
	l.from = size_alloc(3 * longest + 1, sizeof *l.from);
	l.v = size_alloc(longest, sizeof *l.v);
	if (l.from && l.v) {
		l.to = l.from + longest;
		l.z = l.to + longest;
		for (int a = 0; a < 3; a++) along(depth, g, a, &l);
	}
	const bool full = !l.from || !l.v;

	free(l.from);
	free(l.v);
	if (full) return iso_fail_memory("fluence", 4 * longest * (int64_t)sizeof(double));
	for (int64_t i = 0; i < all; i++) depth[i] = fmax(0, sqrt(depth[i]) - half);
	return ISO_OK;
}

/* ---- how much is left ---- */

static int find_attenuation(double *m, const struct iso_fluence *p, int wavelengths, const double *nm)
{
	for (int i = 0; i < wavelengths; i++) {
		double scatter = SCATTERING * pow(nm[i] / 500, POWER), absorb = 0;
		const double parts[] = { p->blood * p->so2, p->blood * (1 - p->so2), p->water };
		static const char *const names[] = { "HbO2", "Hb", "water" };

		for (int k = 0; k < 3; k++) {
			struct iso_chromophores c = { .size = sizeof c };
			int st = iso_chromophores_create(&c, names[k], 1, nm + i);

			if (st) return st;
			absorb += parts[k] * c.e[0];
			iso_chromophores_free(&c);
		}
		m[i] = sqrt(3 * absorb * (absorb + scatter));
	}
	return ISO_OK;
}

static int check(const struct iso_fluence *p, const struct iso_grid *g, int wavelengths)
{
	if (!(p->blood >= 0 && p->blood <= 10) || !(p->so2 >= 0 && p->so2 <= 1) ||
	    !(p->water >= 0 && p->water <= 1))
		return iso_fail(
			ISO_EARG,
			"fluence: blood of %g mM with a saturation of %g, and %g of water; must be 0 to "
			"10, 0 to 1 and 0 to 1",
			p->blood, p->so2, p->water);
	if (wavelengths < 1)
		return iso_fail(ISO_EARG, "fluence: %d wavelengths, must be at least 1", wavelengths);
	return iso_grid_check(g);
}

int iso_fluence_depth(iso_real *map, const struct iso_fluence *given, const struct iso_grid *g,
                      const iso_real *mask, int wavelengths, const double *nm)
{
	struct iso_fluence p;
	int st;

	if (!map || !given || !g || !mask || !nm) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&p, "iso_fluence", sizeof p, given)) || (st = check(&p, g, wavelengths)))
		return st;
	const int64_t n = iso_grid_voxels(g);
	double *depth = size_alloc(n, sizeof *depth), *m = size_alloc(wavelengths, sizeof *m);

	if (!depth || !m)
		st = iso_fail_memory("fluence", (n + wavelengths) * (int64_t)sizeof *depth);
	else if (!(st = find_attenuation(m, &p, wavelengths, nm)) && !(st = find_depths(depth, g, mask))) {
		for (int64_t i = 0; i < wavelengths * n; i++)
			map[i] = (iso_real)exp(-m[i / n] * depth[i % n]);
		if (p.result) memcpy(p.result, m, (size_t)wavelengths * sizeof *m);
	}
	free(depth);
	free(m);
	return st;
}
