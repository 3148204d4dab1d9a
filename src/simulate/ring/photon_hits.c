/* SPDX-License-Identifier: BSD-3-Clause */
/* Hits of blocks of histories, as many as are wanted: by photons on the CPU a block a thread, on CUDA many blocks at once
   in pieces whose size the yield so far tells. */
#include "core/size.h"
#include "photon_history.h"
#include "photon_scan.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024, FIRST_PIECE = 1 << 14 };

static bool add(struct photon_hits *h, const struct photon_event *e)
{
	if (h->n == h->room) {
		int64_t room = h->room > 0 ? 2 * h->room : FIRST_ROOM;
		struct iso_hit *v = realloc(h->v, (size_t)room * sizeof *v);

		if (!v) return false;
		h->v = v;
		h->room = room;
	}
	h->v[h->n++] = (struct iso_hit){ { e->crystal[0], e->crystal[1] }, e->dt_ps, (uint8_t)e->order };
	return true;
}

bool iso_photon_hits_run(struct photon_hits *h, const struct iso_photon_scan *scan, enum photon_kind kind,
                         int64_t more)
{
	struct photon_event e = { 0 };

	for (; more > 0 && h->n < h->want && h->histories < h->limit; more--)
		if (photon_run(&e, &scan->device, photon_history(kind, h->block, h->histories++)) &&
		    !add(h, &e))
			return false;
	return true;
}

/* ---- on a device ---- */

/* Histories that a block may still need: of its missing events, and three deviations more. */
static int64_t still(const struct photon_hits *h, const struct photon_yield *y)
{
	int64_t left = h->limit - h->histories;
	double events = (double)(h->want - h->n);

	if (h->n >= h->want) return 0;
	if (h->want == INT64_MAX) return left;
	double n = y->events > 0 ? (events + 3 * sqrt(events) + 1) * y->histories / y->events
	                         : (double)(h->histories + FIRST_PIECE);

	return n < (double)left ? (int64_t)ceil(n) : left;
}

/* The block takes its events of a piece, histories first to first + n - 1, of which number `base` is the first: those from
   e on; returns where the next block's begin. */
static const struct photon_event *take(struct photon_hits *h, const struct photon_event *e,
                                       const struct photon_event *end, int64_t first, int64_t base, int64_t n,
                                       bool *fits)
{
	int64_t run = h->limit - first < n ? h->limit - first : n;

	for (; e < end && e->history < base + n; e++) {
		if (e->history - base >= run || h->n >= h->want || !*fits) continue;
		*fits = add(h, e);
		if (h->n == h->want) h->histories = first + e->history - base + 1;
	}
	if (h->n < h->want && run > 0) h->histories = first + run;
	return e;
}

/* Blocks that are done run with the others, and take nothing. */
int iso_photon_hits_device(struct photon_hits *h, int n, photon_events_fn events, const void *scan, int kind,
                           struct photon_yield *y, int64_t hopeless)
{
	struct photon_event *e = n > 0 ? size_alloc(PHOTON_PIECE, sizeof *e) : NULL;
	bool fits = n == 0 || e;
	int st = ISO_OK;

	for (int64_t first = 0, size; n > 0 && fits && !st; first += size) {
		const struct photon_event *next = e;
		int64_t found, most = 0;

		for (int i = 0; i < n; i++) {
			int64_t need = still(h + i, y);

			most = need > most ? need : most;
			if (h[i].n == 0 && need > 0 && first >= hopeless && h[i].want < INT64_MAX)
				st = iso_fail(ISO_EINPUT,
				              "simulate: none of %" PRId64 " decays gave an event", first);
		}
		size = most < PHOTON_PIECE / n ? most : PHOTON_PIECE / n;
		if (st || size == 0) break;
		if ((st = events(e, &found, scan, kind, h->block, n, first, size))) break;
		for (int i = 0; i < n; i++) next = take(h + i, next, e + found, first, i * size, size, &fits);
		y->events += (double)found;
		y->histories += (double)(n * size);
	}
	free(e);
	return st || fits ? st : iso_fail_memory("simulate", PHOTON_PIECE * (int64_t)sizeof *e);
}
