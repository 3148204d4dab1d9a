/* SPDX-License-Identifier: BSD-3-Clause */
/* 'follow' of model strip: OSEM over events as they come. Each block of N events is one update,
   with the share n_k/n of the sensitivity, n being all events so far:

	x <- x / (S n_k/n) * A_k*( 1 / (A_k x) )

   so that the image always stands for the whole scan up to now. The image depends on the events and
   on N alone, never on when they came. */
#include "model_strip.h"

#include "core/progress.h"
#include "core/size.h"
#include "problem/follow.h"

#include <string.h>

#define WAIT_S .2  /* a signal is noticed after this at the latest */
#define IDLE_S 10. /* a file that does not grow any more */

struct state {
	struct recon r; /* x is the image, weight x image is iterated */
	struct strip *strip;
	iso_ctx *work; /* not cancelled by a signal: what was read goes into the image */
	iso_strip_file *file;
	struct iso_strip_events ring; /* the last events, up to a block of them */
	int64_t at;                   /* where the next one goes */
	struct iso_array iterated, sens, share;
	struct strip_count count; /* of all that came */
	int64_t used, skipped, updates;
	double loglik; /* of the events of the last update, before it */
	double began_s;
	struct following is;
};

/* ---- options ---- */

struct opt_set strip_follow_params(struct follow *f)
{
	const struct opt opts[] = {
		{ 0, "follow", .flag = &f->on,
		  .help = "read events while they come: 'events' is a file that grows, a pipe, or - for "
		          "standard input. The run ends with the pipe, after 'idle-s', or on Ctrl-C" },
		{ 0, "block", .integer = &f->block, .with = "follow", .value = "N", .min = 1000, .max = 1e9,
		  .absent = "100000", .help = "events per update" },
		{ 0, "every-s", .real = &f->every_s, .with = "follow", .unit = "s", .value = "S", .min = .1,
		  .max = 1e6, .absent = "5",
		  .help = "write image and picture again after this many seconds" },
		{ 0, "idle-s", .real = &f->idle_s, .with = "follow", .unit = "s", .value = "S", .min = 0,
		  .max = 1e9, .absent = "10 for a file, never for a pipe",
		  .help = "end after this many seconds without events; 0: never" },
		{ 0, "picture", .text = &f->picture, .with = "follow", .file = OPT_WRITES, .value = "FILE",
		  .absent = "the output's name with .png", .help = "picture of the image" },
		{ 0 },
	};

	_Static_assert(sizeof opts <= sizeof f->opts, "room for the options");
	memcpy(f->opts, opts, sizeof opts);
	return (struct opt_set){ "Following a scan", f->opts };
}

/* ---- before the first event ---- */

static int plan(const struct state *f)
{
	const struct iso_strip *p = &f->strip->model;
	int64_t n = p->ny * p->nz, block = f->r.s->follow.block;
	struct iso_plan lines = { 0 };

	iso_plan_add(&lines, "images and sensitivity", n, 5 * sizeof(iso_real), false);
	sens_floor_plan(&lines, f->r.s, &f->r.grid);
	iso_plan_add(&lines, "a block of events", block, sizeof(struct iso_strip_event), false);
	iso_strip_plan(&lines, f->r.ctx, p, block);
	iso_em_plan(&lines, f->r.ctx, n, block, 1, 0);
	return problem_plan_end(f->r.problem, &lines);
}

static int prepare(struct state *f)
{
	const struct iso_grid *g = &f->r.grid;
	int64_t block = f->r.s->follow.block;
	int st;

	if (f->r.s->out && (st = iso_write_check_grid(f->r.s->out, g))) return st;
	if ((st = plan(f))) return st;
	if ((st = f->r.m->sens(f->r.problem, &f->sens))) return st;
	if ((st = f->r.m->form(f->r.problem, &f->sens, &f->r.weight))) return st;
	if ((st = recon_floor(&f->r, &f->sens))) return st;
	if ((st = iso_array_on_grid(&f->share, g))) return st;
	if ((st = iso_array_on_grid(&f->r.x, g))) return st;
	if ((st = recon_start(f->r.problem, &f->iterated, 1, ISO_NONNEGATIVE))) return st;
	for (int64_t i = 0; f->r.weight.v && i < f->iterated.n; i++) f->iterated.v[i] *= f->r.weight.v[i];
	memcpy(f->r.x.unit, f->iterated.unit, sizeof f->r.x.unit);
	if (!(f->ring.v = size_alloc(block, sizeof *f->ring.v)))
		return iso_fail_memory("follow", block * (int64_t)sizeof *f->ring.v);
	if ((st = iso_ctx_create(&f->work, iso_ctx_device(f->r.ctx), iso_ctx_threads(f->r.ctx)))) return st;
	iso_ctx_set_memory_limit(f->work, f->r.ctx->memory_limit);
	return iso_strip_file_open(&f->file, f->strip->events, &f->strip->read, true);
}

/* ---- one update ---- */

/* The events of the ring, whatever their order: the newest are among them. */
static int update(struct state *f)
{
	double share = (double)f->ring.n / (double)f->count.n;
	struct iso_em em = { .size = sizeof em, .iterations = 1, .sens = { 1, 1, f->share.v } };
	struct iso_em_result r = { .size = sizeof r };
	int st;

	for (int64_t i = 0; i < f->sens.n; i++) f->share.v[i] = (iso_real)(f->sens.v[i] * share);
	if ((st = iso_strip_create(&em.op, f->work, &f->strip->model, &f->ring))) return st;
	if (!(st = iso_em_run(f->iterated.v, &r, &em, NULL))) {
		f->used = r.used;
		f->skipped = r.skipped;
		f->updates++;
		f->loglik = r.loglik[0];
	}
	iso_em_result_free(&r);
	iso_op_free(em.op);
	return st;
}

/* ---- writing what there is ---- */

/* `always`: also where progress is told only now and then. */
static void tell(const struct state *f, bool always)
{
	const iso_ctx *ctx = f->r.ctx;
	double now = iso_now_s() - f->began_s;
	char note[96];

	if (!ctx->progress || !(always || f->r.record->to.lively)) return;
	iso_snprintf(note, sizeof note, "%.4g events, %.3g a second, %" PRId64 " updates", (double)f->count.n,
	             (double)f->count.n / now, f->updates);
	ctx->progress(ctx->progress_arg, &(struct iso_progress){ .stage = "follow",
	                                                         .done = f->count.n,
	                                                         .elapsed_s = now,
	                                                         .left_s = -1,
	                                                         .note = note });
}

static int record_events(const struct state *f)
{
	struct record *rec = f->r.record;
	int st = record_result(rec, "events",
	                       json_pack("{s:I, s:I, s:I, s:I, s:I}", "seen", (json_int_t)f->count.n,
	                                 "not_finite", (json_int_t)f->count.bad, "beyond_the_strips",
	                                 (json_int_t)f->count.outside, "used_in_last_update",
	                                 (json_int_t)f->used, "skipped_in_last_update",
	                                 (json_int_t)f->skipped));

	if (st) return st;
	return record_result(rec, "follow",
	                     record_pack("{s:I, s:I, s:f, s:s}", "updates", (json_int_t)f->updates, "block",
	                                 (json_int_t)f->r.s->follow.block, "seconds",
	                                 iso_now_s() - f->began_s, "ended",
	                                 f->is.ended ? f->is.ended : "not yet"));
}

static int save(struct state *f)
{
	char title[64];
	int st;

	f->is.saved_s = iso_now_s();
	f->is.saved = f->updates;
	tell(f, true);
	if ((st = recon_unweigh(&f->r, f->r.x.v, f->iterated.v)) || (st = record_events(f))) return st;
	if ((st = problem_write_image(f->r.problem, f->r.s->out, &f->r.x, NULL))) return st;
	iso_snprintf(title, sizeof title, "%.4g events", (double)f->count.n);
	return follow_picture(&f->r, title);
}

/* On the live page an update is an iteration. */
static int show(struct state *f)
{
	iso_live *live = f->r.record->to.live;
	int st;

	iso_live_step(live, &(const struct iso_live_step){
				    .size = sizeof(struct iso_live_step),
				    .done = f->updates,
				    .rows = f->ring.n,
				    .row_name = "events",
				    .objective = f->loglik,
				    .figure = "log-likelihood of a block",
			    });
	if (!iso_live_wants_image(live)) return ISO_OK;
	st = recon_unweigh(&f->r, f->r.x.v, f->iterated.v);
	return st ? st : iso_live_image(live, &f->r.x);
}

/* ---- the loop ---- */

/* Reads what is there, or waits a little; a full ring is a block. */
static int take(struct state *f, bool *end)
{
	struct iso_strip_events piece = { .v = f->ring.v + f->at };
	double start_s = iso_now_s();
	int st = iso_strip_file_next(&piece, end, f->file, f->r.s->follow.block - f->at, WAIT_S);

	f->is.waited_s = piece.n ? 0 : f->is.waited_s + iso_now_s() - start_s;
	if (st || piece.n == 0) return st;
	strip_count(f->strip, &f->count, &piece);
	f->at += piece.n;
	if (f->ring.n < f->at) f->ring.n = f->at;
	if (f->at < f->r.s->follow.block) return ISO_OK;
	f->at = 0;
	if ((st = update(f))) return st;
	tell(f, false);
	return show(f);
}

static int loop(struct state *f)
{
	bool end = false;
	int st;

	f->began_s = f->is.saved_s = iso_now_s();
	while (!f->is.ended) {
		if ((st = take(f, &end))) return st;
		follow_look(&f->is, &f->r, end, "end of the events", "no more events came");
		if (follow_is_due(&f->is, &f->r, f->updates) && (st = follow_saved(&f->is, &f->r, save(f))))
			return st;
	}
	return ISO_OK;
}

/* Few events alone would leave nothing of the image but their ellipses; so the last update takes a
   whole block, the last N events, some of them a second time. */
static int finish(struct state *f)
{
	char unit[160];
	int st;

	if (f->count.n == 0 && strcmp(f->is.ended, "interrupted") != 0)
		return iso_fail(ISO_EINPUT, "%s: no events came", f->strip->events);
	if (f->at > 0 && (st = update(f))) return st;
	strip_warn(f->r.record, "", &f->count);
	if (strip_in_the_middle(unit, f->count.n - f->count.bad, f->count.reach, f->count.half))
		record_warn(f->r.record, "%s", unit);
	if (f->skipped)
		record_warn_share(f->r.record, (double)f->skipped, (double)(f->used + f->skipped),
		                  "%" PRId64 " of the %" PRId64
		                  " events of the last update meet no activity and are left out",
		                  f->skipped, f->used + f->skipped);
	if (f->updates > 0 && ((st = save(f)) || (st = iso_live_image(f->r.record->to.live, &f->r.x))))
		return st;
	if (!iso_ctx_cancelled(f->r.ctx)) return ISO_OK;
	return f->updates > 0 ? iso_fail(ISO_ECANCEL, "stopped after %" PRId64 " events; the image is in %s",
	                                 f->count.n, f->r.s->out)
	                      : iso_fail(ISO_ECANCEL, "stopped before the first event");
}

static int run(iso_problem *problem, struct iso_array *to)
{
	struct strip *strip = problem->self;
	struct state f = { .strip = strip };
	int st;

	problem_tell_idle(problem);
	record_stage(problem->record, "follow");
	if (!strip->events) return iso_fail(ISO_EARG, "'events' is missing");
	if ((st = follow_check(problem))) return st;
	if ((st = record_set(problem->record, "ReconMethodName", json_string("osem over blocks")))) return st;
	f.is.idle_s = strip_is_regular(strip->events) ? IDLE_S : 0;
	if (problem_given(problem, "idle-s")) f.is.idle_s = problem->s.follow.idle_s;
	f.r = recon_of(problem, 1, false);
	st = prepare(&f);
	iso_live_can_save(problem->record->to.live, true);
	if (!st) st = loop(&f);
	if (!st) st = finish(&f);
	if (!st) recon_give(&f.r, to);
	iso_strip_file_close(f.file);
	iso_ctx_free(f.work);
	free(f.ring.v);
	iso_array_free(&f.iterated);
	iso_array_free(&f.sens);
	iso_array_free(&f.share);
	recon_free(&f.r);
	return st;
}

const struct method strip_follow = {
	.about = "events as they come",
	.needs = MODEL_EVENTS,
	.takes = TAKES_START,
	.load = MODEL_NEEDS_SENS,
	.run = run,
};
