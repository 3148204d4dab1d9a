/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulated scan of two panels: how many trues and randoms, in which order, into a histogram and
   to a list; and the share of decays at a point that it records. */
#include "core/progress.h"
#include "core/sized.h"
#include "panel_scan.h"
#include "panel_turn.h"

#include <stdlib.h>

enum {
	PIECE = 1 << 22,   /* decays at a time, at most */
	RANDOMS = 1 << 16, /* randoms made ahead */
	LIST = 1 << 16,    /* events of the list in memory */
	PILOT = 1 << 19,   /* decays that tell the rates */
	UNSEEN = 1 << 28,  /* decays without any coincidence, after which there will be none */
};

#define POISSON_HISTORY (1ull << 62) /* beyond those of decays */
#define POINT_STREAM (PANEL_STREAMS + 8)

struct iso_panel_scan_run {
	struct iso_panel_simulate p;
	const struct iso_panels *panels;
	struct iso_panel_scan scan;     /* whose room has the arrays */
	struct iso_panel_turn *turn;    /* NULL: nothing moves */
	struct panel_event *e, *random; /* PIECE and RANDOMS of them */
	iso_real *lors;
	struct iso_events list; /* room for LIST; v is NULL where nobody asks for them */
	uint8_t *order;         /* of each of the list, if p.truth asks */
	iso_emit_fn emit;
	void *arg;
	int64_t trues, decays; /* wanted; 0: as the other one says */
	int64_t n_randoms;     /* wanted; with decays: so far */
	int64_t ahead;         /* randoms made */
	struct iso_panel_simulated done;
	int64_t by_order[ISO_ORDERS]; /* of trues, by scatters in the object */
};

typedef struct iso_panel_scan_run run;

const struct iso_panel_simulated *iso_panel_simulate_info(const run *r)
{
	return r ? &r->done : NULL;
}

int iso_panel_simulate_orders(int64_t by_order[ISO_ORDERS], const run *r)
{
	if (!by_order || !r) return iso_fail_null(__func__);
	memcpy(by_order, r->by_order, sizeof r->by_order);
	return ISO_OK;
}

void iso_panel_simulate_free(run *r)
{
	if (!r) return;
	iso_panel_scan_free(&r->scan);
	iso_panel_turn_free(r->turn);
	free(r);
}

void iso_panel_simulate_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_panels *p,
                             int64_t voxels, bool list)
{
	iso_plan_add(plan, "histogram of LORs", iso_panels_lors(p), sizeof(iso_real), false);
	iso_plan_add(plan, "events", PIECE + RANDOMS, sizeof(struct panel_event), false);
	iso_plan_add(plan, "emission tables", voxels, sizeof(struct iso_emission_slot) + 12, false);
	if (list) iso_plan_add(plan, "list", LIST, sizeof(struct iso_event) + 8, false);
	if (!iso_ctx_is_cuda(ctx)) return;
	iso_plan_add(plan, "events on the device", 2 * PIECE, sizeof(struct panel_event), true);
	iso_plan_add(plan, "emission table on the device", voxels, sizeof(struct iso_emission_slot), true);
}

int iso_panel_histogram(struct iso_array *lors, const struct iso_panels *p)
{
	if (!lors || !p) return iso_fail_null(__func__);

	const int64_t x = p->crystals[0], z = p->crystals[1], l = p->layers;
	const int64_t dim[6] = { l, l, x, z, x, z };
	int st = iso_array_create(lors, l > 1 ? 6 : 4, l > 1 ? dim : dim + 2);

	if (!st) strcpy(lors->unit, "counts");
	return st;
}

/* ---- how many ---- */

static int64_t number(const run *r, double mean, uint64_t which)
{
	return r->p.exact ? llround(mean) : iso_poisson(mean, r->p.transport.seed, POISSON_HISTORY + which);
}

/* Of D decays in T seconds, q D are trues and 2 tau (a D / T) (b D / T) T randoms, with the shares
   a, b, q of decays that hit the upper head, the lower one, both. Trues and randoms together being
   N, D = (sqrt(q^2 + 4 r N) - q) / (2 r), r = 2 tau a b / T. */
static int share_by_rate(run *r)
{
	double tau_s = 1e-9 * r->panels->coincidence, n = r->p.counts, time_s = r->p.duration_s, rate[3];
	int st;

	if (!(tau_s > 0) || !(time_s > 0))
		return iso_fail(ISO_EARG,
		                "simulate: randoms by rate need a duration (%g s) and window (%g ns)", time_s,
		                r->panels->coincidence);
	if ((st = iso_panel_scan_rates(rate, &r->scan, PILOT))) return st;
	double a = 2 * tau_s * rate[0] * rate[1] / time_s, q = rate[2];
	double decays = r->decays > 0 ? r->p.decays : 2 * n / (sqrt(q * q + 4 * a * n) + q);

	r->done.share = a * decays / (q + a * decays);
	r->done.decays_per_s = decays / time_s;
	r->done.singles_upper_per_s = rate[0] * decays / time_s;
	r->done.singles_lower_per_s = rate[1] * decays / time_s;
	return ISO_OK;
}

static int set_numbers(run *r)
{
	double counts = r->p.counts;
	int st;

	r->done.share = r->p.randoms;
	if (r->p.decays > 0) r->decays = number(r, r->p.decays, 0);
	if (r->p.by_rate && (st = share_by_rate(r))) return st;
	if (r->p.decays > 0) return ISO_OK;
	r->n_randoms = number(r, counts * r->done.share, 1);
	r->trues = r->p.exact ? llround(counts) - r->n_randoms : number(r, counts * (1 - r->done.share), 2);
	r->done.expected = r->trues + r->n_randoms;
	return ISO_OK;
}

/* As many decays as the events take in the mean over the scan's poses, each span by chance. */
static int deal_decays(run *r)
{
	int64_t found = 0;
	double decays = r->p.decays;
	int st = ISO_OK;

	if (!(decays > 0)) {
		iso_panel_turn_deal(r->turn, PILOT, false);
		st = iso_panel_scan_events(r->e, &found, &r->scan, PANEL_PILOT, 0,
		                           r->turn->span[r->turn->n].first);
		if (!st && found == 0)
			st = iso_fail(ISO_EINPUT, "simulate: %d decays lie outside the scanner's view",
			              PILOT);
		if (!st) decays = r->p.counts / (double)found * (double)r->turn->span[r->turn->n].first;
	}
	if (st) return st;
	iso_panel_turn_deal(r->turn, decays, true);
	r->decays = r->turn->span[r->turn->n].first;
	return r->decays > 0 ? ISO_OK : iso_fail(ISO_EINPUT, "simulate: no decay in the whole scan");
}

static int prepare_moving(run *r)
{
	const struct iso_panel_simulate *p = &r->p;
	int st;

	if (p->exact || p->by_rate || p->randoms > 0)
		return iso_fail(ISO_EARG,
		                "simulate: two panels that move have no randoms, and a number of events "
		                "that follows the poses");
	if (iso_ctx_is_cuda(r->scan.ctx))
		return iso_fail(ISO_EARG,
		                "simulate: what moves is simulated on the CPU alone; give 'device' cpu");
	if ((st = iso_panel_turn_create(&r->turn, p)) ||
	    (st = iso_panel_turn_check(r->turn, p->activity, "activity", r->panels->gap)) ||
	    (st = iso_panel_turn_check(r->turn, p->mu, "matter", r->panels->gap)))
		return st;
	r->scan.turn = r->turn;
	r->done.histograms = r->turn->n;
	return deal_decays(r);
}

int iso_panel_simulate_open(run **out, iso_ctx *ctx, const struct iso_panel_simulate *from)
{
	if (!out || !ctx || !from) return iso_fail_null(__func__);
	run *r = calloc(1, sizeof *r);

	if (!r) return iso_fail_memory("simulate", sizeof *r);
	r->done.size = sizeof r->done;
	struct iso_panel_simulate *p = &r->p;
	int st = iso_sized_take(p, "iso_panel_simulate", sizeof *p, from);

	if (st) goto done;
	r->panels = p->scanner ? iso_scanner_panels(p->scanner) : NULL;
	if (!r->panels || !p->activity || !(p->randoms >= 0 && p->randoms < 1) ||
	    !(p->counts > 0 || p->decays > 0))
		st = iso_fail(ISO_EARG, "simulate: needs a scanner of two panels, an activity, counts or "
		                        "decays, and a share of randoms from 0 to below 1");
	else if (!(st = iso_panel_scan_create(&r->scan, ctx, r->panels, &p->transport, p->activity, p->mu,
	                                      p->rayleigh))) {
		ISO_HOST(&r->scan.room, r->e, PIECE);
		ISO_HOST(&r->scan.room, r->random, RANDOMS);
		r->done.histograms = 1;
		if (!(st = r->scan.room.status)) st = p->motion ? prepare_moving(r) : set_numbers(r);
	}
	p->motion = NULL; /* borrowed until now */
	p->activity = p->mu = NULL;
done:
	if (st)
		iso_panel_simulate_free(r);
	else
		*out = r;
	return st;
}

/* ---- events ---- */

static int flush(run *r)
{
	int st = ISO_OK;

	if (r->list.n > 0 && r->p.truth) st = r->p.truth(r->p.truth_arg, r->order, r->list.n);
	if (r->list.n > 0 && !st) st = r->emit(r->arg, &r->list);
	r->list.n = 0;
	return st;
}

static int add_to_list(run *r, const struct panel_event *e, uint8_t order, uint32_t ms)
{
	const double *pos = iso_scanner_positions(r->p.scanner);
	uint32_t *crystal = r->list.crystal + 2 * r->list.n;
	struct iso_event *v = r->list.v + r->list.n;

	crystal[0] = e->upper;
	crystal[1] = (uint32_t)(iso_scanner_crystals(r->p.scanner) / 2) + e->lower;
	for (size_t a = 0; a < 3; a++) {
		v->p1[a] = (float)pos[3 * (size_t)crystal[0] + a];
		v->p2[a] = (float)pos[3 * (size_t)crystal[1] + a];
	}
	if (r->order) r->order[r->list.n] = order;
	if (r->list.time_ms) r->list.time_ms[r->list.n] = ms;
	return ++r->list.n == LIST ? flush(r) : ISO_OK;
}

/* Index (((a L + b) face + u) face + l) of crystals u, l of the layers a, b. */
static void add_to_histogram(run *r, const struct panel_event *e, int histogram)
{
	uint32_t face = (uint32_t)(r->panels->crystals[0] * r->panels->crystals[1]);
	int64_t table = e->upper / face * (int64_t)r->panels->layers + e->lower / face;

	r->lors[histogram * iso_panels_lors(r->panels) + (table * face + e->upper % face) * face +
	        e->lower % face] += 1;
}

/* The next random (or delayed) event, from those made ahead; `done`: how many there were before. */
static int next_random(const struct panel_event **e, run *r, enum panel_kind kind, int64_t done,
                       int64_t wanted)
{
	int64_t i = done % RANDOMS, found;
	int st = ISO_OK;

	if (done == r->ahead) {
		int64_t n = wanted - r->ahead < RANDOMS - i ? wanted - r->ahead : RANDOMS - i;

		st = iso_panel_scan_events(r->random + i, &found, &r->scan, kind, r->ahead, n);
		r->ahead += n;
	}
	*e = r->random + i;
	return st;
}

/* Of a true: more scatters than a byte holds beside ISO_ORDER_RANDOM count as the most. */
static uint8_t order_of(const struct panel_event *e)
{
	return e->order < ISO_ORDER_RANDOM ? (uint8_t)e->order : ISO_ORDER_RANDOM - 1;
}

/* n trues of r->e with the randoms that are due, evenly between them. */
static int add_piece(run *r, int64_t n, int64_t due)
{
	int64_t all = n + due, wanted = r->done.randoms + due, next = 0;
	int st = ISO_OK;

	for (int64_t k = 0; k < all && !st; k++) {
		bool random = (k + 1) * due / all > k * due / all;
		const struct panel_event *e = random ? NULL : r->e + next++;

		if (random && (st = next_random(&e, r, PANEL_RANDOMS, r->done.randoms++, wanted))) return st;
		uint32_t ms = 0;

		add_to_histogram(r, e,
		                 r->turn ? iso_panel_turn_when(&ms, r->turn, r->done.decays + e->decay) : 0);
		if (!random) r->by_order[e->order < ISO_ORDERS ? e->order : ISO_ORDERS - 1]++;
		if (r->emit) st = add_to_list(r, e, random ? ISO_ORDER_RANDOM : order_of(e), ms);
	}
	return st;
}

/* Its decays are a few times what the trues still wanted may need; its randoms are the trues' share of those
   still to come, or a number for this piece. */
static int one_piece(run *r)
{
	int64_t left = r->decays > 0 ? r->decays - r->done.decays : 16 * (r->trues - r->done.trues) + 65536;
	int64_t n = left < PIECE ? left : PIECE, found;
	int st = iso_panel_scan_events(r->e, &found, &r->scan, PANEL_TRUES, r->done.decays, n);

	if (st) return st;
	if (r->trues > 0 && found >= r->trues - r->done.trues) {
		found = r->trues - r->done.trues;
		n = r->e[found - 1].decay + 1;
	}
	double mean = (double)found * r->done.share / (1 - r->done.share);
	int64_t due = mean > 0 ? number(r, mean, 16 + (uint64_t)r->done.decays) : 0;

	if (r->trues > 0 || r->decays == 0)
		due = llround((double)r->n_randoms * (double)(r->done.trues + found) / (double)r->trues) -
		      r->done.randoms;
	st = add_piece(r, found, due);
	r->done.trues += found;
	r->done.decays += n;
	if (!st && r->done.trues == 0 && r->decays == 0 && r->done.decays > UNSEEN)
		st = iso_fail(ISO_EINPUT, "simulate: %" PRId64 " decays lie outside the scanner's view",
		              r->done.decays);
	return st;
}

int iso_panel_simulate_events(iso_real *lors, run *r, iso_emit_fn emit, void *arg)
{
	if (!lors || !r) return iso_fail_null(__func__);

	int64_t total = r->decays > 0 ? r->decays : r->trues, done = 0;
	struct iso_clock clock =
		iso_clock_start_of(r->scan.ctx, "simulate", r->decays > 0 ? "decays" : "events", 0, total);
	int st = ISO_OK;

	r->lors = lors;
	r->emit = emit;
	r->arg = arg;
	if (emit) {
		ISO_HOST(&r->scan.room, r->list.v, LIST);
		ISO_HOST(&r->scan.room, r->list.crystal, 2 * LIST);
		if (r->p.truth) ISO_HOST(&r->scan.room, r->order, LIST);
		if (r->turn) ISO_HOST(&r->scan.room, r->list.time_ms, LIST);
		st = r->scan.room.status;
	}
	while (done < total && !st) {
		st = one_piece(r);
		done = r->decays > 0 ? r->done.decays : r->done.trues;
		if (!st) iso_clock_step(&clock, done, NULL);
	}
	if (!st && r->trues == 0 && r->decays == 0) /* randoms alone, by chance */
		st = add_piece(r, 0, r->n_randoms);
	return st || !emit ? st : flush(r);
}

int iso_panel_simulate_delayed(iso_real *lors, int64_t *n, run *r)
{
	if (!lors || !n || !r) return iso_fail_null(__func__);

	double mean = (double)r->done.trues * r->done.share / (1 - r->done.share);
	int st = ISO_OK;

	*n = r->p.exact ? r->done.randoms : number(r, mean, 3);
	r->lors = lors;
	r->ahead = 0;
	for (int64_t i = 0; i < *n && !st; i++) {
		const struct panel_event *e = NULL;

		st = next_random(&e, r, PANEL_DELAYED, i, *n);
		if (!st) add_to_histogram(r, e, 0);
	}
	return st;
}

/* ---- the sensitivity at a point ---- */

void iso_panel_sensitivity_plan(struct iso_plan *plan, const iso_ctx *ctx)
{
	iso_plan_add(plan, "cross sections", 1, sizeof(struct transport_table), false);
	if (iso_ctx_is_cuda(ctx))
		iso_plan_add(plan, "cross sections on the device", 1, sizeof(struct transport_table), true);
}

int iso_panel_sensitivity(struct iso_panel_reading *r, int n, iso_ctx *ctx, const struct iso_panels *p,
                          const struct iso_transport_options *o, const double at[3], int64_t pairs)
{
	if (!r || !ctx || !p || !at) return iso_fail_null(__func__);

	struct transport_table *table = malloc(sizeof *table);
	struct transport t[ISO_PANEL_READINGS];
	struct transport_source source = { t, n, { (float)at[0], (float)at[1], (float)at[2] }, POINT_STREAM };
	int64_t count[ISO_PANEL_READINGS];
	struct iso_panels q = *p;
	int st = ISO_OK;

	if (!table) return iso_fail_memory("transport", (int64_t)sizeof *table);
	if (n < 1 || n > ISO_PANEL_READINGS || pairs < 1)
		st = iso_fail(ISO_EARG,
		              "sensitivity: %d readings of %" PRId64 " decays, must be 1 to %d of 1 or more",
		              n, pairs, (int)ISO_PANEL_READINGS);
	for (int i = 0; i < n && !st; i++) {
		q.readout = r[i].readout;
		memcpy(q.window, r[i].window, sizeof q.window);
		st = iso_transport_make(&t[i], table, &q, o);
	}
	if (!st) st = iso_transport_count(count, ctx, &source, 0, pairs);
	for (int i = 0; i < n && !st; i++) {
		r[i].share = (double)count[i] / (double)pairs;
		r[i].error = sqrt(r[i].share * (1 - r[i].share) / (double)pairs);
	}
	free(table);
	return st;
}
