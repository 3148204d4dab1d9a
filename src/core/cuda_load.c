/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens libisotome_cuda.so, which stands beside libisotome.so, when a CUDA device is first asked
   for, and the program's own CUDA parts likewise. libisotome.so itself names no CUDA symbol. */
#define _GNU_SOURCE /* dladdr */
#include "ctx.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* From beside this library, else where the loader looks. NULL: dlerror() has the reason. dlopen gives an
   open library again: only the count of its users grows. */
static void *open_beside(const char *name)
{
	Dl_info info;
	char path[4096];
	const char *slash = NULL;

	if (dladdr((void *)open_beside, &info) && info.dli_fname) slash = strrchr(info.dli_fname, '/');
	snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - info.dli_fname) : 0,
	         slash ? info.dli_fname : "", name);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

int iso_cuda_symbol_in(void **address, const char *file, const char *name)
{
	if (sizeof(iso_real) != sizeof(float))
		return iso_fail(ISO_EDEVICE, "CUDA: this build stores double, the CUDA half float");
	void *opened = open_beside(file), *p = opened ? dlsym(opened, name) : NULL;

	if (!opened)
		return iso_fail(ISO_EDEVICE, "CUDA: no usable CUDA half of Isotome here (%s)", dlerror());
	if (!p) return iso_fail(ISO_EDEVICE, "CUDA: %s has no %s", file, name);
	*address = p;
	return ISO_OK;
}

int iso_cuda_symbol(void **address, const char *name)
{
	return iso_cuda_symbol_in(address, "libisotome_cuda.so", name);
}
