/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a run of penalised likelihood, from what the caller has said so far. */
#include "state.h"

/* Images on the device: x, the next, z, u, the anchor, the sensitivity; and those of the algorithm. */
static int images_of(enum iso_map_method method)
{
	enum { SHARED = 6 };

	switch (method) {
	case ISO_MAP_SVRG:
	case ISO_MAP_SAGA:
	case ISO_MAP_BSREM:
		return SHARED + 3; /* gradient, preconditioner, balance */
	case ISO_MAP_OSL:
		return SHARED;
	case ISO_MAP_LBFGS:
		return SHARED + 5 +
		       2 * (MAP_PAIRS + 1); /* two gradients, scale, free voxels, direction; pairs */
	}
	return SHARED;
}

static int saved_of(enum iso_map_method method)
{
	switch (method) {
	case ISO_MAP_SVRG:
		return 4;
	case ISO_MAP_BSREM:
		return 5;
	case ISO_MAP_SAGA:
		return 6;
	case ISO_MAP_OSL:
		return 2;
	case ISO_MAP_LBFGS:
		return 3 + 2 * (MAP_PAIRS + 1);
	}
	return 0;
}

void iso_map_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_map *p, int64_t n,
                  int64_t n_data)
{
	if (!plan || !p) return;

	int64_t real = sizeof(iso_real);
	bool cuda = iso_ctx_is_cuda(ctx), penalised = p->prior && (p->beta > 0 || p->relative > 0);
	bool kappa = penalised && p->kappa_auto, curvature = kappa || p->method == ISO_MAP_LBFGS;
	int vectors = (p->data.y != NULL) + (p->data.add != NULL) + (p->data.mult != NULL) +
	              (p->method != ISO_MAP_OSL) + 2 * curvature;

	iso_plan_add(plan, "images of the algorithm", n, (images_of(p->method) + kappa) * real, cuda);
	iso_plan_add(plan, "a copy of the image on the host", n, real, false);
	if (p->sens.n_images > 1 && !p->as_given)
		iso_plan_add(plan, "sensitivity of subsets", n, p->sens.n_images * real, cuda);
	/* Bowsher's weights take 8 bytes a voxel */
	if (penalised) iso_plan_add(plan, "penalty", n, 2 * real + (p->prior->anatomy ? 8 : 0), cuda);
	iso_plan_add(plan, "data vectors, ratios", n_data, vectors * real, cuda);
	if (cuda) iso_plan_add(plan, "checkpoint", n, saved_of(p->method) * real, false);
}
