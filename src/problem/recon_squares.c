/* SPDX-License-Identifier: BSD-3-Clause */
/* Reconstruction of data of both signs by penalised least squares, image by image; the updates are the method's. */
#include "problem.h"

#include "core/op.h"
#include "file/in.h"
#include "file/out.h"
#include "io/format.h"

#include <string.h>

/* ---- parameters ---- */

#define RELATIVE "rel="

/* KIND:MU, or of quadratic ones KIND:rel=R. */
static int parse_penalty(struct least_squares *p, const struct penalties *of)
{
	const char *text = of->text, *number = text ? strchr(text, ':') : NULL;
	size_t length = number ? (size_t)(number - text) : 0;
	const struct iso_penalty *k = NULL;
	bool relative = number && strncmp(number + 1, RELATIVE, strlen(RELATIVE)) == 0;
	double mu = 0;

	p->mu = p->tv = p->relative = 0; /* an earlier penalty's */
	p->kind = iso_penalty(0)->name;
	if (!text) return ISO_OK;
	if (number) number += relative ? 1 + strlen(RELATIVE) : 1;
	for (int i = 0; number && (k = iso_penalty(i)); i++)
		if (strlen(k->name) == length && strncmp(text, k->name, length) == 0) break;
	if (!k || (relative && k->proximal) || !iso_number(&mu, number, strlen(number)) || !(mu >= 0))
		return iso_fail(ISO_EARG, "'penalty' is '%s', must be KIND:MU with MU at least 0; %s", text,
		                of->help);
	*(k->proximal ? &p->tv : relative ? &p->relative : &p->mu) = mu;
	if (mu > 0) p->kind = k->name;
	return ISO_OK;
}

static bool is_curve(const char *path)
{
	static const char *const heads[] = { SQUARES_CURVE, "iteration,passes,cost," }; /* of cg; of pdhg */
	char head[sizeof SQUARES_CURVE] = "";
	FILE *f = NULL;
	int64_t size;

	if (iso_regular_fopen(&f, &size, path) != ISO_OK) return false;
	size = (int64_t)fread(head, 1, sizeof head - 1, f);
	fclose(f);
	return strncmp(head, heads[0], strlen(heads[0])) == 0 ||
	       strncmp(head, heads[1], strlen(heads[1])) == 0;
}

/* A run that was killed between curve and image finds its curve when it goes on. */
int squares_check(iso_problem *problem)
{
	struct settings *s = &problem->s;
	const char *curve = s->penalties.curve;
	int st = parse_penalty(&s->squares, &s->penalties);

	if (st || !curve) return st;
	return iso_target_check(curve, problem->force || (s->resume && is_curve(curve)));
}

/* ---- the run ---- */

static bool by_area(const struct recon *r)
{
	return r->s->squares.weigh && strcmp(r->s->squares.weigh, "area") == 0;
}

static int plan(const struct recon *r)
{
	const int copies = by_area(r) ? 2 : 1; /* weights work on a copy of the operator */
	int64_t voxels = iso_grid_voxels(&r->grid),
		rows = r->problem->found.rows - r->problem->found.elsewhere;
	struct iso_plan p = problem_plan_begin(r->problem);

	iso_plan_add(&p, "image", voxels, sizeof(iso_real), false);
	iso_plan_add(&p, "data", rows, 2 * sizeof(iso_real), false);
	if (r->series)
		iso_plan_add(&p, "images of all data", voxels, r->n * (int64_t)sizeof(iso_real), false);
	r->s->how->plan_squares(r, &p, rows);
	for (int k = 0; k < copies; k++) r->m->plan(r->problem, &p, &r->s->by);
	if (by_area(r))
		iso_plan_add(&p, "weights", 3 * rows + voxels, sizeof(iso_real), iso_ctx_is_cuda(r->ctx));
	return problem_plan_end(r->problem, &p);
}

/* Start and data of the image under way; the operator is that of all. */
static int prepare(struct recon *r)
{
	const bool weighs = by_area(r);
	const double *w = NULL;
	int64_t n = 0;
	int st;

	iso_array_free(&r->x);
	model_data_free(&r->data);
	if (r->k > 0 && (st = r->m->image(r->problem, r->k))) return st;
	if ((st = recon_start(r->problem, &r->x, 0, ISO_FINITE))) return st;
	if (r->k == 0) record_stage(r->record, "data");
	if ((st = r->m->data(r->problem, &r->data))) return st;
	if (weighs && ((st = r->m->weights(r->problem, &w, &n)) ||
	               (st = iso_weigh_data(r->data.y, r->problem->found.rows, n, w))))
		return st;
	if (r->op) return ISO_OK;
	if ((st = r->m->op(r->problem, &r->op, &r->s->by))) return st;
	if (weighs && (st = iso_weigh_rows(&r->op, n, w))) return st;
	struct least_squares *q = &r->problem->s.squares;

	if (q->relative > 0) {
		record_stage(r->record, "the largest eigenvalue");
		if ((st = iso_op_eigenvalue(&q->mu, r->op, iso_op_n_in(r->op)))) return st;
		q->mu *= q->relative;
	}
	if (!(q->mu > 0)) return ISO_OK;
	return iso_penalty_create(&r->penalty, r->ctx, r->s->squares.kind, &r->grid);
}

/* What was made of which data, and how well they are met. */
int squares_add_image(struct recon *r, double cost)
{
	json_t *o = r->m->image_json ? r->m->image_json(r->problem, r->k) : NULL;

	if (!o) return ISO_OK; /* the data do not say */
	json_object_set_new(o, "cost", record_real(cost));
	return json_array_append_new(r->results, o) ? iso_fail_memory("record", 1) : ISO_OK;
}

static int reconstruct(struct recon *r, struct iso_array *to)
{
	int st;

	if (r->series && (st = method_refuse(r->problem, TAKES_FILES, "several images"))) return st;
	if ((st = plan(r))) return st;
	if (r->series && (st = recon_series(r))) return st;
	for (; r->k < r->n; r->k++) {
		if (r->series) record_part(r->record, "image", r->k + 1, r->n);
		if ((st = prepare(r)) || (st = r->s->how->fit(r))) return st;
		recon_keep_image(r);
	}
	if ((st = recon_finish(r, to))) return st;
	if (r->s->out && !r->series) iso_out_remove(r->s->checkpoint); /* there may have been none */
	return ISO_OK;
}

int recon_squares(iso_problem *problem, struct iso_array *to)
{
	int64_t n = problem->found.images;
	struct recon r = recon_of(problem, n, n > 1);
	int st;

	problem_tell_idle(problem);
	st = reconstruct(&r, to);
	recon_free(&r);
	return st;
}
