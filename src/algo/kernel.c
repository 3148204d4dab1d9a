/* SPDX-License-Identifier: BSD-3-Clause */
/* The operator of kernel EM (Wang and Qi 2015): x = K alpha. Row n of K has the k voxels of the window around n that are most
   like it in the features, weights exp(-D2 / (2 sigma^2)) over their sum, D2 = sum over features of (f_n - f_m)^2 / var_f. K is
   not symmetric: its adjoint is a table of its own. */
#include "kernel.h"

#include "core/size.h"
#include "core/sized.h"
#include "isotome/prior.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { MAX_RADIUS = 20 };

/* ---- checks ---- */

/* Voxels of a window that no border cuts. */
static int64_t window(const struct iso_kernel *p)
{
	int64_t n = 1;

	for (int a = 0; a < 3; a++) n *= p->grid.n[a] > 1 ? 2 * p->radius + 1 : 1;
	return n;
}

static int check(const struct iso_kernel *p)
{
	int st = iso_grid_check(&p->grid);

	if (st) return st;
	if (p->n_features < 1 || !p->feature)
		return iso_fail(ISO_EARG, "kernel: %d features, must be at least 1",
		                p->feature ? p->n_features : 0);
	if (p->radius < 1 || p->radius > MAX_RADIUS)
		return iso_fail(ISO_EARG, "kernel: radius is %d voxels, must be 1 to %d", p->radius,
		                MAX_RADIUS);
	if (!(p->sigma > 0) || !isfinite(p->sigma))
		return iso_fail(ISO_EARG, "kernel: sigma is %g, must be above 0 and finite", p->sigma);
	if (p->neighbours < 1 || p->neighbours > window(p))
		return iso_fail(ISO_EARG,
		                "kernel: k is %d voxels, must be 1 to %" PRId64 ", those of the window",
		                p->neighbours, window(p));
	if (iso_grid_voxels(&p->grid) > UINT32_MAX)
		return iso_fail(ISO_EARG, "kernel: %" PRId64 " voxels, at most %" PRIu32,
		                iso_grid_voxels(&p->grid), UINT32_MAX);
	return ISO_OK;
}

/* Of feature f over all voxels, divided by their number; NAN where a voxel is not finite, whose number goes to `bad`. */
static double variance(int64_t *bad, int64_t n, const iso_real *f)
{
	double mean = 0, sum = 0;

	for (int64_t i = 0; i < n; i++) {
		if (!isfinite(f[i])) return *bad = i, (double)NAN;
		mean += f[i];
	}
	mean /= (double)n;
	for (int64_t i = 0; i < n; i++) sum += (f[i] - mean) * (f[i] - mean);
	return sum / (double)n;
}

/* ---- rows ---- */

/* What rows are made of. */
struct making {
	const struct iso_kernel *p;
	int features; /* those that vary */
	const iso_real **feature;
	double *variance;
};

/* Each thread's own: the window of a voxel. */
struct window {
	double *d2, *sorted; /* distances; the same, to be reordered */
	uint32_t *at;
	int n;
};

/* The k-th smallest of v[0..n-1], k from 0; reorders them (Hoare 1961). */
static double smallest(double *v, int n, int k)
{
	int low = 0, high = n - 1;

	while (low < high) {
		double pivot = v[(low + high) / 2];
		int i = low, j = high;

		while (i <= j) {
			while (v[i] < pivot) i++;
			while (pivot < v[j]) j--;
			if (i > j) break;
			double swap = v[i];

			v[i++] = v[j];
			v[j--] = swap;
		}
		if (k <= j)
			high = j;
		else if (k >= i)
			low = i;
		else
			return v[k];
	}
	return v[k];
}

static void add_distance(int64_t n, double *restrict d2, double here, const iso_real *restrict f, double var)
{
	for (int64_t i = 0; i < n; i++) {
		double d = here - f[i];

		d2[i] += d * d / var;
	}
}

/* Distances of voxel `v` at `at` to all of its window in the image, in the order z, y, x; to itself -1: it comes first. */
static void look_around(struct window *w, const struct making *m, const int64_t at[3], int64_t v)
{
	const int64_t *n = m->p->grid.n, r = m->p->radius;
	int64_t from[3], to[3];

	for (int a = 0; a < 3; a++) {
		from[a] = at[a] > r ? at[a] - r : 0;
		to[a] = at[a] + r < n[a] ? at[a] + r + 1 : n[a];
	}
	const int64_t wide = to[0] - from[0];

	w->n = 0;
	for (int64_t z = from[2]; z < to[2]; z++)
		for (int64_t y = from[1]; y < to[1]; y++, w->n += (int)wide) {
			const int64_t row = (z * n[1] + y) * n[0] + from[0];

			memset(w->d2 + w->n, 0, (size_t)wide * sizeof *w->d2);
			for (int64_t i = 0; i < wide; i++) w->at[w->n + i] = (uint32_t)(row + i);
			for (int f = 0; f < m->features; f++)
				add_distance(wide, w->d2 + w->n, m->feature[f][v], m->feature[f] + row,
				             m->variance[f]);
			if (v >= row && v < row + wide) w->d2[w->n + (v - row)] = -1;
		}
}

/* The most alike of the window, at most k of them; ties go to the first. Weights over their sum. Returns their number. */
static int64_t choose(uint32_t *at, iso_real *weight, struct window *w, const struct iso_kernel *p)
{
	const int k = p->neighbours < w->n ? p->neighbours : w->n;
	double sum = 0, last;
	int ties = k, n = 0;

	memcpy(w->sorted, w->d2, (size_t)w->n * sizeof *w->sorted);
	last = smallest(w->sorted, w->n, k - 1);
	for (int i = 0; i < w->n; i++) ties -= w->d2[i] < last;
	for (int i = 0; i < w->n; i++) {
		if (w->d2[i] > last || (w->d2[i] >= last && ties-- <= 0)) continue;
		w->sorted[n] = exp(-fmax(w->d2[i], 0) / (2 * p->sigma * p->sigma));
		sum += w->sorted[n];
		at[n++] = w->at[i];
	}
	for (int i = 0; i < n; i++) weight[i] = (iso_real)(w->sorted[i] / sum);
	return n;
}

/* Voxels of row v: those of its window, at most k. */
static int64_t row_size(const struct iso_kernel *p, const int64_t at[3])
{
	int64_t size = 1;

	for (int a = 0; a < 3; a++) {
		int64_t from = at[a] > p->radius ? at[a] - p->radius : 0;
		int64_t to = at[a] + p->radius < p->grid.n[a] ? at[a] + p->radius + 1 : p->grid.n[a];

		size *= to - from;
	}
	return size < p->neighbours ? size : p->neighbours;
}

static void place_of(int64_t at[3], const struct iso_grid *g, int64_t v)
{
	at[0] = v % g->n[0];
	at[1] = v / g->n[0] % g->n[1];
	at[2] = v / g->n[0] / g->n[1];
}

static int make_rows(struct kernel *k, struct iso_room *room, const struct making *m, iso_ctx *ctx)
{
	const struct iso_kernel *p = m->p;
	const int64_t most = window(p);
	struct iso_room own = iso_room_of(ctx, "kernel");
	struct window *w;

	ISO_HOST(room, k->of.first, k->n + 1);
	for (int64_t v = 0; v < k->n && !room->status; v++) {
		int64_t at[3];

		place_of(at, &p->grid, v);
		k->of.first[v + 1] = k->of.first[v] + row_size(p, at);
	}
	ISO_HOST(room, k->of.at, room->status ? 0 : k->of.first[k->n]);
	ISO_HOST(room, k->of.w, room->status ? 0 : k->of.first[k->n]);
	ISO_HOST(&own, w, ctx->threads);
	for (int t = 0; t < ctx->threads && !own.status; t++) {
		ISO_HOST(&own, w[t].d2, most);
		ISO_HOST(&own, w[t].sorted, most);
		ISO_HOST(&own, w[t].at, most);
	}
	if (!own.status && !room->status) {
		struct iso_clock clock = iso_clock_brief(ctx, "kernel", "voxels", k->n, NULL);

#pragma omp parallel for num_threads(ctx->threads)
		for (int64_t v = 0; v < k->n; v++) {
			struct window *mine = &w[omp_get_thread_num()];
			int64_t at[3];

			if (iso_stopped(ctx)) continue;
			place_of(at, &p->grid, v);
			look_around(mine, m, at, v);
			choose(k->of.at + k->of.first[v], k->of.w + k->of.first[v], mine, p);
			iso_clock_add(&clock, 1);
		}
		iso_clock_end(&clock);
		own.status = iso_ctx_poll(ctx);
	}
	int st = iso_room_free(&own);

	return st ? st : room->status;
}

/* ---- the transpose ---- */

/* Entries of planes z0 to z1 - 1 of the transpose, from the rows that may have them, in order; with `filled` NULL they are
   counted, in first[v + 1]. */
static void turn_planes(struct kernel *k, const struct iso_kernel *p, int64_t z0, int64_t z1,
                        uint32_t *filled)
{
	const int64_t plane = p->grid.n[0] * p->grid.n[1], nz = p->grid.n[2];
	const int64_t begin = z0 > p->radius ? z0 - p->radius : 0,
		      end = z1 + p->radius < nz ? z1 + p->radius : nz;

	for (int64_t v = begin * plane; v < end * plane; v++)
		for (int64_t i = k->of.first[v]; i < k->of.first[v + 1]; i++) {
			const int64_t to = k->of.at[i];

			if (to < z0 * plane || to >= z1 * plane) continue;
			if (!filled) {
				k->back.first[to + 1]++;
				continue;
			}
			const int64_t j = k->back.first[to] + filled[to]++;

			k->back.at[j] = (uint32_t)v;
			k->back.w[j] = k->of.w[i];
		}
}

static int transpose(struct kernel *k, struct iso_room *room, const struct iso_kernel *p, iso_ctx *ctx)
{
	enum { PLANES = 16 };
	const int64_t nz = p->grid.n[2];
	struct iso_room own = iso_room_of(ctx, "kernel");
	uint32_t *filled;

	ISO_HOST(room, k->back.first, k->n + 1);
	ISO_HOST(room, k->back.at, k->of.first[k->n]);
	ISO_HOST(room, k->back.w, k->of.first[k->n]);
	ISO_HOST(&own, filled, k->n);
	for (int pass = 0; pass < 2 && !room->status && !own.status; pass++) {
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic)
		for (int64_t z = 0; z < nz; z += PLANES)
			turn_planes(k, p, z, z + PLANES < nz ? z + PLANES : nz, pass ? filled : NULL);
		for (int64_t v = 0; v < k->n && pass == 0; v++) k->back.first[v + 1] += k->back.first[v];
	}
	int st = iso_room_free(&own);

	return st ? st : room->status;
}

/* ---- the operator ---- */

static int apply(const iso_op *op, const struct kernel_rows *r, iso_real *y, const iso_real *x)
{
	const int64_t n = ((const struct kernel *)op->data)->n;

#pragma omp parallel for num_threads(op->ctx->threads)
	for (int64_t v = 0; v < n; v++) {
		double sum = 0;

		for (int64_t i = r->first[v]; i < r->first[v + 1]; i++) sum += (double)r->w[i] * x[r->at[i]];
		y[v] = (iso_real)sum;
	}
	return ISO_OK;
}

static int forward(const iso_op *op, int sub, iso_real *y, const iso_real *x)
{
	(void)sub; /* one subset only */
	return apply(op, &((const struct kernel *)op->data)->of, y, x);
}

static int adjoint(const iso_op *op, int sub, iso_real *x, const iso_real *y)
{
	(void)sub;
	return apply(op, &((const struct kernel *)op->data)->back, x, y);
}

static const struct iso_op_fn kernel_fn = { .forward = forward,
	                                    .adjoint = adjoint,
	                                    .to_cuda = "iso_kernel_to_cuda" };

/* Features that vary, with their variances. */
static int take_features(struct making *m, struct iso_room *room)
{
	const int64_t n = iso_grid_voxels(&m->p->grid);

	ISO_HOST(room, m->feature, m->p->n_features);
	ISO_HOST(room, m->variance, m->p->n_features);
	for (int f = 0; f < m->p->n_features && !room->status; f++) {
		const iso_real *v = m->p->feature + f * n;
		int64_t bad = 0;
		double var = variance(&bad, n, v);

		if (isnan(var))
			return iso_fail(ISO_EINPUT,
			                "kernel: voxel %" PRId64 " of feature %d is %g, must be finite", bad,
			                f, (double)v[bad]);
		if (!(var > 0)) continue;
		m->feature[m->features] = v;
		m->variance[m->features++] = var;
	}
	if (!room->status && m->features == 0)
		return iso_fail(ISO_EINPUT,
		                "kernel: %d features, of which none varies, must be at least one that does",
		                m->p->n_features);
	return room->status;
}

static int make_kernel(iso_op **op, iso_ctx *ctx, const struct iso_kernel *given)
{
	struct iso_kernel p;
	int st = iso_sized_take(&p, "iso_kernel", sizeof p, given);

	if (st) return st;
	if (p.neighbours == 0) p.neighbours = 48;
	if (p.radius == 0) p.radius = 3;
	if (p.sigma == 0) p.sigma = 1;
	if ((st = check(&p)) || (st = iso_ctx_ready(ctx))) return st;
	struct iso_room room = iso_room_of(ctx, "kernel"), own = room;
	struct making m = { .p = &p };
	struct kernel *k;

	st = take_features(&m, &own);
	if (!st && ISO_HOST(&room, k, 1)) {
		k->n = iso_grid_voxels(&p.grid);
		if (!(st = make_rows(k, &room, &m, ctx))) st = transpose(k, &room, &p, ctx);
	}
	iso_room_free(&own);
	if (!st) st = room.status;
	if (!st) return iso_op_create_in(op, ctx, &kernel_fn, k->n, k->n, 1, &room, k);
	iso_room_free(&room);
	return st;
}

int iso_kernel_create(iso_op **op, iso_ctx *ctx, const struct iso_kernel *given)
{
	if (!op || !ctx || !given) return iso_fail_null(__func__);
	iso_op *made = NULL;
	int st = make_kernel(&made, ctx, given);

	return iso_op_agree(op, made, ctx, st);
}
