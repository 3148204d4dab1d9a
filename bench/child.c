/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting the program as a child, reading what it says, waiting for its end. */
#define _GNU_SOURCE /* pipe2, wait4 */
#include "child.h"

#include "core/progress.h"
#include "file/in.h"
#include "text/json_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGES "messages.txt" /* its standard error */
#define MOST_WORDS 64
#define MOST_CHARS 1024 /* of a command line */
#define LONGEST_MESSAGE 1024
#define LOOK_MS 100 /* a signal that came before poll is seen after so long */

/* The words of a line, as exec wants them. */
struct words {
	char text[MOST_CHARS];
	char *argv[MOST_WORDS + 2];
};

static void split(struct words *w, const char *line)
{
	static char program[] = "isotome";
	char *next = w->text;
	int n = 0;

	assert(strlen(line) < sizeof w->text);
	strcpy(w->text, line);
	w->argv[n++] = program;
	for (char *word; (word = strsep(&next, " "));)
		if (*word) {
			assert(n <= MOST_WORDS);
			w->argv[n++] = word;
		}
	w->argv[n] = NULL;
}

/* ---- the child's side, between fork and exec: nothing here takes memory ---- */

_Noreturn static void become(const char *program, const struct words *w, const char *folder, int out,
                             pid_t parent)
{
	int messages;

	prctl(PR_SET_PDEATHSIG, SIGTERM); /* a parent that is killed leaves no child behind */
	if (getppid() != parent || chdir(folder) != 0) _exit(127);
	messages = open(MESSAGES, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (messages < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(messages, STDERR_FILENO) < 0) _exit(127);
	execv(program, w->argv);
	_exit(127);
}

/* ---- the parent's ---- */

static int grow(char **text, size_t *room, size_t used)
{
	char *more;

	if (used < *room) return ISO_OK;
	more = realloc(*text, *room += 1 << 16);
	if (!more) return iso_fail_memory("what a child says", (int64_t)*room);
	*text = more;
	return ISO_OK;
}

/* All that comes through the pipe until its writer ends. A signal that this process gets is handed on. */
static int listen_to(char **text, size_t *size, int in, pid_t child)
{
	bool told = false;
	size_t room = 0;
	ssize_t n = 1;
	int st = ISO_OK;

	while (n != 0 && !st) {
		struct pollfd p = { .fd = in, .events = POLLIN };

		if (cmd_signal() && !told) told = kill(child, cmd_signal()) == 0;
		if (poll(&p, 1, LOOK_MS) <= 0) continue;
		if ((st = grow(text, &room, *size))) break;
		n = read(in, *text + *size, room - *size);
		if (n > 0) *size += (size_t)n;
		if (n < 0 && errno != EINTR) st = iso_fail(ISO_EIO, "a child: %s", strerror(errno));
	}
	if (st) kill(child, SIGTERM);
	return st;
}

/* The last line of what it said, without the program's name and the command's. */
static const char *message(char text[LONGEST_MESSAGE], const char *folder)
{
	char path[PATH_MAX], *at, *start;
	int64_t n = 0;
	int fd;

	snprintf(path, sizeof path, "%s/" MESSAGES, folder);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
		off_t end = lseek(fd, 0, SEEK_END);

		n = iso_read_at(fd, text, LONGEST_MESSAGE - 1,
		                end < LONGEST_MESSAGE ? 0 : end - LONGEST_MESSAGE + 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && text[n - 1] == '\n') text[--n] = '\0';
	start = (at = strrchr(text, '\n')) ? at + 1 : text;
	return strncmp(start, "isotome ", 8) == 0 && (at = strstr(start, ": ")) ? at + 2 : start;
}

/* The other way round than the program's exit codes. */
static int status_of(int code)
{
	return code == 2   ? ISO_EARG
	       : code == 3 ? ISO_EINPUT
	       : code == 4 ? ISO_ENOMEM
	       : code == 5 ? ISO_EDEVICE
	                   : ISO_EIO;
}

static int check_end(int how, const char *folder, const char *line)
{
	char text[LONGEST_MESSAGE];
	const char *said;

	if (cmd_signal()) return iso_fail(ISO_ECANCEL, "interrupted");
	if (WIFEXITED(how) && WEXITSTATUS(how) == 0) return ISO_OK;
	said = message(text, folder);
	if (WIFSIGNALED(how))
		return iso_fail(ISO_EIO, "'isotome %s' was ended by signal %d", line, WTERMSIG(how));
	return iso_fail(status_of(WEXITSTATUS(how)), "'isotome %s': %s", line,
	                *said ? said : "it could not be started");
}

int child_run(struct child *to, const char *folder, const char *line)
{
	const pid_t parent = getpid();
	struct rusage use = { 0 };
	struct words words;
	double began_s;
	char *text = NULL;
	size_t size = 0;
	char program[PATH_MAX];
	int ends[2], how = 0, st;
	pid_t pid;

	*to = (struct child){ 0 };
	split(&words, line);
	if (!program_find(program, "isotome"))
		return iso_fail(ISO_EINPUT,
		                "the program isotome is neither beside isotome-bench nor on the PATH");
	setenv("ISOTOME_CACHE", "none", 1); /* every run does all of its work */
	if (pipe2(ends, O_CLOEXEC) != 0) return iso_fail(ISO_EIO, "a pipe: %s", strerror(errno));
	began_s = iso_now_s();
	if ((pid = fork()) == 0) become(program, &words, folder, ends[1], parent);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return iso_fail(ISO_EIO, "a child can't be started: %s", strerror(errno));
	}
	st = listen_to(&text, &size, ends[0], pid);
	while (wait4(pid, &how, 0, &use) < 0 && errno == EINTR) {
	}
	to->wall_s = iso_now_s() - began_s;
	to->peak_bytes = (int64_t)use.ru_maxrss * 1024;
	close(ends[0]);
	if (!st) st = check_end(how, folder, line);
	if (!st && size > 0) st = iso_json_parse(&to->record, line, text, size);
	free(text);
	return st;
}
