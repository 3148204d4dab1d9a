/* SPDX-License-Identifier: BSD-3-Clause */
/* How the library's own code reports a failure. */
#ifndef ISO_FAIL_H
#define ISO_FAIL_H

#include "number.h"
#include "isotome/status.h"

#include <inttypes.h>

ISO_BEGIN_C

/* Stores the message for this thread and returns `code`: base/status.c. */
int iso_fail(int code, const char *fmt, ...) ISO_PRINTF(2, 3);

/* ISO_EINPUT, "PATH: ...": what is wrong with a file. */
int iso_refuse(const char *path, const char *fmt, ...) ISO_PRINTF(2, 3);

/* ISO_EIO, "PATH: can't WHAT: ...", with the reason that errno tells. */
int iso_fail_errno(const char *path, const char *what);

/* ISO_ENOMEM with what and how much; for a NULL from an allocation. */
int iso_fail_memory(const char *what, int64_t bytes);

/* ISO_EARG: the public function `who` was given NULL for a pointer that it needs. */
int iso_fail_null(const char *who);

#ifdef __clang_analyzer__ /* which looks at one file at a time: what these return is not 0 */
#	define iso_fail(code, ...) ((void)(iso_fail)(code, __VA_ARGS__), (code) < 0 ? (code) : ISO_EARG)
#	define iso_refuse(...) ((void)(iso_refuse)(__VA_ARGS__), ISO_EINPUT)
#	define iso_fail_errno(path, what) ((void)(iso_fail_errno)(path, what), ISO_EIO)
#	define iso_fail_memory(what, bytes) ((void)(iso_fail_memory)(what, bytes), ISO_ENOMEM)
#endif

/* "1.5 GiB" in a buffer of the calling thread; the last four results stay valid. */
const char *iso_bytes(int64_t bytes);

ISO_END_C
#endif
