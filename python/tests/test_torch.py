# SPDX-License-Identifier: BSD-3-Clause
"""isotome.torch: gradients of every model, on the CPU and on CUDA, shapes and types, Poisson, deepinv."""

import contextlib
import copy
import gc
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
import pytest
from conftest import BOX, make_lines, strip_problem

import isotome

torch = pytest.importorskip("torch")


# ---- operators of all models ----


def timed_lines(n):
    lines = make_lines(n)
    lines[:, 6] = np.random.default_rng(7).normal(0, 100, n)  # ps
    return lines


def ray(context, **more):
    return isotome.ray(make_lines(300), context=context, sens="none", **BOX, **more).operator()


def ray_tof(context):
    return isotome.ray(timed_lines(300), context=context, tof_fwhm_ps=300, sens="none", **BOX).operator()


TRANSDUCERS = (
    "{kind: transducers, sphere: {radius_mm: 30, rings: 4, views: 6}, speed_mm_per_us: 1.5,"
    " sampling_mhz: 5, first_sample_us: 14, samples: 64, grueneisen: 2000}"
)
HEADS = (
    "{kind: panels, crystals: [5, 6], pitch_mm: [2, 2], crystal_mm: [2, 2, 10], gap_mm: 20,"
    " voxels_per_pitch: [2, 2], planes: 4, plane_mm: 5, energy: {window_kev: [250, 750]}}"
)


@contextlib.contextmanager
def scanner_file(words):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scanner.yaml"
        path.write_text(words)
        yield path


def sound(model, context, **more):
    traces = np.zeros((24, 64), np.float32)
    with scanner_file(TRANSDUCERS) as scanner:
        make = getattr(isotome, model)
        return make(traces, scanner=scanner, grid=(6, 5, 4), voxel=2, context=context, **more).operator()


def srm(context):
    with scanner_file(HEADS) as scanner:
        return isotome.Matrix.analytic(scanner, context=context).operator(context=context)


OPERATORS = {
    "ray": ray,
    "ray-osem": lambda c: ray(c, method="osem", subsets=4),
    "ray-subset": lambda c: ray(c, method="osem", subsets=4).subset(1),
    "ray-joseph": lambda c: ray(c, projector="joseph"),
    "ray-psf": lambda c: ray(c, psf=6),
    "ray-tof": ray_tof,
    "strip": lambda c: strip_problem(c).operator(),
    "srm": srm,
    "svoxel": lambda c: sound("svoxel", c, fmax_mhz=0.375),
    "sradon": lambda c: sound("sradon", c),
}


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def device(request):
    """Of the operators and of the tensors."""
    if request.param == "cuda" and not any(d.available and d.device.startswith("cuda") for d in isotome.devices()):
        pytest.skip("there is no CUDA device")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return request.param


@pytest.fixture(scope="module")
def its_context(device):
    return isotome.Context(device, threads=2)


@pytest.fixture(params=OPERATORS)
def A(request, its_context):
    return OPERATORS[request.param](its_context)


@pytest.fixture
def lines_operator(its_context):
    return ray(its_context)


@pytest.fixture
def draw(device):
    """Normal numbers of a shape, in float32."""
    generator = torch.Generator().manual_seed(1)
    return lambda *shape, **more: torch.randn(*shape, generator=generator, **more).to(device)


@pytest.fixture
def positive(draw):
    """Numbers between 0.5 and 1.5 of a shape."""
    return lambda *shape: 0.5 + draw(*shape).sigmoid()


def inner(a, b):
    return float((a.detach().double() * b.detach().double()).sum())


def size(a):
    return inner(a, a) ** 0.5


# ---- gradients of linear maps ----


def test_the_way_back_is_the_adjoint(A, draw):
    P = isotome.torch.Projector(A)
    x, g = draw(*A.in_shape).requires_grad_(), draw(*A.out_shape)
    y = P(x)
    assert torch.equal(y.detach(), A(x.detach()))
    (back,) = torch.autograd.grad(y, x, g)
    assert torch.equal(back, A.adjoint(g))
    assert inner(x, back) == pytest.approx(inner(y, g), abs=1e-5 * size(y) * size(g))


def test_gradient_of_least_squares(A, draw):
    """Against A*(Ax - y), and against differences, which are exact for a square."""
    P = isotome.torch.Projector(A)
    x, step, y = draw(*A.in_shape), draw(*A.in_shape), P(draw(*A.in_shape))

    def loss(x):
        return 0.5 * (P(x) - y).double().square().sum()

    x.requires_grad_()
    (gradient,) = torch.autograd.grad(loss(x), x)
    x = x.detach()
    want = A.adjoint(A(x) - y)
    assert size(gradient - want) < 1e-6 * size(want)
    slope = float(loss(x + step) - loss(x - step)) / 2
    assert inner(gradient, step) == pytest.approx(slope, abs=1e-5 * size(gradient) * size(step))


def test_torch_s_own_checks(A, draw):
    """In double, which is torch's wish, with steps of 1: the maps are linear, and computed in float32."""
    P, Q = isotome.torch.Projector(A), isotome.torch.Projector(A).adjoint
    x = draw(*A.in_shape, dtype=torch.float64).requires_grad_()
    y = draw(*A.out_shape, dtype=torch.float64).requires_grad_()
    most = {"eps": 1.0, "atol": 1e-5 * size(P(x)), "rtol": 1e-5, "fast_mode": True}
    for f, at in ((P, x), (Q, y)):
        assert torch.autograd.gradcheck(f, (at,), check_forward_ad=True, **most)
        assert torch.autograd.gradgradcheck(f, (at,), **most)


def test_universal_back_projection_has_no_way_back(its_context, draw):
    A = sound("ubp", its_context)
    y = draw(*A.out_shape).requires_grad_()
    x = isotome.torch.Projector(A).adjoint(y)
    assert torch.equal(x.detach(), A.adjoint(y.detach()))
    with pytest.raises(isotome.ArgumentError, match="there is no way back"):
        x.sum().backward()


# ---- shapes, types, modes ----


def test_leading_axes_are_looped_over(lines_operator, draw):
    A, P = lines_operator, isotome.torch.Projector(lines_operator)
    x = draw(2, 3, *A.in_shape).requires_grad_()
    y = P(x)
    assert y.shape == (2, 3, *A.out_shape)
    assert all(torch.equal(y[i, j].detach(), A(x[i, j].detach())) for i in range(2) for j in range(3))
    g = draw(*y.shape)
    (back,) = torch.autograd.grad(y, x, g)
    assert torch.equal(back, P.adjoint(g)) and torch.equal(back[1, 2], A.adjoint(g[1, 2]))
    assert P(draw(0, *A.in_shape)).shape == (0, *A.out_shape)


def test_strided_and_expanded_tensors(lines_operator, draw):
    A, P = lines_operator, isotome.torch.Projector(lines_operator)
    x = draw(*A.in_shape[::-1]).permute(2, 1, 0).requires_grad_()
    y = P(x)
    assert not x.is_contiguous() and torch.equal(y.detach(), A(x.detach().contiguous()))
    (back,) = torch.autograd.grad(y.sum(), x)  # the gradient of a sum is expanded
    assert torch.equal(back, A.adjoint(torch.ones_like(y)))
    assert torch.equal(P(x[None].expand(2, *A.in_shape))[1], y)


@pytest.mark.parametrize(
    "given, made", [("float16", "float32"), ("bfloat16", "float32"), ("float64", "float64")]
)
def test_types(lines_operator, draw, given, made):
    A, P = lines_operator, isotome.torch.Projector(lines_operator)
    x = draw(*A.in_shape).to(getattr(torch, given)).requires_grad_()
    y = P(x)
    assert y.dtype == getattr(torch, made)
    assert torch.equal(y.detach().float(), A(x.detach().float()))
    y.sum().backward()
    assert x.grad.dtype == x.dtype
    assert torch.equal(x.grad, A.adjoint(torch.ones_like(y, dtype=torch.float32)).to(x.dtype))


def test_autocast_computes_in_float32(lines_operator, draw, device):
    P = isotome.torch.Projector(lines_operator)
    layer = torch.nn.Conv3d(1, 1, 3, padding=1).to(device)
    with torch.autocast(device, torch.bfloat16):
        hidden = layer(draw(1, *P.operator.in_shape))
        y = P(hidden)
    assert hidden.dtype == torch.bfloat16 and y.dtype == torch.float32
    y.sum().backward()
    assert layer.weight.grad.dtype == torch.float32 and layer.weight.grad.abs().sum() > 0


def test_modes_without_a_graph(lines_operator, draw):
    P = isotome.torch.Projector(lines_operator)
    x = draw(*P.operator.in_shape).requires_grad_()
    with torch.no_grad():
        assert not P(x).requires_grad
    with torch.inference_mode():
        assert torch.equal(P(x), P(x.detach()))
    assert not P(x.detach()).requires_grad


def test_transforms_of_torch_func(lines_operator, draw):
    A, P = lines_operator, isotome.torch.Projector(lines_operator)
    x, dx = draw(3, *A.in_shape), draw(3, *A.in_shape)
    y = P(x)
    assert torch.equal(torch.func.vmap(P)(x), y)
    assert torch.equal(torch.func.vmap(P, in_dims=1)(x.movedim(0, 1)), y)
    assert torch.equal(torch.func.jvp(P, (x,), (dx,))[1], P(dx))

    def loss(x):
        return 0.5 * P(x).square().sum()

    want = P.adjoint(y)
    assert torch.allclose(torch.func.grad(loss)(x), want, rtol=1e-5, atol=1e-5 * float(want.abs().max()))
    each = torch.func.vmap(torch.func.grad(loss))(x)
    assert torch.allclose(each, want, rtol=1e-5, atol=1e-5 * float(want.abs().max()))


# ---- torch.compile ----

needs_registration = pytest.mark.skipif(
    not hasattr(torch.library, "register_vmap"), reason="this torch is older than 2.5, which registers such operators"
)


def compiled(f):
    """Without a break of the graph; as it comes out of autograd, which needs no compiler of C++."""
    torch.compiler.reset()
    return torch.compile(f, fullgraph=True, backend="aot_eager")


@needs_registration
@pytest.mark.parametrize("of", ["forward", "adjoint", "apply", "chain"])
def test_graphs_hold_the_operator(lines_operator, draw, of):
    A, P = lines_operator, isotome.torch.Projector(lines_operator)
    f = {
        "forward": P,
        "adjoint": P.adjoint,
        "apply": lambda v: isotome.torch.apply(A, v),
        "chain": lambda v: P.adjoint(P(v)),
    }[of]
    x = draw(2, *(A.out_shape if of == "adjoint" else A.in_shape))

    def loss(v):
        return f(2 * v).square().sum()

    want = x.clone().requires_grad_()
    loss(want).backward()
    got = x.clone().requires_grad_()
    value = compiled(loss)(got)
    value.backward()
    assert float(value.detach()) == pytest.approx(float(loss(x)), rel=1e-6)
    assert torch.allclose(got.grad, want.grad, rtol=1e-5, atol=1e-6 * float(want.grad.abs().max()))


@needs_registration
def test_the_registered_operator_is_as_torch_wants_it(lines_operator, draw):
    A = lines_operator
    number, adjoint = isotome.torch._number(A)
    x = draw(2, *A.in_shape).requires_grad_()
    done = torch.library.opcheck(torch.ops.isotome.linear.default, (x, number, adjoint, False))
    assert set(done.values()) == {"SUCCESS"}
    each = torch.func.vmap(lambda v: torch.ops.isotome.linear(v, number, adjoint, False))(x.detach())
    assert torch.equal(each, isotome.torch.Projector(A)(x.detach()))
    assert isotome.torch._number(A.H) == (number, True)


@needs_registration
def test_a_graph_does_not_keep_its_operator(its_context, draw):
    A = ray(its_context)
    number, x = isotome.torch._number(A)[0], draw(*A.in_shape)
    del A
    gc.collect()
    with pytest.raises(isotome.ArgumentError, match="whose operator is gone"):
        torch.ops.isotome.linear(x, number, False, False)


def test_a_batch_has_the_bits_of_its_images(A, draw):
    P = isotome.torch.Projector(A)
    x = draw(9, *A.in_shape).requires_grad_()  # more than are traced together
    y = P(x)
    g = draw(*y.shape)
    (back,) = torch.autograd.grad(y, x, g)
    for k in range(9):
        assert torch.equal(y[k].detach(), A(x[k].detach())) and torch.equal(back[k], A.adjoint(g[k]))


def test_both_ways_keep_to_the_current_stream(lines_operator, device):
    """A stream that is busy when the layer is called: x has its values only once that has ended."""
    if device == "cpu":
        pytest.skip("only CUDA has streams")
    P = isotome.torch.Projector(lines_operator)
    ones = torch.ones(P.operator.in_shape, device=device)
    want_y, want_g = 3 * P(ones), 3 * P.adjoint(P(ones))
    x = torch.zeros_like(ones)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(200_000_000)  # cycles: about 0.1 s
        x.fill_(3)
        x.requires_grad_()
        y = P(x)
        (gradient,) = torch.autograd.grad(0.5 * y.square().sum(), x)
        torch.cuda.current_stream().synchronize()
    assert torch.allclose(y, want_y, rtol=1e-5)
    assert size(gradient - want_g) < 1e-5 * size(want_g)


def test_modules(lines_operator):
    P = isotome.torch.Projector(lines_operator)
    model = torch.nn.Sequential(P, P.adjoint)
    assert not list(model.parameters()) and not model.state_dict()
    assert "(8, 12, 16) -> (300,)" in repr(model)
    assert copy.deepcopy(model)[0].operator is lines_operator


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda x: x[..., :-1], r"x: given shape \(8, 12, 15\), wanted \(\.\.\., 8, 12, 16\)"),
        (lambda x: x[0], r"x: given shape \(12, 16\)"),
        (lambda x: x.long(), r"x: given values of torch.int64, wanted a floating type"),
        (lambda x: x + 0j, r"x: given values of torch.complex64"),
        (lambda x: x.to_sparse(), r"x: given layout torch.sparse_coo, wanted torch.strided"),
        (lambda x: x.cpu().numpy(), r"x: given ndarray, wanted a torch.Tensor"),
        (lambda x: x / 0, r"must be finite"),
    ],
)
def test_wrong_tensors_are_refused(lines_operator, positive, spoil, message):
    x = positive(*lines_operator.in_shape)
    for f in (
        isotome.torch.Projector(lines_operator),
        lambda v: isotome.torch.em_step(lines_operator, v),
        lambda v: isotome.torch.log_likelihood(lines_operator, v, x),
    ):
        with pytest.raises(isotome.ArgumentError, match=message):
            f(spoil(x))


def test_what_is_no_operator_is_refused():
    with pytest.raises(isotome.ArgumentError, match="given function, wanted an isotome.Operator"):
        isotome.torch.Projector(lambda x: x)


# ---- Poisson ----


@pytest.fixture(params=["ray", "ray-tof", "strip", "srm"])
def counts_operator(request, its_context):
    return OPERATORS[request.param](its_context)


def slope_of(f, x, step, h):
    """Central difference of the fourth order, along a step."""
    return (8 * (f(x + h * step) - f(x - h * step)) - (f(x + 2 * h * step) - f(x - 2 * h * step))) / (12 * h)


@pytest.mark.parametrize("what", ["list mode", "counts"])
def test_em_step_has_the_values_of_the_library(counts_operator, positive, what):
    A, x = counts_operator, positive(*counts_operator.in_shape)
    data = [] if what == "list mode" else [positive(*A.out_shape) for _ in range(3)]
    if data:
        data[1] *= float(A(x).mean())
        data[2][::7] = 0  # factors of dead rows
    got, want = isotome.torch.em_step(A, x, *data), A.em_step(x, *data)
    assert torch.allclose(got, want, rtol=1e-3, atol=1e-4 * float(want.max()))


def test_a_step_over_the_sensitivity(lines_operator, positive):
    A, x = lines_operator, positive(*lines_operator.in_shape)
    s = positive(*A.in_shape)
    s[2, 3:] = 0
    v = x.clone().requires_grad_()
    step = isotome.torch.em_step(A, v, sens=s)
    want = A.em_step(x, sens=s)
    assert torch.allclose(step, want, rtol=1e-3, atol=1e-4 * float(want.max()))
    assert not step[2, 3:].any() and not want[2, 3:].any()
    assert torch.allclose(want[s > 0], (A.em_step(x) / s)[s > 0])
    step.sum().backward()
    assert torch.isfinite(v.grad).all()
    with pytest.raises(isotome.ArgumentError, match="sens: given shape"):
        isotome.torch.em_step(A, x, sens=s[0])


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_gradients_that_are_not_finite_go_through(lines_operator, positive, bad):
    """As a GradScaler provokes them, which then leaves the step out."""
    A = lines_operator
    P, x = isotome.torch.Projector(A), positive(2, *A.in_shape).requires_grad_()
    y = P(x)
    g = torch.ones_like(y)
    g[1, 5] = bad
    (back,) = torch.autograd.grad(y, x, g)
    assert torch.isnan(back[1]).all() and torch.equal(back[0], A.adjoint(g[0]))
    one = x[0].detach().requires_grad_()
    for f in (
        lambda v: isotome.torch.em_step(A, v).sum(),
        lambda v: isotome.torch.log_likelihood(A, v, torch.zeros_like(one)),
    ):
        (back,) = torch.autograd.grad(f(one) * bad, one)
        assert not torch.isfinite(back).any()
    with pytest.raises(isotome.ArgumentError, match="must be finite"):
        P(x.detach() * bad)


@pytest.mark.parametrize("argument", ["x", "y", "add"])
def test_gradient_of_em_step(counts_operator, positive, draw, argument):
    """J* g along a direction, against differences of <em_step, g>; and the formula of J* g for x."""
    A = counts_operator
    at = {"x": positive(*A.in_shape), "y": positive(*A.out_shape), "add": positive(*A.out_shape)}
    g, step = draw(*A.in_shape), draw(*at[argument].shape)

    def f(v):
        return (isotome.torch.em_step(A, **{**at, argument: v}).double() * g).sum()

    v = at[argument].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(f(v), v)
    slope = float(slope_of(f, at[argument], step, 0.02))
    assert inner(gradient, step) == pytest.approx(slope, abs=3e-4 * size(gradient) * size(step))
    if argument == "x":
        mean = A(at["x"]) + at["add"]
        back = A.adjoint(at["y"] / mean)
        want = back * g - A.adjoint(at["y"] / mean.square() * A(at["x"] * g))
        assert size(gradient - want) < 1e-5 * size(want)


def likelihood(A, x, s, y=None, add=None, mult=None):
    """By NumPy, in double from A x on."""
    mean = A(x).double() * (1 if mult is None else mult) + (0 if add is None else add)
    used = mean > 0
    return float(((1 if y is None else y) * torch.where(used, mean, 1).log()).sum() - (s.double() * x).sum())


@pytest.mark.parametrize("start", ["positive", "from 0.02 to 1.5", "with zeros"])
def test_log_likelihood_and_its_gradient(counts_operator, positive, draw, start):
    """In one pass, and by A and A* where voxels are 0."""
    A = counts_operator
    x, s = positive(*A.in_shape), positive(*A.in_shape)
    y, add = positive(*A.out_shape), positive(*A.out_shape)
    if start != "positive":
        x[..., ::3] *= 0 if start == "with zeros" else 0.04
    mult = positive(*A.out_shape)
    for data in ({}, {"y": y}, {"y": y, "add": add}, {"y": y, "add": add, "mult": mult}):
        v = x.clone().requires_grad_()
        value = isotome.torch.log_likelihood(A, v, s, **data)
        assert value.dtype == torch.float64 and value.shape == ()
        assert float(value.detach()) == pytest.approx(likelihood(A, x, s, **data), rel=1e-6)
        (gradient,) = torch.autograd.grad(value, v)
        mean = A(x) + data.get("add", 0) / data.get("mult", 1)
        want = A.adjoint(torch.where(mean > 0, data.get("y", 1) / mean.clamp(min=1e-30), 0)) - s
        assert gradient.dtype == torch.float32
        assert size(gradient - want) < 2e-5 * size(want)
        step = draw(*A.in_shape) * x
        slope = slope_of(lambda v: likelihood(A, v, s, **data), x, step, 0.01)
        assert inner(gradient, step) == pytest.approx(slope, abs=1e-4 * size(gradient) * size(step))


def test_small_voxels_have_the_right_gradient(lines_operator, positive):
    """Where x times the gradient would be lost in the sums of one pass."""
    A, x = lines_operator, positive(*lines_operator.in_shape)
    x[3, 4] = 1e-25
    v = x.clone().requires_grad_()
    isotome.torch.log_likelihood(A, v, torch.zeros_like(x)).backward()
    mean = A(x)
    want = A.adjoint(torch.where(mean > 0, 1 / mean.clamp(min=1e-30), 0))
    assert float(want[3, 4].min()) > 0
    assert torch.allclose(v.grad, want, rtol=1e-4)


def test_second_derivatives_of_the_log_likelihood(lines_operator, positive, draw):
    """H v = -A*(y / (Ax + add)^2 A v), by a double way back and by torch.func."""
    A = lines_operator
    x, s, v = positive(*A.in_shape), positive(*A.in_shape), draw(*A.in_shape)
    add = positive(*A.out_shape)

    def f(x):
        return isotome.torch.log_likelihood(A, x, s, add=add)

    want = -A.adjoint(A(v) / (A(x) + add).square())
    at = x.clone().requires_grad_()
    (first,) = torch.autograd.grad(f(at), at, create_graph=True)
    (second,) = torch.autograd.grad(first, at, v)
    assert size(second - want) < 1e-5 * size(want)
    (other,) = torch.func.vjp(torch.func.grad(f), x)[1](v)
    assert size(other - want) < 1e-5 * size(want)
    with pytest.raises(RuntimeError, match="jvp"):  # told, not wrong
        torch.func.jvp(f, (x,), (v,))


def test_log_likelihood_of_several_images(lines_operator, positive):
    A, x, s = lines_operator, positive(2, 3, *lines_operator.in_shape), positive(*lines_operator.in_shape)
    x[1, 2, 4] = 0
    at = x.clone().requires_grad_()
    values = isotome.torch.log_likelihood(A, at, s)
    assert values.shape == (2, 3)
    for i, j in ((0, 1), (1, 2)):
        assert float(values[i, j].detach()) == pytest.approx(likelihood(A, x[i, j], s), rel=1e-6)
    weights = torch.arange(6, device=x.device).reshape(2, 3)
    (values * weights).sum().backward()
    one = x[1, 2].clone().requires_grad_()
    isotome.torch.log_likelihood(A, one, s).backward()
    assert size(at.grad[1, 2] - 5 * one.grad) < 1e-6 * size(at.grad[1, 2])
    each = torch.func.vmap(lambda v: isotome.torch.log_likelihood(A, v, s))(x[0])
    assert torch.equal(each, values[0].detach())


def test_what_the_log_likelihood_refuses(lines_operator, positive):
    A, x = lines_operator, positive(*lines_operator.in_shape)
    y = positive(*A.out_shape)
    with pytest.raises(isotome.ArgumentError, match="smallest value is -1, must not be below 0"):
        isotome.torch.log_likelihood(A, -torch.ones_like(x), x)
    with pytest.raises(isotome.ArgumentError, match="add: given a tensor that requires a gradient"):
        isotome.torch.log_likelihood(A, x, x, add=y.requires_grad_())
    with pytest.raises(isotome.ArgumentError, match=r"y: given shape \(299,\), wanted \(300,\)"):
        isotome.torch.log_likelihood(A, x, x, y=y.detach()[1:])
    with pytest.raises(isotome.ArgumentError, match=r"sensitivity: given shape \(300,\)"):
        isotome.torch.log_likelihood(A, x, y)


# ---- deepinv ----


class LinearPhysics(torch.nn.Module):
    """What of deepinv's class of this name is used here, where it is not installed."""

    def __init__(self, A, A_adjoint, img_size, max_iter=50):
        super().__init__()
        self.forw, self.A_adj, self.img_size, self.max_iter = A, A_adjoint, img_size, max_iter

    def A(self, x, **parameters):
        return self.forw(x, **parameters)

    def A_adjoint(self, y, **parameters):
        return self.A_adj(y, **parameters)

    def adjointness_test(self, u):
        v = torch.randn_like(self.A(u))
        return (inner(self.A(u), v) - inner(u, self.A_adjoint(v))) / (size(self.A(u)) * size(v))


@pytest.fixture
def deepinv(monkeypatch):
    try:
        import deepinv.physics as physics
    except ImportError:
        physics = types.ModuleType("deepinv.physics")
        physics.LinearPhysics = LinearPhysics
        monkeypatch.setitem(sys.modules, "deepinv", types.ModuleType("deepinv"))
        monkeypatch.setitem(sys.modules, "deepinv.physics", physics)
    return physics


def test_physics_of_deepinv(lines_operator, draw, deepinv):
    A = lines_operator
    physics = isotome.torch.physics(A, max_iter=30)
    assert isinstance(physics, deepinv.LinearPhysics)
    assert physics.max_iter == 30 and tuple(physics.img_size) == (1, *A.in_shape)
    x = draw(2, 1, *A.in_shape)
    y = physics.A(x)
    assert y.shape == (2, 1, *A.out_shape) and torch.equal(y[1, 0], A(x[1, 0]))
    assert torch.equal(physics.A_adjoint(y)[0, 0], A.adjoint(y[0, 0]))
    assert abs(float(physics.adjointness_test(x))) < 1e-4
