/* SPDX-License-Identifier: BSD-3-Clause */
/* 'method' cg: least squares by conjugate gradients; by FISTA, where the image has a bound or total variation. nncg: by
   conjugate gradients that keep to the bound. */
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
static const char *const preconditions[] = { "none", "image", NULL };

struct opt_set cg_params(struct least_squares *p)
{
	const struct opt opts[] = {
		{ 0, "nonneg", .flag = &p->nonneg, .goes = TAKES_SIGNS, .help = "allow no voxel below 0" },
		{ 0, "weigh", .text = &p->weigh, .words = weighs, .value = "NAME", .absent = "equal",
		  .goes = TAKES_SIGNS,
		  .help = "equal: all data count alike; area: data count by the surface of their "
		          "transducer. area needs fewer iterations if an array is denser in some "
		          "places, as rings are at the poles" },
		{ 0, "precondition", .text = &p->precondition, .words = preconditions, .value = "NAME",
		  .absent = "none", .goes = TAKES_PRECONDITION,
		  .help = "image: a step goes farther where the image is bright. This needs fewer iterations "
		          "if few transducers see an image that is mostly dark, as vessels are" },
		{ 0 },
	};

	_Static_assert(sizeof p->opts == sizeof opts, "room for the options");
	memcpy(p->opts, opts, sizeof opts);
	return (struct opt_set){ "Least squares", p->opts };
}

static bool projected(const struct settings *s)
{
	return s->how->takes & TAKES_PRECONDITION;
}

/* What conjugate gradients can't do, FISTA does. */
static bool proximal(const struct settings *s)
{
	return !projected(s) && (s->squares.tv > 0 || s->squares.nonneg);
}

/* FISTA knows no gradient that would fall. */
static int check(iso_problem *problem)
{
	int st = squares_check(problem);

	return st || !proximal(&problem->s)
	               ? st
	               : method_refuse(problem, TAKES_TOLERANCE, "'nonneg' or total variation");
}

static int check_projected(iso_problem *problem)
{
	int st = squares_check(problem);

	if (st || !(problem->s.squares.tv > 0)) return st;
	return iso_fail(ISO_EARG, "'method' nncg has no total variation: 'method' cg and pdhg have");
}

/* ---- the run ---- */

static void plan(const struct recon *r, struct iso_plan *plan, int64_t rows)
{
	const struct least_squares *q = &r->s->squares;
	int64_t voxels = iso_grid_voxels(&r->grid);
	bool smooth = q->mu > 0 || q->relative > 0;

	if (proximal(r->s))
		iso_fista_plan(plan, r->ctx, voxels, rows, smooth, q->tv > 0);
	else
		iso_cg_plan(plan, r->ctx, voxels, rows, smooth);
	if (projected(r->s))
		iso_plan_add(plan, "step without negative values", voxels, sizeof(iso_real),
		             iso_ctx_is_cuda(r->ctx));
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
	if (!st) st = squares_add_image(r, e->cost[e->n]);
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
	fputs(SQUARES_CURVE, f);
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

static int fit(struct recon *r)
{
	const struct settings *s = r->s;
	struct iso_cg cg = {
		.size = sizeof cg,
		.op = r->op,
		.y = r->data.y,
		.penalty = r->penalty,
		.mu = s->squares.mu,
		.iterations = (int)s->iterations,
		.tolerance = s->penalties.tolerance,
		.nonneg = projected(s),
		.by_image = s->squares.precondition && strcmp(s->squares.precondition, "image") == 0,
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

const struct method cg_methods[] = {
	{
		.name = "cg",
		.about = "least squares, by conjugate gradients",
		.needs = MODEL_SIGNS,
		.takes = TAKES_WORK | TAKES_PENALTY | TAKES_TOLERANCE | TAKES_SIGNS,
		.start = "0",
		.iterations = 10,
		.subsets = 1,
		.load = LOAD_SQUARES,
		.check = check,
		.run = recon_squares,
		.plan_squares = plan,
		.fit = fit,
	},
	{
		.name = "nncg",
		.about = "least squares without negative values, by conjugate gradients",
		.needs = MODEL_SIGNS,
		.takes = TAKES_WORK | TAKES_PENALTY | TAKES_TOLERANCE | TAKES_SIGNS | TAKES_PRECONDITION,
		.start = "0",
		.iterations = 10,
		.subsets = 1,
		.load = LOAD_SQUARES,
		.check = check_projected,
		.run = recon_squares,
		.plan_squares = plan,
		.fit = fit,
	},
	{ 0 },
};
