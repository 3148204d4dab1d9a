/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing and reading checkpoints. */
#include "checkpoint.h"
#include "text/json_file.h"
#include "file/out.h"
#include "file/in.h"
#include "core/size.h"
#include "core/status.h"

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

static json_t *header_of(uint64_t key, int n, const struct iso_item *item)
{
	char hex[24];
	json_t *list = json_array();
	bool bad = false;

	for (int i = 0; i < n; i++)
		bad |= json_array_append_new(list,
		                             json_pack("{s:s, s:s, s:I, s:I}", "name", item[i].name, "type",
		                                       type_name[item[i].type], "n", (json_int_t)item[i].n,
		                                       "bytes", (json_int_t)item_size(item[i].type))) != 0;
	snprintf(hex, sizeof hex, "%016" PRIx64, key);
	json_t *root = json_pack("{s:s, s:s, s:o}", "isotome", iso_version(), "key", hex, "items", list);

	if (!bad) return root;
	json_decref(root);
	return NULL;
}

/* Writes and hashes in one go. */
static int put(struct iso_out *o, XXH64_state_t *hash, const void *data, int64_t bytes)
{
	XXH64_update(hash, data, (size_t)bytes);
	return iso_out_write(o, data, bytes);
}

int iso_checkpoint_write(const char *path, uint64_t key, int n, const struct iso_item *item)
{
	struct preamble p = { .version = VERSION };
	struct iso_out o = { .fd = -1 };
	XXH64_state_t *hash = XXH64_createState();
	json_t *root = header_of(key, n, item);
	char *header = root ? iso_json_text(root, JSON_COMPACT) : NULL;
	uint64_t sum;
	int st = hash && header ? iso_out_open(&o, path, data_bytes(n, item), false)
	                        : iso_fail_memory("checkpoint", MAX_HEADER);

	if (st) goto done;
	XXH64_reset(hash, 0);
	memcpy(p.magic, MAGIC, sizeof p.magic);
	p.header = (uint32_t)strlen(header);
	if ((st = put(&o, hash, &p, sizeof p)) || (st = put(&o, hash, header, p.header))) goto done;
	for (int i = 0; i < n && !st; i++) st = put(&o, hash, item[i].v, item[i].n * item_size(item[i].type));
	sum = XXH64_digest(hash);
	if (!st && !(st = iso_out_write(&o, &sum, sizeof sum)) && !(st = iso_out_close(&o)))
		st = iso_out_commit(&o);
done:
	iso_out_free(&o);
	XXH64_freeState(hash);
	json_decref(root);
	free(header);
	return st;
}

/* A checkpoint that is read: what was taken of it is in the hash. */
struct source {
	const char *path;
	FILE *f;
	int64_t size; /* bytes of the file */
	XXH64_state_t *hash;
};

static int take(const struct source *s, void *data, int64_t bytes)
{
	if (fread(data, 1, (size_t)bytes, s->f) != (size_t)bytes)
		return iso_fail(ISO_EINPUT, "%s: ends within a checkpoint", s->path);
	XXH64_update(s->hash, data, (size_t)bytes);
	return ISO_OK;
}

/* Says which of the two differs: the run, or the shape of its state. */
static int compare_headers(const char *path, const json_t *want, const char *text)
{
	json_t *found = NULL;
	int st = iso_json_parse(&found, path, text, strlen(text));
	const char *key = json_string_value(json_object_get(found, "key"));
	const char *ours = json_string_value(json_object_get(want, "key"));

	if (st != ISO_ENOMEM && !key)
		st = iso_fail(ISO_EINPUT, "%s: damaged checkpoint header", path);
	else if (!st && strcmp(key, ours))
		st = iso_fail(ISO_EINPUT, "%s: checkpoint of other inputs or options (key %s, this run's %s)",
		              path, key, ours);
	else if (!st && !json_equal(json_object_get(found, "items"), json_object_get(want, "items")))
		st = iso_fail(ISO_EINPUT, "%s: checkpoint holds other vectors than this run's", path);
	json_decref(found);
	return st;
}

/* The header's text, to be freed. */
static int take_header(char **header, const struct source *s)
{
	struct preamble p;
	int st = take(s, &p, sizeof p);

	if (st) return st;
	if (memcmp(p.magic, MAGIC, sizeof p.magic))
		return iso_fail(ISO_EINPUT, "%s: not a checkpoint", s->path);
	if (p.version != VERSION)
		return iso_fail(ISO_EINPUT, "%s: checkpoint version %" PRIu32 ", this program reads %d",
		                s->path, p.version, VERSION);
	if (p.header > MAX_HEADER || p.header > s->size)
		return iso_fail(ISO_EINPUT,
		                "%s: checkpoint header of %" PRIu32 " bytes in a file of %" PRId64
		                " (at most %d)",
		                s->path, p.header, s->size, MAX_HEADER);
	if (!(*header = size_alloc(p.header + 1, 1))) return iso_fail_memory("checkpoint", p.header);
	return take(s, *header, p.header);
}

/* The items, or, without a wanted header, whatever there is; and the hash at the end against that of all
   before it. */
static int take_rest(const struct source *s, const json_t *want, int n, const struct iso_item *item)
{
	char block[1 << 14];
	int64_t most = sizeof block, at = ftell(s->f), left = s->size - at - (int64_t)sizeof(uint64_t);
	uint64_t sum, hash;
	int st = ISO_OK;

	if (want && left != data_bytes(n, item))
		return iso_fail(ISO_EINPUT, "%s: checkpoint is %" PRId64 " bytes, must be %" PRId64, s->path,
		                s->size, s->size - left + data_bytes(n, item));
	for (int i = 0; i < n && !st; i++) st = take(s, item[i].v, item[i].n * item_size(item[i].type));
	for (; !want && left > 0 && !st; left -= most) st = take(s, block, left < most ? left : most);
	hash = XXH64_digest(s->hash);
	if (!st) st = take(s, &sum, sizeof sum);
	if (!st && sum != hash)
		st = iso_fail(ISO_EINPUT, "%s: checkpoint is damaged (hash differs)", s->path);
	return st;
}

/* The header, to be freed also after a failure; and the items, if their header is the one wanted. */
static int read_all(char **header, const char *path, const json_t *want, int n, const struct iso_item *item)
{
	struct source s = { .path = path, .hash = XXH64_createState() };
	int st = iso_regular_fopen(&s.f, &s.size, path);

	if (!st && !s.hash) st = iso_fail_memory("checkpoint", MAX_HEADER);
	if (!st) XXH64_reset(s.hash, 0);
	if (!st) st = take_header(header, &s);
	if (!st && want) st = compare_headers(path, want, *header);
	if (!st) st = take_rest(&s, want, n, item);
	if (s.f) fclose(s.f);
	XXH64_freeState(s.hash);
	return st;
}

int iso_checkpoint_read(const char *path, uint64_t key, int n, const struct iso_item *item)
{
	json_t *want = header_of(key, n, item);
	char *found = NULL;
	int st = want ? read_all(&found, path, want, n, item) : iso_fail_memory("checkpoint", MAX_HEADER);

	json_decref(want);
	free(found);
	return st;
}

int iso_checkpoint_info(char **header, const char *path)
{
	char *found = NULL;
	int st = read_all(&found, path, NULL, 0, NULL);

	if (st)
		free(found);
	else
		*header = found;
	return st;
}
