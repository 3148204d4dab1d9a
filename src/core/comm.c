/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks: the only place that knows how they talk. MPI lies in libisotome_mpi.so, NCCL in libisotome_nccl.so; each is
   opened when it is first wanted. */
#include "comm.h"
#include "library.h"
#include "progress.h"
#include "room.h"
#include "size.h"

#include <stdio.h>
#include <string.h>

#define STAGE ((int64_t)1 << 26) /* bytes that go through the host at a time */

/* ---- made and given back ---- */

/* What was free before any rank took some of it. */
static int share_memory(struct iso_comm *c)
{
	double least = -(double)iso_memory_available();
	int st = c->fn->max(c, &least, 1);

	c->free_bytes = (int64_t)-least;
	c->own_bytes = iso_memory_own();
	return st;
}

int iso_comm_open(struct iso_comm **comm, const void *mpi_comm)
{
	struct iso_comm *c = size_alloc(1, sizeof *c);
	void *fn = NULL;
	int st = c ? iso_library_symbol(&fn, "MPI", "libisotome_mpi.so", "iso_mpi_fn")
	           : iso_fail_memory("communicator", sizeof *c);

	if (!st) {
		c->fn = fn;
		st = c->fn->open(c, mpi_comm);
	}
	if (!st) st = share_memory(c);
	if (st)
		free(c);
	else
		*comm = c;
	return st;
}

void iso_comm_close(struct iso_comm *c)
{
	if (!c) return;
	if (c->nccl) c->nccl->close(c);
	c->fn->close(c);
	free(c);
}

/* ---- who shares a GPU ---- */

static bool same_gpu(const struct iso_gpu *a, const struct iso_gpu *b)
{
	static const struct iso_gpu unknown;

	if (memcmp(a->uuid, unknown.uuid, sizeof a->uuid) != 0 &&
	    memcmp(b->uuid, unknown.uuid, sizeof b->uuid) != 0)
		return memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0;
	return strncmp(a->host, b->host, sizeof a->host) == 0 && strncmp(a->bus, b->bus, sizeof a->bus) == 0;
}

int iso_gpu_sharers(const struct iso_gpu *of, int ranks, int rank)
{
	int n = 0;

	for (int r = 0; r < ranks; r++) n += same_gpu(of + r, of + rank);
	return n;
}

int iso_comm_share_gpu(struct iso_comm *c, int st, const struct iso_gpu *own)
{
	struct iso_gpu *of = size_alloc(c->size, sizeof *of);
	int64_t *first = size_alloc(c->size + 1, sizeof *first);

	if (!st && (!of || !first)) st = iso_fail_memory("ranks", c->size * (int64_t)sizeof *of);
	if (!(st = iso_comm_settle(c, st))) {
		for (int r = 0; r <= c->size; r++) first[r] = r * (int64_t)sizeof *of;
		of[c->rank] = *own;
		st = c->fn->gather(c, of, first);
	}
	if (!st) c->sharers = iso_gpu_sharers(of, c->size, c->rank);
	free(of);
	free(first);
	return st;
}

/* ---- agreement ---- */

/* What the lowest rank that failed has to say, to all, after `who`. */
static int share_failure(struct iso_comm *c, int st, int from, const char *who)
{
	struct {
		int status;
		char message[sizeof c->message];
	} told = { st, "" };

	if (c->rank == from) snprintf(told.message, sizeof told.message, "%s%s", who, iso_message());
	if ((st = c->fn->broadcast(c, &told, sizeof told, from))) {
		c->failed = st;
		snprintf(c->message, sizeof c->message, "%s", iso_message());
		return st;
	}
	c->failed = told.status;
	c->agreed = true;
	memcpy(c->message, told.message, sizeof c->message);
	return iso_fail(c->failed, "%s", c->message);
}

/* Want of memory or of a device on some ranks alone is told with the rank; what is wrong with an input, which one rank may
   be the one to read, as by one process. */
static int tell_all(struct iso_comm *c, int st, int from)
{
	double some = st ? 1 : 0;
	char who[48] = "";
	int told = c->fn->sum_real(c, &some, 1);

	if (told) {
		c->failed = told;
		snprintf(c->message, sizeof c->message, "%s", iso_message());
		return told;
	}
	if (some < c->size && (st == ISO_ENOMEM || st == ISO_EDEVICE))
		snprintf(who, sizeof who, "rank %d of %d: ", from, c->size);
	return share_failure(c, st, from, who);
}

static int agree(struct iso_comm *c, int st)
{
	double failed = st ? c->size - c->rank : 0;
	int own;

	if (c->failed) return iso_fail(c->failed, "%s", c->message);
	if ((own = c->fn->max(c, &failed, 1))) {
		c->failed = own;
		snprintf(c->message, sizeof c->message, "%s", iso_message());
		return own;
	}
	return failed > 0 ? tell_all(c, st, c->size - (int)failed) : ISO_OK;
}

int iso_comm_settle(struct iso_comm *c, int st)
{
	double began = iso_now_s();

	if (!c) return st;
	st = agree(c, st);
	c->wait_s += iso_now_s() - began;
	return st;
}

/* A rank that failed alone meets the others here, wherever they are: every exchange begins with agree. From then
   on each rank does no more than come here once. */
int iso_comm_conclude(struct iso_comm *c, int st)
{
	int failure = st < 0 ? st : ISO_OK, all;

	if (!c || c->concluded) return st;
	all = c->failed ? c->failed : iso_comm_settle(c, failure);
	if (!all) return st;
	if (!c->agreed) return failure ? failure : all;
	c->concluded = true;
	return share_failure(c, failure ? failure : iso_fail(c->failed, "%s", c->message), 0, "");
}

int iso_comm_greatest(struct iso_comm *c, double *v)
{
	return c && (!c->failed || c->agreed) ? c->fn->max(c, v, 1) : ISO_OK;
}

int iso_comm_agree(iso_ctx *ctx, int st)
{
	return iso_comm_settle(ctx->comm, st);
}

/* ---- on the host ---- */

/* Whether there is something to exchange; the clock of the waiting runs from here. */
static bool begin(iso_ctx *ctx, int *st, double *began)
{
	*began = iso_now_s();
	if (!ctx->comm) return false;
	*st = agree(ctx->comm, *st);
	return !*st;
}

static int end(iso_ctx *ctx, int st, double began, int64_t bytes)
{
	struct iso_comm *c = ctx->comm;

	if (!c) return st;
	c->wait_s += iso_now_s() - began;
	c->bytes += st ? 0 : bytes;
	if (st && !c->failed) {
		c->failed = st;
		snprintf(c->message, sizeof c->message, "%s", iso_message());
	}
	return st;
}

int iso_comm_sum(iso_ctx *ctx, int st, int64_t *v, int64_t n)
{
	double began;

	if (begin(ctx, &st, &began)) st = ctx->comm->fn->sum(ctx->comm, v, n);
	return end(ctx, st, began, n * (int64_t)sizeof *v);
}

int iso_comm_sum_real(iso_ctx *ctx, int st, double *v, int64_t n)
{
	double began;

	if (begin(ctx, &st, &began)) st = ctx->comm->fn->sum_real(ctx->comm, v, n);
	return end(ctx, st, began, n * (int64_t)sizeof *v);
}

int iso_comm_max(iso_ctx *ctx, int st, double *v, int64_t n)
{
	double began;

	if (begin(ctx, &st, &began)) st = ctx->comm->fn->max(ctx->comm, v, n);
	return end(ctx, st, began, n * (int64_t)sizeof *v);
}

int iso_comm_gather_host(iso_ctx *ctx, int st, void *v, const int64_t *first)
{
	double began;

	if (begin(ctx, &st, &began)) st = ctx->comm->fn->gather(ctx->comm, v, first);
	return end(ctx, st, began, first[iso_ranks(ctx)] - first[0]);
}

int iso_comm_broadcast(iso_ctx *ctx, int st, void *v, int64_t bytes)
{
	double began;

	if (begin(ctx, &st, &began)) st = ctx->comm->fn->broadcast(ctx->comm, v, bytes, 0);
	return end(ctx, st, began, bytes);
}

/* ---- on the device: by NCCL, by an MPI that reads its memory, or through the host ---- */

/* NCCL, if every rank has a GPU of its own. Once for a communicator. */
static int find_nccl(iso_ctx *ctx)
{
	struct iso_comm *c = ctx->comm;
	double shared[2] = { c->sharers != 1, 1 };
	void *fn = NULL;
	int st;

	if (c->looked) return ISO_OK;
	c->looked = true;
	if (iso_library_symbol(&fn, "NCCL", "libisotome_nccl.so", "iso_nccl_fn") == ISO_OK) shared[1] = 0;
	if ((st = c->fn->max(c, shared, 2)) || shared[0] > 0 || shared[1] > 0) return st;
	c->nccl = fn;
	shared[0] = c->nccl->open(ctx) != ISO_OK;
	if ((st = c->fn->max(c, shared, 1)) || shared[0] > 0) c->nccl = NULL; /* then MPI exchanges */
	return st;
}

static int sum_staged(iso_ctx *ctx, int64_t *v, int64_t n)
{
	struct iso_room room = { .ctx = ctx, .what = "sums on their way between ranks" };
	int64_t most = STAGE / (int64_t)sizeof *v, *host;

	most = n < most ? n : most;
	ISO_HOST(&room, host, most);
	room.status = agree(ctx->comm, room.status);
	for (int64_t i = 0; i < n && !room.status; i += most) {
		int64_t some = n - i < most ? n - i : most, bytes = some * (int64_t)sizeof *v;

		room.status = ctx->vec->download(ctx, host, v + i, bytes);
		if (!room.status) room.status = ctx->comm->fn->sum(ctx->comm, host, some);
		if (!room.status) room.status = ctx->vec->upload(ctx, v + i, host, bytes);
	}
	return iso_room_free(&room);
}

/* What the stream has under way must be there before MPI reads it. */
static int wait_for_stream(iso_ctx *ctx)
{
	return ctx->cuda->wait(ctx);
}

int iso_comm_sum_device(iso_ctx *ctx, int st, int64_t *v, int64_t n)
{
	struct iso_comm *c = ctx->comm;
	double began;

	if (!iso_ctx_is_cuda(ctx)) return iso_comm_sum(ctx, st, v, n);
	if (begin(ctx, &st, &began) && !(st = find_nccl(ctx))) {
		if (c->nccl)
			st = c->nccl->sum(ctx, v, n);
		else if (!c->takes_device)
			st = sum_staged(ctx, v, n);
		else if (!(st = wait_for_stream(ctx)))
			st = c->fn->sum(c, v, n);
	}
	return end(ctx, st, began, n * (int64_t)sizeof *v);
}

/* Through the host as a whole: parts of ranks lie one behind the other. */
static int gather_staged(iso_ctx *ctx, char *v, const int64_t *first)
{
	struct iso_room room = { .ctx = ctx, .what = "results on their way between ranks" };
	struct iso_comm *c = ctx->comm;
	int64_t from = first[0], mine = first[c->rank], all = first[c->size] - from;
	char *host;

	ISO_HOST(&room, host, all);
	if (!(room.status = agree(c, room.status))) {
		room.status =
			ctx->vec->download(ctx, host + (mine - from), v + mine, first[c->rank + 1] - mine);
		if (!room.status) room.status = c->fn->gather(c, host - from, first);
		if (!room.status) room.status = ctx->vec->upload(ctx, v + from, host, all);
	}
	return iso_room_free(&room);
}

int iso_comm_gather_parts(iso_ctx *ctx, int st, void *v, const int64_t *first)
{
	struct iso_comm *c = ctx->comm;
	double began;

	if (!iso_ctx_is_cuda(ctx)) return iso_comm_gather_host(ctx, st, v, first);
	if (begin(ctx, &st, &began) && !(st = find_nccl(ctx))) {
		if (c->nccl)
			st = c->nccl->gather(ctx, v, first);
		else if (!c->takes_device)
			st = gather_staged(ctx, v, first);
		else if (!(st = wait_for_stream(ctx)))
			st = c->fn->gather(c, v, first);
	}
	return end(ctx, st, began, first[iso_ranks(ctx)] - first[0]);
}

/* ---- equal pieces ---- */

static int gather_shares(iso_ctx *ctx, int st, void *v, int64_t n, int64_t bytes, int64_t all,
                         int (*gather)(iso_ctx *, int, void *, const int64_t *))
{
	int ranks = iso_ranks(ctx);
	int64_t *first;

	if (!ctx->comm) return st;
	if (!(first = size_alloc(ranks + 1, sizeof *first)))
		return iso_comm_agree(ctx, iso_fail_memory("ranks", ranks * (int64_t)sizeof *first));
	for (int r = 0; r <= ranks; r++) {
		int64_t at = (r < ranks ? iso_share_of(n, r, ranks).first : n) * bytes;

		first[r] = at < all ? at : all;
	}
	st = gather(ctx, st, v, first);
	free(first);
	return st;
}

int iso_comm_gather(iso_ctx *ctx, int st, void *v, int64_t n, int64_t bytes)
{
	return gather_shares(ctx, st, v, n, bytes, n * bytes, iso_comm_gather_parts);
}

int iso_comm_gather_cut(iso_ctx *ctx, int st, void *v, int64_t n, int64_t bytes, int64_t all)
{
	return gather_shares(ctx, st, v, n, bytes, all, iso_comm_gather_parts);
}

int iso_comm_gather_shares(iso_ctx *ctx, int st, void *v, int64_t n, int64_t bytes)
{
	return gather_shares(ctx, st, v, n, bytes, n * bytes, iso_comm_gather_host);
}
