/* SPDX-License-Identifier: BSD-3-Clause */
/* A norm from scans of known sources: counts and expectations of pairs, the fit, its errors and figures. */
#include "norm_own.h"
#include "norm_pairs.h"
#include "norm_place.h"
#include "norm_scanner.h"
#include "norm_scatter.h"
#include "norm_saved.h"

#include "core/comm.h"
#include "core/plan.h"
#include "core/size.h"
#include "core/sized.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { RAYS = 5, MOST_ROUNDS = 6 };
#define MOST_PAIRS 2e10 /* few machines hold a table of more */
#define PLACE_SD 3.     /* mm */
#define TILT_SD .01     /* rad */
#define LONG 50.        /* mm: from this length on a source's tilt is told */
#define STANDS_MM .05   /* a place that moved no more makes no other choice of pairs */
#define ROUGH_STOP .1   /* of the least error, before the place is known */

/* All that a fit needs besides the norm. */
struct task {
	struct iso_room room;
	struct iso_norm_fit p;
	struct norm_rows rows;
	struct norm_fit fit;
	struct norm_scan *scan;
	struct norm_q *q;
	struct source *shape;
	double *local, *sd;
};

/* ---- what was asked ---- */

static int check_scan(const struct iso_norm_scan *s)
{
	if (!s->events == !s->file)
		return iso_fail(ISO_EARG, "norm: a scan needs either events or a file of them");
	if (!s->shape == !s->image)
		return iso_fail(ISO_EARG, "norm: a scan needs a source, a shape or an image");
	if (s->image && !s->image->has_grid)
		return iso_fail(ISO_EINPUT, "norm: the image of the source has no grid");
	if (!(s->factor >= 0) || !isfinite(s->factor))
		return iso_fail(ISO_EARG, "norm: factor of the source is %g, must be above 0", s->factor);
	if (s->scatter && !s->mu)
		return iso_fail(ISO_EARG, "norm: the scatter of a source needs its attenuation map, in 1/mm");
	return ISO_OK;
}

static int check_share(const iso_scanner *s, double share)
{
	const double pairs = (share > 0 ? share : 1) * (double)iso_scanner_pairs(s);

	if (!(share >= 0 && share <= 1))
		return iso_fail(ISO_EARG, "norm: share of the pairs is %g, must be above 0 and at most 1",
		                share);
	if (share > 0 && s->kind != ISO_CYLINDER)
		return iso_fail(ISO_EARG, "norm: a share of the pairs is of scanners with rings, %s has none",
		                s->name);
	return pairs <= MOST_PAIRS
	               ? ISO_OK
	               : iso_fail(ISO_EARG,
	                          "norm: %s has %.2g pairs of crystals, at most %.2g can be fitted: fit a "
	                          "share of %.2g of them, or less",
	                          s->name, (double)iso_scanner_pairs(s), MOST_PAIRS,
	                          MOST_PAIRS / (double)iso_scanner_pairs(s));
}

static int check_no_tables(const struct iso_norm_fit *p)
{
	if (!p->no_tables || (p->place_given && p->scans == 1 && p->scan->shape && !p->scan->mu))
		return ISO_OK;
	return iso_fail(
		ISO_EARG,
		"norm: without tables it takes one scan of a shape without attenuation, at a place that is "
		"given");
}

static int check(const struct iso_norm_fit *p)
{
	int st;

	if (!p->scanner || !p->scan) return iso_fail_null("struct iso_norm_fit");
	if (p->scanner->kind != ISO_CYLINDER && p->scanner->kind != ISO_DETECTORS)
		return iso_fail(ISO_EARG, "norm: scanner %s has neither rings nor free detectors",
		                p->scanner->name);
	if (p->scans < 1) return iso_fail(ISO_EARG, "norm: there is no scan");
	if (p->rays < 0 || p->rays > RAY_LINES)
		return iso_fail(ISO_EARG, "norm: %d lines a pair, must be 1 to %d", p->rays, RAY_LINES);
	if (!(p->place_sd_mm >= 0) || !(p->tolerance >= 0))
		return iso_fail(ISO_EARG, "norm: widths and tolerances must be 0 or above");
	if ((st = check_share(p->scanner, p->pair_share)) || (st = check_no_tables(p))) return st;
	for (int64_t a = 0; p->mask && a < p->scanner->n; a++)
		if ((double)p->mask[a] != 0 && (double)p->mask[a] != 1)
			return iso_fail(ISO_EINPUT, "norm: mask of crystal %" PRId64 " is %g, must be 0 or 1",
			                a, (double)p->mask[a]);
	for (int s = 0; s < p->scans; s++)
		if ((st = check_scan(p->scan + s))) return st;
	return ISO_OK;
}

static int places_of(const struct task *t, const struct source *shape)
{
	if (t->p.place_given) return 0;
	if (!shape) return 2;
	return (shape->kind == SOURCE_PLANE ? 2 * shape->half[2]
	        : shape->axis == 2          ? shape->length
	                                    : 0) > LONG
	               ? 4
	               : 2;
}

static int make_scan(struct task *t, int i, const struct iso_norm_scan *from, const iso_ctx *ctx)
{
	struct norm_scan *s = t->scan + i;
	struct norm_q *q = t->q + i;
	const double sd = t->p.place_sd_mm > 0 ? t->p.place_sd_mm : PLACE_SD;
	const double *face = t->p.scanner->crystal_mm;
	const bool faces = face[0] > 0 && face[1] > 0;
	int st = from->shape ? source_parse(t->shape + i, from->shape) : ISO_OK;

	if (st || (st = iso_ray_spread(&q->spread, !faces ? 1 : t->p.rays > 0 ? t->p.rays : RAYS, face)))
		return st;
	q->rows = &t->rows;
	q->shape = from->shape ? t->shape + i : NULL;
	q->image = from->image;
	q->mu = from->mu;
	q->scatter = from->scatter;
	q->factor = from->factor > 0 ? from->factor : 1;
	q->weigh = t->p.scanner->kind == ISO_CYLINDER;
	q->places = places_of(t, q->shape);
	s->shifts = q->places + (i > 0);
	for (int c = 0; c < q->places; c++) s->sd[c] = c < 2 ? sd : TILT_SD;
	s->rate = from->rate;
	return t->p.no_tables ? norm_q_create_rows(q, s, &t->room, ctx) : norm_q_create(q, s, &t->room);
}

static int make_task(struct task *t, iso_norm *n, iso_ctx *ctx)
{
	const int scans = t->p.scans;
	double all, astray;
	int st;

	if ((st = norm_rows_create_share(&t->rows, t->p.scanner, t->p.pair_share))) return st;
	ISO_HOST(&t->room, t->scan, scans);
	ISO_HOST(&t->room, t->q, scans);
	ISO_HOST(&t->room, t->shape, scans);
	ISO_HOST(&t->room, t->fit.dead, n->n);
	ISO_HOST(&t->room, t->fit.t_state, n->classes.n_t);
	ISO_HOST(&t->room, t->fit.z_state, n->classes.n_z);
	if (t->room.status) return t->room.status;
	t->fit.ctx = ctx;
	t->fit.rows = &t->rows;
	t->fit.classes = &n->classes;
	t->fit.scan = t->scan;
	t->fit.scans = scans;
	t->fit.eps = n->eps;
	t->fit.t = n->t;
	t->fit.z = n->z;
	for (int64_t a = 0; t->p.mask && a < n->n; a++) t->fit.dead[a] = !((double)t->p.mask[a] > 0);
	for (int i = 0; i < scans; i++) {
		if ((st = make_scan(t, i, t->p.scan + i, ctx)) ||
		    (st = norm_counts_make(&t->scan[i].y, &all, &astray, &t->room, ctx, &t->rows,
		                           t->p.scan + i, !t->p.no_tables)))
			return st;
		n->found.all_counts += all;
		n->found.astray += astray;
	}
	return ISO_OK;
}

/* ---- the fit ---- */

/* How far the places lie from where pairs were chosen. */
static double moved(const struct task *t)
{
	double most = 0;

	for (int i = 0; i < t->p.scans; i++)
		for (int c = 0; c < 2 && c < t->q[i].places; c++)
			most = fmax(most, fabs(t->scan[i].shift[c] - t->q[i].chosen_at[c]));
	return most;
}

/* The place decides which pairs the source meets by all their lines, and how q changes as it moves: both are made again
   where it was found, until it stands. */
static int find_place(struct task *t)
{
	struct norm_fit *f = &t->fit;
	int st = ISO_OK;

	f->stop = ROUGH_STOP;
	for (; f->round < MOST_ROUNDS && !st; f->round++) {
		if (!f->point && f->round > 0 && moved(t) < STANDS_MM) break;
		for (int i = 0; i < t->p.scans && !f->point; i++) t->q[i].chosen = false;
		st = norm_fit_run(f, f->round > 0);
	}
	f->stop = 0;
	f->placed = true;
	return st;
}

static int fit(struct task *t)
{
	const bool places = t->q[0].places > 0;
	const int st = places && !t->fit.placed ? find_place(t) : ISO_OK;

	if (st) return st;
	t->fit.tolerance = t->p.tolerance;
	return norm_fit_run(&t->fit, places);
}

static void mix(uint64_t *key, const void *data, int64_t bytes)
{
	if (data) *key = XXH64(data, (size_t)bytes, *key);
}

/* Of all that the fit depends on, besides the key that the caller gives. */
static uint64_t key_of(const struct task *t)
{
	const struct iso_norm_fit *p = &t->p;
	const int64_t n = t->rows.n;
	const double words[] = { p->components, p->no_mirror, p->place_given, p->place_sd_mm,
		                 p->rays,       p->tolerance, p->pair_share,  iso_ctx_is_cuda(t->fit.ctx) };
	uint64_t key = p->key;

	mix(&key, words, sizeof words);
	mix(&key, p->scanner->pos, 3 * n * (int64_t)sizeof *p->scanner->pos);
	mix(&key, p->mask, n * (int64_t)sizeof *p->mask);
	for (int i = 0; i < p->scans; i++) {
		const struct iso_norm_scan *s = p->scan + i;
		const struct norm_counts *y = &t->scan[i].y;

		mix(&key, y->few, t->rows.first[n]);
		mix(&key, y->first, (n + 1) * (int64_t)sizeof *y->first);
		mix(&key, y->b, y->first ? y->first[n] * (int64_t)sizeof *y->b : 0);
		mix(&key, y->y, y->first ? y->first[n] * (int64_t)sizeof *y->y : 0);
		mix(&key, s->rate, n * (int64_t)sizeof *s->rate);
		mix(&key, s->shape, s->shape ? (int64_t)strlen(s->shape) : 0);
		if (s->image) mix(&key, s->image->v, s->image->n * (int64_t)sizeof *s->image->v);
		if (s->mu) mix(&key, s->mu->v, s->mu->n * (int64_t)sizeof *s->mu->v);
		mix(&key, &s->factor, sizeof s->factor);
	}
	return key;
}

static int fit_or_resume(struct task *t, int *resumed_from)
{
	bool found = false;
	int st = ISO_OK;

	if (t->p.checkpoint &&
	    (st = norm_saved_create(&t->fit.state, &t->fit, t->q, t->p.checkpoint, key_of(t))))
		return st;
	if (t->p.checkpoint && t->p.resume) st = norm_saved_resume(&found, t->fit.state);
	if (found) *resumed_from = t->fit.steps;
	return st ? st : fit(t);
}

static void make_relative(iso_norm *n)
{
	double sum = 0, living = 0;

	for (int64_t a = 0; a < n->n; a++) {
		sum += n->eps[a];
		living += n->eps[a] > 0;
	}
	for (int64_t a = 0; a < n->n && sum > 0; a++) n->eps[a] *= living / sum;
}

/* ---- what it found ---- */

static void tell_classes(struct iso_norm_found *found, const struct norm_fit *f)
{
	for (int64_t k = 0; k < f->classes->n_t; k++) {
		found->unreached_t += f->t_state[k] == NORM_UNREACHED;
		found->zero_t += f->t_state[k] == NORM_NOTHING;
	}
	for (int64_t l = 0; l < f->classes->n_z; l++) {
		found->unreached_z += f->z_state[l] == NORM_UNREACHED;
		found->zero_z += f->z_state[l] == NORM_NOTHING;
	}
}

static void tell(iso_norm *n, const struct task *t)
{
	struct iso_norm_found *found = &n->found;
	const struct norm_fit *f = &t->fit;
	double sum = 0;

	found->counts = f->counts;
	found->randoms = f->randoms;
	found->edges = norm_counts_on(f, false);
	found->loglik = f->loglik;
	found->steps = f->steps;
	found->products = f->products;
	found->parts = f->parts;
	tell_classes(found, f);
	for (int64_t a = 0; a < n->n; a++) {
		found->dead += !(n->eps[a] > 0);
		sum += n->eps[a] > 0 ? n->sd[a] : 0;
	}
	found->mean_sd = sum / (double)(n->n - found->dead);
	found->places = t->q[0].places;
	for (int c = 0; c < found->places; c++) {
		found->place_mm[c] = t->scan[0].shift[c];
		found->place_sd[c] = t->scan[0].error[c];
	}
	for (int i = 0; i < t->p.scans; i++) found->scattered += norm_scattered(f, t->scan + i, t->q + i);
}

static int errors(iso_norm *n, struct task *t)
{
	const int64_t all = norm_parameters(&t->fit);
	int st;

	ISO_HOST(&t->room, t->local, all);
	ISO_HOST(&t->room, t->sd, all);
	if (t->room.status || (st = norm_errors(t->local, t->sd, &n->found.exact, &t->fit)))
		return t->room.status ? t->room.status : st;
	if (t->fit.status) return t->fit.status;
	const double *sd = n->found.exact ? t->sd : t->local;

	memcpy(n->sd, sd, (size_t)n->n * sizeof *sd);
	memcpy(n->t_sd, sd + norm_at_t(&t->fit), (size_t)n->classes.n_t * sizeof *sd);
	memcpy(n->z_sd, sd + norm_at_z(&t->fit), (size_t)n->classes.n_z * sizeof *sd);
	for (int64_t p = 0; p < all; p++) n->found.parameters += t->local[p] > 0;
	for (int64_t a = 0; a < n->n; a++)
		t->local[a] = t->local[a] > 0 ? 1 / (t->local[a] * t->local[a]) : 0;
	return norm_weak(n->weak, &n->found.weak, &t->fit, t->local);
}

void norm_sample(float sample[64][3], const iso_scanner *s)
{
	for (int64_t j = 0; j < 64; j++)
		for (int c = 0; c < 3; c++) sample[j][c] = (float)s->pos[3 * (j * s->n / 64) + c];
}

int norm_prepare(iso_norm *n, const struct iso_norm_fit *p)
{
	int st = norm_classes_create(&n->classes, p->scanner, p->components & ISO_NORM_TRANSAXIAL,
	                             p->components & ISO_NORM_AXIAL, !p->no_mirror);

	if (st) return st;
	n->room = iso_room_of(NULL, "norm");
	n->n = p->scanner->n;
	n->relative = p->relative;
	memcpy(n->scanner, p->scanner->name, sizeof n->scanner);
	norm_sample(n->sample, p->scanner);
	ISO_HOST(&n->room, n->eps, n->n);
	ISO_HOST(&n->room, n->sd, n->n);
	ISO_HOST(&n->room, n->t, n->classes.n_t);
	ISO_HOST(&n->room, n->z, n->classes.n_z);
	ISO_HOST(&n->room, n->t_sd, n->classes.n_t);
	ISO_HOST(&n->room, n->z_sd, n->classes.n_z);
	ISO_HOST(&n->room, n->dead, n->n);
	ISO_HOST(&n->room, n->weak, n->n);
	ISO_HOST(&n->room, n->values, n->n);
	return n->room.status;
}

/* What is said of the place comes before a failure of the fit. */
static int check_places(const struct task *t, int st)
{
	int of_place = ISO_OK;

	for (int i = 0; i < t->p.scans && (!st || st == ISO_EINPUT) && !of_place; i++)
		if (!t->q[i].scatter) of_place = norm_missed_check(&t->q[i].missed);
	/* nothing to go on from */
	if (of_place && t->p.checkpoint && iso_rank(t->fit.ctx) == 0) remove(t->p.checkpoint);
	return of_place ? of_place : st;
}

static double sure(const double mm[2], const double sd[2])
{
	return fmax(sd[0] > 0 ? fabs(mm[0]) / sd[0] : 0, sd[1] > 0 ? fabs(mm[1]) / sd[1] : 0);
}

/* Of the scan whose source is off the most, in errors. */
static int look_at_places(struct iso_norm_found *found, const struct task *t)
{
	double mm[2], sd[2];
	int st = ISO_OK;

	for (int i = 0; i < t->p.scans && t->p.place_given && !st; i++) {
		if ((st = norm_place_look(mm, sd, &t->fit, i)) ||
		    (i > 0 && sure(mm, sd) <= sure(found->off_mm, found->off_sd)))
			continue;
		memcpy(found->off_mm, mm, sizeof mm);
		memcpy(found->off_sd, sd, sizeof sd);
		found->off_scan = i;
	}
	return st;
}

static void free_task(struct task *t)
{
	for (int i = 0; i < t->p.scans && t->q; i++) norm_q_free(t->q + i);
	norm_sums_free(&t->fit);
	norm_saved_free(t->fit.state);
	norm_rows_free(&t->rows);
	iso_room_free(&t->room);
}

static int run(iso_norm *n, struct task *t, iso_ctx *ctx)
{
	int st = norm_prepare(n, &t->p);

	if (st || (st = make_task(t, n, ctx)) ||
	    (st = check_places(t, fit_or_resume(t, &n->found.resumed_from))) || (st = errors(n, t)) ||
	    (st = look_at_places(&n->found, t)))
		return st;
	tell(n, t);
	if ((st = norm_report(&n->found, &t->fit))) return st;
	if (n->relative) make_relative(n);
	for (int64_t a = 0; a < n->n; a++) {
		n->dead[a] = !(n->eps[a] > 0);
		n->values[a] = (iso_real)n->eps[a];
		if (!isfinite(n->eps[a]))
			return iso_fail(ISO_EINPUT, "norm: efficiency of crystal %" PRId64 " is not finite",
			                a);
	}
	return ISO_OK;
}

int iso_norm_make(iso_norm **norm, struct iso_norm_found *found, iso_ctx *ctx, const struct iso_norm_fit *p)
{
	struct task t = { .room = iso_room_of(NULL, "norm") };
	iso_norm *n;
	int st;

	if (!norm || !ctx || !p) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&t.p, "iso_norm_fit", sizeof t.p, p)) || (st = check(&t.p))) return st;
	if (!(n = calloc(1, sizeof *n))) return iso_fail_memory("norm", sizeof *n);
	if (!(st = run(n, &t, ctx)) && found)
		st = iso_sized_put(found, "iso_norm_found", sizeof *found, &n->found);
	if (st == ISO_ECANCEL && t.fit.state) st = norm_saved_stop(t.fit.state);
	free_task(&t);
	if (st)
		iso_norm_free(n);
	else
		*norm = n;
	return st;
}

void iso_norm_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_norm_fit *p)
{
	struct norm_rows rows = { 0 };

	if (!plan || !p || !p->scanner || norm_rows_create_share(&rows, p->scanner, p->pair_share)) return;
	const int64_t pairs = rows.first[rows.n], tables = !p->place_given ? 6 : p->scans > 1 ? 2 : 1;

	if (!p->no_tables)
		iso_plan_add(plan, "expected counts of pairs, and how they change with the place",
		             pairs * tables * p->scans, sizeof(float), false);
	if (p->scan && p->scan->scatter)
		iso_plan_add(plan, "scatter of pairs", pairs * p->scans, sizeof(float), false);
	if (p->place_given)
		iso_plan_add(plan, "pairs that tell where the source is",
		             pairs < NORM_LOOK_PAIRS ? pairs : NORM_LOOK_PAIRS, 4 * sizeof(float), false);
	if (p->no_tables) {
		iso_plan_add(plan, "counts of pairs, and which the source meets", 2 * pairs, 1, false);
		iso_plan_add(plan, "rows of pairs", 3 * 64 * norm_rows_longest(&rows), 3 * sizeof(float),
		             false);
	} else {
		iso_plan_add(plan, "counts of pairs", pairs * (p->scans + 2), sizeof(float), false);
	}
	iso_plan_add(plan, "factors and sums", 64 * (rows.n + 2), sizeof(double), false);
	if (iso_ctx_is_cuda(ctx))
		iso_plan_add(plan, "expected counts of pairs on the device", p->scans,
		             norm_device_bytes(&rows, p->place_given ? 0 : 4), true);
	if (rows.n <= 4096)
		iso_plan_add(plan, "errors, by the inverse of a matrix", rows.n * rows.n, sizeof(double),
		             false);
	norm_rows_free(&rows);
}

/* ---- a norm ---- */

void iso_norm_free(iso_norm *n)
{
	if (!n) return;
	norm_classes_free(&n->classes);
	iso_room_free(&n->room);
	free(n);
}

int64_t iso_norm_crystals(const iso_norm *n)
{
	return n ? n->n : 0;
}

const double *iso_norm_efficiency(const iso_norm *n)
{
	return n ? n->eps : NULL;
}

const double *iso_norm_sd(const iso_norm *n)
{
	return n ? n->sd : NULL;
}

int64_t iso_norm_transaxial(const double **factor, const int64_t **key, const iso_norm *n)
{
	if (!n || !n->classes.transaxial) return 0;
	if (factor) *factor = n->t;
	if (key) *key = n->classes.t_key;
	return n->classes.n_t;
}

int64_t iso_norm_axial(const double **factor, const int64_t **key, const iso_norm *n)
{
	if (!n || !n->classes.axial) return 0;
	if (factor) *factor = n->z;
	if (key) *key = n->classes.z_key;
	return n->classes.n_z;
}

static double factor_of(const void *norm, int64_t a, int64_t b)
{
	const iso_norm *n = norm;

	return n->t[*norm_classes_t(&n->classes, a, b)] * n->z[norm_classes_z(&n->classes, a, b)];
}

static double most_of(const double *v, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++) most = fmax(most, v[i]);
	return n > 0 ? most : 1;
}

struct iso_pair_factors iso_norm_factors(const iso_norm *n)
{
	struct iso_pair_factors f = { 0 };

	if (!n) return f;
	f = (struct iso_pair_factors){ .size = sizeof f, .crystal = n->eps, .most = 1 };
	if (!n->classes.transaxial && !n->classes.axial) return f;
	f.factor = factor_of;
	f.arg = n;
	f.most = most_of(n->t, n->classes.transaxial ? n->classes.n_t : 0) *
	         most_of(n->z, n->classes.axial ? n->classes.n_z : 0);
	return f;
}

double iso_norm_pair(const iso_norm *n, int64_t a, int64_t b)
{
	if (!n || a < 0 || b < 0 || a >= n->n || b >= n->n) return 0;
	return n->eps[a] * n->eps[b] * factor_of(n, a, b);
}

static int pair_tables(struct iso_efficiencies *e, const iso_norm *n)
{
	const struct norm_classes *c = &n->classes;
	float *t = size_alloc(c->block * c->per_ring, sizeof *t),
	      *z = size_alloc(c->rings * c->rings, sizeof *z);

	e->t = t;
	e->z = z;
	if (!t || !z) return iso_fail_memory("norm", (c->block * c->per_ring + c->rings * c->rings) * 4);
	e->per_ring = c->per_ring;
	e->block = c->block;
	e->rings = c->rings;
	for (int64_t i = 0; i < c->block * c->per_ring; i++) {
		const int64_t at = i / c->per_ring * 2 * c->per_ring + i % c->per_ring;

		t[i] = c->transaxial ? (float)n->t[c->t_of[at]] : 1;
	}
	for (int64_t i = 0; i < c->rings * c->rings; i++) z[i] = c->axial ? (float)n->z[c->z_of[i]] : 1;
	float most[2] = { 0, 0 };

	for (int64_t i = 0; i < c->block * c->per_ring; i++) most[0] = t[i] > most[0] ? t[i] : most[0];
	for (int64_t i = 0; i < c->rings * c->rings; i++) most[1] = z[i] > most[1] ? z[i] : most[1];
	e->most = (double)most[0] * (double)most[1];
	return ISO_OK;
}

int iso_norm_to_scanner(iso_real *eff, iso_scanner *s, const iso_norm *n)
{
	struct iso_efficiencies *e = NULL;
	int st = ISO_OK;

	memcpy(eff, n->values, (size_t)n->n * sizeof *eff);
	if (n->classes.transaxial || n->classes.axial) {
		if (!(e = calloc(1, sizeof *e))) return iso_fail_memory("norm", sizeof *e);
		e->scale = 1;
		if ((st = pair_tables(e, n))) {
			iso_efficiencies_free(e);
			return st;
		}
	}
	iso_efficiencies_free(s->efficiencies);
	s->efficiencies = e;
	return ISO_OK;
}
