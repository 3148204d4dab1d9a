# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: a context of two threads, lines through a small box, problems of some models."""

import os
import shutil
import signal
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

import isotome

ROOT = Path(__file__).resolve().parents[2]
SCANNERS = ROOT / "examples" / "scanners"
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell, and so in what tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["ISOTOME_CACHE"] = "none"  # no test depends on what an earlier run kept
NEED_MORE_THAN_NUMPY = ("torch", "deepinv", "cil", "submission")  # modules of the package
BOX = {"grid": (16, 12, 8), "voxel": 4}
_UNPACKED = tempfile.TemporaryDirectory()


def samples(name):
    """A folder of tests/data as CMake lays it out: the files that stand there, and those of its archive."""
    folder, data = _UNPACKED.name, ROOT / "tests" / "data"
    if not os.path.exists(os.path.join(folder, name)):
        shutil.copytree(data / name, os.path.join(folder, name))
        with zipfile.ZipFile(data / f"{name}.zip") as archive:
            archive.extractall(folder)
    return Path(folder) / name


def package_environment():
    """The environment of a process that imports the package as this one does."""
    package = Path(isotome.__file__).resolve().parents[1]
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    library = os.environ.get("ISOTOME_LIBRARY")
    named = {"ISOTOME_LIBRARY": os.path.abspath(library)} if library else {}
    return {**os.environ, "PYTHONPATH": path, **named}


def make_lines(n, seed=0):
    """(n, 7) lines between points of a cylinder of radius 60 mm, that pass near its axis."""
    random = np.random.default_rng(seed)
    first = random.uniform(0, 2 * np.pi, n)
    second = first + np.pi + random.uniform(-0.3, 0.3, n)
    ends = [
        f(angle) * 60 if f else random.uniform(-10, 10, n)
        for angle in (first, second)
        for f in (np.cos, np.sin, None)
    ]
    return np.stack([*ends, np.zeros(n)], axis=1).astype(np.float32)


@pytest.fixture(scope="session")
def context():
    return isotome.Context("cpu", threads=2)


@pytest.fixture
def lines():
    return make_lines(2000)


@pytest.fixture
def problem(context, lines):
    return isotome.ray(
        lines, context=context, method="osem", subsets=4, iterations=2, sens="none", **BOX
    )


@pytest.fixture
def operator(problem):
    return problem.operator()


@pytest.fixture
def image(operator):
    return np.random.default_rng(1).random(operator.in_shape, dtype=np.float32)


def sound_problem(model, context, **more):
    return getattr(isotome, model)(
        np.random.default_rng(3).standard_normal((384, 256), dtype=np.float32),
        scanner=SCANNERS / "optoacoustic-small.yaml",
        grid=(8, 8, 8),
        voxel=2,
        context=context,
        **more,
    )


def strip_problem(context, **more):
    events = np.random.default_rng(4).normal(0, 30, (500, 3)).astype(np.float32)
    return isotome.strip(events, scanner=SCANNERS / "bialas2015.yaml", context=context, **more)
