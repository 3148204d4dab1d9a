# SPDX-License-Identifier: BSD-3-Clause
"""Attenuation from a CT: Hounsfield units to 1/mm at 511 keV, resampled onto the grid of an image."""

from __future__ import annotations

import ctypes
import os
import warnings
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int64, c_void_p
from typing import Any, Sequence

import numpy as np

from . import _abi, _arrays, errors
from ._abi import lib
from ._call import call, check
from ._checks import number, numbers
from ._inputs import context_of, room
from .context import Context
from .files import path_of
from .grid import Grid
from .image import Image


class _Volume(ctypes.Structure):  # volume.h
    _c_name_ = "iso_volume"
    _fields_ = [
        ("dim", c_int64 * 3),
        ("affine", (c_double * 4) * 3),
        ("v", c_void_p),
        ("kvp", c_double),
        ("n_files", c_int64),
        ("file", POINTER(c_char_p)),
        ("unit", c_char * 32),
    ]


_abi.declare(
    {
        "iso_volume_read": (c_int, [POINTER(_Volume), _abi.handle, c_char_p]),
        "iso_volume_free": (None, [POINTER(_Volume)]),
        "iso_volume_grid": (c_int, [POINTER(_abi.Grid), POINTER(_Volume)]),
        "iso_volume_resample": (
            c_int,
            [_abi.vector, POINTER(c_int64), _abi.handle, POINTER(_abi.Grid), POINTER(_Volume), c_double],
        ),
        "iso_mu_of_hu": (c_int, [_abi.vector, c_int64, _abi.vector, c_double]),
    }
)

_METAL, _AIR = 2000, -500  # HU: denser than any bone; what no CT is without


def _warn(text: str) -> None:
    warnings.warn(text, errors.IsotomeWarning, stacklevel=4)


def _look(hu: np.ndarray, name: str) -> None:
    """Warns of values that a CT should not have."""
    if hu.min() > _AIR:
        _warn(f"{name}: the least value is {hu.min():g}, air has -1000: is this a CT in Hounsfield units?")
    if metal := int(np.count_nonzero(hu > _METAL)):
        _warn(
            f"{name}: {metal} voxels above {_METAL} HU, up to {hu.max():g}: attenuation of metal and contrast "
            "comes out too high"
        )


def _resampled(
    volume: _Volume, name: str, grid: _abi.Grid, kvp: float, smooth: float, used: Context, asked: bool
) -> Image:
    n, outside = int(np.prod(volume.dim[:])), c_int64()
    _look(np.ctypeslib.as_array((ctypes.c_float * n).from_address(volume.v)), name)
    check(lib.iso_mu_of_hu(volume.v, n, volume.v, kvp))
    found = Image(room(used, Grid._of(grid).shape, "attenuation"), Grid._of(grid), "1/mm")
    call(
        used,
        lib.iso_volume_resample,
        _arrays.address(found),
        byref(outside),
        used._pointer,
        byref(grid),
        byref(volume),
        smooth,
    )
    if outside.value == found.size:
        raise errors.ArgumentError(f"grid: lies outside of {name}; another centre or shift brings them together")
    if outside.value and asked:  # of the grid that covers an oblique CT, corners always lie outside
        share = 100 * outside.value / found.size
        _warn(f"{share:.3g} % of the grid lies outside of {name}; attenuation is 0 there")
    return found


def mu(
    ct: str | os.PathLike,
    grid: Grid | Image | None = None,
    *,
    kvp: float | None = None,
    smooth: float = 0.0,
    shift: Sequence[float] = (0.0, 0.0, 0.0),
    context: Context | None = None,
) -> Image:
    """Attenuation at 511 keV in 1/mm from a CT in Hounsfield units, as `mu=` of models takes it.

    ct: a NIfTI image of any orientation, or a DICOM series that is not packed, by its folder or one of its files.
    grid: where the map shall lie, or an Image that lies there; None: the straight grid that covers the CT.
    kvp: voltage of the X-ray tube, 80 to 140 kV; None: what the DICOM files, or KVP of the JSON file beside a
        NIfTI image, say.
    smooth: full width at half maximum in mm of a Gaussian on top of the one that the grid's voxels ask for.
    shift: moves the CT, mm along x, y, z.

    Two straight lines that depend on the voltage (Carney et al. 2006), then smoothed by as much as the voxels
    are wider than the CT's, and interpolated; 0 beyond the CT. Warns of metal, and where the grid ends outside.
    """
    name, used = path_of(ct), context_of(context)
    width, move = number(smooth, "smooth", 0.0), numbers(shift, 3, "shift")
    on: Any = grid.grid if isinstance(grid, Image) else grid
    if grid is not None and on is None:
        raise errors.ArgumentError("grid: given an Image that has none, wanted one that lies somewhere")
    g = _abi.Grid() if on is None else Grid._struct(on)
    volume, shown = _Volume(), os.fsdecode(name)
    try:
        call(used, lib.iso_volume_read, byref(volume), used._pointer, name)
        voltage = volume.kvp if kvp is None else number(kvp, "kvp", 0.0)
        if not voltage:
            raise errors.InputError(f"{shown}: says no tube voltage; kvp does, such as kvp=120")
        if on is None:
            check(lib.iso_volume_grid(byref(g), byref(volume)))
        for axis in range(3):
            volume.affine[axis][3] += move[axis]
        return _resampled(volume, shown, g, voltage, width, used, on is not None)
    finally:
        lib.iso_volume_free(byref(volume))
