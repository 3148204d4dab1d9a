/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems: made, given their parameters, loaded, planned. What they do is in problem_work.c. */
#include "problem.h"

#include "core/comm.h"
#include "core/plan.h"
#include "core/room.h"
#include "core/size.h"
#include "io/format.h"
#include "text/nearest.h"

#include <assert.h>
#include <string.h>

/* ---- made ---- */

const char *iso_problem_model(int k)
{
	return model_at(k) ? model_at(k)->name : NULL;
}

const char *iso_problem_model_about(int k)
{
	return model_at(k) ? model_at(k)->about : NULL;
}

static int unknown_model(const char *name)
{
	const char *names[16], *near;
	int n = 0;

	for (; model_at(n) && n < 16; n++) names[n] = model_at(n)->name;
	near = iso_nearest(name, n, names);
	return iso_fail(ISO_EARG, "'%s' is not a model%s%s", name, near ? "; did you mean " : "",
	                near ? near : "");
}

static void fill_tables(iso_problem *p)
{
	struct settings *s = &p->s;
	const struct opt own[] = {
		{ 0, "psf", .real = s->psf, .count = 3, .spread = true, .value = "X,Y,Z", .min = 0,
		  .max = 1e5, .absent = "none", .unit = "mm", .goes = TAKES_COUNTS,
		  .help = "FWHM in mm of the point spread function of the image, one for all axes or "
		          "one each" },
		{ 0, "force", .flag = &p->force, .transient = true, .help = "replace an existing output" },
		{ 0, "accept", .text = &p->accept, .value = "CHECK,...", .absent = "none",
		  .help = "checks that only warn instead of refusing, separated by commas; a refusal "
		          "names its check" },
	};
	const struct opt_set sets[PROBLEM_SETS + 1] = {
		[SET_RECON] = { "Reconstruction", s->own },
		[SET_IMAGE] = { "Image", p->psf },
		[SET_MODEL] = { p->m->title, p->params },
		[SET_FRAMES] = frames_params(&s->frames),
		[SET_PENALTY] = map_params(&s->penalties, p->m, &s->words),
		[SET_STOP] = { "Interruption", s->stop },
		[SET_MEMORY] = p->m->follow ? p->m->follow_params(&s->follow)
		                            : (struct opt_set){ "Events that do not fit memory", s->stream },
		[SET_OUTPUT] = { "Output", p->more },
		[SET_UNITS] = units_params(&s->units),
		[SET_SQUARES] = cg_params(&s->squares),
		[SET_REPLICATES] = replicates_params(&s->replicates),
		[SET_KINETICS] = kinetics_params(&s->kinetics),
		[SET_CHECKS] = { "Checks", p->fit },
	};

	p->psf[0] = own[0];
	p->more[0] = own[1];
	p->fit[0] = own[2];
	memcpy(p->sets, sets, sizeof sets);
}

/* Defaults and tables of parameters. */
static void set_up(iso_problem *p)
{
	p->m->params(p->params, p->self);
	settings_begin(&p->s, p->m, p->m->streams_rows ? p->self : NULL);
	fill_tables(p);
}

/* *to becomes a copy of what a record says. */
static int copy_contents(json_t **to, const json_t *from)
{
	json_t *copy = json_deep_copy(from);

	if (!copy) return iso_fail_memory("record", 1);
	json_decref(*to);
	*to = copy;
	return ISO_OK;
}

int problem_create(iso_problem **out, const char *model, struct record *record)
{
	const struct model *m = model_find(model);
	iso_problem *p;
	int st = ISO_OK;

	if (!m) return unknown_model(model);
	if (!(p = calloc(1, sizeof *p))) return iso_fail_memory("problem", sizeof *p);
	p->m = m;
	p->record = record ? record : &p->own;
	p->kept = json_array();
	if (!(p->self = calloc(1, m->bytes)) || !(p->fresh = calloc(1, m->bytes)))
		st = iso_fail_memory("problem", (int64_t)m->bytes);
	else if (!record && !(st = record_begin(&p->own, "recon", NULL)))
		st = copy_contents(&p->blank, p->own.root);
	if (st) {
		iso_problem_free(p);
		return st;
	}
	set_up(p);
	*out = p;
	return ISO_OK;
}

bool iso_problem_knows(const char *name)
{
	/* no memory is taken: messages that tell of none pass here */
	max_align_t self[MODEL_BYTES / sizeof(max_align_t)];
	iso_problem p;

	for (int k = 0; name && model_at(k); k++) {
		memset(&p, 0, sizeof p);
		p.m = model_at(k);
		p.self = self;
		assert(p.m->bytes <= sizeof self);
		set_up(&p);
		if (opt_find(p.sets, name)) return true;
	}
	return false;
}

int iso_problem_create(iso_problem **p, iso_ctx *ctx, const char *model)
{
	int st;

	if (!p || !ctx || !model) return iso_fail_null(__func__);
	if ((st = problem_create(p, model, NULL))) return st;
	(*p)->ctx = (*p)->own.read.ctx = ctx;
	return ISO_OK;
}

void iso_problem_free(iso_problem *p)
{
	if (!p) return;
	problem_unload(p);
	frames_free(&p->s.frames);
	units_free(&p->s.units);
	kinetics_free(&p->s.kinetics);
	replicates_free(p->replicated);
	record_free(&p->own); /* of zeros where the record is a command's */
	json_decref(p->blank);
	json_decref(p->read);
	json_decref(p->kept);
	free(p->self);
	free(p->fresh);
	free(p);
}

void iso_problem_set_message(iso_problem *p, iso_message_fn fn, void *arg)
{
	if (!p) return;
	p->record->to.message = fn;
	p->record->to.arg = arg;
}

/* ---- loaded ---- */

int problem_begin_run(iso_problem *p)
{
	int st = p->record == &p->own ? copy_contents(&p->own.root, p->read) : ISO_OK;

	return st || p->record != &p->own ? st : record_started(&p->own);
}

static int load(iso_problem *p, int need, const struct iso_grid *image)
{
	int st;

	memcpy(p->fresh, p->self, p->m->bytes);
	p->loaded = need;
	p->found = (struct model_found){ .images = 1 };
	record_stage(p->record, "read");
	if ((st = problem_check_accept(p)) || (st = p->m->load(p, need, image)) ||
	    (st = iso_ctx_ready(p->ctx)) || (st = problem_check_inputs(p)))
		problem_unload(p);
	record_hash_forget(p->record); /* of a load that failed */
	return st;
}

/* What is read goes into a record of its own, with which each run begins. What the record says of a run stays
   until the next, or until a parameter is set. */
static int load_own(iso_problem *p, int need, const struct iso_grid *image)
{
	json_t *told = p->told ? json_incref(p->own.root) : NULL;
	int st = copy_contents(&p->own.root, p->blank);

	p->own.read.inputs = 0;
	if (!st) st = problem_record_parameters(p);
	if (!st) st = load(p, need, image);
	record_stage(&p->own, NULL);
	if (!st && (st = copy_contents(&p->read, p->own.root))) problem_unload(p);
	if (told) {
		json_decref(p->own.root);
		p->own.root = told;
	}
	return st;
}

int problem_load(iso_problem *p, int need, const struct iso_grid *image)
{
	bool same = !image || iso_grid_same(&p->found.grid, image);
	int st = p->m->preset ? p->m->preset(p) : ISO_OK;

	if (st) return st;
	if (p->loaded && (p->loaded & need) == need && same) return ISO_OK;
	problem_unload(p);
	return (p->record == &p->own ? load_own : load)(p, need, image);
}

void problem_unload(iso_problem *p)
{
	if (!p->loaded) return;
	p->m->unload(p);
	memcpy(p->self, p->fresh, p->m->bytes);
	p->loaded = 0;
}

struct iso_plan problem_plan_begin(const iso_problem *p)
{
	struct iso_plan plan = { 0 };

	if (p->record->read.inputs > 0) iso_plan_add(&plan, "inputs", p->record->read.inputs, 1, false);
	return plan;
}

int problem_plan_end(iso_problem *p, struct iso_plan *plan)
{
	int64_t voxels = iso_grid_voxels(&p->found.grid), rows = p->found.rows;
	int st;

	iso_plan_voxels(plan, voxels);
	p->record->split = (struct record_split){
		.ranks = iso_ranks(p->ctx),
		.by_rows = p->m->rows_split,
		.rows = rows,
		.exchanged = p->m->rows_split ? voxels * (int64_t)sizeof(int64_t)
		                              : (rows + voxels) * (int64_t)sizeof(iso_real),
	};
	st = problem_estimate(p, &p->record->split, iso_plan_check(p->ctx, plan) == ISO_OK);
	if (!st)
		st = p->record->to.plan ? p->record->to.plan(p->record->to.arg, plan)
		                        : iso_plan_check(p->ctx, plan);
	iso_plan_free(plan);
	return st;
}

/* ---- point spread function ---- */

bool problem_has_psf(const iso_problem *p)
{
	return p->s.psf[0] > 0 || p->s.psf[1] > 0 || p->s.psf[2] > 0;
}

int problem_add_psf(iso_problem *p, iso_op **op)
{
	iso_op *psf = NULL, *chain = NULL;
	int st;

	if (!problem_has_psf(p) || p->found.psf_inside) return ISO_OK;
	st = iso_psf_create(&psf, iso_op_ctx(*op), &p->found.grid, p->s.psf);
	if (!st) st = iso_chain_create(&chain, *op, psf);
	iso_op_free(psf);
	iso_op_free(*op);
	*op = chain;
	return st;
}

/* v = P* v, of an array on the host; a, b: room on the device. */
static int blur(iso_ctx *ctx, iso_op *psf, iso_real *v, iso_real *a, iso_real *b)
{
	int64_t bytes = iso_op_n_in(psf) * (int64_t)sizeof *v;
	const struct iso_vec *vec = iso_ctx_vec(ctx);
	int st;

	if ((st = vec->upload(ctx, a, v, bytes)) || (st = iso_adjoint(b, psf, ISO_ALL, a))) return st;
	return vec->download(ctx, v, b, bytes);
}

int problem_blur_sens(iso_problem *p, struct iso_array *s)
{
	return p->found.psf_inside ? ISO_OK : problem_blur(p, s);
}

int problem_blur(iso_problem *p, struct iso_array *s)
{
	struct iso_room room = iso_room_of(p->ctx, "sensitivity");
	iso_real *a, *b, *inside = NULL;
	iso_op *psf = NULL;
	int st;

	if (!problem_has_psf(p)) return ISO_OK;
	ISO_DEVICE(&room, a, s->n);
	ISO_DEVICE(&room, b, s->n);
	if (p->found.cut) ISO_HOST(&room, inside, s->n);
	st = room.status ? room.status : iso_psf_create(&psf, p->ctx, &s->grid, p->s.psf);
	for (int64_t i = 0; i < s->n && !st && inside; i++) inside[i] = s->v[i] > 0;
	if (!st) st = blur(p->ctx, psf, s->v, a, b);
	for (int64_t i = 0; i < s->n && !st && inside; i++) s->v[i] *= inside[i];
	if (!st && inside) st = blur(p->ctx, psf, inside, a, b);
	for (int64_t i = 0; i < s->n && !st && inside; i++)
		if (s->v[i] > 0) s->v[i] /= inside[i];
	iso_op_free(psf);
	iso_room_free(&room);
	return st;
}

/* ---- images ---- */

int problem_write_image(iso_problem *p, const char *path, const struct iso_array *image, const iso_ctx *stop)
{
	struct iso_array a = *image;

	if (p->m->flat && a.n_dim == 3 && iso_has_suffix(path, ".npy")) {
		a.n_dim = 2;
		memmove(a.dim, a.dim + 1, 2 * sizeof *a.dim);
		a.has_grid = false;
	}
	return record_write(p->record, path, &a, stop);
}
