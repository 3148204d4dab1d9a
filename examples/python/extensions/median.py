# SPDX-License-Identifier: BSD-3-Clause
"""A median filter of 3 x 3 x 3 voxels after each iteration."""

import numpy as np

import isotome


def reconstruct(events, scanner, mu, box, iterations=4):
    A = isotome.ray(events, tof_fwhm_ps=0, **box).operator()
    x = np.ones(A.in_shape, np.float32)
    for _ in range(iterations):
        x = isotome.filter(A.em_step(x), "median:3")
    return x
