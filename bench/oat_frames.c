/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases of benchmark oat: images in real time. One frame at a time it is pushed and its image is waited for; several
   together, the next are pushed before the images of the last are waited for. */
#include "oat.h"

#include <stdio.h>

enum { ITERATIONS = 50 };

struct frames {
	iso_sound_stream *stream;
	int batch;
	bool ahead;
	int16_t *frames; /* of a batch */
	iso_real *images;
};

static int once(struct frames *f)
{
	int n, st = iso_sound_stream_push(f->stream, f->frames, f->batch);

	return st ? st : iso_sound_stream_pull(f->images, &n, f->stream);
}

/* The first fills the pipe. */
static int time_frames(double *seconds, int n, struct frames *f)
{
	int st = f->ahead ? iso_sound_stream_push(f->stream, f->frames, f->batch) : ISO_OK;

	for (int i = 0; i < n && !st; i++) {
		double start_s = iso_now_s();

		st = once(f);
		seconds[i] = iso_now_s() - start_s;
	}
	return st;
}

static int add_row(const struct oat_run *r, double *seconds, double setup_s)
{
	const int batch = r->p.batch;
	const double pairs = 2 * ITERATIONS * oat_pairs(r);
	struct bench_row row = { .bench = "oat", .visits = pairs };
	const double first_s = seconds[0];

	row.time = bench_time((int)r->s->repeats, seconds + 1);
	for (int back = 0; back < 2; back++) row.limit_s += ITERATIONS * oat_least_s(r, back, &row.limit);
	const double s = row.time.median;

	row.more = record_pack("{s:s, s:s, s:f, s:i, s:i, s:I, s:I, s:f, s:f, s:f, s:f}", "case", r->name,
	                       "what", "frames", "accuracy", r->p.accuracy, "batch", batch, "iterations",
	                       ITERATIONS, "voxels", (json_int_t)iso_grid_voxels(&r->p.grid), "transducers",
	                       (json_int_t)r->t.n, "frames_per_s", batch / s, "pairs_per_s", pairs / s,
	                       "setup_s", setup_s, "first_s", first_s);
	iso_snprintf(row.problem, sizeof row.problem, "%s %g frames of %d", r->name, r->p.accuracy, batch);
	iso_snprintf(row.note, sizeof row.note,
	             "%d at a time, %d iterations: %.4g frames/s; %" PRId64 " of %" PRId64
	             " transducers; set-up %.3g s, first %.3g s",
	             batch, ITERATIONS, batch / s, r->t.n, r->all, setup_s, first_s);
	return bench_add(r->c, &row);
}

int oat_frames(const struct oat_run *r)
{
	const int64_t samples = r->p.batch * r->t.n * r->t.samples;
	const struct iso_sound_stream_setup setup = { .size = sizeof setup,
		                                      .model = &r->p,
		                                      .sample = ISO_SAMPLE_I16,
		                                      .penalty = "tikhonov",
		                                      .relative = 1e-3,
		                                      .nonneg = true,
		                                      .iterations = ITERATIONS };
	struct frames f = { .batch = r->p.batch, .ahead = r->p.batch > 1 };
	struct iso_room room = iso_room_of(r->c->ctx, "bench");
	double seconds[BENCH_MOST_REPEATS + 1], start_s = iso_now_s(), setup_s = 0;
	int st = iso_sound_stream_create(&f.stream, r->c->ctx, &setup);

	setup_s = iso_now_s() - start_s;
	ISO_HOST(&room, f.frames, samples);
	ISO_HOST(&room, f.images, r->p.batch * iso_grid_voxels(&r->p.grid));
	if (!st) st = room.status;
	for (int64_t i = 0; i < samples && !st; i++) f.frames[i] = (int16_t)(i * 40503 % 4093 - 2046);
	if (!st && !(st = time_frames(seconds, 1 + (int)r->s->repeats, &f)))
		st = add_row(r, seconds, setup_s);
	iso_sound_stream_free(f.stream);
	iso_room_free(&room);
	return st;
}
