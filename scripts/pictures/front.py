#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the picture at the head of README.md, docs/pictures/four.png: four images, a tile each.

    python3 scripts/pictures/front.py build/isotome Scan_9.msot PET_ACQ_small.l.hdr

The first two are of public files: an MSOT scan (BohndiekLab/patato, tests/test_data_ithera) and list mode of a Siemens
mMR (UCL/STIR, recon_test_pack), both reconstructed by defaults. The others are simulated. Needs NumPy and Pillow.
"""

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parents[2]
SCANNERS = ROOT / "examples" / "scanners"
SIDE, GAP, FOOT = 360, 8, 40  # pixels of a tile, between two, and of the line below
PAPER, INK = (17, 17, 22), (225, 225, 230)
COLOURS = [(0, 0, 4), (40, 11, 84), (101, 21, 110), (159, 42, 99), (212, 72, 66), (245, 125, 21), (250, 193, 39),
           (252, 255, 164)]


def volume(path):
    """(values (nz, ny, nx), voxel in mm) of a NIfTI file that isotome wrote."""
    head = path.read_bytes()
    size, step = struct.unpack_from("<3h", head, 42), struct.unpack_from("<3f", head, 80)
    start = int(struct.unpack_from("<f", head, 108)[0])
    values = np.frombuffer(head, "<f4", int(np.prod(size)), start).reshape(size[::-1])
    return values.astype(float), step


def coloured(values, top, gamma):
    place = np.clip(values / top, 0, 1) ** gamma
    steps = np.linspace(0, 1, len(COLOURS))
    return np.stack([np.interp(place, steps, [c[i] for c in COLOURS]) for i in range(3)], -1).astype(np.uint8)


def tile(values, step, width, name, *, gamma=1.0, share=99.7, top=None):
    """A plane (rows upwards) as a square of `width` mm around its middle, with its name below."""
    if top is None:
        top = np.percentile(values[values > 0.1 * values.max()], share)
    rgb = Image.fromarray(coloured(values[::-1], top, gamma))
    scale = SIDE / width
    rgb = rgb.resize((round(values.shape[1] * step[0] * scale), round(values.shape[0] * step[1] * scale)), Image.BICUBIC)
    out = Image.new("RGB", (SIDE, SIDE + FOOT), PAPER)
    square = Image.new("RGB", (SIDE, SIDE), (0, 0, 4))
    square.paste(rgb, ((SIDE - rgb.width) // 2, (SIDE - rgb.height) // 2))
    out.paste(square)
    font = ImageFont.truetype("DejaVuSans.ttf", 19)
    ImageDraw.Draw(out).text((SIDE / 2, SIDE + FOOT / 2), name, INK, font, anchor="mm")
    return out


def make(program, msot, mmr, work):
    """Images by the program, in the folder `work`."""

    def run(*words):
        subprocess.run([program, *map(str, words), "--quiet"], cwd=work, check=True)

    run("recon", msot, "-o", "mouse.nii")
    run("recon", mmr, "-o", "head.nii")
    ring = SCANNERS / "clinical-ring.yaml"
    run("phantom", "spheres", "-o", "truth.nii", "--mu", "mu.nii")
    run("simulate", ring, "truth.nii", "--mu", "mu.nii", "--counts", "2e7", "--exact", "-o", "ring.lmdT")
    run("recon", "ray", "--events", "ring.lmdT", "--scanner", ring, "--mu", "mu.nii", "--grid", "158,124,49",
        "--voxel", "2,2,4", "--method", "osem", "--subsets", "8", "--iterations", "3", "--filter", "gaussian:5",
        "-o", "spheres.nii")
    strips = SCANNERS / "bialas2015.yaml"
    run("simulate", strips, "ellipses", "--counts", "1e6", "-o", "strips.f32")
    run("recon", "strip", "--scanner", strips, "--events", "strips.f32", "--kernel", "tan", "--edge", "-o", "strips.nii")


def tiles(work):
    mouse, step = volume(work / "mouse.nii")
    yield tile(np.maximum(mouse[0], 0), step, 24, "Mouse, by sound", gamma=0.8)
    head, step = volume(work / "head.nii")
    middle, half = head.shape[2] // 2, max(1, round(8 / step[0]))
    yield tile(head[:, :, middle - half:middle + half + 1].mean(axis=2), step[1:], 300, "Head, 0.6 s", gamma=0.8)
    spheres, step = volume(work / "spheres.nii")
    yield tile(spheres[spheres.shape[0] // 2], step, 330, "Spheres, time of flight")
    strips, step = volume(work / "strips.nii")
    yield tile(strips[0], step, 290, "Ellipses, J-PET")


def beside(drawn, path):
    """Tiles in a row, as PNG."""
    wide = Image.new("RGB", (len(drawn) * (SIDE + GAP) + GAP, SIDE + FOOT + 2 * GAP), PAPER)
    for i, t in enumerate(drawn):
        wide.paste(t, (GAP + i * (SIDE + GAP), GAP))
    wide.save(path, optimize=True)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, msot, mmr = (Path(a).resolve() for a in sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        make(program, msot, mmr, name)
        beside(list(tiles(Path(name))), ROOT / "docs" / "pictures" / "four.png")


if __name__ == "__main__":
    main()
