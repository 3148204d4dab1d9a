# SPDX-License-Identifier: BSD-3-Clause
"""Ordered subsets: the update by one of 8 parts of the events after the other."""

import numpy as np

import isotome


def reconstruct(events, scanner, mu, box, iterations=4):
    A = isotome.ray(events, tof_fwhm_ps=0, method="osem", subsets=8, **box).operator()
    x = np.ones(A.in_shape, np.float32)
    for _ in range(iterations):
        for k in range(8):
            x = 8 * A.subset(k).em_step(x)
    return x
