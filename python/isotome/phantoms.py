# SPDX-License-Identifier: BSD-3-Clause
"""Phantoms: objects of simple shapes, as images of activity and attenuation. Lengths are mm.

    activity = isotome.phantom("spheres")
    activity, mu = isotome.phantom("spheres", grid=64, voxel=4, mu=True)
"""

from __future__ import annotations

import math
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int
from typing import Any, Literal, Sequence, Union, overload

import numpy as np

from . import _abi, _arrays, _masks, errors
from ._abi import declare, handle, lib, out, vector
from ._call import Handle, call, check, text
from ._checks import integer
from ._inputs import context_of, room
from .context import Context
from .grid import Grid
from .image import Image
from .scanner import point

declare(
    {
        "iso_phantom_create": (c_int, [out, c_char_p, POINTER(c_double)]),
        "iso_phantom_free": (None, [handle]),
        "iso_phantom_names": (POINTER(c_char_p), []),
        "iso_phantom_grid": (None, [POINTER(_abi.Grid), handle]),
        "iso_phantom_raster": (c_int, [vector, vector, handle, handle, POINTER(_abi.Grid), c_int]),
        "iso_phantom_shapes": (c_int, [handle]),
    }
)

#: One number for all three axes, or three: x, y, z.
Three = Union[float, Sequence[float]]


def phantom_names() -> list[str]:
    """The built-in phantoms."""
    names = lib.iso_phantom_names()
    found: list[str] = []
    while names[len(found)]:
        found.append(names[len(found)].decode())
    return found


def opened(name_or_file: str | os.PathLike, at: Sequence[float] = (0, 0, 0)) -> Handle:
    """A phantom of the library."""
    if not isinstance(name_or_file, (str, os.PathLike)):
        given = type(name_or_file).__name__
        raise errors.ArgumentError(f"phantom: given {given}, wanted a name of phantom_names(), or a file")
    made = Handle(lib.iso_phantom_free)
    name = text(os.fspath(name_or_file), "phantom")
    check(lib.iso_phantom_create(byref(made.pointer), name, point(at, "at")))
    return made


def _three(values: Any, name: str, kind: type) -> list[Any]:
    """Three numbers, or one for all."""
    _masks.refuse(values, name)
    three = np.asarray(values)
    if three.dtype.kind not in ("iu" if kind is int else "iuf") or three.shape not in ((), (1,), (3,)):
        wanted = "integers" if kind is int else "numbers"
        raise errors.ArgumentError(f"{name}: given {values!r}, wanted three {wanted}, or one for all")
    return [kind(v) for v in np.broadcast_to(three, 3)]


def _grid(of: Handle, grid: Any, voxel: Any, centre: Any) -> _abi.Grid:
    """Of sizes and voxels, what is not given follows from the extent of the phantom's own grid."""
    if isinstance(grid, Grid):
        if voxel is not None or centre is not None:
            raise errors.ArgumentError("grid: given a Grid and voxel or centre besides, wanted one of them")
        return grid._struct()
    g = _abi.Grid()
    lib.iso_phantom_grid(byref(g), of.pointer)
    extent = [n * mm for n, mm in zip(g.n, g.voxel)]
    if grid is not None:
        g.n[:] = _three(grid, "grid", int)
        if voxel is None and min(g.n) > 0:
            g.voxel[:] = [e / n for e, n in zip(extent, g.n)]
    if voxel is not None:
        g.voxel[:] = _three(voxel, "voxel", float)
        if grid is None and 1e-6 <= min(g.voxel) and max(g.voxel) <= 1e6:
            g.n[:] = [max(1, math.ceil(e / mm - 1e-6)) for e, mm in zip(extent, g.voxel)]
    if centre is not None:
        g.centre[:] = list(point(centre, "centre"))
    return g


@overload
def phantom(
    name_or_file: str | os.PathLike,
    grid: Grid | int | Sequence[int] | None = ...,
    voxel: Three | None = ...,
    centre: Sequence[float] | None = ...,
    mu: Literal[False] = ...,
    at: Sequence[float] = ...,
    samples: int = ...,
    context: Context | None = ...,
) -> Image: ...


@overload
def phantom(
    name_or_file: str | os.PathLike,
    grid: Grid | int | Sequence[int] | None = ...,
    voxel: Three | None = ...,
    centre: Sequence[float] | None = ...,
    *,
    mu: Literal[True],
    at: Sequence[float] = ...,
    samples: int = ...,
    context: Context | None = ...,
) -> tuple[Image, Image]: ...


def phantom(
    name_or_file: str | os.PathLike,
    grid: Grid | int | Sequence[int] | None = None,
    voxel: Three | None = None,
    centre: Sequence[float] | None = None,
    mu: bool = False,
    at: Sequence[float] = (0, 0, 0),
    samples: int = 5,
    context: Context | None = None,
) -> Image | tuple[Image, Image]:
    """The image of a phantom: mean activity over each voxel; with `mu` (activity, attenuation in 1/mm).

    name_or_file: a built-in phantom (`phantom_names()`), or a file of shapes: YAML, JSON, or .txt.
    grid: voxels along x, y, z, one number for all, or an isotome.Grid; None: what covers the phantom.
    voxel: mm; None: the phantom's own, or its extent over the grid.
    centre: centre of the image, mm; None: the phantom's own.
    at: the place of "point", mm.
    samples: points along each axis of a voxel that a surface crosses, 1 to 64.
    context: whose device makes the voxels, the same bits on each; None: the default context.
    """
    samples = integer(samples, "samples", 1, 64)
    context = context_of(context)
    of = opened(name_or_file, at)
    g = _grid(of, grid, voxel, centre)
    check(lib.iso_grid_check(byref(g)))
    made = [Image(room(context, Grid._of(g).shape, "image"), Grid._of(g)) for _ in range(1 + bool(mu))]
    addresses = [_arrays.address(v) for v in made] + [None]
    call(context, lib.iso_phantom_raster, *addresses[:2], context._pointer, of.pointer, byref(g), samples)
    if not mu:
        return made[0]
    made[1].unit = "1/mm"
    return made[0], made[1]
