#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints the tables of docs/dual-head.md on the noise of a matrix and the images made with it.

    scripts/pictures/dual_head.py [PROGRAM]      default: build/isotome

A small scanner, so that its whole matrix fits memory as an array. The data are noise-free: the
reference matrix times an object; they are reconstructed with matrices of fewer pairs. An image's
error is against the one that the reference matrix gives. Takes some minutes on two cores."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

N, D, PLANES = 10, 2, 8                 # crystals and voxels a pitch along x and z; planes
REFERENCE, DRAWS, ITERATIONS = 2e7, 3, 10
PAIRS = (3e3, 1e4, 3e4, 1e5, 3e5, 1e6)
SHARES = (.5, .7, .8, .9, .95)
SCANNER = f"""kind: panels
crystals: [{N}, {N}]
pitch_mm: [2, 2]
crystal_mm: [2, 2, 13]
gap_mm: 20
planes: {PLANES}
plane_mm: 1
voxels_per_pitch: [{D}, {D}]
"""


def make(program, pairs, seed, share):
    """Rows of a matrix, and what the program says of it."""
    name = f"m{seed}.srm"
    if not os.path.exists(name):
        subprocess.run([program, "srm", "s.yaml", "--pairs", f"{pairs:.0f}", "--seed", str(seed),
                        "-q", "-o", name], check=True)
    subprocess.run([program, "srm", name, "--share", str(share), "--export", "rows.npy", "-q",
                    "--force", "-o", "cut.srm"], check=True)
    said = subprocess.run([program, "info", "--json", name], check=True, capture_output=True).stdout
    return np.load("rows.npy"), json.loads(said)[0]


def expand(rows):
    """(LORs, voxels) from the folded table: mirrors of x and z, exchange of the heads, shifts."""
    index, weight = rows[:, :7].astype(int), rows[:, 7]
    h = np.zeros((N,) * 4 + (PLANES, N, D, N, D), "f4")
    for turn in range(8):
        y, px, pz, ux, uz, lx, lz = index.T
        if turn & 1:
            px, ux, lx = D - 1 - px, -ux, -lx
        if turn & 2:
            pz, uz, lz = D - 1 - pz, -uz, -lz
        if turn & 4:
            y, ux, uz, lx, lz = PLANES - 1 - y, lx, lz, ux, uz
        for sx in range(N):
            for sz in range(N):
                crystals = np.stack((ux + sx, uz + sz, lx + sx, lz + sz))
                fits = ((crystals >= 0) & (crystals < N)).all(0)
                a, b, c, d = crystals[:, fits]
                h[a, b, c, d, y[fits], sx, px[fits], sz, pz[fits]] = weight[fits]
    return h.reshape(N**4, -1)


def mlem(h, data):
    x, sens = np.ones(h.shape[1], "f4"), h.sum(0)
    for _ in range(ITERATIONS):
        x = divide(x * (divide(data, h @ x) @ h), sens)
    return x


def divide(a, b):
    return np.divide(a, b, out=np.zeros_like(b), where=b > 0)


def object_voxels():
    """A disc of 12 mm diameter, 4 mm thick: 2, with a core of 4 mm: 1, in a background of 0.5."""
    y, x, z = [i - (n - 1) / 2 for i, n in zip(np.indices((PLANES, N * D, N * D)),
                                               (PLANES, N * D, N * D))]
    f = np.full(x.shape, .5, "f4")
    disc = (x * x + z * z < 36) & (abs(y) < 2)
    f[disc] = 2
    f[disc & (x * x + z * z < 4)] = 1
    return f.ravel(), disc.ravel()


def error(x, best, inside):
    """rms of the difference inside the disc over the mean, with the scale that fits best."""
    x, best = x[inside].astype(float), best[inside].astype(float)
    x = x * (x @ best) / (x @ x)
    return 100 * np.sqrt(np.mean((x - best) ** 2)) / best.mean()


def main():
    program = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else
                               os.path.join(os.path.dirname(__file__), "../../build/isotome"))
    f, inside = object_voxels()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        with open("s.yaml", "w") as out:
            out.write(SCANNER)
        h = expand(make(program, REFERENCE, 1, 1)[0])
        data = h @ f
        best = mlem(h, data)
        print(f"image of the reference against the object: {error(f, best, inside):.2f} %")
        for share in SHARES:
            rows = make(program, REFERENCE, 1, share)[0]
            print(f"reference cut to {100 * share:.0f} %: {len(rows)} elements, "
                  f"error {error(mlem(expand(rows), data), best, inside):.2f} %")
        print("| pairs a voxel | counts in the core | hit once | error, % (all elements) | 80 % |")
        print("| --- | --- | --- | --- | --- |")
        seed = 1
        for pairs in PAIRS:
            errors = []
            for _ in range(DRAWS):
                seed += 1
                whole, said = make(program, pairs, seed, 1)
                cut = make(program, pairs, seed, .8)[0]
                errors.append([error(mlem(expand(r), data), best, inside) for r in (whole, cut)])
            low, mean, high = np.min(errors, 0), np.mean(errors, 0), np.max(errors, 0)
            cells = " | ".join(f"{m:.2g} ({a:.2g}-{b:.2g})" for a, m, b in zip(low, mean, high))
            noise = said["noise"]
            print(f"| {pairs:.0e} | {noise['core_counts']:.3g} | {noise['hit_once']:.2f} | "
                  f"{cells} |", flush=True)


main()
