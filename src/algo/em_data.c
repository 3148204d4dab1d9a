/* SPDX-License-Identifier: BSD-3-Clause */
/* The data of EM and of penalised likelihood, from the caller's arrays to the device. */
#include "loop.h"

#include <math.h>

/* Data in the operator's order, on the device; add over mult, 0 where mult is 0. */
static int upload(struct iso_loop *l, struct iso_em_data *data)
{
	const struct iso_em_data d = *data;
	iso_real *ratio = NULL;
	int64_t bad = l->n_data;

	if (d.add && d.mult && !ISO_HOST(&l->taken, ratio, l->n_data)) return l->taken.status;
#pragma omp parallel for num_threads(l->ctx->threads) reduction(min : bad)
	for (int64_t j = 0; j < (ratio ? l->n_data : 0); j++) {
		ratio[j] = d.mult[j] > 0 ? d.add[j] / d.mult[j] : 0;
		if (j < bad && !isfinite(ratio[j])) bad = j;
	}
	if (bad < l->n_data)
		return iso_fail(ISO_EINPUT,
		                "%s: additive term %g over factor %g, of event %" PRId64 ", is too large",
		                l->fn->name, (double)d.add[bad], (double)d.mult[bad], bad);
	data->y = iso_loop_rows(l, d.y);
	data->mult = iso_loop_rows(l, d.mult);
	data->add = iso_loop_rows(l, ratio ? ratio : d.add);
	return l->room.status;
}

int iso_loop_em_data(struct iso_loop *l, struct iso_em_data *d, double *counts)
{
	int64_t n = l->n_data;
	int passes = 2 * (!!d->y + !!d->add + !!d->mult); /* checked, and put in order */
	double sum = 0;
	int st;

	l->data = iso_clock_brief(l->ctx, "data", "events", passes * n, NULL);
	iso_clock_count(&l->data, "events", 1. / fmax(passes, 1));
	if ((st = iso_loop_take(l, "counts", n, &d->y, true))) return st;
	if ((st = iso_loop_take(l, "additive term", n, &d->add, true))) return st;
	if ((st = iso_loop_take(l, "multiplicative factor", n, &d->mult, true))) return st;
	for (int64_t j = 0; counts && d->y && j < n; j++) sum += d->y[j];
	if (counts) *counts = d->y ? sum : (double)n;
	st = upload(l, d);
	if (!st) iso_clock_end(&l->data);
	l->data = (struct iso_clock){ 0 };
	return st;
}
