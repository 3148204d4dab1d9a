/* SPDX-License-Identifier: BSD-3-Clause */
/* Photons between two panels: angles against their distributions, sensitivities against the
   reference table, an exact integral and each other, hits worked by hand. */
#include "test.h"

#include "physics/transport.h"

static const struct iso_panels meng = {
	.crystals = { 26, 52 },
	.pitch = { 2, 2 },
	.crystal = { 2, 2, 13 },
	.gap = 50,
	.layers = 1,
	.block = 13,
	.formula = "Lu1.8Y0.2SiO5",
	.density = 7.1,
	.resolution = .2,
	.window = { 250, 750 },
};
static const struct iso_panels dhapet = {
	.crystals = { 104, 72 },
	.pitch = { 2.4, 2.4 },
	.crystal = { 2.1, 2.1, 20 },
	.gap = 60,
	.layers = 2,
	.block = 8,
	.formula = "Lu2SiO5",
	.density = 7.4,
	.resolution = .2,
	.window = { 250, 750 },
};
static const float centre[3] = { 0, 0, 0 };

static struct transport_table table;

static struct transport make(const struct iso_panels *p, const struct iso_transport_options *o)
{
	struct transport t;

	OK(iso_transport_make(&t, &table, p, o));
	return t;
}

static double share(iso_ctx *ctx, const struct transport *t, const float at[3], int64_t n)
{
	int64_t count;

	OK(iso_transport_count(&count, ctx, &(struct transport_source){ t, 1, { at[0], at[1], at[2] }, 0 }, 0,
	                       n));
	return (double)count / (double)n;
}

/* Within 5 standard errors of n decays, and what the reference itself may be off. */
static void expect_share(double got, double want, double slack, int64_t n)
{
	NEAR(got, want, slack + 5 * sqrt(want * (1 - want) / (double)n));
}

/* ---- angles ---- */

/* A random turn has length 1, and the four quadrants join. */
static void turns(void **state)
{
	double c2 = 0, cs = 0, sum[2] = { 0 };
	enum { N = 1 << 16 };

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		uint32_t word = i * (UINT32_MAX / N) + 12345;
		float c, s;

		transport_turn(&c, &s, word);
		NEAR(c * c + s * s, 1, 1e-6);
		sum[0] += (double)c;
		sum[1] += (double)s;
		c2 += (double)(c * c);
		cs += (double)(c * s);
	}
	NEAR(sum[0] / N, 0, 1e-4);
	NEAR(sum[1] / N, 0, 1e-4);
	NEAR(c2 / N, .5, 1e-4);
	NEAR(cs / N, 0, 1e-4);
}

static void deflections(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		struct philox w = philox_draw(3, i, 0);
		float up = 2 * philox_unit(w.w[0]) - 1, flat = sqrtf(1 - up * up), c, s;
		float cosine = 2 * philox_unit(w.w[2]) - 1;

		transport_turn(&c, &s, w.w[1]);
		float d[3] = { flat * c, flat * s, i % 50 ? up : i % 100 ? 1 : -1 };

		if (i % 50 == 0) d[0] = d[1] = 0;
		float e[3] = { d[0], d[1], d[2] };

		transport_deflect(e, cosine, w.w[3]);
		NEAR(e[0] * e[0] + e[1] * e[1] + e[2] * e[2], 1, 3e-6);
		NEAR(d[0] * e[0] + d[1] * e[1] + d[2] * e[2], cosine, 3e-6);
	}
}

/* Mean and mean square of cos from the table against quadrature of Klein and Nishina, at energies
   between those of the table. */
static void compton_angles(void **state)
{
	static const double kev[] = { 10, 60.5, 203, 340, 508, 511 };
	struct transport t = make(&meng, NULL);

	(void)state;
	for (int i = 0; i < N_OF(kev); i++) {
		double sum = 0, mean[2] = { 0 }, got[2] = { 0 };
		enum { N = 200000 };

		for (int j = 0; j < N; j++) {
			double c = -1 + (j + .5) * 2 / N, e = 1 / (1 + kev[i] / 510.99895 * (1 - c));
			double w = e * e * (e + 1 / e - 1 + c * c);
			double g = (double)transport_compton(t.table->compton, (float)kev[i],
			                                     ((float)j + .5f) / N);

			sum += w;
			mean[0] += w * c;
			mean[1] += w * c * c;
			got[0] += g;
			got[1] += g * g;
		}
		NEAR(got[0] / N, mean[0] / sum, 1e-4);
		NEAR(got[1] / N, mean[1] / sum, 1e-4);
	}
}

/* Rayleigh scattering with its rejection, mean of 1 - cos against another sum over the material. */
static void rayleigh_angles(void **state)
{
	struct transport t = make(&meng, NULL);
	double direct[2] = { 0 }, drawn = 0;
	enum { N = 200000 };
	const float kev = 60;

	(void)state;
	for (int i = 0; i < N; i++) {
		double c = (double)material_rayleigh(&table.material, kev, ((float)i + .5f) / N);
		struct philox w = philox_draw(5, (uint64_t)i, 0);

		direct[0] += .5 * (1 + c * c);
		direct[1] += .5 * (1 + c * c) * (1 - c);
		drawn += 1 - (double)transport_rayleigh(&t, kev, philox_unit(w.w[0]), philox_unit(w.w[1]), 0,
		                                        (uint64_t)i, 64);
	}
	NEAR(drawn / N, direct[1] / direct[0], .01 * direct[1] / direct[0]);
}

/* ---- sensitivity ---- */

/* Modes head, block, crystal for windows from 250, 350 and 400 to 750 keV, per cent. */
struct acceptance {
	const struct iso_panels *scanner;
	const char *formula;
	double density, crystal;
	double percent[3][3]; /* window, mode */
};

static const struct acceptance acceptance[] = {
	{ &meng,
	  "Lu1.8Y0.2SiO5",
	  7.1,
	  2,
	  { { 12.50, 12.34, 11.00 }, { 11.25, 10.18, 5.46 }, { 10.95, 9.64, 4.38 } } },
	{ &meng,
	  "Lu1.8Y0.2SiO5",
	  7.1,
	  1.89,
	  { { 10.63, 10.48, 9.37 }, { 9.47, 8.52, 4.63 }, { 9.20, 8.05, 3.73 } } },
	{ &meng,
	  "Lu0.6Y1.4SiO5",
	  5.37,
	  2,
	  { { 5.28, 5.06, 4.10 }, { 3.88, 3.15, 1.26 }, { 3.61, 2.81, .88 } } },
	{ &dhapet,
	  "Lu2SiO5",
	  7.4,
	  2.1,
	  { { 37.91, 37.23, 33.64 }, { 35.17, 28.66, 17.32 }, { 34.40, 26.05, 13.77 } } },
	{ &dhapet,
	  "Lu1.8Y0.2SiO5",
	  7.1,
	  2.1,
	  { { 35.49, 34.73, 31.15 }, { 32.62, 26.09, 15.41 }, { 31.86, 23.57, 12.12 } } },
};

static void check_acceptance(iso_ctx *ctx, const struct acceptance *a, int64_t n)
{
	static const double low[] = { 250, 350, 400 };
	struct iso_panels p = *a->scanner;
	struct transport reading[9];
	int64_t count[9];

	strcpy(p.formula, a->formula);
	p.density = a->density;
	p.crystal[0] = p.crystal[1] = a->crystal;
	for (int i = 0; i < 9; i++) {
		p.readout = (enum iso_readout)(i % 3);
		p.window[0] = low[i / 3];
		reading[i] = make(&p, NULL);
	}
	OK(iso_transport_count(count, ctx, &(struct transport_source){ reading, 9, { 0 }, 0 }, 0, n));
	for (int i = 0; i < 9; i++)
		expect_share((double)count[i] / (double)n, a->percent[i / 3][i % 3] / 100, 3e-4, n);
}

/* The reference is from at least 2e7 decays, so off by up to .013 points itself, and rounded. */
static void the_reference_table(void **state)
{
	iso_ctx *ctx = cpu(0);

	(void)state;
	for (int i = 0; i < N_OF(acceptance); i++) check_acceptance(ctx, acceptance + i, 300000);
	iso_ctx_free(ctx);
}

/* Scanner with a window that takes every deposit, without blur. */
static struct iso_panels all_energies(void)
{
	struct iso_panels p = meng;

	p.resolution = 0;
	p.window[0] = 0;
	p.window[1] = 2000;
	return p;
}

/* Both photons interact: (1/2pi) integral of (1 - exp(-mu L))^2 / (1 + a^2 + b^2)^1.5 da db over
   the slopes of the head, L the way in the box. */
static double both_interact(double mu)
{
	enum { N = 800 };
	double sum = 0;

	for (int i = 0; i < N; i++)
		for (int j = 0; j < 2 * N; j++) {
			double a = 26 / 25. * (i + .5) / N, b = 52 / 25. * (j + .5) / (2 * N);
			double r = sqrt(1 + a * a + b * b);
			double way = (fmin(38, fmin(26 / a, 52 / b)) - 25) * r;
			double p = 1 - exp(-mu * way);

			sum += p * p / (r * r * r);
		}
	return sum * 26 / 25 / N * 52 / 25 / (2 * N) * 4 / (2 * M_PI);
}

static void the_exact_integral(void **state)
{
	struct iso_panels p = all_energies();
	struct transport t =
		make(&p, &(struct iso_transport_options){ .no_rayleigh = true, .no_reentry = true });
	double want = both_interact((double)t.mu[1]);
	iso_ctx *ctx = cpu(0);

	(void)state;
	NEAR(want, .191128, 3e-6);
	expect_share(share(ctx, &t, centre, 2000000), want, 0, 2000000);
	iso_ctx_free(ctx);
}

/* Photons that come back make .217 points more pairs in which both heads have an interaction: so
   says a second program, in double, with chords through the boxes instead of delta tracking
   (.2168 +- .0005). The difference of the same decays has little noise. */
static void reentry(void **state)
{
	struct iso_panels p = all_energies();
	struct iso_transport_options o = { .no_rayleigh = true };
	iso_ctx *ctx = cpu(0);
	int64_t n = 2000000;
	struct transport t = make(&p, &o);
	double with = share(ctx, &t, centre, n), more = .00217;

	(void)state;
	expect_share(with, .191128 + more, 1e-5, n);
	o.no_reentry = true;
	t = make(&p, &o);
	NEAR(with - share(ctx, &t, centre, n), more, 5 * sqrt(more / (double)n) + 1e-5);
	iso_ctx_free(ctx);
}

/* Decays of a point whose hits lie in the crystals of the scanner. */
static int64_t inside(const struct transport *t, const float at[3], int64_t n)
{
	int64_t count = 0;

	for (int64_t i = 0; i < n; i++) {
		struct transport_hit hit[2];
		bool in = transport_pair(hit, t, at, 0, (uint64_t)i);

		for (int h = 0; h < 2 && in; h++)
			in = hit[h].x >= 0 && hit[h].x < 26 && hit[h].z >= 0 && hit[h].z < 52;
		count += in;
	}
	return count;
}

/* At the edge larger heads see more in the scanner's own crystals; in the middle they do not. */
static void edges_of_heads(void **state)
{
	const float edge[3] = { 25, 0, 0 };
	struct transport t = make(&meng, NULL);
	int64_t n = 300000;

	(void)state;
	expect_share((double)inside(&t, edge, n) / (double)n, .0049, 1e-4, n);
	t = make(&meng, &(struct iso_transport_options){ .extended = { 104, 104 } });
	expect_share((double)inside(&t, edge, n) / (double)n, .0073, 1e-4, n);
	expect_share((double)inside(&t, centre, n) / (double)n, .1235, 1e-4, n);
}

/* ---- hits ---- */

static uint32_t key(int head, int layer, int x, int z)
{
	return (uint32_t)head << 31 | (uint32_t)layer << 26 | (uint32_t)x << 13 | (uint32_t)z;
}

/* Deposits in the upper head: 100 and 90 keV in one crystal, 150 and 140 in two others, of
   different layers and blocks; 511 in the lower head. No blur. */
static void the_largest_deposit(void **state)
{
	struct iso_panels p = dhapet;
	struct transport_track a = { { 480, 0 },
		                     4,
		                     { key(0, 0, 10, 11), key(0, 1, 10, 13), key(0, 0, 10, 11),
		                       key(0, 1, 21, 11) },
		                     { 100, 150, 90, 140 } };
	struct transport_track b = { { 0, 511 }, 1, { key(1, 0, 3, 4) }, { 511 } };
	struct transport_hit hit[2];

	(void)state;
	p.resolution = 0;
	struct transport t = make(&p, NULL);

	assert_true(transport_combine(hit, &t, &a, &b, 0, 0, 0)); /* head: 480 keV */
	assert_int_equal(hit[0].x, 10);
	assert_int_equal(hit[0].z, 11);
	assert_int_equal(hit[0].layer, 0);
	NEAR(hit[0].kev, 480, 1e-4);
	assert_int_equal(hit[1].x, 3);
	assert_int_equal(hit[1].z, 4);
	t.centroid = true; /* x (10 340 + 21 140)/480 = 13.2, z 11.6, layer .6 */
	assert_true(transport_combine(hit, &t, &a, &b, 0, 0, 0));
	assert_int_equal(hit[0].x, 13);
	assert_int_equal(hit[0].z, 12);
	assert_int_equal(hit[0].layer, 1);
	t.first_layer = true;
	assert_true(transport_combine(hit, &t, &a, &b, 0, 0, 0));
	assert_int_equal(hit[0].layer, 0);
	p.readout = ISO_READ_BLOCK; /* blocks of 8: 340 keV and 140 keV */
	t = make(&p, NULL);
	assert_true(transport_combine(hit, &t, &a, &b, 0, 0, 0));
	NEAR(hit[0].kev, 340, 1e-4);
	p.readout = ISO_READ_CRYSTAL; /* 190, 150, 140 keV: all below 250 */
	t = make(&p, NULL);
	assert_false(transport_combine(hit, &t, &a, &b, 0, 0, 0));
	p.window[0] = 145;
	t = make(&p, NULL);
	assert_true(transport_combine(hit, &t, &a, &b, 0, 0, 0));
	NEAR(hit[0].kev, 190, 1e-4);
	assert_int_equal(hit[0].x, 10);
	p.window[1] = 180; /* 190 and 511 lie above */
	t = make(&p, NULL);
	assert_false(transport_combine(hit, &t, &a, &b, 0, 0, 0));
}

/* sigma(E) = R/2.3548 sqrt(511 E). */
static void the_blur(void **state)
{
	struct iso_panels p = meng;
	struct transport_track a = { { 300, 0 }, 1, { key(0, 0, 1, 1) }, { 300 } };
	struct transport_track b = { { 0, 511 }, 1, { key(1, 0, 1, 1) }, { 511 } };
	double sum[2] = { 0 }, square[2] = { 0 }, both = 0;
	enum { N = 200000 };

	(void)state;
	p.window[0] = 1;
	p.window[1] = 2000;
	struct transport t = make(&p, NULL);

	for (int i = 0; i < N; i++) {
		struct transport_hit hit[2] = { 0 };

		assert_true(transport_combine(hit, &t, &a, &b, 0, 0, (uint64_t)i));
		double d[2] = { (double)hit[0].kev - 300, (double)hit[1].kev - 511 };

		for (int h = 0; h < 2; h++) {
			sum[h] += d[h];
			square[h] += d[h] * d[h];
		}
		both += d[0] * d[1];
	}
	for (int h = 0; h < 2; h++) {
		double sigma = .2 / 2.35482 * sqrt(511. * (h ? 511 : 300));

		NEAR(sum[h] / N, 0, 5 * sigma / sqrt(N));
		NEAR(sqrt(square[h] / N), sigma, 5 * sigma / sqrt(2. * N));
	}
	NEAR(both / N / sqrt(square[0] / N * square[1] / N), 0, 5 / sqrt(N));
}

/* Crystals of larger heads count from the scanner's first, and mirror points mirror the counts. */
static void numbers_of_crystals(void **state)
{
	struct transport t = make(&meng, &(struct iso_transport_options){ .extended = { 104, 104 } });
	int low[2] = { 0, 0 }, high[2] = { 0, 0 };
	double mean[2] = { 0 };
	int64_t n = 0;

	(void)state;
	for (uint64_t i = 0; i < 200000; i++) {
		struct transport_hit hit[2];

		if (!transport_pair(hit, &t, centre, 0, i)) continue;
		for (int h = 0; h < 2; h++) {
			int at[2] = { hit[h].x, hit[h].z };

			for (int a = 0; a < 2; a++) {
				low[a] = at[a] < low[a] ? at[a] : low[a];
				high[a] = at[a] > high[a] ? at[a] : high[a];
				mean[a] += at[a];
			}
		}
		n += 2;
	}
	assert_int_equal(low[0], -39);
	assert_int_equal(high[0], 64);
	assert_int_equal(low[1], -26);
	assert_int_equal(high[1], 77);
	NEAR(mean[0] / (double)n, 12.5, 5 * 30 / sqrt((double)n));
	NEAR(mean[1] / (double)n, 25.5, 5 * 30 / sqrt((double)n));
}

/* A point beside the heads is seen through their sides, one beyond a face not at all. */
static void points_outside(void **state)
{
	const float beside[3] = { 27, 20, 0 }, beyond[3] = { 0, 26, 0 };
	struct iso_panels p = all_energies();
	struct transport t = make(&p, NULL);
	iso_ctx *ctx = cpu(0);

	(void)state;
	assert_true(share(ctx, &t, beside, 100000) > 1e-4);
	NEAR(share(ctx, &t, beyond, 100000), 0, 0);
	iso_ctx_free(ctx);
}

/* ---- options ---- */

/* Mean distance between decay and annihilation, in no direction more than in another. */
static void positron_range(void **state)
{
	static const struct {
		const char *isotope;
		double mean; /* distance: sum of weight x 2 / k */
	} table_of[] = { { "F-18", .5977 }, { "C-11", 1.0421 }, { "O-15", 2.1600 }, { "Ga-68", 2.5200 } };

	(void)state;
	for (int i = 0; i < N_OF(table_of); i++) {
		struct transport t =
			make(&meng, &(struct iso_transport_options){ .positron = table_of[i].isotope });
		double sum = 0, along[3] = { 0 };
		enum { N = 100000 };

		for (uint64_t k = 0; k < N; k++) {
			float q[3] = { 0, 0, 0 };

			transport_range(q, &t, 0, k);
			sum += sqrt((double)(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]));
			for (int a = 0; a < 3; a++) along[a] += (double)q[a];
		}
		NEAR(sum / N, table_of[i].mean, .01 * table_of[i].mean);
		for (int a = 0; a < 3; a++) NEAR(along[a] / N, 0, .02 * table_of[i].mean);
	}
	struct transport t;

	REFUSED(iso_transport_make(&t, &table, &meng, &(struct iso_transport_options){ .positron = "Rb-82" }),
	        ISO_EARG, "Rb-82");
}

/* Angles between the photons: Gaussian about two axes, 0.5 degrees FWHM each. */
static void acollinearity(void **state)
{
	struct transport t = make(&meng, &(struct iso_transport_options){ .acollinearity = true });
	double square = 0, want = 2 * pow(.5 * M_PI / 180 / 2.35482, 2);
	enum { N = 20000 };
	int n = 0;

	(void)state;
	for (uint64_t k = 0; k < N; k++) {
		struct transport_line l;

		if (!transport_line(&l, &t, centre, 0, k) || !l.reach[0] || !l.reach[1]) continue;
		double cross[3] = { /* of both as they are in space: the lower one's w is -y */
			            (double)(l.dir[0][1] * l.dir[1][2] + l.dir[0][2] * l.dir[1][1]),
			            (double)(l.dir[0][2] * l.dir[1][0] - l.dir[0][0] * l.dir[1][2]),
			            (double)(-l.dir[0][0] * l.dir[1][1] - l.dir[0][1] * l.dir[1][0])
		};

		for (int a = 0; a < 3; a++) square += cross[a] * cross[a];
		n++;
	}
	NEAR(square / n, want, 5 * want / sqrt(n));
}

/* All combinations of m outcomes have the mean of the plain pairs; the first of them is the pair. */
static void outcomes(void **state)
{
	struct transport t = make(&meng, NULL);
	enum { M = 4, N = 200000 };
	int64_t count = 0;

	(void)state;
	for (uint64_t k = 0; k < N; k++) {
		struct transport_track a[M], b[M];
		struct transport_hit hit[2];
		struct transport_line l;

		if (!transport_line(&l, &t, centre, 0, k)) continue;
		for (uint32_t i = 0; i < M; i++) {
			transport_outcome(a + i, &t, &l, 0, i, 0, k);
			transport_outcome(b + i, &t, &l, 1, i, 0, k);
		}
		for (uint32_t i = 0; i < M * M; i++)
			count += transport_combine(hit, &t, a + i / M, b + i % M, i, 0, k);
		assert_int_equal(transport_combine(hit, &t, a, b, 0, 0, k),
		                 transport_pair(hit, &t, centre, 0, k));
	}
	expect_share((double)count / N / (M * M), .125, 2e-4, N);
}

static void bad_arguments(void **state)
{
	struct iso_panels p = meng;
	struct transport t;

	(void)state;
	REFUSED(iso_transport_make(&t, &table, &p,
	                           &(struct iso_transport_options){ .extended = { 20, 104 } }),
	        ISO_EARG, "extended to 20");
	REFUSED(iso_transport_make(&t, &table, &p,
	                           &(struct iso_transport_options){ .extended = { 8194, 104 } }),
	        ISO_EARG, "at most 8192");
	p.readout = ISO_READ_BLOCK;
	REFUSED(iso_transport_make(&t, &table, &p,
	                           &(struct iso_transport_options){ .extended = { 104, 104 } }),
	        ISO_EARG, "can't be extended");
	p.block = 0;
	REFUSED(iso_transport_make(&t, &table, &p, NULL), ISO_EARG, "blocks of 0");
	p = meng;
	p.window[0] = 800;
	REFUSED(iso_transport_make(&t, &table, &p, NULL), ISO_EARG, "window 800 to 750");
	p = meng;
	p.pitch[1] = 1.9;
	REFUSED(iso_transport_make(&t, &table, &p, NULL), ISO_EARG, "pitch of 1.9");
	p = meng;
	strcpy(p.formula, "Xx2");
	REFUSED(iso_transport_make(&t, &table, &p, NULL), ISO_EINPUT, "Xx");
}

/* ---- devices ---- */

/* The same decays on any number of threads. */
static void threads(void **state)
{
	struct transport t = make(&meng, NULL);
	int64_t count[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		iso_ctx *ctx = cpu(1 + 2 * i);

		OK(iso_transport_count(count + i, ctx, &(struct transport_source){ &t, 1, { 0 }, 0 }, 1000,
		                       50001));
		iso_ctx_free(ctx);
	}
	assert_int_equal(count[0], count[1]);
	for (uint64_t i = 1000; i < 51001; i++) {
		struct transport_hit hit[2];

		count[0] -= transport_pair(hit, &t, centre, 0, i);
	}
	assert_int_equal(count[0], 0);
}

static void check_cuda(iso_ctx *ctx)
{
	struct transport t = make(&meng, NULL);
	iso_ctx *host = cpu(0);
	int64_t n = 2000000;

	/* the same random numbers: only rounding parts them */
	NEAR(share(ctx, &t, centre, n), share(host, &t, centre, n), 2e-5);
	for (int i = 0; i < N_OF(acceptance); i++) check_acceptance(ctx, acceptance + i, 20000000);
	iso_ctx_free(host);
}

CUDA_TEST(cuda_sees_the_same, check_cuda)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns),
		cmocka_unit_test(deflections),
		cmocka_unit_test(compton_angles),
		cmocka_unit_test(rayleigh_angles),
		cmocka_unit_test(the_reference_table),
		cmocka_unit_test(the_exact_integral),
		cmocka_unit_test(reentry),
		cmocka_unit_test(edges_of_heads),
		cmocka_unit_test(the_largest_deposit),
		cmocka_unit_test(the_blur),
		cmocka_unit_test(numbers_of_crystals),
		cmocka_unit_test(points_outside),
		cmocka_unit_test(positron_range),
		cmocka_unit_test(acollinearity),
		cmocka_unit_test(outcomes),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(threads),
		cmocka_unit_test(cuda_sees_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
