/* SPDX-License-Identifier: BSD-3-Clause */
/* Chords of rays, four slices at a time, against those of ray_slice, one at a time: the same pieces and the
   same bits. Also built in double. */
#include "test.h"

#include "model/ray/ray_cut.h"

#define RAYS 3000

static const struct iso_grid grids[] = {
	{ { 128, 128, 128 }, { 4, 4, 4 }, { 0 } },  { { 7, 5, 3 }, { 4, 5, 6 }, { 1, -2, 3 } },
	{ { 1, 1, 1 }, { 10, 10, 10 }, { 0 } },     { { 2, 90, 41 }, { 3, 1, 2 }, { 40, 0, -7 } },
	{ { 700, 700, 50 }, { .5, .5, 2 }, { 0 } }, /* more than 2^24 voxels */
};

/* ---- rays ---- */

static double uniform(unsigned *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed / 4294967296.;
}

/* A point in and around the grid; `step` > 0: on a lattice of so many to a voxel. */
static void set_point(double p[3], const struct iso_grid *g, unsigned *seed, double step)
{
	for (int a = 0; a < 3; a++) {
		double at = (2 * uniform(seed) - 1) * (double)g->n[a] * .8;

		if (step > 0) at = floor(at * step) / step + .5 * (double)(g->n[a] % 2);
		p[a] = g->centre[a] + at * g->voxel[a];
	}
}

/* Rays at random; in faces and through edges; along an axis; on diagonals of voxels. */
static struct ray make_ray(const struct ray_grid *r, const struct iso_grid *g, const struct ray_tof *tof,
                           int i)
{
	unsigned seed = (unsigned)i * 2654435761u;
	double p[3], q[3];

	set_point(p, g, &seed, i % 4 > 0 ? 2 : 0);
	set_point(q, g, &seed, i % 4 > 0 ? 2 : 0);
	for (int a = 0; a < 3; a++) {
		if (i % 4 == 2 && a != i % 3) q[a] = p[a];
		if (i % 4 == 3) q[a] = p[a] + (double)g->n[0] * g->voxel[a] * ((i >> (2 + a)) % 3 - 1);
	}
	return ray_setup(r, p, q, tof, 300 * (uniform(&seed) - .5));
}

/* ---- pieces ---- */

struct list {
	int n;
	struct ray_piece v[3000];
};

static int by_voxel(const void *a, const void *b)
{
	const struct ray_piece *p = a, *q = b;

	return p->voxel != q->voxel ? (p->voxel > q->voxel) - (p->voxel < q->voxel)
	                            : (p->w > q->w) - (p->w < q->w);
}

static void add(struct list *l, int voxel, iso_real w)
{
	if (w == 0) return;
	assert_true(l->n < N_OF(l->v));
	l->v[l->n++] = (struct ray_piece){ voxel, w };
}

static void cut_one_by_one(struct list *l, const struct ray *r, const struct ray_tof *tof)
{
	l->n = 0;
	for (int k = r->k0; k < r->k1; k++) {
		struct ray_piece piece[3];

		ray_slice(piece, r, tof, k);
		for (int i = 0; i < 3; i++) add(l, piece[i].voxel, piece[i].w);
	}
	qsort(l->v, (size_t)l->n, sizeof *l->v, by_voxel);
}

/* The memory is not 0 before, nor of another ray. */
static void cut_by_fours(struct list *l, const struct ray *r, const struct ray_tof *tof,
                         const struct ray_grid *g)
{
	int slices = 1;

	for (int a = 0; a < 3; a++) slices = g->n[a] > slices ? g->n[a] : slices;
	int64_t room = iso_ray_cut_room(slices), bytes = iso_ray_cuts_bytes(slices);
	char *memory = malloc((size_t)bytes);
	iso_real *w = malloc((size_t)room * sizeof *w);
	int *voxel = malloc((size_t)room * sizeof *voxel);

	assert_true(memory && w && voxel);
	memset(memory, 0x3f, (size_t)bytes);
	struct ray_cuts c = iso_ray_cuts(memory, slices);
	int n = iso_ray_cut(voxel, w, &c, r, tof);

	assert_true(n <= room);
	l->n = 0;
	for (int i = 0; i < n; i++) {
		assert_in_range(voxel[i], 0, ray_voxels(g) - 1);
		add(l, voxel[i], w[i]);
	}
	qsort(l->v, (size_t)l->n, sizeof *l->v, by_voxel);
	free(memory);
	free(w);
	free(voxel);
}

/* ---- tests ---- */

static struct list one, four;

static void compare_pieces(void)
{
	assert_int_equal(four.n, one.n);
	for (int k = 0; k < one.n; k++) {
		assert_int_equal(four.v[k].voxel, one.v[k].voxel);
		assert_true(four.v[k].w == one.v[k].w);
	}
}

/* Weights of a voxel, from piece *k on, added up. */
static double weight_of(const struct list *l, int *k, int voxel)
{
	double w = 0;

	for (; *k < l->n && l->v[*k].voxel == voxel; (*k)++) w += l->v[*k].w;
	return w;
}

static void compare_voxels(double off)
{
	for (int i = 0, k = 0; i < four.n || k < one.n;) {
		int voxel = i < four.n && (k >= one.n || four.v[i].voxel < one.v[k].voxel) ? four.v[i].voxel
		                                                                           : one.v[k].voxel;

		NEAR(weight_of(&four, &i, voxel), weight_of(&one, &k, voxel), off);
	}
}

/* off: how far the weight of a voxel may be; 0: the same pieces, to the bit. */
static void compare(double fwhm_ps, double truncate, double bin_ps, double off)
{
	int met = 0;

	for (int i = 0; i < N_OF(grids) * sized(RAYS, RAYS / 10); i++) {
		struct iso_ray p = { .size = sizeof p,
			             .grid = grids[i % N_OF(grids)],
			             .n_sub = 1,
			             .tof_fwhm_ps = fwhm_ps,
			             .tof_truncate = truncate,
			             .tof_bin_ps = bin_ps };
		struct ray_model m = { .n = 1 };

		OK(iso_ray_model(&m, &p, 1));
		struct ray r = make_ray(&m.grid, &p.grid, &m.tof, i);

		if (r.k0 >= r.k1) continue;
		met++;
		cut_one_by_one(&one, &r, &m.tof);
		cut_by_fours(&four, &r, &m.tof, &m.grid);
		if (off > 0)
			compare_voxels(off);
		else
			compare_pieces();
	}
	assert_true(met > sized(RAYS, RAYS / 10));
}

static void lengths(void **state)
{
	(void)state;
	compare(0, 0, 0, 0);
}

/* Those cut at 3 sigma have a polynomial of their own. */
static void times(void **state)
{
	(void)state;
	compare(400, 3.5, 0, 0);
	compare(60, 0, 0, 0);
	compare(400, 3, 0, 1e-6);
}

static void bins(void **state)
{
	(void)state;
	compare(400, 3, 100, 0);
}

/* The same against erf itself: the sum over a ray whose window is inside the grid is 1. */
static void whole_window(void **state)
{
	const struct iso_grid *g = &grids[0];
	struct iso_ray p = {
		.size = sizeof p, .grid = *g, .n_sub = 1, .tof_fwhm_ps = 390, .tof_truncate = 3
	};
	struct ray_model m = { .n = 1 };

	(void)state;
	OK(iso_ray_model(&m, &p, 1));
	for (int i = 0; i < 200; i++) {
		double a = .1 * i, p1[3] = { 500 * cos(a), 500 * sin(a), i % 40 },
		       p2[3] = { -p1[0], -p1[1], -p1[2] };
		double c = .05 * i, sum = 0;
		struct ray r = ray_setup(&m.grid, p1, p2, &m.tof, 10 * c);

		cut_by_fours(&four, &r, &m.tof, &m.grid);
		for (int k = 0; k < four.n; k++) sum += four.v[k].w;
		NEAR(sum, 1, TOLERANCE(1e-6, 1e-12));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),
		cmocka_unit_test(times),
		cmocka_unit_test(bins),
		cmocka_unit_test(whole_window),
	};

	return cmocka_run_group_tests_name("ray cut", tests, NULL, NULL);
}
