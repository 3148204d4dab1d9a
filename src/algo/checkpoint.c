/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing and reading checkpoints. */
#include "checkpoint.h"
#include "text/json_file.h"
#include "file/out.h"
#include "file/in.h"
#include "core/size.h"
#include "core/status.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define MAGIC "ISOTOMEC"
#define VERSION 1
#define MAX_HEADER (1 << 20)

struct preamble {
	char magic[8];
	uint32_t version, header; /* bytes of the JSON that follows */
};

static const char *const type_name[] = { "real", "double", "int64" };

static int64_t item_size(enum iso_item_type t)
{
	return t == ISO_ITEM_REAL ? (int64_t)sizeof(iso_real) : 8;
}

static int64_t data_bytes(int n, const struct iso_item *item)
{
	int64_t bytes = 0;

	for (int i = 0; i < n; i++) bytes += item[i].n * item_size(item[i].type);
	return bytes;
}

/* The header as text: equal text means equal key, names, types, and lengths. */
static char *header_text(uint64_t key, int n, const struct iso_item *item)
{
	char hex[24];
	json_t *list = json_array(), *root;
	int bad = 0;

	for (int i = 0; i < n; i++)
		bad |= json_array_append_new(list,
		                             json_pack("{s:s, s:s, s:I, s:I}", "name", item[i].name, "type",
		                                       type_name[item[i].type], "n", (json_int_t)item[i].n,
		                                       "bytes", (json_int_t)item_size(item[i].type)));
	snprintf(hex, sizeof hex, "%016" PRIx64, key);
	root = json_pack("{s:s, s:s, s:o}", "isotome", iso_version(), "key", hex, "items", list);
	char *text = root && !bad ? iso_json_text(root, JSON_COMPACT) : NULL;

	json_decref(root);
	return text;
}

/* Writes and hashes in one go. */
static int put(struct iso_out *o, XXH64_state_t *hash, const void *data, int64_t bytes)
{
	XXH64_update(hash, data, (size_t)bytes);
	return iso_out_write(o, data, bytes);
}

static int put_all(struct iso_out *o, XXH64_state_t *hash, const char *header, int n,
                   const struct iso_item *item)
{
	struct preamble p = { .version = VERSION, .header = (uint32_t)strlen(header) };
	int st;

	memcpy(p.magic, MAGIC, sizeof p.magic);
	if ((st = put(o, hash, &p, sizeof p)) || (st = put(o, hash, header, p.header))) return st;
	for (int i = 0; i < n && !st; i++) st = put(o, hash, item[i].v, item[i].n * item_size(item[i].type));
	uint64_t sum = XXH64_digest(hash);

	return st ? st : iso_out_write(o, &sum, sizeof sum);
}

int iso_checkpoint_write(const char *path, uint64_t key, int n, const struct iso_item *item)
{
	struct iso_out o = { .fd = -1 };
	XXH64_state_t *hash = XXH64_createState();
	char *header = header_text(key, n, item);
	int st;

	if (!hash || !header) {
		st = iso_fail_memory("checkpoint", MAX_HEADER);
		goto done;
	}
	XXH64_reset(hash, 0);
	if ((st = iso_out_open(&o, path, data_bytes(n, item), false))) goto done;
	if ((st = put_all(&o, hash, header, n, item))) goto done;
	if ((st = iso_out_close(&o))) goto done;
	st = iso_out_commit(&o);
done:
	iso_out_free(&o);
	XXH64_freeState(hash);
	free(header);
	return st;
}

static int take(FILE *f, const char *path, XXH64_state_t *hash, void *data, int64_t bytes)
{
	if (fread(data, 1, (size_t)bytes, f) != (size_t)bytes)
		return iso_fail(ISO_EINPUT, "%s: ends within a checkpoint", path);
	if (hash) XXH64_update(hash, data, (size_t)bytes);
	return ISO_OK;
}

/* Says which of the two differs: the run, or the shape of its state. */
static int compare_headers(const char *path, const char *found, const char *want)
{
	json_t *a = NULL, *b = NULL;
	int st = iso_json_parse(&a, path, found, strlen(found));

	if (!st) st = iso_json_parse(&b, path, want, strlen(want));
	const char *ka = json_string_value(json_object_get(a, "key"));
	const char *kb = json_string_value(json_object_get(b, "key"));

	if (st == ISO_ENOMEM)
		;
	else if (!ka || !kb)
		st = iso_fail(ISO_EINPUT, "%s: damaged checkpoint header", path);
	else if (strcmp(ka, kb))
		st = iso_fail(ISO_EINPUT,
		              "%s: checkpoint of other inputs or options (its key is %s, "
		              "this run's %s)",
		              path, ka, kb);
	else if (!json_equal(json_object_get(a, "items"), json_object_get(b, "items")))
		st = iso_fail(ISO_EINPUT, "%s: checkpoint holds other vectors than this run's", path);
	json_decref(a);
	json_decref(b);
	return st;
}

/* The header's text, to be freed; `size` is the file's. */
static int take_header(char **header, FILE *f, const char *path, XXH64_state_t *hash, int64_t size)
{
	struct preamble p;
	int st = take(f, path, hash, &p, sizeof p);

	if (st) return st;
	if (memcmp(p.magic, MAGIC, sizeof p.magic)) return iso_fail(ISO_EINPUT, "%s: not a checkpoint", path);
	if (p.version != VERSION)
		return iso_fail(ISO_EINPUT, "%s: checkpoint version %" PRIu32 ", this program reads %d", path,
		                p.version, VERSION);
	if (p.header > MAX_HEADER || p.header > size)
		return iso_fail(ISO_EINPUT,
		                "%s: checkpoint header of %" PRIu32 " bytes in a file "
		                "of %" PRId64 " (at most %d)",
		                path, p.header, size, MAX_HEADER);
	if (!(*header = size_alloc(p.header + 1, 1))) return iso_fail_memory("checkpoint", p.header);
	return take(f, path, hash, *header, p.header);
}

/* The hash at the end against that of all before it. */
static int check_hash(FILE *f, const char *path, XXH64_state_t *hash)
{
	uint64_t sum = 0;
	int st = take(f, path, NULL, &sum, sizeof sum);

	if (!st && sum != XXH64_digest(hash))
		st = iso_fail(ISO_EINPUT, "%s: checkpoint is damaged (hash differs)", path);
	return st;
}

static int take_items(FILE *f, const char *path, XXH64_state_t *hash, int64_t size, int n,
                      const struct iso_item *item)
{
	int64_t want = ftell(f) + data_bytes(n, item) + 8;
	int st = ISO_OK;

	if (size != want)
		return iso_fail(ISO_EINPUT, "%s: checkpoint is %" PRId64 " bytes, must be %" PRId64, path,
		                size, want);
	for (int i = 0; i < n && !st; i++)
		st = take(f, path, hash, item[i].v, item[i].n * item_size(item[i].type));
	return st ? st : check_hash(f, path, hash);
}

int iso_checkpoint_read(const char *path, uint64_t key, int n, const struct iso_item *item)
{
	FILE *f = NULL;
	XXH64_state_t *hash = XXH64_createState();
	char *want = header_text(key, n, item), *found = NULL;
	int64_t size = 0;
	int st = iso_regular_fopen(&f, &size, path);

	if (!st && (!hash || !want)) st = iso_fail_memory("checkpoint", MAX_HEADER);
	if (st) goto done;
	XXH64_reset(hash, 0);
	if ((st = take_header(&found, f, path, hash, size))) goto done;
	if ((st = compare_headers(path, found, want))) goto done;
	st = take_items(f, path, hash, size, n, item);
done:
	if (f) fclose(f);
	XXH64_freeState(hash);
	free(want);
	free(found);
	return st;
}

/* All up to the hash, whatever it is. */
static int pass_over(FILE *f, const char *path, XXH64_state_t *hash, int64_t size)
{
	char block[1 << 14];
	int64_t left = size - ftell(f) - 8;
	int st = ISO_OK;

	for (; left > 0 && !st; left -= (int64_t)sizeof block)
		st = take(f, path, hash, block, left < (int64_t)sizeof block ? left : (int64_t)sizeof block);
	return st ? st : check_hash(f, path, hash);
}

int iso_checkpoint_info(char **header, const char *path)
{
	FILE *f = NULL;
	XXH64_state_t *hash = XXH64_createState();
	char *found = NULL;
	int64_t size = 0;
	int st = iso_regular_fopen(&f, &size, path);

	if (!st && !hash) st = iso_fail_memory("checkpoint", MAX_HEADER);
	if (st) goto done;
	XXH64_reset(hash, 0);
	if ((st = take_header(&found, f, path, hash, size))) goto done;
	if ((st = pass_over(f, path, hash, size))) goto done;
	*header = found;
	found = NULL;
done:
	if (f) fclose(f);
	XXH64_freeState(hash);
	free(found);
	return st;
}
