/* SPDX-License-Identifier: BSD-3-Clause */
/* Recordings: an IPASC file of another program, what is written comes back, damaged files, MSOT
   scans, and the grid of an array; also built in double. */
#include "oat.h"

#include "io/recording.h"

#include <sys/stat.h>
#include <unistd.h>

#define TINY TEST_DATA "/oat/ipasc/tiny_ipasc.hdf5"

/* Reading ends on request, and goes on where the request is taken back. */
static void check_stop(iso_recording *r)
{
	int64_t n = r->info.t.n * r->info.t.samples;
	iso_real *y = calloc((size_t)n, sizeof *y);
	iso_ctx *ctx = cpu(1);

	r->ctx = ctx;
	iso_ctx_cancel(ctx);
	REFUSED(iso_recording_read(y, r, 0, 0), ISO_ECANCEL, "interrupted");
	iso_ctx_clear_cancel(ctx);
	OK(iso_recording_read(y, r, 0, 0));
	r->ctx = NULL;
	iso_ctx_free(ctx);
	free(y);
}

#ifdef ISO_HDF5
static iso_recording *opened(const char *path)
{
	iso_recording *r = NULL;

	OK(iso_recording_open(&r, path));
	return r;
}

/* ---- IPASC ---- */

static void another_programs_file(void **state)
{
	struct iso_array data = vector("ipasc", "data"), pos = vector("ipasc", "transducers_mm");
	struct iso_array normals = vector("ipasc", "normals");
	iso_recording *r = opened(TINY);
	const struct iso_recording_info *i = iso_recording_info(r);
	iso_real y[12 * 24];

	(void)state;
	assert_int_equal(i->t.n, 12);
	assert_int_equal(i->t.samples, 24);
	assert_int_equal(i->wavelengths, 2);
	assert_int_equal(i->frames, 1);
	NEAR(i->wavelength_nm[1], 750, 1e-9);
	NEAR(i->t.speed, 1.54, 1e-12);
	NEAR(i->t.dt_us, .05, 1e-12);
	NEAR(i->t.radius, 30, 1e-5);
	NEAR(i->field[4], -20, 1e-9);
	for (int k = 0; k < 36; k++) {
		NEAR(i->t.pos[k], pos.v[k], 1e-5);
		NEAR(i->t.normal[k], normals.v[k], 1e-6);
	}
	for (int k = 0; k < 24; k++) NEAR(i->t.aperture[k], 2, 1e-12);
	for (int w = 0; w < 2; w++) {
		OK(iso_recording_read(y, r, w, 0));
		for (int k = 0; k < 12 * 24; k++)
			assert_true(y[k] == data.v[2 * k + w]); /* (detectors, samples, wavelengths, 1) */
		OK(iso_recording_read_some(y, r, w, 0, 5, 3));
		for (int k = 0; k < 3 * 24; k++) assert_true(y[k] == data.v[2 * (5 * 24 + k) + w]);
	}
	assert_int_equal(i->n_warnings, 0);
	check_stop(r);
	REFUSED(iso_recording_read(y, r, 2, 0), ISO_EARG, "wavelength 2 and frame 0 of 2 and 1");
	REFUSED(iso_recording_read_some(y, r, 0, 0, 10, 3), ISO_EARG,
	        "3 transducers from number 10 on of 12");
	iso_recording_free(r);
	iso_array_free(&data);
	iso_array_free(&pos);
	iso_array_free(&normals);
}

/* Two rings that are heard from 1 us on: 20 zeros come first. */
static struct iso_transducers two_rings(void)
{
	struct iso_transducers t = { .speed = 1.5, .dt_us = .05, .first_us = 1, .samples = 7, .gamma = 1 };

	OK(iso_transducers_rings(&t, &(struct iso_rings){ 20, 2, 5, 1, .5, 0, 1 }));
	return t;
}

static void written_and_read(void **state)
{
	struct iso_transducers t = two_rings();
	struct iso_array y = { 0 };
	iso_recording *r = NULL, *back;
	const struct iso_recording_info *i;
	iso_real got[10 * 27];

	(void)state;
	OK(iso_array_create(&y, 4, (const int64_t[]){ 3, 2, 10, 7 }));
	for (int64_t k = 0; k < y.n; k++) y.v[k] = (iso_real)(k * k % 101 - 50);
	OK(iso_recording_of(&r, &t, &y));
	OK(iso_recording_write("x.hdf5", r, "{}"));
	back = opened("x.hdf5");
	i = iso_recording_info(back);
	assert_int_equal(i->frames, 3);
	assert_int_equal(i->wavelengths, 2);
	assert_int_equal(i->t.samples, 27);
	assert_null(i->t.aperture);
	assert_int_equal(i->n_warnings, 0);
	for (int k = 0; k < 30; k++) {
		NEAR(i->t.pos[k], t.pos[k], 1e-12);
		NEAR(i->t.normal[k], t.normal[k], 1e-12);
	}
	for (int p = 0; p < 6; p++) {
		OK(iso_recording_read(got, back, p % 2, p / 2));
		for (int k = 0; k < 10 * 27; k++)
			assert_true(got[k] == (k % 27 < 20 ? 0 : y.v[70 * p + k / 27 * 7 + k % 27 - 20]));
	}
	OK(iso_recording_write("y.h5", back, NULL)); /* one file is read, another written */
	assert_int_equal(access("x.hdf5.json", F_OK), 0);
	assert_int_not_equal(access("y.h5.json", F_OK), 0);
	iso_recording_free(back);
	iso_recording_free(r);
	iso_array_free(&y);
	iso_transducers_free(&t);
}

/* What was written is 20 samples longer than the record of two_rings, which can be had back; so can
   that of an array with those samples. */
static void fitted(void **state)
{
	struct iso_transducers t = two_rings(), other = t;
	struct iso_array y = { 0 }, longer = { 0 };
	iso_recording *r = NULL, *back, *same = NULL;
	iso_real got[70];

	(void)state;
	OK(iso_array_create(&y, 2, (const int64_t[]){ 10, 7 }));
	OK(iso_array_create(&longer, 4, (const int64_t[]){ 2, 1, 10, 27 }));
	for (int k = 0; k < 540; k++) longer.v[k] = (iso_real)(k + 1);
	for (int k = 0; k < 70; k++) y.v[k] = longer.v[270 + k / 7 * 27 + 20 + k % 7];
	OK(iso_recording_of(&r, &t, &longer));
	assert_int_equal(iso_recording_info(r)->n_warnings, 1);
	OK(iso_recording_read(got, r, 0, 1));
	assert_memory_equal(got, y.v, sizeof got);
	OK(iso_recording_write("f.hdf5", r, NULL));
	back = opened("f.hdf5");
	other.samples = 8;
	REFUSED(iso_recording_fit(back, &other), ISO_EINPUT, "10 traces of 27 samples");
	other = t;
	other.n = 9;
	REFUSED(iso_recording_fit(back, &other), ISO_EINPUT, "the scanner has 9 of 7");
	other = t;
	other.dt_us = .1;
	other.first_us = 2; /* 20 samples as well, but of another length */
	REFUSED(iso_recording_fit(back, &other), ISO_EINPUT, "every 0.05 us");
	OK(iso_recording_fit(back, &t));
	assert_int_equal(iso_recording_info(back)->t.samples, 7);
	assert_non_null(strstr(iso_recording_info(back)->warning[0], "20 samples before"));
	OK(iso_recording_read(got, back, 0, 1));
	assert_memory_equal(got, y.v, sizeof got);
	OK(iso_recording_write("g.hdf5", back, NULL)); /* with its zeros again */
	same = opened("g.hdf5");
	assert_int_equal(iso_recording_info(same)->t.samples, 27);
	iso_recording_free(same);
	iso_recording_free(back);
	iso_recording_free(r);
	iso_array_free(&y);
	iso_array_free(&longer);
	iso_transducers_free(&t);
}

static void unwritable(void **state)
{
	struct iso_transducers t = two_rings();
	struct iso_array y = { 0 };
	iso_recording *r = NULL;

	(void)state;
	OK(iso_array_create(&y, 2, (const int64_t[]){ 10, 8 }));
	REFUSED(iso_recording_of(&r, &t, &y), ISO_EINPUT, "an array (10, 8)");
	iso_array_free(&y);
	OK(iso_array_create(&y, 3, (const int64_t[]){ 1, 10, 7 }));
	REFUSED(iso_recording_of(&r, &t, &y), ISO_EINPUT, "an array of 3 axes");
	iso_array_free(&y);
	OK(iso_array_create(&y, 2, (const int64_t[]){ 10, 7 }));
	t.first_us = .02;
	OK(iso_recording_of(&r, &t, &y));
	REFUSED(iso_recording_write("no.hdf5", r, NULL), ISO_EARG, "begin at the pulse");
	REFUSED(iso_recording_write("no.msot", r, NULL), ISO_EARG, "only read");
	REFUSED(iso_recording_write("no.npy", r, NULL), ISO_EARG, "unknown suffix");
	REFUSED(iso_recording_write("nowhere/no.hdf5", r, NULL), ISO_EIO, "folder nowhere");
	assert_int_not_equal(access("no.hdf5", F_OK), 0);
	iso_recording_free(r);
	iso_array_free(&y);
	iso_transducers_free(&t);
}

/* ---- damaged files ---- */

static void put_file(const char *path, const unsigned char *data, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	fclose(f);
}

/* Whatever is wrong with a file is told in one line. */
static void reads_or_refuses(const char *path)
{
	iso_real y[12 * 24];
	iso_recording *r = NULL;
	int st = iso_recording_open(&r, path);

	if (!st && iso_recording_info(r)->t.n * iso_recording_info(r)->t.samples <= N_OF(y))
		st = iso_recording_read(y, r, 0, 0);
	if (st) assert_true(st == ISO_EINPUT && strstr(iso_message(), path));
	iso_recording_free(r);
}

static void damaged(void **state)
{
	static unsigned char good[1 << 16], bad[1 << 16];
	FILE *f = fopen(TINY, "rb");
	size_t n;

	(void)state;
	assert_non_null(f);
	n = fread(good, 1, sizeof good, f);
	fclose(f);
	for (unsigned i = 0; i < 60; i++) {
		unsigned at = i * 2654435761u;

		memcpy(bad, good, n);
		for (int k = 0; k < 6; k++, at = at * 1664525u + 1013904223u)
			bad[(at >> 8) % (i % 2 ? n : 4096)] = (unsigned char)(i % 3 ? at >> 24 : 255);
		put_file("bad.hdf5", bad, n);
		reads_or_refuses("bad.hdf5");
	}
	for (size_t cut = 0; cut < n; cut += n / 10) {
		iso_recording *r = NULL;

		put_file("bad.hdf5", good, cut);
		REFUSED(iso_recording_open(&r, "bad.hdf5"), ISO_EINPUT, "bad.hdf5");
	}
	memset(bad, 'x', n);
	put_file("bad.hdf5", bad, n);
	REFUSED(iso_recording_open(&(iso_recording *){ NULL }, "bad.hdf5"), ISO_EINPUT, "not an HDF5 file");
	REFUSED(iso_recording_open(&(iso_recording *){ NULL }, "none.hdf5"), ISO_EINPUT, "none.hdf5");
}
#endif

/* ---- MSOT ---- */

#ifdef ISO_EXPAT
#	define HEAD                                                                                    \
		"<?xml version=\"1.0\"?>\n<P><H xmlns=\"Header_Schema\">"                               \
		"<SAMPLING-FREQUENCY unit=\"Hz\" unit-modifier=\"M\"> 40 </SAMPLING-FREQUENCY>"         \
		"<SPEED-OF-SOUND-BASE>-90</SPEED-OF-SOUND-BASE><TrimSpeedOfSound>40</TrimSpeedOfSound>" \
		"<FRAME-DESC>"
#	define AT(x, y)                                                                  \
		"<PROJECTION><VALUE axis-ref=\"2\">" y "</VALUE><VALUE axis-ref=\"1\">" x \
		"</VALUE><VALUE axis-ref=\"3\">0</VALUE></PROJECTION>"
#	define DETECTORS AT("0.04", "0") AT("0", "0.04") AT("-0.04", "0")
#	define LENGTH "</FRAME-DESC></H><RECORDED-LENGTH>4</RECORDED-LENGTH>"
#	define WAVES                                                                      \
		"<WAVELENGTHS><WAVELENGTH unit=\"m\" unit-modifier=\"n\">700</WAVELENGTH>" \
		"<WAVELENGTH unit-modifier=\"n\">800</WAVELENGTH></WAVELENGTHS>"
#	define RECORD(nm)                                                                       \
		"<DataModelScanFrame><Frame><WAVELENGTH unit-modifier=\"n\">" nm "</WAVELENGTH>" \
		"<TEMPERATURE>20</TEMPERATURE></Frame></DataModelScanFrame>"
#	define WHOLE                                                                               \
		HEAD DETECTORS LENGTH WAVES RECORD("800") RECORD("700") RECORD("700") RECORD("800") \
			RECORD("700") "</P>"

/* `records` of 3 detectors and 4 samples: 100 q + (r + 1) k^2. */
static void put_scan(const char *xml, int records, int more)
{
	unsigned char bin[2 * 12 * 8] = { 0 };
	FILE *f = fopen("s.msot", "w");

	assert_non_null(f);
	fputs(xml, f);
	fclose(f);
	for (int i = 0; i < 12 * records; i++) {
		int v = 100 * (i / 4 % 3) + (i / 12 + 1) * (i % 4) * (i % 4);

		bin[2 * i] = (unsigned char)(v & 255);
		bin[2 * i + 1] = (unsigned char)(v >> 8);
	}
	f = fopen("s.bin", "wb");
	assert_non_null(f);
	fwrite(bin, 1, (size_t)(24 * records + more), f);
	fclose(f);
}

/* The first record is of the second wavelength; the last has no partner. */
static void scan(void **state)
{
	const double want[4] = { -3.5, -2.5, .5, 5.5 }; /* k^2 less its mean */
	const int record[4] = { 1, 0, 2, 3 };
	iso_recording *r = NULL;
	const struct iso_recording_info *i;
	iso_real y[12];

	(void)state;
	put_scan(WHOLE, 5, 0);
	OK(iso_recording_open(&r, "s.msot"));
	i = iso_recording_info(r);
	assert_int_equal(i->wavelengths, 2);
	assert_int_equal(i->frames, 2);
	assert_int_equal(i->t.n, 3);
	NEAR(i->wavelength_nm[1], 800, 1e-9);
	NEAR(i->t.pos[0], 40, 1e-9);
	NEAR(i->t.pos[4], 40, 1e-9);
	NEAR(i->t.normal[6], 1, 1e-9);
	NEAR(i->t.dt_us, .025, 1e-12);
	NEAR(i->t.speed, 1.4824 - .05, 1e-4);
	assert_non_null(strstr(i->warning[0], "the last frame is not of all wavelengths"));
	for (int p = 0; p < 4; p++) {
		OK(iso_recording_read(y, r, p % 2, p / 2));
		for (int k = 0; k < 12; k++) NEAR(y[k], (record[p] + 1) * want[k % 4], 1e-5);
	}
	OK(iso_recording_read_some(y, r, 0, 1, 2, 1)); /* the last trace of record 2 */
	for (int k = 0; k < 4; k++) NEAR(y[k], 3 * want[k], 1e-5);
	check_stop(r);
	iso_recording_free(r);
}

/* Names as some systems write them. */
static void scan_upper_case(void **state)
{
	iso_recording *r = NULL;
	iso_real y[12];

	(void)state;
	put_scan(WHOLE, 5, 0);
	assert_int_equal(rename("s.msot", "S.MSOT") | rename("s.bin", "S.BIN"), 0);
	OK(iso_recording_open(&r, "S.MSOT"));
	OK(iso_recording_read(y, r, 0, 0));
	NEAR(y[3], 11, 1e-5);
	iso_recording_free(r);
	assert_int_equal(rename("S.BIN", "s.bin"), 0);
	REFUSED(iso_recording_open(&r, "S.MSOT"), ISO_EINPUT, "S.bin");
}

static void scan_refused(const char *xml, int records, int more, const char *why)
{
	iso_recording *r = NULL;

	put_scan(xml, records, more);
	REFUSED(iso_recording_open(&r, "s.msot"), ISO_EINPUT, why);
	iso_recording_free(r);
}

static void scans_refused(void **state)
{
	(void)state;
	scan_refused(WHOLE, 5, 2, "122 bytes, must be a multiple of 24");
	scan_refused(WHOLE, 0, 0, "s.bin is empty");
	scan_refused(HEAD LENGTH WAVES RECORD("700") "</P>", 1, 0, "no detectors");
	scan_refused(HEAD DETECTORS LENGTH WAVES "</P>", 1, 0, "no records");
	scan_refused(HEAD DETECTORS "</FRAME-DESC></H>" WAVES RECORD("700") "</P>", 1, 0,
	             "RECORDED-LENGTH is 0");
	scan_refused(HEAD DETECTORS LENGTH WAVES RECORD("720") "</P>", 1, 0, "720 nm, which is not");
	scan_refused(HEAD DETECTORS LENGTH WAVES RECORD("700") "</P>", 1, 0, "not every one");
	scan_refused(HEAD AT("x", "0") LENGTH "</P>", 1, 0, "expected a number");
	scan_refused(HEAD "<PROJECTION><VALUE>1</VALUE></PROJECTION>" LENGTH "</P>", 1, 0, "less than");
	scan_refused(HEAD DETECTORS, 1, 0, "line 2");
	scan_refused("<!DOCTYPE a [<!ENTITY b \"c\">]><P>&b;</P>", 1, 0, "document type");
	scan_refused("", 1, 0, "s.msot is empty");
}
#endif

/* ---- grids ---- */

static void grids(void **state)
{
	struct iso_transducers ring = { .samples = 9 }, sphere = { .samples = 9 };
	const double field[6] = { -5, 5, 1, 4, -1, 1 };
	struct iso_grid g = { 0 };

	(void)state;
	OK(iso_transducers_rings(&ring, &(struct iso_rings){ 40, 1, 16, M_PI / 2, M_PI, 0, .3 }));
	OK(iso_transducers_rings(&sphere, &(struct iso_rings){ 40, 4, 16, .4, .7, 0, .3 }));
	OK(iso_transducers_grid(&g, &ring, NULL)); /* a square of 25 mm */
	assert_true(g.n[0] == 256 && g.n[1] == 256 && g.n[2] == 1);
	NEAR(g.voxel[0], 25. / 256, 1e-12);
	g = (struct iso_grid){ .voxel = { .5, .5, .5 } };
	OK(iso_transducers_grid(&g, &sphere, field));
	assert_true(g.n[0] == 20 && g.n[1] == 6 && g.n[2] == 4);
	NEAR(g.centre[1], 2.5, 1e-12);
	g = (struct iso_grid){ .n = { 5, 5, 5 } };
	OK(iso_transducers_grid(&g, &sphere, field));
	NEAR(g.voxel[2], 2, 1e-12);
	g = (struct iso_grid){ 0 };
	REFUSED(iso_transducers_grid(&g, &sphere, field), ISO_EARG, "the size of its voxels is missing");
	REFUSED(iso_transducers_grid(&g, &sphere, NULL), ISO_EARG, "the number of its voxels is missing");
	iso_transducers_free(&ring);
	iso_transducers_free(&sphere);
}

/* Marczak 1997: 1482.38 m/s at 20 C, 1555.1 at 74 C, near the greatest. */
static void water(void **state)
{
	(void)state;
	NEAR(iso_water_speed(20), 1.48238, 1e-5);
	NEAR(iso_water_speed(74), 1.5551, 1e-4);
}

static void without_libraries(void **state)
{
	iso_recording *r = NULL;

	(void)state;
#ifndef ISO_HDF5
	REFUSED(iso_recording_open(&r, TINY), ISO_EINPUT, "this build has no HDF5");
	REFUSED(iso_recording_write_check("x.h5", true), ISO_EARG, "this build has no HDF5");
#endif
#ifndef ISO_EXPAT
	REFUSED(iso_recording_open(&r, "s.msot"), ISO_EINPUT, "this build has no expat");
#endif
	REFUSED(iso_recording_open(&r, "x.npy"), ISO_EINPUT, "unknown suffix");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef ISO_HDF5
		cmocka_unit_test(another_programs_file),
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(fitted),
		cmocka_unit_test(unwritable),
		cmocka_unit_test(damaged),
#endif
#ifdef ISO_EXPAT
		cmocka_unit_test(scan),
		cmocka_unit_test(scan_upper_case),
		cmocka_unit_test(scans_refused),
#endif
		cmocka_unit_test(grids),
		cmocka_unit_test(water),
		cmocka_unit_test(without_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
