/* SPDX-License-Identifier: BSD-3-Clause */
/* What else a simulated scan gives: all its events in memory, and the singles of its crystals. */
#include "ring_scan.h"
#include "core/size.h"
#include "core/status.h"
#include "core/sized.h"

#include <string.h>

#define SINGLES_HISTORY (1ull << 62) /* beyond those of events */

struct list {
	struct iso_events e;
	int64_t room;
};

static bool grow(void *array, size_t item, int64_t n)
{
	void *p = realloc(*(void **)array, (size_t)n * item);

	if (p) *(void **)array = p;
	return p != NULL;
}

static int append(void *arg, const struct iso_events *b)
{
	struct list *l = arg;
	int64_t n = l->e.n + b->n;

	if (n > l->room) {
		l->room = n + n / 2;
		if (!grow(&l->e.v, sizeof *l->e.v, l->room) ||
		    !grow(&l->e.crystal, 2 * sizeof *l->e.crystal, l->room) ||
		    (b->time_ms && !grow(&l->e.time_ms, sizeof *l->e.time_ms, l->room)))
			return iso_fail_memory("simulate", l->room * (int64_t)(sizeof *l->e.v + 12));
	}
	memcpy(l->e.v + l->e.n, b->v, (size_t)b->n * sizeof *b->v);
	memcpy(l->e.crystal + 2 * l->e.n, b->crystal, 2 * (size_t)b->n * sizeof *b->crystal);
	if (b->time_ms) memcpy(l->e.time_ms + l->e.n, b->time_ms, (size_t)b->n * sizeof *b->time_ms);
	l->e.n = n;
	l->e.tof_fwhm_ps = b->tof_fwhm_ps;
	l->e.duration_s = b->duration_s;
	memcpy(l->e.isotope, b->isotope, sizeof b->isotope);
	return ISO_OK;
}

int iso_simulate(struct iso_events *e, struct iso_simulated *info, iso_ctx *ctx, const struct iso_simulate *p)
{
	if (!e || !info || !ctx || !p) return iso_fail_null(__func__);
	struct list l = { 0 };
	int st = iso_simulate_blocks(info, ctx, p, append, &l);

	if (st)
		iso_events_free(&l.e);
	else
		*e = l.e;
	return st;
}

/* Randoms of a pair are R = 2 tau times the integral of s_a s_b over the scan, with s the singles a
   second; for singles S over a scan of length T that decay together this is
   2 tau S_a S_b pile-up / T. */
int iso_simulate_singles(iso_real *singles, const struct iso_simulate *p)
{
	if (!singles || !p) return iso_fail_null(__func__);
	struct iso_simulate full;
	int st = iso_sized_take(&full, "iso_simulate", sizeof full, p);

	if (st) return st;
	if (!full.scanner) return iso_fail_null("struct iso_simulate");
	p = &full;
	struct scan_rate rate = iso_simulate_rate(p, 1);
	double tau_s = 1e-12 * iso_simulate_window_ps(p->scanner), r;

	if (!(p->duration_s > 0) || !(p->randoms > 0))
		return iso_fail(ISO_EARG,
		                "simulate: singles need randoms and a duration, there are %g and %g s",
		                p->randoms, p->duration_s);
	if ((st = iso_simulate_randoms_per_pair(&r, p))) return st;
	double mean = sqrt(r * p->duration_s / (2 * tau_s * iso_scan_pile_up(&rate)));

	for (int64_t a = 0; a < p->scanner->n; a++)
		singles[a] = (iso_real)iso_poisson(mean * (p->eff ? (double)p->eff[a] : 1), p->seed,
		                                   SINGLES_HISTORY + (uint64_t)a);
	return ISO_OK;
}
