/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before all other libraries (LD_PRELOAD): makes one allocation of a program fail, or all
   from one on. From the environment:

	FAIL_ALLOC_AT     number of the allocation that fails, from 1 at the start of main; 0: none
	FAIL_ALLOC_REST   set: so do all that follow it
	FAIL_ALLOC_LOG    file for the number of allocations, and the calls that led to the failed one

   A process and its children count together, so that one of a child's can fail too.

   Not counted, because the library that asks ends the process or crashes by itself, and we can't
   help it: see `spared`. */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static const char *const spared[] = {
	"libgomp.", /* gomp_malloc: "Out of memory", exit(1) */
	"ld-linux", /* the dynamic linker, on the first use of a function */
};

/* glibc's own functions, to which malloc and the others of this file fall back. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static long *counter; /* shared with children; NULL before main */
static long fail_at;
static bool rest;
static const char *log_name;
static __thread bool busy; /* inside this file: nothing is counted */

static void log_calls(void)
{
	void *at[64];
	int fd = log_name ? open(log_name, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;

	if (fd < 0) return;
	backtrace_symbols_fd(at, backtrace(at, 64), fd);
	close(fd);
}

static bool is_spared(const void *caller)
{
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname) return false;
	for (size_t i = 0; i < sizeof spared / sizeof *spared; i++)
		if (strstr(info.dli_fname, spared[i])) return true;
	return false;
}

static bool fails(const void *caller)
{
	bool now = false;

	if (!counter || busy) return false;
	busy = true;
	if (!is_spared(caller)) {
		long n = __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);

		now = fail_at > 0 && (n == fail_at || (rest && n > fail_at));
		if (n == fail_at) log_calls();
	}
	busy = false;
	if (now) errno = ENOMEM;
	return now;
}

#define CALLER __builtin_return_address(0)

EXPORT void *malloc(size_t n)
{
	return fails(CALLER) ? NULL : __libc_malloc(n);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return fails(CALLER) ? NULL : __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t n)
{
	return fails(CALLER) ? NULL : __libc_realloc(p, n);
}

EXPORT void *memalign(size_t alignment, size_t n)
{
	return fails(CALLER) ? NULL : __libc_memalign(alignment, n);
}

EXPORT void *aligned_alloc(size_t alignment, size_t n)
{
	return fails(CALLER) ? NULL : __libc_memalign(alignment, n);
}

EXPORT int posix_memalign(void **p, size_t alignment, size_t n)
{
	void *made = fails(CALLER) ? NULL : __libc_memalign(alignment, n);

	if (!made) return ENOMEM;
	*p = made;
	return 0;
}

/* ---- the start of main ---- */

static int (*real_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **env)
{
	const char *at = getenv("FAIL_ALLOC_AT");
	void *warm[4];

	backtrace(warm, 4); /* opens libgcc, which allocates */
	fail_at = at ? atol(at) : 0;
	rest = getenv("FAIL_ALLOC_REST");
	log_name = getenv("FAIL_ALLOC_LOG");
	counter = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counter == MAP_FAILED) abort();
	return real_main(argc, argv, env);
}

EXPORT int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*rtld)(void), void *stack)
{
	int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
	             void (*)(void), void *) = (void *)dlsym(RTLD_NEXT, "__libc_start_main");

	real_main = main;
	return start(counted_main, argc, argv, init, fini, rtld, stack);
}

__attribute__((destructor)) static void log_count(void)
{
	long n = counter ? *counter : 0;
	int fd;

	counter = NULL;
	fd = log_name && fail_at == 0 ? open(log_name, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
	if (fd < 0) return;
	dprintf(fd, "%ld\n", n);
	close(fd);
}
