/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of single scatter: all pairs of sample detectors, on the host or on a CUDA device. */
#include "core/progress.h"
#include "core/size.h"
#include "sss.h"
#include "sss_run.h"
#include "table.h"

#include <omp.h>

enum { GROUP = 4 }; /* detectors of ring a that share the legs of one of ring b while these are at hand */

/* (detectors * rings, 3): ring by ring. */
static int place_samples(float **place, struct iso_room *room, const struct scatter_grid *g)
{
	int64_t n = (int64_t)g->detectors * g->rings;

	ISO_HOST(room, *place, 3 * n);
	for (int64_t i = 0; i < n && !room->status; i++) {
		double turn = 2 * M_PI * (double)(i % g->detectors) / g->detectors;

		(*place)[3 * i] = (float)(g->rho * cos(turn));
		(*place)[3 * i + 1] = (float)(g->rho * sin(turn));
		(*place)[3 * i + 2] = (float)(-g->reach + (double)(i / g->detectors) * g->step);
	}
	return room->status;
}

/* Calls for each pair of ring pair a, b whose first detector is one of GROUP from `first` on. */
static void each_pair(const struct sss_job *job, struct sss_work *w, int32_t a, int32_t b, int32_t first,
                      void (*call)(const struct sss_job *, struct sss_work *, int32_t a, int32_t i, int32_t b,
                                   int32_t k))
{
	const struct scatter_grid *g = &job->grid;
	int32_t last = first + GROUP < g->detectors ? first + GROUP : g->detectors;

	for (int32_t j = 0; j < g->detectors; j++)
		for (int32_t i = first; i < last; i++) {
			int32_t k = (j - i - g->apart + 2 * g->detectors) % g->detectors;

			if (k < g->offsets && sss_pair_wanted(g, job->most_z, a, b, k))
				call(job, w, a, i, b, k);
		}
}

static int64_t detector_b(const struct scatter_grid *g, int32_t i, int32_t b, int32_t k)
{
	return (int64_t)b * g->detectors + (i + g->apart + k) % g->detectors;
}

static void measure_pair(const struct sss_job *job, struct sss_work *w, int32_t a, int32_t i, int32_t b,
                         int32_t k)
{
	const struct scatter_grid *g = &job->grid;
	float reach =
		sss_pair_reach(w, &job->s, &job->set, (int64_t)a * g->detectors + i, detector_b(g, i, b, k));

	w->all = fmax(w->all, (double)reach);
}

/* Cells of w to the u of a row; `turned`: of the pair with its ends exchanged. */
static void blur(float *row, const struct sss_job *job, const struct sss_work *w, bool turned)
{
	int64_t middle = job->grid.cells / 2;

	for (int64_t k = 0; k < job->grid.cells; k++) {
		int64_t at = w->half + SSS_CELLS_A_STEP * (turned ? middle - k : k - middle);
		int64_t low = at - job->kernel_half < 0 ? 0 : at - job->kernel_half;
		int64_t high = at + job->kernel_half > 2 * w->half ? 2 * w->half : at + job->kernel_half;
		const float *weight = job->kernel + job->kernel_half - at;
		float sum = 0;

		for (int64_t c = low; c <= high; c++) sum += w->cell[c] * weight[c];
		row[k] = sum;
	}
}

static void fill_pair(const struct sss_job *job, struct sss_work *w, int32_t a, int32_t i, int32_t b,
                      int32_t k)
{
	const struct scatter_grid *g = &job->grid;
	int64_t other = detector_b(g, i, b, k);
	float *row = job->h + table_row(g, a, i, b, (int32_t)(other % g->detectors)) * g->cells;
	float *back = job->h + table_row(g, a, (int32_t)(other % g->detectors), a, i) * g->cells;

	sss_pair(w, &job->s, &job->set, (int64_t)a * g->detectors + i, other);
	if (g->cells > 1)
		blur(row, job, w, false);
	else
		row[0] = (float)w->all;
	if (a < b || 2 * (g->apart + k) == g->detectors || back == row) return;
	for (int32_t c = 0; c < g->cells; c++) back[c] = row[g->cells - 1 - c];
}

/* All pairs, dealt out by ring pair and group; *most: the largest w->all. */
static int all_pairs(const struct sss_job *job, iso_ctx *ctx, const char *stage, double reach, double *most,
                     void (*call)(const struct sss_job *, struct sss_work *, int32_t a, int32_t i, int32_t b,
                                  int32_t k))
{
	const struct scatter_grid *g = &job->grid;
	int64_t groups = (g->detectors + GROUP - 1) / GROUP, jobs = (int64_t)g->rings * g->rings * groups;
	struct iso_room room = iso_room_of(NULL, "scatter of pairs");
	struct sss_work *work;

	ISO_HOST(&room, work, ctx->threads);
	for (int t = 0; t < ctx->threads && !room.status; t++) sss_work_make(&work[t], &room, &job->s, reach);
	if (room.status) return iso_room_free(&room);
	struct iso_clock clock = iso_clock_brief(ctx, stage, "pairs", table_ring_pairs(g) * groups, NULL);

	iso_clock_count(&clock, "pairs", (double)g->detectors * g->offsets / (double)groups);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t n = 0; n < jobs; n++) {
		int32_t a = (int32_t)(n / groups / g->rings), b = (int32_t)(n / groups % g->rings);

		if (a > b || iso_stopped(ctx)) continue;
		each_pair(job, &work[omp_get_thread_num()], a, b, (int32_t)(n % groups) * GROUP, call);
		iso_clock_add(&clock, 1);
	}
	iso_clock_end(&clock);
	for (int t = 0; t < ctx->threads && most; t++) *most = fmax(*most, work[t].all);
	iso_room_free(&room);
	return iso_ctx_poll(ctx);
}

/* Cells of the table, once the largest |u| is known, or as many as it has if these are more. */
int sss_job_cells(struct sss_job *job, struct iso_scatter_table *t, double reach)
{
	double sigma = job->grid.sigma;

	job->reach = reach;
	if (sigma > 0) {
		int32_t cells = 2 * (int32_t)ceil((reach + 4 * sigma) / job->grid.du) + 1;

		job->grid.cells = cells > job->grid.cells ? cells : job->grid.cells;
		job->kernel_half = sss_kernel(job->kernel, SSS_KERNEL, sigma);
	}
	t->grid = job->grid;
	t->h = size_alloc(table_rows(&t->grid), t->grid.cells * (int64_t)sizeof *t->h);
	job->h = t->h;
	return t->h ? ISO_OK : iso_fail_memory("table of scatter", table_rows(&t->grid) * t->grid.cells * 4);
}

static int fill_cpu(struct sss_job *job, iso_ctx *ctx, struct iso_scatter_table *t, struct iso_room *room)
{
	double reach = 0;
	int st;

	ISO_HOST(room, job->set.profile, job->set.pieces);
	if ((st = room->status)) return st;
	sss_set_trace(&job->set, ctx, &job->s);
	if (job->grid.sigma > 0 && (st = all_pairs(job, ctx, "reach", 0, &reach, measure_pair))) return st;
	if ((st = sss_job_cells(job, t, reach))) return st;
	return all_pairs(job, ctx, "single", reach, NULL, fill_pair);
}

int sss_fill(struct iso_scatter_table *t, iso_ctx *ctx, const struct scene *s, const struct iso_scatter *p,
             enum sss_kernel kernel)
{
	struct iso_room room = iso_room_of(ctx, "single scatter");
	struct sss_job job = { .grid = t->grid, .most_z = s->most_z > 0 ? s->most_z + 2 * t->grid.step : 0 };
	float *place = NULL;
	void *cuda = NULL;
	int st;

	if ((st = sss_make(&job.s, &room, s, p->block_mm, kernel)) ||
	    (st = place_samples(&place, &room, &job.grid)) ||
	    (st = sss_set_make(&job.set, &room, ctx, &job.s, (int64_t)t->grid.detectors * t->grid.rings,
	                       place)))
		goto done;
	if (iso_ctx_is_cuda(ctx)) {
		if (!(st = iso_cuda_symbol(&cuda, SSS_FILL_CUDA))) st = ((sss_fill_fn)cuda)(&job, ctx, t);
	} else {
		st = fill_cpu(&job, ctx, t, &room);
	}
	t->info.points = job.s.points;
	t->info.block_mm = p->block_mm > 0 ? p->block_mm : sss_block_mm(s);
	if (!st) st = table_bend_rings(t, ctx, job.most_z);
done:
	iso_room_free(&room);
	return st;
}
