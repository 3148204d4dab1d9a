# SPDX-License-Identifier: BSD-3-Clause
"""List-mode events and histograms of lines, in arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from . import _abi, _arrays, errors
from ._call import text

_U32 = np.dtype(np.uint32)


def _number(value: float, name: str) -> float:
    if not isinstance(value, (int, float, np.integer, np.floating)) or not 0 <= value < math.inf:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted a number from 0 on")
    return float(value)


@dataclass
class Events:
    """Events, or lines with counts. All arrays are contiguous; all but `lines` may be None.

    lines: (n, 7) float32: both ends of each line, x, y, z in mm, and t1 - t2 in ps, which is positive if
        the annihilation was nearer to the second end. (n, 6): there are no times.
    time_ms: (n,) uint32, since the start of the scan.
    count: (n,) float32, of a histogram's line.
    mult: (n,) float32, attenuation x normalisation.
    add: (n,) float32, expected randoms and scatter in counts.
    crystal: (n, 2) uint32, the numbers of the two crystals.
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

    def _column(self, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> int | None:
        values = getattr(self, name)
        if values is None:
            return None
        values = _arrays.given_any(values, name, dtype)
        if values.shape != shape:
            raise errors.ArgumentError(f"{name}: given shape {values.shape}, wanted {shape}")
        return values.ctypes.data

    def _struct(self) -> tuple[_abi.Events, np.ndarray]:
        """struct iso_events over the arrays, and the lines it shows: both must stay while it is used."""
        lines = _arrays.given_any(self.lines, "lines")
        if lines.ndim != 2 or lines.shape[1] not in (6, 7):
            raise errors.ArgumentError(f"lines: given shape {lines.shape}, wanted (n, 7) or (n, 6)")
        if lines.shape[1] == 6:
            lines = np.pad(lines, ((0, 0), (0, 1)))
        n = len(lines)
        bad = ~np.isfinite(lines).all(axis=1) | (lines[:, :3] == lines[:, 3:6]).all(axis=1)
        e = _abi.Events(n=n, v=lines.ctypes.data, n_bad=int(bad.sum()))
        e.time_ms = self._column("time_ms", _U32, (n,))
        for name in ("count", "mult", "add"):
            setattr(e, name, self._column(name, _arrays.REAL, (n,)))
        e.crystal = self._column("crystal", _U32, (n, 2))
        for name in ("tof_fwhm_ps", "tof_bin_ps", "start_s", "duration_s"):
            setattr(e, name, _number(getattr(self, name), name))
        isotope = text(self.isotope, "isotope")
        if len(isotope) > 15:
            raise errors.ArgumentError(f"isotope: given {self.isotope!r}, wanted a name such as 'F-18'")
        e.isotope = isotope
        return e, lines


def strip_struct(values: np.ndarray) -> _abi.StripEvents:
    """struct iso_strip_events over (n, 3) float32: z_up, z_down, dl in mm."""
    values = _arrays.given_any(values, "events")
    if values.ndim != 2 or values.shape[1] != 3:
        raise errors.ArgumentError(f"events: given shape {values.shape}, wanted (n, 3): z_up, z_down, dl")
    bad = int((~np.isfinite(values).all(axis=1)).sum())
    return _abi.StripEvents(n=len(values), v=values.ctypes.data, n_bad=bad)
