/* SPDX-License-Identifier: BSD-3-Clause */
/* The inputs of a run in its record, and the key that is made of them. */
#include "record.h"

#include "text/json_file.h"
#include "file/out.h"
#include "file/suffix.h"
#include "io/kinds.h"
#include "io/volume.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <xxhash.h>

static int no_memory(void)
{
	return iso_fail(ISO_ENOMEM, "no memory for the record of the run");
}

int record_json(json_t **root, const char *path)
{
	int st = iso_json_read(root, path);

	return st == ISO_ENOMEM ? st : ISO_OK;
}

/* NULL where it was not made. */
static json_t *hash_json(const struct iso_hash *h)
{
	char hex[17];

	snprintf(hex, sizeof hex, "%016" PRIx64, h->value);
	return h->path[0] ? json_string(hex) : NULL;
}

/* The input of this name in the list of a record; NULL: none. */
static const json_t *find_input(const json_t *record, const json_t *name)
{
	const json_t *input;
	size_t i;

	json_array_foreach (json_object_get(record, "inputs"), i, input)
		if (json_equal(json_object_get(input, "name"), name)) return input;
	return NULL;
}

/* Of a run that repeats another: a file of the same name that is not what it was. Told once; of the hashes that both
   records have the first decides. An array in place of a file was given for this run. */
static void compare_input(struct record *r, const json_t *now)
{
	static const char *const hashes[] = { "xxh64", "xxh64_of_sample" };
	const json_t *name = json_object_get(now, "name"), *then = find_input(r->read.like, name);
	json_int_t bytes = json_integer_value(json_object_get(now, "bytes"));
	json_int_t before = json_integer_value(json_object_get(then, "bytes"));

	if (!then || find_input(r->root, name) || record_given(r, json_string_value(name))->path[0]) return;
	if (bytes != before) {
		record_warn(r,
		            "%s: has %" JSON_INTEGER_FORMAT " bytes, and had %" JSON_INTEGER_FORMAT
		            " when %s was written: its run is not repeated",
		            json_string_value(name), bytes, before, r->read.like_path);
		return;
	}
	for (int k = 0; k < 2; k++) {
		const char *a = json_string_value(json_object_get(now, hashes[k]));
		const char *b = json_string_value(json_object_get(then, hashes[k]));

		if (a && b && strcmp(a, b) != 0)
			record_warn(r,
			            "%s: has another content (xxh64 %s) than when %s was written (%s): its "
			            "run is not repeated",
			            json_string_value(name), a, r->read.like_path, b);
		if (a && b) return;
	}
}

static int append_input(struct record *r, const char *path, int64_t bytes, const struct iso_hash *whole,
                        const struct iso_hash *sample)
{
	json_t *input =
		json_pack("{s:o*, s:I, s:o*, s:o*}", "name", record_string(path), "bytes", (json_int_t)bytes,
	                  "xxh64", hash_json(whole), "xxh64_of_sample", hash_json(sample));

	if (input && (whole->path[0] || sample->path[0]))
		compare_input(r, input); /* not of ranks but the first */
	return json_array_append_new(json_object_get(r->root, "inputs"), input) ? no_memory() : ISO_OK;
}

enum { PIECE = 1 << 24 }; /* bytes hashed between two looks at the request to stop */

static int hash_array(XXH64_state_t *state, const struct record *r, const char *path, struct record_array a)
{
	int st = ISO_OK;

	for (int64_t i = 0; i < a.bytes && !st && !(st = iso_stop_check(r->read.ctx, path)); i += PIECE)
		XXH64_update(state, (const char *)a.v + i,
		             (size_t)(a.bytes - i < PIECE ? a.bytes - i : PIECE));
	return st;
}

int record_arrays(struct record *r, const char *path, int n, const struct record_array *a)
{
	XXH64_state_t *state = XXH64_createState();
	struct iso_hash whole = { .path = "-" }, none = { 0 };
	int st = state ? ISO_OK : no_memory();
	int64_t bytes = 0;

	if (!st) XXH64_reset(state, 0);
	for (int k = 0; k < n && !st; k++) {
		st = hash_array(state, r, path, a[k]);
		bytes += a[k].bytes;
	}
	if (!st) {
		whole.value = XXH64_digest(state);
		st = append_input(r, path, bytes, &whole, &none);
	}
	XXH64_freeState(state);
	return st;
}

int record_piped(struct record *r, const char *path, const void *v, int64_t bytes)
{
	return record_arrays(r, path, 1, &(struct record_array){ v, bytes });
}

/* The sample is what the key of a run is of: the same for one rank as for several, which read no file whole for a
   hash. Records are written, and keys made, by rank 0. */
static int add_input(struct record *r, const char *name)
{
	char file[PATH_MAX];
	const char *path = iso_without_variable(file, name); /* the input, whichever variable is read */
	struct iso_hash whole = { 0 }, sample = { 0 };
	int st = r->read.names ? iso_names_check_input(r->read.names, path) : ISO_OK;
	bool known = !st && record_hash_known(r, &whole, path) && !whole.sampled;

	if (!st && r->read.ctx && iso_rank(r->read.ctx) > 0)
		return append_input(r, path, 0, &sample, &sample);
	if (!st) st = iso_hash_sample(&sample, path, r->read.ctx);
	if (!st && !known && !(r->read.ctx && iso_ranks(r->read.ctx) > 1))
		st = iso_hash_file(&whole, path, r->read.ctx);
	if (whole.sampled) whole.path[0] = '\0'; /* above 1 GiB: the same sample */
	return st ? st : append_input(r, path, sample.bytes, &whole, &sample);
}

/* Of all files of the DICOM series in a folder. */
static int bytes_of_series(int64_t *bytes, const char *folder)
{
	struct iso_dicom_about about = { 0 };
	struct stat info;
	int st = iso_dicom_about(&about, folder);

	*bytes = 0;
	for (int64_t k = 0; k < about.n_files && !st; k++) {
		if (stat(about.file[k], &info) != 0)
			st = iso_fail(ISO_EINPUT, "%s: %s", about.file[k], strerror(errno));
		else
			*bytes += info.st_size;
	}
	iso_dicom_about_free(&about);
	return st;
}

int record_bytes_of(int64_t *bytes, const char *path)
{
	char data[PATH_MAX];
	struct stat info;
	int st = iso_kind_data(data, path);
	char file[PATH_MAX];

	path = iso_without_variable(file, path);
	if (st) return st;
	if (stat(*data ? data : path, &info) != 0)
		return iso_fail(ISO_EINPUT, "%s: %s", *data ? data : path, strerror(errno));
	if (S_ISDIR(info.st_mode)) return bytes_of_series(bytes, path);
	*bytes = info.st_size;
	return ISO_OK;
}

int record_input_file(struct record *r, const char *path)
{
	return add_input(r, path);
}

/* All files of a DICOM series. */
static int add_series(struct record *r, const char *path)
{
	struct iso_dicom_about about = { 0 };
	int st = iso_dicom_about(&about, path);

	for (int64_t k = 0; k < about.n_files && !st; k++) st = add_input(r, about.file[k]);
	iso_dicom_about_free(&about);
	return st;
}

int record_input(struct record *r, const char *path)
{
	const struct iso_array *given = &record_given(r, path)->array;
	char partner[PATH_MAX], scanner[PATH_MAX];
	int st;

	if (given->v) return record_piped(r, path, given->v, given->n * (int64_t)sizeof *given->v);
	if (iso_is_dicom(path)) return add_series(r, path);
	if ((st = add_input(r, path)) || (st = iso_kind_partners(partner, scanner, path))) return st;
	if (*partner) st = add_input(r, partner);
	return !st && *scanner ? record_input(r, scanner) : st;
}

/* ---- the key ---- */

int record_add_key(struct record *r, uint64_t key)
{
	json_t *keys = json_object_get(r->root, RECORD_KEYS), *value;
	char hex[17];
	size_t i;
	int st;

	if (!keys && (st = record_set(r, RECORD_KEYS, keys = json_array()))) return st;
	snprintf(hex, sizeof hex, "%016" PRIx64, key);
	json_array_foreach (keys, i, value)
		if (strcmp(json_string_value(value), hex) == 0) return ISO_OK;
	return json_array_append_new(keys, json_string(hex)) ? no_memory() : ISO_OK;
}

/* Contents of the inputs, whatever their names, then the parameters by name. */
static json_t *key_parts(const struct record *r, const char *const *without)
{
	json_t *parameters = json_copy(json_object_get(r->root, "parameters"));
	json_t *hashes = json_array(), *input, *value;
	const char *key;
	void *next;
	size_t i;

	for (; without && *without; without++) json_object_del(parameters, *without);
	json_array_foreach (json_object_get(r->root, "inputs"), i, input) {
		json_t *sample = json_object_get(input, "xxh64_of_sample");

		json_array_append(hashes, sample ? sample : json_object_get(input, "xxh64"));
		json_object_foreach_safe(parameters, next, key, value)
		{
			if (json_equal(value, json_object_get(input, "name")))
				json_object_del(parameters, key);
		}
	}
	return json_pack("[o, o]", hashes, parameters);
}

int record_key(const struct record *r, uint64_t *key, const char *const *without)
{
	json_t *parts = key_parts(r, without);
	char *text = iso_json_text(parts, JSON_COMPACT | JSON_SORT_KEYS);
	/* without one of its parts it would be the key of another run */
	int st = text && iso_json_failures() == r->failures ? ISO_OK : no_memory();

	if (!st) *key = XXH64(text, strlen(text), 0);
	free(text);
	json_decref(parts);
	return st;
}
