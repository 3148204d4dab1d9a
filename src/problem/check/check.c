/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of checks; findings as warnings or refusals, and their place in the record. */
#include "check.h"

#include "text/nearest.h"

#include <stdio.h>
#include <string.h>

static const struct check checks[] = {
	{ "ends", "ray", false, check_ends },
	{ "time-differences", "ray", false, check_time_differences },
	{ "attenuation", "ray,srm", false, check_attenuation },
	{ "efficiencies", "ray", false, check_efficiencies },
	{ "randoms", "ray", false, check_randoms },
	{ "additive", "ray", false, check_additive },
	{ "efficiencies", "srm", false, check_panels_efficiencies },
	{ "randoms", "srm", false, check_panels_randoms },
	{ "additive", "srm", false, check_panels_additive },
	{ "hits", "strip", false, check_strip_events },
	{ "path-differences", "strip", false, check_path_differences },
	{ "speed", "ubp,sradon,svoxel", false, check_speed },
	{ "sampling", "ubp,sradon,svoxel", false, check_sampling },
	{ "arrival", "ubp,sradon,svoxel", false, check_arrival },
	{ "matter", "ray,srm", true, check_matter },
	{ "counts", NULL, true, check_counts },
	{ "border", NULL, true, check_border },
	{ "faint-voxels", NULL, true, check_faint },
	{ "likelihood", NULL, true, check_likelihood },
};

enum { N_CHECKS = sizeof checks / sizeof checks[0] };

/* ---- 'accept' ---- */

/* Whether a list of words with commas between them holds the word. */
static bool lists(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == n && memcmp(at, word, n) == 0) return true;
	return false;
}

/* Each word of 'accept' is the name of a check. */
int problem_check_accept(const iso_problem *p)
{
	const char *names[N_CHECKS];

	for (int i = 0; i < N_CHECKS; i++) names[i] = checks[i].name;
	for (const char *at = p->accept; at && *at; at += strcspn(at, ","), at += *at == ',') {
		char word[64];
		bool known = false;

		snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
		for (int i = 0; i < N_CHECKS && !known; i++) known = strcmp(word, names[i]) == 0;
		const char *near = known ? NULL : iso_nearest(word, N_CHECKS, names);

		if (!known)
			return iso_fail(ISO_EARG, "'accept' names no check '%s'%s%s", word,
			                near ? "; did you mean " : "", near ? near : "");
	}
	return ISO_OK;
}

/* ---- findings ---- */

/* A warning, or the first refusal of this check, behind which it says no more. */
static void find(struct look *l, bool refuses, const char *fmt, va_list ap)
{
	char text[sizeof l->refusal];

	iso_vsnprintf(text, sizeof text, fmt, ap);
	l->doubts++;
	if (l->refusal[0]) return;
	if (refuses && !lists(l->p->accept, l->check->name))
		memcpy(l->refusal, text, sizeof text);
	else
		record_warn(l->p->record, "%s", text);
}

void check_doubt(struct look *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	find(l, false, fmt, ap);
	va_end(ap);
}

void check_refuse(struct look *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	find(l, true, fmt, ap);
	va_end(ap);
}

/* ---- samples ---- */

/* No multiple of a row or a plane, which would look at one column of voxels alone. */
int64_t check_step(const struct iso_grid *g)
{
	int64_t step = iso_grid_voxels(g) >> 16, row = g->n[0], plane = row * g->n[1];

	if (step < 2) return 1;
	return step + (step % row == 0 || row % step == 0 || step % plane == 0);
}

/* ---- all of them ---- */

/* What the record says of the checks so far; NULL: nothing. */
static json_t *verdicts(const iso_problem *p)
{
	return json_object_get(p->record->root, "checks");
}

/* Of a check the worst that any frame showed. */
static int note(struct look *l)
{
	struct record *r = l->p->record;
	const char *name = l->check->name;
	int st = verdicts(l->p) ? ISO_OK : record_set(r, "checks", json_object());

	if (st || (!l->doubts && json_object_get(verdicts(l->p), name))) return st;
	return json_object_set_new(verdicts(l->p), name, json_string(l->doubts ? "doubtful" : "fits"))
	               ? iso_fail_memory("record", 1)
	               : ISO_OK;
}

static bool serves(const struct check *c, const iso_problem *p)
{
	return c->model ? lists(c->model, p->m->name) : p->m->sens || p->m->sens_of_subsets;
}

static int look_at(iso_problem *p, const struct check *c, const struct run_made *made)
{
	struct look l = { .p = p, .made = made, .check = c };
	int st = c->look(&l);

	if (!st && l.looked) st = note(&l);
	if (st || !l.refusal[0]) return st;
	return iso_fail(ISO_EINPUT, "%s; 'accept' %s takes it all the same", l.refusal, c->name);
}

/* Of thousands of frames each check speaks once. */
static int look_at_all(iso_problem *p, const struct run_made *made)
{
	int st = ISO_OK;

	for (int i = 0; i < N_CHECKS && !st; i++) {
		const json_t *before = json_object_get(verdicts(p), checks[i].name);
		bool spoke = before && strcmp(json_string_value(before), "doubtful") == 0;

		if (checks[i].after == !!made && serves(&checks[i], p) && !(made && spoke))
			st = look_at(p, &checks[i], made);
	}
	return st;
}

int problem_check_inputs(iso_problem *p)
{
	record_stage(p->record, "check");
	int st = look_at_all(p, NULL);

	record_stage(p->record, "read"); /* which goes on */
	return st;
}

int problem_check_image(iso_problem *p, const struct run_made *made)
{
	record_stage(p->record, "check");
	int st = look_at_all(p, made);

	record_stage(p->record, NULL);
	return st;
}
