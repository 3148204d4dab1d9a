/* SPDX-License-Identifier: BSD-3-Clause */
/* 'follow' of model svoxel: images of frames of traces as they come, each by the same number of iterations
   (isotome/sound_stream.h). Without 'warm' an image depends on its frame alone. */
#include "sound.h"
#include "frame_queue.h"
#include "kept.h"

#include "core/progress.h"
#include "core/size.h"
#include "isotome/sound_stream.h"
#include "problem/follow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_S .1  /* for frames; a signal is noticed after this at the latest */
#define IDLE_S 10. /* a file that does not grow any more */

enum { ITERATIONS = 50, LATENCIES = 4096, NM_MOST = 64 };

static const char *const samples[] = { "f32", "i16", "u16", NULL }; /* as enum iso_sample */
static const char *const lags[] = { "drop", "wait", NULL };

struct state {
	struct recon r; /* x: the last image */
	struct sound *sound;
	struct iso_svoxel model;
	struct iso_sound_stream_setup setup;
	struct iso_sound_stream_info info;
	double nm[NM_MOST];
	int64_t set, group; /* wavelengths; frames that are taken together */
	bool drop;
	iso_frame_file *file;
	frame_queue *queue;
	iso_sound_stream *stream;
	struct kept *kept; /* of 'keep' */
	uint8_t *frames;   /* a group */
	iso_real *images;  /* a batch */
	double *came_s;    /* of a group */
	double *flying_s;  /* when the frames came that are under way: flying of them */
	int64_t flying;
	int pushed; /* groups of frames that wait for their images */
	double latency_s[LATENCIES];
	int64_t in, dropped, worked, cut; /* cut: bytes of half a frame */
	double began_s, first_s, last_s;
	struct following is;
};

/* ---- options ---- */

struct opt_set sound_follow_params(struct follow *f)
{
	const struct opt opts[] = {
		{ 0, "follow", .flag = &f->on,
		  .help = "make images of frames while they come: 'data' is a pipe, a file that grows, or - "
		          "for "
		          "standard input. It holds frames (transducers, samples), one behind the other, "
		          "with or without the head of a .npy file. An image takes 'iterations' (50) steps "
		          "of FISTA. "
		          "The run ends with the pipe, after 'idle-s', or on Ctrl-C" },
		{ 0, "sample-type", .text = &f->sample_type, .words = samples, .with = "follow",
		  .value = "TYPE",
		  .help = "numbers of a frame, little-endian; the head of a .npy file wins" },
		{ 0, "wavelengths", .text = &f->wavelengths, .with = "follow", .value = "NM,...",
		  .absent = "one", .help = "wavelengths in nm: frames come in this turn" },
		{ 0, "batch", .integer = &f->batch, .value = "B", .min = 1, .max = 4096, .absent = "1",
		  .help = "frames that are worked on together: more frames a second, each later. Without "
		          "'follow', "
		          "all that 'frame' and 'wavelength' choose are made as 'follow' makes them" },
		{ 0, "warm", .flag = &f->warm, .with = "follow",
		  .help = "start from the last image of the same wavelength, so that fewer 'iterations' do. "
		          "An "
		          "image then depends on the frames before it" },
		{ 0, "lag", .text = &f->lag, .words = lags, .with = "follow", .value = "RULE",
		  .absent = "drop for a pipe, wait for a file",
		  .help = "if frames come faster than images are made: drop all but the newest, or let the "
		          "pipe "
		          "wait" },
		{ 0, "every-s", .real = &f->every_s, .with = "follow", .unit = "s", .value = "S", .min = .1,
		  .max = 1e6, .absent = "1",
		  .help = "write image and picture again after this many seconds" },
		{ 0, "keep", .flag = &f->keep, .with = "follow",
		  .help = "append every image to the output, a .npy (images, nz, ny, nx)" },
		{ 0, "idle-s", .real = &f->idle_s, .with = "follow", .unit = "s", .value = "S", .min = 0,
		  .max = 1e9, .absent = "10 for a file, never for a pipe",
		  .help = "end after this many seconds without frames; 0: never" },
		{ 0, "picture", .text = &f->picture, .with = "follow", .file = OPT_WRITES, .value = "FILE",
		  .absent = "the output's name with .png", .help = "picture of the last image" },
		{ 0 },
	};

	_Static_assert(sizeof opts <= sizeof f->opts, "room for the options");
	f->sample_type = "i16";
	f->every_s = 1;
	memcpy(f->opts, opts, sizeof opts);
	return (struct opt_set){ "Following a scan", f->opts };
}

int sound_follow_check(iso_problem *problem)
{
	int st = squares_check(problem);

	if (!st && problem_given(problem, "weigh"))
		st = iso_fail(ISO_EARG, "'weigh' does not go with '%s'",
		              problem->s.follow.on ? "follow" : "batch");
	if (!problem_given(problem, "iterations")) problem->s.iterations = ITERATIONS;
	return st;
}

/* ---- before the first frame ---- */

static int parse_wavelengths(struct state *f)
{
	const char *at = f->r.s->follow.wavelengths;

	for (f->set = 0; at && f->set < NM_MOST; at = *at ? at + 1 : NULL) {
		size_t n = strcspn(at, ",");

		if (!iso_number(&f->nm[f->set], at, n) || !(f->nm[f->set] > 0))
			return iso_fail(ISO_EARG,
			                "'wavelengths' is '%s', must be numbers above 0 with commas",
			                f->r.s->follow.wavelengths);
		f->set++;
		at += n;
	}
	if (at) return iso_fail(ISO_EARG, "'wavelengths' are more than %d", NM_MOST);
	if (f->set == 0) f->set = 1;
	return ISO_OK;
}

int sound_stream(iso_problem *problem, struct iso_svoxel *model, struct iso_sound_stream_setup *setup)
{
	const struct settings *s = &problem->s;
	const struct least_squares *q = &s->squares;
	bool penalised = q->mu > 0 || q->relative > 0 || q->tv > 0;

	*setup = (struct iso_sound_stream_setup){
		.size = sizeof *setup,
		.penalty = penalised ? q->kind : NULL,
		.strength = q->tv > 0 ? q->tv : q->mu,
		.relative = q->relative,
		.nonneg = q->nonneg,
		.iterations = (int)s->iterations,
	};
	return sound_svoxel(model, problem);
}

static int make_setup(struct state *f)
{
	const struct follow *o = &f->r.s->follow;
	int64_t batch = o->batch > 0 ? o->batch : 1;
	int st = sound_stream(f->r.problem, &f->model, &f->setup);

	f->model.batch = (int)batch;
	f->setup.model = &f->model;
	f->setup.sample = (enum iso_sample)opt_place(samples, o->sample_type);
	f->setup.warm = o->warm;
	f->setup.wavelengths = (int)f->set;
	f->group = f->set > batch ? f->set : batch / f->set * f->set;
	return st;
}

static int plan(const struct state *f)
{
	struct iso_plan lines = problem_plan_begin(f->r.problem);
	int64_t frame = f->model.t->n * f->model.t->samples * (f->setup.sample == ISO_SAMPLE_F32 ? 4 : 2);

	iso_plan_add(&lines, "frames that wait", 3 * f->group + f->set + 1, frame, false);
	iso_plan_add(&lines, "images", (f->model.batch + 1) * iso_grid_voxels(&f->r.grid), sizeof(iso_real),
	             false);
	iso_sound_stream_plan(&lines, f->r.ctx, &f->setup);
	iso_svoxel_plan(&lines, f->r.ctx, &f->model);
	return problem_plan_end(f->r.problem, &lines);
}

static void look(struct state *f, bool end)
{
	follow_look(&f->is, &f->r, end, "end of the frames", "no more frames came");
}

/* The head of the frames, or their first bytes. */
static int begin(struct state *f)
{
	const struct follow *o = &f->r.s->follow;
	bool ready = false, end = false;
	int st = iso_frame_file_open(&f->file, f->sound->data, f->model.t->n, f->model.t->samples,
	                             f->setup.sample);

	if (st) return st;
	f->drop = o->lag ? strcmp(o->lag, "drop") == 0 : iso_frame_file_is_pipe(f->file);
	f->is.idle_s = problem_given(f->r.problem, "idle-s") ? o->idle_s
	               : iso_frame_file_ends(f->file)        ? 0
	                                                     : IDLE_S;
	while (!ready && !f->is.ended) {
		double start = iso_now_s();

		if ((st = iso_frame_file_begin(&ready, &end, f->file, WAIT_S))) return st;
		f->is.waited_s += iso_now_s() - start;
		if (!ready) look(f, end);
	}
	f->is.waited_s = 0;
	f->setup.sample = iso_frame_file_sample(f->file);
	return ISO_OK;
}

static int prepare(struct state *f)
{
	int64_t batch = f->model.batch, bytes = iso_frame_file_bytes(f->file);
	int st;

	record_stage(f->r.record, "prepare");
	if ((st = iso_sound_stream_create(&f->stream, f->r.ctx, &f->setup))) return st;
	f->info.size = sizeof f->info;
	if ((st = iso_sound_stream_look(&f->info, f->stream))) return st;
	f->frames = size_alloc(f->group, bytes);
	f->came_s = size_alloc(f->group, sizeof *f->came_s);
	f->flying_s = size_alloc(2 * batch, sizeof *f->flying_s);
	f->images = size_alloc(batch * f->info.voxels, sizeof *f->images);
	if (!f->frames || !f->came_s || !f->flying_s || !f->images)
		return iso_fail_memory("frames", f->group * bytes);
	if ((st = recon_start(f->r.problem, &f->r.x, 0, ISO_FINITE))) return st;
	if (f->r.s->follow.keep && (st = kept_create(&f->kept, f->r.s->out, &f->r.grid))) return st;
	record_stage(f->r.record, "follow");
	f->began_s = f->is.saved_s = iso_now_s();
	return frame_queue_create(&f->queue, f->file, f->set, f->group, f->drop);
}

/* ---- figures ---- */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of the last frames, up to LATENCIES of them, the latency that this share does not exceed, ms. */
static double latency_ms(const struct state *f, double share)
{
	double v[LATENCIES];
	int64_t n = f->worked < LATENCIES ? f->worked : LATENCIES;

	if (n == 0) return NAN;
	memcpy(v, f->latency_s, (size_t)n * sizeof *v);
	qsort(v, (size_t)n, sizeof *v, by_size);
	return 1e3 * v[(int64_t)ceil(share * (double)n) - 1];
}

static double rate(const struct state *f)
{
	double s = f->last_s - f->first_s;

	return s > 0 ? (double)f->worked / s : 0;
}

static void count(struct state *f)
{
	if (f->queue) frame_queue_count(&f->in, &f->dropped, f->queue);
}

/* `always`: also where progress is told only now and then. */
static void tell(struct state *f, bool always)
{
	const iso_ctx *ctx = f->r.ctx;
	char note[128];

	if (!ctx->progress || !(always || f->r.record->to.lively)) return;
	count(f);
	iso_snprintf(note, sizeof note,
	             "%" PRId64 " images, %.3g a second, latency %.3g ms, %" PRId64 " frames dropped",
	             f->worked, rate(f), latency_ms(f, .5), f->dropped);
	ctx->progress(ctx->progress_arg, &(struct iso_progress){ .stage = "follow",
	                                                         .done = f->worked,
	                                                         .elapsed_s = iso_now_s() - f->began_s,
	                                                         .left_s = -1,
	                                                         .note = note });
}

static int record_figures(struct state *f)
{
	json_t *nm = f->r.s->follow.wavelengths ? record_reals((int)f->set, f->nm) : json_null();
	int st;

	count(f);
	st = record_result(f->r.record, "frames",
	                   record_pack("{s:I, s:I, s:I, s:I}", "in", (json_int_t)f->in, "worked",
	                               (json_int_t)f->worked, "dropped", (json_int_t)f->dropped,
	                               "bytes_of_a_cut_frame", (json_int_t)f->cut));
	if (st) return st;
	return record_result(f->r.record, "follow",
	                     record_pack("{s:f, s:f, s:f, s:f, s:s, s:s, s:b, s:o, s:f, s:f}",
	                                 "latency_median_ms", latency_ms(f, .5), "latency_99_percent_ms",
	                                 latency_ms(f, .99), "frames_per_s", rate(f), "seconds",
	                                 iso_now_s() - f->began_s, "ended",
	                                 f->is.ended ? f->is.ended : "not yet", "lag",
	                                 f->drop ? "drop" : "wait", "warm", f->setup.warm, "wavelengths_nm",
	                                 nm, "eigenvalue", f->info.eigenvalue, "mu", f->info.mu));
}

/* ---- writing what there is ---- */

static int save(struct state *f)
{
	char title[64];
	int st;

	f->is.saved_s = iso_now_s();
	f->is.saved = f->worked;
	tell(f, true);
	if ((st = record_figures(f))) return st;
	st = f->kept ? kept_record(f->kept, f->r.record)
	             : problem_write_image(f->r.problem, f->r.s->out, &f->r.x, NULL);
	iso_snprintf(title, sizeof title, "image %" PRId64, f->worked);
	return st ? st : follow_picture(&f->r, title);
}

/* On the live page an image is an iteration, and its latency the curve. */
static int show(struct state *f)
{
	iso_live *live = f->r.record->to.live;

	iso_live_step(live, &(const struct iso_live_step){
				    .size = sizeof(struct iso_live_step),
				    .done = f->worked,
				    .rows = 1,
				    .row_name = "frames",
				    .objective = 1e3 * f->latency_s[(f->worked - 1) % LATENCIES],
				    .figure = "latency in ms",
			    });
	tell(f, false);
	return iso_live_wants_image(live) ? iso_live_image(live, &f->r.x) : ISO_OK;
}

/* ---- the loop ---- */

/* The images of the oldest push. */
static int pull(struct state *f)
{
	int64_t voxels = f->info.voxels;
	int n = 0, st = iso_sound_stream_pull(f->images, &n, f->stream);

	if (st) return st;
	f->pushed--;
	f->last_s = iso_now_s();
	for (int i = 0; i < n; i++) f->latency_s[f->worked++ % LATENCIES] = f->last_s - f->flying_s[i];
	f->flying -= n;
	memmove(f->flying_s, f->flying_s + n, (size_t)f->flying * sizeof *f->flying_s);
	memcpy(f->r.x.v, f->images + (n - 1) * voxels, (size_t)voxels * sizeof *f->images);
	if (f->kept && (st = kept_add(f->kept, f->images, n))) return st;
	return show(f);
}

static int push(struct state *f, int64_t n)
{
	int64_t bytes = iso_frame_file_bytes(f->file);
	int st = ISO_OK;

	if (f->first_s == 0) f->first_s = f->came_s[0];
	for (int64_t i = 0; i < n && !st;) {
		int64_t some = n - i < f->model.batch ? n - i : f->model.batch;

		if (f->pushed == 2 && (st = pull(f))) return st;
		if ((st = iso_sound_stream_push(f->stream, f->frames + i * bytes, (int)some))) return st;
		memcpy(f->flying_s + f->flying, f->came_s + i, (size_t)some * sizeof *f->came_s);
		f->flying += some;
		f->pushed++;
		i += some;
	}
	return st;
}

/* Where frames are dropped, those that are taken are the newest when the device is free; else one push is always ahead. */
static int step(struct state *f, bool *end)
{
	double start = iso_now_s();
	bool free = f->pushed == 0;
	int n = 0, st = frame_queue_take(f->frames, f->came_s, &n, end, f->queue, free, free ? WAIT_S : 0);

	if (st) return st;
	f->is.waited_s = n > 0 || !free ? 0 : f->is.waited_s + iso_now_s() - start;
	if (n > 0 && (st = push(f, n))) return st;
	while (!st && f->pushed > (n > 0 && !f->drop ? 1 : 0)) st = pull(f);
	if (f->pushed > 0) *end = false;
	return st;
}

static int loop(struct state *f)
{
	bool end = false;
	int st;

	while (!f->is.ended) {
		if ((st = step(f, &end)) && st != ISO_ECANCEL) return st;
		look(f, end);
		if (follow_is_due(&f->is, &f->r, f->worked) && (st = follow_saved(&f->is, &f->r, save(f))))
			return st;
	}
	return ISO_OK;
}

static int finish(struct state *f)
{
	bool stopped = strcmp(f->is.ended, "interrupted") == 0;
	int st;

	f->cut = stopped ? 0 : iso_frame_file_rest(f->file);
	count(f);
	if (f->worked == 0 && !stopped)
		return iso_fail(ISO_EINPUT,
		                "%s: no frames came; a frame has %" PRId64 " bytes, %" PRId64 " came",
		                f->sound->data, iso_frame_file_bytes(f->file), f->cut);
	if (f->cut > 0)
		record_warn(f->r.record,
		            "%s: the last frame is cut and left out: %" PRId64 " of its %" PRId64
		            " bytes came",
		            f->sound->data, f->cut, iso_frame_file_bytes(f->file));
	if (f->dropped > 0)
		record_warn(
			f->r.record,
			"%" PRId64 " of %" PRId64
			" frames came too fast and are left out ('lag' wait, 'batch', fewer 'iterations')",
			f->dropped, f->in);
	if (f->worked > 0 && ((st = save(f)) || (st = iso_live_image(f->r.record->to.live, &f->r.x))))
		return st;
	if (!stopped) return ISO_OK;
	return f->worked > 0 ? iso_fail(ISO_ECANCEL, "stopped after %" PRId64 " images; the last is in %s",
	                                f->worked, f->r.s->out)
	                     : iso_fail(ISO_ECANCEL, "stopped before the first frame");
}

static int follow(struct state *f)
{
	int st;

	if ((st = parse_wavelengths(f)) || (st = make_setup(f)) || (st = plan(f)) || (st = begin(f)))
		return st;
	if (!f->is.ended && ((st = prepare(f)) || (st = loop(f)))) return st;
	return finish(f);
}

static int run(iso_problem *problem, struct iso_array *to)
{
	struct state *f = size_alloc(1, sizeof *f);
	int st = f ? ISO_OK : iso_fail_memory("follow", sizeof *f);

	if (st) return st;
	*f = (struct state){ .r = recon_of(problem, 1, false), .sound = problem->self };
	problem_tell_idle(problem);
	st = f->sound->data ? follow_check(problem)
	                    : iso_fail(ISO_EARG, "'data' is missing: where frames come from");
	if (!st) st = record_set(problem->record, "ReconMethodName", json_string("fista over frames"));
	iso_live_can_save(problem->record->to.live, true);
	if (!st) st = follow(f);
	if (!st) recon_give(&f->r, to);
	frame_queue_free(f->queue);
	iso_frame_file_close(f->file);
	iso_sound_stream_free(f->stream);
	kept_free(f->kept);
	free(f->frames);
	free(f->came_s);
	free(f->flying_s);
	free(f->images);
	recon_free(&f->r);
	free(f);
	return st;
}

const struct method sound_follow = {
	.about = "frames as they come",
	.needs = MODEL_SIGNS,
	.takes = TAKES_ITERATIONS | TAKES_PENALTY | TAKES_SIGNS,
	.load = MODEL_NEEDS_DATA,
	.check = sound_follow_check,
	.run = run,
};
