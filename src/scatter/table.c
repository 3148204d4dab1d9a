/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates of scatter: made, described, read at events, written. */
#include "core/progress.h"
#include "core/size.h"
#include "core/sized.h"
#include "file/out.h"
#include "file/suffix.h"
#include "mc.h"
#include "sss.h"
#include "table.h"

#define LONG_MM 600. /* axial length from which samples are coarser */
#define FAR_STEPS 3  /* that the stencil of both azimuths reaches */

int table_grid(struct scatter_grid *g, const struct scene *s, const struct iso_scatter *p)
{
	bool is_long = 2 * s->half > LONG_MM;
	double step = p->ring_step_mm > 0 ? p->ring_step_mm : is_long ? 40 : 20;
	int64_t detectors = p->detectors > 0 ? p->detectors : is_long ? 30 : 60;
	int64_t rings = (int64_t)ceil(2 * s->reach / step - 1e-9) + 1;
	int64_t apart = (int64_t)floor(s->line_angle / (2 * M_PI) * (double)detectors) - FAR_STEPS;

	if (rings > 1000)
		return iso_fail(ISO_EARG, "scatter: %" PRId64 " sample rings, must be at most 1000", rings);
	apart = apart < 0 ? 0 : apart;
	*g = (struct scatter_grid){ .detectors = (int32_t)detectors,
		                    .rings = (int32_t)rings,
		                    .apart = (int32_t)apart,
		                    .offsets = (int32_t)(apart > 0 ? detectors - 2 * apart + 1 : detectors),
		                    .cells = 1,
		                    .rho = s->rho,
		                    .reach = s->reach,
		                    .step = rings > 1 ? 2 * s->reach / (double)(rings - 1) : 1,
		                    .middle = s->middle,
		                    .du = s->sigma / TABLE_PER_SIGMA,
		                    .sigma = s->sigma };
	return ISO_OK;
}

int table_finish(struct iso_scatter_table *t, iso_ctx *ctx)
{
	int64_t rows = table_rows(&t->grid), cells = t->grid.cells,
		bytes = rows * cells * (int64_t)sizeof *t->h;
	double step = cells > 1 ? t->grid.du : 1;
	void *device = NULL;
	int st;

	if (!t->all && !(t->all = size_alloc(rows, sizeof *t->all)))
		return iso_fail_memory("scatter over all times", rows * (int64_t)sizeof *t->all);
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < rows; i++) {
		double sum = 0;

		for (int64_t c = 0; c < cells; c++) sum += (double)t->h[i * cells + c];
		t->all[i] = (float)(sum * step);
	}
	if (!iso_ctx_is_cuda(ctx)) return ISO_OK;
	if (!t->device) {
		if ((st = ctx->vec->alloc(ctx, &device, bytes))) return st;
		t->device = device;
		t->ctx = iso_ctx_keep(ctx);
	}
	return ctx->vec->upload(ctx, t->device, t->h, bytes);
}

void iso_scatter_free(iso_scatter_table *t)
{
	if (!t) return;
	if (t->device) t->ctx->vec->free(t->ctx, t->device);
	if (t->ctx) iso_ctx_free(t->ctx);
	free(t->h);
	free(t->all);
	free(t);
}

static void describe_grid(struct iso_scatter_info *i, const struct scatter_grid *g)
{
	i->size = sizeof *i;
	i->detectors = g->detectors;
	i->rings = g->rings;
	i->cells = g->cells;
	i->pairs = table_rows(g);
}

/* The table of the formula, and of sss+mc and mc the guide of multiple scatter, on the same samples. */
static int fill(iso_scatter_table *t, iso_scatter_table *guide, iso_ctx *ctx, const struct iso_scatter *p,
                const struct scene *s)
{
	double from = iso_now_s();
	int st;

	if (p->method != ISO_SCATTER_SSS) {
		guide->grid = t->grid;
		if ((st = sss_fill(guide, ctx, s, p, SSS_GUIDE))) return st;
		t->grid.cells = guide->grid.cells; /* the guide reaches farther */
	}
	if ((st = sss_fill(t, ctx, s, p, SSS_ONCE))) return st;
	describe_grid(&t->info, &t->grid);
	t->info.seconds_sss = iso_now_s() - from;
	return ISO_OK;
}

static int estimate(iso_scatter_table *t, iso_ctx *ctx, const struct iso_scatter *p, struct scene *s)
{
	iso_scatter_table guide = { 0 };
	int st = scene_create(s, p);

	if (st || (st = table_grid(&t->grid, s, p))) return st;
	t->scanner = p->scanner;
	t->info = s->found;
	st = fill(t, &guide, ctx, p, s);
	if (!st && p->method != ISO_SCATTER_SSS) st = mc_join(t, &guide, ctx, s, p);
	free(guide.h);
	return st ? st : table_finish(t, ctx);
}

int iso_scatter_create(iso_scatter_table **t, iso_ctx *ctx, const struct iso_scatter *p)
{
	struct iso_scatter own;
	struct scene s = { 0 };
	iso_scatter_table *made;
	int st;

	if (!t || !ctx || !p) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&own, "iso_scatter", sizeof own, p)) || (st = iso_ctx_ready(ctx))) return st;
	if (!(made = calloc(1, sizeof *made))) return iso_fail_memory("table of scatter", sizeof *made);
	st = estimate(made, ctx, &own, &s);
	scene_free(&s);
	if (st)
		iso_scatter_free(made);
	else
		*t = made;
	return st;
}

int iso_scatter_scale(iso_scatter_table *t, iso_ctx *ctx, double by)
{
	if (!t || !ctx) return iso_fail_null(__func__);
	if (!(by >= 0 && by < INFINITY))
		return iso_fail(ISO_EARG, "iso_scatter_scale: %g, must be 0 or above", by);
	int64_t n = table_rows(&t->grid) * t->grid.cells;

	for (int64_t i = 0; i < n; i++) t->h[i] = (float)(by * (double)t->h[i]);
	return table_finish(t, ctx);
}

int iso_scatter_describe(struct iso_scatter_info *info, const iso_scatter_table *t)
{
	int st;

	if (!info || !t) return iso_fail_null(__func__);
	if ((st = iso_sized_clear(info, "iso_scatter_info", sizeof *info))) return st;
	iso_sized_give(info, sizeof *info, &t->info);
	return ISO_OK;
}

/* Points are not known before the map was looked at: as if all of it were of the body. */
int iso_scatter_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_scatter *p)
{
	struct iso_scatter own;
	struct scene s = { 0 };
	struct scatter_grid g;
	bool cuda;
	int st;

	if (!plan || !ctx || !p) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&own, "iso_scatter", sizeof own, p))) return st;
	if ((st = scene_ring(&s, &own)) || (st = table_grid(&g, &s, &own))) return st;
	cuda = iso_ctx_is_cuda(ctx);
	double block = own.block_mm > 0 ? own.block_mm : sss_block_most(s.sigma), diagonal = 0;
	double points = own.block_mm > 0 ? 1 : 1.5; /* those at the surface are cut */
	const struct iso_grid *map = own.mu ? &own.mu->grid : NULL;

	for (int a = 0; a < 3 && map; a++) {
		double side = (double)map->n[a] * map->voxel[a];

		points *= ceil(side / block);
		diagonal += side * side;
	}
	double legs = points * g.detectors * g.rings, reach = fmin(sqrt(diagonal), 4 * g.rho);
	double pieces = s.sigma > 0 ? legs * (reach / 2 / g.du + 1) : legs;

	if (s.sigma > 0) g.cells = 2 * (int32_t)ceil((reach / 2 + 4 * s.sigma) / g.du) + 1;
	iso_plan_add(plan, "scatter: legs", (int64_t)legs, 40, false);
	iso_plan_add(plan, "scatter: profiles of legs", (int64_t)pieces, 4, cuda);
	iso_plan_add(plan, "scatter: table", table_rows(&g), 4 * (int64_t)g.cells, false);
	if (own.method != ISO_SCATTER_SSS)
		iso_plan_add(plan, "scatter: guide of multiple scatter", table_rows(&g), 4 * (int64_t)g.cells,
		             false);
	if (cuda) {
		iso_plan_add(plan, "scatter: legs on the device", (int64_t)legs, 40, true);
		iso_plan_add(plan, "scatter: table on the device", table_rows(&g), 4 * (int64_t)g.cells,
		             true);
	}
	if (own.method != ISO_SCATTER_SSS) mc_plan(plan, ctx, &s, &g);
	return ISO_OK;
}

int iso_scatter_at(iso_real *h, iso_ctx *ctx, const iso_scatter_table *t, const struct iso_events *e,
                   double bin_ps)
{
	double bin = bin_ps * ISO_C_MM_PER_PS / 2;
	void *cuda = NULL;
	int st;

	if (!h || !t || !ctx || !e) return iso_fail_null(__func__);
	if (!(bin_ps >= 0 && bin_ps < 1e7))
		return iso_fail(ISO_EARG, "iso_scatter_at: a TOF bin of %g ps, must be 0 to 1e7", bin_ps);
	if ((st = iso_ctx_ready(ctx))) return st;
	if (!iso_ctx_is_cuda(ctx)) return table_events(h, t, ctx, e, bin);
	if ((st = iso_cuda_symbol(&cuda, TABLE_EVENTS_CUDA))) return st;
	return ((table_events_fn)cuda)(h, t, ctx, e, bin);
}

/* ---- as a file: HDF5, where the library was built with it ---- */

#ifdef ISO_HDF5
#	define WRITE table_write_h5
#else
#	define WRITE NULL
#endif

int iso_scatter_write(const char *path, const iso_scatter_table *t)
{
	int (*const write)(const char *temp, const char *path, const iso_scatter_table *t) = WRITE;
	struct iso_out o = { 0 };

	if (!path || !t) return iso_fail_null(__func__);
	if (!iso_has_suffix(path, ".h5") && !iso_has_suffix(path, ".hdf5"))
		return iso_fail(ISO_EARG, "%s: a table of scatter is written as .h5", path);
	if (!write) return iso_fail(ISO_EARG, "%s: this build has no HDF5, which .h5 files need", path);
	int64_t rows = table_rows(&t->grid);
	int st = iso_out_open(&o, path,
	                      rows * (t->grid.cells * (int64_t)sizeof *t->h + 2 * (int64_t)sizeof(int64_t)),
	                      ISO_OUT_PLAIN);

	if (!st && !(st = write(o.temp, path, t)) && !(st = iso_out_close(&o))) st = iso_out_commit(&o);
	iso_out_free(&o);
	return st;
}
