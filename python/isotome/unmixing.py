# SPDX-License-Identifier: BSD-3-Clause
"""Unmixing: how much of what absorbs light, from optoacoustic images of several wavelengths."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t
from typing import Any, Sequence

import numpy as np

from . import _abi, _arrays, errors
from ._abi import lib
from ._call import call, check
from ._checks import number, utf8
from ._inputs import context_of
from .context import Context
from .grid import Grid
from .image import Image

_MOST = 8  # ISO_CHROMOPHORES


class _Chromophores(ctypes.Structure):  # unmix.h
    _c_name_ = "iso_chromophores"
    _fields_ = [
        ("size", c_size_t),
        ("wavelengths", c_int),
        ("n", c_int),
        ("e", POINTER(c_double)),
        ("name", (c_char * 32) * _MOST),
        ("oxygenated", c_int),
        ("deoxygenated", c_int),
        ("condition", c_double),
    ]


class _Unmix(ctypes.Structure):  # unmix.h
    _c_name_ = "iso_unmix"
    _fields_ = [
        ("size", c_size_t),
        ("of", POINTER(_Chromophores)),
        ("weight", POINTER(c_double)),
        ("nonneg", c_bool),
        ("floor", c_double),
        ("fluence", POINTER(c_double)),
        ("fluence_map", _abi.vector),
        ("mask", _abi.vector),
    ]


class _Unmixed(ctypes.Structure):  # unmix.h
    _c_name_ = "iso_unmixed"
    _fields_ = [
        ("size", c_size_t),
        ("concentration", _abi.vector),
        ("so2", _abi.vector),
        ("so2_sd", _abi.vector),
        ("thb", _abi.vector),
        ("residual", _abi.vector),
        ("dark", c_int64),
        ("pale", c_int64),
    ]


class _Fluence(ctypes.Structure):  # unmix.h
    _c_name_ = "iso_fluence"
    _fields_ = [
        ("size", c_size_t),
        ("blood", c_double),
        ("so2", c_double),
        ("water", c_double),
        ("result", POINTER(c_double)),
    ]


_abi.declare(
    {
        "iso_fluence_depth": (
            c_int,
            [_abi.vector, POINTER(_Fluence), POINTER(_abi.Grid), _abi.vector, c_int, POINTER(c_double)],
        ),
        "iso_chromophores_create": (c_int, [POINTER(_Chromophores), c_char_p, c_int, POINTER(c_double)]),
        "iso_chromophores_free": (None, [POINTER(_Chromophores)]),
        "iso_unmix_images": (
            c_int,
            [POINTER(_Unmixed), _abi.handle, POINTER(_Unmix), c_int64, _abi.vector],
        ),
    }
)


def _list(values: Any, n: int, what: str) -> ctypes.Array[c_double]:
    flat = np.asarray(values, dtype=float).ravel()
    if flat.size != n:
        raise errors.ArgumentError(f"{what}: given {flat.size} numbers, wanted one for each of {n} wavelengths")
    return (c_double * n)(*flat)


def _light(p: _Unmix, fluence: Any, n: int, shape: tuple[int, ...]) -> Any:
    """A number a wavelength, or one a voxel of each image. Returns what must stay alive."""
    if np.ndim(fluence) <= 1:
        p.fluence = _list(fluence, n, "fluence")
        return None
    values = np.ascontiguousarray(_arrays.real(fluence, "fluence"))
    _arrays.given(values, shape, "fluence")
    p.fluence_map = values.ctypes.data
    return values


def unmix(
    images: Any,
    wavelengths: Sequence[float],
    chromophores: str | os.PathLike[str] = "HbO2,Hb",
    *,
    nonneg: bool = False,
    weights: Any = None,
    fluence: Any = None,
    mask: Any = None,
    floor: float = 0.05,
    context: Context | None = None,
) -> dict[str, Image]:
    """Maps of what absorbs, from images (wavelengths, nz, ny, nx): a map a chromophore, and "residual". HbO2 and Hb
    also give "thb", "so2" and "so2_sd". A voxel without a value is NaN.

    `chromophores`: names (HbO2, Hb, water, lipid, melanin) and tables FILE.csv (nm,NAME,...) with commas
    between them. `weights`: 1/variance, a number a wavelength. `fluence`: a number a wavelength, or one a voxel; the
    images are divided by it. `floor`: voxels whose HbO2 + Hb is below this share of its 99.9 % quantile have no
    saturation.
    """
    used, given = context_of(context), _arrays.real(images, "images")
    values = np.ascontiguousarray(given)
    n = len(wavelengths)
    if values.ndim != 4 or values.shape[0] != n:
        raise errors.ArgumentError(f"images: given shape {values.shape}, wanted ({n}, nz, ny, nx)")
    of = _Chromophores(size=ctypes.sizeof(_Chromophores))
    nm = _list(wavelengths, n, "wavelengths")
    check(lib.iso_chromophores_create(byref(of), utf8(os.fspath(chromophores), "chromophores"), n, nm))
    try:
        return _maps(used, of, given, values, n, nonneg, weights, fluence, mask, floor)
    finally:
        lib.iso_chromophores_free(byref(of))


def fluence_depth(
    mask: Any,
    wavelengths: Sequence[float],
    grid: Grid | None = None,
    *,
    blood: float = 0.1,
    so2: float = 0.7,
    water: float = 0.7,
) -> np.ndarray:
    """Light in tissue that is lit from all sides, (wavelengths, nz, ny, nx), for `fluence` of isotome.unmix.

    exp(-m d): d is the depth in the mask, m = sqrt(3 a (a + s)), a what `blood` (haemoglobin, mM) of saturation
    `so2` and a share `water` of the volume absorb, s the reduced scattering of soft tissue. 1 outside of the mask.
    grid: where the mask lies; None: the mask is an Image, which has a grid.
    """
    given = grid if grid is not None else getattr(mask, "grid", None)
    if given is None:
        raise errors.ArgumentError("grid: not given, wanted that of the mask")
    chosen = np.ascontiguousarray(_arrays.real(np.asarray(mask, dtype=np.float32), "mask"))
    _arrays.given(chosen, given.shape, "mask")
    n = len(wavelengths)
    p = _Fluence(ctypes.sizeof(_Fluence), number(blood, "blood"), number(so2, "so2"), number(water, "water"))
    light = np.empty((n, *given.shape), chosen.dtype)
    nm = _list(wavelengths, n, "wavelengths")
    check(lib.iso_fluence_depth(light.ctypes.data, byref(p), byref(given._struct()), chosen.ctypes.data, n, nm))
    return light


def _maps(
    used: Context,
    of: _Chromophores,
    given: Any,
    values: np.ndarray,
    n: int,
    nonneg: bool,
    weights: Any,
    fluence: Any,
    mask: Any,
    floor: float,
) -> dict[str, Image]:
    shape = values.shape[1:]
    voxels = int(np.prod(shape))
    p = _Unmix(size=ctypes.sizeof(_Unmix), of=ctypes.pointer(of), nonneg=nonneg, floor=floor)
    kept: list[Any] = [_light(p, fluence, n, values.shape)] if fluence is not None else []
    if weights is not None:
        p.weight = _list(weights, n, "weights")
    if mask is not None:
        chosen = np.ascontiguousarray(_arrays.real(np.asarray(mask, dtype=np.float32), "mask"))
        _arrays.given(chosen, shape, "mask")
        p.mask = chosen.ctypes.data
        kept.append(chosen)
    blood = ["so2", "so2_sd", "thb"] if of.oxygenated >= 0 and of.deoxygenated >= 0 else []
    maps = {name: np.empty(shape, values.dtype) for name in [*blood, "residual"]}
    concentration = np.empty((of.n, *shape), values.dtype)
    to = _Unmixed(size=ctypes.sizeof(_Unmixed), concentration=concentration.ctypes.data)
    for name, a in maps.items():
        setattr(to, name, a.ctypes.data)
    call(used, lib.iso_unmix_images, byref(to), used._pointer, byref(p), voxels, values.ctypes.data)
    names = [of.name[j].value.decode() for j in range(of.n)]
    grid = given.grid if isinstance(given, Image) else None
    return {name: Image(a, grid) for name, a in [*zip(names, concentration), *maps.items()]}
