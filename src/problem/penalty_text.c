/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of parameter 'penalty' of penalised likelihood, "rdp:rel=0.2,gamma=1": its help, what it says, and what the
   record says of it. */
#include "problem.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- help ---- */

/* "rdp:BETA[,gamma=2,epsilon=E] (relative differences)" */
static int kind_help(char *to, size_t size, enum iso_prior_kind kind)
{
	const struct iso_prior_about *k = iso_prior_about(kind);
	const struct iso_prior_parameter *q;
	char own[100] = "";
	size_t n = 0;

	for (int i = 0; (q = iso_prior_parameter(kind, i)) && n < sizeof own; i++) {
		n += (size_t)iso_snprintf(own + n, sizeof own - n, i ? ",%s=" : "[,%s=", q->name);
		if (n < sizeof own && q->rule == ISO_PRIOR_NUMBER)
			n += (size_t)iso_snprintf(own + n, sizeof own - n, "%g", q->usual);
		else if (n < sizeof own)
			n += (size_t)iso_snprintf(own + n, sizeof own - n, "%c", toupper(q->name[0]));
	}
	return iso_snprintf(to, size, "%s%s:BETA%s%s (%s)", kind ? ", " : "", k->name, own, n ? "]" : "",
	                    k->help);
}

void penalty_help(char *to, size_t size, const struct model *m)
{
	const struct iso_penalty *k;
	size_t n = 0;

	if (m->has & MODEL_COUNTS) {
		for (int i = 0; iso_prior_about((enum iso_prior_kind)i) && n < size; i++)
			n += (size_t)kind_help(to + n, size - n, (enum iso_prior_kind)i);
		if (n < size)
			snprintf(
				to + n, size - n,
				"; rel=B in place of BETA is a strength without unit, 0.05 to 0.5 are usual. "
				"pdhg and spdhg: tv:BETA, not smoothed");
		return;
	}
	for (int i = 0; (k = iso_penalty(i)) && n < size; i++)
		n += (size_t)snprintf(to + n, size - n, "%s%s: MU times %s", i ? "; " : "", k->name, k->help);
	if (n < size)
		snprintf(to + n, size - n,
		         ". MU grows with grueneisen and the amount of data; in place of MU, rel=R is R "
		         "times the largest eigenvalue of A* A (not of tv)");
}

/* ---- words ---- */

static const char *name_of(const struct penalties *p)
{
	return iso_prior_about(p->prior.kind)->name;
}

static int parse_kind(struct penalties *p)
{
	char word[32];

	snprintf(word, sizeof word, "%.*s", (int)strcspn(p->text, ":"), p->text);
	return iso_prior_kind_of(&p->prior.kind, word);
}

static int set_parameter(struct penalties *p, const char *name, size_t length, double v)
{
	const struct iso_prior_parameter *q;
	char word[32];
	int st;

	snprintf(word, sizeof word, "%.*s", (int)length, name);
	if ((st = iso_prior_set(&p->prior, word, v))) return st;
	for (int i = 0; (q = iso_prior_parameter(p->prior.kind, i)); i++)
		if (strcmp(q->name, word) == 0 && q->rule != ISO_PRIOR_NUMBER && !(v > 0))
			return iso_fail(
				ISO_EARG,
				"'penalty': %s is 0, with which %s has no gradient where the image is "
				"0; must be greater than 0",
				word, name_of(p));
	return ISO_OK;
}

static int set_strength(struct penalties *p, double *to, const char *name, double v)
{
	if (p->has_strength)
		return iso_fail(ISO_EARG, "'penalty' is '%s': it has two strengths, expected one", p->text);
	if (!(v >= 0) || !isfinite(v))
		return iso_fail(ISO_EARG, "'penalty': %s is %g, must be at least 0", name, v);
	p->has_strength = true;
	*to = v;
	return ISO_OK;
}

/* An item between commas: BETA, rel=B or NAME=VALUE. */
static int parse_item(struct penalties *p, const char *item, size_t length)
{
	const char *equals = memchr(item, '=', length), *kind = name_of(p);
	size_t name = equals ? (size_t)(equals - item) : 0, digits = equals ? length - name - 1 : length;
	double v;

	if (!iso_number(&v, equals ? equals + 1 : item, digits))
		return iso_fail(
			ISO_EARG,
			"'penalty' is '%s': '%.*s' is no %s; expected %s:BETA or %s:rel=B, then its own "
			"parameters",
			p->text, (int)length, item, equals ? "number behind =" : "number", kind, kind);
	if (!equals) return set_strength(p, &p->beta, "BETA", v);
	if (name == 3 && strncmp(item, "rel", 3) == 0) return set_strength(p, &p->relative, "rel", v);
	return set_parameter(p, item, name, v);
}

int penalty_parse(struct penalties *p)
{
	const struct iso_prior_parameter *q;
	const char *at;
	int st;

	p->prior = (struct iso_prior_spec){ .size = sizeof p->prior };
	p->beta = p->relative = 0;
	p->has_strength = false;
	if (!p->text) return ISO_OK;
	if ((st = parse_kind(p))) return st;
	for (int i = 0; (q = iso_prior_parameter(p->prior.kind, i)); i++)
		if (q->rule == ISO_PRIOR_NUMBER) p->prior.parameter[i] = q->usual;
	at = strchr(p->text, ':');
	for (; at; at = strchr(at, ',')) {
		at++;
		if ((st = parse_item(p, at, strcspn(at, ",")))) return st;
	}
	if (p->has_strength) return ISO_OK;
	return iso_fail(ISO_EARG, "'penalty' is '%s': its strength is missing; %s:BETA, or %s:rel=0.2",
	                p->text, name_of(p), name_of(p));
}

const char *recon_penalty_name(const struct settings *s)
{
	return name_of(&s->penalties);
}

/* ---- what does not go together ---- */

int penalty_check(const struct penalties *p)
{
	if (p->text && p->bowsher && !iso_prior_about(p->prior.kind)->pairs)
		return iso_fail(ISO_EARG,
		                "'bowsher' does not go with 'penalty' %s, which has no pairs of voxels",
		                name_of(p));
	return ISO_OK;
}

/* pdhg and spdhg. */
int penalty_check_sharp(const struct penalties *p, const char *method)
{
	if (p->text && p->prior.kind != ISO_PRIOR_TV)
		return iso_fail(ISO_EARG, "'penalty' is '%s': 'method' %s has tv:BETA alone; svrg has %s",
		                p->text, method, name_of(p));
	if (p->prior.parameter[0] > 0)
		return iso_fail(
			ISO_EARG,
			"'penalty' is '%s': 'method' %s does not smooth tv; without eta, or 'method' svrg",
			p->text, method);
	if (p->relative > 0)
		return iso_fail(ISO_EARG,
		                "'penalty' is '%s': the strength of tv without eta is tv:BETA, not rel=B",
		                p->text);
	return ISO_OK;
}

/* ---- what the run tells ---- */

void penalty_record(json_t *o, const struct penalties *p, const struct iso_map_result *of)
{
	const struct iso_prior_parameter *q;

	for (int i = 0; (q = iso_prior_parameter(p->prior.kind, i)); i++)
		json_object_set_new(o, q->name, record_real(of->parameter[i]));
}

const struct iso_prior_parameter *penalty_large(double *value, const struct penalties *p,
                                                const struct iso_map_result *of, double mean)
{
	const struct iso_prior_parameter *q;

	for (int i = 0; (q = iso_prior_parameter(p->prior.kind, i)); i++) {
		*value = of->parameter[i];
		if (q->large > 0 && *value > q->large * mean) return q;
	}
	return NULL;
}
