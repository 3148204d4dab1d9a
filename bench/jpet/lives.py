#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bias and spread of lives of positronium in regions, over many data sets, beside the errors that the maps tell.

    bench/jpet/lives.py PROGRAM FOLDER [--sets N] [--triples N] [--lives A,B] [--body T] [--voxel MM] [--methods M,...]
                        [--penalty P] [--random F] [--device NAME] [--threads N] [--seconds S]

A cylinder of 120 x 160 mm has two inserts of 40 mm over its length, with lives A and B ns in a body of T; the share of
ortho-positronium is 0.3 and known. Modular J-PET sees each data set with random numbers of its own. Printed for both inserts
(the inner 24 mm of them) and the body: the mean over the sets less the truth, the spread of the sets, the mean error told, and
the triples of the region; and how many triples of a region would bring the spread to 50 ps.
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from images import grid, save

ROOT = Path(__file__).resolve().parent.parent.parent
SCANNER = ROOT / "examples" / "scanners" / "jpet-modular.yaml"


def body(n, h, lives, rest):
    z, y, x = grid(n, h)
    left, right, far = np.hypot(x + 28, y), np.hypot(x - 28, y), np.hypot(x, y)
    tau = np.where(left < 20, lives[0], np.where(right < 20, lives[1], rest))
    region = np.where(left < 12, 1, np.where(right < 12, 2, (far < 48) * (np.minimum(left, right) > 30) * 3))
    return (far < 60) * (np.abs(z) < 80) * 1., tau, region * (np.abs(z) < 70)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--triples", type=float, default=1e6)
    parser.add_argument("--lives", default="1.5,1.9")
    parser.add_argument("--body", type=float, default=2.2)
    parser.add_argument("--voxel", type=float, default=8)
    parser.add_argument("--methods", default="moment,emg")
    parser.add_argument("--penalty", default="quadratic:rel=0.2")
    parser.add_argument("--random", type=float, default=0, help="share of random triples")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no set after so many")
    a = parser.parse_args()
    lives = [float(t) for t in a.lives.split(",")]
    truth = [*lives, a.body]
    Path(a.folder).mkdir(parents=True, exist_ok=True)
    f = lambda name: f"{a.folder}/{name}"
    common = ["--quiet", "--force", *(["--threads", str(a.threads)] if a.threads else [])]

    def run(*words):
        subprocess.run([a.program, *map(str, words), *common], check=True)

    fine = body((40, 32, 32), 4, lives, a.body)
    save(f("activity.nii"), fine[0], 4)
    save(f("tau.nii"), fine[1], 4)
    n = [int(np.ceil(s / a.voxel)) for s in (176, 136, 136)]
    save(f("regions.nii"), body(n, a.voxel, lives, a.body)[2], a.voxel)
    words = {"moment": ["--error", "diag"],
             "emg": [*(["--penalty", a.penalty] if a.penalty != "none" else []), "--error", "diag"]}
    found = {m: [] for m in a.methods.split(",")}
    spent = dict.fromkeys([*found, "simulate"], 0.)
    started, sets = time.monotonic(), 0
    for k in range(a.sets):
        began = time.monotonic()
        if began - started > a.seconds:
            break
        sets += 1
        run("simulate", SCANNER, f("activity.nii"), "--counts", a.triples, "--seed", 100 + k, "--lifetime", f("tau.nii") + ",0.3",
            *(["--random-triples", a.random, "--lifetime-window=-20,15"] if a.random else []), "-o", f("t.npy"))
        spent["simulate"] += time.monotonic() - began
        for m in found:
            began = time.monotonic()
            # errors of regions are exact with emg; those of moments come from repeats, in the first set alone
            repeats = ["--error", "bootstrap:20"] if m == "moment" and k == 0 else words[m]
            run("lifetime", "barrel", "--events", f("t.npy"), "--scanner", SCANNER, "--grid", ",".join(map(str, n[::-1])),
                "--voxel", a.voxel, "--intensity", .3, "--method", m, *repeats, "--min-counts", 1, "--iterations", 20,
                *(["--background=-19,-3"] if a.random else []), "--regions", f("regions.nii"), "--device", a.device, "-o", f("o.nii"))
            spent[m] += time.monotonic() - began
            r = json.load(open(f("o.json")))["results"]["lifetime_regions"]
            found[m].append([[q["tau_ns"], q["error_ns"] if q["error_ns"] is not None else np.inf, np.sum(q["curve_counts"]) or np.nan] for q in r])
    print("%d sets of %.3g triples, %s; seconds a set: " % (sets, a.triples, a.device) + ", ".join("%s %.2f" % (m, s / sets) for m, s in spent.items()))
    print("%-7s %6s %8s %8s %8s %9s %8s %12s" % ("method", "life", "mean", "bias", "spread", "told", "ratio", "for 50 ps"))
    for m, v in found.items():
        v = np.array(v, float)
        for k, t in enumerate(truth):
            tau, told = v[:, k, 0], v[:, k, 1]
            told = told[np.isfinite(told)]
            spread, counts = tau.std(ddof=1), v[:, k, 2].mean()
            print("%-7s %6.2f %8.4f %8.4f %8.4f %9.4f %8.2f %12.3g" % (
                m, t, tau.mean(), tau.mean() - t, spread, told.mean(), spread / told.mean(), counts * (spread / .05)**2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
