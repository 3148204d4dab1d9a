/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a series: a head, then for each image the length of its text, the image, the text, and
   a hash of the three (XXH64). A record that was cut short or damaged is not counted, nor are those
   behind it: they are made again. */
#include "series.h"

#include "file/hash.h"
#include "file/in.h"
#include "file/out.h"
#include "core/size.h"
#include "core/status.h"
#include "format.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC "ISOTOMES"
enum { VERSION = 1 };
#define MOST_TEXT (1 << 28) /* bytes */

struct head {
	char magic[8];
	uint32_t version, real; /* real: bytes of a value */
	uint64_t key;
	int64_t n;
};

struct iso_series {
	char *path;
	int fd;               /* -1: of a mute thread, which keeps and finds nothing */
	int64_t n, at, count; /* values of an image; bytes and images passed so far */
	iso_real range[2];    /* of all of these */
	struct iso_values_hash hash;
};

static int64_t image_bytes(const iso_series *s)
{
	return s->n * (int64_t)sizeof(iso_real);
}

static int hash_of(uint64_t *hash, uint64_t size, const iso_real *x, int64_t bytes, const char *text)
{
	XXH64_state_t *h = XXH64_createState();

	if (!h) return iso_fail_memory("series", 1 << 10);
	XXH64_reset(h, 0);
	XXH64_update(h, &size, sizeof size);
	XXH64_update(h, x, (size_t)bytes);
	XXH64_update(h, text, (size_t)size);
	*hash = XXH64_digest(h);
	XXH64_freeState(h);
	return ISO_OK;
}

/* ---- opening ---- */

static int begin(iso_series *s, uint64_t key)
{
	struct head h = { MAGIC, VERSION, sizeof(iso_real), key, s->n };

	if (ftruncate(s->fd, 0)) return iso_fail_errno(s->path, "write");
	return iso_write_at(s->path, s->fd, &h, sizeof h, 0);
}

/* A file that ends within its head is one that was killed there: it begins anew. */
static int check_head(iso_series *s, uint64_t key)
{
	struct head h;
	int64_t got = iso_read_at(s->fd, &h, sizeof h, 0);

	if (got < 0) return iso_fail_errno(s->path, "read");
	if (got < (int64_t)sizeof h) return begin(s, key);
	if (memcmp(h.magic, MAGIC, sizeof h.magic) || h.version != VERSION)
		return iso_refuse(s->path, "not the finished images of a run (version %d)", VERSION);
	if (h.key != key)
		return iso_refuse(s->path,
		                  "checkpoint of other inputs or options (its key is %016" PRIx64
		                  ", this run's %016" PRIx64 ")",
		                  h.key, key);
	if (h.n != s->n || h.real != sizeof(iso_real))
		return iso_refuse(s->path,
		                  "images of %" PRId64 " values of %" PRIu32 " bytes, must be %" PRId64
		                  " of %d",
		                  h.n, h.real, s->n, (int)sizeof(iso_real));
	return ISO_OK;
}

/* A link, device or pipe of that name is not ours. */
static int open_file(iso_series *s)
{
	int64_t size;
	int fd, st;

	if (access(s->path, F_OK) == 0) {
		if ((st = iso_regular_open(&fd, &size, s->path))) return st;
		close(fd);
	}
	s->fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	return s->fd < 0 ? iso_fail_errno(s->path, "create") : ISO_OK;
}

int iso_series_open(iso_series **series, const char *path, uint64_t key, int64_t n, bool resume)
{
	iso_series *s = size_alloc(1, sizeof *s);
	int st = ISO_OK;

	if (!s) return iso_fail_memory("series", sizeof *s);
	*s = (iso_series){ .path = strdup(path), .fd = -1, .n = n, .at = sizeof(struct head) };
	if (!s->path) st = iso_fail_memory("series", (int64_t)strlen(path));
	if (!st && !iso_out_is_mute() && !(st = open_file(s)))
		st = resume ? check_head(s, key) : begin(s, key);
	if (st)
		iso_series_free(s);
	else
		*series = s;
	return st;
}

void iso_series_free(iso_series *s)
{
	if (!s) return;
	if (s->fd >= 0) close(s->fd);
	iso_values_hash_free(&s->hash);
	free(s->path);
	free(s);
}

int iso_series_key(uint64_t *key, bool *has, const char *path)
{
	struct head h;
	int64_t size, got;
	int fd, st = iso_regular_open(&fd, &size, path);

	if (st) return st;
	got = iso_read_at(fd, &h, sizeof h, 0);
	close(fd);
	*has = got == (int64_t)sizeof h;
	*key = *has ? h.key : 0;
	return ISO_OK;
}

uint64_t iso_series_hash(const iso_series *s)
{
	return iso_values_hash_now(&s->hash);
}

int64_t iso_series_count(const iso_series *s)
{
	return s->count;
}

/* ---- images ---- */

static int pass(iso_series *s, const iso_real *x, int64_t text)
{
	iso_range(s->range, s->n, x, s->count > 0);
	s->at += 8 + image_bytes(s) + text + 8;
	s->count++;
	return iso_values_hash_add(&s->hash, s->n, x);
}

/* Whether a whole record stands at s->at; *text is then to be freed. */
static int read_record(const iso_series *s, bool *whole, iso_real *x, char **text)
{
	int64_t bytes = image_bytes(s), got;
	uint64_t size = 0, want = 0, is = 0;
	char *t = NULL;
	int st;

	*whole = false;
	if ((got = iso_read_at(s->fd, &size, 8, s->at)) < 8 || size > MOST_TEXT)
		return got < 0 ? iso_fail_errno(s->path, "read") : ISO_OK;
	if (!(t = size_alloc((int64_t)size + 1, 1))) return iso_fail_memory("series", (int64_t)size);
	if (iso_read_at(s->fd, x, bytes, s->at + 8) < bytes ||
	    iso_read_at(s->fd, t, (int64_t)size, s->at + 8 + bytes) < (int64_t)size ||
	    iso_read_at(s->fd, &want, 8, s->at + 8 + bytes + (int64_t)size) < 8) {
		free(t);
		return ISO_OK;
	}
	st = hash_of(&is, size, x, bytes, t);
	*whole = !st && is == want;
	if (*whole)
		*text = t;
	else
		free(t);
	return st;
}

int iso_series_next(iso_series *s, bool *found, iso_real *x, char **text)
{
	int st = ISO_OK;

	*found = false;
	if (s->fd < 0 || (st = read_record(s, found, x, text))) return st;
	if (*found) return pass(s, x, (int64_t)strlen(*text));
	return ftruncate(s->fd, s->at) ? iso_fail_errno(s->path, "write") : ISO_OK;
}

int iso_series_add(iso_series *s, const iso_real *x, const char *text)
{
	int64_t bytes = image_bytes(s), at = s->at;
	uint64_t size = strlen(text), hash;
	int st;

	if (s->fd < 0) return ISO_OK;
	if ((st = hash_of(&hash, size, x, bytes, text)) ||
	    (st = iso_write_at(s->path, s->fd, &size, 8, at)) ||
	    (st = iso_write_at(s->path, s->fd, x, bytes, at + 8)) ||
	    (st = iso_write_at(s->path, s->fd, text, (int64_t)size, at + 8 + bytes)) ||
	    (st = iso_write_at(s->path, s->fd, &hash, 8, at + 8 + bytes + (int64_t)size)))
		return st;
	if (fdatasync(s->fd)) return iso_fail_errno(s->path, "flush to disk");
	return pass(s, x, (int64_t)size);
}

/* ---- all of them ---- */

static int copy_images(iso_series *s, struct iso_writer *w, iso_real *x)
{
	int64_t at = sizeof(struct head), bytes = image_bytes(s);
	uint64_t size;
	int st = ISO_OK;

	for (int64_t k = 0; k < s->count && !st; k++) {
		if (iso_read_at(s->fd, &size, 8, at) < 8 || iso_read_at(s->fd, x, bytes, at + 8) < bytes)
			return iso_fail(ISO_EIO, "%s: image %" PRId64 " can't be read again", s->path, k + 1);
		at += 8 + bytes + (int64_t)size + 8;
		st = iso_writer_put(w, s->n, x);
	}
	return st;
}

int iso_series_write(iso_series *s, const iso_ctx *ctx, const char *path, const struct iso_array *shape,
                     iso_real *x, const char *sidecar)
{
	struct iso_writer w = { 0 };
	int st;

	if (s->fd < 0) return ISO_OK;
	st = iso_writer_open(&w, path, shape, s->range);
	w.o.ctx = ctx;
	if (!st) st = copy_images(s, &w, x);
	if (!st) st = iso_writer_finish(&w, sidecar);
	iso_writer_free(&w);
	return st;
}
