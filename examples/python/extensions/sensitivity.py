# SPDX-License-Identifier: BSD-3-Clause
"""Sensitivity correction: x <- x/s A*(1/(A x)); what no line meets stays 0."""

import numpy as np

import isotome


def reconstruct(events, scanner, mu, box, iterations=4):
    problem = isotome.ray(events, scanner=scanner, tof_fwhm_ps=0, **box)
    A, s = problem.operator(), problem.sensitivity()
    x = np.ones(A.in_shape, np.float32)
    for _ in range(iterations):
        x = A.em_step(x, sens=s)
    return x
