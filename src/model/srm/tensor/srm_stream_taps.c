/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes into the streams. A piece of the forward projection's: up to 16 directions near each other, and a
   share of the planes. Of the adjoint's: up to 16 phases of one plane, and a share of the directions. */
#include "srm_stream_piece.h"

#include <math.h>

enum { BIN = 8 }; /* directions whose taps the adjoint sorts together */

/* Where counting begins: the upper crystal, or for planes of the lower half the lower one. */
static int origin(const struct srm_direction *d, bool lower, int axis)
{
	return lower ? (axis ? d->dz : d->dx) : 0;
}

/* ---- forward: groups of directions ---- */

/* Directions are taken strip by strip: `wide` values of dx, counted from 0 both ways, and in a strip
   by dz, then dx. Where a subset holds all neighbours, strips of 4 make groups of 4 x 4; where it was dealt out
   singly, strips are so much wider that 16 of its directions lie in a square. */
struct strip {
	const struct srm_direction *d;
	int at;
};

static int by_strip(const void *a, const void *b)
{
	const struct strip *x = a, *y = b;
	const struct srm_direction *s = x->d, *t = y->d;
	int order[5] = { s->a - t->a, s->b - t->b, x->at - y->at, s->dz - t->dz, s->dx - t->dx };

	for (int i = 0; i < 5; i++)
		if (order[i]) return order[i];
	return 0;
}

bool iso_stream_neighbours(const struct srm_op *m, int first, int end)
{
	int n = 0;

	for (int j = first; j + 1 < end; j++) n += m->direction[j + 1].dz == m->direction[j].dz + 1;
	return 2 * n > end - first;
}

static int make_strips(struct strip *s, const struct srm_op *m, int first, int end)
{
	double share = (double)(end - first) / m->n_direction;
	int wide = iso_stream_neighbours(m, first, end) ? 4 : (int)ceil(4 / sqrt(share));

	for (int j = first; j < end; j++) {
		int dx = m->direction[j].dx;

		s[j] = (struct strip){ &m->direction[j], dx >= 0 ? dx / wide : -1 - -dx / wide };
	}
	qsort(s + first, (size_t)(end - first), sizeof *s, by_strip);
	return wide;
}

/* Members of a group: of one strip, and no more than its width apart. */
static int group_size(const struct strip *s, int n, int wide)
{
	int k = 1;

	while (k < n && k < STREAM_LANES && s[k].d->a == s->d->a && s[k].d->b == s->d->b &&
	       s[k].at == s->at && s[k].d->dz - s->d->dz < wide)
		k++;
	return k;
}

/* ---- forward: pieces ---- */

/* Keys are of phase px, crystal x and voxel z. */
static struct source forward_source(const struct piece *p, uint64_t key)
{
	const int *d = p->of->m->shape.d, *nc = p->of->m->shape.nc;
	int x = key_x(key), k = key_z(key), z = srm_down(k, d[1]);
	int64_t from = stream_voxel(p->of->l->plane, p->y, x * d[0] + key_plane(key), k);

	return (struct source){
		{ -x, nc[0] - x, -z, nc[1] - z }, (int32_t)from, p->of->l->row_image, STREAM_MARGIN_Z
	};
}

static void forward_taps(struct piece *p, int lane)
{
	const struct srm_direction *d = p->member[lane].d;
	struct srm_taps t = srm_taps_of(p->of->m, p->of->taps, d, p->y);
	const int *phases = p->of->m->shape.d;

	p->useful += t.n * d->nx * d->nz;
	for (int64_t n = 0; n < t.n; n++) {
		int i = t.voxel[n].i - phases[0] * origin(d, p->lower, 0), x = srm_down(i, phases[0]);
		int k = t.voxel[n].k - phases[1] * origin(d, p->lower, 1);
		struct tap tap = { key_of(i - x * phases[0], x, k), lane, (float)t.w[n] };

		piece_add(p, &p->tap, &tap);
	}
}

static void forward_outs(struct piece *p)
{
	for (int i = 0; i < STREAM_LANES; i++) {
		struct stream_out o = { 0 };

		if (i < p->n) {
			const struct srm_direction *d = p->member[i].d;
			int x = d->x0 + origin(d, p->lower, 0), z = d->z0 + origin(d, p->lower, 1);
			struct box b = { x, x + d->nx, z, z + d->nz };

			o = (struct stream_out){ d->first,   d->nz,         1, (int16_t)x, (int16_t)d->nx,
				                 (int16_t)z, (int16_t)d->nz };
			p->places = i ? box_join(p->places, b) : b;
		}
		piece_add(p, &p->pool[OUT], &o);
	}
}

/* By group, then slice: slices 0, 2, ... are shares of the lower half of the planes, 1, 3, ... of the upper. */
static void make_forward(struct piece *p, int64_t number)
{
	const struct pieces *k = p->of;
	const int *start = k->start + number / k->slices;
	int slice = (int)(number % k->slices), share = slice / 2, shares = k->slices / 2;
	int planes = k->m->shape.planes, middle = planes / 2;

	p->member = k->strip + start[0];
	p->n = start[1] - start[0];
	p->lower = slice % 2 == 0;
	int first = p->lower ? 0 : middle, n = p->lower ? middle : planes - middle;

	forward_outs(p);
	for (p->y = first + share * n / shares; p->y < first + (share + 1) * n / shares; p->y++) {
		for (int i = 0; i < p->n; i++) forward_taps(p, i);
		iso_piece_steps(p, forward_source);
	}
	iso_piece_end(p, slice);
}

/* Groups of all subsets: start[g] is a member's place in the strips, first[sub] counts groups. */
static int64_t make_groups(struct pieces *k)
{
	const struct srm_op *m = k->m;
	int64_t n = 0;

	for (int sub = 0; sub < m->n_sub; sub++) {
		int j = m->sub[sub], end = m->sub[sub + 1];
		int wide = make_strips(k->strip, m, j, end);

		k->first[sub] = n;
		for (; j < end; j += group_size(k->strip + j, end - j, wide)) k->start[n++] = j;
	}
	k->start[n] = m->n_direction;
	k->first[m->n_sub] = n;
	return n;
}

/* An average direction's places take half the crystals along either axis. */
int iso_stream_forward(struct srm_stream *s, struct iso_room *room, const struct srm_op *m,
                       const struct iso_srm_rows *taps, const struct stream_layout *l)
{
	struct pieces k = { .make = make_forward, .room = room, .m = m, .taps = taps, .l = l };
	int planes = m->shape.planes, most = planes < 32 ? planes / 4 : 8;
	double x = (m->shape.nc[0] / 2. + 4) / STREAM_CELL_X, z = m->shape.nc[1] / 2. / STREAM_CELL_Z + 1;

	iso_stream_begin(s, &k);
	ISO_HOST(room, k.strip, m->n_direction);
	if (ISO_HOST(room, k.start, m->n_direction + 1)) {
		double warps = (double)make_groups(&k) / m->n_sub * ceil(x * z / STREAM_CELLS);

		k.slices = 2 * iso_stream_slices(2 * warps, most);
		for (int sub = 0; sub <= m->n_sub; sub++) k.first[sub] *= k.slices;
	}
	return iso_stream_make(s, &k);
}

/* ---- adjoint ---- */

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
