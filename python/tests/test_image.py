# SPDX-License-Identifier: BSD-3-Clause
"""Images: the grid and the unit that go along with arrays, and where they must not."""

import copy
import pickle

import numpy as np
import pytest
from conftest import BOX

import isotome
from isotome import Grid, Image

GRID = Grid((5, 4, 3), (1.0, 2.0, 4.0), (10.0, 20.0, 30.0))
CUBE = Grid((4, 4, 4), (1.0, 2.0, 4.0))


def make(grid=GRID, unit="Bq/mL", leading=()):
    shape = (*leading, *grid.shape)
    return Image(np.arange(np.prod(shape), dtype=np.float32).reshape(shape), grid, unit)


def place(image, z, y, x):
    """The centre of a voxel, mm."""
    g = image.grid
    return [g.centre[a] + (i - (g.n[a] - 1) / 2) * g.voxel[a] for a, i in enumerate((x, y, z))]


def test_shows_the_values_themselves():
    values = np.zeros(GRID.shape, np.float32)
    image = Image(values, GRID)
    values[1, 2, 3] = 7
    assert image[1, 2, 3] == 7 and np.shares_memory(image, values)
    assert type(np.asarray(image)) is np.ndarray and np.shares_memory(np.asarray(image), values)


def test_arithmetic_keeps_the_grid_and_drops_the_unit():
    image = make()
    for result in (2 * image, image - image, np.sqrt(image), image > 3, np.asarray(image) / image.clip(1)):
        assert type(result) is Image and result.grid == GRID and result.unit == ""
    image += 1
    assert image.grid == GRID and image.unit == "Bq/mL"
    assert np.array_equal(np.asarray(2 * image), 2 * np.asarray(image))


def test_images_on_two_grids_have_none():
    other = make(GRID._replace(centre=(0.0, 0.0, 0.0)))
    assert (make() + other).grid is None
    assert (make() + np.asarray(other)).grid == GRID
    assert (np.asarray(other) + make()).grid == GRID


def test_copies_keep_both():
    image = make()
    for same in (
        image.copy(),
        image.astype(np.float64),
        copy.copy(image),
        copy.deepcopy(image),
        image[...],
        image[:],
        image.view(),
        np.zeros_like(image),
        *(pickle.loads(pickle.dumps(image, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)),
    ):
        assert type(same) is Image and same.grid == GRID and same.unit == "Bq/mL"
    assert np.array_equal(pickle.loads(pickle.dumps(image)), image)
    assert pickle.loads(pickle.dumps(image.T)).grid is None


@pytest.mark.parametrize(
    "index, first",
    [
        (np.s_[1:], (1, 0, 0)),
        (np.s_[1:2, 2:, -3:-1], (1, 2, 2)),
        (np.s_[..., 1:3], (0, 0, 1)),
        (np.s_[:, 1:], (0, 1, 0)),
        (np.s_[:2, ..., 4:], (0, 0, 4)),
    ],
)
def test_crops_lie_where_they_were_cut_out(index, first):
    image = make()
    crop = image[index]
    assert crop.grid.shape == crop.shape and crop.grid.voxel == GRID.voxel and crop.unit == image.unit
    assert np.allclose(place(crop, 0, 0, 0), place(image, *first))
    assert crop[0, 0, 0] == image[first]


def test_frames_lie_where_the_series_does():
    series = make(leading=(6,))
    assert series.grid == GRID
    for part in (series[2], series[1:3], series[::-1], series[-1, ...]):
        assert part.grid == GRID
    assert np.allclose(place(series[4, 1:], 0, 0, 0), place(series, 1, 0, 0))


@pytest.mark.parametrize(
    "turned",
    [
        lambda x: x.T,
        lambda x: x.transpose(0, 2, 1),
        lambda x: np.swapaxes(x, 0, 1),
        lambda x: np.moveaxis(x, 0, 2),
        lambda x: x[::-1],
        lambda x: x[:, ::2],
        lambda x: np.flip(x, 2),
        lambda x: np.rot90(x),
        lambda x: x[[3, 2, 1, 0]],
        lambda x: x[:, np.array([0, 2, 1, 3])],
        lambda x: x[None],
        lambda x: x[True],
        lambda x: x[0],
        lambda x: x[:, 0],
        lambda x: x[0:0],
        lambda x: x[x > 3],
        lambda x: x.ravel(),
        lambda x: x.reshape(2, 2, 4, 4),
        lambda x: x.sum(axis=0),
        lambda x: x.max(axis=1),
        lambda x: np.stack([x, x]),
    ],
)
def test_what_turns_or_thins_out_axes_has_no_grid(turned):
    result = turned(make(CUBE))
    assert getattr(result, "grid", None) is None
    assert getattr(np.copy(result, subok=True), "grid", None) is None


def test_frames_and_slices_of_one_number_are_not_confused():
    series = make(CUBE, leading=(4,))
    for wrong in (series[:, 0], series.sum(axis=1), series.swapaxes(0, 1), series[..., 0]):
        assert wrong.grid is None


def test_sums_are_numbers():
    image = make()
    assert isinstance(image.sum(), np.float32) and isinstance(image.max(), np.float32)
    assert isinstance(image.mean(dtype=np.float64), np.float64) and isinstance(image[1, 2, 3], np.float32)
    assert image.std() > 0 and not isinstance(image.sum(), np.ndarray)


@pytest.mark.parametrize(
    "grid, message",
    [
        (CUBE, r"given one of shape \(4, 4, 4\) for values of shape \(3, 4, 5\)"),
        ("grid", "given str, wanted isotome.Grid"),
        ((5, 4, 3), "given tuple, wanted isotome.Grid"),
        (Grid((5, 4, 3), (0.0, 1.0, 1.0)), "voxel"),
        (Grid((5, 4, 3), (np.nan, 1.0, 1.0)), "voxel"),
        (Grid((5, 4, 3), 2), "wanted three"),
        (Grid((5, 4), (1.0, 1.0, 1.0)), "three"),
        (Grid((5.5, 4, 3), (1.0, 1.0, 1.0)), "three"),
        (Grid((5, 4, 3), ("a", 1.0, 1.0)), "three"),
        (Grid((5, 4, 2**70), (1.0, 1.0, 1.0)), "[Gg]rid|three"),
        (Grid((5, 4, -3), (1.0, 1.0, 1.0)), "at least 1|size"),
    ],
)
def test_wrong_grids_are_refused(grid, message):
    with pytest.raises(isotome.ArgumentError, match=message):
        Image(np.zeros((3, 4, 5), np.float32), grid)
    image = Image(np.zeros((3, 4, 5), np.float32))
    with pytest.raises(isotome.ArgumentError):
        image.grid = grid
    assert image.grid is None


def test_a_shape_that_is_changed_in_place_loses_the_grid():
    image = make()
    image.shape = (60,)
    assert image.grid is None


# ---- from the library ----


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_results_of_a_problem_are_images(problem, image):
    x = problem.reconstruct()
    assert type(x) is Image and x.grid == problem.grid and x.unit
    assert type(problem.backproject(np.ones(2000, np.float32))) is Image
    assert type(problem.project(image)) is np.ndarray
    assert problem.operator()(x).shape == (2000,)


def test_sensitivity_is_an_image_whose_grid_is_checked(context, lines):
    right = Image(np.full((8, 12, 16), 2, np.float32), Grid(BOX["grid"], (4.0,) * 3))
    isotome.ray(lines, context=context, sens=right, iterations=1, **BOX).reconstruct()
    wrong = Image(np.asarray(right), Grid(BOX["grid"], (5.0,) * 3))
    p = isotome.ray(lines, context=context, sens=wrong, iterations=1, **BOX)
    with pytest.raises(isotome.InputError, match="5 x 5 x 5 mm"):
        p.reconstruct()


def test_memory_of_the_library_lives_as_long_as_a_view(problem):
    part = problem.backproject(np.ones(2000, np.float32))[2:4]
    problem.free()
    before = np.array(part)
    junk = [np.random.default_rng(i).random(100000) for i in range(20)]
    assert np.array_equal(before, part) and len(junk) == 20


# ---- other programs ----


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz", ".hv", ".npy", ".raw"])
def test_save(tmp_path, suffix):
    image, file = make(), tmp_path / f"x{suffix}"
    image.save(file)
    again = isotome.read(file)
    assert np.array_equal(again, image) and again.grid == (None if suffix == ".npy" else GRID)
    with pytest.raises(isotome.ArgumentError, match="exists"):
        image.save(file)
    (image + 1).save(file, force=True)
    assert np.array_equal(isotome.read(file), image + 1)
    with pytest.raises(isotome.ArgumentError, match="x.jpg"):
        image.save(tmp_path / "x.jpg")
    with pytest.raises(isotome.ArgumentError, match="without a grid"):
        Image(np.ones((2, 3, 4), np.float32)).save(tmp_path / "y.nii")


def test_affine():
    image = make()
    for z, y, x in ((0, 0, 0), (2, 3, 4), (1, 0, 3)):
        assert np.allclose((image.affine @ (x, y, z, 1))[:3], place(image, z, y, x))
    assert image.affine.shape == (4, 4) and image.affine.dtype == np.float64
    assert np.allclose(image[1:, :, 2:].affine @ (0, 0, 0, 1), image.affine @ (2, 0, 1, 1))
    with pytest.raises(isotome.ArgumentError, match="without a grid, wanted image.grid = isotome.Grid"):
        image.T.affine


@pytest.mark.parametrize("leading", [(), (6,)])
@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, bool])
def test_to_nibabel(tmp_path, leading, kind):
    nibabel = pytest.importorskip("nibabel")
    image = make(leading=leading).astype(kind)
    image.unit = "Bq/mL"
    nifti = image.to_nibabel()
    assert np.array_equal(np.asanyarray(nifti.dataobj).T, image) and np.array_equal(nifti.affine, image.affine)
    assert kind is bool or np.shares_memory(nifti.dataobj, image)
    nibabel.save(nifti, tmp_path / "of-nibabel.nii")
    image.save(tmp_path / "own.nii")
    theirs, own = (nibabel.load(tmp_path / name) for name in ("of-nibabel.nii", "own.nii"))
    assert np.array_equal(theirs.affine, own.affine) and np.array_equal(theirs.get_fdata(), own.get_fdata())
    for key in ("sform_code", "qform_code", "xyzt_units"):
        assert theirs.header[key] == own.header[key]
    again = isotome.read(tmp_path / "of-nibabel.nii")
    assert again.grid == GRID and np.array_equal(again, image)


def test_to_nibabel_says_what_it_lacks(monkeypatch):
    with pytest.raises(isotome.ArgumentError, match="wanted 3, or 4"):
        make(leading=(2, 2)).to_nibabel()
    monkeypatch.setitem(__import__("sys").modules, "nibabel", None)
    with pytest.raises(ImportError, match="pip install nibabel"):
        make().to_nibabel()
