/* SPDX-License-Identifier: BSD-3-Clause */
/* A malloc for jansson that counts its failures. */
#include "json_file.h"

#include <stdlib.h>

static _Thread_local int64_t failures;

/* Freed by free, so that values from before and after the change mix, the host program's too. */
static void *counted(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p) failures++;
	return p;
}

static void replace(json_malloc_t was, json_malloc_t by)
{
	json_malloc_t get;
	json_free_t put;

	json_get_alloc_funcs(&get, &put);
	if (get == was && put == free) json_set_alloc_funcs(by, put);
}

__attribute__((constructor)) static void begin(void)
{
	replace(malloc, counted);
}

/* The library may be closed before jansson. */
__attribute__((destructor)) static void end(void)
{
	replace(counted, malloc);
}

int64_t iso_json_failures(void)
{
	return failures;
}
