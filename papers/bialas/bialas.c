/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Bialas et al. 2015, "GPU accelerated image reconstruction in a two-strip J-PET
   tomograph", measured with Isotome: Figure 3 (the phantom, reconstructed), the benchmark of
   section 5, and, which the paper does not have, how close each kernel is to simulated events. */
#include "papers/study/study.h"

#include "file/out.h"
#include "model/strip/strip_kern.h"

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

struct bialas {
	struct study s;
	struct iso_strip strip; /* the paper's set-up, kernel eq7 */
};

static const char outputs[] =
	"phantom.nii direct.nii raw-1.nii raw-5.nii raw-10.nii raw-25.nii ml-1.nii ml-5.nii ml-10.nii "
	"ml-25.nii";

/* Events of a phantom, by name or file, on these strips; e->v is made. */
static int make_events(struct iso_strip_events *e, const struct bialas *b, const char *phantom, uint64_t seed,
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
	struct iso_rmse error = { .size = sizeof error };
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
	int64_t outside;
	int st = make_truth(&f);

	if (!st) st = make_events(&f.e, b, "ellipses", FIGURE_SEED, events);
	if (!st) st = iso_strip_direct(f.x.v, &outside, &b->strip, &f.e);
	snprintf(f.x.unit, sizeof f.x.unit, "events");
	if (!st) st = keep(&f, &direct_nrmse, &f.x, &f.seen, "figure", "Direct image");
	if (!st) st = cmd_write(b->s.c, "direct.nii", &f.x);
	for (f.form = forms; f.form < forms + 2 && !st; f.form++) st = iterate(&f);
	study_result(&b->s, "figure_3",
	             record_pack("{s:f, s:f, s:o}", "events", (double)f.e.n, "direct_nrmse", direct_nrmse,
	                         "images", f.images));
	free(f.e.v);
	for (int k = 0; k < 5; k++) iso_array_free(images[k]);
	return st;
}

/* ---- section 5 ---- */

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
	static const char *const names[KERNELS] = { "eq7", "tan", "gauss" }; /* as enum iso_strip_kernel */
	struct iso_strip p = b->strip;
	int st = ISO_OK;

	for (int k = 0; k < KERNELS; k++) {
		json_t *row = json_pack("[s]", names[k]);

		for (int w = 0; w < WAYS && !st; w++) {
			iso_ctx *ctx = w == 0 ? b->s.cpu : b->s.cuda;
			struct bench_steps t = { .step.median = NAN };
			iso_op *op = NULL;

			p.kernel = (enum iso_strip_kernel)k;
			p.strategy = way[w].strategy;
			if (ctx && !(st = iso_strip_create(&op, ctx, &p, e)))
				st = bench_steps(&t, op, repeats);
			iso_op_free(op);
			json_array_append_new(row,
			                      record_real(t.step.median * (PAPER_EVENTS / (double)e->n)));
			json_array_append_new(rows, record_pack("{s:s, s:s, s:f, s:f}", "kernel", names[k],
			                                        "way", way[w].name, "seconds", t.step.median,
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
	int st = make_events(&e, b, "ellipses", BENCH_SEED, (int64_t)scale->bench_events);

	if (!st) st = time_all(rows, b, &e, scale->repeats);
	study_show(&b->s, "repeats", json_integer(scale->repeats));
	study_result(&b->s, "benchmark",
	             record_pack("{s:f, s:f, s:o}", "events", scale->bench_events, "pixels_per_event",
	                         st ? 0 : bench_strip_pixels(&b->strip, &e), "rows", rows));
	free(e.v);
	return st;
}

/* ---- each kernel against simulated events of single points: how far the share of events in each bin of
   (z_up, z_down, dl) is from what the kernel, integrated over the bin, predicts ---- */

#define POINT_SEED 3
#define Z_BIN 15. /* mm */
#define DL_BIN 40.
#define REACH2 25     /* the kernels are 0 beyond 5 sigma: far away eq7 grows without bound */
#define INTERIOR 110. /* |z| of both hits: where the ends of the strips do not matter */

enum { Z_BINS = 26, DL_BINS = 28, BINS = Z_BINS * Z_BINS * DL_BINS };

enum { MODELS = 4, POINTS = 5 };

static const struct {
	const char *name;
	enum iso_strip_kernel kernel;
	bool edge;
} models[MODELS] = {
	{ "eq7", ISO_STRIP_EQ7, false },
	{ "gauss", ISO_STRIP_GAUSS, false },
	{ "tan", ISO_STRIP_TAN, false },
	{ "tan, with the ends", ISO_STRIP_TAN, true },
};

/* Emissions from one point: half the sum over bins of |share of events - share predicted|. */
struct point {
	double y, z;
	double all[MODELS + 1], interior[MODELS + 1]; /* interior: per event there. Last: of noise alone */
};

static const double points[POINTS][2] = {
	/* y, z */
	{ 0, 0 }, { 60, 40 }, { 100, 0 }, { -100, 100 }, { 30, -90 },
};

static double centre(int i, double width, int n)
{
	return (i - .5 * (n - 1)) * width;
}

/* -1: beyond the last. */
static int bin_of(double v, double width, int n)
{
	double i = floor(v / width + .5 * n);

	return i >= 0 && i < n ? (int)i : -1;
}

static void count(int64_t *counts, const struct iso_strip_event *e, int64_t n)
{
	for (int64_t j = 0; j < n; j++) {
		int u = bin_of(e[j].z_up, Z_BIN, Z_BINS), d = bin_of(e[j].z_down, Z_BIN, Z_BINS);
		int l = bin_of(e[j].dl, DL_BIN, DL_BINS);

		if (u >= 0 && d >= 0 && l >= 0) counts[(u * Z_BINS + d) * DL_BINS + l]++;
	}
}

/* P(e | y, z), 1/mm^3. */
static double density(const struct iso_strips *s, int model, double z_up, double z_down, double dl, double y,
                      double z)
{
	struct strip_origin o = strip_origin(s->radius, z_up, z_down, dl);
	struct strip_inverse c = strip_inverse(s, z_up, z_down);
	double dy = y - o.y, v = z - (o.z + dy * o.t);

	if (4 * c.dl * dy * dy * o.s * o.s + (c.up + c.down) * v * v > REACH2) return 0;
	const enum iso_strip_kernel kernel = models[model].kernel;
	struct strip_line l = { .t = (iso_real)o.t, .s = (iso_real)o.s, .gamma = (iso_real)c.gamma };

	l.up = (iso_real)c.up;
	l.down = (iso_real)c.down;
	l.dl = (iso_real)c.dl;
	struct strip_row r = strip_row(kernel, (iso_real)s->radius, &l, (iso_real)y, (iso_real)dy);
	double p = c.factor * strip_weight(kernel, &r, (iso_real)v);

	return models[model].edge ? p * strip_edge(s, &r, (iso_real)v, y, z) : p;
}

/* By three Gauss points along each axis. */
static double integral(const struct iso_strips *s, int model, int u, int d, int l, double y, double z)
{
	static const double node[3] = { -.7745966692414834, 0, .7745966692414834 };
	static const double weight[3] = { 5. / 18, 8. / 18, 5. / 18 };
	double total = 0;

	for (int i = 0; i < 27; i++) {
		int a = i / 9, b = i / 3 % 3, c = i % 3;
		double up = centre(u, Z_BIN, Z_BINS) + node[a] * Z_BIN / 2;
		double down = centre(d, Z_BIN, Z_BINS) + node[b] * Z_BIN / 2;
		double dl = centre(l, DL_BIN, DL_BINS) + node[c] * DL_BIN / 2;

		total += weight[a] * weight[b] * weight[c] * density(s, model, up, down, dl, y, z);
	}
	return total * Z_BIN * Z_BIN * DL_BIN;
}

/* What is counted beyond the bins is missed by every model. */
static void compare(struct point *p, const struct iso_strips *s, const int64_t *counts, double n)
{
	double seen = strips_sens(s, p->y, p->z), inside = 0, within = 0;

	for (int i = 0; i < BINS; i++) {
		int u = i / DL_BINS / Z_BINS, d = i / DL_BINS % Z_BINS, l = i % DL_BINS;
		bool interior = fabs(centre(u, Z_BIN, Z_BINS)) < INTERIOR &&
		                fabs(centre(d, Z_BIN, Z_BINS)) < INTERIOR;
		double share = (double)counts[i] / n;

		inside += share;
		within += interior ? share : 0;
		for (int k = 0; k <= MODELS; k++) {
			double off = k < MODELS ? fabs(share - integral(s, k, u, d, l, p->y, p->z) / seen) / 2
			                        : sqrt(share * (1 - share) / (2 * M_PI * n));

			p->all[k] += off;
			p->interior[k] += interior ? off : 0;
		}
	}
	for (int k = 0; k <= MODELS; k++) {
		p->all[k] += k < MODELS ? (1 - inside) / 2 : 0;
		p->interior[k] /= within;
	}
}

static void tell(struct bialas *b, json_t *rows, const struct point *p)
{
	json_t *cells = json_array();

	for (int k = 0; k <= MODELS; k++) {
		json_array_append_new(cells, record_pack("[f,f]", p->all[k], p->interior[k]));
		if (k < MODELS)
			json_array_append_new(rows, record_pack("{s:[f,f], s:s, s:f, s:f, s:f, s:f}",
			                                        "y_z_mm", p->y, p->z, "kernel",
			                                        models[k].name, "all", p->all[k], "interior",
			                                        p->interior[k], "noise_all", p->all[MODELS],
			                                        "noise_interior", p->interior[MODELS]));
	}
	study_row(&b->s, "points", record_pack("{s:f, s:f, s:o}", "y", p->y, "z", p->z, "cells", cells));
}

/* Emissions from a disc of a thousandth of a mm, as a phantom that `isotome simulate` takes too. */
static int run_point(struct bialas *b, json_t *rows, int k, int64_t n)
{
	const char *path = study_text("point-%d.txt", k + 1);
	struct point p = { .y = points[k][0], .z = points[k][1] };
	struct iso_strip_events e = { 0 };
	int64_t *counts = NULL;
	int st = STUDY_NEW(counts, BINS);

	if (!st) st = iso_out_text(path, study_text("ellipse %g %g 0.001 0.001 0 1\n", p.z, p.y));
	if (st || (st = make_events(&e, b, path, POINT_SEED + (uint64_t)k, n))) goto done;
	count(counts, e.v, n);
	compare(&p, &b->strip.strips, counts, (double)n);
	tell(b, rows, &p);
done:
	free(e.v);
	free(counts);
	return st;
}

static int kernels(struct bialas *b, int64_t events)
{
	json_t *rows = json_array();
	int st = ISO_OK;

	study_show(&b->s, "point_events", json_integer(events));
	for (int k = 0; k < POINTS && !st; k++) st = run_point(b, rows, k, events);
	study_result(&b->s, "total_variation", rows);
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
	return kernels(b, (int64_t)scale->point_events);
}

const struct paper paper_bialas = { template, outputs, sizeof(struct bialas), plan, run, NULL, 0 };
