# SPDX-License-Identifier: BSD-3-Clause
"""Made and freed up to 10000 times: the process does not grow."""

import gc
import os

import numpy as np
import pytest
from conftest import SCANNERS, make_lines

import isotome
from isotome import Events, Grid, Image

WARM = 200  # cycles before the memory is first looked at: caches of Python and of the allocator fill up
MOST_BYTES = 1 << 20  # that the process may grow by afterwards
LINES = make_lines(20)
IMAGE = np.ones((3, 4, 5), np.float32)
GRID = Grid((5, 4, 3), (2.0, 2.0, 2.0))

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc to read")


def resident():
    """Bytes of memory that the process has."""
    gc.collect()
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def make_problem(context):
    return isotome.ray(LINES, grid=(5, 4, 3), voxel=2, sens="none", context=context)


def cycle_context(problem):
    isotome.Context("cpu", threads=1)


def cycle_problem(problem):
    make_problem(problem.context)


def cycle_operator(problem):
    A = problem.operator()
    A.adjoint(A(IMAGE))


def cycle_composed(problem):
    A = isotome.Diagonal(IMAGE)
    (A @ A + 2 * A).H(IMAGE)


def cycle_reconstruction(problem):
    make_problem(problem.context).reconstruct()


def cycle_events(problem):
    Events(LINES)[3:9]
    isotome.Scanner(SCANNERS / "bialas2015.yaml")


def cycle_images(problem):
    (Image(IMAGE, GRID) * 2)[1:].grid


def cycle_refusal(problem):
    with pytest.raises(isotome.ArgumentError):
        isotome.ray(LINES, grid=(5, 4, 3), voxel=-2, sens="none", context=problem.context)


# and how often: what takes long is done less often
CASES = {
    "context": (cycle_context, 10000),
    "operator": (cycle_operator, 10000),
    "composed": (cycle_composed, 10000),
    "images": (cycle_images, 10000),
    "events": (cycle_events, 10000),
    "problem": (cycle_problem, 4000),
    "refusal": (cycle_refusal, 1000),
    "reconstruction": (cycle_reconstruction, 500),
}


@needs_proc
@pytest.mark.parametrize("name", CASES)
def test_memory_is_flat(name):
    cycle, n = CASES[name]
    problem = make_problem(isotome.Context("cpu", threads=1))
    for _ in range(WARM):
        cycle(problem)
    before = resident()
    for _ in range(n):
        cycle(problem)
    grown = resident() - before
    assert grown < MOST_BYTES, f"{grown} bytes more after {n} cycles"
