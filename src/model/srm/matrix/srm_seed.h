/* SPDX-License-Identifier: BSD-3-Clause */
/* One simulated voxel: from the pairs of photons of a decay to the keys of the elements that they
   count for. */
#ifndef ISO_SRM_SEED_H
#define ISO_SRM_SEED_H

#include "core/progress.h"
#include "physics/transport_kern.h"
#include "srm_matrix.h"

enum { SRM_OUTCOMES = 8 }; /* of a photon, at most */

/* Heads of 2 reach + 3 crystals with the voxel's cell in the middle: a crystal more to each side
   than any element has, so that the outermost still have neighbours to scatter to. */
struct srm_seed {
	struct srm_shape shape;
	int stays;             /* of its class */
	int image;             /* symmetry that carries its hits to the class */
	int middle[2];         /* number of its cell */
	float low[3], size[3]; /* mm: x, y, z */
	int outcomes;
	uint32_t stream;
};

ISO_HD void srm_point(float p[3], const struct srm_seed *s, struct philox w)
{
	for (int i = 0; i < 3; i++) p[i] = s->low[i] + s->size[i] * philox_unit(w.w[i]);
}

/* The element of a coincidence; false: no place in the scanner has it. */
ISO_HD bool srm_hit(uint64_t *key, const struct srm_seed *s, const struct transport_hit hit[2])
{
	struct srm_lor e = { { hit[0].x - s->middle[0], hit[0].z - s->middle[1] },
		             { hit[1].x - s->middle[0], hit[1].z - s->middle[1] },
		             hit[0].layer,
		             hit[1].layer };

	if (!srm_usable(&s->shape, e)) return false;
	*key = srm_canonical(&s->shape, s->stays, srm_image(e, s->image));
	return true;
}

/* Keys of a decay's elements, at most outcomes^2; `recorded` counts coincidences, usable or not. */
ISO_HD int srm_pair(uint64_t *key, uint64_t *recorded, const struct srm_seed *s, const struct transport *t,
                    uint64_t history)
{
	struct transport_hit hit[2];
	float point[3];

	srm_point(point, s, transport_draw(t, s->stream, history, 0));
	if (!transport_pair(hit, t, point, s->stream, history)) return 0;
	++*recorded;
	return srm_hit(key, s, hit);
}

/* The same with several outcomes of each photon on one line, all combined: the photons are
   independent given the line. */
ISO_HD int srm_pair_outcomes(uint64_t *key, uint64_t *recorded, const struct srm_seed *s,
                             const struct transport *t, uint64_t history)
{
	struct transport_track track[2][SRM_OUTCOMES];
	struct transport_line line;
	struct transport_hit hit[2];
	float point[3];
	int m = s->outcomes, n = 0;

	srm_point(point, s, transport_draw(t, s->stream, history, 0));
	if (!transport_line(&line, t, point, s->stream, history)) return 0;
	for (int i = 0; i < 2 * m; i++)
		transport_outcome(&track[i / m][i % m], t, &line, i / m, (uint32_t)(i % m), s->stream,
		                  history);
	for (int i = 0; i < m * m; i++) {
		if (!transport_combine(hit, t, &track[0][i / m], &track[1][i % m], (uint32_t)i, s->stream,
		                       history))
			continue;
		++*recorded;
		n += srm_hit(key + n, s, hit);
	}
	return n;
}

/* Voxel `image` (a symmetry) of class number `number`. */
ISO_C struct srm_seed iso_srm_seed(const iso_srm *m, int number, int image);

/* A round: pairs first ... first + n - 1 of every voxel, of which a rank simulates its share, voxel after voxel,
   into fresh counts of each class; `done` pairs were simulated before it, of those that the clock counts. */
struct srm_round {
	struct srm_counts *fresh;
	iso_ctx *ctx;
	const iso_srm *m;
	const struct transport *t;
	int64_t first, n;
	const struct iso_clock *clock;
	int64_t done;
};

/* Simulated voxel number i, over all classes in order: its class and its image. */
ISO_C void iso_srm_find_voxel(int *number, int *image, const iso_srm *m, int64_t i);

typedef int (*srm_round_fn)(const struct srm_round *r);
ISO_C int iso_srm_round(const struct srm_round *r);

#endif
