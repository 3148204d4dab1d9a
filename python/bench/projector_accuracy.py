#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How close projected lines are to the lengths that geometry gives, for every projector of model ray and for
libparallelproj; with adjointness, time and memory. Prints the tables of docs/projector-accuracy.md.

    PYTHONPATH=python ISOTOME_LIBRARY=build python3 python/bench/projector_accuracy.py
    ... projector_accuracy.py --libparallelproj libparallelproj_c.so     with a build of its C library (1.10)

Lines are drawn at random between points of a ring of 330 mm radius and 200 mm length. Objects are known by formula: the
box of the whole image, a cylinder and a sphere. A voxel on the edge of an object has the share of its volume that lies inside,
by 8 x 8 x 8 points. A line counts if it meets the object; it is off if projected and exact length differ by more than
--off mm. "4 lines" are the mean of four lines between crystals of 4 x 4 mm, compared with the length on the line in their
middle. Each projector runs in a process of its own,
on one thread; times are of the processor, the least of three, memory is what the process grew by with the lines given.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

RADIUS, LENGTH = 330.0, 200.0  # mm, of the ring
CENTRE = np.array([7.0, -5.0, 3.0])  # mm, of cylinder and sphere: on no edge of a voxel
OBJECTS = {"box": None, "cylinder": 100.0, "sphere": 50.0}  # radius, mm
SCANNER = "{kind: cylinder, radius_mm: 330, rings: 50, ring_pitch_mm: 4, crystals_per_ring: 512, crystal_mm: [4, 4, 20]}"
POINTS = 8  # along each axis of a voxel
PROJECTORS = {
    "slice": {},
    "joseph": {"projector": "joseph"},
    "slice, 4 lines": {"rays": 4},
    "joseph, 4 lines": {"projector": "joseph", "rays": 4},
    "libparallelproj": None,
}


# ---- lines, objects and their exact lengths ----


def lines_of(n, seed=1):
    random = np.random.default_rng(seed)
    a = random.uniform(0, 2 * np.pi, n)
    b = a + np.pi + random.uniform(-0.9, 0.9, n)
    z = random.uniform(-LENGTH / 2, LENGTH / 2, (2, n))
    return np.stack([RADIUS * np.cos(a), RADIUS * np.sin(a), z[0], RADIUS * np.cos(b), RADIUS * np.sin(b), z[1]], axis=1)


def between(low, high, p, d):
    """Where p + t d is between two planes, as an interval of t."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.sort([(low - p) / d, (high - p) / d], axis=0)
    return t[0], t[1]


def round_part(radius, p, d):
    """Where p + t d is within a radius of CENTRE, over the axes that p and d have."""
    p = p - CENTRE[: p.shape[1]]
    a, b, c = (d * d).sum(1), (p * d).sum(1), (p * p).sum(1) - radius**2
    root = np.sqrt(np.maximum(b * b - a * c, 0))
    return (-b - root) / a, (-b + root) / a


def exact(name, lines, half):
    """Length of each line in the object, mm; half: the box's half sizes, within which all objects lie."""
    p, d = lines[:, :3], lines[:, 3:] - lines[:, :3]
    first, last = np.zeros(len(p)), np.ones(len(p))
    parts = [between(-h, h, p[:, k], d[:, k]) for k, h in enumerate(half)]
    if name != "box":
        axes = 2 if name == "cylinder" else 3
        parts.append(round_part(OBJECTS[name], p[:, :axes], d[:, :axes]))
    for low, high in parts:
        first, last = np.maximum(first, low), np.minimum(last, high)
    return np.maximum(last - first, 0) * np.linalg.norm(d, axis=1)


def image_of(name, n, voxel):
    """(nz, ny, nx): the share of each voxel inside the object."""
    if name == "box":
        return np.ones(n[::-1], np.float32)
    x, y, z = (((np.arange(k * POINTS) + 0.5) / POINTS - k / 2) * voxel - c for k, c in zip(n, CENTRE))
    image = np.empty(n[::-1], np.float32)
    for k in range(n[2]):
        across = x[None, None, :] ** 2 + y[None, :, None] ** 2
        if name == "sphere":
            across = across + z[k * POINTS : (k + 1) * POINTS, None, None] ** 2
        inside = (across < OBJECTS[name] ** 2).mean(axis=0, dtype=np.float32)
        image[k] = inside.reshape(n[1], POINTS, n[0], POINTS).mean(axis=(1, 3))
    return image


# ---- projectors ----


def isotome_pair(options, lines, n, voxel):
    import isotome

    events = np.concatenate([lines, np.zeros((len(lines), 1))], axis=1).astype(np.float32)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as scanner:
        scanner.write(SCANNER)
        scanner.flush()
        more = {**options, "scanner": scanner.name, "context": isotome.Context("cpu", threads=1)}
        A = isotome.ray(events, grid=n, voxel=voxel, sens="none", **more).operator()
    return A, A.adjoint


def libparallelproj_pair(path, lines, n, voxel):
    lib, shape = ctypes.CDLL(path), n[::-1]
    ends = [np.ascontiguousarray(lines[:, k : k + 3][:, ::-1], np.float32) for k in (0, 3)]  # its axes: z, y, x
    origin = np.array([-(k - 1) / 2 * voxel for k in shape], np.float32)
    size, grid = np.full(3, voxel, np.float32), np.array(shape, np.int32)

    def run(name, image, values):
        args = [ends[0], ends[1], image, origin, size, values]
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in args]
        getattr(lib, name)(*pointers, ctypes.c_longlong(len(lines)), ctypes.c_void_p(grid.ctypes.data))

    def forward(x):
        y = np.zeros(len(lines), np.float32)
        run("joseph3d_fwd", np.ascontiguousarray(x), y)
        return y

    def back(y):
        x = np.zeros(shape, np.float32)
        run("joseph3d_back", x, np.ascontiguousarray(y))
        return x

    return forward, back


# ---- one projector ----


def peak():
    """The most memory that this process had so far, KiB; what it had before it was started anew does not count."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def best_time(call, repeats=3):
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def measured(of, name):
    """What one projector does, as a dictionary."""
    n, voxel = tuple(of.grid), of.voxel
    lines = lines_of(of.lines)
    images = {object: np.load(os.path.join(of.images, f"{object}.npy")) for object in OBJECTS}
    before = peak()
    options = PROJECTORS[name]
    forward, back = (
        libparallelproj_pair(of.libparallelproj, lines, n, voxel)
        if options is None
        else isotome_pair(options, lines, n, voxel)
    )
    found = {"name": name, "objects": {}}
    for object, image in images.items():
        want, got = exact(object, lines, [k * voxel / 2 for k in n]), np.asarray(forward(image), float)
        met = want > 0
        error = got[met] - want[met]
        found["objects"][object] = {
            "lines": int(met.sum()),
            "off": float((abs(error) > of.off).mean()),
            "rms": float(np.sqrt((error**2).mean())),
            "mean": float(error.mean()),
            "largest": float(abs(error).max()),
        }
    random = np.random.default_rng(2)
    x = random.standard_normal(n[::-1], dtype=np.float32)
    y = random.standard_normal(len(lines), dtype=np.float32)
    ax, aty = np.asarray(forward(x), float), np.asarray(back(y), float)
    found["adjoint"] = abs(np.vdot(ax, y) - np.vdot(x, aty)) / (np.linalg.norm(ax) * np.linalg.norm(y))
    found["forward"], found["back"] = best_time(lambda: forward(x)), best_time(lambda: back(y))
    found["memory"] = peak() - before
    return found


# ---- tables ----


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100000)
    parser.add_argument("--grid", type=int, nargs=3, default=(128, 128, 64))
    parser.add_argument("--voxel", type=float, default=2, help="mm")
    parser.add_argument("--off", type=float, default=1, help="a line is off by more than so many mm")
    parser.add_argument("--libparallelproj", help="its C library; without it its rows are left out")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--images", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    of = parser.parse_args()
    if of.one:
        print(json.dumps(measured(of, of.one)))
        return
    with tempfile.TemporaryDirectory() as folder:
        for object in OBJECTS:
            np.save(os.path.join(folder, f"{object}.npy"), image_of(object, tuple(of.grid), of.voxel))
        found = all_of_them(of, folder)
    if of.json:
        print(json.dumps(found))
    else:
        tell(of, found)


def all_of_them(of, folder):
    found = []
    for name, options in PROJECTORS.items():
        if options is None and not of.libparallelproj:
            print("libparallelproj: left out, as --libparallelproj names no library", file=sys.stderr)
            continue
        run = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--one", name, "--images", folder],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        if run.returncode:
            sys.exit(f"{name}: {run.stderr}")
        found.append(json.loads(run.stdout))
    return found


def tell(of, found):
    nx, ny, nz = of.grid
    print(f"{of.lines} lines, {nx} x {ny} x {nz} voxels of {of.voxel:g} mm\n")
    for object in OBJECTS:
        print(f"{object}: {found[0]['objects'][object]['lines']} lines meet it\n")
        table(
            ["projector", f"off by more than {of.off:g} mm", "rms, mm", "mean, mm", "largest, mm"],
            (
                [f["name"], f"{100 * o['off']:.3g} %", f"{o['rms']:.3g}", f"{o['mean']:.2g}", f"{o['largest']:.3g}"]
                for f in found
                for o in [f["objects"][object]]
            ),
        )
    table(
        ["projector", "adjointness", "forward, us a line", "back, us a line", "memory, MiB"],
        (
            [
                f["name"],
                f"{f['adjoint']:.1e}",
                *(f"{1e6 * f[k] / of.lines:.3g}" for k in ("forward", "back")),
                f"{f['memory'] / 1024:.0f}",
            ]
            for f in found
        ),
    )


if __name__ == "__main__":
    main()
