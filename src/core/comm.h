/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks: processes that share the work of one context. comm.c alone knows how they talk; a context without a
   communicator is one rank, for which nothing here does anything.

   Functions that take `st` are collective: every rank calls the same of them in the same order, and says
   how its own work went. If it went wrong anywhere, nothing is exchanged, and all ranks return the status
   of the lowest rank where it did, with that rank's message; from then on every such function returns
   that status at once. So a rank that fails between two of them just returns: the others learn of it
   at their next one.

   Models share work in one of two ways, and either gives the same bits for any number of ranks:
   - by rows (ray, strip): each rank has rows of its own; images are integers, added over all ranks
     (iso_comm_sum) before they become floats;
   - by results (srm, svoxel, sradon, ubp): all ranks have all of image and data; forward, each computes its
     share of the rows, back, its share of the voxels, every value in the order in which one rank alone would;
     then they are gathered (iso_comm_gather). */
#ifndef ISO_COMM_H
#define ISO_COMM_H

#include "ctx.h"
#include "isotome/op.h"

ISO_BEGIN_C

/* What the core calls in libisotome_mpi.so: its symbol iso_mpi_fn. Vectors are in memory of the host; those of sum
   and gather may be the device's where `takes_device`. */
struct iso_comm_fn {
	/* `comm`: the caller's MPI_Comm, of which a duplicate is made; NULL: that of all processes */
	int (*open)(struct iso_comm *c, const void *comm);
	void (*close)(struct iso_comm *c);
	int (*sum)(struct iso_comm *c, int64_t *v, int64_t n);
	int (*sum_real)(struct iso_comm *c, double *v, int64_t n);
	int (*max)(struct iso_comm *c, double *v, int64_t n);
	/* `first`: c->size + 1 places in bytes, of which rank r has first[r] to first[r + 1] */
	int (*gather)(struct iso_comm *c, void *v, const int64_t *first);
	int (*broadcast)(struct iso_comm *c, void *v, int64_t bytes, int from);
};

/* The same in libisotome_nccl.so, its symbol iso_nccl_fn: all vectors are the device's, in the order of its stream. */
struct iso_nccl_fn {
	int (*open)(iso_ctx *ctx);
	void (*close)(struct iso_comm *c);
	int (*sum)(iso_ctx *ctx, int64_t *v, int64_t n);
	int (*gather)(iso_ctx *ctx, void *v, const int64_t *first);
};

struct iso_comm {
	const struct iso_comm_fn *fn;
	void *mpi;                      /* its own */
	const struct iso_nccl_fn *nccl; /* NULL: ranks share a GPU, or have none, or there is no NCCL */
	void *nccl_comm;
	bool looked; /* for NCCL */
	int sharers; /* ranks that compute on this rank's GPU, itself among them; 0: it has none */
	int rank, size;
	int local_rank, local_size;    /* of those on this machine */
	bool takes_device;             /* the functions take pointers to device memory */
	int failed;                    /* status of a failure that ended the exchange; 0: none */
	bool agreed;                   /* all ranks know of it */
	bool concluded;                /* and rank 0 has spoken */
	char message[1024];            /* of it */
	int64_t free_bytes, own_bytes; /* of the machine, least of all ranks, and of this process, at first */
	int64_t bytes;                 /* that were reduced or gathered so far: results, once */
	double wait_s;                 /* seconds in these functions so far */
};

static inline int iso_rank(const iso_ctx *ctx)
{
	return ctx->comm ? ctx->comm->rank : 0;
}

static inline int iso_ranks(const iso_ctx *ctx)
{
	return ctx->comm ? ctx->comm->size : 1;
}

/* Ranks that share this rank's machine, and its GPU: each may take its part of what is free there. */
static inline int iso_ranks_of_machine(const iso_ctx *ctx)
{
	return ctx->comm ? ctx->comm->local_size : 1;
}

static inline int iso_ranks_of_device(const iso_ctx *ctx)
{
	return ctx->comm && ctx->comm->sharers > 0 ? ctx->comm->sharers : 1;
}

/* Rank `rank`'s share of n pieces: contiguous, of two sizes that differ by one. */
static inline struct iso_rows iso_share_of(int64_t n, int rank, int ranks)
{
	int64_t each = n / ranks, more = n % ranks;
	struct iso_rows r = { rank * each + (rank < more ? rank : more), each + (rank < more) };

	return r;
}

/* This rank's. */
static inline struct iso_rows iso_share(const iso_ctx *ctx, int64_t n)
{
	return iso_share_of(n, iso_rank(ctx), iso_ranks(ctx));
}

/* Whether all went well everywhere. */
int iso_comm_agree(iso_ctx *ctx, int st);

/* v = the sum, the greatest, over all ranks; `sum_device`: in memory of the context's device. */
int iso_comm_sum(iso_ctx *ctx, int st, int64_t *v, int64_t n);
int iso_comm_sum_device(iso_ctx *ctx, int st, int64_t *v, int64_t n);
int iso_comm_max(iso_ctx *ctx, int st, double *v, int64_t n);

/* v = the sum over all ranks of doubles; whole numbers below 2^53 are exact, others in no certain order: for bounds, of
   which only the power of two above counts. */
int iso_comm_sum_real(iso_ctx *ctx, int st, double *v, int64_t n);

/* v, in memory of the context's device, n pieces of `bytes` each: every rank has made its iso_share of the
   pieces, and gets the others'. `gather_cut`: the last piece has fewer, v `all`. `gather_shares`: in memory of the
   host. */
int iso_comm_gather(iso_ctx *ctx, int st, void *v, int64_t n, int64_t bytes);
int iso_comm_gather_cut(iso_ctx *ctx, int st, void *v, int64_t n, int64_t bytes, int64_t all);
int iso_comm_gather_shares(iso_ctx *ctx, int st, void *v, int64_t n, int64_t bytes);

/* The same of parts of any size: iso_ranks + 1 places in bytes, part r from first[r] to first[r + 1].
   `gather_host`: in memory of the host. */
int iso_comm_gather_parts(iso_ctx *ctx, int st, void *v, const int64_t *first);
int iso_comm_gather_host(iso_ctx *ctx, int st, void *v, const int64_t *first);

/* v of rank 0, on the host. */
int iso_comm_broadcast(iso_ctx *ctx, int st, void *v, int64_t bytes);

/* For ctx_open.c and ctx.c. Opens it over an MPI_Comm, NULL: all processes that were started together. */
int iso_comm_open(struct iso_comm **comm, const void *mpi_comm);
void iso_comm_close(struct iso_comm *comm);

/* iso_comm_agree before there is a context; NULL: one rank. */
int iso_comm_settle(struct iso_comm *comm, int st);

/* The end of a piece of work, and of the communicator if the work failed: then all ranks get the status and the
   message of rank 0, which may have added to those that all agreed on. A status above 0 is no failure. */
int iso_comm_conclude(struct iso_comm *comm, int st);

/* How many of `ranks` ranks compute on the GPU of rank `rank`, itself among them. The same GPU has the same UUID; where one
   is not known, the same place in the same machine. Its number says nothing: launchers show each process GPUs of its own
   (srun --gpus-per-task, CUDA_VISIBLE_DEVICES), all of which begin at 0. */
int iso_gpu_sharers(const struct iso_gpu *of, int ranks, int rank);

/* Sets c->sharers, from the GPU of each rank; collective. */
int iso_comm_share_gpu(struct iso_comm *c, int st, const struct iso_gpu *own);

/* *v = the greatest over all ranks, also after a failure that all know of. */
int iso_comm_greatest(struct iso_comm *comm, double *v);

ISO_END_C
#endif
