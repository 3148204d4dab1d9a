/* SPDX-License-Identifier: BSD-3-Clause */
/* The Laplacian of the events: (L s)_a = sum over the events of a of w_j (s_a - s_b). */
#include "timing_graph.h"

#include <math.h>
#include <string.h>

enum { MOST_PRODUCTS = 2000, FEW = 1 << 16 };

void timing_graph_begin(struct timing_graph *g, struct iso_room *room, int64_t n, int64_t crystals,
                        const uint32_t *crystal)
{
	*g = (struct timing_graph){ .ctx = room->ctx, .n = n, .crystals = crystals, .crystal = crystal };
	g->threads = n < FEW ? 1 : room->ctx->threads;
	ISO_HOST(room, g->weight, n);
	ISO_HOST(room, g->piece, TIMING_PIECES * crystals);
	ISO_HOST(room, g->diagonal, crystals);
	ISO_HOST(room, g->r, crystals);
	ISO_HOST(room, g->z, crystals);
	ISO_HOST(room, g->d, crystals);
	ISO_HOST(room, g->q, crystals);
	ISO_HOST(room, g->part, crystals);
}

void timing_gather(double *to, const struct timing_graph *g)
{
#pragma omp parallel for num_threads(g->threads)
	for (int64_t a = 0; a < g->crystals; a++) {
		double sum = 0;

		for (int k = 0; k < TIMING_PIECES; k++) sum += g->piece[k * g->crystals + a];
		to[a] = sum;
	}
}

/* Sums of w_j (s_a - s_b), or, without s, of w_j. */
static void sum_events(double *to, const struct timing_graph *g, const double *s)
{
#pragma omp parallel for num_threads(g->threads) schedule(dynamic, 1)
	for (int k = 0; k < TIMING_PIECES; k++) {
		double *sum = g->piece + k * g->crystals;

		memset(sum, 0, (size_t)g->crystals * sizeof *sum);
		for (int64_t j = timing_piece_begins(g, k); j < timing_piece_begins(g, k + 1); j++) {
			const uint32_t a = g->crystal[2 * j], b = g->crystal[2 * j + 1];
			const double w = s ? (double)g->weight[j] * (s[a] - s[b]) : (double)g->weight[j];

			sum[a] += w;
			sum[b] += s ? -w : w;
		}
	}
	timing_gather(to, g);
}

void timing_diagonal(struct timing_graph *g)
{
	sum_events(g->diagonal, g, NULL);
}

/* ---- parts: the least crystal of each stands for it ---- */

static int64_t root_of(int64_t *parent, int64_t a)
{
	while (parent[a] != a) {
		parent[a] = parent[parent[a]];
		a = parent[a];
	}
	return a;
}

void timing_parts(struct timing_graph *g)
{
	int64_t *parent = g->part;

	for (int64_t a = 0; a < g->crystals; a++) {
		parent[a] = a;
		g->r[a] = 0; /* whether it has events */
	}
	for (int64_t j = 0; j < g->n; j++) {
		const int64_t a = g->crystal[2 * j], b = g->crystal[2 * j + 1];
		const int64_t p = root_of(parent, a), q = root_of(parent, b);

		g->r[a] = g->r[b] = 1;
		parent[p > q ? p : q] = p < q ? p : q;
	}
	for (int64_t a = 0; a < g->crystals; a++) parent[a] = root_of(parent, a);
	g->parts = 0;
	for (int64_t a = 0; a < g->crystals; a++) /* roots come before their crystals */
		if (g->r[a] == 0)
			parent[a] = -1;
		else
			parent[a] = parent[a] == a ? g->parts++ : parent[parent[a]];
}

void timing_centre(double *v, const struct timing_graph *g)
{
	double *sum = g->z, *count = g->q;

	memset(sum, 0, (size_t)g->crystals * sizeof *sum);
	memset(count, 0, (size_t)g->crystals * sizeof *count);
	for (int64_t a = 0; a < g->crystals; a++)
		if (g->part[a] >= 0) {
			sum[g->part[a]] += v[a];
			count[g->part[a]]++;
		}
	for (int64_t a = 0; a < g->crystals; a++)
		v[a] = g->part[a] < 0 ? 0 : v[a] - sum[g->part[a]] / count[g->part[a]];
}

/* ---- conjugate gradients, the diagonal as preconditioner ---- */

static double dot(int64_t n, const double *x, const double *y)
{
	double sum = 0;

	for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
	return sum;
}

static double precondition(struct timing_graph *g, const double *r)
{
	for (int64_t a = 0; a < g->crystals; a++) g->z[a] = g->diagonal[a] > 0 ? r[a] / g->diagonal[a] : 0;
	return dot(g->crystals, r, g->z);
}

int timing_solve(double *s, struct timing_graph *g, double *b, double tolerance)
{
	const int64_t n = g->crystals;
	const double enough = tolerance * sqrt(dot(n, b, b));
	double rz = precondition(g, b);

	memset(s, 0, (size_t)n * sizeof *s);
	memcpy(g->d, g->z, (size_t)n * sizeof *g->d);
	for (int k = 0; k < MOST_PRODUCTS && sqrt(dot(n, b, b)) > enough; k++) {
		int st = iso_ctx_poll(g->ctx);

		if (st) return st;
		sum_events(g->q, g, g->d);
		const double dq = dot(n, g->d, g->q);

		if (!(dq > 0)) break;
		for (int64_t a = 0; a < n; a++) {
			s[a] += rz / dq * g->d[a];
			b[a] -= rz / dq * g->q[a];
		}
		const double before = rz;

		rz = precondition(g, b);
		for (int64_t a = 0; a < n; a++) g->d[a] = g->z[a] + rz / before * g->d[a];
	}
	return ISO_OK;
}
