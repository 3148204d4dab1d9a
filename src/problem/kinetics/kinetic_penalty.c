/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalties of the coefficients: a prior each, with parameters and strength of its own scale. */
#include "kinetic_run.h"

#include <math.h>

#define SEEN .1 /* of the largest sensitivity: voxels that tell the mean */

/* Mean and largest value of a coefficient's start. */
static void measure(const struct kinetic_run *k, const iso_real *x, double *mean, double *largest)
{
	double most = 0, sum = 0, n = 0;

	*largest = 0;
	for (int64_t i = 0; i < k->sens.n; i++) most = fmax(most, k->sens.v[i]);
	for (int64_t i = 0; i < k->sens.n; i++) {
		*largest = fmax(*largest, x[i]);
		if (!(k->sens.v[i] > SEEN * most)) continue;
		sum += x[i];
		n++;
	}
	*mean = sum / n;
}

/* mean over the voxels that are seen of C(ubar) ubar / (B S): rel over beta. */
static int relate(const struct kinetic_run *k, int i, double ubar, double *per_beta)
{
	iso_ctx *ctx = k->r->ctx;
	const struct iso_vec *v = iso_ctx_vec(ctx);
	struct iso_room room = iso_room_of(ctx, "penalty");
	double most = 0, sum = 0, n = 0, all = 0;
	iso_real *x, *c, *host;

	ISO_DEVICE(&room, x, k->sens.n);
	ISO_DEVICE(&room, c, k->sens.n);
	ISO_HOST(&room, host, k->sens.n);
	int st = room.status ? room.status : v->fill(ctx, k->sens.n, x, ubar);

	if (!st) st = iso_prior_eval(NULL, NULL, c, NULL, k->prior[i], x);
	if (!st) st = v->download(ctx, host, c, k->sens.n * (int64_t)sizeof *host);
	for (int m = 0; m < k->bins; m++) all += k->weight[m] * k->mean[i * k->bins + m];
	for (int64_t j = 0; j < k->sens.n && !st; j++) most = fmax(most, k->sens.v[j]);
	for (int64_t j = 0; j < k->sens.n && !st; j++) {
		if (!(k->sens.v[j] > SEEN * most)) continue;
		sum += host[j] * ubar / (all * k->sens.v[j]);
		n++;
	}
	*per_beta = sum / n;
	iso_room_free(&room);
	return st;
}

static int make_one(struct kinetic_run *k, int i, const iso_real *start, const iso_real *kappa)
{
	const struct penalties *p = &k->r->s->penalties;
	const struct kinetics *of = &k->r->s->kinetics;
	struct iso_prior_spec spec = p->prior;
	const struct iso_prior_parameter *q;
	double ubar, largest, per_beta;

	measure(k, start, &ubar, &largest);
	spec.grid = k->r->grid;
	spec.place = ISO_HOST;
	spec.kappa = kappa;
	for (int n = 0; (q = iso_prior_parameter(spec.kind, n)); n++)
		if (q->rule != ISO_PRIOR_NUMBER && !(spec.parameter[n] > 0))
			spec.parameter[n] = iso_prior_default(spec.kind, n, largest, ubar);
	int st = iso_prior_create(&k->prior[i], k->r->ctx, &spec);

	if (!st) st = relate(k, i, ubar, &per_beta);
	if (st) return st;
	k->beta[i] = of->beta ? of->beta[i] : p->relative > 0 ? p->relative / per_beta : p->beta;
	record_tell(k->r->record, ISO_NEWS, "%s of coefficient %d: beta %.4g, which is rel=%.3g",
	            recon_penalty_name(k->r->s), i + 1, k->beta[i], k->beta[i] * per_beta);
	return ISO_OK;
}

int kinetic_penalty_make(struct kinetic_run *k, const iso_real *start)
{
	iso_real *kappa;
	int st;

	if (!k->r->s->penalties.text) return ISO_OK;
	ISO_HOST(&k->room, k->prior, k->k);
	ISO_HOST(&k->room, k->beta, k->k);
	ISO_HOST(&k->room, kappa, k->sens.n);
	for (int64_t i = 0; kappa && i < k->sens.n; i++) kappa[i] = k->sens.v[i] > 0;
	st = k->room.status;
	for (int i = 0; i < k->k && !st; i++) st = make_one(k, i, start + i * k->sens.n, kappa);
	if (!st && k->r->s->subsets > 1)
		record_warn(k->r->record,
		            "with %" PRId64
		            " subsets the penalised image goes round in a cycle near the maximum; "
		            "'subsets' 1 reaches it",
		            k->r->s->subsets);
	k->em.prior = k->prior;
	k->em.beta = k->beta;
	return st ? st : record_result(k->r->record, "penalty_betas", record_reals(k->k, k->beta));
}

void kinetic_penalty_free(struct kinetic_run *k)
{
	for (int i = 0; k->prior && i < k->k; i++) iso_prior_free(k->prior[i]);
}
