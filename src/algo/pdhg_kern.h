/* SPDX-License-Identifier: BSD-3-Clause */
/* What a step of primal-dual hybrid gradients does at a voxel and at a row of data, for both devices.

   min_x G(x) + sum_j f_j((A x)_j) + tv |D x|, G(x) = <S, x> for x >= 0, has the saddle point

	x >= 0,   z = A* p + D* w,   |w_n| <= tv,   p_j = f_j'((A x)_j)

   f_j(q) = -y log(q + a) of the likelihood, (q - y)^2 of least squares, where S = 0. */
#ifndef ISO_PDHG_KERN_H
#define ISO_PDHG_KERN_H

#include "prox_kern.h"

struct pdhg {
	struct prox box;  /* sizes of the image; is x >= 0 wanted? */
	iso_real axis[3]; /* v_1 / v_a: weights of the differences along x, y, z */
	bool squares;     /* least squares; else the likelihood */
	bool whole;       /* a step takes all rows */
	bool keep_unseen;
	double tv;
	double share;  /* 1 over the probability of a row to be in a step: the number of subsets */
	double norm;   /* of least squares: bound of `share` times |A_b|^2, for every subset b */
	double limit;  /* what |x| is bounded by in the gap of least squares */
	double scale;  /* of the dual in the gap of the likelihood, which makes it feasible */
	double mean;   /* of the start, where it is seen; of least squares, of |x| after a step downhill */
	double floor;  /* least value of `size` */
	double weight; /* of w's steps: 3 tv */
	double balance;
	iso_real step; /* sigma of all rows, where `sigma` is NULL */
	/* images */
	iso_real *x;       /* the image */
	iso_real *tau;     /* its steps; 0: the voxel is not seen and stays 0 */
	iso_real *sens;    /* S; NULL: 0 */
	iso_real *za, *zw; /* A* p, D* w */
	iso_real *ahead;   /* za + zw, extrapolated */
	iso_real *back;    /* A* of the step's rows; free between steps */
	iso_real *w;       /* three fields, one after the other: where a difference has no neighbour w is 0 */
	iso_real *reach;   /* steps of w; 0: the voxel is nobody's neighbour. NULL, as w: tv is 0 */
	iso_real *size;    /* while the start is made: about the size of x; > 0 where it is seen */
	iso_real *most;    /* while the start is made: the largest subset's A* y/(A u + a) */
	iso_real *slope;   /* in a look: |D x| */
	/* rows */
	const iso_real *y, *add, *mult; /* NULL: 1, 0, 1 */
	iso_real *p, *sigma;            /* the dual, 0: the row is skipped; its steps */
	iso_real *q, *d;                /* products and differences */
};

/* What a loop does at each of its voxels or rows. */
enum pdhg_do {
	PDHG_SIZE,       /* start: u from the start image */
	PDHG_ROWS_BEGIN, /* start: p and sigma from q = A u */
	PDHG_MOST_OF,    /* start: `most` and za from A* of a subset's p */
	PDHG_STEPS,      /* start: tau and reach */
	PDHG_IMAGE,      /* x */
	PDHG_FIELD,      /* w */
	PDHG_ROWS,       /* d, and with subsets q, from q = A x */
	PDHG_COLLECT,    /* za, zw, ahead from `back` and w */
	PDHG_ROW_GAP,    /* look: d and q from q = A x */
	PDHG_COUNTS,     /* look: d = y, 0 of rows that are skipped */
	PDHG_VOXEL_GAP,  /* look: back, slope */
};

/* ---- total variation ---- */

ISO_HD bool pdhg_linked(const struct pdhg *c, const struct prox_place *q, int64_t v, int a)
{
	return q->at[a] < c->box.n[a] - 1 && c->reach[v] > 0 && c->reach[v + q->step[a]] > 0;
}

ISO_HD iso_real pdhg_slope(const struct pdhg *c, const struct prox_place *q, const iso_real *x, int64_t v,
                           int a)
{
	return pdhg_linked(c, q, v, a) ? c->axis[a] * (x[v + q->step[a]] - x[v]) : 0;
}

/* (D* w)_v */
ISO_HD iso_real pdhg_divergence(const struct pdhg *c, int64_t v)
{
	struct prox_place q = prox_place(&c->box, v);
	iso_real sum = 0;

	for (int a = 0; a < 3; a++) {
		const iso_real *f = c->w + a * prox_voxels(&c->box) + v;

		sum += c->axis[a] * ((q.at[a] > 0 ? f[-q.step[a]] : 0) - f[0]);
	}
	return sum;
}

/* w + reach D x, cut to |w_v| <= tv. */
ISO_HD void pdhg_field(const struct pdhg *c, int64_t v)
{
	int64_t voxels = prox_voxels(&c->box);
	struct prox_place q = prox_place(&c->box, v);
	iso_real f[3], size = 0, tv = (iso_real)c->tv;

	for (int a = 0; a < 3; a++) {
		f[a] = c->w[a * voxels + v] + c->reach[v] * pdhg_slope(c, &q, c->x, v, a);
		size += f[a] * f[a];
	}
	size = iso_sqrt(size);
	for (int a = 0; a < 3; a++) c->w[a * voxels + v] = size > tv ? f[a] * (tv / size) : f[a];
}

/* ---- the start (docs/priors-tv.md): 1/tau_v = sum of |K_iv| omega_i / u_v, sigma_i = omega_i / (|K| u)_i, which bounds
   the norm of sqrt(sigma) K sqrt(tau) by 1 (Pock and Chambolle 2011, with u = 1 and omega = 1) ---- */

ISO_HD void pdhg_size(const struct pdhg *c, int64_t v)
{
	c->size[v] = c->squares       ? (iso_real)c->mean
	             : c->sens[v] > 0 ? iso_fmax(c->x[v], (iso_real)(c->floor * c->mean))
	                              : 0;
}

/* p = -y/(A u + a); omega = -balance p, sigma = omega/(A u), 0 where the row meets no voxel. */
ISO_HD void pdhg_rows_begin(const struct pdhg *c, int64_t j)
{
	iso_real y = c->y ? c->y[j] : 1, q = c->q[j], r = q + (c->add ? c->add[j] : 0);
	bool used = y > 0 && r > 0 && (!c->mult || c->mult[j] > 0);

	c->p[j] = used ? -y / r : 0;
	c->sigma[j] = used && q > 0 ? (iso_real)c->balance * y / r / q : 0;
}

ISO_HD void pdhg_most_of(const struct pdhg *c, int64_t v)
{
	c->most[v] = iso_fmax(c->most[v], -c->back[v]);
	c->za[v] += c->back[v];
}

/* Neighbours along an axis in which v has a part: sum of |D| of its column, weights of the axes; and the largest row sum
   |D_a| u of its own differences. */
ISO_HD void pdhg_links(const struct pdhg *c, int64_t v, double *column, double *row)
{
	struct prox_place q = prox_place(&c->box, v);

	*column = *row = 0;
	for (int a = 0; a < 3; a++) {
		bool next = q.at[a]<c->box.n[a] - 1, last = q.at[a]> 0;
		double u = (double)c->size[v] + (next ? c->size[v + q.step[a]] : 0);

		*column += (double)c->axis[a] * (next + last);
		*row = fmax(*row, (double)c->axis[a] * u);
	}
}

/* The data's part of 1/tau: of least squares step times norm; of the likelihood share times the largest subset's A* omega
   over u, at least a tenth of balance S/u, for voxels that no event meets. */
ISO_HD void pdhg_steps(const struct pdhg *c, int64_t v)
{
	double column = 0, row = 0, u = c->size[v];
	double data = c->squares ? (double)c->step * c->norm * u
	                         : c->balance * fmax(c->share * c->most[v], .1 * c->sens[v]);

	if (c->reach) {
		pdhg_links(c, v, &column, &row);
		c->reach[v] =
			u > 0 || c->keep_unseen ? (iso_real)(c->weight / fmax(row, c->floor * c->mean)) : 0;
	}
	data += c->weight * column;
	c->tau[v] = (iso_real)(data > 0 ? .99 * u / data : u);
}

/* ---- a step ---- */

ISO_HD void pdhg_image(const struct pdhg *c, int64_t v)
{
	iso_real x = c->x[v] - c->tau[v] * ((c->sens ? c->sens[v] : 0) + c->ahead[v]);

	c->x[v] = c->box.nonneg && !(x > 0) ? 0 : x;
}

/* The proximal map of sigma f* at v = p + sigma A x: for the likelihood the negative root of
   p^2 - (v + sigma a) p - sigma y, for least squares (v - sigma y)/(1 + sigma/2). */
ISO_HD iso_real pdhg_prox(const struct pdhg *c, int64_t j)
{
	iso_real sigma = c->sigma ? c->sigma[j] : c->step, p = c->p[j], y = c->y ? c->y[j] : 1;

	if (c->squares) return (p + sigma * (c->q[j] - y)) / (1 + sigma / 2);
	if (!(sigma > 0)) return p;
	iso_real b = p + sigma * (c->q[j] + (c->add ? c->add[j] : 0)), root = iso_sqrt(b * b + 4 * sigma * y);

	return b > 0 ? -2 * sigma * y / (b + root) : (b - root) / 2;
}

/* d is what the adjoint takes: p itself, or with subsets its change, with the new p in q. */
ISO_HD void pdhg_rows(const struct pdhg *c, int64_t j)
{
	iso_real p = pdhg_prox(c, j);

	c->d[j] = c->whole ? p : p - c->p[j];
	if (!c->whole) c->q[j] = p;
}

ISO_HD void pdhg_collect(const struct pdhg *c, int64_t v)
{
	iso_real change = c->whole ? c->back[v] - c->za[v] : c->back[v];
	iso_real za = c->whole ? c->back[v] : c->za[v] + change, zw = c->w ? pdhg_divergence(c, v) : 0;

	c->ahead[v] = za + zw + (iso_real)c->share * change + (zw - c->zw[v]);
	c->za[v] = za;
	c->zw[v] = zw;
}

/* ---- looks: gap = sum of three terms, none of them negative (Fenchel and Young),
	sum_j f_j(q_j) + f_j*(p_j) - p_j q_j,   tv |D x| - <w, D x>,   G(x) + G*(-z) + <x, z> ---- */

/* Of the likelihood y (t - 1 - log t), t = -p (q + a)/y, and the logarithm of m (q + a); of least squares the numbers
   whose squares they are, q - y - p/2 and q - y. */
ISO_HD void pdhg_row_gap(const struct pdhg *c, int64_t j)
{
	iso_real y = c->y ? c->y[j] : 1, p = c->p[j];

	if (c->squares) {
		c->q[j] -= y;
		c->d[j] = c->q[j] - p / 2;
		return;
	}
	double r = (double)c->q[j] + (c->add ? c->add[j] : 0), t = -c->scale * p * r / y;

	bool used = p < 0;

	c->d[j] = used ? (iso_real)(y * (fabs(t - 1) < 1e-4 ? (t - 1) * (t - 1) / 2 : t - 1 - log(t))) : 0;
	c->q[j] = used ? (iso_real)log(r * (c->mult ? (double)c->mult[j] : 1)) : 0;
}

/* What the dual lacks to be feasible, -z/S; of least squares |x|. The largest is wanted. */
ISO_HD iso_real pdhg_lack(const struct pdhg *c, int64_t v)
{
	if (c->squares) return c->x[v] < 0 ? -c->x[v] : c->x[v];
	return c->sens[v] > 0 ? iso_fmax(-(c->za[v] + c->zw[v]) / c->sens[v], 0) : 0;
}

ISO_HD void pdhg_voxel_gap(const struct pdhg *c, int64_t v)
{
	double x = c->x[v], z = c->scale * ((double)c->za[v] + c->zw[v]), turn = 0, steep = 0;

	for (int a = 0; c->w && a < 3; a++) {
		struct prox_place q = prox_place(&c->box, v);
		double d = pdhg_slope(c, &q, c->x, v, a);

		steep += d * d;
		turn += d * c->w[a * prox_voxels(&c->box) + v];
	}
	steep = sqrt(steep);
	double gap = c->tv * steep - c->scale * turn;

	gap = gap > 0 ? gap : 0; /* rounding */
	if (!c->squares)
		gap += x * fmax(c->sens[v] + z, 0.);
	else if (c->box.nonneg)
		gap += z > 0 ? x * z : (x - c->limit) * z;
	else
		gap += x * z + c->limit * fabs(z);
	c->back[v] = (iso_real)gap;
	c->slope[v] = (iso_real)steep;
}

ISO_HD void pdhg_at(enum pdhg_do what, const struct pdhg *c, int64_t i)
{
	switch (what) {
	case PDHG_SIZE:
		pdhg_size(c, i);
		break;
	case PDHG_ROWS_BEGIN:
		pdhg_rows_begin(c, i);
		break;
	case PDHG_MOST_OF:
		pdhg_most_of(c, i);
		break;
	case PDHG_STEPS:
		pdhg_steps(c, i);
		break;
	case PDHG_IMAGE:
		pdhg_image(c, i);
		break;
	case PDHG_FIELD:
		pdhg_field(c, i);
		break;
	case PDHG_ROWS:
		pdhg_rows(c, i);
		break;
	case PDHG_COLLECT:
		pdhg_collect(c, i);
		break;
	case PDHG_ROW_GAP:
		pdhg_row_gap(c, i);
		break;
	case PDHG_COUNTS:
		c->d[i] = !(c->p[i] < 0) ? 0 : c->y ? c->y[i] : 1;
		break;
	case PDHG_VOXEL_GAP:
		pdhg_voxel_gap(c, i);
		break;
	}
}

/* For voxels or rows first ... first + n - 1. */
ISO_C int iso_pdhg_loop(iso_ctx *ctx, enum pdhg_do what, const struct pdhg *c, struct iso_rows range);
ISO_C int iso_pdhg_most(iso_ctx *ctx, double *most, const struct pdhg *c); /* of pdhg_lack */

#endif
