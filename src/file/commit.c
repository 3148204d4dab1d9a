/* SPDX-License-Identifier: BSD-3-Clause */
/* One commit for several files: the journal, and its repair after a process was killed.

   The journal, `.isotome.journal` in the folder of the files, lists for each file its temporary name,
   the name that keeps the file it replaces, and its final name. A commit

	1. writes the journal and flushes it to disk,
	2. gives names to the temporaries that have none, in the order of the list,
	3. for each file, keeps the old one by a link and renames the new one over it,
	4. removes the old ones and the journal.

   Temporaries that have a name from the start come first in the list. So, if the process is killed:
   while the last temporary is there, all are, and the renames are finished; once it is gone, either all
   renames are done, or none began and what temporaries there are go. A rename that fails turns the
   journal into `.isotome.undo`, by which all old files come back.
   The folder is locked during a commit, by the file `.isotome.lock` in it (lock.h): a journal in an
   unlocked folder is a dead process's. Where there are no locks, one that stays for ten seconds is.

   The journal is a text of fields that end with NUL: "isotome journal 1", then for each file temporary, old
   ("" if it replaces none) and final name, then "end". It is untrusted: only one of our own user's is
   obeyed, and only names in its own folder. `folder` is an open folder, `name` its name for messages. */
#define _GNU_SOURCE /* O_PATH */
#include "out.h"
#include "lock.h"
#include "suffix.h"
#include "core/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK ".isotome.lock"
#define LINKED ".isotome-commit.tmp" /* exists in a locked folder for the time of two calls */

enum { WAIT_MS = 10, LOCK_MS = 60000, NO_LOCK_MS = 10000, COPY = 1 << 16 };

#define JOURNAL ".isotome.journal"
#define UNDO ".isotome.undo"
#define FIRST "isotome journal 1"
#define LAST "end"

struct entry {
	char temp[ISO_TEMP_NAME], old[ISO_TEMP_NAME], final[NAME_MAX + 1];
	bool replaces; /* a file stood at `final` */
};

struct journal {
	int n;
	struct entry entry[ISO_COMMIT_MOST];
};

enum { MOST_BYTES = 64 + ISO_COMMIT_MOST * (int)sizeof(struct entry) };

/* ---- the journal as text ---- */

static int to_text(char text[MOST_BYTES], const struct journal *j)
{
	int at = sprintf(text, FIRST "%c", 0);

	for (int i = 0; i < j->n; i++) {
		const struct entry *e = &j->entry[i];

		at += sprintf(text + at, "%s%c%s%c%s%c", e->temp, 0, e->old, 0, e->final, 0);
	}
	return at + sprintf(text + at, LAST "%c", 0);
}

static bool is_temp(const char *name)
{
	return strlen(name) == 29 && strncmp(name, ".isotome-", 9) == 0 &&
	       strspn(name + 9, "0123456789abcdef") == 16 && strcmp(name + 25, ".tmp") == 0;
}

/* A name in this folder, and none of the commit's own. */
static bool is_final(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       strncmp(name, ".isotome", 8) != 0;
}

/* The next field of at most `size` chars; false if there is none. */
static bool next(char *field, size_t size, const char **at, const char *end)
{
	const char *stop = memchr(*at, '\0', (size_t)(end - *at));
	size_t n = stop ? (size_t)(stop - *at) + 1 : 0;

	if (n == 0 || n > size) return false;
	memcpy(field, *at, n);
	*at += n;
	return true;
}

static bool from_text(struct journal *j, const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes;
	char first[sizeof FIRST];

	if (!next(first, sizeof first, &at, end) || strcmp(first, FIRST) != 0) return false;
	for (j->n = 0; end - at != sizeof LAST; j->n++) {
		struct entry *e = &j->entry[j->n];

		if (j->n == ISO_COMMIT_MOST || !next(e->temp, sizeof e->temp, &at, end) ||
		    !next(e->old, sizeof e->old, &at, end) || !next(e->final, sizeof e->final, &at, end))
			return false;
		e->replaces = e->old[0];
		if (!is_temp(e->temp) || (e->replaces && !is_temp(e->old)) || !is_final(e->final))
			return false;
	}
	return j->n > 0 && strcmp(at, LAST) == 0;
}

/* ---- as a file ---- */

static bool exists(int folder, const char *file)
{
	struct stat s;

	return fstatat(folder, file, &s, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool journal_exists(int folder)
{
	return exists(folder, JOURNAL) || exists(folder, UNDO);
}

/* Bytes of the file, which must be a plain one of our own; -1: it is not. */
static ssize_t read_own(char text[MOST_BYTES], int folder, const char *file)
{
	int fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = -1;
	struct stat s;

	if (fd < 0) return -1;
	if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() && s.st_size <= MOST_BYTES)
		n = read(fd, text, MOST_BYTES);
	close(fd);
	return n;
}

/* ---- the three ways to its end ---- */

/* Removes the journal with all that it names but the final files. */
static void sweep(const struct journal *j, int folder, const char *file)
{
	for (int i = 0; i < j->n; i++) {
		unlinkat(folder, j->entry[i].temp, 0);
		if (j->entry[i].replaces) unlinkat(folder, j->entry[i].old, 0);
	}
	unlinkat(folder, file, 0);
}

/* The undo journal is made after all temporary files got their names, so a temporary file that is gone has
   been renamed to its final name already. Where the old file and the final one are the same file, rename
   does nothing, and the sweep removes the old name. */
static int take_back(const struct journal *j, int folder)
{
	for (int i = j->n - 1; i >= 0; i--) {
		const struct entry *e = &j->entry[i];

		if (e->replaces)
			renameat(folder, e->old, folder, e->final);
		else if (!exists(folder, e->temp))
			unlinkat(folder, e->final, 0);
	}
	sweep(j, folder, UNDO);
	return ISO_OK;
}

/* Temporaries are renamed in the order of the list: while the last is there, all were. */
static int go_on(const struct journal *j, int folder, const char *name)
{
	bool all = exists(folder, j->entry[j->n - 1].temp);

	for (int i = 0; all && i < j->n; i++) {
		const struct entry *e = &j->entry[i];

		if (exists(folder, e->temp) && renameat(folder, e->temp, folder, e->final))
			return iso_fail(ISO_EIO,
			                "%s/%s: a commit that was interrupted can't be finished, %s: %s",
			                name, JOURNAL, e->final, strerror(errno));
	}
	sweep(j, folder, JOURNAL);
	return ISO_OK;
}

static int journal_repair(int folder, const char *name)
{
	static const char *const files[] = { UNDO, JOURNAL };
	const ssize_t last = sizeof LAST;
	int st = ISO_OK;

	for (int k = 0; k < 2 && !st; k++) {
		struct journal j = { 0 };
		char text[MOST_BYTES];
		ssize_t n;

		if (!exists(folder, files[k])) continue;
		n = read_own(text, folder, files[k]);
		if (n >= 0 && (n < last || memcmp(text + n - last, LAST, sizeof LAST) != 0))
			unlinkat(folder, files[k], 0); /* cut short, it was never obeyed */
		else if (n >= 0 && from_text(&j, text, (size_t)n))
			st = k == 0 ? take_back(&j, folder) : go_on(&j, folder, name);
		else if (exists(folder, files[k])) /* or its owner has just finished */
			st = iso_fail(ISO_EIO,
			              "%s/%s: not a journal that this user wrote; whoever did can repair it "
			              "by reading a file of this folder, else remove it",
			              name, files[k]);
	}
	return st;
}

/* ---- the folder and its lock ---- */

struct place {
	int folder, lock; /* lock: -1 where there is none */
};

static int wait_a_little(const char *path)
{
	nanosleep(&(struct timespec){ .tv_nsec = WAIT_MS * 1000000 }, NULL);
	return iso_stop_check(NULL, path);
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

/* Without a lock, a journal may be a living process's: it gets time to go. One that stays is a dead one's. */
static int repair_unlocked(int folder, const char *name, const char *path)
{
	int st;

	for (int ms = 0; ms < NO_LOCK_MS; ms += WAIT_MS) {
		if (!journal_exists(folder)) return ISO_OK;
		if ((st = wait_a_little(path))) return st;
	}
	return journal_repair(folder, name);
}

/* What a process that was killed left, in a locked folder. */
static int clean_up(int folder, const char *name)
{
	unlinkat(folder, LINKED, 0);
	return journal_repair(folder, name);
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
		st = clean_up(p->folder, name);
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

	if (st || iso_out_is_mute()) return st;
	p.folder = open_folder(name);
	if (p.folder < 0) return ISO_OK; /* whoever opens the file will say it better */
	if (journal_exists(p.folder) || exists(p.folder, LOCK)) {
		enum iso_locked got = iso_lock_file(&p.lock, p.folder, LOCK);

		if (got == ISO_LOCK_MINE)
			st = clean_up(p.folder, name);
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

/* For file systems that make files without a name (O_TMPFILE) but can't link them to one. A repair takes a
   file of the name `name` for complete, so the copy is written under another name and renamed last. */
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

/* The content has a name in the folder now: closing `o` must not remove it. */
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

	/* the name LINKED may be taken, by a process that can't lock or has ended */
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

static int list(struct journal *j, int folder, int n, struct iso_out *const *out)
{
	int st = ISO_OK;

	for (int i = 0; i < n && !st; i++) {
		struct entry *e = &j->entry[i];
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
static int put(const struct entry *e, int folder)
{
	if (e->replaces && linkat(folder, e->final, folder, e->old, 0) &&
	    renameat(folder, e->final, folder, e->old))
		return -1;
	return renameat(folder, e->temp, folder, e->final);
}

/* An empty journal, which counts for nothing yet. Without a lock, it is what keeps other writers waiting. */
static int create_journal(int *fd, int folder, const char *name, const char *path)
{
	int st;

	for (int ms = 0; ms < NO_LOCK_MS; ms += WAIT_MS) {
		*fd = openat(folder, JOURNAL, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (*fd >= 0) return ISO_OK;
		if (errno != EEXIST)
			return iso_fail(ISO_EIO, "%s/%s: can't create: %s", name, JOURNAL, strerror(errno));
		if ((st = wait_a_little(path))) return st;
	}
	return iso_fail(ISO_EIO, "%s: another process has had a journal in folder %s for %d s", path, name,
	                NO_LOCK_MS / 1000);
}

/* Looks at the files under the final names only now that the folder is locked and no other process writes
   them. */
static int begin(struct journal *j, int folder, const char *name, int n, struct iso_out *const *out)
{
	char text[MOST_BYTES];
	int bytes, fd, st = create_journal(&fd, folder, name, out[0]->path);

	if (st) return st;
	st = list(j, folder, n, out);
	bytes = to_text(text, j);
	if (!st && (write(fd, text, (size_t)bytes) != bytes || !iso_flushed(fd)))
		st = iso_fail(ISO_EIO, "%s/%s: can't write: %s", name, JOURNAL, strerror(errno));
	close(fd);
	if (st) unlinkat(folder, JOURNAL, 0);
	return st;
}

static int commit_several(int n, struct iso_out *const *unsorted, int folder, const char *name)
{
	struct iso_out *out[ISO_COMMIT_MOST];
	struct journal j = { 0 };
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
	if (!st || !all_named)
		sweep(&j, folder, JOURNAL);
	else if (renameat(folder, JOURNAL, folder, UNDO) == 0)
		take_back(&j, folder);
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

	if (out[0]->mute) return ISO_OK;
	if (st || (st = iso_stop_check(out[0]->ctx, out[0]->path))) return st;
	if (n < 1 || n > ISO_COMMIT_MOST || !one_folder(n, out))
		return iso_fail(ISO_EARG, "%s: a commit of %d files, must be 1 to %d of one folder",
		                out[0]->path, n, ISO_COMMIT_MOST);
	if ((st = enter(&p, name, out[0]->path))) return st;
	st = n == 1 ? commit_one(out[0], p.folder) : commit_several(n, out, p.folder, name);
	if (!st) fsync(p.folder);
	leave(&p);
	return st;
}
