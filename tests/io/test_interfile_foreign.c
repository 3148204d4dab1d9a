/* SPDX-License-Identifier: BSD-3-Clause */
/* Projection data as others write them: negative values, line integrals in place of counts, scanners known by name,
   blocks, maps of crystals; also built in double. */
#include "files.h"
#include "test.h"
#include "io/events.h"
#include "io/interfile/interfile_lines.h"
#include "scanner/known.h"

#define HEAD                                                                                           \
	"!INTERFILE :=\nname of data file := a.s\nimagedata byte order := LITTLEENDIAN\n"              \
	"!number format := float\n!number of bytes per pixel := 4\napplied corrections := {None}\n"    \
	"number of dimensions := 4\nmatrix axis label [4] := segment\nmatrix axis label [3] := view\n" \
	"matrix axis label [2] := axial coordinate\nmatrix axis label [1] := tangential coordinate\n"
#define END "!END OF INTERFILE :=\n"

/* Three segments of 4 rings, span 3: pairs[] of a plane times mash 2. */
#define SPAN                                                                                               \
	HEAD "matrix size [4] := 3\nmatrix size [3] := 2\nmatrix size [2] := {3,7,3}\nmatrix size [1] := " \
	     "3\n"                                                                                         \
	     "minimum ring difference per segment := {-4,-1,2}\n"                                          \
	     "maximum ring difference per segment := {-2,1,4}\n"                                           \
	     "Number of rings := 5\nNumber of detectors per ring := 8\nInner ring diameter (cm) := 10\n"   \
	     "Average depth of interaction (cm) := 1\nDistance between rings (cm) := 0.4\n"                \
	     "View offset (degrees) := 0\n"
enum { SPAN_BINS = 2 * 3 * (3 + 7 + 3), SPAN_PLANES = 13 };
/* Pairs of rings (r1, r2) of 0 ... 4 by r1 + r2, about 4: of differences 2 to 4, and of -1 to 1. */
static const int span_pairs[SPAN_PLANES] = { 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1 };

/* The plane of bin i. */
static int plane_of(int i)
{
	static const int first[] = { 0, 18, 60 }, planes[] = { 3, 7, 3 }, before[] = { 0, 3, 10 };
	int s = i < 18 ? 0 : i < 60 ? 1 : 2;

	return before[s] + (i - first[s]) / 3 % planes[s];
}

/* A smooth profile along the axis, growing with the pairs of each plane or not. */
static void put_span(bool grows)
{
	float v[SPAN_BINS];

	put_text("a.hs", SPAN END);
	for (int i = 0; i < SPAN_BINS; i++) {
		int k = plane_of(i);

		v[i] = (float)((2.3 + .11 * (k % 5)) * (grows ? 2 * span_pairs[k] : 1));
	}
	put("a.s", v, sizeof v);
}

static const struct iso_events_info *opened(iso_event_file **f, const struct iso_events_options *o)
{
	if (iso_event_file_open(f, "a.hs", o) != ISO_OK) fail_msg("%s", iso_message());
	return iso_event_file_info(*f);
}

static void refused(const struct iso_events_options *o, int status, const char *part)
{
	iso_event_file *f = NULL;

	assert_int_equal(iso_event_file_open(&f, "a.hs", o), status);
	assert_message(part);
	assert_null(strchr(iso_message(), '\n'));
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part)) fail_msg("\"%s\" lacks \"%s\"", text, part);
}

/* ---- what values are ---- */

static void counts_or_line_integrals(void **state)
{
	const struct iso_events_options counts = { .size = sizeof counts, .bins = "counts" },
					lines = { .size = sizeof lines, .bins = "line-integrals" },
					both = { .size = sizeof both,
		                                 .bins = "counts",
		                                 .no_multiplicity = true },
					other = { .size = sizeof other, .bins = "apples" };
	iso_event_file *f = NULL;

	(void)state;
	put_span(true);
	assert_true(opened(&f, NULL)->multiplicity);
	assert_has(iso_event_file_info(f)->assumed, "values are counts, because they grow");
	assert_has(iso_event_file_info(f)->assumed,
	           "2 to 4, though they are not whole numbers ('bins' line-integrals");
	iso_event_file_close(f);
	assert_false(opened(&f, &lines)->multiplicity);
	assert_null(strstr(iso_event_file_info(f)->assumed, "values are"));
	iso_event_file_close(f);

	put_span(false);
	assert_false(opened(&f, NULL)->multiplicity);
	assert_has(iso_event_file_info(f)->assumed, "values are line integrals");
	assert_has(iso_event_file_info(f)->assumed, "2 to 4 ('bins' counts");
	iso_event_file_close(f);
	assert_true(opened(&f, &counts)->multiplicity);
	iso_event_file_close(f);
	refused(&both, ISO_EARG, "'bins' counts and 'no-multiplicity' contradict");
	refused(&other, ISO_EARG, "'bins' is 'apples', must be counts or line-integrals");
}

/* Whole numbers are counts, whatever their planes look like; so are values that nothing distinguishes. */
static void meaning(void **state)
{
	static const struct {
		struct interfile_survey s;
		enum interfile_meaning want;
	} of[] = {
		{ { .whole = true, .rough = 0, .rough_each = 9, .least = 1, .most = 2 }, INTERFILE_COUNTS },
		{ { .rough = 0, .rough_each = 9, .least = 2, .most = 2 }, INTERFILE_COUNTS },
		{ { .rough = 1, .rough_each = 9, .least = 1, .most = 2 }, INTERFILE_INTEGRALS },
		{ { .rough = 9, .rough_each = 1, .least = 1, .most = 2 }, INTERFILE_GROWING },
		{ { .rough = 9, .rough_each = 9, .least = 1, .most = 2 }, INTERFILE_UNCLEAR },
		{ { .least = 1, .most = 2 }, INTERFILE_UNCLEAR },
	};

	(void)state;
	for (int i = 0; i < COUNT(of); i++) assert_int_equal(iso_interfile_meaning(&of[i].s), of[i].want);
}

static void negative_values(void **state)
{
	const struct iso_events_options clip = { .size = sizeof clip, .negative = "clip" },
					keep = { .size = sizeof keep, .negative = "keep" },
					refuse = { .size = sizeof refuse, .negative = "refuse" },
					other = { .size = sizeof other, .negative = "mend" };
	float v[SPAN_BINS];
	struct iso_events e = { 0 };
	iso_event_file *f = NULL;

	(void)state;
	put_span(true);
	for (int i = 0; i < SPAN_BINS; i++) v[i] = i % 3 == 0 ? -.002f : 1;
	put("a.s", v, sizeof v); /* a third of the bins, 0.1 % of the sum */
	assert_has(opened(&f, NULL)->warning,
	           "33.3 % of the bins are negative, 0.1 % of the sum; 0 is taken for them");
	iso_event_file_close(f);
	assert_int_equal(iso_events_read(&e, "a.hs", NULL), ISO_OK);
	for (int i = 0; i < SPAN_BINS; i++) assert_true((double)e.count[i] == (i % 3 == 0 ? 0 : 1));
	iso_events_free(&e);
	assert_has(opened(&f, &keep)->warning, "and stay so");
	iso_event_file_close(f);
	assert_int_equal(iso_events_read(&e, "a.hs", &keep), ISO_OK);
	assert_true((double)e.count[3] == (double)v[3]);
	iso_events_free(&e);
	refused(&refuse, ISO_EINPUT, "33.3 % of its values are negative");
	refused(&other, ISO_EARG, "'negative' is 'mend'");

	for (int i = 0; i < SPAN_BINS; i++) v[i] = i % 3 == 0 ? -.1f : 1;
	put("a.s", v, sizeof v); /* 5 % of the sum */
	refused(NULL, ISO_EINPUT,
	        "5 % of the sum, as after a subtraction of randoms or scatter; 'negative' clip");
	opened(&f, &clip);
	iso_event_file_close(f);
	v[7] = NAN;
	put("a.s", v, sizeof v);
	refused(&clip, ISO_EINPUT, "value 7 is nan, must be finite");
}

/* ---- scanners by name ---- */

static void known_names(void **state)
{
	const struct iso_known *k = iso_known_scanner("prt-1");

	(void)state;
	assert_non_null(k);
	assert_int_equal(k->rings, 16);
	assert_ptr_equal(iso_known_scanner("RPT"), k);
	assert_ptr_equal(iso_known_scanner("ge  advance"), iso_known_scanner("Advance"));
	assert_ptr_equal(iso_known_scanner("ECAT_HR+"), iso_known_scanner("ECAT 962"));
	assert_int_equal(iso_known_scanner("ECAT HR+")->rings, 32);
	assert_int_equal(iso_known_scanner("ECAT HR")->detectors, 784);
	assert_null(iso_known_scanner("unknown"));
	assert_null(iso_known_scanner(""));
	assert_null(iso_known_scanner("ECAT HR+ 2"));
}

#define RATPET                                                                                            \
	HEAD "originating system := RATPET\nmatrix size [4] := 1\nmatrix size [3] := 56\n"                \
	     "matrix size [2] := {8}\nmatrix size [1] := 3\nminimum ring difference per segment := {0}\n" \
	     "maximum ring difference per segment := {0}\n"
enum { RATPET_BINS = 56 * 8 * 3 };

/* The middle line of ring 0: inner radius 57.5 mm, depth 7 mm, rings 6.25 mm apart. */
static void sizes_by_name(void **state)
{
	static const float zero[RATPET_BINS];
	struct iso_events e = { 0 };
	iso_event_file *f = NULL;

	(void)state;
	put_text("a.hs", RATPET END);
	put("a.s", zero, sizeof zero);
	assert_has(
		opened(&f, NULL)->assumed,
		"scanner RATPET is the one known by that name, with number of rings 8, number of detectors "
		"per ring 112, inner ring diameter (cm) 11.5, average depth of interaction (cm) 0.7, "
		"distance between rings (cm) 0.625");
	assert_has(iso_event_file_info(f)->assumed, "the view offset is 0 degrees");
	assert_int_equal(iso_scanner_crystals(iso_event_file_scanner(f)), 8 * 112);
	iso_event_file_close(f);
	assert_int_equal(iso_events_read(&e, "a.hs", NULL), ISO_OK);
	NEAR(hypot((double)e.v[1].p1[0], (double)e.v[1].p1[1]), 64.5, 1e-4);
	NEAR((double)e.v[1].p1[2], 3.5 * 6.25, 1e-4);
	iso_events_free(&e);

	/* what the header says holds */
	put_text("a.hs", RATPET "inner ring diameter (cm) := 20\nview offset (degrees) := 0\n" END);
	assert_int_equal(iso_events_read(&e, "a.hs", NULL), ISO_OK);
	NEAR(hypot((double)e.v[1].p1[0], (double)e.v[1].p1[1]), 107, 1e-4);
	iso_events_free(&e);
	assert_null(strstr(opened(&f, NULL)->assumed, "diameter"));
	assert_null(strstr(iso_event_file_info(f)->assumed, "view offset"));
	iso_event_file_close(f);
	put_text("a.hs", RATPET "originating system := Nobody's\n" END);
	refused(NULL, ISO_EINPUT, "key 'number of rings' is missing");
	put_text("a.hs", RATPET "originating system := Discovery MI\n" END); /* of 3 to 6 blocks */
	refused(NULL, ISO_EINPUT, "key 'number of rings' is missing");
}

/* Mashing 1, and of the Signa its bins and resolution. */
static void times_by_name(void **state)
{
	static const float zero[3 * 224 * 45 * 3];
	iso_event_file *f = NULL;

	(void)state;
	put_text("a.hs", HEAD "originating system := GE Signa PET/MR\nmatrix size [4] := 1\n"
	                      "matrix size [3] := 224\nmatrix size [2] := {45}\nmatrix size [1] := 3\n"
	                      "number of dimensions := 5\nmatrix axis label [5] := timing positions\n"
	                      "matrix size [5] := 3\nminimum ring difference per segment := {0}\n"
	                      "maximum ring difference per segment := {0}\n" END);
	put("a.s", zero, sizeof zero);
	NEAR(opened(&f, NULL)->tof_bin_ps, 13.02, 1e-9);
	NEAR(iso_event_file_info(f)->tof_fwhm_ps, 390, 1e-9);
	assert_has(iso_event_file_info(f)->assumed, "tof mashing factor is 1");
	iso_event_file_close(f);
}

/* ---- blocks and maps ---- */

/* 4 rings of 16 crystals: 4 buckets of 2 blocks of 2 crystals, along z 2 blocks of 2. */
#define SQUARE                                                                            \
	HEAD "matrix size [4] := 3\nmatrix size [3] := 8\nmatrix size [2] := {3,4,3}\n"   \
	     "matrix size [1] := 5\nminimum ring difference per segment := {-1,0,1}\n"    \
	     "maximum ring difference per segment := {-1,0,1}\nNumber of rings := 4\n"    \
	     "Number of detectors per ring := 16\nView offset (degrees) := 0\n"           \
	     "Inner ring diameter (cm) := 10\nAverage depth of interaction (cm) := 0.5\n" \
	     "Distance between rings (cm) := 1\n"
#define BLOCKS                                                            \
	"Scanner geometry := BlocksOnCylindrical\n"                       \
	"Number of blocks_per_bucket in transaxial direction := 2\n"      \
	"Number of blocks per bucket in axial direction := 1\n"           \
	"Number of crystals per block in axial direction := 2\n"          \
	"Number of crystals per block in transaxial direction := 2\n"     \
	"Distance between crystals in axial direction (cm) := 0.8\n"      \
	"Distance between crystals in transaxial direction (cm) := 0.9\n" \
	"Distance between blocks in axial direction (cm) := 2\n"          \
	"Distance between blocks in transaxial direction (cm) := 2.4\n"
enum { SQUARE_BINS = 8 * 5 * 10 };

static void put_square(const char *geometry)
{
	static const float zero[SQUARE_BINS];
	char text[4096];

	snprintf(text, sizeof text, "%s%s%s", SQUARE, geometry, END);
	put_text("a.hs", text);
	put("a.s", zero, sizeof zero);
}

static void assert_place(const double *got, double x, double y, double z)
{
	NEAR(got[0], x, 1e-9);
	NEAR(got[1], y, 1e-9);
	NEAR(got[2], z, 1e-9);
}

/* By hand. Bucket 0 has its crystals at -16.5, -7.5, 7.5, 16.5 mm along itself, 55 mm from the axis, and is turned by
   pi/4 (1 - 2/24 (4.5 + 24 - 18)) = 0.0981748 rad. Ours are minus STIR's axes. Along z: -14, -6, 6, 14. */
static void blocks(void **state)
{
	const double a = M_PI / 4 * (1 - 2. / 24 * 10.5);
	iso_event_file *f = NULL;
	struct iso_events e = { 0 };

	(void)state;
	put_square(BLOCKS);
	opened(&f, NULL);
	const double *p = iso_scanner_positions(iso_event_file_scanner(f));

	assert_int_equal(iso_scanner_crystals(iso_event_file_scanner(f)), 64);
	assert_place(p, -(55 * sin(a) - 16.5 * cos(a)), -(-55 * cos(a) - 16.5 * sin(a)), 14);
	assert_place(p + 3 * (16 + 3), -(55 * sin(a) + 16.5 * cos(a)), -(-55 * cos(a) + 16.5 * sin(a)), 6);
	/* bucket 1, crystal 1: a quarter turn on, where sin is cos a, and cos is -sin a */
	assert_place(p + 3 * (48 + 5), -(55 * cos(a) + 7.5 * sin(a)), -(55 * sin(a) - 7.5 * cos(a)), -14);
	assert_int_equal(iso_events_read(&e, "a.hs", NULL), ISO_OK);

	/* segment +1 begins behind 8 * 5 * 7 bins; view 3, axial 2 (rings 2 and 3), tangential -1: detectors
	   3 + floor(-1/2) = 2, and 3 - 0 + 8 = 11 */
	const struct iso_event *v = e.v + 8 * 5 * 7 + (3 * 3 + 2) * 5 + 1;

	for (int c = 0; c < 3; c++) {
		NEAR((double)v->p1[c], p[3 * (2 * 16 + 2) + c], 1e-4);
		NEAR((double)v->p2[c], p[3 * (3 * 16 + 11) + c], 1e-4);
	}
	/* segment -1, axial 0: rings 1 and 0; view 0, tangential 2: detectors 1 and 0 - 1 + 8 = 7 */
	for (int c = 0; c < 3; c++) {
		NEAR((double)e.v[4].p1[c], p[3 * (16 + 1) + c], 1e-4);
		NEAR((double)e.v[4].p2[c], p[3 * 7 + c], 1e-4);
	}
	iso_events_free(&e);
	iso_event_file_close(f);
}

static void wrong_blocks(void **state)
{
	(void)state;
	put_square(BLOCKS "Number of blocks per bucket in axial direction := 3\n");
	refused(NULL, ISO_EINPUT, "4 rings, not a multiple of 3 blocks of 2 crystals in axial direction");
	put_square("Scanner geometry := BlocksOnCylindrical\n");
	refused(NULL, ISO_EINPUT, "key 'number of blocks per bucket in transaxial direction' is missing");
	put_square(BLOCKS "applied corrections := {arc correction}\neffective central bin size (cm) := 1\n");
	refused(NULL, ISO_EINPUT, "8 views, arc-corrected; a BlocksOnCylindrical or Generic scanner");
	put_square(BLOCKS "maximum ring difference per segment := {-1,0,2}\n");
	refused(NULL, ISO_EINPUT, "needs one ring difference a segment");
}

/* A crystal of the map below. */
static void map_place(double p[3], int ring, int detector)
{
	p[0] = 50 + detector + .25 * ring;
	p[1] = -detector * detector;
	p[2] = 3.5 * ring - 5;
}

/* All but `without`; with the layer or not. */
static void put_map(const char *path, int without, bool layer, const char *more)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "#ring\tdetector\tx\ty\tz\n\n");
	for (int i = 0; i < 64; i++) {
		double p[3];

		map_place(p, i / 16, i % 16);
		if (i != without)
			fprintf(f, layer ? "%d\t%d\t0\t%.2f\t%.2f\t%.2f\r\n" : "%d,%d,%.2f,%.2f,%.2f\n",
			        i / 16, i % 16, p[0], p[1], p[2]);
	}
	fprintf(f, "%s", more);
	assert_int_equal(fclose(f), 0);
}

#define MAP                                                                                              \
	"Scanner geometry (BlocksOnCylindrical/Cylindrical/Generic) := Generic\nName of crystal map := " \
	"m.txt\n"

static void map_of_crystals(void **state)
{
	struct iso_events e = { 0 };
	iso_event_file *f = NULL;
	double p[3];

	(void)state;
	for (int layer = 0; layer < 2; layer++) {
		put_square(MAP);
		put_map("m.txt", -1, layer, "");
		opened(&f, NULL);
		const double *got = iso_scanner_positions(iso_event_file_scanner(f));

		for (int i = 0; i < 64; i += 21) {
			map_place(p, i / 16, i % 16);
			assert_place(got + (size_t)3 * (size_t)i, -p[0], -p[1], -p[2]);
		}
		iso_event_file_close(f);
		assert_int_equal(iso_events_read(&e, "a.hs", NULL), ISO_OK);
		/* segment 0 begins behind 8 * 5 * 3 bins; view 7, axial 3, tangential 0: detectors 7 and 15 */
		map_place(p, 3, 15);
		for (int c = 0; c < 3; c++)
			NEAR((double)e.v[8 * 5 * 3 + (7 * 4 + 3) * 5 + 2].p2[c], -p[c], 1e-4);
		iso_events_free(&e);
	}
	put_map("m.txt", 5, false, "");
	refused(NULL, ISO_EINPUT, "m.txt: has 63 crystals, its header says 64");
	put_map("m.txt", 5, false, "0,4,1,2,3\n");
	refused(NULL, ISO_EINPUT, "ring 0, detector 4 stands there twice");
	put_map("m.txt", 5, false, "4,4,1,2,3\n");
	refused(NULL, ISO_EINPUT, "m.txt:66: ring 4, detector 4; its header says 4 rings of 16 detectors");
	put_map("m.txt", 5, false, "0,5,1,2\n");
	refused(NULL, ISO_EINPUT, "m.txt:66: 'ring detector x y z' was expected");
	put_map("m.txt", 5, true, "0 5 1 1 2 3\n");
	refused(NULL, ISO_EINPUT, "of layer 0");
	put_square(MAP "Name of crystal map := ../m.txt\n");
	refused(NULL, ISO_EINPUT, "name of crystal map is '../m.txt'");
	put_square("Scanner geometry := Generic\n");
	refused(NULL, ISO_EINPUT, "key 'name of crystal map' is missing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_or_line_integrals),
		cmocka_unit_test(meaning),
		cmocka_unit_test(negative_values),
		cmocka_unit_test(known_names),
		cmocka_unit_test(sizes_by_name),
		cmocka_unit_test(times_by_name),
		cmocka_unit_test(blocks),
		cmocka_unit_test(wrong_blocks),
		cmocka_unit_test(map_of_crystals),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
