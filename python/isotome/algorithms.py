# SPDX-License-Identifier: BSD-3-Clause
"""The library's algorithms over any operator: expectation maximisation and least squares.

    s = isotome.em(A, y, sens=sens, iterations=20, callback=look)
    s.image, s.curve

An operator of a model runs as a whole where its context is, on the GPU as `Problem.reconstruct` does; arrays
on a device go there by way of the host once, and the image comes back the same way. Of an operator made of
others the vectors of the algorithm are on the host, and its parts are called from there.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import math
import os
import warnings
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from . import _abi, _arrays, _kinds, errors
from ._abi import ALL, lib
from ._call import Handle, call, check, text
from ._checks import integer, number, utf8
from .context import Context, Tell, listening
from .filters import _Filter
from .grid import Grid
from .image import Image
from .operator import Array, ModelOperator, Operator, Shape
from .steps import Callback, Step, Watcher

_MOST = 1_000_000  # iterations
_HOST = 0  # ISO_HOST: arrays are there

# ---- structs and functions ----

_APPLY_FN = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, c_void_p, c_void_p)
_EACH_FN = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, c_void_p)


class _Custom(ctypes.Structure):  # op.h
    _c_name_ = "iso_custom"
    _fields_ = [
        ("size", c_size_t),
        ("n_in", c_int64),
        ("n_out", c_int64),
        ("n_sub", c_int),
        ("rows", POINTER(_abi.Rows)),
        ("forward", _APPLY_FN),
        ("adjoint", _APPLY_FN),
        ("em_step", c_void_p),
        ("free", c_void_p),
        ("arg", c_void_p),
    ]


class _Run(ctypes.Structure):  # algo.h
    _c_name_ = "iso_run"
    _fields_ = [
        ("size", c_size_t),
        ("checkpoint", c_char_p),
        ("checkpoint_minutes", c_double),
        ("stop_after_minutes", c_double),
        ("key", c_uint64),
        ("resume", c_bool),
        ("each", _EACH_FN),
        ("arg", c_void_p),
        ("wants", c_void_p),
        ("keep", c_bool),
        ("objective", POINTER(c_double)),
        ("watch", c_void_p),
    ]


class _Sens(ctypes.Structure):  # algo.h
    _c_name_ = "iso_sens"
    _fields_ = [("n_images", c_int), ("n_sub", c_int), ("image", c_void_p)]


class _Em(ctypes.Structure):  # algo.h
    _c_name_ = "iso_em"
    _fields_ = [
        ("size", c_size_t),
        ("op", c_void_p),
        ("place", c_int),
        ("data", _abi.EmData),
        ("sens", _Sens),
        ("iterations", c_int),
        ("filter", POINTER(_Filter)),
        ("filter_every", c_int),
        ("grid", _abi.Grid),
    ]


class _EmResult(ctypes.Structure):  # algo.h
    _c_name_ = "iso_em_result"
    _fields_ = [
        ("size", c_size_t),
        ("used", c_int64),
        ("skipped", c_int64),
        ("lost", c_double),
        ("resumed_from", c_int),
        ("unsaved", c_int),
        ("n", c_int),
        ("loglik", POINTER(c_double)),
        ("stopped", c_bool),
    ]


class _Cg(ctypes.Structure):  # algo.h
    _c_name_ = "iso_cg"
    _fields_ = [
        ("size", c_size_t),
        ("op", c_void_p),
        ("place", c_int),
        ("y", c_void_p),
        ("penalty", c_void_p),
        ("mu", c_double),
        ("iterations", c_int),
        ("tolerance", c_double),
        ("nonneg", c_bool),
        ("by_image", c_bool),
    ]


class _Fista(ctypes.Structure):  # algo.h
    _c_name_ = "iso_fista"
    _fields_ = [
        ("size", c_size_t),
        ("op", c_void_p),
        ("place", c_int),
        ("y", c_void_p),
        ("grid", _abi.Grid),
        ("penalty", c_void_p),
        ("mu", c_double),
        ("tv", c_double),
        ("nonneg", c_bool),
        ("iterations", c_int),
        ("tv_steps", c_int),
    ]


class _CgResult(ctypes.Structure):  # algo.h
    _c_name_ = "iso_cg_result"
    _fields_ = [
        ("size", c_size_t),
        ("n", c_int),
        ("resumed_from", c_int),
        ("unsaved", c_int),
        ("cost", POINTER(c_double)),
        ("gradient", POINTER(c_double)),
        ("stopped", c_bool),
    ]


class _FistaResult(ctypes.Structure):  # algo.h
    _c_name_ = "iso_fista_result"
    _fields_ = [
        ("size", c_size_t),
        ("n", c_int),
        ("resumed_from", c_int),
        ("unsaved", c_int),
        ("cost", POINTER(c_double)),
        ("change", POINTER(c_double)),
        ("stopped", c_bool),
    ]


_abi.declare(
    {
        "iso_custom_create": (c_int, [_abi.out, _abi.handle, POINTER(_Custom)]),
        "iso_penalty_create": (c_int, [_abi.out, _abi.handle, c_char_p, POINTER(_abi.Grid)]),
        "iso_em_run": (c_int, [_abi.vector, POINTER(_EmResult), POINTER(_Em), POINTER(_Run)]),
        "iso_em_result_free": (None, [POINTER(_EmResult)]),
        "iso_cg_run": (c_int, [_abi.vector, POINTER(_CgResult), POINTER(_Cg), POINTER(_Run)]),
        "iso_cg_result_free": (None, [POINTER(_CgResult)]),
        "iso_fista_run": (c_int, [_abi.vector, POINTER(_FistaResult), POINTER(_Fista), POINTER(_Run)]),
        "iso_fista_result_free": (None, [POINTER(_FistaResult)]),
    }
)


@dataclass
class Solution:
    """What an algorithm came to."""

    image: Any  # an Image where the grid is known, else an array; of PyTorch and CuPy, theirs
    iterations: int  # done
    curve: np.ndarray  # EM: log-likelihood before each update; else cost at the start and after each
    stopped: bool  # the callback had seen enough
    resumed_from: int  # updates or iterations found in the checkpoint
    gradient: np.ndarray | None = None  # cg: |gradient| over the first, as long as `curve`
    change: np.ndarray | None = None  # fista: change of the image over its size, 0 where a step was not taken


# ---- operators as the library takes them ----


def _view(pointer: int, shape: Shape) -> np.ndarray:
    """Values of the library, for the time of a call."""
    memory = (ctypes.c_float * math.prod(shape)).from_address(pointer)
    return np.frombuffer(memoryview(memory), _arrays.REAL).reshape(shape)


class _Own:
    """An operator of a model: the library's own."""

    def __init__(self, of: ModelOperator):
        self._of = of
        self.handle = of._shared.held()

    def rows(self, y: np.ndarray) -> np.ndarray:
        """Data in the file's order, in which algorithms take them."""
        if self._of._in_file_order or self._of._shared.plain():
            return y
        file = np.empty_like(y)
        lib.iso_op_unsort(file.ctypes.data, self.handle.pointer, y.ctypes.data)
        return file

    def close(self) -> None:
        """It goes on."""


class _Outside:
    """Any other operator, which the library calls with vectors on the host.

    Its rows are those of its subsets, one subset behind the other.
    """

    def __init__(self, of: Operator, subsets: bool, kind: _kinds.Kind, context: Context, watcher: Watcher):
        if kind.device != "cpu":
            raise errors.ArgumentError(
                f"given {kind.words} for an operator made of others, wanted arrays on the host; "
                "an operator of Problem.operator takes them"
            )
        self._kind, self._watcher, self._in_shape = kind, watcher, of.in_shape
        n = of.n_subsets if subsets else 1
        self._parts = [of.subset(k) for k in range(n)] if n > 1 else [of]
        self._order = np.concatenate([p.rows for p in self._parts]) if n > 1 else None
        self._rows = (_abi.Rows * n)()
        end = 0
        for rows, part in zip(self._rows, self._parts):
            rows.first, rows.n = end, math.prod(part.out_shape)
            end += rows.n
        self._functions: tuple = _APPLY_FN(self._forward), _APPLY_FN(self._adjoint)
        custom = _Custom(ctypes.sizeof(_Custom), math.prod(of.in_shape), end, n, self._rows, *self._functions)
        self.handle = Handle(lib.iso_op_free, context._handle)
        check(lib.iso_custom_create(byref(self.handle.pointer), context._pointer, byref(custom)))

    def rows(self, y: np.ndarray) -> np.ndarray:
        return y if self._order is None else y.reshape(-1)[self._order]

    def close(self) -> None:
        """It is not called any more: the functions hold this object."""
        self._functions = ()

    def _array(self, pointer: int, shape: Shape) -> Array:
        return self._kind.of_host(_view(pointer, shape))

    def _forward(self, _arg: object, sub: int, y: int, x: int) -> int:
        def apply() -> None:
            image = self._array(x, self._in_shape)
            for k in self._which(sub):
                part = self._parts[k]
                part._forward(image, self._array(y + 4 * self._rows[k].first, part.out_shape))

        return self._watcher.guard(apply)

    def _adjoint(self, _arg: object, sub: int, x: int, y: int) -> int:
        def apply() -> None:
            total, one = self._array(x, self._in_shape), self._kind.empty(self._in_shape)
            total[...] = 0
            for k in self._which(sub):
                part = self._parts[k]
                part._adjoint(self._array(y + 4 * self._rows[k].first, part.out_shape), one)
                total += one

        return self._watcher.guard(apply)

    def _which(self, sub: int) -> range:
        return range(len(self._parts)) if sub == ALL else range(sub, sub + 1)


# ---- what the algorithms share ----


def _known_grid(A: Operator, *given: Any) -> Grid | None:
    """A grid that was given, that of an image, or that of the operator."""
    for value in given:
        if isinstance(value, Grid):
            return value
        if isinstance(value, Image) and value.grid is not None:
            return value.grid
    return A.in_grid


class _Work:
    """One run: the operator, arrays on the host, and what surrounds the iterations."""

    def __init__(
        self, A: Operator, arrays: dict[str, tuple[Any, Shape]], grid: Any, subsets: bool, how: _How
    ):
        taken = _kinds.Arguments()
        given = {name: taken.take(v, shape, name) for name, (v, shape) in arrays.items() if v is not None}
        self.A, self._how = A, how
        self._kind = taken.kind if given else _kinds.like(None)
        self._host = {name: self._kind.to_host(v) for name, v in given.items()}
        if grid is not None:
            Grid._struct(grid)
        self.grid = _known_grid(A, grid, *given.values())
        self._unit = getattr(given.get("start"), "unit", "")
        self._watcher = Watcher(how.callback)
        if isinstance(A, ModelOperator) and A._subset == ALL:
            self._context = A.context
            if self._kind.device not in ("cpu", self._context.device):
                raise errors.ArgumentError(
                    f"given {self._kind.words} for an operator on {self._context.device}, wanted arrays "
                    "there or on the host"
                )
            self._ops: list[_Own | _Outside] = [_Own(A)]
        else:
            self._context = Context("cpu")
            self._ops = [_Outside(A, subsets, self._kind, self._context, self._watcher)]

    @property
    def op(self) -> c_void_p:
        return self._ops[0].handle.pointer

    def start(self, value: float) -> np.ndarray:
        """A copy of the start image, or one of this value: the result takes its place."""
        x = self._host.get("start")
        return np.full(self.A.in_shape, value, _arrays.REAL) if x is None else np.array(x)

    def get(self, name: str) -> np.ndarray | None:
        return self._host.get(name)

    def rows(self, name: str) -> np.ndarray | None:
        """Data in the order in which the library takes them."""
        y = self._host.get(name)
        return None if y is None else np.ascontiguousarray(self._ops[0].rows(y))

    def voxels(self) -> _abi.Grid:
        """A grid for what needs its numbers of voxels alone."""
        shape = self.A.in_shape
        if self.grid is not None and self.grid.shape == shape:
            return self.grid._struct()
        if len(shape) > 3:
            raise errors.ArgumentError(f"A: given images of shape {shape}, wanted up to three axes")
        nx, ny, nz = (*shape[::-1], 1, 1, 1)[:3]
        return Grid((nx, ny, nz), (1.0, 1.0, 1.0))._struct()

    def penalty(self, penalty: Operator | str | None) -> Handle | None:
        """Operator L of a penalty <x, L x>."""
        if penalty is None:
            return None
        if isinstance(penalty, str):
            made, grid = Handle(lib.iso_op_free, self._context._handle), self.voxels()
            name = text(penalty, "penalty")
            check(lib.iso_penalty_create(byref(made.pointer), self._context._pointer, name, byref(grid)))
            return made
        if not isinstance(penalty, Operator) or not penalty.in_shape == penalty.out_shape == self.A.in_shape:
            raise errors.ArgumentError(
                f"penalty: given {penalty!r}, wanted a name such as 'quadratic', or an operator from shape "
                f"{self.A.in_shape} to the same"
            )
        if self._context.is_cuda:
            raise errors.ArgumentError(
                f"penalty: given an operator beside one on {self._context.device}, wanted the name of a "
                "penalty: operators that are not a model's are called on the host"
            )
        self._ops.append(_Outside(penalty, False, self._kind, self._context, self._watcher))
        return self._ops[-1].handle

    def image(self, values: np.ndarray) -> Any:
        """The values as the kind of array that came in."""
        if self._kind is not _kinds.like(None):
            return self._kind.of_host(values)
        fits = self.grid is not None and self.grid.shape == values.shape[-3:]
        return Image(values, self.grid, self._unit) if fits else values

    def run(self, function: Callable[..., int], x: np.ndarray, result: Any, p: Any, words: tuple) -> None:
        """From the start, or from the checkpoint, to the end. `words`: options that the image depends on."""
        objective = c_double()

        def step(iteration: int, image: int) -> Step:
            values = self.image(_view(image, x.shape).copy())
            return Step(iteration, p.iterations, 0, values, objective.value)

        def each(_arg: object, iteration: int, image: int) -> int:
            return self._watcher.tell(lambda: step(iteration, image))

        run = _Run(size=ctypes.sizeof(_Run), objective=ctypes.pointer(objective))
        run.each = _EACH_FN(each) if self._how.callback is not None else _EACH_FN()
        if self._how.checkpoint is not None:
            self._checkpoint(run, words)
        with contextlib.ExitStack() as during:
            for op in self._ops:
                during.callback(op.close)
            during.enter_context(listening(self._context, self._how.progress))
            during.enter_context(self._watcher)
            call(self._context, function, x.ctypes.data, byref(result), byref(p), byref(run))
        self._how.finish(result.unsaved)

    def _checkpoint(self, run: _Run, words: tuple) -> None:
        how = self._how
        run.checkpoint, run.resume = text(os.fspath(how.checkpoint), "checkpoint"), bool(how.resume)
        run.checkpoint_minutes = how.checkpoint_minutes
        key = hashlib.blake2b(repr((self.A, words)).encode(), digest_size=8)
        for name, values in self._host.items():
            key.update(name.encode())
            key.update(np.ascontiguousarray(values).data)
        run.key = int.from_bytes(key.digest(), "little")


class _How:
    """What surrounds the iterations, as the caller wants it."""

    def __init__(self, callback: Any, progress: Any, checkpoint: Any, resume: Any, minutes: Any):
        self.callback, self.progress = callback, progress
        self.checkpoint, self.resume = checkpoint, resume
        self.checkpoint_minutes = number(minutes, "checkpoint_minutes")
        if checkpoint is None and resume:
            raise errors.ArgumentError("resume: given without a checkpoint, wanted the file to go on from")
        if checkpoint is not None and not resume and os.path.exists(checkpoint):
            raise errors.ArgumentError(f"checkpoint: {checkpoint} exists: resume=True continues it")

    def finish(self, unsaved: int) -> None:
        """The checkpoint of a run that has ended is of no use."""
        if self.checkpoint is not None and os.path.exists(self.checkpoint):
            os.remove(self.checkpoint)
        if unsaved:
            warnings.warn(
                f"{unsaved} checkpoints could not be written to {self.checkpoint}", errors.IsotomeWarning, 4
            )


def _operator(A: object) -> None:
    if not isinstance(A, Operator):
        raise errors.ArgumentError(f"A: given {type(A).__name__}, wanted an isotome.Operator")


def _count(value: Any, name: str) -> int:
    if not 1 <= integer(value, name) <= _MOST:
        raise errors.ArgumentError(f"{name}: given {value}, wanted 1 to {_MOST}")
    return int(value)


def _address(values: np.ndarray | None) -> int | None:
    return None if values is None else values.ctypes.data


def _curve(values: Any, n: int) -> np.ndarray:
    return np.array(values[:n], np.float64)


# ---- expectation maximisation ----


def em(
    A: Operator,
    y: Array | None = None,
    add: Array | None = None,
    mult: Array | None = None,
    *,
    sens: Array | None = None,
    start: Array | None = None,
    iterations: int = 10,
    filter: str | None = None,
    filter_every: int = 1,
    grid: Grid | None = None,
    callback: Callback | None = None,
    progress: Tell = None,
    checkpoint: str | os.PathLike | None = None,
    resume: bool = False,
    checkpoint_minutes: float = 10.0,
) -> Solution:
    """MLEM, or OSEM where the operator has subsets: x <- x / S_k * A_k*(y / (A_k x + add / mult)).

    y: counts, of A.out_shape; None: each row counts 1 (list mode). add: their mean additive term.
    mult: factors, which are part of the sensitivity too.
    sens: the sensitivity S, of A.in_shape, of which each subset has an equal share, or (A.n_subsets, ...),
        one each; None: A.sensitivity().
    start: None: 1 in every voxel. Voxels without sensitivity are 0.
    iterations: passes over all subsets.
    filter: "gaussian:MM", "gaussian:X,Y,Z" or "median:N", after every `filter_every`-th iteration, on `grid`;
        None: that of the start or sensitivity image, or of the operator's problem.
    callback: called after each iteration with a Step; True ends the run there, in good order.
    progress: True: shows bars of tqdm if it is installed, else a line on stderr. Or a function that is called with
        a Progress after each update; where it returns True the run ends with Cancelled.
    checkpoint: a file to which the work goes every `checkpoint_minutes`, and when it is stopped or fails;
        `resume` goes on from it, where it is there. It is removed at the end. Data and options must be those
        of the run that wrote it; of the operator the shapes are compared.
    """
    _operator(A)
    how = _How(callback, progress, checkpoint, resume, checkpoint_minutes)
    n, every = _count(iterations, "iterations"), _count(filter_every, "filter_every")
    like = next((v for v in (y, add, mult, start) if v is not None), None)
    if sens is None:
        sens = A.sensitivity(like=like)
    each_subset = len(getattr(sens, "shape", ())) == len(A.in_shape) + 1
    arrays = {name: (v, A.out_shape) for name, v in (("y", y), ("add", add), ("mult", mult))}
    arrays["sens"] = sens, (A.n_subsets, *A.in_shape) if each_subset else A.in_shape
    arrays["start"] = start, A.in_shape
    work = _Work(A, arrays, grid, True, how)
    rows = [work.rows(name) for name in ("y", "add", "mult")]
    s = np.ascontiguousarray(work.get("sens"))
    p = _Em(ctypes.sizeof(_Em), work.op, _HOST, _abi.EmData(*(_address(v) for v in rows)))
    p.sens = _Sens(A.n_subsets if each_subset else 1, A.n_subsets, _address(s))
    p.iterations, p.filter_every = n, every
    if filter is not None:
        if work.grid is None:
            raise errors.ArgumentError("filter: given without a grid, wanted grid=isotome.Grid(...)")
        smooth = _Filter()
        check(lib.iso_filter_parse(byref(smooth), utf8(filter, "filter")))
        p.filter, p.grid = ctypes.pointer(smooth), work.grid._struct()
    x, result = work.start(1), _EmResult(ctypes.sizeof(_EmResult))
    work.run(lib.iso_em_run, x, result, p, ("em", n, filter, every, p.grid.voxel[:]))
    try:
        curve = _curve(result.loglik, result.n)
    finally:
        lib.iso_em_result_free(byref(result))
    done = result.n // A.n_subsets
    return Solution(work.image(x), done, curve, result.stopped, result.resumed_from)


# ---- least squares ----


def cg(
    A: Operator,
    y: Array,
    *,
    penalty: Operator | str | None = None,
    mu: float = 0.0,
    start: Array | None = None,
    iterations: int = 10,
    tolerance: float = 0.0,
    nonneg: bool = False,
    precondition: str = "none",
    grid: Grid | None = None,
    callback: Callback | None = None,
    progress: Tell = None,
    checkpoint: str | os.PathLike | None = None,
    resume: bool = False,
    checkpoint_minutes: float = 10.0,
) -> Solution:
    """The image that makes |y - A x|^2 + mu <x, L x> smallest, by conjugate gradients.

    penalty: L, an operator that is its own adjoint, or "quadratic", the sum of squared differences between
        neighbours; None: none.
    start: None: 0 in every voxel.
    tolerance: the end, where the gradient has fallen to this share of the first.
    nonneg: without values below 0; the gradient is then that of the voxels that may go its way.
    precondition: "none"; with `nonneg` also "image": bright voxels go farther, as suits images that are mostly 0.
    For the rest see `em`.
    """
    _operator(A)
    how = _How(callback, progress, checkpoint, resume, checkpoint_minutes)
    n = _count(iterations, "iterations")
    work = _Work(A, {"y": (_wanted(y), A.out_shape), "start": (start, A.in_shape)}, grid, False, how)
    rows, operator = work.rows("y"), work.penalty(penalty)
    p = _Cg(ctypes.sizeof(_Cg), work.op, _HOST, _address(rows), operator and operator.pointer)
    p.mu, p.iterations, p.tolerance = number(mu, "mu"), n, number(tolerance, "tolerance")
    p.nonneg, p.by_image = bool(nonneg), _by_image(precondition)
    x, result = work.start(0), _CgResult(ctypes.sizeof(_CgResult))
    work.run(lib.iso_cg_run, x, result, p, ("cg", n, p.mu, p.tolerance, p.nonneg, p.by_image, repr(penalty)))
    try:
        curve, gradient = (_curve(v, result.n + 1) for v in (result.cost, result.gradient))
    finally:
        lib.iso_cg_result_free(byref(result))
    return Solution(work.image(x), result.n, curve, result.stopped, result.resumed_from, gradient=gradient)


def _by_image(precondition: str) -> bool:
    if precondition not in ("none", "image"):
        raise errors.ArgumentError(f"precondition: given {precondition!r}, wanted 'none' or 'image'")
    return precondition == "image"


def fista(
    A: Operator,
    y: Array,
    *,
    tv: float = 0.0,
    nonneg: bool = True,
    penalty: Operator | str | None = None,
    mu: float = 0.0,
    start: Array | None = None,
    iterations: int = 10,
    tv_steps: int = 20,
    grid: Grid | None = None,
    callback: Callback | None = None,
    progress: Tell = None,
    checkpoint: str | os.PathLike | None = None,
    resume: bool = False,
    checkpoint_minutes: float = 10.0,
) -> Solution:
    """The image that makes |y - A x|^2 + mu <x, L x> + tv TV(x) smallest, without values below 0 if `nonneg`.

    tv: times the sum over the voxels of the length of the gradient, in differences between neighbours.
    tv_steps: inside an iteration.
    For the rest see `cg` and `em`.
    """
    _operator(A)
    how = _How(callback, progress, checkpoint, resume, checkpoint_minutes)
    n = _count(iterations, "iterations")
    work = _Work(A, {"y": (_wanted(y), A.out_shape), "start": (start, A.in_shape)}, grid, False, how)
    rows, operator = work.rows("y"), work.penalty(penalty)
    p = _Fista(ctypes.sizeof(_Fista), work.op, _HOST, _address(rows), work.voxels())
    p.penalty, p.mu, p.tv = operator and operator.pointer, number(mu, "mu"), number(tv, "tv")
    p.nonneg, p.iterations, p.tv_steps = bool(nonneg), n, _count(tv_steps, "tv_steps")
    x, result = work.start(0), _FistaResult(ctypes.sizeof(_FistaResult))
    words = "fista", n, p.mu, p.tv, p.nonneg, p.tv_steps, repr(penalty)
    work.run(lib.iso_fista_run, x, result, p, words)
    try:
        curve, change = (_curve(v, result.n + 1) for v in (result.cost, result.change))
    finally:
        lib.iso_fista_result_free(byref(result))
    return Solution(work.image(x), result.n, curve, result.stopped, result.resumed_from, change=change)


def _wanted(y: Any) -> Any:
    if y is None:
        raise errors.ArgumentError("y: given None, wanted the data")
    return y
