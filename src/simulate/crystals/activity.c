/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan of crystals at an activity, as users ask for it: parameters, events, files of records, counts. */
#include "activity_events.h"
#include "core/plan.h"
#include "core/sized.h"
#include "core/status.h"
#include "file/npy.h"
#include "scanner/modules.h"
#include "scanner/scanner.h"

#include <stdlib.h>

/* ---- parameters ---- */

struct scan {
	struct rates_setting set;
	struct isotope isotope;
	float *efficiency;
	struct iso_label *label; /* ISO_LABELS_MOST of them; NULL: no labels */
};

/* 0: the scanner's; below: none. */
static double of(double given, double scanner)
{
	return given > 0 ? given : given < 0 ? 0 : scanner;
}

static const double *window_of(const double given[2], const double scanner[2])
{
	return given[0] > 0 || given[1] > 0 ? given : scanner;
}

static int64_t ticks(double ns)
{
	return llrint(ns * PULSE_TICKS_PER_NS);
}

/* Each is a number, at most so large; times fit in ticks. */
static int check_numbers(const struct iso_activity_scan *p)
{
	const struct {
		const char *name;
		double value, most;
	} of_scan[] = {
		{ "half_life_s", p->half_life_s, 1e18 },
		{ "acollinearity_deg", p->acollinearity_deg, 90 },
		{ "window_kev", p->window_kev[1], 1e9 },
		{ "prompt_kev", p->prompt_kev[1], 1e9 },
		{ "resolution", p->resolution, 1 },
		{ "trigger_kev", p->trigger_kev, 1e9 },
		{ "single_fwhm_ps", p->single_fwhm_ps, 1e9 },
		{ "dead_ns", p->dead_ns, 1e9 },
		{ "pileup_ns", p->pileup_ns, 1e9 },
		{ "coincidence_ns", p->coincidence_ns, 1e9 },
		{ "delay_ns", p->delay_ns, 1e9 },
	};

	for (size_t k = 0; k < sizeof of_scan / sizeof *of_scan; k++)
		if (!(of_scan[k].value <= of_scan[k].most))
			return iso_fail(ISO_EARG, "simulate: '%s' is %g, must be at most %g", of_scan[k].name,
			                of_scan[k].value, of_scan[k].most);
	if (p->half_life_s < 0 || p->acollinearity_deg < 0)
		return iso_fail(ISO_EARG,
		                "simulate: half-life %g s, acollinearity %g degrees: must be 0 or above",
		                p->half_life_s, p->acollinearity_deg);
	return ISO_OK;
}

static int take_efficiency(struct scan *s, const struct iso_activity_scan *p)
{
	int64_t n = iso_scanner_crystals(p->scanner);

	if (!p->eff) return ISO_OK;
	if (!(s->efficiency = malloc((size_t)n * sizeof *s->efficiency)))
		return iso_fail_memory("simulate", n * (int64_t)sizeof *s->efficiency);
	for (int64_t i = 0; i < n; i++) {
		s->efficiency[i] = (float)p->eff[i];
		if (!(p->eff[i] >= 0 && p->eff[i] <= 1))
			return iso_fail(ISO_EINPUT,
			                "simulate: crystal %" PRId64
			                " has an efficiency of %g, must be 0 to 1: singles are kept with it",
			                i, (double)p->eff[i]);
	}
	s->set.readout.efficiency = s->efficiency;
	return ISO_OK;
}

static int take_labels(struct scan *s, const struct iso_activity_scan *p)
{
	struct crystal_setting *c = &s->set.crystals;

	if (!p->labels) return ISO_OK;
	if (p->mu || !p->materials)
		return iso_fail(ISO_EARG,
		                p->mu ? "simulate: an object of 'mu' or of 'materials', not both"
		                      : "simulate: 'labels' need 'materials', which tell what they are");
	if (!(s->label = calloc(ISO_LABELS_MOST, sizeof *s->label)))
		return iso_fail_memory("simulate", ISO_LABELS_MOST * (int64_t)sizeof *s->label);
	c->labels = p->labels;
	c->label = s->label;
	return iso_labels_read(s->label, &c->n_labels, p->materials);
}

static void set_readout(struct rates_setting *set, const struct iso_activity_scan *p,
                        const struct iso_modules *m)
{
	double coincidence = of(p->coincidence_ns, m->coincidence_ns);

	set->readout = (struct iso_readout_rule){
		.pileup = ticks(of(p->pileup_ns, m->pileup_ns)),
		.dead = ticks(of(p->dead_ns, m->dead_ns)),
		.paralysable = p->dead_time ? *p->dead_time == ISO_PARALYSABLE : m->paralysable,
		.trigger_kev = of(p->trigger_kev, m->trigger),
	};
	set->readout.blur.resolution = of(p->resolution, m->resolution);
	set->readout.blur.sigma_ticks = of(p->single_fwhm_ps, m->single_fwhm_ps) / PULSE_FWHM * DEPOSIT_TICKS;
	memcpy(set->readout.window_kev, window_of(p->window_kev, m->window), sizeof m->window);
	memcpy(set->readout.line_kev, window_of(p->prompt_kev, m->prompt), sizeof m->prompt);
	set->sorter = (struct iso_sorter){
		.tau = ticks(coincidence),
		.delay = ticks(of(p->delay_ns, m->delay_ns > 0 ? m->delay_ns : 10 * coincidence + 100)),
		.window = p->sorter,
		.multiples = p->multiples,
		.triples = p->triples != NULL,
	};
}

static int make_setting(struct scan *s, const struct iso_activity_scan *p)
{
	const struct iso_modules *m = iso_scanner_modules(p->scanner);
	struct rates_setting *set = &s->set;
	int st;

	if (!m)
		return iso_fail(
			ISO_EINPUT,
			"simulate: %s has no 'detector' that tells what its crystals are, as in detector: "
			"{material: {formula: Lu2SiO5, density: 7.4}}",
			iso_scanner_name(p->scanner));
	if (m->z_blur > 0)
		return iso_fail(
			ISO_EINPUT,
			"simulate: %s measures places along z ('z_blur_mm'), and a scan at an activity sorts "
			"crystals",
			iso_scanner_name(p->scanner));
	if (!p->activity->has_grid)
		return iso_fail(ISO_EINPUT, "simulate: an image of activity without voxel sizes");
	if ((p->positron_range || p->range_table) && !p->isotope)
		return iso_fail(ISO_EARG, "simulate: 'positron_range' needs an 'isotope'");
	if ((st = check_numbers(p))) return st;
	set->crystals = (struct crystal_setting){
		.modules = m, .mu = p->mu, .activity = p->activity, .rayleigh = p->rayleigh, .seed = p->seed
	};
	set->decay = (struct decay_setting){ p->positron_range, p->acollinearity_deg, p->range_table };
	set->activity_bq = p->activity_bq;
	set->duration_s = p->duration_s;
	set->half_life_s = p->half_life_s;
	set_readout(set, p, m);
	if (p->isotope) {
		if ((st = iso_isotope_read(&s->isotope, p->isotope))) return st;
		set->isotope = &s->isotope;
		set->half_life_s = s->isotope.half_life_s;
	}
	st = take_labels(s, p);
	return st ? st : take_efficiency(s, p);
}

/* ---- outputs ---- */

/* A file of records that grows. */
struct records {
	struct iso_out out;
	const char *path, *fields;
	int64_t n;
};

struct sinks {
	const struct rates *r;
	float (*place)[3];
	iso_emit_fn prompts, delayeds;
	void *prompts_arg, *delayeds_arg;
	struct records truth, singles, triples, hits;
	iso_real *counts;
};

static int begin_records(struct records *q, const char *path, const char *fields)
{
	q->path = path;
	q->fields = fields;
	return path ? iso_npy_records_begin(&q->out, path) : ISO_OK;
}

static int end_records(struct records *q)
{
	int st;

	if (!q->path) return ISO_OK;
	st = iso_npy_records_end(&q->out, q->fields, q->n);
	return st ? st : iso_out_commit(&q->out);
}

static int emit(iso_emit_fn fn, void *arg, const struct sinks *k, const struct iso_sorter_stream *s,
                const struct iso_sorted_pairs *l, int64_t delay)
{
	struct iso_events e;
	int st;

	if (!fn || l->n == 0) return ISO_OK;
	if ((st = iso_rates_events(&e, l, s->single.p, (const float(*)[3])k->place, delay))) return st;
	st = fn(arg, &e);
	iso_events_free(&e);
	return st;
}

static int put_truth(struct sinks *k, const struct iso_sorter_stream *s)
{
	int st = ISO_OK;

	for (int64_t i = 0; k->truth.path && i < s->prompt.n && !st; i++, k->truth.n++) {
		struct rates_truth t;

		iso_rates_truth(&t, k->r, s->single.p + s->prompt.v[i].one, s->single.p + s->prompt.v[i].two);
		st = iso_out_write(&k->truth.out, &t, sizeof t);
	}
	return st;
}

static int put_triples(struct sinks *k, const struct iso_sorter_stream *s)
{
	int st = ISO_OK;

	for (int64_t i = 0; k->triples.path && i < s->triples && !st; i++, k->triples.n++) {
		struct rates_triple t;

		for (int j = 0; j < 3; j++) {
			const struct pulse *p = s->single.p + s->triple[i].at[j];

			t.ticks[j] = p->time;
			t.decay[j] = p->decay;
			t.crystal[j] = p->crystal;
			t.energy[j] = (float)p->kev;
		}
		st = iso_out_write(&k->triples.out, &t, sizeof t);
	}
	return st;
}

static int put_singles(struct sinks *k, const struct iso_readout_stream *q)
{
	int st = ISO_OK;

	for (int64_t i = 0; k->counts && i < q->single.n; i++) k->counts[q->single.p[i].crystal]++;
	for (int64_t i = 0; k->singles.path && i < q->single.n && !st; i++, k->singles.n++) {
		struct rates_single s;

		iso_rates_single(&s, q->single.p + i);
		st = iso_out_write(&k->singles.out, &s, sizeof s);
	}
	return st;
}

static int put_hits(void *arg, const struct deposit *d, int64_t n)
{
	struct sinks *k = arg;
	int st = ISO_OK;

	for (int64_t i = 0; i < n && !st; i++, k->hits.n++) {
		const struct rates_hit h = { d[i].decay,           d[i].crystal,        d[i].kev,
			                     d[i].ticks,           d[i].photon,         d[i].object_compton,
			                     d[i].object_rayleigh, d[i].crystal_compton };

		st = iso_out_write(&k->hits.out, &h, sizeof h);
	}
	return st;
}

static int sink(void *arg, const struct iso_readout_stream *q, const struct iso_sorter_stream *s)
{
	struct sinks *k = arg;
	int st = put_singles(k, q);

	if (!st) st = emit(k->prompts, k->prompts_arg, k, s, &s->prompt, 0);
	if (!st) st = emit(k->delayeds, k->delayeds_arg, k, s, &s->late, k->r->set.sorter.delay);
	if (!st) st = put_truth(k, s);
	return st ? st : put_triples(k, s);
}

static void tell(struct iso_activity_counts *counts, const struct rates_result *r, const struct isotope *i)
{
	struct iso_activity_counts c = {
		.size = sizeof c,
		.decays = r->photons.decays,
		.positrons = r->photons.positrons,
		.escaped = r->photons.escaped,
		.photons = r->photons.photons,
		.met = r->photons.met,
		.interacted = r->photons.hit,
		.left = r->photons.fate[CRYSTAL_LEFT],
		.in_crystals = r->photons.fate[CRYSTAL_IN_CRYSTAL],
		.in_passive = r->photons.fate[CRYSTAL_IN_PASSIVE],
		.in_object = r->photons.fate[CRYSTAL_IN_OBJECT],
		.joined = r->photons.deposits_full,
		.pulses = r->readout.pulses,
		.piled = r->readout.piled,
		.below_trigger = r->readout.trigger,
		.dead = r->readout.dead,
		.inefficient = r->readout.inefficient,
		.outside_window = r->readout.window,
		.singles = r->readout.singles,
		.in_prompt_window = r->readout.line,
		.prompts = r->sorter.pairs,
		.delayeds = r->sorter.delayeds,
		.triples = r->sorter.triples,
		.trues = r->kind[RATES_TRUE],
		.scatters = r->kind[RATES_SCATTERED],
		.randoms = r->kind[RATES_RANDOM],
		.with_prompt = r->kind[RATES_PROMPT],
		.piled_pairs = r->kind[RATES_PILED],
		.highest_kev = i ? i->later_kev : 0,
	};

	memcpy(c.groups, r->sorter.groups, sizeof c.groups);
	for (int b = 0; i && b < DECAY_BRANCHES; b++)
		for (int k = 0; k < DECAY_LINES; k++)
			c.highest_kev = fmax(c.highest_kev, i->branch[b].line_kev[k]);
	iso_sized_give(counts, sizeof c, &c);
}

int iso_activity_scan(struct iso_activity_counts *counts, iso_ctx *ctx,
                      const struct iso_activity_scan *params, iso_emit_fn prompts, void *prompts_arg,
                      iso_emit_fn delayeds, void *delayeds_arg)
{
	if (!ctx || !params) return iso_fail_null(__func__);
	struct iso_activity_scan q = { 0 };
	const struct iso_activity_scan *p = &q;
	struct scan s = { 0 };
	struct sinks k = { .prompts = prompts,
		           .prompts_arg = prompts_arg,
		           .delayeds = delayeds,
		           .delayeds_arg = delayeds_arg };
	struct rates r = { 0 };
	struct rates_result result;
	int st = iso_sized_take(&q, "iso_activity_scan", sizeof q, params);

	if (st || (counts && (st = iso_sized_clear(counts, "iso_activity_counts", sizeof *counts))))
		return st;
	if (!p->scanner || !p->activity) return iso_fail_null(__func__);
	if ((st = make_setting(&s, p))) goto done;
	s.set.sorter.delayed = delayeds != NULL;
	s.set.truth = p->truth != NULL;
	k.counts = p->singles;
	k.r = &r;
	if ((st = iso_rates_open(&r, ctx, &s.set))) goto done;
	if (p->hits) {
		r.hits = put_hits;
		r.hits_arg = &k;
	}
	if (!(k.place = iso_rates_places(s.set.crystals.modules))) {
		st = iso_fail_memory("simulate", iso_scanner_crystals(p->scanner) * 12);
		goto done;
	}
	if ((st = begin_records(&k.truth, p->truth, iso_rates_truth_fields)) ||
	    (st = begin_records(&k.singles, p->singles_list, iso_rates_single_fields)) ||
	    (st = begin_records(&k.triples, p->triples, iso_rates_triple_fields)) ||
	    (st = begin_records(&k.hits, p->hits, iso_rates_hit_fields)) ||
	    (st = iso_rates_run(&result, &r, sink, &k)) || (st = end_records(&k.truth)) ||
	    (st = end_records(&k.singles)) || (st = end_records(&k.triples)) || (st = end_records(&k.hits)))
		goto done;
	if (counts) tell(counts, &result, s.set.isotope);
done:
	iso_out_free(&k.truth.out);
	iso_out_free(&k.singles.out);
	iso_out_free(&k.triples.out);
	iso_out_free(&k.hits.out);
	free(k.place);
	free(s.efficiency);
	free(s.label);
	iso_rates_close(&r);
	return st;
}

void iso_activity_scan_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_activity_scan *p)
{
	struct rates_setting set = { 0 };
	const struct iso_modules *m;

	if (!plan || !ctx || !p || !p->scanner || !p->activity || !(m = iso_scanner_modules(p->scanner)))
		return;
	set.crystals = (struct crystal_setting){
		.modules = m,
		.mu = p->mu,
		.labels = p->labels,
		.activity = p->activity,
		.n_labels = p->labels ? ISO_LABELS_MOST / 8 : 0,
	};
	set.activity_bq = p->activity_bq;
	set.duration_s = p->duration_s;
	set.truth = p->truth != NULL;
	iso_crystal_plan(plan, ctx, &set.crystals);
	iso_rates_plan(plan, ctx, &set);
}
