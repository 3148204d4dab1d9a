# SPDX-License-Identifier: BSD-3-Clause
"""Simulated scans: what a scanner measures of an object. The same seed gives the same data on any threads.

    activity, mu = isotome.phantom("spheres", mu=True)
    events = isotome.simulate(activity, "clinical-ring.yaml", counts=1e6, mu=mu)
    image = isotome.ray(events, scanner="clinical-ring.yaml", mu=mu).reconstruct()
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Union

import numpy as np

from . import _abi, _arrays, _poses, errors
from ._abi import declare, handle, lib, vector
from ._call import Handle, check, text
from ._checks import integer, number
from ._inputs import context_of, image, refuse_memory, room, run
from .context import Context, Tell
from .events import Events, Simulated, adopted
from .grid import Grid
from .normalisation import Norm, PairFactors
from .phantoms import opened
from .scanner import Scanner, StripsStruct, of_kind

AnyScanner = Union[Scanner, str, "os.PathLike[str]"]

# ---- simulate.h, physics.h: crystals on a cylinder ----


_TRUTH_FN = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(ctypes.c_uint8), c_int64)


class _SimulatedPhotons(ctypes.Structure):
    _c_name_ = "iso_simulated_photons"
    _fields_ = [
        ("size", c_size_t),
        ("by_order", c_int64 * 8),
        ("decays_per_s", c_double),
        ("singles_per_s", c_double),
        ("randoms_expected", c_double),
    ]


class _Simulate(ctypes.Structure):
    _c_name_ = "iso_simulate"
    _fields_ = [
        ("size", c_size_t),
        ("scanner", c_void_p),
        ("activity", POINTER(_abi.Array)),
        ("mu", POINTER(_abi.Array)),
        ("eff", c_void_p),
        ("counts", c_double),
        ("exact_counts", c_bool),
        ("randoms", c_double),
        ("bent", c_double),
        ("delayed", c_bool),
        ("tof_fwhm_ps", c_double),
        ("duration_s", c_double),
        ("half_life_s", c_double),
        ("isotope", c_char_p),
        ("seed", c_uint64),
        ("physics", c_bool),
        ("decays", c_double),
        ("by_rate", c_bool),
        ("window_kev", c_double * 2),
        ("resolution", c_double),
        ("rayleigh", c_bool),
        ("truth", _TRUTH_FN),
        ("truth_arg", c_void_p),
        ("photons", POINTER(_SimulatedPhotons)),
        ("motion", POINTER(_poses.MotionParts)),
        ("mu_fixed", POINTER(_abi.Array)),
        ("gates", c_void_p),
        ("warp", c_void_p),
        ("time_offset_ps", POINTER(c_double)),
        ("crystal_fwhm_ps", POINTER(c_double)),
        ("dead_time_s", c_double),
        ("dead_time", c_int),
        ("pairs", POINTER(PairFactors)),
    ]


class _Simulated(ctypes.Structure):
    _c_name_ = "iso_simulated"
    _fields_ = [
        ("size", c_size_t),
        ("trues", c_int64),
        ("scatters", c_int64),
        ("randoms", c_int64),
        ("decays", c_double),
        ("window_ps", c_double),
        ("randoms_per_pair", c_double),
        ("randoms_per_pair_mm", c_double),
        ("lost", c_int64),
        ("thinned", c_int64),
    ]


declare(
    {
        "iso_simulate": (c_int, [POINTER(_abi.Events), POINTER(_Simulated), handle, POINTER(_Simulate)]),
        "iso_simulate_singles": (c_int, [vector, POINTER(_Simulate)]),
        "iso_half_life": (c_int, [POINTER(c_double), c_char_p]),
        "iso_isotope": (c_char_p, [c_char_p]),
    }
)


def half_life(isotope: str) -> float:
    """Of a positron emitter such as "F-18", s."""
    if not isinstance(isotope, str):
        raise errors.ArgumentError(f"isotope: given {isotope!r}, wanted a name such as 'F-18'")
    seconds = c_double()
    check(lib.iso_half_life(byref(seconds), text(isotope, "isotope")))
    return seconds.value


def _efficiencies(eff: Any, scanner: Scanner) -> np.ndarray:
    eff = _arrays.given(eff, (scanner.crystals,), "eff")
    if eff.size == 0 or eff.min() < 0 or eff.max() == 0:
        raise errors.ArgumentError("eff: given values below 0, or none above, wanted some above 0")
    return eff


def simulate(
    activity: np.ndarray,
    scanner: AnyScanner,
    counts: float = 1e6,
    mu: np.ndarray | None = None,
    eff: np.ndarray | None = None,
    exact_counts: bool = False,
    randoms: float = 0,
    bent: float = 0,
    delayed: bool = False,
    tof_fwhm_ps: float | None = None,
    duration_s: float = 0,
    half_life_s: float = 0,
    isotope: str | None = None,
    seed: int = 1,
    grid: Grid | None = None,
    physics: bool = False,
    decays: float | None = None,
    randoms_by_rate: bool = False,
    energy_window: tuple[float, float] | None = None,
    energy_resolution: float | None = None,
    object_rayleigh: bool = False,
    context: Context | None = None,
    progress: Tell = None,
    poses: _poses.Table | None = None,
    bed: _poses.Table | None = None,
    gantry: _poses.Table | None = None,
    mu_fixed: np.ndarray | None = None,
    norm: Norm | None = None,
) -> Events:
    """List-mode events of an image in a scanner of crystals on a cylinder, in the order of time.

    The context's device makes them, the same events on each.

    activity: decays per volume, on any scale: an isotome.Image, or an array with `grid`.
    counts: expected number of events, all kinds together; `exact_counts`: exactly that many.
    mu: attenuation, 1/mm: an image, or an array on the grid of the activity.
    eff: (crystals,) float32, efficiency of each crystal, any scale.
    randoms: share of the events. delayed: delayed coincidences instead, as the randoms but apart.
    bent: share of the events with one photon deflected, a stand-in for scatter.
    tof_fwhm_ps: time-of-flight resolution; None: the scanner's; 0: no times.
    duration_s: of the scan; 0: events have no times. half_life_s or isotope: the activity decays meanwhile.
    physics: photons are followed through `mu` and counted by energy: scatter of all orders is
        what comes of it. decays: expected decays instead of counts. randoms_by_rate: randoms from the rate of singles.
    energy_window, energy_resolution: keV, and FWHM at 511 keV as a share of it; None: the scanner's.
    object_rayleigh: Rayleigh scatter in the object, too.
    progress: True: shows bars of tqdm if it is installed, else a line on stderr. Or a function that is called with
        a Progress after each step; where it returns True the call ends with Cancelled.
    poses, bed, gantry: how object, bed and scanner move during the scan: tables of poses, each a file or an array
        (n, 8) or (n, 13). They need duration_s, and a context on the CPU. `activity` and `mu` are those of the object.
    mu_fixed: attenuation of what stays in place while the object moves, 1/mm; not with physics.
    norm: efficiencies and factors of pairs, from isotome.norm, instead of `eff`. `counts` are those before its factors
        of pairs thin them.
    """
    context, scanner = context_of(context), Scanner._of(scanner)
    x = image(activity, "activity", grid)
    on = grid if grid is not None else activity.grid  # type: ignore[attr-defined]
    p = _Simulate(size=ctypes.sizeof(_Simulate), scanner=scanner._pointer, activity=ctypes.pointer(x))
    for name, values in (("mu", mu), ("mu_fixed", mu_fixed)):
        if values is not None:
            own = None if isinstance(getattr(values, "grid", None), Grid) else on
            setattr(p, name, ctypes.pointer(image(values, name, own)))
    tables = _set_motion(p, poses, bed, gantry)
    if norm is not None:
        if eff is not None:
            raise errors.ArgumentError("simulate: given eff and norm, wanted one of them")
        eff, factors = norm.crystals.astype(np.float32), lib.iso_norm_factors(norm._pointer)
        p.pairs = ctypes.pointer(factors)
    if eff is not None:
        eff = _efficiencies(eff, scanner)
        p.eff = eff.ctypes.data
    p.counts, p.exact_counts = number(counts, "counts", 1, 1e12), bool(exact_counts)
    p.randoms, p.bent = number(randoms, "randoms", 0, 1), number(bent, "bent", 0, 1)
    p.delayed = bool(delayed)
    p.tof_fwhm_ps = scanner.tof_fwhm_ps if tof_fwhm_ps is None else number(tof_fwhm_ps, "tof_fwhm_ps", 0, 1e6)
    p.duration_s = number(duration_s, "duration_s", 0, 4e6)
    p.half_life_s = number(half_life_s, "half_life_s", 0)
    _set_isotope(p, isotope)
    p.seed = integer(seed, "seed", 0, 2**64 - 1)
    p.physics, p.by_rate, p.rayleigh = bool(physics), bool(randoms_by_rate), bool(object_rayleigh)
    p.decays = 0 if decays is None else number(decays, "decays", 1, 1e13)
    p.resolution = 0 if energy_resolution is None else number(energy_resolution, "energy_resolution", 0, 1)
    if energy_window is not None:
        low, high = energy_window
        p.window_kev[:] = number(low, "energy_window", 0, 1e4), number(high, "energy_window", 0, 1e4)
    pieces: list[np.ndarray] = []

    def tell(arg: object, order: Any, n: int) -> int:
        pieces.append(np.ctypeslib.as_array(order, (n,)).copy())
        return 0

    found = _SimulatedPhotons(size=ctypes.sizeof(_SimulatedPhotons))
    p.truth, p.photons = _TRUTH_FN(tell), ctypes.pointer(found)
    refuse_memory(context, "events", p.counts * (p.randoms if delayed else 1), 61)
    e, info = _abi.Events(), _Simulated(ctypes.sizeof(_Simulated))
    run(context, progress, lib.iso_simulate, byref(e), byref(info), context._pointer, byref(p))
    del tables
    events = adopted(e)
    events.info = Simulated(
        **{name: getattr(info, name) for name, _ in _Simulated._fields_[1:]},
        by_scatters=tuple(found.by_order),
        order=np.concatenate(pieces),
    )
    return events


def _set_motion(
    p: _Simulate, poses: _poses.Table | None, bed: _poses.Table | None, gantry: _poses.Table | None
) -> list[Handle]:
    """The tables, which must be there as long as p is used."""
    tables, parts = [], _poses.MotionParts(size=ctypes.sizeof(_poses.MotionParts))
    for name, kind, given in (
        ("poses", _poses.OBJECT, poses),
        ("bed", _poses.BED, bed),
        ("gantry", _poses.GANTRY, gantry),
    ):
        if given is not None:
            tables.append(_poses.table(given, kind, name))
            setattr(parts, name, tables[-1].pointer)
    if tables:
        p.motion = ctypes.pointer(parts)
    return tables


def _set_isotope(p: _Simulate, isotope: str | None) -> None:
    if (isotope or p.half_life_s) and not p.duration_s:
        raise errors.ArgumentError("isotope, half_life_s: given without duration_s, wanted it too")
    if isotope is None:
        return
    if p.half_life_s:
        raise errors.ArgumentError("isotope, half_life_s: given both, wanted one of them")
    p.half_life_s = half_life(isotope)
    p.isotope = lib.iso_isotope(text(isotope, "isotope"))


def simulate_singles(
    scanner: AnyScanner,
    counts: float,
    randoms: float,
    duration_s: float,
    half_life_s: float = 0,
    eff: np.ndarray | None = None,
    seed: int = 1,
) -> np.ndarray:
    """Singles of each crystal over the scan that give `simulate` its randoms: Poisson numbers."""
    scanner = Scanner._of(scanner)
    if scanner.kind != "cylinder":
        raise errors.ArgumentError(f"scanner: given {scanner.name} of kind {scanner.kind}, wanted a cylinder")
    p = _Simulate(size=ctypes.sizeof(_Simulate), scanner=scanner._pointer)
    p.counts, p.randoms = number(counts, "counts", 1, 1e12), number(randoms, "randoms", 0, 1)
    p.duration_s = number(duration_s, "duration_s", 0, 4e6)
    p.half_life_s = number(half_life_s, "half_life_s", 0)
    p.seed = integer(seed, "seed", 0, 2**64 - 1)
    if eff is not None:
        eff = _efficiencies(eff, scanner)
        p.eff = eff.ctypes.data
    singles = np.empty(scanner.crystals, _arrays.REAL)
    check(lib.iso_simulate_singles(_arrays.address(singles), byref(p)))
    return singles


# ---- strip.h: two strips ----

declare(
    {
        "iso_strip_simulate": (
            c_int,
            [c_void_p, handle, POINTER(StripsStruct), handle, c_uint64, c_int64, c_int64],
        ),
    }
)


def simulate_strip(
    ellipses: str | os.PathLike,
    scanner: AnyScanner,
    counts: int,
    seed: int = 1,
    first: int = 0,
    context: Context | None = None,
) -> np.ndarray:
    """Events of a phantom of ellipses between two strips: (counts, 3) float32, z_up, z_down, dl in mm.

    ellipses: "ellipses", or a file of them (.txt, .yaml). first: number of the first event: each depends on
    the seed and its number alone.
    """
    context, scanner = context_of(context), Scanner._of(scanner)
    of = of_kind(scanner, "strips", lib.iso_scanner_strips)
    source = opened(ellipses)
    n, start = integer(counts, "counts", 1), integer(first, "first", 0)
    seed = integer(seed, "seed", 0, 2**64 - 1)
    events = room(context, (n, 3), "events")
    run(
        context,
        None,
        lib.iso_strip_simulate,
        _arrays.address(events),
        context._pointer,
        of,
        source.pointer,
        seed,
        start,
        n,
    )
    return events
