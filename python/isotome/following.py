# SPDX-License-Identifier: BSD-3-Clause
"""Images of optoacoustic frames as they come.

    p = isotome.svoxel(scanner="array.yaml", grid=(416, 416, 1), voxel=0.1, nonneg=True, penalty="tikhonov:rel=0.01")
    for image in p.follow("pipe"):
        show(image)

    stream = p.follow(batch=8)
    images = stream(frames)
"""

from __future__ import annotations

import ctypes
import io
import os
import time
import warnings
from ctypes import POINTER, byref, c_bool, c_double, c_int, c_int64, c_size_t, c_void_p
from typing import IO, Any, Iterable, Iterator

import numpy as np

from . import _abi, _arrays, errors
from ._abi import lib
from ._call import Handle, call, check
from .grid import Grid
from .image import Image


class _Options(ctypes.Structure):  # problem.h
    _c_name_ = "iso_stream_options"
    _fields_ = [
        ("size", c_size_t),
        ("batch", c_int),
        ("sample", c_int),
        ("warm", c_bool),
        ("wavelengths", c_int),
    ]


class _Info(ctypes.Structure):  # sound_stream.h
    _c_name_ = "iso_sound_stream_info"
    _fields_ = [
        ("size", c_size_t),
        ("voxels", c_int64),
        ("bytes", c_int64),
        ("batch", c_int),
        ("iterations", c_int),
        ("eigenvalue", c_double),
        ("mu", c_double),
        ("graph", c_bool),
        ("frames", c_int64),
        ("transducers", c_int64),
        ("samples", c_int64),
        ("grid", _abi.Grid),
    ]


_abi.declare(
    {
        "iso_problem_stream": (c_int, [_abi.out, _abi.handle, POINTER(_Options)]),
        "iso_sound_stream_push": (c_int, [_abi.handle, c_void_p, c_int]),
        "iso_sound_stream_pull": (c_int, [_abi.vector, POINTER(c_int), _abi.handle]),
        "iso_sound_stream_look": (c_int, [POINTER(_Info), _abi.handle]),
        "iso_sound_stream_free": (None, [_abi.handle]),
    }
)

#: Types of samples, as enum iso_sample; what a file without a head holds is named like this.
_SAMPLES = (np.dtype("<f4"), np.dtype("<i2"), np.dtype("<u2"))
_NAMES = {"f32": 0, "i16": 1, "u16": 2}
_NAP_S = 0.01  # between two looks at a file that may grow


class Stream:
    """Makes images of frames; `problem.follow(...)` makes it.

    Called with frames (n, transducers, samples), or one frame (transducers, samples), it returns their images: (n, nz, ny,
    nx), or an Image. Frames are arrays of int16, uint16 or float32; other real numbers become float32. Tables and plans
    are made with the first call, and stay on the device. An image has the same bits whatever `batch` is and whatever
    came before it, unless `warm` is set.
    """

    def __init__(self, problem: Any, batch: int = 1, warm: bool = False, wavelengths: int = 1):
        self.problem = problem
        self.batch = batch
        self._options = _Options(size=ctypes.sizeof(_Options), batch=batch, warm=warm, wavelengths=wavelengths)
        for name, value in (("batch", batch), ("wavelengths", wavelengths)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise errors.ArgumentError(f"{name}: given {value!r}, wanted a whole number from 1 on")
        self._sample = -1  # of the frames so far; -1: none came
        self._made: Handle | None = None

    def _begin(self, sample: int) -> Handle:
        """The stream of frames of this kind."""
        if self._made is not None and sample != self._sample:
            raise errors.ArgumentError(
                f"frames: given {_SAMPLES[sample]} behind frames of {_SAMPLES[self._sample]}, wanted one type"
            )
        if self._made is None:
            made = Handle(lib.iso_sound_stream_free, self.problem.context._handle)
            self._options.sample = sample
            self.problem._call(lib.iso_problem_stream, byref(self._options), to=(byref(made.pointer),))
            self._made, self._sample = made, sample
            info = self._look()
            self.frame = (info.transducers, info.samples)
            self.grid = Grid._of(info.grid)
        return self._made

    def _given(self, frames: Any) -> tuple[np.ndarray, int]:
        """An array (n, transducers, samples), and the kind of its samples."""
        array = np.asarray(frames)
        if array.dtype not in _SAMPLES:
            array = _arrays.real(array, "frames")
        sample = _SAMPLES.index(array.dtype)
        self._begin(sample)
        if array.ndim not in (2, 3) or array.shape[-2:] != self.frame:
            raise errors.ArgumentError(
                f"frames: given shape {array.shape}, wanted (n, {self.frame[0]}, {self.frame[1]}): frames of "
                "transducers and samples"
            )
        return np.ascontiguousarray(array.reshape(-1, *self.frame)), sample

    def __call__(self, frames: Any) -> np.ndarray:
        """Images of the frames."""
        array, sample = self._given(frames)
        images = np.empty((len(array), *self.grid.shape), np.float32)
        handle, n = self._begin(sample), c_int()
        for i in range(0, len(array), self.batch):
            some = array[i : i + self.batch]
            call(self.problem.context, lib.iso_sound_stream_push, handle.pointer, _arrays.address(some), len(some))
            to = _arrays.address(images[i:])
            call(self.problem.context, lib.iso_sound_stream_pull, to, byref(n), handle.pointer)
        if np.ndim(frames) == 2:
            return Image(images[0], self.grid, "absorbed energy")
        return images

    @property
    def eigenvalue(self) -> float:
        """The largest eigenvalue of H* H, which sets the step; 0 before the first frame."""
        return self._look().eigenvalue

    @property
    def frames(self) -> int:
        """Frames so far."""
        return self._look().frames

    def _look(self) -> _Info:
        info = _Info(size=ctypes.sizeof(_Info))
        if self._made is not None:
            check(lib.iso_sound_stream_look(byref(info), self._made.pointer))
        return info

    def __repr__(self) -> str:
        return f"<isotome.following.Stream: {self.frames} frames, batch {self.batch}>"


# ---- sources ----


def _read(file: IO[bytes], n: int, idle_s: float) -> bytes:
    """n bytes, or fewer at the end: that of a file comes idle_s after it grew last."""
    parts: list[bytes] = []
    since = time.monotonic()
    while n > 0:
        part = file.read(n)
        if part:
            parts.append(part)
            n -= len(part)
            since = time.monotonic()
        elif time.monotonic() - since >= idle_s:
            break
        else:
            time.sleep(min(_NAP_S, idle_s))
    return b"".join(parts)


def _head(file: IO[bytes], first: bytes, idle_s: float) -> tuple[tuple[int, ...], np.dtype]:
    """Last two axes and type that the head of a .npy says, whose first 12 bytes were read."""
    size = int.from_bytes(first[8:10] if first[6] == 1 else first[8:12], "little")
    whole = (10 if first[6] == 1 else 12) + size
    head = io.BytesIO(first + _read(file, whole - len(first), idle_s))
    version = np.lib.format.read_magic(head)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        axes, fortran, dtype = reader(head)
    except ValueError as error:
        raise errors.InputError(f"source: the head of a .npy that does not read: {error}") from None
    if fortran or len(axes) < 2 or dtype not in _SAMPLES:
        raise errors.InputError(
            f"source: given an array {axes} of {dtype}, wanted (..., transducers, samples) of int16, uint16 or float32"
        )
    return axes[-2:], dtype


def _frames_of(file: IO[bytes], stream: Stream, sample: str, idle_s: float) -> Iterator[np.ndarray]:
    """Whole frames; one that is cut at the end is told."""
    dtype, rest = _SAMPLES[_NAMES[sample]], _read(file, 12, idle_s)
    axes = None
    if rest[:6] == b"\x93NUMPY":
        (axes, dtype), rest = _head(file, rest, idle_s), b""
    stream._begin(_SAMPLES.index(dtype))
    shape = stream.frame
    if axes not in (None, shape):
        raise errors.InputError(f"source: given frames {axes}, wanted {shape}: transducers and samples")
    n = dtype.itemsize * shape[0] * shape[1]
    while True:
        frame = rest + _read(file, n - len(rest), idle_s)
        rest = b""
        if len(frame) < n:
            break
        yield np.frombuffer(frame, dtype).reshape(shape)
    if frame:
        warnings.warn(
            f"the last frame is cut and left out: {len(frame)} of its {n} bytes came", errors.IsotomeWarning, stacklevel=3
        )


def _one_by_one(source: Iterable[Any]) -> Iterator[np.ndarray]:
    for item in source:
        array = np.asarray(item)
        yield from array if array.ndim == 3 else (array,)


def images_of(stream: Stream, source: Any, sample: str, idle_s: float) -> Iterator[Image]:
    """The image of each frame of the source, `batch` of them together."""
    if sample not in _NAMES:
        raise errors.ArgumentError(f"sample_type: given {sample!r}, wanted 'f32', 'i16' or 'u16'")
    own = isinstance(source, (str, os.PathLike))
    file = open(source, "rb", buffering=0) if own else source  # noqa: SIM115
    try:
        reads = hasattr(file, "read")
        frames = _frames_of(file, stream, sample, idle_s) if reads else _one_by_one(file)
        waiting: list[np.ndarray] = []
        for frame in frames:
            waiting.append(frame)
            if len(waiting) == stream.batch:
                yield from _images(stream, waiting)
                waiting = []
        if waiting:
            yield from _images(stream, waiting)
    finally:
        if own:
            file.close()


def _images(stream: Stream, frames: list[np.ndarray]) -> Iterator[Image]:
    for image in stream(np.stack(frames)):
        yield Image(image, stream.grid, "absorbed energy")
