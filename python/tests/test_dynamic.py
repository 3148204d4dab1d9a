# SPDX-License-Identifier: BSD-3-Clause
"""Replicates and parts of lists."""

import numpy as np
import pytest
from conftest import make_lines

import isotome


@pytest.fixture(scope="module")
def problem(context):
    lines = make_lines(800)
    return isotome.ray(lines, grid=(16, 12, 8), voxel=4, sens="none", iterations=2, replicates=5, context=context)


def test_weights_and_parts():
    w = isotome.weights(100000, 0)
    assert w.sum() == 100038
    assert (isotome.weights([7, 99999], 0) == w[[7, 99999]]).all()
    assert (isotome.weights(1000, 0, delayed=True) != w[:1000]).any()
    tenth = isotome.part(100000, share=0.1)
    assert tenth.dtype == bool and tenth.sum() == 10242
    assert not (tenth & ~isotome.part(100000, share=0.2)).any()
    assert (sum(isotome.part(1000, part=(k, 3)).astype(int) for k in (1, 2, 3)) == 1).all()
    for wrong in ({}, {"share": 0.1, "part": (1, 2)}, {"share": 0}, {"share": 1.5}, {"part": (3, 2)}):
        with pytest.raises(isotome.ArgumentError):
            isotome.part(10, **wrong)
    with pytest.raises(isotome.ArgumentError):
        isotome.weights(10, 10000)
    with pytest.raises(isotome.ArgumentError):
        isotome.weights([-1], 0)


def test_replicates(problem):
    with pytest.raises(isotome.ArgumentError):
        isotome.replicates(problem)
    image = problem.reconstruct()
    a, n = problem.operator(), 5
    counts = np.stack([isotome.weights(800, r) for r in range(n)])
    x = np.ones((n, *a.in_shape), np.float32)
    for _ in range(2):
        x = a.em_step_many(x, counts)
    mean, sd = isotome.replicates(problem)
    assert mean.grid == image.grid == sd.grid
    assert np.allclose(mean, x.mean(0), rtol=1e-4, atol=1e-5 * x.max())
    assert np.allclose(sd, x.std(0, ddof=1), rtol=1e-3, atol=1e-5 * x.max())


def test_em_step_many(problem):
    a = problem.operator()
    x = np.random.default_rng(1).random((6, *a.in_shape), dtype=np.float32)
    y = np.random.default_rng(2).integers(0, 3, (6, *a.out_shape))
    r, m, s = np.full(a.out_shape, 0.1), np.full(a.out_shape, 0.5), np.ones(a.in_shape)
    assert (a.em_step_many(x, y) == np.stack([a.em_step(x[k], y[k]) for k in range(6)])).all()
    want = np.stack([a.em_step(x[k], y[k], r, m, sens=s) for k in range(6)])
    assert (a.em_step_many(x, y, r, m, sens=s) == want).all()
    b = a.ordered()
    assert (b.em_step_many(x, y[:, b.rows]) == a.em_step_many(x, y)).all()
    plain = isotome.Diagonal(np.full(4, 2, np.float32))
    assert (plain.em_step_many(np.ones((2, 4)), np.ones((2, 4))) == 1).all()
    with pytest.raises(isotome.ArgumentError):
        a.em_step_many(x, y[:5])
