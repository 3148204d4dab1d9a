/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of hits: which events share one, where it lies, and its values, a warp a table. */
#include "core/comm.h"
#include "core/op.h"
#include "barrel_pieces.cuh"
#include "barrel_tables.h"

#include <cub/device/device_radix_sort.cuh>

#define MOST_KEYS ((int64_t)1 << 27) /* pairs of strips times intervals: of more strips none has a table */
#define LEAST 2                      /* events that a table is made for */

/* ---- which events share a table ---- */

struct survey {
	struct barrel_model m;
	unsigned *key, *count, *slot;
};

/* The key of a row is its pair and interval. */
static __device__ unsigned key_of(const struct barrel_model *m, int64_t row)
{
	const struct iso_barrel_event *e = m->e + row;

	if (e->a < 0 || e->a == e->b) return BARREL_NO_TABLE;
	const struct barrel_place *a = m->p.place + e->a, *b = m->p.place + e->b;
	const double x = a->x - b->x, y = a->y - b->y,
		     t = ((double)e->z_a - (double)e->z_b) / sqrt(x * x + y * y);
	const int interval = barrel_interval((float)sqrt(1 + t * t));

	return interval < 0 ? BARREL_NO_TABLE
	                    : (unsigned)((e->a * m->n_strips + e->b) * BARREL_INTERVALS + interval);
}

static __global__ void survey_rows(struct survey s)
{
	ISO_GRID_LOOP (row, s.m.n) {
		const unsigned key = key_of(&s.m, row);

		s.key[row] = key;
		if (key != BARREL_NO_TABLE) atomicAdd(s.count + key, 1u);
	}
}

/* A key becomes the group that has its table. */
static __global__ void take_slots(struct survey s)
{
	ISO_GRID_LOOP (row, s.m.n)
		if (s.key[row] != BARREL_NO_TABLE) s.key[row] = s.slot[s.key[row]];
}

static struct barrel_group group_of(const struct barrel_params *p, const struct barrel_place *place,
                                    int64_t strips, int64_t key)
{
	struct barrel_group g = ISO_ZERO;
	const int64_t pair = key / BARREL_INTERVALS;

	g.a = (int32_t)(pair / strips);
	g.b = (int32_t)(pair % strips);
	g.interval = (int32_t)(key % BARREL_INTERVALS);
	const struct barrel_pair own = barrel_pair(place + g.a, place + g.b, p->mu);

	g.tube = barrel_whole_tube(p, &own);
	g.pixels = g.tube.n * g.tube.wide;
	return g;
}

/* Groups of the keys that occur often enough; slot: the group of each key. */
static int64_t choose(struct barrel_group *group, unsigned *slot, const unsigned *count, int64_t keys,
                      const struct barrel_params *p, const struct barrel_place *place, int64_t strips)
{
	int64_t n = 0, at = 0;

	for (int64_t key = 0; key < keys; key++) {
		slot[key] = BARREL_NO_TABLE;
		if (count[key] < LEAST) continue;
		struct barrel_group g = group_of(p, place, strips, key);

		if (g.pixels == 0) continue;
		g.at = at;
		at += (int64_t)g.pixels * BARREL_NODES * BARREL_VALUES;
		slot[key] = (unsigned)n;
		group[n++] = g;
	}
	return n;
}

/* ---- chunks ---- */

static int64_t values_of(const struct barrel_group *g)
{
	return (int64_t)g->pixels * BARREL_NODES * BARREL_VALUES;
}

/* As few as find room in `values`, or in that of the largest group. `chunk`: NULL to count them. */
static int divide(struct barrel_chunk *chunk, int64_t *most, const struct barrel_group *group, int64_t n,
                  int64_t values)
{
	int chunks = 0;

	*most = 0;
	for (int64_t i = 0; i < n; chunks++) {
		struct barrel_chunk c = { i, 0, group[i].at };
		int64_t sum = 0;

		do sum += values_of(group + i++);
		while (i < n && sum + values_of(group + i) <= values);
		c.n = i - c.first;
		*most = sum > *most ? sum : *most;
		if (chunk) chunk[chunks] = c;
	}
	return chunks;
}

/* Of what the device has left, half: images and lists of columns come later. */
static int share_out(struct barrel_tables *t, iso_op *op, const struct barrel_group *group, int64_t n)
{
	struct iso_room *room = &op->shared->room;
	int64_t left = 0, most;
	int st = iso_ctx_device_left(op->ctx, &left);

	if (st) return st;
	const int64_t values = left / 2 / (int64_t)sizeof *t->value;

	t->chunks = divide(NULL, &most, group, n, values);
	if (!ISO_HOST(room, t->chunk, t->chunks)) return room->status;
	divide(t->chunk, &t->most, group, n, values);
	ISO_UPLOAD(room, t->group, group, n);
	if (t->chunks == 1) ISO_DEVICE(room, t->value, t->most);
	return room->status;
}

/* ---- orders ---- */

static struct iso_rows rows_of(const iso_op *op, int order)
{
	const struct iso_rows all = iso_op_rows(op, order < op->n_sub ? order : ISO_ALL),
			      own = iso_share(op->ctx, all.n);

	return { all.first + own.first, own.n };
}

static __global__ void number_rows(unsigned *id, int64_t first, int64_t n)
{
	ISO_GRID_LOOP (i, n) id[i] = (unsigned)(first + i);
}

/* Thread c: the first place whose group is no less than from[c]. */
static __global__ void find_bounds(int64_t *to, const unsigned *group_of, int64_t n, const int64_t *from,
                                   int count)
{
	const int c = threadIdx.x + blockIdx.x * blockDim.x;
	int64_t low = 0, high = n;

	if (c >= count) return;
	while (low < high) {
		const int64_t middle = (low + high) / 2;

		if ((int64_t)group_of[middle] < from[c])
			low = middle + 1;
		else
			high = middle;
	}
	to[c] = low;
}

/* What sorting needs. */
struct sorter {
	unsigned *id;
	void *temp;
	size_t bytes;
	int64_t *from, *to; /* chunks + 1 */
};

static int sort_rows(struct barrel_tables *t, const iso_op *op, const unsigned *key, const struct sorter *s,
                     int order)
{
	const struct iso_rows r = rows_of(op, order);
	const cudaStream_t stream = iso_stream(op->ctx);
	unsigned *group_of = t->group_of + t->start[order];
	size_t bytes = s->bytes;

	if (r.n == 0) {
		memset(t->bound + order * (t->chunks + 1), 0, (size_t)(t->chunks + 1) * sizeof *t->bound);
		return ISO_OK;
	}
	number_rows<<<iso_blocks(r.n), ISO_THREADS, 0, stream>>>(s->id, r.first, r.n);
	int st =
		iso_cuda_check("sort of barrel events",
	                       cub::DeviceRadixSort::SortPairs(s->temp, bytes, key + r.first, group_of, s->id,
	                                                       t->row + t->start[order], r.n, 0, 32, stream));

	if (st) return st;
	find_bounds<<<t->chunks / ISO_THREADS + 1, ISO_THREADS, 0, stream>>>(s->to, group_of, r.n, s->from,
	                                                                     t->chunks + 1);
	if ((st = iso_cuda_launched("barrel events of tables"))) return st;
	return op->ctx->vec->download(op->ctx, t->bound + order * (t->chunks + 1), s->to,
	                              (t->chunks + 1) * (int64_t)sizeof *s->to);
}

static int make_orders(struct barrel_tables *t, iso_op *op, const unsigned *key, int64_t groups)
{
	struct iso_room *room = &op->shared->room, local = iso_room_of(op->ctx, "order of barrel events");
	struct sorter s = ISO_ZERO;
	int64_t most = 1, *from;
	int st = ISO_OK;

	t->orders = op->n_sub > 1 ? op->n_sub + 1 : 1;
	ISO_HOST(room, t->start, t->orders + 1);
	ISO_HOST(room, t->bound, (int64_t)t->orders * (t->chunks + 1));
	ISO_HOST(&local, from, t->chunks + 1);
	if (room->status || local.status) {
		st = room->status ? room->status : local.status;
		iso_room_free(&local);
		return st;
	}
	for (int o = 0; o < t->orders; o++) {
		const int64_t n = rows_of(op, o).n;

		t->start[o + 1] = t->start[o] + n;
		most = n > most ? n : most;
	}
	for (int c = 0; c < t->chunks; c++) from[c] = t->chunk[c].first;
	from[t->chunks] = groups;
	ISO_DEVICE(room, t->row, t->start[t->orders]);
	ISO_DEVICE(room, t->group_of, t->start[t->orders]);
	cub::DeviceRadixSort::SortPairs(NULL, s.bytes, key, t->group_of, s.id, t->row, most);
	ISO_UPLOAD(&local, s.from, from, t->chunks + 1);
	ISO_DEVICE(&local, s.to, t->chunks + 1);
	ISO_DEVICE(&local, s.id, most);
	s.temp = iso_room_device(&local, (int64_t)s.bytes, 1);
	st = room->status ? room->status : local.status;
	for (int o = 0; o < t->orders && !st; o++) st = sort_rows(t, op, key, &s, o);
	iso_room_free(&local);
	return st;
}

/* ---- values ---- */

struct filling {
	struct barrel_params p;
	const struct barrel_group *group;
	float *value;
	int64_t at; /* of the first value among those of all chunks */
};

/* A warp a group. */
static __global__ void __launch_bounds__(ISO_THREADS, 2) fill(struct filling f, struct iso_rows groups)
{
	__shared__ struct pieces pieces[ISO_THREADS / ISO_WARP];
	__shared__ struct barrel_pair pairs[ISO_THREADS / ISO_WARP];
	struct pieces *r = pieces + threadIdx.x / ISO_WARP;
	struct barrel_pair *pair = pairs + threadIdx.x / ISO_WARP;
	const int lane = threadIdx.x % ISO_WARP;

	ISO_WARP_LOOP (k, groups) {
		const struct barrel_group g = f.group[k];
		float *to = f.value + (g.at - f.at);

		if (lane == 0) *pair = barrel_pair(f.p.place + g.a, f.p.place + g.b, f.p.mu);
		__syncwarp();
		for (int i = lane; i - lane < g.pixels; i += ISO_WARP) {
			int ix = 0, iy = 0;
			bool in = i < g.pixels && barrel_candidate(&ix, &iy, &f.p, &g.tube, i);
			const float u = f.p.first[0] + ix * f.p.pixel - pair->middle[0];
			const float v = f.p.first[1] + iy * f.p.pixel - pair->middle[1];
			const float y = u * pair->e[0] + v * pair->e[1], d = v * pair->e[0] - u * pair->e[1];

			in = in && y < pair->half && y > -pair->half;
			for (int node = 0; node < BARREL_NODES; node++) {
				const float s = barrel_node(g.interval, node);
				const struct barrel_hits hits =
					pixel_hits(r, pair, in, y, d, f.p.pixel, pair->mu * s);

				if (i < g.pixels)
					barrel_keep(to + (int64_t)node * BARREL_VALUES * g.pixels + i,
					            g.pixels, &hits, s);
			}
		}
		__syncwarp();
	}
}

int iso_barrel_tables_fill(float *value, const struct barrel_tables *t, const iso_op *op, int chunk)
{
	const struct barrel_model *m = (const struct barrel_model *)op->data;
	const struct barrel_chunk c = t->chunk[chunk];
	const struct filling f = { m->p, t->group, value, c.at };
	const struct iso_rows groups = { c.first, c.n };

	fill<<<iso_blocks(c.n * ISO_WARP), ISO_THREADS, 0, iso_stream(op->ctx)>>>(f, groups);
	return iso_cuda_launched("barrel tables");
}

/* ---- all of it ---- */

static int make(struct barrel_tables *t, iso_op *op, const struct barrel_place *place, struct iso_room *local)
{
	struct survey s = ISO_ZERO;
	unsigned *count, *slot;
	struct barrel_group *group = NULL;
	int64_t keys, n = 0, often = 0;
	int st = ISO_OK;

	s.m = *(const struct barrel_model *)op->data;
	keys = s.m.n_strips * s.m.n_strips * BARREL_INTERVALS;
	if (keys > MOST_KEYS) keys = 0;
	ISO_DEVICE(local, s.key, s.m.n);
	ISO_DEVICE(local, s.count, keys);
	ISO_HOST(local, count, keys);
	ISO_HOST(local, slot, keys);
	if (local->status) return local->status;
	if (keys > 0)
		survey_rows<<<iso_blocks(s.m.n), ISO_THREADS, 0, iso_stream(op->ctx)>>>(s);
	else
		st = iso_cuda_check("clear", cudaMemsetAsync(s.key, 0xff, (size_t)s.m.n * sizeof *s.key,
		                                             iso_stream(op->ctx)));
	if (!st) st = iso_cuda_launched("barrel pairs");
	if (st || (st = op->ctx->vec->download(op->ctx, count, s.count, keys * (int64_t)sizeof *count)))
		return st;
	for (int64_t k = 0; k < keys; k++) often += count[k] >= LEAST;
	if (!ISO_HOST(local, group, often)) return local->status;
	n = choose(group, slot, count, keys, &s.m.p, place, s.m.n_strips);
	ISO_UPLOAD(local, s.slot, slot, keys);
	if (local->status) return local->status;
	if (keys > 0) take_slots<<<iso_blocks(s.m.n), ISO_THREADS, 0, iso_stream(op->ctx)>>>(s);
	if ((st = iso_cuda_launched("barrel tables")) || (st = share_out(t, op, group, n))) return st;
	return make_orders(t, op, s.key, n);
}

int iso_barrel_tables_make(struct barrel_tables *t, iso_op *op, const struct barrel_place *place)
{
	struct iso_room local = iso_room_of(op->ctx, "tables of pairs of strips");
	int st = make(t, op, place, &local);

	iso_room_free(&local);
	return !st && t->chunks == 1 ? iso_barrel_tables_fill(t->value, t, op, 0) : st;
}
