/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the spheres of a NEMA phantom are in an image: the phantom as a whole is moved and turned about z. */
#include "core/sized.h"
#include "places.h"

#include <math.h>

enum { AXES = 4, FEW = 4, MANY = 7 }; /* x, y, z, turn; points along the diameter of a sphere */
#define MOST 10                       /* mm, degrees */
#define COARSE 2                      /* steps of the first look, then of the last */
#define FINE .5

struct match {
	const struct iso_array *x;
	const struct iso_nema *q;
	double middle[2]; /* about which the phantom turns */
	int side;         /* points along the diameter of a sphere */
};

/* A place of the description where the phantom has moved. */
static void place(double to[2], const struct match *m, const double moved[AXES], const double from[2])
{
	const double c = cos(moved[3] * M_PI / 180), s = sin(moved[3] * M_PI / 180);
	const double x = from[0] - m->middle[0], y = from[1] - m->middle[1];

	to[0] = m->middle[0] + c * x - s * y + moved[0];
	to[1] = m->middle[1] + s * x + c * y + moved[1];
}

/* Linear between voxels; 0 outside of the image. */
static double value(const struct iso_array *x, const double p[3])
{
	const struct iso_grid *g = &x->grid;
	double sum = 0, share[3];
	int64_t first[3];

	for (int a = 0; a < 3; a++) {
		const double at = iso_measure_index(g, a, p[a]);

		first[a] = (int64_t)floor(at);
		share[a] = at - floor(at);
	}
	for (int k = 0; k < 8; k++) {
		double w = 1;
		int64_t i = 0;

		for (int a = 2; a >= 0; a--) {
			const int64_t at = first[a] + (k >> a & 1);

			w *= at < 0 || at >= g->n[a] ? 0 : k >> a & 1 ? share[a] : 1 - share[a];
			i = i * g->n[a] + at;
		}
		if (w > 0) sum += w * (double)x->v[i];
	}
	return sum;
}

/* Mean over a ball. */
static double ball(const struct iso_array *x, const double centre[3], double diameter, int side)
{
	double sum = 0;
	int n = 0;

	for (int i = 0; i < side * side * side; i++) {
		const int at[3] = { i % side, i / side % side, i / side / side };
		double p[3], r = 0;

		for (int a = 0; a < 3; a++) {
			const double d = (at[a] + .5) / side - .5;

			p[a] = centre[a] + diameter * d;
			r += d * d;
		}
		if (r > .25) continue;
		sum += value(x, p);
		n++;
	}
	return sum / n;
}

/* Sum over spheres of their contrast, on a scale of its own: those brighter than the background count up, others down. */
static double contrast(const struct match *m, const double moved[AXES])
{
	double sum = 0;

	for (int i = 0; i < m->q->n_spheres; i++) {
		const struct iso_nema_sphere *s = m->q->sphere + i;
		double centre[3];

		place(centre, m, moved, s->centre);
		centre[2] = s->centre[2] + moved[2];
		sum += ball(m->x, centre, s->diameter, m->side) / (s->ratio - 1);
	}
	return sum;
}

static void try_at(double best[AXES], double *most, const struct match *m, const double at[AXES])
{
	const double now = contrast(m, at);

	if (!(now > *most)) return;
	*most = now;
	for (int a = 0; a < AXES; a++) best[a] = at[a];
}

/* Every place of a lattice. */
static void look_around(double best[AXES], const struct match *m)
{
	const int side = 2 * MOST / COARSE + 1;
	double most = -HUGE_VAL;

	for (int i = 0; i < side * side * side * side; i++) {
		double at[AXES];

		for (int a = 0, k = i; a < AXES; a++, k /= side) at[a] = k % side * COARSE - MOST;
		try_at(best, &most, m, at);
	}
}

/* Steps to the best neighbour, until none is better. */
static void climb(double best[AXES], double most, const struct match *m, double step)
{
	double before;

	do {
		double from[AXES];

		before = most;
		for (int a = 0; a < AXES; a++) from[a] = best[a];
		for (int i = 0; i < 81; i++) {
			double at[AXES];

			for (int a = 0, k = i; a < AXES; a++, k /= 3)
				at[a] = fmax(-MOST, fmin(MOST, from[a] + (k % 3 - 1) * step));
			try_at(best, &most, m, at);
		}
	} while (most > before);
}

static void move_all(struct iso_nema *q, const struct match *m, const double moved[AXES])
{
	double to[2];

	for (int i = 0; i < q->n_spheres; i++) {
		place(to, m, moved, q->sphere[i].centre);
		q->sphere[i].centre[0] = to[0];
		q->sphere[i].centre[1] = to[1];
		q->sphere[i].centre[2] += moved[2];
	}
	for (int i = 0; i < q->n_background; i++) {
		place(to, m, moved, q->background[i]);
		q->background[i][0] = to[0];
		q->background[i][1] = to[1];
	}
	for (int i = 0; i < q->n_slices; i++) q->slice[i] += moved[2];
	if (q->has_lung) {
		place(to, m, moved, q->lung);
		q->lung[0] = to[0];
		q->lung[1] = to[1];
	}
	q->find = false;
}

static int find(struct iso_nema *q, double best[AXES], const struct iso_array *x)
{
	const struct iso_nema from = *q;
	struct match m = { .x = x, .q = &from, .side = FEW };

	for (int i = 0; i < q->n_spheres; i++)
		for (int a = 0; a < 2; a++) m.middle[a] += q->sphere[i].centre[a] / q->n_spheres;
	look_around(best, &m);
	m.side = MANY;
	climb(best, contrast(&m, best), &m, COARSE / 2);
	climb(best, contrast(&m, best), &m, FINE);
	for (int a = 0; a < AXES; a++)
		if (fabs(best[a]) >= MOST)
			return iso_fail(
				ISO_EINPUT,
				"nema: the spheres are not found within %d mm and %d degrees of their "
				"places: the best match is at (%g, %g, %g) mm, turned by %g degrees",
				MOST, MOST, best[0], best[1], best[2], best[3]);
	move_all(q, &m, best);
	return ISO_OK;
}

int iso_nema_find(struct iso_nema *n, double moved[4], const struct iso_array *x)
{
	if (!n || !moved || !x) return iso_fail_null(__func__);
	struct iso_nema q;
	double best[AXES] = { 0 };
	int st = iso_sized_take(&q, "iso_nema", sizeof q, n);

	if (st || (st = iso_measure_check(x, "nema"))) return st;
	if (q.n_spheres < 1 || q.n_spheres > 16)
		return iso_fail(ISO_EARG, "nema: %d spheres, must be 1 to 16", q.n_spheres);
	if (q.find && (st = find(&q, best, x))) return st;
	for (int a = 0; a < AXES; a++) moved[a] = best[a];
	return iso_sized_put(n, "iso_nema", sizeof q, &q);
}
