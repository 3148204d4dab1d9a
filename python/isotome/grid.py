# SPDX-License-Identifier: BSD-3-Clause
"""Grids: the box of voxels that an image lies on. Lengths are mm."""

from __future__ import annotations

from ctypes import byref
from typing import NamedTuple

from . import _abi, errors


class Grid(NamedTuple):
    """Index 0, 1, 2 is x, y, z. Images are NumPy arrays of `shape`: z first, x fastest."""

    n: tuple[int, int, int]
    voxel: tuple[float, float, float]  # mm
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)  # mm

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.n[2], self.n[1], self.n[0]

    @classmethod
    def _of(cls, g: _abi.Grid) -> Grid:
        return cls(tuple(g.n), tuple(g.voxel), tuple(g.centre))

    def _struct(self) -> _abi.Grid:
        """struct iso_grid of it, checked; whatever else was given as a grid is refused."""
        if not isinstance(self, Grid):
            raise errors.ArgumentError(f"grid: given {type(self).__name__}, wanted isotome.Grid")
        try:
            g = _abi.Grid(tuple(self.n), tuple(self.voxel), tuple(self.centre))
        except (TypeError, ValueError, RuntimeError, IndexError, OverflowError):
            raise errors.ArgumentError(
                f"grid: given {self}, wanted three integers, three lengths and a place in mm"
            ) from None
        if not len(self.n) == len(self.voxel) == len(self.centre) == 3:
            raise errors.ArgumentError(f"grid: given {self}, wanted three values each, of x, y and z")
        if status := _abi.lib.iso_grid_check(byref(g)):
            raise errors.of_status(status, (_abi.lib.iso_message() or b"").decode())
        return g
