/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way events of model ray take to the kernels: from memory, from a scratch file, or from their own file in every
   pass. */
#include "model_ray.h"

#include "base/number.h"
#include "core/ctx.h"
#include "core/progress.h"
#include "model/ray/ray_scratch.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- whether, and where, there is a scratch file ---- */

bool ray_scratch_asked(const struct ray_problem *ray)
{
	return ray->stream.scratch && strcmp(ray->stream.scratch, "none") != 0;
}

/* Readings of the file: in every update where subsets are picked out, else in every iteration; only in the first of them
   where all that was read stays somewhere. A scratch file is read so in every iteration; before, the events are read and
   written. Tracing attenuation takes as long as reading. */
bool ray_scratch_pays(const struct ray_problem *ray, const struct iso_ray *p, bool attenuates, bool once)
{
	bool picked = p->n_sub > 1 && p->rule != ISO_BLOCKS;
	double passes = once ? 1 : (double)ray->p->s.iterations;
	double without = passes * (picked ? p->n_sub : 1) + (attenuates ? passes : 0);

	if (ray->stream.scratch || ray->stream.never || iso_ranks(ray->p->ctx) > 1) return false;
	return without > 2 + attenuates + passes;
}

static void folder_of(char folder[PATH_MAX], const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	memcpy(folder, n ? path : slash ? "/" : ".", n ? n : 1);
	folder[n ? n : 1] = '\0';
}

bool ray_scratch_place(char place[PATH_MAX], const struct ray_problem *ray, int64_t bytes)
{
	char of_image[PATH_MAX] = "";
	const char *out = ray->p->s.out;

	if (out && strlen(out) < PATH_MAX) folder_of(of_image, out);
	const char *const folders[] = { of_image, getenv("TMPDIR"), "/var/tmp" };

	place[0] = '\0';
	for (int i = 0; i < 3 && !place[0]; i++)
		if (folders[i] && folders[i][0] && strlen(folders[i]) < PATH_MAX &&
		    iso_ray_scratch_fits(folders[i], bytes))
			strcpy(place, folders[i]);
	return place[0];
}

/* ---- what each way costs ---- */

/* Seconds of a pass over all events; 0: not known. */
struct cost {
	double make, step; /* to order events that memory does not keep, and to compute */
	double read;       /* the file once */
	double send;       /* what the host holds for the device */
};

/* A sample is timed where that is less than a hundredth of the work, or the only work, and somebody listens. */
static bool is_timed(const struct ray_problem *ray)
{
	iso_ctx *ctx = ray->p->ctx;
	double sample = iso_ctx_is_cuda(ctx) ? RAY_SAMPLE_CUDA : RAY_SAMPLE_CPU;
	double events = (double)ray->p->found.rows * (double)ray->p->s.iterations;
	const struct record *record = ray->p->record;
	bool heard = record->to.message && (record->read.dry_run || !record->to.deaf);
	bool large = record->read.dry_run || events > 400 * sample;

	return heard && large && iso_ranks(ctx) == 1 && ray->e.n > 0;
}

/* An operator over n events, and a step of it, in seconds. */
static int time_some(struct ray_problem *ray, iso_ctx *alone, int64_t n, struct cost *c)
{
	double began = iso_now_s();
	iso_op *op = NULL;
	int st = ray_sample_op(ray, &op, alone, n);

	c->make = iso_now_s() - began;
	if (!st) st = problem_time_step(op, &c->step);
	iso_op_free(op);
	return st;
}

/* Every update costs as much as the image takes, and every event more: a small sample and a large one tell both. The
   first finds code and tables not yet loaded. */
static int time_events(struct ray_problem *ray, struct cost *c)
{
	iso_ctx *ctx = ray->p->ctx, *alone = NULL;
	int64_t many = iso_ctx_is_cuda(ctx) ? RAY_SAMPLE_CUDA : RAY_SAMPLE_CPU, few = many / 8;
	double rows = (double)ray->p->found.rows / (double)(many - few);
	struct cost small, large;
	int st = iso_ctx_create(&alone, iso_ctx_device(ctx), iso_ctx_threads(ctx));

	if (!st && !(st = time_some(ray, alone, few, &small)) && !(st = time_some(ray, alone, few, &small)))
		st = time_some(ray, alone, many, &large);
	iso_ctx_free(alone);
	if (st) return st;
	c->make = fmax(0, large.make - small.make) * rows;
	c->step = fmax(0, large.step - small.step) * rows + small.step * ray->p->s.by.n;
	return ISO_OK;
}

static int find_cost(struct ray_problem *ray, struct cost *c)
{
	int st;

	*c = (struct cost){ 0 };
	if (!is_timed(ray)) return ISO_OK;
	if ((st = time_events(ray, c))) return st;
	return ray->disk ? ray_disk_time(ray, &c->read) : ISO_OK;
}

/* ---- in words ---- */

static void add(struct record_way *w, const char *fmt, ...) ISO_PRINTF(2, 3);

static void add(struct record_way *w, const char *fmt, ...)
{
	size_t n = strlen(w->text);
	va_list args;

	va_start(args, fmt);
	iso_vsnprintf(w->text + n, sizeof w->text - n, fmt, args);
	va_end(args);
}

static void add_seconds(struct record_way *w, const char *what, double seconds)
{
	if (seconds > 0) add(w, "; %s about %.2g s", what, seconds);
}

/* Why events are not in memory, and what would bring them there if little is lacking. */
static void add_lack(struct record_way *w, const struct ray_problem *ray)
{
	const struct iso_plan_lack *l = &ray->lack;
	const char *where = l->device ? "device" : "host";

	add(w, "%" PRId64 " events ", ray->n);
	if (ray->straight) {
		add(w, "fit in device memory, where they go straight from their file");
		return;
	}
	if (l->have == 0) {
		add(w, "stay on disk, as was asked for");
		return;
	}
	add(w, "do not fit: they need %s of %s memory, ", iso_bytes(l->need), where);
	add(w, "%s may be used", iso_bytes(l->have));
	if ((double)l->need > 1.5 * (double)l->have) return;
	add(w, " (%s more would do", iso_bytes(l->need - l->have));
	if (l->device ? ray->p->ctx->device_limit > 0 : ray->p->ctx->memory_limit > 0)
		add(w, ", a '%smemory-limit' of %.4g GB", l->device ? "device-" : "",
		    ceil((double)l->need / 1e6) / 1e3);
	if (l->voxels > 0) add(w, ", or an image of %.3g voxels", (double)l->voxels);
	add(w, ")");
}

/* Subsets of which each reads the whole file: their price, and how many would not show. */
static void add_rereads(struct record_way *w, const struct cost *c, int n_sub, double compute_s)
{
	int suits = c->read > 0 ? (int)fmin(compute_s / c->read, n_sub) : 0;

	add(w, "; each of %d subsets reads the whole file", n_sub);
	add_seconds(w, "a pass takes", w->pass_s);
	if (suits < n_sub && suits > 1)
		add(w, "; with up to %d subsets reading takes no longer than computing", suits);
	else if (suits < n_sub && c->read > 0)
		add(w, "; one subset ('method' mlem) needs %.2g s", fmax(c->read, compute_s));
	if (suits < n_sub || c->read == 0) add(w, ", and 'subset-rule' blocks reads the file once a pass");
}

static void tell_file(struct ray_problem *ray, struct record_way *w, const struct ray_planned *is,
                      const struct cost *c)
{
	const struct model_subsets *by = &ray->p->s.by;
	bool rereads = by->n > 1 && by->rule != ISO_BLOCKS && is->kept < 1;
	double left = is->left;
	double compute_s = c->step * (1 + (is->attenuates ? left : 0)) + c->make * left;

	w->name = left > 0 || !iso_ctx_is_cuda(ray->p->ctx) ? "file" : is->held > 0 ? "host" : "memory";
	w->pass_s = fmax(fmax(compute_s, c->send), c->read * left * (rereads ? by->n : 1));
	if (is->held > 0)
		add(w,
		    "; after the first pass the host holds %.3g %% of them, ordered, and sends them in each "
		    "pass",
		    100 * is->held);
	if (rereads && left > 0)
		add_rereads(w, c, by->n, compute_s);
	else if (left == 0 && is->held > 0)
		add_seconds(w, "then a pass takes", w->pass_s);
	else
		add_seconds(w, is->kept < 1 ? "each pass reads their file and takes" : "a pass takes",
		            w->pass_s);
	if (is->without == RAY_NO_MEMORY) add(w, "; memory is too small to sort events into a scratch file");
	if (is->without == RAY_NO_DISK)
		add(w, "; no disk has room for a scratch file of %s: 'scratch' names a folder",
		    iso_bytes(is->bytes));
}

static void tell_scratch(struct record_way *w, const struct ray_planned *is, const struct cost *c)
{
	double left = is->left;

	w->name = "scratch";
	w->pass_s = fmax(fmax(c->step + c->make * left, c->send), c->read * left);
	add(w, "; they are sorted once into a scratch file of %s in %s", iso_bytes(is->bytes), is->place);
	if (is->held > 0) add(w, ", of which the host holds %.3g %% from the first pass on", 100 * is->held);
	add_seconds(w, "that takes", 2 * c->read);
	add_seconds(w, "then a pass takes", w->pass_s);
}

static void tell_memory(const struct ray_problem *ray, struct record_way *w, const struct cost *c)
{
	w->name = "memory";
	w->pass_s = c->step;
	add(w, "%" PRId64 " events fit in %s memory", ray->p->found.rows,
	    iso_ctx_is_cuda(ray->p->ctx) ? "device" : "host");
	add_seconds(w, "a pass takes", w->pass_s);
}

/* See method_map.c. */
bool ray_wants_memory(const struct settings *s)
{
	const char *kappa = s->penalties.kappa;

	return s->how->in_memory || (kappa && strcmp(kappa, "auto") == 0);
}

int ray_way(iso_problem *problem, const struct iso_plan *plan)
{
	struct ray_problem *ray = problem->self;
	struct record_way *w = &problem->record->way;
	struct cost c;
	int st;

	*w = (struct record_way){ 0 };
	if (iso_plan_check(problem->ctx, plan)) return ISO_OK;         /* whoever ends the plan will say so */
	if (problem->found.rows < 1) return ISO_OK;                    /* text, in a dry run: not read */
	if (ray->disk && ray_wants_memory(&problem->s)) return ISO_OK; /* it will refuse */
	if ((st = find_cost(ray, &c))) return st;
	if (ray->disk) {
		struct ray_planned is = ray_disk_planned(ray, &problem->s.by);

		if (c.read > 0 && is.held > 0 && (st = iso_ray_send_s(&c.send, problem->ctx, is.held_bytes)))
			return st;
		add_lack(w, ray);
		if (is.place[0])
			tell_scratch(w, &is, &c);
		else
			tell_file(ray, w, &is, &c);
	} else {
		tell_memory(ray, w, &c);
	}
	if (!problem->record->read.dry_run)
		record_tell(problem->record, ray->disk || c.step > 0 ? ISO_NEWS : ISO_DETAIL, "%s", w->text);
	return ISO_OK;
}
