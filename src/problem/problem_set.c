/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a problem by name: described, set from text, from a record, and replaced by arrays. */
#include "problem.h"

#include "core/size.h"
#include "core/status.h"
#include "io/events.h"
#include "io/kinds.h"
#include "text/json_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A value that was set; parameters point into it. */
struct kept_text {
	struct kept_text *next;
	char text[];
};

/* Events in place of a file. */
struct given {
	struct given *next;
	char path[64];
	struct iso_events events;
	struct iso_strip_events strips;
};

void problem_forget(iso_problem *p)
{
	while (p->texts) {
		struct kept_text *t = p->texts;

		p->texts = t->next;
		free(t);
	}
	while (p->given) {
		struct given *g = p->given;

		p->given = g->next;
		iso_events_free(&g->events);
		iso_strip_events_free(&g->strips);
		free(g);
	}
}

static const char *keep(iso_problem *p, const char *text)
{
	size_t size = strlen(text) + 1;
	struct kept_text *t = malloc(sizeof *t + size);

	if (!t) return NULL;
	memcpy(t->text, text, size);
	t->next = p->texts;
	p->texts = t;
	return t->text;
}

/* ---- described ---- */

static const char *group_of(const iso_problem *p, const struct opt *of)
{
	for (const struct opt_set *set = p->sets; set->opts; set++)
		for (const struct opt *o = set->opts; o->name; o++)
			if (o == of) return set->title;
	return NULL;
}

int iso_problem_param(const iso_problem *p, int k, struct iso_param *param)
{
	const struct opt *o = p && k >= 0 ? opt_at(p->sets, k) : NULL;
	struct iso_param full = { .size = sizeof full };

	if (!o || !param || param->size < offsetof(struct iso_param, value)) return ISO_EARG;
	full.name = o->name;
	full.group = group_of(p, o);
	full.type = o->flag      ? ISO_PARAM_FLAG
	            : o->integer ? ISO_PARAM_INTEGER
	            : o->real    ? ISO_PARAM_REAL
	                         : ISO_PARAM_TEXT;
	full.count = o->count;
	full.spread = o->spread;
	full.min = o->min;
	full.max = o->max;
	full.words = o->words;
	full.unit = o->unit;
	full.absent = o->absent;
	full.value_name = o->value;
	full.help = o->help;
	full.file = o->file == OPT_READS || o->file == OPT_MAY_READ ? ISO_PARAM_READS
	            : o->file == OPT_WRITES                         ? ISO_PARAM_WRITES
	            : o->file == OPT_PLACE                          ? ISO_PARAM_PLACE
	                                                            : ISO_PARAM_NO_FILE;
	opt_value_text(full.value, sizeof full.value, o);
	full.size = param->size < sizeof full ? param->size : sizeof full;
	memcpy(param, &full, full.size);
	return ISO_OK;
}

/* ---- set ---- */

static bool any(const struct opt *o)
{
	(void)o;
	return true;
}

static int find(struct opt **o, iso_problem *p, const char *name)
{
	if (!p || !name) return iso_fail(ISO_EARG, "problem: a NULL argument");
	if ((*o = opt_find(p->sets, name))) return ISO_OK;
	const char *near = opt_nearest(p->sets, name, any);

	return iso_fail(ISO_EARG, "model %s has no parameter '%s'%s%s%s", p->m->name, name,
	                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int iso_problem_set(iso_problem *p, const char *name, const char *value)
{
	struct opt *o = NULL;
	int st = find(&o, p, name);

	if (st) return st;
	if (!value) return iso_fail(ISO_EARG, "problem: a NULL argument");
	problem_unload(p);
	p->s.by.n = 0; /* to be checked anew */
	if (!(value = keep(p, value))) return iso_fail_memory("parameter", 1);
	st = opt_take(o, value);
	return st ? iso_fail(st, "'%s' %s", name, iso_message()) : ISO_OK;
}

static int find_file(struct opt **o, iso_problem *p, const char *name)
{
	int st = find(o, p, name);

	if (st) return st;
	if (!(*o)->text || ((*o)->file != OPT_READS && (*o)->file != OPT_MAY_READ))
		return iso_fail(ISO_EARG, "'%s' names no file to read: an array can't take its place", name);
	return ISO_OK;
}

/* The parameter's text is from now on a name that stands for an array or events. */
static int set_given(char path[64], iso_problem *p, const char *name)
{
	struct opt *o = NULL;
	int st = find_file(&o, p, name);

	if (st) return st;
	snprintf(path, 64, "(%s in memory)", name);
	return iso_problem_set(p, name, path);
}

int iso_problem_set_array(iso_problem *p, const char *name, const struct iso_array *a, bool device)
{
	char path[64];
	struct opt *o = NULL;
	int st = find_file(&o, p, name);

	if (st) return st;
	if (!a || !a->v) return iso_fail(ISO_EARG, "'%s': the array has no values", name);
	if ((st = set_given(path, p, name))) return st;
	return record_give(p->record, path, a, device);
}

static int new_given(struct given **g, iso_problem *p, const char *name)
{
	char path[64];
	int st = set_given(path, p, name);

	if (st) return st;
	if (!(*g = calloc(1, sizeof **g))) return iso_fail_memory("events", sizeof **g);
	memcpy((*g)->path, path, sizeof path);
	(*g)->next = p->given;
	p->given = *g;
	return ISO_OK;
}

int iso_problem_set_events(iso_problem *p, const char *name, const struct iso_events *e)
{
	struct opt *o = NULL;
	struct given *g;
	int st = find_file(&o, p, name);

	if (st) return st;
	if (!e || !e->v) return iso_fail(ISO_EARG, "'%s': there are no events", name);
	if ((st = new_given(&g, p, name))) return st;
	return iso_events_copy(&g->events, e);
}

int iso_problem_set_strip_events(iso_problem *p, const struct iso_strip_events *e)
{
	struct opt *o = NULL;
	struct given *g;
	int st = find_file(&o, p, "events");

	if (st) return st;
	if (!e || !e->v) return iso_fail(ISO_EARG, "'events': there are none");
	if ((st = new_given(&g, p, "events"))) return st;
	return iso_strip_events_copy(&g->strips, e);
}

static const struct given *find_given(const iso_problem *p, const char *path)
{
	for (const struct given *g = p->given; g; g = g->next)
		if (path && strcmp(g->path, path) == 0) return g;
	return NULL;
}

const struct iso_events *problem_given_events(const iso_problem *p, const char *path)
{
	const struct given *g = find_given(p, path);

	return g && g->events.v ? &g->events : NULL;
}

const struct iso_strip_events *problem_given_strip_events(const iso_problem *p, const char *path)
{
	const struct given *g = find_given(p, path);

	return g && g->strips.v ? &g->strips : NULL;
}

/* ---- from a record ---- */

/* What the command line had besides belongs to no problem. */
static void drop_others(const iso_problem *p, json_t *parameters)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(parameters, next, key, value) if (!opt_find(p->sets, key))
		json_object_del(parameters, key);
}

int iso_problem_like(iso_problem *p, const char *record)
{
	json_t *root = NULL, *parameters;
	const char *model;
	int st;

	if (!p || !record) return iso_fail(ISO_EARG, "problem: a NULL argument");
	if ((st = iso_json_read(&root, record))) return st;
	parameters = json_object_get(root, "parameters");
	model = json_string_value(json_object_get(parameters, "model"));
	if (!model || strcmp(model, p->m->name) != 0) {
		st = iso_fail(ISO_EINPUT, "%s: not the record of a run of model %s", record, p->m->name);
		json_decref(root);
		return st;
	}
	if (!p->like_records) p->like_records = json_array();
	if (json_array_append_new(p->like_records, root)) return iso_fail_memory("record", 1);
	problem_unload(p);
	p->s.by.n = 0;
	drop_others(p, parameters);
	p->like = true;
	return opt_from_json(p->sets, parameters, record);
}
