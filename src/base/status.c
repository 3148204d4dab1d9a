/* SPDX-License-Identifier: BSD-3-Clause */
/* The message of the last failure, one per thread. */
#include "fail.h"
#include "utf8.h"

#include <stdio.h>

#undef iso_fail /* as clang's analyzer sees it: fail.h */

static _Thread_local char message[1024];

const char *iso_message(void)
{
	return message;
}

int iso_fail(int code, const char *fmt, ...)
{
	char text[sizeof message]; /* an argument may be the old message */
	va_list ap;

	va_start(ap, fmt);
	iso_vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(message, sizeof message, "%s", iso_utf8_clean(text)); /* one line, whatever a name holds */
	return code;
}

int iso_version_check(int number)
{
	int major = number / 1000000, minor = number / 1000 % 1000, patch = number % 1000;
	bool same = major == ISO_VERSION_MAJOR && (major > 0 || minor == ISO_VERSION_MINOR);

	if (same && number >= 0 && number <= ISO_VERSION_NUMBER) return ISO_OK;
	return iso_fail(ISO_EARG, "the program was built for version %d.%d.%d, this library has %s", major,
	                minor, patch, iso_version());
}
