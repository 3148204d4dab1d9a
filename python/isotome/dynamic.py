# SPDX-License-Identifier: BSD-3-Clause
"""How sure an image is: replicates of a scan, and independent parts of a list of events.

    p = isotome.ray("scan.Cdh", grid=(128, 128, 64), voxel=2, method="osem", replicates=20)
    image = p.reconstruct()
    mean, sd = isotome.replicates(p)

    w = isotome.weights(len(events), replicate=3)          # 0, 1, 2, ...: Poisson numbers of mean 1
    tenth = events[isotome.part(len(events), share=0.1)]   # a shorter scan of the same patient

Numbers follow from the seed and the number of the event in its file alone.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, NamedTuple

import numpy as np

from . import _abi, _arrays, errors
from ._abi import lib
from ._call import check
from ._checks import integer, number
from .image import Image
from .problem import Problem

_EVENTS, _DELAYED = range(2)  # enum iso_draw_list


class _Part(ctypes.Structure):  # dynamic.h
    _c_name_ = "iso_part"
    _fields_ = [
        ("size", c_size_t),
        ("share", c_double),
        ("part", c_int),
        ("parts", c_int),
        ("seed", c_uint64),
        ("list", c_int),
    ]


_abi.declare(
    {
        "iso_replicate_weights": (c_int, [c_void_p, c_int64, c_void_p, c_uint64, c_int64, c_int]),
        "iso_part_events": (c_int, [c_void_p, c_int64, c_void_p, POINTER(_Part)]),
        "iso_problem_replicates": (c_int, [POINTER(_abi.Array), POINTER(_abi.Array), _abi.handle]),
    }
)


class Replicates(NamedTuple):
    """Over the replicates of a run."""

    mean: Image
    sd: Image  # standard deviation: the statistical error, without bias


def _numbers(events: Any) -> tuple[int, np.ndarray | None]:
    """How many events, and their numbers; None: 0, 1, ..."""
    if isinstance(events, (int, np.integer)):
        return integer(events, "events", 0, 2**48), None
    given = np.asarray(events)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given.size and given.min() < 0):
        raise errors.ArgumentError("events: given other than a number of events or a list of their numbers from 0 on")
    return given.size, np.ascontiguousarray(given, np.uint64)


def weights(events: Any, replicate: int, seed: int = 1, *, delayed: bool = False) -> np.ndarray:
    """The weight of each event in a replicate: 0 to 12, Poisson numbers of mean 1, as `recon --replicates` takes them.

    events: how many, or their numbers in the whole file.
    replicate: 0 to 9999.
    delayed: they are delayed coincidences, which have draws of their own.
    """
    n, given = _numbers(events)
    w = np.empty(n, np.uint8)
    place = None if given is None else given.ctypes.data
    seed, replicate = integer(seed, "seed", 0, 2**64 - 1), integer(replicate, "replicate", 0, 9999)
    check(lib.iso_replicate_weights(w.ctypes.data, n, place, seed, replicate, _DELAYED if delayed else _EVENTS))
    return w


def part(
    events: Any,
    share: float | None = None,
    part: tuple[int, int] | None = None,
    seed: int = 1,
    *,
    delayed: bool = False,
) -> np.ndarray:
    """Which events are in a part of the list: bools, as `isotome convert --share` and `--part` choose.

    events: how many, or their numbers in the whole file.
    share: that share of them, above 0 to 1.
    part: (k, K), the k-th of K parts that have no event in common.
    """
    if (share is None) == (part is None):
        raise errors.ArgumentError("share, part: given both or none, wanted one of them")
    n, given = _numbers(events)
    p = _Part(size=ctypes.sizeof(_Part), seed=integer(seed, "seed", 0, 2**64 - 1), list=int(delayed))
    if share is not None:
        p.share = number(share, "share")
    elif part is not None:
        p.part, p.parts = (integer(v, "part", 1, 2**31 - 1) for v in part)
    kept = np.empty(n, np.uint8)
    check(lib.iso_part_events(kept.ctypes.data, n, None if given is None else given.ctypes.data, byref(p)))
    return kept.view(bool)


def replicates(problem: Problem) -> Replicates:
    """Mean and standard deviation of the replicates that the problem's last `reconstruct` made."""
    if not isinstance(problem, Problem):
        raise errors.ArgumentError(f"problem: given {type(problem).__name__}, wanted isotome.Problem")
    handle = problem._handle

    def fill(which: int) -> Image:
        def get(to: Any) -> None:
            check(lib.iso_problem_replicates(*((to, None) if which == 0 else (None, to)), handle.pointer))

        return _arrays.made_image(get)

    return Replicates(fill(0), fill(1))
