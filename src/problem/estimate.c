/* SPDX-License-Identifier: BSD-3-Clause */
/* How long an update will take: a step over a few of the rows is timed, and an exchange of an update's bytes. */
#include "problem.h"

#include "core/comm.h"
#include "core/op.h"

#define MOST_EXCHANGED ((int64_t)1 << 26) /* bytes that are exchanged to find the rate */

/* A step of EM, or of least squares: forward and back; of a model without forward, back alone. */
static int step(iso_op *op, iso_real *acc, const iso_real *x, iso_real *y)
{
	struct iso_em_data ones = { 0 };
	struct iso_em_stat stat;
	int st = ISO_OK;

	if (op->fn->em_step) return iso_op_em_step(acc, &stat, op, ISO_ALL, x, &ones);
	if (op->fn->forward) st = iso_forward(y, op, ISO_ALL, x);
	return st ? st : iso_adjoint(acc, op, ISO_ALL, y);
}

/* The second step, in seconds; what it makes is waited for. */
int problem_time_step(iso_op *op, double *seconds)
{
	struct iso_room room = iso_room_of(op->ctx, "estimate");
	const struct iso_vec *v = op->ctx->vec;
	iso_real *x, *acc, *y, one;
	double began = 0;
	int st;

	ISO_DEVICE(&room, x, op->n_in);
	ISO_DEVICE(&room, acc, op->n_in);
	ISO_DEVICE(&room, y, op->n_out);
	if (!(st = room.status)) st = v->fill(op->ctx, op->n_in, x, 1);
	for (int k = 0; k < 2 && !st; k++) {
		began = iso_now_s();
		if (!(st = step(op, acc, x, y))) st = v->download(op->ctx, &one, acc, sizeof one);
	}
	*seconds = iso_now_s() - began;
	iso_room_free(&room);
	return st;
}

/* All rows, by one rank alone; 0: it can't be said. */
static int time_rows(iso_problem *p, double *seconds)
{
	iso_ctx *alone = NULL;
	iso_op *op = NULL;
	double times = 0;
	int st = iso_ctx_create(&alone, iso_ctx_device(p->ctx), iso_ctx_threads(p->ctx));

	if (!st) st = p->m->sample(p, &op, alone, &times);
	if (!st && op) st = problem_time_step(op, seconds);
	*seconds = op ? *seconds * times : 0;
	iso_op_free(op);
	iso_ctx_free(alone);
	return st;
}

/* As images are summed, or results gathered. */
static int time_exchange(iso_problem *p, int64_t bytes, double *seconds)
{
	int64_t most = bytes < MOST_EXCHANGED ? bytes : MOST_EXCHANGED, n = most / 8 + 1;
	struct iso_room room = iso_room_of(p->ctx, "estimate");
	int64_t *v;
	double began = 0;
	int st;

	ISO_DEVICE(&room, v, n);
	st = room.status;
	for (int k = 0; k < 2; k++) {
		began = iso_now_s();
		st = p->m->rows_split ? iso_comm_sum_device(p->ctx, st, v, n)
		                      : iso_comm_gather(p->ctx, st, v, n, sizeof *v);
		if (!st && iso_ctx_is_cuda(p->ctx)) st = p->ctx->cuda->wait(p->ctx);
	}
	*seconds = (iso_now_s() - began) * ((double)bytes / (double)most);
	iso_room_free(&room);
	return st;
}

int problem_estimate(iso_problem *p, struct record_split *s, bool fits)
{
	double seconds[2] = { 0 }, tight = !fits;
	int st;

	if (s->ranks < 2 || !p->record->read.dry_run || !p->m->sample || s->exchanged < 1) return ISO_OK;
	if ((st = iso_comm_max(p->ctx, ISO_OK, &tight, 1)) || tight > 0) return st;
	if ((st = iso_comm_agree(p->ctx, time_rows(p, &seconds[0])))) return st;
	st = time_exchange(p, s->exchanged, &seconds[1]);
	if ((st = iso_comm_max(p->ctx, st, seconds, 2))) return st;
	s->computing_s = seconds[0] / (s->ranks * (double)(p->s.by.n > 1 ? p->s.by.n : 1));
	s->exchanging_s = seconds[1];
	return ISO_OK;
}
