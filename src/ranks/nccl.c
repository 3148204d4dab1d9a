/* SPDX-License-Identifier: BSD-3-Clause */
/* libisotome_nccl.so: what core/comm.c asks of NCCL, where every rank has a GPU of its own. All is in the order of the
   context's stream: nobody waits for it here. */
#include "core/comm.h"

#include <cuda_runtime.h>
#include <nccl.h>

static int check(const char *what, ncclResult_t r)
{
	return r == ncclSuccess ? ISO_OK : iso_fail(ISO_EDEVICE, "NCCL: %s: %s", what, ncclGetErrorString(r));
}

/* An id that rank 0 makes brings the ranks together. */
static int nccl_open(iso_ctx *ctx)
{
	struct iso_comm *c = ctx->comm;
	ncclUniqueId id = { { 0 } };
	ncclComm_t comm = NULL;
	int st = c->rank == 0 ? check("id", ncclGetUniqueId(&id)) : ISO_OK, told;
	double bad;

	if ((told = c->fn->broadcast(c, &id, sizeof id, 0))) return told;
	if (!st) st = ctx->cuda->use(ctx);
	bad = st != ISO_OK;
	if ((told = c->fn->max(c, &bad, 1))) return told;
	if (bad > 0) return st ? st : iso_fail(ISO_EDEVICE, "NCCL: another rank could not start");
	st = check("start", ncclCommInitRank(&comm, c->size, id, c->rank));
	c->nccl_comm = comm;
	return st;
}

/* After a failure others may not come to end it together. */
static void nccl_close(struct iso_comm *c)
{
	if (c->failed)
		ncclCommAbort(c->nccl_comm);
	else
		ncclCommDestroy(c->nccl_comm);
	c->nccl_comm = NULL;
}

static int nccl_sum(iso_ctx *ctx, int64_t *v, int64_t n)
{
	int st = ctx->cuda->use(ctx);

	return st ? st
	          : check("reduce", ncclAllReduce(v, v, (size_t)n, ncclInt64, ncclSum, ctx->comm->nccl_comm,
	                                          (cudaStream_t)ctx->stream));
}

/* Parts differ in size: one broadcast for each rank, as one group. */
static int nccl_gather(iso_ctx *ctx, void *v, const int64_t *first)
{
	const struct iso_comm *c = ctx->comm;
	int st = ctx->cuda->use(ctx), ended;

	if (st || (st = check("gather", ncclGroupStart()))) return st;
	for (int r = 0; r < c->size && !st; r++) {
		char *part = (char *)v + first[r];

		st = check("gather", ncclBroadcast(part, part, (size_t)(first[r + 1] - first[r]), ncclChar, r,
		                                   c->nccl_comm, (cudaStream_t)ctx->stream));
	}
	ended = check("gather", ncclGroupEnd());
	return st ? st : ended;
}

const char iso_half_version[] = ISO_VERSION; /* library.c */

const struct iso_nccl_fn iso_nccl_fn = { nccl_open, nccl_close, nccl_sum, nccl_gather };
