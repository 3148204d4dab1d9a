/* SPDX-License-Identifier: BSD-3-Clause */
/* The three methods of Wang 2013 on any array and grid, and what is measured and drawn of images. */
#include "reproduce_wang.h"

#include "core/progress.h"
#include "core/size.h"
#include "core/vec.h"
#include "papers/reproduce_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIXELS 400 /* at least, along z */

const char *const wang_methods[WANG_METHODS] = { "FBP", "PLS-Int", "PLS-Sph" };

/* ---- operators ---- */

static int copy_traces(iso_real **y, const struct wang_problem *p)
{
	int64_t n = p->t->n * p->t->samples;

	if (!(*y = size_alloc(n, sizeof **y))) return iso_fail_memory("reproduce", n * (int64_t)sizeof **y);
	memcpy(*y, p->traces, (size_t)n * sizeof **y);
	return ISO_OK;
}

/* Apertures are modelled by PLS-Sph alone: section IV-B. */
static int sph(iso_op **op, iso_real **y, iso_ctx *ctx, const struct wang_problem *p)
{
	struct iso_svoxel m = { .size = sizeof m,
		                .t = p->t,
		                .grid = p->grid,
		                .sir = p->t->aperture ? ISO_SIR_RECT : ISO_SIR_POINT };
	int64_t n;
	int st = iso_svoxel_lines(&m, p->fmax_mhz);

	if (st || (st = iso_svoxel_create(op, ctx, &m)) || !y) return st;
	n = iso_op_n_out(*op);
	if (!(*y = size_alloc(n, sizeof **y))) return iso_fail_memory("reproduce", n * (int64_t)sizeof **y);
	return iso_svoxel_spectra(*y, ctx, &m, p->traces);
}

int wang_op(iso_op **op, iso_real **y, iso_ctx *ctx, const struct wang_problem *p)
{
	const struct iso_ubp ubp = { .size = sizeof ubp, .transducers = p->t, .grid = p->grid };
	const struct iso_sradon sradon = { .size = sizeof sradon, .t = p->t, .grid = p->grid };
	int st;

	if (p->method == WANG_SPH) return sph(op, y, ctx, p);
	st = p->method == WANG_FBP ? iso_ubp_create(op, ctx, &ubp) : iso_sradon_create(op, ctx, &sradon);
	return st || !y ? st : copy_traces(y, p);
}

/* ---- images ---- */

static int fbp(iso_real *x, iso_op *op, const iso_real *traces)
{
	iso_ctx *ctx = iso_op_ctx(op);
	const struct iso_vec *v = iso_ctx_vec(ctx);
	const int64_t n = iso_op_n_in(op), n_data = iso_op_n_out(op);
	iso_real *dx = NULL, *y = NULL;
	int st;

	if ((st = iso_vec_alloc(ctx, &dx, n)) || (st = iso_vec_alloc(ctx, &y, n_data))) goto done;
	if ((st = v->upload(ctx, y, traces, n_data * (int64_t)sizeof *y))) goto done;
	if ((st = iso_adjoint(op, ISO_ALL, dx, y))) goto done;
	st = v->download(ctx, x, dx, n * (int64_t)sizeof *x);
done:
	v->free(ctx, dx);
	v->free(ctx, y);
	return st;
}

/* From zero, by conjugate gradients. */
static int pls(iso_real *x, iso_op *op, const iso_real *y, const struct wang_problem *p)
{
	struct iso_cg cg = { .size = sizeof cg, .op = op, .y = y, .mu = p->mu, .iterations = p->iterations };
	int st = ISO_OK;

	if (p->mu > 0) st = iso_smoothness_create(&cg.penalty, iso_op_ctx(op), &p->grid);
	if (!st) st = iso_cg_run(x, NULL, &cg, NULL);
	iso_op_free(cg.penalty);
	return st;
}

int wang_recon(struct iso_array *x, double *seconds, iso_ctx *ctx, const struct wang_problem *p)
{
	iso_op *op = NULL;
	iso_real *y = NULL;
	double start_s;
	int st;

	if ((st = wang_op(&op, &y, ctx, p))) goto done;
	if (p->by_area && ((st = iso_weigh_data(y, iso_op_n_out(op), p->t->n, p->t->area)) ||
	                   (st = iso_weigh_rows(&op, p->t->n, p->t->area))))
		goto done;
	if ((st = iso_array_on_grid(x, &p->grid))) goto done;
	strcpy(x->unit, "absorbed energy");
	start_s = iso_now_s();
	st = p->method == WANG_FBP ? fbp(x->v, op, y) : pls(x->v, op, y, p);
	*seconds = (iso_now_s() - start_s) / (p->method == WANG_FBP ? 1 : p->iterations);
done:
	iso_op_free(op);
	free(y);
	return st;
}

/* ---- phantoms ---- */

int wang_spheres(struct iso_spheres *s, const struct wang *w, const char *phantom)
{
	struct iso_sphere *v = NULL;
	iso_phantom *p = NULL;
	int st = iso_phantom_create(&p, phantom, NULL);

	if (st) return st;
	s->n = iso_phantom_shapes(p);
	if (!(v = size_alloc(s->n, sizeof *v))) st = iso_fail_memory("reproduce", s->n * (int64_t)sizeof *v);
	if (!st) st = iso_phantom_spheres(v, &s->fwhm, p);
	iso_phantom_free(p);
	s->v = v;
	if (w->scale->fwhm > 0) s->fwhm = w->scale->fwhm;
	return st;
}

/* ---- figures ---- */

/* Nodes first, first + step, ... along each axis: spec of the sub-grid of our own FBP figures. */
static double nodes_rmse(const struct wang_scale *s, const struct iso_array *x, const struct iso_array *truth)
{
	const int64_t *n = s->grid.n;
	double sum = 0, count = 0;

	for (int64_t k = s->first_node; k < n[2]; k += s->node_step)
		for (int64_t j = s->first_node; j < n[1]; j += s->node_step)
			for (int64_t i = s->first_node; i < n[0]; i += s->node_step) {
				int64_t at = (k * n[1] + j) * n[0] + i;
				double e = (double)x->v[at] - (double)truth->v[at];

				sum += e * e;
				count++;
			}
	return sqrt(sum / count);
}

int wang_rmse(struct wang_image *image, const struct wang *w, const struct iso_array *x,
              const struct iso_array *truth)
{
	struct iso_rmse r;
	int st = iso_measure_rmse(&r, x->n, x->v, truth->v, NULL, ISO_SCALE_NONE);

	if (st) return st;
	image->rmse = r.rmse;
	image->nodes = nodes_rmse(w->scale, x, truth);
	return ISO_OK;
}

int wang_draw_plane(struct iso_pixels *p, const struct iso_array *x, int64_t j, double top)
{
	const int64_t *n = x->grid.n;
	const struct page_plane plane = {
		.right = n[2],
		.up = n[0],
		.step_right = n[0] * n[1],
		.step_up = 1,
		.zoom = (PIXELS + n[2] - 1) / n[2],
		.v = x->v + j * n[0],
		.top = top,
	};

	return page_paint(p, &plane);
}

int wang_draw_mip(struct iso_pixels *p, const struct iso_array *x, double top)
{
	const struct iso_grid *g = &x->grid;
	struct iso_grid flat = *g;
	struct iso_array most = { 0 };
	int st;

	flat.n[1] = 1;
	if ((st = iso_array_on_grid(&most, &flat))) return st;
	for (int64_t i = 0; i < x->n; i++) {
		iso_real *v = most.v + i / (g->n[0] * g->n[1]) * g->n[0] + i % g->n[0];

		*v = x->v[i] > *v ? x->v[i] : *v;
	}
	st = wang_draw_plane(p, &most, 0, top);
	iso_array_free(&most);
	return st;
}
