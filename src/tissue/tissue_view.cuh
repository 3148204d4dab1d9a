/* SPDX-License-Identifier: BSD-3-Clause */
/* What tissue does to delays, on CUDA: a point of a transducer as seen from a brick of voxels, in float, whose coefficients
   are made in double. Straight rays through a shape are a quadratic of the place in the brick. Kernels are made for each
   kind, since what the others need would slow down straight rays. */
#ifndef ISO_TISSUE_VIEW_CUH
#define ISO_TISSUE_VIEW_CUH

#include "bend_kern.h"
#include "core/cuda.cuh"
#include "tissue_delays.h"

enum tissue_kind { TISSUE_NONE, TISSUE_STRAIGHT, TISSUE_OTHER, TISSUE_KINDS };

static inline enum tissue_kind tissue_kind_of(const iso_delays *d)
{
	if (!d) return TISSUE_NONE;
	return d->m.table || d->m.path == ISO_SOUND_SNELL ? TISSUE_OTHER : TISSUE_STRAIGHT;
}

/* Constant over a brick. Of straight rays: the square of a place o in it, |wr o|^2, as o.M.o. */
struct tissue_brick {
	double middle[3];
	float more, xx, yy, zz, xy, xz, yz;
	struct bend bend;
	struct bend_place place;
	float node[3], nodes_per_mm; /* of tables: where the middle is */
};

/* Of a point of transducer q: A = a0 + a1 o + o.M.o, B = b0 + b1 o; C of sound_crossings, or how far it is above a plane,
   and b0 + b1 o how far a voxel is. */
struct tissue_view {
	float a0, b0, c, a1[3], b1[3];
	struct bend_view bend;
	int q;
};

static __device__ struct tissue_brick tissue_brick(const struct sound &m, const double middle[3])
{
	struct tissue_brick b = {};
	const double *w = m.wr;

	for (int a = 0; a < 3; a++) b.middle[a] = middle[a];
	b.more = (float)m.more;
	if (m.table) {
		b.nodes_per_mm = (float)(1 / m.h);
		for (int a = 0; a < 3; a++) b.node[a] = (float)((middle[a] - m.node_first[a]) / m.h);
		return b;
	}
#define SQUARE(i, j) (float)(w[i] * w[j] + w[3 + i] * w[3 + j] + w[6 + i] * w[6 + j])
	b.xx = SQUARE(0, 0);
	b.yy = SQUARE(1, 1);
	b.zz = SQUARE(2, 2);
	b.xy = 2 * SQUARE(0, 1);
	b.xz = 2 * SQUARE(0, 2);
	b.yz = 2 * SQUARE(1, 2);
#undef SQUARE
	if (m.path == ISO_SOUND_SNELL) {
		b.bend = bend_of(&m);
		b.place = bend_place(&m, middle);
	}
	return b;
}

/* `at`: the point; apex: where its transducer stands. */
static __device__ struct tissue_view tissue_view(const struct sound &m, const struct tissue_brick &b,
                                                 int64_t q, const double apex[3], const double at[3])
{
	struct tissue_view v = {};
	double e[3], g[3];

	v.q = (int)q;
	if (m.table) return v;
	if (m.path == ISO_SOUND_SNELL) v.bend = bend_view(&m, m.across < 0 ? at : apex, b.middle);
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

/* Along a row of voxels in x, y or z: A and B by the place in it. */
struct tissue_line {
	float a0, a1, a2, b0, b1;
};

/* The row through o, whose own coordinate is 0. */
template <int AXIS>
static __device__ __forceinline__ struct tissue_line tissue_line(const struct tissue_brick &b,
                                                                 const struct tissue_view &v, float ox,
                                                                 float oy, float oz)
{
	float x = v.a1[0] + fmaf(b.xy, oy, b.xz * oz), y = v.a1[1] + fmaf(b.xy, ox, b.yz * oz),
	      z = v.a1[2] + fmaf(b.xz, ox, b.yz * oy);
	float square = fmaf(ox, fmaf(b.xx, ox, v.a1[0]),
	                    fmaf(oy, fmaf(b.yy, oy, v.a1[1]), oz * fmaf(b.zz, oz, v.a1[2])));
	float cross = fmaf(ox, fmaf(b.xy, oy, b.xz * oz), b.yz * oy * oz);

	return { v.a0 + square + cross,
		 AXIS == 0   ? x
		 : AXIS == 1 ? y
		             : z,
		 AXIS == 0   ? b.xx
		 : AXIS == 1 ? b.yy
		             : b.zz,
		 fmaf(v.b1[2], oz, fmaf(v.b1[1], oy, fmaf(v.b1[0], ox, v.b0))), v.b1[AXIS] };
}

/* Of the voxel at o of a line. A ray that misses has no root, and comes in where it goes out. */
static __device__ __forceinline__ float tissue_straight(const struct sound &m, const struct tissue_brick &b,
                                                        const struct tissue_view &v,
                                                        const struct tissue_line &line, float o, float d)
{
	float bb = fmaf(line.b1, o, line.b0);

	if (m.shape == ISO_TISSUE_PLANE) {
		if (v.c < 0 && bb < 0) return b.more * d;
		if (v.c >= 0 && bb >= 0) return 0;
		return b.more * d * __fdividef(bb < 0 ? bb : v.c, bb < 0 ? bb - v.c : v.c - bb);
	}
	float aa = fmaxf(fmaf(o, fmaf(line.a2, o, line.a1), line.a0), 1e-12f);
	float disc = fmaxf(fmaf(bb, bb, -aa * v.c), 1e-30f), root = disc * iso_over_root(disc),
	      over = iso_over(aa);
	float in = tissue_part((-root - bb) * over), out = tissue_part((root - bb) * over);

	return b.more * d * (out - in);
}

/* Along an axis of a table: the node below a place, and the place between it and the next; an axis of one node has
   no next. */
static __device__ __forceinline__ int64_t tissue_node(float *part, int64_t *next, float at, int64_t nodes,
                                                      int64_t step)
{
	float x = fmaxf(at, 0);
	int last = (int)nodes - 2, low = min((int)x, last);

	*part = nodes > 1 ? fminf(x - (float)low, 1) : 0;
	*next = nodes > 1 ? step : 0;
	return nodes > 1 ? low * step : 0;
}

static __device__ __forceinline__ float tissue_table(const struct sound &m, const struct tissue_brick &b,
                                                     int q, float ox, float oy, float oz)
{
	const int64_t row = m.nodes[0], plane = row * m.nodes[1];
	const int16_t *v = m.table + q * plane * m.nodes[2];
	int64_t nx, ny, nz;
	float fx, fy, fz;

	v += tissue_node(&fx, &nx, fmaf(ox, b.nodes_per_mm, b.node[0]), m.nodes[0], 1);
	v += tissue_node(&fy, &ny, fmaf(oy, b.nodes_per_mm, b.node[1]), m.nodes[1], row);
	v += tissue_node(&fz, &nz, fmaf(oz, b.nodes_per_mm, b.node[2]), m.nodes[2], plane);
#define ALONG(at) fmaf(fx, (float)(__ldg((at) + nx) - __ldg(at)), (float)__ldg(at))
	float low = ALONG(v), below = ALONG(v + ny), high = ALONG(v + nz), above = ALONG(v + ny + nz);
#undef ALONG
	low = fmaf(fy, below - low, low);
	high = fmaf(fy, above - high, high);
	return fmaf(fz, high - low, low) * (float)m.unit;
}

/* Late, us, of the voxel at (ox, oy, oz) from the brick's middle, o along its line, at distance d; *loud is times the
   amplitude. It never leaves the bounds that windows and traces are made for. */
template <int KIND>
static __device__ __forceinline__ float tissue_late(float *loud, const struct sound &m,
                                                    const struct tissue_brick &b, const struct tissue_view &v,
                                                    const struct tissue_line &line, float o, float ox,
                                                    float oy, float oz, float d)
{
	float late;

	if (KIND == TISSUE_STRAIGHT) return tissue_straight(m, b, v, line, o, d);
	if (m.table)
		late = tissue_table(m, b, v.q, ox, oy, oz);
	else
		late = tissue_straight(m, b, v, line, o, d) +
		       bend_sooner(loud, &b.bend, &b.place, &v.bend, ox, oy, oz, d * d);
	return fminf(fmaxf(late, (float)m.least), (float)m.most);
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
