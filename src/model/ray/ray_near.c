/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders the events of each subset, a piece at a time, so that those that follow each other meet the same voxels,
   which are then in the cache. The order changes no result: sums are exact. */
#include "ray_near.h"

#include <string.h>

#define COORD_BITS 7 /* of each of a line's four coordinates */
#define KEY_BITS (4 * COORD_BITS + 2)
#define DIGIT_BITS 10
#define DIGITS (1 << DIGIT_BITS)
#define PASSES \
	(3 + KEY_BITS / DIGIT_BITS) /* over the events: taken, their keys, the sort, and into their places */
#define CHUNK 16384                 /* events between two looks at the request to stop */

/* Bits of v, three zeros between any two. */
static uint32_t spread_bits(uint32_t v)
{
	uint32_t r = 0;

	for (int i = 0; i < COORD_BITS; i++) r |= (v >> i & 1) << 4 * i;
	return r;
}

/* `at`: coordinate b or c, in voxels, of a line at a face of the grid. As slopes are at most 1, a line that
   meets the grid has -along <= at <= across + along; the result counts that range in 2^COORD_BITS steps. */
static uint32_t coordinate(double at, int along, int across)
{
	double v = (at + along) / (across + 2. * along);

	return (uint32_t)(fmin(fmax(v, 0), 1 - 1e-9) * (1 << COORD_BITS));
}

/* Morton's order of where the line crosses the first and the last slice: equal steps in each of
   these four coordinates move the line by as much. */
static uint32_t key_of(const struct ray_model *m, const struct iso_event *e)
{
	struct ray r = ray_of_event(m, e, 0);
	int n = m->grid.n[r.axis];

	if (r.k0 >= r.k1) return (uint32_t)3 << 4 * COORD_BITS;
	return (uint32_t)r.axis << 4 * COORD_BITS | spread_bits(coordinate(r.b0, n, r.nb)) << 3 |
	       spread_bits(coordinate(r.c0, n, r.nc)) << 1 |
	       spread_bits(coordinate(r.b0 + (double)n * r.bx, n, r.nb)) << 2 |
	       spread_bits(coordinate(r.c0 + (double)n * r.cx, n, r.nc));
}

/* Where the chunk of n events ends that begins at c: there, if the caller asked to stop. */
static int64_t chunk_end(int64_t c, int64_t n, const iso_ctx *ctx)
{
	return iso_stopped(ctx) ? c : n - c < CHUNK ? n : c + CHUNK;
}

/* One pass of a radix sort; stable, so that equal keys keep the order of the data. It leaves off where the
   caller asked to stop. */
static void sort_digit(struct ray_near_item *dst, const struct ray_near_item *src, int64_t n, int shift,
                       const iso_ctx *ctx, struct iso_clock *clock)
{
	int64_t place[DIGITS + 1] = { 0 };

	for (int64_t i = 0; i < n; i++) place[(src[i].key >> shift & (DIGITS - 1)) + 1]++;
	for (int d = 0; d < DIGITS; d++) place[d + 1] += place[d];
	for (int64_t c = 0; c < n; c += CHUNK) {
		int64_t end = chunk_end(c, n, ctx);

		for (int64_t i = c; i < end; i++) dst[place[src[i].key >> shift & (DIGITS - 1)]++] = src[i];
		iso_clock_add(clock, end - c);
	}
}

static struct ray_near_item *sort(struct ray_near_item *a, struct ray_near_item *b, int64_t n,
                                  const iso_ctx *ctx, struct iso_clock *clock)
{
	for (int shift = 0; shift < KEY_BITS && !iso_stopped(ctx); shift += DIGIT_BITS) {
		struct ray_near_item *t = a;

		sort_digit(b, a, n, shift, ctx, clock);
		a = b;
		b = t;
	}
	return a;
}

/* What is there while events are ordered: those of a piece as they come, and their keys twice. */
struct near_work {
	struct iso_event *e;
	struct ray_near_item *a, *b;
};

static void sort_piece(struct ray_model *m, struct iso_rows r, const struct near_work *w, const iso_ctx *ctx,
                       struct iso_clock *clock)
{
	const int64_t each = ray_stored(m);

	iso_ray_take(w->e, m, ctx, r.first, r.n);
	iso_clock_add(clock, r.n);
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t c = 0; c < r.n; c += CHUNK) {
		int64_t end = chunk_end(c, r.n, ctx);

		for (int64_t i = c; i < end; i++)
			w->a[i] = (struct ray_near_item){ key_of(m, w->e + each * i), (uint32_t)i };
		iso_clock_add(clock, end - c);
	}
	struct ray_near_item *sorted = sort(w->a, w->b, r.n, ctx, clock);

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t c = 0; c < r.n; c += CHUNK) {
		int64_t end = chunk_end(c, r.n, ctx);

		for (int64_t i = c; i < end; i++) {
			m->row[r.first + i] = r.first + sorted[i].from;
			memcpy(m->e + each * (r.first + i), w->e + each * sorted[i].from,
			       (size_t)each * sizeof *m->e);
		}
		iso_clock_add(clock, end - c);
	}
}

/* The pieces of a subset. */
static void sort_rows(struct ray_model *m, struct iso_rows all, const struct near_work *w, const iso_ctx *ctx,
                      struct iso_clock *clock)
{
	int64_t end = all.first + all.n;

	for (int64_t i = all.first; i < end && !iso_stopped(ctx); i += ISO_RAY_NEAR_PIECE) {
		int64_t n = end - i < ISO_RAY_NEAR_PIECE ? end - i : ISO_RAY_NEAR_PIECE;

		sort_piece(m, (struct iso_rows){ i, n }, w, ctx, clock);
	}
}

int iso_ray_near(struct ray_model *m, const iso_ctx *ctx)
{
	int64_t most = order_most_rows(&m->order);
	struct iso_room room = { .what = "ray order" };
	struct near_work w;
	struct iso_clock clock = iso_clock_brief(ctx, "order", "events", PASSES * m->n, NULL);
	double began = iso_now_s();

	most = most < ISO_RAY_NEAR_PIECE ? most : ISO_RAY_NEAR_PIECE;
	iso_clock_count(&clock, "events", 1. / PASSES);
	ISO_HOST(&room, w.e, most * ray_stored(m));
	ISO_HOST(&room, w.a, most);
	ISO_HOST(&room, w.b, most);
	for (int sub = 0; sub < m->order.n_sub && !room.status; sub++)
		sort_rows(m, order_rows(&m->order, sub), &w, ctx, &clock);
	iso_clock_end(&clock);
	m->ordering_s = iso_now_s() - began;
	int st = iso_room_free(&room);

	return st ? st : iso_ctx_poll(ctx);
}
