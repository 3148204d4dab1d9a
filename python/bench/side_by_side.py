#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""List-mode time-of-flight OSEM in Isotome and in parallelproj, of the same events in the same arrays.

    python3 python/bench/side_by_side.py --arrays cupy --events 1e7

The workload is that of parallelproj's paper (Schramm, Thielemans 2023) and of benchmark 03 of its
repository: a scanner like the GE Discovery MI (34 sides of 16 crystals, 36 rings), 29 bins of 169.26 ps,
resolution 385 ps, kernel cut at 3 sigma, an image of 215 x 215 x 71 voxels of 2.78 mm, 34 subsets of every
34th event, an additive term, Joseph's projector. In place of the measured phantom, events of a simulated
one: a body of water with six hot spheres. Without parallelproj only Isotome is timed.

parallelproj is given its image in both orders of the axes, as its own benchmark does, and its events in
the file's order and in the order that Isotome sorts them into.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import time
from typing import Any, Callable, NamedTuple

import numpy as np

import isotome

C_MM_PER_PS = 0.299792458
SIDES, CRYSTALS, PITCH, RADIUS = 34, 16, 4.03125, 0.5 * (744.1 + 2 * 8.51)  # mm, to the middle of a side
RING_Z = 5.31556 * np.arange(36) + 2.8 * (np.arange(36) // 9)
RING_Z -= RING_Z.mean()
BINS, BIN_PS, FWHM_PS, CUT = 29, 13 * 13.02, 385.0, 3.0
GRID, VOXEL = (215, 215, 71), 2.78  # voxels along x, y, z; mm
SPHERES = [(57.0 * np.cos(a), 57.0 * np.sin(a), 0.0, r) for a, r in zip(
    np.arange(6) * np.pi / 3, (5.0, 6.5, 8.5, 11.0, 14.0, 18.5))]  # x, y, z, radius: mm


class Events(NamedTuple):
    start: Any  # (n, 3) mm
    end: Any
    bin: Any  # 0 to BINS - 1, growing from start to end


# ---- events ----


def _annihilations(xp, random, n: int):
    """Points in an elliptic cylinder of 300 x 220 x 180 mm, in spheres four times as many for their size."""
    p = random.random((n, 3)) * xp.asarray([300.0, 220.0, 180.0]) - xp.asarray([150.0, 110.0, 90.0])
    hot = xp.zeros(n, bool)
    for x, y, z, r in SPHERES:
        hot |= ((p - xp.asarray([x, y, z])) ** 2).sum(axis=1) < r * r
    body = (p[:, 0] / 150) ** 2 + (p[:, 1] / 110) ** 2 < 1
    return p[body & (hot | (random.random(n) < 0.25))]


def _crystals(xp, p, d):
    """Where rays from p along d are counted: centres of crystals, and whether there is one."""
    a = d[:, 0] ** 2 + d[:, 1] ** 2
    b = p[:, 0] * d[:, 0] + p[:, 1] * d[:, 1]
    c = p[:, 0] ** 2 + p[:, 1] ** 2 - RADIUS**2
    t = (-b + xp.sqrt(b * b - a * c)) / a
    hit = p + t[:, None] * d
    step = 2 * np.pi / SIDES
    side = xp.rint(xp.arctan2(hit[:, 1], hit[:, 0]) / step) * step
    cos, sin = xp.cos(side), xp.sin(side)
    along = xp.clip(xp.rint((hit[:, 1] * cos - hit[:, 0] * sin) / PITCH + 7.5), 0, CRYSTALS - 1) - 7.5
    rings = xp.asarray(RING_Z)
    ring = xp.clip(xp.searchsorted((rings[1:] + rings[:-1]) / 2, hit[:, 2]), 0, len(RING_Z) - 1)
    centre = xp.stack([RADIUS * cos - along * PITCH * sin, RADIUS * sin + along * PITCH * cos, rings[ring]], 1)
    return centre, xp.abs(hit[:, 2]) < RING_Z[-1] + 2.7


def simulate(xp, n: int, seed: int = 1) -> Events:
    """n events, in an order that knows nothing of their lines."""
    random = xp.random.default_rng(seed)
    parts: list[Events] = []
    while sum(len(e.bin) for e in parts) < n:
        p = _annihilations(xp, random, 4_000_000)
        m = len(p)
        cos, phi = 0.5 * random.random(m) - 0.25, 2 * np.pi * random.random(m)
        sin = xp.sqrt(1 - cos * cos)
        d = xp.stack([sin * xp.cos(phi), sin * xp.sin(phi), cos], 1)
        start, seen = _crystals(xp, p, d)
        end, also = _crystals(xp, p, -d)
        line = end - start
        length = xp.sqrt((line * line).sum(axis=1))
        from_middle = ((p - start) * line).sum(axis=1) / length - length / 2
        dt_ps = 2 * from_middle / C_MM_PER_PS + FWHM_PS / 2.3548 * random.standard_normal(m)
        k = xp.rint(dt_ps / BIN_PS) + BINS // 2
        kept = seen & also & (k >= 0) & (k < BINS)
        parts.append(Events(start[kept].astype(xp.float32), end[kept].astype(xp.float32), k[kept].astype(xp.int16)))
    return Events(*(xp.ascontiguousarray(xp.concatenate(column)[:n]) for column in zip(*parts)))


def any_lines(n: int, seed: int = 2) -> np.ndarray:
    """(n, 6) lines between crystals drawn at random, on different sides."""
    random = np.random.default_rng(seed)
    side = random.integers(SIDES, size=(n, 2))
    side[:, 1] = (side[:, 0] + 1 + random.integers(SIDES - 1, size=n)) % SIDES
    angle, along = side * 2 * np.pi / SIDES, (random.integers(CRYSTALS, size=(n, 2)) - 7.5) * PITCH
    x = RADIUS * np.cos(angle) - along * np.sin(angle)
    y = RADIUS * np.sin(angle) + along * np.cos(angle)
    z = RING_Z[random.integers(len(RING_Z), size=(n, 2))]
    return np.stack([x, y, z], 2).reshape(n, 6).astype(np.float32)


# ---- arrays ----


class Arrays:
    """NumPy, CuPy or PyTorch on the CPU or on CUDA: made from NumPy and back, and when they are done."""

    def __init__(self, name: str):
        self.name, _, self.device = name.partition(":")
        self.cuda = self.name == "cupy" or self.device == "cuda"
        self.xp = importlib.import_module(self.name)

    def of(self, values: np.ndarray) -> Any:
        if self.name == "torch":
            return self.xp.from_numpy(np.ascontiguousarray(values)).to(self.device or "cpu")
        return self.xp.asarray(values)

    def back(self, values: Any) -> np.ndarray:
        if self.name == "torch":
            return values.cpu().numpy()
        return self.xp.asnumpy(values) if self.name == "cupy" else np.asarray(values)

    def wait(self) -> None:
        if self.name == "torch" and self.cuda:
            self.xp.cuda.synchronize()
        elif self.cuda:
            self.xp.cuda.Device().synchronize()


def seconds(arrays: Arrays, work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The median of some runs after a first one, and the last result."""
    taken, result = [], work()
    for _ in range(repeats):
        arrays.wait()
        start = time.perf_counter()
        result = work()
        arrays.wait()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken), result


# ---- the two ----


class Workload(NamedTuple):
    arrays: Arrays
    events: Events  # NumPy
    sens: np.ndarray  # (z, y, x)
    add: float
    subsets: int
    psf: float  # FWHM, mm
    repeats: int


def isotome_problem(w: Workload, projector: str, subsets: int, context: isotome.Context) -> isotome.Problem:
    e = w.events
    dt = (e.bin.astype(np.float32) - BINS // 2) * np.float32(BIN_PS)
    lines = np.concatenate([e.start, e.end, dt[:, None]], axis=1).astype(np.float32)
    return isotome.ray(
        isotome.Events(lines, tof_fwhm_ps=FWHM_PS, tof_bin_ps=BIN_PS), context=context, projector=projector,
        grid=GRID, voxel=VOXEL, tof_truncate=CUT, method="osem" if subsets > 1 else "mlem", subsets=subsets,
        sens="none", psf=w.psf or None)


def run_isotome(w: Workload, projector: str, context: isotome.Context) -> tuple[dict[str, float], np.ndarray]:
    a, took = w.arrays, {}
    start = time.perf_counter()
    A = isotome_problem(w, projector, w.subsets, context).operator()
    parts = [A.subset(k) for k in range(w.subsets)]
    took["set-up"] = time.perf_counter() - start
    whole = A.ordered()
    x = a.of(np.ones(A.in_shape, np.float32))
    ones = a.of(np.ones(whole.out_shape, np.float32))
    took["forward"], _ = seconds(a, lambda: whole(x), w.repeats)
    took["adjoint"], _ = seconds(a, lambda: whole.adjoint(ones), w.repeats)
    took["A(x), file's order"], _ = seconds(a, lambda: A(x), w.repeats)
    add = [a.of(np.full(B.out_shape, w.add, np.float32)) for B in parts]
    shares = a.of(w.sens / w.subsets)

    def fused():
        image = x
        for B, r in zip(parts, add):
            image = B.em_step(image, add=r, sens=shares)
        return image

    def by_hand():
        image = x
        for B, r in zip(parts, add):
            image = image * B.adjoint(1 / (B(image) + r)) / shares
        return image

    took["OSEM by A(x), A.adjoint"], _ = seconds(a, by_hand, w.repeats)
    took["OSEM"], image = seconds(a, fused, w.repeats)
    return took, a.back(image)


def run_parallelproj(w: Workload, axes: str, order: np.ndarray | None) -> tuple[dict[str, float], np.ndarray]:
    """axes: "zyx", z the slowest in memory as Isotome has it, or "xyz"; order: of the events within subsets."""
    from parallelproj.operators import CompositeLinearOperator, GaussianFilterOperator
    from parallelproj.projectors import ListmodePETProjector
    from parallelproj.tof import TOFParameters

    a, took = w.arrays, {}
    turn = [2, 1, 0] if axes == "zyx" else [0, 1, 2]
    shape = tuple(GRID[k] for k in turn)
    to_mm = 0.5 * C_MM_PER_PS
    tof = TOFParameters(num_tofbins=BINS, tofbin_width=BIN_PS * to_mm, sigma_tof=FWHM_PS / 2.3548 * to_mm,
                        num_sigmas=CUT)
    psf = GaussianFilterOperator(shape, sigma=[w.psf / (2.3548 * VOXEL)] * 3) if w.psf else None

    def operator(rows):
        p = ListmodePETProjector(
            a.of(np.ascontiguousarray(w.events.start[rows][:, turn])),
            a.of(np.ascontiguousarray(w.events.end[rows][:, turn])), shape, (VOXEL,) * 3)
        p.tof_parameters, p.event_tofbins = tof, a.of(np.ascontiguousarray(w.events.bin[rows]))
        p.tof = True
        return CompositeLinearOperator((p, psf)) if psf else p

    rows = np.arange(len(w.events.bin)) if order is None else order
    start = time.perf_counter()
    parts = [operator(rows[rows % w.subsets == k]) for k in range(w.subsets)]
    a.wait()
    took["set-up"] = time.perf_counter() - start
    whole = operator(rows)
    x = a.of(np.ones(shape, np.float32))
    ones = a.of(np.ones(whole.out_shape, np.float32))
    took["forward"], _ = seconds(a, lambda: whole(x), w.repeats)
    took["adjoint"], _ = seconds(a, lambda: whole.adjoint(ones), w.repeats)
    del whole, ones
    add = [a.of(np.full(B.out_shape, w.add, np.float32)) for B in parts]
    sens = w.sens if axes == "zyx" else w.sens.transpose(2, 1, 0)
    shares = a.of(np.ascontiguousarray(sens) / w.subsets)

    def osem():
        image = x
        for B, r in zip(parts, add):
            image = image * B.adjoint(1 / (B(image) + r)) / shares
        return image

    took["OSEM"], image = seconds(a, osem, w.repeats)
    back = a.back(image)
    return took, back if axes == "zyx" else back.transpose(2, 1, 0)


# ---- comparison ----


def sensitivity(context: isotome.Context, lines: int) -> np.ndarray:
    """Of lines drawn at random, without time of flight; 1 at its mean, at least 0.01, for both."""
    p = isotome.ray(any_lines(lines), context=context, grid=GRID, voxel=VOXEL, sens="none", tof_fwhm_ps=0)
    A = p.operator()
    s = A.adjoint(np.ones(A.out_shape, np.float32))
    return np.maximum(s / s.mean(), np.float32(0.01))


def difference(image: np.ndarray, reference: np.ndarray) -> float:
    """Root mean square of the difference over that of the reference."""
    return float(np.sqrt(np.mean((image - reference) ** 2.0) / np.mean(reference**2.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=float, default=1e7)
    parser.add_argument("--arrays", default="numpy", help="numpy, cupy, torch or torch:cuda")
    parser.add_argument("--subsets", type=int, default=34)
    parser.add_argument("--psf", type=float, default=0, help="FWHM of a resolution model in the image, mm")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--output", help="file for the figures, JSON")
    o = parser.parse_args()

    arrays = Arrays(o.arrays)
    context = isotome.Context("cuda" if arrays.cuda else "cpu", threads=o.threads)
    maker = importlib.import_module("cupy") if arrays.name == "cupy" else np
    start = time.perf_counter()
    made = simulate(maker, int(o.events))
    events = Events(*(maker.asnumpy(v) if maker is not np else v for v in made))
    del made
    print(f"{len(events.bin)} events made in {time.perf_counter() - start:.1f} s; {context}; arrays: {o.arrays}")
    sens = sensitivity(context, 2_000_000)
    w = Workload(arrays, events, sens, 10.0, o.subsets, o.psf, o.repeats)

    figures: dict[str, dict[str, float]] = {}
    images: dict[str, np.ndarray] = {}

    def took(name: str, result: tuple[dict[str, float], np.ndarray]) -> None:
        figures[name], images[name] = result
        print(f"{name:34s}" + "  ".join(f"{k} {v:.4f}" for k, v in result[0].items()), flush=True)

    for projector in ("joseph", "slice"):
        took(f"isotome, {projector}", run_isotome(w, projector, context))
    try:
        import parallelproj_core
    except ImportError as missing:
        print(f"parallelproj is not timed: {missing}")
    else:
        print(f"parallelproj_core {parallelproj_core.__version__}, CUDA {bool(parallelproj_core.cuda_enabled)}")
        order = isotome_problem(w, "joseph", 1, context).operator().ordered().rows
        for axes in ("zyx", "xyz"):
            for name, by in (("file's order", None), ("sorted", order)):
                took(f"parallelproj, {axes}, {name}", run_parallelproj(w, axes, by))
        reference = images["parallelproj, zyx, file's order"]
        for name, image in images.items():
            print(f"{name:34s}image differs from parallelproj's by {difference(image, reference):.2e}")
        for name in [n for n in figures if n.startswith("parallelproj")]:
            ratios = {k: figures[name][k] / figures["isotome, joseph"][k] for k in ("forward", "adjoint", "OSEM")}
            print(f"{name:34s}over isotome, joseph: " + "  ".join(f"{k} {v:.2f}" for k, v in ratios.items()))
    if o.output:
        with open(o.output, "w") as f:
            json.dump({"events": len(events.bin), "arrays": o.arrays, "subsets": o.subsets, "psf": o.psf,
                       "seconds": figures}, f, indent=1)


if __name__ == "__main__":
    main()
