/* SPDX-License-Identifier: BSD-3-Clause */
/* Fits of frames, voxel by voxel: weighted least squares, with or without a sign, and Logan's plot. */
#include "curve.h"

#include "core/size.h"
#include "core/sized.h"
#include "core/status.h"

#include <math.h>
#include <string.h>

enum {
	BLOCK = 256,    /* voxels at a time */
	MOST_SIGNS = 8, /* coefficients of a fit without negative ones */
	MOST_TURNS = 50,
};

#define DEPENDENT 1e-12 /* of a column's square: what is left of it beside the others */
#define GAIN 1e-12      /* of the largest right side: a coefficient at 0 stays there */

/* Columns are scaled to weighted squares of 1, as they differ by orders of magnitude. */
struct fit {
	struct iso_frame_fit p;
	int k, m;
	double *scale;    /* k: what a column is multiplied by */
	double *x;        /* k x m: the scaled columns */
	double *gram;     /* k x k: X* W X */
	double *inverse;  /* k x k */
	double *solve;    /* k x m: inverse X* W */
	double *gradient; /* k x m: X* W */
};

/* ---- small matrices ---- */

/* a = its Cholesky factor, lower, of the rows and columns in `use`; false: they are dependent. */
static bool factor(double *a, int n)
{
	for (int j = 0; j < n; j++) {
		double d = a[j * n + j];

		for (int k = 0; k < j; k++) d -= a[j * n + k] * a[j * n + k];
		if (!(d > DEPENDENT)) return false;
		a[j * n + j] = d = sqrt(d);
		for (int i = j + 1; i < n; i++) {
			double s = a[i * n + j];

			for (int k = 0; k < j; k++) s -= a[i * n + k] * a[j * n + k];
			a[i * n + j] = s / d;
		}
	}
	return true;
}

static void solve(double *b, const double *l, int n)
{
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < i; k++) b[i] -= l[i * n + k] * b[k];
		b[i] /= l[i * n + i];
	}
	for (int i = n - 1; i >= 0; i--) {
		for (int k = i + 1; k < n; k++) b[i] -= l[k * n + i] * b[k];
		b[i] /= l[i * n + i];
	}
}

/* ---- made ---- */

static int check(const struct iso_frame_fit *p)
{
	if (!p->mean || !p->weight) return iso_fail_null("iso_frame_fit");
	if (p->coefficients < 1 || p->coefficients > ISO_BASES_MOST)
		return iso_fail(ISO_EARG, "fit: %d coefficients, must be 1 to %d", p->coefficients,
		                ISO_BASES_MOST);
	if (p->frames < p->coefficients + 1)
		return iso_fail(ISO_EARG, "fit: %d frames for %d coefficients, must be at least %d",
		                p->frames, p->coefficients, p->coefficients + 1);
	if (p->nonneg && p->coefficients > MOST_SIGNS)
		return iso_fail(ISO_EARG, "fit: %d coefficients that are not negative, must be at most %d",
		                p->coefficients, MOST_SIGNS);
	for (int m = 0; m < p->frames; m++)
		if (!(p->weight[m] > 0 && isfinite(p->weight[m])))
			return iso_fail(ISO_EARG, "fit: the weight of frame %d is %g, must be above 0", m + 1,
			                p->weight[m]);
	return ISO_OK;
}

static void fill(struct fit *f)
{
	const double *w = f->p.weight, *mean = f->p.mean;

	for (int k = 0; k < f->k; k++) {
		double square = 0;

		for (int m = 0; m < f->m; m++) square += w[m] * mean[k * f->m + m] * mean[k * f->m + m];
		f->scale[k] = square > 0 ? 1 / sqrt(square) : 0;
		for (int m = 0; m < f->m; m++) {
			f->x[k * f->m + m] = mean[k * f->m + m] * f->scale[k];
			f->gradient[k * f->m + m] = w[m] * f->x[k * f->m + m];
		}
	}
	for (int i = 0; i < f->k; i++)
		for (int k = 0; k < f->k; k++)
			for (int m = 0; m < f->m; m++)
				f->gram[i * f->k + k] += f->gradient[i * f->m + m] * f->x[k * f->m + m];
}

static int invert(struct fit *f)
{
	double l[ISO_BASES_MOST * ISO_BASES_MOST], column[ISO_BASES_MOST];

	memcpy(l, f->gram, (size_t)(f->k * f->k) * sizeof *l);
	if (!factor(l, f->k))
		return iso_fail(ISO_EINPUT, "fit: the %d basis curves are not independent in these %d frames",
		                f->k, f->m);
	for (int k = 0; k < f->k; k++) {
		memset(column, 0, sizeof column);
		column[k] = 1;
		solve(column, l, f->k);
		for (int i = 0; i < f->k; i++) f->inverse[i * f->k + k] = column[i];
	}
	for (int i = 0; i < f->k; i++)
		for (int m = 0; m < f->m; m++)
			for (int k = 0; k < f->k; k++)
				f->solve[i * f->m + m] +=
					f->inverse[i * f->k + k] * f->gradient[k * f->m + m];
	return ISO_OK;
}

static int make(struct fit *f)
{
	const int k = f->k = f->p.coefficients, m = f->m = f->p.frames;
	double *v = size_alloc(k + 3 * (int64_t)k * m + 2 * k * k, sizeof *v);

	if (!v) return iso_fail_memory("fit", (k + 3 * (int64_t)k * m) * (int64_t)sizeof *v);
	f->scale = v;
	f->x = v + k;
	f->solve = f->x + (int64_t)k * m;
	f->gradient = f->solve + (int64_t)k * m;
	f->gram = f->gradient + (int64_t)k * m;
	f->inverse = f->gram + (int64_t)k * k;
	fill(f);
	return invert(f);
}

/* ---- a voxel without negative coefficients (Lawson and Hanson 1974) ---- */

struct signs {
	int n, at[MOST_SIGNS]; /* those above 0 */
	double v[MOST_SIGNS];
};

/* The least squares of those in `s` alone, to `z`. */
static void solve_some(double z[MOST_SIGNS], const struct fit *f, const struct signs *s, const double *b)
{
	double l[MOST_SIGNS * MOST_SIGNS];

	for (int i = 0; i < s->n; i++) {
		z[i] = b[s->at[i]];
		for (int k = 0; k < s->n; k++) l[i * s->n + k] = f->gram[s->at[i] * f->k + s->at[k]];
	}
	if (factor(l, s->n)) solve(z, l, s->n);
}

/* On the way to z as far as none is below 0; those that reach it leave. True: all of the way. */
static bool go(struct signs *s, const double *z, double *v)
{
	double part = 1;
	int n = 0;

	for (int i = 0; i < s->n; i++)
		if (!(z[i] > 0)) part = fmin(part, v[s->at[i]] / (v[s->at[i]] - z[i]));
	const bool whole = part == 1;

	for (int i = 0; i < s->n; i++) {
		double to = v[s->at[i]] + part * (z[i] - v[s->at[i]]);
		bool stays = whole || (to > 0 && !(z[i] <= 0 && v[s->at[i]] / (v[s->at[i]] - z[i]) <= part));

		v[s->at[i]] = stays ? to : 0;
		if (stays) s->at[n++] = s->at[i];
	}
	s->n = n;
	return whole;
}

/* The coefficient at 0 that gains most; -1: none gains. */
static int best(const struct fit *f, const struct signs *s, const double *v, const double *b)
{
	double most = 0, top = 0;
	int at = -1;

	for (int k = 0; k < f->k; k++) top = fmax(top, fabs(b[k]));
	for (int k = 0; k < f->k; k++) {
		double gain = b[k];
		bool in = false;

		for (int i = 0; i < f->k; i++) gain -= f->gram[k * f->k + i] * v[i];
		for (int i = 0; i < s->n; i++) in |= s->at[i] == k;
		if (in || !(gain > most + GAIN * top)) continue;
		most = gain;
		at = k;
	}
	return at;
}

static void fit_signs(double *v, const struct fit *f, const double *b)
{
	struct signs s = { 0 };
	double z[MOST_SIGNS];
	int k;

	memset(v, 0, (size_t)f->k * sizeof *v);
	for (int turn = 0; turn < MOST_TURNS && (k = best(f, &s, v, b)) >= 0; turn++) {
		s.at[s.n++] = k;
		do solve_some(z, f, &s, b);
		while (!go(&s, z, v) && s.n > 0);
	}
}

/* ---- voxels ---- */

/* theta of `n` voxels from `first` on, scaled: of the columns in x. */
static void fit_block(double (*theta)[BLOCK], const struct fit *f, int64_t first, int n, int64_t all,
                      const iso_real *y)
{
	const double *by = f->p.nonneg ? f->gradient : f->solve;

	for (int k = 0; k < f->k; k++) {
		memset(theta[k], 0, sizeof theta[k]);
		for (int m = 0; m < f->m; m++) {
			const iso_real *of = y + m * all + first;
			const double w = by[k * f->m + m];

			for (int i = 0; i < n; i++) theta[k][i] += w * of[i];
		}
	}
	for (int i = 0; f->p.nonneg && i < n; i++) {
		double b[MOST_SIGNS], v[MOST_SIGNS];

		for (int k = 0; k < f->k; k++) b[k] = theta[k][i];
		fit_signs(v, f, b);
		for (int k = 0; k < f->k; k++) theta[k][i] = v[k];
	}
}

static void squares(double *s2, double (*theta)[BLOCK], const struct fit *f, int64_t first, int n,
                    int64_t all, const iso_real *y)
{
	memset(s2, 0, BLOCK * sizeof *s2);
	for (int m = 0; m < f->m; m++)
		for (int i = 0; i < n; i++) {
			double off = y[m * all + first + i];

			for (int k = 0; k < f->k; k++) off -= f->x[k * f->m + m] * theta[k][i];
			s2[i] += f->p.weight[m] * off * off;
		}
	for (int i = 0; i < n; i++) s2[i] /= f->m - f->k;
}

int iso_frame_fit(iso_real *theta, iso_real *se, iso_real *s2, int64_t n, const iso_real *y,
                  const struct iso_frame_fit *given)
{
	double of[ISO_BASES_MOST][BLOCK], square[BLOCK];
	struct fit f = { 0 };

	if (!theta || !y) return iso_fail_null(__func__);
	int st = iso_sized_take(&f.p, "iso_frame_fit", sizeof f.p, given);

	if (!st && n < 0) st = iso_fail(ISO_EARG, "fit: %" PRId64 " voxels, must be at least 0", n);
	if (!st) st = check(&f.p);
	if (!st) st = make(&f);
	for (int64_t first = 0; first < n && !st; first += BLOCK) {
		const int here = n - first < BLOCK ? (int)(n - first) : BLOCK;

		fit_block(of, &f, first, here, n, y);
		if (se || s2) squares(square, of, &f, first, here, n, y);
		for (int k = 0; k < f.k; k++)
			for (int i = 0; i < here; i++) {
				theta[k * n + first + i] = (iso_real)(of[k][i] * f.scale[k]);
				if (se)
					se[k * n + first + i] =
						(iso_real)(sqrt(square[i] * f.inverse[k * f.k + k]) *
					                   f.scale[k]);
			}
		for (int i = 0; s2 && i < here; i++) s2[first + i] = (iso_real)square[i];
	}
	free(f.scale);
	return st;
}

/* ---- Logan ---- */

struct plot {
	double n, x, y, xx, xy;
};

static int check_logan(const struct iso_logan *p)
{
	if (!p->edge_s || !p->input) return iso_fail_null("iso_logan_fit");
	if (p->first < 0 || p->frames - p->first < 3)
		return iso_fail(ISO_EARG, "logan: frames %d to %d, must be at least 3", p->first + 1,
		                p->frames);
	for (int m = 0; m < p->frames; m++)
		if (!(p->edge_s[m + 1] > p->edge_s[m]))
			return iso_fail(ISO_EARG, "logan: frame %d is from %g to %g s; edges must rise",
			                m + 1, p->edge_s[m], p->edge_s[m + 1]);
	return ISO_OK;
}

/* Of a voxel; false: one of its frames is not above 0. */
static bool plot_voxel(struct plot *to, int64_t i, int64_t n, const iso_real *y, const struct iso_logan *p,
                       const double *of_input)
{
	double sum = 0;

	*to = (struct plot){ 0 };
	for (int m = 0; m < p->frames; m++) {
		double v = y[m * n + i], all = v * (p->edge_s[m + 1] - p->edge_s[m]);

		if (m >= p->first) {
			if (!(v > 0)) return false;
			double px = of_input[m] / v, py = (sum + all / 2) / v;

			to->n++;
			to->x += px;
			to->y += py;
			to->xx += px * px;
			to->xy += px * py;
		}
		sum += all;
	}
	return true;
}

int iso_logan_fit(iso_real *vt, iso_real *intercept, int64_t *skipped, int64_t n, const iso_real *y,
                  const struct iso_logan *given)
{
	struct iso_logan p;
	int64_t left = 0;

	if (!vt || !y) return iso_fail_null(__func__);
	int st = iso_sized_take(&p, "iso_logan", sizeof p, given);

	if (st || (st = check_logan(&p))) return st;
	double *of_input = size_alloc(p.frames, sizeof *of_input);

	if (!of_input) return iso_fail_memory("logan", p.frames * (int64_t)sizeof *of_input);
	for (int m = 0; m < p.frames; m++)
		of_input[m] = iso_curve_integral(p.input, (p.edge_s[m] + p.edge_s[m + 1]) / 2);
	for (int64_t i = 0; i < n; i++) {
		struct plot s;
		bool good = plot_voxel(&s, i, n, y, &p, of_input);
		double spread = s.n * s.xx - s.x * s.x;
		double slope = good && spread > 0 ? (s.n * s.xy - s.x * s.y) / spread : 0;

		left += !good;
		vt[i] = (iso_real)slope;
		if (intercept) intercept[i] = (iso_real)(good ? (s.y - slope * s.x) / s.n : 0);
	}
	free(of_input);
	if (skipped) *skipped = left;
	return ISO_OK;
}
