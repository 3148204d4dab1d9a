/* SPDX-License-Identifier: BSD-3-Clause */
/* Scanners: positions, pairs, nearest crystal, photon hits; also built in double. */
#include "core/status.h"
#include "scanner/scanner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "scanner-XXXXXX"; /* of the files a test writes */

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

static void write_file(char path[64], const char *name, const void *data, size_t size)
{
	FILE *f;

	snprintf(path, 64, "%s/%s", folder, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static int read_text(iso_scanner **s, const char *name, const char *text)
{
	char path[64];
	int st;

	write_file(path, name, text, strlen(text));
	st = iso_scanner_read(s, path);
	unlink(path);
	return st;
}

static iso_scanner *scanner(const char *text)
{
	iso_scanner *s = NULL;

	if (read_text(&s, "ring.yaml", text)) print_error("%s\n", iso_message());
	assert_non_null(s);
	return s;
}

/* Uniform in [lo, hi). */
static double draw(double lo, double hi)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return lo + (hi - lo) * (double)(state >> 11) * 0x1p-53;
}

static void positions(void **state)
{
	iso_scanner *s = scanner("kind: cylinder\nradius_mm: 90\nrings: 3\nring_pitch_mm: 4\n"
	                         "crystals_per_ring: 4\ninteraction_depth_mm: 10\n");
	const double *p = iso_scanner_positions(s);
	double h = 100 * sqrt(.5);

	(void)state;
	assert_int_equal(iso_scanner_kind(s), ISO_CYLINDER);
	assert_string_equal(iso_scanner_name(s), "ring");
	assert_int_equal(iso_scanner_crystals(s), 12);
	assert_true(iso_scanner_tof_fwhm_ps(s) == 0);
	assert_null(iso_scanner_crystal_mm(s));
	assert_float_equal(p[0], h, 1e-9);
	assert_float_equal(p[1], h, 1e-9);
	assert_float_equal(p[2], -4, 1e-9);
	assert_float_equal(p[3 * 6], -h, 1e-9); /* ring 1, crystal 2 */
	assert_float_equal(p[3 * 6 + 1], -h, 1e-9);
	assert_float_equal(p[3 * 6 + 2], 0, 1e-9);
	assert_float_equal(p[3 * 11 + 2], 4, 1e-9);
	iso_scanner_free(s);
}

#define BLOCKS                                                        \
	"kind: cylinder\nradius_mm: 50\nrings: 6\nring_pitch_mm: 5\n" \
	"crystals_per_ring: 32\nblock: {crystals: 8, gap_mm: 3}\n"    \
	"min_crystal_distance: 4\nmax_ring_difference: 3\n"

/* Four blocks: the first is centred at 45 degrees, crystals are (78.54 - 3) / 8 mm wide. */
static void blocks(void **state)
{
	iso_scanner *s = scanner(BLOCKS);
	const double *p = iso_scanner_positions(s);
	double pitch = (100 * M_PI / 4 - 3) / 8 / 50; /* angle */

	(void)state;
	for (int c = 0; c < 32; c++) {
		double t = M_PI / 4 + c / 8 * M_PI / 2 + (c % 8 - 3.5) * pitch;

		assert_float_equal(p[3 * c], 50 * cos(t), 1e-9);
		assert_float_equal(p[3 * c + 1], 50 * sin(t), 1e-9);
	}
	iso_scanner_free(s);
}

/* Four rings in two storeys, 2 mm apart: at -7, -3, 3, 7. */
static void blocks_along_z(void **state)
{
	static const double rings[4] = { -7, -3, 3, 7 }, borders[5] = { -9, -1, 1, 9, 20 };
	static const int nearest_ring[5] = { 0, 1, 2, 3, 3 };
	iso_scanner *s =
		scanner("kind: cylinder\nradius_mm: 50\nrings: 4\nring_pitch_mm: 4\ncrystals_per_ring: 8\n"
	                "block: {crystals: 8, rings: 2, ring_gap_mm: 2}\n");
	double d, origin[3] = { 0 }, along_x[3] = { 1, .4, 0 };

	(void)state;
	assert_true(iso_cylinder_length(s) == 18);
	for (int i = 0; i < 4; i++) {
		assert_true(fabs(iso_scanner_positions(s)[3 * 8 * i + 2] - rings[i]) < 1e-12);
		origin[2] = rings[i];
		assert_int_equal(iso_scanner_hit(s, origin, along_x), 8 * i);
	}
	for (int i = 0; i < 5; i++) {
		double p[3] = { 50, 20, borders[i] + (i == 1 ? .5 : i == 2 ? -.5 : 0) };

		assert_int_equal(iso_scanner_nearest(&d, s, p), 8 * nearest_ring[i]);
	}
	origin[2] = .9;
	assert_int_equal(iso_scanner_hit(s, origin, along_x), -1);
	origin[2] = 9.1;
	assert_int_equal(iso_scanner_hit(s, origin, along_x), -1);
	iso_scanner_free(s);
}

/* A block without gap changes nothing. */
static void blocks_without_gap(void **state)
{
	static const char ring[] = "kind: cylinder\nradius_mm: 64\nrings: 2\nring_pitch_mm: 9\n"
				   "crystals_per_ring: 30\n";
	char text[256];
	iso_scanner *a = scanner(ring), *b;

	(void)state;
	snprintf(text, sizeof text, "%sblock: {crystals: 5}\n", ring);
	b = scanner(text);
	for (int i = 0; i < 3 * 60; i++)
		assert_true(iso_scanner_positions(a)[i] == iso_scanner_positions(b)[i]);
	iso_scanner_free(a);
	iso_scanner_free(b);
}

static int64_t nearest_brute(const iso_scanner *s, const double p[3], double *distance)
{
	int64_t best = 0;

	*distance = INFINITY;
	for (int64_t i = 0; i < s->n; i++) {
		const double *c = s->pos + 3 * i;
		double d = hypot(hypot(p[0] - c[0], p[1] - c[1]), p[2] - c[2]);

		if (d < *distance) {
			*distance = d;
			best = i;
		}
	}
	return best;
}

static void check_nearest(const iso_scanner *s, double reach)
{
	double p[3], d, want;

	for (int64_t i = 0; i < s->n; i++) {
		assert_int_equal(iso_scanner_nearest(&d, s, s->pos + 3 * i), i);
		assert_true(d == 0);
	}
	for (int i = 0; i < 3000; i++) {
		for (int a = 0; a < 3; a++) p[a] = draw(-reach, reach);
		assert_int_equal(iso_scanner_nearest(&d, s, p), nearest_brute(s, p, &want));
		assert_float_equal(d, want, 1e-9);
	}
	p[1] = NAN;
	assert_int_equal(iso_scanner_nearest(&d, s, p), 0);
	assert_true(d == INFINITY);
}

static void nearest_on_cylinder(void **state)
{
	iso_scanner *s = scanner(BLOCKS);

	(void)state;
	check_nearest(s, 70);
	iso_scanner_free(s);
}

/* A photon towards a crystal's centre meets it; one towards a gap or past the end meets none. */
static void hits(void **state)
{
	iso_scanner *s = scanner(BLOCKS);
	const double along_x[3] = { 1, 0, 0 }, along_z[3] = { 0, 0, 1 }, zero[3] = { 0 };
	const double high[3] = { 0, 0, 15.1 }, outside[3] = { 51, 0, 0 }, bad[3] = { NAN, 0, 0 };

	(void)state;
	for (int i = 0; i < 2000; i++) {
		int64_t id = (int64_t)draw(0, (double)s->n);
		double o[3] = { draw(-30, 30), draw(-30, 30), draw(-40, 40) }, d[3], length = 0;

		for (int a = 0; a < 3; a++) {
			d[a] = s->pos[3 * id + a] - o[a];
			length += d[a] * d[a];
		}
		for (int a = 0; a < 3; a++) d[a] /= sqrt(length);
		assert_int_equal(iso_scanner_hit(s, o, d), id);
	}
	assert_int_equal(iso_scanner_hit(s, zero, along_x), -1); /* from block 3 to 0 */
	assert_int_equal(iso_scanner_hit(s, zero, along_z), -1);
	assert_int_equal(iso_scanner_hit(s, high, (double[3]){ sqrt(.5), sqrt(.5), 0 }), -1);
	assert_int_equal(iso_scanner_hit(s, outside, along_x), -1);
	assert_int_equal(iso_scanner_hit(s, bad, along_x), -1);
	assert_int_equal(iso_scanner_hit(s, zero, bad), -1);
	iso_scanner_free(s);
}

/* The share of photons that meet a gap is the gap's share of the circle; the crystal hit is the
   nearest one. */
static void gap_share(void **state)
{
	iso_scanner *s = scanner(BLOCKS);
	int lost = 0, n = 20000;

	(void)state;
	for (int i = 0; i < n; i++) {
		double t = draw(-10, 10), d[3] = { cos(t), sin(t), 0 };
		double o[3] = { 0, 0, draw(-15, 15) };
		double at[3] = { 50 * d[0], 50 * d[1], o[2] }, distance;
		int64_t id = iso_scanner_hit(s, o, d);

		lost += id < 0;
		if (id >= 0) assert_int_equal(id, iso_scanner_nearest(&distance, s, at));
	}
	assert_float_equal((double)lost / n, 4 * 3 / (100 * M_PI), .005);
	iso_scanner_free(s);
}

static void hits_without_gap(void **state)
{
	iso_scanner *s = scanner("kind: cylinder\nradius_mm: 50\nrings: 1\nring_pitch_mm: 5\n"
	                         "crystals_per_ring: 7\nblock: {crystals: 7}\n");
	int count[7] = { 0 };
	const double zero[3] = { 0 };

	(void)state;
	for (int i = 0; i < 70000; i++) {
		double t = 2 * M_PI * i / 70000; /* also on the borders of crystals */
		int64_t id = iso_scanner_hit(s, zero, (double[3]){ cos(t), sin(t), 0 });

		assert_in_range(id, 0, 6);
		count[id]++;
	}
	for (int c = 0; c < 7; c++) assert_in_range(count[c], 9998, 10002);
	iso_scanner_free(s);
}

/* Every unordered pair in coincidence comes once, and no other. */
static void check_pairs(const iso_scanner *s)
{
	unsigned char *seen = calloc((size_t)(s->n * s->n), 1);
	int64_t want = 0, a, b;

	assert_non_null(seen);
	for (int64_t i = 0; i < iso_scanner_pairs(s); i++) {
		iso_scanner_pair(&a, &b, s, i);
		assert_true(a >= 0 && a < s->n && b >= 0 && b < s->n);
		assert_true(iso_scanner_in_coincidence(s, a, b));
		assert_true(iso_scanner_in_coincidence(s, b, a));
		assert_int_equal(seen[a * s->n + b], 0);
		seen[a * s->n + b] = seen[b * s->n + a] = 1;
	}
	for (a = 0; a < s->n; a++)
		for (b = a; b < s->n; b++) want += iso_scanner_in_coincidence(s, a, b);
	assert_int_equal(iso_scanner_pairs(s), want);
	assert_false(iso_scanner_in_coincidence(s, 0, s->n));
	assert_false(iso_scanner_in_coincidence(s, -1, 0));
	free(seen);
}

static void check_ring_pairs(int rings, int per_ring, int distance, int difference)
{
	char text[256];
	iso_scanner *s;

	snprintf(text, sizeof text,
	         "kind: cylinder\nradius_mm: 5\nring_pitch_mm: 1\nrings: %d\n"
	         "crystals_per_ring: %d\nmin_crystal_distance: %d\nmax_ring_difference: %d\n",
	         rings, per_ring, distance, difference);
	s = scanner(text);
	check_pairs(s);
	iso_scanner_free(s);
}

static void pairs(void **state)
{
	static const int per_ring[] = { 2, 3, 4, 7, 12 }, rings[] = { 1, 2, 5, 6 };

	(void)state;
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 4; j++)
			for (int distance = 1; distance <= per_ring[i] / 2; distance++)
				for (int apart = 0; apart <= rings[j]; apart++)
					check_ring_pairs(rings[j], per_ring[i], distance, apart);
}

/* What pairs() relies on, by hand: 32 crystals, at least 4 apart, at most 3 rings apart. */
static void coincidence(void **state)
{
	iso_scanner *s = scanner(BLOCKS);

	(void)state;
	assert_false(iso_scanner_in_coincidence(s, 0, 3));
	assert_true(iso_scanner_in_coincidence(s, 0, 4));
	assert_true(iso_scanner_in_coincidence(s, 0, 28));
	assert_false(iso_scanner_in_coincidence(s, 0, 29));
	assert_true(iso_scanner_in_coincidence(s, 0, 3 * 32 + 16));
	assert_false(iso_scanner_in_coincidence(s, 0, 4 * 32 + 16));
	iso_scanner_free(s);
}

/* Rays at polar angle t against the transverse plane: cos^4 t, 1 for opposite crystals. */
static void weights(void **state)
{
	const double a[3] = { 50, 0, 0 }, b[3] = { -50, 0, 0 }, c[3] = { -50, 0, 100 };
	iso_scanner *s = scanner(BLOCKS), *w = scanner(BLOCKS "pair_weight: solid-angle\n");

	(void)state;
	assert_true(iso_scanner_pair_weight(s, a, c) == 1);
	assert_float_equal(iso_scanner_pair_weight(w, a, b), 1, 1e-12);
	assert_float_equal(iso_scanner_pair_weight(w, a, c), .25, 1e-12);
	assert_true(iso_scanner_pair_weight(w, a, a) == 0);
	iso_scanner_free(s);
	iso_scanner_free(w);
}

/* The scanner of tests/data/listmode: pair count, and crystal numbers of its events. */
static void listmode_data(void **state)
{
	iso_scanner *s = scanner("kind: cylinder\nradius_mm: 64\nrings: 6\nring_pitch_mm: 9\n"
	                         "crystals_per_ring: 32\nmin_crystal_distance: 5\n"
	                         "max_ring_difference: 6\n");
	FILE *events = fopen(TEST_DATA "/listmode/events.lmdT", "rb");
	FILE *crystals = fopen(TEST_DATA "/listmode/events_crystals.u16", "rb");
	float row[7];
	uint16_t id[2];
	int n = 0;

	(void)state;
	assert_int_equal(iso_scanner_pairs(s), 13248);
	assert_true(events && crystals);
	for (; fread(row, 4, 7, events) == 7 && fread(id, 2, 2, crystals) == 2; n++)
		for (int k = 0; k < 2; k++) {
			double p[3] = { row[3 * k], row[3 * k + 1], row[3 * k + 2] }, d;

			assert_int_equal(iso_scanner_nearest(&d, s, p), id[k]);
			assert_true(d < 1e-5);
		}
	assert_int_equal(n, 20181);
	fclose(events);
	fclose(crystals);
	iso_scanner_free(s);
}

/* A table of n x columns doubles as p.npy. */
static void write_npy(char path[64], int n, int columns, const double *v)
{
	size_t size = 128 + sizeof *v * (size_t)(n * columns);
	char *file = calloc(1, size);

	assert_non_null(file);
	memset(file, ' ', 128);
	memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
	int used = snprintf(file + 10, 118,
	                    "{'descr': '<f8', 'fortran_order': False, "
	                    "'shape': (%d, %d), }",
	                    n, columns);
	file[10 + used] = ' ';
	file[127] = '\n';
	memcpy(file + 128, v, size - 128);
	write_file(path, "p.npy", file, size);
	free(file);
}

static void free_detectors(void **state)
{
	enum { N = 1000 };
	static double v[3 * N];
	iso_scanner *s = NULL;
	char path[64];

	(void)state;
	for (int i = 0; i < 3 * N; i++) v[i] = (float)draw(-100, 100);
	for (int i = 0; i < N / 2; i++) v[3 * i + 2] = 7; /* many equal coordinates */
	write_npy(path, N, 3, v);
	assert_int_equal(read_text(&s, "d.yaml",
	                           "kind: detectors\npositions: p.npy\n"
	                           "tof: {fwhm_ps: 250}\nname: cloud\n"),
	                 ISO_OK);
	assert_int_equal(iso_scanner_kind(s), ISO_DETECTORS);
	assert_string_equal(iso_scanner_name(s), "cloud");
	assert_true(iso_scanner_tof_fwhm_ps(s) == 250);
	assert_int_equal(iso_scanner_crystals(s), N);
	for (int i = 0; i < 3 * N; i++) assert_true(iso_scanner_positions(s)[i] == v[i]);
	assert_int_equal(iso_scanner_pairs(s), N * (N - 1) / 2);
	check_nearest(s, 120);
	check_pairs(s);
	assert_int_equal(iso_scanner_hit(s, v, (double[3]){ 1, 0, 0 }), -1);
	iso_scanner_free(s);
	unlink(path);
}

/* x such that the middle one of those left is always the lowest: a pivot that parts nothing. The
   alarm ends a search of the median that looks at the square of their number. */
static void crafted_detectors(void **state)
{
	enum { N = 300000 };
	double *v = calloc(3 * N, sizeof *v), d;
	int *order = malloc(N * sizeof *order);
	iso_scanner *s = NULL;
	char path[64];

	(void)state;
	assert_true(v && order);
	for (int i = 0; i < N; i++) order[i] = i;
	for (int low = 0; low < N; low++) {
		int mid = low + (N - 1 - low) / 2, k = order[mid];

		v[3 * k] = low;
		order[mid] = order[low];
		order[low] = k;
	}
	write_npy(path, N, 3, v);
	alarm(20);
	assert_int_equal(read_text(&s, "d.yaml", "kind: detectors\npositions: p.npy\n"), ISO_OK);
	alarm(0);
	for (int i = 0; i < N; i += 997) {
		assert_int_equal(iso_scanner_nearest(&d, s, v + 3 * i), i);
		assert_true(d == 0);
	}
	iso_scanner_free(s);
	free(order);
	free(v);
	unlink(path);
}

static void refused_detectors(void **state)
{
	static const char text[] = "kind: detectors\npositions: p.npy\n";
	static const double v[9] = { 0 };
	iso_scanner *s = NULL;
	char path[64], want[256];

	(void)state;
	assert_int_equal(read_text(&s, "d.yaml", text), ISO_EINPUT); /* no such file */
	write_npy(path, 1, 3, v);
	snprintf(want, sizeof want, "%s: 1 detector positions, must be 2 to 10000000", path);
	assert_int_equal(read_text(&s, "d.yaml", text), ISO_EINPUT);
	assert_string_equal(iso_message(), want);
	write_npy(path, 4, 2, v);
	snprintf(want, sizeof want, "%s: an array of 2 axes, the last of 2 values; must be (n, 3)", path);
	assert_int_equal(read_text(&s, "d.yaml", text), ISO_EINPUT);
	assert_string_equal(iso_message(), want);
	assert_int_equal(read_text(&s, "d.yaml", "kind: detectors\npositions: ../p.npy\n"), ISO_EINPUT);
	assert_null(s);
	unlink(path);
}

#define RING "radius_mm: 5\nring_pitch_mm: 1\nrings: 2\ncrystals_per_ring: 12\n"

static void refused(void **state)
{
	static const struct {
		const char *text, *message; /* without the folder */
	} table[] = {
		{ RING, ": key 'kind' is missing" },
		{ "kind: tiles\n", ":1: kind is 'tiles', must be one of: cylinder, detectors, strips, "
		                   "panels, transducers, barrel, modules" },
		{ "kind: cylindre\n",
		  ":1: kind is 'cylindre', must be one of: cylinder, detectors, strips, panels, "
		  "transducers, barrel, modules; did you "
		  "mean 'cylinder'?" },
		{ "kind: cylinder\nrings: 2\n", ": key 'radius_mm' is missing" },
		{ "kind: cylinder\nradius: 2\n", ":2: unknown key 'radius'; did you mean 'radius_mm'?" },
		{ "kind: cylinder\nring: 2\n", ":2: unknown key 'ring'; did you mean 'rings'?" },
		{ "kind: cylinder\n" RING "tof: {bin_ps: 3}", ":6: key 'fwhm_ps' of 'tof' is missing" },
		{ "kind: cylinder\n" RING "tof: 300", ":6: tof is a single value, must be a map" },
		{ "kind: cylinder\n" RING "block: {crystals: 5}",
		  ":6: crystals_per_ring is 12, must be a multiple of the 5 crystals of a block" },
		{ "kind: cylinder\n" RING "block: {crystals: 3, rings: 7}",
		  ":6: rings is 2, must be a multiple of the 7 rings of a block" },
		{ "kind: cylinder\n" RING "block: {crystals: 3, gap_mm: 8}",
		  ":6: gap_mm is 8, must leave room for crystals in the 7.85398 mm of a block" },
		{ "kind: cylinder\n" RING "min_crystal_distance: 7",
		  ":6: min_crystal_distance is 7, must be at most 6, half way round the ring" },
		{ "kind: cylinder\nradius_mm: 5\nring_pitch_mm: 1\nrings: 1e5\n"
		  "crystals_per_ring: 1e5",
		  ": 100000 rings of 100000 crystals are more than 10000000 crystals" },
		{ "kind: cylinder\n" RING "pair_weight: solid",
		  ":6: pair_weight is 'solid', must be one of: uniform, solid-angle; did you mean "
		  "'solid-angle'?" },
		{ "kind: cylinder\n" RING "name: [a]", ":6: name must be a text of at most 63 bytes" },
		{ "kind: cylinder\n" RING "interaction_depth_mm: -1",
		  ":6: interaction_depth_mm is -1, must be in [0, 100000]" },
		{ "kind: detectors\n", ": key 'positions' is missing" },
		{ "kind: detectors\npositions: p.npy\npair_weight: uniform",
		  ":3: unknown key 'pair_weight'; known keys: kind, name, tof, time, positions, energy" },
	};
	char want[256];

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		iso_scanner *s = NULL;

		assert_int_equal(read_text(&s, "s.yaml", table[i].text), ISO_EINPUT);
		snprintf(want, sizeof want, "%s/s.yaml%s", folder, table[i].message);
		assert_string_equal(iso_message(), want);
		assert_null(s);
	}
}

static void json(void **state)
{
	iso_scanner *s = NULL;

	(void)state;
	assert_int_equal(read_text(&s, "s.json",
	                           "{\"kind\": \"cylinder\", \"radius_mm\": 5, "
	                           "\"rings\": 2, \"ring_pitch_mm\": 1.5, "
	                           "\"crystals_per_ring\": 12, "
	                           "\"block\": {\"crystals\": 3, \"gap_mm\": 0.1}}"),
	                 ISO_OK);
	assert_int_equal(iso_scanner_crystals(s), 24);
	iso_scanner_free(s);
}

/* A name is one line that may go to a terminal. */
static void name_is_plain(void **state)
{
	iso_scanner *s = scanner("kind: cylinder\n" RING "name: \"a\\e[1m\\nb\"");

	(void)state;
	assert_string_equal(iso_scanner_name(s), "a?[1m?b");
	iso_scanner_free(s);
}

static void examples(void **state)
{
	static const struct {
		const char *file, *name;
		int64_t crystals;
		double fwhm_ps, bin_ps, coincidence_ns, crystal_mm, length;
	} table[] = {
		{ "clinical-ring", "clinical ring", 480 * 40, 390, 83, 4.5, 4.2, 195 },
		{ "total-body", "total body", 600 * 400, 250, 40, 0, 4, 1995 },
		{ "small-animal", "small animal", 240 * 80, 0, 0, 0, 1.5, 126.4 },
	};
	char path[512];

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		iso_scanner *s = NULL;
		int64_t a, b;

		snprintf(path, sizeof path, "%s/scanners/%s.yaml", TEST_EXAMPLES, table[i].file);
		assert_int_equal(iso_scanner_read(&s, path), ISO_OK);
		assert_string_equal(iso_scanner_name(s), table[i].name);
		assert_int_equal(iso_scanner_crystals(s), table[i].crystals);
		assert_true(iso_scanner_tof_fwhm_ps(s) == table[i].fwhm_ps);
		assert_true(iso_scanner_tof_bin_ps(s) == table[i].bin_ps);
		assert_true(iso_scanner_coincidence_ns(s) == table[i].coincidence_ns);
		assert_true(iso_scanner_crystal_mm(s)[0] == table[i].crystal_mm);
		assert_float_equal(s->pos[3 * s->n - 1] - s->pos[2], table[i].length, 1e-9);
		assert_true(s->solid_angle);
		iso_scanner_pair(&a, &b, s, iso_scanner_pairs(s) - 1);
		assert_true(iso_scanner_in_coincidence(s, a, b));
		iso_scanner_free(s);
	}
}

#define THREE "kind: cylinder\nrings: 3\nring_pitch_mm: 4\ncrystals_per_ring: 72\n"

/* A ring of crystals of 8.7 by 4 mm against others: up to 1 mm across, a quarter of 4, and along the radius the depth
   that one of the two says, besides that. */
static void same_as_that_of_a_file(void **state)
{
	static const struct {
		const char *text;
		bool numbers, same;
		int64_t crystal;
	} t[] = {
		{ THREE "radius_mm: 100\n", true, true, -1 },
		{ THREE "radius_mm: 99.1\n", true, true, -1 },
		{ THREE "radius_mm: 98.9\n", true, false, 0 },
		{ THREE "radius_mm: 100\ninteraction_depth_mm: 8\n", true, true, -1 },
		{ THREE "radius_mm: 94\ncrystal_mm: [8, 4, 10]\n", true, true, -1 },
		{ THREE "radius_mm: 88\ncrystal_mm: [8, 4, 10]\n", true, false, 0 },
		{ THREE "radius_mm: 88\ncrystal_mm: [8, 4, 10]\n", false, false, -1 },
		{ THREE "radius_mm: 94\ncrystal_mm: [8, 4, 10]\n", false, true, -1 },
		{ "kind: cylinder\nrings: 3\nring_pitch_mm: 5.1\ncrystals_per_ring: 72\nradius_mm: 100\n",
		  true, false, 0 },
		{ "kind: cylinder\nrings: 3\nring_pitch_mm: 4.9\ncrystals_per_ring: 72\nradius_mm: 100\n",
		  true, true, -1 },
		{ "kind: cylinder\nrings: 4\nring_pitch_mm: 4\ncrystals_per_ring: 54\nradius_mm: 100\n", true,
		  false, 25 }, /* 216 crystals as well */
		{ "kind: cylinder\nrings: 3\nring_pitch_mm: 4\ncrystals_per_ring: 71\nradius_mm: 100\n", true,
		  false, -1 },
	};
	iso_scanner *own = scanner(THREE "radius_mm: 100\n");
	char words[160];

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct iso_scanner_apart apart;
		iso_scanner *given = scanner(t[i].text);

		if (iso_scanner_same(&apart, own, given, t[i].numbers) != t[i].same)
			fail_msg("row %zu: %s", i, t[i].same ? "the same" : "not the same");
		if (t[i].crystal < 25) assert_int_equal(apart.crystal, t[i].crystal);
		iso_scanner_free(given);
	}
	iso_scanner_figures(words, sizeof words, own);
	assert_string_equal(words, "216 crystals in 3 rings, at 100 mm from the axis, z -4 to 4 mm");
	iso_scanner_free(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_that_of_a_file),
		cmocka_unit_test(positions),
		cmocka_unit_test(blocks),
		cmocka_unit_test(blocks_along_z),
		cmocka_unit_test(blocks_without_gap),
		cmocka_unit_test(nearest_on_cylinder),
		cmocka_unit_test(hits),
		cmocka_unit_test(gap_share),
		cmocka_unit_test(hits_without_gap),
		cmocka_unit_test(pairs),
		cmocka_unit_test(coincidence),
		cmocka_unit_test(weights),
		cmocka_unit_test(listmode_data),
		cmocka_unit_test(free_detectors),
		cmocka_unit_test(crafted_detectors),
		cmocka_unit_test(refused_detectors),
		cmocka_unit_test(refused),
		cmocka_unit_test(json),
		cmocka_unit_test(name_is_plain),
		cmocka_unit_test(examples),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
