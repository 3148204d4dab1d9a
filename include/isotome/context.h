/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: the device and its threads, the stream, the memory limit, progress, and the request to stop.

   Threads: one context serves several threads, each with operators of its own. What sets something
   (iso_ctx_set_...) is called while no other thread uses the context; iso_ctx_cancel at any time, from
   any thread and in a signal handler. */
#ifndef ISOTOME_CONTEXT_H
#define ISOTOME_CONTEXT_H

#include "isotome/status.h"

ISO_BEGIN_C

typedef struct iso_ctx iso_ctx;

/* device: "cpu", "cuda", "cuda:N", or "auto" (CUDA where there is one, else CPU).
   threads: CPU threads, 0 for all cores. */
ISO_CHECKED int iso_ctx_create(iso_ctx **ctx, const char *device, int threads);

/* The same, while the caller goes on, for instance to read what it will work on: a thread opens the device,
   which on CUDA takes some tenths of a second. Until iso_ctx_ready, which waits for it and returns how that
   went, the context is one thread's; functions that need the device wait by themselves. If it could not
   be opened, no operator can be made, and long calls end with the status of iso_ctx_ready. A memory limit then
   counts what the driver of the device takes. */
ISO_CHECKED int iso_ctx_create_ahead(iso_ctx **ctx, const char *device, int threads);
ISO_CHECKED int iso_ctx_ready(iso_ctx *ctx);

/* Operators keep their context: freed before them, it lives until the last of them goes. */
void iso_ctx_free(iso_ctx *ctx);

/* What a context computes on. */
bool iso_ctx_is_cuda(const iso_ctx *ctx);
const char *iso_ctx_device(const iso_ctx *ctx);      /* "cpu", "cuda:0" */
const char *iso_ctx_device_name(const iso_ctx *ctx); /* "2 threads", "NVIDIA H200" */
int iso_ctx_threads(const iso_ctx *ctx);

/* Work on the caller's cudaStream_t from now on; it must outlive the context. */
ISO_CHECKED int iso_ctx_set_stream(iso_ctx *ctx, void *stream);
void *iso_ctx_stream(const iso_ctx *ctx); /* the cudaStream_t of its work; NULL on the CPU */

/* Order between the context's work and that of a caller's cudaStream_t of the same device, without waiting on
   the host. Follow: what the context does from now on comes after what is in the stream now. Lead: what comes
   into the stream from now on comes after what the context does until now. So a call between the two reads what
   the stream wrote and is read by what the stream does next, and the stream may be freed afterwards. */
ISO_CHECKED int iso_ctx_follow_stream(iso_ctx *ctx, void *stream);
ISO_CHECKED int iso_ctx_lead_stream(iso_ctx *ctx, void *stream);

/* Waits for what the context does until now. */
ISO_CHECKED int iso_ctx_wait(iso_ctx *ctx);

/* Host memory the context may plan for; 0 (the default) is what the machine has free. */
void iso_ctx_set_memory_limit(iso_ctx *ctx, int64_t bytes);

/* The same of the memory of a CUDA device: plans keep to it, so that events are streamed that would exceed it. */
void iso_ctx_set_device_memory_limit(iso_ctx *ctx, int64_t bytes);

/* Ask long calls to stop with ISO_ECANCEL; safe in a signal handler. It holds, for later calls too, until
   it is cleared, which must not be done while a call runs: one that has left out part of its work would
   not know it. */
void iso_ctx_cancel(iso_ctx *ctx);
void iso_ctx_clear_cancel(iso_ctx *ctx);
bool iso_ctx_cancelled(const iso_ctx *ctx);

/* Progress of a long call: `done` of `total` steps of `stage`, `left_s` seconds to go (negative:
   not known yet), `note` one line about the step, or NULL. A total of 0 is not known. Called on the calling
   thread, first as the stage begins, with elapsed_s 0. `unit` names what the stage counts ("events", "bytes"),
   and per_s is their number per second; NULL: the stage counts only steps. `brief` marks a short stage beside
   the work itself, maybe within another, such as reading a file. A brief stage is reported only if it lasts
   longer than a moment. The
   library makes the struct, and may add members at its end. */
struct iso_progress {
	const char *stage;
	int64_t done, total;
	double elapsed_s, left_s;
	const char *note;
	const char *unit;
	double per_s; /* 0: not known yet */
	bool brief;
};
typedef void (*iso_progress_fn)(void *arg, const struct iso_progress *p);
void iso_ctx_set_progress(iso_ctx *ctx, iso_progress_fn fn, void *arg);

ISO_END_C
#endif
