#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Error bars of replicates, and of --fisher, against the spread over independent scans of the same object.

    replicates_study.py [--scans N] [--counts N] [--replicates R] [--json FILE]

A disk with ten regions in a small ring. Each scan is reconstructed with R replicates (MLEM), and by lbfgs with a quadratic
penalty and --fisher. Printed are, for each region, the variance that a scan tells of itself (mean over scans) over the variance of
the region over scans; and how often 95 % intervals hold the mean of all scans. Needs `isotome` on the PATH.
"""
import argparse
import json
import os
import subprocess
import tempfile

import nibabel as nib
import numpy as np

SIZE, VOXEL, REGIONS = 20, 8.0, 10
RING = """\
kind: cylinder
radius_mm: 130
rings: 3
ring_pitch_mm: 10
crystals_per_ring: 144
min_crystal_distance: 30
pair_weight: solid-angle
tof: {fwhm_ps: 400}
"""
RECON = ["recon", "ray", "--events", "e.Cdh", "--scanner", "ring.yaml", "--grid", f"{SIZE},{SIZE},2", "--voxel",
         f"{VOXEL},{VOXEL},12", "--regions", "labels.nii"]


def isotome(*words):
    subprocess.run(["isotome", *map(str, words), "--force", "--threads", "1"], check=True, capture_output=True)


def write_object():
    """object.nii, and labels.nii with ten squares of 3 x 3 voxels of its values 0.3 to 2."""
    x, y = np.mgrid[:SIZE, :SIZE] * VOXEL - (SIZE - 1) / 2 * VOXEL
    activity, labels = (np.hypot(x, y) < 72).astype("f4"), np.zeros((SIZE, SIZE), "f4")
    for k in range(REGIONS):
        a = 2 * np.pi * k / (REGIONS - 1)
        i, j = (9, 9) if k == REGIONS - 1 else (int(9.5 + 6 * np.cos(a)), int(9.5 + 6 * np.sin(a)))
        labels[i - 1:i + 2, j - 1:j + 2] = k + 1
        activity[i - 1:i + 2, j - 1:j + 2] = 0.3 + 1.7 * (k % 5) / 4
    axes = np.diag([VOXEL, VOXEL, 12, 1])
    axes[:3, 3] = -(SIZE - 1) / 2 * VOXEL, -(SIZE - 1) / 2 * VOXEL, -6
    for name, image in (("object.nii", activity), ("labels.nii", labels)):
        nib.Nifti1Image(image[:, :, None].repeat(2, 2), axes).to_filename(name)


def table(name):
    with open(name) as f:
        head = f.readline().split()
        rows = np.array([[float(v) for v in line.split()] for line in f])
    return {key: rows[:, i] for i, key in enumerate(head)}


def scan(seed, o):
    isotome("simulate", "ring.yaml", "object.nii", "--counts", o.counts, "--duration-s", 60, "--seed", seed, "-o", "e.Cdh")
    isotome(*RECON, "--method", "mlem", "--iterations", 12, "--replicates", o.replicates, "-o", "r.nii")
    isotome(*RECON, "--method", "lbfgs", "--penalty", "quadratic:rel=0.2", "--iterations", 60, "--fisher", "-o", "f.nii")
    return table("r_regions.tsv"), table("f_regions.tsv")


def compare(tables):
    value, sd, low, high = (np.array([t[key] for t in tables]) for key in ("value", "sd", "low", "high"))
    mean = value.mean(0)
    return {"ratio": ((sd**2).mean(0) / value.var(0, ddof=1)).tolist(), "covered": float(((low <= mean) & (mean <= high)).mean())}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--scans", type=int, default=100)
    p.add_argument("--counts", type=float, default=2e4)
    p.add_argument("--replicates", type=int, default=20)
    p.add_argument("--json")
    o = p.parse_args()
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("ring.yaml", "w") as f:
            f.write(RING)
        write_object()
        tables = [scan(seed, o) for seed in range(1, o.scans + 1)]
        os.chdir(home)
    out = {name: compare([t[i] for t in tables]) for i, name in enumerate(("replicates", "fisher"))}
    for name, v in out.items():
        print(f"{name}: variance over that of {o.scans} scans: mean of {REGIONS} regions {np.mean(v['ratio']):.3f}, "
              f"{min(v['ratio']):.2f} to {max(v['ratio']):.2f}; intervals hold the mean in {100 * v['covered']:.1f} %")
    if o.json:
        with open(o.json, "w") as f:
            json.dump(vars(o) | out, f, indent=1)


if __name__ == "__main__":
    main()
