/* SPDX-License-Identifier: BSD-3-Clause */
/* Phantoms: volumes, sums and values against closed formulas; also built in double. */
#include "test.h"

#include "image/raster_kern.h"
#include "image/shapes.h"

#include <unistd.h>

static char folder[] = "phantom-XXXXXX"; /* of the files a test writes */

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int read_text(iso_phantom **p, const char *text)
{
	char path[64];
	FILE *f;
	int st;

	snprintf(path, sizeof path, "%s/p.yaml", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	st = iso_phantom_create(p, path, NULL);
	unlink(path);
	return st;
}

static iso_phantom *phantom(const char *text)
{
	iso_phantom *p = NULL;

	if (read_text(&p, text)) print_error("%s\n", iso_message());
	assert_non_null(p);
	return p;
}

static iso_phantom *builtin(const char *name)
{
	iso_phantom *p = NULL;

	assert_int_equal(iso_phantom_create(&p, name, NULL), ISO_OK);
	return p;
}

/* Both images of a phantom. */
struct images {
	struct iso_grid g;
	iso_real *activity, *mu;
};

static void raster(struct images *m, const iso_phantom *p, const struct iso_grid *g, int samples)
{
	if (g)
		m->g = *g;
	else
		iso_phantom_grid(&m->g, p);
	m->activity = calloc((size_t)iso_grid_voxels(&m->g), sizeof *m->activity);
	m->mu = calloc((size_t)iso_grid_voxels(&m->g), sizeof *m->mu);
	assert_true(m->activity && m->mu);
	assert_int_equal(iso_phantom_raster(m->activity, m->mu, NULL, p, &m->g, samples), ISO_OK);
}

static void raster_free(struct images *m)
{
	free(m->activity);
	free(m->mu);
}

/* Sum over the image times the voxel's volume. */
static double total(const struct iso_grid *g, const iso_real *x)
{
	double sum = 0;

	for (int64_t i = 0; i < iso_grid_voxels(g); i++) sum += (double)x[i];
	return sum * g->voxel[0] * g->voxel[1] * g->voxel[2];
}

/* The voxel that holds a place. */
static double value(const struct iso_grid *g, const iso_real *x, double px, double py, double pz)
{
	const double p[3] = { px, py, pz };
	int64_t i[3];

	for (int a = 0; a < 3; a++) {
		double u = (p[a] - g->centre[a]) / g->voxel[a] + (double)g->n[a] / 2;

		assert_true(u >= 0 && u < (double)g->n[a]);
		i[a] = (int64_t)u;
	}
	return (double)x[(i[2] * g->n[1] + i[1]) * g->n[0] + i[0]];
}

static void assert_close(double got, double want, double relative)
{
	if (!(fabs(got - want) <= relative * fabs(want))) print_error("%.9g instead of %.9g\n", got, want);
	assert_true(fabs(got - want) <= relative * fabs(want));
}

static void volumes(void **state)
{
	static const struct {
		const char *shape;
		double volume; /* mm^3 */
	} table[] = {
		{ "type: sphere, radius_mm: 20", 4 * M_PI / 3 * 8000 },
		{ "type: ellipsoid, radius_mm: [10, 20, 30]", 4 * M_PI / 3 * 6000 },
		{ "type: cylinder, radius_mm: 15, length_mm: 40", M_PI * 225 * 40 },
		{ "type: cylinder, radius_mm: [10, 20], length_mm: 35, axis: x", M_PI * 200 * 35 },
		{ "type: cylinder, radius_mm: [10, 20], length_mm: 35, axis: y", M_PI * 200 * 35 },
		{ "type: box, size_mm: [11, 22, 33]", 11 * 22 * 33 },
	};
	const struct iso_grid g = { { 40, 40, 40 }, { 2, 2, 2 }, { 0, 0, 0 } };
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct images m;

		snprintf(text, sizeof text,
		         "shapes:\n- {%s, activity: 2, mu_per_mm: 0.01,"
		         " centre_mm: [1.3, -0.7, 2.1]}\n",
		         table[i].shape);
		iso_phantom *p = phantom(text);

		raster(&m, p, &g, 8);
		assert_close(total(&g, m.activity), 2 * table[i].volume, .005);
		assert_close(total(&g, m.mu), .01 * table[i].volume, .005);
		raster_free(&m);
		iso_phantom_free(p);
	}
}

/* Radii follow the axes that are not the cylinder's, in their order. */
static void elliptic_axes(void **state)
{
	iso_phantom *p = phantom("shapes:\n- {type: cylinder, axis: y, radius_mm: [10, 30],"
	                         " length_mm: 40, activity: 1}\n");
	const struct iso_grid g = { { 40, 40, 40 }, { 2, 2, 2 }, { 0, 0, 0 } };
	struct images m;

	(void)state;
	raster(&m, p, &g, 2);
	assert_true(value(&g, m.activity, 8.5, 0, 0) == 1);
	assert_true(value(&g, m.activity, 12.5, 0, 0) == 0);
	assert_true(value(&g, m.activity, 0, 18.5, 0) == 1);
	assert_true(value(&g, m.activity, 0, 21, 0) == 0);
	assert_true(value(&g, m.activity, 0, 0, 28.5) == 1);
	assert_true(value(&g, m.activity, 0, 0, 33) == 0);
	raster_free(&m);
	iso_phantom_free(p);
}

/* The last shape wins, for each quantity that it sets. */
static void topmost_wins(void **state)
{
	iso_phantom *p =
		phantom("shapes:\n"
	                "- {type: box, size_mm: [40, 40, 40], activity: 1, mu_per_mm: 0.01}\n"
	                "- {type: sphere, radius_mm: 12, activity: 5}\n"
	                "- {type: sphere, radius_mm: 6, activity: 0, mu_per_mm: 0.02}\n"
	                "- {type: box, centre_mm: [14, 14, 14], size_mm: [8, 8, 8], mu_per_mm: 0}\n");
	struct iso_grid g = { { 22, 22, 22 }, { 2, 2, 2 }, { 0, 0, 0 } };
	struct images m;

	(void)state;
	raster(&m, p, &g, 3);
	assert_true(value(&g, m.activity, 17, 1, 1) == 1);
	assert_true(value(&g, m.activity, 9, 1, 1) == 5);
	assert_true(value(&g, m.activity, 1, 1, 1) == 0);
	assert_true(value(&g, m.activity, 15, 15, 15) == 1);
	assert_true(value(&g, m.activity, 21, 1, 1) == 0);
	assert_true(value(&g, m.mu, 9, 1, 1) == (double)(iso_real).01);
	assert_true(value(&g, m.mu, 1, 1, 1) == (double)(iso_real).02);
	assert_true(value(&g, m.mu, 15, 15, 15) == 0);
	raster_free(&m);
	iso_phantom_free(p);
}

/* A voxel has the same value on a grid of its own: nothing is lost by leaving shapes out slice by
   slice and row by row. */
static void one_voxel_at_a_time(void **state)
{
	iso_phantom *p = builtin("derenzo");
	struct iso_grid g = { { 20, 16, 12 }, { 1.5, 1.7, 4.1 }, { 3, -4, 2 } }, one = g;
	struct images m;
	iso_real v;

	(void)state;
	raster(&m, p, &g, 3);
	one.n[0] = one.n[1] = one.n[2] = 1;
	for (int i = 0; i < 20 * 16 * 12; i++) {
		one.centre[0] = g.centre[0] + (i % 20 - 9.5) * 1.5;
		one.centre[1] = g.centre[1] + (i / 20 % 16 - 7.5) * 1.7;
		one.centre[2] = g.centre[2] + (i / 320 - 5.5) * 4.1;
		assert_int_equal(iso_phantom_raster(&v, NULL, NULL, p, &one, 3), ISO_OK);
		assert_true(v == m.activity[i]);
	}
	raster_free(&m);
	iso_phantom_free(p);
}

static void samples_average(void **state)
{
	iso_phantom *p = builtin("spheres");
	struct iso_grid g = { { 30, 30, 3 }, { 6, 6, 6 }, { 0, 0, 0 } }, fine = g;
	struct images a, b;

	(void)state;
	for (int i = 0; i < 3; i++) {
		fine.n[i] *= 3;
		fine.voxel[i] /= 3;
	}
	raster(&a, p, &g, 3);
	raster(&b, p, &fine, 1);
	for (int64_t i = 0; i < iso_grid_voxels(&g); i++) {
		int64_t x = i % 30, y = i / 30 % 30, z = i / 900;
		double mean = 0;

		for (int64_t k = 0; k < 27; k++) {
			int64_t row = (3 * z + k / 9) * 90 + 3 * y + k / 3 % 3;

			mean += (double)b.activity[row * 90 + 3 * x + k % 3] / 27;
		}
		assert_float_equal((double)a.activity[i], mean, 1e-5);
	}
	raster_free(&a);
	raster_free(&b);
	iso_phantom_free(p);
}

static void threads_agree(void **state)
{
	struct iso_grid g = { { 60, 50, 70 }, { 8, 6, 17 }, { 0, 0, 0 } };
	iso_phantom *p = builtin("body");
	iso_ctx *ctx = NULL;
	struct images a, b;

	(void)state;
	raster(&a, p, &g, 2);
	raster(&b, p, &g, 2);
	assert_int_equal(iso_ctx_create(&ctx, "cpu", 1), ISO_OK);
	assert_int_equal(iso_phantom_raster(b.activity, b.mu, ctx, p, &g, 2), ISO_OK);
	assert_memory_equal(a.activity, b.activity, 60 * 50 * 70 * sizeof(iso_real));
	assert_memory_equal(a.mu, b.mu, 60 * 50 * 70 * sizeof(iso_real));
	iso_ctx_cancel(ctx);
	assert_int_equal(iso_phantom_raster(b.activity, NULL, ctx, p, &g, 2), ISO_ECANCEL);
	iso_ctx_free(ctx);
	raster_free(&a);
	raster_free(&b);
	iso_phantom_free(p);
}

/* Volumes of all types, turned, on top of each other, smaller than a voxel, cut by the grid and far from it. */
#define CROWD                                                                                            \
	"shapes:\n"                                                                                      \
	"- {type: cylinder, centre_mm: [1, -2, 3], radius_mm: 40, length_mm: 61, axis: x, activity: 1, " \
	"mu_per_mm: 0.01}\n"                                                                             \
	"- {type: ellipsoid, centre_mm: [-7, 5, 1], radius_mm: [21, 13, 8.5], activity: 3}\n"            \
	"- {type: ellipse, centre_mm: [-9, -9], radius_mm: [20, 3], angle_deg: 31, activity: 7}\n"       \
	"- {type: box, centre_mm: [9, 9, -9], size_mm: [11, 12, 13], activity: 0.3, mu_per_mm: 0.02}\n"  \
	"- {type: sphere, centre_mm: [2, 2, 2], radius_mm: 0.7, activity: 17}\n"                         \
	"- {type: sphere, centre_mm: [500, 0, 0], radius_mm: 5, activity: 17}\n"                         \
	"- {type: cylinder, centre_mm: [0, 0, 0], radius_mm: 5, length_mm: 20, activity: 0, mu_per_mm: 0}\n"
#define SOURCES                                                \
	"- {type: point, centre_mm: [3, 3, 3], activity: 5}\n" \
	"- {type: line, from_mm: [-30, -20, -10], to_mm: [30, 25, 11], activity: 2}\n"

/* The shapes of an image, and those of its voxels: the loop of CUDA, a row at a time from all volumes. */
static void voxels_by_rows(iso_real *image, const struct iso_phantom *p, const struct iso_grid *g, int q,
                           int samples)
{
	struct iso_shape *shape = calloc((size_t)p->n + 1, sizeof *shape);
	int32_t *list = calloc((size_t)p->n + 1, sizeof *list);
	struct raster r = { .g = *g,
		            .shape = shape,
		            .q = (enum shape_quantity)q,
		            .adds = p->adds && q == SHAPE_ACTIVITY,
		            .samples = samples };

	assert_true(shape && list);
	for (int i = 0; i < p->n; i++)
		if (shape_is_volume(&p->shape[i]) && p->shape[i].sets[q]) shape[r.n++] = p->shape[i];
	for (int64_t i = 0; i < g->n[1] * g->n[2]; i++) {
		struct pile pile = { 0, list };
		struct shape_box slice, row;

		raster_slice_box(&slice, g, i / g->n[1]);
		row = slice;
		raster_row_box(&row, g, i % g->n[1]);
		for (int k = 0; k < r.n; k++)
			if (shape_meets(shape + k, &slice) != SHAPE_OUTSIDE &&
			    shape_meets(shape + k, &row) != SHAPE_OUTSIDE)
				list[pile.n++] = k;
		for (int64_t x = 0; x < g->n[0]; x++)
			image[i * g->n[0] + x] = (iso_real)raster_voxel(&r, &pile, &row, x);
	}
	free(shape);
	free(list);
}

static void rows_one_by_one(void **state)
{
	static const char *const names[] = { "body", "derenzo", "ellipses", "mouse" };
	struct iso_grid g = { { 37, 29, 23 }, { 9, 10, 30 }, { 1, -2, 3 } };

	(void)state;
	for (int i = 0; i < N_OF(names) + 2; i++) {
		const bool sources = i == N_OF(names) + 1; /* on top of activity */
		iso_phantom *p =
			i < N_OF(names) ? builtin(names[i]) : phantom(sources ? CROWD SOURCES : CROWD);
		iso_real *x = calloc((size_t)iso_grid_voxels(&g), sizeof *x);
		struct images m;

		assert_non_null(x);
		raster(&m, p, &g, 3);
		for (int q = sources; q < 2; q++) {
			voxels_by_rows(x, p, &g, q, 3);
			assert_memory_equal(x, q ? m.mu : m.activity,
			                    (size_t)iso_grid_voxels(&g) * sizeof *x);
		}
		free(x);
		raster_free(&m);
		iso_phantom_free(p);
	}
}

/* The device's images against those of the CPU. */
static void same_voxels(iso_ctx *ctx, const iso_phantom *p, const struct iso_grid *g, int samples)
{
	struct images a, b;

	raster(&a, p, g, samples);
	raster(&b, p, g, samples);
	size_t bytes = (size_t)iso_grid_voxels(&a.g) * sizeof(iso_real);

	memset(b.activity, 1, bytes);
	memset(b.mu, 1, bytes);
	assert_int_equal(iso_phantom_raster(b.activity, b.mu, ctx, p, &b.g, samples), ISO_OK);
	assert_memory_equal(a.activity, b.activity, bytes);
	assert_memory_equal(a.mu, b.mu, bytes);
	raster_free(&a);
	raster_free(&b);
}

static void check_same(iso_ctx *ctx)
{
	static const char *const names[] = { "body",     "derenzo", "ellipses", "spheres",
		                             "cylinder", "lines",   "mouse",    "two-spheres" };
	const struct iso_grid odd = { { 301, 3, 37 }, { .7, 11, 3 }, { 1, -2, 3 } };
	const struct iso_grid one = { { 1, 1, 1 }, { 20, 20, 20 }, { 0, 0, 0 } };
	iso_phantom *p = phantom(CROWD SOURCES);

	same_voxels(ctx, p, NULL, 5);
	same_voxels(ctx, p, &odd, 4);
	same_voxels(ctx, p, &one, 64);
	iso_phantom_free(p);
	for (int i = 0; i < N_OF(names); i++) {
		p = builtin(names[i]);
		same_voxels(ctx, p, NULL, 3);
		same_voxels(ctx, p, &odd, 2);
		iso_phantom_free(p);
	}
	p = phantom("shapes:\n- {type: point, centre_mm: [0, 1, -1], activity: 80}\n"); /* no volume at all */
	same_voxels(ctx, p, &odd, 2);
	iso_ctx_cancel(ctx);
	iso_real x;

	assert_int_equal(iso_phantom_raster(&x, NULL, ctx, p, &one, 2), ISO_ECANCEL);
	iso_phantom_free(p);
}

CUDA_TEST(cuda_has_the_same_voxels, check_same)

/* A point goes into its half-open voxel, whole, on top of what is there; the second one lies on
   the upper border of the grid, outside, the third one on the lower, inside. */
static void points(void **state)
{
	iso_phantom *p = phantom("shapes:\n"
	                         "- {type: point, centre_mm: [0, 1, -1], activity: 80}\n"
	                         "- {type: point, centre_mm: [4, 0, 0], activity: 1000}\n"
	                         "- {type: point, centre_mm: [-4, 0, 0], activity: 40}\n"
	                         "- {type: box, size_mm: [100, 100, 100], activity: 3}\n");
	struct iso_grid g = { { 4, 4, 4 }, { 2, 2, 2 }, { 0, 0, 0 } };
	struct images m;

	(void)state;
	raster(&m, p, &g, 2);
	assert_true(value(&g, m.activity, 1, 1, -1) == 3 + 10);
	assert_true(value(&g, m.activity, -3, 1, 1) == 3 + 5);
	assert_close(total(&g, m.activity), 3 * 512 + 80 + 40, 1e-6);
	assert_true(total(&g, m.mu) == 0);
	raster_free(&m);
	iso_phantom_free(p);
}

static double line_total(const double from[3], const double to[3], const struct iso_grid *g)
{
	char text[256];
	struct images m;
	double sum;

	snprintf(text, sizeof text,
	         "shapes:\n- {type: line, from_mm: [%.17g, %.17g, %.17g],"
	         " to_mm: [%.17g, %.17g, %.17g], activity: 3}\n",
	         from[0], from[1], from[2], to[0], to[1], to[2]);
	iso_phantom *p = phantom(text);

	raster(&m, p, g, 1);
	sum = total(g, m.activity);
	raster_free(&m);
	iso_phantom_free(p);
	return sum;
}

/* Length times activity, of the part inside the grid: 40 x 50 x 60 mm. */
static void line_lengths(void **state)
{
	static const struct {
		double from[3], to[3], length;
	} table[] = {
		{ { -5, -6, -7 }, { 11, 13, 17 }, 34.539832078341085 }, /* root of 1193 */
		{ { 11, 13, 17 }, { -5, -6, -7 }, 34.539832078341085 },
		{ { -100, 1, 1 }, { 100, 1, 1 }, 40 },
		{ { 1, 1, -100 }, { 1, 1, 0 }, 30 },
		{ { -40, -50, -60 }, { 40, 50, 60 }, 87.749643873921218 }, /* diagonal */
		{ { 20, 0, -10 }, { 20, 0, 10 }, 0 },                      /* in the upper border face */
		{ { -20, 0, -10 }, { -20, 0, 10 }, 20 },                   /* in the lower one */
		{ { 4, 5, -100 }, { 4, 5, 100 }, 60 },                     /* along an edge of voxels */
		{ { 30, 0, 0 }, { 40, 9, 9 }, 0 },
		{ { 0, 40, 0 }, { 40, 0, 0 }, 7.0710678118654755 }, /* cuts a corner off */
	};
	const struct iso_grid g = { { 10, 10, 10 }, { 4, 5, 6 }, { 0, 0, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		assert_float_equal(line_total(table[i].from, table[i].to, &g), 3 * table[i].length, 1e-4);
}

/* Against many points along the line. */
static void line_places(void **state)
{
	enum { N = 200000 };
	iso_phantom *p = phantom("shapes:\n- {type: line, from_mm: [-9.1, 7.3, -5.2],"
	                         " to_mm: [8.4, -6.1, 7.7], activity: 1}\n");
	const struct iso_grid g = { { 7, 6, 5 }, { 2, 2, 2 }, { 0, 0, 0 } };
	double length = sqrt(17.5 * 17.5 + 13.4 * 13.4 + 12.9 * 12.9), want[210] = { 0 };
	struct images m;

	(void)state;
	raster(&m, p, &g, 1);
	for (int k = 0; k < N; k++) {
		double t = (k + .5) / N;
		double x = floor((-9.1 + t * 17.5) / 2 + 3.5), y = floor((7.3 - t * 13.4) / 2 + 3);
		double z = floor((-5.2 + t * 12.9) / 2 + 2.5);

		if (x >= 0 && x < 7 && y >= 0 && y < 6 && z >= 0 && z < 5)
			want[(int)((z * 6 + y) * 7 + x)] += length / N / 8;
	}
	for (int i = 0; i < 210; i++) assert_float_equal((double)m.activity[i], want[i], 1e-4);
	raster_free(&m);
	iso_phantom_free(p);
}

/* Each has a grid that holds all of it, and the activity and mu that its table says. */
static void check_builtin(const char *name, double activity, double tolerance, double max_mu)
{
	iso_phantom *p = builtin(name);
	double top = 0;
	struct images m;

	raster(&m, p, NULL, 4);
	assert_close(total(&m.g, m.activity), activity, tolerance);
	for (int64_t i = 0; i < iso_grid_voxels(&m.g); i++) {
		assert_true(m.activity[i] >= 0 && m.mu[i] >= 0);
		top = fmax(top, (double)m.mu[i]);
	}
	assert_true(top == (double)(iso_real)max_mu);
	assert_true(m.mu[0] == 0 && m.activity[0] == 0);
	raster_free(&m);
	iso_phantom_free(p);
}

static void builtins(void **state)
{
	static const double d[] = { 10, 13, 17, 22, 28, 37 };
	double cylinder = M_PI * 150 * 150 * 200, spheres = (M_PI * 150 * 115 - M_PI * 625) * 180;

	(void)state;
	for (int i = 0; i < 6; i++) spheres += 3 * M_PI / 6 * d[i] * d[i] * d[i];
	check_builtin("cylinder", M_PI * 100 * 100 * 200, .005, .0096);
	check_builtin("lines", cylinder / .7, .005, .0096);
	check_builtin("spheres", spheres, .005, .0096);
	check_builtin("point", 1e6, 1e-6, 0);
}

static void lines_share(void **state)
{
	iso_phantom *p = builtin("lines");
	struct images m;
	double t = 15 * M_PI / 180, x = 60 * cos(t), y = 60 * sin(t), line = 0;

	(void)state;
	raster(&m, p, NULL, 4);
	for (double z = -98; z < 100; z += 4) /* middles of voxels, of 64 mm^3 */
		line += (value(&m.g, m.activity, x, y, z) - 1) * 64;
	assert_close(line, M_PI * 150 * 150 * 200 / 7, 1e-5);
	raster_free(&m);
	iso_phantom_free(p);
}

static void spheres_values(void **state)
{
	iso_phantom *p = builtin("spheres");
	double t = 5 * M_PI / 3; /* the largest */
	struct images m;

	(void)state;
	raster(&m, p, NULL, 4);
	assert_true(value(&m.g, m.activity, 57.2 * cos(t), 57.2 * sin(t), 0) == 4);
	assert_true(value(&m.g, m.activity, 0, 0, 0) == 0);
	assert_true(value(&m.g, m.mu, 0, 0, 0) == (double)(iso_real).003);
	assert_true(value(&m.g, m.activity, -120, 0, 60) == 1);
	assert_true(value(&m.g, m.mu, -120, 0, 60) == (double)(iso_real).0096);
	raster_free(&m);
	iso_phantom_free(p);
}

static void body_values(void **state)
{
	iso_phantom *p = builtin("body");
	struct images m;

	(void)state;
	raster(&m, p, NULL, 2);
	assert_true((double)m.g.n[2] * m.g.voxel[2] > 1100);
	assert_true(value(&m.g, m.mu, 90, 5, 160) == (double)(iso_real).0027);
	assert_true(value(&m.g, m.mu, 0, -85, -50) == (double)(iso_real).0165);
	assert_true(value(&m.g, m.mu, -75, 10, -40) == (double)(iso_real).0096);
	assert_true(value(&m.g, m.activity, 0, 0, 430) == 7);
	assert_true(value(&m.g, m.activity, 0, 40, -290) == 20);
	raster_free(&m);
	iso_phantom_free(p);
}

/* Rods of the derenzo phantom neither touch nor leave it: their areas add up. */
static void derenzo_rods(void **state)
{
	const struct iso_grid g = { { 900, 900, 1 }, { .05, .05, 1 }, { 0, 0, 0 } };
	iso_phantom *p = builtin("derenzo");
	struct images m;
	double area = 0, t = 5.5 * M_PI / 3;

	(void)state;
	raster(&m, p, &g, 2);
	assert_true(value(&g, m.activity, 9.6 * cos(t), 9.6 * sin(t), 0) == 1);
	assert_true(value(&g, m.activity, 0, 0, 0) == 0);
	for (int i = 0; i < 6; i++) {
		static const double d[] = { 1.2, 1.6, 2.4, 3.2, 4.0, 4.8 };

		for (int row = 0; row < 20; row++)
			for (int j = 0; j <= row; j++)
				if (hypot(2 * d[i] + row * sqrt(3) * d[i], (2 * j - row) * d[i]) + d[i] / 2 <=
				    21.5)
					area += M_PI / 4 * d[i] * d[i];
	}
	assert_close(total(&g, m.activity), area, .002);
	raster_free(&m);
	iso_phantom_free(p);
}

static void point_is_placed(void **state)
{
	const double at[3] = { 12, -7, 3.5 }, bad[3] = { 0, NAN, 0 };
	iso_phantom *p = NULL;
	struct images m;

	(void)state;
	assert_int_equal(iso_phantom_create(&p, "point", at), ISO_OK);
	raster(&m, p, NULL, 1);
	assert_close(value(&m.g, m.activity, 12, -7, 3.5), 1e6 / 8, 1e-6);
	assert_true(m.g.centre[0] == 12 && m.g.n[0] == 51);
	raster_free(&m);
	iso_phantom_free(p);
	p = NULL;
	assert_int_equal(iso_phantom_create(&p, "point", bad), ISO_EARG);
	assert_null(p);
}

static void names(void **state)
{
	iso_phantom *p = NULL;
	int n = 0;

	(void)state;
	for (; iso_phantom_names()[n]; n++) {
		p = builtin(iso_phantom_names()[n]);
		iso_phantom_free(p);
	}
	assert_int_equal(n, 16);
	p = NULL;
	assert_int_equal(iso_phantom_create(&p, "shperes", NULL), ISO_EARG);
	assert_string_equal(iso_message(),
	                    "phantom 'shperes' is neither built in (cylinder,"
	                    " lines, spheres, derenzo, body, point, ellipses, two-spheres,"
	                    " two-spheres-apart, sphere, derenzo-meng, derenzo-chou, mouse, rat,"
	                    " nine-spheres, vessel-tree)"
	                    " nor a file; did you mean 'spheres'?");
	assert_int_equal(iso_phantom_create(&p, "no/such.yaml", NULL), ISO_EINPUT);
	assert_null(p);
}

#define BALL "shapes:\n- {type: sphere, radius_mm: 20, centre_mm: [5, 0, 0], activity: 1}\n"

static void grids(void **state)
{
	struct iso_grid g;
	iso_phantom *p = phantom(BALL);

	(void)state;
	iso_phantom_grid(&g, p); /* 40 mm: voxels of 0.5 mm */
	assert_true(g.voxel[0] == .5 && g.n[0] == 84 && g.n[2] == 84);
	assert_true(g.centre[0] == 5 && g.centre[1] == 0);
	iso_phantom_free(p);

	p = phantom(BALL "grid: {voxel_mm: [1, 2, 4]}\n");
	iso_phantom_grid(&g, p);
	assert_true(g.n[0] == 44 && g.n[1] == 24 && g.n[2] == 14);
	iso_phantom_free(p);

	p = phantom(BALL "grid: {voxel_mm: [1, 2, 4], centre_mm: [0, 0, 1]}\n");
	iso_phantom_grid(&g, p); /* 25 mm to either side of x = 0 */
	assert_true(g.n[0] == 54 && g.n[1] == 24 && g.n[2] == 15 && g.centre[2] == 1);
	iso_phantom_free(p);

	p = phantom(BALL "grid: {n: [3, 4, 5], voxel_mm: [1, 2, 4], centre_mm: [0, 0, 1]}\n");
	iso_phantom_grid(&g, p);
	assert_true(g.n[0] == 3 && g.n[1] == 4 && g.n[2] == 5);
	iso_phantom_free(p);

	p = phantom("shapes: [{type: point, centre_mm: [1, 2, 3], activity: 1}]\n");
	iso_phantom_grid(&g, p);
	assert_true(g.n[0] == 4 && g.voxel[0] == 1);
	iso_phantom_free(p);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *message; /* without the folder */
	} table[] = {
		{ "grid: {}", ": key 'shapes' is missing" },
		{ "shapes: []", ":1: shapes must be a list of at least one shape" },
		{ "shapes: {type: box}", ":1: shapes must be a list of at least one shape" },
		{ "shapes: [3]", ":1: key 'type' is missing" },
		{ "shapes:\n- {type: spher}",
		  ":2: type is 'spher', must be one of: sphere, ellipsoid, cylinder, "
		  "box, point, line, ellipse; did you mean 'sphere'?" },
		{ "shapes:\n- {type: sphere}", ":2: key 'radius_mm' is missing" },
		{ "shapes:\n- {type: sphere, radius_mm: 1}",
		  ":2: this sphere has neither activity nor mu_per_mm" },
		{ "shapes:\n- {type: sphere, radius_mm: 0, activity: 1}",
		  ":2: radius_mm is 0, must be in [1e-06, 100000]" },
		{ "shapes:\n- {type: ellipsoid, radius_mm: [1, 2], activity: 1}",
		  ":2: radius_mm has 2 values, must have 3" },
		{ "shapes:\n- {type: box, size_mm: [1, 1, 1], activity: -1}",
		  ":2: activity is -1, must be in [0, 1e+12]" },
		{ "shapes:\n- {type: cylinder, radius_mm: 1, length_mm: 1, activity: 1, axis: w}",
		  ":2: axis is 'w', must be one of: x, y, z" },
		{ "shapes:\n- {type: point, centre_mm: [0, 0, 0], mu_per_mm: 1}",
		  ":2: unknown key 'mu_per_mm'; known keys: type, centre_mm, activity" },
		{ "shapes:\n- {type: line, from_mm: [1, 2, 3], to_mm: [1, 2, 3], activity: 1}",
		  ":2: from_mm and to_mm of a line are 0 mm apart, must be at least 1e-06" },
		{ "shapes:\n"
		  "- {type: line, from_mm: [0, 0, 0], to_mm: [5e-324, 0, 0], activity: 1}",
		  ":2: from_mm and to_mm of a line are 4.94066e-324 mm apart, must be at least "
		  "1e-06" }, /* a hundredth of it is 0, and so was the voxel */
		{ BALL "grid: {n: [0, 1, 1]}", ":3: n is 0, must be in [1, 1000000]" },
		{ BALL "grid: {n: [1e6, 1e6, 1e6]}",
		  ":3: grid: 1000000 x 1000000 x 1000000 voxels are more than 64-bit sizes hold" },
	};
	char want[256];

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		iso_phantom *p = NULL;

		assert_int_equal(read_text(&p, table[i].text), ISO_EINPUT);
		snprintf(want, sizeof want, "%s/p.yaml%s", folder, table[i].message);
		assert_string_equal(iso_message(), want);
		assert_null(p);
	}
}

static void bad_arguments(void **state)
{
	struct iso_grid g = { { 2, 2, 2 }, { 1, 1, 1 }, { 0, 0, 0 } };
	iso_phantom *p = builtin("cylinder");
	iso_real x[8];

	(void)state;
	assert_int_equal(iso_phantom_raster(x, NULL, NULL, p, &g, 0), ISO_EARG);
	assert_int_equal(iso_phantom_raster(x, NULL, NULL, p, &g, 65), ISO_EARG);
	g.voxel[1] = 0;
	assert_int_equal(iso_phantom_raster(x, NULL, NULL, p, &g, 2), ISO_EARG);
	iso_phantom_free(p);
	iso_phantom_free(NULL);
}

static void example(void **state)
{
	iso_phantom *p = NULL;
	struct images m;

	(void)state;
	assert_int_equal(iso_phantom_create(&p, TEST_EXAMPLES "/phantoms/shapes.yaml", NULL), ISO_OK);
	raster(&m, p, NULL, 3);
	assert_true(value(&m.g, m.activity, 70, 20, 15) == 8);
	assert_true(value(&m.g, m.activity, -80, 10, 0) == 0);
	assert_true(value(&m.g, m.activity, 0, -80, 0) == 1);
	assert_true(value(&m.g, m.mu, 0, -80, 0) == (double)(iso_real).0165);
	assert_close(value(&m.g, m.activity, 0, 41, -30), 1 + 5e4 / 64, 1e-6);
	raster_free(&m);
	iso_phantom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(volumes),         cmocka_unit_test(elliptic_axes),
		cmocka_unit_test(topmost_wins),    cmocka_unit_test(one_voxel_at_a_time),
		cmocka_unit_test(samples_average), cmocka_unit_test(threads_agree),
		cmocka_unit_test(rows_one_by_one), cmocka_unit_test(cuda_has_the_same_voxels),
		cmocka_unit_test(points),          cmocka_unit_test(line_lengths),
		cmocka_unit_test(line_places),     cmocka_unit_test(builtins),
		cmocka_unit_test(lines_share),     cmocka_unit_test(spheres_values),
		cmocka_unit_test(body_values),     cmocka_unit_test(derenzo_rods),
		cmocka_unit_test(point_is_placed), cmocka_unit_test(names),
		cmocka_unit_test(grids),           cmocka_unit_test(refused),
		cmocka_unit_test(bad_arguments),   cmocka_unit_test(example),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
