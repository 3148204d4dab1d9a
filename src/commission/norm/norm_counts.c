/* SPDX-License-Identifier: BSD-3-Clause */
/* Events as counts of crystal pairs, row by row. */
#include "norm_own.h"

#include "core/size.h"
#include "io/events.h"

enum { PIECE = 1 << 17, LEFT_OUT = -2 }; /* events at a time; no number of a pair */
#define MOST_FEW 255
#define FAR_MM 30 /* an end farther than this from every crystal is of another scanner */

/* A pair of the scanner, but not of the share that is looked at. */
static bool is_left_out(const struct norm_rows *r, int64_t a, int64_t b)
{
	return r->share > 0 && a != b && pairs_coincide(&r->s->pairs, a < b ? a : b, a < b ? b : a);
}

/* Numbers of the pairs of events, -1: none; LEFT_OUT; crystals that the file does not give are the nearest ones. */
static void find_pairs(int64_t *pair, const struct iso_events *e, const struct norm_rows *r,
                       const iso_ctx *ctx)
{
#pragma omp parallel for num_threads(iso_ctx_threads(ctx))
	for (int64_t i = 0; i < e->n; i++) {
		int64_t c[2];
		bool bad = iso_event_bad(e->v + i);

		for (int k = 0; k < 2 && !bad; k++) {
			const float *p = k ? e->v[i].p2 : e->v[i].p1;
			double far = 0;

			c[k] = e->crystal ? (int64_t)e->crystal[2 * i + k]
			                  : iso_scanner_nearest(&far, r->s,
			                                        (const double[]){ (double)p[0], (double)p[1],
			                                                          (double)p[2] });
			bad = c[k] < 0 || far > FAR_MM;
		}
		pair[i] = bad ? -1 : norm_rows_pair(r, c[0], c[1]);
		if (pair[i] < 0 && !bad && is_left_out(r, c[0], c[1])) pair[i] = LEFT_OUT;
	}
}

/* Counts of pairs while they are added up: one of the two. */
struct sums {
	float *y;
	uint8_t *few;
};

static int add_count(const struct sums *to, int64_t pair, double count)
{
	if (!to->few) {
		to->y[pair] += (float)count;
		return ISO_OK;
	}
	const double sum = to->few[pair] + count;

	if (sum > MOST_FEW || sum != floor(sum))
		return iso_fail(
			ISO_EINPUT,
			"norm: without tables a pair of crystals counts whole events, at most %d; this one "
			"has %g: give more memory",
			MOST_FEW, sum);
	to->few[pair] = (uint8_t)sum;
	return ISO_OK;
}

static int add_events(const struct sums *to, double *all, double *astray, const struct iso_events *e,
                      int64_t *pair, const struct norm_rows *r, const iso_ctx *ctx)
{
	int st = ISO_OK;

	find_pairs(pair, e, r, ctx);
	for (int64_t i = 0; i < e->n && !st; i++) {
		const double count = e->count ? (double)e->count[i] : 1;

		if (!(count >= 0) || !isfinite(count))
			return iso_fail(ISO_EINPUT,
			                "norm: count of line %" PRId64 " is %g, must be 0 or above", i,
			                count);
		if (pair[i] == LEFT_OUT) continue;
		*all += count;
		if (pair[i] < 0)
			*astray += count;
		else
			st = add_count(to, pair[i], count);
	}
	return st;
}

static int add_file(const struct sums *to, double *all, double *astray, iso_ctx *ctx,
                    const struct norm_rows *rows, const iso_event_file *f, int64_t *pair)
{
	const int64_t n = iso_event_file_info(f)->n;
	struct iso_events block = { 0 };
	struct iso_clock clock = iso_clock_brief(ctx, "counts", "events", n, NULL);
	int st = iso_event_file_block(&block, f, n < PIECE ? n : PIECE);

	for (int64_t i = 0; i < n && !st; i += PIECE) {
		st = iso_event_file_read(&block, f, i, n - i < PIECE ? n - i : PIECE);
		if (!st) st = add_events(to, all, astray, &block, pair, rows, ctx);
		if (!st) st = iso_ctx_poll(ctx);
		if (!st) iso_clock_add(&clock, block.n);
	}
	iso_clock_end(&clock);
	iso_events_free(&block);
	return st;
}

static int compress(struct norm_counts *c, struct iso_room *room, const struct norm_rows *r, const float *y)
{
	struct norm_run *run = size_alloc(norm_rows_most(r), sizeof *run);
	int64_t n = 0, at = 0;

	for (int64_t i = 0; i < r->first[r->n]; i++) n += y[i] > 0;
	ISO_HOST(room, c->first, r->n + 1);
	ISO_HOST(room, c->b, n + 1);
	ISO_HOST(room, c->y, n + 1);
	if (!run || room->status) {
		free(run);
		return room->status ? room->status : iso_fail_memory("norm", n);
	}
	for (int64_t a = 0; a < r->n; a++) {
		const int64_t runs = norm_rows_runs(run, r, a);

		for (int64_t k = 0; k < runs; k++)
			for (int64_t j = 0; j < run[k].n; j++) {
				if (!(y[run[k].pair + j] > 0)) continue;
				c->b[at] = (uint32_t)(run[k].b + j);
				c->y[at++] = y[run[k].pair + j];
			}
		c->first[a + 1] = at;
	}
	free(run);
	return ISO_OK;
}

int norm_counts_make(struct norm_counts *c, double *all, double *astray, struct iso_room *room, iso_ctx *ctx,
                     const struct norm_rows *rows, const struct iso_norm_scan *s, bool lists)
{
	struct iso_room own = iso_room_of(NULL, "norm");
	struct sums to = { 0 };
	int64_t *pair;
	int st;

	*all = *astray = 0;
	if (lists)
		ISO_HOST(&own, to.y, rows->first[rows->n]);
	else if (ISO_HOST(room, to.few, rows->first[rows->n]))
		c->few = to.few;
	ISO_HOST(&own, pair, s->events ? s->events->n : PIECE);
	st = room->status ? room->status : own.status;
	if (!st && s->events)
		st = add_events(&to, all, astray, s->events, pair, rows, ctx);
	else if (!st)
		st = add_file(&to, all, astray, ctx, rows, s->file, pair);
	if (!st && lists) st = compress(c, room, rows, to.y);
	iso_room_free(&own);
	return st;
}

struct norm_counted norm_counts_row(const struct norm_line *line, const struct norm_counts *c,
                                    const struct norm_rows *rows, int64_t a)
{
	if (!c->few) {
		const int64_t at = c->first ? c->first[a] : 0;

		return (struct norm_counted){ c->first ? c->first[a + 1] - at : 0, c->b + at, c->y + at };
	}
	const int64_t runs = norm_rows_runs(line->run, rows, a);
	int64_t n = 0;

	for (int64_t k = 0; k < runs; k++)
		for (int64_t j = 0; j < line->run[k].n; j++) {
			const int count = c->few[line->run[k].pair + j];

			if (count == 0) continue;
			line->b[n] = (uint32_t)(line->run[k].b + j);
			line->y[n++] = (float)count;
		}
	return (struct norm_counted){ n, line->b, line->y };
}
