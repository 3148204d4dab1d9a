/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA devices for the core: opening one, its free memory, and vectors on it. Sums are over a launch shape
   fixed by the length, so their bits repeat. */
#include "cuda.cuh"
#include "philox.h"

#include <stdio.h>
#include <string.h>

static int vec_alloc(iso_ctx *ctx, void **p, int64_t bytes)
{
	void *q = NULL;
	int st = iso_cuda_use(ctx);

	if (st) return st;
	if (cudaMalloc(&q, bytes > 0 ? (size_t)bytes : 1) != cudaSuccess) {
		cudaGetLastError();
		return iso_fail(ISO_ENOMEM, "CUDA: no device memory for %s on %s", iso_bytes(bytes),
		                ctx->device);
	}
	*p = q;
	return iso_cuda_check("clear", cudaMemsetAsync(q, 0, (size_t)bytes, iso_stream(ctx)));
}

static void vec_free(iso_ctx *ctx, void *p)
{
	(void)ctx;
	cudaFree(p);
}

static int vec_upload(iso_ctx *ctx, void *dst, const void *host, int64_t bytes)
{
	int st = iso_cuda_check(
		"upload", cudaMemcpyAsync(dst, host, (size_t)bytes, cudaMemcpyHostToDevice, iso_stream(ctx)));

	return st ? st : iso_cuda_check("upload", cudaStreamSynchronize(iso_stream(ctx)));
}

static int vec_download(iso_ctx *ctx, void *host, const void *src, int64_t bytes)
{
	int st = iso_cuda_check("download", cudaMemcpyAsync(host, src, (size_t)bytes, cudaMemcpyDeviceToHost,
	                                                    iso_stream(ctx)));

	return st ? st : iso_cuda_check("download", cudaStreamSynchronize(iso_stream(ctx)));
}

static int vec_copy(iso_ctx *ctx, int64_t n, iso_real *y, const iso_real *x)
{
	return iso_cuda_check("copy", cudaMemcpyAsync(y, x, (size_t)n * sizeof *x, cudaMemcpyDeviceToDevice,
	                                              iso_stream(ctx)));
}

static __global__ void fill(int64_t n, iso_real *x, iso_real value)
{
	ISO_GRID_LOOP (i, n) x[i] = value;
}

static __global__ void axpy(int64_t n, iso_real *y, iso_real a, const iso_real *x)
{
	ISO_GRID_LOOP (i, n) y[i] = iso_fma(a, x[i], y[i]);
}

static __global__ void mul(int64_t n, iso_real *z, const iso_real *x, const iso_real *y)
{
	ISO_GRID_LOOP (i, n) z[i] = x[i] * y[i];
}

static __global__ void divide(int64_t n, iso_real *z, const iso_real *x, const iso_real *y)
{
	ISO_GRID_LOOP (i, n) z[i] = y[i] > 0 ? x[i] / y[i] : 0;
}

static __global__ void update(int64_t n, iso_real *x, const iso_real *acc, const iso_real *sens,
                              iso_real scale)
{
	ISO_GRID_LOOP (i, n)
		if (sens[i] > 0) x[i] = acc[i] / (scale * sens[i]);
}

/* Sum of x y, or of |x| where y is NULL; one partial sum a block. */
static __global__ void sums(int64_t n, double *part, const iso_real *x, const iso_real *y)
{
	double s = 0;

	ISO_GRID_LOOP (i, n) s += y ? (double)x[i] * y[i] : fabs((double)x[i]);
	s = iso_block_sum(s);
	if (threadIdx.x == 0) part[blockIdx.x] = s;
}

static __global__ void uniform(int64_t n, iso_real *x, uint64_t seed)
{
	ISO_GRID_LOOP (i, n) x[i] = philox_unit(philox_draw(seed, (uint64_t)i, 0).w[0]);
}

static __global__ void gather(int64_t n, iso_real *dst, const iso_real *src, const int64_t *at)
{
	ISO_GRID_LOOP (i, n) dst[i] = src[at[i]];
}

static __global__ void scatter(int64_t n, iso_real *dst, const iso_real *src, const int64_t *at)
{
	ISO_GRID_LOOP (i, n) dst[at[i]] = src[i];
}

/* One grid loop over n on the context's device and stream. */
template <class... P, class... A>
static int launch(const char *what, iso_ctx *ctx, int64_t n, void (*kernel)(P...), A... argument)
{
	int st = iso_cuda_use(ctx);

	if (st) return st;
	kernel<<<iso_blocks(n), ISO_THREADS, 0, iso_stream(ctx)>>>(argument...);
	return iso_cuda_launched(what);
}

static int vec_fill(iso_ctx *ctx, int64_t n, iso_real *x, double value)
{
	return launch("fill", ctx, n, fill, n, x, (iso_real)value);
}

static int vec_axpy(iso_ctx *ctx, int64_t n, iso_real *y, double a, const iso_real *x)
{
	return launch("axpy", ctx, n, axpy, n, y, (iso_real)a, x);
}

static int vec_mul(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *y)
{
	return launch("mul", ctx, n, mul, n, z, x, y);
}

static int vec_div(iso_ctx *ctx, int64_t n, iso_real *z, const iso_real *x, const iso_real *y)
{
	return launch("div", ctx, n, divide, n, z, x, y);
}

static int vec_update(iso_ctx *ctx, int64_t n, iso_real *x, const iso_real *acc, const iso_real *sens,
                      double scale)
{
	return launch("update", ctx, n, update, n, x, acc, sens, (iso_real)scale);
}

static int vec_dot(iso_ctx *ctx, int64_t n, double *r, const iso_real *x, const iso_real *y)
{
	int blocks = iso_blocks(n), st;
	double host[2048], *part = NULL;

	if ((st = vec_alloc(ctx, (void **)&part, blocks * (int64_t)sizeof *part))) return st;
	if (!(st = launch("sum", ctx, n, sums, n, part, x, y)))
		st = vec_download(ctx, host, part, blocks * (int64_t)sizeof *part);
	cudaFree(part);
	*r = 0;
	for (int b = 0; !st && b < blocks; b++) *r += host[b];
	return st;
}

static int vec_asum(iso_ctx *ctx, int64_t n, double *r, const iso_real *x)
{
	return vec_dot(ctx, n, r, x, NULL);
}

static int vec_uniform(iso_ctx *ctx, int64_t n, iso_real *x, uint64_t seed)
{
	return launch("uniform", ctx, n, uniform, n, x, seed);
}

static int vec_gather(iso_ctx *ctx, int64_t n, iso_real *dst, const iso_real *src, const int64_t *at)
{
	return launch("gather", ctx, n, gather, n, dst, src, at);
}

static int vec_scatter(iso_ctx *ctx, int64_t n, iso_real *dst, const iso_real *src, const int64_t *at)
{
	return launch("scatter", ctx, n, scatter, n, dst, src, at);
}

static const struct iso_vec iso_vec_cuda = {
	vec_alloc, vec_free, vec_upload, vec_download, vec_copy, vec_fill,    vec_axpy,
	vec_mul,   vec_div,  vec_update, vec_dot,      vec_asum, vec_uniform,
};

/* ---- devices ---- */

/* Why there is none. The runtime calls a driver that is not there too old. */
static const char *why_none(cudaError_t e)
{
	int driver = 0;

	if (e == cudaSuccess) return "none found";
	if (e == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
		return "NVIDIA's driver is not installed";
	return cudaGetErrorString(e);
}

static int device_open(iso_ctx *ctx, int device)
{
	cudaDeviceProp prop;
	cudaStream_t stream;
	int n = 0, st;
	cudaError_t e = cudaGetDeviceCount(&n);

	if (e != cudaSuccess || n < 1) {
		cudaGetLastError();
		return iso_fail(ISO_EDEVICE, "CUDA: no device on this machine (%s)", why_none(e));
	}
	if (device >= n)
		return iso_fail(ISO_EDEVICE, "device cuda:%d: this machine has %d CUDA device%s", device, n,
		                n == 1 ? "" : "s");
	if ((st = iso_cuda_check("cudaSetDevice", cudaSetDevice(device))) ||
	    (st = iso_cuda_check("device properties", cudaGetDeviceProperties(&prop, device))) ||
	    (st = iso_cuda_check("stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))))
		return st;
	snprintf(ctx->device_name, sizeof ctx->device_name, "%s", prop.name);
	ctx->cuda_device = device;
	ctx->stream = stream;
	ctx->owns_stream = true;
	return ISO_OK;
}

static void device_close(iso_ctx *ctx)
{
	iso_cuda_use(ctx);
	cudaStreamSynchronize(iso_stream(ctx)); /* what comes next may be on another stream */
	if (ctx->owns_stream) cudaStreamDestroy(iso_stream(ctx));
	ctx->owns_stream = false;
}

static void device_reset(const iso_ctx *ctx)
{
	if (!iso_cuda_use(ctx)) cudaDeviceReset();
}

static int device_free_memory(const iso_ctx *ctx, int64_t *bytes)
{
	size_t available = 0, total = 0;
	int st = iso_cuda_use(ctx);

	if (!st) st = iso_cuda_check("cudaMemGetInfo", cudaMemGetInfo(&available, &total));
	*bytes = (int64_t)available;
	return st;
}

static int device_wait(const iso_ctx *ctx)
{
	int st = iso_cuda_use(ctx);

	return st ? st : iso_cuda_check("wait", cudaStreamSynchronize(iso_stream(ctx)));
}

/* An event of its own for each call: threads that share the context do not meet. CUDA frees it once it is over. */
static int device_order(const iso_ctx *ctx, void *first, void *then)
{
	cudaEvent_t reached;
	int st = iso_cuda_use(ctx);

	if (st || (st = iso_cuda_check("event", cudaEventCreateWithFlags(&reached, cudaEventDisableTiming))))
		return st;
	if (!(st = iso_cuda_check("order of streams", cudaEventRecord(reached, (cudaStream_t)first))))
		st = iso_cuda_check("order of streams", cudaStreamWaitEvent((cudaStream_t)then, reached, 0));
	cudaEventDestroy(reached);
	return st;
}

static int device_identify(const iso_ctx *ctx, struct iso_gpu *gpu)
{
	cudaDeviceProp prop;
	int st = iso_cuda_check("device properties", cudaGetDeviceProperties(&prop, ctx->cuda_device));

	if (st) return st;
	static_assert(sizeof gpu->uuid == sizeof prop.uuid, "16 bytes");
	memcpy(gpu->uuid, &prop.uuid, sizeof gpu->uuid);
	return iso_cuda_check("place of a device",
	                      cudaDeviceGetPCIBusId(gpu->bus, (int)sizeof gpu->bus, ctx->cuda_device));
}

static int device_count(void)
{
	int n = 0;

	if (cudaGetDeviceCount(&n) == cudaSuccess) return n;
	cudaGetLastError();
	return 0;
}

extern "C" const char iso_half_version[] = ISO_VERSION; /* library.c */

extern "C" const struct iso_cuda_fn iso_cuda_fn = {
	device_open,  device_close, device_reset, iso_cuda_use, device_free_memory, device_wait,
	device_order, vec_gather,   vec_scatter,  device_count, device_identify,    &iso_vec_cuda,
};
