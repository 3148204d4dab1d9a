# SPDX-License-Identifier: BSD-3-Clause
"""isotome.cil: operators, data terms and penalties in CIL's algorithms; where CIL is not installed, with stand-ins of its
containers, and without its algorithms."""

import sys

import numpy as np
import pytest
import stand_ins

import isotome

GRID = isotome.Grid((24, 24, 1), (4.0, 4.0, 4.0), (0.0, 0.0, 0.0))
BETA, TV = 0.5, 2.0


@pytest.fixture(scope="module")
def here():
    """Whether CIL is there; else its stand-ins are, until the end of this file."""
    with pytest.MonkeyPatch.context() as patch:
        yield stand_ins.cil(patch)
        sys.modules.pop("isotome.cil", None)
        vars(isotome).pop("cil", None)


@pytest.fixture
def cil(here):
    return isotome.cil


@pytest.fixture
def algorithms(here):
    if not here:
        pytest.skip("CIL is not installed: its algorithms did not run on isotome.cil")


@pytest.fixture(scope="module")
def events(context):
    """A disc with a hot and a cold spot: parallel lines with factors, background and counts."""
    turns = np.exp(1j * np.pi / 36 * np.arange(36))[:, None, None]
    ends = turns * (np.arange(-46.0, 47, 3)[:, None] + np.array([-80j, 80j]))
    lines = np.stack([ends.real, ends.imag, 0 * ends.real], axis=-1).reshape(-1, 6)
    v, u = np.meshgrid(*2 * [np.linspace(-1, 1, 24)], indexing="ij")
    truth = 1.0 * (u**2 + v**2 < 0.7) + 2 * ((u - 0.3) ** 2 + v**2 < 0.05) - 0.8 * ((u + 0.3) ** 2 + v**2 < 0.06)
    random = np.random.default_rng(1)
    mult = random.uniform(0.4, 0.8, len(lines))
    mean = mult * isotome.ray(lines, grid=GRID, sens="none", context=context).operator()(truth[None]) / 2 + 3
    return isotome.Events(lines=lines, count=random.poisson(mean), mult=mult, add=np.full(len(lines), 3), lists_all=True)


@pytest.fixture
def scan(events, context):
    return lambda **more: isotome.ray(events, grid=GRID, context=context, **{"method": "osem", "subsets": 6, **more})


@pytest.fixture
def data(scan, cil):
    return cil.poisson(scan())


def difference(image, want):
    want = np.asarray(want)
    return np.linalg.norm(image.as_array().reshape(want.shape) - want) / np.linalg.norm(want)


# ---- operators ----


def test_operator(data, scan):
    K, A = data.operator, data.operator.projector
    x = K.domain_geometry().allocate("random")
    y = K.direct(x)
    assert x.shape == (24, 24) and y.shape == (36 * 31,) and tuple(K.domain_geometry().spacing) in ((4, 4), (4, 4, 4))
    m = scan().data().mult
    want = m * scan().operator()(x.as_array()[None])
    assert np.allclose(y.as_array(), want, rtol=1e-6)
    back = K.adjoint(y)
    assert np.array_equal(back.as_array()[None], A.adjoint(y.as_array()))
    to = K.range_geometry().allocate(5)
    assert K.direct(x, out=to) is to and np.array_equal(to.as_array(), y.as_array())
    assert K.norm() == pytest.approx(A.norm())


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 5), (2, 3, 5, 4), (1, 6)])
def test_data_of_any_axes(cil, shape):
    A = isotome.Function((2, 3, 4), shape, lambda x: np.zeros(shape, "f4"), lambda y: np.ones((2, 3, 4), "f4"))
    grid = cil.geometry_of_images(isotome.Grid((4, 3, 2), (1.0, 2.0, 3.0)))
    K = cil.Projector(A, grid)
    assert grid.shape == (2, 3, 4) and tuple(grid.spacing) == (3, 2, 1)
    plain = len(shape) < 4 and 1 not in shape
    assert K.range_geometry().shape == (shape if plain else (np.prod(shape),))
    assert K.adjoint(K.direct(grid.allocate(1))).as_array().sum() == 24


def test_what_is_refused(cil, data):
    with pytest.raises(isotome.ArgumentError, match="given int, wanted an isotome.Operator"):
        cil.Projector(3)
    with pytest.raises(isotome.ArgumentError, match="wanted image_geometry="):
        cil.Projector(isotome.Diagonal(np.ones(4)))
    with pytest.raises(isotome.ArgumentError, match=r"image_geometry: given shape \(3, 4\)"):
        cil.Projector(data.operator.projector, cil.geometry_of_images(isotome.Grid((4, 3, 1), (1.0, 1.0, 1.0))))
    with pytest.raises(isotome.ArgumentError, match="counts: the smallest value is -1"):
        cil.KullbackLeibler(data.operator, -1)
    with pytest.raises(isotome.ArgumentError, match="wanted sensitivity="):
        cil.KullbackLeibler(data.operator)
    with pytest.raises(isotome.ArgumentError, match="given int, wanted an isotome.Prior"):
        cil.Penalty(3)


# ---- functions ----


def slope(f, x, step, h=1e-2):
    def at(t):
        moved = x.clone()
        moved.fill(x.as_array() + t * step)
        return f(moved)

    return (8 * (at(h) - at(-h)) - at(2 * h) + at(-2 * h)) / (12 * h)


@pytest.mark.parametrize("what", ["counts", "list", "penalty"])
def test_gradients(cil, data, scan, context, what):
    K = data.operator
    prior = isotome.Prior("rdp", GRID, epsilon=0.01, context=context)
    of_list = cil.KullbackLeibler(K, None, 3, sensitivity=scan().sensitivity())
    f = {"counts": data, "list": of_list, "penalty": cil.Penalty(prior)}[what]
    x = K.domain_geometry().allocate(0.7)
    x.fill(0.5 + np.random.default_rng(3).random(x.shape, dtype=np.float32))
    step = np.random.default_rng(4).standard_normal(x.shape, dtype=np.float32) / 4
    g = f.gradient(x)
    assert np.vdot(g.as_array().astype(float), step) == pytest.approx(slope(f, x, step), rel=2e-4)
    to = x.clone()
    assert f.gradient(x, out=to) is to and np.array_equal(to.as_array(), g.as_array())


def test_subsets_make_up_the_whole(data):
    x = data.operator.domain_geometry().allocate(0.7)
    parts = data.subsets()
    assert len(parts) == 6
    assert sum(f(x) for f in parts) == pytest.approx(data(x), rel=1e-6)
    whole = data.gradient(x).as_array()
    assert np.allclose(sum(f.gradient(x).as_array() for f in parts), whole, atol=1e-5 * abs(whole).max())


def test_rows_without_activity(cil, data):
    K = data.operator
    zero = K.domain_geometry().allocate(0)
    assert cil.KullbackLeibler(K, 1)(zero) == np.inf and cil.KullbackLeibler(K, 0)(zero) == 0
    assert np.isfinite(cil.KullbackLeibler(K, 1).gradient(zero).as_array()).all()


# ---- CIL's own checks and algorithms ----


def test_cil_s_own_checks(algorithms, cil, data):
    from cil.optimisation.functions import OperatorCompositionFunction
    from cil.optimisation.operators import LinearOperator

    K = data.operator
    assert LinearOperator.dot_test(K) and LinearOperator.dot_test(K.subset(2))
    assert K.norm() == pytest.approx(LinearOperator.PowerMethod(K), rel=1e-3)
    composed = OperatorCompositionFunction(data.on_data, K)
    x = K.domain_geometry().allocate(0.7)
    assert composed(x) == pytest.approx(data(x), rel=1e-6)
    want = composed.gradient(x).as_array()
    assert np.allclose(data.gradient(x).as_array(), want, rtol=1e-5, atol=1e-5 * abs(want).max())


def settled(algorithm, f, data, updates, step_size, freeze):
    """What ISTA or FISTA come to, with steps in the proportions of EM that are fixed after some updates."""
    from cil.optimisation.functions import IndicatorBox
    from cil.optimisation.utilities import AdaptiveSensitivity

    a = algorithm(
        initial=data.operator.domain_geometry().allocate(1.0),
        f=f,
        g=IndicatorBox(lower=0),
        step_size=step_size,
        preconditioner=AdaptiveSensitivity(data.operator, delta=5e-2, max_iterations=freeze),
        update_objective_interval=1000,
    )
    a.run(updates, verbose=0)
    return a.solution


def best(scan, penalty, method="lbfgs", iterations=400, tolerance=1e-5):
    return scan(method=method, subsets=None, penalty=penalty, iterations=iterations, tolerance=tolerance).reconstruct()


def test_fista_has_the_image_of_recon(algorithms, cil, data, scan, context):
    from cil.optimisation.algorithms import FISTA

    penalty = cil.Penalty(isotome.Prior("quadratic", GRID, context=context))
    image = settled(FISTA, data + BETA * penalty, data, 200, 0.8, 15)
    assert difference(image, best(scan, f"quadratic:{BETA}")) < 1e-3


def test_svrg_has_the_image_of_recon(algorithms, cil, data, scan, context):
    from cil.optimisation.algorithms import ISTA
    from cil.optimisation.functions import SVRGFunction
    from cil.optimisation.utilities import Sampler

    penalty = cil.Penalty(isotome.Prior("rdp", GRID, epsilon=0.01, context=context))
    parts = [part + (BETA / 6) * penalty for part in data.subsets()]
    f = SVRGFunction(parts, Sampler.random_without_replacement(6, seed=1))
    image = settled(ISTA, f, data, 600, 0.8, 30)
    assert difference(image, best(scan, f"rdp:{BETA},epsilon=0.01")) < 1e-3


@pytest.fixture
def total_variation(algorithms, data):
    """CIL's TV with Isotome's unit: differences to the next voxel, not over its distance; and the gradient beside a
    projector of about the same norm."""
    from cil.optimisation.functions import MixedL21Norm
    from cil.optimisation.operators import GradientOperator

    scale = 100
    gradient = scale * GradientOperator(data.operator.domain_geometry())
    return TV * GRID.voxel[0] / scale * MixedL21Norm(), gradient


def test_pdhg_has_the_image_of_recon(total_variation, data, scan):
    from cil.optimisation.algorithms import PDHG
    from cil.optimisation.functions import BlockFunction, IndicatorBox
    from cil.optimisation.operators import BlockOperator

    norm, gradient = total_variation
    K = BlockOperator(data.operator, gradient)
    step = 1 / K.norm()
    a = PDHG(
        f=BlockFunction(data.on_data, norm),
        g=IndicatorBox(lower=0),
        operator=K,
        initial=data.operator.domain_geometry().allocate(1.0),
        sigma=step,
        tau=step,
        update_objective_interval=1000,
    )
    a.run(600, verbose=0)
    assert difference(a.solution, best(scan, f"tv:{TV}", "pdhg", 3000, 1e-6)) < 1e-3


def test_spdhg_has_the_image_of_recon(total_variation, data, scan):
    from cil.optimisation.algorithms import SPDHG
    from cil.optimisation.functions import BlockFunction, IndicatorBox
    from cil.optimisation.operators import BlockOperator
    from cil.optimisation.utilities import Sampler

    norm, gradient = total_variation
    parts = data.subsets()
    operators = [*(part.operator for part in parts), gradient]
    a = SPDHG(
        f=BlockFunction(*(part.on_data for part in parts), norm),
        g=IndicatorBox(lower=0),
        operator=BlockOperator(*operators),
        initial=data.operator.domain_geometry().allocate(1.0),
        sigma=[0.99 * 5 / operator.norm() for operator in operators],
        sampler=Sampler.random_with_replacement(7, prob=[1 / 12] * 6 + [1 / 2], seed=1),
        update_objective_interval=100000,
    )
    a.run(3000, verbose=0)
    assert difference(a.solution, best(scan, f"tv:{TV}", "pdhg", 3000, 1e-6)) < 1e-3
