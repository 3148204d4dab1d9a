#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ki of Patlak straight from the events against fits of frames, at equal bias.

    kinetics_study.py [--scans N] [--counts N] [--pictures FOLDER] [--json FILE]

A disk of 160 mm in a small ring has Patlak tissue of three kinds. Each scan of an hour has 8 time bins of 300 s from 1200 s on;
both ways take OSEM with 4 subsets and the same bins, and stop after 1 to 20 iterations. Bias is the root mean square over
the body of (mean over scans - truth), without what noise adds to it; sd that of the standard deviation over scans. Both are
over the mean of the truth, after one factor for all voxels that gives the body its mean: the scans are not calibrated.
Pictures, by matplotlib: both Ki maps of the first scan where their bias is nearest to the target, and the curves. Needs `isotome` on the PATH.
"""
import argparse
import json
import os
import subprocess
import tempfile

import nibabel as nib
import numpy as np

SIZE, VOXEL = 24, 8.0
STOPS = (1, 2, 3, 4, 6, 9, 14, 20)
TARGET = 0.2  # bias at which the two are compared
RING = """\
kind: cylinder
radius_mm: 150
rings: 3
ring_pitch_mm: 10
crystals_per_ring: 144
min_crystal_distance: 30
pair_weight: solid-angle
tof: {fwhm_ps: 400}
"""
RECON = ["recon", "ray", "--events", "e.Cdh", "--grid", f"{SIZE},{SIZE},2", "--voxel", f"{VOXEL},{VOXEL},12"]
RECON += ["--isotope", "F-18", "--method", "osem", "--subsets", "4", "--frames", "1200:300:3600"]
INPUT = ["--input", "blood.csv", "--input-unit", "Bq/mL"]


def isotome(*words):
    subprocess.run(["isotome", *map(str, words), "--force", "--threads", "1"], check=True, capture_output=True)


def write_truth():
    """Ki in 1/min, (x, y, z), and where the body is; truth.nii, body.nii, blood.csv, basis.csv."""
    x, y = np.mgrid[:SIZE, :SIZE] * VOXEL - (SIZE - 1) / 2 * VOXEL
    body, hot = np.hypot(x, y) < 80, np.hypot(x - 35, y) < 20
    warm = np.hypot(x + 35, y + 10) < 20
    ki = np.select([hot, warm, body], [0.03, 0.012, 0.004], 0)
    v0 = np.select([warm, body], [0.8, 0.3], 0)
    axes = np.diag([VOXEL, VOXEL, 12, 1])
    axes[:3, 3] = -(SIZE - 1) / 2 * VOXEL, -(SIZE - 1) / 2 * VOXEL, -6
    theta = np.stack([ki / 60, v0], -1)[:, :, None, :].repeat(2, 2)
    nib.Nifti1Image(theta.astype("f4"), axes).to_filename("truth.nii")
    nib.Nifti1Image(body[:, :, None].repeat(2, 2).astype("f4"), axes).to_filename("body.nii")
    t = np.unique(np.r_[np.arange(0, 60, 2), np.arange(60, 300, 10), np.arange(300, 3601, 60.0)])
    s = np.maximum(t - 20, 0) / 60
    blood = np.maximum(0, 50 * ((850 * s - 43) * np.exp(-4.1 * s) + 22 * np.exp(-0.12 * s) + 21 * np.exp(-0.01 * s)))
    np.savetxt("blood.csv", np.stack([t, blood], 1), "%.9g", ",", header="time,c", comments="")
    fine = np.unique(np.r_[np.arange(0, 3601, 5.0), t])
    c = np.interp(fine, t, blood)
    area = np.r_[0, np.cumsum(np.diff(fine) * (c[1:] + c[:-1]) / 2)]
    np.savetxt("basis.csv", np.stack([fine, area, c], 1), "%.9g", ",", header="time,a,b", comments="")
    return ki[:, :, None].repeat(2, 2), body


def scan(seed, counts):
    """Ki of a scan at every stop, direct and indirect: (2, stops, x, y, z)."""
    how = ["--basis", "basis.csv", "--counts", counts, "--duration-s", 3600, "--isotope", "F-18", "--seed", seed]
    isotome("simulate", "ring.yaml", "truth.nii", *how, "-o", "e.Cdh")
    last = STOPS[-1]
    isotome(*RECON, "--iterations", last, "--save-every", 1, "--kinetics", "patlak", *INPUT, "--unitless", "-o", "d.nii")
    found = np.empty((2, len(STOPS), SIZE, SIZE, 2))
    for k, stop in enumerate(STOPS):
        names = ["d.nii"] if stop == last else [f"d_it{stop:03d}.nii", f"d_f01_it{stop:03d}.nii"]
        found[0, k] = 60 * nib.load(next(f for f in names if os.path.exists(f))).get_fdata()[..., 0]
        isotome(*RECON, "--iterations", stop, "-o", "f.nii")
        isotome("kinetics", "f.nii", *INPUT, "--mask", "body.nii", "-o", "i.nii")
        found[1, k] = nib.load("i_Ki.nii").get_fdata()
    return found


def measure(found, truth, body):
    """Bias and sd over the mean: (2, stops) each; and the images on the scale of the truth."""
    scale = truth[body].mean() / found[:, :, -1][..., body, :].mean(axis=(0, 2, 3))
    found = found * scale[None, :, None, None, None, None]
    variance = found.var(0, ddof=1)
    off = (found.mean(0) - truth) ** 2 - variance / len(found)
    root = [np.sqrt(np.maximum(0, v[..., body, :].mean((-2, -1)))) / truth[body].mean() for v in (off, variance)]
    return *root, found


def at_bias(bias, sd, target):
    """sd where the bias first falls to the target, between stops; NaN: never."""
    for k in range(1, len(bias)):
        if bias[k] <= target < bias[k - 1]:
            part = (bias[k - 1] - target) / (bias[k - 1] - bias[k])
            return sd[k - 1] + part * (sd[k] - sd[k - 1])
    return sd[0] if bias[0] <= target else np.nan


def draw(folder, bias, sd, found, truth, target):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    os.makedirs(folder, exist_ok=True)
    picks = [int(np.abs(b - target).argmin()) for b in bias]
    for name, image in ("truth", truth), ("direct", found[0, 0, picks[0]]), ("indirect", found[0, 1, picks[1]]):
        flat = np.clip(image[:, :, 0].T[::-1], 0, 0.04) / 0.04
        plt.imsave(os.path.join(folder, name + ".png"), np.kron(flat, np.ones((8, 8))), cmap="inferno", vmin=0, vmax=1)
    figure, axes = plt.subplots(figsize=(5.2, 3.4), dpi=110)
    for k, (name, mark) in enumerate((("direct", "o-"), ("indirect", "s--"))):
        axes.plot(bias[k], sd[k], mark, label=name, ms=4)
    axes.set(xlabel="bias of Ki over its mean", ylabel="sd of Ki over its mean", xlim=(0, None), ylim=(0, None))
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(os.path.join(folder, "bias.png"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scans", type=int, default=20)
    parser.add_argument("--counts", default="4e5")
    parser.add_argument("--target", type=float, default=TARGET)
    parser.add_argument("--pictures")
    parser.add_argument("--json")
    args = parser.parse_args()
    start = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("ring.yaml", "w") as f:
            f.write(RING)
        truth, body = write_truth()
        found = np.stack([scan(seed + 1, args.counts) for seed in range(args.scans)])
        os.chdir(start)
    bias, sd, found = measure(found, truth, body)
    for k, name in enumerate(("direct", "indirect")):
        for stop, b, s in zip(STOPS, bias[k], sd[k]):
            print(f"{name:9s} {stop:2d} iterations: bias {b:.3f}, sd {s:.3f}")
    pair = [at_bias(bias[k], sd[k], args.target) for k in range(2)]
    print(f"at a bias of {args.target}: sd {pair[0]:.3f} direct, {pair[1]:.3f} indirect, ratio {pair[0] / pair[1]:.2f}")
    if args.pictures:
        draw(os.path.join(start, args.pictures), bias, sd, found, truth, args.target)
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"bias": bias.tolist(), "sd": sd.tolist(), "at_target": pair}, f, indent=1)


if __name__ == "__main__":
    main()
