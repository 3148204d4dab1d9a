/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA devices for the core: how many, opening one, its free memory. */
#include "cuda.cuh"

#include <stdio.h>

extern "C" const struct iso_vec iso_vec_cuda;

static int device_open(iso_ctx *ctx, int device)
{
	cudaDeviceProp prop;
	cudaStream_t stream;
	int n = 0, st;
	cudaError_t e = cudaGetDeviceCount(&n);

	if (e != cudaSuccess || n < 1) {
		cudaGetLastError();
		return iso_fail(ISO_EDEVICE, "CUDA: no device on this machine (%s)",
		                e == cudaSuccess ? "none found" : cudaGetErrorString(e));
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

static int device_free_memory(const iso_ctx *ctx, int64_t *bytes)
{
	size_t available = 0, total = 0;
	int st = iso_cuda_use(ctx);

	if (!st) st = iso_cuda_check("cudaMemGetInfo", cudaMemGetInfo(&available, &total));
	*bytes = (int64_t)available;
	return st;
}

extern "C" const struct iso_cuda_fn iso_cuda_fn = {
	device_open, device_close, iso_cuda_use, device_free_memory, &iso_vec_cuda,
};
