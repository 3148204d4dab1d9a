/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays and what all their files have in common: round trips, damage, failing writes.
   This test is also built in double. */
#include "files.h"

#include <signal.h>
#include <sys/resource.h>

/* Under the address sanitizer too, memory that can't be had is NULL and not the end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void create(void **state)
{
	struct iso_array a = { 0 };
	const int64_t fine[2] = { 3, 4 }, zero[2] = { 3, 0 };
	const int64_t huge[3] = { INT64_C(1) << 40, INT64_C(1) << 40, 2 };
	const int64_t large[2] = { INT64_C(1) << 40, INT64_C(1) << 16 };

	(void)state;
	assert_int_equal(iso_array_create(&a, 2, fine), ISO_OK);
	assert_int_equal(a.n, 12);
	for (int i = 0; i < 12; i++) assert_true(a.v[i] == 0);
	iso_array_free(&a);
	iso_array_free(&a);
	assert_int_equal(iso_array_create(&a, 2, zero), ISO_EARG);
	assert_message("axis 1 has size 0");
	assert_int_equal(iso_array_create(&a, 9, fine), ISO_EARG);
	assert_int_equal(iso_array_create(&a, 3, huge), ISO_EARG);
	assert_int_equal(iso_array_create(&a, 2, large), ISO_ENOMEM);
	assert_message("PiB");
}

static void round_trips(void **state)
{
	static const char *const names[] = { "a.npy", "a.nii", "a.nii.gz", "a.raw", "a.NII" };
	struct iso_array a = small_image();

	(void)state;
	for (int i = 0; i < COUNT(names); i++) {
		struct iso_array b = { 0 };

		assert_int_equal(iso_write(names[i], &a, NULL), ISO_OK);
		read_ok(&b, names[i]);
		assert_int_equal(b.n_dim, 3);
		assert_memory_equal(b.dim, a.dim, 3 * sizeof *a.dim);
		assert_memory_equal(b.v, a.v, (size_t)a.n * sizeof *a.v);
		assert_int_equal(b.has_grid, i > 0);
		if (b.has_grid) assert_grid(&b, a.grid.voxel, a.grid.centre);
		iso_array_free(&b);
	}
	assert_int_equal(files(true), COUNT(names) + 1); /* and a.raw.json */
	iso_array_free(&a);
}

static void every_rank(void **state)
{
	const int64_t dim[8] = { 2, 1, 3, 2, 1, 2, 1, 3 };

	(void)state;
	for (int n = 1; n <= 8; n++) {
		struct iso_array a = { 0 }, b = { 0 };

		assert_int_equal(iso_array_create(&a, n, dim), ISO_OK);
		for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)-i;
		assert_int_equal(iso_write("a.npy", &a, NULL), ISO_OK);
		read_ok(&b, "a.npy");
		assert_int_equal(b.n_dim, n);
		assert_memory_equal(b.dim, a.dim, sizeof a.dim);
		assert_memory_equal(b.v, a.v, (size_t)a.n * sizeof *a.v);
		iso_array_free(&b);
		assert_int_equal(iso_write("a.nii", &a, NULL), n > 4 ? ISO_EARG : ISO_OK);
		iso_array_free(&a);
	}
	assert_message("write .npy");
	files(true);
}

static void values(void **state)
{
	struct iso_array a = small_image(), b = { 0 };

	(void)state;
	a.v[9] = -3;
	assert_int_equal(iso_write("a.nii", &a, NULL), ISO_OK);
	read_ok(&b, "a.nii");
	iso_array_free(&b);
	assert_int_equal(iso_read(&b, "a.nii", ISO_NONNEGATIVE), ISO_EINPUT);
	assert_message("a.nii: 1 of 24 values negative or not finite; the first is -3 at "
	               "(iz, iy, ix) = (1, 1, 1)");
	a.v[23] = (iso_real)INFINITY;
	a.v[11] = (iso_real)NAN;
	assert_int_equal(iso_write("a.nii", &a, NULL), ISO_OK);
	assert_refused("a.nii", "2 of 24 values not finite; the first is nan at (iz, iy, ix) = "
	                        "(1, 2, 1)");
	assert_int_equal(iso_read(&b, "a.nii", ISO_ANY), ISO_OK);
	assert_true(isinf(b.v[23]));
	iso_array_free(&b);
	a.n_dim = 1;
	a.dim[0] = 24;
	a.has_grid = false;
	assert_int_equal(iso_write("a.npy", &a, NULL), ISO_OK);
	assert_refused("a.npy", "the first is nan at element 11");
	iso_array_free(&a);
	files(true);
}

static void images(void **state)
{
	struct iso_array a = small_image(), b = { 0 };
	struct iso_grid g = a.grid;

	(void)state;
	assert_int_equal(iso_write("a.nii", &a, NULL), ISO_OK);
	assert_int_equal(iso_write("a.npy", &a, NULL), ISO_OK);
	assert_int_equal(iso_read_image(&b, "a.nii", ISO_FINITE, NULL), ISO_OK);
	assert_true(b.has_grid);
	iso_array_free(&b);
	assert_int_equal(iso_read_image(&b, "a.nii", ISO_FINITE, &g), ISO_OK);
	assert_memory_equal(&b.grid, &g, sizeof g);
	iso_array_free(&b);
	assert_int_equal(iso_read_image(&b, "a.npy", ISO_FINITE, &g), ISO_OK);
	assert_memory_equal(&b.grid, &g, sizeof g);
	iso_array_free(&b);
	assert_int_equal(iso_read_image(&b, "a.npy", ISO_FINITE, NULL), ISO_EINPUT);
	assert_message("a.npy: holds no voxel size");
	g.centre[1] += 1;
	assert_int_equal(iso_read_image(&b, "a.nii", ISO_FINITE, &g), ISO_EINPUT);
	assert_message("centred on (0, -7.1, 12.5), expected");
	g.n[0] = 3;
	assert_int_equal(iso_read_image(&b, "a.npy", ISO_FINITE, &g), ISO_EINPUT);
	assert_message("2 x 3 x 4 voxels of 1.6 x 2.5 x 3.3 mm");
	a.n_dim = 2;
	a.dim[0] = 12;
	a.dim[1] = 2;
	a.has_grid = false;
	assert_int_equal(iso_write("a.npy", &a, NULL), ISO_OK);
	assert_int_equal(iso_read_image(&b, "a.npy", ISO_FINITE, &g), ISO_EINPUT);
	assert_message("2 axes");
	iso_array_free(&a);
	files(true);
}

static void not_a_file(void **state)
{
	static const char *const names[] = { "a.npy", "a.nii", "a.nii.gz", "a.json" };

	(void)state;
	for (int i = 0; i < COUNT(names); i++) {
		assert_refused(names[i], "No such file");
		put(names[i], "", 0);
		assert_refused(names[i], "is empty");
		unlink(names[i]);
		mkdir(names[i], 0777);
		assert_refused(names[i], "is a folder");
		rmdir(names[i]);
		mkfifo(names[i], 0666);
		assert_refused(names[i], "is a device, pipe or socket");
		unlink(names[i]);
	}
	assert_refused("a.xyz", "a.xyz: unknown suffix; one of .npy .mat .dcm .nii .nii.gz .raw .json");
}

/* No part of a file passes for the whole, nor does the whole with one byte more. */
static void every_length(void **state)
{
	static const char *const names[] = { "a.npy", "a.nii", "a.nii.gz", "a.raw" };
	struct iso_array a = small_image(), b = { 0 };
	char data[1024];

	(void)state;
	for (int i = 0; i < COUNT(names); i++) {
		assert_int_equal(iso_write(names[i], &a, NULL), ISO_OK);
		size_t n = get(names[i], data, sizeof data);

		assert_true(n < sizeof data);
		data[n] = 0;
		for (size_t k = 0; k <= n + 1; k++) {
			put(names[i], data, k);
			if (k == n) {
				read_ok(&b, names[i]);
				iso_array_free(&b);
			} else {
				assert_refused(names[i], names[i]);
			}
		}
	}
	iso_array_free(&a);
	files(true);
}

static void write_byte(FILE *f, long at, unsigned char byte)
{
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_int_equal(putc(byte, f), byte);
	assert_int_equal(fflush(f), 0);
}

static void try_bytes(const char *path, long n)
{
	static const unsigned char with[] = { 0, 1, '9', 0x7f, 0x80, 0xff };
	FILE *f = fopen(path, "r+b");
	unsigned char was[1024];
	struct iso_array a = { 0 };

	assert_non_null(f);
	get(path, was, sizeof was);
	for (long k = 0; k < n; k++) {
		for (int w = 0; w < COUNT(with); w++) {
			write_byte(f, k, with[w]);
			int st = iso_read(&a, path, ISO_ANY);

			assert_true(st == ISO_OK || st == ISO_EINPUT);
			iso_array_free(&a);
		}
		write_byte(f, k, was[k]);
	}
	fclose(f);
}

/* Whatever a byte of a header turns into, reading ends in an array or a refusal. */
static void every_byte(void **state)
{
	struct iso_array a = small_image();

	(void)state;
	assert_int_equal(iso_write("a.npy", &a, NULL), ISO_OK);
	assert_int_equal(iso_write("a.nii", &a, NULL), ISO_OK);
	assert_int_equal(iso_write("a.nii.gz", &a, NULL), ISO_OK);
	assert_int_equal(iso_write("a.raw", &a, NULL), ISO_OK);
	try_bytes("a.npy", 128);
	try_bytes("a.nii", 352);
	try_bytes("a.nii.gz", 100);
	try_bytes("a.raw.json", 200);
	iso_array_free(&a);
	files(true);
}

static void sidecar_names(void **state)
{
	static const char *const names[][2] = {
		{ "b/x.nii", "b/x.json" }, { "x.nii.gz", "x.json" },    { "x.npy", "x.npy.json" },
		{ "x.raw", "x.raw.json" }, { "x.lmdT", "x.lmdT.json" },
	};
	char got[16];

	(void)state;
	for (int i = 0; i < COUNT(names); i++) {
		assert_int_equal(iso_sidecar_path(got, sizeof got, names[i][0]), ISO_OK);
		assert_string_equal(got, names[i][1]);
	}
	assert_int_equal(iso_sidecar_path(got, 10, "x.npy"), ISO_EARG);
	assert_int_equal(iso_sidecar_path(got, 11, "x.npy"), ISO_OK);
}

static void write_checks(void **state)
{
	struct iso_array a = small_image();

	(void)state;
	assert_int_equal(iso_write_check("x.nii", false), ISO_OK);
	assert_int_equal(iso_write_check("x.foo", false), ISO_EARG);
	assert_message("x.foo: unknown suffix; one of .npy .nii .nii.gz .raw");
	assert_null(strstr(iso_message(), ".json"));
	assert_int_equal(iso_write_check("x.json", true), ISO_EARG);
	assert_int_equal(iso_write("x.foo", &a, NULL), ISO_EARG);
	put_text("x.nii", "text");
	assert_int_equal(iso_write_check("x.nii", false), ISO_EARG);
	assert_message("x.nii exists; 'force' replaces it");
	assert_int_equal(iso_write_check("x.nii", true), ISO_OK);
	assert_int_equal(iso_write_check("x.nii/y.nii", true), ISO_EIO);
	assert_int_equal(iso_write_check("none/x.nii", true), ISO_EIO);
	assert_message("folder none: No such file");
	mkdir("d.nii", 0777);
	assert_int_equal(iso_write_check("d.nii", true), ISO_EARG);
	assert_int_equal(iso_write("d.nii", &a, NULL), ISO_EARG);
	assert_message("d.nii is a folder");
	mkdir("y.json", 0777);
	assert_int_equal(iso_write_check("y.nii", true), ISO_EARG);
	assert_int_equal(iso_events_write_check("x.lmdt", false), ISO_OK);
	assert_int_equal(iso_events_write_check("x.nii", true), ISO_EARG);
	assert_message("one of .lmdT .Cdh .petsird .npy");
	put_text("x.lmdT", "text");
	assert_int_equal(iso_events_write_check("x.lmdT", false), ISO_EARG);
	assert_int_equal(iso_events_write_check("none/x.lmdT", false), ISO_EIO);
	if (geteuid() != 0) { /* root writes everywhere */
		mkdir("locked", 0555);
		assert_int_equal(iso_write_check("locked/x.nii", false), ISO_EIO);
		assert_message("can't write to folder locked: Permission denied");
	}
	iso_array_free(&a);
	files(true);
}

static void wrong_arrays(void **state)
{
	struct iso_array a = small_image();
	struct iso_array bad = a;

	(void)state;
	bad.n = 23;
	assert_int_equal(iso_write("a.npy", &bad, NULL), ISO_EARG);
	bad = a;
	bad.n_dim = 9;
	assert_int_equal(iso_write("a.npy", &bad, NULL), ISO_EARG);
	bad = a;
	bad.v = NULL;
	assert_int_equal(iso_write("a.npy", &bad, NULL), ISO_EARG);
	bad = a;
	bad.grid.n[0] = 3;
	assert_int_equal(iso_write("a.npy", &bad, NULL), ISO_EARG);
	assert_message("does not fit its grid");
	bad = a;
	bad.grid.voxel[0] = -1;
	assert_int_equal(iso_write("a.npy", &bad, NULL), ISO_EARG);
	assert_int_equal(files(true), 0);
	iso_array_free(&a);
}

static void sidecars(void **state)
{
	struct iso_array a = small_image();
	char text[16];

	(void)state;
	assert_int_equal(iso_write("a.nii.gz", &a, "{\"b\": 1}"), ISO_OK);
	assert_int_equal(files(false), 2);
	text[get("a.json", text, sizeof text - 1)] = '\0';
	assert_string_equal(text, "{\"b\": 1}");
	files(true);
	mkdir("a.json", 0777); /* the sidecar fails: so does the image */
	assert_int_equal(iso_write("a.nii", &a, "{}"), ISO_EARG);
	assert_message("a.json is a folder");
	assert_int_equal(files(true), 1);
	assert_int_equal(iso_write("none/a.nii", &a, "{}"), ISO_EIO);
	assert_message("none/a.nii: can't create: No such file");
	assert_int_equal(files(true), 0);
	iso_array_free(&a);
}

/* A limit on file sizes stands in for a full disk. */
static void disk_full(void **state)
{
	static const char *const names[] = { "a.npy", "a.nii", "a.nii.gz", "a.raw" };
	const int64_t dim[3] = { 10, 50, 50 };
	struct rlimit old, small;
	struct iso_array a = { 0 };
	struct iso_events e = { .n = 5000 };

	(void)state;
	assert_int_equal(iso_array_create(&a, 3, dim), ISO_OK);
	srand(1);
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)(rand() / 1e5);
	e.v = calloc(5000, sizeof *e.v);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ 30000, old.rlim_max };
	for (int i = 0; i <= COUNT(names); i++) {
		int st;

		setrlimit(RLIMIT_FSIZE, &small);
		if (i < COUNT(names))
			st = iso_write(names[i], &a, "{\"b\": 1}");
		else
			st = iso_events_write("a.lmdT", &e, "{}");
		setrlimit(RLIMIT_FSIZE, &old);
		assert_int_equal(st, ISO_EIO);
		assert_message("File too large");
		assert_int_equal(files(false), 0);
	}
	iso_array_free(&a);
	iso_events_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create),        cmocka_unit_test(round_trips),
		cmocka_unit_test(every_rank),    cmocka_unit_test(values),
		cmocka_unit_test(images),        cmocka_unit_test(not_a_file),
		cmocka_unit_test(every_length),  cmocka_unit_test(every_byte),
		cmocka_unit_test(sidecar_names), cmocka_unit_test(write_checks),
		cmocka_unit_test(wrong_arrays),  cmocka_unit_test(sidecars),
		cmocka_unit_test(disk_full),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
