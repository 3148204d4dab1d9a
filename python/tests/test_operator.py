# SPDX-License-Identifier: BSD-3-Clause
"""Operators: the mathematics, subsets and order, algebra, and what they refuse."""

import threading
import types

import numpy as np
import pytest
from conftest import BOX, make_lines, sound_problem, strip_problem

import isotome
from isotome import _kinds
from isotome.operator import _Vectors


def test_line_through_the_middle_of_a_row_of_voxels(context):
    line = np.array([[-60, 2, 2, 60, 2, 2, 0]], np.float32)
    A = isotome.ray(line, context=context, **BOX).operator()
    x = np.zeros(A.in_shape, np.float32)
    x[4, 6, :] = np.arange(16)  # z and y of 2 mm: the voxel above the middle
    assert A(x) == pytest.approx(4 * np.arange(16).sum())
    back = A.adjoint(np.ones(1, np.float32))
    assert np.allclose(back[4, 6, :], 4) and back.sum() == pytest.approx(64)


def test_adjoints(operator, image):
    y = np.random.default_rng(2).standard_normal(operator.out_shape, dtype=np.float32)
    for A in (operator, operator.ordered(), operator.subset(1), operator.H, 2 * operator, operator.H @ operator):
        assert A.adjointness_test() < 1e-5
    left = np.vdot(operator(image).astype(float), y)
    assert np.vdot(image.astype(float), operator.adjoint(y)) == pytest.approx(left, rel=1e-5)
    assert np.array_equal(operator.H(y), operator.adjoint(y))
    assert operator.H.H is operator


def test_the_transpose_is_the_adjoint(operator, image):
    y = operator(image)
    assert np.array_equal(operator.T @ y, operator.adjoint(y)) and operator.T.in_shape == operator.out_shape



@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
@pytest.mark.parametrize("model, shape", [("svoxel", (384, 256, 2)), ("sradon", (384, 256))])
def test_adjoints_of_sound(context, model, shape):
    A = sound_problem(model, context).operator()
    assert A.in_shape == (8, 8, 8) and A.out_shape == shape  # 2: complex numbers
    assert A.adjointness_test() < 1e-5
    assert isotome.Operator.adjointness_test(A) < 1e-4


def test_adjoint_of_strips(context):
    p = strip_problem(context)
    A = p.operator()
    assert A.adjointness_test() < 1e-5
    assert A.out_shape == (500,)


def test_data_are_in_the_order_of_the_file(problem, operator, image):
    y = operator(image)
    assert np.array_equal(y, problem.project(image))
    back = problem.backproject(y)
    assert np.allclose(operator.adjoint(y), back, rtol=1e-6)


def test_subsets_make_up_the_whole(operator, image):
    y, gathered, back = operator(image), np.full(operator.out_shape, np.nan, np.float32), 0
    rows = np.concatenate([operator.subset(k).rows for k in range(operator.n_subsets)])
    assert np.array_equal(np.sort(rows), np.arange(2000))
    for k in range(operator.n_subsets):
        B = operator.subset(k)
        gathered[B.rows] = B(image)
        back = back + B.adjoint(y[B.rows])
    assert np.array_equal(gathered, y)
    assert np.allclose(back, operator.adjoint(y), rtol=1e-5)
    ordered = operator.ordered()
    assert np.array_equal(ordered(image), y[ordered.rows])
    with pytest.raises(isotome.ArgumentError, match="subset: given 4, wanted an integer from 0 to 3"):
        operator.subset(4)


def test_interleaved_subsets_hold_every_fourth_row(operator):
    assert np.array_equal(np.sort(operator.subset(1).rows), np.arange(1, 2000, 4))


@pytest.mark.parametrize("part", ["whole", "ordered", "subset"])
def test_em_step_is_that_of_its_formula(operator, image, part):
    A = {"whole": operator, "ordered": operator.ordered(), "subset": operator.subset(2)}[part]
    random = np.random.default_rng(5)
    n = A.out_shape
    y = random.poisson(3, n).astype(np.float32)
    add = random.random(n, dtype=np.float32)
    mult = random.random(n, dtype=np.float32)
    mult[::7] = 0
    got, stat = A.em_step_with_statistics(image, y, add, mult)
    used = mult > 0
    a = np.divide(add, mult, out=np.zeros_like(add), where=used)
    expected = A(image) + a
    want = image * A.adjoint(np.where(used, y / expected, 0).astype(np.float32))
    assert np.allclose(got, want, rtol=1e-4, atol=1e-6 * want.max())
    assert stat.used == used.sum() and stat.skipped == (~used).sum()
    assert stat.lost == pytest.approx(y[~used].sum())
    assert stat.log_likelihood == pytest.approx(np.sum(y[used] * np.log((mult * expected)[used])), rel=1e-5)
    plain = np.empty_like(image)
    other = isotome.Operator._em_step(A, plain, image, y, a, mult, None)
    assert np.allclose(got, plain, rtol=1e-4, atol=1e-6 * want.max())
    assert other == pytest.approx(stat, rel=1e-5)


def test_mlem_by_hand_is_the_library_s(context, lines):
    p = isotome.ray(lines, context=context, iterations=5, sens="none", **BOX)
    A, x = p.operator(), np.ones((8, 12, 16), np.float32)
    for _ in range(5):
        x = A.em_step(x)
    with pytest.warns(isotome.IsotomeWarning, match="sensitivity"):
        assert np.allclose(x, p.reconstruct(), rtol=1e-5)


RING = """{kind: cylinder, radius_mm: 60, rings: 5, ring_pitch_mm: 4, crystals_per_ring: 60,
    crystal_mm: [3, 3, 10], min_crystal_distance: 10}"""


@pytest.fixture
def wide(context, lines, tmp_path):
    """Counts with randoms and attenuation, on a grid whose corners no line of the ring meets."""
    (tmp_path / "ring.yaml").write_text(RING)
    random, box = np.random.default_rng(7), {"grid": (40, 40, 5), "voxel": 4}
    mu = np.zeros((5, 40, 40), np.float32)
    mu[:, 12:28, 14:26] = 0.01
    counts = random.poisson(2, len(lines)).astype(np.float32)
    events = isotome.Events(lines, count=counts, add=random.random(len(lines), dtype=np.float32))
    mu = isotome.Image(mu, isotome.Grid((40, 40, 5), (4, 4, 4)))
    ring = tmp_path / "ring.yaml"
    # a step by hand divides by all of the sensitivity
    return isotome.ray(events, context=context, scanner=ring, mu=mu, iterations=1, sens_floor=0, **box)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_one_step_is_an_iteration_of_the_problem(wide):
    A, s, data = wide.operator(), wide.sensitivity(), wide.data()
    assert data.add is not None and 0 < data.mult.min() < 0.5 < data.mult.max()
    assert (s == 0).any() and (s > 0).any()
    x = (s > 0).astype(np.float32)
    want = wide.reconstruct()
    got = A.em_step(x, *data, sens=s)
    assert np.allclose(got, want, rtol=1e-5, atol=1e-6 * want.max())
    assert not got[s == 0].any()
    assert np.array_equal(got[s > 0], A.em_step(x, *data)[s > 0] / s[s > 0])
    whole = np.full_like(x, 7)
    assert A.em_step(x, *data, whole, sens=s) is whole and np.array_equal(whole, got)
    composed = (2 * A).em_step(x / 2, *data, sens=2 * s)
    assert np.allclose(2 * composed, got, rtol=1e-4, atol=1e-5 * want.max())


def test_values_below_0_are_refused_by_em(wide):
    A, data = wide.operator(), wide.data()
    x = np.ones(A.in_shape, np.float32)
    for k, name in enumerate(("y", "add", "mult")):
        given = [np.array(v) for v in data]
        given[k][3] = -0.5
        with pytest.raises(isotome.ArgumentError, match=rf"{name}: the value at \(3,\) is -0.5, must not"):
            A.em_step(x, *given)
    s = np.ones_like(x)
    s[1, 2, 3] = -1
    for given in ({"x": s}, {"x": x, "sens": s}):
        name = list(given)[-1]
        with pytest.raises(isotome.ArgumentError, match=rf"{name}: the value at \(1, 2, 3\) is -1.0"):
            A.em_step(**given)
    assert A.em_step(-0.0 * x).sum() == 0


def test_the_sensitivity_is_computed_once(wide, monkeypatch):
    s = wide.sensitivity()
    monkeypatch.setattr(wide, "_call", None)
    again = wide.sensitivity()
    assert np.array_equal(again, s) and isinstance(again, isotome.Image) and again.grid == s.grid
    again[...] = 0
    assert np.array_equal(wide.sensitivity(), s)


def test_subsets_behind_a_diagonal(operator, image):
    d = np.arange(1, 2001, dtype=np.float32)
    C = isotome.Diagonal(d[::-1].copy()) @ (isotome.Diagonal(d) @ operator)
    y = C(image)
    assert C.n_subsets == 4 and np.array_equal(y, d[::-1] * (d * operator(image)))
    for k in range(4):
        B = C.subset(k)
        assert np.array_equal(B.rows, operator.subset(k).rows)
        assert np.array_equal(B(image), y[B.rows]) and C.subset(k) is B
    D = isotome.Diagonal(d) @ operator.ordered()
    B = D.subset(1)
    assert np.array_equal(D(image)[np.isin(D.rows, B.rows)], B(image))
    assert np.array_equal(D.rows, operator.ordered().rows)


def test_wrong_functions_and_divisors_are_refused(operator):
    for given, message in (
        ((3, (4,), len, len), r"in_shape: given 3, wanted a shape such as"),
        (((3,), (4.5,), len, len), "out_shape: given 4.5, wanted an integer"),
        (((3,), (-4,), len, len), "out_shape: given -4, wanted an integer"),
        (((3,), (4,), None, len), "forward: given NoneType, wanted a function of an array"),
        (((3,), (4,), len, 7), "adjoint: given int, wanted a function of an array"),
    ):
        with pytest.raises(isotome.ArgumentError, match=message):
            isotome.Function(*given)
    with pytest.raises(isotome.ArgumentError, match="given 0, wanted another"):
        operator / 0
    with pytest.raises(TypeError):
        operator / operator


def test_memory_is_given_back_where_the_end_of_a_call_fails(context, monkeypatch):
    kind, freed = _kinds.like(None), []
    with pytest.raises(isotome.DeviceError, match="gone"):
        with _Vectors(context, kind) as v:
            v._alloc(10)
            free = v._vec.free
            v._vec = types.SimpleNamespace(free=lambda *given: (freed.append(given), free(*given)))

            def fails(_context):
                raise isotome.DeviceError("gone")

            monkeypatch.setattr(kind, "end", fails)
    assert len(freed) == 1


def test_algebra(operator, image):
    y = operator(image)
    half = isotome.Diagonal(np.full(operator.in_shape, 0.5, np.float32))
    assert np.array_equal((operator / 2)(image), y / 2)
    assert np.array_equal((operator / np.int64(2))(image), y / 2)
    assert np.allclose((operator @ half)(image), y / 2, rtol=1e-6)
    assert np.allclose((operator * half)(image), y / 2, rtol=1e-6)
    assert np.allclose((operator + 2 * operator)(image), 3 * y, rtol=1e-6)
    assert np.allclose((operator - operator * 0.25)(image), 0.75 * y, rtol=1e-6)
    assert np.array_equal((-operator)(image), -y)
    assert np.array_equal(operator @ image, y)
    assert np.array_equal((np.float32(2) * operator)(image), 2 * y)
    chain = operator @ half
    assert np.allclose(chain.subset(1)(image), y[chain.subset(1).rows] / 2, rtol=1e-6)
    assert np.allclose((2 * chain).subset(1)(image), y[(2 * chain).subset(1).rows], rtol=1e-6)
    with pytest.raises(isotome.ArgumentError, match=r"gives shape \(2000,\), the outer takes \(8, 12, 16\)"):
        operator @ operator
    with pytest.raises(isotome.ArgumentError, match="wanted the same shapes"):
        operator + operator.H
    with pytest.raises(isotome.ArgumentError, match="finite"):
        float("nan") * operator
    with pytest.raises(TypeError):
        operator + 1


def test_norm_of_a_known_operator():
    d = np.array([3, -7, 2], np.float32)
    D = isotome.Diagonal(d)
    assert D.norm() == pytest.approx(7, rel=1e-3)
    assert (0 * D).norm() == 0


def test_function_of_ones_own(operator, image):
    F = isotome.Function(operator.in_shape, operator.out_shape, operator, operator.adjoint)
    assert F.adjointness_test() < 1e-5
    wrong = isotome.Function((3,), (2,), lambda x: x, lambda y: y)
    with pytest.raises(isotome.ArgumentError, match=r"what forward returned: given shape \(3,\), wanted \(2,\)"):
        wrong(np.zeros(3, np.float32))


def test_results_go_where_they_shall_without_copies(operator, image):
    out = np.empty(operator.out_shape, np.float32)
    assert operator(image, out=out) is out
    back = np.empty(operator.in_shape, np.float32)
    assert operator.adjoint(out, out=back) is back
    assert operator.em_step(image, out=back) is back
    for A in (operator.em_step, isotome.Diagonal(back)):
        with pytest.raises(isotome.ArgumentError, match="out: given memory of an input"):
            A(image, out=image)
    out.flags.writeable = False
    with pytest.raises(isotome.ArgumentError, match="read-only"):
        operator(image, out=out)


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda x: x + 0j, "x: given values of complex64, wanted real numbers, which become float32"),
        (lambda x: x.astype(str), "x: given values of <U32, wanted real numbers"),
        (lambda x: x.astype(np.float64) * 1e300, r"x: given .*e\+\d+ among its values, wanted what float32 holds"),
        (lambda x: x[:-1] + 0j, r"x: given shape \(7, 12, 16\), wanted \(8, 12, 16\)"),
        (lambda x: x[:-1], r"x: given shape \(7, 12, 16\), wanted \(8, 12, 16\)"),
        (lambda x: x.ravel(), r"given shape \(1536,\), wanted \(8, 12, 16\)"),
        (lambda x: x.tolist(), "x: given list, wanted a NumPy array"),
        (lambda x: None, "x: given NoneType"),
        (lambda x: np.where(np.arange(16) == 3, np.float32("nan"), x), r"value at \(0, 0, 3\) is nan"),
        (lambda x: x / np.float32(0), "is inf, must be finite"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_wrong_images_are_refused(operator, image, spoil, message):
    for call in (operator, operator.em_step, operator.subset(0)):
        with pytest.raises(ValueError, match=message) as error:
            call(spoil(image))
        assert isinstance(error.value, isotome.ArgumentError)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.astype(np.float64),
        lambda x: x.astype(np.float16),
        lambda x: x.astype(">f4"),
        lambda x: x.astype(np.int64),
        lambda x: x.astype(np.uint16),
        lambda x: x > 3,
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: isotome.Image(x, isotome.Grid((16, 12, 8), (4, 4, 4))).astype(np.float64),
    ],
)
def test_any_real_type_goes_in_and_float32_comes_out(operator, image, change):
    given = change(np.rint(image * 10))
    plain = np.ascontiguousarray(given, np.float32)
    before = given.copy()
    for A in (operator, operator.subset(1), 2 * operator, isotome.Diagonal(image)):
        y = A @ given
        assert y.dtype == np.float32 and np.array_equal(y, A(plain))
        assert np.array_equal(A.em_step(given), A.em_step(plain))
    assert np.array_equal(given, before)
    want = operator.em_step(plain, np.ones(operator.out_shape, np.float32), sens=plain)
    assert np.array_equal(operator.em_step(given, np.ones(operator.out_shape, int), sens=given), want)


def test_a_result_is_never_float64(operator, image):
    for call, shape in ((operator, operator.out_shape), (operator.em_step, operator.in_shape)):
        with pytest.raises(isotome.ArgumentError, match="out: given values of float64, wanted float32"):
            call(image, out=np.empty(shape))
        with pytest.raises(isotome.ArgumentError, match="out: given an array with strides"):
            call(image, out=np.empty((*shape, 2), np.float32)[..., 0])


def test_images_keep_their_grid(operator, problem, image):
    y = operator(image)
    assert type(y) is np.ndarray
    half = isotome.Diagonal(np.full(operator.in_shape, 0.5))
    for x in (
        operator.H @ y,
        operator.T @ y,
        operator.adjoint(y),
        operator.em_step(image),
        operator.subset(1).H @ y[operator.subset(1).rows],
        (2 * operator + operator).H @ y,
        (operator @ half).H @ y,
        (isotome.Diagonal(np.ones(operator.out_shape)) @ operator).H @ y,
        (operator.H @ operator) @ image,
        operator.sensitivity(),
        isotome.Psf(problem.grid, 6) @ image,
    ):
        assert isinstance(x, isotome.Image) and x.grid == problem.grid and x.dtype == np.float32
    out = np.empty(operator.in_shape, np.float32)
    assert operator.adjoint(y, out=out) is out
    assert isotome.em(operator @ half, sens=image + 1, iterations=1).image.grid == problem.grid


def test_large_finite_values_are_taken(context):
    D = isotome.Diagonal(np.ones(4, np.float32))
    x = np.full(4, 3e38, np.float32)
    assert np.array_equal(D(x), x)


def test_freed_operators_are_refused(operator, image):
    part = operator.subset(0)
    clone = operator.clone()
    operator.free()
    for A in (operator, part):
        with pytest.raises(isotome.ArgumentError, match="given an operator that was freed"):
            A(image)
        with pytest.raises(isotome.ArgumentError, match="freed"):
            A.adjointness_test()
    assert clone(image).shape == (2000,)


def test_objects_go_in_any_order(lines, image):
    context = isotome.Context("cpu", threads=1)
    p = isotome.ray(lines, context=context, **BOX)
    A = p.operator()
    y = A(image)
    p.free()
    del p, context
    assert np.array_equal(A(image), y)
    B = A.subset(0)
    del A
    assert np.array_equal(np.sort(B(image)), np.sort(y))


def test_two_threads_with_contexts_of_their_own():
    results = {}

    def work(k):
        context = isotome.Context("cpu", threads=1)
        A = isotome.ray(make_lines(3000, seed=k), context=context, **BOX).operator()
        x = np.ones(A.in_shape, np.float32)
        results[k] = [A.adjoint(A(x)) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for several in results.values():
        assert all(np.array_equal(several[0], other) for other in several)
    assert not np.array_equal(results[1][0], results[2][0])


def test_an_operator_serves_one_thread_at_a_time(context):
    A = isotome.ray(make_lines(200_000), context=context, **BOX).operator()
    x = np.ones(A.in_shape, np.float32)
    A(x)
    outcome = []

    def work():
        for _ in range(20):
            try:
                A(x)
            except isotome.BusyError as error:
                outcome.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert outcome and all(outcome)


def test_several_images_have_the_bits_of_one(operator, image):
    scaled = isotome.Diagonal(np.linspace(1, 2, 2000, dtype=np.float32)) @ operator
    for A in (operator, operator.ordered(), operator.subset(1), 2 * operator, scaled, operator.H, operator + operator):
        for n in (1, 3, 11):  # up to 8 are traced together
            random = np.random.default_rng(n)
            x = random.standard_normal((n, *A.in_shape), dtype=np.float32)
            y = random.standard_normal((n, *A.out_shape), dtype=np.float32)
            assert np.array_equal(A.forward_many(x), np.stack([A(v) for v in x]))
            assert np.array_equal(A.adjoint_many(y), np.stack([A.adjoint(v) for v in y]))
    none = operator.forward_many(np.zeros((0, *operator.in_shape)))
    assert none.shape == (0, *operator.out_shape)
    out = np.empty((2, *operator.out_shape), np.float32)
    assert operator.forward_many(np.stack([image, image]), out=out) is out
    with pytest.raises(isotome.ArgumentError, match=r"x: given shape \(12, 16\)"):
        operator.forward_many(image[0])
    with pytest.raises(isotome.ArgumentError, match="finite"):
        operator.adjoint_many(np.full((2, *operator.out_shape), np.inf))
