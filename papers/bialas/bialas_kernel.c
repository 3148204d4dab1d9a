/* SPDX-License-Identifier: BSD-3-Clause */
/* Each kernel against simulated events of single points: how far the share of events in each bin of
   (z_up, z_down, dl) is from what the kernel, integrated over the bin, predicts. */
#include "bialas.h"

#include "file/out.h"
#include "model/strip/strip_kern.h"

#include <stdlib.h>

#define SEED 3
#define Z_BIN 15. /* mm */
#define DL_BIN 40.
#define REACH2 25     /* the kernels are 0 beyond 5 sigma: far away eq7 grows without bound */
#define INTERIOR 110. /* |z| of both hits: where the ends of the strips do not matter */

enum { Z_BINS = 26, DL_BINS = 28, BINS = Z_BINS * Z_BINS * DL_BINS };

enum { MODELS = 4, POINTS = 5 };

static const struct {
	const char *name;
	enum iso_strip_kernel kernel;
	bool edge;
} models[MODELS] = {
	{ "eq7", ISO_STRIP_EQ7, false },
	{ "gauss", ISO_STRIP_GAUSS, false },
	{ "tan", ISO_STRIP_TAN, false },
	{ "tan, with the ends", ISO_STRIP_TAN, true },
};

/* Emissions from one point: half the sum over bins of |share of events - share predicted|. */
struct point {
	double y, z;
	double all[MODELS + 1], interior[MODELS + 1]; /* interior: per event there. Last: of noise alone */
};

static const double points[POINTS][2] = {
	/* y, z */
	{ 0, 0 }, { 60, 40 }, { 100, 0 }, { -100, 100 }, { 30, -90 },
};

/* ---- bins ---- */

static double centre(int i, double width, int n)
{
	return (i - .5 * (n - 1)) * width;
}

/* -1: beyond the last. */
static int bin_of(double v, double width, int n)
{
	double i = floor(v / width + .5 * n);

	return i >= 0 && i < n ? (int)i : -1;
}

static void count(int64_t *counts, const struct iso_strip_event *e, int64_t n)
{
	for (int64_t j = 0; j < n; j++) {
		int u = bin_of(e[j].z_up, Z_BIN, Z_BINS), d = bin_of(e[j].z_down, Z_BIN, Z_BINS);
		int l = bin_of(e[j].dl, DL_BIN, DL_BINS);

		if (u >= 0 && d >= 0 && l >= 0) counts[(u * Z_BINS + d) * DL_BINS + l]++;
	}
}

/* ---- what a kernel predicts ---- */

/* P(e | y, z), 1/mm^3. */
static double density(const struct iso_strips *s, int model, double z_up, double z_down, double dl, double y,
                      double z)
{
	struct strip_origin o = strip_origin(s->radius, z_up, z_down, dl);
	struct strip_inverse c = strip_inverse(s, z_up, z_down);
	double dy = y - o.y, v = z - (o.z + dy * o.t);

	if (4 * c.dl * dy * dy * o.s * o.s + (c.up + c.down) * v * v > REACH2) return 0;
	const enum iso_strip_kernel kernel = models[model].kernel;
	struct strip_line l = { .t = (iso_real)o.t, .s = (iso_real)o.s, .gamma = (iso_real)c.gamma };

	l.up = (iso_real)c.up;
	l.down = (iso_real)c.down;
	l.dl = (iso_real)c.dl;
	struct strip_row r = strip_row(kernel, (iso_real)s->radius, &l, (iso_real)y, (iso_real)dy);
	double p = c.factor * strip_weight(kernel, &r, (iso_real)v);

	return models[model].edge ? p * strip_edge(s, &r, (iso_real)v, y, z) : p;
}

/* By three Gauss points along each axis. */
static double integral(const struct iso_strips *s, int model, int u, int d, int l, double y, double z)
{
	static const double node[3] = { -.7745966692414834, 0, .7745966692414834 };
	static const double weight[3] = { 5. / 18, 8. / 18, 5. / 18 };
	double total = 0;

	for (int i = 0; i < 27; i++) {
		int a = i / 9, b = i / 3 % 3, c = i % 3;

		double up = centre(u, Z_BIN, Z_BINS) + node[a] * Z_BIN / 2;
		double down = centre(d, Z_BIN, Z_BINS) + node[b] * Z_BIN / 2;
		double dl = centre(l, DL_BIN, DL_BINS) + node[c] * DL_BIN / 2;

		total += weight[a] * weight[b] * weight[c] * density(s, model, up, down, dl, y, z);
	}
	return total * Z_BIN * Z_BIN * DL_BIN;
}

/* ---- a point ---- */

/* What is counted beyond the bins is missed by every model. */
static void compare(struct point *p, const struct iso_strips *s, const int64_t *counts, double n)
{
	double seen = strips_sens(s, p->y, p->z), inside = 0, within = 0;

	for (int i = 0; i < BINS; i++) {
		int u = i / DL_BINS / Z_BINS, d = i / DL_BINS % Z_BINS, l = i % DL_BINS;
		bool interior = fabs(centre(u, Z_BIN, Z_BINS)) < INTERIOR &&
		                fabs(centre(d, Z_BIN, Z_BINS)) < INTERIOR;
		double share = (double)counts[i] / n;

		inside += share;
		within += interior ? share : 0;
		for (int k = 0; k <= MODELS; k++) {
			double off = k < MODELS ? fabs(share - integral(s, k, u, d, l, p->y, p->z) / seen) / 2
			                        : sqrt(share * (1 - share) / (2 * M_PI * n));

			p->all[k] += off;
			p->interior[k] += interior ? off : 0;
		}
	}
	for (int k = 0; k <= MODELS; k++) {
		p->all[k] += k < MODELS ? (1 - inside) / 2 : 0;
		p->interior[k] /= within;
	}
}

static void tell(struct bialas *b, json_t *rows, const struct point *p)
{
	json_t *cells = json_array();

	for (int k = 0; k <= MODELS; k++) {
		json_array_append_new(cells, record_pack("[f,f]", p->all[k], p->interior[k]));
		if (k < MODELS)
			json_array_append_new(rows, record_pack("{s:[f,f], s:s, s:f, s:f, s:f, s:f}",
			                                        "y_z_mm", p->y, p->z, "kernel",
			                                        models[k].name, "all", p->all[k], "interior",
			                                        p->interior[k], "noise_all", p->all[MODELS],
			                                        "noise_interior", p->interior[MODELS]));
	}
	study_row(&b->s, "points", record_pack("{s:f, s:f, s:o}", "y", p->y, "z", p->z, "cells", cells));
}

/* Emissions from a disc of a thousandth of a mm, as a phantom that `isotome simulate` takes too. */
static int run_point(struct bialas *b, json_t *rows, int k, int64_t n)
{
	const char *path = study_text("point-%d.txt", k + 1);
	struct point p = { .y = points[k][0], .z = points[k][1] };
	struct iso_strip_events e = { 0 };
	int64_t *counts = NULL;
	int st = STUDY_NEW(counts, BINS);

	if (!st) st = iso_out_text(path, study_text("ellipse %g %g 0.001 0.001 0 1\n", p.z, p.y));
	if (st || (st = bialas_events(&e, b, path, SEED + (uint64_t)k, n))) goto done;
	count(counts, e.v, n);
	compare(&p, &b->strip.strips, counts, (double)n);
	tell(b, rows, &p);
done:
	free(e.v);
	free(counts);
	return st;
}

int bialas_kernels(struct bialas *b, int64_t events)
{
	json_t *rows = json_array();
	int st = ISO_OK;

	study_show(&b->s, "point_events", json_integer(events));
	for (int k = 0; k < POINTS && !st; k++) st = run_point(b, rows, k, events);
	study_result(&b->s, "total_variation", rows);
	return st;
}
