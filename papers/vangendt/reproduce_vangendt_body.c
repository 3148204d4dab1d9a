/* SPDX-License-Identifier: BSD-3-Clause */
/* Table 3 of Van Gendt 2021: a body in a scanner of two metres, reconstructed with each extension
   by itself and with all of them, on the CPU and on CUDA. */
#include "reproduce_vangendt.h"

#include "file/out.h"
#include "core/progress.h"
#include "core/size.h"
#include "image/colormap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCANNER_FILE "scanner.yaml"
#define EXTENT_MM(voxels) ((voxels)*4.) /* of the paper's image of 4 mm voxels */
#define SEED 1
#define DISC_MM 24. /* over which a profile is averaged: single voxels are noise */

static const char scanner_text[] =
#include "embedded/total-body.yaml.h"
	;

/* What a row has of the extensions. */
struct method {
	enum { NO_SENS, SENS, SENS_WITH_MU } sens;
	bool precorrected, osem, tof, median;
};

static const struct recipe {
	const char *name, *file, *what;
	double paper[3];
	struct method m;
} recipes[VANGENDT_ROWS] = {
	{ "Baseline MLEM without extensions",
	  "baseline",
	  "S = 1",
	  { 87.46, .97, 1.43 },
	  { .sens = NO_SENS } },
	{ "MLEM with sensitivity correction",
	  "sensitivity",
	  "S of the scanner",
	  { 89.65, .99, 1.44 },
	  { .sens = SENS } },
	{ "OSEM without extensions",
	  "osem",
	  "8 subsets, half the passes",
	  { 43.16, .60, .77 },
	  { .sens = NO_SENS, .osem = true } },
	{ "MLEM with attenuation correction",
	  "attenuation",
	  "attenuation in S",
	  { 93.60, 1.31, 1.79 },
	  { .sens = SENS_WITH_MU } },
	{ "the same, data precorrected (eq. 7)",
	  "precorrected",
	  "events times 1/alpha, S without it",
	  { NAN, NAN, NAN },
	  { .sens = SENS, .precorrected = true } },
	{ "MLEM with TOF correction",
	  "tof",
	  "S = 1, 390 ps, cut at 3 sigma",
	  { NAN, 1.27, 1.58 },
	  { .sens = NO_SENS, .tof = true } },
	{ "MLEM with median filtering",
	  "median",
	  "S = 1, 3 x 3 x 3 after each iteration",
	  { 120.89, 1.04, 1.49 },
	  { .sens = NO_SENS, .median = true } },
	{ "OSEM with all extensions",
	  "all",
	  "sensitivity, attenuation, TOF, median",
	  { NAN, 1.17, 1.29 },
	  { .sens = SENS_WITH_MU, .osem = true, .tof = true, .median = true } },
};

struct body {
	struct vangendt *v;
	struct iso_array truth, mu, x, other; /* x: of the row under way; other: by the CPU */
	iso_scanner *scanner;
	struct iso_events e;
	iso_real *sens[3];   /* by method.sens */
	double top;          /* of the colours in pictures: a fifth of the truth's greatest */
	int64_t first, last; /* slices across z with activity */
};

/* ---- the problem ---- */

static void find_activity(struct body *b)
{
	int64_t slice = b->truth.n / b->v->grid.n[2];

	b->first = b->v->grid.n[2] - 1;
	for (int64_t i = 0; i < b->truth.n; i++) {
		if (!(b->truth.v[i] > 0)) continue;
		b->first = i / slice < b->first ? i / slice : b->first;
		b->last = i / slice;
		if (.2 * b->truth.v[i] > b->top) b->top = .2 * b->truth.v[i];
	}
}

static int make_phantom(struct body *b)
{
	iso_phantom *p = NULL;
	int st;

	if ((st = iso_phantom_create(&p, "body", NULL))) goto done;
	if ((st = iso_array_on_grid(&b->truth, &b->v->grid))) goto done;
	if ((st = iso_array_on_grid(&b->mu, &b->v->grid))) goto done;
	if ((st = iso_array_on_grid(&b->x, &b->v->grid))) goto done;
	if ((st = iso_array_on_grid(&b->other, &b->v->grid))) goto done;
	st = iso_phantom_raster(b->truth.v, b->mu.v, b->v->cpu, p, &b->v->grid, 5);
	find_activity(b);
	snprintf(b->truth.unit, sizeof b->truth.unit, "a.u.");
	snprintf(b->mu.unit, sizeof b->mu.unit, "1/mm");
done:
	iso_phantom_free(p);
	return st;
}

static int scan(struct body *b)
{
	const struct iso_simulate p = {
		.size = sizeof p,
		.activity = &b->truth,
		.mu = &b->mu,
		.scanner = b->scanner,
		.counts = b->v->scale->body_events,
		.exact_counts = true,
		.tof_fwhm_ps = VANGENDT_TOF_FWHM_PS,
		.seed = SEED,
	};
	struct iso_simulated info;
	int st = iso_simulate(&b->e, &info, b->v->cpu, &p);

	b->v->events = b->e.n;
	return st;
}

/* On CUDA where there is one: it is an input of the rows, timed by itself. */
static int make_sens(struct body *b, int which, double *seconds)
{
	const struct iso_ray_sens p = {
		.size = sizeof p,
		.grid = b->v->grid,
		.scanner = b->scanner,
		.seed = SEED,
		.mu = which == SENS_WITH_MU ? &b->mu : NULL,
		.share = fmin(1, b->v->scale->pairs / (double)iso_scanner_pairs(b->scanner)),
	};
	double start_s = iso_now_s(), error;
	int st = iso_ray_sens(b->sens[which], &error, b->v->cuda ? b->v->cuda : b->v->cpu, &p);

	*seconds = iso_now_s() - start_s;
	return st;
}

static int make_sensitivities(struct body *b)
{
	int64_t n = b->x.n;
	int st;

	for (int k = 0; k < 3; k++)
		if (!(b->sens[k] = size_alloc(n, sizeof *b->sens[k])))
			return iso_fail_memory("reproduce", n * (int64_t)sizeof *b->sens[k]);
	for (int64_t i = 0; i < n; i++) b->sens[NO_SENS][i] = 1;
	if ((st = make_sens(b, SENS, &b->v->sens_s[0]))) return st;
	return make_sens(b, SENS_WITH_MU, &b->v->sens_s[1]);
}

/* ---- one reconstruction ---- */

static int reciprocal_attenuation(iso_real **y, const struct body *b, iso_ctx *ctx)
{
	int st;

	if (!(*y = size_alloc(b->e.n, sizeof **y)))
		return iso_fail_memory("reproduce", b->e.n * (int64_t)sizeof **y);
	st = iso_ray_attenuation(*y, ctx, &b->mu, &b->e);
	for (int64_t j = 0; j < b->e.n && !st; j++) (*y)[j] = 1 / (*y)[j];
	return st;
}

static int run_em(iso_real *x, const struct body *b, const struct method *m, iso_op *op, const iso_real *y)
{
	const struct iso_filter median = { .kind = ISO_MEDIAN, .size = 3 };
	const struct iso_em em = {
		.size = sizeof em,
		.op = op,
		.data = { .y = y },
		.sens = { 1, iso_op_n_sub(op), b->sens[m->sens] },
		.iterations = VANGENDT_BODY_ITERATIONS / (m->osem ? 2 : 1),
		.filter = m->median ? &median : NULL,
		.filter_every = 1,
		.grid = b->v->grid,
	};

	return iso_em_run(x, NULL, &em, NULL);
}

/* From events in memory to the image in memory; sensitivities are there already. */
static int reconstruct(iso_real *x, struct vangendt_cell *cell, const struct body *b, const struct method *m,
                       iso_ctx *ctx)
{
	const struct iso_ray ray = {
		.size = sizeof ray,
		.grid = b->v->grid,
		.n_sub = m->osem ? VANGENDT_SUBSETS : 1,
		.tof_truncate = 3,
		.tof_fwhm_ps = m->tof ? VANGENDT_TOF_FWHM_PS : 0,
	};
	double start_s = iso_now_s();
	iso_real *y = NULL;
	iso_op *op = NULL;
	int st;

	for (int64_t i = 0; i < b->x.n; i++) x[i] = 1;
	if (m->precorrected && (st = reciprocal_attenuation(&y, b, ctx))) goto done;
	if ((st = iso_ray_create(&op, ctx, &ray, &b->e))) goto done;
	if ((st = run_em(x, b, m, op, y))) goto done;
	cell->seconds = iso_now_s() - start_s;
	cell->ran = VANGENDT_BODY_ITERATIONS / (m->osem ? 2 : 1);
done:
	iso_op_free(op);
	free(y);
	return st;
}

/* The image that is kept is CUDA's where there is one. */
static int run_devices(struct vangendt_row *r, struct body *b, const struct method *m)
{
	struct iso_diff diff;
	int st = reconstruct(b->x.v, &r->cpu, b, m, b->v->cpu);

	r->difference = r->cuda.seconds = NAN;
	if (st || !b->v->cuda) {
		snprintf(r->cuda.why, sizeof r->cuda.why, VANGENDT_NOT_CUDA);
		return st;
	}
	memcpy(b->other.v, b->x.v, (size_t)b->x.n * sizeof *b->x.v);
	if ((st = reconstruct(b->x.v, &r->cuda, b, m, b->v->cuda))) return st;
	iso_measure_diff(&diff, b->x.n, b->x.v, b->other.v);
	r->difference = diff.l2;
	return ISO_OK;
}

/* ---- what is shown of it ---- */

/* The coronal slice through the middle, head to the right, as far as the phantom reaches; in the
   colours of the truth. */
static int draw(struct iso_pixels *pixels, const struct iso_array *a, double scale, const struct body *b)
{
	const int64_t *n = b->v->grid.n, y = n[1] / 2;
	struct iso_colormap map;
	int st = iso_colormap_make(&map, "ember");
	unsigned char *to;

	if (st) return st;
	*pixels = (struct iso_pixels){ .width = b->last - b->first + 1, .height = n[0] };
	if (!(to = pixels->rgb = size_alloc(pixels->width * pixels->height, 3)))
		return iso_fail_memory("reproduce", pixels->width * pixels->height * 3);
	for (int64_t x = n[0] - 1; x >= 0; x--)
		for (int64_t z = b->first; z <= b->last; z++, to += 3) {
			double value = a->v[(z * n[1] + y) * n[0] + x] * scale;
			struct iso_colour c = iso_colormap_at(&map, value / b->top);

			memcpy(to, (unsigned char[]){ c.r, c.g, c.b }, 3);
		}
	return ISO_OK;
}

/* Along x through the centre, the mean over a disc across it, scaled to the truth. */
static int take_profile(double **value, const struct iso_array *a, double scale, struct vangendt *v)
{
	double half = .5 * (double)(v->grid.n[0] - 1) * v->grid.voxel[0];
	const struct iso_profile line = { { -half, 0, 0 }, { half, 0, 0 }, v->samples, DISC_MM };
	int st;

	if (!(*value = size_alloc(v->samples, sizeof **value)))
		return iso_fail_memory("reproduce", v->samples * (int64_t)sizeof **value);
	st = iso_measure_profile(*value, a, &line);
	for (int64_t i = 0; i < v->samples && !st; i++) {
		(*value)[i] *= scale;
		v->place[i] = -half + 2 * half * (double)i / (double)(v->samples - 1);
	}
	return st;
}

/* Errors are those of the body: most of the image is air. */
static int keep(struct vangendt_row *r, struct body *b)
{
	struct iso_rmse error;
	char path[64];
	int st = iso_measure_rmse(&error, b->x.n, b->x.v, b->truth.v, b->truth.v, ISO_SCALE_FIT);

	if (st) return st;
	r->nrmse = error.nrmse;
	snprintf(path, sizeof path, "%s.nii", r->file);
	snprintf(b->x.unit, sizeof b->x.unit, "counts/mm");
	if ((st = draw(&r->picture, &b->x, error.scale, b))) return st;
	if ((st = take_profile(&r->profile, &b->x, error.scale, b->v))) return st;
	return cmd_write(b->v->c, path, &b->x);
}

static int keep_truth(struct body *b)
{
	struct vangendt *v = b->v;
	int st;

	v->samples = 2 * v->grid.n[0] - 1;
	if (!(v->place = size_alloc(v->samples, sizeof *v->place)))
		return iso_fail_memory("reproduce", v->samples * (int64_t)sizeof *v->place);
	if ((st = draw(&v->truth, &b->truth, 1, b))) return st;
	if ((st = take_profile(&v->truth_profile, &b->truth, 1, v))) return st;
	if ((st = cmd_write(v->c, "truth.nii", &b->truth))) return st;
	return cmd_write(v->c, "mu.nii", &b->mu);
}

static int run_rows(struct body *b)
{
	struct iso_clock clock = iso_clock_start(b->v->c->ctx, "table 3", 0, VANGENDT_ROWS);
	int st = ISO_OK;

	for (int i = 0; i < VANGENDT_ROWS && !st; i++) {
		struct vangendt_row *r = &b->v->row[i];

		r->name = recipes[i].name;
		r->file = recipes[i].file;
		r->what = recipes[i].what;
		memcpy(r->paper, recipes[i].paper, sizeof r->paper);
		if (!(st = run_devices(r, b, &recipes[i].m))) st = keep(r, b);
		if (!st) st = vangendt_poll(b->v);
		iso_clock_step(&clock, i + 1, NULL);
	}
	return st;
}

/* The paper's image: 133 x 86 x 580 voxels of 4 mm, or as many larger ones as fill it. */
static struct iso_grid body_grid(double voxel)
{
	struct iso_grid g = { { 0 }, { voxel, voxel, voxel }, { 0 } };
	const double extent[3] = { EXTENT_MM(133), EXTENT_MM(86), EXTENT_MM(580) };

	for (int a = 0; a < 3; a++) g.n[a] = (int64_t)ceil(extent[a] / voxel);
	return g;
}

int vangendt_plan(struct vangendt *v)
{
	int64_t events = (int64_t)v->scale->body_events, voxels;
	struct iso_plan plan = { 0 };

	v->grid = body_grid(v->scale->body_voxel);
	voxels = iso_grid_voxels(&v->grid);
	const struct iso_ray ray = { .size = sizeof ray,
		                     .grid = v->grid,
		                     .n_sub = 1,
		                     .tof_truncate = 3,
		                     .tof_fwhm_ps = VANGENDT_TOF_FWHM_PS };

	iso_plan_add(&plan, "images and sensitivities", voxels, 7 * sizeof(iso_real), false);
	iso_plan_add(&plan, "events and factors", events, 2 * sizeof(struct iso_event) + sizeof(iso_real),
	             false);
	iso_ray_plan(&plan, v->c->ctx, &ray, events);
	iso_em_plan(&plan, v->c->ctx, voxels, events, 1, 1);
	return cmd_plan(v->c, &plan);
}

int vangendt_body(struct vangendt *v)
{
	struct body b = { .v = v };
	int st;

	if ((st = iso_out_text(SCANNER_FILE, scanner_text))) goto done;
	if ((st = iso_scanner_read(&b.scanner, SCANNER_FILE))) goto done;
	if ((st = make_phantom(&b))) goto done;
	if ((st = keep_truth(&b))) goto done;
	if ((st = scan(&b))) goto done;
	if ((st = make_sensitivities(&b))) goto done;
	st = run_rows(&b);
done:
	for (int k = 0; k < 3; k++) free(b.sens[k]);
	iso_events_free(&b.e);
	iso_scanner_free(b.scanner);
	iso_array_free(&b.truth);
	iso_array_free(&b.mu);
	iso_array_free(&b.x);
	iso_array_free(&b.other);
	return st;
}
