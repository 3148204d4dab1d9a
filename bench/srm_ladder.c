/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks what is asked of the ladder and sends it to the CUDA half. */
#include "ladder.h"

#include "limits.h"

#include "model/srm/srm_op.h"

static int check_operator(const iso_op *op, enum iso_srm_strategy other)
{
	const struct srm_op *m = op->data;

	if (!iso_ctx_is_cuda(op->ctx))
		return iso_fail(ISO_EDEVICE, "srm ladder: needs a CUDA device, not %s",
		                iso_ctx_device(op->ctx));
	if (m->strategy != other && m->strategy != ISO_SRM_COMBINED)
		return iso_fail(ISO_EARG, "srm ladder: strategy %d has no such table", (int)m->strategy);
	return ISO_OK;
}

int iso_srm_ladder_forward(double *seconds, iso_op *op, const struct iso_srm_ladder *p, iso_real *y,
                           const iso_real *x)
{
	void *cuda;
	int st = check_operator(op, ISO_SRM_ROW);

	if (st) return st;
	if ((unsigned)p->step >= ISO_SRM_STEPS)
		return iso_fail(ISO_EARG, "srm ladder: there is no step %d", (int)p->step);
	if (p->threads < 1 || p->threads > 128 || (p->threads & (p->threads - 1)))
		return iso_fail(ISO_EARG, "srm ladder: %d threads, must be a power of two up to 128",
		                p->threads);
	if ((st = iso_bench_cuda(&cuda, "iso_srm_ladder_forward_cuda"))) return st;
	return ((__typeof__(&iso_srm_ladder_forward))cuda)(seconds, op, p, y, x);
}

int iso_srm_ladder_columns(iso_op *op, const iso_srm *m, bool folded)
{
	void *cuda;
	int st = check_operator(op, ISO_SRM_COLUMN);

	if (st || (st = iso_bench_cuda(&cuda, "iso_srm_ladder_columns_cuda"))) return st;
	return ((__typeof__(&iso_srm_ladder_columns))cuda)(op, m, folded);
}
