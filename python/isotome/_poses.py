# SPDX-License-Identifier: BSD-3-Clause
"""Tables of poses on their way into the library: files, arrays of 8 or 13 numbers a row, or `Poses`."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_size_t, c_void_p
from typing import Union

import numpy as np

from . import errors
from ._abi import lib
from ._call import Handle, check
from .motion import Poses, PosesOptions

Table = Union[str, "os.PathLike[str]", np.ndarray, Poses]

OBJECT, BED, GANTRY = range(3)  # enum iso_pose_kind


class MotionParts(ctypes.Structure):
    _c_name_ = "iso_motion_parts"
    _fields_ = [
        ("size", c_size_t),
        ("poses", c_void_p),
        ("bed", c_void_p),
        ("gantry", c_void_p),
        ("reference", c_void_p),
    ]


def table(given: Table, kind: int, name: str) -> Handle:
    """The library's table of a file, or of an array (n, 8) or (n, 13) of real numbers; that of `Poses` as it is."""
    if isinstance(given, Poses):
        return given._handle
    made = Handle(lib.iso_poses_free)
    options = PosesOptions(size=ctypes.sizeof(PosesOptions), kind=kind)
    if isinstance(given, (str, os.PathLike)):
        check(lib.iso_poses_read(byref(made.pointer), os.fsencode(given), byref(options)))
        return made
    if not isinstance(given, np.ndarray) or given.ndim != 2 or given.dtype.kind not in "fiu":
        what = f"an array of {given.dtype} {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        raise errors.ArgumentError(f"{name}: given {what}, wanted a file, or real numbers of shape (n, 8) or (n, 13)")
    rows = np.ascontiguousarray(given, np.float64)
    check(lib.iso_poses_create(byref(made.pointer), rows.ctypes.data, len(rows), rows.shape[1], byref(options), name.encode()))
    return made
