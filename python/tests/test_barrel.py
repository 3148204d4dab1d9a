# SPDX-License-Identifier: BSD-3-Clause
"""Events of a barrel of strips from an array: a source in the middle, and what is refused."""

import numpy as np
import pytest

import isotome

BARREL = """kind: barrel
strips:
  - {modules: 8, strips: 2, pitch_mm: 7, radius_mm: 120, width_mm: 6, depth_mm: 20, length_mm: 200}
time: {end_sigma_ps: 60, light_speed_mm_per_ps: 0.126}
"""


@pytest.fixture
def scanner(tmp_path):
    path = tmp_path / "barrel.yaml"
    path.write_text(BARREL)
    return str(path)


def events(n=200):
    """Hits of a source in the middle, in strips that face each other."""
    a = np.arange(n) % 8
    b = (a + 8) % 16
    z = np.linspace(-40, 40, n)
    return np.column_stack([a, b, z, -z, np.zeros(n)]).astype("f4")


def test_kind(scanner):
    s = isotome.Scanner(scanner)
    assert s.kind == "barrel" and s.crystals == 0
    assert s.grid is not None and s.grid.n[2] * s.grid.voxel[2] >= 200


def test_events_in_memory(scanner):
    p = isotome.barrel(events(), scanner=scanner, grid=(9, 9, 9), voxel=(8, 8, 8), method="direct")
    image = np.asarray(p.reconstruct())
    assert image.sum() == 200
    assert image[3:6, 3:6, 3:6].sum() > 150


def test_refused(scanner):
    with pytest.raises(isotome.InputError, match="strips that the scanner does not have"):
        isotome.barrel(events() + [100, 100, 0, 0, 0], scanner=scanner, grid=9, voxel=8, method="direct").reconstruct()
    with pytest.raises(isotome.InputError, match=r"\(n, 5\)"):
        isotome.barrel(events()[:, :4], scanner=scanner, grid=9, voxel=8, method="direct").reconstruct()
