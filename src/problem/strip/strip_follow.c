/* SPDX-License-Identifier: BSD-3-Clause */
/* 'follow' of model strip: what problem/follow_events.c asks of its events. */
#include "model_strip.h"

#include "core/size.h"
#include "problem/follow_events.h"

struct stream {
	struct strip *strip;
	iso_strip_file *file;
	struct iso_strip_events ring; /* the last events, up to a block of them */
	struct strip_count count;     /* of all that came */
};

static void plan(void *self, struct iso_plan *lines, int64_t block)
{
	const struct strip *strip = ((struct stream *)self)->strip;

	iso_plan_add(lines, "a block of events", block, sizeof(struct iso_strip_event), false);
	iso_strip_plan(lines, strip->p->ctx, &strip->model, block);
}

static int open_events(void *self, int64_t block)
{
	struct stream *s = self;

	if (!(s->ring.v = size_alloc(block, sizeof *s->ring.v)))
		return iso_fail_memory("follow", block * (int64_t)sizeof *s->ring.v);
	return iso_strip_file_open(&s->file, s->strip->events, &s->strip->read, true);
}

static int next(void *self, int64_t *n, bool *end, int64_t at, int64_t most, double wait_s)
{
	struct stream *s = self;
	struct iso_strip_events piece = { .v = s->ring.v + at };
	int st = iso_strip_file_next(&piece, end, s->file, most, wait_s);

	if (!st && piece.n > 0) strip_count(s->strip, &s->count, &piece);
	*n = piece.n;
	return st;
}

static int op(void *self, iso_op **made, struct iso_em_data *d, iso_ctx *ctx, int64_t n)
{
	struct stream *s = self;

	(void)d;
	s->ring.n = n;
	return iso_strip_create(made, ctx, &s->strip->model, &s->ring);
}

static json_t *counts(void *self)
{
	const struct strip_count *c = &((struct stream *)self)->count;

	return json_pack("{s:I, s:I}", "not_finite", (json_int_t)c->bad, "beyond_the_strips",
	                 (json_int_t)c->outside);
}

static void warn(void *self, struct record *record)
{
	const struct strip_count *c = &((struct stream *)self)->count;
	char unit[160];

	strip_warn(record, "", c);
	if (strip_in_the_middle(unit, c->n - c->bad, c->reach, c->half)) record_warn(record, "%s", unit);
}

static void close_events(void *self)
{
	struct stream *s = self;

	iso_strip_file_close(s->file);
	free(s->ring.v);
}

static int run(iso_problem *problem, struct iso_array *to)
{
	struct stream s = { .strip = problem->self };
	const struct follow_source source = { .path = s.strip->events,
		                              .self = &s,
		                              .plan = plan,
		                              .open = open_events,
		                              .next = next,
		                              .op = op,
		                              .counts = counts,
		                              .warn = warn,
		                              .close = close_events };

	return follow_events(problem, to, &source);
}

const struct method strip_follow = {
	.about = "events as they come",
	.needs = MODEL_EVENTS,
	.takes = TAKES_START,
	.load = MODEL_NEEDS_SENS,
	.run = run,
};
