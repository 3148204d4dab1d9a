/* SPDX-License-Identifier: BSD-3-Clause */
/* Poisson random numbers. */
#ifndef ISO_POISSON_H
#define ISO_POISSON_H

#include <stdint.h>

/* One number of the given mean (0 to 1e15); draws 0, 1, ... of `history` are used. */
int64_t iso_poisson(double mean, uint64_t seed, uint64_t history);

#endif
