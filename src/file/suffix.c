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

const char *iso_variable(const char *path)
{
	const char *colon = strrchr(path, ':');

	return colon && colon - path >= 4 && colon[1] && iso_same_letters(colon - 4, ".mat", 4) &&
	                       !strchr(colon, '/')
	               ? colon + 1
	               : NULL;
}

const char *iso_without_variable(char file[PATH_MAX], const char *path)
{
	const char *variable = iso_variable(path);

	if (!variable) return path;
	snprintf(file, PATH_MAX, "%.*s", (int)(variable - 1 - path), path);
	return file;
}

bool iso_has_suffix(const char *path, const char *suffix)
{
	const char *variable = iso_variable(path);
	size_t n = variable ? (size_t)(variable - 1 - path) : strlen(path), m = strlen(suffix);

	if (variable) return n >= m && m == 4 && iso_same_letters(path + n - m, suffix, m);

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
