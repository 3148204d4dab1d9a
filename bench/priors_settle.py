#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Passes over the data until penalised likelihood is within 1 % of its maximum, on eight scans of 0.3 to 1000 counts a voxel.

    priors_settle.py [--passes N] [--problems 1,2,...] [--methods NAMES] [--device NAME] [--threads N] [--json FILE]

A cylinder in a small ring, with and without time of flight, with and without randoms (a quarter of the events), relative
differences of rel=0.2. Each method runs by its defaults for N passes (60), the one of the start included. The image that it is
compared with is that of lbfgs, from where svrg came to, until its KKT residual is 1e-4, or 500 evaluations more change it by
less than 1e-6: in scans with few counts the residual of a float image is no smaller. The error is the root mean square
over the voxels that lines see, over the mean of the maximum there; "passes to 1 %" are those after which it stays at
0.01 or below. It is looked at after each pass over all subsets.
"""
import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from typing import NamedTuple

import numpy as np

import isotome

RING = """\
kind: cylinder
radius_mm: 120
rings: 6
ring_pitch_mm: 12
crystals_per_ring: 144
min_crystal_distance: 36
pair_weight: solid-angle
tof: {fwhm_ps: 300}
"""
NEAR = 0.01
KKT = 1e-4
STILL = 1e-6  # change of the reference, over its mean
REFINE = 8  # times that lbfgs begins anew, at most
RELATIVE = 0.2


class Scan(NamedTuple):
    counts: float
    voxel: float  # mm, of a grid of 192 x 192 x 72 mm
    tof: bool
    randoms: bool


SCANS = [
    Scan(4e3, 6, True, True),
    Scan(4e3, 6, False, True),
    Scan(1.2e4, 6, True, False),
    Scan(6e3, 12, True, True),
    Scan(6e3, 12, False, False),
    Scan(2e4, 12, True, False),
    Scan(1.5e5, 12, False, True),
    Scan(1.5e6, 12, True, True),
]


class Problem:
    """A scan, its sensitivity and its maximum."""

    def __init__(self, scan, folder, context):
        self.scan, self.context = scan, context
        ring = os.path.join(folder, "ring.yaml" if scan.tof else "plain.yaml")
        with open(ring, "w") as out:
            out.write(RING if scan.tof else RING[: RING.index("tof")])
        n = [round(mm / scan.voxel) for mm in (192, 192, 72)]
        truth = isotome.phantom("cylinder", grid=n, voxel=[scan.voxel] * 3)
        share = 0.25 if scan.randoms else 0
        self.events = isotome.simulate(truth, ring, counts=scan.counts, randoms=share, seed=5)
        info = self.events.info
        additive = info.randoms_per_pair_mm if scan.tof else info.randoms_per_pair
        self.given = dict(scanner=ring, grid=n, voxel=[scan.voxel] * 3, context=context)
        if scan.randoms:
            self.given["additive"] = repr(additive)
        self.sens = isotome.ray(self.events, **self.given).sensitivity()
        self.seen = np.asarray(self.sens) > 0
        self.find_maximum()

    def method(self, name, **more):
        return isotome.ray(self.events, sens=self.sens, **self.given, method=name, **more)

    def find_maximum(self):
        """The maximum, and the penalty as it is with the start that all methods have."""
        near = self.method("svrg", penalty=f"rdp:rel={RELATIVE}", iterations=60, tolerance=0)
        x = near.reconstruct()
        of = near.record["results"]["map"]
        self.penalty = f"rdp:{of['beta']!r},epsilon={of['epsilon']!r}"
        for _ in range(REFINE):
            best = self.method("lbfgs", penalty=self.penalty, iterations=500, tolerance=KKT, start=x)
            before, x = x, best.reconstruct()
            self.found = best.record["results"]["map"]
            self.best = np.asarray(x, float)[self.seen]
            if self.found["kkt"] <= KKT or self.error(before) < STILL:
                return
        raise SystemExit(f"lbfgs did not settle: KKT residual {self.found['kkt']:.2g}")

    def error(self, image):
        x = np.asarray(image, float)[self.seen]
        return float(np.sqrt(np.mean((x - self.best) ** 2)) / self.best.mean())


def passes_after(of, method, epochs):
    """Passes over the data when so many epochs were done, by the looks of the record. Looks of svrg and saga are at anchors,
    before their update, with the pass that an anchor takes."""
    looks, updates, anchors = of["looks"], epochs * of["subsets"], method in ("svrg", "saga")
    i = [i for i, u in enumerate(looks["updates"]) if u < updates + (not anchors)][-1]
    return looks["passes"][i] + (updates - looks["updates"][i] - anchors) / of["subsets"]


def settle(problem, method, passes, options):
    """Passes and errors after each epoch of a run, and what its record says."""
    errors = []
    run = problem.method(method, penalty=problem.penalty, iterations=passes, tolerance=0, **options)
    run.reconstruct(callback=lambda step: errors.append(problem.error(step.image)))
    of = run.record["results"]["map"]
    return [passes_after(of, method, k + 1) for k in range(len(errors))], errors, of


def reached(passes, errors):
    """Passes after which all errors are within NEAR; None: never."""
    far = [i for i, e in enumerate(errors) if not e <= NEAR]
    first = far[-1] + 1 if far else 0
    return passes[first] if first < len(errors) else None


def report(rows, methods):
    print("| counts a voxel | time of flight | randoms | " + " | ".join(methods) + " | reference |")
    print("| --- " * (4 + len(methods)) + "|")
    for row in rows:
        cells = []
        for method in methods:
            of = row["methods"][method]
            to = "not" if of["passes"] is None else f"{of['passes']:.0f}"
            share = 100 * of["last"]
            cells.append(f"{to} ({share:.0f} %)" if share >= 10 else f"{to} ({share:.2g} %)")
        yes = ["yes" if row[what] else "no" for what in ("tof", "randoms")]
        print(f"| {row['counts_a_voxel']:.3g} | " + " | ".join(yes + cells) + f" | KKT {row['kkt']:.1g} |")


def study(problem, number, methods, passes, options):
    """The row of a scan: what each method came to."""
    row = dict(
        problem=number,
        counts_a_voxel=len(problem.events) / int(problem.seen.sum()),
        kkt=problem.found["kkt"],
        objective=problem.found["looks"]["objective"][-1],
        methods={},
        **problem.scan._asdict(),
    )
    for method in methods:
        at, errors, found = settle(problem, method, passes, options)
        told = {name: found[name] for name in ("step", "went_back", "terms_cut", "subsets")}
        row["methods"][method] = of = dict(passes=reached(at, errors), last=errors[-1], errors=errors, at=at, **told)
        print(f"{number}, {method}: 1 % after {of['passes']}, last {errors[-1]:.5f}, {told}", file=sys.stderr, flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=int, default=60)
    parser.add_argument("--problems", default="", help="numbers from 1 to 8; all")
    parser.add_argument("--methods", default="svrg,saga,bsrem")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of every method")
    of = parser.parse_args()
    context = isotome.Context(of.device, threads=of.threads) if of.threads else isotome.Context(of.device)
    chosen = [int(n) for n in of.problems.split(",") if n] or range(1, len(SCANS) + 1)
    methods, options = of.methods.split(","), dict(pair.split("=") for pair in of.set)
    warnings.simplefilter("ignore", isotome.IsotomeWarning)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        rows = [study(Problem(SCANS[n - 1], folder, context), n, methods, of.passes, options) for n in chosen]
    report(rows, methods)
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    if of.json:
        with open(of.json, "w") as out:
            json.dump(rows, out, indent=1)


if __name__ == "__main__":
    main()
