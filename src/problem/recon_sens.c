/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a sensitivity image suits a run, from the record beside it. */
#include "problem.h"

#include <string.h>

static const json_t *parameter(const json_t *record, const char *name)
{
	return json_object_get(json_object_get(record, "parameters"), name);
}

/* A file or word, NULL where there is none. */
static const char *word(const json_t *record, const char *name)
{
	return json_string_value(parameter(record, name));
}

/* Of the tables of poses; NULL: nothing moved. */
static const char *motion(const json_t *record)
{
	const json_t *results = json_object_get(record, "results");

	return json_string_value(json_object_get(json_object_get(results, "motion"), "hash"));
}

/* Attenuation and efficiencies act through the sensitivity: without randoms, what is given to the
   run alone does nothing, and what is given twice corrects twice. */
static void compare(struct record *run, const json_t *sens, const char *path)
{
	const char *const factor[] = { "mu", "norm" };
	const char *here = word(run->root, "projector"), *there = word(sens, "projector");
	bool precorrected = json_is_true(parameter(run->root, "precorrected"));
	json_int_t rays[2] = { json_integer_value(parameter(sens, "rays")),
		               json_integer_value(parameter(run->root, "rays")) };

	for (int i = 0; i < 2; i++)
		if (word(run->root, factor[i]) && !word(sens, factor[i]) && !(precorrected && i == 0))
			record_warn(run, "%s was made without '%s': the image is not corrected for it", path,
			            factor[i]);
	if (precorrected && word(sens, "mu"))
		record_warn(run,
		            "%s was made with 'mu': with 'precorrected' the attenuation is corrected twice",
		            path);
	const char *moves = motion(run->root), *moved = motion(sens);

	if ((moves || moved) && (!moves || !moved || strcmp(moves, moved) != 0))
		record_warn(run, "%s was made %s", path,
		            moved ? moves ? "with other poses than this run has"
		                          : "with poses, this run has none"
		                  : "without poses, this run has some");
	if (here && there && strcmp(here, there) != 0)
		record_warn(run, "%s was made with 'projector' %s, this run has %s", path, there, here);
	const char *response = word(run->root, "response"), *other = word(sens, "response");

	if (!response != !other)
		record_warn(run, "%s was made %s 'response', this run is %s it", path,
		            other ? "with" : "without", response ? "with" : "without");
	else if (response && parameter(run->root, "response-lines") && parameter(sens, "response-lines") &&
	         !json_equal(parameter(run->root, "response-lines"), parameter(sens, "response-lines")))
		record_warn(run, "%s was made with other 'response-lines' than this run has", path);
	if (rays[0] != rays[1])
		record_warn(run, "%s was made with 'rays' %lld, this run has %lld", path, (long long)rays[0],
		            (long long)rays[1]);
}

int recon_compare_sens(struct record *run, const char *path)
{
	json_t *sens = NULL; /* of another program: nothing is known */
	int st = record_sidecar(&sens, path);
	const char *verb = json_string_value(json_object_get(sens, "verb"));

	if (verb && strcmp(verb, "sens") == 0) compare(run, sens, path);
	json_decref(sens);
	return st;
}
