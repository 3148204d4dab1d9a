/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the libraries that belong to libisotome.so when they are first wanted: libisotome_cuda.so and the
   program's own CUDA parts, libisotome_mpi.so, libisotome_nccl.so. libisotome.so itself names no symbol of CUDA or
   MPI. */
#define _GNU_SOURCE /* dladdr */
#include "library.h"
#include "ctx.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARIES 8 /* more than there are */

/* A library that was looked for. What a process has loaded is the whole process's, and so is this list: dlopen
   looks for each but once, for however many contexts and functions. */
struct library {
	const char *name; /* a constant of the caller's */
	void *opened;     /* NULL: it can't be */
	char why[512];    /* that is so */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct library libraries[LIBRARIES];

/* The path of `name` beside this library, which may lie in glibc-hwcaps/LEVEL there (cmake/levels.cmake). */
static void path_beside(char *path, size_t size, const char *name)
{
	Dl_info info;
	const char *own = "", *end;

	if (dladdr((void *)path_beside, &info) && info.dli_fname) own = info.dli_fname;
	end = strstr(own, "/glibc-hwcaps/");
	if (!end) end = strrchr(own, '/');
	snprintf(path, size, "%.*s%s", end ? (int)(end + 1 - own) : 0, own, name);
}

void iso_library_identity(int64_t file[3], const void *inside)
{
	Dl_info info;
	struct stat s = { 0 };

	if (dladdr(inside, &info) && info.dli_fname && stat(info.dli_fname, &s)) s = (struct stat){ 0 };
	file[0] = s.st_size;
	file[1] = s.st_mtim.tv_sec;
	file[2] = s.st_mtim.tv_nsec;
}

/* What the loader found elsewhere may be of another version: its functions would see other structs. Each library says
   its own; that of the program's CUDA parts is found in libisotome_cuda.so, which they need. */
static void refuse_other(struct library *l)
{
	const char *version = dlsym(l->opened, "iso_half_version");

	if (version && strcmp(version, iso_version()) == 0) return;
	snprintf(l->why, sizeof l->why, "%s is of %s%s, libisotome.so of version %s", l->name,
	         version ? "version " : "no version", version ? version : "", iso_version());
	dlclose(l->opened);
	l->opened = NULL;
}

/* From beside this library, else where the loader looks: in Python the folder of the wheel for CUDA first. */
static void open_library(struct library *l)
{
	char path[4096];
	bool beside;

	path_beside(path, sizeof path, l->name);
	beside = access(path, F_OK) == 0;
	l->opened = dlopen(beside ? path : l->name, RTLD_NOW | RTLD_LOCAL);
	if (!l->opened)
		snprintf(l->why, sizeof l->why, "%s", dlerror());
	else if (!beside)
		refuse_other(l);
}

static const struct library *library(const char *name)
{
	struct library *l = libraries;

	pthread_mutex_lock(&lock);
	while (l->name && strcmp(l->name, name) != 0) l++;
	assert(l < libraries + LIBRARIES);
	if (!l->name) {
		l->name = name;
		open_library(l);
	}
	pthread_mutex_unlock(&lock);
	return l;
}

int iso_library_symbol(void **address, const char *what, const char *file, const char *name)
{
	const struct library *l = library(file);
	void *p = l->opened ? dlsym(l->opened, name) : NULL;

	if (!l->opened)
		return iso_fail(ISO_EDEVICE, "%s: no usable %s half of Isotome here (%s)", what, what,
		                l->why);
	if (!p) return iso_fail(ISO_EDEVICE, "%s: %s has no %s", what, file, name);
	*address = p;
	return ISO_OK;
}

int iso_cuda_symbol_in(void **address, const char *file, const char *name)
{
	if (sizeof(iso_real) != sizeof(float))
		return iso_fail(ISO_EDEVICE, "CUDA: this build stores double, the CUDA half float");
	return iso_library_symbol(address, "CUDA", file, name);
}

int iso_cuda_symbol(void **address, const char *name)
{
	return iso_cuda_symbol_in(address, "libisotome_cuda.so", name);
}
