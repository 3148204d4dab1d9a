# SPDX-License-Identifier: BSD-3-Clause
"""Simulated scans: what a scanner measures of an object. The same seed gives the same data on any threads.

    activity, mu = isotome.phantom("spheres", mu=True)
    events = isotome.simulate(activity, "clinical-ring.yaml", counts=1e6, mu=mu)
    image = isotome.ray(events, scanner="clinical-ring.yaml", mu=mu).reconstruct()
"""

from __future__ import annotations

import ctypes
import os
import warnings
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Callable, NamedTuple, Union

import numpy as np

from . import _abi, _arrays, errors
from ._abi import declare, handle, lib, out, vector
from ._call import Handle, check, text
from ._inputs import context_of, image, integer, number, refuse_memory, room, run
from .context import Context, Progress
from .events import Events, adopted
from .grid import Grid
from .phantoms import opened, phantom
from .recordings import any_transducers
from .scanner import Panels, Scanner, StripsStruct
from .transducers import TransducersStruct
from .transport import Transport, TransportOptions, transport_options

Tell = Union[Callable[[Progress], object], None]
AnyScanner = Union[Scanner, str, "os.PathLike[str]"]

# ---- simulate.h, physics.h: crystals on a cylinder ----


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
        ("scatters", c_double),
        ("delayed", c_bool),
        ("tof_fwhm_ps", c_double),
        ("duration_s", c_double),
        ("half_life_s", c_double),
        ("isotope", c_char_p),
        ("seed", c_uint64),
    ]


class _Simulated(ctypes.Structure):
    _c_name_ = "iso_simulated"
    _fields_ = [
        ("trues", c_int64),
        ("scatters", c_int64),
        ("randoms", c_int64),
        ("decays", c_double),
        ("window_ps", c_double),
        ("randoms_per_pair", c_double),
        ("randoms_per_pair_mm", c_double),
    ]


declare(
    {
        "iso_simulate": (c_int, [POINTER(_abi.Events), POINTER(_Simulated), handle, POINTER(_Simulate)]),
        "iso_simulate_singles": (c_int, [vector, POINTER(_Simulate)]),
        "iso_half_life": (c_int, [POINTER(c_double), c_char_p]),
        "iso_isotope": (c_char_p, [c_char_p]),
    }
)


class Simulated(NamedTuple):
    """What simulated events are made of: `events.info`."""

    trues: int
    scatters: int
    randoms: int
    decays: float  # that gave the trues and scatters, and all that no crystal saw
    window_ps: float  # randoms are uniform over |dt| <= window
    randoms_per_pair: float  # expected, of a pair of efficiency 1; without time of flight
    randoms_per_pair_mm: float  # and with unbinned time of flight


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
    scatters: float = 0,
    delayed: bool = False,
    tof_fwhm_ps: float | None = None,
    duration_s: float = 0,
    half_life_s: float = 0,
    isotope: str | None = None,
    seed: int = 1,
    grid: Grid | None = None,
    context: Context | None = None,
    progress: Tell = None,
) -> Events:
    """List-mode events of an image in a scanner of crystals on a cylinder, in the order of time.

    activity: decays per volume, on any scale: an isotome.Image, or an array with `grid`.
    counts: expected number of events, all kinds together; `exact_counts`: exactly that many.
    mu: attenuation, 1/mm: an image, or an array on the grid of the activity.
    eff: (crystals,) float32, efficiency of each crystal, any scale.
    randoms, scatters: shares of the events. delayed: delayed coincidences instead, as the randoms but apart.
    tof_fwhm_ps: time-of-flight resolution; None: the scanner's; 0: no times.
    duration_s: of the scan; 0: events have no times. half_life_s or isotope: the activity decays meanwhile.
    """
    context, scanner = context_of(context), Scanner._of(scanner)
    x = image(activity, "activity", grid)
    on = grid if grid is not None else activity.grid  # type: ignore[attr-defined]
    p = _Simulate(size=ctypes.sizeof(_Simulate), scanner=scanner._pointer, activity=ctypes.pointer(x))
    if mu is not None:
        p.mu = ctypes.pointer(image(mu, "mu", None if isinstance(getattr(mu, "grid", None), Grid) else on))
    if eff is not None:
        eff = _efficiencies(eff, scanner)
        p.eff = eff.ctypes.data
    p.counts, p.exact_counts = number(counts, "counts", 1, 1e12), bool(exact_counts)
    p.randoms, p.scatters = number(randoms, "randoms", 0, 1), number(scatters, "scatters", 0, 1)
    p.delayed = bool(delayed)
    p.tof_fwhm_ps = scanner.tof_fwhm_ps if tof_fwhm_ps is None else number(tof_fwhm_ps, "tof_fwhm_ps", 0, 1e6)
    p.duration_s = number(duration_s, "duration_s", 0, 4e6)
    p.half_life_s = number(half_life_s, "half_life_s", 0)
    _set_isotope(p, isotope)
    p.seed = integer(seed, "seed", 0, 2**64 - 1)
    refuse_memory(context, "events", p.counts * (p.randoms if delayed else 1), 60)
    e, info = _abi.Events(), _Simulated()
    run(context, progress, lib.iso_simulate, byref(e), byref(info), context._pointer, byref(p))
    events = adopted(e)
    events.info = Simulated(*(getattr(info, name) for name in Simulated._fields))
    return events


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
    of = _of_kind(scanner, "strips", lib.iso_scanner_strips)
    source = opened(ellipses)
    n, start = integer(counts, "counts", 1), integer(first, "first")
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


def _of_kind(scanner: Scanner, kind: str, get: Callable[..., Any]) -> Any:
    """What a scanner of that kind has, as `get` says; another is refused."""
    found = get(scanner._pointer)
    if not found:
        raise errors.ArgumentError(f"scanner: given {scanner.name} of kind {scanner.kind}, wanted {kind}")
    return found


# ---- simulate.h: two panels ----


class _PanelSimulate(ctypes.Structure):
    _c_name_ = "iso_panel_simulate"
    _fields_ = [
        ("size", c_size_t),
        ("scanner", c_void_p),
        ("activity", POINTER(_abi.Array)),
        ("transport", TransportOptions),
        ("counts", c_double),
        ("decays", c_double),
        ("exact", c_bool),
        ("randoms", c_double),
        ("by_rate", c_bool),
        ("duration_s", c_double),
    ]


class _PanelSimulated(ctypes.Structure):
    _c_name_ = "iso_panel_simulated"
    _fields_ = [
        ("expected", c_int64),
        ("trues", c_int64),
        ("randoms", c_int64),
        ("decays", c_int64),
        ("share", c_double),
        ("decays_per_s", c_double),
        ("singles_upper_per_s", c_double),
        ("singles_lower_per_s", c_double),
    ]


_EMIT = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(_abi.Events))

declare(
    {
        "iso_panel_simulate_open": (c_int, [out, handle, POINTER(_PanelSimulate)]),
        "iso_panel_simulate_free": (None, [handle]),
        "iso_panel_simulate_info": (POINTER(_PanelSimulated), [handle]),
        "iso_panel_simulate_events": (c_int, [vector, handle, _EMIT, c_void_p]),
        "iso_panel_simulate_delayed": (c_int, [vector, POINTER(c_int64), handle]),
    }
)


class PanelSimulated(NamedTuple):
    """What a simulated scan of two panels is made of."""

    trues: int
    randoms: int
    decays: int
    share: float  # of randoms among the events
    decays_per_s: float  # these three: with randoms_by_rate
    singles_upper_per_s: float
    singles_lower_per_s: float


class PanelScan(NamedTuple):
    """A simulated scan of two panels."""

    lors: np.ndarray  # counts (Ncx, Ncz, Ncx, Ncz), upper crystal first; with layers two axes before
    events: Events | None  # one by one, if they were asked for
    delayed: np.ndarray | None  # as lors, delayed coincidences
    info: PanelSimulated


class _Pieces:
    """Pieces of a list, copied as the library hands them over; a failure here ends its call."""

    def __init__(self) -> None:
        self.lines: list[np.ndarray] = []
        self.crystal: list[np.ndarray] = []
        self.error: BaseException | None = None

    def take(self, _arg: Any, piece: Any) -> int:
        try:
            e = piece.contents
            self.lines.append(np.frombuffer(ctypes.string_at(e.v, 28 * e.n), np.float32).reshape(-1, 7))
            self.crystal.append(np.frombuffer(ctypes.string_at(e.crystal, 8 * e.n), np.uint32).reshape(-1, 2))
            return 0
        except BaseException as error:  # raised where the call was made
            self.error = error
            return -7

    def all(self) -> Events:
        if not self.lines:
            return Events(np.empty((0, 7), np.float32), crystal=np.empty((0, 2), np.uint32))
        return Events(np.concatenate(self.lines), crystal=np.concatenate(self.crystal))


def _lors(context: Context, panels: Panels) -> np.ndarray:
    shape: tuple[int, ...] = (*panels.crystals, *panels.crystals)
    if panels.layers > 1:
        shape = (panels.layers, panels.layers, *shape)
    lors = room(context, shape, "histogram of LORs")
    lors.fill(0)
    return lors


def simulate_panels(
    activity: np.ndarray | str | os.PathLike,
    scanner: AnyScanner,
    counts: float = 1e6,
    decays: float = 0,
    exact_counts: bool = False,
    randoms: float = 0,
    randoms_by_rate: bool = False,
    duration_s: float = 0,
    events: bool = False,
    delayed: bool = False,
    transport: Transport = Transport(),
    seed: int = 1,
    grid: Grid | None = None,
    context: Context | None = None,
    progress: Tell = None,
) -> PanelScan:
    """A scan of two panels by photon transport through their crystals.

    activity: decays per volume, on any scale: an isotome.Image, an array with `grid`, or a phantom by name
        or file, which becomes an image on the scanner's grid.
    counts: expected number of events, randoms among them; decays: expected decays instead.
    exact_counts: exactly those numbers. randoms: share of the events, below 1; randoms_by_rate: from
        the rates of a scan of duration_s and the scanner's coincidence window instead.
    events: also the events one by one. delayed: also delayed coincidences, as many as the randoms but apart.
    """
    context, scanner = context_of(context), Scanner._of(scanner)
    panels = Panels._of(_of_kind(scanner, "panels", lib.iso_scanner_panels).contents)
    if isinstance(activity, (str, os.PathLike)):
        activity = phantom(activity, grid if grid is not None else scanner.grid, context=context)
    x = image(activity, "activity", grid)
    p = _PanelSimulate(size=ctypes.sizeof(_PanelSimulate), scanner=scanner._pointer)
    p.activity = ctypes.pointer(x)
    p.transport = transport_options(transport, seed)
    p.counts, p.decays = number(counts, "counts", 1, 1e12), number(decays, "decays", 0, 1e13)
    p.exact, p.randoms = bool(exact_counts), number(randoms, "randoms", 0, 1)
    p.by_rate, p.duration_s = bool(randoms_by_rate), number(duration_s, "duration_s", 0, 4e6)
    if p.by_rate and p.randoms:
        raise errors.ArgumentError("randoms, randoms_by_rate: given both, wanted one of them")
    if p.by_rate != (p.duration_s > 0):
        raise errors.ArgumentError("randoms_by_rate, duration_s: given one of them, wanted both or none")
    if delayed and not (p.randoms or p.by_rate):
        raise errors.ArgumentError("delayed: given without randoms, wanted randoms or randoms_by_rate too")
    if events:
        refuse_memory(context, "events", p.counts, 2 * 36)
    scan = Handle(lib.iso_panel_simulate_free, context._handle, scanner._handle)
    run(context, None, lib.iso_panel_simulate_open, byref(scan.pointer), context._pointer, byref(p))
    return _panel_scan(context, progress, scan, panels, events, delayed)


def _panel_scan(
    context: Context, progress: Tell, scan: Handle, panels: Panels, events: bool, delayed: bool
) -> PanelScan:
    lors, pieces = _lors(context, panels), _Pieces()
    emit = _EMIT(pieces.take) if events else _EMIT()
    try:
        run(context, progress, lib.iso_panel_simulate_events, _arrays.address(lors), scan.pointer, emit, None)
    except errors.Cancelled:
        if pieces.error is not None:
            raise pieces.error from None
        raise
    late = None
    if delayed:
        late = _lors(context, panels)
        run(
            context,
            progress,
            lib.iso_panel_simulate_delayed,
            _arrays.address(late),
            byref(c_int64()),
            scan.pointer,
        )
    done = lib.iso_panel_simulate_info(scan.pointer).contents
    info = PanelSimulated(*(getattr(done, name) for name in PanelSimulated._fields))
    return PanelScan(lors, pieces.all() if events else None, late, info)


# ---- spheres.h: transducers ----


class _Sphere(ctypes.Structure):
    _c_name_ = "iso_sphere"
    _fields_ = [("centre", c_double * 3), ("radius", c_double), ("value", c_double)]


class _Spheres(ctypes.Structure):
    _c_name_ = "iso_spheres"
    _fields_ = [("n", c_int), ("v", c_void_p), ("fwhm", c_double)]


declare(
    {
        "iso_phantom_spheres": (c_int, [c_void_p, POINTER(c_double), handle]),
        "iso_spheres_traces": (
            c_int,
            [
                vector,
                POINTER(c_double),
                handle,
                POINTER(_Spheres),
                POINTER(TransducersStruct),
                c_double,
                c_uint64,
            ],
        ),
    }
)


def _spheres(of: Any, fwhm: float) -> tuple[np.ndarray, float]:
    """(n, 5) float64: centre, radius, value; and the FWHM of a Gaussian that smooths them."""
    if isinstance(of, np.ndarray):
        if of.ndim != 2 or of.shape[1] != 5 or len(of) == 0 or of.dtype.kind not in "iuf":
            raise errors.ArgumentError(
                f"spheres: given {of.dtype} of shape {of.shape}, wanted (n, 5): x, y, z, radius in mm, value"
            )
        return np.ascontiguousarray(of, np.float64), number(fwhm, "smooth_fwhm", 0)
    if fwhm:
        raise errors.ArgumentError("smooth_fwhm: given with a phantom, which has its own, wanted spheres")
    source = opened(of)
    spheres, own = np.empty((lib.iso_phantom_shapes(source.pointer), 5)), c_double()
    check(lib.iso_phantom_spheres(spheres.ctypes.data, byref(own), source.pointer))
    return spheres, own.value


def simulate_traces(
    spheres: str | os.PathLike | np.ndarray,
    scanner: Any,
    noise: float = 0,
    smooth_fwhm: float = 0,
    seed: int = 1,
    context: Context | None = None,
) -> np.ndarray:
    """What transducers hear of spheres, in closed form, with apertures and impulse response: (n, samples).

    spheres: a phantom of them by name ("nine-spheres", "vessel-tree") or file (.yaml), or (n, 5): x, y,
        z, radius in mm, absorbed energy density; smooth_fwhm in mm smooths those.
    scanner: a Scanner or its file, Transducers, or a Recording or its file.
    noise: width of Gaussian noise, as a share of the greatest pressure.
    Traces of an image are `isotome.svoxel(scanner=..., grid=...).project(image)`.
    """
    context = context_of(context)
    t, _kept = any_transducers(scanner)._struct()
    table, fwhm = _spheres(spheres, smooth_fwhm)
    s, greatest = _Spheres(len(table), table.ctypes.data, fwhm), c_double()
    width, number_of = number(noise, "noise", 0, 1e3), integer(seed, "seed", 0, 2**64 - 1)
    y = room(context, (t.n, t.samples), "traces")
    run(
        context,
        None,
        lib.iso_spheres_traces,
        _arrays.address(y),
        byref(greatest),
        context._pointer,
        byref(s),
        byref(t),
        width,
        number_of,
    )
    if greatest.value == 0:
        warnings.warn(
            f"the record holds nothing: no sound comes from {t.first_us:g} us for {t.samples * t.dt_us:g} us",
            errors.IsotomeWarning,
            stacklevel=2,
        )
    return y
