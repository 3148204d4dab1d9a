/* SPDX-License-Identifier: BSD-3-Clause */
/* Spheres on CUDA: a thread a voxel of their image; a block a transducer that hears them, whose threads share the samples
   of the record. Sums are in the order of spheres and points, so their bits repeat; those of the CPU differ by
   rounding, and where it hears by tables, by 2e-9 of the greatest value. */
#include "core/cuda.cuh"
#include "spheres_kern.h"

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

/* Transducer first + block into row `block` of y; rows: the sums of its samples. A sample is always the same thread's. */
static __global__ void __launch_bounds__(EARS)
	hear(iso_real *y, double *rows, const struct iso_sphere *v, int n, double sigma,
             const struct iso_transducers t, const struct aperture_points face, int64_t first)
{
	const int64_t q = first + blockIdx.x, at = blockIdx.x * t.samples;
	const int points = spheres_points(&face), own = threadIdx.x;
	double *row = rows + at;

	for (int64_t k = own; k < t.samples; k += EARS) row[k] = 0;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < points; j++) {
			double p[3], share = spheres_point(p, &t, &face, q, j);
			double d = spheres_distance(p, v[i].centre);
			double scale = share * v[i].value * t.gamma / (2 * d);
			int64_t from, last;

			if (!spheres_samples(&from, &last, &t, v + i, sigma, d)) continue;
			/* the least k >= from with k % EARS == own */
			for (int64_t k = from + (own + EARS - from % EARS) % EARS; k <= last; k += EARS)
				row[k] += scale * spheres_heard(&t, v + i, sigma, d, k);
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
                                     int64_t first, int64_t n)
{
	struct iso_room room = iso_room_of(ctx, "traces");
	const int64_t fit = t->samples < PIECE ? PIECE / t->samples : 1;
	const int64_t some = fit < TRANSDUCERS ? fit : TRANSDUCERS, most = some < n ? some : n;
	const struct iso_transducers device = move(&room, t);
	struct aperture_points points = *face;
	const struct iso_sphere *v;
	iso_real *traces;
	double *rows;
	int st;

	ISO_UPLOAD(&room, points.face, face->face, t->n);
	ISO_UPLOAD(&room, points.node, face->node, 4 * face->faces * face->points);
	ISO_UPLOAD(&room, v, s->v, s->n);
	ISO_DEVICE(&room, rows, most * t->samples);
	ISO_DEVICE(&room, traces, most * t->samples);
	st = room.status;
	for (int64_t i = 0; i < n && !st; i += most) {
		const int64_t m = n - i < most ? n - i : most;

		hear<<<(int)m, EARS, 0, iso_stream(ctx)>>>(traces, rows, v, s->n, sigma, device, points,
		                                           first + i);
		if ((st = iso_cuda_launched("traces")) || (st = iso_ctx_poll(ctx))) break;
		st = ctx->vec->download(ctx, y + (first + i) * t->samples, traces,
		                        m * t->samples * (int64_t)sizeof *y);
	}
	iso_room_free(&room);
	return st;
}
