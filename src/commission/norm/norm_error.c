/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the factors of a norm: by the inverse of the Fisher information F in the gauge, up to 4096 crystals, and by its
   diagonal alone for any number.

   With Z the freedoms (F Z = 0) and C the equations of the gauge, K = F + C'C has the inverse V + Z (CZ)^-1 (CZ)^-T Z', in
   which V is the covariance of the logarithms that keep C = 0: K V = F V = 1 - C' (CZ)^-T Z', as V F V = V and C V = 0. */
#include "norm_gauge.h"

#include "core/size.h"

#include <string.h>

enum { MOST_CRYSTALS = 4096 };

struct dense {
	struct iso_room room;
	int64_t n;     /* parameters that are fitted */
	int64_t *of;   /* their numbers; -1: not fitted */
	double *k;     /* (n, n) */
	double *c, *z; /* (freedoms, n) */
};

/* ---- F ---- */

static void add_one(struct dense *d, int64_t p, int64_t q, double x)
{
	const int64_t i = d->of[p], j = d->of[q];

	if (i < 0 || j < 0) return;
	d->k[i * d->n + j] += x;
	if (i != j) d->k[j * d->n + i] += x;
}

/* All products of what a pair touches. */
static void add_pair(struct dense *d, const struct norm_fit *f, int scan, int64_t a, int64_t b, int64_t pair,
                     double w)
{
	const struct norm_scan *s = f->scan + scan;
	const int64_t at[] = { a, b, norm_at_t(f) + *norm_classes_t(f->classes, a, b),
		               norm_at_z(f) + norm_classes_z(f->classes, a, b) };

	for (int i = 0; i < 4; i++)
		for (int j = i; j < 4; j++) add_one(d, at[i], at[j], w);
	for (int c = 0; c < s->shifts; c++) {
		const double slope = norm_slope(s, c, pair);
		const int64_t p = norm_at_shift(f, scan) + c;

		for (int i = 0; i < 4; i++) add_one(d, at[i], p, w * slope);
		for (int e = c; e < s->shifts; e++)
			add_one(d, p, norm_at_shift(f, scan) + e, w * slope * norm_slope(s, e, pair));
	}
}

static void add_row(struct dense *d, const struct norm_fit *f, int64_t a, struct norm_run *run, double *terms,
                    const struct norm_line *line)
{
	const int64_t runs = norm_rows_runs(run, f->rows, a), first = f->rows->first[a];
	const float *made = f->scan->q ? NULL : norm_row_q(line, f->scan, f->rows, a);
	double *mu = terms, *r = terms + f->rows->n;

	for (int64_t k = 0; k < runs; k++)
		for (int s = 0; s < f->scans; s++) {
			const int64_t at = run[k].pair;

			norm_row_terms(mu, r, f, f->scan + s, a, run + k,
			               made ? made + (at - first) : f->scan[s].q + at);
			for (int64_t j = 0; j < run[k].n; j++)
				if (mu[j] > 0)
					add_pair(d, f, s, a, run[k].b + j, run[k].pair + j,
					         mu[j] * mu[j] / (mu[j] + r[j]));
		}
}

static int make_fisher(struct dense *d, const struct norm_fit *f)
{
	struct iso_room room = iso_room_of(NULL, "norm");
	struct norm_line line;
	struct norm_run *run;
	double *terms;

	ISO_HOST(&room, run, norm_rows_most(f->rows));
	ISO_HOST(&room, terms, 2 * f->rows->n);
	norm_line_create(&line, &room, f->rows, f->scan);
	if (!room.status)
		for (int64_t a = 0; a < f->rows->n; a++)
			if (f->eps[a] > 0) add_row(d, f, a, run, terms, &line);
	for (int s = 0; s < f->scans; s++)
		for (int c = 0; c < f->scan[s].shifts; c++) {
			const double sd = f->scan[s].sd[c];
			const int64_t p = norm_at_shift(f, s) + c;

			if (sd > 0) add_one(d, p, p, 1 / (sd * sd));
		}
	return iso_room_free(&room);
}

/* ---- C and Z ---- */

static void set(struct dense *d, double *row, int64_t p, double x)
{
	if (d->of[p] >= 0) row[d->of[p]] = x;
}

static void add_classes(struct dense *d, int64_t row, int64_t at, const int8_t *ends, const int64_t *pairs,
                        int64_t classes, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		for (int64_t k = 0; k < classes; k++) {
			set(d, d->c + (row + i) * d->n, at + k, (double)(ends[k * n + i] * pairs[k]));
			set(d, d->z + (row + i) * d->n, at + k, -ends[k * n + i]);
		}
}

static void add_sides(struct dense *d, int64_t row, const struct norm_fit *f, const struct norm_freedoms *e)
{
	for (int32_t part = 1; part <= e->sided; part++, row++) {
		double n[2] = { 0, 0 };

		for (int64_t a = 0; a < f->rows->n; a++)
			if (abs(e->part[a]) == part) n[e->part[a] < 0]++;
		for (int64_t a = 0; a < f->rows->n; a++) {
			if (abs(e->part[a]) != part) continue;
			const double sign = e->part[a] < 0 ? -1 : 1;

			set(d, d->c + row * d->n, a, sign / n[sign < 0]);
			set(d, d->z + row * d->n, a, sign);
		}
	}
}

/* Rows of C as long as the parameters' F is large, so that K is as well conditioned as F in the gauge. */
static void scale_rows(struct dense *d, int64_t rows)
{
	double trace = 0;

	for (int64_t i = 0; i < d->n; i++) trace += d->k[i * d->n + i];
	for (int64_t r = 0; r < rows; r++) {
		double *c = d->c + r * d->n, sum = 0;

		for (int64_t i = 0; i < d->n; i++) sum += c[i] * c[i];
		for (int64_t i = 0; i < d->n && sum > 0; i++) c[i] *= sqrt(trace / (double)d->n / sum);
	}
}

static void make_gauge(struct dense *d, const struct norm_fit *f, const struct norm_freedoms *e)
{
	const struct norm_classes *c = f->classes;

	add_classes(d, 0, norm_at_t(f), e->ends_t, e->in_t, c->n_t, e->places);
	add_classes(d, e->places, norm_at_z(f), e->ends_z, e->in_z, c->n_z, e->rings);
	for (int64_t a = 0; a < f->rows->n; a++) {
		if (c->transaxial) set(d, d->z + norm_place_of(c, a) * d->n, a, 1);
		if (c->axial) set(d, d->z + (e->places + a / c->per_ring) * d->n, a, 1);
	}
	add_sides(d, e->places + e->rings, f, e);
	scale_rows(d, e->n);
}

/* ---- the inverse ---- */

/* Eight sums side by side: the order of the additions is the same on every processor. */
static double dot(const double *a, const double *b, int64_t n)
{
	double s[8] = { 0 };
	int64_t i = 0;

	for (; i + 8 <= n; i += 8)
		for (int k = 0; k < 8; k++) s[k] += a[i + k] * b[i + k];
	for (; i < n; i++) s[0] += a[i] * b[i];
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
}

/* K = L L', in the lower triangle. False: K is not positive definite. */
static bool factorise(double *k, int64_t n, const iso_ctx *ctx)
{
	for (int64_t j = 0; j < n && !iso_stopped(ctx); j++) {
		const double pivot = k[j * n + j] - dot(k + j * n, k + j * n, j);

		if (!(pivot > 1e-13 * k[j * n + j])) return false;
		k[j * n + j] = sqrt(pivot);
#pragma omp parallel for num_threads(iso_ctx_threads(ctx)) if (n - j > 64)
		for (int64_t i = j + 1; i < n; i++)
			k[i * n + j] = (k[i * n + j] - dot(k + i * n, k + j * n, j)) / k[j * n + j];
	}
	return true;
}

/* Column j of L^-1, x[j ... n-1]. */
static void column(double *x, const double *l, int64_t n, int64_t j)
{
	for (int64_t i = j; i < n; i++) x[i] = ((i == j) - dot(l + i * n + j, x + j, i - j)) / l[i * n + i];
}

/* Diagonal of K^-1 = L^-T L^-1. */
static int inverse_diagonal(double *diagonal, const double *l, int64_t n, const iso_ctx *ctx)
{
	const int threads = iso_ctx_threads(ctx);
	double *x = size_alloc(threads * n, sizeof *x);

	if (!x) return iso_fail_memory("norm", threads * n * 8);
#pragma omp parallel num_threads(threads)
	{
		double *own;

#pragma omp critical
		own = x, x += n;
#pragma omp for schedule(dynamic, 16)
		for (int64_t j = 0; j < n; j++) {
			if (iso_stopped(ctx)) continue;
			column(own, l, n, j);
			diagonal[j] = dot(own + j, own + j, n - j);
		}
#pragma omp critical
		x -= n;
	}
	free(x);
	return iso_ctx_poll(ctx);
}

/* diagonal[i] -= z_i' (CZ)^-1 (CZ)^-T z_i = |(CZ)^-T z_i|^2, by elimination with pivots of (CZ)' beside Z'. */
static bool take_freedoms(double *diagonal, struct dense *d, int64_t m)
{
	double *a = size_alloc(m * m + 1, sizeof *a);
	bool well = a;

	for (int64_t i = 0; i < m * m && a; i++) a[i] = dot(d->z + i / m * d->n, d->c + i % m * d->n, d->n);
	for (int64_t j = 0; j < m && well; j++) {
		int64_t p = j;

		for (int64_t i = j; i < m; i++)
			if (fabs(a[i * m + j]) > fabs(a[p * m + j])) p = i;
		if (!(well = fabs(a[p * m + j]) > 1e-9)) break;
		for (int64_t c = 0; c < m; c++) {
			const double x = a[j * m + c];

			a[j * m + c] = a[p * m + c];
			a[p * m + c] = x;
		}
		for (int64_t c = 0; c < d->n; c++) {
			const double x = d->z[j * d->n + c];

			d->z[j * d->n + c] = d->z[p * d->n + c];
			d->z[p * d->n + c] = x;
		}
		for (int64_t i = 0; i < m; i++) {
			const double times = i == j ? 0 : a[i * m + j] / a[j * m + j];

			if (times == 0) continue;
			for (int64_t c = 0; c < m; c++) a[i * m + c] -= times * a[j * m + c];
			for (int64_t c = 0; c < d->n; c++) d->z[i * d->n + c] -= times * d->z[j * d->n + c];
		}
	}
	for (int64_t j = 0; j < m && well; j++)
		for (int64_t c = 0; c < d->n; c++) {
			const double x = d->z[j * d->n + c] / a[j * m + j];

			diagonal[c] -= x * x;
		}
	free(a);
	return well;
}

static int invert(double *sd, bool *exact, struct dense *d, const struct norm_fit *f,
                  const struct norm_freedoms *e)
{
	double *diagonal;
	int st = make_fisher(d, f);

	if (st) return st;
	make_gauge(d, f, e);
	for (int64_t r = 0; r < e->n; r++)
		for (int64_t i = 0; i < d->n; i++)
			for (int64_t j = 0; j < d->n && d->c[r * d->n + i] != 0; j++)
				d->k[i * d->n + j] += d->c[r * d->n + i] * d->c[r * d->n + j];
	if (!ISO_HOST(&d->room, diagonal, d->n)) return d->room.status;
	*exact = factorise(d->k, d->n, f->ctx);
	if (!*exact) return iso_ctx_poll(f->ctx);
	if ((st = inverse_diagonal(diagonal, d->k, d->n, f->ctx))) return st;
	*exact = take_freedoms(diagonal, d, e->n);
	for (int64_t p = 0; p < norm_parameters(f); p++)
		sd[p] = *exact && d->of[p] >= 0 ? sqrt(fmax(0, diagonal[d->of[p]])) : 0;
	return ISO_OK;
}

int norm_errors(double *local, double *sd, bool *exact, struct norm_fit *f)
{
	const int64_t n = norm_parameters(f);
	struct dense d = { .room = iso_room_of(NULL, "norm") };
	struct norm_freedoms e = { 0 };
	double total;
	int st = norm_freedoms_create(&e, f);

	*exact = false;
	norm_pairs_sum(local, &total, f, NORM_FISHER, NULL);
	for (int64_t p = 0; p < n; p++) local[p] = local[p] > 0 ? 1 / sqrt(local[p]) : 0;
	if (st || f->rows->n > MOST_CRYSTALS || !ISO_HOST(&d.room, d.of, n)) goto done;
	for (int64_t p = 0; p < n; p++) {
		const bool fixed = (p >= norm_at_t(f) && p < norm_at_z(f) && !f->classes->transaxial) ||
		                   (p >= norm_at_z(f) && p < norm_at_shift(f, 0) && !f->classes->axial);

		d.of[p] = local[p] > 0 && !fixed ? d.n++ : -1;
	}
	ISO_HOST(&d.room, d.k, d.n * d.n);
	ISO_HOST(&d.room, d.c, e.n * d.n + 1);
	ISO_HOST(&d.room, d.z, e.n * d.n + 1);
	st = d.room.status;
	if (!st) st = invert(sd, exact, &d, f, &e);
done:
	if (!st) st = d.room.status;
	iso_room_free(&d.room);
	norm_freedoms_free(&e);
	return st;
}
