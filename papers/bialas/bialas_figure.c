/* SPDX-License-Identifier: BSD-3-Clause */
/* Figure 3 of Bialas 2015: the phantom, its direct image, and images after 1, 5, 10 and 25
   iterations; as the paper has them (form raw, kernel eq7: an image of s times activity), and by
   maximum likelihood with the better kernel. */
#include "bialas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1
#define ZOOM 4    /* pixels of the picture for one of the image */
#define TOP .8    /* value of the last colour; the phantom has up to 0.7 */
#define SAMPLES 8 /* along each axis of a pixel, for the phantom */
#define MOST_ITERATIONS 25

static const struct form {
	const char *name;
	enum iso_strip_kernel kernel;
	bool raw;
} forms[] = {
	{ "raw", ISO_STRIP_EQ7, true }, /* the paper's */
	{ "ml", ISO_STRIP_TAN, false }, /* maximum likelihood */
};

struct figure {
	struct bialas *b;
	struct iso_grid grid;
	struct iso_array truth, seen, sens, ones, x; /* seen: s times truth */
	struct iso_strip_events e;
	iso_phantom *phantom;
	const struct form *form;
	json_t *images;
};

/* y upwards, z to the right. */
static int draw(const struct figure *f, const char *key, const iso_real *x, double scale, const char *name,
                const char *note)
{
	const int64_t nz = f->grid.n[0];
	const struct study_plane plane = { nz, f->grid.n[1], 1, nz, ZOOM, .v = x, .top = TOP / scale };

	return study_draw(&f->b->s, key, &plane, name, "strips above and below, z to the right", note);
}

static double sum(const struct iso_array *a)
{
	double s = 0;

	for (int64_t i = 0; i < a->n; i++) s += a->v[i];
	return s;
}

/* Errors are those where the phantom is; images of s times activity are drawn in the colours that
   their truth, brought to the phantom's sum, has. */
static int keep(const struct figure *f, double *nrmse, const struct iso_array *x,
                const struct iso_array *truth, const char *key, const char *name)
{
	struct iso_rmse error;
	int st = iso_measure_rmse(&error, x->n, x->v, truth->v, f->truth.v, ISO_SCALE_FIT);

	if (st) return st;
	*nrmse = error.nrmse;
	return draw(f, key, x->v, error.scale * sum(&f->truth) / sum(truth), name,
	            study_text("NRMSE %.1f\u202f%%", 100 * error.nrmse));
}

/* ---- what is reconstructed ---- */

static int make_truth(struct figure *f)
{
	struct iso_array *const images[] = { &f->seen, &f->sens, &f->ones, &f->x };
	struct bialas *b = f->b;
	int st;

	f->grid = iso_strip_grid(&b->strip);
	if ((st = iso_phantom_create(&f->phantom, "ellipses", NULL))) return st;
	if ((st = study_phantom(&f->truth, &b->s, "ellipses", NULL, &f->grid, SAMPLES))) return st;
	for (int k = 0; k < 4; k++)
		if ((st = iso_array_on_grid(images[k], &f->grid))) return st;
	if ((st = iso_strip_sens(f->sens.v, &b->strip, false))) return st;
	for (int64_t i = 0; i < f->seen.n; i++) {
		f->seen.v[i] = f->sens.v[i] * f->truth.v[i];
		f->ones.v[i] = 1;
	}
	if ((st = draw(f, "figure", f->truth.v, 1, "Phantom", ""))) return st;
	return cmd_write(b->s.c, "phantom.nii", &f->truth);
}

static int make_direct(struct figure *f, double *nrmse)
{
	struct bialas *b = f->b;
	int64_t outside;
	int st;

	if ((st = iso_strip_direct(f->x.v, &outside, &b->strip, &f->e))) return st;
	snprintf(f->x.unit, sizeof f->x.unit, "events");
	if ((st = keep(f, nrmse, &f->x, &f->seen, "figure", "Direct image"))) return st;
	return cmd_write(b->s.c, "direct.nii", &f->x);
}

/* ---- iterations ---- */

static bool wants(void *arg, int iteration)
{
	(void)arg;
	return iteration == 1 || iteration == 5 || iteration == 10 || iteration == MOST_ITERATIONS;
}

static int each(void *arg, int iteration, const iso_real *x)
{
	struct figure *f = arg;
	const struct form *form = f->form;
	struct iso_array a = f->x;
	double nrmse;
	int st;

	a.v = (iso_real *)x;
	snprintf(a.unit, sizeof a.unit, form->raw ? "detected emissions" : "emissions");
	if ((st = keep(f, &nrmse, &a, form->raw ? &f->seen : &f->truth, form->name,
	               study_text("after %d iteration%s", iteration, iteration > 1 ? "s" : ""))))
		return st;
	json_array_append_new(f->images, record_pack("{s:s, s:i, s:f}", "form", form->name, "iterations",
	                                             iteration, "nrmse", nrmse));
	return cmd_write(f->b->s.c, study_text("%s-%d.nii", form->name, iteration), &a);
}

static int iterate(struct figure *f)
{
	struct bialas *b = f->b;
	struct iso_strip p = b->strip;
	struct iso_em em = { .size = sizeof em,
		             .iterations = MOST_ITERATIONS,
		             .sens = { 1, 1, f->form->raw ? f->ones.v : f->sens.v } };
	const struct iso_run run = { .size = sizeof run, .each = each, .wants = wants, .arg = f };
	double start_s;
	int st;

	p.kernel = f->form->kernel;
	memcpy(f->x.v, f->ones.v, (size_t)f->x.n * sizeof *f->x.v);
	if ((st = iso_strip_create(&em.op, b->s.c->ctx, &p, &f->e))) return st;
	start_s = iso_now_s();
	st = iso_em_run(f->x.v, NULL, &em, &run);
	study_show(&b->s, study_text("%s_s", f->form->name),
	           record_real((iso_now_s() - start_s) / em.iterations));
	iso_op_free(em.op);
	return st;
}

static void tell(const struct figure *f, double direct_nrmse)
{
	const struct iso_strip *p = &f->b->strip;

	study_show(&f->b->s, "strips",
	           record_pack("[f,f,f,f,I,I,f]", p->strips.length, p->strips.radius, p->strips.sigma_z,
	                       p->strips.sigma_dl, (json_int_t)p->nz, (json_int_t)p->ny, p->pixel));
	study_result(&f->b->s, "figure_3",
	             record_pack("{s:f, s:f, s:o}", "events", (double)f->e.n, "direct_nrmse", direct_nrmse,
	                         "images", f->images));
}

int bialas_figure(struct bialas *b, int64_t events)
{
	struct figure f = { .b = b, .images = json_array() };
	struct iso_array *const images[] = { &f.truth, &f.seen, &f.sens, &f.ones, &f.x };
	double direct_nrmse = NAN;
	int st;

	if ((st = make_truth(&f))) goto done;
	if ((st = bialas_events(&f.e, b, f.phantom, SEED, events))) goto done;
	if ((st = make_direct(&f, &direct_nrmse))) goto done;
	for (int k = 0; k < 2 && !st; k++) {
		f.form = &forms[k];
		st = iterate(&f);
	}
done:
	tell(&f, direct_nrmse);
	free(f.e.v);
	iso_phantom_free(f.phantom);
	for (int k = 0; k < 5; k++) iso_array_free(images[k]);
	return st;
}
