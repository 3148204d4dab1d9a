/* SPDX-License-Identifier: BSD-3-Clause */
/* What was given of a problem's parameters, and what follows from it before data are read. */
#include "problem.h"

bool problem_given(const iso_problem *p, const char *name)
{
	const struct opt *o = opt_find(p->sets, name);

	return o && o->given;
}

/* Without those that say nothing: their names may be of arguments of the command, as `input` of `project` is. */
static void drop_nulls(json_t *parameters)
{
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(parameters, next, name, value) if (json_is_null(value))
		json_object_del(parameters, name);
}

int problem_record_parameters(iso_problem *p)
{
	json_t *all = json_object_get(p->record->root, "parameters"), *now = opt_to_json(p->sets);
	bool own = p->record == &p->own;

	if (now && !own) drop_nulls(now);
	int bad = !now || (own ? json_object_update(all, now) : json_object_update_existing(all, now)) ||
	          (own && json_object_set_new(all, "model", json_string(p->m->name)));

	json_decref(now);
	return bad ? iso_fail_memory("record", 1) : ISO_OK;
}

bool problem_takes_grid(const iso_problem *p, const struct iso_grid *image)
{
	return image && !problem_given(p, "grid") && !problem_given(p, "voxel") &&
	       !problem_given(p, "centre");
}

int problem_check_grid(const struct iso_grid *g, const struct iso_grid *image)
{
	int st = iso_grid_check(g);

	if (st || !image || iso_grid_same(g, image)) return st;
	return iso_fail(
		ISO_EARG,
		"'grid', 'voxel', 'centre' are not those of the image; leave them out to take the image's");
}

void problem_default_preset(iso_problem *p)
{
	static const char *const names[] = {
		"preset", "method",       "iterations",   "subsets", "grid",  "voxel",   "centre",
		"filter", "filter-every", "save-every",   "sens",    "start", "penalty", "tolerance",
		"curve",  "kappa",        "unseen",       "bowsher", "step",  "relax",   "kernel",
		"nonneg", "weigh",        "precondition", NULL,
	};
	const char *const *n = names;

	while (*n && !problem_given(p, *n)) n++;
	if (*n || p->like || !p->m->preset) return;
	p->s.preset = "quick";
	opt_find(p->sets, "preset")->given = true;
	p->preset.by_default = true;
}
