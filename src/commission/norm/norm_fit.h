/* SPDX-License-Identifier: BSD-3-Clause */
/* Efficiencies of crystals, and factors of classes of pairs, by maximum likelihood.

   Of pair i = {a, b}, of classes k and l, in scan s:
     mu = eps_a eps_b t_k z_l q_i,   expected counts ybar = mu + r_i,   L = sum y ln ybar - ybar.
   q is what the pair would count with efficiencies 1; pairs with q = 0 are not used, nor are their counts. The parameters of
   the fit are the logarithms of eps, t and z, and for each scan how far its source lies from the place it was said to have:
   ln q changes by `slope` a unit. All sums are made in an order that does not depend on the number of threads or ranks. */
#ifndef ISO_NORM_FIT_H
#define ISO_NORM_FIT_H

#include "norm_classes.h"
#include "norm_rows.h"

#include "core/ctx.h"
#include "core/room.h"

enum { NORM_SHIFTS = 5 }; /* of one scan: x, y, two tilts, ln of the scale */

/* Counts of pairs, row by row. */
struct norm_counts {
	int64_t *first; /* (n + 1) */
	uint32_t *b;
	float *y;
	uint8_t *few; /* of each pair, in place of the lists, where memory is short; NULL */
};

/* Pairs of one row that have counts. */
struct norm_counted {
	int64_t n;
	const uint32_t *b;
	const float *y;
};

/* Room for what is made of one row where there are no tables. */
struct norm_line {
	float *q;
	uint32_t *b;
	float *y;
	struct norm_run *run;
};

struct norm_scan {
	float *q; /* of each pair; NULL: */
	/* makes q of row a, in any thread of the context */
	void (*row)(float *q, const struct norm_scan *s, int64_t a);
	const float *r;     /* of each pair; NULL: */
	const double *rate; /* r = rate_a rate_b; both NULL: none */
	struct norm_counts y;
	int shifts;
	float *slope[NORM_SHIFTS]; /* d q / d shift of each pair; NULL: q itself, of ln of the scale */
	double shift[NORM_SHIFTS], sd[NORM_SHIFTS], error[NORM_SHIFTS]; /* sd of the prior about 0; 0: none */
	/* Makes q, and with `slopes` these too, at the shifts as they are; NULL where there are none. */
	int (*make)(struct norm_scan *s, bool slopes, iso_ctx *ctx);
	/* q at other shifts, by the slopes there where it was made: a step of the fit. */
	int (*move)(struct norm_scan *s, iso_ctx *ctx);
	void *arg;
};

/* Where a fit is between two steps, besides what the struct of the fit has. */
struct norm_point {
	int first;     /* steps when this run of it began */
	double before; /* L before the step */
	bool placed;   /* a place that no step betters is kept */
	bool *active;  /* parameters that are fitted */
};

struct norm_saved;

struct norm_fit {
	iso_ctx *ctx;
	const struct norm_rows *rows;
	const struct norm_classes *classes;
	struct norm_scan *scan;
	int scans;
	double tolerance;               /* of max |G|/F; 0: 1e-3 of the least error */
	double stop;                    /* that share, of the least error, and no errors of shifts; 0: 1e-3 */
	bool on_host;                   /* on a CUDA context too */
	bool placed;                    /* the sources are no longer moved */
	int round;                      /* of those that find the place: for the state alone */
	struct norm_saved *state;       /* told of each step; NULL: nobody */
	const struct norm_point *point; /* the next run goes on from here; NULL: it begins */
	int most_steps;                 /* 0: 50 */
	/* factors, borrowed, and what became of them */
	double *eps, *t, *z;
	bool *dead;    /* crystals: on entry those that are masked */
	char *t_state; /* of classes: enum norm_state */
	char *z_state;
	double loglik;
	double counts, randoms, left_out; /* used; expected among them; on pairs that are not used */
	int steps, products;
	int64_t too_random; /* crystals dead because they count no more than randoms */
	int64_t parts;      /* of the graph of used pairs: efficiencies of each have a scale of their own */
	struct norm_room *room;
	int status; /* the first failure of a pass, on a device or of another rank; sums are of no use from then on */
};

enum norm_state { NORM_FITTED, NORM_UNREACHED, NORM_NOTHING }; /* unreached: factor 1; nothing: 0 */

/* Parameters in the order of eps, t, z, and the shifts of each scan. */
int64_t norm_parameters(const struct norm_fit *f);
static inline int64_t norm_at_t(const struct norm_fit *f)
{
	return f->rows->n;
}
static inline int64_t norm_at_z(const struct norm_fit *f)
{
	return f->rows->n + f->classes->n_t;
}
int64_t norm_at_shift(const struct norm_fit *f, int scan);

/* ---- norm_sums.c: passes over pairs and over counts ---- */

/* What a pass over pairs adds up, to the parameters that a pair touches. */
enum norm_sum {
	NORM_EXPECTED, /* mu */
	NORM_FISHER,   /* mu^2/ybar */
	NORM_PRODUCT,  /* mu^2/ybar times v of all that the pair touches */
	NORM_USED,     /* 1 of each pair with mu > 0 */
};

/* Work space of the passes, on a CUDA context the tables of its device; freed with norm_sums_free. */
int norm_sums_create(struct norm_fit *f);
void norm_sums_free(struct norm_fit *f);

/* After q of the scans was made, and their slopes. */
void norm_sums_stale(struct norm_fit *f, bool slopes);

/* to[p] = sum over pairs; with NORM_FISHER a shift has the square of its slope. *total: sum of the terms themselves. */
void norm_pairs_sum(double *to, double *total, struct norm_fit *f, enum norm_sum what, const double *v);

/* to[p] = sum over counts of y mu/ybar, or of y mu/r, infinite where r is 0; *log = sum of y ln ybar, with the counts of dead
   crystals where r > 0. */
void norm_counts_sum(double *to, double *log, struct norm_fit *f, bool over_randoms);

/* Of each pair of a run of row a: mu and r; q is that of the run. */
void norm_row_terms(double *mu, double *r, const struct norm_fit *f, const struct norm_scan *s, int64_t a,
                    const struct norm_run *run, const float *q);

/* q of the pairs of row a: of the table, or made in `line`. */
static inline const float *norm_row_q(const struct norm_line *line, const struct norm_scan *s,
                                      const struct norm_rows *rows, int64_t a)
{
	if (s->q) return s->q + rows->first[a];
	s->row(line->q, s, a);
	return line->q;
}

/* Room for lines: of the counts alone with tables, of nothing with lists of counts. */
int norm_line_create(struct norm_line *line, struct iso_room *room, const struct norm_rows *rows,
                     const struct norm_scan *s);

/* norm_counts.c: the counts of row a, of its list, or found in `line`. */
struct norm_counted norm_counts_row(const struct norm_line *line, const struct norm_counts *c,
                                    const struct norm_rows *rows, int64_t a);

/* Slope of ln q of a pair. */
static inline double norm_slope(const struct norm_scan *s, int c, int64_t pair)
{
	return !s->slope[c] ? 1 : s->q[pair] > 0 ? (double)s->slope[c][pair] / (double)s->q[pair] : 0;
}

/* Randoms of a pair. */
static inline double norm_randoms(const struct norm_scan *s, int64_t a, int64_t b, int64_t pair)
{
	return s->r ? (double)s->r[pair] : s->rate ? s->rate[a] * s->rate[b] : 0;
}

/* Counts on used pairs of living crystals, or on pairs that are not used, of all scans. */
double norm_counts_on(const struct norm_fit *f, bool used);

/* Sum of r over pairs with q > 0, of all scans; `living`: whose crystals are not dead. */
double norm_randoms_sum(const struct norm_fit *f, bool living);

/* ---- the rest ---- */

/* norm_fit.c: fills all factors, in the gauge. Again: from the factors and shifts that are there, on q as it is made now. */
int norm_fit_run(struct norm_fit *f, bool again);

/* One step of scoring from the factors that are there, of which it changes none: `shift` of the first scan is the step of its
   shifts, `error` what it is good for. */
int norm_fit_step(struct norm_fit *f);

/* norm_gauge.c: what the likelihood leaves free. */
int norm_gauge(struct norm_fit *f);

/* norm_error.c: local[p] = 1/sqrt(F_pp); sd: of the logarithms in the gauge, NULL where *exact comes back false. Dead: 0. */
int norm_errors(double *local, double *sd, bool *exact, struct norm_fit *f);

#endif
