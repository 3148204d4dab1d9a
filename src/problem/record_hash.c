/* SPDX-License-Identifier: BSD-3-Clause */
/* Hashes of files for the record: of a large file by a thread of its own, while the run reads it too. */
#include "record.h"

#include "core/size.h"
#include "file/in.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define WHOLE ((int64_t)4 << 30) /* bytes: a larger file is sampled */
enum {
	SAMPLES = 1024,   /* pieces, evenly over the file, */
	SAMPLE = 1 << 16, /* and bytes of each */
};

static int unreadable(const char *path)
{
	return iso_fail(ISO_EINPUT, "%s: %s", path, strerror(errno));
}

/* All of the file, unless *stop is set meanwhile; or its size, then the pieces, the last of which ends the file: 64 MiB in all. */
static int hash_contents(struct file_hash *h, int fd, int64_t size, const char *path, const atomic_bool *stop)
{
	XXH64_state_t *state = XXH64_createState();
	unsigned char block[SAMPLE];
	ssize_t got = 1;

	if (!state) return iso_fail_memory("hash", sizeof state);
	*h = (struct file_hash){ .bytes = size > WHOLE ? size : 0, .sampled = size > WHOLE };
	XXH64_reset(state, (uint64_t)h->bytes);
	for (int64_t i = 0; got > 0 && !(stop && *stop) && (!h->sampled || i < SAMPLES); i++) {
		got = h->sampled ? pread(fd, block, sizeof block, (size - SAMPLE) * i / (SAMPLES - 1))
		                 : read(fd, block, sizeof block);
		if (got > 0) XXH64_update(state, block, (size_t)got);
		if (got > 0 && !h->sampled) h->bytes += got;
	}
	h->value = XXH64_digest(state);
	XXH64_freeState(state);
	return got < 0 ? unreadable(path) : ISO_OK;
}

/* O_NONBLOCK: a pipe without a writer must not hold the program before it is refused. */
static int hash_file(struct file_hash *h, const char *path, const atomic_bool *stop)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), st;
	struct stat info;

	if (fd < 0) return unreadable(path);
	if (fstat(fd, &info) != 0)
		st = unreadable(path);
	else if (!S_ISREG(info.st_mode))
		st = iso_fail(ISO_EINPUT, "%s: not a regular file", path);
	else
		st = hash_contents(h, fd, info.st_size, path, stop);
	close(fd);
	return st;
}

/* ---- ahead ---- */

struct hash_ahead {
	struct hash_ahead *next;
	pthread_t thread;
	char path[PATH_MAX];
	struct file_hash hash;
	int status;
	atomic_bool stop; /* the hash is not wanted any more */
};

static void *run(void *arg)
{
	struct hash_ahead *a = arg;

	a->status = hash_file(&a->hash, a->path, &a->stop);
	return NULL;
}

void record_hash_ahead(struct record *r, const char *path)
{
	struct hash_ahead *a = size_alloc(1, sizeof *a);

	if (!a) return;
	snprintf(a->path, sizeof a->path, "%s", path);
	if (pthread_create(&a->thread, NULL, run, a)) {
		free(a);
		return;
	}
	a->next = r->ahead;
	r->ahead = a;
}

/* The file's, or with NULL any, once its thread is done; the caller frees it. NULL: there is none. */
static struct hash_ahead *take(struct record *r, const char *path)
{
	struct hash_ahead **at = &r->ahead, *a;

	while (*at && path && strcmp((*at)->path, path) != 0) at = &(*at)->next;
	if (!(a = *at)) return NULL;
	*at = a->next;
	pthread_join(a->thread, NULL);
	return a;
}

/* Why a thread failed is told by doing it again here. */
int record_hash(struct record *r, struct file_hash *h, const char *path)
{
	struct hash_ahead *a = take(r, path);
	bool known = a && a->status == ISO_OK;

	if (known) *h = a->hash;
	free(a);
	return known ? ISO_OK : hash_file(h, path, NULL);
}

void record_hash_forget(struct record *r)
{
	for (struct hash_ahead *a = r->ahead; a; a = a->next) a->stop = true;
	for (struct hash_ahead *a; (a = take(r, NULL));) free(a);
}
