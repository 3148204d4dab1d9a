/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes into the streams. A piece of the forward projection's: up to 16 directions near each other, and a
   share of the planes. Of the adjoint's: up to 16 phases of one plane, and a share of the directions. A rank makes
   the pieces of its groups of directions and of its planes, the same that one rank alone would make. */
#include "srm_stream_piece.h"
#include "model/srm/srm_share.h"

enum { BIN = 8 }; /* directions that share a board in the adjoint */

/* Where counting begins: the upper crystal, or for planes of the lower half the lower one. */
static int origin(const struct srm_direction *d, bool lower, int axis)
{
	return lower ? (axis ? d->dz : d->dx) : 0;
}

/* Of the weights of a direction and plane. */
static const uint16_t *halves_of(const struct pieces *k, const struct srm_direction *d,
                                 const struct srm_taps *t)
{
	int pair = d->a * k->m->shape.layers + d->b;

	return k->taps->half[pair] + (t->w - k->taps->rows[pair].w);
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

/* Planes of the board are phases px, rows crystals x, columns voxels z. */
static bool forward_board(struct board *s, const struct pieces *k)
{
	const int *d = k->m->shape.d, *nc = k->m->shape.nc;

	return iso_board_open(s, d[0], -nc[1] * d[1], 2 * nc[1] * d[1], -nc[0], 2 * nc[0], k->taps->rest);
}

static struct source forward_source(const struct piece *p, int px)
{
	const struct srm_shape *h = &p->of->m->shape;
	const struct stream_layout *l = p->of->l;

	return (struct source){ .base = stream_voxel(l->plane, p->y, px, 0),
		                .stride = l->row_image,
		                .margin = STREAM_MARGIN_Z,
		                .nx = h->nc[0],
		                .nz = h->nc[1],
		                .per = h->d[1] };
}

static void forward_taps(struct piece *p, int lane)
{
	const struct srm_direction *d = p->member[lane].d;
	const struct srm_shape *h = &p->of->m->shape;
	struct srm_taps t = srm_taps_of(p->of->m, p->of->taps->rows, d, p->y);
	const uint16_t *half = halves_of(p->of, d, &t);
	const struct voxel_place *x = p->of->x + h->nc[0] * h->d[0];
	int x0 = origin(d, p->lower, 0), z0 = h->d[1] * origin(d, p->lower, 1);

	p->useful += t.n * d->nx * d->nz;
	p->full |= !iso_board_reserve(&p->board, t.n);
	for (int64_t n = 0; n < t.n && !p->full; n++) {
		struct voxel_place at = x[t.voxel[n].i];

		piece_put(p, at.phase, at.cell - x0, t.voxel[n].k - z0, lane, half[n], t.w + n);
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
		iso_piece_add(p, &p->pool[OUT], &o);
	}
}

/* By group, then slice: slices 0, 2, ... are shares of the lower half of the planes, 1, 3, ... of the upper. */
static void make_forward(struct piece *p, int64_t number)
{
	const struct pieces *k = p->of;
	const int *start = k->start + k->group[number / k->slices];
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

/* Of all groups those of this rank, which k->first then counts. */
static void take_groups(struct pieces *k)
{
	const struct srm_op *m = k->m;
	struct srm_share *s = m->share;
	int n = 0;

	for (int i = 0; i < m->n_direction; i++) s->order[i] = (int)(k->strip[i].d - m->direction);
	iso_srm_share_directions(m, k->taps->rows, k->start, k->first);
	for (int sub = 0; sub < m->n_sub; sub++) {
		int g = (int)k->first[sub], end = (int)k->first[sub + 1];

		k->first[sub] = n;
		for (; g < end; g++)
			if (s->mine[s->order[k->start[g]]]) k->group[n++] = g;
	}
	k->first[m->n_sub] = n;
}

/* An average direction's places take half the crystals along either axis. */
int iso_stream_forward(struct srm_stream *s, struct iso_room *room, const struct srm_op *m,
                       const struct stream_taps *taps, const struct stream_layout *l)
{
	struct pieces k = { forward_board, make_forward, .room = room, .m = m, .taps = taps, .l = l };
	int planes = m->shape.planes, most = planes < 32 ? planes / 4 : 8;
	double x = (m->shape.nc[0] / 2. + 4) / STREAM_CELL_X, z = m->shape.nc[1] / 2. / STREAM_CELL_Z + 1;

	iso_stream_begin(s, &k);
	ISO_HOST(room, k.strip, m->n_direction);
	ISO_HOST(room, k.group, m->n_direction);
	if (ISO_HOST(room, k.start, m->n_direction + 1)) {
		double warps = (double)make_groups(&k) / m->n_sub * ceil(x * z / STREAM_CELLS);

		k.slices = 2 * iso_stream_slices(2 * warps, most);
		take_groups(&k);
		for (int sub = 0; sub <= m->n_sub; sub++) k.first[sub] *= k.slices;
	}
	return iso_stream_make(s, &k);
}

/* ---- adjoint ---- */

/* Planes of the board are directions of a bin, rows crystals -x (a row of taps further on reads a row of places
   further), columns crystals -z. Phases are numbered pz Dx + px: in an image neighbours along x lie side by
   side. */
static bool adjoint_board(struct board *s, const struct pieces *k)
{
	const int *nc = k->m->shape.nc;

	return iso_board_open(s, BIN, -nc[1], 2 * nc[1] + 1, -nc[0], 2 * nc[0] + 1, k->taps->rest);
}

static struct source adjoint_source(const struct piece *p, int member)
{
	const struct srm_direction *d = p->bin + member;
	const struct stream_layout *l = p->of->l;
	int x = d->x0 + origin(d, p->lower, 0), z = d->z0 + origin(d, p->lower, 1);

	return (struct source){
		.base = l->direction[d - p->of->m->direction] - (int64_t)x * l->row_data - z,
		.stride = l->row_data,
		.margin = STREAM_MARGIN_DATA,
		.x0 = x,
		.nx = d->nx,
		.z0 = z,
		.nz = d->nz,
		.per = 1,
	};
}

static void adjoint_taps(struct piece *p, int member)
{
	const struct srm_direction *d = p->bin + member;
	const struct srm_shape *h = &p->of->m->shape;
	struct srm_taps t = srm_taps_of(p->of->m, p->of->taps->rows, d, p->y);
	const uint16_t *half = halves_of(p->of, d, &t);
	const struct voxel_place *x = p->of->x + h->nc[0] * h->d[0], *z = p->of->z + h->nc[1] * h->d[1];
	int x0 = origin(d, p->lower, 0), z0 = origin(d, p->lower, 1);

	p->full |= !iso_board_reserve(&p->board, t.n);
	for (int64_t n = 0; n < t.n && !p->full; n++) {
		struct voxel_place i = x[t.voxel[n].i], k = z[t.voxel[n].k];
		int lane = k.phase * h->d[0] + i.phase - p->phase;

		if (lane < 0 || lane >= STREAM_LANES) continue;
		p->useful += (int64_t)d->nx * d->nz;
		piece_put(p, member, x0 - i.cell, z0 - k.cell, lane, half[n], t.w + n);
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
		iso_piece_add(p, &p->pool[OUT], &o);
	}
}

/* By subset, plane, quire of phases, slice. */
static void make_adjoint(struct piece *p, int64_t number)
{
	const struct srm_op *m = p->of->m;
	int slices = p->of->slices, slice = (int)(number % slices);
	int64_t quire = number / slices, plane = quire / p->of->quires;
	const int *range = m->sub + plane / p->of->planes.n;
	int64_t n = range[1] - range[0];
	int end = range[0] + (int)((slice + 1) * n / slices);

	p->y = (int)(p->of->planes.first + plane % p->of->planes.n);
	p->lower = p->y < m->shape.planes / 2;
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
                       const struct stream_taps *taps, const struct stream_layout *l)
{
	const struct srm_shape *h = &m->shape;
	const struct box image = { 0, h->nc[0], 0, h->nc[1] };
	struct pieces k = { adjoint_board, make_adjoint, .room = room, .m = m, .taps = taps, .l = l };
	int64_t quires = k.quires = up(h->d[0] * h->d[1], STREAM_LANES);

	k.slices = iso_stream_slices((double)(h->planes * quires * iso_piece_warps(&image)), INT32_MAX);
	iso_srm_share_planes(m, taps->rows, false);
	k.planes = srm_my_planes(m);
	if (!iso_stream_begin(s, &k))
		for (int sub = 0; sub <= m->n_sub; sub++) k.first[sub] = sub * k.planes.n * quires * k.slices;
	return iso_stream_make(s, &k);
}
