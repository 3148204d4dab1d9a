/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan of an image by a ring, by photons: decays drawn from its voxels, photons followed through the object, and what
   the crystals count of them.

   Histories are numbered by block and number in it, and each kind has histories of its own. A true is one decay, of which
   both photons are counted; a random joins a photon of one decay with one of another, so that randoms are a product of
   the crystals' rates. */
#ifndef ISO_PHOTON_SCAN_H
#define ISO_PHOTON_SCAN_H

#include "base/constants.h"
#include "physics/photon.h"
#include "scanner/cylinder_kern.h"

/* What a history is. Those of the pilot only tell rates; a single is one photon of a decay. */
enum photon_kind {
	PHOTON_TRUES,
	PHOTON_RANDOMS,
	PHOTON_DELAYED,
	PHOTON_PILOT_TRUES,
	PHOTON_PILOT_RANDOMS,
	PHOTON_PILOT_SINGLES,
};

#define PHOTON_KIND_SHIFT 60          /* of a history's number; below it the second decay of a random, */
#define PHOTON_SECOND (1ull << 59)    /* then 27 bits of the block, */
#define PHOTON_BLOCK_SHIFT 32         /* and 32 of the number in it */
#define PHOTON_RANDOM_ORDER UINT8_MAX /* in place of a number of scatters */

/* Plain data; pointers are of the device that follows the photons. */
struct photon_scan {
	struct photon_world w;
	struct cylinder ring;
	int32_t per_ring, min_distance, max_ring_difference; /* of pairs in coincidence */
	const float *seen; /* (PHOTON_ENERGIES): share of the photons of k keV that a crystal counts */
	const float *eff;  /* of each crystal, over the largest; NULL: all 1 */
	float sigma_ps;    /* 0: no times */
	float window_ps;   /* randoms: |dt| <= window */
};

/* Crystals in the order of the photons, scatters of both together, and the number of the history from the first. */
struct photon_event {
	uint32_t crystal[2];
	float dt_ps;
	uint32_t order, history;
};

#define PHOTON_NONE UINT32_MAX /* the order of a history without an event */

/* Whether a crystal counts a photon of this energy. */
ISO_HD bool photon_is_seen(const struct photon_scan *s, float kev, uint32_t word)
{
	int i = (int)kev < PHOTON_ENERGIES - 2 ? (int)kev : PHOTON_ENERGIES - 2;
	float share = kev - (float)i;

	return philox_unit(word) < s->seen[i] + share * (s->seen[i + 1] - s->seen[i]);
}

/* The crystal that counts photon h of a decay, which met the cylinder; its number, or -1. */
ISO_HD int64_t photon_count(const struct photon_end *e, const struct photon_scan *s,
                            const struct photon_decay *d, int h)
{
	struct philox own = philox_draw(s->w.seed, d->history, PHOTON_OWN + (uint32_t)h);

	if (!photon_is_seen(s, e->kev, own.w[0])) return -1;
	int64_t c = cylinder_crystal(&s->ring, (double)e->at[0], (double)e->at[1], (double)e->at[2]);

	return c >= 0 && (!s->eff || philox_unit(own.w[1]) < s->eff[c]) ? c : -1;
}

/* Photon h of a decay, from its place to a crystal that counts it; its number, or -1. */
ISO_HD int64_t photon_hit(struct photon_end *e, const struct photon_scan *s, const struct photon_decay *d,
                          int h)
{
	return photon_follow(e, &s->w, d, h, 0) ? photon_count(e, s, d, h) : -1;
}

ISO_HD bool photon_coincide(const struct photon_scan *s, int64_t a, int64_t b)
{
	int32_t rings = (int32_t)(a / s->per_ring - b / s->per_ring);
	int32_t apart = (int32_t)(a % s->per_ring - b % s->per_ring);

	apart = apart < 0 ? -apart : apart;
	apart = apart > s->per_ring - apart ? s->per_ring - apart : apart;
	return apart >= s->min_distance && (rings < 0 ? -rings : rings) <= s->max_ring_difference;
}

/* A history whose first photon is counted. */
struct photon_half {
	struct photon_decay decay;
	struct photon_end end;
	int32_t crystal;
};

/* The first photon of a history. false: nothing comes of it. */
ISO_HD bool photon_begin(struct photon_half *b, const struct photon_scan *s, uint64_t history)
{
	photon_decay(&b->decay, &s->w, history);
	b->crystal = (int32_t)photon_hit(&b->end, s, &b->decay, 0);
	return b->crystal >= 0;
}

ISO_HD uint64_t photon_history(enum photon_kind kind, int64_t block, int64_t i)
{
	return (uint64_t)kind << PHOTON_KIND_SHIFT | (uint64_t)block << PHOTON_BLOCK_SHIFT | (uint64_t)i;
}

ISO_HD enum photon_kind photon_kind_of(uint64_t history)
{
	return (enum photon_kind)(history >> PHOTON_KIND_SHIFT);
}

/* Whether a history joins photons of two decays. */
ISO_HD bool photon_joins(uint64_t history)
{
	enum photon_kind kind = photon_kind_of(history);

	return kind == PHOTON_RANDOMS || kind == PHOTON_DELAYED || kind == PHOTON_PILOT_RANDOMS;
}

/* The event of two photons p and q, which crystals a and b counted. false: they are not in coincidence. */
ISO_HD bool photon_pair_up(struct photon_event *e, const struct photon_scan *s, uint64_t history,
                           const struct photon_end *p, int64_t a, const struct photon_end *q, int64_t b)
{
	bool random = photon_joins(history);

	if (!photon_coincide(s, a, b)) return false;
	uint32_t order = (uint32_t)p->compton + p->rayleigh + q->compton + q->rayleigh;
	struct philox w = philox_draw(s->w.seed, history, PHOTON_OWN + 2);
	float g[2];

	e->crystal[0] = (uint32_t)a;
	e->crystal[1] = (uint32_t)b;
	e->order = random                        ? PHOTON_RANDOM_ORDER
	           : order < PHOTON_RANDOM_ORDER ? order
	                                         : PHOTON_RANDOM_ORDER - 1;
	photon_gauss(g, w.w[0], w.w[1]);
	e->dt_ps = random ? (2 * philox_unit(w.w[2]) - 1) * s->window_ps
	                  : (p->way - q->way) * (float)(1 / ISO_C_MM_PER_PS) + s->sigma_ps * g[0];
	if (!(s->sigma_ps > 0)) e->dt_ps = 0;
	return true;
}

/* The second photon: of the same decay, or of a random the first of another. false: no event. */
ISO_HD bool photon_finish(struct photon_event *e, const struct photon_scan *s, const struct photon_half *b)
{
	uint64_t history = b->decay.history;
	bool random = photon_joins(history);
	struct photon_decay d = b->decay;
	struct photon_end end;

	if (photon_kind_of(history) == PHOTON_PILOT_SINGLES) return true;
	if (random) photon_decay(&d, &s->w, history | PHOTON_SECOND);
	int64_t c = photon_hit(&end, s, &d, random ? 0 : 1);

	return c >= 0 && photon_pair_up(e, s, history, &b->end, b->crystal, &end, c);
}

/* One history. true: it has an event; of a single, nothing but that. */
ISO_HD bool photon_run(struct photon_event *e, const struct photon_scan *s, uint64_t history)
{
	struct photon_half b;

	return photon_begin(&b, s, history) && photon_finish(e, s, &b);
}

/* ---- on the host ---- */

enum { PHOTON_PIECE = 1 << 23 }; /* histories of one call, at most */

struct iso_photon_scan {
	struct photon_scan device; /* with pointers of the context's device */
	iso_ctx *ctx;
	struct iso_room room;
	struct photon_event *made,
		*kept; /* CUDA: PHOTON_PIECE of them on the device, for those in the making */
};

/* Checks what p, with `physics`, says of object, ring and energies; `window_ps` is that of randoms. */
ISO_C int iso_photon_scan_create(struct iso_photon_scan *scan, iso_ctx *ctx, const struct iso_simulate *p,
                                 double window_ps);
ISO_C void iso_photon_scan_free(struct iso_photon_scan *scan);

/* Events of the histories first to first + n - 1 of each of `blocks` blocks from `block` on, in that order; their number
   `history` is n times the block, from the first, plus that from `first`. `e` has room for them all. */
ISO_C int iso_photon_scan_events(struct photon_event *e, int64_t *found, const struct iso_photon_scan *scan,
                                 enum photon_kind kind, int64_t block, int64_t blocks, int64_t first,
                                 int64_t n);

/* How many of n histories of the pilot have an event; ISO_EINPUT if none has. */
ISO_C int iso_photon_scan_pilot(double *share, const struct iso_photon_scan *scan, enum photon_kind kind,
                                int64_t n);

struct iso_hit; /* of photon_history.h */

/* Hits of one block: histories 0, 1, ... until `want` of them have an event or `limit` ran. */
struct photon_hits {
	int64_t block, want, limit;
	int64_t histories; /* that ran */
	struct iso_hit *v;
	double *time; /* s, of each hit of an object that moves; NULL: hits come at any time of the block */
	int64_t n, room;
};

/* On the CPU, by the calling thread, and again where it left off: at most `more` histories. false: there is no memory. */
bool iso_photon_hits_run(struct photon_hits *h, const struct iso_photon_scan *scan, enum photon_kind kind,
                         int64_t more);

/* Events of histories, so far. It changes the time that blocks take, nothing else. */
struct photon_yield {
	double events, histories;
};

/* Events of histories first to first + n - 1 of each of `blocks` blocks from `block` on, by a device: as
   iso_photon_scan_events and iso_history_scan_events say. */
typedef int (*photon_events_fn)(struct photon_event *e, int64_t *found, const void *scan, int kind,
                                int64_t block, int64_t blocks, int64_t first, int64_t n);

/* n blocks, whose numbers follow each other, at once, to their ends. ISO_EINPUT where `hopeless` histories of a block
   gave no event. */
int iso_photon_hits_device(struct photon_hits *h, int n, photon_events_fn events, const void *scan, int kind,
                           struct photon_yield *y, int64_t hopeless);

#endif
