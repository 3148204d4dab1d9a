# SPDX-License-Identifier: BSD-3-Clause
"""examples/petric.py and the submission on a folder of PETRIC's layout, made here: images in a unit of its own, as another
projector has it."""

import importlib
import re
import subprocess
import sys
import threading
import types

import numpy as np
import pytest
import stand_ins
from conftest import ROOT, package_environment

import isotome

HEADER = (ROOT / "tests" / "data" / "interfile" / "cylinder.hs").read_text()
GRID = isotome.Grid((16, 16, 8), (12.0, 12.0, 6.0), (0.0, 0.0, 0.0))
UNIT = 12.0  # counts/mm of a value of 1 in the folder's images: its lines are in voxels
BETA = 0.01  # in the folder's unit


def save_bins(path, values):
    path.with_suffix(".s").write_bytes(values.astype("<f4").tobytes())
    path.write_text(HEADER.replace("cylinder.s", path.with_suffix(".s").name))


def object_and_masks():
    z, y, x = np.meshgrid(*((np.arange(n) - (n - 1) / 2) * v for n, v in zip(GRID.n[::-1], GRID.voxel[::-1])), indexing="ij")
    body = np.hypot(x, y) < 70
    hot = (np.hypot(x - 30, y) < 20) & (abs(z) < 12)
    cold = (np.hypot(x + 30, y) < 20) & (abs(z) < 12)
    image = np.where(hot, 4.0, np.where(cold, 0.2, 1.0)) * body * 0.4
    background = body & (abs(y) > 30) & (np.hypot(x, y) < 60)
    return image.astype("f4"), {"whole_object": body, "background": background, "hot": hot, "cold": cold}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("petric")
    (folder / "PETRIC").mkdir()
    rng = np.random.default_rng(7)
    truth, masks = object_and_masks()
    bins = 32 * 31 * (11 + 15 + 11)
    save_bins(folder / "prompts.hs", np.ones(bins))
    save_bins(folder / "mult_factors.hs", rng.uniform(0.2, 0.4, bins))
    save_bins(folder / "additive_term.hs", np.full(bins, 8.0))
    data = dict(
        events=str(folder / "prompts.hs"),
        norm=str(folder / "mult_factors.hs"),
        additive=str(folder / "additive_term.hs"),
        additive_over_m=True,
        grid=GRID,
    )
    save_bins(folder / "prompts.hs", rng.poisson(isotome.ray(**data).project(truth)))

    osem = isotome.ray(**data, method="osem", subsets=4, iterations=3).reconstruct()
    problem = isotome.ray(**data)
    a, (y, r, m) = problem.operator(), problem.data()
    ones = np.ones(a.in_shape, np.float32)
    kappa = np.sqrt(a.adjoint((y * a(ones) / (a(osem) + r / m) ** 2).astype("f4")))
    reference = isotome.ray(
        **data, method="lbfgs", start=osem, kappa=kappa, penalty=f"rdp:{BETA / UNIT}", iterations=200, tolerance=1e-3
    ).reconstruct()
    assert reference.max() > 0.5
    for name, image in (("OSEM_image", osem / UNIT), ("PETRIC/reference_image", reference / UNIT), ("kappa", kappa)):
        isotome.write(folder / f"{name}.hv", np.asarray(image, "f4"), GRID)
    for name, mask in masks.items():
        isotome.write(folder / "PETRIC" / f"VOI_{name}.hv", mask.astype("f4"), GRID)
    (folder / "penalisation_factor.txt").write_text(f"{BETA}\n")
    return folder


def run(folder, *words):
    script = [sys.executable, ROOT / "examples" / "petric.py", folder, "--device", "cpu", *words]
    got = subprocess.run(script, env=package_environment(), text=True, capture_output=True)
    assert got.returncode == 0, got.stderr
    return got.stdout


def test_a_folder_converges(folder, tmp_path):
    out = run(folder, "--passes", "25", "-o", tmp_path / "x.nii")
    unit = float(re.search(r"unit of the folder's images: (\S+)", out)[1])
    assert unit == UNIT, out
    lines = [line.split() for line in out.splitlines() if re.match(r" +\d+ ", line)]
    first, last = ([float(v) for v in line] for line in (lines[0], lines[-1]))
    assert len(last) == 6, out  # pass, seconds, RMSE_W, RMSE_Bg, two regions
    assert first[2] > 0.02 > 0.01 > last[2] and last[3] < 0.01 and max(last[4:]) < 0.005, out
    assert re.search(r"within PETRIC's thresholds from pass \d+ on", out), out
    x, reference = isotome.read(tmp_path / "x.nii"), isotome.read(folder / "PETRIC" / "reference_image.hv")
    assert abs(x - reference).max() < 0.05 * reference.max()


def test_without_a_reference_nothing_is_measured(folder, tmp_path):
    for path in folder.iterdir():
        if path.is_file():
            (tmp_path / path.name).symlink_to(path)
    out = run(tmp_path, "--passes", "3")
    assert "RMSE" not in out and "PETRIC's thresholds" not in out


# ---- a submission, in the challenge's interface ----


class StirImage(stand_ins.Container):
    """What of SIRF's ImageData the challenge gives and uses."""

    def clone(self):
        return StirImage(self.array.copy())


@pytest.fixture
def submission(folder, monkeypatch):
    stand_ins.cil(monkeypatch)
    dataset = types.SimpleNamespace(
        path=folder, OSEM_image=StirImage(np.asarray(isotome.read(folder / "OSEM_image.hv"), np.float32))
    )
    made = importlib.import_module("isotome.submission").Submission(dataset, passes=12, device="cpu", seed=1)
    yield made
    made.end()
    sys.modules.pop("isotome.submission", None)


def submission_callbacks():
    return sys.modules["isotome.submission"].submission_callbacks


def within(folder, image):
    of = isotome.petric.read(folder)
    figures = isotome.measure.petric(
        image, of.reference, whole=of.whole, background=of.background, regions=list(of.regions.values())
    )
    return figures.converged


def test_a_submission_reaches_the_thresholds(folder, submission):
    passes = []

    def metrics(algorithm):
        passes.append((algorithm.done, bool(within(folder, algorithm.x.as_array()))))

    submission.run(np.inf, callbacks=[metrics, *submission_callbacks()])
    assert submission.ended and 5 <= passes[-1][0] <= 12  # anchors are passes too
    first = next(done for done, converged in passes if converged)
    print(f"within PETRIC's thresholds from iteration {first} on")
    assert first <= 8 and all(converged for done, converged in passes if done >= first)
    assert np.isfinite(submission.loss[-1])


def test_a_submission_that_is_dropped_ends_its_run(submission):
    submission.run(2)
    before = submission.x.as_array().copy()
    assert submission.iteration == 2 and any(t.name == "isotome-passes" for t in threading.enumerate())
    submission.end()
    assert not any(t.name == "isotome-passes" for t in threading.enumerate())
    assert np.array_equal(submission.x.as_array(), before)


def test_a_folder_that_lacks_something(tmp_path):
    with pytest.raises(isotome.MissingFileError, match="prompts.hs, which is not there"):
        isotome.petric.read(tmp_path)
