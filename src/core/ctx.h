/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library's own code sees of a context. */
#ifndef ISO_CTX_H
#define ISO_CTX_H

#include "status.h"

ISO_BEGIN_C

/* A GPU, as several processes tell it from others. */
struct iso_gpu {
	char host[64];          /* the machine */
	char bus[16];           /* its place there, as PCI names it */
	unsigned char uuid[16]; /* all 0: not known */
};

/* What the core calls in libisotome_cuda.so: its symbol iso_cuda_fn. */
struct iso_cuda_fn {
	int (*open)(iso_ctx *ctx, int device); /* fills device_name, makes a stream */
	void (*close)(iso_ctx *ctx);           /* waits for the stream; gives it back if it is ours */
	void (*reset)(const iso_ctx *ctx);     /* takes all of the device from this process */
	int (*use)(const iso_ctx *ctx);        /* makes the device that of this thread's CUDA calls */
	int (*free_memory)(const iso_ctx *ctx, int64_t *bytes);
	int (*wait)(const iso_ctx *ctx); /* for the stream */
	int (*order)(const iso_ctx *ctx, void *first,
	             void *then); /* of two streams: `then` waits for what `first` has */
	/* dst[i] = src[at[i]], and dst[at[i]] = src[i] */
	int (*gather)(iso_ctx *ctx, int64_t n, iso_real *dst, const iso_real *src, const int64_t *at);
	int (*scatter)(iso_ctx *ctx, int64_t n, iso_real *dst, const iso_real *src, const int64_t *at);
	int (*devices)(void);                                     /* that there are */
	int (*identify)(const iso_ctx *ctx, struct iso_gpu *gpu); /* its bus and uuid */
	const struct iso_vec *vec;
};

struct iso_ctx {
	const struct iso_vec *vec;
	const struct iso_cuda_fn *cuda; /* NULL: CPU */
	struct iso_comm *comm;          /* NULL: one rank */
	bool owns_comm;
	int threads;
	int cuda_device;
	void *stream; /* cudaStream_t; NULL is the default stream */
	bool owns_stream;
	int64_t memory_limit;        /* bytes of host memory, 0: what is free */
	int64_t device_limit;        /* the same of the device */
	int64_t device_base;         /* bytes of it that were free at the first look; 0: not yet */
	int64_t base;                /* bytes that the process held when the context was made */
	int cancel;                  /* set by any thread or signal handler: read it by iso_stopped */
	struct iso_opening *opening; /* of iso_ctx_create_ahead: until iso_ctx_ready there is no device */
	struct iso_closing *closing; /* of iso_ctx_close_ahead: the device is going, or gone */
	int refs;                    /* owners: the caller, and each operator */
	char device[24], device_name[256];
	iso_progress_fn progress;
	void *progress_arg;
};

#define ISO_CTX_LOST 2 /* `cancel`: the device could not be opened, iso_ctx_ready tells why */

/* A context over the ranks of a communicator, which the caller keeps; NULL: one rank, whose device may be opened
   ahead. */
int iso_ctx_create_over(iso_ctx **ctx, const char *device, int threads, struct iso_comm *comm, bool ahead);

/* Whether iso_ctx_ready may have to wait. */
bool iso_ctx_is_opening(const iso_ctx *ctx);

/* Waits for the thread that opens the device, and forgets it. */
void iso_ctx_opening_free(iso_ctx *ctx);

/* For a program at its end, whose CUDA is Isotome's alone: a thread closes the device while the caller goes on, with
   what needs the CPU and files. Does nothing while an operator has the context. */
void iso_ctx_close_ahead(iso_ctx *ctx);

/* Waits for that thread; false: there is none. */
bool iso_ctx_closed(iso_ctx *ctx);

/* The address of `name` in libisotome_cuda.so, opened on the first call. ISO_EDEVICE if there is
   no such library. */
int iso_cuda_symbol(void **address, const char *name);

/* The same in another library of CUDA code beside it, `file`, such as that of the benchmarks. */
int iso_cuda_symbol_in(void **address, const char *file, const char *name);

/* Host memory that a new allocation may take: the limit, or what is free now. */
int64_t iso_ctx_host_memory(const iso_ctx *ctx);

/* What is left of that now: the limit less what the process holds, or what is free. */
int64_t iso_ctx_host_left(const iso_ctx *ctx);

/* Of a CUDA context: device memory that is free now; with a limit, no more than is left of that. Plans ask this, and not
   the device itself. */
int iso_ctx_device_left(const iso_ctx *ctx, int64_t *bytes);

/* Bytes: that the machine has for new allocations; that the process holds in memory, 0: not known; what of
   that maps no file, so that the process allocated it; its address space, which RLIMIT_AS counts, 0: not
   known. */
int64_t iso_memory_available(void);
int64_t iso_memory_resident(void);
int64_t iso_memory_own(void);
int64_t iso_memory_mapped(void);

extern const struct iso_vec iso_vec_cpu;

/* n values of the storage type on the context's device, zeroed. */
int iso_vec_alloc(iso_ctx *ctx, iso_real **x, int64_t n);

/* One more owner: the last iso_ctx_free frees. */
iso_ctx *iso_ctx_keep(iso_ctx *ctx);

/* Whether the caller asked to stop; for loops, which end in iso_ctx_poll. */
static inline bool iso_stopped(const iso_ctx *ctx)
{
	return __atomic_load_n(&ctx->cancel, __ATOMIC_RELAXED) != 0;
}

/* ISO_ECANCEL, with its message, if the caller asked to stop. */
int iso_ctx_poll(const iso_ctx *ctx);

ISO_END_C
#endif
