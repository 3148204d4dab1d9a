/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Meng 2019 in turn. */
#include "meng.h"

#include "cmd/measure/measure.h"

#include <stdlib.h>

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

static const char outputs[] =
	"two-spheres.nii two-spheres-apart.nii sphere.nii derenzo.nii point-mlem.nii point-osem.nii "
	"mouse.nii";

double meng_counts_here(const struct meng *m, double paper)
{
	return fmin(paper * m->scale->factor, m->scale->most);
}

/* ---- two spheres ---- */

static const struct kind {
	const char *phantom, *file, *name, *key;
	double large[3], small[3]; /* centres */
} kinds[] = {
	{ "two-spheres", "two-spheres.nii", "As printed: centres 20 mm apart", "union",
	  .large = { 0, 0, 7.5 }, .small = { 0, 0, -12.5 } },
	{ "two-spheres-apart", "two-spheres-apart.nii", "Surfaces 20 mm apart", "apart",
	  .large = { 0, 0, 20 }, .small = { 0, 0, -25 } },
};

static int two_spheres(struct meng *m, json_t *pstds, const struct kind *kind)
{
	const struct dual_view front = { "spheres_front", kind->name, "slice across y", .note = "across y" };
	const struct dual_view side = { "spheres_side", kind->name, "slice across x",
		                        "across x: the plane YoZ, the upper head above", .across_x = true };
	const double counts = meng_counts_here(m, 6.3e6);
	const struct dual_scan scan = { kind->phantom, NULL, counts, 0,
		                        MENG_SEED + 10 + (uint64_t)(kind - kinds) };
	struct iso_array x = { 0 };
	iso_real *y = NULL;
	double pstd[3];
	int st;

	if ((st = dual_scan(&y, NULL, &m->d, &scan))) goto done;
	if ((st = dual_recon(&x, NULL, &m->d.model, 10, y, NULL))) goto done;
	if ((st = dual_pstd(&pstd[0], &x, 1, kind->large, 6))) goto done;
	if ((st = dual_pstd(&pstd[1], &x, 1, kind->small, 5))) goto done;
	if ((st = dual_pstd(&pstd[2], &x, 0, kind->large, 6))) goto done;
	if ((st = dual_draw(&m->d, &x, &front)) || (st = dual_draw(&m->d, &x, &side))) goto done;
	json_object_set_new(pstds, kind->key, record_reals(3, pstd));
	study_row(&m->d.s, "spheres",
	          record_pack("[s,f,f,f,f]", kind->name, counts, pstd[0], pstd[1], pstd[2]));
	st = cmd_write(m->d.s.c, kind->file, &x);
done:
	free(y);
	iso_array_free(&x);
	return st ? st : study_poll(&m->d.s);
}

static int spheres(struct meng *m)
{
	json_t *pstds = json_object();
	int st = two_spheres(m, pstds, &kinds[0]);

	if (!st) st = two_spheres(m, pstds, &kinds[1]);
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
	json_t *list = measure_rods_json(rods);
	int st = measure_rods_boxes(&boxes, rods);

	for (int i = 0; i < rods->n; i++)
		study_row(s, "rods",
		          json_pack("[O,b]", json_array_get(list, (size_t)i), rods->group[i].diameter > 1.1));
	study_result(s, "derenzo",
	             record_pack("{s:f, s:i, s:o}", "events", counts, "iterations",
	                         m->scale->derenzo_iterations, "rods", list));
	return st ? st
	          : study_picture(s, "boxes", &boxes, "Widths of rods, mm", "boxes and whiskers",
	                          "quartiles and extremes for each diameter, at a half and at a tenth of "
	                          "the height");
}

static int derenzo(struct meng *m)
{
	const struct dual_view view = { "derenzo_picture", "Derenzo", "slice across y", .reach = 18 };
	const double counts = meng_counts_here(m, 1.4e7);
	const struct dual_scan scan = { "derenzo-meng", NULL, counts, 0, MENG_SEED + 20 };
	struct iso_rods rods = { .size = sizeof rods };
	struct iso_array x = { 0 };
	iso_phantom *p = NULL;
	iso_real *y = NULL;
	int st;

	if ((st = iso_phantom_create(&p, "derenzo-meng", NULL))) goto done;
	if ((st = dual_scan(&y, NULL, &m->d, &scan))) goto done;
	if ((st = dual_recon(&x, NULL, &m->d.model, m->scale->derenzo_iterations, y, NULL))) goto done;
	if ((st = iso_measure_rods(&rods, &x, p, 2 * DUAL_SLICES))) goto done;
	if ((st = dual_draw(&m->d, &x, &view)) || (st = tell_rods(m, &rods, counts))) goto done;
	if ((st = draw_profiles(m, &x))) goto done;
	st = cmd_write(m->d.s.c, "derenzo.nii", &x);
done:
	free(y);
	iso_phantom_free(p);
	iso_array_free(&x);
	return st;
}

/* ---- point source ---- */

/* FWHM: mean of x and z. */
static int one_point(struct iso_array *x, double *fwhm, double *seconds, struct meng *m, int k,
                     struct dual_model *p, const iso_real *y)
{
	const struct iso_fwhm at = { .at = { POINT, POINT, POINT }, .window = 16 };
	const struct dual_view view = { "point_pictures",
		                        k ? "OSEM, 10 subsets, 1 iteration" : "MLEM, 10 iterations",
		                        "slice across y", .half = 1, .reach = 10 };
	struct dual_times t;
	struct iso_width w[3];
	int st;

	if ((st = dual_recon(x, NULL, p, k ? 1 : 10, y, NULL))) return st;
	if ((st = dual_time(&t, p, DUAL_ITERATION, m->scale->repeats))) return st;
	if ((st = iso_measure_fwhm(w, x, &at))) return st;
	*seconds = t.iteration;
	*fwhm = (w[0].fwhm + w[2].fwhm) / 2;
	if ((st = dual_draw(&m->d, x, &view))) return st;
	return cmd_write(m->d.s.c, k ? "point-osem.nii" : "point-mlem.nii", x);
}

static int point(struct meng *m)
{
	const double at[3] = { POINT, POINT, POINT }, counts = meng_counts_here(m, 1e6);
	const struct dual_scan scan = { "point", at, counts, 0, MENG_SEED + 30 };
	struct iso_array x[2] = { { 0 }, { 0 } };
	struct dual_model osem = { 0 };
	double fwhm[2], seconds[2];
	iso_real *y = NULL;
	struct iso_diff diff = { .size = sizeof diff };
	int st;

	if ((st = dual_scan(&y, NULL, &m->d, &scan))) goto done;
	if ((st = one_point(&x[0], &fwhm[0], &seconds[0], m, 0, &m->d.model, y))) goto done;
	if ((st = dual_model_open(&osem, &m->d, m->d.s.fast, SRM_CORRELATION, 10))) goto done;
	if ((st = one_point(&x[1], &fwhm[1], &seconds[1], m, 1, &osem, y))) goto done;
	if ((st = iso_measure_diff(&diff, x[0].n, x[1].v, x[0].v))) goto done;
	study_result(&m->d.s, "point",
	             record_pack("{s:f, s:o, s:o, s:f}", "events", counts, "fwhm_mm", record_reals(2, fwhm),
	                         "iteration_s", record_reals(2, seconds), "diff_percent", diff.percent));
done:
	free(y);
	dual_model_close(&osem);
	iso_array_free(&x[0]);
	iso_array_free(&x[1]);
	return st;
}

/* ---- mouse, by every strategy ---- */

enum { WAYS = 2 * SRM_STRATEGIES }; /* strategies on the CPU, then on CUDA */

/* NaN: not measured. */
struct way {
	double tbr, diff; /* diff%: against `combined` on the CPU */
	struct dual_times times;
};

static int image_of_way(struct meng *m, struct way *w, struct dual_model *p, struct iso_array *first,
                        const iso_real *y)
{
	const struct iso_roi tumour = { ISO_ROI_SPHERE, { 10, 0, 12 }, .radius = 2.5 };
	const struct iso_roi muscle = { ISO_ROI_SPHERE, { 0, -6, -2 }, .radius = 3 };
	const struct dual_view view = { "mouse_picture", "Mouse", .alt = "coronal slice, nose to the right" };
	struct iso_array x = { 0 };
	struct iso_diff diff = { .size = sizeof diff };
	int st;

	if ((st = dual_recon(&x, NULL, p, 10, y, NULL))) goto done;
	if ((st = iso_measure_tbr(&w->tbr, &x, &tumour, &muscle))) goto done;
	if ((st = iso_measure_diff(&diff, x.n, x.v, first->v ? first->v : x.v))) goto done;
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
	iso_ctx *ctx = k < SRM_STRATEGIES ? m->d.s.cpu : m->d.s.cuda;
	struct dual_model p = { 0 };
	int st;

	*w = (struct way){ NAN, NAN, DUAL_NO_TIMES };
	if (!ctx) return ISO_OK;
	if ((st = dual_model_open(&p, &m->d, ctx, (enum srm_strategy)(k % SRM_STRATEGIES), 1))) goto done;
	if ((st = dual_time(&w->times, &p, DUAL_ALL | DUAL_ITERATION, m->scale->repeats))) goto done;
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
	bool told[SRM_STRATEGIES] = { false };

	for (int n = 0; n < SRM_STRATEGIES; n++) {
		int best = -1;

		for (int k = 0; k < SRM_STRATEGIES; k++)
			if (!told[k] && (best < 0 || both(&w[k]) < both(&w[best]))) best = k;
		told[best] = true;
		study_row(&m->d.s, list,
		          json_pack("{s:s, s:b}", "name", srm_strategy_name[best], "more", n > 0));
	}
}

static void tell_ways(struct meng *m, const struct way w[WAYS])
{
	json_t *rows = json_array();

	for (int k = 0; k < WAYS; k++) {
		const bool cuda = k >= SRM_STRATEGIES;
		json_t *row =
			record_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f}", "device", cuda ? "cuda" : "cpu",
		                    "strategy", srm_strategy_name[k % SRM_STRATEGIES], "tbr", w[k].tbr,
		                    "diff_percent", w[k].diff, "forward_s", w[k].times.forward, "back_s",
		                    w[k].times.back, "iteration_s", w[k].times.iteration);

		json_array_append(rows, row);
		study_row(&m->d.s, "ways", record_pack("[s,f,o]", cuda ? "CUDA" : "CPU", both(&w[k]), row));
	}
	study_result(&m->d.s, "tables_3_and_4", rows);
	tell_order(m, "cpu_order", w);
	if (m->d.s.cuda) tell_order(m, "cuda_order", w + SRM_STRATEGIES);
}

/* First the reference: `combined` on the CPU, whose sums are in double. */
static int mouse(struct meng *m)
{
	static const int order[WAYS] = { SRM_COMBINED, SRM_CORRELATION, SRM_ROW, SRM_COLUMN, 4, 5, 6, 7 };
	const double counts = meng_counts_here(m, 8.5e7);
	const struct dual_scan scan = { "mouse", NULL, counts, 0, MENG_SEED + 40 };
	struct iso_array first = { 0 };
	struct dual_ladder l;
	struct way way[WAYS];
	iso_real *y = NULL;
	int st = dual_scan(&y, NULL, &m->d, &scan);

	for (int k = 0; k < WAYS && !st; k++) st = one_way(m, &way[order[k]], order[k], &first, y);
	if (!st) tell_ways(m, way);
	if (!st && !(st = dual_ladder(&l, &m->d, m->scale->repeats)) && !isnan(l.columns[0]))
		study_show(&m->d.s, "variants",
		           record_pack("[f,f,f,f]", l.step[3], l.step[2], l.columns[0], l.columns[1]));
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

	for (int k = 0; k < 5 && !st; k++)
		if (!(st = study_stage(&m->d.s, steps[k].stage))) st = steps[k].run(m);
	return st;
}

const struct paper paper_meng = { template, outputs, sizeof(struct meng), plan, run, dual_release, 0 };
