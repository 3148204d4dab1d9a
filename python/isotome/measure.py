# SPDX-License-Identifier: BSD-3-Clause
"""Figures of images: regions, profiles, widths, differences, image quality. Places are mm.

    isotome.measure.roi(image, sphere=(57.2, 0, 0, 18)).mean
    isotome.measure.rmse(image, truth, scale="fit").nrmse

Images have 3 axes and a grid (isotome.Image) except where a function takes any array. Values are taken as
float32; those that are not finite are refused.
"""

from __future__ import annotations

import ctypes
import math
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _abi, _arrays, errors
from ._abi import lib
from ._call import check
from ._checks import integer, number, numbers, place_of, utf8
from .drawing import Picture, _Pixels, taken
from .files import path_of
from .image import Image
from .phantoms import opened

# ---- structs of measure.h ----


class _Roi(ctypes.Structure):
    _c_name_ = "iso_roi"
    _fields_ = [
        ("kind", c_int),
        ("centre", c_double * 3),
        ("radius", c_double),
        ("length", c_double),
        ("axis", c_int),
        ("low", c_double * 3),
        ("high", c_double * 3),
        ("mask", POINTER(_abi.Array)),
    ]


_SPHERE, _CYLINDER, _BOX, _MASK = range(4)  # enum iso_roi_kind


class _RoiStats(ctypes.Structure):
    _c_name_ = "iso_roi_stats"
    _fields_ = [("size", c_size_t), ("voxels", c_int64)] + [
        (name, c_double) for name in ("volume", "mean", "std", "pstd", "min", "max", "sum")
    ]


class _Profile(ctypes.Structure):
    _c_name_ = "iso_profile"
    _fields_ = [("from", c_double * 3), ("to", c_double * 3), ("samples", c_int64), ("width", c_double)]


class _Fwhm(ctypes.Structure):
    _c_name_ = "iso_fwhm"
    _fields_ = [("at", c_double * 3), ("window", c_double), ("background", c_double)]


class _Width(ctypes.Structure):
    _c_name_ = "iso_width"
    _fields_ = [(name, c_double) for name in ("centre", "height", "fwhm", "fwtm")]


class _Quartiles(ctypes.Structure):
    _c_name_ = "iso_quartiles"
    _fields_ = [("n", c_int)] + [(name, c_double) for name in ("least", "low", "median", "high", "most")]


class _RodsSize(ctypes.Structure):
    _c_name_ = "iso_rods_size"
    _fields_ = [
        ("diameter", c_double),
        ("rods", c_int),
        ("pairs", c_int),
        ("profiles", c_int),
        ("fwhm", _Quartiles),
        ("fwtm", _Quartiles),
        ("valley", c_double),
        ("resolved", c_double),
    ]


class _Rods(ctypes.Structure):
    _c_name_ = "iso_rods"
    _fields_ = [("size", c_size_t), ("n", c_int), ("group", _RodsSize * 16)]


class _Boxplot(ctypes.Structure):
    _c_name_ = "iso_boxplot"
    _fields_ = [("n", c_int), ("box", POINTER(_Quartiles)), ("label", POINTER(c_char_p)), ("title", c_char_p)]


class _Diff(ctypes.Structure):
    _c_name_ = "iso_diff"
    _fields_ = [("size", c_size_t)] + [(name, c_double) for name in ("max_abs", "mean", "l2", "percent")]


class _Rmse(ctypes.Structure):
    _c_name_ = "iso_rmse"
    _fields_ = [("size", c_size_t), ("n", c_int64)] + [(name, c_double) for name in ("scale", "rmse", "nrmse")]


class _NemaSphere(ctypes.Structure):
    _c_name_ = "iso_nema_sphere"
    _fields_ = [("centre", c_double * 3), ("diameter", c_double), ("ratio", c_double)]


class _Nema(ctypes.Structure):
    _c_name_ = "iso_nema"
    _fields_ = [
        ("size", c_size_t),
        ("n_spheres", c_int),
        ("n_background", c_int),
        ("n_slices", c_int),
        ("sphere", _NemaSphere * 16),
        ("background", c_double * 2 * 64),
        ("slice", c_double * 16),
        ("has_lung", c_bool),
        ("lung", c_double * 2),
        ("lung_diameter", c_double),
        ("find", c_bool),
    ]


class _NemaFigures(ctypes.Structure):
    _c_name_ = "iso_nema_figures"
    _fields_ = [(name, c_double) for name in ("mean", "background", "contrast", "variability")]


class _NemaResult(ctypes.Structure):
    _c_name_ = "iso_nema_result"
    _fields_ = [("size", c_size_t), ("sphere", _NemaFigures * 16), ("lung", c_double)]


class _Petric(ctypes.Structure):
    _c_name_ = "iso_petric"
    _fields_ = [("size", c_size_t)] + [(name, c_double) for name in ("norm", "rmse_whole", "rmse_background")]


_image = POINTER(_abi.Array)

_abi.declare(
    {
        "iso_grid_same": (c_bool, [POINTER(_abi.Grid), POINTER(_abi.Grid)]),
        "iso_measure_roi": (c_int, [POINTER(_RoiStats), _image, POINTER(_Roi)]),
        "iso_measure_tbr": (c_int, [POINTER(c_double), _image, POINTER(_Roi), POINTER(_Roi)]),
        "iso_measure_profile": (c_int, [POINTER(c_double), _image, POINTER(_Profile)]),
        "iso_measure_fwhm": (c_int, [POINTER(_Width), _image, POINTER(_Fwhm)]),
        "iso_measure_quartiles": (_Quartiles, [POINTER(c_double), c_int]),
        "iso_measure_rods": (c_int, [POINTER(_Rods), _image, _abi.handle, c_double]),
        "iso_boxplot_render": (c_int, [POINTER(_Pixels), POINTER(_Boxplot)]),
        "iso_measure_diff": (c_int, [POINTER(_Diff), c_int64, _abi.vector, _abi.vector]),
        "iso_measure_sharpness": (c_int, [POINTER(c_double), _image]),
        "iso_measure_rmse": (
            c_int,
            [POINTER(_Rmse), c_int64, _abi.vector, _abi.vector, _abi.vector, c_int],
        ),
        "iso_measure_petric": (
            c_int,
            [POINTER(_Petric), POINTER(c_double), c_int64]
            + 4 * [_abi.vector]
            + [c_int, POINTER(ctypes.c_void_p)],
        ),
        "iso_nema_read": (c_int, [POINTER(_Nema), c_char_p]),
        "iso_measure_nema": (c_int, [POINTER(_NemaResult), _image, POINTER(_Nema)]),
    }
)


def _finite(values: Any, name: str) -> np.ndarray:
    """Real numbers as float32, all finite, at least one."""
    array = _arrays.real(values, name)
    if not array.size:
        raise errors.ArgumentError(f"{name}: given shape {array.shape}, wanted at least one value")
    return _arrays.given(array, array.shape, name)


# ---- regions ----


class Roi(NamedTuple):
    """Of the voxels whose centre lies in a region."""

    voxels: int
    volume: float  # mm^3
    mean: float
    std: float  # over all voxels: divided by their number
    pstd: float  # 100 std / mean; NaN where the mean is 0
    min: float
    max: float
    sum: float


def _round(kind: int, numbers_of: Any, name: str) -> _Roi:
    """A sphere of x, y, z, radius, or a cylinder of x, y, z, radius, length and perhaps an axis."""
    if kind == _SPHERE:
        x, y, z, radius = numbers(numbers_of, 4, name)
        return _Roi(kind=kind, centre=(x, y, z), radius=radius)
    values = tuple(numbers_of) if isinstance(numbers_of, (tuple, list)) else numbers_of
    axis = 2
    if isinstance(values, tuple) and len(values) == 6:
        axis, values = place_of("xyz", values[5], f"axis of the {name}"), values[:5]
    x, y, z, radius, length = numbers(values, 5, name)
    return _Roi(kind=kind, centre=(x, y, z), radius=radius, length=length, axis=axis)


def _box(edges: Any) -> _Roi:
    n = numbers(edges, 6, "box")
    return _Roi(kind=_BOX, low=n[0::2], high=n[1::2])


def _masked(mask: Any, image: np.ndarray) -> tuple[_Roi, np.ndarray]:
    """The region, and the values that it shows; a mask without a grid lies on the image's."""
    values = _finite(mask, "mask")
    if values.shape != image.shape:
        raise errors.ArgumentError(f"mask: given shape {values.shape}, wanted {image.shape}, the image's")
    if isinstance(image, Image) and getattr(values, "grid", None) is None:
        values = Image(values, image.grid)
    return _Roi(kind=_MASK, mask=ctypes.pointer(_arrays.as_struct(values))), values


def roi(image: Any, *, sphere: Any = None, cylinder: Any = None, box: Any = None, mask: Any = None) -> Roi:
    """Statistics of one region.

    sphere: x, y, z, radius. cylinder: x, y, z, radius, length and, unless "z", its axis.
    box: x0, x1, y0, y1, z0, z1. mask: an array on the image's grid; voxels that are not 0.
    """
    x = _finite(image, "image")
    given = [v is not None for v in (sphere, cylinder, box, mask)]
    if sum(given) != 1:
        raise errors.ArgumentError(f"given {sum(given)} regions, wanted one: sphere, cylinder, box or mask")
    kept = None
    if mask is not None:
        region, kept = _masked(mask, x)
    elif box is not None:
        region = _box(box)
    elif sphere is not None:
        region = _round(_SPHERE, sphere, "sphere")
    else:
        region = _round(_CYLINDER, cylinder, "cylinder")
    s = _RoiStats(ctypes.sizeof(_RoiStats))
    check(lib.iso_measure_roi(byref(s), byref(_arrays.as_struct(x)), byref(region)))
    del kept  # was shown by the region until here
    return Roi(*(getattr(s, name) for name in Roi._fields))


def tbr(image: Any, *, tumour: Any, background: Any) -> float:
    """The mean in the tumour over that in the background; each a sphere of x, y, z, radius."""
    x, ratio = _finite(image, "image"), c_double()
    spheres = [_round(_SPHERE, v, name) for v, name in ((tumour, "tumour"), (background, "background"))]
    check(lib.iso_measure_tbr(byref(ratio), byref(_arrays.as_struct(x)), *map(byref, spheres)))
    return ratio.value


# ---- profiles and widths ----


class Profile(NamedTuple):
    """Values along a line."""

    distance: np.ndarray  # (n,) from the beginning, mm
    place: np.ndarray  # (n, 3): x, y, z
    value: np.ndarray  # (n,)


def profile(image: Any, start: Any, end: Any, *, samples: int | None = None, width: float = 0) -> Profile:
    """Values from start to end, two points x, y, z in the image, trilinear between the voxel centres.

    samples: at least 2, ends included; None: one a voxel, of the smallest edge.
    width: mean over a disc of this diameter across the line, mm; 0: none.
    """
    x = _finite(image, "image")
    first, last = (np.array(numbers(v, 3, name)) for v, name in ((start, "start"), (end, "end")))
    length = float(np.linalg.norm(last - first))
    if samples is None:
        edge = min(x.grid.voxel) if isinstance(x, Image) and x.grid else 1.0
        steps = length / edge if math.isfinite(length) else 1.0
        samples = int(min(max(math.ceil(steps - 1e-6) + 1, 2), 1e6))
    n = integer(samples, "samples")
    if not 2 <= n <= 10**9:
        raise errors.ArgumentError(f"samples: given {n}, wanted 2 to 1e9")
    value = np.empty(n)
    line = _Profile(tuple(first), tuple(last), n, number(width, "width"))
    to = value.ctypes.data_as(POINTER(c_double))
    check(lib.iso_measure_profile(to, byref(_arrays.as_struct(x)), byref(line)))
    share = np.linspace(0, 1, n)
    return Profile(share * length, first + share[:, None] * (last - first), value)


class Width(NamedTuple):
    """Widths of a peak along one axis, after NEMA NU 2; NaN if the profile does not fall so far."""

    centre: float  # of the top, mm
    height: float  # less the background
    fwhm: float  # at half the height, mm
    fwtm: float  # at a tenth


class Widths(NamedTuple):
    x: Width
    y: Width
    z: Width


def fwhm(image: Any, at: Any, *, window: float = 0, background: float = 0) -> Widths:
    """Widths of the peak near a point x, y, z, along the axes through its highest voxel.

    window: length of the profiles, mm, in whose middle half the peak is looked for; 0: 20 voxels.
    background: taken off first.
    """
    x, w = _finite(image, "image"), (_Width * 3)()
    p = _Fwhm(numbers(at, 3, "at"), number(window, "window"), number(background, "background"))
    check(lib.iso_measure_fwhm(w, byref(_arrays.as_struct(x)), byref(p)))
    return Widths(*(Width(v.centre, v.height, v.fwhm, v.fwtm) for v in w))


# ---- quartiles and rods ----


class Quartiles(NamedTuple):
    """Quartiles of n values, with straight lines between the ordered values; NaN if n is 0."""

    n: int
    least: float
    low: float
    median: float
    high: float
    most: float


def _quartiles(q: _Quartiles) -> Quartiles:
    return Quartiles(*(getattr(q, name) for name in Quartiles._fields))


def quartiles(values: Any) -> Quartiles:
    """Of the finite ones of any values."""
    array = np.array(_arrays.real(values, "values"), np.float64).ravel()
    return _quartiles(lib.iso_measure_quartiles(array.ctypes.data_as(POINTER(c_double)), array.size))


class RodSize(NamedTuple):
    """The rods of one diameter."""

    diameter: float  # mm
    rods: int
    pairs: int  # of rods at most 2.1 diameters from centre to centre
    profiles: int  # two a rod, along the axes across it
    fwhm: Quartiles  # mm, of the profiles that fall so far between the rod and its neighbours
    fwtm: Quartiles
    valley: float  # value halfway between neighbours over the mean of theirs; NaN: no pair, or no activity
    resolved: float  # share of the pairs whose valley is below 0.735, the criterion of Rayleigh


def rods(image: Any, phantom: str | os.PathLike, *, slab: float = 0) -> tuple[RodSize, ...]:
    """Widths of the rods of a phantom such as "derenzo-meng", or of a file, and the valleys between them.

    slab: length of the rods that is averaged, mm; 0: half of it.
    """
    x, made, r = _finite(image, "image"), opened(phantom), _Rods(ctypes.sizeof(_Rods))
    check(lib.iso_measure_rods(byref(r), byref(_arrays.as_struct(x)), made.pointer, number(slab, "slab")))
    return tuple(
        RodSize(
            s.diameter,
            s.rods,
            s.pairs,
            s.profiles,
            _quartiles(s.fwhm),
            _quartiles(s.fwtm),
            s.valley,
            s.resolved,
        )
        for s in r.group[: r.n]
    )


def boxplot(boxes: Sequence[Quartiles], labels: Sequence[str], title: str = "") -> Picture:
    """Boxes from quartile to quartile with the median, whiskers to the ends, a label below each."""
    if len(boxes) != len(labels) or not all(isinstance(b, Quartiles) for b in boxes):
        raise errors.ArgumentError("boxplot: wanted Quartiles, and a label for each")
    drawn = (_Quartiles * len(boxes))(*(_Quartiles(*b) for b in boxes))
    texts = (c_char_p * len(boxes))(*(utf8(t, "labels") for t in labels))
    pixels, plot = _Pixels(), _Boxplot(len(boxes), drawn, texts, utf8(title, "title"))
    check(lib.iso_boxplot_render(byref(pixels), byref(plot)))
    return Picture(taken(pixels))


# ---- whole arrays ----


def _alike(a: Any, b: Any, names: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of one shape and, of two images, one grid."""
    x, y = _finite(a, names[0]), _finite(b, names[1])
    if x.shape != y.shape:
        raise errors.ArgumentError(f"{names[1]}: given shape {y.shape}, wanted {x.shape}, that of {names[0]}")
    grids = [v.grid for v in (x, y) if isinstance(v, Image) and v.grid is not None]
    if len(grids) == 2 and not lib.iso_grid_same(*(byref(g._struct()) for g in grids)):
        raise errors.ArgumentError(f"{names[1]}: given on {grids[1]}, wanted {grids[0]}, as {names[0]}")
    return x, y


class Difference(NamedTuple):
    """Of a from b; infinite where b is 0 and a is not."""

    max_abs: float  # max |a - b|
    mean: float  # of a - b
    l2: float  # |a - b| / |b|, roots of sums of squares
    percent: float  # 100 sum |a - b| / sum |b|


def diff(a: Any, b: Any) -> Difference:
    """How far one array of any shape is from another."""
    x, y = _alike(a, b, ("a", "b"))
    d = _Diff(ctypes.sizeof(_Diff))
    check(lib.iso_measure_diff(byref(d), x.size, x.ctypes.data, y.ctypes.data))
    return Difference(d.max_abs, d.mean, d.l2, d.percent)


class Rmse(NamedTuple):
    """The error of an image."""

    n: int  # values compared
    scale: float  # factor by which the image was multiplied
    rmse: float
    nrmse: float  # over the mean of the reference; infinite where that is 0


def rmse(image: Any, reference: Any, *, mask: Any = None, scale: str = "none") -> Rmse:
    """Root of the mean squared error of any array against a reference.

    mask: an image; only voxels that are not 0 in it are compared. scale: how the image is scaled first, by "none",
    "sum" (the sums agree) or "fit" (the error is smallest).
    """
    x, y = _alike(image, reference, ("image", "reference"))
    m = None if mask is None else _alike(reference, mask, ("reference", "mask"))[1]
    r, how = _Rmse(ctypes.sizeof(_Rmse)), place_of(("none", "sum", "fit"), scale, "scale")
    shown = None if m is None else m.ctypes.data
    check(lib.iso_measure_rmse(byref(r), x.size, x.ctypes.data, y.ctypes.data, shown, how))
    return Rmse(r.n, r.scale, r.rmse, r.nrmse)


class Petric(NamedTuple):
    """How far an image is from a converged one, all over the mean of that one in the background."""

    norm: float  # that mean
    rmse_whole: float  # root mean squared error in the whole object; PETRIC: at most 0.01
    rmse_background: float  # in the background; at most 0.01
    aem: tuple[float, ...]  # of each region, the error of the mean; at most 0.005

    @property
    def converged(self) -> bool:
        """Whether all are within the thresholds of PETRIC."""
        return max(self.rmse_whole, self.rmse_background) <= 0.01 and max(self.aem, default=0) <= 0.005


def petric(
    image: Any, reference: Any, *, whole: Any, background: Any, regions: Sequence[Any] = ()
) -> Petric:
    """The figures of PETRIC (SyneRBI 2024): an image of any shape against a converged one.

    whole, background, regions: masks of the object, of a uniform part of it, and of regions of interest; every voxel
    counts that is not 0.
    """
    x, y = _alike(image, reference, ("image", "reference"))
    w = _alike(reference, whole, ("reference", "whole"))[1]
    b = _alike(reference, background, ("reference", "background"))[1]
    v = [_alike(reference, r, ("reference", f"regions[{i}]"))[1] for i, r in enumerate(regions)]
    p, aem = _Petric(ctypes.sizeof(_Petric)), (c_double * max(len(v), 1))()
    at = (ctypes.c_void_p * max(len(v), 1))(*(r.ctypes.data for r in v))
    check(
        lib.iso_measure_petric(
            byref(p), aem, x.size, x.ctypes.data, y.ctypes.data, w.ctypes.data, b.ctypes.data, len(v), at
        )
    )
    return Petric(p.norm, p.rmse_whole, p.rmse_background, tuple(aem[: len(v)]))


def sharpness(image: Any) -> float:
    """n sum x^2 / (sum |x|)^2 of any array: greater where the object stands out more sharply."""
    x, s = _finite(image, "image"), c_double()
    check(lib.iso_measure_sharpness(byref(s), byref(_arrays.as_struct(x))))
    return s.value


# ---- NEMA NU 2 ----


class NemaSphere(NamedTuple):
    """Image quality of one sphere."""

    centre: tuple[float, float, float]
    diameter: float
    mean: float  # C_H: of a disc of the sphere's diameter in the slice of its centre
    background: float  # C_B: of all discs of that size in the background
    contrast: float  # recovery, per cent
    variability: float  # of the background, per cent


class Nema(NamedTuple):
    """Image quality after NEMA NU 2."""

    spheres: tuple[NemaSphere, ...]
    lung: float  # residual, per cent of the background; NaN if there is no lung


def nema(image: Any, spheres: str | os.PathLike | None = None) -> Nema:
    """Contrast recovery and variability of the background, sphere by sphere.

    spheres: a YAML or JSON file that says where they are (`isotome measure nema --help` explains it); None:
    those of the phantom "spheres".
    """
    x, where, r = _finite(image, "image"), _Nema(ctypes.sizeof(_Nema)), _NemaResult(ctypes.sizeof(_NemaResult))
    check(lib.iso_nema_read(byref(where), None if spheres is None else path_of(spheres)))
    check(lib.iso_measure_nema(byref(r), byref(_arrays.as_struct(x)), byref(where)))
    figures = tuple(
        NemaSphere(tuple(s.centre), s.diameter, f.mean, f.background, f.contrast, f.variability)
        for s, f in zip(where.sphere[: where.n_spheres], r.sphere)
    )
    return Nema(figures, r.lung)
