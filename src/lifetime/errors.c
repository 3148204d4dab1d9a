/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the maps: of each voxel by itself, or with what voxels share, by solves with random data (Hutchinson 1990). */
#include "core/philox.h"
#include "triples_cuda.h"
#include "fit.h"

enum { TOGETHER = SCORES_TOGETHER, SOLVES = 400, DOT_PARTS = 64 };

#define CLOSE 1e-4 /* of a solve */

/* ---- each voxel by itself ---- */

static void by_diagonal(double *error, const struct fit *f)
{
	for (int64_t v = 0; v < f->n; v++) {
		const double *s = f->l.sums + v * SUMS, rate = f->rate[v];
		const double a = s[SUM_RATE_RATE] * rate * rate, b = s[SUM_RATE_W] * rate, c = s[SUM_W_W];
		const double det = a * c - b * b;

		error[v] = f->w_free ? (det > 0 ? sqrt(c / det) : INFINITY) : a > 0 ? 1 / sqrt(a) : INFINITY;
		if (f->w_free) error[f->n + v] = det > 0 ? sqrt(a / det) : INFINITY;
	}
}

/* ---- with what voxels share ---- */

/* The score of each triple by the unknowns of its row: F = C* C. */
struct probes {
	struct fit *f;
	const double *x;
	int per; /* unknowns of a voxel: 1 or 2 */
	int threads;
	double *c;                  /* (entries, per) */
	struct scores_cuda *cuda;   /* those on a device; NULL: on the host */
	struct parts parts;         /* TOGETHER values an unknown */
	double *v, *z, *d, *gd, *r; /* of the solves: TOGETHER values an unknown */
	double *inverse;            /* of the diagonal */
};

static int64_t unknown(const struct probes *p, int32_t voxel, int which)
{
	return voxel + which * p->f->n;
}

static void take_scores(struct probes *p)
{
	const struct iso_triples *t = p->f->t;
	const struct likelihood *l = &p->f->l;

#pragma omp parallel for num_threads(t->room.ctx->threads) schedule(dynamic, 64)
	for (int64_t j = 0; j < t->n; j++) {
		const struct triple_row row = triple_row(t, j);
		struct scratch *s = likelihood_scratch(l);
		const double q = likelihood_row(l, s, j);

		for (int64_t i = 0; i < row.n && q > 0; i++) {
			const struct voxel_state *v = l->state + row.voxel[i];
			const double part = (double)row.w[i] * v->f / q;
			double *c = p->c + (t->start[j] + i) * p->per;

			c[0] = part * s->d[i].by_rate * v->rate;
			if (p->per > 1) c[1] = part * s->d[i].by_w;
		}
	}
}

/* to += C*_j a. */
static void add_back(double *to, const struct probes *p, int64_t j, const double a[TOGETHER])
{
	const struct triple_row row = triple_row(p->f->t, j);
	const double *c = p->c + p->f->t->start[j] * p->per;

	for (int64_t i = 0; i < row.n * p->per; i++) {
		double *sum = to + unknown(p, row.voxel[i / p->per], (int)(i % p->per)) * TOGETHER;

		for (int k = 0; k < TOGETHER; k++) sum[k] += c[i] * a[k];
	}
}

static void see(double a[TOGETHER], const struct probes *p, int64_t j, const double *x)
{
	const struct triple_row row = triple_row(p->f->t, j);
	const double *c = p->c + p->f->t->start[j] * p->per;

	for (int k = 0; k < TOGETHER; k++) a[k] = 0;
	for (int64_t i = 0; i < row.n * p->per; i++) {
		const double *v = x + unknown(p, row.voxel[i / p->per], (int)(i % p->per)) * TOGETHER;

		for (int k = 0; k < TOGETHER; k++) a[k] += c[i] * v[k];
	}
}

/* to = C* C x; or, without x, C* xi: normal numbers for each triple and probe from `first` on. */
static int pass(double *to, const struct probes *p, const double *x, int first)
{
	const struct iso_triples *t = p->f->t;

	if (p->cuda) return t->fn->probe(to, p->cuda, x, p->f->p->seed, first);
	parts_clear(&p->parts, t->room.ctx);
#pragma omp parallel for num_threads(t->room.ctx->threads) schedule(dynamic)
	for (int part = 0; part < p->parts.n; part++) {
		const struct iso_rows rows = parts_rows(&p->parts, t->n, part);

		for (int64_t j = rows.first; j < rows.first + rows.n; j++) {
			double a[TOGETHER];

			if (x) see(a, p, j, x);
			for (int k = 0; k < TOGETHER && !x; k++) {
				const struct philox q = philox_draw(p->f->p->seed, (uint64_t)t->file[j],
				                                    (uint64_t)(first + k));

				a[k] = philox_gauss(q.w[0], q.w[1]);
			}
			add_back(p->parts.v + part * p->parts.values, p, j, a);
		}
	}
	parts_sum(to, &p->parts, t->room.ctx);
	return ISO_OK;
}

/* to += beta R'' x for probe k: from the penalty's gradients on both sides. */
static int add_penalty(double *to, const struct probes *p, const double *x, int k, int which)
{
	struct fit *f = p->f;
	const double *at = p->x + which * f->n;
	double most = 0;
	int st;

	for (int64_t v = 0; v < f->n; v++) most = fmax(most, fabs(x[(which * f->n + v) * TOGETHER + k]));
	if (!(most > 0) || !(f->beta[which] > 0)) return ISO_OK;
	for (int side = -1; side <= 1; side += 2) {
		const double step = side * .05 / most;

		for (int64_t v = 0; v < f->n; v++)
			f->image[v] = (iso_real)(at[v] + step * x[(which * f->n + v) * TOGETHER + k]);
		if ((st = iso_prior_eval(NULL, f->slope, NULL, NULL, f->p->prior, f->image))) return st;
		for (int64_t v = 0; v < f->n; v++)
			to[(which * f->n + v) * TOGETHER + k] +=
				f->beta[which] * (double)f->slope[v] / (2 * step);
	}
	return ISO_OK;
}

/* to = G x, G = F + beta R''. */
static int apply(double *to, const struct probes *p, const double *x)
{
	int st = pass(to, p, x, 0);

	for (int which = 0; which < p->per && p->f->p->prior; which++)
		for (int k = 0; k < TOGETHER && !st; k++) st = add_penalty(to, p, x, k, which);
	return st ? st : iso_ctx_poll(p->f->t->room.ctx);
}

/* By parts, which are the same for any number of threads. */
static void dots(double to[TOGETHER], const struct probes *p, const double *a, const double *b)
{
	const int64_t n = p->f->unknowns;
	double part[DOT_PARTS][TOGETHER];

#pragma omp parallel for num_threads(p->threads) if (n > MANY)
	for (int q = 0; q < DOT_PARTS; q++) {
		for (int k = 0; k < TOGETHER; k++) part[q][k] = 0;
		for (int64_t i = n * q / DOT_PARTS; i < n * (q + 1) / DOT_PARTS; i++)
			for (int k = 0; k < TOGETHER; k++)
				part[q][k] += a[i * TOGETHER + k] * b[i * TOGETHER + k];
	}
	for (int k = 0; k < TOGETHER; k++) {
		to[k] = 0;
		for (int q = 0; q < DOT_PARTS; q++) to[k] += part[q][k];
	}
}

static void precondition(const struct probes *p)
{
#pragma omp parallel for num_threads(p->threads) if (p->f->unknowns > MANY)
	for (int64_t i = 0; i < p->f->unknowns * TOGETHER; i++) p->z[i] = p->r[i] * p->inverse[i / TOGETHER];
}

/* The next direction, from what was left before and is now; returns whether a solve goes on. */
static bool turn(const struct probes *p, double rz[TOGETHER], const double first[TOGETHER])
{
	double next[TOGETHER], by[TOGETHER];
	bool going = false;

	precondition(p);
	dots(next, p, p->r, p->z);
	for (int k = 0; k < TOGETHER; k++) {
		by[k] = rz[k] > 0 ? next[k] / rz[k] : 0;
		going = going || next[k] > CLOSE * CLOSE * first[k];
		rz[k] = next[k];
	}
#pragma omp parallel for num_threads(p->threads) if (p->f->unknowns > MANY)
	for (int64_t i = 0; i < p->f->unknowns; i++)
		for (int k = 0; k < TOGETHER; k++)
			p->d[i * TOGETHER + k] = p->z[i * TOGETHER + k] + by[k] * p->d[i * TOGETHER + k];
	return going;
}

static void advance(const struct probes *p, const double rz[TOGETHER])
{
	double dgd[TOGETHER], a[TOGETHER];

	dots(dgd, p, p->d, p->gd);
	for (int k = 0; k < TOGETHER; k++) a[k] = dgd[k] > 0 ? rz[k] / dgd[k] : 0;
#pragma omp parallel for num_threads(p->threads) if (p->f->unknowns > MANY)
	for (int64_t i = 0; i < p->f->unknowns; i++)
		for (int k = 0; k < TOGETHER; k++) {
			p->v[i * TOGETHER + k] += a[k] * p->d[i * TOGETHER + k];
			p->r[i * TOGETHER + k] -= a[k] * p->gd[i * TOGETHER + k];
		}
}

/* v = G^-1 r, by conjugate gradients; r is used up. */
static int solve(const struct probes *p)
{
	const int64_t bytes = p->f->unknowns * TOGETHER * (int64_t)sizeof *p->v;
	double rz[TOGETHER], first[TOGETHER];
	bool going = true;
	int st;

	memset(p->v, 0, (size_t)bytes);
	precondition(p);
	memcpy(p->d, p->z, (size_t)bytes);
	dots(rz, p, p->r, p->z);
	memcpy(first, rz, sizeof first);
	for (int it = 0; it < SOLVES && going; it++) {
		if ((st = apply(p->gd, p, p->d))) return st;
		advance(p, rz);
		going = turn(p, rz, first);
	}
	return ISO_OK;
}

static int open_probes(struct probes *p, struct fit *f, struct iso_room *work, const double *x)
{
	const int64_t n = f->unknowns * TOGETHER;

	*p = (struct probes){ .f = f, .x = x, .per = f->w_free ? 2 : 1, .threads = f->t->room.ctx->threads };
	ISO_HOST(work, p->v, n);
	ISO_HOST(work, p->z, n);
	ISO_HOST(work, p->d, n);
	ISO_HOST(work, p->gd, n);
	ISO_HOST(work, p->r, n);
	ISO_HOST(work, p->inverse, f->unknowns);
	for (int64_t i = 0; i < f->unknowns && !work->status; i++)
		p->inverse[i] = f->diagonal[i] > 0 ? 1 / f->diagonal[i] : 0;
	if (f->t->cuda) return work->status ? work->status : f->t->fn->scores(&p->cuda, work, &f->l, p->per);
	int st = iso_memory_check(f->t->room.ctx, "scores of triples",
	                          f->t->start[f->t->n] * p->per * (int64_t)sizeof *p->c);

	if (st) return st;
	ISO_HOST(work, p->c, f->t->start[f->t->n] * p->per);
	if ((st = parts_open(&p->parts, work, f->t->n, n))) return st;
	take_scores(p);
	return ISO_OK;
}

/* The spread of G^-1 s, s with the covariance F: sqrt(diag(G^-1 F G^-1)). Voxels of which the triples tell nothing have
   none of their own: where nothing ties them to others either, their error is infinite. */
static int by_probes(double *error, const struct probes *p)
{
	const struct fit *f = p->f;
	int st = ISO_OK, done = 0;

	for (int64_t i = 0; i < f->unknowns; i++) error[i] = 0;
	for (; done < f->p->repeats && !st; done += TOGETHER) {
		if ((st = pass(p->r, p, NULL, done)) || (st = solve(p))) break;
		for (int64_t i = 0; i < f->unknowns; i++)
			for (int k = 0; k < TOGETHER; k++)
				error[i] += p->v[i * TOGETHER + k] * p->v[i * TOGETHER + k];
	}
	for (int64_t i = 0; i < f->unknowns && !st; i++)
		error[i] = error[i] > 0 ? sqrt(error[i] / done) : INFINITY;
	return st;
}

/* r = how the means of regions from `first` on change with u: -tau, weighted by counts. */
static void set_regions(const struct probes *p, int first)
{
	const struct fit *f = p->f;
	double sum[TOGETHER] = { 0 };

	memset(p->r, 0, (size_t)(f->unknowns * TOGETHER) * sizeof *p->r);
	for (int side = 0; side < 2; side++)
		for (int64_t v = 0; v < f->n; v++) {
			const int k = f->p->region[v] - 1 - first;
			const double counts = f->l.sums[v * SUMS + SUM_COUNTS];

			if (k < 0 || k >= TOGETHER) continue;
			if (side == 0)
				sum[k] += counts;
			else if (counts > 0)
				p->r[v * TOGETHER + k] = counts / (sum[k] * f->rate[v]);
		}
}

/* The error of a mean e u: sqrt(y F y), G y = e. One solve each, several side by side. */
static int by_regions(double *error, const struct probes *p)
{
	const struct fit *f = p->f;
	double squares[TOGETHER];
	int st;

	for (int first = 0; first < f->p->regions; first += TOGETHER) {
		set_regions(p, first);
		if ((st = solve(p)) || (st = pass(p->gd, p, p->v, 0))) return st;
		dots(squares, p, p->v, p->gd);
		for (int k = 0; k < TOGETHER && first + k < f->p->regions; k++)
			error[first + k] = squares[k] > 0 ? sqrt(squares[k]) : INFINITY;
	}
	return ISO_OK;
}

int fit_errors(double *error, double *region, struct fit *f, struct iso_room *work, const double *x)
{
	struct probes p;
	int st;

	by_diagonal(error, f);
	if (f->p->error != ISO_LIFETIME_FULL && !region) return ISO_OK;
	if ((st = open_probes(&p, f, work, x))) return st;
	if (f->p->error == ISO_LIFETIME_FULL) st = by_probes(error, &p);
	return !st && region ? by_regions(region, &p) : st;
}
