/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiment of Wang 2013 with a tree of vessels in place of the mouse: flat transducers on
   rings of one side, an impulse response, noise; full and quarter data through FBP after
   deconvolution, PLS-Int with the response, PLS-Sph with response and apertures.

   The traces are closed forms, integrated over the faces in the near field: of no operator here. */
#include "reproduce_wang.h"

#include "core/size.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 3
#define NOISE .01  /* of the greatest value */
#define CENTRE .4  /* of the response, over the highest frequency in use */
#define DAMPING .4 /* its time, in periods of the centre */

struct scan {
	struct wang *w;
	struct iso_spheres spheres;
	struct iso_array truth;
	struct iso_transducers all;
	iso_real *traces;
	/* the data in hand */
	int which;
	struct iso_transducers t;
	iso_real *y;
};

/* |sum over k of h_k exp(-2 pi j f k dt)| */
static double gain(const double *h, int64_t n, double cycles)
{
	double re = 0, im = 0;

	for (int64_t k = 0; k < n; k++) {
		re += h[k] * cos(2 * M_PI * cycles * (double)k);
		im += h[k] * sin(2 * M_PI * cycles * (double)k);
	}
	return hypot(re, im);
}

/* exp(-t/T) cos(2 pi f t): a damped ringing without zeros in its band; greatest gain 1. The paper
   does not give its own. */
static int make_response(struct wang *w, struct iso_transducers *t)
{
	double f = CENTRE * w->scale->fmax_mhz, damping = DAMPING / f, most = 0;
	int64_t n = (int64_t)(9 * damping / t->dt_us) + 1;
	struct iso_array file = { 0 };
	int st;

	w->eir_mhz = f;
	if (!(t->eir = size_alloc(n, sizeof *t->eir)))
		return iso_fail_memory("reproduce", n * (int64_t)sizeof *t->eir);
	t->n_eir = n;
	for (int64_t k = 0; k < n; k++) {
		double time = (double)k * t->dt_us;

		t->eir[k] = exp(-time / damping) * cos(2 * M_PI * f * time);
	}
	for (int i = 0; i <= 200; i++)
		most = fmax(most, gain(t->eir, n, i / 200. * w->scale->fmax_mhz * t->dt_us));
	if ((st = iso_array_create(&file, 1, &n))) return st;
	for (int64_t k = 0; k < n; k++) {
		t->eir[k] /= most;
		file.v[k] = (iso_real)t->eir[k];
	}
	st = cmd_write(w->c, "eir.npy", &file);
	iso_array_free(&file);
	return st;
}

static double greatest(const iso_real *y, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		if (fabs((double)y[i]) > most) most = fabs((double)y[i]);
	return most;
}

static int make_traces(struct scan *s)
{
	struct wang *w = s->w;
	int64_t n;
	int st;

	if ((st = wang_transducers(&s->all, &w->scale->scan))) return st;
	if ((st = make_response(w, &s->all))) return st;
	n = s->all.n * s->all.samples;
	if (!(s->traces = size_alloc(n, sizeof *s->traces)))
		return iso_fail_memory("reproduce", n * (int64_t)sizeof *s->traces);
	if ((st = iso_spheres_pressure(s->traces, w->devices.cpu, &s->spheres, &s->all))) return st;
	if ((st = iso_traces_eir(s->traces, w->devices.cpu, &s->all))) return st;
	iso_traces_noise(s->traces, n, NOISE * greatest(s->traces, n), SEED);
	return wang_poll(w);
}

static int make_truth(struct scan *s)
{
	struct wang *w = s->w;
	int st;

	if ((st = wang_spheres(&s->spheres, w, "vessel-tree"))) return st;
	if ((st = iso_array_on_grid(&s->truth, &w->scale->grid))) return st;
	if ((st = iso_spheres_raster(s->truth.v, w->devices.cpu, &s->spheres, &w->scale->grid))) return st;
	w->vessels_top = greatest(s->truth.v, s->truth.n);
	if ((st = wang_draw_mip(&w->vessels.pixels, &s->truth, w->vessels_top))) return st;
	return cmd_write(w->c, "vessels.nii", &s->truth);
}

/* FBP knows no response: its traces are divided by it, under the Hann window. */
static int prepare(struct wang_problem *p, const struct scan *s, enum wang_method method)
{
	const struct wang_scale *c = s->w->scale;

	*p = (struct wang_problem){ .method = method,
		                    .t = &s->t,
		                    .traces = s->y,
		                    .grid = c->grid,
		                    .fmax_mhz = c->fmax_mhz,
		                    .mu = c->mu[s->which],
		                    .iterations = c->iterations };
	return method == WANG_FBP ? iso_traces_deconvolve(s->y, s->w->fast, &s->t, c->fmax_mhz, 0) : ISO_OK;
}

static int one(struct scan *s, enum wang_method method)
{
	static const char *const file[WANG_METHODS] = { "fbp", "int", "sph" };
	struct wang *w = s->w;
	struct wang_image *image = &w->scan[method][s->which];
	struct wang_problem p;
	struct iso_array x = { 0 };
	char path[64];
	int st;

	snprintf(path, sizeof path, "vessels-%s-%s.nii", file[method], s->which ? "quarter" : "full");
	if ((st = prepare(&p, s, method))) goto done;
	if ((st = wang_recon(&x, &image->seconds, w->fast, &p))) goto done;
	if ((st = wang_rmse(image, w, &x, &s->truth))) goto done;
	if ((st = wang_draw_mip(&image->pixels, &x, w->vessels_top))) goto done;
	st = cmd_write(w->c, path, &x);
done:
	iso_array_free(&x);
	return st ? st : wang_poll(w);
}

/* FBP last: it works on the traces in place. */
static int one_data(struct scan *s)
{
	const struct wang_array *a = &s->w->scale->scan;
	const int *every = wang_scan_every[s->which];
	int st;

	if ((st = wang_thin(&s->t, &s->all, a, every))) return st;
	if ((st = wang_thin_traces(&s->y, s->traces, a, every))) return st;
	for (int m = WANG_METHODS - 1; m >= 0 && !st; m--) st = one(s, (enum wang_method)m);
	return st;
}

int wang_scan(struct wang *w)
{
	struct scan s = { .w = w };
	int st;

	if ((st = make_truth(&s))) goto done;
	if ((st = make_traces(&s))) goto done;
	for (; s.which < WANG_SCANS && !st; s.which++) {
		st = one_data(&s);
		iso_transducers_free(&s.t);
		free(s.y);
		s.y = NULL;
	}
done:
	iso_transducers_free(&s.all);
	iso_array_free(&s.truth);
	free((struct iso_sphere *)s.spheres.v);
	free(s.traces);
	return st;
}
