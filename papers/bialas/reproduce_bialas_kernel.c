/* SPDX-License-Identifier: BSD-3-Clause */
/* Each kernel against simulated events of single points: how far the share of events in each bin of
   (z_up, z_down, dl) is from what the kernel, integrated over the bin, predicts. */
#include "reproduce_bialas.h"

#include "file/out.h"
#include "core/size.h"
#include "model/strip/strip_kern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED 3
#define Z_BIN 15. /* mm */
#define DL_BIN 40.
#define REACH2 25     /* the kernels are 0 beyond 5 sigma: far away eq7 grows without bound */
#define INTERIOR 110. /* |z| of both hits: where the ends of the strips do not matter */

enum { Z_BINS = 26, DL_BINS = 28, BINS = Z_BINS * Z_BINS * DL_BINS };

const char *const bialas_models[BIALAS_MODELS] = { "eq7", "gauss", "tan", "tan, with the ends" };

static const struct {
	enum iso_strip_kernel kernel;
	bool edge;
} models[BIALAS_MODELS] = {
	{ ISO_STRIP_EQ7, false },
	{ ISO_STRIP_GAUSS, false },
	{ ISO_STRIP_TAN, false },
	{ ISO_STRIP_TAN, true },
};

static const double points[BIALAS_POINTS][2] = {
	/* y, z */
	{ 0, 0 }, { 60, 40 }, { 100, 0 }, { -100, 100 }, { 30, -90 },
};

/* ---- bins ---- */

static double z_centre(int i)
{
	return (i - .5 * (Z_BINS - 1)) * Z_BIN;
}

static double dl_centre(int i)
{
	return (i - .5 * (DL_BINS - 1)) * DL_BIN;
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
	struct strip_line l = { .t = (iso_real)o.t,
		                .s = (iso_real)o.s,
		                .up = (iso_real)c.up,
		                .down = (iso_real)c.down,
		                .dl = (iso_real)c.dl,
		                .gamma = (iso_real)c.gamma };
	struct strip_row r =
		strip_row(models[model].kernel, (iso_real)s->radius, &l, (iso_real)y, (iso_real)dy);
	double p = c.factor * strip_weight(models[model].kernel, &r, (iso_real)v);

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

		total +=
			weight[a] * weight[b] * weight[c] *
			density(s, model, z_centre(u) + node[a] * Z_BIN / 2,
		                z_centre(d) + node[b] * Z_BIN / 2, dl_centre(l) + node[c] * DL_BIN / 2, y, z);
	}
	return total * Z_BIN * Z_BIN * DL_BIN;
}

/* ---- a point ---- */

/* What is counted beyond the bins is missed by every model. */
static void compare(struct bialas_point *p, const struct bialas *b, const int64_t *counts, double n)
{
	const struct iso_strips *s = &b->strip.strips;
	double seen = strips_sens(s, p->y, p->z), inside = 0, within = 0;

	for (int i = 0; i < BINS; i++) {
		int u = i / DL_BINS / Z_BINS, d = i / DL_BINS % Z_BINS, l = i % DL_BINS;
		bool interior = fabs(z_centre(u)) < INTERIOR && fabs(z_centre(d)) < INTERIOR;
		double share = (double)counts[i] / n, noise = sqrt(share * (1 - share) / (2 * M_PI * n));

		inside += share;
		within += interior ? share : 0;
		p->noise_all += noise;
		p->noise_interior += interior ? noise : 0;
		for (int k = 0; k < BIALAS_MODELS; k++) {
			double off = fabs(share - integral(s, k, u, d, l, p->y, p->z) / seen) / 2;

			p->all[k] += off;
			p->interior[k] += interior ? off : 0;
		}
	}
	p->noise_interior /= within;
	for (int k = 0; k < BIALAS_MODELS; k++) {
		p->all[k] += (1 - inside) / 2;
		p->interior[k] /= within;
	}
}

/* A disc of a thousandth of a mm, as a phantom that `isotome simulate` takes too. */
static int make_phantom(iso_phantom **phantom, const struct bialas_point *p, int k)
{
	char path[16], text[64];
	int st;

	snprintf(path, sizeof path, "point-%d.txt", k + 1);
	snprintf(text, sizeof text, "ellipse %g %g 0.001 0.001 0 1\n", p->z, p->y);
	if ((st = iso_out_text(path, text))) return st;
	return iso_phantom_create(phantom, path, NULL);
}

static int run_point(struct bialas *b, int k, struct iso_strip_event *e, int64_t n)
{
	struct bialas_point *p = &b->point[k];
	int64_t *counts = size_alloc(BINS, sizeof *counts);
	iso_phantom *phantom = NULL;
	int st;

	*p = (struct bialas_point){ .y = points[k][0], .z = points[k][1] };
	if (!counts) return iso_fail_memory("reproduce", BINS * (int64_t)sizeof *counts);
	if ((st = make_phantom(&phantom, p, k))) goto done;
	if ((st = iso_strip_simulate(e, b->c->ctx, &b->strip.strips, phantom, SEED + (uint64_t)k, 0, n)))
		goto done;
	for (int i = 0; i < BINS; i++) counts[i] = 0;
	count(counts, e, n);
	compare(p, b, counts, (double)n);
done:
	iso_phantom_free(phantom);
	free(counts);
	return st;
}

int bialas_kernels(struct bialas *b)
{
	int64_t n = (int64_t)b->scale->point_events;
	struct iso_strip_event *e = size_alloc(n, sizeof *e);
	int st = e ? ISO_OK : iso_fail_memory("reproduce", n * (int64_t)sizeof *e);

	for (int k = 0; k < BIALAS_POINTS && !st; k++) st = run_point(b, k, e, n);
	free(e);
	return st;
}
