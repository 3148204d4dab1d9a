# SPDX-License-Identifier: BSD-3-Clause
"""Simulated scans of two panels, by photon transport.

    scan = isotome.simulate_panels("derenzo-meng", "meng2019.yaml", counts=1e6)
    image = isotome.srm(scan.lors, srm="meng.srm").reconstruct()
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import Any, NamedTuple

import numpy as np

from . import _abi, _arrays, errors
from ._abi import declare, handle, lib, out, vector
from ._call import Handle, check
from ._checks import number
from ._inputs import context_of, image, refuse_memory, room, run
from .context import Context, Tell
from .events import Events
from .grid import Grid
from .phantoms import phantom
from .scanner import Panels, Scanner, of_kind
from .simulation import _TRUTH_FN, AnyScanner
from .transport import Transport, TransportOptions, transport_options


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
        ("mu", POINTER(_abi.Array)),
        ("rayleigh", c_bool),
        ("truth", _TRUTH_FN),
        ("truth_arg", c_void_p),
        ("motion", c_void_p),
        ("half_life_s", c_double),
    ]


class _PanelSimulated(ctypes.Structure):
    _c_name_ = "iso_panel_simulated"
    _fields_ = [
        ("size", c_size_t),
        ("expected", c_int64),
        ("trues", c_int64),
        ("randoms", c_int64),
        ("decays", c_int64),
        ("share", c_double),
        ("decays_per_s", c_double),
        ("singles_upper_per_s", c_double),
        ("singles_lower_per_s", c_double),
        ("histograms", c_int64),
    ]


_EMIT = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(_abi.Events))

declare(
    {
        "iso_panel_simulate_open": (c_int, [out, handle, POINTER(_PanelSimulate)]),
        "iso_panel_simulate_free": (None, [handle]),
        "iso_panel_simulate_info": (POINTER(_PanelSimulated), [handle]),
        "iso_panel_simulate_orders": (c_int, [POINTER(c_int64), handle]),
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
    by_scatters: tuple[int, ...] = ()  # trues by scatters of both photons in `mu`; the last: as many or more
    order: np.ndarray | None = None  # (events,) uint8, with `events`: 0 a true, 1, 2, ... scatters, 255 a random


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
        self.order: list[np.ndarray] = []
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

    def tell(self, _arg: Any, order: Any, n: int) -> int:
        try:
            self.order.append(np.frombuffer(ctypes.string_at(order, n), np.uint8))
            return 0
        except BaseException as error:
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
    mu: np.ndarray | None = None,
    object_rayleigh: bool = False,
    context: Context | None = None,
    progress: Tell = None,
) -> PanelScan:
    """A scan of two panels by photon transport through their crystals.

    activity: decays per volume, on any scale: an isotome.Image, an array with `grid`, or a phantom by name
        or file, which becomes an image on the scanner's grid.
    counts: expected number of events, randoms among them; decays: expected decays instead.
    exact_counts: exactly those numbers. randoms: share of the events, below 1; randoms_by_rate: from
        the rates of a scan of duration_s and the scanner's coincidence window instead.
    mu: of the object that photons go through before they meet the heads, 1/mm: an image, or an array on the grid
        of the activity; None: none. object_rayleigh: Rayleigh scatter in it, too.
    events: also the events one by one, and `info.order`: what each is.
    delayed: also delayed coincidences, as many as the randoms but apart.
    progress: as of isotome.simulate.
    """
    context, scanner = context_of(context), Scanner._of(scanner)
    panels = Panels._of(of_kind(scanner, "panels", lib.iso_scanner_panels).contents)
    if isinstance(activity, (str, os.PathLike)):
        activity = phantom(activity, grid if grid is not None else scanner.grid, context=context)
    x = image(activity, "activity", grid)
    p = _PanelSimulate(size=ctypes.sizeof(_PanelSimulate), scanner=scanner._pointer)
    p.activity = ctypes.pointer(x)
    if mu is not None:
        on = grid if grid is not None else activity.grid  # type: ignore[union-attr]
        p.mu = ctypes.pointer(image(mu, "mu", None if isinstance(getattr(mu, "grid", None), Grid) else on))
    p.rayleigh = bool(object_rayleigh)
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
    pieces = _Pieces() if events else None
    if pieces is not None:
        p.truth = _TRUTH_FN(pieces.tell)
    run(context, None, lib.iso_panel_simulate_open, byref(scan.pointer), context._pointer, byref(p))
    return _panel_scan(context, progress, scan, panels, pieces, p, delayed)


def _panel_scan(
    context: Context,
    progress: Tell,
    scan: Handle,
    panels: Panels,
    pieces: _Pieces | None,
    _keeps: _PanelSimulate,  # whose function the scan calls
    delayed: bool,
) -> PanelScan:
    lors = _lors(context, panels)
    emit = _EMIT(pieces.take) if pieces is not None else _EMIT()
    try:
        run(context, progress, lib.iso_panel_simulate_events, _arrays.address(lors), scan.pointer, emit, None)
    except errors.Cancelled:
        if pieces is not None and pieces.error is not None:
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
    orders = (c_int64 * 8)()
    check(lib.iso_panel_simulate_orders(orders, scan.pointer))
    info = PanelSimulated(*(getattr(done, name) for name, _ in _PanelSimulated._fields_[2:-1]), tuple(orders))
    if pieces is None:
        return PanelScan(lors, None, late, info)
    order = np.concatenate([np.empty(0, np.uint8), *pieces.order])
    return PanelScan(lors, pieces.all(), late, info._replace(order=order))
