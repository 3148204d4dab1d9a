/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps of what absorbs, voxel by voxel. */
#include "nnls.h"

#include "isotome/unmix.h"

#include "core/ctx.h"
#include "core/size.h"
#include "core/sized.h"

#include <math.h>
#include <string.h>

#define QUANTILE .999

_Static_assert((int)NNLS_MOST == (int)ISO_CHROMOPHORES, "unknowns of a fit");

/* What all voxels share: the weighted matrix with columns of length 1, and how uncertain its result is. */
struct unmixer {
	struct iso_unmix p;
	struct iso_unmixed to;
	const iso_real *images;
	int64_t voxels;
	int rows, n;
	double *a;                                /* (rows, n): sqrt(w) E, columns of length 1 */
	double *root;                             /* sqrt(w) of each wavelength */
	double length[NNLS_MOST];                 /* of the columns before */
	double covariance[NNLS_MOST * NNLS_MOST]; /* (E^T W E)^-1 */
	double weights;                           /* their sum */
	struct nnls nnls;
};

/* ---- what was asked ---- */

static int check(const struct iso_unmix *p)
{
	if (!p->of || !p->of->e || p->of->n < 1) return iso_fail_null("struct iso_unmix");
	if (p->of->n > p->of->wavelengths)
		return iso_fail(ISO_EARG, "unmix: %d chromophores of %d wavelengths", p->of->n,
		                p->of->wavelengths);
	for (int i = 0; i < p->of->wavelengths; i++) {
		if (p->weight && !(p->weight[i] > 0 && isfinite(p->weight[i])))
			return iso_fail(ISO_EINPUT, "unmix: weight %d is %g, must be above 0", i + 1,
			                p->weight[i]);
		if (p->fluence && !isfinite(p->fluence[i]))
			return iso_fail(ISO_EINPUT, "unmix: fluence %d is not finite", i + 1);
	}
	if (!(p->floor >= 0 && p->floor <= 1))
		return iso_fail(ISO_EARG, "unmix: floor is %g, must be 0 to 1", p->floor);
	return ISO_OK;
}

static int make(struct unmixer *u)
{
	const struct iso_chromophores *c = u->p.of;

	u->rows = c->wavelengths;
	u->n = c->n;
	u->a = size_alloc((int64_t)u->rows * u->n, sizeof *u->a);
	u->root = size_alloc(u->rows, sizeof *u->root);
	if (!u->a || !u->root)
		return iso_fail_memory("unmix", (int64_t)u->rows * (u->n + 1) * (int64_t)sizeof *u->a);
	for (int i = 0; i < u->rows; i++) {
		const double w = u->p.weight ? u->p.weight[i] : 1;

		u->root[i] = sqrt(w);
		u->weights += w;
		for (int j = 0; j < u->n; j++) {
			u->a[i * u->n + j] = u->root[i] * c->e[i * u->n + j];
			u->length[j] += u->a[i * u->n + j] * u->a[i * u->n + j];
		}
	}
	for (int j = 0; j < u->n; j++) {
		u->length[j] = sqrt(u->length[j]);
		for (int i = 0; i < u->rows; i++) u->a[i * u->n + j] /= u->length[j];
	}
	if (!nnls_begin(&u->nnls, u->rows, u->n, u->a))
		return iso_fail(ISO_EINPUT,
		                "unmix: the chromophores can't be told apart at these wavelengths");
	nnls_inverse(u->covariance, &u->nnls);
	for (int i = 0; i < u->n; i++)
		for (int j = 0; j < u->n; j++) u->covariance[i * u->n + j] /= u->length[i] * u->length[j];
	return ISO_OK;
}

/* ---- a voxel ---- */

/* False: there is no light. */
static bool take(double *y, const struct unmixer *u, int64_t v)
{
	for (int i = 0; i < u->rows; i++) {
		const double light = u->p.fluence       ? u->p.fluence[i]
		                     : u->p.fluence_map ? (double)u->p.fluence_map[i * u->voxels + v]
		                                        : 1;

		if (!(light > 0)) return false;
		y[i] = u->root[i] * (double)u->images[i * u->voxels + v] / light;
	}
	return true;
}

static void put(iso_real *to, int64_t v, double value)
{
	if (to) to[v] = (iso_real)value;
}

static void put_all(const struct unmixer *u, int64_t v, double value, double ratio)
{
	for (int j = 0; j < u->n && u->to.concentration; j++)
		u->to.concentration[j * u->voxels + v] = (iso_real)value;
	put(u->to.thb, v, value);
	put(u->to.residual, v, value);
	put(u->to.so2, v, ratio);
	put(u->to.so2_sd, v, ratio);
}

/* Of HbO2/(HbO2 + Hb), by the covariance of both and the scatter that the fit leaves. */
static double so2_error(const struct unmixer *u, double oxy, double deoxy, double left)
{
	const int o = u->p.of->oxygenated, h = u->p.of->deoxygenated;
	const double *c = u->covariance;
	const double vary = deoxy * deoxy * c[o * u->n + o] + oxy * oxy * c[h * u->n + h] -
	                    2 * oxy * deoxy * c[o * u->n + h];

	return sqrt(left / (u->rows - u->n) * fmax(0, vary)) / ((oxy + deoxy) * (oxy + deoxy));
}

static void put_blood(const struct unmixer *u, int64_t v, const double *c, double left)
{
	const int o = u->p.of->oxygenated, h = u->p.of->deoxygenated;

	if (o < 0 || h < 0) return;
	const double sum = c[o] + c[h];

	put(u->to.thb, v, sum);
	put(u->to.so2, v, sum > 0 ? c[o] / sum : NAN);
	put(u->to.so2_sd, v, sum > 0 && u->rows > u->n ? so2_error(u, c[o], c[h], left) : NAN);
}

/* y and rest: room for a number a wavelength. True: it has light. */
static bool unmix(const struct unmixer *u, int64_t v, double *y, double *rest)
{
	double c[NNLS_MOST];

	if (u->p.mask && !((double)u->p.mask[v] > 0)) {
		put_all(u, v, 0, NAN);
		return true;
	}
	if (!take(y, u, v)) {
		put_all(u, v, NAN, NAN);
		return false;
	}
	const double left = (u->p.nonneg ? nnls_nonneg : nnls_plain)(c, rest, &u->nnls, y);

	for (int j = 0; j < u->n; j++) {
		c[j] /= u->length[j];
		if (u->to.concentration) u->to.concentration[j * u->voxels + v] = (iso_real)c[j];
	}
	put(u->to.residual, v, sqrt(left / u->weights));
	put_blood(u, v, c, left);
	return true;
}

/* ---- too little blood ---- */

/* The value that sorting would put at place k (Hoare's selection); v changes its order. */
static iso_real at_place(iso_real *v, int64_t n, int64_t k)
{
	int64_t low = 0, high = n - 1;

	while (low < high) {
		const iso_real middle = v[low + (high - low) / 2];
		int64_t i = low, j = high;

		while (i <= j) {
			while (v[i] < middle) i++;
			while (v[j] > middle) j--;
			if (i > j) break;
			const iso_real other = v[i];

			v[i++] = v[j];
			v[j--] = other;
		}
		if (k <= j)
			high = j;
		else if (k >= i)
			low = i;
		else
			break;
	}
	return v[k];
}

/* Takes the sO2 of voxels with less blood than the floor. Needs the map of blood. */
static int drop_pale(struct unmixer *u, const iso_real *blood)
{
	iso_real *values = size_alloc(u->voxels, sizeof *values);
	int64_t n = 0;

	if (!values) return iso_fail_memory("unmix", u->voxels * (int64_t)sizeof *values);
	for (int64_t v = 0; v < u->voxels; v++)
		if (isfinite((double)blood[v])) values[n++] = blood[v];
	const int64_t place = (int64_t)(QUANTILE * (double)(n - 1));
	const double limit = n > 0 ? u->p.floor * (double)at_place(values, n, place) : 0;

	free(values);
	for (int64_t v = 0; v < u->voxels; v++) {
		if (u->p.mask && !((double)u->p.mask[v] > 0)) continue;
		if ((double)blood[v] > 0 && !((double)blood[v] < limit)) continue;
		u->to.pale += isfinite((double)blood[v]);
		put(u->to.so2, v, NAN);
		put(u->to.so2_sd, v, NAN);
	}
	return ISO_OK;
}

/* ---- all voxels ---- */

static int run(struct unmixer *u, iso_ctx *ctx)
{
	const int threads = iso_ctx_threads(ctx);
	double *room = size_alloc(2 * (int64_t)threads * u->rows, sizeof *room);
	int64_t dark = 0;

	if (!room) return iso_fail_memory("unmix", 2 * (int64_t)threads * u->rows * (int64_t)sizeof *room);
#pragma omp parallel for reduction(+ : dark) num_threads(threads)
	for (int part = 0; part < threads; part++) {
		double *y = room + 2 * (int64_t)part * u->rows;
		const int64_t end = u->voxels * (part + 1) / threads;

		for (int64_t v = u->voxels * part / threads; v < end; v++)
			dark += !unmix(u, v, y, y + u->rows);
	}
	free(room);
	u->to.dark = dark;
	return iso_ctx_poll(ctx);
}

int iso_unmix_images(struct iso_unmixed *to, iso_ctx *ctx, const struct iso_unmix *p, int64_t n,
                     const iso_real *images)
{
	if (!to || !ctx || !p || !images) return iso_fail_null(__func__);
	struct unmixer u = { .images = images, .voxels = n };
	iso_real *blood = NULL;
	int st;

	if ((st = iso_sized_take(&u.p, "iso_unmix", sizeof u.p, p)) || (st = check(&u.p)) ||
	    (st = iso_sized_take(&u.to, "iso_unmixed", sizeof u.to, to)))
		return st;
	if (n < 0) return iso_fail(ISO_EARG, "unmix: %" PRId64 " voxels", n);
	if ((u.to.so2 || u.to.so2_sd || u.to.thb) && (u.p.of->oxygenated < 0 || u.p.of->deoxygenated < 0))
		return iso_fail(ISO_EARG, "unmix: blood needs both HbO2 and Hb among the chromophores");
	u.to.dark = u.to.pale = 0;
	if (u.to.so2 && !u.to.thb) {
		if (!(blood = size_alloc(n, sizeof *blood)))
			return iso_fail_memory("unmix", n * (int64_t)sizeof *blood);
		u.to.thb = blood;
	}
	if (!(st = make(&u)) && !(st = run(&u, ctx)) && u.to.so2) st = drop_pale(&u, u.to.thb);
	if (blood) u.to.thb = NULL;
	if (!st) iso_sized_give(to, sizeof u.to, &u.to);
	free(u.a);
	free(u.root);
	free(blood);
	return st;
}
