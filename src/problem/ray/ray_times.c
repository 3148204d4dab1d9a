/* SPDX-License-Identifier: BSD-3-Clause */
/* Time offsets of crystals: t1 - t2 of every event is corrected when it is read. */
#include "model_ray.h"

#include "isotome/timing.h"
#include "scanner/scanner.h"

#include <math.h>

#define WIDTHS_APART .05 /* share of the FWHM in force that the file's may differ without a word */

struct opt ray_times_param(const char **path)
{
	return (struct opt){ 0,
		             "times",
		             .text = path,
		             .file = OPT_READS,
		             .value = "FILE",
		             .help = "time offsets of the crystals, by 'isotome timing': the time "
		                     "differences of all events are corrected" };
}

int ray_times_read(struct ray_problem *ray)
{
	int st;

	if (!ray->times_file) return ISO_OK;
	if (!ray->s) return iso_fail(ISO_EARG, "'times' needs 'scanner', whose crystals it is of");
	st = iso_times_read(&ray->offsets, ray->times_file, ray->s);
	return st ? st : record_input(ray->p->record, ray->times_file);
}

static double greatest_offset(const iso_times *t)
{
	const double *o = iso_times_offsets(t);
	double most = 0;

	for (int64_t a = 0; a < iso_times_crystals(t); a++) most = fmax(most, fabs(o[a]));
	return most;
}

/* Corrected times are no centres of bins any more. Offsets below half a bin leave the bins' width in force, around the
   corrected time. */
static int settle_bins(struct ray_problem *ray)
{
	const double most = greatest_offset(ray->offsets);

	if (!(ray->bin > 0) || most < .5 * ray->bin) return ISO_OK;
	record_warn(ray->p->record,
	            "%s: offsets are up to %.3g ps: times in bins of %g ps become times without bins",
	            ray->times_file, most, ray->bin);
	ray->bin = 0;
	return record_result(ray->p->record, "tof_bin_ps", record_real(0));
}

int ray_times_begin(struct ray_problem *ray)
{
	int st;

	if (!ray->offsets) return ISO_OK;
	if (!(ray->tof > 0))
		return iso_fail(
			ISO_EARG,
			"'times' corrects times of flight, and none are used: 'tof-fwhm-ps' gives their "
			"resolution");
	if (ray->e.count)
		return iso_fail(ISO_EINPUT,
		                "%s: a histogram has no times of its events; 'times' needs list-mode "
		                "events",
		                ray->events);
	if ((st = settle_bins(ray)) || (st = ray_resolution_of_crystals(ray))) return st;
	const double fwhm = iso_times_fwhm(ray->offsets);

	if (!ray->of_crystals && fwhm > 0 && fabs(fwhm / ray->tof - 1) > WIDTHS_APART)
		record_tell(ray->p->record, ISO_NEWS,
		            "%s: its resolution is %.4g ps, %.4g ps are used; 'tof-fwhm-ps' says otherwise",
		            ray->times_file, fwhm, ray->tof);
	if (ray->disk) return ISO_OK;
	/* the events of the frame in force were chosen before */
	return (st = ray_times_correct(ray, &ray->e)) ? st : ray_select(ray->p, &ray->frame);
}

static int64_t crystal_of(const struct ray_problem *ray, const struct iso_events *e, int64_t j, int end)
{
	const float *at = end ? e->v[j].p2 : e->v[j].p1;
	double p[3] = { at[0], at[1], at[2] }, distance;

	return e->crystal ? e->crystal[2 * j + end] : iso_scanner_nearest(&distance, ray->s, p);
}

int ray_times_correct(struct ray_problem *ray, struct iso_events *e)
{
	const int64_t n = iso_times_crystals(ray->offsets);
	const double *o = iso_times_offsets(ray->offsets);
	bool beyond = false;

	if (!ray->offsets) return ISO_OK;
#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx)) reduction(|| : beyond)
	for (int64_t j = 0; j < e->n; j++) {
		if (iso_event_bad(e->v + j)) {
			ray_resolution_set(ray, e, j, -1, -1);
			continue;
		}
		const int64_t a = crystal_of(ray, e, j, 0), b = crystal_of(ray, e, j, 1);

		if (a < 0 || b < 0 || a >= n || b >= n) {
			beyond = true;
		} else {
			e->v[j].dt_ps = (float)((double)e->v[j].dt_ps - (o[a] - o[b]));
			ray_resolution_set(ray, e, j, a, b);
		}
	}
	return beyond ? iso_fail(ISO_EINPUT, "%s: events of crystals that %s does not have", ray->events,
	                         iso_scanner_name(ray->s))
	              : ISO_OK;
}

void ray_times_end(struct ray_problem *ray)
{
	iso_times_free(ray->offsets);
}
