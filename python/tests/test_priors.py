# SPDX-License-Identifier: BSD-3-Clause
"""Penalties: values and gradients against NumPy, weights, and what they refuse."""

import itertools

import numpy as np
import pytest

import isotome

GRID = isotome.Grid((7, 6, 5), (2.0, 3.0, 2.5))
KINDS = {
    "quadratic": {},
    "rdp": {"gamma": 2.0, "epsilon": 0.05},
    "logcosh": {"s": 1.5},
    "huber": {"delta": 0.4},
    "ggd": {"p": 1.3, "delta": 0.2},
}


def pair(kind, a, b, gamma=2.0, epsilon=0.0, s=0.0, delta=0.0, p=0.0):
    """f(a, b) of prior.h."""
    d = a - b
    if kind == "quadratic":
        return d**2 / 2
    if kind == "rdp":
        return d**2 / (a + b + gamma * abs(d) + epsilon)
    if kind == "logcosh":
        return np.log(np.cosh(s * d)) / s**2
    if kind == "ggd":
        return delta**2 * ((1 + (d / delta) ** 2) ** (p / 2) - 1) / p
    return np.where(abs(d) <= delta, d**2 / 2, delta * abs(d) - delta**2 / 2)


def expected(kind, x, kappa, **words):
    """R by its definition, in float64, from all pairs of voxels that touch each other."""
    x, total = x.astype(float), 0.0
    for step in itertools.product((-1, 0, 1), repeat=3):
        if not any(step):
            continue
        here = tuple(slice(max(0, -s), n - max(0, s)) for s, n in zip(step, x.shape))
        there = tuple(slice(max(0, s), n - max(0, -s)) for s, n in zip(step, x.shape))
        weight = GRID.voxel[0] / np.linalg.norm([s * v for s, v in zip(step, GRID.voxel[::-1])])
        total += 0.5 * (weight * kappa[here] * kappa[there] * pair(kind, x[here], x[there], **words)).sum()
    return total


@pytest.fixture
def x():
    return np.random.default_rng(1).random(GRID.shape, dtype=np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_value_and_gradient(context, kind, x):
    kappa = np.random.default_rng(2).random(GRID.shape, dtype=np.float32)
    R = isotome.Prior(kind, GRID, kappa=kappa, context=context, **KINDS[kind])
    got = R(x)
    assert got.value == pytest.approx(expected(kind, x, kappa, **KINDS[kind]), rel=1e-5)
    assert R.value(x) == got.value and np.array_equal(R.gradient(x), got.gradient)
    for place in ((0, 0, 0), (2, 3, 4), (4, 5, 6)):
        ends = [x.astype(float), x.astype(float)]
        for end, sign in zip(ends, (1, -1)):
            end[place] += sign * 1e-4
        up, down = (expected(kind, end, kappa, **KINDS[kind]) for end in ends)
        assert got.gradient[place] == pytest.approx((up - down) / 2e-4, rel=1e-3, abs=1e-5)
    assert (got.curvature > 0).all() and (got.hessian > 0).all()


def test_kinds_are_those_of_the_library(context):
    kinds = isotome.Prior.kinds()
    assert kinds["rdp"] == ("gamma", "epsilon") and kinds["tv"] == ("eta",) and kinds["quadratic"] == ()
    assert set(KINDS) | {"tv"} == set(kinds)
    assert all(tuple(words) == kinds[kind] for kind, words in KINDS.items())
    x = np.ones(GRID.shape, np.float32)
    x[0] = 3
    given, usual = (isotome.Prior("rdp", GRID, context=context, epsilon=0.1, **w) for w in ({"gamma": 2}, {}))
    other = isotome.Prior("rdp", GRID, context=context, epsilon=0.1, gamma=0)
    assert given.value(x) == usual.value(x) != other.value(x)


def test_total_variation_of_a_step(context):
    x = np.zeros(GRID.shape, np.float32)
    x[:, :, 3:] = 1
    R = isotome.Prior("tv", GRID, eta=1e-6, context=context)
    assert R.value(x) == pytest.approx(5 * 6, rel=1e-4)


def test_anatomy_chooses_neighbours(context, x):
    edge = np.zeros(GRID.shape, np.float32)
    edge[:, :, 3:] = 10
    R = isotome.Prior("quadratic", GRID, anatomy=edge, bowsher=4, context=context)
    assert R.value((edge > 0).astype(np.float32)) == 0
    assert R.value(x) < isotome.Prior("quadratic", GRID, context=context).value(x)


def test_into_memory_that_is_there(context, x):
    R, out = isotome.Prior("quadratic", GRID, context=context), np.empty(GRID.shape, np.float32)
    assert R.gradient(x, out=out) is out and np.array_equal(out, R(x).gradient)
    assert R.shape == GRID.shape and "quadratic" in repr(R)


@pytest.mark.parametrize(
    "words, message",
    [
        ({"kind": "rpd"}, "rdp"),
        ({"kind": "huber"}, "delta"),
        ({"kind": "rdp", "gamma": -1}, "gamma"),
        ({"kind": "rdp", "delta": 1}, "rdp has no 'delta'; it has gamma and epsilon"),
        ({"kind": "quadratic", "gamma": 2}, "quadratic has no 'gamma'; it has no parameters"),
        ({"kind": "quadratic", "bowsher": 27}, "bowsher"),
        ({"kind": "quadratic", "kappa": np.ones((2, 2, 2))}, "kappa"),
        ({"kind": "tv", "eta": 1, "anatomy": np.ones(GRID.shape), "bowsher": 3}, "anatomical|anatomy"),
    ],
)
def test_refuses(context, words, message):
    words = dict(words)
    with pytest.raises(isotome.IsotomeError, match=message):
        isotome.Prior(words.pop("kind"), GRID, context=context, **words)


def test_refuses_images(context, x):
    R = isotome.Prior("rdp", GRID, epsilon=0.1, context=context)
    with pytest.raises(isotome.ArgumentError, match="shape"):
        R(x[1:].copy())
    with pytest.raises(isotome.ArgumentError, match="below 0"):
        R(-x)
    with pytest.raises(isotome.ArgumentError, match="real numbers, which become float32"):
        R(x + 0j)
    assert np.array_equal(R.gradient(x.astype(float)), R.gradient(x))
