# SPDX-License-Identifier: BSD-3-Clause
"""Filters of images, and the point spread function as an operator. Widths are mm."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_int
from typing import Any

import numpy as np

from . import _abi, _arrays, errors
from ._abi import lib
from ._call import Handle, call, check
from ._checks import numbers, utf8
from ._inputs import context_of
from .context import Context
from .grid import Grid
from .image import Image
from .operator import ModelOperator, _Shared


class _Filter(ctypes.Structure):  # filter.h
    _c_name_ = "iso_filter"
    _fields_ = [("kind", c_int), ("fwhm", c_double * 3), ("size", c_int)]


_GAUSSIAN = 0  # enum iso_filter_kind

_abi.declare(
    {
        "iso_filter_parse": (c_int, [POINTER(_Filter), c_char_p]),
        "iso_filter_host": (c_int, [_abi.vector, _abi.handle, POINTER(_Filter), POINTER(_abi.Grid)]),
        "iso_psf_create": (c_int, [_abi.out, _abi.handle, POINTER(_abi.Grid), POINTER(c_double)]),
    }
)


def _grid(image: np.ndarray, kind: int) -> _abi.Grid:
    """That of the image; a median needs none."""
    if image.ndim < 3 or not image.size:
        raise errors.ArgumentError(f"image: given shape {image.shape}, wanted (nz, ny, nx), or frames of it")
    if isinstance(image, Image) and image.grid is not None:
        return image.grid._struct()
    if kind == _GAUSSIAN:
        raise errors.ArgumentError("image: given without a grid, wanted isotome.Image(values, grid)")
    return Grid(image.shape[:-4:-1], (1.0, 1.0, 1.0))._struct()


def filter(image: Any, how: str, context: Context | None = None) -> Image:
    """The image smoothed, each frame by itself: "gaussian:MM", "gaussian:X,Y,Z" or "median:N".

    A Gaussian has its full width at half maximum in mm and ends at 3 sigma; a median is that of the
    N x N x N voxels around each. Beyond the border the edge voxel goes on.
    """
    f, used, values = _Filter(), context_of(context), _arrays.real(image, "image")
    _arrays.given(values, values.shape, "image")
    check(lib.iso_filter_parse(byref(f), utf8(how, "filter")))
    grid, result = _grid(values, f.kind), Image(np.array(values))
    if isinstance(values, Image):
        result.grid, result.unit = values.grid, values.unit
    for frame in np.asarray(result).reshape(-1, *values.shape[-3:]):
        call(used, lib.iso_filter_host, frame.ctypes.data, used._pointer, byref(f), byref(grid))
    return result


class Psf(ModelOperator):
    """The point spread function of an image, its own adjoint: chain it behind a model, `A @ Psf(grid, 4)`.

    A Gaussian of full width at half maximum `fwhm` in mm, one number or three along x, y, z; it ends at
    3 sigma, and beyond the border is 0.
    """

    def __init__(self, grid: Grid, fwhm: Any, context: Context | None = None):
        used = context_of(context)
        g = Grid._struct(grid)
        widths = numbers((fwhm,) * 3 if np.ndim(fwhm) == 0 else fwhm, 3, "fwhm")
        made = Handle(lib.iso_op_free, used._handle)
        check(lib.iso_psf_create(byref(made.pointer), used._pointer, byref(g), (c_double * 3)(*widths)))
        self._made_of = grid, widths
        super().__init__(_Shared(made, used, None, grid.shape), grid.shape, in_grid=grid)
        self.out_grid = grid

    def subset(self, k: int) -> Psf:
        self._check_subset(k)
        return self

    def ordered(self) -> Psf:
        return self

    def clone(self) -> Psf:
        return Psf(*self._made_of, context=self.context)
