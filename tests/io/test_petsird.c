/* SPDX-License-Identifier: BSD-3-Clause */
/* PETSIRD files: one scan in three versions of the model, against what the project's own readers get; a scanner of two
   kinds of modules (scripts/yardl_seeds.py), whose efficiencies are a formula; damaged files. */
#define _GNU_SOURCE /* memmem */
#include "test.h"
#include "files.h"
#include "io/events.h"
#include "scanner/scanner.h"

static const char *const version[] = { "0.7.2", "0.9.1", "0.12.0" };

static const char *sample(const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, TEST_DATA "/petsird/%s.petsird", name);
	return path;
}

static const char *point(int k)
{
	char name[32];

	snprintf(name, sizeof name, "point-%s", version[k]);
	return sample(name);
}

/* The numbers of a .npy of version 1, behind its head. */
static void numbers(void *v, size_t bytes, const char *name)
{
	static char file[1 << 16];
	char path[256];
	size_t n;

	snprintf(path, sizeof path, TEST_DATA "/petsird/%s.npy", name);
	n = get(path, file, sizeof file);
	assert_true(n > bytes);
	memcpy(v, file + n - bytes, bytes);
}

static void read_as(struct iso_events *e, const char *path, bool delayeds)
{
	struct iso_events_options o = { .size = sizeof o, .delayeds = delayeds };

	if (iso_events_read(e, path, &o)) fail_msg("%s", iso_message());
}

static iso_event_file *open_file(const char *path)
{
	iso_event_file *f = NULL;

	if (iso_event_file_open(&f, path, NULL)) fail_msg("%s", iso_message());
	return f;
}

/* ---- one scan in three versions ---- */

static void same(const struct iso_events *e, int n, const char *of)
{
	static float want[3000][3], place[336][3];

	numbers(want, (size_t)n * sizeof *want, of);
	numbers(place, sizeof place, "crystals");
	assert_int_equal(e->n, n);
	for (int i = 0; i < n; i++) {
		assert_int_equal(e->crystal[2 * i], (int)want[i][0]);
		assert_int_equal(e->crystal[2 * i + 1], (int)want[i][1]);
		assert_near(e->v[i].dt_ps, want[i][2], 1e-3);
		for (int a = 0; a < 3; a++) {
			assert_near(e->v[i].p1[a], place[(int)want[i][0]][a], 1e-4);
			assert_near(e->v[i].p2[a], place[(int)want[i][1]][a], 1e-4);
		}
	}
}

static void events(void **state)
{
	(void)state;
	for (int k = 0; k < 3; k++) {
		struct iso_events e = { 0 };

		read_as(&e, point(k), false);
		same(&e, 3000, "prompts");
		iso_events_free(&e);
		read_as(&e, point(k), true);
		same(&e, 200, "delayeds");
		iso_events_free(&e);
	}
}

/* 0.7.2 has no calibration factor, which is 2.5 in the others. */
static void factors(void **state)
{
	static float want[3000];

	(void)state;
	numbers(want, sizeof want, "efficiency");
	for (int k = 0; k < 3; k++) {
		struct iso_events e = { 0 };

		read_as(&e, point(k), false);
		for (int i = 0; i < 3000; i++)
			assert_near((double)e.mult[i] * (k ? 1 : 2.5), want[i], 1e-6 * (double)want[i]);
		iso_events_free(&e);
	}
}

static void scanner(void **state)
{
	static float place[336][3];

	(void)state;
	numbers(place, sizeof place, "crystals");
	for (int k = 0; k < 3; k++) {
		iso_event_file *f = open_file(point(k));
		const struct iso_events_info *i = iso_event_file_info(f);
		const iso_scanner *s = iso_event_file_scanner(f);

		assert_string_equal(i->format, "PETSIRD");
		assert_int_equal(i->n, 3000);
		assert_true(i->has_dt && i->has_time && i->has_crystal && i->normalisation &&
		            !i->attenuation);
		assert_near(i->tof_fwhm_ps, 266.85127615852167, 1e-4);
		assert_near(i->tof_bin_ps, 20 / .149896229, 1e-3);
		assert_near(i->duration_s, .4, 1e-12);
		assert_int_equal(i->delayeds, 200);
		assert_string_equal(i->ignored, "");
		assert_int_equal(iso_scanner_kind(s), ISO_DETECTORS);
		assert_int_equal(iso_scanner_crystals(s), 336);
		assert_near(iso_scanner_tof_fwhm_ps(s), i->tof_fwhm_ps, 0);
		assert_near(iso_scanner_coincidence_ns(s), 1e-3 * 130 / .149896229, 1e-6);
		for (int c = 0; c < 3 * 336; c++)
			assert_near(iso_scanner_positions(s)[c], place[c / 3][c % 3], 1e-4);
		iso_event_file_close(f);
	}
}

/* Any piece is that of the whole; the other sign is but that. */
static void pieces(void **state)
{
	struct iso_events_options o = { .size = sizeof o, .swap_dt = true };
	struct iso_events e = { 0 }, part = { 0 };
	iso_event_file *f = NULL;

	(void)state;
	read_as(&e, point(2), false);
	assert_int_equal(iso_event_file_open(&f, point(2), &o), ISO_OK);
	assert_int_equal(iso_event_file_block(&part, f, 700), ISO_OK);
	for (int first = 0; first <= 2300; first += 211) {
		assert_int_equal(iso_event_file_read(&part, f, first, 700), ISO_OK);
		for (int i = 0; i < 700; i++) {
			assert_memory_equal(part.v[i].p1, e.v[first + i].p1, 6 * sizeof(float));
			assert_true(part.v[i].dt_ps == -e.v[first + i].dt_ps);
			assert_int_equal(part.time_ms[i], e.time_ms[first + i]);
			assert_true(part.mult[i] == e.mult[first + i]);
		}
	}
	iso_events_free(&part);
	iso_events_free(&e);
	iso_event_file_close(f);
}

/* By its first bytes, whatever its name; with another scanner of as many crystals alone. */
static void other_names(void **state)
{
	static uint8_t data[1 << 16];
	struct iso_events e = { 0 };
	struct iso_events_options o = { .size = sizeof o };
	iso_scanner *s = NULL;

	(void)state;
	put("scan.bin", data, get(point(2), data, sizeof data));
	read_as(&e, "scan.bin", false);
	assert_int_equal(e.n, 3000);
	iso_events_free(&e);
	put_text("ring.yaml",
	         "kind: cylinder\nradius_mm: 100\nrings: 2\nring_pitch_mm: 10\ncrystals_per_ring: 8\n");
	assert_int_equal(iso_scanner_read(&s, "ring.yaml"), ISO_OK);
	o.scanner = s;
	assert_int_equal(iso_events_read(&e, "scan.bin", &o), ISO_EINPUT);
	assert_message("has 336 crystals, scanner");
	iso_scanner_free(s);
}

/* ---- two kinds of modules: 4 of 2 crystals and 2 of one; two energy windows ---- */

enum { CRYSTALS = 10, WINDOWS = 2, PROMPTS = 24 };

struct place {
	int kind, module, element;
};

static struct place place_of(int crystal)
{
	return crystal < 8 ? (struct place){ 0, crystal / 2, crystal % 2 }
	                   : (struct place){ 1, crystal - 8, 0 };
}

static double bin_efficiency(struct place p, int window)
{
	int bin = ((p.kind ? p.module : 2 * p.module + p.element)) * WINDOWS + window;

	return .75 + .01 * (bin % 7);
}

static double efficiency(int a, int i, int b, int j, double calibration)
{
	struct place p = place_of(a), q = place_of(b);
	double value =
		.5 + .1 * ((p.module + q.module) % 2) + .01 * (WINDOWS * (p.element + q.element) + i + j);

	if (p.kind == q.kind && p.module == q.module) return 0;
	return calibration * bin_efficiency(p, i) * bin_efficiency(q, j) * value;
}

/* The events of the script: k-th of kinds i, j has bins n_i - 1 - k and k, TOF bin k % 3; every fourth of all is
   delayed. */
static void two_kinds(void **state)
{
	(void)state;
	for (int old = 0; old < 2; old++) {
		struct iso_events e = { 0 };
		int at = 0, number = 0;

		read_as(&e, sample(old ? "two-kinds-0.7.2" : "two-kinds-0.12.0"), false);
		assert_int_equal(e.n, PROMPTS);
		for (int i = 0; i < 2; i++)
			for (int j = 0; j <= i; j++)
				for (int k = 0; k < 5; k++, number++) {
					int n = i ? 4 : 16, bin1 = n - 1 - k % n, bin2 = k % (j ? 4 : 16);
					int a = (i ? 8 : 0) + bin1 / 2, b = (j ? 8 : 0) + bin2 / 2;

					if (number % 4 == 3) continue;
					assert_int_equal(e.crystal[2 * at], a);
					assert_int_equal(e.crystal[2 * at + 1], b);
					assert_near(e.v[at].dt_ps, (k % 3 - 1) * 20 / .149896229, 1e-3);
					assert_near(e.mult[at],
					            efficiency(a, bin1 % 2, b, bin2 % 2, old ? 1 : 1.5),
					            1e-6);
					assert_int_equal(e.time_ms[at],
					                 50); /* middle of 100 ... 200, from 100 on */
					assert_int_equal(e.time_ms[at + PROMPTS / 2], 200);
					at++;
				}
		assert_int_equal(at, PROMPTS / 2);
		iso_events_free(&e);
	}
}

/* Every pair of crystals as an event, and its efficiency, summed over energy windows. */
static int all_pairs(struct iso_event *v, iso_real *weight, const iso_scanner *s, double calibration)
{
	int n = 0;

	for (int a = 1; a < CRYSTALS; a++)
		for (int b = 0; b < a; b++, n++) {
			for (int c = 0; c < 3; c++) {
				v[n].p1[c] = (float)iso_scanner_positions(s)[3 * a + c];
				v[n].p2[c] = (float)iso_scanner_positions(s)[3 * b + c];
			}
			weight[n] = 0;
			for (int i = 0; i < WINDOWS; i++)
				for (int j = 0; j < WINDOWS; j++)
					weight[n] += (iso_real)(calibration > 0
					                                ? efficiency(a, i, b, j, calibration)
					                                : efficiency(a, i, b, j, 1) > 0 &&
					                                          i + j == 0);
		}
	return n;
}

/* The sensitivity on a device, against the pairs traced back one by one on the CPU; coincidence_alone: each weighs 1
   or 0. */
static void compare_sensitivity(iso_ctx *ctx, const iso_scanner *s, double calibration,
                                bool coincidence_alone)
{
	struct iso_event v[CRYSTALS * CRYSTALS] = { 0 };
	iso_real weight[CRYSTALS * CRYSTALS], want[64], got[64];
	struct iso_events e = { .v = v };
	struct iso_ray p = { .size = sizeof p,
		             .grid = { { 4, 4, 4 }, { 40, 10, 5 }, { 5, 15, 4 } },
		             .n_sub = 1 };
	struct iso_ray_sens q = { .size = sizeof q,
		                  .grid = p.grid,
		                  .scanner = s,
		                  .share = 1,
		                  .coincidence_alone = coincidence_alone };
	iso_ctx *host = cpu(1);
	iso_op *op = NULL;
	double error = 1, sum = 0;

	e.n = all_pairs(v, weight, s, coincidence_alone ? 0 : calibration);
	OK(iso_ray_create(&op, host, &p, &e));
	OK(iso_adjoint(want, op, ISO_ALL, weight));
	OK(iso_ray_sens(got, &error, ctx, &q));
	assert_near(error, 0, 0);
	for (int i = 0; i < 64; i++) {
		assert_near((double)got[i], (double)want[i], 1e-4 * (double)want[i] + 1e-5);
		sum += (double)got[i];
	}
	assert_true(sum > 100);
	iso_op_free(op);
	iso_ctx_free(host);
}

static void check_sensitivity(iso_ctx *ctx)
{
	for (int old = 0; old < 2; old++) {
		iso_event_file *f = open_file(sample(old ? "two-kinds-0.7.2" : "two-kinds-0.12.0"));

		compare_sensitivity(ctx, iso_event_file_scanner(f), old ? 1 : 1.5, false);
		compare_sensitivity(ctx, iso_event_file_scanner(f), 1, true);
		iso_event_file_close(f);
	}
}

static void sensitivity(void **state)
{
	iso_ctx *ctx = cpu(2);

	(void)state;
	check_sensitivity(ctx);
	iso_ctx_free(ctx);
}

static void cuda_sensitivity(void **state)
{
	(void)state;
	on_cuda(check_sensitivity);
}

/* Rates of randoms from delayeds that are their products on all pairs in coincidence. */
static void randoms(void **state)
{
	struct iso_event v[CRYSTALS * CRYSTALS] = { 0 };
	iso_real count[CRYSTALS * CRYSTALS];
	uint32_t crystal[CRYSTALS * CRYSTALS][2];
	struct iso_events e = { .v = v, .count = count, .crystal = *crystal };
	iso_event_file *f = open_file(sample("two-kinds-0.12.0"));
	const iso_scanner *s = iso_event_file_scanner(f);
	iso_ctx *ctx = cpu(1);
	double rate[CRYSTALS];
	int64_t bad = 0, n = 0;

	(void)state;
	e.n = all_pairs(v, count, s, 1);
	for (int a = 1; a < CRYSTALS; a++)
		for (int b = 0; b < a; b++, n++) {
			count[n] = count[n] > 0 ? (iso_real)((1 + a) * (1 + b)) : 0;
			crystal[n][0] = (uint32_t)a;
			crystal[n][1] = (uint32_t)b;
		}
	OK(iso_randoms_from_delayed(rate, &bad, ctx, s, &e));
	assert_int_equal(bad, 4); /* two crystals of one module */
	for (int a = 0; a < CRYSTALS; a++) assert_near(rate[a], 1 + a, 1e-6);
	iso_event_file_close(f);
	iso_ctx_free(ctx);
}

/* A row of events beyond the kinds, as one version of the project's own generator writes it. */
static void extra_row(void **state)
{
	iso_event_file *f = open_file(sample("row"));

	(void)state;
	assert_int_equal(iso_event_file_info(f)->n, PROMPTS);
	assert_non_null(strstr(iso_event_file_info(f)->ignored, "events of kinds of modules"));
	iso_event_file_close(f);
}

/* ---- files that are refused ---- */

static void refused(const char *path, const char *message)
{
	struct iso_events e = { 0 };
	int st = iso_events_read(&e, path, NULL);

	if (st != ISO_EINPUT) fail_msg("%s: status %d, wanted a message with \"%s\"", path, st, message);
	assert_message(path);
	assert_message(message);
	assert_null(strchr(iso_message(), '\n'));
}

/* ---- files that say something else: bytes of a sample replaced by others ---- */

/* A copy of two-kinds-0.12.0, with the nth place that has `old` as `new`. */
static void edit(int nth, const void *old, size_t n_old, const void *new, size_t n_new)
{
	static uint8_t data[1 << 16], made[1 << 16];
	size_t n = get(sample("two-kinds-0.12.0"), data, sizeof data), at, rest;
	uint8_t *found = memmem(data, n, old, n_old);

	for (; found && nth > 0; nth--) found = memmem(found + 1, n - (size_t)(found + 1 - data), old, n_old);
	assert_non_null(found);
	at = (size_t)(found - data);
	rest = n - at - n_old;
	memcpy(made, data, at);
	memcpy(made + at, new, n_new);
	memcpy(made + at + n_new, found + n_old, rest);
	put("x.petsird", made, at + n_new + rest);
}

/* What the reader of the copy leaves out. */
static void ignores(const char *note, double bin_ps)
{
	iso_event_file *f = open_file("x.petsird");

	if (note)
		assert_non_null(strstr(iso_event_file_info(f)->ignored, note));
	else
		assert_string_equal(iso_event_file_info(f)->ignored, "");
	assert_near(iso_event_file_info(f)->tof_bin_ps, bin_ps, 1e-3);
	iso_event_file_close(f);
}

/* Kinds of modules whose TOF differs from that of the first are told, by edges or resolution; so are bins of several
   widths, whose times are their middles. */
static void differing_tof(void **state)
{
	static const float edges[] = { -30, -10, 10, 30 }, farther[] = { -30, -10, 10, 31 },
			   uneven[] = { -30, -10, 12, 30 }, flat[] = { -30, -10, -10, 30 };
	static const float fwhm[] = { 30, 30 }, wider[] = { 30, 36 };
	const double bin_ps = 20 / .149896229;
	struct iso_events e = { 0 };

	(void)state;
	edit(1, edges, sizeof edges, edges, sizeof edges);
	ignores(NULL, bin_ps);
	for (int pair = 1; pair < 3; pair++) {
		edit(pair, edges, sizeof edges, farther, sizeof farther);
		ignores("TOF of other kinds of modules", bin_ps);
	}
	edit(0, fwhm, sizeof fwhm, wider, sizeof wider);
	ignores("TOF of other kinds of modules", bin_ps);
	edit(0, edges, sizeof edges, uneven, sizeof uneven);
	ignores("widths of TOF bins, which differ: times are their middles", 0);
	read_as(&e, "x.petsird", false);
	assert_near(e.v[1].dt_ps, 1 / .149896229, 1e-3);
	iso_events_free(&e);
	edit(0, edges, sizeof edges, flat, sizeof flat);
	refused("x.petsird", "edges of bins must rise, not so that of number: 2");
}

/* Of kinds 1 and 1, which have events. */
static void lacking_tof(void **state)
{
	static const struct {
		uint8_t n;
		float v[4];
	} __attribute__((packed)) edges = { 4, { -30, -10, 10, 30 } };

	(void)state;
	edit(2, &edges, sizeof edges, "", 1);
	refused("x.petsird", "events of modules of kinds 1 and 1, of which tofBinEdges has no bins");
}

/* Detection bins (16 of the first kind) and TOF bins (3) of the third event, one too large. */
static void beyond(void **state)
{
	static const uint8_t events[] = { 15, 0, 0, 14, 1, 1, 13, 2, 2 };
	static const struct {
		int at, value;
		const char *message;
	} wrong[] = { { 6, 16, "event 2: detection bin 16, there are 16" },
		      { 7, 16, "event 2: detection bin 16, there are 16" },
		      { 8, 3, "event 2: TOF bin 3, there are 3" } };

	(void)state;
	for (int i = 0; i < COUNT(wrong); i++) {
		uint8_t changed[sizeof events];

		memcpy(changed, events, sizeof events);
		changed[wrong[i].at] = (uint8_t)wrong[i].value;
		edit(0, events, sizeof events, changed, sizeof changed);
		refused("x.petsird", wrong[i].message);
	}
}

/* The last value of the second table, and its number: 1, that is 2 as a varint with sign. */
static void same_number(void **state)
{
	static const uint8_t end[] = { 0xc3, 0xf5, 0x28, 0x3f, 2 }, again[] = { 0xc3, 0xf5, 0x28, 0x3f, 0 };

	(void)state;
	edit(0, end, sizeof end, again, sizeof again);
	refused("x.petsird", "sgid of a table of efficiencies, not below their number, or again: 0");
}

/* Windows of 400 to 500 and 500 to 600 keV: photons from 400 to 600 are measured. */
static void energy_window(void **state)
{
	iso_event_file *f = open_file(sample("two-kinds-0.12.0"));
	const iso_scanner *s = iso_event_file_scanner(f);

	(void)state;
	assert_near(s->energy_kev[0], 400, 0);
	assert_near(s->energy_kev[1], 600, 0);
	iso_event_file_close(f);
}

static void moved(void **state)
{
	(void)state;
	struct iso_events_options o = { .size = sizeof o, .moving = true };
	struct iso_poses_options bed = { .size = sizeof bed, .kind = ISO_POSES_BED };
	iso_event_file *f = NULL;
	iso_poses *p = NULL;
	struct iso_pose at;

	refused(sample("moved"), "bed or gantry moves");
	assert_int_equal(iso_event_file_open(&f, sample("moved"), &o), ISO_OK);
	for (int inverse = 0; inverse < 2;
	     inverse++) { /* 1 mm along x, from 0.1 s after the first block on */
		bed.inverse = inverse;
		assert_int_equal(iso_event_file_poses(&p, f, &bed), ISO_OK);
		assert_non_null(p);
		assert_int_equal(iso_poses_rule(p), ISO_POSE_STEP);
		for (int k = 0; k < 4; k++) {
			assert_true(iso_poses_at(&at, p, .05 + .0333 * k));
			assert_near(at.m[3], k < 2 ? 0 : inverse ? -1 : 1, 0);
			assert_near(at.m[0], 1, 0);
		}
		iso_poses_free(p);
	}
	bed.kind = ISO_POSES_GANTRY;
	assert_int_equal(iso_event_file_poses(&p, f, &bed), ISO_OK);
	assert_null(p);
	iso_event_file_close(f);
}

/* Every name that is looked up, changed in the schema. */
static void names_missing(void **state)
{
	static const char *const names[] = { "header",
		                             "timeBlocks",
		                             "scanner",
		                             "modelName",
		                             "scannerGeometry",
		                             "replicatedModules",
		                             "object",
		                             "transforms",
		                             "detectingElements",
		                             "shape",
		                             "corners",
		                             "c",
		                             "matrix",
		                             "tofBinEdges",
		                             "edges",
		                             "tofResolution",
		                             "eventEnergyBinEdges",
		                             "detectionEfficiencies",
		                             "detectionBinEfficiencies",
		                             "modulePairSGIDLUT",
		                             "modulePairEfficienciesVectors",
		                             "values",
		                             "sgid",
		                             "timeInterval",
		                             "start",
		                             "stop",
		                             "promptEvents",
		                             "delayedEvents",
		                             "detectionBins",
		                             "tofIdx" };
	static char data[1 << 16], key[64];

	(void)state;
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < COUNT(names); i++) {
			size_t n = get(point(k), data, sizeof data - 1);
			int changed = 0, length = snprintf(key, sizeof key, "\"name\":\"%s\"", names[i]);

			for (char *at = data; (at = memmem(at, n - (size_t)(at - data), key, (size_t)length));
			     changed++)
				at[8] = '_';
			assert_true(changed > 0);
			put("x.petsird", data, n);
			refused("x.petsird", names[i]);
		}
}

static void damaged(void **state)
{
	static uint8_t data[1 << 16];
	size_t n = get(point(2), data, sizeof data);

	(void)state;
	put("x.petsird", data, n - 1);
	refused("x.petsird", "cut short");
	put("x.petsird", data, n + 1);
	refused("x.petsird", "1 bytes after the end of its time blocks");
	put("x.petsird", data, 7);
	refused("x.petsird", "does not begin as a yardl file");
	put("x.petsird", data, 5000);
	refused("x.petsird", "bytes are left");
	data[5] = 2;
	put("x.petsird", data, n);
	refused("x.petsird", "does not begin as a yardl file of version 1");
}

/* A file of this schema. */
static void put_schema(const char *types, const uint8_t *rest, size_t n)
{
	static uint8_t file[4096];
	char *text = (char *)file + 11;
	int length = snprintf(
		text, 4000,
		"{\"protocol\":{\"name\":\"P\",\"sequence\":[{\"name\":\"header\",\"type\":\"P.H\"},"
		"{\"name\":\"timeBlocks\",\"type\":{\"stream\":{\"items\":\"P.B\"}}}]},\"types\":[%s]}",
		types);

	memcpy(file, "yardl\1\0\0\0", 9);
	file[9] = (uint8_t)(length & 127) | 128;
	file[10] = (uint8_t)(length >> 7);
	memcpy(text + length, rest, n);
	put("x.petsird", file, 11 + (size_t)length + n);
}

/* Types inside themselves, counts of 2^63, what is not there. */
static void strange_schemas(void **state)
{
#define B "{\"name\":\"B\",\"fields\":[{\"name\":\"x\",\"type\":\"uint8\"}]}"
	static const uint8_t huge[] = { 128, 128, 128, 128, 128, 128, 128, 128, 128, 1, 0, 0, 0 };

	(void)state;
	put_schema("{\"name\":\"H\",\"fields\":[{\"name\":\"scanner\",\"type\":\"P.H\"}]}," B, huge, 13);
	refused("x.petsird", "inside itself");
	put_schema("{\"name\":\"H\",\"fields\":[{\"name\":\"a\",\"type\":\"P.H\"},{\"name\":\"b\",\"type\":"
	           "\"P.H\"}]}," B,
	           huge, 13);
	refused("x.petsird", "schema: ");
	put_schema("{\"name\":\"H\",\"type\":\"P.H\"}," B, huge, 13);
	refused("x.petsird", "inside itself");
	put_schema("{\"name\":\"H\",\"fields\":[{\"name\":\"scanner\",\"type\":\"P.Nothing\"}]}," B, huge,
	           13);
	refused("x.petsird", "unknown type 'P.Nothing'");
	put_schema(
		"{\"name\":\"H\",\"fields\":[{\"name\":\"a\",\"type\":{\"vector\":{\"items\":\"float32\"}}},"
		"{\"name\":\"scanner\",\"type\":\"uint8\"}]}," B,
		huge, 13);
	refused("x.petsird", "9223372036854775808 values of at least 4 bytes");
	put_schema("{\"name\":\"H\",\"fields\":[{\"name\":\"a\",\"type\":{\"array\":{\"items\":\"float32\","
	           "\"dimensions\":"
	           "2}}},{\"name\":\"scanner\",\"type\":\"uint8\"}]}," B,
	           huge, 13);
	refused("x.petsird", "an array of more values");
	put_schema("{\"name\":\"H\",\"fields\":[{\"name\":\"a\",\"type\":{\"vector\":{\"items\":{\"vector\":{"
	           "\"items\":\"P.E\","
	           "\"length\":1000000}},\"length\":1000000}}},{\"name\":\"scanner\",\"type\":\"uint8\"}]},"
	           "{\"name\":\"E\",\"fields\":[]}," B,
	           huge, 13);
	refused("x.petsird", "'scanner' is no record");
}

/* ---- written ---- */

/* 4 rings of 12 crystals, those of up to 2 rings apart in coincidence, and of at least 3 crystals. */
static iso_scanner *written_ring(void)
{
	iso_scanner *s = NULL;

	put_text("ring.yaml",
	         "kind: cylinder\nradius_mm: 100\nrings: 4\nring_pitch_mm: 10\ncrystals_per_ring: 12\n"
	         "crystal_mm: [8, 9, 20]\nmin_crystal_distance: 3\nmax_ring_difference: 2\n"
	         "tof: {fwhm_ps: 300}\n");
	OK(iso_scanner_read(&s, "ring.yaml"));
	return s;
}

enum { RING = 48, LINES = RING * RING };

/* All pairs of crystals, with a time of flight of 0. */
static struct iso_events all_lines(const iso_scanner *s)
{
	static struct iso_event v[LINES];
	static uint32_t crystal[LINES][2];
	struct iso_events e = { .v = v, .crystal = *crystal, .tof_fwhm_ps = 300 };

	for (int i = 0; i < LINES; i++) {
		const int of[2] = { i / RING, i % RING };

		if (of[0] == of[1]) continue;
		for (int k = 0; k < 2; k++) crystal[e.n][k] = (uint32_t)of[k];
		for (int a = 0; a < 3; a++) {
			v[e.n].p1[a] = (float)s->pos[3 * of[0] + a];
			v[e.n].p2[a] = (float)s->pos[3 * of[1] + a];
		}
		e.n++;
	}
	return e;
}

/* A file has the scanner it was written of: places of crystals; and pairs in coincidence, of which all others are bad
   events. A time of flight of 0 stays 0. */
static void round_trip(void **state)
{
	iso_scanner *ring = written_ring();
	struct iso_events e = all_lines(ring), back = { 0 };
	iso_event_writer *w = NULL;

	(void)state;
	OK(iso_event_writer_open(&w, "x.petsird", ring, e.n));
	OK(iso_event_writer_append(w, &e));
	OK(iso_event_writer_close(w, NULL));
	read_as(&back, "x.petsird", false);
	assert_int_equal(back.n, e.n);
	for (int64_t i = 0; i < e.n; i++) {
		const uint32_t *c = back.crystal + 2 * i;
		bool bad = memcmp(back.v[i].p1, back.v[i].p2, sizeof back.v[i].p1) == 0;

		assert_true(c[0] == e.crystal[2 * i] && c[1] == e.crystal[2 * i + 1]);
		assert_int_equal(!bad, iso_scanner_in_coincidence(ring, c[0], c[1]));
		for (int a = 0; a < 3; a++) assert_near(back.v[i].p1[a], e.v[i].p1[a], 1e-3);
		assert_near(back.v[i].dt_ps, 0, 1e-3);
	}
	iso_events_free(&back);
	iso_scanner_free(ring);
}

/* A scan of 10 s that begins after 30 s: an event 12 s after its beginning is behind its end. */
static void late_events(void **state)
{
	static uint32_t time_ms[LINES] = { 12000 };
	iso_scanner *ring = written_ring();
	struct iso_events e = all_lines(ring);
	iso_event_writer *w = NULL;

	(void)state;
	e.time_ms = time_ms;
	e.start_s = 30;
	e.duration_s = 10;
	OK(iso_event_writer_open(&w, "x.petsird", ring, e.n));
	OK(iso_event_writer_append(w, &e));
	assert_non_null(strstr(w->warning, "1 events are later than the end of the scan"));
	iso_event_writer_free(w);
	iso_scanner_free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events),        cmocka_unit_test(factors),
		cmocka_unit_test(scanner),       cmocka_unit_test(pieces),
		cmocka_unit_test(other_names),   cmocka_unit_test(two_kinds),
		cmocka_unit_test(sensitivity),   cmocka_unit_test(cuda_sensitivity),
		cmocka_unit_test(randoms),       cmocka_unit_test(extra_row),
		cmocka_unit_test(moved),         cmocka_unit_test(names_missing),
		cmocka_unit_test(damaged),       cmocka_unit_test(strange_schemas),
		cmocka_unit_test(differing_tof), cmocka_unit_test(lacking_tof),
		cmocka_unit_test(beyond),        cmocka_unit_test(same_number),
		cmocka_unit_test(energy_window), cmocka_unit_test(round_trip),
		cmocka_unit_test(late_events),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
