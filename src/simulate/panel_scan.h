/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan of an image by two panels: decays drawn from its voxels, photons followed, crystals hit.

   Streams from PANEL_STREAMS on are those of scans, so that a scan never sees the random numbers of
   a matrix. A true coincidence is one decay; a random one joins the upper hit of one decay with the
   lower hit of another, so randoms are a product of the crystals' rates. */
#ifndef ISO_PANEL_SCAN_H
#define ISO_PANEL_SCAN_H

#include "physics/emission.h"
#include "physics/photon.h"
#include "physics/transport.h"

#define PANEL_STREAMS 0x80000000u

/* Streams of events, each with the next one for lower hits. Delayeds are like randoms, independent of them;
   those of the pilot are trues that only tell rates, of both heads or, of the same decays, of one. */
enum panel_kind {
	PANEL_TRUES = 0,
	PANEL_RANDOMS = 2,
	PANEL_DELAYED = 4,
	PANEL_PILOT = 6,
	PANEL_PILOT_UPPER = 16,
	PANEL_PILOT_LOWER = 17,
};

enum { PANEL_TRIES = 1 << 16 }; /* decays for one hit of a random, at most */

struct panel_scan {
	struct transport t;
	int crystals[2];                      /* x, z of a head */
	const struct iso_emission_slot *slot; /* of each voxel, on the device of the scan */
	uint64_t voxels;
	uint32_t n[2];          /* voxels along x and y */
	float low[3], voxel[3]; /* mm */
	bool through;           /* photons go through `object` before they meet the heads */
	struct photon_world object;
};

/* Crystals of the two heads, each (layer Ncx + x) Ncz + z, the decay, from the first asked for, and scatters of both
   photons in the object. */
struct panel_event {
	uint32_t upper, lower, decay, order;
};

/* Where an object that moves is: x' = R x + T in the axes of the panels, row by row as in struct iso_pose. */
struct panel_pose {
	float m[12];
};

/* y = R x + T, with `turn` R x alone; y may be x. */
ISO_HD void panel_move(float y[3], const struct panel_pose *z, const float x[3], bool turn)
{
	const float v[3] = { x[0], x[1], x[2] };

	for (int a = 0; a < 3; a++) {
		const float *r = z->m + 4 * a;

		y[a] = r[0] * v[0] + r[1] * v[1] + r[2] * v[2] + (turn ? 0 : r[3]);
	}
}

/* y = R^t (x - T), with `turn` R^t x. */
ISO_HD void panel_move_back(float y[3], const struct panel_pose *z, const float x[3], bool turn)
{
	float v[3];

	for (int a = 0; a < 3; a++) v[a] = x[a] - (turn ? 0 : z->m[4 * a + 3]);
	for (int a = 0; a < 3; a++) y[a] = z->m[a] * v[0] + z->m[4 + a] * v[1] + z->m[8 + a] * v[2];
}

#define PANEL_NONE UINT32_MAX /* the decay of an event that is none */

/* Where a decay is. */
ISO_HD void panel_point(float p[3], const struct panel_scan *s, uint32_t stream, uint64_t history)
{
	struct philox w = transport_draw(&s->t, stream, history, 0);
	uint32_t i = emission_voxel(s->slot, s->voxels, (uint64_t)w.w[0] << 32 | w.w[1], NULL);
	uint32_t row = i / s->n[0], at[3] = { i % s->n[0], row % s->n[1], row / s->n[1] };
	uint64_t bits = (uint64_t)w.w[2] << 32 | w.w[3];

	for (int a = 0; a < 3; a++, bits >>= 21) /* 21 bits an axis */
		p[a] = s->low[a] + s->voxel[a] * ((float)at[a] + ((float)(bits & 0x1fffff) + .5f) * 0x1p-21f);
}

ISO_HD uint32_t panel_crystal(const struct panel_scan *s, const struct transport_hit *h)
{
	return (uint32_t)((h->layer * s->crystals[0] + h->x) * s->crystals[1] + h->z);
}

/* Photon i from p along d, which is away from the object, through the object and on to a head; scatters on the way are
   added to *order. z: where the object is; NULL: at rest. */
ISO_HD bool panel_through(struct transport_line *l, uint32_t *order, const struct panel_scan *s,
                          const struct panel_pose *z, int i, const float p[3], const float d[3],
                          uint32_t stream, uint64_t history)
{
	struct philox w = transport_draw(&s->t, stream, history, TRANSPORT_OBJECT);
	float along = i ? -1.f : 1.f, dir[3], away[3]; /* photon 1 flies against the decay's direction */
	struct photon_decay decay = { (uint64_t)(stream - PANEL_STREAMS) << 58 | history,
		                      { p[0], p[1], p[2] },
		                      { along * d[0], d[1], along * d[2] },
		                      { w.w[0], w.w[1] } };
	struct photon_end e;

	if (z) panel_move_back(decay.at, z, decay.at, false);
	if (z) panel_move_back(decay.dir, z, decay.dir, true);
	if (!photon_leave(&e, dir, &s->object, &decay, i, 0)) return false;
	if (z) panel_move(e.at, z, e.at, false);
	if (z) panel_move(dir, z, dir, true);
	*order += (uint32_t)e.compton + e.rayleigh;
	l->kev[i] = e.compton > 0 ? e.kev : 511;
	away[0] = dir[0];
	away[1] = fabsf(dir[1]);
	away[2] = dir[2];
	return transport_reach(l, &s->t, i, dir[1] < 0, e.at, away);
}

/* The photons of a decay at a point in the panels' axes, as they reach the heads. false: neither does. */
ISO_HD bool panel_line(struct transport_line *l, uint32_t *order, const struct panel_scan *s,
                       const struct panel_pose *z, const float point[3], uint32_t stream, uint64_t history)
{
	float p[3], d[2][3];

	*order = 0;
	if (!s->through) return transport_line(l, &s->t, point, stream, history);
	if (!transport_aim(l, p, d[0], d[1], &s->t, point, stream, history)) return false;
	for (int i = 0; i < 2; i++) l->reach[i] = panel_through(l, order, s, z, i, p, d[i], stream, history);
	return l->reach[0] || l->reach[1];
}

/* One decay, of an object at z. true: a coincidence. */
ISO_HD bool panel_true(struct panel_event *e, const struct panel_scan *s, const struct panel_pose *z,
                       uint32_t stream, uint64_t history)
{
	struct transport_track k[2];
	struct transport_line l;
	struct transport_hit hit[2];
	float point[3];

	panel_point(point, s, stream, history);
	if (z) panel_move(point, z, point, false);
	if (!panel_line(&l, &e->order, s, z, point, stream, history) ||
	    !transport_tracks_of(k, &s->t, &l, stream, history) ||
	    !transport_combine(hit, &s->t, k, k + 1, 0, stream, history))
		return false;
	e->upper = panel_crystal(s, hit);
	e->lower = panel_crystal(s, hit + 1);
	return true;
}

/* The hit of head h by one decay. */
ISO_HD bool panel_single(uint32_t *crystal, const struct panel_scan *s, int h, uint32_t stream,
                         uint64_t history)
{
	struct transport_line l;
	struct transport_hit hit;
	uint32_t order;
	float point[3];

	panel_point(point, s, stream, history);
	if (!panel_line(&l, &order, s, NULL, point, stream, history) ||
	    !transport_single(&hit, &s->t, &l, h, stream, history))
		return false;
	*crystal = panel_crystal(s, &hit);
	return true;
}

/* Random coincidence number i. false: the heads hardly ever see a decay. */
ISO_HD bool panel_random(struct panel_event *e, const struct panel_scan *s, uint32_t stream, uint64_t i)
{
	uint32_t crystal[2] = { 0, 0 };

	for (int h = 0; h < 2; h++) {
		uint64_t k = 0;

		while (k < PANEL_TRIES &&
		       !panel_single(crystal + h, s, h, stream + (uint32_t)h, i * PANEL_TRIES + k))
			k++;
		if (k == PANEL_TRIES) return false;
	}
	e->upper = crystal[0];
	e->lower = crystal[1];
	e->order = ISO_ORDER_RANDOM;
	return true;
}

ISO_HD bool panel_is_random(enum panel_kind kind)
{
	return kind == PANEL_RANDOMS || kind == PANEL_DELAYED;
}

ISO_HD bool panel_make_event(struct panel_event *e, const struct panel_scan *s, enum panel_kind kind,
                             uint64_t i)
{
	uint32_t stream = PANEL_STREAMS + (uint32_t)kind;

	if (kind >= PANEL_PILOT_UPPER)
		return panel_single(&e->upper, s, kind - PANEL_PILOT_UPPER, PANEL_STREAMS + PANEL_PILOT, i);
	return panel_is_random(kind) ? panel_random(e, s, stream, i) : panel_true(e, s, NULL, stream, i);
}

/* ---- on the host ---- */

struct iso_panel_turn;

struct iso_panel_scan {
	struct panel_scan host, device; /* alike but for where their tables are */
	struct iso_emission emission;
	iso_ctx *ctx;
	struct iso_room room;              /* has tables of both */
	const struct iso_panel_turn *turn; /* of trues and their pilot; NULL: all is at rest; borrowed */
};

/* `activity`, on a grid, is copied. o->extended must be 0. mu: of the object that photons go through, 1/mm, on a grid of its
   own; NULL: none. */
ISO_C int iso_panel_scan_create(struct iso_panel_scan *scan, iso_ctx *ctx, const struct iso_panels *p,
                                const struct iso_transport_options *o, const struct iso_array *activity,
                                const struct iso_array *mu, bool rayleigh);
ISO_C void iso_panel_scan_free(struct iso_panel_scan *scan);

/* Events of decays (or randoms) first to first + n - 1, n < 2^32, in the order of their numbers; `e` has room for n. On
   each rank all of them, of which it simulated its share. */
ISO_C int iso_panel_scan_events(struct panel_event *e, int64_t *found, const struct iso_panel_scan *scan,
                                enum panel_kind kind, int64_t first, int64_t n);

/* Shares of the decays that hit the upper head, the lower one, and both, from n decays. */
ISO_C int iso_panel_scan_rates(double rate[3], const struct iso_panel_scan *scan, int64_t n);

#endif
