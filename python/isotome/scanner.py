# SPDX-License-Identifier: BSD-3-Clause
"""Scanners: where crystals, strips, panels, transducers or barrels of strips are. Lengths are mm.

    ring = isotome.Scanner("examples/scanners/small-animal.yaml")
    ring.crystals, ring.positions, ring.pair(0)
    isotome.ray(events, scanner=ring)      # wherever a file of a scanner goes
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int64
from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence, Union

import numpy as np

from . import _abi, errors
from ._abi import declare, handle, lib, out
from ._call import Handle, check
from ._checks import integer, numbers
from .files import path_of
from .grid import Grid

if TYPE_CHECKING:
    from .transducers import Transducers

# ---- scanner.h, strip.h, panels.h ----

KINDS = ("cylinder", "detectors", "strips", "panels", "transducers", "barrel")  # enum iso_scanner_kind
READOUTS = ("head", "block", "crystal")  # enum iso_readout


class StripsStruct(ctypes.Structure):
    _c_name_ = "iso_strips"
    _fields_ = [
        ("radius", c_double),
        ("length", c_double),
        ("sigma_z", c_double),
        ("sigma_dl", c_double),
        ("sigma_z_growth", c_double),
        ("gamma", c_double),
    ]


class PanelsStruct(ctypes.Structure):
    _c_name_ = "iso_panels"
    _fields_ = [
        ("crystals", c_int * 2),
        ("pitch", c_double * 2),
        ("crystal", c_double * 3),
        ("gap", c_double),
        ("layers", c_int),
        ("block", c_int),
        ("formula", c_char * 64),
        ("density", c_double),
        ("resolution", c_double),
        ("window", c_double * 2),
        ("time_fwhm", c_double),
        ("coincidence", c_double),
        ("readout", c_int),
        ("per_pitch", c_int * 2),
        ("planes", c_int),
        ("plane", c_double),
    ]


declare(
    {
        "iso_scanner_read": (c_int, [out, c_char_p]),
        "iso_scanner_free": (None, [handle]),
        "iso_scanner_kind": (c_int, [handle]),
        "iso_scanner_name": (c_char_p, [handle]),
        "iso_scanner_crystals": (c_int64, [handle]),
        "iso_scanner_positions": (POINTER(c_double), [handle]),
        "iso_scanner_tof_fwhm_ps": (c_double, [handle]),
        "iso_scanner_tof_bin_ps": (c_double, [handle]),
        "iso_scanner_coincidence_ns": (c_double, [handle]),
        "iso_scanner_crystal_mm": (POINTER(c_double), [handle]),
        "iso_scanner_pairs": (c_int64, [handle]),
        "iso_scanner_pair": (None, [POINTER(c_int64), POINTER(c_int64), handle, c_int64]),
        "iso_scanner_nearest": (c_int64, [POINTER(c_double), handle, POINTER(c_double)]),
        "iso_scanner_pair_weight": (c_double, [handle, POINTER(c_double), POINTER(c_double)]),
        "iso_scanner_grid": (c_int, [POINTER(_abi.Grid), handle]),
        "iso_scanner_strips": (POINTER(StripsStruct), [handle]),
        "iso_scanner_panels": (POINTER(PanelsStruct), [handle]),
        "iso_panels_grid": (None, [POINTER(_abi.Grid), POINTER(PanelsStruct)]),
    }
)

# ---- what a description says of some kinds ----


class Strips(NamedTuple):
    """Two strips along z at y = +radius and -radius, and the errors of a measured event."""

    radius: float  # mm
    length: float  # mm
    sigma_z: float  # mm
    sigma_dl: float  # mm
    sigma_z_growth: float  # share by which sigma_z grows to the ends
    gamma: float  # 1/mm^2


class Panels(NamedTuple):
    """Two alike heads that face each other along y; x and z lie in the heads."""

    crystals: tuple[int, int]  # x, z of each head
    pitch: tuple[float, float]  # mm: x, z
    crystal: tuple[float, float, float]  # mm: x, z, depth of the whole head
    gap: float  # mm, face to face
    layers: int
    block: int  # crystals an axis of a readout block
    formula: str  # of the crystal
    density: float  # g/cm^3
    resolution: float  # FWHM at 511 keV, as a share of it
    window: tuple[float, float]  # keV
    time_fwhm: float  # ns
    coincidence: float  # ns
    readout: str  # whose deposits are summed: of a "head", a "block", a "crystal"
    per_pitch: tuple[int, int]  # voxels: x, z
    planes: int  # of voxels, along y
    plane: float  # mm: thickness of one

    @classmethod
    def _of(cls, p: PanelsStruct) -> Panels:
        values: dict[str, Any] = {}
        for name in cls._fields:
            value = getattr(p, name)
            values[name] = tuple(value) if isinstance(value, ctypes.Array) else value
        values["formula"] = p.formula.decode(errors="replace")
        values["readout"] = READOUTS[p.readout]
        return cls(**values)


def panels_grid(p: PanelsStruct) -> Grid:
    g = _abi.Grid()
    lib.iso_panels_grid(byref(g), byref(p))
    return Grid._of(g)


# ---- scanners ----

Path = Union[str, os.PathLike]


def point(p: Sequence[float], name: str) -> ctypes.Array:
    """Three numbers, as C takes them."""
    return (c_double * 3)(*numbers(p, 3, name))


class Scanner:
    """A scanner by its description: YAML, JSON, or a CASToR .hscan with its .lut beside it, or a CASToR .geom.

    Any number of threads may use it. Where a parameter names the file of a scanner, a Scanner may stand.
    """

    def __init__(self, path: Path):
        file = path_of(path)
        self.path = os.path.abspath(os.fsdecode(file))
        self._handle = Handle(lib.iso_scanner_free)
        check(lib.iso_scanner_read(byref(self._handle.pointer), file))

    @classmethod
    def _of(cls, scanner: Scanner | Path) -> Scanner:
        """What a user gave as a scanner."""
        return scanner if type(scanner) is cls else cls(scanner)

    def __fspath__(self) -> str:
        return self.path

    @property
    def _pointer(self) -> ctypes.c_void_p:
        return self._handle.pointer

    @property
    def kind(self) -> str:
        """"cylinder", "detectors", "strips", "panels", "transducers" or "barrel"."""
        return KINDS[lib.iso_scanner_kind(self._pointer)]

    @property
    def name(self) -> str:
        return lib.iso_scanner_name(self._pointer).decode(errors="replace")

    @property
    def crystals(self) -> int:
        """Their number."""
        return lib.iso_scanner_crystals(self._pointer)

    @cached_property
    def positions(self) -> np.ndarray:
        """(crystals, 3) float64, mm, which can't be written."""
        n = self.crystals
        if n == 0:
            return np.empty((0, 3))
        values = np.ctypeslib.as_array(lib.iso_scanner_positions(self._pointer), (n, 3)).copy()
        values.flags.writeable = False
        return values

    @property
    def tof_fwhm_ps(self) -> float:
        """0: no time of flight."""
        return lib.iso_scanner_tof_fwhm_ps(self._pointer)

    @property
    def tof_bin_ps(self) -> float:
        """0: times are not binned."""
        return lib.iso_scanner_tof_bin_ps(self._pointer)

    @property
    def coincidence_ns(self) -> float:
        """tau of |t1 - t2| <= tau; 0: not said."""
        return lib.iso_scanner_coincidence_ns(self._pointer)

    @property
    def crystal_mm(self) -> tuple[float, float, float] | None:
        """Tangential, axial, depth; None: not said."""
        mm = lib.iso_scanner_crystal_mm(self._pointer)
        return (mm[0], mm[1], mm[2]) if mm else None

    @property
    def pairs(self) -> int:
        """Pairs of crystals in coincidence."""
        return lib.iso_scanner_pairs(self._pointer)

    def pair(self, i: int) -> tuple[int, int]:
        """The two crystals of pair number i, 0 to pairs - 1."""
        number = integer(i, "pair", 0, self.pairs - 1)
        a, b = c_int64(), c_int64()
        lib.iso_scanner_pair(byref(a), byref(b), self._pointer, number)
        return a.value, b.value

    def nearest(self, p: Sequence[float]) -> tuple[int, float]:
        """The crystal nearest to a point, and its distance in mm."""
        place, distance = point(p, "p"), c_double()
        if self.crystals == 0:
            raise errors.ArgumentError(f"nearest: {self.name} is of kind {self.kind}, which has no crystals")
        crystal = lib.iso_scanner_nearest(byref(distance), self._pointer, place)
        return crystal, distance.value

    def pair_weight(self, p1: Sequence[float], p2: Sequence[float]) -> float:
        """Weight of a pair besides efficiencies: 1, or the solid angle that the two faces share."""
        return lib.iso_scanner_pair_weight(self._pointer, point(p1, "p1"), point(p2, "p2"))

    @property
    def strips(self) -> Strips | None:
        """The strips of a scanner of kind "strips"."""
        s = lib.iso_scanner_strips(self._pointer)
        return Strips(*(getattr(s.contents, name) for name in Strips._fields)) if s else None

    @property
    def panels(self) -> Panels | None:
        """The panels of a scanner of kind "panels"."""
        p = lib.iso_scanner_panels(self._pointer)
        return Panels._of(p.contents) if p else None

    @cached_property
    def transducers(self) -> Transducers | None:
        """The transducers of a scanner of kind "transducers"."""
        from .transducers import of_scanner

        return of_scanner(self._pointer)

    @property
    def grid(self) -> Grid | None:
        """The field of view between its crystals, of two panels that of the description, of a barrel that inside the strips; None: it has neither."""
        g = _abi.Grid()
        if self.crystals == 0 and self.kind != "barrel":
            return None
        check(lib.iso_scanner_grid(byref(g), self._pointer))
        return Grid._of(g)

    def __repr__(self) -> str:
        return f"<isotome.Scanner {self.name}: {self.kind}{self._size()}>"

    def _size(self) -> str:
        if self.transducers is not None:
            return f", {self.transducers.n} transducers"
        if self.crystals == 0:
            return ""
        tof = f", TOF {self.tof_fwhm_ps:g} ps" if self.tof_fwhm_ps else ""
        return f", {self.crystals} crystals, {self.pairs} pairs{tof}"


def of_kind(scanner: Scanner, kind: str, get: Callable[..., Any]) -> Any:
    """What a scanner of that kind has, as `get` says; another is refused."""
    found = get(scanner._pointer)
    if not found:
        raise errors.ArgumentError(f"scanner: given {scanner.name} of kind {scanner.kind}, wanted {kind}")
    return found
