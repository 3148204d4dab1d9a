# SPDX-License-Identifier: BSD-3-Clause
"""Kinetics: curves of blood, basis curves of models, and fits of frames.

    p = isotome.ray("scan.Cdh", grid=(128, 128, 64), voxel=2, method="osem", isotope="F-18", frames="1200:300:3600",
                    kinetics="patlak", input="sub-01_blood.tsv", calibration="scanner.json")
    theta = p.reconstruct()                      # 4-D: the coefficients

    plasma = isotome.blood("sub-01_blood.tsv", half_life_s=6586.2).plasma
    b = isotome.basis("patlak", plasma, edges, half_life_s=6586.2)
    fit = isotome.fit_frames(frames, b)          # the indirect way
    ki = b.map("Ki", fit.theta)

Times are s since the start of the scan; curves are corrected for decay to it.
"""

from __future__ import annotations

import ctypes
import math
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _abi, errors
from ._abi import lib
from ._call import check, text
from ._checks import integer, number
from .files import path_of

_MOST = 64  # ISO_BASES_MOST


class _Blood(ctypes.Structure):  # kinetics.h
    _c_name_ = "iso_blood"
    _fields_ = [
        ("size", c_size_t),
        ("file", c_char_p),
        ("second", c_char_p),
        ("unit", c_char_p),
        ("zero_s", c_double),
        ("delay_s", c_double),
        ("half_life_s", c_double),
        ("raw", c_bool),
        ("unitless", c_bool),
        ("plasma_ratio", c_double),
    ]


class _Input(ctypes.Structure):
    _c_name_ = "iso_input"
    _fields_ = [
        ("size", c_size_t),
        ("plasma", c_void_p),
        ("whole", c_void_p),
        ("negative", c_int64),
        ("warning", c_char * 400),
    ]


class _Spec(ctypes.Structure):
    _c_name_ = "iso_basis_spec"
    _fields_ = [
        ("size", c_size_t),
        ("model", c_int),
        ("from", c_double),
        ("to", c_double),
        ("rates", c_int),
        ("blood", c_bool),
        ("zero", c_bool),
        ("k2p", c_double),
        ("knots", c_int),
        ("knot", c_double * _MOST),
        ("input", c_void_p),
        ("whole", c_void_p),
        ("columns", c_int),
        ("column", POINTER(c_void_p)),
    ]


class _Bins(ctypes.Structure):
    _c_name_ = "iso_bins"
    _fields_ = [
        ("size", c_size_t),
        ("n", c_int),
        ("edge_s", c_void_p),
        ("live", c_void_p),
        ("half_life_s", c_double),
    ]


class _Map(ctypes.Structure):
    _c_name_ = "iso_basis_map"
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("unit", c_char_p),
        ("add", c_double),
        ("factor", c_double * _MOST),
    ]


class _Fit(ctypes.Structure):
    _c_name_ = "iso_frame_fit"
    _fields_ = [
        ("size", c_size_t),
        ("frames", c_int),
        ("coefficients", c_int),
        ("mean", c_void_p),
        ("weight", c_void_p),
        ("nonneg", c_bool),
    ]


class _Logan(ctypes.Structure):
    _c_name_ = "iso_logan"
    _fields_ = [
        ("size", c_size_t),
        ("frames", c_int),
        ("first", c_int),
        ("edge_s", c_void_p),
        ("input", c_void_p),
    ]


_abi.declare(
    {
        "iso_curve_create": (c_int, [_abi.out, c_int64, c_void_p, c_void_p]),
        "iso_curve_samples": (c_int64, [_abi.handle, POINTER(POINTER(c_double)), POINTER(POINTER(c_double))]),
        "iso_curve_free": (None, [_abi.handle]),
        "iso_input_read": (c_int, [POINTER(_Input), POINTER(_Blood)]),
        "iso_input_free": (None, [POINTER(_Input)]),
        "iso_basis_parse": (c_int, [POINTER(_Spec), c_char_p]),
        "iso_basis_create": (c_int, [_abi.out, POINTER(_Spec)]),
        "iso_basis_count": (c_int, [_abi.handle]),
        "iso_basis_free": (None, [_abi.handle]),
        "iso_basis_bins": (c_int, [c_void_p, c_void_p, _abi.handle, POINTER(_Bins)]),
        "iso_basis_map": (c_int, [POINTER(_Map), _abi.handle, c_int]),
        "iso_basis_maps": (c_int, [_abi.handle]),
        "iso_frame_fit": (c_int, [c_void_p, c_void_p, c_void_p, c_int64, c_void_p, POINTER(_Fit)]),
        "iso_logan_fit": (c_int, [c_void_p, c_void_p, POINTER(c_int64), c_int64, c_void_p, POINTER(_Logan)]),
    }
)


class Curve(NamedTuple):
    """Linear between its samples."""

    time_s: np.ndarray
    value: np.ndarray


class BloodInput(NamedTuple):
    """Curves of blood in Bq/ml, corrected for decay to the start of the scan."""

    plasma: Curve
    whole: Curve | None  # None: the files have no whole blood
    negative: int  # samples below 0, which are kept
    warning: str


class Basis(NamedTuple):
    """Basis curves over time bins."""

    mean: np.ndarray  # (curves, bins): weighted by decay and live share
    weight: np.ndarray  # (bins,): integral of decay and live share, s
    maps: dict[str, tuple[str, float, np.ndarray]]  # name: unit, what is added, a factor for each coefficient

    def map(self, name: str, theta: Any) -> np.ndarray:
        """The map of that name from coefficients, of which there is one for each curve along the first axis."""
        if name not in self.maps:
            raise errors.ArgumentError(f"name: given {name!r}, wanted one of {', '.join(self.maps) or 'none'}")
        _, add, factor = self.maps[name]
        given = np.asarray(theta)
        if given.ndim < 1 or given.shape[0] != factor.size:
            raise errors.ArgumentError(f"theta: given {given.shape}, wanted {factor.size} coefficients")
        return add + np.tensordot(factor, given, 1)


class FrameFit(NamedTuple):
    """A fit of frames in each voxel."""

    theta: np.ndarray  # (curves, ...)
    se: np.ndarray  # their standard errors
    s2: np.ndarray  # weighted squares of the residuals, over frames less curves


def _array(value: Any, name: str, least: int = 1) -> np.ndarray:
    try:
        a = np.ascontiguousarray(value, np.float64)
    except (TypeError, ValueError):
        a = np.empty((0, 0))
    if a.ndim != 1 or a.size < least or not np.isfinite(a).all():
        raise errors.ArgumentError(f"{name}: wanted a list of {least} finite numbers or more")
    return a


def _place(a: np.ndarray | None) -> int | None:
    return None if a is None else a.ctypes.data


class _Held:
    """A curve of the library, for as long as this lives."""

    def __init__(self, given: Any, name: str) -> None:
        self.pointer = c_void_p()
        try:
            time, value = given
        except (TypeError, ValueError):
            raise errors.ArgumentError(f"{name}: given {type(given).__name__}, wanted times and values") from None
        t, y = _array(time, name), _array(value, name)
        if t.size != y.size:
            raise errors.ArgumentError(f"{name}: {t.size} times and {y.size} values, wanted as many")
        check(lib.iso_curve_create(byref(self.pointer), t.size, t.ctypes.data, y.ctypes.data))

    def __del__(self) -> None:
        if self.pointer:
            lib.iso_curve_free(self.pointer)


def _samples(pointer: Any) -> Curve | None:
    t, y = POINTER(c_double)(), POINTER(c_double)()
    n = lib.iso_curve_samples(pointer, byref(t), byref(y))
    return Curve(np.array(t[:n]), np.array(y[:n])) if n else None


def blood(
    file: Any,
    second: Any = None,
    *,
    unit: str | None = None,
    zero_s: float = 0,
    delay_s: float = 0,
    half_life_s: float = 0,
    raw: bool = False,
    plasma_ratio: float = 0,
) -> BloodInput:
    """Curves of blood samples: PET-BIDS tables (*_blood.tsv with their .json), or a table with two columns.

    second: a second recording; one is manual and has plasma, the other is an autosampler.
    unit: the unit of activity if no .json tells it: Bq/mL, kBq/mL, MBq/mL, nCi/mL, uCi/mL.
    zero_s, delay_s: the scan time at which the curve has its time 0; how much later the tissue sees the blood.
    half_life_s: the tracer's half-life; 0: no decay. raw: samples are not corrected for decay to their own time 0.
    plasma_ratio: plasma over whole blood, if the file has whole blood alone.
    """
    p = _Blood(
        size=ctypes.sizeof(_Blood),
        file=path_of(file),
        second=None if second is None else path_of(second),
        unit=None if unit is None else text(unit, "unit"),
        zero_s=number(zero_s, "zero_s"),
        delay_s=number(delay_s, "delay_s"),
        half_life_s=number(half_life_s, "half_life_s", 0),
        raw=bool(raw),
        plasma_ratio=number(plasma_ratio, "plasma_ratio", 0),
    )
    made = _Input(size=ctypes.sizeof(_Input))
    check(lib.iso_input_read(byref(made), byref(p)))
    try:
        plasma = _samples(made.plasma)
        assert plasma is not None
        return BloodInput(plasma, _samples(made.whole), made.negative, made.warning.decode())
    finally:
        lib.iso_input_free(byref(made))


def basis(
    model: str,
    curve: Any = None,
    edges: Sequence[float] = (),
    *,
    half_life_s: float = 0,
    live: Any = None,
    whole: Any = None,
    columns: Sequence[Any] = (),
) -> Basis:
    """The basis curves of a kinetic model, as their means over time bins.

    model: patlak, spectral:beta=FROM/TO/N[,blood][,zero], srtm2:k2p=V,beta=FROM/TO/N, bspline:T0/T1/..., or basis.
    curve: the input, or the reference tissue: times and values.
    edges: edges of the bins, s.
    live: live share of each bin; None: 1.
    whole: whole blood, for `blood`. columns: the curves of the model basis.
    """
    spec = _Spec(size=ctypes.sizeof(_Spec))
    check(lib.iso_basis_parse(byref(spec), text(model, "model")))
    held = [_Held(c, "columns") for c in columns]
    given = None if curve is None else _Held(curve, "curve")
    blood_of = None if whole is None else _Held(whole, "whole")
    spec.input = given.pointer if given else None
    spec.whole = blood_of.pointer if blood_of else None
    spec.columns = len(held)
    spec.column = (c_void_p * max(len(held), 1))(*(h.pointer.value for h in held))
    edge = _array(edges, "edges", 2)
    share = None if live is None else _array(live, "live", edge.size - 1)
    bins = _Bins(ctypes.sizeof(_Bins), edge.size - 1, _place(edge), _place(share), number(half_life_s, "half_life_s", 0))
    handle = c_void_p()
    check(lib.iso_basis_create(byref(handle), byref(spec)))
    try:
        mean, weight = np.empty((lib.iso_basis_count(handle), bins.n)), np.empty(bins.n)
        check(lib.iso_basis_bins(mean.ctypes.data, weight.ctypes.data, handle, byref(bins)))
        maps = {}
        for i in range(lib.iso_basis_maps(handle)):
            m = _Map(size=ctypes.sizeof(_Map))
            check(lib.iso_basis_map(byref(m), handle, i))
            maps[m.name.decode()] = (m.unit.decode(), m.add, np.array(m.factor[: len(mean)]))
        return Basis(mean, weight, maps)
    finally:
        lib.iso_basis_free(handle)


def _frames(frames: Any, n: int) -> np.ndarray:
    y = np.ascontiguousarray(np.asarray(frames), np.float32)
    if y.ndim < 1 or y.shape[0] != n or y.size == 0:
        raise errors.ArgumentError(f"frames: given {y.shape}, wanted {n} of them along the first axis")
    return y


def fit_frames(frames: Any, basis: Basis, weight: Any = None, *, nonneg: bool = False) -> FrameFit:
    """Weighted least squares of frames by basis curves, in each voxel.

    frames: (bins, ...) in activity a volume and time.
    weight: one for each frame; None: the basis' weight over the mean of the frame.
    nonneg: coefficients are not negative; at most 8 of them.
    """
    if not isinstance(basis, Basis):
        raise errors.ArgumentError(f"basis: given {type(basis).__name__}, wanted isotome.basis(...)")
    mean = np.ascontiguousarray(basis.mean, np.float64)
    if mean.ndim != 2 or mean.size == 0:
        raise errors.ArgumentError(f"basis: its means are {mean.shape}, wanted curves x bins")
    y = _frames(frames, mean.shape[1])
    if weight is None:
        means = y.reshape(len(y), -1).mean(1, dtype=np.float64)
        if not (means > 0).all():
            raise errors.ArgumentError("weight: given None, and a frame has no activity to weigh it by")
        weight = np.asarray(basis.weight) / means
    w = _array(weight, "weight", len(y))
    p = _Fit(ctypes.sizeof(_Fit), len(y), len(mean), _place(mean), _place(w), bool(nonneg))
    theta, se = (np.empty((len(mean), *y.shape[1:]), np.float32) for _ in range(2))
    s2 = np.empty(y.shape[1:], np.float32)
    n = math.prod(y.shape[1:])
    check(lib.iso_frame_fit(theta.ctypes.data, se.ctypes.data, s2.ctypes.data, n, y.ctypes.data, byref(p)))
    return FrameFit(theta, se, s2)


def logan(frames: Any, edges: Sequence[float], curve: Any, first: int = 0) -> np.ndarray:
    """VT of each voxel by Logan's plot, ml/ml; 0 where a frame that is used is not above 0.

    frames: (bins, ...). edges: their edges, s. curve: the input, times and values.
    first: the regression takes frames from this one on.
    """
    edge = _array(edges, "edges", 2)
    y = _frames(frames, edge.size - 1)
    held = _Held(curve, "curve")
    p = _Logan(ctypes.sizeof(_Logan), len(y), integer(first, "first", 0, len(y)), _place(edge), held.pointer)
    vt = np.empty(y.shape[1:], np.float32)
    check(lib.iso_logan_fit(vt.ctypes.data, None, None, math.prod(y.shape[1:]), y.ctypes.data, byref(p)))
    return vt
