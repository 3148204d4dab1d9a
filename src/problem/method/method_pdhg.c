/* SPDX-License-Identifier: BSD-3-Clause */
/* 'method' pdhg and spdhg: total variation without smoothing, of counts; pdhg of least squares too. */
#include "problem/problem.h"

#include "base/number.h"
#include "file/out.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct iso_pdhg pdhg_of(const struct recon *r)
{
	const struct settings *s = r->s;

	return (struct iso_pdhg){
		.size = sizeof(struct iso_pdhg),
		.op = r->op,
		.place = ISO_HOST,
		.grid = r->grid,
		.tv = s->how->fit ? s->squares.tv : s->penalties.beta,
		.nonneg = s->squares.nonneg,
		.subsets = s->how->shuffles,
		.keep_unseen = strcmp(s->penalties.unseen, "keep") == 0,
		.iterations = (int)s->iterations,
		.tolerance = s->penalties.tolerance,
		.seed = (uint64_t)s->seed,
	};
}

static const iso_real there = 0; /* of arrays that will be */

static void plan_counts(const struct recon *r, const struct recon_map *m, struct iso_plan *plan, int64_t rows,
                        int images)
{
	struct iso_pdhg p = pdhg_of(r);

	(void)m;
	(void)images;
	p.data = (struct iso_em_data){ &there, &there, &there };
	iso_pdhg_plan(plan, r->ctx, &p, iso_grid_voxels(&r->grid), rows);
}

static void plan_squares(const struct recon *r, struct iso_plan *plan, int64_t rows)
{
	struct iso_pdhg p = pdhg_of(r);

	p.y = &there;
	iso_pdhg_plan(plan, r->ctx, &p, iso_grid_voxels(&r->grid), rows);
}

/* ---- the record ---- */

/* One number of all looks, as a list. */
static json_t *list(const struct iso_pdhg_result *of, size_t at, double sign, size_t less)
{
	json_t *all = json_array();

	for (int i = 0; i < of->n_looks; i++) {
		const char *look = (const char *)&of->look[i];
		double v =
			sign * (*(const double *)(look + at) - (less ? *(const double *)(look + less) : 0));

		json_array_append_new(all, record_real(v));
	}
	return all;
}

#define LIST(of, name) list(of, offsetof(struct iso_pdhg_look, name), 1, 0)

/* Of a likelihood the objective is to be as great as can be, with the constants of EM's; of least squares the cost small. */
static json_t *looks(const struct iso_pdhg_result *of, bool likelihood)
{
	size_t cost = offsetof(struct iso_pdhg_look, cost), penalty = offsetof(struct iso_pdhg_look, penalty);
	json_t *o = record_pack("{s:o, s:o, s:o, s:o, s:o}", "passes", LIST(of, passes), "iterations",
	                        LIST(of, iterations), "penalty", LIST(of, penalty), "gap", LIST(of, gap),
	                        "relative_gap", LIST(of, relative));

	if (likelihood) json_object_set_new(o, "objective", list(of, cost, -1, 0));
	if (likelihood) json_object_set_new(o, "loglik", list(of, cost, -1, penalty));
	if (!likelihood) json_object_set_new(o, "cost", list(of, cost, 1, 0));
	return o;
}

static int write_curve(const char *path, const struct iso_pdhg_result *of, bool likelihood)
{
	size_t size = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);
	int st;

	if (!f) return iso_fail_memory("curve", 1);
	fprintf(f, "iteration,passes,%s,penalty,gap,relative_gap\n", likelihood ? "objective" : "cost");
	for (int i = 0; i < of->n_looks; i++) {
		const struct iso_pdhg_look *l = &of->look[i];
		char start[64];

		iso_snprintf(start, sizeof start, "%.17g,%.17g", l->iterations, l->passes);
		fputs(start, f);
		curve_number(f, likelihood ? -l->cost : l->cost);
		curve_number(f, l->penalty);
		curve_number(f, l->gap);
		curve_number(f, l->relative);
		fputc('\n', f);
	}
	st = fclose(f) == 0 && text ? iso_out_text(path, text) : iso_fail_memory("curve", (int64_t)size);
	free(text);
	return st;
}

static json_t *described(const struct recon *r, const struct iso_pdhg_result *of)
{
	const struct settings *s = r->s;
	const struct iso_pdhg_look *last = &of->look[of->n_looks - 1];
	json_t *o = record_pack("{s:i, s:f, s:s, s:s, s:I, s:f, s:i, s:f, s:f, s:b, s:o}", "subsets", s->by.n,
	                        "beta", s->penalties.beta, "penalty", "tv", "unseen", s->penalties.unseen,
	                        "unseen_voxels", (json_int_t)of->unseen, "passes", last->passes, "iterations",
	                        of->n, "gap", last->gap, "relative_gap", last->relative, "converged",
	                        of->converged, "looks", looks(of, true));

	return o;
}

/* ---- of counts ---- */

static int check_counts(iso_problem *problem)
{
	struct penalties *p = &problem->s.penalties;
	int st = map_check_likelihood(problem);

	if (!st) st = penalty_parse(p);
	return st ? st : penalty_check_sharp(p, problem->s.method);
}

/* One pass of EM from a uniform image. */
static int make_start(struct recon *r, const struct recon_sens *sens)
{
	const struct iso_em em = {
		.size = sizeof em,
		.op = r->op,
		.iterations = 1,
		.data = { r->data.y, r->data.add, r->data.mult },
		.sens = sens->parts,
		.grid = r->grid,
	};
	int st = map_start(r, sens->whole);

	return st ? st : iso_em_run(r->x.v, NULL, &em, NULL);
}

static void add_up(struct recon_map *m, const struct recon *r, const struct iso_pdhg_result *of)
{
	m->frames++;
	m->unseen = of->unseen;
	if (of->converged || of->stopped || !(r->s->penalties.tolerance > 0) || m->unfinished++ > 0) return;
	m->change = of->look[of->n_looks - 1].relative;
	m->passes = of->look[of->n_looks - 1].passes;
}

static void tell(const struct recon *r, const struct iso_pdhg_result *of)
{
	const struct iso_pdhg_look *last = &of->look[of->n_looks - 1];

	record_tell(r->record, ISO_NEWS,
	            "tv without smoothing: beta %.4g; duality gap %.3g, %.2g of the counts, after %.1f "
	            "passes over the "
	            "data",
	            r->s->penalties.beta, last->gap, last->relative, last->passes);
}

static int iterate(struct recon *r, struct recon_map *m, const struct recon_sens *sens,
                   struct recon_result *out)
{
	const struct settings *s = r->s;
	struct iso_pdhg p = pdhg_of(r);
	struct iso_pdhg_result of = { .size = sizeof of };
	int64_t rows = r->problem->found.rows - r->problem->found.elsewhere;
	struct iso_run run;
	int st;

	p.data = (struct iso_em_data){ r->data.y, r->data.add, r->data.mult };
	p.sens = sens->parts;
	if (!s->start && (st = make_start(r, sens))) return st;
	if ((st = recon_run(r, &run, true))) return st;
	st = iso_pdhg_run(r->x.v, &of, &p, &run);
	record_stage(r->record, NULL);
	if (!st) {
		int64_t skipped = r->data.y ? 0 : (int64_t)of.lost;

		*out = (struct recon_result){
			.used = of.counts > 0 ? rows - skipped : 0,
			.skipped = of.counts > 0 ? skipped : rows,
			.lost = of.lost,
			.resumed_from = of.resumed_from,
			.unsaved = of.unsaved,
			.updates = of.n * (p.subsets ? s->by.n : 1),
			.iterations = of.n,
			.stopped = of.stopped,
			.map = described(r, &of),
		};
		add_up(m, r, &of);
		tell(r, &of);
		if (s->penalties.curve) st = write_curve(s->penalties.curve, &of, true);
	}
	iso_pdhg_result_free(&of);
	return st;
}

/* ---- of least squares ---- */

static int check_squares(iso_problem *problem)
{
	const struct settings *s = &problem->s;
	int st = squares_check(problem);

	if (st || !(s->squares.mu > 0 || s->squares.relative > 0)) return st;
	return iso_fail(ISO_EARG, "'penalty' is '%s': 'method' pdhg has tv:MU alone; cg has %s",
	                s->penalties.text, s->squares.kind);
}

static int run_squares(struct recon *r, struct iso_pdhg_result *result)
{
	struct iso_pdhg p = pdhg_of(r);
	struct iso_run run;
	int st = recon_run(r, &run, !r->series);

	p.y = r->data.y;
	return st ? st : iso_pdhg_run(r->x.v, result, &p, &run);
}

/* Primal-dual: the looks take the place of the curves. */
static int fit(struct recon *r)
{
	const struct settings *s = r->s;
	struct iso_pdhg_result of = { .size = sizeof of };
	int st = run_squares(r, &of);

	record_stage(r->record, NULL);
	if (st) return st;
	const struct iso_pdhg_look *last = &of.look[of.n_looks - 1];

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
	if (!st) st = squares_add_image(r, last->cost);
	if (!st) st = record_result(r->record, "looks", looks(&of, false));
	if (!st) st = record_result(r->record, "converged", json_boolean(of.converged));
	if (!st) st = record_result(r->record, "resumed_from_iteration", json_integer(of.resumed_from));
	if (!st) st = record_result(r->record, "iteration", json_integer(of.n));
	if (!st) st = recon_check_image(r);
	if (!st && s->penalties.curve) st = write_curve(s->penalties.curve, &of, false);
	iso_pdhg_result_free(&of);
	return st;
}

/* ---- the rows ---- */

#define GAP "relative duality gap"

#define COUNTS                                                                                             \
	.needs = MODEL_COUNTS, .takes = TAKES_PHI, .start = "one pass of osem", .tolerance = 1e-4,         \
	.one_limit = true, .in_memory = true, .residual = GAP, .load = LOAD_COUNTS, .check = check_counts, \
	.run = recon_em, .plan = plan_counts, .settle = map_settle, .iterate = iterate, .warn = map_warn

const struct method pdhg_methods[] = {
	{
		.name = "pdhg",
		.about = "total variation that is not smoothed, from all data in each update",
		.iterations = 500,
		.subsets = 1,
		.more = "spdhg",
		COUNTS,
	},
	{
		.name = "spdhg",
		.about = "the same from 'subsets', which is quicker",
		.iterations = 100,
		.shuffles = true,
		COUNTS,
	},
	{
		.name = "pdhg",
		.about = "total variation with a duality gap that tells how near the end is",
		.needs = MODEL_SIGNS,
		.takes = TAKES_WORK | TAKES_PENALTY | TAKES_TOLERANCE | TAKES_SIGNS,
		.start = "0",
		.iterations = 500,
		.subsets = 1,
		.tolerance = 1e-4,
		.load = LOAD_SQUARES,
		.check = check_squares,
		.run = recon_squares,
		.plan_squares = plan_squares,
		.fit = fit,
	},
	{ 0 },
};
