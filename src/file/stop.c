/* SPDX-License-Identifier: BSD-3-Clause */
/* The flag that ends the reading and writing of files. */
#include "stop.h"
#include "core/status.h"

static const volatile sig_atomic_t *watched;

void iso_stop_watch(const volatile sig_atomic_t *flag)
{
	watched = flag;
}

int iso_stop_check(const char *path)
{
	return watched && *watched ? iso_fail(ISO_ECANCEL, "%s: interrupted", path) : ISO_OK;
}
