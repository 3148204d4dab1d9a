# SPDX-License-Identifier: BSD-3-Clause
"""Operators: y = A x and its adjoint, the step of EM, subsets, and operators made of others.

    y = A(x)              x, y: float32 NumPy arrays of A.in_shape and A.out_shape
    x = A.adjoint(y)      or A.H(y)
    s = A.em_step(x, y)   x * A*(y / (A x)), in one pass over the data
    B = A.subset(k)       some of the rows; B.rows says which
    C = 2 * A @ P + B     chains, sums, multiples; A @ x is A(x)
"""

from __future__ import annotations

import math
from ctypes import byref, c_double, c_void_p
from typing import Callable, NamedTuple

import numpy as np

from . import _arrays, errors
from ._abi import ALL, EmData, EmStat, lib
from ._call import Handle, call, check, integer, refuse_fork
from .context import Context

Shape = tuple[int, ...]


class EmStatistics(NamedTuple):
    """Of one step of EM."""

    log_likelihood: float  # sum of y log(m (A x + add)) over the rows used
    counts: float  # sum of y over the rows used whose ray meets activity
    lost: float  # sum of y over the rows skipped
    used: int  # rows
    skipped: int  # rows with m = 0, or A x + add = 0


def _length(x: np.ndarray) -> float:
    return math.sqrt(float(np.sum(np.square(x, dtype=np.float64))))


def _inner(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.sum(np.multiply(x, y, dtype=np.float64)))


class Operator:
    """A linear map. What is made of others has `_forward` and `_adjoint`; the rest follows from them."""

    in_shape: Shape
    out_shape: Shape
    n_subsets: int = 1

    # ---- what kinds of operators differ in; arguments were checked ----

    def _forward(self, x: np.ndarray, out: np.ndarray) -> None:
        raise NotImplementedError

    def _adjoint(self, y: np.ndarray, out: np.ndarray) -> None:
        raise NotImplementedError

    def subset(self, k: int) -> Operator:
        """The rows of subset k, 0 to n_subsets - 1."""
        self._check_subset(k)
        return self

    @property
    def rows(self) -> np.ndarray:
        """Which row of the data each row is: `y[A.subset(k).rows]` are those of a subset."""
        return np.arange(math.prod(self.out_shape))

    def _check_subset(self, k: int) -> None:
        integer(k, "subset", 0, self.n_subsets - 1)

    # ---- mathematics ----

    def __call__(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """y = A x, into `out` if it is given."""
        x = _arrays.given(x, self.in_shape, "x")
        y = _arrays.result(out, self.out_shape, x)
        self._forward(x, y)
        return y

    def adjoint(self, y: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """x = A* y, into `out` if it is given."""
        y = _arrays.given(y, self.out_shape, "y")
        x = _arrays.result(out, self.in_shape, y)
        self._adjoint(y, x)
        return x

    @property
    def H(self) -> Operator:
        """The adjoint, as an operator."""
        return Adjoint(self)

    def em_step(
        self,
        x: np.ndarray,
        y: np.ndarray | None = None,
        add: np.ndarray | None = None,
        mult: np.ndarray | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """x * A*(y / (A x + add)), of which MLEM is `x = A.em_step(x, y) / sensitivity`.

        y: counts; None: all ones (list mode). add: additive term over the factor, r/m; None: 0.
        mult: factors m; rows of 0 are left out; None: 1.
        """
        return self.em_step_with_statistics(x, y, add, mult, out)[0]

    def em_step_with_statistics(
        self,
        x: np.ndarray,
        y: np.ndarray | None = None,
        add: np.ndarray | None = None,
        mult: np.ndarray | None = None,
        out: np.ndarray | None = None,
    ) -> tuple[np.ndarray, EmStatistics]:
        """em_step, and its EmStatistics."""
        x = _arrays.given(x, self.in_shape, "x")
        data = [
            None if v is None else _arrays.given(v, self.out_shape, name)
            for name, v in (("y", y), ("add", add), ("mult", mult))
        ]
        acc = _arrays.result(out, self.in_shape, x, *data)
        return acc, self._em_step(acc, x, *data)

    def _em_step(
        self,
        acc: np.ndarray,
        x: np.ndarray,
        y: np.ndarray | None,
        add: np.ndarray | None,
        mult: np.ndarray | None,
    ) -> EmStatistics:
        expected = np.empty(self.out_shape, _arrays.REAL)
        self._forward(x, expected)
        meets = expected > 0
        if add is not None:
            expected += add
        used = expected > 0
        if mult is not None:
            used &= mult > 0
        counts = np.ones(self.out_shape, _arrays.REAL) if y is None else y
        ratio = np.divide(counts, expected, out=np.zeros_like(expected), where=used)
        self._adjoint(ratio, acc)
        acc *= x
        likely = expected[used].astype(np.float64) * (1 if mult is None else mult[used])
        return EmStatistics(
            float(np.sum(counts[used] * np.log(likely))),
            float(np.sum(counts[used & meets], dtype=np.float64)),
            float(np.sum(counts[~used], dtype=np.float64)),
            int(used.sum()),
            int(used.size - used.sum()),
        )

    def norm(self, iterations: int = 100, tolerance: float = 1e-4, seed: int = 1) -> float:
        """The largest singular value, by power iteration from a random start.

        Ends when it grows by less than the share `tolerance`. It comes from below.
        """
        seed = integer(seed, "seed", 0, 2**64 - 1)
        x = np.random.default_rng(seed).random(self.in_shape, dtype=_arrays.REAL)
        norm = 0.0
        for _ in range(integer(iterations, "iterations", 1, 2**31 - 1)):
            size = _length(x)
            if size == 0:
                return 0.0
            x /= np.float32(size)
            y = self(x)
            before, norm = norm, _length(y)
            if norm - before <= tolerance * norm:
                break
            x = self.adjoint(y)
        return norm

    def adjointness_test(self, seed: int = 1) -> float:
        """|<Ax, y> - <x, A*y>| / (|Ax| |y|) for Gaussian x and y: about 1e-7 where A* is the adjoint."""
        random = np.random.default_rng(integer(seed, "seed", 0, 2**64 - 1))
        x = random.standard_normal(self.in_shape, dtype=_arrays.REAL)
        y = random.standard_normal(self.out_shape, dtype=_arrays.REAL)
        ax = self(x)
        size = _length(ax) * _length(y)
        return abs(_inner(ax, y) - _inner(x, self.adjoint(y))) / size if size else 0.0

    # ---- algebra ----

    def __matmul__(self, other):
        if isinstance(other, Operator):
            return Chain(self, other)
        if isinstance(other, np.ndarray):
            return self(other)
        return NotImplemented

    def __mul__(self, other):
        if isinstance(other, Operator):
            return Chain(self, other)
        if isinstance(other, (int, float, np.floating, np.integer)):
            return Multiple(float(other), self)
        return NotImplemented

    def __rmul__(self, other):
        if isinstance(other, (int, float, np.floating, np.integer)):
            return Multiple(float(other), self)
        return NotImplemented

    def __neg__(self) -> Operator:
        return Multiple(-1.0, self)

    def __add__(self, other):
        return Sum(self, other) if isinstance(other, Operator) else NotImplemented

    def __sub__(self, other):
        return Sum(self, -other) if isinstance(other, Operator) else NotImplemented

    # NumPy's scalars and arrays leave `*` and `@` to the methods above.
    __array_ufunc__ = None

    def __repr__(self) -> str:
        return f"<isotome.{type(self).__name__} {self.in_shape} -> {self.out_shape}>"


# ---- operators made of others ----


class Adjoint(Operator):
    """A* as an operator."""

    def __init__(self, of: Operator):
        self._of = of
        self.in_shape, self.out_shape = of.out_shape, of.in_shape

    def _forward(self, x, out):
        self._of._adjoint(x, out)

    def _adjoint(self, y, out):
        self._of._forward(y, out)

    @property
    def H(self) -> Operator:
        return self._of


class Chain(Operator):
    """outer(inner(x)); its subsets are the outer operator's."""

    def __init__(self, outer: Operator, inner: Operator):
        if outer.in_shape != inner.out_shape:
            raise errors.ArgumentError(
                f"chain: the inner operator gives shape {inner.out_shape}, the outer takes {outer.in_shape}"
            )
        self._outer, self._inner = outer, inner
        self.in_shape, self.out_shape = inner.in_shape, outer.out_shape
        self.n_subsets = outer.n_subsets

    def _between(self) -> np.ndarray:
        return np.empty(self._inner.out_shape, _arrays.REAL)

    def _forward(self, x, out):
        between = self._between()
        self._inner._forward(x, between)
        self._outer._forward(between, out)

    def _adjoint(self, y, out):
        between = self._between()
        self._outer._adjoint(y, between)
        self._inner._adjoint(between, out)

    def subset(self, k: int) -> Operator:
        self._check_subset(k)
        return Chain(self._outer.subset(k), self._inner)

    @property
    def rows(self) -> np.ndarray:
        return self._outer.rows


class Multiple(Operator):
    """factor * A."""

    def __init__(self, factor: float, of: Operator):
        if not abs(factor) <= float(np.finfo(_arrays.REAL).max):
            raise errors.ArgumentError(f"factor of an operator: given {factor}, wanted a finite float32")
        self._factor, self._of = np.float32(factor), of
        self.in_shape, self.out_shape, self.n_subsets = of.in_shape, of.out_shape, of.n_subsets

    def _forward(self, x, out):
        self._of._forward(x, out)
        out *= self._factor

    def _adjoint(self, y, out):
        self._of._adjoint(y, out)
        out *= self._factor

    def subset(self, k: int) -> Operator:
        return Multiple(float(self._factor), self._of.subset(k))

    @property
    def rows(self) -> np.ndarray:
        return self._of.rows


class Sum(Operator):
    """A + B, without subsets."""

    def __init__(self, a: Operator, b: Operator):
        if (a.in_shape, a.out_shape) != (b.in_shape, b.out_shape):
            raise errors.ArgumentError(
                f"sum of operators: {a.in_shape} -> {a.out_shape} and {b.in_shape} -> {b.out_shape}, "
                "wanted the same shapes"
            )
        self._a, self._b = a, b
        self.in_shape, self.out_shape = a.in_shape, a.out_shape

    def _forward(self, x, out):
        second = np.empty_like(out)
        self._a._forward(x, out)
        self._b._forward(x, second)
        out += second

    def _adjoint(self, y, out):
        second = np.empty_like(out)
        self._a._adjoint(y, out)
        self._b._adjoint(y, second)
        out += second


class Diagonal(Operator):
    """y = d * x, element by element; keeps d."""

    def __init__(self, d: np.ndarray):
        self._d = _arrays.given(d, np.shape(d), "d")
        self.in_shape = self.out_shape = self._d.shape

    def _forward(self, x, out):
        np.multiply(x, self._d, out=out)

    def _adjoint(self, y, out):
        np.multiply(y, self._d, out=out)


class Function(Operator):
    """An operator of two functions of one's own, each of which returns a float32 array."""

    def __init__(
        self,
        in_shape: Shape,
        out_shape: Shape,
        forward: Callable[[np.ndarray], np.ndarray],
        adjoint: Callable[[np.ndarray], np.ndarray],
    ):
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        self._functions = forward, adjoint

    def _forward(self, x, out):
        out[...] = _arrays.given(self._functions[0](x), self.out_shape, "what forward returned")

    def _adjoint(self, y, out):
        out[...] = _arrays.given(self._functions[1](y), self.in_shape, "what adjoint returned")


# ---- the library's own ----


class _Vectors:
    """Vectors on the context's device: on the CPU the arrays themselves, on CUDA copies."""

    def __init__(self, context: Context):
        self._context = context
        self._vec = lib.iso_ctx_vec(context._pointer).contents if context.is_cuda else None
        self._taken: list[c_void_p] = []

    def room(self, values: np.ndarray) -> c_void_p:
        """For the values, which are not copied."""
        if self._vec is None:
            return _arrays.address(values)
        p = c_void_p()
        check(self._vec.alloc(self._context._pointer, byref(p), values.nbytes))
        self._taken.append(p)
        return p

    def put(self, values: np.ndarray | None) -> c_void_p | None:
        if values is None:
            return None
        p = self.room(values)
        if self._vec is not None:
            check(self._vec.upload(self._context._pointer, p, _arrays.address(values), values.nbytes))
        return p

    def get(self, values: np.ndarray, p: c_void_p) -> None:
        if self._vec is not None:
            check(self._vec.download(self._context._pointer, _arrays.address(values), p, values.nbytes))

    def __enter__(self) -> _Vectors:
        return self

    def __exit__(self, *_error) -> None:
        if self._vec is not None:
            for p in self._taken:
                self._vec.free(self._context._pointer, p)


class _Shared:
    """An operator of the library, which the whole and its subsets share."""

    def __init__(self, handle: Handle, context: Context):
        self.handle: Handle | None = handle
        self.context = context
        self.n_out = lib.iso_op_n_out(handle.pointer)
        self.n_subsets = lib.iso_op_n_sub(handle.pointer)
        self._order: np.ndarray | None = None
        self._plain: bool | None = None

    def held(self) -> Handle:
        """Its handle, which lives at least as long as the caller holds it, whoever frees the operator."""
        refuse_fork()
        handle = self.handle
        if handle is None:
            raise errors.ArgumentError("given an operator that was freed, wanted one that was not")
        return handle

    def _sorted(self, values: np.ndarray) -> np.ndarray:
        op, y = self.held(), np.empty(self.n_out, _arrays.REAL)
        lib.iso_op_sort(op.pointer, _arrays.address(y), _arrays.address(values))
        return y

    def order(self) -> np.ndarray:
        """The row of the file that each row of the operator is.

        Digits of row numbers to the base 4096, which float32 holds exactly, are sorted as data.
        """
        if self._order is None:
            rows, order, digit = np.arange(self.n_out), np.zeros(self.n_out, np.int64), 1
            while digit == 1 or digit < self.n_out:
                order += digit * self._sorted((rows // digit % 4096).astype(_arrays.REAL)).astype(np.int64)
                digit *= 4096
            order.flags.writeable = False
            self._order, self._plain = order, bool(np.array_equal(order, rows))
        return self._order

    def plain(self) -> bool:
        """Whether that is the order of the file."""
        if self._plain is None:
            self.order()
        assert self._plain is not None
        return self._plain


class ModelOperator(Operator):
    """An operator of the C library, as Problem.operator makes it.

    Its data are in the order of the file, those of a subset or of `ordered` in the library's own, which
    saves time: `rows` says which row of the file each is, so that `y[B.rows]` are the data of B.
    """

    def __init__(self, shared: _Shared, in_shape: Shape, subset: int = ALL, in_file_order: bool = True):
        self._shared = shared
        self._subset = subset
        self._in_file_order = in_file_order
        span = lib.iso_op_rows(shared.held().pointer, subset)
        self._span = slice(span.first, span.first + span.n)
        self.in_shape, self.out_shape = in_shape, (span.n,)
        self.n_subsets = shared.n_subsets if subset == ALL else 1

    @property
    def context(self) -> Context:
        return self._shared.context

    @property
    def rows(self) -> np.ndarray:
        """The row of the file of each row here."""
        if self._in_file_order:
            return np.arange(self._shared.n_out)
        return self._shared.order()[self._span]

    def subset(self, k: int) -> ModelOperator:
        self._check_subset(k)
        return ModelOperator(self._shared, self.in_shape, k if self.n_subsets > 1 else self._subset, False)

    def ordered(self) -> ModelOperator:
        """The same with its data in the library's own order."""
        return ModelOperator(self._shared, self.in_shape, self._subset, False)

    def clone(self) -> ModelOperator:
        """A second one on the same tables, for another thread."""
        op = self._shared.held()
        handle = Handle(lib.iso_op_free, op)
        check(lib.iso_op_clone(byref(handle.pointer), op.pointer))
        shared = _Shared(handle, self.context)
        shared._order, shared._plain = self._shared._order, self._shared._plain
        return ModelOperator(shared, self.in_shape, self._subset, self._in_file_order)

    def free(self) -> None:
        """Gives its memory back now; its subsets are gone too."""
        self._shared.handle = None

    # ---- data between the caller's order and the whole vector of the operator ----

    def _whole(self) -> bool:
        return self._subset == ALL

    def _is_vector(self) -> bool:
        """Whether the caller's data are that vector itself."""
        return self._whole() and (not self._in_file_order or self._shared.plain())

    def _to_vector(self, y: np.ndarray | None) -> np.ndarray | None:
        if y is None or self._is_vector():
            return y
        if self._whole():
            return self._shared._sorted(y)
        vector = np.empty(self._shared.n_out, _arrays.REAL)  # only the rows of the subset are read
        vector[self._span] = y
        return vector

    def _from_vector(self, out: np.ndarray, vector: np.ndarray) -> None:
        if self._whole():
            lib.iso_op_unsort(self._shared.held().pointer, _arrays.address(out), _arrays.address(vector))
        else:
            out[...] = vector[self._span]

    def _forward(self, x, out):
        op, direct = self._shared.held(), self._is_vector()
        vector = out if direct else np.empty(self._shared.n_out, _arrays.REAL)
        with _Vectors(self.context) as v:
            to, of = v.room(vector), v.put(x)
            call(self.context, lib.iso_forward, op.pointer, self._subset, to, of)
            v.get(vector, to)
        if not direct:
            self._from_vector(out, vector)

    def _adjoint(self, y, out):
        op, vector = self._shared.held(), self._to_vector(y)
        with _Vectors(self.context) as v:
            to, of = v.room(out), v.put(vector)
            call(self.context, lib.iso_adjoint, op.pointer, self._subset, to, of)
            v.get(out, to)

    def _em_step(self, acc, x, y, add, mult):
        op, stat = self._shared.held(), EmStat()
        vectors = [self._to_vector(d) for d in (y, add, mult)]
        with _Vectors(self.context) as v:
            to, of = v.room(acc), v.put(x)
            data = EmData(*(v.put(d) for d in vectors))
            call(self.context, lib.iso_em_step, op.pointer, self._subset, to, of, byref(data), byref(stat))
            v.get(acc, to)
        return EmStatistics(stat.loglik, stat.counts, stat.lost, stat.used, stat.skipped)

    def adjointness_test(self, seed: int = 1) -> float:
        op, error = self._shared.held(), c_double()
        seed = integer(seed, "seed", 0, 2**64 - 1)
        call(self.context, lib.iso_test_adjoint, byref(error), op.pointer, self._subset, seed)
        return error.value
