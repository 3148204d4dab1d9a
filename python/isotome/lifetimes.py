# SPDX-License-Identifier: BSD-3-Clause
"""Maps of the life of positronium, from triples of two annihilation photons and a prompt one."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_bool, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Sequence

import numpy as np

from . import _abi, errors
from ._abi import declare, handle, lib, out
from ._call import Handle, call
from ._checks import integer, number
from .image import Image
from .priors import Prior
from .problem import Problem

_METHODS = {"moment": "iso_lifetime_moments", "emg": "iso_lifetime_emg", "posterior": "iso_lifetime_posterior"}
_ERRORS = {"diag": 0, "full": 1, "bootstrap": 2}  # enum iso_lifetime_error
_USUAL = {"moment": "bootstrap", "emg": "full", "posterior": "diag"}

_doubles = POINTER(c_double)


class _Model(ctypes.Structure):  # lifetime.h
    _c_name_ = "iso_lifetime_model"
    _fields_ = [
        ("size", c_size_t),
        ("tau_p", c_double),
        ("tau_d", c_double),
        ("ratio", c_double),
        ("sigma", c_double),
        ("offset", c_double),
        ("lo", c_double),
        ("hi", c_double),
    ]


class _Randoms(ctypes.Structure):  # lifetime.h
    _c_name_ = "iso_lifetime_randoms"
    _fields_ = [("number", c_double), ("image", _doubles), ("density", _doubles)]


class _Maps(ctypes.Structure):  # lifetime.h
    _c_name_ = "iso_lifetime_maps"
    _fields_ = [
        ("size", c_size_t),
        ("tau", _doubles),
        ("error", _doubles),
        ("w", _doubles),
        ("w_error", _doubles),
        ("counts", _doubles),
        ("mean", _doubles),
        ("region_tau", _doubles),
        ("region_error", _doubles),
        ("iterations", c_int),
        ("objective", c_double * 2),
        ("residual", c_double),
        ("beta", c_double),
        ("converged", c_bool),
    ]


class _Lifetime(ctypes.Structure):  # lifetime.h
    _c_name_ = "iso_lifetime"
    _fields_ = [
        ("size", c_size_t),
        ("sens", _abi.vector),
        ("activity", _doubles),
        ("w", _doubles),
        ("w_all", c_double),
        ("randoms", _Randoms),
        ("min_counts", c_double),
        ("iterations", c_int),
        ("subsets", c_int),
        ("error", c_int),
        ("repeats", c_int),
        ("seed", c_uint64),
        ("prior", c_void_p),
        ("beta", c_double),
        ("rel", c_double),
        ("most", c_int),
        ("start", _doubles),
        ("prior_a", c_double),
        ("prior_b", c_double),
        ("region", POINTER(c_int32)),
        ("regions", c_int),
    ]


declare(
    {
        "iso_triples_of_op": (c_int, [out, handle, POINTER(_Model), _doubles, _doubles]),
        "iso_triples_free": (None, [handle]),
        "iso_triples_count": (c_int64, [handle]),
        "iso_triples_between": (c_int64, [handle, c_double, c_double]),
        "iso_lifetime_moments": (c_int, [POINTER(_Maps), _doubles, handle, POINTER(_Lifetime)]),
        "iso_lifetime_emg": (c_int, [POINTER(_Maps), handle, POINTER(_Lifetime)]),
        "iso_lifetime_posterior": (c_int, [POINTER(_Maps), handle, POINTER(_Lifetime)]),
    }
)


class _Arrays:
    """Arrays of doubles whose addresses the library gets, and which must stay alive until it is done."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def take(self, values: Any, size: int, what: str) -> Any:
        if values is None:
            return None
        a = np.ascontiguousarray(values, dtype=np.float64)
        if a.size != size:
            raise errors.ArgumentError(f"{what}: given {a.size} numbers, wanted {size}")
        self.kept.append(a)
        return a.ctypes.data_as(_doubles)

    def make(self, size: int) -> tuple[np.ndarray, Any]:
        a = np.zeros(size)
        self.kept.append(a)
        return a, a.ctypes.data_as(_doubles)


def _triples(problem: Problem, times: Any, sigma: Any, model: _Model, kept: _Arrays) -> Handle:
    op = problem.operator()
    n = int(np.prod(op.out_shape))
    made = Handle(lib.iso_triples_free, op._shared.held())
    error = None if np.ndim(sigma) == 0 else kept.take(sigma, n, "sigma")
    call(
        problem.context,
        lib.iso_triples_of_op,
        byref(made.pointer),
        op._shared.held().pointer,
        byref(model),
        kept.take(times, n, "times"),
        error,
    )
    return made


def lifetime(
    problem: Problem,
    times: Any,
    *,
    method: str = "moment",
    sigma: Any = 0.15,
    components: Sequence[float] = (0.125, 0.388),
    ratio: float = 3,
    intensity: Any = None,
    offset: float = 0,
    window: tuple[float, float] = (-1, 15),
    background: tuple[float, float] | None = None,
    background_share: float = 0,
    activity: Any = None,
    randoms: Any = None,
    prior: Prior | None = None,
    beta: float = 0,
    rel: float = 0.2,
    error: str | None = None,
    repeats: int = 0,
    iterations: int = 10,
    subsets: int = 1,
    min_counts: float = 200,
    regions: Any = None,
    seed: int = 1,
) -> dict[str, Any]:
    """Maps of the life of ortho-positronium in ns: "tau", its standard "error", "counts", "mean" over all
    components, "intensity" and "intensity_error".

    problem: a problem of model ray or barrel. Its events are the triples.
    times: from prompt to annihilation, ns, one an event. sigma: their error, a number or one an event.
    method: "moment", "emg" (maximum likelihood) or "posterior" (one pass, for a look).
    components: lives of para-positronium and direct annihilation, or the second alone, or () for a single exponential.
    intensity: share of ortho-positronium, a number or an image; None: found in each voxel.
    background: a window in which all triples are random. background_share: their share. randoms: an image of their places.
    prior, beta, rel: "emg" alone: the penalty of the logarithm of the rate, and its strength.
    error: "diag", "full" ("emg") or "bootstrap" ("moment"), with so many `repeats`.
    regions: image of whole numbers from 1. The result then has "region_tau" and "region_error" too.
    """
    if not isinstance(problem, Problem):
        raise errors.ArgumentError(f"problem: given {type(problem).__name__}, wanted isotome.Problem")
    if method not in _METHODS:
        raise errors.ArgumentError(f"method: given {method!r}, wanted one of {', '.join(_METHODS)}")
    kind = _USUAL[method] if error is None else error
    if kind not in _ERRORS:
        raise errors.ArgumentError(f"error: given {kind!r}, wanted one of {', '.join(_ERRORS)}")
    if len(components) > 2:
        raise errors.ArgumentError(f"components: given {len(components)} lives, wanted at most 2")
    kept, grid = _Arrays(), problem.grid
    lives = [0.0] * (2 - len(components)) + [number(c, "components") for c in components]
    model = _Model(
        ctypes.sizeof(_Model),
        *lives,
        number(ratio, "ratio"),
        number(sigma, "sigma") if np.ndim(sigma) == 0 else 1,
        number(offset, "offset"),
        number(window[0], "window"),
        number(window[1], "window"),
    )
    triples = _triples(problem, times, sigma, model, kept)
    n, sens = int(np.prod(grid.shape)), np.ascontiguousarray(problem.sensitivity(), dtype=np.float32)
    p = _Lifetime(ctypes.sizeof(_Lifetime), sens.ctypes.data, kept.take(activity, n, "activity"))
    if intensity is not None and np.ndim(intensity) == 0:
        p.w_all = number(intensity, "intensity")
    elif intensity is not None:
        p.w = kept.take(intensity, n, "intensity")
    p.randoms = _randoms(triples, model, background, background_share, kept.take(randoms, n, "randoms"))
    p.min_counts, p.error, p.repeats = number(min_counts, "min_counts"), _ERRORS[kind], integer(repeats, "repeats", 0)
    p.iterations, p.subsets = integer(iterations, "iterations", 1), integer(subsets, "subsets", 1)
    p.seed, p.beta, p.rel = integer(seed, "seed", 0), number(beta, "beta"), number(rel, "rel")
    p.prior = prior._handle.pointer if prior is not None else None
    return _run(problem, method, triples, p, kept, n, regions)


def _randoms(triples: Handle, model: _Model, window: Any, share: float, image: Any) -> _Randoms:
    inside = lib.iso_triples_count(triples.pointer) * number(share, "background_share")
    if window is not None:
        lo, hi = (number(v, "background") for v in window)
        inside = lib.iso_triples_between(triples.pointer, lo, hi) * (model.hi - model.lo) / (hi - lo)
    return _Randoms(inside, image)


def _run(
    problem: Problem, method: str, triples: Handle, p: _Lifetime, kept: _Arrays, n: int, regions: Any
) -> dict[str, Any]:
    names = {"tau": "tau", "error": "error", "counts": "counts", "mean": "mean"}
    names |= {"intensity": "w", "intensity_error": "w_error"}
    to, made = _Maps(size=ctypes.sizeof(_Maps)), {}
    for name, field in names.items():
        made[name], address = kept.make(n)
        setattr(to, field, address)
    found: dict[str, Any] = {}
    if regions is not None:
        label = np.ascontiguousarray(regions, dtype=np.int32)
        if label.size != n:
            raise errors.ArgumentError(f"regions: given {label.size} numbers, wanted {n}")
        kept.kept.append(label)
        p.region, p.regions = label.ctypes.data_as(POINTER(c_int32)), int(label.max())
        for name in ("region_tau", "region_error"):
            found[name], address = kept.make(max(p.regions, 1))
            setattr(to, name, address)
    more = (None,) if method == "moment" else ()
    call(problem.context, getattr(lib, _METHODS[method]), byref(to), *more, triples.pointer, byref(p))
    grid = problem.grid
    maps = {name: Image(a.reshape(grid.shape).astype(np.float32), grid) for name, a in made.items()}
    return {**maps, **found}
