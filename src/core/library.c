/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the libraries that stand beside libisotome.so when they are first wanted: libisotome_cuda.so and the
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

/* From beside this library, else where the loader looks. */
static void open_beside(struct library *l)
{
	Dl_info info;
	char path[4096];
	const char *slash = NULL;

	if (dladdr((void *)open_beside, &info) && info.dli_fname) slash = strrchr(info.dli_fname, '/');
	snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - info.dli_fname) : 0,
	         slash ? info.dli_fname : "", l->name);
	l->opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!l->opened) snprintf(l->why, sizeof l->why, "%s", dlerror());
}

static const struct library *library(const char *name)
{
	struct library *l = libraries;

	pthread_mutex_lock(&lock);
	while (l->name && strcmp(l->name, name) != 0) l++;
	assert(l < libraries + LIBRARIES);
	if (!l->name) {
		l->name = name;
		open_beside(l);
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
