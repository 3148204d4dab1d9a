# SPDX-License-Identifier: BSD-3-Clause
"""Attenuation from a CT: as the program makes it, on a grid, and what is refused."""

import warnings

import numpy as np
import pytest
from conftest import samples

import isotome
from isotome import Grid, Image

CT = samples("dicom")


def mu(hu):
    """Carney et al. 2006 at 120 kVp."""
    return np.where(hu < 47, np.maximum(0, 9.6e-6 * (hu + 1000.0)), 5.10e-6 * (hu + 1000.0) + 4.71e-3)


def test_a_series_on_its_own_grid():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = isotome.mu(CT)
    assert type(found) is Image and found.unit == "1/mm" and found.dtype == np.float32
    assert found.grid.n == (10, 12, 6) and np.allclose(found.grid.voxel, (4, 3, 5))
    assert np.allclose(found, mu(np.load(CT / "hu_ras.npy")), atol=1e-8)
    assert np.array_equal(isotome.mu(str(CT / "CT02.dcm"), context=isotome.Context("cpu", threads=1)), found)


def test_a_grid_an_image_and_a_shift():
    whole = isotome.mu(CT)
    part = Grid((6, 6, 3), whole.grid.voxel, tuple(np.add(whole.grid.centre, (8.0, 6.0, -5.0))))
    shifted = isotome.mu(CT, part, shift=(8, 6, -5))
    lies_there = isotome.mu(CT, Image(np.zeros(part.shape, np.float32), part), shift=(8, 6, -5))
    assert shifted.grid == part and np.array_equal(shifted, lies_there)
    centre = Grid(part.n, part.voxel, tuple(np.subtract(part.centre, (8.0, 6.0, -5.0))))
    assert np.allclose(shifted, isotome.mu(CT, centre), atol=1e-9)


def test_smoothing_keeps_the_sum_of_what_lies_within():
    whole = isotome.mu(CT)
    with pytest.warns(isotome.IsotomeWarning, match="of the grid lies outside"):
        wide = isotome.mu(CT, Grid((20, 24, 12), whole.grid.voxel, whole.grid.centre))
    assert np.allclose(wide[3:9, 6:18, 5:15], whole, atol=1e-9) and wide[0].max() == 0
    soft = isotome.mu(CT, smooth=8)
    assert soft.max() < whole.max() and 0.8 < soft.sum() / whole.sum() < 1.25


def test_the_voltage():
    assert isotome.mu(CT, kvp=80).max() == pytest.approx(3.64e-6 * 2000 + 6.26e-3, rel=1e-6)
    with pytest.raises(isotome.ArgumentError, match="70 kVp, known are 80 to 140"):
        isotome.mu(CT, kvp=70)


def test_an_image_that_says_no_voltage_and_is_no_ct(tmp_path):
    grid = Grid((4, 4, 4), (2.0, 2.0, 2.0))
    isotome.write(tmp_path / "x.nii", Image(np.full(grid.shape, 40, np.float32), grid))
    with pytest.raises(isotome.InputError, match="says no tube voltage"):
        isotome.mu(tmp_path / "x.nii")
    with pytest.warns(isotome.IsotomeWarning, match="the least value is 40"):
        isotome.mu(tmp_path / "x.nii", kvp=120)
    isotome.write(tmp_path / "y.nii", Image(np.linspace(-1000, 3000, 64, dtype=np.float32).reshape(4, 4, 4), grid))
    with pytest.warns(isotome.IsotomeWarning, match="above 2000 HU, up to 3000"):
        isotome.mu(tmp_path / "y.nii", kvp=120)


def test_refused(tmp_path):
    with pytest.raises(isotome.InputError, match="no CT in this folder"):
        isotome.mu(tmp_path)
    with pytest.raises(isotome.ArgumentError, match="lies outside of"):
        isotome.mu(CT, Grid((2, 2, 2), (1.0, 1.0, 1.0), (900.0, 0.0, 0.0)))
    with pytest.raises(isotome.ArgumentError, match="grid: given an Image that has none"):
        isotome.mu(CT, Image(np.zeros((2, 2, 2), np.float32)))
    with pytest.raises(isotome.ArgumentError, match="grid: given int"):
        isotome.mu(CT, 7)
    with pytest.raises(isotome.ArgumentError, match="smooth"):
        isotome.mu(CT, smooth=-1)
    with pytest.raises(isotome.ArgumentError, match="shift"):
        isotome.mu(CT, shift=3)
    with pytest.raises(isotome.ArgumentError, match="path"):
        isotome.mu(7)
