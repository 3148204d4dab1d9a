/* SPDX-License-Identifier: BSD-3-Clause */
/* Figure 3 of Bialas 2015: the phantom, its direct image, and images after 1, 5, 10 and 25
   iterations; as the paper has them (form raw, kernel eq7: an image of s times activity), and by
   maximum likelihood with the better kernel. */
#include "reproduce_bialas.h"

#include "core/progress.h"
#include "core/size.h"
#include "papers/reproduce_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1
#define ZOOM 4    /* pixels of the picture for one of the image */
#define TOP .8    /* value of the last colour; the phantom has up to 0.7 */
#define SAMPLES 8 /* along each axis of a pixel, for the phantom */

const int bialas_shown[BIALAS_SHOWN] = { 1, 5, 10, 25 };

static const struct {
	const char *name, *file, *what;
	enum iso_strip_kernel kernel;
	bool raw;
} forms[BIALAS_FORMS] = {
	{ "The paper\u2019s", "raw", "eq. (5) with kernel (7): an image of s\u2009\u03c1", ISO_STRIP_EQ7,
	  true },
	{ "Maximum likelihood", "ml", "with s, kernel tan: an image of \u03c1", ISO_STRIP_TAN, false },
};

struct figure {
	struct bialas *b;
	struct iso_grid grid;
	struct iso_array truth, seen, sens, ones, x; /* seen: s times truth */
	struct iso_strip_events e;
	iso_phantom *phantom;
	int form;
};

/* ---- pictures ---- */

/* y upwards, z to the right. */
static int draw(struct iso_pixels *p, const struct figure *f, const iso_real *x, double scale)
{
	const int64_t nz = f->grid.n[0], ny = f->grid.n[1];
	const struct page_plane s = { .right = nz,
		                      .up = ny,
		                      .step_right = 1,
		                      .step_up = nz,
		                      .zoom = ZOOM,
		                      .v = x,
		                      .top = TOP / scale };

	return page_paint(p, &s);
}

static double sum(const struct iso_array *a)
{
	double s = 0;

	for (int64_t i = 0; i < a->n; i++) s += a->v[i];
	return s;
}

/* Errors are those where the phantom is; images of s times activity are drawn in the colours that
   their truth, brought to the phantom's sum, has. */
static int keep(struct iso_pixels *p, double *nrmse, const struct figure *f, const struct iso_array *x,
                const struct iso_array *truth)
{
	struct iso_rmse error;
	int st = iso_measure_rmse(&error, x->n, x->v, truth->v, f->truth.v, ISO_SCALE_FIT);

	if (st) return st;
	*nrmse = error.nrmse;
	return draw(p, f, x->v, error.scale * sum(&f->truth) / sum(truth));
}

/* ---- what is reconstructed ---- */

static int make_truth(struct figure *f)
{
	struct bialas *b = f->b;
	int st;

	f->grid = iso_strip_grid(&b->strip);
	if ((st = iso_phantom_create(&f->phantom, "ellipses", NULL))) return st;
	if ((st = iso_array_on_grid(&f->truth, &f->grid))) return st;
	if ((st = iso_array_on_grid(&f->seen, &f->grid))) return st;
	if ((st = iso_array_on_grid(&f->sens, &f->grid))) return st;
	if ((st = iso_array_on_grid(&f->ones, &f->grid))) return st;
	if ((st = iso_array_on_grid(&f->x, &f->grid))) return st;
	if ((st = iso_phantom_raster(f->truth.v, NULL, b->devices.cpu, f->phantom, &f->grid, SAMPLES)))
		return st;
	if ((st = iso_strip_sens(f->sens.v, &b->strip, false))) return st;
	for (int64_t i = 0; i < f->seen.n; i++) {
		f->seen.v[i] = f->sens.v[i] * f->truth.v[i];
		f->ones.v[i] = 1;
	}
	if ((st = draw(&b->phantom, f, f->truth.v, 1))) return st;
	return cmd_write(b->c, "phantom.nii", &f->truth);
}

static int make_events(struct figure *f)
{
	struct bialas *b = f->b;

	f->e.n = (int64_t)b->scale->events;
	if (!(f->e.v = size_alloc(f->e.n, sizeof *f->e.v)))
		return iso_fail_memory("reproduce", f->e.n * (int64_t)sizeof *f->e.v);
	return iso_strip_simulate(f->e.v, b->c->ctx, &b->strip.strips, f->phantom, SEED, 0, f->e.n);
}

static int make_direct(struct figure *f)
{
	struct bialas *b = f->b;
	int64_t outside;
	int st;

	if ((st = iso_strip_direct(f->x.v, &outside, &b->strip, &f->e))) return st;
	snprintf(f->x.unit, sizeof f->x.unit, "events");
	if ((st = keep(&b->direct, &b->direct_nrmse, f, &f->x, &f->seen))) return st;
	return cmd_write(b->c, "direct.nii", &f->x);
}

/* ---- iterations ---- */

static int place(int iteration)
{
	int i = 0;

	while (i < BIALAS_SHOWN && bialas_shown[i] != iteration) i++;
	return i;
}

static bool wants(void *arg, int iteration)
{
	(void)arg;
	return place(iteration) < BIALAS_SHOWN;
}

static int each(void *arg, int iteration, const iso_real *x)
{
	struct figure *f = arg;
	struct bialas_picture *p = &f->b->form[f->form].image[place(iteration)];
	bool raw = forms[f->form].raw;
	struct iso_array a = f->x;
	char path[32];
	int st;

	a.v = (iso_real *)x;
	snprintf(a.unit, sizeof a.unit, raw ? "detected emissions" : "emissions");
	snprintf(path, sizeof path, "%s-%d.nii", forms[f->form].file, iteration);
	if ((st = keep(&p->pixels, &p->nrmse, f, &a, raw ? &f->seen : &f->truth))) return st;
	return cmd_write(f->b->c, path, &a);
}

static int iterate(struct figure *f)
{
	struct bialas *b = f->b;
	const iso_real *sens = forms[f->form].raw ? f->ones.v : f->sens.v;
	struct iso_strip p = b->strip;
	struct iso_em em = { .size = sizeof em,
		             .iterations = bialas_shown[BIALAS_SHOWN - 1],
		             .sens = { 1, 1, sens } };
	const struct iso_run run = { .size = sizeof run, .each = each, .wants = wants, .arg = f };
	double start_s;
	int st;

	p.kernel = forms[f->form].kernel;
	memcpy(f->x.v, f->ones.v, (size_t)f->x.n * sizeof *f->x.v);
	if ((st = iso_strip_create(&em.op, b->c->ctx, &p, &f->e))) return st;
	start_s = iso_now_s();
	st = iso_em_run(f->x.v, NULL, &em, &run);
	b->form[f->form].seconds = (iso_now_s() - start_s) / em.iterations;
	iso_op_free(em.op);
	return st;
}

int bialas_figure(struct bialas *b)
{
	struct figure f = { .b = b };
	int st;

	if ((st = make_truth(&f))) goto done;
	if ((st = make_events(&f))) goto done;
	if ((st = make_direct(&f))) goto done;
	for (f.form = 0; f.form < BIALAS_FORMS && !st; f.form++) {
		b->form[f.form].name = forms[f.form].name;
		b->form[f.form].what = forms[f.form].what;
		st = iterate(&f);
	}
done:
	free(f.e.v);
	iso_phantom_free(f.phantom);
	iso_array_free(&f.truth);
	iso_array_free(&f.seen);
	iso_array_free(&f.sens);
	iso_array_free(&f.ones);
	iso_array_free(&f.x);
	return st;
}
