# SPDX-License-Identifier: BSD-3-Clause
"""isotome.sirf: images and projections there and back by Interfile; with STIR's own reader where it is installed."""

import types

import numpy as np
import pytest
from conftest import samples

import isotome

SAMPLES = samples("interfile")
LIKE = SAMPLES / "cylinder.hs"
GRID = isotome.Grid((5, 4, 3), (2.0, 2.0, 3.0), (0.0, 0.0, 0.0))


@pytest.fixture
def values():
    n = len(isotome.read_events(LIKE, bins="counts"))
    return np.random.default_rng(1).gamma(2, 3, n).astype(np.float32)


@pytest.fixture
def image():
    return isotome.Image(np.random.default_rng(2).random(GRID.shape, dtype=np.float32), GRID)


def test_projections_there_and_back(values, tmp_path):
    path = tmp_path / "y.hs"
    isotome.sirf.write_projections(path, values, LIKE)
    back = isotome.read_events(path, bins="counts")
    like = isotome.read_events(LIKE, bins="counts")
    assert np.array_equal(back.count, values) and np.array_equal(back.lines, like.lines)
    again = tmp_path / "again.hs"
    isotome.sirf.write_projections(again, back.count, path)
    assert again.with_suffix(".s").read_bytes() == path.with_suffix(".s").read_bytes()
    with pytest.raises(isotome.ArgumentError, match="exists already"):
        isotome.sirf.write_projections(path, values, LIKE)
    isotome.sirf.write_projections(path, 2 * values, LIKE, force=True)
    assert np.array_equal(isotome.read_events(path, bins="counts").count, 2 * values)


def test_what_is_refused(values, tmp_path):
    with pytest.raises(isotome.ArgumentError, match="values: given 3, wanted the"):
        isotome.sirf.write_projections(tmp_path / "y.hs", values[:3], LIKE)
    with pytest.raises(isotome.ArgumentError, match="ends in .hs"):
        isotome.sirf.write_projections(tmp_path / "y.s", values, LIKE)
    assert list(tmp_path.iterdir()) == []


class Kept:
    """What SIRF's containers do here: they read a file, and write it again."""

    def __init__(self, path):
        self.read = isotome.read(path) if path.endswith(".hv") else isotome.read_events(path, bins="counts")

    def clone(self):
        return self

    def write(self, path):
        isotome.write(path, self.read)


def test_containers_of_sirf(values, image):
    stir = types.SimpleNamespace(ImageData=Kept, AcquisitionData=Kept)
    there = isotome.sirf.image_data(image, stir)
    back = isotome.sirf.image(there)
    assert np.array_equal(back, image) and back.grid == GRID
    assert np.array_equal(isotome.sirf.acquisition_data(values, LIKE, stir).read.count, values)


def test_stir_reads_what_is_written(values, image, tmp_path):
    stir = pytest.importorskip("stir", reason="STIR is not installed: its reader did not see what isotome.sirf writes")
    if not hasattr(stir, "ProjData"):
        pytest.skip("this stir is not STIR: its reader did not see what isotome.sirf writes")
    isotome.sirf.write_projections(tmp_path / "y.hs", values, LIKE)
    projections = stir.ProjData.read_from_file(str(tmp_path / "y.hs"))
    assert stir.stirextra.to_numpy(projections).sum() == pytest.approx(values.sum(dtype=float), rel=1e-5)
    isotome.write(tmp_path / "x.hv", image)
    read = stir.FloatVoxelsOnCartesianGrid.read_from_file(str(tmp_path / "x.hv"))
    assert np.array_equal(stir.stirextra.to_numpy(read), image)
