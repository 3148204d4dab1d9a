/* SPDX-License-Identifier: BSD-3-Clause */
/* The Monte Carlo in the table of an estimate: means of formula and guide over patches make the ratios, which their
   rows are multiplied by. */
#include "mc.h"
#include "core/progress.h"
#include "ratio.h"

/* ---- the formula's mean over patches ---- */

/* Even places of a patch, each way, that a mean is of: across the ring single scatter may fall by ten in one patch. */
enum { ACROSS = 6, ALONG = 4, TAPS = 4 * ACROSS };

/* Samples of the table along one axis whose weighted sum is the mean over a patch. */
struct taps {
	int n;
	int32_t at[TAPS];
	float w[TAPS];
};

static void add_tap(struct taps *t, int32_t at, float w)
{
	int i = 0;

	if (w == 0) return;
	while (i < t->n && t->at[i] != at) i++;
	if (i == t->n) {
		t->at[t->n] = at;
		t->w[t->n++] = 0;
	}
	t->w[i] += w;
}

/* Cubic between sample detectors. */
static void sector_taps(struct taps t[PATCH_SECTORS], const struct scatter_grid *g)
{
	for (int i = 0; i < ACROSS * PATCH_SECTORS; i++) {
		double azimuth = 2 * M_PI / (ACROSS * PATCH_SECTORS) * (i + .5);
		struct table_end e =
			table_end(g, (double[]){ g->rho * cos(azimuth), g->rho * sin(azimuth), 0 });

		for (int k = 0; k < 4; k++) add_tap(t + i / ACROSS, e.i[k], e.w[k] / ACROSS);
	}
}

/* Linear between sample rings. */
static void slab_taps(struct taps *t, const struct scatter_grid *g, const struct patches *p)
{
	for (int i = 0; i < ALONG * p->slabs; i++) {
		double z = (i + .5) / (ALONG * (double)p->slabs_per_mm) - (double)p->half;
		struct table_end e = table_end(g, (double[]){ g->rho, 0, z });

		add_tap(t + i / ALONG, e.ring, (1 - e.up) / ALONG);
		add_tap(t + i / ALONG, e.ring + 1, e.up / ALONG);
	}
}

/* Mean over cell c of a row: at three places, cubic between those of the table. */
static float cell_mean(const float *row, const struct scatter_grid *g, const struct patches *p, int32_t c)
{
	double sum = 0;

	for (int k = -1; k <= 1; k++) {
		double at = (c - p->cells / 2 + k / 3.) * (double)p->sigma / g->du + g->cells / 2;
		int64_t i = (int64_t)floor(at);

		float w[4];

		table_cubic(w, (float)(at - (double)i));
		for (int j = 0; j < 4; j++)
			if (i - 1 + j >= 0 && i - 1 + j < g->cells) sum += (double)(w[j] * row[i - 1 + j]);
	}
	return (float)(sum / 3);
}

/* cells (rows, cells of p): the table by cells of u. */
static void by_cells(float *cells, iso_ctx *ctx, const iso_scatter_table *t, const struct patches *p)
{
	int64_t rows = table_rows(&t->grid), each = t->grid.offsets;
	struct iso_clock clock = iso_clock_brief(ctx, "cells", "pairs", rows, NULL);

#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
	for (int64_t first = 0; first < rows; first += each) {
		for (int64_t i = first; i < first + each; i++)
			for (int32_t c = 0; c < p->cells; c++)
				cells[i * p->cells + c] = cell_mean(t->h + i * t->grid.cells, &t->grid, p, c);
		iso_clock_add(&clock, each);
	}
	iso_clock_end(&clock);
}

struct over_patches {
	const struct scatter_grid *grid;
	const struct patches *p;
	const float *cells;
	struct taps sector[PATCH_SECTORS], *slab;
};

static void mean_of_pair(double *s, const struct over_patches *o, int32_t a, int32_t b)
{
	const struct taps *da = o->sector + a % PATCH_SECTORS, *db = o->sector + b % PATCH_SECTORS;
	const struct taps *ra = o->slab + a / PATCH_SECTORS, *rb = o->slab + b / PATCH_SECTORS;
	int32_t n = o->p->cells;

	for (int32_t c = 0; c < n; c++) s[c] = 0;
	for (int k = 0; k < ra->n * rb->n * da->n * db->n; k++) {
		int i = k % da->n, j = k / da->n % db->n, u = k / da->n / db->n % ra->n,
		    v = k / da->n / db->n / ra->n;
		bool turned = ra->at[u] > rb->at[v];
		int64_t row = turned ? table_row(o->grid, rb->at[v], db->at[j], ra->at[u], da->at[i])
		                     : table_row(o->grid, ra->at[u], da->at[i], rb->at[v], db->at[j]);
		double w = (double)(da->w[i] * db->w[j] * ra->w[u] * rb->w[v]);

		if (row < 0) continue;
		const float *from = o->cells + row * n;

		if (turned)
			for (int32_t c = 0; c < n; c++) s[c] += w * (double)from[n - 1 - c];
		else
			for (int32_t c = 0; c < n; c++) s[c] += w * (double)from[c];
	}
	for (int32_t c = 0; c < n; c++) s[c] = s[c] > 0 ? s[c] : 0;
}

static int mean_over_patches(double *s, iso_ctx *ctx, const void *table, const struct patches *p,
                             const int32_t *pair)
{
	const iso_scatter_table *t = table;
	struct iso_room room = iso_room_of(NULL, "scatter of patches");
	struct over_patches o = { .grid = &t->grid, .p = p, .cells = t->h };
	int32_t n = patch_count(p);
	float *cells = NULL;

	ISO_HOST(&room, o.slab, p->slabs);
	if (p->cells > 1) ISO_HOST(&room, cells, table_rows(&t->grid) * p->cells);
	if (room.status) return iso_room_free(&room);
	if (cells) {
		by_cells(cells, ctx, t, p);
		o.cells = cells;
	}
	sector_taps(o.sector, &t->grid);
	slab_taps(o.slab, &t->grid, p);
	struct iso_clock clock = iso_clock_brief(ctx, "patches", "pairs", (int64_t)n * (n - 1) / 2, NULL);

#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
	for (int32_t a = 0; a < n; a++) {
		for (int32_t b = a + 1; b < n; b++) {
			int64_t i = pair[(int64_t)a * n + b];

			if (i >= 0) mean_of_pair(s + i * p->cells, &o, a, b);
		}
		iso_clock_add(&clock, n - 1 - a);
	}
	iso_clock_end(&clock);
	return iso_room_free(&room);
}

/* ---- the table ---- */

/* All rows of rings a and b. */
static void multiply(struct iso_scatter_table *t, const struct ratio *r, const struct ratio_single *single,
                     int32_t a, int32_t b)
{
	const struct iso_scatter_table *guide = single->guide;
	const struct scatter_grid *g = &t->grid;
	const double z[2] = { -g->reach + a * g->step, -g->reach + b * g->step };

	for (int32_t i = 0; i < g->detectors; i++)
		for (int32_t k = 0; k < g->offsets; k++) {
			int64_t row = (table_ring_pair(g, a, b) * g->detectors + i) * g->offsets + k;
			int32_t j = (i + g->apart + k) % g->detectors;
			const double azimuth[2] = { 2 * M_PI * i / g->detectors,
				                    2 * M_PI * j / g->detectors };

			iso_ratio_apply(t->h + row * g->cells, guide->h + row * g->cells, r, single, azimuth,
			                z);
		}
}

int mc_join(struct iso_scatter_table *t, const struct iso_scatter_table *guide, iso_ctx *ctx,
            const struct scene *s, const struct iso_scatter *p)
{
	const struct scatter_grid *g = &t->grid;
	const struct ratio_single single = { t, guide, g->cells, g->du, mean_over_patches };
	const struct ratio_setting set = { p->method == ISO_SCATTER_MC, p->histories, p->error, p->seed };
	double start = iso_now_s();
	struct ratio r;
	int st = iso_ratio_create(&r, ctx, s, &single, &set);

	if (st) return st;
	struct iso_clock clock = iso_clock_brief(ctx, "multiple", "pairs", table_rows(g), NULL);

#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
	for (int32_t a = 0; a < g->rings; a++)
		for (int32_t b = a; b < g->rings; b++) {
			multiply(t, &r, &single, a, b);
			iso_clock_add(&clock, (int64_t)g->detectors * g->offsets);
		}
	iso_clock_end(&clock);
	t->info.histories = r.histories;
	t->info.error = r.error;
	t->info.worst_error = r.worst_error;
	t->info.multiple = r.multiple;
	t->info.seconds_mc = iso_now_s() - start;
	iso_ratio_free(&r);
	return ISO_OK;
}

/* All patch pairs, though those of near sectors are none. */
void mc_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct scene *s, const struct scatter_grid *g)
{
	int64_t patches = PATCH_SECTORS * (int64_t)iso_patch_slabs(s->half),
		pairs = patches * (patches - 1) / 2;
	int64_t cells = g->cells > 1 ? iso_patch_cells((g->cells / 2) * g->du, g->sigma) : 1;

	iso_plan_add(plan, "scatter: numbers of patch pairs", patches * patches, 8, false);
	iso_plan_add(plan, "scatter: sums and ratios of patch pairs", pairs * cells, RATIO_BYTES, false);
	iso_plan_add(plan, "scatter: sums of the Monte Carlo", pairs * cells,
	             PATCH_SUMS * (int64_t)sizeof(int64_t), iso_ctx_is_cuda(ctx));
}
