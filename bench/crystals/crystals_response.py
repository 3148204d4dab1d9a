#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What reconstruction gets from the response of crystals: scans of simulate --crystals, with and without --response.

    bench/crystals/crystals_response.py PROGRAM SCANNER FOLDER [--device NAME] [--parts share,points,flat,body] [--scale F] [--photons N]

share   of decays recorded from spheres at nine places: kappa S / V by the table, over that of the simulation
points  radial FWHM of small spheres in a warm cylinder in air, by distance from the axis
flat    uniform cylinder in air: the part of the image, averaged over z, with the period of the modules
body    water cylinder with a warm background: mean of the body over the truth, with --scatter sss+mc --response

SCANNER is a description of kind modules. F multiplies the counts. Pictures and images stay in FOLDER.
"""
import argparse
import json
import math
import subprocess
import time
from pathlib import Path

import numpy

PLACES = [(0, 0, 0), (0, 0, 50), (80, 0, 0), (0, 150, 0), (150, 0, 0), (150, 0, 60), (106, 106, 0), (-200, 0, 30), (0, -250, 0)]
POINTS = (10, 60, 110, 160, 200)


class Study:
    def __init__(self, o: argparse.Namespace) -> None:
        self.o, self.folder = o, o.folder
        o.folder.mkdir(parents=True, exist_ok=True)
        self.table = o.folder / "ring.resp.h5"
        if not self.table.exists():
            self.run("response", o.scanner, "-o", self.table, *(["--photons", o.photons] if o.photons else []))
        told = json.loads(self.table.with_name(self.table.name + ".json").read_text())["results"]["response"]
        ring = dict(line.split(":", 1) for line in o.scanner.read_text().splitlines() if ":" in line and line[0] != " ")
        radius = float(ring["rings"].split("radius_mm:")[1].split(",")[0])
        depth = float(ring["interaction_depth_mm"])
        self.modules = int(ring["rings"].split("modules:")[1].split(",")[0])
        self.kappa = told["area_mm2"] ** 2 / (2 * math.pi * (2 * (radius + depth)) ** 2)
        print(f"table: D_0 {told['area_mm2']:.4f} mm2, depth {told['depth_mm']:.3f} mm, chi2 {told['chi2']:.4f}, "
              f"joined {told['joined']}; kappa {self.kappa:.4g}", flush=True)

    def run(self, *words: object) -> float:
        began = time.time()
        done = subprocess.run([self.o.program, *map(str, words), "--force", "--quiet", "--device", self.o.device],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"isotome {' '.join(map(str, words))}: {done.stderr}")
        return time.time() - began

    def show(self, name: str, title: str) -> None:
        subprocess.run([self.o.program, "view", self.path(name + ".nii"), "-o", self.path(title + ".png"), "--force", "--quiet"], check=True)

    def path(self, name: str) -> Path:
        return self.folder / name

    def image(self, name: str, shapes: list, voxel: float, grid: tuple, centre: tuple = (0, 0, 0)) -> Path:
        lines = "".join(f"  - {s}\n" for s in shapes)
        self.path(name + ".yaml").write_text("shapes:\n" + lines)
        self.run("phantom", self.path(name + ".yaml"), "--grid", ",".join(map(str, grid)), "--voxel", voxel, "--centre",
                 ",".join(map(str, centre)), "-o", self.path(name + ".nii"), "--mu", self.path(name + "_mu.nii"))
        return self.path(name + ".nii")

    def scan(self, name: str, image: Path, decays: float, *more: object) -> int:
        out = self.path(name + ".lmdT")
        took = self.run("simulate", self.o.scanner, image, "--crystals", "--decays", f"{decays:.0f}", "-o", out, "--seed", 7, *more)
        info = json.loads(subprocess.run([self.o.program, "info", out, "--json"], capture_output=True, text=True, check=True).stdout)
        found = info[0] if isinstance(info, list) else info
        events = int(found.get("events", found.get("n", 0)))
        print(f"{name}: {decays:.3g} decays, {events} events in {took:.1f} s", flush=True)
        return events

    def recon(self, name: str, scan: str, *more: object) -> numpy.ndarray:
        took = self.run("recon", "ray", "--events", self.path(scan + ".lmdT"), "--scanner", self.o.scanner, *more, "-o",
                        self.path(name + ".nii"))
        print(f"  {name}: {took:.1f} s", flush=True)
        return values(self.path(name + ".nii"))


def values(path: Path) -> numpy.ndarray:
    """(z, y, x) of a NIfTI image of floats."""
    head = path.read_bytes()
    n = numpy.frombuffer(head, "<i2", 4, 40)[1:]
    kind = {16: "<f4", 64: "<f8"}[int(numpy.frombuffer(head, "<i2", 1, 70)[0])]
    start = int(numpy.frombuffer(head, "<f4", 1, 108)[0])
    return numpy.frombuffer(head, kind, int(n.prod(dtype=numpy.int64)), start).reshape(n[::-1]).astype(float)


def share(s: Study) -> None:
    print("place, mm          simulated        kappa S/V        ratio      error")
    for k, at in enumerate(PLACES):
        shapes = [f"{{type: sphere, centre_mm: [{at[0]}, {at[1]}, {at[2]}], radius_mm: 20, activity: 1}}"]
        image = s.image(f"sphere{k}", shapes, 2, (22, 22, 22), at)
        decays = 2e6 * s.o.scale
        n = s.scan(f"sphere{k}", image, decays)
        s.run("sens", "ray", "--scanner", s.o.scanner, "--response", s.table, "--grid", "22,22,22", "--voxel", 2, "--centre",
              ",".join(map(str, at)), "--cache", "none", *(["--sens-share", s.o.sens_share] if s.o.sens_share else []), "-o", s.path("sens.nii"))
        a, sens = values(image), values(s.path("sens.nii"))
        want, found = s.kappa * (a * sens).sum() / a.sum() / 8, n / decays
        error = json.loads(s.path("sens.json").read_text())["results"]["sensitivity"].get("relative_error", 0)
        print(f"{at!s:18} {found:.5f} +- {math.sqrt(found / decays):.5f}  {want:.5f}  {want / found:.4f} +- "
              f"{math.sqrt(1 / n):.4f}; S {error:.2g}", flush=True)


def width(line: numpy.ndarray, voxel: float) -> float:
    """FWHM of a peak over what lies beside it."""
    top = int(line.argmax())
    v = line - numpy.median(line[numpy.abs(numpy.arange(len(line)) - top) > 4])
    half = v[top - 1:top + 2].max() / 2
    lo, hi = top, top
    while lo > 0 and v[lo] > half:
        lo -= 1
    while hi < len(v) - 1 and v[hi] > half:
        hi += 1
    left = lo + (half - v[lo]) / (v[lo + 1] - v[lo])
    right = hi - (half - v[hi]) / (v[hi - 1] - v[hi])
    return voxel * (right - left)


def points(s: Study) -> None:
    voxel, grid = 2, (220, 220, 20)
    shapes = ["{type: cylinder, centre_mm: [0, 0, 0], radius_mm: 215, length_mm: 60, axis: z, activity: 1}"]
    arms = ((1, 0), (0, 1), (-1, 0), (0, -1))
    shapes += [f"{{type: sphere, centre_mm: [{r * x}, {r * y}, 0], radius_mm: 2, activity: 600}}" for r in POINTS for x, y in arms]
    image = s.image("points", shapes, 1, (440, 440, 60))
    s.scan("points", image, 1e8 * s.o.scale)
    size = ["--grid", ",".join(map(str, grid)), "--voxel", voxel, "--method", "osem", "--subsets", 20, "--iterations", s.o.iterations]
    found = {"one line": s.recon("points_one", "points", *size), "response": s.recon("points_response", "points", *size, "--response", s.table)}
    for name, x in found.items():
        plane = x[grid[2] // 2 - 1:grid[2] // 2 + 1].sum(axis=0)
        row = {}
        for r in POINTS:
            mid, n = grid[0] // 2, 10
            radial = []
            for x, y in arms:
                i, j = int(r * x / voxel) + mid, int(r * y / voxel) + mid
                if x:
                    low, high = (max(i - n, mid), i + n) if x > 0 else (i - n, min(i + n, mid))
                    radial.append(width(plane[mid - 1:mid + 1, low:high].sum(axis=0), voxel))
                else:
                    low, high = (max(j - n, mid), j + n) if y > 0 else (j - n, min(j + n, mid))
                    radial.append(width(plane[low:high, mid - 1:mid + 1].sum(axis=1), voxel))
            row[r] = sum(radial) / len(radial)
        print(f"  radial FWHM, {name}: " + ", ".join(f"r {r}: {w:.2f}" for r, w in row.items()) + f"; r 200 over r 10: {row[200] / row[10]:.3f}",
              flush=True)
        s.show("points_one" if name == "one line" else "points_response", "points_" + name.replace(" ", "_"))


def pattern(plane: numpy.ndarray, voxel: float, radius: float, modules: int) -> float:
    """Amplitude of the module's period round the axis, over the mean, rms over rings."""
    n = plane.shape[0]
    c = (numpy.arange(n) - (n - 1) / 2) * voxel
    x, y = numpy.meshgrid(c, c)
    r, phi = numpy.hypot(x, y), numpy.arctan2(y, x)
    amplitude = []
    for low in numpy.arange(20, radius - 12, 8):
        ring = (r >= low) & (r < low + 8)
        wave = numpy.exp(-1j * modules * phi[ring])
        v = plane[ring] / plane[ring].mean() - 1
        amplitude.append(2 * abs((v * wave).mean()))
    return float(numpy.sqrt(numpy.mean(numpy.square(amplitude))))


def flat(s: Study) -> None:
    voxel, grid = 4, (60, 60, 40)
    image = s.image("flat", ["{type: cylinder, centre_mm: [0, 0, 0], radius_mm: 100, length_mm: 150, axis: z, activity: 1}"], voxel, grid)
    s.scan("flat", image, 2e8 * s.o.scale)
    size = ["--grid", ",".join(map(str, grid)), "--voxel", voxel, "--method", "osem", "--subsets", 10, "--iterations", 3]
    if s.o.sens_share:
        size += ["--sens-share", s.o.sens_share]
    for name, more in (("flat_one", []), ("flat_response", ["--response", s.table])):
        x = s.recon(name, "flat", *size, *more)
        plane = x[8:-8].mean(axis=0)
        c = (numpy.arange(60) - 29.5) * voxel
        inside = numpy.hypot(*numpy.meshgrid(c, c)) < 88
        z = x[8:-8][:, inside].mean(axis=1)
        print(f"  {name}: module pattern {100 * pattern(plane, voxel, 100, s.modules):.3f} %, voxels averaged over z {100 * plane[inside].std() / plane[inside].mean():.2f} %, "
              f"planes {100 * z.std() / z.mean():.2f} %; mean over kappa lambda "
              f"{x[8:-8][:, inside].mean() / (s.kappa * 2e8 * s.o.scale / (math.pi * 1e4 * 150)):.4f}", flush=True)
        s.show(name, name)


def body(s: Study) -> None:
    voxel, grid = 4, (60, 60, 40)
    shapes = ["{type: cylinder, centre_mm: [0, 0, 0], radius_mm: 100, length_mm: 150, axis: z, activity: 1, mu_per_mm: 0.0096}"]
    image = s.image("body", shapes, voxel, grid)
    decays = 4e8 * s.o.scale
    s.scan("body", image, decays, "--mu", s.path("body_mu.nii"), "--truth", s.path("body_truth.npy"))
    events = numpy.load(s.path("body_truth.npy"))
    scattered = float(((events["object_compton"] if events.dtype.names else events) > 0).mean())
    print(f"  scattered: {scattered:.5f} of the events", flush=True)
    size = ["--grid", ",".join(map(str, grid)), "--voxel", voxel, "--method", "osem", "--subsets", 10, "--iterations", 3, "--mu", s.path("body_mu.nii"),
            "--response", s.table]
    if s.o.sens_share:
        size += ["--sens-share", s.o.sens_share]
    truth = s.kappa * decays / (math.pi * 1e4 * 150)
    c = (numpy.arange(60) - 29.5) * voxel
    inside = numpy.hypot(*numpy.meshgrid(c, c)) < 85
    for name, more in (("body_raw", []), ("body_scatter", ["--scatter", "sss+mc"])):
        x = s.recon(name, "body", *size, *more)
        told = json.loads(s.path(name + ".json").read_text())["results"]
        print(f"  {name}: body over truth {x[10:-10][:, inside].mean() / truth:.4f}; scatter share by round "
              f"{[round(r['share'], 5) for r in told.get('scatter', {}).get('rounds', [])]}", flush=True)
        s.show(name, name)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", type=Path)
    p.add_argument("scanner", type=Path)
    p.add_argument("folder", type=Path)
    p.add_argument("--device", default="auto")
    p.add_argument("--parts", default="share,points,flat,body")
    p.add_argument("--scale", type=float, default=1)
    p.add_argument("--photons", type=float)
    p.add_argument("--iterations", type=int, default=4)
    p.add_argument("--sens-share", type=float)
    o = p.parse_args()
    s = Study(o)
    for part in o.parts.split(","):
        began = time.time()
        {"share": share, "points": points, "flat": flat, "body": body}[part](s)
        print(f"{part}: {time.time() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
