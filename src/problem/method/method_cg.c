/* SPDX-License-Identifier: BSD-3-Clause */
/* Reconstruction by penalised least squares: conjugate gradients, or FISTA. */
#include "problem/problem.h"

#include "base/number.h"
#include "file/out.h"
#include "file/in.h"
#include "core/status.h"
#include "io/format.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const weighs[] = { "equal", "area", NULL };

struct opt_set cg_params(struct least_squares *p)
{
	const struct opt opts[] = {
		{ 0, "nonneg", .flag = &p->nonneg, .help = "allow no voxel below 0" },
		{ 0, "weigh", .text = &p->weigh, .words = weighs, .value = "NAME", .absent = "equal",
		  .help = "equal: all data count alike; area: data count by the surface of their "
		          "transducer. area needs fewer iterations if an array is denser in some "
		          "places, as rings are at the poles" },
		{ 0 },
	};

	_Static_assert(sizeof p->opts == sizeof opts, "room for the options");
	memcpy(p->opts, opts, sizeof opts);
	return (struct opt_set){ "Least squares ('method' cg)", p->opts };
}

static int parse_penalty(struct least_squares *p, const struct penalties *of)
{
	const char *text = of->text, *number = text ? strchr(text, ':') : NULL;
	size_t length = number ? (size_t)(number - text) : 0;
	const struct iso_penalty *k = NULL;
	double mu = 0;

	p->mu = p->tv = 0; /* an earlier penalty's */
	p->kind = iso_penalty(0)->name;
	if (!text) return ISO_OK;
	for (int i = 0; number && (k = iso_penalty(i)); i++)
		if (strlen(k->name) == length && strncmp(text, k->name, length) == 0) break;
	if (!k || !iso_number(&mu, number + 1, strlen(number + 1)) || !(mu >= 0))
		return iso_fail(ISO_EARG, "'penalty' is '%s', must be KIND:MU with MU at least 0; %s", text,
		                of->help);
	*(k->proximal ? &p->tv : &p->mu) = mu;
	if (mu > 0) p->kind = k->name;
	return ISO_OK;
}

/* What conjugate gradients can't do, FISTA does. */
static bool proximal(const struct settings *s)
{
	return s->squares.tv > 0 || s->squares.nonneg;
}

#define CURVE_HEAD "iteration,cost,gradient\n"
#define LOOKS_HEAD "iteration,passes,cost," /* of method_pdhg.c */

static bool is_curve(const char *path)
{
	char head[sizeof CURVE_HEAD] = "";
	FILE *f = NULL;
	int64_t size;

	if (iso_regular_fopen(&f, &size, path) != ISO_OK) return false;
	size = (int64_t)fread(head, 1, sizeof head - 1, f);
	fclose(f);
	return strcmp(head, CURVE_HEAD) == 0 || strncmp(head, LOOKS_HEAD, strlen(LOOKS_HEAD)) == 0;
}

/* A run that was killed between curve and image finds its curve when it goes on. */
int cg_check(iso_problem *problem)
{
	static const char *const cg_alone[] = { "nonneg", "weigh", NULL };
	static const char *const tolerance[] = { "tolerance", NULL };
	struct settings *s = &problem->s;
	const struct model *m = problem->m;
	const char *curve = s->penalties.curve;
	bool cg = recon_is_cg(s), only = m->method && strcmp(m->method, "cg") == 0;

	if (!cg && only)
		return iso_fail(ISO_EARG, "'method' %s: model %s has data of both signs; 'method' cg",
		                s->method, m->name);
	if (!cg) return problem_refuse(problem, cg_alone, "this method; 'method' cg has it");
	if (strcmp(s->method, "spdhg") == 0)
		return iso_fail(ISO_EARG, "'method' spdhg: model %s has no subsets; 'method' pdhg", m->name);
	if (!only) return iso_fail(ISO_EARG, "'method' cg: model %s has none; svoxel and sradon do", m->name);
	int st = problem_refuse(problem, recon_em_params, recon_is_pdhg(s) ? "'method' pdhg" : "'method' cg");

	if (!st) st = parse_penalty(&s->squares, &s->penalties);
	if (!st && curve) st = iso_target_check(curve, problem->force || (s->resume && is_curve(curve)));
	if (!st && recon_is_pdhg(s) && s->squares.mu > 0)
		st = iso_fail(ISO_EARG, "'penalty' is '%s': 'method' pdhg has tv:MU alone; cg has %s",
		              s->penalties.text, s->squares.kind);
	if (!st && recon_is_pdhg(s) && !problem_given(problem, "tolerance")) s->penalties.tolerance = 1e-4;
	return st || !proximal(s) || recon_is_pdhg(s)
	               ? st
	               : problem_refuse(problem, tolerance, "'nonneg' or total variation");
}

/* ---- the run ---- */

struct run {
	struct recon r;
	bool by_area;
	iso_op *penalty;
};

static int plan(const struct run *c)
{
	const struct recon *r = &c->r;
	const struct least_squares *q = &r->s->squares;
	int64_t voxels = iso_grid_voxels(&r->grid),
		rows = r->problem->found.rows - r->problem->found.elsewhere;
	struct iso_plan p = problem_plan_begin(r->problem);

	iso_plan_add(&p, "image", voxels, sizeof(iso_real), false);
	iso_plan_add(&p, "data", rows, 2 * sizeof(iso_real), false);
	if (r->series)
		iso_plan_add(&p, "images of all data", voxels, r->n * (int64_t)sizeof(iso_real), false);
	if (recon_is_pdhg(r->s))
		pdhg_plan(r, &p, rows);
	else if (proximal(r->s))
		iso_fista_plan(&p, r->ctx, voxels, rows, q->mu > 0, q->tv > 0);
	else
		iso_cg_plan(&p, r->ctx, voxels, rows, q->mu > 0);
	for (int k = 0; k < (c->by_area ? 2 : 1); k++) /* weights work on a copy of the operator */
		r->m->plan(r->problem, &p, &r->s->by);
	if (c->by_area)
		iso_plan_add(&p, "weights", 3 * rows + voxels, sizeof(iso_real), iso_ctx_is_cuda(r->ctx));
	return problem_plan_end(r->problem, &p);
}

/* Start and data of the image under way; the operator is that of all. */
static int prepare(struct run *c)
{
	struct recon *r = &c->r;
	const double *w = NULL;
	int64_t n = 0;
	int st;

	iso_array_free(&r->x);
	model_data_free(&r->data);
	if (r->k > 0 && (st = r->m->image(r->problem, r->k))) return st;
	if ((st = recon_start(r->problem, &r->x, 0, ISO_FINITE))) return st;
	if (r->k == 0) record_stage(r->record, "data");
	if ((st = r->m->data(r->problem, &r->data))) return st;
	if (c->by_area && ((st = r->m->weights(r->problem, &w, &n)) ||
	                   (st = iso_weigh_data(r->data.y, r->problem->found.rows, n, w))))
		return st;
	if (r->op) return ISO_OK;
	if ((st = r->m->op(r->problem, &r->op, &r->s->by))) return st;
	if (c->by_area && (st = iso_weigh_rows(&r->op, n, w))) return st;
	if (!(r->s->squares.mu > 0)) return ISO_OK;
	return iso_penalty_create(&c->penalty, r->ctx, r->s->squares.kind, &r->grid);
}

/* What was made of which data, and how well they are met. */
static int add_image(struct recon *r, const struct iso_cg_result *e)
{
	json_t *o = r->m->image_json ? r->m->image_json(r->problem, r->k) : NULL;

	if (!o) return ISO_OK; /* the data do not say */
	json_object_set_new(o, "cost", record_real(e->cost[e->n]));
	return json_array_append_new(r->results, o) ? iso_fail_memory("record", 1) : ISO_OK;
}

static int describe(struct recon *r, const struct iso_cg_result *e)
{
	const struct least_squares *q = &r->s->squares;
	int st;

	if (e->unsaved)
		record_note(r->record, "%d checkpoints could not be written beside %s", e->unsaved,
		            r->s->out);
	st = recon_describe(r, "iterations", q->kind,
	                    record_pack("[I,f]", (json_int_t)e->n, q->tv > 0 ? q->tv : q->mu));
	if (!st) st = add_image(r, e);
	if (!st) st = record_result(r->record, "cost", record_reals(e->n + 1, e->cost));
	if (!st) st = record_result(r->record, "gradient", record_reals(e->n + 1, e->gradient));
	if (!st) st = record_result(r->record, "resumed_from_iteration", json_integer(e->resumed_from));
	return st ? st : record_result(r->record, "iteration", json_integer(e->n));
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
static int iterate_proximal(struct recon *r, struct iso_cg_result *result, const struct iso_cg *cg,
                            const struct iso_run *run)
{
	const struct iso_fista fista = {
		.size = sizeof fista,
		.op = cg->op,
		.y = cg->y,
		.grid = r->grid,
		.penalty = cg->penalty,
		.mu = cg->mu,
		.tv = r->s->squares.tv,
		.nonneg = r->s->squares.nonneg,
		.iterations = cg->iterations,
		.tv_steps = 20,
	};
	struct iso_fista_result f = { .size = sizeof f };
	int st = iso_fista_run(r->x.v, &f, &fista, run);

	*result = (struct iso_cg_result){
		sizeof *result, f.n, f.resumed_from, f.unsaved, f.cost, f.change, f.stopped,
	};
	return st;
}

/* Primal-dual: the looks take the place of the curves. */
static int iterate_pdhg(struct run *c)
{
	struct recon *r = &c->r;
	const struct settings *s = r->s;
	struct iso_pdhg_result of = { .size = sizeof of };
	int st = pdhg_squares(r, &of);

	record_stage(r->record, NULL);
	if (st) return st;
	const struct iso_pdhg_look *last = &of.look[of.n_looks - 1];
	double cost = last->cost;

	if (of.stopped) st = recon_stopped_early(r, of.n);
	if (!of.converged && !of.stopped && s->penalties.tolerance > 0)
		record_warn(r->record,
		            "not converged after %d iterations: relative duality gap %.3g, 'tolerance' is "
		            "%g; more "
		            "'iterations' do it",
		            of.n, last->relative, s->penalties.tolerance);
	if (of.unsaved)
		record_note(r->record, "%d checkpoints could not be written beside %s", of.unsaved,
		            r->s->out);
	if (!st)
		st = recon_describe(r, "iterations", "tv",
		                    record_pack("[I,f]", (json_int_t)of.n, s->squares.tv));
	if (!st) st = add_image(r, &(const struct iso_cg_result){ .cost = &cost });
	if (!st) st = record_result(r->record, "looks", pdhg_looks(&of, false));
	if (!st) st = record_result(r->record, "converged", json_boolean(of.converged));
	if (!st) st = record_result(r->record, "resumed_from_iteration", json_integer(of.resumed_from));
	if (!st) st = record_result(r->record, "iteration", json_integer(of.n));
	if (!st) st = recon_check_image(r);
	if (!st && s->penalties.curve) st = pdhg_write_curve(s->penalties.curve, &of, false);
	iso_pdhg_result_free(&of);
	return st;
}

static int iterate(struct run *c)
{
	struct recon *r = &c->r;
	const struct settings *s = r->s;
	struct iso_cg cg = {
		.size = sizeof cg,
		.op = r->op,
		.y = r->data.y,
		.penalty = c->penalty,
		.mu = s->squares.mu,
		.iterations = (int)s->iterations,
		.tolerance = s->penalties.tolerance,
	};
	struct iso_run run;
	struct iso_cg_result result = { .size = sizeof result };
	int st = recon_run(r, &run, !r->series);

	if (st) return st;
	st = proximal(s) ? iterate_proximal(r, &result, &cg, &run) : iso_cg_run(r->x.v, &result, &cg, &run);
	record_stage(r->record, NULL);
	if (!st && result.stopped) st = recon_stopped_early(r, result.n);
	if (!st) st = describe(r, &result);
	if (!st) st = recon_check_image(r);
	if (!st && s->penalties.curve) st = write_curve(s->penalties.curve, &result);
	iso_cg_result_free(&result);
	return st;
}

static int reconstruct(struct run *c, struct iso_array *to)
{
	static const char *const alone[] = { "save-every",         "resume", "stop-after",
		                             "checkpoint-minutes", "curve",  NULL };
	struct recon *r = &c->r;
	int st;

	if (r->series && (st = problem_refuse(r->problem, alone, "several images"))) return st;
	if ((st = plan(c))) return st;
	if (r->series && (st = recon_series(r))) return st;
	for (; r->k < r->n; r->k++) {
		if (r->series) record_part(r->record, "image", r->k + 1, r->n);
		if ((st = prepare(c)) || (st = recon_is_pdhg(r->s) ? iterate_pdhg(c) : iterate(c))) return st;
		recon_keep_image(r);
	}
	if ((st = recon_finish(r, to))) return st;
	if (r->s->out && !r->series) iso_out_remove(r->s->checkpoint); /* there may have been none */
	return ISO_OK;
}

int recon_cg(iso_problem *problem, struct iso_array *to)
{
	const char *weigh = problem->s.squares.weigh;
	int64_t n = problem->found.images;
	struct run c = { .r = recon_of(problem, n, n > 1), .by_area = weigh && strcmp(weigh, "area") == 0 };
	int st = reconstruct(&c, to);

	iso_op_free(c.penalty);
	recon_free(&c.r);
	return st;
}
