# SPDX-License-Identifier: BSD-3-Clause
"""Transducers: the geometry of optoacoustic tomography. Times are us, speeds mm/us, lengths mm."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_bool, c_double, c_int, c_int64, c_size_t, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, errors
from ._abi import declare, handle, lib
from ._call import check
from ._checks import integer, number, numbers

_DOUBLE = np.dtype(np.float64)


class TransducersStruct(ctypes.Structure):  # transducers.h
    _c_name_ = "iso_transducers"
    _fields_ = [
        ("n", c_int64),
        ("pos", c_void_p),
        ("normal", c_void_p),
        ("ex", c_void_p),
        ("ey", c_void_p),
        ("aperture", c_void_p),
        ("area", c_void_p),
        ("centre", c_double * 3),
        ("radius", c_double),
        ("spread", c_double),
        ("rings", c_bool),
        ("speed", c_double),
        ("dt_us", c_double),
        ("first_us", c_double),
        ("samples", c_int64),
        ("gamma", c_double),
        ("n_eir", c_int64),
        ("eir", c_void_p),
    ]


class FacesStruct(ctypes.Structure):  # transducers.h
    _c_name_ = "iso_faces"
    _fields_ = [("size", c_size_t), ("n", c_int64), ("focus", c_void_p), ("bowl", c_bool)]


declare(
    {
        "iso_scanner_faces": (POINTER(FacesStruct), [handle]),
        "iso_scanner_transducers": (POINTER(TransducersStruct), [handle]),
        "iso_transducer_frame": (None, [c_void_p, c_void_p, c_void_p]),
        "iso_transducers_check": (c_int, [POINTER(TransducersStruct)]),
        "iso_water_speed": (c_double, [c_double]),
    }
)


def water_speed(celsius: float) -> float:
    """Speed of sound in water, mm/us, from 0 to 95 C at the pressure of air."""
    return lib.iso_water_speed(number(celsius, "celsius", 0, 95))


@dataclass(eq=False)
class Transducers:
    """An array of transducers and how it samples: traces are arrays (n, samples).

    positions: (n, 3) float64, mm. normals: (n, 3), unit vectors that point at the object.
    dt_us: time between samples. samples: samples per trace. speed: speed of sound, mm/us; 0: not known.
    first_us: time of sample 0 after the laser pulse.
    aperture: (n, 2), mm along ex and ey: flat rectangles; None: points.
    focus: (n,), mm: radius of faces that are curved along ex; 0: flat. bowl: they are round, curved along
        both axes, and aperture[:, 0] is the diameter of the rim. None: all are flat.
    area: (n,), mm^2 of the surface that each stands for; None: not said.
    gamma: Grueneisen parameter. eir: impulse response, dt h(k dt); None: none.
    ex: (n, 3), the first in-plane axis; None: chosen by the library. The second is normal x ex.
    centre, radius: of the sphere that they lie on; radius None: the mean distance from the centre.
    rings: whether number q is ring * views + view of equal rings.
    """

    positions: np.ndarray
    normals: np.ndarray
    dt_us: float
    samples: int
    speed: float = 1.5
    first_us: float = 0.0
    aperture: np.ndarray | None = None
    area: np.ndarray | None = None
    gamma: float = 1.0
    eir: np.ndarray | None = None
    ex: np.ndarray | None = None
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float | None = None
    rings: bool = False
    focus: np.ndarray | None = None
    bowl: bool = False

    @property
    def n(self) -> int:
        """The number of transducers."""
        return len(self.positions)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of their traces: (transducers, samples)."""
        return self.n, self.samples

    def __repr__(self) -> str:
        return (
            f"<isotome.Transducers {self.n} of {self.samples} samples, every {self.dt_us:g} us "
            f"from {self.first_us:g} us, {self.speed:g} mm/us>"
        )

    # ---- as C takes them ----

    def _table(self, name: str, columns: int) -> np.ndarray:
        values = _arrays.given_any(getattr(self, name), name, _DOUBLE)
        shape = (self.n, columns) if columns else (self.n,)
        if values.shape != shape:
            raise errors.ArgumentError(f"{name}: given shape {values.shape}, wanted {shape}")
        return values

    def _axes(self, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ex and ey of each."""
        if self.ex is not None:
            ex = self._table("ex", 3)
            return ex, np.cross(normals, ex)
        ex, ey = np.empty_like(normals), np.empty_like(normals)
        for e, f, normal in zip(ex, ey, normals):
            lib.iso_transducer_frame(e.ctypes.data, f.ctypes.data, normal.ctypes.data)
        return ex, ey

    def _struct(self, silent: bool = False) -> tuple[TransducersStruct, list[Any]]:
        """struct iso_transducers over the arrays, and what must stay while it is used; checked.

        silent: the speed of sound may be missing.
        """
        positions = _arrays.given_any(self.positions, "positions", _DOUBLE)
        if positions.ndim != 2 or positions.shape[1] != 3 or len(positions) == 0:
            raise errors.ArgumentError(f"positions: given shape {positions.shape}, wanted (n, 3), n above 0")
        normals = self._table("normals", 3)
        t = TransducersStruct(n=self.n, pos=positions.ctypes.data, normal=normals.ctypes.data)
        t.rings = bool(self.rings)
        ex, ey = self._axes(normals)
        t.ex, t.ey = ex.ctypes.data, ey.ctypes.data
        kept: list[Any] = [positions, normals, ex, ey]
        for name, columns in (("aperture", 2), ("area", 0)):
            if getattr(self, name) is not None:
                kept.append(self._table(name, columns))
                setattr(t, name, kept[-1].ctypes.data)
        if self.eir is not None:
            eir = _arrays.given_any(self.eir, "eir", _DOUBLE)
            if eir.ndim != 1 or len(eir) == 0:
                raise errors.ArgumentError(f"eir: given shape {eir.shape}, wanted (n,), n above 0")
            kept.append(eir)
            t.n_eir, t.eir = len(eir), eir.ctypes.data
        self._fill_numbers(t)
        if not t.speed and not silent:
            raise errors.ArgumentError("speed: given 0, not said, wanted the speed of sound in mm/us")
        with_speed = TransducersStruct.from_buffer_copy(t)
        with_speed.speed = t.speed or 1
        check(lib.iso_transducers_check(byref(with_speed)))
        return t, kept

    def _faces(self) -> tuple[FacesStruct | None, np.ndarray | None]:
        """struct iso_faces over the array, and what must stay while it is used; None: flat."""
        if self.focus is None:
            return None, None
        focus = self._table("focus", 0)
        return FacesStruct(ctypes.sizeof(FacesStruct), self.n, focus.ctypes.data, bool(self.bowl)), focus

    def _fill_numbers(self, t: TransducersStruct) -> None:
        centre = numbers(self.centre, 3, "centre")
        distance = np.sqrt(((self.positions - np.asarray(centre)) ** 2).sum(axis=1))
        t.radius = float(distance.mean()) if self.radius is None else number(self.radius, "radius")
        t.spread = float(np.ptp(distance)) / t.radius if t.radius else 0.0
        t.centre[:] = centre
        for name in ("speed", "dt_us", "first_us", "gamma"):
            setattr(t, name, number(getattr(self, name), name))
        t.samples = integer(self.samples, "samples")


def _copied(pointer: int | None, *shape: int) -> np.ndarray | None:
    """Doubles of the library, copied."""
    if not pointer or 0 in shape:
        return None
    return np.ctypeslib.as_array(ctypes.cast(pointer, POINTER(c_double)), shape).copy()


def of_struct(t: TransducersStruct, faces: Any = None) -> Transducers:
    """The same in arrays of its own. faces: a pointer to a FacesStruct."""
    curved = faces.contents if faces else None
    positions, normals = _copied(t.pos, t.n, 3), _copied(t.normal, t.n, 3)
    assert positions is not None and normals is not None
    return Transducers(
        positions,
        normals,
        t.dt_us,
        t.samples,
        t.speed,
        t.first_us,
        _copied(t.aperture, t.n, 2),
        _copied(t.area, t.n),
        t.gamma,
        _copied(t.eir, t.n_eir),
        _copied(t.ex, t.n, 3),
        tuple(t.centre),
        t.radius,
        t.rings,
        _copied(curved.focus, t.n) if curved else None,
        curved.bowl if curved else False,
    )


def of_scanner(scanner: c_void_p) -> Transducers | None:
    """Those of a scanner of the library; None: it is of another kind."""
    t = lib.iso_scanner_transducers(scanner)
    return of_struct(t.contents, lib.iso_scanner_faces(scanner)) if t else None
