/* SPDX-License-Identifier: BSD-3-Clause */
/* Single scatter against vectors: the formula at lines, and an analog Monte Carlo of a water cylinder (tests/data/scatter),
   in absolute counts, without a free scale. */
#include "physics/water.h"
#include "scanner/pairs_kern.h"
#include "scatter/scene.h"
#include "test.h"

#define KAPPA 1.701947e-4 /* mm^2: counts per mm of chord over decays per mm^3 */
#define VOXELS 98800.     /* of the cylinder */
#define DECAYS 700e6      /* of the Monte Carlo */
#define BIN_PS 83.
#define C_MM_PER_PS .299792458

enum { CRYSTALS = 480, RINGS = 40, PAIRS = 42, PLACES = 21, BINS = 41 };

/* The scanner, image and map of phantom (i); voxels of 4 mm, or of 8. */
struct phantom {
	iso_scanner *scanner;
	struct iso_array image, mu;
	struct iso_scatter p;
};

static void phantom_make(struct phantom *o, double decays, int voxel)
{
	int64_t n = 200 / voxel, fine = voxel / 4;
	struct iso_grid g = { { n, n, n }, { voxel, voxel, voxel }, { 0, 0, 0 } };

	OK(iso_scanner_read(&o->scanner, TEST_DATA "/scatter/ring.yaml"));
	OK(iso_array_on_grid(&o->image, &g));
	OK(iso_array_on_grid(&o->mu, &g));
	for (int64_t i = 0; i < 50 * 50 * 50; i++) {
		double x = ((double)(i % 50) - 24.5) * 4, y = ((double)(i / 50 % 50) - 24.5) * 4;
		int64_t at = (i / 2500 / fine * n + i / 50 % 50 / fine) * n + i % 50 / fine;

		if (x * x + y * y > 100 * 100) continue;
		o->image.v[at] += (iso_real)(KAPPA * decays / (VOXELS * 64) / pow((double)fine, 3));
		o->mu.v[at] += (iso_real)(.00957992 / pow((double)fine, 3));
	}
	o->p = (struct iso_scatter){ .size = sizeof o->p,
		                     .method = ISO_SCATTER_SSS,
		                     .scanner = o->scanner,
		                     .image = &o->image,
		                     .mu = &o->mu,
		                     .tof_fwhm_ps = 390 };
}

static void phantom_free(struct phantom *o)
{
	iso_array_free(&o->image);
	iso_array_free(&o->mu);
	iso_scanner_free(o->scanner);
}

static iso_scatter_table *table(iso_ctx *ctx, const struct phantom *o)
{
	iso_scatter_table *t = NULL;

	OK(iso_scatter_create(&t, ctx, &o->p));
	return t;
}

static void set_line(struct iso_event *e, const iso_scanner *s, int64_t a, int64_t b)
{
	const double *pos = iso_scanner_positions(s);

	for (int k = 0; k < 3; k++) {
		e->p1[k] = (float)pos[3 * a + k];
		e->p2[k] = (float)pos[3 * b + k];
	}
	e->dt_ps = 0;
}

static void read_array(struct iso_array *a, const char *name, int64_t n)
{
	char path[500];

	snprintf(path, sizeof path, TEST_DATA "/scatter/%s", name);
	OK(iso_read(a, path, ISO_ANY));
	assert_int_equal(a->n, n);
}

/* ---- physics ---- */

static void constants(void **state)
{
	double sum = 0, cosine = 0, kev = 0, eps = 0, step = 1e-5;
	struct phantom o = { 0 };
	struct scene s;

	(void)state;
	phantom_make(&o, DECAYS, 4);
	OK(scene_create(&s, &o.p));
	NEAR(water_cross_section(WATER_E0), 2.86540e-23, 1e-4 * 2.8654e-23);
	NEAR(water_mu(WATER_E0), .00957992, 1e-8);
	NEAR(water_compton(WATER_E0), .00957855, 2e-8);
	for (double c = -1 + step / 2; c < 1; c += step) {
		double w = 2 * M_PI * water_klein_nishina(WATER_E0, c) * step,
		       e = water_scattered(WATER_E0, c);

		sum += w;
		cosine += w * c;
		kev += w * e;
		eps += w * scene_efficiency(&s, e);
	}
	NEAR(sum / water_cross_section(WATER_E0), 1, 1e-6);
	NEAR(cosine / sum, .29141, 2e-4);
	NEAR(kev / sum, 334.97, .1);
	NEAR(eps / sum, .23671, 5e-4);
	NEAR(s.eps0, .9992733, 1e-6);
	scene_free(&s);
	phantom_free(&o);
}

/* ---- pairs ---- */

struct pairs {
	struct iso_array v; /* (PAIRS, 4 + PLACES - 4): ids, trues, single, single per mm */
	struct iso_event e[PAIRS];
	double u[PLACES - 4];
	double most; /* largest single */
};

static void pairs_read(struct pairs *q, const iso_scanner *s)
{
	read_array(&q->v, "sss_pairs.npy", PAIRS * PLACES);
	for (int i = 0; i < PAIRS; i++) {
		const iso_real *row = q->v.v + i * PLACES;

		set_line(&q->e[i], s, (int64_t)row[0], (int64_t)row[1]);
		q->most = fmax(q->most, (double)row[3]);
	}
	for (int k = 0; k < PLACES - 4; k++) q->u[k] = -160 + 20 * k;
}

/* Of a pair's values per mm. */
static double largest(const iso_real *v)
{
	iso_real most = 0;

	for (int k = 0; k < PLACES - 4; k++)
		if (v[k] > most) most = v[k];
	return (double)most;
}

static double line_integral(const struct iso_array *a, const struct iso_event *e, double *length)
{
	const struct iso_grid *g = &a->grid;
	double d[3], sum = 0, l = 0;
	int steps = 20000;

	for (int k = 0; k < 3; k++) {
		d[k] = (double)e->p2[k] - (double)e->p1[k];
		l += d[k] * d[k];
	}
	*length = sqrt(l);
	for (int i = 0; i < steps; i++) {
		int64_t at[3];
		bool in = true;

		for (int k = 0; k < 3; k++) {
			double x = ((double)e->p1[k] + (i + .5) / steps * d[k]) / g->voxel[k] +
			           (double)g->n[k] / 2;

			at[k] = (int64_t)floor(x);
			in = in && x >= 0 && x < (double)g->n[k];
		}
		if (in) sum += (double)a->v[(at[2] * g->n[1] + at[1]) * g->n[0] + at[0]];
	}
	return sum * *length / steps;
}

/* The trues of the vectors are alpha W (A f): image and vectors have the same unit. */
static void trues_of_pairs(void **state)
{
	struct phantom o = { 0 };
	struct pairs q = { 0 };

	(void)state;
	phantom_make(&o, 1e9, 4);
	pairs_read(&q, o.scanner);
	for (int i = 0; i < PAIRS; i++) {
		double length, p1[3], p2[3];

		for (int k = 0; k < 3; k++) {
			p1[k] = (double)q.e[i].p1[k];
			p2[k] = (double)q.e[i].p2[k];
		}
		double trues = exp(-line_integral(&o.mu, &q.e[i], &length)) * pairs_solid_angle(p1, p2) *
		               line_integral(&o.image, &q.e[i], &length);

		NEAR(trues, (double)q.v.v[i * PLACES + 2], .01 * (double)q.v.v[i * PLACES + 2] + 1e-9);
	}
	iso_array_free(&q.v);
	phantom_free(&o);
}

static void formula_at_pairs(void **state)
{
	struct phantom o = { 0 };
	struct pairs q = { 0 };
	struct iso_events e = { .n = PAIRS, .v = q.e };
	double h[PAIRS * PLACES], all[PAIRS];
	iso_ctx *ctx = cpu(2);

	(void)state;
	phantom_make(&o, 1e9, 4);
	pairs_read(&q, o.scanner);
	o.p.block_mm = 8;
	OK(iso_scatter_single(h, ctx, &o.p, &e, q.u, PLACES - 4));
	OK(iso_scatter_single(all, ctx, &o.p, &e, NULL, 0));
	for (int i = 0; i < PAIRS; i++) {
		const iso_real *row = q.v.v + i * PLACES;
		double most = largest(row + 4);

		NEAR(all[i] / (double)row[3], 1, (double)row[3] > .2 * q.most ? .01 : .015);
		for (int k = 4; k < PLACES; k++)
			NEAR(h[i * (PLACES - 4) + k - 4] / most, (double)row[k] / most, .015);
	}
	iso_array_free(&q.v);
	phantom_free(&o);
	iso_ctx_free(ctx);
}

/* The vectors are of blocks of 8 mm, which on lines far out give 0.4 to 1.5 % more than blocks of 4 mm. */
#define FAR_PAIRS .99

static void check_pairs(iso_ctx *ctx, const struct phantom *o, const iso_scatter_table *t)
{
	struct pairs q = { 0 };
	struct iso_events e = { .n = PAIRS, .v = q.e };
	iso_real h[PAIRS];
	double most[PAIRS];

	const double per = 1e9 / DECAYS;

	pairs_read(&q, o->scanner);
	OK(iso_scatter_at(h, ctx, t, &e, 1e4));
	for (int i = 0; i < PAIRS; i++) NEAR(per * (double)h[i] / (double)q.v.v[i * PLACES + 3], 1, .02);
	for (int i = 0; i < PAIRS; i++) most[i] = largest(q.v.v + i * PLACES + 4);
	for (int k = 4; k < PLACES; k++) {
		for (int i = 0; i < PAIRS; i++) q.e[i].dt_ps = (float)(2 * q.u[k - 4] / C_MM_PER_PS);
		OK(iso_scatter_at(h, ctx, t, &e, 0));
		for (int i = 0; i < PAIRS; i++) {
			bool far = (double)q.v.v[i * PLACES + 3] < .2 * q.most;

			NEAR(per * (double)h[i] / most[i],
			     (far ? FAR_PAIRS : 1) * (double)q.v.v[i * PLACES + k] / most[i], .02);
		}
	}
	iso_array_free(&q.v);
}

/* ---- the histogram of the Monte Carlo ---- */

enum { S_BINS = 30, RD_BINS = 10, OFFSETS = 321, DRAWN = OFFSETS * RINGS * RINGS, DRAWN_TOF = 60000 };

/* An even number below n, from a counter. */
static int64_t draw(uint64_t *state, int64_t n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)((*state >> 33) % (uint64_t)n);
}

/* Lines between crystals: all rings with all rings, all distances round the ring, of drawn crystals; or, where n is not
   DRAWN, drawn alike from all pairs. End 2 is the one of larger y. */
struct drawn {
	struct iso_events e;
	int *s, *rd; /* bins of the histogram */
};

static void drawn_make(struct drawn *d, const iso_scanner *s, int64_t n)
{
	uint64_t state = 7;

	d->e = (struct iso_events){ .n = n, .v = calloc((size_t)n, sizeof *d->e.v) };
	d->s = calloc((size_t)n, sizeof *d->s);
	d->rd = calloc((size_t)n, sizeof *d->rd);
	for (int64_t i = 0; i < n; i++) {
		bool all = n == DRAWN;
		int64_t c1 = draw(&state, CRYSTALS), k = 80 + (all ? i % OFFSETS : draw(&state, OFFSETS));
		int64_t rings = all ? i / OFFSETS % (RINGS * RINGS) : draw(&state, RINGS * RINGS);
		int64_t c2 = (c1 + k) % CRYSTALS, r1 = rings / RINGS, r2 = rings % RINGS;
		const double *pos = iso_scanner_positions(s), *p = pos + 3 * c1, *q = pos + 3 * c2;

		if (q[1] < p[1] - 1e-9 || (fabs(q[1] - p[1]) <= 1e-9 && q[0] < p[0])) {
			int64_t c = c1, r = r1;

			c1 = c2;
			c2 = c;
			r1 = r2;
			r2 = r;
		}
		k = (c2 - c1 + CRYSTALS) % CRYSTALS;
		set_line(&d->e.v[i], s, r1 * CRYSTALS + c1, r2 * CRYSTALS + c2);
		d->s[i] = (int)floor((-337 * cos(M_PI * (double)k / CRYSTALS) + 300 + 1e-9) / 20);
		d->rd[i] = (int)(r2 - r1 + 40) / 8;
	}
}

static void drawn_free(struct drawn *d)
{
	free(d->e.v);
	free(d->s);
	free(d->rd);
}

/* Counts of single scatter, summed up: by |s|, by ring difference, by TOF bin. */
static void sum_hist(double *by_s, double *by_rd, double *by_tof, const struct iso_array *hist)
{
	for (int s = 0; s < S_BINS; s++)
		for (int r = 0; r < RD_BINS; r++)
			for (int b = 0; b < BINS; b++) {
				double n = (double)hist->v[((S_BINS + s) * RD_BINS + r) * BINS + b];

				by_s[s] += n;
				by_rd[r] += n;
				by_tof[b] += n;
			}
}

static double folded(const double *v, int k)
{
	return v[S_BINS / 2 - 1 - k] + v[S_BINS / 2 + k];
}

/* sum over drawn lines of r in each TOF bin, times `scale`. */
static void add_tof(double *by_tof, const iso_scatter_table *t, iso_ctx *ctx, struct drawn *d, double scale)
{
	iso_real *h = calloc((size_t)d->e.n, sizeof *h);

	for (int b = 0; b < BINS; b++) {
		for (int64_t i = 0; i < d->e.n; i++) d->e.v[i].dt_ps = (float)((b - 20) * BIN_PS);
		OK(iso_scatter_at(h, ctx, t, &d->e, BIN_PS));
		for (int64_t i = 0; i < d->e.n; i++) by_tof[b] += (double)h[i] * scale;
	}
	free(h);
}

static void check_histogram(iso_ctx *ctx, const struct phantom *o, const iso_scatter_table *t)
{
	struct iso_array hist = { 0 };
	struct drawn d;
	double s[S_BINS] = { 0 }, rd[RD_BINS] = { 0 }, tof[BINS] = { 0 };
	double want_s[S_BINS] = { 0 }, want_rd[RD_BINS] = { 0 }, want_tof[BINS] = { 0 }, sum = 0, all = 0;
	iso_real *h = calloc(DRAWN, sizeof *h);

	read_array(&hist, "i_hist.npy", (int64_t)4 * S_BINS * RD_BINS * BINS);
	sum_hist(want_s, want_rd, want_tof, &hist);
	for (int k = 0; k < S_BINS; k++) all += want_s[k];
	double pairs = (double)iso_scanner_pairs(o->scanner);

	OK(iso_scatter_sum(&sum, ctx, t, NULL, 1, 1));
	NEAR(sum / all, 1, .01);
	drawn_make(&d, o->scanner, DRAWN);
	OK(iso_scatter_at(h, ctx, t, &d.e, 1e4));
	for (int64_t i = 0; i < DRAWN; i++) {
		s[d.s[i]] += (double)h[i] * pairs / DRAWN;
		rd[d.rd[i]] += (double)h[i] * pairs / DRAWN;
	}
	for (int k = 0; k < 9; k++) {
		print_message("|s| %3d mm %.4f\n", 20 * k + 10, folded(s, k) / folded(want_s, k));
		NEAR(folded(s, k) / folded(want_s, k), 1, k < 7 ? .02 : .06);
	}
	for (int k = 0; k < RD_BINS; k++) NEAR(rd[k] / want_rd[k], 1, .02);
	drawn_free(&d);
	drawn_make(&d, o->scanner, DRAWN_TOF);
	add_tof(tof, t, ctx, &d, pairs / DRAWN_TOF);
	for (int b = 10; b <= 30; b++) {
		print_message("TOF bin %3d %.4f\n", b - 20, tof[b] / want_tof[b]);
		NEAR(tof[b] / want_tof[b], 1, .03);
	}
	print_message("total %.4f\n", sum / all);
	drawn_free(&d);
	iso_array_free(&hist);
	free(h);
}

/* ---- coarse pairs ---- */

enum {
	COARSE = 3678,
	SECTORS = 24,
	SIDE = 8,
	WIDE = 10
}; /* lines from SIDE places in each of two coarse detectors;
							      TOF bins of twice the width, -WIDE to WIDE */

/* Place k of SIDE in a coarse detector of 20 crystals by 8 rings: 4 azimuths, 2 heights. */
static void coarse_place(float p[3], int detector, int k)
{
	double crystal = detector % SECTORS * 20 + k % 4 * 5 + 2.5,
	       ring = detector / SECTORS * 8 + k / 4 * 4 + 2.;

	p[0] = (float)(337 * cos(2 * M_PI * crystal / CRYSTALS));
	p[1] = (float)(337 * sin(2 * M_PI * crystal / CRYSTALS));
	p[2] = (float)((ring - RINGS / 2.) * 5);
}

/* Expected singles of each coarse pair, and their mean u. */
static void coarse_estimate(double *counts, double *u, const iso_scatter_table *t, iso_ctx *ctx,
                            const iso_real *pair)
{
	int64_t n = (int64_t)COARSE * SIDE * SIDE;
	struct iso_events e = { .n = n, .v = calloc((size_t)n, sizeof *e.v) };
	iso_real *h = calloc((size_t)n, sizeof *h);

	for (int64_t i = 0; i < n; i++) {
		coarse_place(e.v[i].p1, (int)pair[2 * (i / (SIDE * SIDE))], (int)(i % SIDE));
		coarse_place(e.v[i].p2, (int)pair[2 * (i / (SIDE * SIDE)) + 1], (int)(i / SIDE % SIDE));
	}
	for (int b = -WIDE; b <= WIDE; b++) {
		for (int64_t i = 0; i < n; i++) e.v[i].dt_ps = (float)(b * 2 * BIN_PS);
		OK(iso_scatter_at(h, ctx, t, &e, 2 * BIN_PS));
		for (int64_t i = 0; i < n; i++) {
			double r = (double)h[i] * 160 * 160 / (SIDE * SIDE);

			counts[i / (SIDE * SIDE)] += r;
			u[i / (SIDE * SIDE)] += r * b * 2 * BIN_PS * C_MM_PER_PS / 2;
		}
	}
	for (int i = 0; i < COARSE; i++) u[i] /= counts[i] > 0 ? counts[i] : 1;
	free(e.v);
	free(h);
}

static void check_coarse_pairs(iso_ctx *ctx, const iso_scatter_table *t)
{
	struct iso_array pair = { 0 }, seen = { 0 }, mean = { 0 };
	double *counts = calloc(COARSE, sizeof *counts), *u = calloc(COARSE, sizeof *u);
	double pull = 0, worst = 0, pull_u = 0;
	int n = 0;

	read_array(&pair, "i_pairs.npy", 2 * COARSE);
	read_array(&seen, "i_pair_counts.npy", 4 * COARSE);
	read_array(&mean, "i_pair_u.npy", 4 * COARSE);
	coarse_estimate(counts, u, t, ctx, pair.v);
	for (int i = 0; i < COARSE; i++) {
		int apart = abs((int)pair.v[2 * i] % SECTORS - (int)pair.v[2 * i + 1] % SECTORS);
		double c = (double)seen.v[4 * i + 1];

		if (apart < 5 || apart > 19 || !(c > 100)) continue;
		double d = (counts[i] - c) / sqrt(c + 1e-4 * counts[i] * counts[i]);
		double e = (u[i] - (double)mean.v[4 * i + 2]) / ((double)mean.v[4 * i + 3] / sqrt(c));

		pull += d * d;
		pull_u += e * e;
		worst = fmax(worst, fabs(d));
		n++;
	}
	print_message("%d coarse pairs: rms pull %.3f, worst %.2f, of the mean u %.3f\n", n, sqrt(pull / n),
	              worst, sqrt(pull_u / n));
	assert_true(n > 2600);
	BELOW(sqrt(pull / n), 1.15);
	BELOW(worst, 5);
	BELOW(sqrt(pull_u / n), 1.15);
	iso_array_free(&pair);
	iso_array_free(&seen);
	iso_array_free(&mean);
	free(counts);
	free(u);
}

/* ---- the table with its defaults ---- */

static void check_table(iso_ctx *ctx)
{
	struct phantom o = { 0 };
	struct iso_scatter_info info = { .size = sizeof info };

	phantom_make(&o, DECAYS, 4);
	iso_scatter_table *t = table(ctx, &o);

	OK(iso_scatter_describe(&info, t));
	print_message("%" PRId64 " points, %" PRId64 " pairs, %" PRId64 " u: %.3f s\n", info.points,
	              info.pairs, info.cells, info.seconds_sss);
	assert_int_equal(info.points, 1980); /* 880 blocks, those at the surface in parts */
	assert_false(info.cut);
	assert_true(info.ends_active && info.outside_matter == 0);
	check_pairs(ctx, &o, t);
	check_histogram(ctx, &o, t);
	check_coarse_pairs(ctx, t);
	iso_scatter_free(t);
	phantom_free(&o);
}

static void table_of_defaults(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_table(ctx);
	iso_ctx_free(ctx);
}

CUDA_TEST(cuda_table_of_defaults, check_table)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants),
		cmocka_unit_test(trues_of_pairs),
		cmocka_unit_test(formula_at_pairs),
		cmocka_unit_test(table_of_defaults),
		cmocka_unit_test(cuda_table_of_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
