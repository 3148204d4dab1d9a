# SPDX-License-Identifier: BSD-3-Clause
"""Unmixing: known concentrations come back, with their errors; light, masks, and what is refused."""

import numpy as np
import pytest

import isotome
from isotome import Grid, Image

NM = [700, 730, 760, 800, 850]
GRID = Grid((5, 4, 1), (2, 2, 2), (0, 0, 0))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "spectra.csv"
    path.write_text("nm,HbO2,Hb\n700,1,6\n730,1.3,4\n760,2,5\n800,3,2.5\n850,4,2.4\n")
    return path


def mixed():
    c = np.random.default_rng(3).uniform(0.5, 2, (2, *GRID.shape))
    e = np.array([[1, 6], [1.3, 4], [2, 5], [3, 2.5], [4, 2.4]])
    return c, Image(np.einsum("ij,jzyx->izyx", e, c).astype(np.float32), GRID)


def test_concentrations_and_saturation(table, context):
    c, images = mixed()
    maps = isotome.unmix(images, NM, table, nonneg=True, context=context)
    assert list(maps) == ["HbO2", "Hb", "so2", "so2_sd", "thb", "residual"]
    assert np.allclose(maps["HbO2"], c[0], rtol=1e-5) and np.allclose(maps["Hb"], c[1], rtol=1e-5)
    assert np.allclose(maps["so2"], c[0] / c.sum(0), rtol=1e-5)
    assert maps["so2"].grid == GRID and np.all(maps["residual"] < 1e-5)


def test_light_weights_and_a_mask(table, context):
    c, images = mixed()
    light = np.random.default_rng(4).uniform(1, 2, images.shape).astype(np.float32)
    mask = np.ones(GRID.shape, bool)
    mask[0, 0, 0] = False
    maps = isotome.unmix(
        np.asarray(images) * light, NM, table, weights=[1, 2, 3, 4, 5], fluence=light, mask=mask, context=context
    )
    assert np.allclose(maps["Hb"][mask], c[1][mask], rtol=1e-4)
    assert maps["Hb"][0, 0, 0] == 0 and np.isnan(maps["so2"][0, 0, 0])
    same = isotome.unmix(np.asarray(images) * 4, NM, table, fluence=[4] * 5, context=context)
    assert np.allclose(same["Hb"], c[1], rtol=1e-5)


def test_what_is_known_and_what_is_refused(context):
    _, images = mixed()
    assert list(isotome.unmix(images, NM, "Hb,water", context=context)) == ["Hb", "water", "residual"]
    with pytest.raises(isotome.ArgumentError, match="chromophore 'ink' is not known"):
        isotome.unmix(images, NM, "ink", context=context)
    with pytest.raises(isotome.ArgumentError, match=r"wanted \(4, nz, ny, nx\)"):
        isotome.unmix(images, NM[1:], context=context)
    with pytest.raises(isotome.ArgumentError, match="weights: given 4 numbers"):
        isotome.unmix(images, NM, weights=[1] * 4, context=context)


def test_light_by_depth():
    grid = Grid((9, 9, 1), (0.5, 0.5, 0.5), (0, 0, 0))
    mask = np.zeros(grid.shape, bool)
    mask[0, 2:7, 2:7] = True
    light = isotome.fluence_depth(Image(mask.astype(np.float32), grid), NM)
    assert light.shape == (5, *grid.shape) and np.all(light[:, ~mask] == 1)
    assert np.all(light[:, 0, 4, 4] < light[:, 0, 2, 4]) and np.all(light > 0)
    m = -np.log(light[:, 0, 4, 4]) / 1.25  # three voxels to the outside, less half of one
    assert np.allclose(-np.log(light[:, 0, 2, 2]) / 0.25, m, rtol=1e-4)
    with pytest.raises(isotome.ArgumentError, match="saturation"):
        isotome.fluence_depth(Image(mask.astype(np.float32), grid), NM, so2=2)
    with pytest.raises(isotome.ArgumentError, match="grid"):
        isotome.fluence_depth(mask, NM)
