/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of traces to images in real time: what is made once, and the order of a frame's work. */
#include "stream.h"

#include "core/comm.h"
#include "core/size.h"
#include "core/sized.h"

enum { ITERATIONS = 50, TV_STEPS = 10, MOST_BATCH = 4096, MOST_ITERATIONS = 100000 };

/* ---- the setup ---- */

static const int64_t sample_bytes[] = { 4, 2, 2 }; /* as enum iso_sample */

static int check_counts(const struct iso_sound_stream_setup *p, int batch)
{
	if (batch < 1 || batch > MOST_BATCH)
		return iso_fail(ISO_EARG, "sound stream: batch is %d, must be 1 to %d", batch, MOST_BATCH);
	if (p->iterations < 0 || p->iterations > MOST_ITERATIONS)
		return iso_fail(ISO_EARG, "sound stream: %d iterations, must be 1 to %d", p->iterations,
		                MOST_ITERATIONS);
	if (p->tv_steps < 0 || p->wavelengths < 0)
		return iso_fail(ISO_EARG,
		                "sound stream: %d steps of total variation and %d wavelengths, must be 1 or "
		                "more",
		                p->tv_steps, p->wavelengths);
	if ((unsigned)p->sample > ISO_SAMPLE_U16)
		return iso_fail(ISO_EARG, "sound stream: samples of kind %d, must be 0 to %d", (int)p->sample,
		                ISO_SAMPLE_U16);
	return ISO_OK;
}

static int check_penalty(const struct iso_penalty **kind, const struct iso_sound_stream_setup *p)
{
	const struct iso_penalty *k = NULL;

	*kind = NULL;
	if (!(p->strength >= 0 && p->relative >= 0) || !isfinite(p->strength) || !isfinite(p->relative))
		return iso_fail(ISO_EARG,
		                "sound stream: strengths of the penalty are %g and %g, must be at least 0",
		                p->strength, p->relative);
	for (int i = 0; p->penalty && (k = iso_penalty(i)) && strcmp(k->name, p->penalty); i++) continue;
	if (p->penalty && !k) return iso_fail(ISO_EARG, "sound stream: no penalty '%.60s'", p->penalty);
	if (k && k->proximal && p->relative > 0)
		return iso_fail(ISO_EARG, "sound stream: penalty %s has no relative strength", k->name);
	if (p->strength > 0 && p->relative > 0)
		return iso_fail(ISO_EARG, "sound stream: the penalty has two strengths, expected one");
	*kind = k;
	return ISO_OK;
}

static double *copy(struct iso_room *room, const double *v, int64_t n)
{
	double *to;

	if (!v) return NULL;
	if (ISO_HOST(room, to, n)) memcpy(to, v, (size_t)n * sizeof *to);
	return to;
}

/* The transducers are needed as long as frames come. */
static void copy_model(iso_sound_stream *s, const struct iso_svoxel *model)
{
	const struct iso_transducers *t = model->t;

	s->t = *t;
	s->t.pos = copy(&s->room, t->pos, 3 * t->n);
	s->t.normal = copy(&s->room, t->normal, 3 * t->n);
	s->t.ex = copy(&s->room, t->ex, 3 * t->n);
	s->t.ey = copy(&s->room, t->ey, 3 * t->n);
	s->t.aperture = copy(&s->room, t->aperture, 2 * t->n);
	s->t.area = NULL;
	s->t.eir = NULL; /* a part of the operator */
	s->t.n_eir = 0;
	s->model = *model;
	s->model.t = &s->t;
	s->model.eir = NULL;
	s->model.faces = NULL; /* and these */
	s->model.batch = 1;
}

/* ---- what is made once ---- */

/* Largest eigenvalue of the penalty's L: of smoothness 4 for each axis that has neighbours. */
static double steepest(const struct penalty *p)
{
	double most = 0;

	if (p->kind == PENALTY_SIZE) return 1;
	for (int a = 0; a < 3; a++) most += p->n[a] > 1 ? 4 : 0;
	return most;
}

static void make_step(iso_sound_stream *s, const struct iso_sound_stream_setup *p,
                      const struct iso_penalty *kind)
{
	const int64_t *n = s->model.grid.n;
	double mu = p->relative > 0 ? p->relative * s->eigenvalue : p->strength, slope = s->eigenvalue;
	struct stream_step *step = &s->step;

	if (!kind || kind->proximal) mu = 0;
	*step = (struct stream_step){
		.penalty = { PENALTY_SMOOTHNESS, { n[0], n[1], n[2] } },
		.prox = { { n[0], n[1], n[2] }, 0, p->nonneg },
		.smooth = mu > 0,
		.mu = (iso_real)mu,
		.frames = s->batch,
	};
	if (kind && strcmp(kind->name, "tikhonov") == 0) step->penalty.kind = PENALTY_SIZE;
	slope += mu * steepest(&step->penalty);
	step->step = (iso_real)(1 / slope);
	if (kind && kind->proximal) step->prox.lambda = p->strength / (2 * slope);
}

static void make_momentum(iso_sound_stream *s)
{
	double theta = 1;

	for (int k = 0; k < s->iterations; k++) {
		double next = (1 + sqrt(1 + 4 * theta * theta)) / 2;

		s->beta[k] = (theta - 1) / next;
		theta = next;
	}
}

static int make_arrays(iso_sound_stream *s)
{
	struct iso_room *room = &s->room;
	int64_t n, rows;

	if (!size_mul(&n, s->batch, s->voxels) || !size_mul(&rows, s->batch, s->rows))
		return iso_fail_memory("sound stream", INT64_MAX);
	ISO_DEVICE(room, s->x, n);
	ISO_DEVICE(room, s->z[0], n);
	ISO_DEVICE(room, s->z[1], n);
	ISO_DEVICE(room, s->g, n);
	ISO_DEVICE(room, s->u, rows);
	ISO_DEVICE(room, s->e, rows);
	if (s->warm) ISO_DEVICE(room, s->last, s->wavelengths * s->voxels);
	for (int i = 0; i < 2 && s->step.prox.lambda > 0; i++) ISO_DEVICE(room, s->dual[i], 3 * n);
	return room->status;
}

static int pick(const struct stream_fn **fn, iso_ctx *ctx)
{
	void *cuda = NULL;
	int st = iso_ctx_ready(ctx);

	if (st) return st;
	if (iso_ctx_is_cuda(ctx)) st = iso_cuda_symbol(&cuda, "iso_stream_cuda");
	*fn = cuda ? cuda : &iso_stream_cpu;
	return st;
}

static int fill(iso_sound_stream *s, const struct iso_sound_stream_setup *p, const struct iso_svoxel *model,
                const struct iso_penalty *kind)
{
	int st;

	s->batch = model->batch > 0 ? model->batch : 1;
	s->iterations = p->iterations ? p->iterations : ITERATIONS;
	s->tv_steps = p->tv_steps ? p->tv_steps : TV_STEPS;
	s->wavelengths = p->wavelengths ? p->wavelengths : 1;
	s->warm = p->warm;
	s->sample = p->sample;
	if ((st = pick(&s->fn, s->ctx)) || (st = iso_svoxel_create(&s->op, s->ctx, model))) return st;
	copy_model(s, model);
	ISO_HOST(&s->room, s->beta, s->iterations);
	if ((st = s->room.status)) return st;
	s->voxels = iso_grid_voxels(&s->model.grid);
	s->rows = 2 * s->model.lines * s->t.n;
	s->samples = s->t.n * s->t.samples;
	s->bytes = s->samples * sample_bytes[s->sample];
	if ((st = iso_op_eigenvalue(&s->eigenvalue, s->op, s->voxels))) return st;
	make_step(s, p, kind);
	make_momentum(s);
	return (st = make_arrays(s)) ? st : s->fn->open(s);
}

int iso_sound_stream_create(iso_sound_stream **out, iso_ctx *ctx, const struct iso_sound_stream_setup *given)
{
	struct iso_sound_stream_setup p;
	struct iso_svoxel model;
	const struct iso_penalty *kind;
	int st;

	if (!out || !ctx || !given || !given->model) return iso_fail_null(__func__);
	if ((st = iso_sized_take(&p, "iso_sound_stream_setup", sizeof p, given)) ||
	    (st = iso_sized_take(&model, "iso_svoxel", sizeof model, p.model)) ||
	    (st = check_counts(&p, model.batch > 0 ? model.batch : 1)) || (st = check_penalty(&kind, &p)))
		return st;
	if (iso_ranks(ctx) > 1)
		return iso_fail(ISO_EARG, "sound stream: %d ranks, must be one process", iso_ranks(ctx));
	iso_sound_stream *s = size_alloc(1, sizeof *s);

	if (!s) return iso_fail_memory("sound stream", sizeof *s);
	*s = (iso_sound_stream){ .ctx = iso_ctx_keep(ctx), .room = iso_room_of(ctx, "sound stream") };
	if ((st = fill(s, &p, &model, kind)))
		iso_sound_stream_free(s);
	else
		*out = s;
	return st;
}

void iso_sound_stream_free(iso_sound_stream *s)
{
	if (!s) return;
	if (s->fn) s->fn->close(s);
	iso_op_free(s->op);
	iso_room_free(&s->room);
	iso_ctx_free(s->ctx);
	free(s);
}

/* ---- a frame ---- */

/* H z of an image of zeros is known. */
int iso_stream_iterate(iso_sound_stream *s)
{
	const struct iso_vec *v = s->ctx->vec;
	int st = ISO_OK;

	for (int k = 0; k < s->iterations && !st; k++) {
		if (k == 0 && !s->warm)
			st = v->copy(s->ctx, s->batch * s->rows, s->e, s->u);
		else if (!(st = iso_forward(s->e, s->op, ISO_ALL, s->z[k % 2])))
			st = s->fn->residual(s);
		if (!st) st = iso_adjoint(s->g, s->op, ISO_ALL, s->e);
		if (!st) st = s->fn->step(s, k);
	}
	return st;
}

/* Where frame i of a push begins: at 0, or at the last image of its wavelength. */
static int start(iso_sound_stream *s, int n)
{
	const struct iso_vec *v = s->ctx->vec;
	int64_t all = s->batch * s->voxels;
	int st = v->fill(s->ctx, all, s->x, 0);

	for (int i = 0; s->warm && i < n && !st; i++)
		st = v->copy(s->ctx, s->voxels, s->x + i * s->voxels,
		             s->last + (s->frames + i) % s->wavelengths * s->voxels);
	for (int i = 0; i < 2 && s->dual[0] && !st; i++) st = v->fill(s->ctx, 3 * all, s->dual[i], 0);
	return st ? st : v->copy(s->ctx, all, s->z[0], s->x);
}

/* The last frame of each wavelength is where the next begins. */
static int remember(iso_sound_stream *s, int n)
{
	int st = ISO_OK;

	for (int i = n > s->wavelengths ? n - s->wavelengths : 0; s->warm && i < n && !st; i++)
		st = s->ctx->vec->copy(s->ctx, s->voxels,
		                       s->last + (s->frames + i) % s->wavelengths * s->voxels,
		                       s->x + i * s->voxels);
	return st;
}

/* A NaN or an infinity times 0 is no 0. */
static int check_frames(const iso_sound_stream *s, const float *v, int n)
{
	for (int i = 0; s->sample == ISO_SAMPLE_F32 && i < n; i++) {
		float sum = 0;

		for (int64_t k = 0; k < s->samples; k++) sum += 0 * v[i * s->samples + k];
		if (sum != 0)
			return iso_fail(ISO_EINPUT, "sound stream: frame %" PRId64 " holds no finite numbers",
			                s->frames + i + 1);
	}
	return ISO_OK;
}

int iso_sound_stream_push(iso_sound_stream *s, const void *frames, int n)
{
	int st;

	if (!s || !frames) return iso_fail_null(__func__);
	if (n < 1 || n > s->batch)
		return iso_fail(ISO_EARG, "sound stream: %d frames are pushed, must be 1 to %d", n, s->batch);
	if (s->waiting == STREAM_SLOTS)
		return iso_fail(ISO_EBUSY, "sound stream: %d pushes wait for their pull", STREAM_SLOTS);
	if ((st = iso_ctx_poll(s->ctx)) || (st = check_frames(s, frames, n))) return st;
	int slot = (s->head + s->waiting) % STREAM_SLOTS;

	s->n[slot] = n;
	if ((st = s->fn->take(s, slot, frames)) || (st = start(s, n)) || (st = s->fn->run(s)) ||
	    (st = remember(s, n)) || (st = s->fn->give(s, slot)))
		return st;
	s->waiting++;
	s->frames += n;
	return ISO_OK;
}

int iso_sound_stream_pull(iso_real *images, int *n, iso_sound_stream *s)
{
	int st;

	if (!images || !n || !s) return iso_fail_null(__func__);
	if (s->waiting == 0) return iso_fail(ISO_EARG, "sound stream: pull without a push");
	if ((st = s->fn->wait(s, s->head))) return st;
	*n = s->n[s->head];
	memcpy(images, s->image[s->head], (size_t)(*n * s->voxels) * sizeof *images);
	s->head = (s->head + 1) % STREAM_SLOTS;
	s->waiting--;
	return ISO_OK;
}

int iso_sound_stream_look(struct iso_sound_stream_info *info, const iso_sound_stream *s)
{
	if (!info || !s) return iso_fail_null(__func__);
	const struct iso_sound_stream_info ours = {
		.size = sizeof ours,
		.voxels = s->voxels,
		.bytes = s->bytes,
		.batch = s->batch,
		.iterations = s->iterations,
		.eigenvalue = s->eigenvalue,
		.mu = s->step.mu,
		.graph = s->graph,
		.frames = s->frames,
		.transducers = s->t.n,
		.samples = s->t.samples,
		.grid = s->model.grid,
	};

	return iso_sized_put(info, "iso_sound_stream_info", sizeof ours, &ours);
}

void iso_sound_stream_plan(struct iso_plan *plan, const iso_ctx *ctx,
                           const struct iso_sound_stream_setup *given)
{
	struct iso_sound_stream_setup p;
	struct iso_svoxel m;

	if (!plan || !ctx || !given || iso_sized_take(&p, "iso_sound_stream_setup", sizeof p, given) ||
	    iso_sized_take(&m, "iso_svoxel", sizeof m, p.model))
		return;
	int64_t batch = m.batch > 0 ? m.batch : 1, n = iso_grid_voxels(&m.grid), real = sizeof(iso_real);
	int64_t tv = p.penalty && strcmp(p.penalty, "tv") == 0, turns = p.wavelengths ? p.wavelengths : 1;
	int64_t frame = m.t ? m.t->n * m.t->samples * sample_bytes[p.sample] : 0;
	bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "images of a batch", batch * n, (4 + 6 * tv) * real, cuda);
	if (p.warm) iso_plan_add(plan, "last images", turns * n, real, cuda);
	if (m.t) iso_plan_add(plan, "spectra of a batch", batch * 2 * m.lines * m.t->n, 2 * real, cuda);
	if (cuda) {
		iso_plan_add(plan, "frames and the table of lines", batch * frame, 1, true);
		iso_plan_add(plan, "table of lines", 2 * m.lines * (m.t ? m.t->samples : 0), real, true);
	}
	iso_plan_add(plan, "frames and images that wait", STREAM_SLOTS * batch * (frame + n * real), 1,
	             false);
}
