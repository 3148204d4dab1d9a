/* SPDX-License-Identifier: BSD-3-Clause */
/* What a row of data does in an EM step, acc = x A*(y / (A x + a)), and in a step of ratios; the sums over the rows. */
#ifndef ISO_EM_KERN_H
#define ISO_EM_KERN_H

#include "core/hd.h"

#include <float.h>

/* |log v| of every finite double v > 0 is below this. */
#define EM_LARGEST_LOG 746.

/* y / (ax + a) of a row, which adds its part to *s. 0 where the row is skipped. */
ISO_HD double em_quotient(struct iso_em_stat *s, const struct iso_em_data *d, int64_t row, double ax)
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
	return count / q;
}

/* The same, and 0 where ax is 0: the row meets no activity, and its terms x A are all 0. */
ISO_HD double em_respond(struct iso_em_stat *s, const struct iso_em_data *d, int64_t row, double ax)
{
	double quotient = em_quotient(s, d, row, ax);

	return ax > 0 ? quotient : 0;
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
	int64_t cut;                  /* terms of a step of ratios */
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
	sum->cut += t->cut;
}

/* A log-likelihood that is not finite stays so: callers take it for a sign of numbers too large. */
ISO_HD struct iso_em_stat em_tally_stat(const struct em_tally *t, struct em_scales s)
{
	struct iso_em_stat r = { t->infinite > 0 ? INFINITY : (double)t->loglik / s.loglik,
		                 (double)t->counts / s.counts, (double)t->lost / s.counts, t->used,
		                 t->skipped };

	return r;
}

/* ---- a step of ratios: z = A*(new - rho), new = y / (A x + a) ---- */

/* No term u a (new - rho) counts for more than this many times the largest y. */
#define RATIO_MOST 256.

/* Counts of all rows of a step, of all ranks. */
struct ratio_counts {
	double sum, most; /* most: the largest of them; above 0 */
	double rows;
};

/* The ratios of a step: n_out values in the operator's order. */
struct ratio_rows {
	iso_real *rho;
	bool keep; /* rho stays as it is */
};

/* The ratio of a row as it is stored: a division by next to nothing gives the largest number that there is. */
ISO_HD iso_real ratio_new(struct iso_em_stat *s, const struct iso_em_data *d, int64_t row, double ax)
{
#ifdef ISO_DOUBLE
	const double most = DBL_MAX;
#else
	const double most = FLT_MAX;
#endif
	double quotient = em_quotient(s, d, row, ax);

	return (iso_real)(quotient < most ? quotient : most);
}

/* new - rho of a row: exactly 0 where A x is what it was. `at` is the row's place in rho, `row` that in d. */
ISO_HD double ratio_respond(struct iso_em_stat *s, const struct ratio_rows *r, int64_t at,
                            const struct iso_em_data *d, int64_t row, double ax)
{
	iso_real now = ratio_new(s, d, row, ax), before = r->rho[at];

	if (!r->keep) r->rho[at] = now;
	return (double)now - before;
}

/* Bound of a fixed-point sum over `rows` rows of terms that are cut, the largest y being `most`; a row adds to a voxel
   `times` times at most. */
ISO_HD double ratio_bound(double rows, double most, double times)
{
	return RATIO_MOST * most * rows * times;
}

/* v, cut to +-limit, also where it is not a number; *cut counts those. */
ISO_HD double ratio_cut(double v, double limit, int64_t *cut)
{
	if (fabs(v) <= limit) return v;
	++*cut;
	return v < 0 ? -limit : limit;
}

ISO_HD struct iso_ratio_stat ratio_stat(const struct em_tally *t, struct em_scales s)
{
	struct iso_ratio_stat r = { em_tally_stat(t, s), t->cut };

	return r;
}

#endif
