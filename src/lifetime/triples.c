/* SPDX-License-Identifier: BSD-3-Clause */
/* Triples: which take part, and what each sees of the image. */
#include "triples.h"
#include "core/comm.h"
#include "core/op.h"
#include "core/op/entries.h"
#include "core/sized.h"
#include "core/size.h"

#include <omp.h>

enum { PART_TRIPLES = 256, PARTS = 32, PART_VALUES = 1 << 27, BLOCK = 256 };

/* ---- sums ---- */

int parts_open(struct parts *p, struct iso_room *room, int64_t n, int64_t values)
{
	int64_t most = values > 0 ? PART_VALUES / values : 1,
		by_triples = (n + PART_TRIPLES - 1) / PART_TRIPLES;

	if (most > PARTS) most = PARTS;
	if (most > by_triples) most = by_triples;
	p->n = most < 1 ? 1 : (int)most;
	p->values = values;
	ISO_HOST(room, p->v, p->n * values);
	return room->status;
}

void parts_clear(const struct parts *p, const iso_ctx *ctx)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int k = 0; k < p->n; k++) memset(p->v + k * p->values, 0, (size_t)p->values * sizeof *p->v);
}

void parts_sum(double *to, const struct parts *p, const iso_ctx *ctx)
{
#pragma omp parallel for num_threads(ctx->threads)
	for (int64_t i = 0; i < p->values; i++) {
		double sum = 0;

		for (int k = 0; k < p->n; k++) sum += p->v[k * p->values + i];
		to[i] = sum;
	}
}

/* ---- which take part ---- */

struct chosen {
	const double *time, *sigma;
	int64_t given;
	int64_t *at; /* place of each among those that take part; -1: it does not */
};

static int check_times(const struct chosen *c)
{
	for (int64_t j = 0; j < c->given; j++) {
		if (!isfinite(c->time[j]))
			return iso_fail(ISO_EINPUT, "triple %" PRId64 " has no time: %g", j, c->time[j]);
		if (c->sigma && !(c->sigma[j] > 0 && isfinite(c->sigma[j])))
			return iso_fail(ISO_EINPUT,
			                "triple %" PRId64 ": error of its time is %g ns, must be above 0", j,
			                c->sigma[j]);
	}
	return ISO_OK;
}

/* Those inside of the window, with their times; rows come later. */
static int choose(struct iso_triples *t, struct chosen *c, struct iso_room *work)
{
	const struct iso_lifetime_model *m = &t->model;
	int st = check_times(c);

	if (st) return st;
	t->given = c->given;
	ISO_HOST(&t->room, t->time, c->given);
	if (!ISO_HOST(work, c->at, c->given)) return work->status;
	if (t->room.status) return t->room.status;
	for (int64_t j = 0; j < c->given; j++) {
		t->time[j] = c->time[j];
		c->at[j] = c->time[j] >= m->lo && c->time[j] < m->hi ? t->n++ : -1;
	}
	if (t->n < 1)
		return iso_fail(ISO_EINPUT,
		                "none of %" PRId64 " triples has a time from %g to %g ns, the window",
		                c->given, m->lo, m->hi);
	ISO_HOST(&t->room, t->start, t->n + 1);
	ISO_HOST(&t->room, t->t, t->n);
	ISO_HOST(&t->room, t->file, t->n);
	if (c->sigma) ISO_HOST(&t->room, t->sigma, t->n);
	for (int64_t j = 0; j < c->given && !t->room.status; j++) {
		if (c->at[j] < 0) continue;
		t->t[c->at[j]] = c->time[j] - m->offset;
		t->file[c->at[j]] = j;
		if (c->sigma) t->sigma[c->at[j]] = c->sigma[j];
	}
	return t->room.status;
}

/* From how many entries each has to where they begin. */
static int64_t begin_rows(struct iso_triples *t)
{
	int64_t sum = 0;

	for (int64_t j = 0; j <= t->n; j++) {
		const int64_t n = j < t->n ? t->start[j] : 0;

		t->start[j] = sum;
		sum += n;
	}
	return sum;
}

static int take_entries(struct iso_triples *t)
{
	const int64_t n = begin_rows(t), item = (int64_t)(sizeof *t->voxel + sizeof *t->w);
	int64_t bytes;
	int st = size_mul(&bytes, n, item) ? iso_memory_check(t->room.ctx, "rows of triples", bytes)
	                                   : iso_fail_memory("rows of triples", INT64_MAX);

	if (st) return st;
	ISO_HOST(&t->room, t->voxel, n);
	ISO_HOST(&t->room, t->w, n);
	return t->room.status;
}

/* ---- of an operator ---- */

/* Rows as the operator holds them, by blocks. */
struct held {
	int64_t n, blocks;
	struct iso_entries *block;
	int64_t *row, *length; /* of each held row: the triple, -1: none; and its entries */
};

struct entry {
	int32_t voxel;
	iso_real w;
};

static int by_voxel(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->voxel < y->voxel ? -1 : x->voxel > y->voxel;
}

/* A voxel that comes twice in a row becomes one entry: what it tells is a square. `room` has the row's length. */
static void merge(struct iso_entries *l, int64_t first, struct entry *room)
{
	const int64_t n = l->n - first;

	for (int64_t i = 0; i < n; i++) room[i] = (struct entry){ l->voxel[first + i], l->w[first + i] };
	qsort(room, (size_t)n, sizeof *room, by_voxel);
	l->n = first;
	for (int64_t i = 0; i < n; i++) {
		if (l->n > first && l->voxel[l->n - 1] == room[i].voxel) {
			l->w[l->n - 1] += room[i].w;
			continue;
		}
		l->voxel[l->n] = room[i].voxel;
		l->w[l->n++] = room[i].w;
	}
}

static bool merge_row(struct iso_entries *l, int64_t first)
{
	struct entry *room = l->n > first + 1 ? malloc((size_t)(l->n - first) * sizeof *room) : NULL;

	if (l->n <= first + 1) return true;
	if (room) merge(l, first, room);
	free(room);
	return room != NULL;
}

static void hold_block(struct held *h, const iso_op *op, const int64_t *at, int64_t b)
{
	for (int64_t i = b * BLOCK; i < (b + 1) * BLOCK && i < h->n && !iso_stopped(op->ctx); i++) {
		const int64_t before = h->block[b].n, row = op->fn->entries(op, h->block + b, i);

		h->row[i] = at[op->fn->file_row ? op->fn->file_row(op, row) : row];
		if (h->row[i] < 0) h->block[b].n = before;
		if (!merge_row(h->block + b, before)) h->block[b].failed = true;
		h->length[i] = h->block[b].n - before;
	}
}

static int hold(struct held *h, const iso_op *op, const int64_t *at, struct iso_room *work)
{
	h->n = op->n_out;
	h->blocks = (h->n + BLOCK - 1) / BLOCK;
	ISO_HOST(work, h->block, h->blocks);
	ISO_HOST(work, h->row, h->n);
	if (!ISO_HOST(work, h->length, h->n)) return work->status;
#pragma omp parallel for num_threads(op->ctx->threads) schedule(dynamic)
	for (int64_t b = 0; b < h->blocks; b++) hold_block(h, op, at, b);
	for (int64_t b = 0; b < h->blocks; b++)
		if (h->block[b].failed) return iso_fail_memory("rows of triples", h->block[b].room * 8);
	return iso_ctx_poll(op->ctx);
}

static int place_rows(struct iso_triples *t, const struct held *h)
{
	int st;

	for (int64_t i = 0; i < h->n; i++)
		if (h->row[i] >= 0) t->start[h->row[i]] = h->length[i];
	if ((st = take_entries(t))) return st;
#pragma omp parallel for num_threads(t->room.ctx->threads) schedule(dynamic)
	for (int64_t b = 0; b < h->blocks; b++) {
		int64_t from = 0;

		for (int64_t i = b * BLOCK; i < (b + 1) * BLOCK && i < h->n; i++) {
			if (h->row[i] < 0) continue;
			const int64_t to = t->start[h->row[i]], n = h->length[i];

			memcpy(t->voxel + to, h->block[b].voxel + from, (size_t)n * sizeof *t->voxel);
			memcpy(t->w + to, h->block[b].w + from, (size_t)n * sizeof *t->w);
			from += n;
		}
	}
	return ISO_OK;
}

static void free_held(struct held *h)
{
	for (int64_t b = 0; b < h->blocks && h->block; b++) iso_entries_free(h->block + b);
}

static int check_op(const iso_op *op)
{
	if (iso_ctx_is_cuda(op->ctx))
		return iso_fail(ISO_EARG, "triples take their rows from an operator on the CPU; "
		                          "iso_triples_move brings them to a device");
	if (!op->fn->entries)
		return iso_fail(ISO_EARG,
		                "lifetimes need the rows of a model one by one: ray or barrel, without PSF");
	return iso_op_refuse_split(op, "lifetimes");
}

/* ---- a handle ---- */

static int begin(struct iso_triples **t, iso_ctx *ctx, const struct iso_lifetime_model *m)
{
	if (ctx->comm && ctx->comm->size > 1)
		return iso_fail(ISO_EARG, "lifetimes are computed by one process; there are %d",
		                ctx->comm->size);
	if (!(*t = size_alloc(1, sizeof **t))) return iso_fail_memory("triples", sizeof **t);
	(*t)->room = iso_room_of(iso_ctx_keep(ctx), "triples");
	return lifetime_model_take(&(*t)->model, m);
}

int iso_triples_of_op(iso_triples **to, iso_op *op, const struct iso_lifetime_model *m, const double *time,
                      const double *sigma)
{
	if (!to || !op || !m || !time) return iso_fail_null(__func__);
	struct iso_room work = iso_room_of(op->ctx, "rows of triples");
	struct chosen c = { time, sigma, op->n_out, NULL };
	struct iso_triples *t = NULL;
	struct held h = { 0 };
	int st = check_op(op);

	if (!st) st = begin(&t, op->ctx, m);
	if (!st) st = choose(t, &c, &work);
	if (!st) st = hold(&h, op, c.at, &work);
	if (!st) st = place_rows(t, &h);
	if (!st) t->voxels = op->n_in;
	free_held(&h);
	iso_room_free(&work);
	if (st)
		iso_triples_free(t);
	else
		*to = t;
	return st;
}

static int check_rows(const struct iso_triple_rows *r)
{
	if (!r->start || !r->voxel || !r->weight || r->n < 1 || r->voxels < 1 || r->voxels > INT32_MAX)
		return iso_fail(ISO_EARG, "triples: rows of %" PRId64 " events and %" PRId64 " voxels", r->n,
		                r->voxels);
	if (r->start[0] != 0)
		return iso_fail(ISO_EARG, "triples: the first row begins at %" PRId64, r->start[0]);
	for (int64_t j = 0; j < r->n; j++)
		if (r->start[j + 1] < r->start[j])
			return iso_fail(ISO_EARG, "triples: row %" PRId64 " ends before it begins", j);
	for (int64_t i = 0; i < r->start[r->n]; i++)
		if (r->voxel[i] < 0 || r->voxel[i] >= r->voxels || !(r->weight[i] >= 0) ||
		    !isfinite(r->weight[i]))
			return iso_fail(ISO_EINPUT,
			                "triples: entry %" PRId64 ": voxel %d of %" PRId64 ", weight %g", i,
			                (int)r->voxel[i], r->voxels, (double)r->weight[i]);
	return ISO_OK;
}

static int copy_rows(struct iso_triples *t, const struct iso_triple_rows *r)
{
	int st;

	t->voxels = r->voxels;
	for (int64_t j = 0; j < t->n; j++) t->start[j] = r->start[t->file[j] + 1] - r->start[t->file[j]];
	if ((st = take_entries(t))) return st;
	for (int64_t j = 0; j < t->n; j++) {
		const int64_t from = r->start[t->file[j]], n = t->start[j + 1] - t->start[j];

		memcpy(t->voxel + t->start[j], r->voxel + from, (size_t)n * sizeof *t->voxel);
		memcpy(t->w + t->start[j], r->weight + from, (size_t)n * sizeof *t->w);
	}
	return ISO_OK;
}

int iso_triples_of_rows(iso_triples **to, iso_ctx *ctx, const struct iso_triple_rows *rows,
                        const struct iso_lifetime_model *m, const double *time, const double *sigma)
{
	if (!to || !ctx || !rows || !m || !time) return iso_fail_null(__func__);
	struct iso_room work = iso_room_of(ctx, "rows of triples");
	struct iso_triple_rows r = { 0 };
	struct iso_triples *t = NULL;
	int st = iso_sized_take(&r, "iso_triple_rows", sizeof r, rows);
	struct chosen c = { time, sigma, r.n, NULL };

	if (!st) st = check_rows(&r);
	if (!st) st = begin(&t, ctx, m);
	if (!st) st = choose(t, &c, &work);
	if (!st) st = copy_rows(t, &r);
	iso_room_free(&work);
	if (st)
		iso_triples_free(t);
	else
		*to = t;
	return st;
}

void iso_triples_free(iso_triples *t)
{
	if (!t) return;
	iso_ctx *ctx = t->room.ctx;

	iso_room_free(&t->room);
	iso_ctx_free(ctx);
	free(t);
}

int64_t iso_triples_count(const iso_triples *t)
{
	return t ? t->n : 0;
}

int64_t iso_triples_given(const iso_triples *t)
{
	return t ? t->given : 0;
}

int64_t iso_triples_between(const iso_triples *t, double lo, double hi)
{
	int64_t n = 0;

	for (int64_t j = 0; t && j < t->given; j++) n += t->time[j] >= lo && t->time[j] < hi;
	return n;
}
