/* SPDX-License-Identifier: BSD-3-Clause */
/* Sensitivity of a cylinder from all crystal pairs, by its equal rings: lines in the plane are traced, with
   tables in place of the rings (ray_rings.h), and means of attenuation and efficiencies (ray_means.h). */
#include "ray_means.h"
#include "core/comm.h"

#define SLICES 16       /* of a task */
#define GROUPS 8        /* of offsets: a sum each, so that threads do not show in it */
#define MOST_BYTES 1e9  /* of the sums of all tasks at work */
#define MEANS_BYTES 2e8 /* of the means of a round */
/* Lines between rings, with means, and bytes of a sheet, as far as rings need not be taken together */
#define LINES_CPU 2e8
#define LINES_CUDA 1e9
#define SHEET_BYTES 400000

struct job {
	iso_ctx *ctx;
	const struct ray_sens *q;
	const struct ray_rings *r;
	const struct ray_means *m; /* NULL: none */
	struct means_work *work;
	float *mean; /* of the pairs of the round */
	struct means_round round;
};

/* ---- lines in the plane ---- */

/* Slices z0 .. z0 + n of the table of a kind of lines at an offset: (RINGS_STEPS + 1, SLICES). */
static void table_at(float *dst, const struct ray_rings *r, int kind, int64_t offset, int z0, int n)
{
	double share[4];
	int first = rings_between(r, r->apart[offset], share) + kind * RINGS_NODES;

	for (int64_t m = 0; m <= RINGS_STEPS; m++)
		for (int j = 0; j < n; j++) {
			double sum = 0;

			for (int i = 0; i < 4; i++)
				sum += share[i] * (double)r->table[((first + i) * (int64_t)(RINGS_STEPS + 1) +
				                                    m) * r->nz +
				                                   z0 + j];
			dst[m * SLICES + j] = (float)sum;
		}
}

/* column[0 .. SLICES) at t. */
static void column_at(float *column, const float *table, double t)
{
	float beyond;
	const float *low = table + (int64_t)rings_step(t, &beyond) * SLICES;

	for (int j = 0; j < SLICES; j++) column[j] = iso_fma(beyond, low[j + SLICES] - low[j], low[j]);
}

/* The means of a pair at t. */
static const float *mean_at(const struct ray_means *m, const float *mean, double t)
{
	return mean + (int64_t)means_cell(m, t) * m->stride;
}

/* v += scale |to - from|, times the mean at t. */
static inline void add_part(float *restrict v, const float *restrict to, const float *restrict from,
                            float scale, const float *restrict mean)
{
	if (mean)
		for (int j = 0; j < SLICES; j++)
			v[j] = iso_fma(scale * mean[j], fabsf(to[j] - from[j]), v[j]);
	else
		for (int j = 0; j < SLICES; j++) v[j] = iso_fma(scale, fabsf(to[j] - from[j]), v[j]);
}

/* A line on its way: where it is, and the table there. */
struct way {
	const float *table, *mean; /* mean: of its kind and pair; NULL: 1 */
	double t;
	float column[2][SLICES];
	int now; /* which of the two */
};

/* v += what is left from way->t to t, cell by cell: in each the mean is that of the lines there. */
static void go_to(struct way *way, float *v, const struct job *b, double t, float scale)
{
	int cell = b->m ? means_cell(b->m, way->t) : 0, last = b->m ? means_cell(b->m, t) : 0;
	int up = last < cell ? -1 : 1;

	for (;; cell += up) {
		double to = cell == last ? t : (double)(up > 0 ? cell + 1 : cell) / b->m->cells;

		column_at(way->column[!way->now], way->table, to);
		add_part(v, way->column[!way->now], way->column[way->now], scale,
		         way->mean ? way->mean + (int64_t)cell * b->m->stride : NULL);
		way->now = !way->now;
		if (cell == last) break;
	}
	way->t = t;
}

/* sum (pixels, SLICES) += what the lines of a pair leave. mean: of the pair; NULL: 1. */
static void trace_chords(float *sum, const struct job *b, const struct rings_line *l, const float *table,
                         const float *mean)
{
	struct way way = { .table = table, .mean = mean, .t = rings_t(l, (double)l->ray.x0) };

	column_at(way.column[way.now], table, way.t);
	for (int k = l->ray.k0; k < l->ray.k1; k++) {
		struct ray_cut cut = ray_cut_slice(&l->ray, k);

		for (int i = 0; i < 3; i++)
			if (cut.x[i + 1] > cut.x[i])
				go_to(&way, sum + (int64_t)cut.voxel[i] * SLICES, b,
				      rings_t(l, (double)cut.x[i + 1]), l->scale);
	}
}

static void trace_samples(float *sum, const struct job *b, const struct rings_line *l, const float *table,
                          const float *mean)
{
	const struct ray *ray = &l->ray;

	for (int k = ray->k0; k < ray->k1; k++) {
		struct ray_sample s = ray_sample_slice(ray, k);
		double x0 = fmax(k, (double)ray->x0), x1 = fmax(x0, fmin(k + 1, (double)ray->x1));
		double t = rings_t(l, .5 * (x0 + x1));
		float scale = l->scale * (float)((x1 - x0) * fabs(l->per_x)), column[SLICES];

		column_at(column, table, t);
		const float *at = mean ? mean_at(b->m, mean, t) : NULL;

		for (int j = 0; at && j < SLICES; j++) column[j] *= at[j];
		for (int i = 0; i < 2; i++) { /* the plane has one slice: the other two have no share */
			float *v = sum + (int64_t)s.voxel[i] * SLICES, w = scale * (float)s.share[i];

			for (int j = 0; j < SLICES; j++) v[j] += w * column[j];
		}
	}
}

/* ---- tasks ---- */

/* Lines of a kind of the pairs of offset o, in slices from z0 on. */
static void do_offset(float *sum, const float *table, const struct job *b, int z0, int64_t o, int kind)
{
	const struct ray_rings *r = b->r;
	int64_t first = rings_first(r, o), end = first + rings_count(r, o),
		before = rings_first(r, b->round.o0);

	for (int64_t k = first; k < end && !iso_stopped(b->ctx); k++) {
		struct rings_line l = rings_line(r, k, kind);
		const float *mean =
			b->m ? b->mean + means_place(b->m, &b->round, k, before, kind) + z0 : NULL;

		if (l.ray.k0 >= l.ray.k1) continue;
		if (r->projector == ISO_JOSEPH)
			trace_samples(sum, b, &l, table, mean);
		else
			trace_chords(sum, b, &l, table, mean);
	}
}

/* Slices z0 .. z0 + n, from the offsets of the round that are of the group, by its kinds of lines. */
static void do_task(float *sum, float *table, const struct job *b, int z0, int n, int group)
{
	for (int64_t o = b->round.o0; o < b->round.o1; o++) {
		if (o % GROUPS != group) continue;
		for (int kind = b->round.k0; kind < b->round.k1; kind++) {
			table_at(table, b->r, kind, o, z0, n);
			do_offset(sum, table, b, z0, o, kind);
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

/* ---- rounds ---- */

/* What is done at a time: so many slices, and offsets if there are means. */
struct sizes {
	int slices, tasks;
	int64_t task;             /* floats of a task: table and sums */
	struct means_round round; /* of offsets and kinds of lines, at most */
};

/* Means are made again for other slices: there all slices, if they fit. */
static struct sizes choose_sizes(const iso_ctx *ctx, const struct ray_sens *q, const struct ray_means *m)
{
	double bytes = fmin(MOST_BYTES, (double)iso_ctx_host_memory(ctx) / 4);
	double most = bytes / (4. * q->grid.n[0] * q->grid.n[1] * SLICES * GROUPS);
	int all = (q->grid.n[2] + SLICES - 1) / SLICES,
	    wanted = m ? all : 2 * ctx->threads * iso_ranks(ctx) / GROUPS + 1;
	int chunks = (int)fmax(1, fmin(fmin(all, wanted), most));
	struct sizes s = { .slices = SLICES * chunks,
		           .tasks = chunks * GROUPS,
		           .round = { 0, rings_offsets(q), 0, rings_kinds(q) } };

	s.task = ((int64_t)(RINGS_STEPS + 1) + (int64_t)q->grid.n[0] * q->grid.n[1]) * SLICES;
	if (m) s.round = means_at_once(m, q, fmin(MEANS_BYTES, bytes), 0);
	return s;
}

static int chunks_of(int z0, int z1)
{
	return (z1 - z0 + SLICES - 1) / SLICES;
}

/* Adds the offsets of the round to the sums of slices z0 .. z1, as far as this rank has the tasks. These are in the order of
   groups, so that a rank needs the means of few of them. */
static void do_round(float *memory, const struct job *b, const struct sizes *s, int z0, int z1)
{
	int chunks = chunks_of(z0, z1);
	struct iso_rows mine = iso_share(b->ctx, (int64_t)chunks * GROUPS);
	unsigned groups = 0;

	for (int64_t i = mine.first; i < mine.first + mine.n; i++) groups |= 1u << i / chunks;
	if (b->m) iso_means_fill(b->mean, b->work, b->round, GROUPS, groups);
#pragma omp parallel for num_threads(b->ctx->threads) schedule(dynamic)
	for (int64_t i = mine.first; i < mine.first + mine.n; i++) {
		float *own = memory + i * s->task;
		int z = z0 + (int)(i % chunks) * SLICES, n = z1 - z < SLICES ? z1 - z : SLICES;

		do_task(own + (RINGS_STEPS + 1) * SLICES, own, b, z, n, (int)(i / chunks));
	}
}

/* All offsets, as many as go at a time, by the kinds of lines of b->round: sums are in the order of offsets, whatever
   goes at a time. */
static int do_kinds(float *memory, struct job *b, const struct sizes *by, int z0, int z1)
{
	double kinds = b->r->kinds, nz = b->q->grid.n[2];
	int64_t offsets = b->r->offsets;
	int st = ISO_OK;

	for (int64_t o = 0; o < offsets && !st; o = b->round.o1) {
		b->round.o0 = o;
		b->round.o1 = offsets - o < by->round.o1 ? offsets : o + by->round.o1;
		do_round(memory, b, by, z0, z1);
		st = iso_ctx_poll(b->ctx);
		double some = (double)b->round.o1 / (double)offsets * (b->round.k1 - b->round.k0);

		ray_sens_step(b->q, (z0 + (b->round.k0 + some) / kinds * (z1 - z0)) / nz);
	}
	return st;
}

/* s of slices z0 .. z1. */
static int do_slices(iso_real *s, float *memory, struct job *b, const struct sizes *by, int z0, int z1)
{
	const struct ray_grid *g = &b->q->grid;
	int64_t pixels = (int64_t)g->n[0] * g->n[1], table = (RINGS_STEPS + 1) * SLICES;
	int chunks = chunks_of(z0, z1), st = ISO_OK;

	memset(memory, 0, (size_t)(by->tasks * by->task) * sizeof *memory);
	for (b->round.k0 = 0; b->round.k0 < b->r->kinds && !st; b->round.k0 = b->round.k1) {
		b->round.k1 = b->round.k0 + by->round.k1;
		st = do_kinds(memory, b, by, z0, z1);
	}
	st = iso_comm_gather(b->ctx, st, memory, (int64_t)chunks * GROUPS,
	                     by->task * (int64_t)sizeof *memory);
#pragma omp parallel for num_threads(b->ctx->threads)
	for (int z = z0; z < (st ? z0 : z1); z += SLICES)
		leave(s, memory + (z - z0) / SLICES * by->task + table, chunks * by->task, pixels, z,
		      z1 - z < SLICES ? z1 - z : SLICES);
	return st;
}

/* Slices that all ranks have room for at a time. */
static int agree_on_slices(struct sizes *s, iso_ctx *ctx)
{
	double slices = -s->slices;
	int st = iso_comm_max(ctx, ISO_OK, &slices, 1);

	s->slices = -(int)slices;
	s->tasks = s->slices / SLICES * GROUPS;
	return st;
}

static int64_t means_of_round(const struct ray_sens *q, const struct ray_means *m, struct means_round w)
{
	return w.o1 * w.k1 * q->pairs.per_ring * means_size(m);
}

static int on_cpu(iso_real *s, struct iso_room *room, struct job *b)
{
	struct sizes by = choose_sizes(b->ctx, b->q, b->m);
	int nz = b->q->grid.n[2], st = agree_on_slices(&by, b->ctx);
	float *memory;

	if (st) return st;

	ISO_HOST(room, memory, by.tasks * by.task);
	if (b->m) {
		ISO_HOST(room, b->mean, means_of_round(b->q, b->m, by.round));
		iso_means_open(&b->work, room, b->m, b->r, by.round);
	}
	st = iso_comm_agree(b->ctx, room->status);
	for (int z = 0; z < nz && !st; z += by.slices)
		st = do_slices(s, memory, b, &by, z, nz - z < by.slices ? nz : z + by.slices);
	return st;
}

/* ---- all of it ---- */

static int shape(struct ray_means *m, const iso_ctx *ctx, const struct ray_sens *q)
{
	double lines = iso_ctx_is_cuda(ctx) ? LINES_CUDA : LINES_CPU;
	int64_t bytes = SHEET_BYTES;
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(ctx) ? iso_cuda_symbol(&cuda, ISO_RAY_SHEET_CUDA) : ISO_OK;

	if (cuda) bytes = ((iso_ray_sheet_fn)cuda)(ctx);
	*m = iso_means_shape(q, lines, bytes);
	return st;
}

int iso_ray_sens_rings(iso_real *s, iso_ctx *ctx, const struct ray_sens *q)
{
	struct iso_room room = { .ctx = ctx, .what = "sensitivity" };
	struct ray_rings r;
	struct ray_means m;
	struct job b = { .ctx = ctx, .q = q, .r = &r };
	void *cuda = NULL;
	int st = iso_ctx_is_cuda(ctx) ? iso_cuda_symbol(&cuda, ISO_RAY_RINGS_CUDA) : ISO_OK;

	if (!st) st = iso_rings_create(&r, &room, q);
	if (!st && (q->eff || q->mu)) {
		b.m = &m;
		if (!(st = shape(&m, ctx, q))) st = iso_means_create(&m, &room, q);
	}
	st = iso_comm_agree(ctx, st);
	if (!st) st = cuda ? ((iso_ray_rings_fn)cuda)(s, ctx, q, &r, b.m) : on_cpu(s, &room, &b);
	iso_room_free(&room);
	return st;
}

static void plan_cuda(struct iso_plan *plan, const struct ray_sens *q, const struct ray_means *m)
{
	struct means_round w = means_batch(q, m);
	int64_t means = m ? w.o1 * w.k1 * means_floats(m, &q->pairs) : 0;

	iso_plan_add(plan, "lines between rings, as tables", RINGS_NODES * means_table(q), sizeof(float),
	             true);
	iso_plan_add(plan, "lines between rings, of some offsets", w.o1 * means_table(q) + means,
	             sizeof(float), true);
	iso_plan_add(plan, "sensitivity, fixed point", ray_voxels(&q->grid), 8 + sizeof(iso_real), true);
}

void iso_ray_sens_rings_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct ray_sens *q)
{
	bool means = q->eff || q->mu;
	struct ray_means m = { 0 };

	iso_rings_plan(plan, ctx, q);
	if (means && shape(&m, ctx, q)) return; /* iso_ray_sens will say why */
	if (means) iso_means_plan(plan, &m, q);
	if (iso_ctx_is_cuda(ctx)) {
		plan_cuda(plan, q, means ? &m : NULL);
		return;
	}
	struct sizes s = choose_sizes(ctx, q, means ? &m : NULL);

	iso_plan_add(plan, "sensitivity, as sums of tasks", s.tasks * s.task, sizeof(float), false);
	if (means) {
		iso_plan_add(plan, "means over lines between rings", means_of_round(q, &m, s.round),
		             sizeof(float), false);
		iso_means_open_plan(plan, ctx, &m, q, s.round);
	}
}
