/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfile: images there and back, projection data with segments and TOF, headers that lack a key; also built in
   double. */
#include "files.h"
#include "test.h"
#include "io/events.h"

#define SAMPLES TEST_DATA "/interfile/"

/* ---- headers ---- */

#define HEAD                                                                                         \
	"!INTERFILE :=\n!imaging modality := PT\nname of data file := a.s\nimagedata byte order := " \
	"LITTLEENDIAN\n"                                                                             \
	"!number format := float\n!number of bytes per pixel := 4\n"
#define AXES                                                                                                 \
	"number of dimensions := 4\nmatrix axis label [4] := segment\n!matrix size [4] := 3\n"               \
	"matrix axis label [3] := view\n!matrix size [3] := 2\nmatrix axis label [2] := axial coordinate\n"  \
	"!matrix size [2] := {3, 5,3}\nmatrix axis label [1] := tangential coordinate\n!matrix size [1] := " \
	"3\n"
#define RINGS                                                                                       \
	"minimum ring difference per segment := {-2,-1,1}\nmaximum ring difference per segment := " \
	"{-1,1,2}\n"                                                                                \
	"Scanner parameters:=\nNumber of rings := 3\nNumber of detectors per ring := 8\n"           \
	"Inner ring diameter (cm) := 10\nAverage depth of interaction (cm) := 1\n"                  \
	"Distance between rings (cm) := 0.4\nView offset (degrees) := 0\n"
#define PLAIN "applied corrections := {None}\n"
#define END "!END OF INTERFILE :=\n"
enum { BINS = 2 * 3 * (3 + 5 + 3) };

static void put_floats(const char *path, int n)
{
	float v[1024];

	assert_true(n <= COUNT(v));
	for (int i = 0; i < n; i++) v[i] = (float)i;
	put(path, v, (size_t)n * sizeof *v);
}

static void put_set(const char *header)
{
	put_text("a.hs", header);
	put_floats("a.s", BINS);
}

static void read_set(struct iso_events *e, const char *path, const struct iso_events_options *o)
{
	if (iso_events_read(e, path, o) != ISO_OK) fail_msg("%s", iso_message());
}

static void refused(const char *part)
{
	struct iso_events e = { .n = 77 };
	int st = iso_events_read(&e, "a.hs", NULL);

	if (st != ISO_EINPUT) fail_msg("status %d, wanted a message with \"%s\"", st, part);
	assert_message(part);
	assert_null(strchr(iso_message(), '\n'));
}

/* ---- lines ---- */

static double at(const struct iso_event *v, int end, int axis)
{
	return (double)(end ? v->p2 : v->p1)[axis];
}

/* Detectors 8 a ring of radius 60, two views of two detectors each: view 0 lies at 22.5 degrees, from detector 0 or 1 at
   the bottom (y = -60 in STIR's axes, the top in ours) to the one across. */
static void lines_by_hand(void **state)
{
	struct iso_events e = { 0 };
	const double c = 60 * cos(M_PI / 8), s = 60 * sin(M_PI / 8), t = 60 * sin(3 * M_PI / 8);

	(void)state;
	put_set(HEAD AXES RINGS PLAIN END);
	read_set(&e, "a.hs", NULL);
	assert_int_equal(e.n, BINS);
	assert_true(e.lists_all);
	assert_false(e.attenuated);
	for (int i = 0; i < BINS; i++) assert_near((double)e.count[i], i, 0);

	/* segment 0 is the second of the file; its view 0, axial position 2 of 5, the middle, tangential 1 of 3 */
	const struct iso_event *v = e.v + 18 + 2 * 3 + 1;

	assert_near(at(v, 0, 0), -s, 1e-4);
	assert_near(at(v, 0, 1), c, 1e-4);
	assert_near(at(v, 1, 0), s, 1e-4);
	assert_near(at(v, 1, 1), -c, 1e-4);
	assert_near(at(v, 0, 2), 0, 1e-5);
	assert_near((double)v->dt_ps, 0, 0);
	/* tangential 2: end 1 one step of 22.5 degrees on, end 2 one back */
	assert_near(at(v + 1, 0, 0), -60 * sin(M_PI / 4), 1e-4);
	assert_near(at(v + 1, 0, 1), 60 * cos(M_PI / 4), 1e-4);
	assert_near(at(v + 1, 1, 0), 0, 1e-4);
	assert_near(at(v + 1, 1, 1), -60, 1e-4);
	/* view 1, a quarter turn on */
	assert_near(at(v + 15, 0, 0), -t, 1e-4);
	assert_near(at(v + 15, 0, 1), -60 * cos(3 * M_PI / 8), 1e-4);
	/* axial 0 of segment 0: half a pitch a position, z turned round */
	assert_near(at(v - 6, 0, 2), 4, 1e-5);
	/* the last segment, ring differences 1 and 2: end 1 is 3/4 pitch lower in STIR's z, higher in ours */
	v = e.v + 18 + 30 + 3 + 1;
	assert_near(at(v, 0, 2), .75 * 4, 1e-5);
	assert_near(at(v, 1, 2), -.75 * 4, 1e-5);
	iso_events_free(&e);
}

/* Crystal pairs of a bin: mash 2 times the pairs of rings, by going through all pairs. */
static void multiplicity(void **state)
{
	const struct iso_events_options o = { .size = sizeof o, .no_multiplicity = true };
	static const int least[] = { -2, -1, 1 }, most[] = { -1, 1, 2 }, planes[] = { 3, 5, 3 };
	struct iso_events e = { 0 };

	(void)state;
	put_set(HEAD AXES RINGS PLAIN END);
	read_set(&e, "a.hs", NULL);
	for (int i = 0, segment = 0; segment < 3; segment++)
		for (int view = 0; view < 2; view++)
			for (int k = 0; k < planes[segment]; k++) {
				int pairs = 0;

				for (int r1 = 0; r1 < 3; r1++)
					for (int r2 = 0; r2 < 3; r2++)
						pairs += r2 - r1 >= least[segment] &&
						         r2 - r1 <= most[segment] &&
						         r1 + r2 == k - (planes[segment] - 1) / 2 + 2;
				for (int t = 0; t < 3; t++) assert_near((double)e.mult[i++], 2 * pairs, 0);
			}
	iso_events_free(&e);
	read_set(&e, "a.hs", &o);
	assert_null(e.mult);
	iso_events_free(&e);
}

/* The other order of axes holds the same bins. */
static void axial_slow(void **state)
{
	struct iso_events a = { 0 }, b = { 0 };

	(void)state;
	put_set(HEAD AXES RINGS PLAIN END);
	read_set(&a, "a.hs", NULL);
	put_set(HEAD
	        "number of dimensions := 4\nmatrix axis label [4] := segment\nmatrix size [4] := 3\n"
	        "matrix axis label [3] := axial coordinate\nmatrix size [3] := {3,5,3}\n"
	        "matrix axis label [2] := view\nmatrix size [2] := 2\n"
	        "matrix axis label [1] := tangential coordinate\nmatrix size [1] := 3\n" RINGS PLAIN END);
	read_set(&b, "a.hs", NULL);
	for (int k = 0; k < 5; k++)
		for (int view = 0; view < 2; view++)
			for (int t = 0; t < 3; t++)
				assert_memory_equal(a.v + 18 + (view * 5 + k) * 3 + t,
				                    b.v + 18 + (k * 2 + view) * 3 + t, sizeof *a.v);
	iso_events_free(&a);
	iso_events_free(&b);
}

static void arc_corrected(void **state)
{
	struct iso_events e = { 0 };

	(void)state;
	put_set(HEAD AXES RINGS "effective central bin size (cm) := 3\n" END);
	read_set(&e, "a.hs", NULL);
	const struct iso_event *v = e.v + 18 + 2 * 3 + 2; /* t = 1: 30 mm from the axis */
	double dx = at(v, 1, 0) - at(v, 0, 0), dy = at(v, 1, 1) - at(v, 0, 1);

	assert_near(fabs(at(v, 0, 0) * dy - at(v, 0, 1) * dx) / hypot(dx, dy), 30, 1e-4);
	iso_events_free(&e);
	put_set(HEAD AXES RINGS END);
	refused("effective central bin size (cm)");
	put_set(HEAD AXES RINGS "default bin size (cm) := 7\n" END);
	refused("beyond the radius");
}

static void patient_positions(void **state)
{
	static const struct {
		const char *keys;
		int sign[3];
	} of[] = {
		{ "", { -1, -1, -1 } },
		{ "patient orientation := head_in\npatient rotation := supine\n", { -1, -1, -1 } },
		{ "patient orientation := HFP\n", { 1, 1, -1 } },
		{ "patient orientation := head_in\npatient rotation := prone\n", { 1, 1, -1 } },
		{ "Patient_Orientation := feet_in\n!patient  rotation := supine\n", { 1, -1, 1 } },
		{ "patient orientation := FFP\n", { -1, 1, 1 } },
	};
	struct iso_events first = { 0 };

	(void)state;
	for (int i = 0; i < COUNT(of); i++) {
		struct iso_events e = { 0 };
		char text[4096];

		snprintf(text, sizeof text, "%s%s%s", HEAD AXES RINGS PLAIN, of[i].keys, END);
		put_set(text);
		read_set(&e, "a.hs", NULL);
		for (int64_t j = 0; i > 0 && j < e.n; j++)
			for (int a = 0; a < 6; a++)
				assert_near(at(e.v + j, a / 3, a % 3),
				            -of[i].sign[a % 3] * at(first.v + j, a / 3, a % 3), 1e-5);
		if (i == 0)
			first = e;
		else
			iso_events_free(&e);
	}
	iso_events_free(&first);
	put_set(HEAD AXES RINGS PLAIN "patient orientation := sideways\n" END);
	refused("patient position 'sideways'");
}

/* Seven TOF bins in any order: k > 0 lies nearer to end 1. */
static void time_of_flight(void **state)
{
	static const char *const order[] = { "", "TOF bin order := {0,1,2,3}\n",
		                             "TOF bin order := {1, 0, -2, -1}\n" };
	static const float want[3][4] = { { 300, 100, -100, -300 },
		                          { 300, 100, -100, -300 },
		                          { -300, -100, 300, 100 } };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct iso_events e = { 0 };
		char text[4096];

		snprintf(text, sizeof text, "%s%s%s%s",
		         HEAD "number of dimensions := 5\nmatrix axis label [5] := timing positions\n"
		              "matrix size [5] := 4\n",
		         strchr(AXES, '\n') + 1,
		         RINGS PLAIN "TOF mashing factor := 2\nSize of unmashed TOF time bins (ps) := 100\n"
		                     "TOF timing resolution (ps) := 350\n",
		         order[i]);
		put_text("a.hs", text);
		put_floats("a.s", 4 * BINS);
		read_set(&e, "a.hs", NULL);
		assert_int_equal(e.n, 4 * BINS);
		assert_near(e.tof_bin_ps, 200, 0);
		assert_near(e.tof_fwhm_ps, 350, 0);
		for (int64_t j = 0; j < e.n; j++)
			assert_near((double)e.v[j].dt_ps, (double)want[i][j / BINS], 0);
		iso_events_free(&e);
	}
}

static void times(void **state)
{
	struct iso_events e = { 0 };

	(void)state;
	put_set(HEAD AXES RINGS PLAIN
	        "image duration (sec)[1] := 300\nimage relative start time (sec)[1] := 5\n"
	        "radionuclide name[1] := ^18^Fluorine\n" END);
	read_set(&e, "a.hs", NULL);
	assert_near(e.duration_s, 300, 0);
	assert_near(e.start_s, 5, 0);
	assert_string_equal(e.isotope, "F-18");
	iso_events_free(&e);
	put_set(HEAD AXES RINGS PLAIN "isotope name := ga-68\n" END);
	read_set(&e, "a.hs", NULL);
	assert_string_equal(e.isotope, "Ga-68");
	iso_events_free(&e);
}

/* ---- damage ---- */

static void each_key_missing(void **state)
{
	static const char *const tof = "TOF mashing factor := 1\nSize of unmashed TOF time bins (ps) := 100\n"
				       "TOF timing resolution (ps) := 350\n";
	char whole[4096], text[4096];

	(void)state;
	snprintf(whole, sizeof whole, "%s%s%s%s%s", HEAD, strchr(AXES, '\n') + 1,
	         "number of dimensions := 5\nmatrix axis label [5] := timing positions\nmatrix size [5] := "
	         "2\n",
	         RINGS PLAIN, tof);
	put_floats("a.s", 2 * BINS);
	put_text("a.hs", whole);
	struct iso_events e = { 0 };

	read_set(&e, "a.hs", NULL);
	iso_events_free(&e);
	int tried = 0;

	for (const char *line = whole; *line; line = strchr(line, '\n') + 1) {
		char key[80] = "";
		int n = 0;

		for (const char *c = line + (*line == '!'); *c != '\n' && strncmp(c, " :=", 3) != 0; c++)
			key[n++] = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
		if (strstr(key, "interfile") || strstr(key, "modality") || strstr(key, "scanner parameters"))
			continue;
		if (strstr(key, "byte order")) continue;                            /* big-endian then */
		if (strstr(key, "view offset") || strstr(key, "mashing")) continue; /* have defaults */
		snprintf(text, sizeof text, "%.*s%s", (int)(line - whole), whole, strchr(line, '\n') + 1);
		put_text("a.hs", text);
		struct iso_events lacking = { 0 };
		int st = iso_events_read(&lacking, "a.hs", NULL);

		if (strstr(key, "applied corrections"))
			strcpy(key, "effective central bin size (cm)"); /* then arc-corrected */
		if (st != ISO_EINPUT) fail_msg("without '%s': status %d", key, st);
		assert_message(key);
		tried++;
	}
	assert_int_equal(tried, 24);
}

static void wrong_values(void **state)
{
	static const struct {
		const char *more, *message;
	} of[] = {
		{ "Number of detectors per ring := 7\n", "must be even" },
		{ "Number of detectors per ring := 2\n", "tangential positions of 2 detectors" },
		{ "Number of rings := 2\n", "does not fit 2 rings" },
		{ "Number of rings := 100000\nNumber of detectors per ring := 1000000\n",
		  "crystals are too many" },
		{ "Number of rings := 1.5\n", "whole number" },
		{ "Number of rings := nan\n", "number of rings is 'nan'" },
		{ "Scanner geometry := BlocksOnCylindrical\n", "2 views; a BlocksOnCylindrical or Generic" },
		{ "Scanner geometry (BlocksOnCylindrical/Cylindrical/Generic) := Spherical\n",
		  "must be Cylindrical, BlocksOnCylindrical or Generic" },
		{ "matrix size [4] := 2\n", "3 numbers for 2 segments" },
		{ "matrix size [2] := {3,5}\n", "2 numbers for 3 segments" },
		{ "matrix size [2] := {3,4,3}\n", "an odd number" },
		{ "minimum ring difference per segment := {-2,0,1}\n", "about ring difference 0" },
		{ "minimum ring difference per segment := {-1,-1,1}\nmaximum ring difference per segment := "
		  "{1,1,2}\n",
		  "2 of them about" },
		{ "matrix axis label [3] := time\n", "matrix axis label" },
		{ "number of time frames := 2\n", "number of time frames" },
		{ "matrix size [1] := 4\n", "264 bytes, its header says 88 values" },
		{ "matrix size [1] := 1000000\nmatrix size [3] := 1000000\nNumber of detectors per ring := "
		  "1000000\n",
		  "its header says" },
		{ "data offset in bytes := 4\n", "its header says" },
		{ "number format := signed integer\nnumber of bytes per pixel := 3\n", "number format" },
		{ "imagedata byte order := MIDDLE\n", "imagedata byte order" },
		{ "", "1.52 % of its values are negative, 100 % of the sum" },
		{ "name of data file := /etc/a.s\n", "name of data file" },
		{ "name of data file := ../a.s\n", "name of data file" },
		{ "name of data file := b.s\n", "b.s" },
		{ "patient orientation := head_in\npatient rotation := up\n", "patient position" },
		{ "matrix size [0] := 4\n", "index" },
	};

	(void)state;
	for (int i = 0; i < COUNT(of); i++) {
		char text[4096];

		snprintf(text, sizeof text, "%s%s%s", HEAD AXES RINGS PLAIN, of[i].more, END);
		put_set(text);
		if (strstr(of[i].message, "are negative")) {
			const float v[BINS] = { [3] = -1e-20f };

			put("a.s", v, sizeof v);
		}
		refused(of[i].message);
	}
	put_set(HEAD AXES RINGS PLAIN END);
	for (int more = -1; more < 2; more += 2) {
		unsigned char v[4 * BINS + 1] = { 0 };

		put("a.s", v, (size_t)(4 * BINS + more));
		refused("its header says 66 values of 4 bytes, 264");
	}
	put_text("a.hs", "");
	refused("a.hs");
	put_text("a.hs", "!INTERFILE :=");
	refused("is missing");
	put_text("a.hs", "hello := world\n");
	refused("!INTERFILE");
}

/* A name says nothing where the first bytes do. */
static void by_content(void **state)
{
	struct iso_events e = { 0 };

	(void)state;
	put_set(HEAD AXES RINGS PLAIN END);
	assert_int_equal(rename("a.hs", "sinogram.hdr"), 0);
	read_set(&e, "sinogram.hdr", NULL);
	assert_int_equal(e.n, BINS);
	iso_events_free(&e);
}

/* ---- samples ---- */

static void samples(void **state)
{
	static const struct {
		const char *path;
		int64_t n;
		double sum, most;
	} of[] = {
		{ SAMPLES "cylinder.hs", 36704, 299866.8756272793, 50.08216094970703 },
		{ SAMPLES "point-tof.hs", 27776, 37459.52408222112, 0 },
	};

	(void)state;
	for (int i = 0; i < COUNT(of); i++) {
		struct iso_events e = { 0 };
		double sum = 0, most = 0;

		read_set(&e, of[i].path, NULL);
		assert_int_equal(e.n, of[i].n);
		for (int64_t j = 0; j < e.n; j++) {
			sum += (double)e.count[j];
			most = fmax(most, (double)e.count[j]);
		}
		assert_near(sum, of[i].sum, 1e-6 * of[i].sum);
		if (of[i].most > 0) assert_near(most, of[i].most, 1e-5);
		iso_events_free(&e);
	}
}

static void foreign_samples(void **state)
{
	const char *foreign = getenv("ISO_FOREIGN_SAMPLES");
	char path[4096];
	struct iso_events e = { 0 };
	int64_t best = 0;
	double sum = 0;

	(void)state;
	snprintf(path, sizeof path, "%s/interfile/scatter_cylinder.hs", foreign ? foreign : "");
	if (access(path, R_OK) != 0) skip_without_samples();
	read_set(&e, path, NULL);
	assert_int_equal(e.n, 8960);
	for (int64_t j = 0; j < e.n; j++) {
		sum += (double)e.count[j];
		if (e.count[j] > e.count[best]) best = j;
	}
	assert_near(sum, 6996.61952, 1e-3);
	assert_near((double)e.count[best], 1.98944938, 1e-6);
	assert_int_equal(best, (1 * 8 + 3) * 35 + 18);
	iso_events_free(&e);
}

/* Values beside others. */
static void pieces(void **state)
{
	iso_real v[BINS];

	(void)state;
	put_set(HEAD AXES RINGS PLAIN "image scaling factor [1] := 2\n" END);
	assert_int_equal(iso_interfile_fits("a.hs", "a.hs", false), ISO_OK);
	assert_int_equal(iso_interfile_piece(v, "a.hs", 10, 5), ISO_OK);
	for (int i = 0; i < 5; i++) assert_near((double)v[i], 2 * (10 + i), 0);
	/* the same bins once more, as those of a second TOF bin */
	assert_int_equal(iso_interfile_piece(v, "a.hs", BINS - 1, 3), ISO_OK);
	assert_near((double)v[0], 2 * (BINS - 1), 0);
	assert_near((double)v[2], 2, 0);
	assert_int_equal(iso_interfile_fits(SAMPLES "cylinder.hs", "a.hs", true), ISO_EINPUT);
	assert_message("its bins are not those of");
	assert_int_equal(iso_interfile_fits("a.hs", "a.npy", true), ISO_EINPUT);
	assert_message("no projection data");
}

/* ---- images ---- */

#define IMAGE                                                                                         \
	HEAD "number of dimensions := 3\n!matrix size [1] := 2\nscaling factor (mm/pixel) [1] := 2\n" \
	     "!matrix size [2] := 3\nscaling factor (mm/pixel) [2] := 3\n!matrix size [3] := 4\n"     \
	     "scaling factor (mm/pixel) [3] := 4\n"

/* x of 2 voxels lies half a voxel off centre, at -2 and 0 in STIR's axes; y and z are centred. All axes turn round. */
static void image(void **state)
{
	const double voxel[3] = { 2, 3, 4 };
	struct iso_array a = { 0 };

	(void)state;
	put_text("a.hv", IMAGE END);
	put_floats("a.s", 24);
	read_ok(&a, "a.hv");
	assert_grid(&a, voxel, (const double[]){ 1, 0, 0 });
	for (int i = 0; i < 24; i++) assert_near((double)a.v[i], 23 - i, 0);
	iso_array_free(&a);

	put_text("a.hv", IMAGE "first pixel offset (mm) [1] := 5\nfirst pixel offset (mm) [3] := -7\n"
	                       "patient orientation := feet_in\npatient rotation := supine\n"
	                       "image scaling factor [1] := .5\n" END);
	read_ok(&a, "a.hv"); /* x, -y, z: the first voxel at 5 */
	assert_grid(&a, voxel, (const double[]){ 6, 0, -7 });
	assert_near((double)a.v[0], .5 * 4, 0);
	assert_near((double)a.v[1], .5 * 5, 0);
	assert_near((double)a.v[2], .5 * 2, 0);
	iso_array_free(&a);

	put_text("a.h33", IMAGE "version of keys := CASToRv3.1.1\nfirst pixel offset (mm) [1] := 5\n" END);
	read_ok(&a, "a.h33"); /* x, y, -z about the origin */
	assert_grid(&a, voxel, (const double[]){ 0, 0, 0 });
	assert_near((double)a.v[0], 18, 0);
	iso_array_free(&a);
}

/* Slices in place of a third axis, their distance in pixels. */
static void plain_image(void **state)
{
	const double voxel[3] = { 2, 3, 5 };
	struct iso_array a = { 0 };

	(void)state;
	put_text("a.h33", HEAD
	         "!matrix size [1] := 2\nscaling factor (mm/pixel) [1] := 2\n!matrix size [2] := 3\n"
	         "scaling factor (mm/pixel) [2] := 3\n!number of slices := 4\nslice thickness (pixels) := 2\n"
	         "centre-centre slice separation (pixels) := -2.5\nprocess status := Reconstructed\n" END);
	put_floats("a.s", 24);
	read_ok(&a, "a.h33");
	assert_grid(&a, voxel, (const double[]){ 1, 0, 0 });
	iso_array_free(&a);
	put_text("a.h33", IMAGE "process status := acquired\n" END);
	assert_refused("a.h33", "SPECT");
}

static void put_number(unsigned char *p, char kind, int size, int value)
{
	int64_t v = value;
	float f = (float)v;
	double d = (double)v;

	if (kind == 'f' && size == 4)
		memcpy(p, &f, sizeof f);
	else if (kind == 'f')
		memcpy(p, &d, sizeof d);
	else
		for (int j = 0; j < size; j++) p[j] = (unsigned char)((uint64_t)v >> 8 * j);
}

static void image_types(void **state)
{
	(void)state;
	for (int t = 0; t < COUNT(stored_types); t++)
		for (int big = 0; big < 2; big++) {
			unsigned char bytes[6 * 8 + 2] = { 0 };
			int size = stored_types[t].size;
			struct iso_array a = { 0 };
			char text[2048];

			for (int i = 0; i < 6; i++) {
				unsigned char *p = bytes + 2 + i * size;

				put_number(p, stored_types[t].kind, size, stored_value(t, i));
				for (int j = 0; big && j < size / 2; j++) {
					unsigned char c = p[j];

					p[j] = p[size - 1 - j];
					p[size - 1 - j] = c;
				}
			}
			put("a.s", bytes, (size_t)(6 * size + 2));
			snprintf(text, sizeof text,
			         "!INTERFILE :=\nname of data file := a.s\n%snumber format := %s\n"
			         "number of bytes per pixel := %d\nmatrix size [1] := 6\nmatrix size [2] := "
			         "1\n"
			         "matrix size [3] := 1\nscaling factor (mm/pixel) [1] := 1\n"
			         "scaling factor (mm/pixel) [2] := 1\nscaling factor (mm/pixel) [3] := 1\n"
			         "data offset in bytes [1] := 2\n",
			         big ? "" : "imagedata byte order := LITTLEENDIAN\n",
			         stored_types[t].kind == 'f'   ? "FLOAT"
			         : stored_types[t].kind == 'i' ? "signed integer"
			                                       : "unsigned integer",
			         size);
			put_text("a.hv", text);
			read_ok(&a, "a.hv");
			for (int i = 0; i < 6; i++) assert_near((double)a.v[5 - i], stored_value(t, i), 0);
			iso_array_free(&a);
		}
}

static void there_and_back(void **state)
{
	static const char *const names[] = { "b.hv", "b.h33" }, *const values[] = { "b.v", "b.i33" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct iso_array a = small_image(), b = { 0 };
		iso_real stored[24];

		files(true);
		snprintf(a.unit, sizeof a.unit, "counts/mm");
		assert_int_equal(iso_write(names[i], &a, "{}"), ISO_OK);
		assert_int_equal(files(false), 3);
		assert_int_equal(get(values[i], stored, sizeof stored), sizeof stored);
		assert_near((double)stored[0], (double)a.v[23], 0);
		read_ok(&b, names[i]);
		assert_grid(&b, a.grid.voxel, a.grid.centre);
		assert_memory_equal(b.v, a.v, 24 * sizeof *a.v);
		assert_string_equal(b.unit, "counts/mm");
		assert_int_equal(iso_write_check(names[i], false), ISO_EARG);
		assert_int_equal(remove(names[i]), 0);
		assert_int_equal(iso_write_check(names[i], false), ISO_EARG);
		assert_message("which belongs to");
		assert_int_equal(iso_write_check(names[i], true), ISO_OK);
		iso_array_free(&a);
		iso_array_free(&b);
	}
}

static void not_written(void **state)
{
	struct iso_array a = small_image();
	int64_t dim[2] = { 4, 6 };
	struct iso_array flat = { 0 };

	(void)state;
	files(true);
	assert_int_equal(iso_array_create(&flat, 2, dim), ISO_OK);
	assert_int_equal(iso_write("b.hv", &flat, NULL), ISO_EARG);
	assert_message("three axes");
	assert_int_equal(iso_write("b;c.hv", &a, NULL), ISO_EARG);
	assert_message("';'");
	assert_int_equal(iso_write_check_series("b.hv", 3), ISO_EARG);
	assert_message("hold one");
	assert_int_equal(files(false), 0);
	iso_array_free(&a);
	iso_array_free(&flat);
}

static void image_damage(void **state)
{
	static const struct {
		const char *more, *message;
	} of[] = {
		{ "matrix size [3] := 5\n", "bytes" },
		{ "matrix size [3] := 0\n", "matrix size" },
		{ "number of dimensions := 4\n", "number of dimensions" },
		{ "number of time frames := 2\n", "number of time frames" },
		{ "scaling factor (mm/pixel) [2] := 0\n", "scaling factor (mm/pixel)" },
		{ "matrix size [1] := 1000000\nmatrix size [2] := 1000000\nmatrix size [3] := 1000000\n",
		  "bytes" },
	};
	static const char *const needed[] = { "name of data file",
		                              "number format",
		                              "number of bytes per pixel",
		                              "matrix size [1]",
		                              "matrix size [2]",
		                              "matrix size [3]",
		                              "scaling factor (mm/pixel) [1]",
		                              "scaling factor (mm/pixel) [2]",
		                              "scaling factor (mm/pixel) [3]" };

	static const char whole[] = IMAGE;

	(void)state;
	put_floats("a.s", 24);
	for (int i = 0; i < COUNT(of); i++) {
		char text[2048];

		snprintf(text, sizeof text, "%s%s%s", IMAGE, of[i].more, END);
		put_text("a.hv", text);
		assert_refused("a.hv", of[i].message);
	}
	for (int i = 0; i < COUNT(needed); i++) {
		char text[2048];
		const char *line = strstr(whole, needed[i]);

		assert_non_null(line);
		snprintf(text, sizeof text, "%.*s;%s", (int)(line - whole), whole, line);
		put_text("a.hv", text);
		assert_refused("a.hv", needed[i]);
	}
	put_text("a.hv", IMAGE END);
	put_floats("a.s", 25);
	assert_refused("a.hv", "a.s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_by_hand),
		cmocka_unit_test(multiplicity),
		cmocka_unit_test(axial_slow),
		cmocka_unit_test(arc_corrected),
		cmocka_unit_test(patient_positions),
		cmocka_unit_test(time_of_flight),
		cmocka_unit_test(each_key_missing),
		cmocka_unit_test(wrong_values),
		cmocka_unit_test(by_content),
		cmocka_unit_test(samples),
		cmocka_unit_test(times),
		cmocka_unit_test(foreign_samples),
		cmocka_unit_test(pieces),
		cmocka_unit_test(image),
		cmocka_unit_test(plain_image),
		cmocka_unit_test(image_types),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(not_written),
		cmocka_unit_test(image_damage),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
