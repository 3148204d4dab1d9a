/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's cache. An entry is a file KEY.cache: a head with the key, the size and a checksum, then the bytes. The time of
   the file is that of its last use. */
#include "cache.h"
#include "in.h"
#include "out.h"
#include "core/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define MAGIC "ISOCACH1"
#define SUFFIX ".cache"
#define MOST_MB 2000.
#define LEAST_S .5

struct head {
	char magic[8], key[32];
	int64_t bytes;
	double with;
	uint64_t sum; /* XXH64 of the bytes, seeded by that of the head before it */
};

/* ---- where it is ---- */

/* The number in an environment variable, where that is set. */
static int number_of(double *v, const char *name)
{
	const char *text = getenv(name);
	double found;

	if (!text || !text[0]) return ISO_OK;
	if (!iso_number(&found, text, strlen(text)) || found < 0)
		return iso_fail(ISO_EARG, "the environment variable %s is '%s', expected a number from 0 up",
		                name, text);
	*v = found;
	return ISO_OK;
}

int iso_cache_open(struct iso_cache *c, const char *folder)
{
	const char *own = getenv("ISOTOME_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	double most_mb = MOST_MB;
	int st, n;

	*c = (struct iso_cache){ .least_s = LEAST_S, .named = folder || own };
	if ((st = number_of(&most_mb, "ISOTOME_CACHE_MB")) ||
	    (st = number_of(&c->least_s, "ISOTOME_CACHE_SECONDS")))
		return st;
	c->most_bytes = (int64_t)(1e6 * (most_mb < 1e12 ? most_mb : 1e12));
	if (!folder) folder = own;
	if (folder)
		n = snprintf(c->folder, sizeof c->folder, "%s", strcmp(folder, "none") == 0 ? "" : folder);
	else if (xdg && xdg[0] == '/') /* its standard: another kind of path is ignored */
		n = snprintf(c->folder, sizeof c->folder, "%s/isotome", xdg);
	else
		n = snprintf(c->folder, sizeof c->folder, "%s%s", home && home[0] == '/' ? home : "",
		             home && home[0] == '/' ? "/.cache/isotome" : "");
	if (n >= (int)sizeof c->folder) c->folder[0] = '\0';
	return ISO_OK;
}

bool iso_cache_path(char path[PATH_MAX], const struct iso_cache *c, const char *key)
{
	return snprintf(path, PATH_MAX, "%s/%s%s", c->folder, key, SUFFIX) < PATH_MAX;
}

/* The folder with those above it, for this user alone, as the standard of XDG wants. */
static int make_folder(const char *folder)
{
	char part[PATH_MAX];
	size_t n = strlen(folder);

	memcpy(part, folder, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (part[i] != '/' && part[i]) continue;
		part[i] = '\0';
		if (mkdir(part, 0700) && errno != EEXIST && errno != EISDIR)
			return iso_fail(ISO_EIO, "%s: can't make the folder: %s", part, strerror(errno));
		part[i] = folder[i];
	}
	return ISO_OK;
}

/* ---- keys ---- */

int iso_cache_hash_begin(struct iso_cache_hash *h)
{
	for (int k = 0; k < 2; k++)
		if ((h->state[k] = XXH64_createState())) XXH64_reset(h->state[k], (XXH64_hash_t)k);
	if (h->state[0] && h->state[1]) return ISO_OK;
	XXH64_freeState(h->state[0]);
	XXH64_freeState(h->state[1]);
	*h = (struct iso_cache_hash){ 0 };
	return iso_fail_memory("key of the cache", 1 << 10);
}

void iso_cache_hash_add(struct iso_cache_hash *h, const void *data, int64_t bytes)
{
	for (int k = 0; k < 2 && bytes > 0; k++) XXH64_update(h->state[k], data, (size_t)bytes);
}

void iso_cache_hash_end(struct iso_cache_hash *h, char key[ISO_CACHE_KEY])
{
	snprintf(key, ISO_CACHE_KEY, "%016llx%016llx", (unsigned long long)XXH64_digest(h->state[0]),
	         (unsigned long long)XXH64_digest(h->state[1]));
	XXH64_freeState(h->state[0]);
	XXH64_freeState(h->state[1]);
	*h = (struct iso_cache_hash){ 0 };
}

/* ---- entries ---- */

static struct head head_of(const char *key, const void *v, int64_t bytes, double with)
{
	struct head h = { .magic = MAGIC, .bytes = bytes, .with = with };

	memcpy(h.key, key, sizeof h.key);
	h.sum = XXH64(v, (size_t)bytes, XXH64(&h, offsetof(struct head, sum), 0));
	return h;
}

bool iso_cache_get(const struct iso_cache *c, const char *key, void *v, int64_t bytes, double *with)
{
	char path[PATH_MAX];
	int64_t size;
	struct head h, want;
	int fd;

	if (!c->folder[0] || !iso_cache_path(path, c, key)) return false;
	if (iso_regular_open(&fd, &size, path)) return false;
	bool whole = size == (int64_t)sizeof h + bytes && iso_read_at(fd, &h, sizeof h, 0) == sizeof h &&
	             iso_read_at(fd, v, bytes, sizeof h) == bytes;

	if (whole) {
		want = head_of(key, v, bytes, h.with);
		whole = memcmp(&h, &want, sizeof h) == 0;
	}
	if (whole) {
		*with = h.with;
		futimens(fd, NULL);
	}
	close(fd);
	return whole;
}

/* ---- as many as fit ---- */

struct found {
	char name[ISO_CACHE_KEY + sizeof SUFFIX];
	int64_t bytes;
	struct timespec used;
};

static bool is_entry(const char *name)
{
	return strspn(name, "0123456789abcdef") == ISO_CACHE_KEY - 1 &&
	       strcmp(name + ISO_CACHE_KEY - 1, SUFFIX) == 0;
}

static int by_use(const void *a, const void *b)
{
	const struct timespec *p = &((const struct found *)a)->used, *q = &((const struct found *)b)->used;

	if (p->tv_sec != q->tv_sec) return p->tv_sec < q->tv_sec ? -1 : 1;
	return (p->tv_nsec > q->tv_nsec) - (p->tv_nsec < q->tv_nsec);
}

/* All entries of an open folder, to be freed; NULL: there are none, or no memory. */
static struct found *list(DIR *folder, int *n)
{
	struct found *all = NULL;
	const struct dirent *d;
	int room = 0;

	*n = 0;
	while ((d = readdir(folder))) {
		struct stat s;

		if (!is_entry(d->d_name) || fstatat(dirfd(folder), d->d_name, &s, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(s.st_mode))
			continue;
		if (*n == room) {
			struct found *more = realloc(all, (size_t)(room = 2 * room + 16) * sizeof *all);

			if (!more) break; /* the next entry makes room */
			all = more;
		}
		all[*n] = (struct found){ .bytes = s.st_size, .used = s.st_mtim };
		memcpy(all[(*n)++].name, d->d_name, sizeof all->name - 1);
	}
	return all;
}

/* Removes entries, those that were not used for longest first, but never `newest`. */
static void make_room(const struct iso_cache *c, const char *newest)
{
	DIR *folder = opendir(c->folder);
	int64_t sum = 0;
	int n = 0;

	if (!folder) return;
	struct found *all = list(folder, &n);

	if (all) qsort(all, (size_t)n, sizeof *all, by_use);
	for (int i = 0; i < n; i++) sum += all[i].bytes;
	for (int i = 0; i < n && sum > c->most_bytes; i++) {
		if (strncmp(all[i].name, newest, ISO_CACHE_KEY - 1) == 0) continue;
		unlinkat(dirfd(folder), all[i].name, 0); /* another process may have been quicker */
		sum -= all[i].bytes;
	}
	free(all);
	closedir(folder);
}

int iso_cache_put(const struct iso_cache *c, const char *key, const void *v, int64_t bytes, double with)
{
	const struct head h = head_of(key, v, bytes, with);
	const int64_t size = (int64_t)sizeof h + bytes;
	struct iso_out o = { 0 };
	char path[PATH_MAX];
	int st;

	if (!c->folder[0] || size > c->most_bytes || iso_out_is_mute()) return ISO_OK;
	if (!iso_cache_path(path, c, key)) return iso_fail(ISO_EIO, "%s: name is too long", c->folder);
	if ((st = make_folder(c->folder))) return st;
	if (!(st = iso_out_open(&o, path, size, ISO_OUT_PLAIN)) && !(st = iso_out_write(&o, &h, sizeof h)) &&
	    !(st = iso_out_write(&o, v, bytes)) && !(st = iso_out_close(&o)))
		st = iso_out_commit(&o);
	iso_out_free(&o);
	if (!st) make_room(c, key);
	return st;
}
