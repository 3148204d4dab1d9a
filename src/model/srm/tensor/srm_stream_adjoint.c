/* SPDX-License-Identifier: BSD-3-Clause */
/* The adjoint's stream: up to 16 phases of one plane, and a share of the directions. */
#include "srm_stream_piece.h"

enum { BIN = 8 }; /* directions whose taps are sorted together */

struct adjoint {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	const struct stream_layout *l;
	const struct srm_direction *first; /* of a bin of directions */
	bool lower;
	int y, phase; /* phase: the first of the lanes' */
};

/* Keys are of the direction's number in its bin, crystal -x (a row of taps further on reads a row of
   places further) and crystal -z. Phases are numbered pz Dx + px: in an image neighbours along x lie side
   by side. */
static struct source adjoint_source(const void *arg, uint64_t key)
{
	const struct adjoint *f = arg;
	const struct srm_direction *d = f->first + key_plane(key);
	int x = -key_x(key) + d->x0 + origin(d, f->lower, 0);
	int z = -key_z(key) + d->z0 + origin(d, f->lower, 1);

	return (struct source){
		{ x, x + d->nx, z, z + d->nz },
		(int32_t)(f->l->direction[d - f->m->direction] - (int64_t)x * f->l->row_data - z),
		f->l->row_data,
		STREAM_MARGIN_DATA,
	};
}

static void adjoint_taps(struct piece *p, const struct adjoint *f, int member)
{
	const struct srm_direction *d = f->first + member;
	struct taps t = taps_of(f->m, f->taps, d, f->y);
	const int *phases = f->m->shape.d;

	for (int64_t n = 0; n < t.n; n++) {
		int i = t.voxel[n].i - phases[0] * origin(d, f->lower, 0), x = down(i, phases[0]);
		int k = t.voxel[n].k - phases[1] * origin(d, f->lower, 1), z = down(k, phases[1]);
		int lane = (k - z * phases[1]) * phases[0] + i - x * phases[0] - f->phase;

		if (lane < 0 || lane >= STREAM_LANES) continue;
		struct tap tap = { key_of(member, -x, -z), lane, (float)t.w[n] };

		p->useful += (int64_t)d->nx * d->nz;
		p->full |= !iso_pool_add(&p->tap, &tap);
	}
}

static void adjoint_outs(struct piece *p, const struct adjoint *f)
{
	const int *nc = f->m->shape.nc, *d = f->m->shape.d, planes = f->m->shape.planes;
	int64_t nx = (int64_t)nc[0] * d[0];

	p->places = (struct box){ 0, nc[0], 0, nc[1] };
	for (int i = 0; i < STREAM_LANES; i++) {
		struct stream_out o = { 0 };
		int phase = f->phase + i, px = phase % d[0], pz = phase / d[0];

		if (phase < d[0] * d[1])
			o = (struct stream_out){ ((int64_t)pz * planes + f->y) * nx + px,
				                 d[0],
				                 (int32_t)(d[1] * planes * nx),
				                 0,
				                 (int16_t)nc[0],
				                 0,
				                 (int16_t)nc[1] };
		piece_add(p, OUT, &o);
	}
}

static void adjoint_piece(struct piece *p, struct adjoint *f, const int range[2], int slice, int slices)
{
	int n = range[1] - range[0], end = range[0] + (int)((int64_t)(slice + 1) * n / slices);

	adjoint_outs(p, f);
	for (int j = range[0] + (int)((int64_t)slice * n / slices); j < end; j += BIN) {
		f->first = f->m->direction + j;
		for (int i = 0; i < BIN && j + i < end; i++) adjoint_taps(p, f, i);
		iso_piece_steps(p, adjoint_source, f);
	}
	iso_piece_end(p, slice);
}

/* By subset, plane, quire of phases, slice. */
struct adjoint_pieces {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	const struct stream_layout *l;
	int quires, slices;
};

static void make_adjoint(struct piece *p, const void *arg, int64_t number)
{
	const struct adjoint_pieces *k = arg;
	int planes = k->m->shape.planes, slice = (int)(number % k->slices);
	int quire = (int)(number / k->slices % k->quires);
	int y = (int)(number / k->slices / k->quires % planes);
	int sub = (int)(number / k->slices / k->quires / planes);
	const int range[2] = { k->m->sub[sub], k->m->sub[sub + 1] };
	struct adjoint f = { k->m, k->taps, k->l, NULL, y < planes / 2, y, quire * STREAM_LANES };

	adjoint_piece(p, &f, range, slice, k->slices);
}

int iso_stream_adjoint(struct srm_stream *s, iso_ctx *ctx, const struct srm_op *m,
                       const struct iso_srm_rows *taps, const struct stream_layout *l)
{
	const struct srm_shape *h = &m->shape;
	const struct box image = { 0, h->nc[0], 0, h->nc[1] };
	int quires = up(h->d[0] * h->d[1], STREAM_LANES);
	double warps = (double)h->planes * quires * iso_piece_warps(&image);
	struct adjoint_pieces f = { m, taps, l, quires, iso_stream_slices(warps, INT32_MAX) };
	struct pieces k = { make_adjoint, &f, NULL, 0 };
	int st = iso_stream_begin(s, &k, m, taps);

	if (st) return iso_stream_end(s, &k, st);
	s->slices = f.slices;
	for (int sub = 0; sub <= m->n_sub; sub++) k.first[sub] = (int64_t)sub * h->planes * quires * f.slices;
	return iso_stream_end(s, &k, iso_stream_make(s, ctx, &k));
}
