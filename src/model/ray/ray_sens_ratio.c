/* SPDX-License-Identifier: BSD-3-Clause */
/* What attenuation and efficiencies make of the sensitivity of equal rings: in every voxel their mean
   over the lines that cross it, as the ratio of two images of the same lines, with and without.

   Crystals c1 and c2, seen along z, are joined by one line in the plane and by lines between all pairs of
   rings in space. At each of some nodes t on the way, the line of rings i and k is in one slice, which is
   the same for all c1 and c2. So eight lines in the plane go together, and for each pair of rings and
   node there is one addition of eight numbers, without a look at where they are: forward from columns of
   mu, back into columns of the image. A pixel between two nodes has its share of both. */
#include "ray_sens.h"
#include "core/room.h"
#include "core/ctx.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 8         /* lines in the plane that go together */
#define MOST_NODE_MM 8. /* from node to node */
#define DRIFT .35       /* of a slice, that the steepest lines go from node to node */
#define MOST_LINES 2e8  /* in space; beyond, several rings are taken as one */
#define SUMS_BYTES 3e8  /* of the images of all groups */

/* The line of rings i and k. */
struct ring_pair {
	int i, k;
	double dz; /* mm */
};

/* A stack of pixels: of the image, or of mu. */
struct stack {
	struct ray_grid plane;
	int nz;
	double low, thick; /* of slices, mm */
	int32_t *at;       /* (nodes, pairs): slice of each line at a node; nz: none */
};

struct ratio {
	const struct ray_sens *q;
	int rings, nodes, pairs, groups;
	struct ring_pair *pair;
	double *z;     /* of the rings, mm */
	iso_real *eff; /* (rings, per_ring); NULL: 1 */
	struct stack image, mu;
	float *column; /* (pixels, slices) of mu */
};

/* What a line in the plane leaves in a pixel. */
struct part {
	int pixel, node; /* the node before */
	float length;    /* mm */
	float after;     /* the share of the node after */
};

/* Lines in the plane of one batch, and their work space. */
struct batch {
	struct part *part[BATCH];
	int n[BATCH];
	float scale[BATCH]; /* solid angle, in the plane */
	float *sum;         /* (pairs, BATCH): integrals of mu, then weights */
	float *column[2];   /* (slices + 1, BATCH) of a node, and of the next */
	float *plain;       /* (nodes, slices + 1): weights without mu and eff, of all lines of an offset */
	float *with, *without; /* (pixels, slices): the sums */
};

/* ---- what is the same for all lines in the plane ---- */

/* Rings, or the middles of several. */
static void join_rings(struct ratio *r)
{
	const struct iso_pairs *p = &r->q->pairs;

	for (int i = 0; i < r->rings; i++) {
		int64_t first = i * p->rings / r->rings, last = (i + 1) * p->rings / r->rings;
		double share = 1 / (double)(last - first);

		for (int64_t k = first; k < last; k++) {
			r->z[i] += share * r->q->pos[3 * k * p->per_ring + 2];
			for (int64_t c = 0; r->eff && c < p->per_ring; c++)
				r->eff[i * p->per_ring + c] +=
					(iso_real)(share * (double)r->q->eff[k * p->per_ring + c]);
		}
	}
}

static void list_pairs(struct ratio *r)
{
	const struct iso_pairs *p = &r->q->pairs;
	int64_t most = p->max_ring_difference * r->rings / p->rings;

	for (int i = 0; i < r->rings; i++)
		for (int k = 0; k < r->rings; k++)
			if (abs(i - k) <= most)
				r->pair[r->pairs++] = (struct ring_pair){ i, k, r->z[k] - r->z[i] };
}

/* t of a node. In the middle of the scanner many lines would be on faces between slices at once. */
static double node_t(const struct ratio *r, int node)
{
	return (node + .381966) / r->nodes;
}

static void place(struct stack *s, const struct ratio *r)
{
	for (int node = 0; node < r->nodes; node++)
		for (int n = 0; n < r->pairs; n++) {
			double z = r->z[r->pair[n].i] + r->pair[n].dz * node_t(r, node);
			double at = floor((iso_real)((z - s->low) / s->thick)); /* as the tracer rounds */

			s->at[(int64_t)node * r->pairs + n] = (int32_t)(at >= 0 && at < s->nz ? at : s->nz);
		}
}

static void stack_of(struct stack *s, const struct ray_grid *g, int by)
{
	s->plane = *g;
	s->plane.n[2] = 1;
	s->plane.voxel[2] = 1;
	s->plane.low[2] = 0;
	s->nz = (g->n[2] + by - 1) / by;
	s->low = g->low[2];
	s->thick = g->voxel[2] * by;
}

static int64_t pixels(const struct stack *s)
{
	return (int64_t)s->plane.n[0] * s->plane.n[1];
}

static int prepare(struct ratio *r, struct iso_room *room, const struct ray_sens *q)
{
	const struct iso_pairs *p = &q->pairs;
	double most = fmax(1, sqrt(MOST_LINES / (double)p->same)), reach = 0;
	double length = fabs(q->pos[3 * (p->rings - 1) * p->per_ring + 2] - q->pos[2]);

	r->q = q;
	r->rings = (int)fmin((double)p->rings, most);
	for (int64_t c = 0; c < p->per_ring; c++)
		reach = fmax(reach, hypot(q->pos[3 * c], q->pos[3 * c + 1]));
	/* a slice meets lines of rings that are `apart` where they are farthest from each other: half way */
	double apart = r->rings > 1 ? length / (r->rings - 1) : length + 1;

	stack_of(&r->image, &q->grid, (int)fmin(fmax(1, ceil(.4 * apart / q->grid.voxel[2])), q->grid.n[2]));
	if (q->mu) stack_of(&r->mu, &q->mu_grid, 1);
	double slice = q->mu ? fmin(r->mu.thick, r->image.thick) : r->image.thick;

	/* lines are at least about as long as the radius */
	r->nodes = (int)fmin(fmax(2 * reach / MOST_NODE_MM, 2 * length / (DRIFT * slice)) + 2, 4096);
	ISO_HOST(room, r->z, r->rings);
	ISO_HOST(room, r->pair, (int64_t)r->rings * r->rings);
	if (q->eff) ISO_HOST(room, r->eff, r->rings * p->per_ring);
	if (room->status) return room->status;
	join_rings(r);
	list_pairs(r);
	ISO_HOST(room, r->image.at, (int64_t)r->nodes * r->pairs);
	if (q->mu) {
		ISO_HOST(room, r->mu.at, (int64_t)r->nodes * r->pairs);
		ISO_HOST(room, r->column, pixels(&r->mu) * r->mu.nz);
	}
	if (room->status) return room->status;
	place(&r->image, r);
	if (q->mu) place(&r->mu, r);
	for (int64_t i = 0; q->mu && i < pixels(&r->mu); i++)
		for (int z = 0; z < r->mu.nz; z++)
			r->column[i * r->mu.nz + z] = (float)q->mu[z * pixels(&r->mu) + i];
	double bytes = 8. * (double)pixels(&r->image) * r->image.nz;

	r->groups = (int)fmin(fmax(2, SUMS_BYTES / bytes), 32);
	return ISO_OK;
}

/* ---- a batch ---- */

/* The parts of a line in the plane, by growing t. */
static int find_parts(struct part *part, const struct ratio *r, const struct stack *s, const double p1[3],
                      const double p2[3])
{
	struct ray ray = ray_setup(&s->plane, p1, p2, NULL, 0);
	int axis = ray.axis, n = 0;
	double from = (p1[axis] - s->plane.low[axis]) / s->plane.voxel[axis];
	double per_t = (p2[axis] - p1[axis]) / s->plane.voxel[axis];

	for (int k = ray.k0; k < ray.k1; k++) {
		struct ray_cut cut = ray_cut_slice(&ray, k);

		for (int i = 0; i < 3; i++) {
			double t = (.5 * ((double)cut.x[i] + cut.x[i + 1]) - from) / per_t;
			double at = fmin(fmax(t * r->nodes - .381966, 0), r->nodes - 1.001);

			if (cut.x[i + 1] > cut.x[i])
				part[n++] = (struct part){ cut.voxel[i], (int)at,
					                   (float)((cut.x[i + 1] - cut.x[i]) * ray.len),
					                   (float)(at - floor(at)) };
		}
	}
	for (int i = 0; per_t < 0 && i < n / 2; i++) {
		struct part swap = part[i];

		part[i] = part[n - 1 - i];
		part[n - 1 - i] = swap;
	}
	return n;
}

/* The two crystals of line k in the plane, at z = 1/2 of the plane's one slice. */
static void ends_of(const struct ray_sens *q, int64_t k, int64_t *a, int64_t *b, double p1[3], double p2[3])
{
	pairs_rings(&q->pairs, k, a, b);
	memcpy(p1, q->pos + 3 * *a, 2 * sizeof *p1);
	memcpy(p2, q->pos + 3 * *b, 2 * sizeof *p2);
	p1[2] = p2[2] = .5;
}

/* Lines first .. first + n in the plane, through a stack. */
static void set_parts(struct batch *b, const struct ratio *r, const struct stack *s, int64_t first, int n)
{
	for (int l = 0; l < BATCH; l++) {
		double p1[3], p2[3];
		int64_t c1, c2;

		b->n[l] = 0;
		if (l >= n) continue;
		ends_of(r->q, first + l, &c1, &c2, p1, p2);
		b->n[l] = find_parts(b->part[l], r, s, p1, p2);
		b->scale[l] = r->q->solid_angle ? (float)pairs_solid_angle(p1, p2) : 1;
	}
}

static inline void add_batch(float *restrict sum, const float *restrict v)
{
#pragma omp simd
	for (int l = 0; l < BATCH; l++) sum[l] += v[l];
}

static void clear_column(float *column, int nz)
{
	memset(column, 0, (size_t)(nz + 1) * BATCH * sizeof *column);
}

static void swap_columns(struct batch *b)
{
	float *swap = b->column[0];

	b->column[0] = b->column[1];
	b->column[1] = swap;
}

/* The parts of line l between a node and the next: from done[l] on. */
static bool part_at(const struct batch *b, const int done[BATCH], int l, int node)
{
	return done[l] < b->n[l] && b->part[l][done[l]].node <= node;
}

/* b->sum[n] = integral of mu along line n, as it is in the plane. */
static void integrate(struct batch *b, const struct ratio *r)
{
	const struct stack *s = &r->mu;
	int done[BATCH] = { 0 };
	bool any = false;

	clear_column(b->column[0], s->nz);
	for (int node = 0; node < r->nodes; node++) {
		const int32_t *at = s->at + (int64_t)node * r->pairs;
		bool before = any;

		any = false;
		clear_column(b->column[1], s->nz);
		for (int l = 0; l < BATCH; l++)
			for (; part_at(b, done, l, node); done[l]++, any = true) {
				const struct part *p = b->part[l] + done[l];
				float after = p->after * p->length, here = p->length - after;

				const float *mu = r->column + (int64_t)p->pixel * s->nz;

				for (int z = 0; z < s->nz; z++) {
					b->column[0][z * BATCH + l] += here * mu[z];
					b->column[1][z * BATCH + l] += after * mu[z];
				}
			}
		const float *column = b->column[0];

		for (int n = 0; (any || before) && n < r->pairs; n++)
			add_batch(b->sum + n * BATCH, column + at[n] * BATCH);
		swap_columns(b);
	}
}

/* From integrals to weights: attenuation, efficiencies, and shape (see ray_sens_ring.c), of lines whose
   ends are `l` mm apart in the plane. */
static void weigh(struct batch *b, const struct ratio *r, double l, int64_t first, int n)
{
	double e = r->q->solid_angle ? -1.5 : .5;
	int64_t per_ring = r->q->pairs.per_ring;

	for (int i = 0; i < r->pairs; i++) {
		const struct ring_pair *p = r->pair + i;
		float tilt = (float)(1 + p->dz * p->dz / (l * l)), shape = powf(tilt, (float)e),
		      longer = sqrtf(tilt);

		for (int k = 0; k < BATCH; k++)
			b->sum[i * BATCH + k] = shape * expf(-longer * b->sum[i * BATCH + k]);
		for (int k = 0; r->eff && k < n; k++) {
			int64_t c1, c2;

			pairs_rings(&r->q->pairs, first + k, &c1, &c2);
			b->sum[i * BATCH + k] *=
				(float)(r->eff[p->i * per_ring + c1] * r->eff[p->k * per_ring + c2]);
		}
	}
}

/* column = weights of the lines in each slice at a node. */
static void project(float *column, const struct batch *b, const struct ratio *r, int node)
{
	const int32_t *at = r->image.at + (int64_t)node * r->pairs;

	clear_column(column, r->image.nz);
	for (int n = 0; n < r->pairs; n++) add_batch(column + at[n] * BATCH, b->sum + n * BATCH);
}

/* Into the columns of a part of line l. */
static void deposit_part(struct batch *b, const struct ratio *r, const struct part *p, int l)
{
	int nz = r->image.nz;
	float *with = b->with + (int64_t)p->pixel * nz, *without = b->without + (int64_t)p->pixel * nz;
	const float *plain = b->plain + (int64_t)p->node * (nz + 1), *next = plain + nz + 1;
	const float *column = b->column[0] + l, *after = b->column[1] + l;
	float w1 = b->scale[l] * p->length * p->after, w0 = b->scale[l] * p->length - w1;

	for (int z = 0; z < nz; z++) {
		with[z] += w0 * column[z * BATCH] + w1 * after[z * BATCH];
		without[z] += w0 * plain[z] + w1 * next[z];
	}
}

static void deposit(struct batch *b, const struct ratio *r)
{
	int done[BATCH] = { 0 }, known = -1; /* the node that column[0] belongs to */

	for (int node = 0; node + 1 < r->nodes; node++) {
		bool any = false;

		for (int l = 0; l < BATCH; l++) any |= part_at(b, done, l, node);
		if (!any) continue;
		if (known != node) project(b->column[0], b, r, node);
		project(b->column[1], b, r, node + 1);
		for (int l = 0; l < BATCH; l++)
			for (; part_at(b, done, l, node); done[l]++)
				deposit_part(b, r, b->part[l] + done[l], l);
		swap_columns(b);
		known = node + 1;
	}
}

/* Weights of the lines of one offset in each slice at each node, without mu and eff. */
static void set_plain(struct batch *b, const struct ratio *r, double l)
{
	int nz = r->image.nz;

	memset(b->plain, 0, (size_t)r->nodes * (size_t)(nz + 1) * sizeof *b->plain);
	for (int n = 0; n < r->pairs; n++) {
		double tilt = 1 + r->pair[n].dz * r->pair[n].dz / (l * l);
		float shape = powf((float)tilt, r->q->solid_angle ? -1.5f : .5f);

		for (int64_t node = 0; node < r->nodes; node++)
			b->plain[node * (nz + 1) + r->image.at[node * r->pairs + n]] += shape;
	}
}

static void do_batch(struct batch *b, const struct ratio *r, double l, int64_t first, int n)
{
	memset(b->sum, 0, (size_t)r->pairs * BATCH * sizeof *b->sum);
	if (r->q->mu) {
		set_parts(b, r, &r->mu, first, n);
		integrate(b, r);
	}
	weigh(b, r, l, first, n);
	set_parts(b, r, &r->image, first, n);
	deposit(b, r);
}

/* Offsets group, group + groups, ... */
static void do_group(struct batch *b, iso_ctx *ctx, const struct ratio *r, int group)
{
	const struct iso_pairs *p = &r->q->pairs;

	for (int64_t o = group; o * p->per_ring < p->same && !iso_stopped(ctx); o += r->groups) {
		int64_t first = o * p->per_ring,
			last = first + p->per_ring < p->same ? first + p->per_ring : p->same;
		double p1[3], p2[3], l;
		int64_t c1, c2;

		ends_of(r->q, first, &c1, &c2, p1, p2);
		l = hypot(p2[0] - p1[0], p2[1] - p1[1]);
		set_plain(b, r, l);
		for (int64_t k = first; k < last && !iso_stopped(ctx); k += BATCH)
			do_batch(b, r, l, k, last - k < BATCH ? (int)(last - k) : BATCH);
	}
}

/* ---- all of it ---- */

static int open_batch(struct batch *b, struct iso_room *room, const struct ratio *r)
{
	const struct ray_grid *g = &r->image.plane, *m = &r->mu.plane;
	int64_t image = 3 * ((int64_t)g->n[0] + g->n[1]), mu = 3 * ((int64_t)m->n[0] + m->n[1]);
	int nz = r->image.nz > r->mu.nz ? r->image.nz : r->mu.nz;

	for (int l = 0; l < BATCH; l++) ISO_HOST(room, b->part[l], image > mu ? image : mu);
	ISO_HOST(room, b->sum, (int64_t)r->pairs * BATCH);
	for (int i = 0; i < 2; i++) ISO_HOST(room, b->column[i], (int64_t)(nz + 1) * BATCH);
	ISO_HOST(room, b->plain, (int64_t)r->nodes * (nz + 1));
	ISO_HOST(room, b->with, pixels(&r->image) * r->image.nz);
	ISO_HOST(room, b->without, pixels(&r->image) * r->image.nz);
	return room->status;
}

/* s[v] *= the ratio, between the middles of slices. */
static void multiply(iso_real *s, iso_ctx *ctx, const struct ratio *r, const struct batch *b)
{
	const struct ray_grid *g = &r->q->grid;
	int64_t n = pixels(&r->image), nz = r->image.nz;

#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < n; i++)
		for (int z = 0; z < g->n[2]; z++) {
			struct ray_between at =
				ray_interpolate((iso_real)((z + .5) * g->voxel[2] / r->image.thick), (int)nz);
			double with = 0, without = 0;

			for (int k = 0; k < r->groups; k++) {
				const float *w = b[k].with + i * nz, *o = b[k].without + i * nz;

				with += (1 - at.upper) * w[at.low] + at.upper * w[at.high];
				without += (1 - at.upper) * o[at.low] + at.upper * o[at.high];
			}
			s[z * n + i] *= (iso_real)(without > 0 ? with / without : 0);
		}
}

int iso_ray_sens_ratio(iso_real *s, iso_ctx *ctx, const struct ray_sens *q)
{
	struct iso_room room = { .ctx = ctx, .what = "sensitivity" };
	struct ratio r = { .q = NULL };
	struct batch *b = NULL;
	int done = 0, st = prepare(&r, &room, q);

	if (!st) ISO_HOST(&room, b, r.groups);
	for (int g = 0; g < r.groups && !room.status; g++) open_batch(b + g, &room, &r);
	if (!(st = room.status)) {
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
		for (int g = 0; g < r.groups; g++) {
			int behind;

			do_group(b + g, ctx, &r, g);
#pragma omp atomic capture
			behind = ++done;
			if (omp_get_thread_num() == 0) /* the caller's thread */
				ray_sens_step(q, behind / (double)r.groups);
		}
		if (!(st = iso_ctx_poll(ctx))) {
			ray_sens_step(q, 1);
			multiply(s, ctx, &r, b);
		}
	}
	iso_room_free(&room);
	return st;
}
