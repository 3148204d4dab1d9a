/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of a .npz file. A zip archive ends with the place of its directory; an entry of that says where a member begins,
   how it is packed and how long it is. Lengths of 4 GiB and more stand in an extra field of the entry (zip64). */
#include "npz.h"
#include "core/size.h"
#include "core/status.h"

#include <math.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
	END = 22,     /* bytes of the end, behind which a comment may stand, */
	LOCATOR = 20, /* of the place of the end of zip64 before it, */
	END64 = 56,   /* and of that end */
	ENTRY = 46,   /* of an entry, before its name */
	LOCAL = 30,   /* of what stands before a member, without names */
	COMMENT_MOST = 65535,
	DIRECTORY_MOST = 1 << 24,
	DEFLATE_MOST = 1032, /* bytes that one packed byte may become */
	PIECE = 1 << 20,
};

struct zip {
	const char *path;
	int fd;
	int64_t size;
};

struct member {
	int64_t at, packed, size; /* at: of its local header */
	bool deflated;
};

static uint64_t get(const uint8_t *p, int bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0) v = v << 8 | p[bytes];
	return v;
}

static bool is(const uint8_t *p, const char mark[4])
{
	return memcmp(p, mark, 4) == 0;
}

static int damaged(const struct zip *z)
{
	return iso_refuse(z->path, "not a whole .npz file, as NumPy's savez writes it");
}

static int read_at(const struct zip *z, void *to, int64_t bytes, int64_t at)
{
	if (at < 0 || bytes < 0 || at > z->size - bytes || iso_read_at(z->fd, to, bytes, at) != bytes)
		return damaged(z);
	return ISO_OK;
}

/* ---- the directory ---- */

/* Where it is, from the last end of the file that has its mark. */
static int find_directory(int64_t *at, int64_t *bytes, const struct zip *z)
{
	int64_t n = z->size < END + COMMENT_MOST ? z->size : END + COMMENT_MOST;
	uint8_t *tail = size_alloc(n, 1), end[END64];
	int64_t k = n - END;
	int st = tail ? read_at(z, tail, n, z->size - n) : iso_fail_memory(z->path, n);

	while (!st && k >= 0 && !is(tail + k, "PK\5\6")) k--;
	if (!st && k < 0) st = damaged(z);
	if (st) goto done;
	*bytes = (int64_t)get(tail + k + 12, 4);
	*at = (int64_t)get(tail + k + 16, 4);
	if (*at == UINT32_MAX || *bytes == UINT32_MAX) {
		if (!(st = read_at(z, end, LOCATOR, z->size - n + k - LOCATOR)))
			st = is(end, "PK\6\7") ? read_at(z, end, END64, (int64_t)get(end + 8, 8))
			                       : damaged(z);
		if (!st && !is(end, "PK\6\6")) st = damaged(z);
		*bytes = (int64_t)get(end + 40, 8);
		*at = (int64_t)get(end + 48, 8);
	}
	if (!st && (*bytes < 0 || *bytes > DIRECTORY_MOST)) st = damaged(z);
done:
	free(tail);
	return st;
}

/* Lengths that did not fit their four bytes, in this order. */
static void take_extra(struct member *m, const uint8_t *p, const uint8_t *end)
{
	int64_t *const wide[] = { &m->size, &m->packed, &m->at };

	for (; end - p >= 4; p += 4 + get(p + 2, 2)) {
		const uint8_t *v = p + 4, *stop = v + get(p + 2, 2);

		if (get(p, 2) != 1 || stop > end) continue;
		for (int i = 0; i < 3; i++)
			if (*wide[i] == UINT32_MAX && stop - v >= 8) {
				*wide[i] = (int64_t)get(v, 8);
				v += 8;
			}
	}
}

static int take_entry(struct member *m, const struct zip *z, const uint8_t *p, int64_t name, int64_t extra)
{
	int method = (int)get(p + 10, 2);

	*m = (struct member){ (int64_t)get(p + 42, 4), (int64_t)get(p + 20, 4), (int64_t)get(p + 24, 4),
		              method == 8 };
	take_extra(m, p + ENTRY + name, p + ENTRY + name + extra);
	if ((method != 0 && method != 8) || get(p + 8, 2) & 1)
		return iso_refuse(z->path, "a member is packed by method %d, or encrypted; known are 0 and 8",
		                  method);
	/* sizes are believed only as far as the file can hold them */
	if (m->packed < 0 || m->packed > z->size || m->size < 0 || (method == 0 && m->size != m->packed) ||
	    m->size / DEFLATE_MOST > m->packed)
		return damaged(z);
	return ISO_OK;
}

static int find_member(struct member *m, const struct zip *z, const char *name)
{
	int64_t at, bytes, length = (int64_t)strlen(name);
	int st = find_directory(&at, &bytes, z);

	if (st) return st;
	uint8_t *directory = size_alloc(bytes + 1, 1);

	if (!directory) return iso_fail_memory(z->path, bytes);
	st = read_at(z, directory, bytes, at);
	for (const uint8_t *p = directory, *end = p + bytes; !st;) {
		if (end - p < ENTRY || !is(p, "PK\1\2")) {
			st = iso_refuse(z->path, "holds no array %s", name);
			break;
		}
		int64_t n = (int64_t)get(p + 28, 2), extra = (int64_t)get(p + 30, 2);
		int64_t next = ENTRY + n + extra + (int64_t)get(p + 32, 2);

		if (end - p < next)
			st = damaged(z);
		else if (n == length + 4 && memcmp(p + ENTRY, name, (size_t)length) == 0 &&
		         memcmp(p + ENTRY + length, ".npy", 4) == 0) {
			st = take_entry(m, z, p, n, extra);
			break;
		}
		p += next;
	}
	free(directory);
	return st;
}

/* ---- a member ---- */

static int inflate_all(uint8_t *to, const struct zip *z, const struct member *m, int64_t from)
{
	z_stream s = { 0 };
	uint8_t *piece = size_alloc(PIECE, 1);
	int64_t done = 0, made = 0;
	int st = piece ? ISO_OK : iso_fail_memory(z->path, PIECE), end = Z_OK;

	if (!st && inflateInit2(&s, -MAX_WBITS) != Z_OK) st = iso_fail_memory(z->path, PIECE);
	while (!st && end == Z_OK && (done < m->packed || s.avail_in > 0)) {
		if (s.avail_in == 0) {
			int64_t n = m->packed - done < PIECE ? m->packed - done : PIECE;

			if ((st = read_at(z, piece, n, from + done))) break;
			s.next_in = piece;
			s.avail_in = (uInt)n;
			done += n;
		}
		int64_t room = m->size - made < PIECE ? m->size - made : PIECE;

		s.next_out = to + made;
		s.avail_out = (uInt)room;
		end = inflate(&s, Z_NO_FLUSH);
		made += room - s.avail_out;
		if (room == 0 && end == Z_OK) break;
	}
	if (!st && (end != Z_STREAM_END || made != m->size)) st = damaged(z);
	inflateEnd(&s);
	free(piece);
	return st;
}

static int read_member(uint8_t **bytes, const struct zip *z, const struct member *m)
{
	uint8_t local[LOCAL];
	int st = read_at(z, local, LOCAL, m->at);

	if (st) return st;
	if (!is(local, "PK\3\4")) return damaged(z);
	int64_t from = m->at + LOCAL + (int64_t)get(local + 26, 2) + (int64_t)get(local + 28, 2);

	if (from > z->size - m->packed) return damaged(z);
	if (!(*bytes = size_alloc(m->size + 1, 1))) return iso_fail_memory(z->path, m->size);
	st = m->deflated ? inflate_all(*bytes, z, m, from) : read_at(z, *bytes, m->size, from);
	if (st) free(*bytes);
	return st;
}

static int read_name(uint8_t **bytes, int64_t *n, const char *path, const char *name)
{
	struct zip z = { .path = path };
	struct member m = { 0 };
	int st = iso_regular_open(&z.fd, &z.size, path);

	if (st) return st;
	if (!(st = find_member(&m, &z, name))) st = read_member(bytes, &z, &m);
	close(z.fd);
	if (!st) *n = m.size;
	return st;
}

/* ---- arrays ---- */

int iso_npz_read(struct iso_npy *head, uint8_t **raw, const char *path, const char *name)
{
	uint8_t *bytes;
	int64_t n, at;
	int st = read_name(&bytes, &n, path, name);

	if (st) return st;
	if (!(st = iso_npy_parse(head, &at, bytes, n, path)) && head->bytes != n - at)
		st = iso_refuse(path, "array %s has %" PRId64 " bytes, its head says %" PRId64, name, n - at,
		                head->bytes);
	if (st) {
		free(bytes);
		return st;
	}
	memmove(bytes, bytes + at, (size_t)head->bytes);
	*raw = bytes;
	return ISO_OK;
}

/* Its preamble ends with a new line; NumPy pads words with zeros. */
int iso_npz_word(char word[16], const char *path, const char *name)
{
	uint8_t *bytes;
	int64_t n;
	int st = read_name(&bytes, &n, path, name);

	if (st) return st;
	const uint8_t *line = memchr(bytes, '\n', (size_t)n);
	int64_t left = line ? n - (line + 1 - bytes) : 0;

	if (left < 1 || left > 15)
		st = iso_refuse(path, "array %s is not a word", name);
	else
		snprintf(word, 16, "%.*s", (int)left, (const char *)line + 1);
	free(bytes);
	return st;
}

static int one_axis(struct iso_npy *head, uint8_t **raw, int64_t *n, const char *path, const char *name)
{
	int st = iso_npz_read(head, raw, path, name);

	if (st) return st;
	*n = head->dim[0];
	if (head->n_dim == 1) return ISO_OK;
	free(*raw);
	return iso_refuse(path, "array %s has %d axes, expected one", name, head->n_dim);
}

int iso_npz_reals(iso_real **v, int64_t *n, const char *path, const char *name)
{
	struct iso_npy head;
	uint8_t *raw;
	int st = one_axis(&head, &raw, n, path, name);

	if (st) return st;
	if (!(*v = size_alloc(*n, sizeof **v))) st = iso_fail_memory(path, *n * (int64_t)sizeof **v);
	for (int64_t i = 0; i < *n && !st; i++) {
		(*v)[i] = (iso_real)iso_element_get(raw + i * head.element.size, head.element);
		if (!isfinite((*v)[i]))
			st = iso_refuse(path, "array %s: value %" PRId64 " is not finite", name, i);
	}
	free(raw);
	if (st) {
		free(*v);
		*v = NULL;
	}
	return st;
}

int iso_npz_integers(int64_t **v, int64_t *n, const char *path, const char *name)
{
	struct iso_npy head;
	uint8_t *raw;
	int st = one_axis(&head, &raw, n, path, name);

	if (st) return st;
	if (head.element.kind == 'f') st = iso_refuse(path, "array %s has no whole numbers", name);
	if (!st && !(*v = size_alloc(*n, sizeof **v))) st = iso_fail_memory(path, *n * (int64_t)sizeof **v);
	for (int64_t i = 0; i < *n && !st; i++) /* exact below 2^53, more than any array has */
		(*v)[i] = (int64_t)iso_element_get(raw + i * head.element.size, head.element);
	free(raw);
	return st;
}
