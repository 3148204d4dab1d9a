/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrays of Wang 2013 and parts of them, its three methods on any array and grid, and what is measured
   and drawn of images. */
#include "wang.h"

#include <stdlib.h>
#include <string.h>

#define PIXELS 400 /* at least, along z */
#define SEED 3     /* of noise */

const char *const wang_methods[WANG_METHODS] = { "FBP", "PLS-Int", "PLS-Sph" };
const char *const wang_files[WANG_METHODS] = { "fbp", "int", "sph" };

const int wang_every[WANG_SETS][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 4, 2 } };
const int wang_scan_every[WANG_SCANS][2] = { { 1, 1 }, { 1, 4 } };

const char *wang_set_name(const struct wang_array *a, const int every[2], const char *by)
{
	return study_text("%d%s%d", (int)a->rings / every[0], by, (int)a->views / every[1]);
}

int wang_transducers(struct iso_transducers *t, const struct wang_array *a, const int every[2])
{
	const bool poles = a->polar[1] == 0;
	const double degree = M_PI / 180, n = (double)a->rings;
	struct iso_rings rings = { .radius = 65, a->rings / every[0], a->views / every[1] };
	int st;

	rings.polar_first = poles ? M_PI / (2 * n) : a->polar[0] * degree;
	rings.polar_step = every[0] * (poles ? M_PI / n : (a->polar[1] - a->polar[0]) * degree / (n - 1));
	rings.azimuth_step = every[1] * (2 * M_PI / (double)a->views);
	*t = (struct iso_transducers){
		.speed = 1.54, .first_us = 17.5, .samples = a->samples, .gamma = 2000
	};
	t->dt_us = 1 / a->sampling_mhz;
	if ((st = iso_transducers_rings(t, &rings)) || a->aperture == 0) return st;
	st = STUDY_NEW(t->aperture, 2 * t->n);
	for (int64_t i = 0; i < 2 * t->n && !st; i++) t->aperture[i] = a->aperture;
	return st;
}

/* ---- operators ---- */

/* Apertures are modelled by PLS-Sph alone: section IV-B. */
static int sph(iso_op **op, iso_real **y, iso_ctx *ctx, const struct wang_problem *p)
{
	struct iso_svoxel m = { .size = sizeof m, .t = p->t, .grid = p->grid };
	int st;

	m.sir = p->t->aperture ? ISO_SIR_RECT : ISO_SIR_POINT;
	if ((st = iso_svoxel_lines(&m, p->fmax_mhz)) || (st = iso_svoxel_create(op, ctx, &m)) || !y)
		return st;
	return (st = STUDY_NEW(*y, iso_op_n_out(*op))) ? st : iso_svoxel_spectra(*y, ctx, &m, p->traces);
}

int wang_op(iso_op **op, iso_real **y, iso_ctx *ctx, const struct wang_problem *p)
{
	const struct iso_ubp ubp = { .size = sizeof ubp, .transducers = p->t, .grid = p->grid };
	const struct iso_sradon sradon = { .size = sizeof sradon, .t = p->t, .grid = p->grid };
	const int64_t n = p->t->n * p->t->samples;
	int st;

	if (p->method == WANG_SPH) return sph(op, y, ctx, p);
	st = p->method == WANG_FBP ? iso_ubp_create(op, ctx, &ubp) : iso_sradon_create(op, ctx, &sradon);
	if (st || !y || (st = STUDY_NEW(*y, n))) return st;
	memcpy(*y, p->traces, (size_t)n * sizeof **y);
	return ISO_OK;
}

/* ---- images ---- */

/* PLS from zero, by conjugate gradients. */
int wang_recon(struct iso_array *x, double *seconds, iso_ctx *ctx, const struct wang_problem *p)
{
	struct iso_cg cg = { .size = sizeof cg, .mu = p->mu, .iterations = p->iterations };
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
	if (p->mu > 0 && p->method != WANG_FBP) st = iso_smoothness_create(&cg.penalty, ctx, &p->grid);
	cg.op = op;
	cg.y = y;
	if (!st)
		st = p->method == WANG_FBP ? study_apply(x->v, op, true, y)
		                           : iso_cg_run(x->v, NULL, &cg, NULL);
	*seconds = (iso_now_s() - start_s) / (p->method == WANG_FBP ? 1 : p->iterations);
done:
	iso_op_free(cg.penalty);
	iso_op_free(op);
	free(y);
	return st;
}

/* ---- sound ---- */

/* The phantom's spheres have the FWHM of the scale. */
int wang_sound_truth(struct wang_sound *s, const char *phantom, const char *path)
{
	const struct wang_scale *scale = s->w->scale;
	struct iso_sphere *v = NULL;
	iso_phantom *p = NULL;
	int st;

	if ((st = iso_phantom_create(&p, phantom, NULL))) return st;
	s->spheres.n = iso_phantom_shapes(p);
	if (!(st = STUDY_NEW(v, s->spheres.n))) st = iso_phantom_spheres(v, &s->spheres.fwhm, p);
	iso_phantom_free(p);
	s->spheres.v = v;
	if (scale->fwhm > 0) s->spheres.fwhm = scale->fwhm;
	if (st || (st = iso_array_on_grid(&s->truth, scale->grid))) return st;
	if ((st = iso_spheres_raster(s->truth.v, s->w->s.cpu, &s->spheres, scale->grid))) return st;
	return cmd_write(s->w->s.c, path, &s->truth);
}

int wang_sound_traces(struct wang_sound *s, double noise)
{
	double greatest;
	int st = STUDY_NEW(s->traces, s->all.n * s->all.samples);

	return st ? st
	          : iso_spheres_traces(s->traces, &greatest, s->w->s.cpu, &s->spheres, &s->all, noise, SEED);
}

static void free_set(struct wang_sound *s)
{
	s->t.eir = NULL;
	iso_transducers_free(&s->t);
	free(s->y);
	s->y = NULL;
}

int wang_sound_set(struct wang_sound *s, const int every[2])
{
	const int64_t k = s->array->samples, views = s->array->views;
	int st;

	free_set(s);
	if ((st = wang_transducers(&s->t, s->array, every)) || (st = STUDY_NEW(s->y, s->t.n * k))) return st;
	s->t.eir = s->all.eir;
	s->t.n_eir = s->all.n_eir;
	for (int64_t i = 0; i < s->t.n; i++) {
		int64_t ring = i / (views / every[1]) * every[0], view = i % (views / every[1]) * every[1];

		memcpy(s->y + i * k, s->traces + (ring * views + view) * k, (size_t)k * sizeof *s->y);
	}
	return ISO_OK;
}

void wang_sound_free(struct wang_sound *s)
{
	free_set(s);
	iso_transducers_free(&s->all);
	iso_array_free(&s->truth);
	free((struct iso_sphere *)s->spheres.v);
	free(s->traces);
}

struct wang_problem wang_sound_problem(const struct wang_sound *s, enum wang_method method)
{
	const struct wang_scale *scale = s->w->scale;
	struct wang_problem p = { method, &s->t, s->y, .iterations = scale->iterations };

	p.grid = *scale->grid;
	p.fmax_mhz = scale->fmax_mhz;
	return p;
}

/* ---- figures ---- */

/* Nodes first, first + step, ... along each axis: spec of the sub-grid of our own FBP figures. */
static double nodes_rmse(const struct wang_scale *s, const struct iso_array *x, const struct iso_array *truth)
{
	const int64_t *n = s->grid->n;
	double sum = 0, count = 0;

	for (int64_t k = s->first_node; k < n[2]; k += s->node_step)
		for (int64_t j = s->first_node; j < n[1]; j += s->node_step)
			for (int64_t i = s->first_node; i < n[0]; i += s->node_step, count++) {
				int64_t at = (k * n[1] + j) * n[0] + i;

				sum += pow((double)x->v[at] - (double)truth->v[at], 2);
			}
	return sqrt(sum / count);
}

int wang_sound_image(struct iso_array *x, struct wang_image *image, const struct wang_sound *s,
                     const struct wang_problem *p)
{
	struct iso_rmse r = { .size = sizeof r };
	int st;

	if ((st = wang_recon(x, &image->seconds, s->w->s.fast, p))) return st;
	if ((st = iso_measure_rmse(&r, x->n, x->v, s->truth.v, NULL, ISO_SCALE_NONE))) return st;
	image->rmse = r.rmse;
	image->nodes = nodes_rmse(s->w->scale, x, &s->truth);
	return study_poll(&s->w->s);
}

void wang_sound_row(struct wang_sound *s, int place, const char *method, const char *data,
                    const struct wang_image *i)
{
	size_t at = place < 0 ? json_array_size(s->rows) : (size_t)place;

	json_array_insert_new(s->rows, at,
	                      record_pack("{s:s, s:s, s:f, s:f, s:f}", "method", method, "data", data, "rmse",
	                                  i->rmse, "rmse_coarse", i->nodes, "seconds", i->seconds));
}

int wang_draw_plane(struct wang *w, const char *key, const struct iso_array *x, int64_t j, double top,
                    const char *name, const char *alt, const char *note)
{
	const int64_t *n = x->grid.n;
	const iso_real *v = x->v + j * n[0];
	const struct study_plane plane = {
		n[2], n[0], n[0] * n[1], 1, v, top, .zoom = (PIXELS + n[2] - 1) / n[2]
	};

	return study_draw(&w->s, key, &plane, name, alt, note);
}
