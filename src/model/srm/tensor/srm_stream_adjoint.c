/* SPDX-License-Identifier: BSD-3-Clause */
/* The adjoint's stream: up to 16 phases of one plane, and a share of the directions. */
#include "srm_stream_piece.h"

enum { BIN = 8 }; /* directions whose taps are sorted together */

/* Keys are of the direction's number in its bin, crystal -x (a row of taps further on reads a row of
   places further) and crystal -z. Phases are numbered pz Dx + px: in an image neighbours along x lie side
   by side. */
static struct source adjoint_source(const struct piece *p, uint64_t key)
{
	const struct srm_direction *d = p->bin + key_plane(key);
	const struct stream_layout *l = p->of->l;
	int x = -key_x(key) + d->x0 + origin(d, p->lower, 0),
	    z = -key_z(key) + d->z0 + origin(d, p->lower, 1);
	int64_t from = l->direction[d - p->of->m->direction] - (int64_t)x * l->row_data - z;

	return (struct source){
		{ x, x + d->nx, z, z + d->nz }, (int32_t)from, l->row_data, STREAM_MARGIN_DATA
	};
}

static void adjoint_taps(struct piece *p, int member)
{
	const struct srm_direction *d = p->bin + member;
	struct srm_taps t = srm_taps_of(p->of->m, p->of->taps, d, p->y);
	const int *phases = p->of->m->shape.d;

	for (int64_t n = 0; n < t.n; n++) {
		int i = t.voxel[n].i - phases[0] * origin(d, p->lower, 0), x = srm_down(i, phases[0]);
		int k = t.voxel[n].k - phases[1] * origin(d, p->lower, 1), z = srm_down(k, phases[1]);
		int lane = (k - z * phases[1]) * phases[0] + i - x * phases[0] - p->phase;

		if (lane < 0 || lane >= STREAM_LANES) continue;
		p->useful += (int64_t)d->nx * d->nz;
		piece_add(p, &p->tap, &(struct tap){ key_of(member, -x, -z), lane, (float)t.w[n] });
	}
}

static void adjoint_outs(struct piece *p)
{
	const struct srm_shape *h = &p->of->m->shape;
	int64_t nx = (int64_t)h->nc[0] * h->d[0];

	p->places = (struct box){ 0, h->nc[0], 0, h->nc[1] };
	for (int i = 0; i < STREAM_LANES; i++) {
		struct stream_out o = { 0 };
		int phase = p->phase + i, px = phase % h->d[0], pz = phase / h->d[0];

		if (phase < h->d[0] * h->d[1])
			o = (struct stream_out){ .base = ((int64_t)pz * h->planes + p->y) * nx + px,
				                 .row = h->d[0],
				                 .step = (int32_t)(h->d[1] * h->planes * nx),
				                 .nx = (int16_t)h->nc[0],
				                 .nz = (int16_t)h->nc[1] };
		piece_add(p, &p->pool[OUT], &o);
	}
}

/* By subset, plane, quire of phases, slice. */
static void make_adjoint(struct piece *p, int64_t number)
{
	const struct srm_op *m = p->of->m;
	int planes = m->shape.planes, slices = p->of->slices, slice = (int)(number % slices);
	int64_t quire = number / slices, plane = quire / p->of->quires;
	const int *range = m->sub + plane / planes;
	int64_t n = range[1] - range[0];
	int end = range[0] + (int)((slice + 1) * n / slices);

	p->y = (int)(plane % planes);
	p->lower = p->y < planes / 2;
	p->phase = (int)(quire % p->of->quires) * STREAM_LANES;
	adjoint_outs(p);
	for (int j = range[0] + (int)(slice * n / slices); j < end; j += BIN) {
		p->bin = m->direction + j;
		for (int i = 0; i < BIN && j + i < end; i++) adjoint_taps(p, i);
		iso_piece_steps(p, adjoint_source);
	}
	iso_piece_end(p, slice);
}

int iso_stream_adjoint(struct srm_stream *s, struct iso_room *room, const struct srm_op *m,
                       const struct iso_srm_rows *taps, const struct stream_layout *l)
{
	const struct srm_shape *h = &m->shape;
	const struct box image = { 0, h->nc[0], 0, h->nc[1] };
	struct pieces k = { .make = make_adjoint, .room = room, .m = m, .taps = taps, .l = l };
	int64_t quires = k.quires = up(h->d[0] * h->d[1], STREAM_LANES);

	k.slices = iso_stream_slices((double)(h->planes * quires * iso_piece_warps(&image)), INT32_MAX);
	if (!iso_stream_begin(s, &k))
		for (int sub = 0; sub <= m->n_sub; sub++) k.first[sub] = sub * h->planes * quires * k.slices;
	return iso_stream_make(s, &k);
}
