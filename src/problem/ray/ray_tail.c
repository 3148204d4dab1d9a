/* SPDX-License-Identifier: BSD-3-Clause */
/* The scale of the scatter from lines that miss the object: what is counted there is scatter and randoms alone. With
   prompts of mean k s + r on such lines, s the scatter by the table and r the randoms, the likelihood is greatest where

     sum over lines of s = sum over events of s / (k s + r) = sum over events of 1 / (k + q),   q = r / s.

   So of an event its q alone counts, and events are counted in fine steps of q: whole numbers, which add up alike for any
   number of ranks, in memory or block by block. */
#include "model_ray.h"

#include "core/size.h"
#include "ray_sum.h"
#include "scanner/scanner.h"

#define MISSES .02       /* -ln alpha of a line that misses the object, at most */
#define MARGIN_VOXELS 2  /* of the map around the object, besides a crystal */
#define LEAST_COUNTS 1e3 /* in the tails, less randoms */
#define MOST_ERROR .1    /* of k */
enum {
	STEPS = 1000,               /* of q in a factor of ten: to 0.1 %, and k to less */
	DECADES = 16,               /* q from 1e-8 to 1e8 */
	BINS = STEPS * DECADES + 1, /* bin 0: q below all of that */
	NEWTON = 60,
};

struct tail {
	struct iso_array map;     /* 1 where there is matter, or near to it */
	struct ray_sum bin[BINS]; /* counts by q */
	struct ray_sum sum[2];    /* of lines that list all: s, r */
	double by;                /* the table's scale while s is looked up */
};

/* ---- lines that miss the object ---- */

/* Along one axis, voxels of `from` up to `reach` away. */
static void widen(iso_real *to, const iso_real *from, const struct iso_grid *g, int axis, int64_t reach)
{
	int64_t stride = axis == 0 ? 1 : axis == 1 ? g->n[0] : g->n[0] * g->n[1], n = iso_grid_voxels(g);

	for (int64_t i = 0; i < n; i++) {
		int64_t at = i / stride % g->n[axis], low = at < reach ? -at : -reach;
		int64_t high = g->n[axis] - 1 - at < reach ? g->n[axis] - 1 - at : reach;
		iso_real most = 0;

		for (int64_t d = low; d <= high; d++)
			most = from[i + d * stride] > most ? from[i + d * stride] : most;
		to[i] = most;
	}
}

/* The map with `more` empty voxels on both sides of each axis. */
static int pad(struct iso_array *to, const struct iso_array *mu, const int64_t more[3])
{
	struct iso_grid g = mu->grid;
	int st;

	for (int k = 0; k < 3; k++) g.n[k] += 2 * more[k];
	if ((st = iso_array_on_grid(to, &g))) return st;
	for (int64_t row = 0; row < mu->grid.n[1] * mu->grid.n[2]; row++) {
		int64_t y = row % mu->grid.n[1] + more[1], z = row / mu->grid.n[1] + more[2];

		memcpy(to->v + (z * g.n[1] + y) * g.n[0] + more[0], mu->v + row * mu->grid.n[0],
		       (size_t)mu->grid.n[0] * sizeof *mu->v);
	}
	return ISO_OK;
}

/* The map, every voxel as large as the greatest one around it, also where that lies beyond the map's own edge: an object
   may fill its map. */
static int dilate(struct iso_array *to, struct ray_problem *ray)
{
	const struct iso_array *mu = &ray->mu_map;
	const double *size = iso_scanner_crystal_mm(ray->s);
	double crystal = size ? fmax(size[0], size[1]) : 0;
	struct iso_array a = { 0 }, b = { 0 };
	int64_t reach[3];
	int st;

	for (int k = 0; k < 3; k++) reach[k] = (int64_t)ceil(crystal / mu->grid.voxel[k]) + MARGIN_VOXELS;
	if (!(st = pad(&a, mu, reach))) st = iso_array_on_grid(&b, &a.grid);
	for (int k = 0; k < 3 && !st; k++)
		widen(k == 1 ? a.v : b.v, k == 1 ? b.v : a.v, &a.grid, k, reach[k]);
	iso_array_free(&a);
	if (st)
		iso_array_free(&b);
	else
		*to = b;
	return st;
}

/* How much of its attenuation by the wide map each line keeps: above exp(-MISSES) it misses the object. */
static int lines_beside(iso_real **alpha, struct tail *t, struct ray_problem *ray, const struct iso_events *e)
{
	int st = model_vector(alpha, e->n, "tails");

	if (!st) st = iso_ray_attenuation(*alpha, ray->p->ctx, &t->map, e);
	return st || !ray_motion_attenuates(ray) ? st : ray_motion_attenuate(ray, *alpha, e);
}

static bool misses(iso_real alpha)
{
	return alpha > exp(-MISSES);
}

/* ---- events ---- */

static int bin_of(double q)
{
	double at = (log10(q) + .5 * DECADES) * STEPS + 1;

	return !(at >= 1) ? 0 : at >= BINS ? BINS - 1 : (int)at;
}

static double q_of(int bin)
{
	return bin == 0 ? 0 : pow(10, ((double)bin - .5) / STEPS - .5 * DECADES);
}

static int count_block(void *arg, struct ray_problem *ray, const struct ray_some *some)
{
	struct tail *t = arg;
	iso_real *alpha = NULL, *s = NULL;
	int st = lines_beside(&alpha, t, ray, &some->e);

	if (!st) st = model_vector(&s, some->e.n, "tails");
	if (!st) st = ray_scatter_add(ray, &some->e, some->mult, s);
	for (int64_t j = 0; j < some->e.n && !st; j++) {
		if (!(s[j] > 0) || !misses(alpha[j]) || iso_event_bad(some->e.v + j)) continue;
		ray_sum_add(&t->bin[bin_of(some->add[j] / s[j])], some->count ? some->count[j] : 1);
		ray_sum_add(&t->sum[0], s[j]);
		ray_sum_add(&t->sum[1], some->add[j]);
	}
	free(alpha);
	free(s);
	return st;
}

/* sum[0]: of s over the scanner's lines beside the object, in all its poses; sum[1]: of r. */
static int sum_pairs(double sum[2], struct tail *t, struct ray_problem *ray, const struct ray_pairs *p)
{
	iso_real *alpha = NULL, *s = NULL;
	int st = model_vector(&alpha, p->e.n, "tails");

	if (!st) st = model_vector(&s, p->e.n, "tails");
	for (int64_t c = 0; c < ray->scatter.poses && !st; c++) {
		double times = p->times * ray->scatter.pose[c].weight;

		if ((st = ray_pairs_attenuation(alpha, p, ray, &t->map, c))) break;
		if ((st = ray_pairs_scatter_of(s, p, ray, c))) break;
		for (int64_t i = 0; i < p->e.n; i++) {
			if (!misses(alpha[i])) continue;
			sum[0] += (double)s[i] * t->by * times;
			sum[1] += p->randoms ? p->randoms[i] * times : 0;
		}
	}
	free(alpha);
	free(s);
	return st;
}

/* ---- k ---- */

/* sum over events of (k + q)^-power. */
static double sum_events(const struct tail *t, double k, int power)
{
	double sum = 0;

	for (int i = 0; i < BINS; i++) {
		double counts = ray_sum_value(&t->bin[i]);

		if (counts > 0) sum += counts / (power == 1 ? k + q_of(i) : pow(k + q_of(i), 2));
	}
	return sum;
}

/* Newton from 1 in log k, where the steps of a convex function are never too long; k = 0 where nothing is left for it. */
static void solve(struct ray_tail *to, const struct tail *t, double expected)
{
	double k = 1;

	for (int i = 0; i < NEWTON && k > 1e-9; i++) {
		double slope = k * sum_events(t, k, 2), step = (sum_events(t, k, 1) - expected) / slope;

		step = step > 1 ? 1 : step < -1 ? -1 : step;
		k *= exp(step);
		if (fabs(step) < 1e-12) break;
	}
	*to = (struct ray_tail){ .k = k > 1e-9 ? k : 0, .error = 1 / sqrt(sum_events(t, k, 2)) };
	for (int i = 0; i < BINS; i++) to->counts += ray_sum_value(&t->bin[i]);
}

int ray_tail_fit(struct ray_tail *to, struct ray_problem *ray, const struct ray_pairs *pairs)
{
	struct tail *t = size_alloc(1, sizeof *t);
	double sum[2] = { 0 }, scale = ray->frame.factor / ray->frame.units;
	int st;

	if (!t) return iso_fail_memory("tails", sizeof *t);
	memset(t, 0, sizeof *t);
	t->by = scale;
	ray->scatter.by = 1 / ray->frame.units;
	if (!(st = dilate(&t->map, ray))) st = ray_each(ray, count_block, t);
	if (!st) st = ray_sum_ranks(t->bin, BINS, ray->p->ctx, ISO_OK);
	if (!st) st = ray_sum_ranks(t->sum, 2, ray->p->ctx, ISO_OK);
	if (!st && ray->e.lists_all)
		for (int i = 0; i < 2; i++) sum[i] = ray_sum_value(&t->sum[i]);
	else if (!st)
		st = sum_pairs(sum, t, ray, pairs);
	if (!st && !(sum[0] > 0))
		st = iso_fail(ISO_EINPUT,
		              "'scatter-scale' fit: the object fills all lines of %s, none is beside it",
		              iso_scanner_name(ray->s));
	if (!st) solve(to, t, sum[0]);
	if (!st) to->scattered = to->counts > 0 ? fmin(1, to->k * sum[0] / to->counts) : 0;
	if (!st)
		to->known =
			to->counts - sum[1] >= LEAST_COUNTS && to->error <= MOST_ERROR * fmax(to->k, 1e-9);
	iso_array_free(&t->map);
	free(t);
	return st;
}
