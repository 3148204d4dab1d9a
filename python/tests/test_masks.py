# SPDX-License-Identifier: BSD-3-Clause
"""Masked arrays of NumPy: what a mask hides is never taken for a value, wherever arrays go in."""

import numpy as np
import pytest
from conftest import SCANNERS, make_lines

import isotome
from isotome import Events, Grid, Image

GRID = Grid((5, 4, 3), (2.0, 2.0, 2.0))
WORDS = r"1 of \d+ values are masked, wanted one without a mask: \.filled\(0\)"


def hide_one(values):
    """The same values, the last of which is masked."""
    mask = np.zeros(np.shape(values), bool)
    mask.flat[-1] = True
    return np.ma.array(values, mask=mask)


def values(n=None):
    return np.ones(n or GRID.shape, np.float32)


def ray_problem(**more):
    return isotome.ray(make_lines(50), grid=(5, 4, 3), voxel=2, sens="none", **more)


# what is called with a path to write to, and the array that goes in
ENTRIES = {
    "image": lambda path, wrap: Image(wrap(values()), GRID),
    "write": lambda path, wrap: isotome.write(path / "x.npy", wrap(values())),
    "write, of doubles": lambda path, wrap: isotome.write(path / "x.npy", wrap(values().astype(float))),
    "lines": lambda path, wrap: isotome.write_events(path / "e.lmdT", wrap(make_lines(9))),
    "times of events": lambda path, wrap: isotome.write_events(
        path / "e.npy", Events(make_lines(9), time_ms=wrap(np.arange(9, dtype=np.uint32)))
    ),
    "some of the events": lambda path, wrap: Events(make_lines(9))[wrap(np.arange(9) > 3)],
    "events of a problem": lambda path, wrap: isotome.ray(wrap(make_lines(9)), grid=4, voxel=2).reconstruct(),
    "strip events": lambda path, wrap: isotome.write_strip_events(path / "e.f32", wrap(values((9, 3)))),
    "strip problem": lambda path, wrap: isotome.strip(
        wrap(values((9, 3))), scanner=SCANNERS / "bialas2015.yaml"
    ).reconstruct(),
    "sensitivity": lambda path, wrap: isotome.ray(
        make_lines(9), grid=(5, 4, 3), voxel=2, sens=wrap(values())
    ).reconstruct(),
    "numbers": lambda path, wrap: ray_problem(centre=wrap(np.zeros(3))),
    "forward": lambda path, wrap: ray_problem().operator()(wrap(values())),
    "adjoint": lambda path, wrap: ray_problem().operator().adjoint(wrap(values(50))),
    "step of EM": lambda path, wrap: ray_problem().operator().em_step(values(), wrap(values(50))),
    "diagonal": lambda path, wrap: isotome.Diagonal(wrap(values())),
    "em": lambda path, wrap: isotome.em(ray_problem().operator(), wrap(values(50)), iterations=1).image,
    "filter": lambda path, wrap: isotome.filter(Image(wrap(values()), GRID), "gaussian:3"),
    "measure": lambda path, wrap: isotome.measure.rmse(wrap(values()), values()),
    "picture": lambda path, wrap: isotome.picture(wrap(values())),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_masked_values_are_refused(tmp_path, entry):
    with pytest.raises(isotome.ArgumentError, match=WORDS):
        ENTRIES[entry](tmp_path, hide_one)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_mask_that_hides_nothing_is_none(tmp_path, entry):
    plain = ENTRIES[entry](tmp_path, lambda v: v)
    for file in tmp_path.iterdir():
        file.unlink()
    masked = ENTRIES[entry](tmp_path, np.ma.array)
    if isinstance(plain, np.ndarray):
        assert np.array_equal(np.asarray(masked), np.asarray(plain))


def test_a_list_of_masked_arrays(tmp_path):
    with pytest.raises(isotome.ArgumentError, match="1 values are masked"):
        isotome.write(tmp_path / "x.npy", [values(3), hide_one(values(3))])


def test_it_says_what_to_do(tmp_path):
    hidden = hide_one(values())
    isotome.write(tmp_path / "x.npy", hidden.filled(0))
    assert isotome.read(tmp_path / "x.npy").sum() == values().sum() - 1
