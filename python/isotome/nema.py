# SPDX-License-Identifier: BSD-3-Clause
"""Figures of merit of a scanner after NEMA NU 2-2018 and NU 4-2008. Each function returns a dictionary with the names
that `isotome nema --json` prints under `results`."""

from __future__ import annotations

import ctypes
import json
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any, Sequence

from . import _abi
from ._abi import lib
from ._call import check
from ._checks import utf8
from ._inputs import context_of
from .context import Context


class _Options(ctypes.Structure):  # nema.h
    _c_name_ = "iso_nema_options"
    _fields_ = [
        ("size", c_size_t),
        ("standard", c_char_p),
        ("scanner", c_char_p),
        ("image", c_char_p),
        ("norm", c_char_p),
        ("mouse", c_bool),
        ("voxel_mm", c_double),
        ("angles", c_int64),
        ("bin_mm", c_double),
        ("pitch_mm", c_double),
    ]


_SENSITIVITY, _COUNTING, _ACCURACY, _MOUSE = range(4)  # enum iso_nema_test

_abi.declare(
    {
        "iso_nema_run": (c_int, [POINTER(c_void_p), _abi.handle, c_int, c_char_p, POINTER(_Options)]),
        "iso_nema_resolution": (c_int, [POINTER(c_void_p), _abi.handle, c_int, POINTER(c_char_p), POINTER(_Options)]),
        "iso_nema_free": (None, [c_void_p]),
    }
)

def _name(path: Any) -> bytes | None:
    return None if path is None else utf8(os.fspath(path), "path")


def _options(**given: Any) -> _Options:
    o = _Options(size=ctypes.sizeof(_Options))
    for key, value in given.items():
        setattr(o, key, _name(value) if key in ("standard", "scanner", "image", "norm") else value or 0)
    return o


def _taken(text: c_void_p) -> dict[str, Any]:
    try:
        return json.loads(ctypes.string_at(text))
    finally:
        lib.iso_nema_free(text)


def _run(test: int, description: Any, context: Context | None, o: _Options) -> dict[str, Any]:
    text = c_void_p()
    check(lib.iso_nema_run(byref(text), context_of(context)._pointer, test, _name(description), byref(o)))
    return _taken(text)


def resolution(
    points: Sequence[str | os.PathLike[str]],
    scanner: str | os.PathLike[str] | None = None,
    *,
    norm: str | os.PathLike[str] | None = None,
    small_animal: bool = False,
    voxel_mm: float = 0,
    standard: str | os.PathLike[str] | None = None,
    context: Context | None = None,
) -> dict[str, Any]:
    """Widths of points, a file each: events, which become images by filtered back-projection, or images."""
    names = (c_char_p * len(points))(*[_name(p) for p in points])
    o = _options(scanner=scanner, norm=norm, mouse=bool(small_animal), voxel_mm=voxel_mm, standard=standard)
    text = c_void_p()
    check(lib.iso_nema_resolution(byref(text), context_of(context)._pointer, len(points), names, byref(o)))
    return _taken(text)


def sensitivity(
    description: str | os.PathLike[str],
    scanner: str | os.PathLike[str] | None = None,
    *,
    standard: str | os.PathLike[str] | None = None,
    context: Context | None = None,
) -> dict[str, Any]:
    """Sensitivity from a line source in sleeves of metal (NU 2), or from a point that steps along the axis (NU 4); the
    description names the runs."""
    return _run(_SENSITIVITY, description, context, _options(scanner=scanner, standard=standard))


def counting(
    description: str | os.PathLike[str],
    scanner: str | os.PathLike[str] | None = None,
    *,
    standard: str | os.PathLike[str] | None = None,
    context: Context | None = None,
) -> dict[str, Any]:
    """Scatter fraction, counting rates and time resolution of a decaying line; the description names the runs."""
    return _run(_COUNTING, description, context, _options(scanner=scanner, standard=standard))


def accuracy(
    description: str | os.PathLike[str],
    *,
    standard: str | os.PathLike[str] | None = None,
    context: Context | None = None,
) -> dict[str, Any]:
    """Errors of the images of a counting series; the description names the images."""
    return _run(_ACCURACY, description, context, _options(standard=standard))


def mouse(
    image: str | os.PathLike[str],
    places: str | os.PathLike[str],
    *,
    standard: str | os.PathLike[str] | None = None,
    context: Context | None = None,
) -> dict[str, Any]:
    """Image quality of the NU 4 phantom, whose regions lie where the description `places` says."""
    return _run(_MOUSE, places, context, _options(image=image, standard=standard))
