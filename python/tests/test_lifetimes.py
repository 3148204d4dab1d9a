# SPDX-License-Identifier: BSD-3-Clause
"""Lifetimes from Python: a life comes back within its error; what is refused."""

import numpy as np
import pytest

import isotome


def _triples(n=3000):
    rng = np.random.default_rng(1)
    phi = rng.uniform(0, np.pi, n)
    ends = 100 * np.c_[np.cos(phi), np.sin(phi), 0 * phi]
    events = np.c_[ends, -ends, rng.normal(0, 30, n)].astype("f4")
    return events, rng.exponential(2, n) + rng.normal(0, 0.15, n)


@pytest.mark.filterwarnings("ignore:.*assumed:isotome.IsotomeWarning")
def test_a_life_comes_back():
    events, times = _triples()
    problem = isotome.ray(events, grid=(3, 3, 1), voxel=20, tof_fwhm_ps=100)
    for method in ("moment", "emg", "posterior"):
        maps = isotome.lifetime(
            problem, times, method=method, components=(), min_counts=50, error="diag", regions=np.ones((1, 3, 3))
        )
        assert set(maps) >= {"tau", "error", "counts", "mean", "intensity", "intensity_error"}
        assert abs(maps["tau"][0, 1, 1] - 2) < 4 * maps["error"][0, 1, 1] + 0.2
        assert maps["counts"].sum() > 2800
    with pytest.raises(isotome.ArgumentError, match="times: given 5 numbers, wanted 3000"):
        isotome.lifetime(problem, times[:5])
    with pytest.raises(isotome.ArgumentError, match="wanted one of moment"):
        isotome.lifetime(problem, times, method="mean")
    with pytest.raises(isotome.ArgumentError, match="diag or bootstrap"):
        isotome.lifetime(problem, times, error="full")
