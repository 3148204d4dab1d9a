/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fitted norm tells of itself: harmonics round the ring, chi-square, classes that a model without factors leaves off,
   weak crystals. */
#include "norm_own.h"

#include "core/size.h"

#include <string.h>

enum { NEAR = 8, WEAK = 16, ENOUGH = 1000, PATCH = 8 };
#define COUNTED 2 /* expected counts from which a pair tells of the fit */

struct report {
	struct iso_room room;
	const struct norm_fit *f;
	double *distance;          /* net counts by circular distance */
	double *class_y, *class_e; /* counts and expected ones by the key of a class */
	struct norm_classes all;   /* with both components, where there are rings */
	double *patch_y, *patch_e; /* of two blocks */
	int64_t patches, across, along;
	double *mu, *r, *y;
	double chi2, pairs;
};

/* Block of a crystal: that of the scanner, or PATCH x PATCH crystals. */
static int64_t patch_of(const struct report *t, int64_t a)
{
	const struct norm_rows *rows = t->f->rows;
	const int64_t n = rows->per_ring, wide = t->f->classes->block > 1 ? t->f->classes->block : PATCH;
	const int64_t high =
		rows->s->block_rings > 0 && rows->s->block_rings < rows->rings ? rows->s->block_rings : PATCH;

	return rows->rings > 0 ? a / n / high * t->across + a % n / wide : a / (PATCH * PATCH);
}

static void count_patches(struct report *t)
{
	const struct norm_rows *rows = t->f->rows;
	const int64_t wide = t->f->classes->block > 1 ? t->f->classes->block : PATCH;

	t->across = rows->rings > 0 ? (rows->per_ring + wide - 1) / wide : 1;
	t->patches = patch_of(t, rows->n - 1) + t->across;
}

static void add_pair(struct report *t, int64_t a, int64_t b, double mu, double r, double y)
{
	const struct norm_rows *rows = t->f->rows;
	const double ybar = mu + r, net = mu * mu / ybar;
	const int64_t p = patch_of(t, a), q = patch_of(t, b);

	if (ybar > COUNTED) {
		t->chi2 += (y - ybar) * (y - ybar) / ybar;
		t->pairs++;
	}
	t->patch_y[p * t->patches + q] += y;
	t->patch_e[p * t->patches + q] += ybar;
	if (rows->rings == 0) return;
	const int64_t n = rows->per_ring, apart = llabs(a % n - b % n);
	const int32_t k = *norm_classes_t(&t->all, a, b), l = norm_classes_z(&t->all, a, b);

	t->distance[apart] += net;
	t->distance[(n - apart) % n] += net;
	t->class_y[k] += y;
	t->class_e[k] += ybar;
	t->class_y[t->all.n_t + l] += y;
	t->class_e[t->all.n_t + l] += ybar;
}

static void add_row(struct report *t, const struct norm_scan *s, int64_t a, struct norm_run *run)
{
	const struct norm_fit *f = t->f;
	const int64_t runs = norm_rows_runs(run, f->rows, a);
	int64_t next = s->y.first[a]; /* counts and runs rise alike */

	for (int64_t k = 0; k < runs; k++) {
		norm_row_terms(t->mu, t->r, f, s, a, run + k);
		memset(t->y, 0, (size_t)run[k].n * sizeof *t->y);
		for (; next < s->y.first[a + 1] && (int64_t)s->y.b[next] < run[k].b + run[k].n; next++)
			t->y[(int64_t)s->y.b[next] - run[k].b] = (double)s->y.y[next];
		for (int64_t j = 0; j < run[k].n; j++)
			if (t->mu[j] > 0) add_pair(t, a, run[k].b + j, t->mu[j], t->r[j], t->y[j]);
	}
}

/* Variance of the amplitude of cos(m phi) in ln eps: (2/(N D))/(1 + lam_m), lam_m the mean of cos(2 pi m d/n) over net
   counts at distance d, D net counts a crystal; of the mean (m = 0) half as much. */
static void harmonics(struct iso_norm_found *found, const struct report *t, double net, double living)
{
	const int64_t n = t->f->rows->per_ring;

	found->harmonics = n / 2 < ISO_NORM_HARMONICS ? (int)(n / 2) : ISO_NORM_HARMONICS;
	for (int m = 0; m < found->harmonics; m++) {
		double sum = 0, wave = 0;

		for (int64_t d = 0; d < n; d++) {
			sum += t->distance[d];
			wave += t->distance[d] * cos(2 * M_PI * m * (double)d / (double)n);
		}
		const double left = sum > 0 ? 1 + wave / sum : 0;

		found->gain[m] = left > 0 ? 1 / left : HUGE_VAL;
		found->error[m] =
			net > 0 && living > 0 ? sqrt((m == 0 ? 1 : 2) / net * found->gain[m]) : HUGE_VAL;
	}
}

/* Mean of (y - ybar)^2/ybar over pairs of more than COUNTED, or over the sums of pairs of blocks. */
static void goodness(struct iso_norm_found *found, const struct report *t)
{
	double sum = t->chi2, n = t->pairs;

	if (n < ENOUGH) {
		sum = n = 0;
		for (int64_t i = 0; i < t->patches * t->patches; i++) {
			const double e = t->patch_e[i], d = t->patch_y[i] - e;

			if (!(e > COUNTED)) continue;
			sum += d * d / e;
			n++;
		}
	}
	if (n < 2) return;
	const double all = t->pairs < ENOUGH ? n : (double)found->pairs;

	found->chi2 = sum / n;
	found->chi2_expected = fmax(0, all - (double)found->parameters) / all;
	if (t->pairs < ENOUGH) found->chi2_expected = 1;
	found->chi2_sd = sqrt(2 / n);
}

static double worst_class(const struct report *t)
{
	const int64_t from = t->f->classes->transaxial ? t->all.n_t : 0;
	const int64_t to = t->f->classes->axial ? t->all.n_t : t->all.n_t + t->all.n_z;
	double worst = 0;

	for (int64_t k = from; k < to; k++)
		if (t->class_e[k] > COUNTED)
			worst = fmax(worst, fabs(t->class_y[k] - t->class_e[k]) / sqrt(t->class_e[k]));
	return worst;
}

static int make_report(struct report *t)
{
	const struct norm_rows *rows = t->f->rows;
	int st;

	t->room = iso_room_of(NULL, "norm");
	count_patches(t);
	if (rows->rings > 0 &&
	    (st = norm_classes_create(&t->all, rows->s, true, true, t->f->classes->mirror)))
		return st;
	ISO_HOST(&t->room, t->distance, rows->per_ring + 1);
	ISO_HOST(&t->room, t->class_y, t->all.n_t + t->all.n_z + 1);
	ISO_HOST(&t->room, t->class_e, t->all.n_t + t->all.n_z + 1);
	ISO_HOST(&t->room, t->patch_y, t->patches * t->patches);
	ISO_HOST(&t->room, t->patch_e, t->patches * t->patches);
	ISO_HOST(&t->room, t->mu, rows->n);
	ISO_HOST(&t->room, t->r, rows->n);
	ISO_HOST(&t->room, t->y, rows->n);
	return t->room.status;
}

int norm_report(struct iso_norm_found *found, const struct norm_fit *f)
{
	struct report t = { .f = f };
	struct norm_run *run = size_alloc(norm_rows_most(f->rows), sizeof *run);
	double net = 0, living = 0;
	int st = run ? make_report(&t) : iso_fail_memory("norm", 1);

	for (int s = 0; s < f->scans && !st; s++)
		for (int64_t a = 0; a < f->rows->n; a++)
			if (f->eps[a] > 0) add_row(&t, f->scan + s, a, run);
	for (int64_t a = 0; a < f->rows->n; a++) living += f->eps[a] > 0;
	if (!st && f->rows->rings > 0) {
		for (int64_t d = 0; d < f->rows->per_ring; d++) net += t.distance[d];
		harmonics(found, &t, net, living);
		found->worst_class = worst_class(&t);
	}
	if (!st) goodness(found, &t);
	free(run);
	norm_classes_free(&t.all);
	iso_room_free(&t.room);
	return st;
}

/* ---- weak crystals ---- */

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median of the living among crystals of a ring within NEAR places either way, or of all. */
static double median_near(double *room, const struct norm_fit *f, const double *net, int64_t a)
{
	const int64_t n = f->rows->rings > 0 ? f->rows->per_ring : f->rows->n;
	const int64_t reach = f->rows->rings > 0 && 2 * NEAR < n ? NEAR : (n - 1) / 2, ring = a / n * n;
	int64_t k = 0;

	for (int64_t i = -reach; i <= reach; i++) {
		const int64_t b = ring + (a - ring + i + n) % n;

		if (f->eps[b] > 0) room[k++] = net[b];
	}
	qsort(room, (size_t)k, sizeof *room, by_size);
	return k > 0 ? room[k / 2] : 0;
}

int norm_weak(bool *weak, int64_t *n, const struct norm_fit *f, const double *net)
{
	double *room = size_alloc(f->rows->n, sizeof *room), all = 0;

	if (!room) return iso_fail_memory("norm", f->rows->n * 8);
	*n = 0;
	for (int64_t a = 0; a < f->rows->n; a++) {
		if (f->rows->rings > 0 || a == 0) all = median_near(room, f, net, a);
		weak[a] = f->eps[a] > 0 && net[a] * WEAK < all;
		*n += weak[a];
	}
	free(room);
	return ISO_OK;
}
