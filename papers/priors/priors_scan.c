/* SPDX-License-Identifier: BSD-3-Clause */
/* The phantom with its regions, and scans of it. */
#include "priors.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES 5       /* along each axis of a voxel that a surface crosses */
#define RANDOMS .25     /* of the events */
#define EDGE_MM 10.     /* background nearer than that to another region is left out */
#define LEAST_SUBSETS 4 /* and fewer where counts are few, as recon_map.c chooses them */
#define WITHIN .8       /* of the half length: planes of regions */

/* ---- regions ---- */

static void place_of(double mm[3], const struct iso_grid *g, int64_t i)
{
	const int64_t at[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };

	for (int a = 0; a < 3; a++)
		mm[a] = g->centre[a] + ((double)at[a] - .5 * (double)(g->n[a] - 1)) * g->voxel[a];
}

/* Number of the sphere or lung that the place is in, from 1, 0: none; the lung is the last. `edge` mm more or less. */
static int region_at(const struct iso_nema *n, const double mm[3], double edge)
{
	for (int k = 0; k < n->n_spheres; k++) {
		const struct iso_nema_sphere *s = &n->sphere[k];
		double d = 0;

		for (int a = 0; a < 3; a++) d += (mm[a] - s->centre[a]) * (mm[a] - s->centre[a]);
		if (sqrt(d) < .5 * s->diameter + edge) return k + 1;
	}
	return n->has_lung && hypot(mm[0] - n->lung[0], mm[1] - n->lung[1]) < .5 * n->lung_diameter + edge
	               ? n->n_spheres + 1
	               : 0;
}

/* Voxels of the phantom's own activity in all voxels within EDGE_MM along the axes. */
static bool even(const struct priors *p, int64_t i)
{
	const struct iso_grid *g = &p->truth.grid;
	const int64_t at[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };
	const int64_t step[3] = { 1, g->n[0], g->n[0] * g->n[1] };

	for (int a = 0; a < 3; a++) {
		const int64_t far = (int64_t)ceil(EDGE_MM / g->voxel[a]);

		if (a < 2 && (at[a] < far || at[a] + far >= g->n[a])) return false;
		for (int64_t k = -far; k <= far; k++)
			if (at[a] + k >= 0 && at[a] + k < g->n[a] && p->truth.v[i + k * step[a]] != 1)
				return false;
	}
	return true;
}

static int make_regions(struct priors *p)
{
	const struct iso_grid *g = &p->truth.grid;
	int st;

	p->places.size = sizeof p->places;
	if ((st = iso_nema_read(&p->places, NULL)) || (st = STUDY_NEW(p->whole, p->truth.n)) ||
	    (st = STUDY_NEW(p->background, p->truth.n)) || (st = STUDY_NEW(p->region, p->truth.n)))
		return st;
	p->regions = p->places.n_spheres + p->places.has_lung;
	for (int64_t i = 0; i < p->truth.n; i++) {
		double mm[3];

		place_of(mm, g, i);
		p->whole[i] = p->mu.v[i] > 0;
		if (fabs(mm[2]) > WITHIN * .5 * (double)g->n[2] * g->voxel[2]) continue;
		p->region[i] = (uint8_t)region_at(&p->places, mm, 0);
		p->background[i] = !region_at(&p->places, mm, EDGE_MM) && even(p, i);
	}
	return ISO_OK;
}

/* ---- the object ---- */

static int make_sens(struct priors *p)
{
	struct iso_ray_sens q = {
		.size = sizeof q, .grid = p->truth.grid, .scanner = p->scanner, .mu = &p->mu
	};
	double error;
	int st = iso_array_on_grid(&p->sens, &q.grid);

	return st ? st : iso_ray_sens(p->sens.v, &error, p->s.fast, &q);
}

/* An image of other contrasts than the activity's, with the same borders. */
static int make_anatomy(struct priors *p)
{
	int st = iso_array_on_grid(&p->anatomy, &p->truth.grid);

	for (int64_t i = 0; i < p->truth.n && !st; i++)
		p->anatomy.v[i] = (iso_real)(1000 * (double)p->mu.v[i] + sqrt((double)p->truth.v[i]));
	return st;
}

int priors_object_open(struct priors *p)
{
	struct iso_grid g = { .voxel = { p->scale.voxel, p->scale.voxel, p->scale.voxel } };
	iso_phantom *phantom = NULL;
	int st;

	memcpy(g.n, p->scale.n, sizeof g.n);
	if ((st = iso_phantom_create(&phantom, "spheres", NULL))) return st;
	if (!(st = iso_array_on_grid(&p->truth, &g)) && !(st = iso_array_on_grid(&p->mu, &g)))
		st = iso_phantom_raster(p->truth.v, p->mu.v, p->s.cpu, phantom, &g, SAMPLES);
	iso_phantom_free(phantom);
	strcpy(p->truth.unit, "a.u.");
	strcpy(p->mu.unit, "1/mm");
	if (!st) st = make_regions(p);
	if (!st) st = make_anatomy(p);
	return st ? st : make_sens(p);
}

void priors_object_close(struct priors *p)
{
	iso_array_free(&p->truth);
	iso_array_free(&p->mu);
	iso_array_free(&p->sens);
	iso_array_free(&p->anatomy);
	free(p->whole);
	free(p->background);
	free(p->region);
}

/* ---- scans ---- */

static int simulate(struct priors_scan *s, const struct priors *p, double events, uint64_t seed)
{
	struct iso_simulate q = { .size = sizeof q,
		                  .scanner = p->scanner,
		                  .activity = &p->truth,
		                  .mu = &p->mu,
		                  .counts = events,
		                  .randoms = RANDOMS,
		                  .tof_fwhm_ps = iso_scanner_tof_fwhm_ps(p->scanner),
		                  .seed = seed };
	struct iso_simulated info = { .size = sizeof info };
	double seen = 0;
	int st = iso_simulate(&s->e, &info, p->s.cpu, &q);

	if (st || (st = STUDY_NEW(s->r, s->e.n))) return st;
	for (int64_t i = 0; i < s->e.n; i++) s->r[i] = (iso_real)info.randoms_per_pair_mm;
	for (int64_t i = 0; i < p->truth.n; i++) seen += (double)p->sens.v[i] * (double)p->truth.v[i];
	s->unit = (double)info.trues / seen;
	return ISO_OK;
}

static int make_op(struct priors_scan *s, const struct priors *p)
{
	const struct iso_grid *g = &p->truth.grid;
	const char *const set[][2] = {
		{ "scanner", "scanner.yaml" },
		{ "grid", study_text("%d,%d,%d", (int)g->n[0], (int)g->n[1], (int)g->n[2]) },
		{ "voxel", study_text("%g", p->scale.voxel) },
		{ "method", "osem" },
		{ "subsets", study_text("%d", s->subsets) },
	};
	iso_real *none = NULL;
	int st = iso_problem_create(&s->problem, p->s.fast, "ray");

	for (int i = 0; i < 5 && !st; i++) st = iso_problem_set(s->problem, set[i][0], set[i][1]);
	if (!st) st = iso_problem_set_events(s->problem, "events", &s->e);
	if (!st) st = iso_problem_set_array(s->problem, "mu", &p->mu, false);
	if (!st) st = iso_problem_set_array(s->problem, "sens", &p->sens, false);
	if (!st) st = iso_problem_op(&s->op, s->problem);
	if (!st) st = iso_problem_data(&s->y, &none, &s->m, s->problem);
	free(none);
	return st;
}

int priors_scan_open(struct priors_scan *s, const struct priors *p, double events, uint64_t seed)
{
	int st;

	*s = (struct priors_scan){ 0 };
	s->subsets = (int)fmin(p->scale.subsets,
	                       fmax(LEAST_SUBSETS, p->scale.subsets * events / (double)p->truth.n));
	st = simulate(s, p, events, seed);
	return st ? st : make_op(s, p);
}

void priors_scan_close(struct priors_scan *s)
{
	iso_op_free(s->op);
	iso_problem_free(s->problem);
	iso_events_free(&s->e);
	free(s->y);
	free(s->r);
	free(s->m);
}

struct iso_map priors_map(const struct priors *p, const struct priors_scan *s,
                          const struct iso_prior_spec *prior)
{
	return (struct iso_map){ .size = sizeof(struct iso_map),
		                 .op = s->op,
		                 .data = { .y = s->y, .add = s->r, .mult = s->m },
		                 .sens = { 1, s->subsets, p->sens.v },
		                 .prior = prior,
		                 .passes = p->scale.passes,
		                 .seed = 1 };
}

int priors_start(struct iso_array *x, const struct priors *p, const struct priors_scan *s)
{
	double seen = 0;
	int st = iso_array_on_grid(x, &p->truth.grid);

	for (int64_t i = 0; i < p->sens.n; i++) seen += (double)p->sens.v[i];
	for (int64_t i = 0; i < p->sens.n && !st; i++)
		x->v[i] = p->sens.v[i] > 0 ? (iso_real)((double)s->e.n / seen) : 0;
	return st;
}
