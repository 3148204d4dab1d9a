/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of parameter 'penalty' of penalised likelihood, "rdp:rel=0.2,gamma=1": its help, what it says, and what the
   record says of it. */
#include "problem.h"

#include "text/nearest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- help ---- */

void penalty_help(char *to, size_t size, const struct model *m)
{
	const struct iso_penalty *k;
	size_t n = 0;

	if (m->has & MODEL_COUNTS) {
		snprintf(to, size,
		         "rdp:BETA[,gamma=2,epsilon=E] (relative differences), quadratic:BETA, "
		         "logcosh:BETA[,s=S], huber:BETA[,delta=D], tv:BETA[,eta=E]; rel=B in place of BETA "
		         "is a strength without unit, 0.05 to 0.5 are usual. pdhg and spdhg: tv:BETA, not "
		         "smoothed");
		return;
	}
	for (int i = 0; (k = iso_penalty(i)) && n < size; i++)
		n += (size_t)snprintf(to + n, size - n, "%s%s: MU times %s", i ? "; " : "", k->name, k->help);
	if (n < size) snprintf(to + n, size - n, ". MU grows with grueneisen and the amount of data");
}

/* ---- words ---- */

/* Parameters of each kind, and the place of each in the spec; as enum iso_prior_kind. */
struct term {
	const char *name;
	size_t at;
	bool zero; /* may be 0 */
};

static const struct kind {
	const char *name;
	struct term term[3];
} kinds[] = {
	[ISO_PRIOR_QUADRATIC] = { "quadratic", { { 0 } } },
	[ISO_PRIOR_RDP] = { "rdp",
	                    { { "gamma", offsetof(struct iso_prior_spec, gamma), true },
	                      { "epsilon", offsetof(struct iso_prior_spec, epsilon), true } } },
	[ISO_PRIOR_LOGCOSH] = { "logcosh", { { "s", offsetof(struct iso_prior_spec, s), false } } },
	[ISO_PRIOR_HUBER] = { "huber", { { "delta", offsetof(struct iso_prior_spec, delta), false } } },
	[ISO_PRIOR_TV] = { "tv", { { "eta", offsetof(struct iso_prior_spec, eta), false } } },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static int parse_kind(struct penalties *p)
{
	size_t length = strcspn(p->text, ":");
	const char *names[KINDS], *near;
	char word[32];

	for (int k = 0; k < KINDS; k++) {
		names[k] = kinds[k].name;
		if (strlen(names[k]) == length && strncmp(p->text, names[k], length) == 0) {
			p->prior.kind = (enum iso_prior_kind)k;
			return ISO_OK;
		}
	}
	snprintf(word, sizeof word, "%.*s", (int)length, p->text);
	near = iso_nearest(word, KINDS, names);
	return iso_fail(ISO_EARG,
	                "'penalty' is '%s': '%s' is none of quadratic, rdp, logcosh, huber, tv%s%s%s",
	                p->text, word, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int set_term(struct penalties *p, const struct term *t, double v)
{
	double *to = (double *)((char *)&p->prior + t->at);

	if (!(v > 0) && !(t->zero && v == 0))
		return iso_fail(ISO_EARG, "'penalty': %s is %g, must be %s 0", t->name, v,
		                t->zero ? "at least" : "greater than");
	*to = v;
	if (t->at == offsetof(struct iso_prior_spec, epsilon)) p->epsilon_given = true;
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
	const struct kind *k = &kinds[p->prior.kind];
	const char *equals = memchr(item, '=', length);
	size_t name = equals ? (size_t)(equals - item) : 0, digits = equals ? length - name - 1 : length;
	double v;

	if (!iso_number(&v, equals ? equals + 1 : item, digits))
		return iso_fail(ISO_EARG,
		                "'penalty' is '%s': '%.*s' is no %s; expected %s:BETA or %s:rel=B, then its "
		                "own parameters",
		                p->text, (int)length, item, equals ? "number behind =" : "number", k->name,
		                k->name);
	if (!equals) return set_strength(p, &p->beta, "BETA", v);
	if (name == 3 && strncmp(item, "rel", 3) == 0) return set_strength(p, &p->relative, "rel", v);
	for (const struct term *t = k->term; t->name; t++)
		if (strlen(t->name) == name && strncmp(item, t->name, name) == 0) return set_term(p, t, v);
	return iso_fail(ISO_EARG, "'penalty' is '%s': %s has no '%.*s'%s%s%s%s", p->text, k->name, (int)name,
	                item, k->term[0].name ? "; it has " : "", k->term[0].name ? k->term[0].name : "",
	                k->term[1].name ? " and " : "", k->term[1].name ? k->term[1].name : "");
}

int penalty_parse(struct penalties *p)
{
	const char *at;
	int st;

	p->prior = (struct iso_prior_spec){ .size = sizeof p->prior, .gamma = 2 };
	p->beta = p->relative = 0;
	p->has_strength = p->epsilon_given = false;
	if (!p->text) return ISO_OK;
	if ((st = parse_kind(p))) return st;
	at = strchr(p->text, ':');
	for (; at; at = strchr(at, ',')) {
		at++;
		if ((st = parse_item(p, at, strcspn(at, ",")))) return st;
	}
	if (p->has_strength) return ISO_OK;
	return iso_fail(ISO_EARG, "'penalty' is '%s': its strength is missing; %s:BETA, or %s:rel=0.2",
	                p->text, kinds[p->prior.kind].name, kinds[p->prior.kind].name);
}

const char *recon_penalty_name(const struct settings *s)
{
	return kinds[s->penalties.prior.kind].name;
}

/* ---- what does not go together ---- */

int penalty_check(const struct penalties *p)
{
	if (p->text && p->prior.kind == ISO_PRIOR_TV && p->bowsher)
		return iso_fail(ISO_EARG,
		                "'bowsher' does not go with 'penalty' tv, which has no pairs of voxels");
	if (p->text && p->prior.kind == ISO_PRIOR_RDP && p->epsilon_given && p->prior.epsilon == 0)
		return iso_fail(ISO_EARG, "'penalty': epsilon is 0, with which rdp has no gradient where the "
		                          "image is 0; must be greater than 0");
	return ISO_OK;
}

/* pdhg and spdhg. */
int penalty_check_sharp(const struct penalties *p, const char *method)
{
	if (p->text && p->prior.kind != ISO_PRIOR_TV)
		return iso_fail(ISO_EARG, "'penalty' is '%s': 'method' %s has tv:BETA alone; svrg has %s",
		                p->text, method, kinds[p->prior.kind].name);
	if (p->prior.eta > 0)
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

/* ---- to the run, and to the record ---- */

struct iso_prior_spec penalty_prior(const struct penalties *p)
{
	return p->prior;
}

void penalty_record(json_t *o, const struct penalties *p, const struct iso_map_result *of)
{
	if (p->prior.kind == ISO_PRIOR_RDP) json_object_set_new(o, "gamma", record_real(of->gamma));
	if (p->prior.kind == ISO_PRIOR_RDP) json_object_set_new(o, "epsilon", record_real(of->epsilon));
	if (p->prior.kind == ISO_PRIOR_LOGCOSH) json_object_set_new(o, "s", record_real(of->s));
	if (p->prior.kind == ISO_PRIOR_HUBER) json_object_set_new(o, "delta", record_real(of->delta));
	if (p->prior.kind == ISO_PRIOR_TV) json_object_set_new(o, "eta", record_real(of->eta));
}
