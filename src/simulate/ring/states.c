/* SPDX-License-Identifier: BSD-3-Clause */
/* The object in each gate of a simulated scan. */
#include "states.h"
#include "core/ctx.h"
#include "core/size.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>

/* to = W from, on the grid of `from`, where the field is sampled. */
static int warp(struct iso_array *to, iso_ctx *ctx, const struct iso_array *from, const struct iso_warp *by,
                bool mass)
{
	struct iso_warp p = *by;
	int st = iso_array_on_grid(to, &from->grid);

	if (p.field && iso_grid_voxels(&p.field_grid) == 0) p.field_grid = p.grid;
	p.grid = from->grid;
	p.mass = mass;
	return st ? st : iso_warp_image(to->v, ctx, &p, false, from->v);
}

/* A Jacobian below 0 has no decays. */
static double total(struct iso_array *a)
{
	double sum = 0;

	for (int64_t i = 0; i < a->n; i++) {
		if (a->v[i] < 0) a->v[i] = 0;
		sum += (double)a->v[i];
	}
	return sum;
}

static int make_state(struct moving_state *s, struct iso_state_images *i, iso_ctx *ctx,
                      const struct iso_simulate *p, const struct iso_warp *by, double radius, double half)
{
	const bool wanted[2] = { p->randoms + p->bent<1, p->bent> 0 };
	int st = warp(&i->activity, ctx, p->activity, by, by->mass);

	if (!st && p->mu) st = warp(&i->mu, ctx, p->mu, by, false);
	if (st) return st;
	s->keep = total(&i->activity);
	for (int k = 0; k < 2 && !st; k++)
		if (wanted[k] && s->keep > 0)
			st = iso_emission_create(&s->emission[k], &i->activity, radius, half, ISO_ALL_DECAYS);
	return st ? st : iso_woodcock_create(&s->matter, p->mu ? &i->mu : NULL);
}

int iso_states_create(struct iso_states *s, iso_ctx *ctx, const struct iso_simulate *p, double radius,
                      double half)
{
	const struct iso_warp rest = { .size = sizeof rest, .grid = p->activity->grid };
	int n = iso_gates_count(p->gates), st = ISO_OK;
	double most = 0;

	*s = (struct iso_states){ .gates = p->gates };
	if (!p->gates) return ISO_OK;
	s->of = size_alloc(n + 1, sizeof *s->of);
	s->images = size_alloc(n + 1, sizeof *s->images);
	if (!s->of || !s->images) st = iso_fail_memory("simulate", n * (int64_t)sizeof *s->of);
	s->n = st ? 0 : n;
	for (int g = 0; g <= n && !st; g++) {
		st = make_state(&s->of[g], &s->images[g], ctx, p, g < n ? &p->warp[g] : &rest, radius, half);
		most = fmax(most, s->of[g].keep);
	}
	for (int g = 0; g <= n && !st; g++) s->of[g].keep /= most;
	if (st) iso_states_free(s);
	return st;
}

void iso_states_free(struct iso_states *s)
{
	for (int g = 0; s->of && s->images && g <= s->n; g++) {
		iso_array_free(&s->images[g].activity);
		iso_array_free(&s->images[g].mu);
		for (int k = 0; k < 2; k++) iso_emission_free(&s->of[g].emission[k]);
	}
	free(s->of);
	free(s->images);
	*s = (struct iso_states){ 0 };
}

int64_t iso_states_at(const struct iso_states *s, double time_s)
{
	int gate = s->of ? iso_gates_at(s->gates, time_s) : 0;

	return gate < 0 ? s->n : gate;
}
