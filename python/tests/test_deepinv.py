# SPDX-License-Identifier: BSD-3-Clause
"""isotome.deepinv: what it adds to deepinv's LinearPhysics, and deepinv's own tests of operators run on Isotome's."""

import numpy as np
import pytest
from conftest import BOX, make_lines

import isotome

torch = pytest.importorskip("torch", reason="PyTorch is not installed: isotome.deepinv was not tested")
deepinv = pytest.importorskip("deepinv", reason="deepinv is not installed: its tests did not run on isotome.deepinv")


def timed_lines(n):
    lines = make_lines(n)
    lines[:, 6] = np.random.default_rng(7).normal(0, 100, n)  # ps
    return lines


def ray(context, n=300, **more):
    lines = timed_lines(n) if "tof_fwhm_ps" in more else make_lines(n)
    return isotome.ray(lines, context=context, sens="none", **BOX, **more).operator()


@pytest.fixture(scope="module")
def scan(context):
    random = np.random.default_rng(3)
    lines, mult = make_lines(300), random.uniform(0.3, 0.9, 300)
    events = isotome.Events(
        lines=lines, count=random.poisson(20, 300), mult=mult, add=random.uniform(1, 2, 300), lists_all=True
    )
    return isotome.ray(events, context=context, **BOX)


# ---- what it adds ----


def test_physics_of_a_scan(scan):
    physics, A, (y, r, m) = isotome.deepinv.of_problem(scan), scan.operator(), scan.data()
    x = torch.rand(3, 1, *A.in_shape)
    assert isinstance(physics, deepinv.physics.LinearPhysics) and tuple(physics.img_size) == (1, *A.in_shape)
    mean = physics.A(x)
    assert mean.shape == (3, 1, *A.out_shape)
    assert np.allclose(mean[1, 0], m * A(x[1, 0].numpy()), rtol=1e-6)
    assert np.array_equal(isotome.deepinv.counts(scan)[0, 0], y)
    fidelity, data = physics.likelihood(), isotome.deepinv.counts(scan).expand(3, 1, -1)
    gradient = fidelity.grad(x, data, physics)
    want = physics.A_adjoint(1 - data / (mean + torch.from_numpy(r)))
    assert torch.allclose(gradient, want, rtol=1e-4, atol=1e-5 * float(want.abs().max()))


def test_a_list_has_no_counts(context):
    events = isotome.ray(isotome.Events(lines=make_lines(50)), context=context, sens="none", **BOX)
    with pytest.raises(isotome.ArgumentError, match="given a list of events"):
        isotome.deepinv.of_problem(events)


def test_counts_of_a_mean(context):
    A = ray(context, 2000)
    physics = isotome.deepinv.Physics(A, background=5, rng=torch.Generator().manual_seed(1))
    x = torch.full((1, 1, *A.in_shape), 0.5)
    y = physics(x)
    assert torch.equal(y, y.round()) and float(y.min()) >= 0
    assert float(y.mean()) == pytest.approx(float((physics.A(x) + 5).mean()), rel=0.02)
    assert float(physics.noise_model(-torch.ones(1, 1, 1000)).mean()) == pytest.approx(5, rel=0.1)
    assert torch.equal(isotome.deepinv.Physics(A)(x), physics.A(x))
    with pytest.raises(isotome.ArgumentError, match="background: the smallest value is -1"):
        isotome.deepinv.Physics(A, background=-1)
    with pytest.raises(isotome.ArgumentError, match="wanted one of them"):
        isotome.deepinv.Physics(A, background=1, noise_model=None)


def test_planes_are_channels(context):
    A = ray(context)
    physics = isotome.deepinv.Physics(A, planes=True)
    x = torch.rand(2, *A.in_shape)
    assert tuple(physics.img_size) == A.in_shape and physics.A(x).shape == (2, *A.out_shape)
    assert float(physics.adjointness_test(x)) < 1e-5


def test_least_squares(context):
    A = ray(context)
    physics = isotome.deepinv.Physics(A / A.norm(), max_iter=200, tol=1e-6)
    x = torch.rand(2, 1, *A.in_shape)
    y = physics.A(x)
    assert float((physics.A(physics.A_dagger(y)) - y).norm() / y.norm()) < 1e-3
    z, gamma = torch.rand_like(x), 0.7
    at = physics.prox_l2(z, y, gamma)
    left = gamma * physics.A_adjoint(physics.A(at) - y) + at - z
    assert float(left.norm() / z.norm()) < 1e-4


# ---- deepinv's own tests ----


@pytest.fixture(scope="module")
def theirs(context):
    """deepinv/tests/test_physics.py of the wheel, whose operators are Isotome's."""
    module = pytest.importorskip("deepinv.tests.test_physics")

    def find_operator(name, device, imsize=None, get_physics_param=False):
        made = {
            "ray": lambda: ray(context),
            "ray-joseph": lambda: ray(context, projector="joseph"),
            "ray-tof": lambda: ray(context, tof_fwhm_ps=300),
            "ray-psf": lambda: ray(context, psf=6),
        }.get(name.removesuffix("-factors"))
        A = made()
        mult = np.random.default_rng(5).uniform(0.3, 0.9, A.out_shape) if name.endswith("-factors") else None
        B = A if mult is None else isotome.Diagonal(mult) @ A
        physics = isotome.deepinv.Physics(A / B.norm(tolerance=1e-7), mult)
        found = physics, (1, *A.in_shape), 1, torch.float
        return (*found, []) if get_physics_param else found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "find_operator", find_operator)
        patch.setattr(module, "OPERATORS", NAMES)
        yield module


NAMES = ["ray", "ray-joseph", "ray-tof", "ray-psf", "ray-factors"]
TESTS = [
    ("test_operators_adjointness", {}),
    ("test_adjointness_test", {"num_samples": 1}),
    ("test_adjointness_test", {"num_samples": 3}),
    ("test_operators_norm", {"verbose": False}),
    ("test_pseudo_inverse", {"implicit_backward_solver": True}),
    ("test_pseudo_inverse", {"implicit_backward_solver": False}),
    ("test_decomposable", {}),
    ("test_concatenation", {}),
    ("test_operators_differentiability", {}),
    ("test_physics_state_dict", {}),
    ("test_adjoint_autograd", {}),
    ("test_clone", {}),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("test, more", TESTS, ids=lambda v: v if isinstance(v, str) else "-".join(map(str, v.values())))
def test_of_deepinv_s_own(theirs, name, test, more, tmp_path, monkeypatch):
    import inspect

    monkeypatch.chdir(tmp_path)
    function = getattr(theirs, test)
    values = {"name": name, "device": torch.device("cpu"), "rng": torch.Generator().manual_seed(0), **more}
    function(**{parameter: values[parameter] for parameter in inspect.signature(function).parameters})
