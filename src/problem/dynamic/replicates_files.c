/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of 'replicates' beside the image: their names, and whether they may be written. */
#include "replicates.h"

#include "file/out.h"

/* The files beside the image. */
static const struct beside {
	const char *what, *suffix;  /* suffix: NULL: the image's */
	bool of_regions, of_fisher; /* written of regions alone; by 'fisher' too */
	const char *words;
} files[] = {
	{ "_mean", NULL, false, false, "the mean of 'replicates'" },
	{ "_sd", NULL, false, false, "the standard deviation of 'replicates'" },
	{ "_regions", ".tsv", true, true, "the table of 'regions'" },
	{ "_regions_cov", ".npy", true, true, "the covariance of 'regions'" },
	{ "_regions_replicates", ".npy", true, false, "the replicates of 'regions'" },
};

int replicates_path(char path[PATH_MAX], const struct settings *s, enum replicates_file which)
{
	return recon_beside(path, s, files[which].what, files[which].suffix);
}

int replicates_files(iso_problem *p, struct iso_names *names)
{
	const struct settings *s = &p->s;
	char path[PATH_MAX];
	int st = ISO_OK;

	for (int i = 0; i < REPLICATES_FILES && !st; i++) {
		bool own = false;

		if ((files[i].of_regions && !s->replicates.labels) ||
		    (s->replicates.n == 0 && !files[i].of_fisher))
			continue;
		if ((st = recon_beside(path, s, files[i].what, files[i].suffix)) ||
		    (names && (st = iso_names_add(names, true, path, files[i].words))))
			return st;
		if (s->resume && !p->force && !(st = record_stands(&own, s->out)) && !own)
			own = iso_stands_at(s->replicated) != ISO_STANDS_NOTHING;
		if (!st) st = iso_stands_check(path, s->out, p->force || own);
	}
	if (s->replicates.n == 0) return st;
	if (!st && names) st = iso_names_add(names, true, s->replicated, "the replicates of 'output'");
	if (st || s->resume || p->force || iso_stands_at(s->replicated) == ISO_STANDS_NOTHING) return st;
	return iso_fail(ISO_EARG, "%s exists: 'resume' continues it, 'force' starts again", s->replicated);
}
