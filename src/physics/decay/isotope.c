/* SPDX-License-Identifier: BSD-3-Clause */
/* The isotopes in use: half-lives and branches, positrons a decay, and the mean activity over a time. */
#include "isotope.h"
#include "base/number.h"
#include "text/conf.h"
#include "text/nearest.h"
#include "core/status.h"
#include "file/suffix.h"

#include <math.h>
#include <stdio.h>

/* Evaluated intensities (ENSDF) of positron groups above 0.1 % and of lines above 4 % of decays. Published half-lives
   differ by up to 0.6 %, intensities by up to 0.4 %. */
#define POSITRON(SHARE, ENDPOINT_KEV, ...) \
	{                                  \
		SHARE, ENDPOINT_KEV,       \
		{                          \
			__VA_ARGS__        \
		}                          \
	}
#define CAPTURE(SHARE, ...)         \
	{                           \
		SHARE, 0,           \
		{                   \
			__VA_ARGS__ \
		}                   \
	}
static const struct isotope isotopes[] = {
	{ .name = "O-15", .half_life_s = 122.24, .z = 7, .a = 15, .branch = { POSITRON(.9989, 1732.0) } },
	{ .name = "N-13", .half_life_s = 597.9, .z = 6, .a = 13, .branch = { POSITRON(.9980, 1198.5) } },
	{ .name = "C-11", .half_life_s = 1221.8, .z = 5, .a = 11, .branch = { POSITRON(.9977, 960.4) } },
	{ .name = "F-18", .half_life_s = 6586.2, .z = 8, .a = 18, .branch = { POSITRON(.9673, 633.5) } },
	{ .name = "Rb-82",
	  .half_life_s = 75.45,
	  .z = 36,
	  .a = 82,
	  .branch = { POSITRON(.818, 3382), POSITRON(.1313, 2605.5, 776.5),
	              POSITRON(.0032, 1210.2, 1395.3, 776.5), POSITRON(.0016, 1907.1, 698.4, 776.5),
	              CAPTURE(.0145, 776.5) } },
	{ .name = "Ga-68",
	  .half_life_s = 4062.6,
	  .z = 30,
	  .a = 68,
	  .branch = { POSITRON(.8768, 1899.1), POSITRON(.0120, 821.7, 1077.3), CAPTURE(.0202, 1077.3) } },
	{ .name = "Cu-64",
	  .half_life_s = 45721,
	  .z = 28,
	  .a = 64,
	  .branch = { POSITRON(.1749, 653.0), CAPTURE(.0047, 1345.8) } },
	{ .name = "Zr-89",
	  .half_life_s = 282276,
	  .z = 39,
	  .a = 89,
	  .branch = { POSITRON(.2274, 902.0) },
	  .later_share = .990,
	  .later_kev = 909.0 },
	{ .name = "I-124",
	  .half_life_s = 360806,
	  .z = 52,
	  .a = 124,
	  .branch = { POSITRON(.107, 2137.6), POSITRON(.117, 1534.9, 602.7),
	              POSITRON(.003, 812, 722.8, 602.7), CAPTURE(.101, 722.8, 602.7),
	              CAPTURE(.112, 1691.0, 602.7), CAPTURE(.296, 602.7) } },
	{ .name = "Na-22",
	  .half_life_s = 8.211e7,
	  .z = 10,
	  .a = 22,
	  .branch = { POSITRON(.9033, 546.7, 1274.5), CAPTURE(.0961, 1274.5) } },
	{ .name = "Sc-44",
	  .half_life_s = 14551,
	  .z = 20,
	  .a = 44,
	  .branch = { POSITRON(.9427, 1473.5, 1157.0), CAPTURE(.0563, 1157.0) } },
};
enum { N_ISOTOPES = sizeof isotopes / sizeof isotopes[0] };

const struct isotope *iso_isotope_of(const char *name)
{
	for (int i = 0; i < N_ISOTOPES; i++)
		if (iso_same_word(name, isotopes[i].name)) return &isotopes[i];
	return NULL;
}

static int unknown(const char *isotope)
{
	const char *names[N_ISOTOPES], *near;
	char known[16 * N_ISOTOPES] = "";

	for (int i = 0; i < N_ISOTOPES; i++) {
		names[i] = isotopes[i].name;
		strcat(strcat(known, i > 0 ? ", " : ""), names[i]);
	}
	near = iso_nearest(isotope, N_ISOTOPES, names);
	return iso_fail(ISO_EARG, "isotope %s is not known%s%s; known are %s", isotope,
	                near ? "; did you mean " : "", near ? near : "", known);
}

const char *iso_isotope(const char *isotope)
{
	if (!isotope) return NULL;

	const struct isotope *i = iso_isotope_of(isotope);

	return i ? i->name : NULL;
}

int iso_half_life(double *half_life_s, const char *isotope)
{
	if (!half_life_s || !isotope) return iso_fail_null(__func__);
	const struct isotope *i = iso_isotope_of(isotope);

	if (!i) return unknown(isotope);
	*half_life_s = i->half_life_s;
	return ISO_OK;
}

int iso_branching(double *branching, const char *isotope)
{
	if (!branching || !isotope) return iso_fail_null(__func__);
	const struct isotope *i = iso_isotope_of(isotope);

	if (!i) return unknown(isotope);
	*branching = iso_isotope_branching(i);
	return ISO_OK;
}

double iso_isotope_branching(const struct isotope *i)
{
	double sum = 0;

	for (int b = 0; b < DECAY_BRANCHES; b++)
		if (i->branch[b].endpoint_kev > 0) sum += i->branch[b].share;
	return sum;
}

double iso_isotope_line(const struct isotope *i, double kev)
{
	double sum = fabs(i->later_kev - kev) < .5 ? i->later_share : 0;

	for (int b = 0; b < DECAY_BRANCHES; b++)
		for (int k = 0; k < DECAY_LINES; k++)
			if (fabs(i->branch[b].line_kev[k] - kev) < .5) sum += i->branch[b].share;
	return sum;
}

#define TOP_KEV 2048 /* of photons: there the tables of cross sections end */

/* One entry of `branches`. */
static int read_branch(struct isotope_branch *b, const struct conf_node *node)
{
	const struct conf_node *lines = NULL;
	const struct conf_key keys[] = {
		/* of all decays */
		{ "share", CONF_REAL, .dst = &b->share, .min = 1e-9, .max = 1, .required = true },
		/* highest energy of the positrons; absent: electron capture */
		{ "endpoint_kev", CONF_REAL, .dst = &b->endpoint_kev, .min = 0, .max = 20000 },
		/* list of up to three photons that leave at the same instant, each in a direction of its own */
		{ "photons_kev", CONF_NODE, .dst = &lines },
		{ 0 }
	};
	int st = iso_conf_keys(node, keys), k = 0;

	if (st || !lines) return st;
	if (lines->type != CONF_LIST || lines->n_child > DECAY_LINES)
		return iso_conf_fail(lines, "photons_kev must be a list of at most %d energies", DECAY_LINES);
	for (const struct conf_node *e = lines->child; e; e = e->next, k++)
		if (e->type != CONF_SCALAR || !iso_number(&b->line_kev[k], e->text, strlen(e->text)) ||
		    !(b->line_kev[k] >= 10 && b->line_kev[k] <= TOP_KEV))
			return iso_conf_fail(e, "photons_kev must hold energies of 10 to 2048 keV");
	return ISO_OK;
}

static int read_branches(struct isotope *i, const struct conf_node *list)
{
	double sum = 0;
	int n = 0, st = ISO_OK;

	if (list->type != CONF_LIST || list->n_child > DECAY_BRANCHES)
		return iso_conf_fail(list, "branches must be a list of at most %d maps", DECAY_BRANCHES);
	for (const struct conf_node *b = list->child; b && !st; b = b->next, n++) {
		st = read_branch(&i->branch[n], b);
		sum += i->branch[n].share;
	}
	if (!st && sum > 1 + 1e-9)
		st = iso_conf_fail(list, "the shares of the branches sum to %g, above 1", sum);
	if (!st && !(iso_isotope_branching(i) > 0))
		st = iso_conf_fail(list, "no branch has an endpoint_kev above 0: no positrons");
	return st;
}

static int read_daughter(struct isotope *i, const struct conf_node *map)
{
	int64_t atomic_number = 0, mass_number = 0;
	const struct conf_key keys[] = {
		/* atomic number: how the nucleus repels the positron */
		{ "Z", CONF_INT, .dst = &atomic_number, .min = 1, .max = 110, .required = true },
		/* mass number: how large the nucleus is */
		{ "A", CONF_INT, .dst = &mass_number, .min = 1, .max = 300, .required = true },
		{ 0 }
	};
	int st = iso_conf_keys(map, keys);

	i->z = (int)atomic_number;
	i->a = (int)mass_number;
	return st;
}

static int read_later(struct isotope *i, const struct conf_node *map)
{
	const struct conf_key keys[] = {
		/* of all decays */
		{ "share", CONF_REAL, .dst = &i->later_share, .min = 0, .max = 1, .required = true },
		/* its energy */
		{ "photon_kev", CONF_REAL, .dst = &i->later_kev, .min = 10, .max = TOP_KEV,
		  .required = true },
		{ 0 }
	};

	return iso_conf_keys(map, keys);
}

static int read_map(struct isotope *i, const struct conf_node *root)
{
	const struct conf_node *branches = NULL, *daughter = NULL, *later = NULL;
	const char *name = NULL;
	const struct conf_key keys[] = {
		/* up to 15 letters */
		{ "name", CONF_TEXT, .dst = &name, .required = true },
		/* of the decay over a scan */
		{ "half_life_s", CONF_REAL, .dst = &i->half_life_s, .min = 1e-3, .max = 1e18,
		  .required = true },
		/* the nucleus after the decay: its charge shapes the spectrum */
		{ "daughter", CONF_NODE, .dst = &daughter, .required = true },
		/* up to eight; what their shares leave of 1 emits nothing */
		{ "branches", CONF_NODE, .dst = &branches, .required = true },
		/* a photon of an isomer that lives for seconds: at a time of its own, in no coincidence with its decay */
		{ "later", CONF_NODE, .dst = &later },
		{ 0 }
	};
	int st = iso_conf_keys(root, keys);

	if (st) return st;
	if (snprintf(i->name, sizeof i->name, "%s", name) >= (int)sizeof i->name)
		return iso_conf_fail(root, "name has more than %zu letters", sizeof i->name - 1);
	st = read_daughter(i, daughter);
	if (!st && later) st = read_later(i, later);
	return st ? st : read_branches(i, branches);
}

int iso_isotope_read(struct isotope *i, const char *name_or_file)
{
	const struct isotope *known = iso_isotope_of(name_or_file);
	struct conf_node *root = NULL;
	struct isotope made = { 0 };
	int st;

	if (known) {
		*i = *known;
		return ISO_OK;
	}
	if (!strchr(name_or_file, '.') && !strchr(name_or_file, '/')) return unknown(name_or_file);
	st = iso_conf_read(&root, name_or_file);
	if (!st) st = read_map(&made, root);
	iso_conf_free(root);
	if (!st) *i = made;
	return st;
}

/* exp(-k from) (1 - exp(-k d)) / (k d), k = ln 2 / half-life, d = to - from. */
double iso_decay_mean(double half_life, double from_s, double to_s)
{
	if (half_life == 0) return 1;
	double k = log(2) / half_life, d = to_s - from_s;

	return exp(-k * from_s) * (k * d > 0 ? -expm1(-k * d) / (k * d) : 1);
}
