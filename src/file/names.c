/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of a run's files are the same. */
#include "names.h"
#include "out.h"
#include "suffix.h"
#include "core/status.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct iso_name {
	char *path, *what;
	bool output;
	dev_t device;
	ino_t inode;
	const char *base; /* of a file that is not there: its name, in the folder `inode`; else "" */
};

static bool identify(struct iso_name *a)
{
	char folder[PATH_MAX];
	struct stat s;

	a->base = "";
	if (stat(a->path, &s) != 0) {
		if (iso_out_folder(folder, sizeof folder, a->path) || stat(folder, &s) != 0) return false;
		a->base = iso_base_name(a->path);
	}
	a->device = s.st_dev;
	a->inode = s.st_ino;
	return true;
}

static int compare(const struct iso_name *a, const struct iso_name *b)
{
	if (a->device != b->device) return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode) return a->inode < b->inode ? -1 : 1;
	return strcmp(a->base, b->base);
}

static void release(struct iso_name *a)
{
	free(a->path);
	free(a->what);
}

int iso_names_add(struct iso_names *s, bool output, const char *path, const char *what)
{
	struct iso_name a = { .path = strdup(path), .what = strdup(what), .output = output };
	struct iso_name *v = realloc(s->v, (size_t)(s->n + 1) * sizeof *v);

	if (v) s->v = v;
	if (!a.path || !a.what || !v) {
		release(&a);
		return iso_fail_memory("names of files", (int64_t)strlen(path));
	}
	if (identify(&a))
		s->v[s->n++] = a;
	else
		release(&a);
	return ISO_OK;
}

static int one_file(const struct iso_name *a, const struct iso_name *b)
{
	return iso_fail(ISO_EARG, "%s %s and %s %s are one file; give one of them another name", a->what,
	                a->path, b->what, b->path);
}

/* By file; names of one file with outputs first, and then in the order they were added. */
static int by_file(const void *p, const void *q)
{
	const struct iso_name *a = *(const struct iso_name *const *)p;
	const struct iso_name *b = *(const struct iso_name *const *)q;
	int c = compare(a, b);

	return c ? c : a->output != b->output ? (a->output ? -1 : 1) : a < b ? -1 : a > b;
}

int iso_names_check(const struct iso_names *s)
{
	const struct iso_name **sorted;
	int st = ISO_OK;

	if (s->n < 2) return ISO_OK;
	sorted = malloc((size_t)s->n * sizeof(struct iso_name *));
	if (!sorted) return iso_fail_memory("names of files", s->n * (int64_t)sizeof(struct iso_name *));
	for (int64_t i = 0; i < s->n; i++) sorted[i] = &s->v[i];
	qsort(sorted, (size_t)s->n, sizeof(struct iso_name *), by_file);
	for (int64_t i = 1; i < s->n && !st; i++)
		if (sorted[i - 1]->output && compare(sorted[i - 1], sorted[i]) == 0)
			st = one_file(sorted[i - 1], sorted[i]);
	free(sorted);
	return st;
}

int iso_names_check_input(const struct iso_names *s, const char *path)
{
	struct iso_name a = { .path = (char *)path, .what = "the input" };

	if (!identify(&a)) return ISO_OK;
	for (int64_t i = 0; i < s->n; i++)
		if (s->v[i].output && compare(&s->v[i], &a) == 0) return one_file(&s->v[i], &a);
	return ISO_OK;
}

void iso_names_free(struct iso_names *s)
{
	for (int64_t i = 0; i < s->n; i++) release(&s->v[i]);
	free(s->v);
	*s = (struct iso_names){ 0 };
}
