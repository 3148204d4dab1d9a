/* SPDX-License-Identifier: BSD-3-Clause */
/* Poses by the millisecond, and histories of decays in an object that moves: attenuated in the object's axes, seen in the
   scanner's. */
#include "moving.h"
#include "core/ctx.h"
#include "core/size.h"
#include "core/sized.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>

#define SAME 1e-6                    /* of every number of a pose, mm: as a reconstruction treats tables */
#define BETWEEN .38196601125010515   /* 2 - golden ratio: no whole number of turns is even there, but 0 */
#define PILOT_HISTORY (1ull << 61)   /* number of the first history of a pilot, beyond those of blocks */
#define TURN 512                     /* histories of one thread's turn */
#define PHOTON_TIME (PHOTON_OWN + 3) /* draw of the time of a history of the pilot */
enum { PILOT_TURNS = 64 };           /* of a round */

/* ---- tables ---- */

static bool is_identity(const struct iso_pose *p)
{
	const struct iso_pose one = iso_pose_identity();

	for (int i = 0; i < 12; i++)
		if (!(fabs(p->m[i] - one.m[i]) <= SAME)) return false;
	return true;
}

/* Rows, and a place between each two: an angle may turn by whole turns from row to row. */
static bool table_rests(const iso_poses *p)
{
	struct iso_pose pose;

	for (int64_t i = 0, n = p ? iso_poses_rows(p) : 0; i < n; i++) {
		double t = iso_poses_time(p, i);

		if (!iso_poses_row(&pose, p, i) || !is_identity(&pose)) return false;
		if (i + 1 == n || !isfinite(t)) continue;
		t += BETWEEN * (iso_poses_time(p, i + 1) - t);
		if (!iso_poses_at(&pose, p, t) || !is_identity(&pose)) return false;
	}
	return true;
}

/* Which row's pose holds from each row on: its own, or the last known one, or, before any is known, the first. */
static int find_known(int64_t **known, const iso_poses *p)
{
	int64_t n = p ? iso_poses_rows(p) : 0, last = -1, unknown = 0;
	struct iso_pose pose;

	for (int64_t i = 0; i < n; i++) unknown += !iso_poses_row(&pose, p, i);
	if (unknown == 0) return ISO_OK;
	if (unknown == n) return iso_fail(ISO_EINPUT, "simulate: a table of poses has no known row");
	if (!(*known = size_alloc(n, sizeof **known)))
		return iso_fail_memory("simulate", n * (int64_t)sizeof **known);
	for (int64_t i = 0; i < n; i++) {
		if (iso_poses_row(&pose, p, i)) {
			for (int64_t k = 0; last < 0 && k < i; k++) (*known)[k] = i;
			last = i;
		}
		(*known)[i] = last;
	}
	return ISO_OK;
}

/* One row, the identity: an object that changes its shape alone. */
static int stand_still(struct iso_moving *m, struct iso_motion_parts *parts)
{
	static const double row[8] = { 0, 1 };
	int st = iso_poses_create(&m->still, row, 1, 8, NULL, "simulate");

	*parts = (struct iso_motion_parts){ .size = sizeof *parts, .poses = m->still };
	return st;
}

static int make(struct iso_moving *m, iso_ctx *ctx, const struct iso_simulate *p, double radius, double half)
{
	struct iso_motion_parts parts;
	int st = p->motion ? iso_sized_take(&parts, "iso_motion_parts", sizeof parts, p->motion)
	                   : stand_still(m, &parts);

	if (st) return st;
	if (!p->gates && !p->mu_fixed && !parts.reference && table_rests(parts.poses) &&
	    table_rests(parts.bed) && table_rests(parts.gantry))
		return ISO_OK;
	st = iso_motion_create(&m->motion, &parts);
	for (int k = 0; k < MOVES && !st; k++) st = find_known(&m->known[k], m->motion->table[k]);
	if (!st) st = iso_woodcock_create(&m->fixed, p->mu_fixed);
	return st ? st : iso_states_create(&m->states, ctx, p, radius, half);
}

int iso_moving_create(struct iso_moving *m, iso_ctx *ctx, const struct iso_simulate *p, double radius,
                      double half)
{
	*m = (struct iso_moving){ 0 };
	if (!p->motion && !p->gates) return ISO_OK;
	int st = make(m, ctx, p, radius, half);

	if (st) iso_moving_free(m);
	return st;
}

void iso_moving_free(struct iso_moving *m)
{
	iso_motion_free(m->motion);
	iso_poses_free(m->still);
	iso_states_free(&m->states);
	for (int k = 0; k < MOVES; k++) free(m->known[k]);
	*m = (struct iso_moving){ 0 };
}

/* The pose of table k, or the last known one. */
static struct iso_pose part_at(const struct iso_moving *m, int k, double time_s)
{
	const iso_poses *p = m->motion->table[k];
	struct iso_pose pose = iso_pose_identity();

	if (p && !iso_poses_at(&pose, p, time_s) &&
	    !iso_poses_row(&pose, p, m->known[k][poses_row_at(p, time_s, 0)]))
		pose = iso_pose_identity();
	return pose;
}

void iso_moving_at(struct moving_pose *at, const struct iso_moving *m, double time_s)
{
	const int64_t ms = scan_ms(time_s);
	const double t = (double)ms / 1000;
	struct iso_pose *z = &at->place.z, *bp = &at->place.bp;
	bool known;

	if (at->ms == ms) return;
	at->ms = ms;
	at->place.state = iso_states_at(&m->states, t);
	motion_rows_find(&at->rows, m->motion, t);
	known = motion_within(z, m->motion, &at->rows, t);
	if (known && !(m->fixed.mu && m->motion->table[MOVES_GANTRY])) {
		*bp = *z;
		return;
	}
	*bp = iso_pose_multiply(part_at(m, MOVES_BED, t), part_at(m, MOVES_OBJECT, t));
	if (m->motion->has_reference) *bp = iso_pose_multiply(*bp, m->motion->back);
	if (!known) *z = iso_pose_multiply(iso_pose_inverse(part_at(m, MOVES_GANTRY, t)), *bp);
}

/* ---- histories ---- */

struct moving_object iso_moving_object(const struct iso_moving *m)
{
	return (struct moving_object){ m->states.of, m->fixed };
}

bool iso_moving_run(struct iso_hit *hit, const struct iso_histories *h, const struct iso_moving *m,
                    const struct moving_pose *at, enum iso_history_kind kind, uint64_t history)
{
	const struct moving_object object = iso_moving_object(m);

	return moving_run(hit, h, &object, &at->place, kind, history);
}

/* ---- by photons ---- */

/* Photon h of a decay: through the object in its axes, then straight on to the ring in the scanner's. */
static int64_t photon_moved(struct photon_end *e, const struct photon_scan *s, const struct photon_decay *d,
                            int h, const struct iso_pose *z)
{
	float dir[3];
	double to[3], along[3];

	if (!photon_leave(e, dir, &s->w, d, h, 0)) return -1;
	for (int a = 0; a < 3; a++) to[a] = (double)e->at[a];
	iso_pose_apply(to, z, to);
	for (int i = 0; i < 3; i++) {
		const double *r = z->m + 4 * i;

		along[i] = r[0] * (double)dir[0] + r[1] * (double)dir[1] + r[2] * (double)dir[2];
	}
	for (int a = 0; a < 3; a++) {
		e->at[a] = (float)to[a];
		dir[a] = (float)along[a];
	}
	return photon_land(e, &s->w, dir) ? photon_count(e, s, d, h) : -1;
}

bool iso_moving_photons(struct photon_event *e, const struct photon_scan *s, const struct moving_pose *at,
                        uint64_t history)
{
	bool joins = photon_joins(history);
	struct photon_decay d;
	struct photon_end end[2];
	int64_t a, b;

	photon_decay(&d, &s->w, history);
	if ((a = photon_moved(&end[0], s, &d, 0, &at->place.z)) < 0) return false;
	if (photon_kind_of(history) == PHOTON_PILOT_SINGLES) return true;
	if (joins) photon_decay(&d, &s->w, history | PHOTON_SECOND);
	b = photon_moved(&end[1], s, &d, joins ? 0 : 1, &at->place.z);
	return b >= 0 && photon_pair_up(e, s, history, &end[0], a, &end[1], b);
}

/* ---- how many decays an event takes ---- */

/* History i of a pilot, at a time of its own. */
static bool pilot_run(const struct moving_kind *k, struct moving_pose *at, int64_t i)
{
	const struct iso_histories *h = k->histories;
	uint64_t history = h ? PILOT_HISTORY + (uint64_t)i : photon_history(k->pilot, 0, i);
	struct philox p = philox_draw(h ? h->seed : k->photons->w.seed, history,
	                              h ? history_draw(k->kind) + HISTORY_TIME : PHOTON_TIME);
	struct iso_hit hit;
	struct photon_event e;

	iso_moving_at(at, k->moving, iso_scan_when(&k->rate, philox_unit_double(p.w[0], p.w[1])));
	return h ? iso_moving_run(&hit, h, k->moving, at, k->kind, history)
	         : iso_moving_photons(&e, k->photons, at, history);
}

/* Events of the histories from `first` on: of TURN of them, or until there are `want`; *run: how many ran. */
static int64_t pilot_turn(int64_t *run, const struct moving_kind *k, int64_t first, int64_t want)
{
	struct moving_pose at = { .ms = -1 };
	int64_t found = 0, i = 0;

	for (; i < TURN && found < want; i++) found += pilot_run(k, &at, first + i);
	*run = i;
	return found;
}

int iso_moving_pilot(int64_t *histories, iso_ctx *ctx, const struct moving_kind *k, int64_t want,
                     int64_t hopeless)
{
	int64_t found = 0, of[PILOT_TURNS], run[PILOT_TURNS];
	int st = ISO_OK;

	for (int64_t first = 0; !st; first += PILOT_TURNS * TURN) {
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
		for (int i = 0; i < PILOT_TURNS; i++)
			of[i] = iso_stopped(ctx) ? 0 : pilot_turn(run + i, k, first + i * TURN, INT64_MAX);
		if ((st = iso_ctx_poll(ctx))) break;
		for (int i = 0; i < PILOT_TURNS; found += of[i++]) {
			if (found + of[i] < want) continue;
			pilot_turn(run, k, first + i * TURN, want - found);
			*histories = first + i * TURN + run[0];
			return ISO_OK;
		}
		if (found == 0 && first + PILOT_TURNS * TURN >= hopeless)
			st = iso_fail(ISO_EINPUT,
			              "simulate: none of %" PRId64 " decays gave an event in any pose",
			              hopeless);
	}
	return st;
}
