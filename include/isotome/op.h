/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators: y = A x and its adjoint, by subsets of the data, the step of EM, and operators made of
   others.

   Threads: a handle serves one call at a time, a second is refused (ISO_EBUSY); give each thread a clone
   of its own. Handles may be freed on any thread. */
#ifndef ISOTOME_OP_H
#define ISOTOME_OP_H

#include "isotome/context.h"

ISO_BEGIN_C

/* y = A x, x = A* y, with the rows (data) of A in n_sub subsets, each one contiguous range.
   Vectors live on the context's device. An operator serves one caller at a time (ISO_EBUSY). */
typedef struct iso_op iso_op;

#define ISO_ALL (-1) /* every subset */

struct iso_rows {
	int64_t first, n;
};

/* Its context, the lengths of x and y, the number of subsets, and the rows of one of them or of
   ISO_ALL. */
iso_ctx *iso_op_ctx(const iso_op *op);
int64_t iso_op_n_in(const iso_op *op);
int64_t iso_op_n_out(const iso_op *op);
int iso_op_n_sub(const iso_op *op);
struct iso_rows iso_op_rows(const iso_op *op, int sub);

/* Both overwrite their destination. y is the whole data vector, in the operator's order; forward
   writes and adjoint reads the rows of `sub` only. */
ISO_CHECKED int iso_forward(iso_real *y, iso_op *op, int sub, const iso_real *x);
ISO_CHECKED int iso_adjoint(iso_real *x, iso_op *op, int sub, const iso_real *y);

/* The same of several images and their data, one behind the other: x has images * n_in values, y images * n_out. Model ray on
   the CPU traces each line once for up to 8 images; other operators, and CUDA, take the images one after the other. Each
   image has the bits of a call of its own. */
ISO_CHECKED int iso_forward_many(iso_real *y, iso_op *op, int sub, int images, const iso_real *x);
ISO_CHECKED int iso_adjoint_many(iso_real *x, iso_op *op, int sub, int images, const iso_real *y);

/* The data side of EM, vectors of n_out in the operator's order; each may be NULL. */
struct iso_em_data {
	const iso_real *y;    /* counts; NULL: all ones (list mode) */
	const iso_real *add;  /* additive term over the multiplicative factor, r/m; NULL: 0 */
	const iso_real *mult; /* multiplicative factor m; NULL: 1. Rows with m = 0 are skipped;
				   otherwise m enters the log-likelihood alone */
};

struct iso_em_stat {
	double loglik;         /* sum of y log(m (Ax + add)) over the rows used */
	double counts;         /* sum of y over the rows used whose ray meets activity */
	double lost;           /* sum of y over the rows skipped */
	int64_t used, skipped; /* rows; skipped: m = 0, or Ax + add = 0 */
};

/* acc = x * A_sub*( y / (A_sub x + add) ) in one pass over the data. */
ISO_CHECKED int iso_op_em_step(iso_real *acc, struct iso_em_stat *stat, iso_op *op, int sub,
                               const iso_real *x, const struct iso_em_data *data);

struct iso_ratio_stat {
	struct iso_em_stat em;
	int64_t cut; /* terms that were larger than their bound, and cut to it */
};

/* z = A_sub*( new - rho ), new_j = y_j / ((A_sub x)_j + a_j), for the rows of `sub` in one pass over the data; then
   rho_j = new_j unless `keep`. rho: n_out values in the operator's order. u > 0 is about the size of x, and
   sets the scale of fixed-point sums. Terms u_n a_jn (new_j - rho_j) above 256 times the largest y are cut and
   counted. */
ISO_CHECKED int iso_op_ratio_step(iso_real *z, iso_real *rho, struct iso_ratio_stat *stat, iso_op *op,
                                  int sub, bool keep, const iso_real *x, const iso_real *u,
                                  const struct iso_em_data *data);

/* Data vectors on the host: from the file's order to the operator's, and back. dst and src must not overlap. */
void iso_op_sort(iso_real *dst, const iso_op *op, const iso_real *src);
void iso_op_unsort(iso_real *dst, const iso_op *op, const iso_real *src);

/* The same for vectors in memory of the context's device. On CUDA the first call takes 8 bytes a row of device
   memory for the order, which the handle keeps. */
ISO_CHECKED int iso_op_sort_device(iso_real *dst, iso_op *op, const iso_real *src);
ISO_CHECKED int iso_op_unsort_device(iso_real *dst, iso_op *op, const iso_real *src);

/* A second handle on the same tables, with work space of its own. */
ISO_CHECKED int iso_op_clone(iso_op **clone, iso_op *op);
void iso_op_free(iso_op *op);

/* An operator of the caller's own functions, which then works with every algorithm, chain and test.
   Their vectors are in memory of the context's device: host pointers on the CPU, device pointers on
   CUDA, where the device is the current one and work belongs into the stream iso_ctx_stream(ctx) or
   must have ended when the function returns. They return ISO_OK or a code of iso_status, ISO_ECANCEL
   if they heed iso_ctx_cancelled. Clones share `arg`: two of them may be called at once, on two
   threads, and a chain calls clones of its parts. */
struct iso_custom {
	size_t size; /* sizeof(struct iso_custom) */
	int64_t n_in, n_out;
	int n_sub;
	const struct iso_rows *rows; /* of each subset, one behind the other from row 0 to n_out - 1;
	                                copied; NULL: there is one subset */
	/* as iso_forward, iso_adjoint, iso_op_em_step; `sub` may be ISO_ALL */
	int (*forward)(void *arg, int sub, iso_real *y, const iso_real *x);
	int (*adjoint)(void *arg, int sub, iso_real *x, const iso_real *y);
	int (*em_step)(void *arg, int sub, iso_real *acc, const iso_real *x, const struct iso_em_data *data,
	               struct iso_em_stat *stat); /* NULL: by forward and adjoint, through the host */
	void (*free)(void *arg);                  /* when the last handle is freed; NULL: not wanted */
	void *arg;
};
ISO_CHECKED int iso_custom_create(iso_op **op, iso_ctx *ctx, const struct iso_custom *p);

/* y = d * x, element by element; copies d, n values on the host. */
ISO_CHECKED int iso_diag_create(iso_op **op, iso_ctx *ctx, int64_t n, const iso_real *d);

/* y = outer(inner(x)); keeps both. Subsets are the outer operator's. */
ISO_CHECKED int iso_chain_create(iso_op **op, iso_op *outer, iso_op *inner);

/* Least squares in which rows count by weights, one for each of n equal runs of rows: `op` becomes
   sqrt(w) op, and data on the host sqrt(w) y. Weights are taken over their mean. ISO_EARG for an
   operator that orders its rows. */
ISO_CHECKED int iso_weigh_rows(iso_op **op, int64_t n, const double *weight);
ISO_CHECKED int iso_weigh_data(iso_real *y, int64_t rows, int64_t n, const double *weight);

/* |<Ax, y> - <x, A*y>| / (|Ax| |y|) for zero-mean Gaussian x and y. */
ISO_CHECKED int iso_test_adjoint(double *err, iso_op *op, int sub, uint64_t seed);

ISO_END_C
#endif
