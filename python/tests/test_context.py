# SPDX-License-Identifier: BSD-3-Clause
"""Contexts, devices, errors; Ctrl-C and forks, in processes of their own."""

import builtins
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import BOX, make_lines

import isotome

HEAD = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
HEAD += "import os, signal, threading, time, warnings, numpy as np, isotome\n"
HEAD += "from conftest import BOX, make_lines\nwarnings.simplefilter('ignore')\n"


def run(code, seconds=60):
    """The output of a script in a process of its own."""
    done = subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_context():
    context = isotome.Context("cpu", threads=1)
    assert context.device == "cpu" and context.threads == 1 and not context.is_cuda
    assert repr(context) == "<isotome.Context cpu, 1 thread>"
    with pytest.raises(isotome.ArgumentError, match="tpu"):
        isotome.Context("tpu")
    with pytest.raises(isotome.ArgumentError, match="threads: given 'a'"):
        isotome.Context("cpu", threads="a")
    with pytest.raises(isotome.ArgumentError, match="device is 3"):
        isotome.Context(3)


def test_devices_tell_why_they_are_not_there():
    cpu, *others = isotome.devices()
    assert cpu.device == "cpu" and cpu.available
    assert others
    assert all(d.available or d.reason for d in others)


def test_errors_are_python_s_too():
    errors = isotome.errors
    assert issubclass(errors.MemoryError, builtins.MemoryError)
    assert issubclass(errors.IOError, OSError)
    assert issubclass(errors.ArgumentError, ValueError)
    assert {errors.of_status(s, "m").__class__ for s in range(-7, 0)} == set(errors.BY_STATUS.values())
    assert str(errors.of_status(-3, "file: gone")) == "file: gone"


def test_memory_limit():
    context = isotome.Context("cpu", memory_limit=1 << 20)
    p = isotome.ray(make_lines(100), context=context, grid=(400, 400, 400), voxel=1, sens="none")
    with pytest.raises(isotome.errors.MemoryError, match="GiB of host memory"):
        p.reconstruct()


def test_cancel_from_another_thread():
    context = isotome.Context("cpu", threads=1)
    p = isotome.ray(make_lines(100_000), context=context, iterations=100_000, sens="none", **BOX)
    context.cancel()  # nothing runs: nothing is stopped later
    iterates = threading.Event()
    threading.Thread(target=lambda: iterates.wait() and context.cancel(), daemon=True).start()
    with pytest.warns(isotome.IsotomeWarning), pytest.raises(isotome.Cancelled):
        p.reconstruct(callback=lambda step: iterates.set())
    A = p.operator()
    assert A(np.ones(A.in_shape, np.float32)).max() > 0


LONG = """
context = isotome.Context("cpu", threads=1)
p = isotome.ray(make_lines(100_000), context=context, iterations=100_000, sens="none", **BOX)
A = p.operator()
x = np.ones(A.in_shape, np.float32)
def later(seconds):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
"""


def test_ctrl_c_stops_a_long_call_and_leaves_all_usable():
    code = """
for _ in range(2):
    later(0.4)
    try:
        p.reconstruct()
    except KeyboardInterrupt:
        print("interrupted")
print(A(x).shape, signal.set_wakeup_fd(-1))
"""
    assert run(LONG + code) == ["interrupted", "interrupted", "(100000,) -1"]


@pytest.mark.parametrize("keyword", ["callback", "progress"])
def test_ctrl_c_during_a_callback(keyword):
    code = """
def slow(step):
    time.sleep(0.05)
later(0.4)
try:
    p.reconstruct(KEYWORD=slow)
except KeyboardInterrupt:
    print("interrupted")
print(A(x).shape)
"""
    assert run(LONG + code.replace("KEYWORD", keyword)) == ["interrupted", "(100000,)"]


def test_a_handler_of_ones_own_is_called():
    code = """
signal.signal(signal.SIGTERM, lambda *_: print("told"))
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
end = time.time() + 0.4
while time.time() < end:
    A(x)
print("done")
"""
    assert run(LONG + code) == ["told", "done"]


def test_a_handler_of_ones_own_for_ctrl_c_is_left_alone():
    code = """
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append("told"))
later(0.1)
end = time.time() + 0.4
while time.time() < end:
    A(x)
print(*seen)
later(0.2)
p = isotome.ray(make_lines(1000), context=context, iterations=2000, sens="none", **BOX)
print(p.reconstruct().shape, *seen)
"""
    assert run(LONG + code) == ["told", "(8, 12, 16) told told"]


def test_ctrl_c_cancels_calls_of_other_threads_on_the_context():
    code = """
outcome = []
other = isotome.ray(make_lines(100_000), context=context, iterations=100_000, sens="none", **BOX)
def work():
    try:
        other.reconstruct()
    except BaseException as error:
        outcome.append(type(error).__name__)
thread = threading.Thread(target=work)
thread.start()
later(0.5)
try:
    p.reconstruct()
except KeyboardInterrupt:
    print("interrupted")
thread.join()
print(*outcome)
"""
    assert run(LONG + code) == ["interrupted", "Cancelled"]


def test_without_pytorch_the_package_is_whole():
    code = """
import inspect, pydoc
sys.modules["torch"] = None
def star():
    names = {}
    exec("from isotome import *", names)
    return names
before = filter
names = star()
print("torch" in names, names.get("filter", before) is before, "read" in names, names["em"] is isotome.em)
print(hasattr(isotome, "torch"), "torch" in dir(isotome), "filter" in dir(isotome), "measure" in dir(isotome))
print(len(inspect.getmembers(isotome)) > 50, "phantom" in pydoc.render_doc(isotome))
try:
    isotome.torch
except AttributeError as error:
    print(type(error.__cause__).__name__)
try:
    from isotome import torch
except ImportError as error:
    print(error.name)
"""
    assert run(code) == [
        "False True True True", "False False True True", "True True", "ModuleNotFoundError", "torch",
    ]


def test_forks_are_refused():
    code = """
A(x)
child = os.fork()
if child == 0:
    for use in (lambda: A(x), lambda: p.reconstruct(), isotome.Context, lambda: context.device):
        try:
            use()
            print("used")
        except isotome.DeviceError as error:
            print("spawn" in str(error))
    sys.stdout.flush()
    del A, p, context
    os._exit(0)
os.waitpid(child, 0)
print(A(x).shape)
"""
    assert run(LONG + code) == ["True"] * 4 + ["(100000,)"]


def test_a_fork_before_any_context_is_fine():
    code = """
child = os.fork()
if child == 0:
    print(isotome.Context("cpu", threads=2).threads)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
"""
    assert run(code) == ["2"]
