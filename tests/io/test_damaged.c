/* SPDX-License-Identifier: BSD-3-Clause */
/* Every reader of the library against what is no file at all, and against texts made to take long;
   damaged files of one format are in the test of that format. */
#include "algo/checkpoint.h"
#include "text/conf.h"
#include "files.h"

static int read_array(const char *path)
{
	struct iso_array a = { 0 };

	return iso_read(&a, path, ISO_FINITE);
}

static int read_events(const char *path)
{
	struct iso_events e = { 0 };

	return iso_events_read(&e, path, NULL);
}

static int read_scanner(const char *path)
{
	iso_scanner *s = NULL;

	return iso_scanner_read(&s, path);
}

static int read_phantom(const char *path)
{
	iso_phantom *p = NULL;

	return iso_phantom_create(&p, path, NULL);
}

static int read_checkpoint(const char *path)
{
	iso_real x;
	const struct iso_item item = { "x", ISO_ITEM_REAL, 1, &x };

	return iso_checkpoint_read(path, 1, 1, &item);
}

static const struct {
	const char *name;
	int (*read)(const char *path);
	const char *when_empty;
} readers[] = {
	{ "x.npy", read_array, "is empty" },
	{ "x.nii", read_array, "is empty" },
	{ "x.nii.gz", read_array, "is empty" },
	{ "x.raw.json", read_array, "is empty" },
	{ "x.lmdT", read_events, "is empty" },
	{ "x.yaml", read_scanner, "is empty" },
	{ "x.json", read_scanner, "is empty" },
	{ "x.yml", read_phantom, "is empty" },
	{ "x.ckpt", read_checkpoint, "ends within a checkpoint" },
	{ "x.Cdh", read_events, "is empty" },
	{ "x.dat", read_events, "is empty" },
	{ "rows.npy", read_events, "is empty" },
	{ "x.hscan", read_scanner, "is empty" },
};

static void assert_input(int i, const char *message)
{
	int st;

	alarm(20); /* a pipe without a writer would hold a reader for ever */
	st = readers[i].read(readers[i].name);
	alarm(0);
	if (st != ISO_EINPUT)
		fail_msg("%s: status %d, wanted a message with \"%s\"", readers[i].name, st, message);
	assert_message(message);
}

static void no_file(void **state)
{
	(void)state;
	for (int i = 0; i < COUNT(readers); i++) {
		const char *name = readers[i].name;

		put(name, "", 0);
		assert_input(i, readers[i].when_empty);
		unlink(name);
		assert_int_equal(mkdir(name, 0777), 0);
		assert_input(i, "is a folder");
		rmdir(name);
		assert_int_equal(mkfifo(name, 0666), 0);
		assert_input(i, "is a device, pipe or socket");
		unlink(name);
		assert_int_equal(symlink("/dev/zero", name), 0);
		assert_input(i, "is a device, pipe or socket");
		unlink(name);
	}
}

/* A file of 64 GiB that holds nothing: no reader takes memory for it. */
static void vast(void **state)
{
	static const char *const message[] = {
		"not a .npy file",
		"not a NIfTI file",
		"not gzip",
		"larger than 32 MiB",
		NULL,
		"larger than 1 MiB",
		"larger than 1 MiB",
		"larger than 1 MiB",
		"not a checkpoint",
		"larger than 1 MiB",
		"a line longer than",
		"not a .npy file",
		"larger than 1 MiB",
	};

	(void)state;
	for (int i = 0; i < COUNT(readers); i++) {
		if (!message[i]) continue; /* so many events may well be */
		put(readers[i].name, "", 0);
		assert_int_equal(truncate(readers[i].name, 1ll << 36), 0);
		assert_input(i, message[i]);
		unlink(readers[i].name);
	}
}

/* libyaml compares each %TAG with all before it: 1 MiB of them took minutes. */
static void many_tags(void **state)
{
	enum { SIZE = 1 << 20 };
	static const char *const lead[] = { "", "kind: cylinder\n...\n", "\xc2\x85" };
	char *text = malloc(SIZE);
	struct conf_node *root = NULL;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < COUNT(lead); i++) {
		size_t used = (size_t)sprintf(text, "%s", lead[i]);

		for (int n = 0; used < SIZE - 32; n++)
			used += (size_t)sprintf(text + used, "%%TAG !%x! x\n", n);
		alarm(20);
		assert_int_equal(iso_conf_parse(&root, "x.yaml", text, used), ISO_EINPUT);
		alarm(0);
		assert_message("x.yaml: tags (%TAG) are not supported");
	}
	free(text);
}

/* Whatever the case of its suffix, a .json file is strict JSON. */
static void strict_json(void **state)
{
	(void)state;
	put_text("x.JSON", "kind: cylinder\n");
	assert_int_equal(read_scanner("x.JSON"), ISO_EINPUT);
	assert_message("'[' or '{' expected");
	files(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_file),
		cmocka_unit_test(vast),
		cmocka_unit_test(many_tags),
		cmocka_unit_test(strict_json),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
