/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures of kinds that are told alike. */
#include "fail.h"

#include <errno.h>
#include <string.h>

#undef iso_fail /* as clang's analyzer sees it: fail.h */
#undef iso_refuse
#undef iso_fail_errno
#undef iso_fail_memory

int iso_refuse(const char *path, const char *fmt, ...)
{
	char why[1024];
	va_list ap;

	va_start(ap, fmt);
	iso_vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return iso_fail(ISO_EINPUT, "%s: %s", path, why);
}

int iso_fail_errno(const char *path, const char *what)
{
	return iso_fail(ISO_EIO, "%s: can't %s: %s", path, what, strerror(errno));
}

const char *iso_bytes(int64_t bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	static _Thread_local char ring[4][32];
	static _Thread_local unsigned next;
	char *text = ring[next++ % 4];
	double v = (double)bytes;
	int u = 0;

	for (; v >= 1024 && u < 6; u++) v /= 1024;
	iso_snprintf(text, sizeof ring[0], u == 0 ? "%.0f %s" : "%.1f %s", v, unit[u]);
	return text;
}

int iso_fail_memory(const char *what, int64_t bytes)
{
	return iso_fail(ISO_ENOMEM, "%s: no memory for %s", what, iso_bytes(bytes));
}

int iso_fail_null(const char *who)
{
	return iso_fail(ISO_EARG, "%s: a pointer that it needs is NULL", who);
}
