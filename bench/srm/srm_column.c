/* SPDX-License-Identifier: BSD-3-Clause */
/* Strategy column: voxel by voxel, forward and back (the back projection of Meng 2019).

   The elements (u, l) of column (y, px, pz) serve the voxels of that plane and phase in all cells s: they
   meet the LORs (s + u, s + l) where both crystals are in the scanner. Planes beyond the middle come from
   their mirror images, with u and l exchanged and their layers too. Forward, threads own directions, back,
   they own columns: no two add to one place, and sums are in double in an order of their own. */
#include "strategies.h"

#include "model/srm/srm_share.h"
#include "core/size.h"

#include <string.h>

/* ---- one column: its elements, and the LORs that they meet ---- */

struct column {
	int y, px, pz;
	const struct iso_srm_columns *c;
	int64_t first, end;
	int a, b; /* layers of the LORs, exchanged where the column is */
	bool exchanged;
};

static struct column column_of(const struct srm_op *m, int number, int pair)
{
	const struct srm_shape *s = &m->shape;
	int phases = s->d[0] * s->d[1], y = number / phases, up = pair / s->layers, low = pair % s->layers;
	bool far = y > (s->planes - 1) / 2;
	int64_t k = (int64_t)(far ? s->planes - 1 - y : y) * phases + number % phases;
	struct column c = {
		.y = y, .px = number % phases / s->d[1], .pz = number % s->d[1], .exchanged = far
	};

	c.c = &srm_tables_of(m)->columns[pair];
	c.first = c.c->ptr[k];
	c.end = c.c->ptr[k + 1];
	c.a = far ? low : up;
	c.b = far ? up : low;
	return c;
}

/* Cells for which both crystals of an element are in the scanner, and the row of the first. */
struct reach {
	const struct srm_direction *d;
	int x, z, nx, nz; /* cells; none: nx <= 0 or nz <= 0 */
	int64_t row;
};

static int larger(int a, int b)
{
	return a > b ? a : b;
}

static struct reach reach_of(const struct srm_op *m, const struct column *c, int64_t i)
{
	const int *nc = m->shape.nc;
	struct iso_srm_pair e = c->c->pair[i];

	if (c->exchanged) e = (struct iso_srm_pair){ e.lx, e.lz, e.ux, e.uz };
	int number = (e.lx - e.ux + nc[0] - 1) * (2 * nc[1] - 1) + e.lz - e.uz + nc[1] - 1;
	const struct srm_direction *d = srm_direction_at(m, c->a, c->b, number);
	int x = larger(0, larger(-e.ux, -e.lx)), z = larger(0, larger(-e.uz, -e.lz));
	int nx = nc[0] - larger(0, larger(e.ux, e.lx)) - x, nz = nc[1] - larger(0, larger(e.uz, e.lz)) - z;
	int64_t row = d->first + (int64_t)(x + e.ux - d->x0) * d->nz + z + e.uz - d->z0;

	return (struct reach){ d, x, z, nx, nz, row };
}

/* Voxel number i of a column, z fastest. */
static int64_t column_voxel(const struct srm_shape *s, const struct column *c, int i)
{
	return srm_voxel_index(s, c->y, i / s->nc[1] * s->d[0] + c->px, i % s->nc[1] * s->d[1] + c->pz);
}

/* Forward: LORs += elements times voxels of the column, `from`; back: voxels += elements times LORs. Forward,
   a rank takes its directions, and of several threads each some of these. */
static void apply_column(double *to, const iso_real *from, const struct srm_op *m, const struct column *c,
                         int sub, bool forward, int thread, int threads)
{
	for (int64_t i = c->first; i < c->end; i++) {
		struct reach r = reach_of(m, c, i);
		double w = (double)c->c->w[i];

		if ((r.d - m->direction) % threads != thread || (sub != ISO_ALL && r.d->subset != sub))
			continue;
		if (forward && !m->share->mine[r.d - m->direction]) continue;
		for (int x = 0; x < r.nx; x++) {
			int64_t cell = (int64_t)(r.x + x) * m->shape.nc[1] + r.z;
			int64_t row = r.row + (int64_t)x * r.d->nz;
			const iso_real *v = from + (forward ? cell : row);
			double *sum = to + (forward ? row : cell);

			for (int z = 0; z < r.nz; z++) sum[z] += w * (double)v[z];
		}
	}
}

static int n_columns(const struct srm_op *m)
{
	return m->shape.planes * m->shape.d[0] * m->shape.d[1];
}

static void forward_part(double *sum, iso_real *f, const iso_op *op, int sub, const iso_real *x, int thread)
{
	const struct srm_op *m = op->data;
	int cells = m->shape.nc[0] * m->shape.nc[1];

	for (int k = 0; k < n_columns(m) && !iso_ctx_cancelled(op->ctx); k++)
		for (int pair = 0; pair < SRM_PAIRS(m); pair++) {
			struct column c = column_of(m, k, pair);

			for (int i = 0; pair == 0 && i < cells; i++) f[i] = x[column_voxel(&m->shape, &c, i)];
			apply_column(sum, f, m, &c, sub, true, thread, op->ctx->threads);
		}
}

static int forward_mine(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	const struct srm_op *m = op->data;
	int64_t cells = (int64_t)m->shape.nc[0] * m->shape.nc[1];
	struct iso_rows rows = iso_op_rows(op, sub);
	double *sum = size_alloc(m->lors, sizeof *sum);
	iso_real *f = size_alloc(cells * op->ctx->threads, sizeof *f);
	int st = sum && f ? ISO_OK : iso_fail_memory("srm: sums of LORs", m->lors * (int64_t)sizeof *sum);

#pragma omp parallel for num_threads(op->ctx->threads) schedule(static, 1)
	for (int t = 0; t < (st ? 0 : op->ctx->threads); t++) forward_part(sum, f + t * cells, op, sub, x, t);
	for (int64_t i = rows.first; !st && i < rows.first + rows.n; i++) y[i] = (iso_real)sum[i];
	if (!st) st = iso_ctx_poll(op->ctx);
	free(sum);
	free(f);
	return st;
}

int iso_srm_column_forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	return iso_srm_gather_rows(op, sub, y, forward_mine(op, sub, y, x));
}

static void back_voxels(iso_real *x, double *b, const struct srm_op *m, int k, int sub, const iso_real *y)
{
	int cells = m->shape.nc[0] * m->shape.nc[1];
	struct column c;

	memset(b, 0, (size_t)cells * sizeof *b);
	for (int pair = 0; pair < SRM_PAIRS(m); pair++) {
		c = column_of(m, k, pair);
		apply_column(b, y, m, &c, sub, false, 0, 1);
	}
	for (int i = 0; i < cells; i++) x[column_voxel(&m->shape, &c, i)] = (iso_real)b[i];
}

static int back_mine(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	const struct srm_op *m = op->data;
	int64_t cells = (int64_t)m->shape.nc[0] * m->shape.nc[1];
	int phases = m->shape.d[0] * m->shape.d[1];
	struct iso_rows mine = srm_my_planes(m);
	bool failed = false;

#pragma omp parallel num_threads(op->ctx->threads) reduction(|| : failed)
	{
		double *b = size_alloc(cells, sizeof *b);

		failed = !b;
#pragma omp for schedule(dynamic)
		for (int k = (int)mine.first * phases; k < (int)(mine.first + mine.n) * phases; k++)
			if (b && !iso_ctx_cancelled(op->ctx)) back_voxels(x, b, m, k, sub, y);
		free(b);
	}
	if (failed) return iso_fail_memory("srm: voxels of a thread", cells * (int64_t)sizeof(double));
	return iso_ctx_poll(op->ctx);
}

int iso_srm_column_back(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	return iso_srm_gather_planes(op, x, back_mine(op, sub, x, y));
}
