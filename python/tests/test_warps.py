# SPDX-License-Identifier: BSD-3-Clause
"""Displacement fields: the operator, its transpose, fields on another grid and from files, and what is refused."""

import struct

import numpy as np
import pytest

import isotome
from isotome import Grid, Image, Warp

GRID = Grid((6, 5, 4), (2, 3, 4), (1, 0, -2))


@pytest.fixture
def image():
    return Image(np.random.default_rng(0).random(GRID.shape, dtype=np.float32), GRID, "Bq/ml")


def shift(*mm):
    return np.full((*GRID.shape, 3), mm, np.float32)


def test_a_shift_by_whole_voxels(image, context):
    moved = isotome.warp(image, shift(2, 0, -4), context=context)
    want = np.zeros_like(image)
    want[1:, :, :-1] = image[:-1, :, 1:]
    assert np.array_equal(moved, want)
    assert moved.grid == GRID and moved.unit == "Bq/ml"
    back = isotome.warp(image, shift(2, 0, -4), adjoint=True, context=context)
    want = np.zeros_like(image)
    want[:-1, :, 1:] = image[1:, :, :-1]
    assert np.allclose(back, want, rtol=1e-6)


def test_no_field_is_the_identity(image, context):
    assert np.array_equal(isotome.warp(image, None, mass=True, context=context), image)


def test_the_transpose(context):
    field = np.random.default_rng(1).normal(0, 3, (2, 3, 3, 3)).astype("f4")
    for mass in False, True:
        W = Warp(GRID, field, field_grid=Grid((3, 3, 2), (3, 4, 6)), mass=mass, context=context)
        assert W.adjointness_test() < 1e-6
        assert W.clone().adjointness_test() < 1e-6


def test_mass_and_folds(image, context):
    x = np.arange(6) * 2.0
    u = shift(0, 0, 0)
    u[..., 0] = 0.25 * (x - x.mean())
    W, V = Warp(GRID, u, mass=True, context=context), Warp(GRID, u, context=context)
    assert W.folded == 0 and W.least_jacobian == pytest.approx(1.25)
    assert np.allclose(W(image), 1.25 * V(image), rtol=1e-6)
    with pytest.warns(isotome.IsotomeWarning, match="the field folds: .* in 120 voxels, -1 at least"):
        isotome.warp(image, -8 * u, context=context)


def test_a_file(image, context, tmp_path):
    path = tmp_path / "u.npy"
    np.save(path, shift(2, 3, 0))
    assert np.array_equal(isotome.warp(image, path, context=context), isotome.warp(image, shift(2, 3, 0), context=context))
    assert np.array_equal(
        isotome.warp(image, path, axes="lps", context=context), isotome.warp(image, shift(-2, -3, 0), context=context)
    )
    assert Warp(GRID, path, context=context).clone().adjointness_test() < 1e-6


def test_a_file_on_another_grid(image, context, tmp_path):
    """A head of NIfTI by hand: 2 x 1 x 1 voxels of 6, 99, 99 mm about (1, 0, -2) mm, u = (2, 0, 0) and (4, 0, 0)."""
    head = bytearray(352)
    head[0:4], head[344:348] = struct.pack("<i", 348), b"n+1\0"
    head[40:56], head[68:74] = struct.pack("<8h", 5, 2, 1, 1, 1, 3, 1, 1), struct.pack("<3h", 1006, 16, 32)
    head[108:112], head[254:256] = struct.pack("<f", 352), struct.pack("<h", 1)
    head[280:328] = struct.pack("<12f", 6, 0, 0, -2, 0, 99, 0, 0, 0, 0, 99, -2)
    (tmp_path / "u.nii").write_bytes(bytes(head) + struct.pack("<6f", 2, 4, 0, 0, 0, 0))
    got = isotome.warp(image, tmp_path / "u.nii", context=context)
    at = np.clip(((np.arange(6) - 2.5) * 2 + 3) / 6, 0, 1)
    u = np.broadcast_to(np.stack([2 + 2 * at, 0 * at, 0 * at], -1), (*GRID.shape, 3))
    assert np.allclose(got, isotome.warp(image, u, context=context), atol=1e-6)


def test_what_is_refused(image, context):
    with pytest.raises(isotome.ArgumentError, match=r"field: given shape \(3, 3, 3, 3\)"):
        Warp(GRID, np.zeros((3, 3, 3, 3)), context=context)
    with pytest.raises(isotome.ArgumentError, match="longer than the diagonal"):
        Warp(GRID, shift(900, 0, 0), context=context)
    with pytest.raises(isotome.ArgumentError, match="axes: given 'rai'"):
        Warp(GRID, "u.nii", axes="rai", context=context)
    with pytest.raises(isotome.ArgumentError, match="image: given without a grid"):
        isotome.warp(np.asarray(image), shift(0, 0, 0), context=context)
