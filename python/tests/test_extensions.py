# SPDX-License-Identifier: BSD-3-Clause
"""examples/python/extensions: each gives the image of the library's own option for the same."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

import isotome

FOLDER = ROOT / "examples" / "python" / "extensions"
RING = (
    "{kind: cylinder, radius_mm: 120, rings: 10, ring_pitch_mm: 8, crystals_per_ring: 120,"
    " crystal_mm: [6, 7, 20], min_crystal_distance: 20, pair_weight: solid-angle, tof: {fwhm_ps: 390}}"
)
BOX = {"grid": (20, 18, 12), "voxel": 6}
PLAIN = {"tof_fwhm_ps": 0, "sens": "none"}

# What the program's options for the same are.
OPTIONS = {
    "baseline": PLAIN,
    "sensitivity": {"tof_fwhm_ps": 0},
    "osem": {**PLAIN, "method": "osem", "subsets": 8},
    "attenuation": {**PLAIN, "precorrected": True, "mu": True},
    "tof": {**PLAIN, "tof_fwhm_ps": 390},
    "median": {**PLAIN, "filter": "median:3", "filter_every": 1},
    "all_combined": {
        "tof_fwhm_ps": 390,
        "method": "osem",
        "subsets": 8,
        "precorrected": True,
        "mu": True,
        "filter": "median:3",
        "filter_every": 1,
    },
}


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """Events of a cylinder that attenuates, its map, and the scanner's file."""
    scanner = tmp_path_factory.mktemp("extensions") / "ring.yaml"
    scanner.write_text(RING)
    z, y, x = np.indices((12, 18, 20)) - np.array([5.5, 8.5, 9.5]).reshape(3, 1, 1, 1)
    inside = (x**2 + y**2 < 49) & (abs(z) < 5)
    grid = isotome.Grid((20, 18, 12), (6, 6, 6))
    mu = isotome.Image((inside * 0.0096).astype(np.float32), grid)
    activity = isotome.Image((inside * (1.0 + 3 * (x > 2))).astype(np.float32), grid)
    return isotome.simulate(activity, scanner, counts=2e4, mu=mu), scanner, mu


def reconstruct(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reconstruct


def test_every_extension_is_tested():
    assert {p.stem for p in FOLDER.glob("*.py")} == set(OPTIONS)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
@pytest.mark.parametrize("name", OPTIONS)
def test_an_extension_is_the_librarys_own(name, scan):
    events, scanner, mu = scan
    options = {**OPTIONS[name], "iterations": 4, "scanner": scanner}
    if options.get("mu"):
        options["mu"] = mu
    wanted = isotome.ray(events, **options, **BOX).reconstruct()
    image = reconstruct(name)(events, scanner, mu, BOX)
    assert wanted.max() > 0
    assert np.abs(image - wanted).max() < 1e-4 * wanted.max()


def test_the_table_of_lines_is_current():
    check = [sys.executable, ROOT / "scripts" / "effort.py", "--check"]
    run = subprocess.run(check, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr
