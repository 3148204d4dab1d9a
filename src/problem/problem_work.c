/* SPDX-License-Identifier: BSD-3-Clause */
/* What a problem does: operator, data, sensitivity, projections, image, record. */
#include "problem.h"

#include "core/comm.h"
#include "core/room.h"
#include "core/size.h"
#include "core/comm.h"
#include "file/out.h"
#include "io/format.h"

#include <string.h>

enum {
	ALL_ROWS = MODEL_NEEDS_DATA | MODEL_NEEDS_ADD,
};

static const struct model_subsets whole = { .n = 1 };

/* ---- calls that several ranks make together ---- */

/* What a call of the interface does on its way in and out: rank 0 alone writes files, and a failure of one rank is
   everybody's. Calls may be nested. */
struct call {
	iso_problem *p;
	bool was_mute;
};

static struct call enter(iso_problem *p)
{
	bool was_mute = iso_out_is_mute();

	iso_out_mute(was_mute || iso_rank(p->ctx) > 0);
	return (struct call){ p, was_mute };
}

static int leave(struct call c, int st)
{
	iso_out_mute(c.was_mute);
	return iso_comm_conclude(c.p->ctx->comm, st);
}

/* ---- what is loaded ---- */

static int need_of(const iso_problem *p)
{
	const struct method *how = p->s.how;

	return p->s.sens && how->takes & TAKES_COUNTS ? how->load & ~MODEL_NEEDS_SENS : how->load;
}

int iso_problem_check(iso_problem *p)
{
	return p ? settings_check(p) : iso_fail_null(__func__);
}

int iso_problem_load(iso_problem *p)
{
	if (!p) return iso_fail_null(__func__);
	struct call c = enter(p);
	int st = settings_check(p);

	return leave(c, st ? st : problem_load(p, need_of(p), NULL));
}

/* With rows in memory: what was loaded to be streamed serves only EM. */
static int load_rows(iso_problem *p, int need)
{
	int st = p->loaded && p->s.by.n ? ISO_OK : settings_check(p);

	if (!st) st = problem_load(p, need, NULL);
	if (!st && p->found.on_disk)
		st = iso_fail(ISO_EARG, "the events stay on disk: this needs them in memory");
	return st;
}

int iso_problem_grid(struct iso_grid *g, iso_problem *p)
{
	struct iso_grid settled;
	int st = MODEL_ASK_LOAD;

	if (!p || !g) return iso_fail_null(__func__);
	if (!p->loaded && p->m->grid) st = p->m->grid(p, &settled);
	if (st == ISO_OK) *g = settled;
	if (st != MODEL_ASK_LOAD) return st;
	st = p->loaded ? ISO_OK : iso_problem_load(p);
	if (!st) *g = p->found.grid;
	return st;
}

int64_t iso_problem_rows(iso_problem *p)
{
	return p && (p->loaded || iso_problem_load(p) == ISO_OK) ? p->found.rows : 0;
}

int64_t iso_problem_own_rows(iso_problem *p)
{
	int64_t rows = iso_problem_rows(p);

	return rows ? rows - p->found.elsewhere : 0;
}

int iso_problem_shape(int64_t dim[8], iso_problem *p)
{
	const struct model_found *is = p ? &p->found : NULL;

	if (!p || !dim || !(p->loaded || iso_problem_load(p) == ISO_OK)) return 0;
	memcpy(dim, is->n_dim ? is->dim : &is->rows, (size_t)(is->n_dim ? is->n_dim : 1) * sizeof *dim);
	return is->n_dim ? is->n_dim : 1;
}

static int make_op(iso_problem *p, iso_op **op)
{
	int st;

	if ((st = load_rows(p, MODEL_NEEDS_DATA))) return st;
	if ((st = p->m->op(p, op, p->s.by.n ? &p->s.by : &whole))) return st;
	return problem_add_psf(p, op);
}

int iso_problem_op(iso_op **op, iso_problem *p)
{
	if (!p || !op) return iso_fail_null(__func__);
	struct call c = enter(p);
	iso_op *made = NULL;
	int st = leave(c, make_op(p, &made));

	if (st)
		iso_op_free(made);
	else
		*op = made;
	return st;
}

int iso_problem_data(iso_real **y, iso_real **r, iso_real **m, iso_problem *p)
{
	if (!p || !y || !r || !m) return iso_fail_null(__func__);
	struct call c = enter(p);
	struct model_data d = { 0 };
	int st = load_rows(p, ALL_ROWS | MODEL_NEEDS_COUNTS);

	if (!st && p->m->data) st = p->m->data(p, &d);
	if ((st = leave(c, st))) {
		model_data_free(&d);
		return st;
	}
	*y = d.y;
	*r = d.add;
	*m = d.mult;
	return ISO_OK;
}

/* What was made goes to the caller, or nowhere. */
static int give(struct iso_array *to, struct iso_array *made, int st)
{
	if (st)
		iso_array_free(made);
	else
		*to = *made;
	return st;
}

/* ---- sensitivity ---- */

/* The model's own, and before that the plan, as `isotome sens` wants them. */
int problem_sens(iso_problem *p, struct iso_array *s)
{
	struct iso_plan plan = problem_plan_begin(p);
	int st;

	iso_plan_add(&plan, "sensitivity, and its second half", iso_grid_voxels(&p->found.grid),
	             2 * sizeof(iso_real), false);
	p->m->plan(p, &plan, &whole);
	if ((st = problem_plan_end(p, &plan))) return st;
	if (!p->m->sens) return iso_fail(ISO_EARG, "model %s has no sensitivity image", p->m->name);
	record_stage(p->record, "sensitivity");
	return p->m->sens(p, s);
}

int iso_problem_sens(struct iso_array *s, iso_problem *p)
{
	if (!p || !s) return iso_fail_null(__func__);
	struct iso_array made = { 0 };
	struct call c = enter(p);
	int st = problem_load(p, MODEL_NEEDS_SENS, NULL);

	if (!st) st = problem_sens(p, &made);
	if (!st) st = problem_blur_sens(p, &made);
	return give(s, &made, leave(c, st));
}

/* ---- projections ---- */

/* One application of the operator, its vectors on the device, and the data of the rows. */
struct apply {
	iso_problem *p;
	iso_op *op;
	struct model_data data;
	struct iso_room room;
	iso_real *x, *y;
	iso_real *sorted, *rows; /* on the host: rows in the operator's order; in the file's, with m */
};

static int prepare(struct apply *a, bool back)
{
	iso_problem *p = a->p;
	struct iso_plan plan = problem_plan_begin(p);
	int64_t voxels = iso_grid_voxels(&p->found.grid), n = p->found.rows - p->found.elsewhere;
	int st;

	if (p->found.number) iso_plan_add(&plan, "data of all ranks", p->found.rows, sizeof(iso_real), false);
	if (back) iso_plan_add(&plan, "image", voxels, sizeof(iso_real), false);
	iso_plan_add(&plan, "image to work on", voxels, sizeof(iso_real), iso_ctx_is_cuda(p->ctx));
	iso_plan_add(&plan, "data and factors", n, 4 * sizeof(iso_real), false);
	p->m->plan(p, &plan, &whole);
	if (problem_has_psf(p)) iso_psf_plan(&plan, p->ctx, &p->found.grid);
	if ((st = problem_plan_end(p, &plan))) return st;
	if (p->m->data && (st = p->m->data(p, &a->data))) return st;
	if ((st = p->m->op(p, &a->op, &whole)) || (st = problem_add_psf(p, &a->op))) return st;
	a->room = iso_room_of(p->ctx, "data");
	ISO_DEVICE(&a->room, a->x, iso_op_n_in(a->op));
	ISO_DEVICE(&a->room, a->y, n);
	ISO_HOST(&a->room, a->sorted, n);
	if (back || p->found.number) ISO_HOST(&a->room, a->rows, n);
	return a->room.status;
}

static void apply_free(struct apply *a)
{
	iso_room_free(&a->room);
	iso_op_free(a->op);
	model_data_free(&a->data);
}

static iso_real factor(const struct apply *a, int64_t j)
{
	return a->data.mult ? a->data.mult[j] : 1;
}

/* Place in the data of all ranks of row j. */
static int64_t place(const struct apply *a, int64_t j)
{
	return a->p->found.number ? a->p->found.number[j] : j;
}

/* n values, of which every rank has some, and 0 for the others: so their bits add up to the value. */
static int merge(iso_ctx *ctx, int st, iso_real *v, int64_t n)
{
	int64_t bytes = n * (int64_t)sizeof *v, words = bytes / 8, rest = 0;
	char *end = (char *)v + 8 * words;

	memcpy(&rest, end, (size_t)(bytes - 8 * words));
	st = iso_comm_sum(ctx, st, (int64_t *)v, words);
	st = iso_comm_sum(ctx, st, &rest, 1);
	memcpy(end, &rest, (size_t)(bytes - 8 * words));
	return st;
}

/* y = m (A P x) + r */
static int forward(struct apply *a, struct iso_array *y, const struct iso_array *x)
{
	iso_ctx *ctx = a->p->ctx;
	const struct iso_vec *v = iso_ctx_vec(ctx);
	bool parts = a->p->found.number;
	iso_real *rows = parts ? a->rows : y->v;
	int64_t n = iso_op_n_out(a->op);
	int st;

	if ((st = v->upload(ctx, a->x, x->v, x->n * (int64_t)sizeof *x->v))) return st;
	if ((st = iso_forward(a->y, a->op, ISO_ALL, a->x))) return st;
	if ((st = v->download(ctx, a->sorted, a->y, n * (int64_t)sizeof *y->v))) return st;
	iso_op_unsort(rows, a->op, a->sorted);
	for (int64_t j = 0; j < n; j++)
		y->v[place(a, j)] = rows[j] * factor(a, j) + (a->data.add ? a->data.add[j] : 0);
	return parts ? merge(ctx, ISO_OK, y->v, y->n) : ISO_OK;
}

/* x = P* A* (m y) */
static int backward(struct apply *a, struct iso_array *x, const struct iso_array *y)
{
	iso_ctx *ctx = a->p->ctx;
	const struct iso_vec *v = iso_ctx_vec(ctx);
	int st;

	int64_t n = iso_op_n_out(a->op);

	for (int64_t j = 0; j < n; j++) a->rows[j] = y->v[place(a, j)] * factor(a, j);
	iso_op_sort(a->sorted, a->op, a->rows);
	if ((st = v->upload(ctx, a->y, a->sorted, n * (int64_t)sizeof *y->v))) return st;
	if ((st = iso_adjoint(a->x, a->op, ISO_ALL, a->y))) return st;
	return v->download(ctx, x->v, a->x, x->n * (int64_t)sizeof *x->v);
}

static int project(iso_problem *p, struct iso_array *y, const struct iso_array *x, const char *name)
{
	struct apply a = { .p = p };
	struct iso_array made = { 0 }, image = *x;
	const struct model_found *is = &p->found;
	int st;

	if ((st = problem_load(p, ALL_ROWS, image.has_grid ? &image.grid : NULL))) return st;
	if (!image.has_grid && (st = iso_image_fit(&image, name, &is->grid))) return st;
	if (image.n != iso_grid_voxels(&is->grid))
		return iso_fail(ISO_EINPUT,
		                "%s: %" PRId64 " values, expected those of one image (%" PRId64 ")", name,
		                image.n, iso_grid_voxels(&is->grid));
	if ((st = prepare(&a, false))) goto done;
	if ((st = iso_array_create(&made, is->n_dim ? is->n_dim : 1, is->n_dim ? is->dim : &is->rows)))
		goto done;
	record_stage(p->record, "project");
	st = forward(&a, &made, &image);
done:
	apply_free(&a);
	return give(y, &made, st);
}

int problem_project(iso_problem *p, struct iso_array *y, const struct iso_array *x, const char *name)
{
	p->projects = true;
	int st = project(p, y, x, name);

	p->projects = false;
	return st;
}

int iso_problem_project(struct iso_array *y, iso_problem *p, const struct iso_array *x)
{
	if (!p || !y || !x || !x->v) return iso_fail_null(__func__);
	struct call c = enter(p);

	int own = problem_project(p, y, x, "the image to project"), st = leave(c, own);

	if (st && !own) iso_array_free(y); /* another rank failed */
	return st;
}

static int backproject(iso_problem *p, struct iso_array *x, const struct iso_array *y, const char *name,
                       const char *out)
{
	struct apply a = { .p = p };
	struct iso_array made = { 0 };
	int st;

	if (p->m->show) p->m->show(p, y);
	if ((st = problem_load(p, MODEL_NEEDS_DATA, NULL))) return st;
	if (out && (st = iso_write_check_grid(out, &p->found.grid))) return st;
	if (y->n != p->found.rows)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per event (%" PRId64 ")",
		                name, y->n, p->found.rows);
	if ((st = prepare(&a, true))) goto done;
	if ((st = iso_array_on_grid(&made, &p->found.grid))) goto done;
	record_stage(p->record, "backproject");
	st = backward(&a, &made, y);
done:
	apply_free(&a);
	return give(x, &made, st);
}

int problem_backproject(iso_problem *p, struct iso_array *x, const struct iso_array *y, const char *name,
                        const char *out)
{
	p->projects = true;
	int st = backproject(p, x, y, name, out);

	p->projects = false;
	return st;
}

int iso_problem_backproject(struct iso_array *x, iso_problem *p, const struct iso_array *y)
{
	if (!p || !x || !y || !y->v) return iso_fail_null(__func__);
	struct call c = enter(p);

	int own = problem_backproject(p, x, y, "the data to project back", NULL), st = leave(c, own);

	if (st && !own) iso_array_free(x);
	return st;
}

/* ---- scatter ---- */

int problem_scatter(iso_problem *p, const struct iso_array *image, struct iso_array *r, const char *table)
{
	const struct model_found *is = &p->found;
	iso_real *rows = NULL;
	int st;

	if (!p->m->scatter) return iso_fail(ISO_EARG, "model %s has no scatter; ray has", p->m->name);
	if (!image->has_grid) return iso_fail(ISO_EINPUT, "the image that scatters must lie on a grid");
	if ((st = problem_load(p, r ? MODEL_NEEDS_DATA : MODEL_NEEDS_SENS, &image->grid))) return st;
	if (!r) return p->m->scatter(p, image, NULL, table);
	if ((st = iso_array_create(r, 1, &is->rows)) ||
	    (st = model_vector(&rows, is->rows - is->elsewhere, "scatter")))
		return st;
	st = p->m->scatter(p, image, rows, table);
	for (int64_t j = 0; j < is->rows - is->elsewhere && !st; j++)
		r->v[is->number ? is->number[j] : j] = rows[j];
	free(rows);
	return is->number ? merge(p->ctx, st, r->v, r->n) : st;
}

int iso_problem_scatter(struct iso_array *r, const char *table, iso_problem *p, const struct iso_array *image)
{
	if (!p || !image || !image->v || (!r && !table)) return iso_fail_null(__func__);
	struct iso_array made = { 0 };
	struct call c = enter(p);
	int st = leave(c, problem_scatter(p, image, r ? &made : NULL, table));

	return r ? give(r, &made, st) : st;
}

/* ---- the image ---- */

/* Commands have checked theirs. */
static int check_files(iso_problem *p)
{
	int st;

	if (p->record != &p->own) return iso_write_check(p->s.out, true);
	if ((st = settings_check(p))) return st;
	return p->s.follow.on ? problem_check_output(p) : problem_check_files(p, NULL);
}

/* Whether the model is left with the last frame or image of its data, or with filtered traces. */
static bool leaves_a_part(iso_problem *p)
{
	if (p->s.follow.on) return false;
	return !p->s.frames.all ||
	       (p->m->image && (!(p->s.how->takes & TAKES_ITERATIONS) || p->found.images > 1));
}

/* After a run. */
static int settle(iso_problem *p, int st)
{
	if (leaves_a_part(p)) problem_unload(p);
	p->told = !st;
	return st;
}

/* No rank writes before all have looked at what stands there. */
static int reconstruct(iso_problem *p, struct iso_array *x, const char *path)
{
	bool complete;
	int st;

	p->s.since = record_since(p->ctx);
	p->s.began_s = p->s.since.began_s;
	if ((st = settings_out(&p->s, path))) return st;
	if (p->s.follow.on && iso_ranks(p->ctx) > 1)
		return iso_fail(ISO_EARG,
		                "'follow': data as they come are for one process, there are %d ranks",
		                iso_ranks(p->ctx));
	if (path && (st = iso_comm_agree(p->ctx, check_files(p)))) return st;
	if ((st = iso_problem_load(p)) || (st = problem_begin_run(p))) return st;
	if (path && (st = iso_write_check_grid(path, &p->found.grid))) return st;
	if ((st = recon_complete(p, &complete, x, path)) || complete) return settle(p, st);
	return settle(p, p->s.how->run(p, x));
}

/* Progress goes on to whoever the context tells. */
struct listeners {
	iso_live *live;
	iso_progress_fn fn;
	void *arg;
};

static void tell_both(void *arg, const struct iso_progress *progress)
{
	const struct listeners *l = arg;

	iso_live_progress(l->live, progress);
	if (l->fn) l->fn(l->arg, progress);
}

static int reconstruct_live(iso_problem *p, struct iso_array *x, const char *path)
{
	struct listeners both = { p->record->to.live, p->ctx->progress, p->ctx->progress_arg };
	int st;

	if (!both.live) return reconstruct(p, x, path);
	iso_ctx_set_progress(p->ctx, tell_both, &both);
	st = reconstruct(p, x, path);
	iso_ctx_set_progress(p->ctx, both.fn, both.arg);
	iso_live_can_save(both.live, false);
	return st;
}

int iso_problem_recon(struct iso_array *x, const char *path, iso_problem *p)
{
	if (!p || (!x && !path)) return iso_fail_null(__func__);
	struct call c = enter(p);
	int own = reconstruct_live(p, x, path), st = leave(c, own);

	if (x && st && !own) iso_array_free(x); /* another rank failed */
	return st;
}

void iso_problem_set_each(iso_problem *p, iso_iteration_fn fn, void *arg)
{
	if (!p) return;
	p->each = fn;
	p->each_arg = arg;
}

void iso_problem_set_live(iso_problem *p, iso_live *live)
{
	if (p) p->record->to.live = live;
}

/* A listener of the plan that keeps it, and ends the run. */
enum { PLANNED = 1 };

static int keep_plan(void *arg, struct iso_plan *plan)
{
	*(struct iso_plan *)arg = *plan;
	*plan = (struct iso_plan){ 0 };
	return PLANNED;
}

int iso_problem_plan(struct iso_plan *plan, iso_problem *p)
{
	struct iso_array x = { 0 };
	struct record before;
	bool told;
	int st;

	if (!p || !plan) return iso_fail_null(__func__);
	before = *p->record;
	told = p->told;
	json_incref(before.root);
	problem_unload(p);
	p->record->read.dry_run = true;
	p->record->to.plan = keep_plan;
	p->record->to.message = NULL;
	p->record->to.live = NULL;
	p->record->to.staged = NULL;
	p->record->to.arg = plan;
	st = iso_problem_recon(&x, NULL, p);
	problem_unload(p);
	json_decref(p->record->root);
	before.stage = p->record->stage;
	before.stage_began_s = p->record->stage_began_s;
	*p->record = before;
	p->told = told;
	return st == PLANNED ? ISO_OK : st;
}

int iso_problem_write(const char *path, iso_problem *p, const struct iso_array *a)
{
	if (!p || !path || !a) return iso_fail_null(__func__);
	struct call c = enter(p);
	int st = iso_write_check(path, p->force);

	if (!st) st = record_check_place(path, p->force);
	st = iso_comm_agree(p->ctx, st);
	return leave(c, st ? st : problem_write_image(p, path, a, p->ctx));
}

int iso_problem_record(char **text, iso_problem *p)
{
	return p && text ? record_text(p->record, text) : iso_fail_null(__func__);
}
