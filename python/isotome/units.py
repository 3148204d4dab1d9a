# SPDX-License-Identifier: BSD-3-Clause
"""Units of PET images: calibrations of scanners, and PET-BIDS. Bq/ml and SUV are parameters of a problem:

    isotome.calibrate("phantom.nii", 5300, "cylinder:0,0,0,80,120").write("ring.json")
    image = isotome.ray("scan.Cdh", ..., isotope="F-18", calibration="ring.json").reconstruct()
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t
from pathlib import Path
from typing import Any

from . import _abi, errors
from ._abi import handle, lib
from ._call import Handle, check, text
from ._checks import number


class _Calibrate(ctypes.Structure):  # units.h
    _c_name_ = "iso_calibrate"
    _fields_ = [
        ("size", c_size_t),
        ("image", c_char_p),
        ("roi", c_char_p),
        ("concentration", c_double),
        ("at", c_char_p),
        ("started_at", c_char_p),
    ]


class _BidsKey(ctypes.Structure):
    _c_name_ = "iso_bids_key"
    _fields_ = [("key", c_char_p), ("name", c_char_p), ("help", c_char_p)]


class _Bids(ctypes.Structure):
    _c_name_ = "iso_bids"
    _fields_ = [
        ("size", c_size_t),
        ("image", c_char_p),
        ("folder", c_char_p),
        ("subject", c_char_p),
        ("session", c_char_p),
        ("tracer", c_char_p),
        ("reconstruction", c_char_p),
        ("run", c_char_p),
        ("value", POINTER(c_char_p)),
        ("with", c_char_p),
        ("force", c_bool),
    ]


_abi.declare(
    {
        "iso_branching": (c_int, [POINTER(c_double), c_char_p]),
        "iso_calibrate": (c_int, [_abi.out, POINTER(_Calibrate)]),
        "iso_calibration_read": (c_int, [_abi.out, c_char_p]),
        "iso_calibration_write": (c_int, [c_char_p, handle, c_bool]),
        "iso_calibration_free": (None, [handle]),
        "iso_calibration_k": (c_double, [handle]),
        "iso_calibration_error": (c_double, [handle]),
        "iso_calibration_scanner": (c_char_p, [handle]),
        "iso_bids_key": (POINTER(_BidsKey), [c_int]),
        "iso_bids_write": (c_int, [c_char_p, c_size_t, POINTER(_Bids)]),
    }
)

_PATH_MAX = 4096


def _path(value: Any, name: str) -> bytes:
    return text(os.fspath(value) if isinstance(value, os.PathLike) else value, name)


def _optional(value: Any, name: str) -> bytes | None:
    return None if value is None else _path(value, name)


def branching(isotope: str) -> float:
    """Positrons a decay of an emitter such as "F-18"."""
    share = c_double()
    check(lib.iso_branching(byref(share), text(isotope, "isotope")))
    return share.value


class Calibration:
    """K of a scanner: Bq/ml = K f / (T b), with f the image in counts/mm, T the length of the frame in s
    and b the branching fraction of the isotope. Made by `isotome.calibrate`, or read from its file."""

    def __init__(self, path: str | os.PathLike[str]):
        self._handle = Handle(lib.iso_calibration_free)
        check(lib.iso_calibration_read(byref(self._handle.pointer), _path(path, "path")))

    @property
    def k(self) -> float:
        """Bq/ml s per count/mm."""
        return lib.iso_calibration_k(self._handle.pointer)

    @property
    def error(self) -> float:
        """Standard error of K; 0: not known."""
        return lib.iso_calibration_error(self._handle.pointer)

    @property
    def scanner(self) -> str:
        """Its name; "": not said."""
        return lib.iso_calibration_scanner(self._handle.pointer).decode()

    def write(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """As .json, which parameter `calibration` takes; `force`: replace an existing file."""
        check(lib.iso_calibration_write(_path(path, "path"), self._handle.pointer, force))

    def __repr__(self) -> str:
        return f"Calibration of {self.scanner!r}: K = {self.k:.6g} +- {self.error:.2g}"


def calibrate(
    image: str | os.PathLike[str],
    concentration: float,
    roi: str | os.PathLike[str],
    at: str | None = None,
    started_at: str | None = None,
) -> Calibration:
    """The calibration of a scanner from the image of a uniform phantom.

    image: file in counts/mm, with the record of its reconstruction beside it
    concentration: in the phantom, Bq/ml
    roi: "cylinder:X,Y,Z,R,LENGTH[,AXIS]", "sphere:X,Y,Z,R" or "box:X0,X1,Y0,Y1,Z0,Z1", in mm; or a file
        of an image whose voxels are not 0 there
    at: when it was so much, "2026-11-16T14:30:15" or "14:30"; None: at the start of the scan
    started_at: the scan; None: what the record says
    """
    p = _Calibrate(ctypes.sizeof(_Calibrate))
    p.image, p.roi = _path(image, "image"), _path(roi, "roi")
    p.concentration = number(concentration, "concentration")
    p.at, p.started_at = _optional(at, "at"), _optional(started_at, "started_at")
    made = Calibration.__new__(Calibration)
    made._handle = Handle(lib.iso_calibration_free)
    check(lib.iso_calibrate(byref(made._handle.pointer), byref(p)))
    return made


def _bids_keys() -> dict[str, int]:
    """Those that a user may have to say, by their place in the library's table."""
    places: dict[str, int] = {}
    while key := lib.iso_bids_key(len(places)):
        places[key.contents.key.decode()] = len(places)
    return places


def bids(
    image: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    subject: str,
    session: str | None = None,
    tracer: str | None = None,
    reconstruction: str | None = None,
    run: str | None = None,
    with_file: str | os.PathLike[str] | None = None,
    force: bool = False,
    **keys: Any,
) -> Path:
    """Puts an image in Bq/mL, or in SUV, into a PET-BIDS data set, and tells its place there.

    image: file, with the record of its reconstruction beside it
    folder: folder of the data set; made, with its description, if it does not exist
    subject, session, tracer, reconstruction, run: labels of letters and digits
    with_file: JSON of further keys of the sidecar
    keys: of the sidecar, such as TracerName="FDG"; those that are missing are named by the exception
    """
    places = _bids_keys()
    values = (c_char_p * len(places))()
    for key, value in keys.items():
        if key not in places:
            raise errors.ArgumentError(f"{key}: wanted one of {', '.join(places)}; others come by with_file")
        values[places[key]] = text(value if isinstance(value, str) else repr(number(value, key)), key)
    p = _Bids(ctypes.sizeof(_Bids))
    p.image, p.folder, p.force = _path(image, "image"), _path(folder, "folder"), force
    for name, label in (
        ("subject", subject),
        ("session", session),
        ("tracer", tracer),
        ("reconstruction", reconstruction),
        ("run", run),
        ("with", with_file),
    ):
        setattr(p, name, _optional(label, name))
    p.value = values
    place = ctypes.create_string_buffer(_PATH_MAX)
    check(lib.iso_bids_write(place, len(place), byref(p)))
    return Path(os.fsdecode(place.value))
