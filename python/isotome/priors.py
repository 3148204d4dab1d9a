# SPDX-License-Identifier: BSD-3-Clause
"""Penalties of penalised likelihood: their value, gradient and curvature, for your own algorithms.

    R = isotome.Prior("rdp", problem.grid, epsilon=0.01)
    r = R(x)                        r.value, r.gradient, r.curvature, r.hessian
    g = R.gradient(x)

The same penalties, with the same numbers, are those of `reconstruct(method="svrg", penalty="rdp:BETA")`;
docs/priors.md has their formulas.
"""

from __future__ import annotations

import ctypes
import threading
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_void_p
from typing import Any, NamedTuple

import numpy as np

from . import _abi, _arrays, _kinds, errors
from ._abi import lib
from ._call import Handle, call, check
from ._checks import integer, number, utf8
from ._inputs import context_of
from ._kinds import Arguments
from .context import Context
from .grid import Grid
from .operator import Array, _Vectors


class _Spec(ctypes.Structure):  # prior.h
    _c_name_ = "iso_prior_spec"
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("grid", _abi.Grid),
        ("parameter", c_double * 4),
        ("place", c_int),
        ("kappa", c_void_p),
        ("anatomy", c_void_p),
        ("bowsher", c_int),
    ]


class _About(ctypes.Structure):
    _c_name_ = "iso_prior_about"
    _fields_ = [("name", c_char_p), ("help", c_char_p), ("pairs", c_bool), ("nonnegative", c_bool)]


class _Parameter(ctypes.Structure):
    _c_name_ = "iso_prior_parameter"
    _fields_ = [
        ("name", c_char_p),
        ("usual", c_double),
        ("rule", c_int),
        ("least", c_double),
        ("most", c_double),
        ("above", c_bool),
        ("large", c_double),
    ]


_NUMBER = 0  # ISO_PRIOR_NUMBER: `usual` is the default itself

_abi.declare(
    {
        "iso_prior_about": (POINTER(_About), [c_int]),
        "iso_prior_parameter": (POINTER(_Parameter), [c_int, c_int]),
        "iso_prior_set": (c_int, [POINTER(_Spec), c_char_p, c_double]),
        "iso_prior_kind_of": (c_int, [POINTER(c_int), c_char_p]),
        "iso_prior_create": (c_int, [_abi.out, _abi.handle, POINTER(_Spec)]),
        "iso_prior_free": (None, [_abi.handle]),
        "iso_prior_eval": (
            c_int,
            [POINTER(c_double), _abi.vector, _abi.vector, _abi.vector, _abi.handle, _abi.vector],
        ),
    }
)


def _parameters(kind: int) -> list[_Parameter]:
    """Those of a kind, in their order."""
    found: list[_Parameter] = []
    while p := lib.iso_prior_parameter(kind, len(found)):
        found.append(p.contents)
    return found


class PriorValues(NamedTuple):
    """What a penalty is at an image."""

    value: float
    gradient: Array
    curvature: Array  # of the parabola that touches the penalty there, voxel by voxel
    hessian: Array  # the diagonal


class Prior:
    """A penalty R(x) = 1/2 sum of w k k f(x_n, x_m) over voxels that touch each other, as STIR defines it.

    kind: "quadratic", "rdp" (relative differences), "logcosh", "huber" or "tv", which has no pairs.
        Images of "rdp" are not below 0. `Prior.kinds()` has them all, with the names of their parameters.
    kappa: an image of weights k; voxels where it is 0 are nobody's neighbours. None: 1.
    anatomy: an image, of which the `bowsher` neighbours most alike count for each voxel. None: all count.
    parameters: the parameters of the kind, by name (gamma=2, epsilon=0.01). Those without unit have defaults.
    """

    def __init__(
        self,
        kind: str,
        grid: Grid,
        *,
        kappa: Any = None,
        anatomy: Any = None,
        bowsher: int = 0,
        context: Context | None = None,
        **parameters: float,
    ):
        self.kind, self.grid, self.context = kind, grid, context_of(context)
        self._lock = threading.Lock()  # a prior serves one call at a time
        p = _Spec(size=ctypes.sizeof(_Spec), grid=Grid._struct(grid), bowsher=integer(bowsher, "bowsher", 0, 26))
        of_kind = c_int()
        check(lib.iso_prior_kind_of(byref(of_kind), utf8(kind, "kind")))
        p.kind = of_kind.value
        self._signed = not lib.iso_prior_about(p.kind).contents.nonnegative
        for i, parameter in enumerate(_parameters(p.kind)):
            p.parameter[i] = parameter.usual if parameter.rule == _NUMBER else 0
        for name, value in parameters.items():
            check(lib.iso_prior_set(byref(p), utf8(name, "parameter"), number(value, name)))
        images = [self._image(v, name) for v, name in ((kappa, "kappa"), (anatomy, "anatomy"))]
        p.kappa, p.anatomy = (None if v is None else v.ctypes.data for v in images)
        self._handle = Handle(lib.iso_prior_free, self.context._handle)
        call(
            self.context, lib.iso_prior_create, byref(self._handle.pointer), self.context._pointer, byref(p)
        )

    @staticmethod
    def kinds() -> dict[str, tuple[str, ...]]:
        """All kinds of penalties, with the parameters of each."""
        found: dict[str, tuple[str, ...]] = {}
        while about := lib.iso_prior_about(len(found)):
            names = (p.name.decode() for p in _parameters(len(found)))
            found[about.contents.name.decode()] = tuple(names)
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """(nz, ny, nx) of its images."""
        return self.grid.shape

    def _image(self, values: Any, name: str) -> np.ndarray | None:
        if values is None:
            return None
        array = _arrays.real(values, name)
        if array.shape != self.shape:
            raise errors.ArgumentError(f"{name}: given shape {array.shape}, wanted {self.shape}")
        return array

    def __call__(self, x: Array) -> PriorValues:
        """All of it at x, in one pass."""
        a = Arguments()
        x = a.take(x, self.shape, "x", signed=self._signed)
        made = [a.kind.empty(self.shape) for _ in range(3)]
        value = self._eval(x, *made)
        return PriorValues(value, *(a.result(v, None) for v in made))

    def value(self, x: Array) -> float:
        """R(x)."""
        a = Arguments()
        return self._eval(a.take(x, self.shape, "x", signed=self._signed))

    def gradient(self, x: Array, out: Array | None = None) -> Array:
        """The gradient of R at x, into `out` if it is given."""
        a = Arguments()
        x = a.take(x, self.shape, "x", signed=self._signed)
        gradient = a.place(out, self.shape)
        self._eval(x, gradient)
        return a.result(gradient, out)

    def _eval(self, x: Array, *outputs: Array) -> float:
        kind, value = _kinds.of(x), c_double()
        with kind.current(), self._lock, _Vectors(self.context, kind) as v:
            of, to = v.put(x), [v.place(out) for out in outputs]
            places = (*to, None, None, None)[:3]
            call(self.context, lib.iso_prior_eval, byref(value), *places, self._handle.pointer, of)
            for out, p in zip(outputs, to):
                v.get(out, p)
        return value.value

    def __repr__(self) -> str:
        return f"<isotome.Prior {self.kind} {self.shape}>"
