/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of suffixes: what a name says, as what it can be read, and what is said of others. */
#include "test.h"
#include "io/kinds.h"

static void by_suffix(void **state)
{
	static const struct {
		const char *path;
		enum iso_content content;
	} is[] = {
		{ "a.lmdT", ISO_EVENTS_FILE },
		{ "a.LMDt", ISO_EVENTS_FILE },
		{ "b/a.Cdh", ISO_EVENTS_FILE },
		{ "a.txt", ISO_EVENTS_FILE },
		{ "a.npy", ISO_ARRAY_FILE },
		{ "a.nii.gz", ISO_ARRAY_FILE },
		{ "a.raw.json", ISO_ARRAY_FILE },
		{ "a.json", ISO_JSON_FILE },
		{ "a.f32", ISO_STRIPS_FILE },
		{ "a.H5", ISO_RECORDING_FILE },
		{ "a.srm", ISO_MATRIX_FILE },
		{ "a.yml", ISO_DESCRIPTION_FILE },
		{ "a.nii.ckpt", ISO_CHECKPOINT_FILE },
		{ "a.hscan", ISO_SCANNER_FILE },
		{ "a.ghscan", ISO_SCANNER_FILE },
		{ "a.hs", ISO_EVENTS_FILE },
		{ "a.s", ISO_OTHER_FILE },
		{ "a.glut", ISO_OTHER_FILE },
	};

	(void)state;
	for (int i = 0; i < N_OF(is); i++) {
		assert_non_null(iso_kind_of(is[i].path));
		assert_int_equal(iso_kind_of(is[i].path)->content, is[i].content);
		assert_true(iso_kind_is(is[i].path, is[i].content));
	}
	assert_null(iso_kind_of("a.gz"));
	assert_null(iso_kind_of("npy"));
	assert_false(iso_kind_is("a.npy", ISO_EVENTS_FILE));
	assert_false(iso_kind_is("", ISO_ARRAY_FILE));
}

/* A name alone does not tell all: .npy may hold events, .txt strip events. */
static void by_use(void **state)
{
	(void)state;
	assert_non_null(iso_kind_as("a.npy", ISO_EVENTS_FILE)->events);
	assert_int_equal(iso_kind_as("a.txt", ISO_STRIPS_FILE)->strips, ISO_STRIP_TEXT);
	assert_int_equal(iso_kind_as("a.raw", ISO_STRIPS_FILE)->strips, ISO_STRIP_FLOATS);
	assert_non_null(iso_kind_as("a.raw.json", ISO_ARRAY_FILE)->array);
	assert_ptr_not_equal(iso_kind_as("a.nii", ISO_ARRAY_FILE)->array,
	                     iso_kind_as("a.nii.gz", ISO_ARRAY_FILE)->array);
	assert_null(iso_kind_as("a.lmdT", ISO_ARRAY_FILE));
	assert_null(iso_kind_as("a.nii", ISO_EVENTS_FILE));
	assert_true(iso_events_only_whole("a.dat") && iso_events_only_whole("a.txt"));
	assert_false(iso_events_only_whole("a.npy") || iso_events_only_whole("a.nii"));
}

static void unknown(void **state)
{
	(void)state;
	REFUSED(iso_kind_unknown(ISO_EINPUT, "a.x", ISO_RECORDING_FILE, false), ISO_EINPUT,
	        "a.x: unknown suffix for a recording; one of .hdf5 .h5 .msot");
	REFUSED(iso_kind_unknown(ISO_EARG, "a.x", ISO_RECORDING_FILE, true), ISO_EARG, "one of .hdf5 .h5");
	assert_null(strstr(iso_message(), ".msot"));
	REFUSED(iso_kind_unknown(ISO_EARG, "a.x", ISO_ARRAY_FILE, true), ISO_EARG,
	        "a.x: unknown suffix; one of .npy .nii .nii.gz .raw");
	assert_null(strstr(iso_message(), ".json"));
	assert_int_equal(iso_kind_no_data(ISO_EINPUT, "a.lmdT"), ISO_OK);
	REFUSED(iso_kind_no_data(ISO_EINPUT, "a.nii"), ISO_EINPUT, "a.nii: this is an image or an array");
	REFUSED(iso_kind_unknown(ISO_EINPUT, "a.s", ISO_EVENTS_FILE, false), ISO_EINPUT,
	        "a.s: this is a file of numbers without its header; give the header beside it (.hs)");
	REFUSED(iso_kind_none("a.Cdf"), ISO_EINPUT, "give the header beside it (.Cdh)");
	REFUSED(iso_kind_none("a.x"), ISO_EINPUT, "a.x: unknown kind of file; known are .lmdT .Cdh");
	assert_non_null(strstr(iso_message(), ".ckpt")); /* the last row: nothing was cut off */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_suffix),
		cmocka_unit_test(by_use),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
