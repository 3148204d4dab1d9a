/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of imaging models. */
#include "model.h"

#include "core/size.h"

#include <stdlib.h>
#include <string.h>

extern const struct model model_ray, model_strip, model_srm, model_ubp, model_svoxel, model_sradon;

static const struct model *const models[] = { &model_ray, &model_strip,  &model_srm,
	                                      &model_ubp, &model_svoxel, &model_sradon };

enum { N_MODELS = sizeof models / sizeof models[0] };

const struct model *model_at(int k)
{
	return k >= 0 && k < N_MODELS ? models[k] : NULL;
}

const struct model *model_find(const char *name)
{
	for (int i = 0; name && i < N_MODELS; i++)
		if (strcmp(name, models[i]->name) == 0) return models[i];
	return NULL;
}

void model_data_free(struct model_data *d)
{
	free(d->y);
	free(d->add);
	free(d->mult);
	*d = (struct model_data){ 0 };
}

int model_vector(iso_real **v, int64_t n, const char *what)
{
	return (*v = size_alloc(n, sizeof **v)) ? ISO_OK : iso_fail_memory(what, n * (int64_t)sizeof **v);
}
