/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing, checking and finishing the journal of a commit. */
#include "journal.h"
#include "out.h"
#include "core/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL ".isotome.journal"
#define UNDO ".isotome.undo"
#define FIRST "isotome journal 1"
#define LAST "end"

enum { MOST_BYTES = 64 + ISO_JOURNAL_MOST * (int)sizeof(struct iso_journal_entry) };

/* ---- as text ---- */

static int to_text(char text[MOST_BYTES], const struct iso_journal *j)
{
	int at = sprintf(text, FIRST "%c", 0);

	for (int i = 0; i < j->n; i++) {
		const struct iso_journal_entry *e = &j->entry[i];

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

static bool from_text(struct iso_journal *j, const char *text, size_t bytes)
{
	const char *at = text, *end = text + bytes;
	char first[sizeof FIRST];

	if (!next(first, sizeof first, &at, end) || strcmp(first, FIRST) != 0) return false;
	for (j->n = 0; end - at != sizeof LAST; j->n++) {
		struct iso_journal_entry *e = &j->entry[j->n];

		if (j->n == ISO_JOURNAL_MOST || !next(e->temp, sizeof e->temp, &at, end) ||
		    !next(e->old, sizeof e->old, &at, end) || !next(e->final, sizeof e->final, &at, end))
			return false;
		e->replaces = e->old[0];
		if (!is_temp(e->temp) || (e->replaces && !is_temp(e->old)) || !is_final(e->final))
			return false;
	}
	return j->n > 0 && strcmp(at, LAST) == 0;
}

/* ---- as a file ---- */

int iso_journal_create(int *fd, int folder, const char *name)
{
	*fd = openat(folder, JOURNAL, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (*fd >= 0 || errno == EEXIST) return ISO_OK;
	return iso_fail(ISO_EIO, "%s/%s: can't create: %s", name, JOURNAL, strerror(errno));
}

int iso_journal_write(const struct iso_journal *j, int fd, int folder, const char *name)
{
	char text[MOST_BYTES];
	int n = to_text(text, j), st = ISO_OK;

	if (write(fd, text, (size_t)n) != n || !iso_flushed(fd))
		st = iso_fail(ISO_EIO, "%s/%s: can't write: %s", name, JOURNAL, strerror(errno));
	close(fd);
	if (st) unlinkat(folder, JOURNAL, 0);
	return st;
}

static bool exists(int folder, const char *file)
{
	struct stat s;

	return fstatat(folder, file, &s, AT_SYMLINK_NOFOLLOW) == 0;
}

bool iso_journal_exists(int folder)
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

static void sweep(const struct iso_journal *j, int folder, const char *file)
{
	for (int i = 0; i < j->n; i++) {
		unlinkat(folder, j->entry[i].temp, 0);
		if (j->entry[i].replaces) unlinkat(folder, j->entry[i].old, 0);
	}
	unlinkat(folder, file, 0);
}

void iso_journal_close(const struct iso_journal *j, int folder)
{
	sweep(j, folder, JOURNAL);
}

/* All temporaries had a name: one that is gone stands in its place. Where old and final are one file,
   rename does nothing, and the sweep removes the old name. */
static void take_back(const struct iso_journal *j, int folder)
{
	for (int i = j->n - 1; i >= 0; i--) {
		const struct iso_journal_entry *e = &j->entry[i];

		if (e->replaces)
			renameat(folder, e->old, folder, e->final);
		else if (!exists(folder, e->temp))
			unlinkat(folder, e->final, 0);
	}
	sweep(j, folder, UNDO);
}

void iso_journal_undo(const struct iso_journal *j, int folder)
{
	if (renameat(folder, JOURNAL, folder, UNDO) == 0) take_back(j, folder);
}

/* Temporaries are renamed in the order of the list: while the last is there, all were. */
static int go_on(const struct iso_journal *j, int folder, const char *name)
{
	bool all = exists(folder, j->entry[j->n - 1].temp);

	for (int i = 0; all && i < j->n; i++) {
		const struct iso_journal_entry *e = &j->entry[i];

		if (exists(folder, e->temp) && renameat(folder, e->temp, folder, e->final))
			return iso_fail(ISO_EIO,
			                "%s/%s: a commit that was interrupted can't be finished, %s: %s",
			                name, JOURNAL, e->final, strerror(errno));
	}
	sweep(j, folder, JOURNAL);
	return ISO_OK;
}

static int unusable(int folder, const char *name, const char *file)
{
	if (!exists(folder, file)) return ISO_OK; /* its owner has just finished */
	return iso_fail(ISO_EIO,
	                "%s/%s: not a journal that this user wrote; whoever did can repair it by reading a "
	                "file of this folder, else remove it",
	                name, file);
}

int iso_journal_repair(int folder, const char *name)
{
	static const char *const files[] = { UNDO, JOURNAL };
	const ssize_t last = sizeof LAST;
	int st = ISO_OK;

	for (int k = 0; k < 2 && !st; k++) {
		struct iso_journal j = { 0 };
		char text[MOST_BYTES];
		ssize_t n;

		if (!exists(folder, files[k])) continue;
		n = read_own(text, folder, files[k]);
		if (n >= 0 && (n < last || memcmp(text + n - last, LAST, sizeof LAST) != 0))
			unlinkat(folder, files[k], 0); /* cut short, it was never obeyed */
		else if (n < 0 || !from_text(&j, text, (size_t)n))
			st = unusable(folder, name, files[k]);
		else if (k == 0)
			take_back(&j, folder);
		else
			st = go_on(&j, folder, name);
	}
	return st;
}
