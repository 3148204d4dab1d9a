/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects, their scans, and the scatter that is expected of them. */
#include "nema.h"

#include "core/philox.h"

#include <stdlib.h>
#include <string.h>

#define MARGIN_MM 10. /* of the image around the object, at least */
#define SEED 1        /* of that draw, and of expected tables */
#define SAMPLES 5     /* along each axis of a voxel that a surface crosses */

/* ---- objects ---- */

/* The phantom's box with a margin in x and y, and as much of its length as is scanned. */
static struct iso_grid grid_of(const iso_phantom *p, double length, double voxel)
{
	struct iso_grid g;

	iso_phantom_grid(&g, p);
	for (int a = 0; a < 3; a++) {
		double extent = (double)g.n[a] * g.voxel[a] + (a < 2 ? 2 * MARGIN_MM : 0);

		if (a == 2) extent = fmin(extent, length);
		g.voxel[a] = voxel;
		g.n[a] = (int64_t)ceil(extent / voxel - 1e-6);
		g.centre[a] = 0;
	}
	return g;
}

static int make_sens(struct nema_object *o, const struct nema *n)
{
	struct iso_ray_sens p = {
		.size = sizeof p, .grid = o->truth.grid, .scanner = n->scanner, .mu = &o->mu
	};
	double error;
	int st = iso_array_on_grid(&o->sens, &p.grid);

	if (!st) st = iso_ray_sens(o->sens.v, &error, n->s.fast, &p);
	for (int64_t i = 0; i < o->sens.n && !st; i++)
		o->seen += (double)o->sens.v[i] * (double)o->truth.v[i];
	return st;
}

int nema_object_open(struct nema_object *o, const struct nema *n, const char *phantom)
{
	iso_phantom *p = NULL;
	struct iso_grid g, map;
	int st;

	*o = (struct nema_object){ .phantom = phantom };
	if ((st = iso_phantom_create(&p, phantom, NULL))) return st;
	g = grid_of(p, n->scale.length, n->scale.voxel);
	map = grid_of(p, n->scale.length, n->scale.map_voxel);
	if (!(st = iso_array_on_grid(&o->truth, &g)) && !(st = iso_array_on_grid(&o->mu, &map)) &&
	    !(st = iso_phantom_raster(o->truth.v, NULL, n->s.cpu, p, &g, SAMPLES)))
		st = iso_phantom_raster(NULL, o->mu.v, n->s.cpu, p, &map, SAMPLES);
	iso_phantom_free(p);
	strcpy(o->truth.unit, "a.u.");
	strcpy(o->mu.unit, "1/mm");
	return st ? st : make_sens(o, n);
}

void nema_object_close(struct nema_object *o)
{
	iso_array_free(&o->truth);
	iso_array_free(&o->mu);
	iso_array_free(&o->sens);
}

/* ---- scans ---- */

/* The trues as a list of their own. */
static int pick_trues(struct nema_scan *s)
{
	int64_t n = 0;
	int st;

	for (int64_t j = 0; j < s->e.n; j++) n += s->order[j] == 0;
	if (n == 0)
		return iso_fail(ISO_EINPUT, "reproduce: no true coincidence of phantom %s", s->o->phantom);
	if ((st = STUDY_NEW(s->trues.v, n))) return st;
	for (int64_t j = 0; j < s->e.n; j++) {
		if (s->order[j] == 0) s->trues.v[s->trues.n++] = s->e.v[j];
		s->single += s->order[j] == 1;
	}
	s->multiple = s->e.n - n - s->single;
	s->trues.tof_fwhm_ps = s->e.tof_fwhm_ps;
	s->unit = (double)n / s->o->seen;
	return ISO_OK;
}

/* Orders of events as they come. */
struct orders {
	uint8_t *v;
	int64_t n, room;
};

static int take_orders(void *arg, const uint8_t *order, int64_t n)
{
	struct orders *o = arg;

	if (o->n + n > o->room) {
		int64_t room = 2 * (o->n + n);
		uint8_t *v = realloc(o->v, (size_t)room);

		if (!v) return iso_fail_memory("reproduce", room);
		o->v = v;
		o->room = room;
	}
	memcpy(o->v + o->n, order, (size_t)n);
	o->n += n;
	return ISO_OK;
}

int nema_scan_open(struct nema_scan *s, struct nema *n, const struct nema_object *o, double events,
                   uint64_t seed)
{
	struct iso_simulate p = { .size = sizeof p, .activity = &o->truth, .mu = &o->mu, .seed = seed };
	struct iso_simulated info = { .size = sizeof info };
	struct orders orders = { 0 };
	int st;

	*s = (struct nema_scan){ .o = o };
	p.scanner = n->scanner;
	p.counts = events;
	p.physics = true;
	p.tof_fwhm_ps = iso_scanner_tof_fwhm_ps(n->scanner);
	p.truth = take_orders;
	p.truth_arg = &orders;
	st = iso_simulate(&s->e, &info, n->s.fast, &p);
	s->order = orders.v;
	return st ? st : pick_trues(s);
}

void nema_scan_close(struct nema_scan *s)
{
	iso_events_free(&s->e);
	iso_events_free(&s->trues);
	free(s->order);
	s->order = NULL;
}

/* ---- what is expected ---- */

int nema_expected(iso_scatter_table **t, const struct nema *n, const struct nema_scan *s, bool tof)
{
	struct iso_array f = { 0 };
	struct iso_scatter p = {
		.size = sizeof p, .scanner = n->scanner, .image = &f, .mu = &s->o->mu, .seed = SEED
	};
	int st = iso_array_on_grid(&f, &s->o->truth.grid);

	p.error = n->scale.error;
	p.tof_fwhm_ps = tof ? iso_scanner_tof_fwhm_ps(n->scanner) : 0;
	for (int64_t i = 0; i < f.n; i++) f.v[i] = (iso_real)(s->unit * (double)s->o->truth.v[i]);
	if (!st) st = iso_scatter_create(t, n->s.fast, &p);
	iso_array_free(&f);
	return st;
}

static int bin_of(const struct iso_event *e)
{
	const double dx = (double)e->p2[0] - e->p1[0], dy = (double)e->p2[1] - e->p1[1];
	const double s = fabs(e->p1[0] * dy - e->p1[1] * dx) / hypot(dx, dy);

	return s < NEMA_BINS * NEMA_BIN_MM ? (int)(s / NEMA_BIN_MM) : NEMA_BINS - 1;
}

/* Even pairs of the scanner, with repetition. */
static void draw_pairs(struct iso_events *e, const iso_scanner *scanner)
{
	const double *at = iso_scanner_positions(scanner), pairs = (double)iso_scanner_pairs(scanner);

	for (int64_t i = 0; i < e->n; i++) {
		const struct philox r = philox_draw(SEED, (uint64_t)i, 0);
		int64_t a, b;

		iso_scanner_pair(&a, &b, scanner, (int64_t)(pairs * philox_unit_double(r.w[0], r.w[1])));
		for (int k = 0; k < 3; k++) {
			e->v[i].p1[k] = (float)at[3 * a + k];
			e->v[i].p2[k] = (float)at[3 * b + k];
		}
	}
}

int nema_distances(double scanned[NEMA_BINS], double expected[NEMA_BINS], const struct nema *n,
                   const struct nema_scan *s, const iso_scatter_table *t)
{
	struct iso_events e = { .n = (int64_t)n->scale.pairs };
	iso_real *h = NULL;
	int st;

	memset(scanned, 0, NEMA_BINS * sizeof *scanned);
	memset(expected, 0, NEMA_BINS * sizeof *expected);
	for (int64_t j = 0; j < s->e.n; j++)
		if (s->order[j] > 0) scanned[bin_of(&s->e.v[j])]++;
	if ((st = STUDY_NEW(e.v, e.n)) || (st = STUDY_NEW(h, e.n))) goto done;
	draw_pairs(&e, n->scanner);
	if ((st = iso_scatter_at(h, n->s.fast, t, &e, 0))) goto done;
	for (int64_t i = 0; i < e.n; i++)
		expected[bin_of(&e.v[i])] +=
			(double)h[i] * (double)iso_scanner_pairs(n->scanner) / (double)e.n;
done:
	free(h);
	iso_events_free(&e);
	return st;
}
