/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems: made, given their parameters, loaded, planned. What they do is in problem_work.c. */
#include "problem.h"

#include "core/size.h"
#include "core/ctx.h"
#include "io/format.h"
#include "text/json_file.h"
#include "text/nearest.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- made ---- */

const char *iso_problem_model(int k)
{
	return model_at(k) ? model_at(k)->name : NULL;
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
	const struct opt psf = { 0,
		                 "psf",
		                 .real = s->psf,
		                 .count = 3,
		                 .spread = true,
		                 .value = "X,Y,Z",
		                 .min = 0,
		                 .max = 1e5,
		                 .absent = "none",
		                 .unit = "mm",
		                 .help = "point spread function of the image: FWHM in mm, one for all axes "
		                         "or one each" };
	const struct opt force = { 0, "force", .flag = &p->force, .transient = true,
		                   .help = "replace an existing output" };
	const struct opt_set sets[] = {
		{ "Reconstruction", s->own },
		{ "Image", p->psf },
		{ p->m->title, p->params },
		frames_params(&s->frames),
		cg_params(&s->squares),
		{ "Interruption", s->stop },
		p->m->follows ? follow_params(&s->follow)
			      : (struct opt_set){ "Events that do not fit memory", s->stream },
		{ "Output", p->more },
		{ 0 },
	};

	_Static_assert(sizeof sets <= sizeof p->sets, "room for the tables");
	p->psf[0] = psf;
	p->more[0] = force;
	memcpy(p->sets, sets, sizeof sets);
}

/* Defaults and tables of parameters. */
static void set_up(iso_problem *p)
{
	p->m->params(p->params, p->self);
	settings_begin(&p->s, p->m, p->m->streams_rows ? p->self : NULL);
	fill_tables(p);
}

int problem_create(iso_problem **out, const char *model, struct record *record)
{
	const struct model *m = model_find(model);
	iso_problem *p;
	int st;

	if (!m) return unknown_model(model);
	if (!(p = calloc(1, sizeof *p)) || !(p->self = calloc(1, m->bytes)) ||
	    !(p->fresh = calloc(1, m->bytes))) {
		iso_problem_free(p);
		return iso_fail_memory("problem", (int64_t)m->bytes);
	}
	p->m = m;
	p->record = record ? record : &p->own;
	if (!record && (st = record_begin(&p->own, "recon", NULL))) {
		iso_problem_free(p);
		return st;
	}
	set_up(p);
	*out = p;
	return ISO_OK;
}

bool problem_knows(const char *name)
{
	max_align_t self[4096 /
	                 sizeof(max_align_t)]; /* no memory is taken: messages that tell of none pass here */
	iso_problem p;

	for (int k = 0; model_at(k); k++) {
		memset(&p, 0, sizeof p);
		p.m = model_at(k);
		p.self = self;
		set_up(&p);
		if (opt_find(p.sets, name)) return true;
	}
	return false;
}

int iso_problem_create(iso_problem **p, iso_ctx *ctx, const char *model)
{
	int st;

	if (!p || !ctx || !model) return iso_fail(ISO_EARG, "problem: a NULL argument");
	if ((st = problem_create(p, model, NULL))) return st;
	(*p)->ctx = (*p)->own.ctx = ctx;
	return ISO_OK;
}

void iso_problem_free(iso_problem *p)
{
	if (!p) return;
	problem_unload(p);
	problem_forget(p);
	settings_free(&p->s);
	if (p->record == &p->own) record_free(&p->own);
	json_decref(p->like_records);
	free(p->self);
	free(p->fresh);
	free(p);
}

void iso_problem_set_message(iso_problem *p, iso_message_fn fn, void *arg)
{
	if (!p) return;
	p->record->message = fn;
	p->record->arg = arg;
}

/* ---- loaded ---- */

bool problem_given(const iso_problem *p, const char *name)
{
	const struct opt *o = opt_find(p->sets, name);

	return o && o->given;
}

int problem_refuse(const iso_problem *p, const char *const *names, const char *with)
{
	for (int i = 0; names[i] && !p->like; i++)
		if (problem_given(p, names[i]))
			return iso_fail(ISO_EARG, "'%s' does not go with %s", names[i], with);
	return ISO_OK;
}

int problem_record_parameters(iso_problem *p)
{
	json_t *all = json_object_get(p->record->root, "parameters"), *now = opt_to_json(p->sets);
	bool own = p->record == &p->own;
	int bad = !now || (own ? json_object_update(all, now) : json_object_update_existing(all, now)) ||
	          (own && json_object_set_new(all, "model", json_string(p->m->name)));

	json_decref(now);
	return bad ? iso_fail_memory("record", 1) : ISO_OK;
}

/* For all that is needed, and on the grid of the image, where there is one. */
static bool is_loaded(iso_problem *p, int need, const struct iso_grid *image)
{
	if (!p->loaded || (p->loaded & need) != need) return false;
	struct iso_grid g = p->m->grid(p);

	return !image || iso_grid_same(&g, image);
}

/* What was read before is read again; the inputs of a command's record may be others' too. */
void problem_drop_inputs(iso_problem *p, size_t left)
{
	json_t *inputs = json_object_get(p->record->root, "inputs");

	while (p->record == &p->own && json_array_size(inputs) > left)
		json_array_remove(inputs, json_array_size(inputs) - 1);
}

int problem_load(iso_problem *p, int need, const struct iso_grid *image)
{
	int st;

	if (is_loaded(p, need, image)) return ISO_OK;
	problem_unload(p);
	if (p->record == &p->own && (st = problem_record_parameters(p))) return st;
	memcpy(p->fresh, p->self, p->m->bytes);
	p->loaded = need;
	problem_drop_inputs(p, 0);
	if (p->record == &p->own) p->own.inputs = 0;
	record_stage(p->record, "read");
	if ((st = p->m->load(p, need, image))) problem_unload(p);
	p->read = json_array_size(json_object_get(p->record->root, "inputs"));
	return st;
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

	if (p->record->inputs > 0) iso_plan_add(&plan, "inputs", p->record->inputs, 1, false);
	return plan;
}

int problem_plan_end(iso_problem *p, struct iso_plan *plan)
{
	int st = p->record->plan ? p->record->plan(p->record->arg, plan) : iso_plan_check(plan, p->ctx);

	iso_plan_free(plan);
	return st;
}

int64_t problem_images(iso_problem *p)
{
	return p->m->images ? p->m->images(p) : 1;
}

/* ---- point spread function ---- */

bool problem_has_psf(const iso_problem *p)
{
	return p->s.psf[0] > 0 || p->s.psf[1] > 0 || p->s.psf[2] > 0;
}

int problem_add_psf(iso_problem *p, iso_op **op)
{
	struct iso_grid g = p->m->grid(p);
	iso_op *psf = NULL, *chain = NULL;
	int st;

	if (!problem_has_psf(p)) return ISO_OK;
	st = iso_psf_create(&psf, iso_op_ctx(*op), &g, p->s.psf);
	if (!st) st = iso_chain_create(&chain, *op, psf);
	iso_op_free(psf);
	if (st) return st;
	iso_op_free(*op);
	*op = chain;
	return ISO_OK;
}

int problem_blur_sens(iso_problem *p, struct iso_array *s)
{
	iso_ctx *ctx = p->ctx;
	const struct iso_vec *v = iso_ctx_vec(ctx);
	int64_t n = s->n, bytes = n * (int64_t)sizeof(iso_real);
	iso_real *a = NULL, *b = NULL;
	iso_op *psf = NULL;
	int st;

	if ((st = iso_psf_create(&psf, ctx, &s->grid, p->s.psf))) goto done;
	if ((st = iso_vec_alloc(ctx, &a, n))) goto done;
	if ((st = iso_vec_alloc(ctx, &b, n))) goto done;
	if ((st = v->upload(ctx, a, s->v, bytes))) goto done;
	if ((st = iso_adjoint(psf, ISO_ALL, b, a))) goto done;
	st = v->download(ctx, s->v, b, bytes);
done:
	v->free(ctx, a);
	v->free(ctx, b);
	iso_op_free(psf);
	return st;
}

/* ---- images ---- */

int problem_series(iso_problem *p, struct iso_array *series, int64_t n)
{
	struct iso_grid g = p->m->grid(p);
	int64_t dim[4] = { n, g.n[2], g.n[1], g.n[0] };
	int st = iso_array_create(series, 4, dim);

	if (st) return st;
	series->has_grid = true;
	series->grid = g;
	snprintf(series->unit, sizeof series->unit, "%s", p->m->unit(p));
	return ISO_OK;
}

int problem_write_image(iso_problem *p, const char *path, const struct iso_array *image)
{
	struct iso_array a = *image;

	if (p->m->flat && a.n_dim == 3 && iso_has_suffix(path, ".npy")) {
		a.n_dim = 2;
		memmove(a.dim, a.dim + 1, 2 * sizeof *a.dim);
		a.has_grid = false;
	}
	return record_write(p->record, path, &a);
}
