/* SPDX-License-Identifier: BSD-3-Clause */
/* Committing files: names for temporaries, the lock of the folder, the renames. */
#include "core/commit.h"
#include "core/journal.h"
#include "core/out.h"
#include "core/status.h"
#include "core/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINKED ".isotome-commit.tmp"	/* exists in a locked folder for the time of two calls */

enum { WAIT_MS = 10, LOCK_MS = 60000, NO_LOCK_MS = 10000, COPY = 1 << 16 };

int iso_temp_name(char name[ISO_TEMP_NAME])
{
	uint64_t v;

	if (getrandom(&v, sizeof v, 0) != (ssize_t)sizeof v)
		return iso_fail(ISO_EIO, "no random numbers for a temporary name: %s", strerror(errno));
	snprintf(name, ISO_TEMP_NAME, ".isotome-%016" PRIx64 ".tmp", v);
	return ISO_OK;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- the lock ---- */

static void wait_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = WAIT_MS * 1000000 }, NULL);
}

/* 1: locked. 0: others have the lock still, after `ms`. -1: this file system has no locks. */
static int lock(int folder, int ms)
{
	for (;;) {
		if (flock(folder, LOCK_EX | LOCK_NB) == 0)
			return 1;
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return -1;
		if ((ms -= WAIT_MS) < 0)
			return 0;
		wait_a_little();
	}
}

/* Where there is no lock, a journal may be a living process's: it gets time to go. */
static void wait_for_journal(int folder)
{
	for (int ms = 0; ms < NO_LOCK_MS && iso_journal_exists(folder); ms += WAIT_MS)
		wait_a_little();
}

/* Opens and locks a folder for a commit, and finishes what a dead process began there. */
static int enter(int *folder, const char *name, const char *path)
{
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), locked, st;

	if (fd < 0)
		return iso_fail(ISO_EIO, "%s: folder %s: %s", path, name, strerror(errno));
	locked = lock(fd, LOCK_MS);
	if (locked == 0) {
		close(fd);
		return iso_fail(ISO_EIO, "%s: another process has held the lock of folder %s for %d s",
				path, name, LOCK_MS / 1000);
	}
	if (locked < 0)
		wait_for_journal(fd);
	else
		unlinkat(fd, LINKED, 0);	/* left by a process that was killed */
	if ((st = iso_journal_repair(fd, name)))
		close(fd);
	else
		*folder = fd;
	return st;
}

int iso_commit_repair(const char *path)
{
	char name[PATH_MAX];
	int fd, locked, st = iso_out_folder(name, sizeof name, path);

	if (st)
		return st;
	fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ISO_OK;	/* whoever opens the file will say it better */
	if (iso_journal_exists(fd)) {
		locked = lock(fd, 0);
		if (locked < 0)
			wait_for_journal(fd);
		if (locked != 0)
			st = iso_journal_repair(fd, name);
	}
	close(fd);
	return st;
}

/* ---- names for files without one ---- */

/* Where such a file can't be linked, though the system has them. */
static int copy_to(int folder, const char *name, int from)
{
	char block[COPY];
	int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	ssize_t got = 0;
	bool bad = to < 0;

	for (off_t at = 0; !bad && (got = pread(from, block, sizeof block, at)) > 0; at += got)
		bad = write(to, block, (size_t)got) != got;
	bad = bad || got < 0 || fsync(to);
	if (to >= 0 && close(to))
		bad = true;
	if (bad && to >= 0)
		unlinkat(folder, name, 0);
	return bad ? -1 : 0;
}

static int give_name(const struct iso_out *o, int folder, const char *name)
{
	if (linkat(AT_FDCWD, o->temp, folder, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return errno == EEXIST ? -1 : copy_to(folder, name, o->fd);
}

/* From now on the content belongs to the folder. */
static void settle(struct iso_out *o)
{
	free(o->temp);
	o->temp = NULL;
	o->named = false;
}

static int fail(const struct iso_out *o, const char *what)
{
	return iso_fail(ISO_EIO, "%s: can't %s: %s", o->path, what, strerror(errno));
}

/* ---- one file ---- */

static int replace(struct iso_out *o, int folder)
{
	char random[ISO_TEMP_NAME];
	const char *name = LINKED;
	int st;

	if (give_name(o, folder, name)) {	/* somebody else's, who can't lock or is no longer */
		if ((st = iso_temp_name(random)))
			return st;
		name = random;
		if (give_name(o, folder, name))
			return fail(o, "name its temporary file");
	}
	if (renameat(folder, name, folder, base_name(o->path)) == 0)
		return ISO_OK;
	st = fail(o, "rename its temporary file");
	unlinkat(folder, name, 0);
	return st;
}

static int commit_one(struct iso_out *o, int folder)
{
	int st = ISO_OK;

	if (o->named) {
		if (renameat(folder, base_name(o->temp), folder, base_name(o->path)))
			st = fail(o, "rename its temporary file");
	} else if (linkat(AT_FDCWD, o->temp, folder, base_name(o->path), AT_SYMLINK_FOLLOW)) {
		st = replace(o, folder);
	}
	if (!st)
		settle(o);
	return st;
}

/* ---- several ---- */

static int list(struct iso_journal *j, int folder, int n, struct iso_out *const *out)
{
	int st = ISO_OK;

	for (int i = 0; i < n && !st; i++) {
		struct iso_journal_entry *e = &j->entry[i];
		struct stat s;

		snprintf(e->final, sizeof e->final, "%s", base_name(out[i]->path));
		if (out[i]->named)
			snprintf(e->temp, sizeof e->temp, "%s", base_name(out[i]->temp));
		else
			st = iso_temp_name(e->temp);
		e->replaces = fstatat(folder, e->final, &s, AT_SYMLINK_NOFOLLOW) == 0;
		if (!st && e->replaces && S_ISDIR(s.st_mode))
			st = iso_fail(ISO_EIO, "%s is a folder, not a file to write", out[i]->path);
		if (!st && e->replaces)
			st = iso_temp_name(e->old);
	}
	j->n = n;
	return st;
}

static int give_names(const struct iso_journal *j, int folder, struct iso_out *const *out)
{
	for (int i = 0; i < j->n; i++)
		if (!out[i]->named && give_name(out[i], folder, j->entry[i].temp))
			return fail(out[i], "name its temporary file");
	return ISO_OK;
}

/* Some file systems have no links: there the old file gives up its name for a moment. */
static int put(const struct iso_journal_entry *e, int folder)
{
	if (e->replaces && linkat(folder, e->final, folder, e->old, 0) &&
	    renameat(folder, e->final, folder, e->old))
		return -1;
	return renameat(folder, e->temp, folder, e->final);
}

static int put_all(const struct iso_journal *j, int folder, struct iso_out *const *out)
{
	for (int i = 0; i < j->n; i++)
		if (put(&j->entry[i], folder))
			return fail(out[i], "put it in its place");
	return ISO_OK;
}

/* Those that have a name come first: the last temporary to get one tells that all have. */
static void sort(struct iso_out **sorted, int n, struct iso_out *const *out)
{
	int k = 0;

	for (int named = 1; named >= 0; named--)
		for (int i = 0; i < n; i++)
			if (out[i]->named == named)
				sorted[k++] = out[i];
}

static int commit_several(int n, struct iso_out *const *unsorted, int folder, const char *name)
{
	struct iso_out *out[ISO_JOURNAL_MOST];
	struct iso_journal j = { 0 };
	int st;

	sort(out, n, unsorted);
	st = list(&j, folder, n, out);
	if (st || (st = iso_journal_write(&j, folder, name)))
		return st;
	if (!(st = give_names(&j, folder, out)) && (st = put_all(&j, folder, out)))
		iso_journal_undo(&j, folder);
	else
		iso_journal_close(&j, folder);
	for (int i = 0; i < n; i++)
		settle(out[i]);
	return st;
}

static bool one_folder(int n, struct iso_out *const *out)
{
	size_t length = (size_t)(base_name(out[0]->path) - out[0]->path);

	for (int i = 1; i < n; i++)
		if ((size_t)(base_name(out[i]->path) - out[i]->path) != length ||
		    strncmp(out[i]->path, out[0]->path, length) != 0)
			return false;
	return true;
}

/* Names are as safe as the files once the folder is flushed; some file systems can't do that. */
int iso_out_commit_all(int n, struct iso_out *const *out)
{
	char name[PATH_MAX];
	int folder = -1, st = iso_out_folder(name, sizeof name, out[0]->path);

	if (st || (st = iso_stop_check(out[0]->path)))
		return st;
	if (n < 1 || n > ISO_JOURNAL_MOST || !one_folder(n, out))
		return iso_fail(ISO_EARG, "%s: a commit of %d files, must be 1 to %d of one folder",
				out[0]->path, n, ISO_JOURNAL_MOST);
	if ((st = enter(&folder, name, out[0]->path)))
		return st;
	st = n == 1 ? commit_one(out[0], folder) : commit_several(n, out, folder, name);
	if (!st)
		fsync(folder);
	close(folder);
	return st;
}
