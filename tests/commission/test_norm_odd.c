/* SPDX-License-Identifier: BSD-3-Clause */
/* Odd blocks of wide crystals that look at a cylinder beside the axis. The counts are integrals over the crystals' cells on the
   ring, as `simulate` fills them, without noise: the fit by a few flat lines finds the factors and the place again. */
#include "test.h"

#include "commission/norm/norm_own.h"
#include "core/philox.h"

#include <unistd.h>

/* A cell is (2 pi 80/10 - 1)/5 = 9.853 mm wide. */
static const char ring[] =
	"kind: cylinder\nradius_mm: 80\nrings: 2\nring_pitch_mm: 6\ncrystals_per_ring: 50\n"
	"crystal_mm: [9.853, 6, 10]\nmin_crystal_distance: 9\nblock: {crystals: 5, gap_mm: 1}\n";

enum { N = 100, AROUND = 50, BLOCK = 5, DEAD = 17, POINTS = 256 };

struct bench {
	iso_ctx *ctx;
	iso_scanner *s;
	struct norm_rows rows;
	struct norm_classes classes;
	struct iso_events e;
	double eps[N], *t, *z;
};

static double uniform(int64_t i, int of)
{
	const struct philox d = philox_draw(9, (uint64_t)i, (uint64_t)of);

	return philox_unit_double(d.w[0], d.w[1]);
}

/* Point i on the cell of a crystal, by a rule of irrational steps; side: 0 or 1. */
static void on_cell(double p[3], const iso_scanner *s, int64_t a, int i, int side)
{
	static const double step[4] = { .8566748838545029, .733891856627126, .6287067210378087,
		                        .5385972572236101 };
	const double *at = s->pos + 3 * a, across = fmod(.5 + i * step[2 * side], 1) - .5;
	const double angle = atan2(at[1], at[0]) + across * s->crystal_mm[0] / 80;

	p[0] = 80 * cos(angle);
	p[1] = 80 * sin(angle);
	p[2] = at[2] + (fmod(.5 + i * step[2 * side + 1], 1) - .5) * 6;
}

static double expected(const struct bench *b, const struct source *source, int64_t a, int64_t c)
{
	double sum = 0;

	for (int i = 0; i < POINTS; i++) {
		double p[3], q[3];

		on_cell(p, b->s, a, i, 0);
		on_cell(q, b->s, c, i, 1);
		sum += source_integral(source, p, q) * pairs_solid_angle(p, q);
	}
	return sum / POINTS;
}

static double factor(const struct bench *b, int64_t a, int64_t c)
{
	return b->eps[a] * b->eps[c] * b->t[*norm_classes_t(&b->classes, a, c)] *
	       b->z[norm_classes_z(&b->classes, a, c)];
}

static void set_event(struct bench *b, int64_t i, int64_t a, int64_t c, double count)
{
	for (int k = 0; k < 3; k++) {
		b->e.v[i].p1[k] = (float)b->s->pos[3 * a + k];
		b->e.v[i].p2[k] = (float)b->s->pos[3 * c + k];
	}
	b->e.crystal[2 * i] = (uint32_t)a;
	b->e.crystal[2 * i + 1] = (uint32_t)c;
	b->e.count[i] = (iso_real)count;
}

static void draw(struct bench *b)
{
	const int64_t pairs = b->rows.first[N];
	struct source source;
	int64_t i = 0;

	OK(source_parse(&source, "cylinder:1.5,-1,0,45,40"));
	b->e.n = pairs;
	b->e.v = calloc((size_t)pairs, sizeof *b->e.v);
	b->e.count = calloc((size_t)pairs, sizeof *b->e.count);
	b->e.crystal = calloc(2 * (size_t)pairs, sizeof *b->e.crystal);
	b->t = calloc((size_t)b->classes.n_t, sizeof *b->t);
	b->z = calloc((size_t)b->classes.n_z, sizeof *b->z);
	for (int64_t a = 0; a < N; a++) b->eps[a] = a == DEAD ? 0 : .7 + .6 * uniform(a, 1);
	for (int64_t k = 0; k < b->classes.n_t; k++) b->t[k] = .9 + .2 * uniform(k, 2);
	for (int64_t l = 0; l < b->classes.n_z; l++) b->z[l] = .9 + .2 * uniform(l, 3);
	for (int64_t a = 0; a < N; a++)
		for (int64_t c = a + 1; c < N; c++)
			if (norm_rows_pair(&b->rows, a, c) >= 0)
				set_event(b, i++, a, c, 2 * factor(b, a, c) * expected(b, &source, a, c));
	assert_int_equal(i, pairs);
}

static void begin(struct bench *b)
{
	char path[] = "/tmp/isotome-norm-XXXXXX.yaml";
	const int fd = mkstemps(path, 5);

	*b = (struct bench){ .ctx = cpu(1) };
	assert_int_equal(write(fd, ring, strlen(ring)), strlen(ring));
	close(fd);
	OK(iso_scanner_read(&b->s, path));
	unlink(path);
	OK(norm_rows_create(&b->rows, b->s));
	OK(norm_classes_create(&b->classes, b->s, true, true, true));
	draw(b);
}

static void end(struct bench *b)
{
	free(b->e.v);
	free(b->e.count);
	free(b->e.crystal);
	free(b->t);
	free(b->z);
	norm_classes_free(&b->classes);
	norm_rows_free(&b->rows);
	iso_scanner_free(b->s);
	iso_ctx_free(b->ctx);
}

/* The first harmonic belongs to the place: m of pairs through the middle of the source are compared. */
static double farthest(const struct bench *b, const iso_norm *norm)
{
	double scale = 0, n = 0, most = 0;

	for (int pass = 0; pass < 2; pass++)
		for (int64_t a = 0; a < N; a++)
			for (int64_t c = a + 1; c < N; c++) {
				const int64_t apart = llabs(a % AROUND - c % AROUND);
				const double m = factor(b, a, c);

				if (apart < 20 || apart > 30 || m == 0) continue;
				const double ratio = iso_norm_pair(norm, a, c) / m;

				if (pass == 0) {
					scale += ratio;
					n++;
				} else {
					most = larger(most, fabs(ratio * n / scale - 1));
				}
			}
	return most;
}

static void factors_and_place(void **state)
{
	static const struct {
		int rays;
		double mm, factor; /* how far off the place and m may be */
	} cases[] = { { 5, .05, 3e-3 }, { 20, .03, 1.2e-3 } };
	struct iso_norm_found found = { .size = sizeof found };
	struct bench b;

	(void)state;
	begin(&b);
	for (int i = 0; i < N_OF(cases); i++) {
		const struct iso_norm_scan scan = { .size = sizeof scan,
			                            .events = &b.e,
			                            .shape = "cylinder:1,-0.5,0,45,40" };
		const struct iso_norm_fit p = { .size = sizeof p,
			                        .scanner = b.s,
			                        .scan = &scan,
			                        .scans = 1,
			                        .components = ISO_NORM_TRANSAXIAL | ISO_NORM_AXIAL,
			                        .rays = cases[i].rays };
		iso_norm *norm;

		OK(iso_norm_make(&norm, &found, b.ctx, &p));
		NEAR(found.place_mm[0], .5, cases[i].mm);
		NEAR(found.place_mm[1], -.5, cases[i].mm);
		BELOW(farthest(&b, norm), cases[i].factor);
		assert_int_equal(found.dead, 1);
		iso_norm_free(norm);
	}
	end(&b);
}

/* Pairs of dead crystals are not used: a source that all pairs see. */
static void used_pairs(void **state)
{
	struct iso_norm_found found = { .size = sizeof found };
	struct bench b;
	int64_t dead = 0;

	(void)state;
	begin(&b);
	const struct iso_norm_scan scan = { .size = sizeof scan,
		                            .events = &b.e,
		                            .shape = "cylinder:0,0,0,75,40" };
	const struct iso_norm_fit p = {
		.size = sizeof p, .scanner = b.s, .scan = &scan, .scans = 1, .place_given = true, .rays = 1
	};
	iso_norm *norm;

	OK(iso_norm_make(&norm, &found, b.ctx, &p));
	for (int64_t a = 0; a < N; a++) dead += norm_rows_pair(&b.rows, a, DEAD) >= 0;
	assert_int_equal(found.pairs, b.rows.first[N] - dead);
	iso_norm_free(norm);
	end(&b);
}

/* Where memory is short, rows of pairs are made again in every pass: the same bits. */
static void without_tables(void **state)
{
	struct iso_norm_found found[2] = { { .size = sizeof *found }, { .size = sizeof *found } };
	iso_norm *norm[2];
	struct bench b;

	(void)state;
	begin(&b);
	for (int64_t i = 0; i < b.e.n; i++) b.e.count[i] = (iso_real)fmin(floor((double)b.e.count[i]), 255);
	const struct iso_norm_scan scan = { .size = sizeof scan,
		                            .events = &b.e,
		                            .shape = "cylinder:1.5,-1,0,45,40" };
	struct iso_norm_fit p = { .size = sizeof p,
		                  .scanner = b.s,
		                  .scan = &scan,
		                  .scans = 1,
		                  .components = ISO_NORM_TRANSAXIAL | ISO_NORM_AXIAL,
		                  .place_given = true };

	for (int i = 0; i < 2; i++) {
		p.no_tables = i == 1;
		OK(iso_norm_make(norm + i, found + i, b.ctx, &p));
	}
	assert_memory_equal(norm[0]->eps, norm[1]->eps, sizeof b.eps);
	assert_memory_equal(norm[0]->sd, norm[1]->sd, sizeof b.eps);
	assert_memory_equal(norm[0]->t, norm[1]->t, (size_t)b.classes.n_t * sizeof *b.t);
	assert_memory_equal(norm[0]->z, norm[1]->z, (size_t)b.classes.n_z * sizeof *b.z);
	assert_memory_equal(found, found + 1, sizeof *found);
	assert_true(found[0].edges > 0 && found[0].off_sd[0] > 0);
	for (int i = 0; i < 2; i++) iso_norm_free(norm[i]);
	b.e.count[0] = 255.5f;
	REFUSED(iso_norm_make(norm, NULL, b.ctx, &p), ISO_EINPUT, "at most 255; this one has 255.5");
	p.place_given = false;
	REFUSED(iso_norm_make(norm, NULL, b.ctx, &p), ISO_EARG, "a place that is given");
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(factors_and_place), cmocka_unit_test(used_pairs),
		                            cmocka_unit_test(without_tables) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
