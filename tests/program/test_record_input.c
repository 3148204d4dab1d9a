/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs of a record: a file has the hash of all its bytes and that of a sample, one above 1 GiB that of a sample
   alone, which must tell apart files that differ at the front, in the middle, at the end or in size. */
#include "files.h"
#include "problem/record/record.h"
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

enum { MIB5 = 5 << 20 }; /* bytes: more than lie between two pieces of a sample of 64 MiB in 1024 pieces */

/* A file of `size` bytes, all 0 but for n_ones bytes at `at`. */
static void make(const char *path, int64_t size, int n_ones, int64_t at)
{
	static unsigned char ones[MIB5];
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0666);

	memset(ones, 1, sizeof ones);
	assert_true(fd >= 0 && ftruncate(fd, size) == 0);
	assert_int_equal(pwrite(fd, ones, (size_t)n_ones, at), n_ones);
	close(fd);
}

/* The hash under which `path` is recorded, and the key of a run that reads that file alone. */
static void hash_of(char hex[17], uint64_t *key, const char *path, const char *kind, int64_t size)
{
	struct record r;

	OK(record_begin(&r, "view", NULL));
	OK(record_input(&r, path));
	const json_t *input = json_array_get(json_object_get(r.root, "inputs"), 0);
	const char *hash = json_string_value(json_object_get(input, kind));

	assert_int_equal(json_integer_value(json_object_get(input, "bytes")), size);
	if (!hash) fail_msg("%s has no %s", path, kind);
	snprintf(hex, 17, "%s", hash);
	OK(record_key(&r, key, NULL));
	record_free(&r);
}

static void small(void **state)
{
	char hex[17];
	uint64_t key;

	(void)state;
	make("a", 3, 0, 0);
	hash_of(hex, &key, "a", "xxh64", 3);
	assert_string_equal(hex, "31886f2e7daf8ca4"); /* three zeros, by xxhsum -H64 */
}

/* Both hashes; the key goes by the sample: 1024 pieces of 256 bytes, 8 KiB apart. */
static void between(void **state)
{
	const int64_t size = 8 << 20;
	char whole[3][17], sample[3][17];
	uint64_t key[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		make("a", size, (const int[]){ 0, 1, 9000 }[i], (const int[]){ 0, 4000, 160000 }[i]);
		hash_of(whole[i], &key[i], "a", "xxh64", size);
		hash_of(sample[i], &key[i], "a", "xxh64_of_sample", size);
	}
	assert_string_not_equal(whole[0], whole[1]);
	assert_string_equal(sample[0], sample[1]);
	assert_true(key[0] == key[1]);
	assert_string_not_equal(sample[0], sample[2]);
	assert_true(key[0] != key[2]);
}

static void large(void **state)
{
	const int64_t size = ((int64_t)1 << 30) + 1000000;
	const struct {
		int64_t size, at;
		int ones;
	} file[] = { { size, 0, 0 },
		     { size, 0, 1 },
		     { size, size / 2, MIB5 },
		     { size, size - 2000, 2000 },
		     { size + 1, 0, 0 } };
	char hex[N_OF(file)][17];
	uint64_t key[N_OF(file)];

	(void)state;
	for (int i = 0; i < N_OF(file); i++) {
		make("a", file[i].size, file[i].ones, file[i].at);
		hash_of(hex[i], &key[i], "a", "xxh64_of_sample", file[i].size);
		for (int j = 0; j < i; j++)
			if (strcmp(hex[i], hex[j]) == 0 || key[i] == key[j])
				fail_msg("files %d and %d have one hash, or one key", j, i);
	}
	make("b", size, 0, 0);
	char again[17];
	uint64_t its_key;

	hash_of(again, &its_key, "b", "xxh64_of_sample", size);
	assert_string_equal(again, hex[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(small), cmocka_unit_test(between),
		                            cmocka_unit_test(large) };

	return cmocka_run_group_tests(tests, enter, leave);
}
