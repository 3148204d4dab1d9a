/* SPDX-License-Identifier: BSD-3-Clause */
/* The single-scatter formula at lines, without a table. */
#include "core/sized.h"
#include "sss.h"
#include "table.h"

/* h at the places u, or their integral, from the cells of w. */
static void read_cells(double *h, const struct sss_work *w, const struct sss *s, double sigma,
                       const double *u, int64_t n_u, double shift)
{
	double cell = (double)s->piece / SSS_CELLS_A_STEP, blur = sss_blur_sigma(sigma);

	if (n_u == 0) h[0] = w->all;
	for (int64_t c = 0; c <= 2 * w->half && n_u == 0; c++) h[0] += w->half > 0 ? (double)w->cell[c] : 0;
	for (int64_t k = 0; k < n_u; k++) {
		h[k] = 0;
		for (int64_t c = 0; c <= 2 * w->half; c++) {
			double x = (u[k] + shift - (double)(c - w->half) * cell) / blur;

			h[k] += (double)w->cell[c] * exp(-x * x / 2) / (blur * sqrt(2 * M_PI));
		}
	}
}

/* One line: its two ends are the detectors of a set. ctx: one thread's. */
static int one_line(double *h, const iso_ctx *ctx, const struct sss *s, const struct scatter_grid *g,
                    const struct iso_event *e, const double *u, int64_t n_u)
{
	struct iso_room room = iso_room_of(NULL, "single scatter of a line");
	struct sss_set set;
	struct sss_work w;
	double p1[3], p2[3], at, reach;
	float place[6];

	for (int64_t k = 0; k < (n_u > 0 ? n_u : 1); k++) h[k] = 0;
	if (iso_event_bad(e) || !table_line(p1, p2, &at, g, e)) return ISO_OK;
	for (int k = 0; k < 3; k++) {
		place[k] = (float)p1[k];
		place[3 + k] = (float)p2[k];
	}
	if (sss_set_make(&set, &room, ctx, s, 2, place)) return iso_room_free(&room);
	ISO_HOST(&room, set.profile, set.pieces);
	if (!room.status && !sss_work_make(&w, &room, s, 0)) {
		sss_set_trace(&set, ctx, s);
		reach = (double)sss_pair_reach(&w, s, &set, 0, 1);
		if (!sss_work_make(&w, &room, s, reach)) {
			sss_pair(&w, s, &set, 0, 1);
			read_cells(h, &w, s, g->sigma, u, n_u, at - ISO_C_MM_PER_PS * (double)e->dt_ps / 2);
		}
	}
	return iso_room_free(&room);
}

int iso_scatter_single(double *h, iso_ctx *ctx, const struct iso_scatter *p, const struct iso_events *e,
                       const double *u, int64_t n_u)
{
	struct iso_room room = iso_room_of(NULL, "single scatter");
	struct iso_scatter own;
	struct scene scene = { 0 };
	struct scatter_grid g;
	struct sss s;
	int st, failed = ISO_OK;

	if (!h || !ctx || !p || !e || (n_u > 0 && !u)) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&own, "iso_scatter", sizeof own, p))) return st;
	if (n_u < 0 || (n_u > 0 && !(own.tof_fwhm_ps > 0)))
		return iso_fail(ISO_EARG, "iso_scatter_single: %" PRId64 " places u %s", n_u,
		                n_u < 0 ? "are none" : "need a TOF resolution");
	if ((st = scene_create(&scene, &own)) || (st = table_grid(&g, &scene, &own)) ||
	    (st = sss_make(&s, &room, &scene, own.block_mm, SSS_ONCE)))
		goto done;
	iso_ctx one = { .threads = 1 };

#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < e->n; i++) {
		if (iso_stopped(ctx)) continue;
		int line = one_line(h + i * (n_u > 0 ? n_u : 1), &one, &s, &g, &e->v[i], u, n_u);

		if (line)
#pragma omp atomic write
			failed = line;
	}
	st = failed ? iso_fail_memory("single scatter of lines", 0) : iso_ctx_poll(ctx);
done:
	iso_room_free(&room);
	scene_free(&scene);
	return st;
}
