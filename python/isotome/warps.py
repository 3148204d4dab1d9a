# SPDX-License-Identifier: BSD-3-Clause
"""Displacement fields: an image as it lies in another state of the object, and the transpose of that. Lengths are mm."""

from __future__ import annotations

import ctypes
import os
import warnings
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any

import numpy as np

from . import _abi, _arrays, errors
from ._abi import lib
from ._call import Handle, check
from ._checks import utf8
from ._inputs import context_of
from .context import Context
from .grid import Grid
from .image import Image
from .operator import ModelOperator, _Shared


class _Warp(ctypes.Structure):  # warp.h
    _c_name_ = "iso_warp"
    _fields_ = [
        ("size", c_size_t),
        ("grid", _abi.Grid),
        ("field_grid", _abi.Grid),
        ("field", c_void_p),
        ("mass", c_bool),
        ("name", c_char_p),
        ("pose", c_void_p),
    ]


class _Folds(ctypes.Structure):
    _c_name_ = "iso_warp_folds"
    _fields_ = [("size", c_size_t), ("voxels", c_int64), ("least", c_double)]


class _Field(ctypes.Structure):
    _c_name_ = "iso_field"
    _fields_ = [("grid", _abi.Grid), ("v", c_void_p)]


_AXES = ("auto", "ras", "lps")  # enum iso_field_axes

_abi.declare(
    {
        "iso_warp_create": (c_int, [_abi.out, _abi.handle, POINTER(_Warp)]),
        "iso_warp_jacobian": (c_int, [_abi.vector, POINTER(_Folds), _abi.handle, POINTER(_Warp)]),
        "iso_field_read": (c_int, [POINTER(_Field), c_char_p, c_int, POINTER(_abi.Grid)]),
        "iso_field_free": (None, [POINTER(_Field)]),
    }
)


def _read(path: bytes, axes: str, grid: _abi.Grid) -> tuple[np.ndarray, _abi.Grid]:
    if axes not in _AXES:
        raise errors.ArgumentError(f"axes: given {axes!r}, wanted one of {', '.join(_AXES)}")
    f = _Field()
    check(lib.iso_field_read(byref(f), path, _AXES.index(axes), byref(grid)))
    try:
        shape = (*f.grid.n[::-1], 3)
        n = int(np.prod(shape))
        grid_of_file = _abi.Grid.from_buffer_copy(f.grid)  # that of f ends with it
        return np.array((ctypes.c_float * n).from_address(f.v), _arrays.REAL).reshape(shape), grid_of_file
    finally:
        lib.iso_field_free(byref(f))


class Warp(ModelOperator):
    """This operator makes y(x) = f(x + u(x)), linear between voxels. Its adjoint is the transpose.

    `A @ Warp(grid, u)` is a model behind it.

    `field` is u in mm, an array (nz, ny, nx, 3) of x, y, z on `field_grid` (None: on `grid`), or the name of a
    file of ITK, ANTs or NiftyReg, whose `axes` may be "auto", "ras" or "lps". None is the identity. With `mass` the
    values are multiplied by det(1 + du/dx), so that the activity moves with the tissue. Only on the CPU.
    """

    def __init__(
        self,
        grid: Grid,
        field: Any,
        *,
        field_grid: Grid | None = None,
        axes: str = "auto",
        mass: bool = False,
        context: Context | None = None,
    ):
        used = Context("cpu") if context is None else context_of(context)
        p = _Warp(size=ctypes.sizeof(_Warp), grid=Grid._struct(grid), mass=bool(mass))
        values: np.ndarray | None = None
        if isinstance(field, (str, bytes, os.PathLike)):
            p.name = utf8(os.fsdecode(field), "field")
            values, p.field_grid = _read(p.name, axes, p.grid)
        elif field is not None:
            values = np.asarray(_arrays.real(field, "field"))
            p.field_grid = Grid._struct(grid if field_grid is None else field_grid)
            wanted = (*p.field_grid.n[::-1], 3)
            if values.shape != wanted:
                raise errors.ArgumentError(f"field: given shape {values.shape}, wanted {wanted}")
        p.field = None if values is None else values.ctypes.data
        made = Handle(lib.iso_op_free, used._handle)
        check(lib.iso_warp_create(byref(made.pointer), used._pointer, byref(p)))
        folds = _Folds(size=ctypes.sizeof(_Folds))
        check(lib.iso_warp_jacobian(None, byref(folds), used._pointer, byref(p)))
        #: Voxels where the field folds, det(1 + du/dx) <= 0, and the least determinant of all.
        self.folded: int = folds.voxels
        self.least_jacobian: float = folds.least
        self._made_of = grid, values, field_grid if p.name is None else Grid._of(p.field_grid), bool(mass)
        super().__init__(_Shared(made, used, None, grid.shape), grid.shape, in_grid=grid)
        self.out_grid = grid

    def subset(self, k: int) -> Warp:
        self._check_subset(k)
        return self

    def ordered(self) -> Warp:
        return self

    def clone(self) -> Warp:
        grid, values, on, mass = self._made_of
        return Warp(grid, values, field_grid=on, mass=mass, context=self.context)


def warp(
    image: Image,
    field: Any,
    *,
    adjoint: bool = False,
    mass: bool = False,
    field_grid: Grid | None = None,
    axes: str = "auto",
    context: Context | None = None,
) -> Image:
    """The image moved by a displacement field, or by the transpose of that: `Warp` once, with the same words."""
    if not isinstance(image, Image) or image.grid is None:
        raise errors.ArgumentError("image: given without a grid, wanted isotome.Image(values, grid)")
    W = Warp(image.grid, field, field_grid=field_grid, axes=axes, mass=mass, context=context)
    if W.folded:
        warnings.warn(
            f"the field folds: det(1 + du/dx) is 0 or below in {W.folded} voxels, {W.least_jacobian:g} at least",
            errors.IsotomeWarning,
            2,
        )
    moved = W.adjoint(image) if adjoint else W(image)
    return Image(moved, image.grid, image.unit)
