/* SPDX-License-Identifier: BSD-3-Clause */
/* Means over the lines between rings, on the CPU: eight pairs in the plane go together. All eight sheets
   have their lines in the same places, so for each line and step there is one addition of eight numbers,
   without a look at where they are. */
#include "ray_means.h"

#include <omp.h>

#define BATCH 8
#define LEAST 1e-4f /* sum of shapes of a cell; below are rounding errors */

/* Rows of the sheet that a line meets at a step. */
struct rows {
	int row[2];
};

/* A line between rings: `at` in the factors. */
struct line {
	int i, k, at;
};

/* What a line in the plane leaves in a pixel. */
struct part {
	int pixel, step; /* the step before */
	float length;    /* mm */
	float beyond;    /* of the step */
};

/* Pairs of one batch: first .. first + n, of one offset. */
struct batch {
	struct part *part[BATCH];
	int n_parts[BATCH];
	float *factor;    /* (rings, rings, BATCH): integrals of mu, then factors times shapes */
	float *column[2]; /* (rows, BATCH) of a step, and of the next */
	float *sum;       /* (cells + 2, parts, BATCH): how factors change from cell to cell, then means */
	float *row[3];    /* (parts, BATCH) of a cell, between those before and after it */
	int64_t first;
	int n;
	int low, high; /* the cells of the pixels that it crosses */
};

struct means_work {
	const struct ray_means *m;
	const struct ray_rings *r;
	const iso_ctx *ctx;
	struct line *line;
	int lines;
	struct rows *rows; /* (steps + 1, lines) */
	float *z;          /* (kinds, 2, rings): where lines end, in parts of slices */
	float *over; /* (offsets, kinds, cells, slices) of a round: 1 over the sum of shapes; 0: no line */
	struct batch *batch; /* one a thread */
};

static size_t factor_bytes(const struct ray_means *m)
{
	return (size_t)m->rings * (size_t)m->rings * BATCH * sizeof(float);
}

static size_t sum_bytes(const struct ray_means *m)
{
	return (size_t)(m->cells + 2) * (size_t)m->parts * BATCH * sizeof(float);
}

/* ---- mu along the lines ---- */

/* The parts of pair k in the plane of mu, by growing t. */
static int find_parts(struct part *part, const struct means_work *w, int64_t k)
{
	struct ray_rings map = *w->r;

	map.plane = w->m->plane;
	map.spread.lines = 1;
	struct rings_line l = rings_line(&map, k, 0);
	int n = 0;

	for (int s = l.ray.k0; s < l.ray.k1; s++) {
		struct ray_cut cut = ray_cut_slice(&l.ray, s);

		for (int i = 0; i < 3; i++) {
			double t = rings_t(&l, .5 * ((double)cut.x[i] + cut.x[i + 1]));
			struct part p = { .pixel = cut.voxel[i],
				          .length = (float)((cut.x[i + 1] - cut.x[i]) * l.ray.len) };

			p.beyond = (float)(t * w->m->steps);
			p.step = (int)fmin(p.beyond, w->m->steps - 1);
			p.beyond -= (float)p.step;
			if (p.length > 0) part[n++] = p;
		}
	}
	for (int i = 0; l.per_x < 0 && i < n / 2; i++) {
		struct part swap = part[i];

		part[i] = part[n - 1 - i];
		part[n - 1 - i] = swap;
	}
	return n;
}

/* sum += the mean of two rows. */
static inline void add_rows(float *restrict sum, const float *restrict column, struct rows at)
{
	const float *a = column + at.row[0] * BATCH, *b = column + at.row[1] * BATCH;

#pragma omp simd
	for (int l = 0; l < BATCH; l++) sum[l] = iso_fma(.5f, a[l] + b[l], sum[l]);
}

/* Adds part p of pair l to the columns of its step and of the next. */
static void add_part(struct batch *b, const struct ray_means *m, const struct part *p, int l)
{
	float next = p->beyond * p->length, here = p->length - next;
	const float *mu = m->column + (int64_t)p->pixel * m->nz;

	for (int z = 0; z < m->nz; z++) {
		b->column[0][(z + 1) * BATCH + l] += here * mu[z];
		b->column[1][(z + 1) * BATCH + l] += next * mu[z];
	}
}

/* b->factor = integrals of mu along the lines, as they are in the plane. */
static void integrate(struct batch *b, const struct means_work *w)
{
	const struct ray_means *m = w->m;
	size_t bytes = (size_t)(m->nz + MEANS_PAD) * BATCH * sizeof **b->column;
	int done[BATCH] = { 0 };
	bool any = false;

	for (int l = 0; l < BATCH; l++)
		b->n_parts[l] = l < b->n ? find_parts(b->part[l], w, b->first + l) : 0;
	memset(b->column[0], 0, bytes);
	for (int step = 0; step <= m->steps; step++) {
		const struct rows *rows = w->rows + (int64_t)step * w->lines;
		bool before = any;

		any = false;
		memset(b->column[1], 0, bytes);
		for (int l = 0; l < b->n; l++)
			for (; done[l] < b->n_parts[l] && b->part[l][done[l]].step <= step; done[l]++) {
				add_part(b, m, b->part[l] + done[l], l);
				any = true;
			}
		for (int n = 0; (any || before) && n < w->lines; n++)
			add_rows(b->factor + (int64_t)w->line[n].at * BATCH, b->column[0], rows[n]);
		float *swap = b->column[0];

		b->column[0] = b->column[1];
		b->column[1] = swap;
	}
}

/* ---- factors ---- */

/* From integrals to factors times shapes. `l`: mm between the crystals in the plane. */
static void weigh(struct batch *b, const struct means_work *w, float l)
{
	const struct ray_means *m = w->m;
	int64_t c[BATCH][2], per_ring = w->r->pairs.per_ring;
	double p1[3], p2[3];

	for (int k = 0; k < b->n; k++) rings_crystals(w->r, b->first + k, &c[k][0], &c[k][1], p1, p2);
	for (int n = 0; n < w->lines; n++) {
		struct line a = w->line[n];
		float tilt = means_tilt(m, l, a.i, a.k);
		float *f = b->factor + (int64_t)a.at * BATCH, longer = sqrtf(tilt);
		float shape = means_shape(m, tilt, a.i, a.k);

		for (int k = 0; k < BATCH; k++) f[k] = m->column ? shape * expf(-longer * f[k]) : shape;
		for (int k = 0; m->eff && k < b->n; k++)
			f[k] *= m->eff[a.i * per_ring + c[k][0]] * m->eff[a.k * per_ring + c[k][1]];
	}
}

/* ---- means ---- */

/* From `at` on, in cells, part p has `factor` more, or less, where sign is -1. */
static inline void change(float *restrict sum, const struct ray_means *m, int p, float at, float sign,
                          const float *restrict factor)
{
	if (p < 0 || p >= m->parts) return;
	int cell = (int)at;
	float next = sign * (at - (float)cell), here = sign - next;
	float *to = sum + ((int64_t)cell * m->parts + p) * BATCH, *then = to + (int64_t)m->parts * BATCH;

#pragma omp simd
	for (int l = 0; l < BATCH; l++) {
		to[l] = iso_fma(here, factor[l], to[l]);
		then[l] = iso_fma(next, factor[l], then[l]);
	}
}

/* b->sum = how the sum of factors in each part changes from cell to cell, b->low first. */
static void enter_lines(struct batch *b, const struct means_work *w, int kind)
{
	const struct ray_means *m = w->m;
	const float *z = w->z + 2 * kind * m->rings, *z_k = z + m->rings;
	float cells = (float)(b->high - b->low + 1);

	memset(b->sum, 0, sum_bytes(m));
	for (int n = 0; n < w->lines; n++) {
		struct line l = w->line[n];
		const float *factor = b->factor + (int64_t)l.at * BATCH;

		if (!means_join(m, &w->r->spread, kind, l.i, l.k)) continue;
		struct means_walk a = means_walk(m, z[l.i], z_k[l.k], b->low, b->high);

		if (a.beside > 0) change(b->sum, m, a.now + a.up, 0, a.beside, factor);
		for (change(b->sum, m, a.now, 0, 1 - a.beside, factor); a.left > 0 && a.at < cells;
		     a.left--, a.at += a.every) {
			change(b->sum, m, a.now, a.at, -1, factor);
			a.now += a.up;
			change(b->sum, m, a.now, a.at, 1, factor);
		}
	}
}

/* b->row of cell b->low + cell, after that before it; of cell 0 for a start. */
static void next_cell(struct batch *b, const struct ray_means *m, int cell)
{
	int64_t n = (int64_t)m->parts * BATCH;
	float *swap = b->row[0];

	b->row[0] = b->row[1];
	b->row[1] = b->row[2];
	b->row[2] = swap;
	if (cell == 0) {
		memset(b->row[0], 0, (size_t)n * sizeof **b->row);
		memcpy(b->row[1], b->sum, (size_t)n * sizeof **b->row);
	}
	const float *change = b->sum + (cell + 1) * n;

	for (int64_t i = 0; i < n; i++) b->row[2][i] = b->row[1][i] + change[i];
}

/* all = over the parts of slice j; of the cells before and after a little, for where this one has none. */
static inline void add_parts(float all[BATCH], const struct batch *b, const struct ray_means *m, int j)
{
	int last = means_last(m, j);

	memset(all, 0, BATCH * sizeof *all);
	for (int i = means_first(m, j); i <= last; i++) {
		const float *now = b->row[1] + i * BATCH, *before = b->row[0] + i * BATCH,
			    *after = b->row[2] + i * BATCH, counts = means_counts(m, j, i);

		for (int l = 0; l < BATCH; l++)
			all[l] += counts * (now[l] + MEANS_NEXT * (before[l] + after[l]));
	}
}

/* over of eight offsets of the round from `first` on, a kind of lines: by shapes alone, an offset a lane. */
static void set_over(struct means_work *w, struct batch *b, const struct means_round *round, int64_t first,
                     int kind)
{
	const struct ray_means *m = w->m;
	int64_t each = (int64_t)m->cells * m->slices, offset = each * (round->k1 - round->k0);
	int64_t left = round->o1 - first;
	float *to = w->over + (first - round->o0) * offset + (kind - round->k0) * each;

	for (int n = 0; n < w->lines; n++)
		for (int k = 0; k < BATCH; k++) {
			struct line a = w->line[n];
			float tilt =
				means_tilt(m, (float)w->r->apart[k < left ? first + k : first], a.i, a.k);

			b->factor[(int64_t)a.at * BATCH + k] = means_shape(m, tilt, a.i, a.k);
		}
	b->low = 0;
	b->high = m->cells - 1;
	enter_lines(b, w, kind);
	for (int cell = 0; cell < m->cells; cell++) {
		float *over = to + (int64_t)cell * m->slices, all[BATCH];

		next_cell(b, m, cell);
		for (int j = 0; j < m->slices; j++) {
			add_parts(all, b, m, j);
			for (int k = 0; k < BATCH && k < left; k++)
				over[k * offset + j] = all[k] > LEAST ? 1 / all[k] : 0;
		}
	}
}

/* Means of a cell for the batch: into `mean` of its first pair; from pair to pair there are so many. */
static void leave_cell(float *mean, int64_t pair, const struct batch *b, const struct ray_means *m,
                       const float *over)
{
	for (int j = 0; j < m->slices; j++) {
		float all[BATCH];

		add_parts(all, b, m, j);
		for (int l = 0; l < b->n; l++) mean[l * pair + j] = fmaxf(all[l] * over[j], 0);
	}
}

static void find_cells(struct batch *b, const struct means_work *w)
{
	b->low = w->m->cells;
	b->high = -1;
	for (int l = 0; l < b->n; l++)
		for (int kind = 0; kind < w->r->kinds; kind++) {
			struct rings_line a = rings_line(w->r, b->first + l, kind);
			int low, high;

			if (a.ray.k0 >= a.ray.k1) continue;
			means_cells(w->m, &a, &low, &high);
			b->low = low < b->low ? low : b->low;
			b->high = high > b->high ? high : b->high;
		}
}

/* mean: of the first kind of the batch's first pair; over: of the offset and that kind. */
static void do_batch(float *mean, struct batch *b, const struct means_work *w,
                     const struct means_round *round, float apart, const float *over)
{
	const struct ray_means *m = w->m;
	int64_t size = means_size(m), kinds = round->k1 - round->k0;

	find_cells(b, w);
	if (b->low > b->high) return;
	memset(b->factor, 0, factor_bytes(m));
	if (m->column) integrate(b, w);
	weigh(b, w, apart);
	for (int64_t k = 0; k < kinds; k++) {
		enter_lines(b, w, round->k0 + (int)k);
		for (int64_t cell = b->low; cell <= b->high; cell++) {
			next_cell(b, m, (int)cell - b->low);
			leave_cell(mean + k * size + cell * m->stride, kinds * size, b, m,
			           over + (k * m->cells + cell) * m->slices);
		}
	}
}

static void fill_over(struct means_work *w, const struct means_round *round)
{
	int64_t kinds = round->k1 - round->k0, runs = (round->o1 - round->o0 + BATCH - 1) / BATCH;

#pragma omp parallel for num_threads(w->ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < runs * kinds; i++)
		if (!iso_stopped(w->ctx))
			set_over(w, w->batch + omp_get_thread_num(), round, round->o0 + i / kinds * BATCH,
			         round->k0 + (int)(i % kinds));
}

void iso_means_fill(float *mean, struct means_work *w, struct means_round round, int groups, unsigned which)
{
	const struct ray_rings *r = w->r;
	int64_t each = (r->pairs.per_ring + BATCH - 1) / BATCH, first = rings_first(r, round.o0);
	int64_t of_offset = (int64_t)(round.k1 - round.k0) * w->m->cells * w->m->slices;

	fill_over(w, &round);
#pragma omp parallel for num_threads(w->ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < (round.o1 - round.o0) * each; i++) {
		struct batch *b = w->batch + omp_get_thread_num();
		int64_t o = round.o0 + i / each, from = i % each * BATCH, left = rings_count(r, o) - from;

		if (!(which >> o % groups & 1)) continue;
		b->first = rings_first(r, o) + from;
		b->n = left < BATCH ? (int)left : BATCH;
		if (left > 0 && !iso_stopped(w->ctx))
			do_batch(mean + means_place(w->m, &round, b->first, first, round.k0), b, w, &round,
			         (float)r->apart[o], w->over + (o - round.o0) * of_offset);
	}
}

/* ---- work space ---- */

static void list_lines(struct means_work *w)
{
	const struct ray_means *m = w->m;

	for (int i = 0; i < m->rings; i++)
		for (int k = 0; k < m->rings; k++)
			if (abs(i - k) < m->reach + 1)
				w->line[w->lines++] = (struct line){ i, k, i * m->rings + k };
	for (int kind = 0; kind < m->kinds; kind++)
		for (int end = 0; end < 2; end++)
			for (int i = 0; i < m->rings; i++)
				w->z[(2 * kind + end) * m->rings + i] =
					means_part(m, i, rings_up(&w->r->spread, kind, end));
}

static void place_lines(struct means_work *w)
{
	const struct ray_means *m = w->m;

	for (int step = 0; step <= m->steps; step++)
		for (int n = 0; n < w->lines; n++)
			for (int i = 0; i < 2; i++) {
				float a = means_row(m, w->line[n].i), b = means_row(m, w->line[n].k);
				float t = ((float)step + (i ? .25f : -.25f)) / (float)m->steps;

				w->rows[(int64_t)step * w->lines + n].row[i] =
					(int)fminf(fmaxf(floorf(a + (b - a) * t), 0), (float)(m->nz + 1));
			}
}

static int open_batch(struct batch *b, struct iso_room *room, const struct ray_means *m)
{
	int64_t parts = 3 * ((int64_t)m->plane.n[0] + m->plane.n[1]), rows = m->nz + MEANS_PAD;

	for (int l = 0; l < BATCH && m->column; l++) ISO_HOST(room, b->part[l], parts);
	for (int i = 0; i < 2; i++) ISO_HOST(room, b->column[i], rows * BATCH);
	b->factor = iso_room_host(room, (int64_t)factor_bytes(m), 1);
	b->sum = iso_room_host(room, (int64_t)sum_bytes(m), 1);
	for (int i = 0; i < 3; i++) ISO_HOST(room, b->row[i], (int64_t)m->parts * BATCH);
	return room->status;
}

static int64_t over_floats(const struct ray_means *m, struct means_round most)
{
	return (most.o1 - most.o0) * (most.k1 - most.k0) * m->cells * m->slices;
}

int iso_means_open(struct means_work **out, struct iso_room *room, const struct ray_means *m,
                   const struct ray_rings *r, struct means_round most)
{
	struct means_work *w;

	if (!ISO_HOST(room, w, 1)) return room->status;
	*w = (struct means_work){ .m = m, .r = r, .ctx = room->ctx };
	ISO_HOST(room, w->batch, w->ctx->threads);
	ISO_HOST(room, w->line, (int64_t)m->rings * m->rings);
	ISO_HOST(room, w->z, 2 * (int64_t)m->kinds * m->rings);
	ISO_HOST(room, w->over, over_floats(m, most));
	for (int i = 0; i < w->ctx->threads && !room->status; i++) open_batch(w->batch + i, room, m);
	if (room->status) return room->status;
	list_lines(w);
	if (m->column && ISO_HOST(room, w->rows, (int64_t)(m->steps + 1) * w->lines)) place_lines(w);
	*out = w;
	return room->status;
}

void iso_means_open_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct ray_means *m,
                         const struct ray_sens *q, struct means_round most)
{
	int64_t lines = (int64_t)m->rings * m->rings;
	int64_t own = 3 * ((int64_t)m->plane.n[0] + m->plane.n[1]) * BATCH * (int64_t)sizeof(struct part);

	own += (2 * (int64_t)(m->nz + MEANS_PAD) + 3 * (int64_t)m->parts) * BATCH * (int64_t)sizeof(float);
	own += (int64_t)(factor_bytes(m) + sum_bytes(m));
	iso_plan_add(plan, "lines between rings, a thread", ctx->threads, own, false);
	iso_plan_add(plan, "lines between rings, at each step", lines * (q->mu ? m->steps + 1 : 0),
	             sizeof(struct rows), false);
	iso_plan_add(plan, "lines between rings, in each cell", over_floats(m, most), sizeof(float), false);
}
