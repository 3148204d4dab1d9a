/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of equal rings without attenuation and efficiencies, from all crystal pairs.

   Crystals c1 and c2, seen along z, are joined by one line in the plane and by a line in space for
   every two rings. At the share t of the way from c1 to c2 the lines of rings i and k are at
   z = z_i + (z_k - z_i) t, whatever c1 and c2 are. So what all of them leave in the voxels above a pixel
   is found from a table: column(t)[j] = integral from 0 to t of the weight of the lines in slice j.
   With a distance L in the plane a line weighs

     w L shape,  shape = (1 + (dz/L)^2)^e,  w = 1, e = 1/2, or w the solid angle at dz = 0, e = -3/2

   per unit of t. Pairs as many crystals apart have nearly the same L: a table each, interpolated
   between NODES of them. */
#include "ray_sens.h"
#include "core/size.h"
#include "core/ctx.h"

#include <string.h>

#define STEPS 1024 /* of t in a table, linear in between */
#define NODES 12
#define SLICES 16      /* of a task */
#define MOST_BYTES 1e9 /* of the sums of all tasks at work */
#define GROUPS 8       /* of offsets between crystals: a sum each, so that threads do not show in it */

struct rings {
	const struct ray_sens *q;
	const iso_ctx *ctx;
	struct ray_grid plane; /* one slice of the grid */
	int64_t offsets;       /* of one crystal from the other */
	double node[NODES];    /* L */
	float *table;          /* (NODES, STEPS + 1, nz) */
};

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

bool iso_ray_sens_by_rings(const struct ray_sens *q)
{
	return q->projector == ISO_SLICE && q->spread.lines == 1 && equal_rings(&q->pairs, q->pos);
}

/* ---- tables ---- */

static double ring_z(const struct ray_sens *q, int64_t ring)
{
	/* rounded as the tracer rounds: rings may lie on faces between slices */
	return (iso_real)((q->pos[3 * ring * q->pairs.per_ring + 2] - q->grid.low[2]) / q->grid.voxel[2]);
}

/* From t on, slice j has `weight` more: rise, its slope, and what it lacks at the first step after t. */
static void begin(double *rise, double *lack, int64_t j, int nz, double t, double weight)
{
	int64_t m = (int64_t)ceil(t * STEPS);

	rise[m * nz + j] += weight;
	lack[m * nz + j] += weight * ((double)m / STEPS - t);
}

/* A line from z0 at t = 0 to z1 at t = 1, in slices of the grid. */
static void add_line(double *rise, double *lack, int nz, double z0, double z1, double weight)
{
	double low = fmin(z0, z1), high = fmax(z0, z1), d = z1 - z0;
	int64_t first = (int64_t)fmax(0, floor(low)), last = (int64_t)fmin(nz - 1, floor(high));

	for (int64_t j = first; j <= last; j++) {
		double ta = d == 0 ? 0 : ((double)(d > 0 ? j : j + 1) - z0) / d;
		double tb = d == 0 ? 1 : ((double)(d > 0 ? j + 1 : j) - z0) / d;

		begin(rise, lack, j, nz, fmin(fmax(ta, 0), 1), weight);
		begin(rise, lack, j, nz, fmin(fmax(tb, 0), 1), -weight);
	}
}

/* The table of distance L over w L. rise, lack: room for (STEPS + 1, nz) each. */
static void make_table(float *table, const struct rings *r, double l, double *rise, double *lack)
{
	const struct ray_sens *q = r->q;
	const struct iso_pairs *p = &q->pairs;
	double e = q->solid_angle ? -1.5 : .5;
	int nz = q->grid.n[2];
	size_t bytes = (size_t)(STEPS + 1) * (size_t)nz * sizeof *rise;

	memset(rise, 0, bytes);
	memset(lack, 0, bytes);
	for (int64_t i = 0; i < p->rings && !iso_stopped(r->ctx); i++)
		for (int64_t k = 0; k < p->rings; k++) {
			double a = ring_z(q, i), b = ring_z(q, k), dz = (b - a) * q->grid.voxel[2] / l;

			if (llabs(i - k) <= p->max_ring_difference)
				add_line(rise, lack, nz, a, b, pow(1 + dz * dz, e));
		}
	for (int64_t j = 0; j < nz; j++) {
		double slope = 0, sum = 0;

		for (int64_t m = 0; m <= STEPS; m++) {
			sum += slope / STEPS + lack[m * nz + j];
			slope += rise[m * nz + j];
			table[m * nz + j] = (float)sum;
		}
	}
}

static double distance(const double *a, const double *b)
{
	return hypot(b[0] - a[0], b[1] - a[1]);
}

/* The middle of all distances between crystals that are `offset` further apart than they must be. */
static double middle_distance(const struct rings *r, int64_t offset)
{
	const struct iso_pairs *p = &r->q->pairs;
	double low = INFINITY, high = 0;

	for (int64_t k = offset * p->per_ring; k < (offset + 1) * p->per_ring && k < p->same; k++) {
		int64_t a, b;

		pairs_rings(p, k, &a, &b);
		double l = distance(r->q->pos + 3 * a, r->q->pos + 3 * b);

		low = fmin(low, l);
		high = fmax(high, l);
	}
	return .5 * (low + high);
}

static int make_tables(struct rings *r, iso_ctx *ctx)
{
	int64_t size = (int64_t)(STEPS + 1) * r->q->grid.n[2];
	double low = INFINITY, high = 0, *work = size_alloc(2 * NODES * size, sizeof *work);

	r->table = size_alloc(NODES * size, sizeof *r->table);
	if (!work || !r->table) {
		free(work);
		return iso_fail_memory("sensitivity", NODES * size * 20);
	}
	for (int64_t o = 0; o < r->offsets; o++) {
		low = fmin(low, middle_distance(r, o));
		high = fmax(high, middle_distance(r, o));
	}
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int i = 0; i < NODES; i++) {
		r->node[i] = low + (high - low) * i / (NODES - 1) + 1e-9 * high * i; /* all different */
		make_table(r->table + i * size, r, r->node[i], work + 2 * i * size,
		           work + (2 * i + 1) * size);
	}
	free(work);
	return ISO_OK;
}

/* Slices z0 .. z0 + n of the table for distance l: the cubic through the four nodes around. */
static void table_at(float *dst, const struct rings *r, double l, int z0, int n)
{
	int nz = r->q->grid.n[2], first = 0;
	double share[4];

	while (first < NODES - 4 && l > r->node[first + 2]) first++;
	for (int i = 0; i < 4; i++) {
		share[i] = 1;
		for (int k = 0; k < 4; k++)
			if (k != i)
				share[i] *=
					(l - r->node[first + k]) / (r->node[first + i] - r->node[first + k]);
	}
	for (int64_t m = 0; m <= STEPS; m++)
		for (int j = 0; j < n; j++) {
			double sum = 0;

			for (int i = 0; i < 4; i++)
				sum += share[i] *
				       (double)r->table[((first + i) * (int64_t)(STEPS + 1) + m) * nz + z0 +
				                        j];
			dst[m * SLICES + j] = (float)sum;
		}
}

/* ---- lines in the plane ---- */

/* column[0 .. SLICES) at t. */
static void column_at(float *column, const float *table, double t)
{
	double at = fmin(fmax(t, 0), 1) * STEPS;
	int64_t m = (int64_t)fmin(floor(at), STEPS - 1);
	const float *low = table + m * SLICES, share = (float)(at - (double)m);

	for (int j = 0; j < SLICES; j++) column[j] = low[j] + share * (low[j + SLICES] - low[j]);
}

/* sum (pixels, SLICES) += what the lines of crystals a and b leave. */
static void trace_pair(float *sum, const struct rings *r, const float *table, int64_t a, int64_t b)
{
	const double *pos = r->q->pos;
	double p1[3] = { pos[3 * a], pos[3 * a + 1], .5 }, p2[3] = { pos[3 * b], pos[3 * b + 1], .5 };
	struct ray ray = ray_setup(&r->plane, p1, p2, NULL, 0);
	double weight = r->q->solid_angle ? pairs_solid_angle(p1, p2) : 1;
	float scale = (float)(weight * distance(p1, p2)), column[2][SLICES];
	int axis = ray.axis, now = 0;
	double from = (p1[axis] - r->plane.low[axis]) / r->plane.voxel[axis];
	double per_t = (p2[axis] - p1[axis]) / r->plane.voxel[axis];

	if (ray.k0 >= ray.k1) return;
	column_at(column[now], table, ((double)ray.x0 - from) / per_t);
	for (int k = ray.k0; k < ray.k1; k++) {
		struct ray_cut cut = ray_cut_slice(&ray, k);

		for (int i = 0; i < 3; i++) {
			float *v = sum + (int64_t)cut.voxel[i] * SLICES;

			if (!(cut.x[i + 1] > cut.x[i])) continue;
			column_at(column[!now], table, ((double)cut.x[i + 1] - from) / per_t);
			for (int j = 0; j < SLICES; j++)
				v[j] += scale * fabsf(column[!now][j] - column[now][j]);
			now = !now;
		}
	}
}

/* Task: some slices, from some of the offsets. */
static void do_task(float *sum, float *table, const struct rings *r, int z0, int n, int group)
{
	const struct iso_pairs *p = &r->q->pairs;

	for (int64_t o = group; o < r->offsets && !iso_stopped(r->ctx); o += GROUPS) {
		table_at(table, r, middle_distance(r, o), z0, n);
		for (int64_t k = o * p->per_ring; k < (o + 1) * p->per_ring && k < p->same; k++) {
			int64_t a, b;

			pairs_rings(p, k, &a, &b);
			trace_pair(sum, r, table, a, b);
		}
	}
}

/* s of slices z0 .. z0 + n = the sum of the groups' sums, which lie `apart` from each other. */
static void leave(iso_real *s, const float *sum, int64_t apart, int64_t pixels, int z0, int n)
{
	for (int j = 0; j < n; j++)
		for (int64_t i = 0; i < pixels; i++) {
			double total = 0;

			for (int g = 0; g < GROUPS; g++) total += (double)sum[g * apart + i * SLICES + j];
			s[(z0 + j) * pixels + i] = (iso_real)total;
		}
}

/* Slices z0 .. z1, SLICES of them and all groups at a time: a task each. */
static int trace_slices(iso_real *s, iso_ctx *ctx, const struct rings *r, int z0, int z1)
{
	int64_t pixels = (int64_t)r->plane.n[0] * r->plane.n[1], table = (int64_t)(STEPS + 1) * SLICES;
	int tasks = (z1 - z0 + SLICES - 1) / SLICES * GROUPS;
	float *memory = size_alloc(tasks * (pixels * SLICES + table), sizeof *memory);

	if (!memory) return iso_fail_memory("sensitivity", tasks * (pixels * SLICES + table) * 4);
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int i = 0; i < tasks; i++) {
		float *own = memory + i * (pixels * SLICES + table);
		int z = z0 + i / GROUPS * SLICES, n = z1 - z < SLICES ? z1 - z : SLICES;

		do_task(own + table, own, r, z, n, i % GROUPS);
	}
#pragma omp parallel for num_threads(ctx->threads)
	for (int z = z0; z < z1; z += SLICES) {
		const float *own = memory + (z - z0) / SLICES * GROUPS * (pixels * SLICES + table) + table;

		leave(s, own, pixels * SLICES + table, pixels, z, z1 - z < SLICES ? z1 - z : SLICES);
	}
	free(memory);
	return iso_ctx_poll(ctx);
}

int iso_ray_sens_rings(iso_real *s, iso_ctx *ctx, const struct ray_sens *q)
{
	struct rings r = { .q = q, .ctx = ctx, .plane = q->grid };
	double task = 4. * q->grid.n[0] * q->grid.n[1] * SLICES * GROUPS;
	int nz = q->grid.n[2], st;
	int each = SLICES * (int)fmax(1, fmin(2 * ctx->threads / GROUPS + 1, MOST_BYTES / task));

	r.plane.n[2] = 1;
	r.plane.voxel[2] = 1;
	r.plane.low[2] = 0;
	r.offsets = (q->pairs.same + q->pairs.per_ring - 1) / q->pairs.per_ring;
	st = make_tables(&r, ctx);
	for (int z = 0; z < nz && !st; z += each) {
		int end = nz - z < each ? nz : z + each;

		if (!(st = trace_slices(s, ctx, &r, z, end))) ray_sens_step(q, end / (double)nz);
	}
	free(r.table);
	return st;
}
