#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""MLEM by hand beside the library's own: milliseconds an iteration, and what share of its speed is reached.

    python3 python/bench/mlem.py          with NumPy and PyTorch, on CUDA with CuPy as well
    python3 python/bench/mlem.py --events 1e6 --device cpu --tof 390

own       iterations of Problem.reconstruct: the difference of two runs of different length
em_step   x = A.em_step(x, sens=s)
pair      x = x * A.adjoint(1 / A(x)) / s
"""

from __future__ import annotations

import argparse
import importlib
import time
import warnings
from typing import Any, Callable

import numpy as np

import isotome

RADIUS, LENGTH = 330.0, 200.0  # of the ring, mm


def make_events(n: int, reach: float, tof_fwhm_ps: float) -> np.ndarray:
    """(n, 7) lines of a ring that pass the axis at up to `reach` mm, with times of points as near to it."""
    random = np.random.default_rng(1)
    angle, offset = random.uniform(0, 2 * np.pi, n), random.uniform(-reach, reach, n)
    half = np.sqrt(RADIUS**2 - offset**2)
    along, across = np.stack([np.cos(angle), np.sin(angle)], 1), np.stack([-np.sin(angle), np.cos(angle)], 1)
    lines = np.zeros((n, 7), np.float32)
    for end, sign in ((0, -1), (3, 1)):
        lines[:, end : end + 2] = sign * half[:, None] * along + offset[:, None] * across
        lines[:, end + 2] = random.uniform(-LENGTH / 2, LENGTH / 2, n)
    if tof_fwhm_ps > 0:
        lines[:, 6] = random.uniform(-reach / 0.15, reach / 0.15, n)  # 0.15 mm of the line a ps
    return lines


def seconds_of_own(problem: Callable[[int], isotome.Problem], iterations: int) -> float:
    """Of one iteration of the library's MLEM."""

    def run(n: int) -> float:
        p = problem(n)
        p.reconstruct()
        return p.record["times_s"]["reconstruct"]

    run(1)
    return min(run(3 * iterations) - run(iterations) for _ in range(2)) / (2 * iterations)


def seconds_of(step: Callable[[Any], Any], x: Any, wait: Callable[[], None], iterations: int) -> float:
    """Of one of the same iterations, on the same images: those after the first few."""
    for _ in range(iterations):
        x = step(x)
    wait()
    began = time.perf_counter()
    for _ in range(2 * iterations):
        x = step(x)
    wait()
    return (time.perf_counter() - began) / (2 * iterations)


def ways(A: isotome.Operator, s: Any, xp: Any) -> dict[str, Callable[[Any], Any]]:
    def by_step(x: Any) -> Any:
        return A.em_step(x, sens=s)

    def by_pair(x: Any) -> Any:
        y = A(x)
        met = y > 0
        return x * A.adjoint(xp.where(met, 1 / xp.where(met, y, xp.ones_like(y)), xp.zeros_like(y))) / s

    return {"em_step": by_step, "pair": by_pair}


def library(name: str, on_cuda: bool) -> tuple[Any, Callable[[np.ndarray], Any], Callable[[], None]] | None:
    """Its module, what makes an array of it, what waits for its work; None: it is not here."""
    if name == "numpy":
        return np, lambda a: a, lambda: None
    try:
        xp: Any = importlib.import_module(name)
    except ImportError:
        return None
    if name == "cupy":
        return (xp, xp.asarray, lambda: xp.cuda.get_current_stream().synchronize()) if on_cuda else None
    if not on_cuda:
        return xp, xp.from_numpy, lambda: None
    if not xp.cuda.is_available():
        return None
    return xp, lambda a: xp.from_numpy(a).cuda(), xp.cuda.synchronize


def measure(name: str, A: isotome.Operator, own: float, on_cuda: bool, iterations: int) -> None:
    found = library(name, on_cuda)
    if found is None:
        print(f"{name:8} is not here")
        return
    xp, of, wait = found
    s, x = of(np.ones(A.in_shape, np.float32)), of(np.ones(A.in_shape, np.float32))
    for way, step in ways(A, s, xp).items():
        taken = seconds_of(step, x, wait, iterations)
        print(f"{name:8} {way:18} {1e3 * taken:10.3f} ms   {100 * own / taken:6.1f} %", flush=True)


def main() -> None:
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--events", type=float, default=1e7)
    parse.add_argument("--grid", type=int, nargs=3, default=(128, 128, 64), metavar="N")
    parse.add_argument("--voxel", type=float, default=3.0, help="mm")
    parse.add_argument("--tof", type=float, default=0.0, metavar="PS", help="FWHM; 0: none")
    parse.add_argument("--device", default="auto")
    parse.add_argument("--iterations", type=int, help="default 3 on the CPU, 50 on CUDA")
    parse.add_argument("--libraries", default="numpy,cupy,torch")
    a = parse.parse_args()
    warnings.simplefilter("ignore", isotome.IsotomeWarning)
    context = isotome.Context(a.device)
    on_cuda = context.device != "cpu"
    iterations = a.iterations or (50 if on_cuda else 3)
    lines = make_events(int(a.events), 0.4 * a.grid[0] * a.voxel, a.tof)

    def problem(n: int) -> isotome.Problem:
        return isotome.ray(
            lines,
            context=context,
            grid=tuple(a.grid),
            voxel=a.voxel,
            tof_fwhm_ps=a.tof or None,
            sens="none",
            iterations=n,
        )

    where = f"{context.device} ({context.device_name})"
    print(f"{where}, {len(lines):.3g} events, voxels {tuple(a.grid)}, TOF {a.tof:g} ps")
    own = seconds_of_own(problem, iterations)
    print(f"{'isotome':8} {'own':18} {1e3 * own:10.3f} ms", flush=True)
    A = problem(1).operator()
    for name in a.libraries.split(","):
        measure(name, A, own, on_cuda, iterations)


if __name__ == "__main__":
    main()
