/* SPDX-License-Identifier: BSD-3-Clause */
/* From the tree of a description to values: what a map may hold, key by key. */
#include "conf.h"
#include "nearest.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	if (map->key) return iso_conf_fail(map, "key '%s' of '%.60s' is missing", name, map->key);
	return iso_conf_fail(map, "key '%s' is missing", name);
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

static int get_bool(bool *v, const struct conf_node *n, const struct conf_key *k)
{
	bool word = n->type == CONF_SCALAR && !n->quoted;

	if (!word || (strcmp(n->text, "true") != 0 && strcmp(n->text, "false") != 0))
		return iso_conf_fail(n, "%s must be true or false", k->name);
	*v = n->text[0] == 't';
	return ISO_OK;
}

static int get_text(const char **v, const struct conf_node *n, const struct conf_key *k)
{
	if (n->type != CONF_SCALAR)
		return iso_conf_fail(n, "%s is %s, must be a text", k->name, type_name(n));
	*v = n->text;
	return ISO_OK;
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
		return get_text(k->dst, n, k);
	case CONF_BOOL:
		return get_bool(k->dst, n, k);
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
