/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Wang 2013 in turn. */
#include "wang.h"

#include "io/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char template[] =
#include "embedded/wang.html.h"
	;

/* The paper's: 0.14 mm, first node at (-14.7, -14.7, -30.8) mm. */
static const struct iso_grid paper_grid = { { 210, 210, 440 }, { .14, .14, .14 }, { -.07, -.07, -.07 } };
static const struct iso_grid small_grid = { { 35, 35, 74 }, { .84, .84, .84 }, { 0 } };
static const struct iso_grid tiny_grid = { { 13, 13, 25 }, { 2.4, 2.4, 2.4 }, { 0 } };

/* The array of the study, and that of the experiment. */
static const struct wang_array paper_arrays[] = { { 128, 90, { 0 }, 0, 20, 1022 },
	                                          { 64, 180, { 14, 83 }, 2, 20, 1022 } };
static const struct wang_array small_arrays[] = { { 16, 24, { 0 }, 0, 5, 256 },
	                                          { 16, 24, { 14, 83 }, 2, 5, 256 } };
static const struct wang_array tiny_arrays[] = { { 8, 8, { 0 }, 0, 1, 52 }, { 2, 8, { 14, 83 }, 2, 1, 52 } };

static const struct wang_scale scales[] = {
	/* in the order of enum study_scale */
	{ &tiny_grid, tiny_arrays, 1, 2, 6, .32, 3, { 1e4, 1e3 }, &tiny_grid, tiny_arrays, 2, 1 },
	{ &small_grid, small_arrays, 1, 2, 2.4, .916, 20, { 1e4, 1e3 }, &paper_grid, paper_arrays, 1, 1 },
	{ &paper_grid, paper_arrays, 5, 10, 0, 5, 20, { 1e4, 1e3 }, &paper_grid, paper_arrays, 2, 1 },
};

static const char *const outputs[] = { "nine-spheres.nii",
	                               "fbp-all.nii",
	                               "fbp-half.nii",
	                               "int-half.nii",
	                               "sph-half.nii",
	                               "fbp-quarter.nii",
	                               "int-quarter.nii",
	                               "sph-quarter.nii",
	                               "fbp-eighth.nii",
	                               "int-eighth.nii",
	                               "sph-eighth.nii",
	                               "vessels.nii",
	                               "eir.npy",
	                               "vessels-fbp-full.nii",
	                               "vessels-int-full.nii",
	                               "vessels-sph-full.nii",
	                               "vessels-fbp-quarter.nii",
	                               "vessels-int-quarter.nii",
	                               "vessels-sph-quarter.nii",
	                               NULL };

static bool wants(const struct wang *w, const char *part)
{
	return !w->s.only || strcmp(w->s.only, part) == 0;
}

/* ---- before the work ---- */

/* PLS-Sph of the experiment on full data. */
static int plan_scan(struct iso_plan *lines, const struct wang *w)
{
	const struct wang_scale *s = w->scale;
	const int64_t voxels = iso_grid_voxels(s->grid);
	struct iso_transducers t = { 0 };
	struct iso_svoxel sph = { .size = sizeof sph, .t = &t, .grid = *s->grid, .sir = ISO_SIR_RECT };
	int st = wang_transducers(&t, &s->arrays[1]);

	if (!st && !(st = iso_svoxel_lines(&sph, s->fmax_mhz))) {
		iso_plan_add(lines, "images", voxels, 3 * sizeof(iso_real), false);
		iso_plan_add(lines, "traces", t.n * t.samples, 3 * sizeof(iso_real), false);
		iso_cg_plan(lines, w->s.c->ctx, voxels, 2 * t.n * sph.lines, true);
		iso_svoxel_plan(lines, w->s.c->ctx, &sph);
	}
	iso_transducers_free(&t);
	return st;
}

/* Table I; on the CPU with a few transducers. */
static int plan_times(struct iso_plan *lines, const struct wang *w)
{
	const struct wang_scale *s = w->scale;
	bool cuda = iso_ctx_is_cuda(w->s.c->ctx);
	struct iso_transducers all = { 0 }, few = { 0 };
	struct iso_svoxel sph = {
		.size = sizeof sph, .t = cuda ? &all : &few, .grid = *s->times_grid, .sir = ISO_SIR_RECT
	};
	int st = wang_transducers(&all, &s->times_arrays[1]);

	if (!st && !cuda) st = wang_part(&few, &all, s->part * iso_ctx_threads(w->s.c->ctx));
	if (!st && !(st = iso_svoxel_lines(&sph, 0))) {
		iso_plan_add(lines, "image", iso_grid_voxels(&sph.grid), sizeof(iso_real), cuda);
		iso_plan_add(lines, "data", 2 * sph.t->n * sph.lines, sizeof(iso_real), cuda);
		iso_svoxel_plan(lines, w->s.c->ctx, &sph);
	}
	iso_transducers_free(&few);
	iso_transducers_free(&all);
	return st;
}

static bool takes_more(const struct iso_plan *a, const struct iso_plan *b)
{
	int64_t host[2], device[2];

	iso_plan_total(a, &host[0], &device[0]);
	iso_plan_total(b, &host[1], &device[1]);
	return host[0] > host[1] || device[0] > device[1];
}

/* Of the parts asked for, the one that takes most; the study takes less than the experiment. */
static int plan(void *state)
{
	struct wang *w = state;
	struct iso_plan scan = { 0 }, times = { 0 };
	int st = ISO_OK;

	w->scale = &scales[w->s.scale];
	if (wants(w, "study") || wants(w, "experiment")) st = plan_scan(&scan, w);
	if (!st && wants(w, "times")) st = plan_times(&times, w);
	if (!st) st = cmd_plan(w->s.c, takes_more(&times, &scan) ? &times : &scan);
	iso_plan_free(&scan);
	iso_plan_free(&times);
	return st;
}

/* The scanner for other commands. */
static int write_scanner(const char *path, const char *name, const struct wang_array *a, const char *more)
{
	const double patch = 180 / (double)a->rings;
	const bool poles = a->polar[1] == 0;
	char text[1024];

	snprintf(text, sizeof text,
	         "# %s, as `isotome reproduce wang2013` made it.\nkind: transducers\n"
	         "name: %s\nsphere: {radius_mm: 65, rings: %d, views: %d, polar_deg: [%.10g, %.10g]}\n"
	         "speed_mm_per_us: 1.54\nsampling_mhz: %g\nfirst_sample_us: 17.5\nsamples: %d\n"
	         "grueneisen: 2000\n%s",
	         name, name, (int)a->rings, (int)a->views, poles ? patch / 2 : a->polar[0],
	         poles ? 180 - patch / 2 : a->polar[1], a->sampling_mhz, (int)a->samples, more);
	return study_write(path, text);
}

static int set_up(struct wang *w)
{
	const struct wang_scale *s = w->scale;
	int st;

	if ((st = iso_target_check("experiment.yaml", w->s.c->force))) return st;
	if (w->s.msot && (st = cmd_check_output(w->s.c, "msot.nii"))) return st;
	if ((st = write_scanner("scanner.yaml", "Wang 2013, numerical study", &s->arrays[0], ""))) return st;
	return write_scanner("experiment.yaml", "Wang 2013, experiment", &s->arrays[1],
	                     "aperture_mm: [2, 2]\neir: eir.npy\n");
}

static int run(void *state)
{
	struct wang *w = state;
	const struct {
		const char *stage;
		bool wanted;
		int (*run)(struct wang *w);
	} steps[] = {
		{ "recording", w->s.msot != NULL, wang_slice },
		{ "study", wants(w, "study"), wang_study },
		{ "experiment", wants(w, "experiment"), wang_scan },
		{ "table 1", wants(w, "times"), wang_time },
	};
	int st = set_up(w);

	study_show(&w->s, "fmax_mhz", record_real(w->scale->fmax_mhz));
	study_show(&w->s, "iterations", json_integer(w->scale->iterations));
	study_show(&w->s, "set_0",
	           json_string(wang_set_name(&w->scale->arrays[0], wang_every[0], " \u00d7 ")));
	study_show(&w->s, "set_1",
	           json_string(wang_set_name(&w->scale->arrays[0], wang_every[1], " \u00d7 ")));
	for (int k = 0; k < 4 && !st; k++) {
		study_stage(&w->s, steps[k].stage);
		if (steps[k].wanted) st = steps[k].run(w);
	}
	return st;
}

const struct paper paper_wang = { "wang2013",
	                          "Wang et al. 2013: optoacoustic tomography on GPUs",
	                          outputs,
	                          template,
	                          sizeof(struct wang),
	                          plan,
	                          run,
	                          NULL,
	                          true };
