/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ISO_NOW_H
#define ISO_NOW_H

#include "isotome/status.h"

ISO_BEGIN_C

/* Seconds of a clock that never jumps. */
double iso_now_s(void);

ISO_END_C
#endif
