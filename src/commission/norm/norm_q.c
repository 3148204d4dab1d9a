/* SPDX-License-Identifier: BSD-3-Clause */
/* Expected counts of pairs, from a shape or an image. */
#include "norm_place.h"
#include "norm_scatter.h"
#include "norm_shape.h"

#include "core/comm.h"
#include "core/size.h"
#include "model/ray/ray_integrals.h"

#include <omp.h>
#include <string.h>

#define LEAST 1e-4        /* of the mean q: least q of a used pair */
enum { BLOCK = 1 << 16 }; /* pairs at a time whose lines go through an image */

static const double differences[NORM_SHIFTS] = { .05, .05, 2e-4, 2e-4 }; /* mm, rad: half a step */

/* A place in the frame of a source that was moved by shift[0], shift[1] along x and y, and then turned about its centre, so
   that its axis leans by shift[2] towards x and shift[3] towards y. */
void norm_q_to_source(double p[3], const struct norm_q *q, const double shift[NORM_SHIFTS])
{
	const double *centre = q->shape->centre;
	const double x = p[0] - centre[0] - shift[0], y = p[1] - centre[1] - shift[1], z = p[2] - centre[2];
	const double c0 = cos(shift[2]), s0 = sin(shift[2]), c1 = cos(shift[3]), s1 = sin(shift[3]);
	const double up = x * s0 + z * c0;

	p[0] = centre[0] + x * c0 - z * s0;
	p[1] = centre[1] + y * c1 - up * s1;
	p[2] = centre[2] + y * s1 + up * c1;
}

static double weight(const struct norm_q *q, int64_t a, int64_t b)
{
	const double *pos = q->rows->s->pos;

	return q->factor * q->scale * (q->weigh ? pairs_solid_angle(pos + 3 * a, pos + 3 * b) : 1);
}

void norm_q_ends(double p1[3], double p2[3], const struct norm_q *q, int64_t a, int64_t b, int line)
{
	memcpy(p1, q->rows->s->pos + 3 * a, 3 * sizeof *p1);
	memcpy(p2, q->rows->s->pos + 3 * b, 3 * sizeof *p2);
	ray_move_ends(p1, p2, &q->spread, line);
}

/* ---- a block of pairs ---- */

/* Neighbouring pairs, and the integrals of the source along the lines of each. */
struct block {
	int64_t n;
	uint32_t *a, *b;
	int64_t first;   /* number of the first pair */
	iso_real *chord; /* (n, lines) */
	iso_real *alpha; /* the same, of the attenuation; NULL */
	struct iso_events e;
};

static int make_block(struct block *b, struct iso_room *room, const struct norm_q *q, int64_t most)
{
	*b = (struct block){ 0 };
	ISO_HOST(room, b->a, most);
	ISO_HOST(room, b->b, most);
	ISO_HOST(room, b->chord, most * q->spread.lines);
	if (q->mu) ISO_HOST(room, b->alpha, most * q->spread.lines);
	if (q->mu || q->image) ISO_HOST(room, b->e.v, most * q->spread.lines);
	return room->status;
}

/* Rows from *row to `end`, as many as fit. */
static void take_rows(struct block *b, const struct norm_q *q, int64_t *row, int64_t end,
                      struct norm_run *run, int64_t most)
{
	const struct norm_rows *r = q->rows;

	b->n = 0;
	b->first = r->first[*row];
	for (; *row < end && r->first[*row + 1] - b->first <= most; (*row)++) {
		const int64_t runs = norm_rows_runs(run, r, *row);

		for (int64_t k = 0; k < runs; k++)
			for (int64_t j = 0; j < run[k].n; j++) {
				b->a[b->n] = (uint32_t)*row;
				b->b[b->n++] = (uint32_t)(run[k].b + j);
			}
	}
}

static void set_lines(struct block *b, const struct norm_q *q, const iso_ctx *ctx)
{
	const int lines = q->spread.lines;

#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < b->n; i++)
		for (int l = 0; l < lines; l++) {
			double p1[3], p2[3];
			struct iso_event *e = b->e.v + i * lines + l;

			norm_q_ends(p1, p2, q, b->a[i], b->b[i], l);
			for (int c = 0; c < 3; c++) {
				e->p1[c] = (float)p1[c];
				e->p2[c] = (float)p2[c];
			}
		}
	b->e.n = b->n * lines;
}

/* The lines of a pair through the shape, as norm_shape.c has them. */
static void meet_shape(struct block *b, const struct norm_q *q, struct norm_shape *m, const iso_ctx *ctx)
{
	const int lines = q->spread.lines;

#pragma omp parallel for schedule(dynamic, 256) num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < b->n; i++)
		for (int l = 0; l < lines; l++)
			b->chord[i * lines + l] = (iso_real)norm_shape_chord(m, b->a[i], b->b[i], l);
}

static int meet_image(struct block *b, const struct norm_q *q, const iso_real *image, iso_ctx *ctx)
{
	const struct iso_ray p = { .size = sizeof p, .grid = q->image->grid, .n_sub = 1 };

	set_lines(b, q, ctx);
	return iso_ray_integrals(b->chord, ctx, &p, image, &b->e);
}

/* ---- all pairs ---- */

void norm_q_move_image(iso_real *to, const struct iso_array *image, const double *shift)
{
	const struct iso_grid *g = &image->grid;
	const int64_t nx = g->n[0], ny = g->n[1], nz = g->n[2];
	const double fx = -shift[0] / g->voxel[0], fy = -shift[1] / g->voxel[1];
	const int64_t ix = (int64_t)floor(fx), iy = (int64_t)floor(fy);
	const double wx = fx - (double)ix, wy = fy - (double)iy;

	for (int64_t k = 0; k < nz; k++)
		for (int64_t j = 0; j < ny; j++)
			for (int64_t i = 0; i < nx; i++) {
				double sum = 0;

				for (int c = 0; c < 4; c++) {
					const int64_t x = i + ix + c % 2, y = j + iy + c / 2;

					if (x < 0 || y < 0 || x >= nx || y >= ny) continue;
					sum += (c % 2 ? wx : 1 - wx) * (c / 2 ? wy : 1 - wy) *
					       (double)image->v[(k * ny + y) * nx + x];
				}
				to[(k * ny + j) * nx + i] = (iso_real)sum;
			}
}

/* The mean over lines; -0 where a line misses the source, of pairs that are being chosen. */
static double mean_line(struct norm_q *q, const struct block *b, int64_t i, bool choose)
{
	const int lines = q->spread.lines;
	const iso_real *chord = b->chord + i * lines;
	double sum = 0, passed = 0;
	int met = 0;

	for (int l = 0; l < lines; l++) {
		met += chord[l] > 0;
		sum += (double)chord[l];
		if (choose && b->alpha) passed += (double)chord[l] * (double)b->alpha[i * lines + l];
	}
	if (choose && met > 0 && met < lines) {
#pragma omp atomic
		q->edges++;
		return -0.;
	}
	if (choose && q->alpha) q->alpha[b->first + i] = sum > 0 ? (float)(passed / sum) : 0;
	return sum / lines * (q->alpha ? (double)q->alpha[b->first + i] : 1);
}

/* Scattered counts of a pair that is used. */
static double scatter_of(const struct norm_q *q, int64_t pair)
{
	return q->h ? q->factor * q->scale * (double)q->h[pair] : 0;
}

/* Of free detectors not all two are a pair. */
static bool is_pair(const struct norm_q *q, int64_t a, int64_t b)
{
	return q->rows->rings > 0 || iso_scanner_in_coincidence(q->rows->s, a, b);
}

/* q of a pair, from its weight times the mean over its lines. */
static float value(const struct norm_q *q, double weighed, bool choose, int64_t pair)
{
	return choose ? (float)weighed : (float)(fmax(weighed, q->least) + scatter_of(q, pair));
}

static void put(float *to, struct norm_q *q, const struct block *b, const float *used, const iso_ctx *ctx)
{
#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < b->n; i++) {
		const int64_t pair = b->first + i;
		const bool asked = (!used || used[pair] > 0) && is_pair(q, b->a[i], b->b[i]);

		to[pair] =
			asked ? value(q, weight(q, b->a[i], b->b[i]) * mean_line(q, b, i, !used), !used, pair)
			      : 0;
	}
}

/* ---- a shape, row by row ---- */

/* Sums over lines, which are of no use where a line misses the source, of pairs that are being chosen; how many these are.
   to, used: of the run. */
static int64_t put_run(float *to, const struct norm_q *q, const struct norm_shape *m, int thread, int64_t a,
                       const struct norm_run *run, const float *used)
{
	const int lines = q->spread.lines;
	const double *sum = m->sum + thread * m->width, *w = m->weight + thread * m->width;
	const double *met = m->met + thread * m->width;
	int64_t edges = 0;

	for (int64_t j = 0; j < run->n; j++) {
		const int64_t pair = run->pair + j;
		const bool edge = !used && met[j] > 0 && met[j] < lines;
		const bool asked = (!used || used[j] > 0) && is_pair(q, a, run->b + j);
		const double mean = edge ? -0. : sum[j] / lines * (q->alpha ? (double)q->alpha[pair] : 1);

		edges += edge;
		to[j] = asked ? value(q, q->factor * q->scale * (q->weigh ? w[j] : 1) * mean, !used, pair)
		              : 0;
	}
	return edges;
}

/* The pairs of run k of row a that may have a value; used: of the run. */
static struct norm_run pairs_of(const struct norm_shape *m, int64_t a, int64_t k, const struct norm_run *run,
                                const float *used)
{
	if (used) return norm_run_used(*run, used);
	if (!m->known) return *run;
	const struct norm_kept *e = m->kept + a * norm_rows_most(m->q->rows) + k;

	return (struct norm_run){ run->b + e->skip, e->n, run->pair + e->skip };
}

/* to, used: of the row. Returns how many pairs are at the source's edges. */
static int64_t fill_row(float *to, const struct norm_q *q, struct norm_shape *m, int64_t a, const float *used,
                        struct norm_run *run)
{
	const int64_t runs = norm_rows_runs(run, q->rows, a), first = q->rows->first[a];
	int64_t edges = 0;

	for (int64_t k = 0; k < runs; k++) {
		float *of = to + (run[k].pair - first);
		const float *from = used ? used + (run[k].pair - first) : NULL;
		const struct norm_run own = pairs_of(m, a, k, run + k, from);
		const int64_t skip = own.pair - run[k].pair;

		for (int64_t i = 0; i < run[k].n; i++)
			if (i < skip || i >= skip + own.n) of[i] = 0; /* `to` may be `used` itself */
		norm_shape_run(m, omp_get_thread_num(), a, own.b, own.n);
		edges += put_run(of + skip, q, m, omp_get_thread_num(), a, &own, used ? from + skip : NULL);
	}
	return edges;
}

static int fill_shape(float *to, struct norm_q *q, const float *used, struct norm_shape *m, int64_t row,
                      int64_t end, iso_ctx *ctx)
{
	struct iso_room room = iso_room_of(NULL, "norm");
	const int64_t most = norm_rows_most(q->rows), *first = q->rows->first;
	struct norm_run *run;
	int64_t edges = 0;

	ISO_HOST(&room, run, most * iso_ctx_threads(ctx));
	if (!room.status) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(iso_ctx_threads(ctx)) reduction(+ : edges)
		for (int64_t a = row; a < end; a++)
			if (!iso_stopped(ctx))
				edges += fill_row(to + first[a], q, m, a, used ? used + first[a] : NULL,
				                  run + most * omp_get_thread_num());
	}
	q->edges += edges;
	iso_room_free(&room);
	return room.status ? room.status : iso_ctx_poll(ctx);
}

/* Each rank has made the pairs of its rows. */
static int gather(float *to, struct norm_q *q, bool chose, int st, iso_ctx *ctx)
{
	const int ranks = iso_ranks(ctx);
	int64_t *first;

	if (ranks == 1) return st;
	if (!(first = size_alloc(ranks + 1, sizeof *first)))
		return iso_comm_agree(ctx, iso_fail_memory("ranks", ranks * (int64_t)sizeof *first));
	for (int r = 0; r <= ranks; r++)
		first[r] = q->rows->first[norm_rows_of_part(q->rows, r, ranks)] * (int64_t)sizeof *to;
	st = iso_comm_gather_host(ctx, st, to, first);
	if (!st && chose) st = iso_comm_sum(ctx, st, &q->edges, 1);
	if (!st && chose && q->alpha) st = iso_comm_gather_host(ctx, st, q->alpha, first);
	free(first);
	return st;
}

/* Block by block: an image as source, or the attenuation of a pair's lines, which are wanted one by one. */
static int fill_blocks(float *to, struct norm_q *q, const float *used, struct norm_shape *m,
                       const double *shift, int64_t row, int64_t end, iso_ctx *ctx)
{
	struct iso_room room = iso_room_of(NULL, "norm");
	iso_real *image = q->image ? q->image->v : NULL;
	struct norm_run *run;
	struct block b;
	int64_t longest = BLOCK;

	for (int64_t a = 0; a < q->rows->n; a++) {
		const int64_t n = q->rows->first[a + 1] - q->rows->first[a];

		longest = n > longest ? n : longest;
	}
	ISO_HOST(&room, run, norm_rows_most(q->rows));
	if (q->image && (shift[0] != 0 || shift[1] != 0) && ISO_HOST(&room, image, q->image->n))
		norm_q_move_image(image, q->image, shift);
	int st = make_block(&b, &room, q, longest);

	while (row < end && !st) {
		take_rows(&b, q, &row, end, run, longest);
		if (b.n == 0) continue;
		if (q->shape)
			meet_shape(&b, q, m, ctx);
		else
			st = meet_image(&b, q, image, ctx);
		if (!st && !used && b.alpha) {
			set_lines(&b, q, ctx);
			st = iso_ray_attenuation(b.alpha, ctx, q->mu, &b.e);
		}
		if (!st) put(to, q, &b, used, ctx);
		if (!st) st = iso_ctx_poll(ctx);
	}
	iso_room_free(&room);
	return st;
}

/* to = q at this shift; `used`: of pairs that have a value there alone. NULL: they are chosen now. */
static int fill(float *to, struct norm_q *q, const float *used, const struct norm_scan *s, const double *all,
                iso_ctx *ctx)
{
	const int rank = iso_rank(ctx), ranks = iso_ranks(ctx);
	const int64_t row = norm_rows_of_part(q->rows, rank, ranks);
	const int64_t end = norm_rows_of_part(q->rows, rank + 1, ranks);
	struct iso_room room = iso_room_of(NULL, "norm");
	double shift[NORM_SHIFTS] = { 0 };
	struct norm_shape m;
	int st = ISO_OK;

	memcpy(shift, all, (size_t)q->places * sizeof *shift);
	q->scale = s->shifts > q->places ? exp(all[q->places]) : 1;
	if (q->shape) st = norm_shape_create(&m, &room, q, shift, ctx);
	if (!st)
		st = q->shape && (used || !q->mu) ? fill_shape(to, q, used, &m, row, end, ctx)
		                                  : fill_blocks(to, q, used, &m, shift, row, end, ctx);
	iso_room_free(&room);
	return gather(to, q, !used, st, ctx);
}

/* q of the pairs that were chosen, which has no scatter yet, gets it. */
static int add_scatter(struct norm_q *q, struct norm_scan *s, iso_ctx *ctx)
{
	const int64_t n = q->rows->first[q->rows->n];
	double shift[NORM_SHIFTS] = { 0 };
	int st;

	memcpy(shift, s->shift, (size_t)q->places * sizeof *shift);
	if ((st = norm_scatter_estimate(q, shift, ctx)) || (st = norm_scatter_fill(q, s->q, ctx))) return st;
	for (int64_t i = 0; i < n; i++)
		if (s->q[i] > 0) s->q[i] = (float)((double)s->q[i] + scatter_of(q, i));
	return ISO_OK;
}

/* ---- row by row, without tables ---- */

/* q of a row; what its pairs are, is chosen each time in the same way. */
static void make_row(float *to, const struct norm_scan *s, int64_t a)
{
	const struct norm_q *q = s->arg;
	const int64_t n = q->rows->first[a + 1] - q->rows->first[a];

	fill_row(to, q, q->by_row, a, NULL, q->by_row->run + norm_rows_most(q->rows) * omp_get_thread_num());
	for (int64_t i = 0; i < n; i++)
		if (to[i] > 0) to[i] = (float)fmax((double)to[i], q->least);
}

/* What of a row has a value above 0. */
static void keep_row(struct norm_shape *m, int64_t a, const float *row, const struct norm_run *run)
{
	const struct norm_rows *rows = m->q->rows;
	struct norm_kept *kept = m->kept + a * norm_rows_most(rows);

	for (int64_t at = 0, k = 0; at < rows->first[a + 1] - rows->first[a]; at += run[k++].n) {
		const struct norm_run own = norm_run_used(run[k], row + at);

		kept[k] = (struct norm_kept){ (int32_t)(own.pair - run[k].pair), (int32_t)own.n };
	}
}

/* What `choose` finds of the pairs of all rows. Sums as those of a table: pair after pair. */
static int choose_rows(struct norm_q *q, struct norm_scan *s, iso_ctx *ctx)
{
	struct iso_room room = iso_room_of(NULL, "norm");
	const int64_t n = q->rows->n;
	double sum = 0;
	int64_t used = 0;
	struct norm_run *run;
	float *row;

	q->edges = 0;
	q->by_row->known = false;
	ISO_HOST(&room, row, norm_rows_longest(q->rows));
	ISO_HOST(&room, run, norm_rows_most(q->rows));
	for (int64_t a = 0; a < n && !room.status && !iso_stopped(ctx); a++) {
		q->edges += fill_row(row, q, q->by_row, a, NULL, run);
		for (int64_t i = 0; i < q->rows->first[a + 1] - q->rows->first[a]; i++) {
			sum += (double)row[i];
			used += row[i] > 0;
		}
		if (q->by_row->kept) keep_row(q->by_row, a, row, run);
	}
	q->least = used > 0 ? LEAST * sum / (double)used : 0;
	q->chosen = true;
	int st = iso_room_free(&room);

	if (!st && used > 0) st = norm_missed(&q->missed, q, s, ctx); /* of all pairs */
	q->by_row->known = !st && q->by_row->kept;
	return st;
}

int norm_q_create_rows(struct norm_q *q, struct norm_scan *s, struct iso_room *room, const iso_ctx *ctx)
{
	static const double none[NORM_SHIFTS] = { 0 };

	ISO_HOST(room, q->by_row, 1);
	q->scale = 1;
	s->make = norm_q_make;
	s->row = make_row;
	s->arg = q;
	if (room->status || norm_shape_create(q->by_row, room, q, none, ctx)) return room->status;
	ISO_HOST(room, q->by_row->run, norm_rows_most(q->rows) * iso_ctx_threads(ctx));
	/* where it is small beside the counts: not of a small share of the pairs */
	if (norm_rows_most(q->rows) * q->rows->n * (int64_t)sizeof(struct norm_kept) <=
	    q->rows->first[q->rows->n])
		ISO_HOST(room, q->by_row->kept, norm_rows_most(q->rows) * q->rows->n);
	return room->status;
}

/* ---- the pairs that are used ---- */

static int choose(struct norm_q *q, struct norm_scan *s, iso_ctx *ctx)
{
	const int64_t n = q->rows->first[q->rows->n];
	double sum = 0;
	int64_t used = 0;

	if (q->by_row) return choose_rows(q, s, ctx);

	q->edges = 0;
	int st = fill(s->q, q, NULL, s, s->shift, ctx);

	for (int64_t i = 0; i < n && !st; i++) {
		sum += (double)s->q[i];
		used += s->q[i] > 0;
	}
	if (!st && s->y.first && used > 0) st = norm_missed(&q->missed, q, s, ctx);
	q->least = used > 0 ? LEAST * sum / (double)used : 0;
	for (int64_t i = 0; i < n && !st; i++)
		if (s->q[i] > 0) s->q[i] = (float)fmax((double)s->q[i], q->least);
	if (!st && q->scatter && used > 0) st = add_scatter(q, s, ctx);
	q->chosen = !st;
	memcpy(q->chosen_at, s->shift, sizeof q->chosen_at);
	return st;
}

/* Central differences. */
static int make_slope(struct norm_scan *s, struct norm_q *q, int c, iso_ctx *ctx)
{
	const int64_t n = q->rows->first[q->rows->n];
	const double h = differences[c];
	double at[NORM_SHIFTS];
	int st;

	memcpy(at, s->shift, sizeof at);
	at[c] = s->shift[c] + h;
	if ((st = fill(s->slope[c], q, s->q, s, at, ctx))) return st;
	at[c] = s->shift[c] - h;
	if ((st = fill(q->from, q, s->q, s, at, ctx))) return st;
#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < n; i++)
		s->slope[c][i] = (float)(((double)s->slope[c][i] - (double)q->from[i]) / (2 * h));
	return ISO_OK;
}

int norm_q_make(struct norm_scan *s, bool slopes, iso_ctx *ctx)
{
	struct norm_q *q = s->arg;

	if (q->by_row) return q->chosen ? ISO_OK : choose(q, s, ctx);
	int st = q->chosen ? fill(s->q, q, s->q, s, s->shift, ctx) : choose(q, s, ctx);

	for (int c = 0; c < q->places && slopes && !st; c++) st = make_slope(s, q, c, ctx);
	memcpy(q->made_at, s->shift, sizeof q->made_at);
	if (!st && q->from) memcpy(q->from, s->q, (size_t)q->rows->first[q->rows->n] * sizeof *s->q);
	return st;
}

int norm_q_move(struct norm_scan *s, iso_ctx *ctx)
{
	const struct norm_q *q = s->arg;
	const int64_t n = q->rows->first[q->rows->n];
	const int places = q->places;
	const double grown = s->shifts > places ? exp(s->shift[places] - q->made_at[places]) : 1;

#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < n; i++) {
		double sum = (double)q->from[i];

		for (int c = 0; c < places; c++)
			sum += (double)s->slope[c][i] * (s->shift[c] - q->made_at[c]);
		s->q[i] = q->from[i] > 0 ? (float)(fmax(sum, q->least) * grown) : 0;
	}
	return iso_ctx_poll(ctx);
}

static bool same(const double *a, const double *b)
{
	return memcmp(a, b, NORM_SHIFTS * sizeof *a) == 0;
}

/* Scatter that was kept where pairs were chosen again is estimated where it was, and kept again. */
static int restore_scatter(struct norm_q *q, const double *chosen_at, const double *scattered_at,
                           iso_ctx *ctx)
{
	if (!q->scatter || same(chosen_at, scattered_at)) return ISO_OK;
	const int st = norm_scatter_estimate(q, scattered_at, ctx);

	q->scattered = 0;
	return st;
}

int norm_q_restore(struct norm_scan *s, const double *now, const double *made_at, const double *chosen_at,
                   const double *scattered_at, iso_ctx *ctx)
{
	struct norm_q *q = s->arg;
	int st = restore_scatter(q, chosen_at, scattered_at, ctx);

	memcpy(s->shift, chosen_at, sizeof s->shift);
	q->chosen = false;
	if (!st) st = norm_q_make(s, q->places > 0, ctx);
	if (!st && !same(made_at, chosen_at)) {
		memcpy(s->shift, made_at, sizeof s->shift);
		st = norm_q_make(s, false, ctx);
	}
	memcpy(s->shift, now, sizeof s->shift);
	return st || same(now, made_at) || s->shifts == 0 ? st : norm_q_move(s, ctx);
}

int norm_q_create(struct norm_q *q, struct norm_scan *s, struct iso_room *room)
{
	const int64_t n = q->rows->first[q->rows->n];

	ISO_HOST(room, s->q, n);
	if (q->mu) ISO_HOST(room, q->alpha, n);
	if (q->scatter) ISO_HOST(room, q->h, n);
	for (int c = 0; c < q->places; c++) ISO_HOST(room, s->slope[c], n);
	if (s->shifts > 0) ISO_HOST(room, q->from, n);
	s->make = norm_q_make;
	s->move = norm_q_move;
	s->arg = q;
	return room->status;
}

void norm_q_free(struct norm_q *q)
{
	iso_scatter_free(q->table);
	q->table = NULL;
}
