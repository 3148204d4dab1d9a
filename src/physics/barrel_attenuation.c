/* SPDX-License-Identifier: BSD-3-Clause */
/* What an object leaves of the photons of a barrel's events. */
#include "core/ctx.h"
#include "core/progress.h"
#include "isotome/barrel.h"
#include "chords.h"

#include <math.h>

int iso_barrel_attenuation(iso_real *alpha, iso_ctx *ctx, const struct iso_barrel *b,
                           const struct iso_array *mu, const struct iso_barrel_events *e)
{
	if (!alpha || !ctx || !b || !mu || !e) return iso_fail_null(__func__);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 1024)
	for (int64_t j = 0; j < e->n; j++) {
		const struct iso_barrel_event *v = e->v + j;

		alpha[j] = 1;
		if (iso_stopped(ctx) || v->a < 0) continue;
		const struct iso_barrel_strip *s = b->strip + v->a, *t = b->strip + v->b;
		const double p[3] = { s->x, s->y, (double)v->z_a }, q[3] = { t->x, t->y, (double)v->z_b };

		alpha[j] = (iso_real)exp(-iso_chords_sum(mu, p, q));
	}
	return iso_ctx_poll(ctx);
}
