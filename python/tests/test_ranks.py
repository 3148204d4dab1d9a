# SPDX-License-Identifier: BSD-3-Clause
"""Contexts over communicators of mpi4py, in processes that mpirun starts."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import isotome
from isotome import _ranks
from isotome._call import check

pytest.importorskip("mpi4py")
if not shutil.which("mpirun"):
    pytest.skip("no mpirun here", allow_module_level=True)

HEAD = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
HEAD += """
import warnings, numpy as np, isotome
from mpi4py import MPI
from conftest import BOX, make_lines, sound_problem, strip_problem
warnings.simplefilter("ignore")
world = MPI.COMM_WORLD
alone = isotome.Context("cpu", threads=1)

def told(*what):
    "What each rank has to say, in their order, by the first."
    for line in world.gather(" ".join(map(str, what))) or ():
        print(line, flush=True)

def failure(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
        return "nothing"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


def run(code, ranks=2):
    """The lines of a script on so many ranks."""
    command = ["mpirun", "-q", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    done = subprocess.run(
        [*command, sys.executable, "-c", HEAD + code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PMIX_MCA_gds": "hash"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_images_are_those_of_one_process_byte_for_byte():
    code = """
context = isotome.Context("cpu", threads=1, comm=world)
told(context.rank, context.ranks, repr(context), alone.rank, alone.ranks)
makers = {
    "ray": lambda c: isotome.ray(make_lines(3000), context=c, method="osem", subsets=3, iterations=2,
                                 sens="none", **BOX),
    "strip": lambda c: strip_problem(c, iterations=2),
    "sradon": lambda c: sound_problem("sradon", c, iterations=2),
}
for name, make in makers.items():
    told(name, make(context).reconstruct().tobytes() == make(alone).reconstruct().tobytes())
told("exchanged", context.exchanged.bytes > 0, alone.exchanged == (0, 0))
x = np.ones((8, 12, 16), np.float32)
p, q = makers["ray"](context), makers["ray"](alone)
told("project", p.project(x).tobytes() == q.project(x).tobytes())
y = q.project(x)
told("backproject", p.backproject(y).tobytes() == q.backproject(y).tobytes())
A, B = p.operator(), q.operator()
told("rows", sum(world.allgather(A.out_shape[0])), len(A(x)) == A.out_shape[0])
told("em", A.em_step(x).tobytes() == B.em_step(x).tobytes())
told(failure(A.adjointness_test))
events = isotome.Events(make_lines(3000), count=np.arange(1, 3001, dtype=np.float32))
d = isotome.ray(events, context=context, **BOX).data()
told("data", sum(world.allgather(float(np.sum(d.y)))))
"""
    lines = run(code)
    assert lines[0].startswith("0 2 <isotome.Context cpu,") and lines[0].endswith("rank 0 of 2> 0 1")
    assert lines[1].startswith("1 2 ")
    assert lines[2:] == [
        line
        for line in (
            "ray True",
            "strip True",
            "sradon True",
            "exchanged True True",
            "project True",
            "backproject True",
            "rows 3000 True",
            "em True",
            "ArgumentError: adjoint test: each of 2 ranks has rows of its own, over which it can't add up",
            "data 4501500.0",
        )
        for _ in range(2)
    ]


def test_parts_of_a_communicator_work_side_by_side():
    code = """
part = world.Split(world.rank // 2, world.rank)
context = isotome.Context("cpu", threads=1, comm=part)
p = isotome.ray(make_lines(500, seed=world.rank // 2), context=context, sens="none", iterations=1, **BOX)
q = isotome.ray(make_lines(500, seed=world.rank // 2), context=alone, sens="none", iterations=1, **BOX)
told(context.rank, context.ranks, p.reconstruct().tobytes() == q.reconstruct().tobytes())
part.Free()  # the context has a duplicate
told(p.reconstruct().tobytes() == q.reconstruct().tobytes())
del p, context
"""
    assert run(code, ranks=3) == ["0 2 True", "1 2 True", "0 1 True", "True", "True", "True"]


def test_what_fails_on_one_rank_fails_on_all():
    code = """
context = isotome.Context("cpu", threads=1, comm=world)
lines = make_lines(500)
if world.rank == 1:
    lines[:] = np.nan
p = isotome.ray(lines, context=context, sens="none", iterations=1, **BOX)
told(failure(p.reconstruct))
told(failure(p.reconstruct))
told(failure(isotome.Context, "cpu", comm="world"))
told(failure(isotome.Context, "cpu", comm=MPI.COMM_NULL))
again = isotome.Context("cpu", threads=1, comm=world)
told(isotome.ray(make_lines(50), context=again, sens="none", iterations=1, **BOX).reconstruct().shape)
"""
    lines = run(code)
    assert lines[0] == lines[1] and lines[0].startswith("InputError: ")
    assert lines[2] == lines[3] == lines[0]
    assert lines[4:6] == [
        "ArgumentError: comm: given str, wanted an mpi4py.MPI.Intracomm such as MPI.COMM_WORLD"
    ] * 2
    assert all("COMM_NULL" in line for line in lines[6:8])
    assert lines[8:] == ["(8, 12, 16)"] * 2


def test_a_communicator_of_another_mpi_is_not_touched():
    """Who has a communicator has begun its MPI: here nobody began that of libisotome_mpi.so."""
    made, other = ctypes.c_void_p(), ctypes.c_void_p(1)
    with pytest.raises(isotome.DeviceError, match="a communicator was given, but .* was not begun"):
        check(_ranks.lib.iso_ctx_create_ranks(ctypes.byref(made), b"cpu", 1, ctypes.addressof(other)))
    assert not made


def test_a_communicator_must_be_one():
    for comm in (3, "world", object()):
        with pytest.raises(isotome.ArgumentError, match=f"comm: given {type(comm).__name__}, wanted an mpi4py"):
            isotome.Context("cpu", comm=comm)
