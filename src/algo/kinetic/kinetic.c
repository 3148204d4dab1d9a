/* SPDX-License-Identifier: BSD-3-Clause */
/* Nested EM (Wang and Qi 2010): images of the coefficients of basis curves from the events of time bins.

	1. for each bin m:  f_m = sum over k of mean_km theta_k,   acc_m = f_m A_m*(1 / (A_m f_m + r/m))
	2. `inner` times:   theta_k <- theta_k / S sum over m of share_km acc_m / f_m,   f_m anew each time

   with share_km = mean_km / sum over m of G_m mean_km and the weight G_m of a bin: acc_m / (G_m S) is its EM image. So a pass traces every event once,
   with one image, whatever the number of curves. The likelihood never falls where there is one subset. A penalty of the
   coefficients enters step 2 by De Pierro's majoriser around the coefficients of step 1. */
#include "kinetic_vec.h"

#include "algo/loop.h"
#include "core/comm.h"
#include "core/op.h"
#include "core/size.h"
#include "core/sized.h"

#define MOST_UPDATES 10000000
#define AT_ONCE_BYTES (1 << 30) /* images and sums of the bins whose steps are taken at once, on a device */
enum { INNER = 4 };

struct state {
	struct iso_loop l; /* x: the coefficients, n: their values */
	struct iso_kinetic p;
	const struct kinetic_vec *v;
	int64_t voxels;
	struct kinetic_fit fit;
	double *sum;              /* of each curve: sum over bins of weight times mean */
	int together;             /* bins whose EM steps are taken at once */
	struct iso_em_stat *stat; /* of each of them */
	iso_real *sens, *f, *acc, *gradient,
		*curvature; /* f: images of those bins; acc: EM steps of all bins */
	int64_t rows;
	int64_t used, skipped; /* of the iteration under way */
	double lost;
	int64_t counter[4];
};

/* Short bins would leave most of a device idle. */
static int bins_at_once(const iso_ctx *ctx, int64_t voxels, int bins)
{
	const int64_t each = voxels * (int64_t)(sizeof(iso_real) + sizeof(int64_t));

	if (!iso_ctx_is_cuda(ctx) || AT_ONCE_BYTES < 2 * each) return 1;
	return AT_ONCE_BYTES / each < bins ? (int)(AT_ONCE_BYTES / each) : bins;
}

/* ---- a step ---- */

/* Step 1 for some bins; what it counts goes to *all. */
static int see_bins(struct state *e, int sub, int first, int bins, struct iso_em_stat *all)
{
	struct iso_loop *l = &e->l;
	int st = e->v->form(l->ctx, e->f, l->x, &e->fit, first, bins);

	if (!st)
		st = iso_op_em_steps(e->acc + first * e->voxels, e->stat, l->op, sub * e->p.bins + first,
		                     bins, e->f, &e->p.data);
	for (int m = 0; m < bins && !st; m++) {
		all->loglik += e->stat[m].loglik;
		all->used += e->stat[m].used;
		all->skipped += e->stat[m].skipped;
		all->lost += e->stat[m].lost;
	}
	return st;
}

/* Counts that the coefficients expect on all lines, and beta R. */
static int expect(struct state *e, double *expected, double *penalty)
{
	struct iso_loop *l = &e->l;
	int st = ISO_OK;

	*expected = *penalty = 0;
	for (int k = 0; k < e->p.coefficients && !st; k++) {
		const iso_real *x = l->x + k * e->voxels;
		double dot, r = 0;

		st = l->v->dot(l->ctx, e->voxels, &dot, e->sens, x);
		*expected += e->sum[k] * dot;
		if (st || !e->p.prior) continue;
		st = iso_prior_eval(&r, e->gradient + k * e->voxels, e->curvature + k * e->voxels, NULL,
		                    e->p.prior[k], x);
		*penalty += e->p.beta[k] * r;
	}
	return st;
}

static int step(struct iso_loop *l)
{
	struct state *e = (struct state *)l;
	const int sub = (int)(l->done % l->per);
	struct iso_em_stat all = { 0 };
	double expected, penalty, *phi = &l->curve[0][l->done];
	int st = expect(e, &expected, &penalty);

	for (int m = 0; m < e->p.bins && !st; m += e->together)
		st = see_bins(e, sub, m, e->p.bins - m < e->together ? e->p.bins - m : e->together, &all);
	/* a subset without a single event used leaves the image as it is */
	if (!st && all.used > 0) st = e->v->fit(l->ctx, l->x, &e->fit);
	if (st) return st;
	*phi = all.loglik - (expected + penalty) / l->per;
	if (!isfinite(*phi))
		return iso_fail(ISO_EINPUT,
		                "kinetics: the likelihood of update %" PRId64
		                " is %g: start, sensitivity or factors are too small or too large",
		                l->done + 1, *phi);
	e->used = (sub ? e->used : 0) + all.used;
	e->skipped = (sub ? e->skipped : 0) + all.skipped;
	e->lost = (sub ? e->lost : 0) + all.lost;
	l->done++;
	return ISO_OK;
}

/* ---- checkpoints ---- */

static int items(struct iso_loop *l, struct iso_item item[LOOP_ITEMS])
{
	struct state *e = (struct state *)l;
	const int64_t now[4] = { l->done, e->used, e->skipped, 0 };

	memcpy(e->counter, now, sizeof now);
	item[0] = (struct iso_item){ "coefficients", ISO_ITEM_REAL, l->n, l->x };
	item[1] = (struct iso_item){ "phi", ISO_ITEM_DOUBLE, l->total, l->curve[0] };
	item[2] = (struct iso_item){ "updates, used, skipped", ISO_ITEM_INT64, 4, e->counter };
	item[3] = (struct iso_item){ "counts lost", ISO_ITEM_DOUBLE, 1, &e->lost };
	return 4;
}

static int restored(struct iso_loop *l, const char *path)
{
	struct state *e = (struct state *)l;
	const int64_t *counter = e->counter;

	if (counter[0] < 0 || counter[0] > l->total || counter[1] < 0 || counter[2] < 0 ||
	    counter[1] > e->rows || counter[2] > e->rows)
		return iso_fail(ISO_EINPUT, "%s: checkpoint after update %" PRId64 " of %" PRId64, path,
		                counter[0], l->total);
	l->done = counter[0];
	e->used = counter[1];
	e->skipped = counter[2];
	return ISO_OK;
}

static const struct iso_loop_fn kinetic_fn = {
	.name = "kinetics",
	.unit = "updates",
	.figure = "Phi",
	.curves = 1,
	.step = step,
	.items = items,
	.restored = restored,
};

/* ---- the start ---- */

static int check_sizes(const struct iso_kinetic *p)
{
	const char *lacks = !p->op       ? "operator"
	                    : !p->mean   ? "basis"
	                    : !p->sens   ? "sensitivity"
	                    : !p->weight ? "weights of bins"
	                                 : NULL;

	if (lacks) return iso_fail(ISO_EARG, "kinetics: there is no %s", lacks);
	if (p->bins < 1 || p->coefficients < 1 || p->coefficients > ISO_BASES_MOST)
		return iso_fail(ISO_EARG,
		                "kinetics: %d coefficients of %d bins, must be 1 to %d of at least 1",
		                p->coefficients, p->bins, ISO_BASES_MOST);
	if (iso_op_n_sub(p->op) % p->bins)
		return iso_fail(ISO_EARG,
		                "kinetics: an operator of %d subsets, must be a multiple of the %d bins",
		                iso_op_n_sub(p->op), p->bins);
	if (p->prior && !p->beta) return iso_fail(ISO_EARG, "kinetics: penalties without their strengths");
	return ISO_OK;
}

static int check_values(const struct iso_kinetic *p)
{
	for (int m = 0; m < p->bins; m++)
		if (!(p->weight[m] > 0 && isfinite(p->weight[m])))
			return iso_fail(ISO_EINPUT, "kinetics: the weight of bin %d is %g, must be above 0",
			                m + 1, p->weight[m]);
	for (int k = 0; k < p->coefficients; k++) {
		double sum = 0;

		for (int m = 0; m < p->bins; m++) {
			double v = p->mean[k * p->bins + m];

			if (!(v >= 0 && isfinite(v)))
				return iso_fail(
					ISO_EINPUT,
					"kinetics: basis curve %d is %g in bin %d, must not be negative",
					k + 1, v, m + 1);
			sum += v;
		}
		if (!(sum > 0))
			return iso_fail(ISO_EINPUT, "kinetics: basis curve %d is 0 in all bins", k + 1);
		if (p->prior && (!p->prior[k] || !(p->beta[k] >= 0 && isfinite(p->beta[k]))))
			return iso_fail(ISO_EARG,
			                "kinetics: no penalty of coefficient %d, or a strength of %g", k + 1,
			                p->beta[k]);
	}
	return ISO_OK;
}

static int check(const struct iso_kinetic *p, int64_t *updates)
{
	int st = check_sizes(p);

	if (st || (st = check_values(p))) return st;
	if (p->iterations < 1 || p->inner < 0)
		return iso_fail(
			ISO_EARG,
			"kinetics: %d iterations with %d fits each, must be at least 1 and not negative",
			p->iterations, p->inner);
	if (!size_mul(updates, p->iterations, iso_op_n_sub(p->op) / p->bins) || *updates > MOST_UPDATES)
		return iso_fail(ISO_EARG, "kinetics: %d iterations of %d subsets are more than %d updates",
		                p->iterations, iso_op_n_sub(p->op) / p->bins, MOST_UPDATES);
	return ISO_OK;
}

/* Tables of the basis, scaled so that nothing in step 2 leaves the range of float. */
static int load_basis(struct state *e)
{
	const int bins = e->p.bins, k = e->p.coefficients;
	struct iso_loop *l = &e->l;
	iso_real *mean, *share, *strength;

	ISO_HOST(&l->room, e->sum, k);
	ISO_HOST(&l->taken, mean, k * bins);
	ISO_HOST(&l->taken, share, k * bins);
	ISO_HOST(&l->taken, strength, k);
	if (l->room.status || l->taken.status) return l->room.status ? l->room.status : l->taken.status;
	for (int i = 0; i < k; i++) {
		for (int m = 0; m < bins; m++) e->sum[i] += e->p.weight[m] * e->p.mean[i * bins + m];
		for (int m = 0; m < bins; m++) {
			double v = e->p.mean[i * bins + m];

			mean[i * bins + m] = (iso_real)v;
			share[i * bins + m] = (iso_real)(v * l->per / e->sum[i]);
		}
		strength[i] = (iso_real)(e->p.prior ? e->p.beta[i] / e->sum[i] : 0);
	}
	ISO_UPLOAD(&l->room, e->fit.mean, mean, k * bins);
	ISO_UPLOAD(&l->room, e->fit.share, share, k * bins);
	ISO_UPLOAD(&l->room, e->fit.strength, strength, k);
	return l->room.status;
}

/* The start, 0 where the sensitivity is. */
static iso_real *upload_start(struct state *e, const iso_real *x, const iso_real *sens)
{
	struct iso_loop *l = &e->l;
	iso_real *there;

	for (int64_t i = 0; i < l->n; i++) l->host[i] = sens[i % e->voxels] > 0 ? x[i] : 0;
	return ISO_UPLOAD(&l->room, there, l->host, l->n);
}

static int load(struct state *e, const iso_real *x)
{
	struct iso_loop *l = &e->l;
	const iso_real *sens = e->p.sens;
	int st;

	if ((st = iso_loop_take(l, "start", l->n, &x, true)) ||
	    (st = iso_loop_take(l, "sensitivity", e->voxels, &sens, true)) ||
	    (st = iso_loop_em_data(l, &e->p.data, NULL)) || (st = load_basis(e)) ||
	    (st = iso_kinetic_vec(&e->v, l->ctx)))
		return st;
	ISO_UPLOAD(&l->room, e->sens, sens, e->voxels);
	e->together = bins_at_once(l->ctx, e->voxels, e->p.bins);
	ISO_HOST(&l->room, e->stat, e->together);
	ISO_DEVICE(&l->room, e->f, e->together * e->voxels);
	ISO_DEVICE(&l->room, e->acc, e->p.bins * e->voxels);
	if (e->p.prior) {
		ISO_DEVICE(&l->room, e->gradient, l->n);
		ISO_DEVICE(&l->room, e->curvature, l->n);
	}
	l->x = upload_start(e, x, sens);
	e->fit.n = e->voxels;
	e->fit.coefficients = e->p.coefficients;
	e->fit.bins = e->p.bins;
	e->fit.inner = e->p.inner ? e->p.inner : INNER;
	e->fit.acc = e->acc;
	e->fit.sens = e->sens;
	e->fit.gradient = e->gradient;
	e->fit.curvature = e->curvature;
	iso_room_free(&l->taken);
	return l->room.status;
}

static int create(struct state **out, const struct iso_kinetic *p, const iso_real *x)
{
	int64_t updates = 0;
	struct state *e;
	int st = check(p, &updates);

	if (st) return st;
	if (!(e = iso_loop_make(sizeof *e, &kinetic_fn, p->op, ISO_HOST, updates)))
		return iso_comm_agree(iso_op_ctx(p->op), ISO_ENOMEM);
	e->p = *p;
	e->voxels = e->l.n;
	e->l.per = iso_op_n_sub(p->op) / p->bins;
	e->rows = e->l.n_data;
	if (!size_mul(&e->l.n, e->voxels, p->coefficients))
		st = iso_fail(ISO_EARG, "kinetics: more values than 64 bits count");
	else
		ISO_HOST(&e->l.room, e->l.host, e->l.n);
	if (!st && !(st = e->l.room.status)) st = load(e, x);
	st = e->l.op->rows_split ? iso_comm_sum(e->l.ctx, st, &e->rows, 1) : iso_comm_agree(e->l.ctx, st);
	if (st)
		iso_loop_free(&e->l);
	else
		*out = e;
	return st;
}

/* ---- the interface ---- */

int iso_kinetic_run(iso_real *theta, struct iso_kinetic_result *r, const struct iso_kinetic *given,
                    const struct iso_run *run)
{
	struct iso_kinetic_result own = { .size = sizeof own };
	struct iso_kinetic p;
	struct state *e = NULL;
	int st = iso_sized_clear(r, "iso_kinetic_result", sizeof own);

	if (!theta) return iso_fail_null(__func__);
	if (!st) st = iso_sized_take(&p, "iso_kinetic", sizeof p, given);
	if (!st) st = create(&e, &p, theta);
	if (!st) st = iso_loop_run(&e->l, theta, run);
	if (!st && r) {
		own.used = e->used;
		own.skipped = e->skipped;
		own.lost = e->lost;
		own.resumed_from = e->l.resumed_from;
		own.unsaved = e->l.unsaved;
		own.n = (int)e->l.done;
		own.phi = e->l.curve[0];
		own.stopped = e->l.stopped;
		e->l.curve[0] = NULL; /* it is the caller's now */
		iso_sized_give(r, sizeof own, &own);
	}
	if (e) iso_loop_free(&e->l);
	return st;
}

void iso_kinetic_result_free(struct iso_kinetic_result *r)
{
	if (!r) return;
	free(r->phi);
	r->phi = NULL;
}

int iso_kinetic_start(iso_real *theta, const struct iso_kinetic *given, double counts)
{
	struct iso_kinetic p;
	double seen = 0;

	if (!theta) return iso_fail_null(__func__);
	int st = iso_sized_take(&p, "iso_kinetic", sizeof p, given);

	if (st || (st = check_sizes(&p)) || (st = check_values(&p))) return st;
	if (!(counts > 0 && isfinite(counts)))
		return iso_fail(ISO_EARG, "kinetics: a start of %g counts, must be above 0", counts);
	const int64_t n = iso_op_n_in(p.op);

	for (int64_t i = 0; i < n; i++) seen += p.sens[i];
	if (!(seen > 0)) return iso_fail(ISO_EINPUT, "kinetics: the sensitivity is 0 in every voxel");
	for (int k = 0; k < p.coefficients; k++) {
		double sum = 0;

		for (int m = 0; m < p.bins; m++) sum += p.weight[m] * p.mean[k * p.bins + m];
		for (int64_t i = 0; i < n; i++)
			theta[k * n + i] =
				(iso_real)(p.sens[i] > 0 ? counts / p.coefficients / sum / seen : 0);
	}
	return ISO_OK;
}

void iso_kinetic_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n, int64_t n_data, int bins,
                      int coefficients, bool penalty)
{
	const int64_t real = sizeof(iso_real);
	const bool cuda = iso_ctx_is_cuda(ctx);

	iso_plan_add(plan, "coefficients, and a copy on the host", n, (cuda ? 1 : 2) * coefficients * real,
	             cuda);
	const int together = bins_at_once(ctx, n, bins);

	iso_plan_add(plan, "images of bins in hand, sensitivity", n, (together + 1) * real, cuda);
	if (together > 1) {
		iso_plan_add(plan, "sums of their steps", n, together * (int64_t)sizeof(int64_t), true);
		iso_plan_add(plan, "sums along their rays", n_data, 12, true);
	}
	iso_plan_add(plan, "steps of all bins", n, bins * real, cuda);
	if (penalty)
		iso_plan_add(plan, "gradient and curvature of the penalty", n, 2 * coefficients * real, cuda);
	iso_plan_add(plan, "data vectors", n_data, 3 * real, cuda);
}
