/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiment of Wang 2013 with a tree of vessels in place of the mouse: flat transducers on
   rings of one side, an impulse response, noise; full and quarter data through FBP after
   deconvolution, PLS-Int with the response, PLS-Sph with response and apertures.

   The traces are closed forms, integrated over the faces in the near field: of no operator here.

   Beside it a measured slice: the first image of a recording, by FBP. */
#include "wang.h"

#include "report/markup/value.h"

#include <stdlib.h>

#define NOISE .01  /* of the greatest value */
#define CENTRE .4  /* of the response, over the highest frequency in use */
#define DAMPING .4 /* its time, in periods of the centre */

static const double band[2] = { .1, 4 }; /* MHz: below the array hears nothing, above there is noise */
static const double mu[WANG_SCANS] = { 1e4, 1e3 }; /* of the penalty; Figure 7 */

/* ---- the experiment ---- */

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

	study_show(&w->s, "eir_mhz", record_real(f));
	if ((st = STUDY_NEW(t->eir, n))) return st;
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
	st = cmd_write(w->s.c, "eir.npy", &file);
	iso_array_free(&file);
	return st;
}

/* The greatest values along y. */
static int draw_mip(struct wang *w, const char *key, const struct iso_array *x, double top, const char *name,
                    const char *alt, const char *note)
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
	st = wang_draw_plane(w, key, &most, 0, top, name, alt, note);
	iso_array_free(&most);
	return st;
}

/* FBP knows no response: its traces are divided by it, under the Hann window. */
static int one(struct wang_sound *s, enum wang_method method, double top)
{
	struct wang *w = s->w;
	const char *data = s->set ? "quarter" : "full", *note;
	struct wang_problem p = wang_sound_problem(s, method);
	struct wang_image image;
	struct iso_array x = { 0 };
	int st = ISO_OK;

	p.mu = mu[s->set];
	if (method == WANG_FBP) st = iso_traces_deconvolve(s->y, w->s.fast, &s->t, w->scale->fmax_mhz, 0);
	if (st || (st = wang_sound_image(&x, &image, s, &p))) goto done;
	note = method == WANG_FBP ? study_text("RMSE %.4f", image.rmse)
	                          : study_text("\u03bc = %.3g, RMSE %.4f", p.mu, image.rmse);
	if ((st = draw_mip(w, study_text("mip_%s_%s", wang_files[method], data), &x, top,
	                   study_text("%s, %s data", wang_methods[method], data),
	                   "greatest values along y, z to the right", note)))
		goto done;
	wang_sound_row(s, s->set * WANG_METHODS, wang_methods[method], data, &image);
	st = cmd_write(w->s.c, study_text("vessels-%s-%s.nii", wang_files[method], data), &x);
done:
	iso_array_free(&x);
	return st;
}

int wang_scan(struct wang *w)
{
	const struct wang_array *a = &w->scale->arrays[1];
	struct wang_sound s = { .w = w, .array = a, .rows = json_array() };
	double top = 0;
	int st = wang_sound_truth(&s, "vessel-tree", "vessels.nii");

	for (int64_t i = 0; i < s.truth.n; i++)
		if (fabs((double)s.truth.v[i]) > top) top = fabs((double)s.truth.v[i]);
	if (!st) st = draw_mip(w, "vessels", &s.truth, top, "Vessels", "greatest values along y", "");
	if (!st) st = wang_transducers(&s.all, a, wang_scan_every[0]);
	if (!st) st = make_response(w, &s.all);
	if (!st) st = wang_sound_traces(&s, NOISE);
	for (; s.set < WANG_SCANS && !st; s.set++) {
		st = wang_sound_set(&s, wang_scan_every[s.set]);
		for (int m = WANG_METHODS - 1; m >= 0 && !st;
		     m--) /* FBP last: it works on the traces in place */
			st = one(&s, (enum wang_method)m, top);
	}
	study_show(&w->s, "scan",
	           record_pack("[i,i,i,f]", (int)a->rings, (int)a->views,
	                       (int)a->views / wang_scan_every[1][1], top));
	study_result(&w->s, "experiment", s.rows);
	wang_sound_free(&s);
	return st;
}

/* ---- the recording ---- */

/* The traces of its first image, which are made, and where they see; t borrows. */
static int load(iso_real **y, struct iso_transducers *t, struct iso_grid *grid, const struct wang *w,
                iso_recording *r)
{
	const struct iso_recording_info *info = iso_recording_info(r);
	int st;

	*t = info->t;
	if (!(t->speed > 0)) return iso_fail(ISO_EINPUT, "%s: does not say the speed of sound", w->s.msot);
	if ((st = iso_transducers_grid(grid, t, info->has_field ? info->field : NULL))) return st;
	if ((st = STUDY_NEW(*y, t->n * t->samples)) || (st = iso_recording_read(*y, r, 0, 0))) return st;
	return iso_traces_band(*y, w->s.fast, t, band[0], band[1]);
}

int wang_slice(struct wang *w)
{
	const struct iso_picture look = {
		.size = sizeof look, .kind = ISO_MONTAGE, .map = "grey", .percent = { 1, 99.7 }
	};
	struct wang_problem p = { .method = WANG_FBP };
	struct iso_transducers t = { 0 };
	struct iso_pixels pixels = { 0 };
	struct iso_array x = { 0 };
	iso_recording *r = NULL;
	iso_real *y = NULL;
	double seconds;
	int st;

	if ((st = iso_recording_open(&r, w->s.msot)) || (st = record_input(&w->s.c->record, w->s.msot)))
		goto done;
	if ((st = load(&y, &t, &p.grid, w, r))) goto done;
	p.t = &t;
	p.traces = y;
	if ((st = wang_recon(&x, &seconds, w->s.fast, &p))) goto done;
	if ((st = iso_picture_render(&pixels, NULL, &x, &look))) goto done;
	if ((st = study_picture(&w->s, "recording_picture", &pixels, "FBP", "a measured slice", "")))
		goto done;
	study_show(&w->s, "recording",
	           record_pack("{s:o, s:f}", "file", record_string(iso_value_base(w->s.msot)), "seconds",
	                       seconds));
	st = cmd_write(w->s.c, "msot.nii", &x);
done:
	free(y);
	iso_array_free(&x);
	iso_recording_free(r);
	return st;
}
