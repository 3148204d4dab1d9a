/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded by tests/cmd/kill.py: ends the process by SIGKILL at call number KILL_AT of those that
   name, unname or flush files, which is where a half-made output would come from. Odd numbers kill
   before the call, even ones after it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int left(void)
{
	static int n = -1;

	if (n < 0)
		n = getenv("KILL_AT") ? atoi(getenv("KILL_AT")) : 0;
	return n > 0 ? --n == 0 : 0;
}

static void maybe(void)
{
	if (left())
		kill(getpid(), SIGKILL);
}

/* Declares a twin of `name` that may kill on either side of the call. */
#define TWIN(name, parameters, arguments) \
	int name parameters; \
	int name parameters \
	{ \
		int (*real) parameters = (int (*) parameters)dlsym(RTLD_NEXT, #name); \
		int st; \
		maybe(); \
		st = real arguments; \
		maybe(); \
		return st; \
	}

TWIN(rename, (const char *from, const char *to), (from, to))
TWIN(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
TWIN(renameat2, (int a, const char *from, int b, const char *to, unsigned f), (a, from, b, to, f))
TWIN(link, (const char *from, const char *to), (from, to))
TWIN(linkat, (int a, const char *from, int b, const char *to, int f), (a, from, b, to, f))
TWIN(unlink, (const char *path), (path))
TWIN(unlinkat, (int a, const char *path, int f), (a, path, f))
TWIN(fsync, (int fd), (fd))
TWIN(fdatasync, (int fd), (fd))
