/* SPDX-License-Identifier: BSD-3-Clause */
/* The public interface, and how the library's own code reports a failure. */
#ifndef ISO_STATUS_H
#define ISO_STATUS_H

#include "base/fail.h"
#include "isotome.h"

#endif
