/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens libisotome_cuda.so, which stands beside libisotome.so, when a CUDA device is first asked
   for. libisotome.so itself names no CUDA symbol. */
#define _GNU_SOURCE /* dladdr */
#include "ctx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define CUDA_LIBRARY "libisotome_cuda.so"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library;
static char reason[512];

/* Beside this library, else where the loader looks. */
static void open_library(void)
{
	Dl_info info;
	char path[4096] = CUDA_LIBRARY;

	if (dladdr((void *)open_library, &info) && info.dli_fname) {
		const char *slash = strrchr(info.dli_fname, '/');

		if (slash)
			snprintf(path, sizeof path, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname,
			         CUDA_LIBRARY);
	}
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) snprintf(reason, sizeof reason, "%s", dlerror());
}

int iso_cuda_symbol(void **address, const char *name)
{
	if (sizeof(iso_real) != sizeof(float))
		return iso_fail(ISO_EDEVICE, "CUDA: this build stores double, the CUDA half float");
	pthread_once(&once, open_library);
	if (!library) return iso_fail(ISO_EDEVICE, "CUDA: no usable CUDA half of Isotome here (%s)", reason);
	void *p = dlsym(library, name);

	if (!p) return iso_fail(ISO_EDEVICE, "CUDA: " CUDA_LIBRARY " has no %s", name);
	*address = p;
	return ISO_OK;
}
