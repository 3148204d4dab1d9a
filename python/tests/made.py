# SPDX-License-Identifier: BSD-3-Clause
"""What tests of made data share: the program, to compare with, and small scanners."""

import subprocess
from pathlib import Path

import pytest

from isotome import _abi

PROGRAM = Path(_abi.lib._name).resolve().parent / "isotome"

RING = """
kind: cylinder
name: small ring
rings: 12
crystals_per_ring: 96
radius_mm: 60
ring_pitch_mm: 4
crystal_mm: [3.5, 3.5, 10]
min_crystal_distance: 20
tof: {fwhm_ps: 200}
time: {coincidence_ns: 1}
"""

PANELS = """
kind: panels
name: small panels
crystals: [6, 8]
pitch_mm: [2, 2]
crystal_mm: [1.9, 1.9, 10]
gap_mm: 20
voxels_per_pitch: [2, 2]
planes: 6
plane_mm: 1
energy: {resolution: 0.20, window_kev: [250, 750]}
time: {fwhm_ns: 1.5, coincidence_ns: 10}
"""


def program(*words, folder):
    """Runs the program in a folder; skips the test where there is none."""
    if not PROGRAM.is_file():
        pytest.skip(f"no program {PROGRAM}")
    subprocess.run([PROGRAM, *map(str, words)], cwd=folder, check=True, capture_output=True)


def ring(folder):
    path = folder / "ring.yaml"
    path.write_text(RING)
    return path


def panels(folder):
    path = folder / "panels.yaml"
    path.write_text(PANELS)
    return path
