# SPDX-License-Identifier: BSD-3-Clause
"""Curves of blood, bases, fits of frames, and coefficients from events."""

import numpy as np
import pytest
import isotome

EDGES = np.array([300, 600, 1000, 1500, 2100, 2800, 3600.0])
CURVE = ([0, 20, 60, 600, 3600], [0, 80, 40, 15, 5])


def test_basis_and_fit():
    b = isotome.basis("patlak", CURVE, EDGES, half_life_s=1221.8)
    x = np.linspace(300, 600, 100001)
    g = np.exp(-np.log(2) / 1221.8 * x)
    assert np.isclose(b.mean[1, 0], (np.interp(x, *CURVE) * g).sum() / g.sum(), rtol=1e-4)
    assert list(b.maps) == ["Ki", "V0"] and b.maps["Ki"][0] == "mL/min/mL"
    theta = np.random.default_rng(1).uniform(0.5, 1, (2, 3, 4)) * np.array([1e-3, 0.3])[:, None, None]
    frames = np.tensordot(b.mean.T, theta, 1)
    for fit in isotome.fit_frames(frames, b), isotome.fit_frames(frames, b, np.ones(6), nonneg=True):
        assert np.allclose(fit.theta, theta, rtol=1e-4) and fit.s2.max() < 1e-3
    assert np.allclose(b.map("Ki", fit.theta), 60 * theta[0], rtol=1e-4)
    assert isotome.logan(frames, EDGES, CURVE, 2).shape == (3, 4)
    two = isotome.basis("basis", edges=[0, 10, 30], columns=[([0, 100], [1, 1]), ([0, 100], [0, 100])])
    assert np.allclose(two.mean, [[1, 1], [5, 20]]) and np.allclose(two.weight, [10, 20])


def test_blood(tmp_path):
    path = tmp_path / "blood.tsv"
    path.write_text("time\tplasma_radioactivity\twhole_blood_radioactivity\n0\t0\t0\n10\t4\t3\n20\tn/a\t2\n30\t1\t1")
    found = isotome.blood(path, unit="kBq/mL", delay_s=5)
    assert list(found.plasma.time_s) == [5, 15, 35] and list(found.plasma.value) == [0, 4000, 1000]
    assert len(found.whole.time_s) == 4 and "metabolite" in found.warning
    with pytest.raises(isotome.InputError):
        isotome.blood(path)


def test_refusals():
    b = isotome.basis("patlak", CURVE, EDGES)
    for wrong in ("patlac", "spectral"):
        with pytest.raises(isotome.ArgumentError):
            isotome.basis(wrong, CURVE, EDGES)
    with pytest.raises(isotome.ArgumentError):
        isotome.basis("patlak", None, EDGES)
    with pytest.raises(isotome.ArgumentError):
        isotome.basis("patlak", 5, EDGES)
    with pytest.raises(isotome.ArgumentError):
        isotome.fit_frames(np.ones((5, 4)), b)
    with pytest.raises(isotome.ArgumentError):
        isotome.fit_frames(np.ones((6, 4)), "patlak")
    with pytest.raises(isotome.ArgumentError):
        b.map("K1", np.ones((2, 3)))


def test_from_events(tmp_path):
    (tmp_path / "ring.yaml").write_text(
        "kind: cylinder\nradius_mm: 120\nrings: 4\nring_pitch_mm: 18\ncrystals_per_ring: 72\nmin_crystal_distance: 18\n"
    )
    ring = isotome.Scanner(tmp_path / "ring.yaml")
    grid = isotome.Grid((8, 8, 4), (15, 15, 15))
    e = isotome.simulate(isotome.Image(np.ones((4, 8, 8), np.float32), grid), ring, counts=3000, duration_s=60, seed=1)
    p = isotome.ray(e, scanner=ring, grid=grid, sens="none", iterations=2, frames="0:10:60", kinetics="bspline:0/60")
    assert p.reconstruct().shape == (4, 4, 8, 8)
