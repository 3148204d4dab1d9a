/* SPDX-License-Identifier: BSD-3-Clause */
/* Structs that begin with their size, from and to callers built against another header. */
#include "sized.h"
#include "status.h"

#include <string.h>

static int not_set(const char *name, size_t given, size_t size)
{
	return iso_fail(ISO_EARG, "struct %s: size is %zu, must be sizeof(struct %s), %zu bytes", name, given,
	                name, size);
}

int iso_sized_take(void *ours, const char *name, size_t size, const void *theirs)
{
	size_t given = theirs ? *(const size_t *)theirs : 0;

	if (!theirs) return iso_fail(ISO_EARG, "struct %s: the pointer to it is NULL", name);
	if (given < sizeof given) return not_set(name, given, size);
	for (size_t i = size; i < given; i++)
		if (((const char *)theirs)[i])
			return iso_fail(ISO_EARG,
			                "struct %s: the caller sets fields behind byte %zu, which this "
			                "version of the library does not know",
			                name, size);
	memset(ours, 0, size);
	memcpy(ours, theirs, given < size ? given : size);
	memcpy(ours, &size, sizeof size);
	return ISO_OK;
}

int iso_sized_clear(void *theirs, const char *name, size_t size)
{
	size_t given = theirs ? *(const size_t *)theirs : sizeof given;

	if (given < sizeof given) return not_set(name, given, size);
	if (theirs) memset((char *)theirs + sizeof given, 0, given - sizeof given);
	return ISO_OK;
}

void iso_sized_give(void *theirs, size_t size, const void *ours)
{
	size_t given = *(const size_t *)theirs, head = sizeof given;

	if (given > size) given = size;
	if (given > head) memcpy((char *)theirs + head, (const char *)ours + head, given - head);
}

int iso_sized_put(void *theirs, const char *name, size_t size, const void *ours)
{
	int st = iso_sized_clear(theirs, name, size);

	if (!st) iso_sized_give(theirs, size, ours);
	return st;
}
