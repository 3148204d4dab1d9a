/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters that were given and have no effect in this run: one table, a row a parameter. */
#include "check.h"

#include "problem/ray/model_ray.h"
#include "problem/srm/model_srm.h"
#include "problem/strip/model_strip.h"

/* ---- why: a reason, or NULL where the parameter has its effect ---- */

static bool is(const char *word, const char *value)
{
	return word && strcmp(word, value) == 0;
}

/* The value of a parameter that is a word. */
static bool given_as(const iso_problem *p, const char *name, const char *value)
{
	const struct opt *o = opt_find(p->sets, name);

	return o && o->text && is(*o->text, value);
}

static const char *other_sens(const iso_problem *p)
{
	if (is(p->s.sens, "none")) return "'sens' is none";
	return p->s.sens ? "'sens' is an image that was made before" : NULL;
}

static const char *no_pairs_drawn(const iso_problem *p)
{
	const char *why = other_sens(p);

	return why || p->found.sens_of_pairs ? why : "the sensitivity is that of the histogram's lines";
}

static const char *no_draw(const iso_problem *p)
{
	struct ray_problem *ray = p->self;
	const char *why = no_pairs_drawn(p);

	return why || !ray->s || ray_draws_pairs(ray) ? why : "all pairs are taken";
}

static const char *no_randoms(const iso_problem *p)
{
	const struct ray_problem *ray = p->self;

	if (ray->singles) return NULL;
	if (!ray->late_file) return "there are no randoms: neither 'delayed' nor 'singles'";
	return ray->tof > 0 ? NULL : "randoms of 'delayed' without time of flight do not need it";
}

static const char *no_tof(const iso_problem *p)
{
	return ((const struct ray_problem *)p->self)->tof > 0 ? NULL : "there is no time of flight";
}

static const char *not_binned(const iso_problem *p)
{
	return ((const struct ray_problem *)p->self)->e.lists_all ? NULL
	                                                          : "the events are no projection data";
}

/* A factor m of an event stands in A and in A x alike, and acts through the sensitivity and beside r alone. */
static const char *factors_cancel(const iso_problem *p)
{
	struct ray_problem *ray = p->self;

	if (!is(p->s.sens, "none") || ray->precorrected || ray_has_additive(ray)) return NULL;
	return "'sens' is none and nothing is added: factors of events cancel, and the image is not "
	       "corrected for them";
}

static const char *no_monte_carlo(const iso_problem *p)
{
	return is(((const struct ray_problem *)p->self)->scatter.method, "sss")
	               ? "'scatter' sss has no Monte Carlo"
	               : NULL;
}

static const char *not_calibrated(const iso_problem *p)
{
	return p->s.units.calibration ? NULL : "there is no 'calibration'";
}

static const char *no_suv(const iso_problem *p)
{
	return p->s.units.suv ? NULL : "'suv' is not asked for";
}

static const char *one_subset(const iso_problem *p)
{
	return p->s.subsets == 1 ? "there is one subset" : NULL;
}

static const char *no_rule(const iso_problem *p)
{
	const char *why = one_subset(p);

	return !why && problem_given(p, "deal") ? "'deal' takes its place" : why;
}

static const char *no_chance(const iso_problem *p)
{
	if (p->s.subsets > 1 && (is(p->s.rule, "random") || p->s.how->shuffles)) return NULL;
	return "nothing is random: that takes several subsets, and 'subset-rule' random or a 'method' that "
	       "shuffles them, such as svrg";
}

static const char *no_penalty(const iso_problem *p)
{
	return p->s.penalties.text ? NULL : "there is no 'penalty'";
}

static const char *never_saved(const iso_problem *p)
{
	return p->s.save_every >= p->s.iterations ? "there are no more 'iterations' than that" : NULL;
}

static const char *without_kernel(const iso_problem *p)
{
	return is(p->s.method, "direct") ? "'method' direct has no kernel" : NULL;
}

static const char *without_sens(const iso_problem *p)
{
	const struct strip *strip = p->self;
	const char *why = other_sens(p);

	if (is(p->s.method, "direct")) return "'method' direct has no sensitivity";
	return why ? why : is(strip->form, "raw") ? "'form' raw has no sensitivity" : NULL;
}

static const char *raw(const iso_problem *p)
{
	return is(((const struct strip *)p->self)->form, "raw") ? "'form' raw has no sensitivity" : NULL;
}

static const char *sens_of_ones(const iso_problem *p)
{
	return is(p->s.sens, "none") ? "'sens' is none: the sensitivity is 1 in every voxel" : NULL;
}

static const char *on_cpu(const iso_problem *p)
{
	return iso_ctx_is_cuda(p->ctx) ? NULL : "the CPU has one way";
}

static const char *no_nufft(const iso_problem *p)
{
	return given_as(p, "transform", "direct") ? "'transform' direct has no kernel" : NULL;
}

static const char *no_choice(const iso_problem *p)
{
	bool given = problem_given(p, "width") && problem_given(p, "bins-per-wave");

	return no_nufft(p) ? no_nufft(p) : given ? "'width' and 'bins-per-wave' say the kernel" : NULL;
}

static const char *stepped(const iso_problem *p)
{
	return problem_given(p, "step") ? "'step' says the distance between points" : NULL;
}

static const char *counted(const iso_problem *p)
{
	return problem_given(p, "lines") ? "'lines' says how many there are" : NULL;
}

static const char *nothing_moves(const iso_problem *p)
{
	return ((const struct ray_problem *)p->self)->motion.all ? NULL : "nothing moves";
}

/* ---- the table ---- */

static const struct {
	const char *option, *model; /* model NULL: every one that has it */
	const char *(*why)(const iso_problem *p);
} idle[] = {
	{ "sens-share", "ray", no_pairs_drawn },
	{ "sens-seed", "ray", no_draw },
	{ "coincidence-ns", "ray", no_randoms },
	{ "tof-truncate", "ray", no_tof },
	{ "swap-dt", "ray", no_tof },
	{ "bins", "ray", not_binned },
	{ "no-multiplicity", "ray", not_binned },
	{ "negative", "ray", not_binned },
	{ "mu", "ray", factors_cancel },
	{ "norm", "ray", factors_cancel },
	{ "scatter-seed", "ray", no_monte_carlo },
	{ "scatter-error", "ray", no_monte_carlo },
	{ "scatter-poses-mm", "ray", nothing_moves },
	{ "branching", NULL, not_calibrated },
	{ "weight-kg", NULL, no_suv },
	{ "dose-mbq", NULL, no_suv },
	{ "residual-mbq", NULL, no_suv },
	{ "injected-at", NULL, no_suv },
	{ "subset-rule", NULL, no_rule },
	{ "deal", "srm", one_subset },
	{ "seed", NULL, no_chance },
	{ "unseen", NULL, no_penalty },
	{ "save-every", NULL, never_saved },
	{ "kernel", "strip", without_kernel },
	{ "edge", "strip", without_kernel },
	{ "gamma", "strip", without_kernel },
	{ "form", "strip", without_kernel },
	{ "sens-rule", "strip", without_sens },
	{ "sens", "strip", raw },
	{ "sens-floor", "strip", raw },
	{ "sens-floor", NULL, sens_of_ones },
	{ "strategy", "strip", on_cpu },
	{ "accuracy", "svoxel", no_choice },
	{ "accuracy", "sradon", stepped },
	{ "width", "svoxel", no_nufft },
	{ "bins-per-wave", "svoxel", no_nufft },
	{ "fmax-mhz", "svoxel", counted },
};

/* A record repeats what another run had, defaults too: nobody gave that. */
void problem_tell_idle(const iso_problem *p)
{
	for (size_t i = 0; i < sizeof idle / sizeof *idle && !p->like; i++) {
		if (idle[i].model && strcmp(idle[i].model, p->m->name) != 0) continue;
		const char *why = problem_given(p, idle[i].option) ? idle[i].why(p) : NULL;

		if (why) record_note(p->record, "'%s' has no effect: %s", idle[i].option, why);
	}
}
