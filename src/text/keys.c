/* SPDX-License-Identifier: BSD-3-Clause */
/* Text headers of lines "key: value". */
#include "keys.h"
#include "file/in.h"
#include "core/size.h"
#include "core/status.h"
#include "file/suffix.h"

#include <math.h>
#include <string.h>

enum { MAX_LINES = 4096 };

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && strchr(" \t\r", end[-1])) *--end = '\0';
	return s + strspn(s, " \t");
}

static int add_line(struct iso_keys *k, char *text, int line)
{
	char *colon;

	text[strcspn(text, "#")] = '\0';
	colon = strchr(text, ':');
	if (!colon) return ISO_OK;
	*colon = '\0';

	char *key = trim(text), *value = trim(colon + 1);

	if (iso_keys_find(k, key))
		return iso_fail(ISO_EINPUT, "%s:%d: key '%.60s' comes a second time", k->path, line, key);
	if (k->n == MAX_LINES) return iso_refuse(k->path, "more than %d keys", MAX_LINES);
	k->v[k->n++] = (struct iso_keys_line){ key, value, line, false };
	return ISO_OK;
}

int iso_keys_read(struct iso_keys *k, const char *path)
{
	struct iso_keys r = { .path = path, .v = size_alloc(MAX_LINES, sizeof *r.v) };
	size_t size = 0;
	int line = 1, st = iso_text_read(&r.text, &size, path, 1, "header");

	if (!st && !r.v) st = iso_fail_memory(path, (int64_t)size);
	if (!st && size == 0) st = iso_fail(ISO_EINPUT, "%s is empty", path);
	if (!st && memchr(r.text, '\0', size))
		st = iso_refuse(path, "holds NUL bytes, a text header was expected");
	for (char *p = r.text, *end; p && !st; p = end, line++) {
		end = strchr(p, '\n');
		if (end) *end++ = '\0';
		st = add_line(&r, p, line);
	}
	if (st)
		iso_keys_free(&r);
	else
		*k = r;
	return st;
}

void iso_keys_free(struct iso_keys *k)
{
	free(k->text);
	free(k->v);
	*k = (struct iso_keys){ 0 };
}

static const struct iso_keys_line *find(const struct iso_keys *k, const char *key)
{
	for (int i = 0; i < k->n; i++)
		if (iso_same_word(k->v[i].key, key)) {
			k->v[i].used = true;
			return &k->v[i];
		}
	return NULL;
}

const char *iso_keys_find(const struct iso_keys *k, const char *key)
{
	const struct iso_keys_line *l = find(k, key);

	return l ? l->value : NULL;
}

int iso_keys_need(const char **value, const struct iso_keys *k, const char *key)
{
	*value = iso_keys_find(k, key);
	if (!*value || !**value) return iso_refuse(k->path, "key '%s' is missing", key);
	return ISO_OK;
}

int iso_keys_real(double *v, const struct iso_keys *k, const char *key, double min, double max)
{
	const struct iso_keys_line *l = find(k, key);
	double r;

	if (!l) return ISO_OK;
	if (!iso_number(&r, l->value, strlen(l->value)) || r < min || r > max)
		return iso_fail(ISO_EINPUT, "%s:%d: %s is '%.60s', must be a number in [%.10g, %.10g]",
		                k->path, l->line, key, l->value, min, max);
	*v = r;
	return ISO_OK;
}

int iso_keys_int(int64_t *v, const struct iso_keys *k, const char *key, int64_t min, int64_t max)
{
	double r = 0;
	int st = iso_keys_real(&r, k, key, (double)min, (double)max);

	if (st || !find(k, key)) return st;
	if (r != floor(r) || fabs(r) > 9007199254740992.) /* 2^53 */
		return iso_fail(ISO_EINPUT, "%s:%d: %s is '%.60s', must be a whole number", k->path,
		                find(k, key)->line, key, iso_keys_find(k, key));
	*v = (int64_t)r;
	return ISO_OK;
}

int iso_keys_flag(bool *v, const struct iso_keys *k, const char *key)
{
	int64_t flag = *v;
	int st = iso_keys_int(&flag, k, key, 0, 1);

	*v = flag == 1;
	return st;
}

int iso_keys_reals(double *v, int *n, int most, const struct iso_keys *k, const char *key)
{
	const struct iso_keys_line *l = find(k, key);

	*n = 0;
	for (const char *p = l ? l->value : NULL; p;) {
		size_t skip = strspn(p, " \t"), length = strcspn(p += skip, ", \t");

		if (*n == most || !iso_number(&v[*n], p, length))
			return iso_fail(ISO_EINPUT, "%s:%d: %s is '%.60s', must be up to %d numbers", k->path,
			                l->line, key, l->value, most);
		(*n)++;
		p += length;
		p += strspn(p, " \t");
		p = *p == ',' ? p + 1 : *p ? p : NULL;
	}
	return ISO_OK;
}

void iso_keys_unused(char *list, int size, const struct iso_keys *k)
{
	int n = 0;

	list[0] = '\0';
	for (int i = 0; i < k->n; i++) {
		int more = (int)strlen(k->v[i].key) + 2 + (n ? 2 : 0);

		if (k->v[i].used || n + more >= size) continue;
		n += snprintf(list + n, (size_t)(size - n), "%s'%s'", n ? ", " : "", k->v[i].key);
	}
}

int iso_keys_beside(char *out, int size, const struct iso_keys *k, const char *name)
{
	int folder = (int)(iso_base_name(k->path) - k->path);

	if (name[0] == '/' || strstr(name, ".."))
		return iso_refuse(
			k->path,
			"names '%.200s'; a file beside it was expected, without '/' in front and '..'", name);
	if (snprintf(out, (size_t)size, "%.*s%s", folder, k->path, name) >= size)
		return iso_refuse(k->path, "the name of its file is too long");
	return ISO_OK;
}
