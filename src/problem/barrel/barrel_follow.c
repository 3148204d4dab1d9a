/* SPDX-License-Identifier: BSD-3-Clause */
/* 'follow' of model barrel: what problem/follow_events.c asks of its events. */
#include "model_barrel.h"

#include "base/number.h"
#include "core/size.h"
#include "problem/follow_events.h"

#include <string.h>

struct stream {
	struct barrel_problem *b;
	iso_barrel_file *file;
	struct iso_barrel_events ring;  /* the last events, up to a block of them */
	struct iso_barrel_events count; /* of all that came, without events */
	iso_real *alpha, *add;          /* of a block; NULL: none */
	double randoms;                 /* additive term of every event */
};

static void plan(void *self, struct iso_plan *lines, int64_t block)
{
	const struct stream *s = self;
	const int64_t each = (int64_t)sizeof(struct iso_barrel_event) + 2 * (int64_t)sizeof(iso_real);

	iso_plan_add(lines, "a block of events", block, each, false);
	iso_barrel_plan(lines, s->b->p->ctx, &s->b->model, block);
}

static int open_events(void *self, int64_t block)
{
	struct stream *s = self;
	const struct barrel_problem *b = s->b;

	s->ring.v = size_alloc(block, sizeof *s->ring.v);
	if (b->mu) s->alpha = size_alloc(block, sizeof *s->alpha);
	if (s->randoms > 0) s->add = size_alloc(block, sizeof *s->add);
	if (!s->ring.v || (b->mu && !s->alpha) || (s->randoms > 0 && !s->add))
		return iso_fail_memory("follow", block * (int64_t)sizeof *s->ring.v);
	for (int64_t j = 0; s->add && j < block; j++) s->add[j] = (iso_real)s->randoms;
	return iso_barrel_file_open(&s->file, b->events, &b->barrel, &b->read, true);
}

static int next(void *self, int64_t *n, bool *end, int64_t at, int64_t most, double wait_s)
{
	struct stream *s = self;
	struct iso_barrel_events piece = { .v = s->ring.v + at }, *c = &s->count;
	int st = iso_barrel_file_next(&piece, end, s->file, most, wait_s);

	*n = piece.n;
	c->n += piece.n;
	c->unknown += piece.unknown;
	c->no_pair += piece.no_pair;
	c->not_finite += piece.not_finite;
	c->far += piece.far;
	c->beyond += piece.beyond;
	return st;
}

static int op(void *self, iso_op **made, struct iso_em_data *d, iso_ctx *ctx, int64_t n)
{
	struct stream *s = self;
	const struct barrel_problem *b = s->b;
	int st;

	s->ring.n = n;
	if (2 * s->count.unknown > s->count.n)
		return iso_refuse(b->events,
		                  "%" PRId64 " of %" PRId64
		                  " events are of strips that the scanner does not have",
		                  s->count.unknown, s->count.n);
	if (s->alpha && (st = iso_barrel_attenuation(s->alpha, ctx, &b->barrel, &b->mu_map, &s->ring)))
		return st;
	d->mult = s->alpha;
	d->add = s->add;
	return iso_barrel_create(made, ctx, &b->model, &s->ring);
}

static json_t *counts(void *self)
{
	const struct iso_barrel_events *c = &((struct stream *)self)->count;

	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "unknown_strips", (json_int_t)c->unknown, "no_pair",
	                 (json_int_t)c->no_pair, "not_finite", (json_int_t)c->not_finite,
	                 "far_beyond_the_strips", (json_int_t)c->far, "beyond_the_strips",
	                 (json_int_t)c->beyond);
}

static void warn(void *self, struct record *record)
{
	barrel_warn(record, "", &((struct stream *)self)->count);
}

static void close_events(void *self)
{
	struct stream *s = self;

	iso_barrel_file_close(s->file);
	free(s->ring.v);
	free(s->alpha);
	free(s->add);
}

static int run(iso_problem *problem, struct iso_array *to)
{
	struct stream s = { .b = problem->self };
	const struct follow_source source = { .path = s.b->events,
		                              .self = &s,
		                              .plan = plan,
		                              .open = open_events,
		                              .next = next,
		                              .op = op,
		                              .counts = counts,
		                              .warn = warn,
		                              .close = close_events };

	if (s.b->additive &&
	    (!iso_number(&s.randoms, s.b->additive, strlen(s.b->additive)) || !(s.randoms >= 0)))
		return iso_fail(ISO_EARG, "'additive' is %s; with 'follow' it is one number for all events",
		                s.b->additive);
	return follow_events(problem, to, &source);
}

const struct method barrel_follow = {
	.about = "events as they come",
	.needs = MODEL_EVENTS,
	.takes = TAKES_START,
	.load = MODEL_NEEDS_SENS,
	.run = run,
};
