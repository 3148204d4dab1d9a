/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes over the data, updates, guards and looks of the algorithms of penalised likelihood. */
#include "state.h"

#include "core/loop/em_kern.h"
#include "core/philox.h"
#include "isotome/filter.h"

#include <math.h>

#define SOFT 1.6          /* FWHM of what smooths u, in voxels, */
#define SOFT_BELOW 8.     /* of scans with fewer counts a voxel */
#define MOST_ACTIVITY 1.5 /* a MAP image has <S, x> <= sum of counts */
#define FEW 32.           /* counts a voxel; of scans with fewer, */
#define FEW_GIVEN 8. /* and of those that begin with an image of the caller's, which may be far too small, */
#define GROW 2.      /* a voxel becomes this much of u = x + off at most in an update */

/* ---- order ---- */

/* Fisher and Yates, from the last place down: what ends up in place `at`, without the others. */
static int shuffled(uint64_t seed, uint64_t epoch, int n, int at)
{
	int place = at; /* follow the item at place `at` of the end back through the swaps */

	for (int i = 1; i < n; i++) {
		int with = (int)(philox_draw(seed, epoch, (uint64_t)i).w[0] % (uint32_t)(i + 1));

		if (place == i)
			place = with;
		else if (place == with)
			place = i;
	}
	return place;
}

int map_subset(const iso_map_state *m, int64_t k)
{
	int at = (int)(k % m->subsets);

	return m->p.in_turn ? at : shuffled(m->p.seed, (uint64_t)(k / m->subsets), m->subsets, at);
}

/* ---- passes ---- */

void map_visited(iso_map_state *m, int b, const struct iso_em_stat *s)
{
	m->visit[b] =
		(struct map_visit){ s->loglik, s->lost, (double)s->used, (double)s->skipped, s->counts };
}

static int ratio(iso_map_state *m, int b, bool keep, const iso_real *x, const iso_real *u)
{
	struct iso_ratio_stat s = { 0 };
	int st = iso_op_ratio_step(m->z, m->rho, &s, m->l.op, b, keep, x, u, &m->p.data);

	if (st) return st;
	map_visited(m, b, &s.em);
	m->tally.cut += s.cut;
	return ISO_OK;
}

int map_ratio(iso_map_state *m, int b, bool keep)
{
	return ratio(m, b, keep, m->l.x, m->u);
}

int map_pass(iso_map_state *m, const iso_real *x, const iso_real *u)
{
	struct iso_loop *l = &m->l;
	int st;

	if ((st = l->v->fill(l->ctx, l->n_data, m->rho, 0))) return st;
	if ((st = l->v->fill(l->ctx, l->n, m->gradient, 0))) return st;
	if ((st = l->v->fill(l->ctx, l->n, m->balance, 0))) return st;
	for (int b = 0; b < m->subsets; b++) {
		if ((st = ratio(m, b, false, x, u))) return st;
		if ((st = m->v->gather(l->ctx, l->n, m->gradient, m->balance, m->z, m->subsets))) return st;
	}
	if ((st = l->v->axpy(l->ctx, l->n, m->gradient, -1, m->sens))) return st;
	return l->v->fill(l->ctx, l->n, m->z, 0);
}

/* ---- the penalty ---- */

int map_penalty(iso_map_state *m, double *value, iso_real *gradient, iso_real *curvature, iso_real *hessian,
                const iso_real *x)
{
	struct iso_loop *l = &m->l;
	iso_real *const image[] = { gradient, curvature, hessian };
	int st = ISO_OK;

	if (m->prior) return iso_prior_eval(value, gradient, curvature, hessian, m->prior, x);
	if (value) *value = 0;
	for (int i = 0; i < 3 && !st; i++)
		if (image[i]) st = l->v->fill(l->ctx, l->n, image[i], 0);
	return st;
}

/* ---- updates ---- */

/* Sum of y, or what the last visits of the subsets say of it: an operator that streams its data alone knows. */
static double counts(const iso_map_state *m)
{
	double sum = 0;

	for (int b = 0; b < m->subsets; b++) sum += m->visit[b].lost + m->visit[b].counts;
	return fmax(sum, m->counts);
}

/* Of the voxels that are seen. */
static double counts_a_voxel(const iso_map_state *m)
{
	return counts(m) / (double)(m->l.n - m->unseen);
}

/* u = x + off; of a scan with few counts a voxel, x smoothed by a voxel: there a voxel is large or 0 by the chance of an event,
   and P of a large one, kept for an epoch or more, would throw it up from 0 again and again. P of a smoothed image is that of
   Ehrhardt et al. 2025, in every scan. bsrem, whose P is never old, comes nearer without it from one count a voxel on. */
static bool is_soft(const iso_map_state *m)
{
	const double y = counts_a_voxel(m);

	return m->prior && y > 0 && y < (m->method->fresh ? 1 : SOFT_BELOW);
}

static int find_u(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	const struct iso_grid *g = &m->spec.grid;
	const struct iso_filter soft = {
		.kind = ISO_GAUSSIAN, .fwhm = { SOFT * g->voxel[0], SOFT * g->voxel[1], SOFT * g->voxel[2] }
	};
	const iso_real *of = l->x;
	int st;

	if (is_soft(m)) {
		if ((st = iso_filter_apply(m->u, l->ctx, &soft, g, l->x))) return st;
		of = m->u;
	}
	return m->v->shift(l->ctx, l->n, m->u, of, m->num.off);
}

/* Epochs 0, 1, 2, 3, 4, 6, 8, 10. P of a smoothed image also in 12, 14, ...; of bsrem in all: a voxel that was near 0 when it was
   made for the last time would hardly grow any more. P of an image as it is shrinks with the voxels that go to 0, which
   then never come there: it is kept. */
static bool renewed_in(const iso_map_state *m, int64_t epoch)
{
	if (m->method->fresh || epoch <= 4) return true;
	return epoch % 2 == 0 && (epoch <= 10 || is_soft(m));
}

int map_renew(iso_map_state *m, int64_t k, const iso_real *balance)
{
	struct iso_loop *l = &m->l;
	int st;

	if (k % m->subsets || !renewed_in(m, k / m->subsets)) return ISO_OK;
	if ((st = find_u(m))) return st;
	/* `next` has the curvature at u */
	if (m->prior && (st = map_penalty(m, NULL, NULL, m->next, NULL, m->u))) return st;
	return m->v->precondition(l->ctx, l->n, m->precond, m->u, m->sens, balance, m->prior ? m->next : NULL,
	                          m->num.beta);
}

/* An event whose line has lost all activity has a ratio without bound, and the P of a voxel on it may be that of a larger
   image: one update would throw the voxel far beyond what all events together ask for, and others, whose P is as it was,
   take long to bring it back. With many counts a voxel other events hold it. Where updates have become small the bound
   is never met: the images that a run ends at are the same. */
static double growth(const iso_map_state *m)
{
	const double few = m->p.as_given ? FEW_GIVEN : FEW;

	return m->p.guard == ISO_MAP_GUARDS && counts_a_voxel(m) < few ? GROW : INFINITY;
}

int map_move(iso_map_state *m, double scale, double step)
{
	struct iso_loop *l = &m->l;
	const struct prior_length length = {
		.scale = scale, .beta = m->num.beta, .step = step, .grow = growth(m), .off = m->num.off
	};
	iso_real *before = l->x;
	int st =
		iso_prior_step(m->prior, l->ctx, l->n, m->next, l->x, m->z, m->gradient, m->precond, &length);

	if (st) return st;
	l->x = m->next;
	m->next = before;
	return ISO_OK;
}

int map_expected(iso_map_state *m, double *sum)
{
	struct iso_loop *l = &m->l;
	int st = l->v->dot(l->ctx, l->n, sum, m->sens, l->x);

	if (st || isfinite(*sum)) return st;
	return iso_fail(ISO_EINPUT,
	                "%s: the image of update %" PRId64
	                " is not finite: start image, sensitivity or factors are too small or too large",
	                m->method->name, l->done + 1);
}

int map_guard(iso_map_state *m, const iso_real *to)
{
	struct iso_loop *l = &m->l;
	double sum;
	int st = map_expected(m, &sum);

	if (st || m->p.guard == ISO_MAP_NO_GUARDS || !(sum > MOST_ACTIVITY * counts(m))) return st;
	if ((st = l->v->copy(l->ctx, l->n, l->x, to))) return st;
	m->num.step /= 2;
	m->tally.went_back++;
	return ISO_OK;
}

int map_difference(iso_map_state *m, double *r, const iso_real *a, const iso_real *b)
{
	struct iso_loop *l = &m->l;
	double d, size;
	int st;

	if ((st = l->v->copy(l->ctx, l->n, m->z, a))) return st;
	if ((st = l->v->axpy(l->ctx, l->n, m->z, -1, b))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &d, m->z, m->z))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &size, b, b))) return st;
	*r = size > 0 ? sqrt(d / size) : 0;
	return l->v->fill(l->ctx, l->n, m->z, 0);
}

int map_end(iso_map_state *m, bool keep)
{
	struct iso_loop *l = &m->l;
	int st;

	l->done++;
	if (l->done % (2 * (int64_t)m->subsets)) return ISO_OK;
	if ((st = map_difference(m, &m->num.change, m->anchor, l->x))) return st;
	m->tally.converged = m->p.tolerance > 0 && m->num.change <= m->p.tolerance;
	return keep ? l->v->copy(l->ctx, l->n, m->anchor, l->x) : ISO_OK;
}

/* ---- looks ---- */

int map_phi(iso_map_state *m, struct iso_map_look *look, double rows, iso_real *gradient, const iso_real *x)
{
	struct iso_loop *l = &m->l;
	double expected, penalty;
	int st;

	if ((st = l->v->dot(l->ctx, l->n, &expected, m->sens, x))) return st;
	if ((st = map_penalty(m, &penalty, gradient, NULL, NULL, x))) return st;
	*look = (struct iso_map_look){
		.size = sizeof *look,
		.passes = (double)m->tally.used / m->subsets,
		.updates = l->done,
		.loglik = rows - expected,
		.penalty = m->num.beta * penalty,
		.gradient = NAN,
		.change = m->num.change,
	};
	look->objective = look->loglik - look->penalty;
	return ISO_OK;
}

int map_objective(iso_map_state *m, struct iso_map_look *look)
{
	double rows = 0;
	int st;

	for (int b = 0; b < m->subsets; b++) rows += m->visit[b].loglik;
	if ((st = map_phi(m, look, rows, NULL, m->l.x)) || isfinite(look->objective)) return st;
	return iso_fail(ISO_EINPUT,
	                "%s: the objective after update %" PRId64
	                " is %g: start image, sensitivity or factors are too small or too large",
	                m->method->name, m->l.done, look->objective);
}

/* In place of the last look where that is of the same image. */
static void keep_look(iso_map_state *m, const struct iso_map_look *look)
{
	bool again = m->tally.looks > 0 && m->look[m->tally.looks - 1].updates == look->updates;

	if (again) m->tally.looks--;
	if (m->tally.looks < m->most_looks) m->look[m->tally.looks++] = *look;
}

int map_glance(iso_map_state *m)
{
	struct iso_map_look look;
	int st = map_phi(m, &look, NAN, NULL, m->l.x);

	if (!st) keep_look(m, &look);
	return st;
}

/* By steps of EM, whose image is not wanted. Interrupted, it leaves the parts as they were. */
int map_look(iso_map_state *m)
{
	struct iso_loop *l = &m->l;
	struct iso_em_stat all = { 0 }, none = { 0 };
	struct iso_map_look look;
	int st = ISO_OK, clear;

	for (int b = 0; b < m->subsets && !st; b++) {
		struct iso_em_stat s = { 0 };

		st = iso_op_em_step(m->z, &s, l->op, b, l->x, &m->p.data);
		em_stat_add(&all, &s);
	}
	clear = l->v->fill(l->ctx, l->n, m->z, 0);
	if (st || (st = clear)) return st;
	for (int b = 0; b < m->subsets; b++) map_visited(m, b, b ? &none : &all);
	if ((st = map_objective(m, &look))) return st;
	keep_look(m, &look);
	return ISO_OK;
}
