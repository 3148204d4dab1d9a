/* SPDX-License-Identifier: BSD-3-Clause */
/* Reconstruction by penalised least squares: conjugate gradients, or FISTA. */
#include "problem.h"

#include "base/number.h"
#include "file/out.h"
#include "file/in.h"
#include "core/status.h"
#include "io/format.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const weighs[] = { "equal", "area", NULL };

struct opt_set cg_params(struct least_squares *p)
{
	const struct opt opts[] = {
		{ 0, "penalty", .text = &p->penalty, .value = "KIND:MU",
		  .help = "quadratic: MU times the sum of squared differences between neighbours; tv: MU "
		          "times "
		          "the sum of the gradient's size. MU grows with grueneisen and the amount of data" },
		{ 0, "nonneg", .flag = &p->nonneg, .help = "no voxel below 0" },
		{ 0, "weigh", .text = &p->weigh, .words = weighs, .value = "NAME", .absent = "equal",
		  .help = "equal: all data count alike; area: by the surface that their transducer stands "
		          "for. "
		          "Where an array is dense in places, as rings are at the poles, fewer iterations "
		          "do" },
		{ 0, "tolerance", .real = &p->tolerance, .value = "T", .min = 0, .max = .999,
		  .help = "stop where the gradient has fallen to this share of the first" },
		{ 0, "curve", .text = &p->curve, .file = OPT_WRITES, .value = "FILE.csv",
		  .help = "cost and gradient after each iteration" },
		{ 0 },
	};

	_Static_assert(sizeof p->opts == sizeof opts, "room for the options");
	memcpy(p->opts, opts, sizeof opts);
	return (struct opt_set){ "Least squares ('method' cg)", p->opts };
}

static int parse_penalty(struct least_squares *p)
{
	const char *number = p->penalty ? strchr(p->penalty, ':') : NULL;
	bool tv = p->penalty && strncmp(p->penalty, "tv:", 3) == 0;
	double mu = 0;

	p->mu = p->tv = 0; /* an earlier penalty's */
	if (!p->penalty) return ISO_OK;
	if (!(tv || strncmp(p->penalty, "quadratic:", 10) == 0) ||
	    !iso_number(&mu, number + 1, strlen(number + 1)) || !(mu >= 0))
		return iso_fail(ISO_EARG,
		                "'penalty' is '%s', must be quadratic:MU or tv:MU with MU at least 0",
		                p->penalty);
	*(tv ? &p->tv : &p->mu) = mu;
	return ISO_OK;
}

/* What conjugate gradients can't do, FISTA does. */
static bool proximal(const struct settings *s)
{
	return s->squares.tv > 0 || s->squares.nonneg;
}

static int check_proximal(iso_problem *problem)
{
	static const char *const cg_alone[] = { "tolerance", NULL };

	return proximal(&problem->s) ? problem_refuse(problem, cg_alone, "'nonneg' or total variation")
	                             : ISO_OK;
}

#define CURVE_HEAD "iteration,cost,gradient\n"

static bool is_curve(const char *path)
{
	char head[sizeof CURVE_HEAD] = "";
	FILE *f = NULL;
	int64_t size;

	if (iso_regular_fopen(&f, &size, path) != ISO_OK) return false;
	size = (int64_t)fread(head, 1, sizeof head - 1, f);
	fclose(f);
	return strcmp(head, CURVE_HEAD) == 0;
}

/* A run that was killed between curve and image finds its curve when it goes on. */
static int check_curve(const iso_problem *problem)
{
	const struct settings *s = &problem->s;
	const char *path = s->squares.curve;

	return path ? iso_target_check(path, problem->force || (s->resume && is_curve(path))) : ISO_OK;
}

int cg_check(iso_problem *problem)
{
	static const char *const em_alone[] = {
		"subsets", "subset-rule", "seed", "sens", "psf",     "filter",      "filter-every",
		"frames",  "from-s",      "to-s", "live", "isotope", "half-life-s", NULL,
	};
	static const char *const cg_alone[] = { "penalty", "nonneg", "weigh", "tolerance", "curve", NULL };

	struct settings *s = &problem->s;
	const struct model *m = problem->m;
	bool only = m->method && strcmp(m->method, "cg") == 0;

	if (!recon_is_cg(s)) {
		if (only)
			return iso_fail(ISO_EARG, "'method' %s: model %s has data of both signs; 'method' cg",
			                s->method, m->name);
		return problem_refuse(problem, cg_alone, "this method; 'method' cg has it");
	}
	if (!only) return iso_fail(ISO_EARG, "'method' cg: model %s has none; svoxel and sradon do", m->name);
	int st = problem_refuse(problem, em_alone, "'method' cg");

	if (!st) st = parse_penalty(&s->squares);
	if (!st) st = check_curve(problem);
	return st ? st : check_proximal(problem);
}

/* ---- the run ---- */

struct run {
	iso_problem *problem;
	const struct model *m;
	const struct settings *s;
	struct iso_grid grid;
	struct iso_array x, series; /* series: of several images */
	struct model_data data;
	iso_op *op, *penalty;
	int64_t k;      /* the image under way */
	json_t *images; /* what those behind us are */
};

static bool several(const struct run *r)
{
	return problem_images(r->problem) > 1;
}

static bool by_area(const struct run *r)
{
	return r->s->squares.weigh && strcmp(r->s->squares.weigh, "area") == 0;
}

static int plan(const struct run *r)
{
	struct iso_plan p = problem_plan_begin(r->problem);

	iso_plan_add(&p, "image", iso_grid_voxels(&r->grid), sizeof(iso_real), false);
	iso_plan_add(&p, "data", r->m->rows(r->problem), 2 * sizeof(iso_real), false);
	if (several(r))
		iso_plan_add(&p, "images of all data", iso_grid_voxels(&r->grid),
		             problem_images(r->problem) * (int64_t)sizeof(iso_real), false);
	if (proximal(r->s))
		iso_fista_plan(&p, r->problem->ctx, iso_grid_voxels(&r->grid), r->m->rows(r->problem),
		               r->s->squares.mu > 0, r->s->squares.tv > 0);
	else
		iso_cg_plan(&p, r->problem->ctx, iso_grid_voxels(&r->grid), r->m->rows(r->problem),
		            r->s->squares.mu > 0);
	for (int k = 0; k < (by_area(r) ? 2 : 1); k++) /* weights work on a copy of the operator */
		r->m->plan(r->problem, &p, &r->s->by);
	if (by_area(r))
		iso_plan_add(&p, "weights", 3 * r->m->rows(r->problem) + iso_grid_voxels(&r->grid),
		             sizeof(iso_real), iso_ctx_is_cuda(r->problem->ctx));
	return problem_plan_end(r->problem, &p);
}

static int make_start(struct run *r)
{
	int st = recon_start(r->problem, &r->x, 0, ISO_FINITE);

	snprintf(r->x.unit, sizeof r->x.unit, "%s", r->m->unit(r->problem));
	return st;
}

static int load_data(struct run *r)
{
	const double *w;
	int64_t n;
	int st = r->m->data(r->problem, &r->data);

	if (st || !by_area(r) || (st = r->m->weights(r->problem, &w, &n))) return st;
	return iso_weigh_data(r->data.y, r->m->rows(r->problem), n, w);
}

static int make_op(struct run *r)
{
	const double *w;
	int64_t n;
	int st = r->m->op(r->problem, &r->op, &r->s->by);

	if (st || !by_area(r) || (st = r->m->weights(r->problem, &w, &n))) return st;
	return iso_weigh_rows(&r->op, n, w);
}

static bool wants(void *arg, int iteration)
{
	return recon_saves(((struct run *)arg)->s, iteration);
}

static int save_iteration(void *arg, int iteration, const iso_real *x)
{
	struct run *r = arg;
	struct iso_array a = r->x;
	char path[PATH_MAX];
	int st;

	if ((st = recon_iteration_path(path, sizeof path, r->s, 0, iteration))) return st;
	if ((st = record_result(r->problem->record, "iteration", json_integer(iteration)))) return st;
	a.v = (iso_real *)x;
	return problem_write_image(r->problem, path, &a);
}

/* What was made of which data, and how well they are met. */
static int add_image(struct run *r, const struct iso_cg_result *e)
{
	json_t *o = r->m->image_json(r->problem, (int64_t)json_array_size(r->images));

	if (!o) /* the data do not say */
		return ISO_OK;
	json_object_set_new(o, "cost", record_real(e->cost[e->n]));
	return json_array_append_new(r->images, o) ? iso_fail_memory("record", 1) : ISO_OK;
}

static int describe(struct run *r, const struct iso_cg_result *e)
{
	struct record *rec = r->problem->record;
	bool tv = r->s->squares.tv > 0;
	int st;

	if (e->unsaved)
		record_warn(rec, "%d checkpoints could not be written beside %s", e->unsaved, r->s->out);
	st = recon_describe(r->problem, "iterations", tv ? "tv" : "quadratic",
	                    record_pack("[I,f]", (json_int_t)e->n, tv ? r->s->squares.tv : r->s->squares.mu));
	if (st) return st;
	if (r->images && (st = add_image(r, e))) return st;
	if ((st = record_result(rec, "cost", record_reals(e->n + 1, e->cost)))) return st;
	if ((st = record_result(rec, "gradient", record_reals(e->n + 1, e->gradient)))) return st;
	if ((st = record_result(rec, "resumed_from_iteration", json_integer(e->resumed_from)))) return st;
	return record_result(rec, "iteration", json_integer(e->n));
}

static int write_curve(const char *path, const struct iso_cg_result *e)
{
	size_t size = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);
	int st;

	if (!f) return iso_fail_memory("curve", 1);
	fputs(CURVE_HEAD, f);
	for (int i = 0; i <= e->n; i++) {
		char line[96];

		iso_snprintf(line, sizeof line, "%d,%.17g,%.17g\n", i, e->cost[i], e->gradient[i]);
		fputs(line, f);
	}
	st = fclose(f) == 0 && text ? iso_out_text(path, text) : iso_fail_memory("curve", (int64_t)size);
	free(text);
	return st;
}

/* The change of the image stands in for the gradient. */
static int iterate_proximal(struct run *r, struct iso_cg_result *result, const struct iso_cg *cg,
                            const struct iso_run *run)
{
	const struct least_squares *q = &r->s->squares;
	const struct iso_fista fista = {
		.size = sizeof fista,
		.op = cg->op,
		.y = cg->y,
		.grid = r->grid,
		.penalty = cg->penalty,
		.mu = cg->mu,
		.tv = q->tv,
		.nonneg = q->nonneg,
		.iterations = cg->iterations,
		.tv_steps = 20,
	};
	struct iso_fista_result f = { .size = sizeof f };
	int st = iso_fista_run(r->x.v, &f, &fista, run);

	*result = (struct iso_cg_result){ sizeof *result, f.n, f.resumed_from, f.unsaved, f.cost, f.change };
	return st;
}

static int iterate(struct run *r, const char *checkpoint)
{
	const struct settings *s = r->s;
	struct iso_cg cg = {
		.size = sizeof cg,
		.op = r->op,
		.y = r->data.y,
		.penalty = r->penalty,
		.mu = s->squares.mu,
		.iterations = (int)s->iterations,
		.tolerance = s->squares.tolerance,
	};
	struct iso_run run = {
		.size = sizeof run,
		.checkpoint = checkpoint,
		.checkpoint_minutes = s->checkpoint_minutes,
		.stop_after_minutes = s->stop_after,
		.resume = s->resume,
		.each = save_iteration,
		.arg = r,
		.wants = wants,
	};
	struct iso_cg_result result = { .size = sizeof result };
	int st = recon_key(r->problem, &run.key, 0);

	if (st) return st;
	recon_begin_checkpoint(r->problem, checkpoint, 0);
	record_stage(r->problem->record, "reconstruct");
	st = proximal(s) ? iterate_proximal(r, &result, &cg, &run) : iso_cg_run(r->x.v, &result, &cg, &run);
	record_stage(r->problem->record, NULL);
	if (!st) st = describe(r, &result);
	if (!st) st = recon_check_image(r->problem, &r->x, several(r) ? r->k + 1 : 0);
	if (!st && s->squares.curve) st = write_curve(s->squares.curve, &result);
	iso_cg_result_free(&result);
	return st;
}

/* Each image begins at the start, and with the operator of all. */
static int next_image(struct run *r)
{
	int st;

	iso_array_free(&r->x);
	model_data_free(&r->data);
	if ((st = r->m->image(r->problem, r->k)) || (st = make_start(r))) return st;
	return load_data(r);
}

static int iterate_each(struct run *r)
{
	int64_t n = problem_images(r->problem);
	int st = problem_series(r->problem, &r->series, n);

	for (r->k = 0; r->k < n && !st; r->k++) {
		record_part(r->problem->record, "image", r->k + 1, n);
		if (r->k > 0 && (st = next_image(r))) break;
		if (!(st = iterate(r, NULL)))
			memcpy(r->series.v + r->k * r->x.n, r->x.v, (size_t)r->x.n * sizeof *r->x.v);
	}
	return st;
}

/* What belongs to one image. */
static int check_several(const struct run *r)
{
	static const char *const alone[] = { "save-every",         "resume", "stop-after",
		                             "checkpoint-minutes", "curve",  NULL };

	return several(r) ? problem_refuse(r->problem, alone, "several images") : ISO_OK;
}

static int reconstruct(struct run *r, struct iso_array *to)
{
	struct iso_array *made = several(r) ? &r->series : &r->x;
	char checkpoint[PATH_MAX];
	int st;

	if ((st = recon_checkpoint(checkpoint, sizeof checkpoint, r->s))) return st;
	if ((st = plan(r))) return st;
	if ((st = make_start(r))) return st;
	record_stage(r->problem->record, "data");
	if ((st = load_data(r)) || (st = make_op(r))) return st;
	if (r->s->squares.mu > 0 && (st = iso_smoothness_create(&r->penalty, r->problem->ctx, &r->grid)))
		return st;
	if ((st = several(r) ? iterate_each(r) : iterate(r, r->s->out ? checkpoint : NULL))) return st;
	if (json_array_size(r->images) > 0 &&
	    (st = record_result(r->problem->record, "images", json_incref(r->images))))
		return st;
	if (r->s->out && (st = problem_write_image(r->problem, r->s->out, made))) return st;
	if (r->s->out && !several(r)) unlink(checkpoint); /* there may have been none */
	if (to) {
		*to = *made;
		*made = (struct iso_array){ 0 };
	}
	return ISO_OK;
}

int recon_cg(iso_problem *problem, struct iso_array *to)
{
	const struct model *m = problem->m;
	struct run r = { .problem = problem, .m = m, .s = &problem->s };
	int st;

	r.grid = m->grid(problem);
	r.images = m->image_json ? json_array() : NULL;
	st = check_several(&r);
	if (!st) st = reconstruct(&r, to);
	iso_op_free(r.op);
	iso_op_free(r.penalty);
	model_data_free(&r.data);
	iso_array_free(&r.x);
	iso_array_free(&r.series);
	json_decref(r.images);
	return st;
}
