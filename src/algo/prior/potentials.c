/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of potentials: names, parameters with their defaults and ranges, and the constants that evaluations read. */
#include "base/number.h"
#include "prior_in.h"
#include "text/nearest.h"

/* ---- constants of a kind, from its parameters ---- */

static void set_rdp(struct prior_par *p, const double *q)
{
	p->rdp.gamma = (iso_real)q[0];
	p->rdp.epsilon = (iso_real)q[1];
	p->rdp.least = (iso_real)(q[1] > 1e-37 ? 0 : 1e-37);
}

static void set_logcosh(struct prior_par *p, const double *q)
{
	p->logcosh.s = (iso_real)q[0];
	p->logcosh.over_s = (iso_real)(1 / q[0]);
}

static void set_huber(struct prior_par *p, const double *q)
{
	p->huber.delta = (iso_real)q[0];
}

static void set_ggd(struct prior_par *p, const double *q)
{
	p->ggd.p = (iso_real)q[0];
	p->ggd.over = (iso_real)(1 / q[1]);
	p->ggd.scale = (iso_real)(q[1] * q[1] / q[0]);
}

static void set_tv(struct prior_par *p, const double *q)
{
	p->tv.eta = (iso_real)q[0];
}

/* ---- the table ---- */

static const struct row {
	struct iso_prior_about about;
	void (*set)(struct prior_par *p, const double *q); /* NULL: no constants */
	struct iso_prior_parameter parameter[ISO_PRIOR_PARAMETERS];
} rows[] = {
	[ISO_PRIOR_QUADRATIC] = { .about = { "quadratic", "squared differences", .pairs = true } },
	[ISO_PRIOR_RDP] = { { "rdp", "relative differences", .pairs = true, .nonnegative = true },
	                    set_rdp,
	                    { { "gamma", 2, .most = INFINITY },
	                      { "epsilon", 1e-3, ISO_PRIOR_OF_LARGEST, .most = INFINITY, .large = .1 } } },
	[ISO_PRIOR_LOGCOSH] = { { "logcosh", "logarithm of the hyperbolic cosine", .pairs = true },
	                        set_logcosh,
	                        { { "s", .3, ISO_PRIOR_OVER_MEAN, .most = INFINITY, .above = true } } },
	[ISO_PRIOR_HUBER] = { { "huber", "squares, straight beyond delta", .pairs = true },
	                      set_huber,
	                      { { "delta", .3, ISO_PRIOR_OF_MEAN, .most = INFINITY, .above = true } } },
	[ISO_PRIOR_GGD] = { { "ggd", "generalised Gaussian, a power p of differences", .pairs = true },
	                    set_ggd,
	                    { { "p", 1.2, .least = 1, .most = 2 },
	                      { "delta", .3, ISO_PRIOR_OF_MEAN, .most = INFINITY, .above = true } } },
	[ISO_PRIOR_TV] = { { "tv", "total variation, smoothed by eta", .pairs = false },
	                   set_tv,
	                   { { "eta", .05, ISO_PRIOR_OF_MEAN, .most = INFINITY, .above = true } } },
};

enum { KINDS = sizeof rows / sizeof *rows };

const struct iso_prior_about *iso_prior_about(enum iso_prior_kind kind)
{
	return (int)kind >= 0 && (int)kind < KINDS ? &rows[kind].about : NULL;
}

const struct iso_prior_parameter *iso_prior_parameter(enum iso_prior_kind kind, int i)
{
	const struct iso_prior_parameter *p;

	if (!iso_prior_about(kind) || i < 0 || i >= ISO_PRIOR_PARAMETERS) return NULL;
	p = &rows[kind].parameter[i];
	return p->name ? p : NULL;
}

double iso_prior_default(enum iso_prior_kind kind, int i, double largest, double mean)
{
	const struct iso_prior_parameter *p = iso_prior_parameter(kind, i);

	if (!p) return NAN;
	switch (p->rule) {
	case ISO_PRIOR_OF_LARGEST:
		return p->usual * largest;
	case ISO_PRIOR_OF_MEAN:
		return p->usual * mean;
	case ISO_PRIOR_OVER_MEAN:
		return 1 / (p->usual * mean);
	case ISO_PRIOR_NUMBER:
		break;
	}
	return p->usual;
}

void iso_prior_constants(struct prior_par *p, const struct iso_prior_spec *s)
{
	if (rows[s->kind].set) rows[s->kind].set(p, s->parameter);
}

/* ---- names ---- */

/* "quadratic, rdp, ... or tv": the kinds, or only those with pairs. */
static const char *kinds(char *to, size_t size, bool pairs)
{
	size_t n = 0;
	int left = 0;

	for (int k = 0; k < KINDS; k++) left += rows[k].about.pairs || !pairs;
	to[0] = '\0';
	for (int k = 0; k < KINDS && n < size; k++) {
		if (pairs && !rows[k].about.pairs) continue;
		left--;
		n += (size_t)iso_snprintf(to + n, size - n, "%s%s", rows[k].about.name,
		                          left > 1 ? ", "
		                          : left   ? " or "
		                                   : "");
	}
	return to;
}

int iso_prior_kind_of(enum iso_prior_kind *kind, const char *name)
{
	const char *words[KINDS], *near;
	char all[200];

	if (!kind || !name) return iso_fail_null(__func__);
	for (int k = 0; k < KINDS; k++) {
		words[k] = rows[k].about.name;
		if (!strcmp(name, words[k])) return *kind = (enum iso_prior_kind)k, ISO_OK;
	}
	near = iso_nearest(name, KINDS, words);
	return iso_fail(ISO_EARG, "penalty '%.60s' is none of %s%s%s%s", name, kinds(all, sizeof all, false),
	                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- ranges ---- */

static int fail_kind(enum iso_prior_kind kind)
{
	return iso_fail(ISO_EARG, "penalty: kind is %d, must be 0 to %d", (int)kind, KINDS - 1);
}

static int check_parameter(enum iso_prior_kind kind, const struct iso_prior_parameter *p, double v)
{
	char range[80];

	if (isfinite(v) && (p->above ? v > p->least : v >= p->least) && v <= p->most) return ISO_OK;
	if (isfinite(p->most))
		iso_snprintf(range, sizeof range, "%g to %g", p->least, p->most);
	else
		iso_snprintf(range, sizeof range, "%s %g and finite", p->above ? "above" : "at least",
		             p->least);
	return iso_fail(ISO_EARG, "penalty %s: %s is %g, must be %s", rows[kind].about.name, p->name, v,
	                range);
}

int iso_prior_set(struct iso_prior_spec *p, const char *name, double value)
{
	const struct iso_prior_parameter *q;
	char has[100] = "no parameters";
	size_t n = 0;
	int st;

	if (!p || !name) return iso_fail_null(__func__);
	for (int i = 0; (q = iso_prior_parameter(p->kind, i)); i++) {
		if (!strcmp(name, q->name)) {
			if (!(st = check_parameter(p->kind, q, value))) p->parameter[i] = value;
			return st;
		}
		if (n < sizeof has)
			n += (size_t)iso_snprintf(has + n, sizeof has - n, "%s%s", i ? " and " : "", q->name);
	}
	if (!iso_prior_about(p->kind)) return fail_kind(p->kind);
	return iso_fail(ISO_EARG, "penalty: %s has no '%.60s'; it has %s", rows[p->kind].about.name, name,
	                has);
}

int iso_prior_check(const struct iso_prior_spec *p)
{
	const struct iso_prior_parameter *q;
	char all[200];
	int st;

	if (!iso_prior_about(p->kind)) return fail_kind(p->kind);
	for (int i = 0; (q = iso_prior_parameter(p->kind, i)); i++)
		if ((st = check_parameter(p->kind, q, p->parameter[i]))) return st;
	if (!p->anatomy || rows[p->kind].about.pairs) return ISO_OK;
	return iso_fail(ISO_EARG,
	                "penalty %s: it has no pairs for weights from an anatomical image, must be %s",
	                rows[p->kind].about.name, kinds(all, sizeof all, true));
}
