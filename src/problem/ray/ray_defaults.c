/* SPDX-License-Identifier: BSD-3-Clause */
/* What model ray takes where its parameters do not say: the scanner that the events' file brings, or that the ends of
   its events suggest, and that scanner's field of view as the grid. */
#include "model_ray.h"

#include "io/events.h"
#include "scanner/scanner.h"

static int tell_scanner(struct ray_problem *ray)
{
	const char *name = iso_scanner_name(ray->s);
	bool assumed = iso_scanner_assumed(ray->s);

	if (assumed)
		record_warn(ray->p->record,
		            "%s: does not say what scanner it is of; assumed, from the ends of its events: "
		            "%s; 'scanner' names another",
		            ray->events, name);
	return record_result(ray->p->record, "scanner",
	                     record_pack("{s:o, s:I, s:b}", "name", record_string(name), "crystals",
	                                 (json_int_t)iso_scanner_crystals(ray->s), "assumed", (int)assumed));
}

/* Of events in memory nothing else is known. Every rank was given them all. */
static int around_given(struct ray_problem *ray, const struct iso_events *e)
{
	int st = iso_scanner_around(&ray->s, e);

	return st != ISO_EINPUT ? st
	                        : iso_fail(st, "%s: of no known scanner, and %s; give 'scanner'", ray->events,
	                                   iso_message());
}

int ray_find_scanner(struct ray_problem *ray, bool needed)
{
	const struct iso_events *given;
	iso_event_file *f;
	int st;

	if (!ray->events) return ISO_OK;
	given = &record_given(ray->p->record, ray->events)->events;
	if ((st = ray_file(ray, &f, false))) return st;
	if (f)
		st = iso_event_file_own(&ray->s, f, ray->events, needed);
	else if (!given->v)
		st = iso_events_scanner(&ray->s, ray->events, &ray->read, needed);
	else if (needed)
		st = around_given(ray, given);
	return st || !ray->s ? st : tell_scanner(ray);
}

int ray_field_of_view(struct ray_problem *ray)
{
	const iso_problem *p = ray->p;
	struct iso_grid *g = &ray->grid;
	int st;

	*g = (struct iso_grid){ 0 };
	if (!ray->s)
		return iso_fail(ISO_EARG,
		                "the image grid is not known: give 'grid' and 'voxel', or 'scanner'");
	if (problem_given(p, "grid")) memcpy(g->n, ray->size, sizeof g->n);
	if (problem_given(p, "voxel")) memcpy(g->voxel, ray->voxel, sizeof g->voxel);
	if ((st = iso_scanner_grid(g, ray->s))) return st;
	ray->field = !iso_scanner_panels(ray->s);
	ray_motion_lengthen(ray, g);
	if (problem_given(p, "centre")) memcpy(g->centre, ray->centre, sizeof g->centre);
	record_tell(p->record, ISO_NEWS,
	            "grid of %" PRId64 " x %" PRId64 " x %" PRId64
	            " voxels of %.4g x %.4g x %.4g mm: the field of view of %s",
	            g->n[0], g->n[1], g->n[2], g->voxel[0], g->voxel[1], g->voxel[2],
	            iso_scanner_name(ray->s));
	return ISO_OK;
}

void ray_clear_corners(const struct ray_problem *ray, iso_real *s)
{
	const struct iso_grid *g = &ray->grid;
	double half[2] = { .5 * (double)g->n[0] * g->voxel[0], .5 * (double)g->n[1] * g->voxel[1] };
	double radius = half[0] < half[1] ? half[0] : half[1];

	for (int64_t i = 0; i < (ray->field ? iso_grid_voxels(g) : 0); i++) {
		double x = ((double)(i % g->n[0]) + .5) * g->voxel[0] - half[0];
		double y = ((double)(i / g->n[0] % g->n[1]) + .5) * g->voxel[1] - half[1];

		if (x * x + y * y > radius * radius) s[i] = 0;
	}
}
