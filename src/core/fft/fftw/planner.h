/* SPDX-License-Identifier: BSD-3-Clause */
/* FFTW makes and frees plans in one thread at a time. */
#ifndef ISO_FFTW_PLANNER_H
#define ISO_FFTW_PLANNER_H

#include <pthread.h>

extern pthread_mutex_t iso_fftw_planner;

#endif
