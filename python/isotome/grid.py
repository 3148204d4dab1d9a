# SPDX-License-Identifier: BSD-3-Clause
"""Grids: the box of voxels that an image lies on. Lengths are mm."""

from __future__ import annotations

from typing import NamedTuple

from . import _abi


class Grid(NamedTuple):
    """Index 0, 1, 2 is x, y, z. Images are NumPy arrays of `shape`: z first, x fastest."""

    n: tuple[int, int, int]
    voxel: tuple[float, float, float]  # mm
    centre: tuple[float, float, float]  # mm

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.n[2], self.n[1], self.n[0]

    @classmethod
    def _of(cls, g: _abi.Grid) -> Grid:
        return cls(tuple(g.n), tuple(g.voxel), tuple(g.centre))
