/* SPDX-License-Identifier: BSD-3-Clause */
/* OSEM over events as they come. Each block of N events is one update,
   with the share n_k/n of the sensitivity, n being all events so far:

	x <- x / (S n_k/n) * A_k*( 1 / (A_k x) )

   so that the image always stands for the whole scan up to now. The image depends on the events and
   on N alone, never on when they came. */
#include "follow_events.h"

#include "core/ctx.h"
#include "core/progress.h"
#include "core/size.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_S .2  /* a signal is noticed after this at the latest */
#define IDLE_S 10. /* a file that does not grow any more */

struct state {
	struct recon r; /* x is the image, weight x image is iterated */
	const struct follow_source *from;
	iso_ctx *work;  /* not cancelled by a signal: what was read goes into the image */
	int64_t n, all; /* events in the block, and all that came */
	int64_t at;     /* place in the block where the next one goes */
	struct iso_array iterated, sens, share;
	int64_t used, skipped, updates;
	double loglik; /* of the events of the last update, before it */
	double began_s;
	struct following is;
};

/* ---- options ---- */

struct opt_set follow_event_params(struct follow *f)
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
	int64_t n = iso_grid_voxels(&f->r.grid), block = f->r.s->follow.block;
	struct iso_plan lines = { 0 };

	iso_plan_add(&lines, "images and sensitivity", n, 5 * sizeof(iso_real), false);
	sens_floor_plan(&lines, f->r.s, &f->r.grid);
	f->from->plan(f->from->self, &lines, block);
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
	if (f->r.m->form && (st = f->r.m->form(f->r.problem, &f->sens, &f->r.weight))) return st;
	if ((st = recon_floor(&f->r, &f->sens))) return st;
	if ((st = iso_array_on_grid(&f->share, g))) return st;
	if ((st = iso_array_on_grid(&f->r.x, g))) return st;
	if ((st = recon_start(f->r.problem, &f->iterated, 1, ISO_NONNEGATIVE))) return st;
	for (int64_t i = 0; f->r.weight.v && i < f->iterated.n; i++) f->iterated.v[i] *= f->r.weight.v[i];
	memcpy(f->r.x.unit, f->iterated.unit, sizeof f->r.x.unit);
	if ((st = iso_ctx_create(&f->work, iso_ctx_device(f->r.ctx), iso_ctx_threads(f->r.ctx)))) return st;
	iso_ctx_set_memory_limit(f->work, f->r.ctx->memory_limit);
	return f->from->open(f->from->self, block);
}

/* ---- one update ---- */

/* The events of the block, whatever their order: the newest are among them. */
static int update(struct state *f)
{
	double share = (double)f->n / (double)f->all;
	struct iso_em em = { .size = sizeof em, .iterations = 1, .sens = { 1, 1, f->share.v } };
	struct iso_em_result r = { .size = sizeof r };
	int st;

	for (int64_t i = 0; i < f->sens.n; i++) f->share.v[i] = (iso_real)(f->sens.v[i] * share);
	if ((st = f->from->op(f->from->self, &em.op, &em.data, f->work, f->n))) return st;
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
	iso_snprintf(note, sizeof note, "%.4g events, %.3g a second, %" PRId64 " updates", (double)f->all,
	             (double)f->all / now, f->updates);
	ctx->progress(
		ctx->progress_arg,
		&(struct iso_progress){
			.stage = "follow", .done = f->all, .elapsed_s = now, .left_s = -1, .note = note });
}

static int record_events(const struct state *f)
{
	struct record *rec = f->r.record;
	json_t *events = json_pack("{s:I, s:I, s:I}", "seen", (json_int_t)f->all, "used_in_last_update",
	                           (json_int_t)f->used, "skipped_in_last_update", (json_int_t)f->skipped);
	json_t *more = f->from->counts(f->from->self);

	if (events && more) json_object_update(events, more);
	json_decref(more);
	int st = record_result(rec, "events", events);

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
	iso_snprintf(title, sizeof title, "%.4g events", (double)f->all);
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
				    .rows = f->n,
				    .row_name = "events",
				    .objective = f->loglik,
				    .figure = "log-likelihood of a block",
			    });
	if (!iso_live_wants_image(live)) return ISO_OK;
	st = recon_unweigh(&f->r, f->r.x.v, f->iterated.v);
	return st ? st : iso_live_image(live, &f->r.x);
}

/* ---- the loop ---- */

/* Reads what is there, or waits a little; a full block is an update. */
static int take(struct state *f, bool *end)
{
	const int64_t block = f->r.s->follow.block;
	double start_s = iso_now_s();
	int64_t n = 0;
	int st = f->from->next(f->from->self, &n, end, f->at, block - f->at, WAIT_S);

	f->is.waited_s = n ? 0 : f->is.waited_s + iso_now_s() - start_s;
	if (st || n == 0) return st;
	f->all += n;
	f->at += n;
	if (f->n < f->at) f->n = f->at;
	if (f->at < block) return ISO_OK;
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
	int st;

	if (f->all == 0 && strcmp(f->is.ended, "interrupted") != 0)
		return iso_fail(ISO_EINPUT, "%s: no events came", f->from->path);
	if (f->at > 0 && (st = update(f))) return st;
	f->from->warn(f->from->self, f->r.record);
	if (f->skipped)
		record_warn_share(f->r.record, (double)f->skipped, (double)(f->used + f->skipped),
		                  "%" PRId64 " of the %" PRId64
		                  " events of the last update meet no activity and are left out",
		                  f->skipped, f->used + f->skipped);
	if (f->updates > 0 && ((st = save(f)) || (st = iso_live_image(f->r.record->to.live, &f->r.x))))
		return st;
	if (!iso_ctx_cancelled(f->r.ctx)) return ISO_OK;
	return f->updates > 0 ? iso_fail(ISO_ECANCEL, "stopped after %" PRId64 " events; the image is in %s",
	                                 f->all, f->r.s->out)
	                      : iso_fail(ISO_ECANCEL, "stopped before the first event");
}

static bool is_regular(const char *path)
{
	struct stat file;

	return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &file) : stat(path, &file)) == 0 &&
	       S_ISREG(file.st_mode);
}

int follow_events(iso_problem *problem, struct iso_array *to, const struct follow_source *source)
{
	struct state f = { .from = source };
	int st;

	problem_tell_idle(problem);
	record_stage(problem->record, "follow");
	if (!source->path) return iso_fail(ISO_EARG, "'events' is missing");
	if ((st = follow_check(problem))) return st;
	if ((st = record_set(problem->record, "ReconMethodName", json_string("osem over blocks")))) return st;
	f.is.idle_s = is_regular(source->path) ? IDLE_S : 0;
	if (problem_given(problem, "idle-s")) f.is.idle_s = problem->s.follow.idle_s;
	f.r = recon_of(problem, 1, false);
	st = prepare(&f);
	iso_live_can_save(problem->record->to.live, true);
	if (!st) st = loop(&f);
	if (!st) st = finish(&f);
	if (!st) recon_give(&f.r, to);
	source->close(source->self);
	iso_ctx_free(f.work);
	iso_array_free(&f.iterated);
	iso_array_free(&f.sens);
	iso_array_free(&f.share);
	recon_free(&f.r);
	return st;
}
