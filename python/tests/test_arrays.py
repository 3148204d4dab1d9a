# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of other libraries on the host: PyTorch, and what lends itself by DLPack in both versions."""

import contextlib
import subprocess
import sys
import types

import numpy as np
import pytest
from conftest import BOX, SCANNERS, strip_problem
from exporters import Exporter, Library

import isotome
from isotome import _abi, _dlpack, _kinds
from isotome import operator as operator_module

VERSIONS = pytest.mark.parametrize("version", [_dlpack.Managed, _dlpack.Versioned])


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def composed(operator):
    """An operator with one of every class in it."""
    half = isotome.Diagonal(np.full(operator.in_shape, 0.5, np.float32))
    double = isotome.Function(operator.in_shape, operator.in_shape, lambda x: 2 * x, lambda x: 2 * x)
    return (operator + 3 * operator) @ half @ double.H


@pytest.fixture
def data(operator):
    random = np.random.default_rng(7)
    y = random.poisson(3, operator.out_shape).astype(np.float32)
    add = random.random(operator.out_shape, dtype=np.float32)
    mult = (random.random(operator.out_shape) > 0.1).astype(np.float32)
    return y, add, mult


# ---- PyTorch ----


def test_tensors_go_in_and_out(torch, operator, composed, image):
    for A in (operator, operator.ordered(), operator.subset(1), composed, operator.H @ operator):
        y = A(image)
        of_torch = A(torch.from_numpy(image))
        assert isinstance(of_torch, torch.Tensor) and np.array_equal(of_torch.numpy(), y)
        back = A.adjoint(of_torch)
        assert isinstance(back, torch.Tensor) and np.array_equal(back.numpy(), A.adjoint(y))
        assert np.array_equal((A @ torch.from_numpy(image)).numpy(), y)


def test_em_step_of_tensors(torch, operator, composed, image, data):
    tensors = [torch.from_numpy(v) for v in data]
    for A in (operator, composed):
        for given, of_torch in (((), ()), (data[:1], tensors[:1]), (data, tensors)):
            want, statistics = A.em_step_with_statistics(image, *given)
            got, same = A.em_step_with_statistics(torch.from_numpy(image), *of_torch)
            assert isinstance(got, torch.Tensor)
            assert np.allclose(got.numpy(), want, rtol=1e-5)
            assert same == pytest.approx(statistics, rel=1e-6)


def test_tensors_are_not_copied(torch, operator, image):
    out = torch.empty(operator.out_shape)
    assert operator(torch.from_numpy(image), out=out) is out
    assert np.array_equal(out.numpy(), operator(image))
    back = torch.empty(operator.in_shape)
    assert operator.adjoint(out, out=back) is back
    assert operator.em_step(torch.from_numpy(image), out=back) is back
    with pytest.raises(isotome.ArgumentError, match="out: given memory of an input"):
        operator.em_step(back, out=back)
    whole = torch.zeros(2 * image.size)
    x, far = whole[: image.size].view(image.shape), whole[image.size :].view(image.shape)
    assert operator.em_step(x, out=far) is far
    with pytest.raises(isotome.ArgumentError, match="memory of an input"):
        operator.em_step(x, out=whole[image.size - 1 : -1].view(image.shape))


def test_norms_are_the_same_in_every_kind(torch, operator, image):
    assert operator.norm(like=torch.ones(1)) == pytest.approx(operator.norm(), rel=1e-6)
    assert operator.adjointness_test(like=torch.ones(1)) < 1e-5
    D = isotome.Diagonal(torch.tensor([3.0, -7.0, 2.0]))
    assert D.norm() == pytest.approx(7, rel=1e-3) == D.norm(like=torch.ones(1))
    assert np.array_equal(D(np.ones(3, np.float32)), [3, -7, 2])
    with pytest.raises(isotome.ArgumentError, match="like: given int"):
        D.norm(like=3)


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda x: x.double(), r"x: given values of torch.float64, wanted .*: convert by .float\(\)"),
        (lambda x: x[1:], r"x: given shape \(7, 12, 16\), wanted \(8, 12, 16\)"),
        (lambda x: x.transpose(0, 1).contiguous().transpose(0, 1), "not contiguous"),
        (lambda x: x.to_sparse(), "not contiguous"),
        (lambda x: (x * 1j).conj().imag, "not contiguous"),
        (lambda x: x.requires_grad_(), r"requires grad.*\.detach\(\), or .*isotome.torch.Projector"),
        (lambda x: x * float("inf"), r"x: the value at \(0, 0, 0\) is inf, must be finite"),
        (lambda x: x.to("meta"), "given a PyTorch tensor on meta"),
    ],
)
def test_wrong_tensors_are_refused(torch, operator, image, spoil, message):
    for call in (operator, operator.em_step, operator.subset(0)):
        with pytest.raises(isotome.ArgumentError, match=message):
            call(spoil(torch.from_numpy(image + 1)))


def test_tensors_that_require_grad_are_taken_where_there_is_none(torch, operator, image):
    x = torch.from_numpy(image).requires_grad_()
    with torch.no_grad():
        y = operator(x)
    assert not y.requires_grad and np.array_equal(y.numpy(), operator(image))
    assert np.array_equal(operator(x.detach()).numpy(), operator(image))


def test_kinds_are_not_mixed(torch, operator, image, data):
    with pytest.raises(isotome.ArgumentError, match="y: given a NumPy .* wanted a PyTorch tensor, as x is"):
        operator.em_step(torch.from_numpy(image), data[0])
    with pytest.raises(isotome.ArgumentError, match="out: given a PyTorch .* wanted a NumPy array, as x is"):
        operator(image, out=torch.empty(operator.out_shape))
    wrong = isotome.Function(operator.in_shape, operator.in_shape, lambda x: x.numpy(), lambda x: x)
    with pytest.raises(isotome.ArgumentError, match="what forward returned: given a NumPy"):
        wrong(torch.from_numpy(image))


def test_torch_is_not_imported_unless_it_is_given(operator):
    script = "import isotome, numpy, sys; isotome.Diagonal(numpy.ones(3, 'f4'))(numpy.ones(3, 'f4'));"
    script += "assert not {'torch', 'cupy', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


# ---- DLPack ----


@VERSIONS
def test_exporters_are_read_where_they_are(operator, composed, image, data, version):
    for A in (operator, operator.subset(2), composed):
        x, out = Exporter(image, version), Exporter(np.empty(A.out_shape, np.float32), version)
        assert np.array_equal(A(x), A(image))
        assert A(x, out=out) is out and np.array_equal(out.values, A(image))
        assert x.lent == x.given_back == 2 and out.lent == out.given_back == 1
    y, add, mult = (Exporter(v, version) for v in data)
    assert np.array_equal(operator.em_step(x, y, add, mult), operator.em_step(image, *data))
    assert y.given_back == add.given_back == mult.given_back == 1
    shifted = Exporter(image, version, byte_offset=64)
    assert np.array_equal(operator(shifted), operator(image))
    strides = Exporter(image, version, strides=(192, 16, 1))
    assert np.array_equal(operator @ strides, operator(image))
    assert isotome.Diagonal(Exporter(image, version)).norm() == pytest.approx(image.max(), rel=0.01)


@VERSIONS
def test_results_are_the_library_s(operator, image, version):
    library, x = Library(), Exporter(image, version)
    x.__array_namespace__ = lambda: library
    name, y = operator(x)
    assert name == "of the library" and np.array_equal(y, operator(image))
    assert np.shares_memory(y, library.taken[0])  # not copied


@VERSIONS
@pytest.mark.parametrize(
    "spoil, message",
    [
        ({"dtype": (2, 64, 1)}, "x: given values of float64, wanted float32"),
        ({"dtype": (0, 32, 1)}, "x: given values of int32, wanted float32"),
        ({"dtype": (2, 32, 4)}, "x: given values of float32 x 4, wanted float32"),
        ({"strides": (1, 8, 96)}, r"x: given an array with strides \(1, 8, 96\)"),
        ({"device": (2, 3), "strides": (1, 8, 96)}, r"x: given an array with strides \(1, 8, 96\)"),
        ({"device": (10, 1)}, "x: given Exporter on device 10:1 of DLPack, wanted one on the host"),
        ({"device": (2, 3)}, "given Exporter on cuda:3, whose library has no __array_namespace__"),
    ],
)
def test_wrong_exporters_are_refused_and_given_back(operator, image, version, spoil, message):
    x = Exporter(image, version, **spoil)
    with pytest.raises(isotome.ArgumentError, match=message):
        operator(x)
    assert x.lent == x.given_back


def test_flags_and_versions_are_heeded(operator, image):
    read_only = Exporter(np.empty(operator.out_shape, np.float32), flags=_dlpack.READ_ONLY)
    with pytest.raises(isotome.ArgumentError, match="out: given a read-only array"):
        operator(image, out=read_only)
    read_only.values[:] = 1
    assert np.array_equal(operator.adjoint(read_only), operator.adjoint(read_only.values))
    copied = Exporter(np.empty(operator.out_shape, np.float32), flags=_dlpack.COPIED)
    with pytest.raises(isotome.ArgumentError, match="out: given a read-only array"):
        operator(image, out=copied)
    newer = Exporter(image, of=(2, 3))
    with pytest.raises(isotome.ArgumentError, match="x: given DLPack 2.3, wanted 1.x"):
        operator(newer)
    for x in (read_only, copied, newer):
        assert x.lent == x.given_back > 0


def test_what_gives_no_capsule_is_refused(operator, image):
    class Wrong(Exporter):
        def __dlpack__(self, **how):
            return "capsule"

    with pytest.raises(isotome.ArgumentError, match="__dlpack__ gave 'capsule', wanted a capsule"):
        operator(Wrong(image))


@VERSIONS
def test_a_capsule_is_read_once(image, version):
    x = Exporter(image, version)
    capsule = x.__dlpack__()
    x.__class__ = type("Fixed", (Exporter,), {"__dlpack__": lambda self, **how: capsule})
    with _dlpack.Loan(x, "x") as loan:
        assert loan.shape == image.shape and loan.address == image.ctypes.data
    assert x.given_back == 1
    with pytest.raises(isotome.ArgumentError, match="used_dltensor"):
        _dlpack.Loan(x, "x")


def test_a_loan_lasts_as_long_as_it_is_seen(operator, image):
    seen = []
    F = isotome.Function(operator.in_shape, operator.in_shape, lambda x: (seen.append(x), x)[1], lambda x: x)
    x = Exporter(image)
    assert np.array_equal(F(x), image)
    assert x.given_back == 0 and np.array_equal(seen[0], image)
    seen.clear()
    assert x.given_back == 1


# ---- CUDA: a device that is the host, to see the calls; test_cuda.py has the numbers ----


class Stand:
    """Stands in for the library: keeps what is ordered, passes the rest on."""

    def __init__(self, calls):
        self.calls = calls

    def iso_ctx_follow_stream(self, _context, stream):
        self.calls.append(("follow", stream))
        return 0

    def iso_ctx_lead_stream(self, _context, stream):
        self.calls.append(("lead", stream))
        return 0

    def iso_ctx_wait(self, _context):
        self.calls.append(("wait",))
        return 0

    def iso_ctx_stream(self, _context):
        return 4321

    def __getattr__(self, name):
        function = getattr(_abi.lib, name)
        if name in ("iso_forward", "iso_adjoint", "iso_op_em_step") or name.endswith("sort_device"):
            self.calls.append((name,))
        return function


@pytest.fixture
def calls(monkeypatch):
    """What is called, in a world where contexts on the CPU say that they are on cuda:0."""
    made = []
    monkeypatch.setattr(_kinds, "lib", Stand(made))
    monkeypatch.setattr(operator_module, "lib", Stand(made))
    monkeypatch.setattr(isotome.Context, "device", "cuda:0")
    monkeypatch.setattr(_kinds, "_kinds", {})
    return made


ORDERED = [
    ("forward", ["iso_forward", "iso_op_unsort_device"]),
    ("adjoint", ["iso_op_sort_device", "iso_adjoint"]),
    ("em_step", ["iso_op_sort_device", "iso_op_sort_device", "iso_op_sort_device", "iso_op_em_step"]),
]


@pytest.mark.parametrize("way, inside", ORDERED)
def test_work_is_between_the_marks_of_the_stream(torch, operator, image, data, calls, way, inside):
    class OnCuda(_kinds.Torch):
        def empty(self, shape):
            return torch.empty(shape)

        def stream(self):
            return 77

        def current(self):
            return contextlib.nullcontext()

    _kinds._kinds[_kinds.Torch, "cpu"] = OnCuda("a PyTorch tensor", "cuda:0", torch)
    tensors = [torch.from_numpy(v) for v in (image, *data)]
    run = {
        "forward": lambda: operator(tensors[0]),
        "adjoint": lambda: operator.adjoint(tensors[1]),
        "em_step": lambda: operator.em_step(*tensors),
    }[way]
    assert isinstance(run(), torch.Tensor)
    assert calls == [("follow", 77), *((name,) for name in inside), ("lead", 77)]
    operator.free()
    calls.clear()
    with pytest.raises(isotome.ArgumentError, match="freed"):
        run()


def test_what_fails_is_waited_for_too(torch, operator, image, calls, monkeypatch):
    class OnCuda(_kinds.Torch):
        empty = staticmethod(torch.empty)
        stream = staticmethod(lambda: 5)
        current = staticmethod(contextlib.nullcontext)

    _kinds._kinds[_kinds.Torch, "cpu"] = OnCuda("a PyTorch tensor", "cuda:0", torch)
    monkeypatch.setattr(Stand, "iso_forward", lambda *_: -7, raising=False)  # ISO_ECANCEL
    with pytest.raises(isotome.Cancelled):
        operator(torch.from_numpy(image))
    assert calls[0] == ("follow", 5) and calls[-1] == ("lead", 5)


def fake_cupy():
    """As much of CuPy as an operator of the library needs, in memory of the host."""

    class ndarray:
        def __init__(self, values):
            self.values, self.shape, self.dtype = values, values.shape, values.dtype
            self.flags, self.strides = values.flags, values.strides
            self.data = types.SimpleNamespace(ptr=values.ctypes.data)
            self.device = types.SimpleNamespace(id=0)

    ndarray.__module__ = "cupy"
    module = types.ModuleType("cupy")
    module.ndarray, module.float64 = ndarray, np.float64
    module.empty = lambda shape, dtype: ndarray(np.empty(shape, dtype))
    module.asnumpy = lambda a: a.values
    module.sum = lambda a, dtype: a.values.sum(dtype=dtype)
    module.min = lambda a: a.values.min()
    module.stack = np.stack
    module.cuda = types.SimpleNamespace(
        Device=lambda number: contextlib.nullcontext(number),
        get_current_stream=lambda: types.SimpleNamespace(ptr=88),
    )
    return module


def test_arrays_of_cupy(operator, image, calls, monkeypatch):
    cupy = fake_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    y = operator(cupy.ndarray(image))
    assert isinstance(y, cupy.ndarray)
    assert calls == [("follow", 88), ("iso_forward",), ("iso_op_unsort_device",), ("lead", 88)]
    out = cupy.empty(operator.out_shape, np.float32)
    assert operator(cupy.ndarray(image), out=out) is out and np.array_equal(out.values, y.values)
    for wrong, message in (
        (image.astype(np.float64), r"x: given values of float64, wanted float32: convert by .astype\(cupy"),
        (np.asfortranarray(image), "x: given an array with strides"),
        (image[1:], "x: given shape"),
        (image * np.float32("nan"), r"x: the value at \(0, 0, 0\) is nan"),
    ):
        with pytest.raises(isotome.ArgumentError, match=message):
            operator(cupy.ndarray(wrong))
    with pytest.raises(isotome.ArgumentError, match=r"x: the value at \(0, 0, 0\) is -.*, must not be"):
        operator.em_step(cupy.ndarray(-image))
    with pytest.raises(isotome.ArgumentError, match=r"x: the value at \(0, 0, 0\) is nan, must be finite"):
        operator.em_step(cupy.ndarray(image * np.float32("nan")))
    with pytest.raises(isotome.ArgumentError, match="y: given a NumPy .* a CuPy array on cuda:0, as x is"):
        operator.em_step(cupy.ndarray(image), y.values)
    with pytest.raises(isotome.ArgumentError, match="out: given memory of an input"):
        operator.em_step(cupy.ndarray(image), out=cupy.ndarray(image))
    monkeypatch.setattr(isotome.Context, "device", "cuda:1")
    with pytest.raises(isotome.ArgumentError, match=r"on cuda:0 to .* on cuda:1.*Context\('cuda:0'\)"):
        operator(cupy.ndarray(image))


@VERSIONS
def test_lenders_on_cuda(operator, image, calls, monkeypatch, version):
    x = Exporter(image, version, (2, 0))
    out = Exporter(np.empty(operator.out_shape, np.float32), version, (2, 0))
    with pytest.raises(isotome.ArgumentError, match="no __array_namespace__ .* wanted out="):
        operator(x)
    calls.clear()
    assert operator(x, out=out) is out
    assert calls == [("iso_forward",), ("iso_op_unsort_device",), ("wait",)]
    assert x.streams[-1] == out.streams[-1] == 4321
    assert x.lent == x.given_back and out.lent == out.given_back
    monkeypatch.undo()
    assert np.array_equal(out.values, operator(image))


# ---- SciPy ----


def test_linear_operator_of_scipy(operator, image):
    linalg = pytest.importorskip("scipy.sparse.linalg")
    L = operator.as_linear_operator()
    assert L.shape == (2000, image.size) and L.dtype == np.float32
    y = operator(image)
    assert np.array_equal(L @ image.ravel(), y)
    assert np.array_equal(L.matvec(image.reshape(-1, 1)), y[:, None])
    assert np.array_equal(L.H @ y, operator.adjoint(y).ravel())
    both = np.stack([image.ravel(), 2 * image.ravel()], axis=1)
    assert np.allclose(L @ both, np.stack([y, 2 * y], axis=1), rtol=1e-6)
    assert np.allclose(L.H @ np.stack([y, y], axis=1), (L.H @ y)[:, None], rtol=1e-6)
    singular = linalg.svds(L, k=1, return_singular_vectors=False)
    assert singular[0] == pytest.approx(operator.norm(tolerance=1e-7), rel=1e-3)
    found = linalg.lsqr(L, y, iter_lim=30)[0]
    assert np.linalg.norm(L @ found - y) < 0.01 * np.linalg.norm(y)
    with pytest.raises(isotome.ArgumentError, match="given values of complex64, wanted real numbers"):
        L @ (1j * image.ravel().astype(np.complex64))


# ---- subsets ----


@pytest.mark.parametrize("model", ["ray", "strip"])
def test_subsets_touch_their_own_rows_alone(context, operator, model):
    """Data of a subset are part of a vector, of which the rest must neither be read nor written."""
    if model == "strip":
        operator = strip_problem(context, method="osem", subsets=4).operator()
    n, x = operator.out_shape[0], np.ones(operator.in_shape, np.float32)
    back = 0
    for k in range(operator.n_subsets):
        B, y = operator.subset(k), np.full(n, np.nan, np.float32)
        assert B._span.stop - B._span.start == B.out_shape[0] < n
        B(x, out=y[B._span])
        assert np.isnan(np.delete(y, B._span)).all() and np.isfinite(y[B._span]).all()
        assert np.isfinite(B.adjoint(y[B._span])).all()
        assert np.isfinite(B.em_step(x, y[B._span], y[B._span], y[B._span])).all()
        back = back + B.adjoint(np.ones(B.out_shape, np.float32))
    assert np.allclose(back, operator.adjoint(np.ones(n, np.float32)), rtol=1e-4)


# ---- sensitivity ----


def test_sensitivity_is_the_problem_s(context, lines):
    scanner = SCANNERS / "small-animal.yaml"
    p = isotome.ray(lines, context=context, subsets=3, method="osem", scanner=scanner, **BOX)
    A, s = p.operator(), p.sensitivity()
    assert np.array_equal(A.sensitivity(), s) and s.max() > 0
    parts = [A.subset(k).sensitivity() for k in range(3)]
    assert np.allclose(sum(parts), s, rtol=1e-5)
    half = isotome.Diagonal(np.full(A.in_shape, 0.5, np.float32))
    assert np.allclose((2 * A @ half + A).sensitivity(), 2 * s, rtol=1e-6)
    assert np.array_equal(half.sensitivity(), np.full(A.in_shape, 0.5))
    rows = isotome.Diagonal(np.ones(A.out_shape, np.float32))
    with pytest.raises(isotome.ArgumentError, match="nothing comes behind the model"):
        (rows @ A).sensitivity()
    p.free()
    with pytest.raises(isotome.ArgumentError, match="given a problem that was freed"):
        A.sensitivity()
