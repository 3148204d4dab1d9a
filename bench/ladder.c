/* SPDX-License-Identifier: BSD-3-Clause */
/* The first step of the ladder of model ray: MLEM as one writes it down, on one thread of the CPU. All
   others, and those of model srm, are CUDA's: what is asked of them is checked here. */
#include "ladder.h"

#include "limits.h"
#include "core/loop/box.h"
#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"
#include "srm/strategies.h"

#include <math.h>
#include <string.h>

const char *iso_ladder_name(enum iso_ladder_step step)
{
	static const char *const name[ISO_LADDER_STEPS] = {
		"scalar, one thread", "basic", "tiles", "event shared", "block reduction", "launch shape",
	};

	return name[step];
}

struct piece {
	int64_t voxel;
	float length; /* mm */
};

struct scalar {
	const struct iso_grid *grid;
	double low[3];
	int64_t voxels, stride[3];
	struct piece *piece; /* of one event */
	iso_real *corr;
};

/* A walk from face to face (Siddon 1985, incremental as Jacobs 1998): t runs from 0 to 1 along the
   event; `next` is where the ray crosses the next face of each axis. */
struct walk {
	double t, end, next[3], step[3];
	int64_t voxel, move[3];
	int64_t left[3]; /* faces to cross before the image ends */
};

/* At the entry: its voxel, and the faces ahead. Places are voxels from the low corner. */
static void enter(struct walk *w, const struct scalar *s, const double p[3], const double d[3])
{
	w->voxel = 0;
	for (int a = 0; a < 3; a++) {
		double at = p[a] + w->t * d[a], n = (double)s->grid->n[a];
		double first = fmin(fmax(d[a] < 0 ? ceil(at - 1e-9) - 1 : floor(at + 1e-9), 0), n - 1);

		w->voxel += (int64_t)first * s->stride[a];
		w->move[a] = d[a] < 0 ? -s->stride[a] : s->stride[a];
		w->left[a] = (int64_t)(d[a] < 0 ? first : n - 1 - first);
		w->step[a] = 1 / fabs(d[a]);
		w->next[a] = d[a] == 0 ? INFINITY : (first + (d[a] > 0) - p[a]) / d[a];
	}
}

/* Voxels and chords of one event; how many. */
static int64_t trace(const struct scalar *s, const struct iso_event *e)
{
	struct walk w = { .t = 0, .end = 1 };
	double p[3], d[3], square = 0;
	int64_t n = 0;

	for (int a = 0; a < 3; a++) {
		double along = (double)e->p2[a] - e->p1[a];

		p[a] = (e->p1[a] - s->low[a]) / s->grid->voxel[a];
		d[a] = along / s->grid->voxel[a];
		square += along * along;
	}
	if (!(square > 0) || !isfinite(square)) return 0;
	for (int a = 0; a < 3; a++)
		if (!box_narrow(&w.t, &w.end, -p[a], (double)s->grid->n[a] - p[a], d[a])) return 0;
	if (!(w.end > w.t)) return 0;
	enter(&w, s, p, d);
	for (;;) {
		int a = w.next[0] <= w.next[1] ? (w.next[0] <= w.next[2] ? 0 : 2)
		                               : (w.next[1] <= w.next[2] ? 1 : 2);
		double to = fmin(w.next[a], w.end);

		s->piece[n].voxel = w.voxel;
		s->piece[n++].length = (float)(fmax(0, to - w.t) * sqrt(square));
		if (w.next[a] >= w.end || w.left[a] == 0) return n;
		w.t = to;
		w.next[a] += w.step[a];
		w.voxel += w.move[a];
		w.left[a]--;
	}
}

/* corr_n += l_jn / sum over n' of l_jn' x_n' (Algorithm 1, lines 4 to 9) */
static void correct(const struct scalar *s, const iso_real *x, const struct iso_event *e)
{
	int64_t n = trace(s, e);
	iso_real forward = 0;

	for (int64_t i = 0; i < n; i++) forward += s->piece[i].length * x[s->piece[i].voxel];
	if (!(forward > 0)) return;
	for (int64_t i = 0; i < n; i++) s->corr[s->piece[i].voxel] += s->piece[i].length / forward;
}

static int iterate(iso_real *x, struct scalar *s, iso_ctx *ctx, int iterations, const struct iso_events *e)
{
	for (int it = 0; it < iterations; it++) {
		memset(s->corr, 0, (size_t)s->voxels * sizeof *s->corr);
		for (int64_t j = 0; j < e->n; j++) {
			int st = j % 4096 == 0 ? iso_ctx_poll(ctx) : ISO_OK;

			if (st) return st;
			correct(s, x, &e->v[j]);
		}
		for (int64_t i = 0; i < s->voxels; i++) x[i] *= s->corr[i];
	}
	return ISO_OK;
}

static int run_scalar(iso_real *x, struct iso_ladder_time *time, iso_ctx *ctx, const struct iso_ladder *p,
                      const struct iso_events *e)
{
	const struct iso_grid *g = &p->grid;
	struct scalar s = { .grid = g, .stride = { 1, g->n[0], g->n[0] * g->n[1] } };
	double began_s = iso_now_s(), start_s;
	int st;

	for (int a = 0; a < 3; a++) s.low[a] = g->centre[a] - .5 * (double)g->n[a] * g->voxel[a];
	s.voxels = iso_grid_voxels(g);
	s.corr = size_alloc(s.voxels, sizeof *s.corr);
	s.piece = size_alloc(g->n[0] + g->n[1] + g->n[2], sizeof *s.piece);
	start_s = iso_now_s();
	st = s.corr && s.piece ? iterate(x, &s, ctx, p->iterations, e)
	                       : iso_fail_memory("ladder", s.voxels * (int64_t)sizeof *s.corr);
	*time = (struct iso_ladder_time){ iso_now_s() - began_s, iso_now_s() - start_s, 1 };
	free(s.corr);
	free(s.piece);
	return st;
}

int iso_ladder_run(iso_real *x, struct iso_ladder_time *time, iso_ctx *ctx, const struct iso_ladder *p,
                   const struct iso_events *e)
{
	const bool scalar = p->step == ISO_LADDER_SCALAR;
	void *cuda;
	int st = iso_grid_check(&p->grid);

	if (st) return st;
	if (p->iterations < 1)
		return iso_fail(ISO_EARG, "ladder: %d iterations, must be at least 1", p->iterations);
	if (scalar && p->wide) return iso_fail(ISO_EARG, "ladder: the scalar program has float32 only");
	if (scalar == iso_ctx_is_cuda(ctx))
		return iso_fail(ISO_EARG, "ladder: step '%s' does not run on %s", iso_ladder_name(p->step),
		                iso_ctx_device(ctx));
	if (scalar) return run_scalar(x, time, ctx, p, e);
	if ((st = iso_bench_cuda(&cuda, "iso_ladder_cuda"))) return st;
	return ((__typeof__(&run_scalar))cuda)(x, time, ctx, p, e);
}

/* ---- model srm ---- */

static int check_operator(const iso_op *op, enum srm_strategy other)
{
	const struct srm_op *m = op->data;

	if (!iso_ctx_is_cuda(op->ctx))
		return iso_fail(ISO_EDEVICE, "srm ladder: needs a CUDA device, not %s",
		                iso_ctx_device(op->ctx));
	if (m->way->number != (int)other && m->way->number != SRM_COMBINED)
		return iso_fail(ISO_EARG, "srm ladder: strategy %s has no such table",
		                srm_strategy_name[m->way->number]);
	return ISO_OK;
}

int iso_srm_ladder_forward(double *seconds, iso_op *op, const struct iso_srm_ladder *p, iso_real *y,
                           const iso_real *x)
{
	void *cuda;
	int st = check_operator(op, SRM_ROW);

	if (st) return st;
	if ((unsigned)p->step >= ISO_SRM_STEPS)
		return iso_fail(ISO_EARG, "srm ladder: there is no step %d", (int)p->step);
	if (p->threads < 1 || p->threads > 128 || (p->threads & (p->threads - 1)))
		return iso_fail(ISO_EARG, "srm ladder: %d threads, must be a power of two up to 128",
		                p->threads);
	if ((st = iso_bench_cuda(&cuda, "iso_srm_ladder_forward_cuda"))) return st;
	return ((__typeof__(&iso_srm_ladder_forward))cuda)(seconds, op, p, y, x);
}

int iso_srm_ladder_columns(iso_op *op, const iso_srm *m, bool folded)
{
	void *cuda;
	int st = check_operator(op, SRM_COLUMN);

	if (st || (st = iso_bench_cuda(&cuda, "iso_srm_ladder_columns_cuda"))) return st;
	return ((__typeof__(&iso_srm_ladder_columns))cuda)(op, m, folded);
}
