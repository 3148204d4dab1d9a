/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathering what ranks made, on CUDA: rows of directions and planes of the image are packed in the order of ranks,
   exchanged, and put in their places. */
#include "core/cuda.cuh"
#include "srm_share.h"

/* ---- rows ---- */

static __global__ void move_rows(float *packed, float *y, const struct srm_row_move *move, bool pack)
{
	struct srm_row_move d = move[blockIdx.x];

	for (int i = threadIdx.x; i < d.n; i += blockDim.x)
		if (pack)
			packed[d.packed + i] = y[d.row + i];
		else
			y[d.row + i] = packed[d.packed + i];
}

static int move(const iso_op *op, struct iso_rows places, float *packed, float *y, bool pack)
{
	const struct srm_share *s = ((const struct srm_op *)op->data)->share;

	if (places.n == 0) return ISO_OK;
	move_rows<<<(unsigned)places.n, 128, 0, iso_stream(op->ctx)>>>(packed, y, s->move + places.first,
	                                                               pack);
	return iso_cuda_launched("srm: rows of ranks");
}

/* `packed` has room for the rows of one subset. */
static int gather_subset(const iso_op *op, int sub, float *packed, float *y, int st)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	struct iso_rows all = { m->sub[sub], m->sub[sub + 1] - m->sub[sub] };

	packed -= iso_op_rows(op, sub).first;
	if (!st) st = move(op, srm_my_directions(m, sub), packed, y, true);
	st = iso_comm_gather_parts(op->ctx, st, packed, m->share->row + sub * (m->share->ranks + 1));
	return st ? st : move(op, all, packed, y, false);
}

int iso_srm_gather_rows_cuda(const iso_op *op, int sub, float *packed, float *y, int st)
{
	struct srm_subsets k = srm_subsets(op->n_sub, sub);

	if (iso_ranks(op->ctx) == 1) return st;
	for (; k.first < k.end; k.first++) st = gather_subset(op, k.first, packed, y, st);
	return st;
}

/* ---- planes ---- */

/* Places first ... first + n - 1 of `plane`; `packed` has planes one behind the other, rows of x by z. */
static __global__ void move_planes(float *packed, float *x, struct srm_shape s, const int *plane,
                                   struct iso_rows k, bool pack)
{
	int64_t nx = (int64_t)s.nc[0] * s.d[0], nz = (int64_t)s.nc[1] * s.d[1];

	ISO_GRID_LOOP (i, k.n * nz * nx) {
		int64_t z = i / nx % nz, at = k.first + i / nx / nz;
		int64_t voxel = srm_voxel_index(&s, plane[at], (int)(i % nx), (int)z);

		if (pack)
			packed[k.first * nz * nx + i] = x[voxel];
		else
			x[voxel] = packed[k.first * nz * nx + i];
	}
}

int iso_srm_gather_planes_cuda(const iso_op *op, float *packed, float *x, int st)
{
	const struct srm_op *m = (const struct srm_op *)op->data;
	const struct srm_share *s = m->share;
	struct iso_rows all = { 0, m->shape.planes }, mine = srm_my_planes(m);

	if (s->ranks == 1) return st;
	if (!st && mine.n > 0) {
		move_planes<<<iso_blocks(op->n_in), ISO_THREADS, 0, iso_stream(op->ctx)>>>(
			packed, x, m->shape, s->plane_there, mine, true);
		st = iso_cuda_launched("srm: planes of ranks");
	}
	if ((st = iso_comm_gather_parts(op->ctx, st, packed, s->voxel))) return st;
	move_planes<<<iso_blocks(op->n_in), ISO_THREADS, 0, iso_stream(op->ctx)>>>(
		packed, x, m->shape, s->plane_there, all, false);
	return iso_cuda_launched("srm: planes of ranks");
}

/* ---- tables ---- */

int64_t iso_srm_share_packed(const iso_op *op)
{
	int64_t most = op->n_in;

	for (int k = 0; k < op->n_sub; k++) most = max(most, iso_op_rows(op, k).n);
	return iso_ranks(op->ctx) > 1 ? most : 0;
}

int iso_srm_share_move(const struct srm_op *m, struct iso_room *room)
{
	struct srm_share *s = m->share;
	int64_t rows = 0;

	if (s->ranks == 1) return ISO_OK;
	if (!ISO_HOST(room, s->move, m->n_direction)) return room->status;
	for (int i = 0; i < m->n_direction; i++) {
		const struct srm_direction *d = &m->direction[s->order[i]];

		s->move[i] = { d->first, rows, d->nx * d->nz };
		rows += s->move[i].n;
	}
	ISO_MOVE(room, s->move, m->n_direction);
	ISO_UPLOAD(room, s->plane_there, s->plane, m->shape.planes);
	return room->status;
}
