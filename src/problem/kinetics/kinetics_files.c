/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of 'kinetics' beside the image: their names, and whether they may be written. */
#include "problem/problem.h"

#include "file/out.h"

#include <stdio.h>

static int add_file(iso_problem *p, struct iso_names *names, const char *what, const char *suffix,
                    const char *words)
{
	const struct settings *s = &p->s;
	bool own = false;
	char path[PATH_MAX];
	int st = recon_beside(path, s, what, suffix);

	if (!st && names) st = iso_names_add(names, true, path, words);
	if (!st && s->resume && !p->force) st = record_stands(&own, s->out);
	return st ? st : iso_stands_check(path, s->out, p->force || own);
}

int kinetics_files(iso_problem *p, struct iso_names *names)
{
	const bool sd = p->s.replicates.n > 0, regions = p->s.replicates.labels != NULL;
	const char *const *map = p->s.kinetics.map;
	char what[64];
	int st = ISO_OK;

	for (int i = 0; i < KINETIC_MAPS && map[i] && !st; i++) {
		snprintf(what, sizeof what, "_%s", map[i]);
		st = add_file(p, names, what, NULL, "a map of 'kinetics'");
		snprintf(what, sizeof what, "_%s_sd", map[i]);
		if (!st && sd)
			st = add_file(p, names, what, NULL, "the standard deviation of a map of 'kinetics'");
	}
	if (!st && sd) st = add_file(p, names, "_sd", NULL, "the standard deviation of the coefficients");
	if (!st && sd && regions) st = add_file(p, names, "_regions", ".tsv", "the table of 'regions'");
	if (!st && regions) st = add_file(p, names, "_scores", ".tsv", "the scores of 'regions'");
	if (!st && regions) st = add_file(p, names, "_residual", NULL, "the residual of 'kinetics'");
	return st;
}
