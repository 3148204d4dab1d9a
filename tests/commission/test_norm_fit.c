/* SPDX-License-Identifier: BSD-3-Clause */
/* The fit of a norm against vectors of a dense program, and what must hold of it for any ring. */
#include "test.h"

#include "commission/norm/norm_gauge.h"
#include "core/philox.h"

#include <unistd.h>

enum { PAIRS = 12672, N = 192, T = 59, Z = 10 };

/* The values of a .npy file of `n` items, whatever its header says. */
static void *npy(const char *name, int64_t n, size_t item)
{
	unsigned char head[10];
	char path[512];
	void *v = calloc((size_t)n, item);

	snprintf(path, sizeof path, "%s/norm/%s.npy", TEST_DATA, name);
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
	assert_int_equal(fseek(f, head[8] + 256 * head[9], SEEK_CUR), 0);
	assert_int_equal(fread(v, item, (size_t)n, f), n);
	fclose(f);
	return v;
}

/* A scanner, its rows and classes, counts of every pair, and the factors. */
struct bench {
	iso_ctx *ctx;
	iso_scanner *s;
	struct norm_rows rows;
	struct norm_classes classes;
	struct norm_scan scan;
	struct norm_fit fit;
};

static iso_scanner *scanner_of(const char *text)
{
	char path[] = "/tmp/isotome-norm-XXXXXX.yaml";
	iso_scanner *s;
	int fd = mkstemps(path, 5);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	OK(iso_scanner_read(&s, path));
	unlink(path);
	return s;
}

static void set_counts(struct bench *b, const double *y)
{
	struct norm_counts *c = &b->scan.y;
	struct norm_run *run = calloc((size_t)norm_rows_most(&b->rows), sizeof *run);
	const int64_t pairs = b->rows.first[b->rows.n];

	c->first = calloc((size_t)b->rows.n + 1, sizeof *c->first);
	c->b = calloc((size_t)pairs, sizeof *c->b);
	c->y = calloc((size_t)pairs, sizeof *c->y);
	int64_t n = 0;

	for (int64_t a = 0; a < b->rows.n; a++) {
		const int64_t runs = norm_rows_runs(run, &b->rows, a);

		for (int64_t k = 0; k < runs; k++)
			for (int64_t j = 0; j < run[k].n; j++) {
				if (!(y[run[k].pair + j] > 0)) continue;
				c->b[n] = (uint32_t)(run[k].b + j);
				c->y[n++] = (float)y[run[k].pair + j];
			}
		c->first[a + 1] = n;
	}
	free(run);
}

static void begin(struct bench *b, iso_scanner *s, bool transaxial, bool axial, bool mirror, int threads)
{
	*b = (struct bench){ .ctx = cpu(threads), .s = s };
	OK(norm_rows_create(&b->rows, s));
	OK(norm_classes_create(&b->classes, s, transaxial, axial, mirror));
	b->fit = (struct norm_fit){ .ctx = b->ctx,
		                    .rows = &b->rows,
		                    .classes = &b->classes,
		                    .scan = &b->scan,
		                    .scans = 1,
		                    .eps = calloc((size_t)s->n, sizeof(double)),
		                    .t = calloc((size_t)b->classes.n_t, sizeof(double)),
		                    .z = calloc((size_t)b->classes.n_z, sizeof(double)),
		                    .dead = calloc((size_t)s->n, sizeof(bool)),
		                    .t_state = calloc((size_t)b->classes.n_t, 1),
		                    .z_state = calloc((size_t)b->classes.n_z, 1) };
}

static void end(struct bench *b)
{
	norm_sums_free(&b->fit);
	free(b->fit.eps);
	free(b->fit.t);
	free(b->fit.z);
	free(b->fit.dead);
	free(b->fit.t_state);
	free(b->fit.z_state);
	free(b->scan.y.first);
	free(b->scan.y.b);
	free(b->scan.y.y);
	norm_classes_free(&b->classes);
	norm_rows_free(&b->rows);
	iso_ctx_free(b->ctx);
}

static void near_all(const double *a, const double *b, int64_t n, double tolerance)
{
	double worst = 0;

	for (int64_t i = 0; i < n; i++) worst = larger(worst, fabs(a[i] - b[i]) / larger(fabs(b[i]), 1e-30));
	if (!(worst <= tolerance)) fail_msg("%.3g is off by more than %.3g", worst, tolerance);
}

static iso_scanner *small_ring(void)
{
	char path[512];
	iso_scanner *s;

	snprintf(path, sizeof path, "%s/norm/norm_ring.yaml", TEST_DATA);
	OK(iso_scanner_read(&s, path));
	return s;
}

static double *of_u2(const char *name)
{
	uint16_t *u = npy(name, PAIRS, sizeof *u);
	double *v = calloc(PAIRS, sizeof *v);

	for (int i = 0; i < PAIRS; i++) v[i] = u[i];
	free(u);
	return v;
}

static void pairs_and_classes(void **state)
{
	(void)state;
	static const int64_t first_keys[] = { 8, 9, 10 }, z_keys[Z] = { 0, 1, 2, 3, 5, 6, 7, 10, 11, 15 };
	iso_scanner *s = small_ring();
	uint16_t *pair = npy("norm_pairs", 2 * PAIRS, 2), *class = npy("norm_classes", 2 * PAIRS, 2);
	struct bench b;

	begin(&b, s, true, true, true, 1);
	assert_int_equal(b.rows.first[N], PAIRS);
	assert_int_equal(b.classes.n_t, T);
	assert_int_equal(b.classes.n_z, Z);
	for (int i = 0; i < 3; i++) assert_int_equal(b.classes.t_key[i], first_keys[i]);
	assert_int_equal(b.classes.t_key[T - 1], 135);
	for (int i = 0; i < Z; i++) assert_int_equal(b.classes.z_key[i], z_keys[i]);
	for (int i = 0; i < PAIRS; i++) {
		const int64_t p = pair[2 * i], q = pair[2 * i + 1];

		assert_int_equal(norm_rows_pair(&b.rows, p, q), i);
		assert_int_equal(norm_rows_pair(&b.rows, q, p), i);
		assert_int_equal(*norm_classes_t(&b.classes, p, q), class[2 * i]);
		assert_int_equal(norm_classes_z(&b.classes, p, q), class[2 * i + 1]);
	}
	assert_int_equal(norm_rows_pair(&b.rows, 0, 7), -1);
	assert_int_equal(norm_rows_pair(&b.rows, 3, 3), -1);
	end(&b);
	free(pair);
	free(class);
	iso_scanner_free(s);
}

static void fit_vectors(struct bench *b, const char *counts, bool randoms, double tolerance)
{
	double *y = of_u2(counts);

	set_counts(b, y);
	b->scan.q = npy("norm_q", PAIRS, sizeof(float));
	b->scan.r = randoms ? npy("norm_r", PAIRS, sizeof(float)) : NULL;
	b->fit.tolerance = tolerance;
	OK(norm_fit_run(&b->fit, false));
	free(y);
}

static void end_vectors(struct bench *b)
{
	iso_scanner *s = b->s;

	free(b->scan.q);
	free((void *)b->scan.r);
	end(b);
	iso_scanner_free(s);
}

static void crystals_alone(void **state)
{
	(void)state;
	double *eps = npy("norm_crystal_eps", N, 8), *sd = npy("norm_crystal_sd", N, 8);
	double local[N + 2], found[N + 2];
	struct bench b;
	bool exact;

	begin(&b, small_ring(), false, false, true, 2);
	fit_vectors(&b, "norm_y_crystal", false, 1e-7);
	print_message("crystal: %d steps, %d products\n", b.fit.steps, b.fit.products);
	near_all(b.fit.eps, eps, N, 1e-6);
	assert_true(fabs(b.fit.loglik / 1081314.1569579067 - 1) < 1e-9);
	assert_true(b.fit.steps <= 10 && b.fit.products <= 60);
	assert_true(b.fit.dead[17] && b.fit.dead[100]);
	OK(norm_errors(local, found, &exact, &b.fit));
	assert_true(exact);
	near_all(found, sd, N, 1e-3);
	end_vectors(&b);
	free(eps);
	free(sd);
}

static void all_components(void **state)
{
	(void)state;
	double *eps = npy("norm_all_eps", N, 8), *t = npy("norm_all_t", T, 8), *z = npy("norm_all_z", Z, 8);
	double *sd = npy("norm_all_sd", N + T + Z, 8), *local_sd = npy("norm_all_local_sd", N, 8);
	double local[N + T + Z], found[N + T + Z];
	struct bench b;
	bool exact;

	begin(&b, small_ring(), true, true, true, 2);
	fit_vectors(&b, "norm_y", true, 1e-7);
	print_message("all: %d steps, %d products\n", b.fit.steps, b.fit.products);
	near_all(b.fit.eps, eps, N, 1e-6);
	near_all(b.fit.t, t, T, 1e-6);
	near_all(b.fit.z, z, Z, 1e-6);
	assert_true(fabs(b.fit.loglik / 1332225.6620058843 - 1) < 1e-9);
	assert_true(b.fit.steps <= 10 && b.fit.products <= 60);
	assert_int_equal(b.fit.parts, 1);
	OK(norm_errors(local, found, &exact, &b.fit));
	assert_true(exact);
	near_all(local, local_sd, N, 1e-6);
	near_all(found, sd, N + T + Z, 1e-3);
	end_vectors(&b);
	free(eps);
	free(t);
	free(z);
	free(sd);
	free(local_sd);
}

static void any_threads(void **state)
{
	(void)state;
	double eps[2][N];

	for (int i = 0; i < 2; i++) {
		struct bench b;

		begin(&b, small_ring(), true, true, true, i == 0 ? 1 : 7);
		fit_vectors(&b, "norm_y", true, 0);
		memcpy(eps[i], b.fit.eps, sizeof eps[i]);
		end_vectors(&b);
	}
	assert_memory_equal(eps[0], eps[1], sizeof eps[0]);
}

/* ---- exact data of drawn factors: m of every pair is found again ---- */

static double unit(uint64_t seed, int64_t i)
{
	return (double)philox_unit(philox_draw(seed, (uint64_t)i, 0).w[0]);
}

static const struct {
	const char *what, *scanner;
	bool transaxial, axial, mirror;
	int dead; /* the first of so many crystals that count nothing */
} cases[] = {
	{ "odd blocks",
	  "kind: cylinder\nradius_mm: 60\nrings: 2\nring_pitch_mm: 6\ncrystals_per_ring: "
	  "30\nmin_crystal_distance: 6\n"
	  "block: {crystals: 5, gap_mm: 1}\n",
	  true, true, true, 2 },
	{ "odd blocks, no mirror",
	  "kind: cylinder\nradius_mm: 60\nrings: 2\nring_pitch_mm: 6\ncrystals_per_ring: "
	  "30\nmin_crystal_distance: 6\n"
	  "block: {crystals: 5, gap_mm: 1}\n",
	  true, true, false, 0 },
	{ "no blocks",
	  "kind: cylinder\nradius_mm: 60\nrings: 3\nring_pitch_mm: 6\ncrystals_per_ring: "
	  "24\nmin_crystal_distance: 5\n",
	  true, true, true, 0 },
	{ "one ring, a quarter missing",
	  "kind: cylinder\nradius_mm: 60\nrings: 1\nring_pitch_mm: 6\ncrystals_per_ring: "
	  "40\nmin_crystal_distance: 5\n"
	  "block: {crystals: 4, gap_mm: 1}\n",
	  true, false, true, 10 },
	{ "free detectors", NULL, false, false, true, 0 },
};

struct drawn {
	double *eps, *t, *z, *y;
};

/* Factors of 0.6 to 1.4, q of 1 to 2 hundred, randoms of a tenth; a tenth of the pairs see nothing. */
static void draw(struct drawn *d, struct bench *b, int dead)
{
	const int64_t pairs = b->rows.first[b->rows.n], n = b->rows.n;
	float *r = calloc((size_t)pairs, sizeof *r);

	*d = (struct drawn){ calloc((size_t)n, 8), calloc((size_t)b->classes.n_t, 8),
		             calloc((size_t)b->classes.n_z, 8), calloc((size_t)pairs, 8) };
	b->scan.q = calloc((size_t)pairs, sizeof(float));
	b->scan.r = r;
	for (int64_t a = 0; a < n; a++) d->eps[a] = a < dead ? 0 : .6 + .8 * unit(1, a);
	for (int64_t k = 0; k < b->classes.n_t; k++)
		d->t[k] = b->classes.transaxial ? .6 + .8 * unit(2, k) : 1;
	for (int64_t l = 0; l < b->classes.n_z; l++) d->z[l] = b->classes.axial ? .6 + .8 * unit(3, l) : 1;
	for (int64_t a = 0; a < n; a++)
		for (int64_t c = a + 1; c < n; c++) {
			const int64_t i = norm_rows_pair(&b->rows, a, c);

			if (i < 0) continue;
			r[i] = 16;
			b->scan.q[i] = unit(4, i) < .1 ? 0 : (float)(100 + 100 * unit(5, i));
			d->y[i] = (float)(d->eps[a] * d->eps[c] * d->t[*norm_classes_t(&b->classes, a, c)] *
			                          d->z[norm_classes_z(&b->classes, a, c)] *
			                          (double)b->scan.q[i] +
			                  (a < dead ? 0 : 16));
		}
	set_counts(b, d->y);
}

/* Places on no cylinder. */
static iso_scanner *free_detectors(void)
{
	double pos[20][3];
	iso_scanner *s;

	for (int i = 0; i < 20; i++) {
		pos[i][0] = 50 * cos(.31 * i);
		pos[i][1] = (50 + .3 * i) * sin(.31 * i);
		pos[i][2] = 4 * (i % 5);
	}
	OK(iso_detectors_create(&s, "free", 20, pos[0]));
	return s;
}

static void exact_data(void **state)
{
	(void)state;
	for (int i = 0; i < N_OF(cases); i++) {
		struct bench b;
		struct drawn d;

		print_message("%s\n", cases[i].what);
		begin(&b, cases[i].scanner ? scanner_of(cases[i].scanner) : free_detectors(),
		      cases[i].transaxial, cases[i].axial, cases[i].mirror, 2);
		draw(&d, &b, cases[i].dead);
		b.fit.tolerance = 1e-8;
		OK(norm_fit_run(&b.fit, false));
		for (int64_t a = 0; a < b.rows.n; a++)
			for (int64_t c = a + 1; c < b.rows.n; c++) {
				const int64_t p = norm_rows_pair(&b.rows, a, c);

				if (p < 0 || !(b.scan.q[p] > 0)) continue;
				const int32_t k = *norm_classes_t(&b.classes, a, c),
					      l = norm_classes_z(&b.classes, a, c);
				const double m = b.fit.eps[a] * b.fit.eps[c] * b.fit.t[k] * b.fit.z[l];
				const double was = d.eps[a] * d.eps[c] * d.t[k] * d.z[l];

				assert_true(fabs(m - was) <= 2e-6 * was);
			}
		free(d.eps);
		free(d.t);
		free(d.z);
		free(d.y);
		end_vectors(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_and_classes), cmocka_unit_test(crystals_alone),
		cmocka_unit_test(all_components),    cmocka_unit_test(any_threads),
		cmocka_unit_test(exact_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
