/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a ROOT file, its top directory, and the objects that its keys name. */
#include "root_file.h"
#include "core/size.h"
#include "core/status.h"
#include "file/in.h"

enum {
	HEAD_MOST = 64,       /* bytes of a file's and of a directory's head, at most */
	KEY_LEAST = 26,       /* bytes of a key with empty texts */
	KEY_MOST = 1 << 16,   /* of any key: its length is of 16 bits */
	LARGE_FILE = 1000000, /* version from which on places of a file have 8 bytes, */
	LARGE_KEY = 1000,     /* and above which those of a key or a directory have */
};

/* Up to n bytes of the file from `at` on; b->n: how many came. */
static int read_some(struct root_bytes *b, uint8_t *buffer, int64_t n, const struct root_file *f, int64_t at)
{
	int64_t got = at < 0 || at >= f->size ? 0 : iso_read_at(f->fd, buffer, n, at);

	*b = (struct root_bytes){ .p = buffer, .n = got };
	return got < 0 ? iso_fail_errno(f->path, "read") : ISO_OK;
}

int root_key_parse(struct root_key *k, const struct root_file *f, struct root_bytes *b, int64_t at)
{
	char title[ROOT_NAME];
	int64_t start = b->at, all = root_int32(b);

	*k = (struct root_key){ .at = at };
	k->version = root_int16(b);
	k->bytes = root_int32(b);
	root_skip(b, 4);
	k->head = root_int16(b);
	k->cycle = root_int16(b);
	root_place(b, k->version > LARGE_KEY);
	root_place(b, k->version > LARGE_KEY);
	root_text(b, k->class);
	root_text(b, k->name);
	root_text(b, title);
	k->packed = all - k->head;
	if (b->bad || k->head < KEY_LEAST || k->head < b->at - start || k->packed < 0 ||
	    k->bytes < k->packed || at < 0 || at > f->size)
		return iso_refuse(f->path,
		                  "what stands at byte %" PRId64 " is no key of a ROOT file: a damaged file",
		                  at);
	return ISO_OK;
}

int root_object_read(uint8_t **object, const struct root_file *f, const struct root_key *k, const char *what,
                     uint8_t *buffer, int64_t size)
{
	bool packed = k->packed < k->bytes, own = packed && k->packed > size;
	uint8_t *plain, *stored;
	struct root_bytes b;
	int st = ISO_OK;

	if (k->at > f->size - k->head - k->packed)
		return iso_refuse(
			f->path, "%s needs %" PRId64 " bytes from byte %" PRId64 " on, the file has %" PRId64,
			what, k->head + k->packed, k->at, f->size);
	plain = malloc((size_t)k->bytes + 1);
	stored = !packed ? plain : own ? malloc((size_t)k->packed) : buffer;
	if (!plain || !stored)
		st = iso_fail_memory(f->path, k->bytes + k->packed);
	else if (!(st = read_some(&b, stored, k->packed, f, k->at + k->head)) && b.n < k->packed)
		st = iso_refuse(f->path, "ends in the middle of %s", what);
	if (!st && packed) st = root_unpack(plain, k->bytes, stored, k->packed, f->path);
	if (own) free(stored);
	if (st)
		free(plain);
	else
		*object = plain;
	return st;
}

int root_index_read(uint8_t **object, const struct root_file *f, const struct root_key *k, const char *what)
{
	enum { RATIO = 1024 };

	if (k->bytes / RATIO > k->packed)
		return iso_refuse(f->path, "%s has %" PRId64 " bytes packed in %" PRId64 ": a damaged file",
		                  what, k->bytes, k->packed);
	return root_object_read(object, f, k, what, NULL, 0);
}

/* Where the list of keys of the top directory stands. */
static int find_directory(int64_t *seek, const struct root_file *f)
{
	uint8_t buffer[HEAD_MOST];
	struct root_bytes b;
	int st = read_some(&b, buffer, sizeof buffer, f, 0);

	if (st) return st;
	if (root_number(&b, 4) != 0x726f6f74)
		return iso_refuse(f->path, "not a ROOT file: it does not begin with 'root'");
	bool large = root_int32(&b) >= LARGE_FILE;
	int64_t begin = root_int32(&b);

	root_place(&b, large); /* end */
	root_place(&b, large); /* free segments, */
	root_skip(&b, 4 + 4);  /* bytes and number of them */
	int64_t name = root_int32(&b);

	if (b.bad || begin < 0 || name < 0)
		return iso_refuse(f->path, "ends in its head, or is damaged there");
	if ((st = read_some(&b, buffer, sizeof buffer, f, begin + name))) return st;
	large = root_int16(&b) > LARGE_KEY;
	root_skip(&b, 4 + 4 + 4 + 4); /* dates, bytes of keys, of the name */
	root_place(&b, large);
	root_place(&b, large);
	*seek = root_place(&b, large);
	return b.bad || *seek <= 0 || *seek >= f->size
	               ? iso_refuse(f->path, "its directory is not in the file: a file that was not closed, "
	                                     "or a damaged one")
	               : ISO_OK;
}

/* The key at `at`, without its object. */
static int key_at(struct root_key *k, const struct root_file *f, int64_t at)
{
	uint8_t *buffer = malloc(KEY_MOST);
	struct root_bytes b;
	int st = buffer ? read_some(&b, buffer, KEY_MOST, f, at) : iso_fail_memory(f->path, KEY_MOST);

	if (!st) st = root_key_parse(k, f, &b, at);
	free(buffer);
	return st;
}

static int parse_keys(struct root_key **keys, int64_t *n, const struct root_file *f, struct root_bytes *b)
{
	int64_t count = root_int32(b);
	int st = ISO_OK;

	if (b->bad || count < 0 || count > (b->n - b->at) / KEY_LEAST)
		return iso_refuse(f->path, "its directory claims %" PRId64 " keys, in %" PRId64 " bytes",
		                  count, b->n);
	struct root_key *list = size_alloc(count, sizeof *list);

	if (!list) return iso_fail_memory(f->path, count * (int64_t)sizeof *list);
	for (int64_t i = 0; i < count && !st; i++) {
		struct root_bytes seek = *b; /* the key itself says where it stands */
		int64_t start = b->at;

		root_skip(&seek, 4);
		bool large = root_int16(&seek) > LARGE_KEY;

		root_skip(&seek, 4 + 4 + 2 + 2);
		st = root_key_parse(&list[i], f, b, root_place(&seek, large));
		if (!st) root_goto(b, start + list[i].head);
	}
	if (st)
		free(list);
	else
		*keys = list, *n = count;
	return st;
}

int root_keys(struct root_key **keys, int64_t *n, const struct root_file *f)
{
	uint8_t *object = NULL;
	struct root_key list;
	int64_t seek = 0;
	int st = find_directory(&seek, f);

	if (st || (st = key_at(&list, f, seek)) || (st = root_index_read(&object, f, &list, "its directory")))
		return st;
	struct root_bytes b = { .p = object, .n = list.bytes };

	st = parse_keys(keys, n, f, &b);
	free(object);
	return st;
}
