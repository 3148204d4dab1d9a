/* SPDX-License-Identifier: BSD-3-Clause */
/* The maximum within bounds: steps of limited-memory BFGS (Nocedal 1980) over the unknowns that may move, from the
   inverse of the diagonal. */
#include "fit.h"

enum { PAIRS = 10, DOT_PARTS = 64 }; /* parts: sums are the same for any number of threads */

#define FARTHEST .7 /* of a step in u, and in w */
#define FARTHEST_W .15
#define CLOSE 5e-5  /* residual at which it ends, */
#define NEAR 1e-3   /* and below which rounding may end it sooner */
#define ENOUGH 1e-4 /* of the rise that a step promises */
#define SHORTER .1  /* at most, at once */

struct climb {
	struct fit *f;
	int64_t n;
	double *x, *next, *gradient, *step;
	double *s[PAIRS], *y[PAIRS], rho[PAIRS];
	int pairs; /* made so far */
	int threads;
	bool near;
};

/* At a bound, and pushed against it. */
static bool held(const struct climb *c, int64_t i)
{
	const double g = c->gradient[i];

	return (c->x[i] <= fit_least(c->f, i) && g < 0) || (c->x[i] >= fit_most(c->f, i) && g > 0) || g == 0;
}

static double residual(const struct climb *c)
{
	double most = 0;

	for (int64_t i = 0; i < c->f->n; i++)
		if (!held(c, i)) most = fmax(most, fabs(c->gradient[i]));
	return most;
}

/* The same of w, whose unit is another. */
static double residual_w(const struct climb *c)
{
	double most = 0;

	for (int64_t i = c->f->n; i < c->n; i++)
		if (!held(c, i)) most = fmax(most, fabs(c->gradient[i]));
	return most;
}

static double dot(const struct climb *c, const double *a, const double *b)
{
	double part[DOT_PARTS], sum = 0;

#pragma omp parallel for num_threads(c->threads) if (c->n > MANY)
	for (int k = 0; k < DOT_PARTS; k++) {
		part[k] = 0;
		for (int64_t i = c->n * k / DOT_PARTS; i < c->n * (k + 1) / DOT_PARTS; i++)
			part[k] += a[i] * b[i];
	}
	for (int k = 0; k < DOT_PARTS; k++) sum += part[k];
	return sum;
}

/* to += by x. */
static void add(const struct climb *c, double *to, double by, const double *x)
{
#pragma omp parallel for num_threads(c->threads) if (c->n > MANY)
	for (int64_t i = 0; i < c->n; i++) to[i] += by * x[i];
}

static double least_of(const struct climb *c)
{
	double most = 0;

	for (int64_t i = 0; i < c->n; i++) most = fmax(most, c->f->diagonal[i]);
	return most > 0 ? most * 1e-9 : 1;
}

/* c->step = H gradient over the unknowns that may move. */
static void direct(struct climb *c)
{
	const int kept = c->pairs < PAIRS ? c->pairs : PAIRS;
	const double least = least_of(c);
	double alpha[PAIRS];

#pragma omp parallel for num_threads(c->threads) if (c->n > MANY)
	for (int64_t i = 0; i < c->n; i++) c->step[i] = held(c, i) ? 0 : c->gradient[i];
	for (int k = 1; k <= kept; k++) {
		const int p = (c->pairs - k) % PAIRS;

		alpha[p] = c->rho[p] * dot(c, c->s[p], c->step);
		add(c, c->step, -alpha[p], c->y[p]);
	}
#pragma omp parallel for num_threads(c->threads) if (c->n > MANY)
	for (int64_t i = 0; i < c->n; i++) c->step[i] /= fmax(c->f->diagonal[i], least);
	for (int k = kept; k >= 1; k--) {
		const int p = (c->pairs - k) % PAIRS;

		add(c, c->step, alpha[p] - c->rho[p] * dot(c, c->y[p], c->step), c->s[p]);
	}
	for (int64_t i = 0; i < c->n; i++)
		if (held(c, i)) c->step[i] = 0;
}

/* Where that goes down: the diagonal alone, and nothing is remembered. */
static void direct_up(struct climb *c)
{
	const double least = least_of(c);

	direct(c);
	if (dot(c, c->step, c->gradient) > 0) return;
	c->pairs = 0;
	for (int64_t i = 0; i < c->n; i++)
		c->step[i] = held(c, i) ? 0 : c->gradient[i] / fmax(c->f->diagonal[i], least);
}

/* Quadratic models end somewhere: no unknown goes farther than this at once. */
static void limit(struct climb *c)
{
	for (int64_t i = 0; i < c->n; i++) {
		const double far = i < c->f->n ? FARTHEST : FARTHEST_W;

		c->step[i] = fmin(fmax(c->step[i], -far), far);
	}
}

/* What s and y would be between c->x and c->next; kept where it bends the right way. */
static void remember(struct climb *c)
{
	const int p = c->pairs % PAIRS;

#pragma omp parallel for num_threads(c->threads) if (c->n > MANY)
	for (int64_t i = 0; i < c->n; i++) {
		c->s[p][i] = c->next[i] - c->x[i];
		c->y[p][i] = c->gradient[i] - c->f->gradient[i];
	}
	const double sy = dot(c, c->s[p], c->y[p]), yy = dot(c, c->y[p], c->y[p]);

	if (!(sy > 1e-12 * yy)) return;
	c->rho[p] = 1 / sy;
	c->pairs++;
}

/* Along c->step, shorter by what a parabola through both ends says; *moved: false where no length goes up. */
static int search(struct climb *c, bool *moved, double shortest)
{
	const double before = c->f->value;
	int st;

	*moved = false;
	for (double length = 1, by; length > shortest; length *= by) {
		double promised = 0;

		for (int64_t i = 0; i < c->n; i++) {
			c->next[i] = fmin(fmax(c->x[i] + length * c->step[i], fit_least(c->f, i)),
			                  fit_most(c->f, i));
			promised += c->gradient[i] * (c->next[i] - c->x[i]);
		}
		if (!(promised > 0)) break;
		if ((st = fit_at(c->f, c->next))) return st;
		const double gain = c->f->value - before;

		by = fmin(fmax(promised / (2 * (promised - gain)), SHORTER), .5);
		if (!(gain >= ENOUGH * promised)) continue;
		remember(c);
		memcpy(c->x, c->next, (size_t)c->n * sizeof *c->x);
		memcpy(c->gradient, c->f->gradient, (size_t)c->n * sizeof *c->gradient);
		*moved = true;
		return ISO_OK;
	}
	return fit_at(c->f, c->x);
}

/* Goes on; *moved: false where no step goes up. Limits and bounds may turn a step down: then the diagonal's alone is tried. */
static int advance(struct climb *c, bool *moved)
{
	int st;

	direct_up(c);
	limit(c);
	if ((st = search(c, moved, c->near ? 0x1p-3 : 0x1p-10)) || *moved || c->near || c->pairs == 0)
		return st;
	c->pairs = 0;
	direct_up(c);
	limit(c);
	return search(c, moved, 0x1p-30);
}

static int open_climb(struct climb *c, struct fit *f, struct iso_room *work, double *x)
{
	*c = (struct climb){ .f = f, .n = f->unknowns, .x = x, .threads = f->t->room.ctx->threads };
	ISO_HOST(work, c->next, c->n);
	ISO_HOST(work, c->gradient, c->n);
	ISO_HOST(work, c->step, c->n);
	for (int k = 0; k < PAIRS; k++) {
		ISO_HOST(work, c->s[k], c->n);
		ISO_HOST(work, c->y[k], c->n);
	}
	return work->status;
}

int fit_climb(struct ascent *a, struct fit *f, struct iso_room *work, double *x)
{
	struct climb c;
	bool moved = true;
	int st;

	if ((st = open_climb(&c, f, work, x)) || (st = fit_at(f, x))) return st;
	memcpy(c.gradient, f->gradient, (size_t)c.n * sizeof *c.gradient);
	const double first = residual(&c), first_w = residual_w(&c);

	*a = (struct ascent){ .start = f->value, .residual = 1, .converged = !(first > 0) };
	while (!a->converged && moved && a->iterations < f->p->most) {
		if ((st = advance(&c, &moved))) return st;
		a->iterations++;
		a->residual = residual(&c) / first;
		a->converged = a->residual < CLOSE && residual_w(&c) <= CLOSE * first_w;
		c.near = a->residual < NEAR && residual_w(&c) <= NEAR * first_w;
	}
	a->converged = a->residual < NEAR;
	return ISO_OK;
}
