/* SPDX-License-Identifier: BSD-3-Clause */
/* Scattered coincidences of all pairs of a scanner together. Rings: azimuths are interpolated once for two columns of
   crystals, then both ends along z. Free detectors: pair by pair.

   Of a share of the pairs every n-th is taken, from a place that is drawn: along the ring, and along both rings of two
   columns. h is smooth, so that such a sample is far better than as many pairs, or columns, that are drawn alone. */
#include "core/philox.h"
#include "core/progress.h"
#include "core/room.h"
#include "scanner/scanner.h"
#include "table.h"

#include <omp.h>

struct sums {
	const iso_scatter_table *t;
	const iso_real *eff;
	double share;
	uint64_t seed;
	struct table_end *end;  /* of a cylinder: one a column, then one a ring; else one a crystal */
	int64_t columns, rings; /* every so many-th column of a cylinder with another, and ring of both */
};

/* What one thread of the columns needs. */
struct columns {
	float *plane;  /* (sample rings, sample rings): between two columns */
	float *across; /* (rings, sample rings) */
};

/* plane[ra][rb] = the value between columns of azimuths a and b, ring by ring. */
static void between_columns(float *plane, const struct sums *s, const struct table_end *a,
                            const struct table_end *b)
{
	const struct scatter_grid *g = &s->t->grid;

	for (int32_t ra = 0; ra < g->rings; ra++)
		for (int32_t rb = 0; rb < g->rings; rb++) {
			float sum = 0;

			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++) {
					int64_t row = ra <= rb ? table_row(g, ra, a->i[i], rb, b->i[j])
					                       : table_row(g, rb, b->i[j], ra, a->i[i]);

					if (row >= 0) sum += a->w[i] * b->w[j] * s->t->all[row];
				}
			plane[ra * g->rings + rb] = sum;
		}
}

/* A place below `step`, drawn for stream `of` of number i. */
static int64_t start(const struct sums *s, int64_t i, int64_t of, int64_t step)
{
	if (step == 1) return 0;
	return (int64_t)((double)philox_unit(philox_draw(s->seed, (uint64_t)i, (uint64_t)of).w[0]) *
	                 (double)step);
}

/* Sum over the ring pairs of two columns; *drawn += how many these were. */
static double sum_columns(int64_t *drawn, const struct sums *s, const struct columns *w, int64_t ca,
                          int64_t cb)
{
	const iso_scanner *c = s->t->scanner;
	const struct scatter_grid *g = &s->t->grid;
	const struct table_end *ring = s->end + c->pairs.per_ring;
	int64_t rings = c->pairs.rings, per = c->pairs.per_ring, most = c->pairs.max_ring_difference;
	int64_t number = ca * per + cb;
	const double *pa = c->pos + 3 * ca, *pb = c->pos + 3 * cb;
	double d2 = (pa[0] - pb[0]) * (pa[0] - pb[0]) + (pa[1] - pb[1]) * (pa[1] - pb[1]), sum = 0;

	between_columns(w->plane, s, &s->end[ca], &s->end[cb]);
	for (int64_t ra = start(s, number, 1, s->rings); ra < rings; ra += s->rings) {
		const float *low = w->plane + ring[ra].ring * g->rings,
			    *high = g->rings > 1 ? low + g->rings : low;
		int64_t first = (ra > most ? ra - most : 0) + start(s, number, 2 + ra, s->rings);
		double part = 0;

		for (int32_t r = 0; r < g->rings; r++)
			w->across[r] = low[r] + ring[ra].up * (high[r] - low[r]);
		for (int64_t rb = first; rb < rings && rb <= ra + most; rb += s->rings) {
			const float *at = w->across + ring[rb].ring;
			double h = (double)(at[0] + ring[rb].up * (g->rings > 1 ? at[1] - at[0] : 0));
			double z = c->pos[3 * ra * per + 2] - c->pos[3 * rb * per + 2];
			double over = iso_scanner_weighs(c) ? 1 : (d2 + z * z) * (d2 + z * z) / (d2 * d2);

			part += fmax(h, 0) * over * (s->eff ? (double)s->eff[rb * per + cb] : 1);
			++*drawn;
		}
		sum += part * (s->eff ? (double)s->eff[ra * per + ca] : 1);
	}
	return sum;
}

/* How many pairs one stands for: first of rings, of which there are more than twice as many as sample rings, then of
   columns. */
static void choose_steps(struct sums *s)
{
	int64_t times = (int64_t)ceil(1 / s->share - 1e-9),
		most = s->t->scanner->pairs.rings / (2 * s->t->grid.rings);

	s->rings = (int64_t)sqrt((double)times);
	s->rings = s->rings > most ? most : s->rings;
	s->rings = s->rings < 1 ? 1 : s->rings;
	s->columns = (times + s->rings * s->rings - 1) / (s->rings * s->rings);
}

/* The sums of the columns are added in turn, so that their bits do not depend on the number of threads. */
static int sum_cylinder(double *sum, const struct sums *s, iso_ctx *ctx, struct iso_room *room)
{
	const iso_scanner *c = s->t->scanner;
	int64_t per = c->pairs.per_ring, near = c->pairs.min_distance, rings = s->t->grid.rings, drawn = 0;
	double *part;
	struct columns *w;

	ISO_HOST(room, part, per);
	ISO_HOST(room, w, ctx->threads);
	for (int i = 0; i < ctx->threads && !room->status; i++) {
		ISO_HOST(room, w[i].plane, rings * rings);
		ISO_HOST(room, w[i].across, rings + 1);
	}
	if (room->status) return room->status;
	struct iso_clock clock = iso_clock_brief(ctx, "sum", "pairs", per, NULL);

	iso_clock_count(&clock, "pairs", (double)c->pairs.n * s->share / (double)per);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic) reduction(+ : drawn)
	for (int64_t a = 0; a < per; a++) {
		for (int64_t b = a + near + start(s, a, 0, s->columns); b < per && b - a <= per - near;
		     b += s->columns)
			if (!iso_stopped(ctx))
				part[a] += sum_columns(&drawn, s, &w[omp_get_thread_num()], a, b);
		iso_clock_add(&clock, 1);
	}
	iso_clock_end(&clock);
	*sum = 0;
	for (int64_t a = 0; a < per; a++) *sum += part[a];
	*sum *= drawn > 0 ? (double)c->pairs.n / (double)drawn : 0;
	return iso_ctx_poll(ctx);
}

/* eta g h of pair i of free detectors. */
static double of_pair(const struct sums *s, int64_t i)
{
	const iso_scanner *c = s->t->scanner;
	const struct table_end *e[2];
	struct scatter_grid g = s->t->grid;
	struct table_around rows;
	int64_t a, b;

	pairs_get(&c->pairs, i, &a, &b);
	if (!iso_scanner_in_coincidence(c, a, b)) return 0;
	double eta = s->eff            ? (double)s->eff[a] * (double)s->eff[b]
	             : c->efficiencies ? efficiency_of_crystals(c->efficiencies, a, b)
	                               : 1;
	double w = 1;

	if (!iso_scanner_weighs(c)) w = pairs_solid_angle(c->pos + 3 * a, c->pos + 3 * b);
	g.cells = 1;
	e[0] = &s->end[s->end[a].ring > s->end[b].ring ? b : a];
	e[1] = &s->end[s->end[a].ring > s->end[b].ring ? a : b];
	table_around(&rows, &g, e[0], e[1]);
	double h = (double)table_value(&g, s->t->all, e[0], e[1], &rows, NULL);

	return w > 0 && h > 0 ? eta * h / w : 0;
}

/* The i-th of n pairs of a sample: one of each n-th part of all. */
static int64_t drawn_pair(const struct sums *s, int64_t i, int64_t n)
{
	int64_t all = s->t->scanner->pairs.n, pair;
	struct philox w;

	if (n == all) return i;
	w = philox_draw(s->seed, (uint64_t)i, 0);
	pair = (int64_t)(((double)i + philox_unit_double(w.w[0], w.w[1])) * ((double)all / (double)n));
	return pair < all ? pair : all - 1;
}

static int sum_detectors(double *sum, const struct sums *s, iso_ctx *ctx, struct iso_room *room)
{
	enum { BLOCK = 65536 }; /* pairs of a partial sum */
	int64_t all = s->t->scanner->pairs.n, n = (int64_t)ceil((double)all * s->share);
	int64_t blocks = (n + BLOCK - 1) / BLOCK;
	double *part;

	n = n < all ? n : all;
	ISO_HOST(room, part, blocks);
	if (room->status) return room->status;
	struct iso_clock clock = iso_clock_brief(ctx, "sum", "pairs", n, NULL);

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t k = 0; k < blocks; k++) {
		int64_t end = n < (k + 1) * BLOCK ? n : (k + 1) * BLOCK;

		for (int64_t i = k * BLOCK; i < end && !iso_stopped(ctx); i++)
			part[k] += of_pair(s, drawn_pair(s, i, n));
		iso_clock_add(&clock, end - k * BLOCK);
	}
	iso_clock_end(&clock);
	*sum = 0;
	for (int64_t k = 0; k < blocks; k++) *sum += part[k];
	*sum *= n > 0 ? (double)all / (double)n : 0;
	return iso_ctx_poll(ctx);
}

static struct table_end end_of(const struct scatter_grid *g, const double *pos)
{
	double p[3] = { pos[0], pos[1], pos[2] - g->middle };

	return table_end(g, p);
}

int iso_scatter_sum(double *sum, iso_ctx *ctx, const iso_scatter_table *t, const iso_real *eff, double share,
                    uint64_t seed)
{
	struct iso_room room = iso_room_of(NULL, "sum of scatter");
	struct sums s = { .t = t, .eff = eff, .share = share, .seed = seed };

	if (!sum || !t || !ctx) return iso_fail_null(__func__);
	if (!(share > 0 && share <= 1))
		return iso_fail(ISO_EARG, "iso_scatter_sum: share is %g, must be above 0 and at most 1",
		                share);
	const iso_scanner *c = t->scanner;
	bool cylinder = c->kind == ISO_CYLINDER;
	int64_t columns = cylinder ? c->pairs.per_ring : c->n, rings = cylinder ? c->pairs.rings : 0;

	if (cylinder) choose_steps(&s);
	ISO_HOST(&room, s.end, columns + rings);
	for (int64_t i = 0; i < columns && !room.status; i++) s.end[i] = end_of(&t->grid, c->pos + 3 * i);
	for (int64_t i = 0; i < rings && !room.status; i++)
		s.end[columns + i] = end_of(&t->grid, c->pos + 3 * i * columns);
	if (!room.status)
		room.status =
			cylinder ? sum_cylinder(sum, &s, ctx, &room) : sum_detectors(sum, &s, ctx, &room);
	return iso_room_free(&room);
}
