# SPDX-License-Identifier: BSD-3-Clause
"""Arrays on a CUDA device: CuPy, PyTorch, and a library of these tests: where they are, in their stream."""

import ctypes
import gc

import numpy as np
import pytest
from conftest import BOX, make_lines
from exporters import Exporter

import isotome
from isotome import _dlpack, _kinds, operator
from isotome._abi import lib

GPU = next((d for d in isotome.devices() if d.device == "cuda:0" and d.available), None)
pytestmark = pytest.mark.skipif(GPU is None, reason=isotome.devices()[-1].reason or "no CUDA device")

CLOSE = 1e-5  # |difference| / |what the CPU gives|


def off(a, b):
    return np.linalg.norm(a.astype(float) - b) / np.linalg.norm(b.astype(float))


# ---- libraries ----


class CuPy:
    """What the tests need of an array library."""

    def __init__(self):
        self.xp = pytest.importorskip("cupy")

    def array(self, values):
        return self.xp.asarray(values)

    def host(self, values):
        """In the order of the current stream."""
        return self.xp.asnumpy(values)

    def is_one(self, values):
        return isinstance(values, self.xp.ndarray) and values.device.id == 0

    def pointer(self, values):
        return values.data.ptr

    def stream(self):
        return self.xp.cuda.Stream(non_blocking=True)

    def within(self, stream):
        return stream

    def pointer_of(self, stream):
        return stream.ptr


class Torch:
    def __init__(self):
        self.xp = pytest.importorskip("torch")
        if not self.xp.cuda.is_available():
            pytest.skip("this PyTorch has no CUDA")

    def array(self, values):
        return self.xp.from_numpy(np.array(values)).cuda()

    def host(self, values):
        return values.cpu().numpy()

    def is_one(self, values):
        return isinstance(values, self.xp.Tensor) and values.is_cuda

    def pointer(self, values):
        return values.data_ptr()

    def stream(self):
        return self.xp.cuda.Stream()

    def within(self, stream):
        return self.xp.cuda.stream(stream)

    def pointer_of(self, stream):
        return stream.cuda_stream


class Memory:
    """n values of the device, by the library's own table of functions."""

    def __init__(self, context, shape):
        self.context, self.shape = context, tuple(shape)
        self.vec = lib.iso_ctx_vec(context._pointer).contents
        self.p = ctypes.c_void_p()
        assert self.vec.alloc(context._pointer, ctypes.byref(self.p), self.bytes) == 0
        assert lib.iso_ctx_wait(context._pointer) == 0

    @property
    def bytes(self):
        return 4 * int(np.prod(self.shape))

    def data_ptr(self):
        return self.p.value

    def __del__(self):
        self.vec.free(self.context._pointer, self.p)


class Lent(Exporter):
    """An array of a library that has nothing but DLPack, and as much of the array API as makes results."""

    def __init__(self, memory, version=_dlpack.Versioned, **spoil):
        super().__init__(memory, version, (2, 0), **spoil)
        self.device = "the device"  # of the array API

    def __array_namespace__(self):
        return Namespace

    def __dlpack__(self, **how):
        if how.get("stream", -1) > 2:  # its own work comes first
            assert lib.iso_ctx_lead_stream(self.values.context._pointer, how["stream"]) == 0
        return super().__dlpack__(**how)

    def __gt__(self, least):
        return OfLent().host(self) > least

    def __truediv__(self, other):
        return OfLent().array(OfLent().host(self) / OfLent().host(other))

    def __setitem__(self, where, other):
        assert where is ... and self.shape == other.shape
        OfLent().fill(self, OfLent().host(other))


class Namespace:
    float32, float64 = "float32", "float64"
    context = None

    @classmethod
    def empty(cls, shape, dtype, device):
        assert (dtype, device) == ("float32", "the device")
        return Lent(Memory(cls.context, shape))

    @staticmethod
    def sum(values, dtype):
        return OfLent().host(values).sum(dtype=dtype)

    @staticmethod
    def min(values):
        return OfLent().host(values).min()

    @staticmethod
    def astype(value, dtype):
        return value.astype(dtype)

    stack = staticmethod(np.stack)

    @staticmethod
    def zeros_like(values):
        return OfLent().array(np.zeros(values.shape, np.float32))

    @staticmethod
    def ones_like(values):
        return OfLent().array(np.ones(values.shape, np.float32))

    @staticmethod
    def where(which, a, b):
        return OfLent().array(np.where(which, OfLent().host(a), OfLent().host(b)))


class OfLent:
    version = _dlpack.Versioned

    def __init__(self):
        if Namespace.context is None:
            Namespace.context = isotome.Context("cuda:0")

    def array(self, values):
        made = Lent(Memory(Namespace.context, values.shape), self.version)
        self.fill(made, values)
        return made

    def fill(self, made, values):
        m, values = made.values, np.ascontiguousarray(values)
        assert m.vec.upload(m.context._pointer, m.p, values.ctypes.data, m.bytes) == 0

    def host(self, values):
        m, host = values.values, np.empty(values.shape, np.float32)
        assert m.vec.download(m.context._pointer, host.ctypes.data, m.p, m.bytes) == 0
        return host

    def is_one(self, values):
        return isinstance(values, Lent)

    def pointer(self, values):
        return values.values.data_ptr()


class OfOldLent(OfLent):
    version = _dlpack.Managed


@pytest.fixture(params=[CuPy, Torch])
def library(request):
    return request.param()


@pytest.fixture(params=[CuPy, Torch, OfLent, OfOldLent])
def any_library(request):
    return request.param()


# ---- problems ----


def problem_of(lines, device, **more):
    how = {"method": "osem", "subsets": 4, "subset_rule": "random", "sens": "none", **BOX, **more}
    return isotome.ray(lines, context=isotome.Context(device), **how)


@pytest.fixture(scope="module")
def pair():
    """The same operator on CUDA and on the CPU; its own order is not the file's."""
    lines = make_lines(20_000)
    return [problem_of(lines, device).operator() for device in ("cuda:0", "cpu")]


@pytest.fixture(scope="module")
def values():
    random = np.random.default_rng(3)
    x = random.random((8, 12, 16), dtype=np.float32)
    y = random.poisson(3, 20_000).astype(np.float32)
    add = random.random(20_000, dtype=np.float32)
    mult = (random.random(20_000) > 0.1).astype(np.float32)
    return x, y, add, mult


@pytest.fixture
def no_copies(monkeypatch):
    """Fails where values go between host and device."""

    def refuse(*_arguments):
        raise AssertionError("a copy between host and device")

    monkeypatch.setattr(operator._Vectors, "_copy", refuse)
    for kind in (_kinds.CuPy, _kinds.Torch, _kinds.Lent):
        monkeypatch.setattr(kind, "to_host", refuse)
        monkeypatch.setattr(kind, "of_host", refuse)


# ---- results ----


@pytest.mark.parametrize("part", ["whole", "ordered", "subset"])
def test_results_are_those_of_the_cpu(any_library, pair, values, part, no_copies):
    A, B = ({"whole": A, "ordered": A.ordered(), "subset": A.subset(2)}[part] for A in pair)
    assert np.array_equal(A.rows, B.rows)
    x, data = values[0], [v[B.rows] for v in values[1:]]
    of = any_library.array
    y = A(of(x))
    assert any_library.is_one(y) and off(any_library.host(y), B(x)) < CLOSE
    back = A.adjoint(of(data[0]))
    assert any_library.is_one(back) and off(any_library.host(back), B.adjoint(data[0])) < CLOSE
    signed = (data[0] - 3).astype(np.float32)
    assert off(any_library.host(A.adjoint(of(signed))), B.adjoint(signed)) < CLOSE
    for given in ([], data[:1], data):
        step, statistics = A.em_step_with_statistics(of(x), *(of(v) for v in given))
        want, same = B.em_step_with_statistics(x, *given)
        assert any_library.is_one(step) and off(any_library.host(step), want) < CLOSE
        assert statistics == pytest.approx(same, rel=1e-5)
    s = np.where(x > 0.2, x, 0).astype(np.float32)
    over = any_library.host(A.em_step(of(x), *(of(v) for v in data), sens=of(s)))
    assert off(over, B.em_step(x, *data, sens=s)) < CLOSE and not over[s == 0].any()


def test_em_refuses_what_is_below_0(any_library, pair, values):
    x, y, *_ = values
    of = any_library.array
    y = y.copy()
    y[17] = -1
    with pytest.raises(isotome.ArgumentError, match="y: .* below 0"):
        pair[0].em_step(of(x), of(y))
    with pytest.raises(isotome.ArgumentError, match="x: .* below 0"):
        pair[0].em_step(of(-x))


def test_results_go_where_they_shall(any_library, pair, values, no_copies):
    A, B = pair
    x = any_library.array(values[0])
    for call, n, want in ((A, 20_000, B(values[0])), (A.em_step, x.shape, B.em_step(values[0]))):
        out = any_library.array(np.zeros(n, np.float32))
        before = any_library.pointer(out)
        assert call(x, out=out) is out and any_library.pointer(out) == before
        assert off(any_library.host(out), want) < CLOSE
    with pytest.raises(isotome.ArgumentError, match="out: given memory of an input"):
        A.em_step(x, out=x)


def test_operators_made_of_others(library, pair, values):
    x, y, add, mult = values
    of = library.array
    made = []
    for A in pair:
        half = isotome.Diagonal(np.full(A.in_shape, 0.5, np.float32))
        twice = isotome.Function(A.in_shape, A.in_shape, lambda v: 2 * v, lambda v: 2 * v)
        made.append((A + 3 * A) @ half @ twice.H)
    C, D = made
    assert library.is_one(C(of(x))) and off(library.host(C(of(x))), D(x)) < CLOSE
    assert off(library.host(C.adjoint(of(y))), D.adjoint(y)) < CLOSE
    step, statistics = C.em_step_with_statistics(of(x), of(y), of(add), of(mult))
    want, same = D.em_step_with_statistics(x, y, add, mult)
    assert library.is_one(step) and off(library.host(step), want) < CLOSE
    assert statistics == pytest.approx(same, rel=1e-5)
    assert C.norm(like=of(x)) == pytest.approx(D.norm(), rel=1e-4)
    assert C.adjointness_test(like=of(x)) < 1e-5
    d = isotome.Diagonal(of(x))
    assert library.is_one(d(of(x))) and np.allclose(d(x), x * x)


def test_arrays_on_the_host_are_copied(pair, values):
    A, B = pair
    assert isinstance(A(values[0]), np.ndarray) and off(A(values[0]), B(values[0])) < CLOSE
    assert off(A.adjoint(values[1]), B.adjoint(values[1])) < CLOSE
    assert off(A.subset(1)(values[0]), B.subset(1)(values[0])) < CLOSE
    assert A.adjointness_test() < 1e-5


def test_tof_as_on_the_cpu(library, values):
    lines = make_lines(20_000)
    lines[:, 6] = np.random.default_rng(9).normal(0, 60, 20_000)
    A, B = (problem_of(lines, device, tof_fwhm_ps=300).operator() for device in ("cuda:0", "cpu"))
    x, y = values[:2]
    assert off(library.host(A(library.array(x))), B(x)) < CLOSE
    assert off(library.host(A.adjoint(library.array(y))), B.adjoint(y)) < CLOSE
    assert A.adjointness_test(like=library.array(x)) < 1e-5


@pytest.mark.parametrize("kind, words", [("rdp", {"epsilon": 0.05}), ("logcosh", {"s": 1.5}), ("tv", {"eta": 0.1})])
def test_penalties_as_on_the_cpu(library, values, kind, words, no_copies):
    x, kappa = values[0], 0.5 + values[0][::-1].copy()
    grid = isotome.Grid(BOX["grid"], (BOX["voxel"],) * 3)
    R, Q = (isotome.Prior(kind, grid, kappa=kappa, context=isotome.Context(d), **words) for d in ("cuda:0", "cpu"))
    got, want = R(library.array(x)), Q(x)
    assert got.value == pytest.approx(want.value, rel=CLOSE)
    for of_cuda, of_cpu in zip(got[1:], want[1:]):
        assert library.is_one(of_cuda) and off(library.host(of_cuda), of_cpu) < CLOSE


# ---- errors ----


def test_wrong_arrays_are_refused(library, pair, values):
    A, B = pair
    x = library.array(values[0])
    double = x.astype("float64") if isinstance(library, CuPy) else x.double()
    turned = x.T.copy().T if isinstance(library, CuPy) else x.transpose(0, 2).contiguous().transpose(0, 2)
    for wrong, message in (
        (double, "x: given values of .*float64, wanted"),
        (x[1:], r"x: given shape \(7, 12, 16\), wanted \(8, 12, 16\)"),
        (turned, "contiguous"),
        (x / 0, "x: the value at .* must be finite"),
    ):
        with pytest.raises(isotome.ArgumentError, match=message):
            A(wrong)
    with pytest.raises(isotome.ArgumentError, match=r"on cpu, wanted an array on the host: .*cuda:0"):
        B(x)
    with pytest.raises(isotome.ArgumentError, match="y: given a NumPy .* on cuda:0, as x is"):
        A.em_step(x, values[1])
    with pytest.raises(isotome.ArgumentError, match="out: given a NumPy array"):
        A(x, out=np.empty(A.out_shape, np.float32))


def test_values_of_lenders_are_looked_at(pair, values):
    of = OfLent().array
    with pytest.raises(isotome.ArgumentError, match="x: given values that are not all finite"):
        pair[0](of(values[0] * np.float32("nan")))
    with pytest.raises(isotome.ArgumentError, match="x: given values of float64"):
        pair[0](Lent(of(values[0]).values, dtype=(2, 64, 1)))
    out = Lent(Memory(Namespace.context, pair[0].out_shape), flags=_dlpack.READ_ONLY)
    with pytest.raises(isotome.ArgumentError, match="out: given a read-only array"):
        pair[0](of(values[0]), out=out)
    assert out.lent == out.given_back > 0


@pytest.mark.parametrize("version", [_dlpack.Managed, _dlpack.Versioned])
def test_capsules_of_the_libraries_memory(library, pair, values, version):
    """Without a namespace: `out` is wanted."""
    A, B = pair
    x = Exporter(library.array(values[0]), version, (2, 0))
    out = Exporter(library.array(np.zeros(20_000, np.float32)), version, (2, 0))
    library.host(out.values)
    assert A(x, out=out) is out
    assert off(library.host(out.values), B(values[0])) < CLOSE
    assert x.lent == x.given_back and out.lent == out.given_back
    assert lib.iso_ctx_stream(A.context._pointer) in x.streams
    with pytest.raises(isotome.ArgumentError, match="no __array_namespace__ .* wanted out="):
        A(x)


def test_libraries_own_capsules_are_read(library, values):
    x = library.array(values[0])
    for how in ({}, {"max_version": (1, 0)}):
        try:
            capsule = x.__dlpack__(stream=-1 if isinstance(library, CuPy) else None, **how)
        except TypeError:
            continue  # it is older than max_version
        given = type("Given", (), {"__dlpack__": lambda self, **_how: capsule})()
        with _dlpack.Loan(given, "x") as loan:
            assert loan.address == library.pointer(x) and loan.shape == x.shape


# ---- streams ----


@pytest.fixture(scope="module")
def large():
    """A call of it takes longer than it takes to begin the next."""
    lines = make_lines(2_000_000)
    return problem_of(lines, "cuda:0", method="mlem", subsets=1, grid=(64, 64, 16), voxel=2).operator()


@pytest.fixture
def unchecked(monkeypatch):
    """The look at values waits for the stream, and would hide that something is not in order."""
    monkeypatch.setattr(_kinds.Kind, "refuse_values", lambda *_arguments: None)


def keep_busy(library, big):
    """Work of some 50 ms in the current stream."""
    for _ in range(100):
        big *= 1


def late(library, A, values, use):
    """What `use` gives in a stream whose work is long under way: its input is written last, then overwritten."""
    big = library.array(np.ones(1 << 27, np.float32))
    wanted, stream = library.array(values), library.stream()
    x = library.array(np.zeros_like(values))
    use(x)  # what is made by a first call
    library.host(big[:1])
    results = []
    for _ in range(3):
        with library.within(stream):
            keep_busy(library, big)
            x[...] = wanted
            y = use(x)
            x[...] = 0
            results.append(library.host(y))
    return results


@pytest.mark.parametrize("way", ["forward", "adjoint", "em_step", "chain"])
def test_calls_are_in_the_order_of_the_stream(library, large, unchecked, way):
    half = isotome.Diagonal(np.full(large.in_shape, 0.5, np.float32))
    use = {"forward": large, "adjoint": large.adjoint, "em_step": large.em_step, "chain": large @ half}[way]
    shape = large.out_shape if way == "adjoint" else large.in_shape
    values = np.random.default_rng(1).random(shape, dtype=np.float32)
    want = library.host(use(library.array(values)))
    assert np.abs(want).max() > 0
    for got in late(library, large, values, use):
        assert np.array_equal(got, want)


def test_without_that_order_they_are_not(library, large, unchecked, monkeypatch):
    """The test above sees what it is for."""
    values = np.random.default_rng(1).random(large.in_shape, dtype=np.float32)
    want = library.host(large(library.array(values)))
    monkeypatch.setattr(_kinds.OfStream, "begin", lambda *_arguments: None)
    assert not all(np.array_equal(got, want) for got in late(library, large, values, large))


def test_memory_is_not_used_again_too_early(library, large, unchecked):
    values = np.random.default_rng(2).random(large.out_shape, dtype=np.float32)
    y = library.array(values)
    want = library.host(large.adjoint(y))
    with library.within(library.stream()):
        for _ in range(10):
            passing = y * 1  # of the library's pool
            back = large.adjoint(passing)
            del passing
            poison = y * float("nan")  # where it was
            assert np.array_equal(library.host(back), want)
            del poison, back


def test_streams_may_go(library, pair, values):
    A, B = pair
    x = library.array(values[0])
    library.host(x)
    for _ in range(20):
        stream = library.stream()
        with library.within(stream):
            y = A(x)
            library.host(y)
        del stream
        gc.collect()
    assert off(library.host(A(x)), B(values[0])) < CLOSE


def test_the_current_device_stays(library, pair, values):
    number = (
        (lambda: library.xp.cuda.Device().id)
        if isinstance(library, CuPy)
        else library.xp.cuda.current_device
    )
    before = number()
    pair[0](library.array(values[0]))
    assert number() == before
