/* SPDX-License-Identifier: BSD-3-Clause */
/* PETLINK list mode of the mMR: bins and places worked anew, both kinds of events, times, pieces, damage; also built in
   double. Where ISO_FOREIGN_SAMPLES names a folder, a real scan in its petlink/ too. */
#include "files.h"
#include "test.h"

enum { PLACES = 504, VIEWS = 252, BINS = 344, RINGS = 64, PER_RING = 448 };

#define MODEL "!INTERFILE:=\n!originating system:=2008\n%SMS-MI header name space:=PETLINK bin address\n"
#define KEYS                                                                                      \
	"number of rings:=64\n%LM event and tag words format (bits):=32\n%axial compression:=1\n" \
	"%maximum ring difference:=60\n%number of projections:=344\n%number of views:=252\n"
#define HEADER MODEL "name of data file := a.l\n" KEYS
#define MORE                                                                                             \
	"isotope name:=F-18\nimage duration (sec):=900\n%patient orientation:=HFS\n%number of TOF time " \
	"bins:=1\n"                                                                                      \
	"%total listmode word counts:=6\n"

/* ---- words ---- */

struct bin {
	int q, axial, view, t; /* segment, position in it, view, tangential position from -172 on */
};

/* Planes before segment q: 0, -1, 1, -2, 2, ... of 64 - |q| planes. */
static int first_plane(int q)
{
	int n = 0;

	for (int k = 0; k != q; k = k < 0 ? -k : -k - 1) n += RINGS - abs(k);
	return n;
}

static uint32_t event(bool prompt, struct bin b)
{
	uint32_t plane = (uint32_t)(first_plane(b.q) + b.axial);

	return (uint32_t)prompt << 30 |
	       ((plane * VIEWS + (uint32_t)b.view) * BINS + (uint32_t)(b.t + BINS / 2));
}

static uint32_t tag(uint32_t ms)
{
	return 0x80000000u | ms;
}

/* Detector and ring of both ends: section 2 of STIR's map, t >> 1 rounds down. */
static void ends(int d[2], int ring[2], struct bin b)
{
	int down = (int)floor(b.t / 2.), up = (int)floor((b.t + 1) / 2.);

	d[0] = (b.view + down + PLACES) % PLACES;
	d[1] = (b.view - up + PLACES / 2 + PLACES) % PLACES;
	ring[0] = b.axial + (b.q < 0 ? -b.q : 0);
	ring[1] = ring[0] + b.q;
}

static void place(double p[3], int d, int ring, const int sign[3])
{
	double psi = 2 * M_PI * d / PLACES;

	p[0] = sign[0] * 335 * sin(psi);
	p[1] = sign[1] * -335 * cos(psi);
	p[2] = sign[2] * (ring - 31.5) * 4.0625;
}

static void assert_end(const float got[3], int d, int ring, const int sign[3])
{
	double want[3];

	place(want, d, ring, sign);
	for (int a = 0; a < 3; a++) assert_near((double)got[a], want[a], 1e-4);
}

static void assert_event(const struct iso_event *e, struct bin b, const int sign[3])
{
	int d[2], ring[2];

	ends(d, ring, b);
	assert_end(e->p1, d[0], ring[0], sign);
	assert_end(e->p2, d[1], ring[1], sign);
	assert_true(e->dt_ps == 0);
}

static void read_file(struct iso_events *e, const char *path, const struct iso_events_options *o)
{
	if (iso_events_read(e, path, o) != ISO_OK) fail_msg("%s", iso_message());
}

static void assert_not_read(const char *path, const struct iso_events_options *o, const char *message)
{
	struct iso_events e = { .n = 77 };
	int st = iso_events_read(&e, path, o);

	if (st != ISO_EINPUT) fail_msg("%s: status %d, wanted a message with \"%s\"", path, st, message);
	assert_message(message);
	assert_int_equal(e.n, 77);
}

static const struct bin some[4] = {
	{ 0, 0, 1, 0 }, { -60, 3, 251, -172 }, { 7, 20, 100, 171 }, { 60, 1, 5, -41 }
};

/* A tag of another kind, an event before the first time, a delayed between prompts. */
static void put_some(const char *header)
{
	const uint32_t words[] = { 0xffff0000u,           event(true, some[0]), tag(5),
		                   event(false, some[1]), event(true, some[2]), tag(70000),
		                   event(true, some[3]) };

	put_text("a.l.hdr", header);
	put("a.l", words, sizeof words);
}

/* ---- what comes out ---- */

static const struct {
	const char *name;
	int sign[3];
} positions[] = {
	{ "", { -1, -1, -1 } },
	{ "%patient orientation:=HFS\n", { -1, -1, -1 } },
	{ "%patient orientation:=HFP\n", { 1, 1, -1 } },
	{ "%patient orientation:=FFS\n", { 1, -1, 1 } },
	{ "%patient orientation:=FFP\n", { -1, 1, 1 } },
};

static void prompts_and_delayeds(void **state)
{
	struct iso_events_options late = { .size = sizeof late, .delayeds = true };

	(void)state;
	for (int i = 0; i < COUNT(positions); i++) {
		struct iso_events e = { 0 };
		char header[2048];

		snprintf(header, sizeof header, "%s%s", HEADER, positions[i].name);
		put_some(header);
		read_file(&e, "a.l.hdr", NULL);
		assert_int_equal(e.n, 3);
		assert_event(&e.v[0], some[0], positions[i].sign);
		assert_event(&e.v[1], some[2], positions[i].sign);
		assert_event(&e.v[2], some[3], positions[i].sign);
		assert_int_equal(e.time_ms[0], 0);
		assert_int_equal(e.time_ms[1], 5);
		assert_int_equal(e.time_ms[2], 70000);
		iso_events_free(&e);
		read_file(&e, "a.l", &late);
		assert_int_equal(e.n, 1);
		assert_event(&e.v[0], some[1], positions[i].sign);
		assert_int_equal(e.time_ms[0], 5);
		iso_events_free(&e);
	}
	files(true);
}

/* Crystals are numbered as in a description of the scanner, in which gaps do not exist. */
static void scanner_of_file(void **state)
{
	iso_event_file *f = NULL;
	const iso_scanner *s;
	struct iso_events e = { 0 };

	(void)state;
	put_some(HEADER MORE);
	assert_int_equal(iso_event_file_open(&f, "a.l", NULL), ISO_OK);
	s = iso_event_file_scanner(f);
	assert_string_equal(iso_scanner_name(s), "Siemens mMR");
	assert_int_equal(iso_scanner_crystals(s), RINGS * PER_RING);
	assert_int_equal(iso_event_file_info(f)->n, 3);
	assert_int_equal(iso_event_file_info(f)->delayeds, 1);
	assert_true(iso_event_file_info(f)->duration_s == 900);
	assert_string_equal(iso_event_file_info(f)->isotope, "F-18");
	assert_string_equal(iso_event_file_info(f)->assumed, "");
	assert_non_null(strstr(iso_event_file_info(f)->ignored, "1 words that are neither"));
	read_file(&e, "a.l", NULL);
	for (int64_t i = 0; i < 2 * e.n; i++) {
		const double *p = iso_scanner_positions(s) + 3 * (int64_t)e.crystal[i];
		const float *end = i % 2 ? e.v[i / 2].p2 : e.v[i / 2].p1;

		for (int a = 0; a < 3; a++) assert_near((double)end[a], p[a], 1e-4);
	}
	iso_events_free(&e);
	iso_event_file_close(f);
	files(true);
}

#define RING(radius, per_ring)                                             \
	"kind: cylinder\nradius_mm: " radius                               \
	"\nrings: 64\nring_pitch_mm: 4.0625\ncrystals_per_ring: " per_ring \
	"\nblock: {crystals: 8, gap_mm: 4.17632}\n"

static void scanner_of_caller(void **state)
{
	struct iso_events_options o = { .size = sizeof o };
	struct iso_events own = { 0 }, e = { 0 };
	iso_scanner *s = NULL;

	(void)state;
	put_some(HEADER);
	read_file(&own, "a.l", NULL);
	put_text("s.yaml", RING("337", "448"));
	assert_int_equal(iso_scanner_read(&s, "s.yaml"), ISO_OK);
	o.scanner = s;
	read_file(&e, "a.l", &o);
	assert_memory_equal(e.crystal, own.crystal, 8 * (size_t)e.n);
	assert_near(hypot((double)e.v[0].p1[0], (double)e.v[0].p1[1]), 337, 1e-3);
	iso_events_free(&e);
	iso_events_free(&own);
	iso_scanner_free(s);
	put_text("s.yaml", RING("345", "448"));
	assert_int_equal(iso_scanner_read(&s, "s.yaml"), ISO_OK);
	o.scanner = s;
	assert_not_read("a.l", &o, "is not the mMR's");
	iso_scanner_free(s);
	put_text("s.yaml", RING("335", "432"));
	assert_int_equal(iso_scanner_read(&s, "s.yaml"), ISO_OK);
	o.scanner = s;
	assert_not_read("a.l", &o, "is not the mMR's");
	iso_scanner_free(s);
	files(true);
}

/* A file that lacks words at its end is as long as its tags say. */
static void cut(void **state)
{
	iso_event_file *f = NULL;

	(void)state;
	put_some(HEADER "image duration (sec):=900\n%total listmode word counts:=8\n");
	assert_int_equal(iso_event_file_open(&f, "a.l", NULL), ISO_OK);
	assert_near(iso_event_file_info(f)->duration_s, 1e-3 * (70000 - 5 + 1), 1e-9);
	assert_string_equal(iso_event_file_info(f)->assumed, "the patient lies head first, supine");
	assert_non_null(strstr(iso_event_file_info(f)->ignored, "image duration (sec)"));
	iso_event_file_close(f);
	files(true);
}

/* By name, by what the file says, and with words that do not begin with it. */
static void names(void **state)
{
	struct iso_events e = { 0 };
	const uint32_t words[] = { 0x12345678, event(true, some[0]) };

	(void)state;
	put_some(HEADER);
	assert_int_equal(rename("a.l.hdr", "other.hdr.text"), 0);
	read_file(&e, "other.hdr.text", NULL);
	assert_int_equal(e.n, 3);
	iso_events_free(&e);
	assert_not_read("a.l", NULL, "its header is missing: a.l.hdr");
	assert_int_equal(rename("other.hdr.text", "a.hdr"), 0);
	read_file(&e, "a.l", NULL);
	assert_int_equal(e.n, 3);
	iso_events_free(&e);
	put_text("b.l.hdr", MODEL "name of data file:=b.l\n!data offset in bytes:=4\n" KEYS);
	put("b.l", words, sizeof words);
	read_file(&e, "b.l.hdr", NULL);
	assert_int_equal(e.n, 1);
	iso_events_free(&e);
	files(true);
}

/* ---- many words ---- */

static uint32_t next(uint32_t *seed)
{
	return (*seed = *seed * 1664525u + 1013904223u) >> 8;
}

/* An event of real crystals, or a tag, as they come. */
static uint32_t any_word(uint32_t *seed, uint32_t *ms)
{
	uint32_t kind = next(seed) % 20;
	struct bin b;
	int d[2], ring[2];

	if (kind == 0) return tag(++*ms);
	if (kind == 1) return 0xbc000000u;
	do {
		b.q = (int)(next(seed) % 121) - 60;
		b.axial = (int)(next(seed) % (uint32_t)(RINGS - abs(b.q)));
		b.view = (int)(next(seed) % VIEWS);
		b.t = (int)(next(seed) % BINS) - BINS / 2;
		ends(d, ring, b);
	} while (d[0] % 9 == 0 || d[1] % 9 == 0);
	return event(kind < 15, b);
}

enum { MANY = 200000 };

static void pieces(void **state)
{
	static const int64_t at[][2] = {
		{ 0, 1 }, { 1, 5000 }, { 4095, 2 }, { 65536, 70000 }, { 100000, 1 }
	};
	uint32_t *words = calloc(MANY, sizeof *words), seed = 1, ms = 0;
	struct iso_events_options o = { .size = sizeof o };
	iso_ctx *ctx = NULL;

	(void)state;
	assert_non_null(words);
	for (int i = 0; i < MANY; i++) words[i] = any_word(&seed, &ms);
	put_text("a.l.hdr", HEADER);
	put("a.l", words, MANY * sizeof *words);
	assert_int_equal(iso_ctx_create(&ctx, "cpu", 3), ISO_OK);
	for (int pass = 0; pass < 4; pass++) {
		struct iso_events e = { 0 }, part = { 0 };
		iso_event_file *f = NULL;
		int64_t k = 0;
		uint32_t now = 0;

		o.delayeds = pass % 2;
		o.ctx = pass < 2 ? ctx : NULL;
		read_file(&e, "a.l", &o);
		for (int i = 0; i < MANY; i++) {
			if (words[i] >> 29 == 4) now = words[i] & 0x1fffffff;
			if (words[i] >> 31 || (words[i] >> 30 & 1) == (uint32_t)o.delayeds) continue;
			assert_int_equal(e.time_ms[k], now);
			k++;
		}
		assert_int_equal(e.n, k);
		assert_int_equal(iso_event_file_open(&f, "a.l", &o), ISO_OK);
		for (int i = 0; i < COUNT(at); i++) {
			int64_t first = at[i][0] < e.n ? at[i][0] : e.n - 1;
			int64_t n = at[i][1] < e.n - first ? at[i][1] : e.n - first;

			assert_int_equal(iso_event_file_block(&part, f, n), ISO_OK);
			assert_int_equal(iso_event_file_read(&part, f, first, n), ISO_OK);
			assert_memory_equal(part.v, e.v + first, (size_t)n * sizeof *e.v);
			assert_memory_equal(part.time_ms, e.time_ms + first, (size_t)n * 4);
			assert_memory_equal(part.crystal, e.crystal + 2 * first, (size_t)n * 8);
			iso_events_free(&part);
		}
		iso_event_file_close(f);
		iso_events_free(&e);
	}
	iso_ctx_free(ctx);
	free(words);
	files(true);
}

/* ---- what is refused ---- */

static void each_key(void **state)
{
	static const char *const lines[] = { "!originating system:=2008\n",
		                             "%SMS-MI header name space:=PETLINK bin address\n",
		                             "name of data file := a.l\n",
		                             "number of rings:=64\n",
		                             "%LM event and tag words format (bits):=32\n",
		                             "%axial compression:=1\n",
		                             "%maximum ring difference:=60\n",
		                             "%number of projections:=344\n",
		                             "%number of views:=252\n" };

	(void)state;
	for (int i = 0; i < COUNT(lines); i++) {
		const char *at = strstr(HEADER, lines[i]);
		char header[2048], key[80];
		size_t n = 0;

		assert_non_null(at);
		snprintf(header, sizeof header, "%.*s%s", (int)(at - HEADER), HEADER, at + strlen(lines[i]));
		put_some(header);
		for (const char *c = lines[i]; *c != ':' && n < sizeof key - 1; c++)
			if (*c != '!' && *c != '%')
				key[n++] = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
		while (n > 0 && key[n - 1] == ' ') n--;
		key[n] = '\0';
		assert_not_read("a.l.hdr", NULL, key);
		assert_message("is missing");
	}
	files(true);
}

static void damaged(void **state)
{
	static const struct {
		const char *more, *message;
	} t[] = {
		{ "%axial compression:=11\n", "axial compression is 11, must be 1" },
		{ "!originating system:=1104\n", "originating system is '1104'" },
		{ "%LM event and tag words format (bits):=64\n", "must be a whole number in [32, 32]" },
		{ "%number of TOF time bins:=13\n", "must be a whole number in [1, 1]" },
		{ "number of rings:=55\n", "must be a whole number in [64, 64]" },
		{ "%maximum ring difference:=64\n", "must be a whole number in [0, 63]" },
		{ "%maximum ring difference:=59\n", "word 3: bin" },
		{ "%SMS-MI header name space:=sinogram subheader\n", "must be PETLINK bin address" },
		{ "name of data file:=../a.l\n", "a file beside it was expected" },
		{ "%patient orientation:=upside down\n", "patient position" },
		{ "!data offset in bytes:=400\n", "must be words of 4 bytes" },
		{ "!data offset in bytes:=28\n", "must be words of 4 bytes" },
		{ "!data offset in bytes:=3\n", "must be words of 4 bytes" },
	};
	const uint32_t time = tag(1), delayed = event(false, some[0]);

	(void)state;
	for (int i = 0; i < COUNT(t); i++) {
		char header[2048];

		snprintf(header, sizeof header, "%s%s", HEADER, t[i].more);
		put_some(header);
		assert_not_read("a.l.hdr", NULL, t[i].message);
	}
	put_text("a.l.hdr", HEADER);
	put("a.l", &time, 3);
	assert_not_read("a.l", NULL, "must be words of 4 bytes");
	put("a.l", &time, 0);
	assert_not_read("a.l", NULL, "is empty");
	put("a.l", &time, 4);
	assert_not_read("a.l", NULL, "no prompts in its 1 words");
	put("a.l", &delayed, 4);
	assert_not_read("a.l", NULL, "no prompts in its 1 words");
	files(true);
}

/* An end in a gap between blocks: no event. */
static void between(void **state)
{
	const struct bin b = { 0, 0, 0, 0 };
	const uint32_t words[] = { event(true, b), event(true, some[0]) };
	iso_event_file *f = NULL;

	(void)state;
	put_text("a.l.hdr", HEADER);
	put("a.l", words, sizeof words);
	assert_int_equal(iso_event_file_open(&f, "a.l", NULL), ISO_OK);
	assert_int_equal(iso_event_file_info(f)->n, 1);
	assert_non_null(strstr(iso_event_file_info(f)->ignored, "1 coincidences between crystals"));
	iso_event_file_close(f);
	files(true);
}

/* ---- a real scan ---- */

/* The bin of an event of a patient head first, supine, from where its ends lie. */
static struct bin bin_of(const struct iso_event *e)
{
	const float *p[2] = { e->p1, e->p2 };
	int d[2], ring[2];

	for (int k = 0; k < 2; k++) {
		double psi = atan2(-(double)p[k][0], (double)p[k][1]);

		d[k] = ((int)lrint(psi * PLACES / (2 * M_PI)) + PLACES) % PLACES;
		ring[k] = (int)lrint(31.5 - (double)p[k][2] / 4.0625);
	}
	int t = (d[0] - d[1] + PLACES / 2 + PLACES) % PLACES, q = ring[1] - ring[0];

	if (t >= PLACES / 2) t -= PLACES;
	return (struct bin){ q, q < 0 ? ring[1] : ring[0], (d[0] - (int)floor(t / 2.) + PLACES) % PLACES, t };
}

static void assert_sums(const char *path, bool delayeds, const int64_t want[6])
{
	struct iso_events_options o = { .size = sizeof o, .delayeds = delayeds };
	struct iso_events e = { 0 };
	int64_t sum[6] = { 0 };

	read_file(&e, path, &o);
	for (int64_t i = 0; i < e.n; i++) {
		struct bin b = bin_of(&e.v[i]);

		sum[1] += b.q;
		sum[2] += b.axial;
		sum[3] += b.view;
		sum[4] += b.t;
		sum[5] += b.q == 0;
	}
	sum[0] = e.n;
	for (int k = 0; k < 6; k++) assert_int_equal(sum[k], want[k]);
	iso_events_free(&e);
}

static void foreign(void **state)
{
	static const int64_t prompts[6] = { 42974, -1716, 945864, 5377364, -300625, 532 };
	static const int64_t delayeds[6] = { 6905, -910, 149741, 859411, -84930, 130 };
	static const int sign[3] = { -1, -1, -1 };
	const char *samples = getenv("ISO_FOREIGN_SAMPLES");
	char path[512], list[512];
	struct iso_events e[2] = { 0 };
	struct iso_array a = { 0 };
	int64_t at[2] = { 0 };

	(void)state;
	if (!samples) skip_without_samples();
	snprintf(path, sizeof path, "%s/petlink/mmr-head.l", samples);
	snprintf(list, sizeof list, "%s/petlink/first-1000-events.npy", samples);
	assert_sums(path, false, prompts);
	assert_sums(path, true, delayeds);
	read_ok(&a, list);
	for (int k = 0; k < 2; k++) {
		struct iso_events_options o = { .size = sizeof o, .delayeds = k == 0 };

		read_file(&e[k], path, &o);
	}
	for (int64_t i = 0; i < 1000;
	     i++) { /* prompt, q, axial, view, t, detector 1, ring 1, detector 2, ring 2 */
		const iso_real *row = a.v + 9 * i;
		int prompt = (int)row[0];
		const struct iso_event *v = &e[prompt].v[at[prompt]++];
		struct bin b = { (int)row[1], (int)row[2], (int)row[3], (int)row[4] };

		assert_event(v, b, sign);
		assert_end(v->p1, (int)row[5], (int)row[6], sign);
		assert_end(v->p2, (int)row[7], (int)row[8], sign);
	}
	assert_int_equal(e[1].time_ms[e[1].n - 1], 119);
	iso_events_free(&e[0]);
	iso_events_free(&e[1]);
	iso_array_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prompts_and_delayeds),
		cmocka_unit_test(scanner_of_file),
		cmocka_unit_test(scanner_of_caller),
		cmocka_unit_test(cut),
		cmocka_unit_test(names),
		cmocka_unit_test(pieces),
		cmocka_unit_test(each_key),
		cmocka_unit_test(damaged),
		cmocka_unit_test(between),
		cmocka_unit_test(foreign),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
