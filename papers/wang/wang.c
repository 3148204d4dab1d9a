/* SPDX-License-Identifier: BSD-3-Clause */
/* The experiments of Wang 2013 in turn, and Table I: seconds of FBP, and of one iteration (H and its
   adjoint) of PLS-Int and PLS-Sph. On the CPU a few transducers, spread over the array, stand for all of
   them: time grows with their number, as the paper itself assumes. */
#include "wang.h"

#include "file/out.h"
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
	{ &tiny_grid, tiny_arrays, 1, 2, 6, .32, 3, &tiny_grid, tiny_arrays, 2 },
	{ &small_grid, small_arrays, 1, 2, 2.4, .916, 20, &paper_grid, paper_arrays, 1 },
	{ &paper_grid, paper_arrays, 5, 10, 0, 5, 20, &paper_grid, paper_arrays, 2 },
};

static const char outputs[] =
	"nine-spheres.nii fbp-all.nii fbp-half.nii int-half.nii sph-half.nii fbp-quarter.nii "
	"int-quarter.nii sph-quarter.nii fbp-eighth.nii int-eighth.nii sph-eighth.nii vessels.nii "
	"eir.npy vessels-fbp-full.nii vessels-int-full.nii vessels-sph-full.nii vessels-fbp-quarter.nii "
	"vessels-int-quarter.nii vessels-sph-quarter.nii";

static bool wants(const struct wang *w, const char *part)
{
	return !w->s.only || strcmp(w->s.only, part) == 0;
}

/* ---- Table I ---- */

/* Seconds of the whole array, in the order of enum wang_method; NaN: not measured. */
struct row {
	double cpu[WANG_METHODS], cuda[WANG_METHODS];
	int64_t part; /* transducers that the CPU was timed with */
};

struct run {
	iso_op *op;
	iso_real *x, *y;
	bool fbp;
};

static int once(void *arg)
{
	const struct run *r = arg;
	int st = r->fbp ? ISO_OK : iso_forward(r->y, r->op, ISO_ALL, r->x);

	return st ? st : iso_adjoint(r->x, r->op, ISO_ALL, r->y);
}

/* On CUDA after a warm-up. */
static int time_method(double *seconds, const struct wang *w, iso_ctx *ctx, const struct iso_transducers *t,
                       enum wang_method method)
{
	const struct wang_problem p = { .method = method, .t = t, .grid = *w->scale->times_grid };
	const int warm = iso_ctx_is_cuda(ctx);
	struct iso_room room = iso_room_of(ctx, "reproduce");
	struct run r = { .fbp = method == WANG_FBP };
	double s[2];
	int st = wang_op(&r.op, NULL, ctx, &p);

	if (st) goto done;
	ISO_DEVICE(&room, r.x, iso_op_n_in(r.op));
	ISO_DEVICE(&room, r.y, iso_op_n_out(r.op));
	if ((st = room.status)) goto done;
	if ((st = iso_ctx_vec(ctx)->fill(ctx, iso_op_n_in(r.op), r.x, 1))) goto done;
	if ((st = bench_repeat(warm + 1, s, &(struct bench_work){ ctx, r.x, once, &r, NULL }))) goto done;
	*seconds = s[warm];
done:
	iso_room_free(&room);
	iso_op_free(r.op);
	return st ? st : study_poll(&w->s);
}

/* Spread over the array. */
static int64_t evenly(int64_t i, int64_t n, int64_t all)
{
	return (2 * i + 1) * all / (2 * n);
}

static void tell(struct wang *w, json_t *rows, const struct row *row, const char *data, const char *name,
                 int64_t transducers)
{
	json_t *s[2];

	for (int k = 0; k < 2; k++) {
		const double *v = k ? row->cuda : row->cpu;

		s[k] = record_pack("{s:f, s:f, s:f}", "fbp", v[0], "int", v[1], "sph", v[2]);
	}
	study_row(&w->s, "times",
	          json_pack("[s,I,O,O,I]", name, (json_int_t)transducers, s[0], s[1], (json_int_t)row->part));
	json_array_append_new(rows, json_pack("{s:s, s:I, s:I, s:o, s:o}", "data", data, "transducers",
	                                      (json_int_t)transducers, "cpu_part", (json_int_t)row->part,
	                                      "cpu_s", s[0], "cuda_s", s[1]));
}

/* Rows of one array, thinned out; the first of the study has FBP alone, as in the paper. */
static int time_array(json_t *rows, struct wang *w, const struct wang_array *a, int n, const int every[][2])
{
	static const char *const scans[][2] = { { "full", "full data" }, { "quarter", "quarter data" } };
	const bool study = n == WANG_SETS;
	iso_ctx *cpu = w->s.cpu;
	int st = ISO_OK;

	for (int k = 0; k < n && !st; k++) {
		struct row row = { { NAN, NAN, NAN }, { NAN, NAN, NAN }, 0 };
		const int methods = study && k == 0 ? 1 : WANG_METHODS;
		struct iso_transducers t = { 0 }, few = { 0 };

		if (!(st = wang_transducers(&t, a, every[k]))) st = wang_transducers(&few, a, every[k]);
		if (!st) bench_pick(&few, w->scale->part * iso_ctx_threads(cpu), evenly);
		row.part = few.n;
		for (int m = 0; m < methods && !st; m++) {
			st = time_method(&row.cpu[m], w, cpu, &few, (enum wang_method)m);
			row.cpu[m] *= (double)t.n / (double)few.n;
			if (!st && w->s.cuda)
				st = time_method(&row.cuda[m], w, w->s.cuda, &t, (enum wang_method)m);
		}
		tell(w, rows, &row, study ? wang_set_name(a, every[k], "x") : scans[k][0],
		     study ? wang_set_name(a, every[k], " \u00d7 ") : scans[k][1], t.n);
		iso_transducers_free(&t);
		iso_transducers_free(&few);
	}
	return st;
}

static int times(struct wang *w)
{
	const struct wang_scale *c = w->scale;
	const int64_t *n = c->times_grid->n;
	json_t *rows = json_array();
	int st = time_array(rows, w, &c->times_arrays[0], WANG_SETS, wang_every);

	if (!st) st = time_array(rows, w, &c->times_arrays[1], WANG_SCANS, wang_scan_every);
	study_show(&w->s, "times_grid",
	           json_pack("[I,I,I,I]", (json_int_t)n[0], (json_int_t)n[1], (json_int_t)n[2],
	                     (json_int_t)c->times_arrays[0].samples));
	study_result(&w->s, "table_1", rows);
	return st;
}

/* ---- before the work ---- */

/* PLS-Sph of the experiment on full data; or of Table I, on the CPU with a few transducers. */
static int plan_sph(struct iso_plan *lines, const struct wang *w, bool times)
{
	const struct wang_scale *s = w->scale;
	iso_ctx *ctx = w->s.c->ctx;
	const bool cuda = iso_ctx_is_cuda(ctx);
	struct iso_transducers t = { 0 };
	struct iso_svoxel sph = { .size = sizeof sph, .t = &t, .sir = ISO_SIR_RECT };
	int st = wang_transducers(&t, times ? &s->times_arrays[1] : &s->arrays[1], wang_scan_every[0]);

	sph.grid = times ? *s->times_grid : *s->grid;
	if (!st && times && !cuda) bench_pick(&t, s->part * iso_ctx_threads(ctx), evenly);
	if (st || (st = iso_svoxel_lines(&sph, times ? 0 : s->fmax_mhz))) goto done;
	const int64_t voxels = iso_grid_voxels(&sph.grid), rows = 2 * t.n * sph.lines;

	iso_plan_add(lines, times ? "image" : "images", voxels, (times ? 1 : 3) * sizeof(iso_real),
	             times && cuda);
	if (times)
		iso_plan_add(lines, "data", rows, sizeof(iso_real), cuda);
	else
		iso_plan_add(lines, "traces", t.n * t.samples, 3 * sizeof(iso_real), false);
	if (!times) iso_cg_plan(lines, ctx, voxels, rows, true);
	iso_svoxel_plan(lines, ctx, &sph);
done:
	iso_transducers_free(&t);
	return st;
}

/* Of the parts asked for, the one that takes most; the study takes less than the experiment. */
static int plan(void *state)
{
	struct wang *w = state;
	struct iso_plan scan = { 0 }, times = { 0 };
	int64_t host[2], device[2];
	int st = ISO_OK;

	w->scale = &scales[w->s.scale];
	if (wants(w, "study") || wants(w, "experiment")) st = plan_sph(&scan, w, false);
	if (!st && wants(w, "times")) st = plan_sph(&times, w, true);
	iso_plan_total(&host[0], &device[0], &scan);
	iso_plan_total(&host[1], &device[1], &times);
	if (!st) st = cmd_plan(w->s.c, host[1] > host[0] || device[1] > device[0] ? &times : &scan);
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
		{ "table 1", wants(w, "times"), times },
	};
	const struct wang_array *a = w->scale->arrays;
	int st = iso_target_check("experiment.yaml", w->s.c->force);

	if (!st && w->s.msot) st = cmd_check_output(w->s.c, "msot.nii");
	if (!st) st = write_scanner("scanner.yaml", "Wang 2013, numerical study", &a[0], "");
	if (!st)
		st = write_scanner("experiment.yaml", "Wang 2013, experiment", &a[1],
		                   "aperture_mm: [2, 2]\neir: eir.npy\n");
	study_show(&w->s, "fmax_mhz", record_real(w->scale->fmax_mhz));
	study_show(&w->s, "iterations", json_integer(w->scale->iterations));
	for (int k = 0; k < 4 && !st; k++)
		if (!(st = study_stage(&w->s, steps[k].stage)) && steps[k].wanted) st = steps[k].run(w);
	return st;
}

const struct paper paper_wang = { template, outputs, sizeof(struct wang), plan, run, NULL, STUDY_PARTS };
