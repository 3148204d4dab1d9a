/* SPDX-License-Identifier: BSD-3-Clause */
/* Images without iterating: filtered back-projection, and events where they most likely came from. */
#include "problem.h"

#include "core/status.h"

#include <string.h>

struct run {
	iso_problem *problem;
	int64_t n;                  /* images that the data hold */
	struct iso_array x, series; /* series: all of them, if there are several */
	json_t *images;             /* what they are */
};

static int plan(struct run *r, const struct iso_grid *g)
{
	struct iso_plan p = problem_plan_begin(r->problem);

	iso_plan_add(&p, "image", iso_grid_voxels(g), sizeof(iso_real), false);
	if (r->n > 1)
		iso_plan_add(&p, "images of all data", iso_grid_voxels(g), r->n * (int64_t)sizeof(iso_real),
		             false);
	r->problem->m->plan(r->problem, &p, &r->problem->s.by);
	return problem_plan_end(r->problem, &p);
}

static int make_each(struct run *r)
{
	const struct model *m = r->problem->m;
	int st = ISO_OK;

	for (int64_t k = 0; k < r->n && !st; k++) {
		if (k > 0 && (st = m->image(r->problem, k))) break;
		if (!(st = m->direct(r->problem, &r->x)))
			st = recon_check_image(r->problem, &r->x, r->n > 1 ? k + 1 : 0);
		if (!st && r->n > 1)
			memcpy(r->series.v + k * r->x.n, r->x.v, (size_t)r->x.n * sizeof *r->x.v);
		if (!st && m->image_json) /* NULL, of data that do not say, is not appended */
			json_array_append_new(r->images, m->image_json(r->problem, k));
	}
	return st;
}

static int run(struct run *r, struct iso_array *to)
{
	iso_problem *problem = r->problem;
	struct record *rec = problem->record;
	struct iso_grid g = problem->m->grid(problem);
	struct iso_array *made = r->n > 1 ? &r->series : &r->x;
	int st;

	if ((st = plan(r, &g))) return st;
	if ((st = iso_array_on_grid(&r->x, &g))) return st;
	if (r->n > 1 && (st = problem_series(problem, &r->series, r->n))) return st;
	record_stage(rec, "reconstruct");
	if ((st = make_each(r))) return st;
	if ((st = record_set(rec, "ReconMethodName", json_string(problem->s.method)))) return st;
	if (json_array_size(r->images) > 0 && (st = record_result(rec, "images", json_incref(r->images))))
		return st;
	if (problem->s.out && (st = problem_write_image(problem, problem->s.out, made))) return st;
	if (to) {
		*to = *made;
		*made = (struct iso_array){ 0 };
	}
	return ISO_OK;
}

int recon_direct(iso_problem *problem, struct iso_array *to)
{
	struct run r = { .problem = problem, .n = problem_images(problem), .images = json_array() };
	int st = run(&r, to);

	json_decref(r.images);
	iso_array_free(&r.series);
	iso_array_free(&r.x);
	return st;
}
