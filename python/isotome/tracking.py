# SPDX-License-Identifier: BSD-3-Clause
"""Registration of images, and the motion of a head. Lengths are mm.

Poses are arrays of 3 x 4 numbers, R and T of x_moved = R x_fixed + T.

    isotome.register(moved, fixed).pose
    np.save("poses.npy", isotome.track("head.Cdh").poses)
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any, NamedTuple, Union

import numpy as np

from . import _abi, _arrays, errors
from ._abi import declare, handle, lib, out, vector
from ._call import Handle, call, check
from ._checks import integer, number
from ._inputs import context_of, run
from .context import Context, Tell
from .eventfiles import _EventsOptions
from .files import path_of
from .grid import Grid
from .image import Image
from .scanner import Scanner

Path = Union[str, "os.PathLike[str]"]


class _Registered(ctypes.Structure):  # register.h
    _c_name_ = "iso_registered"
    _fields_ = [
        ("size", c_size_t),
        ("pose", c_double * 12),
        ("correlation", c_double),
        ("steps", c_int),
        ("ended", c_bool),
    ]


class _Track(ctypes.Structure):  # register.h
    _c_name_ = "iso_track"
    _fields_ = [
        ("size", c_size_t),
        ("scanner", c_void_p),
        ("grid", _abi.Grid),
        ("frame_s", c_double),
        ("events", c_int64),
        ("reference_frames", c_int),
        ("reference", POINTER(_abi.Array)),
        ("rounds", c_int),
        ("iterations", c_int),
        ("smooth_mm", c_double),
        ("tof_fwhm_ps", c_double),
        ("mu", POINTER(_abi.Array)),
    ]


class _Frame(ctypes.Structure):  # register.h
    _c_name_ = "iso_tracked_frame"
    _fields_ = [
        ("from_s", c_double),
        ("to_s", c_double),
        ("events", c_int64),
        ("steps", c_int),
        ("correlation", c_double),
        ("known", c_bool),
        ("pose", c_double * 12),
    ]


class _Tracked(ctypes.Structure):  # register.h
    _c_name_ = "iso_tracked"
    _fields_ = [
        ("size", c_size_t),
        ("grid", _abi.Grid),
        ("tof_fwhm_ps", c_double),
        ("n", c_int64),
        ("empty", c_int64),
        ("outliers", c_int64),
        ("frame", POINTER(_Frame)),
    ]


declare(
    {
        "iso_register_create": (c_int, [out, handle, POINTER(_abi.Grid), vector]),
        "iso_register_find": (c_int, [POINTER(_Registered), handle, vector, POINTER(c_double), c_int]),
        "iso_register_free": (None, [handle]),
        "iso_track_events": (c_int, [POINTER(_Tracked), handle, handle, POINTER(_Track)]),
        "iso_tracked_free": (None, [POINTER(_Tracked)]),
        "iso_event_file_open": (c_int, [out, ctypes.c_char_p, POINTER(_EventsOptions)]),
        "iso_event_file_close": (None, [handle]),
    }
)


class Registered(NamedTuple):
    """What `register` finds."""

    pose: np.ndarray  #: (3, 4): x_moved = R x_fixed + T
    correlation: float  #: of the two images over the object; nan: the moved image has nothing there
    steps: int  #: of all levels
    ended: bool  #: by a small step; False: by their number, or outside the image


class Tracked(NamedTuple):
    """What `track` finds, a value a frame."""

    poses: np.ndarray  #: (n, 13): middle of the frame in s, 3 x 4 matrix row by row; nan: not known
    from_s: np.ndarray
    to_s: np.ndarray
    events: np.ndarray
    steps: np.ndarray
    correlation: np.ndarray
    grid: Grid  #: of the images of frames
    tof_fwhm_ps: float  #: that was used; 0: none


def _on_grid(image: Any, name: str) -> tuple[np.ndarray, Grid]:
    grid = getattr(image, "grid", None)
    if grid is None:
        given = type(image).__name__
        raise errors.ArgumentError(f"{name}: given {given} without a grid, wanted isotome.Image(values, grid)")
    return _arrays.given(_arrays.real(image, name), grid.shape, name), grid


def _given(image: Any, name: str) -> Any:
    """The struct of an image that may be absent; it keeps the values alive."""
    if image is None:
        return None
    values, on = _on_grid(image, name)
    array = _arrays.as_struct(np.asarray(values))
    array.has_grid, array.grid = True, on._struct()
    return ctypes.pointer(array)


def _pose(value: Any, name: str) -> np.ndarray:
    p = np.ascontiguousarray(value, float)
    if p.shape != (3, 4) or not np.isfinite(p).all():
        raise errors.ArgumentError(f"{name}: given shape {p.shape}, wanted 3 x 4 finite numbers")
    return p


def register(moved: Image, fixed: Image, start: Any = None, context: Context | None = None) -> Registered:
    """The pose of the object in `moved` relative to `fixed`, two images on one grid.

    Least squares with a free factor of brightness, by inverse compositional Gauss-Newton, with both images smoothed by
    12 mm, 6 mm and not at all.

    start: a 3 x 4 pose to begin with, or a list of poses; the one that fits best is taken. Else the identity.
    """
    context = context_of(context)
    (x, grid), (f, of) = _on_grid(moved, "moved"), _on_grid(fixed, "fixed")
    if grid != of:
        raise errors.ArgumentError("moved: lies on another grid than fixed, wanted the same")
    starts = [] if start is None else [start] if np.ndim(start) == 2 else list(start)
    begin = np.array([_pose(s, "start") for s in starts], float).reshape(-1, 12)
    g, r = grid._struct(), Handle(lib.iso_register_free, context._handle)
    found = _Registered(size=ctypes.sizeof(_Registered))
    call(context, lib.iso_register_create, byref(r.pointer), context._pointer, byref(g), f.ctypes.data)
    call(context, lib.iso_register_find, byref(found), r.pointer, x.ctypes.data,
         begin.ctypes.data_as(POINTER(c_double)), len(begin))
    return Registered(np.array(found.pose).reshape(3, 4), found.correlation, found.steps, found.ended)


def track(
    path: Path,
    scanner: Scanner | Path | None = None,
    frame_s: float = 1,
    events: int = 400000,
    reference_frames: int = 2,
    reference: Image | None = None,
    rounds: int = 2,
    iterations: int = 4,
    smooth_mm: float = 6,
    grid: Grid | None = None,
    tof_fwhm_ps: float | None = None,
    mu: Image | None = None,
    context: Context | None = None,
    progress: Tell = None,
) -> Tracked:
    """The motion of a head, from a file of its events with times: as `isotome motion`.

    Each frame lasts at least frame_s seconds and until it has `events` events (0: any number). It is reconstructed by
    `iterations` of MLEM, filtered by smooth_mm, and registered to a reference.

    reference: an image in place of the mean of the first `reference_frames` frames.
    rounds: from the second on the reference is the mean of all frames, each moved back by its pose.
    grid: grid of the frames; else the field of view with voxels of 4 mm.
    tof_fwhm_ps: resolution in place of that of the file or the scanner; 0: no time of flight.
    mu: attenuation, 1/mm, as the head lies in the reference; it moves with the head.
    """
    context, file = context_of(context), path_of(path)
    of = None if scanner is None else Scanner._of(scanner)
    o = _EventsOptions(size=ctypes.sizeof(_EventsOptions), ctx=context._pointer)
    p = _Track(size=ctypes.sizeof(_Track), frame_s=number(frame_s, "frame_s", 0.01))
    p.smooth_mm, p.events = number(smooth_mm, "smooth_mm", 0.1), integer(events, "events", 0) or -1
    p.reference_frames = integer(reference_frames, "reference_frames", 1, 10**6)
    p.rounds = integer(rounds, "rounds", 1, 20)
    p.iterations = integer(iterations, "iterations", 1, 1000)
    if tof_fwhm_ps is not None:
        p.tof_fwhm_ps = number(tof_fwhm_ps, "tof_fwhm_ps", 0) or -1
    if of is not None:
        o.scanner = p.scanner = of._pointer
    if grid is not None:
        p.grid = Grid._struct(grid)
    p.reference, p.mu = _given(reference, "reference"), _given(mu, "mu")
    opened, found = Handle(lib.iso_event_file_close, context._handle), _Tracked(size=ctypes.sizeof(_Tracked))
    check(lib.iso_event_file_open(byref(opened.pointer), file, byref(o)))
    run(context, progress, lib.iso_track_events, byref(found), context._pointer, opened.pointer, byref(p))
    try:
        f = [found.frame[k] for k in range(found.n)]
        middle = [[0.5 * (k.from_s + k.to_s), *(k.pose if k.known else [np.nan] * 12)] for k in f]
        return Tracked(
            np.array(middle), np.array([k.from_s for k in f]), np.array([k.to_s for k in f]),
            np.array([k.events for k in f]), np.array([k.steps for k in f]), np.array([k.correlation for k in f]),
            Grid._of(found.grid), found.tof_fwhm_ps)
    finally:
        lib.iso_tracked_free(byref(found))
