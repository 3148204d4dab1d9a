/* SPDX-License-Identifier: BSD-3-Clause */
/* Strategy row (Chou 2012): LOR by LOR. Forward gathers the voxels of a LOR, back adds to them.

   The row of the LOR (u, u + d) is that of direction d, shifted: element (y, i, k) meets the voxel
   (y, Dx ux + i, Dz uz + k). Elements are kept by plane: threads own planes on the way back, so that
   no two add to one voxel, and each plane is added up in double in an order of its own. */
#include "srm_seed_lists.h"
#include "strategies.h"

#include "model/srm/srm_share.h"
#include "core/size.h"

#include <string.h>

/* ---- forward ---- */

/* The image by planes, z fastest: x[(y Nx + x) Nz + z]. */
static iso_real *by_planes(const struct srm_op *m, const iso_ctx *ctx, const iso_real *x)
{
	struct srm_image_size n = srm_image_size(&m->shape);
	iso_real *p = size_alloc(m->voxels, sizeof *p);

#pragma omp parallel for num_threads(ctx->threads)
	for (int y = 0; y < (p ? m->shape.planes : 0); y++)
		for (int z = 0; z < n.nz; z++)
			for (int i = 0; i < n.nx; i++)
				p[((int64_t)y * n.nx + i) * n.nz + z] =
					x[srm_voxel_index(&m->shape, y, i, z)];
	return p;
}

static double gather(const struct srm_taps *t, const iso_real *plane, int x, int z, int nx, int nz)
{
	double sum = 0;

	for (int64_t k = 0; k < t->n; k++) {
		int vx = x + t->voxel[k].i, vz = z + t->voxel[k].k;

		if ((unsigned)vx < (unsigned)nx && (unsigned)vz < (unsigned)nz)
			sum += (double)t->w[k] * (double)plane[(int64_t)vx * nz + vz];
	}
	return sum;
}

static void forward_direction(iso_real *y, const struct srm_op *m, const struct srm_direction *d,
                              const iso_real *image)
{
	struct srm_image_size n = srm_image_size(&m->shape);

	for (int64_t j = 0; j < (int64_t)d->nx * d->nz; j++) {
		int x = (d->x0 + (int)(j / d->nz)) * m->shape.d[0],
		    z = (d->z0 + (int)(j % d->nz)) * m->shape.d[1];
		double sum = 0;

		for (int p = 0; p < m->shape.planes; p++) {
			struct srm_taps t = srm_taps_of(m, srm_tables_of(m)->taps, d, p);

			sum += gather(&t, image + (int64_t)p * n.nx * n.nz, x, z, n.nx, n.nz);
		}
		y[d->first + j] = (iso_real)sum;
	}
}

static int forward_mine(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct srm_op *m = op->data;
	struct srm_subsets s = srm_subsets(m->n_sub, sub);
	iso_real *image = by_planes(m, op->ctx, x);

	if (!image) return iso_fail_memory("srm: image by planes", m->voxels * (int64_t)sizeof *image);
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int i = m->sub[s.first]; i < m->sub[s.end]; i++)
		if (m->share->mine[i] && !iso_ctx_cancelled(op->ctx))
			forward_direction(y, m, &m->direction[i], image);
	free(image);
	return iso_ctx_poll(op->ctx);
}

int iso_srm_row_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	return iso_srm_gather_rows(op, sub, y, forward_mine(op, sub, y, x));
}

/* ---- back ---- */

static void scatter(double *plane, const struct srm_taps *t, double q, int x, int z, int nx, int nz)
{
	for (int64_t k = 0; k < t->n; k++) {
		int vx = x + t->voxel[k].i, vz = z + t->voxel[k].k;

		if ((unsigned)vx < (unsigned)nx && (unsigned)vz < (unsigned)nz)
			plane[(int64_t)vx * nz + vz] += q * (double)t->w[k];
	}
}

/* LORs of value 0, in EM those without counts, add nothing. */
static void back_plane(double *plane, const struct srm_op *m, int p, int sub, const iso_real *y)
{
	struct srm_subsets s = srm_subsets(m->n_sub, sub);
	struct srm_image_size n = srm_image_size(&m->shape);

	memset(plane, 0, (size_t)n.nx * (size_t)n.nz * sizeof *plane);
	for (int i = m->sub[s.first]; i < m->sub[s.end]; i++) {
		const struct srm_direction *d = &m->direction[i];
		struct srm_taps t = srm_taps_of(m, srm_tables_of(m)->taps, d, p);

		for (int64_t j = 0; j < (int64_t)d->nx * d->nz && t.n; j++)
			if (y[d->first + j] != 0)
				scatter(plane, &t, (double)y[d->first + j],
				        (d->x0 + (int)(j / d->nz)) * m->shape.d[0],
				        (d->z0 + (int)(j % d->nz)) * m->shape.d[1], n.nx, n.nz);
	}
}

static int back_mine(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct srm_op *m = op->data;
	struct srm_image_size n = srm_image_size(&m->shape);
	struct iso_rows mine = srm_my_planes(m);
	bool failed = false;

#pragma omp parallel num_threads(op->ctx->threads) reduction(|| : failed)
	{
		double *plane = size_alloc((int64_t)n.nx * n.nz, sizeof *plane);

		failed = !plane;
#pragma omp for schedule(dynamic)
		for (int p = (int)mine.first; p < (int)(mine.first + mine.n); p++) {
			if (!plane || iso_ctx_cancelled(op->ctx)) continue;
			back_plane(plane, m, p, sub, y);
			for (int i = 0; i < n.nx * n.nz; i++)
				x[srm_voxel_index(&m->shape, p, i / n.nz, i % n.nz)] = (iso_real)plane[i];
		}
		free(plane);
	}
	if (failed) return iso_fail_memory("srm: planes of a thread", (int64_t)n.nx * n.nz * 8);
	return iso_ctx_poll(op->ctx);
}

int iso_srm_row_back(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	return iso_srm_gather_planes(op, x, back_mine(op, sub, x, y));
}
