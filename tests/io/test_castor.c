/* SPDX-License-Identifier: BSD-3-Clause */
/* CASToR files: values worked by hand, every flag, damage; also built in double. */
#include "files.h"

/* Four crystals, the last two above z = 0 in CASToR's axes: below in ours. */
static const float lut[4][6] = {
	{ 100, 0, 0, 1, 0, 0 },
	{ -100, 0, 0, -1, 0, 0 },
	{ 0, 100, 30, 0, 1, 0 },
	{ 0, -100, 30, 0, -1, 0 },
};

#define HSCAN "modality: PET\nscanner name: four\nnumber of elements: 4\n"
#define HEADER "Data filename: a.Cdf\nData type: PET\nScanner name: four\nStart time (s): 2.5\n"
#define LIST HEADER "Number of events: 2\nDuration (s): 10\nData mode: list-mode\n"
#define TOF                                                   \
	"TOF information flag: 1\nTOF resolution (ps): 300\n" \
	"List TOF measurement range (ps): 2000\n"
#define MM_PER_PS 0.149896229

static void put_scanner(void)
{
	put_text("four.hscan", HSCAN "number of layers: 1 # one\n\nnot a key\n");
	put("four.lut", lut, sizeof lut);
}

struct bytes {
	unsigned char v[1 << 12];
	size_t n;
};

static void u32(struct bytes *b, uint32_t v)
{
	memcpy(b->v + b->n, &v, 4);
	b->n += 4;
}

static void f32(struct bytes *b, float v)
{
	memcpy(b->v + b->n, &v, 4);
	b->n += 4;
}

static void put_set(const char *header, const struct bytes *b)
{
	put_scanner();
	put_text("a.Cdh", header);
	put("a.Cdf", b->v, b->n);
}

static void read_events(struct iso_events *e, const struct iso_events_options *o)
{
	if (iso_events_read(e, "a.Cdh", o) != ISO_OK) fail_msg("%s", iso_message());
}

static struct bytes two_plain(void)
{
	struct bytes b = { .n = 0 };

	u32(&b, 7);
	u32(&b, 0);
	u32(&b, 1);
	u32(&b, 4000000000u);
	u32(&b, 2);
	u32(&b, 1);
	return b;
}

static void plain(void **state)
{
	struct bytes b = two_plain();
	struct iso_events e = { 0 };

	(void)state;
	assert_int_equal(b.n, 24);
	put_set("  # a comment\r\nNUMBER OF EVENTS :2\r\nMaximum axial difference mm: -1, -1\r\n" HEADER
	        "Duration (s): 10\nData mode: listmode # of two\n",
	        &b);
	read_events(&e, NULL);
	assert_int_equal(e.n, 2);
	assert_true(e.v[0].p1[0] == 100 && e.v[0].p2[0] == -100 && e.v[0].dt_ps == 0);
	assert_true(e.v[1].p1[1] == 100 && e.v[1].p1[2] == -30 && e.v[1].p2[0] == -100);
	assert_int_equal(e.time_ms[1], 4000000000u);
	assert_int_equal(e.crystal[2], 2);
	assert_true(!e.count && !e.mult && !e.add);
	assert_true(e.start_s == 2.5 && e.duration_s == 10 && e.tof_fwhm_ps == 0);
	iso_events_free(&e);
	files(true);
}

/* Attenuation 2, kind, scatter 0.5, randoms 4, normalisation 4, TOF -120; per s, over 10 s. */
static void corrections(void **state)
{
	static const struct {
		const char *more;
		bool tof;
		double add, bin;
	} t[] = {
		{ "", false, 45, 0 },
		{ TOF, true, 10 * (.5 + 4 / (2000 * MM_PER_PS)), 0 },
		{ TOF "List TOF quantization bin size (ps): 40\n", true,
		  10 * (.5 + 4 / (2000 * MM_PER_PS)) * 40 * MM_PER_PS, 40 },
	};

	(void)state;
	for (int i = 0; i < COUNT(t); i++) {
		struct bytes b = { .n = 0 };
		struct iso_events e = { 0 };
		char header[1024];

		for (int k = 0; k < 2; k++) {
			u32(&b, 1);
			f32(&b, k ? 0 : 2);
			b.v[b.n++] = 9;
			f32(&b, .5f);
			f32(&b, 4);
			f32(&b, 4);
			if (t[i].tof) f32(&b, -120);
			u32(&b, 0);
			u32(&b, 1);
		}
		snprintf(header, sizeof header,
		         LIST "Attenuation correction flag: 1\n"
		              "Coincidence kind flag: 1\nScatter correction flag: 1\n"
		              "Random correction flag: 1\nNormalization correction flag: 1\n%s",
		         t[i].more);
		put_set(header, &b);
		read_events(&e, NULL);
		assert_near((double)e.mult[0], .125, 1e-7);
		assert_true(e.mult[1] == 0); /* a factor 0: not used */
		assert_near((double)e.add[0], t[i].add, 1e-6 * t[i].add);
		assert_true(e.v[0].dt_ps == (t[i].tof ? -120 : 0));
		assert_true(e.tof_bin_ps == t[i].bin && e.tof_fwhm_ps == (t[i].tof ? 300 : 0));
		iso_events_free(&e);
		files(true);
	}
}

#define HISTOGRAM HEADER "Number of events: 1\nDuration (s): 10\nData mode: histogram\n"
#define BINS                                                                               \
	"TOF information flag: 1\nTOF resolution (ps): 300\nHisto TOF number of bins: 4\n" \
	"Histo TOF bin size (ps): 100\n"

static void histogram(void **state)
{
	const struct iso_events_options swap = { .size = sizeof swap, .swap_dt = true };
	struct bytes b = { .n = 0 };
	struct iso_events e = { 0 };

	(void)state;
	u32(&b, 3);
	f32(&b, 8); /* randoms */
	for (int k = 0; k < 4; k++) {
		f32(&b, (float)(k + 1));
		f32(&b, (float)k);
	}
	u32(&b, 3);
	u32(&b, 0);
	put_set(HISTOGRAM BINS "Scatter correction flag: 1\nRandom correction flag: 1\n", &b);
	read_events(&e, NULL);
	assert_int_equal(e.n, 4);
	for (int k = 0; k < 4; k++) {
		assert_true(e.count[k] == k + 1 && e.v[k].dt_ps == -150 + 100 * k);
		assert_near((double)e.add[k], 10 * (k + 2), 1e-5); /* a quarter of 8 each */
		assert_true(e.time_ms[k] == 3 && e.crystal[2 * k] == 3 && e.v[k].p1[2] == -30);
	}
	assert_true(e.tof_bin_ps == 100);
	iso_events_free(&e);
	read_events(&e, &swap);
	assert_true(e.v[0].dt_ps == 150 && e.v[3].dt_ps == -150);
	iso_events_free(&e);
	files(true);
}

/* Blocks may begin and end within a record, whose four bins are events of their own. */
static void histogram_blocks(void **state)
{
	struct bytes b = { .n = 0 };
	struct iso_events e = { 0 };
	iso_event_file *f = NULL;

	(void)state;
	for (uint32_t record = 0; record < 2; record++) {
		u32(&b, record);
		for (uint32_t k = 0; k < 4; k++) f32(&b, (float)(4 * record + k));
		u32(&b, 3);
		u32(&b, 0);
	}
	put_set(HEADER "Number of events: 2\nDuration (s): 10\nData mode: histogram\n" BINS, &b);
	assert_int_equal(iso_event_file_open(&f, "a.Cdh", NULL), ISO_OK);
	assert_int_equal(iso_event_file_block(&e, f, 8), ISO_OK);
	for (int first = 0; first < 8; first++)
		for (int n = 1; first + n <= 8; n++) {
			for (int k = 0; k < 8; k++) e.count[k] = -1;
			assert_int_equal(iso_event_file_read(&e, f, first, n), ISO_OK);
			for (int k = 0; k < 8; k++) assert_true(e.count[k] == (k < n ? first + k : -1));
			for (int k = 0; k < n; k++)
				assert_true(e.v[k].dt_ps == -150 + 100 * ((first + k) % 4));
		}
	iso_events_free(&e);
	iso_event_file_close(f);
	files(true);
}

/* A record of two lines lies between the means of their ends; a scanner given is the one used. */
static void lines(void **state)
{
	struct bytes b = { .n = 0 };
	struct iso_events e = { 0 };
	iso_scanner *s = NULL;

	(void)state;
	u32(&b, 0);
	b.v[b.n++] = 2;
	b.v[b.n++] = 0;
	for (int k = 0; k < 4; k++) u32(&b, (const uint32_t[]){ 0, 1, 2, 3 }[k]);
	put_set(HEADER "Number of events: 1\nDuration (s): 1\nData mode: list\n"
	               "Maximum number of lines per event: 2\n",
	        &b);
	read_events(&e, NULL);
	assert_true(!e.crystal);
	assert_true(e.v[0].p1[0] == 50 && e.v[0].p1[1] == 50 && e.v[0].p1[2] == -15);
	assert_true(e.v[0].p2[0] == -50 && e.v[0].p2[1] == -50);
	iso_events_free(&e);
	rename("four.lut", "other.lut");
	put_text("other.hscan", HSCAN);
	assert_int_equal(iso_scanner_read(&s, "other.hscan"), ISO_OK);
	read_events(&e,
	            &(struct iso_events_options){ .size = sizeof(struct iso_events_options), .scanner = s });
	assert_true(e.v[0].p1[2] == -15);
	iso_events_free(&e);
	iso_scanner_free(s);
	files(true);
}

/* Depth 4 of 20 mm: 6 mm inwards of the middle; pairs nearer than 100 degrees are none. */
static void scanner(void **state)
{
	iso_scanner *s = NULL;
	const double *p;
	double distance;

	(void)state;
	put("four.lut", lut, sizeof lut);
	put_text("four.hscan", HSCAN "crystals size depth: 20, 10\nmean depth of interaction: 4,-1\n"
	                             "number of crystals in layer(s): 2,2\nmin angle difference: 100\n");
	assert_int_equal(iso_scanner_read(&s, "four.hscan"), ISO_OK);
	assert_int_equal(iso_scanner_kind(s), ISO_DETECTORS);
	assert_string_equal(iso_scanner_name(s), "four");
	p = iso_scanner_positions(s);
	assert_true(p[0] == 94 && p[3] == -94 && p[7] == 100 && p[8] == -30);
	assert_int_equal(iso_scanner_nearest(&distance, s, (const double[]){ 0, -90, 0 }), 3);
	assert_true(iso_scanner_pair_weight(s, p, p + 3) == 1);
	assert_true(iso_scanner_pair_weight(s, p, p + 6) == 0);
	iso_scanner_free(s);
	files(true);
}

/* Tables that CASToR makes of a geometry; of float64, where it was built with these. */
static void scanner_of_geometry(void **state)
{
	struct bytes b = two_plain();
	double wide[4][6];

	(void)state;
	for (int i = 0; i < 24; i++) wide[i / 6][i % 6] = (double)lut[i / 6][i % 6];
	for (int k = 0; k < 2; k++) {
		struct iso_events e = { 0 };
		iso_scanner *s = NULL;

		put_set(LIST, &b);
		remove("four.hscan");
		remove("four.lut");
		put_text("four.ghscan", HSCAN "scanner radius:    90\nmin angle difference:    0 #deg\n"
		                              "description:    LUT generated from geom file: four.geom\n");
		put("four.glut", k ? (const void *)wide : lut, k ? sizeof wide : sizeof lut);
		assert_int_equal(iso_scanner_read(&s, "four.ghscan"), ISO_OK);
		assert_true(iso_scanner_positions(s)[0] == 100 && iso_scanner_positions(s)[8] == -30);
		iso_scanner_free(s);
		read_events(&e, NULL);
		assert_true(e.v[0].p1[0] == 100 && e.v[0].p2[0] == -100);
		iso_events_free(&e);
	}
	put("four.glut", wide, sizeof wide - 1);
	iso_scanner *s = NULL;

	assert_int_equal(iso_scanner_read(&s, "four.ghscan"), ISO_EINPUT);
	assert_non_null(strstr(iso_message(), "four.glut: 191 bytes, expected 96"));
	files(true);
}

static void scanner_damaged(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
		const char *message;
	} t[] = {
		{ "modality: SPECT\nnumber of elements: 4\n", 96, "modality is 'SPECT', must be PET" },
		{ "number of elements: 4\n", 96, "key 'modality' is missing" },
		{ "modality: PET\n", 96, "key 'number of elements' is missing" },
		{ HSCAN, 95, "four.lut: 95 bytes, expected 96, 24 for each of 4 crystals" },
		{ HSCAN "number of crystals in layer: 3\n", 96, "layers of 3 crystals in all" },
		{ HSCAN "number of crystals in layer: -1,5\n", 96, "a layer of -1 crystals" },
		{ HSCAN "number of elements: 5\n", 96, "comes a second time" },
		{ HSCAN "min angle difference: many\n", 96, "four.hscan:4: min angle difference" },
		{ HSCAN "mean depth of interaction: 1,2,x\n", 96, "must be up to 16 numbers" },
		{ HSCAN "crystals size depth: 1e300\nmean depth of interaction: 1\n", 96,
		  "mean depth of interaction 1 mm" },
		{ "modality: PET\nnumber of elements: 99999999999\n", 96, "must be a number in [2, " },
	};
	iso_scanner *s = NULL;
	float bad[4][6];

	(void)state;
	for (int i = 0; i < COUNT(t); i++) {
		put_text("four.hscan", t[i].text);
		put("four.lut", lut, t[i].bytes);
		assert_int_equal(iso_scanner_read(&s, "four.hscan"), ISO_EINPUT);
		assert_message(t[i].message);
	}
	memcpy(bad, lut, sizeof bad);
	bad[2][1] = NAN;
	put("four.lut", bad, sizeof bad);
	put_text("four.hscan", HSCAN);
	assert_int_equal(iso_scanner_read(&s, "four.hscan"), ISO_EINPUT);
	assert_message("four.lut: crystal 2 is at nan mm");
	put("four.hscan", "modality: PET\n\0", 15);
	assert_int_equal(iso_scanner_read(&s, "four.hscan"), ISO_EINPUT);
	assert_message("holds NUL bytes");
	assert_null(s);
	files(true);
}

static void refused(const char *message)
{
	struct iso_events e = { .n = -5 };
	int st = iso_events_read(&e, "a.Cdh", NULL);

	if (st != ISO_EINPUT) fail_msg("status %d, wanted a message with \"%s\"", st, message);
	assert_message(message);
	assert_int_equal(e.n, -5);
}

static void damaged(void **state)
{
	static const struct {
		const char *header, *message;
	} t[] = {
		{ HEADER "Number of events: 2\nData mode: list-mode\nScatter correction flag: 1\n",
		  "'Duration (s)' is missing or 0: rates of scatter and randoms" },
		{ HEADER
		  "Number of events: 2\nDuration (s): 0\nData mode: list-mode\nRandom correction flag: "
		  "1\n",
		  "'Duration (s)' is missing or 0: rates of scatter and randoms" },
		{ HEADER "Number of events: 2\nDuration (s): -1\nData mode: list-mode\n",
		  "Duration (s) is '-1'" },
		{ HEADER "Duration (s): 1\nData mode: list-mode\n", "'Number of events' is missing" },
		{ HEADER "Number of events: 2\nDuration (s): 1\n", "'Data mode' is missing" },
		{ HEADER "Number of events: 2\nDuration (s): 1\nData mode: normalization\n",
		  "Data mode is 'normalization', must be list-mode or histogram" },
		{ LIST "Number of events: 3\n", "a.Cdh:8: key 'Number of events' comes a second" },
		{ LIST "TOF information flag: 2\n", "a.Cdh:8: TOF information flag is '2'" },
		{ LIST "TOF information flag: yes\n", "TOF information flag is 'yes'" },
		{ LIST "TOF information flag: 1\n", "without 'TOF resolution (ps)'" },
		{ LIST "TOF information flag: 1\nTOF resolution (ps): 3\nRandom correction flag: 1\n",
		  "random rates with times of flight need 'List TOF measurement range" },
		{ LIST TOF, "a.Cdf: 24 bytes, its header says 2 events of 16 bytes, 32; a wrong flag?" },
		{ LIST "Attenuation correction flag: 1\nTOF resolution (ps): 300\n", "2 events of 16 bytes" },
		{ LIST "Per event TOF resolution flag: 1\n", "per event is not supported" },
		{ LIST "Maximum number of lines per event: 0\n", "must be a number in [1, 65535]" },
		{ LIST TOF "Histo TOF number of bins: 1000\nHisto TOF bin size (ps): 9\n"
		           "Maximum number of lines per event: 60000\n",
		  "a.Cdf: 24 bytes" },
		{ "Data filename: a.Cdf\nData type: PET\nScanner name: four\nNumber of events: 2\n"
		  "Duration (s): 10\nData mode: histogram\n" TOF "Histo TOF number of bins: 1000\n"
		  "Histo TOF bin size (ps): 9\nMaximum number of lines per event: 60000\n",
		  "60000 lines per event in 1000 TOF bins" },
		{ LIST "POI info flag: 1\nPOI resolution: 1,2,3,4\n", "must be up to 3 numbers" },
		{ "Data filename: a.Cdf\nData type: SPECT\nData mode: list\n", "must be PET" },
		{ "Data filename: ../a.Cdf\nData type: PET\nScanner name: four\nNumber of events: 2\n"
		  "Duration (s): 10\nData mode: list-mode\n",
		  "names '../a.Cdf'" },
		{ "Data filename: /scans/b.Cdf\nData type: PET\nScanner name: four\nNumber of events: 2\n"
		  "Duration (s): 10\nData mode: list-mode\n",
		  "Data filename is '/scans/b.Cdf', no file of that name lies beside the header" },
		{ "Data filename: /scans/..\nData type: PET\nScanner name: four\nNumber of events: 2\n"
		  "Duration (s): 10\nData mode: list-mode\n",
		  "names '..'" },
		{ LIST "Calibration factor: much\n", "a.Cdh:8: Calibration factor is 'much'" },
		{ LIST "Calibration factor: 0\n", "a.Cdh:8: Calibration factor is '0'" },
		{ LIST "Maximum axial difference mm: far\n", "Maximum axial difference mm is 'far'" },
		{ LIST "POI info flag: 1\n", "key 'POI resolution (mm)', three numbers, is missing" },
		{ LIST "POI info flag: 1\nPOI resolution (mm): -1,-1\n", "key 'POI resolution (mm)', three" },
		{ "Data filename: b.Cdf\nData type: PET\nScanner name: four\nNumber of events: 2\n"
		  "Duration (s): 10\nData mode: list-mode\n",
		  "b.Cdf: No such file" },
		{ "Data filename: a.Cdf\nData type: PET\nNumber of events: 2\n"
		  "Duration (s): 10\nData mode: list-mode\n",
		  "'Scanner name' is missing" },
		{ "Data filename: a.Cdf\nData type: PET\nScanner name: ../four\nNumber of events: 2\n"
		  "Duration (s): 10\nData mode: list-mode\n",
		  "a plain name was expected" },
		{ "Data filename: a.Cdf\nData type: PET\nScanner name: five\nNumber of events: 2\n"
		  "Duration (s): 10\nData mode: list-mode\n",
		  "give a scanner, or put five.hscan" },
		{ HEADER "Number of events: 9e15\nDuration (s): 1\nData mode: list-mode\n",
		  "9000000000000000 events of 12 bytes" },
		{ HEADER "Number of events: 1e19\nDuration (s): 1\nData mode: list-mode\n",
		  "Number of events is '1e19'" },
		{ HEADER "Number of events: 8e15\nDuration (s): 1\nData mode: histogram\n"
		         "TOF information flag: 1\nTOF resolution (ps): 3\nHisto TOF number of bins: 65535\n"
		         "Histo TOF bin size (ps): 1\n",
		  "are more than a file holds" },
		{ HEADER "Number of events: -1\nDuration (s): 1\nData mode: list-mode\n",
		  "Number of events is '-1'" },
		{ HEADER "Number of events: 2.5\nDuration (s): 1\nData mode: list-mode\n",
		  "must be a whole number" },
		{ HEADER "Number of events: 2\nDuration (s): nan\nData mode: list-mode\n",
		  "Duration (s) is 'nan'" },
		{ HISTOGRAM "TOF information flag: 1\nTOF resolution (ps): 3\n", "TOF bins need" },
	};
	struct bytes b = two_plain();

	(void)state;
	for (int i = 0; i < COUNT(t); i++) {
		put_set(t[i].header, &b);
		refused(t[i].message);
	}
	put_set("", &b);
	refused("a.Cdh is empty");
	put("a.Cdh", b.v, b.n);
	refused("holds NUL bytes");
	put_set(LIST, &b);
	put("a.Cdf", b.v, 23);
	refused("a.Cdf: 23 bytes, its header says 2 events of 12 bytes, 24");
	put("a.Cdf", "", 0);
	refused("a.Cdf is empty");
	files(true);
}

static void bad_records(void **state)
{
	struct bytes b = two_plain();
	uint32_t crystal = 4;

	(void)state;
	memcpy(b.v + 20, &crystal, 4);
	put_set(LIST, &b);
	refused("a.Cdf: event 1: crystal 4, scanner four has crystals 0 to 3");

	for (int k = 0; k < 4; k++) {
		static const float bad[] = { NAN, INFINITY, -1, -NAN };

		b = (struct bytes){ .n = 0 };
		for (int i = 0; i < 2; i++) {
			u32(&b, 0);
			f32(&b, i ? bad[k] : 1);
			u32(&b, 0);
			u32(&b, 1);
		}
		put_set(LIST "Attenuation correction flag: 1\n", &b);
		refused("event 1: correction factor is");
		put_set(LIST "Scatter correction flag: 1\n", &b);
		refused("event 1: scatter rate is");
		put_set(LIST "Random correction flag: 1\n", &b);
		refused("event 1: random rate is");
		put_set(HEADER "Number of events: 2\nDuration (s): 1\nData mode: histogram\n", &b);
		refused("event 1: count is");
	}
	b = (struct bytes){ .n = 0 };
	u32(&b, 0);
	b.v[b.n++] = 3;
	b.v[b.n++] = 0;
	b.n += 16;
	put_set(HEADER "Number of events: 1\nDuration (s): 1\nData mode: list\n"
	               "Maximum number of lines per event: 2\n",
	        &b);
	refused("event 0: 3 lines, its header says up to 2");
	put_text("four.geom", "");
	remove("four.hscan");
	refused("four.geom is empty");
	files(true);
}

/* Each key that a file can't do without, taken out in turn; the others are there. */
static void each_key_missing(void **state)
{
	static const char *const t[][2] = {
		{ "Data filename", "a.Cdf" },
		{ "Data type", "PET" },
		{ "Data mode", "list-mode" },
		{ "Number of events", "2" },
		{ "Duration (s)", "10" },
		{ "Scanner name", "four" },
		{ "TOF resolution (ps)", "300" },
		{ "List TOF measurement range (ps)", "2000" },
		{ "POI resolution (mm)", "-1,-1,2" },
	};
	struct bytes b = { .n = 2 * (12 + 4 + 4 + 8) }; /* zeros: both ends on crystal 0 */

	(void)state;
	for (int without = -1; without < COUNT(t); without++) {
		char header[1024];
		int n = snprintf(header, sizeof header,
		                 "TOF information flag: 1\nRandom correction flag: 1\nPOI info flag: 1\n");

		for (int i = 0; i < COUNT(t); i++)
			if (i != without)
				n += snprintf(header + n, sizeof header - (size_t)n, "%s: %s\n", t[i][0],
				              t[i][1]);
		put_set(header, &b);
		refused(without >= 0 ? t[without][0] : "none of its 2 events is usable");
	}
	files(true);
}

#define DEPTHS LIST "POI info flag: 1\nPOI resolution (mm): -1,-1,2\n"

/* Depths below the inner face, which lies 10 mm inwards of the middle: 4 mm is 6 mm inwards, where ends lie without
   that; 1 mm is 9, a negative depth is none. */
static void depths(void **state)
{
	static const float depth[2][2] = { { 1, 10 }, { -1, 25 } };
	struct bytes b = { .n = 0 };
	struct iso_events e = { 0 };
	iso_event_file *f = NULL;

	(void)state;
	for (int k = 0; k < 2; k++) {
		u32(&b, 0);
		f32(&b, depth[k][0]);
		f32(&b, depth[k][1]);
		u32(&b, 0);
		u32(&b, 3);
	}
	put_set(DEPTHS, &b);
	read_events(&e, NULL); /* crystals of no known size: the middle */
	assert_true(e.v[0].p1[0] == 100 && e.v[0].p2[1] == -100);
	iso_events_free(&e);
	assert_int_equal(iso_event_file_open(&f, "a.Cdh", NULL), ISO_OK);
	assert_string_equal(iso_event_file_info(f)->ignored, "depths of interaction");
	iso_event_file_close(f);

	put_text("four.hscan", HSCAN "crystals size depth: 20\nmean depth of interaction: 4\n");
	read_events(&e, NULL);
	assert_true(e.v[0].p1[0] == 91 && e.v[0].p1[1] == 0 && e.v[0].p1[2] == 0);
	assert_true(e.v[0].p2[0] == 0 && e.v[0].p2[1] == -100 && e.v[0].p2[2] == -30);
	assert_true(e.v[1].p1[0] == 94 && e.v[1].p2[1] == -115);
	iso_events_free(&e);
	assert_int_equal(iso_event_file_open(&f, "a.Cdh", NULL), ISO_OK);
	assert_string_equal(iso_event_file_info(f)->ignored,
	                    "depths of interaction in the sensitivity, which has mean depths");
	iso_event_file_close(f);
	files(true);
}

/* Directions with x and y exchanged, as some of CASToR's tables have them: the radius is taken. */
static void directions(void **state)
{
	float turned[4][6];
	iso_scanner *s = NULL;

	(void)state;
	memcpy(turned, lut, sizeof turned);
	for (int i = 0; i < 4; i++) {
		turned[i][3] = lut[i][4];
		turned[i][4] = lut[i][3];
	}
	put("four.lut", turned, sizeof turned);
	put_text("four.hscan", HSCAN "crystals size depth: 20\nmean depth of interaction: 4\n");
	assert_int_equal(iso_scanner_read(&s, "four.hscan"), ISO_OK);
	assert_true(iso_scanner_positions(s)[0] == 94 && iso_scanner_positions(s)[10] == -94);
	assert_string_equal(iso_scanner_note(s),
	                    "directions of crystals are not away from the axis: depths are "
	                    "taken along the radius");
	iso_scanner_free(s);
	put_text("four.hscan", HSCAN "crystals size depth: 20\nmean depth of interaction: -1\n");
	assert_int_equal(iso_scanner_read(&s, "four.hscan"), ISO_OK);
	assert_true(iso_scanner_positions(s)[0] == 100);
	assert_string_equal(iso_scanner_note(s), "");
	iso_scanner_free(s);
	put_text("four.hscan", HSCAN "mean depth of interaction: 4\n");
	assert_int_equal(iso_scanner_read(&s, "four.hscan"), ISO_OK);
	assert_true(iso_scanner_positions(s)[0] == 100);
	assert_string_equal(iso_scanner_note(s),
	                    "'mean depth of interaction' is not used without 'crystals size depth'");
	iso_scanner_free(s);
	files(true);
}

/* Keys besides those of the records: used, or named. */
static void other_keys(void **state)
{
	struct bytes b = two_plain();
	struct iso_events e = { 0 };
	iso_event_file *f = NULL;

	(void)state;
	put_set("Data filename: /scans/of/today/a.Cdf\nData type: PET\nScanner name: four\nNumber of events: "
	        "2\n"
	        "Duration (s): 10\nData mode: list-mode\nMaximum axial difference mm: 20,20\nIsotope: F-18\n"
	        "Calibration factor: 2.5e-3\nBed position: 3\nPatient: nobody\nTOF information flag: 0\n",
	        &b);
	assert_int_equal(iso_event_file_open(&f, "a.Cdh", NULL), ISO_OK);
	const struct iso_events_info *i = iso_event_file_info(f);
	const iso_scanner *s = iso_event_file_scanner(f);
	const double *p = iso_scanner_positions(s);

	assert_true(i->max_axial_mm == 20 && i->calibration == 2.5e-3);
	assert_string_equal(i->isotope, "F-18");
	assert_string_equal(i->ignored, "keys 'Bed position', 'Patient'");
	assert_true(iso_scanner_pair_weight(s, p, p + 3) == 1);
	assert_true(iso_scanner_pair_weight(s, p, p + 6) == 0); /* 30 mm apart along the axis */
	iso_event_file_close(f);
	read_events(&e, NULL);
	assert_true(e.calibration == 2.5e-3);
	iso_events_free(&e);
	files(true);
}

/* SCANNER.geom beside the header serves as SCANNER.hscan does, which comes first. */
static void geometry(void **state)
{
	struct bytes b = two_plain();
	struct iso_events e = { 0 };

	(void)state;
	put_set(LIST, &b);
	put_text("four.geom",
	         "modality: PET\nnumber of elements: 4\nnumber of layers: 1\nscanner radius: 50\n"
	         "number of rsectors: 4\nnumber of crystals transaxial: 1\n"
	         "number of crystals axial: 1\ncrystals size depth: 10\n"
	         "crystals size transaxial: 2\ncrystals size axial: 2\n");
	read_events(&e, NULL);
	assert_true(e.v[0].p1[0] == 100);
	iso_events_free(&e);
	remove("four.hscan");
	read_events(&e, NULL); /* from crystal 0, at 0 degrees, to 1, at 90 */
	assert_near((double)e.v[0].p1[0], 0, 1e-5);
	assert_near((double)e.v[0].p1[1], 55, 1e-5);
	assert_near((double)e.v[0].p2[0], 55, 1e-5);
	assert_near((double)e.v[0].p2[1], 0, 1e-5);
	iso_events_free(&e);
	files(true);
}

/* Events with all that a file can hold: written, and read back the same. */
static void round_trip(void **state)
{
	struct iso_event v[3] = {
		{ { 100, 0, 0 }, { -100, 0, 0 }, 12.5f },
		{ { NAN, 0, 0 }, { 0 }, 3 },
		{ { 0, -100, -30 }, { 0, 100, -30 }, -1000 },
	};
	uint32_t time[] = { 0, 5, 60001 };
	iso_real mult[] = { 1, (iso_real).5, 0 }, add[] = { 0, 3, 40 };
	struct iso_events e = { .n = 3,
		                .v = v,
		                .time_ms = time,
		                .mult = mult,
		                .add = add,
		                .tof_fwhm_ps = 250,
		                .tof_bin_ps = 12.5,
		                .start_s = .1,
		                .duration_s = 61,
		                .isotope = "Ga-68",
		                .calibration = 123.5 };
	struct iso_events r = { 0 };
	iso_scanner *s = NULL;

	(void)state;
	put_scanner();
	assert_int_equal(iso_scanner_read(&s, "four.hscan"), ISO_OK);
	files(true);
	assert_int_equal(iso_events_write_with("a.Cdh", &e, s, "{}"), ISO_OK);
	assert_int_equal(files(false), 5);
	read_events(&r, NULL);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.n_bad, 1);
	assert_memory_equal(&r.v[0], &v[0], sizeof v[0]);
	assert_memory_equal(&r.v[2], &v[2], sizeof v[2]);
	assert_memory_equal(r.time_ms, time, sizeof time);
	for (int i = 0; i < 3; i++) {
		assert_near((double)r.mult[i], (double)mult[i], 1e-7);
		assert_near((double)r.add[i], (double)add[i], 1e-5);
	}
	assert_true(r.tof_fwhm_ps == 250 && r.tof_bin_ps == 12.5);
	assert_true(r.start_s == .1 && r.duration_s == 61);
	assert_string_equal(r.isotope, "Ga-68");
	assert_true(r.calibration == 123.5);
	iso_events_free(&r);
	files(true);
	strcpy(e.isotope, "F-18\nx: 1");
	assert_int_equal(iso_events_write_with("a.Cdh", &e, s, NULL), ISO_EARG);
	assert_message("isotope 'F-18?x: 1': a CASToR header can't hold it");
	strcpy(e.isotope, "");
	e.crystal = (uint32_t[]){ 0, 1, 0, 0, 3, 4 };
	assert_int_equal(iso_events_write_with("a.Cdh", &e, s, NULL), ISO_EARG);
	assert_message("event 2: crystal 4, scanner four has 4");
	e.count = mult;
	assert_int_equal(iso_events_write_with("a.Cdh", &e, s, NULL), ISO_EARG);
	assert_message("a histogram, whose lines have counts, can't be written as CASToR");
	assert_int_equal(files(false), 0);
	iso_scanner_free(s);
}

/* A duration that is not known: 0, or no such key, in what is read, and 0 in what is written. Stamps of events do not
   tell it, and rates can't do without it. */
static void no_duration(void **state)
{
	static const char *const headers[] = {
		HEADER "Number of events: 2\nData mode: list-mode\n",
		HEADER "Number of events: 2\nDuration (s): 0 # not known\nData mode: list-mode\n",
	};
	struct bytes b = two_plain();
	struct iso_event v[2] = { { { 100, 0, 0 }, { -100, 0, 0 }, 0 },
		                  { { 0, 100, -30 }, { 0, -100, -30 }, 0 } };
	struct iso_events e = { .n = 2, .v = v, .time_ms = (uint32_t[]){ 5, 59001 } }, r = { 0 };
	iso_scanner *s = NULL;

	(void)state;
	for (int i = 0; i < COUNT(headers); i++) {
		put_set(headers[i], &b);
		read_events(&r, NULL);
		assert_true(r.n == 2 && r.duration_s == 0 && r.start_s == 2.5);
		iso_events_free(&r);
	}
	assert_int_equal(iso_scanner_read(&s, "four.hscan"), ISO_OK);
	files(true);
	assert_int_equal(iso_events_write_with("a.Cdh", &e, s, NULL), ISO_OK);
	read_events(&r, NULL);
	assert_true(r.duration_s == 0 && r.time_ms[1] == 59001);
	iso_events_free(&r);
	files(true);
	e.add = (iso_real[]){ 1, 2 };
	assert_int_equal(iso_events_write_with("a.Cdh", &e, s, NULL), ISO_EARG);
	assert_message("scatter and randoms as rates, and how long the scan took is not known: 'duration-s'");
	assert_int_equal(files(false), 0);
	iso_scanner_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(corrections),
		cmocka_unit_test(histogram),
		cmocka_unit_test(histogram_blocks),
		cmocka_unit_test(lines),
		cmocka_unit_test(scanner),
		cmocka_unit_test(scanner_of_geometry),
		cmocka_unit_test(scanner_damaged),
		cmocka_unit_test(damaged),
		cmocka_unit_test(bad_records),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(no_duration),
		cmocka_unit_test(each_key_missing),
		cmocka_unit_test(depths),
		cmocka_unit_test(directions),
		cmocka_unit_test(other_keys),
		cmocka_unit_test(geometry),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
