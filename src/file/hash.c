/* SPDX-License-Identifier: BSD-3-Clause */
/* Hashes of files: of their bytes as they come, or by reading them. */
#include "hash.h"
#include "in.h"
#include "out.h"
#include "suffix.h"
#include "core/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define WHOLE ((int64_t)1 << 30) /* bytes: a larger file is sampled */
enum {
	BLOCK = 1 << 16,
	SAMPLES = 1024, /* blocks, evenly over the file: 64 MiB in all, */
	PART = 64,      /* or, where that is less, this part of the file */
	LEAST = 1 << 8, /* bytes of a block: a file below SAMPLES * LEAST is hashed whole */
};

void iso_hasher_begin(struct iso_hasher *s, int64_t size)
{
	*s = (struct iso_hasher){ .state = size > WHOLE ? NULL : XXH64_createState() };
	if (s->state) XXH64_reset(s->state, 0);
}

void iso_hasher_add(struct iso_hasher *s, const void *data, int64_t bytes)
{
	if (!s->state) return;
	XXH64_update(s->state, data, (size_t)bytes);
	s->bytes += bytes;
}

int iso_hasher_head(struct iso_hasher *s, const char *path, int fd, int64_t end)
{
	char block[1 << 12];
	int64_t got = 1;

	for (int64_t at = 0; at < end && got > 0; at += got) {
		int64_t left = end - at, most = sizeof block;

		if ((got = iso_read_at(fd, block, left < most ? left : most, at)) < 0)
			return iso_fail_errno(path, "read");
		iso_hasher_add(s, block, got);
	}
	return ISO_OK;
}

void iso_hasher_end(struct iso_hash *h, struct iso_hasher *s, const char *path, int64_t size)
{
	*h = (struct iso_hash){ .bytes = s->bytes };
	if (s->state && s->bytes == size) {
		snprintf(h->path, sizeof h->path, "%s", path);
		h->value = XXH64_digest(s->state);
	}
	XXH64_freeState(s->state);
	*s = (struct iso_hasher){ 0 };
}

static int unreadable(const char *path)
{
	return iso_fail(ISO_EINPUT, "%s: %s", path, strerror(errno));
}

/* Every byte, also those that were not there when `size` was asked for. */
static int hash_all(struct iso_hash *h, int fd, int64_t size, const char *path, const iso_ctx *ctx)
{
	struct iso_hasher s;
	struct iso_clock clock = iso_clock_brief(ctx, "hash", "bytes", size, iso_base_name(path));
	char block[BLOCK];
	int64_t got = 1;
	int st = ISO_OK;

	iso_hasher_begin(&s, size);
	if (!s.state) return iso_fail_memory("hash", sizeof s);
	while (!st && got > 0 && !(st = iso_stop_check(ctx, path))) {
		if ((got = iso_read_at(fd, block, BLOCK, s.bytes)) < 0) st = unreadable(path);
		if (got > 0) iso_hasher_add(&s, block, got);
		if (got > 0) iso_clock_add(&clock, got);
	}
	if (!st) iso_clock_end(&clock);
	iso_hasher_end(h, &s, path, s.bytes);
	return st;
}

static int64_t block_of(int64_t size)
{
	int64_t block = size / (SAMPLES * PART);

	return block < LEAST ? LEAST : block > BLOCK ? BLOCK : block;
}

/* The size, then the blocks, the last of which ends the file; of a small file all blocks, one behind the other. */
static int hash_sample(struct iso_hash *h, int fd, int64_t size, const char *path, const iso_ctx *ctx)
{
	XXH64_state_t *state = XXH64_createState();
	char block[BLOCK];
	bool small = size <= SAMPLES * (int64_t)LEAST;
	int64_t each = small ? BLOCK : block_of(size), n = small ? (size + BLOCK - 1) / BLOCK : SAMPLES;
	int st = state ? ISO_OK : iso_fail_memory("hash", sizeof state);

	if (!st) XXH64_reset(state, (uint64_t)size);
	for (int64_t i = 0; i < n && !st && !(st = iso_stop_check(ctx, path)); i++) {
		int64_t at = small ? i * each : (size - each) * i / (SAMPLES - 1);
		int64_t got = iso_read_at(fd, block, each, at);

		if (got < 0)
			st = unreadable(path);
		else
			XXH64_update(state, block, (size_t)got);
	}
	*h = (struct iso_hash){ .bytes = size, .sampled = true };
	snprintf(h->path, sizeof h->path, "%s", path);
	if (!st) h->value = XXH64_digest(state);
	XXH64_freeState(state);
	return st;
}

/* O_NONBLOCK: a pipe without a writer must not hold the program before it is refused. */
static int hash_file(struct iso_hash *h, const char *path, const iso_ctx *ctx, bool sample)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), st;
	struct stat info;

	if (fd < 0) return unreadable(path);
	if (fstat(fd, &info) != 0)
		st = unreadable(path);
	else if (!S_ISREG(info.st_mode))
		st = iso_fail(ISO_EINPUT, "%s: not a regular file", path);
	else
		st = (sample || info.st_size > WHOLE ? hash_sample : hash_all)(h, fd, info.st_size, path,
		                                                               ctx);
	close(fd);
	return st;
}

int iso_hash_file(struct iso_hash *h, const char *path, const iso_ctx *ctx)
{
	return hash_file(h, path, ctx, false);
}

int iso_hash_sample(struct iso_hash *h, const char *path, const iso_ctx *ctx)
{
	return hash_file(h, path, ctx, true);
}

/* ---- of values ---- */

int iso_values_hash_add(struct iso_values_hash *h, int64_t n, const iso_real *v)
{
	float some[1024];
	int64_t most = sizeof some / sizeof *some;

	if (!h->state) {
		if (!(h->state = XXH64_createState())) return iso_fail_memory("hash", 1 << 10);
		XXH64_reset(h->state, 0);
	}
	for (int64_t i = 0; i < n; i += most) {
		int64_t m = n - i < most ? n - i : most;

		for (int64_t k = 0; k < m; k++) some[k] = (float)v[i + k];
		XXH64_update(h->state, some, (size_t)m * sizeof *some);
	}
	return ISO_OK;
}

uint64_t iso_values_hash_now(const struct iso_values_hash *h)
{
	return h->state ? XXH64_digest(h->state) : XXH64(NULL, 0, 0);
}

void iso_values_hash_free(struct iso_values_hash *h)
{
	XXH64_freeState(h->state);
	h->state = NULL;
}
