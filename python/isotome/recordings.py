# SPDX-License-Identifier: BSD-3-Clause
"""Recordings: files that hold optoacoustic traces with their transducers: IPASC (.hdf5, .h5), iThera (.msot).

    scan = isotome.read_recording("scan.hdf5")
    traces = scan.read(wavelength=0, frame=3)
    isotome.write_recording("mine.hdf5", traces, scan.transducers)
"""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t
from typing import Any, Union

import numpy as np

from . import _abi, _arrays, errors
from ._abi import declare, handle, lib, out, vector
from ._call import Handle, check
from ._checks import integer
from ._inputs import context_of, room
from .files import path_of
from .scanner import Scanner
from .transducers import FacesStruct, Transducers, TransducersStruct, of_struct

Path = Union[str, "os.PathLike[str]"]


class _Info(ctypes.Structure):  # recording.h
    _c_name_ = "iso_recording_info"
    _fields_ = [
        ("size", c_size_t),
        ("t", TransducersStruct),
        ("wavelengths", c_int64),
        ("frames", c_int64),
        ("wavelength_nm", POINTER(c_double)),
        ("has_field", c_bool),
        ("field", c_double * 6),
        ("n_warnings", c_int),
        ("warning", (c_char * 200) * 10),
        ("faces", POINTER(FacesStruct)),
        ("energy_mj", POINTER(c_double)),
    ]


declare(
    {
        "iso_is_recording": (c_bool, [c_char_p]),
        "iso_recording_open": (c_int, [out, c_char_p]),
        "iso_recording_of": (c_int, [out, POINTER(TransducersStruct), POINTER(_abi.Array)]),
        "iso_recording_free": (None, [handle]),
        "iso_recording_info": (POINTER(_Info), [handle]),
        "iso_recording_read": (c_int, [vector, handle, c_int64, c_int64]),
        "iso_recording_range": (c_int, [POINTER(c_double), handle]),
        "iso_recording_write": (c_int, [c_char_p, handle, c_char_p]),
        "iso_recording_write_check": (c_int, [c_char_p, c_bool]),
    }
)


class Recording:
    """Traces of one array of transducers for some wavelengths and frames: read when they are asked for."""

    def __init__(self, path: Path):
        file = path_of(path)
        self.path = os.path.abspath(os.fsdecode(file))
        self._handle = Handle(lib.iso_recording_free)
        self._lock = threading.Lock()  # one thread at a time reads
        check(lib.iso_recording_open(byref(self._handle.pointer), file))
        info = lib.iso_recording_info(self._handle.pointer).contents
        self.transducers: Transducers = of_struct(info.t, info.faces)  # speed 0: not said
        self.wavelengths: int = info.wavelengths  # their number
        self.frames: int = info.frames
        nm = info.wavelength_nm
        self.wavelength_nm: np.ndarray | None = np.array(nm[: info.wavelengths]) if nm else None
        mj, shape = info.energy_mj, (info.frames, info.wavelengths)
        # of the laser's pulse, (frames, wavelengths); None: not said
        self.energy_mj: np.ndarray | None = np.ctypeslib.as_array(mj, shape).copy() if mj else None
        # of view, mm: x from, to, y from, to, z from, to
        self.field: tuple[float, ...] | None = tuple(info.field) if info.has_field else None
        told = [info.warning[k].value for k in range(info.n_warnings)]
        self.warnings: list[str] = [line.decode(errors="replace") for line in told]

    def __fspath__(self) -> str:
        return self.path

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(frames, wavelengths, transducers, samples)."""
        return (self.frames, self.wavelengths, *self.transducers.shape)

    def read(self, wavelength: int = 0, frame: int = 0) -> np.ndarray:
        """Traces (n, samples) of a wavelength and a frame, each from 0."""
        w = integer(wavelength, "wavelength", 0, self.wavelengths - 1)
        f = integer(frame, "frame", 0, self.frames - 1)
        y = room(context_of(None), self.transducers.shape, "traces")
        with self._lock:
            check(lib.iso_recording_read(_arrays.address(y), self._handle.pointer, w, f))
        return y

    def range(self) -> tuple[float, float]:
        """Least and greatest value of all traces."""
        ends = (c_double * 2)()
        with self._lock:
            check(lib.iso_recording_range(ends, self._handle.pointer))
        return ends[0], ends[1]

    def __repr__(self) -> str:
        return (
            f"<isotome.Recording {os.path.basename(self.path)}: {self.frames} frames of {self.wavelengths} "
            f"wavelengths, {self.transducers.n} transducers of {self.transducers.samples} samples>"
        )


def read_recording(path: Path) -> Recording:
    """A file of traces with their transducers: its head; traces are read when asked for.

    What is read otherwise than the file has it comes as IsotomeWarning.
    """
    recording = Recording(path)
    for line in recording.warnings:
        warnings.warn(f"{os.fspath(path)}: {line}", errors.IsotomeWarning, stacklevel=2)
    return recording


def write_recording(path: Path, traces: np.ndarray, transducers: Any, force: bool = False) -> None:
    """Writes traces (n, samples) or (frames, wavelengths, n, samples) with their transducers as IPASC.

    transducers: Transducers, a Scanner or a Recording, or the file of one. Its traces begin at the laser
    pulse: those that begin later have zeros put before them. It has no place for areas, impulse response
    and Grueneisen parameter. force: an existing file is replaced.
    """
    file, y = path_of(path), _arrays.given(traces, np.shape(traces), "traces")
    t, _kept = any_transducers(transducers)._struct(silent=True)
    shape = (t.n, t.samples)
    if y.ndim not in (2, 4) or y.shape[-2:] != shape or y.size == 0:
        raise errors.ArgumentError(
            f"traces: given shape {y.shape}, wanted {shape} or (frames, wavelengths, {t.n}, {t.samples})"
        )
    check(lib.iso_recording_write_check(file, bool(force)))
    made, array = Handle(lib.iso_recording_free), _arrays.as_struct(y)
    check(lib.iso_recording_of(byref(made.pointer), byref(t), byref(array)))
    check(lib.iso_recording_write(file, made.pointer, None))


def any_transducers(given: Any) -> Transducers:
    """Those of what a user gave: themselves, a Scanner, a Recording, or the file of one of these."""
    if isinstance(given, Transducers):
        return given
    if isinstance(given, (str, os.PathLike)) and not isinstance(given, (Scanner, Recording)):
        given = read_recording(given) if lib.iso_is_recording(path_of(given)) else Scanner(given)
    found = getattr(given, "transducers", None)
    if not isinstance(found, Transducers):
        raise errors.ArgumentError(f"scanner: given {given!r}, wanted transducers")
    return found
