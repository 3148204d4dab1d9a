/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfile headers: lines "key [index] := value". */
#include "interfile.h"
#include "core/size.h"
#include "core/status.h"
#include "file/suffix.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINES = 8192, MOST_INDEX = 1000000 };

/* ---- the first bytes ---- */

static bool holds(const uint8_t *head, int64_t n, const char *word)
{
	int64_t length = (int64_t)strlen(word);

	for (int64_t i = 0; i + length <= n; i++)
		if (iso_same_letters((const char *)head + i, word, (size_t)length)) return true;
	return false;
}

static bool is_header(const uint8_t *head, int64_t n)
{
	int64_t i = 0;

	while (i < n && strchr(" \t\r\n!", head[i]) && head[i]) i++;
	return holds(head + i, n - i < 9 ? n - i : 9, "interfile");
}

bool iso_interfile_is_lines(const uint8_t *head, int64_t n)
{
	return is_header(head, n) && holds(head, n, "matrix axis label") &&
	       holds(head, n, "tangential coordinate");
}

bool iso_interfile_is_image(const uint8_t *head, int64_t n)
{
	return is_header(head, n) && holds(head, n, "matrix size") &&
	       !holds(head, n, "tangential coordinate") && !holds(head, n, "petlink") &&
	       !holds(head, n, "sinogram");
}

/* ---- the text ---- */

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && strchr(" \t\r", end[-1])) *--end = '\0';
	return s + strspn(s, " \t\r");
}

/* In its own place: lower case, runs of blanks, "!", "%" and "_" one blank, none at the ends. */
static void fold(char *key)
{
	char *to = key;

	for (const char *p = key; *p; p++) {
		bool blank = strchr(" \t\r!_%", *p);

		if (!blank)
			*to++ = *p >= 'A' && *p <= 'Z' ? (char)(*p + 'a' - 'A') : *p;
		else if (to > key && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to > key && to[-1] == ' ') to--;
	*to = '\0';
}

/* Cuts the [n] off the end of a key; 0: there is none. */
static int cut_index(char *key)
{
	char *open = strrchr(key, '['), *close = open ? strchr(open, ']') : NULL;
	double v;

	if (!close || close[1 + strspn(close + 1, " \t\r")]) return 0;
	*close = '\0';
	char *digits = trim(open + 1);

	*open = '\0';
	if (!iso_number(&v, digits, strlen(digits)) || v < 1 || v > MOST_INDEX || v != floor(v)) return -1;
	return (int)v;
}

/* *end: nothing is read behind this line. */
static int add_line(struct iso_interfile *h, char *text, int line, bool *end)
{
	char *mark;
	int index;

	text[strcspn(text, ";")] = '\0';
	if (!(mark = strstr(text, ":="))) return ISO_OK;
	*mark = '\0';
	if ((index = cut_index(text)) < 0)
		return iso_fail(ISO_EINPUT,
		                "%s:%d: the index of key '%.60s' must be a whole number from 1 on", h->path,
		                line, trim(text));
	fold(text);
	if (h->n == 0 && strcmp(text, "interfile") != 0)
		return iso_refuse(h->path,
		                  "the first key of an Interfile header must be !INTERFILE, got '%.60s'",
		                  text);
	if (h->n == MOST_LINES) return iso_refuse(h->path, "more than %d keys", MOST_LINES);
	h->v[h->n++] = (struct iso_interfile_line){ text, trim(mark + 2), index, line };
	*end = strcmp(text, "end of interfile") == 0;
	return ISO_OK;
}

/* The end of the line at p, with those that it goes on in; *line counts them. NULL: the text ends there. */
static char *end_of_line(char *p, int *line)
{
	for (char *end = strchr(p, '\n'); end; end = strchr(end, '\n')) {
		char *back = end > p && end[-1] == '\r' ? end - 1 : end;

		++*line;
		if (back == p || back[-1] != '\\') return end;
		memset(back - 1, ' ', (size_t)(end - back) + 2);
	}
	return NULL;
}

int iso_interfile_read(struct iso_interfile *h, const char *path)
{
	struct iso_interfile r = { .path = path, .v = size_alloc(MOST_LINES, sizeof *r.v) };
	size_t size = 0;
	bool ended = false;
	int next = 1, st = iso_text_read(&r.text, &size, path, 1, "header");

	if (!st && !r.v) st = iso_fail_memory(path, MOST_LINES * (int64_t)sizeof *r.v);
	if (!st && memchr(r.text, '\0', size))
		st = iso_refuse(path, "holds NUL bytes, an Interfile header was expected");
	for (char *p = r.text, *end; p && !st && !ended; p = end) {
		int line = next;

		end = end_of_line(p, &next);
		if (end) *end++ = '\0';
		st = add_line(&r, p, line, &ended);
	}
	if (!st && r.n == 0)
		st = iso_refuse(path, "has no line 'key := value', an Interfile header was expected");
	if (st)
		iso_interfile_free(&r);
	else
		*h = r;
	return st;
}

void iso_interfile_free(struct iso_interfile *h)
{
	free(h->text);
	free(h->v);
	*h = (struct iso_interfile){ 0 };
}

/* ---- keys ---- */

static const struct iso_interfile_line *find(const struct iso_interfile *h, const char *key, int index)
{
	for (int i = h->n - 1; i >= 0; i--)
		if (h->v[i].index == index && *h->v[i].value && strcmp(h->v[i].key, key) == 0)
			return &h->v[i];
	return NULL;
}

const char *iso_interfile_find(const struct iso_interfile *h, const char *key, int index)
{
	const struct iso_interfile_line *l = find(h, key, index);

	return l ? l->value : NULL;
}

static int missing(const struct iso_interfile *h, const char *key, int index)
{
	return index ? iso_refuse(h->path, "key '%s [%d]' is missing", key, index)
	             : iso_refuse(h->path, "key '%s' is missing", key);
}

int iso_interfile_need(const char **value, const struct iso_interfile *h, const char *key, int index)
{
	*value = iso_interfile_find(h, key, index);
	return *value ? ISO_OK : missing(h, key, index);
}

static int take_key(const struct iso_interfile *h, const struct iso_interfile_key *k)
{
	const struct iso_interfile_line *l = find(h, k->key, k->index);
	double v;

	if (!l) return k->required ? missing(h, k->key, k->index) : ISO_OK;
	bool good = iso_number(&v, l->value, strlen(l->value)) && v >= k->min && v <= k->max;

	if (!good || (k->integer && v != floor(v)))
		return iso_fail(ISO_EINPUT, "%s:%d: %s is '%.60s', must be a %s in [%.10g, %.10g]", h->path,
		                l->line, k->key, l->value, k->integer ? "whole number" : "number", k->min,
		                k->max);
	if (k->integer)
		*k->integer = (int64_t)v;
	else
		*k->real = v;
	return ISO_OK;
}

int iso_interfile_take(const struct iso_interfile *h, const struct iso_interfile_key *table)
{
	int st = ISO_OK;

	for (; table->key && !st; table++) st = take_key(h, table);
	return st;
}

/* The next item of a list, without blanks around it; *p moves behind its comma. NULL: there is none. */
static const char *next_item(const char **p, size_t *length)
{
	const char *item = *p + strspn(*p, " \t{");
	size_t n = strcspn(item, ",}");

	if (!*item || *item == '}') return NULL;
	*p = item + n + (item[n] == ',');
	while (n > 0 && strchr(" \t", item[n - 1])) n--;
	*length = n;
	return item;
}

int iso_interfile_reals(double *v, int *n, int most, const struct iso_interfile *h, const char *key,
                        int index)
{
	const struct iso_interfile_line *l = find(h, key, index);
	const char *p = l ? l->value : "", *item;
	size_t length;

	*n = 0;
	while ((item = next_item(&p, &length))) {
		if (*n == most || !iso_number(&v[*n], item, length))
			return iso_fail(ISO_EINPUT, "%s:%d: %s is '%.60s', must be up to %d numbers", h->path,
			                l->line, key, l->value, most);
		++*n;
	}
	return ISO_OK;
}

int iso_interfile_ints(int64_t *v, int *n, int most, const struct iso_interfile *h, const char *key,
                       int index)
{
	double *r = size_alloc(most, sizeof *r);
	int st = r ? iso_interfile_reals(r, n, most, h, key, index)
	           : iso_fail_memory(h->path, most * (int64_t)sizeof *r);

	if (!st && *n == 0) st = missing(h, key, index);
	for (int i = 0; i < *n && !st; i++) {
		if (r[i] != floor(r[i]) || fabs(r[i]) > 1e9)
			st = iso_refuse(h->path, "%s: %g, must be whole numbers in +-1e9", key, r[i]);
		else
			v[i] = (int64_t)r[i];
	}
	free(r);
	return st;
}

bool iso_interfile_has(const char *value, const char *word)
{
	size_t length, n = strlen(word);
	const char *item;

	while ((item = next_item(&value, &length)))
		if (length == n && iso_same_letters(item, word, n)) return true;
	return false;
}

/* ---- the data ---- */

int iso_interfile_beside(char out[PATH_MAX], const struct iso_interfile *h, const char *key)
{
	int folder = (int)(iso_base_name(h->path) - h->path);
	const char *name;
	int st = iso_interfile_need(&name, h, key, 0);

	if (st) return st;
	if (*name == '/' || strstr(name, ".."))
		return iso_refuse(
			h->path,
			"%s is '%.200s'; a file beside it was expected, without '/' in front and '..'", key,
			name);
	if (snprintf(out, PATH_MAX, "%.*s%s", folder, h->path, name) >= PATH_MAX)
		return iso_refuse(h->path, "%s is too long", key);
	return ISO_OK;
}

int iso_interfile_name(char out[PATH_MAX], const struct iso_interfile *h)
{
	return iso_interfile_beside(out, h, "name of data file");
}

int iso_interfile_partner(char out[PATH_MAX], char map[PATH_MAX], const char *path)
{
	struct iso_interfile h;
	int st = iso_interfile_read(&h, path);

	if (st) return st;
	st = iso_interfile_name(out, &h);
	const char *geometry = iso_interfile_find(&h, ISO_INTERFILE_GEOMETRY, 0);

	if (!st && geometry && iso_same_word(geometry, "generic"))
		st = iso_interfile_beside(map, &h, "name of crystal map");
	iso_interfile_free(&h);
	return st;
}

static int get_element(struct iso_element *e, const struct iso_interfile *h)
{
	static const struct {
		const char *word;
		char kind;
	} formats[] = { { "float", 'f' },          { "short float", 'f' },      { "long float", 'f' },
		        { "signed integer", 'i' }, { "unsigned integer", 'u' }, { "integer", 'i' } };
	const char *format, *order = iso_interfile_find(h, "imagedata byte order", 0);
	int64_t size = 0;
	const struct iso_interfile_key keys[] = {
		{ "number of bytes per pixel", .integer = &size, .min = 1, .max = 8, .required = true }, { 0 }
	};
	int st = iso_interfile_need(&format, h, "number format", 0);

	if (st || (st = iso_interfile_take(h, keys))) return st;
	*e = (struct iso_element){ .size = (int)size,
		                   .big_endian = !order || !iso_same_word(order, "littleendian") };
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (iso_same_word(format, formats[i].word)) e->kind = formats[i].kind;
	if (!iso_element_known(*e))
		return iso_refuse(
			h->path,
			"number format is '%.60s' of %" PRId64
			" bytes per pixel, known are float (4, 8), signed and unsigned integer (1, 2, 4, 8)",
			format, size);
	if (order && e->big_endian && !iso_same_word(order, "bigendian"))
		return iso_refuse(
			h->path, "imagedata byte order is '%.60s', must be LITTLEENDIAN or BIGENDIAN", order);
	return ISO_OK;
}

int iso_interfile_data(struct iso_interfile_data *d, const struct iso_interfile *h)
{
	const struct iso_interfile_key keys[] = {
		{ "data offset in bytes", .integer = &d->offset, .min = 0, .max = 1e15 },
		{ "data offset in bytes", .index = 1, .integer = &d->offset, .min = 0, .max = 1e15 },
		{ 0 },
	};
	int st;

	d->offset = 0;
	if ((st = iso_interfile_name(d->path, h)) || (st = get_element(&d->element, h))) return st;
	return iso_interfile_take(h, keys);
}

/* ---- how the patient lies ---- */

static int unknown_position(const struct iso_interfile *h, const char *text)
{
	return iso_refuse(h->path,
	                  "patient position '%.60s' is not known: HFS, HFP, FFS, FFP, or head_in, feet_in "
	                  "with supine, prone were expected",
	                  text);
}

/* STIR's axes, for a patient HFS, are L P I; HFP R A I; FFS R P S; FFP L A S. */
int iso_interfile_signs(int sign[3], bool *known, const struct iso_interfile *h)
{
	static const struct {
		const char *name, *orientation, *rotation;
		int sign[3];
	} positions[] = {
		{ "HFS", "head_in", "supine", { -1, -1, -1 } },
		{ "HFP", "head_in", "prone", { 1, 1, -1 } },
		{ "FFS", "feet_in", "supine", { 1, -1, 1 } },
		{ "FFP", "feet_in", "prone", { -1, 1, 1 } },
	};
	const char *orientation = iso_interfile_find(h, "patient orientation", 0);
	const char *rotation = iso_interfile_find(h, "patient rotation", 0);

	*known = orientation && !iso_same_word(orientation, "unknown") &&
	         !(rotation && iso_same_word(rotation, "unknown"));
	memcpy(sign, positions[0].sign, sizeof positions[0].sign);
	if (!*known) return ISO_OK;
	for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
		bool two = rotation && iso_same_word(orientation, positions[i].orientation) &&
		           iso_same_word(rotation, positions[i].rotation);

		if (!two && !iso_same_word(orientation, positions[i].name)) continue;
		memcpy(sign, positions[i].sign, sizeof positions[i].sign);
		return ISO_OK;
	}
	if (!rotation && (iso_same_word(orientation, "head_in") || iso_same_word(orientation, "feet_in"))) {
		*known = false;
		if (iso_same_word(orientation, "feet_in"))
			memcpy(sign, positions[2].sign, sizeof positions[2].sign);
		return ISO_OK;
	}
	return unknown_position(h, orientation);
}
