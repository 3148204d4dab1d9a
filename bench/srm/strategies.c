/* SPDX-License-Identifier: BSD-3-Clause */
/* The papers' strategies as ways of model srm: a table of tables and loops. */
#include "strategies.h"

#include "model/srm/matrix/srm_matrix.h"

#include <stdlib.h>

const char *const srm_strategy_name[SRM_STRATEGIES] = { "correlation", "row", "column", "combined" };

static void make_tables(struct srm_op *m)
{
	struct srm_tables *t;

	if (!ISO_HOST(m->room, t, 1)) return;
	if (m->way->number != SRM_COLUMN)
		t->taps = iso_srm_pair_rows(m->room, m->srm, (struct iso_srm_order){ 0 }, true);
	if (m->way->number != SRM_ROW) t->columns = iso_srm_pair_columns(m->room, m->srm);
	m->tables = t;
}

#define WAY(NUMBER, FORWARD, BACK)                           \
	[NUMBER] = { .number = NUMBER,                       \
		     .table = make_tables,                   \
		     .fn = { FORWARD, BACK, SRM_OP_SHARED }, \
		     .cuda = { "libisotome_bench_cuda.so", "iso_srm_strategy_to_cuda" } }

static const struct srm_way ways[SRM_STRATEGIES] = {
	WAY(SRM_ROW, iso_srm_row_forward, iso_srm_row_back),
	WAY(SRM_COLUMN, iso_srm_column_forward, iso_srm_column_back),
	WAY(SRM_COMBINED, iso_srm_row_forward, iso_srm_column_back),
};

int srm_strategy_create(iso_op **op, iso_ctx *ctx, const struct iso_srm_model *p, enum srm_strategy s)
{
	if ((unsigned)s >= SRM_STRATEGIES) return iso_fail(ISO_EARG, "srm: there is no strategy %d", (int)s);
	return s == SRM_CORRELATION ? iso_srm_op_create(op, ctx, p)
	                            : iso_srm_op_create_by(op, ctx, p, &ways[s]);
}
