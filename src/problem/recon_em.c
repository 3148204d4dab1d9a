/* SPDX-License-Identifier: BSD-3-Clause */
/* Reconstruction from counts: sensitivity once, then each frame of the scan; the updates are the method's. */
#include "problem.h"

#include "text/json_file.h"
#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"
#include "file/out.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

struct em {
	struct recon r;
	struct recon_map map;         /* of penalised likelihood and kernel EM */
	struct iso_array start, sens; /* of every frame; sens: with the PSF */
	struct iso_array plain;       /* where rounds need it: without */
	bool start_in_unit;           /* start: in the unit of the image; else in counts/mm */
	/* the frame under way */
	struct model_frame frame;
	struct iso_array scaled; /* the sensitivity times the frame's factor */
	iso_real *parts;         /* the same of each subset; NULL: 1/K of it */
	double activity;         /* sum of image times sensitivity */
	/* the frames of a series behind us */
	iso_series *kept;              /* their images; NULL: not open yet */
	bool found;                    /* those of an earlier run, so far */
	struct replicated *replicated; /* NULL: no replicates are wanted */
	struct totals {
		int64_t used, skipped, unsaved;
		double lost;
		int iterations;         /* of the frame with the most */
		int empty, first_empty; /* frames without events */
		bool counts, factors;   /* the data have them */
	} sum;
};

/* Whether the rows are all that could be measured: then each subset has a sensitivity of its own. */
static bool by_subset(const struct em *e)
{
	return e->r.m->sens_of_subsets && !e->r.s->sens && !e->r.problem->found.sens_of_pairs;
}

static bool needs_rounds(const struct em *e)
{
	return e->r.m->needs_rounds && e->r.m->needs_rounds(e->r.problem);
}

/* ---- before the work ---- */

static int plan(const struct em *e)
{
	const struct settings *s = e->r.s;
	const struct model *m = e->r.m;
	const struct model_found *is = &e->r.problem->found;
	int64_t n = iso_grid_voxels(&e->r.grid), rows = is->on_disk ? 0 : is->rows - is->elsewhere;
	struct iso_plan p = problem_plan_begin(e->r.problem);

	iso_plan_add(&p, "image, start and sensitivity", n, 5 * sizeof(iso_real), false);
	if (s->frames.series)
		iso_plan_add(&p, "results of all frames", s->frames.n, 512 + 128 * s->iterations * s->subsets,
		             false);
	if (!s->frames.all)
		iso_plan_add(&p, "events of a frame", rows, sizeof(struct iso_event) + 3 * 8, false);
	iso_plan_add(&p, "factors", rows, 3 * sizeof(iso_real), false);
	iso_plan_add(&p, "log-likelihoods", s->iterations * s->subsets, sizeof(double), false);
	if (problem_has_psf(e->r.problem)) {
		iso_psf_plan(&p, e->r.ctx, &e->r.grid);
		if (e->r.problem->found.cut) iso_plan_add(&p, "field of view", n, sizeof(iso_real), false);
	}
	if (s->filter_text) {
		iso_plan_add(&p, "voxels that are seen", n, sizeof(iso_real), iso_ctx_is_cuda(e->r.ctx));
		iso_filter_plan(&p, e->r.ctx, &s->filter, &e->r.grid);
	}
	sens_floor_plan(&p, s, &e->r.grid);
	if (needs_rounds(e)) iso_plan_add(&p, "sensitivity without PSF", n, sizeof(iso_real), false);
	if (by_subset(e))
		iso_plan_add(&p, "sensitivities of the subsets", n, s->subsets * (int64_t)sizeof(iso_real),
		             false);
	if (s->kinetics.model)
		kinetics_plan(&e->r, &p, rows);
	else
		replicates_plan(&e->r, &p, rows);
	s->how->plan(&e->r, &e->map, &p, rows, m->by_events || by_subset(e) ? (int)s->subsets : 1);
	m->plan(e->r.problem, &p, &s->by);
	int st = m->way ? m->way(e->r.problem, &p) : ISO_OK;

	if (!st) return problem_plan_end(e->r.problem, &p);
	iso_plan_free(&p);
	return st;
}

/* ---- the sensitivity ---- */

/* 'sens': a file, or none. */
static int given_sens(struct em *e)
{
	const char *path = e->r.s->sens;
	int st;

	if (strcmp(path, "none") == 0) {
		record_warn(e->r.record, "'sens' none: the image is not corrected for sensitivity");
		st = iso_array_on_grid(&e->sens, &e->r.grid);
		for (int64_t i = 0; !st && i < e->sens.n; i++) e->sens.v[i] = 1;
		return st;
	}
	if ((st = record_read_image(e->r.record, &e->sens, path, ISO_NONNEGATIVE, &e->r.grid))) return st;
	if ((st = recon_compare_sens(e->r.record, path))) return st;
	return record_input(e->r.record, path);
}

static int make_parts(struct em *e)
{
	int64_t n = iso_grid_voxels(&e->r.grid), all;

	if (size_mul(&all, n, e->r.s->subsets) && (e->parts = size_alloc(all, sizeof *e->parts)))
		return ISO_OK;
	return iso_fail_memory("sensitivities of the subsets", n * (int64_t)sizeof *e->parts);
}

/* Of models whose subsets see voxels differently. The operator holds the PSF already. */
static int sum_of_subsets(struct em *e)
{
	int st;

	if ((st = iso_array_on_grid(&e->sens, &e->r.grid)) || (st = make_parts(e))) return st;
	st = e->r.m->sens_of_subsets(e->r.problem, e->parts, e->r.op);
	for (int64_t i = 0; i < e->sens.n * e->r.s->subsets && !st; i++)
		e->sens.v[i % e->sens.n] += e->parts[i];
	return st;
}

static int keep_plain(struct em *e)
{
	int st = iso_array_on_grid(&e->plain, &e->r.grid);

	struct sens_floor floor = { .share = e->r.s->sens_floor };

	if (!st) memcpy(e->plain.v, e->sens.v, (size_t)e->sens.n * sizeof *e->sens.v);
	if (!st && floor.share > 0) st = sens_floor_find(&floor, e->plain.v, &e->r.grid);
	if (!st) sens_floor_clear(&floor, e->plain.v, 1, e->plain.n);
	sens_floor_free(&floor);
	return st;
}

/* No activity in voxels that hardly any line crosses. */
static int apply_floor(struct em *e)
{
	int st = recon_floor(&e->r, &e->sens);

	if (!st && e->parts) sens_floor_clear(&e->r.floor, e->parts, e->r.s->subsets, e->sens.n);
	return st;
}

/* K* S. The kernel takes the sensitivity of other voxels into those that are cut: they are cleared once more. */
static int sens_of_kernel(struct em *e)
{
	int st = apply_floor(e);

	if (!st) st = kernel_apply(&e->r, e->sens.v, e->sens.v, true);
	if (!st) sens_floor_clear(&e->r.floor, e->sens.v, 1, e->sens.n);
	return st;
}

static int make_sens(struct em *e)
{
	const struct model *m = e->r.m;
	bool given = e->r.s->sens, by_rows = by_subset(e), behind_kernel = e->r.kernel && !by_rows;
	int st;

	record_stage(e->r.record, "sensitivity");
	st = given ? given_sens(e) : by_rows ? sum_of_subsets(e) : m->sens(e->r.problem, &e->sens);
	if (!st && !by_rows && needs_rounds(e)) st = keep_plain(e);
	if (!st && !by_rows) st = problem_blur_sens(e->r.problem, &e->sens);
	if (!st && behind_kernel) st = sens_of_kernel(e);
	if (!st && m->form) st = m->form(e->r.problem, &e->sens, &e->r.weight);
	if (!st && !behind_kernel) st = apply_floor(e);
	for (int64_t i = 0; !st && i < e->sens.n; i++)
		if (e->sens.v[i] > 0) return iso_array_on_grid(&e->scaled, &e->r.grid);
	return st ? st
	          : iso_fail(ISO_EINPUT,
	                     "the sensitivity is 0 in every voxel: does the grid lie in the scanner?");
}

/* The sensitivity of each subset, where their sizes, over all ranks, count. */
static int share_out(struct em *e)
{
	int64_t n = e->scaled.n, subsets = e->r.s->subsets, *rows;
	int st;

	for (int64_t i = 0; e->parts && i < n * subsets; i++)
		e->parts[i] = (iso_real)(e->parts[i] * e->frame.factor);
	if (e->parts || !e->r.m->by_events || e->r.s->how->one_limit) return ISO_OK;
	if ((st = make_parts(e))) return st;
	if (!(rows = size_alloc(subsets + 1, sizeof *rows)))
		return iso_fail_memory("rows of the subsets", (subsets + 1) * (int64_t)sizeof *rows);
	for (int k = 0; k < (int)subsets; k++) rows[subsets] += rows[k] = iso_op_rows(e->r.op, k).n;
	if (e->r.op->rows_split) st = iso_comm_sum(e->r.ctx, ISO_OK, rows, subsets + 1);
	for (int k = 0; k < (int)subsets && !st; k++) {
		double share = (double)rows[k] / (double)rows[subsets];

		for (int64_t i = 0; i < n; i++) e->parts[k * n + i] = (iso_real)(e->scaled.v[i] * share);
	}
	free(rows);
	return st;
}

/* ---- what the record says ---- */

/* A row without counts is skipped and nothing is lost: not a word about it. */
static void warn_of_lost(const struct em *e)
{
	const struct totals *t = &e->sum;
	const char *rows = e->r.m->row_name ? e->r.m->row_name : "events";

	if (!t->counts && t->lost == (double)t->skipped) /* each event is a count */
		record_warn_share(e->r.record, (double)t->skipped, (double)(t->used + t->skipped),
		                  "%" PRId64 " of %" PRId64 " %s meet no activity and are left out",
		                  t->skipped, t->used + t->skipped, rows);
	else
		record_warn(e->r.record, "%.6g counts are of %s that meet no activity%s and are left out",
		            t->lost, rows, t->factors ? ", or have a factor of 0," : "");
}

/* Once for all frames, of which there may be thousands. */
static void warn_of_all(const struct em *e)
{
	const struct totals *t = &e->sum;
	const struct frames *f = &e->r.s->frames;
	double from_s = frames_begin_s(f, t->first_empty), to_s = frames_end_s(f, t->first_empty);

	if (t->unsaved)
		record_note(e->r.record, "%" PRId64 " checkpoints could not be written beside %s", t->unsaved,
		            e->r.s->out);
	if (t->empty > 0 && f->gating.n > 0)
		record_warn(e->r.record,
		            "%d of %d gates have no events: their images are 0; the first is gate %d",
		            t->empty, (int)e->r.n, t->first_empty);
	else if (t->empty == 1)
		record_warn(e->r.record, "frame %d, from %g to %g s, has no events: its image is 0",
		            t->first_empty + 1, from_s, to_s);
	else if (t->empty > 1)
		record_warn(e->r.record,
		            "%d of %d frames have no events: their images are 0; the first is frame %d, from "
		            "%g to %g s",
		            t->empty, (int)e->r.n, t->first_empty + 1, from_s, to_s);
	if (t->lost > 0) warn_of_lost(e);
}

static void add_up(struct em *e, const struct recon_result *of)
{
	struct totals *t = &e->sum;

	t->used += of->used;
	t->skipped += of->skipped;
	t->lost += of->lost;
	t->unsaved += of->unsaved;
	if (of->iterations > t->iterations) t->iterations = of->iterations;
	/* lbfgs makes no update where it begins at the maximum */
	if (of->updates == 0 && of->used + of->skipped == 0 && t->empty++ == 0) t->first_empty = (int)e->r.k;
}

/* Results of a frame: of the record itself, or one of its list of frames. */
static int describe_frame(struct em *e, const struct recon_result *of)
{
	struct record *rec = e->r.record;
	const char *curve = of->map ? "map" : "loglik";
	json_t *of_method = of->map ? of->map : of->loglik;
	int st;

	add_up(e, of);
	json_t *events = record_pack("{s:I, s:I, s:f, s:f}", "used", (json_int_t)of->used, "skipped",
	                             (json_int_t)of->skipped, "counts_lost", of->lost,
	                             "sum_of_sensitivity_times_image", e->activity);
	json_t *rounds = of->updates > 0 && e->r.m->told ? e->r.m->told(e->r.problem) : NULL;

	if (e->r.series) {
		json_t *all = record_pack("{s:o, s:i, s:o, s:f, s:i, s:i}", curve, of_method,
		                          "resumed_from_update", of->resumed_from, "events", events, "factor",
		                          e->frame.factor / e->frame.units, "iteration", of->iterations,
		                          "updates", of->updates);

		if (of->stopped) json_object_set_new(all, "stopped_by_caller", json_true());
		if (rounds && json_object_set_new(all, "scatter", rounds))
			return iso_fail_memory("record", 1);
		return json_array_append_new(e->r.results, all) ? iso_fail_memory("record", 1) : ISO_OK;
	}
	st = record_result(rec, curve, of_method);
	if (rounds && !st) st = record_result(rec, "scatter", json_incref(rounds));
	json_decref(rounds);
	if (!st) st = record_result(rec, "resumed_from_update", json_integer(of->resumed_from));
	if (!st)
		st = record_result(rec, "decay_and_live_factor",
		                   record_real(e->frame.factor / e->frame.units));
	int bad = record_result(rec, "events", events);

	return st ? st : bad;
}

/* Start and duration of each frame, where they are known. */
static int describe_times(const struct em *e)
{
	const struct frames *f = &e->r.s->frames;
	int n = (int)e->r.n;
	json_t *duration;
	int st;

	if (f->gating.n > 0 || !(frames_end_s(f, f->n - 1) - f->edge_s[f->n - 1] < 1e300))
		return ISO_OK; /* gates come again and again; or a window without an end */
	if ((st = record_set(e->r.record, "FrameTimesStart", record_reals(n, f->edge_s)))) return st;
	duration = json_array();
	for (int k = 0; k < n; k++)
		json_array_append_new(duration, record_real(frames_end_s(f, k) - f->edge_s[k]));
	return record_set(e->r.record, "FrameDuration", duration);
}

/* The filter, where a run that was stopped came to it. */
static int describe_filter(const struct em *e, int64_t iterations)
{
	const struct settings *s = e->r.s;
	bool median = s->filter.kind == ISO_MEDIAN;
	int st;

	if (!s->filter_text || (iterations < s->filter_every && s->filter_every < s->iterations))
		return ISO_OK;
	st = record_set(e->r.record, "ReconFilterType", json_string(median ? "median" : "gaussian"));
	return st ? st
	          : record_set(e->r.record, "ReconFilterSize",
	                       median ? json_integer(s->filter.size) : record_reals(3, s->filter.fwhm));
}

/* Of several frames the most iterations that one had. */
static int describe(struct em *e)
{
	struct record *rec = e->r.record;
	const struct settings *s = e->r.s;
	json_int_t iterations = e->sum.iterations > 0 ? e->sum.iterations : s->iterations;
	int st;

	st = recon_describe(&e->r, "subsets", "iterations",
	                    json_pack("[I,I]", (json_int_t)s->subsets, iterations));
	if (!st) st = describe_filter(e, iterations);
	if (!st) st = describe_times(e);
	if (!st && s->frames.series) st = record_result(rec, "frames", json_incref(e->r.results));
	if (!st) st = record_result(rec, "peak_host_bytes", json_integer(record_peak_bytes()));
	return st ? st : record_result(rec, "iteration", json_integer(iterations));
}

/* ---- one frame ---- */

/* Without events the likelihood is greatest for an empty image. */
static int empty_frame(struct em *e)
{
	memset(e->r.x.v, 0, (size_t)e->r.x.n * sizeof *e->r.x.v);
	e->activity = 0;
	return describe_frame(e, &(const struct recon_result){ .loglik = json_array() });
}

/* Then the image is still the start image, which says nothing about the data. */
static int none_used(struct em *e, int64_t skipped)
{
	memset(e->r.x.v, 0, (size_t)e->r.x.n * sizeof *e->r.x.v);
	if (e->r.series) return ISO_OK;
	iso_out_remove(e->r.s->checkpoint); /* nothing in it is worth going on from */
	return iso_fail(ISO_EINPUT,
	                "none of the %" PRId64 " events can be used: they miss the image, or have no counts, "
	                "or a factor or sensitivity of 0",
	                skipped);
}

/* Counts of the rows, and what is added to them where the rows are all that could be measured; over all ranks. */
static int sum_rows(const struct em *e, double *counts, double *added)
{
	enum { PARTS = 256 }; /* of a count, which ranks add as integers */
	const struct model_found *is = &e->r.problem->found;
	int64_t n = is->rows - is->elsewhere, sum[2];
	double y = 0, add = 0;
	int st = ISO_OK;

	for (int64_t j = 0; e->r.data.y && j < n; j++) y += e->r.data.y[j];
	for (int64_t j = 0; e->r.data.add && j < n; j++) add += e->r.data.add[j];
	sum[0] = llround(PARTS * y);
	sum[1] = llround(PARTS * fmin(add, 1e15));
	if (e->r.m->rows_split)
		st = iso_comm_sum(e->r.ctx, ISO_OK, sum, 2); /* one rank may have all of them */
	*counts = (double)sum[0] / PARTS;
	*added = by_subset(e) || !e->r.data.add ? (double)sum[1] / PARTS : NAN;
	return st;
}

/* Of an image that EM or a penalised method made itself: not of its weights, nor of coefficients of a kernel. */
static int check_image(const struct em *e, const struct recon_result *of)
{
	bool without = e->r.s->sens && strcmp(e->r.s->sens, "none") == 0;
	struct run_made made = { .image = &e->r.x,
		                 .sens = e->scaled.v,
		                 .expected = e->activity,
		                 .updates = of->updates,
		                 .filtered = e->r.s->filter_text,
		                 .loglik = of->loglik };
	int st;

	if (e->r.weight.v || e->r.kernel || without || of->used == 0 || of->stopped) return ISO_OK;
	if ((st = sum_rows(e, &made.counts, &made.added))) return st;
	made.counts = e->r.data.y ? made.counts - of->lost : (double)of->used;
	if (e->r.problem->found.on_disk) made.added = NAN;
	if (e->r.problem->found.on_disk && e->r.problem->found.counted) made.counts = NAN;
	return problem_check_image(e->r.problem, &made);
}

/* The start of replicates, which is that of the image; NULL: none are wanted. */
static int keep_start(const struct em *e, iso_real **start)
{
	int st = e->replicated ? model_vector(start, e->r.x.n, "start of replicates") : ISO_OK;

	if (*start) memcpy(*start, e->r.x.v, (size_t)e->r.x.n * sizeof **start);
	return st;
}

static int iterate(struct em *e)
{
	int subsets = (int)e->r.s->subsets, st;
	struct recon_result of = { 0 };
	iso_real *start = NULL;

	if ((st = share_out(e)) || (st = keep_start(e, &start))) return st;
	const struct method *how = e->r.s->how;
	bool parts = e->parts && !(how->one_limit && e->r.m->one_sens);
	const struct recon_sens sens = { { parts ? subsets : 1, subsets, parts ? e->parts : e->scaled.v },
		                         e->scaled.v };

	st = how->iterate(&e->r, &e->map, &sens, &of);
	if (!st && of.used == 0) st = none_used(e, of.skipped);
	if (!st && of.stopped) st = recon_stopped_early(&e->r, of.iterations);
	if (!st && of.updates > 0 && e->r.m->seen) st = e->r.m->seen(e->r.problem, &e->r.x);
	e->activity = 0;
	for (int64_t i = 0; i < e->r.x.n && !st; i++) e->activity += (double)e->r.x.v[i] * e->scaled.v[i];
	if (!st) st = check_image(e, &of);
	if (!st && e->replicated) st = replicates_run(e->replicated, &e->r, start, &sens.parts);
	free(start);
	if (!st) return describe_frame(e, &of);
	json_decref(of.loglik);
	json_decref(of.map);
	return st;
}

/* What the additive term needs of images; for them the sensitivity of pairs comes first. */
static int rounds(struct em *e)
{
	int st = e->sens.v || by_subset(e) ? ISO_OK : make_sens(e);

	return st ? st : e->r.m->rounds(e->r.problem, &e->plain, e->r.k);
}

/* Of a frame before, where each has its own. */
static void forget_sens(struct em *e)
{
	const struct model *m = e->r.m;

	if (e->r.s->sens || !e->sens.v || !m->sens_differs || !m->sens_differs(e->r.problem)) return;
	iso_array_free(&e->sens);
	iso_array_free(&e->plain);
	iso_array_free(&e->scaled);
	sens_floor_free(&e->r.floor);
}

/* What is quickly read is checked before what takes long to compute. */
static int prepare_frame(struct em *e, bool *empty)
{
	const struct model *m = e->r.m;
	iso_problem *problem = e->r.problem;
	int st = ISO_OK;

	record_stage(e->r.record, "factors");
	if (m->select)
		st = m->select(problem, &e->frame);
	else if (!e->frame.all)
		st = iso_fail(ISO_EARG, "%s: 'frames', 'from-s' and 'to-s' can't be used", m->timeless);
	if (st) return st;
	*empty = problem->found.rows == 0;
	if (*empty && !e->r.series)
		return iso_fail(ISO_EINPUT, "there are no events from %g to %g s", e->frame.from_s,
		                e->frame.to_s);
	if (!*empty && needs_rounds(e) && (st = rounds(e))) return st;
	if (!*empty && m->data && (st = m->data(problem, &e->r.data))) return st;
	if (!*empty) {
		if (e->r.s->how->settle && (st = e->r.s->how->settle(&e->r, &e->map))) return st;
		record_tell(e->r.record, ISO_DETAIL, "ordering the data");
		if ((st = m->op(problem, &e->r.op, &e->r.s->by))) return st;
		if ((st = problem_add_psf(problem, &e->r.op)) || (st = kernel_add(&e->r))) return st;
	}
	forget_sens(e);
	e->sum.counts |= e->r.data.y != NULL;
	e->sum.factors |= e->r.data.mult != NULL;
	return e->sens.v ? ISO_OK : make_sens(e);
}

/* ---- finished frames, in a file beside the output ---- */

/* Results of a frame that an earlier run had finished, from the text kept with its image. */
static int take_results(struct em *e, const char *text)
{
	json_t *o = NULL;
	int st = iso_json_parse(&o, "results of a frame", text, strlen(text));
	const json_t *events = json_object_get(o, "events");
	const json_t *loglik = json_object_get(o, "loglik"), *updates = json_object_get(o, "updates");
	struct recon_result of = {
		.used = json_integer_value(json_object_get(events, "used")),
		.skipped = json_integer_value(json_object_get(events, "skipped")),
		.lost = json_number_value(json_object_get(events, "counts_lost")),
		.updates = updates ? (int)json_integer_value(updates) : (int)json_array_size(loglik),
		.iterations = (int)json_integer_value(json_object_get(o, "iteration")),
	};

	if (st) return st;
	if (!events) {
		json_decref(o);
		return iso_fail(ISO_EINPUT, "frame %" PRId64 " of the run that is resumed has no results",
		                e->r.k + 1);
	}
	add_up(e, &of);
	json_object_set_new(o, "resumed_from_update", json_integer(of.updates));
	if (json_is_true(json_object_get(o, "stopped_by_caller"))) /* it was to be the last */
		st = recon_stopped_early(&e->r, of.iterations);
	if (json_array_append_new(e->r.results, o)) return iso_fail_memory("record", 1);
	if (st) return st;
	return of.updates > 0 ? recon_check_image(&e->r) : ISO_OK;
}

/* Rank 0 alone has the file: the others get what it found. *text is to be freed also after a failure. */
static int share_frame(struct em *e, int st, char **text)
{
	iso_ctx *ctx = e->r.ctx;
	int64_t size = *text ? (int64_t)strlen(*text) + 1 : 0;

	if (iso_ranks(ctx) == 1 || (st = iso_comm_broadcast(ctx, st, &size, sizeof size))) return st;
	e->found = size > 0;
	if (!e->found) return ISO_OK;
	if (!*text && !(*text = size_alloc(size, 1))) st = iso_fail_memory("results of a frame", size);
	st = iso_comm_broadcast(ctx, st, *text, size);
	return iso_comm_broadcast(ctx, st, e->r.x.v, e->r.x.n * (int64_t)sizeof *e->r.x.v);
}

/* The frame under way, if an earlier run had finished it. */
static int take_frame(struct em *e)
{
	char *text = NULL;
	int st = iso_series_next(e->kept, &e->found, e->r.x.v, &text);

	st = share_frame(e, st, &text);
	if (!st && e->found) st = take_results(e, text);
	free(text);
	return st;
}

/* Once all inputs are read: the key is of them. A run that begins anew leaves no checkpoint of an
   earlier one for the next 'resume'. */
static int open_series(struct em *e)
{
	const struct settings *s = e->r.s;
	uint64_t of_run;
	int st;

	if ((st = recon_key(e->r.problem, &of_run, e->r.k))) return st;
	if ((st = iso_series_open(&e->kept, s->kept, of_run, e->r.x.n, s->resume))) return st;
	if (!s->resume) iso_out_remove(s->checkpoint);
	e->found = true;
	return take_frame(e);
}

/* The checkpoint goes first, so that it is always of the frame behind those that are kept. */
static int keep_frame(struct em *e)
{
	const json_t *results = json_array_get(e->r.results, (size_t)e->r.k);
	char *text = results ? iso_json_text(results, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	int st;

	if (!text) return iso_fail_memory("record", 1);
	iso_out_remove(e->r.s->checkpoint); /* there may be none */
	st = iso_series_add(e->kept, e->r.x.v, text);
	free(text);
	return st;
}

/* ---- frames ---- */

/* As filters of EM do: where no line sees a voxel it stays 0; behind a kernel every voxel counts. */
static int filter_last(struct em *e)
{
	struct recon *r = &e->r;
	int st;

	if (!r->s->filter_text) return ISO_OK;
	if ((st = iso_filter_host(r->x.v, r->ctx, &r->s->filter, &r->grid))) return st;
	for (int64_t i = 0; !r->kernel && i < r->x.n; i++)
		if (!(e->scaled.v[i] > 0)) r->x.v[i] = 0;
	return ISO_OK;
}

/* The live share of a frame that 'rates' tells: its events are counted first. */
static int find_live(struct em *e)
{
	struct recon *r = &e->r;
	struct frames *f = &r->problem->s.frames;
	struct model_frame whole = frames_get(f, (int)r->k);
	int st;

	if (!f->rates_file) return ISO_OK;
	if ((st = frames_read_rates(r->problem, f))) return st;
	if (r->m->select && (st = r->m->select(r->problem, &whole))) return st;
	return frames_find_live(r->problem, f, (int)r->k, r->problem->found.rows);
}

static int frame(struct em *e)
{
	struct recon *r = &e->r;
	bool empty;
	int st = find_live(e);

	if (st) return st;
	e->frame = frames_get(&r->s->frames, (int)r->k);
	e->frame.units = units_of_frame(r->problem, (int)r->k);
	e->frame.factor *= e->frame.units;
	if (r->series) record_part(r->record, frames_word(&r->s->frames), r->k + 1, r->n);
	if (e->found && ((st = take_frame(e)) || e->found)) return st;
	if ((st = prepare_frame(e, &empty))) return st;
	if (r->series && r->s->out && !e->kept && ((st = open_series(e)) || e->found)) return st;
	double start = e->start_in_unit ? 1 : 1 / e->frame.units;

	for (int64_t i = 0; i < e->sens.n; i++) {
		r->x.v[i] = (iso_real)(e->start.v[i] * start * (r->weight.v ? r->weight.v[i] : 1));
		e->scaled.v[i] = (iso_real)(e->sens.v[i] * e->frame.factor);
	}
	st = empty ? empty_frame(e) : iterate(e);
	if (!st && r->m->describe) st = r->m->describe(r->problem);
	if (!st && (!empty || !r->kernel)) st = recon_unweigh(r, r->x.v, r->x.v);
	if (!st && !empty && !(r->s->how->takes & TAKES_FILTER_EVERY)) st = filter_last(e);
	if (!st && !empty) st = recon_check_image(r);
	return !st && e->kept ? keep_frame(e) : st;
}

/* A run that ended before it finished a frame leaves nothing that would stand in the way of the next, unless it
   was stopped and has a checkpoint beside it. */
static int all_frames(struct em *e)
{
	int st = ISO_OK;

	for (e->r.k = 0; e->r.k < e->r.n && !st; e->r.k++) {
		if (!(st = frame(e))) recon_keep_image(&e->r);
		iso_op_free(e->r.op);
		e->r.op = NULL;
		free(e->parts);
		e->parts = NULL;
		model_data_free(&e->r.data);
	}
	bool resumes = st == ISO_ECANCEL &&
	               (access(e->r.s->checkpoint, F_OK) == 0 || access(e->r.s->rounds, F_OK) == 0);

	if (st && st != ISO_ECANCEL && needs_rounds(e)) iso_out_remove(e->r.s->rounds);

	if (st && !resumes && e->kept && iso_series_count(e->kept) == 0) iso_out_remove(e->r.s->kept);
	return st;
}

/* The checkpoints go once the image is safe; there may have been none. */
static int write_image(struct em *e)
{
	const struct settings *s = e->r.s;
	struct iso_array a = e->r.x;
	int st;

	record_tell(e->r.record, ISO_DETAIL, "writing %s", s->out);
	if (e->r.series) {
		memmove(a.dim + 1, a.dim, 3 * sizeof *a.dim);
		a.dim[0] = e->r.n;
		a.n_dim = 4;
		if (!size_mul(&a.n, a.n, e->r.n))
			return iso_fail(ISO_EARG, "%s: more elements than 64 bits count", s->out);
		st = record_write_series(e->r.record, s->out, e->kept, &a, e->r.x.v, e->r.ctx);
	} else {
		st = problem_write_image(e->r.problem, s->out, &a, recon_stop(&e->r));
	}
	if (st) return recon_stopped(&e->r, st, e->r.series ? s->kept : s->checkpoint);
	iso_out_remove(s->checkpoint);
	if (e->replicated) iso_out_remove(s->replicated);
	if (needs_rounds(e)) iso_out_remove(s->rounds);
	if (e->r.series) iso_out_remove(s->kept);
	return ISO_OK;
}

/* Without units the two are the same. */
static int read_start(struct em *e)
{
	const char *path = e->r.s->start, *unit;
	json_t *record = NULL;
	int st = recon_start(e->r.problem, &e->start, 1, ISO_NONNEGATIVE);

	if (!st && path) st = record_sidecar(&record, path);
	unit = json_string_value(json_object_get(record, "Units"));
	e->start_in_unit = unit && strcmp(unit, e->start.unit) == 0;
	json_decref(record);
	return st;
}

static int reconstruct(struct em *e, struct iso_array *to)
{
	const struct method *how = e->r.s->how;
	int st;

	if ((how->read && (st = how->read(&e->r, &e->map))) || (st = plan(e))) return st;
	problem_tell_idle(e->r.problem);
	if (how->begin && (st = how->begin(&e->r, &e->map))) return st;
	if ((st = read_start(e))) return st;
	if (e->r.s->replicates.n > 0 && (st = replicates_begin(&e->replicated, &e->r))) return st;
	if ((st = iso_array_on_grid(&e->r.x, &e->r.grid))) return st;
	memcpy(e->r.x.unit, e->start.unit, sizeof e->r.x.unit);
	if (to && e->r.series && (st = recon_series(&e->r))) return st;
	if ((st = all_frames(e))) return st;
	warn_of_all(e);
	if (how->warn) how->warn(&e->r, &e->map);
	if ((st = describe(e)) || (st = record_ranks(e->r.record, e->r.ctx, &e->r.s->since))) return st;
	if (e->r.m->finish && (st = e->r.m->finish(e->r.problem))) return st;
	if (e->replicated && (st = replicates_write(e->replicated, &e->r))) return st;
	if (e->r.s->out && (st = write_image(e))) return st; /* last: where it is, all else is too */
	recon_give(&e->r, to);
	return ISO_OK;
}

/* ---- kinetics: all bins at once ---- */

static int sens_for_bins(void *arg, struct iso_array *s)
{
	struct em *e = arg;
	int st = by_subset(e) ? iso_fail(ISO_EINPUT,
	                                 "'kinetics' needs events, and these are the lines of a histogram")
	                      : make_sens(e);

	*s = e->sens;
	return st;
}

static int rounds_of_bin(void *arg, int64_t bin)
{
	struct em *e = arg;

	return e->r.m->rounds(e->r.problem, &e->plain, bin);
}

static int reconstruct_kinetics(struct em *e, struct iso_array *to)
{
	const struct kinetic_host host = { sens_for_bins, needs_rounds(e) ? rounds_of_bin : NULL, e };
	int st = plan(e);

	if (!st && e->r.m->sens_differs && e->r.m->sens_differs(e->r.problem))
		st = iso_fail(ISO_EARG, "'kinetics' is of objects at rest");
	problem_tell_idle(e->r.problem);
	return st ? st : kinetics_run(&e->r, to, &host);
}

int recon_em(iso_problem *problem, struct iso_array *to)
{
	struct frames *f = &problem->s.frames;
	const bool kinetics = problem->s.kinetics.model;
	struct em e = { .r = recon_of(problem, kinetics ? 1 : f->n, f->series && !kinetics) };
	int st = kinetics ? kinetics_check_times(f, problem->found.duration_s) : ISO_OK;

	if (!st) st = frames_settle(problem, f, problem->found.duration_s);
	if (!st) st = units_settle(problem);
	if (!st && e.r.s->out && f->series) st = iso_write_check_series(e.r.s->out, f->n);
	if (!st) st = kinetics ? reconstruct_kinetics(&e, to) : reconstruct(&e, to);
	iso_series_free(e.kept);
	replicates_free(problem->replicated);
	problem->replicated = st ? NULL : e.replicated;
	if (st) replicates_free(e.replicated);
	iso_array_free(&e.start);
	iso_array_free(&e.sens);
	iso_array_free(&e.plain);
	iso_array_free(&e.scaled);
	map_free(&e.map);
	recon_free(&e.r);
	return st;
}
