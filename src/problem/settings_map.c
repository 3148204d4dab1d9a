/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of penalties, of penalised likelihood and of kernel EM, and what does not go together. */
#include "problem.h"

#include "base/number.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const methods[] = {
	"svrg", "saga", "bsrem", "osl", "lbfgs", "pdhg", "spdhg", NULL
}; /* as enum iso_map_method, then those of pdhg.h */
static const char *const unseen[] = { "drop", "keep", NULL };

#define METHODS "svrg, saga, bsrem, osl or lbfgs"

/* ---- tables ---- */

enum { SHARED = 3 }; /* parameters that 'method' cg has too, the first of the table */

struct opt_set map_params(struct penalties *p, const struct model *m, const struct opt *model)
{
	bool cg = m->method; /* the only method of such a model, or it has none of these */
	const struct opt opts[] = {
		{ 0, "penalty", .text = &p->text, .value = "KIND:STRENGTH", .help = p->help },
		{ 0, "tolerance", .real = &p->tolerance, .value = "T", .min = 0, .max = .999,
		  .absent = cg ? "0: none; 1e-4 for pdhg" : "0.005; 1e-4 for pdhg, spdhg",
		  .help = cg ? "stop when the gradient has fallen to this share of the first; pdhg: when the "
		               "duality gap is below this share of |data|^2"
		             : "stop when the image changes by less than this share over two passes of all "
		               "subsets; lbfgs: when the gradient divided by the sensitivity is below this "
		               "(KKT); pdhg, spdhg: when the duality gap is below this share of the counts; "
		               "0: never" },
		{ 0, "curve", .text = &p->curve, .file = OPT_WRITES, .value = "FILE.csv",
		  .help = cg ? "write cost and gradient after each iteration; for pdhg the duality gap"
		             : "write the objective, its parts and the gradient, or the duality gap, on the "
		               "way" },
		{ 0, "kappa", .text = &p->kappa, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE|auto", .or_word = "auto", .absent = "1 everywhere",
		  .help = "image that weights the penalty; each pair of voxels is weighted by both "
		          "values. auto: computed from the data, so that the resolution is nearly "
		          "the same everywhere" },
		{ 0, "unseen", .text = &p->unseen, .words = unseen, .value = "WORD",
		  .help = "what to do with voxels without sensitivity. drop: they are no neighbours "
		          "of any voxel; keep: they are neighbours of value 0, as in STIR without "
		          "kappa" },
		{ 0, "bowsher", .text = &p->bowsher, .file = OPT_FIRST, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE[,N]",
		  .help = "anatomical image on the grid. Only the N neighbours of a voxel that are "
		          "most alike in this image count (7 of 26; 3 of 8 in one plane)" },
		{ 0, "step", .real = &p->step, .value = "A", .min = 1e-6, .max = 100, .absent = "1",
		  .help = "length of a step of svrg, saga, bsrem" },
		{ 0, "relax", .real = &p->relax, .value = "E", .min = 0, .max = 1e6,
		  .absent = "the step falls to a fiftieth by the last pass",
		  .help = "for bsrem: shrink the step as 1/(1 + E passes); 0: do not shrink the "
		          "step. By default bsrem came within 1 % of the maximum in 60 passes with "
		          "13 counts a voxel or more; with 4 counts a voxel it came within 3 to 5 %, "
		          "where svrg took 21 to 35 passes" },
		{ 0, "kernel", .text = &p->kernel, .file = OPT_FIRST, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE[,FILE...]",
		  .help = "for kem: images of features on the grid, from which Isotome makes each "
		          "voxel's kernel. Then k=48 (voxels of a kernel), radius=3 (of the window), "
		          "sigma=1, each after a comma" },
		{ 0 },
	};
	const struct opt_set own[] = { { NULL, (struct opt *)model }, { 0 } };
	int last = (int)(sizeof opts / sizeof *opts) - 2;

	_Static_assert(sizeof p->opts == sizeof opts, "room for the options");
	penalty_help(p->help, sizeof p->help, m);
	memcpy(p->opts, opts, sizeof opts);
	p->has_kernel = !cg && !opt_find(own, opts[last].name); /* strip has a 'kernel' of its own */
	if (!p->has_kernel) p->opts[last] = opts[last + 1];
	if (!cg)
		return (struct opt_set){
			"Penalties ('method' svrg, saga, bsrem, osl, lbfgs) and kernels (kem)", p->opts
		};
	p->opts[SHARED] = opts[last + 1];
	return (struct opt_set){ "Penalties ('method' cg)", p->opts };
}

/* ---- methods ---- */

bool recon_is_map(const struct settings *s)
{
	return opt_place(methods, s->method) >= 0 && !(recon_is_pdhg(s) && s->least_squares);
}

bool recon_is_pdhg(const struct settings *s)
{
	return strcmp(s->method, "pdhg") == 0 || strcmp(s->method, "spdhg") == 0;
}

bool recon_is_kem(const struct settings *s)
{
	return strcmp(s->method, "kem") == 0;
}

enum iso_map_method recon_map_method(const struct settings *s)
{
	return (enum iso_map_method)opt_place(methods, s->method);
}

/* ---- files with parameters behind commas ---- */

/* FILE or FILE,N; a file whose name has a comma is read with N behind it. */
static int parse_bowsher(struct penalties *p)
{
	const char *comma = p->bowsher ? strrchr(p->bowsher, ',') : NULL;
	double n = 0;

	p->neighbours = p->anatomy = 0;
	if (!p->bowsher) return ISO_OK;
	if (comma && !iso_number(&n, comma + 1, strlen(comma + 1))) comma = NULL;
	p->anatomy = comma ? (int)(comma - p->bowsher) : (int)strlen(p->bowsher);
	if (comma && (n != floor(n) || n < 1 || n > 26))
		return iso_fail(ISO_EARG,
		                "'bowsher' is '%s': %g neighbours, must be a whole number from 1 to 26",
		                p->bowsher, n);
	p->neighbours = (int)n;
	return ISO_OK;
}

/* A parameter of 'kernel'; *found is false where the item is a file. */
static int parse_kernel_item(struct penalties *p, const char *item, size_t length, bool *found)
{
	static const char *const names[] = { "k=", "radius=", "sigma=" };
	double v = 0;
	int which = 0;

	for (; which < 3; which++)
		if (strncmp(item, names[which], strlen(names[which])) == 0) break;
	*found = which < 3;
	if (!*found) return ISO_OK;
	size_t name = strlen(names[which]);

	if (!iso_number(&v, item + name, length - name))
		return iso_fail(ISO_EARG, "'kernel': '%.*s' is no number", (int)length, item);
	if (!(v > 0) || (which < 2 && (v != floor(v) || v > 1e6)))
		return iso_fail(ISO_EARG, "'kernel': %s%g, must be %s", names[which], v,
		                which < 2 ? "a whole number of at least 1" : "greater than 0");
	if (which == 0) p->k = (int)v;
	if (which == 1) p->radius = (int)v;
	if (which == 2) p->sigma = v;
	return ISO_OK;
}

/* Files first, then parameters. */
static int parse_kernel(struct penalties *p)
{
	const char *at = p->kernel;
	bool is_parameter = false;
	int st;

	p->k = 48;
	p->radius = 3;
	p->sigma = 1;
	p->n_features = 0;
	while (at && *at) {
		size_t length = strcspn(at, ",");

		if ((st = parse_kernel_item(p, at, length, &is_parameter))) return st;
		if (!is_parameter && p->n_features == MAP_FEATURES)
			return iso_fail(ISO_EARG, "'kernel': more than %d files", MAP_FEATURES);
		if (!is_parameter) {
			p->feature[p->n_features].at = at;
			p->feature[p->n_features++].length = (int)length;
		}
		at += length + (at[length] == ',');
	}
	double edge = 2. * p->radius + 1;

	if (p->k > edge * edge * edge)
		return iso_fail(ISO_EARG, "'kernel': k=%d, more than the %g voxels of a window of radius %d",
		                p->k, edge * edge * edge, p->radius);
	return ISO_OK;
}

/* ---- what does not go together ---- */

static const char *text_of(const iso_problem *problem, const char *name)
{
	const struct opt *o = opt_find(problem->sets, name);

	return o && o->text ? *o->text : NULL;
}

/* Data that are not of this likelihood: sum y log(A x + a) - <S, x>. */
static int check_likelihood(const iso_problem *problem)
{
	const struct settings *s = &problem->s;
	const struct opt *flag = opt_find(problem->sets, "precorrected");
	const char *form = text_of(problem, "form");

	if (flag && flag->flag && *flag->flag)
		return iso_fail(ISO_EARG,
		                "'method' %s: 'precorrected' data are no counts, which this likelihood is of",
		                s->method);
	if (form && strcmp(form, "ml") != 0)
		return iso_fail(ISO_EARG,
		                "'method' %s: 'form' %s is another likelihood; 'form' ml is this one's",
		                s->method, form);
	if (s->sens && strcmp(s->sens, "none") == 0)
		return iso_fail(ISO_EARG, "'method' %s: 'sens' none: the likelihood needs the sensitivity",
		                s->method);
	return ISO_OK;
}

/* Of models whose data are counts. */
static int check_model(const iso_problem *problem)
{
	const struct model *m = problem->m;

	if (m->method)
		return iso_fail(ISO_EARG, "'method' %s: model %s has no counts; 'method' %s",
		                problem->s.method, m->name, m->method);
	return check_likelihood(problem);
}

static int check_kem(iso_problem *problem)
{
	static const char *const others[] = { "penalty", "tolerance", "curve", "kappa",        "unseen",
		                              "bowsher", "step",      "relax", "filter-every", NULL };
	struct penalties *p = &problem->s.penalties;
	int st;

	if (!p->has_kernel)
		return iso_fail(ISO_EARG, "'method' kem: model %s has none; ray and srm have",
		                problem->m->name);
	if ((st = check_model(problem)) || (st = problem_refuse(problem, others, "'method' kem"))) return st;
	if ((st = parse_kernel(p))) return st;
	return p->n_features > 0
	               ? ISO_OK
	               : iso_fail(ISO_EARG,
	                          "'method' kem needs 'kernel': files of features, such as an MR image");
}

/* Parameters that are another method's. */
static int check_others(iso_problem *problem)
{
	static const char *const penalised[] = { "kappa", "unseen", "bowsher", "step", "relax", NULL };
	static const char *const shared[] = { "penalty", "tolerance", "curve", NULL };
	static const char *const kernel[] = { "kernel", NULL };
	const struct settings *s = &problem->s;
	bool kem = recon_is_kem(s), map = recon_is_map(s), cg = recon_is_cg(s);
	int st = map || kem ? ISO_OK : problem_refuse(problem, penalised, "this method; " METHODS " have it");

	if (!st && !map && !kem && !cg && problem_given(problem, "penalty") && !problem->like)
		st = iso_fail(ISO_EARG,
		              "'penalty': 'method' %s has none; " METHODS " have, of which svrg is the best",
		              s->method);
	if (!st && !map && !kem && !cg)
		st = problem_refuse(problem, shared,
		                    "this method; " METHODS " have it, and cg of svoxel and sradon");
	if (!st && !kem && problem->s.penalties.has_kernel)
		st = problem_refuse(problem, kernel, "this method; 'method' kem has it");
	return st;
}

static int check_penalty(iso_problem *problem)
{
	struct penalties *p = &problem->s.penalties;
	enum iso_map_method method = recon_map_method(&problem->s);
	int st = penalty_parse(p);

	if (st || (st = parse_bowsher(p)) || (st = penalty_check(p, method))) return st;
	if (!p->text && (p->bowsher || p->kappa))
		return iso_fail(ISO_EARG, "'%s' needs 'penalty'", p->bowsher ? "bowsher" : "kappa");
	if (method != ISO_MAP_BSREM && problem_given(problem, "relax") && !problem->like)
		return iso_fail(ISO_EARG, "'relax' goes with 'method' bsrem, not %s", problem->s.method);
	return ISO_OK;
}

/* Total variation without smoothing. */
static int check_pdhg(iso_problem *problem)
{
	static const char *const others[] = { "kappa", "bowsher", "step", "relax", NULL };
	struct settings *s = &problem->s;
	struct penalties *p = &s->penalties;
	int st = problem_refuse(problem, others, "'method' pdhg and spdhg");

	if (st || (st = penalty_parse(p)) || (st = penalty_check_sharp(p, s->method))) return st;
	if (!problem_given(problem, "tolerance")) p->tolerance = 1e-4;
	return ISO_OK;
}

/* What can be said before the data are read; the run has more warnings. */
static int check_map(iso_problem *problem)
{
	static const char *const others[] = { "nonneg", "weigh", "filter-every", NULL };
	struct settings *s = &problem->s;
	int st;

	if ((st = check_model(problem)) || (st = problem_refuse(problem, others, "penalised likelihood")))
		return st;
	if (recon_is_pdhg(s)) return check_pdhg(problem);
	if ((st = check_penalty(problem))) return st;
	if (!problem_given(problem, "tolerance")) s->penalties.tolerance = .005;
	return ISO_OK;
}

int map_check(iso_problem *problem)
{
	struct settings *s = &problem->s;
	int st = check_others(problem);

	if (st) return st;
	if (!problem_given(problem, "tolerance")) s->penalties.tolerance = 0;
	if (!problem_given(problem, "iterations"))
		s->iterations = strcmp(s->method, "pdhg") == 0         ? 500
		                : strcmp(s->method, "spdhg") == 0      ? 100
		                : !recon_is_map(s)                     ? 10
		                : recon_map_method(s) == ISO_MAP_LBFGS ? 400
		                                                       : 20;
	return recon_is_kem(s) ? check_kem(problem) : recon_is_map(s) ? check_map(problem) : ISO_OK;
}
