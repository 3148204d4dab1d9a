/* SPDX-License-Identifier: BSD-3-Clause */
/* Suffixes of files, and files that belong together by them. */
#include "suffix.h"
#include "core/status.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int small(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

bool iso_same_letters(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (small(a[i]) != small(b[i])) return false;
	return true;
}

bool iso_same_word(const char *a, const char *b)
{
	size_t n = strlen(a);

	return n == strlen(b) && iso_same_letters(a, b, n);
}

bool iso_has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n >= m && iso_same_word(path + n - m, suffix);
}

const char *iso_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int iso_suffix_partner(char *out, size_t size, const char *path, const char *suffix)
{
	const char *dot = strrchr(iso_base_name(path), '.');
	size_t keep = dot ? (size_t)(dot - path) : strlen(path);

	if (snprintf(out, size, "%.*s%s", (int)keep, path, suffix) >= (int)size)
		return iso_refuse(path, "name is too long");
	if (access(out, F_OK) == 0) return ISO_OK;
	for (char *c = out + keep; *c; c++) *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
	if (access(out, F_OK) != 0) strcpy(out + keep, suffix);
	return ISO_OK;
}
