/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Bialas et al. 2015, "GPU accelerated image reconstruction in a two-strip J-PET
   tomograph", measured with Isotome: Figure 3 (the phantom, reconstructed), and the benchmark of
   section 5. */
#include "bialas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char scanner_text[] =
#include "embedded/bialas2015.yaml.h"
	;
static const char template[] =
#include "embedded/bialas.html.h"
	;

#define FIGURE_SEED 1
#define BENCH_SEED 2
#define PAPER_EVENTS 1e7
#define ZOOM 4    /* pixels of the picture for one of the image */
#define TOP .8    /* value of the last colour; the phantom has up to 0.7 */
#define SAMPLES 8 /* along each axis of a pixel, for the phantom */
#define MOST_ITERATIONS 25

enum { KERNELS = 3, WAYS = 4 };

static const struct scale {
	double events, bench_events, point_events;
	int repeats;
} scales[] = { { 2e4, 2e4, 1e5, 1 }, { 1e6, 1e6, 1e6, 3 }, { 1e7, 1e7, 8e6, 5 } }; /* as enum study_scale */

static const char outputs[] =
	"phantom.nii direct.nii raw-1.nii raw-5.nii raw-10.nii raw-25.nii ml-1.nii ml-5.nii ml-10.nii "
	"ml-25.nii";

int bialas_events(struct iso_strip_events *e, const struct bialas *b, const char *phantom, uint64_t seed,
                  int64_t n)
{
	iso_phantom *p = NULL;
	int st = STUDY_NEW(e->v, n);

	e->n = n;
	if (st || (st = iso_phantom_create(&p, phantom, NULL))) return st;
	st = iso_strip_simulate(e->v, b->s.c->ctx, &b->strip.strips, p, seed, 0, n);
	iso_phantom_free(p);
	return st;
}

/* ---- Figure 3: the phantom, its direct image, and images after 1, 5, 10 and 25 iterations; as the paper
   has them (form raw, kernel eq7: an image of s times activity), and by maximum likelihood with the
   better kernel ---- */

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
	const struct form *form;
	json_t *images;
};

/* y upwards, z to the right. */
static int draw(const struct figure *f, const char *key, const iso_real *x, double scale, const char *name,
                const char *note)
{
	const int64_t nz = f->grid.n[0];
	const struct study_plane plane = { nz, f->grid.n[1], 1, nz, x, TOP / scale, .zoom = ZOOM };

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

static int make_truth(struct figure *f)
{
	struct iso_array *const images[] = { &f->seen, &f->sens, &f->ones, &f->x };
	struct bialas *b = f->b;
	int st;

	f->grid = iso_strip_grid(&b->strip);
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
	struct iso_em em = { .size = sizeof em, .iterations = MOST_ITERATIONS };
	const struct iso_run run = { .size = sizeof run, .each = each, .wants = wants, .arg = f };
	double start_s;
	int st;

	p.kernel = f->form->kernel;
	em.sens = (struct iso_sens){ 1, 1, f->form->raw ? f->ones.v : f->sens.v };
	memcpy(f->x.v, f->ones.v, (size_t)f->x.n * sizeof *f->x.v);
	if ((st = iso_strip_create(&em.op, b->s.c->ctx, &p, &f->e))) return st;
	start_s = iso_now_s();
	st = iso_em_run(f->x.v, NULL, &em, &run);
	study_show(&b->s, study_text("%s_s", f->form->name),
	           record_real((iso_now_s() - start_s) / em.iterations));
	iso_op_free(em.op);
	return st;
}

static int figure(struct bialas *b, int64_t events)
{
	struct figure f = { .b = b, .images = json_array() };
	struct iso_array *const images[] = { &f.truth, &f.seen, &f.sens, &f.ones, &f.x };
	double direct_nrmse = NAN;
	int st = make_truth(&f);

	if (!st) st = bialas_events(&f.e, b, "ellipses", FIGURE_SEED, events);
	if (!st) st = make_direct(&f, &direct_nrmse);
	for (f.form = forms; f.form < forms + 2 && !st; f.form++) st = iterate(&f);
	study_result(&b->s, "figure_3",
	             record_pack("{s:f, s:f, s:o}", "events", (double)f.e.n, "direct_nrmse", direct_nrmse,
	                         "images", f.images));
	free(f.e.v);
	for (int k = 0; k < 5; k++) iso_array_free(images[k]);
	return st;
}

/* ---- section 5 ---- */

static int time_one(double *seconds, iso_ctx *ctx, const struct iso_strip *p,
                    const struct iso_strip_events *e, int repeats)
{
	struct bench_steps t = { 0 };
	iso_op *op = NULL;
	int st = iso_strip_create(&op, ctx, p, e);

	if (!st) st = bench_steps(&t, op, repeats);
	iso_op_free(op);
	*seconds = t.step.median;
	return st;
}

/* The ways in the order of the table: the CPU's own, then those of CUDA as the paper came to them.
   The paper's times: of an iteration over 10^7 events, Xeon E5-1650 v2 with 6 cores, GTX 770. */
static int time_all(json_t *rows, struct bialas *b, const struct iso_strip_events *e, int repeats)
{
	static const struct {
		const char *name;
		enum iso_strip_strategy strategy;
		double paper_s; /* of eq7 */
	} way[WAYS] = {
		{ "cpu", ISO_STRIP_FAST, 11.87 },
		{ "cuda_thread", ISO_STRIP_THREAD, .69 },
		{ "cuda_warp", ISO_STRIP_WARP, .47 },
		{ "cuda_fast", ISO_STRIP_FAST, NAN },
	};
	static const char *const kernels[KERNELS] = { "eq7", "tan", "gauss" }; /* as enum iso_strip_kernel */
	struct iso_strip p = b->strip;
	int st = ISO_OK;

	for (int k = 0; k < KERNELS; k++) {
		json_t *row = json_pack("[s]", kernels[k]);

		for (int w = 0; w < WAYS && !st; w++) {
			iso_ctx *ctx = w == 0 ? b->s.cpu : b->s.cuda;
			double seconds = NAN;

			p.kernel = (enum iso_strip_kernel)k;
			p.strategy = way[w].strategy;
			if (ctx) st = time_one(&seconds, ctx, &p, e, repeats);
			json_array_append_new(row, record_real(seconds * (PAPER_EVENTS / (double)e->n)));
			json_array_append_new(rows, record_pack("{s:s, s:s, s:f, s:f}", "kernel", kernels[k],
			                                        "way", way[w].name, "seconds", seconds,
			                                        "paper_s", k == 0 ? way[w].paper_s : NAN));
		}
		study_row(&b->s, "bench_rows", row);
	}
	return st;
}

static int bench(struct bialas *b, const struct scale *scale)
{
	struct iso_strip_events e = { 0 };
	json_t *rows = json_array();
	int st = bialas_events(&e, b, "ellipses", BENCH_SEED, (int64_t)scale->bench_events);

	if (!st) st = time_all(rows, b, &e, scale->repeats);
	study_show(&b->s, "repeats", json_integer(scale->repeats));
	study_result(&b->s, "benchmark",
	             record_pack("{s:f, s:f, s:o}", "events", scale->bench_events, "pixels_per_event",
	                         st ? 0 : bench_strip_pixels(&b->strip, &e), "rows", rows));
	free(e.v);
	return st;
}

/* ---- all of it ---- */

static int plan(void *state)
{
	struct bialas *b = state;
	const struct scale *s = &scales[b->s.scale];
	int64_t most = (int64_t)fmax(fmax(s->events, s->bench_events), s->point_events);
	struct iso_plan lines = { 0 };

	b->strip = (struct iso_strip){
		.size = sizeof b->strip, .strips = BENCH_STRIPS, .ny = 65, .nz = 75, .pixel = 4, .n_sub = 1
	};
	iso_plan_add(&lines, "events", most, sizeof(struct iso_strip_event), false);
	iso_strip_plan(&lines, b->s.c->ctx, &b->strip, most);
	iso_em_plan(&lines, b->s.c->ctx, b->strip.ny * b->strip.nz, most, 1, 0);
	return cmd_plan(b->s.c, &lines);
}

/* The paper's strips and pixels are in the file that goes with the results. */
static int run(void *state)
{
	struct bialas *b = state;
	const struct scale *scale = &scales[b->s.scale];
	iso_scanner *scanner = NULL;
	int st;

	if ((st = study_scanner(&scanner, scanner_text))) return st;
	b->strip.strips = *iso_scanner_strips(scanner);
	iso_scanner_free(scanner);
	if ((st = study_stage(&b->s, "figure 3")) || (st = figure(b, (int64_t)scale->events))) return st;
	if ((st = study_stage(&b->s, "benchmark")) || (st = bench(b, scale))) return st;
	if ((st = study_stage(&b->s, "kernels"))) return st;
	return bialas_kernels(b, (int64_t)scale->point_events);
}

const struct paper paper_bialas = { template, outputs, sizeof(struct bialas), plan, run, NULL, false };
