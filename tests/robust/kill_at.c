/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded by tests/robust/kill.py: ends the process by SIGKILL at call number KILL_AT of those that
   name, unname or flush files, before it is carried out: between them lie all states that a commit
   can be left in. A process that comes to its end writes the number of its calls into the file KILL_COUNT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int calls;

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("KILL_COUNT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f) return;
	fprintf(f, "%d\n", calls);
	fclose(f);
}

static void maybe(void)
{
	static int left = -1;

	calls++;
	if (left < 0) left = getenv("KILL_AT") ? atoi(getenv("KILL_AT")) : 0;
	if (left > 0 && --left == 0) kill(getpid(), SIGKILL);
}

/* A twin of `name` that may kill before it calls that. */
#define TWIN(name, parameters, arguments)                                           \
	int name parameters;                                                        \
	int name parameters                                                         \
	{                                                                           \
		int(*real) parameters = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
		maybe();                                                            \
		return real arguments;                                              \
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
