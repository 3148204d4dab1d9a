# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of images: slices, montages, projections, one or several beside each other."""

from __future__ import annotations

import ctypes
import importlib
import inspect
import math
import os
import shutil
import subprocess
import sys
import tempfile
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _abi, _arrays, errors
from ._abi import lib
from ._call import check
from ._checks import integer, number, numbers, place_of, rising, utf8
from .files import path_of
from .image import Image


class _Picture(ctypes.Structure):  # picture.h
    _c_name_ = "iso_picture"
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("frame", c_int64),
        ("at", c_int),
        ("point", c_double * 3),
        ("axis", c_char),
        ("every", c_int64),
        ("columns", c_int64),
        ("window", c_double * 2),
        ("percent", c_double * 2),
        ("map", c_char_p),
        ("zoom", c_double),
        ("linear", c_bool),
        ("radiological", c_bool),
        ("crosshair", c_bool),
        ("labels", c_int),
        ("title", c_char_p),
    ]


class _Info(ctypes.Structure):  # picture.h
    _c_name_ = "iso_picture_info"
    _fields_ = [
        ("size", c_size_t),
        ("window", c_double * 2),
        ("map", c_char_p),
        ("min", c_double),
        ("max", c_double),
        ("not_finite", c_int64),
        ("voxel", c_int64 * 3),
        ("point", c_double * 3),
        ("pixels_per_mm", c_double),
        ("panels", c_int64),
    ]


class _Pixels(ctypes.Structure):  # picture.h
    _c_name_ = "iso_pixels"
    _fields_ = [("width", c_int64), ("height", c_int64), ("rgb", c_void_p)]


_abi.declare(
    {
        "iso_picture_render": (
            c_int,
            [POINTER(_Pixels), POINTER(_Info), POINTER(_abi.Array), POINTER(_Picture)],
        ),
        "iso_pixels_free": (None, [POINTER(_Pixels)]),
        "iso_picture_maps": (POINTER(c_char_p), []),
        "iso_picture_write": (c_int, [c_char_p, POINTER(_Pixels), c_char_p]),
        "iso_picture_write_check": (c_int, [c_char_p, c_bool]),
    }
)

# In the order of enum iso_picture_kind, iso_picture_at, iso_picture_labels.
_KINDS = ("slices", "montage", "mip")
_PLACES = ("centre", "max", "point", "object")
_LABELS = ("anatomy", "axes", "none")


def maps() -> tuple[str, ...]:
    """The names of the colour maps."""
    found: list[str] = []
    names = lib.iso_picture_maps()
    while names[len(found)]:
        found.append(names[len(found)].decode())
    return tuple(found)


class PictureInfo(NamedTuple):
    """What a picture shows."""

    window: tuple[float, float]  # values of the first and last colour
    map: str
    min: float  # of the finite values of the frame
    max: float
    not_finite: int  # voxels of the frame; those shown are drawn in magenta
    voxel: tuple[int, int, int]  # x, y, z where slices cross
    point: tuple[float, float, float]  # and its centre: mm, or indices without a grid
    pixels_per_mm: float  # or per voxel, without a grid
    panels: int


class Picture:
    """Pixels, (height, width, 3) uint8: red, green, blue, rows from the top. Jupyter draws it."""

    def __init__(self, pixels: np.ndarray, info: PictureInfo | None = None):
        pixels = _arrays.given_any(pixels, "pixels", np.dtype(np.uint8))
        if pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
            raise errors.ArgumentError(f"pixels: given shape {pixels.shape}, wanted (height, width, 3)")
        self.pixels = pixels
        self.info = info  # None: it was put together from others

    def save(self, path: str | os.PathLike) -> None:
        """Writes the picture as .png, and replaces an existing file."""
        name, (height, width) = path_of(path), self.pixels.shape[:2]
        check(lib.iso_picture_write_check(name, True))
        check(lib.iso_picture_write(name, byref(_Pixels(width, height, self.pixels.ctypes.data)), None))

    def _repr_png_(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="isotome-") as folder:
            path = Path(folder) / "picture.png"
            self.save(path)
            return path.read_bytes()

    def __repr__(self) -> str:
        return f"<isotome.Picture of {self.pixels.shape[1]} x {self.pixels.shape[0]} pixels>"


# ---- one picture ----


def _point(values: np.ndarray, at: Any, axis: int | None) -> tuple[int, tuple[float, ...]]:
    """enum iso_picture_at and the point; a number is a place along the axis of a slice."""
    if isinstance(at, str):
        named = ("object", "centre", "max")
        return _PLACES.index(named[place_of(named, at, "at")]), (0.0, 0.0, 0.0)
    if axis is None or isinstance(at, bool) or not isinstance(at, (int, float, np.integer, np.floating)):
        return _PLACES.index("point"), numbers(at, 3, "at")
    grid = values.grid if isinstance(values, Image) else None
    centre = grid.centre if grid else tuple((n - 1) / 2 for n in values.shape[::-1])
    return _PLACES.index("point"), tuple(float(at) if i == axis else centre[i] for i in range(3))


def taken(pixels: _Pixels) -> np.ndarray:
    """What the library drew, as an array; its own memory is freed."""
    try:
        size = pixels.height, pixels.width, 3
        return np.frombuffer(bytearray(ctypes.string_at(pixels.rgb, math.prod(size))), np.uint8).reshape(size)
    finally:
        lib.iso_pixels_free(byref(pixels))


def _render(values: np.ndarray, how: _Picture) -> tuple[np.ndarray, PictureInfo]:
    pixels, info, a = _Pixels(), _Info(ctypes.sizeof(_Info)), _arrays.as_struct(values)
    how.size = ctypes.sizeof(how)
    check(lib.iso_picture_render(byref(pixels), byref(info), byref(a), byref(how)))
    told = PictureInfo(
        (info.window[0], info.window[1]),
        info.map.decode(),
        info.min,
        info.max,
        info.not_finite,
        (info.voxel[0], info.voxel[1], info.voxel[2]),
        (info.point[0], info.point[1], info.point[2]),
        info.pixels_per_mm,
        info.panels,
    )
    return taken(pixels), told


def _slice(values: np.ndarray, how: _Picture, axis: int, at: Any) -> np.ndarray:
    """The one slice across an axis, 0, 1, 2 for x, y, z: an image of one slice or, without a grid, a plane.

    `how` gets the window of the whole image. That, and which slice it is, the library says: it draws the
    image as small as it can, and tells window and voxel.
    """
    frame = how.frame
    if values.ndim not in (3, 4) or not 0 <= frame < (len(values) if values.ndim == 4 else 1):
        raise errors.ArgumentError(f"slice: given frame {frame} of shape {values.shape}, wanted an image")
    image = values if values.ndim == 3 else values[frame]
    place, point = _point(image, at, axis)
    small = _Picture(at=place, point=point, zoom=1e-3, window=how.window, percent=how.percent, map=how.map)
    _pixels, info = _render(image, small)
    how.window, how.percent, how.frame = info.window, (0.0, 0.0), 0
    k = info.voxel[axis]
    key: list[Any] = [slice(None)] * 3
    key[2 - axis] = slice(k, k + 1) if isinstance(image, Image) and image.grid else k
    return _arrays.real(image[tuple(key)], "image", clip=True)


def _refuse_idle(kind: Any, at: Any, axis: str, every: int, columns: int, crosshair: bool) -> None:
    """Words that say nothing in this kind of picture are mistakes."""
    idle = {
        "at": kind == "montage" and not (isinstance(at, str) and at == "object"),
        "axis": kind in ("slices", "mip") and axis != "z",
        "every": kind != "montage" and every != 0,
        "columns": kind != "montage" and columns != 0,
        "crosshair": kind in ("montage", "slice") and crosshair,
    }
    for name in (name for name, is_idle in idle.items() if is_idle):
        raise errors.ArgumentError(f"{name}: given for kind {kind!r}, which has none")


def picture(
    image: Any,
    kind: str = "slices",
    at: Any = "object",
    *,
    axis: str = "z",
    frame: int = 0,
    every: int = 0,
    columns: int = 0,
    window: Any = None,
    percent: Any = None,
    map: str | None = None,
    zoom: float = 0,
    linear: bool = False,
    radiological: bool = False,
    crosshair: bool = False,
    labels: str | None = None,
    title: str | None = None,
) -> Picture:
    """A picture of an image, with a colour bar and a scale bar; of an array without a grid in voxels.

    kind: "slices" (coronal, sagittal and transverse through a point), "slice" (one, across `axis`),
        "montage" (slices across `axis`, row by row) or "mip" (the greatest values along y, x and z).
    at: where slices cross: "object" (the centre of mass of the upper half of the image smoothed), "centre" (of
        the grid), "max" (the greatest value of the image slightly smoothed), or x, y, z in mm, as indices
        without a grid. A slice also takes one number, its place along the axis.
    axis: axis of a slice or montage, "x", "y" or "z". frame: number of the image in a series, from 0.
    every, columns: montage: one slice in so many, so many in a row; 0: what fills the picture.
    window: values of the first and last colour; None: from 0 to a high percentile of what is inside the object,
        as docs/viewer.md tells, symmetric where values below 0 mean something.
    percent: the same as percentiles of all voxels; (0, 100) is from the least to the greatest value.
    map: see isotome.drawing.maps(); None: "ember", or "blue-red" for a symmetric window.
    zoom: pixels along the shortest edge of a voxel; 0: for a picture about 1000 pixels wide or high.
    linear: interpolates between voxels. radiological: turns x round. crosshair: marks where slices cross.
    labels: "anatomy" (R L A P S I), "axes" (+x +y +z) or "none"; None: anatomy where there is a grid.
    """
    values = _arrays.real(image, "image", clip=True)
    across = place_of("xyz", axis, "axis")
    how = _Picture(axis=axis.encode(), linear=bool(linear), radiological=bool(radiological))
    how.crosshair, how.frame = bool(crosshair), integer(frame, "frame")
    how.every, how.columns = integer(every, "every"), integer(columns, "columns")
    how.labels = place_of(_LABELS, "anatomy" if labels is None else labels, "labels")
    how.map = None if map is None else utf8(map, "map")
    how.title = None if title is None else utf8(title, "title")
    how.zoom = number(zoom, "zoom")
    if window is not None and percent is not None:
        raise errors.ArgumentError("given both window and percent, wanted one of them")
    if window is not None:
        how.window = rising(window, "window")
    if percent is not None:
        how.percent = rising(percent, "percent")
    _refuse_idle(kind, at, axis, how.every, how.columns, how.crosshair)
    if kind == "slice":
        values = _slice(values, how, across, at)
        if values.ndim == 2 and labels is None and axis != "z":
            how.labels = _LABELS.index("none")  # a plane without a grid would be labelled x, y
        how.kind = _KINDS.index("slices" if axis == "z" or values.ndim == 2 else "montage")
    else:
        how.kind = place_of((*_KINDS, "slice"), kind, "kind")
        how.at, how.point = _point(values, at, None)
    return Picture(*_render(values, how))


# ---- several in one ----


def _about_zero(low: float, high: float) -> tuple[float, float]:
    return min(low, -high), max(high, -low)


def _common_percentiles(images: Sequence[np.ndarray], percent: Any, map: str | None) -> Any:
    """Of the values of all of them together; None: there is none that is finite."""
    plain = [np.asarray(image) for image in images]
    found = np.concatenate([x[np.isfinite(x)] for x in plain])
    first, last = rising(percent, "percent")
    if not 0 <= first < last <= 100:
        raise errors.ArgumentError(f"percent: given {percent!r}, wanted 0 to 100")
    if not found.size:
        return None
    low, high = (float(v) for v in np.percentile(found, (first, last)))
    if map == "blue-red" or (map is None and found.min() < 0):
        low, high = _about_zero(low, high)
    return (low, high) if low < high else None


def _common_window(images: Sequence[np.ndarray], **how: Any) -> tuple[float, float]:
    """The widest of the windows that the library chooses for each of them, which it draws as small as it can."""
    drawn = [info for image in images if (info := picture(image, zoom=1e-3, **how).info)]
    windows = [info.window for info in drawn if info.min or info.max] or [drawn[0].window]  # zeros say nothing
    low, high = min(w[0] for w in windows), max(w[1] for w in windows)
    return _about_zero(low, high) if any(w[0] == -w[1] for w in windows) else (low, high)


def _columns(n: int, width: int, height: int) -> int:
    """Of n pictures of one size, the columns that make a sheet near to 8 : 5 with few empty places."""

    def cost(columns: int) -> float:
        rows = -(-n // columns)
        return abs(math.log(columns * width / (rows * height) / 1.6)) + 0.7 * (rows * columns - n)

    return min(range(1, n + 1), key=cost)


def _smaller(drawn: Picture, columns: int, image: np.ndarray, **how: Any) -> Picture:
    """The same picture, so that the sheet gets about 1500 pixels wide: by whole pixels a voxel, if any."""
    assert drawn.info
    grid = image.grid if isinstance(image, Image) else None
    zoom = drawn.info.pixels_per_mm * (min(grid.voxel) if grid else 1) * min(1.0, 1.5 / columns)
    return picture(image, zoom=math.floor(zoom) or zoom, **how)


def _together(pictures: Sequence[Picture], columns: int) -> Picture:
    height = max(p.pixels.shape[0] for p in pictures)
    width = max(p.pixels.shape[1] for p in pictures)
    rows = -(-len(pictures) // columns)
    sheet = np.empty((rows * height, columns * width, 3), np.uint8)
    sheet[...] = pictures[0].pixels[0, 0]  # the colour of the page
    for k, p in enumerate(pictures):
        y, x = k // columns * height, k % columns * width
        sheet[y : y + p.pixels.shape[0], x : x + p.pixels.shape[1]] = p.pixels
    return Picture(sheet)


def pictures(
    images: Sequence[Any],
    titles: Sequence[str] | None = None,
    *,
    columns: int = 0,
    window: Any = None,
    percent: Any = None,
    **how: Any,
) -> Picture:
    """Several images in one picture, all in one window; each in its own if their units differ.

    titles: one an image. columns: images in a row; 0: what fills a sheet.
    window: as in `picture`, for all; "each": every image in its own. The rest as in `picture`, but `title`.
    """
    if window is None and percent is None and len({getattr(image, "unit", "") for image in images}) > 1:
        window = "each"
    given = [_arrays.real(image, f"image {k}", clip=True) for k, image in enumerate(images)]
    if not given:
        raise errors.ArgumentError("images: given none, wanted at least one")
    names = [None] * len(given) if titles is None else list(titles)
    if len(names) != len(given):
        raise errors.ArgumentError(f"titles: given {len(names)} for {len(given)} images, wanted one each")
    columns = integer(columns, "columns", 0)
    if isinstance(window, str):
        place_of(("each",), window, "window")
        how.update(window=None, percent=percent)
    elif window is None:
        words = {name: how[name] for name in ("map", "frame") if name in how}
        if percent is None:
            how["window"] = _common_window(given, **words)
        else:
            how["window"] = _common_percentiles(given, percent, how.get("map"))
    else:
        how.update(window=window, percent=percent)
    drawn = [picture(image, title=name, **how) for image, name in zip(given, names)]
    columns = columns or _columns(len(drawn), drawn[0].pixels.shape[1], drawn[0].pixels.shape[0])
    if columns > 1 and not how.get("zoom"):
        drawn = [_smaller(p, columns, x, title=t, **how) for p, x, t in zip(drawn, given, names)]
    return _together(drawn, columns)


# ---- on the screen ----


def _in_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter, which draws what it is handed."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def _viewer() -> str | None:
    """The program that opens a file as a click on it does; None: there is none, or no screen."""
    if sys.platform == "darwin":
        return shutil.which("open")
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return shutil.which("xdg-open")
    return None


def _open(drawn: Picture) -> None:
    fd, path = tempfile.mkstemp(prefix="isotome-", suffix=".png")
    os.close(fd)
    drawn.save(path)
    viewer = _viewer()
    if viewer is None:
        print(path)
    else:
        quiet = subprocess.DEVNULL
        subprocess.Popen([viewer, path], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def _refuse_words(image: Any, several: bool, how: dict[str, Any]) -> None:
    """Words of one image for several, and the other way round; any word for a picture that is drawn."""
    if isinstance(image, Picture) and how:
        raise errors.ArgumentError(f"{next(iter(how))}: given with a Picture, which is drawn already")
    wrong, right = ("title", "titles") if several else ("titles", "title")
    if wrong in how:
        what = "several images" if several else "one image"
        raise errors.ArgumentError(f"{wrong}: given for {what}, wanted {right}=")
    known = {*inspect.signature(picture).parameters}
    if several:
        known |= {*inspect.signature(pictures).parameters}
    for name in how:
        if name not in known - {"image", "images", "how"}:
            raise errors.ArgumentError(f"{name}: show has no such word")


def show(image: Any, *, path: str | os.PathLike | None = None, **how: Any) -> None:
    """Shows an image, or a list of them beside each other: `show([a, b], titles=["OSEM", "MAP"])`.

    path: writes the picture to this .png file, and replaces an existing one.
    Under Jupyter it is shown in the notebook, with a path too. Elsewhere, without a path, it is written as a
    temporary file, which is opened with the system's viewer or whose path, where there is no screen, is printed.
    The rest as in isotome.picture, and for a list isotome.pictures.
    """
    several = isinstance(image, (list, tuple))
    _refuse_words(image, several, how)
    if isinstance(image, Picture):
        drawn = image
    else:
        drawn = pictures(image, **how) if several else picture(image, **how)
    if path is not None:
        drawn.save(path)
    if _in_notebook():
        importlib.import_module("IPython.display").display(drawn)
    elif path is None:
        _open(drawn)
