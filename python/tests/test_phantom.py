# SPDX-License-Identifier: BSD-3-Clause
"""Phantoms: volumes, grids, and the images of the program."""

import numpy as np
import pytest
from made import program

import isotome

SHAPES = """
shapes:
  - {type: sphere, centre_mm: [4, -6, 2], radius_mm: 10, activity: 3, mu_per_mm: 0.01}
"""


@pytest.fixture
def sphere(tmp_path):
    path = tmp_path / "sphere.yaml"
    path.write_text(SHAPES)
    return path


def test_names():
    names = isotome.phantom_names()
    assert {"spheres", "derenzo", "point", "ellipses", "nine-spheres"} <= set(names)


def test_a_sphere_has_its_volume_and_centre(sphere, context):
    g = isotome.Grid((20, 24, 28), (2.0, 2.0, 1.5), (0.0, 0.0, 0.0))
    x, mu = isotome.phantom(sphere, g.n, g.voxel, g.centre, mu=True, context=context)
    assert isinstance(x, isotome.Image) and x.dtype == np.float32 and mu.unit == "1/mm"
    assert x.shape == (28, 24, 20) and x.grid == mu.grid == g
    volume = 4 / 3 * np.pi * 10**3
    assert x.sum(dtype=float) * 2 * 2 * 1.5 == pytest.approx(3 * volume, rel=5e-3)
    assert mu.sum(dtype=float) * 2 * 2 * 1.5 == pytest.approx(0.01 * volume, rel=5e-3)
    z, y, xs = np.indices(x.shape)
    centre = [np.average(i, weights=x) for i in (xs, y, z)]
    want = [(n - 1) / 2 + at / mm for n, at, mm in zip((20, 24, 28), (4, -6, 2), (2, 2, 1.5))]
    assert np.allclose(centre, want, atol=0.05)


def test_more_samples_come_nearer(sphere, context):
    errors = []
    for samples in (1, 8):
        x = isotome.phantom(sphere, grid=16, voxel=3, samples=samples, context=context)
        errors.append(abs(x.sum(dtype=float) * 27 - 4000 * np.pi))
    assert errors[1] < errors[0] / 3


def test_what_is_not_said_follows_from_the_extent(context):
    own = isotome.phantom("spheres", context=context).grid
    extent = np.multiply(own.n, own.voxel)
    g = isotome.phantom("spheres", grid=20, context=context).grid
    assert g.n == (20, 20, 20) and np.allclose(np.multiply(g.n, g.voxel), extent)
    g = isotome.phantom("spheres", voxel=16, context=context).grid
    assert g.n == tuple(np.ceil(extent / 16 - 1e-6).astype(int))
    where = isotome.Grid((8, 9, 10), (20.0, 21.0, 22.0), (1.0, 2.0, 3.0))
    assert isotome.phantom("spheres", where, context=context).grid == where
    assert isotome.phantom("spheres", grid=8, centre=(1, 2, 3), context=context).grid.centre == (1, 2, 3)


def test_a_point_lies_where_it_was_put(context):
    x = isotome.phantom("point", grid=11, voxel=2, centre=(0, 0, 0), at=(4, -2, 6), context=context)
    assert np.argwhere(x > 0).tolist() == [[8, 4, 7]]


def test_images_are_those_of_the_program(tmp_path, context):
    program("phantom", "spheres", "--voxel", "9,8,7", "-o", "x.npy", "--mu", "mu.npy", folder=tmp_path)
    x, mu = isotome.phantom("spheres", voxel=(9, 8, 7), mu=True, context=context)
    assert np.array_equal(np.load(tmp_path / "x.npy"), x)
    assert np.array_equal(np.load(tmp_path / "mu.npy"), mu)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("spheers",), "spheres"),
        ((3,), "phantom: given int"),
        (("spheres", (4, 4)), "grid: given"),
        (("spheres", 0), "grid"),
        (("spheres", -3), "grid"),
        (("spheres", 2.5), "grid: given 2.5, wanted three integers"),
        (("spheres", "many"), "grid"),
        (("spheres", None, 0), None),
        (("spheres", None, np.nan), None),
        (("spheres", None, -1), None),
        (("spheres", 4, 2, (1, 2)), "centre"),
        (("spheres", 4, 2, (1, 2, np.inf)), None),
        (("spheres", isotome.Grid((4, 4, 4), (1, 1, 1), (0, 0, 0)), 2), "a Grid and voxel"),
        (("spheres", isotome.Grid((4, 4), (1, 1, 1), (0, 0, 0))), "grid"),
        (("spheres", 4, 2, None, False, (0, 0)), "at"),
        (("spheres", 4, 2, None, False, (0, 0, 0), 0), "samples"),
        (("spheres", 4, 2, None, False, (0, 0, 0), 65), "samples"),
    ],
)
def test_wrong_arguments(arguments, message, context):
    with pytest.raises(isotome.IsotomeError, match=message):
        isotome.phantom(*arguments, context=context)


def test_what_does_not_fit_is_refused(context):
    with pytest.raises(isotome.IsotomeError, match="image"):
        isotome.phantom("spheres", grid=200_000, voxel=1, context=context)
    with pytest.raises(isotome.IsotomeError):
        isotome.phantom("spheres", grid=2**62, voxel=1, context=context)
