# SPDX-License-Identifier: BSD-3-Clause
"""Images: NumPy arrays that know the grid they lie on and the unit of their values.

    image = isotome.read("image.nii")      # or of Problem.reconstruct, isotome.phantom, ...
    image.grid, image.unit
    2 * image, image[10:20, :, 5:]         # images again: a crop lies where it was cut out
    image.show()                           # in Jupyter an image draws itself
    image.save("image.nii")                # or image.to_nibabel()
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from . import _masks, errors
from .grid import Grid


def _of_package(name: str) -> Any:
    """A function that stands on images: __init__.py loads it when first used, by the table _LATER."""
    return getattr(importlib.import_module(__package__), name)


def _cropped(grid: Grid, n_leading: int, index: Any) -> Grid | None:
    """The grid after image[index], with n_leading axes before z: None unless it cuts a box out."""
    keys = index if isinstance(index, tuple) else (index,)
    if any(isinstance(k, bool) or not isinstance(k, (slice, int, np.integer, type(...))) for k in keys):
        return None
    if not any(k is Ellipsis for k in keys):
        keys = (*keys, Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    missing = n_leading + 3 - (len(keys) - 1)
    axes = (keys[:at] + (slice(None),) * missing + keys[at + 1 :])[n_leading:]
    n, centre = list(grid.n), list(grid.centre)
    for axis, key in zip((2, 1, 0), axes):
        if not isinstance(key, slice):
            return None
        first, end, step = key.indices(grid.n[axis])
        if step != 1 or end <= first:
            return None
        n[axis] = end - first
        centre[axis] += ((first + end) - grid.n[axis]) / 2 * grid.voxel[axis]
    return Grid((n[0], n[1], n[2]), grid.voxel, (centre[0], centre[1], centre[2]))


class Image(np.ndarray):
    """An array (..., nz, ny, nx) with the `grid` of its last three axes, and a `unit`.

    Image(values, grid) shows the values without a copy. The grid goes along as long as it is right: copies,
    conversions and arithmetic keep it, crops such as image[2:5] lie where they were cut out, frames of
    a series lie where the series does; whatever turns, thins out or sums axes has none. Arithmetic drops the
    unit, as that of the result may be another. numpy.asarray(image) is the plain array.
    """

    _grid: Grid | None
    _steps: tuple[int, ...]  # strides of the axes when they got the grid: others belong to turned axes
    unit: str

    def __new__(cls, values: Any, grid: Grid | None = None, unit: str = "") -> Image:
        _masks.refuse(values, "image")
        image = np.asarray(values).view(cls)
        image.grid = grid
        image.unit = unit
        return image

    @property
    def grid(self) -> Grid | None:
        """Where the last three axes lie; None: not known."""
        grid = self._grid
        if grid is None or self.shape[-3:] != grid.shape or self.strides[-3:] != self._steps:
            return None
        return grid

    @grid.setter
    def grid(self, grid: Grid | None) -> None:
        if grid is not None:
            grid = Grid._of(Grid._struct(grid))
            if self.shape[-3:] != grid.shape:
                raise errors.ArgumentError(
                    f"grid: given one of shape {grid.shape} for values of shape {self.shape}, "
                    "wanted that of the last three axes"
                )
        self._lie_on(grid)

    def _lie_on(self, grid: Grid | None) -> None:
        self._grid, self._steps = grid, self.strides[-3:]

    # ---- what NumPy asks for ----

    def __array_finalize__(self, obj: Any) -> None:
        kept = isinstance(obj, Image) and (self.base is None or self.strides[-3:] == obj.strides[-3:])
        self._lie_on(obj.grid if kept else None)  # NumPy turns the axes of a view after this
        self.unit = getattr(obj, "unit", "")

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if array is self:
            return self
        if array.ndim == 0:
            return array[()]
        result = array.view(Image)
        result.unit = ""
        grids = {self.grid if array.ndim == self.ndim else None}
        if context is not None:  # of a function of elements: all that went in
            grids = {a.grid for a in context[1] if isinstance(a, Image)} - {None}
        result._lie_on(grids.pop() if len(grids) == 1 else None)
        return result

    def __getitem__(self, index: Any) -> Any:
        part = super().__getitem__(index)
        if isinstance(part, Image):
            grid = self.grid
            part._lie_on(None if grid is None else _cropped(grid, self.ndim - 3, index))
        return part

    def __reduce__(self) -> Any:
        function, arguments, state = super().__reduce__()  # type: ignore[misc, str-unpack]
        return function, arguments, (state, self.grid, self.unit)

    def __setstate__(self, state: Any) -> None:
        values, grid, self.unit = state
        super().__setstate__(values)
        self._lie_on(grid)

    # ---- where voxels lie, and other programs ----

    def _placed(self) -> Grid:
        grid = self.grid
        if grid is None:
            raise errors.ArgumentError(
                f"image: given shape {self.shape} without a grid, wanted image.grid = isotome.Grid(n, voxel, centre)"
            )
        return grid

    @property
    def affine(self) -> np.ndarray:
        """Where voxels lie, as nibabel has it: a (4, 4) matrix from voxel numbers to mm, RAS as in the .nii of `save`.

        `image.affine @ (i, j, k, 1)` is the middle of voxel `image[k, j, i]`, since x is the last axis of the array.
        """
        grid, affine = self._placed(), np.eye(4)
        for axis, (n, voxel, centre) in enumerate(zip(grid.n, grid.voxel, grid.centre)):
            affine[axis, axis] = voxel
            affine[axis, 3] = centre - (n - 1) / 2 * voxel
        return affine

    def to_nibabel(self) -> Any:
        """A nibabel.Nifti1Image of the same memory: axes x, y, z, or x, y, z, t of frames; needs nibabel.

        Its header has the lengths in mm and the unit of the values where isotome.write puts it, in `descrip`.
        """
        affine = self.affine
        if self.ndim > 4:
            raise errors.ArgumentError(f"image: given {self.ndim} axes, wanted 3, or 4 with those of frames")
        try:
            import nibabel  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise ImportError(f"Image.to_nibabel needs nibabel, `pip install nibabel`: {error}") from error
        values = np.asarray(self)
        if values.dtype == bool:
            values = values.view(np.uint8)
        nifti = nibabel.Nifti1Image(values.T, affine, dtype=values.dtype)  # of int64 else a warning
        nifti.header.set_xyzt_units("mm", "sec")
        nifti.set_sform(affine, code="scanner")
        nifti.set_qform(affine, code="scanner")
        nifti.header["descrip"] = "; ".join(filter(None, ("isotome", self.unit)))
        return nifti

    def save(self, path: str | os.PathLike, force: bool = False) -> None:
        """isotome.write of it: .nii, .nii.gz, .hv, .npy or .raw, as float32, with its grid and unit.

        force: replaces a file that exists, which is refused otherwise.
        """
        _of_package("write")(path, self, force=force)

    # ---- pictures ----

    def show(self, **how: Any) -> None:
        """isotome.show of it."""
        _of_package("show")(self, **how)

    def _repr_png_(self) -> bytes | None:
        if not 2 <= self.ndim <= 4 or not self.size or self.dtype.kind not in "biuf":
            return None
        return _of_package("picture")(self)._repr_png_()
