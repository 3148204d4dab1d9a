/* SPDX-License-Identifier: BSD-3-Clause */
/* An exponential of some rate behind a Gaussian error sigma, at time t. */
#ifndef ISO_EMG_H
#define ISO_EMG_H

#include "core/status.h"
#include "isotome/lifetime.h"

#include <math.h>

double emg_normal(double t, double sigma); /* the Gaussian alone, and its integral */
double emg_normal_integral(double t, double sigma);

double emg(double t, double rate, double sigma);
double emg_integral(double t, double rate, double sigma);
double emg_by_rate(double value, double t, double rate, double sigma); /* value: emg there */

/* Integrals of t^k emg from lo to hi, k = 0, 1, 2. */
void emg_moments(double j[3], double lo, double hi, double rate, double sigma);

#endif
