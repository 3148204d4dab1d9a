/* SPDX-License-Identifier: BSD-3-Clause */
/* A child process that reads a file and sends what it read through a pipe, or writes one. */
#define _GNU_SOURCE /* pipe2 */
#include "h5.h"
#include "core/ctx.h"
#include "file/out.h"
#include "file/suffix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 10
#define MEMORY ((int64_t)256 << 20) /* bytes for the library itself */
#define LOOK_MS 50                  /* from look to look for a request to stop, while nothing comes */

/* What comes first: the outcome. */
struct outcome {
	int st;
	char message[512];
};

/* Until something comes, or the end; false: a stop was asked for. */
static bool wait_for(struct iso_pipe p)
{
	struct pollfd one = { .fd = p.fd, .events = POLLIN };

	while (!iso_stop_asked(p.ctx)) {
		if (poll(&one, 1, LOOK_MS) > 0) return true;
		iso_clock_add(p.clock, 0);
	}
	return false;
}

bool iso_apart_pass(struct iso_pipe p, void *data, int64_t bytes)
{
	for (char *at = data; bytes > 0;) {
		if (!p.sends && !wait_for(p)) return false;
		ssize_t n = p.sends ? write(p.fd, at, (size_t)bytes) : read(p.fd, at, (size_t)bytes);

		if (n < 0 && errno == EINTR) continue;
		if (n <= 0) return false;
		at += n;
		bytes -= n;
		if (!p.sends) iso_clock_add(p.clock, n);
	}
	return true;
}

/* It ends with us, and nothing of a crash is seen: no words, no core, none of the program's handlers. */
static void prepare_child(const struct iso_apart *a, int64_t bytes)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU };
	rlim_t seconds = (rlim_t)(PATIENCE_S + (bytes >> 20));
	int nowhere = open("/dev/null", O_WRONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	if (a->pass) { /* what is written is no damaged file, and has no limits */
		int64_t mapped = iso_memory_mapped(); /* before the fork */
		rlim_t most = (rlim_t)(mapped + MEMORY + a->memory);

		if (mapped > 0) setrlimit(RLIMIT_AS, &(struct rlimit){ most, most });
		setrlimit(RLIMIT_CPU, &(struct rlimit){ seconds, seconds });
	}
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
	signal(SIGINT, SIG_IGN); /* meant for the parent, which ends in its own way */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (nowhere >= 0) {
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
	}
}

static void child(const struct iso_apart *a, int64_t bytes, struct iso_pipe p)
{
	struct outcome o = { 0 };

	prepare_child(a, bytes);
	iso_h5_alone();
	o.st = a->work(a->arg);
	snprintf(o.message, sizeof o.message, "%s", o.st ? iso_message() : "");
	if (iso_apart_pass(p, &o, sizeof o) && !o.st && a->pass) a->pass(a->arg, p);
	_exit(0);
}

static const char *library(const struct iso_apart *a)
{
	return a->library ? a->library : "HDF5";
}

static int parent(const char *path, const struct iso_apart *a, struct iso_pipe p)
{
	struct outcome o;

	if (!iso_apart_pass(p, &o, sizeof o))
		return a->pass ? iso_refuse(path,
		                            "a damaged file, on which the %s library fails (or it has no "
		                            "memory)",
		                            library(a))
		               : iso_fail(ISO_ENOMEM,
		                          "%s: the %s library failed to write it: it has no memory", path,
		                          library(a));
	o.message[sizeof o.message - 1] = '\0';
	if (o.st) return iso_fail(o.st, "%s", o.message);
	return a->pass ? a->pass(a->arg, p) : ISO_OK;
}

int iso_apart(const char *path, const struct iso_apart *a, int64_t bytes)
{
	struct iso_clock clock = iso_clock_brief(a->ctx, a->pass ? "read" : "write", a->pass ? "bytes" : NULL,
	                                         0, iso_base_name(path));
	int fd[2], st;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return iso_fail(ISO_EIO, "%s: no pipe to the %s library: %s", path, library(a),
		                strerror(errno));
	iso_h5_lock();
	pid = fork();
	if (pid == 0) {
		close(fd[0]);
		child(a, bytes, (struct iso_pipe){ fd[1], true, NULL, NULL });
	}
	iso_h5_unlock();
	close(fd[1]);
	st = pid > 0 ? parent(path, a, (struct iso_pipe){ fd[0], false, a->ctx, &clock })
	             : iso_fail(ISO_EIO, "%s: no process for the %s library: %s", path, library(a),
	                        strerror(errno));
	if (st && a->pass && iso_stop_asked(a->ctx)) {
		if (pid > 0) kill(pid, SIGKILL); /* it may be unpacking */
		st = iso_stop_check(a->ctx, path);
	}
	close(fd[0]); /* a child that still sends ends by that */
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!st) iso_clock_end(&clock);
	return st;
}
