/* SPDX-License-Identifier: BSD-3-Clause */
/* The errors of a barrel's events, by random numbers. */
#ifndef ISO_BARREL_BLUR_H
#define ISO_BARREL_BLUR_H

#include "core/philox.h"
#include "barrel.h"
#include "base/constants.h"

/* A measured place and time of a hit at z (mm from the middle of its strip), from two of Philox's words each; at the end that
   light has farther to, the error is larger. `place`: standard errors, mm, for scanners without ends. */
static inline void barrel_blur_hit(double *z, double *t_ps, const struct iso_barrel *b, double place,
                                   double time, struct philox p)
{
	double g = philox_gauss(p.w[0], p.w[1]), h = philox_gauss(p.w[2], p.w[3]);

	if (!(b->end_sigma_ps > 0)) {
		*z += place * g;
		*t_ps += time * h;
		return;
	}
	double over = b->light_attenuation > 0 ? *z / b->light_attenuation : 0;
	double low = b->end_sigma_ps * exp(over / 2) * g, high = b->end_sigma_ps * exp(-over / 2) * h;

	*z += b->light_speed * (low - high) / 2;
	*t_ps += (low + high) / 2;
}

/* Event number `number`, whose places and dl are exact; draws `first` and first + 1 of it. */
static inline void barrel_blur(struct iso_barrel_event *e, const struct iso_barrel *b, uint64_t seed,
                               uint64_t number, uint64_t first)
{
	double place, way, t[2] = { 0, 0 };
	double z[2] = { (double)e->z_a - b->strip[e->a].z, (double)e->z_b - b->strip[e->b].z };

	iso_barrel_sigma(&place, &way, b);
	for (int k = 0; k < 2; k++)
		barrel_blur_hit(&z[k], &t[k], b, place, way / sqrt(2) / ISO_C_MM_PER_PS,
		                philox_draw(seed, number, first + (uint64_t)k));
	e->z_a = (iso_real)(z[0] + b->strip[e->a].z);
	e->z_b = (iso_real)(z[1] + b->strip[e->b].z);
	e->dl = (iso_real)((double)e->dl + ISO_C_MM_PER_PS * (t[0] - t[1]));
}

#endif
