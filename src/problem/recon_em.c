/* SPDX-License-Identifier: BSD-3-Clause */
/* Reconstruction by EM: sensitivity once, then each frame of the scan. */
#include "problem.h"

#include "text/json_file.h"
#include "core/progress.h"
#include "core/size.h"
#include "core/ctx.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
	iso_problem *problem;
	const struct model *m;
	const struct settings *s;
	struct iso_array *to; /* the caller's image; NULL: the file alone */
	struct iso_grid grid;
	struct iso_array start, sens; /* of every frame; sens: with the PSF */
	struct iso_array weight;      /* EM runs on weight x image; no values: on the image */
	struct iso_array series;      /* images of all frames, where the caller wants them */
	/* the frame under way */
	int k;
	struct model_frame frame;
	struct iso_array x, scaled; /* scaled: the sensitivity times the frame's factor */
	iso_real *parts;            /* the same of each subset; NULL: 1/K of it */
	struct model_data data;
	iso_op *op;
	/* the frames of a series behind us */
	iso_series *kept; /* their images; NULL: not open yet */
	bool found;       /* those of an earlier run, so far */
	json_t *frames;   /* their results */
	struct totals {
		int64_t used, skipped, unsaved;
		double lost;
		int empty, first_empty; /* frames without events */
		bool counts, factors;   /* the data have them */
	} sum;
};

/* ---- before the work ---- */

static bool sens_from_file(const struct settings *s)
{
	return s->sens && strcmp(s->sens, "none") != 0;
}

static bool streams(const struct run *r)
{
	return r->m->streams && r->m->streams(r->problem);
}

static int plan(struct run *r)
{
	const struct settings *s = r->s;
	int64_t n = iso_grid_voxels(&r->grid), rows = streams(r) ? 0 : r->m->rows(r->problem);
	struct iso_plan p = problem_plan_begin(r->problem);

	iso_plan_add(&p, "image, start and sensitivity", n, 5 * sizeof(iso_real), false);
	if (s->frames.series)
		iso_plan_add(&p, "results of all frames", s->frames.n, 512 + 128 * s->iterations * s->subsets,
		             false);
	if (!s->frames.all)
		iso_plan_add(&p, "events of a frame", rows, sizeof(struct iso_event) + 3 * 8, false);
	iso_plan_add(&p, "factors", rows, 3 * sizeof(iso_real), false);
	iso_plan_add(&p, "log-likelihoods", s->iterations * s->subsets, sizeof(double), false);
	if (problem_has_psf(r->problem)) iso_psf_plan(&p, r->problem->ctx, &r->grid);
	if (s->filter_text) {
		iso_plan_add(&p, "voxels that are seen", n, sizeof(iso_real),
		             iso_ctx_is_cuda(r->problem->ctx));
		iso_filter_plan(&p, r->problem->ctx, &s->filter, &r->grid);
	}
	if (r->m->sens_of_subsets)
		iso_plan_add(&p, "sensitivities of the subsets", n, s->subsets * (int64_t)sizeof(iso_real),
		             false);
	iso_em_plan(&p, r->problem->ctx, n, rows,
	            r->m->by_events || r->m->sens_of_subsets ? (int)s->subsets : 1, 3);
	r->m->plan(r->problem, &p, &s->by);
	return problem_plan_end(r->problem, &p);
}

/* ---- the parts of the problem ---- */

static size_t bytes_of(const struct iso_array *a)
{
	return (size_t)a->n * sizeof *a->v;
}

static int fill_ones(struct iso_array *a, const struct iso_grid *g)
{
	int st = iso_array_on_grid(a, g);

	for (int64_t i = 0; !st && i < a->n; i++) a->v[i] = 1;
	return st;
}

static int sens_of_ones(struct run *r)
{
	record_warn(r->problem->record, "'sens' none: the image is not corrected for sensitivity");
	return fill_ones(&r->sens, &r->grid);
}

static int sens_of_file(struct run *r)
{
	int st = record_read_image(r->problem->record, &r->sens, r->s->sens, ISO_NONNEGATIVE, &r->grid);

	if (!st) st = recon_compare_sens(r->problem->record, r->s->sens);
	return st ? st : record_input(r->problem->record, r->s->sens);
}

/* Models whose subsets see voxels differently; 'sens' replaces them all by shares of one image. */
static bool by_subset(const struct run *r)
{
	return r->m->sens_of_subsets && !r->s->sens;
}

/* The operator holds the PSF already. */
static int sum_of_subsets(struct run *r)
{
	int64_t n = iso_grid_voxels(&r->grid), all;
	int st = iso_array_on_grid(&r->sens, &r->grid);

	if (st) return st;
	if (!size_mul(&all, n, r->s->subsets) || !(r->parts = size_alloc(all, sizeof *r->parts)))
		return iso_fail_memory("sensitivities of the subsets", n * (int64_t)sizeof *r->parts);
	st = r->m->sens_of_subsets(r->problem, r->parts, r->op);
	for (int64_t i = 0; i < all && !st; i++) r->sens.v[i % n] += r->parts[i];
	return st;
}

static int make_sens(struct run *r)
{
	int st;

	record_stage(r->problem->record, "sensitivity");
	if (by_subset(r))
		st = sum_of_subsets(r);
	else
		st = !r->s->sens            ? r->m->sens(r->problem, &r->sens)
		     : sens_from_file(r->s) ? sens_of_file(r)
		                            : sens_of_ones(r);
	if (!st && !by_subset(r) && problem_has_psf(r->problem)) st = problem_blur_sens(r->problem, &r->sens);
	if (!st && r->m->form) st = r->m->form(r->problem, &r->sens, &r->weight);
	for (int64_t i = 0; !st && i < r->sens.n; i++)
		if (r->sens.v[i] > 0) return iso_array_on_grid(&r->scaled, &r->grid);
	return st ? st
	          : iso_fail(ISO_EINPUT, "the sensitivity is 0 in every voxel: does the grid lie "
	                                 "in the scanner?");
}

static int make_images(struct run *r)
{
	int st;

	if ((st = recon_start(r->problem, &r->start, 1, ISO_NONNEGATIVE))) return st;
	if ((st = iso_array_on_grid(&r->x, &r->grid))) return st;
	snprintf(r->x.unit, sizeof r->x.unit, "%s", r->m->unit(r->problem));
	return r->to && r->s->frames.series ? problem_series(r->problem, &r->series, r->s->frames.n) : ISO_OK;
}

/* ---- images between iterations ---- */

static bool wants(void *arg, int iteration)
{
	return recon_saves(((struct run *)arg)->s, iteration);
}

/* The image behind what EM runs on; 0 where the weight is. */
static void unweigh(iso_real *image, const struct run *r, const iso_real *x)
{
	const iso_real *w = r->weight.v;

	for (int64_t i = 0; i < r->x.n; i++) image[i] = !w ? x[i] : w[i] > 0 ? x[i] / w[i] : 0;
}

static int save_iteration(void *arg, int iteration, const iso_real *x)
{
	struct run *r = arg;
	struct iso_array a = { 0 };
	char path[PATH_MAX];
	int st;

	if ((st = recon_iteration_path(path, sizeof path, r->s, r->k, iteration))) goto done;
	if ((st = record_result(r->problem->record, "iteration", json_integer(iteration)))) goto done;
	if ((st = iso_array_on_grid(&a, &r->grid))) goto done;
	memcpy(a.unit, r->x.unit, sizeof a.unit);
	unweigh(a.v, r, x);
	st = problem_write_image(r->problem, path, &a);
done:
	iso_array_free(&a);
	return st;
}

/* ---- what the record says ---- */

static double activity(const struct run *r)
{
	double sum = 0;

	for (int64_t i = 0; i < r->x.n; i++) sum += (double)r->x.v[i] * r->scaled.v[i];
	return sum;
}

static json_t *events_json(const struct run *r, const struct iso_em_result *e)
{
	return record_pack("{s:I, s:I, s:f, s:f}", "used", (json_int_t)e->used, "skipped",
	                   (json_int_t)e->skipped, "counts_lost", e->lost, "sum_of_sensitivity_times_image",
	                   activity(r));
}

/* A row without counts is skipped and nothing is lost: not a word about it. */
static void warn_of_lost(struct run *r)
{
	struct record *rec = r->problem->record;
	const struct totals *t = &r->sum;
	const char *rows = r->m->row_name ? r->m->row_name : "events";

	if (!t->counts && t->lost == (double)t->skipped) /* each event is a count */
		record_warn(rec, "%" PRId64 " of %" PRId64 " %s meet no activity and are left out",
		            t->skipped, t->used + t->skipped, rows);
	else
		record_warn(rec, "%.6g counts are of %s that meet no activity%s and are left out", t->lost,
		            rows, t->factors ? ", or have a factor of 0," : "");
}

static void warn_of_empty(struct run *r)
{
	const struct frames *f = &r->s->frames;
	int k = r->sum.first_empty;

	if (r->sum.empty == 1)
		record_warn(r->problem->record, "frame %d, from %g to %g s, has no events: its image is 0",
		            k + 1, f->edge_s[k], f->edge_s[k + 1]);
	else
		record_warn(r->problem->record,
		            "%d of %d frames have no events: their images are 0; the first is "
		            "frame %d, from %g to %g s",
		            r->sum.empty, f->n, k + 1, f->edge_s[k], f->edge_s[k + 1]);
}

/* Once for all frames, of which there may be thousands. */
static void warn_of_all(struct run *r)
{
	if (r->sum.unsaved)
		record_warn(r->problem->record, "%" PRId64 " checkpoints could not be written beside %s",
		            r->sum.unsaved, r->s->out);
	if (r->sum.empty) warn_of_empty(r);
	if (r->sum.lost > 0) warn_of_lost(r);
}

static void add_up(struct run *r, const struct iso_em_result *e)
{
	struct totals *t = &r->sum;

	t->used += e->used;
	t->skipped += e->skipped;
	t->lost += e->lost;
	t->unsaved += e->unsaved;
	if (e->n == 0 && t->empty++ == 0) t->first_empty = r->k;
}

/* Results of a frame: of the record itself, or one of its list of frames. */
static int describe_frame(struct run *r, const struct iso_em_result *e)
{
	struct record *rec = r->problem->record;
	int st;

	add_up(r, e);
	if (r->s->frames.series)
		return json_array_append_new(r->frames,
		                             record_pack("{s:o, s:i, s:o, s:f}", "loglik",
		                                         record_reals(e->n, e->loglik), "resumed_from_update",
		                                         e->resumed_from, "events", events_json(r, e),
		                                         "factor", r->frame.factor))
		               ? iso_fail_memory("record", 1)
		               : ISO_OK;
	if ((st = record_result(rec, "loglik", record_reals(e->n, e->loglik)))) return st;
	if ((st = record_result(rec, "resumed_from_update", json_integer(e->resumed_from)))) return st;
	if ((st = record_result(rec, "decay_and_live_factor", record_real(r->frame.factor)))) return st;
	return record_result(rec, "events", events_json(r, e));
}

/* Start and duration of each frame, where they are known. */
static int describe_times(struct run *r)
{
	const struct frames *f = &r->s->frames;
	double *duration = size_alloc(f->n, sizeof *duration);
	int st = duration ? ISO_OK : iso_fail_memory("frames", f->n * (int64_t)sizeof *duration);

	for (int k = 0; k < f->n && !st; k++) duration[k] = frames_end_s(f, k) - f->edge_s[k];
	if (!st && duration[f->n - 1] < 1e300) { /* else: a window without an end */
		st = record_set(r->problem->record, "FrameTimesStart", record_reals(f->n, f->edge_s));
		if (!st) st = record_set(r->problem->record, "FrameDuration", record_reals(f->n, duration));
	}
	free(duration);
	return st;
}

static int describe_filter(struct run *r)
{
	const struct settings *s = r->s;
	struct record *rec = r->problem->record;
	bool median = s->filter.kind == ISO_MEDIAN;
	int st;

	if (!s->filter_text) return ISO_OK;
	if ((st = record_set(rec, "ReconFilterType", json_string(median ? "median" : "gaussian")))) return st;
	return record_set(rec, "ReconFilterSize",
	                  median ? json_integer(s->filter.size) : record_reals(3, s->filter.fwhm));
}

static int describe(struct run *r)
{
	struct record *rec = r->problem->record;
	const struct settings *s = r->s;
	int st;

	st = recon_describe(r->problem, "subsets", "iterations",
	                    json_pack("[I,I]", (json_int_t)s->subsets, (json_int_t)s->iterations));
	if (st) return st;
	if ((st = describe_filter(r))) return st;
	if ((st = describe_times(r))) return st;
	if (s->frames.series && (st = record_result(rec, "frames", json_incref(r->frames)))) return st;
	if ((st = record_result(rec, "peak_host_bytes", json_integer(record_peak_bytes())))) return st;
	return record_result(rec, "iteration", json_integer(s->iterations));
}

/* ---- one frame ---- */

/* Then the image is still the start image, which says nothing about the data. */
static int none_used(struct run *r, const struct iso_em_result *e)
{
	if (!r->s->frames.series)
		return iso_fail(ISO_EINPUT,
		                "none of the %" PRId64 " events can be used: they miss the "
		                "image, or have no counts, or a factor or sensitivity of 0",
		                e->skipped);
	memset(r->x.v, 0, (size_t)r->x.n * sizeof *r->x.v);
	return ISO_OK;
}

/* The sensitivity of each subset, where their sizes count. */
static int share_out(struct run *r)
{
	int64_t n = r->scaled.n, subsets = r->s->subsets, all;

	for (int64_t i = 0; r->parts && i < n * subsets; i++)
		r->parts[i] = (iso_real)(r->parts[i] * r->frame.factor);
	if (r->parts || !r->m->by_events) return ISO_OK;
	if (!size_mul(&all, n, subsets) || !(r->parts = size_alloc(all, sizeof *r->parts)))
		return iso_fail_memory("sensitivities of the subsets", n * (int64_t)sizeof *r->parts);
	for (int k = 0; k < (int)subsets; k++) {
		double share = (double)iso_op_rows(r->op, k).n / (double)r->m->rows(r->problem);

		for (int64_t i = 0; i < n; i++) r->parts[k * n + i] = (iso_real)(r->scaled.v[i] * share);
	}
	return ISO_OK;
}

static int iterate(struct run *r)
{
	const struct settings *s = r->s;
	char checkpoint[PATH_MAX];
	struct iso_em em = {
		.size = sizeof em,
		.op = r->op,
		.iterations = (int)s->iterations,
		.data = { r->data.y, r->data.add, r->data.mult },
		.sens = { 1, (int)s->subsets, r->scaled.v },
		.filter = s->filter_text ? &s->filter : NULL,
		.filter_every = (int)s->filter_every,
		.grid = r->grid,
	};
	struct iso_run run = {
		.size = sizeof run,
		.checkpoint = s->out ? checkpoint : NULL,
		.checkpoint_minutes = s->checkpoint_minutes,
		.stop_after_minutes = recon_minutes_left(s),
		.resume = s->resume,
		.each = save_iteration,
		.wants = wants,
		.arg = r,
	};
	struct iso_em_result result = { .size = sizeof result };
	int st;

	if ((st = recon_checkpoint(checkpoint, sizeof checkpoint, s))) return st;
	if ((st = share_out(r))) return st;
	if (r->parts) em.sens = (struct iso_sens){ (int)s->subsets, (int)s->subsets, r->parts };
	if ((st = recon_key(r->problem, &run.key, r->k))) return st;
	recon_begin_checkpoint(r->problem, checkpoint, r->k);
	record_stage(r->problem->record, "reconstruct");
	st = iso_em_run(r->x.v, &result, &em, &run);
	record_stage(r->problem->record, NULL);
	if (!st && result.used == 0 && (st = none_used(r, &result)))
		unlink(checkpoint); /* nothing in it is worth going on from */
	if (!st) st = describe_frame(r, &result);
	iso_em_result_free(&result);
	return st;
}

static void set_up_images(struct run *r)
{
	for (int64_t i = 0; i < r->sens.n; i++) {
		r->x.v[i] = r->start.v[i] * (r->weight.v ? r->weight.v[i] : 1);
		r->scaled.v[i] = (iso_real)(r->sens.v[i] * r->frame.factor);
	}
}

/* Without events the likelihood is greatest for an empty image. */
static int empty_frame(struct run *r)
{
	const struct iso_em_result none = { .size = sizeof none };

	memset(r->x.v, 0, (size_t)r->x.n * sizeof *r->x.v);
	return describe_frame(r, &none);
}

/* ---- finished frames, in a file beside the output ---- */

/* Results of a frame that an earlier run had finished, from the text kept with its image. */
static int take_results(struct run *r, const char *text)
{
	json_t *o = NULL;
	int st = iso_json_parse(&o, "results of a frame", text, strlen(text));
	const json_t *events = json_object_get(o, "events");
	struct iso_em_result e = {
		.used = json_integer_value(json_object_get(events, "used")),
		.skipped = json_integer_value(json_object_get(events, "skipped")),
		.lost = json_number_value(json_object_get(events, "counts_lost")),
		.n = (int)json_array_size(json_object_get(o, "loglik")),
	};

	if (st) return st;
	if (!events) {
		json_decref(o);
		return iso_fail(ISO_EINPUT, "frame %d of the run that is resumed has no results", r->k + 1);
	}
	add_up(r, &e);
	json_object_set_new(o, "resumed_from_update", json_integer(e.n));
	if (json_array_append_new(r->frames, o)) return iso_fail_memory("record", 1);
	return e.n > 0 ? recon_check_image(r->problem, &r->x, r->k + 1) : ISO_OK;
}

/* The frame under way, if an earlier run had finished it. */
static int take_frame(struct run *r)
{
	char *text = NULL;
	int st = iso_series_next(r->kept, &r->found, r->x.v, &text);

	if (!st && r->found) st = take_results(r, text);
	free(text);
	return st;
}

/* Once all inputs are read: the key is of them. A run that begins anew leaves no checkpoint of an
   earlier one for the next 'resume'. */
static int open_series(struct run *r)
{
	char path[PATH_MAX], checkpoint[PATH_MAX];
	uint64_t of_run;
	int st;

	if ((st = recon_frames_path(path, sizeof path, r->s))) return st;
	if ((st = recon_checkpoint(checkpoint, sizeof checkpoint, r->s))) return st;
	if ((st = recon_key(r->problem, &of_run, r->k))) return st;
	if ((st = iso_series_open(&r->kept, path, of_run, r->x.n, r->s->resume))) return st;
	if (!r->s->resume) unlink(checkpoint);
	r->found = true;
	return take_frame(r);
}

/* The checkpoint goes first, so that it is always of the frame behind those that are kept. */
static int keep_frame(struct run *r)
{
	const json_t *results = json_array_get(r->frames, (size_t)r->k);
	char *text = results ? iso_json_text(results, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	char checkpoint[PATH_MAX];
	int st = recon_checkpoint(checkpoint, sizeof checkpoint, r->s);

	if (!st && !text) st = iso_fail_memory("record", 1);
	if (!st) {
		unlink(checkpoint); /* there may be none */
		st = iso_series_add(r->kept, r->x.v, text);
	}
	free(text);
	return st;
}

/* ---- frames ---- */

/* What is quickly read is checked before what takes long to compute. */
static int prepare_frame(struct run *r, bool *empty)
{
	int st;

	record_stage(r->problem->record, "factors");
	if ((st = r->m->select(r->problem, &r->frame))) return st;
	*empty = r->m->rows(r->problem) == 0;
	if (*empty && !r->s->frames.series)
		return iso_fail(ISO_EINPUT, "there are no events from %g to %g s", r->frame.from_s,
		                r->frame.to_s);
	if (!*empty && (st = r->m->data(r->problem, &r->data))) return st;
	if (!*empty && (st = r->m->op(r->problem, &r->op, &r->s->by))) return st;
	if (!*empty && (st = problem_add_psf(r->problem, &r->op))) return st;
	r->sum.counts |= r->data.y != NULL;
	r->sum.factors |= r->data.mult != NULL;
	return r->sens.v ? ISO_OK : make_sens(r);
}

static int work_on_frame(struct run *r, bool empty)
{
	int st;

	set_up_images(r);
	st = empty ? empty_frame(r) : iterate(r);
	if (!st && r->m->describe) st = r->m->describe(r->problem);
	unweigh(r->x.v, r, r->x.v);
	if (!st && !empty) st = recon_check_image(r->problem, &r->x, r->s->frames.series ? r->k + 1 : 0);
	return !st && r->kept ? keep_frame(r) : st;
}

static int frame(struct run *r)
{
	bool empty, series = r->s->frames.series;
	int st;

	r->frame = frames_get(&r->s->frames, r->k);
	if (series) record_part(r->problem->record, "frame", r->k + 1, r->s->frames.n);
	if (r->found && ((st = take_frame(r)) || r->found)) return st;
	if ((st = prepare_frame(r, &empty))) return st;
	if (series && r->s->out && !r->kept && ((st = open_series(r)) || r->found)) return st;
	return work_on_frame(r, empty);
}

static void frame_free(struct run *r)
{
	iso_op_free(r->op);
	r->op = NULL;
	free(r->parts);
	r->parts = NULL;
	model_data_free(&r->data);
}

/* The image, or all of the series, to the caller. */
static int give(struct run *r)
{
	struct iso_array *from = r->s->frames.series ? &r->series : &r->x;

	if (!r->to) return ISO_OK;
	*r->to = *from;
	*from = (struct iso_array){ 0 };
	return ISO_OK;
}

static int write_image(struct run *r)
{
	struct iso_array a = r->x;

	if (!r->s->frames.series) return problem_write_image(r->problem, r->s->out, &r->x);
	memmove(a.dim + 1, a.dim, 3 * sizeof *a.dim);
	a.dim[0] = r->s->frames.n;
	a.n_dim = 4;
	if (!size_mul(&a.n, a.n, a.dim[0]))
		return iso_fail(ISO_EARG, "%s: more elements than 64 bits count", r->s->out);
	return record_write_series(r->problem->record, r->s->out, r->kept, &a, r->x.v);
}

/* The image is safe; there may have been no checkpoint. */
static void remove_checkpoints(const struct settings *s)
{
	char path[PATH_MAX];

	if (recon_checkpoint(path, sizeof path, s) == ISO_OK) unlink(path);
	if (s->frames.series && recon_frames_path(path, sizeof path, s) == ISO_OK) unlink(path);
}

/* A run that failed before it finished a frame leaves nothing that would stand in the way of the next;
   one that was stopped has a checkpoint beside it. */
static int all_frames(struct run *r)
{
	char path[PATH_MAX];
	int st = ISO_OK;

	for (r->k = 0; r->k < r->s->frames.n && !st; r->k++) {
		st = frame(r);
		if (!st && r->series.v) memcpy(r->series.v + r->k * r->x.n, r->x.v, bytes_of(&r->x));
		frame_free(r);
	}
	if (st && st != ISO_ECANCEL && r->kept && iso_series_count(r->kept) == 0 &&
	    recon_frames_path(path, sizeof path, r->s) == ISO_OK)
		unlink(path);
	return st;
}

static int reconstruct(struct run *r)
{
	int st;

	if ((st = plan(r))) return st;
	if ((st = make_images(r))) return st;
	if ((st = all_frames(r))) return st;
	warn_of_all(r);
	if ((st = describe(r))) return st;
	if (r->s->out) {
		if ((st = write_image(r))) return st;
		remove_checkpoints(r->s);
	}
	return give(r);
}

int recon_em(iso_problem *problem, struct iso_array *to)
{
	struct run r = { .problem = problem, .m = problem->m, .s = &problem->s, .to = to };
	struct frames *f = &problem->s.frames;
	int st = frames_settle(f, r.m->duration_s ? r.m->duration_s(problem) : 0);

	r.frames = json_array();
	if (!st) frames_warn(problem, f);
	r.grid = problem->m->grid(problem);
	if (!st && r.s->out && f->series) st = iso_write_check_series(r.s->out, f->n);
	if (!st) st = reconstruct(&r);
	json_decref(r.frames);
	iso_series_free(r.kept);
	iso_array_free(&r.start);
	iso_array_free(&r.sens);
	iso_array_free(&r.weight);
	iso_array_free(&r.series);
	iso_array_free(&r.x);
	iso_array_free(&r.scaled);
	return st;
}
