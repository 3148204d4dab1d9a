/* SPDX-License-Identifier: BSD-3-Clause */
/* How the library's own code reports a failure. */
#ifndef ISO_STATUS_H
#define ISO_STATUS_H

#include "isotome.h"

#include <inttypes.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#	define ISO_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#	define ISO_PRINTF(f, a)
#endif

/* Stores the message for this thread and returns `code`. */
int iso_fail(int code, const char *fmt, ...) ISO_PRINTF(2, 3);

/* ISO_ENOMEM with what and how much; for a NULL from an allocation. */
int iso_fail_memory(const char *what, int64_t bytes);

/* ISO_EARG: the public function `who` was given NULL for a pointer that it needs. */
int iso_fail_null(const char *who);

/* "1.5 GiB" in a buffer of the calling thread; the last four results stay valid. */
const char *iso_bytes(int64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
