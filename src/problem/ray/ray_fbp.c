/* SPDX-License-Identifier: BSD-3-Clause */
/* 'method' fbp: sinograms of events by single-slice rebinning, over what all crystal pairs would count of a line integral
   of 1, and filtered back-projection of that. */
#include "model_ray.h"

#include "base/number.h"
#include "commission/nema/fbp.h"
#include "core/progress.h"
#include "core/room.h"
#include "core/size.h"
#include "scanner/scanner.h"

#include <string.h>

enum { PAIRS = 1 << 18 }; /* crystal pairs at a time */

/* Parameters of ray that say nothing to this method. */
static const char *const refused[] = {
	"additive",    "singles",        "scatter",      "poses",          "bed",       "gantry",
	"projector",   "rays",           "precorrected", "stream",         "block",     "scratch",
	"tof-fwhm-ps", "tof-bin-ps",     "tof-truncate", "sens-share",     "sens-seed", "cache",
	"no-cache",    "coincidence-ns", "response",     "response-lines", NULL
};

/* C of "hann:C"; 0: no window. */
static int window_of(double *c, const char *text)
{
	const char *number = text && strncmp(text, "hann:", 5) == 0 ? text + 5 : NULL;

	*c = 0;
	if (!text || strcmp(text, "none") == 0) return ISO_OK;
	if (!number || !iso_number(c, number, strlen(number)) || !(*c > 0 && *c <= 1))
		return iso_fail(ISO_EARG, "'window' is '%s', must be hann:C with C above 0 and at most 1",
		                text);
	return ISO_OK;
}

int ray_fbp_check(iso_problem *problem)
{
	struct ray_problem *ray = problem->self;
	double c;

	for (int k = 0; refused[k]; k++)
		if (problem_given(problem, refused[k]))
			return iso_fail(ISO_EARG, "'%s' does not go with 'method' fbp", refused[k]);
	return window_of(&c, ray->window);
}

static int sinogram_of(struct ssrb *g, struct ray_problem *ray)
{
	const struct ssrb_choice as_is = { 0 };

	if (!ray->s) return iso_fail(ISO_EARG, "'method' fbp needs 'scanner', or 'events' that bring one");
	return iso_ssrb_of(g, ray->s, &as_is);
}

void ray_fbp_plan(struct ray_problem *ray, struct iso_plan *plan)
{
	struct ssrb g;

	iso_plan_add(plan, "events", ray->n, sizeof(struct iso_event), false);
	if (ray->s && !sinogram_of(&g, ray))
		iso_plan_add(plan, "sinograms", iso_ssrb_cells(&g), sizeof(int32_t) + 2 * sizeof(double),
		             false);
	if (ray->mu) iso_plan_add(plan, "attenuation of crystal pairs", PAIRS, 2 * sizeof(iso_real), false);
}

/* ---- what a line integral of 1 makes ---- */

struct pairs {
	struct iso_events e;
	iso_real *m;
	int64_t *cell;
};

/* Pairs first ... first + n - 1: their lines, and the cells that they count in; -1: in none. */
static void take_pairs(struct pairs *p, struct ray_problem *ray, const struct ssrb *g, int64_t first,
                       int64_t n)
{
	const double *at = iso_scanner_positions(ray->s);

	p->e.n = n;
#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx))
	for (int64_t i = 0; i < n; i++) {
		struct iso_event *v = p->e.v + i;
		int64_t a, b;

		iso_scanner_pair(&a, &b, ray->s, first + i);
		for (int k = 0; k < 3; k++) {
			v->p1[k] = (float)at[3 * a + k];
			v->p2[k] = (float)at[3 * b + k];
		}
		p->e.crystal[2 * i] = (uint32_t)a;
		p->e.crystal[2 * i + 1] = (uint32_t)b;
		p->cell[i] = iso_scanner_in_coincidence(ray->s, a, b)
		                     ? iso_ssrb_cell(g, at + 3 * a, at + 3 * b)
		                     : -1;
	}
}

/* L / L_xy: a tilted line goes a longer way through the same plane. */
static double longer(const struct iso_event *v)
{
	double dx = (double)v->p2[0] - v->p1[0], dy = (double)v->p2[1] - v->p1[1],
	       dz = (double)v->p2[2] - v->p1[2], flat = dx * dx + dy * dy;

	return flat > 0 ? sqrt(1 + dz * dz / flat) : 0;
}

/* weight[cell] += m L / L_xy, pair by pair in their order: the same bits for any number of threads. */
static int add_pairs(double *weight, struct pairs *p, struct ray_problem *ray)
{
	const struct ray_part part = { .e = &p->e };
	int st = ray_fill(ray, &part, NULL, p->m, NULL);

	if (!st) st = ray_attenuate(ray, &p->e, NULL, p->m, NULL);
	for (int64_t i = 0; i < p->e.n && !st; i++)
		if (p->cell[i] >= 0) weight[p->cell[i]] += (double)p->m[i] * longer(p->e.v + i);
	return st;
}

static int weigh(double *weight, struct ray_problem *ray, const struct ssrb *g)
{
	struct iso_room room = iso_room_of(NULL, "crystal pairs");
	const int64_t all = iso_scanner_pairs(ray->s), most = all < PAIRS ? all : PAIRS;
	struct iso_clock clock = iso_clock_brief(ray->p->ctx, "weigh", "pairs", all, NULL);
	struct pairs p = { 0 };
	int st;

	ISO_HOST(&room, p.e.v, most);
	ISO_HOST(&room, p.e.crystal, 2 * most);
	ISO_HOST(&room, p.m, most);
	ISO_HOST(&room, p.cell, most);
	st = room.status;
	for (int64_t i = 0; i < all && !st; i += most) {
		take_pairs(&p, ray, g, i, all - i < most ? all - i : most);
		st = add_pairs(weight, &p, ray);
		iso_clock_add(&clock, p.e.n);
	}
	if (!st) iso_clock_end(&clock);
	iso_room_free(&room);
	return st;
}

/* ---- counts ---- */

/* The delayeds of 'delayed', or those in the file of the events; NULL: there are none. */
static int find_late(const char **path, struct ray_problem *ray)
{
	iso_event_file *f = NULL;
	int st;

	*path = NULL;
	if (ray->delayed) {
		*path = strcmp(ray->delayed, "none") != 0 ? ray->delayed : NULL;
		return ISO_OK;
	}
	if ((st = ray_file(ray, &f, false)) || !f) return st;
	if (iso_event_file_info(f)->delayeds > 0) *path = ray->events;
	return ISO_OK;
}

static int take_off_late(int32_t *cells, struct ssrb_told *told, struct ray_problem *ray,
                         const struct ssrb *g)
{
	struct ssrb_file f = { .read = ray->read };
	struct iso_events given = { 0 };
	int st = find_late(&f.path, ray);

	if (st || !f.path) return st;
	f.read.scanner = ray->s;
	f.read.ctx = ray->p->ctx;
	f.read.delayeds = true;
	if (record_given(ray->p->record, f.path)->events.v) {
		if (!(st = ray_given_events(ray, &given, f.path)))
			st = iso_ssrb_add(cells, told, g, &given, &f, -1);
		iso_events_free(&given);
		return st;
	}
	if ((st = iso_ssrb_count(cells, told, g, &f, -1)) || strcmp(f.path, ray->events) == 0) return st;
	return record_input(ray->p->record, f.path);
}

static int count(int32_t *cells, struct ray_problem *ray, const struct ssrb *g)
{
	struct ssrb_file f = { .path = ray->events, .read.ctx = ray->p->ctx };
	struct ssrb_told prompts = { 0 }, late = { 0 };
	int st;

	if ((st = iso_ssrb_add(cells, &prompts, g, &ray->now, &f, 1)) ||
	    (st = take_off_late(cells, &late, ray, g)))
		return st;
	if (prompts.used == 0)
		return iso_fail(ISO_EINPUT, "%s: no event lies in a slice of the scanner", ray->events);
	return record_result(ray->p->record, "sinograms",
	                     record_pack("{s:I, s:I, s:I, s:f, s:I, s:I, s:I}", "slices",
	                                 (json_int_t)g->slices, "angles", (json_int_t)g->angles, "bins",
	                                 (json_int_t)g->bins, "bin_mm", g->bin_mm, "prompts",
	                                 (json_int_t)prompts.used, "delayeds", (json_int_t)late.used,
	                                 "outside", (json_int_t)prompts.outside));
}

/* Factors of single events are no factors of pairs, which the sum over all pairs needs. */
static int check_data(struct ray_problem *ray)
{
	if (ray->e.lists_all)
		return iso_fail(ISO_EINPUT,
		                "%s is projection data; 'method' fbp needs events or lines of crystal pairs",
		                ray->events);
	if (ray_factors_not_in_sens(ray))
		return iso_fail(ISO_EINPUT,
		                "%s holds factors per event; 'method' fbp needs efficiencies per crystal",
		                ray->norm ? ray->norm : ray->events);
	return ISO_OK;
}

int ray_fbp(iso_problem *problem, struct iso_array *x)
{
	static const struct model_frame whole = {
		.all = true, .factor = 1, .units = 1, .share = 1, .share_randoms = 1
	};
	struct ray_problem *ray = problem->self;
	struct iso_room room = iso_room_of(NULL, "sinograms");
	double *weight, *p, hann;
	int32_t *cells;
	struct ssrb g;
	int st;

	if (iso_ranks(problem->ctx) > 1)
		return iso_fail(ISO_EARG, "'method' fbp runs as one process, not as %d",
		                iso_ranks(problem->ctx));
	if ((st = window_of(&hann, ray->window)) || (st = check_data(ray)) || (st = sinogram_of(&g, ray)) ||
	    (st = ray_select(problem, &whole)))
		return st;
	ISO_HOST(&room, cells, iso_ssrb_cells(&g));
	ISO_HOST(&room, weight, iso_ssrb_cells(&g));
	ISO_HOST(&room, p, iso_ssrb_cells(&g));
	if ((st = room.status) || (st = count(cells, ray, &g)) || (st = weigh(weight, ray, &g))) goto done;
	iso_fbp_divide(p, cells, weight, &g);
	if (!(st = iso_fbp_filter(p, problem->ctx, &g, hann)))
		st = iso_fbp_image(x->v, problem->ctx, &x->grid, p, &g);
	const double part = problem->s.frames.part;

	for (int64_t i = 0; !st && part > 0 && i < x->n; i++) x->v[i] = (iso_real)(x->v[i] / part);
	snprintf(x->unit, sizeof x->unit, "counts/mm");
done:
	iso_room_free(&room);
	return st;
}
