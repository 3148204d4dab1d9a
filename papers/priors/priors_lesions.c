/* SPDX-License-Identifier: BSD-3-Clause */
/* Contrast of the spheres at equal noise of the background: OSEM with Gaussian filters, relative differences, and
   relative differences with Bowsher's weights, over scans of other seeds. */
#include "priors.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SEED 100
#define LAST_COLOUR 3.5 /* of the background */

enum { FORMS = 3, STRENGTHS = 5, SPHERES = 16, OSEM_ITERATIONS = 4, COMMON = 2, ZOOM = 2 };

static const char *const form_names[FORMS] = { "OSEM, Gaussian filter", "Relative differences",
	                                       "Relative differences, Bowsher" };
static const char *const form_keys[FORMS] = { "osem", "rdp", "bowsher" };

/* mm FWHM; scale-free strengths. The noise of form 1 at strength COMMON is that at which all are compared. */
static const double strengths[FORMS][STRENGTHS] = { { 3, 4.5, 6, 8, 11 },
	                                            { .05, .1, .2, .4, .8 },
	                                            { .05, .1, .2, .4, .8 } };

struct figures {
	double noise; /* standard deviation over mean of the background, per cent */
	double contrast[SPHERES];
};

struct lesions {
	struct priors *p;
	struct figures *all;           /* [seed][form][strength] */
	struct iso_array shown[FORMS]; /* of the first seed, nearest to the common noise */
	double unit;
};

static struct figures *figures_of(const struct lesions *l, int64_t seed, int form, int strength)
{
	return l->all + (seed * FORMS + form) * STRENGTHS + strength;
}

static int measure(struct figures *f, const struct priors *p, const struct iso_array *x)
{
	struct iso_nema_result r = { .size = sizeof r };
	double sum = 0, squares = 0, n = 0;
	int st = iso_measure_nema(&r, x, &p->places);

	if (st) return st;
	for (int64_t i = 0; i < x->n; i++)
		if (p->background[i])
			sum += (double)x->v[i], squares += (double)x->v[i] * (double)x->v[i], n++;
	f->noise = 100 * sqrt(squares / n - sum / n * (sum / n)) / (sum / n);
	for (int k = 0; k < p->places.n_spheres; k++) f->contrast[k] = r.sphere[k].contrast;
	return ISO_OK;
}

/* ---- images ---- */

static int make_osem(struct iso_array *x, const struct priors *p, const struct priors_scan *s)
{
	struct iso_em em = { .size = sizeof em,
		             .op = s->op,
		             .data = { .y = s->y, .add = s->r, .mult = s->m },
		             .sens = { 1, s->subsets, p->sens.v },
		             .iterations = OSEM_ITERATIONS };
	int st = priors_start(x, p, s);

	return st ? st : iso_em_run(x->v, NULL, &em, NULL);
}

static int make_penalised(struct iso_array *x, const struct priors *p, const struct priors_scan *s,
                          double relative, bool bowsher)
{
	const struct iso_prior_spec prior = { .size = sizeof prior,
		                              .kind = ISO_PRIOR_RDP,
		                              .grid = p->truth.grid,
		                              .parameter = { 2 }, /* gamma */
		                              .anatomy = bowsher ? p->anatomy.v : NULL,
		                              .bowsher = bowsher ? 7 : 0 };
	struct iso_map map = priors_map(p, s, &prior);
	int st = priors_start(x, p, s);

	map.relative = relative;
	return st ? st : iso_map_run(x->v, NULL, &map, NULL);
}

static int make(struct iso_array *x, const struct priors *p, const struct priors_scan *s,
                const struct iso_array *osem, int form, double strength)
{
	const struct iso_filter filter = { .kind = ISO_GAUSSIAN, .fwhm = { strength, strength, strength } };
	int st;

	if (form > 0) return make_penalised(x, p, s, strength, form == 2);
	if ((st = iso_array_on_grid(x, &p->truth.grid))) return st;
	memcpy(x->v, osem->v, (size_t)x->n * sizeof *x->v);
	return iso_filter_host(x->v, p->s.fast, &filter, &p->truth.grid);
}

static int run_seed(struct lesions *l, int64_t seed)
{
	struct priors *p = l->p;
	struct iso_array osem = { 0 };
	struct priors_scan s;
	int st = priors_scan_open(&s, p, p->scale.lesion_events, (uint64_t)(FIRST_SEED + seed));

	l->unit = s.unit;
	if (!st) st = make_osem(&osem, p, &s);
	for (int k = 0; k < FORMS * STRENGTHS && !st; k++) {
		struct iso_array x = { 0 };
		const int form = k / STRENGTHS, strength = k % STRENGTHS;

		if (!(st = make(&x, p, &s, &osem, form, strengths[form][strength])))
			st = measure(figures_of(l, seed, form, strength), p, &x);
		if (!st && seed == 0 && strength == COMMON) {
			l->shown[form] = x;
			x = (struct iso_array){ 0 };
		}
		iso_array_free(&x);
		if (!st) st = study_poll(&p->s);
	}
	iso_array_free(&osem);
	priors_scan_close(&s);
	return st;
}

/* ---- at equal noise ---- */

/* Contrast of a sphere where the noise is `noise`, between the two strengths around it by the logarithm; beyond the ends
   that of the end. */
static double contrast_at(const struct lesions *l, int64_t seed, int form, int sphere, double noise)
{
	const struct figures *f = figures_of(l, seed, form, 0);
	int k = 0;

	while (k < STRENGTHS - 2 && f[k + 1].noise > noise) k++;
	const double a = log(f[k].noise), b = log(f[k + 1].noise);
	const double t = fmin(fmax((a - log(noise)) / (a - b), 0), 1);

	return (1 - t) * f[k].contrast[sphere] + t * f[k + 1].contrast[sphere];
}

static double common_noise(const struct lesions *l)
{
	double sum = 0;

	for (int64_t i = 0; i < l->p->scale.lesion_seeds; i++) sum += figures_of(l, i, 1, COMMON)->noise;
	return sum / (double)l->p->scale.lesion_seeds;
}

static void tell_form(const struct lesions *l, int form, double noise, json_t *rows)
{
	const double seeds = (double)l->p->scale.lesion_seeds;
	const int spheres = l->p->places.n_spheres;
	double mean[SPHERES] = { 0 }, spread[SPHERES] = { 0 };
	json_t *cells = json_array(), *row;

	for (int k = 0; k < spheres; k++) {
		double squares = 0;

		for (int64_t i = 0; i < (int64_t)seeds; i++) {
			const double c = contrast_at(l, i, form, k, noise);

			mean[k] += c / seeds;
			squares += c * c / seeds;
		}
		spread[k] = sqrt(fmax(0, squares - mean[k] * mean[k]) * seeds / (seeds - 1));
		json_array_append_new(cells, json_string(study_text("%.1f ± %.1f", mean[k], spread[k])));
	}
	row = record_pack("{s:s, s:f, s:o, s:o}", "form", form_keys[form], "noise", noise, "contrast",
	                  record_reals(spheres, mean), "spread", record_reals(spheres, spread));
	json_array_append_new(rows, row);
	study_row(&l->p->s, "lesion_rows",
	          record_pack("{s:s, s:o}", "form", form_names[form], "cells", cells));
}

static void draw_curves(const struct lesions *l, int sphere)
{
	double noise[FORMS][STRENGTHS] = { { 0 } }, contrast[FORMS][STRENGTHS] = { { 0 } };
	const double seeds = (double)l->p->scale.lesion_seeds;
	struct iso_svg_curve curve[FORMS];

	for (int form = 0; form < FORMS; form++) {
		for (int k = 0; k < STRENGTHS; k++)
			for (int64_t i = 0; i < (int64_t)seeds; i++) {
				noise[form][k] += figures_of(l, i, form, k)->noise / seeds;
				contrast[form][k] += figures_of(l, i, form, k)->contrast[sphere] / seeds;
			}
		curve[form] = (struct iso_svg_curve){ form_names[form], form, STRENGTHS, noise[form],
			                              contrast[form] };
	}
	study_chart(&l->p->s, "lesion_charts",
	            study_text("Sphere of %g mm", l->p->places.sphere[sphere].diameter),
	            "noise of the background, %", "contrast recovery, %", FORMS, curve);
}

static int draw_images(struct lesions *l)
{
	int st = ISO_OK;

	for (int form = 0; form < FORMS && !st; form++) {
		const int64_t *size = l->shown[form].grid.n;
		const struct study_plane plane = { size[0],
			                           size[1],
			                           1,
			                           size[0],
			                           l->shown[form].v + size[2] / 2 * size[0] * size[1],
			                           LAST_COLOUR * l->unit,
			                           .zoom = ZOOM };
		const struct figures *f = figures_of(l, 0, form, COMMON);

		if ((st = study_draw(&l->p->s, "lesion_pictures", &plane, form_names[form],
		                     "transverse slice through the spheres",
		                     study_text("noise %.1f\u202f%%", f->noise))))
			return st;
		st = cmd_write(l->p->s.c, study_text("%s.nii", form_keys[form]), &l->shown[form]);
	}
	return st;
}

int priors_lesions(struct priors *p)
{
	struct lesions l = { .p = p };
	struct iso_clock clock;
	json_t *rows = json_array();
	int st = study_stage(&p->s, "lesions");

	clock = iso_clock_start(p->s.c->ctx, "lesions", 0, p->scale.lesion_seeds);
	if (!st) st = STUDY_NEW(l.all, p->scale.lesion_seeds * FORMS * STRENGTHS);
	for (int64_t i = 0; i < p->scale.lesion_seeds && !st; i++) {
		st = run_seed(&l, i);
		iso_clock_step(&clock, i + 1, NULL);
	}
	if (!st) {
		const double noise = common_noise(&l);

		study_show(&p->s, "common_noise", record_real(noise));
		for (int form = 0; form < FORMS; form++) tell_form(&l, form, noise, rows);
		draw_curves(&l, 0);
		draw_curves(&l, p->places.n_spheres / 2);
		st = draw_images(&l);
	}
	study_result(&p->s, "lesions", rows);
	for (int form = 0; form < FORMS; form++) iso_array_free(&l.shown[form]);
	free(l.all);
	return st;
}
