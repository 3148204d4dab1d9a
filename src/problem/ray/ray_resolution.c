/* SPDX-License-Identifier: BSD-3-Clause */
/* A time resolution of each event: its own, of the events' file, or that of its two crystals, of 'times'. */
#include "model_ray.h"

#include "base/constants.h"
#include "core/size.h"
#include "isotome/timing.h"

#include <math.h>

/* One resolution that the caller gave holds for all events. */
static bool overridden(struct ray_problem *ray, const char *whose)
{
	if (!problem_given(ray->p, "tof-fwhm-ps")) return false;
	record_warn(ray->p->record, "%s: has a resolution of each %s; 'tof-fwhm-ps' %g is used for all",
	            whose == ray->events ? ray->events : ray->times_file,
	            whose == ray->events ? "event" : "crystal", ray->tof_fwhm_ps);
	return true;
}

static int in_force(struct ray_problem *ray, const char *of)
{
	ray->tof_each = true;
	return record_result(ray->p->record, "tof_fwhm_of", record_string(of));
}

int ray_resolution_of_events(struct ray_problem *ray)
{
	if (!ray->e.fwhm_ps || !(ray->tof > 0) || overridden(ray, ray->events)) return ISO_OK;
	if (ray->bin > 0)
		return iso_fail(
			ISO_EINPUT,
			"%s: each event has a resolution (fwhm_ps), which times in bins of %g ps can't "
			"have; 'tof-bin-ps' 0 takes times as they are, 'tof-fwhm-ps' gives one "
			"resolution for all",
			ray->events, ray->bin);
	return in_force(ray, "events");
}

/* Room for them, where events are in memory; `now` are some or all of the events, and were chosen before. */
static int make_room(struct ray_problem *ray)
{
	struct iso_events *e = &ray->e;

	if (!(e->fwhm_ps = size_alloc(e->n, sizeof *e->fwhm_ps)))
		return iso_fail_memory("resolutions of events", e->n * (int64_t)sizeof *e->fwhm_ps);
	for (int64_t j = 0; j < e->n; j++) e->fwhm_ps[j] = (iso_real)ray->tof;
	return ISO_OK;
}

int ray_resolution_of_crystals(struct ray_problem *ray)
{
	int st;

	if (!iso_times_sigma(ray->offsets) || ray->tof_each || overridden(ray, ray->times_file))
		return ISO_OK;
	if (ray->bin > 0) {
		record_warn(
			ray->p->record,
			"%s: has a resolution of each crystal, which times in bins of %g ps can't have: one, "
			"%.4g ps, is used for all",
			ray->times_file, ray->bin, ray->tof);
		return ISO_OK;
	}
	if ((st = make_room(ray))) return st;
	ray->of_crystals = true;
	return in_force(ray, "crystals");
}

void ray_resolution_set(const struct ray_problem *ray, struct iso_events *e, int64_t j, int64_t a, int64_t b)
{
	const double *sigma = iso_times_sigma(ray->offsets);

	if (!ray->of_crystals || !e->fwhm_ps) return;
	const double own = a < 0 ? 0 : ISO_FWHM_PER_SIGMA * sqrt(sigma[a] * sigma[a] + sigma[b] * sigma[b]);

	e->fwhm_ps[j] = (iso_real)(own > 0 ? own : ray->tof);
}
