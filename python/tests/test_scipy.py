# SPDX-License-Identifier: BSD-3-Clause
"""Operators as SciPy's LinearOperator: products, and its algorithms on them."""

import numpy as np
import pytest
from conftest import make_lines

import isotome

linalg = pytest.importorskip("scipy.sparse.linalg")


@pytest.fixture
def matrix(context):
    """A small operator, and its matrix in double, column by column."""
    A = isotome.ray(make_lines(150), context=context, grid=(6, 5, 4), voxel=8, sens="none").operator()
    units = np.eye(6 * 5 * 4, dtype=np.float32).reshape(-1, *A.in_shape)
    return A, np.stack([A(unit) for unit in units], axis=1).astype(np.float64)


def test_products(matrix):
    A, dense = matrix
    L = A.as_linear_operator()
    assert L.shape == (150, 120) and L.dtype == np.float32
    random = np.random.default_rng(1)
    x, y = random.standard_normal(120), random.standard_normal(150)
    assert np.allclose(L @ x, dense @ x, rtol=1e-5, atol=1e-4)
    assert np.allclose(L.rmatvec(y), dense.T @ y, rtol=1e-5, atol=1e-4)
    assert np.allclose(L.H @ y, dense.T @ y, rtol=1e-5, atol=1e-4)
    several = random.standard_normal((120, 3))
    assert np.allclose(L @ several, dense @ several, rtol=1e-5, atol=1e-4)
    assert np.allclose((2 * L - L) @ x, dense @ x, rtol=1e-5, atol=1e-4)


def test_least_squares(matrix):
    """With damping d: (A*A + d^2) x = A* y, by LSQR and CG, against the matrix."""
    A, dense = matrix
    L, d = A.as_linear_operator(), 3.0
    y = dense @ np.random.default_rng(2).random(120)
    want = np.linalg.solve(dense.T @ dense + d**2 * np.eye(120), dense.T @ y)
    normal = linalg.LinearOperator((120, 120), lambda x: L.rmatvec(L @ x) + d**2 * x, dtype=np.float64)
    for x in (
        linalg.lsqr(L, y, damp=d, atol=1e-8, btol=1e-8)[0],
        linalg.cg(normal, L.rmatvec(y), maxiter=500)[0],
    ):
        assert np.linalg.norm(x - want) < 1e-3 * np.linalg.norm(want)


def test_singular_values(matrix):
    A, dense = matrix
    left, values, right = linalg.svds(A.as_linear_operator(), k=3, v0=np.ones(120))
    want = np.linalg.svd(dense, compute_uv=False)[:3]
    assert np.sort(values)[::-1] == pytest.approx(want, rel=1e-5)
    assert A.norm(tolerance=1e-7, iterations=1000) == pytest.approx(want[0], rel=1e-4)
    assert np.allclose(dense @ right.T, left * values, atol=1e-3 * want[0])


def test_made_of_others(operator, image):
    """An operator made of others, and images of the shape of SciPy's vectors."""
    L = (2 * operator.H @ operator).as_linear_operator()
    assert L.shape == (image.size, image.size)
    x = image.ravel()
    assert np.allclose(L @ x, 2 * operator.adjoint(operator(image)).ravel(), rtol=1e-5)
    part = operator.subset(1)
    assert np.array_equal(part.as_linear_operator() @ x, part(image))
    with pytest.raises(ValueError):
        L @ x[:-1]


def test_values_that_are_not_finite_are_refused(operator):
    L = operator.as_linear_operator()
    x = np.zeros(L.shape[1])
    x[5] = np.nan
    with pytest.raises(isotome.ArgumentError, match="nan, must be finite"):
        L @ x
