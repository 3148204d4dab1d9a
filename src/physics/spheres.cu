/* SPDX-License-Identifier: BSD-3-Clause */
/* Spheres on CUDA: a thread a voxel of their image; a block a transducer that hears them, whose threads share the samples
   of the record. Sums are in the order of spheres and points, so their bits repeat; those of the CPU differ by
   rounding, and where it hears by tables, by 2e-9 of the greatest value. */
#include "core/cuda.cuh"
#include "spheres_kern.h"
#include "tissue/tissue_view.cuh"

#define PIECE (1ll << 25)       /* voxels on the device at a time; samples, or one trace if that has more */
#define EARS 64                 /* threads that share the samples of a transducer */
#define TRANSDUCERS (1ll << 11) /* on the device at a time, at most */

static __global__ void voxels(iso_real *x, const struct iso_sphere *v, int n, double sigma,
                              const struct iso_grid g, int64_t first, int64_t voxels)
{
	ISO_GRID_LOOP (i, voxels) {
		double p[3];

		spheres_place(p, &g, first + i);
		x[i] = (iso_real)spheres_value(v, n, sigma, p);
	}
}

extern "C" int iso_spheres_raster_cuda(iso_real *x, iso_ctx *ctx, const struct iso_spheres *s, double sigma,
                                       const struct iso_grid *g)
{
	struct iso_room room = iso_room_of(ctx, "spheres");
	const int64_t all = iso_grid_voxels(g), piece = all < PIECE ? all : PIECE;
	const struct iso_sphere *v;
	iso_real *device;
	int st;

	ISO_UPLOAD(&room, v, s->v, s->n);
	ISO_DEVICE(&room, device, piece);
	st = room.status;
	for (int64_t i = 0; i < all && !st; i += piece) {
		const int64_t n = all - i < piece ? all - i : piece;

		voxels<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(device, v, s->n, sigma, *g, i, n);
		if ((st = iso_cuda_launched("spheres")) || (st = iso_ctx_poll(ctx))) break;
		st = ctx->vec->download(ctx, x + i, device, n * (int64_t)sizeof *x);
	}
	iso_room_free(&room);
	return st;
}

/* A sphere as one point of a transducer hears it: how far it is, the speed there, and how loud. Through tissue the
   distance is the delay times that speed. */
struct heard {
	double d, speed, scale;
};

template <bool TISSUE>
static __device__ struct heard hear_of(const struct iso_sphere &v, const struct iso_transducers &t,
                                       const struct aperture_points &face, const struct sound &m, int64_t q,
                                       int j)
{
	double p[3], share = spheres_point(p, &t, &face, q, j), d = spheres_distance(p, v.centre), loud;
	struct heard h = { d, t.speed, share * v.value * t.gamma / (2 * d) };

	if (!TISSUE) return h;
	double us = d / m.c0 + sound_late(&loud, &m, q, t.pos + 3 * q, p, v.centre);

	loud /= d;
	h.speed = 1 / sound_slowness(&m, v.centre);
	h.d = us * h.speed;
	h.scale = loud > 0 ? share * v.value * t.gamma / (2 * (1 / loud)) : 0;
	return h;
}

/* Transducer first + block into row `block` of y; rows: the sums of its samples. A sample is always the same thread's. The
   threads look at as many pairs of a sphere and a point at a time, then all add each of these. */
template <bool TISSUE>
static __global__ void __launch_bounds__(EARS)
	hear(iso_real *y, double *rows, const struct iso_sphere *v, int n, double sigma,
             const struct iso_transducers t, const struct aperture_points face, const struct sound m,
             int64_t first)
{
	__shared__ struct heard heard[EARS];
	const int64_t q = first + blockIdx.x, at = blockIdx.x * t.samples;
	const int points = spheres_points(&face), own = threadIdx.x;
	const int64_t pairs = (int64_t)n * points;
	double *row = rows + at;

	for (int64_t k = own; k < t.samples; k += EARS) row[k] = 0;
	for (int64_t base = 0; base < pairs; base += EARS) {
		const int some = (int)(pairs - base < EARS ? pairs - base : EARS);

		__syncthreads();
		if (own < some)
			heard[own] = hear_of<TISSUE>(v[(base + own) / points], t, face, m, q,
			                             (int)((base + own) % points));
		__syncthreads();
		for (int i = 0; i < some; i++) {
			const struct iso_sphere *one = v + (base + i) / points;
			struct iso_transducers local = t;
			int64_t from, last;

			local.speed = heard[i].speed;
			if (heard[i].scale == 0 ||
			    !spheres_samples(&from, &last, &local, one, sigma, heard[i].d))
				continue;
			/* the least k >= from with k % EARS == own */
			for (int64_t k = from + (own + EARS - from % EARS) % EARS; k <= last; k += EARS)
				row[k] += heard[i].scale * spheres_heard(&local, one, sigma, heard[i].d, k);
		}
	}
	for (int64_t k = own; k < t.samples; k += EARS) y[at + k] = (iso_real)row[k];
}

/* The transducers' arrays on the device; of those that hearing needs not, NULL. */
static struct iso_transducers move(struct iso_room *room, const struct iso_transducers *t)
{
	struct iso_transducers d = *t;

	ISO_UPLOAD(room, d.pos, t->pos, 3 * t->n);
	ISO_UPLOAD(room, d.ex, t->ex, 3 * t->n);
	ISO_UPLOAD(room, d.ey, t->ey, 3 * t->n);
	d.normal = d.aperture = d.area = d.eir = NULL;
	return d;
}

extern "C" int iso_spheres_hear_cuda(iso_real *y, iso_ctx *ctx, const struct iso_spheres *s, double sigma,
                                     const struct iso_transducers *t, const struct aperture_points *face,
                                     const iso_delays *delays, int64_t first, int64_t n)
{
	struct iso_room room = iso_room_of(ctx, "traces");
	const int64_t fit = t->samples < PIECE ? PIECE / t->samples : 1;
	const int64_t some = fit < TRANSDUCERS ? fit : TRANSDUCERS, most = some < n ? some : n;
	const struct iso_transducers device = move(&room, t);
	const auto kernel = delays ? hear<true> : hear<false>;
	struct aperture_points points = *face;
	struct sound m = {};
	const struct iso_sphere *v;
	iso_real *traces;
	double *rows;
	int st;

	ISO_UPLOAD(&room, points.face, face->face, t->n);
	ISO_UPLOAD(&room, points.node, face->node, 4 * face->faces * face->points);
	ISO_UPLOAD(&room, v, s->v, s->n);
	if (delays) {
		m = delays->m;
		tissue_upload(&room, &m, delays);
	}
	ISO_DEVICE(&room, rows, most * t->samples);
	ISO_DEVICE(&room, traces, most * t->samples);
	st = room.status;
	for (int64_t i = 0; i < n && !st; i += most) {
		const int64_t now = n - i < most ? n - i : most;

		kernel<<<(int)now, EARS, 0, iso_stream(ctx)>>>(traces, rows, v, s->n, sigma, device, points,
		                                               m, first + i);
		if ((st = iso_cuda_launched("traces")) || (st = iso_ctx_poll(ctx))) break;
		st = ctx->vec->download(ctx, y + (first + i) * t->samples, traces,
		                        now * t->samples * (int64_t)sizeof *y);
	}
	iso_room_free(&room);
	return st;
}
