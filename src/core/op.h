/* SPDX-License-Identifier: BSD-3-Clause */
/* What a model provides, and what an operator is inside. */
#ifndef ISO_OP_H
#define ISO_OP_H

#include "progress.h"
#include "room.h"

ISO_BEGIN_C

struct iso_entries;

struct iso_op_fn {
	/* NULL: see `cannot` */
	int (*forward)(const iso_op *op, int sub, iso_real *y, const iso_real *x);
	int (*adjoint)(const iso_op *op, int sub, iso_real *x, const iso_real *y);
	/* NULL: the plain pair serves */
	int (*em_step)(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
	               const struct iso_em_data *d, struct iso_em_stat *s);
	/* as iso_op_ratio_step; NULL: the plain pair serves */
	int (*ratio_step)(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
	                  const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *s);
	/* rows of one subset, a range of 0 ... n_out - 1; NULL: there is one subset */
	struct iso_rows (*rows)(const iso_op *op, int sub);
	/* the file's row behind an operator's row; NULL: the same */
	int64_t (*file_row)(const iso_op *op, int64_t row);
	/* takes what a handle needs into op->work, as arrays of op->room; NULL: nothing */
	int (*open)(iso_op *op);
	/* give back what op->work has besides arrays of op->room, and, when the last handle goes, what
	   op->data has besides arrays of op->shared->room; NULL: nothing */
	void (*close)(iso_op *op);
	void (*free)(iso_op *op);
	/* function `int NAME(iso_op *op)` of libisotome_cuda.so that moves op->data to the device
	   and swaps op->fn; NULL: the vector table is all it uses, on any device */
	const char *to_cuda;
	int64_t work;       /* bytes of op->work when `open` is called */
	const char *cannot; /* the message where `forward` or `adjoint` is NULL */
	/* as iso_op_em_step_many (isotome/dynamic.h), but for the log-likelihood; NULL: a step an image */
	int (*em_step_many)(const iso_op *op, int sub, int images, iso_real *acc, const iso_real *x,
	                    const iso_real *y, const struct iso_em_data *d, struct iso_em_stat *s);
	/* on the CPU: adds the entries of the i-th row that the model holds to a list (core/op/entries.h), in a parallel
	   region of the context's threads, and returns which row it is; NULL: rows can't be had one by one */
	int64_t (*entries)(const iso_op *op, struct iso_entries *to, int64_t i);
	/* as iso_forward_many, iso_adjoint_many; NULL: an image after the other */
	int (*forward_many)(const iso_op *op, int sub, int images, iso_real *y, const iso_real *x);
	int (*adjoint_many)(const iso_op *op, int sub, int images, iso_real *x, const iso_real *y);
	/* as iso_op_em_steps; NULL: one step after the other */
	int (*em_steps)(const iso_op *op, int first, int n, iso_real *acc, const iso_real *x,
	                const struct iso_em_data *d, struct iso_em_stat *s);
};

/* What clones share. */
struct iso_op_shared {
	int handles;
	struct iso_room room; /* has `data` and its tables */
};

struct iso_op {
	const struct iso_op_fn *fn;
	iso_ctx *ctx;
	int64_t n_in, n_out;
	int n_sub;
	bool rows_split; /* of several ranks each has rows of its own; else all have all. Set by the model that splits them */
	void *data; /* parameters and tables: shared by clones, not written by an apply */
	struct iso_op_shared *shared;
	void *work;           /* this handle's own */
	struct iso_room room; /* has `work` and its arrays */
	int64_t *order; /* of iso_op_sort_device: the file's row of each row, on the device; of the room */
	int refs;       /* owners of this handle */
	int busy;       /* 1 during a call */
	struct iso_clock own,
		*clock; /* of the part of a call that counts; clock: &own, which a const handle changes */
};

/* For loops of models, on the CPU: what follows is told of as a brief stage of `total` parts, "events" or others; so
   many more are done. A call has one such stage after the other. */
void iso_op_counts(const iso_op *op, const char *stage, const char *unit, int64_t total);
void iso_op_count(const iso_op *op, int64_t parts);

/* Takes `data`, from malloc or size_alloc, in any case: a failure frees it. */
int iso_op_create(iso_op **op, iso_ctx *ctx, const struct iso_op_fn *fn, int64_t n_in, int64_t n_out,
                  int n_sub, void *data);

/* Takes the room that has `data`, in any case; fails with its status. */
int iso_op_create_in(iso_op **op, iso_ctx *ctx, const struct iso_op_fn *fn, int64_t n_in, int64_t n_out,
                     int n_sub, struct iso_room *room, void *data);

/* The end of a public constructor: what failed on one rank, such as want of memory, fails on all, and nobody waits for
   that rank later on. *op = made, or `made`, which may be NULL, is freed. Collective, see comm.h. */
int iso_op_agree(iso_op **op, iso_op *made, iso_ctx *ctx, int st);

/* ISO_EARG where ranks have rows of their own: `who` adds up over rows, and would add up those of one rank. */
int iso_op_refuse_split(const iso_op *op, const char *who);

/* One more owner of the handle. */
iso_op *iso_op_keep(iso_op *op);

/* Gives back the work space of an operator that nobody calls for a while, and makes it again. */
void iso_op_rest(iso_op *op);
int iso_op_wake(iso_op *op);

/* em_step by forward and adjoint: the reference, and the way of operators without their own. */
int iso_em_step_plain(const iso_op *op, int sub, iso_real *acc, const iso_real *x,
                      const struct iso_em_data *d, struct iso_em_stat *s);

/* iso_op_em_step_many by a step an image. */
int iso_em_step_each(const iso_op *op, int sub, int images, iso_real *acc, const iso_real *x,
                     const iso_real *y, const struct iso_em_data *d, struct iso_em_stat *s);

/* Steps of the subsets first ... first + n - 1, each of an image of its own: x and acc are n images, one behind the other, stat
   one an image. The same bits as n calls of iso_op_em_step. On a device small steps take less time together. */
int iso_op_em_steps(iso_real *acc, struct iso_em_stat *stat, iso_op *op, int first, int n, const iso_real *x,
                    const struct iso_em_data *data);
/* The same, one after the other. */
int iso_em_steps_each(const iso_op *op, int first, int n, iso_real *acc, const iso_real *x,
                      const struct iso_em_data *d, struct iso_em_stat *s);

/* iso_op_ratio_step by forward and adjoint. */
int iso_ratio_step_plain(const iso_op *op, int sub, iso_real *z, iso_real *rho, bool keep, const iso_real *x,
                         const iso_real *u, const struct iso_em_data *d, struct iso_ratio_stat *s);

/* One operator in several states of the image, one below the other: y = (A_0 W_0 x, A_1 W_1 x, ...). Subset k of `inner` is
   W_k, whose rows are those of the whole image. It keeps both operators.
     split       the outer operator has a subset of rows for each state in each subset of the stack: of subset s those of
                 state k are its subset s states + k. Rows and the file's order are the outer operator's.
     not split   the outer operator has the rows of one state. The stack has them once a state: subset s has those rows
                 of every state, and the file's order is state by state. */
int iso_stack_create(iso_op **op, iso_op *outer, iso_op *inner, bool split);
/* Work space, without the two operators and their clones. n: voxels. */
void iso_stack_plan(struct iso_plan *plan, const iso_ctx *ctx, int64_t n);

/* The largest eigenvalue of A* A: 20 power iterations from a fixed image, times 1.02. The first n values of the image
   count, the others are 0: of an operator of several frames n is the size of one, and others change nothing. */
int iso_op_eigenvalue(double *lambda, iso_op *op, int64_t n);

/* As iso_op_sort, a range of the operator's rows: dst[i] is row rows.first + i. */
void iso_op_sort_rows(const iso_op *op, iso_real *dst, const iso_real *src, struct iso_rows rows);

ISO_END_C
#endif
