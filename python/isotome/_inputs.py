# SPDX-License-Identifier: BSD-3-Clause
"""What functions that make data are given: contexts, images on grids, and room for results."""

from __future__ import annotations

import math
from ctypes import c_char_p, c_int, c_int64
from typing import Any, Callable

import numpy as np

from . import _abi, _arrays, errors
from . import context as contexts
from ._abi import declare, handle, lib
from ._call import call, check
from .context import Context, Tell, listening
from .grid import Grid

declare({"iso_memory_check": (c_int, [handle, c_char_p, c_int64])})

_INT64_MAX = 2**63 - 1


def context_of(context: Context | None) -> Context:
    """The one given, or that of the process."""
    if context is None:
        return contexts.default()
    if not isinstance(context, Context):
        raise errors.ArgumentError(f"context: given {type(context).__name__}, wanted isotome.Context")
    return context


def refuse_memory(context: Context, what: str, values: float, item: int) -> None:
    """MemoryError where so many values, of `item` bytes, do not fit the host."""
    check(lib.iso_memory_check(context._pointer, what.encode(), int(min(values * item, _INT64_MAX))))


def room(context: Context, shape: tuple[int, ...], what: str) -> np.ndarray:
    """A new float32 array, if it fits the memory."""
    refuse_memory(context, what, math.prod(shape), _arrays.REAL.itemsize)
    return np.empty(shape, _arrays.REAL)


def image(values: Any, name: str, grid: Grid | None = None) -> _abi.Array:
    """struct iso_array over an image on its grid, which it borrows: not negative, as activity and mu are."""
    on = grid if grid is not None else getattr(values, "grid", None)
    if on is None:
        raise errors.ArgumentError(
            f"{name}: given {type(values).__name__} without a grid, wanted an Image, or a grid besides"
        )
    g = Grid._struct(on)
    values = _arrays.given(values, on.shape, name)
    if values.size == 0 or values.min() < 0:
        raise errors.ArgumentError(f"{name}: given values below 0, or none, wanted some, of at least 0")
    a = _arrays.as_struct(values)
    a.has_grid, a.grid = True, g
    return a


def run(
    context: Context,
    progress: Tell,
    function: Callable[..., int],
    *arguments: Any,
) -> None:
    """A long call, whose steps go where `progress` says."""
    with listening(context, progress):
        call(context, function, *arguments)
