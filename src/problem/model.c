/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of imaging models. */
#include "model.h"

#include "core/room.h"
#include "core/size.h"

#include <string.h>

extern const struct model model_ray, model_strip, model_barrel, model_srm, model_matrix, model_ubp,
	model_svoxel, model_sradon;

static const struct model *const models[] = { &model_ray,    &model_strip, &model_barrel, &model_srm,
	                                      &model_matrix, &model_ubp,   &model_svoxel, &model_sradon };

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

int model_sens_of_rows(iso_real *parts, iso_op *of, const iso_real *m)
{
	iso_ctx *ctx = iso_op_ctx(of);
	int64_t voxels = iso_op_n_in(of), n = iso_op_n_out(of);
	struct iso_room room = iso_room_of(ctx, "factors of rows");
	iso_real *x, *y;
	int st;

	ISO_DEVICE(&room, x, voxels);
	ISO_HOST(&room, y, n);
	for (int64_t i = 0; y && !m && i < n; i++) y[i] = 1;
	if (y && m) iso_op_sort(y, of, m);
	ISO_MOVE(&room, y, n);
	st = room.status;
	for (int k = 0; k < iso_op_n_sub(of) && !st; k++)
		if (!(st = iso_adjoint(x, of, k, y)))
			st = iso_ctx_vec(ctx)->download(ctx, parts + k * voxels, x,
			                                voxels * (int64_t)sizeof *x);
	iso_room_free(&room);
	return st;
}
