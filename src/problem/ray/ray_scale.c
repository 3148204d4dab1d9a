/* SPDX-License-Identifier: BSD-3-Clause */
/* What the scale of an image of model ray depends on, and the calibration that the events' file has. */
#include "model_ray.h"

#include "io/events.h"
#include "scanner/scanner.h"

#include <stdio.h>
#include <xxhash.h>

/* Of the crystals, mean distance from the axis. */
static double radius_mm(const iso_scanner *s)
{
	const double *at = iso_scanner_positions(s);
	int64_t n = iso_scanner_crystals(s);
	double sum = 0;

	for (int64_t i = 0; i < n; i++) sum += hypot(at[3 * i], at[3 * i + 1]);
	return sum / (double)n;
}

/* Efficiencies by their values, so that a copy of the file is the same. */
static json_t *norm_word(struct ray_problem *ray)
{
	char word[32] = "none";

	if (ray_factors_per_event(ray))
		snprintf(word, sizeof word, "per event");
	else if (ray->norm && ray->factors.v)
		snprintf(word, sizeof word, "xxh64 %016llx",
		         (unsigned long long)XXH64(ray->factors.v, (size_t)ray->factors.n * sizeof(iso_real),
		                                   0));
	return json_string(word);
}

static const char *attenuation_word(struct ray_problem *ray)
{
	if (ray->mu) return ray->precorrected ? "map, precorrected" : "map";
	return ray_attenuated_by_file(ray) ? "per event" : "none";
}

json_t *ray_scale(iso_problem *problem)
{
	struct ray_problem *ray = problem->self;
	json_t *o = record_pack("{s:s, s:s, s:o, s:s, s:i, s:b}", "model", problem->m->name, "attenuation",
	                        attenuation_word(ray), "norm", norm_word(ray), "projector", ray->projector,
	                        "rays", (int)ray->lines, "trues-only", ray->read.trues_only);

	if (!o || !ray->s) return o;
	json_object_set_new(o, "scanner", record_string(iso_scanner_name(ray->s)));
	json_object_set_new(o, "crystals", json_integer(iso_scanner_crystals(ray->s)));
	json_object_set_new(o, "pairs", json_integer(iso_scanner_pairs(ray->s)));
	json_object_set_new(o, "radius_mm", record_real(radius_mm(ray->s)));
	json_object_set_new(o, "pair_weight",
	                    json_string(ray->response         ? "response"
	                                : ray->s->solid_angle ? "solid-angle"
	                                                      : "uniform"));
	return o;
}

/* CASToR multiplies images, in counts/mm/s over the branching fraction, by its factor: K. PETSIRD's is the scale of the
   efficiencies that its scanner brings, and so in m already: f is annihilations per mm^3, A = 1000 f / (T b). */
#define K_OF_PETSIRD 1000

static double factor_of(const struct ray_problem *ray, const iso_event_file *f)
{
	const iso_scanner *s = iso_event_file_scanner(f);

	if (!ray->norm && s && s->efficiencies && s->efficiencies->scale != 1) return K_OF_PETSIRD;
	return iso_event_file_info(f)->calibration;
}

int ray_calibration(iso_problem *problem, double *k)
{
	struct ray_problem *ray = problem->self;
	iso_event_file *f;
	int st = ray_file(ray, &f, false);

	if (st) return st;
	if (!f) return iso_fail(ISO_EINPUT, "%s: holds no calibration factor", ray->events);
	double factor = factor_of(ray, f);

	if (!(factor > 0))
		return iso_fail(ISO_EINPUT, "%s: holds no calibration factor%s", ray->events,
		                ray->norm ? " beside 'norm'" : "");
	*k = factor;
	return ISO_OK;
}
