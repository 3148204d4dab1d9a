/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of barrels at points against reference vectors: chance and moments of the hits, covariance, the three kernels,
   the ends of strips; what is left by brute force; columns that an event visits; two thin strips as model strip has them; also built in double. */
#include "../barrel_vectors.h"
#include "model/barrel/barrel_table.h"

enum { POINTS = 120, COLUMNS_OF_ROWS = 10 };

static struct barrel_params params(const struct iso_barrel_strip *strip)
{
	static struct barrel_place place[BARREL_STRIPS];

	for (int i = 0; i < BARREL_STRIPS; i++) place[i] = barrel_place(strip + i);
	return (struct barrel_params){
		.place = place,
		.mu = .0096,
		.end_sigma = 60,
		.light_speed = .126,
		.attenuation = 300,
		.cut2 = 9,
		.n = { BARREL_NX, BARREL_NY, BARREL_NZ },
		.pixel = 6,
		.plane = 5,
		.first = { -33, -39, -22.5 },
	};
}

static struct iso_barrel_event event_of(const double *v)
{
	return (struct iso_barrel_event){ (int32_t)v[0], (int32_t)v[1], (iso_real)v[2], (iso_real)v[3],
		                          (iso_real)v[4] };
}

static void covariance(void **state)
{
	struct iso_barrel_strip *strip = barrel_strips();
	struct barrel_params p = params(strip);
	double *v = barrel_values("kernel_points", POINTS * 9), *c = barrel_values("kernel_cov", POINTS * 9);

	(void)state;
	for (int i = 0; i < POINTS; i++) {
		struct barrel_cov got = barrel_covariance(&p, v[9 * i + 2], v[9 * i + 3]);
		const double *want = c + 9 * i;
		double tolerance = BARREL_TOLERANCE(1e-10, 1e-4);

		NEAR((double)got.aa, want[0], tolerance);
		NEAR((double)got.bb, want[4], tolerance);
		NEAR((double)got.dd, want[8], tolerance);
		NEAR((double)got.ab, want[1], tolerance);
		NEAR((double)got.ad, want[2], tolerance);
		NEAR((double)got.bd, want[5], tolerance);
	}
	free(strip);
	free(v);
	free(c);
}

static void rows(void **state)
{
	struct iso_barrel_strip *strip = barrel_strips();
	struct barrel_params p = params(strip);
	double *v = barrel_values("kernel_points", POINTS * 9),
	       *r = barrel_values("kernel_rows", POINTS * 10);
	double most = 0;

	(void)state;
	for (int i = 0; i < POINTS; i++) most = fmax(most, r[10 * i]);
	for (int i = 0; i < POINTS; i++) {
		const double *at = v + 9 * i, *want = r + COLUMNS_OF_ROWS * i;
		struct iso_barrel_event e = event_of(at);
		struct barrel_line l = { 0 };
		struct barrel_column k = { 0 };

		assert_true(barrel_line(&l, &p, &e, 1));
		double x = at[5] - (double)l.pair.middle[0], w = at[6] - (double)l.pair.middle[1];
		iso_real y = (iso_real)(x * (double)l.pair.e[0] + w * (double)l.pair.e[1]);
		iso_real d = (iso_real)(w * (double)l.pair.e[0] - x * (double)l.pair.e[1]);
		struct barrel_hits h = barrel_hits(&l.pair, y, d, (iso_real)at[8], l.s);

		NEAR((double)h.t, want[0], BARREL_TOLERANCE(1e-9 * want[0], 1e-3 * most));
		if (!(want[0] > 1e-3 * most)) continue;
		const double place = BARREL_TOLERANCE(1e-7, .05);

		NEAR((double)h.m_a, want[1], place);
		NEAR((double)h.m_b, want[2], place);
		NEAR((double)h.v_a, want[3], place);
		NEAR((double)h.v_b, want[4], place);
		NEAR((double)h.v_ab, want[5], place);
		assert_true(barrel_column(&k, &l, y, &h));
		const double small = BARREL_TOLERANCE(1e-8, 1e-3);

		NEAR(2 * (double)(k.sharp * k.sharp), want[6], small * want[6]);
		NEAR((double)k.least, want[7], small * (1 + want[7]));
		NEAR((double)k.zc, want[8], small * 10);
		NEAR(1 / sqrt((double)k.al), want[9], small * want[9]);
	}
	free(strip);
	free(v);
	free(r);
}

/* Between the tilts of a table, the hits are those at the event's own tilt. */
static void between_tilts(void **state)
{
	struct iso_barrel_strip *strip = barrel_strips();
	struct barrel_params p = params(strip);
	double *v = barrel_values("kernel_points", POINTS * 9);
	double t = 0, mm = 0, top = 0;
	int n = 0;

	(void)state;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < POINTS; i++) {
			const double *at = v + 9 * i;
			struct iso_barrel_event e = event_of(at);
			struct barrel_line l = { 0 };
			iso_real kept[BARREL_NODES * BARREL_VALUES], weight[BARREL_NODES];

			assert_true(barrel_line(&l, &p, &e, 1));
			double x = at[5] - (double)l.pair.middle[0], w = at[6] - (double)l.pair.middle[1];
			iso_real y = (iso_real)(x * (double)l.pair.e[0] + w * (double)l.pair.e[1]);
			iso_real d = (iso_real)(w * (double)l.pair.e[0] - x * (double)l.pair.e[1]);
			struct barrel_hits own = barrel_hits(&l.pair, y, d, (iso_real)at[8], l.s), h;
			int interval = barrel_interval(l.s);

			assert_in_range(interval, 0, BARREL_INTERVALS - 1);
			for (int k = 0; k < BARREL_NODES; k++) {
				iso_real s = barrel_node(interval, k);

				h = barrel_hits(&l.pair, y, d, (iso_real)at[8], s);
				barrel_keep(kept + k * BARREL_VALUES, 1, &h, s);
			}
			barrel_weights(weight, interval, l.s);
			top = fmax(top, (double)own.t);
			if (round == 0 || !((double)own.t > 1e-3 * top)) continue;
			assert_true(barrel_kept_hits(&h, kept, 1, weight, l.s));
			t = fmax(t, fabs((double)(h.t / own.t) - 1));
			mm = fmax(mm, fmax(fabs((double)(h.m_a - own.m_a)), fabs((double)(h.m_b - own.m_b))));
			n++;
		}
	print_message("tables: %d points, T within %.3g, mean hits within %.3g mm\n", n, t, mm);
	assert_true(n > 20);
	assert_true(t < 2e-3);
	assert_true(mm < 1e-3);
	assert_int_equal(barrel_interval(10), -1);
	free(strip);
	free(v);
}

/* P at the points, with every kernel; relative error, rms and largest, at E <= 9. */
static void compare(const char *name, enum iso_barrel_kernel kernel, bool edge, double rms, double largest)
{
	struct iso_barrel_strip *strip = barrel_strips();
	struct barrel_params p = params(strip);
	double *v = barrel_values("kernel_points", POINTS * 9), *want = barrel_values(name, POINTS);
	double *row = barrel_values("kernel_rows", POINTS * 10);
	double sum = 0, most = 0, top = 0;
	int n = 0;

	for (int i = 0; i < POINTS; i++) top = fmax(top, isfinite(want[i]) ? want[i] : 0);
	for (int i = 0; i < POINTS; i++) {
		const double *at = v + 9 * i;
		struct iso_barrel_event e = event_of(at);
		struct barrel_line l = { 0 };
		struct barrel_column k = { 0 };
		iso_real z = (iso_real)at[7];

		assert_true(barrel_line(&l, &p, &e, 1));
		bool there =
			barrel_column_at(&k, &l, kernel, (iso_real)at[5], (iso_real)at[6], (iso_real)at[8]);

		if (!isfinite(want[i]) || !(row[10 * i + 7] < 9) || want[i] < 1e-3 * top) continue;
		assert_true(there);
		double got = (double)barrel_value(&k, z) * (edge ? (double)barrel_edge(&l, &k, z) : 1);
		double error = fabs(got / want[i] - 1);

		sum += error * error;
		most = fmax(most, error);
		n++;
	}
	print_message("%s: %d points, rms %.3g, largest %.3g\n", name, n, sqrt(sum / n), most);
	assert_true(n > 20);
	assert_true(sqrt(sum / n) < rms);
	assert_true(most < largest);
	free(strip);
	free(v);
	free(want);
	free(row);
}

static void values(void **state)
{
	const double rms = BARREL_TOLERANCE(1e-8, 5e-4), largest = BARREL_TOLERANCE(1e-8, 5e-3);

	(void)state;
	compare("kernel_moment", ISO_BARREL_MOMENT, false, rms, largest);
	compare("kernel_edge", ISO_BARREL_MOMENT, true, rms, largest);
	compare("kernel_depth", ISO_BARREL_DEPTH, false, rms, largest);
	compare("kernel_thin", ISO_BARREL_THIN, false, rms, largest);
}

/* Against the integral over directions, depths and tilts: what moments leave out. */
static void exact(void **state)
{
	(void)state;
	compare("kernel_exact", ISO_BARREL_MOMENT, false, .011, .05);
}

/* No pixel that the kernel reaches is missed by the tube of an event: rows of A as the vectors have them. */
static void whole_rows(void **state)
{
	struct iso_barrel_strip *strip = barrel_strips();
	struct barrel_params p = params(strip);
	double *v = barrel_values("events", BARREL_EVENTS * 5);
	float *want = barrel_read("rows_first20", 20 * BARREL_VOXELS, sizeof *want);

	(void)state;
	for (int j = 0; j < 20; j++) {
		struct iso_barrel_event e = event_of(v + 5 * j);
		double *got = calloc(BARREL_VOXELS, sizeof *got), top = 0;
		struct barrel_line l = { 0 };

		assert_true(barrel_line(&l, &p, &e, 1));
		struct barrel_tube t = barrel_tube(&p, &l);

		for (int i = 0; i < t.n * t.wide; i++) {
			struct barrel_column k = { 0 };
			int ix, iy, first, n;

			if (!barrel_candidate(&ix, &iy, &p, &t, i) ||
			    !barrel_column_at(&k, &l, p.kernel, p.first[0] + (iso_real)ix * p.pixel,
			                      p.first[1] + (iso_real)iy * p.pixel, p.pixel) ||
			    !barrel_planes(&first, &n, &p, &k))
				continue;
			for (int z = first; z < first + n; z++) {
				double *to = got + (z * BARREL_NY + iy) * BARREL_NX + ix;

				assert_true(*to == 0);
				*to = (double)barrel_value(&k, p.first[2] + (iso_real)z * p.plane);
			}
		}
		const float *row = want + j * BARREL_VOXELS;

		for (int i = 0; i < BARREL_VOXELS; i++) top = fmax(top, (double)row[i]);
		for (int i = 0; i < BARREL_VOXELS; i++)
			NEAR(got[i], (double)row[i], BARREL_TOLERANCE(1e-7, 5e-3) * top);
		free(got);
	}
	free(strip);
	free(v);
	free(want);
}

/* Two thin strips: model strip's kernel tan, but for the angle across, over which it does not integrate. */
static void two_strips(void **state)
{
	enum { STRIP_POINTS = 512 };
	const struct iso_barrel_strip strip[2] = { { 0, 130, 0, M_PI / 2, 1, 1, 300 },
		                                   { 0, -130, 0, M_PI / 2, 1, 1, 300 } };
	const struct barrel_place place[2] = { barrel_place(strip), barrel_place(strip + 1) };
	const struct barrel_params p = {
		.place = place, .mu = .0096, .sigma_z = 10, .sigma_dl = 40, .cut2 = 9
	};
	const struct barrel_hits hits = { .t = 1 };
	double *at = test_data(TEST_DATA "/jpet", "kernel_points.f64", STRIP_POINTS * 5, sizeof *at);
	double *want = test_data(TEST_DATA "/jpet", "kernel_tan.f64", STRIP_POINTS, sizeof *want);

	(void)state;
	for (int i = 0; i < STRIP_POINTS; i++) {
		const double *v = at + 5 * i;
		const struct iso_barrel_event e = { 0, 1, (iso_real)v[0], (iso_real)v[1], (iso_real)v[2] };
		struct barrel_column k = { 0 };
		struct barrel_line l = { 0 };

		assert_true(barrel_line(&l, &p, &e, 1));
		assert_true(barrel_column(&k, &l, (iso_real)v[3], &hits));
		double tau = (double)(k.tau - k.slope * ((iso_real)v[4] - k.zc));

		NEAR((double)barrel_value(&k, (iso_real)v[4]) * sqrt(1 + tau * tau) / M_PI, want[i],
		     BARREL_TOLERANCE(1e-12, 2e-5) * want[i]);
	}
	free(at);
	free(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(covariance), cmocka_unit_test(rows),  cmocka_unit_test(between_tilts),
		cmocka_unit_test(values),     cmocka_unit_test(exact), cmocka_unit_test(whole_rows),
		cmocka_unit_test(two_strips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
