/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of a reconstruction, and what does not go together. */
#include "problem.h"

#include "core/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* as enum iso_subset_rule */
static const char *const rules[] = { "interleaved", "blocks", "random", "mod", "groups", NULL };

/* ---- tables ---- */

/* 'preset' comes first, where the model has it. */
static void own_params(struct settings *s, const struct model *m)
{
	const struct opt own[] = {
		{ 0, "method", .text = &s->method, .words = s->words.names, .value = "M",
		  .goes = TAKES_METHOD, .help = s->words.about },
		{ 0, "iterations", .integer = &s->iterations, .value = "N", .min = 1, .max = 1e6,
		  .goes = TAKES_ITERATIONS, .help = s->words.passes },
		{ 0, "subsets", .integer = &s->subsets, .value = "K", .min = 1, .max = 1e6,
		  .goes = TAKES_COUNTS, .absent = s->words.subsets,
		  .help = "parts of the data, taken in turn" },
		{ 0, "subset-rule", .text = &s->rule, .words = rules, .value = "RULE", .goes = TAKES_COUNTS,
		  .help = "interleaved: subset b holds events b, b+K, b+2K, ...; blocks: consecutive events; "
		          "random: events drawn at random. For srm the rule is for directions: mod, groups "
		          "(4 x 4 neighbours together) or random" },
		{ 0, "seed", .integer = &s->seed, .value = "N", .min = 0, .max = 9e15, .goes = TAKES_COUNTS,
		  .help = "seed of 'subset-rule' random, and of methods that take subsets in random order" },
		{ 0, "sens", .text = &s->sens, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE|none", .or_word = "none", .absent = "from 'scanner'", .goes = TAKES_COUNTS,
		  .help = "sensitivity image, without 'psf'; none: 1 everywhere" },
		{ 0, "sens-floor", .real = &s->sens_floor, .value = "F", .min = 0, .max = 1,
		  .goes = TAKES_COUNTS,
		  .help = "a voxel that hardly any line crosses gets no activity. Its sensitivity is below F "
		          "of its neighbours' and of its plane's median; 0: all voxels get some" },
		{ 0, "start", .text = &s->start, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .goes = TAKES_START, .absent = s->words.start, .help = "start image" },
		{ 0, "filter", .text = &s->filter_text, .value = "FILTER", .goes = TAKES_COUNTS,
		  .help = "gaussian:MM, gaussian:X,Y,Z, median:N or none, after the last iteration" },
		{ 0, "filter-every", .integer = &s->filter_every, .value = "N", .min = 1, .max = 1e6,
		  .absent = "once, at the end", .goes = TAKES_FILTER_EVERY, .with = "filter",
		  .help = "filter after every N iterations; the next iteration starts from the filtered "
		          "image" },
		{ 0, "save-every", .integer = &s->save_every, .value = "N", .min = 0, .max = 1e6,
		  .goes = TAKES_ITERATIONS | TAKES_FILES,
		  .help = "also write the image after every N iterations (x_it005.nii)" },
		{ 0 },
	};

	_Static_assert(sizeof own < sizeof s->own, "room for the parameters");
	struct opt *to = s->own;

	if (m->preset) *to++ = m->preset_param(s);
	memcpy(to, own, sizeof own);
}

static void other_params(struct settings *s, struct model_stream *at)
{
	const struct opt stream[] = {
		{ 0, "stream", .flag = &at->on,
		  .help = "leave the events on disk, even if they fit in memory, and read them in blocks" },
		{ 0, "block", .integer = &at->block, .value = "N", .min = 1, .max = 1e12,
		  .absent = "chosen by the memory", .help = "like 'stream', with N events at a time" },
		{ 0, "scratch", .text = &at->scratch, .file = OPT_PLACE, .value = "FOLDER|none",
		  .or_word = "none", .absent = "chosen by memory and disk",
		  .help = "like 'stream', from a copy in FOLDER that is sorted by subset and has all "
		          "factors. The copy takes at most 40 bytes an event, and is removed at the end. "
		          "Without this option Isotome makes such a copy if events do not fit in memory, "
		          "the copy saves reading, and a disk has room; none: it never does" },
		{ 0 },
	};

	const struct opt stop[] = {
		{ 0, "resume", .flag = &s->resume, .transient = true, .goes = TAKES_FILES,
		  .help = "continue from OUTPUT.ckpt; start from the beginning if the file does not exist" },
		{ 0, "checkpoint-minutes", .real = &s->checkpoint_minutes, .value = "M", .min = 0, .max = 1e6,
		  .unit = "min", .goes = TAKES_FILES,
		  .help = "shortest time between two checkpoints; 0: write one after every update" },
		{ 0, "stop-after", .real = &s->stop_after, .value = "M", .min = 0, .max = 1e6, .unit = "min",
		  .goes = TAKES_FILES,
		  .help = "after M minutes write a checkpoint and stop with exit code 143; 0: never" },
		{ 0 },
	};

	_Static_assert(sizeof stream <= sizeof s->stream, "room for the parameters");
	_Static_assert(sizeof stop <= sizeof s->stop, "room for the parameters");
	memcpy(s->stream, stream, sizeof stream);
	memcpy(s->stop, stop, sizeof stop);
}

void settings_begin(struct settings *s, const struct model *m, struct model_stream *stream)
{
	*s = (struct settings){ .method = method_at(m, 0)->name,
		                .iterations = method_at(m, 0)->iterations,
		                .subsets = 1,
		                .seed = 1,
		                .rule = m->rule ? m->rule : "interleaved",
		                .frames = { .to_s = INFINITY },
		                .sens_floor = m->sens_floor,
		                .checkpoint_minutes = 10,
		                .replicates = { .seed = 1 },
		                .follow = { .block = 100000, .every_s = 5 } };
	s->penalties.unseen = "drop";
	method_describe(&s->words, m);
	own_params(s, m);
	other_params(s, stream ? stream : &s->no_stream);
}

/* ---- checks before the work ---- */

/* Events and directions are dealt by rules of their own. */
static int check_rule(iso_problem *problem)
{
	static const char *const of_events[] = { "interleaved", "blocks", "random", NULL };
	static const char *const of_directions[] = { "mod", "groups", "random", NULL };
	bool directions = problem->m->rule && strcmp(problem->m->rule, "groups") == 0;
	const char *rule = problem->s.rule;

	if (opt_place(directions ? of_directions : of_events, rule) >= 0) return ISO_OK;
	return iso_fail(ISO_EARG, "'subset-rule' is %s, which is for %s; model %s has %s", rule,
	                directions ? "events" : "directions of srm", problem->m->name,
	                directions ? "mod, groups and random" : "interleaved, blocks and random");
}

/* What was not given is what the method has. */
static void take_defaults(iso_problem *problem)
{
	struct settings *s = &problem->s;
	const struct method *how = s->how;

	if (!problem_given(problem, "iterations")) s->iterations = how->iterations;
	if (!problem_given(problem, "tolerance")) s->penalties.tolerance = how->tolerance;
	if (!problem_given(problem, "subsets")) s->subsets = how->subsets ? how->subsets : MAP_SUBSETS;
	if (problem_given(problem, "subset-rule")) return;
	s->rule = problem->m->rule ? problem->m->rule : "interleaved";
	/* groups of directions are few, and what does not depend on subsets wants many */
	if (how->one_limit && strcmp(s->rule, "groups") == 0) s->rule = "mod";
}

static int check_subsets(iso_problem *problem)
{
	struct settings *s = &problem->s;
	const struct model *m = problem->m;
	int st = check_rule(problem);

	if (st) return st;
	if (s->how->more && s->subsets > 1)
		return iso_fail(ISO_EARG, "'subsets' is %" PRId64 ": %s has one; 'method' %s takes more",
		                s->subsets, s->method, s->how->more);
	if (m->sens_of_subsets && !m->one_sens && s->sens && s->subsets > 1 && !s->how->one_limit)
		return iso_fail(ISO_EARG,
		                "'sens' is one image; the subsets of model %s see voxels differently, and "
		                "their own are made without it",
		                m->name);
	s->by = (struct model_subsets){ .n = (int)s->subsets,
		                        .rule = (enum iso_subset_rule)opt_place(rules, s->rule),
		                        .seed = (uint64_t)s->seed };
	return ISO_OK;
}

/* Without 'filter-every' there is one filter, after the last iteration. */
static int check_filter(iso_problem *problem)
{
	struct settings *s = &problem->s;

	if (s->filter_text && strcmp(s->filter_text, "none") == 0) s->filter_text = NULL;
	if (!problem_given(problem, "filter-every")) s->filter_every = s->iterations;
	if (s->filter_every > s->iterations)
		return iso_fail(ISO_EARG,
		                "'filter-every' is %" PRId64 ", more than the %" PRId64 " iterations",
		                s->filter_every, s->iterations);
	return s->filter_text ? iso_filter_parse(&s->filter, s->filter_text) : ISO_OK;
}

int settings_check(iso_problem *problem)
{
	const struct model *m = problem->m;
	struct settings *s = &problem->s;
	int st;

	if (m->preset && (st = m->preset(problem))) return st;
	if ((st = method_choose(problem))) return st;
	if (!s->how->name) return s->how->check ? s->how->check(problem) : ISO_OK; /* 'follow', 'batch' */
	take_defaults(problem);
	if (s->how->check && (st = s->how->check(problem))) return st;
	if ((st = check_subsets(problem)) || (st = check_filter(problem))) return st;
	if ((st = frames_check(problem, &s->frames))) return st;
	if (s->replicates.labels && !s->kinetics.model && s->replicates.n == 0 && !s->replicates.fisher)
		return iso_fail(ISO_EARG, "'regions' needs 'replicates', 'fisher' or 'kinetics'");
	if (s->replicates.fisher && (st = fisher_check(problem))) return st;
	if (s->kinetics.model && (st = kinetics_check(problem))) return st;
	if (s->replicates.n > 0 && (st = replicates_check(problem))) return st;
	return units_check(problem);
}
