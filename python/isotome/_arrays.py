# SPDX-License-Identifier: BSD-3-Clause
"""NumPy arrays on their way into the library and out of it.

An array of float32 in C order goes in as it is. Any other array of real numbers is copied once, rounded to float32.
"""

from __future__ import annotations

import ctypes
import math
import weakref
from ctypes import byref, c_void_p
from typing import Callable

import numpy as np

from . import _masks, errors
from ._abi import Array, free, lib
from .grid import Grid
from .image import Image

REAL = np.dtype(np.float32)  # iso_real


def refuse_values(values: np.ndarray, name: str) -> None:
    """NaN and infinity, of which the first is named. A sum in double of finite floats is finite."""
    if math.isfinite(float(values.sum(dtype=np.float64))):
        return
    flat = values.reshape(-1)
    first = int(np.flatnonzero(~np.isfinite(flat))[0])
    place = tuple(int(i) for i in np.unravel_index(first, values.shape))
    raise errors.ArgumentError(f"{name}: the value at {place} is {flat[first]}, must be finite")


def refuse_form(values: object, name: str, dtype: np.dtype) -> None:
    if not isinstance(values, np.ndarray):
        raise errors.ArgumentError(f"{name}: given {type(values).__name__}, wanted a NumPy array of {dtype}")
    _masks.refuse(values, name)
    if values.dtype != dtype:
        raise errors.ArgumentError(
            f"{name}: given values of {values.dtype}, wanted {dtype}: convert by .astype(numpy.{dtype})"
        )
    if not values.flags.c_contiguous:
        raise errors.ArgumentError(
            f"{name}: given an array with strides {values.strides}, wanted a contiguous one in C order: "
            "numpy.ascontiguousarray makes it"
        )


def _refuse_kind(values: np.ndarray, name: str, dtype: np.dtype) -> None:
    """What does not become a number of `dtype`: floats become floats alone, and whole numbers must fit."""
    if values.dtype.kind not in ("biuf" if dtype.kind == "f" else "biu"):
        wanted = f"real numbers, which become {dtype}" if dtype.kind == "f" else f"{dtype}"
        raise errors.ArgumentError(f"{name}: given values of {values.dtype}, wanted {wanted}")
    if dtype.kind == "u" and values.dtype.kind in "iu" and values.size:
        least, most = int(values.min()), int(values.max())
        if least < 0 or most > np.iinfo(dtype).max:
            beyond = least if least < 0 else most
            raise errors.ArgumentError(f"{name}: given {beyond} among its values, wanted what {dtype} holds")


def converted(values: object, name: str, dtype: np.dtype = REAL) -> np.ndarray:
    """A NumPy array as one of `dtype` in C order: itself where it is that, else one copy; of an Image an Image."""
    if not isinstance(values, np.ndarray):
        raise errors.ArgumentError(f"{name}: given {type(values).__name__}, wanted a NumPy array of {dtype}")
    _masks.refuse(values, name)
    if values.dtype == dtype and values.flags.c_contiguous:
        return values
    _refuse_kind(values, name, dtype)
    if dtype == REAL:
        return real(values, name)
    return np.ascontiguousarray(values, dtype)


def given(values: object, shape: tuple[int, ...], name: str) -> np.ndarray:
    """An input of that shape, as finite values of float32 in C order. A wrong shape is named first."""
    if isinstance(values, np.ndarray) and values.shape != shape:
        raise errors.ArgumentError(f"{name}: given shape {values.shape}, wanted {shape}")
    values = converted(values, name)
    refuse_values(values, name)
    return values


def given_any(values: object, name: str, dtype: np.dtype = REAL) -> np.ndarray:
    """An input of any shape and of exactly this type, whose values the library checks."""
    refuse_form(values, name, dtype)
    assert isinstance(values, np.ndarray)
    return values


def address(values: np.ndarray) -> c_void_p:
    return values.ctypes.data_as(c_void_p)


def as_struct(values: np.ndarray) -> Array:
    """struct iso_array over the values, which stay while the struct does; of an Image with its grid and unit."""
    if not 1 <= values.ndim <= 8:
        raise errors.ArgumentError(f"given an array of {values.ndim} axes, wanted 1 to 8")
    a = Array(n_dim=values.ndim, n=values.size, v=values.ctypes.data)
    a.dim[: values.ndim] = values.shape
    a.shown = values
    if isinstance(values, Image):
        a.unit = unit(values.unit)
        if values.grid is not None:
            a.has_grid, a.grid = True, values.grid._struct()
    return a


def refuse_lost(path: bytes, a: Array) -> None:
    """A .nii has lengths: what does not say where it lies would get voxels of 1 mm."""
    if not a.has_grid and path.lower().endswith((b".nii", b".nii.gz")):
        raise errors.ArgumentError(
            f"array: given shape {tuple(a.dim[: a.n_dim])} without a grid, wanted one for a .nii: "
            "grid=isotome.Grid(n, voxel, centre), or an isotome.Image; a .npy needs none"
        )


def unit(value: object) -> bytes:
    """The unit of an array, as the library takes it."""
    if not isinstance(value, str) or "\0" in value or len(value.encode()) > 31:
        raise errors.ArgumentError(f"unit: given {value!r}, wanted a text of at most 31 bytes")
    return value.encode()


def _refuse_overflow(values: np.ndarray, rounded: np.ndarray, name: str) -> None:
    """What is finite must be so as float32."""
    beyond = np.isinf(rounded) & np.isfinite(values)
    if beyond.any():
        first = float(values[beyond].flat[0])
        raise errors.ArgumentError(f"{name}: given {first:g} among its values, wanted what float32 holds")


def real(values: object, name: str, clip: bool = False) -> np.ndarray:
    """Real numbers of any type as float32 in C order, copied only where they are not; of an Image as one.

    clip: those beyond float32 become infinite; otherwise they are refused.
    """
    _masks.refuse(values, name)
    try:
        array = np.asanyarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # a tensor with a gradient, or on a device
        raise errors.ArgumentError(
            f"{name}: given {type(values).__name__}, wanted a NumPy array, or what becomes one: {error}"
        ) from None
    if array.dtype.kind not in "biuf":
        raise errors.ArgumentError(f"{name}: given values of {array.dtype}, wanted real numbers")
    with np.errstate(over="ignore"):
        plain = np.ascontiguousarray(array, REAL)
    if not clip and array.dtype.kind == "f" and array.dtype.itemsize > REAL.itemsize:
        _refuse_overflow(array, plain.reshape(array.shape), name)
    if isinstance(array, Image):
        return Image(plain, array.grid, array.unit)
    return plain.reshape(array.shape)  # a number has no axes


def adopt(pointer: int | None, n: int, dtype: np.dtype = REAL) -> np.ndarray:
    """n values that the library made, freed with the last array that shows them."""
    if n == 0:
        free(c_void_p(pointer))
        return np.empty(0, dtype)
    assert pointer
    memory = (ctypes.c_char * (n * dtype.itemsize)).from_address(pointer)
    weakref.finalize(memory, free, c_void_p(pointer)).atexit = False
    return np.frombuffer(memoryview(memory), dtype)


def made(fill: Callable[[object], None]) -> np.ndarray:
    """What `fill` lets the library write into a struct iso_array: an Image where that has a grid."""
    a = Array()
    try:
        fill(byref(a))
        shape = tuple(a.dim[: a.n_dim])
        values, a.v = adopt(a.v, a.n), None
        values = values.reshape(shape)
        if a.pairs:
            return values.view(np.complex64)[..., 0]
        return Image(values, Grid._of(a.grid), a.unit.decode(errors="replace")) if a.has_grid else values
    finally:
        lib.iso_array_free(byref(a))  # what was not adopted


def copied(a: Array) -> Image:
    """A copy of the image that a struct iso_array of the library shows."""
    values = np.array((ctypes.c_float * a.n).from_address(a.v), REAL).reshape(tuple(a.dim[: a.n_dim]))
    return Image(values, Grid._of(a.grid) if a.has_grid else None, a.unit.decode(errors="replace"))


def made_image(fill: Callable[[object], None]) -> Image:
    """The same of what is always an image."""
    values = made(fill)
    return values if isinstance(values, Image) else Image(values)


def made_vectors(
    fill: Callable[..., None], count: int, n: Callable[[], int]
) -> list[np.ndarray | None]:
    """`count` vectors of n() values that `fill` lets the library make; None where there is none."""
    pointers = [c_void_p() for _ in range(count)]
    adopted: list[np.ndarray | None] = []
    try:
        fill(*(byref(p) for p in pointers))
        values = n()
        for p in pointers:
            adopted.append(adopt(p.value, values) if p.value else None)
        return adopted
    finally:
        for p in pointers[len(adopted) :]:
            free(p)
