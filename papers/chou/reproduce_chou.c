/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Chou 2012 in turn. The paper's axes (x, y, z) are (y, x, z) here. */
#include "reproduce_chou.h"

#include "core/size.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED 200
#define DEAL 7     /* seed of the random deal of directions to subsets */
#define SLICES 2.5 /* mm around the middle that are averaged */
#define DERENZO 18 /* mm of it that pictures show */
#define RANDOMS .2 /* of the rat's trues; the paper does not tell */

const int chou_shown[CHOU_SHOWN] = { 1, 24 };
const double chou_lines[CHOU_LINES] = { 11.7, -2.7 };

static const char full_scanner[] =
#include "embedded/chou2012.yaml.h"
	;

static const char small_scanner[] =
	"# A scaled-down Chou 2012.\nkind: panels\nname: Chou 2012, small\ncrystals: [48, 20]\n"
	"pitch_mm: [2.4, 2.4]\ncrystal_mm: [2.1, 2.1, 10]\ngap_mm: 44\n"
	"material: {formula: Lu2SiO5, density: 7.4}\nvoxels_per_pitch: [4, 4]\n"
	"planes: 11\nplane_mm: 4\nenergy: {resolution: 0.20, window_kev: [350, 750]}\n"
	"time: {fwhm_ns: 1.5, coincidence_ns: 6}\n";

static const char tiny_scanner[] =
	"# A rehearsal of Chou 2012.\nkind: panels\nname: Chou 2012, tiny\ncrystals: [12, 6]\n"
	"pitch_mm: [9.6, 9.6]\ncrystal_mm: [8.4, 8.4, 10]\ngap_mm: 44\n"
	"material: {formula: Lu2SiO5, density: 7.4}\nvoxels_per_pitch: [4, 4]\n"
	"planes: 11\nplane_mm: 4\nenergy: {resolution: 0.20, window_kev: [350, 750]}\n"
	"time: {fwhm_ns: 1.5, coincidence_ns: 6}\n";

static const struct chou_scale scales[] = {
	/* in the order of enum reproduce_scale */
	{ "tiny", tiny_scanner,
	  "a scanner of 12 \u00d7 6 crystals of 9.6 mm, 44 mm apart: a rehearsal, "
	  "whose figures mean nothing",
	  1e4, .8, 1e-4, 5e-5, 1, true },
	{ "small", small_scanner,
	  "a scaled-down scanner of 48 \u00d7 20 crystals at 2.4 mm, 44 mm "
	  "apart, voxels of 0.6 \u00d7 4 \u00d7 0.6 mm, and a hundredth of the paper\u2019s counts (a "
	  "rat: a five-hundredth)",
	  5e5, .6, .01, .002, 1, true },
	{ "full", full_scanner,
	  "the paper\u2019s scanner, front layer: 104 \u00d7 72 crystals at 2.4 "
	  "mm, 60 mm apart, voxels of 0.6 \u00d7 0.5 \u00d7 0.6 mm",
	  5e7, .8, 1, 1, 1, false },
};

static const char *const outputs[] = { "derenzo-1.nii", "derenzo-24.nii", "rat.nii", NULL };

static int make_data(iso_real **y, const struct chou *m)
{
	*y = size_alloc(m->d.lors, sizeof **y);
	return *y ? ISO_OK : iso_fail_memory("reproduce", m->d.lors * (int64_t)sizeof **y);
}

static struct dual_way osem(iso_ctx *ctx, enum iso_srm_strategy strategy)
{
	return (struct dual_way){ ctx, strategy, CHOU_SUBSETS, ISO_RANDOM, DEAL };
}

/* ---- Derenzo: H f and Poisson noise ---- */

struct follower {
	struct chou *m;
	const iso_phantom *phantom;
};

/* Along z at the paper's two heights, in the mean of the slices; over its own mean. */
static int take_profiles(double value[CHOU_LINES][CHOU_SAMPLES], struct chou *m, const struct iso_array *x)
{
	struct iso_array mean = { 0 };
	int st = dual_slab(&mean, x, 1, SLICES);

	for (int k = 0; k < CHOU_LINES && !st; k++) {
		const struct iso_profile p = { .from = { chou_lines[k], 0, -15 },
			                       .to = { chou_lines[k], 0, 15 },
			                       .samples = CHOU_SAMPLES };
		double sum = 0;

		st = iso_measure_profile(value[k], &mean, &p);
		for (int i = 0; i < CHOU_SAMPLES; i++) {
			m->place[i] = -15 + 30. * i / (CHOU_SAMPLES - 1);
			sum += value[k][i];
		}
		for (int i = 0; i < CHOU_SAMPLES && sum > 0; i++) value[k][i] *= CHOU_SAMPLES / sum;
	}
	iso_array_free(&mean);
	return st;
}

static int each(void *arg, int iteration, const iso_real *v)
{
	struct follower *f = arg;
	struct chou *m = f->m;
	struct iso_array x = { .n_dim = 3,
		               .dim = { m->d.grid.n[2], m->d.grid.n[1], m->d.grid.n[0] },
		               .n = iso_grid_voxels(&m->d.grid),
		               .v = (iso_real *)v,
		               .has_grid = true,
		               .grid = m->d.grid,
		               .unit = "decays" };
	char path[32];
	int k = 0, st;

	while (k < CHOU_SHOWN && chou_shown[k] != iteration) k++;
	if (k == CHOU_SHOWN) return ISO_OK;
	snprintf(path, sizeof path, "derenzo-%d.nii", iteration);
	if ((st = iso_measure_rods(&m->image[k].rods, &x, f->phantom, 2 * SLICES))) return st;
	if ((st = dual_draw(&m->image[k].pixels, &x, 1, SLICES, DERENZO))) return st;
	if ((st = take_profiles(m->image[k].profile, m, &x))) return st;
	return cmd_write(m->d.c, path, &x);
}

static int derenzo(struct chou *m)
{
	struct follower f = { .m = m };
	const struct dual_recon r = { chou_shown[CHOU_SHOWN - 1], each, &f };
	struct iso_array truth = { 0 }, x = { 0 };
	iso_phantom *p = NULL;
	iso_real *y = NULL;
	int st;

	m->counts = 1.72e8 * m->scale->factor;
	if ((st = iso_phantom_create(&p, "derenzo-chou", NULL))) goto done;
	f.phantom = p;
	if ((st = dual_phantom(&truth, &m->d, "derenzo-chou", NULL))) goto done;
	if ((st = take_profiles(m->truth, m, &truth))) goto done;
	if ((st = make_data(&y, m))) goto done;
	if ((st = dual_project(y, &m->d, &truth, m->counts, SEED))) goto done;
	st = dual_recon(&x, &m->seconds, &m->osem, &r, y);
done:
	free(y);
	iso_phantom_free(p);
	iso_array_free(&truth);
	iso_array_free(&x);
	return st ? st : dual_poll(&m->d);
}

/* ---- rat: prompts less delayed ---- */

static double subtract(iso_real *y, const iso_real *delayed, int64_t n)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		y[i] = y[i] > delayed[i] ? y[i] - delayed[i] : 0;
		sum += y[i];
	}
	return sum;
}

static int rat(struct chou *m)
{
	const struct iso_roi tumour = { ISO_ROI_SPHERE, { 0, -4, 14 }, .radius = 2.5 };
	const struct iso_roi muscle = { ISO_ROI_SPHERE, { -15, -8, 0 }, .radius = 5 };
	const struct dual_recon r = { .iterations = CHOU_RAT_ITERATIONS };
	struct iso_array truth = { 0 }, x = { 0 };
	iso_real *y = NULL, *delayed = NULL;
	int st;

	m->rat_trues = 4.6e8 * m->scale->rat_factor;
	m->rat_randoms = RANDOMS * m->rat_trues;
	if ((st = dual_phantom(&truth, &m->d, "rat", NULL))) goto done;
	if ((st = make_data(&y, m)) || (st = make_data(&delayed, m))) goto done;
	if ((st = dual_scan(y, delayed, &m->d,
	                    &(struct dual_scan){ &truth, m->rat_trues, m->rat_randoms, SEED + 1 })))
		goto done;
	m->rat_counts = subtract(y, delayed, m->d.lors);
	if ((st = dual_recon(&x, &m->rat_seconds, &m->osem, &r, y))) goto done;
	if ((st = iso_measure_tbr(&m->rat_tbr, &x, &tumour, &muscle))) goto done;
	if ((st = dual_draw(&m->rat, &x, 1, 4, 0))) goto done;
	st = cmd_write(m->d.c, "rat.nii", &x);
done:
	free(y);
	free(delayed);
	iso_array_free(&truth);
	iso_array_free(&x);
	return st ? st : dual_poll(&m->d);
}

/* ---- Tables 1 to 3 ---- */

/* The projector of the images is there already. On the CPU at full scale `row` takes minutes an
   iteration: one subset of it. */
static int one_way(struct chou_way *k, struct chou *m, const struct dual_way *w)
{
	bool same = w->ctx == m->d.fast && w->strategy == ISO_SRM_CORRELATION;
	bool slow = w->ctx == m->d.devices.cpu && w->strategy == ISO_SRM_ROW;
	struct dual_model own = { 0 };
	int st = same ? ISO_OK : dual_model_open(&own, &m->d, w);

	if (!st)
		st = dual_time(&k->times, same ? &m->osem : &own, !slow || m->scale->row_on_cpu,
		               m->scale->repeats);
	dual_model_close(&own);
	return st ? st : dual_poll(&m->d);
}

static int tables(struct chou *m)
{
	static const struct {
		bool cuda;
		enum iso_srm_strategy strategy;
	} way[CHOU_WAYS] = {
		{ false, ISO_SRM_ROW },     { false, ISO_SRM_CORRELATION }, { true, ISO_SRM_ROW },
		{ true, ISO_SRM_COMBINED }, { true, ISO_SRM_CORRELATION },
	};
	int st = ISO_OK;

	for (int k = 0; k < CHOU_WAYS && !st; k++) {
		iso_ctx *ctx = way[k].cuda ? m->d.devices.cuda : m->d.devices.cpu;
		const struct dual_way w = osem(ctx, way[k].strategy);

		m->way[k] = (struct chou_way){ way[k].cuda ? "CUDA" : "CPU", dual_strategies[way[k].strategy],
			                       DUAL_NO_TIMES };
		if (ctx) st = one_way(&m->way[k], m, &w);
	}
	return st ? st : dual_ladder(&m->ladder, &m->d, m->scale->repeats);
}

/* ---- all of it ---- */

static int experiments(struct chou *m)
{
	const struct dual_way way = osem(m->d.fast, ISO_SRM_CORRELATION);
	struct record *rec = &m->d.c->record;
	int st;

	record_stage(rec, "matrix");
	if ((st = dual_simulate(&m->d, m->scale->pairs, m->scale->share))) return st;
	iso_srm_info(&m->info, m->d.srm);
	record_stage(rec, "projector");
	if ((st = dual_model_open(&m->osem, &m->d, &way))) return st;
	record_stage(rec, "derenzo");
	if ((st = derenzo(m))) return st;
	record_stage(rec, "rat");
	if ((st = rat(m))) return st;
	record_stage(rec, "tables 1 to 3");
	if ((st = tables(m))) return st;
	record_stage(rec, NULL);
	return chou_record(m);
}

static int write_page(const struct chou *m)
{
	struct iso_text page = { 0 };
	int st = chou_page(&page, m);

	if (!st) st = reproduce_write_page(&page);
	iso_text_free(&page);
	return st;
}

static void release(struct chou *m)
{
	for (int i = 0; i < CHOU_SHOWN; i++) iso_pixels_free(&m->image[i].pixels);
	iso_pixels_free(&m->rat);
	dual_model_close(&m->osem);
	dual_close(&m->d);
	free(m);
}

static int run(struct cmd *c, enum reproduce_scale scale)
{
	struct chou *m = calloc(1, sizeof *m);
	int st;

	if (!m) return iso_fail_memory("reproduce", sizeof *m);
	m->scale = &scales[scale];
	if ((st = dual_plan(c, m->scale->scanner, CHOU_SUBSETS, 8))) goto done;
	if ((st = dual_open(&m->d, c, m->scale->scanner))) goto done;
	if ((st = experiments(m))) goto done;
	if ((st = write_page(m))) goto done;
	st = reproduce_write_results(c);
done:
	release(m);
	return st;
}

const struct reproduce reproduce_chou = { "chou2012", outputs, run, NULL };
