/* SPDX-License-Identifier: BSD-3-Clause */
/* Size arithmetic that notices overflow: every size that a file or an option names goes
   through here. */
#ifndef ISO_SIZE_H
#define ISO_SIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* *r = a * b, or false if a factor is negative or the product does not fit. */
static inline bool size_mul(int64_t *r, int64_t a, int64_t b)
{
	return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, r);
}

static inline bool size_add(int64_t *r, int64_t a, int64_t b)
{
	return a >= 0 && b >= 0 && !__builtin_add_overflow(a, b, r);
}

/* Product of n sizes. */
static inline bool size_product(int64_t *r, int n, const int64_t *dim)
{
	*r = 1;
	for (int i = 0; i < n; i++)
		if (!size_mul(r, *r, dim[i])) return false;
	return true;
}

enum {
	SIZE_LARGE = 1 << 23, /* bytes: memory that is worth large pages */
	SIZE_PAGE = 1 << 16,  /* no machine's ordinary pages are larger */
};

/* Zeroed memory for n items, NULL if it does not fit; n = 0 gives a valid pointer. Large memory is in large
   pages where the system has them: a fault for every 4 KiB takes as long as reading a file. */
static inline void *size_alloc(int64_t n, int64_t item)
{
	int64_t bytes;
	char *p;

	if (!size_mul(&bytes, n, item)) return NULL;
	p = calloc(1, bytes > 0 ? (size_t)bytes : 1);
#ifdef MADV_HUGEPAGE
	if (p && bytes >= SIZE_LARGE)
		madvise(p + (SIZE_PAGE - (uintptr_t)p % SIZE_PAGE), (size_t)bytes - SIZE_PAGE, MADV_HUGEPAGE);
#endif
	return p;
}

#endif
