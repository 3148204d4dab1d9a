/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the record that --like takes, for the command that it names. A record may name any
   file, so those that name one outside the folder of work are left out. */
#include "fixtures.h"

#include <jansson.h>

static bool leads_out(const json_t *v)
{
	const char *text = json_string_value(v), *key;
	json_t *item;
	size_t i;

	if (text) return strchr(text, '/') || strstr(text, "..");
	json_array_foreach (v, i, item)
		if (leads_out(item)) return true;
	json_object_foreach ((json_t *)v, key, item)
		if (leads_out(item)) return true;
	return false;
}

/* These run other commands for minutes, and have no --like. */
static bool may_run(const char *verb)
{
	static const char *const verbs[] = { "phantom", "simulate", "srm",         "norm",
		                             "sens",    "project",  "backproject", "recon",
		                             "filter",  "convert",  "view",        "mu" };

	for (size_t i = 0; verb && i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(verb, verbs[i]) == 0) return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *root = json_loadb((const char *)data, size, 0, NULL);
	const char *verb = json_string_value(json_object_get(root, "verb"));
	char line[200];

	if (!leads_out(root)) {
		make_fixtures();
		command_enter();
		put_file("like.json", data, size);
		snprintf(line, sizeof line, "%s --like like.json%s --force", may_run(verb) ? verb : "recon",
		         verb && (!strcmp(verb, "convert") || !strcmp(verb, "view"))
		                 ? ""
		                 : " --memory-limit 0.05 --threads 1");
		isotome(line);
		isotome("info like.json");
		command_back();
	}
	json_decref(root);
	return 0;
}
