# SPDX-License-Identifier: BSD-3-Clause
"""Files of images and arrays: .nii, .nii.gz, .npy, and .raw with its description FILE.raw.json.

Events are read by isotome.read_events, recorded traces by isotome.read_recording.
"""

from __future__ import annotations

import ctypes
import json
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_size_t
from typing import Any

import numpy as np

from . import _abi, _arrays, errors
from ._abi import lib
from ._call import call, check, text
from ._inputs import context_of
from .context import Context
from .grid import Grid
from .image import Image

_abi.declare(
    {
        "iso_read_within": (c_int, [POINTER(_abi.Array), _abi.handle, c_char_p, c_int]),
        "iso_write": (c_int, [c_char_p, POINTER(_abi.Array), c_char_p]),
        "iso_write_check": (c_int, [c_char_p, c_bool]),
        "iso_sidecar_path": (c_int, [c_char_p, c_size_t, c_char_p]),
    }
)

_ANY, _PAIRS = 2, 4  # enum iso_values


def path_of(path: Any) -> bytes:
    """A path as the library takes it."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise errors.ArgumentError(f"path: given {type(path).__name__}, wanted a text or a pathlib.Path")
    return text(os.fsdecode(path), "path")


def _sidecar(path: bytes) -> bytes:
    """The file of JSON beside an array: its record, and the unit of its values."""
    name = ctypes.create_string_buffer(4096)
    check(lib.iso_sidecar_path(name, len(name), path))
    return name.value


def _unit_beside(path: bytes) -> str:
    """What the sidecar says under "Units"; "" where there is none."""
    sidecar = _sidecar(path)
    if not os.path.isfile(sidecar):
        return ""
    with open(sidecar, "rb") as file:
        try:
            record = json.load(file)
        except ValueError as error:
            raise errors.InputError(f"{os.fsdecode(sidecar)}: {error}") from None
    unit = record.get("Units") if isinstance(record, dict) else None
    return unit if isinstance(unit, str) else ""


def read(path: str | os.PathLike, context: Context | None = None) -> Image:
    """An image or array from a file: its grid is None where the file has none (.npy, some .raw).

    Values come as float32 whatever the file has, complex ones of a .npy as complex64; NaN and infinity are
    left as they are. context: its limit of memory holds, and its cancel() ends the reading.
    """
    name, used = path_of(path), context_of(context)
    values = _arrays.made_image(
        lambda to: call(used, lib.iso_read_within, to, used._pointer, name, _ANY | _PAIRS)
    )
    if values.grid is not None and not values.unit:
        values.unit = _unit_beside(name)
    return values


def write(
    path: str | os.PathLike,
    array: Any,
    grid: Grid | None = None,
    unit: str = "",
    force: bool = False,
) -> None:
    """Writes an image or array as float32, in the format of the suffix: .nii, .nii.gz, .npy or .raw.

    grid: where it lies; None: as an Image says. A .nii needs one, a .npy holds none.
    unit: of the values; "": as an Image says. It goes into the file of JSON beside the array.
    force: replaces a file that exists, which is refused otherwise. There is never a part of a file.
    """
    name, values = path_of(path), _arrays.real(array, "array")
    if grid is not None or unit:
        known = values if isinstance(values, Image) else Image(values)
        values = Image(values, grid if grid is not None else known.grid, unit or known.unit)
    a = _arrays.as_struct(values)
    _arrays.refuse_lost(name, a)
    check(lib.iso_write_check(name, bool(force)))
    beside = None
    if a.unit or os.path.exists(_sidecar(name)):  # one of a file that is replaced tells of that file
        record = {"isotome": _abi.version, "verb": "write", "Units": a.unit.decode()}
        beside = json.dumps(record, indent=2).encode()
    check(lib.iso_write(name, byref(a), beside))
