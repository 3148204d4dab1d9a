/* SPDX-License-Identifier: BSD-3-Clause */
/* Scanners of the kind panels: crystals, pairs, image, the examples, and every refusal;
   also built in double. */
#include "test.h"
#include "files.h"

#include "physics/randoms.h"
#include "scanner/scanner.h"

#define HEADS "kind: panels\ncrystals: [3, 4]\npitch_mm: [3, 2]\ngap_mm: 40\n"
#define STACK "planes: 10\nplane_mm: 4\n"
#define PLAIN HEADS STACK "crystal_mm: [2.5, 2, 20]\n"

static int read_text(iso_scanner **s, const char *text)
{
	int st;

	put_text("heads.yaml", text);
	st = iso_scanner_read(s, "heads.yaml");
	unlink("heads.yaml");
	return st;
}

static iso_scanner *scanner(const char *text)
{
	iso_scanner *s = NULL;

	OK(read_text(&s, text));
	return s;
}

static void defaults(void **state)
{
	iso_scanner *s = scanner(PLAIN);
	const struct iso_panels *p = iso_scanner_panels(s);

	(void)state;
	assert_int_equal(iso_scanner_kind(s), ISO_PANELS);
	assert_null(iso_scanner_strips(s));
	assert_int_equal(p->layers, 1);
	assert_int_equal(p->block, 0);
	assert_string_equal(p->formula, "Lu1.8Y0.2SiO5");
	assert_true(p->density == 7.1 && p->resolution == .2);
	assert_true(p->window[0] == 250 && p->window[1] == 750);
	assert_true(p->time_fwhm == 0 && p->coincidence == 0);
	assert_int_equal(p->readout, ISO_READ_HEAD);
	assert_int_equal(p->per_pitch[0], 4);
	assert_int_equal(p->per_pitch[1], 4);
	iso_scanner_free(s);
}

static void every_key(void **state)
{
	iso_scanner *s = scanner(PLAIN "layers: 2\nblock: 1\nvoxels_per_pitch: [3, 1]\n"
	                               "material: {formula: Bi4Ge3O12, density: 7.13}\n"
	                               "energy: {resolution: 0.12, window_kev: [400, 650]}\n"
	                               "time: {fwhm_ns: 1.5, coincidence_ns: 6}\nreadout: block\n"
	                               "name: two heads\ntof: {fwhm_ps: 300}\n");
	const struct iso_panels *p = iso_scanner_panels(s);

	(void)state;
	assert_string_equal(iso_scanner_name(s), "two heads");
	assert_int_equal(p->crystals[0], 3);
	assert_int_equal(p->crystals[1], 4);
	assert_true(p->pitch[0] == 3 && p->pitch[1] == 2);
	assert_true(p->crystal[0] == 2.5 && p->crystal[1] == 2 && p->crystal[2] == 20);
	assert_true(p->gap == 40 && p->plane == 4);
	assert_int_equal(p->planes, 10);
	assert_int_equal(p->layers, 2);
	assert_int_equal(p->block, 1);
	assert_int_equal(p->per_pitch[0], 3);
	assert_int_equal(p->per_pitch[1], 1);
	assert_string_equal(p->formula, "Bi4Ge3O12");
	assert_true(p->density == 7.13 && p->resolution == .12);
	assert_true(p->window[0] == 400 && p->window[1] == 650);
	assert_true(p->time_fwhm == 1.5 && p->coincidence == 6);
	assert_true(iso_scanner_coincidence_ns(s) == 6 && iso_scanner_tof_fwhm_ps(s) == 300);
	assert_int_equal(p->readout, ISO_READ_BLOCK);
	iso_scanner_free(s);
}

/* In the middle of each crystal: head, layer, x, z, the last fastest. */
static void positions(void **state)
{
	iso_scanner *s = scanner(PLAIN "layers: 2\n");
	const double *p = iso_scanner_positions(s);

	(void)state;
	assert_int_equal(iso_scanner_crystals(s), 2 * 2 * 12);
	for (int head = 0; head < 2; head++)
		for (int layer = 0; layer < 2; layer++)
			for (int x = 0; x < 3; x++)
				for (int z = 0; z < 4; z++, p += 3) {
					NEAR(p[0], 3. * (x - 1), 1e-12);
					NEAR(p[1], (head ? -1 : 1) * (layer ? 35. : 25.), 1e-12);
					NEAR(p[2], 2 * (z - 1.5), 1e-12);
				}
	iso_scanner_free(s);
}

/* Pair i is LOR ((((a L + b) Ncx + ux) Ncz + uz) Ncx + lx) Ncz + lz; no other two crystals are in
   coincidence. */
static void pairs(void **state)
{
	iso_scanner *s = scanner(PLAIN "layers: 2\n");
	int64_t i = 0, n = 0, n_crystals = iso_scanner_crystals(s), a, b;

	(void)state;
	assert_int_equal(iso_scanner_pairs(s), 24 * 24);
	assert_int_equal(iso_panels_lors(iso_scanner_panels(s)), 24 * 24);
	for (int tables = 0; tables < 4; tables++)
		for (int u = 0; u < 12; u++)
			for (int l = 0; l < 12; l++, i++) {
				iso_scanner_pair(&a, &b, s, i);
				assert_int_equal(a, tables / 2 * 12 + u);
				assert_int_equal(b, 24 + tables % 2 * 12 + l);
				assert_true(iso_scanner_in_coincidence(s, a, b));
			}
	for (a = 0; a < n_crystals; a++)
		for (b = 0; b < n_crystals; b++) n += iso_scanner_in_coincidence(s, a, b);
	assert_int_equal(n, 2 * 24 * 24);
	iso_scanner_free(s);
}

static double uniform(double low, double high)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return low + (high - low) * (double)(state >> 11) * 0x1p-53;
}

static double distance(const double *a, const double *b)
{
	return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

static void nearest(void **state)
{
	iso_scanner *s = scanner(PLAIN "layers: 3\n");
	const double *pos = iso_scanner_positions(s);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		const double p[3] = { uniform(-20, 20), uniform(-60, 60), uniform(-20, 20) };
		double best = INFINITY, d;
		int64_t id = iso_scanner_nearest(&d, s, p);

		for (int64_t c = 0; c < iso_scanner_crystals(s); c++)
			best = fmin(best, distance(p, pos + 3 * c));
		NEAR(d, best, 1e-12);
		NEAR(distance(p, pos + 3 * id), best, 1e-12);
	}
	iso_scanner_free(s);
}

/* A crystal's partners are the whole other head. */
static void fans(void **state)
{
	iso_scanner *s = scanner(PLAIN "layers: 2\n");
	struct iso_fans f = { 0 };
	double v[48], fan[48];

	(void)state;
	for (int i = 0; i < 48; i++) v[i] = i * i;
	OK(iso_fans_create(&f, s));
	iso_fans_sum(fan, &f, v);
	for (int64_t a = 0; a < 48; a++) {
		double want = 0;

		for (int64_t b = 0; b < 48; b++) want += iso_scanner_in_coincidence(s, a, b) ? v[b] : 0;
		NEAR(fan[a], want, 1e-9);
	}
	iso_fans_free(&f);
	iso_scanner_free(s);
}

/* Randoms of a product of rates are found again from their exact number in every pair. */
static void randoms(void **state)
{
	iso_scanner *s = scanner(PLAIN);
	enum { N = 24, PAIRS = 144 };
	double rate[N];
	int64_t bad = -1, n = 0;
	iso_ctx *ctx = cpu(1);
	struct iso_events e = { 0 };
	static struct iso_event v[PAIRS * 9];
	static uint32_t crystal[2 * PAIRS * 9];

	(void)state;
	for (int64_t i = 0; i < iso_scanner_pairs(s); i++) {
		int64_t a, b;

		iso_scanner_pair(&a, &b, s, i);
		for (int64_t k = 0; k < (1 + a % 3) * (1 + b % 3); k++, n++)
			for (int c = 0; c < 3; c++) {
				v[n].p1[c] = (float)iso_scanner_positions(s)[3 * a + c];
				v[n].p2[c] = (float)iso_scanner_positions(s)[3 * b + c];
				crystal[2 * n] = (uint32_t)a;
				crystal[2 * n + 1] = (uint32_t)b;
			}
	}
	e = (struct iso_events){ .n = n, .v = v, .crystal = crystal };
	OK(iso_randoms_from_delayed(rate, &bad, ctx, s, &e));
	assert_int_equal(bad, 0);
	for (int64_t a = 0; a < N / 2; a++)
		for (int64_t b = N / 2; b < N; b++)
			NEAR(rate[a] * rate[b], (double)((1 + a % 3) * (1 + b % 3)), 1e-3);
	iso_ctx_free(ctx);
	iso_scanner_free(s);
}

/* The line between two opposite crystals is 60 mm, or 40 within the image: one voxel wide in x and
   z, each column of 10 planes of 4 mm is met by LORs in proportion to their chords. */
static void sensitivity(void **state)
{
	iso_scanner *s = scanner("kind: panels\ncrystals: [1, 1]\npitch_mm: [3, 2]\ngap_mm: 40\n"
	                         "crystal_mm: [3, 2, 20]\nvoxels_per_pitch: [1, 1]\n" STACK);
	struct iso_ray_sens q = { .size = sizeof q, .scanner = s, .share = 1 };
	iso_ctx *ctx = cpu(1);
	iso_real image[10];
	double error;

	(void)state;
	iso_panels_grid(&q.grid, iso_scanner_panels(s));
	OK(iso_ray_sens(image, &error, ctx, &q));
	for (int y = 0; y < 10; y++) NEAR(image[y], 4, 1e-4);
	iso_ctx_free(ctx);
	iso_scanner_free(s);
}

static void grid(void **state)
{
	iso_scanner *s = scanner(PLAIN "voxels_per_pitch: [3, 5]\n");
	struct iso_grid g;

	(void)state;
	iso_panels_grid(&g, iso_scanner_panels(s));
	OK(iso_grid_check(&g));
	assert_int_equal(g.n[0], 9);
	assert_int_equal(g.n[1], 10);
	assert_int_equal(g.n[2], 20);
	NEAR(g.voxel[0], 1, 1e-12);
	NEAR(g.voxel[1], 4, 1e-12);
	NEAR(g.voxel[2], .4, 1e-12);
	for (int a = 0; a < 3; a++) assert_true(g.centre[a] == 0);
	iso_scanner_free(s);
}

static void voxel_mm(void **state)
{
	iso_scanner *s = scanner(HEADS STACK "crystal_mm: [1, 1, 5]\nvoxel_mm: [0.3, 2]\n");

	(void)state;
	assert_int_equal(iso_scanner_panels(s)->per_pitch[0], 10);
	assert_int_equal(iso_scanner_panels(s)->per_pitch[1], 1);
	iso_scanner_free(s);
}

struct example {
	const char *file;
	int64_t crystals, lors, n[3];
	double voxel[3];
	int layers;
};

static void check_example(const struct example *e)
{
	char path[512];
	iso_scanner *s = NULL;
	struct iso_grid g;

	snprintf(path, sizeof path, "%s/scanners/%s", TEST_EXAMPLES, e->file);
	OK(iso_scanner_read(&s, path));
	iso_panels_grid(&g, iso_scanner_panels(s));
	assert_int_equal(iso_scanner_crystals(s), e->crystals);
	assert_int_equal(iso_panels_lors(iso_scanner_panels(s)), e->lors);
	assert_int_equal(iso_scanner_panels(s)->layers, e->layers);
	for (int a = 0; a < 3; a++) {
		assert_int_equal(g.n[a], e->n[a]);
		NEAR(g.voxel[a], e->voxel[a], 1e-12);
	}
	iso_scanner_free(s);
}

/* Sizes of Meng 2019 and Chou 2012. */
static void examples(void **state)
{
	static const struct example known[] = {
		{ "meng2019.yaml", 2704, 1827904, { 104, 100, 208 }, { .5, .5, .5 }, 1 },
		{ "chou2012.yaml", 14976, 56070144, { 416, 119, 288 }, { .6, .5, .6 }, 1 },
		{ "chou2012-two-layers.yaml", 29952, 224280576, { 416, 119, 288 }, { .6, .5, .6 }, 2 },
	};

	(void)state;
	for (int i = 0; i < N_OF(known); i++) check_example(&known[i]);
}

/* Exactly filled gaps and pitches pass, whatever the rounding. */
static void to_the_brim(void **state)
{
	(void)state;
	iso_scanner_free(scanner("kind: panels\ncrystals: [2, 2]\npitch_mm: [2.1, 2.1]\n"
	                         "crystal_mm: [2.1, 2.1, 10]\ngap_mm: 0.3\nplanes: 3\nplane_mm: 0.1\n"
	                         "voxel_mm: [0.7, 0.3]\n"));
}

static void refused(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ HEADS STACK "crystal_mm: [3.1, 2, 20]\n",
		  "crystal_mm is 3.1 along x, must be at most the pitch of 3 mm" },
		{ HEADS STACK "crystal_mm: [3, 2.5, 20]\n", "crystal_mm is 2.5 along z" },
		{ HEADS STACK "crystal_mm: [3, 2]\n", "crystal_mm has 2 values, must have 3" },
		{ HEADS STACK "crystal_mm: [3, 2, 0]\n", "crystal_mm is 0" },
		{ HEADS STACK, "key 'crystal_mm' is missing" },
		{ PLAIN "voxel_mm: [0.7, 0.5]\n", "voxel_mm is 0.7 along x, must divide the pitch of 3 mm" },
		{ PLAIN "voxel_mm: [0.5, 0.3]\n", "voxel_mm is 0.3 along z, must divide the pitch of 2 mm" },
		{ PLAIN "voxel_mm: [6, 2]\n", "voxel_mm is 6 along x, must divide" },
		{ PLAIN "voxel_mm: [0.01, 2]\n", "voxel_mm is 0.01 along x, must be from 1/64" },
		{ PLAIN "voxel_mm: [1, 1]\nvoxels_per_pitch: [3, 2]\n", "keep one" },
		{ PLAIN "voxels_per_pitch: [0, 4]\n", "voxels_per_pitch is 0" },
		{ PLAIN "voxels_per_pitch: [65, 4]\n", "voxels_per_pitch is 65" },
		{ PLAIN "voxels_per_pitch: [1.5, 4]\n", "must be a whole number" },
		{ PLAIN "energy: {window_kev: [750, 250]}\n",
		  "window_kev is [750, 250], the first must be below the second" },
		{ PLAIN "energy: {window_kev: [300, 300]}\n", "must be below" },
		{ PLAIN "energy: {window_kev: [-1, 300]}\n", "window_kev is -1" },
		{ PLAIN "energy: {resolution: 1.5}\n", "resolution is 1.5" },
		{ PLAIN "energy: {resolutoin: 0.1}\n", "did you mean 'resolution'" },
		{ PLAIN "energy: 5\n", "energy" },
		{ PLAIN "material: {formula: Lu2Xx, density: 7}\n", "no known element at 'Xx'" },
		{ PLAIN "material: {formula: LYSO, density: 7}\n", "no known element at 'LYSO'" },
		{ PLAIN "material: {formula: LuO, density: 0}\n", "density is 0" },
		{ PLAIN "material: {formula: LuO}\n", "key 'density' of 'material' is missing" },
		{ PLAIN "material: {density: 7}\n", "key 'formula' of 'material' is missing" },
		{ PLAIN "material: LSO\n", "material" },
		{ PLAIN "material: {density: 7, formula: HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH"
		        "HHHHHHHHHHHHHHHHHHHH}\n",
		  "formula has 70 letters, must have at most 63" },
		{ HEADS "crystal_mm: [3, 2, 20]\nplanes: 11\nplane_mm: 4\n",
		  "11 planes of 4 mm are 44 mm, must fit into the gap of 40 mm" },
		{ HEADS "crystal_mm: [3, 2, 20]\nplanes: 0\nplane_mm: 4\n", "planes is 0" },
		{ HEADS "crystal_mm: [3, 2, 20]\nplane_mm: 4\n", "key 'planes' is missing" },
		{ PLAIN "layers: 0\n", "layers is 0" },
		{ PLAIN "layers: 17\n", "layers is 17" },
		{ PLAIN "readout: heads\n", "readout is 'heads', must be one of: head, block, crystal" },
		{ PLAIN "readout: block\n", "key 'block' is missing" },
		{ PLAIN "block: 2\n", "block is 2, must divide the 3 crystals along x" },
		{ PLAIN "block: 3\n", "block is 3, must divide the 4 crystals along z" },
		{ PLAIN "time: {fwhm_ns: 1.5}\n", "key 'coincidence_ns' of 'time' is missing" },
		{ PLAIN "time: {fwhm_ns: 0, coincidence_ns: 4}\n", "fwhm_ns is 0" },
		{ PLAIN "radius_mm: 5\n", "radius_mm" },
		{ "kind: panels\n", "key 'crystals' is missing" },
		{ "kind: panels\ncrystals: [4097, 4]\npitch_mm: [3, 2]\ngap_mm: 40\n"
		  "crystal_mm: [2, 2, 2]\n" STACK,
		  "crystals is 4097, must be in [1, 4096]" },
		{ "kind: panels\ncrystals: [0, 4]\npitch_mm: [3, 2]\ngap_mm: 40\n"
		  "crystal_mm: [2, 2, 2]\n" STACK,
		  "crystals is 0" },
		{ "kind: panels\ncrystals: [4096, 4096]\npitch_mm: [3, 2]\ngap_mm: 40\n"
		  "crystal_mm: [2, 2, 2]\nlayers: 16\n" STACK,
		  "2 heads of 16 layers of 4096 x 4096 crystals are more than 10000000 crystals" },
		{ "kind: panels\ncrystals: [1e300, 4]\npitch_mm: [3, 2]\ngap_mm: 40\n"
		  "crystal_mm: [2, 2, 2]\n" STACK,
		  "crystals is 1e300" },
		{ "kind: panels\ncrystals: [4, 4]\npitch_mm: [3, 2]\ngap_mm: nan\n"
		  "crystal_mm: [2, 2, 2]\n" STACK,
		  "gap_mm is 'nan'" },
		{ "kind: panels\ncrystals: [4, 4]\npitch_mm: [-3, 2]\ngap_mm: 4\n"
		  "crystal_mm: [2, 2, 2]\n" STACK,
		  "pitch_mm is -3" },
		{ "kind: cylinder\nradius_mm: 9\nrings: 1\nring_pitch_mm: 1\ncrystals_per_ring: 8\n"
		  "time: {coincidence_ns: 4, fwhm_ns: 1}\n",
		  "fwhm_ns" },
	};

	(void)state;
	for (int i = 0; i < N_OF(bad); i++) {
		iso_scanner *s = NULL;

		REFUSED(read_text(&s, bad[i].text), ISO_EINPUT, bad[i].message);
		assert_null(s);
		assert_null(strchr(iso_message(), '\n'));
	}
}

/* What other kinds do and this one does not. */
static void not_for_panels(void **state)
{
	iso_scanner *s = scanner(PLAIN), *ring = scanner("kind: cylinder\nradius_mm: 9\nrings: 1\n"
	                                                 "ring_pitch_mm: 1\ncrystals_per_ring: 8\n");
	struct iso_array image = small_image();
	struct iso_simulate sim = { .size = sizeof sim, .scanner = s, .activity = &image, .counts = 10 };
	struct iso_simulated info = { .size = sizeof info };
	struct iso_event one = { { 0, 25, 0 }, { 0, -25, 0 }, 0 };
	struct iso_events e = { 0 }, events = { .n = 1, .v = &one };
	iso_ctx *ctx = cpu(1);

	(void)state;
	assert_null(iso_scanner_panels(ring));
	REFUSED(iso_simulate(&e, &info, ctx, &sim), ISO_EINPUT, "is not a cylinder");
	REFUSED(iso_events_write_with("e.Cdh", &events, s, NULL), ISO_EARG, "panels heads");
	assert_int_equal(files(false), 0);
	iso_array_free(&image);
	iso_ctx_free(ctx);
	iso_scanner_free(s);
	iso_scanner_free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults), cmocka_unit_test(every_key),      cmocka_unit_test(positions),
		cmocka_unit_test(pairs),    cmocka_unit_test(nearest),        cmocka_unit_test(fans),
		cmocka_unit_test(randoms),  cmocka_unit_test(sensitivity),    cmocka_unit_test(grid),
		cmocka_unit_test(voxel_mm), cmocka_unit_test(examples),       cmocka_unit_test(to_the_brim),
		cmocka_unit_test(refused),  cmocka_unit_test(not_for_panels),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
