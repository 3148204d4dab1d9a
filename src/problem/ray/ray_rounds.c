/* SPDX-License-Identifier: BSD-3-Clause */
/* Image and scatter of a frame in turn, on a coarse grid, until they agree:

     f_0: without scatter
     round t: h from f_(t-1), c_t = (J - R) / (sum of S f_(t-1) + sum of r), r <- c_t r; then f_t, which the run itself
              makes after the last round

   J all counts, R all randoms, S the sensitivity. f_0 explains all counts as trues, so that the first r is too large by
   1 / c; without the balance c_t the rounds swing about the solution, and for much scatter never meet it. Every f_t goes on
   from f_(t-1). What has been done so far stands in OUTPUT.rounds: 'resume' goes on behind the last image. */
#include "model_ray.h"

#include "core/op.h"
#include "core/size.h"
#include "file/out.h"
#include "scanner/scanner.h"
#include "text/json_file.h"

#define SETTLED .005       /* |c_t - 1|, and */
#define UNCHANGED .01      /* sum of |r_t - r_(t-1)| over that of r_t: the rounds end */
#define FAR_FROM_1 .05     /* |c_t - 1| at the end: a warning */
#define MOST_SHARE .7      /* of the counts, scattered */
#define ABSOLUTE_ERROR .01 /* of the absolute estimate: sampling, Monte Carlo, energies */
#define PAIRS (1 << 19)    /* that changes of r are seen from */
enum {
	SIGMAS = 5,               /* from the absolute estimate: a fit that is farther off is not applied */
	UPDATES = 20,             /* of an image */
	EVENTS_OF_SUBSET = 10000, /* at least */
};

struct rounds {
	iso_problem *p;          /* a copy of the user's, on the coarse grid, */
	struct ray_problem *ray; /* and of its model */
	int64_t frame;
	struct iso_array x, sens; /* coarse: the image so far, S with the frame's factor */
	iso_real *parts;          /* S of each subset; NULL: 1/K of sens */
	struct model_subsets by;
	iso_op *op;             /* of events in memory */
	struct ray_pairs pairs; /* of the scanner, some */
	iso_real *before, *now; /* r of those, in the round before and in this one */
	struct ray_counts counts;
	int done;         /* rounds */
	json_t *told;     /* of each */
	iso_series *kept; /* NULL: not kept */
};

/* ---- the coarse problem ---- */

/* A copy of the problem and its model without PSF, one ray a line, and no scratch file. It shares with the original
   all that was loaded, and makes an estimate of scatter of its own. */
static void copy_coarse(iso_problem *p, struct ray_problem *ray, const struct iso_grid *grid)
{
	ray->p = p;
	p->self = ray;
	ray->grid = p->found.grid = *grid;
	memset(p->s.psf, 0, sizeof p->s.psf);
	ray->lines = 1;
	ray->stream.never = true;
}

/* As many subsets as leave each enough events, of the numbers that divide UPDATES. The rows of a histogram are dealt at
   random: where five bins of time follow each other, every fifth row is of one of them. */
static struct model_subsets choose_subsets(const iso_problem *p, const struct ray_problem *ray)
{
	static const int of[] = { 10, 5, 4, 2 };
	struct model_subsets by = p->s.by;

	if (ray->e.lists_all) by.rule = ISO_RANDOM;
	by.n = 1;
	for (int i = 0; i < 4 && by.n == 1; i++)
		if (p->found.rows >= (int64_t)of[i] * EVENTS_OF_SUBSET) by.n = of[i];
	return by;
}

/* ---- images ---- */

/* S of subsets of lines that list all, and the sum of them. */
static int sens_of_lines(struct rounds *r)
{
	int64_t n = r->sens.n, all = n * r->by.n;
	iso_op *op = NULL;
	int st;

	if (!(r->parts = size_alloc(all, sizeof *r->parts)))
		return iso_fail_memory("sensitivities of the subsets", all * (int64_t)sizeof *r->parts);
	if (!(st = r->p->m->op(r->p, &op, &r->by))) st = ray_bins_of_subsets(r->p, r->parts, op);
	iso_op_free(op);
	if (st) return st;
	memset(r->sens.v, 0, (size_t)n * sizeof *r->sens.v);
	for (int64_t i = 0; i < all; i++) {
		r->parts[i] = (iso_real)((double)r->parts[i] * r->ray->frame.factor);
		r->sens.v[i % n] += r->parts[i];
	}
	return ISO_OK;
}

static struct iso_run run_of(const struct rounds *r)
{
	const struct settings *s = &r->p->s;
	double left = s->stop_after - (iso_now_s() - s->began_s) / 60;

	return (struct iso_run){ .size = sizeof(struct iso_run),
		                 .stop_after_minutes = s->stop_after == 0 ? 0 : fmax(left, 1e-9) };
}

/* The next image, from the one before, with the scatter in force. Blocks that a streaming operator keeps hold r. */
static int reconstruct(struct rounds *r)
{
	struct model_data d = { 0 };
	iso_op *op = r->op;
	int st;

	record_stage(r->p->record, "scatter rounds");
	if (!(st = ray_make_data(r->ray, &d)) && !op) st = r->p->m->op(r->p, &op, &r->by);
	struct iso_em em = {
		.size = sizeof em,
		.op = op,
		.iterations = UPDATES / r->by.n,
		.data = { d.y, d.add, d.mult },
		.sens = { r->parts ? r->by.n : 1, r->by.n, r->parts ? r->parts : r->sens.v },
		.grid = r->ray->grid,
	};
	struct iso_run run = run_of(r);

	if (!st) st = iso_em_run(r->x.v, NULL, &em, &run);
	if (r->ray->disk || st) iso_op_free(op);
	r->op = r->ray->disk || st ? NULL : op;
	model_data_free(&d);
	return st;
}

/* sum of S f: trues. */
static double trues(const struct rounds *r)
{
	double sum = 0;

	for (int64_t i = 0; i < r->x.n; i++) sum += (double)r->x.v[i] * (double)r->sens.v[i];
	return sum;
}

/* ---- the estimate of a round ---- */

static int estimate(struct rounds *r)
{
	struct iso_array f = r->x;
	int st = model_vector(&f.v, f.n, "image");

	if (st) return st;
	for (int64_t i = 0; i < f.n; i++) f.v[i] = (iso_real)((double)r->x.v[i] * r->ray->frame.units);
	record_stage(r->p->record, "scatter");
	st = ray_coarse_smooth(f.v, r->ray, &f.grid);
	if (!st) st = ray_scatter_estimate(r->ray, &f);
	free(f.v);
	return st;
}

/* sum of |r_t - r_(t-1)| over that of r_t. */
static double change(const struct rounds *r)
{
	double sum = 0, all = 0;

	for (int64_t i = 0; i < r->pairs.e.n; i++) {
		sum += fabs((double)r->now[i] - (double)r->before[i]);
		all += (double)r->now[i];
	}
	return r->done > 0 && all > 0 ? sum / all : 1;
}

/* k becomes that of the absolute estimate, which the balance of counts takes c times, and is judged by it. `sss` alone is
   less than all scatter, and a fit is to take that up. */
static void judge(struct ray_tail *t, const struct ray_scatter *s, double c)
{
	t->k /= c;
	t->error /= c;
	t->contradicts = t->known && !s->anyway && strcmp(s->method, "sss") != 0 &&
	                 fabs(t->k - 1) > SIGMAS * hypot(t->error, ABSOLUTE_ERROR);
}

static void warn_tail(struct rounds *r, const struct ray_tail *t)
{
	if (!t->known)
		record_warn(r->p->record,
		            "'scatter-scale' fit: %.0f counts beside the object are too few for a scale "
		            "(%.3g +- %.2g): 1 is taken",
		            t->counts, t->k, t->error);
	else if (t->contradicts)
		record_warn(r->p->record,
		            "'scatter-scale' fit: lines beside the object want %.3f +- %.3f times the "
		            "absolute estimate, more than %d sigma off: 1 is kept; 'scatter-scale' "
		            "fit-anyway takes the other",
		            t->k, t->error, SIGMAS);
	else if (t->k < .7 || t->k > 1.5)
		record_warn(r->p->record,
		            "'scatter-scale' fit: the tails want %.3g +- %.2g times the scatter", t->k,
		            t->error);
}

static int tell_tail(struct rounds *r, const struct ray_tail *t, json_t *o)
{
	json_t *tail =
		record_pack("{s:f, s:f, s:f, s:f, s:b}", "k", t->k, "error", t->error, "counts", t->counts,
	                    "scatter_share", t->scattered, "applied", (int)(t->known && !t->contradicts));

	warn_tail(r, t);
	return json_object_set_new(o, "tail", tail) ? iso_fail_memory("record", 1) : ISO_OK;
}

/* What is in force after a round, as one line. */
static void tell_round(struct rounds *r, const struct ray_tail *t, double c, double k, double share)
{
	char tail[64] = "";

	if (r->ray->scatter.fit) iso_snprintf(tail, sizeof tail, " (fit %.3f +- %.3f)", t->k, t->error);
	record_tell(r->p->record, ISO_NEWS, "scatter, round %d: c %.4f, k %.3g%s, %.1f %% of the counts",
	            r->done + 1, c, k, tail, 100 * share);
}

/* Round done + 1: estimate, balance, scale; *ended: it is the last, and why. */
static int round_of(struct rounds *r, const char **ended)
{
	struct ray_scatter *s = &r->ray->scatter;
	struct ray_tail tail = { .k = 1 };
	double sum = 0, k = s->times, seen = trues(r);
	int st;

	if (r->done == 0 && !r->counts.net_known) r->counts.net = seen;
	if ((st = estimate(r))) return st;
	if ((st = iso_comm_agree(r->p->ctx, ray_pairs_scatter(r->now, &r->pairs, r->ray)))) return st;
	if ((st = ray_scatter_sum(&sum, r->ray))) return st;
	if (!(sum > 0))
		return iso_fail(ISO_EINPUT,
		                "'scatter': the estimate is 0 everywhere: does the map hold the image?");
	if (s->fit && (st = ray_tail_fit(&tail, r->ray, &r->pairs))) return st;
	double balance = r->counts.net / (seen + k * sum);

	if (s->fit) judge(&tail, s, balance);
	if (s->fit && tail.known && !tail.contradicts) k = tail.k;
	double scale = balance * k,
	       c = s->fit && k == tail.k ? r->counts.net / (seen + scale * sum) : balance;

	s->by = scale / r->ray->frame.units;
	for (int64_t i = 0; i < r->pairs.e.n; i++)
		r->now[i] =
			(iso_real)((double)r->now[i] * scale * r->ray->frame.factor / r->ray->frame.units);
	double changed = change(r), share = scale * sum / r->counts.all;
	json_t *o = record_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "round", r->done + 1, "c", c, "k",
	                        k, "scale", scale, "trues", seen, "scatter", scale * sum, "share", share,
	                        "change", r->done > 0 ? changed : NAN);

	if (!o) return iso_fail_memory("record", 1);
	if (s->fit && (st = tell_tail(r, &tail, o))) {
		json_decref(o);
		return st;
	}
	if (json_array_append_new(r->told, o)) return iso_fail_memory("record", 1);
	tell_round(r, &tail, c, k, share);
	iso_real *swap = r->before;

	r->before = r->now;
	r->now = swap;
	r->done++;
	if (fabs(c - 1) < SETTLED && changed < UNCHANGED)
		*ended = "settled";
	else if (r->done >= s->rounds)
		*ended = "rounds";
	return ISO_OK;
}

/* ---- what is kept between two rounds ---- */

/* The image of `done` rounds, with r of the pairs by the last of them. */
static int keep(struct rounds *r, iso_real *both)
{
	json_t *o = record_pack("{s:I, s:i, s:f, s:o}", "frame", (json_int_t)r->frame, "rounds", r->done,
	                        "net", r->counts.net, "told", json_incref(r->told));
	char *text = o ? iso_json_text(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	int st = text ? ISO_OK : iso_fail_memory("record", 1);

	memcpy(both, r->x.v, (size_t)r->x.n * sizeof *both);
	memcpy(both + r->x.n, r->before, (size_t)r->pairs.e.n * sizeof *both);
	if (!st) st = iso_series_add(r->kept, both, text);
	free(text);
	json_decref(o);
	return st;
}

/* One record of the file, to all ranks; *found: of this frame. */
static int take_one(struct rounds *r, iso_real *both, bool *found)
{
	iso_ctx *ctx = r->p->ctx;
	char *text = NULL;
	json_t *o = NULL;
	int st = iso_series_next(r->kept, found, both, &text);
	int64_t size = text ? (int64_t)strlen(text) + 1 : 0;

	st = iso_comm_broadcast(ctx, st, &size, sizeof size);
	*found = !st && size > 0;
	if (*found && !text && !(text = size_alloc(size, 1))) st = iso_fail_memory("rounds", size);
	if (*found) st = iso_comm_broadcast(ctx, st, text, size);
	if (*found) st = iso_comm_broadcast(ctx, st, both, (r->x.n + r->pairs.e.n) * (int64_t)sizeof *both);
	if (*found && !st) st = iso_json_parse(&o, "rounds", text, (size_t)size - 1);
	if (*found && !st && json_integer_value(json_object_get(o, "frame")) == r->frame) {
		r->done = (int)json_integer_value(json_object_get(o, "rounds"));
		r->counts.net = json_number_value(json_object_get(o, "net"));
		json_decref(r->told);
		r->told = json_incref(json_object_get(o, "told"));
		memcpy(r->x.v, both, (size_t)r->x.n * sizeof *both);
		memcpy(r->before, both + r->x.n, (size_t)r->pairs.e.n * sizeof *both);
	} else if (*found) { /* an earlier frame's: this one begins anew */
		*found = false;
		iso_series_free(r->kept);
		r->kept = NULL;
	}
	json_decref(o);
	free(text);
	return st;
}

/* *images: those of this frame that the file has. */
static int take(struct rounds *r, iso_real *both, int *images)
{
	const struct settings *s = &r->p->s;
	int64_t n = r->x.n + r->pairs.e.n;
	uint64_t key;
	bool found = true;
	int st = recon_key(r->p, &key, 0);

	if (!st) st = iso_series_open(&r->kept, s->rounds, key, n, s->resume && *images == 0);
	while (!st && found)
		if (!(st = take_one(r, both, &found)) && found) ++*images;
	if (!st && !r->kept) st = iso_series_open(&r->kept, s->rounds, key, n, false);
	return st;
}

/* ---- all rounds ---- */

static int prepare(struct rounds *r, const struct iso_array *sens, const int64_t block[3])
{
	const struct iso_grid *g = &r->ray->grid;
	int st;

	r->by = choose_subsets(r->p, r->ray);
	if ((st = iso_array_on_grid(&r->x, g)) || (st = iso_array_on_grid(&r->sens, g))) return st;
	if (sens->v && (st = ray_coarse_sens(&r->sens, sens, block, r->ray->frame.factor))) return st;
	for (int64_t i = 0; i < r->x.n; i++) r->x.v[i] = (iso_real)(1 / r->ray->frame.units);
	if ((st = ray_seen_begin(r->ray, r->frame)) || (st = ray_count(&r->counts, r->ray))) return st;
	if (!sens->v && (st = sens_of_lines(r))) return st;
	if ((st = ray_pairs_draw(&r->pairs, r->ray, PAIRS, (uint64_t)r->ray->scatter.seed))) return st;
	if ((st = model_vector(&r->before, r->pairs.e.n, "scatter"))) return st;
	return model_vector(&r->now, r->pairs.e.n, "scatter");
}

static int all_rounds(struct rounds *r, const char **ended)
{
	iso_real *both = NULL;
	int images = 0, st = ISO_OK;

	if (r->p->s.out) {
		st = model_vector(&both, r->x.n + r->pairs.e.n, "rounds");
		if (!st) st = take(r, both, &images);
	}
	while (!st && !*ended) {
		if (images > 0)
			images = 0; /* the file has the image of as many rounds as are done */
		else if (!(st = reconstruct(r)) && r->kept)
			st = keep(r, both);
		if (!st) st = round_of(r, ended);
	}
	free(both);
	return st;
}

static void warn(struct rounds *r)
{
	const json_t *last = json_array_get(r->told, json_array_size(r->told) - 1);
	double c = json_number_value(json_object_get(last, "c")),
	       share = json_number_value(json_object_get(last, "share"));

	if (fabs(c - 1) > FAR_FROM_1)
		record_warn(r->p->record,
		            "scatter and image do not agree yet: counts over what they explain is %.3f after "
		            "%d rounds; 'scatter-rounds' takes more",
		            c, r->done);
	if (share > MOST_SHARE)
		record_warn(r->p->record, "%.0f %% of the counts are taken for scattered: can that be?",
		            100 * share);
}

static int tell(struct rounds *r, const char *ended)
{
	struct ray_scatter *s = &r->ray->scatter;
	struct iso_scatter_info i = { .size = sizeof i };
	const json_t *last = json_array_get(r->told, json_array_size(r->told) - 1);
	int st = iso_scatter_describe(&i, s->table);

	if (st) return st;
	ray_scatter_warn(r->ray, &i);
	warn(r);
	json_t *more = record_pack("{s:f, s:f, s:f, s:f, s:f, s:s, s:o}", "counts", r->counts.all, "share",
	                           json_number_value(json_object_get(last, "share")), "randoms_share",
	                           r->counts.net_known ? 1 - r->counts.net / r->counts.all : NAN, "scale",
	                           json_number_value(json_object_get(last, "scale")), "c",
	                           json_number_value(json_object_get(last, "c")), "ended_by", ended, "rounds",
	                           json_incref(r->told));

	json_decref(s->told);
	s->told = ray_scatter_json(r->ray, &i);
	int bad = !s->told || !more || json_object_update(s->told, more);

	json_decref(more);
	return bad ? iso_fail_memory("record", 1) : ISO_OK;
}

/* The rounds on a coarse copy, whose estimate the model takes over. What is found once of the data of the frame is found
   before: the copy shares it. */
int ray_rounds(iso_problem *problem, const struct iso_array *sens, int64_t k)
{
	struct ray_problem *ray = problem->self, coarse;
	iso_problem of_coarse = *problem;
	struct rounds r = { .p = &of_coarse, .ray = &coarse, .frame = k };
	const char *ended = NULL;
	int64_t block[3];
	struct iso_grid grid = ray_coarse_grid(&ray->grid, block);
	int st;

	ray_scatter_forget(ray);
	if ((st = ray_scatter_poses_make(ray)) || (st = ray_prepare_data(ray))) return st;
	coarse = *ray;
	copy_coarse(&of_coarse, &coarse, &grid);
	st = (r.told = json_array()) ? prepare(&r, sens, block) : iso_fail_memory("record", 1);
	if (!st) st = all_rounds(&r, &ended);
	if (!st) st = tell(&r, ended);
	record_stage(problem->record, NULL);
	ray->scatter = coarse.scatter;
	iso_op_free(r.op);
	iso_series_free(r.kept);
	iso_array_free(&r.x);
	iso_array_free(&r.sens);
	free(r.parts);
	ray_pairs_free(&r.pairs);
	free(r.before);
	free(r.now);
	json_decref(r.told);
	return st;
}
