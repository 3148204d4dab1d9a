/* SPDX-License-Identifier: BSD-3-Clause */
/* From the text of a description to its tree, by libyaml's events, and from the tree to values, key by key.
   Scalars stay text: what a number is, is said by the key that asks for one. */
#define _GNU_SOURCE /* memmem */
#include "conf.h"
#include "json_file.h"
#include "nearest.h"
#include "file/in.h"
#include "file/suffix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MAX_DEPTH = 64, MAX_KEYS = 100 };

/* The root and the name that all nodes point to. */
struct tree {
	struct conf_node root;
	char file[];
};

struct reader {
	yaml_parser_t yaml;
	yaml_event_t ev; /* the current event */
	const char *file;
};

int iso_conf_fail(const struct conf_node *at, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	iso_vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (at->line == 0) return iso_refuse(at->file, "%s", text);
	return iso_fail(ISO_EINPUT, "%s:%d: %s", at->file, at->line, text);
}

static void free_children(struct conf_node *parent)
{
	struct conf_node *next;

	for (struct conf_node *n = parent->child; n; n = next) {
		next = n->next;
		free_children(n);
		free(n->key);
		free(n->text);
		free(n);
	}
}

void iso_conf_free(struct conf_node *root)
{
	if (!root) return;
	free_children(root);
	free(root);
}

static int line_of(const struct reader *r)
{
	return (int)r->ev.start_mark.line + 1;
}

static int refuse(const struct reader *r, const char *what)
{
	return iso_fail(ISO_EINPUT, "%s:%d: %s", r->file, line_of(r), what);
}

static int next(struct reader *r)
{
	const yaml_parser_t *y = &r->yaml;

	yaml_event_delete(&r->ev);
	if (yaml_parser_parse(&r->yaml, &r->ev)) return ISO_OK;
	if (y->error == YAML_MEMORY_ERROR) return iso_fail_memory(r->file, CONF_MOST);
	if (y->error == YAML_READER_ERROR) /* has no line */
		return iso_refuse(r->file, "byte %zu: %s", y->problem_offset, y->problem);
	return iso_fail(ISO_EINPUT, "%s:%d: %s", r->file, (int)y->problem_mark.line + 1, y->problem);
}

/* Anchors, aliases and tags give a text more than one meaning, or none that we know. */
static int check_plain(const struct reader *r)
{
	const yaml_event_t *e = &r->ev;
	const void *anchor = NULL, *tag = NULL;

	if (e->type == YAML_ALIAS_EVENT) return refuse(r, "aliases (*name) are not supported");
	if (e->type == YAML_SCALAR_EVENT) {
		anchor = e->data.scalar.anchor;
		tag = e->data.scalar.tag;
	} else if (e->type == YAML_SEQUENCE_START_EVENT) {
		anchor = e->data.sequence_start.anchor;
		tag = e->data.sequence_start.tag;
	} else if (e->type == YAML_MAPPING_START_EVENT) {
		anchor = e->data.mapping_start.anchor;
		tag = e->data.mapping_start.tag;
	}
	if (anchor) return refuse(r, "anchors (&name) are not supported");
	return tag ? refuse(r, "tags (!name) are not supported") : ISO_OK;
}

/* Copy of the current scalar. */
static int take_text(struct reader *r, char **text)
{
	const char *value = (const char *)r->ev.data.scalar.value;
	size_t length = r->ev.data.scalar.length;

	if (strlen(value) != length) return refuse(r, "a text holds the character NUL");
	*text = strdup(value);
	return *text ? ISO_OK : iso_fail_memory(r->file, (int64_t)length);
}

/* The current event as key of `node`, the newest child of `map`. */
static int take_key(struct reader *r, const struct conf_node *map, struct conf_node *node)
{
	int st = check_plain(r);

	if (st) return st;
	if (r->ev.type != YAML_SCALAR_EVENT) return refuse(r, "a key must be a text, not a list or a map");
	if (map->n_child == MAX_KEYS) return refuse(r, "a map has more than 100 keys");
	if ((st = take_text(r, &node->key))) return st;
	node->file = r->file;
	node->line = line_of(r);
	for (const struct conf_node *n = map->child; n != node; n = n->next)
		if (strcmp(n->key, node->key) == 0)
			return iso_conf_fail(node, "key '%.60s' stands again, first on line %d", node->key,
			                     n->line);
	return ISO_OK;
}

static int take_children(struct reader *r, struct conf_node *parent, int depth);

/* The current event, and all up to its end, as value of `node`. */
static int take_value(struct reader *r, struct conf_node *node, int depth)
{
	int st = check_plain(r);

	if (st) return st;
	node->file = r->file;
	if (!node->key) node->line = line_of(r);
	if (r->ev.type == YAML_SCALAR_EVENT) {
		node->type = CONF_SCALAR;
		node->quoted = r->ev.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
		return take_text(r, &node->text);
	}
	if (depth == MAX_DEPTH) return refuse(r, "lists and maps are nested more than 64 deep");
	node->type = r->ev.type == YAML_MAPPING_START_EVENT ? CONF_MAP : CONF_LIST;
	return take_children(r, node, depth + 1);
}

/* Each node hangs in the tree before it is filled: whatever fails, freeing the root frees all. */
static int take_children(struct reader *r, struct conf_node *parent, int depth)
{
	struct conf_node **tail = &parent->child;
	int st;

	for (;; parent->n_child++, tail = &(*tail)->next) {
		if ((st = next(r))) return st;
		if (r->ev.type == YAML_SEQUENCE_END_EVENT || r->ev.type == YAML_MAPPING_END_EVENT)
			return ISO_OK;
		*tail = calloc(1, sizeof **tail);
		if (!*tail) return iso_fail_memory(r->file, sizeof **tail);
		if (parent->type == CONF_MAP && ((st = take_key(r, parent, *tail)) || (st = next(r))))
			return st;
		if ((st = take_value(r, *tail, depth))) return st;
	}
}

static int take_document(struct reader *r, struct conf_node *root)
{
	int st;

	if ((st = next(r)) || (st = next(r))) /* start of stream, start of document */
		return st;
	if (r->ev.type == YAML_STREAM_END_EVENT)
		return iso_refuse(r->file, "is empty, must hold a map of keys");
	if ((st = next(r))) return st;
	if (r->ev.type != YAML_MAPPING_START_EVENT)
		return refuse(r, "the file must hold a map of keys (key: value)");
	if ((st = take_value(r, root, 0)) || (st = next(r)) || (st = next(r))) return st;
	root->line = 0;
	if (r->ev.type != YAML_STREAM_END_EVENT) return refuse(r, "a second document begins");
	return ISO_OK;
}

static int check_text(const char *name, const char *text, size_t size)
{
	if (size == 0) return iso_refuse(name, "is empty, must hold a map of keys");
	if (size > CONF_MOST) return iso_refuse(name, "is larger than 1 MiB, the most for a description");
	if (memchr(text, 0, size)) return iso_refuse(name, "holds NUL bytes, must be YAML or JSON text");
	if (iso_has_suffix(name,
	                   ".json")) { /* jansson is stricter: duplicates, trailing text, overflow, UTF-8 */
		json_t *json = NULL;
		int st = iso_json_parse(&json, name, text, size);

		json_decref(json);
		return st;
	}
	if (memmem(text, size, "%TAG", 4)) /* libyaml compares each one with all before it */
		return iso_refuse(name, "tags (%%TAG) are not supported");
	return ISO_OK;
}

int iso_conf_parse(struct conf_node **root, const char *name, const char *text, size_t size)
{
	struct reader r = { 0 };
	struct tree *tree;
	int st = check_text(name, text, size);

	if (st) return st;
	tree = calloc(1, sizeof *tree + strlen(name) + 1);
	if (!tree || !yaml_parser_initialize(&r.yaml)) {
		free(tree);
		return iso_fail_memory(name, (int64_t)size);
	}
	r.file = strcpy(tree->file, name);
	yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.yaml, (const unsigned char *)text, size);
	st = take_document(&r, &tree->root);
	yaml_event_delete(&r.ev);
	yaml_parser_delete(&r.yaml);
	if (st)
		iso_conf_free(&tree->root);
	else
		*root = &tree->root;
	return st;
}

int iso_conf_read(struct conf_node **root, const char *path)
{
	char *text = NULL;
	size_t size;
	int st = iso_text_read(&text, &size, path, CONF_MOST >> 20, "description");

	if (!st) st = iso_conf_parse(root, path, text, size);
	free(text);
	return st;
}

int iso_conf_file(char *out, size_t size, const struct conf_node *root, const char *name)
{
	int folder = (int)(iso_base_name(root->file) - root->file);

	if (name[0] == '\0' || name[0] == '/')
		return iso_conf_fail(root, "file name '%.200s' must be relative to this file's folder", name);
	for (const char *p = name; *p; p += strspn(p, "/")) {
		size_t part = strcspn(p, "/");

		if (part == 2 && strncmp(p, "..", 2) == 0)
			return iso_conf_fail(root, "file name '%.200s' must not hold '..'", name);
		p += part;
	}
	if (snprintf(out, size, "%.*s%s", folder, root->file, name) >= (int)size)
		return iso_conf_fail(root, "file name '%.200s' is too long", name);
	return ISO_OK;
}

/* ---- from the tree to values ---- */

enum { MAX_WORDS = 64 }; /* keys of a table, words of a choice */

static const char *type_name(const struct conf_node *n)
{
	static const char *const name[] = { "a single value", "a list", "a map" };

	return name[n->type];
}

const struct conf_node *iso_conf_find(const struct conf_node *map, const char *name)
{
	const struct conf_node *n = map->type == CONF_MAP ? map->child : NULL;

	while (n && strcmp(n->key, name) != 0) n = n->next;
	return n;
}

static int missing(const struct conf_node *map, const char *name)
{
	return map->key ? iso_conf_fail(map, "key '%s' of '%.60s' is missing", name, map->key)
	                : iso_conf_fail(map, "key '%s' is missing", name);
}

/* "a, b, c"; what does not fit is left out. */
static void join(char *out, size_t size, int n, const char *const *word)
{
	size_t used = 0;

	out[0] = '\0';
	for (int i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", word[i]);
}

int iso_conf_word(int *which, const struct conf_node *map, const char *name, const char *const *words)
{
	const struct conf_node *node = iso_conf_find(map, name);
	const char *near;
	char all[512], guess[96] = "";
	int n = 0;

	if (!node) return *which >= 0 ? ISO_OK : missing(map, name);
	if (node->type != CONF_SCALAR)
		return iso_conf_fail(node, "%s is %s, must be a word", name, type_name(node));
	for (; words[n]; n++)
		if (strcmp(words[n], node->text) == 0) {
			*which = n;
			return ISO_OK;
		}
	join(all, sizeof all, n, words);
	near = iso_nearest(node->text, n, words);
	if (near) snprintf(guess, sizeof guess, "; did you mean '%s'?", near);
	return iso_conf_fail(node, "%s is '%.60s', must be one of: %s%s", name, node->text, all, guess);
}

static int get_number(double *v, const struct conf_node *n, const struct conf_key *k)
{
	if (n->type != CONF_SCALAR)
		return iso_conf_fail(n, "%s is %s, must be a number", k->name, type_name(n));
	if (n->quoted)
		return iso_conf_fail(n, "%s is \"%.60s\", must be a number, without quotes", k->name,
		                     n->text);
	if (!iso_number(v, n->text, strlen(n->text)))
		return iso_conf_fail(n, "%s is '%.60s', must be a number", k->name, n->text);
	if (*v < k->min || *v > k->max)
		return iso_conf_fail(n, "%s is %.60s, must be in [%.10g, %.10g]", k->name, n->text, k->min,
		                     k->max);
	return ISO_OK;
}

static int get_int(int64_t *v, const struct conf_node *n, const struct conf_key *k)
{
	double d;
	int st = get_number(&d, n, k);

	if (st) return st;
	if (d != floor(d) || fabs(d) > 9007199254740992.) /* 2^53 */
		return iso_conf_fail(n, "%s is %.60s, must be a whole number", k->name, n->text);
	*v = (int64_t)d;
	return ISO_OK;
}

static bool is_word(const struct conf_node *n, const char *word)
{
	return n->type == CONF_SCALAR && !n->quoted && strcmp(n->text, word) == 0;
}

static int get_list(const struct conf_node *list, const struct conf_key *k)
{
	double *reals = k->dst;
	int64_t *ints = k->dst;
	int i = 0, st = ISO_OK;

	if (list->type != CONF_LIST)
		return iso_conf_fail(list, "%s is %s, must be a list of %d numbers", k->name, type_name(list),
		                     k->count);
	if (list->n_child != k->count)
		return iso_conf_fail(list, "%s has %d values, must have %d", k->name, list->n_child,
		                     k->count);
	for (const struct conf_node *n = list->child; n && !st; n = n->next, i++)
		st = k->kind == CONF_INTS ? get_int(&ints[i], n, k) : get_number(&reals[i], n, k);

	return st;
}

static int get_value(const struct conf_node *n, const struct conf_key *k)
{
	if (!k->dst) return ISO_OK;
	switch (k->kind) {
	case CONF_REAL:
		return get_number(k->dst, n, k);
	case CONF_INT:
		return get_int(k->dst, n, k);
	case CONF_TEXT:
		*(const char **)k->dst = n->text;
		return n->type == CONF_SCALAR
		               ? ISO_OK
		               : iso_conf_fail(n, "%s is %s, must be a text", k->name, type_name(n));
	case CONF_BOOL:
		*(bool *)k->dst = is_word(n, "true");
		return *(bool *)k->dst || is_word(n, "false")
		               ? ISO_OK
		               : iso_conf_fail(n, "%s must be true or false", k->name);
	case CONF_REALS:
	case CONF_INTS:
		return get_list(n, k);
	case CONF_NODE:
		*(const struct conf_node **)k->dst = n;
	}
	return ISO_OK;
}

static int unknown(const struct conf_node *n, const struct conf_key *keys)
{
	const char *names[MAX_WORDS] = { NULL }, *near;
	char all[512];
	int count = 0;

	for (; keys[count].name && count < MAX_WORDS; count++) names[count] = keys[count].name;
	near = iso_nearest(n->key, count, names);
	if (near) return iso_conf_fail(n, "unknown key '%.60s'; did you mean '%s'?", n->key, near);
	join(all, sizeof all, count, names);
	return iso_conf_fail(n, "unknown key '%.60s'; known keys: %s", n->key, all);
}

int iso_conf_keys(const struct conf_node *map, const struct conf_key *keys)
{
	int st;

	if (map->type != CONF_MAP)
		return iso_conf_fail(map, "%.60s is %s, must be a map", map->key ? map->key : "this entry",
		                     type_name(map));
	for (const struct conf_node *n = map->child; n; n = n->next) {
		const struct conf_key *k = keys;

		while (k->name && strcmp(k->name, n->key) != 0) k++;
		st = k->name ? get_value(n, k) : unknown(n, keys);
		if (st) return st;
	}
	for (const struct conf_key *k = keys; k->name; k++)
		if (k->required && !iso_conf_find(map, k->name)) return missing(map, k->name);
	return ISO_OK;
}
