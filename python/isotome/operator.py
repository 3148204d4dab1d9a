# SPDX-License-Identifier: BSD-3-Clause
"""Operators: y = A x and its adjoint, the step of EM, subsets, and operators made of others.

    y = A(x)              x, y: arrays of A.in_shape and A.out_shape
    x = A.adjoint(y)      or A.H(y)
    z = A.em_step(x, y)   x * A*(y / (A x)), in one pass over the data; MLEM: with sens=s
    B = A.subset(k)       some of the rows; B.rows says which
    C = 2 * A @ P + B     chains, sums, multiples; A @ x is A(x)

Arrays are of NumPy, PyTorch, CuPy, or another library with DLPack. Results are of the kind that went in, on the same
device. They are float32 whatever went in: the library computes in float32.

NumPy arrays may be of any real type: float64, integers, bool, in any order of the axes. What is not float32 in C order
is copied once, on the way in. `out` is never converted. Arrays of other libraries must be float32 in C order.

What is an image on a known grid comes out as an isotome.Image where NumPy arrays went in: A.H @ y has A.in_grid.
"""

from __future__ import annotations

import contextlib
import math
from ctypes import byref, c_double, c_void_p
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Protocol

import numpy as np

from . import _arrays, _kinds, errors
from ._abi import ALL, EmData, EmStat, lib
from ._call import Handle, call, check, refuse_fork
from ._checks import integer
from ._kinds import Arguments, Kind
from .context import Context

if TYPE_CHECKING:
    from .grid import Grid

Shape = tuple[int, ...]
Array = Any  # of a kind that _kinds knows
_TOGETHER = 8  # images in one call of the library, as model ray traces them: what sorting takes does not grow with a batch


class Sensitive(Protocol):
    """What an operator needs of the problem that made it."""

    def sensitivity(self) -> np.ndarray: ...


class EmStatistics(NamedTuple):
    """Of one step of EM."""

    log_likelihood: float  # sum of y log(m A x + r) over the rows used
    counts: float  # sum of y over the rows used whose ray meets activity
    lost: float  # sum of y over the rows skipped
    used: int  # rows
    skipped: int  # rows with m = 0, or m A x + r = 0


class Operator:
    """A linear map. What is made of others has `_forward` and `_adjoint`; the rest follows from them."""

    in_shape: Shape
    out_shape: Shape
    in_grid: Grid | None = None  # where the images that it takes lie; None: not known, or they are data
    out_grid: Grid | None = None  # the same of what it gives
    n_subsets: int = 1

    # ---- what kinds of operators differ in; arguments were checked, and are of one kind ----

    def _forward(self, x: Array, out: Array) -> None:
        raise NotImplementedError

    def _adjoint(self, y: Array, out: Array) -> None:
        raise NotImplementedError

    def subset(self, k: int) -> Operator:
        """The rows of subset k, 0 to n_subsets - 1."""
        self._check_subset(k)
        return self

    @property
    def rows(self) -> np.ndarray:
        """Which row of the data each row is: `y.reshape(-1)[A.subset(k).rows]` are those of a subset."""
        return np.arange(math.prod(self.out_shape))

    def _check_subset(self, k: int) -> int:
        return integer(k, "subset", 0, self.n_subsets - 1)

    # ---- mathematics ----

    def __call__(self, x: Array, out: Array | None = None) -> Array:
        """y = A x in float32, into `out` if it is given, which must be float32."""
        a = Arguments()
        x = a.take(x, self.in_shape, "x")
        y = a.place(out, self.out_shape)
        with a.kind.current():
            self._forward(x, y)
        return a.result(y, out, grid=self.out_grid)

    def adjoint(self, y: Array, out: Array | None = None) -> Array:
        """x = A* y, into `out` if it is given."""
        a = Arguments()
        y = a.take(y, self.out_shape, "y")
        x = a.place(out, self.in_shape)
        with a.kind.current():
            self._adjoint(y, x)
        return a.result(x, out, grid=self.in_grid)

    def forward_many(self, x: Array, out: Array | None = None) -> Array:
        """y[k] = A x[k] of several images, with the bits of as many calls.

        On the CPU model ray traces each line once for up to 8 images; other operators, and CUDA, take the images one
        after the other.
        """
        return self._many(x, out, "x", self.in_shape, self.out_shape, self._forward_many)

    def adjoint_many(self, y: Array, out: Array | None = None) -> Array:
        """x[k] = A* y[k] of several data, as forward_many has them."""
        return self._many(y, out, "y", self.out_shape, self.in_shape, self._adjoint_many)

    def _many(
        self,
        values: Array,
        out: Array | None,
        name: str,
        of: Shape,
        to: Shape,
        apply: Callable[[Array, Array], None],
    ) -> Array:
        a = Arguments()
        n = len(values)
        values = a.take(values, (n, *of), name)
        made = a.place(out, (n, *to))
        if n:
            with a.kind.current():
                apply(values, made)
        return a.result(made, out)

    def _forward_many(self, x: Array, out: Array) -> None:
        for k in range(len(x)):
            self._forward(x[k], out[k])

    def _adjoint_many(self, y: Array, out: Array) -> None:
        for k in range(len(y)):
            self._adjoint(y[k], out[k])

    @property
    def H(self) -> Operator:
        """The adjoint, as an operator."""
        return Adjoint(self)

    @property
    def T(self) -> Operator:
        """The same as `H`: values are real, so the transpose is the adjoint."""
        return self.H

    def em_step(
        self,
        x: Array,
        y: Array | None = None,
        add: Array | None = None,
        mult: Array | None = None,
        out: Array | None = None,
        *,
        sens: Array | None = None,
    ) -> Array:
        """x * A*(m y / (m A x + r)), with `sens` over it.

        An iteration of MLEM is `x = A.em_step(x, *problem.data(), sens=s)`.
        y: counts; None: all ones (list mode). add: their mean additive term r; None: 0.
        mult: factors m; rows of 0 are left out; None: 1.
        sens: the sensitivity image, of which a subset takes its share; the result is 0 where it is 0.
            None: not divided.
        None of them is below 0.
        """
        return self.em_step_with_statistics(x, y, add, mult, out, sens=sens)[0]

    def em_step_with_statistics(
        self,
        x: Array,
        y: Array | None = None,
        add: Array | None = None,
        mult: Array | None = None,
        out: Array | None = None,
        *,
        sens: Array | None = None,
    ) -> tuple[Array, EmStatistics]:
        """em_step, and its EmStatistics."""
        a = Arguments(waits=True)
        x = a.take(x, self.in_shape, "x", signed=False)
        sens = a.take_some(sens, self.in_shape, "sens", signed=False)
        data = ("y", y), ("add", add), ("mult", mult)
        y, add, mult = (a.take_some(v, self.out_shape, name, signed=False) for name, v in data)
        acc = a.place(out, self.in_shape)
        with a.kind.current():
            if add is not None and mult is not None:
                add = a.kind.over(add, mult)
            statistics = self._em_step(acc, x, y, add, mult, sens)
        finite = math.isfinite(statistics.log_likelihood)
        return a.result(acc, out, finite, self.in_grid), statistics

    def _em_step(
        self, acc: Array, x: Array, y: Array | None, add: Array | None, mult: Array | None, sens: Array | None
    ) -> EmStatistics:
        """x * A*(y / (A x + add)) / sens: here, and in the library, add is r/m."""
        kind = _kinds.of(x)
        xp, expected = kind.xp, kind.empty(self.out_shape)
        self._forward(x, expected)
        zeros, ones = xp.zeros_like(expected), xp.ones_like(expected)
        counts = ones if y is None else y
        meets = expected > 0
        if add is not None:
            expected += add
        used = expected > 0
        if mult is not None:
            used &= mult > 0
        self._adjoint(xp.where(used, counts / xp.where(used, expected, ones), zeros), acc)
        acc *= x
        if sens is not None:
            acc[...] = kind.over(acc, sens)
        likely = xp.where(used, expected if mult is None else expected * mult, ones)
        n = math.prod(self.out_shape)
        n_used = int(kind.total(xp.where(used, ones, zeros)))
        return EmStatistics(
            kind.total(xp.where(used, counts, zeros) * xp.log(kind.double(likely))),
            kind.total(xp.where(used & meets, counts, zeros)),
            kind.total(xp.where(used, zeros, counts)),
            n_used,
            n - n_used,
        )

    def em_step_many(
        self,
        x: Array,
        y: Array,
        add: Array | None = None,
        mult: Array | None = None,
        out: Array | None = None,
        *,
        sens: Array | None = None,
    ) -> Array:
        """em_step of several images, each with counts of its own: x[k] and y[k] belong together.

        Model ray traces each line once for all of them (on CUDA: for four of them); other operators take a step an
        image. They have the bits of em_step, except model ray on CUDA, whose last digits differ. All images share
        add, mult and sens.
        """
        a = Arguments(waits=True)
        n = len(x)
        if n == 0:
            raise errors.ArgumentError("x: given no image, wanted at least 1")
        x = a.take(x, (n, *self.in_shape), "x", signed=False)
        y = a.take(y, (n, *self.out_shape), "y", signed=False)
        sens = a.take_some(sens, self.in_shape, "sens", signed=False)
        add = a.take_some(add, self.out_shape, "add", signed=False)
        mult = a.take_some(mult, self.out_shape, "mult", signed=False)
        acc = a.place(out, (n, *self.in_shape))
        with a.kind.current():
            if add is not None and mult is not None:
                add = a.kind.over(add, mult)
            self._em_step_many(acc, x, y, add, mult, sens)
        return a.result(acc, out)

    def _em_step_many(
        self, acc: Array, x: Array, y: Array, add: Array | None, mult: Array | None, sens: Array | None
    ) -> None:
        for k in range(len(x)):
            self._em_step(acc[k], x[k], y[k], add, mult, sens)

    def sensitivity(self, like: Array | None = None) -> Array:
        """The image A* 1, by which MLEM divides; of a model's operator see ModelOperator.sensitivity.

        like: an array of the kind that is wanted; None: NumPy.
        """
        kind = _kinds.like(like)
        with kind.current():
            return _kinds.on_grid(self._sensitivity(kind), self.in_grid)

    def _sensitivity(self, kind: Kind) -> Array:
        s = kind.empty(self.in_shape)
        self._adjoint(kind.of_host(np.ones(self.out_shape, _arrays.REAL)), s)
        return s

    def _has_model(self) -> bool:
        """Whether a model is in it, whose sensitivity is not that of its rows alike."""
        return False

    def norm(
        self, iterations: int = 100, tolerance: float = 1e-4, seed: int = 1, like: Array | None = None
    ) -> float:
        """The largest singular value, by power iteration from a random start.

        Ends when it grows by less than the share `tolerance`. It comes from below.
        like: an array of the kind to compute with; None: NumPy.
        """
        kind = _kinds.like(like)
        with kind.current():
            return self._norm(kind, iterations, tolerance, integer(seed, "seed", 0, 2**64 - 1))

    def _norm(self, kind: Kind, iterations: int, tolerance: float, seed: int) -> float:
        x = kind.of_host(np.random.default_rng(seed).random(self.in_shape, dtype=_arrays.REAL))
        y = kind.empty(self.out_shape)
        norm = 0.0
        for _ in range(integer(iterations, "iterations", 1, 2**31 - 1)):
            size = kind.length(x)
            if size == 0:
                return 0.0
            x /= size
            self._forward(x, y)
            before, norm = norm, kind.length(y)
            if norm - before <= tolerance * norm:
                break
            self._adjoint(y, x)
        return norm

    def adjointness_test(self, seed: int = 1, like: Array | None = None) -> float:
        """|<Ax, y> - <x, A*y>| / (|Ax| |y|) for Gaussian x and y: about 1e-7 where A* is the adjoint.

        like: an array of the kind to compute with; None: NumPy.
        """
        kind = _kinds.like(like)
        with kind.current():
            return self._adjointness(kind, np.random.default_rng(integer(seed, "seed", 0, 2**64 - 1)))

    def _adjointness(self, kind: Kind, random: np.random.Generator) -> float:
        x = kind.of_host(random.standard_normal(self.in_shape, dtype=_arrays.REAL))
        y = kind.of_host(random.standard_normal(self.out_shape, dtype=_arrays.REAL))
        ax, back = kind.empty(self.out_shape), kind.empty(self.in_shape)
        self._forward(x, ax)
        self._adjoint(y, back)
        size = kind.length(ax) * kind.length(y)
        return abs(kind.inner(ax, y) - kind.inner(x, back)) / size if size else 0.0

    def as_linear_operator(self):
        """A as scipy.sparse.linalg.LinearOperator, of which images and data are flat.

        Its vectors are NumPy's, of any real type: SciPy's algorithms use float64, which is rounded to
        float32 on the way in.
        """
        from scipy.sparse.linalg import LinearOperator  # type: ignore[import-untyped]

        def flat(apply: Callable[[Array], Array], shape: Shape) -> Callable[[np.ndarray], np.ndarray]:
            return lambda v: apply(_arrays.real(v, "vector").reshape(shape)).reshape(-1)

        def columns(one: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
            return lambda vs: np.stack([one(v) for v in vs.T], axis=-1)

        forward, adjoint = flat(self, self.in_shape), flat(self.adjoint, self.out_shape)
        return LinearOperator(
            (math.prod(self.out_shape), math.prod(self.in_shape)),
            matvec=forward,
            rmatvec=adjoint,
            matmat=columns(forward),
            rmatmat=columns(adjoint),
            dtype=_arrays.REAL,
        )

    # ---- algebra ----

    def __matmul__(self, other):
        if isinstance(other, Operator):
            return Chain(self, other)
        if _kinds.is_array(other):
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

    def __truediv__(self, other):
        if not isinstance(other, (int, float, np.floating, np.integer)):
            return NotImplemented
        if other == 0:
            raise errors.ArgumentError("operator over a number: given 0, wanted another")
        return Multiple(1 / float(other), self)

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
        self.in_grid, self.out_grid = of.out_grid, of.in_grid

    def _forward(self, x, out):
        self._of._adjoint(x, out)

    def _adjoint(self, y, out):
        self._of._forward(y, out)

    def _forward_many(self, x, out):
        self._of._adjoint_many(x, out)

    def _adjoint_many(self, y, out):
        self._of._forward_many(y, out)

    def _has_model(self):
        return self._of._has_model()

    @property
    def H(self) -> Operator:
        return self._of


class Chain(Operator):
    """outer(inner(x)); its subsets are the outer operator's, of Diagonal(d) @ A those of A."""

    def __init__(self, outer: Operator, inner: Operator):
        if outer.in_shape != inner.out_shape:
            raise errors.ArgumentError(
                f"chain: the inner operator gives shape {inner.out_shape}, the outer takes {outer.in_shape}"
            )
        self._outer, self._inner = outer, inner
        self.in_shape, self.out_shape = inner.in_shape, outer.out_shape
        self.in_grid = inner.in_grid or (outer.in_grid if isinstance(inner, Diagonal) else None)
        self.out_grid = outer.out_grid or (inner.out_grid if isinstance(outer, Diagonal) else None)
        self._of_rows = inner if isinstance(outer, Diagonal) else outer  # whose rows and subsets it has
        self.n_subsets = self._of_rows.n_subsets
        self._subsets: dict[int, Operator] = {}  # of Diagonal(d) @ A, made when first asked for

    def _forward(self, x, out):
        between = _kinds.of(x).empty(self._inner.out_shape)
        self._inner._forward(x, between)
        self._outer._forward(between, out)

    def _adjoint(self, y, out):
        between = _kinds.of(y).empty(self._inner.out_shape)
        self._outer._adjoint(y, between)
        self._inner._adjoint(between, out)

    def _forward_many(self, x, out):
        between = _kinds.of(x).empty((len(x), *self._inner.out_shape))
        self._inner._forward_many(x, between)
        self._outer._forward_many(between, out)

    def _adjoint_many(self, y, out):
        between = _kinds.of(y).empty((len(y), *self._inner.out_shape))
        self._outer._adjoint_many(y, between)
        self._inner._adjoint_many(between, out)

    def _sensitivity(self, kind):
        if self._inner._has_model():
            raise errors.ArgumentError(
                "sensitivity of a chain: a model's is known where nothing comes behind the model; "
                "of all rows alike it is A.adjoint(ones)"
            )
        s = kind.empty(self.in_shape)
        self._inner._adjoint(self._outer._sensitivity(kind), s)
        return s

    def _has_model(self):
        return self._outer._has_model() or self._inner._has_model()

    def subset(self, k: int) -> Operator:
        k = self._check_subset(k)
        if not isinstance(self._outer, Diagonal):
            return Chain(self._outer.subset(k), self._inner)
        if k not in self._subsets:
            part, rows = self._inner.subset(k), self._inner.rows
            place = np.zeros(rows.max(initial=-1) + 1, np.int64)  # of each row of the data, here
            place[rows] = np.arange(rows.size)
            self._subsets[k] = Chain(self._outer._some(place[part.rows], part.out_shape), part)
        return self._subsets[k]

    @property
    def rows(self) -> np.ndarray:
        return self._of_rows.rows


class Multiple(Operator):
    """factor * A."""

    def __init__(self, factor: float, of: Operator):
        if not abs(factor) <= float(np.finfo(_arrays.REAL).max):
            raise errors.ArgumentError(f"factor of an operator: given {factor}, wanted a finite float32")
        self._factor, self._of = factor, of
        self.in_shape, self.out_shape, self.n_subsets = of.in_shape, of.out_shape, of.n_subsets
        self.in_grid, self.out_grid = of.in_grid, of.out_grid

    def _forward(self, x, out):
        self._of._forward(x, out)
        out *= self._factor

    def _adjoint(self, y, out):
        self._of._adjoint(y, out)
        out *= self._factor

    def _forward_many(self, x, out):
        self._of._forward_many(x, out)
        out *= self._factor

    def _adjoint_many(self, y, out):
        self._of._adjoint_many(y, out)
        out *= self._factor

    def _sensitivity(self, kind):
        s = self._of._sensitivity(kind)
        s *= self._factor
        return s

    def _has_model(self):
        return self._of._has_model()

    def subset(self, k: int) -> Operator:
        return Multiple(self._factor, self._of.subset(k))

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
        self.in_grid = a.in_grid if a.in_grid == b.in_grid else None
        self.out_grid = a.out_grid if a.out_grid == b.out_grid else None

    def _forward(self, x, out):
        second = _kinds.of(x).empty(self.out_shape)
        self._a._forward(x, out)
        self._b._forward(x, second)
        out += second

    def _adjoint(self, y, out):
        second = _kinds.of(y).empty(self.in_shape)
        self._a._adjoint(y, out)
        self._b._adjoint(y, second)
        out += second

    def _sensitivity(self, kind):
        s = self._a._sensitivity(kind)
        s += self._b._sensitivity(kind)
        return s

    def _has_model(self):
        return self._a._has_model() or self._b._has_model()


class Diagonal(Operator):
    """y = d * x, element by element; keeps d, and a copy of it for each further kind of x."""

    def __init__(self, d: Array):
        kept = _kinds.kept(d, "d")
        self._kinds = {_kinds.of(kept): kept}
        self._first = kept
        self.in_shape = self.out_shape = tuple(kept.shape)

    def _of_kind(self, kind: Kind) -> Array:
        if kind not in self._kinds:
            self._kinds[kind] = kind.of_host(_kinds.of(self._first).to_host(self._first))
        return self._kinds[kind]

    def _some(self, places: np.ndarray, shape: Shape) -> Diagonal:
        """Of some of its elements, by their places in C order."""
        d = _kinds.of(self._first).to_host(self._first)
        return Diagonal(d.reshape(-1)[places].reshape(shape))

    def _forward(self, x, out):
        kind = _kinds.of(x)
        kind.multiply(x, self._of_kind(kind), out)

    def _adjoint(self, y, out):
        self._forward(y, out)


def _shape(value: Any, name: str) -> Shape:
    try:
        axes = tuple(value)
    except TypeError:
        raise errors.ArgumentError(f"{name}: given {value!r}, wanted a shape such as (8, 12, 16)") from None
    return tuple(integer(n, name, 0, 2**63 - 1) for n in axes)


class Function(Operator):
    """An operator made of two functions of your own. Each returns a float32 array of the kind given."""

    def __init__(
        self,
        in_shape: Shape,
        out_shape: Shape,
        forward: Callable[[Array], Array],
        adjoint: Callable[[Array], Array],
    ):
        self.in_shape, self.out_shape = _shape(in_shape, "in_shape"), _shape(out_shape, "out_shape")
        for name, function in (("forward", forward), ("adjoint", adjoint)):
            if not callable(function):
                raise errors.ArgumentError(
                    f"{name}: given {type(function).__name__}, wanted a function of an array"
                )
        self._functions = forward, adjoint

    def _forward(self, x, out):
        self._apply(self._functions[0], x, out, "what forward returned")

    def _adjoint(self, y, out):
        self._apply(self._functions[1], y, out, "what adjoint returned")

    def _apply(self, function: Callable[[Array], Array], values: Array, out: Array, name: str) -> None:
        a = Arguments()
        a.kind_of(values, "its argument")
        out[...] = a.take(function(values), tuple(out.shape), name)


# ---- the library's own ----


class _Vectors:
    """The vectors of one call, in memory of the context's device: arrays that are there already as they are,
    of arrays on the host copies on CUDA. Addresses are valid until the end of `with`.

    On CUDA the work comes after what the caller's stream has when `with` begins, and before what it gets when
    it has ended, so that no memory is read, written or given back too early."""

    def __init__(self, context: Context, kind: Kind):
        if kind.device not in ("cpu", context.device):
            raise errors.ArgumentError(
                f"given {kind.words} to an operator on {context.device}, wanted an array on "
                f"{'the host' if context.device == 'cpu' else context.device + ' or on the host'}: "
                f"context=isotome.Context({kind.device!r}) makes an operator for it"
            )
        self._context, self._kind = context, kind
        self._copies = kind.device != context.device
        self._vec = lib.iso_ctx_vec(context._pointer).contents
        self._taken: list[c_void_p] = []
        self._kept: list[Array] = []
        self._loans = contextlib.ExitStack()

    def __enter__(self) -> _Vectors:
        self._kind.begin(self._context._pointer)
        return self

    def __exit__(self, *_error) -> None:
        try:
            with self._loans:
                self._kind.end(self._context._pointer)
        finally:
            for p in self._taken:
                self._vec.free(self._context._pointer, p)

    def _alloc(self, n: int) -> int:
        p = c_void_p()
        check(self._vec.alloc(self._context._pointer, byref(p), 4 * n))
        self._taken.append(p)
        return p.value or 0

    def space(self, n: int) -> int:
        """For n values, of the pool of the caller's library where it has one."""
        if self._copies or not self._kind.makes:
            return self._alloc(n)
        self._kept.append(self._kind.empty((n,)))
        return self._lent(self._kept[-1])

    def place(self, values: Array) -> int:
        """For the values, which are not copied."""
        return self._alloc(math.prod(values.shape)) if self._copies else self._lent(values)

    def put(self, values: Array) -> int:
        p = self.place(values)
        if self._copies:
            self._copy(self._vec.upload, p, self._kind.address(values), values)
        return p

    def get(self, values: Array, p: int) -> None:
        if self._copies:
            self._copy(self._vec.download, self._kind.address(values), p, values)

    def divide(self, a: int, b: int, n: int) -> None:
        """a /= b of n values, 0 where b is 0."""
        check(self._vec.div(self._context._pointer, n, a, a, b))

    def copy(self, to: int, of: int, n: int) -> None:
        """n values from one vector to another."""
        check(self._vec.copy(self._context._pointer, n, to, of))

    def _copy(self, function: Callable[..., int], to: int, of: int, values: Array) -> None:
        check(function(self._context._pointer, to, of, 4 * math.prod(values.shape)))

    def _lent(self, values: Array) -> int:
        return self._kind.lend(values, self._loans, self._context._pointer)


class _Shared:
    """An operator of the library, which the whole and its subsets share."""

    def __init__(self, handle: Handle, context: Context, problem: Sensitive | None = None, shape: Shape = ()):
        self.handle: Handle | None = handle
        self.context = context
        self.problem = problem
        self.n_out = lib.iso_op_n_out(handle.pointer)
        fits = shape and math.prod(shape) == self.n_out
        self.shape = shape if fits else (self.n_out,)  # of data in the file's order
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
        lib.iso_op_sort(y.ctypes.data, op.pointer, values.ctypes.data)
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
    saves time: `rows` says which row of the file each is, so that `y.reshape(-1)[B.rows]` are the data of B.
    """

    def __init__(
        self,
        shared: _Shared,
        in_shape: Shape,
        subset: int = ALL,
        in_file_order: bool = True,
        in_grid: Grid | None = None,
    ):
        self._shared = shared
        self._subset = subset
        self._in_file_order = in_file_order
        op = shared.held()
        span = lib.iso_op_rows(op.pointer, subset)
        self._span = slice(span.first, span.first + span.n)
        self.in_shape, self.out_shape = in_shape, shared.shape if in_file_order else (span.n,)
        self.in_grid = in_grid
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
        k = self._check_subset(k)
        which = k if self.n_subsets > 1 else self._subset
        return ModelOperator(self._shared, self.in_shape, which, False, self.in_grid)

    def ordered(self) -> ModelOperator:
        """The same with its data in the library's own order."""
        return ModelOperator(self._shared, self.in_shape, self._subset, False, self.in_grid)

    def clone(self) -> ModelOperator:
        """A second one on the same tables, for another thread."""
        op = self._shared.held()
        handle = Handle(lib.iso_op_free, op)
        check(lib.iso_op_clone(byref(handle.pointer), op.pointer))
        shared = _Shared(handle, self.context, self._shared.problem, self._shared.shape)
        shared._order, shared._plain = self._shared._order, self._shared._plain
        return ModelOperator(shared, self.in_shape, self._subset, self._in_file_order, self.in_grid)

    def free(self) -> None:
        """Gives its memory back now; its subsets are gone too."""
        self._shared.handle = None

    # ---- data in the caller's order and in the operator's; rows of other subsets are not touched ----

    def _sorts(self) -> bool:
        """Whether the caller's order is not the operator's."""
        return self._in_file_order and not self._shared.plain()

    def _base(self, rows: int) -> int:
        """Where the vector of all rows would begin, of which only those of the subset are there."""
        return rows - 4 * self._span.start

    def _data(self, v: _Vectors, op: Handle, y: Array | None) -> int | None:
        if y is None:
            return None
        rows = v.put(y)
        if not self._sorts():
            return self._base(rows)
        vector = v.space(self._shared.n_out)
        check(lib.iso_op_sort_device(vector, op.pointer, rows))
        return vector

    def _forward(self, x, out):
        op = self._shared.held()
        with _Vectors(self.context, _kinds.of(x)) as v:
            to, of = v.place(out), v.put(x)
            rows = v.space(self._shared.n_out) if self._sorts() else to
            call(self.context, lib.iso_forward, self._base(rows), op.pointer, self._subset, of)
            if rows != to:
                check(lib.iso_op_unsort_device(to, op.pointer, rows))
            v.get(out, to)

    def _adjoint(self, y, out):
        op = self._shared.held()
        with _Vectors(self.context, _kinds.of(y)) as v:
            to, of = v.place(out), self._data(v, op, y)
            call(self.context, lib.iso_adjoint, to, op.pointer, self._subset, of)
            v.get(out, to)

    # Of several images: their data stand n_out values apart in the library, however many rows the subset has.

    def _in_place(self) -> bool:
        """Whether the caller's data stand as the library has them."""
        return not self._sorts() and math.prod(self.out_shape) == self._shared.n_out

    def _forward_many(self, x, out):
        if self.context.device != "cpu":
            return super()._forward_many(x, out)
        for k in range(0, len(x), _TOGETHER):
            self._forward_some(x[k : k + _TOGETHER], out[k : k + _TOGETHER])

    def _forward_some(self, x, out):
        op, n, rows, own = self._shared.held(), len(x), self._shared.n_out, math.prod(self.out_shape)
        with _Vectors(self.context, _kinds.of(x)) as v:
            to, of = v.place(out), v.put(x)
            data = to if self._in_place() else v.space(n * rows)
            call(self.context, lib.iso_forward_many, data, op.pointer, self._subset, n, of)
            for k in range(0 if self._in_place() else n):
                one, begin = to + 4 * k * own, data + 4 * k * rows
                if self._sorts():
                    check(lib.iso_op_unsort_device(one, op.pointer, begin))
                else:
                    v.copy(one, begin + 4 * self._span.start, own)
            v.get(out, to)

    def _adjoint_many(self, y, out):
        if self.context.device != "cpu":
            return super()._adjoint_many(y, out)
        for k in range(0, len(y), _TOGETHER):
            self._adjoint_some(y[k : k + _TOGETHER], out[k : k + _TOGETHER])

    def _adjoint_some(self, y, out):
        op, n = self._shared.held(), len(y)
        with _Vectors(self.context, _kinds.of(y)) as v:
            to, of = v.place(out), v.put(y)
            data = of if self._in_place() else self._apart(v, op, of, n)
            call(self.context, lib.iso_adjoint_many, to, op.pointer, self._subset, n, data)
            v.get(out, to)

    def _apart(self, v: _Vectors, op: Handle, given: int, n: int) -> int:
        """The rows of n images, n_out values apart, in the library's order."""
        all_rows, rows = self._shared.n_out, math.prod(self.out_shape)
        data = v.space(n * all_rows)
        for k in range(n):
            begin = data + 4 * k * all_rows
            if self._sorts():
                check(lib.iso_op_sort_device(begin, op.pointer, given + 4 * k * rows))
            else:
                v.copy(begin + 4 * self._span.start, given + 4 * k * rows, rows)
        return data

    def _em_step(self, acc, x, y, add, mult, sens):
        op, stat = self._shared.held(), EmStat()
        with _Vectors(self.context, _kinds.of(x)) as v:
            to, of = v.place(acc), v.put(x)
            data = EmData(*(self._data(v, op, d) for d in (y, add, mult)))
            call(self.context, lib.iso_op_em_step, to, byref(stat), op.pointer, self._subset, of, byref(data))
            if sens is not None:
                v.divide(to, v.put(sens), math.prod(self.in_shape))
            v.get(acc, to)
        return EmStatistics(stat.loglik, stat.counts, stat.lost, stat.used, stat.skipped)

    def _em_step_many(self, acc, x, y, add, mult, sens):
        op, n, voxels = self._shared.held(), len(x), math.prod(self.in_shape)
        stat = (EmStat * n)()
        with _Vectors(self.context, _kinds.of(x)) as v:
            to, of = v.place(acc), v.put(x)
            counts = self._apart(v, op, v.put(y), n)
            data = EmData(None, *(self._data(v, op, d) for d in (add, mult)))
            step = lib.iso_op_em_step_many
            call(self.context, step, to, stat, op.pointer, self._subset, n, of, counts, byref(data))
            if sens is not None:
                by = v.put(sens)
                for k in range(n):
                    v.divide(to + 4 * k * voxels, by, voxels)
            v.get(acc, to)

    def _sensitivity(self, kind):
        if self._shared.problem is None:
            return super()._sensitivity(kind)
        image = self._shared.problem.sensitivity().view(np.ndarray)
        rows = math.prod(self.out_shape)
        if rows != self._shared.n_out:
            image *= rows / self._shared.n_out
        return kind.of_host(image)

    def _has_model(self):
        return self._shared.problem is not None

    def sensitivity(self, like: Array | None = None) -> Array:
        """The sensitivity image of its problem: with attenuation and efficiencies, behind the PSF.

        That is A* m over all rows that there could be. Of a list of events A* 1 is something else: the sum
        over the lines that were hit. A subset has the share of its rows.
        like: an array of the kind that is wanted; None: NumPy.
        """
        return super().sensitivity(like)

    def adjointness_test(self, seed: int = 1, like: Array | None = None) -> float:
        if like is not None:
            return super().adjointness_test(seed, like)
        op, error = self._shared.held(), c_double()
        seed = integer(seed, "seed", 0, 2**64 - 1)
        call(self.context, lib.iso_test_adjoint, byref(error), op.pointer, self._subset, seed)
        return error.value
