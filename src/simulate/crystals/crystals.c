/* SPDX-License-Identifier: BSD-3-Clause */
/* The public face of simulations down to the crystals. */
#include "isotome/crystals.h"
#include "core/sized.h"
#include "crystal_simulate.h"
#include "crystal_truth.h"
#include "scanner/modules.h"

#include <stdlib.h>

_Static_assert(sizeof(struct iso_crystals_made) - offsetof(struct iso_crystals_made, met) ==
                       CRYSTAL_COUNTS * sizeof(int64_t),
               "counts have the order of enum crystal_count");

/* The scanner's modules with another window and resolution, where these are given. */
static int take_modules(struct iso_modules *m, const iso_scanner *scanner, const double window[2],
                        double resolution)
{
	const struct iso_modules *own = iso_scanner_modules(scanner);

	if (!own)
		return iso_fail(
			ISO_EINPUT,
			"simulate: scanner %s has no 'detector', which says what its crystals are made "
			"of, such as detector: {material: {formula: Lu2SiO5, density: 7.4}}",
			iso_scanner_name(scanner));
	*m = *own;
	if (window[1] > 0) memcpy(m->window, window, sizeof m->window);
	if (resolution > 0) m->resolution = resolution;
	if (!(m->window[0] < m->window[1]) || !(m->resolution < 1))
		return iso_fail(ISO_EARG,
		                "simulate: window %g to %g keV, resolution %g: the first must be below the "
		                "second, the resolution below 1",
		                m->window[0], m->window[1], m->resolution);
	return ISO_OK;
}

static void give_counts(struct iso_crystals_made *made, const int64_t count[CRYSTAL_COUNTS])
{
	memcpy(&made->met, count, CRYSTAL_COUNTS * sizeof *count);
}

static int run(struct iso_crystals_made *made, iso_ctx *ctx, const struct iso_crystals *p,
               struct iso_modules *m, struct iso_label *label, iso_emit_fn emit, void *arg)
{
	struct iso_crystal_truth truth = { .n = 0 };
	struct iso_crystal_simulated info;
	struct iso_crystal_simulate q = {
		.scanner = p->scanner,
		.setting = { .modules = m,
		             .mu = p->mu,
		             .labels = p->labels,
		             .label = label,
		             .activity = p->activity,
		             .rayleigh = p->rayleigh,
		             .seed = p->seed },
		.counts = p->counts,
		.decays = p->decays,
		.exact = p->exact,
		.pairs_only = p->pairs_only,
		.prompt_kev = p->prompt_kev,
		.truth = p->truth ? iso_crystal_truth_add : NULL,
		.truth_arg = &truth,
	};
	int st = p->labels ? iso_labels_read(label, &q.setting.n_labels, p->materials) : ISO_OK;

	if (!st && p->truth) st = iso_crystal_truth_open(&truth, p->truth);
	if (!st) st = iso_crystal_simulate(&info, ctx, &q, emit, arg);
	if (!st && p->truth) st = iso_crystal_truth_close(&truth);
	iso_crystal_truth_free(&truth);
	if (st) return st;
	made->decays = info.decays;
	made->events = info.events;
	give_counts(made, info.count);
	return ISO_OK;
}

int iso_crystals_simulate(struct iso_crystals_made *made, iso_ctx *ctx, const struct iso_crystals *p,
                          iso_emit_fn emit, void *arg)
{
	if (!made || !ctx || !p || !emit) return iso_fail_null(__func__);
	struct iso_crystals_made own = { .size = sizeof own };
	struct iso_label *label = NULL;
	struct iso_crystals full;
	struct iso_modules m;
	int st = iso_sized_take(&full, "iso_crystals", sizeof full, p);

	if (st || (st = iso_sized_clear(made, "iso_crystals_made", sizeof own))) return st;
	if (!full.scanner || !full.activity || (full.labels && !full.materials))
		return iso_fail_null("struct iso_crystals");
	if ((st = take_modules(&m, full.scanner, full.window_kev, full.resolution))) return st;
	if (!(label = calloc(ISO_LABELS_MOST, sizeof *label)))
		return iso_fail_memory("materials", ISO_LABELS_MOST * (int64_t)sizeof *label);
	if (!(st = run(&own, ctx, &full, &m, label, emit, arg))) iso_sized_give(made, sizeof own, &own);
	free(label);
	return st;
}

void iso_crystals_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_crystals *p)
{
	if (!plan || !ctx || !p || !iso_scanner_modules(p->scanner)) return;
	const struct crystal_setting set = { .modules = iso_scanner_modules(p->scanner),
		                             .mu = p->mu,
		                             .labels = p->labels,
		                             .n_labels = p->labels ? ISO_LABELS_MOST / 8 : 0,
		                             .activity = p->activity };

	iso_crystal_scan_plan(plan, ctx, &set);
}

int iso_crystals_count(struct iso_crystals_made *made, struct iso_crystals_beam *beam, iso_ctx *ctx,
                       const struct iso_crystals_point *p)
{
	if (!made || !ctx || !p) return iso_fail_null(__func__);
	struct iso_crystals_made own = { .size = sizeof own };
	struct iso_crystals_point full;
	struct iso_crystal_pointed r;
	struct iso_modules m;
	int st = iso_sized_take(&full, "iso_crystals_point", sizeof full, p);

	if (st || (st = iso_sized_clear(made, "iso_crystals_made", sizeof own)) ||
	    (beam && (st = iso_sized_clear(beam, "iso_crystals_beam", sizeof *beam))))
		return st;
	if (!full.scanner) return iso_fail_null("struct iso_crystals_point");
	if (full.n < 1 || full.n > (int64_t)1 << 50 || !(full.beam_kev >= 0) ||
	    !(full.beam_kev <= CRYSTAL_TOP))
		return iso_fail(ISO_EARG,
		                "simulate: %" PRId64 " decays of %g keV, must be 1 or more, 0 to %d keV",
		                full.n, full.beam_kev, CRYSTAL_TOP);
	if ((st = take_modules(&m, full.scanner, full.window_kev, full.resolution))) return st;
	const struct iso_crystal_point q = { .at = { full.at[0], full.at[1], full.at[2] },
		                             .beam = { full.phi_deg, full.theta_deg, full.beam_kev },
		                             .n = full.n,
		                             .seed = full.seed };

	if ((st = iso_crystal_count(&r, ctx, &m, &q))) return st;
	own.decays = full.n;
	give_counts(&own, r.count);
	iso_sized_give(made, sizeof own, &own);
	if (!beam) return ISO_OK;
	const struct iso_crystals_beam seen = { sizeof seen,
		                                r.in_window,
		                                r.several,
		                                r.not_first,
		                                r.full_energy,
		                                r.more,
		                                r.depth,
		                                { r.mean[0], r.rms[0] },
		                                { r.mean[1], r.rms[1] } };

	iso_sized_give(beam, sizeof seen, &seen);
	return ISO_OK;
}
