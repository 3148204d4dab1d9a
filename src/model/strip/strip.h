/* SPDX-License-Identifier: BSD-3-Clause */
/* Model strip as both backends see it. */
#ifndef ISO_STRIP_H
#define ISO_STRIP_H

#include "core/op.h"
#include "core/loop/order.h"
#include "strip_kern.h"

/* Data of the operator; on CUDA the events are device memory. */
struct strip_model {
	struct strip_params p;
	enum iso_strip_strategy strategy;
	struct iso_order order;
	int64_t n;
	struct iso_strip_event *e; /* in the operator's order; bad ones are all NaN */
};

ISO_C struct iso_rows iso_strip_rows(const iso_op *op, int sub);
ISO_C int64_t iso_strip_file_row(const iso_op *op, int64_t row);

extern const struct iso_op_fn iso_strip_cpu_fn;

/* What that takes for a model whose events are not there yet. */
void iso_strip_cpu_plan(struct iso_plan *plan, const iso_ctx *ctx, const struct strip_model *m);

#endif
