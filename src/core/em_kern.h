/* SPDX-License-Identifier: BSD-3-Clause */
/* What a row of data does in an EM step, acc = x A*(y / (A x + a)), and the sums over the rows. */
#ifndef ISO_EM_KERN_H
#define ISO_EM_KERN_H

#include "hd.h"

/* |log v| of every finite double v > 0 is below this. */
#define EM_LARGEST_LOG 746.

/* y / (ax + a) of a row, which adds its part to *s. 0 where the row is skipped, or where ax is 0: it meets
   no activity, and its terms x A are all 0. */
ISO_HD double em_respond(struct iso_em_stat *s, const struct iso_em_data *d, int64_t row, double ax)
{
	double mult = d->mult ? d->mult[row] : 1, count = d->y ? d->y[row] : 1;
	double q = ax + (d->add ? d->add[row] : 0);

	if (!(mult > 0) || !(q > 0)) {
		s->skipped++;
		s->lost += count;
		return 0;
	}
	s->used++;
	s->counts += ax > 0 ? count : 0;
	s->loglik += count * log(mult * q);
	return ax > 0 ? count / q : 0;
}

ISO_HD void em_stat_add(struct iso_em_stat *sum, const struct iso_em_stat *s)
{
	sum->loglik += s->loglik;
	sum->counts += s->counts;
	sum->lost += s->lost;
	sum->used += s->used;
	sum->skipped += s->skipped;
}

ISO_HD struct iso_em_stat em_stat_sum(int64_t n, const struct iso_em_stat *part)
{
	struct iso_em_stat s = ISO_ZERO;

	for (int64_t i = 0; i < n; i++) em_stat_add(&s, part + i);
	return s;
}

/* ---- the sums as integers, which are the same for every order of the rows ---- */

struct em_tally {
	int64_t loglik, counts, lost; /* in fixed point, by em_scales */
	int64_t used, skipped;        /* rows */
	int64_t infinite;             /* rows whose part of the log-likelihood is not finite */
};

/* What a tally's log-likelihood, and its counts and losses, are multiplied by. */
struct em_scales {
	double loglik, counts;
};

/* For rows whose counts y add up to at most `bound`. */
ISO_HD struct em_scales em_scales(double bound)
{
	struct em_scales s = { iso_fixed_scale(EM_LARGEST_LOG * bound), iso_fixed_scale(bound) };

	return s;
}

/* Adds `row`, the sums over one row. */
ISO_HD void em_tally_row(struct em_tally *t, struct em_scales s, const struct iso_em_stat *row)
{
	bool finite = isfinite(row->loglik);

	t->loglik += finite ? llrint(row->loglik * s.loglik) : 0;
	t->infinite += !finite;
	t->counts += llrint(row->counts * s.counts);
	t->lost += llrint(row->lost * s.counts);
	t->used += row->used;
	t->skipped += row->skipped;
}

ISO_HD void em_tally_add(struct em_tally *sum, const struct em_tally *t)
{
	sum->loglik += t->loglik;
	sum->counts += t->counts;
	sum->lost += t->lost;
	sum->used += t->used;
	sum->skipped += t->skipped;
	sum->infinite += t->infinite;
}

/* A log-likelihood that is not finite stays so: callers take it for a sign of numbers too large. */
ISO_HD struct iso_em_stat em_tally_stat(const struct em_tally *t, struct em_scales s)
{
	struct iso_em_stat r = { t->infinite > 0 ? INFINITY : (double)t->loglik / s.loglik,
		                 (double)t->counts / s.counts, (double)t->lost / s.counts, t->used,
		                 t->skipped };

	return r;
}

#endif
