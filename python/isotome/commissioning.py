# SPDX-License-Identifier: BSD-3-Clause
"""What a new ring needs: time offsets of its crystals, and its dead time.

    t = isotome.timing("ring.yaml", isotome.read_events("flat.Cdh"), "cylinder:0,0,0,100,200")
    r = isotome.rates(start_s, length_s, counts, half_life_s=6586.2, randoms=randoms)
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any, NamedTuple, Union

import numpy as np

from . import _abi, _arrays, errors
from ._abi import declare, handle, lib, out
from ._call import Handle, check
from ._checks import number
from ._inputs import context_of, run
from .context import Context, Tell
from .events import Events
from .files import path_of
from .image import Image
from .scanner import Scanner

Path = Union[str, "os.PathLike[str]"]


class _Options(ctypes.Structure):  # timing.h
    _c_name_ = "iso_timing_options"
    _fields_ = [
        ("size", c_size_t),
        ("window_ps", c_double),
        ("share", c_double),
        ("bin_ps", c_double),
        ("sigma_ps", c_double),
        ("per_crystal", c_bool),
        ("least_squares", c_bool),
    ]


class _Info(ctypes.Structure):  # timing.h
    _c_name_ = "iso_timing_info"
    _fields_ = [
        ("size", c_size_t),
        ("sigma_ps", c_double),
        ("sigma_sd_ps", c_double),
        ("share", c_double),
        ("loglik", c_double),
        ("parts", c_int64),
        ("unseen", c_int64),
        ("steps", c_int),
    ]


class _Scan(ctypes.Structure):  # timing.h
    _c_name_ = "iso_timing_scan"
    _fields_ = [
        ("size", c_size_t),
        ("scanner", c_void_p),
        ("events", POINTER(_abi.Events)),
        ("source", c_char_p),
        ("image", POINTER(_abi.Array)),
        ("rate", POINTER(c_double)),
        ("randoms", c_double),
        ("eff", c_void_p),
        ("mu", POINTER(_abi.Array)),
    ]


class _ScanInfo(ctypes.Structure):  # timing.h
    _c_name_ = "iso_timing_scan_info"
    _fields_ = [
        ("size", c_size_t),
        ("used", c_int64),
        ("beside", c_int64),
        ("window_ps", c_double),
        ("fit", _Info),
    ]


class _Series(ctypes.Structure):  # rates.h
    _c_name_ = "iso_rates_series"
    _fields_ = [
        ("size", c_size_t),
        ("n", c_int64),
        ("start_s", POINTER(c_double)),
        ("length_s", POINTER(c_double)),
        ("counts", POINTER(c_double)),
        ("randoms", POINTER(c_double)),
        ("half_life_s", c_double),
        ("background", c_bool),
    ]


class _Fit(ctypes.Structure):  # rates.h
    _c_name_ = "iso_rates_fit"
    _fields_ = [
        ("n0", c_double),
        ("tau_s", c_double),
        ("b", c_double),
        ("n0_sd", c_double),
        ("tau_sd_s", c_double),
        ("b_sd", c_double),
        ("deviance", c_double),
        ("highest_n_tau", c_double),
    ]


class _Rates(ctypes.Structure):  # rates.h
    _c_name_ = "iso_rates"
    _fields_ = [
        ("size", c_size_t),
        ("model", c_int),
        ("fit", _Fit * 2),
        ("with_randoms", c_bool),
        ("half_life_s", c_double),
    ]


_MODELS = ("non-paralysable", "paralysable")  # enum iso_dead_time

declare(
    {
        "iso_times_fit": (c_int, [out, POINTER(_ScanInfo), handle, POINTER(_Scan), POINTER(_Options)]),
        "iso_times_free": (None, [handle]),
        "iso_times_crystals": (c_int64, [handle]),
        "iso_times_offsets": (POINTER(c_double), [handle]),
        "iso_times_sd": (POINTER(c_double), [handle]),
        "iso_times_sigma": (POINTER(c_double), [handle]),
        "iso_times_fwhm": (c_double, [handle]),
        "iso_times_fwhm_sd": (c_double, [handle]),
        "iso_times_write": (c_int, [c_char_p, handle, c_char_p, c_bool]),
        "iso_rates_fit": (c_int, [POINTER(_Rates), POINTER(_Series)]),
    }
)


class Times:
    """Time offsets and resolution of crystals, which `timing` finds."""

    offsets_ps: np.ndarray  #: of each crystal: how late its stamps are; mean 0
    sd_ps: np.ndarray  #: errors of them
    crystal_sigma_ps: np.ndarray | None  #: with per_crystal
    fwhm_ps: float  #: of t1 - t2 of two crystals
    fwhm_sd_ps: float
    randoms_share: float
    events: int  #: whose lines meet the source
    parts: int  #: of crystals that events join: offsets of two parts can't be compared

    def __init__(self, found: Handle, info: _ScanInfo):
        n = lib.iso_times_crystals(found.pointer)
        sigma = lib.iso_times_sigma(found.pointer)
        self._handle = found
        self.offsets_ps = np.array(lib.iso_times_offsets(found.pointer)[:n])
        self.sd_ps = np.array(lib.iso_times_sd(found.pointer)[:n])
        self.crystal_sigma_ps = np.array(sigma[:n]) if sigma else None
        self.fwhm_ps = lib.iso_times_fwhm(found.pointer)
        self.fwhm_sd_ps = lib.iso_times_fwhm_sd(found.pointer)
        self.randoms_share, self.events, self.parts = info.fit.share, info.used, info.fit.parts

    def save(self, path: Path, force: bool = False) -> None:
        """Writes the file that `recon(times=...)` reads (.json)."""
        check(lib.iso_times_write(path_of(path), self._handle.pointer, None, force))


def _map(image: Image, name: str) -> tuple[_abi.Array, np.ndarray]:
    grid = getattr(image, "grid", None)
    if grid is None:
        given = type(image).__name__
        raise errors.ArgumentError(f"{name}: given {given} without a grid, wanted isotome.Image(values, grid)")
    values = np.ascontiguousarray(_arrays.given(_arrays.real(image, name), grid.shape, name))
    a = _arrays.as_struct(values)
    a.has_grid, a.grid = True, grid._struct()
    return a, values


def timing(
    scanner: Scanner | Path,
    events: Events,
    source: str | Image,
    randoms_share: float = 0,
    window_ps: float = 0,
    bin_ps: float = 0,
    per_crystal: bool = False,
    context: Context | None = None,
    progress: Tell = None,
) -> Times:
    """Time offsets of the crystals of a ring, and its time resolution, by maximum likelihood: as `isotome timing`.

    events: with crystal numbers. source: "cylinder:X,Y,Z,R,LENGTH", another shape, or an image of the activity.
    randoms_share: share of randoms of the events; 0: fitted.
    window_ps: coincidence window; 0: the scanner's. bin_ps: width of bins of the times; 0: none.
    """
    context, of = context_of(context), Scanner._of(scanner)
    e, kept = events._struct()
    s = _Scan(size=ctypes.sizeof(_Scan), scanner=of._pointer, events=ctypes.pointer(e))
    if isinstance(source, str):
        s.source = source.encode()
    else:
        image, values = _map(source, "source")
        kept.append(values)
        s.image = ctypes.pointer(image)
    o = _Options(size=ctypes.sizeof(_Options), per_crystal=per_crystal)
    o.window_ps, o.bin_ps = number(window_ps, "window_ps", 0), number(bin_ps, "bin_ps", 0)
    o.share = number(randoms_share, "randoms_share", 0)
    info, found = _ScanInfo(size=ctypes.sizeof(_ScanInfo)), Handle(lib.iso_times_free)
    run(context, progress, lib.iso_times_fit, byref(found.pointer), byref(info), context._pointer, byref(s), byref(o))
    return Times(found, info)


class DeadTime(NamedTuple):
    """A dead time that `rates` finds."""

    model: str  #: "non-paralysable" or "paralysable"
    tau_s: float
    tau_sd_s: float
    n0: float  #: rate at time 0 without dead time, 1/s
    b: float  #: rate that does not decay, 1/s
    deviance: float  #: with randoms: chi-square


def rates(
    start_s: Any,
    length_s: Any,
    counts: Any,
    half_life_s: float,
    randoms: Any = None,
    background: bool = False,
) -> tuple[DeadTime, DeadTime]:
    """Dead time from the counts of frames of a decaying source: as `isotome rates`. Both models, the better one first.

    counts: all coincidences of each frame; randoms: its delayed coincidences. background: also a rate that does not decay.
    """
    columns = {"start_s": start_s, "length_s": length_s, "counts": counts}
    if randoms is not None:
        columns["randoms"] = randoms
    s = _Series(size=ctypes.sizeof(_Series), n=np.size(start_s), background=background)
    s.half_life_s = number(half_life_s, "half_life_s", 0)
    kept = {k: np.ascontiguousarray(v, float) for k, v in columns.items()}
    for name, v in kept.items():
        if v.shape != (s.n,):
            raise errors.ArgumentError(f"{name}: given shape {v.shape}, wanted ({s.n},)")
        setattr(s, name, v.ctypes.data_as(POINTER(c_double)))
    r = _Rates(size=ctypes.sizeof(_Rates))
    check(lib.iso_rates_fit(byref(r), byref(s)))
    found = [DeadTime(_MODELS[k], f.tau_s, f.tau_sd_s, f.n0, f.b, f.deviance) for k, f in enumerate(r.fit)]
    return (found[1], found[0]) if r.model else (found[0], found[1])
