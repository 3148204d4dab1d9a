/* SPDX-License-Identifier: BSD-3-Clause */
/* A child process that reads a file and sends what it read through a pipe, or writes one. */
#define _GNU_SOURCE /* pipe2 */
#include "apart.h"
#include "h5.h"
#include "core/ctx.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 10
#define MEMORY ((int64_t)256 << 20) /* bytes for the library itself */

/* What comes first: the outcome. */
struct outcome {
	int st;
	char message[512];
};

bool iso_apart_send(int fd, const void *data, int64_t bytes)
{
	const char *from = data;

	while (bytes > 0) {
		ssize_t n = write(fd, from, (size_t)bytes);

		if (n < 0 && errno != EINTR) return false;
		from += n > 0 ? n : 0;
		bytes -= n > 0 ? n : 0;
	}
	return true;
}

bool iso_apart_take(int fd, void *data, int64_t bytes)
{
	char *to = data;

	while (bytes > 0) {
		ssize_t n = read(fd, to, (size_t)bytes);

		if (n == 0 || (n < 0 && errno != EINTR)) return false;
		to += n > 0 ? n : 0;
		bytes -= n > 0 ? n : 0;
	}
	return true;
}

/* Beyond what was mapped before the fork. */
static void limit_memory(int64_t more)
{
	int64_t mapped = iso_memory_mapped();
	rlim_t most = (rlim_t)(mapped + MEMORY + more);

	if (mapped > 0) setrlimit(RLIMIT_AS, &(struct rlimit){ most, most });
}

/* It ends with us, and nothing of a crash is to be seen: neither words, nor a core, nor the program's
   own handlers. */
static void prepare_child(const struct iso_apart *a, int64_t bytes)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU };
	rlim_t seconds = (rlim_t)(PATIENCE_S + (bytes >> 20));
	int nowhere = open("/dev/null", O_WRONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (a->take) /* what is written is no damaged file, and has no limits */
		limit_memory(a->memory);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	if (a->take) setrlimit(RLIMIT_CPU, &(struct rlimit){ seconds, seconds });
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
	signal(SIGINT, SIG_IGN); /* meant for the parent, which ends in its own way */
	signal(SIGTERM, SIG_IGN);
	if (nowhere >= 0) {
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
	}
}

static void child(const struct iso_apart *a, int64_t bytes, int fd)
{
	struct outcome o = { 0 };

	prepare_child(a, bytes);
	iso_h5_alone();
	o.st = a->work(a->arg);
	snprintf(o.message, sizeof o.message, "%s", o.st ? iso_message() : "");
	if (iso_apart_send(fd, &o, sizeof o) && !o.st && a->send) a->send(a->arg, fd);
	_exit(0);
}

static int died(const char *path, const struct iso_apart *a)
{
	if (!a->take)
		return iso_fail(ISO_ENOMEM, "%s: the HDF5 library failed to write it: it has no memory",
		                path);
	return iso_fail(ISO_EINPUT,
	                "%s: a damaged file, on which the HDF5 library fails (or it has no "
	                "memory)",
	                path);
}

static int parent(const char *path, const struct iso_apart *a, int fd)
{
	struct outcome o;

	if (!iso_apart_take(fd, &o, sizeof o)) return died(path, a);
	o.message[sizeof o.message - 1] = '\0';
	if (o.st) return iso_fail(o.st, "%s", o.message);
	return a->take ? a->take(a->arg, fd) : ISO_OK;
}

int iso_apart(const char *path, const struct iso_apart *a, int64_t bytes)
{
	int fd[2], st;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return iso_fail(ISO_EIO, "%s: no pipe to the HDF5 library: %s", path, strerror(errno));
	iso_h5_lock();
	pid = fork();
	if (pid == 0) {
		close(fd[0]);
		child(a, bytes, fd[1]);
	}
	iso_h5_unlock();
	close(fd[1]);
	st = pid > 0 ? parent(path, a, fd[0])
	             : iso_fail(ISO_EIO, "%s: no process for the HDF5 library: %s", path, strerror(errno));
	close(fd[0]); /* a child that still sends ends by that */
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return st;
}
