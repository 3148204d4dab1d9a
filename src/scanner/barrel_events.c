/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of a barrel: which of them are of use. */
#include "barrel.h"

#include <stdlib.h>

#define FAR 5 /* errors that a hit may lie beyond the end of its strip */

void iso_barrel_events_free(struct iso_barrel_events *e)
{
	if (!e) return;
	free(e->v);
	*e = (struct iso_barrel_events){ 0 };
}

/* How far beyond the end of its strip. */
static double over(const struct iso_barrel *b, int32_t strip, double z)
{
	return fabs(z - b->strip[strip].z) - b->strip[strip].length / 2;
}

void iso_barrel_events_check(struct iso_barrel_events *e, const struct iso_barrel *b)
{
	double sigma_z, sigma_dl;

	if (!e || !b) return;
	iso_barrel_sigma(&sigma_z, &sigma_dl, b);
	e->unknown = e->no_pair = e->not_finite = e->far = e->beyond = 0;
	for (int64_t j = 0; j < e->n; j++) {
		struct iso_barrel_event *v = e->v + j;
		bool known = v->a >= 0 && v->a < b->n && v->b >= 0 && v->b < b->n;
		bool pair = known && iso_barrel_pair(b, v->a, v->b);
		bool finite = isfinite(v->z_a) && isfinite(v->z_b) && isfinite(v->dl);
		double most = pair && finite
		                      ? fmax(over(b, v->a, (double)v->z_a), over(b, v->b, (double)v->z_b))
		                      : 0;

		e->unknown += !known;
		e->no_pair += known && !pair;
		e->not_finite += pair && !finite;
		e->far += most > FAR * sigma_z;
		e->beyond += most > 0 && most <= FAR * sigma_z;
		if (!pair || !finite || most > FAR * sigma_z) v->a = -1;
	}
}
