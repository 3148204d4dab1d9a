/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of taps from the rows of a system matrix: see srm_stream.h. Each group of directions
   (forward) or of voxels (adjoint) makes a piece of its own, side by side; the pieces are then put
   together in a fixed order. */
#include "srm_stream.h"
#include "srm.h"
#include "core/size.h"

#include <stdlib.h>
#include <string.h>

enum {
	THREADS_FORWARD = 256,
	BINS = 8,		/* directions along z of one job of the adjoint */
	BLOCKS = 9600,		/* of the adjoint: enough to keep a GPU busy */
	SLICES = 12,		/* at most */
};

/* ---- arrays that grow ---- */

struct pool {
	char *v;
	int64_t n, room, size;
};

static bool pool_add(struct pool *p, const void *items, int64_t n)
{
	if (p->n + n > p->room) {
		int64_t room = 2 * p->room + n + 64;
		char *v = realloc(p->v, (size_t)(room * p->size));

		if (!v)
			return false;
		p->v = v;
		p->room = room;
	}
	if (n)
		memcpy(p->v + p->n * p->size, items, (size_t)(n * p->size));
	p->n += n;
	return true;
}

/* ---- a piece: what one thread makes ---- */

enum { BLOCK, JOB, PART, NEAR, FAR, WEIGHT, POOLS };

struct tap {
	uint64_t key;		/* of its run, and in the lowest bits its place along x */
	int lane;
	float w;
};

/* A run before it is known to be near or far. */
struct run {
	struct stream_far at;
	float w[STREAM_RUN][STREAM_LANES];
};

struct piece {
	struct pool pool[POOLS];
	struct pool tap;			/* of the part in the making */
	struct pool whole;			/* adjoint: jobs not yet cut into tiles */
	struct pool run[STREAM_RUN];		/* by length */
	uint64_t *sorted;
	int64_t room;
	int64_t useful;
	bool full;				/* out of memory */
};

static void piece_open(struct piece *p)
{
	static const int64_t size[POOLS] = {
		sizeof(struct stream_block), sizeof(struct stream_job), sizeof(struct stream_part),
		sizeof(int32_t), sizeof(struct stream_far), sizeof(float[STREAM_LANES]),
	};

	for (int i = 0; i < POOLS; i++)
		p->pool[i].size = size[i];
	p->tap.size = sizeof(struct tap);
	p->whole.size = sizeof(struct stream_job);
	for (int n = 0; n < STREAM_RUN; n++)
		p->run[n].size = sizeof(struct run);
}

static void piece_rest(struct piece *p)
{
	free(p->tap.v);
	free(p->whole.v);
	free(p->sorted);
	p->tap.v = NULL;
	p->whole.v = NULL;
	p->sorted = NULL;
	for (int n = 0; n < STREAM_RUN; n++) {
		free(p->run[n].v);
		p->run[n].v = NULL;
	}
}

static void piece_free(struct piece *p)
{
	piece_rest(p);
	for (int i = 0; i < POOLS; i++)
		free(p->pool[i].v);
}

static void add(struct piece *p, int pool, const void *item)
{
	p->full |= !pool_add(&p->pool[pool], item, 1);
}

/* ---- from taps to runs ---- */

/* Those of a direction in a plane. */
struct taps {
	int64_t n;
	const struct iso_srm_voxel *voxel;
	const iso_real *w;
};

static struct taps taps_of(const struct srm_op *m, const struct iso_srm_rows *taps,
			   const struct srm_direction *d, int y)
{
	const struct iso_srm_rows *r = &taps[d->a * m->shape.layers + d->b];
	const int64_t *ptr = r->ptr + y * r->directions + d->number;

	return (struct taps){ ptr[1] - ptr[0], r->voxel + ptr[0], r->w + ptr[0] };
}

enum { X_BITS = 15, Z_BITS = 17, KEY_BITS = 40 };

static int floor_of(int a, int d)
{
	return a >= 0 ? a / d : -((d - 1 - a) / d);
}

static uint64_t key_of(uint64_t list, int z, int x)
{
	return (((list << Z_BITS) + (uint64_t)(z + (1 << (Z_BITS - 1)))) << X_BITS) +
	       (uint64_t)(x + (1 << (X_BITS - 1)));
}

static int key_x(uint64_t key)
{
	return (int)(key & ((1 << X_BITS) - 1)) - (1 << (X_BITS - 1));
}

static int key_z(uint64_t key)
{
	return (int)(key >> X_BITS & ((1 << Z_BITS) - 1)) - (1 << (Z_BITS - 1));
}

static uint64_t key_list(uint64_t key)
{
	return key >> (X_BITS + Z_BITS);
}

static bool sort_taps(struct piece *p)
{
	const struct tap *tap = (const struct tap *)p->tap.v;
	int64_t n = p->tap.n;

	if (n == 0)
		return true;
	if (p->room < n) {
		free(p->sorted);
		p->room = 2 * n;
		p->sorted = malloc((size_t)p->room * 2 * sizeof *p->sorted);
	}
	if (!p->sorted) {
		p->room = 0;
		return false;
	}
	for (int64_t i = 0; i < n; i++)
		p->sorted[i] = (uint64_t)i << KEY_BITS | tap[i].key;
	iso_srm_sort(p->sorted, p->sorted + p->room, n, KEY_BITS);
	return true;
}

/* Taps whose places along x are less than STREAM_RUN apart make a run; holes weigh 0. `where` gives
   the run's place from the key of its first tap. */
static void make_runs(struct piece *p, struct stream_far (*where)(const void *, uint64_t),
		      const void *arg)
{
	const struct tap *tap = (const struct tap *)p->tap.v;

	if (p->full || !sort_taps(p)) {
		p->full = true;
		return;
	}
	for (int64_t i = 0; i < p->tap.n;) {
		uint64_t mask = ((uint64_t)1 << KEY_BITS) - 1, first = p->sorted[i] & mask;
		struct run r = { where(arg, first), { { 0 } } };
		int length = 0;

		for (; i < p->tap.n && (p->sorted[i] & mask) - first < STREAM_RUN; i++) {
			const struct tap *t = &tap[p->sorted[i] >> KEY_BITS];

			length = (int)((p->sorted[i] & mask) - first) + 1;
			r.w[length - 1][t->lane] += t->w;
		}
		p->full |= !pool_add(&p->run[length - 1], &r, 1);
	}
	p->tap.n = 0;
}

/* ---- from runs to a part ---- */

/* Whether the run's values lie in the plane or its margins for threads at all places of the job. */
static bool is_near(const struct stream_far *r, const struct stream_job *j)
{
	return j->x0 + r->x >= -STREAM_MARGIN_X && j->x0 + j->nx - 1 + r->x <= r->nx + STREAM_SPARE &&
	       j->z0 + r->z >= -STREAM_MARGIN_Z && j->z0 + j->nz - 1 + r->z < r->nz + STREAM_MARGIN_Z;
}

static void close_part(struct piece *p, const struct stream_job *j, int pitch)
{
	struct stream_part part = { .weight = p->pool[WEIGHT].n };

	for (int far = 0; far < 2; far++) {
		int32_t *start = far ? part.far : part.near;
		struct pool *to = &p->pool[far ? FAR : NEAR];

		for (int n = 0; n < STREAM_RUN; n++) {
			const struct run *run = (const struct run *)p->run[n].v;

			start[n] = (int32_t)to->n;
			for (int64_t i = 0; i < p->run[n].n; i++) {
				const struct stream_far *at = &run[i].at;
				int32_t distance = at->base + at->x * pitch + at->z;

				if (is_near(at, j) == (far == 1))
					continue;
				p->full |= !pool_add(to, far ? (const void *)at : &distance, 1);
				p->full |= !pool_add(&p->pool[WEIGHT], run[i].w, n + 1);
			}
		}
		start[STREAM_RUN] = (int32_t)to->n;
	}
	for (int n = 0; n < STREAM_RUN; n++)
		p->run[n].n = 0;
	add(p, PART, &part);
}

/* Rows a thread that waste least; a thread costs about two more than its rows. */
static int best_rows(int nx)
{
	int best = STREAM_ROWS, least = INT32_MAX;

	for (int rows = STREAM_ROWS; rows >= STREAM_FEW; rows--) {
		int cost = (nx + rows - 1) / rows * (rows + 2);

		if (cost < least) {
			least = cost;
			best = rows;
		}
	}
	return best;
}

static int threads_of(const struct stream_job *j)
{
	return (j->nx + j->rows - 1) / j->rows * j->nz;
}

/* ---- forward: four neighbouring directions and half the planes a job ---- */

struct forward {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	const struct stream_layout *l;
	int y;
};

/* Directions j, j + 1, ... of a group: neighbours along z in one subset. */
static int group_size(const struct srm_op *m, int j)
{
	const struct srm_direction *d = m->direction;
	int n = 1;

	while (n < STREAM_LANES && j + n < m->n_direction && d[j + n].subset == d[j].subset &&
	       d[j + n].a == d[j].a && d[j + n].b == d[j].b && d[j + n].dx == d[j].dx &&
	       d[j + n].dz == d[j].dz + n)
		n++;
	return n;
}

/* Where counting begins: the upper crystal, or for planes of the lower half the lower one. */
static int origin(const struct srm_direction *d, bool lower, int axis)
{
	return lower ? (axis ? d->dz : d->dx) : 0;
}

static struct stream_far forward_place(const void *arg, uint64_t key)
{
	const struct forward *f = arg;
	const int *d = f->m->shape.d, *nc = f->m->shape.nc;
	int phase = (int)key_list(key), k = key_z(key), z = floor_of(k, d[1]);
	int64_t plane = ((int64_t)f->y * d[0] + phase) * d[1] + (k - z * d[1]);

	return (struct stream_far){
		(int32_t)((plane * f->l->rows + STREAM_MARGIN_X) * f->l->pitch + STREAM_MARGIN_Z),
		(int16_t)key_x(key), (int16_t)z, (int16_t)nc[0], (int16_t)nc[1], 0,
	};
}

static void forward_taps(struct piece *p, const struct forward *f, const struct srm_direction *d,
			 int lane, bool lower)
{
	struct taps t = taps_of(f->m, f->taps, d, f->y);
	const int *phases = f->m->shape.d;

	p->useful += t.n * d->nx * d->nz;
	for (int64_t n = 0; n < t.n; n++) {
		int i = t.voxel[n].i - phases[0] * origin(d, lower, 0), x = floor_of(i, phases[0]);
		int k = t.voxel[n].k - phases[1] * origin(d, lower, 1);
		struct tap tap = { key_of((uint64_t)(i - x * phases[0]), k, x), lane, (float)t.w[n] };

		p->full |= !pool_add(&p->tap, &tap, 1);
	}
}

static void widen(int16_t *x0, int16_t *n, int from, int size)
{
	int end = *n && *x0 + *n > from + size ? *x0 + *n : from + size;

	*x0 = (int16_t)(*n && *x0 < from ? *x0 : from);
	*n = (int16_t)(end - *x0);
}

static void forward_job(struct piece *p, struct forward *f, const struct srm_direction *d, int n,
			bool lower)
{
	struct stream_job j = { .part = (int32_t)p->pool[PART].n };
	struct stream_block b = { .job = (int32_t)p->pool[JOB].n, .n_job = 1, .slice = lower };
	int planes = f->m->shape.planes, middle = planes / 2;

	for (int i = 0; i < n; i++) {
		b.out[i] = (struct stream_out){
			d[i].first, d[i].nz, 1, (int16_t)(d[i].x0 + origin(&d[i], lower, 0)),
			(int16_t)d[i].nx, (int16_t)(d[i].z0 + origin(&d[i], lower, 1)), (int16_t)d[i].nz,
		};
		widen(&j.x0, &j.nx, b.out[i].x0, d[i].nx);
		widen(&j.z0, &j.nz, b.out[i].z0, d[i].nz);
	}
	j.rows = best_rows(j.nx);
	for (f->y = lower ? 0 : middle; f->y < (lower ? middle : planes); f->y++) {
		for (int i = 0; i < n; i++)
			forward_taps(p, f, &d[i], i, lower);
		make_runs(p, forward_place, f);
		close_part(p, &j, f->l->pitch);
	}
	j.n_part = (int32_t)p->pool[PART].n - j.part;
	add(p, JOB, &j);
	for (; b.first < threads_of(&j); b.first += THREADS_FORWARD)
		add(p, BLOCK, &b);
}

/* ---- adjoint: the phases px of one plane and pz ---- */

struct adjoint {
	const struct srm_op *m;
	const struct iso_srm_rows *taps;
	const struct stream_layout *l;
	const struct srm_direction *first;	/* of the job's directions */
	bool lower;
};

/* Run of places q, q - 1, ...: read from s - q upwards. */
static struct stream_far adjoint_place(const void *arg, uint64_t key)
{
	const struct adjoint *f = arg;
	const struct srm_direction *d = f->first + key_list(key);

	return (struct stream_far){
		(int32_t)f->l->direction[d - f->m->direction],
		(int16_t)(key_x(key) - d->x0 - origin(d, f->lower, 0)),
		(int16_t)(-key_z(key) - d->z0 - origin(d, f->lower, 1)), (int16_t)d->nx, (int16_t)d->nz, 0,
	};
}

/* A column of blocks: a plane, a phase along z, and the first of four along x. */
struct place {
	int y, px, pz;
};

static void adjoint_taps(struct piece *p, const struct adjoint *f, const struct srm_direction *d,
			 const struct place *at)
{
	struct taps t = taps_of(f->m, f->taps, d, at->y);
	const int *phases = f->m->shape.d;

	for (int64_t n = 0; n < t.n; n++) {
		int i = t.voxel[n].i - phases[0] * origin(d, f->lower, 0), x = floor_of(i, phases[0]);
		int k = t.voxel[n].k - phases[1] * origin(d, f->lower, 1), z = floor_of(k, phases[1]);
		int lane = i - x * phases[0] - at->px;

		if (k - z * phases[1] != at->pz || lane < 0 || lane >= STREAM_LANES)
			continue;
		struct tap tap = { key_of((uint64_t)(d - f->first), z, -x), lane, (float)t.w[n] };

		p->useful += (int64_t)d->nx * d->nz;
		p->full |= !pool_add(&p->tap, &tap, 1);
	}
}

/* The part of the box of places from x0, z0 to before x1, z1 that lies in another, as a job. */
static struct stream_job common(const struct stream_job *j, int x0, int nx, int z0, int nz)
{
	int x1 = j->x0 + j->nx < x0 + nx ? j->x0 + j->nx : x0 + nx;
	int z1 = j->z0 + j->nz < z0 + nz ? j->z0 + j->nz : z0 + nz;
	struct stream_job r = *j;

	r.x0 = (int16_t)(j->x0 > x0 ? j->x0 : x0);
	r.z0 = (int16_t)(j->z0 > z0 ? j->z0 : z0);
	r.nx = (int16_t)(x1 > r.x0 && z1 > r.z0 ? x1 - r.x0 : 0);
	r.nz = (int16_t)(z1 - r.z0);
	r.rows = best_rows(r.nx);
	return r;
}

/* Places of the image that any run reaches. */
static struct stream_job reached(const struct piece *p, const int nc[2])
{
	struct stream_job j = { (int32_t)p->pool[PART].n, 1, 0, 0, 0, 0, 0 };

	for (int n = 0; n < STREAM_RUN; n++)
		for (int64_t i = 0; i < p->run[n].n; i++) {
			const struct stream_far *r = &((const struct run *)p->run[n].v)[i].at;

			widen(&j.x0, &j.nx, -r->x - n, r->nx + n);
			widen(&j.z0, &j.nz, -r->z, r->nz);
		}
	return common(&j, 0, nc[0], 0, nc[1]);
}

/* Directions j ... of a job of the adjoint: as group_size, but up to BINS of them. */
static int bin_size(const struct srm_op *m, int j, int end)
{
	int n = group_size(m, j);

	while (n % STREAM_LANES == 0 && n < BINS && j + n < end && m->direction[j + n].dz ==
	       m->direction[j].dz + n && m->direction[j + n].dx == m->direction[j].dx &&
	       m->direction[j + n].a == m->direction[j].a && m->direction[j + n].b == m->direction[j].b)
		n += group_size(m, j + n);
	return n;
}

/* One part for each bin of directions of a slice, into which bins are dealt in turn; p->whole gets
   their jobs, for the whole image. */
static void adjoint_parts(struct piece *p, struct adjoint *f, const struct place *at,
			  const int range[2], int slice, int slices)
{
	int bin = 0;

	p->whole.n = 0;
	for (int j = range[0], n; j < range[1]; j += n, bin++) {
		n = bin_size(f->m, j, range[1]);
		if (bin % slices != slice)
			continue;
		f->first = f->m->direction + j;
		for (int i = 0; i < n; i++)
			adjoint_taps(p, f, f->first + i, at);
		make_runs(p, adjoint_place, f);

		struct stream_job job = reached(p, f->m->shape.nc);

		if (job.nx) {
			close_part(p, &job, f->l->pitch);
			p->full |= !pool_add(&p->whole, &job, 1);
		}
		for (int i = 0; i < STREAM_RUN; i++)
			p->run[i].n = 0;
	}
}

/* What the parts give to one tile. */
static void adjoint_block(struct piece *p, struct stream_block *b)
{
	const struct stream_job *whole = (const struct stream_job *)p->whole.v;

	b->job = (int32_t)p->pool[JOB].n;
	for (int64_t i = 0; i < p->whole.n; i++) {
		struct stream_job job = common(&whole[i], b->x0, b->nx, b->z0, b->nz);

		if (job.nx)
			add(p, JOB, &job);
	}
	b->n_job = (int32_t)p->pool[JOB].n - b->job;
	add(p, BLOCK, b);
}

/* Tiles of rows that shared memory holds. */
static int tiles_of(const struct srm_op *m)
{
	int rows = STREAM_TILE / (m->shape.nc[1] * STREAM_LANES * (int)sizeof(float));

	return rows > 0 ? (m->shape.nc[0] + rows - 1) / rows : m->shape.nc[0];
}

static struct place place_of(const struct srm_op *m, int64_t column)
{
	int quads = (m->shape.d[0] + STREAM_LANES - 1) / STREAM_LANES;

	return (struct place){ (int)(column / quads / m->shape.d[1]),
			       (int)(column % quads) * STREAM_LANES,
			       (int)(column / quads % m->shape.d[1]) };
}

/* All slices and tiles of a column, for one subset. */
static void adjoint_column(struct piece *p, struct adjoint *f, int64_t column, const int range[2],
			   int slices)
{
	const int *nc = f->m->shape.nc, *d = f->m->shape.d, planes = f->m->shape.planes;
	int tiles = tiles_of(f->m), tile = (nc[0] + tiles - 1) / tiles;
	struct stream_block b = { .nz = (int16_t)nc[1] };
	struct place at = place_of(f->m, column);
	int64_t nx = (int64_t)nc[0] * d[0];

	f->lower = at.y < planes / 2;
	for (int i = 0; i < STREAM_LANES && at.px + i < d[0]; i++)
		b.out[i] = (struct stream_out){ ((int64_t)at.pz * planes + at.y) * nx + at.px + i, d[0],
						(int32_t)(d[1] * planes * nx), 0, (int16_t)nc[0], 0,
						(int16_t)nc[1] };
	for (b.slice = 0; b.slice < slices; b.slice++) {
		adjoint_parts(p, f, &at, range, b.slice, slices);
		for (int x = 0; x < nc[0]; x += tile) {
			b.x0 = (int16_t)x;
			b.nx = (int16_t)(nc[0] - x < tile ? nc[0] - x : tile);
			adjoint_block(p, &b);
		}
	}
}

/* ---- putting pieces together ---- */

static void move_starts(struct stream_part *part, int64_t near, int64_t far, int64_t weight)
{
	for (int n = 0; n <= STREAM_RUN; n++) {
		part->near[n] += (int32_t)near;
		part->far[n] += (int32_t)far;
	}
	part->weight += weight;
}

/* Weights of a job times its places, as whole warps carry them out. */
static int64_t work_of(const struct srm_stream *s, const struct stream_job *j, int threads)
{
	int64_t weights = s->part[j->part + j->n_part].weight - s->part[j->part].weight;

	return weights * ((threads + 31) / 32 * 32) * j->rows;
}

static int by_work(const void *a, const void *b)
{
	const struct stream_block *x = a, *y = b;

	return (x->work < y->work) - (x->work > y->work);
}

static void measure_block(struct srm_stream *s, struct stream_block *b)
{
	b->work = 0;
	for (int i = 0; i < b->n_job; i++) {
		const struct stream_job *j = &s->job[b->job + i];
		int threads = threads_of(j) - b->first;

		if (b->n_job == 1 && threads > THREADS_FORWARD)
			threads = THREADS_FORWARD;
		b->work += work_of(s, j, threads);
	}
	s->done += b->work * STREAM_LANES;

	int tile = b->nx * b->nz * STREAM_LANES * (int)sizeof(float);

	s->tile = tile > s->tile ? tile : s->tile;
}

static void take(void *to, const struct pool *from)
{
	if (from->n)
		memcpy(to, from->v, (size_t)(from->n * from->size));
}

static void append(struct srm_stream *s, int64_t *blocks, struct piece *p)
{
	const struct pool *q = p->pool;
	struct stream_block *block = s->block + *blocks;
	struct stream_job *job = s->job + s->n_job;
	struct stream_part *part = s->part + s->n_part;

	take(block, &q[BLOCK]);
	take(job, &q[JOB]);
	take(part, &q[PART]);
	take(s->near + s->n_near, &q[NEAR]);
	take(s->far + s->n_far, &q[FAR]);
	take(s->weight + s->n_weight, &q[WEIGHT]);
	for (int64_t i = 0; i < q[BLOCK].n; i++)
		block[i].job += (int32_t)s->n_job;
	for (int64_t i = 0; i < q[JOB].n; i++)
		job[i].part += (int32_t)s->n_part;
	for (int64_t i = 0; i < q[PART].n; i++)
		move_starts(&part[i], s->n_near, s->n_far, s->n_weight);
	*blocks += q[BLOCK].n;
	s->n_job += q[JOB].n;
	s->n_part += q[PART].n;
	s->n_near += q[NEAR].n;
	s->n_far += q[FAR].n;
	s->n_weight += q[WEIGHT].n;
	s->useful += p->useful;
	piece_free(p);
	*p = (struct piece){ 0 };
}

static int stream_room(struct srm_stream *s, const struct piece *p, int64_t n)
{
	int64_t sum[POOLS] = { 0 };

	for (int64_t i = 0; i < n; i++)
		for (int k = 0; k < POOLS; k++)
			sum[k] += p[i].pool[k].n;
	if (sum[NEAR] > INT32_MAX || sum[FAR] > INT32_MAX)
		return iso_fail(ISO_EARG, "srm: %" PRId64 " runs of taps, at most 2^31", sum[NEAR] + sum[FAR]);
	s->block = malloc((size_t)(sum[BLOCK] + 1) * sizeof *s->block);
	s->job = malloc((size_t)(sum[JOB] + 1) * sizeof *s->job);
	s->part = malloc((size_t)(sum[PART] + 1) * sizeof *s->part);
	s->near = malloc((size_t)(sum[NEAR] + 1) * sizeof *s->near);
	s->far = malloc((size_t)(sum[FAR] + 1) * sizeof *s->far);
	s->weight = malloc((size_t)(sum[WEIGHT] + 1) * sizeof *s->weight);
	if (!s->block || !s->job || !s->part || !s->near || !s->far || !s->weight)
		return iso_fail_memory("srm: streams of taps", sum[WEIGHT] * (int64_t)sizeof *s->weight);
	return ISO_OK;
}

/* Pieces first[sub] ... first[sub + 1] - 1 belong to subset sub. */
static int join(struct srm_stream *s, struct piece *p, const int64_t *first)
{
	int64_t n = first[s->n_sub], blocks = 0;
	int st = ISO_OK;

	for (int64_t i = 0; i < n && !st; i++)
		if (p[i].full)
			st = iso_fail_memory("srm: streams of taps", p[i].pool[WEIGHT].room * 16);
	if (st || (st = stream_room(s, p, n)))
		return st;
	for (int sub = 0; sub < s->n_sub; sub++) {
		s->block_of[sub] = blocks;
		for (int64_t i = first[sub]; i < first[sub + 1]; i++)
			append(s, &blocks, &p[i]);
	}
	s->block_of[s->n_sub] = blocks;
	s->part[s->n_part] = (struct stream_part){ .weight = s->n_weight };
	for (int64_t i = 0; i < blocks; i++)
		measure_block(s, &s->block[i]);
	for (int sub = 0; sub < s->n_sub; sub++)
		qsort(s->block + s->block_of[sub], (size_t)(s->block_of[sub + 1] - s->block_of[sub]),
		      sizeof *s->block, by_work);
	return ISO_OK;
}

static int stream_begin(struct srm_stream *s, struct piece **p, int64_t **first, int n_sub, int64_t n)
{
	*s = (struct srm_stream){ .n_sub = n_sub };
	s->block_of = size_alloc(n_sub + 1, sizeof *s->block_of);
	*first = size_alloc(n_sub + 1, sizeof **first);
	*p = size_alloc(n, sizeof **p);
	if (s->block_of && *first && *p)
		return ISO_OK;
	return iso_fail_memory("srm: streams of taps", n * (int64_t)sizeof **p);
}

static int stream_end(struct srm_stream *s, struct piece *p, int64_t *first, int64_t n, int st)
{
	for (int64_t i = 0; p && i < n; i++)
		piece_free(&p[i]);
	free(p);
	free(first);
	if (st)
		iso_stream_free(s);
	return st;
}

int iso_stream_forward(struct srm_stream *s, iso_ctx *ctx, const struct srm_op *m,
		       const struct iso_srm_rows *taps, const struct stream_layout *l)
{
	int64_t *first = NULL, n = 0, most = 2 * (int64_t)m->n_direction;
	struct piece *p = NULL;
	int *start = size_alloc(m->n_direction + 1, sizeof *start);
	int st = stream_begin(s, &p, &first, m->n_sub, most);

	if (!start && !st)
		st = iso_fail_memory("srm: streams of taps", m->n_direction * (int64_t)sizeof *start);
	if (st) goto done;
	for (int sub = 0; sub < m->n_sub; sub++) {
		first[sub] = n;
		for (int j = m->sub[sub]; j < m->sub[sub + 1]; j += group_size(m, j), n += 2)
			start[n / 2] = j;
	}
	first[m->n_sub] = n;
	s->slices = 2;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < n; i++) {
		struct forward f = { m, taps, l, 0 };
		int j = start[i / 2];

		piece_open(&p[i]);
		forward_job(&p[i], &f, &m->direction[j], group_size(m, j), i % 2 == 0);
		piece_rest(&p[i]);
	}
	st = join(s, p, first);
done:
	free(start);
	return stream_end(s, p, first, n, st);
}

int iso_stream_adjoint(struct srm_stream *s, iso_ctx *ctx, const struct srm_op *m,
		       const struct iso_srm_rows *taps, const struct stream_layout *l)
{
	const int *d = m->shape.d;
	int64_t columns = (int64_t)m->shape.planes * d[1] * ((d[0] + STREAM_LANES - 1) / STREAM_LANES);
	int64_t *first = NULL, n = columns * m->n_sub, slices = BLOCKS / (columns * tiles_of(m));
	struct piece *p = NULL;
	int st = stream_begin(s, &p, &first, m->n_sub, n);

	if (st) goto done;
	s->slices = slices < 1 ? 1 : slices > SLICES ? SLICES : (int)slices;
	for (int sub = 0; sub <= m->n_sub; sub++)
		first[sub] = sub * columns;
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
	for (int64_t i = 0; i < n; i++) {
		int sub = (int)(i / columns), range[2] = { m->sub[sub], m->sub[sub + 1] };
		struct adjoint f = { m, taps, l, NULL, false };

		piece_open(&p[i]);
		adjoint_column(&p[i], &f, i % columns, range, s->slices);
		piece_rest(&p[i]);
	}
	st = join(s, p, first);
done:
	return stream_end(s, p, first, n, st);
}

void iso_stream_free(struct srm_stream *s)
{
	free(s->block_of);
	free(s->block);
	free(s->job);
	free(s->part);
	free(s->near);
	free(s->far);
	free(s->weight);
	*s = (struct srm_stream){ 0 };
}

/* ---- padded memory ---- */

/* Directions dz and dz - Ncz together have Ncz columns: they share the rows of one plane. */
static void place_directions(struct stream_layout *l, const struct srm_op *m)
{
	for (int j = 0; j < m->n_direction; j++) {
		const struct srm_direction *d = &m->direction[j];

		if (d->dz < 0)
			continue;
		l->direction[j] = l->data + (int64_t)STREAM_MARGIN_X * l->pitch + STREAM_MARGIN_Z;
		l->data += (int64_t)(d->nx + 2 * STREAM_MARGIN_X) * l->pitch;
	}
	for (int j = 0; j < m->n_direction; j++) {
		const struct srm_direction *d = &m->direction[j];

		if (d->dz >= 0)
			continue;
		int of_layers = (d->a * m->shape.layers + d->b) * (m->n_direction / (m->shape.layers *
				m->shape.layers));
		int partner = m->place[of_layers + d->number + m->shape.nc[1]];

		l->direction[j] = l->direction[partner] + m->direction[partner].nz + STREAM_MARGIN_Z;
	}
}

int iso_stream_layout(struct stream_layout *l, const struct srm_op *m)
{
	int columns = m->shape.nc[1] + 3 * STREAM_MARGIN_Z;

	*l = (struct stream_layout){ .pitch = (columns + 31) / 32 * 32,
				     .rows = m->shape.nc[0] + 2 * STREAM_MARGIN_X };
	l->image = (int64_t)m->shape.planes * m->shape.d[0] * m->shape.d[1] * l->rows * l->pitch;
	l->direction = size_alloc(m->n_direction, sizeof *l->direction);
	if (!l->direction)
		return iso_fail_memory("srm: directions", m->n_direction * (int64_t)sizeof *l->direction);
	place_directions(l, m);
	if (l->image > INT32_MAX || l->data > INT32_MAX) {
		iso_stream_layout_free(l);
		return iso_fail(ISO_EARG, "srm: %" PRId64 " and %" PRId64 " values of image and data with "
				"margins, at most 2^31", l->image, l->data);
	}
	return ISO_OK;
}

void iso_stream_layout_free(struct stream_layout *l)
{
	free(l->direction);
	*l = (struct stream_layout){ 0 };
}
