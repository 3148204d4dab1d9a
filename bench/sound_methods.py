#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How many iterations the methods of optoacoustic least squares need, on small images whose truth is known.

    python3 bench/sound_methods.py

Data are those of model svoxel with 5 % noise. A cell has the residual |u - H A|/|u| and the error |A - truth|/|truth|
after 10, 20 and 40 iterations. `image`: nncg --precondition image.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any, Callable

import numpy as np

import isotome

COUNTS = 10, 20, 40
Axes = tuple[np.ndarray, np.ndarray, np.ndarray]


def vessels(axes: Axes, voxel: float, random: np.random.Generator) -> np.ndarray:
    """Six curved lines with round profiles, on 0."""
    x, y, z = axes
    size, image = np.array([np.ptp(a) + voxel for a in axes]), np.zeros(np.broadcast(*axes).shape)
    for _ in range(6):
        place, ahead = (random.random(3) - 0.5) * 0.7 * size, random.normal(size=3)
        radius = voxel * (0.9 + 1.3 * random.random())
        for _ in range(60):
            d2 = (x - place[0]) ** 2 + (y - place[1]) ** 2 + (z - place[2]) ** 2
            image = np.maximum(image, np.exp(-d2 / (2 * radius**2)))
            ahead /= np.linalg.norm(ahead)
            place, ahead = place + 0.9 * voxel * ahead, ahead + 0.12 * random.normal(size=3)
            if np.any(np.abs(place) > 0.47 * size):
                break
    return image


def organ(axes: Axes, voxel: float, random: np.random.Generator) -> np.ndarray:
    """An ellipsoid that fills the image, with brighter and darker balls in it."""
    x, y, z = axes
    size = np.array([np.ptp(a) + voxel for a in axes])
    out = np.sqrt((x / size[0]) ** 2 + (y / size[1]) ** 2 + (z / size[2]) ** 2) - 0.42
    image = 0.5 / (1 + np.exp(60 * out))
    for _ in range(12):
        place, radius = (random.random(3) - 0.5) * 0.5 * size, voxel * (2 + 3 * random.random())
        d = np.sqrt((x - place[0]) ** 2 + (y - place[1]) ** 2 + (z - place[2]) ** 2)
        image += random.choice([-0.3, 0.5]) / (1 + np.exp(2 * (d - radius) / voxel))
    return np.maximum(image, 0)


def plane(side: int) -> np.ndarray:
    """side x side transducers, 102.4 mm wide, 25.5 mm above the centre."""
    x, y = np.meshgrid(*[(np.arange(side) - (side - 1) / 2) * 102.4 / side] * 2)
    return np.stack([x.ravel(), y.ravel(), np.full(x.size, 25.5)], 1)


def sphere(n: int) -> np.ndarray:
    """n transducers, spread evenly over a sphere of 40 mm."""
    i = np.arange(n) + 0.5
    cos, turn = 1 - 2 * i / n, np.pi * (1 + 5**0.5) * i
    sin = np.sqrt(1 - cos * cos)
    return 40 * np.stack([sin * np.cos(turn), sin * np.sin(turn), cos], 1)


CASES = {
    "vessels, plane of 64": (vessels, plane(8), (64, 64, 32)),
    "vessels, sphere of 256": (vessels, sphere(256), (48, 48, 24)),
    "organ, plane of 256": (organ, plane(16), (64, 64, 32)),
}
METHODS: dict[str, Callable[..., Any]] = {
    "cg": isotome.cg,
    "cg --nonneg": isotome.fista,
    "nncg": lambda A, u, **more: isotome.cg(A, u, nonneg=True, **more),
    "image": lambda A, u, **more: isotome.cg(A, u, nonneg=True, precondition="image", **more),
}


def row(make: Callable, places: np.ndarray, grid: tuple[int, int, int], folder: str) -> list[str]:
    voxel, random = 0.8, np.random.default_rng(1)
    x, y, z = ((np.arange(n) - (n - 1) / 2) * voxel for n in grid)
    truth = make((x, y[:, None], z[:, None, None]), voxel, random).astype(np.float32)
    np.save(f"{folder}/places.npy", places)
    Path(f"{folder}/array.yaml").write_text(
        "{kind: transducers, positions: places.npy, speed_mm_per_us: 1.5, sampling_mhz: 10, first_sample_us: 0, "
        "samples: 1024}"
    )
    silent = np.zeros((len(places), 1024), np.float32)
    A = isotome.svoxel(silent, scanner=f"{folder}/array.yaml", grid=grid, voxel=voxel, fmax_mhz=0.93).operator()
    u = A(truth)
    noise = random.standard_normal(u.shape, np.float32)
    u += 0.05 * np.linalg.norm(u) / np.linalg.norm(noise) * noise
    cells = []
    for method in METHODS.values():
        found: list[str] = []

        def look(step: Any, found: list[str] = found) -> None:
            if step.iteration in COUNTS:
                error = np.linalg.norm(step.image - truth) / np.linalg.norm(truth)
                found.append(f"{np.sqrt(step.objective) / np.linalg.norm(u):.3f}, {error:.2f}")

        method(A, u, iterations=max(COUNTS), callback=look)
        cells.append("; ".join(found))
    return cells


def main() -> None:
    warnings.simplefilter("ignore", isotome.IsotomeWarning)
    print(f"| | {' | '.join(METHODS)} |")
    print("| --- " * (1 + len(METHODS)) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            print(f"| {name} | {' | '.join(row(*case, folder))} |", flush=True)


if __name__ == "__main__":
    main()
