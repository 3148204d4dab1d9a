/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray over a histogram a gate: 'events' names all of them. The first one is the events' file; the lines of the others
   follow its own. */
#include "model_ray.h"

#include "core/size.h"
#include "data/arrays.h"

#include <string.h>

void ray_gate_files_begin(struct ray_problem *ray)
{
	struct ray_gates *g = &ray->gates;
	char path[PATH_MAX];

	if (ray->events == g->first) return;
	g->files = NULL;
	if (!ray->events || record_given(ray->p->record, ray->events)->events.v) return;
	const char *list = opt_next_file(g->first, ray->events);

	if (!list) return;
	g->files = ray->events;
	for (g->n_files = 1; list; g->n_files++) list = opt_next_file(path, list);
	ray->events = g->first;
}

int ray_gate_files_check(const struct ray_problem *ray)
{
	const struct ray_gates *g = &ray->gates;

	if (!g->files && g->shares && !g->file)
		return iso_fail(ISO_EARG,
		                "'gate-shares' needs 'gates', or a histogram for each gate in 'events'");
	if (!g->files) return g->fields && !g->file ? iso_fail(ISO_EARG, "'fields' needs 'gates'") : ISO_OK;
	if (g->file)
		return iso_fail(ISO_EARG,
		                "'events' names %d files, a histogram for each gate: 'gates' can't be used",
		                g->n_files);
	if (!g->shares)
		return iso_fail(
			ISO_EARG,
			"'events' names %d files, a histogram for each gate: 'gate-shares' must say the "
			"share of the time of each gate",
			g->n_files);
	if (!g->fields)
		return iso_fail(
			ISO_EARG,
			"'events' names %d files, a histogram for each gate: give 'fields', or reconstruct "
			"each file by itself",
			g->n_files);
	if (iso_ranks(ray->p->ctx) > 1)
		return iso_fail(ISO_EARG, "'events' names %d files, which one process alone can read",
		                g->n_files);
	return ISO_OK;
}

/* Whether the histogram that was read last, `e`, can follow those before it. */
static int check_kind(const struct ray_problem *ray, const struct iso_events *all, const struct iso_events *e)
{
	if (!e->count)
		return iso_fail(ISO_EINPUT,
		                "%s: list mode, expected a histogram: 'events' names one for each gate",
		                ray->events);
	if (e->lists_all != all->lists_all || e->attenuated != all->attenuated || !e->mult != !all->mult ||
	    !e->add != !all->add || !e->crystal != !all->crystal || e->tof_bin_ps != all->tof_bin_ps)
		return iso_fail(ISO_EINPUT,
		                "%s: another kind of histogram than %s: both must have the same factors, "
		                "terms and bins of time",
		                ray->events, ray->gates.first);
	return ISO_OK;
}

/* File k behind all before it. */
static int add_file(struct ray_problem *ray, struct iso_events *all, int k)
{
	int st = ray_read_one(ray);

	if (!st) st = check_kind(ray, all, &ray->e);
	if (!st) st = iso_events_append(all, &ray->e);
	iso_events_free(&ray->e);
	ray->gates.end[k] = all->n;
	return st;
}

int ray_gate_files_read(struct ray_problem *ray)
{
	struct ray_gates *g = &ray->gates;
	struct iso_events all = ray->e;
	iso_event_file *first = ray->file;
	char path[PATH_MAX];
	int st;

	if (!g->files) return ISO_OK;
	free(g->end);
	if (!(g->end = size_alloc(g->n_files, sizeof *g->end)))
		return iso_fail_memory("gates", g->n_files * (int64_t)sizeof *g->end);
	if ((st = check_kind(ray, &all, &all))) return st;
	g->end[0] = all.n;
	ray->e = (struct iso_events){ 0 };
	const char *list = opt_next_file(path, g->files);

	for (int k = 1; k < g->n_files && !st; k++) {
		ray->file = NULL;
		list = opt_next_file(path, list);
		ray->events = path;
		st = add_file(ray, &all, k);
		iso_event_file_close(ray->file);
	}
	ray->file = first;
	ray->events = g->first;
	ray->e = all;
	return st;
}
