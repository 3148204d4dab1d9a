/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of model ray against their scanner, against the image, and against the time resolution. */
#include "check.h"

#include "base/constants.h"
#include "problem/ray/model_ray.h"
#include "scanner/scanner.h"

#include <stdlib.h>

#define FAR_MM 30   /* ends farther than this from every crystal are of another scanner */
#define FAR_MOST .5 /* share of the ends that may be so far */
#define APART 2     /* distance from the axis of one end over that of the other, at most */
#define WIDE 4      /* width of the image over that of the events, at most */
#define BEYOND .05  /* share of events from behind their own ends, where no randoms are known */
#define BEYOND_MOST .8
#define STILL .2 /* of sigma, the least median of |dt|: a Gaussian has 0.67 */

/* ---- some events ---- */

/* Event j of this rank as integers, which ranks can add. */
static void put(int64_t *to, const struct ray_problem *ray, int64_t j)
{
	struct iso_event e = ray->e.v[j];
	uint32_t bits[7];
	double p1[3], p2[3];

	if (ray->motion.moved) {
		ray_motion_crystals(p1, p2, ray, &ray->e, j);
		for (int a = 0; a < 3; a++) {
			e.p1[a] = (float)p1[a];
			e.p2[a] = (float)p2[a];
		}
	}
	memcpy(bits, &e, sizeof bits);
	for (int k = 0; k < 7; k++) to[k] = bits[k];
	for (int end = 0; end < 2; end++) to[7 + end] = ray->e.crystal ? ray->e.crystal[2 * j + end] + 1 : 0;
}

static void take(struct some_events *some, const int64_t *from)
{
	uint32_t bits[7];

	for (int k = 0; k < 7; k++) bits[k] = (uint32_t)from[k];
	memcpy(some->v + some->n, bits, sizeof bits);
	if (iso_event_bad(some->v + some->n)) return;
	for (int end = 0; end < 2; end++) some->crystal[2 * some->n + end] = (int32_t)from[7 + end] - 1;
	some->n++;
}

int check_some_events(struct some_events *some, struct ray_problem *ray)
{
	enum { WORDS = 9 };
	int64_t all = ray->dealt ? ray->n : ray->e.n, n = all < CHECK_EVENTS ? all : CHECK_EVENTS;
	int64_t *word = calloc((size_t)(CHECK_EVENTS * WORDS), sizeof *word);
	int st = word ? ISO_OK : iso_fail_memory("events to look at", CHECK_EVENTS * WORDS * 8);

	some->n = 0;
	for (int64_t i = 0; i < n && word; i++) {
		int64_t number = i * (all / n), j = ray->dealt ? iso_deal_place(&ray->deal, number) : number;

		if (j >= 0) put(word + WORDS * i, ray, j);
	}
	if (ray->dealt) st = iso_comm_sum(ray->p->ctx, st, word, CHECK_EVENTS * WORDS);
	for (int64_t i = 0; i < n && !st; i++) take(some, word + WORDS * i);
	free(word);
	return st;
}

/* ---- boxes ---- */

bool check_crystals(struct box *b, const iso_scanner *s)
{
	if (!s || s->n == 0 || s->assumed) return false;
	*b = (struct box){ { INFINITY, INFINITY, INFINITY }, { -INFINITY, -INFINITY, -INFINITY } };
	for (int64_t i = 0; i < s->n; i++)
		for (int a = 0; a < 3; a++) {
			b->low[a] = fmin(b->low[a], s->pos[3 * i + a]);
			b->high[a] = fmax(b->high[a], s->pos[3 * i + a]);
		}
	return true;
}

struct box check_box(const struct iso_grid *g)
{
	struct box b;

	for (int a = 0; a < 3; a++) {
		double half = .5 * (double)g->n[a] * g->voxel[a];

		b.low[a] = g->centre[a] - half;
		b.high[a] = g->centre[a] + half;
	}
	return b;
}

/* ---- ends ---- */

/* A guess at the unit that makes a factor of about this size. */
static const char *unit_of(double factor)
{
	static const struct {
		double factor;
		const char *unit;
	} units[] = { { 10, "cm" }, { 25.4, "inches" }, { 1000, "m" }, { 1e-3, "micrometres" } };

	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (fabs(log(factor / units[i].factor)) < log(1.3)) return units[i].unit;
	return NULL;
}

/* Root of the mean square of the distance from a point. */
static double spread_of_ends(const struct some_events *some, const double centre[3])
{
	double sum = 0;

	for (int i = 0; i < some->n; i++)
		for (int a = 0; a < 3; a++) {
			double d1 = some->v[i].p1[a] - centre[a], d2 = some->v[i].p2[a] - centre[a];

			sum += d1 * d1 + d2 * d2;
		}
	return sqrt(sum / (2 * some->n));
}

static double spread_of_crystals(const iso_scanner *s, const double centre[3])
{
	double sum = 0;

	for (int64_t i = 0; i < s->n; i++)
		for (int a = 0; a < 3; a++)
			sum += (s->pos[3 * i + a] - centre[a]) * (s->pos[3 * i + a] - centre[a]);
	return sqrt(sum / (double)s->n);
}

/* Ends far from every crystal: the wrong scanner, or the wrong unit. */
static void compare_ends(struct look *l, const struct ray_problem *ray, const struct some_events *some,
                         const struct box *b)
{
	double centre[3], worst = 0;
	int far = 0, n = 2 * some->n;

	for (int i = 0; i < n; i++) {
		const float *p = i % 2 ? some->v[i / 2].p2 : some->v[i / 2].p1;
		double d = 0;

		iso_scanner_nearest(&d, ray->s, (double[]){ p[0], p[1], p[2] });
		far += d > FAR_MM;
		worst = fmax(worst, d);
	}
	if (!far) return;
	if (far <= FAR_MOST * n) {
		check_doubt(l,
		            "%s: %d of %d ends looked at lie more than %d mm from every crystal of %s, up to "
		            "%.0f mm",
		            ray->events, far, n, FAR_MM, iso_scanner_name(ray->s), worst);
		return;
	}
	for (int a = 0; a < 3; a++) centre[a] = .5 * (b->low[a] + b->high[a]);
	double ends = spread_of_ends(some, centre), crystals = spread_of_crystals(ray->s, centre);
	const char *unit = unit_of(crystals / ends);

	check_refuse(l,
	             "%s: %d of %d ends looked at lie more than %d mm from every crystal of %s: on average "
	             "%.3g mm from its centre, the crystals %.3g mm, %.3g times as far%s%s%s",
	             ray->events, far, n, FAR_MM, iso_scanner_name(ray->s), ends, crystals, crystals / ends,
	             unit ? "; are the ends in " : "", unit ? unit : "", unit ? " (mm are expected)" : "");
}

static double from_axis(const float p[3])
{
	return hypot(p[0], p[1]);
}

/* Where no scanner says how far the ends should lie: one end against the other, both against the image. */
static void compare_ends_alone(struct look *l, const struct ray_problem *ray, const struct some_events *some)
{
	struct box image = check_box(&ray->grid);
	double sum[2] = { 0 }, most = 0, width = 0;

	for (int i = 0; i < some->n; i++) {
		double d1 = from_axis(some->v[i].p1), d2 = from_axis(some->v[i].p2);

		sum[0] += d1;
		sum[1] += d2;
		most = fmax(most, fmax(d1, d2));
	}
	if (fmax(sum[0], sum[1]) > APART * fmin(sum[0], sum[1]))
		check_doubt(l,
		            "%s: the first ends of its events lie %.3g mm from the axis on average, the "
		            "second %.3g mm: are both in mm?",
		            ray->events, sum[0] / some->n, sum[1] / some->n);
	for (int a = 0; a < 2; a++) width = fmax(width, image.high[a] - image.low[a]);
	if (width > WIDE * 2 * most)
		check_refuse(l,
		             "%s: ends lie up to %.3g mm from the axis, the image is %.4g mm wide: are the "
		             "ends in cm or m (mm are expected)",
		             ray->events, most, width);
}

int check_ends(struct look *l)
{
	struct ray_problem *ray = l->p->self;
	struct some_events some;
	struct box b;
	int st = check_some_events(&some, ray);

	if (st || some.n == 0) return st;
	l->looked = true;
	if (check_crystals(&b, ray->s))
		compare_ends(l, ray, &some, &b);
	else
		compare_ends_alone(l, ray, &some);
	return ISO_OK;
}

/* ---- time differences ---- */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double length_of(const struct iso_event *e)
{
	return hypot(hypot(e->p1[0] - e->p2[0], e->p1[1] - e->p2[1]), e->p1[2] - e->p2[2]);
}

/* Times that scatter by less than the resolution are no times in ps: measured ones scatter by at least as much. */
static bool still(double median_ps, double sigma_ps, double bin_ps)
{
	return median_ps < STILL * sigma_ps && bin_ps < sigma_ps;
}

/* The unit in which times would scatter as they should: a power of 1000 above ps. */
static const char *time_unit(double factor)
{
	static const char *const units[] = { "fs", "ps", "ns", "us", "ms", "s" };
	int k = 1 + (int)lround(log10(factor) / 3);

	return units[k < 0 ? 0 : k > 5 ? 5 : k];
}

int check_time_differences(struct look *l)
{
	struct ray_problem *ray = l->p->self;
	double sigma = ray->tof / ISO_FWHM_PER_SIGMA, size[CHECK_EVENTS], typical = 0;
	struct some_events some;
	int beyond = 0, st;

	if (!(ray->tof > 0)) return ISO_OK;
	if ((st = check_some_events(&some, ray)) || some.n == 0) return st;
	l->looked = true;
	for (int i = 0; i < some.n; i++) {
		double most = length_of(some.v + i) / ISO_C_MM_PER_PS;

		size[i] = fabs(some.v[i].dt_ps);
		beyond += size[i] > most + 4 * sigma + ray->bin;
		typical += .3 * most / some.n;
	}
	qsort(size, (size_t)some.n, sizeof *size, by_size);
	double median = size[some.n / 2];

	if (still(median, sigma, ray->bin))
		check_refuse(l,
		             "%s: half of the time differences are below %.3g ps, which a resolution of %.4g "
		             "ps (FWHM) alone makes larger: are they in %s (ps are expected)",
		             ray->events, median, ray->tof,
		             median > 0 ? time_unit(fmax(sigma, .1 * typical) / median) : "s");
	else if (beyond > BEYOND_MOST * some.n)
		check_refuse(
			l,
			"%s: %d of %d time differences looked at, half of them above %.3g ps, are longer "
			"than light takes from one end to the other: are they in %s (ps are expected)",
			ray->events, beyond, some.n, median, time_unit(typical / median));
	else if (beyond > BEYOND * some.n &&
	         !(ray->rate || ray->additive || ray->e.add)) /* else randoms are known */
		check_doubt(l,
		            "%s: %d of %d time differences looked at are longer than light takes from one "
		            "end to the other, by more than 4 sigma: randoms, or another unit than ps",
		            ray->events, beyond, some.n);
	return ISO_OK;
}
