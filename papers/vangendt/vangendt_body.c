/* SPDX-License-Identifier: BSD-3-Clause */
/* Table 3 of Van Gendt 2021: a body in a scanner of two metres, reconstructed with each extension
   by itself and with all of them, on the CPU and on CUDA. */
#include "vangendt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROWS = 8, /* of Table 3: the paper's seven, and attenuation in two ways */
	ITERATIONS = 4,
	SUBSETS = 8,
};

#define SEED 1
#define DISC_MM 24. /* over which a profile is averaged: single voxels are noise */

static const char scanner_text[] =
#include "embedded/total-body.yaml.h"
	;

/* What a row has of the extensions: one of the sensitivities, and any of the others. */
enum { NO_SENS, SENS, SENS_WITH_MU, ANY_SENS, PRECORRECTED, OSEM = 8, TOF = 16, MEDIAN = 32 };

static const struct recipe {
	const char *name, *file, *what;
	double paper[3]; /* s: CPU, Tesla V100, RTX 2080 Ti; NAN: not in the paper */
	unsigned m;
} recipes[ROWS] = {
	{ "Baseline MLEM without extensions", "baseline", "S = 1", .paper = { 87.46, .97, 1.43 },
	  .m = NO_SENS },
	{ "MLEM with sensitivity correction", "sensitivity", "S of the scanner",
	  .paper = { 89.65, .99, 1.44 }, .m = SENS },
	{ "OSEM without extensions", "osem", "8 subsets, half the passes", .paper = { 43.16, .60, .77 },
	  .m = OSEM },
	{ "MLEM with attenuation correction", "attenuation", "attenuation in S",
	  .paper = { 93.60, 1.31, 1.79 }, .m = SENS_WITH_MU },
	{ "the same, data precorrected (eq. 7)", "precorrected", "events times 1/alpha, S without it",
	  .paper = { NAN, NAN, NAN }, .m = SENS | PRECORRECTED },
	{ "MLEM with TOF correction", "tof", "S = 1, 390 ps, cut at 3 sigma", .paper = { NAN, 1.27, 1.58 },
	  .m = TOF },
	{ "MLEM with median filtering", "median", "S = 1, 3 x 3 x 3 after each iteration",
	  .paper = { 120.89, 1.04, 1.49 }, .m = MEDIAN },
	{ "OSEM with all extensions", "all", "sensitivity, attenuation, TOF, median",
	  .paper = { NAN, 1.17, 1.29 }, .m = SENS_WITH_MU | OSEM | TOF | MEDIAN },
};

struct body {
	struct vangendt *v;
	struct iso_array truth, mu, x, other; /* x: of the row under way; other: by the CPU */
	iso_scanner *scanner;
	struct iso_events e;
	struct iso_room room;    /* has the arrays below */
	iso_real *sens[3];       /* by the recipe */
	double top;              /* of the colours in pictures: a fifth of the truth's greatest */
	int64_t first, last;     /* slices across z with activity */
	int64_t samples;         /* of a profile along x */
	double *place, *profile; /* mm; that of the truth, then those of the rows */
};

/* ---- the problem ---- */

static int make_phantom(struct body *b)
{
	struct iso_array *const images[] = { &b->truth, &b->mu, &b->x, &b->other };
	const int64_t slice = b->v->grid.n[0] * b->v->grid.n[1];
	iso_phantom *p = NULL;
	int st = ISO_OK;

	for (int k = 0; k < 4 && !st; k++) st = iso_array_on_grid(images[k], &b->v->grid);
	if (st || (st = iso_phantom_create(&p, "body", NULL))) return st;
	st = iso_phantom_raster(b->truth.v, b->mu.v, b->v->s.cpu, p, &b->v->grid, 5);
	iso_phantom_free(p);
	b->first = b->v->grid.n[2] - 1;
	for (int64_t i = 0; i < b->truth.n; i++) {
		if (!(b->truth.v[i] > 0)) continue;
		b->first = i / slice < b->first ? i / slice : b->first;
		b->last = i / slice;
		if (.2 * b->truth.v[i] > b->top) b->top = .2 * b->truth.v[i];
	}
	snprintf(b->truth.unit, sizeof b->truth.unit, "a.u.");
	snprintf(b->mu.unit, sizeof b->mu.unit, "1/mm");
	snprintf(b->x.unit, sizeof b->x.unit, "counts/mm");
	return st;
}

static int scan(struct body *b)
{
	struct iso_simulate p = { .size = sizeof p, .activity = &b->truth, .mu = &b->mu, .seed = SEED };
	struct iso_simulated info = { .size = sizeof info };

	p.scanner = b->scanner;
	p.counts = b->v->scale->body_events;
	p.exact_counts = true;
	p.tof_fwhm_ps = VANGENDT_TOF_FWHM_PS;
	return iso_simulate(&b->e, &info, b->v->s.cpu, &p);
}

/* On CUDA where there is one: they are inputs of the rows, timed by themselves. */
static int make_sensitivities(struct body *b)
{
	struct iso_ray_sens p = { .size = sizeof p, .grid = b->v->grid, .scanner = b->scanner, .seed = SEED };
	double seconds[2], error;
	int st;

	for (int k = 0; k < 3; k++) ISO_HOST(&b->room, b->sens[k], b->x.n);
	if ((st = b->room.status)) return st;
	for (int64_t i = 0; i < b->x.n; i++) b->sens[NO_SENS][i] = 1;
	p.share = fmin(1, b->v->scale->pairs / (double)iso_scanner_pairs(b->scanner));
	for (int k = SENS; k <= SENS_WITH_MU && !st; k++) {
		double start_s = iso_now_s();

		p.mu = k == SENS_WITH_MU ? &b->mu : NULL;
		st = iso_ray_sens(b->sens[k], &error, b->v->s.fast, &p);
		seconds[k - SENS] = iso_now_s() - start_s;
	}
	if (!st) study_result(&b->v->s, "sensitivity_s", record_reals(2, seconds));
	return st;
}

/* ---- one reconstruction ---- */

/* From events in memory to the image in memory; sensitivities are there already. */
static int reconstruct(iso_real *x, struct vangendt_cell *cell, const struct body *b, unsigned m,
                       iso_ctx *ctx)
{
	struct iso_ray ray = { .size = sizeof ray, .grid = b->v->grid, .n_sub = 1, .tof_truncate = 3 };
	const struct iso_filter median = { .kind = ISO_MEDIAN, .size = 3 };
	struct iso_em em = {
		.size = sizeof em, .filter = m & MEDIAN ? &median : NULL, .filter_every = 1, .grid = ray.grid
	};
	double start_s = iso_now_s();
	iso_real *y = NULL;
	int st;

	if (m & OSEM) ray.n_sub = SUBSETS;
	if (m & TOF) ray.tof_fwhm_ps = VANGENDT_TOF_FWHM_PS;
	for (int64_t i = 0; i < b->x.n; i++) x[i] = 1;
	if (m & PRECORRECTED &&
	    ((st = STUDY_NEW(y, b->e.n)) || (st = iso_ray_attenuation(y, ctx, &b->mu, &b->e))))
		goto done;
	for (int64_t j = 0; j < b->e.n && y; j++) y[j] = 1 / y[j];
	if ((st = iso_ray_create(&em.op, ctx, &ray, &b->e))) goto done;
	em.data.y = y;
	em.sens = (struct iso_sens){ 1, ray.n_sub, b->sens[m & ANY_SENS] };
	em.iterations = cell->ran = ITERATIONS / (m & OSEM ? 2 : 1);
	st = iso_em_run(x, NULL, &em, NULL);
	cell->seconds = iso_now_s() - start_s;
done:
	iso_op_free(em.op);
	free(y);
	return st;
}

/* ---- what is shown of it ---- */

/* The coronal slice through the middle, head to the right, as far as the phantom reaches; in the
   colours of the truth. */
static int draw(const struct body *b, const struct iso_array *a, double scale, const char *name,
                const char *note)
{
	const int64_t *n = b->v->grid.n;
	const iso_real *slice = a->v + (b->first * n[1] + n[1] / 2) * n[0];
	struct study_plane plane = { b->last - b->first + 1, n[0], n[0] * n[1], 1, .v = slice };

	plane.top = b->top / scale;
	plane.zoom = 1;
	return study_draw(&b->v->s, "pictures", &plane, name, "coronal slice, head to the right", note);
}

/* Profile number k: along x through the centre, the mean over a disc across it, scaled to the truth. */
static int take_profile(struct body *b, int k, const struct iso_array *a, double scale)
{
	const struct iso_grid *g = &b->v->grid;
	double half = .5 * (double)(g->n[0] - 1) * g->voxel[0], *value = b->profile + k * b->samples;
	const struct iso_profile line = { { -half, 0, 0 }, { half, 0, 0 }, b->samples, DISC_MM };
	int st = iso_measure_profile(value, a, &line);

	for (int64_t i = 0; i < b->samples && !st; i++) {
		value[i] *= scale;
		b->place[i] = -half + 2 * half * (double)i / (double)(b->samples - 1);
	}
	return st;
}

static int keep_truth(struct body *b)
{
	struct cmd *c = b->v->s.c;
	int st;

	b->samples = 2 * b->v->grid.n[0] - 1;
	ISO_HOST(&b->room, b->place, b->samples);
	ISO_HOST(&b->room, b->profile, (ROWS + 1) * b->samples);
	if ((st = b->room.status)) return st;
	if ((st = draw(b, &b->truth, 1, "Phantom", "")) || (st = take_profile(b, 0, &b->truth, 1))) return st;
	if ((st = cmd_write(c, "truth.nii", &b->truth))) return st;
	return cmd_write(c, "mu.nii", &b->mu);
}

/* Errors are those of the body: most of the image is air. */
static int keep(double *nrmse, struct body *b, int k)
{
	const struct recipe *r = &recipes[k];
	struct iso_rmse error = { .size = sizeof error };
	int st = iso_measure_rmse(&error, b->x.n, b->x.v, b->truth.v, b->truth.v, ISO_SCALE_FIT);

	if (st) return st;
	*nrmse = error.nrmse;
	if ((st = draw(b, &b->x, error.scale, r->name, study_text("NRMSE %.1f\u202f%%", 100 * error.nrmse))))
		return st;
	if ((st = take_profile(b, k + 1, &b->x, error.scale))) return st;
	return cmd_write(b->v->s.c, study_text("%s.nii", r->file), &b->x);
}

/* Those rows that differ most from one another: more would not be told apart. */
static void draw_profiles(struct body *b)
{
	static const int shown[] = { 0, 1, 3, 5, 7 };
	struct iso_svg_curve curve[6] = { { "Phantom", 0, b->samples, b->place, b->profile } };

	for (int k = 0; k < 5; k++)
		curve[k + 1] = (struct iso_svg_curve){ recipes[shown[k]].name, k + 1, b->samples, b->place,
			                               b->profile + (shown[k] + 1) * b->samples };
	study_chart(&b->v->s, "profile", "Profile along x through the middle of the body", "x, mm",
	            "activity", 6, curve);
}

/* ---- the table ---- */

/* The image that is kept is CUDA's where there is one. */
static int run_row(struct body *b, json_t *rows, int k)
{
	const struct recipe *r = &recipes[k];
	struct vangendt_cell cpu = { 0 }, cuda = { .seconds = NAN, .why = "no CUDA device" };
	struct iso_diff diff = { .size = sizeof diff, .l2 = NAN };
	double nrmse = NAN;
	json_t *row;
	int st = reconstruct(b->x.v, &cpu, b, r->m, b->v->s.cpu);

	if (!st && b->v->s.cuda) {
		memcpy(b->other.v, b->x.v, (size_t)b->x.n * sizeof *b->x.v);
		if ((st = reconstruct(b->x.v, &cuda, b, r->m, b->v->s.cuda)) ||
		    (st = iso_measure_diff(&diff, b->x.n, b->x.v, b->other.v)))
			return st;
	}
	if (st || (st = keep(&nrmse, b, k))) return st;
	row = record_pack("{s:s, s:s, s:o, s:o, s:f, s:f, s:o}", "algorithm", r->name, "image", r->file,
	                  "cpu", vangendt_cell_json(&cpu), "cuda", vangendt_cell_json(&cuda), "nrmse", nrmse,
	                  "cuda_from_cpu", diff.l2, "paper_s", record_reals(3, r->paper));
	json_array_append(rows, row);
	study_row(&b->v->s, "rows", record_pack("[o,s,f]", row, r->what, cpu.seconds / cuda.seconds));
	return study_poll(&b->v->s);
}

static int run_rows(struct body *b)
{
	struct iso_clock clock = iso_clock_start(b->v->s.c->ctx, "table 3", 0, ROWS);
	const struct iso_grid *g = &b->v->grid;
	json_t *rows = json_array();
	int st = ISO_OK;

	for (int k = 0; k < ROWS && !st; k++) {
		st = run_row(b, rows, k);
		iso_clock_step(&clock, k + 1, NULL);
	}
	study_result(&b->v->s, "table_3", rows);
	study_show(&b->v->s, "body",
	           record_pack("{s:I, s:[I,I,I,f]}", "events", (json_int_t)b->e.n, "grid",
	                       (json_int_t)g->n[0], (json_int_t)g->n[1], (json_int_t)g->n[2], g->voxel[0]));
	return st;
}

int vangendt_body(struct vangendt *v)
{
	struct body b = { .v = v, .room = iso_room_of(NULL, "reproduce") };
	struct iso_array *const images[] = { &b.truth, &b.mu, &b.x, &b.other };
	int st;

	if ((st = study_scanner(&b.scanner, scanner_text)) || (st = make_phantom(&b))) goto done;
	if ((st = keep_truth(&b)) || (st = scan(&b)) || (st = make_sensitivities(&b))) goto done;
	if (!(st = run_rows(&b))) draw_profiles(&b);
done:
	iso_room_free(&b.room);
	for (int k = 0; k < 4; k++) iso_array_free(images[k]);
	iso_events_free(&b.e);
	iso_scanner_free(b.scanner);
	return st;
}
