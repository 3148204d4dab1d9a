# SPDX-License-Identifier: BSD-3-Clause
"""Baseline MLEM, without sensitivity: x <- x A*(1/(A x)), Algorithm 1 of Van Gendt et al. 2021."""

import numpy as np

import isotome


def reconstruct(events, scanner, mu, box, iterations=4):
    A = isotome.ray(events, tof_fwhm_ps=0, **box).operator()
    x = np.ones(A.in_shape, np.float32)
    for _ in range(iterations):
        x = A.em_step(x)
    return x
