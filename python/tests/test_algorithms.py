# SPDX-License-Identifier: BSD-3-Clause
"""The library's algorithms over operators of models and over operators of one's own."""

import gc
import weakref

import numpy as np
import pytest
from conftest import BOX, SCANNERS, make_lines, sound_problem

import isotome

GPU = pytest.mark.skipif(
    not any(d.device != "cpu" and d.available for d in isotome.devices()), reason="no GPU"
)


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=GPU)])
def device(request):
    return isotome.Context(request.param, threads=2)


@pytest.fixture(scope="module")
def scan(device):
    """Lines with counts, factors and additive terms, in four subsets."""
    random = np.random.default_rng(6)
    lines = make_lines(2000)
    y, add, mult = (random.random(len(lines), dtype=np.float32) + 1 for _ in range(3))
    return isotome.ray(
        isotome.Events(lines, count=y, add=add, mult=mult),
        context=device, method="osem", subsets=4, iterations=3, sens="none", **BOX,
    )


@pytest.fixture(scope="module")
def ones():
    return np.ones((8, 12, 16), np.float32)


def matrix(n_out, in_shape, seed=1):
    """An operator of NumPy alone, of a dense matrix, and the matrix."""
    a = np.random.default_rng(seed).random((n_out, int(np.prod(in_shape))), dtype=np.float32)
    A = isotome.Function(
        in_shape, (n_out,), lambda x: a @ x.reshape(-1), lambda y: (y @ a).reshape(in_shape)
    )
    return A, a.astype(np.float64)


# ---- EM ----


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_em_has_the_bits_of_the_problem(scan, ones):
    A, data = scan.operator(), scan.data()
    s = isotome.em(A, *data, sens=ones, iterations=3)
    assert np.array_equal(s.image, scan.reconstruct())
    assert isinstance(s.image, isotome.Image) and s.image.grid == scan.grid
    assert s.iterations == 3 and not s.stopped and s.resumed_from == 0
    assert s.curve == pytest.approx(scan.record["results"]["loglik"], rel=1e-12)


def test_em_of_data_in_the_operators_order(scan, ones):
    A, data = scan.operator(), scan.data()
    B = A.ordered()
    sorted_data = [v[B.rows] for v in data]
    assert np.array_equal(isotome.em(A, *data, sens=ones).image, isotome.em(B, *sorted_data, sens=ones).image)


def test_em_of_composed_operators_is_that_of_the_model(scan, ones):
    A, data = scan.operator(), scan.data()
    want = isotome.em(A, *data, sens=ones, iterations=3)
    for B in (2 * A, A @ isotome.Diagonal(np.full(A.in_shape, 2, np.float32))):
        assert B.n_subsets == 4
        s = isotome.em(B, *data, sens=ones * 2, start=ones / 2, iterations=3)
        assert np.allclose(2 * s.image, want.image, rtol=1e-3, atol=1e-4 * want.image.max())
        assert s.curve == pytest.approx(want.curve, rel=1e-5)


def test_em_of_one_subset_is_em_of_its_rows(scan, ones):
    A, data = scan.operator(), scan.data()
    B = A.subset(1)
    y, add, mult = (v[B.rows] for v in data)
    s = isotome.em(B, y, add, mult, sens=ones, iterations=1)
    by_hand = B.em_step(ones, y, add, mult)
    assert np.allclose(s.image, by_hand, rtol=1e-5)


def test_em_by_hand_on_a_matrix():
    A, a = matrix(30, (2, 3, 4))
    truth = np.random.default_rng(2).random(24) + 0.5
    y = (a @ truth).astype(np.float32)
    x = np.ones(24)
    for _ in range(20):
        x *= (a.T @ (y / (a @ x))) / a.sum(axis=0)
    s = isotome.em(A, y, iterations=20)
    assert np.allclose(s.image.reshape(-1), x, rtol=1e-4)
    assert not isinstance(s.image, isotome.Image) and s.curve.shape == (20,) and np.all(np.diff(s.curve) > 0)


def test_sensitivities_of_subsets(scan, ones):
    A, data = scan.operator(), scan.data()
    quarter = np.stack([ones / 4] * 4)
    one, each = (isotome.em(A, *data, sens=s, iterations=2).image for s in (ones, quarter))
    assert np.array_equal(one, each)
    with pytest.raises(isotome.ArgumentError, match=r"sens: given shape \(3, 8, 12, 16\), wanted \(4, 8, "):
        isotome.em(A, *data, sens=quarter[:3].copy())


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_filters_between_iterations(device, ones):
    how = {"iterations": 3, "filter": "gaussian:6", "filter_every": 1}
    p = isotome.ray(make_lines(2000), context=device, sens="none", **how, **BOX)
    s = isotome.em(p.operator(), sens=ones, iterations=3, filter="gaussian:6")
    assert np.array_equal(s.image, p.reconstruct())
    A, _ = matrix(30, (2, 3, 4))
    y = np.ones(30, np.float32)
    with pytest.raises(isotome.ArgumentError, match="filter: given without a grid"):
        isotome.em(A, y, filter="gaussian:6")
    grid = isotome.Grid((4, 3, 2), (1, 1, 1))
    assert isotome.em(A, y, filter="median:3", grid=grid).image.grid == grid


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_the_sensitivity_of_a_model_is_the_default(device):
    p = isotome.ray(
        make_lines(500), scanner=SCANNERS / "small-animal.yaml", sens_share=1e-4, context=device, **BOX
    )
    A = p.operator()
    by_hand = isotome.em(A, sens=np.array(p.sensitivity()), iterations=2)
    assert np.array_equal(isotome.em(A, iterations=2).image, by_hand.image)


# ---- least squares ----


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
@pytest.mark.parametrize("penalty", ["quadratic", None])
def test_cg_has_the_bits_of_the_problem(device, penalty):
    more = {"penalty": "quadratic:0.5"} if penalty else {}
    p = sound_problem("sradon", device, iterations=4, **more)
    s = isotome.cg(p.operator(), p.data().y, penalty=penalty, mu=0.5 if penalty else 0, iterations=4)
    assert np.array_equal(s.image, p.reconstruct())
    assert s.curve == pytest.approx(p.record["results"]["cost"], rel=1e-12)
    assert s.gradient == pytest.approx(p.record["results"]["gradient"], rel=1e-12)
    assert s.change is None and s.iterations == 4


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_fista_has_the_bits_of_the_problem(device):
    p = sound_problem("sradon", device, iterations=2, penalty="tv:0.01", nonneg=True)
    s = isotome.fista(p.operator(), p.data().y, tv=0.01, iterations=2)
    assert np.array_equal(s.image, p.reconstruct()) and s.image.min() >= 0
    assert s.curve == pytest.approx(p.record["results"]["cost"], rel=1e-12)
    assert s.gradient is None and s.change.shape == (3,)


def test_cg_solves_normal_equations():
    A, a = matrix(40, (12,))
    y = np.random.default_rng(3).standard_normal(40, dtype=np.float32)
    s = isotome.cg(A, y, iterations=100, tolerance=1e-5)
    assert np.allclose(s.image, np.linalg.lstsq(a, y, rcond=None)[0], atol=1e-4)
    assert s.iterations < 100 and s.gradient[-1] <= 1e-5


@pytest.mark.parametrize("precondition", ["none", "image"])
def test_nonneg_cg_solves_for_images_above_zero(precondition):
    A, a = matrix(40, (3, 4))
    y = np.random.default_rng(3).standard_normal(40, dtype=np.float32)
    s = isotome.cg(A, y, nonneg=True, precondition=precondition, iterations=200)
    downhill = a.T @ (y - a @ s.image.reshape(-1))
    seen = s.image.reshape(-1) > 1e-6
    assert s.image.min() >= 0 and 0 < seen.sum() < 12
    assert np.abs(downhill[seen]).max() < 1e-3 and downhill[~seen].max() < 1e-3
    with pytest.raises(isotome.ArgumentError, match="precondition: given 'area'"):
        isotome.cg(A, y, nonneg=True, precondition="area")
    with pytest.raises(isotome.ArgumentError, match="by_image"):
        isotome.cg(A, y, precondition="image")


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_nonneg_cg_has_the_bits_of_the_problem(device):
    p = sound_problem("sradon", device, iterations=4, method="nncg", precondition="image")
    s = isotome.cg(p.operator(), p.data().y, nonneg=True, precondition="image", iterations=4)
    assert np.array_equal(s.image, p.reconstruct()) and s.image.min() >= 0
    assert s.curve == pytest.approx(p.record["results"]["cost"], rel=1e-12)


def test_a_penalty_of_ones_own():
    A, a = matrix(40, (2, 6))
    y = np.random.default_rng(3).standard_normal(40, dtype=np.float32)
    d = np.linspace(1, 2, 12, dtype=np.float32).reshape(2, 6)
    s = isotome.cg(A, y, penalty=isotome.Diagonal(d), mu=3, iterations=100, tolerance=1e-6)
    want = np.linalg.solve(a.T @ a + 3 * np.diag(d.reshape(-1)), a.T @ y)
    assert np.allclose(s.image.reshape(-1), want, atol=1e-4)
    smooth = isotome.cg(A, y, penalty="quadratic", mu=1e6, iterations=100)
    assert np.ptp(smooth.image) < 1e-3
    with pytest.raises(isotome.ArgumentError, match="penalty: given .*Diagonal"):
        isotome.cg(A, y, penalty=isotome.Diagonal(d.reshape(-1)), mu=1)
    with pytest.raises(isotome.ArgumentError, match="penalty"):
        isotome.cg(A, y, penalty="cubic", mu=1)


def test_fista_keeps_the_sign():
    A, a = matrix(40, (3, 4))
    y = np.random.default_rng(3).standard_normal(40, dtype=np.float32)
    free = isotome.fista(A, y, nonneg=False, iterations=300)
    assert np.allclose(free.image.reshape(-1), np.linalg.lstsq(a, y, rcond=None)[0], atol=2e-2)
    bound = isotome.fista(A, y, iterations=300)
    assert free.image.min() < -1e-2 and bound.image.min() == 0
    assert bound.curve[-1] > free.curve[-1]


# ---- callbacks, checkpoints ----


def runs(scan, ones, **more):
    """The three algorithms, each with the same keywords."""
    A, data = scan.operator(), scan.data()
    B, a = matrix(40, (3, 4))
    y = (a @ np.ones(12)).astype(np.float32)
    return {
        "em": lambda **k: isotome.em(A, *data, sens=ones, iterations=4, **more, **k),
        "composed em": lambda **k: isotome.em(1.0 * A, *data, sens=ones, iterations=4, **more, **k),
        "cg": lambda **k: isotome.cg(B, y, iterations=4, **more, **k),
        "fista": lambda **k: isotome.fista(B, y, iterations=4, **more, **k),
    }


@pytest.mark.parametrize("name", ["em", "composed em", "cg", "fista"])
def test_a_callback_sees_each_image_and_stops(scan, ones, name):
    run, steps = runs(scan, ones)[name], []
    whole = run(callback=steps.append)
    assert [(s.iteration, s.iterations, s.frame) for s in steps] == [(k, 4, 0) for k in (1, 2, 3, 4)]
    assert np.array_equal(steps[3].image, whole.image) and not np.array_equal(steps[2].image, whole.image)
    assert not whole.stopped
    kept = steps[1].image.copy()
    s = run(callback=lambda step: step.iteration == 2)
    assert s.stopped and s.iterations == 2 and np.array_equal(s.image, kept)
    assert np.array_equal(steps[1].image, kept)
    assert steps[1].objective == pytest.approx(
        s.curve[4:8].sum() if name.endswith("em") else s.curve[2], rel=1e-12
    )


@pytest.mark.parametrize("name", ["em", "composed em", "cg", "fista"])
def test_stopped_runs_go_on_from_their_checkpoints(scan, ones, name, tmp_path):
    run, file, seen = runs(scan, ones)[name], tmp_path / "work.ckpt", []
    whole = run()

    def fails(step):
        if step.iteration == 2:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(callback=fails, checkpoint=file)
    assert file.is_file()
    with pytest.raises(isotome.ArgumentError, match="exists: resume=True continues it"):
        run(checkpoint=file)
    s = run(callback=lambda step: seen.append(step.iteration), checkpoint=file, resume=True)
    assert seen == [3, 4] and np.array_equal(s.image, whole.image) and np.array_equal(s.curve, whole.curve)
    assert s.resumed_from == (8 if name.endswith("em") else 2)
    assert not file.exists()
    with pytest.raises(isotome.ArgumentError, match="resume: given without a checkpoint"):
        run(resume=True)


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    A, _ = matrix(40, (12,))
    y = np.ones(40, np.float32)

    def fails(step):
        raise ValueError

    with pytest.raises(ValueError):
        isotome.cg(A, y, callback=fails, checkpoint=tmp_path / "c")
    with pytest.raises(isotome.IsotomeError, match="checkpoint"):
        isotome.cg(A, 2 * y, checkpoint=tmp_path / "c", resume=True)


def test_exceptions_of_operators_are_raised():
    def fails(y):
        raise KeyError("mine")

    A = isotome.Function((3,), (4,), lambda x: np.ones(4, np.float32), fails)
    with pytest.raises(KeyError, match="mine"):
        isotome.cg(A, np.ones(4, np.float32))
    B = isotome.Function((3,), (4,), lambda x: np.ones(5, np.float32), fails)
    with pytest.raises(isotome.ArgumentError, match=r"what forward returned: given shape \(5,\)"):
        isotome.em(B, np.ones(4, np.float32), sens=np.ones(3, np.float32))


def test_progress_stops(scan, ones):
    with pytest.raises(isotome.Cancelled, match="stopped after 3 of 16 updates"):
        runs(scan, ones)["em"](progress=lambda p: p.done == 3)


# ---- what is refused, other kinds of arrays ----


def test_wrong_arguments_are_refused(scan, ones):
    A, data = scan.operator(), scan.data()
    for call, message in (
        (lambda: isotome.em(ones), "A: given ndarray, wanted an isotome.Operator"),
        (lambda: isotome.em(A, data.y[:5].copy(), sens=ones), r"y: given shape \(5,\), wanted \(2000,\)"),
        (lambda: isotome.em(A, sens=ones, iterations=0), "iterations: given 0, wanted 1 to"),
        (lambda: isotome.em(A, sens=ones, iterations=2**40), "iterations: given"),
        (lambda: isotome.em(A, sens=ones, iterations="two"), "iterations: given 'two', wanted an integer"),
        (lambda: isotome.em(A, sens=ones + 0j), "sens: given values of complex64"),
        (lambda: isotome.em(A, sens=ones[1:].astype(float)), "sens: given shape"),
        (lambda: isotome.em(A, sens=ones, filter="round:2"), "filter"),
        (lambda: isotome.em(A, sens=ones, callback=1), "callback: given int"),
        (lambda: isotome.em(A, sens=ones, grid=(1, 2, 3)), "grid: given tuple"),
        (lambda: isotome.cg(A, None), "y: given None"),
        (lambda: isotome.cg(A, data.y, mu=float("nan")), "mu: given nan"),
        (lambda: isotome.cg(A, data.y, mu=1), "no penalty"),
        (lambda: isotome.fista(A, data.y, tv=-1), "tv is -1"),
        (lambda: isotome.fista(A, data.y, tv_steps=0), "tv_steps: given 0"),
    ):
        with pytest.raises(isotome.ArgumentError, match=message):
            call()
    with pytest.raises(isotome.InputError, match="counts holds -1 at 3"):
        y = data.y.copy()
        y[3] = -1
        isotome.em(A, y, sens=ones)


def test_tensors_in_tensors_out(scan, ones):
    torch = pytest.importorskip("torch")
    A, data = scan.operator(), scan.data()
    want = isotome.em(A, *data, sens=ones, iterations=2)
    tensors = [torch.from_numpy(v) for v in data]
    seen = []
    for B in (A, A @ isotome.Diagonal(ones)):
        s = isotome.em(B, *tensors, sens=torch.from_numpy(ones), iterations=2, callback=seen.append)
        assert isinstance(s.image, torch.Tensor)
        assert np.allclose(s.image.numpy(), want.image, rtol=1e-3, atol=1e-4 * want.image.max())
    assert all(isinstance(step.image, torch.Tensor) for step in seen)
    with pytest.raises(isotome.ArgumentError, match="sens: given a NumPy array, wanted a PyTorch tensor"):
        isotome.em(A, *tensors, sens=ones)


@GPU
def test_tensors_on_the_device():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA")
    p = isotome.ray(make_lines(2000), context=isotome.Context("cuda"), **BOX)
    A, there = p.operator(), torch.ones((8, 12, 16), device="cuda:0")
    s = isotome.em(A, sens=there, iterations=2)
    assert s.image.device == there.device
    assert np.array_equal(s.image.cpu().numpy(), isotome.em(A, sens=there.cpu().numpy(), iterations=2).image)
    with pytest.raises(isotome.ArgumentError, match="made of others, wanted arrays on the host"):
        isotome.em(2 * A, sens=there)


def test_operators_of_ones_own_are_let_go():
    A, _ = matrix(40, (12,))
    gone = weakref.ref(A)
    isotome.cg(A, np.ones(40, np.float32), penalty=isotome.Diagonal(np.ones(12, np.float32)), mu=1)
    gc.disable()
    try:
        del A
        assert gone() is None
    finally:
        gc.enable()
