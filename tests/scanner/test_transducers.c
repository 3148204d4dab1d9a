/* SPDX-License-Identifier: BSD-3-Clause */
/* Scanners of the kind transducers: rings, lists, frames, what they hear, and every refusal;
   also built in double. */
#include "oat.h"
#include "files.h"

#include "scanner/scanner.h"

#define RECORD "speed_mm_per_us: 1.5\nsampling_mhz: 20\nsamples: 400\n"
#define SPHERE "kind: transducers\nsphere: {radius_mm: 20, rings: 4, views: 6}\n"
#define LIST "kind: transducers\npositions: p.npy\n"

static int read_text(iso_scanner **s, const char *text)
{
	int st;

	put_text("t.yaml", text);
	st = iso_scanner_read(s, "t.yaml");
	unlink("t.yaml");
	return st;
}

static iso_scanner *scanner(const char *text)
{
	iso_scanner *s = NULL;

	OK(read_text(&s, text));
	return s;
}

static void put_array(const char *path, int rows, int columns, const double *v)
{
	struct iso_array a = { 0 };

	OK(iso_array_create(&a, columns > 1 ? 2 : 1, (const int64_t[]){ rows, columns }));
	for (int i = 0; i < rows * columns; i++) a.v[i] = (iso_real)v[i];
	OK(iso_write(path, &a, NULL));
	iso_array_free(&a);
}

static double dot(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Positions and axes of the reference; the rule gives theta-hat and minus phi-hat. */
static void frames(void **state)
{
	struct iso_transducers t = rings_of("frame");
	struct iso_array ref = vector("frame", "frames");
	const double *const got[] = { t.pos, t.normal, t.ex, t.ey };
	double tolerance = TOLERANCE(2e-6, 1e-13);

	(void)state;
	assert_int_equal(t.n, 12);
	for (int q = 0; q < 12; q++)
		for (int i = 0; i < 12; i++) NEAR(got[i / 3][3 * q + i % 3], ref.v[12 * q + i], tolerance);
	iso_array_free(&ref);
	iso_transducers_free(&t);
}

static void frame_along_z(void **state)
{
	const double down[3] = { 0, 0, -1 }, up[3] = { 0, 0, 1 };
	double ex[3], ey[3];

	(void)state;
	iso_transducer_frame(ex, ey, down);
	assert_true(ex[0] == 1 && ex[1] == 0 && ex[2] == 0 && ey[1] == -1);
	iso_transducer_frame(ex, ey, up);
	assert_true(ex[0] == 1 && ey[1] == 1);
}

/* The default is the whole sphere, rings in the middle of equal patches. */
static void whole_sphere(void **state)
{
	iso_scanner *s = scanner(SPHERE RECORD);
	const struct iso_transducers *t = iso_scanner_transducers(s);
	double sum = 0;

	(void)state;
	assert_int_equal(iso_scanner_kind(s), ISO_TRANSDUCERS);
	assert_int_equal(iso_scanner_crystals(s), 0);
	assert_int_equal(iso_scanner_pairs(s), 0);
	assert_null(iso_scanner_panels(s));
	assert_int_equal(t->n, 24);
	assert_int_equal(t->samples, 400);
	assert_true(t->rings && t->radius == 20 && t->spread == 0 && !t->aperture && !t->eir);
	assert_true(t->gamma == 1 && t->first_us == 0 && t->dt_us == .05 && t->speed == 1.5);
	NEAR(t->pos[3 * 7 + 2], 20 * cos(3 * M_PI / 8), 1e-12);
	NEAR(t->pos[3 * 7], 20 * sin(3 * M_PI / 8) * cos(M_PI / 3), 1e-12);
	for (int q = 0; q < t->n; q++) {
		sum += t->area[q];
		NEAR(dot(t->normal + 3 * q, t->pos + 3 * q), -20, 1e-12);
	}
	/* the paper's patches: sin theta dtheta for the integral over a ring */
	NEAR(sum / (4 * M_PI * 400), M_PI / 8 / sin(M_PI / 8), 1e-12);
	iso_scanner_free(s);
}

static void polar_range(void **state)
{
	iso_scanner *s = scanner("kind: transducers\nsphere: {radius_mm: 65, rings: 64, views: 180, "
	                         "polar_deg: [14, 83], azimuth_deg: 90}\naperture_mm: [2, 3]\n"
	                         "grueneisen: 2000\nfirst_sample_us: 17.5\n" RECORD);
	const struct iso_transducers *t = iso_scanner_transducers(s);
	const double *last = t->pos + 3 * (t->n - 180), degree = M_PI / 180;

	(void)state;
	NEAR(t->pos[2], 65 * cos(14 * degree), 1e-12);
	NEAR(t->pos[0], 0, 1e-12);
	NEAR(last[2], 65 * cos(83 * degree), 1e-12);
	NEAR(t->area[0], 65 * 65 * 69. / 63 * degree * 2 * degree * sin(14 * degree), 1e-9);
	assert_true(t->aperture[2 * 999] == 2 && t->aperture[2 * 999 + 1] == 3);
	assert_true(t->gamma == 2000 && t->first_us == 17.5);
	iso_scanner_free(s);
}

/* One ring is an arc: views in steps of its own. */
static void arc(void **state)
{
	iso_scanner *s = scanner("kind: transducers\nsphere: {radius_mm: 40, rings: 1, views: 10, "
	                         "azimuth_step_deg: 3}\n" RECORD);
	const struct iso_transducers *t = iso_scanner_transducers(s);

	(void)state;
	NEAR(t->pos[3 * 9 + 1], 40 * sin(27 * M_PI / 180), 1e-12);
	NEAR(t->pos[3 * 9 + 2], 0, 1e-12);
	iso_scanner_free(s);
}

static const double corners[12] = { 10, 0, 0, 0, 10, 0, 0, 0, 10, 0, 0, -10 };

/* Normals towards the centre; the sphere is found; areas are not said. */
static void list(void **state)
{
	const double eir[3] = { .5, .25, -.125 };
	iso_scanner *s;
	const struct iso_transducers *t;

	(void)state;
	put_array("p.npy", 4, 3, corners);
	put_array("h.npy", 3, 1, eir);
	s = scanner(LIST "eir: h.npy\n" RECORD);
	t = iso_scanner_transducers(s);
	assert_int_equal(t->n, 4);
	assert_true(!t->rings && !t->area && t->radius == 10 && t->spread == 0);
	for (int i = 0; i < 12; i++) NEAR(t->normal[i], -corners[i] / 10, 1e-15);
	NEAR(t->ex[3 * 0 + 2], -1, 1e-15);
	NEAR(t->ex[3 * 2], 1, 1e-15);
	assert_int_equal(t->n_eir, 3);
	assert_true(t->eir[2] == -.125);
	iso_scanner_free(s);
}

/* Normals and axes are made unit vectors at right angles; apertures and areas one each. */
static void full_list(void **state)
{
	const double normals[12] = { -2, 0, 0, 0, -1, 0, 0, 3, -3, 0, 0, 1 };
	const double axes[12] = { 1, 2, 0, 1, 0, 0, 1, 0, 0, 0, 5, 0 };
	const double apertures[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, areas[4] = { 1, 2, 3, 4 };
	iso_scanner *s;
	const struct iso_transducers *t;

	(void)state;
	put_array("p.npy", 4, 3, corners);
	put_array("n.npy", 4, 3, normals);
	put_array("x.npy", 4, 3, axes);
	put_array("a.npy", 4, 2, apertures);
	put_array("w.npy", 4, 1, areas);
	s = scanner(LIST "normals: n.npy\naxes: x.npy\napertures: a.npy\nareas: w.npy\nradius_mm: 12\n"
	                 "centre_mm: [1, 0, 0]\n" RECORD);
	t = iso_scanner_transducers(s);
	for (int q = 0; q < 4; q++) {
		NEAR(dot(t->normal + 3 * q, t->normal + 3 * q), 1, 1e-15);
		NEAR(dot(t->ex + 3 * q, t->ex + 3 * q), 1, 1e-15);
		NEAR(dot(t->ey + 3 * q, t->ey + 3 * q), 1, 1e-15);
		NEAR(dot(t->ex + 3 * q, t->normal + 3 * q), 0, 1e-15);
	}
	NEAR(t->ex[1], 1, 1e-15);
	NEAR(t->ey[2], -1, 1e-15); /* -x times y */
	assert_true(t->radius == 12 && t->spread > .08 && t->area[3] == 4 && t->aperture[7] == 8);
	iso_scanner_free(s);
}

/* Positions stand in the file as doubles: they are not rounded to float on the way. */
static void doubles_kept(void **state)
{
	static const char head[] = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }";
	unsigned char file[128 + 48] = "\x93NUMPY\x01";
	const double p[6] = { 1. / 3, 9, 2, 3, 4, 5 }; /* x, x, y, y, z, z */
	iso_scanner *s;

	(void)state;
	file[8] = 118;
	memset(file + 10, ' ', 118);
	memcpy(file + 10, head, sizeof head - 1);
	file[127] = '\n';
	memcpy(file + 128, p, sizeof p);
	put("p.npy", file, sizeof file);
	s = scanner(LIST RECORD);
	assert_true(iso_scanner_transducers(s)->pos[0] == 1. / 3);
	assert_true(iso_scanner_transducers(s)->pos[3 + 1] == 3);
	iso_scanner_free(s);
}

static void hearing(void **state)
{
	struct iso_grid g = { { 5, 5, 5 }, { 1, 1, 1 }, { 0, 0, 0 } };
	struct iso_transducers t = { .speed = 2, .dt_us = .5, .samples = 41, .gamma = 1 };
	struct iso_hearing h = { .size = sizeof h };

	(void)state;
	/* polar angle 90 degrees: four transducers on the axes, 10 mm away */
	OK(iso_transducers_rings(&t, &(struct iso_rings){ 10, 1, 4, M_PI / 2, M_PI, 0, M_PI / 2 }));
	OK(iso_transducers_hear(&h, &t, &g));
	NEAR(h.nearest, 4, 1e-12);
	NEAR(h.farthest, sqrt(144 + 4 + 4) / 2, 1e-12);
	NEAR(h.covered, 1, 1e-12);
	t.samples = 11; /* up to 5 us */
	OK(iso_transducers_hear(&h, &t, &g));
	NEAR(h.covered, 1 / (h.farthest - 4), 1e-12);
	t.samples = 9;
	REFUSED(iso_transducers_hear(&h, &t, &g), ISO_EINPUT,
	        "the record holds 0 to 4 us, but the "
	        "image is heard from 4 to");
	t.first_us = 7;
	REFUSED(iso_transducers_hear(&h, &t, &g), ISO_EINPUT, "the record holds 7 to 11 us");
	g.n[0] = 21;
	REFUSED(iso_transducers_hear(&h, &t, &g), ISO_EINPUT, "number 0 at (10, 0, ");
	t.speed = 0;
	REFUSED(iso_transducers_hear(&h, &t, &g), ISO_EARG, "the speed of sound is 0");
	iso_transducers_free(&t);
}

static void trace_shapes(void **state)
{
	const struct iso_transducers t = { .n = 3, .samples = 7 };
	struct iso_array y = { .n_dim = 2, .dim = { 3, 7 } };

	(void)state;
	OK(iso_traces_check(&y, &t));
	y.dim[1] = 8;
	REFUSED(iso_traces_check(&y, &t), ISO_EINPUT, "an array (3, 8), must be (transducers, samples)");
	y.n_dim = 1;
	REFUSED(iso_traces_check(&y, &t), ISO_EINPUT, "an array of 1 axes");
}

static void bad_values(void **state)
{
	struct iso_transducers good = rings_of("frame"), t = good;

	(void)state;
	OK(iso_transducers_check(&t));
	t.samples = 1;
	REFUSED(iso_transducers_check(&t), ISO_EARG, "of 1 samples");
	t = good;
	t.dt_us = NAN;
	REFUSED(iso_transducers_check(&t), ISO_EARG, "samples every nan us");
	t = good;
	t.gamma = 0;
	REFUSED(iso_transducers_check(&t), ISO_EARG, "Grueneisen");
	t = good;
	t.pos[4] = INFINITY;
	REFUSED(iso_transducers_check(&t), ISO_EARG, "must be within 1e+06 mm");
	iso_transducers_free(&good);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "kind: transducers\n" RECORD, "need one of the keys sphere and positions" },
		{ SPHERE "positions: p.npy\n" RECORD, "need one of the keys sphere and positions" },
		{ SPHERE "areas: p.npy\n" RECORD, "areas belongs to positions" },
		{ SPHERE "speed_mm_per_us: -1\nsampling_mhz: 20\nsamples: 400\n",
		  "speed_mm_per_us is -1, must be in" },
		{ SPHERE "speed_mm_per_us: 1\nsampling_mhz: 20\nsamples: 1\n", "samples is 1" },
		{ SPHERE "sampel: 3\n" RECORD, "did you mean 'samples'?" },
		{ "kind: transducers\nsphere: {radius_mm: 20, rings: 4, views: 6, polar_deg: [90, "
		  "10]}\n" RECORD,
		  "polar_deg goes from 90 to 10" },
		{ "kind: transducers\nsphere: {radius_mm: 20, rings: 1, views: 6, polar_deg: [10, "
		  "90]}\n" RECORD,
		  "one ring: both the same" },
		{ "kind: transducers\nsphere: {radius_mm: 20, rings: 4000, views: 6000}\n" RECORD,
		  "4000 rings of 6000 views" },
		{ "kind: transducers\nsphere: 3\n" RECORD, "must be a map" },
		{ LIST "normals: two.npy\n" RECORD, "2 rows, must have 4" },
		{ LIST "normals: zero.npy\n" RECORD, "normal 1 has length 0" },
		{ LIST "axes: p.npy\n" RECORD, "axis 0 is parallel to its normal" },
		{ LIST "areas: p.npy\n" RECORD, "must be (n, 1)" },
		{ LIST "areas: minus.npy\n" RECORD, "sizes not negative" },
		{ LIST "normals: no.npy\n" RECORD, "no.npy" },
		{ LIST "normals: nan.npy\n" RECORD, "value 1 of row 2 is not finite" },
		{ LIST "centre_mm: [10, 0, 0]\n" RECORD, "transducer 0 is 0 mm from the centre" },
	};
	const double zero[12] = { 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1 }, minus[4] = { 1, 1, -1, 1 };
	const double nan[12] = { 1, 0, 0, 0, 1, 0, 0, NAN, 0, 1, 1, 1 };

	(void)state;
	put_array("p.npy", 4, 3, corners);
	put_array("two.npy", 2, 3, corners);
	put_array("zero.npy", 4, 3, zero);
	put_array("nan.npy", 4, 3, nan);
	put_array("minus.npy", 4, 1, minus);
	for (int i = 0; i < N_OF(bad); i++) {
		iso_scanner *s = NULL;

		REFUSED(read_text(&s, bad[i].text), ISO_EINPUT, bad[i].message);
		assert_null(s);
		assert_null(strchr(iso_message(), '\n'));
	}
}

/* A description may leave the speed of sound to the user, but no model works without one. */
static void speed_not_said(void **state)
{
	static const char *const text[] = { SPHERE "sampling_mhz: 20\nsamples: 400\n",
		                            SPHERE "speed_mm_per_us: 0\nsampling_mhz: 20\nsamples: 400\n" };

	(void)state;
	for (int i = 0; i < N_OF(text); i++) {
		iso_scanner *s = NULL;

		OK(read_text(&s, text[i]));
		assert_true(iso_scanner_transducers(s)->speed == 0);
		REFUSED(iso_transducers_check(iso_scanner_transducers(s)), ISO_EARG,
		        "the speed of sound is 0 mm/us, must be above 0");
		iso_scanner_free(s);
	}
}

/* The paper's arrays; the smaller ones lie where rings and views of the first are left out. */
static void examples(void **state)
{
	static const char *const name[] = { "wang2013",       "wang2013-64x90",      "wang2013-64x45",
		                            "wang2013-32x45", "wang2013-experiment", "wang2013-quarter" };
	static const int64_t n[] = { 11520, 5760, 2880, 1440, 11520, 2880 };
	static const double second[] = { 1, 2, 2, 4 }; /* ring of the first that is the second here */

	(void)state;
	for (int i = 0; i < 6; i++) {
		iso_scanner *s = NULL;
		char path[512];

		snprintf(path, sizeof path, "%s/scanners/%s.yaml", TEST_EXAMPLES, name[i]);
		OK(iso_scanner_read(&s, path));
		const struct iso_transducers *t = iso_scanner_transducers(s);

		assert_int_equal(t->n, n[i]);
		assert_int_equal(!t->aperture, i < 4);
		if (i < 4)
			NEAR(t->pos[3 * (i < 2 ? 90 : 45) + 2], 65 * cos((.5 + second[i]) * M_PI / 128),
			     1e-9);
		iso_scanner_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames),
		cmocka_unit_test(frame_along_z),
		cmocka_unit_test(whole_sphere),
		cmocka_unit_test(polar_range),
		cmocka_unit_test(arc),
		cmocka_unit_test(list),
		cmocka_unit_test(full_list),
		cmocka_unit_test(doubles_kept),
		cmocka_unit_test(hearing),
		cmocka_unit_test(trace_shapes),
		cmocka_unit_test(bad_values),
		cmocka_unit_test(refused),
		cmocka_unit_test(speed_not_said),
		cmocka_unit_test(examples),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
