/* SPDX-License-Identifier: BSD-3-Clause */
#include "now.h"

#include <time.h>

double iso_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
