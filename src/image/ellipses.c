/* SPDX-License-Identifier: BSD-3-Clause */
/* Ellipses from a text file: lines `ellipse x y a b phi rho` (mm, degrees counter-clockwise), the
   topmost first; blank lines, and what follows a #, do not count. */
#include "base/number.h"
#include "file/regular.h"
#include "core/size.h"
#include "core/status.h"
#include "shapes.h"

#include <string.h>

enum { TEXT_MOST = 1 << 20, SHAPES_MOST = 4096, WORDS = 7 };

#define BLANKS " \t\r"

/* Place, lengths and density within those of a file of shapes. */
static const struct {
	const char *name;
	double min, max;
} column[WORDS - 1] = {
	{ "x", -1e5, 1e5 }, { "y", -1e5, 1e5 },   { "a", 1e-6, 1e5 },
	{ "b", 1e-6, 1e5 }, { "phi", -360, 360 }, { "rho", 0, 1e12 },
};

/* Seven words: "ellipse" and six numbers. */
static int split_row(double v[WORDS - 1], char *text, const char *path, int line)
{
	char *word[WORDS + 1], *rest = text;
	int n = 0;

	for (char *w; n <= WORDS && (w = strtok_r(n ? NULL : text, BLANKS, &rest));) word[n++] = w;
	if (n != WORDS || strcmp(word[0], "ellipse") != 0)
		return iso_fail(ISO_EINPUT, "%s:%d: expected: ellipse x y a b phi rho", path, line);
	for (int i = 0; i < WORDS - 1; i++) {
		if (!iso_number(&v[i], word[i + 1], strlen(word[i + 1])))
			return iso_fail(ISO_EINPUT, "%s:%d: '%.30s' is not a number", path, line,
			                word[i + 1]);
		if (!(v[i] >= column[i].min && v[i] <= column[i].max))
			return iso_fail(ISO_EINPUT, "%s:%d: %s is %g, must be in [%g, %g]", path, line,
			                column[i].name, v[i], column[i].min, column[i].max);
	}
	return ISO_OK;
}

static int add_row(struct iso_phantom *p, char *text, const char *path, int line)
{
	double v[WORDS - 1];
	int st;

	text[strcspn(text, "#")] = '\0';
	if (text[strspn(text, BLANKS)] == '\0') return ISO_OK;
	if ((st = split_row(v, text, path, line))) return st;
	if (p->n == SHAPES_MOST)
		return iso_fail(ISO_EINPUT, "%s:%d: more than %d ellipses", path, line, SHAPES_MOST);

	const struct iso_shape s = iso_shape_ellipse(v);

	iso_shapes_add(p, &s);
	return p->status;
}

/* Later shapes of a phantom lie on top; here it is the earlier ones. */
static void turn_over(struct iso_phantom *p)
{
	for (int i = 0; i < p->n / 2; i++) {
		struct iso_shape s = p->shape[i];

		p->shape[i] = p->shape[p->n - 1 - i];
		p->shape[p->n - 1 - i] = s;
	}
}

static int add_rows(struct iso_phantom *p, char *text, const char *path)
{
	int line = 0, st = ISO_OK;

	while (text && !st) st = add_row(p, strsep(&text, "\n"), path, ++line);
	if (!st && p->n == 0) st = iso_fail(ISO_EINPUT, "%s: no line: ellipse x y a b phi rho", path);
	turn_over(p);
	return st;
}

/* The whole file as one string; free it, in any case. */
static int read_text(char **text, const char *path)
{
	int64_t size = 0;
	FILE *f = NULL;
	int st = iso_regular_fopen(&f, &size, path);

	if (st) return st;
	if (size > TEXT_MOST)
		st = iso_fail(ISO_EINPUT, "%s: more than %d bytes", path, TEXT_MOST);
	else if (!(*text = size_alloc(size + 1, 1)))
		st = iso_fail_memory(path, size);
	else if (fread(*text, 1, (size_t)size, f) != (size_t)size)
		st = iso_fail(ISO_EIO, "%s: can't be read, or was cut short meanwhile", path);
	else if (memchr(*text, '\0', (size_t)size))
		st = iso_fail(ISO_EINPUT, "%s: not text: it has a byte 0", path);
	fclose(f);
	return st;
}

int iso_ellipses_read(struct iso_phantom *p, const char *path)
{
	char *text = NULL;
	int st = read_text(&text, path);

	if (!st) st = add_rows(p, text, path);
	free(text);
	if (!st) iso_shapes_grid(p, 0);
	return st;
}
