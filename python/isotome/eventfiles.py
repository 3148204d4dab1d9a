# SPDX-License-Identifier: BSD-3-Clause
"""Files of list-mode events: read and written in all formats of the library.

    events = isotome.read_events("scan.Cdh")
    isotome.write_events("some.lmdT", events[:1000])
"""

from __future__ import annotations

import ctypes
import os
import warnings
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_void_p
from typing import Union

import numpy as np

from . import _abi, _arrays, errors
from ._abi import declare, lib
from ._call import call, check, text
from ._checks import number
from ._inputs import context_of
from .context import Context
from .events import Events, adopted, strip_struct
from .files import path_of
from .scanner import Scanner

Path = Union[str, "os.PathLike[str]"]


class _EventsOptions(ctypes.Structure):  # events.h
    _c_name_ = "iso_events_options"
    _fields_ = [
        ("size", c_size_t),
        ("scanner", c_void_p),
        ("gate_mask", c_char_p),
        ("trues_only", c_bool),
        ("swap_dt", c_bool),
        ("ctx", c_void_p),
        ("delayeds", c_bool),
        ("no_multiplicity", c_bool),
        ("tree", c_char_p),
        ("scanner_differs", c_bool),
        ("bins", c_char_p),
        ("negative", c_char_p),
        ("moving", c_bool),
    ]


class _StripOptions(ctypes.Structure):  # strip.h
    _c_name_ = "iso_strip_options"
    _fields_ = [("size", c_size_t), ("mm", c_double), ("dl_is_time", c_bool), ("ctx", c_void_p)]


declare(
    {
        "iso_events_read": (c_int, [POINTER(_abi.Events), c_char_p, POINTER(_EventsOptions)]),
        "iso_events_write_with": (c_int, [c_char_p, POINTER(_abi.Events), c_void_p, c_char_p]),
        "iso_events_write_check": (c_int, [c_char_p, c_bool]),
        "iso_strip_events_read": (c_int, [POINTER(_abi.StripEvents), c_char_p, POINTER(_StripOptions)]),
        "iso_strip_events_write": (c_int, [c_char_p, POINTER(_abi.StripEvents), c_char_p]),
        "iso_strip_events_write_check": (c_int, [c_char_p, c_bool]),
    }
)


def read_events(
    path: Path,
    scanner: Scanner | Path | None = None,
    gate_mask: str | None = None,
    trues_only: bool = False,
    swap_dt: bool = False,
    context: Context | None = None,
    delayeds: bool = False,
    tree: str | None = None,
    scanner_differs: bool = False,
    bins: str | None = None,
    negative: str | None = None,
) -> Events:
    """Events of a file, by its content and suffix: .lmdT, .Cdh (CASToR), .dat or .txt (GATE ASCII), .root and .hdf5
    (GATE), .npy.

    scanner: for files of crystal numbers. One that differs from the scanner that the file brings is refused, unless
        scanner_differs: then the numbers are those of `scanner`. gate_mask: the 18 column switches of GATE ASCII, "1 1 0 ...".
    trues_only: GATE: both photons of one decay, neither scattered.
    swap_dt: the file's times have the other sign.
    delayeds: of a file that holds both (PETLINK): the delayed coincidences in place of the prompts.
    tree: the tree of a ROOT file, or table of an HDF5 file, of GATE; else Coincidences.
    bins: projection data: values are "counts" or "line-integrals"; else the values tell.
    negative: projection data: "clip", "keep" or "refuse" values below 0; else clip those that are at most 1 % of the sum.
    """
    context, file, e = context_of(context), path_of(path), _abi.Events()
    o = _EventsOptions(size=ctypes.sizeof(_EventsOptions), ctx=context._pointer)
    o.trues_only, o.swap_dt, o.delayeds = bool(trues_only), bool(swap_dt), bool(delayeds)
    o.scanner_differs = bool(scanner_differs)
    if gate_mask is not None:
        o.gate_mask = text(str(gate_mask), "gate_mask")
    for name, value in (("tree", tree), ("bins", bins), ("negative", negative)):
        if value is not None:
            setattr(o, name, text(str(value), name))
    of = None if scanner is None else Scanner._of(scanner)
    if of is not None:
        o.scanner = of._pointer
    call(context, lib.iso_events_read, byref(e), file, byref(o))
    if e.n_lines_bad:
        warnings.warn(
            f"{os.fspath(path)}: {e.n_lines_bad} lines can't be used, the first is line {e.first_line_bad}",
            errors.IsotomeWarning,
            stacklevel=2,
        )
    return adopted(e)


def write_events(
    path: Path,
    events: Events | np.ndarray,
    scanner: Scanner | Path | None = None,
    force: bool = False,
) -> None:
    """Writes events by suffix: .lmdT, .npy (n, 7), or .Cdh, which keeps all but needs a scanner.

    force: an existing file is replaced. There is no file unless it is whole.
    """
    if isinstance(events, np.ndarray):
        events = Events(events)
    if not isinstance(events, Events):
        raise errors.ArgumentError(f"events: given {type(events).__name__}, wanted Events or an array")
    file, of = path_of(path), None if scanner is None else Scanner._of(scanner)
    e, _kept = events._struct()
    check(lib.iso_events_write_check(file, bool(force)))
    check(lib.iso_events_write_with(file, byref(e), of._pointer if of else None, None))


def read_strip_events(
    path: Path, mm: float = 1, dl_is_time: bool = False, context: Context | None = None
) -> np.ndarray:
    """(n, 3) float32 of two strips: z_up, z_down, dl in mm; .f32, .raw, .txt or .npy.

    mm: length of the file's unit. dl_is_time: the third value is t_up - t_down in ps.
    """
    context, file, e = context_of(context), path_of(path), _abi.StripEvents()
    o = _StripOptions(size=ctypes.sizeof(_StripOptions), mm=number(mm, "mm", 0), ctx=context._pointer)
    o.dl_is_time = bool(dl_is_time)
    call(context, lib.iso_strip_events_read, byref(e), file, byref(o))
    return _arrays.adopt(e.v, 3 * e.n).reshape(-1, 3)


def write_strip_events(path: Path, events: np.ndarray, force: bool = False) -> None:
    """Writes (n, 3) events of two strips as .f32, .raw, .txt or .npy; force: an existing file is replaced."""
    file, (e, _kept) = path_of(path), strip_struct(events)
    check(lib.iso_strip_events_write_check(file, bool(force)))
    check(lib.iso_strip_events_write(file, byref(e), None))
