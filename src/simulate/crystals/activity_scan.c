/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan at a given activity. Its time is cut into cells, which a seed fixes: the number of decays of a cell is Poisson's,
   and each has a time of its own in it. Slices are runs of cells; readout and sorter carry over what later pulses can
   change. */
#include "activity_scan.h"
#include "crystal_scan.h"
#include "core/plan.h"
#include "core/progress.h"
#include "core/size.h"

#include <omp.h>
#include <stdlib.h>

enum {
	CELL = 1 << 15,      /* decays of a cell, about */
	SLICE_CPU = 1 << 21, /* of a slice */
	SLICE_CUDA = 1 << 23,
	MOST_CELLS = 1 << 28,
	MOST_IN_SLICE = 1 << 16, /* cells */
};

#define RATES_CELL (1ull << 63) /* history of the number of decays of a cell: + its number */
#define MOST_FALL .01           /* of the activity in a cell */
#define MOST_S 1e5              /* ticks fit in 63 bits */

/* ---- what a scan is ---- */

double iso_rates_expected(const struct rates_setting *s)
{
	return s->activity_bq * s->duration_s * iso_decay_mean(s->half_life_s, 0, s->duration_s);
}

static double fall_a_second(const struct rates_setting *s)
{
	return s->half_life_s > 0 ? log(2) / s->half_life_s : 0;
}

static int check(const struct rates_setting *s, double cells)
{
	if (!(s->duration_s > 0 && s->duration_s <= MOST_S))
		return iso_fail(ISO_EARG, "simulate: 'duration_s' is %g, must be above 0 and at most %g",
		                s->duration_s, MOST_S);
	if (!(s->activity_bq > 0))
		return iso_fail(ISO_EARG, "simulate: 'activity_bq' is %g, must be above 0", s->activity_bq);
	if (!(cells < MOST_CELLS))
		return iso_fail(ISO_EARG, "simulate: %g decays are too many for one scan",
		                iso_rates_expected(s));
	if (s->sorter.tau <= 0)
		return iso_fail(ISO_EARG, "simulate: the scanner has no time.coincidence_ns, and none is "
		                          "given: coincidences need it");
	if (s->sorter.delayed && s->sorter.delay <= s->sorter.tau)
		return iso_fail(ISO_EARG, "simulate: a delay of %g ns, must be above the window of %g ns",
		                (double)s->sorter.delay / PULSE_TICKS_PER_NS,
		                (double)s->sorter.tau / PULSE_TICKS_PER_NS);
	if (s->readout.line_kev[1] > 0 && !(s->readout.line_kev[0] < s->readout.line_kev[1]))
		return iso_fail(ISO_EARG, "simulate: window of the prompt photon %g to %g keV: must rise",
		                s->readout.line_kev[0], s->readout.line_kev[1]);
	if (!(s->readout.window_kev[0] < s->readout.window_kev[1]))
		return iso_fail(ISO_EARG, "simulate: energy window %g to %g keV: must rise",
		                s->readout.window_kev[0], s->readout.window_kev[1]);
	return ISO_OK;
}

static bool good(const void *scanner, uint32_t a, uint32_t b)
{
	return modules_good(scanner, (int32_t)a, (int32_t)b);
}

/* Densities that positrons meet: those of the object of the photons, by its cells. */
static int make_map(struct rates *r)
{
	const struct crystal_object *o = &r->world.crystals.object;
	const struct crystal_setting *s = &r->set.crystals;
	struct decay_map *m = &r->world.map;
	float *q = NULL;

	if (!o->cell) return ISO_OK;
	m->cell = o->cell;
	m->scale = o->density / PHOTON_FULL;
	for (int a = 0; a < 3; a++) {
		m->n[a] = o->n[a];
		m->low[a] = o->low[a];
		m->voxel[a] = 1 / o->per_mm[a];
	}
	if (!o->labels) return ISO_OK;
	if (!ISO_HOST(&r->room, q, s->n_labels + 1)) return r->room.status;
	for (int32_t k = 0; k < s->n_labels; k++) q[k + 1] = (float)s->label[k].density;
	r->host.map.density = q;
	return ISO_UPLOAD(&r->room, m->density, q, s->n_labels + 1) ? ISO_OK : r->room.status;
}

static int make_decay(struct rates *r)
{
	struct decay_table *t;
	int st;

	if (!r->set.isotope && !(r->set.decay.angle_deg > 0)) return ISO_OK;
	if (!ISO_HOST(&r->room, t, 1)) return r->room.status;
	if ((st = iso_decay_make(t, r->set.isotope, &r->set.decay))) return st;
	r->world.later = t->later_share > 0;
	r->host.decay = t;
	ISO_UPLOAD(&r->room, r->world.decay, t, 1);
	return r->room.status ? r->room.status : t->range ? make_map(r) : ISO_OK;
}

/* An array of the device, on the host. */
static const void *bring(struct rates *r, const void *from, int64_t n, int64_t size)
{
	void *to = from ? iso_room_host(&r->room, n, size) : NULL;

	if (to) r->room.status = r->ctx->vec->download(r->ctx, to, from, n * size);
	return to;
}

/* r->host: what rates_emit reads. */
static int make_host(struct rates *r)
{
	struct rates_world *h = &r->host;
	const struct rates_world *w = &r->world;
	const struct iso_emission_slot *slot = w->source.slot;
	const struct decay_table *decay = h->decay;
	const float *density = h->map.density;

	if (!iso_ctx_is_cuda(r->ctx) || !r->set.truth) {
		*h = *w;
		return ISO_OK;
	}
	*h = (struct rates_world){ .source = w->source, .decay = decay, .map = w->map };
	h->crystals.seed = w->crystals.seed;
	h->map.density = density;
	h->source.slot = bring(r, slot, w->source.voxels, sizeof *slot);
	h->map.cell =
		bring(r, w->map.cell, (int64_t)w->map.n[0] * w->map.n[1] * w->map.n[2], sizeof *w->map.cell);
	return r->room.status;
}

int iso_rates_open(struct rates *r, iso_ctx *ctx, const struct rates_setting *s)
{
	double expected = iso_rates_expected(s), fall = fall_a_second(s) * s->duration_s;
	double cells = ceil(fmax(1, fmax(expected / CELL, fall / MOST_FALL)));
	int st = check(s, cells);

	if (st) return st;
	*r = (struct rates){ .ctx = ctx, .room = iso_room_of(ctx, "simulate"), .set = *s };
	r->cells = (int64_t)cells;
	r->ticks = s->duration_s * PULSE_TICKS_PER_S;
	r->world.fall = (float)(fall / cells);
	r->set.readout.units = (uint32_t)modules_units(s->crystals.modules);
	r->set.readout.blur.seed = s->crystals.seed;
	r->set.sorter.good = good;
	r->set.sorter.scanner = s->crystals.modules;
	if ((st = iso_crystal_make(&r->world.crystals, &r->room, &s->crystals)) ||
	    (st = iso_crystal_source(&r->world.source, &r->room, s->crystals.activity)) ||
	    (st = iso_crystal_map(&r->world.pulses, &r->room, s->crystals.modules)) || (st = make_decay(r)) ||
	    (st = make_host(r)))
		iso_rates_close(r);
	return st;
}

void iso_rates_close(struct rates *r)
{
	if (r) iso_room_free(&r->room);
}

void iso_rates_decay(struct decay *d, const struct rates *r, uint64_t number)
{
	rates_emit(d, &r->host, number);
}

/* ---- cells ---- */

static int64_t edge(const struct rates *r, int64_t cell)
{
	return (int64_t)(r->ticks * ((double)cell / (double)r->cells));
}

static void next_cell(struct rates_cell *c, const struct rates *r, int64_t number, uint64_t first)
{
	double width = r->set.duration_s / (double)r->cells, from = width * (double)number;
	double mean = r->set.activity_bq * width * iso_decay_mean(r->set.half_life_s, from, from + width);

	c->from = edge(r, number);
	c->width = edge(r, number + 1) - c->from;
	c->first = first;
	c->decays = iso_poisson(mean, r->set.crystals.seed, RATES_CELL | (uint64_t)number);
}

static void add_counts(struct rates_counts *to, const struct rates_counts *n)
{
	to->decays += n->decays;
	to->positrons += n->positrons;
	to->escaped += n->escaped;
	to->photons += n->photons;
	to->met += n->met;
	to->hit += n->hit;
	to->deposits_full += n->deposits_full;
	for (int k = 0; k < CRYSTAL_FATES; k++) to->fate[k] += n->fate[k];
}

static int keep_hits(struct rates_list *list, const struct crystal_trace *t)
{
	if (list->n + t->n > list->room) {
		int64_t want = 2 * list->room + t->n;
		struct deposit *more = realloc(list->d, (size_t)want * sizeof *more);

		if (!more) return ISO_ENOMEM;
		list->d = more;
		list->room = want;
	}
	memcpy(list->d + list->n, t->d, (size_t)t->n * sizeof *t->d);
	list->n += t->n;
	return ISO_OK;
}

/* One cell on the CPU. */
static int follow_cell(struct rates_list *list, struct rates_counts *count, const struct rates *r,
                       const struct rates_cell *c)
{
	struct iso_pulses *l = &list->pulses;
	struct pulse made[PULSE_MOST];
	struct crystal_trace trace;
	struct decay decay;
	int64_t all = rates_histories(&r->world, c);
	int st = ISO_OK;

	l->n = list->n = 0;
	for (int64_t i = 0; i < all && !st && !iso_stopped(r->ctx); i++) {
		int n = rates_pulses(made, &trace, &decay, &r->world, c, i);

		rates_count(count, &decay, &trace);
		if (n == 0) continue;
		if (!(st = iso_pulses_more(l, n))) {
			memcpy(l->p + l->n, made, (size_t)n * sizeof *made);
			l->n += n;
		}
		if (!st && r->hits) st = keep_hits(list, &trace);
	}
	return st;
}

static int follow_cells(struct rates_list *list, struct rates_counts *count, const struct rates *r,
                        const struct rates_cell *cell, int64_t cells)
{
	int failed = ISO_OK;

#pragma omp parallel for num_threads(r->ctx->threads) schedule(dynamic)
	for (int64_t k = 0; k < cells; k++) {
		struct rates_counts own = { 0 };
		int st = follow_cell(list + k, &own, r, cell + k);

#pragma omp critical(rates)
		{
			add_counts(count, &own);
			if (st) failed = st;
		}
	}
	if (failed) return iso_fail_memory("simulate", cells * CELL * (int64_t)sizeof(struct pulse));
	return iso_ctx_poll(r->ctx);
}

/* ---- slices ---- */

enum rates_kind iso_rates_kind(const struct pulse *one, const struct pulse *two)
{
	if (one->pulses > 1 || two->pulses > 1) return RATES_PILED;
	if ((one->photons | two->photons) & ~3) return RATES_PROMPT;
	if (one->decay != two->decay) return RATES_RANDOM;
	return one->object_compton + two->object_compton > 0 ? RATES_SCATTERED : RATES_TRUE;
}

static void count_kinds(struct rates_result *result, const struct iso_sorter_stream *s)
{
	const struct pulse *p = s->single.p;

	for (int64_t i = 0; i < s->prompt.n; i++)
		result->kind[iso_rates_kind(p + s->prompt.v[i].one, p + s->prompt.v[i].two)]++;
	for (int64_t i = 0; i < s->late.n; i++)
		result->delayed_of_one += p[s->late.v[i].one].decay == p[s->late.v[i].two].decay;
}

struct run {
	struct rates *r;
	struct iso_readout_stream readout;
	struct iso_sorter_stream sorter;
	struct rates_cell *cell;
	struct rates_list *list;
	struct iso_pulses all;
	int64_t most; /* cells of a slice */
	rates_cells_fn follow;
};

static int one_slice(struct rates_result *result, struct run *u, int64_t from, int64_t n, uint64_t *first)
{
	struct rates *r = u->r;
	int64_t pulses = 0;
	int st;

	for (int64_t k = 0; k < n; k++) {
		next_cell(u->cell + k, r, from + k, *first);
		*first += (uint64_t)u->cell[k].decays;
	}
	if ((st = u->follow(u->list, &result->photons, r, u->cell, n))) return st;
	for (int64_t k = 0; k < n && !st; k++) {
		pulses += u->list[k].pulses.n;
		if (r->hits) st = r->hits(r->hits_arg, u->list[k].d, u->list[k].n);
	}
	if (st) return st;
	u->all.n = 0;
	if ((st = iso_pulses_more(&u->all, pulses))) return st;
	for (int64_t k = 0; k < n; k++) {
		const struct iso_pulses *l = &u->list[k].pulses;

		if (l->n > 0) memcpy(u->all.p + u->all.n, l->p, (size_t)l->n * sizeof *l->p);
		u->all.n += l->n;
	}
	st = iso_readout_push(&u->readout, u->all.p, u->all.n,
	                      from + n < r->cells ? edge(r, from + n) : INT64_MAX);
	if (!st)
		st = iso_sorter_push(&u->sorter, u->readout.single.p, u->readout.single.n,
		                     u->readout.horizon);
	if (!st) count_kinds(result, &u->sorter);
	return st;
}

static int slice_decays(const iso_ctx *ctx, const struct rates_setting *s)
{
	return (int)(s->slice > 0 ? s->slice : iso_ctx_is_cuda(ctx) ? SLICE_CUDA : SLICE_CPU);
}

static int begin(struct run *u, struct rates *r)
{
	double most =
		1 + floor(slice_decays(r->ctx, &r->set) * (double)r->cells / iso_rates_expected(&r->set));
	int st = ISO_OK;

	u->r = r;
	u->most = (int64_t)fmin(fmin(most, (double)r->cells), MOST_IN_SLICE);
	u->cell = size_alloc(u->most, sizeof *u->cell);
	u->list = size_alloc(u->most, sizeof *u->list);
	iso_sorter_open(&u->sorter, &r->set.sorter);
	if (!u->cell || !u->list) return iso_fail_memory("simulate", u->most * (int64_t)sizeof *u->cell);
	u->follow = follow_cells;
	if (iso_ctx_is_cuda(r->ctx)) {
		void *cuda = NULL;

		if (r->hits)
			return iso_fail(ISO_EARG,
			                "simulate: 'hits' are listed on the CPU alone: take device cpu");
		st = iso_cuda_symbol(&cuda, "iso_rates_cells_cuda");
		if (!st) u->follow = (rates_cells_fn)cuda;
	}
	return st ? st : iso_readout_open(&u->readout, &r->set.readout);
}

static void end(struct run *u)
{
	for (int64_t k = 0; u->list && k < u->most; k++) {
		free(u->list[k].pulses.p);
		free(u->list[k].d);
	}
	free(u->list);
	free(u->cell);
	free(u->all.p);
	iso_readout_close(&u->readout);
	iso_sorter_close(&u->sorter);
}

int iso_rates_run(struct rates_result *result, struct rates *r, rates_sink sink, void *arg)
{
	struct run u = { 0 };
	struct iso_clock clock = iso_clock_start(r->ctx, "simulate", 0, r->cells);
	uint64_t first = 0;
	int st = begin(&u, r);

	*result = (struct rates_result){ 0 };
	for (int64_t from = 0; from < r->cells && !st; from += u.most) {
		int64_t n = from + u.most < r->cells ? u.most : r->cells - from;

		st = one_slice(result, &u, from, n, &first);
		if (!st && sink) st = sink(arg, &u.readout, &u.sorter);
		result->slices++;
		if (!st) iso_clock_step(&clock, from + n, NULL);
	}
	result->readout = u.readout.count;
	result->sorter = u.sorter.count;
	iso_clock_end(&clock);
	end(&u);
	return st;
}

/* Pulses a decay, at most as a rule: both photons in two units each. */
void iso_rates_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct rates_setting *s)
{
	int64_t decays = slice_decays(ctx, s);
	double expected = iso_rates_expected(s);

	if (expected < (double)decays) decays = (int64_t)expected + 1;
	iso_plan_add(plan, "pulses of a slice, sorted and unsorted", decays,
	             3 * (int64_t)sizeof(struct pulse), false);
	if (iso_ctx_is_cuda(ctx))
		iso_plan_add(plan, "pulses of a slice", decays, (int64_t)sizeof(struct pulse), true);
	if (iso_ctx_is_cuda(ctx) && s->truth)
		iso_plan_add(plan, "emission table, for truth", s->crystals.activity->n,
		             (int64_t)sizeof(struct iso_emission_slot), false);
}
