# SPDX-License-Identifier: BSD-3-Clause
"""Files of images and arrays: written here and read by others, and the other way round; damaged ones."""

import json
import os

import numpy as np
import pytest

import isotome
from isotome import Grid, Image

GRID = Grid((5, 4, 3), (1.5, 2.0, 4.0), (10.0, -20.0, 30.0))
IMAGES = (".nii", ".nii.gz", ".raw")


@pytest.fixture
def values():
    return np.random.default_rng(0).standard_normal(GRID.shape, dtype=np.float32)


@pytest.fixture
def image(values):
    return Image(values, GRID, "Bq/mL")


def close(a, b):
    return a.n == b.n and np.allclose(a.voxel + a.centre, b.voxel + b.centre, atol=1e-5)


@pytest.mark.parametrize("suffix", IMAGES)
def test_images_come_back(tmp_path, image, suffix):
    path = tmp_path / f"x{suffix}"
    isotome.write(path, image)
    back = isotome.read(path)
    assert type(back) is Image and np.array_equal(back, image)
    assert close(back.grid, GRID) and back.unit == "Bq/mL"
    assert back.flags.writeable and back.dtype == np.float32


@pytest.mark.parametrize("suffix", IMAGES)
def test_grid_and_unit_by_argument(tmp_path, values, suffix):
    isotome.write(tmp_path / f"x{suffix}", values, grid=GRID, unit="1/mm")
    back = isotome.read(tmp_path / f"x{suffix}")
    assert close(back.grid, GRID) and back.unit == "1/mm"


def test_arguments_go_before_those_of_the_image(tmp_path, image):
    moved = GRID._replace(centre=(0.0, 0.0, 0.0))
    isotome.write(tmp_path / "x.nii", image, grid=moved, unit="a.u.")
    back = isotome.read(tmp_path / "x.nii")
    assert close(back.grid, moved) and back.unit == "a.u." and close(image.grid, GRID)


def test_a_series(tmp_path, image):
    series = Image(np.stack([np.asarray(image) * k for k in range(4)]), GRID)
    isotome.write(tmp_path / "x.nii.gz", series)
    back = isotome.read(tmp_path / "x.nii.gz")
    assert back.shape == (4, 3, 4, 5) and close(back[2].grid, GRID) and np.array_equal(back, series)
    assert not (tmp_path / "x.json").exists()


def test_nibabel_reads_the_same(tmp_path, image):
    nibabel = pytest.importorskip("nibabel")
    isotome.write(tmp_path / "x.nii.gz", image)
    other = nibabel.load(tmp_path / "x.nii.gz")
    data = other.get_fdata(dtype=np.float32)
    assert data.shape == (5, 4, 3)
    z, y, x = 1, 3, 2
    turned = np.linalg.inv(other.affine)  # mm to indices, whichever way the file's axes run
    at = [GRID.centre[a] + (i - (GRID.n[a] - 1) / 2) * GRID.voxel[a] for a, i in enumerate((x, y, z))]
    index = np.rint(turned @ [*at, 1])[:3].astype(int)
    assert np.allclose(turned @ [*at, 1], [*index, 1], atol=1e-4)
    assert data[tuple(index)] == image[z, y, x]
    assert np.allclose(np.abs(np.diag(other.affine))[:3], GRID.voxel)


def test_files_of_nibabel_are_read_whichever_way_their_axes_run(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    data = np.random.default_rng(1).random((5, 4, 3), dtype=np.float32)
    affine = np.diag([-2.0, 3.0, 4.0, 1.0])
    affine[:3, 3] = [100, -7, 9]
    nibabel.save(nibabel.Nifti1Image(data, affine), tmp_path / "x.nii")
    image = isotome.read(tmp_path / "x.nii")
    for i, j, k in ((0, 0, 0), (4, 3, 2), (1, 2, 0)):
        at = (affine @ [i, j, k, 1])[:3]
        g = image.grid
        x, y, z = (round((at[a] - g.centre[a]) / g.voxel[a] + (g.n[a] - 1) / 2) for a in range(3))
        assert image[z, y, x] == data[i, j, k]


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<i2", ">u2", "|u1", "<i4", "<i8"])
@pytest.mark.parametrize("order", "CF")
def test_arrays_of_any_number(tmp_path, dtype, order):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    np.save(tmp_path / "x.npy", np.asarray(values, order=order))
    back = isotome.read(tmp_path / "x.npy")
    assert type(back) is Image and back.grid is None and back.dtype == np.float32 and np.array_equal(back, values)


def test_complex_arrays(tmp_path):
    values = (np.arange(12) + 1j * np.arange(12)[::-1]).reshape(3, 4).astype(np.complex64)
    np.save(tmp_path / "x.npy", values)
    back = isotome.read(tmp_path / "x.npy")
    assert back.dtype == np.complex64 and np.array_equal(back, values)


def test_nan_and_infinity_are_left_as_they_are(tmp_path):
    values = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    isotome.write(tmp_path / "x.npy", values)
    assert np.array_equal(isotome.read(tmp_path / "x.npy"), values, equal_nan=True)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6).reshape(2, 3),
        np.arange(6, dtype=np.float64).reshape(2, 3)[:, ::-1],
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array([[True, False], [False, True]]),
        [[1, 2], [3, 4]],
        np.broadcast_to(np.float32(2), (3, 4)),
    ],
)
def test_whatever_is_real_is_written_as_float32(tmp_path, values):
    isotome.write(tmp_path / "x.npy", values)
    back = np.load(tmp_path / "x.npy")
    assert back.dtype == np.float32 and np.array_equal(back, values)


@pytest.mark.parametrize(
    "values, message",
    [
        (np.zeros((2, 2), np.complex64), "given values of complex64, wanted real numbers"),
        (np.array([object()]), "given values of object"),
        (np.array(["a"]), "given values of <U1"),
        (None, "given values of object"),
        (np.zeros((0, 3), np.float32), "elements"),
        (np.zeros((1,) * 9, np.float32), "given an array of 9 axes, wanted 1 to 8"),
        (np.float32(3), "given an array of 0 axes"),
    ],
)
def test_what_no_file_holds_is_refused(tmp_path, values, message):
    with pytest.raises(isotome.ArgumentError, match=message):
        isotome.write(tmp_path / "x.npy", values)
    assert not list(tmp_path.iterdir())


def test_what_a_format_does_not_hold_is_refused(tmp_path, values):
    with pytest.raises(isotome.ArgumentError, match="at most 4"):
        isotome.write(tmp_path / "x.nii", Image(np.zeros((1, 1, 1, 1, 1), np.float32), Grid((1,) * 3, (1.0,) * 3)))
    with pytest.raises(isotome.ArgumentError, match="x.jpg"):
        isotome.write(tmp_path / "x.jpg", values)
    with pytest.raises(isotome.ArgumentError, match="grid: given one of shape"):
        isotome.write(tmp_path / "x.nii", values[:, :, 1:], grid=GRID)
    with pytest.raises(isotome.ArgumentError, match="unit: given .*at most 31 bytes"):
        isotome.write(tmp_path / "x.nii", values, grid=GRID, unit="x" * 32)
    with pytest.raises(isotome.ArgumentError, match="unit: given 3"):
        isotome.write(tmp_path / "x.nii", values, grid=GRID, unit=3)
    assert not list(tmp_path.iterdir())


def test_nothing_is_replaced_without_force(tmp_path, image):
    path = tmp_path / "x.nii"
    isotome.write(path, image)
    with pytest.raises(isotome.ArgumentError, match="x.nii exists; 'force' replaces it"):
        isotome.write(path, 2 * image)
    assert np.array_equal(isotome.read(path), image) and isotome.read(path).unit == "Bq/mL"
    isotome.write(path, 2 * image, force=True)
    assert np.array_equal(isotome.read(path), 2 * image)
    assert isotome.read(path).unit == ""  # the sidecar of the first is not left beside the second


def test_a_folder_that_is_not_there_or_may_not_be_written(tmp_path, image):
    with pytest.raises(isotome.errors.IOError, match="No such file"):
        isotome.write(tmp_path / "none" / "x.nii", image)
    with pytest.raises(isotome.ArgumentError, match="not a file"):
        (tmp_path / "y.nii").mkdir()
        isotome.write(tmp_path / "y.nii", image, force=True)


def test_damaged_files(tmp_path, image):
    with pytest.raises(isotome.InputError, match="none.nii: No such file"):
        isotome.read(tmp_path / "none.nii")
    with pytest.raises(isotome.IsotomeError, match="x.xyz"):
        isotome.read(tmp_path / "x.xyz")
    for suffix in (".nii", ".npy", ".raw", ".nii.gz"):
        path = tmp_path / f"x{suffix}"
        isotome.write(path, image)
        whole = path.read_bytes()
        for size in (0, 3, 100, len(whole) - 1):
            path.write_bytes(whole[:size])
            with pytest.raises(isotome.InputError, match=f"x{suffix}"):
                isotome.read(path)
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(isotome.IsotomeError, match="folder.npy"):
        isotome.read(tmp_path / "folder.npy")
    isotome.write(tmp_path / "y.nii", image)
    (tmp_path / "y.json").write_text("{")
    with pytest.raises(isotome.InputError, match="y.json"):
        isotome.read(tmp_path / "y.nii")


@pytest.mark.parametrize("path", [None, 3, 2.5, ["x.npy"], np.zeros(3)])
def test_what_is_no_path(path, image):
    with pytest.raises(isotome.ArgumentError, match="path: given"):
        isotome.read(path)
    with pytest.raises(isotome.ArgumentError, match="path: given"):
        isotome.write(path, image)


def test_paths(tmp_path, image):
    with pytest.raises(isotome.ArgumentError, match="without zeros"):
        isotome.read("a\0b.nii")
    with pytest.raises(isotome.IsotomeError):
        isotome.read("x" * 5000 + ".nii")
    with pytest.raises(isotome.IsotomeError):
        isotome.write(tmp_path / ("x" * 5000 + ".nii"), image)
    name = os.fsdecode(os.fsencode(tmp_path) + "/zw\u00f6lf \udcff.nii".encode(errors="surrogateescape"))
    isotome.write(name, image)
    assert np.array_equal(isotome.read(name), image)
    with pytest.raises(isotome.ArgumentError, match="context: given str"):
        isotome.read(name, context="cpu")


def test_units_of_records_that_the_program_wrote(tmp_path, image):
    isotome.write(tmp_path / "x.nii", np.asarray(image), grid=GRID)
    (tmp_path / "x.json").write_text(json.dumps({"isotome": "0.2.0", "Units": "1/mm"}))
    assert isotome.read(tmp_path / "x.nii").unit == "1/mm"
    (tmp_path / "x.json").write_text(json.dumps([1, 2]))
    assert isotome.read(tmp_path / "x.nii").unit == ""


def test_a_limit_of_memory(tmp_path, image):
    isotome.write(tmp_path / "x.npy", np.zeros((100, 100, 100), np.float32))
    small = isotome.Context("cpu", threads=1, memory_limit=1000000)
    with pytest.raises(isotome.errors.MemoryError):
        isotome.read(tmp_path / "x.npy", context=small)


def test_values_beyond_float32_are_refused(tmp_path):
    with pytest.raises(isotome.ArgumentError, match=r"array: given 1e\+300 among its values"):
        isotome.write(tmp_path / "x.npy", np.array([1.0, np.inf, 1e300]))
    isotome.write(tmp_path / "x.npy", np.array([1.0, np.inf, np.nan]))
    assert np.array_equal(isotome.read(tmp_path / "x.npy"), [1, np.inf, np.nan], equal_nan=True)


@pytest.mark.parametrize("name", ["x.nii", "x.NII", "x.nii.gz"])
def test_a_nii_needs_a_grid(tmp_path, values, name):
    with pytest.raises(isotome.ArgumentError, match=r"without a grid, wanted one for a .nii: grid=isotome.Grid"):
        isotome.write(tmp_path / name, values)
    assert not list(tmp_path.iterdir())


def test_tensors_with_gradients_are_refused_in_words(tmp_path):
    torch = pytest.importorskip("torch")
    x = torch.ones((2, 3, 4), requires_grad=True)
    for use in (isotome.picture, lambda x: isotome.filter(x, "median:3"), lambda x: isotome.write(tmp_path / "x.npy", x)):
        with pytest.raises(isotome.ArgumentError, match="given Tensor, .*detach"):
            use(x)
