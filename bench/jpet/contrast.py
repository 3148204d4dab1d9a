#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel of barrels is worth: hot spheres seen by modular J-PET, reconstructed by model barrel, and by model ray from the
same events.

    bench/jpet/contrast.py PROGRAM FOLDER [--events N] [--iterations N] [--every N] [--device NAME] [--mu] [--threads N]
                           [--pictures FOLDER] [--simulate-only] [--keep]

A cylinder of 200 mm has six spheres of 10 to 37 mm, four times as hot, as NEMA's image quality phantom. For each image and sphere
the contrast recovery is (mean of the sphere / mean of the background - 1) / 3, and the noise is the standard deviation over 40
balls of 22 mm of the background, over its mean. Model ray has the lines between the measured hits, the resolution of their times,
and barrel's sensitivity; `ray, psf` also has a Gaussian of 6, 6, 13 mm FWHM, which is what the errors of the hits leave of a
point in the middle of the scanner. Printed are the figures of each image, and of each model at the noise of barrel's last image.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from images import grid, load, save

ROOT = Path(__file__).resolve().parent.parent.parent
SCANNER = ROOT / "examples" / "scanners" / "jpet-modular.yaml"
SPHERES, RING, RADIUS, HALF, HOT = (37, 28, 22, 17, 13, 10), 57.2, 100, 90, 4
N, VOXEL, FINE = (56, 60, 60), 4., 2  # the image (z, y, x); the phantom has FINE voxels in each
FWHM_PS = 2.35482 * 90


def places():
    angle = np.pi / 3 * np.arange(6)
    return [(0, RING * np.sin(a), RING * np.cos(a)) for a in angle]


def ball(n, voxel, at, radius):
    """The share of each voxel that is near enough, by its distance."""
    d = np.sqrt(sum((g - c)**2 for g, c in zip(grid(n, voxel), at)))
    return np.clip((radius - d) / voxel + .5, 0, 1)


def phantom(n, voxel):
    z, y, x = grid(n, voxel)
    body = np.clip((RADIUS - np.hypot(x, y)) / voxel + .5, 0, 1) * (np.abs(z) < HALF)
    v = body.copy()
    for d, at in zip(SPHERES, places()):
        v += (HOT - 1) * ball(n, voxel, at, d / 2)
    return v, body


def backgrounds():
    """Balls between the spheres and above and below them."""
    angle = np.pi / 4 * np.arange(8)
    return [(z, 60 * np.sin(a), 60 * np.cos(a)) for z in (-70, -45, 45, 70) for a in angle] + [(z, 0, 0) for z in (-70, -50, -25, 0, 25, 50, 60, 70)]


def figures(v):
    """Recovery of each sphere, and the noise."""
    near = [ball(N, VOXEL, at, 11) for at in backgrounds()]
    means = np.array([(v * b).sum() / b.sum() for b in near])
    base = means.mean()
    out = []
    for d, at in zip(SPHERES, places()):
        b = ball(N, VOXEL, at, d / 2)
        out.append(((v * b).sum() / b.sum() / base - 1) / (HOT - 1))
    return np.array(out), means.std(ddof=1) / base


def hits(events, out):
    """Rows of model ray: both ends of each line in mm, and t1 - t2 in ps."""
    radius, pitch, strips, modules = 381.86, 7, 13, 24
    k = np.arange(modules * strips)
    phi, off = 2 * np.pi * (k // strips) / modules, (k % strips - (strips - 1) / 2) * pitch
    xy = np.stack([radius * np.cos(phi) - off * np.sin(phi), radius * np.sin(phi) + off * np.cos(phi)], 1)
    e = np.load(events)
    a, b = e[:, 0].astype(int), e[:, 1].astype(int)
    np.save(out, np.column_stack([xy[a], e[:, 2], xy[b], e[:, 3], e[:, 4]]).astype("f4"))


def at_noise(curve, noise):
    """Recoveries where the curve has this noise; its ends beyond them."""
    n = np.array([c[1] for c in curve])
    r = np.array([c[0] for c in curve])
    return np.array([np.interp(noise, n, r[:, k]) for k in range(r.shape[1])])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--events", type=float, default=1e7)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--mu", action="store_true", help="the cylinder attenuates as water: five times as much work to simulate")
    parser.add_argument("--pictures", help="folder for pictures")
    parser.add_argument("--simulate-only", action="store_true")
    parser.add_argument("--keep", action="store_true", help="take the events of an earlier run")
    a = parser.parse_args()
    Path(a.folder).mkdir(parents=True, exist_ok=True)
    f = lambda name: f"{a.folder}/{name}"

    def run(*words):
        began = time.monotonic()
        threads = ["--threads", str(a.threads)] if a.threads else []
        subprocess.run([a.program, *map(str, words), *threads, "--quiet", "--force"], check=True)
        return time.monotonic() - began

    v, body = phantom([FINE * k for k in N], VOXEL / FINE)
    save(f("activity.nii"), v, VOXEL / FINE)
    save(f("mu.nii"), body * .0096, VOXEL / FINE)
    mu = ["--mu", f("mu.nii")] if a.mu else []
    image = ["--grid", ",".join(map(str, N[::-1])), "--voxel", VOXEL]
    if not a.keep:
        print("simulated in %.1f s" % run("simulate", SCANNER, f("activity.nii"), *mu, "--counts", a.events, "-o", f("e.npy")), flush=True)
    if a.simulate_only:
        return 0
    hits(f("e.npy"), f("rays.npy"))
    print("sensitivity in %.1f s" % run("sens", "barrel", "--scanner", SCANNER, *image, *mu, "--device", a.device, "-o", f("s.nii")), flush=True)
    again = ["--sens", f("s.nii"), "--method", "mlem", "--iterations", a.iterations, "--save-every", a.every, "--device", a.device]
    models = {"barrel": ["barrel", "--scanner", SCANNER, "--events", f("e.npy"), *mu],
              "ray": ["ray", "--events", f("rays.npy"), "--tof-fwhm-ps", FWHM_PS],
              "ray, psf": ["ray", "--events", f("rays.npy"), "--tof-fwhm-ps", FWHM_PS, "--psf", "6,6,13"]}
    curves, files = {}, {}
    for name, words in models.items():
        out = f(re.sub(r"\W+", "_", name))
        took = run("recon", *words, *image, *again, "-o", out + ".nii")
        kept = sorted(p for p in glob.glob(out + "_*.nii") if re.fullmatch(re.escape(out) + r"_\D*\d+\.nii", p)) + [out + ".nii"]
        curves[name], files[name] = [figures(load(p)) for p in kept], kept
        print("%s: %d images, %.1f s" % (name, len(kept), took), flush=True)
    last = curves["barrel"][-1][1]
    print("\n%-10s %5s %s" % ("model", "noise", " ".join("%5d" % d for d in SPHERES)))
    for name, curve in curves.items():
        for p, (r, n) in zip(files[name], curve):
            print("%-10s %5.3f %s   %s" % (name, n, " ".join("%5.2f" % k for k in r), Path(p).stem))
    picked = {}
    noise = min(last, *(c[-1][1] for c in curves.values()))
    print("\nat a noise of %.3f" % noise)
    for name, curve in curves.items():
        print("%-10s       %s" % (name, " ".join("%5.2f" % k for k in at_noise(curve, noise))))
        picked[name] = files[name][int(np.argmin([abs(c[1] - noise) for c in curve]))]
    if a.pictures:
        def slices(w):
            w = w / np.mean([(w * ball(N, VOXEL, at, 11)).sum() / ball(N, VOXEL, at, 11).sum() for at in backgrounds()])
            return np.concatenate([w[N[0] // 2], w[:, N[1] // 2, :]])
        across = [slices(phantom(N, VOXEL)[0])] + [slices(load(p)) for p in picked.values()]
        np.save(f("slices.npy"), np.concatenate(across, 1)[None].astype("f4"))
        os.makedirs(a.pictures, exist_ok=True)
        run("view", f("slices.npy"), "--window", "0,4", "--zoom", 4, "--labels", "none", "-o", a.pictures + "/jpet-contrast.png")
    print(json.dumps({"noise": noise, **{k: [round(float(x), 3) for x in at_noise(c, noise)] for k, c in curves.items()}}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
