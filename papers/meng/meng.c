/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Meng 2019 in turn. */
#include "meng.h"

#include "cmd/measure/measure.h"

#include <stdlib.h>

#define SEED 100  /* of the scans; each has its own */
#define POINT .25 /* mm, along each axis: the centre of a voxel of the paper's grid */

static const char template[] =
#include "embedded/meng.html.h"
	;
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
	/* in the order of enum study_scale */
	{ tiny_scanner, { 1e3, 1e4, 4e4 }, { .95, .8 }, 1, .01, 3e4, 3, 1 },
	{ small_scanner, { 2e4, 2e5, 2e6 }, { .95, .7 }, 2, .1, 1e6, 50, 2 },
	{ full_scanner, { 4e5, 2e7, 2e8 }, { .95, .8 }, 3, 1, 1e9, 100, 3 },
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

	if (!st) st = STUDY_NEW(*y, m->d.lors);
	if (!st) st = dual_scan(*y, NULL, &m->d, &(struct dual_scan){ &truth, n, 0, SEED + (uint64_t)which });
	iso_array_free(&truth);
	return st;
}

/* ---- two spheres ---- */

static int two_spheres(struct meng *m, json_t *pstds, int k)
{
	static const struct {
		const char *phantom, *file, *name, *key;
		double large[3], small[3]; /* centres */
	} kind[] = {
		{ "two-spheres",
		  "two-spheres.nii",
		  "As printed: centres 20 mm apart",
		  "union",
		  { 0, 0, 7.5 },
		  { 0, 0, -12.5 } },
		{ "two-spheres-apart",
		  "two-spheres-apart.nii",
		  "Surfaces 20 mm apart",
		  "apart",
		  { 0, 0, 20 },
		  { 0, 0, -25 } },
	};
	const struct dual_view front = {
		1, DUAL_SLICES, 0, "spheres_front", kind[k].name, "slice across y", "across y"
	};
	const struct dual_view side = { 0,
		                        DUAL_SLICES,
		                        0,
		                        "spheres_side",
		                        kind[k].name,
		                        "slice across x",
		                        "across x: the plane YoZ, the upper head above" };
	const struct dual_recon r = { .iterations = 10 };
	const double counts = meng_counts_here(m, 6.3e6);
	struct iso_array x = { 0 };
	iso_real *y = NULL;
	double pstd[3];
	int st;

	if ((st = meng_scan(&y, m, kind[k].phantom, NULL, counts, 10 + k))) goto done;
	if ((st = dual_recon(&x, NULL, &m->mlem, &r, y))) goto done;
	if ((st = dual_pstd(&pstd[0], &x, 1, DUAL_SLICES, kind[k].large, 6))) goto done;
	if ((st = dual_pstd(&pstd[1], &x, 1, DUAL_SLICES, kind[k].small, 5))) goto done;
	if ((st = dual_pstd(&pstd[2], &x, 0, DUAL_SLICES, kind[k].large, 6))) goto done;
	if ((st = dual_draw(&m->d, &x, &front)) || (st = dual_draw(&m->d, &x, &side))) goto done;
	json_object_set_new(pstds, kind[k].key, record_reals(3, pstd));
	study_row(&m->d.s, "spheres",
	          record_pack("[s,f,f,f,f]", kind[k].name, counts, pstd[0], pstd[1], pstd[2]));
	st = cmd_write(m->d.s.c, kind[k].file, &x);
done:
	free(y);
	iso_array_free(&x);
	return st ? st : study_poll(&m->d.s);
}

static int spheres(struct meng *m)
{
	json_t *pstds = json_object();
	int st = two_spheres(m, pstds, 0);

	if (!st) st = two_spheres(m, pstds, 1);
	study_result(&m->d.s, "two_spheres_pstd_percent", pstds);
	return st;
}

/* ---- Derenzo ---- */

/* Along z through the rods of 1.6 mm: the row of three that lies nearest to it, x of the second row
   of that sector. */
static int draw_profiles(struct meng *m, const struct iso_array *x)
{
	const struct iso_grid *g = &m->d.grid;
	const double half = fmin((double)(g->n[2] - 1) / 2 * g->voxel[2] - 1e-6, 15);
	double place[DUAL_SAMPLES], image[DUAL_SAMPLES], phantom[DUAL_SAMPLES];
	const struct iso_svg_curve curve[] = { { "Phantom", 0, DUAL_SAMPLES, place, phantom },
		                               { "Image", 1, DUAL_SAMPLES, place, image } };
	struct iso_array truth = { 0 };
	int st = dual_phantom(&truth, &m->d, "derenzo-meng", NULL);

	if (!st) st = dual_profile(phantom, place, &truth, -5.54, half);
	if (!st) st = dual_profile(image, place, x, -5.54, half);
	if (!st)
		study_chart(&m->d.s, "derenzo_profile", "Profile along z through rods", "z, mm",
		            "over its mean", 2, curve);
	iso_array_free(&truth);
	return st;
}

static int tell_rods(struct meng *m, const struct iso_rods *rods, double counts)
{
	struct study *s = &m->d.s;
	struct iso_pixels boxes = { 0 };
	int st = measure_rods_boxes(&boxes, rods);

	for (int i = 0; i < rods->n; i++) {
		json_t *row = dual_rod(&rods->size[i]);

		json_object_set_new(row, "in_paper", json_boolean(rods->size[i].diameter > 1.1));
		study_row(s, "rods", row);
	}
	study_result(s, "derenzo",
	             record_pack("{s:f, s:i, s:o}", "events", counts, "iterations",
	                         m->scale->derenzo_iterations, "rods", measure_rods_json(rods)));
	return st ? st
	          : study_picture(s, "boxes", &boxes, "Widths of rods, mm", "boxes and whiskers",
	                          "quartiles and extremes for each diameter, at a half and at a tenth of "
	                          "the height");
}

static int derenzo(struct meng *m)
{
	const struct dual_recon r = { .iterations = m->scale->derenzo_iterations };
	const struct dual_view view = {
		1, DUAL_SLICES, 18, "derenzo_picture", "Derenzo", "slice across y", ""
	};
	const double counts = meng_counts_here(m, 1.4e7);
	struct iso_rods rods;
	struct iso_array x = { 0 };
	iso_phantom *p = NULL;
	iso_real *y = NULL;
	int st;

	if ((st = iso_phantom_create(&p, "derenzo-meng", NULL))) goto done;
	if ((st = meng_scan(&y, m, "derenzo-meng", NULL, counts, 20))) goto done;
	if ((st = dual_recon(&x, NULL, &m->mlem, &r, y))) goto done;
	if ((st = iso_measure_rods(&rods, &x, p, 2 * DUAL_SLICES))) goto done;
	if ((st = dual_draw(&m->d, &x, &view)) || (st = tell_rods(m, &rods, counts))) goto done;
	if ((st = draw_profiles(m, &x))) goto done;
	st = cmd_write(m->d.s.c, "derenzo.nii", &x);
done:
	free(y);
	iso_phantom_free(p);
	iso_array_free(&x);
	return st ? st : study_poll(&m->d.s);
}

/* ---- point source ---- */

/* FWHM: mean of x and z. */
static int one_point(struct iso_array *x, double *fwhm, double *seconds, struct meng *m, int k,
                     struct dual_model *p, const iso_real *y)
{
	const struct dual_recon r = { .iterations = k ? 1 : 10 };
	const struct iso_fwhm at = { .at = { POINT, POINT, POINT }, .window = 16 };
	const struct dual_view view = { 1,
		                        1,
		                        10,
		                        "point_pictures",
		                        k ? "OSEM, 10 subsets, 1 iteration" : "MLEM, 10 iterations",
		                        "slice across y",
		                        "" };
	struct iso_width w[3];
	int st;

	if ((st = dual_recon(x, NULL, p, &r, y))) return st;
	if ((st = dual_time_iteration(seconds, p, m->scale->repeats))) return st;
	if ((st = iso_measure_fwhm(w, x, &at))) return st;
	*fwhm = (w[0].fwhm + w[2].fwhm) / 2;
	if ((st = dual_draw(&m->d, x, &view))) return st;
	return cmd_write(m->d.s.c, k ? "point-osem.nii" : "point-mlem.nii", x);
}

static int point(struct meng *m)
{
	const struct dual_way osem = { .ctx = m->d.s.fast, .n_sub = 10, .rule = ISO_GROUPS };
	const double at[3] = { POINT, POINT, POINT }, counts = meng_counts_here(m, 1e6);
	struct iso_array x[2] = { { 0 }, { 0 } };
	struct dual_model p = { 0 };
	double fwhm[2], seconds[2];
	iso_real *y = NULL;
	struct iso_diff diff;
	int st;

	if ((st = meng_scan(&y, m, "point", at, counts, 30))) goto done;
	if ((st = one_point(&x[0], &fwhm[0], &seconds[0], m, 0, &m->mlem, y))) goto done;
	if ((st = dual_model_open(&p, &m->d, &osem))) goto done;
	if ((st = one_point(&x[1], &fwhm[1], &seconds[1], m, 1, &p, y))) goto done;
	iso_measure_diff(&diff, x[0].n, x[1].v, x[0].v);
	study_result(&m->d.s, "point",
	             record_pack("{s:f, s:o, s:o, s:f}", "events", counts, "fwhm_mm", record_reals(2, fwhm),
	                         "iteration_s", record_reals(2, seconds), "diff_percent", diff.percent));
done:
	free(y);
	dual_model_close(&p);
	iso_array_free(&x[0]);
	iso_array_free(&x[1]);
	return st ? st : study_poll(&m->d.s);
}

/* ---- mouse, by every strategy ---- */

enum { WAYS = 2 * DUAL_STRATEGIES }; /* strategies on the CPU, then on CUDA */

/* NaN: not measured. */
struct way {
	double tbr, diff; /* diff%: against `combined` on the CPU */
	double seconds;   /* of an iteration */
	struct dual_times times;
};

static int image_of_way(struct meng *m, struct way *w, struct dual_model *p, struct iso_array *first,
                        const iso_real *y)
{
	const struct iso_roi tumour = { ISO_ROI_SPHERE, { 10, 0, 12 }, .radius = 2.5 };
	const struct iso_roi muscle = { ISO_ROI_SPHERE, { 0, -6, -2 }, .radius = 3 };
	const struct dual_recon r = { .iterations = 10 };
	const struct dual_view view = {
		1, DUAL_SLICES, 0, "mouse_picture", "Mouse", "coronal slice, nose to the right", ""
	};
	struct iso_array x = { 0 };
	struct iso_diff diff;
	int st;

	if ((st = dual_recon(&x, NULL, p, &r, y)) || (st = iso_measure_tbr(&w->tbr, &x, &tumour, &muscle)))
		goto done;
	iso_measure_diff(&diff, x.n, x.v, first->v ? first->v : x.v);
	w->diff = diff.percent;
	if (!first->v) {
		*first = x;
		return dual_draw(&m->d, &x, &view);
	}
done:
	iso_array_free(&x);
	return st;
}

static int one_way(struct meng *m, struct way *w, int k, struct iso_array *first, const iso_real *y)
{
	const struct dual_way way = meng_mlem(k < DUAL_STRATEGIES ? m->d.s.cpu : m->d.s.cuda,
	                                      (enum iso_srm_strategy)(k % DUAL_STRATEGIES));
	struct dual_model p = { 0 };
	int st;

	*w = (struct way){ NAN, NAN, NAN, DUAL_NO_TIMES };
	if (!way.ctx) return ISO_OK;
	if ((st = dual_model_open(&p, &m->d, &way))) goto done;
	if ((st = dual_time(&w->times, &p, true, m->scale->repeats))) goto done;
	if ((st = dual_time_iteration(&w->seconds, &p, m->scale->repeats))) goto done;
	st = image_of_way(m, w, &p, first, y);
done:
	dual_model_close(&p);
	return st ? st : study_poll(&m->d.s);
}

static double both(const struct way *w)
{
	return w->times.forward + w->times.back;
}

/* Strategies of a device, fastest first by both projections. */
static void tell_order(struct meng *m, const char *list, const struct way *w)
{
	bool told[DUAL_STRATEGIES] = { false };

	for (int n = 0; n < DUAL_STRATEGIES; n++) {
		int best = -1;

		for (int k = 0; k < DUAL_STRATEGIES; k++)
			if (!told[k] && (best < 0 || both(&w[k]) < both(&w[best]))) best = k;
		told[best] = true;
		study_row(&m->d.s, list,
		          json_pack("{s:s, s:b}", "name", dual_strategies[best], "more", n > 0));
	}
}

static void tell_ways(struct meng *m, const struct way w[WAYS])
{
	json_t *rows = json_array();

	for (int k = 0; k < WAYS; k++) {
		const char *strategy = dual_strategies[k % DUAL_STRATEGIES];
		bool cuda = k >= DUAL_STRATEGIES;

		json_array_append_new(rows, record_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f}", "device",
		                                        cuda ? "cuda" : "cpu", "strategy", strategy, "tbr",
		                                        w[k].tbr, "diff_percent", w[k].diff, "forward_s",
		                                        w[k].times.forward, "back_s", w[k].times.back,
		                                        "iteration_s", w[k].seconds));
		study_row(&m->d.s, "ways",
		          record_pack("[s,s,f,f,f,f,f,f]", cuda ? "CUDA" : "CPU", strategy, w[k].tbr,
		                      w[k].diff, w[k].times.forward, w[k].times.back, both(&w[k]),
		                      w[k].seconds));
	}
	study_result(&m->d.s, "tables_3_and_4", rows);
	tell_order(m, "cpu_order", w);
	if (m->d.s.cuda) tell_order(m, "cuda_order", w + DUAL_STRATEGIES);
}

/* First the reference: `combined` on the CPU, whose sums are in double. */
static int mouse(struct meng *m)
{
	static const int order[WAYS] = {
		ISO_SRM_COMBINED, ISO_SRM_CORRELATION, ISO_SRM_ROW, ISO_SRM_COLUMN, 4, 5, 6, 7
	};
	const double counts = meng_counts_here(m, 8.5e7);
	struct iso_array first = { 0 };
	struct dual_ladder l;
	struct way way[WAYS];
	iso_real *y = NULL;
	int st = meng_scan(&y, m, "mouse", NULL, counts, 40);

	for (int k = 0; k < WAYS && !st; k++) st = one_way(m, &way[order[k]], order[k], &first, y);
	if (!st) tell_ways(m, way);
	if (!st && !(st = dual_ladder(&l, &m->d, m->scale->repeats)) && !isnan(l.one_thread))
		study_show(&m->d.s, "variants",
		           record_pack("[f,f,f,f]", l.one_thread, l.step[ISO_SRM_SHARED], l.columns[0],
		                       l.columns[1]));
	study_show(&m->d.s, "mouse", record_pack("[f,i]", counts, m->scale->repeats));
	if (!st) st = cmd_write(m->d.s.c, "mouse.nii", &first);
	free(y);
	iso_array_free(&first);
	return st;
}

/* ---- all of it ---- */

static int plan(void *state)
{
	struct meng *m = state;

	m->scale = &scales[m->d.s.scale];
	return dual_plan(m->d.s.c, m->scale->scanner, 10, MENG_ACTIVITIES * m->scale->scans + 3);
}

static int run(void *state)
{
	struct meng *m = state;
	static const struct {
		const char *stage;
		int (*run)(struct meng *m);
	} steps[] = {
		{ NULL, meng_table_6 }, { "two spheres", spheres },      { "derenzo", derenzo },
		{ "point", point },     { "mouse and table IV", mouse },
	};
	int st = dual_open(&m->d, m->scale->scanner);

	for (int k = 0; k < 5 && !st; k++) {
		study_stage(&m->d.s, steps[k].stage);
		st = steps[k].run(m);
	}
	return st;
}

static void release(void *state)
{
	struct meng *m = state;

	dual_model_close(&m->mlem);
	dual_close(&m->d);
}

const struct paper paper_meng = { "meng2019",
	                          "Meng et al. 2019: dual-head PET on a GPU",
	                          outputs,
	                          template,
	                          sizeof(struct meng),
	                          plan,
	                          run,
	                          release,
	                          false };
