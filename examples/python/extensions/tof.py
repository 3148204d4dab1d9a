# SPDX-License-Identifier: BSD-3-Clause
"""Time of flight: a Gaussian along the line of each event, which the operator has built in."""

import numpy as np

import isotome


def reconstruct(events, scanner, mu, box, iterations=4):
    A = isotome.ray(events, tof_fwhm_ps=390, **box).operator()
    x = np.ones(A.in_shape, np.float32)
    for _ in range(iterations):
        x = A.em_step(x)
    return x
