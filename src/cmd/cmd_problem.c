/* SPDX-License-Identifier: BSD-3-Clause */
/* The problem of a command: its model from the words, its parameters as options. */
#include "cmd.h"

#include "problem/problem.h"
#include "text/json_file.h"
#include "text/nearest.h"

#include <string.h>

enum { MODELS = 16 };

/* Ends with NULL. */
static int names(const char *name[MODELS])
{
	int n = 0;

	for (; n < MODELS - 1 && iso_problem_model(n); n++) name[n] = iso_problem_model(n);
	name[n] = NULL;
	return n;
}

/* The model of the record that --like names; NULL if there is none: parsing will tell why. */
static int of_record(char *model, size_t size, int argc, char **argv)
{
	int st = ISO_OK;

	for (int i = 1; i < argc && !*model && st != ISO_ENOMEM; i++) {
		const char *path = strncmp(argv[i], "--like=", 7) == 0 ? argv[i] + 7
		                   : strcmp(argv[i], "--like") == 0    ? argv[i + 1]
		                                                       : NULL;
		json_t *root = NULL;
		const char *name = NULL;

		if (path && !(st = iso_json_read(&root, path)))
			name = json_string_value(
				json_object_get(json_object_get(root, "parameters"), "model"));
		if (name && model_find(name)) snprintf(model, size, "%s", name);
		json_decref(root);
	}
	return st == ISO_ENOMEM ? st : ISO_OK;
}

int cmd_problem(iso_problem **p, struct cmd *c, int argc, char **argv)
{
	const char *near;
	char model[32] = "";
	int st;

	if (argc < 2 || argv[1][0] == '-') {
		st = of_record(model, sizeof model, argc, argv);
		return st ? st : problem_create(p, *model ? model : iso_problem_model(0), &c->record);
	}
	if (model_find(argv[1])) return problem_create(p, argv[1], &c->record);
	near = iso_nearest(argv[1], names(c->models), c->models);
	return iso_fail(ISO_EARG, "'%s' is not a model; the first word names it: %s", argv[1],
	                near ? near : c->models[0]);
}

struct opt cmd_model(struct cmd *c)
{
	size_t size = sizeof c->about_models;
	int at = snprintf(c->about_models, size, "imaging model: ");
	struct opt o = CMD_ARGUMENT("model", c->model, OPT_NO_FILE, "MODEL", c->about_models);

	for (int k = 0; k < names(c->models); k++)
		at += snprintf(c->about_models + at, size - (size_t)at, "%s%s (%s)", k ? ", " : "",
		               c->models[k], model_find(c->models[k])->about);
	o.words = c->models;
	return o;
}

int cmd_problem_begin(iso_problem *p, struct cmd *c)
{
	int st = cmd_begin_ahead(c, true);

	p->ctx = c->ctx;
	p->like = c->like;
	p->force = c->force;
	return st;
}
