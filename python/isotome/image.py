# SPDX-License-Identifier: BSD-3-Clause
"""Images: arrays that know their grid."""

from __future__ import annotations

import numpy as np

from .grid import Grid


class Image(np.ndarray):
    """A float32 array on a grid."""

    grid: Grid | None
    unit: str

    def __new__(cls, values: np.ndarray, grid: Grid | None = None, unit: str = "") -> Image:
        image = np.asarray(values).view(cls)
        image.grid, image.unit = grid, unit
        return image

    def __array_finalize__(self, of: object) -> None:
        self.grid = getattr(of, "grid", None)
        self.unit = getattr(of, "unit", "")
