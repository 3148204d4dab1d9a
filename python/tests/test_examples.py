# SPDX-License-Identifier: BSD-3-Clause
"""The examples: each script runs at a small size, draws its pictures, and prints figures that are good."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT, package_environment

SCRIPTS = sorted((ROOT / "examples" / "python").glob("*.py"))
NEEDS = {"learned_primal_dual": ["torch"], "unrolled": ["torch", "deepinv"], "plug_and_play": ["torch", "deepinv"]}

# The size that each is run at, and what must hold of the numbers that it prints, in their order.
SIZE = {"plug_and_play": 0.5, "unrolled": 0.2, "dual_head": 0.2, "tv_pdhg": 0.5, "jpet": 0.1, "papers_figures": 0.2, "motion": 0.15}
HOLDS = {
    "mlem_by_hand": lambda difference: difference < 1e-5,
    "scatter": lambda scattered, estimated, c, explained, plain, corrected: (
        abs(estimated - scattered) < 2 and abs(c - 1) < 0.05 and abs(explained - 1) < 0.03 and corrected < 0.8 * plain
    ),
    "motion": lambda without, tracked, found, still: (
        tracked < 0.85 * without and found < 0.9 * without and abs(tracked - still) < 0.03
    ),
    "tof": lambda percent, without, with_tof: percent == 70 and 0 < with_tof < 0.8 * without,
    "rdp": lambda left, osem, prior: left < 0.05 and prior < 0.7 * osem,
    "tv_pdhg": lambda least_squares, tv: tv < 0.5 * least_squares < 0.3,
    "jpet": lambda direct, mlem: mlem < 0.32 < direct < 0.5,
    "dual_head": lambda diameter: diameter <= 1.6,
    "unrolled": lambda mlem, unrolled: unrolled < 0.8 * mlem,
    "plug_and_play": lambda mlem, plugged: plugged < 0.8 * mlem,
    "learned_primal_dual": lambda mlem, learned: learned < mlem < 0.5,
    "read_other_data": lambda events, seconds, moved, error: seconds == 600 and moved < 0.01 and error < 1.5,
    "papers_figures": lambda rods, valley, iterations, error: valley < 0.5 and error < 0.1,
}


def environment(script):
    return {**package_environment(), "SIZE": str(SIZE.get(script.stem, 0.05)), "PYTHONWARNINGS": "ignore"}


def need(script):
    for name in NEEDS.get(script.stem, []):
        pytest.importorskip(name)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs(script, tmp_path):
    need(script)
    run = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment(script), text=True, capture_output=True
    )
    assert run.returncode == 0, run.stderr
    pictures = re.findall(r'path="(.*?\.png)"', script.read_text())
    assert pictures
    for picture in pictures:
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    numbers = [float(n) for n in re.findall(r"(?<![\w.])\d+\.?\d*(?:e[-+]\d+)?", run.stdout)]
    assert HOLDS[script.stem](*numbers), run.stdout


def test_each_is_short():
    spec = importlib.util.spec_from_file_location("effort", ROOT / "scripts" / "effort.py")
    effort = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(effort)
    assert [script.name for script in SCRIPTS if len(effort.code(script)) >= 40] == []


# ---- notebooks ----


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    subprocess.run([sys.executable, ROOT / "scripts" / "notebooks.py", folder], check=True)
    return folder


def test_a_notebook_is_its_script(notebooks):
    assert sorted(p.stem for p in notebooks.iterdir()) == sorted(s.stem for s in SCRIPTS)
    for script in SCRIPTS:
        cells = json.loads((notebooks / f"{script.stem}.ipynb").read_text())["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        body = ast.parse(script.read_text()).body[1:]  # after the docstring, which is the first cell
        assert [ast.dump(node) for node in ast.parse(code).body] == [ast.dump(node) for node in body], script.stem
        assert cells[0]["cell_type"] == "markdown" and "".join(cells[0]["source"]).startswith("# ")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_runs(script, notebooks, tmp_path, monkeypatch):
    need(script)
    if SCRIPTS.index(script) % 3 and os.environ.get("ISO_TEST_FULL") != "1":
        pytest.skip("every third of them; ISO_TEST_FULL=1 runs all")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for name, value in environment(script).items():
        monkeypatch.setenv(name, value)
    text = (notebooks / f"{script.stem}.ipynb").read_text()
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert all(not cell.get("outputs") for cell in json.loads(text)["cells"])
