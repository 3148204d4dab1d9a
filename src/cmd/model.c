/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of imaging models. */
#include "model.h"

#include "core/nearest.h"
#include "core/status.h"

#include <stdlib.h>
#include <string.h>

static const struct model *const models[] = { &model_ray };
static const char *const names[] = { "ray", NULL };	/* in the same order */

#define N_MODELS ((int)(sizeof models / sizeof models[0]))

int model_pick(const struct model **m, int argc, char **argv)
{
	if (argc < 2 || argv[1][0] == '-') {
		*m = models[0];
		return ISO_OK;
	}
	for (int i = 0; i < N_MODELS; i++)
		if (strcmp(argv[1], names[i]) == 0) {
			*m = models[i];
			return ISO_OK;
		}
	const char *near = iso_nearest(argv[1], N_MODELS, names);

	return iso_fail(ISO_EARG, "'%s' is not a model; the first word names it: %s", argv[1],
			near ? near : "ray");
}

struct opt model_positional(const char **name)
{
	return (struct opt){ 0, "model", .text = name, .words = names, .value = "MODEL",
			     .positional = true, .required = true,
			     .help = "imaging model: ray (list-mode PET)" };
}

void model_data_free(struct model_data *d)
{
	free(d->y);
	free(d->add);
	free(d->mult);
	*d = (struct model_data){ 0 };
}
