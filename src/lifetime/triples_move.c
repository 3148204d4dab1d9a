/* SPDX-License-Identifier: BSD-3-Clause */
/* Triples to a device, on which methods then run. */
#include "core/comm.h"
#include "triples_cuda.h"

int iso_triples_move(iso_triples *t, iso_ctx *ctx)
{
	void *fn = NULL;
	int st;

	if (!t || !ctx) return iso_fail_null(__func__);
	if ((st = iso_ctx_ready(ctx))) return st;
	if (!iso_ctx_is_cuda(ctx))
		return iso_fail(ISO_EARG, "triples: the context to move them to is of the CPU");
	if (t->cuda) return iso_fail(ISO_EARG, "triples: they were moved before");
	if (ctx->comm && ctx->comm->size > 1)
		return iso_fail(ISO_EARG, "lifetimes are computed by one process; there are %d",
		                ctx->comm->size);
	if ((st = iso_cuda_symbol(&fn, ISO_TRIPLES_CUDA))) return st;
	iso_ctx_free(t->room.ctx); /* the room has no array of a device yet */
	t->room.ctx = iso_ctx_keep(ctx);
	t->fn = fn;
	return t->fn->open(t);
}
