/* SPDX-License-Identifier: BSD-3-Clause */
/* What tissue does to delays, on CUDA: a point of a transducer as seen from a brick of voxels. Straight rays through a
   shape are a quadratic of the place in the brick, in float, whose coefficients are made in double. Any other ray is
   computed in double. */
#ifndef ISO_TISSUE_VIEW_CUH
#define ISO_TISSUE_VIEW_CUH

#include "core/cuda.cuh"
#include "tissue_delays.h"

/* Constant over a brick: where its middle is, and the square of a place o in it, |wr o|^2, as o.M.o. */
struct tissue_brick {
	double middle[3];
	float xx, yy, zz, xy, xz, yz;
};

/* Of a point at `at` of transducer q: A = a0 + a1 o + o.M.o, B = b0 + b1 o; C of sound_crossings, or how far it is above a
   plane, and b0 + b1 o how far a voxel is. */
struct tissue_view {
	float a0, b0, c, a1[3], b1[3];
	double at[3];
	int q;
};

static __device__ struct tissue_brick tissue_brick(const struct sound &m, const double middle[3])
{
	struct tissue_brick b;
	const double *w = m.wr;

	for (int a = 0; a < 3; a++) b.middle[a] = middle[a];
#define SQUARE(i, j) (float)(w[i] * w[j] + w[3 + i] * w[3 + j] + w[6 + i] * w[6 + j])
	b.xx = SQUARE(0, 0);
	b.yy = SQUARE(1, 1);
	b.zz = SQUARE(2, 2);
	b.xy = 2 * SQUARE(0, 1);
	b.xz = 2 * SQUARE(0, 2);
	b.yz = 2 * SQUARE(1, 2);
#undef SQUARE
	return b;
}

static __device__ struct tissue_view tissue_view(const struct sound &m, const struct tissue_brick &b,
                                                 int64_t q, const double at[3])
{
	struct tissue_view v = {};
	double e[3], g[3];

	v.q = (int)q;
	for (int a = 0; a < 3; a++) v.at[a] = at[a];
	if (m.shape == ISO_TISSUE_PLANE) {
		v.c = (float)(sound_dot(m.normal, at) - m.offset);
		v.b0 = (float)(sound_dot(m.normal, b.middle) - m.offset);
		for (int a = 0; a < 3; a++) v.b1[a] = (float)m.normal[a];
		return v;
	}
	sound_scaled(e, &m, at, m.centre);
	sound_scaled(g, &m, b.middle, at);
	v.a0 = (float)sound_dot(g, g);
	v.b0 = (float)sound_dot(e, g);
	v.c = (float)(sound_dot(e, e) - 1);
	for (int a = 0; a < 3; a++) {
		v.a1[a] = (float)(2 * (g[0] * m.wr[a] + g[1] * m.wr[3 + a] + g[2] * m.wr[6 + a]));
		v.b1[a] = (float)(e[0] * m.wr[a] + e[1] * m.wr[3 + a] + e[2] * m.wr[6 + a]);
	}
	return v;
}

static __device__ __forceinline__ float tissue_part(float u)
{
	return __saturatef(u);
}

/* A ray that is no straight one through a shape. Not inline: its registers would slow down those that are. */
static __device__ __noinline__ float tissue_other(float *loud, const struct sound *m,
                                                  const struct tissue_brick *b, const struct tissue_view *v,
                                                  const double *apex, float ox, float oy, float oz)
{
	const double r[3] = { b->middle[0] + ox, b->middle[1] + oy, b->middle[2] + oz };
	double by, late = sound_late(&by, m, v->q, apex + 3 * (int64_t)v->q, v->at, r);

	*loud = (float)by;
	return (float)late;
}

/* Late, us, of the voxel at o from the brick's middle, at distance d; *loud is times the amplitude. `apex`: where the
   transducers stand, (n, 3). */
static __device__ __forceinline__ float tissue_late(float *loud, const struct sound &m,
                                                    const struct tissue_brick &b, const struct tissue_view &v,
                                                    const double *apex, float ox, float oy, float oz, float d)
{
	if (m.table || m.path == ISO_SOUND_SNELL) {
		float by, late = tissue_other(&by, &m, &b, &v, apex, ox, oy, oz);

		*loud *= by;
		return late;
	}
	float bb = fmaf(v.b1[2], oz, fmaf(v.b1[1], oy, fmaf(v.b1[0], ox, v.b0))), more = (float)m.more;

	if (m.shape == ISO_TISSUE_PLANE) {
		if (v.c < 0 && bb < 0) return more * d;
		if (v.c >= 0 && bb >= 0) return 0;
		return more * d * __fdividef(bb < 0 ? bb : v.c, bb < 0 ? bb - v.c : v.c - bb);
	}
	float square = fmaf(ox, fmaf(b.xx, ox, fmaf(b.xy, oy, b.xz * oz)),
	                    fmaf(oy, fmaf(b.yy, oy, b.yz * oz), b.zz * oz * oz));
	float aa = v.a0 + fmaf(v.a1[0], ox, fmaf(v.a1[1], oy, fmaf(v.a1[2], oz, square)));
	float disc = fmaf(bb, bb, -aa * v.c), root = sqrtf(fmaxf(disc, 0)),
	      over = __fdividef(1, fmaxf(aa, 1e-30f));
	float in = tissue_part(-(bb + root) * over), out = tissue_part((root - bb) * over);

	if (!(aa > 1e-12f)) return v.c < 0 ? more * d : 0;
	return more * d * (disc > 0 ? out - in : 0);
}

/* The tables of a medium to the device. */
static inline void tissue_upload(struct iso_room *room, struct sound *m, const struct iso_delays *d)
{
	int64_t nodes = m->nodes[0] * m->nodes[1] * m->nodes[2];

	ISO_UPLOAD(room, m->ratio, d->m.ratio, iso_grid_voxels(&d->grid));
	if (m->image) ISO_UPLOAD(room, m->image, d->m.image, m->image_n[0] * m->image_n[1] * m->image_n[2]);
	if (m->table) ISO_UPLOAD(room, m->table, d->m.table, d->n * nodes);
}

#endif
