/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter of an object that moves: lines of an estimate made 10 mm away against one made in place, and images of objects
   that lie elsewhere, or turned, against those of objects that do not. */
#include "motion/pose.h"
#include "problem/ray/model_ray.h"
#include "scanner/pairs_kern.h"
#include "scatter_scan.h"

#define SHIFT_MM 10.
#define STEP_U 15. /* mm between two places along a line */
enum {
	ACROSS_HEAD = 24, /* voxels of 8 mm */
	PLACES = 41,      /* along a line */
	DRAWN = 700,      /* lines */
};

/* ---- lines ---- */

/* An ellipsoid of 70 x 86 x 76 mm at `x`, its surface soft to a voxel. */
static void make_head(struct iso_array *a, double x, double value)
{
	const struct iso_grid g = { .n = { ACROSS_HEAD, ACROSS_HEAD, ACROSS_HEAD },
		                    .voxel = { 8, 8, 8 },
		                    .centre = { x } };

	OK(iso_array_on_grid(a, &g));
	for (int64_t i = 0; i < a->n; i++) {
		const int64_t of[3] = { i % g.n[0], i / g.n[0] % g.n[1], i / g.n[0] / g.n[1] };
		const double axis[3] = { 70, 86, 76 };
		double r = 0;

		for (int k = 0; k < 3; k++)
			r += pow(8 * ((double)of[k] - .5 * (double)(g.n[k] - 1)) / axis[k], 2);
		a->v[i] = (iso_real)(value * fmin(1, fmax(0, (1 - sqrt(r)) * 75 / 8 + .5)));
	}
}

static void write_large_ring(void)
{
	FILE *f = fopen("large.yaml", "w");

	assert_non_null(f);
	fputs("kind: cylinder\nname: large ring\nradius_mm: 400\nrings: 16\nring_pitch_mm: 10\n"
	      "crystals_per_ring: 240\ncrystal_mm: [9.5, 9.5, 20]\nmin_crystal_distance: 60\n"
	      "pair_weight: solid-angle\n",
	      f);
	fclose(f);
}

static iso_scatter_table *table_at(const iso_scanner *ring, double x, double beyond_mm)
{
	struct iso_array f = { 0 }, mu = { 0 };
	iso_scatter_table *t = NULL;

	make_head(&f, x, 1);
	make_head(&mu, x, .0096);
	struct iso_scatter p = { .size = sizeof p,
		                 .method = ISO_SCATTER_SSS,
		                 .scanner = ring,
		                 .image = &f,
		                 .mu = &mu,
		                 .tof_fwhm_ps = 390,
		                 .window_kev = { 435, 650 },
		                 .resolution = .11,
		                 .ring_step_mm = 40,
		                 .block_mm = 32,
		                 .beyond_mm = beyond_mm };

	OK(iso_scatter_create(&t, w.ctx, &p));
	iso_array_free(&f);
	iso_array_free(&mu);
	return t;
}

/* PLACES along each of DRAWN lines between crystals. */
static void draw_lines(struct iso_event *e, const iso_scanner *ring)
{
	const double *at = iso_scanner_positions(ring);

	for (int i = 0; i < DRAWN; i++) {
		struct philox d = philox_draw(9, (uint64_t)i, 0);
		int64_t a, b;

		iso_scanner_pair(
			&a, &b, ring,
			(int64_t)(philox_unit_double(d.w[0], d.w[1]) * (double)iso_scanner_pairs(ring)));
		for (int k = 0; k < PLACES; k++) {
			struct iso_event *to = e + i * PLACES + k;

			for (int c = 0; c < 3; c++) {
				to->p1[c] = (float)at[3 * a + c];
				to->p2[c] = (float)at[3 * b + c];
			}
			to->dt_ps = (float)((k - PLACES / 2) * STEP_U / MM_PER_PS);
		}
	}
}

static double solid_angle(const struct iso_event *e)
{
	return pairs_solid_angle((double[]){ e->p1[0], e->p1[1], e->p1[2] },
	                         (double[]){ e->p2[0], e->p2[1], e->p2[2] });
}

/* The sum over a line, and its mean u. */
static void sums_of(double *sum, double *u, const iso_real *v)
{
	*sum = *u = 0;
	for (int k = 0; k < PLACES; k++) {
		*sum += (double)v[k];
		*u += (double)v[k] * (k - PLACES / 2) * STEP_U;
	}
	*u /= fmax(*sum, 1e-300);
}

/* An event that was measured with the object 10 mm across from its cluster's pose; the targets are 1.5 and 6 %, 0.5 mm. */
static void lines_of_a_cluster(void **state)
{
	struct iso_events e = { .n = DRAWN * PLACES, .v = malloc(DRAWN * PLACES * sizeof *e.v) };
	iso_real *own = malloc(sizeof *own * (size_t)e.n), *h = malloc(sizeof *own * (size_t)e.n),
		 *weight = malloc(sizeof *own * (size_t)e.n);
	double most = 0, rms = 0, worst = 0, still = 0, along = 0, n = 0;
	iso_scanner *ring = NULL;
	iso_problem *p = NULL;

	(void)state;
	e.time_ms = calloc((size_t)e.n, sizeof *e.time_ms);
	assert_true(e.v && own && h && weight && e.time_ms);
	write_large_ring();
	OK(iso_scanner_read(&ring, "large.yaml"));
	OK(iso_problem_create(&p, w.ctx, "ray"));
	iso_scatter_table *there = table_at(ring, SHIFT_MM, 0);
	struct ray_scatter_pose pose = { .table = table_at(ring, 0, SHIFT_MM),
		                         .weight = 1,
		                         .z = iso_pose_identity() };
	struct ray_problem ray = { .p = p, .s = ring, .scatter = { .pose = &pose, .poses = 1 } };
	iso_real *crystals = malloc(sizeof *own * (size_t)e.n); /* looked up where the crystals are */

	assert_non_null(crystals);
	draw_lines(e.v, ring);
	OK(iso_scatter_at(own, w.ctx, there, &e, 0));
	OK(iso_scatter_at(crystals, w.ctx, pose.table, &e, 0));
	for (int64_t j = 0; j < e.n; j++) {
		own[j] = (iso_real)((double)own[j] / solid_angle(e.v + j));
		crystals[j] = (iso_real)((double)crystals[j] / solid_angle(e.v + j));
		e.v[j].p1[0] -= (float)SHIFT_MM; /* into the object's axes */
		e.v[j].p2[0] -= (float)SHIFT_MM;
	}
	OK(ray_scatter_moved_at(h, weight, &ray, &e, 0));
	for (int64_t j = 0; j < e.n; j++) h[j] = (iso_real)((double)h[j] / (double)weight[j]);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < DRAWN; i++) {
			double want, got, plain, u, moved_u, x;

			sums_of(&want, &u, own + i * PLACES);
			sums_of(&got, &moved_u, h + i * PLACES);
			sums_of(&plain, &x, crystals + i * PLACES);
			most = fmax(most, want);
			if (pass == 0 || !(want > .1 * most)) continue;
			rms += pow(got / want - 1, 2);
			still += pow(plain / want - 1, 2);
			worst = fmax(worst, fabs(got / want - 1));
			along += pow(moved_u - u, 2);
			n++;
		}
	rms = sqrt(rms / n);
	still = sqrt(still / n);
	along = sqrt(along / n);
	print_message("%.0f lines: %.2f %% rms, %.1f %% at worst, mean u %.2f mm rms; by crystals %.1f %%\n",
	              n, 100 * rms, 100 * worst, along, 100 * still);
	assert_true(n > 100);
	BELOW(rms, .015);
	BELOW(worst, .06);
	BELOW(along, .5);
	assert_true(still > .1);
	iso_scatter_free(there);
	iso_scatter_free(pose.table);
	iso_problem_free(p);
	iso_scanner_free(ring);
	iso_events_free(&e);
	free(own);
	free(h);
	free(weight);
	free(crystals);
}

/* ---- images ---- */

/* The scan of the tests with times, of which nothing changes but the pose. */
static void with_pose(struct iso_array *x, double *scattered, const char *row, const double centre[3],
                      const struct iso_array *mu)
{
	struct iso_events e = w.all;
	iso_problem *p;
	char text[80];

	e.time_ms = calloc((size_t)e.n, sizeof *e.time_ms);
	assert_non_null(e.time_ms);
	e.duration_s = 60;
	p = problem_of(&e, true);
	OK(iso_problem_set_array(p, "mu", mu, false));
	OK(iso_problem_set(p, "sens-budget", "20000000"));
	OK(iso_problem_set(p, "scatter-rounds", "1"));
	OK(iso_problem_set(p, "iterations", "2"));
	snprintf(text, sizeof text, "%g,%g,%g", centre[0], centre[1], centre[2]);
	OK(iso_problem_set(p, "centre", text));
	if (row) {
		FILE *f = fopen("pose.csv", "w");

		assert_non_null(f);
		fprintf(f, "time_s,qw,qx,qy,qz,x_mm,y_mm,z_mm\n%s\n", row);
		fclose(f);
		OK(iso_problem_set(p, "poses", "pose.csv"));
	} else {
		OK(iso_problem_set(p, "sens-share", "1"));
	}
	OK(iso_problem_recon(x, NULL, p));
	json_t *record = record_of(p);

	*scattered = number(json_array_get(json_object_get(scatter_of(record), "rounds"), 0), "scatter");
	json_decref(record);
	iso_problem_free(p);
	free(e.time_ms);
}

/* Of a from b turned by a right angle about z: a(x) = b(R x). */
static double difference(const struct iso_array *a, const struct iso_array *b)
{
	const struct iso_grid *g = &a->grid;
	double sum = 0, all = 0;

	for (int64_t i = 0; i < a->n; i++) {
		int64_t x = i % g->n[0], y = i / g->n[0] % g->n[1], z = i / g->n[0] / g->n[1];
		int64_t j = (z * g->n[1] + x) * g->n[0] + g->n[0] - 1 - y;
		sum += pow((double)a->v[i] - (double)b->v[j], 2);
		all += pow((double)a->v[i], 2);
	}
	return sqrt(sum / all);
}

/* The object lay T from its axes all the time, and turned by a right angle about z: the image is that of a grid at T, turned
   back, with a map at -T, turned back too. */
static void an_object_elsewhere(void **state)
{
	struct iso_array still = { 0 }, moved = { 0 }, mu = w.mu;
	double want, got;

	(void)state;
	with_pose(&still, &want, NULL, (double[]){ 5, -10, 5 }, &w.mu);
	mu.grid.centre[0] += 10;
	mu.grid.centre[1] += 5;
	mu.grid.centre[2] -= 5;
	with_pose(&moved, &got, "0,1,0,0,1,5,-10,5", (double[]){ 0, 0, 0 }, &mu);
	print_message("scatter %.1f, %.1f; images differ by %.2g\n", want, got, difference(&moved, &still));
	NEAR(got / want, 1, 5e-3); /* sample rings lie elsewhere: they reach beyond the scanner's */
	BELOW(difference(&moved, &still), 3e-3);
	iso_array_free(&still);
	iso_array_free(&moved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_a_cluster),
		cmocka_unit_test(an_object_elsewhere),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
