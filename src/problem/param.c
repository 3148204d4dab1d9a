/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of parameters: finding an entry. */
#include "param.h"

#include "text/nearest.h"

#include <string.h>

enum { MAX_NAMES = 128 };

struct opt *opt_at(const struct opt_set *sets, int k)
{
	for (; sets->opts; sets++)
		for (struct opt *o = sets->opts; o->name; o++)
			if (k-- == 0) return o;

	return NULL;
}

struct opt *opt_find(const struct opt_set *sets, const char *name)
{
	struct opt *o;

	for (int k = 0; (o = opt_at(sets, k)); k++)
		if (strcmp(o->name, name) == 0) return o;

	return NULL;
}

const char *opt_nearest(const struct opt_set *sets, const char *name, bool (*among)(const struct opt *))
{
	const char *known[MAX_NAMES];
	const struct opt *o;
	int n = 0;

	for (int k = 0; (o = opt_at(sets, k)) && n < MAX_NAMES; k++)
		if (among(o)) known[n++] = o->name;
	return iso_nearest(name, n, known);
}

int opt_place(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0) return i;

	return -1;
}
