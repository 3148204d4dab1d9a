/* SPDX-License-Identifier: BSD-3-Clause */
/* Safe writing: what stands under the final name is whole, and failures leave nothing behind. */
#include "file/out.h"
#include "files.h"
#include "test.h"

#include <signal.h>
#include <sys/resource.h>

static void assert_content(const char *path, const char *text)
{
	char got[64] = "";
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	got[fread(got, 1, sizeof got - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(got, text);
}

static void nothing_before_commit(void **state)
{
	struct iso_out o = { 0 };

	(void)state;
	assert_int_equal(iso_out_open(&o, "a.txt", 5, false), ISO_OK);
	assert_int_equal(iso_out_write(&o, "hello", 5), ISO_OK);
	assert_content(o.temp, "hello");
	assert_int_equal(iso_out_close(&o), ISO_OK);
	assert_int_not_equal(access("a.txt", F_OK), 0);
	assert_int_equal(iso_out_commit(&o), ISO_OK);
	iso_out_free(&o);
	assert_int_equal(files(false), 1);
	assert_content("a.txt", "hello");
	unlink("a.txt");
}

static void free_discards(void **state)
{
	struct iso_out o = { 0 };

	(void)state;
	assert_int_equal(iso_out_text("a.txt", "old"), ISO_OK);
	for (int gzip = 0; gzip < 2; gzip++) {
		assert_int_equal(iso_out_open(&o, "a.txt", 3, gzip), ISO_OK);
		assert_int_equal(iso_out_write(&o, "new", 3), ISO_OK);
		iso_out_free(&o);
		iso_out_free(&o);
		assert_int_equal(files(false), 1);
		assert_content("a.txt", "old");
	}
	unlink("a.txt");
}

static void replaces(void **state)
{
	(void)state;
	assert_int_equal(iso_out_text("a.txt", "old and longer"), ISO_OK);
	assert_int_equal(iso_out_text("./a.txt", "new"), ISO_OK);
	assert_content("a.txt", "new");
	assert_int_equal(files(false), 1);
	unlink("a.txt");
}

static void packs(void **state)
{
	struct iso_out o = { 0 };
	char got[16] = "";
	gzFile f;

	(void)state;
	assert_int_equal(iso_out_open(&o, "a.gz", 0, true), ISO_OK);
	assert_int_equal(iso_out_write(&o, "hel", 3), ISO_OK);
	assert_int_equal(iso_out_write(&o, "", 0), ISO_OK);
	assert_int_equal(iso_out_write(&o, "lo", 2), ISO_OK);
	assert_int_equal(iso_out_close(&o), ISO_OK);
	assert_int_equal(iso_out_commit(&o), ISO_OK);
	iso_out_free(&o);
	f = gzopen("a.gz", "rb");
	assert_int_equal(gzread(f, got, sizeof got), 5);
	assert_int_equal(gzdirect(f), 0);
	assert_int_equal(gzclose(f), Z_OK);
	assert_string_equal(got, "hello");
	unlink("a.gz");
}

static void bad_targets(void **state)
{
	static const struct {
		const char *path;
		int status;
		const char *message;
	} bad[] = {
		{ "", ISO_EARG, "names no file" },
		{ "sub/", ISO_EARG, "names no file" },
		{ "sub", ISO_EARG, "sub is a folder" },
		{ "pipe", ISO_EARG, "pipe is a device, pipe or socket" },
		{ "none/a.txt", ISO_EIO, "none/a.txt: can't create: No such file" },
	};

	(void)state;
	mkdir("sub", 0777);
	mkfifo("pipe", 0666);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(iso_out_text(bad[i].path, "text"), bad[i].status);
		assert_message(bad[i].message);
	}
	rmdir("sub");
	unlink("pipe");
	assert_int_equal(files(false), 0);
}

static void long_name(void **state)
{
	char name[400];

	(void)state;
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(iso_out_text(name, "text"), ISO_EIO);
	assert_message("File name too long");
	assert_int_equal(files(false), 0);
}

/* A folder holds names of up to 255 bytes: the temporary's must not need more. */
static void longest_name(void **state)
{
	char name[256];

	(void)state;
	memset(name, 'x', 255);
	name[255] = '\0';
	assert_int_equal(iso_out_text(name, "text"), ISO_OK);
	assert_int_equal(iso_out_text(name, "more"), ISO_OK);
	assert_content(name, "more");
	assert_int_equal(files(false), 1);
	unlink(name);
}

static void read_only_folder(void **state)
{
	(void)state;
	bool root = geteuid() == 0; /* who writes everywhere: then as nobody */

	assert_int_equal(mkdir("locked", 0555), 0);
	if (root && seteuid(65534) != 0) skip_without("no user but root here");
	int st = iso_out_text("locked/a.txt", "text");

	if (root) assert_int_equal(seteuid(0), 0);
	assert_int_equal(st, ISO_EIO);
	assert_message("Permission denied");
	rmdir("locked");
}

static void more_than_the_disk(void **state)
{
	struct iso_out o = { 0 };

	(void)state;
	assert_int_equal(iso_out_open(&o, "a.txt", INT64_MAX, false), ISO_EIO);
	assert_message("a.txt: needs 8.0 EiB, its disk has");
	iso_out_free(&o);
	assert_int_equal(files(false), 0);
}

/* A limit on file sizes stands in for a disk that fills up while we write. */
static void disk_full(void **state)
{
	struct rlimit old, small;
	static char data[100000];
	struct iso_out o = { 0 };

	(void)state;
	srand(1);
	for (size_t i = 0; i < sizeof data; i++) data[i] = (char)rand(); /* does not pack */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ 50000, old.rlim_max };
	for (int gzip = 0; gzip < 2; gzip++) {
		int st;

		setrlimit(RLIMIT_FSIZE, &small);
		st = iso_out_open(&o, "a.bin", 0, gzip);
		if (!st) st = iso_out_write(&o, data, sizeof data);
		if (!st) st = iso_out_close(&o);
		iso_out_free(&o);
		setrlimit(RLIMIT_FSIZE, &old);
		assert_int_equal(st, ISO_EIO);
		assert_message("File too large");
		assert_int_equal(files(false), 0);
	}
}

static void folders(void **state)
{
	char got[16];

	(void)state;
	assert_int_equal(iso_out_folder(got, sizeof got, "a.txt"), ISO_OK);
	assert_string_equal(got, ".");
	assert_int_equal(iso_out_folder(got, sizeof got, "/a.txt"), ISO_OK);
	assert_string_equal(got, "/");
	assert_int_equal(iso_out_folder(got, sizeof got, "b/c/a.txt"), ISO_OK);
	assert_string_equal(got, "b/c");
	assert_int_equal(iso_out_folder(got, 4, "long/a.txt"), ISO_EARG);
}

/* Of several processes one writes; the others meet its file, and write nothing. */
static void mute_beside_the_first(void **state)
{
	(void)state;
	assert_int_equal(iso_out_text("a.txt", "first"), ISO_OK);
	assert_int_equal(iso_out_check("a.txt", NULL, false), ISO_EARG);
	iso_out_mute(true);
	assert_int_equal(iso_out_check("a.txt", NULL, false), ISO_OK);
	assert_int_equal(iso_out_text("a.txt", "second"), ISO_OK);
	iso_out_mute(false);
	assert_content("a.txt", "first");
	unlink("a.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_before_commit),
		cmocka_unit_test(free_discards),
		cmocka_unit_test(replaces),
		cmocka_unit_test(longest_name),
		cmocka_unit_test(packs),
		cmocka_unit_test(bad_targets),
		cmocka_unit_test(long_name),
		cmocka_unit_test(read_only_folder),
		cmocka_unit_test(more_than_the_disk),
		cmocka_unit_test(disk_full),
		cmocka_unit_test(folders),
		cmocka_unit_test(mute_beside_the_first),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
