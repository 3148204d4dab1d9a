/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fitted norm tells of itself: harmonics round the ring, chi-square, classes that a model without factors leaves off,
   weak crystals. */
#include "norm_own.h"

#include "core/size.h"

#include <string.h>

enum { NEAR = 8, WEAK = 16, ENOUGH = 1000, PATCH = 8, PARTS = 16 };
#define COUNTED 2 /* expected counts from which a pair tells of the fit */

/* Sums over the rows of some blocks, of which nobody else has rows. */
struct part {
	double *distance;          /* net counts by circular distance */
	double *class_y, *class_e; /* counts and expected ones by the key of a class */
	double chi2, pairs;
	int64_t used;       /* pairs */
	double *mu, *r, *y; /* of the pairs of a run */
	struct norm_run *run;
	struct norm_line line;
};

struct report {
	struct iso_room room;
	const struct norm_fit *f;
	struct norm_classes all;   /* with both components, where there are rings */
	double *patch_y, *patch_e; /* of two blocks */
	int64_t patches, across;
	bool *counts;            /* blocks with a living crystal */
	int64_t *row;            /* crystals, block after block */
	int64_t *from;           /* (PARTS + 1) where parts begin among them */
	struct part part[PARTS]; /* the first ends with the sums of all */
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

static void add_pair(struct report *t, struct part *p, int64_t a, int64_t b, double mu, double r, double y)
{
	const struct norm_rows *rows = t->f->rows;
	const double ybar = mu + r, net = mu * mu / ybar;
	const int64_t at = patch_of(t, a) * t->patches + patch_of(t, b);

	p->used++;
	if (ybar > COUNTED) {
		p->chi2 += (y - ybar) * (y - ybar) / ybar;
		p->pairs++;
	}
	t->patch_y[at] += y;
	t->patch_e[at] += ybar;
	if (rows->rings == 0) return;
	const int64_t n = rows->per_ring, apart = llabs(a % n - b % n);
	const int32_t k = *norm_classes_t(&t->all, a, b), l = norm_classes_z(&t->all, a, b);

	p->distance[apart] += net;
	p->distance[(n - apart) % n] += net;
	p->class_y[k] += y;
	p->class_e[k] += ybar;
	p->class_y[t->all.n_t + l] += y;
	p->class_e[t->all.n_t + l] += ybar;
}

static void add_row(struct report *t, struct part *p, const struct norm_scan *s, int64_t a)
{
	const struct norm_fit *f = t->f;
	const struct norm_run *run = p->run;
	const int64_t runs = norm_rows_runs(p->run, f->rows, a), first = f->rows->first[a];
	const struct norm_counted y = norm_counts_row(&p->line, &s->y, f->rows, a);
	const float *q = norm_row_q(&p->line, s, f->rows, a);
	int64_t next = 0; /* counts and runs rise alike */

	for (int64_t k = 0; k < runs; k++) {
		norm_row_terms(p->mu, p->r, f, s, a, run + k, q + (run[k].pair - first));
		memset(p->y, 0, (size_t)run[k].n * sizeof *p->y);
		for (; next < y.n && (int64_t)y.b[next] < run[k].b + run[k].n; next++)
			p->y[(int64_t)y.b[next] - run[k].b] = (double)y.y[next];
		for (int64_t j = 0; j < run[k].n; j++)
			if (p->mu[j] > 0) add_pair(t, p, a, run[k].b + j, p->mu[j], p->r[j], p->y[j]);
	}
}

/* The sums of all parts, in their order, in those of the first. */
static void add_parts(struct report *t)
{
	struct part *to = t->part;
	const int64_t classes = t->all.n_t + t->all.n_z;

	for (const struct part *p = to + 1; p < to + PARTS; p++) {
		for (int64_t d = 0; d < t->f->rows->per_ring; d++) to->distance[d] += p->distance[d];
		for (int64_t k = 0; k < classes; k++) to->class_y[k] += p->class_y[k];
		for (int64_t k = 0; k < classes; k++) to->class_e[k] += p->class_e[k];
		to->chi2 += p->chi2;
		to->pairs += p->pairs;
		to->used += p->used;
	}
}

static void add_rows(struct report *t)
{
	const struct norm_fit *f = t->f;

#pragma omp parallel for schedule(dynamic) num_threads(iso_ctx_threads(f->ctx))
	for (int i = 0; i < PARTS; i++)
		for (int s = 0; s < f->scans; s++)
			for (int64_t k = t->from[i]; k < t->from[i + 1]; k++)
				if (f->eps[t->row[k]] > 0) add_row(t, t->part + i, f->scan + s, t->row[k]);
	add_parts(t);
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
			sum += t->part->distance[d];
			wave += t->part->distance[d] * cos(2 * M_PI * m * (double)d / (double)n);
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
	double sum = t->part->chi2, n = t->part->pairs, blocks = 0;

	if (n < ENOUGH) {
		sum = n = 0;
		for (int64_t i = 0; i < t->patches * t->patches; i++) {
			const double e = t->patch_e[i], d = t->patch_y[i] - e;

			if (!(e > COUNTED)) continue;
			sum += d * d / e;
			n++;
		}
		for (int64_t p = 0; p < t->patches; p++) blocks += t->counts[p];
	}
	if (n < 2) return;
	const bool few = t->part->pairs < ENOUGH;
	/* factors of blocks alone make sums of blocks better */
	const double all = few ? n : (double)found->pairs, fitted = few ? blocks : (double)found->parameters;

	found->chi2 = sum / n;
	found->chi2_expected = fmax(0, all - fitted) / all;
	found->chi2_sd = sqrt(2 / n);
}

static double worst_class(const struct report *t)
{
	const int64_t from = t->f->classes->transaxial ? t->all.n_t : 0;
	const int64_t to = t->f->classes->axial ? t->all.n_t : t->all.n_t + t->all.n_z;
	const double *y = t->part->class_y, *e = t->part->class_e;
	double worst = 0;

	for (int64_t k = from; k < to; k++)
		if (e[k] > COUNTED) worst = fmax(worst, fabs(y[k] - e[k]) / sqrt(e[k]));
	return worst;
}

/* Crystals sorted by their blocks, and cut between blocks into parts of about as many pairs. */
static void sort_rows(struct report *t, int64_t *place)
{
	const struct norm_rows *rows = t->f->rows;
	const double all = (double)rows->first[rows->n];
	double before = 0;
	int part = 0;

	for (int64_t a = 0; a < rows->n; a++) place[patch_of(t, a) + 1]++;
	for (int64_t p = 0; p < t->patches; p++) place[p + 1] += place[p];
	for (int64_t a = 0; a < rows->n; a++) t->row[place[patch_of(t, a)]++] = a;
	for (int64_t k = 0; k < rows->n; k++) {
		const bool begins = k == 0 || patch_of(t, t->row[k]) != patch_of(t, t->row[k - 1]);

		while (begins && part < PARTS && before >= all * part / PARTS) t->from[part++] = k;
		before += (double)(rows->first[t->row[k] + 1] - rows->first[t->row[k]]);
	}
	while (part <= PARTS) t->from[part++] = rows->n;
}

static int make_part(struct part *p, struct report *t)
{
	const struct norm_rows *rows = t->f->rows;
	const int64_t wide = rows->rings > 0 ? rows->per_ring : rows->n;

	ISO_HOST(&t->room, p->distance, rows->per_ring + 1);
	ISO_HOST(&t->room, p->class_y, t->all.n_t + t->all.n_z + 1);
	ISO_HOST(&t->room, p->class_e, t->all.n_t + t->all.n_z + 1);
	ISO_HOST(&t->room, p->mu, wide);
	ISO_HOST(&t->room, p->r, wide);
	ISO_HOST(&t->room, p->y, wide);
	ISO_HOST(&t->room, p->run, norm_rows_most(rows));
	return norm_line_create(&p->line, &t->room, rows, t->f->scan);
}

static int make_report(struct report *t)
{
	const struct norm_rows *rows = t->f->rows;
	int64_t *place;
	int st;

	t->room = iso_room_of(NULL, "norm");
	count_patches(t);
	if (rows->rings > 0 &&
	    (st = norm_classes_create(&t->all, rows->s, true, true, t->f->classes->mirror)))
		return st;
	for (int i = 0; i < PARTS; i++)
		if ((st = make_part(t->part + i, t))) return st;
	ISO_HOST(&t->room, t->patch_y, t->patches * t->patches);
	ISO_HOST(&t->room, t->patch_e, t->patches * t->patches);
	ISO_HOST(&t->room, t->counts, t->patches);
	ISO_HOST(&t->room, t->row, rows->n);
	ISO_HOST(&t->room, t->from, PARTS + 1);
	if (!ISO_HOST(&t->room, place, t->patches + 1)) return t->room.status;
	for (int64_t a = 0; a < rows->n; a++)
		if (t->f->eps[a] > 0) t->counts[patch_of(t, a)] = true;
	sort_rows(t, place);
	return t->room.status;
}

int norm_report(struct iso_norm_found *found, const struct norm_fit *f)
{
	struct report t = { .f = f };
	double net = 0, living = 0;
	int st = make_report(&t);

	if (!st) add_rows(&t);
	for (int64_t a = 0; a < f->rows->n; a++) living += f->eps[a] > 0;
	if (!st && f->rows->rings > 0) {
		for (int64_t d = 0; d < f->rows->per_ring; d++) net += t.part->distance[d];
		harmonics(found, &t, net, living);
		found->worst_class = worst_class(&t);
	}
	found->pairs = t.part->used;
	if (!st) goodness(found, &t);
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
