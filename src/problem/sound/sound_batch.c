/* SPDX-License-Identifier: BSD-3-Clause */
/* 'batch' of model svoxel without 'follow': the images of all frames and wavelengths of a file, several at once, each
   with the bits that 'follow' gives it. */
#include "sound.h"

#include "core/size.h"
#include "isotome/sound_stream.h"

#include <stdlib.h>
#include <string.h>

enum { AHEAD = 2 }; /* pushes that may wait for their images */

struct state {
	struct recon r;
	struct sound *sound;
	struct iso_svoxel model;
	struct iso_sound_stream_setup setup;
	iso_sound_stream *stream;
	float *frames;    /* a batch */
	iso_real *images; /* the same */
	int64_t pushed;   /* images that were begun; r.k are there */
	int waiting;
};

static int plan(const struct state *f)
{
	struct iso_plan lines = problem_plan_begin(f->r.problem);
	int64_t voxels = iso_grid_voxels(&f->r.grid), frame = f->model.t->n * f->model.t->samples;

	iso_plan_add(&lines, "traces", (f->model.batch + 1) * frame, sizeof(float), false);
	iso_plan_add(&lines, "images of all data", (f->r.n + f->model.batch + 1) * voxels, sizeof(iso_real),
	             false);
	iso_sound_stream_plan(&lines, f->r.ctx, &f->setup);
	iso_svoxel_plan(&lines, f->r.ctx, &f->model);
	return problem_plan_end(f->r.problem, &lines);
}

static int prepare(struct state *f)
{
	int64_t frame = f->model.t->n * f->model.t->samples, batch = f->model.batch;
	int st;

	record_stage(f->r.record, "prepare");
	if ((st = iso_sound_stream_create(&f->stream, f->r.ctx, &f->setup))) return st;
	f->frames = size_alloc(batch * frame, sizeof *f->frames);
	f->images = size_alloc(batch * iso_grid_voxels(&f->r.grid), sizeof *f->images);
	if (!f->frames || !f->images)
		return iso_fail_memory("frames", batch * frame * (int64_t)sizeof *f->frames);
	if ((st = recon_start(f->r.problem, &f->r.x, 0, ISO_FINITE))) return st;
	record_stage(f->r.record, "reconstruct");
	return f->r.series ? recon_series(&f->r) : ISO_OK;
}

static int push(struct state *f)
{
	const struct iso_array *y = &f->sound->y;
	int n = 0, st = ISO_OK;

	for (; n < f->model.batch && f->pushed < f->r.n; n++, f->pushed++) {
		if (f->pushed > 0 && (st = sound_image(f->r.problem, f->pushed))) return st;
		for (int64_t i = 0; i < y->n; i++) f->frames[n * y->n + i] = (float)y->v[i];
	}
	f->waiting++;
	return iso_sound_stream_push(f->stream, f->frames, n);
}

static int pull(struct state *f)
{
	struct recon *r = &f->r;
	int n = 0, st = iso_sound_stream_pull(f->images, &n, f->stream);

	f->waiting--;
	for (int i = 0; i < n && !st; i++) {
		json_t *is = sound_image_json(r->problem, r->k);

		memcpy(r->x.v, f->images + i * r->x.n, (size_t)r->x.n * sizeof *r->x.v);
		if (is && json_array_append_new(r->results, is)) st = iso_fail_memory("record", 1);
		if (!st) st = recon_check_image(r);
		recon_keep_image(r);
		r->k++;
	}
	if (!st && r->series) record_part(r->record, "image", r->k, r->n);
	return st;
}

static int describe(struct state *f)
{
	struct iso_sound_stream_info is = { .size = sizeof is };
	const struct least_squares *q = &f->r.s->squares;
	int st = iso_sound_stream_look(&is, f->stream);

	if (!st)
		st = recon_describe(
			&f->r, "iterations", q->kind,
			record_pack("[I,f]", (json_int_t)is.iterations, q->tv > 0 ? q->tv : is.mu));
	if (!st) st = record_set(f->r.record, "ReconMethodName", json_string("fista over frames"));
	return st ? st : record_result(f->r.record, "eigenvalue", record_real(is.eigenvalue));
}

static int reconstruct(struct state *f, struct iso_array *to)
{
	int st = sound_stream(f->r.problem, &f->model, &f->setup);

	f->model.batch = (int)f->r.s->follow.batch;
	f->setup.model = &f->model;
	f->setup.sample = ISO_SAMPLE_F32;
	if (st || (st = plan(f)) || (st = prepare(f))) return st;
	while (f->r.k < f->r.n && !st) {
		if (f->pushed < f->r.n && f->waiting < AHEAD)
			st = push(f);
		else
			st = pull(f);
	}
	record_stage(f->r.record, NULL);
	if (st || (st = describe(f))) return st;
	return recon_finish(&f->r, to);
}

static int run(iso_problem *problem, struct iso_array *to)
{
	int64_t n = problem->found.images;
	struct state f = { .r = recon_of(problem, n, n > 1), .sound = problem->self };
	int st;

	problem_tell_idle(problem);
	st = f.sound->traces ? reconstruct(&f, to)
	                     : iso_fail(ISO_EARG, "'batch' is for traces, %s holds spectra", f.sound->data);
	iso_sound_stream_free(f.stream);
	free(f.frames);
	free(f.images);
	recon_free(&f.r);
	return st;
}

const struct method sound_batched = {
	.about = "several frames at once",
	.needs = MODEL_SIGNS,
	.takes = TAKES_ITERATIONS | TAKES_PENALTY | TAKES_SIGNS,
	.load = LOAD_SQUARES,
	.check = sound_follow_check,
	.run = run,
};
