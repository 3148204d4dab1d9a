# SPDX-License-Identifier: BSD-3-Clause
"""Pages for a browser: reports of images in files, and a viewer of an image in memory, one HTML file each."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t
from typing import Any, Sequence

from . import _abi, _arrays, errors
from ._abi import lib
from ._call import check
from ._checks import integer, number, numbers, place_of, rising, utf8
from .files import path_of


class _Report(ctypes.Structure):  # report.h
    _c_name_ = "iso_report_options"
    _fields_ = [
        ("size", c_size_t),
        ("title", c_char_p),
        ("truth", c_char_p),
        ("overlay", c_char_p),
        ("spheres", c_char_p),
        ("profile", POINTER(c_double)),
        ("plain", c_bool),
    ]


class _Viewer(ctypes.Structure):  # report.h
    _c_name_ = "iso_viewer_options"
    _fields_ = [
        ("size", c_size_t),
        ("title", c_char_p),
        ("name", c_char_p),
        ("map", c_char_p),
        ("frame", c_int64),
        ("window", c_double * 2),
        ("at", POINTER(c_double)),
        ("overlay_map", c_char_p),
        ("opacity", c_double),
        ("labels", c_int),
    ]


_abi.declare(
    {
        "iso_report_write": (c_int, [c_char_p, c_int, POINTER(c_char_p), POINTER(_Report)]),
        "iso_viewer_write": (
            c_int,
            [c_char_p, POINTER(_abi.Array), POINTER(_abi.Array), POINTER(_Viewer)],
        ),
    }
)


def write_report(
    path: Any,
    images: Any,
    *,
    title: str | None = None,
    truth: Any = None,
    overlay: Any = None,
    spheres: Any = None,
    profile: Sequence[Sequence[float]] | None = None,
    viewer: bool = True,
) -> None:
    """Writes the page of `isotome report`: images, and how they were made, from the records beside them.

    images: a file, or up to 6 to stand side by side. title: None: their names.
    truth: a file: what the images should be, on the same grid and any scale. overlay: a file of any grid, to lay
        over the first image. spheres: a file: where spheres and background are, for contrast and noise.
    profile: where it begins and ends, ((x, y, z), (x, y, z)) in mm; None: along x, where the signal is.
    viewer: False: the page to be printed alone, without a script and the images' values.
    """
    names = [images] if isinstance(images, (str, bytes, os.PathLike)) else list(images)
    paths = (c_char_p * max(1, len(names)))(*(path_of(name) for name in names))
    o = _Report(size=ctypes.sizeof(_Report), plain=not viewer)
    o.title = None if title is None else utf8(title, "title")
    o.truth, o.overlay, o.spheres = (None if p is None else path_of(p) for p in (truth, overlay, spheres))
    if profile is not None:
        if len(profile) != 2:
            raise errors.ArgumentError("profile: wanted two places, ((x, y, z), (x, y, z))")
        ends = [v for place in profile for v in numbers(place, 3, "profile")]
        o.profile = (c_double * 6)(*ends)
    check(lib.iso_report_write(path_of(path), len(names), paths, byref(o)))


def write_viewer(
    path: Any,
    image: Any,
    *,
    overlay: Any = None,
    title: str | None = None,
    name: str | None = None,
    map: str | None = None,
    frame: int | None = None,
    window: Any = None,
    at: Sequence[float] | None = None,
    overlay_map: str | None = None,
    opacity: float | None = None,
    labels: str | None = None,
) -> None:
    """Writes a page to look around in an image: planes, window, values, profiles, regions, frames, a projection.

    image: an Image, or an array (ny, nx), (nz, ny, nx) or (nt, nz, ny, nx). overlay: another to lay over it.
    name: name of the image, and of the file that a reader can save. title: heading; None takes the name.
    map, frame, window, at: what the page shows first, as in `picture`; None: what suits the image.
    overlay_map, opacity: colours and opacity of the overlay; None: grey, 0.4.
    labels: "anatomy" (R L A P S I), "axes" (+x +y +z) or "none"; None: anatomy where there is a grid.
    """
    values = _arrays.real(image, "image", clip=True)
    over = None if overlay is None else _arrays.real(overlay, "overlay", clip=True)
    o = _Viewer(size=ctypes.sizeof(_Viewer), frame=-1 if frame is None else integer(frame, "frame", 0))
    o.title, o.name, o.map = (
        None if v is None else utf8(v, k) for k, v in (("title", title), ("name", name), ("map", map))
    )
    if window is not None:
        o.window = rising(window, "window")
    if overlay_map is not None:
        o.overlay_map = utf8(overlay_map, "overlay_map")
    if opacity is not None:
        o.opacity = number(opacity, "opacity")
    if labels is not None:
        o.labels = place_of(("anatomy", "axes", "none"), labels, "labels")
    if at is not None:
        o.at = (c_double * 3)(*numbers(at, 3, "at"))
    under = None if over is None else byref(_arrays.as_struct(over))
    check(lib.iso_viewer_write(path_of(path), byref(_arrays.as_struct(values)), under, byref(o)))
