/* SPDX-License-Identifier: BSD-3-Clause */
/* The numerical study of Wang 2013: nine spheres heard by fewer and fewer transducers, through FBP,
   PLS-Int and PLS-Sph without a penalty. The traces are closed forms, of no grid and no operator. */
#include "reproduce_wang.h"

#include "core/size.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_X (-6.58) /* of the profile, mm; y = 0: Figure 5 */

struct study {
	struct wang *w;
	struct iso_spheres spheres;
	struct iso_array truth;
	struct iso_transducers all;
	iso_real *traces; /* of all */
	/* the set in hand */
	int set;
	struct iso_transducers t;
	iso_real *y;
};

/* The plane of voxels nearest to y = 0. */
static int64_t middle(const struct iso_grid *g)
{
	int64_t j = llround(.5 * (double)(g->n[1] - 1) - g->centre[1] / g->voxel[1]);

	return j < 0 ? 0 : j < g->n[1] ? j : g->n[1] - 1;
}

static double node(const struct iso_grid *g, int a, int64_t i)
{
	return g->centre[a] + ((double)i - .5 * (double)(g->n[a] - 1)) * g->voxel[a];
}

static int take_profile(double value[WANG_SAMPLES], const struct iso_array *x)
{
	const struct iso_grid *g = &x->grid;
	const double y = node(g, 1, middle(g));
	const struct iso_profile line = {
		.from = { LINE_X, y, node(g, 2, 0) },
		.to = { LINE_X, y, node(g, 2, g->n[2] - 1) },
		.samples = WANG_SAMPLES,
	};

	return iso_measure_profile(value, x, &line);
}

static int look(struct wang_image *image, const struct iso_array *x)
{
	int st = wang_draw_plane(&image->pixels, x, middle(&x->grid), 1);

	return st ? st : take_profile(image->profile, x);
}

/* ---- data ---- */

static int make_truth(struct study *s)
{
	struct wang *w = s->w;
	const struct iso_grid *g = &w->scale->grid;
	int st;

	for (int i = 0; i < WANG_SAMPLES; i++)
		w->place[i] = node(g, 2, 0) + (double)(g->n[2] - 1) * g->voxel[2] * i / (WANG_SAMPLES - 1);
	if ((st = wang_spheres(&s->spheres, w, "nine-spheres"))) return st;
	if ((st = iso_array_on_grid(&s->truth, g))) return st;
	if ((st = iso_spheres_raster(s->truth.v, w->devices.cpu, &s->spheres, g))) return st;
	if ((st = look(&w->truth, &s->truth))) return st;
	return cmd_write(w->c, "nine-spheres.nii", &s->truth);
}

static int make_traces(struct study *s)
{
	const struct wang *w = s->w;
	int64_t n;
	int st;

	if ((st = wang_transducers(&s->all, &w->scale->study))) return st;
	n = s->all.n * s->all.samples;
	if (!(s->traces = size_alloc(n, sizeof *s->traces)))
		return iso_fail_memory("reproduce", n * (int64_t)sizeof *s->traces);
	return iso_spheres_pressure(s->traces, w->devices.cpu, &s->spheres, &s->all);
}

/* ---- images ---- */

static struct wang_problem problem(const struct study *s, enum wang_method method)
{
	const struct wang_scale *scale = s->w->scale;

	return (struct wang_problem){ .method = method,
		                      .t = &s->t,
		                      .traces = s->y,
		                      .grid = scale->grid,
		                      .fmax_mhz = scale->fmax_mhz,
		                      .iterations = scale->iterations };
}

/* FBP is made voxel by voxel, so on the CPU a plane and the coarse grid stand for all of it. */
static int beside(struct study *s, const struct iso_array *cuda)
{
	struct wang *w = s->w;
	const struct iso_grid *g = &w->scale->grid;
	const int64_t j = middle(g), *n = g->n;
	struct wang_problem p = problem(s, WANG_FBP);
	struct iso_array x = { 0 };
	double most = 0;
	int st;

	p.grid.n[1] = 1;
	p.grid.centre[1] = node(g, 1, j);
	st = wang_recon(&x, &w->cpu[s->set].seconds, w->devices.cpu, &p);
	for (int64_t i = 0; i < x.n && !st; i++) {
		double a = x.v[i], b = cuda->v[(i / n[0] * n[1] + j) * n[0] + i % n[0]];

		most = fmax(most, fabs(a - b));
	}
	w->apart[s->set] = most;
	if (!st) st = look(&w->cpu[s->set], &x);
	iso_array_free(&x);
	return st;
}

static int coarse_on_cpu(struct study *s)
{
	struct wang *w = s->w;
	const struct wang_scale *c = w->scale;
	struct wang_problem p = problem(s, WANG_FBP);
	struct iso_array x = { 0 }, truth = { 0 };
	struct iso_rmse r;
	double seconds;
	int st;

	for (int a = 0; a < 3; a++) {
		p.grid.n[a] = (c->grid.n[a] - c->first_node + c->node_step - 1) / c->node_step;
		p.grid.voxel[a] = c->node_step * c->grid.voxel[a];
		p.grid.centre[a] =
			node(&c->grid, a, c->first_node) + .5 * (double)(p.grid.n[a] - 1) * p.grid.voxel[a];
	}
	if ((st = wang_recon(&x, &seconds, w->devices.cpu, &p))) goto done;
	if ((st = iso_array_on_grid(&truth, &p.grid))) goto done;
	if ((st = iso_spheres_raster(truth.v, w->devices.cpu, &s->spheres, &p.grid))) goto done;
	if ((st = iso_measure_rmse(&r, x.n, x.v, truth.v, NULL, ISO_SCALE_NONE))) goto done;
	w->cpu[s->set].rmse = NAN;
	w->cpu[s->set].nodes = r.rmse;
done:
	iso_array_free(&x);
	iso_array_free(&truth);
	return st;
}

static int one(struct study *s, enum wang_method method)
{
	static const char *const file[WANG_METHODS] = { "fbp", "int", "sph" };
	static const char *const share[WANG_SETS] = { "all", "half", "quarter", "eighth" };
	struct wang *w = s->w;
	struct wang_image *image = &w->image[method][s->set];
	const struct wang_problem p = problem(s, method);
	struct iso_array x = { 0 };
	char path[64];
	int st;

	snprintf(path, sizeof path, "%s-%s.nii", file[method], share[s->set]);
	if ((st = wang_recon(&x, &image->seconds, w->fast, &p))) goto done;
	if ((st = wang_rmse(image, w, &x, &s->truth)) || (st = look(image, &x))) goto done;
	if ((st = cmd_write(w->c, path, &x))) goto done;
	if (method == WANG_FBP && w->devices.cuda && !(st = beside(s, &x))) st = coarse_on_cpu(s);
done:
	iso_array_free(&x);
	return st ? st : wang_poll(w);
}

/* The same with weights, which the paper does not have. */
static int one_by_area(struct study *s, enum wang_method method)
{
	struct wang_image *image = &s->w->by_area[method][s->set];
	struct wang_problem p = problem(s, method);
	struct iso_array x = { 0 };
	int st;

	p.by_area = true;
	if (!(st = wang_recon(&x, &image->seconds, s->w->fast, &p)))
		st = wang_rmse(image, s->w, &x, &s->truth);
	iso_array_free(&x);
	return st ? st : wang_poll(s->w);
}

/* As in the paper, all transducers are for FBP alone. */
static int one_set(struct study *s)
{
	const struct wang_array *a = &s->w->scale->study;
	const int *every = wang_every[s->set];
	int st;

	if ((st = wang_thin(&s->t, &s->all, a, every))) return st;
	if ((st = wang_thin_traces(&s->y, s->traces, a, every))) return st;
	for (int m = 0; m < (s->set == 0 ? 1 : WANG_METHODS) && !st; m++) st = one(s, (enum wang_method)m);
	for (int m = WANG_INT; m < WANG_METHODS && s->set > 0 && !st; m++)
		st = one_by_area(s, (enum wang_method)m);
	return st;
}

static void drop_set(struct study *s)
{
	iso_transducers_free(&s->t);
	free(s->y);
	s->y = NULL;
}

int wang_study(struct wang *w)
{
	struct study s = { .w = w };
	int st;

	if ((st = make_truth(&s))) goto done;
	if ((st = make_traces(&s))) goto done;
	for (; s.set < WANG_SETS && !st; s.set++) {
		st = one_set(&s);
		drop_set(&s);
	}
done:
	iso_transducers_free(&s.all);
	iso_array_free(&s.truth);
	free((struct iso_sphere *)s.spheres.v);
	free(s.traces);
	return st;
}
