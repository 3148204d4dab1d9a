/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Wang 2013 in turn. */
#include "reproduce_wang.h"

#include "file/out.h"
#include "io/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The paper's: 0.14 mm, first node at (-14.7, -14.7, -30.8) mm. */
#define PAPER_GRID                                    \
	{                                             \
		{ 210, 210, 440 }, { .14, .14, .14 }, \
		{                                     \
			-.07, -.07, -.07              \
		}                                     \
	}
#define SMALL_GRID                                 \
	{                                          \
		{ 35, 35, 74 }, { .84, .84, .84 }, \
		{                                  \
			0                          \
		}                                  \
	}
#define TINY_GRID                                  \
	{                                          \
		{ 13, 13, 25 }, { 2.4, 2.4, 2.4 }, \
		{                                  \
			0                          \
		}                                  \
	}

#define STUDY(rings, views, mhz, samples)            \
	{                                            \
		rings, views, { 0 }, 0, mhz, samples \
	}
#define SCAN(rings, views, mhz, samples)                  \
	{                                                 \
		rings, views, { 14, 83 }, 2, mhz, samples \
	}

static const struct wang_scale scales[] = {
	/* in the order of enum reproduce_scale */
	{ .name = "tiny",
	  .what = "voxels of 2.4 mm and 64 transducers: a rehearsal, whose figures mean "
	          "nothing",
	  .grid = TINY_GRID,
	  .first_node = 1,
	  .node_step = 2,
	  .fwhm = 6,
	  .fmax_mhz = .32,
	  .iterations = 3,
	  .study = STUDY(8, 8, 1, 52),
	  .scan = SCAN(2, 8, 1, 52),
	  .mu = { 1e4, 1e3 },
	  .times_grid = TINY_GRID,
	  .times_study = STUDY(8, 8, 1, 52),
	  .times_scan = SCAN(2, 8, 1, 52),
	  .part = 2,
	  .repeats = 1 },
	{ .name = "small",
	  .what = "voxels of 0.84 mm in place of 0.14, a thirtieth of the transducers, "
	          "phantoms smoothed to 2.4 mm in place of 0.77 and 0.5, so that voxels and transducers suit "
	          "them "
	          "about as in the paper",
	  .grid = SMALL_GRID,
	  .first_node = 1,
	  .node_step = 2,
	  .fwhm = 2.4,
	  .fmax_mhz = .916,
	  .iterations = 20,
	  .study = STUDY(16, 24, 5, 256),
	  .scan = SCAN(16, 24, 5, 256),
	  .mu = { 1e4, 1e3 },
	  .times_grid = PAPER_GRID,
	  .times_study = STUDY(128, 90, 20, 1022),
	  .times_scan = SCAN(64, 180, 20, 1022),
	  .part = 1,
	  .repeats = 1 },
	{ .name = "full",
	  .what = "the paper\u2019s arrays, voxels, samples and lines",
	  .grid = PAPER_GRID,
	  .first_node = 5,
	  .node_step = 10,
	  .fmax_mhz = 5,
	  .iterations = 20,
	  .study = STUDY(128, 90, 20, 1022),
	  .scan = SCAN(64, 180, 20, 1022),
	  .mu = { 1e4, 1e3 },
	  .times_grid = PAPER_GRID,
	  .times_study = STUDY(128, 90, 20, 1022),
	  .times_scan = SCAN(64, 180, 20, 1022),
	  .part = 2,
	  .repeats = 1 },
};

static const char *const outputs[] = {
	"nine-spheres.nii",
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
	NULL,
};

int wang_poll(const struct wang *w)
{
	return iso_ctx_cancelled(w->c->ctx) ? iso_fail(ISO_ECANCEL, "stopped on request") : ISO_OK;
}

/* ---- before the work ---- */

/* PLS-Sph of the experiment on full data. */
static int plan_scan(struct iso_plan *lines, const struct wang *w)
{
	const struct wang_scale *s = w->scale;
	const int64_t voxels = iso_grid_voxels(&s->grid);
	struct iso_transducers t = { 0 };
	struct iso_svoxel sph = { .size = sizeof sph, .t = &t, .grid = s->grid, .sir = ISO_SIR_RECT };
	int st = wang_transducers(&t, &s->scan);

	if (!st && !(st = iso_svoxel_lines(&sph, s->fmax_mhz))) {
		iso_plan_add(lines, "images", voxels, 3 * sizeof(iso_real), false);
		iso_plan_add(lines, "traces", t.n * t.samples, 3 * sizeof(iso_real), false);
		iso_cg_plan(lines, w->c->ctx, voxels, 2 * t.n * sph.lines, true);
		iso_svoxel_plan(lines, w->c->ctx, &sph);
	}
	iso_transducers_free(&t);
	return st;
}

/* Table I; on the CPU with a few transducers. */
static int plan_times(struct iso_plan *lines, const struct wang *w)
{
	const struct wang_scale *s = w->scale;
	bool cuda = iso_ctx_is_cuda(w->c->ctx);
	struct iso_transducers all = { 0 }, few = { 0 };
	struct iso_svoxel sph = {
		.size = sizeof sph, .t = cuda ? &all : &few, .grid = s->times_grid, .sir = ISO_SIR_RECT
	};
	int st = wang_transducers(&all, &s->times_scan);

	if (!st && !cuda) st = wang_part(&few, &all, s->part * iso_ctx_threads(w->c->ctx));
	if (!st && !(st = iso_svoxel_lines(&sph, 0))) {
		iso_plan_add(lines, "image", iso_grid_voxels(&sph.grid), sizeof(iso_real), cuda);
		iso_plan_add(lines, "data", 2 * sph.t->n * sph.lines, sizeof(iso_real), cuda);
		iso_svoxel_plan(lines, w->c->ctx, &sph);
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
static int plan(const struct wang *w)
{
	struct iso_plan scan = { 0 }, times = { 0 };
	int st = w->wants[WANG_STUDY] || w->wants[WANG_EXPERIMENT] ? plan_scan(&scan, w) : ISO_OK;

	if (!st && w->wants[WANG_TIMES]) st = plan_times(&times, w);
	if (!st) st = cmd_plan(w->c, takes_more(&times, &scan) ? &times : &scan);
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
	return iso_out_text(path, text);
}

static int set_up(struct wang *w)
{
	const struct wang_scale *s = w->scale;
	int st;

	if ((st = iso_target_check("experiment.yaml", w->c->force))) return st;
	if (w->msot && (st = cmd_check_output(w->c, "msot.nii"))) return st;
	if ((st = write_scanner("scanner.yaml", "Wang 2013, numerical study", &s->study, ""))) return st;
	if ((st = write_scanner("experiment.yaml", "Wang 2013, experiment", &s->scan,
	                        "aperture_mm: [2, 2]\neir: eir.npy\n")))
		return st;
	if ((st = reproduce_open(&w->devices, w->c))) return st;
	w->fast = w->devices.cuda ? w->devices.cuda : w->devices.cpu;
	return ISO_OK;
}

/* ---- all of it ---- */

static int experiments(struct wang *w)
{
	struct record *rec = &w->c->record;
	int st = ISO_OK;

	record_stage(rec, "recording");
	if (w->msot && (st = wang_slice(w))) return st;
	record_stage(rec, "study");
	if (w->wants[WANG_STUDY] && (st = wang_study(w))) return st;
	record_stage(rec, "experiment");
	if (w->wants[WANG_EXPERIMENT] && (st = wang_scan(w))) return st;
	record_stage(rec, "table 1");
	if (w->wants[WANG_TIMES] && (st = wang_time(w))) return st;
	record_stage(rec, NULL);
	return wang_record(w);
}

static int write_page(const struct wang *w)
{
	struct iso_text page = { 0 };
	int st = wang_page(&page, w);

	if (!st) st = reproduce_write_page(&page);
	iso_text_free(&page);
	return st;
}

static void release(struct wang *w)
{
	iso_pixels_free(&w->truth.pixels);
	iso_pixels_free(&w->vessels.pixels);
	iso_pixels_free(&w->slice.pixels);
	for (int k = 0; k < WANG_SETS; k++) {
		iso_pixels_free(&w->cpu[k].pixels);
		for (int m = 0; m < WANG_METHODS; m++) iso_pixels_free(&w->image[m][k].pixels);
	}
	for (int m = 0; m < WANG_METHODS; m++)
		for (int k = 0; k < WANG_SCANS; k++) iso_pixels_free(&w->scan[m][k].pixels);
	reproduce_close(&w->devices);
	free(w);
}

static struct reproduce_extra extra;

static int run(struct cmd *c, enum reproduce_scale scale)
{
	static const char *const parts[] = { "study", "experiment", "times" }; /* as the enum */
	struct wang *w = calloc(1, sizeof *w);
	int st;

	if (!w) return iso_fail_memory("reproduce", sizeof *w);
	w->c = c;
	w->msot = extra.msot;
	w->scale = &scales[scale];
	for (int i = 0; i < 3; i++) w->wants[i] = !extra.only || strcmp(extra.only, parts[i]) == 0;
	if ((st = plan(w))) goto done;
	if ((st = set_up(w))) goto done;
	if ((st = experiments(w))) goto done;
	if ((st = write_page(w))) goto done;
	st = reproduce_write_results(c);
done:
	release(w);
	return st;
}

const struct reproduce reproduce_wang = { "wang2013", outputs, run, &extra };
