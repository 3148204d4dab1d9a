/* SPDX-License-Identifier: BSD-3-Clause */
/* NumPy files: every type, order and damage. This test is also built in double. */
#include "files.h"

static size_t npy_head(char *dst, int version, const char *dict)
{
	size_t n = strlen(dict), at = version == 1 ? 10 : 12;

	memcpy(dst, "\x93NUMPY", 6);
	dst[6] = (char)version;
	memset(dst + 7, 0, 5);
	dst[8] = (char)(n & 255);
	dst[9] = (char)(n >> 8);
	memcpy(dst + at, dict, n);
	return at + n;
}

static void npy(const char *path, int version, const char *dict, const void *data, size_t bytes)
{
	char file[1024];
	size_t n = npy_head(file, version, dict);

	memcpy(file + n, data, bytes);
	put(path, file, n + bytes);
}

static void writes(void **state)
{
	struct iso_array a = small_image();
	char want[128], got[1024];
	size_t n;

	(void)state;
	assert_int_equal(iso_write("a.npy", &a, NULL), ISO_OK);
	n = get("a.npy", got, sizeof got);
	assert_int_equal(n, 128 + 24 * sizeof(iso_real));
	memset(want, ' ', sizeof want);
	memcpy(want, "\x93NUMPY\1\0\x76\0", 10); /* 10 + 118 = 128 */
	n = (size_t)sprintf(want + 10,
	                    "{'descr': '<f%d', 'fortran_order': False, "
	                    "'shape': (4, 3, 2), }",
	                    (int)sizeof(iso_real));
	want[10 + n] = ' ';
	want[127] = '\n';
	assert_memory_equal(got, want, 128);
	assert_memory_equal(got + 128, a.v, (size_t)a.n * sizeof *a.v);
	a.n_dim = 1;
	a.dim[0] = 24;
	a.has_grid = false;
	assert_int_equal(iso_write("a.npy", &a, NULL), ISO_OK);
	n = get("a.npy", got, sizeof got - 1);
	got[127] = '\0';
	assert_non_null(strstr(got + 10, "'shape': (24,), }"));
	iso_array_free(&a);
	files(true);
}

static void types(void **state)
{
	unsigned char data[64];
	char dict[128];

	(void)state;
	for (int t = 0; t < COUNT(stored_types); t++)
		for (int big = 0; big < 2; big++) {
			size_t n = store(data, t, big);
			char mark = stored_types[t].size == 1 ? '|' : big ? '>' : '<';

			sprintf(dict,
			        "{'descr': '%c%s', 'fortran_order': False, "
			        "'shape': (2, 3), }\n",
			        mark, stored_types[t].npy);
			npy("a.npy", 1 + t % 3, dict, data, n);
			assert_stored("a.npy", t);
		}
	files(true);
}

static void dicts(void **state)
{
	static const char *const dicts[] = {
		"{'descr': '|b1', 'fortran_order': False, 'shape': (6,)}",
		"{\"shape\":(6,),\"fortran_order\":False,\"descr\":\"|u1\"}",
		" { 'shape' : ( 3 , 2 , ) , 'descr' : '|u1' , 'fortran_order' : False , } \n",
		"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 6), }",
	};
	const unsigned char data[6] = { 0, 1, 1, 0, 1, 0 };

	(void)state;
	for (int i = 0; i < COUNT(dicts); i++) {
		struct iso_array a = { 0 };

		npy("a.npy", 1, dicts[i], data, 6);
		read_ok(&a, "a.npy");
		for (int k = 0; k < 6; k++) assert_true(a.v[k] == data[k]);
		iso_array_free(&a);
	}
	struct iso_array a = { 0 };

	npy("a.npy", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': ()}", "\5", 1);
	read_ok(&a, "a.npy");
	assert_true(a.n_dim == 1 && a.dim[0] == 1 && a.v[0] == 5);
	iso_array_free(&a);
	files(true);
}

/* Element (i, j, k) of a (2, 3, 4) array is number i + 2 j + 6 k of the file. */
static void fortran(void **state)
{
	unsigned char data[24];
	struct iso_array a = { 0 };

	(void)state;
	for (int i = 0; i < 24; i++) data[i] = (unsigned char)i;
	npy("a.npy", 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", data, 24);
	read_ok(&a, "a.npy");
	assert_true(a.n_dim == 3 && a.dim[0] == 2 && a.dim[1] == 3 && a.dim[2] == 4);
	for (int i = 0; i < 24; i++) assert_true(a.v[i] == i / 12 + 2 * (i / 4 % 3) + 6 * (i % 4));
	iso_array_free(&a);
	files(true);
}

static void read_pairs(struct iso_array *a)
{
	if (iso_read(a, "a.npy", ISO_FINITE | ISO_PAIRS) != ISO_OK) fail_msg("%s", iso_message());
	assert_true(a->pairs);
}

/* Complex numbers are pairs, behind all other axes in either order, for those who ask for them. */
static void pairs(void **state)
{
	const float data[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	const double wide[4] = { 1, -2, 3, -4 };
	struct iso_array a = { 0 };

	(void)state;
	npy("a.npy", 1, "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }", data, sizeof data);
	read_pairs(&a);
	assert_true(a.n_dim == 3 && a.dim[0] == 2 && a.dim[1] == 3 && a.dim[2] == 2);
	for (int i = 0; i < 12; i++) assert_true(a.v[i] == i);
	iso_array_free(&a);
	npy("a.npy", 1, "{'descr': '<c8', 'fortran_order': True, 'shape': (2, 3), }", data, sizeof data);
	read_pairs(&a);
	for (int i = 0; i < 12; i++) assert_true(a.v[i] == 2 * (i / 6 + 2 * (i / 2 % 3)) + i % 2);
	iso_array_free(&a);
	npy("a.npy", 1, "{'descr': '<c16', 'fortran_order': False, 'shape': (2,), }", wide, sizeof wide);
	read_pairs(&a);
	assert_true(a.n_dim == 2 && a.dim[0] == 2 && a.dim[1] == 2 && a.v[3] == -4);
	iso_array_free(&a);
	assert_refused("a.npy", "complex elements of type '<c16', expected integers");
	assert_int_equal(iso_peek(&a, "a.npy"), ISO_EINPUT);
	npy("a.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }", wide, sizeof wide);
	assert_int_equal(iso_read(&a, "a.npy", ISO_ANY | ISO_PAIRS), ISO_OK);
	assert_true(a.n_dim == 2 && !a.pairs);
	iso_array_free(&a);
	npy("a.npy", 1, "{'descr': '<c8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,2,3)}", data,
	    sizeof data);
	assert_int_equal(iso_read(&a, "a.npy", ISO_ANY | ISO_PAIRS), ISO_EINPUT);
	files(true);
}

static void damaged(void **state)
{
	static const struct {
		const char *dict, *message;
	} bad[] = {
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}", "bytes expected" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}", "bytes expected" },
		{ "{'descr': '<f4', 'fortran_order': False, "
		  "'shape': (1000000000000, 1000000000000)}",
		  "more elements than 64 bits" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
		  "a size that 64 bits hold" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000,)}",
		  "bytes expected, the file has" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 0)}", "axis of size 0" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}", "a size" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (6)}", "comma in a shape" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "a size" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "a size" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': 6}", "parentheses" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6)}",
		  "more than 8 axes" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)", "expected '}'" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (6,", "a size" },
		{ "{'descr': '<f4', 'fortran_order': False, 'sha", "the keys" },
		{ "{'descr': '<f4', 'fortran_order': False, }", "the keys" },
		{ "{'descr': '<f4', 'descr': '<f4', 'shape': (6,)}", "once each" },
		{ "{'descr': '<f4', 'fortran_order': False, 'size': (6,)}", "the keys" },
		{ "{'descr': '<f4', 'fortran_order': 1, 'shape': (6,)}", "True or False" },
		{ "{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}", "expected ','" },
		{ "{'descr' '<f4', 'fortran_order': False, 'shape': (6,)}", "expected ':'" },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x", "nothing but" },
		{ "['descr']", "expected '{'" },
		{ "", "expected '{'" },
		{ "{'descr': '|O', 'fortran_order': False, 'shape': (6,)}", "type '|O'" },
		{ "{'descr': '<c4', 'fortran_order': False, 'shape': (6,)}", "type '<c4'" },
		{ "{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}",
		  "complex elements of type '<c8'" },
		{ "{'descr': '<f2', 'fortran_order': False, 'shape': (12,)}", "type '<f2'" },
		{ "{'descr': '<U6', 'fortran_order': False, 'shape': (1,)}", "type '<U6'" },
		{ "{'descr': '|f4', 'fortran_order': False, 'shape': (6,)}", "type '|f4'" },
		{ "{'descr': '', 'fortran_order': False, 'shape': (6,)}", "type ''" },
		{ "{'descr': '<f40000000000000000000', 'fortran_order': False, 'shape': (6,)}",
		  "a type such as" },
		{ "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (6,)}", "records" },
	};
	static char large[(1 << 20) + 64] = "\x93NUMPY\2\0\1\0\20"; /* 1 MiB + 1 */
	const float data[6] = { 0 };

	(void)state;
	for (int i = 0; i < COUNT(bad); i++) {
		npy("a.npy", 1, bad[i].dict, data, sizeof data);
		assert_refused("a.npy", bad[i].message);
	}
	npy("a.npy", 4, "{}", data, sizeof data);
	assert_refused("a.npy", "version 4.0");
	put_text("a.npy", "this is no array");
	assert_refused("a.npy", "not a .npy file");
	put("a.npy", "\x93NUMPY\2\0\xff\xff\xff\xff{", 13);
	assert_refused("a.npy", "header of 4294967295 bytes in a file of 13");
	put("a.npy", large, sizeof large);
	assert_refused("a.npy", "header of 1048577 bytes");
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes),  cmocka_unit_test(types), cmocka_unit_test(dicts),
		cmocka_unit_test(fortran), cmocka_unit_test(pairs), cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
