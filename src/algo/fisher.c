/* SPDX-License-Identifier: BSD-3-Clause */
/* Covariance of regions of a penalised image without replicates (Fessler 1996): the sandwich

	F = A* diag(y / q^2) A,   q = A x + r/m,   H = F + beta R''(x),   Cov(i, k) = u_i F u_k,   H u_i = c_i on the free voxels

   with the region's averaging weights c_i. A few iterations of conjugate gradients a region, preconditioned by the diagonal

	D = A*(y (A 1) / q^2) + beta diag R''

   Free voxels are those that are seen, above 0, and would not end at 0 by one step g / D. */
#include "loop.h"
#include "prior.h"

#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"
#include "core/sized.h"
#include "isotome/dynamic.h"

#include <math.h>
#include <string.h>

enum { BATCH = 4, MOST_BATCH = 64, ITERATIONS = 100 };
#define TOLERANCE 1e-4
#define DARK 1e-9 /* of the largest voxel: 0 */

struct fisher {
	struct iso_loop l;
	struct iso_fisher p;
	iso_real *x, *free,
		*over; /* images on the device: the image; 1 in free voxels; 1 / D in them, else 0 */
	iso_real *w;   /* rows on the device: y / q^2 */
	/* on the device, of each region in hand: solution, residual, direction, product; and rows */
	iso_real *u, *r, *s, *t, *rows;
	iso_real *z; /* an image on the device */
	struct iso_fisher_result found;
};

static const struct iso_loop_fn fisher_fn = { .name = "covariance", .unit = "regions", .figure = "residual" };

/* ---- at the image ---- */

/* Host copies of what the preparation needs, freed with it. */
struct prepared {
	struct iso_room room;
	iso_real *q, *y, *add, *mult; /* rows */
	iso_real *g, *d, *h, *back;   /* images */
};

static int fetch(struct fisher *e, struct prepared *h, iso_real **to, const iso_real *from)
{
	const struct iso_loop *l = &e->l;

	*to = NULL;
	if (!from) return ISO_OK;
	if (!ISO_HOST(&h->room, *to, l->n_data)) return h->room.status;
	return l->v->download(l->ctx, *to, from, l->n_data * (int64_t)sizeof *from);
}

static int project_back(struct fisher *e, iso_real *host, const iso_real *rows)
{
	struct iso_loop *l = &e->l;
	int st = l->v->upload(l->ctx, e->rows, rows, l->n_data * (int64_t)sizeof *rows);

	if (!st) st = iso_adjoint(e->z, l->op, ISO_ALL, e->rows);
	return st ? st : l->v->download(l->ctx, host, e->z, l->n * (int64_t)sizeof *host);
}

/* w = y / q^2 on the device, y / q in h->y, and w A 1 in h->q. */
static int weigh_rows(struct fisher *e, struct prepared *h)
{
	struct iso_loop *l = &e->l;
	iso_real *w, *chord;
	int st;

	ISO_HOST(&h->room, w, l->n_data);
	ISO_HOST(&h->room, chord, l->n_data);
	if (!h->y) ISO_HOST(&h->room, h->y, l->n_data);
	if ((st = h->room.status)) return st;
	if ((st = l->v->fill(l->ctx, l->n, e->z, 1)) || (st = iso_forward(e->rows, l->op, ISO_ALL, e->z)) ||
	    (st = l->v->download(l->ctx, chord, e->rows, l->n_data * (int64_t)sizeof *chord)))
		return st;
#pragma omp parallel for num_threads(l->ctx->threads)
	for (int64_t j = 0; j < l->n_data; j++) {
		const double q = (double)h->q[j] + (h->add ? h->add[j] : 0),
			     count = e->p.data.y ? h->y[j] : 1;
		const bool used = q > 0 && (!h->mult || h->mult[j] > 0);

		h->y[j] = (iso_real)(used ? count / q : 0);
		w[j] = (iso_real)(used ? count / q / q : 0);
		h->q[j] = w[j] * chord[j];
	}
	return l->v->upload(l->ctx, e->w, w, l->n_data * (int64_t)sizeof *w);
}

/* Gradient and diagonal on the host. */
static int differentiate(struct fisher *e, struct prepared *h, const iso_real *sens)
{
	struct iso_loop *l = &e->l;
	const int64_t bytes = l->n * (int64_t)sizeof *h->g;
	int st;

	if ((st = project_back(e, h->g, h->y)) || (st = project_back(e, h->d, h->q)) ||
	    (st = iso_prior_eval(NULL, e->z, NULL, e->t, e->p.prior, e->x)) ||
	    (st = l->v->download(l->ctx, h->back, e->z, bytes)) ||
	    (st = l->v->download(l->ctx, h->h, e->t, bytes)))
		return st;
	for (int64_t i = 0; i < l->n; i++) {
		h->g[i] = (iso_real)(h->g[i] - sens[i] - e->p.beta * h->back[i]);
		h->d[i] = (iso_real)(h->d[i] + e->p.beta * h->h[i]);
	}
	return ISO_OK;
}

/* How far the image is from the maximum, and which voxels are free. */
static int find_free(struct fisher *e, struct prepared *h, const iso_real *sens, const iso_real *x)
{
	struct iso_loop *l = &e->l;
	double most = 0, above = 0, below = 0;
	int st;

	for (int64_t i = 0; i < l->n; i++) most = x[i] > most ? x[i] : most;
	for (int64_t i = 0; i < l->n; i++) {
		const bool is_free =
			sens[i] > 0 && x[i] > DARK * most && h->d[i] > 0 && x[i] + h->g[i] / h->d[i] > 0;

		if (sens[i] > 0) {
			above += (double)h->g[i] / sens[i] * h->g[i] * x[i];
			below += (double)sens[i] * x[i];
		}
		h->back[i] = is_free;
		h->d[i] = is_free ? 1 / h->d[i] : 0;
		e->found.free += is_free;
	}
	e->found.residual = below > 0 ? sqrt(above / below) : INFINITY;
	if (!(st = l->v->upload(l->ctx, e->free, h->back, l->n * (int64_t)sizeof *h->back)))
		st = l->v->upload(l->ctx, e->over, h->d, l->n * (int64_t)sizeof *h->d);
	return st;
}

static int prepare(struct fisher *e, const iso_real *sens, const iso_real *x)
{
	struct prepared h = { .room = iso_room_of(NULL, "covariance") };
	struct iso_loop *l = &e->l;
	int st = iso_forward(e->rows, l->op, ISO_ALL, e->x);

	if (!st) st = fetch(e, &h, &h.q, e->rows);
	if (!st) st = fetch(e, &h, &h.y, e->p.data.y);
	if (!st) st = fetch(e, &h, &h.add, e->p.data.add);
	if (!st) st = fetch(e, &h, &h.mult, e->p.data.mult);
	ISO_HOST(&h.room, h.g, l->n);
	ISO_HOST(&h.room, h.d, l->n);
	ISO_HOST(&h.room, h.h, l->n);
	ISO_HOST(&h.room, h.back, l->n);
	st = iso_comm_agree(l->ctx, st ? st : h.room.status);
	if (!st) st = iso_comm_agree(l->ctx, weigh_rows(e, &h));
	if (!st) st = differentiate(e, &h, sens);
	if (!st) st = find_free(e, &h, sens, x);
	iso_room_free(&h.room);
	return st;
}

/* ---- solving ---- */

/* t = F s of n images, and with `all` t = H s in the free voxels. */
static int multiply(struct fisher *e, int n, iso_real *t, const iso_real *s, bool all)
{
	struct iso_loop *l = &e->l;
	int st = iso_forward_many(e->rows, l->op, ISO_ALL, n, s);

	for (int i = 0; i < n && !st; i++) {
		iso_real *rows = e->rows + i * l->n_data;

		st = l->v->mul(l->ctx, l->n_data, rows, rows, e->w);
	}
	if (!st) st = iso_adjoint_many(t, l->op, ISO_ALL, n, e->rows);
	for (int i = 0; i < n && all && !st; i++) {
		iso_real *to = t + i * l->n;

		if (!(st = iso_prior_product(e->z, e->p.prior, e->x, s + i * l->n)) &&
		    !(st = l->v->axpy(l->ctx, l->n, to, e->p.beta, e->z)))
			st = l->v->mul(l->ctx, l->n, to, to, e->free);
	}
	return st;
}

/* One region's solve. */
struct solve {
	double least, rz; /* squared residual to end at; of residual and preconditioned residual */
	bool done;
};

/* z = r / D, and its product with r. */
static int precondition(struct fisher *e, double *rz, const iso_real *r)
{
	struct iso_loop *l = &e->l;
	int st = l->v->mul(l->ctx, l->n, e->z, r, e->over);

	return st ? st : l->v->dot(l->ctx, l->n, rz, r, e->z);
}

static int begin(struct fisher *e, struct solve *v, int i, const iso_real *c)
{
	struct iso_loop *l = &e->l;
	iso_real *u = e->u + i * l->n, *r = e->r + i * l->n, *s = e->s + i * l->n;
	double cc;
	int st;

	if ((st = l->v->upload(l->ctx, r, c, l->n * (int64_t)sizeof *c)) ||
	    (st = l->v->fill(l->ctx, l->n, u, 0)) || (st = l->v->mul(l->ctx, l->n, r, r, e->free)) ||
	    (st = l->v->dot(l->ctx, l->n, &cc, r, r)) || (st = precondition(e, &v->rz, r)) ||
	    (st = l->v->copy(l->ctx, l->n, s, e->z)))
		return st;
	v->least = e->p.tolerance * e->p.tolerance * cc;
	v->done = !(cc > 0);
	return ISO_OK;
}

static int advance(struct fisher *e, struct solve *v, int i)
{
	struct iso_loop *l = &e->l;
	iso_real *u = e->u + i * l->n, *r = e->r + i * l->n, *s = e->s + i * l->n, *t = e->t + i * l->n;
	double st_dot, rr, rz;
	int st = l->v->dot(l->ctx, l->n, &st_dot, s, t);

	if (st || !(st_dot > 0)) {
		v->done = true;
		return st;
	}
	if ((st = l->v->axpy(l->ctx, l->n, u, v->rz / st_dot, s)) ||
	    (st = l->v->axpy(l->ctx, l->n, r, -v->rz / st_dot, t)) ||
	    (st = l->v->dot(l->ctx, l->n, &rr, r, r)))
		return st;
	if ((v->done = rr <= v->least)) return ISO_OK;
	if ((st = precondition(e, &rz, r)) || (st = l->v->axpy(l->ctx, l->n, e->z, rz / v->rz, s))) return st;
	v->rz = rz;
	return l->v->copy(l->ctx, l->n, s, e->z);
}

/* u of n regions, n at most the batch. */
static int solve(struct fisher *e, int n, const iso_real *c)
{
	struct solve v[MOST_BATCH];
	int st = ISO_OK, left = 0, it = 0;

	for (int i = 0; i < n && !st; i++) {
		st = begin(e, v + i, i, c + i * e->l.n);
		left += !v[i].done;
	}
	for (; left > 0 && it < e->p.iterations && !st; it++) {
		left = 0;
		st = multiply(e, n, e->t, e->s, true);
		for (int i = 0; i < n && !st; i++) {
			if (!v[i].done) st = advance(e, v + i, i);
			left += !v[i].done;
		}
	}
	if (!st && left > 0)
		st = iso_fail(ISO_EARG,
		              "covariance: %d of %d regions are not solved after %d iterations; the penalty "
		              "is too weak",
		              left, n, it);
	e->found.iterations = it > e->found.iterations ? it : e->found.iterations;
	return st;
}

static int solve_all(struct fisher *e, double *covariance, iso_real *u, int regions, const iso_real *c)
{
	struct iso_loop *l = &e->l;
	struct iso_room room = iso_room_of(l->ctx, "covariance");
	struct iso_clock clock = iso_clock_start(l->ctx, "covariance", 0, regions);
	const int64_t bytes = l->n * (int64_t)sizeof *u;
	iso_real *all = u; /* on the host */
	int st;

	if (!all) ISO_HOST(&room, all, regions * l->n);
	st = iso_comm_agree(l->ctx, room.status);
	for (int i = 0; i < regions && !st; i += e->p.batch) {
		const int n = regions - i < e->p.batch ? regions - i : e->p.batch;

		if ((st = solve(e, n, c + i * l->n)) || (st = multiply(e, n, e->t, e->u, false)) ||
		    (st = l->v->download(l->ctx, all + i * l->n, e->u, n * bytes)))
			break;
		/* with the solutions that there are so far */
		for (int k = 0; k < i + n && !st; k++) {
			st = l->v->upload(l->ctx, e->z, all + k * l->n, bytes);
			for (int a = 0; a < n && !st; a++) {
				if (k > i + a) continue;
				st = l->v->dot(l->ctx, l->n, covariance + (i + a) * regions + k, e->z,
				               e->t + a * l->n);
				covariance[k * regions + i + a] = covariance[(i + a) * regions + k];
			}
		}
		iso_clock_step(&clock, i + n, NULL);
	}
	iso_room_free(&room);
	return st;
}

/* ---- the interface ---- */

static int check(struct iso_fisher *p, int regions)
{
	const char *lacks = !p->op      ? "operator"
	                    : !p->prior ? "penalty"
	                    : !p->sens  ? "sensitivity"
	                    : !p->image ? "image"
	                                : NULL;

	if (lacks) return iso_fail(ISO_EARG, "covariance: there is no %s", lacks);
	if (!(p->beta > 0 && isfinite(p->beta)))
		return iso_fail(ISO_EARG, "covariance: a strength of %g of the penalty, must be above 0",
		                p->beta);
	if (regions < 0) return iso_fail(ISO_EARG, "covariance: %d regions, must not be negative", regions);
	if (p->batch < 0 || p->batch > MOST_BATCH || p->iterations < 0 || !(p->tolerance >= 0))
		return iso_fail(ISO_EARG,
		                "covariance: %d regions a pass (at most %d), %d iterations, tolerance %g",
		                p->batch, MOST_BATCH, p->iterations, p->tolerance);
	p->batch = p->batch ? p->batch : BATCH;
	if (regions > 0 && p->batch > regions) p->batch = regions;
	p->iterations = p->iterations ? p->iterations : ITERATIONS;
	p->tolerance = p->tolerance > 0 ? p->tolerance : TOLERANCE;
	return ISO_OK;
}

static int load(struct fisher *e, const iso_real **sens, const iso_real **x)
{
	struct iso_loop *l = &e->l;
	const int64_t images = e->p.batch * l->n;
	int st;

	if ((st = iso_loop_take(l, "sensitivity", l->n, sens, true)) ||
	    (st = iso_loop_take(l, "image", l->n, x, true)) || (st = iso_loop_em_data(l, &e->p.data, NULL)))
		return st;
	ISO_UPLOAD(&l->room, e->x, *x, l->n);
	ISO_DEVICE(&l->room, e->free, l->n);
	ISO_DEVICE(&l->room, e->over, l->n);
	ISO_DEVICE(&l->room, e->z, l->n);
	ISO_DEVICE(&l->room, e->u, images);
	ISO_DEVICE(&l->room, e->r, images);
	ISO_DEVICE(&l->room, e->s, images);
	ISO_DEVICE(&l->room, e->t, images);
	ISO_DEVICE(&l->room, e->w, l->n_data);
	ISO_DEVICE(&l->room, e->rows, e->p.batch * l->n_data);
	return l->room.status;
}

int iso_fisher_run(double *covariance, iso_real *u, struct iso_fisher_result *r,
                   const struct iso_fisher *given, int regions, const iso_real *weight)
{
	struct iso_fisher_result own = { .size = sizeof own };
	const iso_real *sens, *x;
	struct iso_fisher p;
	struct fisher *e;
	int st = iso_sized_clear(r, "iso_fisher_result", sizeof own);

	if (!covariance || !weight) return iso_fail_null(__func__);
	if (!st) st = iso_sized_take(&p, "iso_fisher", sizeof p, given);
	if (!st) st = check(&p, regions);
	if (st) return st;
	if (!(e = iso_loop_make(sizeof *e, &fisher_fn, p.op, ISO_HOST, 0)))
		return iso_comm_agree(iso_op_ctx(p.op), ISO_ENOMEM);
	e->p = p;
	e->found = own;
	sens = p.sens;
	x = p.image;
	st = iso_comm_agree(e->l.ctx, load(e, &sens, &x));
	if (!st) st = prepare(e, sens, x);
	if (!st && regions > 0 && e->found.residual <= (p.most_residual > 0 ? p.most_residual : INFINITY))
		st = solve_all(e, covariance, u, regions, weight);
	if (!st && r) iso_sized_give(r, sizeof e->found, &e->found);
	iso_loop_free(&e->l);
	return st;
}
