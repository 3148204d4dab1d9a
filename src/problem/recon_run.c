/* SPDX-License-Identifier: BSD-3-Clause */
/* What methods of reconstruction share. */
#include "problem.h"

#include "core/comm.h"
#include "file/out.h"
#include "file/suffix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Parameters that do not change the image, ends with NULL: all others decide whether a checkpoint belongs to a run. The
   first change which files are written. */
enum { OF_FILES = 6 };

static const char *const not_in_key[] = {
	"save-every",
	"curve",
	"scatter-save",
	"replicates-save",
	"regions",
	"accept",
	"output",
	"device",
	"threads",
	"memory-limit",
	"device-memory-limit",
	"checkpoint-minutes",
	"stop-after",
	"stream",
	"block",
	"scratch",
	"preset",
	"replicates-batch",
	NULL,
};

const char *const *const recon_may_differ = not_in_key + OF_FILES;

struct recon recon_of(iso_problem *problem, int64_t n, bool series)
{
	return (struct recon){
		.problem = problem,
		.m = problem->m,
		.s = &problem->s,
		.record = problem->record,
		.ctx = problem->ctx,
		.grid = problem->found.grid,
		.n = n,
		.series = series,
		.results = json_array(),
	};
}

/* What computes. */
static void free_operators(struct recon *r)
{
	iso_op_free(r->op);
	iso_op_free(r->kernel);
	iso_op_free(r->penalty);
	r->op = r->kernel = r->penalty = NULL;
}

void recon_free(struct recon *r)
{
	free_operators(r);
	model_data_free(&r->data);
	iso_array_free(&r->x);
	iso_array_free(&r->images);
	iso_array_free(&r->weight);
	sens_floor_free(&r->floor);
	json_decref(r->results);
}

/* ---- images ---- */

int recon_path(char path[PATH_MAX], const char *text, int length)
{
	if (length >= PATH_MAX)
		return iso_fail(ISO_EARG, "a file's name of %d characters is too long", length);
	memcpy(path, text, (size_t)length);
	path[length] = '\0';
	return ISO_OK;
}

int recon_read_image(struct recon *r, struct iso_array *a, const char *path, enum iso_values allowed)
{
	int st = record_read_image(r->record, a, path, allowed, &r->grid);

	return st ? st : record_input(r->record, path);
}

int recon_start(iso_problem *problem, struct iso_array *x, iso_real value, enum iso_values allowed)
{
	const char *path = problem->s.start;
	const struct iso_grid *g = &problem->found.grid;
	int st = path ? record_read_image(problem->record, x, path, allowed, g) : iso_array_on_grid(x, g);

	snprintf(x->unit, sizeof x->unit, "%s", problem->found.unit);
	if (!st && path) return record_input(problem->record, path);
	for (int64_t i = 0; !st && value != 0 && i < x->n; i++) x->v[i] = value; /* new arrays are 0 */
	return st;
}

int recon_series(struct recon *r)
{
	const struct iso_grid *g = &r->grid;
	int st = iso_array_create(&r->images, 4, (const int64_t[]){ r->n, g->n[2], g->n[1], g->n[0] });

	r->images.has_grid = true;
	r->images.grid = *g;
	snprintf(r->images.unit, sizeof r->images.unit, "%s", r->problem->found.unit);
	return st;
}

void recon_keep_image(struct recon *r)
{
	if (r->images.v) memcpy(r->images.v + r->k * r->x.n, r->x.v, (size_t)r->x.n * sizeof *r->x.v);
}

int recon_check_image(struct recon *r)
{
	int64_t bad = 0, zero = 0, n = r->x.n;
	char name[40] = "the image";

#pragma omp parallel for num_threads(iso_ctx_threads(r->ctx)) reduction(+ : bad, zero)
	for (int64_t i = 0; i < n; i++) {
		bad += !isfinite(r->x.v[i]);
		zero += r->x.v[i] == 0;
	}
	if (r->series) snprintf(name, sizeof name, "image %" PRId64, r->k + 1);
	if (bad > 0)
		return iso_fail(ISO_EINPUT,
		                "%s: %" PRId64 " of %" PRId64
		                " voxels are not finite: the data are too large for this arithmetic",
		                name, bad, n);
	if (zero == n)
		record_warn(r->record, "%s is 0 in every voxel: nothing of the data has come into it", name);
	return ISO_OK;
}

int recon_unweigh(const struct recon *r, iso_real *image, const iso_real *x)
{
	const iso_real *w = r->weight.v;

	if (r->kernel) {
		int st = kernel_apply(r, image, x, false);

		if (!st) sens_floor_clear(&r->floor, image, 1, r->x.n);
		return st;
	}
	for (int64_t i = 0; i < r->x.n; i++) image[i] = !w ? x[i] : w[i] > 0 ? x[i] / w[i] : 0;
	return ISO_OK;
}

/* ---- iterations ---- */

/* The two devices round differently. Rank 0 has the hashes of the inputs. */
int recon_key(iso_problem *problem, uint64_t *key, int64_t k)
{
	int st = record_key(problem->record, key, not_in_key);

	*key += (uint64_t)iso_ctx_is_cuda(problem->ctx);
	if (!st) st = record_add_key(problem->record, *key);
	*key += 2 * (uint64_t)k;
	return iso_comm_broadcast(problem->ctx, st, key, sizeof *key);
}

static bool saves(const struct settings *s, int iteration)
{
	return s->out && s->save_every > 0 && iteration % s->save_every == 0 && iteration < s->iterations;
}

static bool wants(void *arg, int iteration)
{
	const struct recon *r = arg;

	return r->shown || saves(r->s, iteration);
}

static int save_iteration(struct recon *r, int iteration, const struct iso_array *image)
{
	char path[PATH_MAX];
	int st;

	if ((st = recon_iteration_path(path, r->s, (int)r->k, iteration))) return st;
	if ((st = record_result(r->record, "iteration", json_integer(iteration)))) return st;
	return problem_write_image(r->problem, path, image,
	                           NULL); /* the next update heeds a request to stop */
}

/* To the caller of this rank, who need not want it. */
static int show_iteration(const struct recon *r, int iteration, const struct iso_array *image)
{
	const struct iso_iteration step = {
		.size = sizeof step,
		.iteration = iteration,
		.iterations = (int)r->s->iterations,
		.frame = r->k,
		.frames = r->n,
		.objective = r->objective,
		.image = image,
	};
	int st = r->problem->each ? r->problem->each(r->problem->each_arg, &step) : ISO_OK;
	char why[512] = "";

	if (st == ISO_OK || st == ISO_ENOUGH) return st;
	if (st < 0 && st != ISO_ECANCEL) snprintf(why, sizeof why, ": %s", iso_message());
	return iso_fail(st < 0 ? st : ISO_ECANCEL, "stopped by the caller after iteration %d of %d%s",
	                iteration, step.iterations, why);
}

/* `a`: the image behind what is iterated, x itself or made in `image`, which is to be freed. */
static int behind(const struct recon *r, struct iso_array *a, iso_real **image, const iso_real *x)
{
	int st;

	*a = r->x;
	if ((r->weight.v || r->kernel) && (st = model_vector(image, a->n, "image"))) return st;
	a->v = *image ? *image : (iso_real *)x;
	return *image ? recon_unweigh(r, *image, x) : ISO_OK;
}

static int each(void *arg, int iteration, const iso_real *x)
{
	struct recon *r = arg;
	struct iso_array a;
	iso_real *image = NULL;
	int st = behind(r, &a, &image, x);

	if (!st && saves(r->s, iteration)) st = save_iteration(r, iteration, &a);
	if (!st) st = show_iteration(r, iteration, &a);
	free(image);
	return st;
}

int recon_stopped_early(struct recon *r, int iteration)
{
	struct iso_array *all = &r->images;

	r->n = r->k + 1;
	if (all->v) {
		all->dim[0] = r->n;
		all->n = r->n * r->x.n;
	}
	record_tell(r->record, ISO_DETAIL, "the caller stopped it after iteration %d of %" PRId64, iteration,
	            r->s->iterations);
	return record_result(r->record, "stopped_by_caller", json_true());
}

/* Packing and replicates take long, and may be stopped: the checkpoint of the finished run stays until the image is there.
   A plain image is written as soon as a checkpoint would be. */
static bool keeps_all(const struct recon *r)
{
	const struct settings *s = r->s;

	return s->out && !r->series && (iso_has_suffix(s->out, ".gz") || s->replicates.n > 0);
}

const iso_ctx *recon_stop(const struct recon *r)
{
	return !(r->s->how->takes & TAKES_FILES) || keeps_all(r) ? r->ctx : NULL;
}

int recon_stopped(const struct recon *r, int st, const char *from)
{
	if (st != ISO_ECANCEL || !(r->s->how->takes & TAKES_FILES)) return st;
	return iso_fail(ISO_ECANCEL, "stopped while %s was written; resume continues from %s", r->s->out,
	                from);
}

/* ---- the live page ---- */

/* What an algorithm calls its figure, in words. */
static const char *figure_of(const char *figure)
{
	if (strcmp(figure, "logL") == 0) return "log-likelihood";
	if (strcmp(figure, "Phi") == 0) return "penalised log-likelihood";
	return figure;
}

static int watch_step(void *arg, const struct iso_watched *s)
{
	const struct recon *r = arg;
	const struct model_found *is = &r->problem->found;
	iso_live *live = r->record->to.live;

	iso_live_step(live, &(const struct iso_live_step){
				    .size = sizeof(struct iso_live_step),
				    .done = s->done,
				    .total = s->total,
				    .per = s->per,
				    .rows = is->rows,
				    .row_name = r->m->row_name ? r->m->row_name : "events",
				    .objective = s->objective,
				    .figure = figure_of(s->figure),
			    });
	return (iso_live_wants_image(live) ? ISO_WATCH_IMAGE : 0) |
	       (iso_live_asked_to_save(live) ? ISO_WATCH_SAVE : 0);
}

static int watch_image(void *arg, const iso_real *x)
{
	struct recon *r = arg;
	iso_real *image = NULL;
	struct iso_array a;
	int st = behind(r, &a, &image, x);

	if (!st) st = iso_live_image(r->record->to.live, &a);
	free(image);
	return st;
}

static void watch_saved(void *arg, int status)
{
	iso_live_saved(((struct recon *)arg)->record->to.live, status);
}

/* 'stop-after' counts from the beginning of iso_problem_recon on. */
int recon_run(struct recon *r, struct iso_run *run, bool checkpoints)
{
	const struct settings *s = r->s;
	double left = s->stop_after - (iso_now_s() - s->began_s) / 60;

	checkpoints = checkpoints && s->out;
	*run = (struct iso_run){
		.size = sizeof *run,
		.checkpoint = checkpoints ? s->checkpoint : NULL,
		.checkpoint_minutes = s->checkpoint_minutes,
		.stop_after_minutes = s->stop_after == 0 ? 0 : fmax(left, 1e-9),
		.resume = s->resume,
		.each = each,
		.wants = wants,
		.arg = r,
		.keep = keeps_all(r),
		.objective = &r->objective,
		.watch = r->record->to.live ? &r->watch : NULL,
	};
	r->watch = (struct iso_watch){ sizeof r->watch, watch_step, watch_image, watch_saved, r };
	iso_live_can_save(r->record->to.live, checkpoints);
	double shown = r->problem->each ? 1 : 0;
	int st = recon_key(r->problem, &run->key, r->k);

	if ((st = iso_comm_max(r->ctx, st, &shown, 1))) return st;
	r->shown = shown > 0;
	if (checkpoints && !s->resume)
		iso_out_remove(s->checkpoint); /* of an earlier run, which this one begins anew */
	if (checkpoints && s->resume && r->k == 0 && access(s->checkpoint, F_OK) != 0)
		record_note(r->record, "there is no %s: beginning at the start", s->checkpoint);
	record_stage(r->record, "reconstruct");
	return ISO_OK;
}

/* ---- out ---- */

int recon_describe(struct recon *r, const char *first, const char *second, json_t *values)
{
	int st;

	if ((st = record_set(r->record, "ReconMethodName", json_string(r->s->method))) ||
	    (st = record_set(r->record, "ReconMethodParameterLabels", json_pack("[s,s]", first, second))) ||
	    (st = record_set(r->record, "ReconMethodParameterUnits", json_pack("[s,s]", "none", "none")))) {
		json_decref(values);
		return st;
	}
	return record_set(r->record, "ReconMethodParameterValues", values);
}

void recon_give(struct recon *r, struct iso_array *to)
{
	struct iso_array *made = r->series ? &r->images : &r->x;

	if (!to) return;
	*to = *made;
	*made = (struct iso_array){ 0 };
}

int recon_finish(struct recon *r, struct iso_array *to)
{
	int st = json_array_size(r->results) > 0 ? record_result(r->record, "images", json_incref(r->results))
	                                         : ISO_OK;

	st = st ? st : record_ranks(r->record, r->ctx, &r->s->since);
	if (!st && r->s->out) {
		free_operators(r);
		if (r->problem->ends) iso_ctx_close_ahead(r->ctx);
		record_tell(r->record, ISO_DETAIL, "writing %s", r->s->out);
		st = problem_write_image(r->problem, r->s->out, r->series ? &r->images : &r->x,
		                         recon_stop(r));
		st = recon_stopped(r, st, r->s->checkpoint);
	}
	if (!st) recon_give(r, to);
	return st;
}
