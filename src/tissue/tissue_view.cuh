/* SPDX-License-Identifier: BSD-3-Clause */
/* What tissue does to delays, on CUDA: a point of a transducer as seen from a brick of voxels, in float, whose coefficients
   are made in double. Kernels are made for each kind, since what the others need would slow down the simple ones. */
#ifndef ISO_TISSUE_VIEW_CUH
#define ISO_TISSUE_VIEW_CUH

#include "bend_kern.h"
#include "core/cuda.cuh"
#include "tissue_delays.h"

/* Straight rays through a ball and other shapes; bent at a ball and otherwise; tables. */
enum tissue_kind {
	TISSUE_NONE,
	TISSUE_BALL,
	TISSUE_SHAPE,
	TISSUE_BENT_BALL,
	TISSUE_BENT,
	TISSUE_TABLE,
	TISSUE_KINDS
};

static inline enum tissue_kind tissue_kind_of(const iso_delays *d)
{
	if (!d) return TISSUE_NONE;
	bool ball = d->m.radius > 0 && d->m.across < 0, bent = d->m.path == ISO_SOUND_SNELL;

	if (d->m.table) return TISSUE_TABLE;
	if (bent) return ball && !d->m.spread ? TISSUE_BENT_BALL : TISSUE_BENT;
	return ball ? TISSUE_BALL : TISSUE_SHAPE;
}

/* Of a kind of tissue: straight rays through a ball are simplest, in mm. */
static __device__ constexpr bool tissue_in_mm(int kind)
{
	return kind == TISSUE_BALL || kind == TISSUE_BENT_BALL;
}

/* Constant over a brick. Of straight rays: the square of a place o in it, |wr o|^2, as o.M.o. */
struct tissue_brick {
	double middle[3];
	float more, least, most, xx, yy, zz, xy, xz, yz;
	struct bend bend;
	struct bend_place place;
	float node[3], nodes_per_mm, unit; /* of tables: where the middle is */
};

/* Of a point of transducer q: A = a0 + a1 o + o.M.o, B = b0 + b1 o and C of sound_crossings, of a ball all times the square
   of its radius; or c, how far the point is above a plane, and b0 + b1 o how far a voxel is. */
struct tissue_view {
	float a0, b0, c, a1[3], b1[3];
	struct bend_view bend;
	int q;
};

template <int KIND>
static __device__ struct tissue_brick tissue_brick(const struct sound &m, const double middle[3])
{
	struct tissue_brick b = {};
	const double *w = m.wr;

	for (int a = 0; a < 3; a++) b.middle[a] = middle[a];
	b.more = (float)m.more;
	b.least = (float)m.least;
	b.most = (float)m.most;
	if (KIND == TISSUE_TABLE) {
		b.unit = (float)m.unit;
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
	if (KIND == TISSUE_BENT_BALL || KIND == TISSUE_BENT) {
		b.bend = bend_of(&m);
		b.place = bend_place(&m, middle);
	}
	return b;
}

/* `at`: the point; apex: where its transducer stands. */
template <int KIND>
static __device__ struct tissue_view tissue_view(const struct sound &m, const struct tissue_brick &b,
                                                 int64_t q, const double apex[3], const double at[3])
{
	struct tissue_view v = {};
	double e[3], g[3];

	v.q = (int)q;
	if (KIND == TISSUE_TABLE) return v;
	if (KIND == TISSUE_BENT_BALL || KIND == TISSUE_BENT)
		v.bend = bend_view(&m, m.across < 0 ? at : apex, b.middle);
	if (tissue_in_mm(KIND)) {
		for (int a = 0; a < 3; a++) {
			e[a] = at[a] - m.centre[a];
			g[a] = b.middle[a] - at[a];
			v.b1[a] = (float)e[a];
		}
		v.b0 = (float)sound_dot(e, g);
		v.c = (float)(sound_dot(e, e) - m.radius * m.radius);
		return v;
	}
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

/* Along a row of voxels in x, y or z, by the place in it: A and B; of tables the values at the nodes beside it, between those
   of the other two axes, and the place from the first node. `spans`: the row has no more nodes. */
enum { TISSUE_NODES = 5 };

struct tissue_line {
	float a0, a1, a2, b0, b1;
	float node[TISSUE_NODES], first;
	bool spans;
};

static __device__ __forceinline__ float tissue_b(const struct tissue_view &v, float ox, float oy, float oz)
{
	return fmaf(v.b1[2], oz, fmaf(v.b1[1], oy, fmaf(v.b1[0], ox, v.b0)));
}

/* The quadratic along a row through o. */
template <int AXIS>
static __device__ __forceinline__ void tissue_square(struct tissue_line *line, const struct tissue_brick &b,
                                                     const struct tissue_view &v, float ox, float oy,
                                                     float oz)
{
	float x = v.a1[0] + fmaf(b.xy, oy, b.xz * oz), y = v.a1[1] + fmaf(b.xy, ox, b.yz * oz),
	      z = v.a1[2] + fmaf(b.xz, ox, b.yz * oy);
	float square = fmaf(ox, fmaf(b.xx, ox, v.a1[0]),
	                    fmaf(oy, fmaf(b.yy, oy, v.a1[1]), oz * fmaf(b.zz, oz, v.a1[2])));
	float cross = fmaf(ox, fmaf(b.xy, oy, b.xz * oz), b.yz * oy * oz);

	line->a0 = v.a0 + square + cross;
	line->a1 = AXIS == 0 ? x : AXIS == 1 ? y : z;
	line->a2 = AXIS == 0 ? b.xx : AXIS == 1 ? b.yy : b.zz;
}

/* ---- straight rays ---- */

/* Where a ray goes into a shape and out of it, 0 to 1, and half of what it goes through. A ray that misses has no root, and
   comes in where it goes out. */
struct tissue_chord {
	float in, out, root;
};

static __device__ __forceinline__ struct tissue_chord tissue_chord(float aa, float over_a, float bb, float c)
{
	float disc = fmaxf(fmaf(bb, bb, -aa * c), 1e-30f), root = disc * iso_over_root(disc);

	return { __saturatef((-root - bb) * over_a), __saturatef((root - bb) * over_a), root };
}

/* Of the voxel at o of a line, at distance d, whose square is dd. */
static __device__ __forceinline__ float tissue_shape(const struct sound &m, const struct tissue_brick &b,
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
	struct tissue_chord u = tissue_chord(aa, iso_over(aa), bb, v.c);

	return b.more * d * (u.out - u.in);
}

/* ---- bent rays ---- */

/* Kept out of the loops that are unrolled: few rays need it. */
static __device__ __noinline__ float tissue_newton(const struct bend &k, const struct bend_place &p,
                                                   const struct bend_view &v, float ox, float oy, float oz,
                                                   float dd)
{
	float unused = 1;

	return bend_sooner(&unused, &k, &p, &v, ox, oy, oz, dd);
}

/* A ray to a voxel in a ball, from outside: by the series, or by Newton's method. The voxel is in the ball where
   |e + g|^2 = dd + 2 e.g + e.e is below the square of its radius. */
static __device__ __forceinline__ float tissue_bent(const struct tissue_brick &b, const struct tissue_view &v,
                                                    const struct tissue_chord &u, float bb, float ox,
                                                    float oy, float oz, float dd, float over_d, float d)
{
	float h = u.root * over_d, l0 = u.in * d;

	if (!(v.c > 0) || !(fmaf(2, bb, dd) < -v.c)) return 0;
	if (h * h > b.bend.steep) return -bend_gain(&b.bend, l0, fmaxf(d - l0, (float)BEND_NEAR), h);
	return tissue_newton(b.bend, b.place, v.bend, ox, oy, oz, dd);
}

/* ---- tables ---- */

/* Whole numbers of 16 bits as the last digits of 2^23: quicker than a conversion. They are SHIFT too great. */
#define TISSUE_SHIFT 8421376.f

static __device__ __forceinline__ float tissue_shifted(const int16_t *at)
{
	return __int_as_float(0x4b000000 | ((unsigned)(uint16_t)__ldg(at) ^ 0x8000));
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

/* Between four neighbours of two axes, less the shift. */
static __device__ __forceinline__ float tissue_between(const int16_t *at, int64_t one, float part,
                                                       int64_t other, float other_part)
{
	float a = tissue_shifted(at), b = tissue_shifted(at + one), c = tissue_shifted(at + other),
	      d = tissue_shifted(at + one + other);
	float low = fmaf(part, b - a, a - TISSUE_SHIFT), high = fmaf(part, d - c, c - TISSUE_SHIFT);

	return fmaf(other_part, high - low, low);
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
	float low = tissue_between(v, nx, fx, ny, fy), high = tissue_between(v + nz, nx, fx, ny, fy);

	return fmaf(fz, high - low, low) * b.unit;
}

/* The nodes along a row that goes from a place to another. */
template <int AXIS, int NODES>
static __device__ __forceinline__ void tissue_nodes(struct tissue_line *line, const struct sound &m,
                                                    const struct tissue_brick &b, int q, const float o[3],
                                                    float low, float high)
{
	const int A = AXIS, B = (AXIS + 1) % 3, C = (AXIS + 2) % 3;
	const int64_t step[3] = { 1, m.nodes[0], m.nodes[0] * m.nodes[1] };
	const int16_t *v = m.table + q * step[2] * m.nodes[2];
	int from = (int)fmaxf(fmaf(low, b.nodes_per_mm, b.node[A]), 0);
	int64_t nb, nc;
	float fb, fc;

	from = min(from, (int)m.nodes[A] - NODES);
	line->spans = from >= 0 && fmaf(high, b.nodes_per_mm, b.node[A]) <= (float)(from + NODES - 1);
	if (!line->spans) return;
	v += tissue_node(&fb, &nb, fmaf(o[B], b.nodes_per_mm, b.node[B]), m.nodes[B], step[B]);
	v += tissue_node(&fc, &nc, fmaf(o[C], b.nodes_per_mm, b.node[C]), m.nodes[C], step[C]);
	v += from * step[A];
	line->first = b.node[A] - (float)from;
#pragma unroll
	for (int i = 0; i < NODES; i++, v += step[A])
		line->node[i] = tissue_between(v, nb, fb, nc, fc) * b.unit;
}

template <int NODES>
static __device__ __forceinline__ float tissue_along(const struct tissue_brick &b,
                                                     const struct tissue_line &line, float o)
{
	float at = fmaf(o, b.nodes_per_mm, line.first), sum = line.node[0];

#pragma unroll
	for (int i = 1; i < NODES; i++)
		sum = fmaf(__saturatef(at - (float)(i - 1)), line.node[i] - line.node[i - 1], sum);
	return sum;
}

/* ---- any ---- */

/* The row through o, whose own coordinate is 0, from a place to another. */
template <int KIND, int AXIS, int NODES>
static __device__ __forceinline__ struct tissue_line tissue_line(const struct sound &m,
                                                                 const struct tissue_brick &b,
                                                                 const struct tissue_view &v, float ox,
                                                                 float oy, float oz, float low, float high)
{
	struct tissue_line line = {};

	if (KIND == TISSUE_TABLE) {
		const float o[3] = { ox, oy, oz };

		tissue_nodes<AXIS, NODES>(&line, m, b, v.q, o, low, high);
		return line;
	}
	line.b0 = tissue_b(v, ox, oy, oz);
	line.b1 = v.b1[AXIS];
	if (!tissue_in_mm(KIND)) tissue_square<AXIS>(&line, b, v, ox, oy, oz);
	return line;
}

/* Late, us, of the voxel at (ox, oy, oz) from the brick's middle, o along its line, at the distance whose square is dd;
   *loud is times the amplitude. It never leaves the bounds that windows and traces are made for. */
template <int KIND, int NODES>
static __device__ __forceinline__ float tissue_late(float *loud, const struct sound &m,
                                                    const struct tissue_brick &b, const struct tissue_view &v,
                                                    const struct tissue_line &line, float o, float ox,
                                                    float oy, float oz, float dd, float over_d)
{
	float late, d = dd * over_d;

	if (KIND == TISSUE_SHAPE) return tissue_shape(m, b, v, line, o, d);
	if (KIND == TISSUE_TABLE) {
		late = line.spans ? tissue_along<NODES>(b, line, o) : tissue_table(m, b, v.q, ox, oy, oz);
	} else if (KIND == TISSUE_BENT) {
		late = tissue_shape(m, b, v, line, o, d) +
		       bend_sooner(loud, &b.bend, &b.place, &v.bend, ox, oy, oz, dd);
	} else {
		float bb = fmaf(line.b1, o, line.b0);
		struct tissue_chord u = tissue_chord(dd, over_d * over_d, bb, v.c);

		late = b.more * d * (u.out - u.in);
		if (KIND == TISSUE_BALL) return late;
		late += tissue_bent(b, v, u, bb, ox, oy, oz, dd, over_d, d);
	}
	return fminf(fmaxf(late, b.least), b.most);
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
