/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of memory are public. */
#include "isotome/memory.h"
