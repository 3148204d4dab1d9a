/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine can do at best, measured where a benchmark runs: rates of memory accesses in the
   patterns that ray tracing has, of loads next to the arithmetic, and of the arithmetic itself; of files
   and of the link to a device. And the work that an event means for the model ray. */
#ifndef ISO_LIMITS_H
#define ISO_LIMITS_H

#include "isotome.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The address of a function of libisotome_bench_cuda.so: the CUDA code of benchmarks and ladders. */
int iso_bench_cuda(void **address, const char *name);

/* Random pieces of 8, and of 32, neighbouring 4-byte words of a working set: words a second, over
   all threads. `add` is x += value, atomic on CUDA. */
struct iso_limits {
	double bytes; /* of the working set */
	double load_8, load_32, add_8, add_32;
	double triad; /* a = b + s c, far beyond the caches: bytes a second */
};

/* `bytes`: on the CPU that of the image at hand, for each thread its own; CUDA takes 8 MB, which
   its second-level cache holds. */
int iso_limits_measure(struct iso_limits *l, iso_ctx *ctx, int64_t bytes);

/* Multiplications and additions a second over all threads and lanes; on CUDA, where they are fused,
   fused pairs. */
int iso_arithmetic_rate(double *per_s, iso_ctx *ctx);

/* The same in multiply-adds: on the CPU, where they can be fused, one takes the time of one operation, else
   of two. */
int iso_multiply_add_rate(double *per_s, iso_ctx *ctx);

/* Bytes a second that all threads load from the first-level cache, whole registers at a time; on
   CUDA from shared memory, neighbouring threads neighbouring words. */
int iso_cache_rate(double *bytes_per_s, iso_ctx *ctx);

/* Bytes a second that all threads together read of a file in the page cache, a MiB at a time, each into
   memory of its own. The file, of 1 GiB, lies in `folder` without a name: nothing is left of it. */
int iso_file_rate(double *bytes_per_s, iso_ctx *ctx, const char *folder);

/* Bytes a second from pinned memory of the host to the device of a CUDA context. */
int iso_link_rate(double *bytes_per_s, iso_ctx *ctx);

/* Mean number of voxels that a line of n events reads and adds to, inside its TOF window: the
   chord tracer's pieces, or four voxels for each slice of Joseph's. */
double iso_bench_visits(const struct iso_ray *p, const struct iso_event *e, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
