/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of methods; what the help says of them, and which parameters do not go with one. */
#include "problem.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

/* Families, each a file: lists that end with a row without name. */
extern const struct method em_methods[], cg_methods[], map_methods[], pdhg_methods[], kem_methods[],
	direct_methods[];
static const struct method *const families[] = { em_methods,   cg_methods,  map_methods,
	                                         pdhg_methods, kem_methods, direct_methods };

enum { FAMILIES = sizeof families / sizeof *families };

#define LISTED 7 /* names in a message, at most */

const struct method *method_at(const struct model *m, int k)
{
	for (int i = 0; i < FAMILIES; i++)
		for (const struct method *w = families[i]; w->name; w++)
			if (!(w->needs & ~m->has) && k-- == 0) return w;
	return NULL;
}

const struct method *method_find(const struct model *m, const char *name)
{
	const struct method *w;

	for (int k = 0; (w = method_at(m, k)); k++)
		if (strcmp(w->name, name) == 0) return w;
	return NULL;
}

/* ---- what the help says ---- */

/* Text behind what `to` holds; cut to its size. */
static void add(char *to, size_t size, const char *before, const char *text)
{
	size_t used = strlen(to);

	snprintf(to + used, size - used, "%s%s", used ? before : "", text);
}

/* The default of a parameter, as text. */
typedef void (*default_fn)(char *text, size_t size, const struct method *w);

static void iterations(char *text, size_t size, const struct method *w)
{
	snprintf(text, size, "%d", w->iterations);
}

static void subsets(char *text, size_t size, const struct method *w)
{
	snprintf(text, size, w->subsets ? "%d" : "4 to 32, each of 1000 counts or more,", w->subsets);
}

static void tolerance(char *text, size_t size, const struct method *w)
{
	iso_snprintf(text, size, "%g", w->tolerance);
}

static void start(char *text, size_t size, const struct method *w)
{
	snprintf(text, size, "%s", w->start);
}

/* "0.005; 1e-4 for pdhg, spdhg": the default of the first method that takes the parameter, then those of others, each with
   its methods. */
static void defaults(char *to, size_t size, const struct model *m, unsigned takes, default_fn of)
{
	const struct method *w, *v;
	char text[64], other[64], names[160];

	to[0] = '\0';
	for (int k = 0; (w = method_at(m, k)); k++) {
		bool first = !to[0], told = !(w->takes & takes);

		names[0] = '\0';
		of(text, sizeof text, w);
		for (int i = 0; (v = method_at(m, i)); i++) {
			of(other, sizeof other, v);
			if (!(v->takes & takes) || strcmp(text, other) != 0) continue;
			told |= i < k;
			add(names, sizeof names, ", ", v->name);
		}
		if (told) continue;
		add(to, size, "; ", text);
		if (!first) add(to, size, " for ", names);
	}
	if (!to[0]) add(to, size, "", "not for this model");
}

void method_describe(struct method_words *to, const struct model *m)
{
	const struct method *w;
	int k = 0;

	to->about[0] = '\0';
	for (; (w = method_at(m, k)) && k < METHOD_WORDS - 1; k++) {
		to->names[k] = w->name;
		add(to->about, sizeof to->about, ". ", w->name);
		add(to->about, sizeof to->about, ": ", w->about);
	}
	to->names[k] = NULL;
	defaults(to->iterations, sizeof to->iterations, m, TAKES_ITERATIONS, iterations);
	snprintf(to->passes, sizeof to->passes,
	         "passes over all data: %s. 'tolerance' may end a run earlier. With a penalty, the start "
	         "counts as a pass",
	         to->iterations);
	defaults(to->subsets, sizeof to->subsets, m, TAKES_COUNTS, subsets);
	defaults(to->tolerance, sizeof to->tolerance, m, TAKES_TOLERANCE, tolerance);
	defaults(to->start, sizeof to->start, m, TAKES_START, start);
}

/* ---- what does not go together ---- */

/* "bsrem", "svrg, saga or bsrem": the methods of the model that take all of `goes`; their number. */
static int who_takes(char *to, size_t size, const struct model *m, unsigned goes)
{
	const struct method *w, *last = NULL;
	int n = 0;

	to[0] = '\0';
	for (int k = 0; (w = method_at(m, k)); k++) {
		if (goes & ~(w->takes | m->has)) continue;
		if (last) add(to, size, ", ", last->name);
		last = w;
		n++;
	}
	if (last) add(to, size, " or ", last->name);
	return n;
}

static int refuse(const iso_problem *p, const struct opt *o)
{
	const struct method *how = p->s.how;
	char who[160];
	int n = who_takes(who, sizeof who, p->m, o->goes);

	if (n == 0) return iso_fail(ISO_EARG, "'%s' does not go with model %s", o->name, p->m->name);
	if (!how->name)
		return iso_fail(ISO_EARG, "'%s' does not go with '%s'", o->name,
		                p->s.follow.on ? "follow" : "batch");
	if (n > LISTED) return iso_fail(ISO_EARG, "'%s' does not go with 'method' %s", o->name, how->name);
	return iso_fail(ISO_EARG, "'%s' goes with 'method' %s, not %s", o->name, who, how->name);
}

/* A flag that is set, or a text other than none. */
static bool is_on(const iso_problem *p, const char *name)
{
	const struct opt *o = opt_find(p->sets, name);

	if (o->integer) return *o->integer > 0;
	return o->flag ? *o->flag : *o->text && strcmp(*o->text, "none") != 0;
}

int method_choose(iso_problem *p)
{
	struct settings *s = &p->s;
	const unsigned more = s->kinetics.model ? TAKES_PENALTY : 0; /* of its coefficients */
	const struct opt *o;

	s->how = s->follow.on          ? p->m->follow
	         : s->follow.batch > 0 ? p->m->batched
	                               : method_find(p->m, s->method);
	if (!s->how)
		return iso_fail(ISO_EARG, "'method' is '%s', which model %s has not", s->method, p->m->name);
	for (int k = 0; (o = opt_at(p->sets, k)) && !p->like; k++) {
		if (!o->given) continue;
		if (o->goes & ~(s->how->takes | p->m->has | more)) return refuse(p, o);
		if (o->with && !is_on(p, o->with))
			return iso_fail(ISO_EARG, "'%s' needs '%s'", o->name, o->with);
	}
	return ISO_OK;
}

int method_refuse(const iso_problem *p, unsigned goes, const char *with)
{
	const struct opt *o;

	for (int k = 0; (o = opt_at(p->sets, k)) && !p->like; k++)
		if (o->given && o->goes & goes)
			return iso_fail(ISO_EARG, "'%s' does not go with %s", o->name, with);
	return ISO_OK;
}
