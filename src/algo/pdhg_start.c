/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of primal-dual hybrid gradients: the caller's arrays, and the lengths of steps. */
#include "pdhg.h"

#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"
#include "core/sized.h"

enum { POWER_STEPS = 20 };  /* for |A_b|^2: to a few per cent */
#define SAFETY 1.1          /* over that estimate */
#define MOST_STEPS 10000000 /* each has a place in the curve */
#define FLOOR .5 /* of u, in means of the start: .1 and 1 took twice the passes on one problem each */
#define WEIGHT 3 /* omega of w over tv: of 1 to 30 the best, on likelihoods and least squares */

/* ---- lengths of steps ---- */

static int voxels(iso_pdhg_state *s, enum pdhg_do what)
{
	return iso_pdhg_loop(s->l.ctx, what, &s->c, (struct iso_rows){ 0, s->l.n });
}

/* za = A* p, by subsets; `most` = the largest of -A_b* p_b where it is wanted. */
static int dual_image(iso_pdhg_state *s)
{
	struct iso_loop *l = &s->l;
	struct pdhg *c = &s->c;
	int st;

	if ((st = l->v->fill(l->ctx, l->n, c->za, 0))) return st;
	if ((st = l->v->fill(l->ctx, l->n, c->most, 0))) return st;
	for (int b = 0; b < l->per; b++) {
		if ((st = iso_adjoint(c->back, l->op, c->whole ? ISO_ALL : b, c->p))) return st;
		if ((st = voxels(s, PDHG_MOST_OF))) return st;
	}
	return ISO_OK;
}

static int begin_likelihood(iso_pdhg_state *s)
{
	struct iso_loop *l = &s->l;
	struct pdhg *c = &s->c;
	double sum, given = (double)l->n_data;
	int st;

	if ((st = l->v->asum(l->ctx, l->n, &sum, c->x))) return st;
	if (!(sum > 0))
		return iso_fail(ISO_EINPUT, "pdhg: the start image is 0 wherever there is sensitivity");
	c->mean = sum / (double)(l->n - s->unseen);
	if ((st = voxels(s, PDHG_SIZE))) return st;
	if ((st = iso_forward(c->q, l->op, ISO_ALL, c->size))) return st;
	if ((st = iso_pdhg_loop(l->ctx, PDHG_ROWS_BEGIN, c, (struct iso_rows){ 0, l->n_data }))) return st;
	if ((st = iso_pdhg_loop(l->ctx, PDHG_COUNTS, c, (struct iso_rows){ 0, l->n_data }))) return st;
	if ((st = l->v->asum(l->ctx, l->n_data, &s->counts, c->d))) return st;
	if (c->y && (st = l->v->asum(l->ctx, l->n_data, &given, c->y))) return st;
	s->lost = given - s->counts;
	s->extra = 1;
	return dual_image(s);
}

/* The largest |A_b|^2 of the subsets, by powers; back and ahead are free. */
static int find_norm(iso_pdhg_state *s)
{
	struct iso_loop *l = &s->l;
	struct pdhg *c = &s->c;
	double size, largest = 0;
	int st;

	for (int b = 0; b < l->per; b++) {
		int sub = c->whole ? ISO_ALL : b;

		if ((st = l->v->uniform(l->ctx, l->n, c->back, 1))) return st;
		for (int i = 0; i < POWER_STEPS; i++) {
			if ((st = l->v->dot(l->ctx, l->n, &size, c->back, c->back))) return st;
			if (!(size > 0)) break;
			if ((st = l->v->fill(l->ctx, l->n, c->ahead, 0))) return st;
			if ((st = l->v->axpy(l->ctx, l->n, c->ahead, 1 / sqrt(size), c->back))) return st;
			if ((st = iso_forward(c->d, l->op, sub, c->ahead))) return st;
			if ((st = iso_adjoint(c->back, l->op, sub, c->d))) return st;
		}
		if ((st = l->v->dot(l->ctx, l->n, &size, c->back, c->back))) return st;
		largest = fmax(largest, sqrt(size));
	}
	s->extra += POWER_STEPS;
	c->norm = SAFETY * l->per * largest;
	return largest > 0 ? ISO_OK : iso_fail(ISO_EINPUT, "pdhg: the model is 0: no voxel is heard");
}

/* The mean of |t A* y|, t the step that brings A (t A* y) closest to y: what images of these data are like. */
static int find_mean(iso_pdhg_state *s)
{
	struct iso_loop *l = &s->l;
	struct pdhg *c = &s->c;
	double image, data, sum;
	int st;

	if ((st = iso_adjoint(c->back, l->op, ISO_ALL, c->y))) return st;
	if ((st = iso_forward(c->d, l->op, ISO_ALL, c->back))) return st;
	if ((st = l->v->dot(l->ctx, l->n, &image, c->back, c->back))) return st;
	if ((st = l->v->dot(l->ctx, l->n_data, &data, c->d, c->d))) return st;
	if ((st = l->v->asum(l->ctx, l->n, &sum, c->back))) return st;
	c->mean = data > 0 && sum > 0 ? image / data * sum / (double)l->n : 1;
	s->extra++;
	return l->v->dot(l->ctx, l->n_data, &s->counts, c->y, c->y);
}

static int begin_squares(iso_pdhg_state *s)
{
	struct iso_loop *l = &s->l;
	struct pdhg *c = &s->c;
	int st;

	s->extra = 1;
	if ((st = find_norm(s)) || (st = find_mean(s))) return st;
	if ((st = voxels(s, PDHG_SIZE))) return st;
	if ((st = iso_forward(c->q, l->op, ISO_ALL, c->x))) return st;
	/* p = 2 (A x - y) */
	if ((st = l->v->fill(l->ctx, l->n_data, c->p, 0))) return st;
	if ((st = l->v->axpy(l->ctx, l->n_data, c->p, 2, c->q))) return st;
	if ((st = l->v->axpy(l->ctx, l->n_data, c->p, -2, c->y))) return st;
	return dual_image(s);
}

int iso_pdhg_begin(struct iso_loop *l)
{
	iso_pdhg_state *s = (iso_pdhg_state *)l;
	struct pdhg *c = &s->c;
	int st;

	c->most = c->ahead; /* both are free until the steps' lengths are made */
	c->size = c->zw;
	if ((st = c->squares ? begin_squares(s) : begin_likelihood(s))) return st;
	if ((st = voxels(s, PDHG_STEPS))) return st;
	if ((st = l->v->fill(l->ctx, l->n, c->zw, 0))) return st;
	return l->v->copy(l->ctx, l->n, c->ahead, c->za);
}

/* ---- the caller's arrays ---- */

static int check(const struct iso_pdhg *p, const iso_real *x, int64_t *steps)
{
	const char *lacks = !p->op ? "operator" : !x ? "start image" : p->y || p->sens.image ? NULL : "data";
	int st;

	if (lacks) return iso_fail(ISO_EARG, "pdhg: there is no %s", lacks);
	if (p->y && p->sens.image)
		return iso_fail(ISO_EARG,
		                "pdhg: both a sensitivity, of the likelihood, and y, of least squares");
	int n_sub = p->subsets ? iso_op_n_sub(p->op) : 1;

	if ((st = iso_op_refuse_split(p->op, "pdhg")) || (st = iso_grid_check(&p->grid))) return st;
	if (iso_grid_voxels(&p->grid) != iso_op_n_in(p->op))
		return iso_fail(ISO_EARG, "pdhg: the grid has %" PRId64 " voxels, the image %" PRId64,
		                iso_grid_voxels(&p->grid), iso_op_n_in(p->op));
	if (p->iterations < 1)
		return iso_fail(ISO_EARG, "pdhg: %d iterations, must be at least 1", p->iterations);
	if (!size_mul(steps, p->iterations, n_sub) || *steps > MOST_STEPS)
		return iso_fail(ISO_EARG, "pdhg: %d iterations of %d subsets are more than %d steps",
		                p->iterations, n_sub, MOST_STEPS);
	if (!(p->tv >= 0) || !isfinite(p->tv))
		return iso_fail(ISO_EARG, "pdhg: tv is %g, must be finite and not negative", p->tv);
	if (!(p->balance >= 0) || !isfinite(p->balance))
		return iso_fail(ISO_EARG, "pdhg: the balance is %g, must be finite and not negative",
		                p->balance);
	if (!(p->tolerance >= 0))
		return iso_fail(ISO_EARG, "pdhg: the tolerance is %g, must not be negative", p->tolerance);
	if (p->look_every < 0)
		return iso_fail(ISO_EARG, "pdhg: looks after every %d iterations, must not be negative",
		                p->look_every);
	if (p->sens.image && p->sens.n_images != 1 &&
	    (p->sens.n_images != iso_op_n_sub(p->op) || p->sens.n_sub != p->sens.n_images))
		return iso_fail(ISO_EARG, "pdhg: %d sensitivity images of %d subsets for an operator with %d",
		                p->sens.n_images, p->sens.n_sub, iso_op_n_sub(p->op));
	return ISO_OK;
}

/* S, the sum over the subsets, to the device; the start, 0 where S is. */
static int load_images(iso_pdhg_state *s, const iso_real *x)
{
	struct iso_loop *l = &s->l;
	const struct iso_sens *sens = &s->p.sens;
	iso_real *start, *sum = NULL;

	if (!ISO_HOST(&l->taken, start, l->n) || (sens->image && !ISO_HOST(&l->taken, sum, l->n)))
		return l->taken.status;
	for (int64_t v = 0; v < l->n; v++) {
		double all = 0;

		for (int k = 0; sum && k < sens->n_images; k++) all += sens->image[k * l->n + v];
		if (sum) sum[v] = (iso_real)all;
		start[v] = (sum && !(sum[v] > 0)) || (s->c.box.nonneg && !(x[v] > 0)) ? 0 : x[v];
		s->unseen += sum && !(sum[v] > 0);
	}
	if (sum && s->unseen == l->n)
		return iso_fail(ISO_EINPUT, "pdhg: the sensitivity is 0 in all %" PRId64 " voxels", l->n);
	ISO_UPLOAD(&l->room, l->x, start, l->n);
	ISO_UPLOAD(&l->room, s->c.sens, sum, l->n);
	s->c.x = l->x;
	return l->room.status;
}

/* add over mult, 0 where mult is 0: *ratio is the same array, or one of l->taken. */
static int divide(struct iso_loop *l, const iso_real **ratio, const struct iso_em_data *d)
{
	iso_real *made;
	int64_t bad = l->n_data;

	*ratio = d->add;
	if (!d->add || !d->mult) return ISO_OK;
	if (!ISO_HOST(&l->taken, made, l->n_data)) return l->taken.status;
#pragma omp parallel for num_threads(l->ctx->threads) reduction(min : bad)
	for (int64_t j = 0; j < l->n_data; j++) {
		made[j] = d->mult[j] > 0 ? d->add[j] / d->mult[j] : 0;
		if (j < bad && !isfinite(made[j])) bad = j;
	}
	*ratio = made;
	if (bad == l->n_data) return ISO_OK;
	return iso_fail(ISO_EINPUT, "pdhg: additive term %g over factor %g, of row %" PRId64 ", is too large",
	                (double)d->add[bad], (double)d->mult[bad], bad);
}

static int load(iso_pdhg_state *s, const iso_real *x)
{
	struct iso_loop *l = &s->l;
	struct iso_em_data d = s->p.data;
	bool squares = s->c.squares;
	int st;

	if (squares) d = (struct iso_em_data){ .y = s->p.y };
	if ((st = iso_loop_take(l, "start image", l->n, &x, !squares))) return st;
	if ((st = iso_loop_take(l, "sensitivity", l->n * s->p.sens.n_images, &s->p.sens.image, true)))
		return st;
	if ((st = iso_loop_take(l, squares ? "data" : "counts", l->n_data, &d.y, !squares))) return st;
	if ((st = iso_loop_take(l, "additive term", l->n_data, &d.add, true))) return st;
	if ((st = iso_loop_take(l, "multiplicative factor", l->n_data, &d.mult, true))) return st;
	if ((st = load_images(s, x)) || (st = divide(l, &d.add, &d))) return st;
	s->c.y = iso_loop_rows(l, d.y);
	s->c.add = iso_loop_rows(l, d.add);
	s->c.mult = iso_loop_rows(l, d.mult);
	s->p.data = (struct iso_em_data){ 0 };
	s->p.y = s->p.sens.image = NULL; /* the caller's */
	iso_room_free(&l->taken);
	return l->room.status;
}

static int take_memory(iso_pdhg_state *s)
{
	struct iso_loop *l = &s->l;
	struct pdhg *c = &s->c;

	s->look = size_alloc(s->p.iterations + (int64_t)1, sizeof *s->look);
	if (!s->look)
		return iso_fail_memory("pdhg", (s->p.iterations + (int64_t)1) * (int64_t)sizeof *s->look);
	ISO_DEVICE(&l->room, c->tau, l->n);
	ISO_DEVICE(&l->room, c->za, l->n);
	ISO_DEVICE(&l->room, c->zw, l->n);
	ISO_DEVICE(&l->room, c->ahead, l->n);
	ISO_DEVICE(&l->room, c->back, l->n);
	ISO_DEVICE(&l->room, c->slope, l->n);
	ISO_DEVICE(&l->room, c->p, l->n_data);
	ISO_DEVICE(&l->room, c->q, l->n_data);
	ISO_DEVICE(&l->room, c->d, l->n_data);
	if (!c->squares) ISO_DEVICE(&l->room, c->sigma, l->n_data);
	if (c->tv > 0) ISO_DEVICE(&l->room, c->w, 3 * l->n);
	if (c->tv > 0) ISO_DEVICE(&l->room, c->reach, l->n);
	return l->room.status;
}

int iso_pdhg_make(iso_pdhg_state **out, const struct iso_pdhg *given, const iso_real *x)
{
	struct iso_pdhg p;
	int64_t steps = 0;
	int st = iso_sized_take(&p, "iso_pdhg", sizeof p, given);

	if (st || (st = check(&p, x, &steps))) return st;
	iso_pdhg_state *s = *out = iso_loop_make(sizeof *s, &iso_pdhg_fn, p.op, p.place, steps);

	if (!s) return iso_comm_agree(iso_op_ctx(p.op), ISO_ENOMEM);
	bool whole = !p.subsets || iso_op_n_sub(p.op) == 1, squares = p.y != NULL;
	double balance = p.balance > 0 ? p.balance : whole || squares ? .3 : 1;
	const struct iso_grid *g = &p.grid;

	if (!p.look_every) p.look_every = whole ? 1 : 10;
	s->p = p;
	s->l.per = whole ? 1 : iso_op_n_sub(p.op);
	s->l.stage = whole ? "pdhg" : "spdhg";
	s->c = (struct pdhg){
		.box = { { g->n[0], g->n[1], g->n[2] }, 0, p.nonneg || !squares },
		.squares = squares,
		.whole = whole,
		.keep_unseen = p.keep_unseen,
		.tv = p.tv,
		.share = s->l.per,
		.floor = FLOOR,
		.weight = WEIGHT * p.tv,
		.balance = balance,
		.step = (iso_real)(2 * balance),
		.scale = 1,
	};
	for (int a = 0; a < 3; a++) s->c.axis[a] = (iso_real)(g->voxel[0] / g->voxel[a]);
	st = take_memory(s);
	return iso_comm_agree(s->l.ctx, st ? st : load(s, x));
}

void iso_pdhg_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct iso_pdhg *p, int64_t n,
                   int64_t n_data)
{
	if (!plan || !p) return;

	int64_t real = sizeof(iso_real);
	bool cuda = iso_ctx_is_cuda(ctx), squares = p->y != NULL;
	int vectors = squares ? 1 : (p->data.y != NULL) + (p->data.add != NULL) + (p->data.mult != NULL);

	iso_plan_add(plan, "image, its steps, dual images", n, (7 + !squares) * real, cuda);
	if (p->tv > 0) iso_plan_add(plan, "fields of total variation", n, 4 * real, cuda);
	iso_plan_add(plan, "dual of the data, products", n_data, (3 + !squares + vectors) * real, cuda);
	iso_plan_add(plan, "copies on the host", 2 * n + n_data, real, false);
	if (cuda)
		iso_plan_add(plan, "checkpoint", (p->tv > 0 ? 9 : 5) * n + (1 + !squares) * n_data, real,
		             false);
}
