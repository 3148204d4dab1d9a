# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of arrays: NumPy, PyTorch, CuPy, others by DLPack; and the arrays of one call.

Results are of the kind of the arguments, on their device. PyTorch and CuPy are known by the name of the
module of a type, and taken from where the caller imported them.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
import weakref
from ctypes import c_void_p
from typing import TYPE_CHECKING, Any, Callable, ContextManager

import numpy as np

from . import _arrays, errors
from ._abi import lib
from ._call import check
from .image import Image

if TYPE_CHECKING:
    from ._dlpack import Loan
    from .grid import Grid

Shape = tuple[int, ...]


class Kind:
    """Arrays of one library on one device, and what operators need of them."""

    words: str  # "a PyTorch tensor on cuda:0"
    device: str  # "cpu", "cuda:0"
    xp: Any  # the module with the library's functions
    makes = True  # whether the library makes arrays

    def __init__(self, words: str, device: str, xp: Any):
        self.words = words if device == "cpu" else f"{words} on {device}"
        self.device, self.xp = device, xp

    # ---- what kinds differ in ----

    def refuse_form(self, values: Any, name: str) -> None:
        """What is not float32 in C order."""
        raise NotImplementedError

    def converted(self, values: Any, name: str) -> Any:
        """An input as float32 in C order. Only NumPy's arrays are converted; of other libraries they are refused."""
        self.refuse_form(values, name)
        return values

    def address(self, values: Any) -> int:
        raise NotImplementedError

    def empty(self, shape: Shape) -> Any:
        raise NotImplementedError

    def of_host(self, values: np.ndarray) -> Any:
        """The values of a NumPy array, without a copy where this kind is on the host."""
        raise NotImplementedError

    def to_host(self, values: Any) -> np.ndarray:
        """The reverse."""
        raise NotImplementedError

    def double(self, values: Any) -> Any:
        """In float64."""
        raise NotImplementedError

    def multiply(self, a: Any, b: Any, out: Any) -> None:
        self.xp.multiply(a, b, out=out)

    def writeable(self, values: Any) -> bool:
        return True

    def lend(self, values: Any, loans: contextlib.ExitStack, context: c_void_p) -> int:
        """The address of the values, for work of the context, valid until the loans are given back."""
        return self.address(values)

    # ---- streams; on the host there are none ----

    def current(self) -> ContextManager:
        """During `with` its device is the current one of the thread; then what was before."""
        return contextlib.nullcontext()

    def begin(self, context: c_void_p) -> None:
        """Work of the context from now on comes after that of the caller until now."""

    def end(self, context: c_void_p) -> None:
        """Work of the caller from now on comes after that of the context until now."""

    # ---- the same for all ----

    def total(self, values: Any) -> float:
        """The sum in float64, which waits for the device."""
        return float(self.xp.sum(values, dtype=self.xp.float64))

    def inner(self, a: Any, b: Any) -> float:
        return self.total(self.double(a) * b)

    def length(self, values: Any) -> float:
        return math.sqrt(self.inner(values, values))

    def over(self, a: Any, b: Any) -> Any:
        """a / b, and 0 where b is 0; b >= 0."""
        xp = self.xp
        there, zeros = b > 0, xp.zeros_like(b)
        return xp.where(there, a / xp.where(there, b, xp.ones_like(b)), zeros)

    def least(self, values: Any) -> Any:
        """The smallest value, NaN if one is NaN, where the values are: nobody waits."""
        return self.xp.min(values)

    def looks_good(self, values: Any, signed: bool) -> bool:
        """Whether all are finite and, unless `signed`, none is below 0; the host waits."""
        if not math.prod(values.shape):
            return True
        return math.isfinite(self.total(values)) and (signed or float(self.least(values)) >= 0)

    def refuse_values(self, values: Any, name: str, signed: bool = True) -> None:
        """NaN, infinity and, unless `signed`, what is below 0: on a device by sums there."""
        if self.device == "cpu" or not self.looks_good(values, signed):
            host = self.to_host(values)
            _arrays.refuse_values(host, name)
            if not signed:
                _refuse_negative(host, name)

    def overlap(self, a: Any, b: Any) -> bool:
        first, second = self.address(a), self.address(b)
        return first < second + 4 * math.prod(b.shape) and second < first + 4 * math.prod(a.shape)


def refuse_shape(values: Any, shape: Shape, name: str) -> None:
    if not hasattr(values, "shape"):
        raise errors.ArgumentError(f"{name}: given {type(values).__name__} without a shape, wanted {shape}")
    if tuple(values.shape) != shape:
        raise errors.ArgumentError(f"{name}: given shape {tuple(values.shape)}, wanted {shape}")


def _refuse_negative(values: np.ndarray, name: str) -> None:
    """What is below 0, of which the first is named."""
    if values.size == 0 or values.min() >= 0:
        return
    first = int(np.flatnonzero(values < 0)[0])
    place = tuple(int(i) for i in np.unravel_index(first, values.shape))
    raise errors.ArgumentError(
        f"{name}: the value at {place} is {values.reshape(-1)[first]}, must not be below 0"
    )


class NumPy(Kind):
    def refuse_form(self, values: Any, name: str) -> None:
        _arrays.refuse_form(values, name, _arrays.REAL)

    def converted(self, values: Any, name: str) -> np.ndarray:
        return _arrays.converted(values, name)

    def address(self, values: Any) -> int:
        return values.ctypes.data

    def empty(self, shape: Shape) -> np.ndarray:
        return np.empty(shape, _arrays.REAL)

    def of_host(self, values: np.ndarray) -> np.ndarray:
        return values

    def to_host(self, values: Any) -> np.ndarray:
        return values

    def double(self, values: Any) -> np.ndarray:
        return values.astype(np.float64)

    def over(self, a: Any, b: Any) -> np.ndarray:
        return np.divide(a, b, out=np.zeros(b.shape, _arrays.REAL), where=b > 0)

    def writeable(self, values: Any) -> bool:
        return values.flags.writeable


class OfStream(Kind):
    """Arrays of a library that has a current stream, where they are on CUDA."""

    @property
    def number(self) -> int:
        """Of the CUDA device."""
        return int(self.device.partition(":")[2])

    def stream(self) -> int:
        """The cudaStream_t that is current on the device."""
        raise NotImplementedError

    def begin(self, context: c_void_p) -> None:
        if self.device != "cpu":
            check(lib.iso_ctx_follow_stream(context, self.stream()))

    def end(self, context: c_void_p) -> None:
        if self.device != "cpu":
            check(lib.iso_ctx_lead_stream(context, self.stream()))


class Torch(OfStream):
    def refuse_form(self, values: Any, name: str) -> None:
        torch = self.xp
        if values.dtype != torch.float32:
            raise errors.ArgumentError(
                f"{name}: given values of {values.dtype}, wanted torch.float32: convert by .float()"
            )
        if values.layout != torch.strided or not values.is_contiguous() or values.is_neg():
            raise errors.ArgumentError(
                f"{name}: given a tensor that is not contiguous in C order, wanted one that is: "
                ".contiguous() makes it"
            )
        if values.requires_grad and torch.is_grad_enabled():
            raise errors.ArgumentError(
                f"{name}: given a tensor that requires grad, through which this call has no gradient: "
                "wanted .detach(), or the operator as isotome.torch.Projector"
            )

    def address(self, values: Any) -> int:
        return values.data_ptr()

    def empty(self, shape: Shape) -> Any:
        return self.xp.empty(shape, dtype=self.xp.float32, device=self.device)

    def of_host(self, values: np.ndarray) -> Any:
        return self.xp.from_numpy(values if values.flags.writeable else values.copy()).to(self.device)

    def to_host(self, values: Any) -> np.ndarray:
        return values.detach().cpu().numpy()

    def double(self, values: Any) -> Any:
        return values.to(self.xp.float64)

    def stream(self) -> int:
        return self.xp.cuda.current_stream(self.number).cuda_stream

    def current(self) -> ContextManager:
        return contextlib.nullcontext() if self.device == "cpu" else self.xp.cuda.device(self.number)


class CuPy(OfStream):
    def refuse_form(self, values: Any, name: str) -> None:
        if values.dtype != _arrays.REAL:
            raise errors.ArgumentError(
                f"{name}: given values of {values.dtype}, wanted float32: convert by .astype(cupy.float32)"
            )
        if not values.flags.c_contiguous:
            raise errors.ArgumentError(
                f"{name}: given an array with strides {values.strides}, wanted a contiguous one in C order: "
                "cupy.ascontiguousarray makes it"
            )

    def address(self, values: Any) -> int:
        return values.data.ptr

    def empty(self, shape: Shape) -> Any:
        with self.current():
            return self.xp.empty(shape, _arrays.REAL)

    def of_host(self, values: np.ndarray) -> Any:
        with self.current():
            return self.xp.asarray(values)

    def to_host(self, values: Any) -> np.ndarray:
        return self.xp.asnumpy(values)

    def double(self, values: Any) -> Any:
        return values.astype(np.float64)

    def total(self, values: Any) -> float:
        with self.current():
            return super().total(values)

    def least(self, values: Any) -> Any:
        with self.current():
            return super().least(values)

    def stream(self) -> int:
        with self.current():
            return self.xp.cuda.get_current_stream().ptr

    def current(self) -> ContextManager:
        return self.xp.cuda.Device(self.number)


class Lent(Kind):
    """Arrays of another library on CUDA, by DLPack. Results are made by its namespace of the array API.

    The library lets the context's stream wait for it when it lends an array. There is no way to let it wait
    for the context, so that a call ends when its work has.
    """

    def __init__(self, example: Any, device: str):
        namespace = getattr(example, "__array_namespace__", None)
        super().__init__(type(example).__name__, device, namespace() if namespace else None)
        self._device = getattr(example, "device", None)  # as the library calls it
        self.makes = namespace is not None

    def _loan(self, values: Any, name: str = "array", stream: int = -1) -> Loan:
        from ._dlpack import Loan

        return Loan(values, name, stream)

    def refuse_form(self, values: Any, name: str) -> None:
        self._loan(values, name).give_back()

    def refuse_values(self, values: Any, name: str, signed: bool = True) -> None:
        """Where the library has no namespace, there is nobody to look at them."""
        if self.xp is not None and not self.looks_good(values, signed):
            more = "" if signed else " and not below 0"
            raise errors.ArgumentError(f"{name}: given values that are not all finite{more}")

    def writeable(self, values: Any) -> bool:
        with self._loan(values) as loan:
            return not (loan.read_only or loan.copied)

    def address(self, values: Any) -> int:
        with self._loan(values) as loan:
            return loan.address

    def lend(self, values: Any, loans: contextlib.ExitStack, context: c_void_p) -> int:
        return loans.enter_context(self._loan(values, stream=lib.iso_ctx_stream(context))).address

    def end(self, context: c_void_p) -> None:
        check(lib.iso_ctx_wait(context))

    def _library(self) -> Any:
        if self.xp is None:
            raise errors.ArgumentError(
                f"given {self.words}, whose library has no __array_namespace__ to make arrays with: "
                "wanted out=, and an operator that is not made of others"
            )
        return self.xp

    def empty(self, shape: Shape) -> Any:
        xp = self._library()
        return xp.empty(shape, dtype=xp.float32, device=self._device)

    def of_host(self, values: np.ndarray) -> Any:
        xp = self._library()
        return xp.asarray(values, dtype=xp.float32, device=self._device)

    def to_host(self, values: Any) -> np.ndarray:
        raise errors.ArgumentError(f"given {self.words}, wanted a NumPy array, which goes with every kind")

    def double(self, values: Any) -> Any:
        return self.xp.astype(values, self.xp.float64)

    def over(self, a: Any, b: Any) -> Any:
        self._library()
        return super().over(a, b)

    def multiply(self, a: Any, b: Any, out: Any) -> None:
        out[...] = self._library().multiply(a, b)


_numpy = NumPy("a NumPy array", "cpu", np)


_kinds: dict[tuple[type, str], Kind] = {}  # by the class below and the device; of others by their type


def _known(kind: type, device: str, make: Callable[[], Kind]) -> Kind:
    if (kind, device) not in _kinds:
        _kinds[kind, device] = make()
    return _kinds[kind, device]


def _is(values: object, package: str, name: str) -> bool:
    """Whether it is of a type of a package, which is then loaded."""
    if any(c.__module__.partition(".")[0] == package for c in type(values).__mro__):
        return isinstance(values, getattr(sys.modules[package], name))
    return False


def _of_lender(values: Any, name: str) -> Kind:
    from . import _dlpack

    device = _dlpack.device_of(values)
    if not device.startswith("cuda:"):
        raise errors.ArgumentError(
            f"{name}: given {type(values).__name__} on {device}, wanted one on the host or on a CUDA device"
        )
    return _known(type(values), device, lambda: Lent(values, device))


def of(values: Any, name: str = "array") -> Kind:
    """The kind of an array."""
    if isinstance(values, np.ndarray):
        return _numpy
    if _is(values, "torch", "Tensor"):
        device = str(values.device)
        if values.device.type not in ("cpu", "cuda"):
            raise errors.ArgumentError(
                f"{name}: given a PyTorch tensor on {device}, wanted one on the host or on a CUDA device"
            )
        return _known(Torch, device, lambda: Torch("a PyTorch tensor", device, sys.modules["torch"]))
    if _is(values, "cupy", "ndarray"):
        device = f"cuda:{values.device.id}"
        return _known(CuPy, device, lambda: CuPy("a CuPy array", device, sys.modules["cupy"]))
    if hasattr(values, "__dlpack__"):
        return _of_lender(values, name)
    raise errors.ArgumentError(
        f"{name}: given {type(values).__name__}, wanted a NumPy array, a PyTorch tensor, a CuPy array or "
        "another array with __dlpack__, of float32"
    )


def like(values: Any | None) -> Kind:
    """The kind of an array, NumPy where there is none."""
    return _numpy if values is None else of(values, "like")


def is_array(values: object) -> bool:
    """Whether it is one of a library that `of` knows."""
    return isinstance(values, np.ndarray) or hasattr(values, "__dlpack__")


# ---- the arrays of one call ----


def _view(loan: Loan) -> np.ndarray:
    """Values on the host, lent as long as an array shows them."""
    n = math.prod(loan.shape)
    memory = (ctypes.c_float * n).from_address(loan.address) if n else (ctypes.c_float * 0)()
    weakref.finalize(memory, loan.give_back).atexit = False
    values = np.frombuffer(memoryview(memory), _arrays.REAL).reshape(loan.shape)
    values.flags.writeable = not (loan.read_only or loan.copied)
    return values


def _is_lent(values: object) -> bool:
    """Whether it is of another library, which lends it by DLPack."""
    return (
        hasattr(values, "__dlpack__")
        and not isinstance(values, np.ndarray)
        and not _is(values, "torch", "Tensor")
        and not _is(values, "cupy", "ndarray")
    )


def _borrowed(values: Any, name: str) -> Any:
    """One on the host as a NumPy array."""
    from . import _dlpack

    return _view(_dlpack.Loan(values, name)) if _dlpack.device_of(values) == "cpu" else values


class Arguments:
    """The arrays of one call, all of one kind, which is that of the first.

    waits: the call itself waits for the device, and knows whether sums over the values are finite. Of values there,
    which are not to be below 0, the smallest is then found beside its work, and `result` refuses them: so the device
    has no time without work.
    """

    kind: Kind

    def __init__(self, waits: bool = False) -> None:
        self._first: tuple[str, Any] | None = None  # name and array
        self._inputs: list[Any] = []
        self._waits = waits
        self._looks: list[tuple[Any, str, Any]] = []  # values, name, and the smallest

    def _seen(self, values: Any, shape: Shape, name: str) -> Any:
        """The array, of the right shape and kind; one of another library on the host as a NumPy array."""
        given = values
        if is_array(values) and hasattr(values, "shape"):
            refuse_shape(values, shape, name)
        if _is_lent(values):
            values = _borrowed(values, name)
        kind = of(values, name)
        if self._first is None:
            self._first, self.kind = (name, given), kind
        elif kind is not self.kind:
            raise errors.ArgumentError(
                f"{name}: given {kind.words}, wanted {self.kind.words}, as {self._first[0]} is"
            )
        refuse_shape(values, shape, name)
        return values

    def take(self, values: Any, shape: Shape, name: str, signed: bool = True) -> Any:
        """An input of that shape, as float32 in C order: finite; unless `signed` not below 0."""
        values = self._seen(values, shape, name)
        values = self.kind.converted(values, name)
        if self._waits and self.kind.device != "cpu" and self.kind.xp is not None and 0 not in shape:
            self._looks.append((values, name, self.kind.least(values)))
        else:
            self.kind.refuse_values(values, name, signed)
        self._inputs.append(values)
        return values

    def kind_of(self, values: Any, name: str) -> None:
        """The kind of those to come is that of the values."""
        self._first, self.kind = (name, values), of(values, name)

    def take_some(self, values: Any, shape: Shape, name: str, signed: bool = True) -> Any:
        """The same, or None."""
        return None if values is None else self.take(values, shape, name, signed)

    def place(self, out: Any, shape: Shape) -> Any:
        """Where a result goes: `out`, if it is given and fits, else a new array."""
        if out is None:
            return self.kind.empty(shape)
        out = self._seen(out, shape, "out")
        self.kind.refuse_form(out, "out")
        if not self.kind.writeable(out):
            raise errors.ArgumentError("out: given a read-only array, wanted one that can be written")
        if any(self.kind.overlap(out, x) for x in self._inputs):
            raise errors.ArgumentError("out: given memory of an input, wanted memory of its own")
        return out

    def result(self, values: Any, out: Any, finite: bool = True, grid: Grid | None = None) -> Any:
        """What the caller gets of a result: `out`, if it was given, else an array of the caller's library.

        finite: whether sums over the inputs, of a call that waits, are so.
        grid: of an image, which is then an Image where NumPy's arrays went in."""
        for given, name, least in self._looks:
            if not (finite and float(least) >= 0):
                self.kind.refuse_values(given, name, signed=False)
        if out is not None:
            return out
        assert self._first
        library = getattr(self._first[1], "__array_namespace__", None)
        if self.kind is _numpy and not isinstance(self._first[1], np.ndarray) and library:
            return library().from_dlpack(values)
        return on_grid(values, grid)


def on_grid(values: Any, grid: Grid | None) -> Any:
    """A NumPy array as an Image on the grid, if there is one; any other array as it is."""
    return Image(values, grid) if grid is not None and isinstance(values, np.ndarray) else values


def kept(values: Any, name: str) -> Any:
    """An array of any shape, checked; that of another library on the host as a NumPy array."""
    return Arguments().take(values, tuple(getattr(values, "shape", ())), name)
