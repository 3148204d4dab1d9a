# SPDX-License-Identifier: BSD-3-Clause
"""All extensions at once: sensitivity, subsets, attenuation, time of flight, median filter."""

import numpy as np

import isotome


def reconstruct(events, scanner, mu, box, iterations=4):
    chords = isotome.ray(events, tof_fwhm_ps=0, **box).operator()
    y = np.exp(chords(mu))
    problem = isotome.ray(events, scanner=scanner, tof_fwhm_ps=390, method="osem", subsets=8, **box)
    A, s = problem.operator(), problem.sensitivity()
    x = np.ones(A.in_shape, np.float32)
    for _ in range(iterations):
        for k in range(8):
            B = A.subset(k)
            x = 8 * B.em_step(x, y[B.rows], sens=s)
        x = isotome.filter(x, "median:3")
    return x
