/* SPDX-License-Identifier: BSD-3-Clause */
/* States of a fit in memory and in files. */
#include "norm_saved.h"

#include "algo/checkpoint.h"
#include "core/comm.h"
#include "core/progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVERY_S 1. /* least time between two files */

enum { ITEMS = 8, PLACES = 4, NUMBERS = 5, COUNTS = 6 };

/* What of the fit is not a vector: numbers, and whole numbers. */
enum { BEFORE, COUNTS_USED, RANDOMS_USED, LOGLIK, STOP_AT };
enum { STEPS, PRODUCTS, TOO_RANDOM, FIRST, ROUND, PLACED };

struct norm_saved {
	struct iso_room room;
	struct norm_fit *f;
	struct norm_q *q;
	const char *path;
	uint64_t key;
	int64_t n; /* parameters */
	double *eps, *t, *z;
	double *place; /* (scans, PLACES, NORM_SHIFTS): shifts now, and where q was made, chosen, scattered */
	double number[NUMBERS];
	int64_t count[COUNTS];
	int64_t *flag;   /* (crystals + classes): dead crystals, states of classes */
	int64_t *active; /* (parameters + 1): what is fitted, and whether the place is kept */
	struct norm_point point;
	bool kept;
	double written_s;
};

int norm_saved_create(struct norm_saved **state, struct norm_fit *f, struct norm_q *q, const char *path,
                      uint64_t key)
{
	struct norm_saved *s = calloc(1, sizeof *s);

	if (!s) return iso_fail_memory("norm", sizeof *s);
	s->room = iso_room_of(NULL, "norm");
	s->f = f;
	s->q = q;
	s->path = path;
	s->key = key;
	s->n = norm_parameters(f);
	s->written_s = iso_now_s();
	ISO_HOST(&s->room, s->eps, f->rows->n);
	ISO_HOST(&s->room, s->t, f->classes->n_t);
	ISO_HOST(&s->room, s->z, f->classes->n_z);
	ISO_HOST(&s->room, s->place, f->scans * PLACES * NORM_SHIFTS);
	ISO_HOST(&s->room, s->flag, norm_at_shift(f, 0));
	ISO_HOST(&s->room, s->active, s->n + 1);
	ISO_HOST(&s->room, s->point.active, s->n);
	*state = s;
	return s->room.status;
}

void norm_saved_free(struct norm_saved *s)
{
	if (!s) return;
	iso_room_free(&s->room);
	free(s);
}

static int items(struct iso_item item[ITEMS], struct norm_saved *s)
{
	const struct norm_fit *f = s->f;
	const struct iso_item all[] = {
		{ "eps", ISO_ITEM_DOUBLE, f->rows->n, s->eps },
		{ "t", ISO_ITEM_DOUBLE, f->classes->n_t, s->t },
		{ "z", ISO_ITEM_DOUBLE, f->classes->n_z, s->z },
		{ "places", ISO_ITEM_DOUBLE, f->scans * PLACES * NORM_SHIFTS, s->place },
		{ "numbers", ISO_ITEM_DOUBLE, NUMBERS, s->number },
		{ "counts", ISO_ITEM_INT64, COUNTS, s->count },
		{ "flags", ISO_ITEM_INT64, norm_at_shift(f, 0), s->flag },
		{ "active", ISO_ITEM_INT64, s->n + 1, s->active },
	};

	memcpy(item, all, sizeof all);
	return ITEMS;
}

/* ---- keeping ---- */

/* One of the places of a scan. */
static double *places_of(const struct norm_saved *s, int scan, int which)
{
	return s->place + (scan * PLACES + which) * NORM_SHIFTS;
}

static int write_file(struct norm_saved *s)
{
	struct iso_item item[ITEMS];
	const int n = items(item, s);

	s->written_s = iso_now_s();
	return iso_rank(s->f->ctx) == 0 ? iso_checkpoint_write(s->path, s->key, n, item) : ISO_OK;
}

int norm_saved_keep(struct norm_saved *s, const struct norm_point *p)
{
	const struct norm_fit *f = s->f;
	const int64_t t = norm_at_t(f), z = norm_at_z(f);
	double due;
	int st;

	memcpy(s->eps, f->eps, (size_t)f->rows->n * sizeof *s->eps);
	memcpy(s->t, f->t, (size_t)f->classes->n_t * sizeof *s->t);
	memcpy(s->z, f->z, (size_t)f->classes->n_z * sizeof *s->z);
	for (int64_t a = 0; a < t; a++) s->flag[a] = f->dead[a];
	for (int64_t k = t; k < z; k++) s->flag[k] = f->t_state[k - t];
	for (int64_t l = z; l < norm_at_shift(f, 0); l++) s->flag[l] = f->z_state[l - z];
	for (int64_t i = 0; i < s->n; i++) s->active[i] = p->active[i];
	s->active[s->n] = p->placed;
	for (int i = 0; i < f->scans; i++) {
		const double *const from[] = { f->scan[i].shift, s->q[i].made_at, s->q[i].chosen_at,
			                       s->q[i].scattered_at };

		for (int k = 0; k < PLACES; k++)
			memcpy(places_of(s, i, k), from[k], NORM_SHIFTS * sizeof *from[k]);
	}
	memcpy(s->number, (const double[NUMBERS]){ p->before, f->counts, f->randoms, f->loglik, f->stop },
	       sizeof s->number);
	memcpy(s->count,
	       (const int64_t[COUNTS]){ f->steps, f->products, f->too_random, p->first, f->round, f->placed },
	       sizeof s->count);
	s->kept = true;
	due = iso_now_s() - s->written_s >= EVERY_S;
	if ((st = iso_comm_max(f->ctx, ISO_OK, &due, 1))) return st;
	if (due > 0) (void)write_file(s); /* it may be written next time: the fit goes on */
	return ISO_OK;
}

int norm_saved_stop(struct norm_saved *s)
{
	const int st = s->kept ? write_file(s) : ISO_OK;

	if (st) return st;
	if (!s->kept) return iso_fail(ISO_ECANCEL, "norm: stopped before the first step");
	return iso_fail(ISO_ECANCEL, "norm: stopped after %" PRId64 " steps; resume continues from %s",
	                s->count[STEPS], s->path);
}

/* ---- resuming ---- */

static void give_back(struct norm_saved *s)
{
	struct norm_fit *f = s->f;
	const int64_t t = norm_at_t(f), z = norm_at_z(f);

	memcpy(f->eps, s->eps, (size_t)f->rows->n * sizeof *s->eps);
	memcpy(f->t, s->t, (size_t)f->classes->n_t * sizeof *s->t);
	memcpy(f->z, s->z, (size_t)f->classes->n_z * sizeof *s->z);
	for (int64_t a = 0; a < t; a++) f->dead[a] = s->flag[a];
	for (int64_t k = t; k < z; k++) f->t_state[k - t] = (char)s->flag[k];
	for (int64_t l = z; l < norm_at_shift(f, 0); l++) f->z_state[l - z] = (char)s->flag[l];
	for (int64_t i = 0; i < s->n; i++) s->point.active[i] = s->active[i];
	s->point.placed = s->active[s->n];
	s->point.before = s->number[BEFORE];
	s->point.first = (int)s->count[FIRST];
	f->counts = s->number[COUNTS_USED];
	f->randoms = s->number[RANDOMS_USED];
	f->loglik = s->number[LOGLIK];
	f->stop = s->number[STOP_AT];
	f->steps = (int)s->count[STEPS];
	f->products = (int)s->count[PRODUCTS];
	f->too_random = s->count[TOO_RANDOM];
	f->round = (int)s->count[ROUND];
	f->placed = s->count[PLACED];
	f->point = &s->point;
}

int norm_saved_resume(bool *found, struct norm_saved *s)
{
	struct iso_item item[ITEMS];
	const int n = items(item, s);
	double there = iso_rank(s->f->ctx) == 0 && access(s->path, F_OK) == 0;
	int st = iso_comm_max(s->f->ctx, ISO_OK, &there, 1);

	*found = there > 0;
	if (st || !*found) return st;
	st = iso_comm_agree(s->f->ctx, iso_checkpoint_read(s->path, s->key, n, item));
	if (st) return st;
	s->kept = true;
	give_back(s);
	for (int i = 0; i < s->f->scans && !st; i++) {
		const double *at[PLACES];

		for (int k = 0; k < PLACES; k++) at[k] = places_of(s, i, k);
		st = norm_q_restore(s->f->scan + i, at[0], at[1], at[2], at[3], s->f->ctx);
	}
	return st;
}
