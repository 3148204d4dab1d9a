/* SPDX-License-Identifier: BSD-3-Clause */
/* 'method' direct and fbp: an image without iterations. The model has the work. */
#include "problem/problem.h"

static int plan(const struct recon *r)
{
	struct iso_plan p = problem_plan_begin(r->problem);
	int64_t voxels = iso_grid_voxels(&r->grid);

	iso_plan_add(&p, "image", voxels, sizeof(iso_real), false);
	if (r->series)
		iso_plan_add(&p, "images of all data", voxels, r->n * (int64_t)sizeof(iso_real), false);
	r->m->plan(r->problem, &p, &r->s->by);
	return problem_plan_end(r->problem, &p);
}

static int make_direct(struct recon *r)
{
	int st;

	if ((st = plan(r))) return st;
	if ((st = iso_array_on_grid(&r->x, &r->grid))) return st;
	if (r->series && (st = recon_series(r))) return st;
	record_stage(r->record, "reconstruct");
	for (; r->k < r->n; r->k++) {
		if (r->k > 0 && (st = r->m->image(r->problem, r->k))) return st;
		if ((st = r->m->direct(r->problem, &r->x)) || (st = recon_check_image(r))) return st;
		if ((st = iso_live_image(r->record->to.live, &r->x))) return st;
		recon_keep_image(r);
		if (r->m->image_json) /* NULL, of data that do not say, is not appended */
			json_array_append_new(r->results, r->m->image_json(r->problem, r->k));
	}
	return record_set(r->record, "ReconMethodName", json_string(r->s->method));
}

static int run(iso_problem *problem, struct iso_array *to)
{
	int64_t n = problem->found.images > 1 ? problem->found.images : 1;
	struct recon r = recon_of(problem, n, n > 1);
	int st;

	problem_tell_idle(problem);
	st = make_direct(&r);
	if (!st) st = recon_finish(&r, to);
	recon_free(&r);
	return st;
}

/* Before data are read. */
static int check_analytic(iso_problem *problem)
{
	return problem->m->direct_check ? problem->m->direct_check(problem) : ISO_OK;
}

const struct method direct_methods[] = {
	{
		.name = "direct",
		.about = "without iterations, each event goes where it most likely came from",
		.needs = MODEL_EVENTS,
		.takes = TAKES_METHOD,
		.iterations = 10,
		.subsets = 1,
		.load = LOAD_COUNTS,
		.run = run,
	},
	{
		.name = "fbp",
		.about = "filtered back-projection",
		.needs = MODEL_FILTERS,
		.takes = TAKES_METHOD,
		.iterations = 10,
		.subsets = 1,
		.load = LOAD_COUNTS,
		.run = run,
	},
	{
		.name = "fbp",
		.about = "filtered back-projection of single-slice sinograms, for NEMA's resolution",
		.needs = MODEL_ANALYTIC,
		.takes = TAKES_METHOD | TAKES_WINDOW,
		.iterations = 10,
		.subsets = 1,
		.load = MODEL_NEEDS_DATA | MODEL_NEEDS_COUNTS,
		.check = check_analytic,
		.run = run,
	},
	{ 0 },
};
