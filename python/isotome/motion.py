# SPDX-License-Identifier: BSD-3-Clause
"""Poses over time: where a head, a bed or a gantry is while a scan is measured. Lengths are mm, times s.

    head = isotome.Poses("tracker.csv")              # or an array (n, 8) or (n, 13)
    head.at([0, 12.5, 31])                           # (3, 3, 4): R and T, nan where the pose is not known
    head.write("poses.npy")
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any, Union

import numpy as np

from . import errors
from ._abi import declare, handle, lib, out
from ._call import Handle, check
from .files import path_of

RULES = ("file", "linear", "step")  # enum iso_pose_rule
KINDS = ("object", "bed", "gantry", "any")  # enum iso_pose_kind


class PoseStruct(ctypes.Structure):
    _c_name_ = "iso_pose"
    _fields_ = [("m", c_double * 12)]


class PosesOptions(ctypes.Structure):
    _c_name_ = "iso_poses_options"
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("rule", c_int),
        ("inverse", c_bool),
        ("axes", POINTER(PoseStruct)),
    ]


declare(
    {
        "iso_poses_read": (c_int, [out, c_char_p, POINTER(PosesOptions)]),
        "iso_poses_create": (c_int, [out, c_void_p, c_int64, c_int, POINTER(PosesOptions), c_char_p]),
        "iso_poses_free": (None, [handle]),
        "iso_poses_rows": (c_int64, [handle]),
        "iso_poses_rule": (c_int, [handle]),
        "iso_poses_time": (c_double, [handle, c_int64]),
        "iso_poses_at": (c_bool, [POINTER(PoseStruct), handle, c_double]),
        "iso_poses_note": (c_char_p, [handle]),
        "iso_poses_write": (c_int, [c_char_p, handle, c_bool]),
    }
)


def _word(words: tuple[str, ...], value: Any, name: str) -> int:
    if value not in words:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted one of {', '.join(words)}")
    return words.index(value)


def _axes(value: Any) -> Any:
    """A 3 x 4 matrix as the library takes it; None: none."""
    if value is None:
        return None
    matrix = np.array(value, dtype=float)
    if matrix.shape != (3, 4):
        raise errors.ArgumentError(f"axes: given an array of shape {matrix.shape}, wanted (3, 4)")
    return ctypes.pointer(PoseStruct((c_double * 12)(*matrix.ravel())))


class Poses:
    """A table of poses over time, from a file or from an array with a row a time.

    table: a file (.csv, .npy, YRT-PET's motion .csv), or an array: (n, 8) of time, quaternion w x y z and translation,
    or (n, 13) of time and a 3 x 4 matrix row by row. A row of nan behind its time is a pose that is not known.
    kind: "object", "bed", "gantry" or "any"; angles are read for a gantry.
    rule: what holds between rows, "linear" or "step"; "file" is what the file says, or linear.
    inverse: the rows are inverse poses.
    axes: 3 x 4 matrix C of the tracker's axes in the scanner's; each pose P becomes C P C^-1, after `inverse`.
    """

    def __init__(
        self,
        table: Union[str, os.PathLike[str], Any],
        *,
        kind: str = "any",
        rule: str = "file",
        inverse: bool = False,
        axes: Any = None,
    ):
        how = PosesOptions(
            ctypes.sizeof(PosesOptions),
            _word(KINDS, kind, "kind"),
            _word(RULES, rule, "rule"),
            bool(inverse),
            _axes(axes),
        )
        self._handle = Handle(lib.iso_poses_free)
        pointer = byref(self._handle.pointer)
        if isinstance(table, (str, os.PathLike)):
            check(lib.iso_poses_read(pointer, path_of(table), byref(how)))
            return
        rows = np.ascontiguousarray(table, dtype=float)
        if rows.ndim != 2:
            raise errors.ArgumentError(f"poses: given an array of shape {rows.shape}, wanted (n, 8) or (n, 13)")
        check(lib.iso_poses_create(pointer, rows.ctypes.data, len(rows), rows.shape[1], byref(how), b"poses"))

    def __len__(self) -> int:
        return int(lib.iso_poses_rows(self._handle.pointer))

    @property
    def rule(self) -> str:
        """ "linear" or "step"."""
        return RULES[lib.iso_poses_rule(self._handle.pointer)]

    @property
    def times(self) -> np.ndarray:
        """When each row begins, s. YRT-PET's files have a first row at -inf, the identity."""
        p = self._handle.pointer
        return np.array([lib.iso_poses_time(p, k) for k in range(len(self))])

    @property
    def note(self) -> str:
        """What looks wrong, in words; "" if nothing does."""
        return lib.iso_poses_note(self._handle.pointer).decode()

    def at(self, time_s: Any) -> np.ndarray:
        """Poses at times, s: an array (..., 3, 4) of R and T. Where the pose is not known, it is nan."""
        times = np.asarray(time_s, dtype=float)
        found = np.full((*times.shape, 12), np.nan)
        flat, pose = found.reshape(-1, 12), PoseStruct()
        for i, t in enumerate(times.ravel()):
            if lib.iso_poses_at(byref(pose), self._handle.pointer, t):
                flat[i] = pose.m
        return found.reshape(*times.shape, 3, 4)

    def write(self, path: Union[str, os.PathLike[str]], *, force: bool = False) -> None:
        """Writes .csv, .npy of (n, 8), or, to a name that ends in .yrt.csv, YRT-PET's motion file."""
        check(lib.iso_poses_write(path_of(path), self._handle.pointer, bool(force)))
