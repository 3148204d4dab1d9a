/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a context: its device is opened at once, or by a thread while the caller goes on. A thread may close it, too. */
#include "comm.h"
#include "size.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A device that a thread opens, or has opened. */
struct iso_opening {
	pthread_mutex_t lock;
	pthread_t thread;
	bool running; /* the thread was not waited for yet */
	char device[24];
	iso_ctx *ctx; /* to be stopped if it fails */
	iso_ctx as;   /* what the context becomes */
	int status;   /* how it went, and in words */
	char message[512];
};

struct iso_closing {
	pthread_t thread;
};

/* ---- devices ---- */

static int use_cpu(iso_ctx *ctx)
{
	ctx->vec = &iso_vec_cpu;
	snprintf(ctx->device, sizeof ctx->device, "cpu");
	snprintf(ctx->device_name, sizeof ctx->device_name, "%d thread%s", ctx->threads,
	         ctx->threads == 1 ? "" : "s");
	return ISO_OK;
}

/* The next GPU of the machine for each rank on it, of those that the rank sees. */
static int gpu_of_rank(const struct iso_comm *c, const struct iso_cuda_fn *fn)
{
	int devices = fn->devices();

	return devices > 0 ? c->local_rank % devices : 0;
}

/* `device` below 0: none was chosen. */
static int use_cuda(iso_ctx *ctx, int device)
{
	const struct iso_cuda_fn *fn;
	void *symbol = NULL;
	int st = iso_cuda_symbol(&symbol, "iso_cuda_fn");

	if (st) return st;
	fn = symbol;
	if (device < 0) device = ctx->comm ? gpu_of_rank(ctx->comm, fn) : 0;
	if ((st = fn->open(ctx, device))) return st;
	ctx->cuda = fn;
	ctx->vec = ctx->cuda->vec;
	snprintf(ctx->device, sizeof ctx->device, "cuda:%d", device);
	return ISO_OK;
}

/* N of "cuda:N", -1 of "cuda"; ISO_EARG for what is no device. */
static int check_device(const char *device, int *n)
{
	int used = 0;

	*n = -1;
	if (!strcmp(device, "cpu") || !strcmp(device, "auto") || !strcmp(device, "cuda")) return ISO_OK;
	if (sscanf(device, "cuda:%3d%n", n, &used) == 1 && !device[used] && *n >= 0) return ISO_OK;
	return iso_fail(ISO_EARG, "device '%s' is not one of auto, cpu, cuda, cuda:N", device);
}

static int use_device(iso_ctx *ctx, const char *device)
{
	int n, st = check_device(device, &n);

	if (st) return st;
	if (!strcmp(device, "cpu")) return use_cpu(ctx);
	st = use_cuda(ctx, n);
	return st && !strcmp(device, "auto") ? use_cpu(ctx) : st;
}

/* ---- at once ---- */

/* Cores that the process may run on; of a machine whose ranks are not bound to any, a share. */
static int default_threads(const struct iso_comm *c)
{
	int cores = omp_get_num_procs(), all = (int)sysconf(_SC_NPROCESSORS_ONLN);

	if (!c || cores < all) return cores;
	return cores > c->local_size ? cores / c->local_size : 1;
}

static int make(iso_ctx **out, const char *device, int threads, struct iso_comm *comm)
{
	int n, st = check_device(device, &n);

	if (st) return st;
	if (threads < 0 || threads > 4096)
		return iso_fail(ISO_EARG, "threads is %d, must be 0 (all cores) to 4096", threads);
	iso_ctx *ctx = size_alloc(1, sizeof *ctx);

	if (!ctx) return iso_fail_memory("context", sizeof *ctx);
	ctx->threads = threads ? threads : default_threads(comm);
	ctx->comm = comm;
	ctx->refs = 1;
	*out = ctx;
	return ISO_OK;
}

/* The context with its device, or none. */
static int finish(iso_ctx **out, iso_ctx *ctx, const char *device)
{
	int st = use_device(ctx, device);

	if (st) {
		free(ctx);
		return st;
	}
	ctx->base = iso_memory_own();
	*out = ctx;
	return ISO_OK;
}

static int create(iso_ctx **out, const char *device, int threads, struct iso_comm *comm)
{
	iso_ctx *ctx = NULL;
	int st = make(&ctx, device, threads, comm);

	return st ? st : finish(out, ctx, device);
}

int iso_ctx_create(iso_ctx **out, const char *device, int threads)
{
	return out && device ? create(out, device, threads, NULL) : iso_fail_null(__func__);
}

/* All ranks compute on the same kind of device, as what they exchange lies there; collective. */
static int check_kind(struct iso_comm *c, const iso_ctx *ctx, int st)
{
	double kind[2] = { !st && ctx->cuda, !st && !ctx->cuda };

	if ((st = iso_comm_settle(c, st)) || (st = c->fn->max(c, kind, 2))) return st;
	if (kind[0] == 0 || kind[1] == 0) return ISO_OK;
	return iso_fail(ISO_EDEVICE,
	                "device auto: some ranks have a GPU, others have none; cpu or cuda says which");
}

/* Who shares the GPUs, if they have any; collective. */
static int compare_gpus(struct iso_comm *c, const iso_ctx *ctx)
{
	struct iso_gpu own = { "", "", { 0 } };
	int st;

	if (!ctx->cuda) return ISO_OK;
	st = ctx->cuda->identify(ctx, &own);
	if (!st && gethostname(own.host, sizeof own.host - 1)) st = iso_fail_errno("this machine", "name");
	return iso_comm_share_gpu(c, st, &own);
}

static int create_over(iso_ctx **out, const char *device, int threads, struct iso_comm *comm)
{
	iso_ctx *ctx = NULL;
	int st = create(&ctx, device, threads, comm);

	st = check_kind(comm, ctx, st);
	if (!st) st = compare_gpus(comm, ctx);
	if (st)
		iso_ctx_free(ctx);
	else
		*out = ctx;
	return st;
}

int iso_ctx_create_ranks(iso_ctx **out, const char *device, int threads, const void *mpi_comm)
{
	if (!out || !device) return iso_fail_null(__func__);
	struct iso_comm *comm = NULL;
	iso_ctx *ctx = NULL;
	int st = iso_comm_open(&comm, mpi_comm);

	if (st) return st;
	if ((st = create_over(&ctx, device, threads, comm))) {
		iso_comm_close(comm);
		return st;
	}
	ctx->owns_comm = true;
	*out = ctx;
	return ISO_OK;
}

/* ---- by a thread ---- */

static void *open_device(void *arg)
{
	struct iso_opening *o = arg;
	int none = 0;

	if ((o->status = use_device(&o->as, o->device))) {
		snprintf(o->message, sizeof o->message, "%s", iso_message());
		__atomic_compare_exchange_n(&o->ctx->cancel, &none, ISO_CTX_LOST, false, __ATOMIC_RELEASE,
		                            __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Signals are for the caller's threads. */
static bool start(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	bool runs;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	runs = pthread_create(thread, NULL, fn, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return runs;
}

static int create_ahead(iso_ctx **out, const char *device, int threads)
{
	struct iso_opening *o;
	iso_ctx *ctx = NULL;
	int st = make(&ctx, device, threads, NULL);

	if (st) return st;
	if (!strcmp(device, "cpu")) return finish(out, ctx, device);
	if (!(o = size_alloc(1, sizeof *o))) {
		free(ctx);
		return iso_fail_memory("context", sizeof *o);
	}
	pthread_mutex_init(&o->lock, NULL);
	o->ctx = ctx;
	o->as = *ctx;
	snprintf(o->device, sizeof o->device, "%s", device);
	ctx->base = iso_memory_own();
	ctx->opening = o;
	if (!(o->running = start(&o->thread, open_device, o))) { /* no more threads: here and now */
		iso_ctx_opening_free(ctx);
		return finish(out, ctx, device);
	}
	*out = ctx;
	return ISO_OK;
}

int iso_ctx_create_ahead(iso_ctx **out, const char *device, int threads)
{
	return out && device ? create_ahead(out, device, threads) : iso_fail_null(__func__);
}

int iso_ctx_create_over(iso_ctx **out, const char *device, int threads, struct iso_comm *comm, bool ahead)
{
	if (comm) return create_over(out, device, threads, comm);
	return ahead ? create_ahead(out, device, threads) : create(out, device, threads, NULL);
}

static int take(iso_ctx *ctx, const struct iso_opening *o)
{
	if (o->status) {
		ctx->vec = &iso_vec_cpu; /* there is always one; operators and long calls refuse */
		return o->status;
	}
	ctx->vec = o->as.vec;
	ctx->cuda = o->as.cuda;
	ctx->cuda_device = o->as.cuda_device;
	ctx->stream = o->as.stream;
	ctx->owns_stream = o->as.owns_stream;
	memcpy(ctx->device, o->as.device, sizeof ctx->device);
	memcpy(ctx->device_name, o->as.device_name, sizeof ctx->device_name);
	return ctx->cuda ? ctx->cuda->use(ctx) : ISO_OK; /* a thread's device is its own */
}

int iso_ctx_ready(iso_ctx *ctx)
{
	if (!ctx) return iso_fail_null(__func__);
	struct iso_opening *o = ctx->opening;
	int st = ISO_OK;

	if (!o) return ISO_OK;
	pthread_mutex_lock(&o->lock);
	if (o->running) {
		pthread_join(o->thread, NULL);
		o->running = false;
		st = take(ctx, o);
	}
	if (o->status) st = iso_fail(o->status, "%s", o->message);
	pthread_mutex_unlock(&o->lock);
	return st;
}

bool iso_ctx_is_opening(const iso_ctx *ctx)
{
	struct iso_opening *o = ctx->opening;
	bool running = false;

	if (!o) return false;
	pthread_mutex_lock(&o->lock);
	running = o->running;
	pthread_mutex_unlock(&o->lock);
	return running;
}

void iso_ctx_opening_free(iso_ctx *ctx)
{
	if (!ctx->opening) return;
	(void)(iso_ctx_ready(ctx) == ISO_OK); /* waits for its thread, whatever came of it */
	pthread_mutex_destroy(&ctx->opening->lock);
	free(ctx->opening);
	ctx->opening = NULL;
}

static void *close_device(void *arg)
{
	iso_ctx *ctx = arg;

	ctx->cuda->close(ctx);
	ctx->cuda->reset(ctx);
	return NULL;
}

void iso_ctx_close_ahead(iso_ctx *ctx)
{
	if (!iso_ctx_is_cuda(ctx) || ctx->comm || ctx->closing || ctx->refs > 1) return;
	struct iso_closing *c = size_alloc(1, sizeof *c);

	if (c && start(&c->thread, close_device, ctx))
		ctx->closing = c;
	else
		free(c); /* iso_ctx_free will close it */
}

bool iso_ctx_closed(iso_ctx *ctx)
{
	if (!ctx->closing) return false;
	pthread_join(ctx->closing->thread, NULL);
	free(ctx->closing);
	ctx->closing = NULL;
	return true;
}
