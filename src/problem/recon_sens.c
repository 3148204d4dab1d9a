/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a sensitivity image suits a run, from the record beside it. */
#include "problem.h"

#include "text/json_file.h"

#include <limits.h>
#include <string.h>

/* Of the parameters of a record: a file or word, NULL where there is none. */
static const char *word(const json_t *record, const char *name)
{
	return json_string_value(json_object_get(json_object_get(record, "parameters"), name));
}

static bool is_on(const json_t *record, const char *name)
{
	return json_is_true(json_object_get(json_object_get(record, "parameters"), name));
}

static json_int_t whole(const json_t *record, const char *name)
{
	return json_integer_value(json_object_get(json_object_get(record, "parameters"), name));
}

/* Attenuation and efficiencies act through the sensitivity: without randoms, what is given to the
   run alone does nothing, and what is given twice corrects twice. */
static void compare(struct record *run, const json_t *sens, const char *path)
{
	const char *const factor[] = { "mu", "norm" };
	const char *here = word(run->root, "projector"), *there = word(sens, "projector");
	bool precorrected = is_on(run->root, "precorrected");

	for (int i = 0; i < 2; i++)
		if (word(run->root, factor[i]) && !word(sens, factor[i]) && !(precorrected && i == 0))
			record_warn(run, "%s was made without '%s': the image is not corrected for it", path,
			            factor[i]);
	if (precorrected && word(sens, "mu"))
		record_warn(run,
		            "%s was made with 'mu': with 'precorrected' the attenuation is corrected "
		            "twice",
		            path);
	if (here && there && strcmp(here, there) != 0)
		record_warn(run, "%s was made with 'projector' %s, this run has %s", path, there, here);
	if (whole(sens, "rays") != whole(run->root, "rays"))
		record_warn(run, "%s was made with 'rays' %lld, this run has %lld", path,
		            (long long)whole(sens, "rays"), (long long)whole(run->root, "rays"));
}

int recon_compare_sens(struct record *run, const char *path)
{
	char sidecar[PATH_MAX];
	json_t *sens = NULL;
	const char *verb;
	int st;

	if (iso_sidecar_path(sidecar, sizeof sidecar, path) != ISO_OK) return ISO_OK;
	if ((st = iso_json_read(&sens, sidecar))) /* of another program: nothing is known */
		return st == ISO_ENOMEM ? st : ISO_OK;
	verb = json_string_value(json_object_get(sens, "verb"));
	if (verb && strcmp(verb, "sens") == 0) compare(run, sens, path);
	json_decref(sens);
	return ISO_OK;
}
