/* SPDX-License-Identifier: BSD-3-Clause */
/* The problem of a command: its model from the words, its parameters as options. */
#include "cmd.h"

#include "file/suffix.h"

#include "problem/problem.h"
#include "text/json_file.h"
#include "text/nearest.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { MODELS = 16 };

/* Ends with NULL. */
static int names(const char *name[MODELS])
{
	int n = 0;

	for (; n < MODELS - 1 && iso_problem_model(n); n++) name[n] = iso_problem_model(n);
	name[n] = NULL;
	return n;
}

/* The place of a model among them; -1: none has this name. */
static int place_of(const char *model)
{
	int k = 0;

	if (!model) return -1;
	while (iso_problem_model(k) && strcmp(iso_problem_model(k), model) != 0) k++;
	return iso_problem_model(k) ? k : -1;
}

/* The model of the record that --like names; NULL if there is none: parsing will tell why. */
static int of_record(const char **model, int argc, char **argv)
{
	int st = ISO_OK;

	for (int i = 1; i < argc && !*model && st != ISO_ENOMEM; i++) {
		const char *path = strncmp(argv[i], "--like=", 7) == 0 ? argv[i] + 7
		                   : strcmp(argv[i], "--like") == 0    ? argv[i + 1]
		                                                       : NULL;
		json_t *root = NULL;
		int k = -1;

		if (path && !(st = iso_json_read(&root, path)))
			k = place_of(json_string_value(
				json_object_get(json_object_get(root, "parameters"), "model")));
		if (k >= 0) *model = iso_problem_model(k);
		json_decref(root);
	}
	return st == ISO_ENOMEM ? st : ISO_OK;
}

/* Whether a word is an option whose value is the data, of any model. */
static bool takes_data(const char *word)
{
	return strcmp(word, "--events") == 0 || strcmp(word, "--data") == 0 || strcmp(word, "--srm") == 0;
}

/* The file that word i names, by itself or behind "--events=" and the like; NULL: none that could tell a model. */
static const char *file_of(int i, char **argv)
{
	const char *before = argv[i - 1], *word = argv[i], *equals = strchr(word, '=');
	char option[16];

	if (word[0] != '-') return strcmp(before, "-o") && strcmp(before, "--output") ? word : NULL;
	if (!equals || equals - word >= (int)sizeof option) return NULL;
	snprintf(option, sizeof option, "%.*s", (int)(equals - word), word);
	return takes_data(option) ? equals + 1 : NULL;
}

/* The first file among the words that tells a model, or the one that is known; c->parameter: of a file that stands by
   itself. Of data that can't be read nothing is known. */
static int of_files(struct cmd *c, int argc, char **argv)
{
	const char *path, *model, *parameter;
	char first[PATH_MAX]; /* of a list */
	char file[PATH_MAX];
	bool found = false;
	int st = ISO_OK;

	for (int i = 1; i < argc && !found && st != ISO_ENOMEM; i++) {
		if (!(path = file_of(i, argv)) || strcmp(path, "-") == 0) continue;
		bool named = path != argv[i] || takes_data(argv[i - 1]);

		if (named) opt_next_file(first, path);
		if (named) path = first;

		if (named && access(iso_without_variable(file, path), R_OK) != 0)
			return iso_fail(ISO_EINPUT, "%s: %s", path, strerror(errno));
		st = access(path, F_OK) == 0 ? iso_problem_model_of(&model, &parameter, path) : ISO_EINPUT;
		found = !st && (!c->model || strcmp(c->model, model) == 0);
		if (found) c->model = model;
		if (found && !named) c->parameter = parameter;
	}
	return st == ISO_ENOMEM ? st : ISO_OK;
}

/* What is wrong with a first word that is no model, where no other word tells one. */
static int unknown(struct cmd *c, const char *word)
{
	const char *near = iso_nearest(word, names(c->models), c->models), *model, *parameter;

	if (access(word, F_OK) == 0) return iso_problem_model_of(&model, &parameter, word);
	if (strpbrk(word, "./")) return iso_fail(ISO_EINPUT, "%s: %s", word, strerror(errno));
	return iso_fail(ISO_EARG, "'%s' is not a model; the first word names it: %s", word,
	                near ? near : c->models[0]);
}

int cmd_problem(iso_problem **p, struct cmd *c, int argc, char **argv)
{
	int st;

	if (argc > 1 && place_of(argv[1]) >= 0) return problem_create(p, argv[1], &c->record);
	if ((st = of_record(&c->model, argc, argv)) || (st = of_files(c, argc, argv))) return st;
	if (!c->model && argc > 1 && argv[1][0] != '-') return unknown(c, argv[1]);
	return problem_create(p, c->model ? c->model : iso_problem_model(0), &c->record);
}

struct opt cmd_model(struct cmd *c)
{
	size_t size = sizeof c->about_models;
	int at = snprintf(c->about_models, size, "imaging model: ");
	struct opt o = CMD_ARGUMENT("model", c->model, OPT_NO_FILE, "MODEL", c->about_models);

	for (int k = 0; k < names(c->models); k++)
		at += snprintf(c->about_models + at, size - (size_t)at, "%s%s (%s)", k ? ", " : "",
		               c->models[k], iso_problem_model_about(k));
	snprintf(c->about_models + at, size - (size_t)at,
	         "; may be left out if the data file tells the model");
	o.words = c->models;
	o.given = c->model;
	o.required = false; /* cmd_problem_begin looks */
	return o;
}

struct opt cmd_data(struct cmd *c, iso_problem *p)
{
	const char *const names[] = { c->parameter, "events", "data" };
	struct opt_set own[] = { { NULL, p->params }, { 0 } };
	struct opt o = { .name = "file",
		         .positional = true,
		         .transient = true,
		         .file = OPT_READS,
		         .value = "FILE",
		         .help = c->about_file };

	for (int k = 0; k < 3 && !o.text; k++) {
		const struct opt *of = names[k] ? opt_find(own, names[k]) : NULL;

		if (of) snprintf(c->about_file, sizeof c->about_file, "the data, the same as '%s'", names[k]);
		o.text = of ? of->text : NULL;
		if (of) o.file = of->file;
	}
	return o;
}

int cmd_problem_begin(iso_problem *p, struct cmd *c)
{
	int st;

	if (!c->model)
		return iso_fail(ISO_EARG, "MODEL is missing: %s; try 'isotome %s --help'", c->about_models,
		                c->term.command);
	st = cmd_begin_ahead(c, true);
	p->ctx = c->ctx;
	p->like = c->like;
	p->force = c->force;
	return st;
}
