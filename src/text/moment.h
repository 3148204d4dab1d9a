/* SPDX-License-Identifier: BSD-3-Clause */
/* Clock times as users write them. */
#ifndef ISO_MOMENT_H
#define ISO_MOMENT_H

#include <stdbool.h>

struct moment {
	double s; /* since 1970-01-01 00:00 of its zone, of UTC where it has one; without a date since midnight */
	bool dated, zoned;
	int hour, minute, second; /* as written */
};

/* ISO_EARG if it is none: "is 'noon', must be ...", without the name of the parameter. */
int moment_parse(struct moment *m, const char *text);

#endif
