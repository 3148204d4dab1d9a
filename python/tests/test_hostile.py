# SPDX-License-Identifier: BSD-3-Clause
"""Misuse of every kind: it ends in an exception that says so, never in a crash, and leaves the rest usable."""

import copy
import gc
import inspect
import os
import pickle
import random
import subprocess
import sys
import textwrap
import threading
import types
import weakref
from pathlib import Path

import numpy as np
import pytest
from conftest import BOX, make_lines

import isotome

NAN = float("nan")


# ---- arguments ----


class Mine(Exception):
    """Of an object of the caller's."""


class Broken:
    """Claims to be an array, and is none."""

    def __array__(self, *_arguments, **_words):
        raise Mine

    def __dlpack__(self, **_words):
        return object()

    def __dlpack_device__(self):
        return 2, 99


HOSTILE = [
    None,
    -1,
    2**63,
    NAN,
    1j,
    "",
    "x\0y",
    "nowhere/x.npy",
    b"x",
    (),
    (NAN, -1, 2**40),
    {"a": 1},
    object(),
    lambda *_arguments: 1 / 0,
    np.empty(0, np.float32),
    np.ones(3),
    np.full((2, 3, 4), NAN, np.float32),
    np.ones((2, 3, 4), np.float32)[::-1],
    np.ones((1,) * 9, np.float32),
    np.ones((2, 2), object),
    Broken(),
]
CLEAR = (isotome.IsotomeError, TypeError, ValueError, OSError, MemoryError, ImportError, ZeroDivisionError, Mine)
NOT_CALLED = {"run", "show", "ModelOperator"}  # they write, or are made by the package alone


def public():
    """Names and functions of the package and of its modules."""
    names = {*isotome.__all__, *isotome._LATER} - NOT_CALLED
    for name in sorted(name for name in names if hasattr(isotome, name)):  # isotome.torch: with PyTorch
        value = getattr(isotome, name)
        if isinstance(value, types.ModuleType):
            for inner, function in vars(value).items():
                if inspect.isfunction(function) and not inner.startswith("_") and function.__module__ == value.__name__:
                    yield f"{name}.{inner}", function
        elif callable(value) and not (inspect.isclass(value) and issubclass(value, Exception)):
            yield name, value


def refused(function, *arguments, **words):
    """Whether it took them or said why not."""
    try:
        function(*arguments, **words)
    except CLEAR:
        pass


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, function", [pytest.param(n, f, id=n) for n, f in public()])
def test_no_argument_makes_a_function_crash(name, function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    image = np.ones((2, 3, 4), np.float32)
    for value in HOSTILE:
        refused(function, value)
        refused(function, image, value)
    words = [p.name for p in inspect.signature(function).parameters.values() if p.kind == p.KEYWORD_ONLY]
    for k, word in enumerate(words):
        for value in HOSTILE[k % 3 :: 3]:
            refused(function, **{word: value})


@pytest.mark.filterwarnings("ignore")
def test_no_argument_makes_a_method_crash(problem, operator, context, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    image = problem.reconstruct()
    for thing in (context, problem, operator, operator.subset(0), operator.H, 2 * operator, image, problem.grid):
        for name in dir(thing):
            if name.startswith("_") or name == "free" or (isinstance(thing, np.ndarray) and hasattr(np.ndarray, name)):
                continue
            method = getattr(thing, name)
            for value in HOSTILE if callable(method) else ():
                refused(method, value)
    assert operator(np.ones(operator.in_shape, np.float32)).shape == operator.out_shape


@pytest.mark.parametrize("threads", [-1, 2**32 + 1, 1.5, "2", None])
def test_numbers_are_checked_before_c_sees_them(operator, threads):
    with pytest.raises(isotome.ArgumentError, match="threads: given .*, wanted an integer"):
        isotome.Context("cpu", threads=threads)
    with pytest.raises(isotome.ArgumentError, match="memory_limit: given .*, wanted an integer"):
        isotome.Context("cpu", memory_limit=-1)
    with pytest.raises(isotome.ArgumentError, match="subset: given .*, wanted an integer"):
        operator.subset(threads)
    with pytest.raises(isotome.ArgumentError, match="seed: given"):
        operator.adjointness_test(seed=-1)
    assert operator.subset(np.uint8(1)).out_shape == operator.subset(1).out_shape


@pytest.mark.parametrize(
    "words", [{"tof_fwhm_ps": -1.0}, {"tof_bin_ps": NAN}, {"duration_s": "a"}, {"isotope": None}, {"isotope": "F\0"}]
)
def test_numbers_of_events_are_checked(context, words):
    with pytest.raises(isotome.ArgumentError, match=next(iter(words))):
        isotome.ray(isotome.Events(make_lines(3), **words), context=context, **BOX)


def test_a_factor_must_be_a_float32(operator):
    for factor in (NAN, 1e39, -float("inf")):
        with pytest.raises(isotome.ArgumentError, match="finite float32"):
            factor * operator


# ---- copies ----


@pytest.mark.parametrize("how", [pickle.dumps, copy.deepcopy])
def test_what_the_library_holds_cannot_be_pickled(how, context, problem, operator):
    for thing in (context, problem, operator, operator.subset(1), operator.H, 2 * operator, operator._shared.handle):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            how(thing)
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        copy.copy(context._handle)


# ---- one call at a time, and callbacks ----


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_a_problem_serves_one_call_at_a_time(context):
    p = isotome.ray(make_lines(5000), context=context, iterations=3, sens="none", **BOX)
    want, outcomes = p.reconstruct(), []

    def work():
        for _ in range(5):
            try:
                outcomes.append(np.array_equal(p.reconstruct(), want))
            except isotome.BusyError as error:
                assert "a problem that serves another call" in str(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert outcomes and all(outcomes)
    with pytest.raises(isotome.BusyError, match="a problem that serves another call"):
        p.reconstruct(callback=lambda step: p.reconstruct())
    assert np.array_equal(p.reconstruct(callback=lambda step: p.grid is None), want)


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_a_callback_may_free_what_calls_it(context):
    p = isotome.ray(make_lines(500), context=context, iterations=2, sens="none", **BOX)
    assert p.reconstruct(callback=lambda step: p.free()).shape == (8, 12, 16)
    with pytest.raises(isotome.ArgumentError, match="freed"):
        p.reconstruct()


def test_recursion_ends_as_python_s_does(operator, image):
    def again(x):
        return F(x)

    F = isotome.Function(operator.in_shape, operator.in_shape, again, again)
    with pytest.raises(RecursionError):
        F(image)
    assert operator(image).shape == operator.out_shape


# ---- lives ----


@pytest.mark.filterwarnings("ignore::isotome.IsotomeWarning")
def test_objects_go_with_their_last_reference():
    gc.disable()
    try:
        context = isotome.Context("cpu", threads=1)
        p = isotome.ray(make_lines(100), context=context, sens="none", iterations=1, **BOX)
        p.reconstruct(callback=lambda step: None, progress=lambda step: None)
        A = p.operator()
        A(np.ones(A.in_shape, np.float32))
        gone = [weakref.ref(v) for v in (context, context._handle, p, p._owned, A, A._shared.handle)]
        del context, p, A
        assert [v() for v in gone] == [None] * len(gone)
    finally:
        gc.enable()


def test_objects_go_in_any_order_and_in_cycles():
    things = []
    for _ in range(20):
        context = isotome.Context("cpu", threads=1)
        p = isotome.ray(make_lines(20), context=context, **BOX)
        A = p.operator()
        things += [context, context._handle, p, p._owned, A, A._shared, A.subset(0), A.H, A.clone()]
        ring = [A, p, context]
        ring.append(ring)
        things.append(ring)
    del context, p, A, ring
    random.Random(1).shuffle(things)
    while things:
        things.pop()
    gc.collect()


# ---- processes of their own ----

HEAD = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import multiprocessing, os, random, signal, threading, time, warnings, numpy as np, isotome
from conftest import BOX, make_lines
warnings.simplefilter("ignore")
context = isotome.Context("cpu", threads=2)
long = isotome.ray(make_lines(20_000), context=context, iterations=100_000, sens="none", **BOX)
p = isotome.ray(make_lines(500), context=context, iterations=2, sens="none", **BOX)
A = p.operator()
x = np.ones(A.in_shape, np.float32)
"""


def run(code, status=0, seconds=60):
    """The lines of a script that must end by itself with that status."""
    code = HEAD + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=seconds)
    assert done.returncode == status, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    "work",
    [
        "long.reconstruct",
        "lambda: long.reconstruct(callback=lambda step: None, progress=lambda step: None)",
        "lambda: [B(x) for _ in range(10**9)]",
    ],
)
def test_the_interpreter_ends_with_live_objects_and_threads_in_calls(work):
    code = f"""
    B = A.clone()
    threading.Thread(target={work}, daemon=True).start()
    import builtins
    builtins.kept = [A, p, context]
    builtins.kept.append(builtins.kept)
    time.sleep(0.2)
    print(p.reconstruct(callback=lambda step: sys.stdout.write("")).shape if {work!r}.startswith("lambda: [") else "ended")
    """
    assert run(code) in (["ended"], ["(8, 12, 16)"])


def test_callbacks_that_leave():
    code = """
    for leave in (lambda step: sys.exit(3), lambda step: (_ for _ in ()).throw(KeyboardInterrupt)):
        for words in ({"callback": leave}, {"progress": leave}):
            try:
                p.reconstruct(**words)
            except (SystemExit, KeyboardInterrupt) as error:
                print(type(error).__name__)
    sys.stdout.flush()
    p.reconstruct(callback=lambda step: os._exit(4))
    """
    assert run(code, status=4) == ["SystemExit", "SystemExit", "KeyboardInterrupt", "KeyboardInterrupt"]


def test_ctrl_c_at_any_moment():
    code = """
    end = time.time() + 2
    def storm():
        while time.time() < end:
            time.sleep(random.random() * 0.03)
            os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=storm)
    def work():
        B = isotome.ray(make_lines(100), context=context, **BOX).operator()
        B.em_step(x), B.clone().subset(0).rows, p.record, p.data()
        p.reconstruct(callback=lambda step: None, progress=lambda step: None)
    odd = []
    thread.start()
    while signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        try:
            if not thread.is_alive():
                time.sleep(0.05)  # the last one may still be on its way
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                break
            try:
                work()
            except KeyboardInterrupt:
                pass
            except BaseException as error:
                odd.append(repr(error))
        except KeyboardInterrupt:
            pass
    A(x)
    p.reconstruct(callback=lambda step: None, progress=lambda step: None)
    print(odd, isotome._call._running, p._calls, signal.set_wakeup_fd(-1))
    """
    assert run(code) == ["[] {} {} -1"]


def test_forks_in_odd_places():
    code = """
    def told(use):
        try:
            use()
            return "used"
        except isotome.DeviceError as error:
            return "refused" if "spawn" in str(error) else str(error)
    children = []
    def fork(step):
        if not children:
            children.append(os.fork())
    outcome = told(lambda: p.reconstruct(progress=fork))
    if children[0] == 0:
        print(outcome, told(context.cancel), flush=True)
        os._exit(0)
    os.waitpid(children[0], 0)
    print(outcome, told(context.cancel))
    fork = multiprocessing.get_context("fork")
    queue = fork.SimpleQueue()
    child = fork.Process(target=lambda: queue.put(told(lambda: A(x))))
    child.start(), child.join()
    print(queue.get(), child.exitcode)
    for thing in (A, p, context):
        try:
            multiprocessing.get_context("spawn").Process(target=print, args=(thing,)).start()
        except TypeError as error:
            print(str(error)[:29])
    """
    assert run(code) == ["refused refused", "used used", "refused 0"] + ["what the library holds in this"[:29]] * 3


def test_a_second_interpreter_in_the_process():
    interpreters = pytest.importorskip("_xxsubinterpreters")
    assert interpreters
    code = """
    import _xxsubinterpreters as interpreters
    inner = "import sys; sys.path[:] = %r\\ntry:\\n    import isotome\\nexcept ImportError:\\n    pass" % sys.path
    interpreters.run_string(interpreters.create(), inner)
    print(A(x).shape)
    """
    assert run(code) == ["(500,)"]


def test_threads_that_free_what_others_use():
    code = """
    threading.excepthook = lambda a: isinstance(a.exc_value, isotome.IsotomeError) or print(repr(a.exc_value))
    for _ in range(15):
        q = isotome.ray(make_lines(5000), context=context, iterations=2, sens="none", **BOX)
        B = q.operator()
        uses = (lambda: B(x), q.free, B.free, q.reconstruct, lambda: q.parameters, B.adjointness_test, context.cancel)
        threads = [threading.Thread(target=use) for use in random.sample(uses, len(uses))]
        [t.start() for t in threads]
        [t.join() for t in threads]
    print(A(x).shape)
    """
    assert run(code) == ["(500,)"]
