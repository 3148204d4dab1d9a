# SPDX-License-Identifier: BSD-3-Clause
"""Attenuation by eqs. (6) and (7): every event counts 1/alpha, with alpha = exp(-A mu)."""

import numpy as np

import isotome


def reconstruct(events, scanner, mu, box, iterations=4):
    A = isotome.ray(events, tof_fwhm_ps=0, **box).operator()
    y = np.exp(A(mu))
    x = np.ones(A.in_shape, np.float32)
    for _ in range(iterations):
        x = A.em_step(x, y)
    return x
