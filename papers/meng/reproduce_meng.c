/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Meng 2019 in turn. */
#include "reproduce_meng.h"

#include "core/size.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 100 /* of the scans; each has its own */
#define POINT                 \
	{                     \
		.25, .25, .25 \
	} /* the centre of a voxel of the paper's grid */

static const char full_scanner[] =
#include "embedded/meng2019.yaml.h"
	;

/* The same crystals and voxels along x and z; less of them, nearer, and thicker planes. */
static const char small_scanner[] =
	"# A scaled-down Meng 2019.\nkind: panels\nname: Meng 2019, small\ncrystals: [18, 36]\n"
	"pitch_mm: [2, 2]\ncrystal_mm: [2, 2, 13]\ngap_mm: 36\nvoxels_per_pitch: [4, 4]\n"
	"planes: 18\nplane_mm: 2\nenergy: {resolution: 0.20, window_kev: [250, 750]}\n"
	"time: {fwhm_ns: 1.5, coincidence_ns: 10}\n";

static const char tiny_scanner[] =
	"# A rehearsal of Meng 2019.\nkind: panels\nname: Meng 2019, tiny\ncrystals: [9, 18]\n"
	"pitch_mm: [4, 4]\ncrystal_mm: [4, 4, 13]\ngap_mm: 36\nvoxels_per_pitch: [2, 2]\n"
	"planes: 9\nplane_mm: 4\nenergy: {resolution: 0.20, window_kev: [250, 750]}\n"
	"time: {fwhm_ns: 1.5, coincidence_ns: 10}\n";

static const struct meng_scale scales[] = {
	/* in the order of enum reproduce_scale */
	{ "tiny",
	  tiny_scanner,
	  "a scanner of 9 \u00d7 18 crystals of 4 mm, 36 mm apart, voxels of 2 "
	  "\u00d7 4 \u00d7 2 mm: a rehearsal, whose figures mean nothing",
	  { 1e3, 1e4, 4e4 },
	  { .95, .8 },
	  1,
	  .01,
	  3e4,
	  3,
	  1 },
	{ "small",
	  small_scanner,
	  "a scaled-down scanner of 18 \u00d7 36 crystals of 2 mm, 36 mm apart, "
	  "voxels of 0.5 \u00d7 2 \u00d7 0.5 mm, and a tenth of the paper\u2019s counts, at most a "
	  "million",
	  { 2e4, 2e5, 2e6 },
	  { .95, .7 },
	  2,
	  .1,
	  1e6,
	  50,
	  2 },
	{ "full",
	  full_scanner,
	  "the paper\u2019s scanner: 26 \u00d7 52 crystals of 2 mm, 50 mm apart, "
	  "voxels of 0.5 mm",
	  { 4e5, 2e7, 2e8 },
	  { .95, .8 },
	  3,
	  1,
	  1e9,
	  100,
	  3 },
};

static const char *const outputs[] = {
	"two-spheres.nii", "two-spheres-apart.nii", "sphere.nii", "derenzo.nii",
	"point-mlem.nii",  "point-osem.nii",        "mouse.nii",  NULL,
};

double meng_counts_here(const struct meng *m, double paper)
{
	return fmin(paper * m->scale->factor, m->scale->most);
}

struct dual_way meng_mlem(iso_ctx *ctx, enum iso_srm_strategy strategy)
{
	return (struct dual_way){ .ctx = ctx, .strategy = strategy, .n_sub = 1, .rule = ISO_GROUPS };
}

int meng_scan(iso_real **y, const struct meng *m, const char *name, const double *at, double n, int which)
{
	struct iso_array truth = { 0 };
	int st = dual_phantom(&truth, &m->d, name, at);

	if (!st && !(*y = size_alloc(m->d.lors, sizeof **y)))
		st = iso_fail_memory("reproduce", m->d.lors * (int64_t)sizeof **y);
	if (!st) st = dual_scan(*y, NULL, &m->d, &(struct dual_scan){ &truth, n, 0, SEED + (uint64_t)which });
	iso_array_free(&truth);
	return st;
}

/* ---- two spheres ---- */

static int two_spheres(struct meng *m, int k)
{
	static const struct {
		const char *name, *file;
		double large[3], small[3]; /* centres */
	} kind[MENG_SPHERES] = {
		{ "two-spheres", "two-spheres.nii", { 0, 0, 7.5 }, { 0, 0, -12.5 } },
		{ "two-spheres-apart", "two-spheres-apart.nii", { 0, 0, 20 }, { 0, 0, -25 } },
	};
	const struct dual_recon r = { .iterations = 10 };
	double *pstd = m->spheres[k].pstd;
	struct iso_array x = { 0 };
	iso_real *y = NULL;
	int st;

	m->spheres[k].counts = meng_counts_here(m, 6.3e6);
	if ((st = meng_scan(&y, m, kind[k].name, NULL, m->spheres[k].counts, 10 + k))) goto done;
	if ((st = dual_recon(&x, NULL, &m->mlem, &r, y))) goto done;
	if ((st = dual_pstd(&pstd[0], &x, 1, MENG_SLICES, kind[k].large, 6))) goto done;
	if ((st = dual_pstd(&pstd[1], &x, 1, MENG_SLICES, kind[k].small, 5))) goto done;
	if ((st = dual_pstd(&pstd[2], &x, 0, MENG_SLICES, kind[k].large, 6))) goto done;
	if ((st = dual_draw(&m->spheres[k].pixels, &x, 1, MENG_SLICES, 0))) goto done;
	if ((st = dual_draw(&m->spheres[k].side, &x, 0, MENG_SLICES, 0))) goto done;
	st = cmd_write(m->d.c, kind[k].file, &x);
done:
	free(y);
	iso_array_free(&x);
	return st ? st : dual_poll(&m->d);
}

/* ---- Derenzo ---- */

/* Along z through the rods of 1.6 mm: the row of three that lies nearest to it. */
static int take_profile(double *value, struct meng *m, const struct iso_array *x)
{
	const struct iso_grid *g = &m->d.grid;
	double end = (double)(g->n[2] - 1) / 2 * g->voxel[2] - 1e-6, half = fmin(end, 15);
	struct iso_array mean = { 0 };
	struct iso_profile p = { .samples = m->derenzo.samples };
	int st = dual_slab(&mean, x, 1, MENG_SLICES);

	p.from[0] = p.to[0] = -5.54; /* x of the second row of that sector */
	p.from[2] = -half;
	p.to[2] = half;
	if (!st) st = iso_measure_profile(value, &mean, &p);
	for (int64_t i = 0; i < p.samples; i++)
		m->derenzo.place[i] = -half + 2 * half * (double)i / (double)(p.samples - 1);
	iso_array_free(&mean);
	return st;
}

static double sum(int64_t n, const double *v)
{
	double s = 0;

	for (int64_t i = 0; i < n; i++) s += v[i];
	return s;
}

/* Both profiles have the mean 1. */
static int profiles(struct meng *m, const struct iso_array *x)
{
	struct iso_array truth = { 0 };
	int64_t n = m->derenzo.samples = 241;
	int st;

	if ((st = dual_phantom(&truth, &m->d, "derenzo-meng", NULL))) goto done;
	if ((st = take_profile(m->derenzo.truth, m, &truth))) goto done;
	if ((st = take_profile(m->derenzo.profile, m, x))) goto done;
	for (int k = 0; k < 2; k++) {
		double *v = k ? m->derenzo.truth : m->derenzo.profile, all = sum(n, v);

		for (int64_t i = 0; i < n && all > 0; i++) v[i] *= (double)n / all;
	}
done:
	iso_array_free(&truth);
	return st;
}

static int derenzo(struct meng *m)
{
	const struct dual_recon r = { .iterations = m->scale->derenzo_iterations };
	struct iso_array x = { 0 };
	iso_phantom *p = NULL;
	iso_real *y = NULL;
	int st;

	m->derenzo.counts = meng_counts_here(m, 1.4e7);
	if ((st = iso_phantom_create(&p, "derenzo-meng", NULL))) goto done;
	if ((st = meng_scan(&y, m, "derenzo-meng", NULL, m->derenzo.counts, 20))) goto done;
	if ((st = dual_recon(&x, NULL, &m->mlem, &r, y))) goto done;
	if ((st = iso_measure_rods(&m->derenzo.rods, &x, p, 2 * MENG_SLICES))) goto done;
	if ((st = dual_draw(&m->derenzo.pixels, &x, 1, MENG_SLICES, 18))) goto done;
	if ((st = profiles(m, &x))) goto done;
	st = cmd_write(m->d.c, "derenzo.nii", &x);
done:
	free(y);
	iso_phantom_free(p);
	iso_array_free(&x);
	return st ? st : dual_poll(&m->d);
}

/* ---- point source ---- */

static int one_point(struct iso_array *x, struct meng *m, int k, struct dual_model *p, const iso_real *y)
{
	const struct dual_recon r = { .iterations = k ? 1 : 10 };
	const struct iso_fwhm at = { .at = POINT, .window = 16 };
	struct iso_width w[3];
	int st;

	if ((st = dual_recon(x, NULL, p, &r, y))) return st;
	if ((st = dual_time_iteration(&m->point.seconds[k], p, m->scale->repeats))) return st;
	if ((st = iso_measure_fwhm(w, x, &at))) return st;
	m->point.fwhm[k] = (w[0].fwhm + w[2].fwhm) / 2;
	if ((st = dual_draw(&m->point.pixels[k], x, 1, 1, 10))) return st;
	return cmd_write(m->d.c, k ? "point-osem.nii" : "point-mlem.nii", x);
}

static int point(struct meng *m)
{
	const struct dual_way osem = { .ctx = m->d.fast, .n_sub = 10, .rule = ISO_GROUPS };
	const double at[3] = POINT;
	struct iso_array x[2] = { { 0 }, { 0 } };
	struct dual_model p = { 0 };
	iso_real *y = NULL;
	struct iso_diff diff;
	int st;

	m->point.counts = meng_counts_here(m, 1e6);
	if ((st = meng_scan(&y, m, "point", at, m->point.counts, 30))) goto done;
	if ((st = one_point(&x[0], m, 0, &m->mlem, y))) goto done;
	if ((st = dual_model_open(&p, &m->d, &osem)) || (st = one_point(&x[1], m, 1, &p, y))) goto done;
	iso_measure_diff(&diff, x[0].n, x[1].v, x[0].v);
	m->point.diff = diff.percent;
done:
	free(y);
	dual_model_close(&p);
	iso_array_free(&x[0]);
	iso_array_free(&x[1]);
	return st ? st : dual_poll(&m->d);
}

/* ---- mouse, by every strategy ---- */

static int image_of_way(struct meng *m, struct meng_way *w, struct dual_model *p, struct iso_array *first,
                        const iso_real *y)
{
	const struct iso_roi tumour = { ISO_ROI_SPHERE, { 10, 0, 12 }, .radius = 2.5 };
	const struct iso_roi muscle = { ISO_ROI_SPHERE, { 0, -6, -2 }, .radius = 3 };
	const struct dual_recon r = { .iterations = 10 };
	struct iso_array x = { 0 };
	struct iso_diff diff;
	int st;

	if ((st = dual_recon(&x, NULL, p, &r, y)) || (st = iso_measure_tbr(&w->tbr, &x, &tumour, &muscle)))
		goto done;
	iso_measure_diff(&diff, x.n, x.v, first->v ? first->v : x.v);
	w->diff = diff.percent;
	if (!first->v) {
		*first = x;
		return dual_draw(&m->mouse, &x, 1, MENG_SLICES, 0);
	}
done:
	iso_array_free(&x);
	return st;
}

static int one_way(struct meng *m, int k, struct iso_array *first, const iso_real *y)
{
	const struct dual_way way = meng_mlem(k < DUAL_STRATEGIES ? m->d.devices.cpu : m->d.devices.cuda,
	                                      (enum iso_srm_strategy)(k % DUAL_STRATEGIES));
	struct meng_way *w = &m->way[k];
	struct dual_model p = { 0 };
	int st;

	*w = (struct meng_way){ NAN, NAN, NAN, DUAL_NO_TIMES };
	if (!way.ctx) return ISO_OK;
	if ((st = dual_model_open(&p, &m->d, &way))) goto done;
	if ((st = dual_time(&w->times, &p, true, m->scale->repeats))) goto done;
	if ((st = dual_time_iteration(&w->seconds, &p, m->scale->repeats))) goto done;
	st = image_of_way(m, w, &p, first, y);
done:
	dual_model_close(&p);
	return st ? st : dual_poll(&m->d);
}

/* First the reference: `combined` on the CPU, whose sums are in double. */
static int mouse(struct meng *m)
{
	static const int order[MENG_WAYS] = {
		ISO_SRM_COMBINED, ISO_SRM_CORRELATION, ISO_SRM_ROW, ISO_SRM_COLUMN, 4, 5, 6, 7
	};
	struct iso_array first = { 0 };
	iso_real *y = NULL;
	int st;

	m->mouse_counts = meng_counts_here(m, 8.5e7);
	st = meng_scan(&y, m, "mouse", NULL, m->mouse_counts, 40);
	for (int k = 0; k < MENG_WAYS && !st; k++) st = one_way(m, order[k], &first, y);
	if (!st) st = dual_ladder(&m->ladder, &m->d, m->scale->repeats);
	if (!st) st = cmd_write(m->d.c, "mouse.nii", &first);
	free(y);
	iso_array_free(&first);
	return st;
}

/* ---- all of it ---- */

static int experiments(struct meng *m)
{
	struct record *rec = &m->d.c->record;
	int st;

	if ((st = meng_table_6(m))) return st;
	record_stage(rec, "two spheres");
	if ((st = two_spheres(m, 0)) || (st = two_spheres(m, 1))) return st;
	record_stage(rec, "derenzo");
	if ((st = derenzo(m))) return st;
	record_stage(rec, "point");
	if ((st = point(m))) return st;
	record_stage(rec, "mouse and table IV");
	if ((st = mouse(m))) return st;
	record_stage(rec, NULL);
	return meng_record(m);
}

static int write_page(const struct meng *m)
{
	struct iso_text page = { 0 };
	int st = meng_page(&page, m);

	if (!st) st = reproduce_write_page(&page);
	iso_text_free(&page);
	return st;
}

static void release(struct meng *m)
{
	for (int i = 0; i < MENG_ACTIVITIES; i++) iso_pixels_free(&m->sphere[i]);
	for (int i = 0; i < 2; i++) {
		iso_pixels_free(&m->spheres[i].pixels);
		iso_pixels_free(&m->spheres[i].side);
		iso_pixels_free(&m->point.pixels[i]);
	}
	iso_pixels_free(&m->derenzo.pixels);
	iso_pixels_free(&m->mouse);
	dual_model_close(&m->mlem);
	dual_close(&m->d);
	free(m);
}

static int run(struct cmd *c, enum reproduce_scale scale)
{
	struct meng *m = calloc(1, sizeof *m);
	int st;

	if (!m) return iso_fail_memory("reproduce", sizeof *m);
	m->scale = &scales[scale];
	if ((st = dual_plan(c, m->scale->scanner, 10, MENG_ACTIVITIES * m->scale->scans + 3))) goto done;
	if ((st = dual_open(&m->d, c, m->scale->scanner))) goto done;
	if ((st = experiments(m))) goto done;
	if ((st = write_page(m))) goto done;
	st = reproduce_write_results(c);
done:
	release(m);
	return st;
}

const struct reproduce reproduce_meng = { "meng2019", outputs, run, NULL };
