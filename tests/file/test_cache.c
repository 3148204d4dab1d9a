/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's cache: what is kept comes back bit for bit or not at all, entries of longest ago make room, two writers
   leave whole entries. */
#include "files.h"
#include "file/cache.h"
#include "file/out.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

enum { N = 1000 };

static const char *const limits[] = { "ISOTOME_CACHE", "ISOTOME_CACHE_MB", "ISOTOME_CACHE_SECONDS",
	                              "XDG_CACHE_HOME" };

static void key_of(char key[ISO_CACHE_KEY], int i)
{
	struct iso_cache_hash h = { 0 };

	assert_int_equal(iso_cache_hash_begin(&h), ISO_OK);
	iso_cache_hash_add(&h, &i, sizeof i);
	iso_cache_hash_end(&h, key);
	assert_int_equal(strlen(key), ISO_CACHE_KEY - 1);
}

static struct iso_cache open_here(void)
{
	struct iso_cache c;

	assert_int_equal(iso_cache_open(&c, "kept/here"), ISO_OK);
	assert_string_equal(c.folder, "kept/here");
	return c;
}

static void values(float v[N], int i)
{
	for (int k = 0; k < N; k++) v[k] = (float)(i * k + 1);
}

static void keep(const struct iso_cache *c, int i)
{
	char key[ISO_CACHE_KEY];
	float v[N];

	key_of(key, i);
	values(v, i);
	if (iso_cache_put(c, key, v, sizeof v, i + .5)) fail_msg("%s", iso_message());
}

/* Whether entry i is there, and then with every bit of it. */
static bool kept(const struct iso_cache *c, int i)
{
	char key[ISO_CACHE_KEY];
	float v[N] = { 0 }, want[N];
	double with = 0;

	key_of(key, i);
	values(want, i);
	if (!iso_cache_get(c, key, v, sizeof v, &with)) return false;
	assert_memory_equal(v, want, sizeof v);
	assert_near(with, i + .5, 0);
	return true;
}

static void path_of(char path[PATH_MAX], const struct iso_cache *c, int i)
{
	char key[ISO_CACHE_KEY];

	key_of(key, i);
	assert_true(iso_cache_path(path, c, key));
}

static int setup(void **state)
{
	(void)state;
	for (int i = 0; i < COUNT(limits); i++) unsetenv(limits[i]);
	return system("rm -rf kept two");
}

static void found_again(void **state)
{
	struct iso_cache c = open_here();
	char key[ISO_CACHE_KEY];
	struct stat s;
	float v[N];
	double with;

	(void)state;
	assert_false(kept(&c, 1));
	keep(&c, 1);
	assert_true(kept(&c, 1));
	assert_false(kept(&c, 2));
	key_of(key, 1);
	assert_false(iso_cache_get(&c, key, v, sizeof v - 4, &with)); /* of another size */
	assert_int_equal(stat("kept", &s), 0);
	assert_int_equal(s.st_mode & 0777, 0700);
}

/* Every byte of the file counts, and so does its length. */
static void damaged(void **state)
{
	struct iso_cache c = open_here();
	char path[PATH_MAX], bytes[64 + N * sizeof(float)];

	(void)state;
	keep(&c, 3);
	path_of(path, &c, 3);
	assert_int_equal(get(path, bytes, sizeof bytes), sizeof bytes);
	for (size_t i = 0; i < sizeof bytes; i += i < 64 ? 1 : 333) {
		bytes[i] ^= 16;
		put(path, bytes, sizeof bytes);
		assert_false(kept(&c, 3));
		bytes[i] ^= 16;
	}
	put(path, bytes, sizeof bytes - 1);
	assert_false(kept(&c, 3));
	put(path, bytes, 5);
	assert_false(kept(&c, 3));
	keep(&c, 3); /* written anew */
	assert_true(kept(&c, 3));
}

/* An entry under the name of another, as a copy of a file would be. */
static void of_another_key(void **state)
{
	struct iso_cache c = open_here();
	char from[PATH_MAX], to[PATH_MAX];

	(void)state;
	keep(&c, 4);
	path_of(from, &c, 4);
	path_of(to, &c, 5);
	assert_int_equal(rename(from, to), 0);
	assert_false(kept(&c, 5));
}

static void set_age(const struct iso_cache *c, int i, int hours)
{
	char path[PATH_MAX];
	const struct timespec ago = { .tv_sec = time(NULL) - 3600 * (long)hours };
	const struct timespec both[2] = { ago, ago };

	path_of(path, c, i);
	assert_int_equal(utimensat(AT_FDCWD, path, both, 0), 0);
}

static void bounded(void **state)
{
	struct iso_cache c = open_here();

	(void)state;
	c.most_bytes = 3 * (64 + (int64_t)N * 4);
	for (int i = 0; i < 3; i++) keep(&c, i);
	for (int i = 0; i < 3; i++) set_age(&c, i, 10 - i);
	assert_true(kept(&c, 0)); /* used now: the next that goes is 1 */
	put_text("kept/here/notes.txt", "mine");
	keep(&c, 3);
	assert_true(kept(&c, 0) && kept(&c, 2) && kept(&c, 3));
	assert_false(kept(&c, 1));
	assert_int_equal(access("kept/here/notes.txt", F_OK), 0);
	c.most_bytes = 100; /* less than an entry: nothing is kept, nothing goes */
	keep(&c, 4);
	assert_false(kept(&c, 4));
	assert_true(kept(&c, 3));
}

/* Processes that write and read the same entries all the time: what a reader gets is whole. */
static void two_writers(void **state)
{
	struct iso_cache c;
	int bad = 0;

	(void)state;
	assert_int_equal(iso_cache_open(&c, "two"), ISO_OK);
	for (int w = 0; w < 2; w++)
		if (fork() == 0) {
			for (int i = 0; i < 40; i++) {
				keep(&c, i % 2);
				kept(&c, (i + 1) % 2);
			}
			_exit(0); /* assertions of cmocka leave by another way */
		}
	for (int w = 0; w < 2; w++) {
		int how = 1;

		wait(&how);
		bad += !WIFEXITED(how) || WEXITSTATUS(how) != 0;
	}
	assert_int_equal(bad, 0);
	assert_true(kept(&c, 0) && kept(&c, 1));
	assert_int_equal(chdir("two"), 0);
	int left = files(false);

	assert_int_equal(chdir(".."), 0);
	assert_int_equal(left, 2); /* no temporary file, no lock */
}

static void from_environment(void **state)
{
	static const struct {
		const char *folder, *own, *xdg, *home, *want;
		bool named;
	} of[] = {
		{ NULL, NULL, NULL, "/h", "/h/.cache/isotome", false },
		{ NULL, NULL, "/x", "/h", "/x/isotome", false },
		{ NULL, NULL, "x", "/h", "/h/.cache/isotome", false }, /* XDG: absolute or ignored */
		{ NULL, "/o", "/x", "/h", "/o", true },
		{ NULL, "none", "/x", "/h", "", true },
		{ NULL, "", "/x", "/h", "", true },
		{ "f", "none", "/x", "/h", "f", true },
		{ "none", "/o", "/x", "/h", "", true },
		{ NULL, NULL, NULL, NULL, "", false },
		{ NULL, NULL, NULL, "", "", false },
	};
	const char *home = getenv("HOME");
	char *before = home ? strdup(home) : NULL;
	struct iso_cache c;

	(void)state;
	for (int i = 0; i < COUNT(of); i++) {
		const char *const name[] = { "ISOTOME_CACHE", "XDG_CACHE_HOME", "HOME" };
		const char *const text[] = { of[i].own, of[i].xdg, of[i].home };

		for (int k = 0; k < 3; k++) text[k] ? setenv(name[k], text[k], 1) : unsetenv(name[k]);
		assert_int_equal(iso_cache_open(&c, of[i].folder), ISO_OK);
		assert_string_equal(c.folder, of[i].want);
		assert_int_equal(c.named, of[i].named);
	}
	if (before) setenv("HOME", before, 1);
	free(before);
}

static void limits_of_environment(void **state)
{
	struct iso_cache c;

	(void)state;
	assert_int_equal(iso_cache_open(&c, "f"), ISO_OK);
	assert_int_equal(c.most_bytes, 2000000000);
	assert_near(c.least_s, .5, 0);
	setenv("ISOTOME_CACHE_MB", "1.5", 1);
	setenv("ISOTOME_CACHE_SECONDS", "0", 1);
	assert_int_equal(iso_cache_open(&c, "f"), ISO_OK);
	assert_int_equal(c.most_bytes, 1500000);
	assert_near(c.least_s, 0, 0);
	setenv("ISOTOME_CACHE_MB", "2 GB", 1);
	assert_int_equal(iso_cache_open(&c, "f"), ISO_EARG);
	assert_message("ISOTOME_CACHE_MB is '2 GB', expected a number from 0 up");
}

/* A folder that can't be made is told; no cache, and a thread that may not write, are no failure. */
static void not_kept(void **state)
{
	struct iso_cache c;
	char key[ISO_CACHE_KEY];
	bool was;

	(void)state;
	key_of(key, 1);
	put_text("file", "no folder");
	assert_int_equal(iso_cache_open(&c, "file/here"), ISO_OK);
	assert_int_equal(iso_cache_put(&c, key, "abc", 3, 0), ISO_EIO);
	assert_message("file/here: can't make the folder");
	assert_int_equal(iso_cache_open(&c, "none"), ISO_OK);
	keep(&c, 1);
	assert_false(kept(&c, 1));
	c = open_here();
	was = iso_out_mute(true);
	keep(&c, 1);
	iso_out_mute(was);
	assert_false(kept(&c, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(found_again, setup),
		cmocka_unit_test_setup(damaged, setup),
		cmocka_unit_test_setup(of_another_key, setup),
		cmocka_unit_test_setup(bounded, setup),
		cmocka_unit_test_setup(two_writers, setup),
		cmocka_unit_test_setup(from_environment, setup),
		cmocka_unit_test_setup(limits_of_environment, setup),
		cmocka_unit_test_setup(not_kept, setup),
	};

	if (!mkdtemp(folder) || chdir(folder)) return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	if (chdir("/")) return 1;
	char remove_all[64];

	snprintf(remove_all, sizeof remove_all, "rm -rf %s", folder);
	return system(remove_all) || failed;
}
