# SPDX-License-Identifier: BSD-3-Clause
"""Scanners: what their descriptions say, and the use of a Scanner in place of its file."""

import gc

import numpy as np
import pytest
from conftest import SCANNERS
from made import panels, ring

import isotome


@pytest.mark.parametrize(
    "name, kind, crystals",
    [
        ("small-animal", "cylinder", 80 * 240),
        ("bialas2015", "strips", 0),
        ("meng2019", "panels", 2 * 26 * 52),
        ("optoacoustic-small", "transducers", 0),
    ],
)
def test_kinds(name, kind, crystals):
    s = isotome.Scanner(SCANNERS / f"{name}.yaml")
    assert (s.kind, s.crystals) == (kind, crystals)
    assert s.positions.shape == (crystals, 3) and s.positions.dtype == np.float64
    assert (s.strips is None, s.panels is None, s.transducers is None) == tuple(
        kind != k for k in ("strips", "panels", "transducers")
    )
    assert repr(s).startswith(f"<isotome.Scanner {s.name}: {kind}") and "\n" not in repr(s)


def test_crystals_on_a_cylinder(tmp_path):
    s = isotome.Scanner(ring(tmp_path))
    assert s.name == "small ring" and s.crystals == 12 * 96
    assert (s.tof_fwhm_ps, s.tof_bin_ps, s.coincidence_ns) == (200, 0, 1)
    assert s.crystal_mm == (3.5, 3.5, 10)
    assert np.allclose(np.hypot(*s.positions.T[:2]), 60)
    z = np.unique(np.round(s.positions[:, 2], 6))
    assert np.allclose(z, 4 * (np.arange(12) - 5.5))
    with pytest.raises(ValueError):
        s.positions[0] = 0


def test_pairs_are_far_enough_apart_on_the_rings(tmp_path):
    s = isotome.Scanner(ring(tmp_path))
    places = np.random.default_rng(0).integers(0, s.pairs, 500)
    a, b = np.array([s.pair(i) for i in [0, s.pairs - 1, *places]]).T
    assert (a != b).all() and min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) < s.crystals
    steps = abs(a % 96 - b % 96)
    assert np.minimum(steps, 96 - steps).min() >= 20
    within = 96 * (96 - 2 * 20 + 1) // 2  # partners of a crystal that lie far enough, on one ring
    assert s.pairs == within * 12 * 12


def test_nearest_is_the_least_distance(tmp_path):
    s = isotome.Scanner(ring(tmp_path))
    for p in np.random.default_rng(1).uniform(-70, 70, (20, 3)):
        crystal, distance = s.nearest(p)
        away = np.linalg.norm(s.positions - p, axis=1)
        assert distance == pytest.approx(away[crystal])
        assert distance <= away.min() + 1.5  # the cylinder's rule goes by angle and ring
    assert s.nearest(s.positions[77]) == (77, 0)
    assert s.pair_weight(s.positions[0], s.positions[48]) == 1


def test_panels_and_their_grid(tmp_path):
    s = isotome.Scanner(panels(tmp_path))
    p = s.panels
    assert p.crystals == (6, 8) and p.crystal == (1.9, 1.9, 10) and p.window == (250, 750)
    assert p.readout == "head" and p.formula == "Lu1.8Y0.2SiO5" and p.coincidence == 10
    assert s.grid == isotome.Grid((12, 6, 16), (1, 1, 1), (0, 0, 0))
    field = isotome.Scanner(ring(tmp_path)).grid  # 9 tenths of 120 mm across; 12 rings of 4 mm
    assert field.voxel == (2, 2, 2) and field.centre == (0, 0, 0) and field.n[2] == 23 and 45 <= field.n[0] <= 54


def test_strips():
    strips = isotome.Scanner(SCANNERS / "bialas2015.yaml").strips
    assert strips.radius > 0 and strips.length > 0 and strips.sigma_z > 0


def test_transducers_outlive_their_scanner():
    t = isotome.Scanner(SCANNERS / "optoacoustic-small.yaml").transducers
    gc.collect()
    assert t.shape == (384, 256) and t.rings and t.dt_us == pytest.approx(0.2) and t.gamma == 2000
    assert np.allclose(np.linalg.norm(t.positions, axis=1), 65) and t.radius == pytest.approx(65)
    assert np.allclose(t.normals, -t.positions / 65)
    assert t.area.sum() == pytest.approx(4 * np.pi * 65**2, rel=0.01)


def test_speed_of_sound_in_water():
    assert isotome.water_speed(20) == pytest.approx(1.4823, abs=1e-3)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_a_scanner_stands_for_its_file(tmp_path, context, monkeypatch):
    path = ring(tmp_path)
    monkeypatch.chdir(tmp_path)
    how = {"grid": (6, 6, 6), "voxel": 8, "context": context}
    s = isotome.Scanner(path.name)  # relative: found from another folder all the same
    monkeypatch.chdir("/")
    assert np.array_equal(
        isotome.ray(scanner=s, **how).sensitivity(), isotome.ray(scanner=path, **how).sensitivity()
    )


def test_wrong_descriptions_and_arguments(tmp_path):
    with pytest.raises(isotome.InputError, match="none.yaml"):
        isotome.Scanner(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("kind: cube\n")
    with pytest.raises(isotome.InputError, match="cube"):
        isotome.Scanner(tmp_path / "bad.yaml")
    for wrong in (3, None, np.ones(3)):
        with pytest.raises(isotome.ArgumentError):
            isotome.Scanner(wrong)
    with pytest.raises(isotome.ArgumentError, match="zeros"):
        isotome.Scanner("a\0b")
    s = isotome.Scanner(ring(tmp_path))
    for i in (-1, s.pairs, 2**70, 1.5, "0"):
        with pytest.raises(isotome.ArgumentError, match="wanted an integer from 0"):
            s.pair(i)
    for p in ((1, 2), "abc", None, (1, 2, "x"), (np.nan, 0, 0), (np.inf, 0, 0)):
        with pytest.raises(isotome.ArgumentError):
            s.nearest(p)
    with pytest.raises(isotome.ArgumentError, match="has no crystals"):
        isotome.Scanner(SCANNERS / "bialas2015.yaml").nearest((0, 0, 0))


@pytest.mark.parametrize("celsius", [-0.1, 95.1, float("nan"), "warm", None, True])
def test_the_speed_of_sound_is_that_of_water(celsius):
    with pytest.raises(isotome.ArgumentError, match="celsius: given .*, wanted a number from 0 to 95"):
        isotome.water_speed(celsius)
    assert isotome.water_speed(np.float32(20)) == isotome.water_speed(20)
