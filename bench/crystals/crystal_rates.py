#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count rates of a scanner of crystals against activity, and what its singles are: tables and pictures.

    bench/crystals/crystal_rates.py FOLDER [--isotome PROGRAM] [--scanner FILE] [--decays N] [--device D]

Simulates a cylinder of water with F-18 in the middle of the scanner by 'isotome simulate --crystals --activity-bq'. Prints
rates of singles, prompts, trues, randoms and noise equivalent counts, and writes rates.svg, spectrum.svg and singles.svg.
"""
import argparse
import json
import math
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
ACTIVITIES = (1e6, 3e6, 1e7, 2e7, 3e7, 5e7, 1e8, 2e8, 4e8)
DEAD_NS = 200
COLOURS = {"singles": "#555", "prompts": "#1b6ca8", "trues": "#2a9d5c", "randoms": "#c8553d", "noise equivalent": "#8e44ad"}
HEAD = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" font-family="sans-serif" font-size="12">\n'
        '<rect width="{w}" height="{h}" fill="#fff"/>\n')
LEFT, TOP, WIDE, HIGH = 70, 20, 460, 300


def run(program, *words):
    return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout


def simulate(o, name, activity, decays, *more):
    """The record of a scan of about so many decays."""
    out = o.folder / f"{name}.lmdT"
    run(o.isotome, "simulate", o.scanner, o.folder / "x.nii", "--mu", o.folder / "mu.nii", "--crystals", "--activity-bq",
        activity, "--duration-s", decays / activity, "--isotope", "F-18", "--dead-ns", DEAD_NS, "--device", o.device,
        "--force", "-o", out, *more)
    return json.loads(Path(f"{out}.json").read_text())["results"]


def axis_text(x, y, text, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{text}</text>\n'


def log_frame(x, y, x_title, y_title):
    """A frame of decades; returns it, and the function from values to places."""
    def place(a, b):
        u = (math.log10(a) - math.log10(x[0])) / (math.log10(x[1]) - math.log10(x[0]))
        v = (math.log10(b) - math.log10(y[0])) / (math.log10(y[1]) - math.log10(y[0]))
        return LEFT + WIDE * u, TOP + HIGH * (1 - v)

    made = f'<rect x="{LEFT}" y="{TOP}" width="{WIDE}" height="{HIGH}" fill="none" stroke="#999"/>\n'
    for k in range(math.ceil(math.log10(x[0])), math.floor(math.log10(x[1])) + 1):
        p = place(10.0**k, y[0])[0]
        made += f'<path d="M{p:.1f} {TOP}V{TOP + HIGH}" stroke="#ddd"/>\n' + axis_text(p, TOP + HIGH + 16, f"{10.0**k:g}")
    for k in range(math.ceil(math.log10(y[0])), math.floor(math.log10(y[1])) + 1):
        p = place(x[0], 10.0**k)[1]
        made += f'<path d="M{LEFT} {p:.1f}H{LEFT + WIDE}" stroke="#ddd"/>\n' + axis_text(LEFT - 6, p + 4, f"{10.0**k:g}", "end")
    made += axis_text(LEFT + WIDE / 2, TOP + HIGH + 36, x_title)
    made += axis_text(16, TOP + HIGH / 2, y_title, more=f' transform="rotate(-90 16 {TOP + HIGH / 2})"')
    return made, place


def rates_picture(path, rows):
    frame, place = log_frame((.8, 500), (1, 1e5), "activity, MBq", "kilocounts a second")
    made = HEAD.format(w=680, h=375) + frame
    for name, colour in COLOURS.items():
        points = [(r["activity"] / 1e6, r[name] / 1e3) for r in rows if r[name] > 1e3]
        line = " ".join("%.1f,%.1f" % place(*p) for p in points)
        made += f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>\n'
        x, y = place(*points[-1])
        made += axis_text(LEFT + WIDE + 8, y + 4, name, "start", f' fill="{colour}"')
    path.write_text(made + "</svg>\n")


def spectrum_picture(path, energies):
    """Energies of singles: of all, of photons that were scattered in the object, of those that were not."""
    edges = np.arange(0, 701, 10)
    most = max(np.histogram(e, edges)[0].max() for e in energies.values()) * 1.05
    made = HEAD.format(w=680, h=375) + f'<rect x="{LEFT}" y="{TOP}" width="{WIDE}" height="{HIGH}" fill="none" stroke="#999"/>\n'
    for kev in range(0, 701, 100):
        x = LEFT + WIDE * kev / 700
        made += f'<path d="M{x:.1f} {TOP}V{TOP + HIGH}" stroke="#ddd"/>\n' + axis_text(x, TOP + HIGH + 16, kev)
    low, high = (LEFT + WIDE * kev / 700 for kev in (435, 650))
    made += f'<rect x="{low:.1f}" y="{TOP}" width="{high - low:.1f}" height="{HIGH}" fill="#1b6ca8" opacity=".08"/>\n'
    for (name, e), colour in zip(energies.items(), ("#555", "#c8553d", "#2a9d5c")):
        n = np.histogram(e, edges)[0]
        line = " ".join(f"{LEFT + WIDE * x / 700:.1f},{TOP + HIGH * (1 - v / most):.1f}"
                        for a, b, v in zip(edges[:-1], edges[1:], n) for x in (a, b))
        made += f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6"/>\n'
        y = TOP + 14 + 18 * list(energies).index(name)
        made += axis_text(LEFT + WIDE + 8, y, name, "start", f' fill="{colour}"')
    made += axis_text(LEFT + WIDE / 2, TOP + HIGH + 36, "energy of a single, keV; shaded: the window")
    path.write_text(made + axis_text(LEFT - 8, TOP + 10, "counts", "end") + "</svg>\n")


def singles_picture(path, singles, along_t, along_z):
    """Singles of the crystals of a block, summed over all blocks: (z, t)."""
    m = singles.astype(float)
    m = 100 * m / m.mean()
    cell = 24
    made = HEAD.format(w=cell * along_t + 190, h=cell * along_z + 40)
    low, high = m.min(), m.max()
    for z in range(along_z):
        for t in range(along_t):
            shade = int(255 - 200 * (m[z, t] - low) / (high - low))
            made += (f'<rect x="{20 + cell * t}" y="{20 + cell * z}" width="{cell - 1}" height="{cell - 1}" '
                     f'fill="rgb({shade},{(shade + 255) // 2},255)"/>\n')
            made += axis_text(19.5 + cell * (t + .5), 24 + cell * (z + .5), f"{m[z, t]:.0f}", more=' font-size="9"')
    made += axis_text(36 + cell * along_t, 40, "singles of a crystal,", "start")
    path.write_text(made + axis_text(36 + cell * along_t, 56, "% of the mean", "start") + "</svg>\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path)
    p.add_argument("--isotome", default=str(ROOT / "build/isotome"))
    p.add_argument("--scanner", default=str(ROOT / "examples/scanners/crystal-ring.yaml"))
    p.add_argument("--decays", type=float, default=2e6)
    p.add_argument("--device", default="auto")
    o = p.parse_args()
    o.folder.mkdir(exist_ok=True)
    run(o.isotome, "phantom", "cylinder", "-o", o.folder / "x.nii", "--mu", o.folder / "mu.nii", "--force")

    rows = []
    print("activity_MBq  singles  prompts  trues  scatters  randoms  delayeds  lost_to_dead_time_%  NECR  NECR_2R   (kcps)")
    for a in ACTIVITIES:
        r = simulate(o, "scan", a, o.decays, "--delayed", o.folder / "late.lmdT")
        q, s, e = r["rates"], r["singles"], r["events"]
        rows.append({"activity": a, "singles": q["singles_per_s"], "prompts": q["prompts_per_s"], "trues": q["trues_per_s"],
                     "randoms": q["randoms_per_s"], "noise equivalent": q["necr_per_s"]})
        lost = 100 * s["lost_to_dead_time"] / (s["pulses"] - s["piled_up"] - s["below_trigger"])
        scatters = q["trues_per_s"] * e["scatters"] / max(e["trues"], 1)
        print(f"{a / 1e6:12g} {q['singles_per_s'] / 1e3:8.1f} {q['prompts_per_s'] / 1e3:8.2f} {q['trues_per_s'] / 1e3:7.2f} "
              f"{scatters / 1e3:8.2f} {q['randoms_per_s'] / 1e3:8.2f} {q['delayeds_per_s'] / 1e3:8.2f} {lost:12.2f} "
              f"{q['necr_per_s'] / 1e3:12.2f} {q['necr_2r_per_s'] / 1e3:8.2f}", flush=True)
    rates_picture(o.folder / "rates.svg", rows)

    simulate(o, "wide", 1e6, o.decays, "--energy-window", "1,2000", "--singles-list", o.folder / "list.npy")
    one = np.load(o.folder / "list.npy")
    spectrum_picture(o.folder / "spectrum.svg", {
        "all singles": one["energy"], "scattered in the object": one["energy"][one["object_compton"] > 0],
        "not scattered there": one["energy"][one["object_compton"] == 0]})
    r = simulate(o, "map", 1e6, 2 * o.decays, "--singles", o.folder / "map.npy")
    n = np.load(o.folder / "map.npy").reshape(48, 4, 13, 13).sum(axis=(0, 1))
    singles_picture(o.folder / "singles.svg", n, 13, 13)
    print("singles of a crystal of a block, % of the mean: corner", *np.round(100 * n[::12, ::12].ravel() / n.mean(), 1), "middle",
          round(100 * n[6, 6] / n.mean(), 1))


if __name__ == "__main__":
    main()
