/* SPDX-License-Identifier: BSD-3-Clause */
/* Strategy row (Chou 2012): LOR by LOR. Forward gathers the voxels of a LOR, back adds to them.

   The row of the LOR (u, u + d) is that of direction d, shifted: element (y, i, k) meets the voxel
   (y, Dx ux + i, Dz uz + k). Elements are kept by plane: threads own planes on the way back, so that
   no two add to one voxel, and each plane is added up in double in an order of its own. */
#include "model/srm/srm_strategy.h"
#include "core/size.h"

#include <string.h>

/* ---- the table: taps of each pair of layers ---- */

int iso_srm_row_table(struct srm_op *m, iso_ctx *ctx)
{
	return iso_srm_pair_rows(&m->taps, ctx, m->srm, (struct iso_srm_order){ 0 }, true);
}

/* Elements of a direction in a plane. */
struct elements {
	const struct iso_srm_voxel *voxel;
	const iso_real *w;
	int64_t n;
};

static struct elements elements_of(const struct srm_op *m, const struct srm_direction *d, int y)
{
	const struct iso_srm_rows *r = &m->taps[d->a * m->shape.layers + d->b];
	int64_t list = y * r->directions + d->number, first = r->ptr[list];

	return (struct elements){ r->voxel + first, r->w + first, r->ptr[list + 1] - first };
}

/* ---- forward ---- */

/* The image by planes, z fastest: x[(y Nx + x) Nz + z]. */
static iso_real *by_planes(const struct srm_op *m, const iso_ctx *ctx, const iso_real *x)
{
	int nx = m->shape.nc[0] * m->shape.d[0], nz = m->shape.nc[1] * m->shape.d[1];
	iso_real *p = size_alloc(m->voxels, sizeof *p);

	if (!p) return NULL;
#pragma omp parallel for num_threads(ctx->threads)
	for (int y = 0; y < m->shape.planes; y++)
		for (int z = 0; z < nz; z++)
			for (int i = 0; i < nx; i++)
				p[((int64_t)y * nx + i) * nz + z] = x[srm_voxel_index(&m->shape, y, i, z)];
	return p;
}

static double gather(const struct elements *e, const iso_real *plane, int x, int z, int nx, int nz)
{
	double sum = 0;

	for (int64_t k = 0; k < e->n; k++) {
		int vx = x + e->voxel[k].i, vz = z + e->voxel[k].k;

		if ((unsigned)vx < (unsigned)nx && (unsigned)vz < (unsigned)nz)
			sum += (double)e->w[k] * (double)plane[(int64_t)vx * nz + vz];
	}
	return sum;
}

static void forward_direction(iso_real *y, const struct srm_op *m, const struct srm_direction *d,
                              const iso_real *image)
{
	const int *c = m->shape.d;
	int nx = m->shape.nc[0] * c[0], nz = m->shape.nc[1] * c[1];

	for (int64_t j = 0; j < (int64_t)d->nx * d->nz; j++) {
		int ux = d->x0 + (int)(j / d->nz), uz = d->z0 + (int)(j % d->nz);
		double sum = 0;

		for (int p = 0; p < m->shape.planes; p++) {
			struct elements e = elements_of(m, d, p);

			sum += gather(&e, image + (int64_t)p * nx * nz, ux * c[0], uz * c[1], nx, nz);
		}
		y[d->first + j] = (iso_real)sum;
	}
}

int iso_srm_row_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct srm_op *m = op->data;
	iso_real *image = by_planes(m, op->ctx, x);
	int first, end;

	if (!image) return iso_fail_memory("srm: image by planes", m->voxels * (int64_t)sizeof *image);
	iso_srm_op_range(&first, &end, m, sub);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int i = first; i < end; i++)
		if (!iso_ctx_cancelled(op->ctx)) forward_direction(y, m, &m->direction[i], image);
	free(image);
	return iso_ctx_poll(op->ctx);
}

/* ---- back ---- */

static void scatter(double *plane, const struct elements *e, double q, int x, int z, int nx, int nz)
{
	for (int64_t k = 0; k < e->n; k++) {
		int vx = x + e->voxel[k].i, vz = z + e->voxel[k].k;

		if ((unsigned)vx < (unsigned)nx && (unsigned)vz < (unsigned)nz)
			plane[(int64_t)vx * nz + vz] += q * (double)e->w[k];
	}
}

/* LORs of value 0, in EM those without counts, add nothing. */
static void back_plane(double *plane, const struct srm_op *m, int p, int sub, const iso_real *y)
{
	const int *c = m->shape.d;
	int nx = m->shape.nc[0] * c[0], nz = m->shape.nc[1] * c[1], first, end;

	memset(plane, 0, (size_t)nx * (size_t)nz * sizeof *plane);
	iso_srm_op_range(&first, &end, m, sub);
	for (int i = first; i < end; i++) {
		const struct srm_direction *d = &m->direction[i];
		struct elements e = elements_of(m, d, p);

		for (int64_t j = 0; j < (int64_t)d->nx * d->nz && e.n; j++)
			if (y[d->first + j] != 0)
				scatter(plane, &e, (double)y[d->first + j], (d->x0 + (int)(j / d->nz)) * c[0],
				        (d->z0 + (int)(j % d->nz)) * c[1], nx, nz);
	}
}

int iso_srm_row_back(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct srm_op *m = op->data;
	int nx = m->shape.nc[0] * m->shape.d[0], nz = m->shape.nc[1] * m->shape.d[1];
	bool failed = false;

#pragma omp parallel num_threads(op->ctx->threads)
	{
		double *plane = size_alloc((int64_t)nx * nz, sizeof *plane);

#pragma omp for schedule(dynamic)
		for (int p = 0; p < m->shape.planes; p++) {
			if (!plane || iso_ctx_cancelled(op->ctx)) continue;
			back_plane(plane, m, p, sub, y);
			for (int i = 0; i < nx * nz; i++)
				x[srm_voxel_index(&m->shape, p, i / nz, i % nz)] = (iso_real)plane[i];
		}
		if (!plane)
#pragma omp atomic write
			failed = true;
		free(plane);
	}
	if (failed) return iso_fail_memory("srm: planes of a thread", (int64_t)nx * nz * 8);
	return iso_ctx_poll(op->ctx);
}
