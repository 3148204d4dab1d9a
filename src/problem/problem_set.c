/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a problem by name: described, set from text, from a record, and replaced by arrays. */
#include "problem.h"

#include "io/events.h"
#include "io/kinds.h"
#include "model/srm/matrix/srm_matrix.h"
#include "text/json_file.h"

static int keep(iso_problem *p, json_t *v)
{
	return json_array_append_new(p->kept, v) ? iso_fail_memory("parameter", 1) : ISO_OK;
}

/* ---- described ---- */

static const char *group_of(const iso_problem *p, const struct opt *of)
{
	for (const struct opt_set *set = p->sets; set->opts; set++)
		for (const struct opt *o = set->opts; o->name; o++)
			if (o == of) return set->title;
	return NULL;
}

int iso_problem_param(struct iso_param *param, iso_problem *p, int k)
{
	static const enum iso_param_file files[] = {
		[OPT_READS] = ISO_PARAM_READS,   [OPT_MAY_READ] = ISO_PARAM_READS,
		[OPT_FIRST] = ISO_PARAM_READS,   [OPT_LIST] = ISO_PARAM_READS,
		[OPT_WRITES] = ISO_PARAM_WRITES, [OPT_PLACE] = ISO_PARAM_PLACE,
	};
	if (!param || !p) return iso_fail_null(__func__);
	const struct opt *o = k >= 0 ? opt_at(p->sets, k) : NULL;

	if (!o || param->size < offsetof(struct iso_param, value)) return ISO_EARG;
	struct iso_param full = {
		.size = param->size < sizeof full ? param->size : sizeof full,
		.name = o->name,
		.group = group_of(p, o),
		.type = o->flag      ? ISO_PARAM_FLAG
		        : o->integer ? ISO_PARAM_INTEGER
		        : o->real    ? ISO_PARAM_REAL
		                     : ISO_PARAM_TEXT,
		.count = o->count,
		.spread = o->spread,
		.min = o->min,
		.max = o->max,
		.words = o->words,
		.unit = o->unit,
		.absent = o->absent,
		.value_name = o->value,
		.help = o->help,
		.file = files[o->file],
		.takes = o->takes,
		.or_number = o->or_number,
	};

	opt_value_text(p->value, sizeof p->value, o);
	full.value = p->value[0] && o->text ? *o->text : p->value; /* a text may be longer than any numbers */
	memcpy(param, &full, full.size);
	return ISO_OK;
}

/* ---- set ---- */

static int find(struct opt **o, iso_problem *p, const char *name)
{
	if (!p || !name) return iso_fail_null("problem");
	if ((*o = opt_find(p->sets, name))) return ISO_OK;
	const char *near = opt_nearest(p->sets, name, NULL);

	return iso_fail(ISO_EARG, "model %s has no parameter '%s'%s%s%s", p->m->name, name,
	                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* The data are let go, and the parameters to be checked anew. */
static void begin_anew(iso_problem *p)
{
	problem_unload(p);
	problem_forget_preset(p);
	p->s.by.n = 0;
	p->told = false;
}

static int set(iso_problem *p, struct opt *o, const char *name, const char *value)
{
	json_t *kept;
	int st;

	begin_anew(p);
	if ((st = keep(p, kept = json_string_nocheck(value)))) return st;
	st = opt_take(o, json_string_value(kept));
	return st ? iso_fail(st, "'%s' %s", name, iso_message()) : ISO_OK;
}

int iso_problem_set(iso_problem *p, const char *name, const char *value)
{
	struct opt *o = NULL;
	int st = find(&o, p, name);

	if (st) return st;
	if (!value) return iso_fail_null("problem");
	/* of several ranks, one that lacks the file must fail with the others, when they load */
	if (iso_ctx_ranks(p->ctx) == 1 && (st = opt_check_file(o, value))) return st;
	return set(p, o, name, value);
}

/* ---- set from numbers: by the text that stands for them, so that one check serves both ---- */

enum { NUMBERS = 64, NUMBER = 32 }; /* of a list, at most; bytes of one */

/* A parameter that names a file alone takes no number. */
static int set_written(iso_problem *p, const char *name, const char *number)
{
	struct opt *o = NULL;
	int st = find(&o, p, name);

	if (st) return st;
	if (o->text && o->file && !o->or_number)
		return iso_fail(ISO_EARG, "'%s' is the number %s, must be %s", name, number, o->value);
	return iso_problem_set(p, name, number);
}

int iso_problem_set_int(iso_problem *p, const char *name, int64_t value)
{
	char text[NUMBER];

	snprintf(text, sizeof text, "%" PRId64, value);
	return set_written(p, name, text);
}

int iso_problem_set_real(iso_problem *p, const char *name, double value)
{
	return iso_problem_set_reals(p, name, &value, 1);
}

int iso_problem_set_reals(iso_problem *p, const char *name, const double *value, int n)
{
	char text[NUMBERS * NUMBER] = "";
	size_t used = 0;

	if (!p || !name || !value) return iso_fail_null(__func__);
	if (n < 1 || n > NUMBERS)
		return iso_fail(ISO_EARG, "'%s' is a list of %d numbers, must be 1 to %d", name, n, NUMBERS);
	for (int i = 0; i < n; i++)
		used += (size_t)iso_snprintf(text + used, sizeof text - used, "%s%.17g", i ? "," : "",
		                             value[i]);
	return set_written(p, name, text);
}

int iso_problem_set_flag(iso_problem *p, const char *name, bool value)
{
	return iso_problem_set(p, name, value ? "true" : "false");
}

/* `kind` can't take the place of what the parameter names. */
static int refuse_kind(const iso_problem *p, const struct opt *o, enum iso_param_takes kind)
{
	static const char *const words[] = { "nothing in memory", "an array", "list-mode events",
		                             "events of strips", "a system matrix" };

	if (o->file != OPT_READS && o->file != OPT_MAY_READ && o->file != OPT_FIRST && o->file != OPT_LIST)
		return iso_fail(ISO_EARG, "'%s' names no file to read: %s can't take its place", o->name,
		                words[kind]);
	return iso_fail(ISO_EARG, "'%s' of model %s takes a file%s%s, not %s", o->name, p->m->name,
	                o->takes ? " or " : " alone", o->takes ? words[o->takes] : "", words[kind]);
}

/* The parameter's text is from now on a name that stands for what *g will hold: values at v. */
static int give(struct given **g, iso_problem *p, const char *name, enum iso_param_takes kind, const void *v)
{
	char path[sizeof(*g)->path];
	struct opt *o = NULL;
	int st = find(&o, p, name);

	if (st) return st;
	if (o->takes != kind) return refuse_kind(p, o, kind);
	if (!v) return iso_fail(ISO_EARG, "'%s': the array has no values, or there are no events", name);
	snprintf(path, sizeof path, "(%s in memory)", name);
	if ((st = set(p, o, name, path))) return st;
	return (*g = record_give(p->record, path)) ? ISO_OK : iso_fail_memory("array", sizeof **g);
}

int iso_problem_set_array(iso_problem *p, const char *name, const struct iso_array *a, bool device)
{
	struct given *g;
	int st = p && name && a ? give(&g, p, name, ISO_TAKES_ARRAY, a->v) : iso_fail_null(__func__);

	return st ? st : record_copy(&g->array, a, device ? p->record->read.ctx : NULL);
}

int iso_problem_set_events(iso_problem *p, const char *name, const struct iso_events *e)
{
	struct given *g;
	int st = p && name && e ? give(&g, p, name, ISO_TAKES_EVENTS, e->v) : iso_fail_null(__func__);

	return st ? st : iso_events_copy(&g->events, e);
}

int iso_problem_set_strip_events(iso_problem *p, const struct iso_strip_events *e)
{
	struct given *g;
	int st = p && e ? give(&g, p, "events", ISO_TAKES_STRIP_EVENTS, e->v) : iso_fail_null(__func__);

	return st ? st : iso_strip_events_copy(&g->strips, e);
}

int iso_problem_set_srm(iso_problem *p, const iso_srm *m)
{
	if (!p || !m) return iso_fail_null(__func__);
	struct given *g;
	int st;

	if (!m->at || m->n == 0) /* none was made yet, or iso_srm_peek has left it in the file */
		return iso_fail(ISO_EARG, "'srm': the matrix has no elements: iso_srm_threshold makes its "
		                          "table, iso_srm_read reads one");
	if (!(st = give(&g, p, "srm", ISO_TAKES_MATRIX, m))) g->srm = m;
	return st;
}

/* ---- from a record ---- */

/* All parameters, or, where one is refused, none. The tables lie in the problem, the values there and in `self`,
   for which `fresh` has room: nothing is loaded. */
static int take_all(iso_problem *p, const json_t *parameters, const char *record)
{
	const iso_problem before = *p;
	int st;

	memcpy(p->fresh, p->self, p->m->bytes);
	if ((st = opt_from_json(p->sets, parameters, record))) {
		*p = before;
		memcpy(p->self, p->fresh, p->m->bytes);
	}
	p->like = p->like || !st;
	return st;
}

int iso_problem_like(iso_problem *p, const char *record)
{
	json_t *root = NULL, *parameters, *value;
	const char *model, *key;
	void *next;
	int st;

	if (!p || !record) return iso_fail_null(__func__);
	json_t *path = json_string_nocheck(record);

	if ((st = keep(p, path)) || (st = iso_json_read(&root, record)) || (st = keep(p, root))) return st;
	parameters = json_object_get(root, "parameters");
	model = json_string_value(json_object_get(parameters, "model"));
	if (!model || strcmp(model, p->m->name) != 0)
		return iso_fail(ISO_EINPUT, "%s: not the record of a run of model %s", record, p->m->name);
	begin_anew(p);
	json_object_foreach_safe(parameters, next, key, value)
	{
		if (!opt_find(p->sets, key)) json_object_del(parameters, key); /* the command line's own */
	}
	p->record->read.like = root;
	p->record->read.like_path = json_string_value(path);
	return take_all(p, parameters, record);
}
