/* SPDX-License-Identifier: BSD-3-Clause */
/* The first step of the ladder: MLEM as one writes it down, on one thread of the CPU. The other
   steps are CUDA's. */
#include "ray_ladder.h"

#include "core/progress.h"
#include "core/size.h"
#include "ray.h"

#include <string.h>

const char *iso_ladder_name(enum iso_ladder_step step)
{
	static const char *const name[ISO_LADDER_STEPS] = {
		"scalar, one thread", "basic", "tiles", "event shared", "block reduction",
		"launch shape",
	};

	return name[step];
}

struct scalar {
	struct ray_grid grid;
	int64_t voxels;
	struct ray_piece *piece;	/* of one event */
	iso_real *corr;
};

/* Voxels and weights of one event; how many. */
static int64_t trace(const struct scalar *s, const struct iso_event *e)
{
	double p1[3] = { e->p1[0], e->p1[1], e->p1[2] }, p2[3] = { e->p2[0], e->p2[1], e->p2[2] };
	struct ray r = ray_setup(&s->grid, p1, p2, NULL, 0);
	int64_t n = 0;

	for (int k = r.k0; k < r.k1; k++, n += 3)
		ray_slice(s->piece + n, &r, 0, k);
	return n;
}

/* corr_n += l_jn / sum over n' of l_jn' x_n' (Algorithm 1, lines 4 to 9) */
static void correct(const struct scalar *s, const iso_real *x, const struct iso_event *e)
{
	int64_t n = trace(s, e);
	iso_real forward = 0;

	for (int64_t i = 0; i < n; i++)
		forward += s->piece[i].w * x[s->piece[i].voxel];
	if (!(forward > 0))
		return;
	for (int64_t i = 0; i < n; i++)
		s->corr[s->piece[i].voxel] += s->piece[i].w / forward;
}

static int iterate(iso_real *x, struct scalar *s, iso_ctx *ctx, int iterations,
		   const struct iso_events *e)
{
	for (int it = 0; it < iterations; it++) {
		memset(s->corr, 0, (size_t)s->voxels * sizeof *s->corr);
		for (int64_t j = 0; j < e->n; j++) {
			if (j % 4096 == 0 && ctx->cancel)
				return iso_ctx_poll(ctx);
			correct(s, x, &e->v[j]);
		}
		for (int64_t i = 0; i < s->voxels; i++)
			x[i] *= s->corr[i];
	}
	return ISO_OK;
}

static int64_t longest(const struct ray_grid *g)
{
	int n = g->n[0] > g->n[1] ? g->n[0] : g->n[1];

	return 3 * (int64_t)(n > g->n[2] ? n : g->n[2]);
}

static int run_scalar(iso_real *x, struct iso_ladder_time *time, iso_ctx *ctx,
		      const struct iso_ladder *p, const struct iso_events *e)
{
	struct scalar s = { .voxels = iso_grid_voxels(&p->grid) };
	double began_s = iso_now_s(), start_s;
	int st = iso_ray_grid(&s.grid, &p->grid);

	if (st)
		return st;
	s.corr = size_alloc(s.voxels, sizeof *s.corr);
	s.piece = size_alloc(longest(&s.grid), sizeof *s.piece);
	start_s = iso_now_s();
	st = s.corr && s.piece ? iterate(x, &s, ctx, p->iterations, e)
			       : iso_fail_memory("ladder", s.voxels * (int64_t)sizeof *s.corr);
	*time = (struct iso_ladder_time){ iso_now_s() - began_s, iso_now_s() - start_s, 1 };
	free(s.corr);
	free(s.piece);
	return st;
}

static int check(const iso_ctx *ctx, const struct iso_ladder *p)
{
	bool scalar = p->step == ISO_LADDER_SCALAR;
	int st = iso_grid_check(&p->grid);

	if (st)
		return st;
	if (p->iterations < 1)
		return iso_fail(ISO_EARG, "ladder: %d iterations, must be at least 1", p->iterations);
	if (scalar && p->wide)
		return iso_fail(ISO_EARG, "ladder: the scalar program has float32 only");
	if (scalar == iso_ctx_is_cuda(ctx))
		return iso_fail(ISO_EARG, "ladder: step '%s' does not run on %s",
				iso_ladder_name(p->step), iso_ctx_device(ctx));
	return ISO_OK;
}

int iso_ladder_run(iso_real *x, struct iso_ladder_time *time, iso_ctx *ctx,
		   const struct iso_ladder *p, const struct iso_events *e)
{
	union {
		void *address;
		int (*run)(iso_real *x, struct iso_ladder_time *time, iso_ctx *ctx,
			   const struct iso_ladder *p, const struct iso_events *e);
	} cuda;
	int st = check(ctx, p);

	if (st)
		return st;
	if (p->step == ISO_LADDER_SCALAR)
		return run_scalar(x, time, ctx, p, e);
	if ((st = iso_cuda_symbol(&cuda.address, "iso_ladder_cuda")))
		return st;
	return cuda.run(x, time, ctx, p, e);
}
