/* SPDX-License-Identifier: BSD-3-Clause */
/* What a row of data does in an EM step, acc = x A*(y / (A x + a)), and the sums over the rows. */
#ifndef ISO_EM_KERN_H
#define ISO_EM_KERN_H

#include "hd.h"

/* What a row sends back, y / (ax + a), or 0 if it is skipped or meets no activity, where its terms
   x A are all 0; and its part of the sums. */
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

	for (int64_t i = 0; i < n; i++)
		em_stat_add(&s, part + i);
	return s;
}

#endif
