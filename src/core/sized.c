/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs of parameters that callers of other versions fill. */
#include "sized.h"
#include "status.h"

#include <string.h>

/* Bytes from `known` on, of which this version has no name, that are not 0. */
static bool sets_unknown(const char *given, size_t known, size_t size)
{
	for (size_t i = known; i < size; i++)
		if (given[i]) return true;
	return false;
}

int iso_sized(void *full, size_t known, const void *given, const char *name)
{
	size_t size = 0;

	if (!given) return iso_fail(ISO_EARG, "%s: the pointer to it is NULL", name);
	memcpy(&size, given, sizeof size);
	if (size < sizeof size)
		return iso_fail(ISO_EARG, "%s: its member size is %zu, must be sizeof(%s), here %zu", name,
		                size, name, known);
	if (sets_unknown(given, known, size))
		return iso_fail(ISO_EARG,
		                "%s: %zu bytes, of which version %s knows %zu and the others are not 0", name,
		                size, iso_version(), known);
	memset(full, 0, known);
	memcpy(full, given, size < known ? size : known);
	memcpy(full, &known, sizeof known);
	return ISO_OK;
}

int iso_sized_or_zero(void *full, size_t known, const void *given, const char *name)
{
	if (given) return iso_sized(full, known, given, name);
	memset(full, 0, known);
	memcpy(full, &known, sizeof known);
	return ISO_OK;
}
