/* SPDX-License-Identifier: BSD-3-Clause */
/* Factors of pairs, time offsets, widths and dead time of a simulated ring. Noise depends on the seed and the event's number
   alone. */
#include "detection.h"

#include "base/constants.h"
#include "core/philox.h"
#include "core/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1 << 12 };

#define OWN_DRAWS (7ull << 60)          /* beyond the draws of histories and of singles */
enum { DRAW_WIDTH = 0, DRAW_PAIR = 2 }; /* and the next of delayeds */

bool iso_detection_any(const struct iso_simulate *p)
{
	return p->pairs || p->time_offset_ps || p->crystal_fwhm_ps || p->dead_time_s > 0;
}

static int check_pairs(const struct iso_simulate *p)
{
	if (!p->pairs || !p->pairs->factor || (p->pairs->most > 0 && isfinite(p->pairs->most))) return ISO_OK;
	return iso_fail(ISO_EARG, "simulate: factors of pairs of at most %g, must be above 0",
	                p->pairs->most);
}

int iso_detection_check(const struct iso_simulate *p)
{
	int st = check_pairs(p);

	if (st) return st;
	for (int64_t a = 0; a < iso_scanner_crystals(p->scanner); a++) {
		if (p->time_offset_ps && !isfinite(p->time_offset_ps[a]))
			return iso_fail(ISO_EINPUT, "simulate: the time offset of crystal %lld is not finite",
			                (long long)a);
		if (p->crystal_fwhm_ps && !(p->crystal_fwhm_ps[a] >= 0 && isfinite(p->crystal_fwhm_ps[a])))
			return iso_fail(ISO_EINPUT,
			                "simulate: the FWHM of crystal %lld is %g ps, must be 0 or above",
			                (long long)a, p->crystal_fwhm_ps[a]);
	}
	if (!(p->dead_time_s >= 0) || !isfinite(p->dead_time_s) ||
	    (p->dead_time != ISO_NONPARALYSABLE && p->dead_time != ISO_PARALYSABLE))
		return iso_fail(ISO_EARG, "simulate: dead time of %g s, model %d", p->dead_time_s,
		                (int)p->dead_time);
	if (p->dead_time_s > 0 && !(p->duration_s > 0))
		return iso_fail(ISO_EARG, "simulate: dead time needs the length of the scan");
	if ((p->time_offset_ps || p->crystal_fwhm_ps) && !(p->tof_fwhm_ps > 0) && !p->crystal_fwhm_ps)
		return iso_fail(ISO_EARG, "simulate: time offsets need a time-of-flight resolution above 0");
	return ISO_OK;
}

struct iso_detection iso_detection_of(const struct iso_simulate *p)
{
	return (struct iso_detection){ .pairs = p->pairs,
		                       .offset = p->time_offset_ps,
		                       .fwhm = p->crystal_fwhm_ps,
		                       .model = p->dead_time,
		                       .dead_s = p->dead_time_s,
		                       .since = -INFINITY,
		                       .delayed = p->delayed,
		                       .seed = p->seed };
}

static bool begin_dead(struct iso_detection *d, double time_s)
{
	d->since = time_s;
	if (!d->keep) return true;
	if (d->n_began == d->room) {
		const int64_t room = d->room > 0 ? 2 * d->room : FIRST_ROOM;
		double *v = realloc(d->began, (size_t)room * sizeof *v);

		if (!v) return false;
		d->began = v;
		d->room = room;
	}
	d->began[d->n_began++] = time_s;
	return true;
}

/* Whether the event is counted; *fits is false without memory. */
static bool counted(struct iso_detection *d, double time_s, bool *fits)
{
	if (!(d->dead_s > 0)) return true;
	if (d->delayed) {
		while (d->next < d->prompts && d->prompt[d->next] <= time_s) d->since = d->prompt[d->next++];
		return !(time_s - d->since < d->dead_s);
	}
	const bool alive = !(time_s - d->since < d->dead_s);

	if (alive || d->model == ISO_PARALYSABLE) *fits = begin_dead(d, time_s);
	return alive;
}

static bool thinned(const struct iso_detection *d, const uint32_t *c)
{
	if (!d->pairs || !d->pairs->factor) return false;
	const struct philox r = philox_draw(d->seed, OWN_DRAWS + (uint64_t)d->seen, DRAW_PAIR + d->delayed);

	return !((double)philox_unit(r.w[0]) * d->pairs->most < d->pairs->factor(d->pairs->arg, c[0], c[1]));
}

/* FWHM of a pair: the variances of both crystals add up, each half of that of two like it. */
static double noise(const struct iso_detection *d, const uint32_t *c)
{
	const struct philox r = philox_draw(d->seed, OWN_DRAWS + (uint64_t)d->seen, DRAW_WIDTH + d->delayed);
	const double a = d->fwhm[c[0]], b = d->fwhm[c[1]];

	return sqrt(.5 * (a * a + b * b)) / ISO_FWHM_PER_SIGMA * (double)philox_gauss(r.w[0], r.w[1]);
}

int iso_detection_apply(struct iso_detection *d, struct iso_events *e, uint8_t *order, const double *time_s)
{
	bool fits = true;
	int64_t n = 0;

	for (int64_t i = 0; i < e->n && fits; i++, d->seen++) {
		const uint32_t *c = e->crystal + 2 * i;
		double dt = e->v[i].dt_ps;

		if (thinned(d, c)) {
			d->thinned++;
			continue;
		}
		if (!counted(d, time_s ? time_s[i] : 0, &fits)) {
			d->lost++;
			continue;
		}
		if (d->fwhm && order[i] != ISO_ORDER_RANDOM) dt += noise(d, c);
		if (d->offset) dt += d->offset[c[0]] - d->offset[c[1]];
		e->v[n] = e->v[i];
		e->v[n].dt_ps = (float)dt;
		memmove(e->crystal + 2 * n, c, 2 * sizeof *c);
		if (e->time_ms) e->time_ms[n] = e->time_ms[i];
		order[n++] = order[i];
	}
	e->n = n;
	return fits ? ISO_OK : iso_fail_memory("simulate", d->room * 2 * (int64_t)sizeof *d->began);
}
