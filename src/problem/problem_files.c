/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a reconstruction: their names beside the output, and whether they may be written. */
#include "problem.h"

#include "file/out.h"
#include "io/format.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

/* The part of a name before the first dot behind its folder. */
static int stem(const char *path)
{
	const char *slash = strrchr(path, '/');

	return (int)((slash ? slash + 1 - path : 0) + (long)strcspn(slash ? slash + 1 : path, "."));
}

int settings_out(struct settings *s, const char *out)
{
	s->out = out;
	s->checkpoint[0] = s->kept[0] = s->rounds[0] = s->replicated[0] = s->follow.path[0] = '\0';
	if (!out) return ISO_OK;
	if (snprintf(s->kept, sizeof s->kept, "%s.frames", out) >= (int)sizeof s->kept)
		return iso_fail(ISO_EARG, "%s: name too long", out);
	snprintf(s->rounds, sizeof s->rounds, "%s.rounds", out);
	if (snprintf(s->replicated, sizeof s->replicated, "%s.replicates", out) >= (int)sizeof s->replicated)
		return iso_fail(ISO_EARG, "%s: name too long", out);
	snprintf(s->checkpoint, sizeof s->checkpoint, "%s.ckpt", out);
	snprintf(s->follow.path, sizeof s->follow.path, "%.*s.png", stem(out), out);
	return ISO_OK;
}

int recon_iteration_path(char path[PATH_MAX], const struct settings *s, int k, int iteration)
{
	char frame[16] = "";

	if (s->frames.series && !s->kinetics.model)
		snprintf(frame, sizeof frame, s->frames.n < 100 ? "_f%02d" : "_f%06d", k + 1);
	int n = snprintf(path, PATH_MAX, "%.*s%s_it%03d%s", stem(s->out), s->out, frame, iteration,
	                 s->out + stem(s->out));

	return n < PATH_MAX ? ISO_OK : iso_fail(ISO_EARG, "%s: name too long", s->out);
}

int recon_beside(char path[PATH_MAX], const struct settings *s, const char *what, const char *suffix)
{
	const int length = stem(s->out);
	int n = snprintf(path, PATH_MAX, "%.*s%s%s", length, s->out, what, suffix ? suffix : s->out + length);

	return n < PATH_MAX ? ISO_OK : iso_fail(ISO_EARG, "%s: name too long", s->out);
}

/* ---- what stands there ---- */

/* What a run that continues finds in its place, with a record, it looks at itself (recon_complete): its own
   image may be there already. */
int problem_check_output(const iso_problem *p)
{
	bool may_be_own = false;
	int st = iso_commit_repair(p->s.out);

	if (!st && p->s.resume && !p->force) st = record_stands(&may_be_own, p->s.out);
	if (st || (st = iso_write_check(p->s.out, p->force || may_be_own)) || may_be_own) return st;
	return record_check_place(p->s.out, p->force);
}

/* Images between iterations, of frame k. A run that continues finds those that it wrote before, with their
   records. */
static int check_iterations(const iso_problem *p, int k, struct iso_names *names)
{
	const struct settings *s = &p->s;
	char path[PATH_MAX];
	int st = ISO_OK;

	for (int64_t i = s->save_every; s->save_every > 0 && i < s->iterations && !st; i += s->save_every) {
		bool own = false;

		if ((st = recon_iteration_path(path, s, k, (int)i)) ||
		    (names && (st = iso_target_names(names, path, "an image of 'save-every'"))))
			break;
		if (s->resume) st = record_stands(&own, path);
		if (!st && !own && !(st = iso_write_check(path, p->force)))
			st = record_check_place(path, p->force);
	}
	return st;
}

/* What a run leaves beside its image when it is interrupted. If nobody asked to continue it, it is somebody's work. */
static int check_unfinished(iso_problem *p, struct iso_names *names)
{
	const struct settings *s = &p->s;
	const bool rounds = p->m->needs_rounds && p->m->needs_rounds(p);
	static const char *const what[] = { "the frames of 'output'", "the checkpoint of 'output'",
		                            "the rounds of 'output'" };
	const char *const path[] = { s->kept, s->checkpoint, s->rounds };
	int st = ISO_OK;

	for (int i = s->frames.series && !s->kinetics.model ? 0 : 1; i < (rounds ? 3 : 2); i++) {
		if ((names && (st = iso_names_add(names, true, path[i], what[i]))) ||
		    (s->how->takes & TAKES_FILES && (st = iso_target_try(path[i]))))
			return st;
		if (!s->resume && !p->force && iso_stands_at(path[i]) != ISO_STANDS_NOTHING)
			return iso_fail(ISO_EARG, "%s exists: 'resume' continues it, 'force' starts again",
			                path[i]);
	}
	if (s->kinetics.model && (st = kinetics_files(p, names))) return st;
	if ((s->replicates.n > 0 || s->replicates.fisher) && !s->kinetics.model &&
	    (st = replicates_files(p, names)))
		return st;
	return names ? iso_names_check(names) : ISO_OK;
}

int problem_check_files(iso_problem *p, struct iso_names *names)
{
	int st = problem_check_output(p);

	const int images = p->s.kinetics.model ? 1 : p->s.frames.n;

	for (int k = 0; k < images && !st; k++) st = check_iterations(p, k, names);
	return st ? st : check_unfinished(p, names);
}
