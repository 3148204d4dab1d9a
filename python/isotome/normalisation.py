# SPDX-License-Identifier: BSD-3-Clause
"""Normalisation of a ring from a scan of a known source: efficiencies of crystals, factors of pairs, and their errors.

    norm = isotome.norm("ring.yaml", "flat.lmdT", "cylinder:0,0,0,100,200", delayed="late.lmdT")
    norm.save("ring.norm.json")
    image = isotome.ray("scan.lmdT", scanner="ring.yaml", norm="ring.norm.json").reconstruct()
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Union

import numpy as np

from . import _abi, _arrays, errors
from ._abi import declare, handle, lib, out
from ._call import check, text
from ._checks import integer, number
from ._inputs import context_of, image, run
from .context import Context, Tell
from .eventfiles import read_events
from .events import Events
from .grid import Grid
from .scanner import Scanner

AnyScanner = Union[Scanner, str, "os.PathLike[str]"]
AnyEvents = Union[Events, str, "os.PathLike[str]"]

_COMPONENTS = {"crystal": 1, "transaxial": 2, "axial": 4}  # ISO_NORM_...


class _Scan(ctypes.Structure):  # norm.h
    _c_name_ = "iso_norm_scan"
    _fields_ = [
        ("size", c_size_t),
        ("events", POINTER(_abi.Events)),
        ("file", c_void_p),
        ("shape", c_char_p),
        ("image", POINTER(_abi.Array)),
        ("mu", POINTER(_abi.Array)),
        ("rate", POINTER(c_double)),
        ("factor", c_double),
        ("scatter", c_void_p),
    ]


class _Fit(ctypes.Structure):
    _c_name_ = "iso_norm_fit"
    _fields_ = [
        ("size", c_size_t),
        ("scanner", c_void_p),
        ("scan", POINTER(_Scan)),
        ("scans", c_int),
        ("components", c_int),
        ("no_mirror", c_bool),
        ("relative", c_bool),
        ("place_given", c_bool),
        ("place_sd_mm", c_double),
        ("rays", c_int),
        ("mask", c_void_p),
        ("tolerance", c_double),
        ("pair_share", c_double),
        ("checkpoint", c_char_p),
        ("key", c_uint64),
        ("resume", c_bool),
        ("no_tables", c_bool),
    ]


class _Found(ctypes.Structure):
    _c_name_ = "iso_norm_found"
    _fields_ = [
        ("size", c_size_t),
        ("counts", c_double),
        ("randoms", c_double),
        ("all_counts", c_double),
        ("astray", c_double),
        ("edges", c_double),
        ("loglik", c_double),
        ("steps", c_int),
        ("products", c_int),
        ("pairs", c_int64),
        ("parameters", c_int64),
        ("dead", c_int64),
        ("weak", c_int64),
        ("unreached_t", c_int64),
        ("unreached_z", c_int64),
        ("zero_t", c_int64),
        ("zero_z", c_int64),
        ("parts", c_int64),
        ("exact", c_bool),
        ("mean_sd", c_double),
        ("place_mm", c_double * 4),
        ("place_sd", c_double * 4),
        ("places", c_int),
        ("gain", c_double * 6),
        ("error", c_double * 6),
        ("harmonics", c_int),
        ("chi2", c_double),
        ("chi2_expected", c_double),
        ("chi2_sd", c_double),
        ("worst_class", c_double),
        ("scattered", c_double),
        ("resumed_from", c_int),
        ("off_mm", c_double * 2),
        ("off_sd", c_double * 2),
        ("off_scan", c_int),
    ]


class PairFactors(ctypes.Structure):  # scanner.h
    _c_name_ = "iso_pair_factors"
    _fields_ = [
        ("size", c_size_t),
        ("crystal", POINTER(c_double)),
        ("factor", c_void_p),
        ("arg", c_void_p),
        ("most", c_double),
    ]


declare(
    {
        "iso_norm_make": (c_int, [out, POINTER(_Found), handle, POINTER(_Fit)]),
        "iso_norm_free": (None, [handle]),
        "iso_norm_crystals": (c_int64, [handle]),
        "iso_norm_efficiency": (POINTER(c_double), [handle]),
        "iso_norm_sd": (POINTER(c_double), [handle]),
        "iso_norm_transaxial": (c_int64, [POINTER(POINTER(c_double)), POINTER(POINTER(c_int64)), handle]),
        "iso_norm_axial": (c_int64, [POINTER(POINTER(c_double)), POINTER(POINTER(c_int64)), handle]),
        "iso_norm_pair": (c_double, [handle, c_int64, c_int64]),
        "iso_norm_factors": (PairFactors, [handle]),
        "iso_norm_write": (c_int, [c_char_p, handle, c_char_p, c_bool]),
        "iso_norm_write_castor": (c_int, [c_char_p, handle, handle, c_bool]),
        "iso_randoms_from_delayed": (
            c_int,
            [POINTER(c_double), POINTER(c_int64), handle, handle, POINTER(_abi.Events)],
        ),
    }
)


class Norm:
    """Factors of a ring, as `isotome.norm` finds them.

    crystals, sd: (crystals,) float64, efficiencies, and the errors of their logarithms; 0: dead.
    transaxial, axial: factors of classes of pairs by key, {} if the model has none.
    place, place_sd: x and y in mm, and two tilts in rad, by which the source lies off the given place; () if it
        was not fitted.
    found: figures of the fit by name, as include/isotome/norm.h says.
    """

    def __init__(self, pointer: c_void_p, found: _Found) -> None:
        if not (isinstance(pointer, c_void_p) and isinstance(found, _Found)):
            raise errors.ArgumentError(f"Norm: given {type(pointer).__name__}, wanted the result of isotome.norm")
        self._pointer = pointer
        n = lib.iso_norm_crystals(pointer)
        self.crystals = np.ctypeslib.as_array(lib.iso_norm_efficiency(pointer), (n,)).copy()
        self.sd = np.ctypeslib.as_array(lib.iso_norm_sd(pointer), (n,)).copy()
        self.transaxial = self._classes(lib.iso_norm_transaxial)
        self.axial = self._classes(lib.iso_norm_axial)
        self.place = tuple(found.place_mm[: found.places])
        self.place_sd = tuple(found.place_sd[: found.places])
        self.found = {
            name: list(value) if isinstance(value, ctypes.Array) else value
            for name, value in ((name, getattr(found, name)) for name, _ in _Found._fields_[1:])
        }

    def _classes(self, of: Any) -> dict[int, float]:
        factor, key = POINTER(c_double)(), POINTER(c_int64)()
        n = of(byref(factor), byref(key), self._pointer)
        return {key[i]: factor[i] for i in range(n)}

    def pair(self, a: int, b: int) -> float:
        """m of two crystals: what multiplies their expected counts."""
        return lib.iso_norm_pair(self._pointer, integer(a, "a", 0), integer(b, "b", 0))

    def save(self, path: str | os.PathLike, force: bool = False, scanner: AnyScanner | None = None) -> None:
        """NAME.norm.json and its arrays, or NAME.Cdh for CASToR, which needs `scanner`; `force`: files are replaced."""
        if os.fspath(path).endswith(".Cdh"):
            if scanner is None:
                raise errors.ArgumentError(f"save: {path} lists the pairs of a scanner: 'scanner' says which")
            pairs_of = Scanner._of(scanner)._pointer
            check(lib.iso_norm_write_castor(os.fsencode(path), self._pointer, pairs_of, bool(force)))
            return
        check(lib.iso_norm_write(os.fsencode(path), self._pointer, None, bool(force)))

    def __del__(self) -> None:
        pointer, self._pointer = getattr(self, "_pointer", None), None
        if pointer:
            lib.iso_norm_free(pointer)


def _events(given: AnyEvents, scanner: Scanner, delayeds: bool = False) -> Events:
    if isinstance(given, Events):
        return given
    return read_events(given, scanner=scanner, delayeds=delayeds) if delayeds else read_events(given, scanner=scanner)


def _rates(context: Context, scanner: Scanner, delayed: AnyEvents) -> ctypes.Array:
    rate, bad = (c_double * scanner.crystals)(), c_int64()
    late = _events(delayed, scanner, delayeds=True)
    e, kept = late._struct()
    check(lib.iso_randoms_from_delayed(rate, byref(bad), context._pointer, scanner._pointer, byref(e)))
    del kept
    return rate


def norm(
    scanner: AnyScanner,
    events: AnyEvents,
    source: str | np.ndarray,
    mu: np.ndarray | None = None,
    delayed: AnyEvents | None = None,
    components: str = "crystal",
    place: str | float = "fit",
    mirror: bool = True,
    relative: bool = False,
    rays: int = 5,
    mask: np.ndarray | None = None,
    tolerance: float = 0,
    pair_share: float = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    grid: Grid | None = None,
    context: Context | None = None,
    progress: Tell = None,
    tables: bool = True,
) -> Norm:
    """Efficiencies of crystals and factors of pairs of a ring, by maximum likelihood, from a scan of a known source.

    events: Events, or a file of them. source: an image in counts/mm, or a text: cylinder:X,Y,Z,R,LENGTH[,AXIS],
        plane:X,Y,Z,WIDTH,HEIGHT,THICK,ANGLE or orbit:RADIUS,ROD_RADIUS,LENGTH, in mm and degrees.
    mu: attenuation, 1/mm, an image, or an array on `grid`.
    delayed: delayed coincidences, Events or a file, from which randoms follow; None: no randoms.
    components: some of crystal,transaxial,axial.
    place: "fit" finds the place of the source, with a prior of 3 mm, or of so many mm as a number says; "given" does not.
    mirror: places round the ring and their mirror images share a factor.
    relative: efficiencies are 1 on average over living crystals.
    rays: lines between two crystals. mask: 0 for each crystal that is to be left out, else 1.
    tolerance: the fit ends when no logarithm changes by more; 0: a thousandth of the least error.
    pair_share: look at this share of the pairs of crystals and their events alone; 0: at all.
    checkpoint: a file that is written while the fit runs. resume: go on from it, if it is there. A checkpoint of other
        events or options is refused.
    tables: keep the expected counts of all pairs. False makes them again in every pass, with the same result in less
        memory: for a shape without mu, place="given", and at most 255 events of a pair.
    """
    context, scanner = context_of(context), Scanner._of(scanner)
    measured, kept = _events(events, scanner)._struct()
    keep: list[Any] = [measured, kept]
    scan = _Scan(size=ctypes.sizeof(_Scan))
    scan.events = ctypes.pointer(measured)
    if isinstance(source, str):
        scan.shape = text(source, "source")
    else:
        scan.image = ctypes.pointer(image(source, "source", grid))
    if mu is not None:
        scan.mu = ctypes.pointer(image(mu, "mu", None if isinstance(getattr(mu, "grid", None), Grid) else grid))
    if delayed is not None:
        keep.append(_rates(context, scanner, delayed))
        scan.rate = ctypes.cast(keep[-1], POINTER(c_double))
    p = _Fit(size=ctypes.sizeof(_Fit), scanner=scanner._pointer, scan=ctypes.pointer(scan), scans=1)
    for word in components.split(","):
        if word not in _COMPONENTS:
            raise errors.ArgumentError(f"components: given {components!r}, wanted some of crystal,transaxial,axial")
        p.components |= _COMPONENTS[word]
    p.place_given = place == "given"
    if not isinstance(place, str):
        p.place_sd_mm = number(place, "place", 1e-6, 1e6)
    elif place not in ("fit", "given"):
        raise errors.ArgumentError(f"place: given {place!r}, wanted 'fit', 'given' or a number of mm")
    p.no_mirror, p.relative, p.no_tables = not mirror, bool(relative), not tables
    p.rays, p.tolerance = integer(rays, "rays", 1, 64), number(tolerance, "tolerance", 0, 1)
    p.pair_share, p.resume = number(pair_share, "pair_share", 0, 1), bool(resume)
    if checkpoint is not None:
        p.checkpoint = text(os.fspath(checkpoint), "checkpoint")
    if mask is not None:
        keep.append(_arrays.given(mask, (scanner.crystals,), "mask"))
        p.mask = keep[-1].ctypes.data
    made, found = c_void_p(), _Found(size=ctypes.sizeof(_Found))
    run(context, progress, lib.iso_norm_make, byref(made), byref(found), context._pointer, byref(p))
    return Norm(made, found)
