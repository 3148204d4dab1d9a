/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a run of penalised likelihood, from what the caller has said so far. */
#include "state.h"

enum { SHARED = 6 }; /* images on the device: x, the next, z, u, the anchor, the sensitivity */

void iso_map_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_map *p, int64_t n,
                  int64_t n_data)
{
	const struct map_method *method = p ? map_method(p->method) : NULL;

	if (!plan || !method) return;

	int64_t real = sizeof(iso_real);
	bool cuda = iso_ctx_is_cuda(ctx), penalised = p->prior && (p->beta > 0 || p->relative > 0);
	bool kappa = penalised && p->kappa_auto, curvature = kappa || p->method == ISO_MAP_LBFGS;
	int vectors = (p->data.y != NULL) + (p->data.add != NULL) + (p->data.mult != NULL) +
	              (method->rates || curvature) + 2 * curvature;

	iso_plan_add(plan, "images of the algorithm", n, (SHARED + method->images + kappa) * real, cuda);
	iso_plan_add(plan, "a copy of the image on the host", n, real, false);
	if (p->sens.n_images > 1 && !p->as_given)
		iso_plan_add(plan, "sensitivity of subsets", n, p->sens.n_images * real, cuda);
	/* Bowsher's weights take 8 bytes a voxel */
	if (penalised) iso_plan_add(plan, "penalty", n, 2 * real + (p->prior->anatomy ? 8 : 0), cuda);
	iso_plan_add(plan, "data vectors, ratios", n_data, vectors * real, cuda);
	if (cuda) iso_plan_add(plan, "checkpoint", n, method->saved * real, false);
}
