#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How much of an image the accuracy of model svoxel changes, on the phantom of Wang 2013.

    sound_accuracy.py ISOTOME [--scale full|small] [--accuracy E ...] [--iterations N] [--folder DIR] [-- OPTION ...]

Simulates the traces of nine spheres, and makes their image by N iterations of conjugate gradients (20): with --accuracy
1e-6, and with each E (1e-3, 2e-2). Prints the largest difference of a voxel from the image with 1e-6, over the maximum
of that image. `full` is the paper's size; it needs a GPU. The options behind -- go to both runs. It needs nothing but
Python.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

BEST = "1e-6"
SCANNERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "scanners")
SCALES = {  # transducers, voxels, their size in mm, highest line in MHz
    "full": ("wang2013-64x90.yaml", "210,210,440", "0.14", "5"),
    "small": ("wang2013-32x45.yaml", "53,53,110", "0.56", "1.3"),
}


def run(*command):
    """What the command prints."""
    p = subprocess.run(command, capture_output=True, text=True)
    if p.returncode:
        sys.exit(p.stderr)
    return p.stdout


def greatest(image):
    """cal_max of the head of a NIfTI file."""
    with open(image, "rb") as f:
        return struct.unpack("<f", f.read(128)[124:])[0]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("isotome")
    p.add_argument("--scale", choices=SCALES, default="small")
    p.add_argument("--accuracy", nargs="+", default=["1e-3", "2e-2"])
    p.add_argument("--iterations", type=int, default=20)
    p.add_argument("--folder", help="for the files; default: one that goes again")
    words = sys.argv[1:] + ["--"]
    a = p.parse_args(words[:words.index("--")])
    more = words[words.index("--") + 1:-1]
    scanner, grid, voxel, fmax = SCALES[a.scale]
    scanner = os.path.join(SCANNERS, scanner)
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        traces, image = os.path.join(folder, "traces.npy"), os.path.join(folder, "%s.nii")
        run(a.isotome, "simulate", scanner, "nine-spheres", "-o", traces)
        for accuracy in [BEST, *a.accuracy]:
            start = time.perf_counter()
            run(a.isotome, "recon", "svoxel", traces, "--scanner", scanner, "--grid", grid, "--voxel", voxel,
                "--fmax-mhz", fmax, "--iterations", str(a.iterations), "--accuracy", accuracy, *more, "-o",
                image % accuracy)
            took = f"{time.perf_counter() - start:.1f} s"
            if accuracy == BEST:
                print(f"accuracy {accuracy}: maximum {greatest(image % BEST):.4g}, {took}", flush=True)
                continue
            diff = json.loads(run(a.isotome, "measure", "diff", image % accuracy, image % BEST, "--json"))["results"]
            print(f"accuracy {accuracy}: largest difference {diff['max_abs'] / greatest(image % BEST):.2e} of the "
                  f"maximum, relative L2 {diff['relative_l2']:.2e}, {took}", flush=True)


main()
