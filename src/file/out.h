/* SPDX-License-Identifier: BSD-3-Clause */
/* Safe writing: a temporary file in the target's folder, every write checked, fsync, and one commit
   for all files of an output. A signal ends it. */
#ifndef ISO_OUT_H
#define ISO_OUT_H

#include "base/number.h"
#include "core/progress.h"

#include <signal.h>

/* For programs without a context: from now on files are read and written only while *flag is 0. It is the
   process's, as signals are; NULL, as at the start: none. */
void iso_stop_watch(const volatile sig_atomic_t *flag);

/* Whether the context (NULL: none) was asked to stop, or the flag is set; and ISO_ECANCEL, with `path` in the
   message, if so. */
bool iso_stop_asked(const iso_ctx *ctx);
int iso_stop_check(const iso_ctx *ctx, const char *path);

/* Mutes this thread: from now on nothing that is written here comes into its place, nothing is removed, and no lock
   taken. Processes that share the work of one run are mute but for the first. Returns what was before. */
bool iso_out_mute(bool on);
bool iso_out_is_mute(void);

/* All zero: nothing open. */
struct iso_out {
	char *path;
	char *temp;         /* by which the content can be opened until the commit */
	bool named;         /* temp is a file of that name; else it leads to fd through /proc */
	int fd;             /* -1: closed */
	bool mute;          /* written to nowhere */
	void *gz;           /* gzFile, or NULL */
	const iso_ctx *ctx; /* whose request to stop ends it: set after iso_out_open; NULL: nobody's */
	int64_t size;       /* bytes to come, before they are packed: for progress; 0: not known */
	struct iso_clock clock;
};

/* ISO_OUT_NAMED: for a library that writes to `temp` by its name, and won't be led through /proc. */
enum iso_out_how { ISO_OUT_PLAIN, ISO_OUT_GZIP, ISO_OUT_NAMED };

/* `size`: bytes to come, checked against the free space; 0 if not known. */
int iso_out_open(struct iso_out *o, const char *path, int64_t size, enum iso_out_how how);

int iso_out_write(struct iso_out *o, const void *data, int64_t bytes);

/* Text of at most 1023 bytes, its numbers with a decimal point in any locale; longer is ISO_EARG. */
int iso_out_print(struct iso_out *o, const char *fmt, ...) ISO_PRINTF(2, 3);

/* All `bytes` at `at` of a file; `path`: for the message. */
int iso_write_at(const char *path, int fd, const void *data, int64_t bytes, int64_t at);

/* fsync; some file systems know none: then there is nothing to wait for. */
bool iso_flushed(int fd);

/* Flush to disk: what can fail, fails here. */
int iso_out_close(struct iso_out *o);

/* Puts a closed file in its place. */
int iso_out_commit(struct iso_out *o);

#define ISO_COMMIT_MOST 8 /* files of one output */

/* Puts several closed files of one folder in their places, all or none: a failure leaves those that
   stood there as they were. If the process is killed meanwhile, the next one that opens a file of this
   folder, to read or to write, finishes it (commit.c). */
int iso_out_commit_all(int n, struct iso_out *const *out);

/* Finishes what a killed process left of a commit in the folder of `path`. ISO_OK where there is
   nothing to do, a living process is at it, or this one may not write there; a failure says what stands
   in the way of writing. */
int iso_commit_repair(const char *path);

/* Remove the temporary file, if any, and free; also right after a commit. */
void iso_out_free(struct iso_out *o);

/* What stands in a place: nothing, a file that 'force' may replace, or a folder, device, pipe or socket. A link is what it
   leads to, and one that leads nowhere a file: a file replaces the link, never what it leads to. */
enum iso_stands { ISO_STANDS_NOTHING, ISO_STANDS_FILE, ISO_STANDS_OTHER };
enum iso_stands iso_stands_at(const char *path);

/* ISO_EARG if something stands there that may not be replaced; `of`: the output that it belongs to, or NULL. */
int iso_stands_check(const char *path, const char *of, bool force);
/* As iso_stands_check, when the file is about to be written. A mute process writes none: what it meets there is what
   the first of its kind just wrote. */
int iso_out_check(const char *path, const char *of, bool force);

/* Removes a file, if it is there, unless the thread is mute. */
void iso_out_remove(const char *path);

/* All of the above for one small text. */
int iso_out_text(const char *path, const char *text);

/* The folder of `path`, "." if it names none. */
int iso_out_folder(char *folder, size_t size, const char *path);

#define ISO_TEMP_NAME 32 /* chars of ".isotome-0123456789abcdef.tmp", and the end */

/* A random name of that kind. */
int iso_temp_name(char name[ISO_TEMP_NAME]);

#endif
