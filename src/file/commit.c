/* SPDX-License-Identifier: BSD-3-Clause */
/* Committing files: names for temporaries, the lock of the folder, the renames. */
#define _GNU_SOURCE /* O_PATH */
#include "commit.h"
#include "journal.h"
#include "lock.h"
#include "out.h"
#include "suffix.h"
#include "core/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK ".isotome.lock"
#define LINKED ".isotome-commit.tmp" /* exists in a locked folder for the time of two calls */

enum { WAIT_MS = 10, LOCK_MS = 60000, NO_LOCK_MS = 10000, COPY = 1 << 16 };

int iso_temp_name(char name[ISO_TEMP_NAME])
{
	uint64_t v;

	if (getrandom(&v, sizeof v, 0) != (ssize_t)sizeof v)
		return iso_fail(ISO_EIO, "no random numbers for a temporary name: %s", strerror(errno));
	snprintf(name, ISO_TEMP_NAME, ".isotome-%016" PRIx64 ".tmp", v);
	return ISO_OK;
}

/* ---- the folder and its lock ---- */

struct place {
	int folder, lock; /* lock: -1 where there is none */
};

static int wait_a_little(const char *path)
{
	nanosleep(&(struct timespec){ .tv_nsec = WAIT_MS * 1000000 }, NULL);
	return iso_stop_check(path);
}

/* A folder that can't be listed can be written to all the same, but not flushed. */
static int open_folder(const char *name)
{
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 && errno == EACCES ? open(name, O_PATH | O_DIRECTORY | O_CLOEXEC) : fd;
}

static void leave(struct place *p)
{
	if (p->lock >= 0) iso_lock_remove(p->lock, p->folder, LOCK);
	close(p->folder);
}

/* Where there is no lock, a journal may be a living process's: it gets time to go. One that stays is
   a dead one's. */
static int repair_unlocked(int folder, const char *name, const char *path)
{
	int st;

	for (int ms = 0; ms < NO_LOCK_MS; ms += WAIT_MS) {
		if (!iso_journal_exists(folder)) return ISO_OK;
		if ((st = wait_a_little(path))) return st;
	}
	return iso_journal_repair(folder, name);
}

/* Opens and locks a folder for a commit, and finishes what a dead process began there. */
static int enter(struct place *p, const char *name, const char *path)
{
	enum iso_locked got;
	int st = ISO_OK;

	*p = (struct place){ open_folder(name), -1 };
	if (p->folder < 0) return iso_fail(ISO_EIO, "%s: folder %s: %s", path, name, strerror(errno));
	for (int ms = 0; !st && (got = iso_lock_file(&p->lock, p->folder, LOCK)) == ISO_LOCK_OTHERS;
	     ms += WAIT_MS)
		st = ms < LOCK_MS ? wait_a_little(path)
		                  : iso_fail(ISO_EIO,
		                             "%s: another process has held the lock of folder %s for %d s",
		                             path, name, LOCK_MS / 1000);
	if (!st && got != ISO_LOCK_MINE) {
		st = repair_unlocked(p->folder, name, path);
	} else if (!st) {
		unlinkat(p->folder, LINKED, 0); /* left by a process that was killed */
		st = iso_journal_repair(p->folder, name);
	}
	if (st) leave(p);
	return st;
}

/* Whoever can't make the lock can't repair either. */
int iso_commit_repair(const char *path)
{
	char name[PATH_MAX];
	struct place p = { -1, -1 };
	int st = iso_out_folder(name, sizeof name, path);

	if (st) return st;
	p.folder = open_folder(name);
	if (p.folder < 0) return ISO_OK; /* whoever opens the file will say it better */
	if (iso_journal_exists(p.folder)) {
		enum iso_locked got = iso_lock_file(&p.lock, p.folder, LOCK);

		if (got == ISO_LOCK_MINE)
			st = iso_journal_repair(p.folder, name);
		else if (got == ISO_LOCK_NONE)
			st = repair_unlocked(p.folder, name, path);
	}
	leave(&p);
	return st;
}

/* ---- names for files without one ---- */

static int copy(int to, int from)
{
	char block[COPY];
	ssize_t got;

	for (off_t at = 0; (got = pread(from, block, sizeof block, at)) > 0; at += got)
		if (write(to, block, (size_t)got) != got) return -1;
	return got < 0 || fsync(to) ? -1 : 0;
}

/* Where such a file can't be linked, though the system has them. A repair takes what has the name for
   whole, so the copy gets it last. */
static int copy_to(int folder, const char *name, int from)
{
	char part[ISO_TEMP_NAME];
	int to, bad;

	if (iso_temp_name(part)) return -1;
	to = openat(folder, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (to < 0) return -1;
	bad = copy(to, from);
	if (close(to) == 0 && !bad && renameat(folder, part, folder, name) == 0) return 0;
	unlinkat(folder, part, 0);
	return -1;
}

/* `name` is random: nobody else has it. */
static int give_name(const struct iso_out *o, int folder, const char *name)
{
	if (linkat(AT_FDCWD, o->temp, folder, name, AT_SYMLINK_FOLLOW) == 0) return 0;
	return errno == EEXIST ? -1 : copy_to(folder, name, o->fd);
}

/* From now on the content belongs to the folder. */
static void settle(struct iso_out *o)
{
	free(o->temp);
	o->temp = NULL;
	o->named = false;
}

/* ---- one file ---- */

static int replace(struct iso_out *o, int folder)
{
	char random[ISO_TEMP_NAME];
	const char *name = LINKED;
	int st;

	/* it may be somebody else's, who can't lock or is no longer */
	if (linkat(AT_FDCWD, o->temp, folder, name, AT_SYMLINK_FOLLOW)) {
		if ((st = iso_temp_name(random))) return st;
		name = random;
		if (give_name(o, folder, name)) return iso_fail_errno(o->path, "name its temporary file");
	}
	if (renameat(folder, name, folder, iso_base_name(o->path)) == 0) return ISO_OK;
	st = iso_fail_errno(o->path, "rename its temporary file");
	unlinkat(folder, name, 0);
	return st;
}

static int commit_one(struct iso_out *o, int folder)
{
	const char *name = iso_base_name(o->path);
	int st = ISO_OK;

	if (o->named && renameat(folder, iso_base_name(o->temp), folder, name))
		st = iso_fail_errno(o->path, "rename its temporary file");
	else if (!o->named && linkat(AT_FDCWD, o->temp, folder, name, AT_SYMLINK_FOLLOW))
		st = replace(o, folder);
	if (!st) settle(o);
	return st;
}

/* ---- several ---- */

static int list(struct iso_journal *j, int folder, int n, struct iso_out *const *out)
{
	int st = ISO_OK;

	for (int i = 0; i < n && !st; i++) {
		struct iso_journal_entry *e = &j->entry[i];
		struct stat s;

		snprintf(e->final, sizeof e->final, "%s", iso_base_name(out[i]->path));
		if (out[i]->named)
			snprintf(e->temp, sizeof e->temp, "%s", iso_base_name(out[i]->temp));
		else
			st = iso_temp_name(e->temp);
		e->replaces = fstatat(folder, e->final, &s, AT_SYMLINK_NOFOLLOW) == 0;
		if (!st && e->replaces && S_ISDIR(s.st_mode))
			st = iso_fail(ISO_EIO, "%s is a folder, not a file to write", out[i]->path);
		if (!st && e->replaces) st = iso_temp_name(e->old);
	}
	j->n = n;
	return st;
}

/* Some file systems have no links: there the old file gives up its name for a moment. */
static int put(const struct iso_journal_entry *e, int folder)
{
	if (e->replaces && linkat(folder, e->final, folder, e->old, 0) &&
	    renameat(folder, e->final, folder, e->old))
		return -1;
	return renameat(folder, e->temp, folder, e->final);
}

/* Without a lock, the journal itself keeps other writers waiting. */
static int create_journal(int *fd, int folder, const char *name, const char *path)
{
	for (int ms = 0; ms < NO_LOCK_MS; ms += WAIT_MS) {
		int st = iso_journal_create(fd, folder, name);

		if (st || *fd >= 0 || (st = wait_a_little(path))) return st;
	}
	return iso_fail(ISO_EIO, "%s: another process has had a journal in folder %s for %d s", path, name,
	                NO_LOCK_MS / 1000);
}

/* What stands in the places is looked at when no other writer is at them any more. */
static int begin(struct iso_journal *j, int folder, const char *name, int n, struct iso_out *const *out)
{
	int fd, st = create_journal(&fd, folder, name, out[0]->path);

	if (st) return st;
	if (!(st = list(j, folder, n, out))) return iso_journal_write(j, fd, folder, name);
	close(fd);
	iso_journal_close(&(struct iso_journal){ 0 }, folder);
	return st;
}

static int commit_several(int n, struct iso_out *const *unsorted, int folder, const char *name)
{
	struct iso_out *out[ISO_JOURNAL_MOST];
	struct iso_journal j = { 0 };
	int st;

	/* those that have a name come first: the last temporary to get one tells that all have */
	for (int i = 0, k = 0; i < 2 * n; i++)
		if (unsorted[i % n]->named == (i < n)) out[k++] = unsorted[i % n];
	if ((st = begin(&j, folder, name, n, out))) return st;
	for (int i = 0; i < n && !st; i++)
		if (!out[i]->named && give_name(out[i], folder, j.entry[i].temp))
			st = iso_fail_errno(out[i]->path, "name its temporary file");
	bool all_named = !st;

	for (int i = 0; i < n && !st; i++)
		if (put(&j.entry[i], folder)) st = iso_fail_errno(out[i]->path, "put it in its place");
	(st && all_named ? iso_journal_undo : iso_journal_close)(&j, folder);
	for (int i = 0; i < n; i++) settle(out[i]);
	return st;
}

static bool one_folder(int n, struct iso_out *const *out)
{
	ptrdiff_t length = iso_base_name(out[0]->path) - out[0]->path;
	bool one = true;

	for (int i = 1; i < n; i++)
		one = one && iso_base_name(out[i]->path) - out[i]->path == length &&
		      strncmp(out[i]->path, out[0]->path, (size_t)length) == 0;
	return one;
}

/* Names are as safe as the files once the folder is flushed; some file systems can't do that. */
int iso_out_commit_all(int n, struct iso_out *const *out)
{
	char name[PATH_MAX];
	struct place p;
	int st = iso_out_folder(name, sizeof name, out[0]->path);

	if (st || (st = iso_stop_check(out[0]->path))) return st;
	if (n < 1 || n > ISO_JOURNAL_MOST || !one_folder(n, out))
		return iso_fail(ISO_EARG, "%s: a commit of %d files, must be 1 to %d of one folder",
		                out[0]->path, n, ISO_JOURNAL_MOST);
	if ((st = enter(&p, name, out[0]->path))) return st;
	st = n == 1 ? commit_one(out[0], p.folder) : commit_several(n, out, p.folder, name);
	if (!st) fsync(p.folder);
	leave(&p);
	return st;
}
