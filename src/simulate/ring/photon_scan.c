/* SPDX-License-Identifier: BSD-3-Clause */
/* A scan of an image by a ring, by photons: its tables, and the loops of the CPU. */
#include "photon_scan.h"
#include "core/size.h"
#include "physics/seen.h"
#include "physics/water.h"

enum { TURN = 4096 }; /* histories of one thread's turn */

#define UNSEEN 1e-6 /* share below which a photon counts as not seen */

/* ---- what is refused ---- */

/* No matter may lie beyond the ring; z does not count, as the object may be longer than it. */
static int check_mu(const struct iso_array *mu, double radius)
{
	const struct iso_grid *g = &mu->grid;
	int st = iso_photon_check_mu(mu);

	for (int64_t i = 0; i < mu->n && !st; i++) {
		double x = g->centre[0] + ((double)(i % g->n[0]) - .5 * (double)(g->n[0] - 1)) * g->voxel[0];
		double y = g->centre[1] +
		           ((double)(i / g->n[0] % g->n[1]) - .5 * (double)(g->n[1] - 1)) * g->voxel[1];

		if (mu->v[i] > 0 && !(hypot(x, y) < radius))
			st = iso_fail(ISO_EINPUT,
			              "simulate: the map has matter %.4g mm from the axis: the object "
			              "reaches the ring of radius %.4g mm",
			              hypot(x, y), radius);
	}
	return st;
}

/* ---- tables ---- */

/* Shares of the photons of k keV that are seen, and the energy up to which none is. */
static double fill_seen(float table[PHOTON_ENERGIES], const struct seen *seen)
{
	double least_kev = 0;

	for (int k = 0; k < PHOTON_ENERGIES; k++) table[k] = (float)iso_seen(seen, k);
	while (least_kev < WATER_E0 - 1 && (double)table[(int)least_kev + 1] < UNSEEN) least_kev++;
	return least_kev;
}

static int take_efficiencies(struct iso_photon_scan *s, const struct iso_simulate *p)
{
	int64_t n = p->scanner->n;
	double most = 0;
	float *eff;

	if (!p->eff) return ISO_OK;
	for (int64_t a = 0; a < n; a++)
		if ((double)p->eff[a] > most) most = (double)p->eff[a];
	if (!(most > 0)) return iso_fail(ISO_EINPUT, "simulate: no crystal has an efficiency above 0");
	if (!ISO_HOST(&s->room, eff, n)) return s->room.status;
	for (int64_t a = 0; a < n; a++) eff[a] = (float)((double)p->eff[a] / most);
	s->device.eff = ISO_MOVE(&s->room, eff, n);
	return s->room.status;
}

int iso_photon_scan_create(struct iso_photon_scan *scan, iso_ctx *ctx, const struct iso_simulate *p,
                           double window_ps)
{
	const iso_scanner *c = p->scanner;
	struct iso_photon_scan s = { .ctx = ctx, .room = iso_room_of(ctx, "simulate") };
	struct seen seen;
	float *table;
	int st;

	if (!p->mu)
		return iso_fail(ISO_EARG,
		                "simulate: photons are followed through the object: 'mu' must name its map");
	if ((st = iso_seen_make(&seen, "simulate", c, p->window_kev, p->resolution)) ||
	    (st = check_mu(p->mu, c->radius)))
		return st;
	s.device.ring = iso_cylinder_of(c);
	s.device.per_ring = (int32_t)c->pairs.per_ring;
	s.device.min_distance = (int32_t)c->pairs.min_distance;
	s.device.max_ring_difference = (int32_t)c->pairs.max_ring_difference;
	s.device.sigma_ps = (float)(p->tof_fwhm_ps / ISO_FWHM_PER_SIGMA);
	s.device.window_ps = (float)window_ps;
	if (!ISO_HOST(&s.room, table, PHOTON_ENERGIES)) return s.room.status;
	struct photon_setting set = {
		.rho = c->radius,
		.half = .5 * iso_cylinder_length(c),
		.least_kev = fill_seen(table, &seen),
		.rayleigh = p->rayleigh,
		.seed = p->seed,
	};

	s.device.seen = ISO_MOVE(&s.room, table, PHOTON_ENERGIES);
	if (!(st = s.room.status) &&
	    !(st = iso_photon_make_of(&s.device.w, &s.room, &set, p->activity, p->mu)))
		st = take_efficiencies(&s, p);
	if (!st && iso_ctx_is_cuda(ctx)) {
		ISO_DEVICE(&s.room, s.made, PHOTON_PIECE);
		ISO_DEVICE(&s.room, s.kept, PHOTON_PIECE);
		st = s.room.status;
	}
	if (st)
		iso_photon_scan_free(&s);
	else
		*scan = s;
	return st;
}

void iso_photon_scan_free(struct iso_photon_scan *s)
{
	iso_room_free(&s->room);
	*s = (struct iso_photon_scan){ 0 };
}

/* ---- histories ---- */

/* Each turn fills its own place, then they are pushed together. */
static int events_cpu(struct photon_event *e, int64_t *found, const struct iso_photon_scan *scan,
                      enum photon_kind kind, int64_t block, int64_t blocks, int64_t first, int64_t n)
{
	iso_ctx *ctx = scan->ctx;
	int64_t all = blocks * n, turns = (all + TURN - 1) / TURN, *count = size_alloc(turns, sizeof *count);

	if (!count) return iso_fail_memory("simulate", turns * (int64_t)sizeof *count);
#pragma omp parallel for schedule(dynamic) num_threads(ctx->threads)
	for (int64_t k = 0; k < turns; k++) {
		struct photon_event *own = e + k * TURN;

		for (int64_t i = k * TURN; i < all && i < (k + 1) * TURN && !iso_stopped(ctx); i++)
			if (photon_run(own + count[k], &scan->device,
			               photon_history(kind, block + i / n, first + i % n)))
				own[count[k]++].history = (uint32_t)i;
	}
	*found = 0;
	for (int64_t k = 0; k < turns; k++) {
		memmove(e + *found, e + k * TURN, (size_t)count[k] * sizeof *e);
		*found += count[k];
	}
	free(count);
	return iso_ctx_poll(ctx);
}

int iso_photon_scan_events(struct photon_event *e, int64_t *found, const struct iso_photon_scan *scan,
                           enum photon_kind kind, int64_t block, int64_t blocks, int64_t first, int64_t n)
{
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(scan->ctx) ? iso_cuda_symbol(&cuda, "iso_photon_events_cuda") : ISO_OK;

	if (st) return st;
	return (cuda ? (__typeof__(&events_cpu))cuda : events_cpu)(e, found, scan, kind, block, blocks, first,
	                                                           n);
}

int iso_photon_scan_pilot(double *share, const struct iso_photon_scan *scan, enum photon_kind kind, int64_t n)
{
	struct photon_event *e = size_alloc(n, sizeof *e);
	int64_t found = 0;
	int st = e ? iso_photon_scan_events(e, &found, scan, kind, 0, 1, 0, n)
	           : iso_fail_memory("simulate", n * (int64_t)sizeof *e);

	free(e);
	*share = (double)found / (double)n;
	if (st || found > 0) return st;
	return iso_fail(ISO_EINPUT, "simulate: of %" PRId64 " decays the scanner sees none", n);
}
