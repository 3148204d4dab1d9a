/* SPDX-License-Identifier: BSD-3-Clause */
/* The context: which device, how many threads, whom to tell, whether to stop. */
#include "ctx.h"
#include "progress.h"
#include "size.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *iso_version(void)
{
	return ISO_VERSION;
}

static int use_cpu(iso_ctx *ctx)
{
	ctx->vec = &iso_vec_cpu;
	snprintf(ctx->device, sizeof ctx->device, "cpu");
	snprintf(ctx->device_name, sizeof ctx->device_name, "%d thread%s", ctx->threads,
	         ctx->threads == 1 ? "" : "s");
	return ISO_OK;
}

static int use_cuda(iso_ctx *ctx, int device)
{
	void *fn = NULL;
	int st = iso_cuda_symbol(&fn, "iso_cuda_fn");

	if (st || (st = ((const struct iso_cuda_fn *)fn)->open(ctx, device))) return st;
	ctx->cuda = fn;
	ctx->vec = ctx->cuda->vec;
	snprintf(ctx->device, sizeof ctx->device, "cuda:%d", device);
	return ISO_OK;
}

static int use_device(iso_ctx *ctx, const char *device)
{
	int n = 0, used = 0;

	if (!strcmp(device, "cpu")) return use_cpu(ctx);
	if (!strcmp(device, "auto")) return use_cuda(ctx, 0) == ISO_OK ? ISO_OK : use_cpu(ctx);
	if (strcmp(device, "cuda") != 0 &&
	    (sscanf(device, "cuda:%3d%n", &n, &used) != 1 || device[used] || n < 0))
		return iso_fail(ISO_EARG, "device '%s' is not one of auto, cpu, cuda, cuda:N", device);
	return use_cuda(ctx, n);
}

int iso_ctx_create(iso_ctx **out, const char *device, int threads)
{
	if (!out || !device) return iso_fail_null(__func__);
	if (threads < 0 || threads > 4096)
		return iso_fail(ISO_EARG, "threads is %d, must be 0 (all cores) to 4096", threads);
	iso_ctx *ctx = size_alloc(1, sizeof *ctx);
	int st;

	if (!ctx) return iso_fail_memory("context", sizeof *ctx);
	ctx->threads = threads ? threads : omp_get_num_procs();
	if ((st = use_device(ctx, device))) {
		free(ctx);
		return st;
	}
	ctx->base = iso_memory_own();
	ctx->refs = 1;
	*out = ctx;
	return ISO_OK;
}

iso_ctx *iso_ctx_keep(iso_ctx *ctx)
{
	__atomic_add_fetch(&ctx->refs, 1, __ATOMIC_RELAXED);
	return ctx;
}

void iso_ctx_free(iso_ctx *ctx)
{
	if (!ctx || __atomic_sub_fetch(&ctx->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
	if (ctx->cuda) ctx->cuda->close(ctx);
	free(ctx);
}

bool iso_ctx_is_cuda(const iso_ctx *ctx)
{
	return ctx->cuda != NULL;
}

const char *iso_ctx_device(const iso_ctx *ctx)
{
	return ctx->device;
}

const char *iso_ctx_device_name(const iso_ctx *ctx)
{
	return ctx->device_name;
}

int iso_ctx_threads(const iso_ctx *ctx)
{
	return ctx->threads;
}

const struct iso_vec *iso_ctx_vec(const iso_ctx *ctx)
{
	return ctx->vec;
}

int iso_ctx_set_stream(iso_ctx *ctx, void *stream)
{
	if (!ctx) return iso_fail_null(__func__);
	if (!ctx->cuda) return iso_fail(ISO_EARG, "set_stream: the context's device is the CPU");
	ctx->cuda->close(ctx);
	ctx->stream = stream;
	return ISO_OK;
}

void *iso_ctx_stream(const iso_ctx *ctx)
{
	return ctx->stream;
}

void iso_ctx_set_memory_limit(iso_ctx *ctx, int64_t bytes)
{
	ctx->memory_limit = bytes;
}

void iso_ctx_cancel(iso_ctx *ctx)
{
	__atomic_store_n(&ctx->cancel, 1, __ATOMIC_RELAXED);
}

void iso_ctx_clear_cancel(iso_ctx *ctx)
{
	__atomic_store_n(&ctx->cancel, 0, __ATOMIC_RELAXED);
}

bool iso_ctx_cancelled(const iso_ctx *ctx)
{
	return iso_stopped(ctx);
}

int iso_ctx_poll(const iso_ctx *ctx)
{
	return iso_stopped(ctx) ? iso_fail(ISO_ECANCEL, "stopped on request") : ISO_OK;
}

/* ---- memory of the machine and of this process, from /proc ---- */

/* MemAvailable counts the page cache that the system gives up, which the C library's own
   figures do not. */
int64_t iso_memory_available(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[256];
	int64_t kib = 0, found = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "MemAvailable: %" SCNd64, &kib) == 1) found = kib * 1024;
	if (f) fclose(f);
	return found ? found : (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

/* Pages of the process: mapped, of these in memory, and of these shared or of files. */
struct pages {
	int64_t mapped, resident, shared;
};

static struct pages count_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	struct pages p = { 0 };

	if (f && fscanf(f, "%" SCNd64 " %" SCNd64 " %" SCNd64, &p.mapped, &p.resident, &p.shared) != 3)
		p = (struct pages){ 0 };
	if (f) fclose(f);
	return p;
}

int64_t iso_memory_resident(void)
{
	return count_pages().resident * sysconf(_SC_PAGESIZE);
}

int64_t iso_memory_own(void)
{
	struct pages p = count_pages();

	return (p.resident - p.shared) * sysconf(_SC_PAGESIZE);
}

int64_t iso_memory_mapped(void)
{
	return count_pages().mapped * sysconf(_SC_PAGESIZE);
}

int64_t iso_ctx_host_memory(const iso_ctx *ctx)
{
	return ctx->memory_limit > 0 ? ctx->memory_limit : iso_memory_available();
}

int64_t iso_ctx_host_left(const iso_ctx *ctx)
{
	return ctx->memory_limit > 0 ? ctx->memory_limit - iso_memory_resident() : iso_memory_available();
}

/* Bytes of the process's buffers, names and the like, which no plan counts. */
#define SMALL ((int64_t)4 << 20)

int iso_memory_check(const iso_ctx *ctx, const char *what, int64_t bytes)
{
	if (!what) return iso_fail_null(__func__);
	bool limited = ctx && ctx->memory_limit > 0;
	int64_t held = limited ? iso_memory_own() - ctx->base - SMALL : 0; /* since the context was made */
	int64_t left = limited ? ctx->memory_limit - (held > 0 ? held : 0) : iso_memory_available();

	if (bytes <= left) return ISO_OK;
	if (!limited)
		return iso_fail(ISO_ENOMEM, "%s: needs %s of host memory, %s are free", what,
		                iso_bytes(bytes), iso_bytes(left));
	return iso_fail(ISO_ENOMEM, "%s: needs %s of host memory, %s are left of the limit of %s", what,
	                iso_bytes(bytes), iso_bytes(left > 0 ? left : 0), iso_bytes(ctx->memory_limit));
}

/* ---- progress: the rate so far gives the time left ---- */

double iso_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct iso_clock iso_clock_start(const iso_ctx *ctx, const char *stage, int64_t first, int64_t total)
{
	struct iso_clock c = { ctx, stage, first, total, iso_now_s() };
	struct iso_progress p = { .stage = stage, .done = first, .total = total, .left_s = -1 };

	if (ctx->progress) ctx->progress(ctx->progress_arg, &p);
	return c;
}

void iso_clock_step(const struct iso_clock *c, int64_t done, const char *note)
{
	if (!c->ctx->progress) return;
	double elapsed = iso_now_s() - c->start_s;
	int64_t steps = done - c->first;
	struct iso_progress p = {
		.stage = c->stage,
		.done = done,
		.total = c->total,
		.elapsed_s = elapsed,
		.left_s = steps > 0 ? elapsed / (double)steps * (double)(c->total - done) : -1,
		.note = note,
	};

	c->ctx->progress(c->ctx->progress_arg, &p);
}

void iso_ctx_set_progress(iso_ctx *ctx, iso_progress_fn fn, void *arg)
{
	ctx->progress = fn;
	ctx->progress_arg = arg;
}
