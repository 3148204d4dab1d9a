/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Chou et al. 2012, "Accelerating image reconstruction in dual-head PET system by
   GPU and symmetry properties", measured with Isotome: the Derenzo phantom (Figures 7 to 9), a rat,
   Tables 1 to 3. The paper's axes (x, y, z) are (y, x, z) here. */
#include "papers/dual/dual.h"

#include "cmd/measure/measure.h"
#include "core/philox.h"

#include <stdlib.h>

#define SEED 200
#define DEAL 7     /* seed of the random deal of directions to subsets */
#define DERENZO 18 /* mm of it that pictures show */
#define RANDOMS .2 /* of the rat's trues; the paper does not tell */

enum {
	SUBSETS = 72,
	SHOWN = 2,          /* images: after 1 and after 24 iterations */
	LINES = 2,          /* profiles */
	RAT_ITERATIONS = 2, /* the paper does not tell */
};

static const int shown[SHOWN] = { 1, 24 };
static const double lines[LINES] = { 11.7, -2.7 }; /* x, mm */

static const char template[] =
#include "embedded/chou.html.h"
	;
static const char full_scanner[] =
#include "embedded/chou2012.yaml.h"
	;

#define SMALLER                                                                              \
	"gap_mm: 44\nmaterial: {formula: Lu2SiO5, density: 7.4}\nvoxels_per_pitch: [4, 4]\n" \
	"planes: 11\nplane_mm: 4\nenergy: {resolution: 0.20, window_kev: [350, 750]}\n"      \
	"time: {fwhm_ns: 1.5, coincidence_ns: 6}\n"

static const char small_scanner[] =
	"# A scaled-down Chou 2012.\nkind: panels\nname: Chou 2012, small\ncrystals: [48, 20]\n"
	"pitch_mm: [2.4, 2.4]\ncrystal_mm: [2.1, 2.1, 10]\n" SMALLER;
static const char tiny_scanner[] =
	"# A rehearsal of Chou 2012.\nkind: panels\nname: Chou 2012, tiny\ncrystals: [12, 6]\n"
	"pitch_mm: [9.6, 9.6]\ncrystal_mm: [8.4, 8.4, 10]\n" SMALLER;

static const struct scale {
	const char *scanner;
	double pairs, share;
	double factor, rat_factor; /* counts over those of the paper */
	bool row_on_cpu;           /* all its subsets */
} scales[] = {
	/* in the order of enum study_scale */
	{ tiny_scanner, 1e4, .8, 1e-4, 5e-5, true },
	{ small_scanner, 5e5, .6, .01, .002, true },
	{ full_scanner, 5e7, .8, 1, 1, false },
};

static const char outputs[] = "derenzo-1.nii derenzo-24.nii rat.nii";

struct chou {
	struct dual d;
	const struct scale *scale;
	struct iso_array x; /* the image of the Derenzo phantom */
	const iso_phantom *phantom;
	struct iso_rods rods[SHOWN];
	double place[DUAL_SAMPLES], profile[1 + SHOWN][LINES][DUAL_SAMPLES]; /* the truth's first */
};

/* ---- Derenzo: H f and Poisson noise ---- */

/* Along z at the paper's two heights. */
static int take_profiles(struct chou *m, int which, const struct iso_array *x)
{
	int st = ISO_OK;

	for (int k = 0; k < LINES && !st; k++)
		st = dual_profile(m->profile[which][k], m->place, x, lines[k], 15);
	return st;
}

static bool wants(void *arg, int iteration)
{
	(void)arg;
	return iteration == shown[0] || iteration == shown[1];
}

static int each(void *arg, int iteration, const iso_real *v)
{
	const int k = iteration == shown[1];
	const struct dual_view view = { "derenzo_pictures", k ? "After 24 iterations" : "After 1 iteration",
		                        "slice across y", .reach = DERENZO };
	struct chou *m = arg;
	struct iso_array x = m->x;
	int st;

	x.v = (iso_real *)v;
	m->rods[k].size = sizeof m->rods[k];
	if ((st = iso_measure_rods(&m->rods[k], &x, m->phantom, 2 * DUAL_SLICES))) return st;
	if ((st = dual_draw(&m->d, &x, &view)) || (st = take_profiles(m, k + 1, &x))) return st;
	return cmd_write(m->d.s.c, study_text("derenzo-%d.nii", iteration), &x);
}

static json_t *rods_of(json_t *images, int k, int size)
{
	return json_array_get(json_object_get(json_array_get(images, (size_t)k), "rods"), (size_t)size);
}

static void tell_derenzo(struct chou *m, double counts, double seconds)
{
	json_t *images = json_array();
	struct study *s = &m->d.s;

	for (int k = 0; k < SHOWN; k++)
		json_array_append_new(images, json_pack("{s:i, s:o}", "iterations", shown[k], "rods",
		                                        measure_rods_json(&m->rods[k])));
	for (int i = 0; i < m->rods[0].n; i++)
		study_row(s, "rods", json_pack("[O,O]", rods_of(images, 0, i), rods_of(images, 1, i)));
	for (int k = 0; k < LINES; k++) {
		const struct iso_svg_curve curve[] = {
			{ "Phantom", 0, DUAL_SAMPLES, m->place, m->profile[0][k] },
			{ "1 iteration", 1, DUAL_SAMPLES, m->place, m->profile[1][k] },
			{ "24 iterations", 2, DUAL_SAMPLES, m->place, m->profile[2][k] },
		};

		study_chart(s, k ? "line_1" : "line_0", "Profile along z", "z, mm", "over its mean", 3,
		            curve);
	}
	study_result(s, "derenzo",
	             record_pack("{s:f, s:i, s:f, s:o}", "counts", counts, "subsets", SUBSETS, "iteration_s",
	                         seconds, "images", images));
}

/* y = Poisson numbers around the expected counts H f, brought to `total`. */
static int project(iso_real *y, const struct dual *d, const struct iso_array *activity, double total)
{
	struct dual_model m = { 0 };
	iso_real *sorted = NULL;
	double sum = 0;
	int st;

	if ((st = dual_model_open(&m, d, d->s.fast, SRM_CORRELATION, 1))) return st;
	if (!(st = STUDY_NEW(sorted, d->lors)) && !(st = study_apply(sorted, m.op, false, activity->v)))
		iso_op_unsort(y, m.op, sorted);
	free(sorted);
	dual_model_close(&m);
	for (int64_t i = 0; i < d->lors; i++) sum += y[i];
	if (!st && !(sum > 0))
		st = iso_fail(ISO_EINPUT, "reproduce: the phantom is out of the scanner's view");
	for (int64_t i = 0; i < d->lors && !st; i++)
		y[i] = (iso_real)iso_poisson(y[i] / sum * total, SEED, (uint64_t)i);
	return st;
}

static int derenzo(struct chou *m)
{
	const struct iso_run run = { .size = sizeof run, .each = each, .wants = wants, .arg = m };
	const double counts = 1.72e8 * m->scale->factor;
	struct iso_array truth = { 0 };
	iso_phantom *p = NULL;
	iso_real *y = NULL;
	double seconds;
	int st;

	if ((st = iso_phantom_create(&p, "derenzo-chou", NULL))) goto done;
	m->phantom = p;
	if ((st = dual_phantom(&truth, &m->d, "derenzo-chou", NULL))) goto done;
	if ((st = take_profiles(m, 0, &truth)) || (st = STUDY_NEW(y, m->d.lors))) goto done;
	if ((st = project(y, &m->d, &truth, counts))) goto done;
	if (!(st = dual_recon(&m->x, &seconds, &m->d.model, shown[SHOWN - 1], y, &run)))
		tell_derenzo(m, counts, seconds);
done:
	free(y);
	iso_phantom_free(p);
	iso_array_free(&truth);
	iso_array_free(&m->x);
	return st;
}

/* ---- rat: prompts less delayed ---- */

static int rat(struct chou *m)
{
	const struct iso_roi tumour = { ISO_ROI_SPHERE, { 0, -4, 14 }, .radius = 2.5 };
	const struct iso_roi muscle = { ISO_ROI_SPHERE, { -15, -8, 0 }, .radius = 5 };
	const struct dual_view view = { "rat_picture", "Rat", "coronal slice, nose up", .half = 4 };
	const double trues = 4.6e8 * m->scale->rat_factor, randoms = RANDOMS * trues;
	const struct dual_scan scan = { "rat", NULL, trues, randoms, SEED + 1 };
	iso_real *y = NULL, *delayed = NULL;
	struct iso_array x = { 0 };
	double counts = 0, seconds, tbr;
	int st;

	if ((st = dual_scan(&y, &delayed, &m->d, &scan))) goto done;
	for (int64_t i = 0; i < m->d.lors; i++) {
		y[i] = y[i] > delayed[i] ? y[i] - delayed[i] : 0;
		counts += y[i];
	}
	if ((st = dual_recon(&x, &seconds, &m->d.model, RAT_ITERATIONS, y, NULL))) goto done;
	if ((st = iso_measure_tbr(&tbr, &x, &tumour, &muscle))) goto done;
	if ((st = dual_draw(&m->d, &x, &view))) goto done;
	study_result(&m->d.s, "rat",
	             record_pack("{s:f, s:f, s:f, s:f, s:f}", "trues", trues, "randoms", randoms, "counts",
	                         counts, "iteration_s", seconds, "tbr", tbr));
	st = cmd_write(m->d.s.c, "rat.nii", &x);
done:
	free(y);
	free(delayed);
	iso_array_free(&x);
	return st;
}

/* ---- Tables 1 to 3 ---- */

/* The projector of the images is there already. On the CPU at full scale `row` takes minutes an
   iteration: one subset of it. */
static int one_way(struct dual_times *t, struct chou *m, iso_ctx *ctx, enum srm_strategy strategy)
{
	bool same = ctx == m->d.s.fast && strategy == SRM_CORRELATION;
	bool one = ctx == m->d.s.cpu && strategy == SRM_ROW && !m->scale->row_on_cpu;
	struct dual_model own = { 0 };
	int st = same ? ISO_OK : dual_model_open(&own, &m->d, ctx, strategy, SUBSETS);

	if (!st) st = dual_time(t, same ? &m->d.model : &own, DUAL_SUBSET | (one ? 0 : DUAL_ALL), 1);
	dual_model_close(&own);
	return st ? st : study_poll(&m->d.s);
}

static int tables(struct chou *m)
{
	static const struct {
		bool cuda;
		enum srm_strategy strategy;
	} way[] = {
		{ false, SRM_ROW },     { false, SRM_CORRELATION }, { true, SRM_ROW },
		{ true, SRM_COMBINED }, { true, SRM_CORRELATION },
	};
	struct study *s = &m->d.s;
	struct dual_ladder ladder;
	json_t *rows = json_array();
	int st = ISO_OK;

	for (int k = 0; k < 5 && !st; k++) {
		iso_ctx *ctx = way[k].cuda ? s->cuda : s->cpu;
		struct dual_times t = DUAL_NO_TIMES;

		if (ctx) st = one_way(&t, m, ctx, way[k].strategy);
		json_array_append_new(rows,
		                      record_pack("{s:s, s:s, s:f, s:f, s:f, s:f}", "device",
		                                  way[k].cuda ? "CUDA" : "CPU", "strategy",
		                                  srm_strategy_name[way[k].strategy], "forward_subset_s",
		                                  t.forward_sub, "forward_s", t.forward, "back_subset_s",
		                                  t.back_sub, "back_s", t.back));
	}
	study_result(s, "tables_2_and_3", rows);
	if (!st && !(st = dual_ladder(&ladder, &m->d, 1)))
		study_result(s, "table_1_s", record_reals(ISO_SRM_STEPS, ladder.step));
	return st;
}

/* ---- all of it ---- */

static int make_matrix(struct chou *m)
{
	struct iso_srm_info i = { .size = sizeof i };
	int st = dual_simulate(&m->d, m->scale->pairs, m->scale->share);

	if (st || (st = iso_srm_info(&i, m->d.srm))) return st;
	study_show(&m->d.s, "matrix",
	           record_pack("{s:f, s:i, s:f, s:f, s:f, s:f}", "pairs", (double)i.pairs, "voxels", i.voxels,
	                       "seconds", m->d.matrix_s, "elements", (double)i.elements / (double)i.columns,
	                       "kept", i.kept, "core", i.core_counts));
	return ISO_OK;
}

static int plan(void *state)
{
	struct chou *m = state;

	m->scale = &scales[m->d.s.scale];
	m->d.deal = DEAL;
	return dual_plan(m->d.s.c, m->scale->scanner, SUBSETS, 8);
}

static int run(void *state)
{
	struct chou *m = state;
	struct study *s = &m->d.s;
	int st;

	if ((st = dual_open(&m->d, m->scale->scanner))) return st;
	if ((st = study_stage(s, "matrix")) || (st = make_matrix(m))) return st;
	if ((st = study_stage(s, "projector"))) return st;
	if ((st = dual_model_open(&m->d.model, &m->d, s->fast, SRM_CORRELATION, SUBSETS))) return st;
	if ((st = study_stage(s, "derenzo")) || (st = derenzo(m))) return st;
	if ((st = study_stage(s, "rat")) || (st = rat(m))) return st;
	return (st = study_stage(s, "tables 1 to 3")) ? st : tables(m);
}

const struct paper paper_chou = { template, outputs, sizeof(struct chou), plan, run, dual_release, 0 };
