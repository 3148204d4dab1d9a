/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of what the lines between equal rings leave in each slice, on the way from crystal to crystal.

   As z is linear in t, each column of a table is, over t, a sum of functions that are linear between
   knots. So a line only leaves its knots: changes of slope, and steps. */
#include "ray_rings.h"

#include <omp.h>
#include <stdlib.h>

#define LEAST 1e-9 /* share of a line in a slice, or its slope: below are rounding errors */

static bool equal_rings(const struct iso_pairs *p, const double *pos)
{
	for (int64_t c = 0; c < p->rings * p->per_ring; c++) {
		const double *here = pos + 3 * c, *first = pos + 3 * (c % p->per_ring);

		if (fabs(here[0] - first[0]) > 1e-9 || fabs(here[1] - first[1]) > 1e-9 ||
		    fabs(here[2] - pos[3 * (c - c % p->per_ring) + 2]) > 1e-9)
			return false;
	}
	return p->rings > 0;
}

static double middle_distance(const struct ray_sens *q, int64_t offset)
{
	const struct iso_pairs *p = &q->pairs;
	double low = INFINITY, high = 0;

	for (int64_t k = offset * p->per_ring; k < (offset + 1) * p->per_ring && k < p->same; k++) {
		int64_t a, b;

		pairs_rings(p, k, &a, &b);
		double l = rings_distance(q->pos + 3 * a, q->pos + 3 * b);

		low = fmin(low, l);
		high = fmax(high, l);
	}
	return .5 * (low + high);
}

static double ring_z(const struct ray_sens *q, int64_t ring)
{
	return q->pos[3 * ring * q->pairs.per_ring + 2];
}

/* Whether no line crosses more slices than columns. In the plane, a line of length L crosses at least
   L / hypot(voxel) along its main axis; offset 0 has the shortest. */
static bool flat(const struct ray_sens *q)
{
	const double *voxel = q->grid.voxel;
	double rings = fabs(ring_z(q, q->pairs.max_ring_difference) - ring_z(q, 0)), ends = 0;

	for (int i = 0; q->spread.lines > 1 && i < q->spread.lines; i++) {
		double dz = fabs((double)q->spread.off[i][1] - q->spread.off[i][3]);

		if (dz > ends) ends = dz;
	}
	return (rings + ends) / voxel[2] < .97 * middle_distance(q, 0) / hypot(voxel[0], voxel[1]);
}

bool iso_rings_serve(const struct ray_sens *q)
{
	return !q->pair && q->spread.response.p == 0 && equal_rings(&q->pairs, q->pos) &&
	       (q->projector == ISO_SLICE || flat(q));
}

/* ---- a table ---- */

/* Knots of columns, (RINGS_STEPS + 1, nz) each: changes of slope at the first step behind them, and steps,
   with what a column has risen by then. */
struct knots {
	double *slope, *step;
	int nz;
};

/* From t on, column j rises by `slope` more per unit of t, after a jump. */
static void knot(const struct knots *k, int j, double t, double slope, double jump)
{
	int64_t m = (int64_t)ceil(t * RINGS_STEPS);

	k->slope[m * k->nz + j] += slope;
	k->step[m * k->nz + j] += jump + slope * ((double)m / RINGS_STEPS - t);
}

/* Exact chords: the integral over t of a line from z0 at t = 0 to z1 at t = 1, in slices of the grid. */
static void add_chords(const struct knots *k, double z0, double z1, double weight)
{
	double low = fmin(z0, z1), high = fmax(z0, z1), d = z1 - z0;
	int first = (int)fmax(0, floor(low)), last = (int)fmin(k->nz - 1, floor(high));

	for (int j = first; j <= last; j++) {
		double ta = d == 0 ? 0 : ((double)(d > 0 ? j : j + 1) - z0) / d;
		double tb = d == 0 ? 1 : ((double)(d > 0 ? j + 1 : j) - z0) / d;

		knot(k, j, fmin(fmax(ta, 0), 1), weight, 0);
		knot(k, j, fmin(fmax(tb, 0), 1), -weight, 0);
	}
}

/* Where z passes `at`, column j has `slope` more per slice of z and a jump; before t = 0, it had them. */
static void add_knot(const struct knots *k, int j, double z0, double d, double at, double slope, double jump)
{
	if (at > z0 + d) return;
	double t = at > z0 ? (at - z0) / d : 0, since = at > z0 ? 0 : z0 - at;

	knot(k, j, t, slope * d, jump + slope * since);
}

/* Joseph: shares of slices at z, of which the outer ones go on to the faces of the grid. */
static void add_shares(const struct knots *k, double z0, double z1, double weight)
{
	bool down = z1 < z0; /* as a line that goes up in a grid upside down */
	double a = down ? k->nz - z0 : z0, d = fabs(z1 - z0);
	int top = k->nz - 1;
	int first = (int)fmax(0, floor(a - .5)), last = (int)fmin(top, floor(a + d + .5));

	for (int j = first; j <= last; j++) {
		int to = down ? top - j : j;

		if (j == 0) add_knot(k, to, a, d, 0, 0, weight);
		if (j > 0) add_knot(k, to, a, d, j - .5, weight, 0);
		if (j > 0) add_knot(k, to, a, d, j + .5, -weight, 0);
		if (j < top) add_knot(k, to, a, d, j + .5, -weight, 0);
		if (j < top) add_knot(k, to, a, d, j + 1.5, weight, 0);
		if (j == top) add_knot(k, to, a, d, k->nz, 0, -weight);
	}
}

/* shape, for distance l in the plane; dz between rings, and between the ends of the line. */
static double shape(const struct ray_sens *q, double l, double dz, double ends)
{
	double tilt = 1 + dz * dz / (l * l);

	return sqrt(1 + ends * ends / (l * l)) * (q->solid_angle ? 1 / (tilt * tilt) : 1);
}

/* In slices, rounded as the tracer rounds: rings may lie on faces between slices. */
static double in_slices(const struct ray_sens *q, double z)
{
	return (iso_real)((z - q->grid.low[2]) / q->grid.voxel[2]);
}

/* All lines of a kind at distance l. */
static void add_lines(const struct knots *k, const iso_ctx *ctx, const struct ray_sens *q, int kind, double l)
{
	const struct iso_pairs *p = &q->pairs;
	double up = rings_up(&q->spread, kind, 0), up2 = rings_up(&q->spread, kind, 1);

	for (int64_t i = 0; i < p->rings && !iso_stopped(ctx); i++)
		for (int64_t j = 0; j < p->rings; j++) {
			double a = ring_z(q, i), b = ring_z(q, j);

			if (llabs(i - j) > p->max_ring_difference || !rings_join(&q->spread, kind, i, j))
				continue;
			(q->projector == ISO_JOSEPH ? add_shares : add_chords)(
				k, in_slices(q, a + up), in_slices(q, b + up2),
				shape(q, l, b - a, b + up2 - a - up));
		}
}

static void make_table(float *table, const struct knots *k, const iso_ctx *ctx, const struct ray_sens *q,
                       int kind, double l)
{
	size_t bytes = (size_t)(RINGS_STEPS + 1) * (size_t)k->nz * sizeof *k->slope;
	bool shares = q->projector == ISO_JOSEPH;

	memset(k->slope, 0, bytes);
	memset(k->step, 0, bytes);
	add_lines(k, ctx, q, kind, l);
	for (int j = 0; j < k->nz; j++) {
		double slope = 0, sum = 0;

		for (int64_t m = 0; m <= RINGS_STEPS; m++) {
			sum += slope / RINGS_STEPS + k->step[m * k->nz + j];
			slope += k->slope[m * k->nz + j];
			/* no line has no share and no slope, whatever rounding left of the lines before */
			if (!shares && slope < LEAST) slope = 0;
			table[m * k->nz + j] = (float)(shares && sum < LEAST ? 0 : sum);
		}
	}
}

/* ---- all of them ---- */

static int64_t table_size(const struct ray_sens *q)
{
	return (int64_t)(RINGS_STEPS + 1) * q->grid.n[2];
}

/* Evenly over the distances of all offsets, and no two alike. */
static void set_distances(struct ray_rings *r, double *apart, const struct ray_sens *q, const iso_ctx *ctx)
{
	double low = INFINITY, high = 0;

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t o = 0; o < r->offsets; o++) apart[o] = middle_distance(q, o);
	for (int64_t o = 0; o < r->offsets; o++) {
		low = fmin(low, apart[o]);
		high = fmax(high, apart[o]);
	}
	for (int i = 0; i < RINGS_NODES; i++)
		r->node[i] = low + (high - low) * i / (RINGS_NODES - 1) + 1e-9 * high * i;
	r->apart = apart;
}

static int make_tables(struct ray_rings *r, float *table, struct iso_room *room, const struct ray_sens *q)
{
	int64_t size = table_size(q);
	int threads =
		room->ctx->threads < RINGS_NODES * r->kinds ? room->ctx->threads : RINGS_NODES * r->kinds;
	double *work;

	if (!ISO_HOST(room, work, 2 * threads * size)) return room->status;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
	for (int i = 0; i < RINGS_NODES * r->kinds; i++) {
		double *own = work + 2 * omp_get_thread_num() * size;
		struct knots k = { own, own + size, r->nz };

		make_table(table + i * size, &k, room->ctx, q, i / RINGS_NODES, r->node[i % RINGS_NODES]);
	}
	iso_room_drop(room, work);
	r->table = table;
	return iso_ctx_poll(room->ctx);
}

int iso_rings_create(struct ray_rings *r, struct iso_room *room, const struct ray_sens *q)
{
	float *table;
	double *apart;

	*r = (struct ray_rings){
		.plane = q->grid,
		.nz = q->grid.n[2],
		.projector = q->projector,
		.spread = q->spread,
		.pairs = q->pairs,
		.solid_angle = q->solid_angle,
		.pos = q->pos,
		.offsets = rings_offsets(q),
		.kinds = rings_kinds(q),
	};
	r->plane.n[2] = 1;
	r->plane.voxel[2] = 1;
	r->plane.low[2] = 0;
	ISO_HOST(room, apart, r->offsets);
	ISO_HOST(room, table, r->kinds * RINGS_NODES * table_size(q));
	if (room->status) return room->status;
	set_distances(r, apart, q, room->ctx);
	return make_tables(r, table, room, q);
}

void iso_rings_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct ray_sens *q)
{
	int n = RINGS_NODES * rings_kinds(q), threads = ctx->threads < n ? ctx->threads : n;

	iso_plan_add(plan, "lines between rings, as tables", n * table_size(q), sizeof(float), false);
	iso_plan_add(plan, "the same, while they are made", 2 * threads * table_size(q), sizeof(double),
	             false);
}
