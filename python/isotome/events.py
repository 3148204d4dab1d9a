# SPDX-License-Identifier: BSD-3-Clause
"""List-mode events and histograms of lines, in arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from . import _abi, _arrays, _masks, errors
from ._call import text
from ._checks import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_U32 = np.dtype(np.uint32)
_COLUMNS = ("lines", "time_ms", "count", "mult", "add", "crystal", "fwhm_ps")


def _bad(lines: np.ndarray) -> int:
    """How many have no length, or values that are not finite; a sum in double of finite floats is finite."""
    bad = (lines[:, 0] == lines[:, 3]) & (lines[:, 1] == lines[:, 4]) & (lines[:, 2] == lines[:, 5])
    if not math.isfinite(float(lines.sum(dtype=np.float64))):
        bad |= ~np.isfinite(lines).all(axis=1)
    return int(bad.sum())


class Simulated(NamedTuple):
    """What simulated events are made of: `events.info`."""

    trues: int
    scatters: int
    randoms: int
    decays: float  # that gave the trues and scatters, and all that no crystal saw
    window_ps: float  # randoms are uniform over |dt| <= window
    randoms_per_pair: float  # expected, of a pair of efficiency 1; without time of flight
    randoms_per_pair_mm: float  # and with unbinned time of flight
    by_scatters: tuple[int, ...] = ()  # events by scatters of both photons; the last: as many or more
    order: np.ndarray | None = None  # (events,) uint8: 0 a true, 1, 2, ... scatters, 255 a random
    lost: int = 0  # to the dead time of the scanner
    thinned: int = 0  # by factors of pairs


@dataclass(eq=False, repr=False)
class Events:
    """Events, or lines with counts. All arrays but `lines` may be None.

    Arrays of the types below, in C order, are used as they are. Others are copied and converted where the library
    needs them; numbers that do not fit are an error.

    `len(events)`; `events[:1000]`, `events[mask]`, `events[numbers]` are some of them, `events[3]` is a row of `lines`.
    `np.asarray(events)` are the rows, `lines` itself; `events.dt` are the time differences.

    lines: (n, 7) float32: both ends of each line, x, y, z in mm, and t1 - t2 in ps, which is positive if
        the annihilation was nearer to the second end. (n, 6): there are no times.
    time_ms: (n,) uint32, since the start of the scan.
    count: (n,) float32, of a histogram's line.
    mult: (n,) float32, attenuation x normalisation.
    add: (n,) float32, expected randoms and scatter in counts.
    crystal: (n, 2) uint32, the numbers of the two crystals.
    tof_fwhm_ps: resolution of t1 - t2; 0: there is no time of flight, or the scanner says.
    tof_bin_ps: width of the bins whose centres the times are; 0: they are not binned.
    start_s: start of the scan, as in the file. duration_s: length of the scan; 0: not known.
    isotope: such as "F-18", for decay; "": not known.
    lists_all: a histogram with every line that could have been measured, those without counts too: its
        sensitivity is the back-projection of `mult`. attenuated: `mult` holds the attenuation.
    info: what simulated events are made of.
    fwhm_ps: (n,) float32, the resolution of t1 - t2 of each event; None: one holds for all.
    """

    lines: np.ndarray
    time_ms: np.ndarray | None = None
    count: np.ndarray | None = None
    mult: np.ndarray | None = None
    add: np.ndarray | None = None
    crystal: np.ndarray | None = None
    tof_fwhm_ps: float = 0.0
    tof_bin_ps: float = 0.0
    start_s: float = 0.0
    duration_s: float = 0.0
    isotope: str = ""
    info: Simulated | None = None  # of simulated events
    lists_all: bool = False
    attenuated: bool = False
    fwhm_ps: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The rows: `lines`, without a copy where none is needed."""
        rows = self.lines if dtype is None else self.lines.astype(dtype, copy=False)
        if copy is False and rows is not self.lines:
            raise ValueError(f"the rows are {self.lines.dtype}: as {np.dtype(dtype)} they must be copied")
        return rows.copy() if copy and rows is self.lines else rows

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.lines)

    @property
    def dt(self) -> np.ndarray:
        """t1 - t2 of each event in ps: a view of `lines`; zeros where there are no times."""
        return self.lines[:, 6] if self.lines.shape[1] == 7 else np.zeros(len(self.lines), self.lines.dtype)

    @staticmethod
    def concatenate(parts: Sequence[Events]) -> Events:
        """All events of several, one behind the other.

        A column that only some have, and a resolution, bin width or isotope that differs, is an error. Times and the start
        are those of one clock. The duration is the sum, or 0, not known, where one is not known.
        """
        parts = list(parts)
        if not parts:
            raise errors.ArgumentError("concatenate: given no events, wanted some")
        joined: dict[str, Any] = {}
        for name in _COLUMNS:
            columns = [getattr(e, name) for e in parts]
            if any(c is None for c in columns) and not all(c is None for c in columns):
                raise errors.ArgumentError(f"concatenate: only some of the events have {name!r}")
            joined[name] = None if columns[0] is None else np.concatenate(columns)
        for name in ("tof_fwhm_ps", "tof_bin_ps", "isotope", "attenuated"):
            values = {getattr(e, name) for e in parts}
            if len(values) > 1:
                raise errors.ArgumentError(f"concatenate: {name!r} differs: {sorted(values)}")
        lasts = [e.duration_s for e in parts]
        duration_s = sum(lasts) if all(lasts) else 0.0
        return replace(parts[0], info=None, lists_all=False, duration_s=duration_s, **joined)

    @overload
    def __getitem__(self, which: int) -> np.ndarray: ...

    @overload
    def __getitem__(self, which: Any) -> Events: ...

    def __getitem__(self, which: Any) -> Any:
        """Some of the events: by a slice, a mask, or their numbers. Of one number: that row of `lines`."""
        if isinstance(which, (int, np.integer)) and not isinstance(which, bool):
            return self.lines[which]
        if not isinstance(which, slice):
            _masks.refuse(which, "events")
            which = np.asarray(which)
            if which.ndim != 1 or which.dtype.kind not in "iub":
                raise errors.ArgumentError(
                    f"events: given {which.dtype} of shape {which.shape}, wanted a slice, a mask or numbers"
                )
        some: dict[str, Any] = {}
        for name in _COLUMNS:
            values = getattr(self, name)
            some[name] = None if values is None else np.ascontiguousarray(values[which])
        return replace(self, info=None, lists_all=False, **some)

    def __repr__(self) -> str:
        has = [name for name in _COLUMNS[1:] if getattr(self, name) is not None]
        tof = [f"TOF {self.tof_fwhm_ps:g} ps"] if self.tof_fwhm_ps else []
        lasts = [f"{self.duration_s:g} s"] if self.duration_s else []
        isotope = [self.isotope] if self.isotope else []
        return f"<isotome.Events {', '.join([str(len(self)), *tof, *lasts, *isotope, *has])}>"

    def _column(self, kept: list[np.ndarray], name: str, dtype: np.dtype, shape: tuple[int, ...]) -> int | None:
        """The address of a column, which is kept."""
        values = getattr(self, name)
        if values is None:
            return None
        if isinstance(values, np.ndarray) and values.shape != shape:
            raise errors.ArgumentError(f"{name}: given shape {values.shape}, wanted {shape}")
        kept.append(_arrays.converted(values, name, dtype))
        return kept[-1].ctypes.data

    def _struct(self) -> tuple[_abi.Events, list[np.ndarray]]:
        """struct iso_events over the arrays, and the arrays that it shows: both must stay while it is used."""
        if isinstance(self.lines, np.ndarray) and (self.lines.ndim != 2 or self.lines.shape[1] not in (6, 7)):
            raise errors.ArgumentError(f"lines: given shape {self.lines.shape}, wanted (n, 7) or (n, 6)")
        lines = _arrays.converted(self.lines, "lines")
        if lines.shape[1] == 6:
            lines = np.pad(lines, ((0, 0), (0, 1)))
        n, kept = len(lines), [lines]
        e = _abi.Events(n=n, v=lines.ctypes.data, n_bad=_bad(lines))
        e.time_ms = self._column(kept, "time_ms", _U32, (n,))
        for name in ("count", "mult", "add", "fwhm_ps"):
            setattr(e, name, self._column(kept, name, _arrays.REAL, (n,)))
        e.crystal = self._column(kept, "crystal", _U32, (n, 2))
        for name in ("tof_fwhm_ps", "tof_bin_ps", "start_s", "duration_s"):
            setattr(e, name, number(getattr(self, name), name, 0))
        isotope = text(self.isotope, "isotope")
        if len(isotope) > 15:
            raise errors.ArgumentError(f"isotope: given {self.isotope!r}, wanted a name such as 'F-18'")
        e.isotope = isotope
        e.lists_all, e.attenuated = bool(self.lists_all), bool(self.attenuated)
        return e, kept


def adopted(e: _abi.Events) -> Events:
    """Events that the library made, in its own memory, which the arrays free."""

    def column(name: str, dtype: np.dtype, columns: int) -> np.ndarray | None:
        pointer = getattr(e, name)
        if pointer is None:
            return None
        setattr(e, name, None)
        values = _arrays.adopt(pointer, e.n * columns, dtype)
        return values.reshape(-1, columns) if columns > 1 else values

    lines = column("v", _arrays.REAL, 7)
    return Events(
        np.empty((0, 7), _arrays.REAL) if lines is None else lines,
        column("time_ms", _U32, 1),
        column("count", _arrays.REAL, 1),
        column("mult", _arrays.REAL, 1),
        column("add", _arrays.REAL, 1),
        column("crystal", _U32, 2),
        e.tof_fwhm_ps,
        e.tof_bin_ps,
        e.start_s,
        e.duration_s,
        e.isotope.decode(errors="replace"),
        lists_all=e.lists_all,
        attenuated=e.attenuated,
        fwhm_ps=column("fwhm_ps", _arrays.REAL, 1),
    )


def strip_struct(values: np.ndarray) -> tuple[_abi.StripEvents, np.ndarray]:
    """struct iso_strip_events over (n, 3): z_up, z_down, dl in mm; and the array that must stay while it is used."""
    if isinstance(values, np.ndarray) and (values.ndim != 2 or values.shape[1] != 3):
        raise errors.ArgumentError(f"events: given shape {values.shape}, wanted (n, 3): z_up, z_down, dl")
    values = _arrays.converted(values, "events")
    bad = int((~np.isfinite(values).all(axis=1)).sum())
    return _abi.StripEvents(n=len(values), v=values.ctypes.data, n_bad=bad), values
