/* SPDX-License-Identifier: BSD-3-Clause */
/* Dealing directions and planes to ranks, and gathering what they made. All ranks deal alike: they have the same
   matrix. */
#include "srm_share.h"
#include "core/size.h"

/* ---- dealing ---- */

/* Rank r has pieces first[r] to before first[r + 1]: those whose middle lies in its share of all work. */
static void deal(int *first, const double *work, int n, int ranks)
{
	double all = 0, before = 0;
	int r = 0;

	for (int i = 0; i < n; i++) all += work[i];
	first[0] = 0;
	for (int i = 0; i < n; i++) {
		while (r + 1 < ranks && (before + .5 * work[i]) * ranks >= all * (r + 1)) first[++r] = i;
		before += work[i];
	}
	while (r < ranks) first[++r] = n;
}

/* Taps of the rows of direction d in plane y; the second half of the planes has those of the first, with layers
   exchanged. NULL: 1. */
static int64_t taps_in(const struct srm_op *m, const struct iso_srm_rows *taps, const struct srm_direction *d,
                       int y)
{
	if (!taps) return 1;
	if (y < taps->n / taps->directions) return srm_taps_of(m, taps, d, y).n;
	return srm_taps_of(m, taps, srm_direction_at(m, d->b, d->a, d->number), m->shape.planes - 1 - y).n;
}

static double direction_work(const struct srm_op *m, const struct iso_srm_rows *taps,
                             const struct srm_direction *d)
{
	int64_t n = 0;

	for (int y = 0; y < m->shape.planes; y++) n += taps_in(m, taps, d, y);
	return (double)n * d->nx * d->nz;
}

static double plane_work(const struct srm_op *m, const struct iso_srm_rows *taps, int y)
{
	double sum = 0;

	for (int i = 0; i < m->n_direction; i++) {
		const struct srm_direction *d = &m->direction[i];

		sum += (double)taps_in(m, taps, d, y) * d->nx * d->nz;
	}
	return sum;
}

/* From places in the order to bytes of rows, and whose they are. */
static void place_rows(const struct srm_op *m)
{
	struct srm_share *s = m->share;
	int64_t rows = 0;

	for (int k = 0; k < m->n_sub; k++)
		for (int r = 0, i = m->sub[k]; r <= s->ranks; r++) {
			int end = s->direction[k * (s->ranks + 1) + r];

			for (; i < end; i++) {
				const struct srm_direction *d = &m->direction[s->order[i]];

				rows += (int64_t)d->nx * d->nz;
				s->mine[s->order[i]] = r - 1 == s->rank;
			}
			s->row[k * (s->ranks + 1) + r] = rows * (int64_t)sizeof(iso_real);
		}
}

static int place_of(const int *start, int64_t group)
{
	return start ? start[group] : (int)group;
}

void iso_srm_share_directions(const struct srm_op *m, const struct iso_srm_rows *taps, const int *start,
                              const int64_t *group)
{
	struct srm_share *s = m->share;

	for (int k = 0; k < m->n_sub; k++) {
		int64_t first = group ? group[k] : m->sub[k], end = group ? group[k + 1] : m->sub[k + 1];
		int *place = s->direction + k * (s->ranks + 1);

		for (int64_t g = first; g < end; g++) {
			s->work[g - first] = 0;
			for (int i = place_of(start, g); i < place_of(start, g + 1); i++)
				s->work[g - first] += direction_work(m, taps, &m->direction[s->order[i]]);
		}
		deal(place, s->work, (int)(end - first), s->ranks);
		for (int r = 0; r <= s->ranks; r++) place[r] = place_of(start, first + place[r]);
	}
	place_rows(m);
}

void iso_srm_share_planes(const struct srm_op *m, const struct iso_srm_rows *taps, bool pairs)
{
	struct srm_share *s = m->share;
	int planes = m->shape.planes;

	for (int i = 0; i < planes; i++) {
		s->plane[i] = !pairs ? i : i % 2 ? planes - 1 - i / 2 : i / 2;
		s->work[i] = plane_work(m, taps, s->plane[i]);
	}
	deal(s->planes, s->work, planes, s->ranks);
	for (int r = 0; r <= s->ranks; r++)
		s->voxel[r] = s->planes[r] * (m->voxels / planes) * (int64_t)sizeof(iso_real);
}

void iso_srm_share_make(struct srm_op *m, struct iso_room *room)
{
	struct srm_share *s;
	int64_t pieces = m->n_direction > m->shape.planes ? m->n_direction : m->shape.planes;

	if (!ISO_HOST(room, s, 1)) return;
	s->rank = iso_rank(room->ctx);
	s->ranks = iso_ranks(room->ctx);
	ISO_HOST(room, s->order, m->n_direction);
	ISO_HOST(room, s->direction, (int64_t)m->n_sub * (s->ranks + 1));
	ISO_HOST(room, s->row, (int64_t)m->n_sub * (s->ranks + 1));
	ISO_HOST(room, s->mine, m->n_direction);
	ISO_HOST(room, s->plane, m->shape.planes);
	ISO_HOST(room, s->planes, s->ranks + 1);
	ISO_HOST(room, s->voxel, s->ranks + 1);
	if (!ISO_HOST(room, s->work, pieces)) return;
	m->share = s;
	for (int i = 0; i < m->n_direction; i++) s->order[i] = i;
	iso_srm_share_directions(m, NULL, NULL, NULL);
	iso_srm_share_planes(m, NULL, false);
}

/* ---- gathering, on the host ---- */

int iso_srm_gather_rows(const iso_op *op, int sub, iso_real *y, int st)
{
	const struct srm_share *s = ((const struct srm_op *)op->data)->share;
	struct srm_subsets k = srm_subsets(op->n_sub, sub);

	if (s->ranks == 1) return st;
	for (; k.first < k.end; k.first++)
		st = iso_comm_gather_host(op->ctx, st, y, s->row + k.first * (s->ranks + 1));
	return st;
}

/* Planes from `first` to before `end` in the order of ranks, between the image and `packed`, where they lie one behind
   the other. */
static void move_planes(iso_real *packed, iso_real *x, const struct srm_op *m, int first, int end, bool pack)
{
	int64_t nx = (int64_t)m->shape.nc[0] * m->shape.d[0], nz = (int64_t)m->shape.nc[1] * m->shape.d[1];

	for (int k = first; k < end; k++)
		for (int64_t z = 0; z < nz; z++) {
			iso_real *a = packed + (k * nz + z) * nx,
				 *b = x + srm_voxel_index(&m->shape, m->share->plane[k], 0, (int)z);

			memcpy(pack ? a : b, pack ? b : a, (size_t)nx * sizeof *x);
		}
}

int iso_srm_gather_planes(const iso_op *op, iso_real *x, int st)
{
	const struct srm_op *m = op->data;
	const struct srm_share *s = m->share;
	iso_real *packed;

	if (s->ranks == 1) return st;
	packed = size_alloc(op->n_in, sizeof *packed);
	if (!st && !packed) st = iso_fail_memory("srm: planes of all ranks", op->n_in * (int64_t)sizeof *x);
	if (!st) move_planes(packed, x, m, s->planes[s->rank], s->planes[s->rank + 1], true);
	st = iso_comm_gather_host(op->ctx, st, packed, s->voxel);
	if (!st) move_planes(packed, x, m, 0, m->shape.planes, false);
	free(packed);
	return st;
}
