/* SPDX-License-Identifier: BSD-3-Clause */
/* Legs from all scatter points to all detectors of a set, on the host. */
#include "core/progress.h"
#include "physics/water.h"
#include "sss.h"

/* A leg as real crystals see it. */
static void respond(struct sss_legs *l, int64_t i, const struct scene *scene, const struct sss_ray *r)
{
	float along = fminf(fabsf(r->dir[2]), 1);

	l->g[i] *= scene_weight(scene->w, (float)WATER_E0, r->across, along);
	for (int t = 0; t < SCENE_TILTS; t++) l->c[t][i] = scene_direction(scene->tilt[t], r->across, along);
}

int sss_set_make(struct sss_set *set, struct iso_room *room, const iso_ctx *ctx, const struct sss *s,
                 int64_t detectors, const float *place)
{
	struct sss_legs *l = &set->legs;
	int64_t n = detectors * s->points;

	*set = (struct sss_set){ .detectors = detectors, .place = place };
	for (int a = 0; a < 3; a++) ISO_HOST(room, l->dir[a], n);
	ISO_HOST(room, l->length, n);
	ISO_HOST(room, l->g, n);
	ISO_HOST(room, l->q, n);
	for (int t = 0; t < SCENE_TILTS && s->energy; t++) ISO_HOST(room, l->c[t], n);
	ISO_HOST(room, l->first, n);
	ISO_HOST(room, l->pieces, n);
	ISO_HOST(room, l->at, n);
	if (room->status) return room->status;
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++) {
		const float *from = s->point[i % s->points].at;
		struct sss_ray r = sss_ray(s, from, place + 3 * (i / s->points));

		for (int a = 0; a < 3; a++) l->dir[a][i] = r.dir[a];
		l->length[i] = r.length;
		l->g[i] = r.length > 0 ? r.normal / (r.length * r.length) : 0;
		if (s->energy) respond(l, i, s->scene, &r);
		sss_pieces(&l->first[i], &l->pieces[i], s, from, &r);
	}
	for (int64_t i = 0; i < n; i++) {
		l->at[i] = set->pieces;
		set->pieces += l->pieces[i];
	}
	return ISO_OK;
}

void sss_set_trace(const struct sss_set *set, const iso_ctx *ctx, const struct sss *s)
{
	const struct sss_legs *l = &set->legs;
	struct iso_clock clock = iso_clock_brief(ctx, "legs", "legs", set->detectors * s->points, NULL);

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t d = 0; d < set->detectors; d++) {
		for (int64_t p = 0, i = d * s->points; p < s->points; p++, i++) {
			const float *from = s->point[p].at;
			struct sss_ray r = sss_ray(s, from, set->place + 3 * d);

			l->q[i] = sss_density(s, from, &r);
			l->g[i] *= sss_exp(-s->mu * l->q[i]);
			sss_profile(set->profile + l->at[i], s, from, &r, l->first[i], l->pieces[i]);
		}
		iso_clock_add(&clock, s->points);
	}
	iso_clock_end(&clock);
}
