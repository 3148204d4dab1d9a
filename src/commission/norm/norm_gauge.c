/* SPDX-License-Identifier: BSD-3-Clause */
/* The freedoms of a norm counted, and the factors put into the gauge. */
#include "norm_gauge.h"

#include "core/size.h"

#include <string.h>

enum { PARTS = 16 }; /* of the rows of pairs, of about as many pairs */

int64_t norm_place_of(const struct norm_classes *c, int64_t crystal)
{
	const int64_t i = crystal % c->per_ring % c->block, other = c->block - 1 - i;

	return c->mirror && other < i ? other : i;
}

/* ---- used pairs ---- */

/* Crystals joined in a forest; `odd`: whether a crystal lies on the other side than the root of its tree. */
struct forest {
	int64_t *up;
	bool *odd, *mixed; /* mixed, of roots: the tree holds a circle of odd length */
};

static int64_t root_of(struct forest *t, int64_t a, bool *odd)
{
	int64_t r = a;
	bool o = false;

	while (t->up[r] != r) {
		o ^= t->odd[r];
		r = t->up[r];
	}
	*odd = o;
	while (t->up[a] != r && a != r) { /* shorten the way */
		const int64_t next = t->up[a];
		const bool was = t->odd[a];

		t->up[a] = r;
		t->odd[a] = o;
		o ^= was;
		a = next;
	}
	return r;
}

/* a and b, on different sides of their tree; or, with `same`, on one. */
static void join(struct forest *t, int64_t a, int64_t b, bool same)
{
	bool oa, ob;
	const int64_t ra = root_of(t, a, &oa), rb = root_of(t, b, &ob);

	if (ra == rb) {
		if ((oa == ob) != same) t->mixed[ra] = true;
		return;
	}
	t->up[rb] = ra;
	t->odd[rb] = (oa == ob) != same;
	t->mixed[ra] = t->mixed[ra] || t->mixed[rb];
}

/* made: q of row a of the first scan, where there is no table. */
static bool used(const struct norm_fit *f, int64_t a, int64_t b, int64_t pair, const float *made)
{
	if (!(f->eps[b] > 0) || !(f->t[*norm_classes_t(f->classes, a, b)] > 0) ||
	    !(f->z[norm_classes_z(f->classes, a, b)] > 0))
		return false;
	if (made) return made[pair - f->rows->first[a]] > 0;
	for (int s = 0; s < f->scans; s++)
		if (f->scan[s].q[pair] > 0) return true;
	return false;
}

/* Counts of pairs by class, and by class and place of their ends; the forest of some rows. */
struct tally {
	int64_t *in_t, *in_z, *pairs_t;
	struct forest t;
	struct norm_run *run;
	struct norm_line line;
};

static int make_tally(struct tally *p, struct iso_room *room, const struct norm_fit *f,
                      const struct norm_freedoms *d)
{
	ISO_HOST(room, p->in_t, f->classes->n_t);
	ISO_HOST(room, p->in_z, f->classes->n_z);
	ISO_HOST(room, p->pairs_t, f->classes->n_t * d->places);
	ISO_HOST(room, p->t.up, f->rows->n);
	ISO_HOST(room, p->t.odd, f->rows->n);
	ISO_HOST(room, p->t.mixed, f->rows->n);
	ISO_HOST(room, p->run, norm_rows_most(f->rows));
	norm_line_create(&p->line, room, f->rows, f->scan);
	for (int64_t a = 0; a < f->rows->n && !room->status; a++) p->t.up[a] = a;
	return room->status;
}

static void count_pair(struct tally *p, const struct norm_freedoms *d, const struct norm_classes *c,
                       int64_t a, int64_t b)
{
	const int64_t k = *norm_classes_t(c, a, b), l = norm_classes_z(c, a, b);

	p->in_t[k]++;
	p->in_z[l]++;
	if (!c->transaxial) return;
	p->pairs_t[k * d->places + norm_place_of(c, a)]++;
	p->pairs_t[k * d->places + norm_place_of(c, b)]++;
}

static void count_row(struct tally *p, const struct norm_freedoms *d, const struct norm_fit *f, int64_t a)
{
	const struct norm_run *run = p->run;
	const int64_t runs = norm_rows_runs(p->run, f->rows, a);
	const float *made = f->scan->q ? NULL : norm_row_q(&p->line, f->scan, f->rows, a);

	for (int64_t k = 0; k < runs; k++)
		for (int64_t j = 0; j < run[k].n; j++) {
			if (!used(f, a, run[k].b + j, run[k].pair + j, made)) continue;
			count_pair(p, d, f->classes, a, run[k].b + j);
			join(&p->t, a, run[k].b + j, false);
		}
}

static void add_counts(int64_t *to, const int64_t *from, int64_t n)
{
	for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

/* A forest of the rows of each part: which crystals are joined, and on which side, is the same for any order of the pairs. */
static void count_pairs(struct norm_freedoms *d, const struct norm_fit *f, struct tally *part,
                        struct forest *t)
{
	const struct norm_classes *c = f->classes;

#pragma omp parallel for schedule(dynamic) num_threads(iso_ctx_threads(f->ctx))
	for (int i = 0; i < PARTS; i++)
		for (int64_t a = norm_rows_of_part(f->rows, i, PARTS);
		     a < norm_rows_of_part(f->rows, i + 1, PARTS); a++)
			if (f->eps[a] > 0) count_row(part + i, d, f, a);
	for (struct tally *p = part; p < part + PARTS; p++) {
		add_counts(d->in_t, p->in_t, c->n_t);
		add_counts(d->in_z, p->in_z, c->n_z);
		add_counts(d->pairs_t, p->pairs_t, c->n_t * d->places);
		for (int64_t a = 0; a < f->rows->n; a++) {
			bool odd, none;
			const int64_t r = root_of(&p->t, a, &odd);

			join(t, r, a, !odd);
			if (r == a && p->t.mixed[a]) t->mixed[root_of(t, a, &none)] = true;
		}
	}
	for (int64_t l = 0; l < (c->axial ? c->n_z : 0); l++) {
		d->pairs_z[l * d->rings + c->z_key[l] / c->rings] += d->in_z[l];
		d->pairs_z[l * d->rings + c->z_key[l] % c->rings] += d->in_z[l];
	}
}

/* What a pair of a class has at each place: ends over pairs. */
static void share_ends(int8_t *ends, const int64_t *count, const int64_t *pairs, int64_t classes, int64_t n)
{
	for (int64_t k = 0; k < classes; k++)
		for (int64_t i = 0; i < n && pairs[k] > 0; i++)
			ends[k * n + i] = (int8_t)(count[k * n + i] / pairs[k]);
}

static void find_parts(struct norm_freedoms *d, const struct norm_fit *f, struct forest *t, int32_t *number)
{
	bool odd = false;

	for (int64_t a = 0; a < f->rows->n; a++) {
		if (!(f->eps[a] > 0) || root_of(t, a, &odd) != a) continue;
		d->parts++;
		if (!t->mixed[a]) number[a] = (int32_t)++d->sided;
	}
	for (int64_t a = 0; a < f->rows->n; a++) {
		const int64_t r = f->eps[a] > 0 ? root_of(t, a, &odd) : a;

		d->part[a] = f->eps[a] > 0 ? (odd ? -number[r] : number[r]) : 0;
	}
}

int norm_freedoms_create(struct norm_freedoms *d, const struct norm_fit *f)
{
	const struct norm_classes *c = f->classes;
	const int64_t n = f->rows->n;
	struct iso_room room = iso_room_of(NULL, "norm");
	struct tally part[PARTS];
	struct forest t;
	int32_t *number;

	*d = (struct norm_freedoms){ .room = iso_room_of(NULL, "norm"),
		                     .places =
		                             c->transaxial ? (c->mirror ? (c->block + 1) / 2 : c->block) : 0,
		                     .rings = c->axial ? c->rings : 0 };
	ISO_HOST(&d->room, d->pairs_t, c->n_t * d->places);
	ISO_HOST(&d->room, d->pairs_z, c->n_z * d->rings);
	ISO_HOST(&d->room, d->ends_t, c->n_t * d->places);
	ISO_HOST(&d->room, d->ends_z, c->n_z * d->rings);
	ISO_HOST(&d->room, d->in_t, c->n_t);
	ISO_HOST(&d->room, d->in_z, c->n_z);
	ISO_HOST(&d->room, d->part, n);
	ISO_HOST(&room, t.up, n);
	ISO_HOST(&room, t.odd, n);
	ISO_HOST(&room, t.mixed, n);
	ISO_HOST(&room, number, n);
	for (int i = 0; i < PARTS && !room.status; i++) make_tally(part + i, &room, f, d);
	if (!d->room.status && !room.status) {
		for (int64_t a = 0; a < n; a++) t.up[a] = a;
		count_pairs(d, f, part, &t);
		share_ends(d->ends_t, d->pairs_t, d->in_t, c->n_t, d->places);
		share_ends(d->ends_z, d->pairs_z, d->in_z, c->n_z, d->rings);
		find_parts(d, f, &t, number);
		d->n = d->places + d->rings + d->sided;
	}
	const int st = d->room.status ? d->room.status : room.status;

	iso_room_free(&room);
	return st;
}

void norm_freedoms_free(struct norm_freedoms *d)
{
	iso_room_free(&d->room);
}

/* ---- a small system ---- */

/* Cholesky, where a pivot that is rounding alone belongs to an unknown that stays 0. */
void norm_solve_small(double *x, double *a, double *b, int64_t n)
{
	double largest = 0;

	for (int64_t i = 0; i < n; i++) largest = fmax(largest, a[i * n + i]);
	for (int64_t i = 0; i < n; i++) {
		for (int64_t j = 0; j <= i; j++) {
			double sum = a[i * n + j];

			for (int64_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
			if (j < i)
				a[i * n + j] = a[j * n + j] > 0 ? sum / a[j * n + j] : 0;
			else
				a[i * n + i] = sum > 1e-11 * largest ? sqrt(sum) : 0;
		}
	}
	for (int64_t i = 0; i < n; i++) {
		double sum = b[i];

		for (int64_t k = 0; k < i; k++) sum -= a[i * n + k] * b[k];
		b[i] = a[i * n + i] > 0 ? sum / a[i * n + i] : 0;
	}
	for (int64_t i = n - 1; i >= 0; i--) {
		double sum = b[i];

		for (int64_t k = i + 1; k < n; k++) sum -= a[k * n + i] * x[k];
		x[i] = a[i * n + i] > 0 ? sum / a[i * n + i] : 0;
	}
}

/* ---- the gauge ---- */

/* u that makes the sum over pairs of (ln factor + the u of its ends)^2 least: factor *= exp(their u). */
static int fix(double *u, double *factor, const int8_t *ends, const int64_t *pairs, int64_t classes,
               int64_t n)
{
	double *a = size_alloc(n * n + n, sizeof *a), *b = a ? a + n * n : NULL;

	if (!a) return iso_fail_memory("norm", (n * n + n) * 8);
	for (int64_t k = 0; k < classes; k++) {
		if (pairs[k] == 0 || !(factor[k] > 0)) continue;
		for (int64_t i = 0; i < n; i++) {
			const double e = (double)pairs[k] * ends[k * n + i];

			if (e == 0) continue;
			b[i] -= e * log(factor[k]);
			for (int64_t j = 0; j < n; j++) a[i * n + j] += e * ends[k * n + j];
		}
	}
	norm_solve_small(u, a, b, n);
	for (int64_t k = 0; k < classes; k++) {
		double sum = 0;

		for (int64_t i = 0; i < n && pairs[k] > 0; i++) sum += ends[k * n + i] * u[i];
		factor[k] *= exp(sum);
	}
	free(a);
	return ISO_OK;
}

static void fix_sides(struct norm_fit *f, const struct norm_freedoms *d)
{
	for (int32_t part = 1; part <= d->sided; part++) {
		double sum[2] = { 0, 0 };
		int64_t n[2] = { 0, 0 };

		for (int64_t a = 0; a < f->rows->n; a++)
			if (d->part[a] == part || d->part[a] == -part) {
				sum[d->part[a] < 0] += log(f->eps[a]);
				n[d->part[a] < 0]++;
			}
		if (n[0] == 0 || n[1] == 0) continue;
		const double half = .5 * (sum[1] / (double)n[1] - sum[0] / (double)n[0]);

		for (int64_t a = 0; a < f->rows->n; a++)
			if (d->part[a] == part || d->part[a] == -part)
				f->eps[a] *= exp(d->part[a] < 0 ? -half : half);
	}
}

int norm_gauge(struct norm_fit *f)
{
	const struct norm_classes *c = f->classes;
	struct norm_freedoms d;
	int st = norm_freedoms_create(&d, f);
	double *u = st ? NULL : size_alloc(d.places + d.rings + 1, sizeof *u), *v = u ? u + d.places : NULL;

	if (!st && !u) st = iso_fail_memory("norm", (d.places + d.rings) * 8);
	if (!st && c->transaxial) st = fix(u, f->t, d.ends_t, d.in_t, c->n_t, d.places);
	if (!st && c->axial) st = fix(v, f->z, d.ends_z, d.in_z, c->n_z, d.rings);
	for (int64_t a = 0; a < f->rows->n && !st; a++) {
		if (c->transaxial) f->eps[a] *= exp(-u[norm_place_of(c, a)]);
		if (c->axial) f->eps[a] *= exp(-v[a / c->per_ring]);
	}
	if (!st) {
		fix_sides(f, &d);
		f->parts = d.parts;
	}
	norm_freedoms_free(&d);
	free(u);
	return st;
}
